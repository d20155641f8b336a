"""What was learned, changed, superseded, archived and restored, told from the versions of what is remembered. Pure.

The log of changes for undo holds the last two hundred; this goes back to the first memory.
"""

from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct

from clio.memory.ltm.versions import EntryVersion
from clio.memory.records import Kind, Provenance
from clio.memory.typed.record import MemoryType
from clio.memory.typed.versions import Version

Doing = Literal["learned", "changed", "superseded", "restored", "archived", "undone", "variant", "dropped"]
DOINGS: tuple[Doing, ...] = (
    "learned", "changed", "superseded", "restored", "archived", "undone", "variant", "dropped",
)  # fmt: skip


class Changed(Struct, frozen=True, kw_only=True):
    """One change of what is remembered.

    superseded: `text` took the place of `before`. variant: it is kept as what other sources say; dropped: only in the
    archive, since surer statements stand against it.
    at: seconds since the epoch. kind: of the memory or the entry. by: who said it, "" where nobody knows.
    text: what it says since; before: what it said until then, or what took its place's words.
    because: of what was archived or changed, in one word. score: of a preference, 0 to 10.
    """

    at: float
    what: Doing
    kind: MemoryType | Kind
    id: str
    text: str
    by: str = ""
    before: str = ""
    because: str = ""
    score: float | None = None


def changes_of(versions: Iterable[Version], entries: Iterable[EntryVersion]) -> list[Changed]:
    """Every change, the newest first. versions, entries: whole, each the oldest first."""
    found = [*_of_memories(list(versions)), *_of_entries(list(entries))]
    return sorted(found, key=lambda change: change.at, reverse=True)


def _of_memories(versions: Sequence[Version]) -> Iterable[Changed]:
    place_of = {one.record.superseded_by: one for one in versions if one.record.superseded_by is not None}
    latest: dict[str, Version] = {}
    for version in versions:
        record, before = version.record, latest.get(version.record.id)
        if version.because == "dropped":
            yield _memory(version, "dropped")
            continue
        replaced = place_of.get(record.id)
        if record.is_variant:
            what = "variant" if before is None else "changed"
        elif replaced is not None and replaced.until is not None and replaced.until == version.since:
            what, before = "superseded", replaced
        elif before is None:
            what = "learned"
        else:
            what = "restored" if before.left else "changed"
        yield _memory(version, what, before=before.record.content if before and what != "restored" else "")
        if version.until is not None and (version.left or version.because == "undone"):
            yield _memory(version, "archived" if version.left else "undone", at=version.until)
        latest[record.id] = version


def _memory(version: Version, what: Doing, at: float | None = None, before: str = "") -> Changed:
    record = version.record
    return Changed(
        at=version.since if at is None else at,
        what=what,
        kind=record.type,
        id=record.id,
        text=record.content,
        by=_by(record.provenance),
        before=before,
        because=version.because if at is not None else "",
        score=record.score,
    )


def _of_entries(versions: Sequence[EntryVersion]) -> Iterable[Changed]:
    latest: dict[str, EntryVersion] = {}
    for version in versions:
        before = latest.get(version.entry.id)
        what: Doing = "learned" if before is None else "restored" if before.left else "changed"
        yield _entry(version, what, before=before.entry.line if before and what == "changed" else "")
        if version.until is not None and (version.left or version.because == "undone"):
            yield _entry(version, "archived" if version.left else "undone", at=version.until)
        latest[version.entry.id] = version


def _entry(version: EntryVersion, what: Doing, at: float | None = None, before: str = "") -> Changed:
    entry = version.entry
    return Changed(
        at=version.since if at is None else at,
        what=what,
        kind=entry.kind,
        id=entry.id,
        text=entry.line,
        by=_by(entry.provenance),
        before=before,
        because=version.because if at is not None else "",
    )


def _by(provenance: Provenance | None) -> str:
    return provenance.asserted_by if provenance else ""
