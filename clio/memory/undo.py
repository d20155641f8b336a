"""What was changed in memory, so that it can be taken back: the newest changes, of every process, in one file."""

import os
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Raw, Struct

from clio.ids import new_id
from clio.storage.atomic import NO_FOLLOW, sync_folder, write_all, write_atomic
from clio.storage.filelock import FileLock
from clio.storage.folders import make_ignored_folder
from clio.storage.jsonl import mend_tail, read_lines

MAX_CHANGES = 200
FOLD_BYTES = 500_000
MOST_BYTES = 8_000_000
"""The file is made shorter when it is longer than the first and has too many changes, or longer than the second."""


NOTHING = Raw()
"""What stands for "it was not there": msgspec knows no `Raw | None`, and leaves out what is this very object."""


class Change(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One change a person could want back.

    id: a UUID version 7, so that the changes of several processes never meet. at: seconds since the epoch.
    what: one line for people. key: what it was about, as the store names it.
    before, after: how it was and became, in the store's own form; NOTHING where it was not, or is no more.
    """

    id: str
    at: float
    store: Literal["ltm", "note", "memory"]
    what: str
    key: str = ""
    before: Raw = NOTHING
    after: Raw = NOTHING


def new_change(
    store: Literal["ltm", "note", "memory"],
    what: str,
    *,
    at: float,
    key: str = "",
    before: object = None,
    after: object = None,
) -> Change:
    """A change with an id of its own, of values that JSON can hold; None is nothing."""
    return Change(id=new_id(), at=at, store=store, what=what, key=key, before=_raw(before), after=_raw(after))


class UndoLog:
    """`memory.undo.jsonl`: the last 200 changes. All methods raise OSError; those that write also TimeoutError.

    A line that does not parse is passed over: what is lost is one undo, never a memory.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def record(self, change: Change) -> None:
        """Add a change, on disk when this returns."""
        make_ignored_folder(self.path.parent, self.path.parent)
        with self._lock():
            fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | NO_FOLLOW, 0o600)
            try:
                end = mend_tail(fd)
                try:
                    write_all(fd, msgspec.json.encode(change) + b"\n")
                    os.fsync(fd)
                except OSError:
                    os.ftruncate(fd, end)  # half a line must not stay for the next one to be glued to
                    raise
                size = os.fstat(fd).st_size
            finally:
                os.close(fd)
            if end == 0:
                sync_folder(self.path.parent)
            if size > FOLD_BYTES:
                self._fold(size)

    def last(self) -> Change | None:
        """The newest change; None where there is none to take back."""
        return next(reversed(self.all()), None)

    def all(self) -> tuple[Change, ...]:
        """The changes, oldest first, at most 200."""
        found = [change for line in read_lines(self.path).lines if (change := _decode(line))]
        return tuple(found[-MAX_CHANGES:])

    def take(self, id: str) -> None:
        """Take a change out, once it was reverted. Does nothing where it is not there."""
        if not self.path.exists():
            return
        with self._lock():
            kept = [change for change in self.all() if change.id != id]
            write_atomic(self.path, b"".join(msgspec.json.encode(change) + b"\n" for change in kept))

    def _fold(self, size: int) -> None:
        lines = read_lines(self.path).lines
        if len(lines) <= 2 * MAX_CHANGES and size <= MOST_BYTES:
            return
        kept, room = [lines[-1]], MOST_BYTES // 2 - len(lines[-1])
        for line in reversed(lines[-MAX_CHANGES:-1]):
            room -= len(line)
            if room < 0:
                break
            kept.append(line)
        write_atomic(self.path, b"".join(line + b"\n" for line in reversed(kept)))

    def _lock(self) -> FileLock:
        return FileLock(self.path.with_name(self.path.name + ".lock"))


def _decode(line: bytes) -> Change | None:
    try:
        return msgspec.json.decode(line, type=Change)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _raw(value: object) -> Raw:
    return NOTHING if value is None else Raw(msgspec.json.encode(value))
