"""Run one turn with each of the misbehaving servers: how it ends, its time and its memory.

    python -m bench.mad_servers [--transport openai] [NAME …]

Each turn runs in its own process.
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
TIMEOUT_S = 30.0

CASES: dict[str, Callable[[], Answer]] = {
    "endless text": mad.endless_text,
    "endless reasoning": mad.endless_thoughts,
    "endless empty events": mad.endless_nothing,
    "an endless line": mad.endless_line,
    "an endless event": mad.endless_event,
    "endless headers": mad.endless_headers,
    "endless JSON": mad.endless_json,
    "an endless error page": mad.endless_error,
    "100 MB of arguments": mad.long_arguments,
    "100 MB of arguments at once": mad.long_arguments_at_once,
    "100,000 calls": mad.many_calls,
    "gzip: 1 GB of events": mad.packed,
    "gzip: 1 GB of blanks": mad.packed_blanks,
    "a web page": lambda: mad.wrong_kind("text/html", mad.head("text/html") + b"<html>log in</html>"),
    "a picture": lambda: mad.wrong_kind("image/png", b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4_000),
    "events typed as a picture": lambda: mad.wrong_kind("image/png", mad.short_answer()),
    "events typed as plain text": lambda: mad.wrong_kind("text/plain", mad.short_answer()),
    "events typed as JSON": lambda: mad.wrong_kind("application/json", mad.short_answer()),
    "NaN in the usage": mad.absurd_bill,
    "10^30 tokens in the usage": mad.huge_bill,
    "two calls with one id": mad.twin_calls,
    "a call in every answer": mad.calls_for_ever,
    "delegate in every answer": mad.delegates_for_ever,
}


def run_clio(url: str, home: Path, *options: str, transport: str = "auto") -> "tuple[int, float, int, str]":
    """Run `clio -p hi`, and return its exit code, seconds, peak memory in KiB, and last line on stderr."""
    env = {
        "PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT),
        "OPENAI_BASE_URL": url, "OPENAI_API_KEY": KEY, "CLIO_MODEL": "test-model",
    }  # fmt: skip
    (home / ".clio").mkdir(exist_ok=True)
    (home / ".clio" / "config.yaml").write_text(f"transport: {transport}\n", encoding="utf-8")
    project = home / "project"
    project.mkdir(exist_ok=True)
    started = time.monotonic()
    with tempfile.TemporaryFile() as stderr:
        argv = [sys.executable, "-m", "clio", "-p", "hi", "--approve", "all", *options]
        child = subprocess.Popen(
            argv, cwd=project, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr
        )
        peak_kib = 0
        while True:
            peak_kib = max(peak_kib, _read_peak_kib(child.pid))
            pid, status = os.waitpid(child.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() - started > TIMEOUT_S:
                child.kill()
            time.sleep(0.01)
        child.returncode = os.waitstatus_to_exitcode(status)
        stderr.seek(0)
        lines = stderr.read().decode("utf-8", "replace").strip().splitlines()
    return child.returncode, time.monotonic() - started, peak_kib, lines[-1] if lines else ""


def _read_peak_kib(pid: int) -> int:
    """Return the peak memory of a process in KiB, or 0 if it has ended.

    The usage that the kernel reports at its end would include the memory of this process before the exec.
    """
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
    arguments = parser.parse_args()
    print(f"{'server':28} {'exit':>4} {'s':>6} {'MiB':>6} {'MB sent':>9}  last line of stderr")
    for name, answer in CASES.items():
        if arguments.names and name not in arguments.names:
            continue
        with tempfile.TemporaryDirectory() as folder, MadServer(answer()) as server:
            code, seconds, peak_kib, line = run_clio(server.url, Path(folder), transport=arguments.transport)
            received_mb = server.sent / 1e6
        print(
            f"{name:28} {code:>4} {seconds:>6.1f} {peak_kib / 1024:>6.0f} {received_mb:>9.1f}  {line[:150]}", flush=True
        )


if __name__ == "__main__":
    main()
