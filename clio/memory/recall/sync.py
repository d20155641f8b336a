"""Keeps the index equal to the session files: only what changed is read, the newest sessions first."""

from collections.abc import Collection, Iterable
from pathlib import Path

from msgspec import Struct, structs

from clio.errors import SessionNotFound, StorageError, UserError
from clio.memory.recall.docs import SessionDoc
from clio.memory.recall.index import RecallIndex
from clio.memory.recall.reading import read_growth, read_whole
from clio.memory.recall.stamps import SessionFolder, is_unread
from clio.sessions.files import SessionFiles

STEP_CHARS = 150_000
"""About how much text goes into the index at once, as nobody can interrupt that."""

_HALF = ""
"""The stamp of a session of which only the beginning is in the index: no look at its files will equal it."""


class Step(Struct, frozen=True, kw_only=True):
    """What one step did. `read`: sessions whose files were read; `left`: sessions that still wait."""

    read: int = 0
    left: int = 0


class _Rest(Struct, frozen=True, kw_only=True):
    """A session that was read and is not yet wholly in the index.

    place: the first turn that is not. grown: whether the doc is only what a session in the index has grown by.
    """

    doc: SessionDoc
    place: int = 0
    grown: bool = False


class SessionSync:
    """What of one folder of sessions is in an index, and what is not yet.

    To be used by one thread at a time. Its methods raise what the index raises, and OSError where the folder cannot be
    read; a session that cannot be read is only noted in `unreadable`.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._watched = SessionFolder(folder)
        self._kept: dict[str, str] = {}
        self._stale: set[str] = set()
        self._gone: set[str] = set()
        self._queue: list[str] = []
        self._rest: _Rest | None = None

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

    def look(self, index: RecallIndex, skip: Collection[str] = ()) -> None:
        """Find out what changed in the files, and what another clio has put into the index meanwhile."""
        self._judge(self._watched.look())
        if self.waiting(skip) or self._gone:
            self._kept = index.stamps()
            self._judge(self._stale | self._gone)

    def waiting(self, skip: Collection[str] = ()) -> int:
        """How many sessions are not in the index as they are now, without those to be skipped."""
        return len(self._stale) - len(self._stale.intersection(skip))

    @property
    def unreadable(self) -> tuple[str, ...]:
        """The ids of the sessions that could not be read; they are tried again when they change."""
        return tuple(sorted(id for id, kept in self._kept.items() if is_unread(kept)))

    def step(self, index: RecallIndex, skip: Collection[str] = (), *, chars: int = STEP_CHARS) -> Step:
        """Put about `chars` characters of the newest waiting sessions into the index, and take deleted ones out."""
        if self._gone:
            index.remove(sorted(self._gone))
            for id in self._gone:
                self._kept.pop(id, None)
            self._gone.clear()
        whole: list[SessionDoc] = []
        read = 0
        while chars > 0:
            if self._rest is None:
                id = self._next(skip)
                if id is None:
                    break
                read += 1
                self._rest = self._read(id)
            if self._rest is not None:
                chars -= self._take(index, self._rest, chars, whole)
        if whole:
            index.put(whole)
            for doc in whole:
                self._settle(doc.id, doc.stamp)
        return Step(read=read, left=self.waiting(skip))

    def _take(self, index: RecallIndex, rest: _Rest, room: int, whole: list[SessionDoc]) -> int:
        """Take from what was read as much as there is room for; the characters taken.

        What fits waits in `whole` to be put with others; of a long session a part goes into the index at once.
        """
        doc, end, taken = rest.doc, rest.place, 0
        while end < len(doc.turns) and (taken < room or end == rest.place):
            taken += len(doc.turns[end].text) + len(doc.turns[end].output)
            end += 1
        part, at_end = doc.turns[rest.place : end], end == len(doc.turns)
        if rest.place == 0 and at_end and not rest.grown:
            whole.append(doc)
        else:
            stamp = doc.stamp if at_end else _HALF
            if rest.place == 0 and not rest.grown:
                index.put([structs.replace(doc, turns=part, stamp=stamp)])
            elif not index.extend(doc.id, part, stamp=stamp, updated=doc.updated):
                self._rest = None  # another clio took it out: from the beginning, then
                self._settle(doc.id, _HALF)
                self._queue.append(doc.id)
                return taken
            self._settle(doc.id, stamp)
        self._rest = None if at_end else _Rest(doc=doc, place=end, grown=rest.grown)
        return max(taken, 1)

    def _read(self, id: str) -> _Rest | None:
        """What is to be put of a session; None where it is gone."""
        stamp, files = self._watched.stamps[id], SessionFiles(self._folder, id)
        try:
            offset = stamp.grown_from(self._kept.get(id, _HALF))
            growth = read_growth(files, stamp, offset) if offset is not None else None
            doc = growth or read_whole(files, stamp)
        except SessionNotFound:  # deleted meanwhile, or it never got to its first message
            growth, doc = None, SessionDoc(id=id, title="", updated=0.0, stamp=stamp.text(), turns=())
        except (StorageError, UserError, OSError):
            growth, doc = None, SessionDoc(id=id, title="", updated=0.0, stamp=stamp.unread(), turns=())
        return _Rest(doc=doc, grown=growth is not None)

    def _next(self, skip: Collection[str]) -> str | None:
        """The newest session that waits."""
        while self._queue:
            id = self._queue.pop()
            if id in self._stale and id not in skip:
                return id
        return None

    def _judge(self, ids: Iterable[str]) -> None:
        """Find out what is to be done about sessions."""
        for id in ids:
            stamp, kept = self._watched.stamps.get(id), self._kept.get(id)
            self._stale.discard(id)
            self._gone.discard(id)
            if stamp is None:
                self._gone |= {id} if kept is not None else set()
            elif kept is None or not stamp.same_as(kept):
                self._stale.add(id)
        stamps = self._watched.stamps
        self._queue = sorted(self._stale, key=lambda id: stamps[id].modified)

    def _settle(self, id: str, stamp: str) -> None:
        self._kept[id] = stamp
        if stamp != _HALF:
            self._stale.discard(id)
