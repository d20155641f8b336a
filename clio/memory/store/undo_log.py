"""What was changed in memory, so that it can be undone: the newest changes, of every process, in one file.

Changes that belong together, as those of one consolidation, carry the id of their group: they count as one, and are
undone together.
"""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Literal, TypeVar

import msgspec
from msgspec import Raw, Struct, structs

from clio.errors import UserError
from clio.ids import new_id
from clio.storage.documents import set_file_aside
from clio.storage.files import make_ignored_folder, write_atomic
from clio.storage.jsonl import append_lines, back_up_damaged_file, read_last_lines
from clio.storage.locks import FileLock
from clio.text.formatting import format_count
from clio.text.json_data import decode_json

MAX_CHANGES = 200
FOLD_BYTES = 500_000
MOST_BYTES = 8_000_000
"""The file is made shorter when it is longer than the first and has too many changes, or longer than the second."""
_READ_BYTES = 2 * MOST_BYTES
"""No more than this is read, from the end: what a damaged file has before it is no change."""


NOTHING = Raw()
"""What stands for "it was not there": msgspec knows no `Raw | None`, and leaves out what is this very object."""


class Change(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One change a person could want back.

    id: a UUID version 7, so that the changes of several processes never meet. at: seconds since the epoch.
    what: one line for people. key: what it was about, as the store names it.
    before, after: how it was and became, in the store's own form; NOTHING where it was not, or is no more.
    group, title: id of the group it belongs to and what that was, one line for people; empty for a change of its own.
    part: its place in the group, from 1.
    """

    id: str
    at: float
    store: Literal["ltm", "note", "memory"]
    what: str
    key: str = ""
    before: Raw = NOTHING
    after: Raw = NOTHING
    group: str = ""
    title: str = ""
    part: int = 0


class _Member(Struct, frozen=True):
    """What of a line tells which others it belongs to."""

    id: str = ""
    group: str = ""


class _Group:
    """A group that is open, and how many changes it has so far."""

    def __init__(self, title: str) -> None:
        self.id = new_id()
        self.title = title
        self.parts = 0

    def take_in(self, change: Change) -> Change:
        """The change as the next of the group."""
        self.parts += 1
        return structs.replace(change, group=self.id, title=self.title, part=self.parts)


T = TypeVar("T", Change, _Member)
_open_group: ContextVar[tuple["UndoLog", _Group] | None] = ContextVar("open_group", default=None)
"""Of this thread or task: what others change meanwhile is theirs."""


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
    """`memory.undo.jsonl`: the last 200 changes, a group of them counting as one.

    All methods raise OSError; those that write also TimeoutError.

    A line that does not parse is passed over: what is lost is one undo, never a memory.
    """

    def __init__(self, path: Path, before_change: Callable[[], None] | None = None) -> None:
        """before_change: called before each change is noted."""
        self.path = path
        self._before_change = before_change

    def record(self, change: Change) -> None:
        """Add a change, on disk when this returns; to the open group, where this thread has opened one."""
        group = self._group()
        change = group.take_in(change) if group else change
        if self._before_change is not None:
            self._before_change()
        make_ignored_folder(self.path.parent, self.path.parent)
        with self._lock():
            size = append_lines(self.path, (msgspec.json.encode(change),))
            if size > (MOST_BYTES if group else FOLD_BYTES):
                self._fold(size)

    @contextmanager
    def group(self, title: str) -> Generator[None]:
        """What this thread changes meanwhile is one change to whoever takes it back, also if it dies on the way.

        title: one line on what they are in all.
        """
        token = _open_group.set((self, _Group(title)))
        try:
            yield
        finally:
            _open_group.reset(token)

    def last(self) -> Change | None:
        """The newest change; None where there is none to take back."""
        return next(reversed(self.all()), None)

    def last_whole(self) -> tuple[Change, ...]:
        """The newest change with all of its group, newest first; empty where there is none to take back."""
        changes = self.all()
        if not changes:
            return ()
        last = changes[-1]
        return tuple(change for change in reversed(changes) if _unit(change) == _unit(last))

    def all(self) -> tuple[Change, ...]:
        """The changes, oldest first, at most 200 groups and changes without one."""
        found = [change for line in read_last_lines(self.path, _READ_BYTES) if (change := _decode(line))]
        return tuple(_newest(found, MAX_CHANGES))

    def take(self, id: str) -> None:
        """Take a change out, once it was reverted. Does nothing where it is not there."""
        self.take_all((id,))

    def take_all(self, ids: Iterable[str]) -> None:
        """The same for several at once."""
        gone = frozenset(ids)
        if not gone or not self.path.exists():
            return
        with self._lock():
            back_up_damaged_file(self.path)
            kept = [change for change in self.all() if change.id not in gone]
            write_atomic(self.path, b"".join(msgspec.json.encode(change) + b"\n" for change in kept))

    def _group(self) -> _Group | None:
        opened = _open_group.get()
        return opened[1] if opened and opened[0] is self else None

    def _fold(self, size: int) -> None:
        lines = read_last_lines(self.path, _READ_BYTES)
        members = [_member(line) for line in lines]
        if len(set(map(_unit, members))) <= 2 * MAX_CHANGES and size <= MOST_BYTES:
            return
        newest = len(_newest(members, MAX_CHANGES))
        kept, room = [lines[-1]], MOST_BYTES // 2 - len(lines[-1])
        for line in reversed(lines[-newest:-1] if newest else ()):
            room -= len(line)
            if room < 0:
                break
            kept.append(line)
        if size > _READ_BYTES:  # never written by clio, so it is not clio's to throw away
            set_file_aside(self.path, keep=True)
        else:
            back_up_damaged_file(self.path)
        write_atomic(self.path, b"".join(line + b"\n" for line in reversed(kept)))

    def _lock(self) -> FileLock:
        return FileLock(self.path.with_name(self.path.name + ".lock"))


def _unit(change: Change | _Member) -> str:
    """What counts as one: a group, or a change without one."""
    return change.group or change.id


def _newest(changes: Sequence[T], most: int) -> Sequence[T]:
    """The newest of these that make up so many groups and changes without one. A group that was begun stays whole."""
    units: set[str] = set()
    for place in range(len(changes) - 1, -1, -1):
        units.add(_unit(changes[place]))
        if len(units) > most:
            return changes[place + 1 :]
    return changes


def _member(line: bytes) -> _Member:
    try:
        return decode_json(line, type=_Member)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _Member()


def _decode(line: bytes) -> Change | None:
    try:
        return decode_json(line, type=Change)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _raw(value: object) -> Raw:
    return NOTHING if value is None else Raw(msgspec.json.encode(value))


Revert = Mapping[str, Callable[[Change], object]]
SHOWN = 3
"""Of the parts that could not be taken back, so many are told one by one."""


def undo_last(log: UndoLog, revert: Revert) -> str:
    """Revert the newest change, or the newest group whole, and take it out of the log; what was done, in a sentence.

    revert: by store, what takes a change back. Raises UserError where there is none, or where what it touched was
    changed since: that change is given up, so that the one before it can be undone next. Of a group what can be taken
    back is, and the rest is told.
    """
    changes = log.last_whole()
    if not changes:
        raise UserError("nothing of what is remembered was changed, so there is nothing to undo")
    if changes[0].group:
        return _undo_group(log, revert, changes)
    [change] = changes
    try:
        revert[change.store](change)
    except UserError as error:
        log.take(change.id)
        raise UserError(f"{error} Undo again for the change before it.") from error
    log.take(change.id)
    return f"Undone: {change.what}."


def _undo_group(log: UndoLog, revert: Revert, changes: Sequence[Change]) -> str:
    """Take a group back from its newest change to its oldest. Raises UserError where no part of it can be."""
    title, lost = changes[0].title or "several changes", changes[-1].part - 1
    done: list[str] = []
    refused: list[str] = []
    try:
        for change in changes:
            try:
                revert[change.store](change)
            except UserError as error:
                refused.append(str(error).rstrip("."))
            done.append(change.id)
    finally:
        log.take_all(done)
    back = len(changes) - len(refused)
    said = [f"Undone: {title}, {format_count(back, 'change')} taken back."]
    if refused:
        more = f"; and {len(refused) - SHOWN:,} more" if len(refused) > SHOWN else ""
        said.append(f"{format_count(len(refused), 'change').capitalize()} not: {'; '.join(refused[:SHOWN])}{more}.")
    if lost > 0:
        said.append(f"{format_count(lost, 'change').capitalize()} of it had left the log before.")
    if not back:
        raise UserError(f"nothing of {title} is undone. {' '.join(said[1:])} Undo again for the change before it.")
    return " ".join(said)
