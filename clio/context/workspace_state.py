"""What changes from turn to turn and the model should know: the date, and the state of the working tree."""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

from msgspec import Struct

from clio.context.inert_text import cut, one_line
from clio.readonly_git import run_git
from clio.threads import start_daemon_thread

_TIMEOUT_S = 0.7  # `git status` takes 43 ms in 20,000 files; a slower disk must not hold up the turn
FRESH_S = 2.0
AGAIN_S = 1.0
"""While somebody types, the tree is looked at this often; more seldom where a look takes long."""
_SHARE = 20
_LISTED_FILES, _LISTED_COMMITS = 10, 3
_PATH_CHARS, _SUBJECT_CHARS = 100, 72


class TreeState(Struct, frozen=True):
    """A working tree at one moment.

    branch: its name, or how git describes a detached HEAD. changed: one line a changed file, as `git status --short`
    prints them, at most 10. changed_count: of all changed files. commits: the newest three, newest first, as
    `git log --oneline` prints them.
    """

    branch: str
    changed: tuple[str, ...]
    changed_count: int
    commits: tuple[str, ...]


class WorkingTree:
    """The state of one project's working tree, read ahead when a turn is about to begin.

    Reading takes git 40 ms in 20,000 files; a state read up to `FRESH_S` ago is current, unless clio itself has run
    something since. Everything in one process shares it: see `working_tree`.
    """

    def __init__(self, project: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._project = project
        self._clock = clock
        self._lock = threading.Lock()
        self._look: Future[TreeState | None] | None = None
        self._newest = ""
        self._commits: tuple[str, ...] = ()
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
        """Forget the state read before, because something has run that may have changed files."""
        with self._lock:
            self._look = None

    async def read(self) -> TreeState | None:
        """The current state; None outside git, without git, or where git takes too long."""
        return await asyncio.wrap_future(self._fresh())

    def _fresh(self) -> "Future[TreeState | None]":
        now = self._clock()
        with self._lock:
            if self._look is not None and now - self._began <= FRESH_S:
                return self._look
            return self._begin(now)

    def _begin(self, now: float) -> "Future[TreeState | None]":
        look: Future[TreeState | None] = Future()
        look.set_running_or_notify_cancel()  # one caller may stop waiting; others may wait too
        self._look, self._began = look, now
        start_daemon_thread(lambda: self._run(look, now), "git-status")
        return look

    def _run(self, look: "Future[TreeState | None]", began: float) -> None:
        try:
            state = self._read()
        except Exception as error:  # a bug: the turn that asks ends with it
            look.set_exception(error)
            return
        self._again_s = max(AGAIN_S, _SHARE * (self._clock() - began))
        look.set_result(state)

    def _read(self) -> TreeState | None:
        status = read_git(self._project, "status", "--porcelain=v2", "--branch")
        if status is None:
            return None
        lines = status.splitlines()
        head = dict(line[2:].split(" ", 1) for line in lines if line.startswith("# branch."))
        changed = [line for line in lines if line[:2] in ("1 ", "2 ", "u ", "? ")]
        newest = head.get("branch.oid", "")
        if newest != self._newest:
            log = read_git(self._project, "log", f"-{_LISTED_COMMITS}", "--format=%h %s") if _is_hash(newest) else ""
            self._commits = tuple(cut(one_line(line), _SUBJECT_CHARS) for line in (log or "").splitlines())
            self._newest = newest if log is not None else ""
        branch = head.get("branch.head", "")
        return TreeState(
            branch=one_line(branch if branch != "(detached)" else f"(detached at {newest[:8]})"),
            changed=tuple(_file_line(line) for line in changed[:_LISTED_FILES]),
            changed_count=len(changed),
            commits=self._commits,
        )


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
    return run_git(project, *arguments, timeout_s=_TIMEOUT_S)


def describe_day(now: float) -> str:
    """The line with the date; now: Unix time."""
    return f"date: {time.strftime('%Y-%m-%d (%A)', time.localtime(now))}"


def describe_tree(state: TreeState, *, with_commits: bool = True) -> list[str]:
    """The lines the model is told about a working tree."""
    more = state.changed_count - len(state.changed)
    lines = [f"branch: {state.branch}", f"changed files: {state.changed_count}", *state.changed]
    lines += [f"  … {more} more"] if more else []
    return (
        [*lines, "last commits:", *(f"  {commit}" for commit in state.commits)]
        if with_commits and state.commits
        else lines
    )


def _is_hash(name: str) -> bool:
    return bool(name) and name != "(initial)"


def _file_line(line: str) -> str:
    """A line of `git status --porcelain=v2` as `--short` prints it."""
    kind, rest = line[0], line[2:]
    if kind == "?":
        return f"  ?? {cut(one_line(rest), _PATH_CHARS)}"
    fields = rest.split(" ", {"1": 7, "2": 8, "u": 9}[kind])
    path, _, before = fields[-1].partition("\t")
    name = f"{before} -> {path}" if before else path
    return f"  {fields[0].replace('.', ' ')} {cut(one_line(name), _PATH_CHARS)}"
