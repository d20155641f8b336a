"""The context of commands, real except for the model: sessions in a folder, a policy, a redactor."""

import json
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec

from clio.agent.background_agents import BackgroundAgents
from clio.agent.model_choice import EffortChoices
from clio.agent.planning import Planning
from clio.agent.spending import open_spending
from clio.agent.turn_files import TurnFileRecorder
from clio.commands.command import CommandResult, LongWork, WorkControl, make_refusal
from clio.commands.custom_commands import AddedCommands
from clio.commands.registry import run_command
from clio.config.loaded import LoadedConfig, TrustRequest
from clio.config.schema import Config
from clio.context.window import ContextWindow
from clio.errors import ClioError
from clio.mcp.servers import open_mcp_servers
from clio.memory.system import MemorySystem
from clio.messages import UserMessage
from clio.providers.base import Provider
from clio.providers.offline import OfflineProvider
from clio.security.actions import Workspace
from clio.security.approval import Policy
from clio.security.redaction.redactor import Redactor
from clio.sessions.session import Session
from clio.sessions.store import SessionStore
from clio.skills.skills import SkillCatalog


@dataclass
class Harness:
    """A CommandContext for tests."""

    loaded: LoadedConfig
    config: Config
    session: Session
    store: SessionStore
    policy: Policy
    provider: Provider
    redactor: Redactor
    memory: MemorySystem
    window: ContextWindow | None = None
    is_json: bool = False

    def __post_init__(self) -> None:
        self.planning = Planning(self.policy, self.session)
        self.spending = open_spending(self.loaded)
        self.efforts = EffortChoices(self.config)
        self.servers = open_mcp_servers(self.loaded, {}, clean=str)
        self.added = AddedCommands()
        self.background = cast(BackgroundAgents, SimpleNamespace(agents={}))  # no conversation has started any
        self.skills = SkillCatalog(self.loaded.project, self.loaded.home, {"HOME": str(self.loaded.home.parent)})

    async def output_of(self, command: str) -> str:
        """Return no captured output, as if the command had printed it itself."""
        return command

    async def reload_servers(self) -> None:
        """Reload the servers as a running clio does."""
        await self.servers.reload()

    @property
    def answering(self) -> Provider:
        """The only model."""
        return self.provider

    @property
    def light_provider(self) -> Provider:
        """The only model."""
        return self.provider

    @property
    def turn_files(self) -> TurnFileRecorder:
        """None: commands about files are tested with whole turns."""
        raise NotImplementedError

    def talk(self, *texts: str) -> None:
        for text in texts:
            self.session.append(UserMessage(content=text))

    def start(self, name: str | None = None) -> Session:
        """Close the running session and begin another."""
        self.session.close()
        self.session = self.store.new(self.loaded.project, name=name)
        return self.session


def make_harness(project: Path, *, withheld: tuple[TrustRequest, ...] = (), **settings: object) -> Harness:
    config = msgspec.convert(settings, Config)
    store = SessionStore(project / ".clio" / "sessions")
    return Harness(
        loaded=LoadedConfig(config=config, origins={}, project=project, home=project / "home", withheld=withheld),
        config=config,
        session=store.new(project, persist=not config.incognito),
        store=store,
        policy=Policy(Workspace(project), config.approve),
        provider=OfflineProvider(),
        redactor=Redactor(),
        memory=MemorySystem(project, store, incognito=config.incognito, ltm=config.ltm, home=project / "home"),
    )


def run_whole(harness: Harness, line: str) -> CommandResult:
    """Return the final result of a command line, after the work it requests."""
    result = run_command(harness, line)
    if not isinstance(result.follow_up, LongWork):
        return result
    try:
        return result.follow_up.work(WorkControl())
    except ClioError as error:
        return make_refusal(str(error))


def ok(harness: Harness, line: str) -> CommandResult:
    """Return the result of a valid command line, and check that its data can be JSON."""
    result = run_whole(harness, line)
    assert result.ok, result.text
    json.dumps(result.data)
    return result


def data(harness: Harness, line: str) -> Any:
    """Return the data of a command line as a program reads it."""
    return json.loads(json.dumps(ok(harness, line).data))


def count_by_scope(harness: Harness) -> dict[str, int]:
    """Return the numbers of memories from `/memory count`: all, the project's and the user's."""
    found = data(harness, "/memory count")
    return {name: found[name] for name in ("total", "project", "user")}


def refused(harness: Harness, line: str) -> str:
    """Return the reason why a command line is refused."""
    result = run_whole(harness, line)
    assert not result.ok
    assert result.data is None
    return result.text
