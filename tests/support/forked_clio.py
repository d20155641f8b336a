"""Runs clio in a process forked from one that has imported it already, which saves 0.25 s of imports each time.

`clio.cli.command` runs with its own folder, environment and streams or terminal, as torture/process.py starts it. Use
it in tests about what clio does. Start `python -m clio` in tests about the start itself: which modules are found and
loaded, what is typed during it, Python's own settings, signals to a starting process.
"""

import atexit
import contextlib
import fcntl
import json
import os
import random
import signal
import struct
import subprocess
import sys
import termios
import time
import traceback
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from pexpect.fdpexpect import fdspawn

ROOT = Path(__file__).parent.parent.parent


def run_clio(
    arguments: Sequence[str], cwd: Path, env: Mapping[str, str], given: str = ""
) -> subprocess.CompletedProcess[str]:
    """Return what clio printed, and its exit code. given: its input, at most 64 KiB."""
    answer = _ask(do="run", arguments=[*arguments], cwd=str(cwd), env=dict(env), given=given)
    return subprocess.CompletedProcess(["clio", *arguments], answer["code"], answer["out"], answer["err"])


class ForkedTerminal(fdspawn):
    """A clio in a pseudo-terminal, with the part of the interface of `pexpect.spawn` that `PtySession` needs."""

    def __init__(
        self,
        arguments: Sequence[str],
        cwd: Path,
        env: Mapping[str, str],
        *,
        lines: int,
        columns: int,
        timeout_s: float,
        setup: str = "",
    ) -> None:
        """setup: Python code that runs in clio's process before clio starts."""
        ours, theirs = os.openpty()
        super().__init__(ours, timeout=timeout_s)
        self.setwinsize(lines, columns)
        tty = os.ttyname(theirs)
        start = {"arguments": [*arguments], "cwd": str(cwd), "env": dict(env), "tty": tty, "setup": setup}
        self.pid: int = _ask(do="start", **start)["pid"]
        os.close(theirs)
        self.exitstatus: int | None = None
        self.signalstatus: int | None = None
        self._has_ended = False

    def setwinsize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self.child_fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def wait(self) -> None:
        """Wait until it ends, and set `exitstatus` or `signalstatus`."""
        self._take(_ask(do="wait", pid=self.pid, options=0))

    def _take(self, answer: dict[str, Any]) -> None:
        if answer["pid"] and not self._has_ended:
            self._has_ended = True
            code = os.waitstatus_to_exitcode(answer["status"])
            self.exitstatus, self.signalstatus = (code, None) if code >= 0 else (None, -code)

    def close(self, force: bool = True) -> None:
        """Close its terminal, and kill it if it does not end because of that."""
        super().close()
        end = time.monotonic() + 0.2
        while not self._has_ended and time.monotonic() < end:
            self._take(_ask(do="wait", pid=self.pid, options=os.WNOHANG))
            time.sleep(0.005)  # poll: the parent is another process, so there is nothing to wait for
        if not self._has_ended:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            self.wait()


def _ask(**request: Any) -> dict[str, Any]:
    server = _start_server()
    assert server.stdin and server.stdout
    server.stdin.write(json.dumps(request) + "\n")
    server.stdin.flush()
    return json.loads(server.stdout.readline())


@cache
def _start_server() -> subprocess.Popen[str]:
    """Return the server process of this test worker, started once."""
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.support.forked_clio"],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8",
        env=os.environ | {"LANG": "C.UTF-8", "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    owner = os.getpid()

    @atexit.register
    def end() -> None:
        if os.getpid() == owner:  # a forked process runs the exit functions as well
            server.communicate()  # closes its input, at which it ends

    return server


def _serve() -> None:
    from torture.process import preload, start

    preload()
    for line in sys.stdin:
        match json.loads(line):
            case {"do": "run", "arguments": arguments, "cwd": cwd, "env": env, "given": given}:
                ended = start(arguments, Path(cwd), env).finish(given.encode())
                answer: dict[str, Any] = {"code": ended.code, "out": ended.out, "err": ended.err}
            case {"do": "start", "arguments": arguments, "cwd": cwd, "env": env, "tty": tty, "setup": setup}:
                answer = {"pid": _fork(arguments, cwd, env, os.open(tty, os.O_RDWR | os.O_NOCTTY), setup)}
            case {"do": "wait", "pid": pid, "options": options}:
                try:
                    pid, status = os.waitpid(pid, options)
                except ChildProcessError:
                    pid = status = 0  # it was waited for before
                answer = {"pid": pid, "status": status}
            case other:
                raise ValueError(other)
        print(json.dumps(answer), flush=True)


def _fork(arguments: list[str], cwd: str, env: dict[str, str], tty: int, setup: str) -> int:
    """Start a clio in this terminal, and close the terminal in this process; return the process id."""
    pid = os.fork()
    if pid:
        os.close(tty)
        return pid
    try:
        os.setsid()
        fcntl.ioctl(tty, termios.TIOCSCTTY, 0)
        for fd in (0, 1, 2):
            os.dup2(tty, fd)
        os.close(tty)
        os.chdir(cwd)
        os.environ.clear()
        os.environ.update(env)
        time.tzset()
        random.seed()
        sys.argv = ["clio", *arguments]
        sys.stdin = sys.__stdin__ = open(0, encoding="utf-8", errors="surrogateescape")  # noqa: SIM115
        sys.stdout = sys.__stdout__ = open(1, "w", 1, encoding="utf-8", errors="surrogateescape")  # noqa: SIM115
        sys.stderr = sys.__stderr__ = open(2, "w", 1, encoding="utf-8", errors="backslashreplace")  # noqa: SIM115
        from clio.cli import command

        exec(setup, {})  # the code of the tests themselves
        command()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


if __name__ == "__main__":
    _serve()
