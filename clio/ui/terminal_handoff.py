"""Hands the terminal to another program: an editor, a pager, a question."""

import asyncio
import os
import shlex
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

from clio.errors import UserError
from clio.storage.locks import error_cause
from clio.text.translation import tr
from clio.ui.keyboard import KeyWatch
from clio.ui.safe_text import clean

_ITERATIONS_AFTER_END = 3
"""Iterations of the event loop to wait for. A signal sent before a program ended is handled one or two iterations after
its end, because the end is reported to the loop directly and the signal through a socket the loop has to poll.
"""
# module level: a process has one terminal
_holders: list[object] = []
_started_programs = 0


def is_terminal_handed_over() -> bool:
    """Whether a Ctrl-C signal is meant for another program that has the terminal."""
    return bool(_holders)


def count_started_programs() -> int:
    """Return how many programs have had the terminal so far; each may have left anything on the screen."""
    return _started_programs


def note_started_program() -> None:
    """Note that another program has the terminal."""
    global _started_programs
    _started_programs += 1


@asynccontextmanager
async def hand_over_terminal() -> AsyncGenerator[None]:
    """A context in which another program has the terminal; signals sent before it ended are still handled inside."""
    borrower = object()
    _holders.append(borrower)
    try:
        try:
            yield
        finally:
            for _ in range(_ITERATIONS_AFTER_END):
                await asyncio.sleep(0)
    finally:
        _holders.remove(borrower)


Suspender = Callable[[], AbstractAsyncContextManager[None]]


class Pausable(Protocol):
    """A screen that can stop drawing."""

    def suspended(self) -> AbstractContextManager[None]:
        """Return a context in which nothing is drawn."""
        ...


def make_suspender(screen: Pausable, keys: Callable[[], KeyWatch | None]) -> Suspender:
    """Return a factory of contexts in which neither the screen draws nor the keys are read.

    One at a time: a question waits until the pager is closed. A task that has the terminal may enter again.
    keys: returns the watch of the running turn, or None between turns.
    """
    free = asyncio.Lock()
    owner: asyncio.Task[object] | None = None

    @asynccontextmanager
    async def context() -> AsyncGenerator[None]:
        nonlocal owner
        task = asyncio.current_task()
        if owner is not None and owner is task:
            yield
            return
        async with free:
            owner = task
            try:
                async with handed_over():
                    yield
            finally:
                owner = None

    @asynccontextmanager
    async def handed_over() -> AsyncGenerator[None]:
        watch = keys()
        with screen.suspended():
            if watch is None:
                yield
            else:
                async with watch.suspended():
                    yield

    return context


_DEFAULT_EDITOR = "notepad" if os.name == "nt" else "vi"


def split_program(command: str, *, windows: bool = os.name == "nt") -> list[str]:
    """Split a program and its options as given in a variable. On Windows a backslash is part of a path.

    Raises ValueError for an unclosed quotation mark.
    """
    if not windows:
        return shlex.split(command)
    return [word.strip('"') for word in shlex.split(command, posix=False)]


def edit_text(text: str, suffix: str = ".md") -> str | None:
    """Open the text in $VISUAL or $EDITOR; return the edited text, None if it is unchanged.

    Without either variable it is vi, on Windows notepad. The temporary file is readable only by the user and deleted
    afterwards. Raises UserError if there is no terminal, the editor cannot be run, or it ends with an error.
    """
    if not (sys.stdin and sys.stdin.isatty()):
        raise UserError(tr("an editor needs a terminal; give the new text on the command line instead"))
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or _DEFAULT_EDITOR
    note_started_program()
    import tempfile

    with tempfile.TemporaryDirectory(prefix="clio-edit-") as folder:
        path = Path(folder, f"text{suffix}")
        path.write_bytes(text.encode("utf-8"))  # bytes, so that line endings stay the same
        try:
            code = subprocess.run([*split_program(editor), str(path)], check=False).returncode
        except (OSError, ValueError) as error:
            why = tr("{error_cause}; set EDITOR to one that can", error_cause=error_cause(error))
            raise UserError(tr("the editor {editor!r} cannot be run: {why}", editor=editor, why=why)) from error
        if code:
            raise UserError(
                tr("the editor {editor!r} exited with code {code}; nothing was changed", editor=editor, code=code)
            )
        edited = path.read_bytes().decode("utf-8", "replace")
    return edited if edited != text else None


_DEFAULT_PAGERS = (("less", "-R"), ("more",))


def show_in_pager(text: str, env: Mapping[str, str]) -> bool:
    """Show the text until the user leaves the pager; False if none can be run. Blocks, so call it in a thread.

    env: PAGER names the program, by default less. Control sequences are removed from the text first.
    """
    data = (clean(text).rstrip("\n") + "\n").encode("utf-8", errors="replace")
    note_started_program()
    for argv in _list_pagers(env):
        try:
            done = subprocess.run(argv, input=data, env={**os.environ, **env}, check=False)
        except (OSError, ValueError):
            continue
        if done.returncode not in (126, 127):  # a shell's exit codes for a command that does not exist or cannot be run
            return True
    return False


def _list_pagers(env: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """Yield the user's pager, then the usual ones."""
    try:
        own = tuple(split_program(env.get("PAGER", "")))
    except ValueError:
        own = ()
    if own:
        yield own
    yield from _DEFAULT_PAGERS


_STANDARD_OUTPUT = -11
_VIRTUAL_TERMINAL_PROCESSING = 0x0004  # ENABLE_VIRTUAL_TERMINAL_PROCESSING; available from Windows 10 on


def enable_windows_escapes(kernel: Any) -> bool:
    """Enable escape sequences on a Windows console; False if it is too old, or there is none. kernel: kernel32's
    functions.
    """
    import ctypes  # only Windows needs it

    output, mode = kernel.GetStdHandle(_STANDARD_OUTPUT), ctypes.c_uint32()
    if not kernel.GetConsoleMode(output, ctypes.byref(mode)):
        return False
    return bool(
        mode.value & _VIRTUAL_TERMINAL_PROCESSING
        or kernel.SetConsoleMode(output, mode.value | _VIRTUAL_TERMINAL_PROCESSING)
    )
