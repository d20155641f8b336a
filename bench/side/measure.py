"""Measure one agent: wall-clock time, bytes on disk, and the memory of all its processes."""

import itertools
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from tests.support.pty_session import PtySession

TIMEOUT_S = 120.0
_USABLE_LIMIT_S = 40.0
_REST_S = 0.05
_FIRST_S, _AGAIN_S = 0.5, 0.1
_TYPED = re.compile(r"(?:[❯›>▌│┃].*|─\s*\n\s*)zq")
"""Typed keys after the sign of a prompt line or below a rule; elsewhere the terminal itself has echoed them."""


class AgentFailed(Exception):
    """The agent failed; the message has its last output."""


def run(argv: Sequence[str], *, cwd: Path, env: dict[str, str], expected: str = "") -> tuple[float, float]:
    """Run an agent once, and return its wall-clock and CPU seconds.

    Raises AgentFailed for an exit code other than 0, or if the output does not contain `expected`.
    """
    started, before = time.perf_counter(), os.times()
    try:
        process = subprocess.run(
            argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
            timeout=TIMEOUT_S, check=False,
        )  # fmt: skip
    except (subprocess.TimeoutExpired, OSError) as error:
        raise AgentFailed(str(error)[:200]) from error
    seconds, after = time.perf_counter() - started, os.times()
    if process.returncode or expected not in process.stdout + process.stderr:
        raise AgentFailed(f"exit {process.returncode}: {(process.stdout + process.stderr)[-400:]}")
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return seconds, cpu


class Shell:
    """An agent at its prompt in a terminal of 100 × 30. usable_s: seconds until a typed letter is in its prompt line.

    The letter is typed at the first output, and from half a second on ten times per second, because some agents lose
    input that arrives before they read.
    """

    def __init__(self, argv: Sequence[str], *, cwd: Path, env: dict[str, str]) -> None:
        started = time.perf_counter()
        self._pty = PtySession(argv, cwd=cwd, env=env, columns=100, lines=30)
        self._wait_until(lambda: len(self._pty.raw) > 0)
        for attempts in itertools.count(1):
            self._pty.send("zq")
            try:
                self._wait_until(self._shows_typed_keys, _FIRST_S if attempts == 1 else _AGAIN_S)
                break
            except AgentFailed:
                if time.perf_counter() - started > _USABLE_LIMIT_S:
                    self.close()
                    raise
        self.usable_s = time.perf_counter() - started
        for _ in range(2 * attempts):
            self._pty.key("backspace")
        self._wait_until(lambda: not self._shows_typed_keys(), 20)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._pty.pid

    def run_turn(self, number: int) -> float:
        """Return the seconds from Enter until the answer is on the screen."""
        request = f"this is turn {number}"
        self._pty.send(request)
        self._wait_until(lambda: any(request in line for line in self._lines()))
        time.sleep(_REST_S)  # some agents treat an Enter that follows at once as part of a paste
        started = time.perf_counter()
        self._pty.key("enter")
        answer = re.compile(rf"reply-{number}\b")
        self._wait_until(lambda: any(answer.search(line) for line in self._lines()))
        return time.perf_counter() - started

    def memory_mb(self) -> float:
        """Return the resident memory of the agent and all its children in MiB. Linux only."""
        pids, pages = [self._pty.pid], 0
        while pids:
            folder = Path(f"/proc/{pids.pop()}")
            try:
                pages += int((folder / "statm").read_text(encoding="ascii").split()[1])
                pids += [
                    int(pid)
                    for task in (folder / "task").iterdir()
                    for pid in (task / "children").read_text(encoding="ascii").split()
                ]
            except OSError:  # the process has ended
                continue
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    def exit(self) -> None:
        """Exit with Ctrl-D and Ctrl-C, or kill the agent if it does not react."""
        for _ in range(2):
            self._pty.key("ctrl-d")
            self._pty.take_in(0.3)
        for _ in range(3):
            self._pty.key("ctrl-c")
            if not self._pty.take_in(0.3):
                break
        self.close()

    def close(self) -> None:
        """Kill the agent if it is still running."""
        self._pty.close()

    def _shows_typed_keys(self) -> bool:
        return _TYPED.search("\n".join(self._lines())) is not None

    def _lines(self) -> list[str]:
        return self._pty.screen.display

    def _wait_until(self, condition: Callable[[], bool], limit_s: float = TIMEOUT_S) -> None:
        end = time.monotonic() + limit_s
        while not condition():
            if not self._pty.take_in(0.02) or time.monotonic() > end:
                raise AgentFailed(
                    "the screen: " + " / ".join(line.strip() for line in self._lines() if line.strip())[-400:]
                )


def end_leftover_processes(folder: Path) -> None:
    """End the processes of programs that agents have installed below this folder. Linux only."""
    for exe in Path("/proc").glob("[0-9]*/exe"):
        with suppress(OSError):
            if exe.readlink().is_relative_to(folder):
                os.kill(int(exe.parent.name), signal.SIGTERM)


def measure_folder_bytes(folder: Path) -> int:
    """Return the total size of all files below a folder."""
    return sum((Path(place) / name).lstat().st_size for place, _, names in os.walk(folder) for name in names)
