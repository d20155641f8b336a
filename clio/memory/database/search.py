"""Find the memories in PostgreSQL that may answer a query, best first by clio's own score.

The file store scores every memory that shares a word with the query; with a million memories that takes too long for a
common word. Here PostgreSQL computes the same score (`compute_recall_score`) for as few memories as will do, and
returns the best, which the caller ranks again by the function of the file store:

- all memories with a rare word;
- of those with common words only, the memories with the most of them that are enough to choose from. A word more is
  worth about as much as everything else together, so those with fewer are read only if one of them could be better;
- where thousands have the words, only the most important, last used and shortest of them: the index has the tiers of
  each memory beside its words.

The words are clio's stems, not those of PostgreSQL, so that both stores find the same.
"""

import math
import threading
import time
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct, structs

from clio.memory.database.connection import RANK, SEARCHED, STRENGTH, TIERS_PER_POINT
from clio.memory.store.record import MemoryRecord
from clio.text.json_data import decode_json
from clio.text.scoring import DAY_S

if TYPE_CHECKING:
    from clio.memory.database.connection import Connection

MAX_TERMS = 24
"""Of a longer query the rarest words count."""
MAX_TERM_BYTES = 200
_SPARE = 12
"""Further memories that are ranked again, because equal scores are ordered by the caller."""
_CHOICE = 2
"""Estimated number of memories in the tiers that are read, for each one that is returned."""
_RARE_ROWS = 1_000
"""Memories with rare words that are all read."""
_MAX_ROWS = 20_000
"""Memories that are read at most, if words occur together more often than estimated."""
_ROW_US, _ENTRY_US, _MIXED_ENTRY_US, _TIER_ENTRY_US = 1.6, 0.2, 0.6, 0.35
"""CPU time in a million memories: of a row; of an entry in the index for all of some words or one of them, and for
several of them; of an entry of a tier, for each word that is looked up there."""
_MOST = 0.5
"""Share of the memories: if fewer have the wanted owners and kinds, the others are passed over in the index."""
_MAX_COMBINATIONS = 40
_STATISTICS_AGE_S = 300.0
_SURELY_MORE = 5
"""How many times more memories the statistics must name than are wanted, so that these need not be counted."""
_ASSUMED_SHARE = 0.0005
"""Of the memories with a term that is in no statistics."""
_SAMPLE_ROWS = 5_000
_MIN_SAMPLED = 10
"""Rows of the sample that an estimate rests on at least."""
_HIT = _SIMILARITY = 0.3
_MAX_STRENGTH = 0.4
"""Of the score: 0.2 × importance + 0.2 × recency."""
_MAX_STRENGTH_OF_ONE_WORD = 0.5
"""0.2 × importance + 0.3 × similarity to a query of one word."""


class Found(Struct, frozen=True, kw_only=True):
    """A record and its owner: "" for the project. terms: see `extract_indexed_terms`; None if they were not read."""

    record: MemoryRecord
    owner: str
    terms: frozenset[str] | None = None


class TermStatistics:
    """How common terms are, as PostgreSQL's ANALYZE estimated it; read again after five minutes."""

    def __init__(self) -> None:
        self._shares: dict[str, float] = {}
        self._least = _ASSUMED_SHARE
        self._rows = 0.0
        self._bounds: list[float] = []
        self._shift = 0.0
        self._highest = 0.0
        self._least_size = 1
        self._places: dict[tuple[str, str], float] = {}
        self._read_at = -math.inf
        self._lock = threading.Lock()

    def refresh(self, connection: "Connection", now: float) -> None:
        """Read the statistics if they are old. One call does so, with two queries; others go on with the old ones."""
        if time.monotonic() - self._read_at < _STATISTICS_AGE_S:
            return
        if not self._lock.acquire(blocking=self._read_at < 0.0):  # without any, a common word costs seconds
            return
        try:
            if time.monotonic() - self._read_at >= _STATISTICS_AGE_S:
                self._read(connection, now)
                self._read_at = time.monotonic()
        finally:
            self._lock.release()

    def _read(self, connection: "Connection", now: float) -> None:
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
        percent = min(100.0, 100.0 * _SAMPLE_ROWS / max(self._rows, 1.0))
        sample = connection.execute(
            f"select ({STRENGTH})::float8, ({RANK})::float8, size, owner, kind from clio.memory "
            f"tablesample system ({percent:f}) where live".encode()
        ).fetchall()
        # A day of use counts whole, and within the first hour nothing is lost.
        self._shift = 0.2 * (now / DAY_S / 30.0 - 1.0 - 1.0 / 30.0 - 1.0 / 720.0)
        self._bounds = sorted((max(strength, rank - self._shift) for strength, rank, *_ in sample), reverse=True)
        highest = _MAX_STRENGTH_OF_ONE_WORD + 0.2 * (now / DAY_S + 1.0) / 30.0
        self._highest = max((highest, *(rank for _, rank, *_ in sample)))
        self._places = {place: count / len(sample) for place, count in Counter(row[3:] for row in sample).items()}
        sizes = sorted(row[2] for row in sample)
        self._least_size = sizes[len(sizes) // 50] if sizes else 1

    @property
    def rows(self) -> float:
        """The estimated number of memories."""
        return self._rows

    @property
    def least_size(self) -> int:
        """The number of terms that all but two per cent of the memories have at least."""
        return self._least_size

    def estimate_visible(self, owners: Sequence[str], kinds: Sequence[str]) -> float:
        """Return the share of the memories that have one of the owners and one of the kinds; above 0.0."""
        share = sum(self._places.get((owner, kind), 0.0) for owner in owners for kind in kinds)
        return max(share, 1.0 / max(len(self._bounds), 1))

    def list_tiers(self, rows: float) -> list[str]:
        """Return the tiers of so many of the memories: all whose score can reach a limit, whatever the words."""
        place = math.ceil(max(rows / max(self._rows, 1.0) * len(self._bounds), _MIN_SAMPLED))
        least = self._bounds[min(place, len(self._bounds) - 1)] if self._bounds else 0.0
        ranks = range(get_tier(least + self._shift), get_tier(self._highest) + 1)
        strengths = range(get_tier(max(least, 0.0)), get_tier(_MAX_STRENGTH_OF_ONE_WORD) + 1)
        return [*(f" r{tier}" for tier in ranks), *(f" s{tier}" for tier in strengths)]

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
    if hits >= len(terms):
        return " & ".join(map(quote_term, terms))
    if hits <= 1:
        return " | ".join(map(quote_term, terms))
    if math.comb(len(terms), hits) > _MAX_COMBINATIONS:
        # A memory with at least `hits` of n terms contains one of the n - hits + 1 rarest.
        return " | ".join(map(quote_term, terms[: len(terms) - hits + 1]))
    # The rarest and others, or only others: PostgreSQL examines this faster than a list of all combinations.
    first, others = quote_term(terms[0]), terms[1:]
    return f"{first} & ({make_query_for(others, hits - 1)}) | {make_query_for(others, hits)}"


_COLUMNS = "m.record, m.accessed, m.access_count, m.owner"
_RECENCY = (
    "case when %(now)s - accessed <= 3600.0 then 1.0 else greatest(0.0, 1.0 - (%(now)s - accessed) / 2592000.0) end"
)


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
    statistics.refresh(connection, now)
    usable = [term for term in terms if is_usable_term(term)]
    ordered = sorted(usable, key=lambda term: (statistics.estimate_share(term), term))[:MAX_TERMS]
    if not ordered or not owners or not kinds:
        return []
    search = _Search(connection, statistics, ordered, len(terms), owners, kinds, limit + _SPARE, now)
    hits = search.find_first_hits()
    found = search.find_with(hits)
    while hits > 1:
        scores = sorted((score for score, _ in found.values()), reverse=True)
        hits -= 1
        # Memories with fewer common words and no rare one were not looked at; is one of them better?
        similarity = hits / max(len(terms) + statistics.least_size - hits, len(terms))
        if len(scores) >= limit and scores[limit - 1] >= _HIT * hits + _SIMILARITY * similarity + _MAX_STRENGTH:
            break
        found |= search.find_with(hits)
    return [one for _, one in found.values()]


class _Search:
    """terms: the rarest first. asked: the number of the query's terms, which may be more."""

    def __init__(
        self,
        connection: "Connection",
        statistics: TermStatistics,
        terms: Sequence[str],
        asked: int,
        owners: Sequence[str],
        kinds: Sequence[str],
        limit: int,
        now: float,
    ) -> None:
        self._connection = connection
        self._statistics = statistics
        shares = [statistics.estimate_share(term) for term in terms]
        self._visible = statistics.estimate_visible(owners, kinds)
        places = (quote_term(f" k{kind}/{owner}") for owner in owners for kind in kinds)
        self._only = f" & ({' | '.join(places)})" if self._visible < _MOST else ""
        rare = sum(total * statistics.rows * self._visible <= _RARE_ROWS for total in accumulate(shares))
        self._rare, self._common, self._shares = terms[:rare], terms[rare:], shares[rare:]
        self._limit = limit
        self._values: dict[str, Any] = {
            "terms": list(terms), "asked": asked, "owners": list(owners), "kinds": list(kinds), "now": now,
            "limit": limit,
        }  # fmt: skip

    def find_first_hits(self) -> int:
        """Return the largest number of common words that enough memories have; 1 if there is none."""
        counts = range(len(self._common), 1, -1)
        return next((hits for hits in counts if self._estimate_rows(hits) >= self._limit), 1)

    def _estimate_rows(self, hits: int) -> float:
        return self._statistics.estimate_rows(self._shares, hits) * self._visible

    def _estimate_reading(self, hits: int) -> float:
        """Return the microseconds to find the memories with so many of the common words in the index."""
        count = len(self._shares)
        # They have one of the count - hits + 1 rarest words, whose entries are read.
        share = sum(self._shares[: count - hits + 1])
        entries = (min(share, self._visible) if self._only else share) * self._statistics.rows
        return entries * (_ENTRY_US if hits in (1, count) else _MIXED_ENTRY_US)

    def find_with(self, hits: int) -> dict[str, tuple[float, Found]]:
        """Return the best memories with at least so many common words or a rare one, by id, with their scores."""
        rare = make_query_for(self._rare, 1)
        if not self._common:
            return self._fetch(rare)
        count, all_rows = len(self._common), self._statistics.rows
        words, rows = make_query_for(self._common, hits), self._estimate_rows(hits)
        better = make_query_for(self._common, hits + 1) if hits < count else ""
        reading_better = self._estimate_reading(hits + 1) if better else 0.0
        in_tiers = _CHOICE * self._limit * all_rows / max(rows, 1.0)
        reading_all = self._estimate_reading(hits) + _ROW_US * rows
        while in_tiers < all_rows and _TIER_ENTRY_US * count * in_tiers + reading_better < reading_all:
            tiers = " | ".join(map(quote_term, self._statistics.list_tiers(in_tiers)))
            # With a word more, a memory of any tier may be better.
            found = self._fetch(rare, f"({words}) & ({tiers})", better)
            if len(found) >= self._limit - _SPARE:
                return found
            in_tiers *= 8  # fewer memories of these tiers have the words than of all, as they are shorter
        return self._fetch(rare, words)

    def _fetch(self, *queries: str) -> dict[str, tuple[float, Found]]:
        # One text for queries of any number of terms, so that PostgreSQL plans it once. The limit keeps the hits from
        # being counted three times.
        statement = (
            "with best as materialized (select id, 0.3::float8 * hits "
            "+ 0.3::float8 * (hits / (%(asked)s::float8 + size - hits)) "
            f"+ 0.2::float8 * importance + 0.2::float8 * ({_RECENCY}) as score, updated from "
            "(select id, size, importance, accessed, updated, "
            "(length(terms) - length(ts_delete(terms, %(terms)s::text[])))::float8 as hits from clio.memory "
            f"where live and owner = any(%(owners)s) and kind = any(%(kinds)s) and {SEARCHED} @@ %(query)s::tsquery "
            f"limit {_MAX_ROWS}) h order by score desc, updated desc, id limit %(limit)s) "
            f"select {_COLUMNS}, m.size, tsvector_to_array(m.terms), best.score from best "
            "join clio.memory m on m.id = best.id"
        )
        found: dict[str, tuple[float, Found]] = {}
        query = " | ".join(f"({query})" for query in queries if query)
        values = self._values | {"query": f"({query}){self._only}"}
        rows = self._connection.execute(statement.encode(), values, prepare=True)
        for *columns, size, terms, score in rows:
            one = make_found(columns, frozenset(terms) if len(terms) == size else None)
            found[one.record.id] = (score, one)
        return found


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
    statement = f"select {_COLUMNS} from clio.memory m where {condition} limit {limit}"
    rows = connection.execute(statement.encode(), values).fetchall()
    return [make_found(row) for row in rows]


def find_alike(connection: "Connection", bands: Sequence[int], owner: str, kind: str) -> list[Found]:
    """Return the memories of an owner and kind that have one of the bands, at most 100 for each; some come twice."""
    # Band by band, because PostgreSQL takes the overlap of two arrays for a tenth of the table.
    rows = connection.execute(
        f"select {_COLUMNS} from unnest(%s::int[]) b(band), lateral (select * from clio.memory where live "
        "and owner = %s and kind = %s and bands @> array[b.band] limit 100) m".encode(),
        (list(bands), owner, kind),
    ).fetchall()
    return [make_found(row) for row in rows]


def count_with(
    connection: "Connection", statistics: TermStatistics, terms: Collection[str], owner: str, most: int
) -> dict[str, int]:
    """Return how many memories of an owner contain each term; at least `most` if they are more than that."""
    statistics.refresh(connection, time.time())
    rare = [term for term in terms if statistics.estimate_share(term) * statistics.rows <= _SURELY_MORE * most]
    asked = [term for term in rare if is_usable_term(term)]
    counts = dict.fromkeys(terms, most) | dict.fromkeys(rare, 0)
    if asked:
        rows = connection.execute(
            "select place, (select count(*) from (select 1 from clio.memory where live and owner = %s "
            f"and {SEARCHED} @@ query::tsquery limit %s) s) "
            "from unnest(%s::text[]) with ordinality q (query, place)".encode(),
            (owner, most, list(map(quote_term, asked))),
            prepare=True,
        )
        counts |= {asked[int(place) - 1]: int(count) for place, count in cast(list[tuple[int, int]], rows.fetchall())}
    return counts


def make_found(row: Iterable[Any], terms: frozenset[str] | None = None) -> Found:
    """Return the record in a row with the columns record, accessed, access_count and owner."""
    text, accessed, count, owner = row
    record = decode_json(text.encode(), type=MemoryRecord)
    return Found(record=structs.replace(record, accessed=accessed, access_count=count), owner=owner, terms=terms)


def get_tier(strength: float) -> int:
    """Return the tier of a memory, see `clio.memory.database.connection.SEARCHED`."""
    return math.floor(strength * TIERS_PER_POINT)


def get_used_day(accessed: float) -> int:
    """Return the day of a use, which changes an index only once a day."""
    return int(max(accessed, 0.0) // DAY_S)
