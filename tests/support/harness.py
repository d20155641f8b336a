"""A whole clio in a test: a real project folder, a real server on loopback, and a user with scripted answers."""

import asyncio
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import structs

from clio.agent.user_interface import ComposedInterface, Event, StreamRestarted, TextDelta, TurnFinished
from clio.app import App, build_app
from clio.config.layers import load_config
from clio.config.options import Options
from clio.security.approval import Answer, ApprovalRequest
from tests.support.chat_server import ChatServer
from tests.support.repository_copies import make_or_copy


class ScriptedUser:
    """Answers approvals and questions from two lists; denies when they are empty."""

    def __init__(self, approvals: Sequence[Answer] = (), answers: Sequence[str] = ()) -> None:
        self.approvals = list(approvals)
        self.answers = list(answers)
        self.asked: list[ApprovalRequest] = []
        self.questions: list[str] = []

    async def ask(self, request: ApprovalRequest) -> Answer:
        self.asked.append(request)
        return self.approvals.pop(0) if self.approvals else Answer(kind="no", reason="")


class Asker:
    """Passes the model's questions to the same user."""

    def __init__(self, user: ScriptedUser) -> None:
        self._user = user

    async def ask(self, question: str, options: tuple[str, ...]) -> str:
        self._user.questions.append(question)
        return self._user.answers.pop(0)


class Harness:
    """One project, one server, and the clio that uses them."""

    def __init__(self, project: Path, home: Path, server: ChatServer, **overrides: Any) -> None:
        self.project = project
        self.server = server
        self.user = ScriptedUser()
        self.events: list[Event] = []
        self.env = {"CLIO_HOME": str(home), "OPENAI_API_KEY": "test-key", "ANTHROPIC_API_KEY": "test-key"}
        if switch := os.environ.get("CLIO_LANGUAGE_SERVERS"):
            self.env["CLIO_LANGUAGE_SERVERS"] = switch
        given = {"base_url": server.url, "model": "test-model"} | overrides
        settings: dict[str, str | bool | tuple[str, ...]]
        settings = {key: value if isinstance(value, bool) else str(value) for key, value in given.items()}
        self.overrides = settings
        self.loaded = load_config(Options(cwd=project, overrides=settings), self.env)
        self.app = self.build()

    def build(self) -> App:
        """Build a new clio on the same project, as after a restart."""
        return build_app(self.loaded, ComposedInterface(self.user, Asker(self.user), self.events.append), env=self.env)

    async def turn(self, text: str) -> TurnFinished:
        """Run one turn with a timeout."""
        return await asyncio.wait_for(self.app.run_turn(text), 30)

    def take_model_as_configured(self) -> None:
        """Treat the model as configured, not given by a flag, which would override the model of a session."""
        runtime = self.app.runtime
        runtime.loaded = structs.replace(runtime.loaded, flags=runtime.loaded.flags - {"model"})

    def seen(self, kind: type[Event]) -> list[Any]:
        """Return the events of one kind so far."""
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def shown(self) -> str:
        """The text of the answer as a screen shows it that clears it at each restart of the stream."""
        text = ""
        for event in self.events:
            if isinstance(event, TextDelta):
                text += event.text
            elif isinstance(event, StreamRestarted):
                text = ""
        return text


def git(project: Path, *words: str) -> str:
    """Run a git command in the project and return its stripped output."""
    return subprocess.run(["git", *words], cwd=project, check=True, capture_output=True, text=True).stdout.strip()


def make_repository(project: Path, files: dict[str, str]) -> None:
    """Make a git repository with these files in its first commit."""
    make_or_copy(
        project,
        ("harness", *files.items()),
        make=lambda folder: _make_repository(folder, files),
        refresh=lambda folder: git(folder, "update-index", "--refresh"),
    )


def _make_repository(project: Path, files: dict[str, str]) -> None:
    project.mkdir(parents=True, exist_ok=True)
    git(project, "init", "--quiet", "--initial-branch=main")
    git(project, "config", "user.email", "dev@example.com")
    git(project, "config", "user.name", "Dev")
    for name, text in files.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    git(project, "add", "--all")
    # Without garbage collection, which could run in the background while the repository is copied.
    git(project, "-c", "gc.auto=0", "-c", "maintenance.auto=false", "commit", "--quiet", "-m", "first")
