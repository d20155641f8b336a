"""Commands behind the fence of the sandbox: started, run, and what cannot be sealed looked after."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from clio.sandbox.fence import Enclosed
from clio.sandbox.guard import Guard, put_back
from clio.sandbox.sandbox import Sandbox
from clio.sandbox.smell import hint
from clio.tools.shell.processes import RunningProcess, run, shell_argv, start


async def start_held(command: str, root: Path, sandbox: Sandbox | None) -> RunningProcess:
    """Start a line of shell in a workspace that goes on by itself. Raises ToolFailed. sandbox: None for no fence.

    Where one holds, what cannot be sealed is watched from here on: `sandbox.watches.end` is to be called at its end.
    """
    if sandbox is None or not sandbox.wanted:
        return await start(command, root)
    await asyncio.to_thread(sandbox.watch, root)  # first: it undoes what other jobs made, which a fence would keep
    try:
        enclosed = await asyncio.to_thread(sandbox.enclose, shell_argv(command), root, lingers=True)
        return await start(enclosed.argv, root, keeper=enclosed.keeper)
    except BaseException:
        sandbox.watches.end(root)
        raise


async def put_back_by_jobs(sandbox: Sandbox | None) -> str:
    """Undo what commands that still run have made of what they may not change; what to say of it, "" for nothing."""
    if sandbox is None or not sandbox.wanted:
        return ""
    return "\n".join(await asyncio.to_thread(sandbox.watches.put_back))


async def run_held(
    command: str | Sequence[str],
    root: Path,
    sandbox: Sandbox | None,
    *,
    timeout_s: float,
    on_news: Callable[[str], None] = lambda line: None,
) -> tuple[RunningProcess, bool, str]:
    """Run a line of shell, or an argument list, in a workspace, to its end.

    The second value is whether it was stopped after `timeout_s`, the third what is to be said of the sandbox, "" for
    nothing. Raises ToolFailed. sandbox: None for no fence.
    """
    if sandbox is None or not sandbox.wanted:
        return *await run(command, root, timeout_s=timeout_s, on_news=on_news), ""
    before = await put_back_by_jobs(sandbox)
    argv = shell_argv(command) if isinstance(command, str) else command
    enclosed, guard = await asyncio.to_thread(_prepare, sandbox, argv, root)
    try:
        process, late = await run(enclosed.argv, root, timeout_s=timeout_s, on_news=on_news, keeper=enclosed.keeper)
    finally:
        undone = put_back(guard, root)  # also where it was cancelled; a handful of small files
    notes = [before, undone]
    if process.exit_code != 0 and sandbox.known:
        notes.append(hint(process.output.text(), sandbox.known, network=sandbox.network))
    return process, late, "\n".join(filter(None, notes))


def _prepare(sandbox: Sandbox, argv: Sequence[str], root: Path) -> tuple[Enclosed, Guard]:
    return sandbox.enclose(argv, root), sandbox.guard(root)
