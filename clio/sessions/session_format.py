"""The file formats of a session: a journal of changes, and a snapshot that begins with the fields the list shows.

Field names of the Perl CLIO are kept: `stm` (short-term memory) contains the ids of the messages in the context
window, and `yarn` the ids of each thread, including the session's own.
"""

import math
from typing import Any, assert_never

import msgspec
from msgspec import Raw, Struct

from clio.messages import Message
from clio.sessions.state import (
    Bill,
    ImportSource,
    PlanMode,
    SessionLimit,
    SessionState,
    Span,
    Todo,
    Trim,
    compress_ids,
    derive_id,
    expand_spans,
    find_first_words,
    replace_surrogates_in_struct,
)
from clio.text.json_data import JsonDecoder, check_depth, decode_json

SNAPSHOT_SCHEMA = "clio.session"
SNAPSHOT_VERSION = 2
OLDEST_READABLE_VERSION = 1
"""Files from this version on are decoded without migration. Version 1 wrote every id in `stm` and `yarn`."""
MIGRATIONS: dict[int, Any] = {}
HEAD_END = b',\n"todos":'
MESSAGE_SEPARATOR = b",\n"
_MAX_INTEGER_DIGITS = 19
"""Integers with this many digits or more may not fit into 64 bits."""
SNAPSHOT_END = b"\n]\n}\n"


class Billing(Struct, kw_only=True):
    """Token usage: each request and the totals. The field names are those of the Perl CLIO."""

    requests: list[Bill] = []
    total_requests: int = 0
    total_prompt_tokens: int = 0
    total_completion_tokens: int = 0
    total_tokens: int = 0


class SnapshotHead(Struct, kw_only=True):
    """The small fields at the beginning of the file. merged_journal: id of the journal merged into this snapshot."""

    schema: str
    version: int
    id: str
    session_name: str | None = None
    created_at: float = 0.0
    updated_at: float = 0.0
    message_count: int = 0
    first_words: str = ""
    working_directory: str = ""
    parent: str | None = None
    selected_model: str | None = None
    server_alias: str | None = None
    token_ratio: float | None = None
    merged_journal: str = ""
    imported: ImportSource | None = None
    delegated: str | None = None


class SessionSnapshot(SnapshotHead, kw_only=True):
    """The complete snapshot file."""

    todos: tuple[Todo, ...] = ()
    plan: PlanMode | None = None
    limits: tuple[SessionLimit, ...] = ()
    efforts: dict[str, str] = {}
    billing: Billing = msgspec.field(default_factory=Billing)
    stm: list[Span] = []
    trims: list[Trim] = []
    yarn: dict[str, list[Span]] = {}
    history: list[Message] = []


class PreservedContent(Struct, frozen=True, kw_only=True):
    """Content that a rewrite copies from the file it replaces: unknown fields, and messages byte for byte."""

    unknown: dict[str, Raw] = {}
    messages: tuple[Raw, ...] = ()


_head_decoder: JsonDecoder[SnapshotHead] = JsonDecoder(SnapshotHead)
_snapshot_decoder: JsonDecoder[SessionSnapshot] = JsonDecoder(SessionSnapshot)


def decode_snapshot(data: bytes) -> tuple[SessionState, str]:
    """Decode a snapshot of the current version; return the session and its `merged_journal`.

    Raises msgspec.DecodeError, UnicodeDecodeError; msgspec.ValidationError if the ids in `yarn` are not those of the
    messages: then the file was edited, and a message without an id would get a different one at every load.
    """
    snapshot = _snapshot_decoder.decode(data)
    ids = [message.id for message in snapshot.history]
    if (
        len(ids) != snapshot.message_count
        or expand_spans(snapshot.yarn.get(snapshot.id, []), ids) != ids
        or not _contains_ids(ids, data)
    ):
        raise msgspec.ValidationError("`yarn` and `history` name different messages")
    state = SessionState(
        id=snapshot.id,
        name=snapshot.session_name,
        created_at=snapshot.created_at,
        updated_at=snapshot.updated_at,
        working_directory=snapshot.working_directory,
        parent=snapshot.parent,
        model=snapshot.selected_model,
        server_alias=snapshot.server_alias,
        efforts=snapshot.efforts,
        imported=snapshot.imported,
        delegated=snapshot.delegated,
        token_ratio=snapshot.token_ratio,
        todos=snapshot.todos,
        plan_mode=snapshot.plan,
        limits=snapshot.limits,
        bills=snapshot.billing.requests,
        messages=snapshot.history,
        window_ids=expand_spans(snapshot.stm, ids),
        trims=snapshot.trims,
        threads={name: expand_spans(thread, ids) for name, thread in snapshot.yarn.items() if name != snapshot.id},
    )
    return state, snapshot.merged_journal


def decode_snapshot_head(data: bytes) -> SnapshotHead | None:
    """Decode the small fields from the beginning of a file; None if its layout is not clio's."""
    # `todos` is the first field whose size has no limit; the fields before it fit into the part that is read.
    end = data.find(HEAD_END)
    if end < 0:
        return None
    try:
        return _head_decoder.decode(data[:end] + b"}")
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def encode_snapshot(state: SessionState, merged_journal: str, preserved_content: PreservedContent) -> bytes:
    """Encode a snapshot. The messages in `preserved_content` are copied byte for byte, later ones are encoded."""
    preserved = list(map(bytes, preserved_content.messages))
    messages = preserved + [msgspec.json.encode(message) for message in state.messages[len(preserved) :]]
    ids = [message.id for message in state.messages]
    # Messages already in the file are copied, since a newer clio may have stored fields that this one does not know.
    start = encode_snapshot_start(
        state, ids, find_first_words(state.messages), merged_journal, preserved_content.unknown
    )
    return start + MESSAGE_SEPARATOR.join(messages) + SNAPSHOT_END


def encode_snapshot_start(
    state: SessionState,
    ids: list[str],
    first_words: str,
    merged_journal: str = "",
    unknown: dict[str, Raw] | None = None,
) -> bytes:
    """Encode a snapshot up to its first message.

    The encoded messages follow, separated by MESSAGE_SEPARATOR, then SNAPSHOT_END. `state.messages` is not used, so
    that a session can be written without holding all its messages in memory.

    Args:
        ids: the ids of all messages.
        first_words: the beginning of the first user message.
    """
    head = SnapshotHead(
        schema=SNAPSHOT_SCHEMA,
        version=SNAPSHOT_VERSION,
        id=state.id,
        session_name=state.name,
        created_at=state.created_at,
        updated_at=state.updated_at,
        message_count=len(ids),
        first_words=first_words,
        working_directory=state.working_directory,
        parent=state.parent,
        selected_model=state.model,
        server_alias=state.server_alias,
        token_ratio=state.token_ratio,
        merged_journal=merged_journal,
        imported=state.imported,
        delegated=state.delegated,
    )
    fields: dict[str, Any] = {name: getattr(head, name) for name in SnapshotHead.__struct_fields__}
    for name in ("imported", "delegated"):  # most sessions have neither, and older versions do not know them
        if fields[name] is None:
            del fields[name]
    fields |= {"todos": state.todos, "billing": _make_billing(state.bills), "stm": compress_ids(state.window_ids, ids)}
    fields |= {"plan": state.plan_mode} if state.plan_mode else {}
    fields |= {"limits": state.limits} if state.limits else {}
    fields |= {"efforts": state.efforts} if state.efforts else {}
    fields |= {"trims": state.trims} if state.trims else {}
    fields["yarn"] = {name: compress_ids(thread, ids) for name, thread in ({state.id: ids} | state.threads).items()}
    fields |= unknown or {}
    encode = msgspec.json.encode
    # One field per line and one message per line: `rescue_snapshot` reads a damaged file line by line.
    lines = [encode(name) + b":" + encode(value) for name, value in fields.items()]
    return b"{\n" + b",\n".join(lines) + b',\n"history":[\n'


def find_preserved_content(data: bytes, messages: int) -> PreservedContent:
    """Return the content to copy from the snapshot `data`, which contains the session's first `messages` messages."""
    try:
        fields = decode_json(data, type=dict[str, Raw])
        raw_messages = decode_json(fields.get("history", b"[]"), type=list[Raw])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return PreservedContent()
    # A newer clio, or the original program, may have stored fields that this one does not know.
    known = SessionSnapshot.__struct_fields__
    unknown = {name: value for name, value in fields.items() if name not in known}
    return PreservedContent(unknown=unknown, messages=tuple(raw_messages) if len(raw_messages) == messages else ())


def rescue_snapshot(data: bytes) -> dict[str, Any]:
    """Return the fields and messages that can be decoded, line by line, from a file that is not valid JSON."""
    fields: dict[str, Any] = {}
    history: list[Any] = []
    for line in data.splitlines():
        # The snapshot has one field or message per line, so that a damaged one costs only itself.
        line = line.rstrip(b", \r")
        value = _decode_or_none(line)
        if isinstance(value, dict) and "role" in value:
            history.append(value)
        elif line.startswith(b'"') and isinstance(field := _decode_or_none(b"{" + line + b"}"), dict):
            fields |= field
    return fields | {"history": history} if history else {}


def replace_bad_numbers(data: bytes) -> bytes | None:
    """Replace numbers that no field of a session can contain by null; None if the data is not a JSON object even then.

    These are NaN, Infinity, and numbers outside the range of 64-bit integers or floats.
    """
    import json  # only damaged files need it

    def read_integer(text: str) -> int | None:
        return int(text) if len(text) < _MAX_INTEGER_DIGITS else None

    def read_float(text: str) -> float | None:
        number = float(text)
        return number if math.isfinite(number) else None

    def drop_constant(_: str) -> None:
        return None

    try:
        check_depth(data)
        value: object = json.loads(data, parse_constant=drop_constant, parse_int=read_integer, parse_float=read_float)
        return msgspec.json.encode(value) if isinstance(value, dict) else None
    # ValueError includes JSONDecodeError and UnicodeDecodeError.
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None


def _contains_ids(ids: list[str], data: bytes) -> bool:
    """Whether the file contains these ids in this order. An id generated while decoding is not in the file."""
    offset = data.find(b'"history"')
    for id in ids:
        offset = data.find(msgspec.json.encode(id), offset)
        if offset < 0:
            return False
    return True


def _decode_or_none(data: bytes) -> Any:
    try:
        return decode_json(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _make_billing(bills: list[Bill]) -> Billing:
    prompt = sum(bill.prompt_tokens for bill in bills)
    completion = sum(bill.completion_tokens for bill in bills)
    return Billing(
        requests=bills,
        total_requests=len(bills),
        total_prompt_tokens=prompt,
        total_completion_tokens=completion,
        total_tokens=prompt + completion,
    )


JOURNAL_SCHEMA = "clio.session.journal"
JOURNAL_VERSION = 1


class JournalHeader(Struct, frozen=True, kw_only=True, tag_field="type", tag="session"):
    """The first line of a journal. journal: the journal's own id, stored as `merged_journal` in the snapshot."""

    schema: str = JOURNAL_SCHEMA
    version: int = JOURNAL_VERSION
    journal: str
    id: str
    created_at: float
    working_directory: str
    session_name: str | None = None
    parent: str | None = None
    selected_model: str | None = None
    server_alias: str | None = None
    delegated: str | None = None


class MessageAdded(Struct, frozen=True, kw_only=True, tag_field="type", tag="message"):
    """One message. n: number of messages including this one; the list of sessions reads it from the raw bytes."""

    n: int
    message: Message


class TodosSet(Struct, frozen=True, kw_only=True, tag_field="type", tag="todos"):
    """The complete todo list."""

    todos: tuple[Todo, ...]


class PlanSet(Struct, frozen=True, kw_only=True, tag_field="type", tag="plan"):
    """The state of plan mode; None if it is off."""

    plan: PlanMode | None


class LimitsSet(Struct, frozen=True, kw_only=True, tag_field="type", tag="limits"):
    """All limits that the user stated for this session."""

    limits: tuple[SessionLimit, ...]


class Renamed(Struct, frozen=True, kw_only=True, tag_field="type", tag="name"):
    """The session's new name; None removes the name."""

    session_name: str | None


class BillAdded(Struct, frozen=True, kw_only=True, tag_field="type", tag="bill"):
    """The token usage and cost of one request."""

    bill: Bill


class RatioLearned(Struct, frozen=True, kw_only=True, tag_field="type", tag="ratio"):
    """Average of characters per token, learned from the servers' token counts."""

    token_ratio: float | None


class ModelChosen(Struct, frozen=True, kw_only=True, tag_field="type", tag="model"):
    """The model of later requests. server_alias: see `SessionState`."""

    selected_model: str | None
    server_alias: str | None = None


class EffortChosen(Struct, frozen=True, kw_only=True, tag_field="type", tag="effort"):
    """The reasoning effort of a model in later requests."""

    model: str
    effort: str


class WindowSet(Struct, frozen=True, kw_only=True, tag_field="type", tag="stm"):
    """The ids in the context window; later messages are added to it automatically."""

    stm: tuple[str, ...]


class Trimmed(Struct, frozen=True, kw_only=True, tag_field="type", tag="trim"):
    """Messages left the context window or were shortened in it."""

    trim: Trim


class TrimUndone(Struct, frozen=True, kw_only=True, tag_field="type", tag="untrim"):
    """The last trim was undone: its messages are in the context window again."""


class BillsReplaced(Struct, frozen=True, kw_only=True, tag_field="type", tag="bills"):
    """All bills so far, replacing those read before; written when a deleted journal is rebuilt."""

    bills: tuple[Bill, ...]


JournalRecord = (
    JournalHeader
    | MessageAdded
    | TodosSet
    | PlanSet
    | LimitsSet
    | Renamed
    | BillAdded
    | RatioLearned
    | ModelChosen
    | EffortChosen
    | WindowSet
    | Trimmed
    | TrimUndone
    | BillsReplaced
)
_record_decoder: JsonDecoder[JournalRecord] = JsonDecoder(JournalRecord)
_encoder = msgspec.json.Encoder()


class ReplayResult(Struct, frozen=True, kw_only=True):
    """The result of replaying a journal: its id, and the number of lines that could not be decoded and were skipped."""

    journal: str | None
    damaged: int


def encode_record(record: JournalRecord) -> tuple[JournalRecord, bytes]:
    """Return the record and its encoded line, without line end; lone surrogates in its text are replaced in both."""
    try:
        return record, _encoder.encode(record)
    # Models and programs produce halves of surrogate pairs, which UTF-8 cannot express.
    except UnicodeEncodeError:
        record = replace_surrogates_in_struct(record)
        return record, _encoder.encode(record)


def read_journal_header(lines: tuple[bytes, ...]) -> JournalHeader | None:
    """Decode the journal's header; None if it is missing or damaged."""
    header = _decode_record(lines[0]) if lines else None
    return header if isinstance(header, JournalHeader) else None


def replay_journal(lines: tuple[bytes, ...], state: SessionState) -> ReplayResult:
    """Apply the journal's records to `state`. Messages that it already contains are skipped."""
    journal: str | None = None
    damaged = 0
    known = {message.id for message in state.messages}
    for line in lines:
        record = _decode_record(line)
        if record is None:
            damaged += 1
        elif isinstance(record, JournalHeader):
            journal = record.journal
            apply_record(record, state)
        elif not isinstance(record, MessageAdded):
            apply_record(record, state)
        # Messages are in both files if a kill left a merged journal and its header, which tells so, is damaged.
        elif record.message.id not in known:
            known.add(record.message.id)
            apply_record(record, state)
    return ReplayResult(journal=journal, damaged=damaged)


def apply_record(record: JournalRecord, state: SessionState) -> None:
    """Apply one record to `state`; used for new changes and for replaying a journal."""
    match record:
        case MessageAdded():
            state.messages.append(record.message)
            state.window_ids.append(record.message.id)
        case JournalHeader():
            _apply_header(record, state)
        case TodosSet():
            state.todos = record.todos
        case PlanSet():
            state.plan_mode = record.plan
        case LimitsSet():
            state.limits = record.limits
        case Renamed():
            state.name = record.session_name
        case BillAdded():
            state.bills.append(record.bill)
        case RatioLearned():
            state.token_ratio = record.token_ratio
        case ModelChosen():
            state.model, state.server_alias = record.selected_model, record.server_alias
        case EffortChosen():
            state.efforts[record.model] = record.effort
        case WindowSet():
            state.window_ids = list(record.stm)
        case Trimmed():
            dropped = set(record.trim.dropped)
            state.window_ids = [id for id in state.window_ids if id not in dropped]
            state.trims.append(record.trim)
        case TrimUndone():
            _apply_trim_undo(state)
        case BillsReplaced():
            state.bills = list(record.bills)
        case _:
            assert_never(record)


def rebuild_journal(state: SessionState, journal: str) -> list[JournalRecord]:
    """Return the records of a journal with the complete session, to replace files that were deleted."""
    records: list[JournalRecord] = [make_journal_header(state, journal)]
    records += [MessageAdded(n=number, message=message) for number, message in enumerate(state.messages, 1)]
    # Before the window: each of these records removes its messages from it, and the window below is the final one.
    records += [Trimmed(trim=trim) for trim in state.trims]
    records += [
        TodosSet(todos=state.todos),
        BillsReplaced(bills=tuple(state.bills)),
        WindowSet(stm=tuple(state.window_ids)),
    ]
    records += [PlanSet(plan=state.plan_mode)] if state.plan_mode else []
    records += [LimitsSet(limits=state.limits)] if state.limits else []
    records += [RatioLearned(token_ratio=state.token_ratio)]
    records += [ModelChosen(selected_model=state.model, server_alias=state.server_alias)]
    records += [EffortChosen(model=model, effort=effort) for model, effort in state.efforts.items()]
    return records


def make_journal_header(state: SessionState, journal: str) -> JournalHeader:
    """Return the first record of a session's journal with the id `journal`."""
    return JournalHeader(
        journal=journal,
        id=state.id,
        created_at=state.created_at,
        working_directory=state.working_directory,
        session_name=state.name,
        parent=state.parent,
        selected_model=state.model,
        server_alias=state.server_alias,
        delegated=state.delegated,
    )


def _decode_record(line: bytes) -> JournalRecord | None:
    try:
        record = _record_decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if isinstance(record, MessageAdded) and record.message.id.encode() not in line:
        # A damaged or hand-written line without an id: the Struct generated a random one, different at every load.
        message = msgspec.structs.replace(record.message, id=derive_id(line))
        return MessageAdded(n=record.n, message=message)
    return record


def _apply_trim_undo(state: SessionState) -> None:
    if state.trims:
        window = {*state.window_ids, *state.trims.pop().dropped}
        state.window_ids = [message.id for message in state.messages if message.id in window]


def _apply_header(record: JournalHeader, state: SessionState) -> None:
    state.created_at = record.created_at
    state.working_directory = record.working_directory
    state.name = record.session_name
    state.parent = record.parent
    state.model, state.server_alias = record.selected_model, record.server_alias
    state.delegated = record.delegated
