"""Start commands through a small process that ends them when clio exits, however it exits (see launcher_child).

The process is started with the first command and shared by all event loops and threads of the clio process.
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

from clio.config.paths import clio_home
from clio.errors import ToolFailed
from clio.text.translation import tr
from clio.threads import LAUNCHER_NAME

_CHILD = str(Path(__file__).with_name(LAUNCHER_NAME))
_LAUNCHER_VARIABLES = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONHOME")
"""Variables that Python may need to start; no others, because commands can read their parent's environment."""
_SIGKILL = 9
_READ_BYTES = 1 << 16
_Protocol = TypeVar("_Protocol", bound=asyncio.SubprocessProtocol)


class LaunchRequest(Struct, frozen=True, kw_only=True):
    """A command to start.

    Attributes:
        script: a Python file of clio's own that the launcher loads; `argv` are then the arguments of its `main`.
        input_bytes: bytes the program reads from a descriptor, whose number replaces
            `launcher_child.INPUT_PLACEHOLDER` in `argv`.
    """

    argv: Sequence[str]
    cwd: Path
    env: Mapping[str, str]
    script: str = ""
    input_bytes: bytes = b""

    def encode(self) -> bytes:
        """Encode the request for the launcher. Raises ValueError for a NUL character."""
        env = [f"{name}={value}" for name, value in self.env.items()]
        texts = [str(self.cwd.absolute()), self.script, *self.argv, *env]
        # The kernel ends each argument at a NUL, so the program would get other arguments than those that were judged.
        if any("\0" in text for text in texts):
            raise ValueError("embedded null byte")
        cwd, script, *rest = map(os.fsencode, texts)
        parts = [cwd, script, self.input_bytes, str(len(self.argv)).encode(), *rest]
        body = b"".join(struct.pack("=I", len(part)) + part for part in parts)
        return struct.pack("=I", len(body)) + body


class LauncherMissing(ToolFailed):
    """The launcher process cannot be started, because Python's executable is missing or not allowed to run."""


class Launcher:
    """The connection to the launcher process. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._control: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0

    @property
    def pid(self) -> int | None:
        """Process id of the launcher; None before the first command."""
        return self._process.pid if self._process is not None else None

    def start_early(self) -> None:
        """Start the launcher before the first command is known, because its start-up takes longer than a fork."""
        with self._lock, contextlib.suppress(OSError, LauncherMissing):
            if self._control is None or self._owner != os.getpid():
                self._start()

    def send(self, request: LaunchRequest, fds: Sequence[int]) -> None:
        """Request that a command is started with these four descriptors: stdin, stdout, stderr and the status pipe.

        Raises:
            LauncherMissing: the launcher cannot be started.
            ToolFailed, ValueError: the command cannot be requested.
        """
        body = request.encode()
        with self._lock:
            try:
                self._send(body, fds)
            except OSError:  # the launcher was killed with its commands; a new one is started
                self._disconnect()
                try:
                    self._send(body, fds)
                except OSError as error:
                    raise ToolFailed(tr("no command can be started: {error}", error=error)) from error

    def _send(self, body: bytes, fds: Sequence[int]) -> None:
        if self._control is None or self._owner != os.getpid():
            self._start()
        assert self._control is not None
        # The descriptors travel with the first byte only. A socket may accept less than the whole body, and repeating
        # `sendmsg` would pass them a second time.
        sent = self._control.sendmsg([body], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))])
        self._control.sendall(body[sent:])

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = subprocess.Popen(
                    # Isolated and without site packages: no PYTHON variable and no .pth file of the environment may
                    # change what starts commands, and it starts sooner.
                    # The folder tells a clio below this process that it is part of a run (see `is_in_clio_command`).
                    [sys.executable, "-I", "-S", "-B", _CHILD, os.path.realpath(clio_home(os.environ))],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    # In the project's directory it would keep a deleted directory or an unmountable file system busy
                    # until clio exits.
                    cwd="/",
                    env={name: os.environ[name] for name in _LAUNCHER_VARIABLES if name in os.environ},
                    start_new_session=True,
                )
            except OSError as error:
                ours.close()
                raise LauncherMissing(f"no command can be started: {error}") from error
        self._control, self._owner = ours, os.getpid()
        # Without this message the launcher takes the closed socket for a killed clio and ends daemons that commands
        # started on purpose.
        atexit.register(self.release)

    def release(self) -> None:
        """Tell the launcher that clio exits normally; it exits too."""
        # A forked child inherits the connection; only the process that opened it may end the commands.
        if self._owner != os.getpid():
            return
        with contextlib.suppress(OSError):
            if self._control is not None:
                self._control.sendall(struct.pack("=I", 0))
        self._disconnect()

    def _disconnect(self) -> None:
        atexit.unregister(self.release)
        if self._control is not None:
            self._control.close()
        self._control = None
        if self._process is not None and self._owner == os.getpid():
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(1)
        self._process = None


LAUNCHER = Launcher()


async def launch_command(
    make_protocol: Callable[[], _Protocol],
    request: LaunchRequest,
    *,
    stdin: int | None = None,
    separate_stderr: bool = False,
) -> tuple[asyncio.SubprocessTransport, _Protocol]:
    """Start a command in a session of its own, like `loop.subprocess_exec`. Not for Windows.

    If Python was removed or replaced while clio runs, a command that is not confined is started as clio's own child;
    such a command survives if clio is killed.

    Args:
        stdin: descriptor for its standard input; None for no input.
        separate_stderr: use a separate pipe for standard error.

    Raises:
        OSError, ValueError, ToolFailed: it cannot be started.
    """
    loop = asyncio.get_running_loop()
    pipes = [os.pipe() for _ in range(3 if separate_stderr else 2)]  # status, output, and perhaps errors
    null_fd = os.open(os.devnull, os.O_RDONLY) if stdin is None else -1
    try:
        status, *outputs = [write for _, write in pipes]
        LAUNCHER.send(request, (null_fd if stdin is None else stdin, outputs[0], outputs[-1], status))
    except BaseException as error:
        for read, _ in pipes:
            os.close(read)
        # A confined command is not started this way: its script sets up the confinement inside the launcher.
        if not isinstance(error, LauncherMissing) or request.script or request.input_bytes:
            raise
        return await loop.subprocess_exec(
            make_protocol,
            *request.argv,
            stdin=subprocess.DEVNULL if stdin is None else stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if separate_stderr else subprocess.STDOUT,
            cwd=str(request.cwd),
            env=dict(request.env),
            start_new_session=True,
        )
    finally:
        # clio's copies of the writing ends must go, or the pipes would never report their end after the command has
        # closed its own.
        for _, write in pipes:
            os.close(write)
        if null_fd >= 0:
            os.close(null_fd)
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
    """The transport of a command that the launcher started: passes its output and end to the protocol."""

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
        """Return the command's process id, also after its end."""
        return self._pid

    def get_returncode(self) -> int | None:
        """Return the exit code; None while it runs, negative for a signal."""
        return self._code

    def is_closing(self) -> bool:
        """Whether it was closed."""
        return self._closing

    def close(self) -> None:
        """Stop reading; a command that is still running is killed."""
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
            self._read_status(data)
        elif data:
            self._protocol.pipe_data_received(stream, data)
        else:
            self._drop(stream)
            self._protocol.pipe_connection_lost(stream, None)

    def _read_status(self, data: bytes) -> None:
        *lines, self._line = (self._line + data).split(b"\n")
        for line in lines:
            self._handle_status(line[:1], int(line[1:]))
        if not data:
            self._drop(0)
            if self._code is None:  # the launcher was killed together with the command
                self._handle_status(b"X", -_SIGKILL)

    def _handle_status(self, kind: bytes, number: int) -> None:
        if kind == b"P":
            self._pid = number
            self._protocol.connection_made(self)
            if not self.started.done():
                self.started.set_result(None)
        elif not self._pid:
            self._code = 127
            if not self.started.done():
                killed = OSError("the process that starts commands was killed; try again")
                self.started.set_exception(OSError(number, os.strerror(number)) if kind == b"E" else killed)
        else:
            self._code = number
            self._protocol.process_exited()
