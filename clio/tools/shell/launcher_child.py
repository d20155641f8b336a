"""Start clio's commands and end them when clio exits. Run as a program, by path, with the standard library only.

It is the parent of every command, and on Linux it adopts orphaned processes (PR_SET_CHILD_SUBREAPER). So when clio is
killed, even by SIGKILL, everything its commands ever started is found below this process, whatever session or process
group it moved to. On other systems only the sessions and process trees of the commands are found.

Standard input is a Unix socket to clio. A request is a length and that many bytes (see `launcher.LaunchRequest`) with
four file descriptors: the command's standard input, output and error, and a pipe to which this program writes `P<pid>`
or `E<errno>`, and at the end `X<exit code>` (negative for a signal), one per line. A length of 0 means that clio exits
normally: commands that still run are killed, and daemons they started continue. If the socket closes without it, clio
was killed: everything is ended.
"""

import _socket  # importing socket.py would double what this program loads
import ctypes
import os
import select
import struct
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable
else:
    import _signal as signal  # signal.py imports enum, which takes as long as everything else together

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_LINUX = sys.platform.startswith("linux")
_FDS_PER_REQUEST = 4
_TERM_GRACE_S = 0.3
"""Time for commands to clean up after clio was killed."""
_MAX_KILL_S = 5.0
INPUT_PLACEHOLDER = b"@given"
"""Replaced in an argument list by the number of the descriptor from which the command reads its input bytes."""


_LIBC = ctypes.CDLL(None) if _LINUX else None


def _prctl(option: int, value: int) -> None:
    if _LIBC is not None:
        _LIBC.prctl(option, ctypes.c_ulong(value), ctypes.c_ulong(0), ctypes.c_ulong(0), ctypes.c_ulong(0))


class Launcher:
    """Starts commands on request and ends them. control: the socket to clio."""

    def __init__(self, control: _socket.socket) -> None:
        self._control = control
        self._running: dict[int, int] = {}  # status pipe by process id of the command
        self._scripts: dict[str, Callable[[list[str]], int]] = {}

    def serve(self) -> None:
        """Handle requests until clio exits; then end the processes that must not continue."""
        woken, wake = os.pipe()
        os.set_blocking(wake, False)
        # With the default action the signal is dropped and `set_wakeup_fd` writes nothing: a handler has to exist.
        signal.signal(signal.SIGCHLD, _ignore_signal)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        poll = select.poll()
        poll.register(self._control.fileno(), select.POLLIN)
        poll.register(woken, select.POLLIN)
        while True:
            for fd, _ in poll.poll():
                if fd == woken:
                    os.read(woken, 4096)
                elif not self._take_request():
                    return
            self._reap_children()

    def _take_request(self) -> bool:
        """Handle one request; return whether clio is still running."""
        try:
            head, ancillary, _, _ = self._control.recvmsg(4, _socket.CMSG_SPACE(_FDS_PER_REQUEST * 4))
        except OSError:
            head, ancillary = b"", []
        # The socket closed without a length of 0: clio was killed, even by SIGKILL, which it cannot handle itself.
        if len(head) < 4:
            self._end_all()
            return False
        (length,) = struct.unpack("=I", head)
        if length == 0:
            self._end_commands()
            return False
        fds = [fd for _, _, data in ancillary for fd in struct.unpack(f"={len(data) // 4}i", data)]
        for fd in fds:
            # Received descriptors must not leak into commands: one that holds another's pipe open would delay the end
            # of its output.
            os.set_inheritable(fd, False)
        body = bytearray()
        while len(body) < length:
            piece = self._control.recv(min(length - len(body), 1 << 20))
            if not piece:
                self._end_all()
                return False
            body += piece
        self._start(_split_parts(bytes(body)), fds[:3], fds[3])
        for fd in fds[:3]:
            os.close(fd)
        return True

    def _start(self, parts: list[bytes], streams: list[int], status: int) -> None:
        """Start the command of a request and report its process id or the error.

        Args:
            parts: the parts of the request, in the order of `launcher.LaunchRequest`.
            streams: descriptors of the standard input, output and error of the command.
            status: descriptor of the pipe for reports to clio; closed here after an error, otherwise at the end.
        """
        cwd, script, input_bytes, count, *rest = parts
        argv, env = rest[: int(count)], rest[int(count) :]
        error_pipe, report = os.pipe()
        if script:
            self._load_script(os.fsdecode(script))
        pid = os.fork()
        if pid == 0:
            try:
                # A session of its own: all its processes can be found by it, and Ctrl-C in the terminal does not reach
                # them.
                os.setsid()
                # If this program itself is killed, the kernel ends the command.
                _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
                # Python ignores SIGPIPE and SIGXFSZ, and ignored signals stay ignored after exec: `yes | head` would
                # report an error instead of ending.
                for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ):
                    signal.signal(number, signal.SIG_DFL)
                signal.set_wakeup_fd(-1)
                for target, fd in enumerate(streams):
                    os.dup2(fd, target)
                os.chdir(cwd)
                if script:
                    # A script runs without exec, so nothing closes the launcher's own descriptors for it.
                    os.closerange(3, max(report, status, *streams, self._control.fileno(), 64) + 64)
                    os.environb.clear()
                    os.environb.update(entry.split(b"=", 1) for entry in env)  # type: ignore[arg-type]
                    # `_exit` in the child: handlers and buffers copied by the fork belong to the launcher.
                    os._exit(self._scripts[os.fsdecode(script)]([os.fsdecode(argument) for argument in argv]))
                if input_bytes:
                    argv[argv.index(INPUT_PLACEHOLDER)] = _open_input_bytes(input_bytes)
                _exec(argv, dict(entry.split(b"=", 1) for entry in env))  # type: ignore[arg-type]
            except OSError as error:
                os.write(report, b"%d" % (error.errno or 0))
            finally:
                os._exit(127)
        # The child closes the other end by exec; this copy would keep the following read waiting for ever.
        os.close(report)
        error = os.read(error_pipe, 16)  # returns when exec closes the pipe
        os.close(error_pipe)
        if error:
            os.waitpid(pid, 0)
            _write_status(status, b"E" + error)
            os.close(status)
        else:
            self._running[pid] = status
            _write_status(status, b"P%d" % pid)

    def _load_script(self, path: str) -> None:
        """Load a script of clio's own, whose `main` is called after a fork: starting Python again would take longer."""
        if path not in self._scripts:
            import importlib.machinery
            import importlib.util

            loader = importlib.machinery.SourceFileLoader("_clio_script", path)
            spec = importlib.util.spec_from_loader("_clio_script", loader)
            assert spec is not None
            module = importlib.util.module_from_spec(spec)
            loader.exec_module(module)
            self._scripts[path] = module.main

    def _reap_children(self) -> bool:
        """Collect processes that have ended; return whether any child is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if (pipe := self._running.pop(pid, None)) is not None:
                _write_status(pipe, b"X%d" % os.waitstatus_to_exitcode(status))
                os.close(pipe)

    def _end_all(self) -> None:
        """End everything below this process, first with SIGTERM, then SIGKILL, repeated while more processes appear."""
        # Collected first: `_reap` forgets leaders that end, but members of their sessions may still run.
        leaders = set(self._running)
        self._signal(signal.SIGTERM, leaders)
        self._wait_gone(_TERM_GRACE_S)
        until = time.monotonic() + _MAX_KILL_S
        # Repeated, because a process may fork between the listing and the signal.
        while self._signal(signal.SIGKILL, leaders) and time.monotonic() < until:
            self._wait_gone(0.02)

    def _end_commands(self) -> None:
        """Kill the running commands and their descendants; processes that have detached from them continue."""
        for leader in list(self._running):
            for pid in (*_list_descendants(leader), leader):
                _send_signal(pid, signal.SIGKILL)

    def _wait_gone(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while self._reap_children() and time.monotonic() < until:
            time.sleep(0.005)

    def _signal(self, number: int, leaders: set[int]) -> bool:
        """Send a signal to all processes below this one; return whether there were any.

        On systems that do not let this process adopt orphans, also to all processes of the commands' sessions.
        """
        own = os.getpid()
        if _LINUX:
            found = _list_descendants(own)
        else:
            found = [pid for leader in leaders for pid in (leader, *_list_descendants(leader))]
            found += [pid for pid, _ in _list_processes() if _get_session(pid) in leaders]
        sent = [_send_signal(pid, number) for pid in dict.fromkeys(found) if pid != own]
        return any(sent)


def _ignore_signal(number: int, frame: object) -> None:
    """Do nothing: the signal has already written to the wake-up pipe that `serve` polls."""


def _split_parts(body: bytes) -> list[bytes]:
    """Split what `launcher.LaunchRequest` joined: each part is preceded by its length."""
    parts: list[bytes] = []
    offset = 0
    while offset < len(body):
        (length,) = struct.unpack_from("=I", body, offset)
        parts.append(body[offset + 4 : offset + 4 + length])
        offset += 4 + length
    return parts


def _exec(argv: list[bytes], env: dict[bytes, bytes]) -> None:
    """Like `os.execvpe`, which would import a module first. Raises OSError."""
    folders = [b""] if b"/" in argv[0] else env.get(b"PATH", os.defpath.encode()).split(b":")
    missing: OSError = FileNotFoundError(2, "No such file or directory")
    refused: OSError | None = None
    for folder in folders:
        try:
            os.execve(folder + b"/" + argv[0] if folder else argv[0], argv, env)
        except (FileNotFoundError, NotADirectoryError) as error:
            missing = error if len(folders) == 1 else missing
        except OSError as error:
            # As execvp does: a program without permission in one directory of PATH does not hide a usable one in a
            # later directory, but explains the failure better than "not found".
            refused = refused or error
    raise refused or missing


def _open_input_bytes(input_bytes: bytes) -> bytes:
    """Return the number of an inheritable descriptor from which these bytes can be read.

    They must fit into the buffer of a pipe.
    """
    read, write = os.pipe()
    os.write(write, input_bytes)
    os.close(write)
    os.set_inheritable(read, True)
    return b"%d" % read


def _write_status(pipe: int, line: bytes) -> None:
    try:
        os.write(pipe, line + b"\n")
    except OSError:
        return  # clio no longer listens to this command


def _send_signal(pid: int, number: int) -> bool:
    try:
        os.kill(pid, number)
    except OSError:
        return False
    return True


def _get_session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except OSError:
        return 0


def _list_descendants(top: int) -> list[int]:
    """Return the descendants of a process, without zombies."""
    children: dict[int, list[int]] = {}
    for pid, parent in _list_processes():
        children.setdefault(parent, []).append(pid)
    found = children.get(top, [])
    for pid in found:  # the list grows during the loop
        found += children.get(pid, [])
    return found


def _list_processes() -> list[tuple[int, int]]:
    """Return pid and parent of all living processes."""
    if not _LINUX:
        import subprocess

        done = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,stat="], capture_output=True, check=False)
        rows = [line.split() for line in done.stdout.splitlines()]
        return [(int(row[0]), int(row[1])) for row in rows if len(row) == 3 and not row[2].startswith(b"Z")]
    found: list[tuple[int, int]] = []
    for name in os.listdir("/proc"):  # noqa: PTH208 - pathlib would take longer to import than a command to start
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                # The second field is the program's name in parentheses, which may itself contain spaces and
                # parentheses.
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            continue
        if fields[0] != b"Z":
            found.append((int(name), int(fields[1])))
    return found


if __name__ == "__main__":
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    Launcher(_socket.socket(fileno=os.dup(0))).serve()
    os._exit(0)
