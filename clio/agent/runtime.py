"""The objects that exist once per process: configuration, providers, memory, sessions, policy, sandbox and more."""

import asyncio
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from clio.agent.model_choice import EffortChoices, FallbackModels
from clio.agent.planning import Planning
from clio.agent.spending import LedgerWriter, open_spending
from clio.agent.turn_files import TurnFileRecorder
from clio.agent.user_interface import ExplainingInterface, Mailbox, Notice, UserInterface
from clio.checkpoints.checkpoints import Checkpoints, StoreLimits
from clio.config.loaded import LoadedConfig
from clio.config.paths import user_home
from clio.config.schema import Config
from clio.config.trust import store_allow_rule
from clio.context.instructions import InstructionFiles
from clio.context.learned_limits import LearnedRatios, LearnedWindows
from clio.context.message_parts import PendingInput
from clio.context.request_builder import TrimReport
from clio.context.summary import RunningJob
from clio.errors import CallRefused, ClioError, ConfigError
from clio.hooks.hooks import Hooks
from clio.mcp.servers import open_mcp_servers
from clio.memory.consolidation.learner import Learner
from clio.memory.preferences.task_types import check_task_type, load_task_types
from clio.memory.system import open_memory
from clio.providers.base import OFFLINE, Provider
from clio.providers.lesson_book import LessonBook
from clio.providers.registry import OpenedProviders, resolve_alias
from clio.sandbox.sandbox import open_confinement, open_sandbox
from clio.security.actions import Action, ReadFiles, RunCommand, TouchOwnState, Workspace
from clio.security.approval import Policy, open_policy
from clio.security.redaction.redactor import Redactor, build_redactor
from clio.sessions.session import Session
from clio.sessions.state import Bill
from clio.sessions.store import open_session_store
from clio.skills.skills import SkillCatalog, SubagentCatalog
from clio.text.translation import tr
from clio.tools.shell.jobs import JobTable

if TYPE_CHECKING:  # most turns ask no language server
    from clio.lsp.servers import LanguageServers
    from clio.telemetry.telemetry import Telemetry

_COMMAND_TOOL = "run_command"


class ToolLimit:
    """Limits the tools of one turn; checked before the policy. Reading files and internal tools are always allowed."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._tools: tuple[str, ...] | None = None

    def begin(self, tools: Iterable[str] | None) -> None:
        """Limit the turn to these tools. `run_command(git add *)` allows only such commands; None allows all tools."""
        self._tools = None if tools is None else tuple(tools)

    def end(self) -> None:
        """Remove the limit at the end of the turn."""
        self._tools = None

    def check(self, name: str, action: Action) -> None:
        """Raise ToolFailed for a call that this turn may not make."""
        if self._tools is None or name in self._tools or isinstance(action, ReadFiles | TouchOwnState):
            return
        if isinstance(action, RunCommand):
            rules = [rule for tool, rule in map(_split_tool_entry, self._tools) if tool == _COMMAND_TOOL]
            if "" in rules or self._policy.covers(action, rules):
                return
        listed = ", ".join(self._tools) or "none"
        raise CallRefused(
            f"the command that started this turn allows only these tools to change or reach anything: {listed}",
            "do without the others, or describe what you would have done",
            for_user=tr("not allowed: the command of this turn allows only {listed}", listed=listed),
        )


def _split_tool_entry(entry: str) -> tuple[str, str]:
    """Split an entry into the tool's name and the rule in parentheses."""
    name, _, rule = entry.partition("(")
    return name, rule.removesuffix(")")


class Runtime:
    """The shared objects of a process, built from the configuration; `close` releases all of them.

    Args:
        pending_input: pictures and command output that the next message will contain.
        lesson_book: parameters that servers refused in earlier runs.
        shared: the runtime of the same process whose spending, redaction and telemetry this one uses.

    Attributes:
        session: the session the user sees; `begin_session` switches to another one.
        take_terminal: a context for a question of work in the background.
        announce: shows a notice of work in the background.
        telemetry: observes turns, requests and calls for a collector of the user's; None if it is off.
    """

    def __init__(
        self,
        loaded: LoadedConfig,
        provider: Provider,
        ui: UserInterface,
        env: Mapping[str, str],
        *,
        pending_input: PendingInput | None = None,
        lesson_book: LessonBook | None = None,
        redactor: Redactor | None = None,
        shared: "Runtime | None" = None,
    ) -> None:
        self.loaded = loaded
        self.env = env
        self.pending_input = pending_input or PendingInput()
        self.config = config = resolve_alias(loaded.config)
        self.project = loaded.project
        self.home = loaded.home
        self.redactor = redactor or (shared.redactor if shared else build_redactor(config, env))
        self._shares_telemetry = shared is not None
        self.telemetry = shared.telemetry if shared else self._open_telemetry(provider)
        watch_stream = self.telemetry.watch_stream if self.telemetry else None
        self.providers = OpenedProviders(
            loaded.config, env, provider, lesson_book, self.redactor.learn_secret, watch_stream
        )
        self.workspace = Workspace(loaded.project)
        self.store = open_session_store(loaded)
        self.policy = open_policy(loaded, self.workspace)
        self.sandbox = open_sandbox(loaded, env)
        self.confinement = open_confinement(loaded, env)
        self.ui = ExplainingInterface(ui, self.confinement)
        # Replaced by the shell, whose prompt line has the terminal between turns.
        self.take_terminal: Callable[[], AbstractAsyncContextManager[None]] = nullcontext
        self.announce: Callable[[Notice], None] = self.ui.emit
        self.jobs = JobTable(self.sandbox, self.confinement)
        self.checkpoints = _open_checkpoints(loaded, self.jobs)
        scenarios = load_task_types(self.home)
        self.memory = open_memory(loaded, self.store, redact=self.redact, env=env, scenarios=scenarios)
        self.memory.scenario = check_task_type(scenarios, config.scenario) if config.scenario else None
        self.session = self.new_session()
        self.planning = Planning(self.policy, self.session)
        self.turn_files = TurnFileRecorder(
            self.checkpoints,
            self.session,
            only_reads=self.policy.is_read_only,
            redact=self.redact,
            emit=self.ui.emit,
            enabled=config.checkpoints,
        )
        self.efforts = EffortChoices(config, self.session, is_from_flag=self.is_from_flag("effort"))
        self.learner = Learner(
            self.memory,
            tell=self.tell,
            warn=self.warn,
            auto_remember=config.notice,
            may_consolidate=config.sleep,
            asks_model=config.sleep_use_model,
        )
        self.hooks = Hooks(
            loaded.hooks if config.hooks else (),
            project=self.project,
            env=env,
            redact=self.redact,
            tell=lambda text, warning: self.warn(text) if warning else self.tell(text),
        )
        self.mailbox = Mailbox()
        self.servers = open_mcp_servers(
            loaded,
            env,
            clean=self.redact,
            tell=self.warn,
            ask=None if self.ui.never_answers else self.ui.ask,
            learn_secret=self.redactor.learn_secret,
            watch=self.telemetry.watch_call if self.telemetry else None,
        )
        # A custom command's `allowed-tools` limits its turn and never grants anything.
        self.tool_limit = ToolLimit(self.policy)
        self.stop_words = loaded.config.stop_words  # a custom command may replace them for its turn
        self.skills = SkillCatalog(loaded.main_project, self.home, env)
        self.agents = SubagentCatalog(loaded.main_project, self.home, env)
        self.instructions = InstructionFiles(
            project=self.project,
            start=loaded.start_folder or loaded.project,
            home=self.home,
            user_home=user_home(env),
            redact=self.redact,
            links=loaded.links,
        )
        self.spending = shared.spending if shared else open_spending(loaded)
        self.ledger_writer = shared.ledger_writer if shared else LedgerWriter(self.spending, loaded.main_project)
        if self.telemetry is not None:
            self.spending.on_cost = self.telemetry.record_cost
        self.fallback = FallbackModels(
            config.fallback, self.providers.open, cooldown_s=config.fallback_cooldown_s, warn=self.warn
        )
        learned_home = None if config.incognito else loaded.home
        self.learned_windows = LearnedWindows(learned_home, self.warn)
        self.learned_ratios = LearnedRatios(learned_home, self.warn)
        self._language_servers: LanguageServers | None = None
        self._light_provider: Provider | None = None
        self._closing = threading.Event()
        self.turn_files.recover()
        if scenarios.problem:
            self.warn(scenarios.problem)

    def _open_telemetry(self, provider: Provider) -> "Telemetry | None":
        settings = self.config.telemetry
        if settings.endpoint is None or self.config.incognito or provider.name == OFFLINE:
            return None
        from clio.telemetry.telemetry import open_telemetry

        return open_telemetry(settings, self.env, redact=self.redact, learn_secret=self.redactor.learn_secret)

    def open_language_servers(self) -> "LanguageServers":
        """Return the language servers of the project, none of which is started yet."""
        if self._language_servers is None:
            from clio.lsp.servers import LanguageServers, ServerContext

            context = ServerContext(
                setting=self.config.language_servers,
                root=self.workspace.root,
                owner=self.loaded.main_project,
                home=self.home,
                confinement=self.confinement,
                warn=self.warn,
            )
            self._language_servers = LanguageServers(context)
        return self._language_servers

    def redact(self, text: str) -> str:
        """Return the text with secrets replaced."""
        return self.redactor.redact(text).text

    def tell(self, text: str) -> None:
        """Show a sentence to the user."""
        self.ui.emit(Notice(text=text))

    def warn(self, text: str) -> None:
        """Show a warning to the user."""
        self.ui.emit(Notice(text=text, level="warning"))

    def report_telemetry_problem(self) -> None:
        """Tell the user once why telemetry does not reach its collector."""
        if self.telemetry is not None and (problem := self.telemetry.pop_problem()):
            self.warn(problem)

    def record_trim(self, trimmed: TrimReport, started_ns: int) -> None:
        """Tell telemetry, if it is on, that messages have left a window."""
        if self.telemetry is not None:
            self.telemetry.record_trim(
                stage=trimmed.stage,
                messages=trimmed.messages,
                shortened=trimmed.shrunk,
                freed_tokens=trimmed.freed_tokens,
                started_ns=started_ns,
            )

    def is_from_flag(self, setting: str) -> bool:
        """Whether the setting was given on the command line."""
        return setting in self.loaded.flags

    def new_session(
        self, name: str | None = None, *, parent: str | None = None, delegated: str | None = None
    ) -> Session:
        """Return an empty session of the project's store; see `SessionStore.new`."""
        return self.store.new(
            self.project, persist=not self.config.incognito, name=name, parent=parent, delegated=delegated
        )

    def begin_session(self, session: Session) -> None:
        """Switch to another session and close the current one."""
        self.hooks.end_session(self.session.id)
        self._close_session()
        self.servers.begin_session()
        self.session = session
        self.turn_files.begin_session(session)
        self.memory.begin_session(session)
        self.planning.begin_session(session, is_from_flag=self.is_from_flag("approve"))
        self.efforts.begin_session(session)
        for warning in session.warnings:
            self.warn(warning)

    def light_provider(self, config: Config, provider: Provider) -> Provider:
        """Return the model for side questions: `light_model` if set and usable, otherwise `provider`."""
        name = config.light_model
        if not name or provider.name == OFFLINE:
            return provider
        if self._light_provider is None:
            try:
                self._light_provider = self.providers.open(name)
                self.spending.check_price_known(self._light_provider)
            except ConfigError as error:
                self.warn(tr("light_model {name!r} is not used: {error}", name=name, error=error))
                self._light_provider = provider
        return self._light_provider

    def record_spending(self, session: Session, bills: Sequence[Bill]) -> None:
        """Add these bills of a session to the ledger."""
        for warning in self.ledger_writer.write_bills(session, list(bills)):
            self.warn(warning)

    def remember_rule(self, rule: str) -> None:
        """Save a rule that the user always allows."""
        if self.config.incognito:
            return
        try:
            store_allow_rule(self.loaded, rule)
        except ClioError as error:
            self.warn(tr("the rule is valid for this session only: {error}", error=error))

    def list_running_jobs(self) -> list[RunningJob]:
        """Return the background commands that still run, without secrets."""
        jobs = (*self.jobs.list_running(), *self.jobs.list_running_agents())
        return [RunningJob(name=job.name, command=self.redact(job.command)) for job in jobs]

    def refresh_index(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Update the index of earlier sessions in small steps. Run it in a thread.

        Args:
            progress: called with the number of indexed sessions and the total.
        """
        with suppress(ClioError, OSError):  # a later search reports what is wrong with the index
            self.memory.refresh_index(self._closing.is_set, progress)

    async def close(self) -> None:
        """Stop background commands and close connections and files. Call `close_session` first."""
        # Background commands first: files that they still change belong to the last turn's checkpoint.
        await self.jobs.close()
        await self.hooks.run_session_end_hooks()
        if self._language_servers is not None:
            await self._language_servers.close()
        await self.servers.close()
        await asyncio.to_thread(self.checkpoints.close)
        self.memory.close()
        await self.providers.close()
        if self.telemetry is not None and not self._shares_telemetry:
            await asyncio.to_thread(self.telemetry.close)
            self.report_telemetry_problem()

    def close_session(self) -> None:
        """Close the session at the end of the process, and stop indexing sessions."""
        self._closing.set()
        self._close_session()
        self.hooks.end_session(self.session.id)

    def _close_session(self) -> None:
        was_unsaved = self.session.unsaved_reason
        self.session.close()
        if self.session.unsaved_reason and not was_unsaved:
            self.warn(tr("the session is not saved: {unsaved_reason}", unsaved_reason=self.session.unsaved_reason))


def _open_checkpoints(loaded: LoadedConfig, jobs: JobTable) -> Checkpoints:
    """Open the store for earlier file versions: in clio's home, or in memory if nothing may be written."""
    config, home = loaded.config, loaded.home.resolve()

    def list_files(root: Path) -> list[str]:
        from clio.tools.files.file_index import walk_files  # a turn that changes no file needs no list of files

        return sorted(walk_files(root, root, hidden=True, links=True))

    return Checkpoints(
        loaded.project,
        None if config.incognito else home / "checkpoints",
        list_files=list_files,
        excluded=[home],
        limits=StoreLimits(max_bytes=config.checkpoint_mb * 1_000_000, max_age_s=config.checkpoint_days * 86_400.0),
        has_running_job=lambda: bool(jobs.list_running()),
    )
