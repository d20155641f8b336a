"""Typed memories and project knowledge of a bundle, merged into those that are here."""

import copy
from collections.abc import Callable, Collection

import msgspec
from msgspec import structs

from clio.memory.control.archive_lines import archived_in, former_line, new_lines
from clio.memory.control.bundle import KnowledgePart, RecordsPart, is_nothing
from clio.memory.control.merge_records import Merged, lowered, merge_records
from clio.memory.control.places import Places
from clio.memory.control.taken import Taken
from clio.memory.control.texts import Clean, clean_json
from clio.memory.long_term import LongTermMemory
from clio.memory.ltm.archive import Kept, LtmArchive
from clio.memory.ltm.file import LtmDocument
from clio.memory.ltm.history import Ending, LtmHistory
from clio.memory.ltm.imports import merge_in, read_foreign
from clio.memory.ltm.kinds import identity, provenance_of, stored_id
from clio.memory.ltm.store import LtmStore, open_store
from clio.memory.records import Provenance
from clio.memory.typed.files import Line, MemoryFiles
from clio.memory.typed.shelf import Shelf
from clio.memory.typed.store import Scope
from clio.memory.undo import UndoLog, new_change
from clio.storage.jsonl import append_lines

NAMES: dict[Scope, str] = {"project": "memories of the project", "user": "memories of yours"}


def take_memories(
    places: Places,
    part: RecordsPart,
    scope: Scope,
    *,
    by: Provenance,
    now: float,
    clean: Clean,
    undo: UndoLog,
    dry_run: bool,
    each: Callable[[], None],
) -> list[Taken]:
    """Merge the memories of one scope; its archive grows by what is not in it. Raises StorageError, OSError.

    each: called for every one of them before anything is written; what it raises ends the merging, and nothing is.
    """
    shelf = Shelf()
    files = MemoryFiles(places.memories(scope), shelf)
    elsewhere = _ids(places, "user" if scope == "project" else "project")
    if dry_run:
        files.catch_up()
        return _taken(scope, *_merge(places, part, scope, shelf, elsewhere, by=by, now=now, clean=clean, each=each))
    with files.lock():
        files.catch_up()
        merged, lines, unusable = _merge(places, part, scope, shelf, elsewhere, by=by, now=now, clean=clean, each=each)
        new = {record.id: (record.content, record.score) for record in merged.put}
        former = [former_line(old, now) for old in merged.replaced if new[old.id] != (old.content, old.score)]
        if aside := (*lines, *former):
            append_lines(files.archive, aside)
        if merged.put:
            files.append(Line(put=merged.put))
    if merged.put:
        what = f"imported {len(merged.put):,} memories"
        undo.record(new_change("memory", what, at=now, key=scope, before=merged.replaced or None, after=merged.put))
    return _taken(scope, merged, lines, unusable)


def check_knowledge(part: KnowledgePart) -> int:
    """How many entries it has. Raises UserError where it is no `ltm.json`, NewerDocument."""
    return len(read_foreign(_text(part)).all())


def take_knowledge(
    places: Places, part: KnowledgePart, *, by: Provenance, now: float, clean: Clean, undo: UndoLog, dry_run: bool
) -> list[Taken]:
    """Merge the project knowledge and what left it.

    Raises UserError where it is no `ltm.json`, NewerDocument, StorageError, OSError.
    """
    text = _text(part)
    theirs = check_knowledge(part)
    store = _store(places, now)
    known = frozenset(store.read().by_handle()) | LtmArchive(places.knowledge_archive).handles()
    if dry_run:
        document = store.read()
        merged = merge_in(document, read_foreign(text), by, now, clean=clean, taken=())
        added, confirmed = merged.added, merged.confirmed
    else:
        ltm = LongTermMemory(places.knowledge, project=places.project, undo=undo, clock=lambda: now, home=places.home)
        added, confirmed = ltm.import_(text, by, clean) if theirs else (0, 0)
    entries = Taken(
        section="knowledge",
        scope="project",
        what="entries of project knowledge",
        new=added,
        changed=confirmed,
        known=max(theirs - added - confirmed, 0),
    )
    if not dry_run:
        _take_history(places, part, known, by=by, now=now, clean=clean)
    new = _take_archive(places, part, by=by, now=now, clean=clean, dry_run=dry_run)
    archive = Taken(section="knowledge", scope="project", what="archived entries of project knowledge", new=new)
    return [entries, archive.more(known=len(part.archive) - new)]


def _text(part: KnowledgePart) -> str:
    return "{}" if is_nothing(part.ltm) else bytes(part.ltm).decode("utf-8", "replace")


def _take_history(
    places: Places, part: KnowledgePart, known: frozenset[str], *, by: Provenance, now: float, clean: Clean
) -> None:
    """What entries said before that came with it; of those known here, history goes on as it was."""
    history, new = LtmHistory(places.knowledge_history), list[Ending]()
    there = {(ending.id, ending.ended) for ending in history.read()}
    for ending in part.history:
        if ending.id not in known and (ending.id, ending.ended) not in there:
            entry = clean_json(copy.deepcopy(ending.entry), clean)
            entry["provenance"] = msgspec.to_builtins(lowered(provenance_of(entry), by))
            new.append(structs.replace(ending, entry=entry, ended=min(max(ending.ended, 0.0), now)))
    if new:
        with _store(places, now).changing():
            history.put(new)


def _take_archive(
    places: Places, part: KnowledgePart, *, by: Provenance, now: float, clean: Clean, dry_run: bool
) -> int:
    """How many entries that left elsewhere are in the archive here that were not."""
    if not part.archive:
        return 0
    store = _store(places, now)
    if dry_run:
        return len(_unknown(part, store.read(), store, by, now, clean))
    with store.changing() as (document, _):
        new = _unknown(part, document, store, by, now, clean)
        if new:
            store.archive.put(new)
    return len(new)


def _store(places: Places, now: float) -> LtmStore:
    return open_store(places.knowledge, project=places.project, home=places.home, clock=lambda: now)


def _unknown(
    part: KnowledgePart, document: LtmDocument, store: LtmStore, by: Provenance, now: float, clean: Clean
) -> list[Kept]:
    """Those that neither the knowledge nor its archive has, by their words, as an import may put them there."""
    known = {(kind, *identity(kind, raw)) for kind, raw in document.all()}
    known |= {
        (kept.known_kind, *identity(kept.known_kind, kept.entry)) for kept in store.archive.read() if kept.known_kind
    }
    taken = {stored_id(raw) for _, raw in document.all()} | store.archive.handles()
    found: list[Kept] = []
    for kept in part.archive:
        entry = clean_json(copy.deepcopy(kept.entry), clean)
        kept = structs.replace(kept, entry=entry, archived=min(max(kept.archived, 0.0), now))
        kind = kept.known_kind
        if kind is None or (words := (kind, *identity(kind, entry))) in known or stored_id(entry) in taken:
            continue
        entry["provenance"] = msgspec.to_builtins(lowered(provenance_of(entry), by))
        known.add(words)
        taken.add(stored_id(entry))
        found.append(kept)
    return found


def _merge(
    places: Places,
    part: RecordsPart,
    scope: Scope,
    shelf: Shelf,
    elsewhere: Collection[str],
    *,
    by: Provenance,
    now: float,
    clean: Clean,
    each: Callable[[], None],
) -> tuple[Merged, list[bytes], int]:
    """What is to be written of the memories and of their archive, and how many lines of that hold no memory."""
    archived = archived_in(places.memories_archive(scope)).values()
    gone = {one.id for one in archived if one.left}
    merged = merge_records(
        shelf, part.records, by=by, now=now, clean=clean, forgotten=gone, elsewhere=elsewhere, each=each
    )
    lines, unusable = new_lines(part.archive, archived, by=by, now=now, clean=clean)
    return merged, lines, unusable


def _taken(scope: Scope, merged: Merged, lines: list[bytes], unusable: int) -> list[Taken]:
    records = Taken(
        section="memories",
        scope=scope,
        what=NAMES[scope],
        new=merged.new,
        changed=merged.changed,
        known=merged.known,
        kept=merged.kept,
        forgotten=merged.forgotten,
        unusable=merged.unusable,
    )
    archive = Taken(section="memories", scope=scope, what=f"archived {NAMES[scope]}", new=len(lines), unusable=unusable)
    return [records, archive]


def _ids(places: Places, scope: Scope) -> frozenset[str]:
    shelf = Shelf()
    MemoryFiles(places.memories(scope), shelf).catch_up()
    return frozenset(shelf.records)
