"""Keeps the transcript index equal to the session files: only what changed is read, the newest sessions first."""

import math
import os
import threading
import time
import zlib
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

from msgspec import Struct, structs

from clio.errors import SessionNotFound, StorageError, UserError
from clio.ids import new_id
from clio.memory.transcripts.database import RecallIndexBusy
from clio.memory.transcripts.index import CacheFile, RecallIndex
from clio.memory.transcripts.query import parse_query
from clio.memory.transcripts.session_text import Outputs, shown_whole, title_of, turns_of
from clio.memory.transcripts.transcript_records import Having, Recall, SessionDoc, SessionHit, TurnHit, TurnHits
from clio.sessions import session_format
from clio.sessions.loading import load_session
from clio.sessions.session_files import output_readers
from clio.sessions.state import JOURNAL_SUFFIX, SessionFiles, SessionState, is_session_id
from clio.sessions.store import SessionStore
from clio.storage.files import open_regular
from clio.storage.jsonl import split_lines
from clio.threads import never_stop

_SNAPSHOT = ".json"
_UNREAD = "!"
_WORDS_ONLY = "~"
_WHOLE_LOOK_S = 5.0
_TICK_NS = 100_000_000
_MTIME, _SIZE, _INODE, _CHANGED = range(4)

FileStamp = tuple[int, int, int, int]
"""How a file looked: time of its content in nanoseconds, bytes, inode, time of its inode."""

_NO_FILE: FileStamp = (0, 0, 0, 0)


class SessionStamp(Struct, frozen=True, kw_only=True):
    """How the files of a session looked."""

    snapshot: FileStamp = _NO_FILE
    journal: FileStamp = _NO_FILE

    @property
    def modified(self) -> int:
        """When the session last changed, in nanoseconds since the epoch."""
        return max(self.snapshot[_MTIME], self.journal[_MTIME])

    @property
    def journal_bytes(self) -> int:
        """How long the journal was; 0 where there was none."""
        return self.journal[_SIZE]

    def text(self, offset: int | None = None) -> str:
        """The stamp to keep; `offset` as the module says, None where a grown session must be read whole."""
        return f"{self._files}@{'' if offset is None else offset}"

    def unread(self) -> str:
        """The stamp of a session that could not be read as it is."""
        return f"{_UNREAD}{self._files}@{max(self.snapshot[_CHANGED], self.journal[_CHANGED])}"

    def same_as(self, kept: str) -> bool:
        """Whether nothing changed since `kept` was made."""
        if kept.startswith(_UNREAD):
            return kept == self.unread()
        return kept.removeprefix(_WORDS_ONLY).rpartition("@")[0] == self._files

    def grown_from(self, kept: str) -> int | None:
        """Where to read the journal on, if all that happened since `kept` is that it grew; else None."""
        files, _, offset = kept.removeprefix(_WORDS_ONLY).rpartition("@")
        snapshot, _, journal = files.partition("|")
        _, _, old = journal.partition(".")
        size, _, inode = old.partition(".")
        if not offset or snapshot != _told(self.snapshot):  # as the mark of an unread one differs, too
            return None
        if not journal:
            return 0
        return int(offset) if int(inode) == self.journal[_INODE] and int(size) <= self.journal[_SIZE] else None

    @property
    def _files(self) -> str:
        return f"{_told(self.snapshot)}|{_told(self.journal)}"


def words_only(kept: str) -> str:
    """The stamp of a session whose words are known and whose outputs are not."""
    return _WORDS_ONLY + kept.removeprefix(_WORDS_ONLY)


def lacks_outputs(kept: str) -> bool:
    """Whether a kept stamp says that the outputs are not known yet."""
    return kept.startswith(_WORDS_ONLY)


class SessionFolder:
    """The stamps of all sessions in a folder, kept up to date by looking at names and times only.

    Adding, replacing or deleting a file changes the folder's own time; a journal that grows does not. So while the
    folder's time stands still, only journals are looked at, and all files again after 5 seconds: that finds a file
    the user edited in its place.
    """

    def __init__(self, folder: Path) -> None:
        self.stamps: dict[str, SessionStamp] = {}
        self._folder = folder
        self._files: dict[str, FileStamp] = {}
        self._journals: tuple[str, ...] = ()
        self._settled: tuple[int, int] | None = None
        self._whole_look = 0.0

    def look(self) -> set[str]:
        """Look again; the ids of the sessions that came, changed or went since the last look.

        Raises OSError where the folder cannot be read; one that is not there is empty.
        """
        files = self._scan()
        if files == self._files:
            return set()
        names = {name for name in files.keys() | self._files.keys() if files.get(name) != self._files.get(name)}
        self._files = files
        ids = {id for name in names if is_session_id(id := _id_of(name))}
        for id in ids:
            snapshot, journal = files.get(id + _SNAPSHOT), files.get(id + JOURNAL_SUFFIX)
            if snapshot or journal:
                self.stamps[id] = SessionStamp(snapshot=snapshot or _NO_FILE, journal=journal or _NO_FILE)
            else:
                self.stamps.pop(id, None)
        return ids

    def _scan(self) -> dict[str, FileStamp]:
        try:
            before = self._folder.stat()
        except (FileNotFoundError, NotADirectoryError):
            return {}
        at = (before.st_mtime_ns, before.st_ino)
        if at == self._settled and time.monotonic() - self._whole_look < _WHOLE_LOOK_S:
            return self._files | _stamped(self._folder, self._journals)
        # A change within the same tick as this look would not show in the folder's time: look whole next time, too.
        self._settled = at if time.time_ns() - before.st_mtime_ns > _TICK_NS else None
        self._whole_look = time.monotonic()
        files = _scanned(self._folder)
        self._journals = tuple(name for name in files if name.endswith(JOURNAL_SUFFIX))
        return files


def _told(file: FileStamp) -> str:
    return f"{file[_MTIME]}.{file[_SIZE]}.{file[_INODE]}" if file != _NO_FILE else ""


def _id_of(name: str) -> str:
    return name.removesuffix(JOURNAL_SUFFIX) if name.endswith(JOURNAL_SUFFIX) else name.removesuffix(_SNAPSHOT)


def _scanned(folder: Path) -> dict[str, FileStamp]:
    found: dict[str, FileStamp] = {}
    try:
        entries = os.scandir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    with entries:
        for entry in entries:
            if entry.name.endswith((_SNAPSHOT, JOURNAL_SUFFIX)):
                with suppress(OSError):  # deleted meanwhile, or a link to nowhere
                    found[entry.name] = _stamp(entry.stat())
    return found


def _stamped(folder: Path, names: tuple[str, ...]) -> dict[str, FileStamp]:
    found: dict[str, FileStamp] = {}
    for name in names:
        with suppress(OSError):  # its end shows in the folder's time, at the next look
            found[name] = _stamp((folder / name).stat())
    return found


def _stamp(stat: os.stat_result) -> FileStamp:
    return stat.st_mtime_ns, stat.st_size, stat.st_ino, stat.st_ctime_ns


_ANSWER = b',"message":{"role":"assistant",'
_RENAMED = b'{"type":"name",'


def read_whole(files: SessionFiles, stamp: SessionStamp, *, outputs: bool = True) -> SessionDoc:
    """A session, everything in it; or without the outputs of tools, and then stamped so if it has any.

    stamp: taken before, so that what is written meanwhile makes it differ.
    Raises SessionNotFound, NewerDocument, CorruptDocument (nothing is moved), OSError.
    """
    offset = _resume_at(_journal(files, 0, stamp), 0)
    loaded = load_session(files, outputs=outputs)
    state = loaded.state
    title = title_of(state)
    text = stamp.text(offset if title else None)  # without a title the next words give it one
    whole = Outputs(files.blobs, output_readers(loaded.outputs)) if outputs else shown_whole
    turns = turns_of(state.messages, whole)
    if not outputs and any(turn.output for turn in turns):
        turns, text = tuple(turn for turn in turns if not turn.output), words_only(text)
    return SessionDoc(id=files.id, title=title, updated=state.updated_at, stamp=text, turns=turns)


def read_outputs(files: SessionFiles, stamp: SessionStamp) -> SessionDoc:
    """What a session read without its outputs lacks. Raises what `read_whole` raises."""
    whole = read_whole(files, stamp)
    return structs.replace(whole, turns=tuple(turn for turn in whole.turns if turn.output))


def read_growth(files: SessionFiles, stamp: SessionStamp, offset: int) -> SessionDoc | None:
    """What the journal grew by since `offset`, without a title; None where the session must be read whole after all.

    The first turn may be known, and has news: the results of its calls. Raises OSError.
    """
    before = max(offset - 1, 0)
    data = _journal(files, before, stamp)
    if offset and not data.startswith(b"\n"):
        return None
    data = data[offset - before :]
    state = SessionState(id=files.id)
    lines = split_lines(data).lines
    if session_format.replay_journal(lines, state).damaged or any(line.startswith(_RENAMED) for line in lines):
        return None
    return SessionDoc(
        id=files.id,
        title="",
        updated=stamp.modified / 1e9,
        stamp=stamp.text(_resume_at(data, offset)),
        turns=turns_of(state.messages, Outputs(files.blobs)),
    )


def _journal(files: SessionFiles, start: int, stamp: SessionStamp) -> bytes:
    """The journal from `start` to where it ended when it was stamped."""
    if not stamp.journal_bytes:
        return b""
    try:
        with open_regular(files.journal) as file:
            file.seek(start)
            return file.read(max(stamp.journal_bytes - start, 0))
    except FileNotFoundError:
        return b""


def _resume_at(data: bytes, start: int) -> int:
    """Where to go on reading a journal whose bytes from `start` are `data`: at the last answer of the model.

    Its calls may get their results later, and are then read again.
    """
    end = data.rfind(b"\n") + 1
    answer = data.rfind(_ANSWER, 0, end)
    return start + (data.rfind(b"\n", 0, answer) + 1 if answer >= 0 else 0)


STEP_CHARS = 300_000
"""About how much text goes into the index at once, while a search waits for all of it."""


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
    in; empty where nothing of it counts, so that it is put again.
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

    def look(self) -> None:
        """Find out which session files changed. Raises OSError if the folder can't be read."""
        self._judge(self._watched.look())

    def compare(self, index: RecallIndex, skip: Collection[str] = (), *, outputs: bool = False) -> None:
        """Find out what another process has put into the index meanwhile, where sessions wait to be indexed."""
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
    def ids(self) -> frozenset[str]:
        """The ids of the sessions in the folder at the last `look`."""
        return frozenset(self._watched.stamps)

    @property
    def gone(self) -> frozenset[str]:
        """The ids of deleted sessions that are still in the index."""
        return frozenset(self._gone)

    @property
    def unreadable(self) -> tuple[str, ...]:
        """The ids of the sessions that could not be read; they are tried again when they change."""
        return tuple(sorted([id for id, kept in self._kept.items() if kept.startswith(_UNREAD)]))

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
            self._again(doc.id)  # another clio has put it again meanwhile, or taken it out
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
