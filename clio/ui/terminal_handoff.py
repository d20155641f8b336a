"""Hands the terminal to another program: an editor, a pager, a question."""

import asyncio
import ctypes
import os
import shlex
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

from clio.errors import UserError
from clio.storage.locks import cause
from clio.ui.keyboard import KeyWatch
from clio.ui.safe_text import clean

_LATE_TURNS = 3
"""Turns of the event loop. A signal is heard one or two of them after the end of a program it came before: the end
is told to the loop directly, a signal through a socket the loop has to find readable."""
_borrowers: list[object] = []  # a process has one terminal


def is_lent() -> bool:
    """Whether Ctrl-C, where it comes as a signal, is another program's."""
    return bool(_borrowers)


@asynccontextmanager
async def lent() -> AsyncGenerator[None]:
    """A context in which another program has the terminal; signals sent before it ended are still heard within."""
    borrower = object()
    _borrowers.append(borrower)
    try:
        try:
            yield
        finally:
            for _ in range(_LATE_TURNS):
                await asyncio.sleep(0)
    finally:
        _borrowers.remove(borrower)


Suspended = Callable[[], AbstractAsyncContextManager[None]]


class Pausable(Protocol):
    """A screen that can stop drawing."""

    def suspended(self) -> AbstractContextManager[None]:
        """A context in which nothing is drawn."""
        ...


def suspended_both(screen: Pausable, keys: Callable[[], KeyWatch | None]) -> Suspended:
    """A factory of contexts in which neither the screen draws nor the keys are read.

    One at a time: a question waits until the pager is left. A task that has the terminal may ask for it again.
    keys: the watch of the running turn, or None where there is none.
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


_USUAL_EDITORS = "notepad" if os.name == "nt" else "vi"


def words_of(command: str, *, windows: bool = os.name == "nt") -> list[str]:
    """A program and its options, as a variable names them. On Windows a backslash is part of a path.

    Raises ValueError where a quotation mark lacks its other.
    """
    if not windows:
        return shlex.split(command)
    return [word.strip('"') for word in shlex.split(command, posix=False)]


def edit_text(text: str, suffix: str = ".md") -> str | None:
    """What the person made of the text in $VISUAL or $EDITOR; None where they left it as it was.

    Without either it is vi, on Windows notepad. The file they edit is readable by them alone and gone afterwards.
    Raises UserError where there is no terminal, the editor cannot be run, or it ends with an error.
    """
    if not (sys.stdin and sys.stdin.isatty()):
        raise UserError("an editor needs a terminal; give the new text on the command line instead")
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or _USUAL_EDITORS
    import tempfile

    with tempfile.TemporaryDirectory(prefix="clio-edit-") as folder:
        path = Path(folder, f"text{suffix}")
        path.write_bytes(text.encode("utf-8"))  # bytes: line endings stay what they are
        try:
            code = subprocess.run([*words_of(editor), str(path)], check=False).returncode
        except (OSError, ValueError) as error:
            why = f"{cause(error)}; set EDITOR to one that can"
            raise UserError(f"the editor {editor!r} cannot be run: {why}") from error
        if code:
            raise UserError(f"the editor {editor!r} ended with exit code {code}; nothing was changed")
        edited = path.read_bytes().decode("utf-8", "replace")
    return edited if edited != text else None


_USUAL_PAGERS = (("less", "-R"), ("more",))


def page(text: str, env: Mapping[str, str]) -> bool:
    """Show the text until the person leaves the pager; False where none can be run. For a thread: it waits.

    env: PAGER names the program, else it is less. Control sequences in the text are taken out first.
    """
    data = (clean(text).rstrip("\n") + "\n").encode("utf-8", errors="replace")
    for argv in _pagers(env):
        try:
            done = subprocess.run(argv, input=data, env={**os.environ, **env}, check=False)
        except (OSError, ValueError):
            continue
        if done.returncode not in (126, 127):  # what a shell says of a command that is not there
            return True
    return False


def _pagers(env: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """The person's own, then the usual ones."""
    try:
        own = tuple(words_of(env.get("PAGER", "")))
    except ValueError:
        own = ()
    if own:
        yield own
    yield from _USUAL_PAGERS


_STANDARD_OUTPUT = -11
_UNDERSTANDS = 0x0004  # ENABLE_VIRTUAL_TERMINAL_PROCESSING; known from Windows 10 on


def switch_on(kernel: Any) -> bool:
    """Ask for it. kernel: the functions of kernel32. False where the console is too old, or there is none."""
    output, mode = kernel.GetStdHandle(_STANDARD_OUTPUT), ctypes.c_uint32()
    if not kernel.GetConsoleMode(output, ctypes.byref(mode)):
        return False
    return bool(mode.value & _UNDERSTANDS or kernel.SetConsoleMode(output, mode.value | _UNDERSTANDS))
