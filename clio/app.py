"""The running program: the runtime, the current conversation, and the switch to another session or model."""

import asyncio
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, cast

import msgspec

from clio.agent.conversation import Conversation
from clio.agent.runtime import Runtime
from clio.agent.subagent import SubagentPool
from clio.agent.tool_runner import ToolRunner
from clio.agent.user_interface import Notice, TurnFinished, UserInterface
from clio.config.loaded import LoadedConfig
from clio.config.schema import ApprovalMode, Config, Effort
from clio.context.message_parts import PendingInput
from clio.context.window import ContextWindow
from clio.errors import ConfigError
from clio.ids import new_id
from clio.messages import ToolCall
from clio.providers.base import Provider
from clio.providers.lesson_book import LessonBook
from clio.providers.registry import make_provider
from clio.security.redaction.redactor import Redactor, build_redactor
from clio.sessions.session import Session
from clio.text.translation import tr
from clio.tools.base import ReadLog, ToolOutput
from clio.tools.session_tools import DelegatedTask

if TYPE_CHECKING:
    from clio.agent.background_agents import BackgroundAgents
    from clio.commands.command import ExpandCommand, ExpandedCommand
    from clio.commands.custom_commands import AddedCommands


async def run_prompt_command(command: str, runner: ToolRunner) -> str:
    """Run a shell command named in a prompt text; return its output, or why it was not run.

    runner: checks it with the policy and asks for approval as for any tool call.
    """
    arguments = msgspec.json.encode({"command": command}).decode()
    message = (await runner.run(ToolCall(id=new_id(), name="run_command", arguments=arguments))).message
    if message.side_effects is None or not message.side_effects.command:
        return f"[not run: {command}: {message.content}]"
    status_line, _, output = message.content.partition("\n")
    return output if message.ok else f"{output}\n{status_line}"


class App:
    """A running clio: its runtime and the user's current conversation."""

    def __init__(
        self,
        loaded: LoadedConfig,
        provider: Provider,
        ui: UserInterface,
        env: Mapping[str, str],
        *,
        pending_input: PendingInput | None = None,
        book: LessonBook | None = None,
        redactor: Redactor | None = None,
    ) -> None:
        self.runtime = runtime = Runtime(
            loaded, provider, ui, env, pending_input=pending_input, lesson_book=book, redactor=redactor
        )
        self.loaded = runtime.loaded
        self.project = runtime.project
        self.home = runtime.home
        self.workspace = runtime.workspace
        self.store = runtime.store
        self.policy = runtime.policy
        self.planning = runtime.planning
        self.memory = runtime.memory
        self.turn_files = runtime.turn_files
        self.spending = runtime.spending
        self.servers = runtime.servers
        self.efforts = runtime.efforts
        self.redactor = runtime.redactor
        self.learner = runtime.learner
        self.mailbox = runtime.mailbox
        self.pending_input = runtime.pending_input
        self.sandbox = runtime.sandbox
        self.jobs = runtime.jobs
        self.skills = runtime.skills
        self.agents = runtime.agents
        self.hooks = runtime.hooks
        self.fallback = runtime.fallback
        self.refresh_index = runtime.refresh_index
        self._model_name = loaded.config.model or provider.model  # the name the user chose: an alias or a model
        self._has_chosen_model = False
        self._title: asyncio.Task[None] | None = None
        self._background: BackgroundAgents | None = None
        self._subagents = SubagentPool(runtime, self._start_in_background)
        self.conversation = self._start_conversation(runtime.session, provider, runtime.config)

    @property
    def background(self) -> "BackgroundAgents":
        """The sub-agents that work beside the conversation."""
        if self._background is None:
            from clio.agent.background_agents import BackgroundAgents

            self._background = BackgroundAgents(self.runtime, self._subagents.question_lock)
        return self._background

    async def _start_in_background(self, sender: Conversation, task: DelegatedTask) -> ToolOutput:
        return await self.background.start(sender, task)

    @property
    def is_json(self) -> bool:
        """See `CommandContext`: the results of a conversation's commands are for the user."""
        return False

    @property
    def session(self) -> Session:
        """The session of the current conversation."""
        return self.conversation.session

    @property
    def provider(self) -> Provider:
        """The provider of the current conversation."""
        return self.conversation.provider

    @property
    def config(self) -> Config:
        """The configuration in force for the current model."""
        return self.conversation.config

    # Turns

    async def run_turn(self, text: str, expand: "ExpandCommand | None" = None) -> TurnFinished:
        """Run one turn of the conversation; see `Conversation.run_turn`.

        expand: returns what a command that is not built in stands for; None for any other text.
        """
        if expand is not None:
            return await self._run_expanded_command(text, await expand())
        return await self.conversation.run_turn(text)

    async def _run_expanded_command(self, text: str, expanded: "ExpandedCommand") -> TurnFinished:
        """Run a turn with the text of a custom command, and with the model and tools it requests."""
        from clio.commands.command import describe_expansion, make_command_fragment

        runtime = self.runtime
        before = (self.config, self.provider, self._model_name, self._has_chosen_model)
        stored = (self.session.model, self.session.server_alias)
        server_alias = runtime.providers.server_alias
        switches = expanded.model not in ("", self.provider.model, self._model_name)
        if switches:
            self.set_model(expanded.model)
        try:
            window = await self.open_window()
            runtime.pending_input.replace_message(
                make_command_fragment(expanded, window.limits.context_window), expanded.mention_text
            )
            runtime.tell(describe_expansion(text, expanded))
            runtime.tool_limit.begin(expanded.tools)
            runtime.stop_words = expanded.stop_words or runtime.stop_words
            return await self.conversation.run_turn(text)
        finally:
            runtime.pending_input.take_replacement()
            runtime.tool_limit.end()
            runtime.stop_words = runtime.loaded.config.stop_words
            if switches:
                config, provider, self._model_name, self._has_chosen_model = before
                self._set_provider(provider, config)
                # `set_model` above has moved the list of providers to the command's model.
                runtime.providers.resume(config, server_alias)
                self.session.set_model(*stored)

    def begin_title(self, on_named: Callable[[], None]) -> None:
        """Let the light model name the session in the background if it has just had its first turn."""
        if not (self.config.session_titles and self.config.light_model) or self._title is not None:
            return
        from clio.agent.session_title import name_session, wants_title

        if wants_title(self.conversation):
            self._title = asyncio.create_task(name_session(self.conversation))
            self._title.add_done_callback(lambda _: self._end_title(on_named))

    def _stop_title(self) -> None:
        if self._title is not None:
            self._title.cancel()

    def _end_title(self, on_named: Callable[[], None]) -> None:
        title, self._title = self._title, None
        if title is not None and not title.cancelled():
            title.result()
            on_named()

    @property
    def added(self) -> "AddedCommands":
        """The commands that are not built in: from files and from MCP servers."""
        return self._added_commands

    @cached_property
    def _added_commands(self) -> "AddedCommands":
        from clio.commands.custom_commands import AddedCommands, CustomCommands
        from clio.commands.mcp_commands import PromptCommands
        from clio.commands.registry import find_command
        from clio.prompt_files import find_prompt_folder

        runtime = self.runtime
        shipped = find_prompt_folder("commands")
        custom = CustomCommands(
            runtime.loaded.main_project,
            runtime.home,
            runtime.env,
            shipped,
            lambda name: find_command(name) is not None,
        )
        return AddedCommands(custom, PromptCommands(runtime.servers), problems=custom.problems)

    async def output_of(self, command: str) -> str:
        """Return the output of a shell command in a custom command's text, or why it was not run.

        The command needs approval like any other.
        """
        return await run_prompt_command(command, self.conversation.make_command_runner())

    @property
    def window(self) -> ContextWindow | None:
        """The context window if it is known; None before the first turn unless `open_window` was awaited."""
        return self.conversation.window

    async def open_window(self) -> ContextWindow:
        """Return the context window, to be displayed or trimmed; may first ask the server for the model's limits."""
        return await self.conversation.open_window()

    # Sessions and models

    def open_session(self, session_id: str) -> Session:
        """Continue a stored session and close the current one. Raises SessionNotFound or SessionLocked."""
        return self.continue_session(self.store.open(session_id, persist=not self.config.incognito))

    def new_session(self, name: str | None = None) -> Session:
        """Begin a new session with the current model and effort, and close the current session."""
        return self.continue_session(self.runtime.new_session(name))

    def continue_session(self, session: Session) -> Session:
        """Continue an already opened session of this project's store, and close the current one."""
        runtime = self.runtime
        self._stop_title()
        self.conversation.leave()
        runtime.begin_session(session)
        self.conversation = self._start_conversation(session, self.provider, self.config)
        # A new session continues with the model chosen in the one before.
        if not session.messages and self._has_chosen_model:
            session.set_model(self._model_name, runtime.providers.server_alias)
        model = session.model
        is_here = session.server_alias in (None, runtime.providers.server_alias)
        is_current_model = is_here and model in (self.provider.model, self._model_name)
        if model and not is_current_model and not runtime.is_from_flag("model"):
            try:
                self.set_model(model, at_start=True, server_alias=session.server_alias or "")
            except ConfigError as error:
                runtime.warn(tr("the session's model {model!r} is not available: {error}", model=model, error=error))
        return session

    def set_model(self, model: str, *, at_start: bool = False, server_alias: str = "") -> None:
        """Use another model of the same server, or an alias, from the next turn on. Raises ConfigError.

        Args:
            at_start: a plain model name is one of the server that clio was started with.
            server_alias: use the server of this alias instead.
        """
        config, provider = self.runtime.providers.switch(model, at_start=at_start, server_alias=server_alias)
        self.runtime.servers.adopt_changes()  # another model has no cached prompt that changed tools would invalidate
        self._set_provider(provider, config)
        self._model_name = model
        self._has_chosen_model = True
        self.session.set_model(model, self.runtime.providers.server_alias)

    def apply_setting(self, name: str, value: str | int | float | bool | None) -> None:
        """Use another value of a setting from the next turn on, if the conversation reads it there. Raises ConfigError.

        The theme belongs to the screen, which is told by its owner.
        """
        match name:
            case "approve":
                self.planning.set_mode(cast(ApprovalMode, value))
            case "model":
                self.set_model(str(value))
            case "effort":
                self.efforts.choose(self.provider.model, cast(Effort, value))
            case "attribution" | "max_steps":
                self.conversation.config = msgspec.structs.replace(self.config, **{name: value})
            case _:
                pass  # counts from the next start, as the command has said

    def _set_provider(self, provider: Provider, config: Config) -> None:
        """Continue the current session in a new conversation."""
        self.conversation.leave()
        self.conversation = self._start_conversation(self.session, provider, config, self.conversation.read_log)

    def _start_conversation(
        self, session: Session, provider: Provider, config: Config, read_log: ReadLog | None = None
    ) -> Conversation:
        return Conversation(self.runtime, session, provider, config, read_log=read_log, subagents=self._subagents)

    @property
    def answering(self) -> Provider:
        """The provider that would answer now: the chosen one, or one of `fallback` while its server is unavailable."""
        return self.runtime.fallback.pick_provider(self.provider) or self.provider

    @property
    def light_provider(self) -> Provider:
        """The provider for requests outside the conversation: `light_model` if set, else the current model."""
        return self.runtime.light_provider(self.config, self.provider)

    async def reload_servers(self) -> None:
        """Restart the MCP servers; the next request offers the tools they have then."""
        await self.runtime.servers.reload()
        self._set_provider(self.provider, self.config)

    async def close(self) -> None:
        """Stop background commands, and close the session and all connections."""
        self._stop_title()
        self.runtime.close_session()  # first: it needs no waiting, so nothing can come between
        await self.conversation.close()
        await self.runtime.close()


def build_app(
    loaded: LoadedConfig, ui: UserInterface, *, env: Mapping[str, str], pending_input: PendingInput | None = None
) -> App:
    """Build the app for a configuration, with an empty session. Raises ConfigError if no provider can be made."""
    home = None if loaded.config.incognito else loaded.home
    book = LessonBook(home, lambda text: ui.emit(Notice(text=text, level="warning")))
    redactor = build_redactor(loaded.config, env)
    provider = make_provider(loaded.config, env, book=book, learn_secret=redactor.learn_secret)
    return App(loaded, provider, ui, env, pending_input=pending_input, book=book, redactor=redactor)
