"""Real clios, forked from a process that has imported everything already, and killed at a chosen instant.

A fork saves the 0.3 s of imports in which there is nothing to lose. What runs is `clio.cli.command`, in a process of
its own with its own folder, environment, pipes and locks. The process that forks must have no threads.
"""

import errno
import faulthandler
import gc
import importlib
import io
import json
import mmap
import os
import pkgutil
import random
import select
import signal
import struct
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

LIMIT_S = 120.0
"""A clio that takes longer than this hangs."""
_HOOKED = ("write", "fsync", "replace", "rename", "unlink", "remove", "link", "ftruncate", "mkdir")
"""The calls by which clio changes files. SQLite's are its own: only the clock meets them."""


class Instant(Struct, frozen=True, kw_only=True):
    """When a process is killed: after so many seconds, or at its n-th change of a file (a write is cut in half)."""

    seconds: float | None = None
    call: int | None = None
    half: bool = False


NEVER = Instant()


class Ended(Struct, frozen=True, kw_only=True):
    """What became of a process. code: its exit code, negative for a signal, None where it hung and was ended here."""

    code: int | None
    out: str
    err: str
    calls: int
    seconds: float

    @property
    def killed(self) -> bool:
        return self.code == -signal.SIGKILL


class Trouble(Struct, frozen=True, kw_only=True):
    """What is wrong around a process from its start.

    file_bytes: no file may grow beyond. no_locks: the file system has none. user: who it runs as, where root starts it.
    clock_s: what its clock is ahead, or behind where that is negative; the times of files are the kernel's.
    """

    file_bytes: int | None = None
    no_locks: bool = False
    user: int | None = None
    clock_s: float = 0.0


_ahead_s = 0.0
_real_time, _real_time_ns = time.time, time.time_ns


def preload() -> None:
    """Import what clios import, as a first one tells, and all that others may open later.

    Afterwards forks have little left to import; `nobody` may not be let in where packages lie.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Before anybody takes them as the clock to go by.
    time.time = lambda: _real_time() + _ahead_s
    time.time_ns = lambda: _real_time_ns() + int(_ahead_s * 1e9)
    import clio.cli  # as the child does
    from clio.security.shell.parser import parse_command_line

    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read_end)
        _say_what_is_imported(write_end)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as heard:
        names = json.loads(heard.read())
    os.waitpid(child, 0)
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError:
            continue
    for module in pkgutil.walk_packages(clio.__path__, "clio."):
        if not module.name.startswith("clio.entrypoints"):
            importlib.import_module(module.name)
    parse_command_line("true")  # and with it the grammar
    gc.collect()
    gc.freeze()


def _say_what_is_imported(out: int) -> None:
    from clio.cli import main

    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ.update(HOME=folder, CLIO_HOME=f"{folder}/.clio", OPENAI_API_KEY="k", CLIO_MODEL="m")
        os.environ["OPENAI_BASE_URL"] = "http://127.0.0.1:9/v1"
        for words in (
            ["memory", "add", "discovery", "a word"],
            ["memory", "remember", "another word", "--type", "fact"],
            ["-p", "word", "--provider", "offline", "--output", "stream-json"],
            ["sessions", "search", "word"],
            ["memory", "sleep"],
            ["doctor"],
        ):
            main(words)
    os.write(out, json.dumps([name for name in sys.modules if name != "__main__"]).encode())
    os._exit(0)


class Clio:
    """One running process. Made by `start`; `finish` waits for its end."""

    def __init__(self, pid: int, fds: tuple[int, int, int], counter: mmap.mmap, instant: Instant) -> None:
        self.pid = pid
        self._stdin, self._out, self._err = fds
        self._counter = counter
        self._instant = instant
        self._began = time.monotonic()

    def finish(self, words: bytes = b"") -> Ended:
        """Give it its input, read all it says, and kill it when its instant comes."""
        heard = {self._out: bytearray(), self._err: bytearray()}
        kill_at = None if self._instant.seconds is None else self._began + self._instant.seconds
        limit = self._began + LIMIT_S
        hung = False
        self._feed(words)
        open_fds = set(heard)
        status: int | None = None
        while status is None or open_fds:
            now = time.monotonic()
            if kill_at is not None and now >= kill_at:
                os.kill(self.pid, signal.SIGKILL) if status is None else None
                kill_at = None
            if now >= limit and status is None:
                hung = True
                os.kill(self.pid, signal.SIGUSR1)  # every thread's stack
                time.sleep(0.5)
                os.kill(self.pid, signal.SIGKILL)
                limit = now + LIMIT_S
            if status is None:
                done, told = os.waitpid(self.pid, os.WNOHANG)
                status = told if done else None
            wait = 0.02 if kill_at is None else min(0.02, max(0.0, kill_at - now))
            ready = select.select(list(open_fds), [], [], wait if open_fds else 0)[0]
            for fd in ready:
                piece = os.read(fd, 1 << 16)
                heard[fd] += piece
                if not piece:
                    open_fds.discard(fd)
            if status is not None and not ready:
                break  # a child of the killed one may hold the pipe open
            if not open_fds and status is None:
                time.sleep(0.001)
        for fd in heard:
            os.close(fd)
        return Ended(
            code=None if hung else os.waitstatus_to_exitcode(status),
            out=heard[self._out].decode("utf-8", "replace"),
            err=heard[self._err].decode("utf-8", "replace"),
            calls=struct.unpack_from("q", self._counter)[0],
            seconds=time.monotonic() - self._began,
        )

    def _feed(self, words: bytes) -> None:
        try:
            os.write(self._stdin, words)  # a pipe holds 64 KiB
        except BrokenPipeError:
            pass
        finally:
            os.close(self._stdin)


def start(
    arguments: Sequence[str],
    cwd: Path,
    env: Mapping[str, str],
    instant: Instant = NEVER,
    trouble: Trouble | None = None,
    work: Callable[[], Any] | None = None,
    *,
    anew: bool = False,
) -> Clio:
    """Fork a clio with these arguments; `work` runs in its place where it is given.

    anew: start Python and import everything, as from a shell; then only the clock can kill it.
    """
    counter = mmap.mmap(-1, 16)
    ends = [os.pipe() for _ in range(3)]
    pid = os.fork()
    if pid == 0:
        try:
            for wanted, fd in enumerate((ends[0][0], ends[1][1], ends[2][1])):
                os.dup2(fd, wanted)
            for pair in ends:
                for fd in pair:
                    os.close(fd)
            if anew:
                os.setsid()
                os.chdir(cwd)
                os.execve(sys.executable, [sys.executable, "-m", "clio", *arguments], dict(env))
            _become(arguments, cwd, env)
            _arm(counter, instant)
            _trouble(trouble or Trouble())
            _run(work)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(99)
    os.close(ends[0][0])
    os.close(ends[1][1])
    os.close(ends[2][1])
    return Clio(pid, (ends[0][1], ends[1][0], ends[2][0]), counter, instant)


def _become(arguments: Sequence[str], cwd: Path, env: Mapping[str, str]) -> None:
    os.setsid()
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    random.seed()
    sys.argv = ["clio", *arguments]
    sys.stdin = io.TextIOWrapper(open(0, "rb"), encoding="utf-8")  # noqa: SIM115
    sys.stdout = io.TextIOWrapper(open(1, "wb"), encoding="utf-8")  # noqa: SIM115
    sys.stderr = io.TextIOWrapper(open(2, "wb", 0), encoding="utf-8", write_through=True)  # noqa: SIM115
    faulthandler.register(signal.SIGUSR1, file=2, all_threads=True)


def why_it_broke() -> str:
    """The exception that is being handled, with the way to it: for what must not end a torture, and must be named."""
    return traceback.format_exc()[-3000:]


def _run(work: Callable[[], Any] | None) -> None:
    from clio.cli import command
    from clio.errors import UserError

    if work is None:
        command()
        return
    try:
        sys.stdout.write(json.dumps(work()))
        sys.stdout.flush()
    except UserError as error:  # as a person at the terminal would read it
        sys.stderr.write(f"clio: {error}\n")
        os._exit(1)
    except BaseException:
        traceback.print_exc()
        os._exit(98)
    os._exit(0)


def _arm(counter: mmap.mmap, instant: Instant) -> None:
    """Count the changes of files, and die at the one that was chosen."""

    def hook(name: str) -> None:
        real = getattr(os, name)

        def counted(*given: Any, **more: Any) -> Any:
            if name == "write" and given[0] in (1, 2):
                return real(*given, **more)
            number = struct.unpack_from("q", counter)[0]
            struct.pack_into("q", counter, 0, number + 1)
            if number == instant.call:
                if name == "write" and instant.half:
                    real(given[0], bytes(given[1])[: len(given[1]) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*given, **more)

        setattr(os, name, counted)

    for name in _HOOKED:
        hook(name)


def _trouble(trouble: Trouble) -> None:
    global _ahead_s
    _ahead_s = trouble.clock_s
    if trouble.file_bytes is not None:
        import resource

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (trouble.file_bytes, trouble.file_bytes))
    if trouble.no_locks:
        import fcntl

        def refuse(*_: Any) -> None:
            raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

        fcntl.flock = refuse
    if trouble.user is not None and os.getuid() == 0:
        os.setgroups([])
        os.setgid(trouble.user)
        os.setuid(trouble.user)
