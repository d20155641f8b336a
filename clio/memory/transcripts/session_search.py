"""The door to recall: what was said in earlier sessions, found by its words."""

import math
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from msgspec import structs

from clio.errors import StorageError
from clio.memory.transcripts.database import RecallIndexBusy
from clio.memory.transcripts.index import CacheFile, RecallIndex
from clio.memory.transcripts.query import parse_query
from clio.memory.transcripts.session_sync import SessionSync
from clio.memory.transcripts.transcript_records import Having, Recall, SessionHit, TurnHit, TurnHits
from clio.sessions.store import SessionStore
from clio.threads import never_stop

T = TypeVar("T")

QUIET_STEP_CHARS = 20_000
"""How much is indexed at once in the background: a few milliseconds."""
PAUSE_S = 0.003
HANDLE_CHARS = 8
_BUSY_TRIES = 10
_BUSY_PAUSE_S = 0.2

# What a damaged file shows itself by, beyond what SQLite notices.
_DAMAGE = (StorageError, zlib.error, ValueError, TypeError, LookupError)


class SessionRecall:
    """Searches the sessions of a store through an index that it keeps up to date. For several threads.

    cache: the folder of the index, `.clio/cache`; None keeps the index in memory and leaves no file. An index that is
        missing, damaged, of another version or not to be written is built again, in memory if need be: the answers are
        the same. Nothing is made or read before the first search.
    """

    def __init__(self, store: SessionStore, cache: Path | None) -> None:
        self._file = CacheFile(cache)
        self._store = store
        self._sync = SessionSync(store.folder)
        self._lock = threading.RLock()
        self._index: RecallIndex | None = None

    def search(
        self,
        query: str,
        *,
        current: str | None = None,
        include_current: bool = False,
        max_sessions: int = 10,
        max_results: int = 5,
        deadline_s: float = 2.0,
        until: float = math.inf,
        for_reading: bool = False,
    ) -> Recall:
        """The sessions that answer a query, the best first, each with its best passages.

        current: id of the session that asks; left out, or with `include_current` marked.
        max_sessions: how many different sessions the answer has at most.
        max_results: how many passages it has in total. Each session gets its best one first, so it is also a limit of
            the sessions; what is left over goes to the second best ones, and so on.
        deadline_s: how long to bring the index up to date, newest sessions first; the answer is of what is indexed
            then, and `unsearched` says how many sessions are not. The search itself comes on top. The outputs of
            tools are indexed by `refresh`, and by a search that asks for them with `in:output`.
        until: nothing said later is found; seconds since the epoch.
        for_reading: what is about the same thing comes newest first, each passage with what was asked and what came of
            it, each session with its handle and its commits.
        Sessions that came with the project are left out.
        Raises RecallIndexBusy where another process keeps the index to itself; OSError where the sessions' folder
        cannot be read; StorageError where this Python cannot search.
        """

        def act(index: RecallIndex, out: frozenset[str]) -> tuple[SessionHit, ...]:
            found = index.search(
                query,
                exclude=out,
                limit=max(max_sessions, 0),
                passages=max(max_results, 0),
                total=max_results,
                until=until,
                for_reading=for_reading,
            )
            found = _shared_out(found, current, max_results)
            return _with_handles(map(index.with_commits, found), self._sync.ids) if for_reading else found

        left_out = current if not include_current else None
        hits, unreadable, unsearched = self._up_to_date(query, left_out, deadline_s, act, ())
        return Recall(sessions=hits, unreadable=unreadable, unsearched=unsearched)

    def turns(
        self,
        query: str,
        *,
        current: str | None = None,
        limit: int = 30,
        deadline_s: float = 2.0,
        until: float = math.inf,
    ) -> TurnHits:
        """Single turns of all sessions but the current one, the best first. See `search`; raises what it raises."""

        def act(index: RecallIndex, out: frozenset[str]) -> tuple[TurnHit, ...]:
            return index.turn_hits(query, exclude=out, limit=limit, until=until)

        hits, unreadable, unsearched = self._up_to_date(query, current, deadline_s, act, ())
        return TurnHits(turns=hits, unreadable=unreadable, unsearched=unsearched)

    def _up_to_date(
        self,
        query: str,
        left_out: str | None,
        deadline_s: float,
        act: Callable[[RecallIndex, frozenset[str]], T],
        nothing: T,
    ) -> tuple[T, tuple[str, ...], int]:
        """What `act` says of the index brought up to date; the ids of unreadable sessions; how many wait.

        act: called with the index and the ids of the sessions to leave out. nothing: the answer where no session is.
        """
        outputs = parse_query(query).scope == "output"
        end = time.monotonic() + deadline_s
        with self._lock:
            self._sync.look()
            if self._nothing_there():
                return nothing, (), 0
            skip = frozenset({left_out}) if left_out else frozenset[str]()
            skip |= self._store.find_foreign(set(self._sync.ids))  # what came with the project is not the user's

            def caught_up(index: RecallIndex) -> T:
                self._catch_up(index, end, skip, outputs=outputs)
                return act(index, skip | self._sync.gone)

            found = self._healed(caught_up)
            unreadable = tuple(id for id in self._sync.unreadable if id not in skip)
            return found, unreadable, self._sync.waiting(skip, outputs=outputs)

    def having(self, query: str) -> Having:
        """How common the words of a query are in what is indexed by now. Raises what `search` raises."""
        with self._lock:
            self._sync.look()
            return Having() if self._nothing_there() else self._healed(lambda index: index.having(query))

    def refresh(self, stop: Callable[[], bool] = never_stop, progress: Callable[[int, int], None] | None = None) -> int:
        """Bring the index up to date in small steps, for a thread in the background; how many sessions were read.

        The words of all sessions come first, then the outputs of tools.
        stop: asked between the steps. progress: told of how many sessions the words are known, and of how many to be.
        Raises what `search` raises, but gives up without a word where another process keeps the index to itself: that
        one is bringing it up to date.
        """
        read = busy = 0
        with self._lock:
            self._sync.look()
            if self._nothing_there():
                return 0
            self._healed(partial(self._sync.compare, outputs=True))
        outputs = False
        while not stop():
            try:
                with self._lock:
                    step = self._healed(partial(self._sync.step, chars=QUIET_STEP_CHARS, outputs=outputs))
            except RecallIndexBusy:
                busy += 1
                if busy > _BUSY_TRIES:
                    break
                time.sleep(_BUSY_PAUSE_S)
                continue
            read += step.read
            if progress is not None and not outputs:
                progress(read, read + step.left)
            if step.idle and outputs:
                break
            outputs = outputs or step.idle
            time.sleep(PAUSE_S)
        return read

    def close(self) -> None:
        """Let go of the index. A later search opens it again."""
        with self._lock:
            if self._index is not None:
                self._index.close()
                self._index = None

    def _nothing_there(self) -> bool:
        """Whether there is no session and no index: then none is made."""
        return self._index is None and not self._file.exists and not self._sync.ids

    def _catch_up(self, index: RecallIndex, end: float, skip: frozenset[str], *, outputs: bool) -> None:
        """Index what changed, until it is done or the time is over."""
        try:
            self._sync.compare(index, skip, outputs=outputs)
            while time.monotonic() < end:
                step = self._sync.step(index, skip, outputs=outputs)
                if step.idle:
                    break
        except RecallIndexBusy:
            return  # another clio writes: what is there by now can be searched all the same

    def _healed(self, act: Callable[[RecallIndex], T]) -> T:
        """Act on the index; where it proves damaged, on a new one."""
        for _ in range(2):
            try:
                return act(self._opened())
            except RecallIndexBusy:
                raise
            except _DAMAGE:
                self._replace()
        return act(self._opened())

    def _opened(self) -> RecallIndex:
        if self._index is not None and self._file.vanished():
            self.close()
        return self._index or self._adopt(self._file.open())

    def _replace(self) -> None:
        self.close()
        self._adopt(self._file.renew())

    def _adopt(self, index: RecallIndex) -> RecallIndex:
        try:
            self._sync.begin(index)
        except BaseException:
            index.close()
            raise
        self._index = index
        return index


def _with_handles(hits: Iterable[SessionHit], ids: Iterable[str]) -> tuple[SessionHit, ...]:
    """The hits, each with the shortest end of its id from eight characters on that no other session's id has."""
    found = list(hits)
    ends = {hit.session_id[-HANDLE_CHARS:] for hit in found}
    like = [id for id in ids if id[-HANDLE_CHARS:] in ends]
    return tuple(structs.replace(hit, handle=_handle(hit.session_id, like)) for hit in found)


def _handle(id: str, others: Iterable[str]) -> str:
    rivals = [other for other in others if other != id]
    lengths = range(HANDLE_CHARS, len(id))
    return next((id[-chars:] for chars in lengths if not any(one.endswith(id[-chars:]) for one in rivals)), id)


def _shared_out(hits: Sequence[SessionHit], current: str | None, max_results: int) -> tuple[SessionHit, ...]:
    """The hits with `max_results` passages in all: first the best of each, then the second best, and so on."""
    counts = [0] * len(hits)
    room = max_results
    for rank in range(max((len(hit.passages) for hit in hits), default=0)):
        for place, hit in enumerate(hits):
            if room > 0 and rank < len(hit.passages):
                counts[place] += 1
                room -= 1
    return tuple(
        structs.replace(hit, passages=hit.passages[:count], current=hit.session_id == current)
        for hit, count in zip(hits, counts, strict=True)
        if count
    )
