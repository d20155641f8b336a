"""The formats of typed memories: the snapshot, the lines of the journal, of the archive, and of the change log."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from clio.memory.store.change_log import Change, End, Logged, get_reason, new_change, read_endings
from clio.memory.store.record import Because, MemoryRecord, has_left, is_other_version
from clio.storage.documents import DocumentFormat
from clio.text.json_data import decode_json


class FormerVersion(Struct, frozen=True, kw_only=True):
    """A former version of a memory. ended: when it ended, in seconds since the epoch; 0.0 if unknown."""

    record: MemoryRecord
    ended: float = 0.0
    because: Because = "archived"

    @property
    def left(self) -> bool:
        """Whether the memory itself ended, not only this version of it."""
        return has_left(self.because)


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


def read_formers(logged: Iterable[Logged], scope: str) -> list[FormerVersion]:
    """Return the former versions in a log, in the order they ended; undoing a change ends the versions it had made."""
    return [
        FormerVersion(record=record, ended=end.at, because=get_reason(end))
        for change, record, end in read_endings(logged, "memory", MemoryRecord)
        if change.key in ("", scope)
    ]


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
