"""Typed memories: remember, recall, forget, compact. Nothing is silently overwritten; every change can be undone."""

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from msgspec import Struct, structs

from clio.errors import UserError
from clio.ids import new_id
from clio.memory.records import Provenance
from clio.memory.typed.answer import Decision, ask
from clio.memory.typed.files import Line, MemoryFiles
from clio.memory.typed.links import lineage
from clio.memory.typed.merging import Plan, Remembered, join, nearest, plan
from clio.memory.typed.ranked import Ranked, load_all, rank
from clio.memory.typed.record import (
    MemoryRecord,
    MemoryType,
    check_content,
    check_importance,
    check_preference_score,
    check_type,
    checked,
    cleaned_tags,
    is_pruned,
    short,
    without_use,
)
from clio.memory.typed.shelf import Shelf

Scope = Literal["project", "user"]
Decide = Callable[[str], str]
"""Puts a prompt to a model and returns its answer. Where it raises, both memories are kept."""
DEFAULT_LIMIT = 10
MAX_ASKED = 50
"""Questions one compaction puts to a model."""
_LEAST_PREFIX = 4
_EVERYTHING = 1 << 60


class Edit(Struct, frozen=True, kw_only=True):
    """One change as it can be taken back, with a few words on what was done.

    A record in `after` alone is new; one in `before` alone is gone.
    """

    what: str
    before: tuple[MemoryRecord, ...] = ()
    after: tuple[MemoryRecord, ...] = ()


class Compacted(Struct, frozen=True, kw_only=True):
    """How many memories left for the archive, how many stay, how many of those that left are part of another now."""

    removed: int
    remaining: int
    merged: int = 0


def _ignore(edit: Edit) -> None:
    return


class TypedStore:
    """The memories of one project, or of one person, in `memories.json`; several processes may have it open.

    on_edit: told of every change that can be undone, once it is on disk.
    Methods raise UserError for what cannot be remembered or found; StorageError for a file that is not what it should
    be (it is set aside, and the next call goes on with what is left); OSError; TimeoutError where another process does
    not let go of the lock.
    """

    def __init__(
        self,
        path: Path,
        scope: Scope = "project",
        *,
        clock: Callable[[], float] = time.time,
        on_edit: Callable[[Edit], None] = _ignore,
    ) -> None:
        self.scope: Scope = scope
        self._shelf = Shelf()
        self._files = MemoryFiles(path, self._shelf)
        self._clock = clock
        self._on_edit = on_edit

    @property
    def path(self) -> Path:
        """The snapshot's file."""
        return self._files.path

    @property
    def damaged(self) -> int:
        """How many lines of the files could not be read so far."""
        return self._files.damaged

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
        hashes: dict[str, str] | None = None,
        decide: Decide | None = None,
    ) -> Remembered:
        """Keep something; what is known already is confirmed, what has changed takes the old one's place.

        importance: drawn into 0.0 to 1.0. keywords: other words it is to be found by.
        decide: asked, outside the lock, whether two that share half of their words are one; without it both are kept.
        """
        record = MemoryRecord(
            id=new_id(),
            type=check_type(type),
            content=check_content(content),
            importance=check_importance(importance),
            score=check_preference_score(score),
            reason=reason.strip(),
            keywords=cleaned_tags(keywords),
            scenarios=cleaned_tags(scenarios),
            explicit=explicit,
            provenance=provenance,
            hashes=hashes or {},
        )
        decided: dict[str, Decision] = {}
        while True:
            with self._changing():
                near = nearest(self._shelf, record)
                doubt = near.record if near is not None and near.verdict == "doubtful" else None
                if doubt is None or decide is None or doubt.id in decided:
                    planned = plan(record, near, decided.get(doubt.id) if doubt else None, self._clock())
                    self._files.append(Line(put=planned.after))
                    break
            # Others may write meanwhile, so it is looked at again.
            decided[doubt.id] = ask(decide, doubt.content, record.content)
        self._tell(planned)
        return planned.remembered

    def add_many(self, records: Iterable[MemoryRecord]) -> list[Remembered]:
        """Remember records that are whole but for their times: one change on disk, and one to undo."""
        before: dict[str, MemoryRecord] = {}
        after: dict[str, MemoryRecord] = {}
        done: list[Remembered] = []
        with self._changing():
            try:
                for record in records:
                    planned = plan(record, nearest(self._shelf, record), None, self._clock())
                    before |= {old.id: old for old in planned.before if old.id not in after and old.id not in before}
                    after |= {new.id: new for new in planned.after}
                    for new in planned.after:
                        self._shelf.put(new)
                    done.append(planned.remembered)
                self._files.append(Line(put=tuple(after.values())))
            except BaseException:
                for id in after:  # what is not on disk must not be in memory either
                    self._shelf.drop(id)
                for old in before.values():
                    self._shelf.put(old)
                raise
        what = f"remembered {len(done)} memories"
        self._on_edit(Edit(what=what, before=tuple(before.values()), after=tuple(after.values())))
        return done

    def recall(self, query: str = "", limit: int = DEFAULT_LIMIT, type: str = "") -> tuple[Ranked, ...]:
        """The memories that answer a query, best first; each counts as used from now on.

        limit: 0 means ten, −1 all. type: only that one; "!fact" means all but facts.
        Without query and type: all preferences, and the best `limit` others.
        """
        found = self.peek(query, limit, type)
        if not found:
            return ()
        with suppress(OSError, TimeoutError):  # a disk that cannot be written can still be read
            self.use([hit.record.id for hit in found])
        return tuple(structs.replace(hit, record=self._shelf.records.get(hit.record.id, hit.record)) for hit in found)

    def peek(self, query: str | frozenset[str] = "", limit: int = DEFAULT_LIMIT, type: str = "") -> tuple[Ranked, ...]:
        """What `recall` would give, without any of it counting as used. query: words, or the stems of words."""
        wanted, unwanted = _filter(type)
        most = _EVERYTHING if limit < 0 else limit or DEFAULT_LIMIT
        self._files.catch_up()
        now = self._clock()
        if query.strip() if isinstance(query, str) else query:
            return rank(self._shelf, query, most, now, wanted=wanted, unwanted=unwanted)
        return load_all(self._shelf, most, now, wanted=wanted, unwanted=unwanted)

    def keywords_like(self, term: str) -> set[str]:
        """The stems of keywords that a stem no memory has may be a misspelling of."""
        self._files.catch_up()
        return self._shelf.keywords_like(term)

    def use(self, ids: Sequence[str]) -> None:
        """Count these as used now, which keeps them from being pruned. A power failure may take that back."""
        with self._changing():
            self._files.append(Line(used=tuple(ids), at=self._clock()), durable=False)

    def records(self, *, superseded: bool = False) -> list[MemoryRecord]:
        """The live memories in the order they were made; with those that were superseded if asked."""
        self._files.catch_up()
        found = self._shelf.records.values() if superseded else self._shelf.live()
        return sorted(found, key=lambda record: (record.created, record.id))

    def live(self, ids: Iterable[str]) -> list[MemoryRecord]:
        """Those of these that are live, in their order."""
        self._files.catch_up()
        found = (self._shelf.records.get(id) for id in ids)
        return [record for record in found if record is not None and record.is_live]

    def each(self, type: MemoryType) -> Iterator[MemoryRecord]:
        """The live memories of one type, in no particular order, without the cost of one."""
        self._files.catch_up()
        return (record for record in tuple(self._shelf.live()) if record.type == type)

    def count(self) -> int:
        """How many live memories there are."""
        self._files.catch_up()
        return len(self._shelf)

    def find(self, prefix: str) -> MemoryRecord:
        """The memory whose id is this, or alone begins or ends with it. Raises UserError."""
        self._files.catch_up()
        wanted = prefix.strip().lower()
        exact = self._shelf.records.get(wanted)
        if exact is not None:
            return exact
        ids = [id for id in self._shelf.records if id.startswith(wanted) or id.endswith(wanted)]
        if len(wanted) >= _LEAST_PREFIX and len(ids) == 1:
            return self._shelf.records[ids[0]]
        if len(wanted) >= _LEAST_PREFIX and ids:
            raise UserError(f"{len(ids)} memories have an id like {prefix!r}; give more of it")
        raise UserError(f"there is no memory {prefix!r}; `/memory recall` shows those there are with their ids")

    def forget(self, id: str) -> bool:
        """Put a memory into the archive; False where there is none of that id (any more)."""
        return self.forget_all((id,)) == 1

    def forget_all(self, ids: Iterable[str], what: str = "") -> int:
        """Put memories into the archive as one change, and one to undo; how many there were.

        what: words for that change; the memory's own without.
        """
        with self._changing():
            found = [self._shelf.records.get(id) for id in dict.fromkeys(ids)]
            gone = tuple(record for record in found if record is not None)
            if not gone:
                return 0
            self._files.set_aside(gone)
            self._files.append(Line(drop=tuple(record.id for record in gone)))
        self._on_edit(Edit(what=what or f"forgot “{short(gone[0])}”", before=gone))
        return len(gone)

    def update(self, id: str, **fields: object) -> MemoryRecord:
        """Change fields of a memory; with its words its version rises. Raises UserError where nothing is to change."""
        if not fields:
            raise UserError("nothing to change was given; name a field and its new value")
        with self._changing():
            before = self._shelf.records.get(id)
            if before is None:
                raise UserError(f"there is no memory {id!r}; `/memory recall` shows those there are with their ids")
            after = checked(structs.replace(before, updated=self._clock(), **fields))
            after = structs.replace(after, version=before.version + (after.content != before.content))
            self._files.append(Line(put=(after,)))
        self._on_edit(Edit(what=f"changed “{short(before)}”", before=(before,), after=(after,)))
        return after

    def put(self, what: str, changed: Sequence[MemoryRecord]) -> None:
        """Write records as they are, new or in the place of those with their ids: one change, and one to undo."""
        if not changed:
            return
        with self._changing():
            before = tuple(old for new in changed if (old := self._shelf.records.get(new.id)) is not None)
            self._files.append(Line(put=tuple(changed)))
        self._on_edit(Edit(what=what, before=before, after=tuple(changed)))

    def compact(self, decide: Decide | None = None) -> Compacted:
        """Put what has faded into the archive, and join what says the same. Hard limits and explicit rules stay.

        decide: asked about pairs that share half of their words.
        """
        with self._changing():
            now = self._clock()
            gone = tuple(record for record in self._shelf.records.values() if is_pruned(record, now))
            if gone:
                self._files.set_aside(gone)
                self._files.append(Line(drop=tuple(record.id for record in gone)))
        if gone:
            self._on_edit(Edit(what=f"compacted {len(gone)} memories away", before=gone))
        joined = self._join_alike(decide)
        with self._changing():
            self._files.fold()
            return Compacted(removed=len(gone) + joined, remaining=len(self._shelf), merged=joined)

    def history(self, id: str) -> tuple[MemoryRecord, ...]:
        """A memory with what it took the place of and what took its place, newest first. Raises UserError."""
        self._files.catch_up()
        found = lineage(id, {record.id: record for record in self._files.archived()} | self._shelf.records)
        if not found:
            raise UserError(f"there is no memory {id!r}; `/memory recall` shows those there are with their ids")
        return found

    def archived(self) -> tuple[MemoryRecord, ...]:
        """What was forgotten or compacted away, oldest first."""
        return self._files.archived()

    def restore(self, id: str) -> MemoryRecord:
        """Bring a memory back from the archive. Raises UserError where it is not there."""
        found = [record for record in self._files.archived() if record.id == id]
        if not found:
            raise UserError(f"the archive holds no memory {id!r}")
        record = structs.replace(found[-1], accessed=self._clock(), superseded_by=None)
        self.put(f"restored “{short(record)}”", (record,))
        return record

    def move(self, id: str, other: "TypedStore") -> MemoryRecord:
        """Take a memory with its history over to another store; it is in both for a moment, never in none."""
        chain = [record for record in self.history(id) if record.id in self._shelf.records]
        other.put(f"moved “{short(chain[0])}” here", chain)
        with self._changing():
            self._files.append(Line(drop=tuple(record.id for record in chain)))
        self._on_edit(Edit(what=f"moved “{short(chain[0])}” away", before=tuple(chain)))
        return other.find(id)

    def revert(self, edit: Edit) -> None:
        """Take a change back exactly. Raises UserError where one of its records was changed since."""
        with self._changing():
            there = self._shelf.records
            for record in edit.after:
                now = there.get(record.id)
                if now is None or without_use(now) != without_use(record):
                    raise UserError(f"“{short(record)}” was changed since, so it is left as it is")
            changed = {record.id for record in edit.after}
            for record in edit.before:
                if record.id not in changed and record.id in there:
                    raise UserError(f"“{short(record)}” is there again, so it is left as it is")
            restored = {record.id for record in edit.before}
            self._files.append(Line(put=edit.before, drop=tuple(id for id in changed if id not in restored)))

    @contextmanager
    def _changing(self) -> Generator[None]:
        """Alone with the files, and in step with them."""
        with self._files.lock():
            self._files.catch_up()
            yield

    def _tell(self, planned: Plan) -> None:
        remembered = planned.remembered
        what = f"{_DONE[remembered.action]} “{short(remembered.record)}”"
        if remembered.action == "superseded" and remembered.old:
            what += f" in the place of “{short(remembered.old)}”"
        self._on_edit(Edit(what=what, before=planned.before, after=planned.after))

    def _join_alike(self, decide: Decide | None) -> int:
        """Merge live memories that say the same; the older one stays. Returns how many are gone."""
        joined = asked = 0
        for record in self.records():
            near = nearest(self._shelf, record) if self._shelf.records.get(record.id) == record else None
            if near is None or near.verdict == "successor" or near.record.created > record.created:
                continue
            decision: Decision | None = None
            if near.verdict == "doubtful":
                if decide is None or asked >= MAX_ASKED:
                    continue
                asked += 1
                decision = ask(decide, near.record.content, record.content)
                if decision.action == "keep":
                    continue
            joined += self._join(near.record, record, decision)
        return joined

    def _join(self, old: MemoryRecord, new: MemoryRecord, decision: Decision | None) -> bool:
        """Make two memories one; False where somebody changed either of them meanwhile."""
        with self._changing():
            if any(self._shelf.records.get(record.id) != record for record in (old, new)):
                return False
            one = join(old, new, decision)
            self._files.set_aside((new,))
            self._files.append(Line(put=(one,), drop=(new.id,)))
        self._on_edit(Edit(what=f"joined “{short(new)}” with one like it", before=(old, new), after=(one,)))
        return True


_DONE = {"new": "remembered", "merged": "confirmed", "superseded": "remembered", "kept_both": "remembered"}


def _filter(type: str) -> tuple[str, str]:
    """The type wanted and the type not wanted; empty where there is none."""
    if type.startswith("!"):
        return "", check_type(type[1:])
    return (check_type(type), "") if type.strip() else ("", "")
