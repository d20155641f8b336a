"""The files of a running session: its lock, journal and snapshot, and changes that wait for a failing disk."""

import errno
import hashlib
import os
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

import msgspec
from msgspec import Struct

from clio.ids import new_id
from clio.messages import Message, ToolMessage
from clio.sessions import session_format
from clio.sessions.state import SessionFiles, SessionState, replace_lone_surrogates
from clio.storage.documents import link_or_copy, set_file_aside
from clio.storage.files import make_folder, make_ignored_folder, read_regular, sync_folder, write_atomic
from clio.storage.jsonl import LineWriter
from clio.storage.locks import FileLock, LocksUnsupported, error_reason, read_owner
from clio.text.json_data import repair_double_utf8
from clio.text.lazy_regex import LazyRegex
from clio.text.translation import tr

BLOB_HANDLE = LazyRegex(r"[0-9a-f]{8,64}")
BLOB_HANDLE_CHARS = 16
"""64 bits of the digest: unique among the outputs of one session, and short in the model's context."""


class BlobNotFound(LookupError):
    """No stored output has this handle. The message is one sentence for the model."""


class BlobStore:
    """The stored outputs of one session. Outputs that are not on disk yet are read from memory.

    Args:
        folder: directory of the stored outputs; None if there is none.
        writable: False keeps new outputs in memory only.
        external: functions that read outputs stored by another program, by full digest; `flush` copies these outputs
            to `folder`.
    """

    def __init__(
        self, folder: Path | None, *, writable: bool = True, external: Mapping[str, Callable[[], str]] | None = None
    ) -> None:
        self._folder = folder
        self._writable = writable
        self._external = dict(external or {})
        self._queued: dict[str, bytes] = {}
        self._unsynced: list[Path] = []

    def add(self, text: str) -> str:
        """Queue a text and return its handle: the first 16 hex digits of the SHA-256 of its UTF-8 bytes.

        `flush` writes it to disk.
        """
        return self.add_data(replace_lone_surrogates(text).encode("utf-8"))

    def add_data(self, data: bytes) -> str:
        """Queue binary data, such as an image, and return its handle. See `add`."""
        digest = hashlib.sha256(data).hexdigest()
        self._queued[digest] = data
        return digest[:BLOB_HANDLE_CHARS]

    def read(self, handle: str) -> str:
        """Return the text with this handle (8 to 64 hex digits). Raises BlobNotFound, OSError."""
        return self.read_data(handle).decode("utf-8", errors="replace")

    def read_data(self, handle: str) -> bytes:
        """Return the bytes with this handle. Raises BlobNotFound, also for an ambiguous prefix, and OSError."""
        if BLOB_HANDLE.fullmatch(handle):
            for digest, data in self._queued.items():
                if digest.startswith(handle):
                    return data
            found = sorted(self._folder.glob(handle + "*")) if self._folder else []
            found = [path for path in found if BLOB_HANDLE.fullmatch(path.name)]
            if len(found) == 1:
                return read_regular(found[0])
            for digest, read in self._external.items():
                if digest.startswith(handle):
                    with suppress(FileNotFoundError):
                        return read().encode("utf-8", errors="replace")
        raise BlobNotFound(
            f"No stored output has the handle {handle!r}; use the handle as the shortened output gave it."
        )

    @property
    def has_unwritten(self) -> bool:
        """Whether new outputs are queued for `flush`."""
        return bool(self._queued)

    def flush(self) -> None:
        """Write the queued outputs. Raises OSError; outputs that could not be written stay queued."""
        if self._folder is None or not self._writable:
            return
        for digest in list(self._queued):
            self._store(self._folder, digest, self._queued[digest])
            del self._queued[digest]
        for digest in list(self._external):
            try:
                text = self._external[digest]()
            except FileNotFoundError:
                pass  # deleted meanwhile, so there is nothing to store
            else:
                self._store(self._folder, digest, text.encode("utf-8"))
            del self._external[digest]

    def sync(self) -> None:
        """Flush the written outputs to the storage device (fsync), so that they survive a power failure.

        Raises OSError.
        """
        if not self._unsynced:
            return
        while self._unsynced:
            path = self._unsynced.pop()
            # `git clean` or the user may have deleted it since; a missing file needs no fsync.
            if path.exists():
                fd = os.open(path, os.O_RDWR)  # Windows syncs only files open for writing
                try:
                    os.fsync(fd)
                finally:
                    os.close(fd)
        if self._folder is not None and self._folder.is_dir():
            # The names are stored in the directory: without this a power failure can lose a file whose content is on
            # the disk.
            sync_folder(self._folder)

    def _store(self, folder: Path, digest: str, data: bytes) -> None:
        path = folder / digest
        if not path.exists():
            make_folder(folder)
            write_atomic(path, data, durable=False)  # `sync` flushes it with the step's other outputs
            self._unsynced.append(path)


# The Perl original puts this text in a message in place of a long output.
_PREVIEW = LazyRegex(
    r"\[TOOL_RESULT_PREVIEW: First \d+ bytes shown\]\n\n(?P<shown>.*)\n\n"
    r"\[TOOL_RESULT_STORED: toolCallId=[^\n]*\]\n.*",
    re.DOTALL,
)


class StoredOutput(Struct, frozen=True, kw_only=True):
    """One output stored by the Perl original. digest: SHA-256 of its repaired text in UTF-8; chars, lines: its size."""

    path: Path
    digest: str
    chars: int
    lines: int


def find_stored_outputs(folder: Path) -> dict[str, StoredOutput]:
    """Return the outputs in a `tool_results` directory by tool call id, without unreadable ones."""
    try:
        paths = sorted(folder.glob("*.txt"))
    except OSError:
        return {}
    found: dict[str, StoredOutput] = {}
    for path in paths:
        try:
            text = read_stored_output(path)
        except OSError:
            continue
        digest = hashlib.sha256(text.encode("utf-8")).hexdigest()
        found[path.stem] = StoredOutput(path=path, digest=digest, chars=len(text), lines=text.count("\n") + 1)
    return found


def output_readers(outputs: Iterable[StoredOutput]) -> dict[str, Callable[[], str]]:
    """Return, by digest, a function that reads each output."""
    return {output.digest: partial(read_stored_output, output.path) for output in outputs}


def read_stored_output(path: Path) -> str:
    """Return the text of an output file, with doubly encoded UTF-8 repaired. Raises OSError, also for a link."""
    # A repository can bring a link to any file of the user's, whose content would then be sent to the model.
    if path.is_symlink():
        raise FileNotFoundError(f"{str(path)!r} is a link")
    return repair_double_utf8(read_regular(path).decode("utf-8", errors="replace"))


def attach_output(message: Message, outputs: Mapping[str, StoredOutput]) -> Message:
    """Return a tool message with the handle of its full output; any other message unchanged.

    The original's preview markers in its text are replaced by a note that names `read_output`.
    """
    output = outputs.get(message.tool_call_id) if isinstance(message, ToolMessage) else None
    if output is None or not isinstance(message, ToolMessage) or message.blob:
        return message
    handle = output.digest[:BLOB_HANDLE_CHARS]
    match = _PREVIEW.fullmatch(message.content)
    if match is None:
        return msgspec.structs.replace(message, blob=handle)
    preview = repair_double_utf8(match["shown"])
    lines = preview.count("\n")
    notice = (
        f"[… {output.lines - lines:,} lines, {max(output.chars - len(preview), 0):,} characters left out; "
        f'go on with read_output(handle="{handle}", offset={lines + 1}) …]'
    )
    return msgspec.structs.replace(message, blob=handle, content=f"{preview}\n{notice}\n")


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
        self,
        loaded: LoadedSession,
        files: SessionFiles,
        lock: FileLock,
        before_first_write: Callable[[str], None] | None = None,
    ) -> None:
        """Prepare to write the files of a loaded or new session.

        before_first_write: called with the id before the first file is written.
        """
        self._before_first_write = before_first_write
        self._state = loaded.state
        self._loaded = loaded
        self._files = files
        self._lock: FileLock | None = lock
        self._journal_id = loaded.journal or new_id()
        self._writer = self._new_writer()
        self._stale_journal = loaded.merged
        self._is_on_disk = bool(loaded.state.messages)
        self._has_changes = any((loaded.journal, loaded.damaged, loaded.corrupt, loaded.merged))
        self.blobs = BlobStore(files.blobs, external=output_readers(loaded.outputs))
        self.unsaved: str | None = None
        self.warnings = list(loaded.warnings)

    def write(self, line: bytes) -> None:
        """Append a line to the journal and pass all queued lines to the operating system."""
        self._has_changes = True
        self._writer.add(line)
        self.flush()

    def flush(self) -> None:
        """Write the queued lines and outputs. A session without messages is not written, so that it leaves no file."""
        if not self._state.messages or not (self._writer.has_queued_lines or self.blobs.has_unwritten):
            return
        try:
            # `git clean -xfd` deletes the files of a running session, which are ignored by git.
            if self._is_on_disk and self._are_files_deleted():
                self._rewrite_journal()
            self._prepare_write()
            self._writer.flush()
            self.blobs.flush()
        except OSError as error:
            self._note_failure(error)
        else:
            self._is_on_disk = True
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
            self._note_failure(error)

    def save_whole(self) -> None:
        """Write the snapshot and start a new journal, if anything has changed since the last snapshot."""
        # A session that was only looked at keeps its time of change and its place in the list.
        if not self._has_changes or not self._state.messages:
            return
        self.flush()  # the journal too, in case the snapshot cannot be written
        try:
            self._prepare_write()
            self.blobs.flush()  # before the snapshot, which refers to them
            self._write_snapshot()
        except OSError as error:
            self._note_failure(error)
            return
        self.unsaved = None
        self._has_changes = False
        # The file is now clio's own: flags such as `foreign` and `corrupt` would copy or move it again at the next
        # snapshot.
        self._loaded = LoadedSession(state=self._state, clean=len(self._state.messages))
        # A new id, or a snapshot that already contains the old journal would make a reader skip this one.
        self._journal_id = new_id()
        self._writer = self._new_writer()

    def release(self) -> None:
        """Close the files and release the lock."""
        self._writer.close()
        if self._lock is not None:
            self._lock.release()

    def _prepare_write(self) -> None:
        """Create the directory, acquire the lock and delete a merged journal before the first write. Raises OSError."""
        if self._lock is not None and not self._lock.is_held:
            make_ignored_folder(self._files.folder, self._files.folder.parent)
            # Before the first byte: a kill right after it would leave a session that counts as brought by the
            # repository.
            if self._before_first_write is not None:
                self._before_first_write(self._files.id)
            self._acquire_lock(self._lock)
        if self._stale_journal:
            self._files.journal.unlink(missing_ok=True)
            self._stale_journal = False

    def _acquire_lock(self, lock: FileLock) -> None:
        try:
            is_acquired = lock.acquire()
        except LocksUnsupported:
            self._lock = None
            self.warnings.append(
                tr(
                    "The file system of {folder!r} does not support locks: open each session in only one "
                    "clio at a time.",
                    folder=str(self._files.folder),
                )
            )
            return
        if not is_acquired:
            owner = read_owner(lock.path)
            raise BlockingIOError(errno.EAGAIN, tr("process {pid} has it open too", pid=owner.pid), str(lock.path))

    def _are_files_deleted(self) -> bool:
        """Whether the files of the running session were deleted, as by `git clean -xfd`."""
        return self._writer.is_deleted() if self._writer.is_open else not self._files.any_exist()

    def _rewrite_journal(self) -> None:
        """Queue a new journal with the whole session, to replace the deleted files."""
        self._writer.close()
        if self._lock is not None:
            self._lock.release()
        self._is_on_disk = False
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
        preserved = session_format.PreservedContent()
        if self._loaded.corrupt:
            self._set_aside(path)
        elif path.exists():
            preserved = session_format.find_preserved_content(read_regular(path), self._loaded.clean)
            # Another program's file is copied before clio first rewrites it in its own format.
            if self._loaded.foreign:
                with suppress(FileExistsError):  # only the first copy is the original
                    link_or_copy(path, self._files.original)
        write_atomic(path, session_format.encode_snapshot(self._state, self._journal_id, preserved))
        self._writer.close()
        if self._loaded.damaged:
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
            raise OSError(errno.EIO, tr("the damaged file could not be renamed"), str(path))
        self.warnings.append(tr("The damaged file was renamed to {moved_to!r}.", moved_to=str(moved_to)))

    def _note_failure(self, error: OSError) -> None:
        file = error.filename or self._files.journal
        self.unsaved = tr(
            "{error_reason} ({file!r}); the missing changes are in memory and will be saved once writing works again.",
            error_reason=error_reason(error),
            file=str(file),
        )
