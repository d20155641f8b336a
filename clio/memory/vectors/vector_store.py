"""Vectors in one SQLite file for each embedder, with what each of them represents.

The file is a cache: it is deleted and made again if it is damaged, and vectors stay in memory if it cannot be used.
"""

import logging
import secrets
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import Struct, structs

from clio.storage.sqlite_cache import create_database_file, delete_database, get_inode, open_database
from clio.text.embedding import Embedder, EmbeddingFailed, HashedEmbedder, Row

if TYPE_CHECKING:
    import sqlite3

    from clio.memory.vectors.vector_index import NearRow, VectorIndex

VERSION = 1
DATABASE_NAME = "vectors.db"
BATCH = 64
COMPACT_FROM = 1_000
"""Number of deleted rows from which they are removed from the file, if more rows are deleted than used."""
GRAPH_FROM = 50_000
"""Number of vectors from which a graph of neighbours is faster than comparing all of them."""
_INITIAL_CANDIDATES = 64
_ROWS_PER_READ = 4_096
_BUSY_TIMEOUT_S = 10.0
_UNUSABLE = ("SQLITE_READONLY", "SQLITE_BUSY", "SQLITE_CANTOPEN", "SQLITE_FULL", "SQLITE_IOERR", "SQLITE_PERM")
"""Errors that do not mean that the file is damaged."""
_log = logging.getLogger(__name__)
_T = TypeVar("_T")

# Deleted rows stay as rows without a group until the file is compacted, so that the numbers of rows in memory and in
# graphs stay valid; their text is erased at once (secure_delete). The generation changes when rows are removed.
_SCHEMA = """
CREATE TABLE pieces (
    row INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, owner TEXT NOT NULL, text TEXT NOT NULL,
    role TEXT NOT NULL, created REAL NOT NULL, line INTEGER NOT NULL, vector BLOB NOT NULL
);
CREATE INDEX pieces_by_id ON pieces (id);
CREATE INDEX pieces_by_owner ON pieces (owner, id);
CREATE TABLE marks (owner TEXT PRIMARY KEY, stamp TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE generation (name TEXT NOT NULL);
INSERT INTO generation VALUES (lower(hex(randomblob(6))));
"""
_SETTINGS = (
    "page_size = 8192",
    "auto_vacuum = FULL",
    "journal_mode = TRUNCATE",
    "synchronous = NORMAL",
    "secure_delete = ON",
)
_COLUMNS = "id, owner, text, role, created, line"


class VectorItem(Struct, frozen=True):
    """What a vector represents: a piece of a turn or of a document.

    Attributes:
        id: the id of its turn or document passage.
        group: the id of its session or the name of its document; searches can be restricted to groups.
        text: the piece itself, with secrets removed.
        created: seconds since the epoch.
        line: the line of the document where it begins, from 1; 0 for a turn.
    """

    id: str
    group: str
    text: str
    role: str = ""
    created: float = 0.0
    line: int = 0


class VectorStore:
    """The vectors of one folder and one embedder. Safe for several threads and processes.

    An embedder that fails is replaced by the hashed one until the store is closed; `trouble` then says why.

    Args:
        folder: the folder of all embedders, each of which has its own folder in it; None keeps everything in memory.
        graph_from: see `VectorIndex`.
    """

    def __init__(self, folder: Path | None, embedder: Embedder, *, graph_from: int = GRAPH_FROM) -> None:
        self.embedder = embedder
        self.trouble = ""
        self._folder = folder
        self._path = self._choose_path()
        self._graph_from = graph_from
        # Never held while embedding, which can take seconds if a server does it.
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._inode = 0
        self._state: tuple[int, int] | None = None
        self._generation = ""
        self._rows: list[int] = []
        """The numbers of the rows in the index, ascending; their places in this list are those of the index."""
        self._index: VectorIndex | None = None

    @property
    def exists(self) -> bool:
        """Whether there may be anything to search; known without reading it."""
        return self._path.exists() if self._path else self._connection is not None

    def describe_slow_search(self) -> str:
        """See `VectorIndex.describe_slow_search`."""
        return self._index.describe_slow_search() if self._index is not None else ""

    def __len__(self) -> int:
        return self._select("SELECT count(*) FROM pieces WHERE owner != ''")[0][0] if self.exists else 0

    def groups(self) -> set[str]:
        """Return the groups that have vectors or a mark."""
        rows = self._select("SELECT DISTINCT owner FROM pieces WHERE owner != '' UNION SELECT owner FROM marks")
        return {group for (group,) in rows}

    def marks(self) -> dict[str, str]:
        """Return the stamp of each complete group."""
        return dict(self._select("SELECT owner, stamp FROM marks"))

    def mark(self, group: str, stamp: str) -> None:
        """Record that a group is complete: all of its source, in the state of the stamp, is embedded."""
        if self.marks().get(group) != stamp:
            self._change(lambda run: run("INSERT OR REPLACE INTO marks VALUES (?, ?)", (group, stamp)))

    def ids_of(self, group: str) -> list[str]:
        """Return the ids of a group, in the order they were added."""
        rows = self._select("SELECT id FROM pieces WHERE owner = ? GROUP BY id ORDER BY min(row)", (group,))
        return [id for (id,) in rows]

    def pieces_of(self, id: str) -> list[VectorItem]:
        """Return all pieces of a turn or document passage, in the order they were added."""
        rows = self._select(f"SELECT {_COLUMNS} FROM pieces WHERE id = ? ORDER BY row", (id,))
        return [VectorItem(*row) for row in rows]

    def read_around(
        self, item: VectorItem, measure: Callable[[VectorItem], int], limit: int
    ) -> tuple[int, list[VectorItem]]:
        """Return the index of a piece in its turn or document passage, and the piece with those around it.

        limit: how large they may be together, as `measure` returns it for each.
        """
        pieces = self.pieces_of(item.id)
        if item not in pieces:  # another process has deleted them meanwhile
            return 0, [item]
        at = first = last = pieces.index(item)
        room = limit - measure(item)
        while True:
            adjacent = sorted((first - 1, last + 1), key=lambda place: abs(place - at))
            sizes = {place: measure(pieces[place]) for place in adjacent if 0 <= place < len(pieces)}
            place = next((place for place, size in sizes.items() if size <= room), None)
            if place is None:
                return at, pieces[first : last + 1]
            first, last, room = min(first, place), max(last, place), room - sizes[place]

    def put(self, items: Iterable[VectorItem]) -> int:
        """Embed and store the pieces whose ids are not stored yet; return the number of pieces added.

        Pieces with the same id must be adjacent; either all of them are stored or none.
        """
        given = list(items)
        known = self._find_known(item.id for item in given)
        added = 0
        for batch in _batches([item for item in given if item.id not in known and item.text.strip()]):
            embedder = self.embedder
            try:
                texts = [item.text for item in batch]
                rows = [row for at in range(0, len(texts), BATCH) for row in embedder.embed(texts[at : at + BATCH])]
            except EmbeddingFailed as error:
                self._fall_back(embedder, str(error))
                # All of them again: vectors of two embedders cannot be compared.
                return self.put(given)
            with self._lock:
                if self.embedder is not embedder:  # another thread has replaced it meanwhile
                    return self.put(given)
                added += self._change(lambda run, batch=batch, rows=rows: self._insert(run, batch, rows))
        return added

    def remove(self, groups: Iterable[str], *, wipe: bool = False) -> int:
        """Delete groups with their text; return how many of them existed.

        wipe: remove the rows from the file at once, with their vectors.
        """
        known = self.groups() if self.exists else set[str]()
        gone = [group for group in dict.fromkeys(groups) if group in known]
        if not gone:
            return 0

        def delete(run: "_Run") -> None:
            for group in gone:
                run("UPDATE pieces SET id = '', owner = '', text = '', role = '' WHERE owner = ?", (group,))
                run("DELETE FROM marks WHERE owner = ?", (group,))
            ((deleted,),) = run("SELECT count(*) FROM pieces WHERE owner = ''").fetchall()
            ((rows,),) = run("SELECT count(*) FROM pieces").fetchall()
            # Removing rows makes every process read all of them again, so it waits until most are unused.
            if wipe or deleted > max(COMPACT_FROM, rows - deleted):
                run("DELETE FROM pieces WHERE owner = ''")
                run("UPDATE generation SET name = ?", (secrets.token_hex(6),))

        self._change(delete)
        return len(gone)

    def search(
        self, question: str, count: int, *, groups: Sequence[str] | None = None, without: frozenset[str] = frozenset()
    ) -> list[tuple[VectorItem, float]]:
        """Return (nearest piece, its distance) of the nearest `count` turns or document passages.

        Returns nothing for a question without a word.

        Args:
            groups: search only these groups.
            without: ids to leave out.
        """
        if count <= 0 or not self._has_any_of(groups):
            return []
        embedder = self.embedder
        try:
            [vector] = embedder.embed([question])
        except EmbeddingFailed as error:
            self._fall_back(embedder, str(error))
            return self.search(question, count, groups=groups, without=without)
        if not any(vector):
            return []
        with self._lock:
            if self.embedder is not embedder:
                return self.search(question, count, groups=groups, without=without)
            return self._find_nearest(vector, count, groups, without)

    def close(self) -> None:
        """Close the file, and stop the thread that builds the graph."""
        with self._lock:
            self._disconnect()

    def _choose_path(self) -> Path | None:
        return self._folder / self.embedder.name / DATABASE_NAME if self._folder else None

    def _fall_back(self, embedder: Embedder, reason: str) -> None:
        """Replace an embedder that failed by the hashed one; its vectors stay on disk for the next start."""
        with self._lock:
            if self.embedder is embedder:
                self._disconnect()
                self.trouble, self.embedder = reason, HashedEmbedder()
                self._path = self._choose_path()

    def _find_known(self, ids: Iterable[str]) -> set[str]:
        """Return those of the ids that are stored."""
        if not self.exists:
            return set()
        sql = "SELECT DISTINCT id FROM pieces WHERE id IN (SELECT value FROM json_each(?))"
        return {id for (id,) in self._select(sql, (_encode_list(ids),))}

    def _has_any_of(self, groups: Sequence[str] | None) -> bool:
        if groups is None:
            return bool(self._select("SELECT 1 FROM pieces WHERE owner > '' LIMIT 1"))
        return any(self._select("SELECT 1 FROM pieces WHERE owner = ? LIMIT 1", (group,)) for group in groups)

    def _insert(self, run: "_Run", items: Sequence[VectorItem], rows: Sequence[Row]) -> int:
        """Insert pieces, except those whose ids another process has stored meanwhile; return their number."""
        known = {id for id in {item.id for item in items} if run("SELECT 1 FROM pieces WHERE id = ?", (id,)).fetchone()}
        new = [(item, row) for item, row in zip(items, rows, strict=True) if item.id not in known]
        for item, row in new:
            run(
                f"INSERT INTO pieces ({_COLUMNS}, vector) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (*structs.astuple(item), row.tobytes()),
            )
        return len(new)

    # Searching

    def _find_nearest(
        self, vector: Sequence[float], count: int, groups: Sequence[str] | None, without: frozenset[str]
    ) -> list[tuple[VectorItem, float]]:
        """Return the nearest ids, each with its nearest piece: many of the nearest pieces may belong to one id.

        So four times as many pieces are searched for until they have enough different ids.
        """
        index = self._load_index()
        if index is None:
            return []
        places = None
        if groups is not None:
            sql = "SELECT row FROM pieces WHERE owner = ?"
            places = self._find_places([row for group in groups for (row,) in self._select(sql, (group,))])
        all_there = len(index) if places is None else len(places)
        most = max(_INITIAL_CANDIDATES, 4 * count)
        while True:
            near = index.search(vector, most, places=places)
            items = self._read_items(near)
            found: dict[str, tuple[VectorItem, float]] = {}
            for place, distance in near:
                item = items.get(self._rows[place])
                if item is not None and item.id not in without:
                    found.setdefault(item.id, (item, distance))
            if len(found) >= count or most >= all_there or not near:
                return list(found.values())[:count]
            most *= 4

    def _find_places(self, rows: Sequence[int]) -> list[int]:
        """Return the places of rows in the index, without rows that it does not have yet."""
        places = [bisect_left(self._rows, row) for row in sorted(rows)]
        return [place for place in places if place < len(self._rows)]

    def _read_items(self, near: "Sequence[NearRow]") -> dict[int, VectorItem]:
        """Return what the rows found represent, by row number, without deleted ones."""
        rows = [self._rows[place] for place, _ in near]
        sql = f"SELECT row, {_COLUMNS} FROM pieces WHERE owner != '' AND row IN (SELECT value FROM json_each(?))"
        return {row: VectorItem(*values) for row, *values in self._select(sql, (_encode_list(rows),))}

    def _load_index(self) -> "VectorIndex | None":
        """Return the index of all rows in the file, as other processes have left it; None if there is none."""
        if not self.exists:
            return None
        index = self._use(self._update_index)
        if index is None:
            _log.info("the vectors in %s are damaged and will be computed again", self._path)
            self._delete_file()
        return index

    def _update_index(self, connection: "sqlite3.Connection") -> "VectorIndex | None":
        """Bring the index up to date with the file; return it, or None if a row in the file is damaged."""
        from clio.memory.vectors.vector_index import VectorIndex

        run = connection.execute
        # They differ after any change of the file, by another process or by this one; asking is one look at the file.
        state = run("PRAGMA data_version").fetchone()[0], connection.total_changes
        if self._index is not None and state == self._state:
            return self._index
        (generation,) = run("SELECT name FROM generation").fetchone() or ("",)
        if self._index is None or generation != self._generation:
            self._forget_index()
            self._index, self._generation = VectorIndex(graph_from=self._graph_from), generation
        index = self._index
        index.make_room(run("SELECT count(*) FROM pieces").fetchone()[0] - len(self._rows))
        sql = "SELECT row, vector FROM pieces WHERE row > ? ORDER BY row LIMIT ?"
        while new := run(sql, (self._rows[-1] if self._rows else 0, _ROWS_PER_READ)).fetchall():
            if not index.read(b"".join(vector for _, vector in new), len(new)):
                return None
            self._rows += [row for row, _ in new]
        index.remove(self._find_places([row for (row,) in run("SELECT row FROM pieces WHERE owner = ''")]))
        if self._path is not None:
            index.keep_graph(self._path.parent, generation)
        self._state = state
        return index

    def _forget_index(self) -> None:
        if self._index is not None:
            self._index.close()
        self._index, self._rows, self._state, self._generation = None, [], None, ""

    # The file

    def _select(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query; none if nothing was ever stored."""
        with self._lock:
            if not self.exists:
                self._disconnect()
                return []
            return self._use(lambda connection: connection.execute(sql, values).fetchall())

    def _change(self, change: "Callable[[_Run], _T]") -> _T:
        """Run a change as one transaction."""

        def run_all(connection: "sqlite3.Connection") -> _T:
            with connection:  # commits, or rolls back after an exception
                connection.execute("BEGIN IMMEDIATE")
                return change(connection.execute)

        with self._lock:
            return self._use(run_all)

    def _use(self, work: "Callable[[sqlite3.Connection], _T]") -> _T:
        """Do some work with the file. It is made again if damaged; if it cannot be used, all is kept in memory."""
        import sqlite3

        try:
            return work(self._connect())
        except (sqlite3.DatabaseError, OSError) as error:
            if self._path is None:
                raise
            # Errors of the module itself, such as text that is not UTF-8, have no name: the file is damaged.
            if isinstance(error, OSError) or getattr(error, "sqlite_errorname", "").startswith(_UNUSABLE):
                self._continue_in_memory(error)
                return work(self._connect())
            _log.info("the vectors in %s are damaged and will be computed again: %s", self._path, error)
            self._delete_file()
        return work(self._connect())

    def _connect(self) -> "sqlite3.Connection":
        if self._connection is not None and (self._path is None or self._inode == get_inode(self._path)):
            return self._connection
        self._disconnect()
        if self._path is None:
            self._connection = _open(None)
            return self._connection
        if self._path.is_symlink():
            self._path.unlink()  # a link is no reason to keep the vectors in memory
        if not self._path.exists():
            _delete_former_files(self._path.parent)
        self._inode = create_database_file(self._path, self._path.parents[3])
        self._connection = _open(self._path)
        return self._connection

    def _disconnect(self) -> None:
        self._forget_index()
        if self._connection is not None:
            self._connection.close()
        self._connection, self._inode = None, 0

    def _delete_file(self) -> None:
        """Delete the file, and graphs of its rows."""
        self._disconnect()
        if self._path is None:
            return
        try:
            delete_database(self._path)
            for path in self._path.parent.glob("graph-*"):
                path.unlink(missing_ok=True)
        except OSError as error:
            self._continue_in_memory(error)

    def _continue_in_memory(self, error: Exception) -> None:
        """Stop using the file; go on with a copy of it in memory if it can be read."""
        import sqlite3

        assert self._path is not None
        _log.info("the vectors in %s are kept in memory from now on: %s", self._path, error)
        memory = _open(None)
        try:
            # Where a folder cannot be written, the file can be read only without its journal.
            source = self._connection or sqlite3.connect(f"{self._path.as_uri()}?mode=ro&immutable=1", uri=True)
            with closing(source):
                # Where the disk was full before the tables were made, SQLite copies a file without them, or crashes.
                if source.execute("PRAGMA user_version").fetchone() == (VERSION,):
                    source.backup(memory)
        except sqlite3.Error:
            memory = _open(None)
        self._disconnect()
        self._path, self._connection = None, memory


_Run = Callable[..., Any]
"""`execute` of a connection."""


def _open(path: Path | None) -> "sqlite3.Connection":
    return open_database(path, schema=_SCHEMA, version=VERSION, settings=_SETTINGS, timeout_s=_BUSY_TIMEOUT_S)


def _delete_former_files(folder: Path) -> None:
    """Delete files of earlier versions: they contain texts, which nothing would delete with their sessions."""
    for pattern in ("items.*", "vectors-*.f32", "graph-*"):
        for path in folder.glob(pattern):
            path.unlink(missing_ok=True)


def _encode_list(values: Iterable[str] | Iterable[int]) -> str:
    """Return the values as the JSON that `json_each` reads: a statement has room for any number of them."""
    return msgspec.json.encode(list(values)).decode()


def _batches(items: Sequence[VectorItem]) -> Iterator[list[VectorItem]]:
    """Yield batches of at least `BATCH` items, with all items of an id in the same batch."""
    batch: list[VectorItem] = []
    for _, same in groupby(items, key=attrgetter("id")):
        batch.extend(same)
        if len(batch) >= BATCH:
            yield batch
            batch = []
    if batch:
        yield batch
