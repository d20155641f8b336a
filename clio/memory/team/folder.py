"""Read and write the files of `.clio/ltm/`, the memory shared by a team.

They come from a repository, so any file may be hostile: names, sizes, links and nesting are checked, and an invalid
file is left out and reported, never fatal.

    <kind>/<name>.json         a statement; empty after it was replaced or forgotten
    forgotten/<name>           an empty file: the memory that began with this statement is forgotten
    confirmed/<name>.<month>   an empty file: a member confirmed the statement in that month
"""

import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

import clio
from clio.config.project_links import FORMAT_NAME, has_shared_memory
from clio.errors import NewerDocument
from clio.memory.store.record import PROJECT_KINDS, Kind
from clio.memory.team.statement import MAX_BYTES, NAME, Statement, read
from clio.storage.documents import check_version
from clio.storage.files import NO_FOLLOW, make_folder, make_ignored_folder, sync_folder, write_atomic
from clio.text.json_data import decode_json

VERSION = 1
FORMAT = (
    b'{\n "about": "what clio knows of this project, one file a statement; docs/team.md of clio says how to read it",\n'
    b' "schema": "clio.team",\n "version": 1\n}\n'
)
MAX_FILES = 20_000
"""Maximum number of files per subfolder; later ones, by name, are left out and reported."""
MAX_TOTAL_BYTES = 64 * 1024 * 1024
"""Maximum size of all statements; 2,000 memories have about 1 MB."""
_FORGOTTEN, _CONFIRMED = "forgotten", "confirmed"
_MONTH = re.compile(r"20\d\d-(?:0[1-9]|1[0-2])")
_MAX_PROBLEMS, _CACHED_AT_ONCE = 50, 64
_JSON = ".json"

Stamp = tuple[int, int, int, int]


class Problem(Struct, frozen=True, kw_only=True):
    """A file that was left out: its path inside the folder, and the reason."""

    path: str
    why: str


class Files(Struct, frozen=True, kw_only=True):
    """The content of the folder.

    Attributes:
        emptied: names of replaced or forgotten statements.
        forgotten: names of first statements whose memories are forgotten.
        months: by statement, the last month in which a member confirmed it.
    """

    statements: tuple[Statement, ...] = ()
    emptied: frozenset[str] = frozenset()
    forgotten: frozenset[str] = frozenset()
    months: dict[str, str] = {}
    problems: tuple[Problem, ...] = ()


class _Seen(Struct, frozen=True, array_like=True):
    """A file as it was when it was last read: its statements, or why it is invalid."""

    stamp: Stamp
    statements: tuple[Statement, ...]
    why: str = ""


class _Cache(Struct, frozen=True, array_like=True):
    """The content of the cache file, with the version of clio that wrote it, since others may parse differently."""

    clio: str
    seen: dict[str, _Seen]


class _Format(Struct):
    version: int = VERSION


class TeamFolder:
    """The shared folder. Files are only ever added and emptied, so that git can merge every change by itself.

    Methods raise OSError.

    cache: a file with the parsed statements by the stamps of their files; it can be deleted at any time.
    """

    def __init__(self, path: Path, cache: Path) -> None:
        self.path = path
        self._cache = cache
        self._seen: dict[str, _Seen] | None = None
        self._last = Files()

    def exists(self) -> bool:
        """Whether the folder exists, is no symbolic link, and contains the format file."""
        return has_shared_memory(self.path)

    def read(self) -> Files:
        """Return the content of the folder. Only changed files are opened. Raises NewerDocument.

        As long as nothing changes, the same object is returned.
        """
        self._refuse_newer()
        problems: list[Problem] = []
        known = self._known()
        seen: dict[str, _Seen] = {}
        emptied: set[str] = set()
        total = 0
        for kind in PROJECT_KINDS:
            for file, info in _files(self.path / kind, problems):
                name = file.removesuffix(_JSON)
                # Anything may be in a repository; only names that clio itself gives are opened.
                if not file.endswith(_JSON) or not NAME.fullmatch(name):
                    _note(problems, f"{kind}/{file}", "not a file name that clio uses")
                elif info.st_size == 0:
                    emptied.add(name)
                # A repository with gigabytes of statements must not fill the memory of every member.
                elif (total := total + min(info.st_size, MAX_BYTES)) > MAX_TOTAL_BYTES:
                    _note(problems, f"{kind}/{file}", f"all files together have more than {MAX_TOTAL_BYTES:,} bytes")
                else:
                    place = f"{kind}/{file}"
                    stamp = (info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino)
                    was = known.get(place)
                    # Unchanged files are not opened again: 2,000 statements take 30 ms instead of 90 ms.
                    seen[place] = was if was and was.stamp == stamp else self._open(place, name, kind, stamp)
        for place, one in seen.items():
            if one.why:
                _note(problems, place, one.why)
        opened = sum(known.get(place) is not one for place, one in seen.items())
        is_known = not opened and len(seen) == len(known)
        self._remember(seen, opened)
        found = Files(
            statements=self._last.statements if is_known and self._last.statements else _all(seen),
            emptied=frozenset(emptied),
            forgotten=frozenset(name for name in _names(self.path / _FORGOTTEN, problems) if NAME.fullmatch(name)),
            months=_months(_names(self.path / _CONFIRMED, problems)),
            problems=tuple(problems),
        )
        # The same object as long as nothing changed, so that callers can compare by identity.
        if found != self._last:
            self._last = found
        return self._last

    def size(self) -> int:
        """Return the total size of its files in bytes."""
        return sum(path.lstat().st_size for path in self.path.rglob("*") if not path.is_dir() and not path.is_symlink())

    # The methods below write. Call them only while holding the lock of `ltm.json`.

    def begin(self) -> None:
        """Create the folder and its format file."""
        make_folder(self.path)
        if not (self.path / FORMAT_NAME).exists():
            write_atomic(self.path / FORMAT_NAME, FORMAT, 0o644)

    def put(self, kind: Kind, name: str, data: bytes, *, durable: bool = True) -> Path:
        """Write a statement."""
        make_folder(self.path / kind)
        path = self.path / kind / f"{name}{_JSON}"
        # 0o644, as for all files of a repository; private files of clio have 0o600.
        write_atomic(path, data, 0o644, durable=durable)
        return path

    def empty(self, kind: Kind, name: str) -> None:
        """Empty the file of a statement. It is not deleted, because git would take it for renamed to a similar file."""
        path = self.path / kind / f"{name}{_JSON}"
        if path.is_symlink() or path.exists():
            write_atomic(path, b"", 0o644, durable=False)

    def forget(self, names: Iterable[str]) -> None:
        """Mark the memories that began with these statements as forgotten, including versions in other branches."""
        self._create_markers(_FORGOTTEN, names)

    def confirm(self, name: str, month: str) -> None:
        """Record that the user confirmed a statement in a month, and delete the records of earlier months."""
        self._create_markers(_CONFIRMED, [f"{name}.{month}"])
        for old in (self.path / _CONFIRMED).glob(f"{name}.*"):
            if old.name < f"{name}.{month}":
                old.unlink(missing_ok=True)

    def settle(self) -> None:
        """Sync the folders, so that all files that were written are on disk."""
        for folder in (*(self.path / kind for kind in PROJECT_KINDS), self.path / _FORGOTTEN, self.path):
            if _is_folder(folder):
                sync_folder(folder)

    def tidy(self, before: float) -> int:
        """Delete files that have been empty since before a time, by the file system's clock; return their number.

        A branch that is older and empties the same file gets a git conflict about an empty file.
        """
        deleted = 0
        found = self.read()
        for kind in PROJECT_KINDS:
            for file, info in _files(self.path / kind, []):
                if info.st_size == 0 and info.st_mtime < before and file.removesuffix(_JSON) in found.emptied:
                    (self.path / kind / file).unlink(missing_ok=True)
                    deleted += 1
        existing = {statement.name for statement in found.statements}
        for folder in (_FORGOTTEN, _CONFIRMED):
            for file, info in _files(self.path / folder, []):
                ours = NAME.match(file)
                if ours and info.st_mtime < before and (folder == _FORGOTTEN or ours[0] not in existing):
                    (self.path / folder / file).unlink(missing_ok=True)
                    deleted += 1
        return deleted

    def _create_markers(self, folder: str, names: Iterable[str]) -> None:
        make_folder(self.path / folder)
        for name in names:
            path = self.path / folder / name
            if path.is_symlink() or not path.exists():
                # Empty, and named after the statement: two branches that both add it have the same file, which merges
                # without conflict.
                write_atomic(path, b"", 0o644, durable=False)

    def _refuse_newer(self) -> None:
        path = self.path / FORMAT_NAME
        try:
            version = check_version(decode_json(_content(path), type=_Format).version)
        except (OSError, ValueError, RecursionError):
            return  # a damaged format file does not matter: it only announces later versions
        if version > VERSION:
            raise NewerDocument(f"{str(self.path)!r} has version {version} and this clio knows {VERSION}; update clio.")

    def _open(self, place: str, name: str, kind: Kind, stamp: Stamp) -> _Seen:
        try:
            if stamp[0] > MAX_BYTES:
                raise ValueError(f"it has more than {MAX_BYTES:,} bytes")
            return _Seen(stamp, tuple(read(name, kind, _content(self.path / place))))
        except (ValueError, RecursionError) as error:
            return _Seen(stamp, (), str(error))
        except OSError as error:
            return _Seen((0, 0, 0, 0), (), error.strerror or str(error))  # no stamp, so it is read again next time

    def _known(self) -> dict[str, _Seen]:
        if self._seen is None:
            try:
                cache = msgspec.msgpack.decode(_content(self._cache), type=_Cache)
                self._seen = cache.seen if cache.clio == clio.__version__ else {}
            except (OSError, ValueError, RecursionError):
                self._seen = {}
        return self._seen

    def _remember(self, seen: dict[str, _Seen], opened: int) -> None:
        self._seen = seen
        if opened < _CACHED_AT_ONCE:
            return
        with suppress(OSError):  # the next start reads the files again
            make_ignored_folder(self._cache.parent, self._cache.parent.parent)
            write_atomic(self._cache, msgspec.msgpack.encode(_Cache(clio.__version__, seen)), durable=False)


def _files(folder: Path, problems: list[Problem]) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the regular files of a folder by name; report everything else in it as a problem."""
    if not _is_folder(folder):
        if os.path.lexists(folder):
            _note(problems, folder.name, "it is not a folder")
        return
    with os.scandir(folder) as found:
        entries = sorted((entry for entry in found if not entry.name.endswith(".tmp")), key=lambda entry: entry.name)
    for entry in entries[MAX_FILES:][:1]:
        _note(problems, f"{folder.name}/{entry.name}", f"{len(entries) - MAX_FILES:,} files from here on are too many")
    for entry in entries[:MAX_FILES]:
        try:
            # A link in a repository could lead to any file of the member who opens it.
            info = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            continue
        if stat.S_ISREG(info.st_mode):
            yield entry.name, info
        else:
            reason = "it is a symbolic link" if entry.is_symlink() else "it is not a file"
            _note(problems, f"{folder.name}/{entry.name}", reason)


def _all(seen: dict[str, _Seen]) -> tuple[Statement, ...]:
    return tuple(statement for one in seen.values() for statement in one.statements)


def _names(folder: Path, problems: list[Problem]) -> list[str]:
    return [name for name, _ in _files(folder, problems)]


def _months(names: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for file in names:
        name, _, month = file.rpartition(".")
        if NAME.fullmatch(name) and _MONTH.fullmatch(month) and month > found.get(name, ""):
            found[name] = month
    return found


def _note(problems: list[Problem], path: str, why: str) -> None:
    if len(problems) < _MAX_PROBLEMS:
        problems.append(Problem(path=path, why=why))


def _content(path: Path) -> bytes:
    # O_NONBLOCK: opening a named pipe would otherwise wait for a writer.
    fd = os.open(path, os.O_RDONLY | NO_FOLLOW | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(fd, "rb") as file:
        return file.read(-1 if path.suffix != _JSON else MAX_BYTES + 1)


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False
