"""Sub-agents at work: each has a session, a window and a loop of its own, all else is that of the one that sent it.

The same policy judges what they do, the same person is asked, the same files are undone with the same turn, and what
they cost counts like the rest. They are never offered more tools than their sender, and cannot send others.
"""

import asyncio
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial

from msgspec import structs

from clio.agent.events import Emit, Event, Notice, StepStarted, ToolFinished, ToolStarted, TurnFinished
from clio.agent.loop import Loop
from clio.agent.tool_runner import MAX_RESULT_CHARS, ToolRunner
from clio.agent.turn_hooks import TurnHooks
from clio.assembly import Assembly, is_shown_images, read_stored_image
from clio.config.schema import Config
from clio.context.builder import ContextBuilder, Prefix, make_prefix
from clio.context.found_windows import WindowBook
from clio.context.shrink import cut_text
from clio.context.window import ContextWindow
from clio.fragments import Fragment
from clio.memory.inject import CHARS_PER_TOKEN
from clio.messages import AssistantMessage
from clio.providers.base import Limits, Provider
from clio.security.actions import FileChange
from clio.security.approval import Answer, ApprovalRequest, Approver
from clio.sessions.session import Session
from clio.sessions.store import SessionStore
from clio.subagents.definitions import Definition
from clio.tokens import TokenEstimator
from clio.tools.base import Progress, Tool, ToolOutput
from clio.tools.delegate import DelegateTool, Task
from clio.tools.file_tools import file_tools
from clio.tools.files.read_log import ReadLog
from clio.tools.left_out import LeftOut
from clio.tools.page_size import PageSize
from clio.tools.schema import tool_spec
from clio.tools.work_tools import server_tools, work_tools

MAX_AT_ONCE = 4
MAX_REPORT_CHARS = 6_000
NOT_FOR_THEM = frozenset("ask_user memory_operations use_skill".split())
"""Tools of a conversation: nobody answers a sub-agent, and what it does teaches nothing about the person."""
_NAME_CHARS = 60
KNOWLEDGE_TOKENS = 1_000
"""Of what the project knows, in a sub-agent's prompt."""


class Delegation:
    """Carries out the tasks of one running clio's sessions.

    agents_of: those that may be used. provider_for: the provider of another model of the same server. windows: how
    large they were found to be. spent: told of each session when it is over.
    """

    def __init__(
        self,
        assembly: Assembly,
        store: SessionStore,
        *,
        agents_of: Callable[[], Sequence[Definition]],
        persist: bool,
        provider_for: Callable[[str], Provider],
        windows: WindowBook,
        spent: Callable[[Session], None],
    ) -> None:
        self._assembly = assembly
        self._store = store
        self._agents_of = agents_of
        self._persist = persist
        self._provider_for = provider_for
        self._windows = windows
        self._spent = spent
        self._room = asyncio.Semaphore(MAX_AT_ONCE)
        self._changing = asyncio.Lock()
        self._asking = asyncio.Lock()
        self._working = self._to_work = 0

    def tool(self, config: Config, provider: Provider, limits: Limits, estimator: TokenEstimator) -> Tool:
        """The tool that sends them, for one loop."""
        known = [tool.name for tool in self._tools(config, limits, self._assembly.session_of)[0]]
        run = partial(self._run, config, provider, estimator)
        return DelegateTool([self._clean(agent) for agent in self._agents_of()], known, run)

    def _clean(self, agent: Definition) -> Definition:
        """The same without secrets: its words are sent."""
        clean = self._assembly.redactor.redact
        return structs.replace(agent, description=clean(agent.description).text, text=clean(agent.text).text)

    async def _run(
        self, config: Config, provider: Provider, estimator: TokenEstimator, task: Task, progress: Progress
    ) -> ToolOutput:
        with self._shares():
            async with self._room:
                return await self._work(config, provider, estimator, task, progress)

    @contextmanager
    def _shares(self) -> Generator[None]:
        """While one works, what may still be spent is shared out among all that were sent with it."""
        spending = self._assembly.spending
        if not self._working:
            self._to_work = _sent_together(self._assembly.session_of())
        self._working += 1
        spending.sharers = min(self._to_work, MAX_AT_ONCE)
        try:
            yield
        finally:
            self._working -= 1
            self._to_work -= 1
            spending.sharers = min(self._to_work, MAX_AT_ONCE) if self._working else 1

    async def _work(
        self, config: Config, provider: Provider, estimator: TokenEstimator, task: Task, progress: Progress
    ) -> ToolOutput:
        model = task.model or (task.agent.model if task.agent else "")
        if model and model != provider.model:
            provider = self._provider_for(model)
        limits = self._windows.fitted(provider, await provider.limits())
        name = f"{task.name}: {' '.join(task.text.split())}"[:_NAME_CHARS]
        session = self._store.new(
            self._assembly.project,
            persist=self._persist,
            name=name,
            parent=self._assembly.session_of().id,
            delegated=task.name,
        )
        listener = _Listener(progress, self._assembly.emit, task.name)
        loop = self._make_loop(config, provider, limits, TokenEstimator(estimator.ratio), session, task, listener)
        try:
            finished = await loop.run_turn(task.text)
        finally:
            session.close()
            self._windows.keep(provider, loop.context.limits)
            self._spent(session)
        return _report(task, session, finished, listener)

    def _make_loop(
        self,
        config: Config,
        provider: Provider,
        limits: Limits,
        estimator: TokenEstimator,
        session: Session,
        task: Task,
        emit: Emit,
    ) -> Loop:
        shared = self._assembly
        page = PageSize(MAX_RESULT_CHARS)
        every, left_servers = self._tools(config, limits, lambda: session, page)
        tools = self._allowed(every, task)
        left_out = LeftOut(servers=tuple(left_servers), offered=len(shared.servers.offered))
        folders = shared.asked.for_folders(config, limits, estimator)
        checks = shared.edit_checks(config)
        memory = shared.memory.begin_subagent(limits.context_window)

        def prefix() -> Prefix:
            asked, problems = shared.asked.for_prompt(config, limits, estimator)
            own = [*([_own_words(task.agent)] if task.agent else []), *left_out.fragments()]
            specs = [tool_spec(tool) for tool in tools]
            known = memory.prefix_fragments(KNOWLEDGE_TOKENS, min(CHARS_PER_TOKEN, estimator.ratio))
            return make_prefix(
                shared.workspace.root, [*own, *asked, *known], specs, estimator, compact=False, problems=problems,
                head="system/agent",
            )  # fmt: skip

        async def turn_fragments(text: str) -> list[Fragment]:
            return await asyncio.to_thread(memory.turn_fragments, text)

        builder = ContextBuilder(
            project=shared.project,
            prefixes=[prefix],
            estimator=estimator,
            turn_fragments=turn_fragments,
            read_image=lambda handle: read_stored_image(session, handle),
        )
        return Loop(
            provider=provider,
            runner=ToolRunner(
                tools={tool.name: tool for tool in tools},
                session=session,
                workspace=shared.workspace,
                policy=shared.policy,
                approver=_OneAtATime(shared.approver, self._asking, task.name),
                redactor=shared.redactor,
                emit=emit,
                remember_rule=shared.remember_rule,
                turn_files=shared.turn_files,
                limit=shared.tool_limit,
                hooks=TurnHooks(shared.hooks, session, estimator),
                alone=self._changing,
                checks=checks,
                note_below=folders.note if folders else lambda action: "",
                max_result_chars=page,
                left_out=left_out.names,
                takes_images=is_shown_images(config, provider),
            ),
            session=session,
            context=ContextWindow(session, builder, limits, now=shared.now),
            redactor=shared.redactor,
            emit=emit,
            max_steps=min(config.max_steps, task.agent.max_steps if task.agent else config.max_steps),
            spending=shared.spending,
            now=shared.now,
            fallback=shared.fallback,
            effort_of=shared.efforts.effort_of,
            checks=checks,
        )

    def _tools(
        self, config: Config, limits: Limits, session_of: Callable[[], Session], page: PageSize | None = None
    ) -> tuple[list[Tool], list[str]]:
        """The tools a sub-agent may have, and the names of those left out for want of space."""
        shared = self._assembly
        size = page or PageSize(MAX_RESULT_CHARS)
        servers, left = server_tools(shared.servers, limits.context_window // 4)
        tools = [
            *file_tools(shared.workspace, ReadLog(), max_read_chars=size, session_of=session_of),
            *work_tools(
                shared.workspace,
                session_of,
                shared.asker,
                shared.memory,
                shared.jobs,
                command_timeout_s=config.command_timeout_s,
                private_network=config.private_network,
                attribution=config.attribution,
                max_read_chars=size,
            ),
            *servers,
        ]
        return [tool for tool in tools if tool.name not in NOT_FOR_THEM], left

    @staticmethod
    def _allowed(tools: Sequence[Tool], task: Task) -> list[Tool]:
        limits = [names for names in (task.tools, task.agent.tools if task.agent else None) if names]
        return [tool for tool in tools if all(tool.name in names for names in limits)]


def _sent_together(session: Session) -> int:
    """How many sub-agents the model has just sent with one answer."""
    answer = next((one for one in reversed(session.messages) if isinstance(one, AssistantMessage)), None)
    return sum(call.name == DelegateTool.name for call in answer.tool_calls) if answer else 1


class _OneAtATime:
    """The person, asked one question at a time and told who asks."""

    def __init__(self, approver: Approver, asking: asyncio.Lock, name: str) -> None:
        self.never_asks = bool(getattr(approver, "never_asks", False))
        self._approver = approver
        self._asking = asking
        self._name = name

    async def ask(self, request: ApprovalRequest) -> Answer:
        """See `Approver`."""
        async with self._asking:
            return await self._approver.ask(structs.replace(request, title=f"{self._name}: {request.title}"))


class _Listener:
    """Hears a sub-agent's events: its calls are news of the call that sent it, its warnings are told."""

    def __init__(self, progress: Progress, emit: Emit, name: str) -> None:
        self._progress = progress
        self._emit = emit
        self._name = name
        self._step = 1
        self.changed: dict[str, None] = {}

    def __call__(self, event: Event) -> None:
        match event:
            case StepStarted(step=step):
                self._step = step
                self._progress(f"step {step}")
            case ToolStarted(title=title):
                self._progress(f"step {self._step} · {title}")
            case ToolFinished(files_changed=paths):
                self.changed.update(dict.fromkeys(paths))
            case Notice(text=text, level="warning"):
                self._emit(Notice(text=f"{self._name}: {text}", level="warning"))
            case _:
                pass  # the report says the rest


def _own_words(agent: Definition) -> Fragment:
    return Fragment(name="agent", text=agent.text, source=agent.shown, reason="what this sub-agent is told", whole=True)


def _report(task: Task, session: Session, finished: TurnFinished, listener: _Listener) -> ToolOutput:
    ok = finished.status == "done"
    changed = list(listener.changed)
    facts = [f"sub-agent {task.name}, session {session.id}, {_steps(finished.steps)}"]
    facts += [f"changed: {', '.join(changed)}"] if changed else []
    facts += [f"it did not finish: {finished.error}"] if not ok else []
    report = cut_text(finished.text.strip(), MAX_REPORT_CHARS, "the rest is in its session")
    cost = f", {finished.cost.text}" if finished.cost is not None and finished.cost.micro_dollars else ""
    files = f", {len(changed)} file{'s' if len(changed) > 1 else ''} changed" if changed else ""
    summary = f"{_steps(finished.steps)}{cost}{files}" + ("" if ok else f": {finished.error}")
    return ToolOutput(
        text="\n".join([f"[{'; '.join(facts)}]", report or "(no report)"]),
        summary=" ".join(summary.split()),
        ok=ok,
        changed=tuple(FileChange(path=(session.working_directory / path), kind="update") for path in changed),
    )


def _steps(count: int) -> str:
    return f"{count} step" if count == 1 else f"{count} steps"
