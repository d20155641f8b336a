"""Run commands as processes in their own session, without input and with bounded plain-text output.

A command is ended together with every process it started.
"""

import asyncio
import codecs
import contextlib
import functools
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import cast

from clio.config.paths import clio_home
from clio.errors import ToolFailed
from clio.sandbox.fence import EnclosedCommand
from clio.security.shell.command_line import get_line_shell
from clio.text.translation import tr
from clio.threads import RUN_MARK, end_tree_on_windows, make_run_mark, start_process
from clio.tools.shell.launcher import LaunchRequest, launch_command

MAX_KEPT_CHARS = 2_000_000  # `yes` writes a gigabyte in a second; clio must not grow with it


class BoundedText:
    """Keeps the first and the last `max_chars` / 2 characters of everything added."""

    def __init__(self, max_chars: int = MAX_KEPT_CHARS) -> None:
        self._half = max(max_chars // 2, 1)
        self._head: list[str] = []
        self._head_chars = 0
        self._tail: list[str] = []
        self._tail_chars = 0
        self.total_chars = 0

    def add(self, text: str) -> None:
        """Append text; takes time proportional to its length, averaged over many calls."""
        self.total_chars += len(text)
        head_part = text[: self._half - self._head_chars]
        if head_part:
            self._head.append(head_part)
            self._head_chars += len(head_part)
        rest = text[len(head_part) :]
        if rest:
            self._tail.append(rest)
            self._tail_chars += len(rest)
            # Joined only when twice too long, so that each character is copied a bounded number of times.
            if self._tail_chars > 2 * self._half:
                self._tail = ["".join(self._tail)[-self._half :]]
                self._tail_chars = self._half

    def text_from(self, offset: int) -> str:
        """Return the text from this character of the whole stream on; a notice replaces discarded text."""
        head = "".join(self._head)
        tail = "".join(self._tail)[-self._half :]
        tail_start = self.total_chars - len(tail)
        omitted = tail_start - max(self._head_chars, min(offset, tail_start))
        notice = f"\n[… {omitted:,} characters are not kept …]\n" if omitted else ""
        return head[offset:] + notice + tail[max(offset - tail_start, 0) :]

    def text(self) -> str:
        """Return the stored text, with a notice in place of the discarded part."""
        return self.text_from(0)


_ESCAPE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor movement
    r"|[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)"  # OSC, DCS, SOS, PM, APC: titles, links
    r"|[ -/]*[0-~])"  # two- and three-character sequences
)
_OPEN_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b\n]*\x1b?|[ -/]*)\Z")
_ERASED = re.compile(r"[^\x08\n]\x08")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]")
_MAX_LINE = 64 * 1024
_MAX_ESCAPE = 4096  # an introducer without an end must not hold back the output that follows


class TerminalText:
    """Converts raw output to text incrementally; the result does not depend on how the bytes are split.

    Bytes that are not UTF-8 become U+FFFD. Of a line redrawn with carriage returns only the last version is kept; a
    line without an end is returned in pieces of 64 KiB.
    """

    def __init__(self) -> None:
        # Incremental: the pipe may split a character, whose halves would otherwise become two U+FFFD.
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._open = ""

    def feed(self, data: bytes) -> str:
        """Return the text that can no longer change: whole lines, and long pieces of a line without an end."""
        text = self._open + self._decoder.decode(data)
        end = text.rfind("\n") + 1
        lines, self._open = text[:end], text[end:]
        if "\r" in self._open:  # a progress bar: forget the redrawn versions now, or the line grows without end
            whole = _find_complete_length(self._open)
            self._open = _keep_last_redraw(_ESCAPE.sub("", self._open[:whole])) + self._open[whole:]
        # A program that never writes a newline would otherwise grow this buffer without limit.
        if len(self._open) > _MAX_LINE:
            whole = _find_complete_length(self._open)
            lines, self._open = lines + self._open[:whole], self._open[whole:]
        return _clean_text(lines)

    def unfinished(self) -> str:
        """Return the unfinished last line, such as a question or a progress bar; `feed` has not returned it yet."""
        return _clean_text(self._open).rstrip("\r")

    def finish(self) -> str:
        """Return the text that `feed` has not returned yet, at the end of the output."""
        text, self._open = self._open + self._decoder.decode(b"", final=True), ""
        return _clean_text(text[: _find_complete_length(text)])


def _find_complete_length(text: str) -> int:
    """Return the length of the text without an incomplete control sequence at its end."""
    found = _OPEN_ESCAPE.search(text, max(0, len(text) - _MAX_ESCAPE))
    return found.start() if found else len(text)


def _keep_last_redraw(line: str) -> str:
    """Return the last version of a line redrawn with carriage returns; a final one stays, as it may end the line."""
    versions = [part for part in line.split("\r") if part]
    return (versions[-1] if versions else "") + ("\r" if line.endswith("\r") else "")


def _clean_text(text: str) -> str:
    if not _CONTROL.search(text):
        return text
    text = _ESCAPE.sub("", text)
    if "\r" in text:
        text = "\n".join(_keep_last_redraw(line).rstrip("\r") for line in text.split("\n"))
    while "\x08" in text:  # each pass erases one character per backspace; "ab\b\b" needs two
        text, erased = _ERASED.subn("", text)
        if not erased:
            break
    return _CONTROL.sub("", text)


_POLL_S = 0.5  # poll interval where the system does not report the end of processes


def list_session_members(leader: int) -> list[int]:
    """Return the living processes of the session that `leader` started.

    A process group would not be enough: `timeout` and shells with job control put their children into groups of
    their own.
    """
    if sys.platform == "win32":
        return []
    return [pid for pid in list_living_processes() if _in_session(pid, leader)]


def list_living_processes(proc: Path = Path("/proc")) -> list[int]:
    """Return the processes of this machine, from /proc if there is one, otherwise from `ps` and without zombies."""
    if (proc / "self").exists():
        return [int(entry.name) for entry in proc.iterdir() if entry.name.isdigit()]
    listed = subprocess.run(["ps", "-A", "-o", "pid=", "-o", "stat="], capture_output=True, text=True, check=False)
    rows = (line.split() for line in listed.stdout.splitlines())
    return [int(pid) for pid, state, *_ in rows if pid.isdigit() and not state.startswith("Z")]


def list_descendants(top: int) -> list[int]:
    """Return the descendants of a process, on Linux; on other systems nothing."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            # The program's name before this is in parentheses and may contain spaces and parentheses itself.
            parent = int((entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(entry.name))
    found = children.get(top, [])
    for pid in found:  # the list grows during the loop
        found += children.get(pid, [])
    return found


def _in_session(pid: int, leader: int) -> bool:
    if sys.platform == "win32":
        return False
    try:
        return os.getsid(pid) == leader and not _is_zombie(pid)
    except (ProcessLookupError, PermissionError):
        return False


def _is_zombie(pid: int) -> bool:
    """Whether a process has ended but its parent has not collected it; it ignores signals and holds no resources.

    False without /proc: there `list_living_processes` leaves zombies out.
    """
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return status.rpartition(")")[2].split()[:1] == ["Z"]


async def wait_for_any_exit(pids: Sequence[int]) -> None:
    """Return when one of them may have ended; event-driven where the system supports it, otherwise by polling."""
    # A Python built on an older Linux lacks `pidfd_open`, whatever kernel it runs on.
    if sys.platform != "linux" or not hasattr(os, "pidfd_open"):
        await asyncio.sleep(_POLL_S)
        return
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    watched: list[int] = []
    try:
        for pid in pids:
            # A pidfd also reports processes that are not children of clio, such as those a command left behind.
            watched.append(os.pidfd_open(pid))
            loop.add_reader(watched[-1], ended.set)
        await ended.wait()
    except OSError:  # it has already ended, or there are too many to watch
        await asyncio.sleep(_POLL_S)
    finally:
        for fd in watched:
            loop.remove_reader(fd)
            os.close(fd)


TERM_GRACE_S = 1.0
"""Time for a timed-out command to clean up between SIGTERM and SIGKILL."""
CANCEL_GRACE_S = 0.03
"""The same after the user pressed Esc and is waiting: all of it should take less than 0.1 s."""
_KILL_WAIT_S = 1.0  # for killed processes to disappear
_DRAIN_S = 0.25  # for the last output to arrive after the command has ended; a child may hold the pipe open for ever
_PROGRESS_INTERVAL_S = 1.0
_PROGRESS_LINES, _PROGRESS_LINE_CHARS = 20, 200
_RECENT_CHARS = 8_000  # the last lines are searched in so much of a piece of output
_TERMINAL_WAIT_S = 3.0
"""How long a command may wait for keys; vim itself waits two seconds after its warning, also if it needs no keys."""
_ALTERNATE_SCREEN = re.compile(rb"\x1b\[\?(?:1049|1047|47)([hl])")
_NO_TERMINAL_WARNING = b"Input is not from a terminal"
_MAX_SEQUENCE_BYTES = 32
_INTERRUPTED_CHARS = 16_000
"""Characters of an interrupted command's output that are kept: its end, where it was interrupted."""

# The model reads the output as text and can answer neither a pager nor a password prompt.
_PLAIN_OUTPUT = {
    "SSH_ASKPASS_REQUIRE": "never",
    "NO_COLOR": "1",
    "TERM": "dumb",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
}


# With these set, a shell would change to other folders or parse a line differently from how clio judged it.
_SHELL_BEHAVIOR_VARIABLES = ("CDPATH", "BASHOPTS", "SHELLOPTS", "POSIXLY_CORRECT")


def make_command_environment(env: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a command: clio's own, with colours, pagers and prompts off.

    Variables that change the meaning of a command line are removed, such as CDPATH. A clio that the command starts
    recognizes by `RUN_MARK` that the user did not start it.
    """
    marked = {**env, **_PLAIN_OUTPUT, RUN_MARK: make_run_mark(clio_home(os.environ))}
    return {name: value for name, value in marked.items() if name not in _SHELL_BEHAVIOR_VARIABLES}


MIN_REPORTED_S = 0.1


class RunningProcess(asyncio.SubprocessProtocol):
    """A started command. Its output is collected even if no coroutine waits for it.

    has_keeper: the process that clio started belongs to the sandbox: it only waits for the command and its children,
        and ends them all when it receives SIGTERM.

    Attributes:
        left_behind: whether children were still running when the command ended, and were stopped.
        needed_terminal: whether it was stopped because it waited for keys, which no one can press.
    """

    def __init__(self, *, has_keeper: bool = False) -> None:
        self._keeper = has_keeper
        self._text = TerminalText()
        self._exited = asyncio.Event()
        self._drained = asyncio.Event()
        self._transport: asyncio.SubprocessTransport | None = None
        self._started = time.monotonic()
        self._ended: float | None = None
        self._last_output = self._started
        self._closed = False
        self._last_lines: list[str] = []
        self.output = BoundedText()
        self.left_behind = False
        self.needed_terminal = False
        self._last_bytes: bytes = b""
        self._full_screen_from: float | None = None
        self._was_warned = False

    @property
    def exit_code(self) -> int | None:
        """Return the exit code; None while it runs, negative if a signal ended it, as in `subprocess`."""
        return self._transport.get_returncode() if self._transport else None

    @property
    def is_running(self) -> bool:
        """Whether the command itself is alive."""
        return not self._exited.is_set()

    @property
    def seconds(self) -> float:
        """Return how long it has been running, or ran, in seconds."""
        return (self._ended or time.monotonic()) - self._started

    def describe_end(self) -> str:
        """Return how it ended, in the user's language: "exit 0 in 1.2 s", "exit 0" if it took no time to speak of."""
        code = self.exit_code
        how = (
            tr("exit {code}", code=code) if code is None or code >= 0 else tr("killed by signal {signal}", signal=-code)
        )
        return tr("{how} in {seconds:.1f} s", how=how, seconds=self.seconds) if self.seconds >= MIN_REPORTED_S else how

    @property
    def silent_s(self) -> float:
        """Seconds since its last output, up to its end."""
        return (self._ended or time.monotonic()) - self._last_output

    @property
    def waits_for_keys(self) -> bool:
        """Whether it seems to be a program such as an editor, which has the whole screen until a key ends it."""
        if self._full_screen_from is not None and time.monotonic() - self._full_screen_from >= _TERMINAL_WAIT_S:
            return True
        return self._was_warned and self.silent_s >= _TERMINAL_WAIT_S

    @property
    def unfinished_line(self) -> str:
        """The output after the last newline; not part of `output` while it runs."""
        return self._text.unfinished()

    def last_lines(self, count: int) -> str:
        """Return the newest lines that are not blank, oldest first, each of at most 200 characters."""
        lines = [*self._last_lines, self.unfinished_line]
        return "\n".join([line[:_PROGRESS_LINE_CHARS] for line in lines if line.strip()][-count:])

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport; called by asyncio."""
        self._transport = cast(asyncio.SubprocessTransport, transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Collect output; called by asyncio."""
        self._last_output = time.monotonic()
        if b"\x1b[?" in data or self._last_bytes or _NO_TERMINAL_WARNING in data:
            self._look_for_full_screen(data)
        self._collect(self._text.feed(data))

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """Note that all output was read; called by asyncio when the pipe is closed."""
        self._drained.set()

    def process_exited(self) -> None:
        """Note that the command itself has ended, not all of its children; called by asyncio."""
        self._ended = time.monotonic()
        self._exited.set()

    def _look_for_full_screen(self, data: bytes) -> None:
        data = self._last_bytes + data
        self._was_warned = self._was_warned or _NO_TERMINAL_WARNING in data
        if found := _ALTERNATE_SCREEN.findall(data):
            is_open = found[-1] == b"h"
            self._full_screen_from = (self._full_screen_from or self._last_output) if is_open else None
        end = data[-_MAX_SEQUENCE_BYTES:]
        start = end.rfind(b"\x1b")
        self._last_bytes = end[start:] if start >= 0 and not _ALTERNATE_SCREEN.match(end, start) else b""

    def _collect(self, text: str) -> None:
        self.output.add(text)
        if text:
            recent = [line for line in text[-_RECENT_CHARS:].splitlines() if line.strip()]
            self._last_lines = [*self._last_lines, *recent][-_PROGRESS_LINES:]

    async def wait(self, *, with_children: bool = False) -> None:
        """Return when the command has ended and its output is complete.

        Children that are still running would keep its output open forever. They are waited for if `with_children`;
        otherwise they are stopped, and `left_behind` is set.
        """
        await self._exited.wait()
        # Listed again after each wait: the members may have started others meanwhile.
        while with_children and (members := self._members()):
            await wait_for_any_exit(members)
        with contextlib.suppress(TimeoutError):
            if self._keeper:
                await asyncio.wait_for(self._wait_until_gone(), _KILL_WAIT_S)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._drained.wait(), _DRAIN_S)
        self.left_behind = bool(self._members())
        if self.left_behind:
            await self.stop(TERM_GRACE_S)
        self._close()

    async def stop(self, grace_s: float = TERM_GRACE_S) -> None:
        """Ask every process of the command to end, and kill those still alive after `grace_s`.

        If cancelled, they are killed at once.
        """
        try:
            self._signal(gently=True)
            await asyncio.wait_for(self._wait_until_gone(), grace_s)
        except TimeoutError:
            pass
        finally:
            self._signal(gently=False)
        with contextlib.suppress(TimeoutError):  # killed processes disappear at once, except on a busy machine
            await asyncio.wait_for(self._wait_until_gone(), _KILL_WAIT_S)
        # Only now the keeper itself: killing it earlier would leave the processes it watches without a parent that ends
        # them.
        if self.is_running:
            self._signal(gently=False, keeper_too=True)
        await self._exited.wait()
        self._close()

    def kill(self) -> None:
        """Kill every process of the command without waiting; used when clio exits."""
        self._signal(gently=False)

    async def _wait_until_gone(self) -> None:
        """Return when the command and all its processes have ended."""
        pause_s = 0.0005  # a sandbox that ends with its first process is gone at once
        while self.is_running or self._members():
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, 0.005)

    def _close(self) -> None:
        """Close the output, which a daemon that left the session may still hold open."""
        self._closed = True
        self._collect(self._text.finish())
        if self._transport:
            self._transport.close()

    def _members(self) -> list[int]:
        if self._transport is None:
            return []
        leader = self._transport.get_pid()
        below = list_descendants(leader) if self._keeper and self.is_running else []
        return list(dict.fromkeys((*list_session_members(leader), *below)))

    def _signal(self, *, gently: bool, keeper_too: bool = False) -> None:
        if self._transport is None or self._closed:
            return
        leader = self._transport.get_pid()
        if sys.platform == "win32":
            end_tree_on_windows(leader, gently=gently, running=self.is_running)
            return
        number = signal.SIGTERM if gently else signal.SIGKILL
        # A keeper that is asked to end kills the others at once, so it is asked last.
        members = [pid for pid in self._members() if pid != leader or not self._keeper]
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if not self._keeper:
                os.killpg(leader, number)
        for pid in members:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
        if self._keeper and self.is_running and not gently:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(leader, signal.SIGKILL if keeper_too else signal.SIGTERM)


async def start_command_process(
    command: str | Sequence[str] | EnclosedCommand, cwd: Path, env: Mapping[str, str] | None = None
) -> RunningProcess:
    """Start a shell command line, an argument list without a shell, or either of them wrapped by a sandbox.

    The command ends with clio at the latest, however clio exits; on Windows only if clio can still end it. Raises
    ToolFailed if it cannot be started.

    Args:
        env: defaults to clio's own.
    """
    if isinstance(command, str):
        enclosed = EnclosedCommand(argv=tuple(make_shell_argv(command)))
    else:
        enclosed = command if isinstance(command, EnclosedCommand) else EnclosedCommand(argv=tuple(command))
    make = functools.partial(RunningProcess, has_keeper=enclosed.keeper)
    environment = make_command_environment(os.environ if env is None else env) | dict(enclosed.env)
    try:
        if sys.platform == "win32":
            starting = asyncio.get_running_loop().subprocess_exec(
                make,
                *enclosed.argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                cwd=str(cwd),
                env=environment,
                # Without a group of its own Ctrl-Break for the command would end clio as well.
                creationflags=subprocess.CREATE_NEW_PROCESS_GROUP,
            )
            _, process = await start_process(starting, stop_started_process)
        else:
            request = LaunchRequest(
                argv=enclosed.argv, cwd=cwd, env=environment, script=enclosed.script, input_bytes=enclosed.given
            )
            _, process = await start_process(launch_command(make, request), stop_started_process)
    except (OSError, ValueError) as error:
        shown = command if isinstance(command, str) else enclosed.argv[0]
        raise ToolFailed(
            tr("{shown!r} could not be started in {cwd!r}: {error}", shown=shown[:200], cwd=str(cwd), error=error)
        ) from error
    return process


async def stop_started_process(new: tuple[asyncio.BaseTransport, RunningProcess]) -> None:
    """End a command for which no coroutine waits yet, with all processes it has started."""
    await new[1].stop(CANCEL_GRACE_S)


async def run_process(
    command: str | Sequence[str] | EnclosedCommand,
    cwd: Path,
    *,
    timeout_s: float,
    on_progress: Callable[[str], None] = lambda line: None,
    env: Mapping[str, str] | None = None,
) -> tuple[RunningProcess, bool]:
    """Run a command to its end; the second value is whether it was stopped after `timeout_s`.

    A program that needs a terminal is stopped after a few seconds, see `needed_terminal`. Cancelling kills all that it
    started before the cancellation continues.

    Args:
        on_progress: called about once a second with the last lines of output, or how long there was none; a last
            time if the command is interrupted, so that its output until then is not lost.
    """
    process = await start_command_process(command, cwd, env)
    try:
        async with asyncio.timeout(timeout_s):
            waiting = asyncio.ensure_future(process.wait())
            try:
                while not (await asyncio.wait({waiting}, timeout=_PROGRESS_INTERVAL_S))[0]:
                    on_progress(_describe_progress(process))
                    if process.waits_for_keys:
                        process.needed_terminal = True
                        break
                else:
                    await waiting
            finally:
                waiting.cancel()
    except TimeoutError:
        await process.stop(TERM_GRACE_S)
        return process, True
    except asyncio.CancelledError:
        # Awaited before the cancellation goes on, so that no command still changes files after the screen says it was
        # interrupted.
        await process.stop(CANCEL_GRACE_S)
        on_progress(process.output.text().strip("\n")[-_INTERRUPTED_CHARS:])
        raise
    if process.needed_terminal:
        await process.stop(TERM_GRACE_S)
    return process, False


def _describe_progress(process: RunningProcess) -> str:
    if process.silent_s >= 10:
        return f"no output for {process.silent_s:.0f} s"
    return process.last_lines(_PROGRESS_LINES)


def make_shell_argv(line: str) -> list[str]:
    """Return the program and arguments that run one shell command line."""
    return [*get_line_shell(), line]
