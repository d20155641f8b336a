"""Looks after files that a fence cannot seal: what a command made of them is set aside, and they are as before."""

import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from clio.storage.locks import cause

_MAX_BYTES = 1_000_000
_MAX_FILES = 300


class Seen(Struct, frozen=True):
    """One path as it was: a file's bytes and mode, a link's target, or nothing there."""

    content: bytes | None = None
    mode: int = 0
    link: str | None = None


class Guard:
    """Remembers files and, of folders, the files directly in them; what is larger than 1 MB is only compared.

    paths: may be missing; one that is made later counts as changed. places: folders that must stay where they are.
    """

    def __init__(self, paths: Iterable[Path], places: Iterable[Path] = ()) -> None:
        self._paths = tuple(paths)
        self._places = {place: _identity(place) for place in places}
        self._before = {path: _look(path) for path in self._files()}

    def changed(self) -> list[Path]:
        """What is no longer as it was."""
        now = {*self._files(), *self._before}
        return sorted(path for path in now if _look(path) != self._before.get(path, Seen()))

    def undo(self) -> list[tuple[Path, Path | None]]:
        """Put everything back. What was changed, with the file its new content was set aside as; None: it was gone.

        The person may have changed one of them meanwhile: so nothing is deleted. Raises OSError.
        """
        done = [found for place in self._places if (found := self._bring_back(place))]
        for path in self.changed():
            if not path.parent.is_dir():
                continue  # it went with its folder, which was removed as a whole
            aside = _set_aside(path)
            _restore(path, self._before.get(path, Seen()))
            done.append((path, aside))
        return done

    def _bring_back(self, place: Path) -> tuple[Path, Path | None] | None:
        """Rename a folder to what it was called, where it is found beside its old place."""
        identity = self._places[place]
        if identity is None or _identity(place) == identity:
            return None
        moved = next((path for path in place.parent.iterdir() if _identity(path) == identity), None)
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


def put_back(guard: Guard, root: Path) -> str:
    """Put everything back, and say so in a line, paths relative to the workspace; "" where nothing had changed."""
    try:
        undone = guard.undo()
    except OSError as error:
        return f"[the sandbox could not put back what commands may not change: {cause(error)}]"
    if not undone:
        return ""
    shown = ", ".join(_shown(path, aside, root) for path, aside in undone)
    return f"[the sandbox undid what commands may not change: {shown}]"


def _shown(path: Path, aside: Path | None, root: Path) -> str:
    name = path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
    return f"{name} (kept as {aside.name})" if aside else name


def _identity(path: Path) -> tuple[int, int] | None:
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
        aside.chmod(0o600)  # a hook set aside is not a program
    return aside


def _look(path: Path) -> Seen:
    try:
        if path.is_symlink():
            return Seen(link=str(path.readlink()))
        if path.is_dir():
            return Seen()  # its files are looked at each
        status = path.stat()
        if status.st_size > _MAX_BYTES:
            return Seen(content=b"%d %d" % (status.st_size, status.st_mtime_ns), mode=-1)
        return Seen(content=path.read_bytes(), mode=status.st_mode & 0o777)
    except OSError:
        return Seen()


def _restore(path: Path, seen: Seen) -> None:
    if seen.link is not None:
        path.symlink_to(seen.link)
    elif seen.content is not None and seen.mode >= 0:
        part = path.with_name(f"{path.name}.set-aside-part")
        part.write_bytes(seen.content)
        part.chmod(seen.mode)
        part.replace(path)
