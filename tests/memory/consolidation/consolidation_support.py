"""A project with sessions to consolidate, at a fixed time."""

import random
from collections.abc import Callable
from pathlib import Path

import msgspec

from clio.memory.consolidation.consolidation import Consolidation, Report, StartedBy
from clio.memory.consolidation.runner import dry_run, never_stop, run_consolidation
from clio.memory.store.ltm_store import LongTermMemory
from clio.memory.store.typed_store import TypedStore
from clio.messages import AssistantMessage, ChangedFile, Message, SideEffects, ToolCall, ToolMessage, UserMessage
from clio.sessions.store import SessionStore

NOW = 1_790_000_000.0
DAY = 86_400.0
FACTS = (
    "The API listens on port 8080.",
    "We deploy from main on Fridays.",
    "The staging database is read-only.",
    "We use pnpm, not npm.",
)


class Place:
    """A project and a user in one folder."""

    def __init__(self, folder: Path) -> None:
        self.project = folder / "project"
        self.user_home = folder / "home"
        self.now = NOW
        self.secrets: tuple[str, ...] = ()
        for created in (self.project, self.user_home):
            created.mkdir(parents=True, exist_ok=True)

    @property
    def store(self) -> SessionStore:
        return SessionStore(self.project / ".clio" / "sessions")

    @property
    def facts(self) -> list[str]:
        return [record.content for record in TypedStore(self.project / ".clio" / "memories.json").records()]

    @property
    def knowledge(self) -> list[str]:
        ltm = LongTermMemory(self.project / ".clio" / "ltm.json", project=self.project)
        return [f"{entry.kind}: {entry.line}" for entry in ltm.read().entries]

    def nights(self, seed: int = 1) -> Consolidation:
        return Consolidation(
            self.project,
            self.user_home,
            self.store,
            redact=self.redact,
            clock=lambda: self.now,
            rng=random.Random(seed),
        )

    def redact(self, text: str) -> str:
        for secret in self.secrets:
            text = text.replace(secret, "[redacted]")
        return text

    def sleep(
        self, by: StartedBy = "hand", *, stop: Callable[[], bool] = never_stop, budget_s: float | None = None
    ) -> Report:
        return run_consolidation(self.nights(), by, stop=stop, budget_s=budget_s)

    def dry_run(self) -> Report:
        return dry_run(self.nights())

    def session(self, *turns: Message | list[Message], days_ago: float = 1.0) -> str:
        """Save a closed session with one minute between messages."""
        session = self.store.new(self.project)
        messages = [message for turn in turns for message in (turn if isinstance(turn, list) else [turn])]
        for place, message in enumerate(messages):
            session.append(msgspec.structs.replace(message, created=self.now - days_ago * DAY + 60 * place))
        session.close()
        return session.id

    def tree(self) -> dict[str, bytes]:
        """Return every file with its content."""
        root = self.project.parent
        return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def user_turn(text: str, answer: str = "Noted.") -> list[Message]:
    """Return a turn in which the user says something and the agent answers."""
    return [UserMessage(content=text), AssistantMessage(content=answer)]


def ran(command: str, output: str, code: int = 0) -> list[Message]:
    """Return a step in which a command is run."""
    call = ToolCall(id=f"c{abs(hash((command, output, code)))}", name="run_command", arguments="{}")
    effects = SideEffects(command=command, exit_code=code)
    text = f"[exit {code} in 0.2 s]\n{output}"
    return [
        AssistantMessage(tool_calls=(call,)),
        ToolMessage(tool_call_id=call.id, name=call.name, content=text, ok=not code, side_effects=effects),
    ]


def edited(path: str) -> list[Message]:
    """Return a step in which a file is edited."""
    call = ToolCall(id=f"e{path}", name="edit_file", arguments="{}")
    effects = SideEffects(changed=(ChangedFile(path=path, kind="update"),))
    return [
        AssistantMessage(tool_calls=(call,)),
        ToolMessage(tool_call_id=call.id, name=call.name, content="edited", side_effects=effects),
    ]


def noted(key: str, operation: str = "store") -> list[Message]:
    """Return a turn in which the agent stores or reads a note."""
    arguments = msgspec.json.encode({"operation": operation, "key": key}).decode()
    call = ToolCall(id="n1", name="memory_operations", arguments=arguments)
    return [
        UserMessage(content="look it up"),
        AssistantMessage(tool_calls=(call,)),
        ToolMessage(tool_call_id=call.id, name=call.name, content="Stored."),
        AssistantMessage(content="Done."),
    ]
