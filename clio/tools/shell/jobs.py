"""Commands that go on in the background, and end when clio does."""

import asyncio
import atexit
import contextlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from clio.errors import ToolRetry

if TYPE_CHECKING:
    from clio.sandbox.sandbox import Confinement, Sandbox
    from clio.tools.base import Unasked
    from clio.tools.shell.processes import RunningProcess


class Job:
    """One background command. `read_to` is the character of its output the model has read up to.

    ended: called once, when nothing of it is alive any more. explain_failure: what it was refused, "" for
    nothing; None where it was not confined.
    """

    def __init__(
        self,
        name: str,
        command: str,
        folder: Path,
        process: "RunningProcess",
        ended: Callable[[], None] = lambda: None,
        explain_failure: Callable[[], str] | None = None,
    ) -> None:
        self.name = name
        self.command = command
        self.folder = folder
        self.process = process
        self.read_to = 0
        self._explain_failure = explain_failure
        self._waiting = asyncio.ensure_future(self._wait(ended))

    @property
    def running(self) -> bool:
        """Whether the command or anything it started is alive."""
        return not self._waiting.done()

    async def wait(self, timeout_s: float) -> None:
        """Return when it has ended, or after `timeout_s`."""
        await asyncio.wait({self._waiting}, timeout=timeout_s)

    async def take_refusal(self) -> str:
        """What it needs and was refused, once it has ended by itself; "" for nothing, and after the first call."""
        explain = None if self.running else self._explain_failure
        if explain is None:
            return ""
        self._explain_failure = None
        return await asyncio.to_thread(explain)

    async def stop(self) -> None:
        """End it and everything it started; nothing happens where it has ended already."""
        self._explain_failure = None
        await self.process.stop()
        self._waiting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._waiting

    async def _wait(self, ended: Callable[[], None]) -> None:
        try:
            await self.process.wait(with_children=True)
        finally:
            ended()  # also where this is cancelled; a handful of small files

    def kill(self) -> None:
        """End it without waiting."""
        self.process.kill()


class JobTable:
    """The jobs of one clio, by the names the model knows them by: job1, job2, …

    sandbox: what holds them, as all commands of this clio; None for nothing. confinement: what confines those that run
    without a question; None for nothing.
    """

    def __init__(self, sandbox: "Sandbox | None" = None, confinement: "Confinement | None" = None) -> None:
        self.sandbox = sandbox
        self.confinement = confinement
        self._jobs: dict[str, Job] = {}

    @property
    def held(self) -> bool:
        """Whether the sandbox holds commands."""
        return self.sandbox is not None and self.sandbox.wanted

    async def start(self, command: str, cwd: Path, *, outside: bool = False, unasked: "Unasked | None" = None) -> Job:
        """Start a job. Raises ToolFailed where the command cannot be started.

        outside: no sandbox holds it. unasked: it runs without a question, and so is confined.
        """
        from clio.tools.shell.sandboxed_run import explain_job_failure, start_held, start_unasked  # few ever start one

        sandbox = self.sandbox if self.held and not outside else None
        explain: Callable[[], str] | None = None
        if unasked is not None and self.confinement is not None:
            process, ended = await start_unasked(command, cwd, self.confinement, sandbox, network=unasked.network)
            explain = partial(explain_job_failure, process, command, cwd, self.confinement, network=unasked.network)
        else:
            process = await start_held(command, cwd, sandbox)
            ended = partial(sandbox.watches.end, cwd) if sandbox is not None else lambda: None
        if not self._jobs:
            # Reached where clio dies of an error before it could close the table in order.
            atexit.register(self.kill)
        job = Job(f"job{len(self._jobs) + 1}", command, cwd, process, ended, explain)
        self._jobs[job.name] = job
        return job

    def get(self, name: str) -> Job:
        """The job of that name. Raises ToolRetry with the names there are."""
        try:
            return self._jobs[name]
        except KeyError:
            known = ", ".join(self._jobs) or "none has been started"
            raise ToolRetry(f"there is no job {name!r}; the jobs are: {known}") from None

    def running(self) -> list[Job]:
        """The jobs that have not ended, oldest first."""
        return [job for job in self._jobs.values() if job.running]

    async def close(self) -> None:
        """End all jobs together and wait until they are gone; the /tmp of commands goes with them."""
        await asyncio.gather(*(job.stop() for job in self.running()))
        atexit.unregister(self.kill)
        if self.sandbox is not None:
            self.sandbox.close()

    def kill(self) -> None:
        """End all jobs without waiting, where no event loop runs any more."""
        for job in self._jobs.values():
            job.kill()
        if self.sandbox is not None:
            self.sandbox.watches.put_back()
