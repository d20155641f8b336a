"""Going on with a session: it is opened, and how it ended is shown, before what is behind the line is imported."""

import sys
from typing import TYPE_CHECKING

from clio.config.loaded import Loaded
from clio.config.options import Options
from clio.entrypoints import first_paint
from clio.entrypoints.repl.parts import terminal_size
from clio.entrypoints.repl.start import ask_at_start, choose_session, recap
from clio.ui.theme import Terminal

if TYPE_CHECKING:
    from clio.app import App
    from clio.sessions.session import Session


class Resuming:
    """Opens the session to resume, and shows it before the app is imported, until the app takes it over."""

    def __init__(self, loaded: Loaded, terminal: Terminal) -> None:
        self._loaded = loaded
        self._terminal = terminal
        self._session: Session | None = None

    def choose(self, options: Options) -> str | None:
        """The id of the session to continue; None for a new one. May ask the user; raises as `choose_session`."""
        if not options.continue_latest and options.resume is None:
            return None
        from clio.sessions.store import open_store

        first_paint.erase_prompt()
        return choose_session(options, open_store(self._loaded), ask_at_start, self._terminal)

    def show(self, session_id: str | None) -> bool:
        """Open the session and print how it ended; return whether the prompt may appear before the app is loaded.

        False where the terminal does not allow it, or where a warning or a question comes first that needs the app.
        Raises what `SessionStore.open` raises.
        """
        if session_id is None and self._terminal.live:
            return True
        first_paint.erase_prompt()
        if session_id is None:
            return False
        from clio.sessions.store import open_store

        session = open_store(self._loaded).open(session_id, persist=not self._loaded.config.incognito)
        self._session = session
        if not self._terminal.live or session.warnings or session.planned:
            return False
        _note("\n".join(recap(session)), self._terminal)
        return True

    def hand_over(self, app: "App") -> None:
        """Give the opened session, if any, to the app."""
        if self._session is not None:
            app.go_on(self._session)
            self._session = None

    def close(self) -> None:
        """Close a session that no app has taken over."""
        if self._session is not None:
            self._session.close()
            self._session = None


def _note(text: str, terminal: Terminal) -> None:
    """Print as `Screen.note` does; importing the whole screen takes six times as long."""
    from rich.text import Text

    from clio.ui.painter import Painter, Part
    from clio.ui.pipe_screen import TerminalOutput
    from clio.ui.safe_text import clean

    theme = terminal.theme
    painter = Painter(theme, terminal_size)
    lines = [painter.lines(Part(body=Text(line, theme.faint))) for line in clean(text).split("\n")]
    TerminalOutput(sys.stdout).write("".join(lines))
