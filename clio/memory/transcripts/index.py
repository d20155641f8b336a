"""The transcript index: what is put in, what is taken out, what is found, and the cache file it lives in."""

import logging
import math
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, Self, overload

from msgspec import structs

from clio.errors import StorageError
from clio.memory.transcripts.database import (
    PASSAGE_BITS,
    ROLES,
    Candidates,
    Database,
    RecallIndexBusy,
    RecallIndexUnusable,
    Ref,
    TextBlocks,
    ref_at,
    short_id,
)
from clio.memory.transcripts.query import classify_message, parse_query, prepare_for_index
from clio.memory.transcripts.search import Search
from clio.memory.transcripts.transcript_records import Having, Recalled, SessionDoc, SessionHit, TurnDoc, TurnHit
from clio.messages import Commit
from clio.storage.documents import set_file_aside
from clio.storage.files import NO_FOLLOW, make_ignored_folder
from clio.storage.locks import FileLock
from clio.text.formatting import split_passages

COMMITS_SHOWN = 5


class RecallIndex:
    """The index in one SQLite file; all methods may raise what `database.Database` names."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @classmethod
    def open(cls, path: Path | None) -> Self:
        """The index in that file, made if there is none; None keeps it in memory.

        Raises RecallIndexUnusable where the file is damaged or of another version: delete it and open it again.
        """
        return cls(Database(path))

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()

    def stamps(self) -> dict[str, str]:
        """The stamp of each session in the index, by its id."""
        return dict(self._database.rows("SELECT name, stamp FROM sessions"))

    def put(self, docs: Iterable[SessionDoc]) -> None:
        """Put sessions in, in the place of what was there of them; all of them or none."""
        with self._database.transaction():
            for doc in docs:
                self._remove(doc.id)
                title = _clean(doc.title)
                session = self._database.run(
                    "INSERT INTO sessions (name, title, updated, stamp) VALUES (?, ?, ?, ?)",
                    (doc.id, title, doc.updated, doc.stamp),
                )
                self._database.run(
                    "INSERT INTO titles (rowid, text) VALUES (?, ?)", (session, prepare_for_index(title))
                )
                self._put_turns(session, 0, doc.turns)

    def extend(self, id: str, turns: Iterable[TurnDoc], *, after: str, stamp: str, updated: float) -> bool:
        """Put turns behind those a session has, or in the place of those of the same message id.

        False, and nothing is changed, where the session is not in the index with the stamp `after`: put it in whole.
        """
        with self._database.transaction():
            known = self._database.rows("SELECT id FROM sessions WHERE name = ? AND stamp = ?", (id, after))
            for (session,) in known:
                new = [turn for turn in turns if not self._change_turn(session, turn)]
                ((last,),) = self._database.rows("SELECT max(place) FROM turns WHERE session = ?", (session,))
                self._put_turns(session, last or 0, new)
                self._database.run("UPDATE sessions SET stamp = ?, updated = ? WHERE id = ?", (stamp, updated, session))
            return bool(known)

    def remove(self, ids: Iterable[str]) -> None:
        """Take sessions out; ids that are not there are passed over."""
        with self._database.transaction():
            for name in ids:
                self._remove(name)

    def tidy(self) -> None:
        """Merge what many small changes left apart: a twentieth smaller and a little faster. After a long build.

        Takes about a second for 200 MB of sessions, in which no other process can write.
        """
        with self._database.transaction():
            for table in ("passages", "outputs", "titles"):
                self._database.run(f"INSERT INTO {table} ({table}) VALUES ('optimize')")
        self._database.shrink()

    @overload
    def search(
        self,
        query: str,
        *,
        exclude: frozenset[str] = ...,
        mode: Literal["turns"],
        limit: int = ...,
        passages: int = ...,
        total: int | None = ...,
        until: float = ...,
    ) -> tuple[Recalled, ...]: ...
    @overload
    def search(
        self,
        query: str,
        *,
        exclude: frozenset[str] = ...,
        mode: Literal["sessions"] = ...,
        limit: int = ...,
        passages: int = ...,
        total: int | None = ...,
        until: float = ...,
        for_reading: bool = ...,
    ) -> tuple[SessionHit, ...]: ...
    def search(
        self,
        query: str,
        *,
        exclude: frozenset[str] = frozenset(),
        mode: Literal["turns", "sessions"] = "sessions",
        limit: int = 10,
        passages: int = 5,
        total: int | None = None,
        until: float = math.inf,
        for_reading: bool = False,
    ) -> tuple[Recalled, ...] | tuple[SessionHit, ...]:
        """What answers a query, best first: sessions with their best passages, or single turns of all sessions.

        Any text may be a query; one that shares no word with any session finds nothing. Words in double quotes must
        stand together; `in:output` searches the outputs of tools, `in:title` the titles.
        limit: how many sessions, or turns. passages: how many of each session. total: how many of all
        sessions, the best of each first. exclude: ids of sessions left out. until: nothing said later is found.
        for_reading: sessions and their passages in the order a reader needs, as `Search.for_reading` has it.
        """
        search = Search(Candidates(self._database), parse_query(query), exclude, until)
        if mode == "turns":
            return search.turns(max(limit, 0))
        total = max(limit * passages if total is None else total, 0)
        find = search.for_reading if for_reading else search.sessions
        return find(max(limit, 0), max(passages, 0), total)

    def turn_hits(
        self, query: str, *, exclude: frozenset[str] = frozenset(), limit: int = 30, until: float = math.inf
    ) -> tuple[TurnHit, ...]:
        """Single turns of all sessions that answer a query, the best first; see `search`."""
        return Search(Candidates(self._database), parse_query(query), exclude, until).turn_hits(max(limit, 0))

    def with_commits(self, hit: SessionHit) -> SessionHit:
        """The session with the commits made in it, of many those made nearest to its passages."""
        ((key,),) = self._database.rows("SELECT coalesce(max(id), -1) FROM sessions WHERE name = ?", (hit.session_id,))
        made = Candidates(self._database).commits(key)
        times = [passage.created for passage in hit.passages] or [hit.updated]
        nearest = sorted(range(len(made)), key=lambda place: min(abs(made[place][0] - time) for time in times))
        shown = [made[place] for place in sorted(nearest[:COMMITS_SHOWN])]
        commits = tuple(Commit(hash=name, subject=subject) for _, name, subject in shown)
        return structs.replace(hit, commits=commits, more_commits=len(made) - len(commits))

    def having(self, query: str) -> Having:
        """In how many passages each word of a query stands, in any of its forms."""
        candidates, terms = Candidates(self._database), parse_query(query).terms
        counts = candidates.counts(terms)
        words = {term.forms[0]: count for term, count in zip(terms, counts, strict=True)}
        return Having(passages=candidates.totals().passages, words=words)

    def _put_turns(self, session: int, place: int, turns: Sequence[TurnDoc]) -> None:
        said, gave = [_clean(turn.text) for turn in turns], [_clean(turn.output) for turn in turns]
        blocks = TextBlocks(self._database)
        places = zip(blocks.append(session, "text", said), blocks.append(session, "output", gave), strict=True)
        for turn, text, output, (text_at, output_at) in zip(turns, said, gave, places, strict=True):
            place += bool(text)
            key = self._database.run(
                "INSERT INTO turns (session, place, message, role, asks, created, text_block, text_start, text_size,"
                " output_block, output_start, output_size) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    session,
                    place,
                    short_id(turn.message_id),
                    ROLES.index(turn.role),
                    classify_message(text),
                    turn.created,
                    *_row(text_at),
                    *_row(output_at),
                ),
            )
            self._put_text(key, text)
            self._put_output(key, output)
            self._put_commits(session, key, turn)
        roles = [turn.role for turn, text in zip(turns, said, strict=True) if text]
        self._database.run(
            "UPDATE sessions SET user_turns = user_turns + ?, assistant_turns = assistant_turns + ? WHERE id = ?",
            (roles.count("user"), roles.count("assistant"), session),
        )

    def _put_commits(self, session: int, key: int, turn: TurnDoc) -> None:
        rows = ((session, key, _clean(one.hash), _clean(one.subject)) for one in turn.commits)
        self._database.run_many("INSERT INTO commits (session, turn, hash, subject) VALUES (?, ?, ?, ?)", rows)

    def _change_turn(self, session: int, turn: TurnDoc) -> bool:
        """Give a turn that is there what it says now; False where none of that message is there."""
        rows = self._database.rows(
            "SELECT id, text_block, text_start, text_size, output_block, output_start, output_size FROM turns"
            " WHERE session = ? AND message = ?",
            (session, short_id(turn.message_id)),
        )
        blocks = TextBlocks(self._database)
        for key, *refs in rows:
            text_at, output_at = ref_at(refs[:3]), ref_at(refs[3:])
            text, output = _clean(turn.text), _clean(turn.output)
            if text != (old := blocks.text(text_at)):
                self._forget_text(key, old)
                self._put_text(key, text)
                (text_at,) = blocks.append(session, "text", [text])
            if output != (old := blocks.text(output_at)):
                self._forget_output(key, old)
                self._put_output(key, output)
                (output_at,) = blocks.append(session, "output", [output])
            self._database.run(
                "UPDATE turns SET role = ?, asks = ?, created = ?, text_block = ?, text_start = ?, text_size = ?,"
                " output_block = ?, output_start = ?, output_size = ? WHERE id = ?",
                (ROLES.index(turn.role), classify_message(text), turn.created, *_row(text_at), *_row(output_at), key),
            )
            self._database.run("DELETE FROM commits WHERE session = ? AND turn = ?", (session, key))
            self._put_commits(session, key, turn)
        return bool(rows)

    def _put_text(self, key: int, text: str) -> None:
        self._database.run_many("INSERT INTO passages (rowid, text) VALUES (?, ?)", _rows(key, text))
        self._count(text, 1)

    def _put_output(self, key: int, output: str) -> None:
        if output:
            self._database.run("INSERT INTO outputs (rowid, text) VALUES (?, ?)", (key, prepare_for_index(output)))

    def _remove(self, name: str) -> None:
        for session, title in self._database.rows("SELECT id, title FROM sessions WHERE name = ?", (name,)):
            blocks = TextBlocks(self._database)
            for key, *refs in self._database.rows(
                "SELECT id, text_block, text_start, text_size, output_block, output_start, output_size FROM turns"
                " WHERE session = ?",
                (session,),
            ):
                self._forget_text(key, blocks.text(ref_at(refs[:3])))
                self._forget_output(key, blocks.text(ref_at(refs[3:])))
            blocks.remove(session)
            self._database.run("DELETE FROM turns WHERE session = ?", (session,))
            self._database.run("DELETE FROM commits WHERE session = ?", (session,))
            self._forget("titles", [(session, prepare_for_index(title))])
            self._database.run("DELETE FROM sessions WHERE id = ?", (session,))

    def _forget_text(self, key: int, text: str) -> None:
        self._forget("passages", _rows(key, text))
        self._count(text, -1)

    def _forget_output(self, key: int, output: str) -> None:
        if output:
            self._forget("outputs", [(key, prepare_for_index(output))])

    def _forget(self, table: str, rows: Iterable[tuple[int, str]]) -> None:
        # An index that keeps no text is told the text it shall forget.
        self._database.run_many(f"INSERT INTO {table} ({table}, rowid, text) VALUES ('delete', ?, ?)", rows)

    def _count(self, text: str, sign: int) -> None:
        pieces = split_passages(text)
        self._database.run(
            "UPDATE totals SET passages = passages + ?, chars = chars + ?",
            (sign * len(pieces), sign * sum(map(len, pieces))),
        )


def _rows(key: int, text: str) -> Iterator[tuple[int, str]]:
    for number, piece in enumerate(split_passages(text)):
        yield key << PASSAGE_BITS | number, prepare_for_index(piece)


def _clean(text: str) -> str:
    """The text without what cannot be stored: halves of characters, as damaged files have them."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _row(ref: Ref) -> tuple[int, int, int]:
    return ref.block, ref.start, ref.size


FILE = "recall.sqlite"
_BESIDE = ("-journal", "-wal", "-shm")
_log = logging.getLogger(__name__)


class CacheFile:
    """Opens the index in `<folder>/recall.sqlite`, and makes a new one where it is no good.

    folder: `.clio/cache`, made when it is needed; None keeps the index in memory, and so does a folder that cannot be
        written, or a file that is no good for the second time.
    """

    def __init__(self, folder: Path | None) -> None:
        self._path = folder / FILE if folder else None
        self._inode = 0
        self._renewed = False

    @property
    def exists(self) -> bool:
        """Whether there is anything to open."""
        return self._path is not None and self._path.exists()

    def open(self) -> RecallIndex:
        """The index: of the file, of a new file, or in memory.

        Raises RecallIndexBusy; StorageError where this Python has no full-text search, in memory neither.
        """
        if self._path is None:
            return RecallIndex.open(None)
        try:
            return self._open(self._path)
        except RecallIndexBusy:
            raise
        except StorageError as error:
            _log.info("%s; it is built again", error)
            return self.renew()
        except OSError as error:
            return self._in_memory(error)

    def renew(self) -> RecallIndex:
        """A new index in the place of one that turned out to be damaged, which must be closed."""
        if self._path is None or self._renewed:
            return self._in_memory("it was damaged twice")
        self._renewed = True
        try:
            with FileLock(self._path.with_name(FILE + ".lock")):
                if self._inode in (0, _inode(self._path)):  # else another clio has made a new one already
                    _clear(self._path)
                return self._open(self._path)
        except (StorageError, OSError) as error:
            return self._in_memory(error)

    def vanished(self) -> bool:
        """Whether the file was deleted or replaced since it was opened, so that what is written goes nowhere."""
        return self._path is not None and _inode(self._path) != self._inode

    def _open(self, path: Path) -> RecallIndex:
        if path.is_dir():
            raise RecallIndexUnusable(f"{str(path)!r} is a folder")
        for beside in (path.with_name(f"{path.name}-{end}") for end in ("journal", "wal", "shm")):
            if os.path.lexists(beside) and not stat.S_ISREG(beside.lstat().st_mode):  # SQLite would wait for a pipe
                raise RecallIndexUnusable(f"{str(beside)!r} is not a file")
        make_ignored_folder(path.parent, path.parent.parent)
        # Made here and not by SQLite: for its owner only, and never through a link.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | NO_FOLLOW, 0o600))
        self._inode = _inode(path)
        return RecallIndex.open(path)

    def _in_memory(self, why: object) -> RecallIndex:
        _log.info("the search index is kept in memory: %s", why)
        self._path = None
        return RecallIndex.open(None)


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except OSError:
        return 0


def _clear(path: Path) -> None:
    """Away with a file and what SQLite left beside it; a folder in its place is set aside. Raises OSError."""
    for suffix in _BESIDE:
        with suppress(FileNotFoundError):
            path.with_name(path.name + suffix).unlink()
    if path.is_dir():
        set_file_aside(path)
    else:
        path.unlink(missing_ok=True)
