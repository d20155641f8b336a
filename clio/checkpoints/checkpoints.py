"""Record what turns do to files, undo or redo it, and finish a restore that a killed process began."""

import os
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec import Struct

from clio.checkpoints.checkpoint_store import (
    NOT_STORED_PREFIX,
    REFUSED_VERDICTS,
    Change,
    ChangeLog,
    ChangeRecord,
    DiskChangeLog,
    DiskIntents,
    DiskObjectStore,
    FileState,
    Intent,
    Intents,
    MemoryChangeLog,
    MemoryObjectStore,
    NoIntents,
    ObjectStore,
    RecordKind,
    RestoreStep,
    TurnChanges,
    TurnRef,
    find_redoable,
    get_project_folder_in_store,
    judge_step,
    list_turns,
    list_undone_turns,
    plan_undo,
)
from clio.checkpoints.workspace_scan import (
    MAX_COPY_S,
    MAX_FILES,
    FileLister,
    ScanCacheFile,
    Scanner,
    WorkspaceSnapshot,
    list_changed_paths,
    read_file_state,
)
from clio.errors import ClioError, UserError
from clio.ids import new_id
from clio.storage.documents import set_file_aside
from clio.storage.files import make_folder, read_regular, sync_folder, write_atomic
from clio.storage.locks import FileLock, delete_abandoned_files, error_cause
from clio.text.json_data import decode_json
from clio.text.translation import mark, tr, tr_count

if TYPE_CHECKING:
    from clio.checkpoints.store_limits import StoreUsage


class RestoreResult(Struct, frozen=True, kw_only=True):
    """The result of a restore. skipped: files that were not changed, each with the reason as the end of a sentence."""

    record: ChangeRecord
    skipped: tuple[tuple[str, str], ...] = ()


def resolve_path(root: Path, path: str) -> Path:
    """Return the absolute path of a path in a `Change`."""
    return root / path


def is_redirected_by_link(root: Path, path: str) -> bool:
    """Whether a link among the parent folders redirects the path, so that it must not be written."""
    parent = resolve_path(root, path).parent
    return os.path.realpath(parent) != str(parent)


def restore_files(root: Path, record: ChangeRecord, objects: ObjectStore) -> RestoreResult:
    """Apply a record: change each file from its `before` to its `after` state. Files already in that state are skipped.

    Order: remove files, remove folders, create folders, write files. A file in neither state is left alone.
    """
    applied: list[Change] = []
    skipped: list[tuple[str, str]] = []
    created: list[str] = []
    deletions = [change for change in record.changes if change.after is None]
    writes = [change for change in record.changes if change.after is not None]
    for change in reversed(deletions):
        _apply_change(root, change, objects, created, applied, skipped)
    removed = [folder for folder in reversed(record.removed_folders) if _remove_folder(root, folder)]
    for folder in record.created_folders:
        with suppress(OSError):  # an empty folder left behind loses no data
            if not is_redirected_by_link(root, folder):
                _create_folders(resolve_path(root, folder), root, created)
    for change in writes:
        _apply_change(root, change, objects, created, applied, skipped)
    applied.sort(key=lambda change: change.path)
    applied_record = msgspec.structs.replace(
        record, changes=tuple(applied), created_folders=tuple(created), removed_folders=tuple(reversed(removed))
    )
    return RestoreResult(record=applied_record, skipped=tuple(skipped))


def _apply_change(
    root: Path,
    change: Change,
    objects: ObjectStore,
    created: list[str],
    applied: list[Change],
    skipped: list[tuple[str, str]],
) -> None:
    path = resolve_path(root, change.path)
    try:
        current = read_file_state(path, objects, store_content=False)
        if is_redirected_by_link(root, change.path):
            skipped.append((change.path, tr("its folder is reached through a link")))
        elif current == change.after:
            applied.append(change)
        elif current != change.before:
            skipped.append((change.path, tr("it has just changed")))
        elif _write_state(root, path, change.after, objects, created):
            applied.append(change)
        else:
            skipped.append((change.path, tr("its earlier content is no longer stored")))
    except OSError as error:
        skipped.append((change.path, error.strerror or str(error)))


def _write_state(root: Path, path: Path, state: FileState | None, objects: ObjectStore, created: list[str]) -> bool:
    """Restore a file to a state; False if its content is missing."""
    if state is None:
        path.unlink()
        sync_folder(path.parent)
        return True
    data = b"" if state.link is not None else objects.get(state.id)
    if data is None:
        return False
    _create_folders(path.parent, root, created)
    if state.link is not None:
        temp = path.with_name(f"{path.name}.{os.urandom(6).hex()}.tmp")
        temp.symlink_to(state.link)
        temp.replace(path)  # symlink_to would not replace an existing file
        return True
    write_atomic(path, data, state.mode)
    if path.stat().st_mode & 0o7777 != state.mode:  # os.open applies the umask to the mode
        path.chmod(state.mode)
    return True


def _create_folders(folder: Path, root: Path, created: list[str]) -> None:
    missing = [parent for parent in (folder, *folder.parents) if not parent.is_dir()]
    for parent in reversed(missing):
        parent.mkdir()
        created.append(parent.relative_to(root).as_posix() if root in parent.parents else str(parent))


def _remove_folder(root: Path, folder: str) -> bool:
    """Remove a folder and return whether it no longer exists. A folder with new content is kept."""
    try:
        resolve_path(root, folder).rmdir()
    except OSError:
        return False
    return True


def list_missing_folders(root: Path, paths: Sequence[Path]) -> tuple[str, ...]:
    """Return the folders that writing these files will create, outermost first."""
    missing = {folder for path in paths for folder in path.parents if not folder.exists()}
    return tuple(
        folder.relative_to(root).as_posix() if root in folder.parents else str(folder) for folder in sorted(missing)
    )


_KIND_NAMES = {"undo": mark("an undo"), "redo": "a redo", "rewind": "a rewind", "turn": "a restore"}


class RestoreJournal:
    """The restores of one workspace, noted so that an interrupted one can be finished. folder: None keeps no note."""

    def __init__(self, folder: Path | None, root: Path, objects: ObjectStore, log: ChangeLog) -> None:
        self._path = folder / "restoring.json" if folder else None
        self._root = root
        self._objects = objects
        self._log = log

    def carry_out(self, record: ChangeRecord) -> RestoreResult:
        """Apply a record and log it. Raises OSError, or TimeoutError while another process restores files."""
        if self._path is None:
            return self._restore(record)
        make_folder(self._path.parent)
        with FileLock(self._path.with_suffix(".lock")):
            # The journal's line must not survive a power failure without the contents it names.
            self._objects.make_durable(
                state.id for change in record.changes for state in (change.before, change.after) if state is not None
            )
            write_atomic(self._path, msgspec.json.encode(record))
            return self._restore_and_clear(self._path, record)

    def finish(self) -> list[str]:
        """Finish interrupted restores. Returns a sentence for the user about each. Raises OSError."""
        if self._path is None or not self._path.exists():
            return []
        lock = FileLock(self._path.with_suffix(".lock"))
        if not lock.acquire():
            return []  # another process is restoring files at this moment
        try:
            record = decode_json(read_regular(self._path), type=ChangeRecord)
            restored = self._restore_and_clear(self._path, record)
            delete_abandoned_files([resolve_path(self._root, change.path) for change in record.changes], time.time())
        except FileNotFoundError:
            return []
        except (msgspec.DecodeError, UnicodeDecodeError):
            moved = set_file_aside(self._path)
            result = tr("was renamed to {moved!r}", moved=moved.name) if moved else tr("could not be renamed")
            return [tr("{path!r} cannot be read and {result}", path=str(self._path), result=result)]
        finally:
            lock.release()
        count = len(restored.record.changes)
        summary = tr(
            "{kind_names} that was interrupted has been finished: {files}",
            kind_names=tr(_KIND_NAMES[record.kind]),
            files=tr_count(count, "file"),
        )
        skipped = "".join(
            tr("; {path!r} was left unchanged: {why}", path=path, why=why) for path, why in restored.skipped
        )
        return [summary + skipped]

    def _restore_and_clear(self, path: Path, record: ChangeRecord) -> RestoreResult:
        logged_ids = {logged.id for logged in self._log.read()}
        restored = RestoreResult(record=record) if record.id in logged_ids else self._restore(record)
        path.unlink(missing_ok=True)
        sync_folder(path.parent)
        return restored

    def _restore(self, record: ChangeRecord) -> RestoreResult:
        restored = restore_files(self._root, record, self._objects)
        self._log.append(restored.record)
        return restored


_BACKGROUND_COPY_S = 5.0
"""Time limit for copying files in the background, in seconds."""
_MAX_SCAN_AGE_S = 0.5
"""A scan no older than this after a call, in seconds, is reused as the scan before the next call."""
_MAX_NAMED_PATHS = 3


class _RunningCall(Struct, kw_only=True):
    """A running call."""

    turn: TurnRef
    files: dict[str, FileState | None] = {}
    missing_folders: tuple[str, ...] = ()
    base: WorkspaceSnapshot | None = None


class ChangeRecorder:
    """Records what the calls of one process change in one workspace.

    Methods raise StorageError, OSError or TimeoutError. The call is not covered by undo then; nothing else is
    affected.

    Args:
        has_running_job: whether a background command is running, which may change files at any time.
    """

    def __init__(
        self,
        root: Path,
        *,
        objects: ObjectStore,
        log: ChangeLog,
        intents: Intents,
        scanner: Scanner,
        scan_cache: ScanCacheFile,
        has_running_job: Callable[[], bool],
        now: Callable[[], float] = time.time,
    ) -> None:
        self._root = root
        self._objects = objects
        self._log = log
        self._intents = intents
        self._scanner = scanner
        self._scan_cache = scan_cache
        self._has_running_job = has_running_job
        self._now = now
        self._running_call: _RunningCall | None = None
        self._last_scan: WorkspaceSnapshot | None = None
        self._last_scan_at = float("-inf")
        self._job_turn: TurnRef | None = None  # the turn of a job that was running during the last scan
        self._is_loaded = False
        self._reported: set[str] = set()
        self.messages: list[str] = []

    def prepare(self) -> None:
        """Prepare the first scan of the workspace in advance."""
        self._load()
        self._scanner.detect_git()

    def before_files(self, turn: TurnRef, paths: Sequence[Path]) -> None:
        """Note that a call is about to write these files. Paths are absolute with links resolved."""
        self._record_job_changes(turn)
        if self._job_turn is not None:
            self._before_command(turn, paths)
            return
        path_by_name = {self._get_change_path(path): path for path in paths}
        files = {name: read_file_state(path, self._objects, store_content=True) for name, path in path_by_name.items()}
        self._running_call = _RunningCall(
            turn=turn, files=files, missing_folders=list_missing_folders(self._root, list(path_by_name.values()))
        )
        self._note_intent(self._running_call, "")

    def before_command(self, turn: TurnRef) -> None:
        """Note that a call is about to run a command, which may change any file in the workspace."""
        self._record_job_changes(turn)
        self._before_command(turn, ())

    def _before_command(self, turn: TurnRef, paths: Sequence[Path]) -> None:
        """Note a command.

        Args:
            paths: files it is known to write, in the workspace or not. Ignored files are covered only if named here.
        """
        base = self._last_scan if time.monotonic() - self._last_scan_at < _MAX_SCAN_AGE_S else None
        base = base or self._scan()
        files = {
            name: read_file_state(path, self._objects, store_content=True)
            for path in paths
            if base.get(name := self._get_change_path(path)) is None
        }
        missing_folders = list_missing_folders(self._root, [resolve_path(self._root, name) for name in files])
        self._running_call = _RunningCall(turn=turn, files=files, missing_folders=missing_folders, base=base)
        self._note_intent(self._running_call, self._scan_cache.save(self._scanner.cache))

    def after(self, ended_ns: int) -> None:
        """Record what a call has changed.

        Args:
            ended_ns: when the call ended, successfully or not; later changes are not attributed to it.
        """
        call, self._running_call = self._running_call, None
        if call is None:
            return
        changes = self._find_file_changes(call)
        created = [folder for folder in call.missing_folders if resolve_path(self._root, folder).is_dir()]
        if call.base is not None:
            # Asked before and after the scan: a job may end meanwhile, since a scan takes long on a busy machine.
            is_job_running = self._has_running_job()
            scan = self._scan(_BACKGROUND_COPY_S)
            self._last_scan_at = time.monotonic()
            recorded_paths = {change.path for change in changes} | set(call.files)
            changes += [change for change in self._compare_scans(call.base, scan) if change.path not in recorded_paths]
            created += [folder for folder in self._find_new_folders(call.base, changes) if folder not in created]
            if is_job_running or self._has_running_job():
                self._job_turn = call.turn
        if self._job_turn is None:
            changes = [self._mark_if_unsure(change, ended_ns) for change in changes]
        self._append_record(call.turn, changes, tuple(sorted(created)), scanned=call.base is not None)
        self._intents.end()

    def settle(self, turn: TurnRef | None = None) -> None:
        """Record what background commands have done meanwhile, as part of `turn`, or else of their own turn.

        Without a turn, their changes cannot be distinguished from the user's.
        """
        self._record_job_changes(turn)

    def take_over(self, intents: Iterable[Intent]) -> None:
        """Record the changes made by calls of killed processes, as far as they can be determined."""
        for intent in intents:
            call = _RunningCall(turn=intent.turn, files=intent.files, missing_folders=intent.missing_folders)
            changes = self._find_file_changes(call, unsure=True)
            if intent.scan_id:
                cache_id, cache = self._scan_cache.load()
                if cache_id != intent.scan_id:
                    self.messages.append(tr("clio was killed while a command ran; its changes are unknown"))
                    continue
                self._is_loaded, self._scanner.cache = True, cache
                base = WorkspaceSnapshot(cache.clean, cache.rows, cache.missing)
                changes += self._compare_scans(base, self._scan(), unsure=True)
            if changes:
                self._append_record(intent.turn, changes, intent.missing_folders, scanned=bool(intent.scan_id))
                names = _format_paths([change.path for change in changes])
                self.messages.append(
                    tr("clio was killed while a call ran; changed since then: {names} (/diff shows it)", names=names)
                )

    def _record_job_changes(self, turn: TurnRef | None) -> None:
        job_turn, base = self._job_turn, self._last_scan
        if job_turn is None or base is None:
            return
        unsure = turn is None or turn != job_turn
        scan = self._scan()
        self._last_scan_at = time.monotonic()
        changes = self._compare_scans(base, scan, unsure=unsure)
        self._append_record(job_turn, changes, tuple(self._find_new_folders(base, changes)), scanned=True)
        self._job_turn = (job_turn if turn is None else turn) if self._has_running_job() else None

    def _scan(self, copying_s: float = MAX_COPY_S) -> WorkspaceSnapshot:
        self._load()
        if self._scan_cache.was_deleted():
            self._scanner.forget_copies()
        self._last_scan = scan = self._scanner.scan(copying_s)
        self._report_missing(scan)
        return scan

    def _load(self) -> None:
        if not self._is_loaded:
            self._is_loaded, (_, self._scanner.cache) = True, self._scan_cache.load()

    def _mark_if_unsure(self, change: Change, ended_ns: int) -> Change:
        try:
            status = resolve_path(self._root, change.path).lstat()
        except OSError:  # a deleted file has no time of change
            return change
        is_late = max(status.st_mtime_ns, status.st_ctime_ns) > ended_ns
        return msgspec.structs.replace(change, unsure=True) if is_late else change

    def _find_file_changes(self, call: _RunningCall, *, unsure: bool = False) -> list[Change]:
        after = {
            name: read_file_state(resolve_path(self._root, name), self._objects, store_content=True)
            for name in call.files
        }
        return [
            Change(path=name, before=before, after=after[name], unsure=unsure)
            for name, before in sorted(call.files.items())
            if before != after[name]
        ]

    def _compare_scans(
        self, base: WorkspaceSnapshot, current: WorkspaceSnapshot, *, unsure: bool = False
    ) -> list[Change]:
        paths = list_changed_paths(base, current)
        states = self._scanner.store_states([base.get(path) for path in paths] + [current.get(path) for path in paths])
        pairs = zip(states[: len(paths)], states[len(paths) :], strict=True)
        changes = [
            Change(path=path, before=before, after=after, unsure=unsure)
            for path, (before, after) in zip(paths, pairs, strict=True)
        ]
        return [change for change in changes if change.before != change.after]

    def _find_new_folders(self, base: WorkspaceSnapshot, changes: Iterable[Change]) -> list[str]:
        """Return the folders that contain files now and contained none before."""
        created = {change.path.rpartition("/")[0] for change in changes if change.before is None} - {""}
        if not created:
            return []
        old_folders = base.list_folders()
        new: set[str] = set()
        for folder in created:
            while folder and folder not in old_folders:
                new.add(folder)
                folder = folder.rpartition("/")[0]
        return sorted(new)

    def _append_record(
        self, turn: TurnRef, changes: Sequence[Change], created_folders: tuple[str, ...], *, scanned: bool
    ) -> None:
        if not changes and not created_folders:
            return
        record = ChangeRecord(
            id=new_id(),
            kind="turn",
            at=self._now(),
            session=turn.session,
            message=turn.message,
            changes=tuple(changes),
            created_folders=created_folders,
            scanned=scanned,
        )
        self._objects.make_durable(
            state.id for change in changes for state in (change.before, change.after) if state is not None
        )
        self._log.append(record)

    def _note_intent(self, call: _RunningCall, scan_id: str) -> None:
        self._intents.begin(
            Intent(
                turn=call.turn, at=self._now(), files=call.files, scan_id=scan_id, missing_folders=call.missing_folders
            )
        )

    def _get_change_path(self, path: Path) -> str:
        return path.relative_to(self._root).as_posix() if self._root in path.parents else str(path)

    def _report_missing(self, scan: WorkspaceSnapshot) -> None:
        """Report once for each cause what undo does not cover."""
        uncopied = {path: row.size for path, row in scan.rows.items() if row.id.startswith(NOT_STORED_PREFIX)}
        self._report_uncovered(
            [path for path, size in uncopied.items() if self._scanner.is_too_large(size)], tr("too large")
        )
        pending_count = sum(not self._scanner.is_too_large(size) for size in uncopied.values())
        if pending_count and "later" not in self._reported:
            self._reported.add("later")
            self.messages.append(
                tr(
                    "/undo does not cover {pending_count:,} files of this folder yet; later scans copy them",
                    pending_count=pending_count,
                )
            )
        self._report_uncovered([*scan.repositories], tr("repositories of their own"))
        if scan.excess_count and "too many" not in self._reported:
            self._reported.add("too many")
            self.messages.append(
                tr(
                    "/undo covers the first {max_files:,} files here; {excess_count:,} more are not covered",
                    max_files=MAX_FILES,
                    excess_count=scan.excess_count,
                )
            )

    def _report_uncovered(self, paths: Sequence[str], why: str) -> None:
        new = [path for path in paths if path not in self._reported]
        self._reported.update(new)
        if new:
            self.messages.append(
                tr("/undo does not cover what commands do to {paths}: {why}", paths=_format_paths(new), why=why)
            )


def _format_paths(paths: Sequence[str]) -> str:
    more = len(paths) - _MAX_NAMED_PATHS
    return ", ".join(paths[:_MAX_NAMED_PATHS]) + (tr(" and {more:,} more", more=more) if more > 0 else "")


MEMORY_BYTES = 64_000_000
"""Memory limit for the contents an incognito session keeps."""
_CALLS_PER_CLEANUP = 50
"""Number of calls between two checks of the store's size."""
T = TypeVar("T")


class StoreLimits(Struct, frozen=True, kw_only=True):
    """Limits of the store: bytes on disk, and the age of records in seconds."""

    max_bytes: int = 500_000_000
    max_age_s: float = 30 * 86_400.0


class RestorePlan(Struct, frozen=True, kw_only=True):
    """A planned undo or redo.

    Attributes:
        reverted: see `ChangeRecord`.
        steps: what to do with each file.
        created_folders, removed_folders: folders to create and to remove.
    """

    kind: RecordKind
    reverted: tuple[str, ...]
    steps: tuple[RestoreStep, ...]
    created_folders: tuple[str, ...] = ()
    removed_folders: tuple[str, ...] = ()

    @property
    def refused(self) -> tuple[RestoreStep, ...]:
        """Files that would lose changes made by the user or another program."""
        return tuple(step for step in self.steps if step.verdict in REFUSED_VERDICTS)

    @property
    def impossible(self) -> tuple[RestoreStep, ...]:
        """Files that cannot be restored at all."""
        return tuple(step for step in self.steps if step.verdict in ("lost", "blocked"))

    @property
    def outside(self) -> tuple[str, ...]:
        """Files outside the workspace that would change."""
        return tuple(
            step.file.path for step in self.steps if step.verdict != "same" and Path(step.file.path).is_absolute()
        )


class Checkpoints:
    """The checkpoints of one workspace.

    All work on files runs in one thread, in order. `before_files`, `before_command` and `after` return a future, the
    other methods wait. Errors are ClioErrors and OSErrors.

    Args:
        store: the folder of all projects' checkpoints; None keeps everything in memory.
        excluded: folders that are not covered.
    """

    def __init__(
        self,
        root: Path,
        store: Path | None,
        *,
        list_files: FileLister,
        excluded: Sequence[Path] = (),
        limits: StoreLimits | None = None,
        has_running_job: Callable[[], bool] = lambda: False,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.root = root.resolve()
        self.store = store
        self._limits = limits or StoreLimits()
        self._now = now
        folder = get_project_folder_in_store(store, self.root) if store else None
        self._objects = DiskObjectStore(store / "objects") if store else MemoryObjectStore(MEMORY_BYTES)
        self._log = DiskChangeLog(folder, self.root) if folder else MemoryChangeLog()
        self._intents = DiskIntents(folder) if folder else NoIntents()
        self._journal = RestoreJournal(folder, self.root, self._objects, self._log)
        self._recorder = ChangeRecorder(
            self.root,
            objects=self._objects,
            log=self._log,
            intents=self._intents,
            scanner=Scanner(
                self.root,
                self._objects,
                list_files,
                [*excluded, *([store] if store else [])],
                max_copies_bytes=(self._limits.max_bytes if store else MEMORY_BYTES) // 2,
            ),
            scan_cache=ScanCacheFile(folder),
            has_running_job=has_running_job,
            now=now,
        )
        # One worker keeps calls, scans and restores in order without locks.
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="checkpoints")
        self._calls = 0
        self._turn: TurnRef | None = None

    # --- during a turn

    def prepare(self) -> None:
        """Prepare, at the first tool call of a turn, what the first change or command would wait for."""
        # A failure here is repeated, and reported, by the call that needs the result.
        self._pool.submit(self._recorder.prepare)

    def before_files(self, turn: TurnRef, paths: Sequence[Path]) -> "Future[None]":
        """Note that a call is about to write these files, given absolute with links resolved."""
        return self._pool.submit(self._recorder.before_files, turn, paths)

    def before_command(self, turn: TurnRef) -> "Future[None]":
        """Note that a call is about to run a command."""
        return self._pool.submit(self._recorder.before_command, turn)

    def after(self) -> "Future[None]":
        """Record what a call did. Later requests wait for it. An error becomes a message to the user."""
        ended_ns = time.time_ns()
        return self._pool.submit(self._run_and_report, lambda: self._after(ended_ns))

    def end_turn(self, turn: TurnRef) -> "Future[None]":
        """End a turn. Changes by its background commands so far belong to it."""
        return self._pool.submit(self._run_and_report, lambda: self._recorder.settle(turn))

    def pop_messages(self) -> list[str]:
        """Return the messages for the user that have been queued."""
        messages, self._recorder.messages = self._recorder.messages, []
        return messages

    # --- between turns

    def recover(self) -> None:
        """Finish or record what a killed process left; `pop_messages` reports it."""
        self._run_and_wait(self._recover)

    def list_turns(self) -> list[TurnChanges]:
        """Return the turns that changed files in this workspace, oldest first."""
        return list_turns(self._run_and_wait(self._read_settled_log))

    def list_undone_turns(self) -> set[str]:
        """Return the messages of the turns whose changes are undone."""
        return list_undone_turns(self._run_and_wait(self._read_settled_log))

    def plan_undo(self, messages: Collection[str], kind: RecordKind) -> RestorePlan:
        """Plan the undo of the turns started by these messages, except those already undone."""
        return self._run_and_wait(lambda: self._make_undo_plan(messages, kind))

    def plan_redo(self, sessions: Collection[str]) -> RestorePlan | None:
        """Plan the redo of the latest undo in one of these sessions; None if there is none."""
        return self._run_and_wait(lambda: self._make_redo_plan(sessions))

    def carry_out(
        self, plan: RestorePlan, session: str, *, force: bool = False, leave: Collection[str] = ()
    ) -> RestoreResult:
        """Carry out a plan, except for the files in `leave`. Refused steps are carried out only with `force`."""
        return self._run_and_wait(lambda: self._carry_out(plan, session, force, leave))

    def read_content(self, state: FileState | None) -> bytes | None:
        """Return the content of a state, for a link its target; None if it is missing."""
        if state is None:
            return b""
        return state.link.encode() if state.link is not None else self._objects.get(state.id)

    def store_current(self, path: str) -> FileState | None:
        """Store the present content of a file and return its state, so that `content` can return it."""
        return self._run_and_wait(
            lambda: read_file_state(resolve_path(self.root, path), self._objects, store_content=True)
        )

    def list_restores_since(self, time: float) -> list[ChangeRecord]:
        """Return the restores made after that time."""
        return [record for record in self._run_and_wait(self._log.read) if record.kind != "turn" and record.at > time]

    def measure_usage(self) -> "StoreUsage | None":
        """Return the disk usage of the whole store; None if everything is in memory."""
        from clio.checkpoints.store_limits import measure_usage

        store = self.store
        return self._run_and_wait(lambda: measure_usage(store)) if store else None

    def close(self) -> None:
        """Record everything, including what background commands did until they ended, and stop the thread."""
        self._pool.submit(self._run_and_report, self._recorder.settle)
        self._pool.shutdown()
        self._intents.close()

    def _run_and_wait(self, work: Callable[[], T]) -> T:
        return self._pool.submit(work).result()

    def _run_and_report(self, work: Callable[[], None]) -> None:
        """Run work that no caller waits for, and report its errors to the user."""
        try:
            work()
        except (ClioError, OSError) as error:
            self._recorder.messages.append(
                tr("/undo does not cover the last change: {error_cause}", error_cause=error_cause(error))
            )
        except Exception as error:
            self._recorder.messages.append(
                tr("/undo failed because of a bug in clio ({name}: {error})", name=type(error).__name__, error=error)
            )

    def _after(self, ended_ns: int) -> None:
        self._recorder.after(ended_ns)
        if self.store is not None and self._calls % _CALLS_PER_CLEANUP == 0:
            from clio.checkpoints.store_limits import shrink_store

            shrink_store(
                self.store, max_bytes=self._limits.max_bytes, max_age_s=self._limits.max_age_s, now=self._now()
            )
        self._calls += 1

    def _read_settled_log(self) -> list[ChangeRecord]:
        self._recorder.settle()
        return self._log.read()

    def _recover(self) -> None:
        self._recorder.messages += self._journal.finish()
        abandoned = self._intents.abandoned()
        delete_abandoned_files(
            [resolve_path(self.root, path) for intent in abandoned for path in intent.files], time.time()
        )
        self._recorder.take_over(abandoned)

    def _make_undo_plan(self, messages: Collection[str], kind: RecordKind) -> RestorePlan:
        records = self._read_settled_log()
        undone = list_undone_turns(records)
        turns = [turn for turn in list_turns(records) if turn.message in messages and turn.message not in undone]
        return self._make_plan(
            kind, tuple(turn.message for turn in turns), [record for turn in turns for record in turn.records]
        )

    def _make_redo_plan(self, sessions: Collection[str]) -> RestorePlan | None:
        record = find_redoable(self._read_settled_log(), sessions)
        return self._make_plan("redo", (record.id,), [record]) if record else None

    def _make_plan(self, kind: RecordKind, reverted: tuple[str, ...], records: Sequence[ChangeRecord]) -> RestorePlan:
        steps: list[RestoreStep] = []
        for file in plan_undo(records):
            if file.target == file.expected and not file.between:
                continue
            current = read_file_state(resolve_path(self.root, file.path), self._objects, store_content=False)
            step = judge_step(file, current, blocked=is_redirected_by_link(self.root, file.path))
            if step.verdict != "same" and not self._can_restore(file.target):
                step = msgspec.structs.replace(step, verdict="lost")
            steps.append(step)
        created = tuple(dict.fromkeys(folder for record in records for folder in record.removed_folders))
        removed = tuple(dict.fromkeys(folder for record in records for folder in record.created_folders))
        return RestorePlan(
            kind=kind, reverted=reverted, steps=tuple(steps), created_folders=created, removed_folders=removed
        )

    def _can_restore(self, state: FileState | None) -> bool:
        return state is None or state.link is not None or self._objects.has(state.id)

    def _carry_out(self, plan: RestorePlan, session: str, force: bool, leave: Collection[str]) -> RestoreResult:
        chosen = [
            step
            for step in plan.steps
            if step.file.path not in leave
            and (step.verdict == "restorable" or (force and step.verdict in REFUSED_VERDICTS))
        ]
        changes: list[Change] = []
        for step in chosen:
            path = step.file.path
            current = read_file_state(resolve_path(self.root, path), self._objects, store_content=True)
            if current != step.current:
                raise UserError(
                    tr("{path!r} has just changed, so nothing was restored; check it and try again", path=path)
                )
            changes.append(Change(path=path, before=current, after=step.file.target))
        record = ChangeRecord(
            id=new_id(),
            kind=plan.kind,
            at=self._now(),
            session=session,
            reverted=plan.reverted,
            changes=tuple(changes),
            created_folders=plan.created_folders,
            removed_folders=plan.removed_folders,
        )
        return self._journal.carry_out(record)
