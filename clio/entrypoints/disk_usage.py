"""`clio gc`: the disk usage of `.clio` and `~/.clio` by kind of data, and deleting unneeded files."""

import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct, field

from clio.checkpoints.store_limits import count_excess_bytes, shrink_store
from clio.commands.arguments import join_arguments
from clio.commands.command import CommandResult, Table
from clio.commands.subcommands import GcRequest, parse_gc
from clio.config.loaded import LoadedConfig
from clio.config.paths import FOLDER_NAME, display_path, user_home
from clio.entrypoints.subcommand import ask_on_terminal, print_json, print_result, remove_code_marks
from clio.errors import ClioError, UserError
from clio.sessions.state import JOURNAL, SNAPSHOT, SessionFiles, is_session_id
from clio.sessions.store import SessionStore
from clio.storage.files import read_regular
from clio.storage.locks import TEMP_FILE_NAME, FileLock, find_lock_owner, is_abandoned
from clio.text.formatting import format_bytes

YOUNG_S = 3_600.0
"""Seconds. A file written more recently may be in use."""
DAMAGED_S = 7 * 86_400.0
"""Seconds for which damaged copies are kept, so that the user can recover data from them."""
CACHES = ("recall.sqlite", "vectors", "documents")
"""Prefixes of files in `cache/` that are rebuilt when needed."""
_HANDLE_CHARS = 16
_HANDLE = re.compile(rb"[0-9a-f]{16,}")


class RemovableFile(Struct, frozen=True, kw_only=True):
    """Something that may be deleted. free: deletes it; raises OSError or ClioError if it is needed after all."""

    path: Path
    bytes: int
    free: Callable[[], object]


class DiskUsage(Struct, kw_only=True):
    """The files of one kind in one directory. waste: those that may be deleted."""

    kind: str
    folder: Path
    bytes: int = 0
    files: int = 0
    removable: list[RemovableFile] = field(default_factory=list[RemovableFile])

    @property
    def removable_bytes(self) -> int:
        """Bytes that may be deleted."""
        return sum(one.bytes for one in self.removable)


class CleanupLimits(Struct, frozen=True, kw_only=True):
    """What may be deleted, by settings and flags. sessions_s: None keeps all sessions."""

    checkpoint_bytes: int
    checkpoint_age_s: float
    caches: bool
    sessions_s: float | None


class _Named:
    """The text of a session, to look up output handles: in a set first, in the whole text only if missing there."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._handles = {found[:_HANDLE_CHARS] for found in _HANDLE.findall(text)}

    def has(self, handle: bytes) -> bool:
        """Whether the session mentions the handle."""
        return handle in self._handles or handle in self._text


def measure_folder(folder: Path, limits: CleanupLimits, now: float) -> list[DiskUsage]:
    """List the files in one `.clio` directory by kind, largest first. Changes nothing; links are not followed."""
    found: dict[str, DiskUsage] = {}
    referenced: dict[str, _Named | None] = {}
    for path, status in _files(folder):
        inside = path.relative_to(folder)
        what = _kind(inside)
        heap = found.setdefault(what, DiskUsage(kind=what, folder=folder))
        heap.bytes += status.st_size
        heap.files += 1
        age = now - status.st_mtime
        if _is_removable(what, path, folder, age, limits, referenced):
            free = _unlock(path) if what == "locks" else path.unlink
            heap.removable.append(RemovableFile(path=path, bytes=status.st_size, free=free))
    if limits.sessions_s is not None:
        _old_sessions(folder, found, now - limits.sessions_s)
    store = folder / "checkpoints"
    if "copies of files for /undo" in found:
        most, oldest = limits.checkpoint_bytes, limits.checkpoint_age_s
        if beyond := count_excess_bytes(store, max_bytes=most, max_age_s=oldest, now=now):
            free = lambda: shrink_store(store, max_bytes=most, max_age_s=oldest, now=time.time())  # noqa: E731
            found["copies of files for /undo"].removable.append(RemovableFile(path=store, bytes=beyond, free=free))
    return sorted(found.values(), key=lambda heap: -heap.bytes)


def _files(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    for top, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not (Path(top) / name).is_symlink())
        for name in sorted(names):
            path = Path(top) / name
            with suppress(OSError):
                yield path, path.lstat()


def _kind(inside: Path) -> str:
    name, first = inside.name, inside.parts[0]
    if TEMP_FILE_NAME.fullmatch(name):
        return "unfinished writes"
    if name.endswith(".lock"):
        return "locks"
    if first == "checkpoints":
        return "copies of files for /undo"
    if ".corrupt-" in name:
        return "damaged copies"
    if first == "sessions":
        return "outputs of tools" if len(inside.parts) > 2 else "sessions"
    return "caches" if first == "cache" else "memory and settings"


def _is_removable(
    what: str, path: Path, folder: Path, age_s: float, limits: CleanupLimits, referenced: dict[str, _Named | None]
) -> bool:
    if age_s < YOUNG_S:
        return False
    match what:
        case "unfinished writes":
            return is_abandoned(path)
        case "locks":
            return find_lock_owner(path) is None
        case "damaged copies":
            return age_s >= DAMAGED_S
        case "caches":
            return limits.caches and path.relative_to(folder / "cache").parts[0].startswith(CACHES)
        case "outputs of tools":
            return _is_orphan(path, folder / "sessions", referenced)
        case _:
            return False


def _is_orphan(path: Path, sessions: Path, referenced: dict[str, _Named | None]) -> bool:
    """Whether no session mentions the output: the session was deleted, or clio was killed before it recorded the
    output.
    """
    inside = path.relative_to(sessions)
    if len(inside.parts) != 3 or inside.parts[1] != "blobs" or not is_session_id(inside.parts[0]):
        return not _is_known(SessionFiles(sessions, inside.parts[0]))
    files = SessionFiles(sessions, inside.parts[0])
    if files.id not in referenced:
        texts = None if find_lock_owner(files.lock) else _texts(files)
        referenced[files.id] = None if texts is None else _Named(texts)
    named = referenced[files.id]
    return named is not None and not named.has(path.name[:_HANDLE_CHARS].encode())


def _is_known(files: SessionFiles) -> bool:
    return any(files.folder.glob(f"{files.id}{SNAPSHOT}*")) or any(files.folder.glob(f"{files.id}{JOURNAL}*"))


def _texts(files: SessionFiles) -> bytes | None:
    """Return the bytes of a session's files, including damaged copies; None if one cannot be read."""
    parts = sorted((*files.folder.glob(f"{files.id}{SNAPSHOT}*"), *files.folder.glob(f"{files.id}{JOURNAL}*")))
    try:
        return b"\n".join(read_regular(path) for path in parts)
    except OSError:
        return None


def _unlock(path: Path) -> Callable[[], None]:
    def free() -> None:
        lock = FileLock(path)  # another process may take the lock meanwhile; only its holder deletes the file
        if lock.acquire():
            lock.release()

    return free


def _old_sessions(folder: Path, found: dict[str, DiskUsage], before: float) -> None:
    store = SessionStore(folder / "sessions")
    for info in store.list():
        files = SessionFiles(store.folder, info.id)
        if info.updated_at >= before or find_lock_owner(files.lock) is not None:
            continue
        size = sum(path.lstat().st_size for path in store.folder.glob(f"{info.id}.*"))
        size += sum(status.st_size for _, status in _files(files.attachments))
        heap = found.setdefault("sessions", DiskUsage(kind="sessions", folder=folder))
        heap.removable.append(RemovableFile(path=files.snapshot, bytes=size, free=_deleter(store, info.id)))


def _deleter(store: SessionStore, id: str) -> Callable[[], None]:
    def free() -> None:
        with suppress(ClioError):  # deleted with its parent, or opened meanwhile
            store.delete(id)

    return free


_DAY_S = 86_400.0


def run_gc(loaded: LoadedConfig, words: Sequence[str], *, json: bool) -> int:
    """Run `clio gc` with its arguments. Returns 0.

    json: print one JSON document, and never ask. Raises UserError for invalid arguments, ClioError if it failed.
    """
    wanted = parse_gc(join_arguments(words))
    if loaded.config.incognito and wanted.yes:
        raise UserError("an incognito clio changes nothing on disk, so it frees nothing; leave out --incognito")
    heaps = measure_disk_usage(loaded, wanted)
    waste = sum(heap.removable_bytes for heap in heaps)
    frees = wanted.yes
    if not json:
        print_result(CommandResult(table=_table(heaps, loaded)), "")
        if waste and not frees and not loaded.config.incognito:
            answer = ask_on_terminal(f"\nFree {format_bytes(waste)}? [y/N] ")
            frees = (answer or "").strip().lower() in ("y", "yes")
    freed, problems = _free(heaps) if frees else (0, [])
    if json:
        print_json(CommandResult(text="", data=_data(heaps, freed, problems)))
    else:
        print_result(CommandResult(text=""), remove_code_marks(_summarize(waste, freed, problems, asked=frees)))
    if problems:
        raise ClioError(
            f"{len(problems)} could not be deleted, such as {problems[0]}; look at the rights of the folder"
        )
    return 0


def measure_disk_usage(loaded: LoadedConfig, wanted: GcRequest) -> list[DiskUsage]:
    """List the files in both of clio's directories, and which of them may be deleted; changes nothing."""
    config = loaded.config
    limits = CleanupLimits(
        checkpoint_bytes=config.checkpoint_mb * 1_000_000,
        checkpoint_age_s=config.checkpoint_days * _DAY_S,
        caches=wanted.caches,
        sessions_s=wanted.sessions_s,
    )
    folders = dict.fromkeys((loaded.main_project / FOLDER_NAME, loaded.home))
    now = time.time()
    return [heap for folder in folders if folder.is_dir() for heap in measure_folder(folder, limits, now)]


def _free(heaps: Sequence[DiskUsage]) -> tuple[int, list[str]]:
    """Delete unneeded files; return the bytes freed, and what could not be deleted."""
    freed = 0
    problems: list[str] = []
    for heap in heaps:
        for one in heap.removable:
            try:
                one.free()
                freed += one.bytes
            except FileNotFoundError:
                continue  # deleted together with something else
            except (OSError, ClioError) as error:
                problems.append(f"{one.path.name}: {getattr(error, 'strerror', None) or error}")
        if heap.kind == "outputs of tools":
            _drop_empty_folders(heap)
    return freed, problems


def _drop_empty_folders(heap: DiskUsage) -> None:
    for folder in sorted({one.path.parent for one in heap.removable}, reverse=True):
        try:
            folder.rmdir()
            folder.parent.rmdir()
        except OSError:
            continue  # not empty


def _table(heaps: Sequence[DiskUsage], loaded: LoadedConfig) -> Table:
    home_folder = user_home(os.environ)
    rows = [
        (
            display_path(heap.folder, project=loaded.main_project, user_home=home_folder),
            heap.kind,
            f"{heap.files:,}",
            format_bytes(heap.bytes),
            f"{format_bytes(heap.removable_bytes)} in {len(heap.removable):,}" if heap.removable else "",
        )
        for heap in heaps
    ]
    return Table(columns=("folder", "what", "files", "size", "may go"), rows=tuple(rows), wide_column=1)


def _data(heaps: Sequence[DiskUsage], freed: int, problems: Sequence[str]) -> dict[str, object]:
    rows = [
        {
            "folder": str(heap.folder),
            "what": heap.kind,
            "files": heap.files,
            "bytes": heap.bytes,
            "may_go": {"count": len(heap.removable), "bytes": heap.removable_bytes},
        }
        for heap in heaps
    ]
    return {"heaps": rows, "may_go_bytes": sum(heap.removable_bytes for heap in heaps), "freed_bytes": freed,
            "problems": list(problems)}  # fmt: skip


def _summarize(waste: int, freed: int, problems: Sequence[str], *, asked: bool) -> str:
    if asked and (waste or freed or problems):
        return (
            f"Freed {format_bytes(freed)}."
            if not problems
            else f"Freed {format_bytes(freed)}; not all could be deleted."
        )
    if waste:
        return f"{format_bytes(waste)} may go; nothing was deleted. `clio gc --yes` frees it."
    return "Nothing may go."
