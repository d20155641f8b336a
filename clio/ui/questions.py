"""Questions to the user, answered by a key, by a line, or by choosing an option or a row."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TextIO

from prompt_toolkit import PromptSession
from prompt_toolkit.application import Application, get_app_session
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
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
from prompt_toolkit.output import Output

from clio.commands.command import Table
from clio.text.translation import mark, tr, tr_count
from clio.ui.keyboard import OneKeyAnswer, run_question, save_early_keys
from clio.ui.painter import count_cells, truncate_to_cells
from clio.ui.picker import Picker
from clio.ui.plain_line import PlainLine
from clio.ui.printed_rows import PrintedRows
from clio.ui.question_terminal import ESCAPE_WAIT_S, KEY_WAIT_S, QuestionTerminal
from clio.ui.safe_text import clean_line
from clio.ui.scroll_page import PageRegion, ScrollPage
from clio.ui.tables import wrap_cells
from clio.ui.theme import Theme

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
        self._plain = PlainLine(text="", output=stream, fd=keyboard.fileno() if keyboard is not None else 0)
        self._terminal = QuestionTerminal(theme or Theme(), keyboard, display, printed)
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
            save_early_keys(self._terminal.keyboard or get_app_session().input)
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
            prompt = ChoicePrompt(self._terminal, choices, page=page, head=head, after_end=after_end, default=default)
            return await prompt.ask(guarded=guarded)

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
            answer = await _AnswerPrompt(self._terminal, head, options).ask(guarded=guarded)
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
            return await Picker(title, table, values, start, self._terminal, preview).ask()

    async def _read_plain_line(self, prompt: str) -> str | None:
        try:
            return await self._plain.read_line(prompt)
        except EOFError:
            return None

    async def _read_choice_line(self, choices: Mapping[str, str]) -> str | None:
        prompt = "; ".join(f"{letter} = {meaning}" for letter, meaning in choices.items()) + ": "
        while (answer := await self._read_plain_line(prompt)) is not None:
            if (letter := answer.strip().lower()[:1] or ENTER) in choices:
                return letter
        return None

    async def _read_text_line(self, prompt: str, erase: bool) -> str | None:
        if not self._live:
            return await self._read_plain_line(prompt)
        keys, terminal = KeyBindings(), self._terminal

        @keys.add("escape")
        def _(event: KeyPressEvent) -> None:
            event.app.exit(exception=KeyboardInterrupt)

        session: PromptSession[str] = PromptSession(
            key_bindings=keys, input=terminal.keyboard, output=terminal.display, erase_when_done=erase
        )
        session.app.ttimeoutlen = ESCAPE_WAIT_S
        session.app.timeoutlen = KEY_WAIT_S
        if erase:
            terminal.cover_printed_rows(session.app)  # a long answer takes several rows
        try:
            return await run_question(session.app, lambda: session.prompt_async(prompt, handle_sigint=False))
        except (KeyboardInterrupt, EOFError):
            return None
        finally:
            if terminal.printed is not None and not erase:
                terminal.printed.add(f"{prompt}{session.default_buffer.text}\n")


class ChoicePrompt:
    """Choices made by a key, below a text to read; erased when answered. For its arguments see `Questions.ask_key`.

    may_be_message: whether other keys, or one right behind a choice, begin the next message and choose nothing.
    """

    def __init__(
        self,
        terminal: QuestionTerminal,
        choices: Mapping[str, str],
        *,
        page: ScrollPage | None = None,
        head: Sequence[str] = (),
        after_end: frozenset[str] = frozenset(),
        default: str = "",
        may_be_message: bool = False,
    ) -> None:
        self._terminal = terminal
        self._choices = choices
        self._answer = OneKeyAnswer(None) if may_be_message else None
        self._letters = list(choices)
        self._page = page
        self._head = head
        self._after_end = after_end
        self._selected = ENTER if ENTER in choices else default
        self._enter_from = 0.0
        self._region: PageRegion | None = None
        # A text may be approved only after its end was drawn; a key read before that drawing does not count yet.
        self._is_end_drawn = page is None or not after_end
        self._is_too_small = False

    async def ask(self, *, guarded: bool = False, print_question: Callable[[], None] | None = None) -> str | None:
        """Return the letter of the choice; None for Esc, Ctrl-C and the end of the input.

        Args:
            guarded: see `Questions.ask_key`.
            print_question: prints the choices where nothing is drawn; called at first, and for each key that is none.
        """
        self._enter_from = asyncio.get_running_loop().time() + _ENTER_IGNORED_S
        keys = self._make_key_bindings(print_question)
        windows: list[AnyContainer] = [
            Window(
                FormattedTextControl(self._render_choices),
                height=self._measure_choices,
                wrap_lines=True,
                dont_extend_height=True,
            )
        ]
        if self._page is not None:
            region = self._region = PageRegion(self._page, self._terminal.get_size, self._count_other_rows)
            region.bind_keys(keys)
            top = Window(
                FormattedTextControl(ANSI("\n".join(self._head))), height=len(self._head), dont_extend_height=True
            )
            gap = ConditionalContainer(Window(height=1, dont_extend_height=True), Condition(self._has_gap))
            windows = [*([top] if self._head else []), *region.windows, gap, *windows]
        too_small = Window(FormattedTextControl(self._render_too_small), dont_extend_height=True)
        app = self._terminal.make_application(Layout(HSplit(windows, window_too_small=too_small)), keys)
        app.after_render += self._note_drawn
        app.before_render += self._note_rendering
        return await self._terminal.run(app, guarded=guarded, print_question=print_question)

    def _is_open(self, letter: str) -> bool:
        return (letter not in self._after_end or self._is_end_drawn) and not self._is_too_small

    def _note_rendering(self, _: object) -> None:
        self._is_too_small = False

    def _note_drawn(self, app: Application[Any]) -> None:
        if self._is_end_drawn or self._page is None or self._region is None:
            return
        if self._page.is_end_seen and self._region.is_drawn_whole():
            self._is_end_drawn = True
            app.invalidate()

    def _render_too_small(self) -> StyleAndTextTuples:
        """Return what is drawn if the rest does not fit: nothing of it is on the screen, so nothing is answered."""
        self._is_too_small = True
        text = tr("? enlarge the window to answer, esc to cancel")
        return [("class:choice", "\n".join(wrap_cells(text, max(self._terminal.get_size()[0] - 1, 1))))]

    def _render_choices(self) -> StyleAndTextTuples:
        columns = self._terminal.get_size()[0]
        now = {letter: meaning for letter, meaning in self._choices.items() if self._is_open(letter)}
        page, region = self._page, self._region
        if self._is_end_drawn or region is None or page is None or page.fits_in_height(region.height):
            return _lay_out_choices(now, columns, self._selected)
        if not (below := page.count_lines_below(region.height)):
            return _lay_out_choices(now, columns)
        more = tr(
            "  … {more_lines} · space to see {value}",
            more_lines=tr_count(below, "more line"),
            value=tr("it") if below == 1 else tr("them"),
        )
        return [("class:hint", f"{truncate_to_cells(more, columns - 1)}\n"), *_lay_out_choices(now, columns)]

    def _measure_choices(self) -> Dimension:
        columns = max(self._terminal.get_size()[0], 1)
        text = "".join(text for _, text, *_ in self._render_choices())
        return Dimension(min=sum(-(-max(count_cells(row), 1) // columns) for row in text.split("\n")))

    def _has_gap(self) -> bool:
        """Whether a blank row separates the text from the choices."""
        return self._page is not None and self._page.count > 0 and self._terminal.get_size()[1] >= _ROOMY_SCREEN_ROWS

    def _count_other_rows(self) -> int:
        choices = _lay_out_choices(self._choices, self._terminal.get_size()[0])
        rows = sum("\n" in text for _, text, *_ in choices)
        return len(self._head) + 1 + rows + bool(self._after_end) + self._has_gap()

    def _make_key_bindings(self, print_question: Callable[[], None] | None) -> KeyBindings:
        keys = KeyBindings()

        def choose_selected(event: KeyPressEvent) -> None:
            now = asyncio.get_running_loop().time()
            if self._selected and now >= self._enter_from and self._is_open(self._selected):
                event.app.exit(result=self._selected)

        def select(step: int) -> Callable[[KeyPressEvent], None]:
            def handler(event: KeyPressEvent) -> None:
                letters = self._letters
                place = letters.index(self._selected) + step if self._selected in letters else 0
                self._selected = letters[min(max(place, 0), len(letters) - 1)]

            return handler

        def choose(letter: str) -> Callable[[KeyPressEvent], None]:
            def handler(event: KeyPressEvent) -> None:
                if self._is_open(letter) and self._answer is not None:
                    self._answer.choose(event, letter)
                elif self._is_open(letter):
                    event.app.exit(result=letter)

            return handler

        def cancel(event: KeyPressEvent) -> None:
            event.app.exit(result=None)

        def print_again(event: KeyPressEvent) -> None:
            key = event.key_sequence[0].key
            if self._answer is not None and len(key) == 1 and key.isprintable():
                self._answer.type_on(event)
            elif print_question is not None and key != Keys.CPRResponse:
                print_question()

        for name, step in (("left", -1), ("s-tab", -1), ("right", 1), ("tab", 1)):
            keys.add(name)(select(step))
        if ENTER not in self._choices:
            keys.add("enter")(choose_selected)
        for letter in self._choices:
            keys.add(letter)(choose(letter))
            if letter != ENTER:
                keys.add(letter.upper())(choose(letter))
        keys.add("escape", eager=True)(cancel)
        keys.add("c-c")(cancel)
        if print_question is not None:
            keys.add(Keys.Any)(print_again)
        return keys


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

    def __init__(self, terminal: QuestionTerminal, head: Sequence[str], options: Sequence[str]) -> None:
        self._terminal = terminal
        self._head = head
        self._options = [clean_line(option) for option in options]
        self._selected = 0
        self._buffer = Buffer(multiline=False)
        self._enter_from = 0.0

    async def ask(self, *, guarded: bool = False) -> int | str | None:
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
        layout = Layout(HSplit(windows[not self._head :]), focused_element=line)
        app = self._terminal.make_application(layout, self._make_key_bindings(), edits_text=True)
        return await self._terminal.run(app, guarded=guarded)

    def _render_options(self) -> StyleAndTextTuples:
        fragments: StyleAndTextTuples = []
        for place, option in enumerate(self._options):
            is_selected = place == self._selected and not self._buffer.text
            label = f"{place + 1} "
            first, *rest = wrap_cells(option, max(self._terminal.get_size()[0] - 3 - len(label), 1))
            fragments += [("", "\n" if place else ""), ("", "› " if is_selected else "  "), ("class:choice", label)]
            fragments.append(("class:choice.selected" if is_selected else "", first))
            fragments += [("", f"\n  {' ' * len(label)}{line}") for line in rest]
        return fragments

    def _render_hint(self) -> StyleAndTextTuples:
        hints, columns = _ANSWER_HINTS if self._options else _TEXT_HINTS, self._terminal.get_size()[0]
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


def _lay_out_choices(choices: Mapping[str, str], columns: int, selected: str = "") -> StyleAndTextTuples:
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
