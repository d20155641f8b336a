"""The formats of typed memories: the snapshot, the lines of the journal, of the archive, and of the change log."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from clio.errors import UserError
from clio.memory.store.change_log import Change, End, Logged, new_change
from clio.memory.store.record import MemoryRecord, is_other_version
from clio.storage.documents import DocumentFormat
from clio.text.json_data import decode_json
from clio.text.translation import tr

Because = Literal[
    "archived",
    "forgotten",
    "faded",
    "old",
    "uncertain",
    "joined",
    "outweighed",
    "dropped",
    "edited",
    "merged",
    "reinforced",
    "promoted",
    "undone",
]
"""Why a version of a memory ended.

The memory itself ended: `archived` by an early clio that recorded no reason, `forgotten` by the user, `faded` in
compaction, `old` or `uncertain` when pruned, `joined` with one of the same meaning, `outweighed` as a variant by a more
certain one, `dropped` because four more certain statements contradict it. Only its text changed: `edited` by the user,
`merged` with another text of the same meaning, `reinforced` as a preference, `promoted` from a variant to the main
statement, `undone` as a change.
"""
LEFT: frozenset[str] = frozenset(
    ("archived", "forgotten", "faded", "old", "uncertain", "joined", "outweighed", "dropped")
)


class FormerVersion(Struct, frozen=True, kw_only=True):
    """A former version of a memory. ended: when it ended, in seconds since the epoch; 0.0 if unknown."""

    record: MemoryRecord
    ended: float = 0.0
    because: Because = "archived"

    @property
    def left(self) -> bool:
        """Whether the memory itself ended, not only this version of it."""
        return self.because in LEFT


class _End(Struct, frozen=True, kw_only=True):
    ended: float = 0.0
    because: Because = "archived"


def make_former(before: MemoryRecord, after: MemoryRecord, now: float, because: Because) -> tuple[FormerVersion, ...]:
    """Return the version that this change ends; () if the memory says the same as before."""
    return (FormerVersion(record=before, ended=now, because=because),) if is_other_version(before, after) else ()


def encode_former(former: FormerVersion) -> bytes:
    """Return a line of an archive, without its line end: the record's fields, and how it ended."""
    fields: dict[str, Any] = msgspec.to_builtins(former.record)
    return msgspec.json.encode(fields | {"ended": former.ended, "because": former.because})


def decode_former(line: bytes) -> FormerVersion:
    """Return the former version in a line of an archive. Raises msgspec.DecodeError."""
    end = decode_json(line, type=_End)
    return FormerVersion(record=decode_json(line, type=MemoryRecord), ended=end.ended, because=end.because)


def logged_changes(
    what: str,
    *,
    at: float,
    scope: str,
    before: Sequence[MemoryRecord] = (),
    after: Sequence[MemoryRecord] = (),
    formers: Iterable[FormerVersion] = (),
) -> list[Change]:
    """Return the log lines for a change of typed memories: one that can be undone, one for each other ended version.

    before, after: the records that the change replaces; if both are empty, there is no line to undo.
    """
    known = {record.id: record for record in before}
    mine = {one.record.id: one for one in formers if known.get(one.record.id) == one.record}
    found = [
        new_change(
            "memory",
            "",
            at=one.ended,
            key=scope,
            before=[one.record],
            ended={one.record.id: End(because=one.because)},
        )
        for one in formers
        if mine.get(one.record.id) is not one
    ]
    if before or after:
        ended = {id: End(because=one.because, at=one.ended) for id, one in mine.items()}
        found.append(
            new_change(
                "memory", what, at=at, key=scope, before=list(before) or None, after=list(after) or None, ended=ended
            )
        )
    return found


def decode_records(raw: msgspec.Raw) -> tuple[MemoryRecord, ...]:
    """Return the records in `before` or `after` of a change. Raises UserError if they cannot be decoded."""
    try:
        return decode_json(raw, type=tuple[MemoryRecord, ...]) if bytes(raw) else ()
    except msgspec.DecodeError as error:
        raise UserError(
            tr("This change cannot be undone ({error}); correct the memory by hand.", error=error)
        ) from error


def read_formers(logged: Iterable[Logged], scope: str) -> list[FormerVersion]:
    """Return the former versions in a log, in the order they ended; undoing a change ends the versions it had made."""
    found: list[FormerVersion] = []
    for one in logged:
        change = one.change
        if change.store != "memory" or change.key not in ("", scope):
            continue
        side = change.before if one.undone_at is None else change.after
        if one.undone_at is None and not change.ended:
            continue
        try:
            records = decode_records(side)
        except UserError:
            continue
        for record in records:
            if one.undone_at is not None:
                found.append(FormerVersion(record=record, ended=one.undone_at, because="undone"))
            elif end := change.ended.get(record.id):
                found.append(FormerVersion(record=record, ended=end.at or change.at, because=_because(end)))
    return found


def _because(end: End) -> Because:
    try:
        return msgspec.convert(end.because, Because)
    except msgspec.ValidationError:  # of a later clio
        return "archived"


VERSION = 1


class Snapshot(Struct, frozen=True, kw_only=True):
    """All memories at one moment. generation: of the journal with the changes after it."""

    generation: int = 0
    records: tuple[MemoryRecord, ...] = ()


class JournalLine(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One change: new or changed records, ids of removed ones, ids of records used at the time `at`."""

    put: tuple[MemoryRecord, ...] = ()
    drop: tuple[str, ...] = ()
    used: tuple[str, ...] = ()
    at: float = 0.0


class JournalHead(Struct, frozen=True, kw_only=True):
    """The journal's first line."""

    journal_of: str
    version: int
    generation: int


FORMAT = DocumentFormat(schema="clio.memories", version=VERSION, type=Snapshot)
