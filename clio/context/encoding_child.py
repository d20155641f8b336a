"""Download an encoding, or count tokens with it. Run as a program, so that nothing waits for it.

    python -P encoding_child.py fetch URL SHA256 FILE SECONDS
    python -P encoding_child.py count FILE SHA256 NAME < text

It imports nothing from clio. `fetch` stores the file if its hash is right; the exit code is 1, and nothing is stored,
if the download fails, takes longer than SECONDS or has another hash. `count` prints the number of tokens; it is a
process of its own because loading an encoding takes 0.4 s and 80 MB, and it cannot use the network: the encoding is
read from FILE only, and an audit hook refuses connections.
"""

import base64
import hashlib
import os
import sys
import threading
import urllib.request
from pathlib import Path

MAX_BYTES = 20_000_000


def fetch(arguments: list[str]) -> int:
    """Download the file and return the exit code; the process exits with 1 when the time limit is reached."""
    url, sha256, name, seconds = arguments
    limit_s = float(seconds)
    timer = threading.Timer(limit_s, os._exit, [1])
    timer.daemon = True
    timer.start()
    if hasattr(os, "nice"):
        os.nice(10)  # a running turn has priority
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


def count_input(arguments: list[str]) -> int:
    """Count the tokens of standard input; return 1 if the file is not the expected encoding."""
    path, sha256, name = arguments
    sys.addaudithook(refuse_network)
    if hasattr(os, "nice"):
        os.nice(10)  # a running turn has priority
    data = Path(path).read_bytes()
    if hashlib.sha256(data).hexdigest() != sha256:
        sys.stderr.write(f"{path!r} is not the encoding {name!r}\n")
        return 1
    text = sys.stdin.buffer.read().decode("utf-8", "replace")
    sys.stdout.write(f"{count(data, name, text)}\n")
    return 0


def count(data: bytes, name: str, text: str) -> int:
    """Return the number of tokens by the encoding in `data`, with the pattern of tiktoken's encoding `name`."""
    import tiktoken
    from tiktoken_ext import openai_public  # pyright: ignore[reportMissingTypeStubs]

    def get_loaded_ranks(url: str, expected_hash: str | None = None) -> dict[bytes, int]:
        return ranks  # replaces tiktoken's download and second hash

    pairs = (line.split() for line in data.splitlines() if line)
    ranks = {base64.b64decode(token): int(rank) for token, rank in pairs}
    openai_public.load_tiktoken_bpe = get_loaded_ranks
    return len(tiktoken.Encoding(**getattr(openai_public, name)()).encode_ordinary(text))


def refuse_network(event: str, arguments: tuple[object, ...]) -> None:
    """Audit hook that refuses connections: it cannot be removed, and sees events of the whole process."""
    if event.startswith("socket."):
        raise PermissionError(f"counting tokens needs no network: {event}")


if __name__ == "__main__":
    raise SystemExit({"fetch": fetch, "count": count_input}[sys.argv[1]](sys.argv[2:]))
