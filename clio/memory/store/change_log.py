"""The change log of a scope, `memory.log.jsonl`, from which undo, archive and former versions are derived.

A change is logged before the file it changes is written. If a process dies between the two, the log holds a change that
was never made; readers compare with what is in the files, so that this neither loses a memory nor shows one twice.
"""

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

import msgspec
from msgspec import Raw, Struct, structs

from clio.errors import StorageError, UserError
from clio.ids import new_id
from clio.memory.store.record import Because, MemoryRecord, ends_memory, is_other_version
from clio.storage.documents import refuse_newer_version
from clio.storage.files import Stamp, get_stamp, make_ignored_folder, open_regular, write_atomic
from clio.storage.jsonl import append_lines, back_up_damaged_file, is_json
from clio.storage.locks import FileLock
from clio.text.json_data import JsonDecoder, decode_json
from clio.text.translation import tr, tr_count

LOG_NAME = "memory.log.jsonl"
UNDO_LOCK_NAME = "memory.undo.lock"
VERSION = 1
MAX_UNDO = 200
"""Number of changes, a group counting as one, that can be undone."""
FOLD_BYTES = 4_000_000
"""The log is folded when it is longer than this and twice as long as after the last fold."""
UNDO_BYTES = 4_000_000
"""Limit for the changes that can be undone; a fold makes older ones of a large group permanent."""

NOTHING = Raw()
"""Marks an absent value: msgspec has no `Raw | None`, and leaves out fields with this very object."""
Store = Literal["ltm", "note", "memory", "session"]
"""What a change is of; "session": limits of one session, which reads from the log whether they were undone."""


class End(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a former record ended.

    Attributes:
        because: the reason, as the store names it.
        at: seconds since the epoch; 0.0 for the time of the change.
        successor: handle or id of what took its place.
        is_version: only a version ended, or the record left a copy of this memory that was imported: it is not in the
            archive.
    """

    because: str
    at: float = 0.0
    successor: str = ""
    is_version: bool = False


class Change(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="line", tag="change"):
    """One change of memory.

    Attributes:
        id: a UUID version 7; the order in which changes were made.
        at: seconds since the epoch.
        what: one line for the user; "" for a line that only records former versions and cannot be undone.
        key: the store's name for the changed object; the scope for typed memories, the id of a session.
        before, after: the records before and after the change, in the store's own form; NOTHING for none.
        ended: how records of `before` ended, by id.
        restored: the present ids of archived records that it restored, by former id.
        group, title: id of the group it belongs to and one line about that; "" for a change of its own.
        part: its position in the group, from 1.
        project: in the user's log, the project directory it was made in.
    """

    id: str
    at: float
    store: Store
    what: str
    key: str = ""
    before: Raw = NOTHING
    after: Raw = NOTHING
    ended: dict[str, End] = {}
    restored: dict[str, str] = {}
    group: str = ""
    title: str = ""
    part: int = 0
    project: str = ""


class UndoMark(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="line", tag="mark"):
    """Changes that can no longer be undone: they were undone at a time, could not be reverted, or never took place."""

    marks: tuple[str, ...]
    at: float
    is_undone: bool = False


class _Head(Struct, frozen=True, kw_only=True):
    """First line of a log. id: new after each fold. folded: size of the log after the last fold, in bytes."""

    log: str = ""
    version: int = 1
    id: str = ""
    folded: int = 0


class _Id(Struct, frozen=True):
    id: str = ""


class _HasId(Protocol):
    @property
    def id(self) -> str: ...


R = TypeVar("R", bound=_HasId)


class Position(Struct, frozen=True, kw_only=True):
    """How far a log was read. file: the id in its first line. stamp: of the file; the same if nothing was written."""

    file: str = ""
    offset: int = 0
    stamp: Stamp | None = None


class NewLines(Struct, frozen=True, kw_only=True):
    """Lines of a log after a position. goes_on: False if the log was replaced, so that these are all of its lines."""

    lines: tuple[Change | UndoMark, ...]
    position: Position
    goes_on: bool


class LoggedChange(Struct, frozen=True, kw_only=True):
    """A change, and when it was undone."""

    change: Change
    undone_at: float | None = None


class _Group:
    """An open group, and how many changes it has so far."""

    def __init__(self, title: str) -> None:
        self.id = new_id()
        self.title = title
        self.parts = 0

    def number(self, change: Change) -> Change:
        """Return the change as the next one of the group."""
        self.parts += 1
        return structs.replace(change, group=self.id, title=self.title, part=self.parts)


_open_group: ContextVar[tuple[object, _Group] | None] = ContextVar("open_group", default=None)
"""The open group of this thread or task; changes of others at the same time are not part of it."""
_lines = JsonDecoder[Change | UndoMark](Change | UndoMark)
_id_lists = msgspec.json.Decoder(list[_Id])  # of lines whose depth was checked
_last_id = ""


def new_change(
    store: Store,
    what: str,
    *,
    at: float,
    key: str = "",
    before: object = None,
    after: object = None,
    ended: Mapping[str, End] | None = None,
    restored: Mapping[str, str] | None = None,
) -> Change:
    """Create a change with a new id. before, after: values that JSON can hold; None for nothing."""
    return Change(
        id=_next_id(),
        at=at,
        store=store,
        what=what,
        key=key,
        before=_encode_raw(before),
        after=_encode_raw(after),
        ended=dict(ended or {}),
        restored=dict(restored or {}),
    )


def _next_id() -> str:
    """Return an id greater than all former ones of this process: changes of two logs are ordered by id."""
    global _last_id
    id = new_id()
    if id <= _last_id:
        value = f"{int(_last_id.replace('-', ''), 16) + 1:032x}"
        id = f"{value[:8]}-{value[8:12]}-{value[12:16]}-{value[16:20]}-{value[20:]}"
    _last_id = id
    return id


class ChangeLog:
    """The log of one scope. Several processes may append to it.

    All methods raise OSError and NewerDocument; those that write also TimeoutError. A line that does not parse is
    skipped.

    Args:
        project: noted in each change; for the user's log, which several projects share.
        owner: whose groups count; logs with one owner share them.
        before_change: called before each change, also one that is not logged.
    """

    def __init__(
        self,
        path: Path,
        *,
        project: str = "",
        owner: object = None,
        clock: Callable[[], float] = time.time,
        before_change: Callable[[], None] | None = None,
    ) -> None:
        self.path = path
        self.project = project
        self._owner = owner or self
        self._clock = clock
        self._before_change = before_change or (lambda: None)

    def append(self, *changes: Change) -> None:
        """Write changes, durable when this returns; as part of the group that this thread has opened, if any."""
        if not changes:
            return
        self._before_change()
        group = self._group()
        named = (structs.replace(change, project=self.project) for change in changes)
        self._write([group.number(one) if group and one.what else one for one in named])

    @contextmanager
    def write_ahead(self, *changes: Change) -> Generator[None]:
        """Write changes, then run the body, which makes them; if it fails they cannot be undone."""
        if not changes:
            self._before_change()  # the body writes memory all the same, as when records of another machine arrive
        self.append(*changes)
        try:
            yield
        except BaseException:
            with suppress(OSError, StorageError):  # the error of the body is raised
                self.mark([change.id for change in changes if change.what])
            raise

    def mark(self, ids: Sequence[str], *, is_undone: bool = False) -> None:
        """Record that changes were undone, or that they can no longer be."""
        if ids:
            self._write([UndoMark(marks=tuple(ids), at=round(self._clock(), 3), is_undone=is_undone)])

    @contextmanager
    def group(self, title: str) -> Generator[None]:
        """Let all changes that this thread makes meanwhile be undone as one, even if it dies before the end.

        A group in an open one belongs to that.
        """
        if self._group() is not None:
            yield
            return
        token = _open_group.set((self._owner, _Group(title)))
        try:
            yield
        finally:
            _open_group.reset(token)

    def read(self, since: Position = Position()) -> NewLines:  # noqa: B008 (a frozen struct)
        """Return the lines after a position. Costs one `stat` call if nothing was written."""
        stamp = get_stamp(self.path)
        if stamp is not None and stamp == since.stamp:
            return NewLines(lines=(), position=since, goes_on=True)
        try:
            file = open_regular(self.path)
        except FileNotFoundError:
            return NewLines(lines=(), position=Position(), goes_on=since == Position())
        with file:
            head_line = file.readline()
            head = self._check_head(head_line)
            goes_on = bool(head.id) and head.id == since.file
            start = since.offset if goes_on else len(head_line) if head.log else 0
            file.seek(start)
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        if (rest := data[len(whole) :]) and is_json(rest):
            whole = data
        lines = tuple(found for line in whole.split(b"\n") if line and (found := _decode_line(line)))
        position = Position(file=head.id, offset=start + len(whole), stamp=stamp if whole == data else None)
        return NewLines(lines=lines, position=position, goes_on=goes_on)

    def read_changes(self) -> list[LoggedChange]:
        """Return all changes and when they were undone."""
        lines = self.read().lines
        _, undone = list_marked(lines)
        return [LoggedChange(change=one, undone_at=undone.get(one.id)) for one in lines if isinstance(one, Change)]

    def undoable(self) -> tuple[Change, ...]:
        """Return the changes that can be undone, oldest first: at most `MAX_UNDO` groups and changes without one."""
        lines = self.read().lines
        marked, _ = list_marked(lines)
        changes = (line for line in lines if isinstance(line, Change))
        return _select_newest([one for one in changes if one.what and one.id not in marked])

    def size(self) -> int:
        """Return the size of the file in bytes."""
        return stamp[2] if (stamp := get_stamp(self.path)) else 0

    def _group(self) -> _Group | None:
        opened = _open_group.get()
        return opened[1] if opened and opened[0] is self._owner else None

    def _write(self, lines: Sequence[Change | UndoMark]) -> None:
        make_ignored_folder(self.path.parent, self.path.parent)
        with FileLock(self.path.with_name(self.path.name + ".lock")):
            head = self._check_appendable()
            encoded = [msgspec.json.encode(line) for line in lines]
            size = append_lines(self.path, encoded if head else [_encode_head(), *encoded])
            if size > FOLD_BYTES and size > 2 * (head.folded if head else 0):
                self._fold()

    def _check_appendable(self) -> _Head | None:
        """Return the first line of the file, None if it is new or empty. Raises NewerDocument."""
        try:
            with open_regular(self.path, None) as file:
                line = file.readline()
        except FileNotFoundError:
            return None
        return self._check_head(line) if line else None

    def _check_head(self, line: bytes) -> _Head:
        try:
            head = decode_json(line, type=_Head)
            refuse_newer_version(self.path, head.version, VERSION)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return _Head()
        return head

    def _fold(self) -> None:
        """Rewrite the log: of changes that can't be undone any more, only what ended is left. The lock is held."""
        back_up_damaged_file(self.path)
        folded = fold_lines(self.read().lines)
        data = b"".join(msgspec.json.encode(line) + b"\n" for line in folded)
        head = _encode_head(folded=len(data))
        write_atomic(self.path, head + b"\n" + data)


def list_marked(lines: Sequence[Change | UndoMark]) -> tuple[set[str], dict[str, float]]:
    """Return the ids of all changes that cannot be undone any more, and when each undone one was undone."""
    marks = [line for line in lines if isinstance(line, UndoMark)]
    undone = {id: mark.at for mark in marks if mark.is_undone for id in mark.marks}
    return {id for mark in marks for id in mark.marks}, undone


def fold_lines(lines: Sequence[Change | UndoMark]) -> list[Change]:
    """Return the lines of a folded log: changes that can be undone, unchanged, and of the others the ended versions."""
    changes = [line for line in lines if isinstance(line, Change)]
    marked, undone = list_marked(lines)
    stays = _select_fitting(_select_newest([one for one in changes if one.what and one.id not in marked]))
    left: set[str] = set()
    folded: list[Change] = []
    for line in changes:
        if line.id in undone:
            reduced = _reduce_to_undone(line, undone[line.id])
        else:
            after = set(list_record_ids(line.after))
            back = after & left
            left -= back | line.restored.keys()
            left |= {id for id, end in line.ended.items() if id not in after and not end.is_version}
            reduced = line if line.id in stays else _reduce_to_ended(line, back)
        if reduced is not None:
            folded.append(reduced)
    return folded


def _select_fitting(changes: Sequence[Change]) -> set[str]:
    """Return the ids of the newest changes that fit into `UNDO_BYTES`, at least the newest one."""
    room, found = UNDO_BYTES, set[str]()
    for change in reversed(changes):
        room -= len(bytes(change.before)) + len(bytes(change.after)) + 200
        if found and room < 0:
            break
        found.add(change.id)
    return found


def _reduce_to_ended(change: Change, back: Iterable[str]) -> Change | None:
    """Return the change reduced to the records that ended and the ids that were restored; None if there are none."""
    restored = {id: id for id in back} | change.restored
    if not change.ended and not restored:
        return None
    ids = list_record_ids(change.before)
    records = decode_json(change.before, type=list[Raw]) if ids else []
    left = [raw for raw, id in zip(records, ids, strict=True) if id in change.ended]
    return _make_permanent(change, _encode_raw(left or None), change.ended, restored)


def _reduce_to_undone(change: Change, at: float) -> Change | None:
    """Return the records that an undone change had made, as versions that ended then; None if there are none."""
    ended = {id: End(because="undone", at=at, is_version=True) for id in list_record_ids(change.after)}
    return _make_permanent(change, change.after, ended, {}) if ended else None


def _make_permanent(change: Change, before: Raw, ended: dict[str, End], restored: dict[str, str]) -> Change:
    """Return the change with nothing but former records and how they ended: it cannot be undone any more."""
    return structs.replace(
        change, what="", before=before, after=NOTHING, ended=ended, restored=restored, group="", title="", part=0
    )


def list_record_ids(raw: Raw) -> list[str]:
    """Return the ids of the records in `before` or `after` of a change; none for a note. 2 µs per record."""
    try:
        return [one.id for one in _id_lists.decode(raw)] if bytes(raw) else []
    except msgspec.DecodeError:
        return []


def decode_records(raw: Raw, type: type[R]) -> list[R]:
    """Return the records in `before` or `after` of a change. Raises UserError if they are of another store."""
    try:
        return decode_json(raw, type=list[type]) if bytes(raw) else []
    except msgspec.DecodeError as error:
        raise UserError(tr("This change cannot be undone ({error}); edit the memory by hand.", error=error)) from error


def decode_sides(change: Change, type: type[R]) -> tuple[list[R], list[R]]:
    """Return the records before and after a change. Raises UserError if they are of another store."""
    return decode_records(change.before, type), decode_records(change.after, type)


def find_records(raw: Raw, type: type[R]) -> list[R]:
    """Return the records in `before` or `after` of a change; none if they are of another store."""
    try:
        return decode_records(raw, type)
    except UserError:
        return []


def read_endings(logged: Iterable[LoggedChange], store: Store, type: type[R]) -> Iterator[tuple[Change, R, End]]:
    """Yield each record of a store that a change ended, and how; undoing a change ends the records it had made."""
    for one in logged:
        change, undone_at = one.change, one.undone_at
        if change.store != store or (undone_at is None and not change.ended):
            continue
        for record in find_records(change.before if undone_at is None else change.after, type):
            end = change.ended.get(record.id) if undone_at is None else End(because="undone", at=undone_at)
            if end is not None:
                yield change, record, end if end.at else structs.replace(end, at=change.at)


def get_reason(end: End) -> Because:
    """Return why a record ended; "archived" for a reason that only a later clio knows."""
    try:
        return msgspec.convert(end.because, Because)
    except msgspec.ValidationError:
        return "archived"


class FormerVersion(Struct, frozen=True, kw_only=True):
    """A former version of a memory. ended: when it ended, in seconds since the epoch; 0.0 if unknown."""

    record: MemoryRecord
    ended: float = 0.0
    because: Because = "archived"

    @property
    def is_final(self) -> bool:
        """Whether the memory itself ended, not only this version of it."""
        return ends_memory(self.because)


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


def make_log_lines(
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


def read_formers(logged: Iterable[LoggedChange], scope: str) -> list[FormerVersion]:
    """Return the former versions in a log, in the order they ended; undoing a change ends the versions it had made."""
    return [
        FormerVersion(record=record, ended=end.at, because=get_reason(end))
        for change, record, end in read_endings(logged, "memory", MemoryRecord)
        if change.key in ("", scope)
    ]


def _get_group_id(change: Change) -> str:
    return change.group or change.id


def _select_newest(changes: Sequence[Change]) -> tuple[Change, ...]:
    """Return the changes of the newest `MAX_UNDO` groups; a change without a group counts as one."""
    units: set[str] = set()
    for place in range(len(changes) - 1, -1, -1):
        units.add(_get_group_id(changes[place]))
        if len(units) > MAX_UNDO:
            return tuple(changes[place + 1 :])
    return tuple(changes)


def _merge_in_order(*logs: Sequence[Change]) -> list[Change]:
    """Return the changes of several logs in the order they were made.

    The lines of one log are in that order. Their ids are not after a clock that was ahead has been corrected, so that a
    change counts as made no later than those after it.
    """
    keyed: list[tuple[str, Change]] = []
    for changes in logs:
        latest = "~"
        for change in reversed(changes):
            latest = min(latest, change.id)
            keyed.append((latest, change))
    keyed.reverse()
    return [change for _, change in sorted(keyed, key=lambda one: one[0])]


def _encode_head(folded: int = 0) -> bytes:
    return msgspec.json.encode(_Head(log="clio.memory", version=VERSION, id=new_id(), folded=folded))


def _decode_line(line: bytes) -> Change | UndoMark | None:
    try:
        return _lines.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _encode_raw(value: object) -> Raw:
    return NOTHING if value is None else Raw(msgspec.json.encode(value))


class ScopeLogs:
    """The logs of a project and of the user, with the changes of both in one order.

    Args:
        folder: the project's `.clio`.
        home: clio's own directory; with `folder` itself, both scopes share one log.
        before_change: called before each change of the project.

    Attributes:
        may_undo: tells which changes `undo` does not pass over.
    """

    def __init__(
        self,
        folder: Path,
        home: Path,
        *,
        clock: Callable[[], float] = time.time,
        before_change: Callable[[], None] | None = None,
    ) -> None:
        self.project = ChangeLog(folder / LOG_NAME, owner=self, clock=clock, before_change=before_change)
        self.user = self.project
        self.may_undo: Callable[[Change], bool] = lambda change: True
        if home != folder:
            self.user = ChangeLog(home / LOG_NAME, project=str(folder.parent), owner=self, clock=clock)

    def group(self, title: str) -> AbstractContextManager[None]:
        """Make all changes of this thread meanwhile one to undo. title: one line on what they are together."""
        return self.project.group(title)

    def undoable(self) -> tuple[Change, ...]:
        """Return what can be undone in this project, oldest first; of the user's memories what was changed here."""
        changes = self.project.undoable()
        if self.user is not self.project:
            of_user = [one for one in self.user.undoable() if one.project == self.user.project]
            changes = _select_newest(_merge_in_order(changes, of_user))
        return tuple(filter(self.may_undo, changes))

    def last(self) -> Change | None:
        """Return the newest change that can be undone; None if there is none."""
        return next(reversed(self.undoable()), None)

    def mark(self, changes: Iterable[Change], *, is_undone: bool) -> None:
        """Record that changes were undone, or could not be reverted: they can't be undone any more."""
        listed = list(changes)
        self.user.mark([change.id for change in listed if change.project], is_undone=is_undone)
        self.project.mark([change.id for change in listed if not change.project], is_undone=is_undone)


SHOWN = 3
"""Number of refused parts of a group that are named one by one."""


def undo_last(
    logs: ScopeLogs, revert: Callable[[Change], object], was_made: Callable[[Change], bool] = lambda change: True
) -> str:
    """Revert the newest change, or the newest group as a whole; return what was done, as a sentence.

    Of a group, what can be reverted is, and the rest is named. A change that was logged but never made, as when the
    disk was full, is given up without being reported as undone.

    Args:
        revert: reverts a change.
        was_made: whether the effect of a change is in the files.

    Raises:
        UserError: if there is no change, or if its records were changed since. That change is given up, so that the one
            before it can be undone next.
    """
    folders = [log.path.parent for log in (logs.project, logs.user) if log.path.parent.is_dir()]
    # Two processes that undo at the same time would undo the same change.
    with FileLock(folders[0] / UNDO_LOCK_NAME) if folders else nullcontext():
        undoable = logs.undoable()
        changes = [change for change in reversed(undoable) if _get_group_id(change) == _get_group_id(undoable[-1])]
        if not changes:
            raise UserError(tr("no memory was changed, so there is nothing to undo"))
        done: list[Change] = []
        refused: dict[str, UserError] = {}
        made = 0
        try:
            for change in changes:
                try:
                    is_made = was_made(change)
                    revert(change)
                    done.append(change)
                    made += is_made
                except UserError as error:
                    refused[change.id] = error
        finally:
            logs.mark(done, is_undone=True)
            logs.mark([change for change in changes if change.id in refused], is_undone=False)
    return _describe_undo(changes, made, list(refused.values()))


def _describe_undo(changes: Sequence[Change], made: int, refused: Sequence[UserError]) -> str:
    """Return what was undone, as a sentence. Raises UserError if nothing could be. made: number of undone changes."""
    is_group = bool(changes[0].group)
    title = (changes[0].title or "several changes") if is_group else changes[0].what
    if not made and not refused:
        return tr(
            "Nothing was undone: memory is as it was before “{what}”. Undo again for the change before it.", what=title
        )
    if not is_group:
        for error in refused:
            raise UserError(tr("{error} Undo again for the change before it.", error=error)) from error
        return tr("Undone: {what}.", what=title)
    sentences = [tr("Undone: {title}, {changes}.", title=title, changes=tr_count(made, "change"))]
    if refused:
        more = tr("; and {count:,} more", count=len(refused) - SHOWN) if len(refused) > SHOWN else ""
        sentences.append(
            tr(
                "Not undone: {changes} ({refused}{more}).",
                changes=tr_count(len(refused), "change"),
                refused="; ".join(str(error).rstrip(".") for error in refused[:SHOWN]),
                more=more,
            )
        )
    if (dropped := changes[-1].part - 1) > 0:
        sentences.append(tr("{changes} can no longer be undone.", changes=tr_count(dropped, "change")))
    if not made:
        raise UserError(
            tr(
                "{title}: nothing is undone. {sentences} Undo again for the change before it.",
                title=title,
                sentences=" ".join(sentences[1:]),
            )
        )
    return " ".join(sentences)
