"""What all questions to the person share: a place to print, a keyboard, and the way to have both for oneself."""

from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import TextIO

from prompt_toolkit.input import Input
from prompt_toolkit.output import Output as Display
from rich.padding import Padding
from rich.text import Text

from clio.security.actions import Action, FileChange
from clio.sessions.state import Todo
from clio.ui.asking.describe import Display as Naming
from clio.ui.asking.describe import describe_action, describe_changes
from clio.ui.asking.questions import Questions
from clio.ui.diffs.view import DiffRows
from clio.ui.footer.todo_view import todo_rows
from clio.ui.markup.markdown import whole
from clio.ui.output import Output
from clio.ui.pager import Page
from clio.ui.painter import Painter, Part, Size
from clio.ui.pause import Suspended
from clio.ui.theme import Terminal
from clio.ui.width import cells_of, crop, cut

_MAX_KEPT = 2_000
_MAX_CHARS = 20_000
"""Of a longer line no more is shown while it is scrolled over."""
_MAX_ROWS_OF_A_LINE = 4
"""The same, in rows, for one that is printed in an excerpt."""
_MIN_NAME = 8


class Desk:
    """A place to print and a keyboard.

    suspended: gives contexts in which nothing else draws or reads keys.
    on_interrupt: called when the person answers with Esc or Ctrl-C.
    is_typing: whether the person has been typing just now.
    """

    def __init__(
        self,
        stream: TextIO,
        terminal: Terminal,
        size: Size,
        suspended: Suspended,
        on_interrupt: Callable[[], None],
        *,
        is_typing: Callable[[], bool] = lambda: False,
        keyboard: Input | None = None,
        display: Display | None = None,
    ) -> None:
        self.theme = terminal.theme
        self.size = size
        self._suspended = suspended
        self.on_interrupt = on_interrupt
        self.is_typing = is_typing
        self.questions = self._make_questions(stream, terminal, keyboard, display)
        self._output = Output(stream)
        self._painter = Painter(terminal.theme, size)

    def _make_questions(
        self, stream: TextIO, terminal: Terminal, keyboard: Input | None, display: Display | None
    ) -> Questions:
        return Questions(stream, live=terminal.live, theme=self.theme, keyboard=keyboard, display=display)

    @asynccontextmanager
    async def suspended(self) -> AsyncGenerator[None]:
        """A context for one question and what follows from its answer: nothing else draws or reads keys.

        What was typed before it begins answers nothing; it is on the line again afterwards.
        """
        async with self._suspended():
            self.questions.keep_early_input()
            yield

    @property
    def width(self) -> int:
        """Columns that may be used."""
        return self._painter.width

    def title(self, name: str, more: str, style: str = "", *, whole: bool = True) -> Part:
        """The first line of a question: what it is about. more: in this style, such as the risk.

        whole: False cuts a name that has no room on the line, because what follows says it in full.
        """
        theme = self.theme
        name = name if whole else crop(name, max(self.width - cells_of(f"?  {more}"), _MIN_NAME))
        return Part(body=Text.assemble(("? ", theme.warning), (name, theme.strong), " ", (more, style)), gap=True)

    def question(self, text: str) -> list[Part]:
        """A question of the model's, in Markdown."""
        return [Part(body=Text("")), *whole(text, self.theme)]

    def action(self, action: Action, display: Naming) -> Sequence[Text]:
        """What a call would do, in full."""
        return describe_action(action, self.theme, self.width, display)

    def changes(self, changes: Iterable[FileChange], display: Naming) -> Sequence[Text]:
        """The diff of these changes, in full."""
        return describe_changes(changes, self.theme, self.width, display)

    def diff(self, text: str) -> Sequence[Text]:
        """A diff, its files not named."""
        return DiffRows(text, self.theme, self.width, names=False)

    def todos(self, todos: tuple[Todo, ...], width: int) -> list[Text]:
        """A list of work, in full. width: in columns."""
        return list(todo_rows(todos, width, self.theme, fold=False))

    def remark(self, words: str, style: str = "") -> None:
        """Print a sentence of clio's own for good, such as how an answer was understood."""
        self.say([Part(body=Padding(Text(words, style or self.theme.faint), (0, 0, 0, 2), expand=False))])

    def say(self, parts: Iterable[Part | Text]) -> None:
        """Print for good. A bare text is one line that the terminal may break."""
        parts = (Part(body=part, wraps=False) if isinstance(part, Text) else part for part in parts)
        self._output.write("".join(self._painter.lines(part) for part in parts))

    def rows_of(self, parts: Iterable[Part]) -> int:
        """How many rows of the screen these parts take."""
        return sum(len(self._painter.rows(part)) for part in parts)

    def fits(self, body: Sequence[Text], rows: int) -> bool:
        """Whether the lines take no more rows of the screen than that. A look at a few lines is enough."""
        return len(body) <= rows and sum(map(self._height, _bounded(body, _MAX_CHARS))) <= rows

    def excerpt(self, body: Sequence[Text], rows: int, hint: str = "") -> Iterator[Text]:
        """The beginning of the body in about so many rows of the screen, and how many lines are missing."""
        shown = used = 0
        limit = _MAX_ROWS_OF_A_LINE * self.width
        body = _bounded(body, limit)
        while shown < len(body) and used < rows - 1:
            line = cut(body[shown], 2 * limit, self.theme.faint)
            yield line
            shown, used = shown + 1, used + self._height(line)
        if shown < len(body):
            missing = len(body) - shown
            yield Text(f"  … {missing:,} more line{'' if missing == 1 else 's'}{hint}", self.theme.faint)

    def page(self, body: Sequence[Text], title: Text | None = None) -> Page:
        """The lines to be scrolled over, below a title; each is painted when it comes into sight."""
        painted: dict[tuple[int, int], list[str]] = {}
        first = 0 if title is None else 1
        body = _bounded(body, _MAX_CHARS)

        def rows_of(line: int) -> list[str]:
            key = (line, self.width)
            if key not in painted:
                if len(painted) > _MAX_KEPT:
                    painted.clear()
                text = title if title is not None and line == 0 else body[line - first]
                painted[key] = self._painter.rows(Part(body=cut(text, 2 * _MAX_CHARS, self.theme.faint), wraps=False))
            return painted[key]

        return Page(len(body) + first, rows_of)

    def _height(self, line: Text) -> int:
        return -(-max(line.cell_len, 1) // self.width)


def _bounded(body: Sequence[Text], max_chars: int) -> Sequence[Text]:
    """A diff is cut before its rows are made, which for a line of a megabyte takes seconds."""
    return body.bounded(max_chars) if isinstance(body, DiffRows) else body
