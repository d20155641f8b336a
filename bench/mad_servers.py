"""One turn with each server gone mad, in a process of its own: how it ends, how long that takes, how much memory.

python -m bench.mad_servers [--transport openai] [NAME …]
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.mad import server as mad
from tests.mad.server import Answer, MadServer

ROOT = Path(__file__).parent.parent
KEY = "sk-this-key-stays-here-0123456789"
LONGEST_S = 30.0

CASES: dict[str, Callable[[], Answer]] = {
    "text without end": mad.endless_text,
    "thoughts without end": mad.endless_thoughts,
    "empty events without end": mad.endless_nothing,
    "a line without end": mad.endless_line,
    "an event without end": mad.endless_event,
    "headers without end": mad.endless_headers,
    "JSON without end": mad.endless_json,
    "an error page without end": mad.endless_error,
    "100 MB of arguments": mad.long_arguments,
    "100 MB of arguments at once": mad.long_arguments_at_once,
    "100,000 calls": mad.many_calls,
    "gzip: 1 GB of events": mad.packed,
    "gzip: 1 GB of blanks": mad.packed_blanks,
    "a web page": lambda: mad.wrong_kind("text/html", mad.head("text/html") + b"<html>log in</html>"),
    "a picture": lambda: mad.wrong_kind("image/png", b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4_000),
    "events called a picture": lambda: mad.wrong_kind("image/png", mad.said()),
    "events called plain text": lambda: mad.wrong_kind("text/plain", mad.said()),
    "events called JSON": lambda: mad.wrong_kind("application/json", mad.said()),
    "NaN on the bill": mad.absurd_bill,
    "10^30 tokens on the bill": mad.huge_bill,
    "two calls of one id": mad.twin_calls,
    "a call in every answer": mad.calls_for_ever,
    "delegate in every answer": mad.delegates_for_ever,
}


def run_clio(url: str, home: Path, *options: str, transport: str = "auto") -> "tuple[int, float, int, str]":
    """Exit code, seconds, the most memory in KiB, and the last line of what was said, of `clio -p hi`."""
    env = {
        "PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT),
        "OPENAI_BASE_URL": url, "OPENAI_API_KEY": KEY, "CLIO_MODEL": "test-model",
    }  # fmt: skip
    (home / ".clio").mkdir(exist_ok=True)
    (home / ".clio" / "config.yaml").write_text(f"transport: {transport}\n", encoding="utf-8")
    project = home / "project"
    project.mkdir(exist_ok=True)
    begun = time.monotonic()
    with tempfile.TemporaryFile() as said:
        argv = [sys.executable, "-m", "clio", "-p", "hi", "--approve", "all", *options]
        child = subprocess.Popen(
            argv, cwd=project, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said
        )
        most = 0
        while True:
            most = max(most, _most_kib(child.pid))
            pid, status = os.waitpid(child.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() - begun > LONGEST_S:
                child.kill()
            time.sleep(0.01)
        child.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        lines = said.read().decode("utf-8", "replace").strip().splitlines()
    return child.returncode, time.monotonic() - begun, most, lines[-1] if lines else ""


def _most_kib(pid: int) -> int:
    """The most memory the program has had. What the kernel says at its end counts the memory of who started it too."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return 0
    return int(status.partition("VmHWM:")[2].split()[0]) if "VmHWM:" in status else 0  # none once it has ended


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--transport", default="auto")
    given = parser.parse_args()
    print(f"{'server':28} {'exit':>4} {'s':>6} {'MiB':>6} {'MB taken':>9}  said")
    for name, answer in CASES.items():
        if given.names and name not in given.names:
            continue
        with tempfile.TemporaryDirectory() as folder, MadServer(answer()) as server:
            code, seconds, kib, line = run_clio(server.url, Path(folder), transport=given.transport)
            taken = server.sent / 1e6
        print(f"{name:28} {code:>4} {seconds:>6.1f} {kib / 1024:>6.0f} {taken:>9.1f}  {line[:150]}", flush=True)


if __name__ == "__main__":
    main()
