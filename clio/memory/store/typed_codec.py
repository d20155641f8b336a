"""The files of typed memories: `memories.json`, a snapshot, and a journal of the changes since.

A change is one line of the journal. It is written under the lock, after the lines of other processes were read, and
fsynced. A long journal is folded: its changes are written into a new snapshot, and a new journal begins. Both have the
same generation, a number that grows with each fold: if a process dies between the two writes, the old journal has a
lower generation than the snapshot and is ignored. Former versions are read from the change log.
"""

import errno
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct

from clio.errors import CorruptDocument, UserError
from clio.memory.store.change_log import Change, ChangeLog, End, Logged, new_change
from clio.memory.store.memory_index import MemoryIndex
from clio.memory.store.record import MemoryRecord, is_other_version
from clio.storage.documents import Document, DocumentFormat, encode_document, load_document, refuse_newer_version
from clio.storage.files import NO_FOLLOW, make_ignored_folder, open_regular, read_regular, write_all, write_atomic
from clio.storage.jsonl import copy_damaged, find_damage_copy, is_truncated_line, terminate_last_line
from clio.storage.locks import FileLock
from clio.text.json_data import decode_json
from clio.text.translation import tr

if TYPE_CHECKING:
    pass


Because = Literal[
    "archived",
    "forgotten",
    "faded",
    "old",
    "uncertain",
    "joined",
    "outweighed",
    "dropped",
    "edited",
    "merged",
    "reinforced",
    "promoted",
    "undone",
]
"""Why a version of a memory ended.

The memory itself ended: `archived` by an early clio that recorded no reason, `forgotten` by the user, `faded` in
compaction, `old` or `uncertain` when pruned, `joined` with one of the same meaning, `outweighed` as a variant by a more
certain one, `dropped` because four more certain statements contradict it. Only its text changed: `edited` by the user,
`merged` with another text of the same meaning, `reinforced` as a preference, `promoted` from a variant to the main
statement, `undone` as a change.
"""
LEFT: frozenset[str] = frozenset(
    ("archived", "forgotten", "faded", "old", "uncertain", "joined", "outweighed", "dropped")
)


class FormerVersion(Struct, frozen=True, kw_only=True):
    """A former version of a memory. ended: when it ended, in seconds since the epoch; 0.0 if unknown."""

    record: MemoryRecord
    ended: float = 0.0
    because: Because = "archived"

    @property
    def left(self) -> bool:
        """Whether the memory itself ended, not only this version of it."""
        return self.because in LEFT


class _End(Struct, frozen=True, kw_only=True):
    ended: float = 0.0
    because: Because = "archived"


def make_former(before: MemoryRecord, after: MemoryRecord, now: float, because: Because) -> tuple[FormerVersion, ...]:
    """Return the version that this change ends; () if the memory says the same as before."""
    return (FormerVersion(record=before, ended=now, because=because),) if is_other_version(before, after) else ()


def encode_former(former: FormerVersion) -> bytes:
    """Return a line of an archive, without its line end: the record's fields, and how it ended."""
    fields: dict[str, Any] = msgspec.to_builtins(former.record)
    return msgspec.json.encode(fields | {"ended": former.ended, "because": former.because})


def decode_former(line: bytes) -> FormerVersion:
    """Return the former version in a line of an archive. Raises msgspec.DecodeError."""
    end = decode_json(line, type=_End)
    return FormerVersion(record=decode_json(line, type=MemoryRecord), ended=end.ended, because=end.because)


def logged_changes(
    what: str,
    *,
    at: float,
    scope: str,
    before: Sequence[MemoryRecord] = (),
    after: Sequence[MemoryRecord] = (),
    formers: Iterable[FormerVersion] = (),
) -> list[Change]:
    """Return the log lines for a change of typed memories: one that can be undone, one for each other ended version.

    before, after: the records that the change replaces; if both are empty, there is no line to undo.
    """
    known = {record.id: record for record in before}
    mine = {one.record.id: one for one in formers if known.get(one.record.id) == one.record}
    found = [
        new_change(
            "memory",
            "",
            at=one.ended,
            key=scope,
            before=[one.record],
            ended={one.record.id: End(because=one.because)},
        )
        for one in formers
        if mine.get(one.record.id) is not one
    ]
    if before or after:
        ended = {id: End(because=one.because, at=one.ended) for id, one in mine.items()}
        found.append(
            new_change(
                "memory", what, at=at, key=scope, before=list(before) or None, after=list(after) or None, ended=ended
            )
        )
    return found


def decode_records(raw: msgspec.Raw) -> tuple[MemoryRecord, ...]:
    """Return the records in `before` or `after` of a change. Raises UserError if they cannot be decoded."""
    try:
        return decode_json(raw, type=tuple[MemoryRecord, ...]) if bytes(raw) else ()
    except msgspec.DecodeError as error:
        raise UserError(
            tr("This change cannot be undone ({error}); correct the memory by hand.", error=error)
        ) from error


def read_formers(logged: Iterable[Logged], scope: str) -> list[FormerVersion]:
    """Return the former versions in a log, in the order they ended; undoing a change ends the versions it had made."""
    found: list[FormerVersion] = []
    for one in logged:
        change = one.change
        if change.store != "memory" or change.key not in ("", scope):
            continue
        side = change.before if one.undone_at is None else change.after
        if one.undone_at is None and not change.ended:
            continue
        try:
            records = decode_records(side)
        except UserError:
            continue
        for record in records:
            if one.undone_at is not None:
                found.append(FormerVersion(record=record, ended=one.undone_at, because="undone"))
            elif end := change.ended.get(record.id):
                found.append(FormerVersion(record=record, ended=end.at or change.at, because=_because(end)))
    return found


def _because(end: End) -> Because:
    try:
        return msgspec.convert(end.because, Because)
    except msgspec.ValidationError:  # of a later clio
        return "archived"


VERSION = 1
FOLD_BYTES = 1_000_000
"""The journal is folded when it is longer than this and than the snapshot."""


class Snapshot(Struct, frozen=True, kw_only=True):
    """All memories at one moment. generation: of the journal with the changes after it."""

    generation: int = 0
    records: tuple[MemoryRecord, ...] = ()


class JournalLine(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One change: new or changed records, ids of removed ones, ids of records used at the time `at`."""

    put: tuple[MemoryRecord, ...] = ()
    drop: tuple[str, ...] = ()
    used: tuple[str, ...] = ()
    at: float = 0.0


class _Head(Struct, frozen=True, kw_only=True):
    """The journal's first line."""

    journal_of: str
    version: int
    generation: int


FORMAT = DocumentFormat(schema="clio.memories", version=VERSION, type=Snapshot)


class MemoryFiles:
    """Reads `<name>.json` and `<name>.journal.jsonl` into an index, and writes changes to the journal.

    Attributes:
        log: the change log, which contains former versions.
        archive: file with the former versions of early clio versions; never written.
        damaged: number of lines of journal and archive that could not be decoded.
    """

    def __init__(self, path: Path, index: MemoryIndex, log: ChangeLog, scope: str = "") -> None:
        self.path = path
        self.journal = path.with_suffix(".journal.jsonl")
        self.archive = path.with_suffix(".archive.jsonl")
        self.log = log
        self._scope = scope
        self.damaged = 0
        self._index = index
        self._unknown: dict[str, msgspec.Raw] = {}
        self._generation: int | None = None  # None without a snapshot: then the journal states it
        self._read_bytes = 0
        self._seen: tuple[int, int] | None = None  # device and inode of the journal
        self._snapshot_stamp: tuple[int, int, int] | None = None
        self._journal_damaged = False
        self._damage_error: CorruptDocument | None = None

    def lock(self) -> FileLock:
        """Return the lock for changes, a context manager. Creates the folder. Raises OSError, TimeoutError."""
        make_ignored_folder(self.path.parent, self.path.parent)
        return FileLock(self.path.with_name(self.path.name + ".lock"))

    def catch_up(self) -> None:
        """Update the index from the files; costs two `stat` calls if nothing was written.

        Raises CorruptDocument after a damaged snapshot was set aside (its journal is read nevertheless), or after a
        damaged journal was copied (its valid lines are read, and the next change writes them to the snapshot);
        NewerDocument; OSError.
        """
        self._read_changes()
        error, self._damage_error = self._damage_error, None
        if error is not None:
            raise error

    def _read_changes(self) -> None:
        for _ in range(100):
            if self._is_current():
                return
            if self._stamp() != self._snapshot_stamp or not self._goes_on():
                self._read_snapshot()
            if self._read_journal():
                return
        raise OSError(f"{str(self.path)!r} changes faster than it can be read")

    def append(self, line: JournalLine, *, durable: bool = True) -> None:
        """Write one change and apply it to the index. The lock must be held and the index be up to date.

        durable: False for data that a power failure may lose, such as the time of a use.
        Raises OSError; then nothing has changed.
        """
        if self._journal_damaged:
            self._refuse_uncopied_damage()
            self.fold()
        fd = self._open_journal()
        try:
            end = os.fstat(fd).st_size
            try:
                write_all(fd, msgspec.json.encode(line) + b"\n", self.journal)
                if durable:
                    os.fsync(fd)
            except OSError:
                os.ftruncate(fd, end)  # half a line must not stay for the next one to be glued to
                raise
            self._read_bytes = os.fstat(fd).st_size
        finally:
            os.close(fd)
        self._carry_out(line)
        if self._read_bytes > FOLD_BYTES and self._read_bytes > self._snapshot_size():
            self.fold()

    def fold(self) -> None:
        """Write a new snapshot and begin a new journal. The lock must be held and the index be up to date."""
        if self._journal_damaged:
            self._refuse_uncopied_damage()
        generation = (self._generation or 0) + 1
        value = Snapshot(generation=generation, records=tuple(self._index.records.values()))
        write_atomic(self.path, encode_document(Document(value=value, unknown=self._unknown), FORMAT))
        self._generation = generation
        self._snapshot_stamp = self._stamp()
        write_atomic(self.journal, self._head())
        self._journal_damaged = False
        self._remember_journal()

    def formers(self) -> tuple[FormerVersion, ...]:
        """Former versions, oldest first; lines that do not parse are passed over."""
        try:
            lines = read_regular(self.archive).splitlines()
        except FileNotFoundError:
            lines = []
        found: list[FormerVersion] = []
        for line in lines:
            try:
                found.append(decode_former(line))
            except (msgspec.DecodeError, UnicodeDecodeError):
                self.damaged += 1
        return (*found, *read_formers(self.log.read_changes(), self._scope))

    def _is_current(self) -> bool:
        return self._snapshot_stamp == self._stamp() and self._journal_state() == (self._seen, self._read_bytes)

    def _goes_on(self) -> bool:
        """Whether the journal is the one read so far, only longer."""
        seen, size = self._journal_state()
        return self._snapshot_stamp is not None and seen == self._seen and size >= self._read_bytes

    def _read_snapshot(self) -> None:
        self._index.clear()
        self._journal_damaged = False
        self._read_bytes, self._seen, self._generation, self._unknown = 0, None, None, {}
        self._snapshot_stamp = self._stamp()
        try:
            document = load_document(self.path, FORMAT)
        except OSError:
            self._snapshot_stamp = None  # it is to be read before anything is written
            raise
        except CorruptDocument:
            self._snapshot_stamp = self._stamp()
            self._read_journal()  # its lines are all that can still be read
            raise
        if document is not None:
            self._unknown = document.unknown
            self._generation = document.value.generation
            for record in document.value.records:
                self._index.put(record)

    def _read_journal(self) -> bool:
        """Apply the lines not read yet; return False if the snapshot was replaced meanwhile: read everything again."""
        try:
            opened = open_regular(self.journal, follow=False)
        except FileNotFoundError:
            self._seen, self._read_bytes = None, 0
            return self._stamp() == self._snapshot_stamp
        with opened as file:
            status = os.fstat(file.fileno())
            start = self._read_bytes
            file.seek(start)
            data = file.read()
        damaged_before = self.damaged
        whole = data[: data.rfind(b"\n") + 1]
        rest = data[len(whole) :]
        # The first line is written with the file, so one without it was damaged.
        if (start == 0 and not whole) or (rest and not is_truncated_line(rest)):
            self.damaged += 1
        lines = whole.split(b"\n")[:-1]
        if start == 0 and lines:
            generation = self._decode_head(lines.pop(0)).generation
            if self._generation is None:
                self._generation = generation
            elif generation < self._generation:
                lines = []  # a process folded the journal and died before it could begin the next one
        for line in lines:
            try:
                self._carry_out(decode_json(line, type=JournalLine))
            except (msgspec.DecodeError, UnicodeDecodeError):
                self.damaged += bool(line)
        if self.damaged > damaged_before:
            self._note_damage(self.damaged - damaged_before)
        self._seen = (status.st_dev, status.st_ino)
        self._read_bytes = start + len(data if self._journal_damaged else whole)
        if self._stamp() == self._snapshot_stamp:
            return True
        self._snapshot_stamp = None  # folded between our two reads
        return False

    def _note_damage(self, count: int) -> None:
        """Copy the damaged journal, and let the next `catch_up` raise CorruptDocument, once per damage."""
        self._journal_damaged = True
        data = read_regular(self.journal)
        if find_damage_copy(self.journal, data) is not None:
            return
        copy = copy_damaged(self.journal, data)
        fate = f"a copy was saved as {copy.name!r}" if copy else "no copy of it could be saved"
        lines = "a line" if count == 1 else f"{count} lines"
        self._damage_error = CorruptDocument(
            tr(
                "{journal!r} is damaged: {lines} of it cannot be read; {fate}, and what can be read is used.",
                journal=str(self.journal),
                lines=lines,
                fate=fate,
            ),
            path=self.journal,
            moved_to=copy,
        )

    def _refuse_uncopied_damage(self) -> None:
        """Raise OSError if a damaged journal is to be overwritten and no copy of it can be made."""
        if copy_damaged(self.journal, read_regular(self.journal)) is None:
            raise OSError(errno.EIO, "it is damaged, and no copy of it could be saved", str(self.journal))

    def _decode_head(self, line: bytes) -> _Head:
        try:
            head = decode_json(line, type=_Head)
            refuse_newer_version(self.journal, head.version, VERSION)
        except msgspec.DecodeError:
            self.damaged += 1
            return _Head(journal_of=FORMAT.schema, version=VERSION, generation=self._generation or 0)
        return head

    def _carry_out(self, line: JournalLine) -> None:
        for record in line.put:
            self._index.put(record)
        for id in line.drop:
            self._index.drop(id)
        for id in line.used:
            record = self._index.records.get(id)
            if record is not None:
                self._index.put(record.accessed_at(line.at))

    def _open_journal(self) -> int:
        """Open the journal for appending; create it if there is none of this generation."""
        stale = self._seen is None or self._is_of_an_older_generation()
        if stale:
            write_atomic(self.journal, self._head())
        fd = os.open(self.journal, os.O_RDWR | os.O_APPEND | NO_FOLLOW)
        try:
            terminate_last_line(fd, self.journal)
        except BaseException:
            os.close(fd)
            raise
        if stale:
            self._remember_journal()
        return fd

    def _is_of_an_older_generation(self) -> bool:
        with open_regular(self.journal) as file:
            first = file.readline()
        try:
            return decode_json(first, type=_Head).generation < (self._generation or 0)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return False

    def _remember_journal(self) -> None:
        self._seen, self._read_bytes = self._journal_state()

    def _head(self) -> bytes:
        head = _Head(journal_of=FORMAT.schema, version=VERSION, generation=self._generation or 0)
        return msgspec.json.encode(head) + b"\n"

    def _stamp(self) -> tuple[int, int, int]:
        try:
            status = self.path.stat()
        except FileNotFoundError:
            return (0, 0, 0)
        return (status.st_ino, status.st_size, status.st_mtime_ns)

    def size(self) -> int:
        """Return the size of snapshot and journal in bytes, as last read."""
        return self._snapshot_size() + self._read_bytes

    def _snapshot_size(self) -> int:
        return self._snapshot_stamp[1] if self._snapshot_stamp else 0

    def _journal_state(self) -> tuple[tuple[int, int] | None, int]:
        try:
            status = self.journal.stat()
        except FileNotFoundError:
            return None, 0
        return (status.st_dev, status.st_ino), status.st_size
