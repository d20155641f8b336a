"""Search earlier sessions through an index, and keep the index in step with the session files.

Only sessions whose files changed are read, the newest first. A session's stamp in the index says which state of its
files was read:

    "<snapshot>|<journal>@<offset>"   each file as modification time, size and inode; `offset` is where to continue
                                      reading the journal after it has grown, empty if the session must be read whole
    "~…"                              the tool outputs are not in the index yet
    "!…@<change time>"                the session could not be read in this state
"""

import math
import os
import threading
import time
import zlib
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Set
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

from msgspec import Struct, structs

from clio.errors import SessionNotFound, StorageError, UserError
from clio.ids import new_id
from clio.memory.retrieval.evidence import Transcribed
from clio.memory.retrieval.scoring import Candidate
from clio.memory.transcripts.database import RecallIndexBusy
from clio.memory.transcripts.index import CacheFile, RecallIndex
from clio.memory.transcripts.query import find_scope
from clio.memory.transcripts.session_text import (
    OutputReader,
    Recall,
    SessionDoc,
    SessionHit,
    extract_turns,
    get_preview,
    make_session_title,
)
from clio.sessions import session_format
from clio.sessions.loading import load_session
from clio.sessions.session_files import output_readers
from clio.sessions.state import JOURNAL_SUFFIX, SessionFiles, SessionState, is_session_id
from clio.sessions.store import SessionStore
from clio.storage.files import open_regular
from clio.storage.jsonl import split_lines
from clio.threads import never_stop

_SNAPSHOT = ".json"
_UNREADABLE_MARK = "!"
_WITHOUT_OUTPUTS_MARK = "~"
_FULL_SCAN_INTERVAL_S = 5.0
_TIMESTAMP_TICK_NS = 100_000_000
"""An upper bound for the resolution of modification times; some file systems update them only every few ms."""


class FileStamp(NamedTuple):
    """A file's modification time in ns, size in bytes, inode number and inode change time in ns."""

    mtime: int = 0
    size: int = 0
    inode: int = 0
    ctime: int = 0


_NO_FILE = FileStamp()


class SessionStamp(Struct, frozen=True, kw_only=True):
    """The state of a session's files, as far as `stat` shows it."""

    snapshot: FileStamp = _NO_FILE
    journal: FileStamp = _NO_FILE

    @property
    def modified(self) -> int:
        """The time of the session's last change, in nanoseconds since the epoch."""
        return max(self.snapshot.mtime, self.journal.mtime)

    def encode(self, offset: int | None = None) -> str:
        """Return the stamp as the index stores it; offset: see the module, None if growth requires a full read."""
        return f"{self._files}@{'' if offset is None else offset}"

    def encode_unreadable(self) -> str:
        """Return the stored stamp of a session that could not be read in this state.

        It includes the inode change time: making a file readable again changes nothing else.
        """
        return f"{_UNREADABLE_MARK}{self._files}@{max(self.snapshot.ctime, self.journal.ctime)}"

    def matches(self, stored: str) -> bool:
        """Whether nothing changed since the stored stamp was made."""
        if stored.startswith(_UNREADABLE_MARK):
            return stored == self.encode_unreadable()
        return stored.removeprefix(_WITHOUT_OUTPUTS_MARK).rpartition("@")[0] == self._files

    def find_growth_offset(self, stored: str) -> int | None:
        """Return where to continue reading the journal if since the stored stamp it only grew, else None."""
        files, _, offset = stored.removeprefix(_WITHOUT_OUTPUTS_MARK).rpartition("@")
        snapshot, _, journal = files.partition("|")
        _, _, old = journal.partition(".")
        size, _, inode = old.partition(".")
        if not offset or snapshot != _encode_file(self.snapshot):  # also unequal if the stamp has the "!" mark
            return None
        if not journal:
            return 0
        return int(offset) if int(inode) == self.journal.inode and int(size) <= self.journal.size else None

    @property
    def _files(self) -> str:
        return f"{_encode_file(self.snapshot)}|{_encode_file(self.journal)}"


def mark_without_outputs(stored: str) -> str:
    """Return the stamp of a session that is in the index without its tool outputs."""
    return _WITHOUT_OUTPUTS_MARK + stored.removeprefix(_WITHOUT_OUTPUTS_MARK)


def lacks_outputs(stored: str) -> bool:
    """Whether a stored stamp says that the tool outputs are not in the index yet."""
    return stored.startswith(_WITHOUT_OUTPUTS_MARK)


class SessionFolder:
    """The stamps of all sessions in a folder, updated by `scan` from file names and times only.

    Adding, replacing or deleting a file changes the folder's modification time; appending to a journal does not. So
    while that time is unchanged, only the journals are examined. Every five seconds all files are examined, to find a
    file that the user edited in place.
    """

    def __init__(self, folder: Path) -> None:
        self.stamps: dict[str, SessionStamp] = {}
        self._folder = folder
        self._files: dict[str, FileStamp] = {}
        self._journals: tuple[str, ...] = ()
        self._last_folder_state: tuple[int, int] | None = None
        self._last_full_scan = 0.0

    def scan(self) -> set[str]:
        """Update the stamps and return the ids of sessions that were added, changed or deleted since the last scan.

        Raises OSError if the folder cannot be read; a missing folder counts as empty.
        """
        names = self._scan_files()
        files = self._files
        ids = {id for name in names if is_session_id(id := _get_session_id(name))}
        for id in ids:
            snapshot, journal = files.get(id + _SNAPSHOT), files.get(id + JOURNAL_SUFFIX)
            if snapshot or journal:
                self.stamps[id] = SessionStamp(snapshot=snapshot or _NO_FILE, journal=journal or _NO_FILE)
            else:
                self.stamps.pop(id, None)
        return ids

    def _scan_files(self) -> set[str]:
        """Update the files and return the names of those that were added, changed or deleted."""
        try:
            before = self._folder.stat()
        except (FileNotFoundError, NotADirectoryError):
            return self._replace_files({})
        state = (before.st_mtime_ns, before.st_ino)
        if state == self._last_folder_state and time.monotonic() - self._last_full_scan < _FULL_SCAN_INTERVAL_S:
            # A deletion changes the folder's time, so the next scan finds it.
            journals = _stat_files((name, (self._folder / name).stat) for name in self._journals)
            changed = {name for name, stamp in journals.items() if self._files.get(name) != stamp}
            self._files |= journals
            return changed
        # A later change within the same clock tick would leave the folder's time equal: scan everything again then.
        self._last_folder_state = state if time.time_ns() - before.st_mtime_ns > _TIMESTAMP_TICK_NS else None
        self._last_full_scan = time.monotonic()
        try:
            with os.scandir(self._folder) as entries:
                names = (entry for entry in entries if entry.name.endswith((_SNAPSHOT, JOURNAL_SUFFIX)))
                return self._replace_files(_stat_files((entry.name, entry.stat) for entry in names))
        except (FileNotFoundError, NotADirectoryError):
            return self._replace_files({})

    def _replace_files(self, files: dict[str, FileStamp]) -> set[str]:
        known = self._files
        self._files = files
        self._journals = tuple(name for name in files if name.endswith(JOURNAL_SUFFIX))
        if files == known:
            return set()
        return {name for name in files.keys() | known.keys() if files.get(name) != known.get(name)}


def _get_session_id(name: str) -> str:
    return name.removesuffix(JOURNAL_SUFFIX) if name.endswith(JOURNAL_SUFFIX) else name.removesuffix(_SNAPSHOT)


def _encode_file(file: FileStamp) -> str:
    return f"{file.mtime}.{file.size}.{file.inode}" if file != _NO_FILE else ""


def _stat_files(files: Iterable[tuple[str, Callable[[], os.stat_result]]]) -> dict[str, FileStamp]:
    found: dict[str, FileStamp] = {}
    for name, read_stat in files:
        with suppress(OSError):  # deleted meanwhile, or a dangling symbolic link
            stat = read_stat()
            found[name] = FileStamp(stat.st_mtime_ns, stat.st_size, stat.st_ino, stat.st_ctime_ns)
    return found


# The bytes of an assistant message and of a renaming in a journal, searched without decoding it.
_ASSISTANT_RECORD = b',"message":{"role":"assistant",'
_NAME_RECORD = b'{"type":"name",'


def read_session(files: SessionFiles, stamp: SessionStamp, *, outputs: bool = True) -> SessionDoc:
    """Read a whole session; with `outputs` false without tool outputs, and marked accordingly if it has any.

    stamp: made before reading, so that the files differ from it if they change meanwhile.
    Raises SessionNotFound, NewerDocument, CorruptDocument (nothing is moved), OSError.
    """
    offset = _find_resume_offset(_read_journal(files, 0, stamp), 0)
    # After the offset was determined: what is appended meanwhile is after the offset, and is read later.
    loaded = load_session(files, outputs=outputs)
    state = loaded.state
    title = make_session_title(state)
    text = stamp.encode(offset if title else None)  # without a title, the next message provides one: read it whole
    read_output = OutputReader(files.blobs, output_readers(loaded.outputs)) if outputs else get_preview
    turns = extract_turns(state.messages, read_output)
    if not outputs and any(turn.output for turn in turns):
        turns, text = tuple(turn for turn in turns if not turn.output), mark_without_outputs(text)
    return SessionDoc(id=files.id, title=title, updated=state.updated_at, stamp=text, turns=turns)


def read_growth(files: SessionFiles, stamp: SessionStamp, offset: int) -> SessionDoc | None:
    """Read what was appended to the journal since `offset`, without a title; None if a full read is needed.

    The first turn may already be in the index; it now has the results of its calls. Raises OSError.
    """
    # With the byte before it: a line must end there, or the journal was rewritten.
    before = max(offset - 1, 0)
    data = _read_journal(files, before, stamp)
    if offset and not data.startswith(b"\n"):  # the journal was rewritten: no line begins there any more
        return None
    data = data[offset - before :]
    state = SessionState(id=files.id)
    lines = split_lines(data).lines
    # Damage may hide a message, and a new name changes the title, which only a full read gives.
    if session_format.replay_journal(lines, state).damaged or any(line.startswith(_NAME_RECORD) for line in lines):
        return None
    return SessionDoc(
        id=files.id,
        title="",
        updated=stamp.modified / 1e9,
        stamp=stamp.encode(_find_resume_offset(data, offset)),
        turns=extract_turns(state.messages, OutputReader(files.blobs)),
    )


def _read_journal(files: SessionFiles, start: int, stamp: SessionStamp) -> bytes:
    """Return the bytes of the journal from `start` to its end at the time of the stamp."""
    if not stamp.journal.size:
        return b""
    try:
        with open_regular(files.journal) as file:
            file.seek(start)
            return file.read(max(stamp.journal.size - start, 0))
    except FileNotFoundError:
        return b""


def _find_resume_offset(data: bytes, start: int) -> int:
    """Return the offset of the last assistant message in a journal whose bytes from `start` on are `data`.

    Reading continues there, and not at the end, because its calls may get their results later.
    """
    end = data.rfind(b"\n") + 1
    answer = data.rfind(_ASSISTANT_RECORD, 0, end)
    return start + (data.rfind(b"\n", 0, answer) + 1 if answer >= 0 else 0)


STEP_CHARS = 300_000
"""Approximate number of characters indexed per step while a search waits for the index."""


class SyncStep(Struct, frozen=True, kw_only=True):
    """The result of one step.

    Attributes:
        read: the number of sessions whose texts were read.
        left: the number of sessions that are still to be indexed.
        idle: there was nothing to do.
    """

    read: int = 0
    left: int = 0
    idle: bool = False


class _PartlyIndexed(Struct, frozen=True, kw_only=True):
    """A session that was read but is not yet completely in the index.

    Attributes:
        place: the index of its first turn that is not in the index.
        known: its stamp in the index, which changes only with its last turn; empty if the index contains nothing
            usable of it, so that it must be put instead of extended.
    """

    doc: SessionDoc
    place: int = 0
    known: str = ""


class SessionSync:
    """Compares a folder of sessions with an index, and brings the index up to date in steps.

    Tool outputs are three quarters of a session and take most of the time, so sessions can be indexed without them
    first. Not thread-safe. The methods raise what the index raises, and OSError if the folder cannot be read; a session
    that cannot be read raises nothing and is listed in `unreadable`.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._watched = SessionFolder(folder)
        self._stored_stamps: dict[str, str] = {}
        self._stale: set[str] = set()
        self._without_outputs: set[str] = set()
        self.deleted: set[str] = set()
        """The ids of deleted sessions that are still in the index."""
        self._queue = deque[str]()
        self._output_queue = deque[str]()
        self._partly_indexed: _PartlyIndexed | None = None
        # The stamp of a partly indexed session. It equals no stamp of files, nor one that another process made.
        self._partial_stamp = f"half {new_id()}@"

    def begin(self, index: RecallIndex) -> None:
        """Start with an index that was just opened, trusting its stamps."""
        self._partly_indexed = None
        self._stored_stamps = index.stamps()
        self._watched.scan()
        self._classify(self._watched.stamps.keys() | self._stored_stamps.keys())

    def scan(self) -> None:
        """Find the sessions whose files changed. Raises OSError if the folder cannot be read."""
        self._classify(self._watched.scan())

    def compare(self, index: RecallIndex, skip: Collection[str] = (), *, outputs: bool = False) -> None:
        """If sessions are waiting, check which of them another process has indexed meanwhile."""
        if self.count_waiting(skip, outputs=outputs) or self.deleted:
            self._stored_stamps = index.stamps()
            self._classify(self._stale | self._without_outputs | self.deleted)
            part = self._partly_indexed
            if part is not None and self._stored_stamps.get(part.doc.id) != part.known:
                self._partly_indexed = None  # another process has put it meanwhile

    def count_waiting(self, skip: Collection[str] = (), *, outputs: bool = False) -> int:
        """Return how many sessions are not in the index in their present state, except those to skip.

        outputs: also count sessions of which only the outputs are missing.
        """
        ids = self._stale | self._without_outputs if outputs else self._stale
        return len(ids) - len(ids.intersection(skip))

    @property
    def ids(self) -> Set[str]:
        """The ids of the sessions in the folder at the last scan; it changes with the next one."""
        return self._watched.stamps.keys()

    @property
    def unreadable(self) -> tuple[str, ...]:
        """The ids of sessions that could not be read; they are tried again when their files change."""
        return tuple(sorted(id for id, stamp in self._stored_stamps.items() if stamp.startswith(_UNREADABLE_MARK)))

    def step(
        self, index: RecallIndex, skip: Collection[str] = (), *, chars: int = STEP_CHARS, outputs: bool = False
    ) -> SyncStep:
        """Index about `chars` characters of the newest waiting sessions, and remove deleted sessions.

        outputs: include tool outputs; otherwise sessions that must be read whole are indexed without them.
        """
        try:
            return self._run_step(index, skip, chars, outputs)
        except BaseException:
            self._partly_indexed = None  # sessions that left the queue but are not in the index must wait again
            self._sort_queues()
            raise

    def _run_step(self, index: RecallIndex, skip: Collection[str], chars: int, outputs: bool) -> SyncStep:
        if self.deleted:
            index.remove(sorted(self.deleted))
            for id in self.deleted:
                self._stored_stamps.pop(id, None)
            self.deleted.clear()
        whole: list[SessionDoc] = []
        read, room = 0, chars
        while room > 0:
            if self._partly_indexed is None:
                id = _pop_waiting(self._queue, self._stale, skip)
                if id is None and outputs:
                    id = _pop_waiting(self._output_queue, self._without_outputs, skip)
                if id is None:
                    break
                read += id in self._stale
                self._partly_indexed = self._read(id, outputs)
            room -= self._index_part(index, self._partly_indexed, room, whole)
        if whole:
            # One transaction for many short sessions: each commit costs far more than the rows of one session.
            index.put(whole)
            for doc in whole:
                self._mark_indexed(doc)
        return SyncStep(read=read, left=self.count_waiting(skip, outputs=outputs), idle=room == chars)

    def _index_part(self, index: RecallIndex, rest: _PartlyIndexed, room: int, whole: list[SessionDoc]) -> int:
        """Index the next turns of a session, about `room` characters, and return how many characters these are.

        A session that fits completely is appended to `whole`, to be indexed together with others.
        """
        doc, end, size = rest.doc, rest.place, 0
        # At least one turn, or a turn longer than a step would never be indexed.
        while end < len(doc.turns) and (size < room or end == rest.place):
            size += len(doc.turns[end].text) + len(doc.turns[end].output)
            end += 1
        part, at_end = doc.turns[rest.place : end], end == len(doc.turns)
        self._partly_indexed = None
        if not rest.known and at_end:
            whole.append(doc)
        elif not rest.known:
            index.put([structs.replace(doc, turns=part, stamp=self._partial_stamp)])
            self._stored_stamps[doc.id] = self._partial_stamp
            self._partly_indexed = structs.replace(rest, place=end, known=self._partial_stamp)
        elif not index.extend(
            doc.id, part, after=rest.known, stamp=doc.stamp if at_end else rest.known, updated=doc.updated
        ):
            # Another process has put or removed the session meanwhile: read it whole.
            self._stored_stamps.pop(doc.id, None)
            self._without_outputs.discard(doc.id)
            self._stale.add(doc.id)
            self._queue.append(doc.id)
        elif at_end:
            self._mark_indexed(doc)
        else:
            self._partly_indexed = structs.replace(rest, place=end)
        return max(size, 1)

    def _read(self, id: str, outputs: bool) -> _PartlyIndexed:
        """Read what the index lacks of a session; a session without turns, but with a stamp, if it cannot be read."""
        stamp, files = self._watched.stamps[id], SessionFiles(self._folder, id)
        known = self._stored_stamps.get(id, "")
        try:
            if id not in self._stale:
                whole = read_session(files, stamp)
                turns = tuple(turn for turn in whole.turns if turn.output)
                return _PartlyIndexed(doc=structs.replace(whole, turns=turns), known=known)
            offset = stamp.find_growth_offset(known)
            growth = read_growth(files, stamp, offset) if offset is not None else None
            if growth is not None:
                grown = mark_without_outputs(growth.stamp) if lacks_outputs(known) else growth.stamp
                return _PartlyIndexed(doc=structs.replace(growth, stamp=grown), known=known)
            return _PartlyIndexed(doc=read_session(files, stamp, outputs=outputs))
        except (StorageError, UserError, OSError) as error:
            # Without a session it was deleted meanwhile, or has no message yet.
            empty = stamp.encode() if isinstance(error, SessionNotFound) else stamp.encode_unreadable()
            return _PartlyIndexed(doc=SessionDoc(id=id, title="", updated=0.0, stamp=empty, turns=()))

    def _classify(self, ids: Collection[str]) -> None:
        """Determine whether sessions are stale, without outputs, deleted or up to date."""
        for id in ids:
            stamp, stored = self._watched.stamps.get(id), self._stored_stamps.get(id)
            for group in (self._stale, self._without_outputs, self.deleted):
                group.discard(id)
            if stamp is None:
                self.deleted |= {id} if stored is not None else set()
            elif stored is None or not stamp.matches(stored):
                self._stale.add(id)
            elif lacks_outputs(stored):
                self._without_outputs.add(id)
        if ids:
            self._sort_queues()

    def _sort_queues(self) -> None:
        """Rebuild both queues, newest last."""
        stamps = self._watched.stamps
        # Newest last, because they are taken from the end: a user mostly asks about recent work.
        self._queue = deque(sorted(self._stale, key=lambda id: stamps[id].modified))
        self._output_queue = deque(sorted(self._without_outputs, key=lambda id: stamps[id].modified))

    def _mark_indexed(self, doc: SessionDoc) -> None:
        self._stored_stamps[doc.id] = doc.stamp
        self._stale.discard(doc.id)
        self._without_outputs.discard(doc.id)
        if lacks_outputs(doc.stamp):
            self._without_outputs.add(doc.id)
            self._output_queue.appendleft(doc.id)


def _pop_waiting(queue: deque[str], waiting: set[str], skip: Collection[str]) -> str | None:
    """Remove and return the last session of a queue that still waits and is not skipped; skipped ones stay in it."""
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

BACKGROUND_STEP_CHARS = 20_000
"""Number of characters indexed per step in the background, which takes a few milliseconds."""
PAUSE_S = 0.003
HANDLE_CHARS = 8
_BUSY_TRIES = 10
_BUSY_PAUSE_S = 0.2

# Errors that a damaged file can cause: SQLite does not detect all damage, so reading rows can fail in other ways.
_DAMAGE = (StorageError, zlib.error, ValueError, TypeError, LookupError)


class SessionRecall:
    """Searches the sessions of a store through an index that it keeps up to date. Thread-safe.

    cache: the folder of the index, `.clio/cache`; with None the index is in memory and no file is written. If the index
        is missing, damaged, of another version or not writable, it is rebuilt, if necessary in memory; the results are
        the same. No file is read or written before the first search.
    """

    def __init__(self, store: SessionStore, cache: Path | None) -> None:
        self._file = CacheFile(cache)
        self._store = store
        self._sync = SessionSync(store.folder)
        # `refresh` in the background takes it for each step only, so that a search waits for a few ms at most.
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
        """Return the sessions that answer a query, best first, each with its best passages.

        Any text is a valid query; one that shares no word with any session has no results. Words in double quotes must
        be adjacent; `in:output` searches the outputs of tools, `in:title` the titles. Sessions that came with the
        project, and so are not the user's, are left out.

        Args:
            current: id of the running session. It is left out, or with `include_current` marked as current.
            max_sessions: maximum number of sessions.
            max_results: maximum number of passages in total, and so also of sessions. Each session gets its best
                passage first, then its second best, and so on while any are left.
            deadline_s: how long to update the index, newest sessions first. Sessions that are not indexed by then are
                counted in `unsearched`. The search itself takes additional time. Tool outputs are indexed only by
                `refresh` and by a search with `in:output`.
            until: turns created later are not found; seconds since the epoch.
            for_reading: order passages about the same subject newest first, and add to each passage the request and
                the conclusion of its turn, to each session its handle and its commits.

        Raises:
            RecallIndexBusy: if another process keeps the index locked.
            OSError: if the folder of the sessions cannot be read.
            StorageError: if this Python's SQLite has no full-text search.
        """

        def run_search(index: RecallIndex, left_out: frozenset[str]) -> tuple[SessionHit, ...]:
            found = index.search(
                query,
                exclude=left_out,
                limit=max(max_sessions, 0),
                passages=max(max_results, 0),
                total=max_results,
                until=until,
                for_reading=for_reading,
            )
            found = tuple(structs.replace(hit, current=hit.session_id == current) for hit in found if hit.passages)
            return _add_handles(map(index.add_commits, found), self._sync.ids) if for_reading else found

        skipped = current if not include_current else None
        hits, unreadable, unsearched = self._search_updated(query, skipped, deadline_s, run_search)
        return Recall(sessions=hits, unreadable=unreadable, unsearched=unsearched)

    def search_turns(
        self,
        query: str,
        *,
        current: str | None = None,
        limit: int = 30,
        deadline_s: float = 2.0,
        until: float = math.inf,
        near: Mapping[tuple[str, str], float] | None = None,
    ) -> Recall:
        """Return single turns of all other sessions, best first; see `search` for arguments and errors.

        near: see `RecallIndex.search_turns`.
        """

        def run_search(index: RecallIndex, left_out: frozenset[str]) -> tuple[Candidate, ...]:
            return index.search_turns(query, exclude=left_out, limit=limit, until=until, near=near)

        hits, unreadable, unsearched = self._search_updated(query, current, deadline_s, run_search)
        return Recall(turns=hits, unreadable=unreadable, unsearched=unsearched)

    def _search_updated(
        self,
        query: str,
        skipped: str | None,
        deadline_s: float,
        run_search: Callable[[RecallIndex, frozenset[str]], tuple[T, ...]],
    ) -> tuple[tuple[T, ...], tuple[str, ...], int]:
        """Update the index, then return the result of a search, the ids of unreadable sessions and how many wait.

        Args:
            skipped: id of a session to leave out.
            run_search: called with the index and the ids of all sessions to leave out.
        """
        outputs = find_scope(query) == "output"
        end = time.monotonic() + deadline_s
        with self._lock:
            self._sync.scan()
            if self._is_empty():
                return (), (), 0
            skip = frozenset({skipped}) if skipped else frozenset[str]()
            skip |= self._store.find_foreign(self._sync.ids)  # sessions that came with the project

            def update_and_search(index: RecallIndex) -> tuple[T, ...]:
                # Another process may be writing; the index as it is can be searched all the same.
                with suppress(RecallIndexBusy):
                    self._sync.compare(index, skip, outputs=outputs)
                    while time.monotonic() < end and not self._sync.step(index, skip, outputs=outputs).idle:
                        pass
                return run_search(index, skip | self._sync.deleted)

            found = self._run_with_rebuild(update_and_search)
            unreadable = tuple(id for id in self._sync.unreadable if id not in skip)
            return found, unreadable, self._sync.count_waiting(skip, outputs=outputs)

    def count_words(self, query: str) -> Transcribed:
        """Return how often the words of a query occur in the index as it is now. Raises what `search` raises."""
        with self._lock:
            self._sync.scan()
            if self._is_empty():
                return Transcribed()
            return self._run_with_rebuild(lambda index: index.count_words(query))

    def refresh(self, stop: Callable[[], bool] = never_stop, progress: Callable[[int, int], None] | None = None) -> int:
        """Update the index in small steps, for a background thread, and return how many sessions were read.

        The texts of all sessions are indexed first, then the outputs of tools. Raises what `search` raises, except
        that it returns if another process keeps the index locked: that process is updating it.

        Args:
            stop: called between the steps; true ends the update.
            progress: called with the number of sessions read so far and the total number to read.
        """
        read = busy = 0
        with self._lock:
            self._sync.scan()
            if self._is_empty():
                return 0
            self._run_with_rebuild(partial(self._sync.compare, outputs=True))
        outputs = False
        while not stop():
            try:
                with self._lock:
                    step = self._run_with_rebuild(
                        partial(self._sync.step, chars=BACKGROUND_STEP_CHARS, outputs=outputs)
                    )
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
            # All texts are indexed now; continue with the outputs.
            outputs = outputs or step.idle
            # Without the pause a waiting search could not get the lock for long.
            time.sleep(PAUSE_S)
        return read

    def close(self) -> None:
        """Close the index. A later search opens it again."""
        with self._lock:
            if self._index is not None:
                self._index.close()
                self._index = None

    def _is_empty(self) -> bool:
        """Whether there is neither a session nor an index, so that no index need be created."""
        return self._index is None and not self._file.exists and not self._sync.ids

    def _run_with_rebuild(self, action: Callable[[RecallIndex], T]) -> T:
        """Run an action on the index; if the index proves to be damaged, run it again on a new one."""
        # Twice: the file is replaced by a new one first, and by an index in memory if that is damaged too.
        for _ in range(2):
            try:
                return action(self._get_index())
            except RecallIndexBusy:
                raise
            except _DAMAGE:
                self.close()
                self._use_index(self._file.renew())
        return action(self._get_index())

    def _get_index(self) -> RecallIndex:
        # `git clean` or the user may delete the cache while clio runs.
        if self._index is not None and self._file.vanished():
            self.close()
        return self._index or self._use_index(self._file.open())

    def _use_index(self, index: RecallIndex) -> RecallIndex:
        try:
            self._sync.begin(index)
        except BaseException:
            index.close()
            raise
        self._index = index
        return index


def _add_handles(hits: Iterable[SessionHit], ids: Iterable[str]) -> tuple[SessionHit, ...]:
    """Return the hits with handles: the last eight characters of the id, more if another id ends with the same."""
    found = list(hits)
    ends = {hit.session_id[-HANDLE_CHARS:] for hit in found}
    similar = [id for id in ids if id[-HANDLE_CHARS:] in ends]

    def find_handle(id: str) -> str:
        # Ids begin with their time of creation, so their ends differ most.
        ends = (id[-chars:] for chars in range(HANDLE_CHARS, len(id)))
        return next((end for end in ends if not any(other != id and other.endswith(end) for other in similar)), id)

    return tuple(structs.replace(hit, handle=find_handle(hit.session_id)) for hit in found)
