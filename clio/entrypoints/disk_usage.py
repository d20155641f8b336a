"""`clio gc`: the disk usage of `.clio` and `~/.clio` by kind of data, and deleting unneeded files."""

import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from clio.checkpoints.store_limits import count_excess_bytes, shrink_store
from clio.commands.arguments import join_arguments
from clio.commands.command import CommandResult, Table
from clio.commands.subcommands import GcRequest, parse_gc
from clio.config.loaded import LoadedConfig
from clio.config.paths import FOLDER_NAME, display_path, user_home
from clio.entrypoints.subcommand import ask_on_terminal, print_json, print_result
from clio.errors import ClioError, UserError
from clio.jobs.job_store import JOBS_FOLDER, Job, list_jobs, remove_job
from clio.sessions.state import JOURNAL_SUFFIX, SNAPSHOT_SUFFIX, SessionFiles, is_session_id
from clio.sessions.store import SessionStore
from clio.storage.files import read_regular
from clio.storage.locks import TEMP_FILE_NAME, FileLock, find_lock_owner, is_abandoned
from clio.text.formatting import format_bytes, remove_code_marks
from clio.text.translation import mark, tr

YOUNG_S = 3_600.0
"""Seconds. A file written more recently may be in use."""
DAMAGED_S = 7 * 86_400.0
"""Seconds for which damaged copies are kept, so that the user can recover data from them."""
CACHES = ("recall.sqlite", "vectors", "documents")
"""Prefixes of files in `cache/` that are rebuilt when needed."""
_HANDLE_CHARS = 16
_HANDLE = re.compile(rb"[0-9a-f]{16,}")


class RemovableFile(Struct, frozen=True, kw_only=True):
    """A file that is not needed. free: deletes it; raises OSError or ClioError if it is needed after all."""

    path: Path
    bytes: int
    free: Callable[[], object]


class DiskUsage(Struct, kw_only=True):
    """The files of one kind in one directory. removable: those that are not needed."""

    kind: str
    folder: Path
    bytes: int = 0
    files: int = 0
    removable: list[RemovableFile] = field(default_factory=list[RemovableFile])

    @property
    def removable_bytes(self) -> int:
        """Return the bytes of the files that are not needed."""
        return sum(file.bytes for file in self.removable)


class CleanupLimits(Struct, frozen=True, kw_only=True):
    """What may be deleted, by settings and flags. sessions_s: None keeps all sessions.

    jobs_s: age of ended jobs, counted from their end; None for a folder whose jobs are not those of the user.
    """

    checkpoint_bytes: int
    checkpoint_age_s: float
    caches: bool
    sessions_s: float | None
    jobs_s: float | None = None


class _SessionText:
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
    referenced: dict[str, _SessionText | None] = {}
    for path, status in _walk_files(folder):
        inside = path.relative_to(folder)
        kind = _classify_file(inside)
        usage = found.setdefault(kind, DiskUsage(kind=kind, folder=folder))
        usage.bytes += status.st_size
        usage.files += 1
        age = now - status.st_mtime
        if _is_removable(kind, path, folder, age, limits, referenced):
            free = _make_lock_deleter(path) if kind == "locks" else path.unlink
            usage.removable.append(RemovableFile(path=path, bytes=status.st_size, free=free))
    if limits.sessions_s is not None:
        _add_old_sessions(folder, found, now - limits.sessions_s)
    if limits.jobs_s is not None and "jobs" in found:
        found["jobs"].removable += _list_old_jobs(folder, now - limits.jobs_s)
    store = folder / "checkpoints"
    if "copies of files for /undo" in found:
        most, oldest = limits.checkpoint_bytes, limits.checkpoint_age_s
        if excess_bytes := count_excess_bytes(store, max_bytes=most, max_age_s=oldest, now=now):
            free = lambda: shrink_store(store, max_bytes=most, max_age_s=oldest, now=time.time())  # noqa: E731
            found["copies of files for /undo"].removable.append(
                RemovableFile(path=store, bytes=excess_bytes, free=free)
            )
    return sorted(found.values(), key=lambda usage: -usage.bytes)


def _walk_files(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    for top, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not (Path(top) / name).is_symlink())
        for name in sorted(names):
            path = Path(top) / name
            with suppress(OSError):
                yield path, path.lstat()


def _classify_file(inside: Path) -> str:
    name, first = inside.name, inside.parts[0]
    if first == "plugins" and len(inside.parts) > 2:
        return mark("plugins")  # whatever its files are called: without one of them the plugin is off
    if TEMP_FILE_NAME.fullmatch(name):
        return mark("unfinished writes")
    if name.endswith(".lock"):
        return mark("locks")
    if first == "checkpoints":
        return mark("copies of files for /undo")
    if first == JOBS_FOLDER and len(inside.parts) > 2:
        return mark("jobs")
    if ".corrupt-" in name:
        return mark("damaged copies")
    if first == "sessions":
        return mark("outputs of tools") if len(inside.parts) > 2 else mark("sessions")
    return mark("caches") if first == "cache" else mark("memory and settings")


def _is_removable(
    kind: str, path: Path, folder: Path, age_s: float, limits: CleanupLimits, referenced: dict[str, _SessionText | None]
) -> bool:
    if age_s < YOUNG_S:
        return False
    match kind:
        case "unfinished writes":
            return is_abandoned(path)
        case "locks":
            return find_lock_owner(path) is None
        case "damaged copies":
            return age_s >= DAMAGED_S
        case "caches":
            return limits.caches and path.relative_to(folder / "cache").parts[0].startswith(CACHES)
        case "outputs of tools":
            return _is_orphaned_output(path, folder / "sessions", referenced)
        case _:
            return False


def _is_orphaned_output(path: Path, sessions: Path, referenced: dict[str, _SessionText | None]) -> bool:
    """Whether no session mentions the output: the session was deleted, or clio was killed before it recorded the
    output.
    """
    inside = path.relative_to(sessions)
    if len(inside.parts) != 3 or inside.parts[1] != "blobs" or not is_session_id(inside.parts[0]):
        return not _session_exists(SessionFiles(sessions, inside.parts[0]))
    files = SessionFiles(sessions, inside.parts[0])
    if files.id not in referenced:
        texts = None if find_lock_owner(files.lock) else _read_session_texts(files)
        referenced[files.id] = None if texts is None else _SessionText(texts)
    named = referenced[files.id]
    return named is not None and not named.has(path.name[:_HANDLE_CHARS].encode())


def _session_exists(files: SessionFiles) -> bool:
    return any(files.folder.glob(f"{files.id}{SNAPSHOT_SUFFIX}*")) or any(
        files.folder.glob(f"{files.id}{JOURNAL_SUFFIX}*")
    )


def _read_session_texts(files: SessionFiles) -> bytes | None:
    """Return the bytes of a session's files, including damaged copies; None if one cannot be read."""
    parts = sorted(
        (*files.folder.glob(f"{files.id}{SNAPSHOT_SUFFIX}*"), *files.folder.glob(f"{files.id}{JOURNAL_SUFFIX}*"))
    )
    try:
        return b"\n".join(read_regular(path) for path in parts)
    except OSError:
        return None


def _make_lock_deleter(path: Path) -> Callable[[], None]:
    def free() -> None:
        lock = FileLock(path)  # another process may take the lock meanwhile; only its holder deletes the file
        if lock.acquire():
            lock.release()

    return free


def _add_old_sessions(folder: Path, found: dict[str, DiskUsage], before: float) -> None:
    store = SessionStore(folder / "sessions")
    for info in store.list():
        files = SessionFiles(store.folder, info.id)
        if info.updated_at >= before or find_lock_owner(files.lock) is not None:
            continue
        size = sum(path.lstat().st_size for path in store.folder.glob(f"{info.id}.*"))
        size += sum(status.st_size for _, status in _walk_files(files.attachments))
        usage = found.setdefault("sessions", DiskUsage(kind="sessions", folder=folder))
        usage.removable.append(
            RemovableFile(path=files.snapshot, bytes=size, free=_make_session_deleter(store, info.id))
        )


def _list_old_jobs(home: Path, before: float) -> list[RemovableFile]:
    """Return the folders of jobs that ended, or were last heard of, before this time."""
    found: list[RemovableFile] = []
    for job in list_jobs(home):
        last = max((event.at for event in job.events), default=job.record.created)
        if not job.is_active and last < before:
            size = sum(status.st_size for _, status in _walk_files(job.folder))
            found.append(RemovableFile(path=job.folder, bytes=size, free=partial(_delete_job, job)))
    return found


def _delete_job(job: Job) -> None:
    with suppress(UserError):  # started meanwhile
        remove_job(job)


def _make_session_deleter(store: SessionStore, id: str) -> Callable[[], None]:
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
        raise UserError(tr("incognito mode deletes nothing; leave out --incognito"))
    usages = measure_disk_usage(loaded, wanted)
    removable_bytes = sum(usage.removable_bytes for usage in usages)
    frees = wanted.yes
    if not json:
        print_result(CommandResult(table=_make_usage_table(usages, loaded)), "")
        if removable_bytes and not frees and not loaded.config.incognito:
            answer = ask_on_terminal(tr("\nDelete {bytes}? [y/N] ", bytes=format_bytes(removable_bytes)))
            frees = (answer or "").strip().lower() in ("y", "yes")
    freed, problems = _delete_files(usages) if frees else (0, [])
    if json:
        print_json(CommandResult(text="", data=_make_data(usages, freed, problems)))
    else:
        print_result(
            CommandResult(text=""), remove_code_marks(_summarize(removable_bytes, freed, problems, asked=frees))
        )
    if problems:
        raise ClioError(
            tr(
                "{count} could not be deleted, such as {problems}; check the folder's permissions",
                count=len(problems),
                problems=problems[0],
            )
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
    home_limits = replace(limits, jobs_s=config.job_days * _DAY_S)
    folders = dict.fromkeys((loaded.main_project / FOLDER_NAME, loaded.home))
    now = time.time()
    return [
        usage
        for folder in folders
        if folder.is_dir()
        for usage in measure_folder(folder, home_limits if folder == loaded.home else limits, now)
    ]


def _delete_files(usages: Sequence[DiskUsage]) -> tuple[int, list[str]]:
    """Delete unneeded files; return the bytes freed, and what could not be deleted."""
    freed = 0
    problems: list[str] = []
    for usage in usages:
        for file in usage.removable:
            try:
                file.free()
                freed += file.bytes
            except FileNotFoundError:
                continue  # deleted together with something else
            except (OSError, ClioError) as error:
                problems.append(f"{file.path.name}: {getattr(error, 'strerror', None) or error}")
        if usage.kind == "outputs of tools":
            _drop_empty_folders(usage)
    return freed, problems


def _drop_empty_folders(usage: DiskUsage) -> None:
    for folder in sorted({file.path.parent for file in usage.removable}, reverse=True):
        try:
            folder.rmdir()
            folder.parent.rmdir()
        except OSError:
            continue  # not empty


def _make_usage_table(usages: Sequence[DiskUsage], loaded: LoadedConfig) -> Table:
    home_folder = user_home(os.environ)
    rows = [
        (
            display_path(usage.folder, project=loaded.main_project, user_home=home_folder),
            tr(usage.kind),
            f"{usage.files:,}",
            format_bytes(usage.bytes),
            tr("{bytes} in {count:,}", bytes=format_bytes(usage.removable_bytes), count=len(usage.removable))
            if usage.removable
            else "",
        )
        for usage in usages
    ]
    return Table(
        columns=(tr("folder"), tr("kind"), tr("files"), tr("size"), tr("can be freed")), rows=tuple(rows), wide_column=1
    )


def _make_data(usages: Sequence[DiskUsage], freed: int, problems: Sequence[str]) -> dict[str, object]:
    rows = [
        {
            "folder": str(usage.folder),
            "kind": usage.kind,
            "files": usage.files,
            "bytes": usage.bytes,
            "can_be_freed": {"count": len(usage.removable), "bytes": usage.removable_bytes},
        }
        for usage in usages
    ]
    return {"usages": rows, "can_be_freed_bytes": sum(usage.removable_bytes for usage in usages), "freed_bytes": freed,
            "problems": list(problems)}  # fmt: skip


def _summarize(removable_bytes: int, freed: int, problems: Sequence[str], *, asked: bool) -> str:
    if asked and (removable_bytes or freed or problems):
        return (
            tr("Freed {bytes}.", bytes=format_bytes(freed))
            if not problems
            else tr("Freed {bytes}; not all could be deleted.", bytes=format_bytes(freed))
        )
    if removable_bytes:
        return tr(
            "{bytes} can be freed; nothing was deleted. `clio gc --yes` deletes it.",
            bytes=format_bytes(removable_bytes),
        )
    return tr("Nothing to clean up.")
