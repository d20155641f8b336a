"""Download one file and store it if its hash is right. Run as a program, so that nothing waits for it.

    python -P fetch_child.py URL SHA256 FILE SECONDS

It imports nothing from clio. Returns 1, and stores nothing, if the file is not complete and unchanged in that time.
"""

import hashlib
import os
import sys
import threading
import urllib.request
from pathlib import Path

MAX_BYTES = 20_000_000


def main(arguments: list[str]) -> int:
    """Download the file; the whole process exits when the time is over, whatever it is doing."""
    url, sha256, name, seconds = arguments
    limit_s = float(seconds)
    timer = threading.Timer(limit_s, os._exit, [1])
    timer.daemon = True
    timer.start()
    if hasattr(os, "nice"):
        os.nice(10)  # the turn that runs meanwhile has priority
    path = Path(name)
    try:
        with urllib.request.urlopen(url, timeout=limit_s) as response:
            data = response.read(MAX_BYTES)
    except (OSError, ValueError) as error:
        sys.stderr.write(f"{url} cannot be fetched: {error}\n")
        return 1
    if hashlib.sha256(data).hexdigest() != sha256:
        sys.stderr.write(f"what {url} sent has another hash\n")
        return 1
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        partial.write_bytes(data)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
