"""Sub-agents: conversations that the model starts with a task and that answer with a report.

Each has its own session and window and shares everything else with the runtime: the same policy judges its calls, the
same user is asked, the same turn undoes its file changes, and its cost counts towards the same limit. It is never
offered more tools than its sender has, and cannot start other sub-agents.
"""

import asyncio
from collections.abc import Awaitable, Callable, Generator, Iterable
from contextlib import contextmanager
from functools import partial

from msgspec import structs

from clio.agent.conversation import Conversation
from clio.agent.loop import Loop
from clio.agent.runtime import Runtime
from clio.agent.user_interface import (
    Emit,
    Event,
    Mailbox,
    Notice,
    StepStarted,
    SubagentInterface,
    ToolFinished,
    ToolStarted,
    TurnFinished,
)
from clio.context.message_views import cut_text
from clio.context.request_builder import ContextBuilder, Prefix, make_prefix
from clio.context.window import ContextWindow
from clio.messages import AssistantMessage, Fragment
from clio.providers.base import ModelLimits, Provider
from clio.security.actions import FileChange
from clio.sessions.session import Session
from clio.skills.skills import SubagentDefinition
from clio.text.formatting import format_count
from clio.text.translation import tr
from clio.tokens import DEFAULT_RATIO, TokenEstimator
from clio.tools.base import OmittedTools, Progress, Tool, ToolOutput
from clio.tools.schemas import make_tool_spec
from clio.tools.session_tools import DelegatedTask, DelegateTool
from clio.tools.toolbox import make_server_tools

MAX_CONCURRENT = 4
"""Sub-agents that work concurrently."""
MAX_REPORT_CHARS = 6_000
"""Characters of a report, about 1,500 tokens; the rest stays in the session of the sub-agent."""
EXCLUDED_TOOLS = frozenset("ask_user memory_operations use_skill".split())
"""Tools for talking to the user: no one answers a sub-agent, and its work is not evidence of the user's preferences."""
_NAME_CHARS = 60
SUBAGENT_MEMORY_TOKENS = 1_000
"""Limit for project memory in the prompt of a sub-agent."""


StartInBackground = Callable[[Conversation, DelegatedTask], Awaitable[ToolOutput]]
"""Starts a task of a conversation and returns at once."""


class SubagentPool:
    """Runs the tasks that the model of a conversation delegates, at most `MAX_CONCURRENT` at a time.

    start_background: for tasks in the background; None to run them like any other.
    """

    def __init__(self, runtime: Runtime, start_background: StartInBackground | None = None) -> None:
        self._runtime = runtime
        self._start_background = start_background
        self._slots = asyncio.Semaphore(MAX_CONCURRENT)
        # One lock for all sub-agents: checkpoints can then tell whose change it is, and no two write at once.
        self.change_lock = asyncio.Lock()
        # The user gets one question at a time, even while four sub-agents work.
        self.question_lock = asyncio.Lock()
        self._running_count = self._unfinished_count = 0

    def make_tool(self, sender: Conversation, limits: ModelLimits) -> Tool:
        """Return the tool with which a conversation starts sub-agents."""
        tool_names = [tool.name for tool in list_subagent_tools(sender, limits)[0]]
        agents = [self._redact(agent) for agent in self._runtime.agents.list_usable()]
        return DelegateTool(agents, tool_names, partial(self._run, sender))

    def _redact(self, agent: SubagentDefinition) -> SubagentDefinition:
        """Return the definition with secrets replaced, because its text is sent to the model."""
        redact = self._runtime.redact
        return structs.replace(agent, description=redact(agent.description), text=redact(agent.text))

    async def _run(self, sender: Conversation, task: DelegatedTask, progress: Progress) -> ToolOutput:
        if task.background and self._start_background is not None:
            return await self._start_background(sender, task)
        with self._share_budget():
            async with self._slots:
                return await self._run_subagent(sender, task, progress)

    @contextmanager
    def _share_budget(self) -> Generator[None]:
        """While a sub-agent works, share the remaining budget among all that were started with it."""
        spending = self._runtime.spending
        if not self._running_count:
            self._unfinished_count = _count_delegated(self._runtime.session)
        self._running_count += 1
        spending.sharer_count = min(self._unfinished_count, MAX_CONCURRENT)
        try:
            yield
        finally:
            self._running_count -= 1
            self._unfinished_count -= 1
            spending.sharer_count = min(self._unfinished_count, MAX_CONCURRENT) if self._running_count else 1

    async def _run_subagent(self, sender: Conversation, task: DelegatedTask, progress: Progress) -> ToolOutput:
        runtime, provider = self._runtime, sender.provider
        model = task.model or (task.agent.model if task.agent else "")
        if model and model != provider.model:
            provider = runtime.providers.open(model)
        session = runtime.new_session(
            f"{task.name}: {' '.join(task.text.split())}"[:_NAME_CHARS],
            parent=runtime.session.id,
            delegated=task.name,
        )
        listener = _Listener(progress, runtime.ui.emit, task.name)
        subagent = Subagent(sender, session, provider, task, self, listener)
        try:
            finished = await subagent.run_turn(task.text)
        finally:
            session.close()
            if (window := subagent.window) is not None:
                runtime.learned_windows.save_window(provider, window.limits)
            runtime.record_spending(session, session.bills)
        return make_report(task, session, finished, listener.changed)


class Subagent(Conversation):
    """The conversation of one sub-agent: one turn that carries out its task."""

    def __init__(
        self,
        sender: Conversation,
        session: Session,
        provider: Provider,
        task: DelegatedTask,
        pool: SubagentPool,
        emit: Emit,
    ) -> None:
        super().__init__(sender.runtime, session, provider, sender.config)
        self.ui = SubagentInterface(sender.runtime.ui, emit, task.name, pool.question_lock)
        self.mailbox = Mailbox()  # text the user enters is for the sender's conversation
        self.estimator = TokenEstimator(sender.estimator.ratio)
        self._task = task
        self._pool = pool

    async def run_turn(self, text: str) -> TurnFinished:
        """Carry out the task. Nothing is learned for memory: only the conversation with the user does that."""
        limits = self.runtime.learned_windows.fit_limits(self.provider, await self.provider.limits())
        self._loop = self._make_loop(limits)
        return await self._loop.run_turn(text)

    def handle_event(self, event: Event) -> None:
        """Pass an event on to the sender's user interface."""
        self.ui.emit(event)

    def _make_loop(self, limits: ModelLimits) -> Loop:
        runtime, task = self.runtime, self._task
        all_tools, omitted_servers = list_subagent_tools(self, limits)
        allowed_names = [names for names in (task.tools, task.agent.tools if task.agent else None) if names]
        tools = [tool for tool in all_tools if all(tool.name in names for names in allowed_names)]
        omitted = OmittedTools(servers=tuple(omitted_servers), offered=len(runtime.servers.offered))
        memory = runtime.memory.begin_subagent(limits.context_window)

        def prefix() -> Prefix:
            instructions, problems = runtime.instructions.load_for_prompt(self.config, limits, self.estimator)
            fragments = [*([_definition_fragment(task.agent)] if task.agent else []), *omitted.fragments()]
            memories = memory.prefix_fragments(SUBAGENT_MEMORY_TOKENS, min(DEFAULT_RATIO, self.estimator.ratio))
            return make_prefix(
                runtime.workspace.root,
                [*fragments, *instructions, *memories],
                [make_tool_spec(tool) for tool in tools],
                self.estimator,
                compact=False,
                problems=problems,
                head="system/agent",
            )

        async def turn_fragments(text: str) -> list[Fragment]:
            return await asyncio.to_thread(memory.turn_fragments, text)

        builder = ContextBuilder(
            project=runtime.project,
            prefixes=[prefix],
            estimator=self.estimator,
            turn_fragments=turn_fragments,
            read_image=self._read_image,
        )
        max_steps = task.agent.max_steps if task.agent else self.config.max_steps
        return self._assemble(
            ContextWindow(
                self.session,
                builder,
                limits,
                running_jobs=runtime.list_running_jobs,
                on_trim=runtime.record_trim,
            ),
            tools,
            omitted,
            runtime.instructions.make_folder_instructions(self.config, limits, self.estimator),
            max_steps=min(self.config.max_steps, max_steps),
            change_lock=self._pool.change_lock,
        )


def list_subagent_tools(conversation: Conversation, limits: ModelLimits) -> tuple[list[Tool], list[str]]:
    """Return the tools a sub-agent may use, and the names of those left out because the window is too small."""
    servers, omitted = make_server_tools(conversation.runtime.servers, limits.context_window // 4)
    return [tool for tool in (*conversation.make_own_tools(), *servers) if tool.name not in EXCLUDED_TOOLS], omitted


def _count_delegated(session: Session) -> int:
    """Return how many sub-agents the model has just started with one answer."""
    answer = next((message for message in reversed(session.messages) if isinstance(message, AssistantMessage)), None)
    return sum(call.name == DelegateTool.name for call in answer.tool_calls) if answer else 1


class _Listener:
    """Receives the events of a sub-agent.

    Its calls are shown as progress of the sender's call, and its warnings are passed on.
    """

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
                self._progress(tr("step {step}", step=step))
            case ToolStarted(title=title):
                self._progress(tr("step {step} · {title}", step=self._step, title=title))
            case ToolFinished(files_changed=paths):
                self.changed.update(dict.fromkeys(paths))
            case Notice(text=text, level="warning"):
                self._emit(Notice(text=f"{self._name}: {text}", level="warning"))
            case _:
                pass  # the report contains the rest


def _definition_fragment(agent: SubagentDefinition) -> Fragment:
    return Fragment(
        name="agent", text=agent.text, source=agent.displayed_path, reason="instructions of this sub-agent", whole=True
    )


def make_report(
    task: DelegatedTask, session: Session, finished: TurnFinished, changed_files: Iterable[str]
) -> ToolOutput:
    """Return the report of a sub-agent for the model that sent it, with what it changed and cost."""
    ok = finished.status == "done"
    changed = list(changed_files)
    facts = [f"sub-agent {task.name}, session {session.id}, {format_count(finished.steps, 'step')}"]
    facts += [f"changed: {', '.join(changed)}"] if changed else []
    facts += [f"it did not finish: {finished.error}"] if not ok else []
    report = cut_text(finished.text.strip(), MAX_REPORT_CHARS, "the rest is in its session")
    cost = f", {finished.cost.text}" if finished.cost is not None and finished.cost.micro_dollars else ""
    files = f", {format_count(len(changed), 'file')} changed" if changed else ""
    summary = f"{format_count(finished.steps, 'step')}{cost}{files}" + ("" if ok else f": {finished.error}")
    return ToolOutput(
        text="\n".join([f"[{'; '.join(facts)}]", report or "(no report)"]),
        summary=" ".join(summary.split()),
        ok=ok,
        changed=tuple(FileChange(path=(session.working_directory / path), kind="update") for path in changed),
    )
