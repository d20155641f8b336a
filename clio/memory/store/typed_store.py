"""Facts, events, notes and preferences in `memories.json`: add, search, forget, compact. Every change can be undone.

The file is a snapshot, with a journal of the changes since beside it. A change is one line of the journal: it is
written under the lock, after the lines of other processes were read, and fsynced. A long journal is folded: its changes
are written into a new snapshot, and a new journal begins. Both have the same generation, a number that grows with each
fold: if a process dies between the two writes, the old journal has a lower generation than the snapshot and is ignored.
"""

import errno
import os
import time
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct, structs

from clio.errors import CorruptDocument, UserError
from clio.ids import new_id
from clio.memory.store.change_log import (
    LOG_NAME,
    Change,
    ChangeLog,
    FormerVersion,
    decode_sides,
    make_former,
    make_log_lines,
    read_formers,
)
from clio.memory.store.memory_index import MemoryIndex, Ranked, rank_records, rank_without_query
from clio.memory.store.record import (
    SHORT_ID,
    Because,
    Kind,
    MemoryRecord,
    Saved,
    check_record,
    check_type,
    default_confidence,
    has_expired,
    select_types,
    shorten_content,
    update_since,
    without_use,
)
from clio.storage.documents import Document, DocumentFormat, encode_document, load_document, refuse_newer_version
from clio.storage.files import (
    NO_FOLLOW,
    Stamp,
    get_stamp,
    make_ignored_folder,
    open_regular,
    read_regular,
    write_all,
    write_atomic,
)
from clio.storage.jsonl import copy_damaged, find_damage_copy, is_truncated_line, terminate_last_line
from clio.storage.locks import FileLock
from clio.text.json_data import decode_json
from clio.text.translation import tr
from clio.threads import never_stop

if TYPE_CHECKING:
    from clio.memory.store.deduplication import Decision, NearestMemory
    from clio.memory.store.versions import Version

Scope = Literal["project", "user"]
DEFAULT_LIMIT = 10
FOLD_BYTES = 1_000_000
"""The journal is folded when it is longer than this and than the snapshot."""
MIN_PREFIX_CHARS = 4
_EVERYTHING = 1 << 60


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


Decide = Callable[[str], str]
"""Puts a prompt to a model and returns its answer. Where it raises, both memories are kept."""
MAX_ASKED = 50
"""Questions one compaction puts to a model."""


class Compacted(Struct, frozen=True, kw_only=True):
    """The result of compaction: how many memories were archived, how many are live, and how many of the archived ones
    are part of another memory now.
    """

    removed: int
    remaining: int
    merged: int = 0


class TypedStore:
    """The memories of one project, or of one user, in `memories.json`. Several processes may have it open.

    Methods raise UserError for what cannot be saved or found; StorageError for a file that cannot be read (it is set
    aside, and the next call continues with the rest); OSError; TimeoutError if another process holds the lock too long.

    Every change is written first to the log given to the constructor; default: `memory.log.jsonl` beside the file.

    Attributes:
        damaged: number of lines of the files that could not be decoded so far.
    """

    def __init__(
        self,
        path: Path,
        scope: Scope = "project",
        *,
        clock: Callable[[], float] = time.time,
        log: ChangeLog | None = None,
    ) -> None:
        self.path = path
        self.scope: Scope = scope
        self.damaged = 0
        self._clock = clock
        self._log = log or ChangeLog(path.with_name(LOG_NAME), clock=clock)
        self._index = MemoryIndex()
        self._journal = path.with_suffix(".journal.jsonl")
        self._unknown: dict[str, msgspec.Raw] = {}
        self._generation: int | None = None  # None without a snapshot: then the journal states it
        self._read_bytes = 0
        self._seen: tuple[int, ...] | None = None  # device and inode of the journal
        self._snapshot_stamp: Stamp | None = None
        self._journal_damaged = False
        self._damage_error: CorruptDocument | None = None

    # Reading

    @property
    def index(self) -> MemoryIndex:
        """All records as they are now; not to be changed."""
        self._catch_up()
        return self._index

    def peek(self, query: str | frozenset[str] = "", limit: int = DEFAULT_LIMIT, type: str = "") -> tuple[Ranked, ...]:
        """Return the memories that match a query, best first.

        Without query and kind: all preferences, and the best `limit` others.

        Args:
            query: text, or the stems of words.
            limit: 0 means ten, −1 all.
            type: the only kind to return; "!fact" means all but facts.
        """
        kinds = select_types(type)
        most = _EVERYTHING if limit < 0 else limit or DEFAULT_LIMIT
        index, now = self.index, self._clock()
        if query.strip() if isinstance(query, str) else query:
            return rank_records(index, query, most, now, kinds)
        return rank_without_query(index, most, now, kinds)

    def records(self, *, superseded: bool = False) -> list[MemoryRecord]:
        """Return the live memories in the order they were created; with the superseded ones if asked."""
        found = self.index.records.values() if superseded else self.index.live()
        return sorted(found, key=lambda record: (record.created, record.id))

    def live(self, ids: Iterable[str]) -> list[MemoryRecord]:
        """Return the live memories among these, in the order of the ids."""
        records = self.index.records
        return [record for id in ids if (record := records.get(id)) is not None and record.is_live]

    def count(self) -> int:
        """Return the number of live memories."""
        return len(self.index)

    def has(self, id: str) -> bool:
        """Return whether there is a memory with that id, live or superseded."""
        return id in self._index.records

    def find(self, prefix: str) -> MemoryRecord:
        """Return the memory that an id names, whole or shortened as `like` accepts it. Raises UserError."""
        return self.index.records[choose_id(prefix, self.like(prefix))]

    def like(self, prefix: str) -> tuple[str, ...]:
        """Return the ids that this may mean: itself, otherwise all that begin or end with it.

        The end that tables show (`SHORT_ID`) may be shortened too, to its beginning.
        """
        return _find_ids(prefix, self.index.records)

    def history(self, id: str) -> tuple[MemoryRecord, ...]:
        """Return a memory with those it replaced, those that replaced it, and variants, newest first.

        Raises UserError for an unknown id.
        """
        found = self._lineage(id, self.formers())
        if not found:
            raise _make_unknown_id_error(id)
        return found

    def versions(self, prefix: str = "") -> "tuple[Version, ...]":
        """Return every version of every memory, oldest first; also of memories that left the store.

        Args:
            prefix: an id, or the beginning or end of only one; then only versions of that memory and its `history`.

        Raises:
            UserError: for an unknown id.
        """
        from clio.memory.store.versions import list_typed_versions

        records, formers = self.index.records, self.formers()
        found = list_typed_versions(records.values(), formers)
        if not prefix:
            return tuple(found)
        known = dict.fromkeys((*records, *(former.record.id for former in formers)))
        id = choose_id(prefix, _find_ids(prefix, known))
        related = {record.id for record in self._lineage(id, formers)} | {id}
        return tuple(version for version in found if version.record.id in related)

    def formers(self) -> tuple[FormerVersion, ...]:
        """Return the former versions, oldest first."""
        return tuple(read_formers(self._log.read_changes(), self.scope))

    def archived(self) -> tuple[MemoryRecord, ...]:
        """Return the memories that were forgotten, compacted or replaced, in the order they ended."""
        known = self.index.records
        gone = [
            one for one in self.formers() if one.is_final and one.because != "dropped" and one.record.id not in known
        ]
        ended = [(one.ended or 0.0, one.record) for one in gone]
        ended += [(record.updated, record) for record in known.values() if not record.is_live]
        return tuple(record for _, record in sorted(ended, key=lambda pair: pair[0]))

    def _list_archived(self, id: str) -> list[MemoryRecord]:
        return [record for record in self.archived() if record.id == id]

    def ended_ids(self) -> frozenset[str]:
        """Return the ids of the memories that ended by a change that the log records."""
        formers = self.formers()
        return frozenset(former.record.id for former in formers if former.is_final or former.because == "undone")

    def _lineage(self, id: str, formers: Iterable[FormerVersion]) -> tuple[MemoryRecord, ...]:
        from clio.memory.store.versions import find_lineage

        gone = {former.record.id: former.record for former in formers if former.is_final}
        return find_lineage(id, gone | self.index.records)

    # Changes

    def remember(
        self, content: str, type: str = "note", importance: float = 0.5, decide: Decide | None = None, **fields: Any
    ) -> Saved:
        """Save a memory: one of the same meaning is confirmed, one with another value is replaced.

        A statement that contradicts a memory with more confidence becomes one of its variants.

        Args:
            importance: clamped to 0.0 to 1.0.
            decide: asked, without the lock, whether two that share half of their words are one; None keeps both.
            fields: further ones of `MemoryRecord`. Confidence is by default 1.0 if a user said it, 0.8 a model, 0.6 a
                tool; `created` is now.
        """
        fields = {"confidence": default_confidence(fields.get("provenance"))} | fields
        kind = check_type(type)
        record = MemoryRecord(id=new_id(), kind=kind, content=content, importance=importance, **fields)
        return self.reconsolidate(record, decide)

    def reconsolidate(self, record: MemoryRecord, decide: Decide | None = None) -> Saved:
        """Compare a record that lacks only its times with the memories, and save the result.

        Args:
            decide: as for `remember`.
        """
        from clio.memory.store.deduplication import ask_model, find_nearest_memory, may_reword, plan_save

        record = check_record(record)
        decided: dict[str, Decision] = {}
        while True:
            with self.changing() as now:
                near = find_nearest_memory(self._index, record)
                decision = decided.get(near.record.id) if near is not None and near.relation == "unclear" else None
                planned = plan_save(record, near, decision, now)
                beside = planned.remembered.other if planned.remembered.action == "kept_both" else None
                is_settled = beside is None or beside.id in decided or not may_reword(beside, record)
                if beside is None or decide is None or is_settled:
                    line = JournalLine(put=planned.after, drop=planned.gone)
                    self.write(_describe_save(planned.remembered), line, planned.formers)
                    break
            # Others may write meanwhile, so it is looked at again.
            decided[beside.id] = ask_model(decide, beside.content, record.content)
        return planned.remembered

    def find_nearest(self, content: str, kind: Kind) -> "NearestMemory | None":
        """Return the memory of a kind that a statement repeats, replaces, or may repeat; None if there is none."""
        from clio.memory.store.deduplication import find_nearest_memory

        return find_nearest_memory(self.index, MemoryRecord(id="", kind=kind, content=content))

    def use(self, ids: Sequence[str]) -> None:
        """Count these as used now, which keeps them from being pruned. A power failure may lose that."""
        with self.changing() as now:
            self._append(JournalLine(used=tuple(ids), at=now), durable=False)

    def forget(self, id: str) -> bool:
        """Archive a memory; return False if there is none with that id."""
        return self.forget_all((id,)) == 1

    def forget_all(self, ids: Iterable[str], what: str = "", because: Because = "forgotten") -> int:
        """Archive memories with their variants as one change, and return how many of these ids existed.

        Args:
            what: describes the change; default: the memory's own text.
        """
        with self.changing():
            found = [record for id in dict.fromkeys(ids) if (record := self._index.records.get(id)) is not None]
            self._archive(found, because, what)
        return len(found)

    def supersede(self, ids: Iterable[str], new: MemoryRecord, what: str) -> int:
        """Let a memory of this store take the place of others as one change, and return how many of these there were.

        Unlike archived ones, they are former versions of the new memory. Their variants are archived.

        what: describes the change.
        """
        with self.changing() as now:
            known = (self._index.records.get(id) for id in dict.fromkeys(ids))
            old = [one for one in known if one is not None and one.is_live and one.id != new.id]
            variants = [one for record in old for one in self._index.variants(record.id) if one.id != new.id]
            gone = [
                structs.replace(
                    one,
                    superseded_by=new.id,
                    variants_of=None,
                    updated=new.stated_since if new.stated_since >= one.stated_since else now,
                )
                for one in old
            ]
            variants = [one for one in variants if all(one.id != other.id for other in old)]
            if gone:
                line = JournalLine(put=tuple(gone), drop=tuple(one.id for one in variants))
                formers = [FormerVersion(record=one, ended=now, because="outweighed") for one in variants]
                self.write(what, line, formers)
        return len(gone)

    def put_back(self, record: MemoryRecord) -> MemoryRecord:
        """Let an archived or superseded memory hold again, from now on."""
        with self.changing() as now:
            before = self._index.records.get(record.id)
            again = structs.replace(record, accessed=now, since=now, superseded_by=None, variants_of=None)
            is_superseded = before is not None and not before.is_live
            formers = (
                [FormerVersion(record=before, ended=now, because="superseded")] if before and is_superseded else []
            )
            self.write(f"restored “{shorten_content(record)}”", JournalLine(put=(again,)), formers)
        return again

    def update(self, id: str, **fields: object) -> MemoryRecord:
        """Change fields of a memory; a new text raises its version. Raises UserError if there is nothing to change."""
        if not fields:
            raise UserError(tr("nothing to change; name a field and its new value"))
        with self.changing() as now:
            before = self._index.records.get(id)
            if before is None:
                raise _make_unknown_id_error(id)
            after = check_record(structs.replace(before, updated=now if before.is_live else before.updated, **fields))
            is_reworded = after.content != before.content
            after = structs.replace(
                after,
                version=before.version + is_reworded,
                confirmations=() if is_reworded else after.confirmations,
            )
            after = update_since(before, after, now)
            formers = make_former(before, after, now, "edited")
            self.write(f"changed “{shorten_content(before)}”", JournalLine(put=(after,)), formers)
        return after

    def put(self, what: str, changed: Sequence[MemoryRecord], because: Because = "edited") -> tuple[MemoryRecord, ...]:
        """Write records, new or replacing those with their ids, as one change; return them with their `since`.

        Args:
            because: why versions with another meaning ended.
        """
        if not changed:
            return ()
        with self.changing() as now:
            known = {new.id: old for new in changed if (old := self._index.records.get(new.id)) is not None}
            after = tuple(update_since(known[new.id], new, now) if new.id in known else new for new in changed)
            pairs = [(known[new.id], new) for new in after if new.id in known]
            formers = [former for old, new in pairs for former in make_former(old, new, now, because)]
            self.write(what, JournalLine(put=after), formers)
        return after

    def adopt(
        self, wanted: Mapping[str, MemoryRecord | None], is_unchanged: Callable[[str, MemoryRecord | None], bool]
    ) -> set[str]:
        """Write records as another machine of the user has them, None for deleted ones; return the ids that were.

        They are written as they are, with this machine's uses. `undo` passes this change over, and the former versions
        stay in the archive.

        Args:
            is_unchanged: whether the record with this id is still the one that the caller compared; else it stays.
        """
        if not wanted:
            return set()
        with self.changing() as now:
            known = self._index.records
            done = {id for id in wanted if is_unchanged(id, known.get(id))}
            formers: list[FormerVersion] = []
            put: list[MemoryRecord] = []
            for id in sorted(done):
                old, new = known.get(id), wanted[id]
                if new is None:
                    formers += [FormerVersion(record=old, ended=now, because="forgotten")] if old else []
                    continue
                accessed, count = (old.accessed, old.access_count) if old else (now, 0)
                put.append(structs.replace(new, accessed=accessed, access_count=count))
                formers += make_former(old, new, now, "edited") if old else ()
            drop = tuple(id for id in sorted(done) if wanted[id] is None and id in known)
            if put or drop:
                with self._log.write_ahead(*make_log_lines("", at=now, scope=self.scope, formers=formers)):
                    self._append(JournalLine(put=tuple(put), drop=drop))
        return done

    def compact(self, decide: Decide | None = None, stop: Callable[[], bool] = never_stop) -> Compacted:
        """Archive faded memories, and merge those of the same meaning. Hard limits and explicit rules stay.

        Args:
            decide: asked about pairs that share half of their words.
            stop: asked between memories; what is done by then stays done.
        """
        with self.changing() as now:
            gone = self._archive([one for one in self._index.records.values() if has_expired(one, now)], "faded")
        merged = self._merge_alike(decide, stop) if self.index.build_similarity_index(stop) else 0
        with self.changing():
            if not stop():
                self._fold()
            return Compacted(removed=gone + merged, remaining=len(self._index), merged=merged)

    def restore(self, id: str) -> MemoryRecord:
        """Restore a memory from the archive. Raises UserError if it is not there."""
        found = self._list_archived(id)
        if not found:
            raise UserError(tr("the archive has no memory {id!r}", id=id))
        return self.put_back(found[-1])

    def move(self, id: str, other: "TypedStore") -> MemoryRecord:
        """Move a memory with its history to another store. For a moment it is in both, but never in neither."""
        chain = [record for record in self.history(id) if record.id in self._index.records]
        ids = {record.id for record in chain}
        with other.changing():
            other.write("", JournalLine(), [former for former in self.formers() if former.record.id in ids])
        other.put(f"moved “{shorten_content(chain[0])}” here", chain)
        with self.changing():
            line = JournalLine(drop=tuple(record.id for record in chain))
            self.write(f"moved “{shorten_content(chain[0])}” away", line)
        return other.find(id)

    def revert(self, change: Change) -> None:
        """Undo a change exactly. Raises UserError if one of its records was changed since.

        A change logged by a process that died before making it counts as undone.
        """
        before, after = decode_sides(change, MemoryRecord)
        with self.changing():
            if not self.was_made(change):
                return
            there = self._index.records
            former = {record.id: record for record in before}
            for record in after:
                now = there.get(record.id)
                if now is None or without_use(now) != without_use(record):
                    raise UserError(
                        tr("“{content}” has changed since, so it was left unchanged", content=shorten_content(record))
                    )
            changed = {record.id for record in after}
            for record in before:
                if record.id not in changed and record.id in there:
                    raise UserError(
                        tr("“{content}” exists again, so it was left unchanged", content=shorten_content(record))
                    )
            self._append(JournalLine(put=tuple(before), drop=tuple(id for id in changed if id not in former)))

    def was_made(self, change: Change) -> bool:
        """Return whether the records differ from those before a change, apart from uses."""
        before, after = decode_sides(change, MemoryRecord)
        former, there = {record.id: record for record in before}, self.index.records
        return not all(_is_unchanged(there.get(one.id), former.get(one.id)) for one in (*before, *after))

    def write(self, what: str, line: JournalLine, formers: Sequence[FormerVersion] = ()) -> None:
        """Log a change, then carry it out. The lock must be held and the index be up to date.

        Args:
            line: the change of the file; an empty one if only versions are kept.
            formers: the versions that end with it.
        """
        ids = (*(record.id for record in line.put), *line.drop)
        before = [record for id in dict.fromkeys(ids) if (record := self._index.records.get(id)) is not None]
        now = self._clock()
        changes = make_log_lines(what, at=now, scope=self.scope, before=before, after=line.put, formers=formers)
        with self._log.write_ahead(*changes):
            if ids:
                self._append(line)

    @contextmanager
    def changing(self) -> Generator[float]:
        """Hold the lock with the index up to date, for a change; yields the time."""
        with self._lock():
            self._catch_up()
            yield self._clock()

    def _archive(self, found: Sequence[MemoryRecord], because: Because, what: str = "") -> int:
        """Archive memories with their variants, and return how many that were. The lock must be held."""
        ids = {record.id for record in found}
        gone = [*found, *(one for record in found for one in self._index.variants(record.id) if one.id not in ids)]
        if gone:
            now = self._clock()
            faded = f"compacted {len(gone)} memories away"
            self.write(
                what or (faded if because == "faded" else f"forgot “{shorten_content(gone[0])}”"),
                JournalLine(drop=tuple(record.id for record in gone)),
                [FormerVersion(record=record, ended=now, because=because) for record in gone],
            )
        return len(gone)

    def _merge_alike(self, decide: Decide | None, stop: Callable[[], bool]) -> int:
        """Merge live memories of the same meaning into the older one; return how many are gone."""
        from clio.memory.store.deduplication import ask_model, find_nearest_memory, may_reword, merge_duplicates

        merged = asked = 0
        for record in self.records():
            if stop():
                break
            near = find_nearest_memory(self._index, record) if self._index.records.get(record.id) == record else None
            if near is None or record.is_variant or near.record.is_variant:
                continue
            if near.relation == "supersedes" or near.record.created > record.created:
                continue
            decision: Decision | None = None
            if near.relation == "unclear":
                if decide is None or asked >= MAX_ASKED or not may_reword(near.record, record):
                    continue
                asked += 1
                decision = ask_model(decide, near.record.content, record.content)
                if decision.action == "keep":
                    continue
            merged += self._merge_pair(near.record, record, merge_duplicates(near.record, record, decision))
        return merged

    def _merge_pair(self, old: MemoryRecord, new: MemoryRecord, one: MemoryRecord) -> bool:
        """Replace two memories by one; return False if either was changed meanwhile."""
        with self.changing() as now:
            if any(self._index.records.get(record.id) != record for record in (old, new)):
                return False
            one = update_since(old, one, now)
            away = FormerVersion(record=new, ended=now, because="joined")
            formers = (*make_former(old, one, now, "merged"), away)
            line = JournalLine(put=(one,), drop=(new.id,))
            self.write(f"merged “{shorten_content(new)}” with one like it", line, formers)
        return True

    # The files

    def _lock(self) -> AbstractContextManager[object]:
        """Return the lock for changes. Creates the folder. Raises OSError, TimeoutError."""
        make_ignored_folder(self.path.parent, self.path.parent)
        return FileLock(self.path.with_name(self.path.name + ".lock"))

    def _catch_up(self) -> None:
        """Update the index from the files; costs two `stat` calls if nothing was written.

        Raises CorruptDocument after a damaged snapshot was set aside (its journal is read nevertheless), or after a
        damaged journal was copied (its valid lines are read, and the next change writes them to the snapshot);
        NewerDocument; OSError.
        """
        for _ in range(100):
            seen, size = self._journal_state()
            is_same_snapshot = self._stamp() == self._snapshot_stamp
            if is_same_snapshot and (seen, size) == (self._seen, self._read_bytes):
                break
            # The journal goes on if it is the one read so far, only longer.
            if not is_same_snapshot or seen != self._seen or size < self._read_bytes:
                self._read_snapshot()
            if self._read_journal():
                break
        else:
            raise OSError(f"{str(self.path)!r} changes faster than it can be read")
        error, self._damage_error = self._damage_error, None
        if error is not None:
            raise error

    def _append(self, line: JournalLine, *, durable: bool = True) -> None:
        """Write one change and apply it to the index. The lock must be held and the index be up to date.

        durable: False for data that a power failure may lose, such as the time of a use.
        Raises OSError; then nothing has changed.
        """
        if self._journal_damaged:
            self._fold()
        fd = self._open_journal()
        try:
            end = os.fstat(fd).st_size
            try:
                write_all(fd, msgspec.json.encode(line) + b"\n", self._journal)
                if durable:
                    os.fsync(fd)
            except OSError:
                os.ftruncate(fd, end)  # half a line must not stay for the next one to be glued to
                raise
            self._read_bytes = os.fstat(fd).st_size
        finally:
            os.close(fd)
        self._carry_out(line)
        if self._read_bytes > FOLD_BYTES and self._read_bytes > self._snapshot_size():
            self._fold()

    def _fold(self) -> None:
        """Write a new snapshot and begin a new journal. The lock must be held and the index be up to date."""
        # A damaged journal is not overwritten if no copy of it can be made.
        if self._journal_damaged and copy_damaged(self._journal, read_regular(self._journal)) is None:
            raise OSError(errno.EIO, "it is damaged, and no copy of it could be saved", str(self._journal))
        generation = (self._generation or 0) + 1
        value = Snapshot(generation=generation, records=tuple(self._index.records.values()))
        write_atomic(self.path, encode_document(Document(value=value, unknown=self._unknown), FORMAT))
        self._generation = generation
        self._snapshot_stamp = self._stamp()
        write_atomic(self._journal, self._head())
        self._journal_damaged = False
        self._seen, self._read_bytes = self._journal_state()

    def _read_snapshot(self) -> None:
        self._index.clear()
        self._journal_damaged = False
        self._read_bytes, self._seen, self._generation, self._unknown = 0, None, None, {}
        self._snapshot_stamp = self._stamp()
        try:
            document = load_document(self.path, FORMAT)
        except OSError:
            self._snapshot_stamp = None  # it is to be read before anything is written
            raise
        except CorruptDocument:
            self._snapshot_stamp = self._stamp()
            self._read_journal()  # its lines are all that can still be read
            raise
        if document is not None:
            self._unknown = document.unknown
            self._generation = document.value.generation
            for record in document.value.records:
                self._index.put(record)

    def _read_journal(self) -> bool:
        """Apply the lines not read yet; return False if the snapshot was replaced meanwhile: read everything again."""
        try:
            opened = open_regular(self._journal, follow=False)
        except FileNotFoundError:
            self._seen, self._read_bytes = None, 0
            return self._stamp() == self._snapshot_stamp
        with opened as file:
            status = os.fstat(file.fileno())
            start = self._read_bytes
            file.seek(start)
            data = file.read()
        damaged_before = self.damaged
        whole = data[: data.rfind(b"\n") + 1]
        rest = data[len(whole) :]
        # The first line is written with the file, so one without it was damaged.
        if (start == 0 and not whole) or (rest and not is_truncated_line(rest)):
            self.damaged += 1
        lines = whole.split(b"\n")[:-1]
        if start == 0 and lines:
            generation = self._decode_head(lines.pop(0)).generation
            if self._generation is None:
                self._generation = generation
            elif generation < self._generation:
                lines = []  # a process folded the journal and died before it could begin the next one
        for line in lines:
            try:
                self._carry_out(decode_json(line, type=JournalLine))
            except (msgspec.DecodeError, UnicodeDecodeError):
                self.damaged += bool(line)
        if self.damaged > damaged_before:
            self._note_damage(self.damaged - damaged_before)
        self._seen = (status.st_dev, status.st_ino)
        self._read_bytes = start + len(data if self._journal_damaged else whole)
        if self._stamp() == self._snapshot_stamp:
            return True
        self._snapshot_stamp = None  # folded between our two reads
        return False

    def _note_damage(self, count: int) -> None:
        """Copy the damaged journal, and let the next call raise CorruptDocument, once per damage."""
        self._journal_damaged = True
        data = read_regular(self._journal)
        if find_damage_copy(self._journal, data) is not None:
            return
        copy = copy_damaged(self._journal, data)
        fate = f"a copy was saved as {copy.name!r}" if copy else "no copy of it could be saved"
        lines = "a line" if count == 1 else f"{count} lines"
        self._damage_error = CorruptDocument(
            tr(
                "{journal!r} is damaged: {lines} of it cannot be read; {fate}, and what can be read is used.",
                journal=str(self._journal),
                lines=lines,
                fate=fate,
            ),
            path=self._journal,
            moved_to=copy,
        )

    def _decode_head(self, line: bytes) -> JournalHead:
        try:
            head = decode_json(line, type=JournalHead)
            refuse_newer_version(self._journal, head.version, VERSION)
        except msgspec.DecodeError:
            self.damaged += 1
            return JournalHead(journal_of=FORMAT.schema, version=VERSION, generation=self._generation or 0)
        return head

    def _carry_out(self, line: JournalLine) -> None:
        for record in line.put:
            self._index.put(record)
        for id in line.drop:
            self._index.drop(id)
        for id in line.used:
            record = self._index.records.get(id)
            if record is not None:
                self._index.put(record.accessed_at(line.at))

    def _open_journal(self) -> int:
        """Open the journal for appending; create it if there is none of this generation."""
        stale = self._seen is None or self._is_of_an_older_generation()
        if stale:
            write_atomic(self._journal, self._head())
        fd = os.open(self._journal, os.O_RDWR | os.O_APPEND | NO_FOLLOW)
        try:
            terminate_last_line(fd, self._journal)
        except BaseException:
            os.close(fd)
            raise
        if stale:
            self._seen, self._read_bytes = self._journal_state()
        return fd

    def _is_of_an_older_generation(self) -> bool:
        with open_regular(self._journal) as file:
            first = file.readline()
        try:
            return decode_json(first, type=JournalHead).generation < (self._generation or 0)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return False

    def _head(self) -> bytes:
        head = JournalHead(journal_of=FORMAT.schema, version=VERSION, generation=self._generation or 0)
        return msgspec.json.encode(head) + b"\n"

    def _stamp(self) -> Stamp:
        return get_stamp(self.path) or (0, 0, 0, 0)

    def size(self) -> int:
        """Return the size of snapshot and journal in bytes, as last read."""
        return self._snapshot_size() + self._read_bytes

    def _snapshot_size(self) -> int:
        return self._snapshot_stamp[2] if self._snapshot_stamp else 0

    def _journal_state(self) -> tuple[tuple[int, ...] | None, int]:
        stamp = get_stamp(self._journal)
        return (stamp[:2], stamp[2]) if stamp else (None, 0)


def choose_id(typed: str, found: Collection[str]) -> str:
    """Return the only id that a text may mean, of those found. Raises UserError if there is none, or several."""
    if len(found) > 1:
        raise UserError(
            tr(
                "{count} memories have an id that begins with {prefix!r}; type more of it",
                count=len(found),
                prefix=typed,
            )
        )
    if not found:
        raise _make_unknown_id_error(typed)
    return next(iter(found))


def _find_ids(prefix: str, ids: Collection[str]) -> tuple[str, ...]:
    wanted = prefix.strip().lower()
    if wanted in ids:
        return (wanted,)
    return tuple(id for id in ids if may_mean(wanted, id)) if len(wanted) >= MIN_PREFIX_CHARS else ()


def may_mean(typed: str, id: str) -> bool:
    """Return whether an id begins or ends with a text in lower case, or its shown end begins with it."""
    return id.startswith(typed) or id.endswith(typed) or id[-SHORT_ID:].startswith(typed)


def _make_unknown_id_error(id: str) -> UserError:
    return UserError(tr("there is no memory {id!r}; `/memory list` shows the ids", id=id))


def _describe_save(done: Saved) -> str:
    """Return a description of a save, for undo."""
    what = f"{'confirmed' if done.action == 'merged' else 'remembered'} “{shorten_content(done.record)}”"
    if done.action == "superseded" and done.other:
        what += f" in the place of “{shorten_content(done.other)}”"
    if done.action in ("variant", "replaced_variant") and done.other:
        what += f" as what other sources say of “{shorten_content(done.other)}”"
    return what


def _is_unchanged(now: MemoryRecord | None, then: MemoryRecord | None) -> bool:
    """Return whether a record is as before, or still missing, apart from uses."""
    if now is None or then is None:
        return now is then
    return without_use(now) == without_use(then)
