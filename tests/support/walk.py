"""A walk through one real clio: a screen is taken at each moment, and compared with the one on record.

WALK=write pytest tests/entrypoints/test_walk.py          the screens are recorded again; then look at each
WALK_PICTURES=/tmp/walk pytest tests/entrypoints/test_walk.py    and an SVG of each, in colour
"""

import difflib
import os
import re
import time
from pathlib import Path

from tests.support.pty_session import PtySession
from tests.support.terminal_picture import svg_of

GOLDEN = Path(__file__).parent.parent / "golden" / "walk"
# Read at once: a test has a bare environment.
_WRITES, _PICTURES = os.environ.get("WALK") == "write", os.environ.get("WALK_PICTURES")
# Durations are as wide as one another, so that a slow machine drops no fact of a narrow status line.
STEADY = (
    "import clio.ui.pipe_screen as s, clio.ui.footer as l;"
    "s.format_seconds = l.format_seconds = lambda seconds: '1.2 s';"
    "l._SAME_S = float('inf');"
    "from clio.cli import main; raise SystemExit(main())"
)
_VARYING = (
    (re.compile("[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]"), "⠹"),
    (re.compile(r", \d+\.\d s$", re.M), ""),  # told of slow calls only
    (re.compile(r"\b\d+(\.\d+)? (?=m?s\b)"), "1.2 "),
    (re.compile(r"(?<=127\.0\.0\.1:)\d{4,5}"), "4000"),
    (re.compile(r"([▰▱]{5}) \d\d %"), "▰▱▱▱▱ 12 %"),
    (re.compile(r"\b01[0-9a-f]{6}(?:-[0-9a-f]+)*"), "019abcde"),
    (re.compile(r"\b20\d\d-\d\d-\d\d\b"), "2026-03-14"),
    (re.compile(r"(?<=\s)\d\d:\d\d(:\d\d)?(?=\s|$)"), "10:24"),
)
_BAR = re.compile("[█▓▒≡■░·]{10,}")
_QUIET_S = 0.4  # a recording waits until the terminal has been silent for so long


class Walk:
    """The terminal, and the screens that were not as they should be.

    columns: names the folder of the screens on record.
    """

    def __init__(self, terminal: PtySession, columns: int) -> None:
        self.terminal = terminal
        self.columns = columns
        self.wrong: list[str] = []
        self._taken = 0
        self._counts = True

    def look(self, name: str, shows: str, since: str = "", *, counts: bool = True) -> None:
        """Wait until this is shown, and compare the screen; a difference is kept for the end of the walk.

        shows: a regular expression. since: the scrollback counts too, from the last place where this stands.
        counts: False where the numbers are those of a prompt that changes with clio.
        """
        self._taken += 1
        self._counts = counts
        self.terminal.wait_for(shows, regex=True)
        path = GOLDEN / str(self.columns) / f"{self._taken:02}-{name}.txt"
        if _WRITES:
            self._rest()
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self._shown(since), encoding="utf-8")
        else:
            self._compare(path, since)
        self._draw(path.stem)

    def _compare(self, path: Path, since: str) -> None:
        expected = path.read_text(encoding="utf-8") if path.exists() else ""
        end = time.monotonic() + (1.0 if self.wrong else 8.0)
        while (shown := self._shown(since)) != expected:
            if time.monotonic() > end:
                rows = difflib.unified_diff(expected.splitlines(), shown.splitlines(), path.name, "now", lineterm="")
                self.wrong.append("\n".join(rows))
                return
            self.terminal.take_in(0.05)

    def _shown(self, since: str) -> str:
        """The screen, or all since a text; what differs from run to run replaced, and many blank rows told in one."""
        everything = self.terminal.everything
        rows = everything[max(everything.rfind(since), 0) :] if since else self.terminal.text
        for pattern, instead in _VARYING:
            rows = pattern.sub(instead, rows)
        if not self._counts:
            rows = _BAR.sub(lambda bar: "█" * len(bar[0]), re.sub(r"\d", "0", rows).replace("too low", "too high"))
        return re.sub(r"\n{5,}", "\n\n⋮\n\n", rows) + "\n"

    def _rest(self) -> None:
        end = time.monotonic() + _QUIET_S
        while time.monotonic() < end:
            before = self._shown("")
            self.terminal.take_in(0.1)
            if self._shown("") != before:
                end = time.monotonic() + _QUIET_S

    def _draw(self, name: str) -> None:
        if _PICTURES:
            path = Path(_PICTURES) / f"{self.columns}-{name}.svg"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(svg_of(self.terminal.screen, title=path.stem), encoding="utf-8")
