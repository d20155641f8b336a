"""The project knowledge in `.clio/ltm.json`: read tolerantly, changed under a lock, nothing ever dropped."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec

from clio.errors import UserError
from clio.memory.cleaning import cleaned, cleaned_entry
from clio.memory.handles import find_handle
from clio.memory.ltm.archive import Kept
from clio.memory.ltm.changes import Piece, piece, read_pieces
from clio.memory.ltm.draft import changed_raw, checked, unsurrogated
from clio.memory.ltm.file import LtmDocument
from clio.memory.ltm.history import begin_again
from clio.memory.ltm.imports import merge_in, read_foreign
from clio.memory.ltm.kinds import Json, handles, identity, new_handle, set_handle, stored_id, to_entry, to_raw
from clio.memory.ltm.merge import adopt_context, beside, confirm, label, place_for, revive, same
from clio.memory.ltm.prune import to_prune
from clio.memory.ltm.reading import LtmReading
from clio.memory.ltm.stats import count_up
from clio.memory.ltm.store import LtmStore
from clio.memory.ltm.uses import count_uses, with_uses
from clio.memory.ltm.versions import EntryVersion, entry_versions
from clio.memory.records import (
    MAX_AGE_DAYS,
    MIN_CONFIDENCE,
    Added,
    Because,
    Entry,
    Kind,
    LtmStats,
    Provenance,
    Pruned,
)
from clio.memory.tolerant import number
from clio.memory.undo import Change, UndoLog


class LongTermMemory(LtmReading):
    """`ltm.json` of one project. Nothing is kept in memory between calls, so nothing stale is ever written back.

    All methods raise CorruptDocument after setting the file aside, and NewerDocument. Those that read raise OSError;
    those that change the file raise StorageError with a sentence where it cannot be written or another process holds
    the lock for ten seconds, and then nothing was changed. `ltm.archive.json` beside it keeps what leaves.

    project: the folder the examples' paths are relative to.
    redact: applied to every text that is added or changed, before it is stored.
    undo: where each change is noted first, so that it can be taken back; None notes nothing.
    home: where it is kept whether the person trusts what others share; None: what is shared is left alone.
    """

    def __init__(
        self,
        path: Path,
        *,
        project: Path,
        undo: UndoLog | None = None,
        clock: Callable[[], float] = time.time,
        home: Path | None = None,
        redact: Callable[[str], str] = unsurrogated,
    ) -> None:
        super().__init__(path, project=project, clock=clock, home=home)
        self._store = LtmStore(path, undo, clock, self._team)
        self._uses_path = path.with_name("ltm.uses.json")
        self._redact = redact

    def find(self, id: str) -> Entry:
        """The entry of that id, or of the only one that begins so, with its uses. Raises UserError."""
        known = {entry.id: entry for entry in self.read().entries}
        return self.with_uses((known[find_handle(id, known)],))[0]

    def use(self, ids: Sequence[str]) -> None:
        """Count these entries as asked for and given, now. The knowledge itself is not written."""
        known = frozenset(entry.id for entry in self.read().entries)
        count_uses(self._uses_path, [id for id in ids if id in known], self._store.clock(), known)

    def with_uses(self, entries: Iterable[Entry]) -> tuple[Entry, ...]:
        """The entries with when and how often they were asked for."""
        return with_uses(self._uses_path, entries)

    def add(self, draft: Entry, provenance: Provenance) -> Added:
        """Remember something, or confirm the entry that says the same; one that was archived comes back.

        Raises UserError for a draft that lacks what its kind needs, or is too long.
        """
        kind, new = draft.kind, to_raw(checked(cleaned_entry(draft, self._redact)))
        new["provenance"] = msgspec.to_builtins(provenance)
        with self._store.changing() as (document, now):
            section = document.section(kind)
            if kind == "rule":
                adopt_context(section, new)
            old = same(kind, section, new)
            if old is not None:
                raw, before, restored = old, [piece(document, kind, document.handle(old), old)], False
                set_handle(raw, before[0].id)
                confirm(kind, raw, new, now)
            else:
                kept = self._store.archive.find(kind, new)
                raw = self._new(document, kind, new, kept, now)
                section.insert(place_for(kind, section, raw), raw)
                before, restored = [Piece(kind=kind, id=raw["id"], kept=kept)] if kept else [], kept is not None
            self._bind(raw)
            after = [piece(document, kind, raw["id"], raw)]
            doing = "confirmed" if old is not None else "brought back" if restored else "added"
            self._store.write(document, now, f"{doing} the {kind} “{label(kind, raw)}”", before, after)
            found = to_entry(kind, raw, raw["id"])
            others = beside(section, raw) if kind == "solution" else []
            return Added(
                entry=found,
                new=old is None,
                restored=restored,
                beside=tuple(document.one(other) for other in others),
            )

    def update(self, id: str, **changes: Any) -> Entry:
        """Change fields of an entry; it counts as confirmed.

        changes: text, solution, also, impact, steps, context, confidence, success_rate, examples, provenance.
        Raises UserError for an id or a field there is not, or words another entry has.
        """
        changes = {name: cleaned(value, self._redact) for name, value in changes.items()}
        with self._store.changing() as (document, now):
            known = document.by_handle()
            handle = find_handle(id, known)
            kind, raw = known[handle]
            before = [piece(document, kind, handle, raw)]
            new = changed_raw(kind, raw, handle, changes)
            twin = same(kind, (one for one in document.section(kind) if one is not raw), new)
            if twin is not None and identity(kind, new) != identity(kind, raw):
                raise UserError(f"{document.handle(twin)} says that already; forget one of the two instead.")
            raw.clear()
            raw.update(new | {"updated": now})
            set_handle(raw, handle)
            self._bind(raw)
            after = [piece(document, kind, handle, raw)]
            what = f"changed the {kind} “{label(kind, raw)}”"
            self._store.write(document, now, what, before, after, stated="confidence" in changes)
            return to_entry(kind, raw, handle)

    def forget(self, ids: Sequence[str]) -> tuple[Entry, ...]:
        """Move entries to the archive. Raises UserError for an id there is not, with none of them moved."""
        with self._store.changing() as (document, now):
            known = document.by_handle()
            wanted = list(dict.fromkeys(find_handle(id, known) for id in ids))
            gone = tuple(to_entry(*known[handle], handle) for handle in wanted)
            if gone:
                kind, raw = known[wanted[0]]
                what = f"the {kind} “{label(kind, raw)}”" if len(gone) == 1 else f"{len(gone)} entries"
                self._store.send_off(document, now, f"forgot {what}", dict.fromkeys(wanted, "forgotten"))
            return gone

    def supersede(self, successors: Mapping[str, str]) -> tuple[Entry, ...]:
        """Move entries to the archive whose places others took: handle → the handle of the other, or id of a memory.

        Those that are there no longer, those whose successor goes too, and those others share, stay. Returns those that
        were moved.
        """
        with self._store.changing() as (document, now):
            known = document.by_handle()
            own = {entry.id for entry in self._own(document.knowledge().entries)}
            going = {old: new for old, new in successors.items() if old in own and new not in successors}
            gone = tuple(to_entry(*known[handle], handle) for handle in going)
            if gone:
                kind, raw = known[next(iter(going))]
                what = f"the {kind} “{label(kind, raw)}”" if len(gone) == 1 else f"{len(gone)} entries"
                why: dict[str, Because] = dict.fromkeys(going, "superseded")
                self._store.send_off(document, now, f"replaced {what} by what was said since", why, going)
            return gone

    def prune(
        self, *, max_age_days: float = MAX_AGE_DAYS, min_confidence: float = MIN_CONFIDENCE, dry_run: bool = False
    ) -> Pruned:
        """Move to the archive what nobody confirmed for so many days, and what is less certain than that.

        What a person said with a confidence of at least 0.5 does not grow old, and what others share is left to them.
        Raises UserError for senseless limits.
        """
        if dry_run:
            entries = self.read().entries
            why = to_prune(
                self._own(entries), now=self._store.clock(), max_age_days=max_age_days, min_confidence=min_confidence
            )
            removed = tuple(entry for entry in entries if entry.id in why)
            return Pruned(removed=removed, kept=len(entries) - len(removed), dry_run=True, why=why)
        with self._store.changing() as (document, now):
            entries = document.knowledge().entries
            why = to_prune(self._own(entries), now=now, max_age_days=max_age_days, min_confidence=min_confidence)
            removed = tuple(entry for entry in entries if entry.id in why)
            self._store.drop_doubles(document)
            document.metadata["last_pruned"] = now
            self._store.send_off(document, now, f"pruned {len(removed)} entries", why)
            self._store.tidy()
            return Pruned(removed=removed, kept=len(entries) - len(removed), why=why)

    def stats(self) -> LtmStats:
        """The knowledge in numbers."""
        document = self._store.read()
        entries = document.knowledge().entries
        return count_up(
            entries,
            self.freshness(entries),
            now=self._store.clock(),
            archived=len(self._store.archive.read()),
            file_bytes=self._store.size(),
            archive_bytes=_size(self._store.archive.path),
            last_pruned=number(document.metadata.get("last_pruned"), 0.0),
        )

    def versions(self) -> tuple[EntryVersion, ...]:
        """Everything the entries ever said, and when, the oldest first; those that were archived too."""
        store = self._store
        return tuple(entry_versions(store.read(), store.history.read(), store.archive.read()))

    def archived(self) -> tuple[Entry, ...]:
        """What was forgotten or pruned, the newest to leave first."""
        return self._store.archive.entries()

    def export(self) -> str:
        """The whole document as JSON, unknown fields and all."""
        return self._store.read().encode().decode("utf-8")

    def import_(
        self, text: str, provenance: Provenance, redact: Callable[[str], str] = unsurrogated
    ) -> tuple[int, int]:
        """Take in the entries of another `ltm.json`: how many were new, how many were known and are now confirmed.

        Importing the same text again changes no entry. Who said an entry is taken from the text only where that is no
        more trusted than `provenance`. redact: applied to every text taken in.
        Raises UserError where the text is no such document, NewerDocument.
        """
        foreign = read_foreign(text)
        with self._store.changing() as (document, now):
            merged = merge_in(
                document,
                foreign,
                provenance,
                now,
                clean=lambda one: unsurrogated(redact(one)),
                taken=self._store.archive.handles(),
            )
            if merged.before or merged.after:
                what = f"imported {merged.added} entries and confirmed {merged.confirmed}"
                self._store.write(document, now, what, merged.before, merged.after)
            return merged.added, merged.confirmed

    def revert(self, change: Change) -> Entry | None:
        """Take a change back: the entry it was about, as it is again; None where it was of several, or none is left.

        Raises UserError where an entry it touched was changed since, or the change is of another store.
        """
        if change.store != "ltm":
            raise UserError(f"“{change.what}” is no change of the project knowledge; nothing was undone.")
        before, after = read_pieces(change.before), read_pieces(change.after)
        with self._store.changing() as (document, now):
            if not self._store.take_back(document, now, before, after):
                touched = _some({one.id for one in (*before, *after)})
                raise UserError(
                    f"“{change.what}” is not undone: what it touched ({touched}) was changed since; "
                    "change or forget the entry by hand."
                )
            known = document.by_handle()
            return to_entry(*known[before[0].id], before[0].id) if len(before) == 1 and before[0].id in known else None

    def _own(self, entries: Sequence[Entry]) -> list[Entry]:
        """Those that are not somebody else's, who shares them."""
        team = self._store.team
        return [entry for entry in entries if not entry.by or (team and team.is_mine(entry.by))]

    def _new(self, document: LtmDocument, kind: Kind, new: Json, kept: Kept | None, now: float) -> Json:
        taken = set(handles(document.all()))
        if kept is None:
            handle = new_handle(kind, new, taken | self._store.archive.handles())
            return new | {"timestamp": now, "id": handle}
        raw = revive(kind, kept.entry, new, now, forgotten=kept.because == "forgotten")
        begin_again(raw, now)
        if stored_id(raw) in taken or not stored_id(raw):
            set_handle(raw, new_handle(kind, raw, taken))
        return raw

    def _bind(self, raw: Json) -> None:
        """Note what the examples are now; one that cannot be read keeps the hash it had."""
        examples = [one for one in raw.get("examples") or () if isinstance(one, str)]
        known = raw.get("example_hashes")
        former = cast(Json, known) if isinstance(known, dict) else {}
        bound = {one: former[one] for one in examples if one in former} | self._examples.hashes(examples)
        if bound:
            raw["example_hashes"] = bound
        else:
            raw.pop("example_hashes", None)


def _some(handles: set[str]) -> str:
    shown = sorted(handles)[:5]
    return ", ".join(shown) + (f" and {len(handles) - 5} more" if len(handles) > 5 else "")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
