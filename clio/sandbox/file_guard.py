"""Remember files that the sandbox cannot protect, and restore them after a command."""

import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from clio.storage.files import read_regular
from clio.storage.locks import error_cause

_MAX_BYTES = 1_000_000
"""Larger files are only compared, not restored."""
_MAX_FILES = 300
"""Files remembered per folder."""


class SavedFile(Struct, frozen=True):
    """The state of one path: a file's bytes and mode, a link's target, or missing."""

    content: bytes | None = None
    mode: int = 0
    link: str | None = None


class FileGuard:
    """Remembers files, and the files directly inside folders, to restore them. Those over 1 MB are only compared.

    Args:
        paths: may be missing; a path created later counts as changed.
        places: folders that must not be moved.
    """

    def __init__(self, paths: Iterable[Path], places: Iterable[Path] = ()) -> None:
        self._paths = tuple(paths)
        self._places = {place: _get_identity(place) for place in places}
        self._before = {path: _read_state(path) for path in self._files()}

    def list_changed(self) -> list[Path]:
        """Return the paths whose state has changed."""
        now = {*self._files(), *self._before}
        return sorted(path for path in now if _read_state(path) != self._before.get(path, SavedFile()))

    def restore(self) -> list[tuple[Path, Path | None]]:
        """Restore everything. Returns each changed path and the file that holds its new content, None if it was
        removed.

        New content is moved aside and never deleted, because the user may have changed the file in the meantime. Raises
        OSError.
        """
        done = [found for place in self._places if (found := self._move_back(place))]
        for path in self.list_changed():
            if not path.parent.is_dir():
                continue  # restored together with its folder, which was removed as a whole
            aside = _set_aside(path)
            _restore(path, self._before.get(path, SavedFile()))
            done.append((path, aside))
        return done

    def _move_back(self, place: Path) -> tuple[Path, Path | None] | None:
        """Rename a folder back if it is found beside its old path."""
        identity = self._places[place]
        if identity is None or _get_identity(place) == identity:
            return None
        moved = next((path for path in place.parent.iterdir() if _get_identity(path) == identity), None)
        if moved is None:
            return None
        aside = _set_aside(place)
        moved.rename(place)
        return place, aside

    def _files(self) -> Iterator[Path]:
        for path in self._paths:
            if path.is_dir() and not path.is_symlink():
                try:
                    files = sorted(path.iterdir())[:_MAX_FILES]
                except OSError:
                    continue
                yield from (file for file in files if ".set-aside-" not in file.name and not file.is_dir())
            else:
                yield path


def restore_guarded_files(guard: FileGuard, root: Path) -> str:
    """Restore everything and return a line about it, paths relative to the workspace; "" if nothing changed."""
    try:
        undone = guard.restore()
    except OSError as error:
        return f"[the sandbox could not restore files that commands may not change: {error_cause(error)}]"
    if not undone:
        return ""
    shown = ", ".join(_format_path(path, aside, root) for path, aside in undone)
    return f"[the sandbox reverted changes to protected files: {shown}]"


def _format_path(path: Path, aside: Path | None, root: Path) -> str:
    name = path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
    return f"{name} (moved to {aside.name})" if aside else name


def _get_identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _set_aside(path: Path) -> Path | None:
    if not os.path.lexists(path):
        return None
    aside = path.with_name(f"{path.name}.set-aside-{time.time_ns()}")
    path.rename(aside)
    if aside.is_file() and not aside.is_symlink():
        aside.chmod(0o600)  # so that git does not run a hook that was moved aside
    return aside


def _read_state(path: Path) -> SavedFile:
    try:
        if path.is_symlink():
            return SavedFile(link=str(path.readlink()))
        if path.is_dir():
            return SavedFile()  # its files are compared one by one
        status = path.stat()
        if status.st_size > _MAX_BYTES:
            return SavedFile(content=b"%d %d" % (status.st_size, status.st_mtime_ns), mode=-1)
        return SavedFile(content=read_regular(path, _MAX_BYTES), mode=status.st_mode & 0o777)
    except OSError:
        return SavedFile()


def _restore(path: Path, seen: SavedFile) -> None:
    if seen.link is not None:
        path.symlink_to(seen.link)
    elif seen.content is not None and seen.mode >= 0:
        part = path.with_name(f"{path.name}.set-aside-part")
        part.write_bytes(seen.content)
        part.chmod(seen.mode)
        part.replace(path)
