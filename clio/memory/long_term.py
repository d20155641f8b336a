"""The project knowledge in `.clio/ltm.json`: read tolerantly, changed under a lock, nothing ever dropped."""

import copy
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

import msgspec

from clio.errors import StorageError, UserError
from clio.memory.examples import ExampleFiles
from clio.memory.handles import find_handle
from clio.memory.ltm_archive import Kept, LtmArchive
from clio.memory.ltm_changes import Piece, is_as, piece, put_back, read_pieces
from clio.memory.ltm_draft import changed_raw, checked, unsurrogated
from clio.memory.ltm_file import LtmDocument, read_ltm, write_ltm
from clio.memory.ltm_import import merge_in, read_foreign
from clio.memory.ltm_kinds import Json, handles, new_handle, stored_id, to_entry, to_raw
from clio.memory.ltm_merge import adopt_context, beside, confirm, label, place_for, revive, same
from clio.memory.ltm_prune import MAX_AGE_DAYS, MIN_CONFIDENCE, to_prune
from clio.memory.ltm_stats import count_up
from clio.memory.records import Added, Because, Entry, Freshness, Kind, Knowledge, LtmStats, Provenance, Pruned
from clio.memory.tolerant import number
from clio.memory.undo import Change, UndoLog, new_change
from clio.storage.filelock import FileLock
from clio.storage.folders import make_ignored_folder


class LongTermMemory:
    """`ltm.json` of one project. Nothing is kept in memory between calls, so nothing stale is ever written back.

    All methods raise CorruptDocument after setting the file aside, and NewerDocument. Those that read raise OSError;
    those that change the file raise StorageError with a sentence where it cannot be written or another process holds
    the lock for ten seconds, and then nothing was changed. `ltm.archive.json` beside it keeps what leaves.

    project: the folder the examples' paths are relative to.
    undo: where each change is noted first, so that it can be taken back; None notes nothing.
    """

    def __init__(
        self, path: Path, *, project: Path, undo: UndoLog | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self._path = path
        self._undo = undo
        self._clock = clock
        self._examples = ExampleFiles(project)
        self._archive = LtmArchive(path.with_name("ltm.archive.json"))

    def read(self) -> Knowledge:
        """Everything that is known; entries that are not what they should be are passed over, and stay in the file."""
        return read_ltm(self._path).knowledge()

    def freshness(self, entries: Iterable[Entry]) -> dict[str, Freshness]:
        """How each entry stands to its example files, by id. Reads those that changed since they were last read."""
        return {entry.id: self._examples.freshness(dict(entry.bound)) for entry in entries}

    def add(self, draft: Entry, provenance: Provenance) -> Added:
        """Remember something, or confirm the entry that says the same; one that was archived comes back.

        Raises UserError for a draft that lacks what its kind needs, or is too long.
        """
        kind, new = draft.kind, to_raw(checked(draft))
        new["provenance"] = msgspec.to_builtins(provenance)
        with self._changing() as (document, now):
            section = document.section(kind)
            if kind == "rule":
                adopt_context(section, new)
            old = same(kind, section, new)
            if old is not None:
                raw, before, restored = old, [piece(document, kind, document.handle(old), old)], False
                raw["id"] = before[0].id
                confirm(kind, raw, new, now)
            else:
                kept = self._archive.find(kind, new)
                raw = self._new(document, kind, new, kept, now)
                section.insert(place_for(kind, section, raw), raw)
                before, restored = [_from_archive(kind, raw, kept)] if kept else [], kept is not None
            self._bind(raw)
            after = [piece(document, kind, raw["id"], raw)]
            doing = "confirmed" if old is not None else "brought back" if restored else "added"
            self._write(document, now, f"{doing} the {kind} “{label(kind, raw)}”", before, after)
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
        with self._changing() as (document, now):
            known = document.by_handle()
            handle = find_handle(id, known)
            kind, raw = known[handle]
            before = [piece(document, kind, handle, raw)]
            new = changed_raw(kind, raw, handle, changes)
            twin = same(kind, (one for one in document.section(kind) if one is not raw), new)
            if twin is not None:
                raise UserError(f"{document.handle(twin)} says that already; forget one of the two instead.")
            raw.clear()
            raw.update(new | {"id": handle, "updated": now})
            self._bind(raw)
            after = [piece(document, kind, handle, raw)]
            self._write(document, now, f"changed the {kind} “{label(kind, raw)}”", before, after)
            return to_entry(kind, raw, handle)

    def forget(self, ids: Sequence[str]) -> tuple[Entry, ...]:
        """Move entries to the archive. Raises UserError for an id there is not, with none of them moved."""
        with self._changing() as (document, now):
            known = document.by_handle()
            wanted = list(dict.fromkeys(find_handle(id, known) for id in ids))
            gone = tuple(to_entry(*known[handle], handle) for handle in wanted)
            if gone:
                kind, raw = known[wanted[0]]
                what = f"the {kind} “{label(kind, raw)}”" if len(gone) == 1 else f"{len(gone)} entries"
                self._send_off(document, now, f"forgot {what}", dict.fromkeys(wanted, "forgotten"))
            return gone

    def prune(
        self, *, max_age_days: float = MAX_AGE_DAYS, min_confidence: float = MIN_CONFIDENCE, dry_run: bool = False
    ) -> Pruned:
        """Move to the archive what nobody confirmed for so many days, and what is less certain than that.

        What a person said with a confidence of at least 0.5 does not grow old. Raises UserError for senseless limits.
        """
        if dry_run:
            entries = self.read().entries
            why = to_prune(entries, now=self._clock(), max_age_days=max_age_days, min_confidence=min_confidence)
            removed = tuple(entry for entry in entries if entry.id in why)
            return Pruned(removed=removed, kept=len(entries) - len(removed), dry_run=True)
        with self._changing() as (document, now):
            entries = document.knowledge().entries
            why = to_prune(entries, now=now, max_age_days=max_age_days, min_confidence=min_confidence)
            removed = tuple(entry for entry in entries if entry.id in why)
            self._drop_doubles(document)
            document.metadata["last_pruned"] = now
            self._send_off(document, now, f"pruned {len(removed)} entries", why)
            return Pruned(removed=removed, kept=len(entries) - len(removed))

    def stats(self) -> LtmStats:
        """The knowledge in numbers."""
        document = read_ltm(self._path)
        entries = document.knowledge().entries
        return count_up(
            entries,
            self.freshness(entries),
            now=self._clock(),
            archived=len(self._archive.read()),
            file_bytes=_size(self._path),
            archive_bytes=_size(self._archive.path),
            last_pruned=number(document.metadata.get("last_pruned"), 0.0),
        )

    def archived(self) -> tuple[Entry, ...]:
        """What was forgotten or pruned, the newest to leave first."""
        return self._archive.entries()

    def export(self) -> str:
        """The whole document as JSON, unknown fields and all."""
        return read_ltm(self._path).encode().decode("utf-8")

    def import_(
        self, text: str, provenance: Provenance, redact: Callable[[str], str] = unsurrogated
    ) -> tuple[int, int]:
        """Take in the entries of another `ltm.json`: how many were new, how many were known and are now confirmed.

        Importing the same text again changes no entry. Who said an entry is taken from the text only where that is no
        more trusted than `provenance`. redact: applied to every text taken in.
        Raises UserError where the text is no such document, NewerDocument.
        """
        foreign = read_foreign(text)
        with self._changing() as (document, now):
            merged = merge_in(document, foreign, provenance, now, lambda one: unsurrogated(redact(one)))
            if merged.before or merged.after:
                what = f"imported {merged.added} entries and confirmed {merged.confirmed}"
                self._write(document, now, what, merged.before, merged.after)
            return merged.added, merged.confirmed

    def revert(self, change: Change) -> Entry | None:
        """Take a change back: the entry it was about, as it is again; None where it was of several, or none is left.

        Raises UserError where an entry it touched was changed since, or the change is of another store.
        """
        before, after = read_pieces(change.before), read_pieces(change.after)
        if change.store != "ltm" or not (before or after):
            raise UserError(f"“{change.what}” is no change of the project knowledge; nothing was undone.")
        touched = {one.id for one in (*before, *after)}
        with self._changing() as (document, now):
            # A process that died between noting a change and making it leaves one that is as good as taken back.
            if not is_as(document, before, touched):
                if not is_as(document, after, touched):
                    raise UserError(
                        f"“{change.what}” is not undone: what it touched ({_some(touched)}) was changed since; "
                        "change or forget the entry by hand."
                    )
                put_back(document, before, after)
                document.touch(now)
                kept = [one.kept for one in before if one.kept]
                with _one_sentence(self._path):
                    if kept:
                        self._archive.put(kept)
                    write_ltm(self._path, document)
            left = {one.id for one in before if one.kept is None} - {one.id for one in after}
            with _one_sentence(self._path):
                self._archive.take(lambda one: stored_id(one.entry) in left)
            known = document.by_handle()
            return to_entry(*known[before[0].id], before[0].id) if len(before) == 1 and before[0].id in known else None

    @contextmanager
    def _changing(self) -> Generator[tuple[LtmDocument, float]]:
        """The document as it is now, for a change; nobody else changes it meanwhile."""
        lock = FileLock(self._path.with_name(self._path.name + ".lock"))
        with _one_sentence(self._path):
            make_ignored_folder(self._path.parent, self._path.parent)
            lock.__enter__()
        try:
            yield read_ltm(self._path), round(self._clock(), 3)
        finally:
            lock.release()

    def _write(
        self,
        document: LtmDocument,
        now: float,
        what: str,
        before: Sequence[Piece],
        after: Sequence[Piece],
        archived: Sequence[Kept] = (),
    ) -> None:
        """Note the change, then keep what leaves, then write the file: dying in between loses nothing."""
        document.touch(now)
        key = (before or after)[0].id if len(before) + len(after) <= 2 else ""
        change = new_change("ltm", what, at=now, key=key, before=before or None, after=after or None)
        with _one_sentence(self._path):
            if self._undo:
                self._undo.record(change)
            try:
                if archived:
                    self._archive.put(archived)
                write_ltm(self._path, document)
            except BaseException:
                if self._undo:
                    with suppress(OSError):  # the first error is the one to tell
                        self._undo.take(change.id)
                raise
            back = [one.kept for one in before if one.kept]
            if back:
                self._archive.take(lambda one: one in back)

    def _send_off(self, document: LtmDocument, now: float, what: str, why: dict[str, Because]) -> None:
        known = document.by_handle()
        before = [piece(document, *_pair(handle, known)) for handle in why]
        kept = [
            Kept(kind=one.kind, archived=now, because=why[one.id], entry=copy.deepcopy(one.entry) | {"id": one.id})
            for one in before
        ]
        for handle in why:
            kind, raw = known[handle]
            del document.section(kind)[document.place(kind, raw)]
        if why:
            self._write(document, now, what, before, (), kept)
        else:
            document.touch(now)
            with _one_sentence(self._path):
                write_ltm(self._path, document)

    def _new(self, document: LtmDocument, kind: Kind, new: Json, kept: Kept | None, now: float) -> Json:
        taken = set(handles(document.all()))
        if kept is None:
            return new | {"timestamp": now, "id": new_handle(kind, new, taken)}
        raw = revive(kind, kept.entry, new, now, forgotten=kept.because == "forgotten")
        if stored_id(raw) in taken or not stored_id(raw):
            raw["id"] = new_handle(kind, raw, taken)
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

    def _drop_doubles(self, document: LtmDocument) -> None:
        """Take out of the archive what a process that died left both there and in the file."""
        known = {handle: raw for handle, (_, raw) in document.by_handle().items()}
        with _one_sentence(self._path):
            self._archive.take(
                lambda one: one.entry == known.get(stored_id(one.entry), {}) | {"id": stored_id(one.entry)}
            )


@contextmanager
def _one_sentence(path: Path) -> Generator[None]:
    """What the operating system refuses, as an error for people."""
    try:
        yield
    except TimeoutError as error:
        raise StorageError(f"The project knowledge was not changed: {error}") from error
    except OSError as error:
        cause = error.strerror or str(error)
        raise StorageError(
            f"The project knowledge was not changed: {str(path)!r} cannot be written ({cause}); "
            "make room or mend its permissions and try again."
        ) from error


def _from_archive(kind: Kind, raw: Json, kept: Kept) -> Piece:
    return Piece(kind=kind, id=raw["id"], kept=kept)


def _pair(handle: str, known: dict[str, tuple[Kind, Json]]) -> tuple[Kind, str, Json]:
    kind, raw = known[handle]
    return kind, handle, raw


def _some(handles: set[str]) -> str:
    shown = sorted(handles)[:5]
    return ", ".join(shown) + (f" and {len(handles) - 5} more" if len(handles) > 5 else "")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
