"""From chunks to one answer, shown once however often the connection breaks."""

from collections.abc import Collection

from msgspec import Struct, field

from clio.agent.events import Emit, ReasoningDelta, StreamRestarted, TextDelta
from clio.algorithms.hidden_letters import unhidden
from clio.messages import AssistantMessage, ReasoningItem, ToolCall, Usage
from clio.providers.base import ChatRequest, Chunk, Provider
from clio.security.redaction.redactor import Redactor


class _PartialCall(Struct):
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list[str])  # joined once: an answer may have many pieces


class Answer:
    """One answer as far as it has come. model: which one gives it."""

    def __init__(self, model: str = "") -> None:
        self.model = model
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: dict[int, _PartialCall] = {}
        self.finish_reason = ""
        self.usage: Usage | None = None
        self.cost: int | None = None
        self.reasoning_items: tuple[ReasoningItem, ...] = ()
        self.origin = ""
        self.notice = ""

    def take(self, chunk: Chunk) -> None:
        """Add one chunk. Ids and names are whole and may repeat; arguments are appended."""
        if chunk.text:
            self._text.append(chunk.text)
        if chunk.reasoning:
            self._reasoning.append(chunk.reasoning)
        for delta in chunk.tool_calls:
            call = self._calls.setdefault(delta.index, _PartialCall())
            call.id = delta.id or call.id
            call.name = delta.name or call.name
            call.arguments.append(delta.arguments)
        self.finish_reason = chunk.finish_reason or self.finish_reason
        self.usage = chunk.usage or self.usage
        self.cost = chunk.cost if chunk.cost is not None else self.cost
        self.reasoning_items = chunk.reasoning_items or self.reasoning_items
        self.origin = chunk.origin or self.origin
        self.notice = chunk.notice or self.notice

    @property
    def text(self) -> str:
        """The words so far."""
        return "".join(self._text)

    @property
    def reasoning(self) -> str:
        """The thoughts so far."""
        return "".join(self._reasoning)

    @property
    def is_empty(self) -> bool:
        """Whether nothing has come at all."""
        return not (self._text or self._reasoning or self._calls or self.finish_reason)

    def calls(self, step_id: str, taken: Collection[str] = ()) -> tuple[ToolCall, ...]:
        """The calls in order. One without an id, or with one already `taken`, gets `<step_id>_<n>`.

        Servers that count from `call_0` in every answer would else pair a result with another step's call.
        """
        calls: list[ToolCall] = []
        seen = set[str]()
        for number, (_, call) in enumerate(sorted(self._calls.items())):
            call_id = call.id if call.id and call.id not in seen and call.id not in taken else f"{step_id}_{number}"
            seen.add(call_id)
            calls.append(ToolCall(id=call_id, name=call.name, arguments="".join(call.arguments) or "{}"))
        return tuple(calls)


class Display:
    """Passes text on to the screen. After a broken stream it stays silent while the new answer repeats the old one."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._pieces: list[str] = []  # what was shown: joined only when needed, for an answer has many pieces
        self._again: str | None = None  # the new answer, while it still agrees with what was shown
        self._thoughts_shown = False

    def text(self, delta: str) -> None:
        """Show more of the answer, or nothing if it stands there already."""
        if not delta:
            return
        if self._again is None:
            self._show(delta)
            return
        self._again += delta
        shown = self._shown()
        if self._again.startswith(shown):
            rest, self._again = self._again[len(shown) :], None
            self._show(rest)
        elif not shown.startswith(self._again):
            self._start_over(self._again)

    def reasoning(self, delta: str) -> None:
        """Show more of the thoughts; those of a second attempt are left out."""
        if delta and not self._thoughts_shown:
            self._emit(ReasoningDelta(text=delta))

    def restart(self) -> None:
        """The stream broke; a new one follows."""
        self._again = "" if self._pieces else None
        self._thoughts_shown = True

    def finish(self) -> None:
        """The stream is complete; one shorter than what was shown voids it."""
        if self._again is not None and self._again != self._shown():
            self._start_over(self._again)

    def _show(self, text: str) -> None:
        if text:
            self._pieces.append(text)
            self._emit(TextDelta(text=text))

    def _start_over(self, text: str) -> None:
        self._emit(StreamRestarted())
        self._pieces, self._again = [], None
        self._show(text)

    def _shown(self) -> str:
        shown = "".join(self._pieces)
        self._pieces = [shown] if shown else []
        return shown


async def receive(
    provider: Provider, request: ChatRequest, answer: Answer, display: Display, redactor: Redactor
) -> None:
    """Take one whole stream into `answer`, showing it on the way with secrets replaced.

    What a redactor holds back of the thoughts is shown before the text that follows them, and the other way round.

    `answer` keeps what came if the stream is cancelled or breaks. Raises what the provider raises.
    """
    visible, thoughts = redactor.stream(), redactor.stream()
    stream = provider.stream(request)
    thinks = mixed = False
    try:
        async for chunk in stream:
            answer.take(chunk)
            # Where each chunk brings some of both, neither is cut: a secret could hide in the seam.
            mixed, mixes = bool(chunk.reasoning and chunk.text), mixed
            if chunk.reasoning:
                if not thinks and not mixes:
                    display.text(visible.finish())
                    visible = redactor.stream()
                thinks = True
                display.reasoning(thoughts.feed(chunk.reasoning))
            if chunk.text:
                if thinks and not (mixed and mixes):
                    display.reasoning(thoughts.finish())
                    thoughts = redactor.stream()
                thinks = False
                display.text(visible.feed(chunk.text))
    finally:
        close = getattr(stream, "aclose", None)
        if close is not None:
            await close()
    display.reasoning(thoughts.finish())
    display.text(visible.finish())
    display.finish()


def whole_message(
    answer: Answer, calls: tuple[ToolCall, ...], redactor: Redactor, *, model: str, now: float, finish_reason: str = ""
) -> AssistantMessage:
    """The answer as a message to keep: secrets replaced in words, thoughts and arguments.

    A model repeats what it read, so invisible characters are spelled out in its text too. Reasoning items are kept as
    they came or not at all: a server refuses one that was changed, so those that hold a secret are dropped.
    """
    items = answer.reasoning_items
    if any(redactor.redact(item.data).text != item.data for item in items):
        items = ()
    return AssistantMessage(
        created=now,
        model=model,
        content=redactor.redact(unhidden(answer.text)).text,
        reasoning=redactor.redact(answer.reasoning).text,
        reasoning_items=items,
        reasoning_origin=answer.origin if items else "",
        tool_calls=tuple(
            ToolCall(id=call.id, name=call.name, arguments=redactor.redact(call.arguments).text) for call in calls
        ),
        finish_reason=finish_reason or answer.finish_reason,
        usage=answer.usage,
    )
