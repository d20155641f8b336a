"""Threads that never delay clio's exit, child processes (found, started, recognized and ended), and the memory settings
of a long-running process.

This is the only module that starts a thread by itself. A daemon thread is for work that nothing can interrupt and that
clio must not wait for when it exits: resolving a host name, a blocking read of standard input, the import of a large
package. Work that must be finished before clio exits runs in `asyncio.to_thread`, or in the single-thread executor of
the store it belongs to; the interpreter waits for both at exit. That is why `concurrent.futures.ThreadPoolExecutor` is
not used here: a job that hangs would hang the exit, too. Its import takes 8 ms besides.
"""

import gc
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, MutableMapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from clio.text.translation import tr

if TYPE_CHECKING:
    from pathlib import Path

ProgressCallback = Callable[[int, int], None]
"""Called with the number of items done and the total."""


def never_stop() -> bool:
    """Return False: the work is not to be stopped."""
    return False


def ignore_progress(done: int, total: int) -> None:
    """Ignore a progress report."""


T = TypeVar("T")


def start_daemon_thread(work: Callable[[], object], name: str) -> threading.Thread:
    """Run `work` in a new daemon thread called `name`. What it raises goes to `threading.excepthook`."""
    thread = threading.Thread(target=work, name=name, daemon=True)
    thread.start()
    return thread


class Worker:
    """Runs jobs in the background, one at a time and in the order of `submit`: for a store whose writes may block.

    Each job has a daemon thread of its own, so an idle worker has no thread and needs no closing. Jobs that have not
    ended when clio exits are lost. Any thread may use it.

    Args:
        name: of the threads, for stack dumps and reports of errors.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: deque[Callable[[], object]] = deque()
        self._condition = threading.Condition()
        self._is_running = False

    def submit(self, work: Callable[[], object]) -> None:
        """Queue `work` and return at once. What it raises goes to `threading.excepthook`; later jobs still run."""
        with self._condition:
            self._jobs.append(work)
            if not self._is_running:
                self._start_next()

    def wait(self, limit_s: float | None = None) -> bool:
        """Wait until no job is left, at most `limit_s` seconds; return whether none is. A job must not call it."""
        with self._condition:
            return self._condition.wait_for(lambda: not self._is_running, limit_s)

    def _start_next(self) -> None:
        """Start the first job, if there is one; the caller has the lock."""
        if self._jobs:
            work = self._jobs[0]
            start_daemon_thread(lambda: self._run(work), self._name)
            self._jobs.popleft()
            self._is_running = True

    def _run(self, work: Callable[[], object]) -> None:
        try:
            work()
        finally:  # an error ends this thread and is reported as for any thread; the next job has its own
            with self._condition:
                self._is_running = False
                self._condition.notify_all()
                self._start_next()


class BackgroundCall(Generic[T]):
    """A call running in a daemon thread of its own, whose result can be awaited or abandoned.

    Args:
        work: called once, at once. What it raises is raised by `wait`, and by nothing else.
        name: of the thread, for stack dumps.
    """

    def __init__(self, work: Callable[[], T], name: str) -> None:
        self._work = work
        self._done = threading.Event()
        self._results: list[T] = []
        self._error: Exception | None = None
        start_daemon_thread(self._run, name)

    def wait(self, limit_s: float | None = None, give_up: Callable[[], bool] | None = None, poll_s: float = 0.2) -> T:
        """Return the result of the call; it may be asked for again, from any thread.

        Args:
            limit_s: seconds to wait; None waits as long as the call runs.
            give_up: asked every `poll_s` seconds; waiting ends when it returns true.

        Raises:
            TimeoutError: if the time was up or `give_up` returned true first. The call continues in its thread.
            Exception: what the call raised.
        """
        deadline = None if limit_s is None else time.monotonic() + limit_s
        while not self._done.is_set():
            left_s = None if deadline is None else deadline - time.monotonic()
            if (left_s is not None and left_s <= 0) or (give_up is not None and give_up()):
                raise TimeoutError(
                    tr("no answer") if limit_s is None else tr("no answer within {limit_s:g} seconds", limit_s=limit_s)
                )
            self._done.wait(left_s if give_up is None else poll_s if left_s is None else min(left_s, poll_s))
        if self._error is not None:
            raise self._error
        return self._results[0]

    def _run(self) -> None:
        try:
            self._results.append(self._work())
        except Exception as error:  # raised again by `wait`
            self._error = error
        finally:
            self._done.set()


async def start_process(start: Coroutine[Any, Any, T], end: Callable[[T], Awaitable[None]]) -> T:
    """Await `start` and return its process. If cancelled meanwhile, wait for the process and pass it to `end`.

    asyncio alone would kill only the process itself, at once: it could not release its locks, and its children would
    keep running.
    """
    import asyncio  # in this function, because `clio sessions` and others need threads only

    start_task = asyncio.ensure_future(start)
    try:
        return await asyncio.shield(start_task)
    except asyncio.CancelledError:
        with suppress(OSError, ValueError):
            await end(await start_task)
        raise


def avoid_current_folder(env: MutableMapping[str, str], *, windows: bool = os.name == "nt") -> None:
    """On Windows, keep programs of the current folder from being found by their name alone.

    Windows looks for `git` in the current folder before PATH, so a repository with a `git.exe` or `git.bat` would
    decide what clio and its shell run. The variable applies to clio, to cmd.exe and to their children.
    """
    if windows:
        env["NoDefaultCurrentDirectoryInExePath"] = "1"


def find_program(name: str, path: str | None = None) -> str | None:
    """Return the program of that name on PATH, as `shutil.which` does, but never one of the current folder.

    Before Python 3.12, `which` looks there first on Windows, whatever `avoid_current_folder` has set.

    Args:
        path: folders to search instead of those in PATH.
    """
    import shutil

    if sys.platform != "win32":
        return shutil.which(name, path=path)
    folders = os.environ.get("PATH", os.defpath) if path is None else path
    if sys.version_info >= (3, 12):  # `which` completes the extension of a name with a folder, and looks nowhere else
        absolute = (folder for folder in folders.split(os.pathsep) if os.path.isabs(folder))  # noqa: PTH117 see below
        return next(filter(None, (shutil.which(f"{folder}{os.sep}{name}") for folder in absolute)), None)
    # If the list contains the current folder, `which` does not put it first; a program found there is the last one.
    found = shutil.which(name, path=f"{folders}{os.pathsep}{os.curdir}")
    return found if found and os.path.isabs(found) else None  # noqa: PTH117 pathlib is not loaded otherwise


PROJECT_PROGRAM_FOLDERS = ("node_modules/.bin", ".venv/bin", "venv/bin", ".venv/Scripts", "venv/Scripts", "vendor/bin")
"""Folders in which a project's own environment has its programs."""


def split_path_folders(root: "Path") -> tuple[list[str], list[str]]:
    """Return two lists: the folders on the user's PATH outside the project, and those of the project's own programs."""
    from pathlib import Path

    user_folders: list[str] = []
    project_folders = [str(root / name) for name in PROJECT_PROGRAM_FOLDERS]
    for name in os.environ.get("PATH", "").split(os.pathsep):
        if not Path(name).is_absolute():
            continue  # "." and other relative paths depend on the project
        folder = Path(name).resolve()
        (project_folders if folder == root or root in folder.parents else user_folders).append(name)
    return user_folders, project_folders


RUN_MARK = "CLIO_RUN"
"""Variable of all commands that clio starts: clio's process, when that began, and clio's own folder."""
LAUNCHER_NAME = "launcher_child.py"
"""Last but one argument of the process that is the parent of clio's commands; the last one is clio's own folder."""


def make_run_mark(home: "Path") -> str:
    """Return the value of `RUN_MARK` for the commands of this process."""
    return f"{os.getpid()}:{read_process_start(os.getpid())}:{os.path.realpath(home)}"


def is_in_clio_command(home: "Path", env: Mapping[str, str]) -> bool:
    """Whether a running clio with this folder of its own started this process, directly or through others.

    A script can change its variables, so the processes above are looked at, too; on Linux the commands of a clio cannot
    leave the process that started them before clio ends. On other systems only the variable is known.
    """
    own = os.path.realpath(home)
    pid, _, rest = env.get(RUN_MARK, "").partition(":")
    started, _, marked_home = rest.partition(":")
    if marked_home == own and pid.isascii() and pid.isdigit() and _is_running(int(pid), started):
        return True
    launcher = os.fsencode(f"/{LAUNCHER_NAME}")
    for arguments in _iter_ancestor_arguments():
        if len(arguments) > 1 and arguments[-2].endswith(launcher) and arguments[-1] == os.fsencode(own):
            return True
    return False


def _is_running(pid: int, started: str) -> bool:
    """Whether the process that began then is alive; also where the system does not tell when it began."""
    if started or sys.platform == "linux":
        return read_process_start(pid) == started
    if sys.platform == "win32":
        return True  # a signal would end it
    try:
        os.kill(pid, 0)
    except OSError as error:
        return isinstance(error, PermissionError)
    return True


def _iter_ancestor_arguments() -> "Iterator[list[bytes]]":
    """Yield the arguments of each process above this one, where /proc tells them."""
    pid, seen = os.getppid(), set[int]()
    while pid > 1 and pid not in seen:
        seen.add(pid)
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:  # noqa: PTH123 - `pathlib` is not imported yet
                yield file.read().rstrip(b"\0").split(b"\0")
            with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
                pid = int(file.read().rpartition(b")")[2].split()[1])
        except OSError:
            return


def read_process_start(pid: int) -> str:
    """Return when a process began, as the system states it; "" if it does not run or the system does not tell."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            status = file.read()
        with open("/proc/sys/kernel/random/boot_id", encoding="utf-8") as file:  # noqa: PTH123
            boot = file.read().strip()
    except OSError:
        return ""
    return f"{boot[:8]}-{status.rpartition(')')[2].split()[19]}"


def end_tree_on_windows(leader: int, *, gently: bool, running: bool) -> None:
    """Ask a process and its children to end, or kill them; does nothing on other systems, or if it has ended.

    The process must have been started with CREATE_NEW_PROCESS_GROUP.
    """
    if sys.platform == "win32" and running:
        import signal
        import subprocess

        # Windows has no SIGTERM. Ctrl-Break reaches a process group, for which the process was started in a group of
        # its own. It fails without a console, as for a program that an editor started.
        if gently:
            with suppress(OSError):
                os.kill(leader, signal.CTRL_BREAK_EVENT)
        else:
            program = os.path.join(os.environ.get("SYSTEMROOT", r"C:\Windows"), "System32", "taskkill.exe")  # noqa: PTH118
            subprocess.run([program, "/T", "/F", "/PID", str(leader)], capture_output=True, check=False)


LONG_RUN_THRESHOLDS = (2_000, 10, 10)
"""With the thresholds of the start, 500 turns leave 13 MiB of uncollected cycles; a collection takes less than 1 ms."""
_MALLOC_OPTIONS = ((-8, 1), (-3, 256 * 1024), (-1, 256 * 1024))
"""M_ARENA_MAX, M_MMAP_THRESHOLD and M_TRIM_THRESHOLD of <malloc.h>."""


def freeze_startup_objects() -> None:
    """Exclude all objects that exist now from collection, and collect often from now on.

    Call it once everything is imported. It may be called again, and from any thread.
    """
    # Only the first threshold is compared: Python 3.13 begins with all three, and 3.14 forgets the last one.
    if gc.get_freeze_count() and gc.get_threshold()[0] == LONG_RUN_THRESHOLDS[0]:
        return
    gc.freeze()
    gc.set_threshold(*LONG_RUN_THRESHOLDS)
    _return_free_memory()


def _return_free_memory() -> None:
    """Make glibc return free memory sooner: after 1,000 turns the process holds 99 MiB, not 118. Linux only.

    By default glibc keeps a heap per thread; and once a large block was freed, it raises the size from which blocks
    are mapped separately, so later large blocks fragment the heap.
    """
    if sys.platform == "linux":
        import ctypes

        with suppress(OSError, AttributeError):  # a C library without it, such as musl
            for option, value in _MALLOC_OPTIONS:
                ctypes.CDLL(None).mallopt(option, value)
