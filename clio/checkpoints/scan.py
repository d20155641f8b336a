"""Looks at a workspace as fast as it can: what was not touched since the last time is not read again."""

import os
import stat
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from clio.checkpoints.git_source import GitTree, blob_name, git_tree
from clio.checkpoints.objects import Objects, object_id
from clio.checkpoints.snapshot import Clean, Row, Snapshot, signature
from clio.checkpoints.states import NOT_KEPT, FileState

MAX_FILE_BYTES = 20_000_000
"""Larger files are not covered."""
MAX_COPIED_BYTES = 200_000_000
"""What one look copies at most; the rest is covered as far as later looks get."""
COPYING_S = 3.0
"""How long a command waits at most for copies to be made; what is left then is copied by later looks."""
MAX_FILES = 100_000
"""Files beyond are not looked at."""
_RACY_NS = 50_000_000
"""A file written this shortly before it was read may be written again within the same tick of the clock."""
_OWN_FOLDER = ".clio"

Lister = Callable[[Path], Sequence[str]]
"""The files of a folder outside of git, links among them, without what ignore rules leave out."""


class Seen(Struct, frozen=True, kw_only=True):
    """What was known of a workspace when it was last looked at; a cache that may be lost."""

    key: tuple[int, ...] = ()
    blobs: dict[str, str] = {}
    special: frozenset[str] = frozenset()
    submodules: tuple[str, ...] = ()
    clean: dict[str, Clean] = {}
    rows: dict[str, Row] = {}
    gone: frozenset[str] = frozenset()


class Scanner:
    """Looks at one workspace again and again.

    root: absolute, links resolved. apart: folders in it that are left out, such as clio's own. max_kept: bytes that
    copies of the files as they are may come to, so that there is room for those as they were.
    """

    def __init__(
        self,
        root: Path,
        objects: Objects,
        lister: Lister,
        apart: Sequence[Path] = (),
        *,
        max_kept: int = MAX_COPIED_BYTES,
    ) -> None:
        self._root = root
        self._prefix = str(root).rstrip(os.sep) + os.sep
        self._objects = objects
        self._lister = lister
        self._max_kept = max_kept
        self._apart = (_OWN_FOLDER + "/", *_inside(root, apart))
        self._git: GitTree | None = None
        self._probed = False
        self.seen = Seen()

    def probe(self) -> None:
        """Ask git once whether the workspace is a tree of its own."""
        if not self._probed:
            self._git, self._probed = git_tree(self._root), True

    def look(self, copying_s: float = COPYING_S) -> Snapshot:
        """The workspace as it is now; bytes nobody else has are copied, for so long. Raises StorageError, OSError."""
        if self._git is not None and not self._git.index_key():
            self._probed = False
        self.probe()
        kept = sum(row.size for row in self.seen.rows.values() if row.id and not row.id.startswith(NOT_KEPT))
        budget = _Budget(min(MAX_COPIED_BYTES, self._max_kept - kept), copying_s)
        return self._with_git(self._git, budget) if self._git else self._without_git(budget)

    def forget_copies(self) -> None:
        """Copies were deleted to make room: what there is of them has to be found out anew."""
        self.seen = _with_rows(self.seen, {}, self.seen.gone)

    def is_too_large(self, size: int) -> bool:
        """Whether a file of so many bytes is never kept."""
        return size > MAX_FILE_BYTES

    def states(self, found: Sequence[Row | Clean | None]) -> list[FileState | None]:
        """Files of a snapshot, their bytes in the object store; git is asked for those it has.

        Raises StorageError, OSError.
        """
        blobs = {one.blob for one in found if one is not None and _is_in_git(one)}
        data = self._git.contents(blobs) if self._git and blobs else {}
        return [None if one is None else self._state(one, data.get(one.blob)) for one in found]

    def _state(self, found: Row | Clean, data: bytes | None) -> FileState:
        if not _is_in_git(found):
            return FileState(mode=found.mode, size=found.size, id=found.id, link=found.link)  # pyright: ignore
        if data is None or len(data) != found.size:
            return FileState(mode=found.mode, size=found.size, id=f"{NOT_KEPT}{found.blob}")
        return FileState(mode=found.mode, size=found.size, id=self._objects.put(data))

    def _with_git(self, git: GitTree, budget: "_Budget") -> Snapshot:
        self._read_index(git)
        changed = git.changed()
        seen = self.seen
        special = {path for path in seen.special if path not in changed.gone}
        wanted = sorted(path for path in changed.touched | special | changed.others if self._is_ours(path))
        like = next(iter(seen.blobs.values()), "0" * 40)
        rows = self._rows(wanted[:MAX_FILES], budget, like)
        gone = changed.gone | {path for path in wanted if path not in rows}
        self.seen = _with_rows(seen, rows, gone)
        beyond = max(0, len(wanted) - MAX_FILES)
        return Snapshot(seen.clean, rows, gone, (*seen.submodules, *changed.repositories), beyond)

    def _read_index(self, git: GitTree) -> None:
        """Follow the index; a file counts as clean where it is as long as its blob, so that no filter was between."""
        key = git.index_key()
        if key == self.seen.key:
            return
        tracked = git.tracked()
        clean = {path: one for path, one in self.seen.clean.items() if tracked.blobs.get(path) == one.blob}
        new = {path: blob for path, blob in tracked.blobs.items() if path not in clean and self._is_ours(path)}
        sizes = git.sizes(list(dict.fromkeys(new.values()))) if new else {}
        for path, blob in new.items():
            try:
                status = os.lstat(self._prefix + path)
            except OSError:  # gone from the working tree, or a folder closed to us
                continue
            # Git may compare times by the second: what changed in the second of the index is looked at each time.
            settled = bool(key) and int(status.st_ctime) < key[0] // 1_000_000_000
            if settled and stat.S_ISREG(status.st_mode) and sizes.get(blob) == status.st_size:
                clean[path] = Clean(blob, stat.S_IMODE(status.st_mode), status.st_size)
        unlike = frozenset(path for path in tracked.blobs if path not in clean and self._is_ours(path))
        self.seen = Seen(
            key=key,
            blobs=tracked.blobs,
            special=tracked.special | unlike,
            submodules=tracked.submodules,
            clean=clean,
            rows=self.seen.rows,
        )

    def _without_git(self, budget: "_Budget") -> Snapshot:
        listed = [path for path in self._lister(self._root) if self._is_ours(path)]
        rows = self._rows(listed[:MAX_FILES], budget, "")
        self.seen = Seen(rows=rows)
        return Snapshot({}, rows, beyond=max(0, len(listed) - MAX_FILES))

    def _rows(self, paths: Sequence[str], budget: "_Budget", like: str) -> dict[str, Row]:
        rows: dict[str, Row] = {}
        before, prefix, lstat = self.seen.rows, self._prefix, os.lstat
        for path in paths:
            known = before.get(path)
            if known is not None and known.seen and not known.id.startswith(NOT_KEPT):
                # Nearly all of many files: what was not touched costs a look at the file system and no more.
                try:
                    untouched = known.seen == signature(lstat(prefix + path))
                except OSError:  # gone meanwhile
                    continue
                if untouched:
                    rows[path] = known
                    continue
            row = self._row(path, known, budget, like)
            if row is not None:
                rows[path] = row
        return rows

    def _row(self, path: str, known: Row | None, budget: "_Budget", like: str) -> Row | None:
        """What is at a path; None where it is nothing that is kept, such as a pipe."""
        full = self._prefix + path
        now = time.time_ns()
        try:
            status = os.lstat(full)
            if stat.S_ISLNK(status.st_mode):
                target = os.readlink(full)  # noqa: PTH115 - speed
                return Row((), 0o777, 0, "", "", target) if _is_unicode(target) else None
            if not stat.S_ISREG(status.st_mode):
                return None
            seen = signature(status)
            fits = budget.fits(status.st_size)
            if known is not None and known.seen == seen and (not fits or not known.id.startswith(NOT_KEPT)):
                return known
            mode = stat.S_IMODE(status.st_mode)
            if not fits:
                return Row(seen, mode, status.st_size, f"{NOT_KEPT}{status.st_size}-{status.st_mtime_ns}")
            with open(full, "rb") as file:  # noqa: PTH123 - speed
                data = file.read(MAX_FILE_BYTES + 1)
        except OSError:  # gone meanwhile, or not ours to read
            return None
        if max(status.st_mtime_ns, status.st_ctime_ns) > now - _RACY_NS:
            seen = ()
        blob = blob_name(data, like) if like else ""
        if blob and blob == self.seen.blobs.get(path):
            return Row(seen, mode, len(data), "", blob)
        budget.left -= len(data)
        return Row(seen, mode, len(data), self._objects.put(data), blob)

    def _is_ours(self, path: str) -> bool:
        """Names that are no valid Unicode cannot be written into the log."""
        return not path.startswith(self._apart) and (path.isascii() or _is_unicode(path))


class _Budget:
    """How many bytes may still be copied, and for how long."""

    def __init__(self, left: int, seconds: float) -> None:
        self.left = left
        self._until = time.monotonic() + seconds

    def fits(self, size: int) -> bool:
        return size <= min(self.left, MAX_FILE_BYTES) and time.monotonic() < self._until


def state_of(path: Path, objects: Objects, *, keep: bool) -> FileState | None:
    """The file at an absolute path as it is now; None where there is no file or link.

    keep: its bytes are put into the store. Raises OSError where it cannot be read.
    """
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISLNK(status.st_mode):
        return FileState(mode=0o777, link=str(path.readlink()))
    if not stat.S_ISREG(status.st_mode):
        return None
    mode = stat.S_IMODE(status.st_mode)
    if status.st_size > MAX_FILE_BYTES:
        return FileState(mode=mode, size=status.st_size, id=f"{NOT_KEPT}{status.st_size}-{status.st_mtime_ns}")
    data = path.read_bytes()
    return FileState(mode=mode, size=len(data), id=objects.put(data) if keep else object_id(data))


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _is_in_git(found: Row | Clean) -> bool:
    return isinstance(found, Clean) or (not found.id and found.link is None)


def _with_rows(seen: Seen, rows: dict[str, Row], gone: frozenset[str]) -> Seen:
    return Seen(
        key=seen.key,
        blobs=seen.blobs,
        special=seen.special,
        submodules=seen.submodules,
        clean=seen.clean,
        rows=rows,
        gone=gone,
    )


def _inside(root: Path, folders: Sequence[Path]) -> list[str]:
    """Folders of the workspace, relative and with a slash at their end."""
    return [folder.relative_to(root).as_posix() + "/" for folder in folders if root in folder.parents]
