"""What a slash command is, and what it may see.

Both in one room, as each is said in terms of the other: a handler is given the shell, and the shell knows the commands
that were added, for help to list.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from clio.commands.result import CommandResult
from clio.config.schema import Config

if TYPE_CHECKING:  # the commands' names must be known before these rooms are needed
    from clio.agent.model_choice import EffortChoices
    from clio.agent.planning import Planning
    from clio.agent.spending import Spending
    from clio.agent.turn_files import TurnFiles
    from clio.config.loaded import Loaded
    from clio.context.window import ContextWindow
    from clio.mcp.servers import Servers
    from clio.memory.system import MemorySystem
    from clio.providers.base import Provider
    from clio.sandbox.sandbox import Sandbox
    from clio.security.approval import Policy
    from clio.security.redaction.redactor import Redactor
    from clio.sessions.session import Session
    from clio.sessions.store import SessionStore
    from clio.skills.shelf import SkillShelf


class Suggestion(Struct, frozen=True, kw_only=True):
    """One way to complete the word before the cursor. `note` explains it in a few words."""

    text: str
    note: str = ""


class Additions(Protocol):
    """Where commands that are not built in come from; see `clio.commands.extensions.added`."""

    def all(self) -> "tuple[Command, ...]":
        """Every one there is now."""
        ...

    @property
    def problems(self) -> Callable[[], Sequence[str]]:
        """Gives sentences on what was meant as one and is none."""
        ...


class Shell(Protocol):
    """What commands may look at; the running App is one."""

    @property
    def loaded(self) -> "Loaded":
        """The configuration as it was read, with the values withheld until the folder is trusted."""
        ...

    @property
    def config(self) -> Config:
        """The configuration in force."""
        ...

    @property
    def session(self) -> "Session":
        """The running session."""
        ...

    @property
    def context(self) -> "ContextWindow | None":
        """What the model is shown of the session; None until the size of its window is known, see `LoadWindow`."""
        ...

    @property
    def store(self) -> "SessionStore":
        """All sessions of this project."""
        ...

    @property
    def policy(self) -> "Policy":
        """Who decides about writes and commands."""
        ...

    @property
    def planning(self) -> "Planning":
        """Plan mode, and what it has come to."""
        ...

    @property
    def provider(self) -> "Provider":
        """The model that answers."""
        ...

    @property
    def answering(self) -> "Provider":
        """The model that would take the next step: the chosen one, or a fallback model while its server is away."""
        ...

    @property
    def light_provider(self) -> "Provider":
        """The model for questions beside the conversation."""
        ...

    @property
    def memory(self) -> "MemorySystem":
        """Everything that is remembered."""
        ...

    @property
    def turn_files(self) -> "TurnFiles":
        """What turns did to files, and the ways back."""
        ...

    @property
    def spending(self) -> "Spending":
        """What requests cost, and the most they may."""
        ...

    @property
    def servers(self) -> "Servers":
        """The MCP servers, and what they offer."""
        ...

    @property
    def efforts(self) -> "EffortChoices":
        """How hard each model is asked to think."""
        ...

    async def reload_servers(self) -> None:
        """Start the MCP servers anew; the next request has the tools they offer then."""
        ...

    @property
    def redactor(self) -> "Redactor":
        """Takes secrets out of what a command is about to store."""
        ...

    @property
    def sandbox(self) -> "Sandbox":
        """What holds the model's commands."""
        ...

    @property
    def skills(self) -> "SkillShelf":
        """Folders with instructions for certain kinds of work."""
        ...

    async def output_of(self, command: str) -> str:
        """What a shell command prints, or why it was not run: policy judges it and the person is asked as always."""
        ...

    @property
    def added(self) -> "Additions":
        """The commands that are not built in."""
        ...


Handler = Callable[[Shell, str], CommandResult]
"""Called with the text after the command's name, stripped. May raise UserError; nothing else on purpose."""
Suggest = Callable[[Shell], Iterable[Suggestion]]
"""What may stand in the place of the argument."""
SuggestWord = Callable[[Shell, str], Iterable[Suggestion]]
"""What may stand in the place of the last word of the argument, which is given up to the cursor."""


def no_suggestions(shell: Shell) -> Iterable[Suggestion]:
    """Nothing to offer."""
    return ()


def no_words(shell: Shell, argument: str) -> Iterable[Suggestion]:
    """Nothing to offer."""
    return ()


class Command(Struct, frozen=True, kw_only=True):
    """One row of the table that help, completion, dispatch and the docs are read from.

    argument: how the argument is written in help, such as "[NAME]"; empty where none is taken.
    subcommands: first words of the argument with handlers of their own; `handler` answers when none is given.
    suggest: completes the whole argument; suggest_word: its last word, such as an option or a path.
    source: where one that is not built in comes from, for help; "" for those that are.
    own: the person wrote it. yields: one of the same name that the person wrote goes before it.
    """

    name: str
    summary: str
    handler: Handler
    argument: str = ""
    aliases: tuple[str, ...] = ()
    subcommands: tuple["Command", ...] = ()
    suggest: Suggest = no_suggestions
    suggest_word: SuggestWord = no_words
    source: str = ""
    own: bool = False
    yields: bool = False
