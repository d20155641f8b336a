"""One-shot clios forked from a process that has imported clio already: 0.1 s of processor time each instead of 0.3.

What runs is `clio.cli.command` with folder, environment and streams of its own, as torture/process.py starts it. Use it
where a test is about what a command does. Start `python -m clio` where it is about the start itself: which modules are
found and loaded, Python's own settings, signals, a terminal.
"""

import atexit
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def run_clio(
    arguments: Sequence[str], cwd: Path, env: Mapping[str, str], given: str = ""
) -> subprocess.CompletedProcess[str]:
    """What a clio printed, and its exit code. given: its input, at most 64 KiB."""
    server = _start_server()
    assert server.stdin and server.stdout
    request = {"arguments": list(arguments), "cwd": str(cwd), "env": dict(env), "given": given}
    server.stdin.write(json.dumps(request) + "\n")
    server.stdin.flush()
    answer = json.loads(server.stdout.readline())
    return subprocess.CompletedProcess(["clio", *arguments], answer["code"], answer["out"], answer["err"])


@cache
def _start_server() -> subprocess.Popen[str]:
    """One for each worker, until it ends."""
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.support.forked_clio"],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8",
    )  # fmt: skip
    atexit.register(server.communicate)  # closes its input, at which it ends
    return server


def _serve() -> None:
    from torture.process import preload, start

    preload()
    for line in sys.stdin:
        asked = json.loads(line)
        ended = start(asked["arguments"], Path(asked["cwd"]), asked["env"]).finish(asked["given"].encode())
        print(json.dumps({"code": ended.code, "out": ended.out, "err": ended.err}), flush=True)


if __name__ == "__main__":
    _serve()
