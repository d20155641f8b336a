"""Scan a workspace for changed files, with git's index and a cache of the last scan to avoid reading files again."""

import hashlib
import os
import stat
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from clio.checkpoints.checkpoint_store import NOT_STORED_PREFIX, FileState, ObjectStore, compute_object_id
from clio.errors import StorageError
from clio.ids import new_id
from clio.readonly_git import readonly_git_command, readonly_git_environment
from clio.storage.files import make_folder, read_regular, write_atomic
from clio.text.translation import tr


class ScannedFile(NamedTuple):
    """One file whose metadata or content was read. A named tuple saves memory: there may be 100,000.

    Attributes:
        signature: metadata that changes when the file is written; empty if a change might go unnoticed.
        id: name of its content in the object store; "" if git has the content, or for a link. It begins with
            `NOT_STORED_PREFIX` if the content was not copied.
        blob: git's object name of its content; "" outside git.
        link: target of a symbolic link; None for a regular file.
    """

    signature: tuple[int, ...]
    mode: int
    size: int
    id: str
    blob: str = ""
    link: str | None = None


class CleanFile(NamedTuple):
    """One tracked file that is unchanged. blob: git's object name of its content."""

    blob: str
    mode: int
    size: int


class WorkspaceSnapshot(NamedTuple):
    """All files of a workspace that /undo covers, by path.

    Attributes:
        clean: files that were unchanged when git's index was read. Snapshots of the same index share it, so it may
            contain files that have changed since: `rows` and `missing` take precedence.
        rows: changed, untracked and other files that had to be read.
        missing: tracked files that do not exist.
        repositories: folders of other repositories, which are not covered.
        excess_count: number of files left out because there are too many.
    """

    clean: Mapping[str, CleanFile]
    rows: Mapping[str, ScannedFile]
    missing: frozenset[str] = frozenset()
    repositories: tuple[str, ...] = ()
    excess_count: int = 0

    def get(self, path: str) -> ScannedFile | CleanFile | None:
        """Return the file at a path; None if there is none."""
        row = self.rows.get(path)
        if row is not None or path in self.missing:
            return row
        return self.clean.get(path)

    def list_folders(self) -> set[str]:
        """Return every folder that contains a file, at any depth."""
        found: set[str] = set()
        for paths in (self.rows, self.clean):
            for path in paths:
                folder = path.rpartition("/")[0]
                while folder and folder not in found:
                    found.add(folder)
                    folder = folder.rpartition("/")[0]
        return found


def list_changed_paths(before: WorkspaceSnapshot, after: WorkspaceSnapshot) -> list[str]:
    """Return the sorted paths whose files differ between two snapshots."""
    candidates = before.rows.keys() | after.rows.keys() | before.missing | after.missing
    if before.clean is not after.clean:
        candidates |= {path for path, _ in before.clean.items() ^ after.clean.items()}
    return sorted(path for path in candidates if not _is_same_file(before.get(path), after.get(path)))


def make_signature(status: os.stat_result) -> tuple[int, ...]:
    """Return metadata that changes whenever a file is written, replaced or given other permissions."""
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_mode


def _is_same_file(one: ScannedFile | CleanFile | None, other: ScannedFile | CleanFile | None) -> bool:
    if one is None or other is None:
        return one is other
    if (one.mode, one.size) != (other.mode, other.size):
        return False
    if one.blob and other.blob:
        return one.blob == other.blob
    return (
        isinstance(one, ScannedFile) and isinstance(other, ScannedFile) and (one.id, one.link) == (other.id, other.link)
    )


_GIT_TIMEOUT_S = 8.0
_REGULAR_MODES = (b"100644", b"100755")


class TrackedFiles(Struct, frozen=True, kw_only=True):
    """The paths in git's index.

    Attributes:
        blobs: the object name of each regular file for which git's own comparison is reliable.
        special: other tracked paths, which must always be read: links, files with a filter, files with a merge
            conflict, and files that git was told to assume unchanged.
        submodules: folders of submodules.
    """

    blobs: dict[str, str]
    special: frozenset[str]
    submodules: tuple[str, ...]


class ChangedPaths(Struct, frozen=True, kw_only=True):
    """The difference between working tree and index.

    Attributes:
        touched: tracked files that may differ from the index.
        missing: tracked files that do not exist.
        others: untracked files.
        repositories: untracked folders that are repositories themselves; each ends with a slash.
    """

    touched: frozenset[str]
    missing: frozenset[str]
    others: frozenset[str]
    repositories: tuple[str, ...]


class GitTree:
    """One folder in a git working tree. Paths are relative to it, with forward slashes."""

    def __init__(self, folder: Path, index: Path) -> None:
        self.folder = folder
        self._index = index

    def get_index_key(self) -> tuple[int, ...]:
        """Return a key that changes whenever the index does."""
        try:
            status = self._index.stat()
        except OSError:
            return ()
        return status.st_mtime_ns, status.st_size, status.st_ino, status.st_ctime_ns

    def list_tracked(self) -> TrackedFiles:
        """Return the paths in the index. Raises StorageError if git fails."""
        index_listing = self._start("ls-files", "--stage", "-v", "-z")
        # `:(attr:filter)` matches only an attribute without a value, but filters have one (`filter=lfs`). So ask for
        # the files without the attribute.
        unfiltered_listing = self._start("ls-files", "-z", ":(attr:!filter)")
        blobs: dict[str, str] = {}
        special: set[str] = set()
        unfiltered_paths = set(self._finish(unfiltered_listing).split(b"\0"))
        submodules: list[str] = []
        for entry in self._finish(index_listing).split(b"\0"):
            if not entry:
                continue
            fields, _, raw_path = entry.partition(b"\t")
            tag, mode, object_name, stage = fields.split(b" ")
            path = os.fsdecode(raw_path)
            if mode == b"160000":
                submodules.append(path)
            elif mode in _REGULAR_MODES and tag == b"H" and stage == b"0" and raw_path in unfiltered_paths:
                blobs[path] = object_name.decode("ascii")
            else:
                special.add(path)
        for path in special:
            blobs.pop(path, None)
        return TrackedFiles(blobs=blobs, special=frozenset(special), submodules=tuple(submodules))

    def list_changed(self) -> ChangedPaths:
        """Return the difference between working tree and index by metadata only; no file is read.

        Raises StorageError if git fails.
        """
        diff_files = self._start("diff-files", "--name-status", "--ignore-submodules=all", "-z")
        untracked_files = self._start("ls-files", "--others", "--exclude-standard", "-z")
        fields = [os.fsdecode(word) for word in self._finish(diff_files).split(b"\0")]
        rows = list(zip(fields[::2], fields[1::2], strict=False))
        others = {os.fsdecode(path) for path in self._finish(untracked_files).split(b"\0") if path}
        return ChangedPaths(
            touched=frozenset(path for status, path in rows if status != "D"),
            missing=frozenset(path for status, path in rows if status == "D"),
            others=frozenset(path for path in others if not path.endswith("/")),
            repositories=tuple(sorted(path for path in others if path.endswith("/"))),
        )

    def read_object_sizes(self, blobs: Sequence[str]) -> dict[str, int]:
        """Return the size in bytes of each object that exists."""
        lines = self._query_objects("--batch-check=%(objectname) %(objectsize)", blobs).splitlines()
        rows = [line.split(b" ") for line in lines]
        return {name.decode("ascii"): int(size) for name, size in rows if size.isdigit()}

    def read_objects(self, blobs: Iterable[str]) -> dict[str, bytes]:
        """Return the unfiltered content of each object that exists."""
        names = sorted(set(blobs))
        if not names:
            return {}
        output = self._query_objects("--batch", names)
        found: dict[str, bytes] = {}
        offset = 0
        while (end := output.find(b"\n", offset)) >= 0:
            header = output[offset:end].split(b" ")
            offset = end + 1
            if len(header) == 3 and header[1] == b"blob":
                size = int(header[2])
                found[header[0].decode("ascii")] = output[offset : offset + size]
                offset += size + 1
        return found

    def _query_objects(self, option: str, blobs: Sequence[str]) -> bytes:
        process = self._start("cat-file", option, stdin=subprocess.PIPE)
        return self._finish(process, "".join(f"{name}\n" for name in blobs).encode("ascii"))

    def _start(self, *arguments: str, stdin: int = subprocess.DEVNULL) -> "subprocess.Popen[bytes]":
        try:
            return start_git(self.folder, *arguments, stdin=stdin)
        except OSError as error:
            raise StorageError(
                tr(
                    "git cannot be run ({strerror}), so /undo cannot revert changes by commands",
                    strerror=error.strerror,
                )
            ) from error

    def _finish(self, process: "subprocess.Popen[bytes]", stdin: bytes | None = None) -> bytes:
        output, errors = _communicate(process, stdin)
        if process.returncode != 0:
            cause = errors.decode("utf-8", "replace").strip().splitlines()[:1] or [tr("it took too long")]
            raise StorageError(
                tr("git cannot report what changed in {folder!r}: {cause}", folder=str(self.folder), cause=cause[0])
            )
        return output


def find_git_tree(folder: Path) -> GitTree | None:
    """Return the git working tree of a folder; None outside git, without git, or if git ignores the folder."""
    try:
        query = start_git(folder, "rev-parse", "--is-inside-work-tree", "--git-path", "index")
        answer, _ = _communicate(query, None)
        lines = os.fsdecode(answer).splitlines()
        if query.returncode != 0 or lines[:1] != ["true"]:
            return None
        ignore_check = start_git(folder, "check-ignore", "--quiet", ".")
        _communicate(ignore_check, None)
    except OSError:
        return None
    return None if ignore_check.returncode == 0 else GitTree(folder, folder / lines[1])


def compute_blob_name(data: bytes, sample_name: str) -> str:
    """Return git's object name for some content, in the hash format of the name `sample_name`."""
    digest = hashlib.sha256() if len(sample_name) == 64 else hashlib.sha1(usedforsecurity=False)
    digest.update(b"blob %d\0" % len(data))
    digest.update(data)
    return digest.hexdigest()


def start_git(folder: Path, *arguments: str, stdin: int = subprocess.DEVNULL) -> "subprocess.Popen[bytes]":
    """Start a git command that only reads. Raises OSError if it cannot be started."""
    return subprocess.Popen(
        readonly_git_command(folder, *arguments),
        cwd=folder,
        env=readonly_git_environment(),
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def _communicate(process: "subprocess.Popen[bytes]", stdin: bytes | None) -> tuple[bytes, bytes]:
    try:
        return process.communicate(stdin, timeout=_GIT_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.communicate()


MAX_FILE_BYTES = 20_000_000
"""Larger files are not copied, so /undo cannot restore them."""
MAX_COPIED_BYTES = 200_000_000
"""Maximum number of bytes copied in one scan; later scans copy the rest."""
MAX_COPY_S = 3.0
"""Maximum time that the copies may delay a command; later scans copy the rest."""
MAX_FILES = 100_000
"""Files beyond this number are not scanned."""
_RACY_NS = 50_000_000
"""A file written this shortly before it was read gets no signature: another write in the same tick of the file system's
clock would not change its times."""
_CLIO_FOLDER = ".clio"

FileLister = Callable[[Path], Sequence[str]]
"""Lists the files of a folder outside git, links included, without ignored ones."""


class ScanCache(Struct, frozen=True, kw_only=True):
    """The state of a workspace at the last scan; only a cache, so it may be deleted at any time.

    Attributes:
        key: result of `GitTree.get_index_key` for the index from which the other fields were made.
    """

    key: tuple[int, ...] = ()
    blobs: dict[str, str] = {}
    special: frozenset[str] = frozenset()
    submodules: tuple[str, ...] = ()
    clean: dict[str, CleanFile] = {}
    rows: dict[str, ScannedFile] = {}
    missing: frozenset[str] = msgspec.field(default=frozenset(), name="gone")


class Scanner:
    """Scans one workspace repeatedly.

    Args:
        root: the workspace; absolute, with links resolved.
        excluded: folders in the workspace that are not covered, such as clio's own.
        max_copies_bytes: maximum size of the copies of present files. It is less than the size of the object store,
            which also contains earlier versions.
    """

    def __init__(
        self,
        root: Path,
        objects: ObjectStore,
        list_files: FileLister,
        excluded: Sequence[Path] = (),
        *,
        max_copies_bytes: int = MAX_COPIED_BYTES,
    ) -> None:
        self._root = root
        self._prefix = str(root).rstrip(os.sep) + os.sep
        self._objects = objects
        self._list_files = list_files
        self._max_copies_bytes = max_copies_bytes
        self._excluded = (_CLIO_FOLDER + "/", *_list_relative_folders(root, excluded))
        self._git: GitTree | None = None
        self._has_detected_git = False
        self.cache = ScanCache()

    def detect_git(self) -> None:
        """Determine once whether the workspace is a git working tree."""
        if not self._has_detected_git:
            self._git, self._has_detected_git = find_git_tree(self._root), True

    def scan(self, copying_s: float = MAX_COPY_S) -> WorkspaceSnapshot:
        """Return a snapshot of the workspace, and copy content that git does not have to the object store.

        Args:
            copying_s: maximum time for the copies, in seconds.

        Raises:
            StorageError, OSError.
        """
        if self._git is not None and not self._git.get_index_key():
            self._has_detected_git = False
        self.detect_git()
        copied_bytes = sum(
            row.size for row in self.cache.rows.values() if row.id and not row.id.startswith(NOT_STORED_PREFIX)
        )
        budget = _Budget(min(MAX_COPIED_BYTES, self._max_copies_bytes - copied_bytes), copying_s)
        return self._scan_with_git(self._git, budget) if self._git else self._scan_without_git(budget)

    def forget_copies(self) -> None:
        """Forget the scanned files, so that the next scan reads and copies them again.

        Call this after copies were deleted to make room.
        """
        self.cache = _replace_rows(self.cache, {}, self.cache.missing)

    def is_too_large(self, size: int) -> bool:
        """Whether a file of this size is never copied."""
        return size > MAX_FILE_BYTES

    def store_states(self, files: Sequence[ScannedFile | CleanFile | None]) -> list[FileState | None]:
        """Return the states of snapshot files with their content in the object store, copied from git if necessary.

        Raises StorageError, OSError.
        """
        blobs = {file.blob for file in files if file is not None and _is_in_git(file)}
        data = self._git.read_objects(blobs) if self._git and blobs else {}
        return [None if file is None else self._make_state(file, data.get(file.blob)) for file in files]

    def _make_state(self, file: ScannedFile | CleanFile, data: bytes | None) -> FileState:
        if not _is_in_git(file):
            return FileState(mode=file.mode, size=file.size, id=file.id, link=file.link)  # pyright: ignore
        if data is None or len(data) != file.size:
            return FileState(mode=file.mode, size=file.size, id=f"{NOT_STORED_PREFIX}{file.blob}")
        return FileState(mode=file.mode, size=file.size, id=self._objects.put(data))

    def _scan_with_git(self, git: GitTree, budget: "_Budget") -> WorkspaceSnapshot:
        self._read_index(git)
        changed = git.list_changed()
        cache = self.cache
        special = {path for path in cache.special if path not in changed.missing}
        paths = sorted(path for path in changed.touched | special | changed.others if self._is_covered(path))
        sample_name = next(iter(cache.blobs.values()), "0" * 40)
        rows = self._scan_files(paths[:MAX_FILES], budget, sample_name)
        missing = changed.missing | {path for path in paths if path not in rows}
        self.cache = _replace_rows(cache, rows, missing)
        excess_count = max(0, len(paths) - MAX_FILES)
        return WorkspaceSnapshot(cache.clean, rows, missing, (*cache.submodules, *changed.repositories), excess_count)

    def _read_index(self, git: GitTree) -> None:
        """Update the cache from git's index, if the index has changed.

        A file counts as clean only if it has the size of its blob: otherwise a filter changed it on checkout.
        """
        key = git.get_index_key()
        if key == self.cache.key:
            return
        tracked = git.list_tracked()
        clean = {path: file for path, file in self.cache.clean.items() if tracked.blobs.get(path) == file.blob}
        new = {path: blob for path, blob in tracked.blobs.items() if path not in clean and self._is_covered(path)}
        sizes = git.read_object_sizes(list(dict.fromkeys(new.values()))) if new else {}
        for path, blob in new.items():
            try:
                status = os.lstat(self._prefix + path)
            except OSError:  # missing from the working tree, or in an unreadable folder
                continue
            # Git may compare times by the second, so a file changed in the same second as the index, or later, cannot
            # be known to be clean.
            is_settled = bool(key) and int(status.st_ctime) < key[0] // 1_000_000_000
            if is_settled and stat.S_ISREG(status.st_mode) and sizes.get(blob) == status.st_size:
                clean[path] = CleanFile(blob, stat.S_IMODE(status.st_mode), status.st_size)
        dirty = frozenset(path for path in tracked.blobs if path not in clean and self._is_covered(path))
        self.cache = ScanCache(
            key=key,
            blobs=tracked.blobs,
            special=tracked.special | dirty,
            submodules=tracked.submodules,
            clean=clean,
            rows=self.cache.rows,
        )

    def _scan_without_git(self, budget: "_Budget") -> WorkspaceSnapshot:
        listed = [path for path in self._list_files(self._root) if self._is_covered(path)]
        rows = self._scan_files(listed[:MAX_FILES], budget, "")
        self.cache = ScanCache(rows=rows)
        return WorkspaceSnapshot({}, rows, excess_count=max(0, len(listed) - MAX_FILES))

    def _scan_files(self, paths: Sequence[str], budget: "_Budget", sample_name: str) -> dict[str, ScannedFile]:
        rows: dict[str, ScannedFile] = {}
        old_rows, prefix, lstat = self.cache.rows, self._prefix, os.lstat
        for path in paths:
            known = old_rows.get(path)
            if known is not None and known.signature and not known.id.startswith(NOT_STORED_PREFIX):
                # Fast path for most files: an untouched file costs one stat call.
                try:
                    untouched = known.signature == make_signature(lstat(prefix + path))
                except OSError:  # deleted meanwhile
                    continue
                if untouched:
                    rows[path] = known
                    continue
            row = self._scan_file(path, known, budget, sample_name)
            if row is not None:
                rows[path] = row
        return rows

    def _scan_file(
        self, path: str, known: ScannedFile | None, budget: "_Budget", sample_name: str
    ) -> ScannedFile | None:
        """Return a file after reading and, if necessary, copying it; None if it is not covered, such as a pipe."""
        full_path = self._prefix + path
        now = time.time_ns()
        try:
            status = os.lstat(full_path)
            if stat.S_ISLNK(status.st_mode):
                target = os.readlink(full_path)  # noqa: PTH115 - speed
                return ScannedFile((), 0o777, 0, "", "", target) if _is_unicode(target) else None
            if not stat.S_ISREG(status.st_mode):
                return None
            signature = make_signature(status)
            fits = budget.allows(status.st_size)
            if (
                known is not None
                and known.signature == signature
                and (not fits or not known.id.startswith(NOT_STORED_PREFIX))
            ):
                return known
            mode = stat.S_IMODE(status.st_mode)
            if not fits:
                return ScannedFile(
                    signature, mode, status.st_size, f"{NOT_STORED_PREFIX}{status.st_size}-{status.st_mtime_ns}"
                )
            with open(full_path, "rb") as file:  # noqa: PTH123 - speed
                data = file.read(MAX_FILE_BYTES + 1)
        except OSError:  # deleted meanwhile, or not readable
            return None
        if max(status.st_mtime_ns, status.st_ctime_ns) > now - _RACY_NS:
            signature = ()
        blob = compute_blob_name(data, sample_name) if sample_name else ""
        if blob and blob == self.cache.blobs.get(path):
            return ScannedFile(signature, mode, len(data), "", blob)
        budget.bytes_left -= len(data)
        return ScannedFile(signature, mode, len(data), self._objects.put(data), blob)

    def _is_covered(self, path: str) -> bool:
        """Whether a path is covered; file names that are not valid Unicode cannot be written to the change log."""
        return not path.startswith(self._excluded) and (path.isascii() or _is_unicode(path))


class _Budget:
    """The bytes and seconds left for copying."""

    def __init__(self, bytes_left: int, seconds: float) -> None:
        self.bytes_left = bytes_left
        self._deadline = time.monotonic() + seconds

    def allows(self, size: int) -> bool:
        return size <= min(self.bytes_left, MAX_FILE_BYTES) and time.monotonic() < self._deadline


def read_file_state(path: Path, objects: ObjectStore, *, store_content: bool) -> FileState | None:
    """Return the present state of the file at an absolute path; None if there is no file or link.

    Args:
        store_content: copy the content to the object store; otherwise only its name there is computed.

    Raises:
        OSError: if it cannot be read.
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
        return FileState(mode=mode, size=status.st_size, id=f"{NOT_STORED_PREFIX}{status.st_size}-{status.st_mtime_ns}")
    data = path.read_bytes()
    return FileState(mode=mode, size=len(data), id=objects.put(data) if store_content else compute_object_id(data))


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _is_in_git(file: ScannedFile | CleanFile) -> bool:
    return isinstance(file, CleanFile) or (not file.id and file.link is None)


def _replace_rows(cache: ScanCache, rows: dict[str, ScannedFile], missing: frozenset[str]) -> ScanCache:
    return ScanCache(
        key=cache.key,
        blobs=cache.blobs,
        special=cache.special,
        submodules=cache.submodules,
        clean=cache.clean,
        rows=rows,
        missing=missing,
    )


def _list_relative_folders(root: Path, folders: Sequence[Path]) -> list[str]:
    """Return folders of the workspace as relative paths with a trailing slash."""
    return [folder.relative_to(root).as_posix() + "/" for folder in folders if root in folder.parents]


SCAN_CACHE_NAME = "seen.msgpack"
_VERSION = 1


class _StoredCache(Struct, kw_only=True):
    version: int
    id: str
    cache: ScanCache = msgspec.field(name="seen")


class ScanCacheFile:
    """The cache file of one workspace.

    It has no lock: if several processes write it, the last one wins, which is safe for a cache.

    Args:
        folder: the directory of the file; None to store nothing.
    """

    def __init__(self, folder: Path | None) -> None:
        self.path = folder / SCAN_CACHE_NAME if folder else None
        self._stored: _StoredCache | None = None

    def load(self) -> tuple[str, ScanCache]:
        """Return the id and the content of the stored cache; "" and an empty cache if it cannot be read."""
        stored = _read_cache_file(self.path) if self.path else None
        if stored is None:
            return "", ScanCache()
        self._stored = stored
        return stored.id, stored.cache

    def was_deleted(self) -> bool:
        """Whether the file was deleted since the last access; the copies it names may be deleted, too.

        Returns True only once per deletion.
        """
        if self._stored is None or self.path is None or self.path.exists():
            return False
        self._stored = None
        return True

    def save(self, cache: ScanCache) -> str:
        """Write the cache if it differs from the stored one, and return its id. Raises OSError."""
        stored = self._stored
        if stored is None or stored.cache != cache:
            stored = self._stored = _StoredCache(version=_VERSION, id=new_id(), cache=cache)
            if self.path is not None:
                make_folder(self.path.parent)
                write_atomic(self.path, msgspec.msgpack.encode(stored), durable=False)
        return stored.id


def list_scan_cache_ids(path: Path) -> Iterable[str]:
    """Return the ids of the objects that a cache file refers to."""
    stored = _read_cache_file(path)
    rows = stored.cache.rows.values() if stored else ()
    return (row.id for row in rows if row.id and not row.id.startswith(NOT_STORED_PREFIX))


def _read_cache_file(path: Path) -> _StoredCache | None:
    try:
        stored = msgspec.msgpack.decode(read_regular(path), type=_StoredCache)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None  # a cache may be lost
    return stored if stored.version == _VERSION else None
