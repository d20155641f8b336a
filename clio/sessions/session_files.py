"""The files of a running session: its lock, journal and snapshot, and changes that wait for a failing disk."""

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
    """A session as read from its files.

    Attributes:
        journal: id of the journal to continue; None if there is none, or if nothing may be appended to it.
        clean: number of messages, from the first, that the snapshot contains in clio's own format.
        foreign: the snapshot is not in clio's format; a copy must be kept when it is rewritten.
        corrupt: the snapshot cannot be parsed; it must be moved aside before it is replaced.
        merged: the snapshot already contains the journal, because clio was killed between writing the snapshot and
            deleting the journal.
        damaged: the journal has lines that cannot be decoded; it must be moved aside instead of deleted.
        outputs: full outputs that another program stored beside the session; the messages contain their handles.
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
    """Writes a session's changes to its files. No method raises OSError: `unsaved` describes a failed write.

    The session's state is only read here, when a snapshot is written; the session alone changes it.
    """

    def __init__(
        self, loaded: LoadedSession, files: SessionFiles, lock: FileLock, begin: Callable[[str], None] | None = None
    ) -> None:
        """Prepare to write the files of a loaded or new session.

        begin: called with the id before the first file is written.
        """
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
        """Append a line to the journal and pass all queued lines to the operating system."""
        self._changed = True
        self._writer.add(line)
        self.flush()

    def flush(self) -> None:
        """Write the queued lines and outputs. A session without messages is not written, so that it leaves no file."""
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
        """Write the queued lines and flush the files to the storage device, so that they survive a power failure."""
        self.flush()
        if self.unsaved:
            return
        try:
            self._writer.sync()
            self.blobs.sync()
        except OSError as error:
            self._not_saved(error)

    def save_whole(self) -> None:
        """Write the snapshot and start a new journal, if anything has changed since the last snapshot."""
        if not self._changed or not self._state.messages:
            return
        self.flush()  # the journal too, in case the snapshot cannot be written
        try:
            self._make_ready()
            self.blobs.flush()  # before the snapshot, which refers to them
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
        """Close the files and release the lock."""
        self._writer.close()
        if self._lock is not None:
            self._lock.release()

    def _make_ready(self) -> None:
        """Create the directory, acquire the lock and delete a merged journal before the first write. Raises OSError."""
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
            self.warnings.append(
                f"The file system of {str(self._files.folder)!r} does not support locks: open each session in only one"
                " clio at a time."
            )
            return
        if not taken:
            owner = read_owner(lock.path)
            raise BlockingIOError(errno.EAGAIN, f"process {owner.pid} has it open too", str(lock.path))

    def _is_lost(self) -> bool:
        """Whether the files of the running session were deleted, as by `git clean -xfd`."""
        return self._writer.is_deleted() if self._writer.is_open else not self._files.any_exist()

    def _start_over(self) -> None:
        """Queue a new journal with the whole session, to replace the deleted files."""
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
        """Write the snapshot, then delete the journal.

        The snapshot contains the journal's id, so that after a kill between the two the journal is not replayed.
        """
        path = self._files.snapshot
        remains = session_format.PreservedContent()
        if self._origin.corrupt:
            self._set_aside(path)
        elif path.exists():
            remains = session_format.find_preserved_content(read_regular(path), self._origin.clean)
            if self._origin.foreign:
                with suppress(FileExistsError):  # only the first copy is the original
                    link_or_copy(path, self._files.original)
        write_atomic(path, session_format.encode_snapshot(self._state, self._journal_id, remains))
        self._writer.close()
        if self._origin.damaged:
            self._set_aside(self._files.journal)
        self._stale_journal = True
        with suppress(OSError):  # Windows: another process reads it; the next write tries again
            self._files.journal.unlink(missing_ok=True)
            self._stale_journal = False

    def _set_aside(self, path: Path) -> None:
        """Move a damaged file aside. Raises OSError if that fails, so that the file is not overwritten."""
        if not path.exists():
            return
        moved_to = set_file_aside(path, keep=True)
        if moved_to is None:
            raise OSError(errno.EIO, "the damaged file could not be set aside", str(path))
        self.warnings.append(f"The damaged file was set aside as {str(moved_to)!r}.")

    def _not_saved(self, error: OSError) -> None:
        why = error_reason(error)
        place = error.filename or self._files.journal
        self.unsaved = (
            f"{why} ({str(place)!r}); the missing changes are in memory and will be saved once writing works again."
        )
