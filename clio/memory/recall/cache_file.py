"""Where the index lies: a file that may be deleted, damaged or forbidden at any time, and memory in place of it."""

import logging
import os
import stat
from contextlib import suppress
from pathlib import Path

from clio.errors import StorageError
from clio.memory.recall.database import RecallIndexBusy, RecallIndexUnusable
from clio.memory.recall.index import RecallIndex
from clio.storage.documents import set_aside
from clio.storage.files import NO_FOLLOW, make_ignored_folder
from clio.storage.locks import FileLock

FILE = "recall.sqlite"
_BESIDE = ("-journal", "-wal", "-shm")
_log = logging.getLogger(__name__)


class CacheFile:
    """Opens the index in `<folder>/recall.sqlite`, and makes a new one where it is no good.

    folder: `.clio/cache`, made when it is needed; None keeps the index in memory, and so does a folder that cannot be
        written, or a file that is no good for the second time.
    """

    def __init__(self, folder: Path | None) -> None:
        self._path = folder / FILE if folder else None
        self._inode = 0
        self._renewed = False

    @property
    def exists(self) -> bool:
        """Whether there is anything to open."""
        return self._path is not None and self._path.exists()

    def open(self) -> RecallIndex:
        """The index: of the file, of a new file, or in memory.

        Raises RecallIndexBusy; StorageError where this Python has no full-text search, in memory neither.
        """
        if self._path is None:
            return RecallIndex.open(None)
        try:
            return self._open(self._path)
        except RecallIndexBusy:
            raise
        except StorageError as error:
            _log.info("%s; it is built again", error)
            return self.renew()
        except OSError as error:
            return self._in_memory(error)

    def renew(self) -> RecallIndex:
        """A new index in the place of one that turned out to be damaged, which must be closed."""
        if self._path is None or self._renewed:
            return self._in_memory("it was damaged twice")
        self._renewed = True
        try:
            with FileLock(self._path.with_name(FILE + ".lock")):
                if self._inode in (0, _inode(self._path)):  # else another clio has made a new one already
                    _clear(self._path)
                return self._open(self._path)
        except (StorageError, OSError) as error:
            return self._in_memory(error)

    def vanished(self) -> bool:
        """Whether the file was deleted or replaced since it was opened, so that what is written goes nowhere."""
        return self._path is not None and _inode(self._path) != self._inode

    def _open(self, path: Path) -> RecallIndex:
        if path.is_dir():
            raise RecallIndexUnusable(f"{str(path)!r} is a folder")
        for beside in (path.with_name(f"{path.name}-{end}") for end in ("journal", "wal", "shm")):
            if os.path.lexists(beside) and not stat.S_ISREG(beside.lstat().st_mode):  # SQLite would wait for a pipe
                raise RecallIndexUnusable(f"{str(beside)!r} is not a file")
        make_ignored_folder(path.parent, path.parent.parent)
        # Made here and not by SQLite: for its owner only, and never through a link.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | NO_FOLLOW, 0o600))
        self._inode = _inode(path)
        return RecallIndex.open(path)

    def _in_memory(self, why: object) -> RecallIndex:
        _log.info("the search index is kept in memory: %s", why)
        self._path = None
        return RecallIndex.open(None)


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except OSError:
        return 0


def _clear(path: Path) -> None:
    """Away with a file and what SQLite left beside it; a folder in its place is set aside. Raises OSError."""
    for suffix in _BESIDE:
        with suppress(FileNotFoundError):
            path.with_name(path.name + suffix).unlink()
    if path.is_dir():
        set_aside(path)
    else:
        path.unlink(missing_ok=True)
