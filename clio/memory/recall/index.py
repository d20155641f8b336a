"""The search index of earlier sessions: what is put in, what is taken out, what is found."""

import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, Self, overload

from clio.memory.recall.candidates import PASSAGE_BITS, Candidates, unpacked
from clio.memory.recall.database import Database
from clio.memory.recall.docs import Recalled, SessionDoc, SessionHit, TurnDoc
from clio.memory.recall.passages import passages
from clio.memory.recall.searching import Search
from clio.memory.recall.words import indexable, parse


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
        return {str(name): str(stamp) for name, stamp in self._database.rows("SELECT name, stamp FROM sessions")}

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
                self._database.run("INSERT INTO titles (rowid, text) VALUES (?, ?)", (session, indexable(title)))
                place = 0
                for turn in doc.turns:
                    place += bool(turn.text)
                    self._put_turn(session, place, turn)

    def extend(self, id: str, turns: Iterable[TurnDoc], *, stamp: str, updated: float) -> bool:
        """Put turns behind those a session has, or in the place of those of the same message id.

        False, and nothing is changed, where the session is not in the index: put it in whole.
        """
        with self._database.transaction():
            known = self._database.rows("SELECT id FROM sessions WHERE name = ?", (id,))
            for (session,) in known:
                ((last,),) = self._database.rows("SELECT max(place) FROM turns WHERE session = ?", (session,))
                place = int(str(last or 0))
                for turn in turns:
                    which = (session, turn.message_id)
                    old = self._database.rows("SELECT place FROM turns WHERE session = ? AND message = ?", which)
                    self._forget_turns("session = ? AND message = ?", which)
                    place += bool(turn.text and not old)
                    self._put_turn(int(str(session)), int(str(old[0][0])) if old else place, turn)
                self._database.run("UPDATE sessions SET stamp = ?, updated = ? WHERE id = ?", (stamp, updated, session))
            return bool(known)

    def remove(self, ids: Iterable[str]) -> None:
        """Take sessions out; ids that are not there are passed over."""
        with self._database.transaction():
            for name in ids:
                self._remove(name)

    @overload
    def search(
        self,
        query: str,
        *,
        exclude: frozenset[str] = ...,
        mode: Literal["turns"],
        limit: int = ...,
        passages: int = ...,
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
    ) -> tuple[SessionHit, ...]: ...
    def search(
        self,
        query: str,
        *,
        exclude: frozenset[str] = frozenset(),
        mode: Literal["turns", "sessions"] = "sessions",
        limit: int = 10,
        passages: int = 5,
    ) -> tuple[Recalled, ...] | tuple[SessionHit, ...]:
        """What answers a query, best first: sessions with their best passages, or single turns of all sessions.

        Any text may be a query; one that shares no word with any session finds nothing. Words in double quotes must
        stand together; `in:output` searches the outputs of tools, `in:title` the titles.
        limit: how many sessions, or turns. passages: how many of each session. exclude: ids of sessions left out.
        """
        search = Search(Candidates(self._database), parse(query), exclude)
        if mode == "turns":
            return search.turns(max(limit, 0))
        return search.sessions(max(limit, 0), max(passages, 0))

    def _put_turn(self, session: int, place: int, turn: TurnDoc) -> None:
        text, output = _clean(turn.text), _clean(turn.output)
        key = self._database.run(
            "INSERT INTO turns (session, place, message, role, created, text, output) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (session, place, turn.message_id, turn.role, turn.created, _packed(text), _packed(output)),
        )
        self._database.run_many("INSERT INTO passages (rowid, text) VALUES (?, ?)", _rows(key, text))
        self._count(text, 1)
        if output:
            self._database.run("INSERT INTO outputs (rowid, text) VALUES (?, ?)", (key, indexable(output)))

    def _remove(self, name: str) -> None:
        for session, title in self._database.rows("SELECT id, title FROM sessions WHERE name = ?", (name,)):
            self._forget_turns("session = ?", (session,))
            self._forget("titles", [(int(str(session)), indexable(str(title)))])
            self._database.run("DELETE FROM sessions WHERE id = ?", (session,))

    def _forget_turns(self, which: str, values: Sequence[object]) -> None:
        for key, text, output in self._database.rows(f"SELECT id, text, output FROM turns WHERE {which}", values):
            self._forget("passages", _rows(int(str(key)), unpacked(text)))
            self._count(unpacked(text), -1)
            if output:
                self._forget("outputs", [(int(str(key)), indexable(unpacked(output)))])
            self._database.run("DELETE FROM turns WHERE id = ?", (key,))

    def _forget(self, table: str, rows: Iterable[tuple[int, str]]) -> None:
        # An index that keeps no text is told the text it shall forget.
        self._database.run_many(f"INSERT INTO {table} ({table}, rowid, text) VALUES ('delete', ?, ?)", rows)

    def _count(self, text: str, sign: int) -> None:
        pieces = passages(text)
        self._database.run(
            "UPDATE totals SET passages = passages + ?, chars = chars + ?",
            (sign * len(pieces), sign * sum(map(len, pieces))),
        )


def _rows(key: int, text: str) -> Iterator[tuple[int, str]]:
    for number, piece in enumerate(passages(text)):
        yield key << PASSAGE_BITS | number, indexable(piece)


def _clean(text: str) -> str:
    """The text without what cannot be stored: halves of characters, as damaged files have them."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _packed(text: str) -> bytes:
    return zlib.compress(text.encode("utf-8")) if text else b""
