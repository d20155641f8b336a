"""The journal of a session: one JSON line per message and per change, and how they are played back.

Pure: it turns records into bytes and bytes into records; the session writes them.
"""

from typing import assert_never

import msgspec
from msgspec import Struct

from clio.messages import Message
from clio.sessions.state import Bill, Planned, SessionState, Todo, Trim, derived_id, valid_struct
from clio.text.json_data import JsonDecoder

SCHEMA = "clio.session.journal"
VERSION = 1


class Opened(Struct, frozen=True, kw_only=True, tag_field="type", tag="session"):
    """The first line: whose journal this is. `journal` is its own id, which the snapshot swallowing it notes down."""

    schema: str = SCHEMA
    version: int = VERSION
    journal: str
    id: str
    created_at: float
    working_directory: str
    session_name: str | None = None
    parent: str | None = None
    selected_model: str | None = None
    server_alias: str | None = None
    delegated: str | None = None


class Said(Struct, frozen=True, kw_only=True, tag_field="type", tag="message"):
    """One message; the session has `n` with it. Readers that only count look at `n` in the raw bytes."""

    n: int
    message: Message


class TodosSet(Struct, frozen=True, kw_only=True, tag_field="type", tag="todos"):
    """The list of work, whole."""

    todos: tuple[Todo, ...]


class PlanSet(Struct, frozen=True, kw_only=True, tag_field="type", tag="plan"):
    """Plan mode is on, or off, and how its plan stands."""

    plan: Planned | None


class Renamed(Struct, frozen=True, kw_only=True, tag_field="type", tag="name"):
    """The session's name; None takes it away."""

    session_name: str | None


class Billed(Struct, frozen=True, kw_only=True, tag_field="type", tag="bill"):
    """One request was paid for."""

    bill: Bill


class RatioLearned(Struct, frozen=True, kw_only=True, tag_field="type", tag="ratio"):
    """Characters per token, as the server's bills taught."""

    token_ratio: float | None


class ModelChosen(Struct, frozen=True, kw_only=True, tag_field="type", tag="model"):
    """The model from here on. server_alias: see `SessionState`."""

    selected_model: str | None
    server_alias: str | None = None


class EffortChosen(Struct, frozen=True, kw_only=True, tag_field="type", tag="effort"):
    """The effort one model is asked with from here on."""

    model: str
    effort: str


class WindowSet(Struct, frozen=True, kw_only=True, tag_field="type", tag="stm"):
    """The sliding window after a trim; later messages join it by themselves."""

    stm: tuple[str, ...]


class Trimmed(Struct, frozen=True, kw_only=True, tag_field="type", tag="trim"):
    """Messages left the window, or are shown shorter in it."""

    trim: Trim


class TrimUndone(Struct, frozen=True, kw_only=True, tag_field="type", tag="untrim"):
    """The last trim was reversed: its messages are in the window again."""


class Restated(Struct, frozen=True, kw_only=True, tag_field="type", tag="bills"):
    """All bills so far, in place of those read before: written when a lost journal is written anew."""

    bills: tuple[Bill, ...]


Record = (
    Opened
    | Said
    | TodosSet
    | PlanSet
    | Renamed
    | Billed
    | RatioLearned
    | ModelChosen
    | EffortChosen
    | WindowSet
    | Trimmed
    | TrimUndone
    | Restated
)
_decoder: JsonDecoder[Record] = JsonDecoder(Record)
_encoder = msgspec.json.Encoder()


class Replayed(Struct, frozen=True, kw_only=True):
    """What a journal added to a state. `damaged` counts the lines that could not be understood and were passed over."""

    journal: str | None
    damaged: int


def encode(record: Record) -> tuple[Record, bytes]:
    """The record and its line, without line end. Where its text is no valid Unicode, it comes back mended."""
    try:
        return record, _encoder.encode(record)
    except UnicodeEncodeError:
        record = valid_struct(record)
        return record, _encoder.encode(record)


def header(lines: tuple[bytes, ...]) -> Opened | None:
    """The journal's first line; None where it is missing or damaged."""
    first = _decode(lines[0]) if lines else None
    return first if isinstance(first, Opened) else None


def replay(lines: tuple[bytes, ...], state: SessionState) -> Replayed:
    """Carry the journal's records into `state`. Messages it has already are not added again."""
    journal: str | None = None
    damaged = 0
    known = {message.id for message in state.messages}
    for line in lines:
        record = _decode(line)
        if record is None:
            damaged += 1
        elif isinstance(record, Opened):
            journal = record.journal
            apply(record, state)
        elif not isinstance(record, Said):
            apply(record, state)
        elif record.message.id not in known:
            known.add(record.message.id)
            apply(record, state)
    return Replayed(journal=journal, damaged=damaged)


def apply(record: Record, state: SessionState) -> None:
    """Carry one record into `state`: the same for a change just made and for one read back."""
    match record:
        case Said():
            state.messages.append(record.message)
            state.stm.append(record.message.id)
        case Opened():
            _adopt(record, state)
        case TodosSet():
            state.todos = record.todos
        case PlanSet():
            state.planned = record.plan
        case Renamed():
            state.name = record.session_name
        case Billed():
            state.bills.append(record.bill)
        case RatioLearned():
            state.token_ratio = record.token_ratio
        case ModelChosen():
            state.model, state.server_alias = record.selected_model, record.server_alias
        case EffortChosen():
            state.efforts[record.model] = record.effort
        case WindowSet():
            state.stm = list(record.stm)
        case Trimmed():
            dropped = set(record.trim.dropped)
            state.stm = [id for id in state.stm if id not in dropped]
            state.trims.append(record.trim)
        case TrimUndone():
            _undo_trim(state)
        case Restated():
            state.bills = list(record.bills)
        case _:
            assert_never(record)


def restated(state: SessionState, journal: str) -> list[Record]:
    """The records of a journal that holds the whole session, for a folder somebody emptied."""
    records: list[Record] = [opened(state, journal)]
    records += [Said(n=number, message=message) for number, message in enumerate(state.messages, 1)]
    records += [Trimmed(trim=trim) for trim in state.trims]
    records += [TodosSet(todos=state.todos), Restated(bills=tuple(state.bills)), WindowSet(stm=tuple(state.stm))]
    records += [PlanSet(plan=state.planned)] if state.planned else []
    records += [RatioLearned(token_ratio=state.token_ratio)]
    records += [ModelChosen(selected_model=state.model, server_alias=state.server_alias)]
    records += [EffortChosen(model=model, effort=effort) for model, effort in state.efforts.items()]
    return records


def opened(state: SessionState, journal: str) -> Opened:
    """The first line of a session's journal with the id `journal`."""
    return Opened(
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


def _decode(line: bytes) -> Record | None:
    try:
        record = _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if isinstance(record, Said) and record.message.id.encode() not in line:
        # A damaged or hand-written line without an id: the Struct made one up, and would make another next time.
        message = msgspec.structs.replace(record.message, id=derived_id(line))
        return Said(n=record.n, message=message)
    return record


def _undo_trim(state: SessionState) -> None:
    if state.trims:
        window = {*state.stm, *state.trims.pop().dropped}
        state.stm = [message.id for message in state.messages if message.id in window]


def _adopt(record: Opened, state: SessionState) -> None:
    state.created_at = record.created_at
    state.working_directory = record.working_directory
    state.name = record.session_name
    state.parent = record.parent
    state.model, state.server_alias = record.selected_model, record.server_alias
    state.delegated = record.delegated
