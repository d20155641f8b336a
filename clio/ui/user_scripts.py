"""The user's own programs around the prompt: `status_line` fills the status line, `notify_command` is told of events.

Both come only from the user's own settings. They run without a terminal, in threads, and are stopped with everything
they started; a program that fails is named once and never delays the prompt or a turn.
"""

import os
import re
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from clio.text.translation import tr
from clio.threads import find_program, start_daemon_thread
from clio.ui.safe_text import clean_line

STATUS_LIMIT_S = 0.3
STATUS_INTERVAL_S = 1.0
NOTIFY_LIMIT_S = 10.0
_MAX_OUTPUT_BYTES = 4_000
_SGR = re.compile(r"\x1b\[([0-9;:]*)m")
# Bold, faint, italic, underlined, their ends, and colours: nothing that hides text, blinks or swaps the colours.
_COLOURS = (*range(30, 38), 39, *range(40, 48), 49, *range(90, 98), *range(100, 108))
_PLAIN_CODES = frozenset((0, 1, 2, 3, 4, 22, 23, 24, *_COLOURS))
_COLOUR_OF_MANY = {5: 1, 2: 3}
"""After 38 or 48: how many numbers follow a 5 (a colour of 256) or a 2 (red, green, blue)."""


class ScriptFailed(Exception):
    """The program did not do its work; the message says why, without anything that it printed."""


def run_script(command: str, data: bytes, limit_s: float, *, argument: str | None = None) -> bytes:
    """Run the command without a shell, with `data` as its input; return what it prints first.

    argument: added to the command. Raises ScriptFailed, also if it takes longer than the limit; it is killed then.
    """
    try:
        argv = [*shlex.split(command), *(() if argument is None else (argument,))]
    except ValueError as error:
        raise ScriptFailed(tr("it is not a command line: {error}", error=error)) from None
    program = find_program(str(Path(argv[0]).expanduser())) if argv else None
    if program is None:
        raise ScriptFailed(tr("the program {program!r} was not found", program=argv[0] if argv else ""))
    try:
        process = subprocess.Popen(
            [program, *argv[1:]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # no terminal, and one group to be killed
        )
    except OSError as error:
        raise ScriptFailed(error.strerror or tr("it cannot be started")) from None
    try:
        printed, _ = process.communicate(data, timeout=limit_s)
    except subprocess.TimeoutExpired:
        raise ScriptFailed(tr("it took longer than {limit_s:g} s", limit_s=limit_s)) from None
    finally:
        _kill_group(process)
    if process.returncode != 0:
        raise ScriptFailed(tr("it exited with code {code}", code=process.returncode))
    return printed[:_MAX_OUTPUT_BYTES]


def _kill_group(process: "subprocess.Popen[bytes]") -> None:
    """Kill what still runs of the process and its group, and wait for it."""
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
    if process.poll() is None:
        process.kill()
        process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(OSError):
                stream.close()


def sanitize_status(printed: bytes, *, colour: bool) -> str:
    """Return the first line of the output; of its control sequences only harmless SGR attributes remain."""
    first = printed.decode("utf-8", "replace").strip("\r\n").partition("\n")[0]
    parts: list[str] = []
    end = 0
    for found in _SGR.finditer(first):
        parts += [_clean_piece(first[end : found.start()]), _keep_safe_codes(found[1]) if colour else ""]
        end = found.end()
    return "".join([*parts, _clean_piece(first[end:])])


def _clean_piece(text: str) -> str:
    """Clean the text between two sequences, keeping the blanks at its ends."""
    lead, trail = text[:1].isspace(), text[-1:].isspace()
    cleaned = clean_line(text)
    return " " * lead + cleaned + " " * (trail and bool(cleaned))


def _keep_safe_codes(codes: str) -> str:
    numbers = [int(code[:4] or 0) for code in codes.replace(":", ";").split(";")]
    kept: list[int] = []
    at = 0
    while at < len(numbers):
        number = numbers[at]
        length = 1
        if number in (38, 48) and numbers[at + 1 : at + 2] and numbers[at + 1] in _COLOUR_OF_MANY:
            length = 2 + _COLOUR_OF_MANY[numbers[at + 1]]
            colour = numbers[at : at + length]
            kept += colour if len(colour) == length and max(colour) < 256 else []
        elif number in _PLAIN_CODES:
            kept.append(number)
        at += length
    return f"\x1b[{';'.join(map(str, kept))}m" if kept else ""


class StatusScript:
    """The line that the user's `status_line` command prints for the values of the session.

    The command runs when the values have changed, at most once a second, in a thread.

    Args:
        redraw: called from the thread after the line has changed.
        colour: whether the terminal shows colours.

    Attributes:
        line: what the command printed last, sanitized; "" until then, and while it fails.
    """

    def __init__(self, command: str, redraw: Callable[[], None], *, colour: bool) -> None:
        self.line = ""
        self._command = command
        self._redraw = redraw
        self._colour = colour
        self._lock = threading.Lock()
        self._values: Mapping[str, object] | None = None
        self._is_running = False
        self._began_at = -STATUS_INTERVAL_S
        self._problem = ""
        self._was_named = False

    def update(self, values: Mapping[str, object]) -> None:
        """Take the values in force; called at every drawing."""
        with self._lock:
            if values == self._values:
                return
            self._values = values
            if self._is_running:
                return
            self._is_running = True
        start_daemon_thread(self._run, "status line")

    def take_problem(self) -> str:
        """Return once why the command failed; "" if it did not, or if that was returned before."""
        if self._was_named or not self._problem:
            return ""
        self._was_named = True
        return tr("status_line: {problem}; clio shows its own line instead", problem=self._problem)

    def _run(self) -> None:
        while True:
            time.sleep(max(self._began_at + STATUS_INTERVAL_S - time.monotonic(), 0))
            with self._lock:
                values = self._values
            self._began_at = time.monotonic()
            try:
                line = sanitize_status(
                    run_script(self._command, msgspec.json.encode(values), STATUS_LIMIT_S), colour=self._colour
                )
            except ScriptFailed as error:
                line, self._problem = "", str(error)
            if line != self.line:
                self.line = line
                self._redraw()
            with self._lock:
                if values == self._values:
                    self._is_running = False
                    return


class NotifyScript:
    """Runs the user's `notify_command` with a sentence as its last argument, and the facts as JSON on its input."""

    def __init__(self, command: str) -> None:
        self._command = command
        self._problem = ""
        self._was_named = False

    def start(self, text: str, facts: Mapping[str, object]) -> threading.Thread:
        """Run it in a thread, which ends within ten seconds."""
        data = msgspec.json.encode({"text": text, **facts})
        return start_daemon_thread(lambda: self._run(clean_line(text), data), "notify command")

    def take_problem(self) -> str:
        """Return once why the command failed; "" if it did not, or if that was returned before."""
        if self._was_named or not self._problem:
            return ""
        self._was_named = True
        return tr("notify_command: {problem}", problem=self._problem)

    def _run(self, text: str, data: bytes) -> None:
        try:
            run_script(self._command, data, NOTIFY_LIMIT_S, argument=text)
        except ScriptFailed as error:
            self._problem = str(error)
