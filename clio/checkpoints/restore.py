"""Puts files back, each of them whole or not at all, and finishes what a killed clio began."""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from clio.checkpoints.objects import Objects
from clio.checkpoints.scan import state_of
from clio.checkpoints.states import Change, FileState, Record
from clio.storage.files import sync_folder, write_atomic


class Restored(Struct, frozen=True, kw_only=True):
    """What was done. left: files that were not touched after all, each with the reason as the end of a sentence."""

    record: Record
    left: tuple[tuple[str, str], ...] = ()


def path_of(root: Path, path: str) -> Path:
    """The absolute path of one that a `Change` names."""
    return root / path


def is_blocked(root: Path, path: str) -> bool:
    """Whether a link among the folders above leads somewhere else, where nothing may be written."""
    parent = path_of(root, path).parent
    return os.path.realpath(parent) != str(parent)


def restore(root: Path, record: Record, objects: Objects) -> Restored:
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
                _make_folders(path_of(root, folder), root, made)
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
    path = path_of(root, change.path)
    try:
        current = state_of(path, objects, keep=False)
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
        path_of(root, folder).rmdir()
    except OSError:
        return False
    return True


def missing_folders(root: Path, paths: Sequence[Path]) -> tuple[str, ...]:
    """The folders that writing these files will make, outermost first."""
    missing = {folder for path in paths for folder in path.parents if not folder.exists()}
    return tuple(
        folder.relative_to(root).as_posix() if root in folder.parents else str(folder) for folder in sorted(missing)
    )
