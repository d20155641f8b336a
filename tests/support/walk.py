"""A walk through one real clio: each step takes a screen, compares it with the recorded one, and checks it.

WALK=write pytest tests/entrypoints/test_walk.py          record the screens again; then look at each
WALK_PICTURES=/tmp/walk pytest tests/entrypoints/test_walk.py    also write an SVG of each, in colour

A record is the text of the screen and, at 80 columns, its coloured rows with the names of the colours in brackets.
"""

import colorsys
import difflib
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path

from msgspec import Struct
from pyte.screens import Char

from tests.support.chat_server import ChatServer, Script
from tests.support.pty_session import KEYS, PtySession
from tests.support.terminal_picture import DIM_FG, PictureScreen, line_text, svg_of

ROOT = Path(__file__).parent.parent.parent
GOLDEN = Path(__file__).parent.parent / "golden" / "walk"
COLOURED_AT = 80  # columns of the walk whose records name the colours
# Read at import: tests run with a bare environment.
_WRITES, _PICTURES = os.environ.get("WALK") == "write", os.environ.get("WALK_PICTURES")
# Durations always have the same width and are always shown, so that a slow machine changes no line.
STEADY = """
import clio.ui.reader.screen as reader
import clio.ui.pipe_screen as pipe, clio.ui.footer as footer, clio.ui.turn_display as display
pipe.format_seconds = footer.format_seconds = display.format_seconds = lambda seconds: "1.2 s"
footer._MIN_DIFFERENCE_S = display.SHOW_PROGRESS_AFTER_S = float("inf")
reader._LONG_CALL_S = float("inf")
display._SLOW_S = display._MIN_REPORTED_S = 0.0
import clio.tools.shell.processes as processes
processes.MIN_REPORTED_S = 0.0
"""
_SPINNER = re.compile("[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]")
_VARYING = (
    (_SPINNER, "⠹"),
    (re.compile(r"\n{3,}(?=[⠹❯] )"), "\n\n"),  # rows kept free for what was drawn for a moment, if a frame was due then
    (re.compile(r", \d+\.\d s$", re.M), ""),  # shown for slow calls only
    (re.compile(r"\b\d+(\.\d+)? (?=m?s\b)"), "1.2 "),
    (re.compile(r"\bclio \d+\.\d+\S*"), "clio 1.0.0"),
    (re.compile(r"(?<=127\.0\.0\.1:)\d{4,5}"), "4000"),
    (re.compile(r"([▰▱]{5}) \d\d? %"), "▰▱▱▱▱ 12 %"),
    (re.compile(r"\b01[0-9a-f]{6}(?:-[0-9a-f]+)*"), "019abcde"),
    (re.compile(r"(?:(?<=  )|(?<=[›·] ))[0-9a-f]{8}(?= |$)"), "0123abcd"),
    (re.compile(r"\bless than a second|\d+ seconds?\b"), "1 second"),
    (re.compile(r"\bjust now\b|\b\d+ (?:s|min) ago\b"), "2 h ago"),
    (re.compile(r"\b20\d\d-\d\d-\d\d\b"), "2026-03-14"),
    (re.compile(r"(?<=\s)\d\d:\d\d(:\d\d)?(?=\s|$)"), "10:24"),
)
_BAR = re.compile("[█▓▒≡■░·]{10,}")
_QUIET_S = 0.4  # recording waits until the terminal has been silent this long
_PATIENCE_S = 30.0
_SIGNS = {"⏎": "enter", "⎋": "escape", "⇥": "tab", "↑": "up", "↓": "down", "⌫": "backspace"}
IDLE = r"[^⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]*❯ Ask[^\n]*\n+(?:[^\n]*\n)?test-model · [^\n]*\Z"
"""Matches when nothing runs and the input line is empty; put the required text before it."""


class Step(Struct, frozen=True, kw_only=True):
    """Text to type, what the screen shows then, and the name of the record; without a name nothing is recorded.

    Attributes:
        typed: keys; "⏎" is Enter, "⎋" Esc, "⇥" Tab, "↑" and "↓" the arrows, "⌃x" Ctrl and a letter.
        replies: further answers of the model, after those that are left.
        act: called after typing, such as a change of the size.
        shows: a regular expression for the screen, or for the text after `since`.
        since: the record begins at the last row with this text, also in the scrollback; by default at the line that
            was sent last.
        counts: False if the numbers depend on a prompt that changes with clio.
        varies: the screen differs between machines or moments, so it is only checked.
    """

    shows: str
    name: str = ""
    typed: str = ""
    replies: Sequence[Script] = ()
    act: "Callable[[Walk], None] | None" = None
    since: str = ""
    counts: bool = True
    varies: bool = False


class Walk:
    """The terminal, and the differences found so far.

    columns: names the folder of the recorded screens. breaks: whether the terminal may break lines.
    """

    def __init__(self, terminal: PtySession, columns: int, server: ChatServer, *, breaks: bool = False) -> None:
        self.terminal = terminal
        self.columns = columns
        self.server = server
        self.wrong: list[str] = []
        self._counts = True
        self._sent = ""
        self._checks = _Checks(breaks=breaks)

    def run(self, steps: Sequence[Step]) -> None:
        """Do these steps."""
        for step in steps:
            self.server.add(*step.replies)
            for key in re.findall(r"⌃.|.", step.typed, re.S):
                self.terminal.send(KEYS[_SIGNS[key]] if key in _SIGNS else _control(key) if key[0] == "⌃" else key)
            sent = re.search(r"([^⏎⌃⎋↑↓\x1b]{3,12})[^⏎]*⏎", step.typed)
            self._sent = f"❯ {sent[1]}" if sent else self._sent
            if step.act is not None:
                step.act(self)
            self._wait_for(step)
            if step.name:
                self.look(step)

    def _wait_for(self, step: Step) -> None:
        """Wait until the screen, or the text since the last occurrence of `since`, matches."""
        if not step.since:
            self.terminal.wait_for_screen(step.shows, _PATIENCE_S)
        else:
            self.terminal.wait_for(
                rf"(?:{re.escape(step.since)})(?![\s\S]*{re.escape(step.since)})[\s\S]*?(?:{step.shows})",
                _PATIENCE_S,
                regex=True,
            )

    def look(self, step: Step) -> None:
        """Compare the screen with the record and check it; the end of the walk reports differences and faults."""
        self._counts = step.counts
        path = GOLDEN / str(self.columns) / f"{step.name}.txt"
        if step.varies:
            self._rest()
        elif _WRITES:
            self._rest()
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self._shown(step.since or self._sent), encoding="utf-8")
        else:
            self._compare(path, step.since or self._sent)
        faults = self._checks.find_faults(self.terminal.screen)
        self.wrong += [f"{path.name} at {self.columns} columns: {fault}" for fault in faults]
        self._draw(path.stem)

    def forget(self) -> None:
        """Allow that printed text disappears or is wrapped differently from now on."""
        self._checks.printed = []

    def resize(self, columns: int) -> None:
        """Change the number of columns of the terminal."""
        self.terminal.resize(columns, self.terminal.screen.lines)
        self.forget()

    def _compare(self, path: Path, since: str) -> None:
        expected = path.read_text(encoding="utf-8") if path.exists() else ""
        end = time.monotonic() + (1.0 if self.wrong else 15.0)
        while (shown := self._shown(since)) != expected:
            if time.monotonic() > end:
                rows = difflib.unified_diff(expected.splitlines(), shown.splitlines(), path.name, "now", lineterm="")
                self.wrong.append("\n".join(rows))
                return
            self.terminal.take_in(0.05)

    def _shown(self, since: str) -> str:
        """Return the screen, or all since a text; varying parts are replaced, and many blank rows shortened to one."""
        self.terminal.take_in()
        screen = self.terminal.screen
        rows = list_rows(screen)
        texts = [line_text(row, screen.columns) for row in rows]
        begins = [number for number, text in enumerate(texts) if since in text] if since else []
        begin = begins[-1] if begins else len(rows) - screen.lines
        shown = self._still("\n".join(texts[begin:]).rstrip())
        if self.columns != COLOURED_AT:
            return shown + "\n"
        coloured = [self._still(row) for cells in rows[begin:] if (row := name_colours(cells, screen.columns))]
        return "\n".join([shown, "", "colours:", *coloured]) + "\n"

    def _still(self, rows: str) -> str:
        for pattern, instead in _VARYING:
            rows = pattern.sub(instead, rows)
        if not self._counts:
            rows = _BAR.sub(lambda bar: "█" * len(bar[0]), re.sub(r"\d", "0", rows).replace("too low", "too high"))
        return re.sub(r"\n{5,}", "\n\n⋮\n\n", rows)

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


def _control(key: str) -> str:
    return chr(ord(key[1].upper()) - 64)


def list_rows(screen: PictureScreen) -> list[dict[int, Char]]:
    """Return the rows of scrollback and screen, as cells."""
    return [*screen.history.top, *(screen.buffer[row] for row in range(screen.lines))]


def name_colours(cells: dict[int, Char], columns: int) -> str:
    """Return the row with its colours in brackets, as in "[green]●[] read a.py"; "" if it has no colour."""
    looks = [_name_look(cells[column]) for column in range(columns)]
    if not any(looks):
        return ""
    for column, look in enumerate(looks):  # a blank between words of one colour belongs to them
        if column and look == "" and cells[column].data == " ":
            after = next((later for later in range(column, columns) if cells[later].data != " "), 0)
            looks[column] = looks[column - 1] if looks[after] == looks[column - 1] else ""
    texts = [
        (look, "".join(cells[column].data for column in run))
        for look, run in groupby(range(columns), looks.__getitem__)
    ]
    return "".join(f"[{look}]{text}[]" if look else text for look, text in texts).rstrip()


def _name_look(cell: Char) -> str:
    marks = {"bold": cell.bold, "italic": cell.italics, "struck": cell.strikethrough, "reverse": cell.reverse}
    names = [name for name, is_set in marks.items() if is_set]
    if not cell.data.isspace() and cell.fg != "default":
        names.append(_name_hue(cell.fg))
    if cell.bg != "default":
        names.append(f"on {_name_hue(cell.bg)}")
    return " ".join(names)


@cache
def _name_hue(colour: str) -> str:
    """Return a common name of the colour, so that a change of a shade changes no record."""
    if not re.fullmatch(r"[0-9a-f]{6}", colour):
        return "dim" if colour in (DIM_FG, "brightblack") else colour.removeprefix("bright").replace("brown", "yellow")
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (0, 2, 4))
    hue, lightness, saturation = colorsys.rgb_to_hls(red, green, blue)
    if saturation < 0.12 or lightness < 0.06:
        return "grey"
    names = ("red", "yellow", "green", "cyan", "blue", "magenta", "red")
    return names[round(hue * 6)]


_OLD_WORDING = re.compile(
    r"\b(?:allowed once|it (?:changes files|runs code|deletes)|in all$|asks to slow down|waiting to ask again"
    r"|esc stops|ctrl-t shows it|Enter again: at|next step:|Enter takes|Esc leaves|goes with your next message"
    r"|shows what can be typed|who answers|what goes on|earlier talk|who decides about|the never-list"
    r"|takes one and remembers|Memory gave the model|kept for the answer|trimmed above|may go\b|the dearest"
    r"|nothing listens at|does not accept the key|asks for more than usual|Nothing was changed\.|told from each turn"
    r"|no sub-agents but|told the model beside|would hold them here|stands on|what lacks|runs since|anew|nobody"
    r"|whoever|stands in|lies in|\d+ steps? · )",
    re.IGNORECASE | re.MULTILINE,
)
_STATUS = re.compile(r"^\S.* · (?:ask|edits|all|plan|auto)\b")
_INPUT = re.compile(r"^❯ ")
_EMPTY = re.compile(r"^❯ (?:Ask|Enter|↑|esc)")
"""Matches an input line with a hint: no menu is open."""
_HEX = re.compile("[a-f]+")
_WAITING = re.compile(r"queued \d+: |steering: ")
_WORD = re.compile(r"(?<![\w…])[A-Za-z]{3,}(?![\w…])")


@cache
def read_vocabulary() -> frozenset[str]:
    """Return the words of clio's sources, documents and tests, to recognize words that are cut off."""
    folders = (("clio", "*.py"), ("prompts", "*.md"), ("docs", "*.md"), ("tests/support", "*.py"))
    files = [file for folder, pattern in folders for file in (ROOT / folder).rglob(pattern)]
    files.append(ROOT / "tests" / "entrypoints" / "test_walk.py")
    names = {name for file in files for name in re.findall(r"[A-Za-z_]{2,}", _read_words(file))}
    return frozenset(word.lower() for name in names for word in (name, *name.split("_")))


def _read_words(file: Path) -> str:
    return file.read_text(encoding="utf-8").replace("\\n", " ")


class _Checks:
    """Checks for every screen, independent of its record."""

    def __init__(self, *, breaks: bool) -> None:
        self.printed: list[str] = []
        self._breaks = breaks

    def find_faults(self, screen: PictureScreen) -> Iterator[str]:
        """Return the faults of this screen."""
        rows = [line_text(row, screen.columns) for row in list_rows(screen)]
        shown = rows[-screen.lines :]
        text = "\n".join(shown)
        if not self._breaks:
            for row in screen.broken_rows:
                yield f"a row was wider than the terminal: {row!r}"
            for word in _WORD.findall(text):
                if not _HEX.fullmatch(word) and word.lower() not in read_vocabulary():
                    yield f"{word!r} is no word: it was cut"
        screen.broken_rows.clear()
        if found := _OLD_WORDING.search(text):
            yield f"{found[0]!r} is not how clio says it"
        yield from self._find_moved_rows(rows, screen)

    def _find_moved_rows(self, rows: list[str], screen: PictureScreen) -> Iterator[str]:
        """Check that printed text has not changed, and that the status line is the last row.

        A menu, a list, a question or a long line may hide what is on the screen, but not change the scrollback.
        """
        last = max((number for number, row in enumerate(rows) if row), default=0)
        inputs = [number for number, row in enumerate(rows) if _INPUT.match(row)]
        hides = not _STATUS.match(rows[last]) or rows[last].startswith("history") or not _EMPTY.match(rows[inputs[-1]])
        compared = self.printed[: len(rows) - screen.lines] if hides else self.printed
        if rows[: len(compared)] != compared:
            changed = next(
                pair for pair in zip(compared, [*rows, *[""] * len(compared)], strict=False)
                if pair[0] != pair[1]
            )  # fmt: skip
            yield f"a printed row was drawn again: {changed[0]!r} became {changed[1]!r}"
        if inputs and inputs[-1] >= len(rows) - screen.lines and _STATUS.match(rows[last]):
            printed = rows[: inputs[-1]]
            if not hides and not _SPINNER.search("\n".join(rows[-screen.lines :])):
                waiting = [number for number, row in enumerate(printed) if _WAITING.match(row)]
                del printed[waiting[0] if waiting else len(printed) :]
                while printed and not printed[-1]:
                    printed.pop()
                self.printed = printed
