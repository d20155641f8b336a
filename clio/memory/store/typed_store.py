"""Typed memories (`memories.json`): add, search, forget, compact. Every change can be undone."""

import time
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, structs

from clio.errors import UserError
from clio.ids import new_id
from clio.memory.store.change_log import LOG_NAME, Change, ChangeLog
from clio.memory.store.memory_index import MemoryIndex, Ranked, rank_records, rank_without_query
from clio.memory.store.record import (
    SHORT_ID,
    Kind,
    MemoryRecord,
    Provenance,
    Saved,
    check_record,
    check_type,
    default_confidence,
    has_expired,
    is_lasting,
    shorten_content,
    strip_use,
    update_since,
)
from clio.memory.store.typed_codec import (
    Because,
    FormerVersion,
    JournalLine,
    MemoryFiles,
    decode_records,
    logged_changes,
    make_former,
)
from clio.text.translation import tr

if TYPE_CHECKING:
    from clio.memory.store.deduplication import Decision, SavePlan
    from clio.memory.store.versions import Version

Scope = Literal["project", "user"]
DEFAULT_LIMIT = 10
_MIN_PREFIX_CHARS = 4
_EVERYTHING = 1 << 60


class TypedReading:
    """The reading half of a store: nothing here changes a file.

    Methods raise UserError for what cannot be found, StorageError for a file that cannot be read, and OSError.
    """

    def __init__(
        self,
        path: Path,
        scope: Scope = "project",
        *,
        clock: Callable[[], float] = time.time,
        log: ChangeLog | None = None,
    ) -> None:
        self.scope: Scope = scope
        self._log = log or ChangeLog(path.with_name(LOG_NAME), clock=clock)
        self._index = MemoryIndex()
        self._files = MemoryFiles(path, self._index, self._log, scope)
        self._clock = clock

    @property
    def path(self) -> Path:
        """Return the path of the snapshot."""
        return self._files.path

    def size(self) -> int:
        """Return the size of snapshot and journal in bytes."""
        self._files.catch_up()
        return self._files.size()

    @property
    def damaged(self) -> int:
        """Return how many lines of the files could not be read so far."""
        return self._files.damaged

    def peek(self, query: str | frozenset[str] = "", limit: int = DEFAULT_LIMIT, type: str = "") -> tuple[Ranked, ...]:
        """Return what `recall` would return, without counting it as used.

        Args:
            query: text, or the stems of words.
        """
        wanted, unwanted = _parse_type_filter(type)
        most = _EVERYTHING if limit < 0 else limit or DEFAULT_LIMIT
        self._files.catch_up()
        now = self._clock()
        if query.strip() if isinstance(query, str) else query:
            return rank_records(self._index, query, most, now, wanted=wanted, unwanted=unwanted)
        return rank_without_query(self._index, most, now, wanted=wanted, unwanted=unwanted)

    def list_terms(self, question: str, *, keep_single: bool = False) -> frozenset[str]:
        """Return the terms of memories that may answer a question, see `MemoryIndex.list_terms`."""
        self._files.catch_up()
        return self._index.list_terms(question, keep_single=keep_single)

    def records(self, *, superseded: bool = False) -> list[MemoryRecord]:
        """Return the live memories in the order they were created; with the superseded ones if asked."""
        self._files.catch_up()
        found = self._index.records.values() if superseded else self._index.live()
        return sorted(found, key=lambda record: (record.created, record.id))

    def live(self, ids: Iterable[str]) -> list[MemoryRecord]:
        """Return the live memories among these, in the order of the ids."""
        self._files.catch_up()
        found = (self._index.records.get(id) for id in ids)
        return [record for record in found if record is not None and record.is_live]

    def each(self, type: Kind) -> list[MemoryRecord]:
        """Return the live memories of one kind without variants, unsorted, which is cheaper than `records`."""
        self._files.catch_up()
        return self._index.of_kind(type)

    def of_session(self, session: str) -> list[MemoryRecord]:
        """Return the live memories of all kinds without variants that a session led to, oldest first."""
        self._files.catch_up()
        return self._index.of_session(session)

    def variants(self, id: str) -> tuple[MemoryRecord, ...]:
        """Return the memories that contradict this one with less confidence, at most three."""
        self._files.catch_up()
        return self._index.variants(id)

    def count(self) -> int:
        """Return the number of live memories."""
        self._files.catch_up()
        return len(self._index)

    def has(self, id: str) -> bool:
        """Return whether there is a memory with that id, live or superseded."""
        return id in self._index.records

    def find(self, prefix: str) -> MemoryRecord:
        """Return the memory that an id names, whole or shortened as `like` accepts it. Raises UserError."""
        self._files.catch_up()
        return self._index.records[_resolve_id(prefix, self._index.records)]

    def like(self, prefix: str) -> tuple[str, ...]:
        """Return the ids that this may mean: itself, otherwise all that begin or end with it.

        The end that tables show (`SHORT_ID`) may be shortened too, to its beginning.
        """
        self._files.catch_up()
        return _find_ids(prefix, self._index.records)

    def history(self, id: str) -> tuple[MemoryRecord, ...]:
        """Return a memory with those it replaced, those that replaced it, and variants, newest first.

        Raises UserError for an unknown id.
        """
        self._files.catch_up()
        found = self._lineage(id, self._files.formers())
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

        self._files.catch_up()
        formers = self._files.formers()
        found = list_typed_versions(self._index.records.values(), formers)
        if not prefix:
            return tuple(found)
        id = _resolve_id(prefix, dict.fromkeys((*self._index.records, *(former.record.id for former in formers))))
        related = {record.id for record in self._lineage(id, formers)} | {id}
        return tuple(version for version in found if version.record.id in related)

    def archived(self) -> tuple[MemoryRecord, ...]:
        """Return the memories that were forgotten or compacted, oldest first."""
        return tuple(one.record for one in self._files.formers() if one.left and one.because != "dropped")

    def ended_ids(self) -> frozenset[str]:
        """Return the ids of the memories that ended by a change that the log or the archive records."""
        formers = self._files.formers()
        return frozenset(former.record.id for former in formers if former.left or former.because == "undone")

    def _lineage(self, id: str, formers: Iterable[FormerVersion]) -> tuple[MemoryRecord, ...]:
        from clio.memory.store.versions import find_lineage

        gone = {former.record.id: former.record for former in formers if former.left}
        return find_lineage(id, gone | self._index.records)


def _resolve_id(prefix: str, ids: Collection[str]) -> str:
    """Return the only id that this may mean. Raises UserError if there is none, or several."""
    found = _find_ids(prefix, ids)
    if len(found) > 1:
        raise UserError(
            tr(
                "{count} memories have an id that begins with {prefix!r}; type more of it",
                count=len(found),
                prefix=prefix,
            )
        )
    if not found:
        raise _make_unknown_id_error(prefix)
    return found[0]


def _find_ids(prefix: str, ids: Collection[str]) -> tuple[str, ...]:
    wanted = prefix.strip().lower()
    if wanted in ids:
        return (wanted,)
    if len(wanted) < _MIN_PREFIX_CHARS:
        return ()
    return tuple(id for id in ids if id.startswith(wanted) or id.endswith(wanted) or id[-SHORT_ID:].startswith(wanted))


def _make_unknown_id_error(id: str) -> UserError:
    return UserError(tr("there is no memory {id!r}; `/memory list` shows the ids", id=id))


def _parse_type_filter(type: str) -> tuple[str, str]:
    """Return the kind to include and the kind to exclude, each "" for none. Raises UserError."""
    if type.startswith("!"):
        return "", check_type(type[1:])
    return (check_type(type), "") if type.strip() else ("", "")


Decide = Callable[[str], str]
"""Puts a prompt to a model and returns its answer. Where it raises, both memories are kept."""
MAX_ASKED = 50
"""Questions one compaction puts to a model."""


class Compacted(Struct, frozen=True, kw_only=True):
    """The result of compaction.

    Attributes:
        removed: number of memories that were archived.
        remaining: number of live memories.
        merged: how many of the removed ones are part of another memory now.
    """

    removed: int
    remaining: int
    merged: int = 0


class _ArchivedMemories(Struct, frozen=True, kw_only=True):
    """Memories that were archived, and their variants, which were archived with them."""

    wanted: tuple[MemoryRecord, ...]
    variants: tuple[MemoryRecord, ...]

    @property
    def all(self) -> tuple[MemoryRecord, ...]:
        return (*self.wanted, *self.variants)


def _never() -> bool:
    return False


class TypedStore(TypedReading):
    """The memories of one project, or of one user, in `memories.json`. Several processes may have it open.

    Methods raise UserError for what cannot be saved or found; StorageError for a file that cannot be read (it is set
    aside, and the next call continues with the rest); OSError; TimeoutError if another process holds the lock too long.

    Every change is written first to the log given to the constructor; default: `memory.log.jsonl` beside the file.
    """

    def remember(
        self,
        content: str,
        type: str = "note",
        importance: float = 0.5,
        *,
        keywords: Sequence[str] = (),
        scenarios: Sequence[str] = (),
        score: float | None = None,
        reason: str = "",
        explicit: bool = False,
        provenance: Provenance | None = None,
        examples: tuple[str, ...] = (),
        hashes: dict[str, str] | None = None,
        confidence: float | None = None,
        created: float = 0.0,
        decide: Decide | None = None,
    ) -> Saved:
        """Save a memory: one of the same meaning is confirmed, one with another value is replaced.

        Args:
            importance: clamped to 0.0 to 1.0.
            keywords: other words by which it can be found.
            examples: paths of the files it is about.
            confidence: 0.0 to 1.0; default: 1.0 if a user said it, 0.8 a model, 0.6 a tool. A statement that
                contradicts a memory with more confidence becomes one of its variants.
            created: when it was said, in seconds since the epoch; 0.0 means now.
            decide: asked, without the lock, whether two that share half of their words are one; None keeps both.
        """
        record = MemoryRecord(
            id=new_id(),
            kind=check_type(type),
            content=content,
            importance=importance,
            score=score,
            reason=reason.strip(),
            keywords=tuple(keywords),
            scenarios=tuple(scenarios),
            explicit=explicit,
            provenance=provenance,
            examples=examples,
            hashes=hashes or {},
            confidence=default_confidence(provenance) if confidence is None else confidence,
            created=created,
        )
        return self.reconsolidate(record, decide)

    def reconsolidate(self, record: MemoryRecord, decide: Decide | None = None) -> Saved:
        """Compare a record that lacks only its times with the memories, and save the result.

        Args:
            decide: as for `remember`.
        """
        from clio.memory.store.deduplication import ask_model, may_reword

        record = check_record(record)
        decided: dict[str, Decision] = {}
        while True:
            with self._changing():
                planned = self._plan(record, decided)
                beside = planned.remembered.other if planned.remembered.action == "kept_both" else None
                is_settled = beside is None or beside.id in decided or not may_reword(beside, record)
                if beside is None or decide is None or is_settled:
                    self._write(
                        _describe_save(planned.remembered),
                        JournalLine(put=planned.after, drop=planned.gone) if planned.after else None,
                        planned.before if planned.after else (),
                        planned.formers,
                    )
                    break
            # Others may write meanwhile, so it is looked at again.
            decided[beside.id] = ask_model(decide, beside.content, record.content)
        return planned.remembered

    def find_rule_of_user(self, content: str) -> MemoryRecord | None:
        """Return the rule or hard limit of the user that a statement repeats, changes or weakens; None if none."""
        from clio.memory.store.deduplication import find_nearest_memory, is_stated_by_user

        self._files.catch_up()
        near = find_nearest_memory(self._index, MemoryRecord(id="", kind="preference", content=content))
        holding = None if near is None else near.main or near.record
        return holding if holding is not None and is_lasting(holding) and is_stated_by_user(holding) else None

    def is_about_fact_of_user(self, content: str) -> bool:
        """Return whether a statement repeats a fact that the user stated, or gives another value for it."""
        from clio.memory.store.deduplication import find_nearest_memory, is_stated_by_user

        self._files.catch_up()
        near = find_nearest_memory(self._index, MemoryRecord(id="", kind="fact", content=content))
        if near is None or near.relation not in ("same", "supersedes"):
            return False
        return is_stated_by_user(near.main or near.record)

    def find_contradicted(self, content: str, kind: Kind) -> tuple[MemoryRecord, ...]:
        """Return the memory of a kind to which a statement gives another value, in a tuple; an empty one for none."""
        from clio.memory.store.deduplication import find_nearest_memory

        self._files.catch_up()
        near = find_nearest_memory(self._index, MemoryRecord(id="", kind=kind, content=content))
        return (near.main or near.record,) if near is not None and near.relation == "supersedes" else ()

    def recall(self, query: str = "", limit: int = DEFAULT_LIMIT, type: str = "") -> tuple[Ranked, ...]:
        """Return the memories that match a query, best first; each counts as used.

        Without query and kind: all preferences, and the best `limit` others.

        Args:
            limit: 0 means ten, −1 all.
            type: the only kind to return; "!fact" means all but facts.
        """
        found = self.peek(query, limit, type)
        if not found:
            return ()
        with suppress(OSError, TimeoutError):  # a disk that cannot be written can still be read
            self.use([hit.record.id for hit in found])
        return tuple(structs.replace(hit, record=self._index.records.get(hit.record.id, hit.record)) for hit in found)

    def use(self, ids: Sequence[str]) -> None:
        """Count these as used now, which keeps them from being pruned. A power failure may lose that."""
        with self._changing():
            self._files.append(JournalLine(used=tuple(ids), at=self._clock()), durable=False)

    def forget(self, id: str) -> bool:
        """Archive a memory; return False if there is none with that id."""
        return self.forget_all((id,)) == 1

    def forget_all(self, ids: Iterable[str], what: str = "", because: Because = "forgotten") -> int:
        """Archive memories with their variants as one change, and return how many of these ids existed.

        Args:
            what: describes the change; default: the memory's own text.
        """
        with self._changing():
            gone = self._archive([self._index.records.get(id) for id in dict.fromkeys(ids)], because, what)
        return len(gone.wanted)

    def update(self, id: str, **fields: object) -> MemoryRecord:
        """Change fields of a memory; a new text raises its version. Raises UserError if there is nothing to change."""
        if not fields:
            raise UserError(tr("nothing to change; name a field and its new value"))
        with self._changing():
            before = self._index.records.get(id)
            if before is None:
                raise UserError(tr("there is no memory {id!r}; `/memory list` shows the ids", id=id))
            now = self._clock()
            after = check_record(structs.replace(before, updated=now if before.is_live else before.updated, **fields))
            if after.content != before.content:
                after = structs.replace(after, version=before.version + 1, confirmations=())
            else:
                after = structs.replace(after, version=before.version)
            after = update_since(before, after, now)
            formers = make_former(before, after, now, "edited")
            self._write(f"changed “{shorten_content(before)}”", JournalLine(put=(after,)), (before,), formers)
        return after

    def put(self, what: str, changed: Sequence[MemoryRecord], because: Because = "edited") -> tuple[MemoryRecord, ...]:
        """Write records, new or replacing those with their ids, as one change; return them with their `since`.

        Args:
            because: why versions with another meaning ended.
        """
        if not changed:
            return ()
        with self._changing():
            now = self._clock()
            known = {new.id: old for new in changed if (old := self._index.records.get(new.id)) is not None}
            after = tuple(update_since(known[new.id], new, now) if new.id in known else new for new in changed)
            pairs = [(known[new.id], new) for new in after if new.id in known]
            formers = [former for old, new in pairs for former in make_former(old, new, now, because)]
            self._write(what, JournalLine(put=after), tuple(known.values()), formers)
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
        with self._changing():
            now, known = self._clock(), self._index.records
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
            line = JournalLine(
                put=tuple(put), drop=tuple(id for id in sorted(done) if wanted[id] is None and id in known)
            )
            changes = logged_changes("", at=now, scope=self.scope, formers=formers)
            if line.put or line.drop:
                with self._log.write_ahead(*changes):
                    self._files.append(line)
        return done

    def compact(self, decide: Decide | None = None, stop: Callable[[], bool] = _never) -> Compacted:
        """Archive faded memories, and merge those of the same meaning. Hard limits and explicit rules stay.

        Args:
            decide: asked about pairs that share half of their words.
            stop: asked between memories; what is done by then stays done.
        """
        with self._changing():
            now = self._clock()
            gone = self._archive([one for one in self._index.records.values() if has_expired(one, now)], "faded")
        merged = self._merge_alike(decide, stop) if self.prepare(stop) else 0
        with self._changing():
            if not stop():
                self._files.fold()
            return Compacted(removed=len(gone.all) + merged, remaining=len(self._index), merged=merged)

    def restore(self, id: str) -> MemoryRecord:
        """Restore a memory from the archive. Raises UserError if it is not there."""
        found = [record for record in self.archived() if record.id == id]
        if not found:
            raise UserError(tr("the archive has no memory {id!r}", id=id))
        now = self._clock()
        record = structs.replace(found[-1], accessed=now, since=now, superseded_by=None, variants_of=None)
        self.put(f"restored “{shorten_content(record)}”", (record,))
        return record

    def move(self, id: str, other: "TypedStore") -> MemoryRecord:
        """Move a memory with its history to another store. For a moment it is in both, but never in neither."""
        chain = [record for record in self.history(id) if record.id in self._index.records]
        ids = {record.id for record in chain}
        other._take_over([former for former in self._files.formers() if former.record.id in ids])
        other.put(f"moved “{shorten_content(chain[0])}” here", chain)
        with self._changing():
            line = JournalLine(drop=tuple(record.id for record in chain))
            self._write(f"moved “{shorten_content(chain[0])}” away", line, tuple(chain))
        return other.find(id)

    def revert(self, change: Change) -> None:
        """Undo a change exactly. Raises UserError if one of its records was changed since.

        A change logged by a process that died before making it counts as undone.
        """
        before, after = decode_records(change.before), decode_records(change.after)
        with self._changing():
            there = self._index.records
            former = {record.id: record for record in before}
            if all(_is_unchanged(there.get(one.id), former.get(one.id)) for one in (*before, *after)):
                return
            for record in after:
                now = there.get(record.id)
                if now is None or strip_use(now) != strip_use(record):
                    raise UserError(
                        tr("“{content}” has changed since, so it was left unchanged", content=shorten_content(record))
                    )
            changed = {record.id for record in after}
            for record in before:
                if record.id not in changed and record.id in there:
                    raise UserError(
                        tr("“{content}” exists again, so it was left unchanged", content=shorten_content(record))
                    )
            self._files.append(JournalLine(put=before, drop=tuple(id for id in changed if id not in former)))

    def _write(
        self, what: str, line: JournalLine | None, before: Sequence[MemoryRecord], formers: Iterable[FormerVersion] = ()
    ) -> None:
        """Log a change, then carry it out. The lock must be held and the index be up to date.

        Args:
            line: the change of the file; None if only versions are kept.
            before: the records it changes, as they were.
            formers: the versions that end with it.
        """
        after = line.put if line else ()
        changes = logged_changes(
            what, at=self._clock(), scope=self.scope, before=before, after=after, formers=list(formers)
        )
        with self._log.write_ahead(*changes):
            if line is not None:
                self._files.append(line)

    @contextmanager
    def _changing(self) -> Generator[None]:
        """Hold the lock with the index up to date."""
        with self._files.lock():
            self._files.catch_up()
            yield

    def _plan(self, record: MemoryRecord, decided: "dict[str, Decision]") -> "SavePlan":
        """Return what saving a record changes.

        Args:
            decided: answers of a model about memories that may have the same meaning, by id.
        """
        from clio.memory.store.deduplication import find_nearest_memory, plan_save

        near = find_nearest_memory(self._index, record)
        decision = decided.get(near.record.id) if near is not None and near.relation == "unclear" else None
        return plan_save(record, near, decision, self._clock())

    def _archive(self, found: Iterable[MemoryRecord | None], because: Because, what: str = "") -> "_ArchivedMemories":
        """Archive the memories that exist, with their variants. The lock must be held."""
        wanted = tuple(record for record in found if record is not None)
        ids = {record.id for record in wanted}
        variants = tuple(one for record in wanted for one in self._index.variants(record.id) if one.id not in ids)
        gone = _ArchivedMemories(wanted=wanted, variants=variants)
        if gone.all:
            now = self._clock()
            faded = f"compacted {len(gone.all)} memories away"
            formers = [FormerVersion(record=record, ended=now, because=because) for record in gone.all]
            self._write(
                what or (faded if because == "faded" else f"forgot “{shorten_content(gone.all[0])}”"),
                JournalLine(drop=tuple(record.id for record in gone.all)),
                gone.all,
                formers,
            )
        return gone

    def _take_over(self, formers: Sequence[FormerVersion]) -> None:
        with self._changing():
            self._write("", None, (), formers)

    def prepare(self, stop: Callable[[], bool] = _never) -> bool:
        """Build the similarity index in advance, so that the next memory need not wait for it; False if stopped."""
        self._files.catch_up()
        return self._index.index_alike(stop)

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
        with self._changing():
            if any(self._index.records.get(record.id) != record for record in (old, new)):
                return False
            now = self._clock()
            one = update_since(old, one, now)
            away = FormerVersion(record=new, ended=now, because="joined")
            formers = (*make_former(old, one, now, "merged"), away)
            line = JournalLine(put=(one,), drop=(new.id,))
            self._write(f"merged “{shorten_content(new)}” with one like it", line, (old, new), formers)
        return True


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
    return strip_use(now) == strip_use(then)
