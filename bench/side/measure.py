"""What is measured of one agent: seconds by the wall's clock, bytes, and the memory of all its processes together."""

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

LONGEST_S = 120.0
_USABLE_LIMIT_S = 40.0
_REST_S = 0.05
_FIRST_S, _AGAIN_S = 0.5, 0.1
_TYPED = re.compile(r"(?:[❯›>▌│┃].*|─\s*\n\s*)zq")
"""What was typed, in a prompt line: behind its sign, or below a rule. Alone it is what the terminal itself echoes."""


class Failed(Exception):
    """This agent did not do it; says what it said."""


def run(argv: Sequence[str], *, cwd: Path, env: dict[str, str], wanted: str = "") -> tuple[float, float]:
    """Seconds of one run by the clock, and of the processors.

    Raises Failed for an exit code, and where what it printed lacks `wanted`.
    """
    begun, before = time.perf_counter(), os.times()
    try:
        done = subprocess.run(
            argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
            timeout=LONGEST_S, check=False,
        )  # fmt: skip
    except (subprocess.TimeoutExpired, OSError) as error:
        raise Failed(str(error)[:200]) from error
    seconds, after = time.perf_counter() - begun, os.times()
    if done.returncode or wanted not in done.stdout + done.stderr:
        raise Failed(f"exit {done.returncode}: {(done.stdout + done.stderr)[-400:]}")
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return seconds, cpu


class Shell:
    """An agent at its prompt in a terminal of 100 x 30. `usable_s`: until a letter that was typed stood in its line.

    Typed as soon as it says anything, and from half a second on ten times a second, for some lose what comes before
    they read.
    """

    def __init__(self, argv: Sequence[str], *, cwd: Path, env: dict[str, str]) -> None:
        begun = time.perf_counter()
        self._pty = PtySession(argv, cwd=cwd, env=env, columns=100, lines=30)
        self._until(lambda: len(self._pty.raw) > 0)
        for times in itertools.count(1):
            self._pty.send("zq")
            try:
                self._until(self._typed, _FIRST_S if times == 1 else _AGAIN_S)
                break
            except Failed:
                if time.perf_counter() - begun > _USABLE_LIMIT_S:
                    self.close()
                    raise
        self.usable_s = time.perf_counter() - begun
        for _ in range(2 * times):
            self._pty.key("backspace")
        self._until(lambda: not self._typed(), 20)

    @property
    def pid(self) -> int:
        """The process it is."""
        return self._pty.pid

    def turn(self, number: int) -> float:
        """Seconds from Enter until the answer stands on the screen."""
        words = f"this is turn {number}"
        self._pty.send(words)
        self._until(lambda: any(words in line for line in self._lines()))
        time.sleep(_REST_S)  # some take an Enter that follows at once for part of what is pasted
        begun = time.perf_counter()
        self._pty.key("enter")
        answer = re.compile(rf"reply-{number}\b")
        self._until(lambda: any(answer.search(line) for line in self._lines()))
        return time.perf_counter() - begun

    def memory_mb(self) -> float:
        """Resident memory of it and all its children, MiB. Linux only."""
        waiting, pages = [self._pty.pid], 0
        while waiting:
            folder = Path(f"/proc/{waiting.pop()}")
            try:
                pages += int((folder / "statm").read_text(encoding="ascii").split()[1])
                waiting += [
                    int(pid)
                    for task in (folder / "task").iterdir()
                    for pid in (task / "children").read_text(encoding="ascii").split()
                ]
            except OSError:  # has ended meanwhile
                continue
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    def leave(self) -> None:
        """End it as a person would; by force where that does not help."""
        for _ in range(2):
            self._pty.key("ctrl-d")
            self._pty.take_in(0.3)
        for _ in range(3):
            self._pty.key("ctrl-c")
            if not self._pty.take_in(0.3):
                break
        self.close()

    def close(self) -> None:
        """End it."""
        self._pty.close()

    def _typed(self) -> bool:
        return _TYPED.search("\n".join(self._lines())) is not None

    def _lines(self) -> list[str]:
        return self._pty.screen.display

    def _until(self, there: Callable[[], bool], limit_s: float = LONGEST_S) -> None:
        end = time.monotonic() + limit_s
        while not there():
            if not self._pty.take_in(0.02) or time.monotonic() > end:
                raise Failed("the screen: " + " / ".join(line.strip() for line in self._lines() if line.strip())[-400:])


def end_left_behind(folder: Path) -> None:
    """End what agents installed below this folder and left running. Linux only."""
    for exe in Path("/proc").glob("[0-9]*/exe"):
        with suppress(OSError):
            if exe.readlink().is_relative_to(folder):
                os.kill(int(exe.parent.name), signal.SIGTERM)


def size_of(folder: Path) -> int:
    """Bytes of all files below."""
    return sum((Path(place) / name).lstat().st_size for place, _, names in os.walk(folder) for name in names)
