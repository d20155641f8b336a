"""The screen of somebody who hears it: every line is printed once, in order, and nothing is drawn again.

What runs for long is said when it begins, at most every ten seconds, and when it ends. While a line is typed nothing is
printed between its characters: it waits until the line is sent, or no key has come for a while.
"""

import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO, assert_never

from msgspec import Struct

from clio.agent.events import (
    ContextTrimmed,
    Event,
    MessageAdded,
    Notice,
    ReasoningDelta,
    Retrying,
    Steered,
    StepFinished,
    StepStarted,
    StreamRestarted,
    TextDelta,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from clio.commands.command import CommandResult
from clio.config.schema import ShowReasoning
from clio.ui.footer.status_line import Activity
from clio.ui.line.echo import EchoedLine
from clio.ui.markup.markdown import preload
from clio.ui.notify import Notifier
from clio.ui.output import Output
from clio.ui.painter import Size
from clio.ui.pipe_screen import RESTARTED
from clio.ui.plain import Cleaner, clean, clean_line
from clio.ui.reader.markdown import SpokenMarkdown, spoken_text
from clio.ui.reader.results import spoken_call, spoken_result
from clio.ui.reader.spoken import broken, spoken, spoken_footer, spoken_retry, spoken_seconds
from clio.ui.reader.thoughts import SpokenThoughts
from clio.ui.ticker import Ticker, in_background

if TYPE_CHECKING:
    from clio.ui.typing.typed_state import Typing, Waiting

YOU, CLIO = "you: ", "clio: "
_BEAT_S = 0.25
_LONG_S = 1.0
"""A call that takes longer is said to have begun."""
_AGAIN_S = 10.0
_TYPING_S = 5.0
"""So long after the last key what waits is printed, though the line is not sent."""


class _Call(Struct):
    title: str
    since: float
    is_said: bool = False


class ReaderScreen:
    """Listens to the loop's events and says them. `tick` is called by the screen itself while a turn runs.

    reasoning: how to begin with what the model thinks aloud. notifier: tells of a long turn's end. clock: seconds.
    on_broken: called when nobody reads any more.
    """

    def __init__(
        self,
        stream: TextIO,
        size: Size,
        *,
        reasoning: ShowReasoning = "fold",
        notifier: Notifier = Notifier(),  # noqa: B008  # frozen
        clock: Callable[[], float] = time.monotonic,
        on_broken: Callable[[], None] | None = None,
    ) -> None:
        self._size = size
        self._notifier = notifier
        self._clock = clock
        self._output = Output(stream, on_broken)
        self._echo = EchoedLine(self._output.write, lambda: size()[0])
        self._ticker = Ticker(self.tick, _BEAT_S)
        self._cleaner = Cleaner()
        self._answer = SpokenMarkdown()
        self._thoughts = SpokenThoughts(reasoning)
        self._thinking_since: float | None = None
        self._calls: dict[str, _Call] = {}
        self._activity = Activity()
        self._runs = False
        self._speaks = False
        """Whether the last line was of the answer."""
        self._said_at = 0.0
        self._typed_at = 0.0
        self._waiting: tuple[Waiting, ...] = ()
        self._held: list[str] = []
        self._paused = 0

    def handle(self, event: Event) -> None:
        """Say one event."""
        self._activity.hear(event, self._clock())
        match event:
            case TurnStarted():
                self._begin_turn()
            case TextDelta(text=text):
                self._end_thoughts()
                self._say_answer(self._answer.feed(self._cleaner.feed(text)))
            case ReasoningDelta(text=text):
                self._think(text)
            case StreamRestarted():
                self._answer, self._cleaner = SpokenMarkdown(), Cleaner()
                self._thinking_since = None
                self._say(RESTARTED)
            case Retrying():
                self._end_stream()
                self._say(spoken_retry(event))
            case ToolStarted():
                self._end_stream()
                self._calls[event.call_id] = _Call(clean_line(event.title), self._clock())
            case ToolFinished():
                self._end_stream()
                self._calls.pop(event.call_id, None)
                self._say(*spoken_call(event))
            case Steered(text=text):
                self._end_stream()
                self._say(f"{YOU}{clean_line(text)}")
            case Notice(text=text, level=level):
                self._end_stream()
                self._say(("warning: " if level == "warning" else "") + spoken(text))
            case ContextTrimmed():
                self._end_stream()
                self._say(spoken(event.line))
            case StepFinished():
                self._end_stream()
            case TurnFinished():
                self._end_turn(event)
            case StepStarted() | ToolProgress() | MessageAdded():
                pass
            case _:
                assert_never(event)

    def tick(self) -> None:
        """Say what takes long, and what has waited while somebody typed."""
        now = self._clock()
        if self._paused or not self._runs:
            return
        if self._echo.is_open:
            if now - self._typed_at >= _TYPING_S and self._held:
                self._echo.end()
                self._release()
            return
        for call in self._calls.values():
            if not call.is_said and now - call.since >= _LONG_S:
                call.is_said = True
                self._say(f"started: {spoken(call.title)}")
        if now - self._said_at >= _AGAIN_S:
            self._say(self._still(now))

    def note(self, text: str) -> None:
        """Lines about what happens."""
        self._say(*(spoken(line) for line in clean(text).rstrip("\n").split("\n")))

    def error(self, text: str) -> None:
        """What went wrong."""
        self._say(f"error: {spoken(' '.join(clean(text).split()))}")

    def markdown(self, text: str) -> None:
        """A whole Markdown text."""
        self._say(*spoken_text(clean(text)))

    def show_result(self, result: CommandResult) -> None:
        """What a slash command gave; one that failed is said as an error."""
        self._say(*spoken_result(result))

    def toggle_reasoning(self) -> None:
        """Say what the model thinks aloud, or keep it back: what comes now, and what comes later."""
        lines = self._thoughts.toggle()
        self._say(f"what the model thinks is {'read out' if self._thoughts.shows else 'kept back'} from now on", *lines)

    def set_typed(self, typing: "Typing") -> None:
        """Show what the person types while the turn runs, and say what of it waits."""
        line = typing.line
        fresh = [f"{one.label}: {clean_line(one.text)}" for one in typing.waiting if one not in self._waiting]
        self._waiting = typing.waiting
        if fresh or not line.text:
            self._echo.end()
            self._held[:0] = [*fresh, spoken(typing.hint)] if fresh and typing.hint else fresh
            self._release()
        if line.text and self._runs and not self._paused:  # after the turn's end the prompt shows it
            self._typed_at = self._clock()
            self._echo.show(YOU, line.text, line.cursor)

    @contextmanager
    def suspended(self) -> Generator[None]:
        """Leave the terminal to somebody else; what comes meanwhile is said afterwards."""
        self._echo.end()
        self._release()
        self._paused += 1
        try:
            yield
        finally:
            self._paused -= 1
            self._said_at = self._clock()
            self._release()

    def close(self) -> None:
        """End the line that was begun, and say what still waits."""
        self._ticker.stop()
        self._runs = False
        self._echo.end()
        self._end_stream()
        self._release()

    def _begin_turn(self) -> None:
        self._runs, self._speaks = True, False
        self._said_at = self._activity.since = self._clock()
        self._ticker.start()
        in_background(preload)

    def _end_turn(self, event: TurnFinished) -> None:
        self._end_stream()
        self._ticker.stop()
        self._echo.end()
        self._runs = False
        self._release()
        self._say(*(f"interrupted: {spoken(call.title)}" for call in self._calls.values()))
        self._calls.clear()
        if event.error and event.status != "interrupted":
            self.error(event.error)
        self._say(spoken_footer(event))
        self._output.write(self._notifier.of(event))

    def _think(self, text: str) -> None:
        if self._thinking_since is None:
            self._end_stream()
            self._thinking_since = self._clock()
        self._say(*self._thoughts.feed(self._cleaner.feed(text)))

    def _end_thoughts(self) -> None:
        if self._thinking_since is not None:
            lines = self._thoughts.feed(self._cleaner.finish())
            self._say(*lines, *self._thoughts.finish(self._clock() - self._thinking_since))
            self._thinking_since = None

    def _end_stream(self) -> None:
        """Finish what streams."""
        self._end_thoughts()
        held = self._cleaner.finish()
        self._say_answer([*self._answer.feed(held), *self._answer.finish()])

    def _still(self, now: float) -> str:
        if self._calls:
            running = (f"{spoken(call.title)}, {spoken_seconds(now - call.since)}" for call in self._calls.values())
            return f"still running: {'; '.join(running)}"
        return f"still {self._activity.what}, {spoken_seconds(now - self._activity.since)}"

    def _say_answer(self, lines: Iterable[str]) -> None:
        for line in lines:
            self._print(line if self._speaks else type(line)(CLIO + line))
            self._speaks = True

    def _say(self, *lines: str) -> None:
        for line in lines:
            self._print(line)
            self._speaks = False

    def _print(self, line: str) -> None:
        self._held.append(line)
        self._release()

    def _release(self) -> None:
        """Print what waits, where nobody is typing or answering."""
        if self._paused or self._echo.is_open or not self._held:
            return
        lines, self._held = self._held, []
        width = max(self._size()[0] - 1, 1)
        self._output.write("".join(f"{broken(line, width)}\n" for line in lines))
        self._said_at = self._clock()
