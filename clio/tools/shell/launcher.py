"""Starts commands through one small process that ends them when clio is gone, however clio ended (see launcher_child).

The process is started with the first command and shared by all event loops and threads of this clio.
"""

import array
import asyncio
import atexit
import contextlib
import os
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from clio.errors import ToolFailed

_CHILD = str(Path(__file__).with_name("launcher_child.py"))
_PASSED_ON = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONHOME")
"""Of clio's environment, what Python may need to start. Nothing else: every command can look at its parent."""
_SIGKILL = 9
_READ_BYTES = 1 << 16
_Protocol = TypeVar("_Protocol", bound=asyncio.SubprocessProtocol)


class Request(Struct, frozen=True, kw_only=True):
    """A command to start.

    script: a Python file of clio's own that is loaded by the launcher; `argv` are then the arguments of its `main`.
    given: bytes the program reads from the descriptor whose number replaces `launcher_child.GIVEN` in `argv`.
    """

    argv: Sequence[str]
    cwd: Path
    env: Mapping[str, str]
    script: str = ""
    given: bytes = b""

    def encode(self) -> bytes:
        """The request as the launcher reads it. Raises ValueError for a NUL character."""
        env = [f"{name}={value}" for name, value in self.env.items()]
        texts = [str(self.cwd.absolute()), self.script, *self.argv, *env]
        if any("\0" in text for text in texts):
            raise ValueError("embedded null byte")
        cwd, script, *rest = map(os.fsencode, texts)
        parts = [cwd, script, self.given, str(len(self.argv)).encode(), *rest]
        body = b"".join(struct.pack("=I", len(part)) + part for part in parts)
        return struct.pack("=I", len(body)) + body


class LauncherMissing(ToolFailed):
    """The process that starts commands cannot be started itself, because Python's program is gone or not allowed."""


class Launcher:
    """The connection to the process that starts commands. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._control: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0

    @property
    def pid(self) -> int | None:
        """The process that starts commands; None before the first."""
        return self._process.pid if self._process is not None else None

    def start_early(self) -> None:
        """Start the process, which takes longer to get ready than to be started, before the first command is known."""
        with self._lock, contextlib.suppress(OSError, LauncherMissing):
            if self._control is None or self._owner != os.getpid():
                self._start()

    def send(self, request: Request, fds: Sequence[int]) -> None:
        """Ask for a command to be started, with these four descriptors.

        Raises:
            LauncherMissing: where the process that starts commands cannot be started.
            ToolFailed, ValueError: where the command cannot be asked for.
        """
        body = request.encode()
        with self._lock:
            try:
                self._send(body, fds)
            except OSError:  # the launcher was killed: its commands went with it, this one gets another
                self._forget()
                try:
                    self._send(body, fds)
                except OSError as error:
                    raise ToolFailed(f"no command can be started: {error}") from error

    def _send(self, body: bytes, fds: Sequence[int]) -> None:
        if self._control is None or self._owner != os.getpid():
            self._start()
        assert self._control is not None
        sent = self._control.sendmsg([body], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))])
        self._control.sendall(body[sent:])

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-S", "-B", _CHILD],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd="/",
                    env={name: os.environ[name] for name in _PASSED_ON if name in os.environ},
                    start_new_session=True,
                )
            except OSError as error:
                ours.close()
                raise LauncherMissing(f"no command can be started: {error}") from error
        self._control, self._owner = ours, os.getpid()
        atexit.register(self.release)

    def release(self) -> None:
        """Tell the launcher that clio ends in good order; it ends too."""
        if self._owner != os.getpid():
            return
        with contextlib.suppress(OSError):
            if self._control is not None:
                self._control.sendall(struct.pack("=I", 0))
        self._forget()

    def _forget(self) -> None:
        atexit.unregister(self.release)
        if self._control is not None:
            self._control.close()
        self._control = None
        if self._process is not None and self._owner == os.getpid():
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(1)
        self._process = None


LAUNCHER = Launcher()


async def launch(
    make_protocol: Callable[[], _Protocol], request: Request, *, stdin: int | None = None, errors_apart: bool = False
) -> tuple[asyncio.SubprocessTransport, _Protocol]:
    """Start a command in a session of its own; like `loop.subprocess_exec`. Raises OSError, ValueError, ToolFailed.

    Not for Windows.

    stdin: what it reads; else nothing. errors_apart: its standard error has a pipe of its own.

    Where Python was removed or replaced while clio runs, a command that is not confined starts as clio's own child; it
    stays if clio is then killed.
    """
    loop = asyncio.get_running_loop()
    pipes = [os.pipe() for _ in range(3 if errors_apart else 2)]  # status, output, and perhaps errors
    nothing = os.open(os.devnull, os.O_RDONLY) if stdin is None else -1
    try:
        status, *outputs = [write for _, write in pipes]
        LAUNCHER.send(request, (nothing if stdin is None else stdin, outputs[0], outputs[-1], status))
    except BaseException as error:
        for read, _ in pipes:
            os.close(read)
        if not isinstance(error, LauncherMissing) or request.script or request.given:
            raise
        return await loop.subprocess_exec(
            make_protocol,
            *request.argv,
            stdin=subprocess.DEVNULL if stdin is None else stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if errors_apart else subprocess.STDOUT,
            cwd=str(request.cwd),
            env=dict(request.env),
            start_new_session=True,
        )
    finally:
        for _, write in pipes:
            os.close(write)
        if nothing >= 0:
            os.close(nothing)
    protocol = make_protocol()
    readers = [read for read, _ in pipes]
    transport = LaunchedTransport(loop, protocol, readers[0], dict(enumerate(readers[1:], 1)))
    try:
        await transport.started
    except BaseException:
        transport.close()
        raise
    return transport, protocol


class LaunchedTransport(asyncio.SubprocessTransport):
    """A command as asyncio shows its own: calls the protocol with its output and its end."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        protocol: asyncio.SubprocessProtocol,
        status: int,
        outputs: dict[int, int],
    ) -> None:
        super().__init__()
        self.started: asyncio.Future[None] = loop.create_future()
        self._loop = loop
        self._protocol = protocol
        self._pid = 0
        self._code: int | None = None
        self._line = b""
        self._closing = False
        self._readers: dict[int, int] = {0: status, **outputs}
        if sys.platform == "win32":
            raise NotImplementedError
        for stream, fd in self._readers.items():
            os.set_blocking(fd, False)
            loop.add_reader(fd, self._readable, stream)

    def get_pid(self) -> int:
        """The command's process id, also after its end."""
        return self._pid

    def get_returncode(self) -> int | None:
        """None while it runs; negative for a signal."""
        return self._code

    def is_closing(self) -> bool:
        """Whether it was closed."""
        return self._closing

    def close(self) -> None:
        """Stop listening; a command that still runs is killed."""
        if self._closing:
            return
        self._closing = True
        if sys.platform != "win32" and self._code is None and self._pid:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(self._pid, _SIGKILL)
        for stream in list(self._readers):
            self._drop(stream)

    def __del__(self) -> None:
        if not self._closing:
            self.close()

    def _drop(self, stream: int) -> None:
        fd = self._readers.pop(stream)
        if sys.platform != "win32" and not self._loop.is_closed():
            self._loop.remove_reader(fd)
        os.close(fd)

    def _readable(self, stream: int) -> None:
        try:
            data = os.read(self._readers[stream], _READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if stream == 0:
            self._hear(data)
        elif data:
            self._protocol.pipe_data_received(stream, data)
        else:
            self._drop(stream)
            self._protocol.pipe_connection_lost(stream, None)

    def _hear(self, data: bytes) -> None:
        *lines, self._line = (self._line + data).split(b"\n")
        for line in lines:
            self._learn(line[:1], int(line[1:]))
        if not data:
            self._drop(0)
            if self._code is None:  # the launcher was killed, and the command with it
                self._learn(b"X", -_SIGKILL)

    def _learn(self, kind: bytes, number: int) -> None:
        if kind == b"P":
            self._pid = number
            self._protocol.connection_made(self)
            if not self.started.done():
                self.started.set_result(None)
        elif not self._pid:
            self._code = 127
            if not self.started.done():
                lost = OSError("the process that starts commands was killed; try again")
                self.started.set_exception(OSError(number, os.strerror(number)) if kind == b"E" else lost)
        else:
            self._code = number
            self._protocol.process_exited()
