"""Restore files, each whole or not at all, and finish a restore that a killed process began."""

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from clio.checkpoints.checkpoint_store import Log, Objects
from clio.checkpoints.timeline import Change, FileState, Record
from clio.checkpoints.workspace_scan import read_file_state
from clio.storage.documents import set_aside
from clio.storage.files import make_folder, read_regular, sync_folder, write_atomic
from clio.storage.locks import FileLock, drop_unfinished
from clio.text.json_data import decode_json


class Restored(Struct, frozen=True, kw_only=True):
    """What was done. left: files that were not touched after all, each with the reason as the end of a sentence."""

    record: Record
    left: tuple[tuple[str, str], ...] = ()


def resolve_path(root: Path, path: str) -> Path:
    """The absolute path of one that a `Change` names."""
    return root / path


def is_blocked(root: Path, path: str) -> bool:
    """Whether a link among the folders above leads somewhere else, where nothing may be written."""
    parent = resolve_path(root, path).parent
    return os.path.realpath(parent) != str(parent)


def restore_files(root: Path, record: Record, objects: Objects) -> Restored:
    """Do what the record says, from `before` to `after` of each change; what is so already is left alone.

    Files go first, then folders go, folders come, files come. A file that is neither as before nor as after is left.
    """
    done: list[Change] = []
    left: list[tuple[str, str]] = []
    made: list[str] = []
    goes = [change for change in record.changes if change.after is None]
    comes = [change for change in record.changes if change.after is not None]
    for change in reversed(goes):
        _try(root, change, objects, made, done, left)
    gone = [folder for folder in reversed(record.gone) if _remove_folder(root, folder)]
    for folder in record.made:
        with suppress(OSError):  # an empty folder is no loss
            if not is_blocked(root, folder):
                _make_folders(resolve_path(root, folder), root, made)
    for change in comes:
        _try(root, change, objects, made, done, left)
    done.sort(key=lambda change: change.path)
    whole = msgspec.structs.replace(record, changes=tuple(done), made=tuple(made), gone=tuple(reversed(gone)))
    return Restored(record=whole, left=tuple(left))


def _try(
    root: Path,
    change: Change,
    objects: Objects,
    made: list[str],
    done: list[Change],
    left: list[tuple[str, str]],
) -> None:
    path = resolve_path(root, change.path)
    try:
        current = read_file_state(path, objects, keep=False)
        if is_blocked(root, change.path):
            left.append((change.path, "a link leads its folder elsewhere"))
        elif current == change.after:
            done.append(change)
        elif current != change.before:
            left.append((change.path, "it changed this moment"))
        elif _put(root, path, change.after, objects, made):
            done.append(change)
        else:
            left.append((change.path, "its bytes are no longer kept"))
    except OSError as error:
        left.append((change.path, error.strerror or str(error)))


def _put(root: Path, path: Path, state: FileState | None, objects: Objects, made: list[str]) -> bool:
    """Make a file what it was; False where its bytes are not there."""
    if state is None:
        path.unlink()
        sync_folder(path.parent)
        return True
    data = b"" if state.link is not None else objects.get(state.id)
    if data is None:
        return False
    _make_folders(path.parent, root, made)
    if state.link is not None:
        temp = path.with_name(f"{path.name}.{os.urandom(6).hex()}.tmp")
        temp.symlink_to(state.link)
        temp.replace(path)
        return True
    write_atomic(path, data, state.mode)
    if path.stat().st_mode & 0o7777 != state.mode:  # the umask took its part
        path.chmod(state.mode)
    return True


def _make_folders(folder: Path, root: Path, made: list[str]) -> None:
    missing = [one for one in (folder, *folder.parents) if not one.is_dir()]
    for one in reversed(missing):
        one.mkdir()
        made.append(one.relative_to(root).as_posix() if root in one.parents else str(one))


def _remove_folder(root: Path, folder: str) -> bool:
    """Whether it is gone; one that somebody put something into stays."""
    try:
        resolve_path(root, folder).rmdir()
    except OSError:
        return False
    return True


def missing_folders(root: Path, paths: Sequence[Path]) -> tuple[str, ...]:
    """The folders that writing these files will make, outermost first."""
    missing = {folder for path in paths for folder in path.parents if not folder.exists()}
    return tuple(
        folder.relative_to(root).as_posix() if root in folder.parents else str(folder) for folder in sorted(missing)
    )


_DONE = {"undo": "an undo", "redo": "a redo", "rewind": "a rewind", "turn": "a restoring"}


class Journal:
    """The restorings of one workspace. folder: None keeps no note, since nothing may be written."""

    def __init__(self, folder: Path | None, root: Path, objects: Objects, log: Log) -> None:
        self._path = folder / "restoring.json" if folder else None
        self._root = root
        self._objects = objects
        self._log = log

    def carry_out(self, record: Record) -> Restored:
        """Do what the record says and log what was done. Raises OSError, TimeoutError where another clio is at it."""
        if self._path is None:
            return self._restore(record)
        make_folder(self._path.parent)
        with FileLock(self._path.with_suffix(".lock")):
            self._objects.make_durable(
                state.id for change in record.changes for state in (change.before, change.after) if state is not None
            )
            write_atomic(self._path, msgspec.json.encode(record))
            return self._finished(self._path, record)

    def finish(self) -> list[str]:
        """Finish what was begun and not ended; a sentence for the person about each. Raises OSError."""
        if self._path is None or not self._path.exists():
            return []
        lock = FileLock(self._path.with_suffix(".lock"))
        if not lock.acquire():
            return []  # another clio is at it this moment
        try:
            record = decode_json(read_regular(self._path), type=Record)
            restored = self._finished(self._path, record)
            drop_unfinished([resolve_path(self._root, change.path) for change in record.changes], time.time())
        except FileNotFoundError:
            return []
        except (msgspec.DecodeError, UnicodeDecodeError):
            moved = set_aside(self._path)
            return [f"{str(self._path)!r} cannot be read and was set aside as {moved.name if moved else 'nothing'!r}"]
        finally:
            lock.release()
        count = len(restored.record.changes)
        words = f"{_DONE[record.kind]} that was cut off has been finished: {count} file{'s' * (count != 1)}"
        left = "".join(f"; {path!r} was left as it is: {why}" for path, why in restored.left)
        return [words + left]

    def _finished(self, path: Path, record: Record) -> Restored:
        known = {one.id for one in self._log.read()}
        restored = Restored(record=record) if record.id in known else self._restore(record)
        path.unlink(missing_ok=True)
        sync_folder(path.parent)
        return restored

    def _restore(self, record: Record) -> Restored:
        restored = restore_files(self._root, record, self._objects)
        self._log.append(restored.record)
        return restored
