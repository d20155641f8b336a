"""Questions to the user, asked below the scrollback: a key, a line, a list to choose from, a long text in pages."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TextIO, cast

from msgspec import structs
from prompt_toolkit import PromptSession
from prompt_toolkit.application import Application, get_app_session
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.key_binding.bindings.cpr import load_cpr_bindings
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import (
    AnyContainer,
    BufferControl,
    ConditionalContainer,
    FormattedTextControl,
    HSplit,
    Layout,
    Window,
)
from prompt_toolkit.layout.dimension import Dimension
from prompt_toolkit.layout.processors import BeforeInput
from prompt_toolkit.output import ColorDepth, Output
from prompt_toolkit.output import Output as Display
from prompt_toolkit.styles import BaseStyle, DynamicStyle, Style

from clio.commands.command import Table
from clio.security.actions import Action, FileChange
from clio.sessions.state import Todo
from clio.text.translation import mark, tr, tr_count
from clio.ui.keyboard import run_question, save_early_keys
from clio.ui.painter import (
    Painter,
    Part,
    TerminalSize,
    assemble_text,
    count_cells,
    expand_fill,
    truncate_line,
    truncate_to_cells,
)
from clio.ui.palettes import Palette, TextStyle
from clio.ui.pipe_screen import TerminalOutput
from clio.ui.plain_line import PlainLine
from clio.ui.printed_rows import PrintedRows, RowCover
from clio.ui.safe_text import clean_line
from clio.ui.tables import TableRows, render_todos, wrap_cells
from clio.ui.terminal_handoff import Suspender
from clio.ui.terminal_signals import TerminalSignals
from clio.ui.theme import Terminal, Theme

if TYPE_CHECKING:
    from rich.text import Text

    from clio.ui.diff_view import FormatPath

_TOOLKIT_CLASSES = {
    "prompt": "prompt",
    "continuation": "status",
    "bottom-toolbar": "",
    "bottom-toolbar.text": "status",
    "bottom-toolbar.chips": "chips",
    "completion-menu": "menu",
    "completion-menu.completion": "menu",
    "completion-menu.completion.current": "menu_current",
    "completion-menu.meta.completion": "menu_note",
    "completion-menu.meta.completion.current": "menu_note_current",
    "completion-menu.multi-column-meta": "menu_note",
    "scrollbar.background": "menu_note",
    "control-character": "accent",
    "digraph": "accent",
    "nbsp": "link",
    "hint": "status",
    "placeholder": "status",
    "choice": "strong",
    "choice.selected": "strong",
}
"""Maps prompt_toolkit's style names to the theme's meanings; "" means plain."""
_TOOLKIT_DEPTHS = {
    "standard": ColorDepth.DEPTH_4_BIT,
    "256": ColorDepth.DEPTH_8_BIT,
    "truecolor": ColorDepth.DEPTH_24_BIT,
}


def make_toolkit_style(theme: Theme) -> BaseStyle:
    """Return a prompt_toolkit style that follows changes of the palette."""
    made: list[tuple[Palette, Style]] = []

    def get_current_style() -> BaseStyle:
        palette = theme.current.palette
        if not made or made[0][0] is not palette:
            made[:] = [(palette, _convert_palette(palette))]
        return made[0][1]

    return DynamicStyle(get_current_style)


def get_toolkit_depth(theme: Theme) -> ColorDepth:
    """Return how many colours may be used: one if the palette has none, so that prompt_toolkit's own do not appear."""
    if not theme.colour or not theme.current.palette.has_colour:
        return ColorDepth.DEPTH_1_BIT
    return _TOOLKIT_DEPTHS[theme.depth]


def _convert_palette(palette: Palette) -> Style:
    palette_styles = palette.styles
    styles = {
        name: palette_styles[meaning].for_toolkit if meaning else "noinherit"
        for name, meaning in _TOOLKIT_CLASSES.items()
    }
    sent, prompt = palette_styles["user_message"], palette_styles["prompt"]
    sent_prompt = TextStyle(foreground=prompt.foreground, background=sent.background, marks=prompt.marks)
    styles |= {"accepted": sent.for_toolkit, "accepted.continuation": sent.for_toolkit}
    # Both classes, because prompt_toolkit adds "accepted" behind that of a sent line's prompt.
    styles["accepted.prompt accepted"] = sent_prompt.for_toolkit
    shade = palette_styles["status"].foreground
    button = TextStyle(background=shade) if shade else TextStyle(marks=("reverse",))
    return Style.from_dict(styles | {"scrollbar.button": button.for_toolkit})


RowPosition = tuple[int, int]
"""A line index and a row within that line."""


class ScrollPage:
    """The scroll position in a text longer than the screen. Draws nothing and reads no keys.

    Args:
        count: number of lines.
        render_line: returns a line as rendered rows, at least one, for the terminal's present width.

    Attributes:
        is_end_seen: whether the last row has been displayed.
    """

    def __init__(self, count: int, render_line: Callable[[int], list[str]]) -> None:
        self.count = count
        self._render_line = render_line
        self._top: RowPosition = (0, 0)
        self.is_end_seen = False

    def get_visible_rows(self, height: int) -> list[str]:
        """Return the rows to display; fewer than `height` only if the whole text is shorter."""
        self._top = min(self._top, self._find_last_top(height))
        rows: list[str] = []
        line, row = self._top
        while len(rows) < height and line < self.count:
            rows += self._render_line(line)[row:]
            line, row = line + 1, 0
        self.is_end_seen = self.is_end_seen or (line >= self.count and len(rows) <= height)
        return rows[:height]

    def count_lines_below(self, height: int) -> int:
        """Count the lines below the displayed ones, including one that is displayed in part."""
        line, row = self._top
        rows_left = height
        while line < self.count:
            rows_left -= len(self._render_line(line)) - row
            line, row = line + 1, 0
            if rows_left <= 0:
                return self.count - line + (rows_left < 0)
        return 0

    def fits_in_height(self, height: int) -> bool:
        """Whether the whole text is displayed."""
        return self.count <= height and sum(len(self._render_line(line)) for line in range(self.count)) <= height

    def scroll(self, rows: int, height: int) -> None:
        """Scroll down by so many rows, up if negative."""
        for _ in range(abs(rows)):
            self._top = self._get_next_position(self._top) if rows > 0 else self._get_previous_position(self._top)
        self._top = min(self._top, self._find_last_top(height))

    def scroll_to_start(self) -> None:
        """Scroll to the beginning."""
        self._top = (0, 0)

    def scroll_to_end(self, height: int) -> None:
        """Scroll to the end."""
        self._top = self._find_last_top(height)

    def describe_position(self, height: int) -> str:
        """Return which lines are displayed, such as "lines 1-18 of 240"."""
        last, rows = self._top[0], -self._top[1]
        while last < self.count and (rows := rows + len(self._render_line(last))) < height:
            last += 1
        return tr(
            "lines {top:,}-{last:,} of {count:,}",
            top=self._top[0] + 1,
            last=min(last + 1, self.count),
            count=self.count,
        )

    def _find_last_top(self, height: int) -> RowPosition:
        """Return the last position that still fills the page."""
        line, missing = self.count, height
        while line > 0 and missing > 0:
            line -= 1
            missing -= len(self._render_line(line))
        return (line, max(-missing, 0)) if missing <= 0 else (0, 0)

    def _get_next_position(self, position: RowPosition) -> RowPosition:
        line, row = position
        if line < self.count and row + 1 < len(self._render_line(line)):
            return line, row + 1
        return min(line + 1, self.count), 0

    def _get_previous_position(self, position: RowPosition) -> RowPosition:
        line, row = position
        if row > 0:
            return line, row - 1
        return (line - 1, len(self._render_line(line - 1)) - 1) if line > 0 else (0, 0)


_MIN_HEIGHT = 3  # rows of a page even on the smallest screen
_PAGER_HINTS = (mark("j k space b g G scroll"), "j k scroll")


class PageRegion:
    """Displays the rows of a page and one row with the position below them.

    size: returns the terminal's columns and rows. count_other_rows: returns how many rows other content takes.
    """

    def __init__(
        self, page: ScrollPage, size: Callable[[], tuple[int, int]], count_other_rows: Callable[[], int]
    ) -> None:
        self._page = page
        self._size = size
        self._count_other_rows = count_other_rows
        text = FormattedTextControl(lambda: ANSI("\n".join(page.get_visible_rows(self.height))))
        self._text_window = Window(text, height=Dimension(min=1), dont_extend_height=True, wrap_lines=False)
        self.windows: list[AnyContainer] = [
            self._text_window,
            ConditionalContainer(
                Window(FormattedTextControl(self._render_position), height=1, dont_extend_height=True),
                Condition(lambda: not page.fits_in_height(self.height)),
            ),
        ]

    @property
    def height(self) -> int:
        """The number of rows of the page now."""
        return max(self._size()[1] - self._count_other_rows() - 2, _MIN_HEIGHT)

    def is_drawn_whole(self) -> bool:
        """Whether the last drawing had room for all visible rows of the page."""
        drawn = self._text_window.render_info
        return drawn is not None and drawn.window_height >= drawn.content_height

    def bind_keys(self, keys: KeyBindings) -> None:
        """Bind the scrolling keys; none of them is a letter, so none can be an answer."""

        def down(event: KeyPressEvent) -> None:
            self._page.scroll(1, self.height)

        def up(event: KeyPressEvent) -> None:
            self._page.scroll(-1, self.height)

        def page_down(event: KeyPressEvent) -> None:
            self._page.scroll(max(self.height - 1, 1), self.height)

        def page_up(event: KeyPressEvent) -> None:
            self._page.scroll(-max(self.height - 1, 1), self.height)

        def home(event: KeyPressEvent) -> None:
            self._page.scroll_to_start()

        def end(event: KeyPressEvent) -> None:
            self._page.scroll_to_end(self.height)

        for names, act in (
            (("j", "down"), down),
            (("k", "up"), up),
            ((" ", "pagedown"), page_down),
            (("b", "pageup"), page_up),
            (("g", "home"), home),
            (("G", "end"), end),
        ):
            for name in names:
                keys.add(name)(act)

    def _render_position(self) -> StyleAndTextTuples:
        position, columns = self._page.describe_position(self.height), self._size()[0]
        hints = (f"{position} · {tr(hint)}" for hint in _PAGER_HINTS)
        text = next((text for text in hints if count_cells(text) + 3 < columns), position)
        return [("class:hint", "  " + truncate_to_cells(text, columns - 3))]


class _QuestionApplication(Application[str | None]):
    """An application with its own keys only.

    prompt_toolkit's hundreds of keys for editing text, which no question needs, take 30 ms to merge at the first key.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._default_bindings = load_cpr_bindings()  # answers of the terminal about the cursor's position


def _cover_printed_rows(app: Application[Any], printed: PrintedRows | None) -> None:
    """Let an application hide printed rows while it needs more than are left below them."""
    if printed is not None:
        cover = RowCover(app, printed)
        app.before_render += cover.fit
        app.after_render += cover.note_drawn


_ESCAPE_WAIT_S = 0.025  # the bytes of an arrow key arrive together, so an Esc without more is the Esc key
_OTHER_ROWS = 5  # rows for the title, the heading, the filter text, the hint, and one spare
_MAX_LIST_ROWS = 15
_MAX_FULL_ROWS = 2  # of the text of a row that does not fit
_MAX_PREVIEW_ROWS, _PREVIEW_FROM_ROWS = 4, 20
_PICKER_HINTS = (
    mark("↑↓ to move · type to filter · enter to choose · esc to cancel"),
    mark("enter to choose · esc to cancel"),
    "",
)


class Picker:
    """A list to choose from, on one screen. Only rows on the screen are laid out, so moving costs the same in any list.

    Args:
        table: the list, with one row for each of `values`.
        start: the row selected at first.
        preview: returns a text about a value, shown below the list while its row is selected; or fragments.
    """

    def __init__(
        self,
        title: str,
        table: Table,
        values: Sequence[str],
        start: int,
        size: Callable[[], tuple[int, int]],
        preview: Callable[[str], object] | None = None,
    ) -> None:
        self._title = title
        self._table = table
        self._values = values
        self._size = size
        self._preview = preview
        self._filter = ""
        self._selected = min(max(start, 0), max(len(values) - 1, 0))
        self._top = 0
        self._fitted_width = size()[0]
        self._lines = TableRows(table, self._fitted_width - 3)
        rows = zip(values, table.rows, strict=True)
        self._searched_texts = [f"{value} {' '.join(row)}".lower() for value, row in rows]
        self._matching = list(range(len(values)))

    def render(self) -> StyleAndTextTuples:
        """Return the rows to draw now."""
        columns, rows = self._size()
        matching = self._matching
        if columns != self._fitted_width:
            self._fitted_width = columns
            self._lines = TableRows(self._table, columns - 3)
        lines = self._lines
        preview_rows = _MAX_PREVIEW_ROWS if self._preview is not None and rows >= _PREVIEW_FROM_ROWS else 0
        title = wrap_cells(clean_line(self._title), columns - 1)
        height = max(min(rows - _OTHER_ROWS - preview_rows - len(title) + 1 - _MAX_FULL_ROWS, _MAX_LIST_ROWS), 3)
        self._top = min(max(self._top, self._selected - height + 1), self._selected)
        parts: StyleAndTextTuples = [
            ("class:choice", "\n".join(title)),
            ("", "\n"),
        ]
        parts += [("class:hint", f"  {lines.heading}\n")] if lines.heading else []
        for place, number in enumerate(matching[self._top : self._top + height], start=self._top):
            is_selected = place == self._selected
            parts.append(("class:choice" if is_selected else "", f"{'›' if is_selected else ' '} {lines[number]}\n"))
        if not matching:
            parts.append(("", tr("  no matches\n")))
        if len(matching) > height:
            last = min(self._top + height, len(matching))
            parts.append(
                ("class:hint", tr("  {top}-{last} of {count:,}\n", top=self._top + 1, last=last, count=len(matching)))
            )
        if matching and lines[matching[self._selected]].endswith("…"):  # the selected row in full
            row = self._table.rows[matching[self._selected]]
            rest = wrap_cells(clean_line(row[self._table.wide_column]), columns - 5)[:_MAX_FULL_ROWS]
            parts += [("class:hint", f"  │ {line}\n") for line in rest]
        for line in self._render_preview(columns)[: preview_rows if matching else 0]:
            parts += [("class:hint", "  │ "), *line, ("", "\n")]
        if self._filter:
            parts.append(("", truncate_to_cells(tr("  filter: {filter}", filter=self._filter), columns - 1) + "\n"))
        parts.append(
            ("class:hint", "  " + next(hint for hint in map(tr, _PICKER_HINTS) if count_cells(hint) + 3 < columns))
        )
        return parts

    def move_selection(self, rows: int) -> None:
        """Move the selection down by so many rows, up if negative; stops at the ends."""
        self._selected = min(max(self._selected + rows, 0), max(len(self._matching) - 1, 0))

    def extend_filter(self, text: str) -> None:
        """Add text to the filter: only rows that contain it are displayed."""
        self._set_filter(self._filter + "".join(char for char in text if char.isprintable()))

    def shorten_filter(self) -> None:
        """Delete the last character of the filter."""
        self._set_filter(self._filter[:-1])

    def get_selected(self) -> str | None:
        """The value of the selected row; None if no row matches."""
        return self._values[self._matching[self._selected]] if self._matching else None

    async def ask(
        self, theme: Theme, keyboard: Input | None, display: Output | None, printed: PrintedRows | None = None
    ) -> str | None:
        """Display the list until a row is chosen; None for Esc, Ctrl-C and the end of the input.

        printed: rows that the list may hide.
        """
        rows: list[AnyContainer] = [Window(FormattedTextControl(self.render, show_cursor=False), wrap_lines=False)]
        if printed is not None and self._size()[1] >= _PREVIEW_FROM_ROWS:
            rows.insert(0, Window(height=1))  # below the command that asks
        app = _QuestionApplication(
            layout=Layout(HSplit(rows)),
            key_bindings=self._make_key_bindings(),
            erase_when_done=True,
            style=make_toolkit_style(theme),
            color_depth=get_toolkit_depth(theme),
            input=keyboard,
            output=display,
        )
        app.ttimeoutlen = _ESCAPE_WAIT_S
        _cover_printed_rows(app, printed)
        try:
            return await run_question(app, lambda: app.run_async(handle_sigint=False))
        except EOFError:
            return None

    def _set_filter(self, text: str) -> None:
        before, filter_before = self.get_selected(), self._filter
        self._filter = text
        words = text.lower().split()
        # A longer filter can only match what the shorter one did.
        numbers = self._matching if text.startswith(filter_before) else range(len(self._values))
        for word in words:
            numbers = [number for number in numbers if word in self._searched_texts[number]]
        self._matching = list(numbers)
        position = next((place for place, number in enumerate(self._matching) if self._values[number] == before), 0)
        self._selected, self._top = position, 0

    def _render_preview(self, columns: int) -> list[StyleAndTextTuples]:
        """Return the preview of the selected row as lines that fit below the list."""
        value = self.get_selected()
        if self._preview is None or value is None:
            return []
        shown = self._preview(value)
        if not isinstance(shown, str):
            return [cast(StyleAndTextTuples, shown)]
        number = self._matching[self._selected]
        # of the list, or shown whole below it
        told = f"{self._lines[number]}\n{clean_line(self._table.rows[number][self._table.wide_column])}"
        lines = [clean_line(line) for line in shown.splitlines() if line.strip() and clean_line(line) not in told]
        return [[("class:hint", row)] for line in lines for row in wrap_cells(line, columns - 5)]

    def _make_key_bindings(self) -> KeyBindings:
        keys = KeyBindings()

        def bind(act: Callable[[KeyPressEvent], None], *names: str) -> None:
            for name in names:
                keys.add(name)(act)

        page = _MAX_LIST_ROWS - 1
        bind(lambda event: self.move_selection(-1), "up", "c-p")
        bind(lambda event: self.move_selection(1), "down", "c-n")
        bind(lambda event: self.move_selection(-page), "pageup")
        bind(lambda event: self.move_selection(page), "pagedown")
        bind(lambda event: self.move_selection(-len(self._values)), "home")
        bind(lambda event: self.move_selection(len(self._values)), "end")
        bind(lambda event: self.shorten_filter(), "backspace")

        def type_letter(event: KeyPressEvent) -> None:
            if len(event.key_sequence[0].key) == 1:  # the bytes of other keys, such as ←, are no text
                self.extend_filter(event.data)

        bind(type_letter, "<any>")
        bind(lambda event: self.extend_filter(event.data), Keys.BracketedPaste)

        def cancel(event: KeyPressEvent) -> None:
            event.app.exit(result=None)

        def choose(event: KeyPressEvent) -> None:
            if (value := self.get_selected()) is not None:
                event.app.exit(result=value)

        bind(cancel, "c-c", "c-d")
        keys.add("escape", eager=True)(cancel)
        bind(choose, "enter")
        return keys


def get_columns_and_rows(display: Output | None) -> tuple[int, int]:
    """Return the size of the display; that of the real terminal if None."""
    now = (display or get_app_session().output).get_size()
    return now.columns, now.rows


# An Enter that was meant for the line above the question must not answer it.
_ENTER_IGNORED_S = 0.5
_ROOMY_SCREEN_ROWS = 24  # of a screen on which a question has a blank row
ENTER = "enter"
"""The only choice that is not a letter: the Enter key, or an empty line."""


class Questions:
    """Asks one question at a time, on this keyboard and display or on those of the process.

    live: the terminal can do more than print lines. Otherwise every question is written to `stream` and answered by
    a line in the terminal's own line mode, in which Ctrl-C is a signal and not an answer.
    printed: rows that a question may hide until it is answered.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        live: bool,
        theme: Theme | None = None,
        keyboard: Input | None = None,
        display: Output | None = None,
        printed: PrintedRows | None = None,
    ) -> None:
        self._live = live
        self._printed = printed
        self._theme = theme or Theme()
        self._plain = PlainLine(text="", output=stream, fd=keyboard.fileno() if keyboard is not None else 0)
        self._keyboard = keyboard
        self._display = display
        self._one_at_a_time = asyncio.Lock()

    @property
    def is_live(self) -> bool:
        """Whether single keys are read and a page can be scrolled; otherwise lines are read."""
        return self._live

    def keep_early_input(self) -> None:
        """Save text typed so far for the next prompt, so that it does not answer a question.

        Call just before asking.
        """
        if self._live:
            save_early_keys(self._keyboard or get_app_session().input)
        else:
            self._plain.keep_early_input()

    async def ask_key(
        self,
        choices: Mapping[str, str],
        *,
        guarded: bool = False,
        page: ScrollPage | None = None,
        head: Sequence[str] = (),
        after_end: frozenset[str] = frozenset(),
        default: str = "",
    ) -> str | None:
        """Return which of the choices the user made, by its letter or by arrow keys and Enter.

        None for Esc, Ctrl-C and the end of the input.

        Args:
            choices: letter → its meaning, displayed in this order.
            default: the choice that is selected at first; "" selects none, unless one of them is Enter.
            guarded: the user was typing just now, so text up to the next pause is no answer; see `QuestionInput`.
            page: a text to read above the choices, erased together with them. Only if `live`.
            head: rendered rows that are drawn above the page and do not scroll.
            after_end: choices neither displayed nor accepted before the last row of the page has been on the screen.
        """
        async with self._one_at_a_time:
            if not self._live:
                return await self._read_choice_line(choices)
            return await self._read_choice_key(choices, guarded, page, head, after_end, default)

    async def ask_line(self, prompt: str, *, erase: bool = False) -> str | None:
        """Return a line of text; None for Esc, Ctrl-C and the end of the input.

        erase: remove the line when it is answered, because what is printed next repeats it. Only if `live`.
        """
        async with self._one_at_a_time:
            return await self._read_text_line(prompt, erase)

    async def ask_answer(self, head: Sequence[str], options: Sequence[str], *, guarded: bool = False) -> str | None:
        """Return one of the options, chosen by arrows and Enter or by its number, or a text of the user's own.

        None for Esc, Ctrl-C and the end of the input. Only if `live`.

        head: rendered rows above the options, such as the question. guarded: see `ask_key`.
        """
        async with self._one_at_a_time:
            prompt = _AnswerPrompt(head, options, lambda: get_columns_and_rows(self._display))
            answer = await prompt.ask(self._theme, self._keyboard, self._display, self._printed, guarded=guarded)
        return options[answer] if isinstance(answer, int) else answer

    async def choose_row(
        self,
        title: str,
        table: Table,
        values: Sequence[str],
        start: int,
        preview: Callable[[str], object] | None = None,
    ) -> str | None:
        """Return the value of the row chosen from a list; None for Esc, Ctrl-C and the end of the input.

        Only if `live`. See `Picker`.
        """

        async with self._one_at_a_time:
            picker = Picker(title, table, values, start, lambda: get_columns_and_rows(self._display), preview)
            return await picker.ask(self._theme, self._keyboard, self._display, self._printed)

    async def _read_plain_line(self, prompt: str) -> str | None:
        try:
            return await self._plain.read_line(prompt)
        except EOFError:
            return None

    async def _read_choice_key(
        self,
        choices: Mapping[str, str],
        guarded: bool,
        page: ScrollPage | None,
        head: Sequence[str],
        after_end: frozenset[str] = frozenset(),
        default: str = "",
    ) -> str | None:
        display = self._display or get_app_session().output

        def size() -> tuple[int, int]:
            now = display.get_size()
            return now.columns, now.rows

        now = asyncio.get_running_loop().time()
        selection = _Selection(choices, ENTER if ENTER in choices else default, now + _ENTER_IGNORED_S)
        # A text may be approved only after its end was drawn; a key read before that drawing does not count yet.
        end_drawn = page is None or not after_end
        region: PageRegion | None = None
        is_too_small = False

        def is_open(letter: str) -> bool:
            return (letter not in after_end or end_drawn) and not is_too_small

        def render_too_small() -> StyleAndTextTuples:
            """Return what is drawn if the rest does not fit: nothing of it is on the screen, so nothing is answered."""
            nonlocal is_too_small
            is_too_small = True
            text = tr("? enlarge the window to answer, esc to cancel")
            return [("class:choice", "\n".join(wrap_cells(text, max(size()[0] - 1, 1))))]

        keys = _make_choice_bindings(choices, is_open, selection)
        self._bind_other_keys(keys)

        def render_choices() -> StyleAndTextTuples:
            now = {letter: meaning for letter, meaning in choices.items() if is_open(letter)}
            if end_drawn or region is None or page is None or page.fits_in_height(region.height):
                return _render_choices(now, size()[0], selection.letter)
            if not (below := page.count_lines_below(region.height)):
                return _render_choices(now, size()[0])
            more = tr(
                "  … {more_lines} · space to see {value}",
                more_lines=tr_count(below, "more line"),
                value=tr("it") if below == 1 else tr("them"),
            )
            return [("class:hint", f"{truncate_to_cells(more, size()[0] - 1)}\n"), *_render_choices(now, size()[0])]

        def measure_choices() -> Dimension:
            text = "".join(text for _, text, *_ in render_choices())
            return Dimension(min=sum(-(-max(count_cells(row), 1) // max(size()[0], 1)) for row in text.split("\n")))

        control = FormattedTextControl(render_choices)
        windows: list[AnyContainer] = [
            Window(control, height=measure_choices, wrap_lines=True, dont_extend_height=True)
        ]
        if page is not None:

            def has_gap() -> bool:
                """Whether a blank row separates the text from the choices."""
                return page.count > 0 and size()[1] >= _ROOMY_SCREEN_ROWS

            def count_other_rows() -> int:
                rows = sum("\n" in text for _, text, *_ in _render_choices(choices, size()[0]))
                return len(head) + 1 + rows + bool(after_end) + has_gap()

            region = PageRegion(page, size, count_other_rows)
            region.bind_keys(keys)
            top = Window(FormattedTextControl(ANSI("\n".join(head))), height=len(head), dont_extend_height=True)
            gap = ConditionalContainer(Window(height=1, dont_extend_height=True), Condition(has_gap))
            windows = [*([top] if head else []), *region.windows, gap, *windows]
        too_small = Window(FormattedTextControl(render_too_small), dont_extend_height=True)
        app = _QuestionApplication(
            layout=Layout(HSplit(windows, window_too_small=too_small)),
            key_bindings=keys,
            erase_when_done=True,
            style=make_toolkit_style(self._theme),
            color_depth=get_toolkit_depth(self._theme),
            input=self._keyboard,
            output=self._display,
        )
        app.ttimeoutlen = _ESCAPE_WAIT_S
        if page is not None and after_end:

            def note_end(_: object) -> None:
                nonlocal end_drawn
                if page.is_end_seen and not end_drawn and region is not None and region.is_drawn_whole():
                    end_drawn = True
                    app.invalidate()

            app.after_render += note_end

        def note_rendering(_: object) -> None:
            nonlocal is_too_small
            is_too_small = False

        app.before_render += note_rendering
        _cover_printed_rows(app, self._printed)
        try:
            return await run_question(
                app,
                lambda: app.run_async(handle_sigint=False),
                guarded=guarded,
                print_question=self._print_choices,
            )
        except EOFError:
            return None

    def _print_choices(self) -> None:
        """Print the choices, where nothing is drawn."""

    def _bind_other_keys(self, keys: KeyBindings) -> None:
        """Make all keys that are not a choice do nothing."""

    async def _read_choice_line(self, choices: Mapping[str, str]) -> str | None:
        prompt = "; ".join(f"{letter} = {meaning}" for letter, meaning in choices.items()) + ": "
        while (answer := await self._read_plain_line(prompt)) is not None:
            if (letter := answer.strip().lower()[:1] or ENTER) in choices:
                return letter
        return None

    async def _read_text_line(self, prompt: str, erase: bool) -> str | None:
        if not self._live:
            return await self._read_plain_line(prompt)
        keys = KeyBindings()

        @keys.add("escape")
        def _(event: KeyPressEvent) -> None:
            event.app.exit(exception=KeyboardInterrupt)

        session: PromptSession[str] = PromptSession(
            key_bindings=keys, input=self._keyboard, output=self._display, erase_when_done=erase
        )
        session.app.ttimeoutlen = _ESCAPE_WAIT_S
        session.app.timeoutlen = 4 * _ESCAPE_WAIT_S  # Alt and a key arrive as Esc and the key
        if erase:
            _cover_printed_rows(session.app, self._printed)  # a long answer takes several rows
        try:
            return await run_question(session.app, lambda: session.prompt_async(prompt, handle_sigint=False))
        except (KeyboardInterrupt, EOFError):
            return None
        finally:
            if self._printed is not None and not erase:
                self._printed.add(f"{prompt}{session.default_buffer.text}\n")


_ANSWER_HINTS = (
    mark("↑↓ enter or number to choose · or type your own answer · esc to cancel"),
    mark("↑↓ enter or number · or type · esc"),
    "",
)
_TEXT_HINTS = (mark("enter to answer · esc to cancel"), "")
_MAX_NUMBERED = 9  # options that one digit chooses


class _AnswerPrompt:
    """A question with options to choose from and a line for an answer of the user's own; erased when answered.

    head: rendered rows above the options, such as the question.
    """

    def __init__(self, head: Sequence[str], options: Sequence[str], size: Callable[[], tuple[int, int]]) -> None:
        self._head = head
        self._options = [clean_line(option) for option in options]
        self._size = size
        self._selected = 0
        self._buffer = Buffer(multiline=False)
        self._enter_from = 0.0

    async def ask(
        self,
        theme: Theme,
        keyboard: Input | None,
        display: Output | None,
        printed: PrintedRows | None = None,
        *,
        guarded: bool = False,
    ) -> int | str | None:
        """Return the place of the chosen option, or the text; None for Esc, Ctrl-C and the end of the input."""
        self._enter_from = asyncio.get_running_loop().time() + _ENTER_IGNORED_S
        line = Window(
            BufferControl(self._buffer, [BeforeInput(tr("  answer: "), "class:hint")]), dont_extend_height=True
        )
        windows: list[AnyContainer] = [
            Window(FormattedTextControl(ANSI("\n".join(self._head))), height=len(self._head), dont_extend_height=True),
            *([Window(FormattedTextControl(self._render_options), dont_extend_height=True)] if self._options else []),
            line,
            Window(FormattedTextControl(self._render_hint), height=1, dont_extend_height=True),
        ]
        app: Application[int | str | None] = Application(
            layout=Layout(HSplit(windows[not self._head :]), focused_element=line),
            key_bindings=self._make_key_bindings(),
            erase_when_done=True,
            style=make_toolkit_style(theme),
            color_depth=get_toolkit_depth(theme),
            input=keyboard,
            output=display,
        )
        app.ttimeoutlen = _ESCAPE_WAIT_S
        app.timeoutlen = 4 * _ESCAPE_WAIT_S  # Alt and a key arrive as Esc and the key
        _cover_printed_rows(app, printed)
        try:
            return await run_question(app, lambda: app.run_async(handle_sigint=False), guarded=guarded)
        except EOFError:
            return None

    def _render_options(self) -> StyleAndTextTuples:
        fragments: StyleAndTextTuples = []
        for place, option in enumerate(self._options):
            is_selected = place == self._selected and not self._buffer.text
            label = f"{place + 1} "
            first, *rest = wrap_cells(option, max(self._size()[0] - 3 - len(label), 1))
            fragments += [("", "\n" if place else ""), ("", "› " if is_selected else "  "), ("class:choice", label)]
            fragments.append(("class:choice.selected" if is_selected else "", first))
            fragments += [("", f"\n  {' ' * len(label)}{line}") for line in rest]
        return fragments

    def _render_hint(self) -> StyleAndTextTuples:
        hints, columns = _ANSWER_HINTS if self._options else _TEXT_HINTS, self._size()[0]
        translated = (tr(hint) if hint else "" for hint in hints)
        return [("class:hint", "  " + next(hint for hint in translated if count_cells(hint) + 3 < columns))]

    def _make_key_bindings(self) -> KeyBindings:
        keys = KeyBindings()
        is_empty = Condition(lambda: not self._buffer.text)

        def move(step: int) -> Callable[[KeyPressEvent], None]:
            def handler(event: KeyPressEvent) -> None:
                self._selected = min(max(self._selected + step, 0), max(len(self._options) - 1, 0))
                self._enter_from = 0.0  # the user sees the question

            return handler

        def choose_number(event: KeyPressEvent) -> None:
            event.app.exit(result=int(event.data) - 1)

        def answer(event: KeyPressEvent) -> None:
            if self._buffer.text.strip():
                event.app.exit(result=self._buffer.text)
            elif asyncio.get_running_loop().time() >= self._enter_from:
                event.app.exit(result=self._selected if self._options else "")

        def cancel(event: KeyPressEvent) -> None:
            event.app.exit(result=None)

        def leave_at_end(event: KeyPressEvent) -> None:
            event.app.exit(exception=EOFError)

        for name, step in (("up", -1), ("c-p", -1), ("s-tab", -1), ("down", 1), ("c-n", 1), ("tab", 1)):
            keys.add(name, filter=is_empty)(move(step))
        if len(self._options) <= _MAX_NUMBERED:
            for number in range(1, len(self._options) + 1):
                keys.add(str(number), filter=is_empty)(choose_number)
        keys.add("enter")(answer)
        keys.add("escape")(cancel)
        keys.add("c-c")(cancel)
        keys.add("c-d", filter=is_empty)(leave_at_end)
        return keys


class _Selection:
    """The choice that Enter makes. It counts only from `enter_from` on, a time of the event loop."""

    def __init__(self, choices: Mapping[str, str], letter: str, enter_from: float) -> None:
        self._letters = list(choices)
        self.letter = letter
        self.enter_from = enter_from

    def move(self, step: int) -> None:
        """Select the next choice, or the one before if `step` is negative; stops at the ends."""
        place = self._letters.index(self.letter) + step if self.letter in self._letters else 0
        self.letter = self._letters[min(max(place, 0), len(self._letters) - 1)]


def _render_choices(choices: Mapping[str, str], columns: int, selected: str = "") -> StyleAndTextTuples:
    """Return the choices side by side, in as many rows as they need; the selected one is marked."""
    fragments: StyleAndTextTuples = []
    used_cells = 0
    for letter, meaning in choices.items():
        cells = count_cells(f"  {letter} {meaning} ")
        wraps = bool(used_cells) and used_cells + cells >= columns
        is_selected = letter == selected
        fragments.append(("", ("\n" if wraps else "") + ("› " if is_selected else "  ")))
        fragments += [("class:choice", letter), ("class:choice.selected" if is_selected else "", f" {meaning} ")]
        used_cells = cells if wraps else used_cells + cells
    return fragments


def _make_choice_bindings(
    choices: Mapping[str, str], is_open: Callable[[str], bool], selection: _Selection
) -> KeyBindings:
    keys = KeyBindings()

    def choose_selected(event: KeyPressEvent) -> None:
        now = asyncio.get_running_loop().time()
        if selection.letter and now >= selection.enter_from and is_open(selection.letter):
            event.app.exit(result=selection.letter)

    def select_before(event: KeyPressEvent) -> None:
        selection.move(-1)

    def select_next(event: KeyPressEvent) -> None:
        selection.move(1)

    for name, act in (("left", select_before), ("s-tab", select_before), ("right", select_next), ("tab", select_next)):
        keys.add(name)(act)
    if ENTER not in choices:
        keys.add("enter")(choose_selected)

    def choose(letter: str) -> Callable[[KeyPressEvent], None]:
        def handler(event: KeyPressEvent) -> None:
            if is_open(letter):
                event.app.exit(result=letter)

        return handler

    def cancel(event: KeyPressEvent) -> None:
        event.app.exit(result=None)

    for letter in choices:
        keys.add(letter)(choose(letter))
        if letter != ENTER:
            keys.add(letter.upper())(choose(letter))
    keys.add("escape", eager=True)(cancel)
    keys.add("c-c")(cancel)
    return keys


_MAX_CACHED_LINES = 2_000  # rendered lines of a scrolled text; a diff may have a hundred thousand
_MAX_LINE_CHARS = 20_000
"""At most so many characters of a line are displayed while scrolling."""
_MAX_ROWS_OF_A_LINE = 4
"""At most so many rows of a line are printed in an excerpt."""
_MIN_NAME = 8  # columns that the name in a title keeps


class PromptIO:
    """Prints questions on the screen and reads the answers from the keyboard.

    Args:
        suspended: makes contexts in which nothing else draws or reads keys.
        on_interrupt: called when the user answers with Esc or Ctrl-C.
        is_typing: whether the user has been typing just now.
        signals: say outside of the text that a question is open.
        printed: notes what is printed.
    """

    def __init__(
        self,
        stream: TextIO,
        terminal: Terminal,
        size: TerminalSize,
        suspended: Suspender,
        on_interrupt: Callable[[], None],
        *,
        is_typing: Callable[[], bool] = lambda: False,
        signals: TerminalSignals | None = None,
        printed: PrintedRows | None = None,
        keyboard: Input | None = None,
        display: Display | None = None,
    ) -> None:
        self._printed = printed or PrintedRows(size)
        self._signals = signals or TerminalSignals()
        self.theme = terminal.theme
        self.size = size
        self._suspended = suspended
        self.on_interrupt = on_interrupt
        self.is_typing = is_typing
        self.questions = self._make_questions(stream, terminal, keyboard, display)
        self._output = TerminalOutput(stream)
        self._painter = Painter(terminal.theme, size)

    def _make_questions(
        self, stream: TextIO, terminal: Terminal, keyboard: Input | None, display: Display | None
    ) -> Questions:
        return Questions(
            stream, live=terminal.live, theme=self.theme, keyboard=keyboard, display=display, printed=self._printed
        )

    @asynccontextmanager
    async def suspended(self) -> AsyncGenerator[None]:
        """A context for one question and the work that follows: nothing else draws or reads keys.

        Text typed before it begins does not answer the question; it is on the prompt line again afterwards.
        """
        async with self._suspended():
            self.questions.keep_early_input()
            self._signals.begin_question()
            try:
                yield
            finally:
                self._signals.end_question()

    @property
    def width(self) -> int:
        """The number of columns that may be used."""
        return self._painter.width

    def make_title(self, name: str, more: str, style: str = "", *, whole: bool = True) -> Part:
        """Return the first line of a question. more: text in `style` after the name, such as the risk.

        whole: False crops a name that does not fit on the line, because it is shown in full below.
        """
        theme = self.theme
        name = name if whole else truncate_to_cells(name, max(self.width - count_cells(f"?  · {more}"), _MIN_NAME))
        return Part(
            body=assemble_text(("? ", theme.warning), (name, theme.strong), (" · ", theme.faint), (more, style)),
            gap=True,
        )

    def render_question(self, text: str) -> list[Part]:
        """Return a question from the model, rendered as Markdown."""
        from clio.ui.markdown import render_markdown

        first, *rest = render_markdown(text, self.theme) or [Part(body="")]
        margin = len("? ")
        rest = [structs.replace(part, margin=part.margin + margin) for part in rest]
        return [Part(body=""), structs.replace(first, margin=first.margin + margin, sign="?"), *rest]

    def render_action(
        self, action: Action, display: "FormatPath", *, named: bool = False, brief: bool = False
    ) -> "Sequence[Text]":
        """Return a description of what a call would do.

        named: name the file of a diff, in any case. brief: leave out what the text of a command tells, too.
        """
        # The first prompt needs no diffs, and `diff_view` imports the shell parser.
        from clio.ui.diff_view import describe_action

        return describe_action(action, self.theme, self.width, display, named=named, brief=brief)

    def render_changes(self, changes: Iterable[FileChange], display: "FormatPath") -> "Sequence[Text]":
        """Return the full diff of these changes."""
        from clio.ui.diff_view import describe_changes

        return describe_changes(changes, self.theme, self.width, display)

    def render_diff(self, text: str, file_name: str = "") -> "Sequence[Text]":
        """Return the rows of a diff without file names. file_name: tells the language of one that has none."""
        from clio.ui.diff_view import DiffRows

        return DiffRows(text, self.theme, self.width, names=False, file_name=file_name)

    def render_todos(self, todos: tuple[Todo, ...], width: int) -> "list[Text]":
        """Return the full task list, rendered for `width` columns."""
        return list(render_todos(todos, width, self.theme, fold=False))

    def print_remark(self, text: str, style: str = "", *, mark: str = "") -> None:
        """Print a sentence of clio's own permanently, such as the answer. mark: a symbol before it, not read aloud."""
        from clio.ui.hanging_text import HangingText

        line = HangingText(f"  {f'{mark} {text}'.strip()}", style=style or self.theme.faint, hang=4)
        self.print_parts([Part(body=line)])

    def print_parts(self, parts: "Iterable[Part | Text]") -> None:
        """Print parts permanently. A bare `Text` is one line that the terminal may break."""
        parts = (part if isinstance(part, Part) else Part(body=part, wraps=False) for part in parts)
        text = "".join(self._painter.render_lines(part) for part in parts)
        self._printed.add(text)
        self._output.write(text)

    def count_rows(self, parts: Iterable[Part]) -> int:
        """Count the screen rows these parts take."""
        return sum(len(self._painter.render_rows(part)) for part in parts)

    def fits_in_rows(self, body: "Sequence[Text]", rows: int) -> bool:
        """Whether the lines take at most `rows` rows of the screen. Stops at the first line that does not fit."""
        return len(body) <= rows and sum(map(self._count_line_rows, _limit_line_lengths(body, _MAX_LINE_CHARS))) <= rows

    def render_excerpt(self, body: "Sequence[Text]", rows: int, hint: str = "") -> "Iterator[Text]":
        """Yield the beginning of the body, about `rows` rows of the screen, and how many lines are missing."""
        shown = used = 0
        limit = _MAX_ROWS_OF_A_LINE * self.width
        body = _limit_line_lengths(body, limit)
        while shown < len(body) and used < rows - 1:
            line = truncate_line(body[shown], 2 * limit, self.theme.faint)
            yield line
            shown, used = shown + 1, used + self._count_line_rows(line)
        if shown < len(body):
            missing = len(body) - shown
            yield assemble_text(f"  … {tr_count(missing, 'more line')}{hint}", style=self.theme.faint)

    def make_page(self, body: "Sequence[Text]") -> ScrollPage:
        """Return a page for scrolling the lines; each line is rendered when it is displayed."""
        rendered: dict[tuple[int, int], list[str]] = {}
        body = _limit_line_lengths(body, _MAX_LINE_CHARS)

        def render_line(line: int) -> list[str]:
            key = (line, self.width)
            if key not in rendered:
                if len(rendered) > _MAX_CACHED_LINES:
                    rendered.clear()
                text = truncate_line(body[line], 2 * _MAX_LINE_CHARS, self.theme.faint)
                rows = self._painter.render_rows(Part(body=text, wraps=False))
                rendered[key] = [expand_fill(row, self.size()[0]) for row in rows]
            return rendered[key]

        return ScrollPage(len(body), render_line)

    def render_head(self, parts: Iterable[Part]) -> list[str]:
        """Return parts as the rows that `ask_key` draws above a page."""
        return [row for part in parts for row in self._painter.render_rows(part)]

    def _count_line_rows(self, line: "Text") -> int:
        at_least = -(-max(line.cell_len, 1) // self.width)
        split_rows = getattr(line, "split_rows", None)  # of a `HangingText`
        # A long line does not fit anyway, and splitting it takes milliseconds.
        return (
            at_least if split_rows is None or not 1 < at_least < self.size()[1] else len(list(split_rows(self.width)))
        )


def _limit_line_lengths(body: "Sequence[Text]", max_chars: int) -> "Sequence[Text]":
    """Limit the length of diff lines before they are rendered: a line of one megabyte would take seconds."""
    from clio.ui.diff_view import DiffRows

    return body.with_max_chars(max_chars) if isinstance(body, DiffRows) else body
