"""One conversation on disk from its first message: what was appended is there after a kill at any instant."""

import errno
import time
from contextlib import suppress
from pathlib import Path

from clio.ids import new_id
from clio.messages import Message
from clio.sessions import journal, snapshot
from clio.sessions.blobs import BlobStore
from clio.sessions.files import SessionFiles
from clio.sessions.loading import Loaded
from clio.sessions.state import NAME_CHARS, Bill, Todo, one_line
from clio.storage.atomic import write_atomic
from clio.storage.document import keep_twin, set_aside
from clio.storage.filelock import FileLock, read_owner
from clio.storage.folders import make_ignored_folder
from clio.storage.jsonl import LineWriter

REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the file may not grow",
    errno.EROFS: "the disk is read-only",
    errno.EACCES: "permission was denied",
    errno.EPERM: "permission was denied",
}

NO_LOCKS = {errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS}


class Session:
    """A conversation and its files; made by `SessionStore`, used from one thread at a time.

    unsaved: why the newest state is not on disk, as one sentence; None when it is. What could not be written stays in
        memory and is written with the next change for which the disk works.
    warnings: what was wrong with the files when the session was opened, one sentence each.
    """

    def __init__(self, loaded: Loaded, files: SessionFiles | None, lock: FileLock | None = None) -> None:
        self._state = loaded.state
        self._loaded = loaded
        self._files = files
        self._lock = lock or (FileLock(files.lock, loaded.state.id) if files else None)
        self._journal_id = loaded.journal or new_id()
        self._writer: LineWriter | None = None
        self._changed = any((loaded.journal, loaded.damaged, loaded.corrupt, loaded.merged))
        self._on_disk = bool(loaded.state.messages)
        self._stale_journal = loaded.merged
        self._closed = False
        self._blobs = BlobStore(files.blobs if files else None)
        self.unsaved: str | None = None
        self.warnings = list(loaded.warnings)
        if files is not None:
            self._writer = self._new_writer(files)

    @property
    def id(self) -> str:
        """The session's UUID, also the name of its files."""
        return self._state.id

    @property
    def name(self) -> str | None:
        """What the person calls it."""
        return self._state.name

    @property
    def created_at(self) -> float:
        """Seconds since the epoch."""
        return self._state.created_at

    @property
    def working_directory(self) -> Path:
        """Where it was started."""
        return Path(self._state.working_directory)

    @property
    def parent(self) -> str | None:
        """Id of the session it was branched from."""
        return self._state.parent

    @property
    def messages(self) -> list[Message]:
        """The live list, oldest first; to be read only."""
        return self._state.messages

    @property
    def stm(self) -> list[str]:
        """Ids of the messages the next request is built from; to be read only."""
        return self._state.stm

    @property
    def todos(self) -> tuple[Todo, ...]:
        """The list of work."""
        return self._state.todos

    @property
    def bills(self) -> list[Bill]:
        """Token usage, one entry per request; to be read only."""
        return self._state.bills

    @property
    def token_ratio(self) -> float | None:
        """Characters per token as learned; None where nothing was."""
        return self._state.token_ratio

    @property
    def model(self) -> str | None:
        """The model chosen in this session; None for the configured one."""
        return self._state.model

    @property
    def persistent(self) -> bool:
        """Whether it has files at all."""
        return self._files is not None

    @property
    def snapshot_is_corrupt(self) -> bool:
        """Whether the file on disk is a damaged one, which `compact` sets aside and replaces."""
        return self._loaded.corrupt

    def append(self, message: Message) -> None:
        """Add a message: one line in the journal, handed to the operating system. Costs the same at any length.

        Text that is no valid Unicode (half of a surrogate pair) is kept with U+FFFD in its place.
        """
        self._record(journal.Said(n=len(self._state.messages) + 1, message=message))

    def add_bill(self, bill: Bill) -> None:
        """Note what a request cost."""
        self._record(journal.Billed(bill=bill))

    def set_todos(self, todos: tuple[Todo, ...]) -> None:
        """Replace the list of work."""
        self._record(journal.TodosSet(todos=todos))

    def rename(self, name: str | None) -> None:
        """Give it a name of up to 120 characters on one line; None or an empty one takes the name away."""
        self._record(journal.Renamed(session_name=one_line(name or "", NAME_CHARS) or None))

    def set_token_ratio(self, token_ratio: float | None) -> None:
        """Keep the learned characters per token."""
        self._record(journal.RatioLearned(token_ratio=token_ratio))

    def set_model(self, name: str | None) -> None:
        """Keep the model chosen in this session."""
        self._record(journal.ModelChosen(selected_model=name))

    def set_stm(self, ids: tuple[str, ...]) -> None:
        """Set the sliding window after a trim; later messages join it by themselves."""
        self._record(journal.WindowSet(stm=ids))

    def write_blob(self, text: str) -> str:
        """Keep a whole output, already redacted; returns the handle for `read_blob`."""
        handle = self._blobs.add(text)
        self._flush()
        return handle

    def read_blob(self, handle: str) -> str:
        """The text behind a handle. Raises BlobNotFound; OSError where the disk fails."""
        return self._blobs.read(handle)

    def sync(self) -> None:
        """Make everything appended so far survive a power failure. Takes what an fsync takes: call it once a step."""
        self._flush()
        if self._writer is None or self.unsaved:
            return
        try:
            self._writer.sync()
            self._blobs.sync()
        except OSError as error:
            self._not_saved(error)

    def close(self) -> None:
        """Write the snapshot, drop the journal, let go of the lock. A session without a message leaves no file.

        Where the snapshot cannot be written the journal stays and `unsaved` says why. A second call does nothing.
        """
        if self._closed:
            return
        if self._changed and self._state.messages:
            self.compact()
        self._closed = True
        if self._writer is not None:
            self._writer.close()
        if self._lock is not None:
            self._lock.release()

    def compact(self) -> None:
        """Write the snapshot now and begin a new journal; `close` does it, and opening a damaged session."""
        if self._files is None:
            return
        self._flush()  # the blobs; and the journal, in case the snapshot fails
        try:
            self._make_ready(self._files)
            self._write_snapshot(self._files)
        except OSError as error:
            self._not_saved(error)
            return
        self.unsaved = None
        self._changed = False
        self._loaded = Loaded(state=self._state, clean=len(self._state.messages))
        self._journal_id = new_id()
        self._writer = self._new_writer(self._files)

    def _record(self, record: journal.Record) -> None:
        if self._closed:
            raise ValueError(f"session {self.id!r} is closed")
        record, line = journal.encode(record)
        journal.apply(record, self._state)
        self._changed = True
        if self._writer is not None:
            self._state.updated_at = time.time()
            self._writer.add(line)
            self._flush()

    def _flush(self) -> None:
        """Write what waits, unless nothing has been said yet: such a session leaves no file."""
        if self._files is None or self._writer is None or not self._state.messages:
            return
        try:
            if self._on_disk and self._is_lost(self._files, self._writer):
                self._writer = self._start_over(self._files, self._writer)
            self._make_ready(self._files)
            if self._stale_journal:
                self._files.journal.unlink(missing_ok=True)
                self._stale_journal = False
            self._writer.flush()
            self._blobs.flush()
        except OSError as error:
            self._not_saved(error)
        else:
            self._on_disk = True
            self.unsaved = None

    def _make_ready(self, files: SessionFiles) -> None:
        """Folder and lock, before the first byte. Raises OSError."""
        if self._lock is None or self._lock.held:
            return
        make_ignored_folder(files.folder, files.folder.parent)
        try:
            taken = self._lock.acquire()
        except OSError as error:
            if error.errno not in NO_LOCKS:
                raise
            self._lock = None
            self.warnings.append(f"{str(files.folder)!r} has no locks: open each session in one clio only.")
            return
        if not taken:
            owner = read_owner(self._lock.path)
            raise BlockingIOError(errno.EAGAIN, f"process {owner.pid} has opened it too", str(self._lock.path))

    @staticmethod
    def _is_lost(files: SessionFiles, writer: LineWriter) -> bool:
        """Whether somebody deleted the files of the running session, as `git clean -xfd` does."""
        return writer.vanished() if writer.is_open else not files.exist()

    def _start_over(self, files: SessionFiles, writer: LineWriter) -> LineWriter:
        """A journal that holds the whole session, in place of the lost one."""
        writer.close()
        if self._lock is not None:
            self._lock.release()
        self._on_disk = False
        self._journal_id = new_id()
        writer = LineWriter(files.journal)
        for record in journal.restated(self._state, self._journal_id):
            writer.add(journal.encode(record)[1])
        return writer

    def _new_writer(self, files: SessionFiles) -> LineWriter:
        return LineWriter(files.journal, journal.encode(journal.opened(self._state, self._journal_id))[1])

    def _write_snapshot(self, files: SessionFiles) -> None:
        """Snapshot, then away with the journal; in between, its id in the snapshot keeps it from being played twice."""
        remains = snapshot.Remains()
        if self._loaded.corrupt:
            self._set_aside(files.snapshot)
        elif files.snapshot.exists():
            remains = snapshot.remains_of(files.snapshot.read_bytes(), self._loaded.clean)
            if self._loaded.foreign:
                with suppress(FileExistsError):  # the first one is the original
                    keep_twin(files.snapshot, files.original)
        write_atomic(files.snapshot, snapshot.encode(self._state, self._journal_id, remains))
        if self._writer is not None:
            self._writer.close()
        if self._loaded.damaged:
            self._set_aside(files.journal)
        files.journal.unlink(missing_ok=True)

    def _set_aside(self, path: Path) -> None:
        """Keep a damaged file under another name. Raises OSError where that fails, so that nothing replaces it."""
        if not path.exists():
            return
        moved_to = set_aside(path, keep=True)
        if moved_to is None:
            raise OSError(errno.EIO, "the damaged file could not be set aside", str(path))
        self.warnings.append(f"The damaged file was kept as {str(moved_to)!r}.")

    def _not_saved(self, error: OSError) -> None:
        if self._files is None:
            return
        why = REASONS.get(error.errno or 0) or (error.strerror or str(error)).lower()
        place = error.filename or self._files.journal
        self.unsaved = (
            f"Session {self.id!r} is not saved, because {why} ({str(place)!r}); "
            "it is kept in memory and written as soon as that works again."
        )
