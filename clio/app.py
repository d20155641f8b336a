"""The composition root: the only place that turns a configuration into objects that know each other."""

import asyncio
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

from clio.agent.confinement_notice import ConfinementNotice
from clio.agent.current_loop import CurrentLoop
from clio.agent.events import Emit, Event, Notice, TurnFinished
from clio.agent.interrupts import Mailbox
from clio.agent.lessons import Lessons
from clio.agent.model_request import EffortChoices, FallbackModels
from clio.agent.planning import Planning
from clio.agent.spending import SpendingNotes, open_spending
from clio.agent.tool_runner import ToolLimit
from clio.agent.turn_files import TurnFiles
from clio.agent.turn_frame import TurnFrame
from clio.assembly import Assembly, project_checkpoints
from clio.config.loaded import Loaded
from clio.config.paths import user_home
from clio.config.trust import remember_rule
from clio.context.asked_by_files import AskedByFiles
from clio.context.found_windows import WindowBook
from clio.context.ratios import RatioBook
from clio.context.shelf import Shelf
from clio.context.window import ContextWindow
from clio.delegation import Delegation
from clio.errors import ClioError, ConfigError
from clio.hooks.hooks import Hooks
from clio.mcp.opening import open_servers
from clio.memory.opening import open_memory
from clio.memory.preferences.scenario_file import read_scenarios
from clio.memory.preferences.scenarios import check_scenario
from clio.providers.aliases import resolve_alias
from clio.providers.base import OFFLINE, Provider
from clio.providers.lesson_book import LessonBook
from clio.providers.opened import OpenedProviders
from clio.providers.registry import make_provider
from clio.sandbox.confinement import open_confinement
from clio.sandbox.sandbox import open_sandbox
from clio.security.approval import Approver
from clio.security.opening import open_policy
from clio.security.path_policy import Workspace
from clio.security.redaction.redactor import Redactor
from clio.security.redaction.settings import redactor_for
from clio.sessions.opening import open_store
from clio.sessions.session import Session
from clio.skills.shelf import SkillShelf
from clio.subagents.definitions import DefinitionFolders
from clio.tools.ask import Asker
from clio.tools.shell.jobs import JobTable

if TYPE_CHECKING:  # commands are for lines that begin with a slash, and most do not
    from clio.commands.called import MakeMeaning, Meaning
    from clio.commands.extensions.added import AddedCommands


class App:
    """One running clio: a project, a session, a model, and what they need of each other."""

    def __init__(
        self,
        loaded: Loaded,
        *,
        provider: Provider,
        approver: Approver,
        asker: Asker,
        emit: Emit,
        env: Mapping[str, str],
        now: Callable[[], float] = time.time,
        shelf: Shelf | None = None,
        book: LessonBook | None = None,
        redactor: Redactor | None = None,
    ) -> None:
        self.shelf = shelf or Shelf()
        self.loaded = loaded
        self.config = resolve_alias(loaded.config)
        self.project = loaded.project
        self.home = loaded.home
        self._env = env
        self.provider = provider
        self._model_name = loaded.config.model or provider.model  # as it was asked for: an alias or a model
        self._has_chosen_model: bool = False
        self.redactor = redactor or redactor_for(self.config, env)
        self._providers = OpenedProviders(loaded.config, env, provider, book, self.redactor.learn_secret)
        self._light: Provider | None = None
        self.workspace = Workspace(loaded.project)
        self.store = open_store(loaded)

        def clean(text: str) -> str:
            return self.redactor.redact(text).text

        self.policy = open_policy(loaded, self.workspace)
        self.planning = Planning(self.policy, lambda: self.session)
        self.sandbox = open_sandbox(loaded, env)
        self.confinement = open_confinement(loaded, env)
        self.jobs = JobTable(self.sandbox, self.confinement)
        self.checkpoints = project_checkpoints(loaded, self.jobs)
        scenarios = read_scenarios(self.home)
        self.memory = open_memory(loaded, self.store, redact=clean, env=env, scenarios=scenarios)
        self.memory.scenario = check_scenario(scenarios, self.config.scenario) if self.config.scenario else None
        self.emit = emit
        self.lessons = Lessons(self.memory, emit, notices=self.config.notice)
        self._closing = threading.Event()
        self.turn_files = TurnFiles(
            self.checkpoints,
            session_of=lambda: self.session,
            only_reads=self.policy.only_reads,
            clean=clean,
            emit=emit,
            enabled=self.config.checkpoints,
        )
        self.hooks = Hooks(
            loaded.hooks if self.config.hooks else (),
            project=self.project,
            env=env,
            clean=clean,
            tell=lambda text, warning: emit(Notice(text=text, level="warning" if warning else "info")),
        )
        self.mailbox = Mailbox()
        self.servers = open_servers(loaded, env, clean=clean, tell=self._warn, ask=asker.ask)
        self.tool_limit = ToolLimit(self.policy)
        self.skills = SkillShelf(loaded.owner, self.home, env)
        self.agents = DefinitionFolders(loaded.owner, self.home, env)
        self.spending = open_spending(loaded, now)
        self.efforts = EffortChoices(
            self.config,
            asked=loaded.origins.get("effort", "").startswith("flag"),
            keep=lambda model, effort: self.session.set_effort(model, effort),
        )
        self.fallback = FallbackModels(
            self.config.fallback, self._providers.open, cooldown_s=self.config.fallback_cooldown_s, warn=self._warn
        )
        self._assembly = Assembly(
            project=self.project,
            owner=loaded.owner,
            home=self.home,
            env=env,
            workspace=self.workspace,
            memory=self.memory,
            policy=self.policy,
            approver=ConfinementNotice(approver, self.confinement, emit),
            asker=asker,
            redactor=self.redactor,
            jobs=self.jobs,
            turn_files=self.turn_files,
            mailbox=self.mailbox,
            spending=self.spending,
            efforts=self.efforts,
            planning=self.planning,
            shelf=self.shelf,
            asked=AskedByFiles(
                project=self.project,
                start=loaded.start or loaded.project,
                home=self.home,
                person=user_home(env),
                clean=clean,
                links=loaded.links,
            ),
            hooks=self.hooks,
            servers=self.servers,
            skills=self.skills,
            tool_limit=self.tool_limit,
            emit=emit,
            heard=self._heard,
            session_of=lambda: self.session,
            remember_rule=self._remember_rule,
            delegate_tool=lambda config, provider, limits, estimator: self._delegation.tool(
                config, provider, limits, estimator
            ),
            fallback=self.fallback,
            light=lambda: self.light_provider,
            now=now,
        )
        learned = None if self.config.incognito else loaded.home
        windows = WindowBook(learned, self._warn, now)
        self._current: CurrentLoop = CurrentLoop(
            lambda limits, estimator, read_log: self._assembly.make_loop(
                self.config, self.provider, limits, estimator, read_log
            ),
            session_of=lambda: self.session,
            provider_of=lambda: self.provider,
            servers=self.servers,
            ratios=RatioBook(learned, self._warn),
            windows=windows,
        )
        self._turns = TurnFrame(
            self._current,
            spending=self.spending,
            notes=SpendingNotes(self.spending, loaded.owner),
            sandbox=self.sandbox,
            hooks=self.hooks,
            lessons=self.lessons,
            planning=self.planning,
            turn_files=self.turn_files,
            warn=self._warn,
        )
        self._delegation = Delegation(
            self._assembly,
            self.store,
            agents_of=self.agents.usable,
            persist=not self.config.incognito,
            provider_for=self._providers.open,
            windows=windows,
            spent=lambda session: self._turns.note(session, session.bills),
        )
        self.session = self._new()
        self.turn_files.recover()
        if scenarios.problem:
            self._warn(scenarios.problem)

    async def run_turn(self, text: str, make: "MakeMeaning | None" = None) -> TurnFinished:
        """One turn; see `Loop.run_turn`. What is said plainly about how things are to be done is remembered first.

        make: finds out what the text stands for, where it is a command that is not built in.
        What may have been meant for this work alone: see `Lessons.take_doubts`.
        Raises ConfigError where there is a limit to what may be spent and the model's price is not known.
        """
        if make is not None:
            return await self._run_meaning(text, await make())
        return await self._turns.run(text, self.session, self.provider)

    async def _run_meaning(self, text: str, meaning: "Meaning") -> TurnFinished:
        """A turn of words that stand for others, with the model and the tools these ask for."""
        from clio.commands.meaning import chip, meant_fragment

        before = (self.config, self.provider, self._model_name, self._has_chosen_model)
        stored = self.session.model
        switches = meaning.model not in ("", self.provider.model, self._model_name)
        if switches:
            self.set_model(meaning.model)
        try:
            window = await self.window()
            self.shelf.mean(meant_fragment(meaning, window.limits.context_window), meaning.named)
            self.emit(Notice(text=chip(text, meaning)))
            self.tool_limit.begin(meaning.tools)
            return await self._turns.run(text, self.session, self.provider)
        finally:
            self.shelf.take_meant()
            self.tool_limit.end()
            if switches:
                self._current.leave()
                self.config, self.provider, self._model_name, self._has_chosen_model = before
                self._providers.resume(self.config)
                self.session.set_model(stored)

    @property
    def added(self) -> "AddedCommands":
        """The commands that are not built in."""
        return self._added

    @cached_property
    def _added(self) -> "AddedCommands":
        from clio.commands.extensions.added import AddedCommands
        from clio.commands.extensions.custom import CustomCommands
        from clio.commands.extensions.mcp_prompts import PromptCommands

        custom = CustomCommands(self.loaded.owner, self.home, self._env)
        return AddedCommands(custom, PromptCommands(self.servers), problems=custom.problems)

    async def output_of(self, command: str) -> str:
        """What a command prints that stands in a text a person calls, or why it was not run; asked about like any."""
        from clio.agent.prompt_command import output_of

        return await output_of(command, self._assembly.prompt_runner(self.config))

    @property
    def context(self) -> ContextWindow | None:
        """The same where it is known already; None until somebody spoke, or `window` was awaited."""
        return self._current.context

    async def window(self) -> ContextWindow:
        """What the next request holds, to be looked at or trimmed; the server may be asked for the limits first."""
        return (await self._current.ready()).context

    def open_session(self, session_id: str) -> Session:
        """Go on with a stored session; the one before is closed. Raises SessionNotFound or SessionLocked."""
        return self.go_on(self.store.open(session_id, persist=not self.config.incognito))

    def new_session(self, name: str | None = None) -> Session:
        """Start afresh, with the model and the effort chosen by then; the session before is closed."""
        return self.go_on(self._new(name))

    def go_on(self, session: Session) -> Session:
        """Go on with a session of this project's store, as it was opened; the one before is closed."""
        self.hooks.leave(self.session.id)
        self._close_session()
        self._current.leave_session()
        self.servers.begin_session()
        self.session = session
        self.planning.resume(asked=self.loaded.origins.get("approve", "").startswith("flag"))
        for warning in session.warnings:
            self._warn(warning)
        if not session.messages:  # it begins with what was chosen before it
            self.efforts.keep_all()
            if self._has_chosen_model:
                session.set_model(self._model_name)
        else:
            self.efforts.resume(session.efforts)
        asked = self.loaded.origins.get("model", "").startswith("flag")
        if session.model and session.model not in (self.provider.model, self._model_name) and not asked:
            try:
                self.set_model(session.model, at_start=True)
            except ConfigError as error:
                self._warn(f"the session's model {session.model!r} does not answer: {error}")
        return session

    def set_model(self, model: str, *, at_start: bool = False) -> None:
        """Talk to another model of the same server, or to an alias, from the next turn on. Raises ConfigError.

        at_start: a model's own name means the server clio was started with.
        """
        config, provider = self._providers.switch(model, at_start=at_start)
        self._current.leave()  # while the provider is still the one that is left
        self.config, self.provider = config, provider
        self._model_name = model
        self._has_chosen_model = True
        self.session.set_model(model)

    @property
    def answering(self) -> Provider:
        """The model that would take the next step: the chosen one, or one of `fallback` while its server is away."""
        return self.fallback.pick(self.provider) or self.provider

    @property
    def light_provider(self) -> Provider:
        """The model for questions beside the conversation: `light_model`, else the one that answers."""
        name = self.config.light_model
        if not name or self.provider.name == OFFLINE:
            return self.provider
        if self._light is None:
            try:
                self._light = self._providers.open(name)
                self.spending.check_start(self._light)
            except ConfigError as error:
                self._warn(f"light_model {name!r} is not used: {error}")
                self._light = self.provider
        return self._light

    async def reload_servers(self) -> None:
        """Start the MCP servers anew; the next request has the tools they offer then."""
        await self.servers.reload()
        self._current.leave()

    def refresh_index(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Bring the index of earlier sessions up to date, in small steps that let others work; for a thread.

        progress: told of how many sessions are known, and of how many to be.
        """
        with suppress(ClioError, OSError):  # a search says what is wrong with it, to the one who asked
            self.memory.refresh_index(self._closing.is_set, progress)

    async def close(self) -> None:
        """Stop background commands, close the session and the connections."""
        self._closing.set()
        self._close_session()  # first: it needs no waiting, so nothing can come between
        self.hooks.leave(self.session.id)
        await self._current.close()
        await self.jobs.close()
        await self.hooks.finish()
        await self.servers.close()
        await asyncio.to_thread(self.checkpoints.close)
        self.memory.close()
        await self._providers.close()

    def _close_session(self) -> None:
        known = self.session.unsaved
        self.session.close()
        if self.session.unsaved and not known:
            self._warn(f"the session is not saved: {self.session.unsaved}")

    def _new(self, name: str | None = None) -> Session:
        return self.store.new(self.project, persist=not self.config.incognito, name=name)

    def _heard(self, event: Event) -> None:
        self.emit(event)
        self._current.hear(event)

    def _warn(self, text: str) -> None:
        self.emit(Notice(text=text, level="warning"))

    def _remember_rule(self, rule: str) -> None:
        if self.config.incognito:
            return
        try:
            remember_rule(self.loaded, rule)
        except ClioError as error:
            self._warn(f"the rule holds for this session only: {error}")


def build_app(
    loaded: Loaded,
    *,
    approver: Approver,
    asker: Asker,
    emit: Emit,
    env: Mapping[str, str],
    shelf: Shelf | None = None,
) -> App:
    """A clio for this configuration, with an empty session. Raises ConfigError where no provider can be made."""
    home = None if loaded.config.incognito else loaded.home
    book = LessonBook(home, lambda text: emit(Notice(text=text, level="warning")))
    redactor = redactor_for(loaded.config, env)
    provider = make_provider(loaded.config, env, book=book, learn_secret=redactor.learn_secret)
    return App(
        loaded,
        provider=provider,
        approver=approver,
        asker=asker,
        emit=emit,
        env=env,
        shelf=shelf,
        book=book,
        redactor=redactor,
    )
