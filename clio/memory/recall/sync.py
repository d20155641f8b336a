"""Keeps the index equal to the session files: only what changed is read, the newest sessions first."""

from collections import deque
from collections.abc import Collection
from pathlib import Path

from msgspec import Struct, structs

from clio.errors import SessionNotFound, StorageError, UserError
from clio.ids import new_id
from clio.memory.recall.docs import SessionDoc
from clio.memory.recall.index import RecallIndex
from clio.memory.recall.reading import read_growth, read_outputs, read_whole
from clio.memory.recall.stamps import SessionFolder, is_unread, lacks_outputs, words_only
from clio.sessions.state import SessionFiles

STEP_CHARS = 300_000
"""About how much text goes into the index at once, while somebody waits for all of it."""


class Step(Struct, frozen=True, kw_only=True):
    """What one step did. `read`: sessions whose words were read; `left`: sessions that still wait.

    idle: nothing was there to be done.
    """

    read: int = 0
    left: int = 0
    idle: bool = False


class _Rest(Struct, frozen=True, kw_only=True):
    """A session that was read and is not yet wholly in the index.

    place: the first turn that is not. known: the stamp of what the index has of it, which stays until the last turn is
    in; empty where nothing of it counts, so that it is put anew.
    """

    doc: SessionDoc
    place: int = 0
    known: str = ""


class SessionSync:
    """What of one folder of sessions is in an index, and what is not yet.

    The outputs of tools are three quarters of a session and take most of the time; the words can go in without them.
    To be used by one thread at a time. Its methods raise what the index raises, and OSError where the folder cannot be
    read; a session that cannot be read is only noted in `unreadable`.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._watched = SessionFolder(folder)
        self._kept: dict[str, str] = {}
        self._stale: set[str] = set()
        self._bare: set[str] = set()
        self._gone: set[str] = set()
        self._queue = deque[str]()
        self._later = deque[str]()
        self._rest: _Rest | None = None
        # The stamp of a session of which only the beginning is in. No files equal it, nor does another clio's.
        self._half = f"half {new_id()}@"

    def begin(self, index: RecallIndex) -> None:
        """Take over an index that was just opened; what its stamps say is believed."""
        self._rest = None
        self._kept = index.stamps()
        self._watched.look()
        self._judge(self._watched.stamps.keys() | self._kept.keys())

    def is_empty(self) -> bool:
        """Whether there is no session at all."""
        self._judge(self._watched.look())
        return not self._watched.stamps

    def look(self, index: RecallIndex, skip: Collection[str] = (), *, outputs: bool = False) -> None:
        """Find out what changed in the files, and what another clio has put into the index meanwhile."""
        self._judge(self._watched.look())
        if self.waiting(skip, outputs=outputs) or self._gone:
            self._kept = index.stamps()
            self._judge(self._stale | self._bare | self._gone)
            if self._rest is not None and self._kept.get(self._rest.doc.id) != self._rest.known:
                self._rest = None  # another clio has put it meanwhile

    def waiting(self, skip: Collection[str] = (), *, outputs: bool = False) -> int:
        """How many sessions are not in the index as they are now, without those to be skipped.

        outputs: count those, too, of which only the outputs are missing.
        """
        ids = self._stale | self._bare if outputs else self._stale
        return len(ids) - len(ids.intersection(skip))

    @property
    def gone(self) -> frozenset[str]:
        """The ids of deleted sessions that are still in the index."""
        return frozenset(self._gone)

    @property
    def unreadable(self) -> tuple[str, ...]:
        """The ids of the sessions that could not be read; they are tried again when they change."""
        return tuple(sorted(id for id, kept in self._kept.items() if is_unread(kept)))

    def step(
        self, index: RecallIndex, skip: Collection[str] = (), *, chars: int = STEP_CHARS, outputs: bool = False
    ) -> Step:
        """Put about `chars` characters of the newest waiting sessions into the index, and take deleted ones out.

        outputs: with the outputs of tools; else sessions that are read whole go in without.
        """
        try:
            read, idle = self._carry_out(index, skip, chars, outputs)
        except BaseException:
            self._rest = None  # what was taken off the queue and is not in the index waits again
            self._line_up()
            raise
        return Step(read=read, left=self.waiting(skip, outputs=outputs), idle=idle)

    def _carry_out(self, index: RecallIndex, skip: Collection[str], chars: int, outputs: bool) -> tuple[int, bool]:
        if self._gone:
            index.remove(sorted(self._gone))
            for id in self._gone:
                self._kept.pop(id, None)
            self._gone.clear()
        whole: list[SessionDoc] = []
        read, room = 0, chars
        while room > 0:
            if self._rest is None:
                id = self._next(skip, outputs)
                if id is None:
                    break
                read += id in self._stale
                self._rest = self._read(id, outputs)
            room -= self._take(index, self._rest, room, whole)
        if whole:
            index.put(whole)
            for doc in whole:
                self._settle(doc)
        return read, room == chars

    def _take(self, index: RecallIndex, rest: _Rest, room: int, whole: list[SessionDoc]) -> int:
        """Take from what was read as much as there is room for; the characters taken.

        What fits waits in `whole` to be put with others; of a long session a part goes into the index at once.
        """
        doc, end, taken = rest.doc, rest.place, 0
        while end < len(doc.turns) and (taken < room or end == rest.place):
            taken += len(doc.turns[end].text) + len(doc.turns[end].output)
            end += 1
        part, at_end = doc.turns[rest.place : end], end == len(doc.turns)
        self._rest = None
        if not rest.known and at_end:
            whole.append(doc)
        elif not rest.known:
            index.put([structs.replace(doc, turns=part, stamp=self._half)])
            self._kept[doc.id] = self._half
            self._rest = structs.replace(rest, place=end, known=self._half)
        elif not index.extend(
            doc.id, part, after=rest.known, stamp=doc.stamp if at_end else rest.known, updated=doc.updated
        ):
            self._again(doc.id)  # another clio has put it anew meanwhile, or taken it out
        elif at_end:
            self._settle(doc)
        else:
            self._rest = structs.replace(rest, place=end)
        return max(taken, 1)

    def _again(self, id: str) -> None:
        """Let a session wait to be read whole."""
        self._kept.pop(id, None)
        self._bare.discard(id)
        self._stale.add(id)
        self._queue.append(id)

    def _read(self, id: str, outputs: bool) -> _Rest:
        """What is to be put of a session; nothing but a stamp where there is nothing to be read."""
        stamp, files = self._watched.stamps[id], SessionFiles(self._folder, id)
        known = self._kept.get(id, "")
        try:
            if id not in self._stale:
                return _Rest(doc=read_outputs(files, stamp), known=known)
            offset = stamp.grown_from(known)
            growth = read_growth(files, stamp, offset) if offset is not None else None
            if growth is not None:
                grown = words_only(growth.stamp) if lacks_outputs(known) else growth.stamp
                return _Rest(doc=structs.replace(growth, stamp=grown), known=known)
            return _Rest(doc=read_whole(files, stamp, outputs=outputs))
        except SessionNotFound:  # deleted meanwhile, or it never got to its first message
            return _Rest(doc=SessionDoc(id=id, title="", updated=0.0, stamp=stamp.text(), turns=()))
        except (StorageError, UserError, OSError):
            return _Rest(doc=SessionDoc(id=id, title="", updated=0.0, stamp=stamp.unread(), turns=()))

    def _next(self, skip: Collection[str], outputs: bool) -> str | None:
        """The newest session that waits, those without outputs last."""
        return _pop(self._queue, self._stale, skip) or (_pop(self._later, self._bare, skip) if outputs else None)

    def _judge(self, ids: Collection[str]) -> None:
        """Find out what is to be done about sessions."""
        for id in ids:
            stamp, kept = self._watched.stamps.get(id), self._kept.get(id)
            for some in (self._stale, self._bare, self._gone):
                some.discard(id)
            if stamp is None:
                self._gone |= {id} if kept is not None else set()
            elif kept is None or not stamp.same_as(kept):
                self._stale.add(id)
            elif lacks_outputs(kept):
                self._bare.add(id)
        if ids:
            self._line_up()

    def _line_up(self) -> None:
        """Queue what waits, the newest last."""
        stamps = self._watched.stamps
        self._queue = deque(sorted(self._stale, key=lambda id: stamps[id].modified))
        self._later = deque(sorted(self._bare, key=lambda id: stamps[id].modified))

    def _settle(self, doc: SessionDoc) -> None:
        """Note that all of what was read of a session is in the index."""
        self._kept[doc.id] = doc.stamp
        self._stale.discard(doc.id)
        self._bare.discard(doc.id)
        if lacks_outputs(doc.stamp):
            self._bare.add(doc.id)
            self._later.appendleft(doc.id)


def _pop(queue: deque[str], waiting: set[str], skip: Collection[str]) -> str | None:
    """The last of a queue that still waits and is not to be skipped; those that are skipped stay in it."""
    skipped: list[str] = []
    found = None
    while queue and found is None:
        id = queue.pop()
        if id in skip:
            skipped.append(id)
        elif id in waiting:
            found = id
    queue.extend(reversed(skipped))
    return found
