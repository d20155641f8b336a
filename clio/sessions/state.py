"""The state of a session besides its messages, the paths of its files, and the encoding of its ids and text."""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

import msgspec
from msgspec import Struct, field

from clio.messages import Message, UserMessage
from clio.text.formatting import Cost
from clio.text.lazy_regex import LazyRegex
from clio.text.untrusted_text import unmark_pasted_text

S = TypeVar("S", bound=Struct)
# msgspec refuses to encode them, so one in a file name would make the whole session unsaveable.
LONE_SURROGATE = LazyRegex("[\ud800-\udfff]")


def replace_lone_surrogates(text: str) -> str:
    """Replace each lone surrogate by U+FFFD. They come from file names, broken output and JSON written by models."""
    return LONE_SURROGATE.sub("\ufffd", text)


def replace_surrogates_in_struct(value: S) -> S:
    """Return a copy of a Struct with the lone surrogates replaced in all its strings, also nested ones."""
    return msgspec.convert(_replace_surrogates_nested(msgspec.to_builtins(value)), type=type(value))


def derive_id(seed: bytes) -> str:
    """Return an id in the form of a UUID, derived from the SHA-256 of `seed`."""
    digest = hashlib.sha256(seed).hexdigest()
    # Version 8 and variant 8: a UUID whose content is defined by the application (RFC 9562).
    return f"{digest[:8]}-{digest[8:12]}-8{digest[13:16]}-8{digest[17:20]}-{digest[20:32]}"


def _replace_surrogates_nested(value: Any) -> Any:
    if isinstance(value, str):
        return replace_lone_surrogates(value)
    if isinstance(value, dict):
        return {
            _replace_surrogates_nested(key): _replace_surrogates_nested(item)
            for key, item in cast(dict[Any, Any], value).items()
        }
    if isinstance(value, (list, tuple)):
        return [_replace_surrogates_nested(item) for item in cast(list[Any], value)]
    return value


# A leading "-" would make an id look like a flag on a command line.
SAFE_ID = LazyRegex(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,127}")
SNAPSHOT_SUFFIX = ".json"
JOURNAL_SUFFIX = ".journal.jsonl"
LOCK_SUFFIX = ".lock"


class SessionFiles(Struct, frozen=True):
    """The paths of one session in its `.clio/sessions` folder."""

    folder: Path
    id: str

    @property
    def snapshot(self) -> Path:
        """The complete session, written on close."""
        return self.folder / f"{self.id}{SNAPSHOT_SUFFIX}"

    @property
    def journal(self) -> Path:
        """The changes since the snapshot."""
        return self.folder / f"{self.id}{JOURNAL_SUFFIX}"

    @property
    def lock(self) -> Path:
        """The lock, held by the process that writes the session."""
        return self.folder / f"{self.id}{LOCK_SUFFIX}"

    @property
    def original(self) -> Path:
        """The snapshot as another program wrote it, copied before clio first rewrote it."""
        return self.folder / f"{self.id}.json.original"

    @property
    def attachments(self) -> Path:
        """The directory of content that is too large for a message."""
        return self.folder / self.id

    @property
    def blobs(self) -> Path:
        """The directory of full tool outputs, one file each."""
        return self.attachments / "blobs"

    @property
    def tool_results(self) -> Path:
        """The directory of full tool outputs of the Perl original, one file per call; never written."""
        return self.attachments / "tool_results"

    def any_exist(self) -> bool:
        """Whether there is a snapshot or a journal."""
        return self.snapshot.is_file() or self.journal.is_file()


def is_session_id(text: str) -> bool:
    """Whether the text is a valid session id, and thus a file name that cannot leave the directory."""
    return SAFE_ID.fullmatch(text) is not None


Span = str | tuple[str, str]
MIN_RUN_IDS = 3
"""Smallest number of consecutive ids that is written as a pair (first, last)."""


def compress_ids(ids: Sequence[str], order: Sequence[str]) -> list[Span]:
    """Return the ids with each run of neighbours in `order` replaced by a pair (first, last).

    order: the ids of the whole history.
    """
    index_by_id = _index_ids(order)
    spans: list[Span] = []
    start = 0
    while start < len(ids):
        end = start + 1
        index = index_by_id.get(ids[start])
        if index is not None:
            while end < len(ids) and index + end - start < len(order) and ids[end] == order[index + end - start]:
                end += 1
        spans += [(ids[start], ids[end - 1])] if end - start >= MIN_RUN_IDS else ids[start:end]
        start = end
    return spans


def expand_spans(spans: Iterable[object], order: Sequence[str]) -> list[str]:
    """Return the ids that `compress_ids` wrote. Entries that are neither an id nor a run of `order` are skipped."""
    index_by_id = _index_ids(order)
    ids: list[str] = []
    for span in spans:
        match span:
            case str():
                ids.append(span)
            case [str() as first, str() as last] if first in index_by_id and last in index_by_id:
                ids += order[index_by_id[first] : index_by_id[last] + 1]
            case _:
                continue
    return ids


def _index_ids(order: Sequence[str]) -> dict[str, int]:
    """Return the index of each id; {} if an id occurs twice, because runs would be ambiguous."""
    indexes = {id: index for index, id in enumerate(order)}
    return indexes if len(indexes) == len(order) else {}


TodoStatus = Literal["pending", "in_progress", "completed", "blocked"]
FIRST_WORDS_CHARS = 80
NAME_CHARS = 120


class Todo(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One item of the session's todo list. `id` is unique in the session."""

    id: int
    title: str
    status: TodoStatus = "pending"
    note: str = ""


class PlanMode(Struct, frozen=True, kw_only=True):
    """Plan mode is on. proposed: a turn has written a plan that the user has neither accepted nor rejected."""

    proposed: bool = False


class SessionLimit(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A limit that the user stated for this session only.

    Attributes:
        text: the limit, without secrets.
        message: index of the message in which the user stated it.
        at: seconds since the epoch; limits of one statement have the same time.
        is_lifted: it no longer applies, which the model must learn while its window contains the statement.
        change: id of its change in memory's log, by which it is undone; "" if it has none.
    """

    text: str
    message: int
    at: float
    is_lifted: bool = False
    change: str = ""


class Bill(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Token usage and cost of one request. `Usage` says which token counts include which.

    server: the provider's name. cost: in micro-dollars, at the prices of that time; None if the price is unknown.
    """

    model: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    cache_write_1h_tokens: int = 0
    reasoning_tokens: int = 0
    searches: int = 0
    timestamp: float = 0.0
    server: str = ""
    cost: int | None = None

    @property
    def cost_sum(self) -> Cost:
        """The cost as a `Cost`, which can be added to others."""
        if self.cost is None:
            return Cost(unpriced_tokens=self.prompt_tokens + self.completion_tokens)
        return Cost(micro_dollars=self.cost)


class Trim(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One trim of the context window. The messages stay in the session.

    Attributes:
        handle: "t1", "t2", …, unique in the session.
        dropped: ids of the messages that left the window.
        shrunk: ids of the messages that are shortened since then, with the number of characters shown of each long
            text; 0 or less if one line replaces an output, and the number encodes the reason. A key "ID#CALL" stands
            for the arguments of one call of a message.
        freed_tokens: estimated.
        created: seconds since the epoch.
    """

    handle: str
    dropped: tuple[str, ...] = ()
    shrunk: dict[str, int] = {}
    freed_tokens: int = 0
    created: float = 0.0

    @property
    def shortened_count(self) -> int:
        """Number of shortened messages; the arguments of a call count together with its message or result."""
        return sum("#" not in id for id in self.shrunk) or len(self.shrunk)


class ImportSource(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The source of a session that another program wrote. Such a session is only read; resuming it makes a copy.

    Attributes:
        agent: the program, such as "claude".
        key: the program's own id of the conversation.
        source: the file it was read from.
        within: id of the session it belongs to, such as the parent of a sub-agent's session.
        digest: of everything read from the source; if it is unchanged, the session need not be written again.
        opening: digest of the first message and its time, equal in a copy of the conversation under another key.
        at: time of the import, in seconds since the epoch.
    """

    agent: str
    key: str
    source: str = ""
    within: str = ""
    digest: str = ""
    opening: str = ""
    at: float = 0.0


class SessionInfo(Struct, frozen=True, kw_only=True):
    """One entry of the list of sessions.

    Attributes:
        first_words: the first 80 characters of the first user message.
        delegated: the sub-agent that works in it for the session `parent`; None for a conversation with the user.
        came_with_project: whether the session was not written by this user's clio; only set by `SessionStore.list`.
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
        """Whether it is a conversation of the user with clio: neither imported nor a sub-agent's session."""
        return self.imported is None and self.delegated is None


class SessionState(Struct, kw_only=True):
    """The content of a session file. Only the session that owns it changes it.

    Attributes:
        plan_mode: None while plan mode is off.
        limits: what the user stated for this session only, oldest first.
        parent: the session it was forked from, or the one that delegated work to it; then `delegated` names the
            sub-agent.
        efforts: reasoning effort by model name, as chosen in this session.
        server_alias: the alias on whose server `model` runs; "" for the server clio was started with, None if that
            was not recorded.
        window_ids: ids of the messages that the next request is built from.
        trims: the trims of `window_ids`, oldest first.
        threads: other threads of the archive, as message ids by thread name. The thread with the session's own id is
            not stored here, since it is all messages.
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
    limits: tuple[SessionLimit, ...] = ()
    bills: list[Bill] = field(default_factory=list[Bill])
    messages: list[Message] = field(default_factory=list[Message])
    window_ids: list[str] = field(default_factory=list[str])
    trims: list[Trim] = field(default_factory=list[Trim])
    threads: dict[str, list[str]] = field(default_factory=dict[str, list[str]])


def find_first_words(messages: list[Message]) -> str:
    """Return the beginning of the first user message, on one line; "" if there is none."""
    for message in messages:
        if isinstance(message, UserMessage) and message.origin == "user":
            return to_one_line(unmark_pasted_text(message.content[: 10 * FIRST_WORDS_CHARS]), FIRST_WORDS_CHARS)
    return ""


def to_one_line(text: str, chars: int) -> str:
    """Return the first `chars` characters of a text, with each run of white space replaced by one space."""
    # Only a part is split, since a pasted text may have megabytes; white space rarely fills 7/8 of a text.
    return " ".join(text[: 8 * chars].split())[:chars]
