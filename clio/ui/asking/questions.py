"""Small questions below the scrollback: one key, or one line. Esc and Ctrl-C give no answer."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TextIO

from prompt_toolkit import PromptSession
from prompt_toolkit.application import Application, get_app_session
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import AnyContainer, FormattedTextControl, HSplit, Layout, Window
from prompt_toolkit.output import Output

from clio.commands.command import Table
from clio.ui.early_input import keep_early_keys
from clio.ui.line.plain_line import PlainLine
from clio.ui.page_region import PageRegion
from clio.ui.pager import Page
from clio.ui.theme import Theme
from clio.ui.themes.toolkit import toolkit_depth, toolkit_style
from clio.ui.width import cells_of, crop

_ESCAPE_S = 0.025
_GUARD_S = 1.0
ENTER = "enter"
"""The one choice that is no letter: the Enter key, or an empty line."""


class Questions:
    """Asks one question at a time on this keyboard and display; the real ones where none is given.

    live: the terminal can do more than lines. Without it every question is written to `stream` and answered by a line
    in the terminal's own line mode, where Ctrl-C is a signal and not an answer.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        live: bool,
        theme: Theme | None = None,
        keyboard: Input | None = None,
        display: Output | None = None,
    ) -> None:
        self._live = live
        self._theme = theme or Theme()
        self._plain = PlainLine(text="", output=stream, file=keyboard.fileno() if keyboard is not None else 0)
        self._keyboard = keyboard
        self._display = display
        self._one_at_a_time = asyncio.Lock()

    @property
    def live(self) -> bool:
        """Whether a key is pressed, and a page can be scrolled; else a line is typed."""
        return self._live

    def keep_early_input(self) -> None:
        """Let what was typed so far answer no question: the next prompt gets it. For just before one is shown."""
        if self._live:
            keep_early_keys(self._keyboard or get_app_session().input)
        else:
            self._plain.keep_early_input()

    async def key(
        self,
        choices: Mapping[str, str],
        *,
        guarded: bool = False,
        page: Page | None = None,
        above: int = 0,
        after_end: frozenset[str] = frozenset(),
    ) -> str | None:
        """Which of the one-letter choices was pressed; None for Esc, Ctrl-C and the end of the input.

        choices: letter → what it means, shown in this order.
        guarded: somebody was typing just now: keys of the first second count as not meant for this question.
        page: a text to read above the choices, gone from the screen with them; `above` rows over it stay in sight.
            Only where `live`.
        after_end: choices that are neither shown nor taken before the last row of the page has been on the screen.
        """
        async with self._one_at_a_time:
            if not self._live:
                return await self._spell(choices)
            return await self._press(choices, guarded, page, above, after_end)

    async def line(self, prompt: str) -> str | None:
        """A line of text; None for Esc, Ctrl-C and the end of the input."""
        async with self._one_at_a_time:
            return await self._line(prompt)

    async def row(self, title: str, table: Table, values: Sequence[str], start: int) -> str | None:
        """The value of the row that is chosen from a list; None for Esc, Ctrl-C and the end of the input.

        Only where `live`. See `Picker`.
        """
        from clio.ui.asking.picker import Picker, terminal_columns_and_rows

        async with self._one_at_a_time:
            picker = Picker(title, table, values, start, lambda: terminal_columns_and_rows(self._display))
            return await picker.run(self._theme, self._keyboard, self._display)

    async def _plain_line(self, prompt: str) -> str | None:
        try:
            return await self._plain.answer(prompt)
        except EOFError:
            return None

    async def _press(
        self,
        choices: Mapping[str, str],
        guarded: bool,
        page: Page | None,
        above: int,
        after_end: frozenset[str] = frozenset(),
    ) -> str | None:
        display = self._display or get_app_session().output

        def size() -> tuple[int, int]:
            now = display.get_size()
            return now.columns, now.rows

        open_from = asyncio.get_running_loop().time() + (_GUARD_S if guarded else 0.0)
        # What was on the screen when the keys were read counts, not what the next drawing brings.
        drawn = page is None or not after_end
        region: PageRegion | None = None

        def is_open(letter: str) -> bool:
            return letter not in after_end or drawn

        keys = _choice_keys(choices, open_from, is_open)
        self._bind_others(keys)

        def shown() -> StyleAndTextTuples:
            now = {letter: meaning for letter, meaning in choices.items() if is_open(letter)}
            if drawn or region is None or page is None:
                return _choice_line(now, size()[0])
            below = page.lines_below(region.height)
            more = f"  … {below:,} more line{'' if below == 1 else 's'} · space to see {'it' if below == 1 else 'them'}"
            return [("class:hint", f"{crop(more, size()[0] - 1)}\n"), *_choice_line(now, size()[0])]

        windows: list[AnyContainer] = [Window(FormattedTextControl(shown), wrap_lines=True, dont_extend_height=True)]
        if page is not None:

            def beside() -> int:
                rows = sum("\n" in text for _, text, *_ in _choice_line(choices, size()[0]))
                return above + 1 + rows + bool(after_end)

            region = PageRegion(page, size, beside)
            region.bind(keys)
            windows = [*region.windows, *windows]
        app: Application[str | None] = Application(
            layout=Layout(HSplit(windows)),
            key_bindings=keys,
            erase_when_done=True,
            style=toolkit_style(self._theme),
            color_depth=toolkit_depth(self._theme),
            input=self._keyboard,
            output=self._display,
        )
        app.ttimeoutlen = _ESCAPE_S
        if page is not None and after_end:

            def note_end(_: object) -> None:
                nonlocal drawn
                if page.end_seen and not drawn:
                    drawn = True
                    app.invalidate()

            app.after_render += note_end
        try:
            return await app.run_async(handle_sigint=False)
        except EOFError:
            return None

    def _bind_others(self, keys: KeyBindings) -> None:
        """What keys do that are no choice: nothing."""

    async def _spell(self, choices: Mapping[str, str]) -> str | None:
        prompt = ", ".join(f"{letter} = {meaning}" for letter, meaning in choices.items()) + ": "
        while (answer := await self._plain_line(prompt)) is not None:
            if (letter := answer.strip().lower()[:1] or ENTER) in choices:
                return letter
        return None

    async def _line(self, prompt: str) -> str | None:
        if not self._live:
            return await self._plain_line(prompt)
        keys = KeyBindings()

        @keys.add("escape")
        def _(event: KeyPressEvent) -> None:
            event.app.exit(exception=KeyboardInterrupt)

        session: PromptSession[str] = PromptSession(key_bindings=keys, input=self._keyboard, output=self._display)
        session.app.ttimeoutlen = _ESCAPE_S
        session.app.timeoutlen = 4 * _ESCAPE_S  # long enough for Alt and a key
        try:
            return await session.prompt_async(prompt, handle_sigint=False)
        except (KeyboardInterrupt, EOFError):
            return None


def _choice_line(choices: Mapping[str, str], columns: int) -> StyleAndTextTuples:
    """The choices beside each other, in as many rows as that takes."""
    shown: StyleAndTextTuples = []
    used = 0
    for letter, meaning in choices.items():
        cells = cells_of(f"  {letter} {meaning} ")
        wraps = bool(used) and used + cells >= columns
        shown += [("", "\n  " if wraps else "  "), ("class:choice", letter), ("", f" {meaning} ")]
        used = cells if wraps else used + cells
    return shown


def _choice_keys(choices: Mapping[str, str], open_from: float, is_open: Callable[[str], bool]) -> KeyBindings:
    keys = KeyBindings()

    def choose(letter: str) -> Callable[[KeyPressEvent], None]:
        def handler(event: KeyPressEvent) -> None:
            if asyncio.get_running_loop().time() >= open_from and is_open(letter):
                event.app.exit(result=letter)

        return handler

    def give_up(event: KeyPressEvent) -> None:
        event.app.exit(result=None)

    for letter in choices:
        keys.add(letter)(choose(letter))
        if letter != ENTER:
            keys.add(letter.upper())(choose(letter))
    keys.add("escape", eager=True)(give_up)
    keys.add("c-c")(give_up)
    return keys
