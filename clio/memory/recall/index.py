"""The search index of earlier sessions: what is put in, what is taken out, what is found. Ranking is in `pipeline`."""

import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, Self, overload

from clio.algorithms.lexical import stem
from clio.memory.recall.database import Database
from clio.memory.recall.docs import Recalled, SessionDoc, SessionHit, TurnDoc
from clio.memory.recall.snippet import snippet
from clio.memory.recall.words import Query, indexable, parse

CANDIDATES = 400


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
                session = self._database.run(
                    "INSERT INTO sessions (name, title, updated, stamp) VALUES (?, ?, ?, ?)",
                    (doc.id, doc.title, doc.updated, doc.stamp),
                )
                self._database.run("INSERT INTO titles (rowid, text) VALUES (?, ?)", (session, indexable(doc.title)))
                for place, turn in enumerate(doc.turns):
                    self._put_turn(session, place, turn)

    def extend(self, id: str, turns: Iterable[TurnDoc], *, stamp: str, updated: float) -> bool:
        """Put turns behind those a session has, or in the place of those of the same message id.

        False, and nothing is changed, where the session is not in the index: put it in whole.
        """
        with self._database.transaction():
            known = self._database.rows("SELECT id FROM sessions WHERE name = ?", (id,))
            for (session,) in known:
                ((last,),) = self._database.rows("SELECT max(place) FROM turns WHERE session = ?", (session,))
                for place, turn in enumerate(turns, -1 if last is None else int(str(last))):
                    self._forget_turns("session = ? AND message = ?", (session, turn.message_id))
                    self._put_turn(int(str(session)), place + 1, turn)
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

        limit: how many sessions, or turns. passages: how many of each session. exclude: ids of sessions left out.
        Any text may be a query; one that shares no word with any session finds nothing.
        """
        turns = self._turns(parse(query), exclude)
        if mode == "turns":
            return tuple(turns[: max(limit, 0)])
        hits: dict[str, list[Recalled]] = {}
        for turn in turns:
            hits.setdefault(turn.session_id, []).append(turn)
        return tuple(
            SessionHit(
                session_id=name,
                session_name=found[0].session_name,
                updated=max(turn.created for turn in found),
                score=found[0].score,
                passages=tuple(found[: max(passages, 0)]),
            )
            for name, found in list(hits.items())[: max(limit, 0)]
        )

    def _turns(self, query: Query, exclude: frozenset[str]) -> list[Recalled]:
        if not query.terms:
            return []
        match = " OR ".join(f'"{term}"' for term in query.terms)
        ranked = self._database.rows(
            "SELECT t.message, t.role, t.created, t.text, s.name, s.title, f.score FROM"
            " (SELECT rowid, rank AS score FROM passages WHERE passages MATCH ? ORDER BY rank LIMIT ?) f"
            " JOIN turns t ON t.id = f.rowid JOIN sessions s ON s.id = t.session ORDER BY f.score, t.created DESC",
            (match, CANDIDATES),
        )
        wanted = {stem(term) for term in query.terms}
        return [
            Recalled(
                session_id=str(name),
                session_name=str(title),
                message_id=str(message),
                role=str(role),
                created=float(str(created)),
                snippet=snippet(_unpacked(text), query.words, wanted),
                score=-float(str(score)),
            )
            for message, role, created, text, name, title, score in ranked
            if name not in exclude
        ]

    def _put_turn(self, session: int, place: int, turn: TurnDoc) -> None:
        key = self._database.run(
            "INSERT INTO turns (session, place, message, role, created, text, output) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (session, place, turn.message_id, turn.role, turn.created, _packed(turn.text), _packed(turn.output)),
        )
        self._database.run("INSERT INTO passages (rowid, text) VALUES (?, ?)", (key, indexable(turn.text)))
        if turn.output:
            self._database.run("INSERT INTO outputs (rowid, text) VALUES (?, ?)", (key, indexable(turn.output)))

    def _remove(self, name: str) -> None:
        for session, title in self._database.rows("SELECT id, title FROM sessions WHERE name = ?", (name,)):
            self._forget_turns("session = ?", (session,))
            self._forget("titles", session, str(title))
            self._database.run("DELETE FROM sessions WHERE id = ?", (session,))

    def _forget_turns(self, which: str, values: tuple[object, ...]) -> None:
        for key, text, output in self._database.rows(f"SELECT id, text, output FROM turns WHERE {which}", values):
            self._forget("passages", key, _unpacked(text))
            if output:
                self._forget("outputs", key, _unpacked(output))
            self._database.run("DELETE FROM turns WHERE id = ?", (key,))

    def _forget(self, table: str, key: object, text: str) -> None:
        self._database.run(
            f"INSERT INTO {table} ({table}, rowid, text) VALUES ('delete', ?, ?)", (key, indexable(text))
        )


def _packed(text: str) -> bytes:
    return zlib.compress(text.encode("utf-8", "replace")) if text else b""


def _unpacked(blob: object) -> str:
    return zlib.decompress(blob).decode("utf-8") if isinstance(blob, bytes) and blob else ""
