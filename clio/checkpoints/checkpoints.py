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
    NOT_KEPT,
    REFUSED_VERDICTS,
    Change,
    ChangeLog,
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
    Record,
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
    COPYING_S,
    MAX_FILES,
    FileLister,
    ScanCacheFile,
    Scanner,
    Snapshot,
    list_changed_paths,
    read_file_state,
)
from clio.errors import ClioError, UserError
from clio.ids import new_id
from clio.storage.documents import set_file_aside
from clio.storage.files import make_folder, read_regular, sync_folder, write_atomic
from clio.storage.locks import FileLock, delete_abandoned_files, error_cause
from clio.text.formatting import format_count
from clio.text.json_data import decode_json

if TYPE_CHECKING:
    from clio.checkpoints.store_limits import StoreUsage


class RestoreResult(Struct, frozen=True, kw_only=True):
    """The result of a restore. left: files not touched after all, each with the reason as the end of a sentence."""

    record: Record
    left: tuple[tuple[str, str], ...] = ()


def resolve_path(root: Path, path: str) -> Path:
    """Return the absolute path of a path in a `Change`."""
    return root / path


def is_redirected_by_link(root: Path, path: str) -> bool:
    """Whether a link among the parent folders redirects the path, so that it must not be written."""
    parent = resolve_path(root, path).parent
    return os.path.realpath(parent) != str(parent)


def restore_files(root: Path, record: Record, objects: ObjectStore) -> RestoreResult:
    """Apply a record: change each file from its `before` to its `after` state. Files already in that state are skipped.

    Order: remove files, remove folders, create folders, write files. A file in neither state is left alone.
    """
    done: list[Change] = []
    left: list[tuple[str, str]] = []
    made: list[str] = []
    goes = [change for change in record.changes if change.after is None]
    comes = [change for change in record.changes if change.after is not None]
    for change in reversed(goes):
        _try(root, change, objects, made, done, left)
    gone = [folder for folder in reversed(record.gone) if _remove_folder(root, folder)]
    for folder in record.made:
        with suppress(OSError):  # an empty folder left behind loses no data
            if not is_redirected_by_link(root, folder):
                _make_folders(resolve_path(root, folder), root, made)
    for change in comes:
        _try(root, change, objects, made, done, left)
    done.sort(key=lambda change: change.path)
    whole = msgspec.structs.replace(record, changes=tuple(done), made=tuple(made), gone=tuple(reversed(gone)))
    return RestoreResult(record=whole, left=tuple(left))


def _try(
    root: Path,
    change: Change,
    objects: ObjectStore,
    made: list[str],
    done: list[Change],
    left: list[tuple[str, str]],
) -> None:
    path = resolve_path(root, change.path)
    try:
        current = read_file_state(path, objects, keep=False)
        if is_redirected_by_link(root, change.path):
            left.append((change.path, "a link leads its folder elsewhere"))
        elif current == change.after:
            done.append(change)
        elif current != change.before:
            left.append((change.path, "it changed this moment"))
        elif _put(root, path, change.after, objects, made):
            done.append(change)
        else:
            left.append((change.path, "its bytes are no longer kept"))
    except OSError as error:
        left.append((change.path, error.strerror or str(error)))


def _put(root: Path, path: Path, state: FileState | None, objects: ObjectStore, made: list[str]) -> bool:
    """Restore a file to a state; False if its content is missing."""
    if state is None:
        path.unlink()
        sync_folder(path.parent)
        return True
    data = b"" if state.link is not None else objects.get(state.id)
    if data is None:
        return False
    _make_folders(path.parent, root, made)
    if state.link is not None:
        temp = path.with_name(f"{path.name}.{os.urandom(6).hex()}.tmp")
        temp.symlink_to(state.link)
        temp.replace(path)
        return True
    write_atomic(path, data, state.mode)
    if path.stat().st_mode & 0o7777 != state.mode:  # os.open applies the umask to the mode
        path.chmod(state.mode)
    return True


def _make_folders(folder: Path, root: Path, made: list[str]) -> None:
    missing = [one for one in (folder, *folder.parents) if not one.is_dir()]
    for one in reversed(missing):
        one.mkdir()
        made.append(one.relative_to(root).as_posix() if root in one.parents else str(one))


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


_DONE = {"undo": "an undo", "redo": "a redo", "rewind": "a rewind", "turn": "a restoring"}


class RestoreJournal:
    """The restores of one workspace, noted so that an interrupted one can be finished. folder: None keeps no note."""

    def __init__(self, folder: Path | None, root: Path, objects: ObjectStore, log: ChangeLog) -> None:
        self._path = folder / "restoring.json" if folder else None
        self._root = root
        self._objects = objects
        self._log = log

    def carry_out(self, record: Record) -> RestoreResult:
        """Apply a record and log it. Raises OSError, or TimeoutError while another process restores files."""
        if self._path is None:
            return self._restore(record)
        make_folder(self._path.parent)
        with FileLock(self._path.with_suffix(".lock")):
            self._objects.make_durable(
                state.id for change in record.changes for state in (change.before, change.after) if state is not None
            )
            write_atomic(self._path, msgspec.json.encode(record))
            return self._finished(self._path, record)

    def finish(self) -> list[str]:
        """Finish interrupted restores. Returns a sentence for the user about each. Raises OSError."""
        if self._path is None or not self._path.exists():
            return []
        lock = FileLock(self._path.with_suffix(".lock"))
        if not lock.acquire():
            return []  # another process is restoring files at this moment
        try:
            record = decode_json(read_regular(self._path), type=Record)
            restored = self._finished(self._path, record)
            delete_abandoned_files([resolve_path(self._root, change.path) for change in record.changes], time.time())
        except FileNotFoundError:
            return []
        except (msgspec.DecodeError, UnicodeDecodeError):
            moved = set_file_aside(self._path)
            return [f"{str(self._path)!r} cannot be read and was set aside as {moved.name if moved else 'nothing'!r}"]
        finally:
            lock.release()
        count = len(restored.record.changes)
        words = f"{_DONE[record.kind]} that was cut off has been finished: {format_count(count, 'file')}"
        left = "".join(f"; {path!r} was left as it is: {why}" for path, why in restored.left)
        return [words + left]

    def _finished(self, path: Path, record: Record) -> RestoreResult:
        known = {one.id for one in self._log.read()}
        restored = RestoreResult(record=record) if record.id in known else self._restore(record)
        path.unlink(missing_ok=True)
        sync_folder(path.parent)
        return restored

    def _restore(self, record: Record) -> RestoreResult:
        restored = restore_files(self._root, record, self._objects)
        self._log.append(restored.record)
        return restored


_BEHIND_S = 5.0
"""Time limit for copying files in the background, in seconds."""
_FRESH_S = 0.5
"""A scan no older than this after a call, in seconds, is reused as the scan before the next call."""
_NAMED = 3


class _Open(Struct, kw_only=True):
    """A running call."""

    turn: TurnRef
    files: dict[str, FileState | None] = {}
    made: tuple[str, ...] = ()
    base: Snapshot | None = None


class ChangeRecorder:
    """Records what the calls of one process change in one workspace.

    Methods raise StorageError, OSError or TimeoutError. The call is not covered by undo then; nothing else is
    affected.

    Args:
        job_runs: whether a background command is running, which may change files at any time.
    """

    def __init__(
        self,
        root: Path,
        *,
        objects: ObjectStore,
        log: ChangeLog,
        intents: Intents,
        scanner: Scanner,
        seen: ScanCacheFile,
        job_runs: Callable[[], bool],
        now: Callable[[], float] = time.time,
    ) -> None:
        self._root = root
        self._objects = objects
        self._log = log
        self._intents = intents
        self._scanner = scanner
        self._seen = seen
        self._job_runs = job_runs
        self._now = now
        self._open: _Open | None = None
        self._last: Snapshot | None = None
        self._last_at = float("-inf")
        self._job_turn: TurnRef | None = None  # the turn of a job that was running during the last scan
        self._loaded = False
        self._told: set[str] = set()
        self.news: list[str] = []

    def get_ready(self) -> None:
        """Prepare the first scan of the workspace in advance."""
        self._load()
        self._scanner.probe()

    def before_files(self, turn: TurnRef, paths: Sequence[Path]) -> None:
        """Note that a call is about to write these files. Paths are absolute with links resolved."""
        self._job_changes(turn)
        if self._job_turn is not None:
            self._before_command(turn, paths)
            return
        named = {self._name(path): path for path in paths}
        files = {name: read_file_state(path, self._objects, keep=True) for name, path in named.items()}
        self._open = _Open(turn=turn, files=files, made=list_missing_folders(self._root, list(named.values())))
        self._begin(self._open, "")

    def before_command(self, turn: TurnRef) -> None:
        """Note that a call is about to run a command, which may change any file in the workspace."""
        self._job_changes(turn)
        self._before_command(turn, ())

    def _before_command(self, turn: TurnRef, paths: Sequence[Path]) -> None:
        """Note a command.

        Args:
            paths: files it is known to write, in the workspace or not. Ignored files are covered only if named here.
        """
        base = self._last if time.monotonic() - self._last_at < _FRESH_S else None
        base = base or self._look()
        files = {
            name: read_file_state(path, self._objects, keep=True)
            for path in paths
            if base.get(name := self._name(path)) is None
        }
        made = list_missing_folders(self._root, [resolve_path(self._root, name) for name in files])
        self._open = _Open(turn=turn, files=files, made=made, base=base)
        self._begin(self._open, self._seen.save(self._scanner.seen))

    def after(self, ended_ns: int) -> None:
        """Record what a call has changed.

        Args:
            ended_ns: when the call ended, successfully or not; later changes are not attributed to it.
        """
        call, self._open = self._open, None
        if call is None:
            return
        changes = self._named_changes(call)
        made = [folder for folder in call.made if resolve_path(self._root, folder).is_dir()]
        if call.base is not None:
            runs = self._job_runs()  # a background command may end while clio looks, which takes long on a busy machine
            looked = self._look(_BEHIND_S)
            self._last_at = time.monotonic()
            known = {change.path for change in changes} | set(call.files)
            changes += [change for change in self._compared(call.base, looked) if change.path not in known]
            made += [folder for folder in self._new_folders(call.base, changes) if folder not in made]
            if runs or self._job_runs():
                self._job_turn = call.turn
        if self._job_turn is None:
            changes = [self._doubted(change, ended_ns) for change in changes]
        self._write(call.turn, changes, tuple(sorted(made)), scanned=call.base is not None)
        self._intents.end()

    def settle(self, turn: TurnRef | None = None) -> None:
        """Record what background commands have done meanwhile, as part of `turn`, or else of their own turn.

        Without a turn, their changes cannot be told from those of the user.
        """
        self._job_changes(turn)

    def take_over(self, intents: Iterable[Intent]) -> None:
        """Record the changes made by calls of killed processes, as far as they can be determined."""
        for intent in intents:
            call = _Open(turn=intent.turn, files=intent.files, made=intent.made)
            changes = self._named_changes(call, unsure=True)
            if intent.seen:
                stored, seen = self._seen.load()
                if stored != intent.seen:
                    self.news.append("a command was cut off when clio was killed; what it changed cannot be told")
                    continue
                self._loaded, self._scanner.seen = True, seen
                base = Snapshot(seen.clean, seen.rows, seen.gone)
                changes += self._compared(base, self._look(), unsure=True)
            if changes:
                self._write(intent.turn, changes, intent.made, scanned=bool(intent.seen))
                names = _listed([change.path for change in changes])
                self.news.append(f"clio was killed while a call ran; changed since then: {names} (/diff shows it)")

    def _job_changes(self, turn: TurnRef | None) -> None:
        job_turn, base = self._job_turn, self._last
        if job_turn is None or base is None:
            return
        unsure = turn is None or turn != job_turn
        looked = self._look()
        self._last_at = time.monotonic()
        changes = self._compared(base, looked, unsure=unsure)
        self._write(job_turn, changes, tuple(self._new_folders(base, changes)), scanned=True)
        self._job_turn = (job_turn if turn is None else turn) if self._job_runs() else None

    def _look(self, copying_s: float = COPYING_S) -> Snapshot:
        self._load()
        if self._seen.vanished():
            self._scanner.forget_copies()
        self._last = looked = self._scanner.scan(copying_s)
        self._tell_what_is_left_out(looked)
        return looked

    def _load(self) -> None:
        if not self._loaded:
            self._loaded, (_, self._scanner.seen) = True, self._seen.load()

    def _doubted(self, change: Change, ended_ns: int) -> Change:
        try:
            status = resolve_path(self._root, change.path).lstat()
        except OSError:  # a deleted file has no time of change
            return change
        late = max(status.st_mtime_ns, status.st_ctime_ns) > ended_ns
        return msgspec.structs.replace(change, unsure=True) if late else change

    def _named_changes(self, call: _Open, *, unsure: bool = False) -> list[Change]:
        after = {name: read_file_state(resolve_path(self._root, name), self._objects, keep=True) for name in call.files}
        return [
            Change(path=name, before=before, after=after[name], unsure=unsure)
            for name, before in sorted(call.files.items())
            if before != after[name]
        ]

    def _compared(self, base: Snapshot, looked: Snapshot, *, unsure: bool = False) -> list[Change]:
        paths = list_changed_paths(base, looked)
        states = self._scanner.store_states([base.get(path) for path in paths] + [looked.get(path) for path in paths])
        pairs = zip(states[: len(paths)], states[len(paths) :], strict=True)
        changes = [
            Change(path=path, before=before, after=after, unsure=unsure)
            for path, (before, after) in zip(paths, pairs, strict=True)
        ]
        return [change for change in changes if change.before != change.after]

    def _new_folders(self, base: Snapshot, changes: Iterable[Change]) -> list[str]:
        """Return the folders that contain files now and contained none before."""
        created = {change.path.rpartition("/")[0] for change in changes if change.before is None} - {""}
        if not created:
            return []
        known = base.folders()
        new: set[str] = set()
        for folder in created:
            while folder and folder not in known:
                new.add(folder)
                folder = folder.rpartition("/")[0]
        return sorted(new)

    def _write(self, turn: TurnRef, changes: Sequence[Change], made: tuple[str, ...], *, scanned: bool) -> None:
        if not changes and not made:
            return
        record = Record(
            id=new_id(),
            kind="turn",
            at=self._now(),
            session=turn.session,
            message=turn.message,
            changes=tuple(changes),
            made=made,
            scanned=scanned,
        )
        self._objects.make_durable(
            state.id for change in changes for state in (change.before, change.after) if state is not None
        )
        self._log.append(record)

    def _begin(self, call: _Open, seen: str) -> None:
        self._intents.begin(Intent(turn=call.turn, at=self._now(), files=call.files, seen=seen, made=call.made))

    def _name(self, path: Path) -> str:
        return path.relative_to(self._root).as_posix() if self._root in path.parents else str(path)

    def _tell_what_is_left_out(self, looked: Snapshot) -> None:
        """Report once for each cause what undo does not cover."""
        missing = {path: row.size for path, row in looked.rows.items() if row.id.startswith(NOT_KEPT)}
        self._tell([path for path, size in missing.items() if self._scanner.is_too_large(size)], "too large to keep")
        later = sum(not self._scanner.is_too_large(size) for size in missing.values())
        if later and "later" not in self._told:
            self._told.add("later")
            self.news.append(f"/undo does not cover {later:,} files of this folder yet; they are copied by and by")
        self._tell([*looked.repositories], "repositories of their own")
        if looked.beyond and "beyond" not in self._told:
            self._told.add("beyond")
            self.news.append(f"/undo covers the first {MAX_FILES:,} files here; {looked.beyond:,} more are left out")

    def _tell(self, paths: Sequence[str], why: str) -> None:
        new = [path for path in paths if path not in self._told]
        self._told.update(new)
        if new:
            self.news.append(f"/undo does not cover what commands do to {_listed(new)}: {why}")


def _listed(paths: Sequence[str]) -> str:
    more = len(paths) - _NAMED
    return ", ".join(paths[:_NAMED]) + (f" and {more:,} more" if more > 0 else "")


MEMORY_BYTES = 64_000_000
"""Memory limit for the contents an incognito session keeps."""
_ROOM_EVERY = 50
"""Number of calls between two checks of the store's size."""
T = TypeVar("T")


class StoreLimits(Struct, frozen=True, kw_only=True):
    """Limits of the store: bytes on disk, and the age of records in seconds."""

    max_bytes: int = 500_000_000
    max_age_s: float = 30 * 86_400.0


class RestorePlan(Struct, frozen=True, kw_only=True):
    """A planned undo or redo.

    Attributes:
        of: see `Record`.
        steps: what to do with each file.
        made, gone: folders to create and to remove.
    """

    kind: RecordKind
    of: tuple[str, ...]
    steps: tuple[RestoreStep, ...]
    made: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

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
        apart: folders that are not covered.
    """

    def __init__(
        self,
        root: Path,
        store: Path | None,
        *,
        lister: FileLister,
        apart: Sequence[Path] = (),
        limits: StoreLimits | None = None,
        job_runs: Callable[[], bool] = lambda: False,
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
                lister,
                [*apart, *([store] if store else [])],
                max_kept=(self._limits.max_bytes if store else MEMORY_BYTES) // 2,
            ),
            seen=ScanCacheFile(folder),
            job_runs=job_runs,
            now=now,
        )
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="checkpoints")
        self._calls = 0
        self._turn: TurnRef | None = None

    # --- during a turn

    def get_ready(self) -> None:
        """Prepare, at the first tool call of a turn, what the first change or command would wait for."""
        self._pool.submit(
            self._recorder.get_ready
        )  # a failure here is repeated, and reported, by the call that needs the result

    def before_files(self, turn: TurnRef, paths: Sequence[Path]) -> "Future[None]":
        """Note that a call is about to write these files, given absolute with links resolved."""
        return self._pool.submit(self._recorder.before_files, turn, paths)

    def before_command(self, turn: TurnRef) -> "Future[None]":
        """Note that a call is about to run a command."""
        return self._pool.submit(self._recorder.before_command, turn)

    def after(self) -> "Future[None]":
        """Record what a call did. Later requests wait for it. An error becomes a message to the user."""
        ended_ns = time.time_ns()
        return self._pool.submit(self._noting, lambda: self._after(ended_ns))

    def end_turn(self, turn: TurnRef) -> "Future[None]":
        """End a turn. Changes by its background commands so far belong to it."""
        return self._pool.submit(self._noting, lambda: self._recorder.settle(turn))

    def take_news(self) -> list[str]:
        """Return the messages for the user that have been queued."""
        news, self._recorder.news = self._recorder.news, []
        return news

    # --- between turns

    def recover(self) -> None:
        """Finish or record what a killed process left; `take_news` reports it."""
        self._do(self._recover)

    def list_turns(self) -> list[TurnChanges]:
        """Return the turns that changed files in this workspace, oldest first."""
        return list_turns(self._do(self._settled))

    def list_undone_turns(self) -> set[str]:
        """Return the messages of the turns whose changes are undone."""
        return list_undone_turns(self._do(self._settled))

    def plan_undo(self, messages: Collection[str], kind: RecordKind) -> RestorePlan:
        """Plan the undo of the turns started by these messages, except those already undone."""
        return self._do(lambda: self._plan_back(messages, kind))

    def plan_redo(self, sessions: Collection[str]) -> RestorePlan | None:
        """Plan the redo of the latest undo in one of these sessions; None if there is none."""
        return self._do(lambda: self._plan_redo(sessions))

    def carry_out(
        self, plan: RestorePlan, session: str, *, force: bool = False, leave: Collection[str] = ()
    ) -> RestoreResult:
        """Carry out a plan, except for the files in `leave`. Refused steps are carried out only with `force`."""
        return self._do(lambda: self._carry_out(plan, session, force, leave))

    def read_content(self, state: FileState | None) -> bytes | None:
        """Return the content of a state, for a link its target; None if it is missing."""
        if state is None:
            return b""
        return state.link.encode() if state.link is not None else self._objects.get(state.id)

    def store_current(self, path: str) -> FileState | None:
        """Store the present content of a file and return its state, so that `content` can return it."""
        return self._do(lambda: read_file_state(resolve_path(self.root, path), self._objects, keep=True))

    def list_restores_since(self, time: float) -> list[Record]:
        """Return the restores made after that time."""
        return [record for record in self._do(self._log.read) if record.kind != "turn" and record.at > time]

    def measure_usage(self) -> "StoreUsage | None":
        """Return the disk usage of the whole store; None if everything is in memory."""
        from clio.checkpoints.store_limits import measure_usage

        store = self.store
        return self._do(lambda: measure_usage(store)) if store else None

    def close(self) -> None:
        """Record everything, including what background commands did until they ended, and stop the thread."""
        self._pool.submit(self._noting, self._recorder.settle)
        self._pool.shutdown()
        self._intents.close()

    def _do(self, work: Callable[[], T]) -> T:
        return self._pool.submit(work).result()

    def _noting(self, work: Callable[[], None]) -> None:
        """Run work that no caller waits for, and report its errors to the user."""
        try:
            work()
        except (ClioError, OSError) as error:
            self._recorder.news.append(f"/undo does not cover what was done last: {error_cause(error)}")
        except Exception as error:
            self._recorder.news.append(f"/undo failed by a fault of its own ({type(error).__name__}: {error})")

    def _after(self, ended_ns: int) -> None:
        self._recorder.after(ended_ns)
        if self.store is not None and self._calls % _ROOM_EVERY == 0:
            from clio.checkpoints.store_limits import shrink_store

            shrink_store(
                self.store, max_bytes=self._limits.max_bytes, max_age_s=self._limits.max_age_s, now=self._now()
            )
        self._calls += 1

    def _settled(self) -> list[Record]:
        self._recorder.settle()
        return self._log.read()

    def _recover(self) -> None:
        self._recorder.news += self._journal.finish()
        abandoned = self._intents.abandoned()
        delete_abandoned_files(
            [resolve_path(self.root, path) for intent in abandoned for path in intent.files], time.time()
        )
        self._recorder.take_over(abandoned)

    def _plan_back(self, messages: Collection[str], kind: RecordKind) -> RestorePlan:
        records = self._settled()
        back = list_undone_turns(records)
        turns = [turn for turn in list_turns(records) if turn.message in messages and turn.message not in back]
        return self._plan(kind, tuple(turn.message for turn in turns), [one for turn in turns for one in turn.records])

    def _plan_redo(self, sessions: Collection[str]) -> RestorePlan | None:
        record = find_redoable(self._settled(), sessions)
        return self._plan("redo", (record.id,), [record]) if record else None

    def _plan(self, kind: RecordKind, of: tuple[str, ...], records: Sequence[Record]) -> RestorePlan:
        steps: list[RestoreStep] = []
        for file in plan_undo(records):
            if file.target == file.expected and not file.between:
                continue
            current = read_file_state(resolve_path(self.root, file.path), self._objects, keep=False)
            step = judge_step(file, current, blocked=is_redirected_by_link(self.root, file.path))
            if step.verdict != "same" and not self._can_make(file.target):
                step = msgspec.structs.replace(step, verdict="lost")
            steps.append(step)
        made = tuple(dict.fromkeys(folder for record in records for folder in record.gone))
        gone = tuple(dict.fromkeys(folder for record in records for folder in record.made))
        return RestorePlan(kind=kind, of=of, steps=tuple(steps), made=made, gone=gone)

    def _can_make(self, state: FileState | None) -> bool:
        return state is None or state.link is not None or self._objects.has(state.id)

    def _carry_out(self, plan: RestorePlan, session: str, force: bool, leave: Collection[str]) -> RestoreResult:
        chosen = [
            step
            for step in plan.steps
            if step.file.path not in leave and (step.verdict == "put" or (force and step.verdict in REFUSED_VERDICTS))
        ]
        changes: list[Change] = []
        for step in chosen:
            path = step.file.path
            now = read_file_state(resolve_path(self.root, path), self._objects, keep=True)
            if now != step.current:
                raise UserError(f"{path!r} changed this moment, so nothing was put back; look at it and ask again")
            changes.append(Change(path=path, before=now, after=step.file.target))
        record = Record(
            id=new_id(),
            kind=plan.kind,
            at=self._now(),
            session=session,
            of=plan.of,
            changes=tuple(changes),
            made=plan.made,
            gone=plan.gone,
        )
        return self._journal.carry_out(record)


def open_checkpoints(
    root: Path,
    home: Path,
    *,
    on_disk: bool,
    lister: FileLister,
    limits: StoreLimits,
    job_runs: Callable[[], bool],
    now: Callable[[], float] = time.time,
) -> Checkpoints:
    """Create the checkpoints of a workspace, in clio's home or in memory. Creates no files before the first record."""
    home = home.resolve()
    return Checkpoints(
        root,
        home / "checkpoints" if on_disk else None,
        lister=lister,
        apart=[home],
        limits=limits,
        job_runs=job_runs,
        now=now,
    )
