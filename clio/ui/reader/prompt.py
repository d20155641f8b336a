"""Prompt line and questions for a screen reader: printed once, answered by a key or a line."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TextIO, assert_never

from prompt_toolkit import PromptSession
from prompt_toolkit.application import Application, get_app_session
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, get_common_complete_suffix
from prompt_toolkit.document import Document
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import Condition, has_focus
from prompt_toolkit.history import History
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.key_binding.vi_state import InputMode
from prompt_toolkit.output import Output as Display
from rich.padding import Padding
from rich.text import Text

from clio.security.actions import (
    Action,
    CallServer,
    ChangeFiles,
    FetchUrl,
    FileChange,
    ReadFiles,
    RunCommand,
    TouchOwnState,
)
from clio.sessions.state import Todo
from clio.text.translation import english, mark, tr, tr_count
from clio.tools.files.diff import diff_change
from clio.ui.diff_view import FormatPath, list_command_facts
from clio.ui.history import HistoryEntry, HistorySearch
from clio.ui.keyboard import WaitingText, run_question, save_early_keys
from clio.ui.painter import Part, TerminalSize
from clio.ui.pipe_screen import TerminalOutput
from clio.ui.plain_line import EchoedLine, EchoOutput
from clio.ui.prompt_io import PromptIO
from clio.ui.prompt_line import HELD_HINT, PromptLine
from clio.ui.question_terminal import ESCAPE_WAIT_S, KEY_WAIT_S
from clio.ui.questions import ChoicePrompt, Questions
from clio.ui.reader.spoken_text import remove_drawn, speak_diff, speak_line, speak_text, spell_drawn, wrap_line
from clio.ui.safe_text import clean_line, spell_out_line, spell_out_lines
from clio.ui.scroll_page import ScrollPage
from clio.ui.tables import render_plain_todos
from clio.ui.terminal_handoff import Suspender
from clio.ui.terminal_signals import TerminalSignals
from clio.ui.theme import Terminal, Theme

_SPOKEN_CHOICES = {
    "edit": mark("edit in your editor"),
    "by hunks": mark("hunk by hunk"),
    "show all": mark("read all of it"),
}


class ReaderQuestions(Questions):
    """`Questions` that only print lines. size: the terminal's columns and rows."""

    def __init__(self, stream: TextIO, size: Callable[[], tuple[int, int]], *, keyboard: Input | None = None) -> None:
        output = TerminalOutput(stream)
        super().__init__(stream, live=False, keyboard=keyboard, display=EchoOutput(output, size))
        self._output = output
        self._size = size
        self._choices = ""
        self._lock = asyncio.Lock()

    def keep_early_input(self) -> None:
        """See `Questions.keep_early_input`."""
        save_early_keys(self._terminal.keyboard or get_app_session().input)

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
        """Return which of the one-letter choices was pressed; None for Esc, Ctrl-C and the end of the input.

        Any other key repeats the choices. See `Questions.ask_key`.
        """
        async with self._lock:
            self._choices = format_choices(choices)
            prompt = ChoicePrompt(self._terminal, choices)
            return await prompt.ask(guarded=guarded, print_question=self._print_choices)

    async def confirm(self, question: str) -> bool:
        """Ask yes or no by a key. Other letters begin the next message, which means no."""
        choices = {"y": tr("yes"), "n": tr("no")}
        async with self._lock:
            self._choices = f"{speak_line(question)}\n{format_choices(choices)}"
            prompt = ChoicePrompt(self._terminal, choices, may_be_message=True)
            return await prompt.ask(print_question=self._print_choices) == "y"

    async def ask_line(self, prompt: str, *, erase: bool = False) -> str | None:
        """Return a line of text; None for Esc, Ctrl-C and the end of the input."""
        async with self._lock:
            return await self._read_echoed_line(f"{speak_line(prompt)} ")

    def _print_choices(self) -> None:
        for line in self._choices.split("\n"):
            self._output.write(f"{wrap_line(line, self._size()[0] - 1)}\n")

    async def _read_echoed_line(self, prompt: str) -> str | None:
        keys = KeyBindings()

        @keys.add("escape")
        def _(event: KeyPressEvent) -> None:
            event.app.exit(exception=KeyboardInterrupt)

        echo = EchoedLine(self._output.write, lambda: self._size()[0])
        session: PromptSession[str] = PromptSession(
            key_bindings=keys, input=self._terminal.keyboard, output=self._terminal.display
        )
        buffer = session.default_buffer

        def echo_line(_: object) -> None:
            echo.show(prompt, buffer.text, buffer.cursor_position)

        session.app.after_render += echo_line
        session.app.ttimeoutlen = ESCAPE_WAIT_S
        session.app.timeoutlen = KEY_WAIT_S
        try:
            return await run_question(session.app, lambda: session.prompt_async("", handle_sigint=False))
        except (KeyboardInterrupt, EOFError):
            return None
        finally:
            echo.end()


def format_choices(choices: Mapping[str, str]) -> str:
    """Return the choices as text: "keys: y yes; n no; or Escape"."""
    parts = (
        f"{letter} {tr(_SPOKEN_CHOICES.get(english(meaning), speak_line(meaning)))}"
        for letter, meaning in choices.items()
    )
    return tr("keys: {parts}; or Escape", parts="; ".join(parts))


PROMPT = "you: "
_VI_NORMAL = mark("vi normal: ")
_MAX_LISTED = 30
_MAX_WITH_NOTES = 6
"""Up to so many completions are read out with their descriptions."""


class ReaderLine(PromptLine):
    """`PromptLine` for a screen reader. stream: the terminal. size: its columns and rows. Others: see `PromptLine`."""

    _can_erase = False

    def __init__(
        self,
        stream: TextIO,
        size: Callable[[], tuple[int, int]],
        *,
        history: History,
        completer: Completer,
        status: Callable[[], Sequence[str]],
        input: Input | None = None,
        **more: object,
    ) -> None:
        output = TerminalOutput(stream)
        self._output = output
        self._size = size
        self._echo = EchoedLine(output.write, lambda: size()[0])
        self._completer = completer
        self._announced: tuple[WaitingText, ...] = ()
        self._search_state = _HistoryStepper(HistorySearch(history))
        self._questions = ReaderQuestions(stream, size, keyboard=input)
        super().__init__(
            text=PROMPT,
            history=history,
            completer=completer,
            status=status,
            theme=Theme(colour=False, escapes=False),
            input=input,
            output=EchoOutput(output, size),
            **more,  # pyright: ignore[reportArgumentType]  # as the caller gives them
        )

    async def read(
        self,
        *,
        default: str = "",
        on_start: Callable[[], None] | None = None,
        on_ready: Callable[[], None] | None = None,
    ) -> str:
        """Return the next message, after printing the texts that wait since a turn was stopped.

        See `PromptLine.read`.
        """
        waiting = tuple(self._held.list_waiting()) if self._held is not None else ()
        if waiting and waiting != self._announced:
            for text in waiting:
                self._write(f"{text.label}: {clean_line(text.text)}")
            self._write(speak_line(tr(HELD_HINT)))
        self._announced = waiting
        try:
            return await super().read(default=default, on_start=on_start, on_ready=on_ready)
        finally:
            self._echo.end()

    async def confirm(self, question: str, word: str = "") -> bool:
        """Ask yes or no by a key; if a word is given, only that word on a line means yes."""
        if word:
            answer = await self._questions.ask_line(tr("{question} type {word}: ", question=question, word=word))
            return answer is not None and answer.strip() == word
        return await self._questions.confirm(question)

    async def print_above(self, show: Callable[[], None], *, in_thread: bool = False) -> None:
        """Call `show`, which prints, while the line is open: the line is ended before and printed again afterwards."""
        self._echo.end()
        await super().print_above(show, in_thread=in_thread)
        self.redraw()

    def announce_change(self, text: str) -> None:
        """Print what has changed."""
        self._print_message(text)

    def _after_render(self, _: object) -> None:
        """Print the line where `PromptLine` would draw it."""
        buffer, app = self._session.default_buffer, self._session.app
        normal = self._vi and app.vi_state.input_mode == InputMode.NAVIGATION and not app.is_done
        self._echo.show(tr(_VI_NORMAL) if normal else PROMPT, buffer.text, buffer.cursor_position)
        super()._after_render(_)

    def _handle_enter(self, buffer: Buffer, app: Application[str]) -> None:
        """Handle Enter; on an empty line it prints the status unless a text waits to be sent."""
        if not buffer.text.strip() and not (self._held is not None and self._held.list_waiting()):
            buffer.reset()
            self._print_message(", ".join(self._status()))
        else:
            super()._handle_enter(buffer, app)

    def _wants_menu(self) -> bool:
        return False

    def _show_hint(self, text: str) -> None:
        if text:
            self._print_message(text)

    def _print_message(self, text: str) -> None:
        """Print a line of its own, and the line being typed again below it."""
        self._echo.end()
        self._write(speak_line(text))
        self.redraw()

    def _write(self, line: str) -> None:
        self._output.write(f"{wrap_line(line, self._size()[0] - 1)}\n")

    def _make_further_bindings(self) -> Sequence[KeyBindings]:
        bindings = KeyBindings()
        typing = has_focus(DEFAULT_BUFFER)
        searching = typing & Condition(lambda: self._search_state.is_match(self._session.default_buffer.text))

        @bindings.add("tab", filter=typing)
        def _(event: KeyPressEvent) -> None:
            event.app.create_background_task(self._complete(event.current_buffer))

        @bindings.add("c-r", filter=typing)
        def _(event: KeyPressEvent) -> None:
            message, text = self._search_state.find_next(event.current_buffer.text)
            event.current_buffer.document = Document(text)
            self._print_message(message)

        @bindings.add("escape", filter=searching, eager=True)
        @bindings.add("c-g", filter=searching)
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.document = Document(self._search_state.cancel())

        @bindings.add("c-s", filter=typing)
        def _(event: KeyPressEvent) -> None:
            self._print_message(tr("Ctrl-R searches the history for the text on the line"))

        return [bindings]

    async def _complete(self, buffer: Buffer) -> None:
        """Insert the common beginning of all completions, and list them if there are several."""
        document = buffer.document
        asked = CompleteEvent(completion_requested=True)
        offers = await asyncio.to_thread(lambda: list(self._completer.get_completions(document, asked)))
        if buffer.document != document:
            return  # the user continued to type
        if not offers:
            self._print_message(tr("no completions"))
        elif len(offers) == 1:
            buffer.apply_completion(offers[0])
            self.redraw()
        else:
            buffer.insert_text(get_common_complete_suffix(document, offers))
            self._print_message(format_completions(offers))


class _HistoryStepper:
    """History search: steps through earlier lines, best match first, for the text on the line when it began."""

    def __init__(self, history: HistorySearch) -> None:
        self._history = history
        self._entries: list[HistoryEntry] = []
        self._position = -1
        self._original_line = ""

    def is_match(self, text: str) -> bool:
        """Whether the line is one that was found."""
        return 0 <= self._position < len(self._entries) and self._entries[self._position].text == text

    def find_next(self, text: str) -> tuple[str, str]:
        """Return a message and the new line: the next match, or the same line if there is none."""
        if not self.is_match(text):
            self._history.load_entries()
            self._original_line = text
            self._entries = [entry for entry in self._history.find_matches(text) if entry.text != text]
            self._position = -1
        if not self._entries:
            return tr("no match in the history"), text
        self._position = (self._position + 1) % len(self._entries)
        entry = self._entries[self._position]
        project = (
            tr(", of {total}", total=entry.project.rstrip("/").rpartition("/")[2])
            if entry.project and not entry.is_from_this_project
            else ""
        )
        return tr(
            "history {position} of {count}{project}, Escape to cancel",
            position=self._position + 1,
            count=len(self._entries),
            project=project,
        ), entry.text

    def cancel(self) -> str:
        """End the search and return the original line."""
        self._position = -1
        return self._original_line


def format_completions(offers: Sequence[Completion]) -> str:
    """Return the completions on one line: "3 completions: a, b, c"."""
    notes = len(offers) <= _MAX_WITH_NOTES
    names = [
        f"{offer.display_text} ({offer.display_meta_text})" if notes and offer.display_meta_text else offer.display_text
        for offer in offers[:_MAX_LISTED]
    ]
    hidden = len(offers) - len(names)
    return tr("{count} completions: {names}", count=len(offers), names=", ".join(names)) + (
        tr(", and {hidden} more", hidden=hidden) if hidden else ""
    )


class ReaderPromptIO(PromptIO):
    """`PromptIO` for a screen reader: prints only text, each question with a number."""

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
        keyboard: Input | None = None,
    ) -> None:
        super().__init__(
            stream, terminal, size, suspended, on_interrupt, is_typing=is_typing, signals=signals, keyboard=keyboard
        )
        self._lines = TerminalOutput(stream)
        self._question_count = 0

    def _make_questions(
        self, stream: TextIO, terminal: Terminal, keyboard: Input | None, display: Display | None
    ) -> Questions:
        if not terminal.has_keys:
            return super()._make_questions(stream, terminal, keyboard, display)
        return ReaderQuestions(stream, self.size, keyboard=keyboard)

    def make_title(self, name: str, more: str, style: str = "", *, whole: bool = True) -> Part:
        """Return the question's number and its subject."""
        return Part(body=Text(f"{self._next_label()}: {name}, {more}"))

    def render_question(self, text: str) -> list[Part]:
        """Return a question from the model, with its number."""
        first, *rest = speak_text(text) or [""]
        return [Part(body=Text(line)) for line in (f"{self._next_label()}: {first}", *rest)]

    def render_action(
        self, action: Action, display: FormatPath, *, named: bool = False, brief: bool = False
    ) -> Sequence[Text]:
        """Describe what a call would do, each line with a label."""
        match action:
            case ChangeFiles(changes=changes):
                return self.render_changes(changes, display)
            case RunCommand(command=command, cwd=cwd, note=note):
                lines = [*_describe_command_facts(command, display(cwd)), *([note] if note else [])]
            case FetchUrl(url=url, query=query):
                lines = [tr("query: {line}", line=line) for line in spell_out_lines(query)] if query else []
                lines += [tr("address: {line}", line=line) for line in spell_out_lines(url)]
            case ReadFiles(paths=paths):
                lines = [tr("file: {name}", name=spell_out_line(display(path))) for path in paths]
            case CallServer(arguments=arguments):
                lines = [tr("argument: {line}", line=line) for line in spell_out_lines(arguments)]
            case TouchOwnState():
                lines = []
            case _:
                assert_never(action)
        return [Text(spell_drawn(line)) for line in lines]

    def render_changes(self, changes: Iterable[FileChange], display: FormatPath) -> Sequence[Text]:
        """Describe how each line changes."""
        changes = tuple(changes)
        named = len(changes) > 1 or any(change.kind in ("delete", "move") for change in changes)
        diff = "".join(diff_change(change, lambda path: display(path).replace("\n", "\\n")).text for change in changes)
        return [Text(line) for line in speak_diff(diff, names=named)]

    def render_diff(self, text: str, file_name: str = "") -> Sequence[Text]:
        """Describe how each line of one file changes."""
        return [Text(line) for line in speak_diff(text, names=False)]

    def render_todos(self, todos: tuple[Todo, ...], width: int) -> list[Text]:
        """Return each item with its number and its state."""
        return [Text(line) for line in render_plain_todos(todos, fold=False)]

    def print_remark(self, text: str, style: str = "", *, mark: str = "") -> None:
        """Print a sentence of clio's own."""
        self._lines.write(f"{wrap_line(speak_line(text), self.width)}\n")

    def print_parts(self, parts: Iterable[Part | Text]) -> None:
        """Print each part as one line; the terminal wraps lines that are too long."""
        for part in parts:
            is_content = isinstance(part, Text)  # a bare `Text` is content to be judged; a part is a sentence
            body = part if is_content else part.body
            text = body.renderable if isinstance(body, Padding) else body  # margins mean nothing to a screen reader
            line = remove_drawn(str(text)).strip()
            if line:
                self._lines.write(f"{line if is_content else wrap_line(line, self.width)}\n")

    def render_excerpt(self, body: Sequence[Text], rows: int, hint: str = "") -> Iterator[Text]:
        """Yield the first lines, and how many are missing."""
        yield from body[:rows]
        if len(body) > rows:
            yield Text(f"{tr_count(len(body) - rows, 'more line')}{hint.replace('show', 'read')}")

    def fits_in_rows(self, body: Sequence[Text], rows: int) -> bool:
        """Whether there are at most so many lines."""
        return len(body) <= rows

    def _next_label(self) -> str:
        self._question_count += 1
        return tr("question {question_count}", question_count=self._question_count)


def _describe_command_facts(command: str, cwd: str) -> Iterator[str]:
    first = True
    for kind, text in list_command_facts(command, cwd):
        match kind:
            case "line":
                yield tr("command: {text}", text=text) if first else tr("and: {text}", text=text)
                first = False
            case "in":
                yield tr("in the directory: {text}", text=text)
            case "runs" | "reads" | "writes" | "looks like another name" | "not understood":
                yield f"{kind}: {text}"
