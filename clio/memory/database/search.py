"""Find the memories in PostgreSQL that may answer a query, best first by clio's own score.

The file store scores every memory that shares a word with the query; with a million memories that takes too long for a
common word. Here PostgreSQL computes the same score (`compute_recall_score`) and returns the best few, which the caller
ranks again by the function of the file store. Two ways lead to them:

- Rare words: all memories with at least j of the words, through the full-text index. No memory with fewer of the words
  than j can be better once enough were found, because each word adds more than all the rest of the score.
- Common words: thousands of memories contain them, so that the first ones in the order of importance and use are
  enough; of these only the ones with the words are read.

The words are clio's stems, not those of PostgreSQL, so that both stores find the same.
"""

import math
import time
from collections.abc import Collection, Iterable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct, structs

from clio.memory.store.record import MemoryRecord
from clio.text.json_data import decode_json
from clio.text.scoring import DAY_S

if TYPE_CHECKING:
    from clio.memory.database.connection import Connection

MAX_TERMS = 24
"""Of a longer query the rarest words count."""
MAX_TERM_BYTES = 200
_MAX_ROWS = 3_000
"""Estimated number of memories that one query may score through the full-text index."""
_SPARE = 12
"""Further memories that are ranked again, because equal scores are ordered by the caller."""
_MAX_COMBINATIONS = 40
_STATISTICS_AGE_S = 300.0
_ASSUMED_SHARE = 0.0005
"""Of the memories with a term that is in no statistics."""
_MAX_OTHER_PARTS = 0.7
"""Of the score: 0.3 × similarity + 0.2 × importance + 0.2 × recency."""
_HIT = 0.3


class Found(Struct, frozen=True, kw_only=True):
    """A record and its owner: "" for the project."""

    record: MemoryRecord
    owner: str


class TermStatistics:
    """How common terms are, as PostgreSQL's ANALYZE estimated it; read again after five minutes."""

    def __init__(self) -> None:
        self._shares: dict[str, float] = {}
        self._least = _ASSUMED_SHARE
        self._rows = 0.0
        self._read_at = -_STATISTICS_AGE_S

    def refresh(self, connection: "Connection") -> None:
        """Read the statistics if they are old. Costs one query then."""
        now = time.monotonic()
        if now - self._read_at < _STATISTICS_AGE_S:
            return
        self._read_at = now
        row = connection.execute(
            "select c.reltuples::float8, s.most_common_elems::text::text[], s.most_common_elem_freqs "
            "from pg_class c join pg_namespace n on n.oid = c.relnamespace left join pg_stats s "
            "on s.schemaname = n.nspname and s.tablename = c.relname and s.attname = 'terms' "
            "where n.nspname = 'clio' and c.relname = 'memory'"
        ).fetchone()
        if row is None:
            return
        self._rows = max(row[0], 0.0)
        terms, shares = cast(list[str], row[1] or []), cast(list[float], row[2] or [])
        self._shares = dict(zip(terms, shares, strict=False))
        # A term that is not listed is rarer than the rarest one that is.
        self._least = min(self._shares.values(), default=_ASSUMED_SHARE)

    @property
    def rows(self) -> float:
        """The estimated number of memories."""
        return self._rows

    def estimate_share(self, term: str) -> float:
        """Return the share of the memories that contain the term; an upper limit for a rare one."""
        return self._shares.get(term, min(self._least, _ASSUMED_SHARE))

    def estimate_rows(self, shares: Sequence[float], hits: int) -> float:
        """Return how many memories contain at least `hits` of words with these shares, if they are independent."""
        chances = [1.0, *(0.0 for _ in shares)]  # chances[n]: that n of the words so far are in a memory
        for share in shares:
            for n in range(len(shares), 0, -1):
                chances[n] = chances[n] * (1.0 - share) + chances[n - 1] * share
            chances[0] *= 1.0 - share
        return sum(chances[hits:]) * self._rows


def quote_term(term: str) -> str:
    """Return a term as a lexeme of a tsquery."""
    return "'" + term.replace("\\", "\\\\").replace("'", "''") + "'"


def is_usable_term(term: str) -> bool:
    """Whether PostgreSQL can store the term."""
    return "\x00" not in term and 0 < len(term.encode("utf-8", "replace")) <= MAX_TERM_BYTES


def make_query_for(terms: Sequence[str], hits: int) -> str:
    """Return the tsquery for at least `hits` of the terms; for one that is not longer, of the rarest of them.

    terms: the rarest first.
    """
    quoted = [quote_term(term) for term in terms]
    if hits <= 1:
        return " | ".join(quoted)
    if hits >= len(quoted):
        return " & ".join(quoted)
    count = 1
    for n in range(hits):
        count = count * (len(quoted) - n) // (n + 1)
    if count <= _MAX_COMBINATIONS:
        return " | ".join(f"({' & '.join(some)})" for some in combinations(quoted, hits))
    # A memory with at least `hits` of n terms contains one of the n - hits + 1 rarest.
    return " | ".join(quoted[: len(quoted) - hits + 1])


_COLUMNS = "m.record, m.accessed, m.access_count, m.owner"
_RECENCY = (
    "case when %(now)s - accessed <= 3600.0 then 1.0 else greatest(0.0, 1.0 - (%(now)s - accessed) / 2592000.0) end"
)
_SCORED = "id, terms, size, importance, accessed, updated"
_VISIBLE = "live and owner = any(%(owners)s) and kind = any(%(kinds)s)"


def find_best(
    connection: "Connection",
    statistics: TermStatistics,
    terms: Collection[str],
    *,
    owners: Sequence[str],
    kinds: Sequence[str],
    limit: int,
    now: float,
) -> list[Found]:
    """Return the memories with the best recall scores for these stems, and a few more; unsorted."""
    statistics.refresh(connection)
    usable = [term for term in terms if is_usable_term(term)]
    ordered = sorted(usable, key=lambda term: (statistics.estimate_share(term), term))[:MAX_TERMS]
    if not ordered or not owners or not kinds:
        return []
    search = _Search(connection, ordered, len(terms), owners, kinds, limit + _SPARE, now)
    shares = [statistics.estimate_share(term) for term in ordered]
    count = len(ordered)
    hits = next((least for least in range(1, count) if statistics.estimate_rows(shares, least) <= _MAX_ROWS), count)
    rows = statistics.estimate_rows(shares, hits)
    any_share = 1.0 - math.prod(1.0 - share for share in shares)
    if rows > _MAX_ROWS * (2 if count > 1 else 1):  # memories with all of several words are worth more than others
        return [one for _, one in search.in_order(any_share).values()]
    # All memories with a rare word, too, as long as they are few.
    rare = 0
    while rare < count and (rows := rows + shares[rare] * statistics.rows) <= _MAX_ROWS:
        rare += 1
    found = search.through_index(hits, rare)
    if hits > 1 and rare < count:
        scores = sorted((score for score, _ in found.values()), reverse=True)
        # Memories with fewer hits, all of them common words, were not looked at; is one of them better?
        missed = min(hits - 1, count - rare)
        best_missed = _HIT * missed + _MAX_OTHER_PARTS - _HIT * (1.0 - missed / max(len(terms), 1))
        if len(scores) < limit or scores[limit - 1] < best_missed:
            found |= search.in_order(any_share)
    return [one for _, one in found.values()]


class _Search:
    def __init__(
        self,
        connection: "Connection",
        terms: Sequence[str],
        asked: int,
        owners: Sequence[str],
        kinds: Sequence[str],
        limit: int,
        now: float,
    ) -> None:
        self._connection = connection
        self._terms = terms
        hits = " + ".join(f"(terms @@ %(t{n})s::tsquery)::int" for n in range(len(terms)))
        self._hits = hits
        self._values: dict[str, Any] = {f"t{n}": quote_term(term) for n, term in enumerate(terms)}
        self._values |= {"owners": list(owners), "kinds": list(kinds), "limit": limit, "now": now, "asked": asked}

    def _select_scored(self, rows: str) -> str:
        """Return the query for id, score and time of rows. The offset keeps the hits from being counted three times."""
        return (
            "select id, 0.3::float8 * hits + 0.3::float8 * (hits / (%(asked)s::float8 + size - hits)) "
            f"+ 0.2::float8 * importance + 0.2::float8 * ({_RECENCY}) as score, updated "
            f"from {rows} r, lateral (select ({self._hits})::float8 as hits offset 0) h"
        )

    def through_index(self, hits: int, rare: int) -> dict[str, tuple[float, Found]]:
        """Return the best memories with at least `hits` of the terms or one of the `rare` first, with their scores."""
        queries = [make_query_for(self._terms, hits), *([make_query_for(self._terms[:rare], 1)] if rare else [])]
        rows = f"(select * from clio.memory where {_VISIBLE} and terms @@ %(query)s::tsquery)"
        return self._fetch(self._select_scored(rows), query=" | ".join(f"({query})" for query in queries))

    def in_order(self, share: float) -> dict[str, tuple[float, Found]]:
        """Return the best of the memories with any of the terms that come first by importance and use.

        Two indexes are read from their ends for each owner and kind: so many rows that they probably contain several
        times the wanted number with a term.

        share: of the memories that contain a term.
        """
        wanted = _SCANNED_FOR_ONE * self._values["limit"] / max(share, 1e-9)
        of_kind = max(wanted / len(self._values["kinds"]), min(wanted, _MIN_SCANNED))  # most may be of one kind
        scanned = min(math.ceil(of_kind), _MAX_SCANNED)
        more: dict[str, Any] = {"query": make_query_for(self._terms, 1)}
        first: list[str] = []
        for owner_number, owner in enumerate(self._values["owners"]):
            more[f"o{owner_number}"] = owner
            for kind_number, kind in enumerate(self._values["kinds"]):
                more[f"k{kind_number}"] = kind
                first += (
                    f"(select {_SCORED} from clio.memory where live and owner = %(o{owner_number})s "
                    f"and kind = %(k{kind_number})s order by ({order}) desc limit {scanned})"
                    for order in (
                        "0.2 * importance + 0.3 / size + 0.2 * used_day / 30",
                        "0.2 * importance + 0.3 / size",
                    )
                )
        rows = f"(select * from ({' union all '.join(first)}) s where terms @@ %(query)s::tsquery)"
        # Both orders may have the same memory.
        return self._fetch(self._select_scored(rows), **more | {"limit": 2 * self._values["limit"]})

    def _fetch(self, inner: str, **more: Any) -> dict[str, tuple[float, Found]]:
        rows = self._connection.execute(
            f"with best as materialized ({inner} order by score desc, updated desc, id limit %(limit)s) "
            f"select {_COLUMNS}, best.score from best "
            "join clio.memory m on m.id = best.id".encode(),
            self._values | more,
        ).fetchall()
        found: dict[str, tuple[float, Found]] = {}
        for *columns, score in rows:
            one = make_found(columns)
            found[one.record.id] = (score, one)
        return found


_MIN_SCANNED, _MAX_SCANNED = 200, 800
"""Memories of one owner and kind that are read in each of the two orders."""
_SCANNED_FOR_ONE = 3
"""Memories with a term to read in each order for each memory that is returned."""


def find_strongest(
    connection: "Connection", *, owners: Sequence[str], kinds: Sequence[str], limit: int, order: str
) -> list[Found]:
    """Return the first memories of each owner and kind by an order for which there is an index.

    order: "load", as a query without words orders them, "importance" or "updated".
    """
    by = {"load": "(0.4 * importance + 0.6 * used_day / 30)", "importance": "importance", "updated": "updated"}[order]
    found: list[Found] = []
    for owner in owners:
        for kind in kinds:
            rows = connection.execute(
                f"select {_COLUMNS} from clio.memory m where live and owner = %s and kind = %s "
                f"order by {by} desc limit %s".encode(),
                (owner, kind, limit),
            ).fetchall()
            found += map(make_found, rows)
    return found


def find_where(connection: "Connection", condition: str, values: Sequence[Any], limit: int = 10_000) -> list[Found]:
    """Return the memories for which an SQL condition holds."""
    rows = connection.execute(
        f"select {_COLUMNS} from clio.memory m where {condition} limit {limit}".encode(), values
    ).fetchall()
    return [make_found(row) for row in rows]


def count_with(connection: "Connection", statistics: TermStatistics, term: str, owner: str, most: int) -> int:
    """Return how many memories of an owner contain the term; at least `most` if they are more than that."""
    statistics.refresh(connection)
    if not is_usable_term(term):
        return 0
    if statistics.estimate_share(term) * statistics.rows > 20 * most:
        return most
    row = connection.execute(
        "select count(*) from "
        "(select 1 from clio.memory where live and owner = %s and terms @@ %s::tsquery limit %s) s",
        (owner, quote_term(term), most),
    ).fetchone()
    return int(row[0]) if row else 0


def make_found(row: Iterable[Any]) -> Found:
    """Return the record in a row with the columns record, accessed, access_count and owner."""
    text, accessed, count, owner = row
    record = decode_json(text.encode(), type=MemoryRecord)
    return Found(record=structs.replace(record, accessed=accessed, access_count=count), owner=owner)


def get_used_day(accessed: float) -> int:
    """Return the day of a use, which changes an index only once a day."""
    return int(max(accessed, 0.0) // DAY_S)
