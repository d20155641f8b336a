"""A terminal emulator for tests: pyte with dim text and answers to queries, and an SVG of its cells."""

import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass
from html import escape
from typing import Any
from unicodedata import normalize

import pyte
from pyte import modes as mode
from pyte.screens import Char
from wcwidth import iter_graphemes, wcswidth, wcwidth

FONTS = "'SF Mono', 'Cascadia Mono', Menlo, Consolas, 'DejaVu Sans Mono', 'Noto Sans Mono CJK SC', monospace"
CELL_WIDTH = 8.4
CELL_HEIGHT = 18.0
FONT_SIZE = 14
PADDING = 16.0
TITLE_BAR = 34.0
FOREGROUND, BACKGROUND, DIM = "#d8dee9", "#161b22", "#7d8590"
DIM_FG = "dim"
_ALTERNATE_SCREEN = 1049
COLOURS = {
    "black": "#484f58",
    "red": "#ff7b72",
    "green": "#7ee787",
    "brown": "#e3b341",
    "blue": "#79c0ff",
    "magenta": "#d2a8ff",
    "cyan": "#76e3ea",
    "white": "#d8dee9",
    "brightblack": "#7d8590",
    "brightred": "#ffa198",
    "brightgreen": "#a5f3b0",
    "brightbrown": "#f2cc60",
    "brightyellow": "#f2cc60",
    "brightblue": "#a5d6ff",
    "brightmagenta": "#e2c5ff",
    "bfightmagenta": "#e2c5ff",  # pyte's own spelling of this name
    "brightcyan": "#b3f0ff",
    "brightwhite": "#ffffff",
}


@dataclass(frozen=True)
class Paper:
    """A terminal's default colours: background, text, and faint text."""

    back: str = BACKGROUND
    front: str = FOREGROUND
    dim: str = DIM


NIGHT = Paper()
# Latin letters, and from general punctuation to arrows, boxes and symbols what has one cell.
_SIMPLE = [
    letter
    for letter in map(chr, (*range(0x20, 0x300), *range(0x2010, 0x2C00)))
    if letter.isprintable() and wcwidth(letter) == 1
]
_SIMPLE_TEXT = re.compile(f"[{re.escape(''.join(_SIMPLE))}]+")


class PictureScreen(pyte.HistoryScreen):
    """A screen with scrollback and an alternate screen that shows faint text and answers queries through `reply`.

    pyte drops SGR 2; here faint text in the default colour gets the foreground "dim".
    """

    # HistoryScreen wraps every method at every access to support paging, which no test uses.
    __getattribute__ = object.__getattribute__

    def __init__(self, columns: int, lines: int, reply: Callable[[str], None] | None = None) -> None:
        super().__init__(columns, lines, history=20_000, ratio=0.5)
        self.reply = reply
        self.broken_rows: list[str] = []
        """Rows that were wider than the screen, so that the terminal broke them: their first parts."""
        self._cells: dict[tuple[Any, ...], dict[str, Char]] = {}  # by style without text, then by letter
        self._main_screen: tuple[Any, ...] | None = None  # while a program shows the alternate screen

    def draw(self, data: str) -> None:
        """Draw text as current terminals do: combined letters share their cells, and no text is lost.

        pyte alone drops the rest of a text at a joiner or a variation selector.
        """
        if _SIMPLE_TEXT.fullmatch(data) and mode.DECAWM in self.mode and mode.IRM not in self.mode:
            self._draw_simple(data)
            return
        for letters in iter_graphemes(data):
            if self.cursor.x >= self.columns and mode.DECAWM in self.mode and wcwidth(letters[0]):
                self.broken_rows.append(line_text(self.buffer[self.cursor.y], self.columns))
            if len(letters) == 1 and wcwidth(letters) != 0:
                super().draw(letters)
            elif wcwidth(letters[0]) == 0:
                self._append(letters)
            else:
                super().draw(letters[0])
                if wcwidth(letters[0]) == 1 and wcswidth(letters) == 2 and self.cursor.x < self.columns:
                    super().draw(" ")
                    self.buffer[self.cursor.y][self.cursor.x - 1] = self.cursor.attrs._replace(data="")
                self._append(letters[1:])

    def _draw_simple(self, text: str) -> None:
        """Draw letters of one cell each that never combine, a row at a time: nearly all that is drawn."""
        text = text.translate(self.g1_charset if self.charset else self.g0_charset)
        style = self.cursor.attrs[1:]
        made = self._cells.setdefault(style, {})
        while text:
            if self.cursor.x >= self.columns:
                self.broken_rows.append(line_text(self.buffer[self.cursor.y], self.columns))
                self.carriage_return()
                self.linefeed()
            row, start = self.buffer[self.cursor.y], self.cursor.x
            part, text = text[: self.columns - start], text[self.columns - start :]
            for column, letter in enumerate(part, start):
                cell = made.get(letter)
                if cell is None:
                    cell = made[letter] = Char(letter, *style)
                row[column] = cell
            self.cursor.x = start + len(part)
            self.dirty.add(self.cursor.y)

    def resize(self, lines: int | None = None, columns: int | None = None) -> None:
        """Change the size as current terminals do: rows below the cursor go first, then the top ones, into scrollback.

        pyte alone deletes the top rows and leaves the cursor in place, on another text.
        """
        if lines is not None and lines < self.lines:
            over = max(self.cursor.y + 1 - lines, 0)
            if over:
                row, self.cursor.y = self.cursor.y, self.lines - 1
                for _ in range(over):
                    self.index()
                self.cursor.y = row - over
            for row in range(lines, self.lines):
                self.buffer.pop(row, None)
            self.lines = lines
            self.set_margins()
        super().resize(lines, columns)

    def _append(self, marks: str) -> None:
        """Add these combining marks to the letter before the cursor."""
        cells = self.buffer[self.cursor.y]
        column = self.cursor.x - 1
        while column > 0 and not cells[column].data:
            column -= 1
        if column >= 0:
            cells[column] = cells[column]._replace(data=normalize("NFC", cells[column].data + marks))

    def select_graphic_rendition(self, *attrs: int, **private: bool) -> None:
        if private:
            return  # such as modifyOtherKeys: pyte would raise
        super().select_graphic_rendition(*attrs)
        plain = list(_without_extended_colours(attrs))
        style = self.cursor.attrs
        if 2 in plain and style.fg == "default":
            self.cursor.attrs = style._replace(fg=DIM_FG)
        elif 22 in plain and style.fg == DIM_FG:
            self.cursor.attrs = style._replace(fg="default")

    def set_mode(self, *modes: int, **kwargs: Any) -> None:
        super().set_mode(*modes, **kwargs)
        if _ALTERNATE_SCREEN in modes and kwargs.get("private") and self._main_screen is None:
            self._main_screen = (self.buffer, copy(self.cursor), self.history)
            self.buffer = deepcopy(self.buffer)
            self.history = self.history._replace(top=deque(), bottom=deque())
            self.erase_in_display(2)

    def reset_mode(self, *modes: int, **kwargs: Any) -> None:
        super().reset_mode(*modes, **kwargs)
        if _ALTERNATE_SCREEN in modes and kwargs.get("private") and self._main_screen is not None:
            (self.buffer, self.cursor, self.history), self._main_screen = self._main_screen, None

    def report_device_status(self, mode: int, **private: bool) -> None:
        if not private:
            super().report_device_status(mode)

    def write_process_input(self, data: str) -> None:
        if self.reply is not None:
            self.reply(data)

    def scrollback(self) -> list[str]:
        """The lines that have scrolled off the screen, oldest first, without trailing blanks."""
        return [line_text(line, self.columns) for line in self.history.top]


def _without_extended_colours(attrs: tuple[int, ...]) -> Iterator[int]:
    """Return the plain SGR codes: the 2 in `38;2;r;g;b` does not mean faint."""
    rest = list(attrs)
    while rest:
        code = rest.pop(0)
        if code in (38, 48) and rest:
            del rest[: 4 if rest[0] == 2 else 2]
        else:
            yield code


def line_text(cells: dict[int, Char], columns: int) -> str:
    """Return the text of one row of cells, without trailing blanks; the empty half of a wide character is skipped."""
    return "".join(cells[column].data for column in range(columns)).rstrip()


def screen_lines(screen: pyte.Screen) -> list[str]:
    """Return the rows of the screen without trailing blanks."""
    return [line_text(screen.buffer[row], screen.columns) for row in range(screen.lines)]


def render_bytes(data: bytes, columns: int = 80, lines: int = 24) -> PictureScreen:
    """Return the screen after these bytes; a bare newline also returns the carriage, as a terminal driver does."""
    screen = PictureScreen(columns, lines)
    pyte.ByteStream(screen).feed(data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
    return screen


@dataclass(frozen=True)
class Run:
    """Neighbouring cells of the same style. `cells` is their width on the grid."""

    column: int
    cells: int
    text: str
    look: Char


def _runs(cells: dict[int, Char], columns: int) -> list[Run]:
    """Split a row into runs; each wide character is separate, so that a font of another width can't shift the rest."""
    runs: list[Run] = []
    for column in range(columns):
        cell = cells[column]
        if not cell.data:
            continue
        width = 2 if wcswidth(cell.data) == 2 else 1
        look = cell._replace(data="")
        last = runs[-1] if runs else None
        joins = last is not None and last.look == look and last.column + last.cells == column and width == 1
        if joins and last is not None and last.cells == len(last.text):
            runs[-1] = Run(last.column, last.cells + 1, last.text + cell.data, look)
        else:
            runs.append(Run(column, width, cell.data, look))
    return runs


def _colour(name: str, default: str, paper: Paper) -> str:
    if name in ("default", DIM_FG):
        return default if name == "default" else paper.dim
    return COLOURS.get(name) or f"#{name}"


def _draw(run: Run, top: float, paper: Paper) -> Iterator[str]:
    """Return the background and the text of one run, as SVG elements."""
    look = run.look
    front, back = _colour(look.fg, paper.front, paper), _colour(look.bg, paper.back, paper)
    if look.reverse:
        front, back = back, front
    left, width = PADDING + run.column * CELL_WIDTH, run.cells * CELL_WIDTH
    if back != paper.back:
        yield f'<rect x="{left:.1f}" y="{top:.1f}" width="{width + 0.2:.1f}" height="{CELL_HEIGHT:g}" fill="{back}"/>'
    text = run.text if look.underscore or look.strikethrough else run.text.rstrip()
    if not text:
        return
    width -= (len(run.text) - len(text)) * CELL_WIDTH
    decoration = " ".join(["underline"] * look.underscore + ["line-through"] * look.strikethrough)
    style = "".join(
        [
            ' font-weight="bold"' * look.bold,
            ' font-style="italic"' * look.italics,
            f' text-decoration="{decoration}"' * bool(decoration),
        ]
    )
    colour = "" if front == paper.front else f' fill="{front}"'
    baseline = top + CELL_HEIGHT * 0.74
    yield (
        f'<text x="{left:.1f}" y="{baseline:.1f}" textLength="{width:.1f}"{colour}{style} xml:space="preserve">'
        f"{escape(text, quote=False)}</text>"
    )


@dataclass(frozen=True)
class Frame:
    """One frame of an animation: the elements of each row as if it were the first, the cursor, and the duration."""

    rows: tuple[str, ...]
    cursor: tuple[int, int] | None
    seconds: float


def take_frame(screen: pyte.Screen, seconds: float, paper: Paper = NIGHT) -> Frame:
    """Return the current screen as a frame of this duration."""
    rows = tuple(
        "".join(element for run in _runs(screen.buffer[row], screen.columns) for element in _draw(run, 0.0, paper))
        for row in range(screen.lines)
    )
    cursor = None if screen.cursor.hidden else (screen.cursor.x, screen.cursor.y)
    return Frame(rows, cursor, seconds)


def animation_of(frames: Sequence[Frame], columns: int, *, title: str = "clio", paper: Paper = NIGHT) -> str:
    """Return an SVG that shows the frames one after another, for ever, by CSS alone.

    Without CSS animation, and for readers who prefer reduced motion, it shows the last frame. Rows that several frames
    have in common are in the file once.
    """
    width, height = columns * CELL_WIDTH + 2 * PADDING, len(frames[0].rows) * CELL_HEIGHT + TITLE_BAR + PADDING
    total = sum(frame.seconds for frame in frames)
    names: dict[str, str] = {}
    for frame in frames:
        for row in filter(None, frame.rows):
            names.setdefault(row, f"r{len(names)}")
    rules, groups, start = list[str](), list[str](), 0.0
    for number, frame in enumerate(frames):
        begin, end = 100 * start / total, 100 * (start + frame.seconds) / total
        start += frame.seconds
        steps = ["0%{visibility:hidden}"] if begin else []
        steps += [f"{begin:.3f}%{{visibility:visible}}"]
        steps += [f"{end:.3f}%{{visibility:hidden}}"] if number + 1 < len(frames) else []
        rules.append(f"@keyframes k{number}{{{''.join(steps)}}}#f{number}{{animation-name:k{number}}}")
        uses = "".join(
            f'<use href="#{names[row]}" y="{TITLE_BAR + place * CELL_HEIGHT:g}"/>'
            for place, row in enumerate(frame.rows)
            if row
        )
        if frame.cursor is not None:
            x, y = PADDING + frame.cursor[0] * CELL_WIDTH, TITLE_BAR + frame.cursor[1] * CELL_HEIGHT
            uses += f'<rect x="{x:.1f}" y="{y:g}" width="{CELL_WIDTH}" height="{CELL_HEIGHT:g}" fill-opacity="0.6"/>'
        last = " last" * (number + 1 == len(frames))
        groups.append(f'<g id="f{number}" class="f{last}">{uses}</g>')
    style = (
        f".f{{visibility:hidden;animation:{total:.2f}s step-end infinite}}.last{{visibility:visible}}{''.join(rules)}"
        "@media (prefers-reduced-motion:reduce){.f{animation:none!important}}"
    )
    head, dots, shown = _svg_head(width, height, title, paper)
    return "\n".join(
        [
            head,
            f"<style>{style}</style>",
            *dots,
            f'<g font-family="{FONTS}" font-size="{FONT_SIZE}" fill="{paper.front}">',
            shown,
            "<defs>",
            *(f'<g id="{name}">{row}</g>' for row, name in names.items()),
            "</defs>",
            *groups,
            "</g>",
            "</svg>",
            "",
        ]
    )


def _svg_head(width: float, height: float, title: str, paper: Paper) -> tuple[str, list[str], str]:
    """Return the opening tag, the window with its buttons, and the title."""
    buttons = "".join(
        f'<circle cx="{20 + 18 * number}" cy="17" r="5.5" fill="{fill}"/>'
        for number, fill in enumerate(("#ff5f57", "#febc2e", "#28c840"))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" role="img" aria-label="{escape(title)}">',
        [f'<rect width="100%" height="100%" rx="8" fill="{paper.back}"/>', buttons],
        f'<text x="{width / 2:g}" y="21" text-anchor="middle" font-size="12" fill="{paper.dim}">{escape(title)}</text>',
    )


def svg_of(screen: pyte.Screen, *, title: str = "clio", last_line: int | None = None, paper: Paper = NIGHT) -> str:
    """Return a picture of the screen as an SVG that needs no script, no network and no particular font.

    last_line: number of rows to draw from the top; without it the blank rows at the bottom are cut off.
    """
    texts = screen_lines(screen)
    rows = last_line or max((number for number, text in enumerate(texts, 1) if text), default=1)
    width, height = screen.columns * CELL_WIDTH + 2 * PADDING, rows * CELL_HEIGHT + TITLE_BAR + PADDING
    drawn = [
        element
        for row in range(rows)
        for run in _runs(screen.buffer[row], screen.columns)
        for element in _draw(run, TITLE_BAR + row * CELL_HEIGHT, paper)
    ]
    head, window, shown_title = _svg_head(width, height, title, paper)
    return "\n".join(
        [
            head,
            *window,
            f'<g font-family="{FONTS}" font-size="{FONT_SIZE}" fill="{paper.front}">',
            shown_title,
            *drawn,
            "</g>",
            "</svg>",
            "",
        ]
    )
