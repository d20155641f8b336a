"""The composition root: the only place that turns a configuration into objects that know each other."""

import asyncio
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial

import msgspec

from clio.agent.events import Emit, Event, Notice, StepFinished, TurnFinished
from clio.agent.loop import Loop
from clio.agent.side_question import SideQuestion
from clio.agent.tool_runner import MAX_RESULT_CHARS, ToolRunner
from clio.config.loaded import Loaded
from clio.config.schema import ApprovalMode
from clio.config.trust import remember_rule
from clio.context.builder import ContextBuilder, Prefix, is_compact, make_prefix
from clio.context.calibrate import Calibration, prefix_texts
from clio.context.checkpoint import checkpoint_text
from clio.context.encodings import encoding_folders, encoding_for, find_encoding
from clio.context.instructions import project_instructions
from clio.context.ratios import RatioBook
from clio.context.recovery_notes import git_activity, recovery_note
from clio.context.summary import ThreadSummary
from clio.context.window import ContextWindow
from clio.errors import ClioError, StorageError
from clio.fragments import Fragment
from clio.memory.inject import CAP_TOKENS as KNOWLEDGE_TOKENS
from clio.memory.inject import CHARS_PER_TOKEN
from clio.memory.noticing import look_for_notices, question, remember_noticed
from clio.memory.opening import open_memory
from clio.memory.preferences.notice import Noticed
from clio.memory.preferences.scenario_file import read_scenarios
from clio.memory.preferences.scenarios import check_scenario
from clio.providers.base import Limits, Provider
from clio.providers.registry import OFFLINE, make_provider
from clio.security.approval import Approver, Policy
from clio.security.path_policy import Workspace
from clio.security.redact import Redactor
from clio.security.redact_names import env_secrets
from clio.sessions.session import Session
from clio.sessions.store import SessionStore
from clio.tokens import TokenEstimator
from clio.tools.ask import Asker
from clio.tools.base import Tool
from clio.tools.file_tools import file_tools
from clio.tools.files.read_log import ReadLog
from clio.tools.schema import tool_spec
from clio.tools.shell.jobs import JobTable
from clio.tools.work_tools import work_tools

COMPACT_TOOLS = frozenset(
    "read_file edit_file write_file search_text find_files run_command git todo_operations memory_operations ask_user "
    "read_output".split()
)
FRAGMENT_SHARE = 12
"""On small windows no piece of instructions or knowledge takes more than this part of the window."""
COMPACT_RESULT_CHARS = 6_000  # about a tenth of a 16K window


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
    ) -> None:
        self.loaded = loaded
        self.config = loaded.config
        self.project = loaded.project
        self.home = loaded.home
        self.provider = provider
        self.workspace = Workspace(loaded.project)
        self.store = SessionStore(loaded.project / ".clio" / "sessions")
        self.redactor = Redactor(self.config.redact_patterns, env_secrets(dict(env)), enabled=self.config.redact)
        self.policy = Policy(
            self.workspace,
            self.config.approve,
            allow=self.config.allow,
            deny=self.config.deny,
            private_network=self.config.private_network,
            incognito=self.config.incognito,
            clio_home=loaded.home,
        )
        self.jobs = JobTable()
        scenarios = read_scenarios(self.home)
        self.memory = open_memory(
            loaded,
            self.store,
            redact=lambda text: self.redactor.redact(text).text,
            env=env,
            scenarios=scenarios,
        )
        self.memory.scenario = check_scenario(scenarios, self.config.scenario) if self.config.scenario else None
        self.emit = emit
        self._approver = approver
        self._asker = asker
        self._env = env
        self._now = now
        self.doubts: Sequence[tuple[str, Callable[[], None]]] = ()
        self._closing = threading.Event()
        self._retired: list[Provider] = []
        self._ratios = RatioBook(None if self.config.incognito else loaded.home, self._warn)
        self._estimator = TokenEstimator()  # of this session and model, once there is a loop
        self._calibration: Calibration | None = None
        self._loop: Loop | None = None
        self._read_log = ReadLog()  # of this session: what another one read, this one's model has not seen
        self.session = self._new()
        if scenarios.problem:
            self._warn(scenarios.problem)

    async def run_turn(self, text: str) -> TurnFinished:
        """One turn; see `Loop.run_turn`. What is said plainly about how things are to be done is remembered first.

        What may have been meant for this work alone is in `doubts` afterwards: a question, and what a yes does.
        """
        loop = await self._ready()
        certain, doubtful = look_for_notices(self.memory, text) if self.config.notice else ([], [])
        self._remember_noticed(certain)
        self.doubts = tuple((question(one), partial(self._remember_noticed, (one,))) for one in doubtful)
        finished = await loop.run_turn(text)
        await asyncio.to_thread(self._learn_from_turn, finished.status)
        return finished

    def _learn_from_turn(self, status: str) -> None:
        try:
            noted = self.memory.end_turn(self.session, status)
        except (StorageError, OSError) as error:
            self._warn(f"nothing was learned from this turn: {error}")
            return
        for one in noted:
            sign = "+" if one.rating.reward > 0 else "−"
            self.emit(Notice(text=f"{sign} {one.rating.note}: counts a little for {one.turn.style or 'this answer'}"))

    def _remember_noticed(self, noticed: Sequence[Noticed]) -> None:
        if line := remember_noticed(self.memory, noticed, self.session.id):
            self.emit(Notice(text=line))

    @property
    def context(self) -> ContextWindow | None:
        """The same where it is known already; None until somebody spoke, or `window` was awaited."""
        return self._loop.context if self._loop else None

    async def window(self) -> ContextWindow:
        """What the next request holds, to be looked at or trimmed; the server may be asked for the limits first."""
        return (await self._ready()).context

    def open_session(self, session_id: str) -> Session:
        """Go on with a stored session; the one before is closed. Raises SessionNotFound or SessionLocked."""
        opened = self.store.open(session_id, persist=not self.config.incognito)
        self._switch(opened)
        asked = self.loaded.origins.get("model", "").startswith("flag")
        if opened.model and opened.model != self.provider.model and not asked:
            self.set_model(opened.model)
        return opened

    def new_session(self, name: str | None = None) -> Session:
        """Start afresh; the session before is closed."""
        self._switch(self._new(name))
        return self.session

    def set_model(self, model: str) -> None:
        """Talk to another model of the same server from the next turn on."""
        self._leave_loop()
        self.config = msgspec.structs.replace(self.config, model=model)
        self._retired.append(self.provider)
        self.provider = make_provider(self.config, self._env)
        self.session.set_model(model)

    def set_approval(self, mode: ApprovalMode) -> None:
        """Decide anew who says yes to writes and commands."""
        self.policy.mode = mode

    def refresh_index(self) -> None:
        """Bring the index of earlier sessions up to date, in small steps that let others work; for a thread."""
        with suppress(ClioError, OSError):  # a search says what is wrong with it, to the one who asked
            self.memory.refresh_index(self._closing.is_set)

    async def close(self) -> None:
        """Stop background commands, close the session and the connections."""
        self._closing.set()
        self._close_session()  # first: it needs no waiting, so nothing can come between
        calibration = self._calibration
        self._leave_loop()
        if calibration is not None:
            await calibration.close()
        await self.jobs.close()
        self.memory.close()
        for provider in (*self._retired, self.provider):
            await provider.close()

    def _close_session(self) -> None:
        known = self.session.unsaved
        self.session.close()
        if self.session.unsaved and not known:
            self._warn(f"the session is not saved: {self.session.unsaved}")

    def _new(self, name: str | None = None) -> Session:
        return self.store.new(self.project, persist=not self.config.incognito, name=name)

    def _switch(self, session: Session) -> None:
        self._close_session()
        self._leave_loop()
        self.session = session
        self._read_log = ReadLog()
        for warning in session.warnings:
            self._warn(warning)

    async def _ready(self) -> Loop:
        if self._loop is None:
            self._loop = self._build_loop(await self.provider.limits())
        return self._loop

    def _leave_loop(self) -> None:
        """Let go of what was built for this session and this model; what the model bills is kept for later ones."""
        if self._calibration is not None:
            self._calibration.stop()
        if self._estimator.has_news:
            self._ratios.keep(self.provider.model, self._estimator.ratio)
        self._estimator = TokenEstimator()
        self._calibration = self._loop = None

    def _make_estimator(self) -> TokenEstimator:
        """What this session has learned of this model, else what earlier ones have."""
        session, model = self.session, self.provider.model
        own = session.token_ratio if not session.bills or session.bills[-1].model == model else None
        return TokenEstimator(own if own is not None else self._ratios.ratio_of(model))

    def _make_calibration(self, builder: ContextBuilder, estimator: TokenEstimator) -> Calibration | None:
        """A count of the prompt by a tokeniser, for a model that no bill has taught; None where none is on disk."""
        if estimator.is_taught or self.provider.name == OFFLINE:
            return None
        encoding = encoding_for(self.provider.model)
        path = find_encoding(encoding, encoding_folders(self._env, self.home))
        return Calibration(estimator, prefix_texts(builder.prefix), encoding, path) if path else None

    def _heard(self, event: Event) -> None:
        self.emit(event)
        if isinstance(event, StepFinished) and self._calibration is not None:
            self._calibration.begin()  # the server has answered; if it has billed, nothing happens

    def _warn(self, text: str) -> None:
        self.emit(Notice(text=text, level="warning"))

    def _build_loop(self, limits: Limits) -> Loop:
        self._estimator = estimator = self._make_estimator()
        side = SideQuestion(lambda: self.provider, asyncio.get_running_loop())
        self.memory.ask_a_model(side.ask if self.provider.name != OFFLINE else None)
        compact = is_compact(limits)
        tools = self._tools(compact)
        return Loop(
            provider=self.provider,
            runner=ToolRunner(
                tools={tool.name: tool for tool in tools},
                session=self.session,
                workspace=self.workspace,
                policy=self.policy,
                approver=self._approver,
                redactor=self.redactor,
                emit=self.emit,
                remember_rule=self._remember_rule,
                max_result_chars=COMPACT_RESULT_CHARS if compact else MAX_RESULT_CHARS,
            ),
            session=self.session,
            context=self._build_window(limits, estimator),
            redactor=self.redactor,
            emit=self._heard,
            max_steps=self.config.max_steps,
            now=self._now,
        )

    def _build_window(self, limits: Limits, estimator: TokenEstimator) -> ContextWindow:
        self.memory.begin(window_tokens=limits.context_window, session_of=lambda: self.session)

        def prefix(*, compact: bool, share: int | None = None) -> Prefix:
            specs = [tool_spec(tool, compact=compact) for tool in self._tools(compact)]
            cap = limits.context_window // share if share else None
            parts = self._fragments(cap, estimator.ratio)
            parts = [part for part in parts if part.whole] if share == 0 else parts
            return make_prefix(self.workspace.root, parts, specs, estimator, compact=compact, cap_tokens=cap)

        small = [lambda: prefix(compact=True, share=FRAGMENT_SHARE), lambda: prefix(compact=True, share=0)]
        builder = ContextBuilder(
            project=self.project,
            prefixes=small if is_compact(limits) else [lambda: prefix(compact=False), *small],
            estimator=estimator,
            turn_fragments=self._turn_fragments,
        )
        self._calibration = self._make_calibration(builder, estimator)
        return ContextWindow(
            self.session,
            builder,
            limits,
            before_trim=self._write_checkpoint,
            recovery=lambda budget: self._recovery_note(estimator, budget),
            now=self._now,
        )

    def _write_checkpoint(self, summary: ThreadSummary, task: str) -> None:
        """Note how the work stands, for a session that is resumed; without it the trim goes on all the same."""
        self.memory.window_trimmed()
        session = self.session
        git = git_activity(self.project)
        page = checkpoint_text(
            session=session.id,
            now=self._now(),
            summary=summary,
            todos=session.todos,
            task=task,
            git=git.text if git else "",
        )
        try:
            self.memory.write_progress(page)
        except (StorageError, OSError) as error:
            self._warn(f"the progress note was not written: {error}")

    async def _recovery_note(self, estimator: TokenEstimator, budget_tokens: int) -> str:
        git = await asyncio.to_thread(git_activity, self.project)
        try:
            progress = self.memory.read_progress()
        except (StorageError, OSError):
            progress = ""  # the summary says most of it
        note = recovery_note(
            estimator=estimator,
            budget_tokens=budget_tokens,
            git=git,
            progress=progress,
            session=self.session.id,
            now=self._now(),
        )
        return self.redactor.redact(note).text

    def _tools(self, compact: bool) -> list[Tool]:
        max_chars = COMPACT_RESULT_CHARS if compact else MAX_RESULT_CHARS
        tools = file_tools(self.workspace, self._read_log, max_read_chars=max_chars) + work_tools(
            self.workspace,
            lambda: self.session,
            self._asker,
            self.memory,
            self.jobs,
            command_timeout_s=self.config.command_timeout_s,
            private_network=self.config.private_network,
        )
        return [tool for tool in tools if tool.name in COMPACT_TOOLS] if compact else tools

    def _fragments(self, cap_tokens: int | None, chars_per_token: float) -> list[Fragment]:
        """What stands in the prompt of the whole session, in pieces of at most `cap_tokens`, where that is given."""
        instructions = project_instructions(self.project)
        most = min(cap_tokens or KNOWLEDGE_TOKENS, KNOWLEDGE_TOKENS)
        remembered = self.memory.prefix_fragments(most, min(CHARS_PER_TOKEN, chars_per_token))
        self._tell_of_memory()
        return [*([instructions] if instructions else []), *remembered]

    async def _turn_fragments(self, text: str) -> list[Fragment]:
        fragments = await asyncio.to_thread(self.memory.turn_fragments, text)
        self._tell_of_memory()
        return fragments

    def _tell_of_memory(self) -> None:
        for sentence in self.memory.take_notices():
            self._warn(sentence)

    def _remember_rule(self, rule: str) -> None:
        if self.config.incognito:
            return
        try:
            remember_rule(self.loaded, rule)
        except ClioError as error:
            self._warn(f"the rule holds for this session only: {error}")


def build_app(loaded: Loaded, *, approver: Approver, asker: Asker, emit: Emit, env: Mapping[str, str]) -> App:
    """A clio for this configuration, with an empty session. Raises ConfigError where no provider can be made."""
    provider = make_provider(loaded.config, env)
    return App(loaded, provider=provider, approver=approver, asker=asker, emit=emit, env=env)
