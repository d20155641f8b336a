"""From a session's state to what is exported: clean texts, results beside their calls, trims where they happened."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePath

from msgspec import Struct, structs

from clio.context.summary import summarise
from clio.context.summary_text import render_summary
from clio.export.cleaning import Cleaner, decoded
from clio.export.document import Call, Cut, Entry, Export, Result, Said, Totals
from clio.messages import AssistantMessage, Message, ToolMessage, Usage, UserMessage
from clio.sessions.blobs import BlobNotFound
from clio.sessions.state import SessionState, Trim, first_words
from clio.tokens import TokenEstimator

_SUMMARY_TOKENS = 1_500
_ANCHOR = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
_MAX_ANCHOR = 60


class Limits(Struct, frozen=True, kw_only=True):
    """How much of the outputs is exported, in characters.

    output: of one. all_outputs: of all together; once there, each gets only `later`.
    """

    output: int
    all_outputs: int
    later: int


def collect(
    state: SessionState, read_blob: Callable[[str], str], cleaner: Cleaner, limits: Limits, *, now: float
) -> Export:
    """The whole export. read_blob: as `BlobStore.read`; an output that cannot be read shows its preview."""
    messages = [cleaner.message(message) for message in state.messages]
    ids = [cleaner.text(message.id) for message in messages]
    anchors = _anchors(ids)
    outputs = _Outputs(read_blob, cleaner, limits)
    results = _results(messages)
    said = list(_said(messages, anchors, results, outputs, cleaner))
    times = [message.created for message in messages if message.created]
    models = dict.fromkeys(message.model for message in messages if isinstance(message, AssistantMessage))
    models |= dict.fromkeys(cleaner.text(bill.model) for bill in state.bills)
    title = cleaner.text(" ".join((state.name or first_words(messages) or "An empty session").split()))
    return Export(
        exported_at=now,
        id=cleaner.text(state.id),
        title=title,
        named=state.name is not None,
        project=cleaner.text(PurePath(state.working_directory).name),
        parent=cleaner.text(state.parent) if state.parent else None,
        created=state.created_at or min(times, default=0.0),
        last_active=max(times, default=state.created_at),
        models=tuple(model for model in models if model),
        totals=_totals(state, said),
        todos=tuple(map(cleaner.struct, state.todos)),
        bills=tuple(map(cleaner.struct, state.bills)),
        entries=tuple(_with_trims(said, state.trims, messages, anchors, cleaner)),
    )


class _Outputs:
    """Gives the outputs of calls, whole while there is room."""

    def __init__(self, read_blob: Callable[[str], str], cleaner: Cleaner, limits: Limits) -> None:
        self._read_blob = read_blob
        self._cleaner = cleaner
        self._limits = limits
        self._used = 0

    def of(self, message: ToolMessage) -> tuple[str, int]:
        """The output and how many characters of it are left out; the content of the message is already clean."""
        limit = self._limits.output if self._used < self._limits.all_outputs else self._limits.later
        whole = self._whole(message)
        if whole is None and len(message.content) <= limit:
            output, left_out = message.content, 0
        else:
            output, left_out = self._cleaner.bounded(message.content if whole is None else whole, limit)
        self._used += len(output)
        return output, left_out

    def _whole(self, message: ToolMessage) -> str | None:
        if message.blob is None:
            return None
        try:
            return self._read_blob(message.blob)
        except (BlobNotFound, OSError):
            return None


def _results(messages: Sequence[Message]) -> dict[tuple[int, str], ToolMessage]:
    """Each call's first result, by the place of the asking message and the call's id.

    Call ids repeat with servers that count from zero in every answer; the newest call so far is the one that is meant.
    """
    asked: dict[str, int] = {}
    found: dict[tuple[int, str], ToolMessage] = {}
    for place, message in enumerate(messages):
        if isinstance(message, AssistantMessage):
            asked |= {call.id: place for call in message.tool_calls}
        elif isinstance(message, ToolMessage) and message.tool_call_id in asked:
            found.setdefault((asked[message.tool_call_id], message.tool_call_id), message)
    return found


def _said(
    messages: Sequence[Message],
    anchors: Sequence[str],
    results: dict[tuple[int, str], ToolMessage],
    outputs: _Outputs,
    cleaner: Cleaner,
) -> Iterator[Said]:
    placed = {id(message) for message in results.values()}
    step = 0
    for place, message in enumerate(messages):
        common = Said(
            anchor=anchors[place],
            id=cleaner.text(message.id),
            role="system",
            created=message.created,
            text=message.content,
        )
        if isinstance(message, UserMessage):
            step = 0 if message.origin == "user" else step
            pictures = [f"[picture {cleaner.text(part.name)}, {part.size:,} bytes]" for part in message.images]
            words = "\n".join([message.content, *pictures])
            yield structs.replace(common, role="user", text=words, context=message.context, origin=message.origin)
        elif isinstance(message, AssistantMessage):
            step += 1
            calls = tuple(
                Call(
                    id=cleaner.text(call.id),
                    name=call.name,
                    arguments=decoded(call.arguments),
                    result=_result(results.get((place, call.id)), outputs, cleaner),
                )
                for call in message.tool_calls
            )
            yield structs.replace(
                common,
                role="assistant",
                reasoning=message.reasoning,
                model=message.model,
                finish_reason=message.finish_reason,
                usage=message.usage,
                step=step,
                calls=calls,
            )
        elif not isinstance(message, ToolMessage):
            yield common
        elif id(message) not in placed:
            orphan = Call(
                id=cleaner.text(message.tool_call_id),
                name=message.name or "unknown",
                arguments={},
                result=_result(message, outputs, cleaner),
            )
            yield structs.replace(common, role="tool", text="", calls=(orphan,))


def _result(message: ToolMessage | None, outputs: _Outputs, cleaner: Cleaner) -> Result | None:
    if message is None:
        return None
    output, left_out = outputs.of(message)
    return Result(
        message_id=cleaner.text(message.id),
        created=message.created,
        ok=message.ok,
        summary=message.summary,
        seconds=message.seconds,
        output=output,
        left_out=left_out,
    )


def _anchors(ids: Sequence[str]) -> list[str]:
    """A link target for each message: its id where that can be one, always the same for the same session."""
    taken: set[str] = set()
    anchors: list[str] = []
    for number, id in enumerate(ids, 1):
        fits = 0 < len(id) <= _MAX_ANCHOR and _ANCHOR.issuperset(id)
        anchor = f"m-{id}" if fits else f"m-{number}"
        while anchor in taken:
            anchor += f"-{number}"
        taken.add(anchor)
        anchors.append(anchor)
    return anchors


def _with_trims(
    said: Sequence[Said], trims: Sequence[Trim], messages: Sequence[Message], anchors: Sequence[str], cleaner: Cleaner
) -> Iterator[Entry]:
    places = {message.id: place for place, message in reversed(list(enumerate(messages)))}
    waiting: dict[int, list[Cut]] = {}
    for number, trim in enumerate(trims, 1):
        place = _place_of(trim, places, messages)
        waiting.setdefault(place, []).append(_cut(trim, number, places, messages, anchors, cleaner))
    place_of = {anchor: place for place, anchor in enumerate(anchors)}
    due = sorted(waiting)
    for entry in said:
        while due and due[0] < place_of[entry.anchor]:
            yield from waiting[due.pop(0)]
        yield entry
    for place in due:
        yield from waiting[place]


def _place_of(trim: Trim, places: dict[str, int], messages: Sequence[Message]) -> int:
    """The last message there was when the window was trimmed; -1 for none."""
    least = max((places[id] for id in (*trim.dropped, *trim.shrunk) if id in places), default=-1)
    place = least
    for later in range(least + 1, len(messages)):
        if not trim.created or not 0 < messages[later].created <= trim.created:
            break
        place = later
    return place


def _cut(
    trim: Trim,
    number: int,
    places: dict[str, int],
    messages: Sequence[Message],
    anchors: Sequence[str],
    cleaner: Cleaner,
) -> Cut:
    dropped = sorted({places[id] for id in trim.dropped if id in places})
    summary = ""
    if dropped:
        text = render_summary(
            summarise(messages[place] for place in dropped), budget_tokens=_SUMMARY_TOKENS, estimator=TokenEstimator()
        )
        # Between the tags, below the sentence that tells a model what this is.
        summary = "\n".join(text.split("\n")[2:-1])
    return Cut(
        anchor=f"trim-{number}",
        handle=cleaner.text(trim.handle),
        created=trim.created,
        messages=len(trim.dropped),
        shrunk=trim.shortened,
        freed_tokens=trim.freed_tokens,
        first_anchor=anchors[dropped[0]] if dropped else "",
        last_anchor=anchors[dropped[-1]] if dropped else "",
        summary=summary,
    )


def _totals(state: SessionState, said: Sequence[Said]) -> Totals:
    """Bills tell what a request cost; sessions without any may have the usage in their messages."""
    usage = Usage()
    for message in said:
        usage += message.usage or Usage()
    requests = sum(message.usage is not None for message in said)
    if state.bills:
        usage, requests = Usage(), len(state.bills)
        for bill in state.bills:
            usage += Usage(
                prompt_tokens=bill.prompt_tokens,
                completion_tokens=bill.completion_tokens,
                cached_tokens=bill.cached_tokens,
                cache_write_tokens=bill.cache_write_tokens,
            )
    results = [call.result for message in said for call in message.calls]
    return Totals(
        messages=len(state.messages),
        turns=sum(message.role == "user" and message.origin == "user" for message in said),
        calls=len(results),
        failed_calls=sum(result is not None and not result.ok for result in results),
        requests=requests,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        cached_tokens=usage.cached_tokens,
        cache_write_tokens=usage.cache_write_tokens,
    )
