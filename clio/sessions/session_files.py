"""The files of a running session: who may write them, what waits for the disk, and how they are tidied up."""

import errno
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from clio.ids import new_id
from clio.sessions import session_format
from clio.sessions.blobs import BlobStore, StoredOutput, output_readers
from clio.sessions.state import SessionFiles, SessionState
from clio.storage.documents import link_or_copy, set_file_aside
from clio.storage.files import make_ignored_folder, read_regular, write_atomic
from clio.storage.jsonl import LineWriter
from clio.storage.locks import FileLock, LocksUnsupported, error_reason, read_owner


class LoadedSession(Struct, frozen=True, kw_only=True):
    """A session as its files tell it.

    journal: id of the journal to go on with; None where there is none, or it must not be added to.
    clean: how many of the first messages stand in the snapshot in clio's own form.
    foreign: the snapshot is not in clio's form and must be kept when it is rewritten.
    corrupt: the snapshot does not parse and must be set aside before anything replaces it.
    merged: the journal is in the snapshot already: clio died between writing one and deleting the other.
    damaged: the journal has lines nobody understands; it must be set aside, not deleted.
    outputs: whole outputs another program stored beside the session; the messages have their handles.
    """

    state: SessionState
    journal: str | None = None
    clean: int = 0
    foreign: bool = False
    corrupt: bool = False
    merged: bool = False
    damaged: bool = False
    outputs: tuple[StoredOutput, ...] = ()
    warnings: tuple[str, ...] = ()


class SessionDisk:
    """Keeps a session's files up with its state. No method raises OSError: what fails is said in `unsaved`.

    state: the session's own, read when the whole of it is to be written; changed by the session only.
    """

    def __init__(
        self, loaded: LoadedSession, files: SessionFiles, lock: FileLock, begin: Callable[[str], None] | None = None
    ) -> None:
        """begin: told of a new session's id before its first file is written."""
        self._begin = begin
        self._state = loaded.state
        self._origin = loaded
        self._files = files
        self._lock: FileLock | None = lock
        self._journal_id = loaded.journal or new_id()
        self._writer = self._new_writer()
        self._stale_journal = loaded.merged
        self._on_disk = bool(loaded.state.messages)
        self._changed = any((loaded.journal, loaded.damaged, loaded.corrupt, loaded.merged))
        self.blobs = BlobStore(files.blobs, external=output_readers(loaded.outputs))
        self.unsaved: str | None = None
        self.warnings = list(loaded.warnings)

    def write(self, line: bytes) -> None:
        """Add a line to the journal and hand all that waits to the operating system."""
        self._changed = True
        self._writer.add(line)
        self.flush()

    def flush(self) -> None:
        """Write what waits, unless nothing has been said yet: such a session leaves no file."""
        if not self._state.messages or not (self._writer.has_queued_lines or self.blobs.has_unwritten):
            return
        try:
            if self._on_disk and self._is_lost():
                self._start_over()
            self._make_ready()
            self._writer.flush()
            self.blobs.flush()
        except OSError as error:
            self._not_saved(error)
        else:
            self._on_disk = True
            self.unsaved = None

    def sync(self) -> None:
        """Make what was written survive a power failure."""
        self.flush()
        if self.unsaved:
            return
        try:
            self._writer.sync()
            self.blobs.sync()
        except OSError as error:
            self._not_saved(error)

    def save_whole(self) -> None:
        """Write the snapshot and begin a new journal, if anything changed since the last one."""
        if not self._changed or not self._state.messages:
            return
        self.flush()  # the blobs; and the journal, in case the snapshot fails
        try:
            self._make_ready()
            self.blobs.flush()  # what the snapshot names is there before it
            self._write_snapshot()
        except OSError as error:
            self._not_saved(error)
            return
        self.unsaved = None
        self._changed = False
        self._origin = LoadedSession(state=self._state, clean=len(self._state.messages))
        self._journal_id = new_id()
        self._writer = self._new_writer()

    def release(self) -> None:
        """Let go of the files and the lock."""
        self._writer.close()
        if self._lock is not None:
            self._lock.release()

    def _make_ready(self) -> None:
        """Folder, lock, and no journal of the past, before the first byte. Raises OSError."""
        if self._lock is not None and not self._lock.is_held:
            make_ignored_folder(self._files.folder, self._files.folder.parent)
            if self._begin is not None:
                self._begin(self._files.id)
            self._take_lock(self._lock)
        if self._stale_journal:
            self._files.journal.unlink(missing_ok=True)
            self._stale_journal = False

    def _take_lock(self, lock: FileLock) -> None:
        try:
            taken = lock.acquire()
        except LocksUnsupported:
            self._lock = None
            self.warnings.append(f"{str(self._files.folder)!r} has no locks: open each session in one clio only.")
            return
        if not taken:
            owner = read_owner(lock.path)
            raise BlockingIOError(errno.EAGAIN, f"process {owner.pid} has opened it too", str(lock.path))

    def _is_lost(self) -> bool:
        """Whether somebody deleted the files of the running session, as `git clean -xfd` does."""
        return self._writer.is_deleted() if self._writer.is_open else not self._files.any_exist()

    def _start_over(self) -> None:
        """Prepare a journal that holds the whole session, in place of the lost one."""
        self._writer.close()
        if self._lock is not None:
            self._lock.release()
        self._on_disk = False
        self._journal_id = new_id()
        self._writer = LineWriter(self._files.journal)
        for record in session_format.rebuild_journal(self._state, self._journal_id):
            self._writer.add(session_format.encode_record(record)[1])

    def _new_writer(self) -> LineWriter:
        return LineWriter(
            self._files.journal,
            session_format.encode_record(session_format.make_journal_header(self._state, self._journal_id))[1],
        )

    def _write_snapshot(self) -> None:
        """Snapshot, then away with the journal; in between, its id in the snapshot keeps it from being played twice."""
        path = self._files.snapshot
        remains = session_format.PreservedContent()
        if self._origin.corrupt:
            self._set_aside(path)
        elif path.exists():
            remains = session_format.find_preserved_content(read_regular(path), self._origin.clean)
            if self._origin.foreign:
                with suppress(FileExistsError):  # the first one is the original
                    link_or_copy(path, self._files.original)
        write_atomic(path, session_format.encode_snapshot(self._state, self._journal_id, remains))
        self._writer.close()
        if self._origin.damaged:
            self._set_aside(self._files.journal)
        self._stale_journal = True
        with suppress(OSError):  # Windows, while somebody reads it; the next write tries again
            self._files.journal.unlink(missing_ok=True)
            self._stale_journal = False

    def _set_aside(self, path: Path) -> None:
        """Keep a damaged file under another name. Raises OSError where that fails, so that nothing replaces it."""
        if not path.exists():
            return
        moved_to = set_file_aside(path, keep=True)
        if moved_to is None:
            raise OSError(errno.EIO, "the damaged file could not be set aside", str(path))
        self.warnings.append(f"The damaged file was kept as {str(moved_to)!r}.")

    def _not_saved(self, error: OSError) -> None:
        why = error_reason(error)
        place = error.filename or self._files.journal
        self.unsaved = (
            f"{why} ({str(place)!r}); what is missing there is kept in memory and written as soon as that works again."
        )
