"""The parts of a turn's context that change between turns: the date and the state of the working tree."""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from itertools import takewhile
from pathlib import Path

from msgspec import Struct

from clio.readonly_git import run_git
from clio.text.formatting import shorten_to_weight
from clio.text.untrusted_text import to_inert_line
from clio.threads import start_daemon_thread

_TIMEOUT_S = 0.7  # `git status` takes 43 ms in 20,000 files; a slower disk must not delay the turn
MAX_STATE_AGE_S = 2.0
MIN_READ_INTERVAL_S = 1.0
"""Interval of reads while the user types; longer if a read takes long."""
_INTERVAL_FACTOR = 20  # the interval is at least 20 times as long as the last read took
_LISTED_FILES, _LISTED_COMMITS = 10, 3
_PATH_CHARS, _SUBJECT_CHARS = 100, 72


class TreeState(Struct, frozen=True):
    """A working tree at one moment.

    Attributes:
        branch: its name, or git's description of a detached HEAD.
        changed: at most 10 lines of `git status --short`.
        changed_count: number of all changed files.
        commits: the newest three lines of `git log --oneline`, newest first.
    """

    branch: str
    changed: tuple[str, ...]
    changed_count: int
    commits: tuple[str, ...]


class WorkingTree:
    """Reads the state of one project's working tree, in advance while the user types.

    Reading takes git 40 ms in 20,000 files. A state up to `MAX_STATE_AGE_S` old is used, unless clio has since run a
    command that may have changed it. One instance per project is shared in the process: see `get_working_tree`.
    """

    def __init__(self, project: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._project = project
        self._clock = clock
        self._lock = threading.Lock()
        self._pending_read: Future[TreeState | None] | None = None
        self._newest_hash = ""
        self._commits: tuple[str, ...] = ()
        self._read_began = float("-inf")
        self._interval_s = MIN_READ_INTERVAL_S

    def read_ahead(self) -> None:
        """Start a read in a thread if the last one is too old. Cheap enough to call at every key press."""
        now = self._clock()
        with self._lock:
            pending = self._pending_read
            if pending is None or (pending.done() and now - self._read_began > self._interval_s):
                self._begin(now)

    def invalidate(self) -> None:
        """Forget the state, because a command or tool may have changed files."""
        with self._lock:
            self._pending_read = None

    async def read(self) -> TreeState | None:
        """Return the current state; None outside git, without git, or if git takes too long."""
        return await asyncio.wrap_future(self._fresh())

    def _fresh(self) -> "Future[TreeState | None]":
        now = self._clock()
        with self._lock:
            if self._pending_read is not None and now - self._read_began <= MAX_STATE_AGE_S:
                return self._pending_read
            return self._begin(now)

    def _begin(self, now: float) -> "Future[TreeState | None]":
        pending: Future[TreeState | None] = Future()
        pending.set_running_or_notify_cancel()  # the read cannot be cancelled: several callers may wait for it
        self._pending_read, self._read_began = pending, now
        start_daemon_thread(lambda: self._run(pending, now), "git-status")
        return pending

    def _run(self, pending: "Future[TreeState | None]", began_s: float) -> None:
        try:
            state = self._read()
        except Exception as error:  # a bug: raised in the turn that waits for the result
            pending.set_exception(error)
            return
        self._interval_s = max(MIN_READ_INTERVAL_S, _INTERVAL_FACTOR * (self._clock() - began_s))
        pending.set_result(state)

    def _read(self) -> TreeState | None:
        status = read_git(self._project, "status", "--porcelain=v2", "--branch")
        if status is None:
            return None
        lines = status.splitlines()
        head = dict(line[2:].split(" ", 1) for line in lines if line.startswith("# branch."))
        changed = [line for line in lines if line[:2] in ("1 ", "2 ", "u ", "? ")]
        newest = head.get("branch.oid", "")
        if newest != self._newest_hash:
            log = read_git(self._project, "log", f"-{_LISTED_COMMITS}", "--format=%h %s") if _is_hash(newest) else ""
            self._commits = tuple(
                shorten_to_weight(to_inert_line(line), _SUBJECT_CHARS) for line in (log or "").splitlines()
            )
            self._newest_hash = newest if log is not None else ""
        branch = head.get("branch.head", "")
        return TreeState(
            branch=to_inert_line(branch if branch != "(detached)" else f"(detached at {newest[:8]})"),
            changed=tuple(_file_line(line) for line in changed[:_LISTED_FILES]),
            changed_count=len(changed),
            commits=self._commits,
        )


_TREES: dict[Path, WorkingTree] = {}


def get_working_tree(project: Path) -> WorkingTree:
    """Return the shared working tree of a project."""
    return _TREES.setdefault(project, WorkingTree(project))


def invalidate_working_trees() -> None:
    """Forget the states of all projects, so that the next turn reads them again after a tool or command has run."""
    for tree in _TREES.values():
        tree.invalidate()


def read_git(project: Path, *arguments: str) -> str | None:
    """Return the output of a git command that only reads; None on any failure, including a timeout.

    Blocks up to 0.7 s; call it in a thread.
    """
    return run_git(project, *arguments, timeout_s=_TIMEOUT_S)


def describe_date(now: float) -> str:
    """Return the line with the date. now: Unix time."""
    return f"date: {time.strftime('%Y-%m-%d (%A)', time.localtime(now))}"


_LAST_COMMITS = "last commits:"


def read_last_commits(context: str) -> tuple[str, ...]:
    """Return the commits that a text with lines of `describe_tree` lists."""
    lines = context.partition(f"\n{_LAST_COMMITS}\n")[2].split("\n")
    return tuple(line[2:] for line in takewhile(lambda line: line.startswith("  "), lines))


def describe_tree(state: TreeState, *, with_commits: bool = True) -> list[str]:
    """Return the lines about a working tree that the model is shown."""
    more = state.changed_count - len(state.changed)
    lines = [f"branch: {state.branch}", f"changed files: {state.changed_count}", *state.changed]
    lines += [f"  … {more} more"] if more else []
    return (
        [*lines, _LAST_COMMITS, *(f"  {commit}" for commit in state.commits)]
        if with_commits and state.commits
        else lines
    )


def _is_hash(name: str) -> bool:
    return bool(name) and name != "(initial)"


def _file_line(line: str) -> str:
    """Convert a line of `git status --porcelain=v2` to the format of `--short`."""
    kind, rest = line[0], line[2:]
    if kind == "?":
        return f"  ?? {shorten_to_weight(to_inert_line(rest), _PATH_CHARS)}"
    fields = rest.split(" ", {"1": 7, "2": 8, "u": 9}[kind])
    path, _, before = fields[-1].partition("\t")
    name = f"{before} -> {path}" if before else path
    return f"  {fields[0].replace('.', ' ')} {shorten_to_weight(to_inert_line(name), _PATH_CHARS)}"
