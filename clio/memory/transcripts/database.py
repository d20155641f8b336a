"""The SQLite file of the transcript index: its tables, its version, its blocks of text."""

import math
import re
import string
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from typing import Any

from msgspec import Struct

from clio.errors import StorageError
from clio.memory.transcripts.query import Query, Term
from clio.memory.transcripts.ranking import Talk, Turn, classify_session
from clio.memory.transcripts.transcript_records import Role
from clio.text.vocabulary import MIN_MISSPELLING_LETTERS, is_misspelling

VERSION = 3
BUSY_SECONDS = 5.0
"""How long a process waits for another one that is writing."""

_SCHEMA = f"""
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, title TEXT NOT NULL, updated REAL NOT NULL, stamp TEXT NOT NULL,
    user_turns INTEGER NOT NULL DEFAULT 0, assistant_turns INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE turns (
    id INTEGER PRIMARY KEY, session INTEGER NOT NULL, place INTEGER NOT NULL, message NOT NULL, role INTEGER NOT NULL,
    asks INTEGER NOT NULL, created REAL NOT NULL,
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
PRAGMA user_version = {VERSION};
"""


class RecallIndexUnusable(StorageError):
    """The file is damaged, of another version, or no index at all: delete it and build it again."""


class RecallIndexBusy(StorageError):
    """Another process has been writing for longer than `BUSY_SECONDS`; the file is sound, ask again later."""


class Database:
    """One SQLite file, or one in memory; may be used by several threads of a process, one at a time.

    Every method raises RecallIndexUnusable where the file is not what it should be, RecallIndexBusy where another
    process does not let go of it, StorageError where this Python's SQLite has no full-text search.
    """

    def __init__(self, path: Path | None) -> None:
        import sqlite3

        self._path = path
        self._lock = threading.RLock()
        with self._named_errors():
            self._connection = sqlite3.connect(
                path or ":memory:", timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
        try:
            with self._named_errors():
                self._prepare()
        except StorageError:
            self._connection.close()
            raise

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """All rows of a question."""
        with self._lock, self._named_errors():
            return self._connection.execute(sql, values).fetchall()

    def batches(self, sql: str, values: Sequence[object], size: int) -> Iterator[list[tuple[Any, ...]]]:
        """The rows of a question, so many at a time; stop when there are enough."""
        with self._lock, self._named_errors():
            cursor = self._connection.execute(sql, values)
            try:
                while rows := cursor.fetchmany(size):
                    yield rows
            finally:
                cursor.close()

    def run(self, sql: str, values: Sequence[object] = ()) -> int:
        """Change something; the id of the row that was put last."""
        with self._lock, self._named_errors():
            return self._connection.execute(sql, values).lastrowid or 0

    def run_many(self, sql: str, values: Iterable[Sequence[object]]) -> None:
        """Change something once for each set of values."""
        with self._lock, self._named_errors():
            self._connection.executemany(sql, values)

    @contextmanager
    def transaction(self) -> Generator[None]:
        """All of the block or nothing of it. Other processes may read until it ends, and wait to write."""
        with self._lock:
            self.run("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._roll_back()
                raise
            self.run("COMMIT")

    def shrink(self) -> None:
        """Give free pages of the file back."""
        with self._lock, self._named_errors():
            # Frees one page a step, and only a script is stepped to its end.
            self._connection.executescript("PRAGMA incremental_vacuum")

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._connection.close()

    def _prepare(self) -> None:
        run = self._connection.execute
        if (version := self._version()) not in (0, VERSION):
            raise RecallIndexUnusable(f"the search index {self._path} is of version {version}; build it again")
        settings = ["journal_mode = TRUNCATE", "synchronous = OFF", "cache_spill = OFF", "cache_size = -16000"]
        if version == 0:
            settings = ["page_size = 8192", "auto_vacuum = INCREMENTAL", *settings]
        for setting in [*settings, "temp_store = MEMORY"]:
            run(f"PRAGMA {setting}")
        if version == 0:
            with self.transaction():
                # Another process may have made the tables while this one waited for the file.
                if self._version() == 0:
                    for statement in _SCHEMA.strip().rstrip(";").split(";\n"):
                        run(statement)
        run("SELECT sessions.id FROM sessions, turns, blocks LIMIT 1").fetchall()
        for table in ("passages", "titles", "outputs"):
            run(f"SELECT rowid FROM {table} WHERE {table} MATCH 'a' LIMIT 1").fetchall()

    def _version(self) -> int:
        return int(self._connection.execute("PRAGMA user_version").fetchone()[0])

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    @contextmanager
    def _named_errors(self) -> Generator[None]:
        import sqlite3

        try:
            yield
        except sqlite3.DatabaseError as error:
            name = getattr(error, "sqlite_errorname", "")
            if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
                raise RecallIndexBusy(f"the search index {self._path} is being written; ask again later") from error
            if "no such module" in str(error):
                raise StorageError(
                    "this Python's SQLite has no full-text search (FTS5), so earlier sessions cannot be searched; "
                    "use a Python with a complete sqlite3"
                ) from error
            raise RecallIndexUnusable(f"the search index {self._path} cannot be used ({error})") from error


BLOCK_BYTES = {"text": 6_144, "output": 32_768}
"""How much goes into one block, by kind. A search unpacks a whole block for one text of it; outputs are read seldom."""


class Ref(Struct, frozen=True):
    """Where a text stands: in which block, from which byte on, how many bytes."""

    block: int = 0
    start: int = 0
    size: int = 0


NOTHING = Ref()
"""Where the empty text stands."""


class TextBlocks:
    """The texts of the index. Blocks once unpacked are kept: use one for one change or one search."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._unpacked: dict[int, bytes] = {}

    def append(self, session: int, kind: str, texts: Iterable[str]) -> list[Ref]:
        """Put texts behind those of a session, of kind "text" or "output"; where each stands then."""
        last = self._database.rows(
            "SELECT id FROM blocks WHERE session = ? AND kind = ? ORDER BY id DESC LIMIT 1", (session, kind)
        )
        block = last[0][0] if last else self._next()
        data = bytearray(self._block(block)) if last else bytearray()
        written, refs = len(data), list[Ref]()
        for text in texts:
            encoded = text.encode("utf-8")
            if encoded and len(data) >= BLOCK_BYTES[kind]:
                self._save(block, session, kind, data, written)
                data, written, block = bytearray(), 0, self._next()
            refs.append(Ref(block, len(data), len(encoded)) if encoded else NOTHING)
            data += encoded
        self._save(block, session, kind, data, written)
        return refs

    def text(self, ref: Ref) -> str:
        """The text that stands there."""
        if not ref.size:
            return ""
        return self._block(ref.block)[ref.start : ref.start + ref.size].decode("utf-8")

    def remove(self, session: int) -> None:
        """Take all texts of a session out."""
        self._database.run("DELETE FROM blocks WHERE session = ?", (session,))

    def _block(self, block: int) -> bytes:
        if block not in self._unpacked:
            ((data,),) = self._database.rows("SELECT data FROM blocks WHERE id = ?", (block,))
            self._unpacked[block] = zlib.decompress(data) if isinstance(data, bytes) else b""
        return self._unpacked[block]

    def _next(self) -> int:
        ((last,),) = self._database.rows("SELECT max(id) FROM blocks")
        return (last or 0) + 1

    def _save(self, block: int, session: int, kind: str, data: bytearray, written: int) -> None:
        if len(data) > written:
            self._unpacked[block] = bytes(data)
            self._database.run(
                "INSERT OR REPLACE INTO blocks (id, session, kind, data) VALUES (?, ?, ?, ?)",
                (block, session, kind, zlib.compress(data)),
            )


PASSAGE_BITS = 7
ROLES: tuple[Role, ...] = ("assistant", "user", "tool")
"""As they are numbered in the index."""
RANKED_AT_MOST = 5_000
CANDIDATES = 240
EXACT = 16
"""Passages with the whole query word for word, the newest first."""
TITLES = 100
RAREST = 10
"""So many words of a long query choose the candidates; all of them are weighed."""
OF_ONE_SESSION = 20
"""So many of the candidates at most, or one session that says it again and again would be the only one."""
_LETTERS = string.ascii_lowercase + string.digits
_CHARS_PER_WORD = 6.0
_TRIES = 6
_UUID = re.compile("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Candidate(Struct, frozen=True, kw_only=True):
    """A passage that may answer: the turn, the number of the passage in it, and what FTS5 thinks of it."""

    turn: Turn
    number: int
    score: float


class Totals(Struct, frozen=True, kw_only=True):
    """How much is in the index: passages, and how many words each has on average."""

    passages: int
    mean_words: float


class Candidates:
    """Questions to the index; each is answered in milliseconds, however large it is."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._blocks = TextBlocks(database)

    def totals(self) -> Totals:
        """How much there is."""
        ((count, chars),) = self._database.rows("SELECT passages, chars FROM totals")
        passages = max(count, 1)
        return Totals(passages=passages, mean_words=max(chars / passages / _CHARS_PER_WORD, 1.0))

    def counts(self, terms: Sequence[Term]) -> list[int]:
        """In how many passages each term stands."""
        return [self._count(_any(term)) for term in terms]

    def passages(
        self, query: Query, counts: Sequence[int], exclude: frozenset[int], until: float = math.inf
    ) -> list[Candidate]:
        """The passages with the query word for word, then those that fit best by FTS5's own rank, the best first.

        Where many passages have all words of the query, rank alone may leave the one it was copied from behind.
        exclude: sessions that are left out. until: what was said later is, too.
        """
        choice = self._choice(query, counts)
        if not choice:
            return []
        clause, newest_from = choice
        found: list[Candidate] = []
        exact: set[int] = set()
        of_session = Counter[int]()
        if len(query.words) > 1 and 0 not in counts:
            phrase = " ".join(query.words)
            rows = self._database.rows(
                "SELECT rowid FROM passages WHERE passages MATCH ? AND rowid >= ? ORDER BY rowid DESC LIMIT ?",
                (f'"{phrase}"', newest_from, EXACT),
            )
            exact = {row for (row,) in rows}
            turns = self.turns({row >> PASSAGE_BITS for row in exact})
            for row in sorted(exact, reverse=True):
                turn = turns.get(row >> PASSAGE_BITS)
                if turn is not None and turn.created <= until and turn.session not in exclude:
                    number = row & ((1 << PASSAGE_BITS) - 1)
                    found.append(Candidate(turn=turn, number=number, score=0.0))  # weighed word for word, not by rank
        for rows in self._ranked(clause, newest_from):
            turns = self.turns({row >> PASSAGE_BITS for row, _ in rows})
            for row, rank in rows:
                turn = turns.get(row >> PASSAGE_BITS)
                if turn is None or turn.created > until or row in exact:
                    continue
                if turn.session not in exclude and of_session[turn.session] < OF_ONE_SESSION:
                    of_session[turn.session] += 1
                    number = row & ((1 << PASSAGE_BITS) - 1)
                    found.append(Candidate(turn=turn, number=number, score=-rank))
            if len(found) >= CANDIDATES:
                break
        return found

    def _ranked(self, clause: str, newest_from: int) -> Iterator[list[tuple[int, float]]]:
        """Yield passages and their FTS5 ranks, best first, in batches.

        The first batch has a LIMIT, with which SQLite sorts a tenth faster; few queries need another one.
        """
        sql = "SELECT rowid, rank FROM passages WHERE passages MATCH ? AND rowid >= ? ORDER BY rank, rowid DESC"
        first = self._database.rows(f"{sql} LIMIT {CANDIDATES}", (clause, newest_from))
        yield first
        if len(first) == CANDIDATES:
            others = f"{sql} LIMIT -1 OFFSET {CANDIDATES}"
            yield from self._database.batches(others, (clause, newest_from), CANDIDATES)

    def outputs(self, query: Query, exclude: frozenset[int]) -> list[Turn]:
        """The turns whose tool output has all words, else any; the newest first."""
        forms = [_any(term) for term in query.terms if all(map(_is_plain, term.forms[0]))]
        for joint in (" AND ", " OR ") if forms else ():
            rows = self._database.rows(
                "SELECT rowid FROM outputs WHERE outputs MATCH ? ORDER BY rowid DESC LIMIT ?",
                (joint.join(forms), CANDIDATES),
            )
            turns = [turn for turn in self.turns(row for (row,) in rows).values() if turn.session not in exclude]
            if turns or len(forms) < 2:
                return turns
        return []

    def titles(self, query: Query, exclude: frozenset[int]) -> dict[int, str]:
        """The titles that have a word of the query, by session, the best first."""
        rows = self._database.rows(
            "SELECT s.id, s.title FROM (SELECT rowid FROM titles WHERE titles MATCH ? ORDER BY rank LIMIT ?) f"
            " JOIN sessions s ON s.id = f.rowid",
            (" OR ".join(map(_any, query.terms)), TITLES),
        )
        return {id: title for id, title in rows if id not in exclude}

    def turns(self, keys: Iterable[int]) -> dict[int, Turn]:
        """Turns by their key, in the order of the keys; those that are gone are left out."""
        wanted = list(dict.fromkeys(keys))
        found = {turn.key: turn for turn in self._turns_where(f"id IN ({','.join(map(str, wanted))})")}
        return {key: found[key] for key in wanted if key in found}

    def around(self, turns: Iterable[Turn], reach: int) -> list[Turn]:
        """The turns with a text that are up to `reach` places before or behind these, and these."""
        near = " OR ".join(
            f"(session = {turn.session} AND place BETWEEN {turn.place - reach} AND {turn.place + reach})"
            for turn in turns
        )
        return self._turns_where(f"({near}) AND text_size") if near else []

    def _turns_where(self, condition: str) -> list[Turn]:
        rows: list[tuple[int, int, int, int, int, float]] = self._database.rows(
            f"SELECT id, session, place, role, asks, created FROM turns WHERE {condition}"
        )
        return [
            Turn(key=key, session=session, place=place, role=ROLES[role], asks=asks, created=created)
            for key, session, place, role, asks, created in rows
        ]

    def first_turns(self, sessions: Iterable[int]) -> list[Turn]:
        """The first turn with a text of each session."""
        keys = ",".join(map(str, sessions))
        rows = self._database.rows(
            f"SELECT min(id) FROM turns WHERE session IN ({keys}) AND place = 1 GROUP BY session"
        )
        return list(self.turns(key for (key,) in rows).values())

    def texts(self, keys: Iterable[int], kind: str = "text") -> dict[int, str]:
        """What was said in turns, or with kind "output" what their tools gave back, by key."""
        rows = self._database.rows(
            f"SELECT id, {kind}_block, {kind}_start, {kind}_size FROM turns WHERE id IN ({','.join(map(str, keys))})"
        )
        return {key: self._blocks.text(ref_at(ref)) for key, *ref in rows}

    def talks(self, keys: Iterable[int]) -> dict[int, Talk]:
        """Who talks in sessions, by key."""
        rows = self._database.rows(
            f"SELECT id, user_turns, assistant_turns FROM sessions WHERE id IN ({','.join(map(str, keys))})"
        )
        return {key: classify_session(users, replies) for key, users, replies in rows}

    def said_between(self, start: float, end: float, limit: int) -> list[Turn]:
        """The first `limit` turns with a text of a span of time."""
        rows = self._database.rows(
            "SELECT id FROM turns WHERE created >= ? AND created < ? AND text_size ORDER BY id LIMIT ?",
            (start, end, limit),
        )
        return list(self.turns(key for (key,) in rows).values())

    def years(self, limit: int) -> list[int]:
        """The last `limit` years in which sessions were changed, the newest first."""
        ((first, last),) = self._database.rows("SELECT min(updated), max(updated) FROM sessions")
        if first is None:
            return []
        from_year, to_year = (time.localtime(float(at)).tm_year for at in (first, last))
        return list(range(to_year, max(from_year, to_year - limit + 1) - 1, -1))

    def messages(self, keys: Iterable[int]) -> dict[int, str]:
        """The ids of the messages of turns, by key."""
        rows = self._database.rows(f"SELECT id, message FROM turns WHERE id IN ({','.join(map(str, keys))})")
        return {key: long_id(message) for key, message in rows}

    def sessions(self, keys: Iterable[int]) -> dict[int, tuple[str, str, float]]:
        """The id, title and time of last change of sessions, by key."""
        rows = self._database.rows(
            f"SELECT id, name, title, updated FROM sessions WHERE id IN ({','.join(map(str, keys))})"
        )
        return {key: (name, title, float(updated)) for key, name, title, updated in rows}

    def commits(self, session: int) -> list[tuple[float, str, str]]:
        """The commits made in a session, each with the time of the message that made it, the oldest first."""
        rows = self._database.rows(
            "SELECT t.created, c.hash, c.subject FROM commits c JOIN turns t ON t.id = c.turn WHERE c.session = ?"
            " ORDER BY c.rowid",
            (session,),
        )
        return [(float(created), name, subject) for created, name, subject in rows]

    def spelt_like(self, word: str) -> str:
        """The most common stem of the index that is one letter away from a stem it has not; empty without one."""
        if len(word) < MIN_MISSPELLING_LETTERS or not (word.isascii() and word.isalpha()):
            return ""
        self._database.run("CREATE VIRTUAL TABLE IF NOT EXISTS temp.stems USING fts5vocab(main, passages, row)")
        # Counting a term reads all its passages, so only those are counted that may be the word meant: the terms with
        # its first two letters, and the few that have its first letter and differ in the second.
        first, second, others = word[0], word[1], word[2:]
        near = {f"{first}{letter}{rest}" for letter in _LETTERS for rest in (others, second + others)}
        near |= {first + others, first + word[2:3] + second + word[3:]}
        rows = self._database.rows(
            "SELECT term, doc FROM temp.stems WHERE term >= ? AND term < ? AND length(term) BETWEEN ? AND ?",
            (first + second, first + chr(ord(second) + 1), len(word) - 1, len(word) + 1),
        )
        for term in near:
            rows += self._database.rows("SELECT term, doc FROM temp.stems WHERE term = ?", (term,))
        found = [(-count, term) for term, count in rows if is_misspelling(term, word)]
        return min(found)[1] if found else ""

    def user_places(self, session: int) -> list[int]:
        """The places in a session where the user spoke, in order."""
        rows = self._database.rows(
            "SELECT place FROM turns WHERE session = ? AND role = ? AND text_size ORDER BY place",
            (session, ROLES.index("user")),
        )
        return [place for (place,) in rows]

    def exchange(self, turn: Turn, limit: int) -> list[Turn]:
        """The turns with a text from the user's words that a turn belongs to until the user spoke again, in order.

        Of a long exchange its first turn, those around the turn, and its last one; `limit` in all.
        """
        user = ROLES.index("user")
        ((first, end),) = self._database.rows(
            "SELECT (SELECT max(place) FROM turns WHERE session = ?1 AND place <= ?2 AND role = ?3 AND text_size),"
            " (SELECT min(place) FROM turns WHERE session = ?1 AND place > ?2 AND role = ?3 AND text_size)",
            (turn.session, turn.place, user),
        )
        first = 0 if first is None else first
        end = 2**62 if end is None else end
        keys: list[int] = []
        for condition, order in (("place = ?", ""), ("place >= ?", ""), ("place >= ?", " DESC")):
            begin = first if condition == "place = ?" else max(first, turn.place - limit // 2)
            count = 1 if order or condition == "place = ?" else limit - 2
            rows = self._database.rows(
                f"SELECT id FROM turns WHERE session = ? AND {condition} AND place < ? AND text_size"
                f" ORDER BY place{order} LIMIT ?",
                (turn.session, begin, end, count),
            )
            keys += [key for (key,) in rows]
        return sorted(self.turns(keys).values(), key=lambda one: one.place)

    def session_keys(self, names: Iterable[str]) -> frozenset[int]:
        """The keys of sessions, by their ids."""
        return frozenset(
            key for name in names for (key,) in self._database.rows("SELECT id FROM sessions WHERE name = ?", (name,))
        )

    def _choice(self, query: Query, counts: Sequence[int]) -> tuple[str, int] | None:
        """What FTS5 is to be asked, and the first row to look at; None where nothing can match."""
        known = sorted((count, place) for place, count in enumerate(counts) if count)[:RAREST]
        if not known:
            return None
        terms = [_any(query.terms[place]) for _, place in known]
        must = " AND ".join(f'"{" ".join(phrase)}"' for phrase in query.phrases)
        if must:
            return self._bounded(f"{must} AND ({' OR '.join(terms)})")
        rare: list[str] = []
        room = RANKED_AT_MOST
        for (count, _), term in zip(known, terms, strict=True):
            if count <= room:
                rare.append(term)
                room -= count
        common = [term for term in terms if term not in rare]
        together = list(_fitting((f"({a} AND {b})" for a, b in combinations(common, 2)), room, self._count))
        if not rare and not together:
            return self._bounded(common[0])
        chosen = " OR ".join([*rare, *together])
        # What does not choose still weighs: it stands in the question, where it adds no passage.
        return (f"({chosen}) AND ({' OR '.join(terms)})" if common else chosen), 0

    def _bounded(self, clause: str) -> tuple[str, int]:
        """The newest passages only, where too many match."""
        rows = self._database.rows(
            "SELECT rowid FROM passages WHERE passages MATCH ? ORDER BY rowid DESC LIMIT 1 OFFSET ?",
            (clause, RANKED_AT_MOST),
        )
        return clause, rows[0][0] if rows else 0

    def _count(self, clause: str) -> int:
        ((count,),) = self._database.rows("SELECT count(*) FROM passages WHERE passages MATCH ?", (clause,))
        return count


def ref_at(row: Sequence[int]) -> Ref:
    """Where a text stands, from the three columns that say so."""
    return Ref(*row)


def short_id(message: str) -> str | bytes:
    """The id of a message as it is stored: a UUID in 16 bytes, others as they are."""
    return bytes.fromhex(message.replace("-", "")) if _UUID.fullmatch(message) else message


def long_id(stored: object) -> str:
    """The id of a message from what is stored."""
    if not isinstance(stored, bytes):
        return str(stored)
    digits = stored.hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _any(term: Term) -> str:
    # Forms are letters and digits only, so a quotation mark cannot be in them.
    forms = " OR ".join(f'"{form}"' for form in term.forms)
    return f"({forms})" if len(term.forms) > 1 else forms


def _fitting(clauses: Iterator[str], room: int, count: Callable[[str], int]) -> Iterator[str]:
    for _, clause in zip(range(_TRIES), clauses, strict=False):
        found = count(clause)
        if found and found <= room:
            room -= found
            yield clause


def _is_plain(character: str) -> bool:
    # Letters that an old SQLite does not know would split a word, and an index without positions refuses phrases.
    return character < "\u0590" or "\u3040" <= character <= "\u9fff" or "\uac00" <= character <= "\ud7a3"
