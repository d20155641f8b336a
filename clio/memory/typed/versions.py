"""What each memory said in the course of time: its versions, each with the time it held. Pure."""

from collections.abc import Iterable

from msgspec import structs

from clio.memory.held import Held, in_force
from clio.memory.typed.former import Former
from clio.memory.typed.record import MemoryRecord, says_else


class Version(Held, frozen=True, kw_only=True):
    """A memory as it was for a time. It ended for a reason of the archive's, or because it was "superseded"."""

    record: MemoryRecord


def versions_of(records: Iterable[MemoryRecord], formers: Iterable[Former]) -> list[Version]:
    """Every version of these memories, the oldest first.

    records: as they are, one of each id. formers: in the order they ended. A former version that is the present one was
    taken back, or belongs to a change whose process died before it was made.
    """
    known: dict[str, list[Version]] = {}
    for record in records:
        known.setdefault(record.id, []).append(_present(record))
    for former in reversed(list(formers)):
        later = known.setdefault(former.record.id, [])
        if not any(_is_same(former.record, version.record) for version in later):
            later.append(_past(former))
    found = [version for versions in known.values() for version in reversed(versions)]
    return sorted(found, key=lambda version: version.since)


def live_at(versions: Iterable[Version], at: float) -> list[MemoryRecord]:
    """The memories that held at a time, in the words they had then, by when they were made.

    A change that was undone counts as never made.
    """
    found = in_force(versions, at, lambda version: version.record.id)
    records = [structs.replace(version.record, superseded_by=None) for version in found]
    return sorted(records, key=lambda record: (record.created, record.id))


def _present(record: MemoryRecord) -> Version:
    if record.is_live:
        return Version(record=record, since=record.begun)
    return Version(record=record, since=record.begun, until=record.updated, because="superseded")


def _past(former: Former) -> Version:
    record = former.record
    if not record.is_live:
        return _present(record)
    ended = former.ended or max(record.updated, record.accessed)
    return Version(record=record, since=record.begun, until=ended, because=former.because, left=former.left)


def _is_same(one: MemoryRecord, other: MemoryRecord) -> bool:
    return one.begun == other.begun and not says_else(one, other)
