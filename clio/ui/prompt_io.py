"""Print what a question is about, and ask it."""

from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TextIO

from msgspec import structs
from prompt_toolkit.input import Input
from prompt_toolkit.output import Output as Display

from clio.security.actions import Action, FileChange
from clio.sessions.state import Todo
from clio.text.translation import tr_count
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
from clio.ui.pipe_screen import TerminalOutput
from clio.ui.printed_rows import PrintedRows
from clio.ui.questions import Questions
from clio.ui.scroll_page import ScrollPage
from clio.ui.tables import render_todos
from clio.ui.terminal_handoff import Suspender
from clio.ui.terminal_signals import TerminalSignals
from clio.ui.theme import Terminal

if TYPE_CHECKING:
    from rich.text import Text

    from clio.ui.diff_view import FormatPath

MAX_UNSCROLLED_ROWS = 30
"""Up to this many rows are printed directly; longer texts are displayed in a page to scroll."""
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
