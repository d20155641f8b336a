"""The transcript index: adding, removing and searching sessions, and the cache file that contains the index."""

import logging
import math
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import structs

from clio.errors import StorageError
from clio.memory.retrieval.evidence import Transcribed
from clio.memory.retrieval.scoring import Candidate
from clio.memory.transcripts.database import (
    PASSAGE_BITS,
    ROLES,
    Database,
    IndexReader,
    RecallIndexBusy,
    RecallIndexUnusable,
    TextBlocks,
    TextRef,
    short_id,
)
from clio.memory.transcripts.query import classify_message, parse_query, prepare_for_index, tells_of_user
from clio.memory.transcripts.search import Search
from clio.memory.transcripts.session_text import (
    SessionDoc,
    SessionHit,
    TurnDoc,
)
from clio.messages import Commit
from clio.storage.locks import FileLock
from clio.storage.sqlite_cache import create_database_file, delete_database, get_inode
from clio.text.formatting import split_passages

COMMITS_SHOWN = 5


class RecallIndex:
    """The index in one SQLite file, which is created if missing; in memory if the path is None.

    All methods may raise the errors that `database.Database` lists.
    """

    def __init__(self, path: Path | None) -> None:
        self._database = Database(path)

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def stamps(self) -> dict[str, str]:
        """Return the stamp of each session in the index, by session id."""
        return dict(self._database.rows("SELECT name, stamp FROM sessions"))

    def put(self, docs: Iterable[SessionDoc]) -> None:
        """Add sessions, replacing earlier versions of them; all of them or, after an error, none."""
        with self._database.transaction():
            for doc in docs:
                # A contentless FTS5 table cannot update a row: it is deleted and inserted again.
                self._remove(doc.id)
                title = _replace_surrogates(doc.title)
                session = self._database.run(
                    "INSERT INTO sessions (name, title, updated, stamp) VALUES (?, ?, ?, ?)",
                    (doc.id, title, doc.updated, doc.stamp),
                )
                self._write_words("titles", [(session, prepare_for_index(title))])
                self._put_turns(session, 0, doc.turns)

    def extend(self, id: str, turns: Iterable[TurnDoc], *, after: str, stamp: str, updated: float) -> bool:
        """Append turns to a session, or replace those with the same message id. Return whether that was possible.

        If the index does not contain the session with the stamp `after`, nothing is changed: use `put` instead.
        """
        with self._database.transaction():
            known = self._database.rows("SELECT id FROM sessions WHERE name = ? AND stamp = ?", (id, after))
            for (session,) in known:
                new = [turn for turn in turns if not self._replace_turn(session, turn)]
                ((last,),) = self._database.rows("SELECT max(place) FROM turns WHERE session = ?", (session,))
                self._put_turns(session, last or 0, new)
                self._database.run("UPDATE sessions SET stamp = ?, updated = ? WHERE id = ?", (stamp, updated, session))
            return bool(known)

    def remove(self, ids: Iterable[str]) -> None:
        """Delete sessions from the index; unknown ids are ignored."""
        with self._database.transaction():
            for name in ids:
                self._remove(name)

    def search(
        self,
        query: str,
        *,
        exclude: frozenset[str] = frozenset(),
        limit: int = 10,
        passages: int = 5,
        total: int | None = None,
        until: float = math.inf,
        for_reading: bool = False,
    ) -> tuple[SessionHit, ...]:
        """Return the sessions that answer a query, best first, with their best passages; see `SessionRecall.search`.

        Args:
            exclude: ids of sessions to leave out.
            limit: maximum number of sessions.
            passages: maximum number of passages per session.
            total: maximum number of passages of all sessions; the best passage of each session is chosen first.
        """
        with self._database.snapshot():
            search = Search(IndexReader(self._database), parse_query(query), exclude, until)
            total = max(limit * passages if total is None else total, 0)
            find = search.for_reading if for_reading else search.sessions
            return find(max(limit, 0), max(passages, 0), total)

    def search_turns(
        self,
        query: str,
        *,
        exclude: frozenset[str] = frozenset(),
        limit: int = 30,
        until: float = math.inf,
        near: Mapping[tuple[str, str], float] | None = None,
    ) -> tuple[Candidate, ...]:
        """Return single turns of all sessions that answer a query, best first; see `search` for the parameters.

        near: cosines of the nearest vectors that a model made, by session id and message id; see `fuse_meaning`.
        """
        with self._database.snapshot():
            search = Search(IndexReader(self._database), parse_query(query), exclude, until, near)
            return search.search_turns(max(limit, 0))

    def add_commits(self, hit: SessionHit) -> SessionHit:
        """Return the hit with commits of its session; of many, the five nearest in time to its passages."""
        # -1: the session was deleted meanwhile, and has no commits.
        ((key,),) = self._database.rows("SELECT coalesce(max(id), -1) FROM sessions WHERE name = ?", (hit.session_id,))
        made = IndexReader(self._database).load_commits(key)
        times = [passage.created for passage in hit.passages] or [hit.updated]
        nearest = sorted(range(len(made)), key=lambda place: min(abs(made[place][0] - time) for time in times))
        shown = [made[place] for place in sorted(nearest[:COMMITS_SHOWN])]
        commits = tuple(Commit(hash=name, subject=subject) for _, name, subject in shown)
        return structs.replace(hit, commits=commits, more_commits=len(made) - len(commits))

    def count_words(self, query: str) -> Transcribed:
        """Return the number of passages that contain each word of a query, in any of its forms."""
        reader, terms = IndexReader(self._database), parse_query(query).terms
        counts = reader.count_terms(terms)
        words = {term.forms[0]: count for term, count in zip(terms, counts, strict=True)}
        return Transcribed(passages=reader.load_totals()[0], words=words)

    def _put_turns(self, session: int, place: int, turns: Iterable[TurnDoc]) -> None:
        clean = list(map(_replace_surrogates_in_turn, turns))
        blocks = TextBlocks(self._database)
        texts = blocks.append(session, "text", (turn.text for turn in clean))
        outputs = blocks.append(session, "output", (turn.output for turn in clean))
        for turn, text_at, output_at in zip(clean, texts, outputs, strict=True):
            place += bool(turn.text)  # places are consecutive among turns with a text
            key = self._database.run(
                f"INSERT INTO turns (session, place, message, {_COLUMNS}) VALUES ({','.join('?' * 13)})",
                (session, place, short_id(turn.message_id), *_make_row(turn, text_at, output_at)),
            )
            self._add_text(key, turn.text)
            self._add_output(key, turn.output)
            self._put_commits(session, key, turn)
        roles = [turn.role for turn in clean if turn.text]
        self._database.run(
            "UPDATE sessions SET user_turns = user_turns + ?, assistant_turns = assistant_turns + ? WHERE id = ?",
            (roles.count("user"), roles.count("assistant"), session),
        )

    def _put_commits(self, session: int, key: int, turn: TurnDoc) -> None:
        rows = ((session, key, commit.hash, commit.subject) for commit in turn.commits)
        self._database.run_many("INSERT INTO commits (session, turn, hash, subject) VALUES (?, ?, ?, ?)", rows)

    def _replace_turn(self, session: int, turn: TurnDoc) -> bool:
        """Update the turn with the same message id; return False if the index contains none."""
        turn, blocks = _replace_surrogates_in_turn(turn), TextBlocks(self._database)
        known = self._read_refs("session = ? AND message = ?", session, short_id(turn.message_id))
        for key, text_at, output_at in known:
            # An unchanged text stays where it is: a running session is read again from its last answer on.
            if turn.text != (old := blocks.text(text_at)):
                self._add_text(key, old, -1)
                self._add_text(key, turn.text)
                (text_at,) = blocks.append(session, "text", [turn.text])
            if turn.output != (old := blocks.text(output_at)):
                self._add_output(key, old, -1)
                self._add_output(key, turn.output)
                (output_at,) = blocks.append(session, "output", [turn.output])
            self._database.run(
                f"UPDATE turns SET ({_COLUMNS}) = ({','.join('?' * 10)}) WHERE id = ?",
                (*_make_row(turn, text_at, output_at), key),
            )
            self._database.run("DELETE FROM commits WHERE session = ? AND turn = ?", (session, key))
            self._put_commits(session, key, turn)
        return bool(known)

    def _remove(self, name: str) -> None:
        for session, title in self._database.rows("SELECT id, title FROM sessions WHERE name = ?", (name,)):
            blocks = TextBlocks(self._database)
            for key, text_at, output_at in self._read_refs("session = ?", session):
                self._add_text(key, blocks.text(text_at), -1)
                self._add_output(key, blocks.text(output_at), -1)
            self._write_words("titles", [(session, prepare_for_index(title))], -1)
            for table in ("blocks", "turns", "commits"):
                self._database.run(f"DELETE FROM {table} WHERE session = ?", (session,))
            self._database.run("DELETE FROM sessions WHERE id = ?", (session,))

    def _read_refs(self, condition: str, *values: object) -> list[tuple[int, TextRef, TextRef]]:
        """Return the keys of turns, and where their texts and outputs are."""
        rows = self._database.rows(
            "SELECT id, text_block, text_start, text_size, output_block, output_start, output_size FROM turns"
            f" WHERE {condition}",
            values,
        )
        return [(key, TextRef(*refs[:3]), TextRef(*refs[3:])) for key, *refs in rows]

    def _add_text(self, key: int, text: str, sign: int = 1) -> None:
        """Add the text of a turn to the passages, or remove it if `sign` is -1."""
        pieces = split_passages(text)
        # The row id contains the key of the turn, so that finding the turn of a passage needs no join.
        rows = ((key << PASSAGE_BITS | number, prepare_for_index(piece)) for number, piece in enumerate(pieces))
        self._write_words("passages", rows, sign)
        self._database.run(
            "UPDATE totals SET passages = passages + ?, chars = chars + ?",
            (sign * len(pieces), sign * sum(map(len, pieces))),
        )

    def _add_output(self, key: int, output: str, sign: int = 1) -> None:
        if output:
            self._write_words("outputs", [(key, prepare_for_index(output))], sign)

    def _write_words(self, table: str, rows: Iterable[tuple[int, str]], sign: int = 1) -> None:
        # A contentless FTS5 table does not know its texts: to delete a row it needs the text that was indexed.
        columns, values = ("", "?, ?") if sign > 0 else (f"{table}, ", "'delete', ?, ?")
        self._database.run_many(f"INSERT INTO {table} ({columns}rowid, text) VALUES ({values})", rows)


_COLUMNS = "role, asks, tells, created, text_block, text_start, text_size, output_block, output_start, output_size"


def _make_row(turn: TurnDoc, text_at: TextRef, output_at: TextRef) -> tuple[object, ...]:
    """Return the values of `_COLUMNS`."""
    tells = turn.role == "user" and tells_of_user(turn.text)
    refs = (*structs.astuple(text_at), *structs.astuple(output_at))
    return ROLES.index(turn.role), classify_message(turn.text), tells, turn.created, *refs


def _replace_surrogates_in_turn(turn: TurnDoc) -> TurnDoc:
    clean = _replace_surrogates
    commits = tuple(Commit(hash=clean(one.hash), subject=clean(one.subject)) for one in turn.commits)
    return structs.replace(turn, text=clean(turn.text), output=clean(turn.output), commits=commits)


def _replace_surrogates(text: str) -> str:
    """Return the text with "?" for lone surrogates: damaged files contain them, and SQLite cannot store them."""
    return text.encode("utf-8", "replace").decode("utf-8")


FILE = "recall.sqlite"
_log = logging.getLogger(__name__)


class CacheFile:
    """Opens the index in `<folder>/recall.sqlite`, and creates a new one if it is unusable.

    folder: `.clio/cache`, created when needed. The index is in memory if it is None, if the folder is not writable, or
        if a newly created file turns out to be damaged too.
    """

    def __init__(self, folder: Path | None) -> None:
        self._path = folder / FILE if folder else None
        self._inode = 0
        self._renewed = False

    @property
    def exists(self) -> bool:
        """Whether there is an index file."""
        return self._path is not None and self._path.exists()

    def open(self) -> RecallIndex:
        """Return the index of the file, of a new file, or in memory.

        Raises RecallIndexBusy if another process keeps the file locked; StorageError if this Python's SQLite has no
        full-text search.
        """
        if self._path is None:
            return RecallIndex(None)
        try:
            return self._open(self._path)
        # The file is sound; replacing it would destroy what the other process is writing.
        except RecallIndexBusy:
            raise
        except StorageError as error:
            _log.info("%s; rebuilding it", error)
            return self.renew()
        except OSError as error:
            return self._open_in_memory(error)

    def renew(self) -> RecallIndex:
        """Replace a damaged index, which must be closed, by a new one and return that."""
        if self._path is None or self._renewed:
            return self._open_in_memory("it was damaged twice")
        self._renewed = True
        try:
            # The lock keeps two processes from deleting each other's new index.
            with FileLock(self._path.with_name(FILE + ".lock")):
                if self._inode in (0, get_inode(self._path)):  # otherwise another process has already replaced the file
                    delete_database(self._path)
                return self._open(self._path)
        except (StorageError, OSError) as error:
            return self._open_in_memory(error)

    def vanished(self) -> bool:
        """Whether the file was deleted or replaced since it was opened, so that writes to it would be lost."""
        return self._path is not None and get_inode(self._path) != self._inode

    def _open(self, path: Path) -> RecallIndex:
        import sqlite3

        try:
            self._inode = create_database_file(path, path.parent.parent)
        except sqlite3.DatabaseError as error:
            raise RecallIndexUnusable(str(error)) from error
        return RecallIndex(path)

    def _open_in_memory(self, reason: object) -> RecallIndex:
        _log.info("the search index is kept in memory: %s", reason)
        self._path = None
        return RecallIndex(None)
