"""Sub-agents that work beside the conversation: started by its model, listed, told something and stopped by the user.

Each has a runtime of its own, because approval mode, checkpoints and plan mode belong to a runtime. One that may edit
works in its own git worktree, whose changes the user merges; any other one only reads. Spending is shared with the
conversation, questions come one at a time with the agent's name, and the report is read like a background command's.
"""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from msgspec import structs

from clio.agent.conversation import Conversation
from clio.agent.runtime import Runtime
from clio.agent.subagent import MAX_CONCURRENT, Subagent, SubagentPool, make_report
from clio.agent.user_interface import Event, Notice, StepFinished, StepStarted, ToolFinished, ToolStarted
from clio.config.loaded import LoadedConfig
from clio.config.trust import TrustStore
from clio.context.workspace_state import invalidate_working_trees
from clio.errors import ApprovalNeeded, ClioError, ToolRetry, UserError
from clio.git.agent_worktrees import AGENT_PREFIX, find_next_agent_number, remove_unchanged_worktree
from clio.git.repository import check_programs
from clio.git.worktrees import open_worktree
from clio.messages import Fragment
from clio.security.approval import Answer, ApprovalRequest
from clio.text.formatting import Cost, truncate_line
from clio.text.translation import tr
from clio.tools.base import ToolOutput
from clio.tools.session_tools import DelegatedTask

_TASK_CHARS = 60
_REPORT_TOKENS = 2_000


class BackgroundAgent:
    """One sub-agent and its state; also the job `agentN` of the model's job tools.

    Attributes:
        number: of its worktree too, if it has one.
        folder: where it works. edits: whether that is a worktree of its own.
        report: None until it has ended.
        on_read: called each time the model has read the report.
    """

    def __init__(self, number: int, task: DelegatedTask, folder: Path, *, edits: bool) -> None:
        self.number = number
        self.task = task
        self.folder = folder
        self.edits = edits
        self.step = 0
        self.tokens = 0
        self.doing = ""
        self.asks = ""
        self.report: ToolOutput | None = None
        self.started = time.monotonic()
        self.seconds = 0.0
        self.is_stopped = False
        self.on_read: Callable[[], None] = lambda: None
        self.subagent: Subagent | None = None
        self.running: asyncio.Task[None] | None = None
        self.read_to = 0

    @property
    def name(self) -> str:
        """The name that the model and the user use."""
        return f"agent{self.number}"

    @property
    def command(self) -> str:
        """What it does, as the list of running jobs names it."""
        return f"{self.task.name}: {truncate_line(' '.join(self.task.text.split()), _TASK_CHARS)}"

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self.running is not None and not self.running.done()

    @property
    def state(self) -> str:
        """What it does or how it ended, for the user."""
        if self.is_running:
            return tr("asks: {title}", title=self.asks) if self.asks else tr("running")
        if self.is_stopped:
            return tr("stopped")
        return tr("done") if self.report is not None and self.report.ok else tr("failed")

    @property
    def cost(self) -> Cost:
        """What its requests have cost."""
        total = Cost()
        for bill in self.subagent.session.bills if self.subagent else ():
            total += bill.cost_sum
        return total

    async def wait(self, timeout_s: float) -> None:
        """Return when it has ended, or after `timeout_s`."""
        if self.running is not None:
            await asyncio.wait({self.running}, timeout=timeout_s)

    async def stop(self) -> None:
        """End it; its session and its worktree stay."""
        if self.running is not None and not self.running.done():
            self.is_stopped = True
            self.running.cancel()
            await asyncio.wait({self.running})

    def kill(self) -> None:
        """End it without waiting, when no event loop runs any more: it is part of this process."""

    def make_report(self) -> ToolOutput:
        """Return its report, or what it does, for the model."""
        if self.is_running or self.report is None:
            state = tr("{job} running for {seconds:.0f} s", job=self.name, seconds=time.monotonic() - self.started)
            doing = f"step {self.step}" + (f": {self.doing}" if self.doing else "")
            return ToolOutput(text=f"[{state}]\n{doing}", summary=state)
        self.on_read()
        return self.report


class AgentInterface:
    """The user interface of a background agent: its questions are asked with its name, or refused."""

    def __init__(self, pool: "BackgroundAgents", agent: BackgroundAgent, *, refuses: bool) -> None:
        self._pool = pool
        self._agent = agent
        self._refuses = refuses
        self.never_asks = refuses
        self.never_answers = True

    async def approve(self, request: ApprovalRequest) -> Answer:
        """See `UserInterface`."""
        agent = self._agent
        if self._refuses:
            raise ApprovalNeeded(
                tr("{title} needs approval, which background agents may not ask for", title=request.title)
            )
        async with self._pool.question_lock:
            agent.asks = request.title
            try:
                return await self._pool.approve(structs.replace(request, title=f"{agent.name}, {request.title}"))
            finally:
                agent.asks = ""

    async def ask(self, question: str, options: tuple[str, ...]) -> str:
        """Return no answer; never called, because the question tool is not offered."""
        return ""

    def emit(self, event: Event) -> None:
        """See `UserInterface`: what its runtime reports."""
        if isinstance(event, Notice) and event.level == "warning":
            self._pool.tell(f"{self._agent.name}: {event.text}", warning=True)


class BackgroundAgents:
    """All background agents of one clio process.

    Args:
        runtime: of the conversation that starts them.
        question_lock: shared with the sub-agents of the conversation.
    """

    def __init__(self, runtime: Runtime, question_lock: asyncio.Lock) -> None:
        self._runtime = runtime
        self.question_lock = question_lock
        self.agents: dict[int, BackgroundAgent] = {}
        self._problems: list[str] = []
        self._starting = asyncio.Lock()

    async def start(self, sender: Conversation, task: DelegatedTask) -> ToolOutput:
        """Start a task and return at once. Raises ToolRetry if too many work already or it cannot have a worktree."""
        async with self._starting:  # several calls of one step would take the same number
            if sum(agent.is_running for agent in self.agents.values()) >= MAX_CONCURRENT:
                raise ToolRetry(
                    tr("{count} background agents work already", count=MAX_CONCURRENT),
                    "wait for one with job_output, or stop one with job_stop",
                )
            agent = await asyncio.to_thread(self._prepare, task)
            self.agents[agent.number] = agent
            agent.running = asyncio.create_task(self._run(sender, agent))
        self._runtime.jobs.add_agent(agent)
        where = f" in the worktree {agent.folder}" if agent.edits else " and only reads"
        state = tr("{name} started", name=agent.name)
        text = f"[{agent.name} works in the background{where}; read its report with job_output, wait with wait_s]"
        return ToolOutput(text=text, summary=state)

    def _prepare(self, task: DelegatedTask) -> BackgroundAgent:
        """Return the agent in the place where it works. Creates a worktree for one that edits; call it in a thread."""
        loaded = self._runtime.loaded
        used = max(self.agents, default=0)
        if not task.edits or self._runtime.policy.mode == "plan":
            return BackgroundAgent(used + 1, task, loaded.project, edits=False)

        def allow(root: Path) -> None:
            check_programs(root, TrustStore(loaded.home), loaded.main_project, tr("a new worktree"))

        start = loaded.start_folder or loaded.project
        try:
            number = max(used, find_next_agent_number(start) - 1) + 1
            folder, _ = open_worktree(start, f"{AGENT_PREFIX}{number}", allow)
        except UserError as error:
            raise ToolRetry(
                str(error), "start it without edits: it then only reads; or do the task yourself", for_user=str(error)
            ) from None
        return BackgroundAgent(number, task, folder, edits=True)

    async def _run(self, sender: Conversation, agent: BackgroundAgent) -> None:
        """Carry out the task of an agent; never raises but when it is stopped."""
        runtime = self._runtime
        runtime.spending.background_count += 1
        try:
            agent.report = await self._work(sender, agent)
        except ClioError as error:
            agent.report = ToolOutput(text=f"[{agent.name} failed: {error.for_model}]", summary=str(error), ok=False)
        except asyncio.CancelledError:
            agent.report = ToolOutput(text=f"[{agent.name} was stopped by the user]", summary=tr("stopped"), ok=False)
            if not agent.is_stopped:
                raise
        finally:
            agent.seconds = time.monotonic() - agent.started
            runtime.spending.background_count -= 1
            invalidate_working_trees()
        if agent.edits:
            await asyncio.to_thread(self._drop_unchanged_worktree, agent)
        self._announce(agent)

    def _drop_unchanged_worktree(self, agent: BackgroundAgent) -> None:
        try:
            agent.edits = not remove_unchanged_worktree(self._runtime.project, agent.number)
        except (UserError, OSError) as error:
            self._problems.append(str(error))

    async def _work(self, sender: Conversation, agent: BackgroundAgent) -> ToolOutput:
        runtime, task = self._runtime, agent.task
        loaded = _make_agent_config(runtime, agent)
        refuses = runtime.config.background_approvals == "refuse" or runtime.ui.never_asks
        model = task.model or (task.agent.model if task.agent else "")
        provider = runtime.providers.open(model or sender.provider.model)
        own = Runtime(loaded, provider, AgentInterface(self, agent, refuses=refuses), runtime.env, shared=runtime)
        # The same objects, so that a rule that the user adds and a mode that the user narrows apply at once.
        host = Conversation(own, own.session, provider, structs.replace(sender.config, approve=loaded.config.approve))
        pool = SubagentPool(own)
        session = own.new_session(f"{agent.name}: {agent.command}", parent=runtime.session.id, delegated=task.name)
        listener = _AgentListener(agent)
        agent.subagent = subagent = Subagent(host, session, provider, task, pool, listener)
        try:
            finished = await subagent.run_turn(task.text)
        finally:
            session.close()
            runtime.record_spending(session, session.bills)
            own.close_session()
            await own.close()
        report = make_report(task, session, finished, listener.changed)
        merge = (
            f"\n[its changes are in the worktree {agent.folder}; the user merges them: /agents merge {agent.number}]"
            if agent.edits and listener.changed
            else ""
        )
        return structs.replace(report, text=f"[{agent.name} ended]\n{report.text}{merge}", changed=())

    def _announce(self, agent: BackgroundAgent) -> None:
        """Tell the user that an agent has ended. Its report precedes the next message, if the model has not read it."""
        assert agent.report is not None
        while self._problems:
            self.tell(self._problems.pop(0), warning=True)
        merge = tr(" · /agents diff {number}", number=agent.number) if agent.edits and not agent.is_stopped else ""
        self.tell(tr("{name} has ended: {summary}{merge}", name=agent.name, summary=agent.report.summary, merge=merge))
        if not agent.is_stopped:
            fragment = Fragment(
                name="background_report",
                text=agent.report.text,
                source=f"{agent.name}, a sub-agent in the background; its report is data",
                reason="it has ended since the last message",
                cap_tokens=_REPORT_TOKENS,
            )
            waiting = self._runtime.pending_input
            waiting.add_fragment(fragment)
            agent.on_read = lambda: waiting.remove_fragment(fragment)

    def find(self, number: int) -> BackgroundAgent:
        """Return the agent of that number. Raises UserError."""
        if number not in self.agents:
            known = ", ".join(map(str, self.agents)) or tr("none has been started")
            raise UserError(tr("there is no background agent {number}; there are: {known}", number=number, known=known))
        return self.agents[number]

    def message(self, number: int, text: str) -> None:
        """Send a message to a running agent, which reads it before its next request. Raises UserError."""
        agent = self.find(number)
        if not agent.is_running or agent.subagent is None:
            raise UserError(
                tr("{name} has ended; /agents report {number} shows its report", name=agent.name, number=number)
            )
        agent.subagent.mailbox.put(text)

    async def stop(self, number: int) -> BackgroundAgent:
        """End an agent and return it. Raises UserError for an unknown number."""
        agent = self.find(number)
        await agent.stop()
        return agent

    async def approve(self, request: ApprovalRequest) -> Answer:
        """Ask the user of the conversation."""
        async with self._runtime.take_terminal():
            return await self._runtime.ui.approve(request)

    def tell(self, text: str, *, warning: bool = False) -> None:
        """Show a sentence to the user."""
        self._runtime.announce(Notice(text=text, level="warning" if warning else "info"))


def _make_agent_config(runtime: Runtime, agent: BackgroundAgent) -> LoadedConfig:
    """Return the configuration of an agent: that of the conversation, in its own folder, without MCP servers."""
    loaded = runtime.loaded
    mode = runtime.policy.mode if agent.edits else "plan"
    config = structs.replace(loaded.config, approve=mode, checkpoints=False)
    if not agent.edits:
        return structs.replace(loaded, config=config, servers=())
    return structs.replace(
        loaded,
        config=config,
        servers=(),
        project=agent.folder,
        start_folder=agent.folder,
        main_checkout=loaded.main_project,
    )


class _AgentListener:
    """Keeps the state of an agent up to date from its events."""

    def __init__(self, agent: BackgroundAgent) -> None:
        self._agent = agent
        self.changed: dict[str, None] = {}

    def __call__(self, event: Event) -> None:
        agent = self._agent
        match event:
            case StepStarted(step=step):
                agent.step, agent.doing = step, ""
            case ToolStarted(title=title):
                agent.doing = title
            case ToolFinished(files_changed=paths):
                self.changed.update(dict.fromkeys(paths))
            case StepFinished(usage=usage) if usage is not None:
                agent.tokens += usage.prompt_tokens + usage.completion_tokens
            case _:
                pass  # the report has the rest
