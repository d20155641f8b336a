"""What taking in another clio's typed memories does to those that are here. No I/O.

Nothing here is overwritten that is newer, or said by somebody who is trusted more than an import; nobody's word counts
more for having been imported; the same bundle again changes nothing.
"""

import math
from collections.abc import Callable, Collection, Sequence

from msgspec import Struct, structs

from clio.errors import UserError
from clio.memory.control.texts import Clean, clean_record
from clio.memory.ltm.merge import TRUST
from clio.memory.preferences.stance import thing
from clio.memory.records import Provenance
from clio.memory.typed.merging import nearest
from clio.memory.typed.record import MemoryRecord, checked, same_words, without_use
from clio.memory.typed.shelf import Shelf
from clio.text.listeners import nothing


class Merged(Struct, frozen=True, kw_only=True):
    """What is to be written, and how often what happened.

    put: new records, and others in the place of those with their ids. replaced: those, as they were.
    new: not known here. changed: theirs is newer. known: here already. kept: here it says otherwise, newer or by
    somebody trusted more; it stays. forgotten: was here and was forgotten. unusable: no memory at all.
    """

    put: tuple[MemoryRecord, ...] = ()
    replaced: tuple[MemoryRecord, ...] = ()
    new: int = 0
    changed: int = 0
    known: int = 0
    kept: int = 0
    forgotten: int = 0
    unusable: int = 0


def merge_records(
    ours: Shelf,
    theirs: Sequence[MemoryRecord],
    *,
    by: Provenance,
    now: float,
    clean: Clean,
    forgotten: Collection[str] = (),
    elsewhere: Collection[str] = (),
    each: Callable[[], None] = nothing,
) -> Merged:
    """Take in records. by: who says what names nobody, and whom nobody is trusted more than.

    forgotten: ids of what was here and left. elsewhere: ids of what is here in the other scope. each: called for each.
    """
    merge = _Merge(ours, now)
    for record in sorted(theirs, key=lambda one: (one.created, one.id)):
        each()
        try:
            new = _sound(record, by, now, clean)
        except UserError:
            merge.count("unusable")
            continue
        if new.id in elsewhere:
            merge.count("known")
        elif new.id in ours.records:
            merge.meet(ours.records[new.id], new)
        elif new.id in forgotten:
            merge.count("forgotten")
        else:
            merge.take(new)
    return merge.done()


def lowered(source: Provenance | None, by: Provenance) -> Provenance:
    """Who said it, as far as an import may claim."""
    if source is None:
        return by
    if TRUST[source.asserted_by] <= TRUST[by.asserted_by]:
        return source
    return structs.replace(source, asserted_by=by.asserted_by)


class _Merge:
    """The changes so far, of records by id."""

    def __init__(self, ours: Shelf, now: float) -> None:
        self._ours = ours
        self._now = now
        self._put: dict[str, MemoryRecord] = {}
        self._known_as: dict[str, str] = {}  # their id → ours of what says the same
        self._counts: dict[str, int] = {}
        self._about: dict[str, MemoryRecord] | None = None

    def count(self, what: str) -> None:
        self._counts[what] = self._counts.get(what, 0) + 1

    def meet(self, old: MemoryRecord, new: MemoryRecord) -> None:
        """The same memory, here and there."""
        if _says(old) == _says(new):
            self.count("known")
        elif _trust(new) < _trust(old) or new.updated <= old.updated:
            self.count("kept")
        else:
            access = max(old.accessed, new.accessed), max(old.access_count, new.access_count)
            self._put[new.id] = structs.replace(
                new, accessed=access[0], access_count=access[1], seen=max(old.seen, new.seen)
            )
            self.count("changed")

    def take(self, new: MemoryRecord) -> None:
        """A memory of an id that is free here; what it says may be known, or contradicted."""
        if not new.is_live:
            self._add(new)
            return
        old, is_same = self._like(new)
        if old is None:
            self._add(new)
        elif is_same:
            self._known_as[new.id] = old.id
            self.count("known")
        elif _trust(new) >= _trust(old) and new.updated > old.updated:
            self._put[old.id] = structs.replace(old, superseded_by=new.id, updated=self._now)
            self._add(new)
        else:
            self._put[new.id] = structs.replace(new, superseded_by=old.id)
            self.count("kept")

    def done(self) -> Merged:
        put = tuple(
            structs.replace(record, superseded_by=known) if (known := self._successor(record)) else record
            for record in self._put.values()
        )
        replaced = tuple(old for record in put if (old := self._ours.records.get(record.id)) is not None)
        return Merged(put=put, replaced=replaced, **self._counts)

    def _add(self, new: MemoryRecord) -> None:
        self._put[new.id] = new
        self.count("new")

    def _like(self, new: MemoryRecord) -> tuple[MemoryRecord | None, bool]:
        """What is here of the same, and whether it says the same; else it contradicts."""
        if new.type == "preference":
            old = self._same_thing(new)
            return old, old is not None and same_words(old.content, new.content) and old.score == new.score
        near = nearest(self._ours, new)
        if near is None or near.verdict in ("doubtful", "other") or near.record.id in self._put:
            return None, False
        return near.record, near.verdict == "same"

    def _same_thing(self, new: MemoryRecord) -> MemoryRecord | None:
        """The preference about the same: of "always use tabs" and "tabs" there is only one."""
        if self._about is None:
            self._about = {thing(one.content): one for one in self._ours.live() if one.type == "preference"}
        old = self._about.get(thing(new.content))
        return None if old is None or old.id in self._put else old

    def _successor(self, record: MemoryRecord) -> str:
        return self._known_as.get(record.superseded_by or "", "")


def _sound(record: MemoryRecord, by: Provenance, now: float, clean: Clean) -> MemoryRecord:
    """The record as it may be kept here: in bounds, not from the future, by nobody it must not claim to be by."""
    record = checked(clean_record(record, clean))
    if not record.id.strip() or len(record.id) > 64 or record.id != record.id.strip():
        raise UserError("a memory needs an id")
    times = {
        name: _bounded(getattr(record, name), 0.0, now)
        for name in ("created", "updated", "accessed", "seen", "since")
        if hasattr(record, name)
    }
    return structs.replace(
        record,
        confidence=_bounded(record.confidence, 0.0, 1.0),
        access_count=max(record.access_count, 0),
        touch_count=max(record.touch_count, 0),
        version=max(record.version, 1),
        provenance=lowered(record.provenance, by),
        **times,
    )


def _says(record: MemoryRecord) -> MemoryRecord:
    """The record but for how it was used, and by whom it is said."""
    return structs.replace(without_use(record), seen=0.0, touch_count=0, updated=0.0, provenance=None)


def _trust(record: MemoryRecord) -> int:
    return TRUST[record.provenance.asserted_by if record.provenance else "model"]


def _bounded(value: float, least: float, most: float) -> float:
    return min(max(value, least), most) if math.isfinite(value) else least
