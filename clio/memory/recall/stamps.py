"""Which sessions changed, told from names, sizes and times of their files: no file is opened.

A stamp reads `<snapshot>|<journal>@<offset>`; each file is `<mtime ns>.<size>.<inode>`, or nothing where there is none.
The offset is where the journal is to be read from once it has grown: what stands before it is known. A session that
could not be read is stamped with `!` in front, and with the time its inode changed, as new permissions do; one of which
the words are known and the outputs of tools are not, with `~`.
"""

import os
import time
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from clio.sessions.state import JOURNAL, is_session_id

_SNAPSHOT = ".json"
_UNREAD = "!"
_WORDS_ONLY = "~"
_WHOLE_LOOK_S = 5.0
_TICK_NS = 100_000_000
_MTIME, _SIZE, _INODE, _CHANGED = range(4)

FileStamp = tuple[int, int, int, int]
"""How a file looked: time of its content in nanoseconds, bytes, inode, time of its inode."""

_NO_FILE: FileStamp = (0, 0, 0, 0)


class SessionStamp(Struct, frozen=True, kw_only=True):
    """How the files of a session looked."""

    snapshot: FileStamp = _NO_FILE
    journal: FileStamp = _NO_FILE

    @property
    def modified(self) -> int:
        """When the session last changed, in nanoseconds since the epoch."""
        return max(self.snapshot[_MTIME], self.journal[_MTIME])

    @property
    def journal_bytes(self) -> int:
        """How long the journal was; 0 where there was none."""
        return self.journal[_SIZE]

    def text(self, offset: int | None = None) -> str:
        """The stamp to keep; `offset` as the module says, None where a grown session must be read whole."""
        return f"{self._files}@{'' if offset is None else offset}"

    def unread(self) -> str:
        """The stamp of a session that could not be read as it is."""
        return f"{_UNREAD}{self._files}@{max(self.snapshot[_CHANGED], self.journal[_CHANGED])}"

    def same_as(self, kept: str) -> bool:
        """Whether nothing changed since `kept` was made."""
        if kept.startswith(_UNREAD):
            return kept == self.unread()
        return kept.removeprefix(_WORDS_ONLY).rpartition("@")[0] == self._files

    def grown_from(self, kept: str) -> int | None:
        """Where to read the journal on, if all that happened since `kept` is that it grew; else None."""
        files, _, offset = kept.removeprefix(_WORDS_ONLY).rpartition("@")
        snapshot, _, journal = files.partition("|")
        _, _, old = journal.partition(".")
        size, _, inode = old.partition(".")
        if not offset or snapshot != _told(self.snapshot):  # as the mark of an unread one differs, too
            return None
        if not journal:
            return 0
        return int(offset) if int(inode) == self.journal[_INODE] and int(size) <= self.journal[_SIZE] else None

    @property
    def _files(self) -> str:
        return f"{_told(self.snapshot)}|{_told(self.journal)}"


def words_only(kept: str) -> str:
    """The stamp of a session whose words are known and whose outputs are not."""
    return _WORDS_ONLY + kept.removeprefix(_WORDS_ONLY)


def lacks_outputs(kept: str) -> bool:
    """Whether a kept stamp says that the outputs are not known yet."""
    return kept.startswith(_WORDS_ONLY)


def is_unread(kept: str) -> bool:
    """Whether a kept stamp says that the session could not be read."""
    return kept.startswith(_UNREAD)


class SessionFolder:
    """The stamps of all sessions in a folder, kept up to date by looking at names and times only.

    Adding, replacing or deleting a file changes the folder's own time; a journal that grows does not. So while the
    folder's time stands still, only journals are looked at, and all files again after 5 seconds: that finds a file
    somebody edited in its place.
    """

    def __init__(self, folder: Path) -> None:
        self.stamps: dict[str, SessionStamp] = {}
        self._folder = folder
        self._files: dict[str, FileStamp] = {}
        self._journals: tuple[str, ...] = ()
        self._settled: tuple[int, int] | None = None
        self._whole_look = 0.0

    def look(self) -> set[str]:
        """Look again; the ids of the sessions that came, changed or went since the last look.

        Raises OSError where the folder cannot be read; one that is not there is empty.
        """
        files = self._scan()
        if files == self._files:
            return set()
        names = {name for name in files.keys() | self._files.keys() if files.get(name) != self._files.get(name)}
        self._files = files
        ids = {id for name in names if is_session_id(id := _id_of(name))}
        for id in ids:
            snapshot, journal = files.get(id + _SNAPSHOT), files.get(id + JOURNAL)
            if snapshot or journal:
                self.stamps[id] = SessionStamp(snapshot=snapshot or _NO_FILE, journal=journal or _NO_FILE)
            else:
                self.stamps.pop(id, None)
        return ids

    def _scan(self) -> dict[str, FileStamp]:
        try:
            before = self._folder.stat()
        except (FileNotFoundError, NotADirectoryError):
            return {}
        at = (before.st_mtime_ns, before.st_ino)
        if at == self._settled and time.monotonic() - self._whole_look < _WHOLE_LOOK_S:
            return self._files | _stamped(self._folder, self._journals)
        # A change within the same tick as this look would not show in the folder's time: look whole next time, too.
        self._settled = at if time.time_ns() - before.st_mtime_ns > _TICK_NS else None
        self._whole_look = time.monotonic()
        files = _scanned(self._folder)
        self._journals = tuple(name for name in files if name.endswith(JOURNAL))
        return files


def _told(file: FileStamp) -> str:
    return f"{file[_MTIME]}.{file[_SIZE]}.{file[_INODE]}" if file != _NO_FILE else ""


def _id_of(name: str) -> str:
    return name.removesuffix(JOURNAL) if name.endswith(JOURNAL) else name.removesuffix(_SNAPSHOT)


def _scanned(folder: Path) -> dict[str, FileStamp]:
    found: dict[str, FileStamp] = {}
    try:
        entries = os.scandir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    with entries:
        for entry in entries:
            if entry.name.endswith((_SNAPSHOT, JOURNAL)):
                with suppress(OSError):  # deleted meanwhile, or a link to nowhere
                    found[entry.name] = _stamp(entry.stat())
    return found


def _stamped(folder: Path, names: tuple[str, ...]) -> dict[str, FileStamp]:
    found: dict[str, FileStamp] = {}
    for name in names:
        with suppress(OSError):  # its end shows in the folder's time, at the next look
            found[name] = _stamp((folder / name).stat())
    return found


def _stamp(stat: os.stat_result) -> FileStamp:
    return stat.st_mtime_ns, stat.st_size, stat.st_ino, stat.st_ctime_ns
