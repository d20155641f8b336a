"""The one door to what is kept of files: what turns did to them, and the ways back and forth."""

import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec import Struct

from clio.checkpoints.intents import DiskIntents, NoIntents
from clio.checkpoints.journal import Journal
from clio.checkpoints.log import DiskLog, MemoryLog, project_folder
from clio.checkpoints.objects import DiskObjects, MemoryObjects
from clio.checkpoints.recorder import Recorder
from clio.checkpoints.restore import Restored, is_blocked, path_of
from clio.checkpoints.scan import Lister, Scanner, state_of
from clio.checkpoints.seen_file import SeenFile
from clio.checkpoints.states import Change, FileState, Kind, Record, TurnRef
from clio.checkpoints.timeline import REFUSED, Step, TurnFiles, judge, redoable, taken_back, turns_of, way_back
from clio.errors import ClioError, UserError
from clio.ids import new_id
from clio.storage.locks import cause, drop_unfinished

if TYPE_CHECKING:
    from clio.checkpoints.space import Usage

MEMORY_BYTES = 64_000_000
"""What an incognito clio keeps in memory."""
_ROOM_EVERY = 50
"""Calls between two looks at how much the store holds."""
T = TypeVar("T")


class Limits(Struct, frozen=True, kw_only=True):
    """What the store may hold: bytes on disk, and the age in seconds of what was done."""

    max_bytes: int = 500_000_000
    max_age_s: float = 30 * 86_400.0


class Plan(Struct, frozen=True, kw_only=True):
    """A way back, or forth, looked at and not yet taken.

    of: see Record. steps: what is to be done with each file. made, gone: folders that come and go with it.
    """

    kind: Kind
    of: tuple[str, ...]
    steps: tuple[Step, ...]
    made: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

    @property
    def refused(self) -> tuple[Step, ...]:
        """Files that would lose what somebody else did to them."""
        return tuple(step for step in self.steps if step.verdict in REFUSED)

    @property
    def impossible(self) -> tuple[Step, ...]:
        """Files that cannot be put back at all."""
        return tuple(step for step in self.steps if step.verdict in ("lost", "blocked"))

    @property
    def outside(self) -> tuple[str, ...]:
        """Files outside of the workspace that would change."""
        return tuple(
            step.wanted.path for step in self.steps if step.verdict != "same" and Path(step.wanted.path).is_absolute()
        )


class Checkpoints:
    """What is kept of the files of one workspace.

    store: the folder of all projects' copies; None keeps everything in memory. apart: folders that are left out.
    Everything that touches files runs in one thread, in order; `before` and `after` hand back what to wait for, the
    others wait themselves. Errors are ClioErrors and OSErrors.
    """

    def __init__(
        self,
        root: Path,
        store: Path | None,
        *,
        lister: Lister,
        apart: Sequence[Path] = (),
        limits: Limits | None = None,
        job_runs: Callable[[], bool] = lambda: False,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.root = root.resolve()
        self.store = store
        self._limits = limits or Limits()
        self._now = now
        folder = project_folder(store, self.root) if store else None
        self._objects = DiskObjects(store / "objects") if store else MemoryObjects(MEMORY_BYTES)
        self._log = DiskLog(folder, self.root) if folder else MemoryLog()
        self._intents = DiskIntents(folder) if folder else NoIntents()
        self._journal = Journal(folder, self.root, self._objects, self._log)
        self._recorder = Recorder(
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
            seen=SeenFile(folder),
            job_runs=job_runs,
            now=now,
        )
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="checkpoints")
        self._calls = 0
        self._turn: TurnRef | None = None

    # --- while a turn runs

    def get_ready(self) -> None:
        """A turn has called its first tool: do ahead what the first change or command waits for."""
        self._pool.submit(self._recorder.get_ready)  # what fails here fails again, and is said, when it matters

    def before_files(self, turn: TurnRef, paths: Sequence[Path]) -> "Future[None]":
        """A call is about to write these files, given absolute and with links resolved."""
        return self._pool.submit(self._recorder.before_files, turn, paths)

    def before_command(self, turn: TurnRef) -> "Future[None]":
        """A call is about to run a command."""
        return self._pool.submit(self._recorder.before_command, turn)

    def after(self) -> "Future[None]":
        """The call has ended; whoever asks next waits until what it did is written down. What fails is news."""
        ended_ns = time.time_ns()
        return self._pool.submit(self._noting, lambda: self._after(ended_ns))

    def end_turn(self, turn: TurnRef) -> "Future[None]":
        """The turn has ended; what background commands did in it belongs to it."""
        return self._pool.submit(self._noting, lambda: self._recorder.settle(turn))

    def take_news(self) -> list[str]:
        """Sentences for the person that have come up."""
        news, self._recorder.news = self._recorder.news, []
        return news

    # --- between turns

    def recover(self) -> None:
        """Finish, or write down, what a killed clio left; `take_news` says what that was."""
        self._do(self._recover)

    def turns(self) -> list[TurnFiles]:
        """The turns that changed files in this workspace, oldest first."""
        return turns_of(self._do(self._settled))

    def taken_back(self) -> set[str]:
        """The messages of the turns whose changes are taken back."""
        return taken_back(self._do(self._settled))

    def plan_back(self, messages: Collection[str], kind: Kind) -> Plan:
        """How to take back the turns that began with these messages, but for those taken back already."""
        return self._do(lambda: self._plan_back(messages, kind))

    def plan_redo(self, sessions: Collection[str]) -> Plan | None:
        """How to take back what was taken back last in one of these sessions; None where there is nothing."""
        return self._do(lambda: self._plan_redo(sessions))

    def carry_out(self, plan: Plan, session: str, *, force: bool = False, leave: Collection[str] = ()) -> Restored:
        """Do what was planned, but for the files in `leave`; those that are refused only with `force`."""
        return self._do(lambda: self._carry_out(plan, session, force, leave))

    def content(self, state: FileState | None) -> bytes | None:
        """The bytes of a state, the target of a link among them; None where they are not there."""
        if state is None:
            return b""
        return state.link.encode() if state.link is not None else self._objects.get(state.id)

    def keep_current(self, path: str) -> FileState | None:
        """The file as it is now, its bytes kept, so that `content` has them."""
        return self._do(lambda: state_of(path_of(self.root, path), self._objects, keep=True))

    def restored_since(self, time: float) -> list[Record]:
        """What was put back, or forth, after that time."""
        return [record for record in self._do(self._log.read) if record.kind != "turn" and record.at > time]

    def usage(self) -> "Usage | None":
        """What the whole store holds; None where everything is in memory."""
        from clio.checkpoints.space import usage

        store = self.store
        return self._do(lambda: usage(store)) if store else None

    def close(self) -> None:
        """Wait until everything is written down, what background commands did to their end included."""
        self._pool.submit(self._noting, self._recorder.settle)
        self._pool.shutdown()
        self._intents.close()

    def _do(self, work: Callable[[], T]) -> T:
        return self._pool.submit(work).result()

    def _noting(self, work: Callable[[], None]) -> None:
        """Nobody waits for this, so nobody would hear of what goes wrong."""
        try:
            work()
        except (ClioError, OSError) as error:
            self._recorder.news.append(f"/undo does not cover what was done last: {cause(error)}")
        except Exception as error:
            self._recorder.news.append(f"/undo failed by a fault of its own ({type(error).__name__}: {error})")

    def _after(self, ended_ns: int) -> None:
        self._recorder.after(ended_ns)
        if self.store is not None and self._calls % _ROOM_EVERY == 0:
            from clio.checkpoints.space import make_room

            make_room(self.store, max_bytes=self._limits.max_bytes, max_age_s=self._limits.max_age_s, now=self._now())
        self._calls += 1

    def _settled(self) -> list[Record]:
        self._recorder.settle()
        return self._log.read()

    def _recover(self) -> None:
        self._recorder.news += self._journal.finish()
        abandoned = self._intents.abandoned()
        drop_unfinished([path_of(self.root, path) for intent in abandoned for path in intent.files], time.time())
        self._recorder.take_over(abandoned)

    def _plan_back(self, messages: Collection[str], kind: Kind) -> Plan:
        records = self._settled()
        back = taken_back(records)
        turns = [turn for turn in turns_of(records) if turn.message in messages and turn.message not in back]
        return self._plan(kind, tuple(turn.message for turn in turns), [one for turn in turns for one in turn.records])

    def _plan_redo(self, sessions: Collection[str]) -> Plan | None:
        record = redoable(self._settled(), sessions)
        return self._plan("redo", (record.id,), [record]) if record else None

    def _plan(self, kind: Kind, of: tuple[str, ...], records: Sequence[Record]) -> Plan:
        steps: list[Step] = []
        for wanted in way_back(records):
            if wanted.target == wanted.expected and not wanted.between:
                continue
            current = state_of(path_of(self.root, wanted.path), self._objects, keep=False)
            step = judge(wanted, current, blocked=is_blocked(self.root, wanted.path))
            if step.verdict != "same" and not self._can_make(wanted.target):
                step = msgspec.structs.replace(step, verdict="lost")
            steps.append(step)
        made = tuple(dict.fromkeys(folder for record in records for folder in record.gone))
        gone = tuple(dict.fromkeys(folder for record in records for folder in record.made))
        return Plan(kind=kind, of=of, steps=tuple(steps), made=made, gone=gone)

    def _can_make(self, state: FileState | None) -> bool:
        return state is None or state.link is not None or self._objects.has(state.id)

    def _carry_out(self, plan: Plan, session: str, force: bool, leave: Collection[str]) -> Restored:
        chosen = [
            step
            for step in plan.steps
            if step.wanted.path not in leave and (step.verdict == "put" or (force and step.verdict in REFUSED))
        ]
        changes: list[Change] = []
        for step in chosen:
            path = step.wanted.path
            now = state_of(path_of(self.root, path), self._objects, keep=True)
            if now != step.current:
                raise UserError(f"{path!r} changed this moment, so nothing was put back; look at it and ask again")
            changes.append(Change(path=path, before=now, after=step.wanted.target))
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
    lister: Lister,
    limits: Limits,
    job_runs: Callable[[], bool],
    now: Callable[[], float] = time.time,
) -> Checkpoints:
    """The checkpoints of a workspace in clio's home, or in memory; nothing is created before something is kept."""
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
