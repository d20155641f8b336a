"""A real clio in a real terminal with a scripted model, and a picture of its screen that comes out the same every time.

The model's words are written in the scripts that use this; everything else is what the program does.
"""

import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.support.chat_server import ChatServer, Reply  # noqa: E402 the path must be set first
from tests.support.harness import make_repository  # noqa: E402
from tests.support.pty_session import PtySession  # noqa: E402
from tests.support.terminal_picture import NIGHT, Paper, PictureScreen, screen_lines, svg_of  # noqa: E402

PRICES = "openai:\n  gpt-5.6: {input: 1.25, cached: 0.125, output: 10}\n"
_QUIET_S = 1.2  # what is typed in the first second of a question does not count
# What differs from one run to the next, and what stands in its place: as wide, so that nothing moves.
_VARYING = (
    (re.compile(r"(?<![\w.])\d+\.\d+(?= ?s\b)"), "1.25"),
    (re.compile(r"(?<![\w.])\d+(?= ?s\b)"), "12"),
    (re.compile(r"(?<![\w.])\d+(?= ?ms\b)"), "40"),
    (re.compile(r"(?<=committed )[0-9a-f]{7}"), "4f1c9d2"),
    (re.compile(r"(?<= )[a-z]-[0-9a-f]{6}\b"), "d-3a7e01"),
    (re.compile("[\u2800-\u28ff]"), "⠹"),
    (re.compile(r"\b01[0-9a-f]{6}(?:-[0-9a-f]+)*"), "019abcde-1234-7abc-8def-0123456789ab"),
    (re.compile(r"(?<=\s)\d\d:\d\d(?=\s|$)"), "10:24"),
    (re.compile(r"\b20\d\d-\d\d-\d\d\b"), "2026-03-14"),
)


class Stage:
    """One terminal with clio in it. server: what the model says is written beforehand."""

    def __init__(self, terminal: PtySession, server: ChatServer, project: Path) -> None:
        self.terminal = terminal
        self.server = server
        self.project = project

    def ask(self, line: str, until: str) -> None:
        """Type a line and wait for what it leads to."""
        self.terminal.line(line)
        self.terminal.wait_for(until)
        self.settle()

    def answer(self, question: str, key: str) -> None:
        """Press one key when the approval of this call is asked."""
        self.wait_question(question)
        self.terminal.send(key)
        self.terminal.wait_gone("n no")

    def wait_question(self, question: str) -> None:
        """Wait until this is asked, and a key would count."""
        self.terminal.wait_for(rf"\? (?:run |)?{question}[\s\S]*n no", regex=True)
        self.settle()

    def settle(self, seconds: float = _QUIET_S) -> None:
        """Wait until nothing more is drawn."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.terminal.take_in(0.1)

    def picture(self, title: str = "clio — shop", *, last_line: int | None = None, paper: Paper = NIGHT) -> str:
        """The screen as it stands, as an SVG."""
        self.terminal.take_in()
        still(self.terminal.screen)
        return svg_of(self.terminal.screen, title=title, last_line=last_line, paper=paper)


@contextmanager
def shell_stage(replies: Sequence[Reply], files: dict[str, str], *, columns: int, lines: int) -> Iterator[Stage]:
    """Start a shell in a new project where `clio` can be typed, with a home of its own."""
    with tempfile.TemporaryDirectory() as folder, ChatServer(list(replies)) as server:
        home, project = Path(folder), Path(folder) / "shop"
        make_repository(project, files)
        (home / ".clio").mkdir()
        (home / ".clio" / "history").touch()
        (home / ".clio" / "prices.yaml").write_text(PRICES, encoding="utf-8")
        (home / "bin").mkdir()
        program = home / "bin" / "clio"
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m clio "$@"\n', encoding="utf-8")
        program.chmod(0o755)
        env = environment(home, server) | {"PS1": "$ ", "BASH_SILENCE_DEPRECATION_WARNING": "1"}
        env["PATH"] = f"{program.parent}:{env['PATH']}"
        argv = ["bash", "--noprofile", "--norc", "-i"]
        with PtySession(argv, cwd=project, env=env, columns=columns, lines=lines) as terminal:
            terminal.wait_for("$")
            yield Stage(terminal, server, project)


@contextmanager
def stage(
    replies: Sequence[Reply],
    files: dict[str, str],
    *,
    columns: int = 92,
    lines: int = 24,
    visited: bool = True,
    options: Sequence[str] = (),
    **env: str,
) -> Iterator[Stage]:
    """Start clio in a new project, with a home of its own, so that the picture is the same for everybody."""
    with tempfile.TemporaryDirectory() as folder, ChatServer(list(replies)) as server:
        home, project = Path(folder), Path(folder) / "shop"
        make_repository(project, files)
        if visited:
            (home / ".clio").mkdir()
            (home / ".clio" / "history").touch()
            (home / ".clio" / "prices.yaml").write_text(PRICES, encoding="utf-8")
        argv = [sys.executable, "-m", "clio", *options]
        whole_env = environment(home, server) | env
        with PtySession(argv, cwd=project, env=whole_env, columns=columns, lines=lines) as terminal:
            terminal.wait_for("gpt-5.6 · " if visited else "help for commands")
            on = Stage(terminal, server, project)
            on.settle()
            yield on


def environment(home: Path, server: ChatServer) -> dict[str, str]:
    """Nothing of the machine the script runs on, but the programs."""
    return {
        "HOME": str(home),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "CLIO_THEME": "dark",
        "PYTHONPATH": str(ROOT),
        "LANG": "C.UTF-8",
        "OPENAI_API_KEY": "none",
        "CLIO_PROVIDER": "openai",
        "CLIO_BASE_URL": server.url,
        "CLIO_MODEL": "gpt-5.6",
        "CLIO_CONTEXT_WINDOW": "64000",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "PYTEST_ADDOPTS": "-p no:cacheprovider",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def still(screen: PictureScreen) -> None:
    """Put fixed values in place of times, dates and ids, so that the same session gives the same bytes."""
    for row, line in enumerate(screen_lines(screen)):
        for pattern, instead in _VARYING:
            for found in pattern.finditer(line):
                put = instead[: len(found[0])].rjust(len(found[0]))
                for offset, letter in enumerate(put):
                    cells = screen.buffer[row]
                    column = _column(line, found.start()) + offset
                    cells[column] = cells[column]._replace(data=letter)


def _column(line: str, index: int) -> int:
    """The cell a character of a line stands in."""
    from wcwidth import wcswidth

    return wcswidth(line[:index])
