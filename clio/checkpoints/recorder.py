"""Watches what calls do to files and writes it to the log. Synchronous; one call at a time, in one thread."""

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from clio.checkpoints.intents import Intent, Intents
from clio.checkpoints.log import Log
from clio.checkpoints.objects import Objects
from clio.checkpoints.restore import missing_folders, path_of
from clio.checkpoints.scan import COPYING_S, MAX_FILES, Scanner, state_of
from clio.checkpoints.seen_file import SeenFile
from clio.checkpoints.snapshot import Snapshot, differing
from clio.checkpoints.states import NOT_KEPT, Change, FileState, Record, TurnRef
from clio.ids import new_id

_BEHIND_S = 5.0
"""How long copies may be made when nobody waits for them, in seconds."""
_FRESH_S = 0.5
"""A look this recent, after a call, is also the look before the next one."""
_NAMED = 3


class _Open(Struct, kw_only=True):
    """A call that runs."""

    turn: TurnRef
    files: dict[str, FileState | None] = {}
    made: tuple[str, ...] = ()
    base: Snapshot | None = None


class Recorder:
    """Keeps what the calls of one clio change in one workspace.

    job_runs: whether a background command is alive, whose changes come at any time.
    Methods raise StorageError, OSError, TimeoutError; then the call is not covered, and nothing else is wrong.
    """

    def __init__(
        self,
        root: Path,
        *,
        objects: Objects,
        log: Log,
        intents: Intents,
        scanner: Scanner,
        seen: SeenFile,
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
        self._job_turn: TurnRef | None = None  # a job ran when the workspace was last looked at
        self._loaded = False
        self._told: set[str] = set()
        self.news: list[str] = []

    def get_ready(self) -> None:
        """Do ahead what the first look at the workspace begins with."""
        self._load()
        self._scanner.probe()

    def before_files(self, turn: TurnRef, paths: Sequence[Path]) -> None:
        """A call is about to write these files; their paths are absolute, with links resolved."""
        self._job_changes(turn)
        if self._job_turn is not None:
            self._before_command(turn, paths)
            return
        named = {self._name(path): path for path in paths}
        files = {name: state_of(path, self._objects, keep=True) for name, path in named.items()}
        self._open = _Open(turn=turn, files=files, made=missing_folders(self._root, list(named.values())))
        self._begin(self._open, "")

    def before_command(self, turn: TurnRef) -> None:
        """A call is about to do who knows what in the workspace."""
        self._job_changes(turn)
        self._before_command(turn, ())

    def _before_command(self, turn: TurnRef, paths: Sequence[Path]) -> None:
        """paths: files it is known to write, in the workspace or not; those ignored are covered by being named."""
        base = self._last if time.monotonic() - self._last_at < _FRESH_S else None
        base = base or self._look()
        files = {
            name: state_of(path, self._objects, keep=True)
            for path in paths
            if base.of(name := self._name(path)) is None
        }
        made = missing_folders(self._root, [path_of(self._root, name) for name in files])
        self._open = _Open(turn=turn, files=files, made=made, base=base)
        self._begin(self._open, self._seen.save(self._scanner.seen))

    def after(self, ended_ns: int) -> None:
        """The call has ended, well or not, at this time; what was written later is somebody else's work."""
        call, self._open = self._open, None
        if call is None:
            return
        changes = self._named_changes(call)
        made = [folder for folder in call.made if path_of(self._root, folder).is_dir()]
        if call.base is not None:
            looked = self._look(_BEHIND_S)
            self._last_at = time.monotonic()
            known = {change.path for change in changes} | set(call.files)
            changes += [change for change in self._compared(call.base, looked) if change.path not in known]
            made += [folder for folder in self._new_folders(call.base, changes) if folder not in made]
            if self._job_runs():
                self._job_turn = call.turn
        if self._job_turn is None:
            changes = [self._doubted(change, ended_ns) for change in changes]
        self._write(call.turn, changes, tuple(sorted(made)), scanned=call.base is not None)
        self._intents.end()

    def settle(self, turn: TurnRef | None = None) -> None:
        """Take in what background commands have done meanwhile, as a part of `turn`, else of the turn they belong to.

        Without a turn nobody can say whether it was they, or the person.
        """
        self._job_changes(turn)

    def take_over(self, intents: Iterable[Intent]) -> None:
        """Write down what calls of killed clios have changed, as well as it can be told."""
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
        self._last = looked = self._scanner.look(copying_s)
        self._tell_what_is_left_out(looked)
        return looked

    def _load(self) -> None:
        if not self._loaded:
            self._loaded, (_, self._scanner.seen) = True, self._seen.load()

    def _doubted(self, change: Change, ended_ns: int) -> Change:
        try:
            status = path_of(self._root, change.path).lstat()
        except OSError:  # a deleted file does not say when
            return change
        late = max(status.st_mtime_ns, status.st_ctime_ns) > ended_ns
        return msgspec.structs.replace(change, unsure=True) if late else change

    def _named_changes(self, call: _Open, *, unsure: bool = False) -> list[Change]:
        after = {name: state_of(path_of(self._root, name), self._objects, keep=True) for name in call.files}
        return [
            Change(path=name, before=before, after=after[name], unsure=unsure)
            for name, before in sorted(call.files.items())
            if before != after[name]
        ]

    def _compared(self, base: Snapshot, looked: Snapshot, *, unsure: bool = False) -> list[Change]:
        paths = differing(base, looked)
        states = self._scanner.states([base.of(path) for path in paths] + [looked.of(path) for path in paths])
        pairs = zip(states[: len(paths)], states[len(paths) :], strict=True)
        changes = [
            Change(path=path, before=before, after=after, unsure=unsure)
            for path, (before, after) in zip(paths, pairs, strict=True)
        ]
        return [change for change in changes if change.before != change.after]

    def _new_folders(self, base: Snapshot, changes: Iterable[Change]) -> list[str]:
        """Folders that hold files now and held none before."""
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
        """Once for each cause: undo is only trusted when its limits are known."""
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
