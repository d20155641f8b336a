"""The SQLite database of the transcript index: its schema, its connection, its text blocks and all its read queries.

Ranking by FTS5 costs about 1 µs for each passage that contains a word; counting costs a thirtieth of that. So the words
of a query are counted first. Where all passages with one of them would be too many, the rarer words select the
passages and the common words only contribute to the score: a passage is ranked if it contains a rare word, or two
common ones.
"""

import math
import re
import string
import threading
import time
import zlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate, chain, combinations, islice
from operator import itemgetter
from pathlib import Path
from typing import Any

from msgspec import Struct

from clio.errors import StorageError
from clio.memory.transcripts.query import Query, Term
from clio.memory.transcripts.ranking import SessionKind, Turn, classify_session
from clio.memory.transcripts.session_text import Role
from clio.storage.sqlite_cache import open_database
from clio.text.translation import tr
from clio.text.vocabulary import MIN_MISSPELLING_LETTERS, is_misspelling

VERSION = 4
BUSY_TIMEOUT_S = 5.0
"""How long a process waits for another process that is writing."""

# The FTS5 tables are contentless (content=''): they store no text, which is compressed in `blocks` instead. Their row
# ids are computed from the ids of `turns`. `outputs` stores no positions either (detail=none): outputs are three
# quarters of a session, and positions are most of the size of an FTS5 index.
_SCHEMA = """
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, title TEXT NOT NULL, updated REAL NOT NULL, stamp TEXT NOT NULL,
    user_turns INTEGER NOT NULL DEFAULT 0, assistant_turns INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE turns (
    id INTEGER PRIMARY KEY, session INTEGER NOT NULL, place INTEGER NOT NULL, message NOT NULL, role INTEGER NOT NULL,
    asks INTEGER NOT NULL, tells INTEGER NOT NULL, created REAL NOT NULL,
    text_block INTEGER NOT NULL, text_start INTEGER NOT NULL, text_size INTEGER NOT NULL,
    output_block INTEGER NOT NULL, output_start INTEGER NOT NULL, output_size INTEGER NOT NULL
);
CREATE INDEX turns_of ON turns (session, place);
CREATE TABLE blocks (id INTEGER PRIMARY KEY, session INTEGER NOT NULL, kind TEXT NOT NULL, data BLOB NOT NULL);
CREATE INDEX blocks_of ON blocks (session, kind);
CREATE TABLE commits (session INTEGER NOT NULL, turn INTEGER NOT NULL, hash TEXT NOT NULL, subject TEXT NOT NULL);
CREATE INDEX commits_of ON commits (session);
CREATE TABLE totals (passages INTEGER NOT NULL, chars INTEGER NOT NULL);
INSERT INTO totals VALUES (0, 0);
CREATE VIRTUAL TABLE passages USING fts5 (text, content='', tokenize="porter unicode61 remove_diacritics 2");
CREATE VIRTUAL TABLE titles USING fts5 (text, content='', tokenize="porter unicode61 remove_diacritics 2");
CREATE VIRTUAL TABLE outputs USING fts5 (
    text, content='', detail=none, columnsize=0, tokenize="porter unicode61 remove_diacritics 2"
);
"""


# synchronous = OFF: after a power failure the file may be damaged, but it is a cache that is then rebuilt.
# cache_spill = OFF: a large transaction stays in memory, so that readers are blocked only while it commits.
_SETTINGS = (
    "page_size = 8192",
    "journal_mode = TRUNCATE",
    "synchronous = OFF",
    "cache_spill = OFF",
    "cache_size = -16000",
    "temp_store = MEMORY",
)


class RecallIndexUnusable(StorageError):
    """The file is damaged, has another version, or is no index at all: delete it and build it again."""


class RecallIndexBusy(StorageError):
    """Another process has been writing for longer than `BUSY_TIMEOUT_S`. The file is sound; try again later."""


class Database:
    """One SQLite file, or a database in memory if the path is None. Threads of a process may share it; a lock
    serializes their calls.

    Every method raises RecallIndexUnusable if the file is damaged, RecallIndexBusy if another process keeps it locked,
    and StorageError if this Python's SQLite has no full-text search.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        # Reentrant: `transaction` holds it while its block calls the other methods.
        self._lock = threading.RLock()
        self._cache = SearchCache()
        self._cached_state: tuple[int, int] = (0, 0)
        with self._named_errors():
            self._connection = open_database(
                path, schema=_SCHEMA, version=VERSION, settings=_SETTINGS, timeout_s=BUSY_TIMEOUT_S
            )
        try:
            # Reading each table once finds most damage here, where the caller can still replace the file.
            self.rows("SELECT sessions.id FROM sessions, turns, blocks LIMIT 1")
            for table in ("passages", "titles", "outputs"):
                self.rows(f"SELECT rowid FROM {table} WHERE {table} MATCH 'a' LIMIT 1")
        except StorageError:
            self._connection.close()
            raise

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return all rows that a query selects."""
        with self._lock, self._named_errors():
            return self._connection.execute(sql, values).fetchall()

    def run(self, sql: str, values: Sequence[object] = ()) -> int:
        """Execute a statement that changes something, and return the id of the last inserted row."""
        with self._lock, self._named_errors():
            return self._connection.execute(sql, values).lastrowid or 0

    def run_many(self, sql: str, values: Iterable[Sequence[object]]) -> None:
        """Execute a statement once for each set of values."""
        with self._lock, self._named_errors():
            self._connection.executemany(sql, values)

    @contextmanager
    def snapshot(self) -> Generator[None]:
        """Let everything the block reads be of one state of the file; processes that write wait until it ends.

        It also saves the locks that each query would take on its own. A cache that is too large is dropped at the end.
        """
        with self._lock:
            if self._connection.in_transaction:
                yield
                return
            self.run("BEGIN")
            try:
                yield
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                if self._cache.is_full():
                    self._cache = SearchCache()

    @contextmanager
    def transaction(self) -> Generator[None]:
        """Commit everything the block changes, or nothing if it raises.

        Other processes can read the old state until the block ends, and wait if they want to write.
        """
        with self._lock:
            # IMMEDIATE takes the write lock at once: a deferred transaction that read first could fail at its first
            # write, without waiting, because another process wrote in between.
            self.run("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                # SQLite has already rolled back after some errors, such as a full disk.
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
            self.run("COMMIT")

    def get_cache(self) -> "SearchCache":
        """Return what searches have read since the file changed last."""
        with self._lock, self._named_errors():
            ((others,),) = self._connection.execute("PRAGMA data_version").fetchall()
            state = (others, self._connection.total_changes)
            if state != self._cached_state:
                self._cached_state, self._cache = state, SearchCache()
            return self._cache

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def _named_errors(self) -> Generator[None]:
        """Raise sqlite3's errors inside the block as the three errors that the class documents."""
        import sqlite3

        try:
            yield
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
                message = tr("the search index {path} is being written; try again later", path=self._path)
                raise RecallIndexBusy(message) from error
            if "no such module" in str(error):
                message = tr(
                    "this Python's SQLite has no full-text search (FTS5), so earlier sessions cannot be searched; "
                    "use a Python with a complete sqlite3"
                )
                raise StorageError(message) from error
            message = tr("the search index {path} cannot be used ({error})", path=self._path, error=error)
            raise RecallIndexUnusable(message) from error


BLOCK_BYTES = {"text": 6_144, "output": 32_768}
"""Uncompressed size of a block, by kind of text.

A search decompresses a whole block to read one text in it, so that large blocks are slow. Outputs are seldom read, and
large blocks compress better.
"""


class TextRef(Struct, frozen=True, gc=False):
    """The location of a text: its block, its first byte in the block, and its size in bytes."""

    block: int = 0
    start: int = 0
    size: int = 0


EMPTY_REF = TextRef()
"""The location of every empty text."""


class TextBlocks:
    """The texts of the index.

    unpacked: a cache of decompressed blocks by id; all that are read are added. It is valid until the index changes.
    """

    def __init__(self, database: Database, unpacked: dict[int, bytes] | None = None) -> None:
        self._database = database
        self._unpacked = unpacked if unpacked is not None else {}

    def append(self, session: int, kind: str, texts: Iterable[str]) -> list[TextRef]:
        """Append texts of a kind, "text" or "output", to those of a session, and return their locations."""
        ((last,),) = self._database.rows("SELECT max(id) FROM blocks WHERE session = ? AND kind = ?", (session, kind))
        if last is not None:
            self.load([TextRef(last, 0, 1)])
        block = self._next_block_id() if last is None else last
        data = bytearray() if last is None else bytearray(self._unpacked[last])
        written, refs = len(data), list[TextRef]()
        for text in texts:
            encoded = text.encode("utf-8")
            # A text is never divided between blocks, so that reading it decompresses only one.
            if encoded and len(data) >= BLOCK_BYTES[kind]:
                self._save(block, session, kind, data, written)
                data, written, block = bytearray(), 0, self._next_block_id()
            refs.append(TextRef(block, len(data), len(encoded)) if encoded else EMPTY_REF)
            data += encoded
        self._save(block, session, kind, data, written)
        return refs

    def text(self, ref: TextRef) -> str:
        """Return the text at a location."""
        if not ref.size:
            return ""
        if ref.block not in self._unpacked:
            self.load([ref])
        return self._unpacked[ref.block][ref.start : ref.start + ref.size].decode("utf-8")

    def load(self, refs: Iterable[TextRef]) -> None:
        """Read the blocks of several texts at once, which `text` then finds in the cache."""
        if missing := {ref.block for ref in refs if ref.size} - self._unpacked.keys():
            rows = self._database.rows(f"SELECT id, data FROM blocks WHERE id IN ({_join_keys(missing)})")
            # A damaged file may have anything in a column.
            self._unpacked |= {id: zlib.decompress(data) if isinstance(data, bytes) else b"" for id, data in rows}

    def _next_block_id(self) -> int:
        ((last,),) = self._database.rows("SELECT max(id) FROM blocks")
        return (last or 0) + 1

    def _save(self, block: int, session: int, kind: str, data: bytearray, written: int) -> None:
        if len(data) > written:
            self._unpacked[block] = bytes(data)
            self._database.run(
                # REPLACE: the last block of a session grows until it is full.
                "INSERT OR REPLACE INTO blocks (id, session, kind, data) VALUES (?, ?, ?, ?)",
                (block, session, kind, zlib.compress(data)),
            )


PASSAGE_BITS = 7
ROLES: tuple[Role, ...] = ("assistant", "user", "tool")
"""The position of a role is its number in the index."""
MAX_RANKED_PASSAGES = 3_000
MAX_CANDIDATES = 200
MAX_COUNTED = 5_000
"""Number of passages with a word up to which they are counted; beyond it the number is estimated from the newest."""
MAX_CACHED_COUNTS = 2_000
MAX_CACHED_BYTES = 8_000_000
"""Size of the decompressed blocks that are kept for the next search. A block has one text at least, however long."""
MAX_CACHED_TURNS = 5_000
MAX_NEWEST_FOR_PHRASE = 2_000
"""The query word for word is searched only in that many of the newest passages with its rarest word."""
MAX_COUNT_IN_RANK = 20_000
"""A word in more passages adds nothing to FTS5's rank, which would read all of them; `Search` scores it from the text.
"""
MAX_EXACT_PASSAGES = 16
"""Number of passages with the whole query word for word, newest first."""
MAX_TITLES, MAX_RANKED_TITLES = 100, 500
"""Number of titles that are found, and of those that FTS5 ranks."""
MAX_OUTPUTS_OF_TERM = 200
"""Number of tool outputs up to which a word in them helps to find a session."""
MAX_SELECTING_TERMS = 10
"""Number of words of a long query that select the candidates, the rarest first; all words contribute to the score."""
MAX_CANDIDATES_PER_SESSION = 20
"""Without this limit, one session that repeats the same words could be the only one found."""
_LETTERS = string.ascii_lowercase + string.digits
_CHARS_PER_WORD = 6.0
"""Mean length of a word with the space behind it; the index stores the number of characters, not of words."""
_MAX_COUNTED_PAIRS = 6
_MAX_WORDS_OF_PHRASE = 7
"""Number of words up to which a phrase is searched at once; of a longer one, that many of its words first."""
_UUID = re.compile("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class IndexedSession(Struct, frozen=True, gc=False):
    """What the index says about a session as a whole. updated: time of its last change."""

    id: str
    title: str
    updated: float
    kind: SessionKind


class SearchCache(Struct):
    """What searches have read and the next ones can use, as long as the index is unchanged: queries of one user repeat
    words and find the same turns.

    Attributes:
        counts: the number of passages, or of titles, that match an FTS5 expression, by table and expression.
        blocks: decompressed blocks, by id.
        turns: turns, the ids of their messages as stored, and where their texts are, by key.
        sessions: sessions, by key.
    """

    counts: dict[tuple[str, str], int] = {}
    blocks: dict[int, bytes] = {}
    turns: dict[int, tuple[Turn, object, TextRef]] = {}
    sessions: dict[int, IndexedSession] = {}

    def is_full(self) -> bool:
        """Whether it has so much that an empty one should take its place."""
        return (
            len(self.counts) > MAX_CACHED_COUNTS
            or sum(map(len, self.blocks.values())) > MAX_CACHED_BYTES
            or len(self.turns) > MAX_CACHED_TURNS
            or len(self.sessions) > MAX_CACHED_TURNS
        )


class FoundPassage(Struct, frozen=True, kw_only=True, gc=False):
    """A passage that may answer the query: its turn, its number in the turn, and its FTS5 score (higher is better)."""

    turn: Turn
    number: int
    score: float


class IndexReader:
    """The read queries of a search. Each takes milliseconds, however large the index is."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._cache = database.get_cache()
        self._blocks = TextBlocks(database, self._cache.blocks)

    def load_totals(self) -> tuple[int, float]:
        """Return the number of passages, at least 1, and their mean length in words."""
        ((count, chars),) = self._database.rows("SELECT passages, chars FROM totals")
        passages = max(count, 1)
        return passages, max(chars / passages / _CHARS_PER_WORD, 1.0)

    def count_terms(self, terms: Sequence[Term]) -> list[int]:
        """Return, for each term, the number of passages that contain one of its forms; an estimate for common words."""
        return [self._estimate_count(_match_any_form(term)) for term in terms]

    def count_related(self, terms: Sequence[Term]) -> list[int]:
        """Return, for each term, the number of passages that contain one of its related words; 0 without any."""
        return [self._estimate_count(_match_related(term)) if term.related else 0 for term in terms]

    def find_passages(
        self,
        query: Query,
        counts: Sequence[int],
        exclude: frozenset[int],
        until: float = math.inf,
        related: Sequence[int] = (),
    ) -> list[FoundPassage]:
        """Return the passages with the query word for word, then the best ones by FTS5's own rank, best first.

        Where many passages contain all words of the query, FTS5's rank alone may miss the one it was copied from.

        Args:
            counts: the number of passages that contain each term, see `count_terms`.
            exclude: keys of sessions to leave out.
            until: later turns are left out, too; seconds since the epoch.
            related: see `count_related`; empty if passages with related words are not wanted.
        """
        choice = self._choose_match(query, counts, related)
        if not choice:
            return []
        clause, newest_from = choice
        exact: set[int] = set()
        # A phrase can only match if each of its words occurs somewhere.
        if len(query.words) > 1 and 0 not in counts:
            # Only where the rarest word is in the newest passages: a phrase of common words would read all of them.
            count, rarest = min(zip(counts, query.terms, strict=True), key=itemgetter(0))
            start = newest_from
            if count > MAX_NEWEST_FOR_PHRASE:
                start = max(start, self._find_newest_from(_match_any_form(rarest), MAX_NEWEST_FOR_PHRASE))
            exact = self._find_phrase(query, counts, start)
        found: list[FoundPassage] = []
        per_session = Counter[int]()
        # The first ones need no rank: `Search` scores all of them from their text.
        batches = self._ranked(clause, newest_from)
        for number, rows in enumerate(chain([[(row, 0.0) for row in sorted(exact, reverse=True)]], batches)):
            turns = self.load_turns({row >> PASSAGE_BITS for row, _ in rows})
            for row, rank in rows:
                turn = turns.get(row >> PASSAGE_BITS)
                # A row without a turn is left by a session that was deleted while this search ran.
                if turn is None or turn.created > until or turn.session in exclude:
                    continue
                if number and (row in exact or per_session[turn.session] == MAX_CANDIDATES_PER_SESSION):
                    continue
                per_session[turn.session] += number > 0
                # FTS5 ranks the best lowest.
                found.append(FoundPassage(turn=turn, number=row & ((1 << PASSAGE_BITS) - 1), score=-rank))
            if len(found) >= MAX_CANDIDATES:
                break
        return found

    def _find_phrase(self, query: Query, counts: Sequence[int], start: int) -> set[int]:
        """Return the row ids of the newest passages from `start` on with the query word for word.

        FTS5 reads forwards: backwards it takes up to 20 times as long, and there are few passages.
        """
        end = 2**62
        if len(query.words) > _MAX_WORDS_OF_PHRASE:
            # Some of its words are found much faster than all: mostly no passage has them, and so none the phrase.
            words = " AND ".join(f'"{word}"' for word in _list_rarest_words(query, counts))
            ((first, last),) = self._database.rows(
                "SELECT min(rowid), max(rowid) FROM passages WHERE passages MATCH ? AND rowid >= ?", (words, start)
            )
            if first is None:
                return set()
            start, end = first, last
        rows = self._database.rows(
            "SELECT rowid FROM passages WHERE passages MATCH ? AND rowid BETWEEN ? AND ?",
            (f'"{" ".join(query.words)}"', start, end),
        )
        return set(sorted(row for (row,) in rows)[-MAX_EXACT_PASSAGES:])

    def _ranked(self, clause: str, newest_from: int) -> Iterator[list[tuple[int, float]]]:
        """Yield passages and their FTS5 ranks, best first: the first ones, then all others, which few queries need.

        With a LIMIT SQLite sorts a tenth faster.
        """
        sql = "SELECT rowid, rank FROM passages WHERE passages MATCH ? AND rowid >= ? ORDER BY rank, rowid DESC LIMIT ?"
        first = self._database.rows(sql, (clause, newest_from, MAX_CANDIDATES))
        yield first
        if len(first) == MAX_CANDIDATES:
            others = self._database.rows(f"{sql} OFFSET ?", (clause, newest_from, -1, MAX_CANDIDATES))
            yield from (others[at : at + MAX_CANDIDATES] for at in range(0, len(others), MAX_CANDIDATES))

    def find_outputs(self, query: Query, exclude: frozenset[int]) -> list[Turn]:
        """Return the turns whose tool output contains all terms, or if there are none, any term; newest first."""
        forms = [_match_any_form(term) for term in query.terms if all(map(_is_indexed_letter, term.forms[0]))]
        for operator in (" AND ", " OR ") if forms else ():
            keys = self._list_outputs(operator.join(forms), MAX_CANDIDATES)
            turns = [turn for turn in self.load_turns(keys).values() if turn.session not in exclude]
            if turns or len(forms) < 2:
                return turns
        return []

    def _list_outputs(self, clause: str, limit: int) -> list[int]:
        sql = "SELECT rowid FROM outputs WHERE outputs MATCH ? ORDER BY rowid DESC LIMIT ?"
        return [key for (key,) in self._database.rows(sql, (clause, limit))]

    def find_terms_in_outputs(
        self, query: Query, places: Iterable[int], least: int, exclude: frozenset[int]
    ) -> dict[int, frozenset[int]]:
        """Return, by key of the turn of a tool's output, which of the query's terms at `places` it contains.

        Terms that many outputs contain are left out: most of them are words of source code that was read.

        least: number of terms that an output must contain.
        """
        found: dict[int, set[int]] = {}
        for place in places:
            term = query.terms[place]
            if not all(map(_is_indexed_letter, term.forms[0])):
                continue
            keys = self._list_outputs(_match_any_form(term), MAX_OUTPUTS_OF_TERM + 1)
            for key in keys if len(keys) <= MAX_OUTPUTS_OF_TERM else ():
                found.setdefault(key, set()).add(place)
        enough = {key: frozenset(places) for key, places in found.items() if len(places) >= least}
        if exclude:
            turns = self.load_turns(enough)
            enough = {key: enough[key] for key, turn in turns.items() if turn.session not in exclude}
        return enough

    def find_callers(self, keys: Iterable[int]) -> dict[int, Turn]:
        """Return, by key of the turn of a tool's output, the turn with a text that called the tool."""
        # The output has the place of the last turn with a text before it.
        rows = self._database.rows(
            "SELECT o.id, t.id FROM turns o JOIN turns t ON t.session = o.session AND t.place = o.place"
            f" WHERE o.id IN ({_join_keys(keys)}) AND t.text_size"
        )
        turns = self.load_turns(caller for _, caller in rows)
        return {key: turns[caller] for key, caller in rows if caller in turns}

    def find_titles(self, query: Query, exclude: frozenset[int]) -> dict[int, str]:
        """Return the titles that contain a term of the query, by session key, best first."""
        chosen = self._choose_title_words(query)
        rows = self._database.rows(
            "SELECT s.id, s.title FROM (SELECT rowid FROM titles WHERE titles MATCH ? ORDER BY rank LIMIT ?) f"
            " JOIN sessions s ON s.id = f.rowid",
            (" OR ".join(chosen), MAX_TITLES),
        )
        return {id: title for id, title in rows if id not in exclude}

    def _choose_title_words(self, query: Query) -> list[str]:
        """Return the words of a query that few titles contain, the rarest first, or else only the rarest one.

        FTS5 would rank each title with a common word; the sessions with them are found by their turns.
        """
        words, counts = list(map(_match_any_form, query.terms)), self._cache.counts
        for word in words:
            if ("titles", word) not in counts:
                counts["titles", word] = self._count_up_to("titles", word, MAX_RANKED_TITLES + 1)
        words.sort(key=lambda word: counts["titles", word])
        ranked = list(accumulate(counts["titles", word] for word in words))
        return words[: max(bisect_right(ranked, MAX_RANKED_TITLES), 1)]

    def load_turns(self, keys: Iterable[int]) -> dict[int, Turn]:
        """Return turns by their key, in the order of the keys, without those that no longer exist."""
        unique, known = list(dict.fromkeys(keys)), self._cache.turns
        if missing := [key for key in unique if key not in known]:
            self._load_turns_where(f"id IN ({_join_keys(missing)})")
        return {key: known[key][0] for key in unique if key in known}

    def find_neighbours(self, turns: Iterable[Turn], reach: int) -> list[Turn]:
        """Return the given turns and those up to `reach` places before or after them, if they have a text."""
        near = " OR ".join(
            f"(session = {turn.session} AND place BETWEEN {turn.place - reach} AND {turn.place + reach})"
            for turn in turns
        )
        return self._load_turns_where(f"({near}) AND text_size") if near else []

    def _load_turns_where(self, condition: str, values: Sequence[object] = ()) -> list[Turn]:
        rows: list[tuple[int, object, int, int, int, int, int, float, int, int, int]] = self._database.rows(
            "SELECT id, message, session, place, role, asks, tells, created, text_block, text_start, text_size"
            f" FROM turns WHERE {condition}",
            values,
        )
        found: list[Turn] = []
        for key, message, session, place, role, asks, tells, created, *ref in rows:
            turn = Turn(
                key=key, session=session, place=place, role=ROLES[role], asks=asks, tells=bool(tells), created=created
            )
            self._cache.turns[key] = (turn, message, TextRef(*ref))
            found.append(turn)
        return found

    def find_statements(self, sessions: Iterable[int]) -> list[Turn]:
        """Return the turns in which a user of these sessions with an assistant says something about themselves."""
        talks = [key for key, session in self.load_sessions(sessions).items() if session.kind == "assistant"]
        return self._load_turns_where(f"session IN ({_join_keys(talks)}) AND tells AND text_size")

    def find_turns_of_messages(self, messages: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Turn]:
        """Return the turns with a text of messages, given and returned by session id and message id."""
        wanted: dict[str, dict[object, tuple[str, str]]] = {}
        for session, message in messages:
            wanted.setdefault(session, {})[short_id(message)] = (session, message)
        found: dict[tuple[str, str], int] = {}
        for session, places in wanted.items():
            # One query per session: there is no index on the ids of messages.
            rows = self._database.rows(
                "SELECT t.id, t.message FROM sessions s JOIN turns t ON t.session = s.id"
                f" WHERE s.name = ? AND t.text_size AND t.message IN ({','.join('?' * len(places))})",
                (session, *places),
            )
            found |= {places[message]: key for key, message in rows}
        turns = self.load_turns(found.values())
        return {place: turns[key] for place, key in found.items() if key in turns}

    def load_first_turns(self, sessions: Iterable[int]) -> list[Turn]:
        """Return the first turn with a text of each session."""
        rows = self._database.rows(
            f"SELECT min(id) FROM turns WHERE session IN ({_join_keys(sessions)}) AND place = 1 GROUP BY session"
        )
        return list(self.load_turns(key for (key,) in rows).values())

    def load_texts(self, keys: Iterable[int]) -> dict[int, str]:
        """Return the texts of turns that were loaded, by key."""
        return self._read_texts({key: self._cache.turns[key][2] for key in keys})

    def load_outputs(self, keys: Iterable[int]) -> dict[int, str]:
        """Return the tool outputs of turns, by key."""
        rows = self._database.rows(
            f"SELECT id, output_block, output_start, output_size FROM turns WHERE id IN ({_join_keys(keys)})"
        )
        return self._read_texts({key: TextRef(*ref) for key, *ref in rows})

    def _read_texts(self, refs: Mapping[int, TextRef]) -> dict[int, str]:
        self._blocks.load(refs.values())
        return {key: self._blocks.text(ref) for key, ref in refs.items()}

    def find_turns_between(self, start: float, end: float, limit: int) -> list[Turn]:
        """Return the first `limit` turns with a text from `start` to before `end`, in seconds since the epoch."""
        condition = "created >= ? AND created < ? AND text_size ORDER BY id LIMIT ?"
        return self._load_turns_where(condition, (start, end, limit))

    def list_years(self, limit: int) -> list[int]:
        """Return up to `limit` years, newest first, between the oldest and the newest change of a session."""
        ((first, last),) = self._database.rows("SELECT min(updated), max(updated) FROM sessions")
        if first is None:
            return []
        from_year, to_year = (time.localtime(float(at)).tm_year for at in (first, last))
        return list(range(to_year, max(from_year, to_year - limit + 1) - 1, -1))

    def load_message_ids(self, keys: Iterable[int]) -> dict[int, str]:
        """Return the message ids of turns that were loaded, by key."""
        return {key: long_id(self._cache.turns[key][1]) for key in keys}

    def load_sessions(self, keys: Iterable[int]) -> dict[int, IndexedSession]:
        """Return sessions by key, without those that no longer exist."""
        wanted, known = set(keys), self._cache.sessions
        if missing := wanted - known.keys():
            rows = self._database.rows(
                "SELECT id, name, title, updated, user_turns, assistant_turns FROM sessions"
                f" WHERE id IN ({_join_keys(missing)})"
            )
            for key, name, title, updated, users, replies in rows:
                known[key] = IndexedSession(name, title, float(updated), classify_session(users, replies))
        return {key: known[key] for key in wanted if key in known}

    def load_commits(self, session: int) -> list[tuple[float, str, str]]:
        """Return (time of the message that made it, hash, subject) of each commit of a session, oldest first."""
        rows = self._database.rows(
            "SELECT t.created, c.hash, c.subject FROM commits c JOIN turns t ON t.id = c.turn WHERE c.session = ?"
            " ORDER BY c.rowid",
            (session,),
        )
        return [(float(created), name, subject) for created, name, subject in rows]

    def find_similar_stem(self, word: str) -> str:
        """Return the most common stem in the index that differs from `word`, a stem not in it, by one letter.

        Returns an empty string if there is none.
        """
        if len(word) < MIN_MISSPELLING_LETTERS or not (word.isascii() and word.isalpha()):
            return ""
        self._database.run("CREATE VIRTUAL TABLE IF NOT EXISTS temp.stems USING fts5vocab(main, passages, row)")
        # Counting a term reads all its passages, so only terms that can be the intended word are counted: those with
        # the same first two letters, and the few with the same first letter and another second one.
        first, second, others = word[0], word[1], word[2:]
        near = {f"{first}{letter}{rest}" for letter in _LETTERS for rest in (others, second + others)}
        near |= {first + others, first + word[2:3] + second + word[3:]}
        rows = self._database.rows(
            "SELECT term, doc FROM temp.stems WHERE term >= ? AND term < ? AND length(term) BETWEEN ? AND ?",
            (first + second, first + chr(ord(second) + 1), len(word) - 1, len(word) + 1),
        )
        marks = ",".join("?" * len(near))
        rows += self._database.rows(f"SELECT term, doc FROM temp.stems WHERE term IN ({marks})", tuple(near))
        found = [(-count, term) for term, count in rows if is_misspelling(term, word)]
        return min(found)[1] if found else ""

    def load_user_places(self, sessions: Collection[int]) -> dict[int, list[int]]:
        """Return the positions of the user's messages in each session, in order."""
        rows = self._database.rows(
            f"SELECT session, place FROM turns WHERE session IN ({_join_keys(sessions)}) AND role = ?"
            " AND text_size ORDER BY session, place",
            (ROLES.index("user"),),
        )
        places: dict[int, list[int]] = {session: [] for session in sessions}
        for session, place in rows:
            places[session].append(place)
        return places

    def load_exchange(self, turn: Turn, limit: int) -> list[Turn]:
        """Return the turns with a text from the user message that a turn belongs to until the next one, in order.

        Of a long exchange only its first turn, those around the given turn and its last one: at most `limit`.
        """
        user = ROLES.index("user")
        ((first, end),) = self._database.rows(
            "SELECT (SELECT max(place) FROM turns WHERE session = ? AND place <= ? AND role = ? AND text_size),"
            " (SELECT min(place) FROM turns WHERE session = ? AND place > ? AND role = ? AND text_size)",
            (turn.session, turn.place, user) * 2,  # Python 3.14 takes numbered placeholders from a mapping only
        )
        first = 0 if first is None else first
        end = 2**62 if end is None else end
        found: dict[int, Turn] = {}
        for begin, order, count in (
            (first, "", 1),
            (max(first, turn.place - limit // 2), "", limit - 2),
            (max(first, turn.place - limit // 2), " DESC", 1),
        ):
            condition = f"session = ? AND place >= ? AND place < ? AND text_size ORDER BY place{order} LIMIT ?"
            found |= {one.place: one for one in self._load_turns_where(condition, (turn.session, begin, end, count))}
        return [found[place] for place in sorted(found)]

    def find_session_keys(self, names: Iterable[str]) -> frozenset[int]:
        """Return the keys of the sessions with the given ids."""
        return frozenset(
            key for name in names for (key,) in self._database.rows("SELECT id FROM sessions WHERE name = ?", (name,))
        )

    def _choose_match(self, query: Query, counts: Sequence[int], related: Sequence[int] = ()) -> tuple[str, int] | None:
        """Return the FTS5 MATCH expression and the smallest row id to read, or None if nothing can match."""
        known = sorted((count, place) for place, count in enumerate(counts) if count)[:MAX_SELECTING_TERMS]
        terms = [_match_any_form(query.terms[place]) for _, place in known]
        others = sorted((count, place) for place, count in enumerate(related) if count)[:MAX_SELECTING_TERMS]
        terms += [_match_related(query.terms[place]) for _, place in others]
        known += others
        if not known:
            return None
        must = " AND ".join(f'"{" ".join(phrase)}"' for phrase in query.phrases)
        if must:
            return self._limit_to_newest(f"{must} AND ({' OR '.join(terms)})")
        ranked = [term for (count, _), term in zip(known, terms, strict=True) if count <= MAX_COUNT_IN_RANK]
        rare: list[str] = []
        room = MAX_RANKED_PASSAGES
        for (count, _), term in zip(known, terms, strict=True):
            if count <= room:
                rare.append(term)
                room -= count
        common = [term for term in terms if term not in rare]
        pairs: list[str] = []
        scored_in_pairs: list[str] = []
        for pair in islice(combinations(common, 2), _MAX_COUNTED_PAIRS):
            both = f"({pair[0]} AND {pair[1]})"
            if 0 < (count := self._count_up_to("passages", both, room + 1)) <= room:
                room -= count
                pairs.append(both)
                scored_in_pairs += [] if set(pair) & set(ranked) else [both]
        if not rare and not pairs:
            return self._limit_to_newest(common[0])
        chosen = " OR ".join([*rare, *pairs])
        # The second half selects no further passage; it makes FTS5 include the common words in the rank. For each word
        # in the expression FTS5 reads all passages that contain it, so no word is repeated without need.
        only_scored = [term for term in ranked if term not in rare]
        return (f"({chosen}) AND ({' OR '.join([*ranked, *scored_in_pairs])})" if only_scored else chosen), 0

    def _limit_to_newest(self, clause: str) -> tuple[str, int]:
        """Return the expression and the smallest row id that leaves the newest `MAX_RANKED_PASSAGES` matches."""
        return clause, self._find_newest_from(clause, MAX_RANKED_PASSAGES)

    def _find_newest_from(self, clause: str, limit: int) -> int:
        """Return the smallest row id that leaves about the newest `limit` matches; 0 if there are not more."""
        # Row ids grow with time, so this row id separates the newest passages from older ones.
        rows = self._database.rows(
            "SELECT rowid FROM passages WHERE passages MATCH ? ORDER BY rowid DESC LIMIT 1 OFFSET ?", (clause, limit)
        )
        return rows[0][0] if rows else 0

    def _estimate_count(self, clause: str) -> int:
        """Return the number of matches; if there are many, as if older passages matched as often as the newest."""
        counts, key = self._cache.counts, ("passages", clause)
        if key not in counts:
            ((count, start),) = self._database.rows(
                "SELECT count(*), min(rowid) FROM"
                " (SELECT rowid FROM passages WHERE passages MATCH ? ORDER BY rowid DESC LIMIT ?)",
                (clause, MAX_COUNTED + 1),
            )
            if count > MAX_COUNTED:
                ((last,),) = self._database.rows("SELECT max(id) FROM turns")
                last = (last + 1) << PASSAGE_BITS
                count = round(MAX_COUNTED * last / (last - start))
            counts[key] = count
        return counts[key]

    def _count_up_to(self, table: str, clause: str, limit: int) -> int:
        """Return the number of matches in a table, at most `limit`."""
        ((count,),) = self._database.rows(
            f"SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {table} MATCH ? LIMIT ?)", (clause, limit)
        )
        return count


def _join_keys(keys: Iterable[int]) -> str:
    return ",".join(map(str, keys))


def short_id(message: str) -> str | bytes:
    """Return the id of a message as the index stores it: a UUID as 16 bytes, any other id unchanged."""
    # 16 bytes instead of 36: the id is stored once per turn.
    return bytes.fromhex(message.replace("-", "")) if _UUID.fullmatch(message) else message


def long_id(stored: object) -> str:
    """Return the id of a message from its stored form."""
    if not isinstance(stored, bytes):
        return str(stored)
    digits = stored.hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _match_any_form(term: Term) -> str:
    # Forms consist of letters and digits, so they cannot contain a quotation mark.
    forms = " OR ".join(f'"{form}"' for form in term.forms)
    return f"({forms})" if len(term.forms) > 1 else forms


def _list_rarest_words(query: Query, counts: Sequence[int]) -> list[str]:
    """Return words that each passage with the query word for word contains, the rarest first."""
    rarest = (term.stems[0] for _, term in sorted(zip(counts, query.terms, strict=True), key=itemgetter(0)))
    known = dict.fromkeys(query.words)
    return list(dict.fromkeys((*(word for word in rarest if word in known), *known)))[:_MAX_WORDS_OF_PHRASE]


def _match_related(term: Term) -> str:
    return f"({' OR '.join(term.related)})"


def _is_indexed_letter(character: str) -> bool:
    # Letters that an old SQLite does not know split a word into a phrase, and `outputs` cannot match phrases because
    # it has no positions.
    return character < "\u0590" or "\u3040" <= character <= "\u9fff" or "\uac00" <= character <= "\ud7a3"
