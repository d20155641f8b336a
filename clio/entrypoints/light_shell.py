"""What handlers of slash commands may look at where no conversation runs; everything is opened when it is asked for."""

import os
from typing import TYPE_CHECKING

from clio.commands.custom_commands import AddedCommands
from clio.config.loaded import Loaded
from clio.config.schema import Config
from clio.errors import UserError
from clio.sessions.session import Session
from clio.sessions.state import SessionState
from clio.sessions.store import open_store

if TYPE_CHECKING:
    from clio.agent.model_choice import EffortChoices
    from clio.agent.planning import Planning
    from clio.agent.spending import Spending
    from clio.agent.turn_files import TurnFiles
    from clio.context.window import ContextWindow
    from clio.mcp.servers import Servers
    from clio.memory.system import MemorySystem
    from clio.providers.base import Provider
    from clio.sandbox.sandbox import Sandbox
    from clio.security.approval import Policy
    from clio.security.redaction.redactor import Redactor
    from clio.skills.shelf import SkillShelf


class LightShell:
    """What handlers may look at where no conversation runs. Its session has no id, no words and no file."""

    def __init__(self, loaded: Loaded) -> None:
        self.loaded = loaded
        self.config: Config = loaded.config
        self.store = open_store(loaded)
        self.session = Session(SessionState(id="", working_directory=str(loaded.project)), None)
        self.context: ContextWindow | None = None
        self.added = AddedCommands()
        self._redactor: Redactor | None = None
        self._skills: SkillShelf | None = None
        self._memory: MemorySystem | None = None
        self._spending: Spending | None = None
        self._servers: Servers | None = None

    @property
    def redactor(self) -> "Redactor":
        """As a conversation has it."""
        from clio.security.redaction.redactor import build_redactor

        if self._redactor is None:
            self._redactor = build_redactor(self.config, os.environ)
        return self._redactor

    @property
    def memory(self) -> "MemorySystem":
        """As a conversation has it."""
        from clio.memory.opening import open_memory

        if self._memory is None:
            self._memory = open_memory(
                self.loaded, self.store, redact=lambda text: self.redactor.redact(text).text, env=os.environ
            )
        return self._memory

    @property
    def spending(self) -> "Spending":
        """As a conversation has it; nothing is spent here."""
        from clio.agent.spending import open_spending

        if self._spending is None:
            self._spending = open_spending(self.loaded)
        return self._spending

    @property
    def efforts(self) -> "EffortChoices":
        """As a conversation has them; no model is asked here."""
        from clio.agent.model_choice import EffortChoices

        return EffortChoices(self.config)

    @property
    def servers(self) -> "Servers":
        """As a conversation has them; none is started."""
        from clio.mcp.servers import open_servers

        if self._servers is None:
            self._servers = open_servers(self.loaded, os.environ, clean=lambda text: self.redactor.redact(text).text)
        return self._servers

    async def reload_servers(self) -> None:
        """Raises UserError: there is no conversation that has their tools."""
        raise needs_a_conversation()

    def close(self) -> None:
        """Let go of what was opened."""
        if self._memory is not None:
            self._memory.close()

    async def output_of(self, command: str) -> str:
        """Raises UserError: nothing is run."""
        raise needs_a_conversation()

    @property
    def skills(self) -> "SkillShelf":
        """As a conversation has them."""
        from clio.skills.shelf import SkillShelf

        if self._skills is None:
            self._skills = SkillShelf(self.loaded.owner, self.loaded.home, os.environ)
        return self._skills

    @property
    def policy(self) -> "Policy":
        """Raises UserError: there is none."""
        raise needs_a_conversation()

    @property
    def sandbox(self) -> "Sandbox":
        """Raises UserError: there is none."""
        raise needs_a_conversation()

    @property
    def turn_files(self) -> "TurnFiles":
        """Raises UserError: there are none."""
        raise needs_a_conversation()

    @property
    def planning(self) -> "Planning":
        """Raises UserError: there is none."""
        raise needs_a_conversation()

    @property
    def provider(self) -> "Provider":
        """Raises UserError: there is none."""
        raise needs_a_conversation()

    @property
    def answering(self) -> "Provider":
        """Raises UserError: there is none."""
        raise needs_a_conversation()

    @property
    def light_provider(self) -> "Provider":
        """Raises UserError: there is none."""
        raise needs_a_conversation()


def needs_a_conversation() -> UserError:
    """The error for what no sub-command can do."""
    return UserError("this needs a conversation; start clio and give the command there, with a slash")
