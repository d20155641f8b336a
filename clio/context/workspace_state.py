"""What changes from turn to turn and the model should know: the date, and how the working tree stands."""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

from clio.context.inert import one_line
from clio.git_looking import answer

_TIMEOUT_S = 0.7  # `git status` takes 43 ms in 20,000 files; a slower disk must not hold up the turn
FRESH_S = 2.0
AGAIN_S = 1.0
"""While somebody types, the tree is looked at this often; more seldom where a look takes long."""
_SHARE = 20


class WorkingTree:
    """How the tree of one project stands, looked at ahead where a turn is about to begin.

    A look takes git 40 ms in 20,000 files; one that began up to `FRESH_S` ago counts as now, unless clio itself has
    run something since. All who ask in one process share it: see `working_tree`.
    """

    def __init__(self, project: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._project = project
        self._clock = clock
        self._lock = threading.Lock()
        self._look: Future[str | None] | None = None
        self._began = float("-inf")
        self._again_s = AGAIN_S

    def look_ahead(self) -> None:
        """Begin a look where the last one is no longer new; it goes on in a thread. Cheap enough for every key."""
        now = self._clock()
        with self._lock:
            look = self._look
            if look is None or (look.done() and now - self._began > self._again_s):
                self._begin(now)

    def outdated(self) -> None:
        """Something has run that may have changed files: what was seen before counts no longer."""
        with self._lock:
            self._look = None

    async def describe(self, now: float) -> str:
        """Date, branch and count of changed files as `key: value` lines. Outside git only the date. now: Unix time."""
        lines = [f"date: {time.strftime('%Y-%m-%d (%A)', time.localtime(now))}"]
        status = await asyncio.wrap_future(self._fresh())
        if status is not None:
            lines += _summary(status)
        return "\n".join(lines)

    def _fresh(self) -> "Future[str | None]":
        now = self._clock()
        with self._lock:
            if self._look is not None and now - self._began <= FRESH_S:
                return self._look
            return self._begin(now)

    def _begin(self, now: float) -> "Future[str | None]":
        look: Future[str | None] = Future()
        look.set_running_or_notify_cancel()  # whoever waits may give up; others may wait too
        self._look, self._began = look, now
        threading.Thread(target=self._run, args=(look, now), daemon=True).start()
        return look

    def _run(self, look: "Future[str | None]", began: float) -> None:
        try:
            status = read_git(self._project, "status", "--porcelain", "--branch")
        except Exception as error:  # a bug: the turn that asks ends with it
            look.set_exception(error)
            return
        self._again_s = max(AGAIN_S, _SHARE * (self._clock() - began))
        look.set_result(status)


_TREES: dict[Path, WorkingTree] = {}


def working_tree(project: Path) -> WorkingTree:
    """The one of this folder in this process."""
    return _TREES.setdefault(project, WorkingTree(project))


def files_may_have_changed() -> None:
    """A call or a command has run: to be told, so that no turn is told how things stood before it."""
    for tree in _TREES.values():
        tree.outdated()


def read_git(project: Path, *arguments: str) -> str | None:
    """What a reading git command prints; None without git, without a repository, or if it takes too long.

    Blocks up to 0.7 s; under an event loop, call it in a thread.
    """
    return answer(project, *arguments, timeout_s=_TIMEOUT_S)


def _summary(status: str) -> list[str]:
    head, *files = status.splitlines() or [""]
    branch = one_line(head.removeprefix("## ").split("...")[0])
    return [f"branch: {branch}", f"changed files: {len(files)}"]
