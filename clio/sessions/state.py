"""What a session is made of besides its messages, where its files are, and how its ids and text are written."""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

import msgspec
from msgspec import Struct, field

from clio.messages import Message, UserMessage
from clio.text.formatting import Cost
from clio.text.lazy_regex import LazyRegex

S = TypeVar("S", bound=Struct)
LONE_SURROGATE = LazyRegex("[\ud800-\udfff]")


def replace_lone_surrogates(text: str) -> str:
    """The text with U+FFFD for each lone surrogate, which file names, broken output and models' JSON can hold."""
    return LONE_SURROGATE.sub("\ufffd", text)


def replace_surrogates_in_struct(value: S) -> S:
    """A copy of a Struct with all its texts valid, those inside of it too."""
    return msgspec.convert(_valid(msgspec.to_builtins(value)), type=type(value))


def derive_id(seed: bytes) -> str:
    """An id in the form of a UUID, always the same for the same bytes."""
    digest = hashlib.sha256(seed).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-8{digest[13:16]}-8{digest[17:20]}-{digest[20:32]}"


def _valid(value: Any) -> Any:
    if isinstance(value, str):
        return replace_lone_surrogates(value)
    if isinstance(value, dict):
        return {_valid(key): _valid(item) for key, item in cast(dict[Any, Any], value).items()}
    if isinstance(value, (list, tuple)):
        return [_valid(item) for item in cast(list[Any], value)]
    return value


SAFE_ID = LazyRegex(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,127}")
SNAPSHOT = ".json"
JOURNAL = ".journal.jsonl"
LOCK = ".lock"


class SessionFiles(Struct, frozen=True):
    """The paths of one session in its `.clio/sessions` folder."""

    folder: Path
    id: str

    @property
    def snapshot(self) -> Path:
        """The whole session, written on close."""
        return self.folder / f"{self.id}{SNAPSHOT}"

    @property
    def journal(self) -> Path:
        """What came since the snapshot."""
        return self.folder / f"{self.id}{JOURNAL}"

    @property
    def lock(self) -> Path:
        """Held by the one clio that writes."""
        return self.folder / f"{self.id}{LOCK}"

    @property
    def original(self) -> Path:
        """A snapshot of another writer, as it was before clio first rewrote it."""
        return self.folder / f"{self.id}.json.original"

    @property
    def attachments(self) -> Path:
        """The folder of what is too large for a message."""
        return self.folder / self.id

    @property
    def blobs(self) -> Path:
        """Whole tool outputs, one file each."""
        return self.attachments / "blobs"

    @property
    def tool_results(self) -> Path:
        """Whole tool outputs of the Perl original, one file per call; only ever read."""
        return self.attachments / "tool_results"

    def any_exist(self) -> bool:
        """Whether there is anything to open."""
        return self.snapshot.is_file() or self.journal.is_file()


def is_session_id(text: str) -> bool:
    """Whether a text can be a session's id, and so a file name that does not lead out of the folder."""
    return SAFE_ID.fullmatch(text) is not None


Span = str | tuple[str, str]
MIN_RUN = 3
"""Ids in a row that are written as a run."""


def compress_ids(ids: Sequence[str], order: Sequence[str]) -> list[Span]:
    """The ids with runs of neighbours in `order`, the ids of the whole history, as pairs."""
    places = _places(order)
    spans: list[Span] = []
    start = 0
    while start < len(ids):
        end = start + 1
        place = places.get(ids[start])
        if place is not None:
            while end < len(ids) and place + end - start < len(order) and ids[end] == order[place + end - start]:
                end += 1
        spans += [(ids[start], ids[end - 1])] if end - start >= MIN_RUN else ids[start:end]
        start = end
    return spans


def expand_spans(spans: Iterable[object], order: Sequence[str]) -> list[str]:
    """The ids again. What is neither an id nor a run of `order` is left out."""
    places = _places(order)
    ids: list[str] = []
    for span in spans:
        match span:
            case str():
                ids.append(span)
            case [str() as first, str() as last] if first in places and last in places:
                ids += order[places[first] : places[last] + 1]
            case _:
                continue
    return ids


def _places(order: Sequence[str]) -> dict[str, int]:
    """The place of each id; none where one is there twice: then there are no runs."""
    places = {id: place for place, id in enumerate(order)}
    return places if len(places) == len(order) else {}


TodoStatus = Literal["pending", "in_progress", "completed", "blocked"]
FIRST_WORDS_CHARS = 80
NAME_CHARS = 120


class Todo(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One item of the session's list of work. `id` is unique in the session."""

    id: int
    title: str
    status: TodoStatus = "pending"
    note: str = ""


class PlanMode(Struct, frozen=True, kw_only=True):
    """Plan mode is on. proposed: a turn has written a plan that the person has not decided about."""

    proposed: bool = False


class Bill(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one request cost in tokens; what they are part of is told in `Usage`.

    server: the provider's name. cost: in micro-dollars, by the prices of that moment; None where nobody knew.
    """

    model: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    cache_write_1h_tokens: int = 0
    reasoning_tokens: int = 0
    timestamp: float = 0.0
    server: str = ""
    cost: int | None = None

    @property
    def cost_sum(self) -> Cost:
        """The same as a sum that can be added to others."""
        if self.cost is None:
            return Cost(unpriced_tokens=self.prompt_tokens + self.completion_tokens)
        return Cost(micro_dollars=self.cost)


class Trim(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One time the window was made smaller. The messages stay in the session; this says how they left the window.

    handle: "t1", "t2", …, unique in the session.
    dropped: ids that left the window.
    shrunk: ids shown shorter since then, with the characters shown of each long text in them; 0 and less for one line
        in place of an output, the number says why. "ID#CALL" is the arguments of one call of a message.
    freed_tokens: estimated. created: seconds since the epoch.
    """

    handle: str
    dropped: tuple[str, ...] = ()
    shrunk: dict[str, int] = {}
    freed_tokens: int = 0
    created: float = 0.0

    @property
    def shortened_count(self) -> int:
        """How many messages are shown shorter; a call whose result is shown shorter as well counts with it."""
        return sum("#" not in id for id in self.shrunk) or len(self.shrunk)


class ImportSource(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a session came from that another program wrote; such a session is only read, never gone on with.

    agent: the program, such as "claude". key: what the program itself calls the conversation.
    source: the file it was read from. within: id of the session it was a part of, as a sub-agent's is.
    digest: of everything that was taken from the source; equal ones need not be written again.
    opening: of its first words and their time; a copy of it under another key begins alike.
    at: when it was taken in, in seconds since the epoch.
    """

    agent: str
    key: str
    source: str = ""
    within: str = ""
    digest: str = ""
    opening: str = ""
    at: float = 0.0


class SessionInfo(Struct, frozen=True, kw_only=True):
    """A session as a list shows it. `first_words`: up to 80 characters of the first thing the person said.

    delegated: the sub-agent that works in it for the session `parent`; None where a person talks.
    came_with_project: this user's clio did not write it; told by `SessionStore.list` alone.
    """

    id: str
    name: str | None = None
    created_at: float = 0.0
    updated_at: float = 0.0
    messages: int = 0
    first_words: str = ""
    working_directory: str = ""
    running: bool = False
    imported: ImportSource | None = None
    parent: str | None = None
    delegated: str | None = None
    came_with_project: bool = False

    @property
    def is_conversation(self) -> bool:
        """Whether a person talked to clio in it: no other program wrote it, and no other session began it."""
        return self.imported is None and self.delegated is None


class SessionState(Struct, kw_only=True):
    """Everything a session file holds. The session that owns it changes it; others get copies of its parts.

    planned: None while plan mode is off.
    parent: the session it was copied from, or the one that delegated work to it; then `delegated` is the sub-agent.
    efforts: how hard models are to think, by their names, as chosen in it.
    server_alias: the alias whose server `model` was chosen on; "" for the server clio was started with, None where that
    was not recorded.
    stm: ids of the messages the next request is built from.
    trims: how messages left it, oldest first.
    threads: the archive's further threads, ids by thread name; the thread of the session's own name is every message.
    """

    id: str
    name: str | None = None
    created_at: float = 0.0
    updated_at: float = 0.0
    working_directory: str = ""
    parent: str | None = None
    model: str | None = None
    server_alias: str | None = None
    efforts: dict[str, str] = field(default_factory=dict[str, str])
    imported: ImportSource | None = None
    delegated: str | None = None
    token_ratio: float | None = None
    todos: tuple[Todo, ...] = ()
    plan_mode: PlanMode | None = None
    bills: list[Bill] = field(default_factory=list[Bill])
    messages: list[Message] = field(default_factory=list[Message])
    stm: list[str] = field(default_factory=list[str])
    trims: list[Trim] = field(default_factory=list[Trim])
    threads: dict[str, list[str]] = field(default_factory=dict[str, list[str]])


def find_first_words(messages: list[Message]) -> str:
    """How the person began, on one line; empty where nobody has spoken yet."""
    for message in messages:
        if isinstance(message, UserMessage) and message.origin == "user":
            return to_one_line(message.content, FIRST_WORDS_CHARS)
    return ""


def to_one_line(text: str, chars: int) -> str:
    """The beginning of a text without line breaks."""
    return " ".join(text[: 8 * chars].split())[:chars]
