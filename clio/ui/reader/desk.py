"""The desk of somebody who hears the questions: each is numbered, said once, and answered by a key."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TextIO, assert_never

from prompt_toolkit.input import Input
from prompt_toolkit.output import Output as Display
from rich.padding import Padding
from rich.text import Text

from clio.security.actions import Action, CallServer, ChangeFiles, FetchUrl, FileChange, Internal, ReadFiles, RunCommand
from clio.sessions.state import Todo
from clio.tools.files.diff import diff_change
from clio.ui.asking.describe import Display as Naming
from clio.ui.asking.describe import command_facts
from clio.ui.asking.desk import Desk
from clio.ui.asking.questions import Questions
from clio.ui.footer.status import plural
from clio.ui.footer.todo_words import plain_rows
from clio.ui.output import Output
from clio.ui.painter import Part, Size
from clio.ui.pause import Suspended
from clio.ui.reader.diff import spoken_diff
from clio.ui.reader.markdown import spoken_text
from clio.ui.reader.questions import ReaderQuestions
from clio.ui.reader.spoken import broken, spell_drawn, spoken, undrawn
from clio.ui.spelling import spell_out_line, spell_out_lines
from clio.ui.theme import Terminal


class ReaderDesk(Desk):
    """`Desk` whose words are all that is printed. See there."""

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
    ) -> None:
        super().__init__(stream, terminal, size, suspended, on_interrupt, is_typing=is_typing, keyboard=keyboard)
        self._lines = Output(stream)
        self._asked = 0

    def _make_questions(
        self, stream: TextIO, terminal: Terminal, keyboard: Input | None, display: Display | None
    ) -> Questions:
        if not terminal.keys:
            return super()._make_questions(stream, terminal, keyboard, display)
        return ReaderQuestions(stream, self.size, keyboard=keyboard)

    def title(self, name: str, more: str, style: str = "", *, whole: bool = True) -> Part:
        """The question's number and what it is about."""
        return Part(body=Text(f"{self._number()}: {name}, {more}"))

    def question(self, text: str) -> list[Part]:
        """A question of the model's, with its number."""
        first, *rest = spoken_text(text) or [""]
        return [Part(body=Text(line)) for line in (f"{self._number()}: {first}", *rest)]

    def action(self, action: Action, display: Naming) -> Sequence[Text]:
        """What a call would do, each line with what it is."""
        match action:
            case ChangeFiles(changes=changes):
                return self.changes(changes, display)
            case RunCommand(command=command, cwd=cwd, note=note):
                lines = [*_command(command, display(cwd)), *([note] if note else [])]
            case FetchUrl(url=url):
                lines = [f"address: {line}" for line in spell_out_lines(url)]
            case ReadFiles(paths=paths):
                lines = [f"file: {spell_out_line(display(path))}" for path in paths]
            case CallServer(arguments=arguments):
                lines = [f"argument: {line}" for line in spell_out_lines(arguments)]
            case Internal():
                lines = []
            case _:
                assert_never(action)
        return [Text(spell_drawn(line)) for line in lines]

    def changes(self, changes: Iterable[FileChange], display: Naming) -> Sequence[Text]:
        """What becomes of which line."""
        changes = tuple(changes)
        named = len(changes) > 1 or any(change.kind in ("delete", "move") for change in changes)
        diff = "".join(diff_change(change, lambda path: display(path).replace("\n", "\\n")).text for change in changes)
        return [Text(line) for line in spoken_diff(diff, names=named)]

    def diff(self, text: str) -> Sequence[Text]:
        """What becomes of which line of one file."""
        return [Text(line) for line in spoken_diff(text, names=False)]

    def todos(self, todos: tuple[Todo, ...], width: int) -> list[Text]:
        """Each item with its number and how it stands."""
        return [Text(line) for line in plain_rows(todos, fold=False)]

    def remark(self, words: str, style: str = "") -> None:
        """A sentence of clio's own."""
        self._lines.write(f"{broken(spoken(words), self.width)}\n")

    def say(self, parts: Iterable[Part | Text]) -> None:
        """Each as one line; the terminal breaks those that are too long."""
        for part in parts:
            exact = isinstance(part, Text)  # a line of what is asked about; a part is a sentence
            body = part if exact else part.body
            words = body.renderable if isinstance(body, Padding) else body  # a margin is nothing to be heard
            line = undrawn(str(words)).strip()
            if line:
                self._lines.write(f"{line if exact else broken(line, self.width)}\n")

    def excerpt(self, body: Sequence[Text], rows: int, hint: str = "") -> Iterator[Text]:
        """The first lines, and how many are missing."""
        yield from body[:rows]
        if len(body) > rows:
            yield Text(f"{plural(len(body) - rows, 'more line')}{hint.replace('shows', 'reads')}")

    def fits(self, body: Sequence[Text], rows: int) -> bool:
        """Whether there are no more lines than that."""
        return len(body) <= rows

    def _number(self) -> str:
        self._asked += 1
        return f"question {self._asked}"


def _command(command: str, cwd: str) -> Iterator[str]:
    first = True
    for kind, text in command_facts(command, cwd):
        match kind:
            case "line":
                yield f"command: {text}" if first else f"and: {text}"
                first = False
            case "in":
                yield f"in the folder: {text}"
            case "runs" | "reads" | "writes" | "looks like another name" | "not understood":
                yield f"{kind}: {text}"
