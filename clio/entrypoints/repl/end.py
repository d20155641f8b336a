"""How the shell ends: the signals that end it, and what it says as it is left."""

import asyncio
import contextlib
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clio.app import App
    from clio.ui.pipe_screen import PipeScreen
    from clio.ui.reader.screen import ReaderScreen
    from clio.ui.screen import Screen


def on_interrupt(act: Callable[[], None]) -> None:
    """Let Ctrl-C, where it comes as a signal, do this."""
    with contextlib.suppress(NotImplementedError):  # Windows has no signal handlers in its event loop
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, act)


def on_end(act: Callable[[int], None]) -> None:
    """Let the signals that end a program do this; called with the signal's number."""
    loop = asyncio.get_running_loop()
    with contextlib.suppress(NotImplementedError, AttributeError):  # Windows knows no SIGHUP either
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, act, number)


def farewell(app: "App", screen: "Screen | PipeScreen | ReaderScreen") -> None:
    """Say how to come back to the session, or why it is not saved."""
    session = app.session
    if not session.persistent or not session.messages:
        return
    if session.unsaved:
        screen.error(session.unsaved)
    else:
        from clio.commands.session_table import id_length

        known = [info.id for info in app.store.list()]
        screen.note(f"resume with: clio -r {session.id[: id_length(known)]}")
    screen.close()
