"""What each memory said in the course of time: its versions, each with the time it held. Pure."""

from collections.abc import Iterable

from msgspec import Struct, structs

from clio.memory.typed.former import Former
from clio.memory.typed.record import MemoryRecord, says_else


class Version(Struct, frozen=True, kw_only=True):
    """A memory as it was from `since` up to, but not including, `until`; None: it still holds.

    because: why it ended: a reason of the archive's, or "superseded"; empty while it holds.
    left: the memory itself went, and not only this version of it.
    """

    record: MemoryRecord
    since: float
    until: float | None = None
    because: str = ""
    left: bool = False

    def held_at(self, at: float) -> bool:
        """Whether it was so at that time, in seconds since the epoch."""
        return self.since <= at and (self.until is None or at < self.until)


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
    found: dict[str, Version] = {}
    for version in versions:
        before = found.get(version.record.id)
        if version.because != "undone" and version.held_at(at) and (before is None or version.since >= before.since):
            found[version.record.id] = version
    records = [structs.replace(version.record, superseded_by=None) for version in found.values()]
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
