"""Checkpoints on disk: file contents by SHA-256, the log of changes, and how the log determines an undo."""

import hashlib
import os
import re
import secrets
import time
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Literal, Protocol

import msgspec
from msgspec import Struct

from clio.storage.documents import refuse_newer_version
from clio.storage.files import make_folder, open_regular, read_regular, sync_folder, write_atomic
from clio.storage.jsonl import LineWriter, back_up_damaged_file, read_lines, split_lines
from clio.storage.locks import FileLock, find_lock_owner
from clio.text.json_data import decode_json

RecordKind = Literal["turn", "undo", "redo", "rewind"]
NOT_STORED_PREFIX = "~"
"""Prefix of the id of content that was not stored. The rest of the id only shows whether the file changed."""


class FileState(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The state of a file at one time.

    Attributes:
        mode: permission bits.
        size: in bytes.
        id: SHA-256 of its content, as used by the object store.
        link: for a symbolic link, its target in place of content.
    """

    mode: int = 0o644
    size: int = 0
    id: str = ""
    link: str | None = None

    @property
    def is_stored(self) -> bool:
        """Whether its content was stored."""
        return self.link is not None or not self.id.startswith(NOT_STORED_PREFIX)


class Change(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One file before and after a change; None where it did not exist.

    Attributes:
        path: relative to the workspace with forward slashes; absolute for a file outside it.
        unsure: another program or the user may have changed it too, because it was not inspected in time.
    """

    path: str
    before: FileState | None = None
    after: FileState | None = None
    unsure: bool = False


class TurnRef(Struct, frozen=True, kw_only=True):
    """The turn something belongs to: its session, and the message that started it."""

    session: str
    message: str


class ChangeRecord(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of the log: what a tool call or a restore did to files.

    Attributes:
        at: seconds since the epoch.
        session, message: the turn it belongs to; a restore has no message.
        reverted: the messages of the turns that were undone; for a redo, the id of the record it reverts.
        created_folders, removed_folders: outermost first.
        scanned: the whole workspace was scanned, except for ignored files and files that are too large.
    """

    id: str
    kind: RecordKind
    at: float
    session: str
    message: str = ""
    changes: tuple[Change, ...] = ()
    reverted: tuple[str, ...] = msgspec.field(default=(), name="of")
    created_folders: tuple[str, ...] = msgspec.field(default=(), name="made")
    removed_folders: tuple[str, ...] = msgspec.field(default=(), name="gone")
    scanned: bool = False


StepVerdict = Literal["restorable", "same", "edited", "between", "unsure", "lost", "blocked"]
"""What can be done with a file:

- restorable: it can be restored.
- same: it is already in the state to restore.
- edited: it was changed after the last of the turns.
- between: it was changed by someone else between two of the turns.
- unsure: it is not known who made a change.
- lost: the content to restore was not stored.
- blocked: a folder in its path is a link.
"""
REFUSED_VERDICTS: frozenset[StepVerdict] = frozenset(("edited", "between", "unsure"))
"""Verdicts that the user may override."""


class TurnChanges(Struct, frozen=True, kw_only=True):
    """What one turn did to files. at: time of the first change."""

    message: str
    session: str
    at: float
    records: tuple[ChangeRecord, ...]

    @property
    def changes(self) -> tuple[Change, ...]:
        """Each file once, before and after the whole turn, without files that ended up unchanged."""
        targets = plan_undo(self.records)
        return tuple(
            Change(path=target.path, before=target.target, after=target.expected, unsure=target.unsure)
            for target in targets
            if target.target != target.expected
        )

    @property
    def scanned(self) -> bool:
        """Whether the turn ran commands."""
        return any(record.scanned for record in self.records)


class RestoreTarget(Struct, frozen=True, kw_only=True):
    """A file to be restored: its expected state now, and the state to restore.

    Attributes:
        between: it was changed by someone else between the changes to undo.
        unsure: see `Change`.
    """

    path: str
    expected: FileState | None
    target: FileState | None
    between: bool = False
    unsure: bool = False


class RestoreStep(Struct, frozen=True, kw_only=True):
    """What to do with one file. current: its state now."""

    file: RestoreTarget
    current: FileState | None
    verdict: StepVerdict


def list_turns(records: Iterable[ChangeRecord]) -> list[TurnChanges]:
    """Return the turns that changed files, oldest first."""
    found: dict[str, list[ChangeRecord]] = {}
    for record in records:
        if record.kind == "turn":
            found.setdefault(record.message, []).append(record)
    turns = [
        TurnChanges(
            message=message, session=turn_records[0].session, at=turn_records[0].at, records=tuple(turn_records)
        )
        for message, turn_records in found.items()
    ]
    return [
        turn
        for turn in turns
        if turn.changes or any(record.created_folders or record.removed_folders for record in turn.records)
    ]


def list_undone_turns(records: Sequence[ChangeRecord]) -> set[str]:
    """Return the messages of the turns whose changes are currently undone."""
    active: dict[str, ChangeRecord] = {}
    for record in records:
        if record.kind in ("undo", "rewind"):
            active[record.id] = record
        elif record.kind == "redo":
            for undone_id in record.reverted:
                active.pop(undone_id, None)
    return {message for record in active.values() for message in record.reverted}


def find_redoable(records: Sequence[ChangeRecord], sessions: Collection[str]) -> ChangeRecord | None:
    """Return the latest undo in one of these sessions that has not been redone."""
    redone = {undone_id for record in records if record.kind == "redo" for undone_id in record.reverted}
    return next(
        (
            record
            for record in reversed(records)
            if record.kind in ("undo", "rewind") and record.id not in redone and record.session in sessions
        ),
        None,
    )


def plan_undo(records: Iterable[ChangeRecord]) -> list[RestoreTarget]:
    """Plan the undo of these records, given oldest first: each file as it was before the first of them."""
    targets: dict[str, RestoreTarget] = {}
    for record in records:
        for change in record.changes:
            earlier = targets.get(change.path)
            targets[change.path] = RestoreTarget(
                path=change.path,
                expected=change.after,
                target=earlier.target if earlier else change.before,
                between=bool(earlier) and (earlier.between or earlier.expected != change.before),
                unsure=change.unsure or bool(earlier and earlier.unsure),
            )
    return [targets[path] for path in sorted(targets)]


def judge_step(file: RestoreTarget, current: FileState | None, *, blocked: bool = False) -> RestoreStep:
    """Decide what can be done with a file whose present state is `current`."""
    verdict: StepVerdict = "restorable"
    if current == file.target:
        verdict = "same"
    elif blocked:
        verdict = "blocked"
    elif file.target is not None and not file.target.is_stored:
        verdict = "lost"
    elif current != file.expected:
        verdict = "edited"
    elif file.between:
        verdict = "between"
    elif file.unsure:
        verdict = "unsure"
    return RestoreStep(file=file, current=current, verdict=verdict)


_RAW_MARK, _COMPRESSED_MARK = b"r", b"z"
_MIN_COMPRESSED_BYTES = 128
"""Shorter content is stored uncompressed, because a file occupies at least one disk block anyway."""
_SAMPLE_BYTES = 65_536
"""Size of the sample that is compressed to decide whether compressing the rest is worth the time."""
_ID_CHARS = 64


def compute_object_id(data: bytes) -> str:
    """Return the id of some content."""
    return hashlib.sha256(data).hexdigest()


class ObjectStore(Protocol):
    """Storage for file contents."""

    def put(self, data: bytes) -> str:
        """Store content and return its id. The id begins with NOT_STORED_PREFIX if there is no room."""
        ...

    def get(self, object_id: str) -> bytes | None:
        """Return the content with that id; None if it is missing or damaged."""
        ...

    def has(self, object_id: str) -> bool:
        """Whether that content is stored."""
        ...

    def make_durable(self, ids: Iterable[str]) -> None:
        """Make these objects survive a power failure."""
        ...


class DiskObjectStore:
    """Objects as files in a folder of their own, which several processes may use at once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, data: bytes) -> str:
        """Store content. It survives killing the process; after `make_durable`, a power failure. Raises OSError."""
        name = compute_object_id(data)
        path = self.path(name)
        if self.has(name):
            with suppress(OSError):  # a new timestamp protects it from the next cleanup
                os.utime(path)
            return name
        make_folder(path.parent)
        write_atomic(path, _encode_content(data), durable=False)
        return name

    def get(self, object_id: str) -> bytes | None:
        """Return the content; None if the file is missing. Raises other OSErrors."""
        try:
            stored = self.path(object_id).read_bytes()
        except FileNotFoundError:
            return None
        return _decode_content(stored, object_id)

    def has(self, object_id: str) -> bool:
        """Whether the object exists. A file left empty by a power failure does not count."""
        try:
            return self.path(object_id).stat().st_size > 0
        except OSError:
            return False

    def make_durable(self, ids: Iterable[str]) -> None:
        """Sync these objects to disk. Raises OSError."""
        folders: set[Path] = set()
        for name in {id for id in ids if id and not id.startswith(NOT_STORED_PREFIX)}:
            path = self.path(name)
            try:
                fd = os.open(path, os.O_RDWR)  # Windows syncs only files open for writing
            except FileNotFoundError:
                continue
            try:
                os.fsync(fd)
            finally:
                os.close(fd)
            folders |= {path.parent, self.folder}
        for folder in sorted(folders, reverse=True):  # inner folders first
            sync_folder(folder)

    def path(self, object_id: str) -> Path:
        """Return the path of an object, whether or not it exists."""
        return self.folder / object_id[:2] / object_id[2:]

    def all(self) -> Iterator[tuple[str, int, float]]:
        """Yield every object: id, bytes on disk, time of the last `put` (seconds since the epoch)."""
        for folder in sorted(self.folder.glob("??")):
            for entry in os.scandir(folder):
                if len(folder.name + entry.name) == _ID_CHARS:
                    with suppress(FileNotFoundError):  # another process is also making room
                        status = entry.stat()
                        yield folder.name + entry.name, status.st_size, status.st_mtime

    def sweep(self, used_ids: set[str], *, older_than_s: float) -> None:
        """Delete objects whose ids are not in `used_ids`, and temporary files.

        Recent ones are kept, because the log line that names them may not have been written yet.
        """
        limit = time.time() - older_than_s
        for folder in sorted(self.folder.glob("??")):
            for entry in os.scandir(folder):
                with suppress(OSError):  # the next cleanup tries again
                    if folder.name + entry.name not in used_ids and entry.stat().st_mtime < limit:
                        os.unlink(entry.path)  # noqa: PTH108 - an entry of scandir


class MemoryObjectStore:
    """Objects in memory only, up to `max_bytes`; the oldest are dropped first."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._objects: dict[str, bytes] = {}
        self._size = 0

    def put(self, data: bytes) -> str:
        """See ObjectStore."""
        name = compute_object_id(data)
        if name in self._objects:
            self._objects[name] = self._objects.pop(name)
            return name
        packed = _encode_content(data)
        if len(packed) > self._max_bytes:
            return f"{NOT_STORED_PREFIX}{name}"
        self._objects[name] = packed
        self._size += len(packed)
        while self._size > self._max_bytes:
            self._size -= len(self._objects.pop(next(iter(self._objects))))  # dicts keep the order of insertion
        return name

    def get(self, object_id: str) -> bytes | None:
        """See ObjectStore."""
        stored = self._objects.get(object_id)
        return None if stored is None else _decode_content(stored, object_id)

    def has(self, object_id: str) -> bool:
        """See ObjectStore."""
        return object_id in self._objects

    def make_durable(self, ids: Iterable[str]) -> None:
        """Do nothing: memory is never durable."""


def _encode_content(data: bytes) -> bytes:
    """Return the content after one letter for its encoding.

    A sample shows whether compressing is worth the time: images, for instance, are compressed already.
    """
    if len(data) > _MIN_COMPRESSED_BYTES:
        sample = data[:_SAMPLE_BYTES]
        if len(zlib.compress(sample, 1)) < 0.9 * len(sample):
            return _COMPRESSED_MARK + zlib.compress(data, 1)
    return _RAW_MARK + data


def _decode_content(stored: bytes, name: str) -> bytes | None:
    kind, body = stored[:1], stored[1:]
    try:
        data = zlib.decompress(body) if kind == _COMPRESSED_MARK else body
    except zlib.error:
        return None
    return data if compute_object_id(data) == name else None


CHANGE_LOG_VERSION = 1
CHANGE_LOG_SCHEMA = "clio.checkpoints"
_UNSAFE_NAME_CHARS = re.compile(r"[^\w.-]+")


class _LogHeader(Struct, kw_only=True):
    schema: str = CHANGE_LOG_SCHEMA
    version: int = CHANGE_LOG_VERSION
    root: str = ""


class ChangeLog(Protocol):
    """The log of changes to the files of one workspace, oldest first."""

    def read(self) -> list[ChangeRecord]:
        """Return all records that still exist."""
        ...

    def append(self, record: ChangeRecord) -> None:
        """Append the latest record."""
        ...


class _ReadPart(Struct):
    """The part of a log that was read already.

    Attributes:
        inode: of the file, which changes when the log is rewritten.
        end: offset after the last complete line.
        last: the last complete line.
    """

    inode: int = 0
    end: int = 0
    last: bytes = b""
    records: list[ChangeRecord] = []


class DiskChangeLog:
    """A log file to which several processes append. `folder` is the folder of the workspace in the store."""

    def __init__(self, folder: Path, root: Path) -> None:
        self.path = folder / "log.jsonl"
        self._root = str(root)
        self._read_part = _ReadPart()

    def read(self) -> list[ChangeRecord]:
        """Return all records, reading only lines added since the last call. Unreadable lines are skipped.

        Raises NewerDocument, OSError.
        """
        try:
            with open_regular(self.path) as file:
                inode = os.fstat(file.fileno()).st_ino
                read_part = self._read_part = (
                    self._read_part if _is_same_log(file, inode, self._read_part) else _ReadPart(inode)
                )
                file.seek(read_part.end)
                data = file.read()
        except FileNotFoundError:
            self._read_part = _ReadPart()
            return []
        complete = split_lines(data[: data.rfind(b"\n") + 1]).lines
        read_part.records += _decode_records(self.path, complete, from_start=read_part.end == 0)
        read_part.end += data.rfind(b"\n") + 1
        read_part.last = complete[-1] if complete else read_part.last
        # A last line is accepted if only its line end is missing.
        rest = split_lines(data[data.rfind(b"\n") + 1 :]).lines
        return [*read_part.records, *_decode_records(self.path, rest, from_start=read_part.end == 0)]

    def append(self, record: ChangeRecord) -> None:
        """Append a record durably. Raises OSError, TimeoutError."""
        make_folder(self.path.parent)
        with lock_change_log(self.path):
            writer = LineWriter(self.path, msgspec.json.encode(_LogHeader(root=self._root)))
            try:
                writer.add(msgspec.json.encode(record))
                writer.flush()
                writer.sync()
            finally:
                writer.close()


class MemoryChangeLog:
    """A log in memory only."""

    def __init__(self) -> None:
        self._records: list[ChangeRecord] = []

    def read(self) -> list[ChangeRecord]:
        """See ChangeLog."""
        return list(self._records)

    def append(self, record: ChangeRecord) -> None:
        """See ChangeLog."""
        self._records.append(record)


def get_project_folder_in_store(store: Path, root: Path) -> Path:
    """Return the store's folder for one workspace: its name and a hash that distinguishes equal names."""
    name = _UNSAFE_NAME_CHARS.sub("-", root.name)[:40] or "root"
    return store / "projects" / f"{name}-{hashlib.sha256(str(root).encode()).hexdigest()[:16]}"


def lock_change_log(path: Path) -> FileLock:
    """Return the lock of a log, to use as a context manager."""
    return FileLock(path.with_name(path.name + ".lock"))


def read_change_log(path: Path) -> list[ChangeRecord]:
    """Return the records of a log. Raises NewerDocument, OSError."""
    return _decode_records(path, read_lines(path).lines, from_start=True)


def _is_same_log(file: BinaryIO, inode: int, read_part: _ReadPart) -> bool:
    """Whether this is still the file read before, at most grown: its last known line is at the same position."""
    file.seek(max(read_part.end - len(read_part.last) - 1, 0))
    return (
        read_part.end > 0 and inode == read_part.inode and file.read(len(read_part.last) + 1) == read_part.last + b"\n"
    )


def _decode_records(path: Path, lines: Sequence[bytes], *, from_start: bool) -> list[ChangeRecord]:
    records: list[ChangeRecord] = []
    for number, line in enumerate(lines):
        try:
            if from_start and number == 0:
                header = decode_json(line, type=_LogHeader)
                refuse_newer_version(path, header.version, CHANGE_LOG_VERSION)
                continue
            records.append(decode_json(line, type=ChangeRecord))
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue  # the change in this line cannot be undone; all others can
    return records


def rewrite_change_log(path: Path, records: Sequence[ChangeRecord]) -> None:
    """Replace all records of a log. The caller holds its lock. Raises OSError."""
    back_up_damaged_file(path)
    header = next(iter(read_lines(path).lines), b"") or msgspec.json.encode(_LogHeader())
    write_atomic(path, b"".join(line + b"\n" for line in (header, *map(msgspec.json.encode, records))))


class Intent(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A call that may change files, noted before it runs.

    Attributes:
        files: the files it names, in their state before.
        scan_id: id of the stored workspace scan, for a command.
        missing_folders: folders that did not exist.
    """

    turn: TurnRef
    at: float
    files: dict[str, FileState | None] = {}
    scan_id: str = msgspec.field(default="", name="seen")
    missing_folders: tuple[str, ...] = msgspec.field(default=(), name="made")


class Intents(Protocol):
    """Where a process notes the call it is about to run."""

    def begin(self, intent: Intent) -> None:
        """Note a call, replacing the previous one."""
        ...

    def end(self) -> None:
        """Remove the note: the call has ended and is in the log."""
        ...

    def abandoned(self) -> list[Intent]:
        """Return the notes of killed processes; each is returned once."""
        ...

    def close(self) -> None:
        """Stop taking notes."""
        ...


class DiskIntents:
    """One small file per process, beside a lock that the process holds until it exits."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "intents"
        self._path = self._folder / f"{secrets.token_hex(8)}.json"
        self._lock = FileLock(_get_lock_path(self._path))

    def begin(self, intent: Intent) -> None:
        """Write the note. Raises OSError."""
        make_folder(self._folder)
        if not self._lock.is_held:
            self._lock.acquire()
        write_atomic(self._path, msgspec.json.encode(intent), durable=False)

    def end(self) -> None:
        """Remove the note. Raises OSError."""
        self._path.unlink(missing_ok=True)

    def abandoned(self) -> list[Intent]:
        """Return the notes of killed processes, each once. Raises OSError."""
        found: list[Intent] = []
        for path in sorted(self._folder.glob("*.json")):
            lock = FileLock(_get_lock_path(path))
            if path == self._path or find_lock_owner(lock.path) is not None or not lock.acquire():
                continue
            try:
                found.append(decode_json(read_regular(path), type=Intent))
            except (FileNotFoundError, msgspec.DecodeError, UnicodeDecodeError):
                continue  # another process was faster, or a power failure left it incomplete
            finally:
                path.unlink(missing_ok=True)
                lock.release()
        return sorted(found, key=lambda intent: intent.at)

    def close(self) -> None:
        """See Intents."""
        with suppress(OSError):  # the next process finds the note and sees that nothing changed
            self.end()
        self._lock.release()


class NoIntents:
    """For a process that must not write to disk."""

    def begin(self, intent: Intent) -> None:
        """See Intents."""

    def end(self) -> None:
        """See Intents."""

    def abandoned(self) -> list[Intent]:
        """See Intents."""
        return []

    def close(self) -> None:
        """See Intents."""


def _get_lock_path(path: Path) -> Path:
    return path.with_suffix(".lock")
