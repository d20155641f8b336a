"""The SQLite file of the transcript index: its tables, its version, its blocks of text."""

import threading
import zlib
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from clio.errors import StorageError

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
