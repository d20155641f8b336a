"""What happened in a stretch of conversation, as data; `summary_text` renders it.

The summary of two stretches is the merge of their summaries: `summarise(a + b) == merge(summarise(a), summarise(b))`
wherever no unit is split. So a session is summed up trim by trim, each message is looked at once, and nothing is ever
parsed back out of rendered text. Nothing is capped here but the length of single texts: what must give way for a
window is decided by whoever renders.
"""

from collections.abc import Iterable, Mapping
from typing import Literal, TypeVar

from msgspec import Struct

from clio.context.units import is_substantive
from clio.messages import AssistantMessage, Commit, Deeds, FileDeed, Message, ToolCall, ToolMessage, UserMessage
from clio.sessions.deeds import deeds_of

TEXT_CHARS = 2_000
"""A longer request, question or answer keeps its beginning and its end; the archive has the whole."""
_COMMAND_CHARS, _LINE_CHARS = 300, 200
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


class FileState(Struct, frozen=True, kw_only=True):
    """What became of a file last. `moved_to` is where it stands now."""

    kind: FileKind = "written"
    moved_to: str = ""


class Outcome(Struct, frozen=True, kw_only=True):
    """The last command that ran to its end, and the last line it printed."""

    command: str
    exit_code: int
    last_line: str = ""


class SpanInfo(Struct, frozen=True, kw_only=True):
    """A trimmed stretch: the handle that brings it back, how many messages it holds, how it begins."""

    handle: str
    messages: int
    first_words: str = ""


class ThreadSummary(Struct, frozen=True, kw_only=True):
    """A stretch of conversation; all in the order of time.

    messages: how many there were. files: path → what became of it; read: paths only read; the file that was touched
    last stands last.
    """

    messages: int = 0
    asks: tuple[Ask, ...] = ()
    decisions: tuple[Decision, ...] = ()
    commits: tuple[Commit, ...] = ()
    files: dict[str, FileState] = {}
    read: tuple[str, ...] = ()
    tools: dict[str, int] = {}
    outcome: Outcome | None = None


def summarise(messages: Iterable[Message]) -> ThreadSummary:
    """The summary of messages in their order; a result counts where its call stands, however late it came."""
    gathered = _Gathered()
    listed = list(messages)
    for message, call in _in_order(listed):
        gathered.take(message, call)
    return gathered.summary(len(listed))


def merge(earlier: ThreadSummary, later: ThreadSummary) -> ThreadSummary:
    """The summary of both stretches, one after the other."""
    files = _latest_last(earlier.files, later.files)
    read = _latest_last(dict.fromkeys(earlier.read), dict.fromkeys(later.read))
    return ThreadSummary(
        messages=earlier.messages + later.messages,
        asks=earlier.asks + later.asks,
        decisions=earlier.decisions + later.decisions,
        commits=_once(earlier.commits + later.commits),
        files=files,
        read=tuple(path for path in read if path not in files),
        tools=_added(earlier.tools, later.tools),
        outcome=later.outcome or earlier.outcome,
    )


def _in_order(messages: list[Message]) -> list[tuple[Message, ToolCall | None]]:
    """The messages with each first result moved behind its call, and that call; other results belong to none.

    Call ids repeat with servers that count from zero in every answer; the newest call so far is the one that is meant.
    """
    asked: dict[str, tuple[int, ToolCall]] = {}
    placed: list[tuple[int, int, Message, ToolCall | None]] = []
    newest, ordered = -1, True
    for position, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            place, call = asked.pop(message.tool_call_id, (position, None))
            ordered = ordered and place == newest
            placed.append((place, 1 if call else 0, message, call))
            continue
        if isinstance(message, AssistantMessage):
            for call in message.tool_calls:
                asked[call.id] = (position, call)
        newest = position
        placed.append((position, 0, message, None))
    if not ordered:  # seldom: a sort costs as much as all the rest
        placed.sort(key=lambda item: item[:2])
    return [(message, call) for _, _, message, call in placed]


class _Gathered:
    """A summary in the making."""

    def __init__(self) -> None:
        self._asks: list[Ask] = []
        self._decisions: list[Decision] = []
        self._commits: list[Commit] = []
        self._files: dict[str, FileState] = {}
        self._read: dict[str, None] = {}
        self._tools: dict[str, int] = {}
        self._outcome: Outcome | None = None

    def take(self, message: Message, call: ToolCall | None) -> None:
        if isinstance(message, UserMessage):
            if message.origin == "user" and is_substantive(message.content):
                self._asks.append(Ask(id=message.id, text=shorten(message.content, TEXT_CHARS)))
        elif isinstance(message, ToolMessage):
            call = call or ToolCall(id=message.tool_call_id, name=message.name)
            self._tools[call.name] = self._tools.get(call.name, 0) + 1
            self._take_deeds(deeds_of(call, message), message)

    def _take_deeds(self, deeds: Deeds, message: ToolMessage) -> None:
        for deed in deeds.changed:
            self._change(deed)
        for path in deeds.read:
            self._read.pop(path, None)
            self._read[path] = None
        self._commits.extend(deeds.commits)
        if deeds.command and deeds.exit_code is not None:
            self._outcome = Outcome(
                command=shorten(deeds.command, _COMMAND_CHARS),
                exit_code=deeds.exit_code,
                last_line=_last_line(message.content),
            )
        if deeds.question:
            question, answer = shorten(deeds.question, TEXT_CHARS), shorten(deeds.answer, TEXT_CHARS)
            self._decisions.append(Decision(id=message.id, question=question, answer=answer))

    def _change(self, deed: FileDeed) -> None:
        if deed.kind == "move":
            self._put(deed.path, FileState(kind="moved", moved_to=deed.moved_to))
            if deed.moved_to:
                self._put(deed.moved_to, FileState())
        else:
            self._put(deed.path, FileState(kind="deleted" if deed.kind == "delete" else "written"))

    def _put(self, path: str, state: FileState) -> None:
        self._files.pop(path, None)
        self._files[path] = state

    def summary(self, messages: int) -> ThreadSummary:
        return ThreadSummary(
            messages=messages,
            asks=tuple(self._asks),
            decisions=tuple(self._decisions),
            commits=_once(tuple(self._commits)),
            files=dict(self._files),
            read=tuple(path for path in self._read if path not in self._files),
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


def _last_line(output: str) -> str:
    """The last line a command printed; the state clio puts before the output is none."""
    lines = [line for line in output.rstrip()[-4 * _LINE_CHARS :].splitlines() if line.strip()]
    last = lines[-1].strip() if lines else ""
    return "" if last in {"(no output)", ""} or (len(lines) == 1 and last.startswith("[exit ")) else last[:_LINE_CHARS]


def _once(commits: tuple[Commit, ...]) -> tuple[Commit, ...]:
    """Each commit where it was first told; `git commit` and a later report of it are one."""
    first: dict[str, Commit] = {}
    for commit in commits:
        first.setdefault(commit.hash, commit)
    return tuple(first.values())


def _latest_last(earlier: Mapping[str, Item], later: Mapping[str, Item]) -> dict[str, Item]:
    return {key: value for key, value in earlier.items() if key not in later} | dict(later)


def _added(earlier: Mapping[str, int], later: Mapping[str, int]) -> dict[str, int]:
    names = sorted({*earlier, *later})
    return {name: earlier.get(name, 0) + later.get(name, 0) for name in names}
