"""Memory in PostgreSQL: the store that `clio mcp` serves to a team.

What a new memory replaces, confirms or contradicts is decided by the code of the file store: `TypedStore` works on
`_DatabaseIndex`, `_DatabaseLog` and the table `clio.memory` instead of an index in memory and files, within the
transaction that the caller opened.
"""

import time
import zlib
from array import array
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec import structs

from clio.errors import ToolRetry, UserError
from clio.ids import new_id
from clio.memory.database.connection import LOCK_CLASS, is_in_transaction
from clio.memory.database.search import (
    Found,
    TermStatistics,
    count_with,
    find_alike,
    find_best,
    find_strongest,
    find_where,
    get_used_day,
    is_usable_term,
)
from clio.memory.retrieval.retriever import search_project
from clio.memory.statement_relation import mask_digits
from clio.memory.store.change_log import Change, ChangeLog, FormerVersion, LoggedChange, list_record_ids, read_formers
from clio.memory.store.deduplication import merge_records
from clio.memory.store.memory_index import MemoryIndex, Ranked, extract_indexed_terms, rank_records, rank_without_query
from clio.memory.store.memory_store import MemoryStore
from clio.memory.store.record import (
    PROJECT_KINDS,
    SHORT_ID,
    TYPED_KINDS,
    Freshness,
    Hit,
    MemoryDraft,
    MemoryRecord,
    Provenance,
    Saved,
    has_expired,
    normalize_for_comparison,
    select_types,
    shorten_content,
)
from clio.memory.store.typed_store import (
    DEFAULT_LIMIT,
    MIN_PREFIX_CHARS,
    Compacted,
    Decide,
    JournalLine,
    Scope,
    TypedStore,
    may_mean,
)
from clio.memory.store.versions import Version, find_lineage, list_typed_versions
from clio.text.formatting import format_count
from clio.text.json_data import decode_json
from clio.text.scoring import DAY_S, HALF_LIFE_DAYS, MAX_UNUSED_DAYS, PRUNE_IMPORTANCE
from clio.text.similarity import BAND_COUNT, ROWS_PER_BAND, compute_signature, extract_distinctive_words
from clio.text.translation import tr
from clio.text.vocabulary import QuestionWord, extract_terms, is_stop_word_stem

if TYPE_CHECKING:
    from clio.memory.database.connection import Connection
    from clio.memory.transcripts.session_text import Recall

PROJECT_OWNER = ""
MAX_RECALLED = 1_000
"""Memories that one recall returns; the file store has no limit for "all"."""
MAX_PREFERENCES = 200
"""Preferences of an owner that a recall without a query returns."""
MAX_ENTRIES = 1_000
"""Entries of project memory that are listed, the newest; a query searches all."""
_MAX_SEARCHED = 200
_MAX_MATCHES = 200
_MAX_LINEAGE = 500
_MAX_FADED = 2_000
SESSION_PREFIX = "team/"
"""Begins the session of a member's statements, so that those of two members corroborate each other."""


def hash_text(text: str) -> int:
    """Return a 64-bit number that is the same for texts that say the same, see `has_same_text`."""
    return _hash_64(normalize_for_comparison(text))


def _hash_64(text: str) -> int:
    import hashlib

    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "big", signed=True)


def make_bands(content: str) -> list[int]:
    """Return a number for each band of a text's signature; texts that share one are candidates of `LshIndex`."""
    signature = compute_signature(extract_distinctive_words(content))
    packed = array("I", signature[: BAND_COUNT * ROWS_PER_BAND]).tobytes()
    width = len(packed) // BAND_COUNT
    hashes = (zlib.crc32(packed[n * width : (n + 1) * width], n) for n in range(BAND_COUNT))
    return [value - (1 << 32) if value >= 1 << 31 else value for value in hashes]


def make_row(record: MemoryRecord, owner: str) -> dict[str, Any]:
    """Return the columns of `clio.memory` for a record."""
    text = msgspec.json.encode(structs.replace(record, accessed=0.0, access_count=0)).decode()
    masked = mask_digits(record.content)
    return {
        "id": record.id,
        "owner": owner,
        "kind": record.kind,
        "live": record.is_live,
        "superseded_by": record.superseded_by,
        "variants_of": record.variants_of,
        "importance": record.importance,
        "created": record.created,
        "updated": record.updated,
        "accessed": record.accessed,
        "access_count": record.access_count,
        "used_day": get_used_day(record.accessed),
        "size": max(len(terms := extract_indexed_terms(record)), 1),
        "text_hash": hash_text(record.content),
        "digits_hash": None if masked is None else _hash_64(masked),
        "bands": make_bands(record.content),
        "terms": [term for term in terms if is_usable_term(term)],
        "record": text,
    }


COLUMNS = tuple(make_row(MemoryRecord(id="x", kind="note", content="x"), ""))
_VALUES = ", ".join(f"array_to_tsvector(%({name})s)" if name == "terms" else f"%({name})s" for name in COLUMNS)
_UPDATES = ", ".join(f"{name} = excluded.{name}" for name in COLUMNS if name != "id")
INSERT = f"insert into clio.memory ({', '.join(COLUMNS)}) values ({_VALUES})"
_PUT = f"{INSERT} on conflict (id) do update set {_UPDATES} where clio.memory.owner = excluded.owner returning 1"


class Work:
    """One call of a member: the connection, who calls, and what was read so far.

    member: "" for an administrator on the command line.
    """

    def __init__(
        self,
        connection: "Connection",
        statistics: TermStatistics,
        member: str = "",
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.connection = connection
        self.statistics = statistics
        self.member = member
        self.clock = clock
        self.found: dict[str, Found | None] = {}
        self.locked: set[str] = set()
        self.group: tuple[str, str] = ("", "")

    def keep(self, found: Iterable[Found]) -> list[MemoryRecord]:
        """Note what was read, and return the records."""
        listed = list(found)
        self.found.update((one.record.id, one) for one in listed)
        return [one.record for one in listed]

    def load(self, ids: Collection[str]) -> None:
        """Read the records of these ids that were not read yet."""
        if unknown := [id for id in ids if id not in self.found and "\x00" not in id]:
            self.found.update(dict.fromkeys(unknown))
            self.keep(find_where(self.connection, "m.id = any(%s)", [unknown]))

    def lock(self, owner: str) -> None:
        """Let no other call change memories of this owner until the transaction ends."""
        if owner in self.locked:
            return
        self.connection.execute(
            "select pg_advisory_xact_lock(%s, %s)", (LOCK_CLASS, 1 + zlib.crc32(owner.encode()) % 0x7FFF_FFFE)
        )
        self.locked.add(owner)
        self.found.clear()  # others may have changed it meanwhile


class _Records(Mapping[str, MemoryRecord]):
    """The records of one owner, by id, read when they are asked for."""

    def __init__(self, work: Work, owner: str) -> None:
        self._work = work
        self._owner = owner

    def __getitem__(self, id: str) -> MemoryRecord:
        self._work.load((id,))
        found = self._work.found.get(id)
        if found is None or found.owner != self._owner:
            raise KeyError(id)
        return found.record

    def __iter__(self) -> Iterator[str]:
        rows = self._work.connection.execute("select id from clio.memory where owner = %s", (self._owner,))
        return (str(id) for (id,) in rows.fetchall())

    def __len__(self) -> int:
        row = self._work.connection.execute("select count(*) from clio.memory where owner = %s", (self._owner,))
        return int((row.fetchone() or (0,))[0])


class _DatabaseIndex(MemoryIndex):
    """The memories of one owner in PostgreSQL, read as they are needed."""

    def __init__(self, work: Work, owner: str) -> None:
        super().__init__()
        self._work = work
        self._owner = owner
        self.records = cast(dict[str, MemoryRecord], _Records(work, owner))

    def __len__(self) -> int:
        row = self._work.connection.execute("select live from clio.scope where owner = %s", (self._owner,)).fetchone()
        return int(row[0]) if row else 0

    def put(self, record: MemoryRecord) -> None:
        self._work.keep([Found(record=record, owner=self._owner)])

    def drop(self, id: str) -> None:
        self._work.found[id] = None

    def live(self) -> Iterator[MemoryRecord]:
        return iter(self.find_records("live", [], limit=MAX_RECALLED * 1_000))

    def of_kind(self, kind: str) -> list[MemoryRecord]:
        return self.find_records("live and kind = %s and variants_of is null", [kind])

    def of_session(self, session: str) -> list[MemoryRecord]:
        found = self.find_records("live and variants_of is null", [], limit=MAX_RECALLED * 1_000)
        return [one for one in found if one.provenance is not None and one.provenance.session == session]

    def variants(self, id: str) -> tuple[MemoryRecord, ...]:
        found = self.find_records("live and variants_of = %s", [id])
        return tuple(sorted(found, key=lambda record: (record.created, record.id)))

    def matches(self, query: Iterable[str]) -> dict[str, int]:
        terms = frozenset(query)
        found = find_best(
            self._work.connection,
            self._work.statistics,
            terms,
            owners=(self._owner,),
            kinds=(*TYPED_KINDS, *PROJECT_KINDS),
            limit=_MAX_MATCHES,
            now=self._work.clock(),
        )
        self._work.keep(found)
        return _FoundIndex(found).count_hits(terms)

    def size(self, id: str) -> int:
        return len(extract_indexed_terms(self.records[id]))

    def count_with_term(self, term: str) -> int:
        return self.count_with_each_term((term,))[term]

    def count_with_each_term(self, terms: Iterable[str]) -> dict[str, int]:
        # The caller compares with 50.
        return count_with(self._work.connection, self._work.statistics, list(terms), self._owner, 51)

    def find_keyword_terms(self, question: str, words: Sequence[QuestionWord]) -> set[str]:
        return set()

    def list_similar(self, type: str, content: str) -> list[MemoryRecord]:
        found = find_alike(self._work.connection, make_bands(content), self._owner, type)
        return list({record.id: record for record in self._work.keep(found)}.values())

    def list_differing_in_numbers(self, kind: str, content: str) -> list[MemoryRecord]:
        masked = mask_digits(content)
        return (
            []
            if masked is None
            else self.find_records("live and kind = %s and digits_hash = %s", [kind, _hash_64(masked)])
        )

    def build_similarity_index(self, stop: Callable[[], bool] = lambda: False) -> bool:
        return not stop()

    def find_records(self, condition: str, values: list[Any], limit: int = 1_000) -> list[MemoryRecord]:
        """Return the memories of the owner for which an SQL condition holds."""
        return self._work.keep(
            find_where(self._work.connection, f"m.owner = %s and {condition}", [self._owner, *values], limit)
        )


def count_uses(connection: "Connection", ids: Sequence[str], at: float, *, wait: bool = True) -> None:
    """Count memories as used. One that another call counts at this moment is passed over.

    wait: until the commit is on the disk. Without it, this must be the only statement of its transaction.
    """
    alone = "" if wait else ", (select set_config('synchronous_commit', 'off', true)) c"
    connection.execute(
        "update clio.memory m set accessed = greatest(m.accessed, %(at)s), access_count = m.access_count + 1, "
        "used_day = greatest(m.used_day, %(day)s) "
        f"from (select id from clio.memory where id = any(%(ids)s) order by id for update skip locked) s{alone} "
        "where m.id = s.id".encode(),
        {"at": at, "day": get_used_day(at), "ids": list(ids)},
        prepare=True,
    )


def decode_change(text: str) -> Change:
    """Return a change as it is stored."""
    return decode_json(text.encode(), type=Change)


class _DatabaseLog(ChangeLog):
    """The change log of one owner, in the table `clio.change`."""

    def __init__(self, work: Work, owner: str, clock: Callable[[], float]) -> None:
        super().__init__(Path("clio.change"), clock=clock)
        self._work = work
        self._owner_name = owner

    def append(self, *changes: Change) -> None:
        group, title = self._work.group
        for change in changes:
            named = structs.replace(change, group=group, title=title) if group and change.what else change
            ids = {id for raw in (change.before, change.after) for id in list_record_ids(raw)}
            self._work.connection.execute(
                "insert into clio.change (id, at, owner, member, ids, what, group_id, change) "
                "values (%s, %s, %s, %s, %s, %s, %s, %s)",
                (
                    named.id,
                    named.at,
                    self._owner_name,
                    self._work.member,
                    sorted(ids | change.ended.keys()),
                    named.what.replace("\x00", "�"),
                    group,
                    msgspec.json.encode(named).decode(),
                ),
                prepare=True,
            )

    @contextmanager
    def write_ahead(self, *changes: Change) -> Generator[None]:
        """Write changes in the transaction that also makes them: both happen, or neither."""
        self.append(*changes)
        yield


class DatabaseTypedStore(TypedStore):
    """The memories of the project, or of one member, in PostgreSQL."""

    def __init__(self, work: Work, owner: str, scope: Scope, clock: Callable[[], float]) -> None:
        self.path = Path("clio.memory")
        self.scope: Scope = scope
        self.owner = owner
        self._work = work
        self._clock = clock
        self._index = self._rows = _DatabaseIndex(work, owner)
        self._log = _DatabaseLog(work, owner, clock)

    # In place of files: the transaction of the call

    @contextmanager
    def _lock(self) -> Generator[None]:
        self._work.lock(self.owner)
        yield

    def _catch_up(self) -> None:
        """Nothing is kept between two calls."""

    def _append(self, line: JournalLine, *, durable: bool = True) -> None:
        connection = self._work.connection
        self._work.load([record.id for record in line.put])
        self._work.load(line.drop)
        change = 0
        for record in line.put:
            before = self._rows.records.get(record.id)
            row = connection.execute(_PUT.encode(), make_row(record, self.owner), prepare=True).fetchone()
            if row is None:
                raise UserError(tr("the id {id} is already used by another member's memory", id=record.id))
            change += record.is_live - (before is not None and before.is_live)
            self._rows.put(record)
        for id in line.drop:
            before = self._rows.records.get(id)
            if before is not None:
                connection.execute("delete from clio.memory where id = %s and owner = %s", (id, self.owner))
                change -= before.is_live
            self._rows.drop(id)
        if change:
            connection.execute(
                "insert into clio.scope (owner, live) values (%s, %s) "
                "on conflict (owner) do update set live = clio.scope.live + excluded.live",
                (self.owner, change),
                prepare=True,
            )
        if line.used:
            count_uses(connection, line.used, line.at)

    def _fold(self) -> None:
        """PostgreSQL removes old rows itself."""

    def size(self) -> int:
        row = self._work.connection.execute("select pg_total_relation_size('clio.memory')").fetchone()
        return int(row[0]) if row else 0

    def formers(self) -> tuple[FormerVersion, ...]:
        return self.read_formers("true order by id desc limit 500", ())

    def read_formers(self, condition: str, values: Sequence[Any]) -> tuple[FormerVersion, ...]:
        """Return the former versions in the changes for which an SQL condition holds, oldest first."""
        rows = self._work.connection.execute(
            f"select change, undone_at from clio.change where owner = %s and {condition}".encode(),
            (self.owner, *values),
        ).fetchall()
        changes = [LoggedChange(change=decode_change(text), undone_at=undone) for text, undone in rows]
        changes.sort(key=lambda one: one.change.id)
        return tuple(read_formers(changes, self.scope))

    # Reading and changing

    def peek(self, query: str | frozenset[str] = "", limit: int = DEFAULT_LIMIT, type: str = "") -> tuple[Ranked, ...]:
        most = MAX_RECALLED if limit < 0 else min(limit or DEFAULT_LIMIT, MAX_RECALLED)
        return search_memories(self._work, (self.owner,), query, most, type, self._clock())

    def reconsolidate(self, record: MemoryRecord, decide: Decide | None = None) -> Saved:
        return super().reconsolidate(structs.replace(record, by=self._work.member), decide)

    def records(self, *, superseded: bool = False) -> list[MemoryRecord]:
        found = self._rows.live() if not superseded else self._rows.records.values()
        return sorted(found, key=lambda record: (record.created, record.id))

    def live(self, ids: Iterable[str]) -> list[MemoryRecord]:
        self._work.load(wanted := list(ids))
        return super().live(wanted)

    def use(self, ids: Sequence[str]) -> None:
        count_uses(self._work.connection, ids, self._clock())

    def like(self, prefix: str) -> tuple[str, ...]:
        wanted = prefix.strip().lower()
        if self._rows.records.get(prefix.strip()) is not None:
            return (prefix.strip(),)
        if len(wanted) < MIN_PREFIX_CHARS or "\x00" in wanted:
            return ()
        end = wanted[-SHORT_ID:]
        rows = self._work.connection.execute(
            'select id from clio.memory where owner = %s and ((id >= %s and id < %s) or ("right"(id, 8) >= %s and '
            '"right"(id, 8) < %s)) limit 50',
            (self.owner, wanted, wanted + "\x7f", end, end + "\x7f"),
        ).fetchall()
        ids = (str(id) for (id,) in rows)
        return tuple(id for id in ids if may_mean(wanted, id))

    def archived(self) -> tuple[MemoryRecord, ...]:
        return tuple(one.record for one in self.formers() if one.is_final and one.because != "dropped")

    def history(self, id: str) -> tuple[MemoryRecord, ...]:
        _, records = self._read_lineage(id)
        return find_lineage(id, records)

    def versions(self, prefix: str = "") -> "tuple[Version, ...]":
        found = self.find_versions(next(iter(self.like(prefix)), prefix))
        if not found:
            raise UserError(tr("there is no memory {id!r}; `/memory list` shows the ids", id=prefix))
        return found

    def find_versions(self, id: str) -> "tuple[Version, ...]":
        """Return every version of a memory and of its `history`, oldest first; () for an unknown id."""
        formers, records = self._read_lineage(id)
        present = [record for record in records.values() if record.id in self._rows.records]
        return tuple(list_typed_versions(present, formers))

    def _read_lineage(self, id: str) -> tuple[list[FormerVersion], dict[str, MemoryRecord]]:
        """Return the former versions of a memory and of those it replaced or that replaced it, and their records."""
        known: set[str] = set()
        waiting = {id}
        formers: list[FormerVersion] = []
        records: dict[str, MemoryRecord] = {}
        while waiting and len(known) < _MAX_LINEAGE:
            ids = list(waiting)
            known |= waiting
            found = self._work.keep(
                find_where(
                    self._work.connection,
                    "m.owner = %s and (m.id = any(%s) or m.superseded_by = any(%s) or m.variants_of = any(%s))",
                    [self.owner, ids, ids, ids],
                )
            )
            ended = self.read_formers("ids && %s", (ids,))
            formers += (one for one in ended if one.record.id in known and one not in formers)
            records |= {one.record.id: one.record for one in ended if one.is_final and one.record.id not in records}
            records |= {record.id: record for record in found}
            near = {record.id for record in found} | {one.record.id for one in ended}
            near |= {
                other
                for record in (*found, *(one.record for one in ended))
                for other in (record.superseded_by, record.variants_of)
                if other is not None
            }
            waiting = near - known
        # A change names all of its records; only those of the lineage count.
        chain = {record.id for record in find_lineage(id, records)} | {id}
        return [one for one in formers if one.record.id in chain], {
            one: records[one] for one in chain if one in records
        }

    def _list_archived(self, id: str) -> list[MemoryRecord]:
        if id in self._rows.records:
            return []
        formers = self.read_formers("ids && %s", ([id],))
        return [one.record for one in formers if one.record.id == id and one.is_final]

    def has_archived(self, id: str) -> bool:
        """Return whether a memory is only in the archive."""
        return bool(self._list_archived(id))

    def compact(self, decide: Decide | None = None, stop: Callable[[], bool] = lambda: False) -> Compacted:
        """Archive faded memories, at most 2,000 in one call; what has the same meaning was merged when it was saved."""
        with self.changing() as now:
            halves = " ".join(f"when '{kind}' then {days}" for kind, days in HALF_LIFE_DAYS.items())
            faded = self._rows.find_records(
                "live and kind = any(%s) and (variants_of is not null or accessed < %s or (kind <> 'preference' and "
                f"importance * power(0.5, greatest(%s - accessed, 0) / {DAY_S} / (case kind {halves} else 7 end)) "
                "<= %s))",
                [list(TYPED_KINDS), now - MAX_UNUSED_DAYS * DAY_S, now, PRUNE_IMPORTANCE + 1e-9],
                _MAX_FADED,
            )
            gone = self._archive([one for one in faded if has_expired(one, now)], "faded")
        return Compacted(removed=gone, remaining=len(self._rows))


def search_memories(
    work: Work, owners: Sequence[str], query: str | frozenset[str], limit: int, type: str, now: float
) -> tuple[Ranked, ...]:
    """Return the best memories of these owners for a query, as `TypedStore.peek` ranks them.

    type: the only kind; "!fact" for all but facts.
    """
    kinds = select_types(type)
    connection = work.connection
    has_query = bool(query.strip() if isinstance(query, str) else query)
    if has_query:
        terms = frozenset(extract_terms(query)) if isinstance(query, str) else query
        found = find_best(connection, work.statistics, terms, owners=owners, kinds=kinds, limit=limit, now=now)
        if not found and len(terms) == 1 and all(map(is_stop_word_stem, terms)):
            # The index has no stop words. The file store would look at every memory.
            found = find_strongest(connection, owners=owners, kinds=kinds, limit=500, order="load")
    else:
        found = find_strongest(connection, owners=owners, kinds=kinds, limit=max(limit, MAX_PREFERENCES), order="load")
        # The index on "load" goes on falling with age, where the score stays at its end after 30 days.
        found += find_strongest(connection, owners=owners, kinds=kinds, limit=limit, order="importance")
    work.keep(found)
    index = _FoundIndex(found)
    if has_query:
        return rank_records(index, query, limit, now, kinds)
    return rank_without_query(index, limit, now, kinds)


class _FoundIndex(MemoryIndex):
    """Some memories, with the terms that the database has of them: to find stems again takes longer than to rank."""

    def __init__(self, found: Iterable[Found]) -> None:
        super().__init__()
        self._terms: dict[str, frozenset[str]] = {}
        for one in found:
            self.put(one.record)
            self._terms[one.record.id] = extract_indexed_terms(one.record) if one.terms is None else one.terms

    @property
    def terms(self) -> Mapping[str, frozenset[str]]:
        return self._terms

    def count_hits(self, query: frozenset[str]) -> dict[str, int]:
        """Return the number of the query's terms in each memory, without memories that have none."""
        return {id: hits for id, terms in self._terms.items() if (hits := len(query & terms))}

    def matches(self, query: Iterable[str]) -> dict[str, int]:
        terms = frozenset(query)
        return self.count_hits(terms) or super().matches(terms)


class DatabaseMemoryStore(MemoryStore):
    """All memories that one member of a team sees: those of the project, and their own.

    Every method works in the transaction of the caller, and raises UserError and what psycopg raises.
    """

    def __init__(self, work: Work, redact: Callable[[str], str], clock: Callable[[], float]) -> None:
        super().__init__(Path("clio"), Path("clio"), redact=redact, clock=clock)
        self._work = work
        self._stores: dict[Scope, DatabaseTypedStore] = {
            "project": DatabaseTypedStore(work, PROJECT_OWNER, "project", clock)
        }
        if work.member:
            self._stores["user"] = DatabaseTypedStore(work, work.member, "user", clock)
        self._typed = cast("dict[Scope, TypedStore]", self._stores)

    @property
    def owners(self) -> tuple[str, ...]:
        """The owners whose memories are read: "" for the project, and the member."""
        return tuple(store.owner for store in self._stores.values())

    def records(self, kinds: Collection[str] = (), *, with_notes: bool = True) -> tuple[MemoryRecord, ...]:
        """Return at most 1,000 memories of each of these kinds, the newest."""
        known = [kind for kind in (*PROJECT_KINDS, *TYPED_KINDS) if not kinds or kind in kinds]
        found = find_strongest(
            self._work.connection, owners=self.owners, kinds=known, limit=MAX_ENTRIES, order="updated"
        )
        return tuple(self._work.keep(found))

    def get(self, id: str) -> MemoryRecord:
        return self._holding(id)[1]

    def get_note(self, key: str) -> MemoryRecord | None:
        return None  # keyed notes are files of one machine

    def count(self) -> dict[Scope, int]:
        rows = self._work.connection.execute(
            "select owner, live from clio.scope where owner = any(%s)", (list(self.owners),), prepare=True
        )
        by_owner = {str(owner): int(live) for owner, live in rows}
        counts: dict[Scope, int] = {"project": 0, "user": 0}
        counts.update((scope, by_owner.get(store.owner, 0)) for scope, store in self._stores.items())
        return counts

    def scope_of(self, id: str) -> Scope:
        self._work.load((id,))
        found = self._work.found.get(id)
        return "user" if found is not None and found.owner != PROJECT_OWNER else "project"

    def freshness(self, records: Sequence[MemoryRecord]) -> dict[str, Freshness]:
        return {record.id: "unbound" for record in records}  # the files are on the members' machines

    def describe_drift(self, record: MemoryRecord) -> str:
        return ""

    def peek(self, query: str = "", limit: int = DEFAULT_LIMIT, kind: str = "") -> tuple[Ranked, ...]:
        most = MAX_RECALLED if limit < 0 else min(limit or DEFAULT_LIMIT, MAX_RECALLED)
        return search_memories(self._work, self.owners, query, most, kind, self._clock())

    def mark_used(self, ids: Sequence[str]) -> int:
        if ids:
            # The answer does not depend on it, so it need not wait for the disk.
            connection = self._work.connection
            count_uses(connection, ids, self._clock(), wait=is_in_transaction(connection))
        return len(ids)

    def add(self, draft: MemoryDraft, provenance: Provenance | None = None, *, scope: Scope | None = None) -> Saved:
        by = provenance or Provenance()
        source = structs.replace(by, session=by.session or SESSION_PREFIX + self._work.member)
        if draft.kind == "fact" and scope in (None, "project"):
            entry = self._find_discovery(self._redact(draft.content))
            if entry is not None:
                return self._confirm_entry(entry, source)
        return super().add(draft, source, scope=scope)

    def _is_known(self, text: str, kind: str) -> bool:
        return False  # `add` has looked for it, and no memory of the database may be saved in a file

    def _list_refuted(self, draft: MemoryDraft) -> tuple[MemoryRecord, ...]:
        return ()  # consolidation on the members' machines replaces them

    def _find_discovery(self, text: str) -> MemoryRecord | None:
        found = find_where(
            self._work.connection,
            "m.owner = %s and m.kind = 'discovery' and m.live and m.text_hash = %s",
            [PROJECT_OWNER, hash_text(text)],
            1,
        )
        return next(iter(self._work.keep(found)), None)

    def _confirm_entry(self, entry: MemoryRecord, source: Provenance) -> Saved:
        said = structs.replace(MemoryDraft(kind="discovery", content=entry.content).as_record(), provenance=source)
        after = merge_records(entry, said, max(self._clock(), entry.updated))
        self._stores["project"].put(f"confirmed “{shorten_content(entry)}”", (after,))
        return Saved(record=after, action="confirmed")

    def forget(self, *ids: str) -> tuple[MemoryRecord, ...]:
        holding = [self._holding(id) for id in ids]
        with self.group(f"forgot {format_count(len(holding), 'memory')}"):
            for store, record in holding:
                store.forget(record.id)
        return tuple(record for _, record in holding)

    @contextmanager
    def group(self, title: str) -> Generator[None]:
        before, self._work.group = self._work.group, (new_id(), title)
        try:
            yield
        finally:
            self._work.group = before

    def history(self, id: str) -> "tuple[Version, ...]":
        whole = self._resolve(id)
        for store in self._stores.values():
            if versions := store.find_versions(whole):
                return versions
        raise UserError(tr("there is no memory {id!r}; `/memory list` shows the ids", id=id))

    def restore(self, id: str) -> MemoryRecord:
        whole = self._resolve(id)
        for store in self._stores.values():
            if store.has_archived(whole):
                return store.restore(whole)
        raise UserError(tr("the archive has no memory {id!r}; `/memory list archive` shows what it has", id=id))

    def _resolve(self, id: str) -> str:
        """Return the whole id of a memory that exists or existed."""
        wanted = id.strip().lower()
        if len(wanted) >= 36 or len(wanted) < MIN_PREFIX_CHARS:
            return id.strip()
        rows = self._work.connection.execute(
            'select distinct one from clio.change, unnest(ids) one where owner = any(%s) and "right"(one, %s) = %s '
            "limit 2",
            (list(self.owners), len(wanted), wanted),
        ).fetchall()
        return str(rows[0][0]) if len(rows) == 1 else id.strip()

    def undo(self, member: str | None = None) -> str:
        """Undo the last change, or the last one of a member; return a sentence that names it."""
        condition, values = ("and member = %s", [member]) if member is not None else ("", list[Any]())
        row = self._work.connection.execute(
            "select id, owner, group_id from clio.change where what <> '' and undone_at is null and owner = any(%s) "
            f"{condition} order by id desc limit 1".encode(),
            [list(self.owners), *values],
        ).fetchone()
        if row is None:
            raise UserError(tr("there is nothing to undo"))
        last, owner, group = row
        changes = self._work.connection.execute(
            "select owner, change from clio.change where undone_at is null and owner = any(%s) and "
            "(id = %s or (group_id <> '' and group_id = %s)) order by id desc",
            (list(self.owners), last, group),
        ).fetchall()
        undone: list[Change] = []
        for owner, text in changes:
            change = decode_change(text)
            store = next(one for one in self._stores.values() if one.owner == owner)
            store.revert(change)
            self._work.connection.execute(
                "update clio.change set undone_at = %s where id = %s", (self._clock(), change.id)
            )
            undone.append(change)
        title = next((change.title for change in undone if change.title), "") if group else ""
        return tr("Undone: {what}", what=title or undone[0].what)


class DatabaseMemory:
    """What the tools of `clio mcp` call, for one call of one member."""

    def __init__(
        self,
        connection: "Connection",
        statistics: TermStatistics,
        member: str,
        *,
        redact: Callable[[str], str],
        clock: Callable[[], float],
    ) -> None:
        self._work = Work(connection, statistics, member, clock)
        self._clock = clock
        self.store = DatabaseMemoryStore(self._work, redact, clock)

    def search(self, query: str, limit: int = 10) -> tuple[Hit, ...]:
        """Return the entries of project memory that match a query, best first; of many those with most of its words."""
        found = find_best(
            self._work.connection,
            self._work.statistics,
            frozenset(extract_terms(query)),
            owners=(PROJECT_OWNER,),
            kinds=PROJECT_KINDS,
            limit=_MAX_SEARCHED,
            now=self._clock(),
        )
        return tuple(search_project(query, self._work.keep(found), limit, self._clock()))

    def recall_sessions(
        self, query: str, *, for_reading: bool = False, max_sessions: int = 0, max_results: int = 0
    ) -> "Recall":
        """Raise ToolRetry: sessions stay on the members' machines."""
        raise ToolRetry("this server has memories only, no sessions")
