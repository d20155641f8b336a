"""What happened in a stretch of conversation, as data; `summary_text` renders it.

The summary of two stretches is the merge of their summaries: `summarise(a + b) == merge(summarise(a), summarise(b))`,
up to the caps below. So a session is summed up trim by trim, each message is looked at once, and nothing is ever
parsed back out of rendered text.
"""

from collections.abc import Iterable, Mapping
from typing import Literal, TypeVar

from msgspec import Struct

from clio.context.deeds import deeds_of
from clio.context.units import is_substantive
from clio.messages import AssistantMessage, Commit, Deeds, Message, ToolCall, ToolMessage, UserMessage

FIRST_KEPT, LAST_KEPT = 30, 170
"""Of the requests, decisions and files the oldest 30 and newest 170 are kept; the counts tell how many there were."""
COMMITS_KEPT = 1_000
ASK_CHARS = 2_000
"""A longer request keeps its beginning and its end; the archive has the whole."""
FileKind = Literal["written", "moved", "deleted"]

Item = TypeVar("Item")


class Ask(Struct, frozen=True, kw_only=True):
    """One request of the user's, by the id of its message."""

    id: str
    text: str


class Decision(Struct, frozen=True, kw_only=True):
    """A question put to the user, and the answer."""

    id: str
    question: str
    answer: str


class Outcome(Struct, frozen=True, kw_only=True):
    """The last command that ran to its end."""

    command: str
    exit_code: int


class Counts(Struct, frozen=True, kw_only=True):
    """How many there were, kept or not."""

    messages: int = 0
    asks: int = 0
    decisions: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(
            messages=self.messages + other.messages,
            asks=self.asks + other.asks,
            decisions=self.decisions + other.decisions,
        )


class ThreadSummary(Struct, frozen=True, kw_only=True):
    """A stretch of conversation; all in the order of time.

    files: path → what became of it last; read: paths only read. The file that was touched last stands last.
    """

    counts: Counts = Counts()
    asks: tuple[Ask, ...] = ()
    decisions: tuple[Decision, ...] = ()
    commits: tuple[Commit, ...] = ()
    files: dict[str, FileKind] = {}
    read: tuple[str, ...] = ()
    tools: dict[str, int] = {}
    outcome: Outcome | None = None


def summarise(messages: Iterable[Message]) -> ThreadSummary:
    """The summary of messages in their order; a result counts for the call before it that it answers."""
    gathered = _Gathered()
    for message in messages:
        gathered.take(message)
    return gathered.summary()


def merge(earlier: ThreadSummary, later: ThreadSummary) -> ThreadSummary:
    """The summary of both stretches, one after the other."""
    files = _latest_last(earlier.files, later.files)
    read = tuple(_latest_last(dict.fromkeys(earlier.read), dict.fromkeys(later.read)))
    return ThreadSummary(
        counts=earlier.counts + later.counts,
        asks=_capped(earlier.asks + later.asks),
        decisions=_capped(earlier.decisions + later.decisions),
        commits=(earlier.commits + later.commits)[-COMMITS_KEPT:],
        files=dict(_capped(tuple(files.items()))),
        read=_capped(tuple(path for path in read if path not in files)),
        tools=_added(earlier.tools, later.tools),
        outcome=later.outcome or earlier.outcome,
    )


class _Gathered:
    """A summary in the making."""

    def __init__(self) -> None:
        self._calls: dict[str, ToolCall] = {}
        self._messages = 0
        self._asks: list[Ask] = []
        self._decisions: list[Decision] = []
        self._commits: list[Commit] = []
        self._files: dict[str, FileKind] = {}
        self._read: dict[str, None] = {}
        self._tools: dict[str, int] = {}
        self._outcome: Outcome | None = None

    def take(self, message: Message) -> None:
        self._messages += 1
        if isinstance(message, UserMessage):
            if message.origin == "user" and is_substantive(message.content):
                self._asks.append(Ask(id=message.id, text=shorten(message.content, ASK_CHARS)))
        elif isinstance(message, AssistantMessage):
            self._calls.update((call.id, call) for call in message.tool_calls)
        elif isinstance(message, ToolMessage):
            call = self._calls.get(message.tool_call_id) or ToolCall(id=message.tool_call_id, name=message.name)
            self._tools[call.name] = self._tools.get(call.name, 0) + 1
            self._take_deeds(deeds_of(call, message), message.id)

    def _take_deeds(self, deeds: Deeds, message_id: str) -> None:
        for deed in deeds.changed:
            self._put(deed.path, "moved" if deed.kind == "move" else "deleted" if deed.kind == "delete" else "written")
            if deed.moved_to:
                self._put(deed.moved_to, "written")
        for path in deeds.read:
            self._read.pop(path, None)
            self._read[path] = None
        self._commits.extend(deeds.commits)
        if deeds.command and deeds.exit_code is not None:
            self._outcome = Outcome(command=shorten(deeds.command, 300), exit_code=deeds.exit_code)
        if deeds.question:
            self._decisions.append(
                Decision(
                    id=message_id, question=shorten(deeds.question, ASK_CHARS), answer=shorten(deeds.answer, ASK_CHARS)
                )
            )

    def _put(self, path: str, kind: FileKind) -> None:
        self._files.pop(path, None)
        self._files[path] = kind

    def summary(self) -> ThreadSummary:
        return ThreadSummary(
            counts=Counts(messages=self._messages, asks=len(self._asks), decisions=len(self._decisions)),
            asks=_capped(tuple(self._asks)),
            decisions=_capped(tuple(self._decisions)),
            commits=tuple(self._commits)[-COMMITS_KEPT:],
            files=dict(_capped(tuple(self._files.items()))),
            read=_capped(tuple(path for path in self._read if path not in self._files)),
            tools=dict(sorted(self._tools.items())),
            outcome=self._outcome,
        )


def shorten(text: str, chars: int) -> str:
    """The text, or its beginning and its end with an ellipsis between; at most `chars` characters."""
    text = text.strip()
    if len(text) <= chars:
        return text
    tail = chars // 4
    return f"{text[: chars - tail - 3].rstrip()} … {text[-tail:].lstrip()}"


def _capped(items: tuple[Item, ...]) -> tuple[Item, ...]:
    if len(items) <= FIRST_KEPT + LAST_KEPT:
        return items
    return items[:FIRST_KEPT] + items[-LAST_KEPT:]


def _latest_last(earlier: Mapping[str, Item], later: Mapping[str, Item]) -> dict[str, Item]:
    return {key: value for key, value in earlier.items() if key not in later} | dict(later)


def _added(earlier: Mapping[str, int], later: Mapping[str, int]) -> dict[str, int]:
    names = sorted({*earlier, *later})
    return {name: earlier.get(name, 0) + later.get(name, 0) for name in names}
