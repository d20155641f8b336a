"""Checkpoints on disk: file contents under their SHA-256, the log of changes and what it means for each file."""

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

from clio.storage.documents import refuse_newer
from clio.storage.files import make_folder, open_regular, read_regular, sync_folder, write_atomic
from clio.storage.jsonl import LineWriter, keep_damaged_lines, read_lines, split_lines
from clio.storage.locks import FileLock, holder
from clio.text.json_data import decode_json

Kind = Literal["turn", "undo", "redo", "rewind"]
NOT_KEPT = "~"
"""Begins the id of bytes that were not kept; what follows only tells whether the file changed."""


class FileState(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file as it was at one time.

    mode: permission bits. size: in bytes. id: SHA-256 of its bytes, as the object store knows them.
    link: for a symbolic link where it points to, in place of bytes.
    """

    mode: int = 0o644
    size: int = 0
    id: str = ""
    link: str | None = None

    @property
    def kept(self) -> bool:
        """Whether its bytes were kept."""
        return self.link is not None or not self.id.startswith(NOT_KEPT)


class Change(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One file before and after. None where there was none.

    path: relative to the workspace with forward slashes; absolute for a file outside of it.
    unsure: somebody else may have changed it too, since nobody looked in time.
    """

    path: str
    before: FileState | None = None
    after: FileState | None = None
    unsure: bool = False


class TurnRef(Struct, frozen=True, kw_only=True):
    """Which turn something belongs to: its session, and the message it began with."""

    session: str
    message: str


class Record(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of the log: what a call, or a restoring, did to files.

    at: seconds since the epoch. session, message: the turn it belongs to; a restoring has no message.
    of: the messages whose turns were taken back; of a redo the id of the record it takes back.
    made, gone: folders that were made and removed, outermost first.
    scanned: the whole workspace was looked at; what is ignored there, and what was too large, was not.
    """

    id: str
    kind: Kind
    at: float
    session: str
    message: str = ""
    changes: tuple[Change, ...] = ()
    of: tuple[str, ...] = ()
    made: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    scanned: bool = False


Verdict = Literal["put", "same", "edited", "between", "unsure", "lost", "blocked"]
"""put: it can be put back. same: it is so already. edited: changed since. between: changed by somebody between two of
the turns. unsure: nobody knows who changed it. lost: its bytes were not kept. blocked: a link leads the path away."""
REFUSED: frozenset[Verdict] = frozenset(("edited", "between", "unsure"))
"""Verdicts that a person may override."""


class TurnFiles(Struct, frozen=True, kw_only=True):
    """What one turn did to files. at: when the first of it happened."""

    message: str
    session: str
    at: float
    records: tuple[Record, ...]

    @property
    def changes(self) -> tuple[Change, ...]:
        """Each file once, as before and after the whole turn; files that are as before are left out."""
        wanted = plan_undo(self.records)
        return tuple(
            Change(path=one.path, before=one.target, after=one.expected, unsure=one.unsure)
            for one in wanted
            if one.target != one.expected
        )

    @property
    def scanned(self) -> bool:
        """Whether commands were run in it."""
        return any(record.scanned for record in self.records)


class Wanted(Struct, frozen=True, kw_only=True):
    """A file on its way back: how it should be now, and how it is to be.

    between: somebody else changed it between the changes that are taken back. unsure: see `Change`.
    """

    path: str
    expected: FileState | None
    target: FileState | None
    between: bool = False
    unsure: bool = False


class Step(Struct, frozen=True, kw_only=True):
    """What is to be done with one file. current: how it is."""

    wanted: Wanted
    current: FileState | None
    verdict: Verdict


def list_turns(records: Iterable[Record]) -> list[TurnFiles]:
    """The turns that changed files, oldest first."""
    found: dict[str, list[Record]] = {}
    for record in records:
        if record.kind == "turn":
            found.setdefault(record.message, []).append(record)
    turns = [
        TurnFiles(message=message, session=of[0].session, at=of[0].at, records=tuple(of))
        for message, of in found.items()
    ]
    return [turn for turn in turns if turn.changes or any(one.made or one.gone for one in turn.records)]


def list_undone_turns(records: Sequence[Record]) -> set[str]:
    """The messages of the turns whose changes are taken back now."""
    standing: dict[str, Record] = {}
    for record in records:
        if record.kind in ("undo", "rewind"):
            standing[record.id] = record
        elif record.kind == "redo":
            for one in record.of:
                standing.pop(one, None)
    return {message for record in standing.values() for message in record.of}


def find_redoable(records: Sequence[Record], sessions: Collection[str]) -> Record | None:
    """The newest taking back in one of these sessions that was not itself taken back."""
    reversed_ = {one for record in records if record.kind == "redo" for one in record.of}
    return next(
        (
            record
            for record in reversed(records)
            if record.kind in ("undo", "rewind") and record.id not in reversed_ and record.session in sessions
        ),
        None,
    )


def plan_undo(records: Iterable[Record]) -> list[Wanted]:
    """How to take these back: each file as it was before the first of them. They are given oldest first."""
    wanted: dict[str, Wanted] = {}
    for record in records:
        for change in record.changes:
            known = wanted.get(change.path)
            wanted[change.path] = Wanted(
                path=change.path,
                expected=change.after,
                target=known.target if known else change.before,
                between=bool(known) and (known.between or known.expected != change.before),
                unsure=change.unsure or bool(known and known.unsure),
            )
    return [wanted[path] for path in sorted(wanted)]


def judge_step(wanted: Wanted, current: FileState | None, *, blocked: bool = False) -> Step:
    """What can be done with one file that is `current` now."""
    verdict: Verdict = "put"
    if current == wanted.target:
        verdict = "same"
    elif blocked:
        verdict = "blocked"
    elif wanted.target is not None and not wanted.target.kept:
        verdict = "lost"
    elif current != wanted.expected:
        verdict = "edited"
    elif wanted.between:
        verdict = "between"
    elif wanted.unsure:
        verdict = "unsure"
    return Step(wanted=wanted, current=current, verdict=verdict)


_RAW, _PACKED = b"r", b"z"
_PAYS_BYTES = 128
"""Shorter ones are kept as they are: a file takes a block of the disk anyway."""
_PROBE_BYTES = 65_536
_ID_CHARS = 64


def compute_object_id(data: bytes) -> str:
    """The name of these bytes."""
    return hashlib.sha256(data).hexdigest()


class Objects(Protocol):
    """Where bytes are kept."""

    def put(self, data: bytes) -> str:
        """Keep these bytes and return their id; one that begins with NOT_KEPT where there is no room."""
        ...

    def get(self, object_id: str) -> bytes | None:
        """The bytes of that id; None where they are not there, or damaged."""
        ...

    def has(self, object_id: str) -> bool:
        """Whether they are there."""
        ...

    def make_durable(self, ids: Iterable[str]) -> None:
        """Make these survive a power failure."""
        ...


class DiskObjects:
    """Objects as files in a folder of their own; several clios may use it at once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, data: bytes) -> str:
        """Raises OSError. The object survives a killed process; `make_durable` is for the power failing."""
        name = compute_object_id(data)
        path = self.path(name)
        if self.has(name):
            with suppress(OSError):  # young files are spared when room is made
                os.utime(path)
            return name
        make_folder(path.parent)
        write_atomic(path, _packed(data), durable=False)
        return name

    def get(self, object_id: str) -> bytes | None:
        """Raises OSErrors but the one of a missing file."""
        try:
            stored = self.path(object_id).read_bytes()
        except FileNotFoundError:
            return None
        return _unpacked(stored, object_id)

    def has(self, object_id: str) -> bool:
        """A file the power failing left empty does not count."""
        try:
            return self.path(object_id).stat().st_size > 0
        except OSError:
            return False

    def make_durable(self, ids: Iterable[str]) -> None:
        """Raises OSError."""
        folders: set[Path] = set()
        for name in {one for one in ids if one and not one.startswith(NOT_KEPT)}:
            path = self.path(name)
            try:
                fd = os.open(path, os.O_RDWR)
            except FileNotFoundError:
                continue
            try:
                os.fsync(fd)
            finally:
                os.close(fd)
            folders |= {path.parent, self.folder}
        for folder in sorted(folders, reverse=True):
            sync_folder(folder)

    def path(self, object_id: str) -> Path:
        """Where that object is, or would be."""
        return self.folder / object_id[:2] / object_id[2:]

    def all(self) -> Iterator[tuple[str, int, float]]:
        """Every object: id, bytes on disk, when it was last put (seconds since the epoch)."""
        for folder in sorted(self.folder.glob("??")):
            for entry in os.scandir(folder):
                if len(folder.name + entry.name) == _ID_CHARS:
                    with suppress(FileNotFoundError):  # another clio is making room too
                        status = entry.stat()
                        yield folder.name + entry.name, status.st_size, status.st_mtime

    def sweep(self, live: set[str], *, older_than_s: float) -> None:
        """Delete what is not `live`, but nothing young: its line may be about to be written. Leftovers go too."""
        limit = time.time() - older_than_s
        for folder in sorted(self.folder.glob("??")):
            for entry in os.scandir(folder):
                with suppress(OSError):  # it stays until the next time
                    if folder.name + entry.name not in live and entry.stat().st_mtime < limit:
                        os.unlink(entry.path)  # noqa: PTH108 - an entry of scandir


class MemoryObjects:
    """Objects that are never on disk, up to `max_bytes`; beyond that the oldest go."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._kept: dict[str, bytes] = {}
        self._size = 0

    def put(self, data: bytes) -> str:
        """See Objects."""
        name = compute_object_id(data)
        if name in self._kept:
            self._kept[name] = self._kept.pop(name)
            return name
        packed = _packed(data)
        if len(packed) > self._max_bytes:
            return f"{NOT_KEPT}{name}"
        self._kept[name] = packed
        self._size += len(packed)
        while self._size > self._max_bytes:
            self._size -= len(self._kept.pop(next(iter(self._kept))))
        return name

    def get(self, object_id: str) -> bytes | None:
        """See Objects."""
        stored = self._kept.get(object_id)
        return None if stored is None else _unpacked(stored, object_id)

    def has(self, object_id: str) -> bool:
        """See Objects."""
        return object_id in self._kept

    def make_durable(self, ids: Iterable[str]) -> None:
        """Nothing in memory is."""


def _packed(data: bytes) -> bytes:
    """The bytes with a letter that says how they are kept. A probe spares what is packed already, such as pictures."""
    if len(data) > _PAYS_BYTES:
        probe = data[:_PROBE_BYTES]
        if len(zlib.compress(probe, 1)) < 0.9 * len(probe):
            return _PACKED + zlib.compress(data, 1)
    return _RAW + data


def _unpacked(stored: bytes, name: str) -> bytes | None:
    kind, body = stored[:1], stored[1:]
    try:
        data = zlib.decompress(body) if kind == _PACKED else body
    except zlib.error:
        return None
    return data if compute_object_id(data) == name else None


VERSION = 1
SCHEMA = "clio.checkpoints"
_NOT_IN_NAMES = re.compile(r"[^\w.-]+")


class _Head(Struct, kw_only=True):
    schema: str = SCHEMA
    version: int = VERSION
    root: str = ""


class Log(Protocol):
    """What was done to the files of one workspace, oldest first."""

    def read(self) -> list[Record]:
        """Everything that is still known."""
        ...

    def append(self, record: Record) -> None:
        """Add what was done last."""
        ...


class _Known(Struct):
    """What was read of a log: its whole lines up to `end`, the last of which is `last`. inode: of the file."""

    inode: int = 0
    end: int = 0
    last: bytes = b""
    records: list[Record] = []


class DiskLog:
    """A file of lines that several clios append to; `folder` is the workspace's own in the store."""

    def __init__(self, folder: Path, root: Path) -> None:
        self.path = folder / "log.jsonl"
        self._root = str(root)
        self._known = _Known()

    def read(self) -> list[Record]:
        """What was read before is not read again. Lines that cannot be read are passed over.

        Raises NewerDocument, OSError.
        """
        try:
            with open_regular(self.path) as file:
                inode = os.fstat(file.fileno()).st_ino
                known = self._known = self._known if _goes_on(file, inode, self._known) else _Known(inode)
                file.seek(known.end)
                data = file.read()
        except FileNotFoundError:
            self._known = _Known()
            return []
        whole = split_lines(data[: data.rfind(b"\n") + 1]).lines
        known.records += _records(self.path, whole, from_start=known.end == 0)
        known.end += data.rfind(b"\n") + 1
        known.last = whole[-1] if whole else known.last
        rest = split_lines(data[data.rfind(b"\n") + 1 :]).lines  # a last line may lack no more than its line end
        return [*known.records, *_records(self.path, rest, from_start=known.end == 0)]

    def append(self, record: Record) -> None:
        """On disk when this returns. Raises OSError, TimeoutError."""
        make_folder(self.path.parent)
        with lock_log(self.path):
            writer = LineWriter(self.path, msgspec.json.encode(_Head(root=self._root)))
            try:
                writer.add(msgspec.json.encode(record))
                writer.flush()
                writer.sync()
            finally:
                writer.close()


class MemoryLog:
    """A log that is never on disk."""

    def __init__(self) -> None:
        self._records: list[Record] = []

    def read(self) -> list[Record]:
        """See Log."""
        return list(self._records)

    def append(self, record: Record) -> None:
        """See Log."""
        self._records.append(record)


def project_folder(store: Path, root: Path) -> Path:
    """Where the store keeps what belongs to one workspace: its name, and enough of a hash to tell it from others."""
    name = _NOT_IN_NAMES.sub("-", root.name)[:40] or "root"
    return store / "projects" / f"{name}-{hashlib.sha256(str(root).encode()).hexdigest()[:16]}"


def lock_log(path: Path) -> FileLock:
    """The lock of a log, to be entered."""
    return FileLock(path.with_name(path.name + ".lock"))


def read_log(path: Path) -> list[Record]:
    """The records of a log. Raises NewerDocument, OSError."""
    return _records(path, read_lines(path).lines, from_start=True)


def _goes_on(file: BinaryIO, inode: int, known: _Known) -> bool:
    """Whether it is still the file that was read, grown at most: its last known line stands where it stood."""
    file.seek(max(known.end - len(known.last) - 1, 0))
    return known.end > 0 and inode == known.inode and file.read(len(known.last) + 1) == known.last + b"\n"


def _records(path: Path, lines: Sequence[bytes], *, from_start: bool) -> list[Record]:
    records: list[Record] = []
    for number, line in enumerate(lines):
        try:
            if from_start and number == 0:
                head = decode_json(line, type=_Head)
                refuse_newer(path, head.version, VERSION)
                continue
            records.append(decode_json(line, type=Record))
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue  # what this line was about cannot be taken back; all else can
    return records


def rewrite_log(path: Path, records: Sequence[Record]) -> None:
    """Replace the records of a log, whose lock is held. Raises OSError."""
    keep_damaged_lines(path)
    head = next(iter(read_lines(path).lines), b"") or msgspec.json.encode(_Head())
    write_atomic(path, b"".join(line + b"\n" for line in (head, *map(msgspec.json.encode, records))))


class Intent(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A call that may change files, before it ran.

    files: those it names, as they were. seen: the id of what was seen of the whole workspace, for a command.
    made: folders that were not there.
    """

    turn: TurnRef
    at: float
    files: dict[str, FileState | None] = {}
    seen: str = ""
    made: tuple[str, ...] = ()


class Intents(Protocol):
    """Where one clio notes what it is about to do."""

    def begin(self, intent: Intent) -> None:
        """Note it; it replaces the one before."""
        ...

    def end(self) -> None:
        """It was done and is in the log."""
        ...

    def abandoned(self) -> list[Intent]:
        """Those of clios that were killed; each is handed out once."""
        ...

    def close(self) -> None:
        """Nothing more will be noted."""
        ...


class DiskIntents:
    """One small file for each clio, beside a lock that it holds while it lives."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "intents"
        self._path = self._folder / f"{secrets.token_hex(8)}.json"
        self._lock = FileLock(_lock_of(self._path))

    def begin(self, intent: Intent) -> None:
        """Raises OSError."""
        make_folder(self._folder)
        if not self._lock.held:
            self._lock.acquire()
        write_atomic(self._path, msgspec.json.encode(intent), durable=False)

    def end(self) -> None:
        """Raises OSError."""
        self._path.unlink(missing_ok=True)

    def abandoned(self) -> list[Intent]:
        """Raises OSError."""
        found: list[Intent] = []
        for path in sorted(self._folder.glob("*.json")):
            lock = FileLock(_lock_of(path))
            if path == self._path or holder(lock.path) is not None or not lock.acquire():
                continue
            try:
                found.append(decode_json(read_regular(path), type=Intent))
            except (FileNotFoundError, msgspec.DecodeError, UnicodeDecodeError):
                continue  # another clio was faster, or the power failed in the middle
            finally:
                path.unlink(missing_ok=True)
                lock.release()
        return sorted(found, key=lambda intent: intent.at)

    def close(self) -> None:
        """See Intents."""
        with suppress(OSError):  # the next clio finds it, and nothing changed
            self.end()
        self._lock.release()


class NoIntents:
    """For a clio that writes nothing."""

    def begin(self, intent: Intent) -> None:
        """See Intents."""

    def end(self) -> None:
        """See Intents."""

    def abandoned(self) -> list[Intent]:
        """See Intents."""
        return []

    def close(self) -> None:
        """See Intents."""


def _lock_of(path: Path) -> Path:
    return path.with_suffix(".lock")
