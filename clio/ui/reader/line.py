"""The line a person types on who hears it: nothing is drawn below it, and each change is said once.

The keys are those of the prompt line. What they do is shown by the terminal's own means, see `EchoedLine`.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import TextIO

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, get_common_complete_suffix
from prompt_toolkit.document import Document
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import Condition, has_focus
from prompt_toolkit.history import History
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.key_binding.vi_state import InputMode

from clio.ui.line.echo import EchoedLine, EchoOutput
from clio.ui.line.history import Entry
from clio.ui.line.history_search import HistorySearch
from clio.ui.line.prompt_line import HELD_HINT, PromptLine
from clio.ui.output import Output
from clio.ui.plain import clean_line
from clio.ui.reader.questions import ReaderQuestions
from clio.ui.reader.spoken import broken, spoken
from clio.ui.theme import Theme
from clio.ui.typing.typed_state import Waiting

PROMPT = "you: "
_VI_NORMAL = "vi normal: "
_MAX_OFFERED = 30
_WITH_NOTES = 6
"""So few offers are said with what they are."""


class ReaderLine(PromptLine):
    """`PromptLine`, read aloud. stream: the terminal. size: its columns and rows. The rest: see `PromptLine`."""

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
        output = Output(stream)
        self._output = output
        self._size = size
        self._echo = EchoedLine(output.write, lambda: size()[0])
        self._completer = completer
        self._told: tuple[Waiting, ...] = ()
        self._found = _Search(HistorySearch(history))
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
        """The next message; what waits since a turn was stopped is said first. See `PromptLine.read`."""
        waiting = tuple(self._held.waiting()) if self._held is not None else ()
        if waiting and waiting != self._told:
            for one in waiting:
                self._write(f"{one.label}: {clean_line(one.text)}")
            self._write(spoken(HELD_HINT))
        self._told = waiting
        try:
            return await super().read(default=default, on_start=on_start, on_ready=on_ready)
        finally:
            self._echo.end()

    async def confirm(self, question: str, word: str = "") -> bool:
        """Ask yes or no by a key; where a word is named, only that on a line is a yes."""
        self._questions.keep_early_input()
        if word:
            answer = await self._questions.line(f"{question} type {word}: ")
            return answer is not None and answer.strip() == word
        self._write(spoken(question))
        return await self._questions.key({"y": "yes", "n": "no"}) == "y"

    async def print_above(self, show: Callable[[], None], *, in_thread: bool = False) -> None:
        """Let `show` print while the line is open: it is ended, and said again afterwards."""
        self._echo.end()
        await super().print_above(show, in_thread=in_thread)
        self.redraw()

    def changed(self, words: str) -> None:
        """Say what is another now."""
        self._say(words)

    def _rendered(self, _: object) -> None:
        """Where another line would be drawn, this one is shown."""
        buffer, app = self._session.default_buffer, self._session.app
        normal = self._vi and app.vi_state.input_mode == InputMode.NAVIGATION and not app.is_done
        self._echo.show(_VI_NORMAL if normal else PROMPT, buffer.text, buffer.cursor_position)
        super()._rendered(_)

    def _enter(self, buffer: Buffer, app: Application[str]) -> None:
        """Enter on an empty line says how things are, where nothing waits to be sent."""
        if not buffer.text.strip() and not (self._held is not None and self._held.waiting()):
            buffer.reset()
            self._say(", ".join(self._status()))
        else:
            super()._enter(buffer, app)

    def _wants_menu(self) -> bool:
        return False

    def _show_hint(self, words: str) -> None:
        if words:
            self._say(words)

    def _say(self, words: str) -> None:
        """A line of its own; the one that is typed is said again below it."""
        self._echo.end()
        self._write(spoken(words))
        self.redraw()

    def _write(self, line: str) -> None:
        self._output.write(f"{broken(line, self._size()[0] - 1)}\n")

    def _further_bindings(self) -> Sequence[KeyBindings]:
        bindings = KeyBindings()
        typing = has_focus(DEFAULT_BUFFER)
        searching = typing & Condition(lambda: self._found.stands_on(self._session.default_buffer.text))

        @bindings.add("tab", filter=typing)
        def _(event: KeyPressEvent) -> None:
            event.app.create_background_task(self._complete(event.current_buffer))

        @bindings.add("c-r", filter=typing)
        def _(event: KeyPressEvent) -> None:
            words, text = self._found.next(event.current_buffer.text)
            event.current_buffer.document = Document(text)
            self._say(words)

        @bindings.add("escape", filter=searching, eager=True)
        @bindings.add("c-g", filter=searching)
        def _(event: KeyPressEvent) -> None:
            event.current_buffer.document = Document(self._found.leave())

        @bindings.add("c-s", filter=typing)
        def _(event: KeyPressEvent) -> None:
            self._say("Ctrl-R searches earlier lines for what stands on the line")

        return [bindings]

    async def _complete(self, buffer: Buffer) -> None:
        """Write what all offers have in common, and say them where there are several."""
        document = buffer.document
        asked = CompleteEvent(completion_requested=True)
        offers = await asyncio.to_thread(lambda: list(self._completer.get_completions(document, asked)))
        if buffer.document != document:
            return  # somebody typed on
        if not offers:
            self._say("nothing to complete")
        elif len(offers) == 1:
            buffer.apply_completion(offers[0])
            self.redraw()
        else:
            buffer.insert_text(get_common_complete_suffix(document, offers))
            self._say(said_offers(offers))


class _Search:
    """Earlier lines one after the other, the best first, for what stood on the line when the search began."""

    def __init__(self, history: HistorySearch) -> None:
        self._history = history
        self._entries: list[Entry] = []
        self._place = -1
        self._before = ""

    def stands_on(self, text: str) -> bool:
        """Whether the line is one that was found."""
        return 0 <= self._place < len(self._entries) and self._entries[self._place].text == text

    def next(self, text: str) -> tuple[str, str]:
        """What to say, and the line: the next one found, or the same where there is none."""
        if not self.stands_on(text):
            self._history.begin()
            self._before = text
            self._entries = [entry for entry in self._history.matches(text) if entry.text != text]
            self._place = -1
        if not self._entries:
            return "no earlier line fits", text
        self._place = (self._place + 1) % len(self._entries)
        entry = self._entries[self._place]
        where = f", of {entry.project.rstrip('/').rpartition('/')[2]}" if entry.project and not entry.here else ""
        return f"earlier line {self._place + 1} of {len(self._entries)}{where}, Escape leaves", entry.text

    def leave(self) -> str:
        """The search is over; what stood on the line before."""
        self._place = -1
        return self._before


def said_offers(offers: Sequence[Completion]) -> str:
    """The offers on one line: "3 fit: a, b, c"."""
    notes = len(offers) <= _WITH_NOTES
    words = [
        f"{offer.display_text} ({offer.display_meta_text})" if notes and offer.display_meta_text else offer.display_text
        for offer in offers[:_MAX_OFFERED]
    ]
    more = len(offers) - len(words)
    return f"{len(offers)} fit: {', '.join(words)}" + (f", and {more} more" if more else "")
