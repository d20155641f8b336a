"""Commands that run in the background, and end when clio does."""

import asyncio
import atexit
import contextlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from clio.errors import ToolRetry
from clio.text.translation import tr

if TYPE_CHECKING:
    from clio.sandbox.sandbox import Confinement, Sandbox
    from clio.tools.base import ConfinedRun, ToolOutput
    from clio.tools.shell.processes import RunningProcess


class Job:
    """One background command. read_to: number of characters of its output that the model has read.

    Args:
        on_ended: called once, when the command and everything it started have ended.
        explain_failure: returns what the command was denied, or ""; None if it was not confined.
    """

    def __init__(
        self,
        name: str,
        command: str,
        folder: Path,
        process: "RunningProcess",
        on_ended: Callable[[], None] = lambda: None,
        explain_failure: Callable[[], str] | None = None,
    ) -> None:
        self.name = name
        self.command = command
        self.folder = folder
        self.process = process
        self.read_to = 0
        self._explain_failure = explain_failure
        self._waiting = asyncio.ensure_future(self._wait(on_ended))

    @property
    def is_running(self) -> bool:
        """Whether the command or anything it started is alive."""
        return not self._waiting.done()

    async def wait(self, timeout_s: float) -> None:
        """Return when it has ended, or after `timeout_s`."""
        await asyncio.wait({self._waiting}, timeout=timeout_s)

    async def take_refusal(self) -> str:
        """Return what the sandbox denied it, once it has ended by itself; "" for nothing, and on later calls."""
        explain = None if self.is_running else self._explain_failure
        if explain is None:
            return ""
        self._explain_failure = None
        return await asyncio.to_thread(explain)

    async def stop(self) -> None:
        """End it and everything it started; does nothing if it has already ended."""
        # A stopped command did not fail because of the sandbox, so there is nothing to offer again.
        self._explain_failure = None
        await self.process.stop()
        self._waiting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._waiting

    async def _wait(self, on_ended: Callable[[], None]) -> None:
        try:
            await self.process.wait(with_children=True)
        finally:
            on_ended()  # also if cancelled, because it restores protected files; it blocks only for a few small ones

    def kill(self) -> None:
        """End it without waiting."""
        self.process.kill()


class AgentJob(Protocol):
    """A sub-agent in the background, which the job tools read and stop like a command."""

    @property
    def name(self) -> str:
        """Its name: agent1, agent2, …"""
        ...

    @property
    def command(self) -> str:
        """What it does."""
        ...

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        ...

    async def wait(self, timeout_s: float) -> None:
        """Return when it has ended, or after `timeout_s`."""
        ...

    async def stop(self) -> None:
        """End it; does nothing if it has already ended."""
        ...

    def make_report(self) -> "ToolOutput":
        """Return its report, or what it does."""
        ...


class JobTable:
    """The background commands of one clio process, by the names the model uses: job1, job2, …

    Args:
        sandbox: the sandbox for all commands; None for none.
        confinement: confines commands that run without approval; None for none.
    """

    def __init__(self, sandbox: "Sandbox | None" = None, confinement: "Confinement | None" = None) -> None:
        self.sandbox = sandbox
        self.confinement = confinement
        self._jobs: dict[str, Job] = {}
        self._agents: dict[str, AgentJob] = {}

    @property
    def is_sandboxed(self) -> bool:
        """Whether commands run in the sandbox."""
        return self.sandbox is not None and self.sandbox.is_enabled

    async def start(
        self, command: str, cwd: Path, *, outside: bool = False, confined: "ConfinedRun | None" = None
    ) -> Job:
        """Start a job. Raises ToolFailed if the command cannot be started.

        Args:
            outside: run it outside the sandbox.
            confined: it runs without approval and therefore confined; None if the user has approved it.
        """
        from clio.tools.shell.sandboxed_run import (  # few sessions start a job
            explain_job_failure,
            start_confined,
            start_sandboxed,
        )

        sandbox = self.sandbox if self.is_sandboxed and not outside else None
        explain: Callable[[], str] | None = None
        if confined is not None and self.confinement is not None:
            process, on_ended = await start_confined(command, cwd, self.confinement, sandbox, network=confined.network)
            explain = partial(explain_job_failure, process, command, cwd, self.confinement, network=confined.network)
        else:
            process = await start_sandboxed(command, cwd, sandbox)
            on_ended = partial(sandbox.watches.end, cwd) if sandbox is not None else lambda: None
        if not self._jobs:
            # For an exit after an error, before the table was closed.
            atexit.register(self.kill)
        job = Job(f"job{len(self._jobs) + 1}", command, cwd, process, on_ended, explain)
        self._jobs[job.name] = job
        return job

    def add_agent(self, agent: AgentJob) -> None:
        """Add a sub-agent that has been started."""
        self._agents[agent.name] = agent

    def get(self, name: str) -> Job | AgentJob:
        """Return the job of that name. Raises ToolRetry that lists the names."""
        found = self._jobs.get(name) or self._agents.get(name)
        if found is None:
            known = ", ".join([*self._jobs, *self._agents]) or "none has been started"
            raise ToolRetry(tr("there is no job {name!r}", name=name), f"the jobs are: {known}") from None
        return found

    def list_running_agents(self) -> list[AgentJob]:
        """Return the sub-agents that have not ended, oldest first."""
        return [agent for agent in self._agents.values() if agent.is_running]

    def list_running(self) -> list[Job]:
        """Return the jobs that have not ended, oldest first."""
        return [job for job in self._jobs.values() if job.is_running]

    async def close(self) -> None:
        """End all jobs concurrently and wait for it; the private /tmp of commands is removed."""
        await asyncio.gather(*(job.stop() for job in (*self.list_running_agents(), *self.list_running())))
        atexit.unregister(self.kill)  # otherwise a process with several apps would keep each of them alive
        if self.sandbox is not None:
            self.sandbox.close()

    def kill(self) -> None:
        """End all jobs without waiting, when no event loop is running any more."""
        for job in self._jobs.values():
            job.kill()
        if self.sandbox is not None:
            self.sandbox.watches.restore_and_report()
