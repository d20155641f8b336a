"""A clio in a pseudo-terminal, with a model server on loopback and its own home folder."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.support.chat_server import ChatServer
from tests.support.forked_clio import run_clio
from tests.support.pty_session import PtySession

ROOT = Path(__file__).parent.parent.parent
_HEADER = re.compile(r"^clio \d\S*\n(?:.*\n)+?/help for commands.*\n(?:  .*\n)?\n?", re.M)


@dataclass
class Place:
    """A project, a home folder, a server. starts_python: its clios are started as from a shell, and not forked."""

    project: Path
    home: Path
    server: ChatServer | None = None
    starts_python: bool = False

    def env(self, **more: str) -> dict[str, str]:
        """The environment variables of a user who has configured one server."""
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(ROOT),
            "PYTHONUTF8": "1",
        }
        if self.server is not None:
            env |= {"OPENAI_BASE_URL": self.server.url, "OPENAI_API_KEY": "test-key", "CLIO_MODEL": "test-model"}
        return env | more

    def clio(
        self, *options: str, columns: int = 80, lines: int = 24, code: str = "", setup: str = "", **env: str
    ) -> PtySession:
        """Start clio, or a program that starts it. setup: code that a forked clio runs first."""
        start = ["-c", code] if code else ["-m", "clio"]
        sets_up_python = any(name.startswith(("LANG", "LC_", "PYTHON")) for name in env)
        forked = not (code or self.starts_python or sets_up_python)
        argv = [*options] if forked else [sys.executable, *start, *options]
        size = {"columns": columns, "lines": lines}
        return PtySession(argv, cwd=self.project, env=self.env(**env), **size, forked=forked, setup=setup)


def at_prompt(session: PtySession) -> None:
    """Wait until no turn runs and an empty input line is shown, with the status line below it."""
    is_idle = r"\A(?![\s\S]*to interrupt)[\s\S]*[❯>] Ask[^\n]*\n[^\n❯]*\w · \w[^\n]*\Z"
    session.wait_for_screen(is_idle)


def without_header(shown: str) -> str:
    """Return the text of a screen without the first screen, which contains the test's folder.

    A clio that gets a line before it has loaded does not print the first screen.
    """
    return _HEADER.sub("", shown, count=1)


def clio(place: Place, *arguments: str, cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a clio without input; return its output when it has ended."""
    return run_clio(arguments, cwd or place.project, place.env(**env))


def make_place(
    folder: Path, server: ChatServer | None = None, *, visited: bool = True, starts_python: bool = False
) -> Place:
    """visited: clio has been started here before, so it does not show the introduction."""
    place = Place(folder / "project", folder / "home", server, starts_python)
    place.project.mkdir(parents=True)
    (place.home / ".clio").mkdir(parents=True)
    if visited:
        (place.home / ".clio" / "history").touch()
    return place
