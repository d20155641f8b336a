"""Commands behind the fence of the sandbox: started, run, and what cannot be sealed looked after."""

import asyncio
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from clio.sandbox.confinement import Confinement
from clio.sandbox.fence import Enclosed
from clio.sandbox.guard import Guard, put_back
from clio.sandbox.refusal import find_refusal
from clio.sandbox.sandbox import Sandbox
from clio.sandbox.smell import hint
from clio.tools.shell.processes import RunningProcess, run, shell_argv, start
from clio.tools.shell.unasked_environment import build_unasked_environment


async def start_held(
    command: str, root: Path, sandbox: Sandbox | None, env: Mapping[str, str] | None = None
) -> RunningProcess:
    """Start a line of shell in a workspace that goes on by itself. Raises ToolFailed. sandbox: None for no fence.

    Where one holds, what cannot be sealed is watched from here on: `sandbox.watches.end` is to be called at its end.
    """
    if sandbox is None or not sandbox.wanted:
        return await start(command, root, env)
    await asyncio.to_thread(sandbox.watch, root)  # first: it undoes what other jobs made, which a fence would keep
    try:
        enclosed = await asyncio.to_thread(sandbox.enclose, shell_argv(command), root, lingers=True)
        return await start(enclosed, root, env)
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
    env: Mapping[str, str] | None = None,
) -> tuple[RunningProcess, bool, str]:
    """Run a line of shell, or an argument list, in a workspace, to its end. env: defaults to clio's own.

    The second value is whether it was stopped after `timeout_s`, the third what is to be said of the sandbox, "" for
    nothing. Raises ToolFailed. sandbox: None for no fence.
    """
    if sandbox is None or not sandbox.wanted:
        return *await run(command, root, timeout_s=timeout_s, on_news=on_news, env=env), ""
    before = await put_back_by_jobs(sandbox)
    argv = shell_argv(command) if isinstance(command, str) else command
    enclosed, guard = await asyncio.to_thread(_prepare, sandbox, argv, root)
    try:
        process, late = await run(enclosed, root, timeout_s=timeout_s, on_news=on_news, env=env)
    finally:
        undone = put_back(guard, root)  # also where it was cancelled; a handful of small files
    notes = [before, undone]
    if process.exit_code != 0 and sandbox.known:
        notes.append(hint(process.output.text(), sandbox.known, network=sandbox.network))
    return process, late, "\n".join(filter(None, notes))


def _prepare(sandbox: Sandbox, argv: Sequence[str], root: Path) -> tuple[Enclosed, Guard]:
    return sandbox.enclose(argv, root), sandbox.guard(root)


async def run_unasked(
    command: str,
    root: Path,
    confinement: Confinement,
    sandbox: Sandbox | None,
    *,
    network: bool,
    timeout_s: float,
    on_news: Callable[[str], None] = lambda line: None,
) -> tuple[RunningProcess, bool, str, str]:
    """Run a line of shell that the policy lets run without a question, to its end, confined where that can be done.

    The first three values are those of `run_held`, the fourth is what the command needs and was refused, such as
    "needs the network"; "" for nothing. Raises ToolFailed. sandbox: holds it where nothing confines it.
    """
    for attempt in (1, 2):
        env, enclosed = await asyncio.to_thread(_confine, command, root, confinement, network=network)
        if enclosed is None:
            held = await run_held(command, root, sandbox, timeout_s=timeout_s, on_news=on_news, env=env)
            return *held, ""
        try:
            process, late = await run(enclosed, root, timeout_s=timeout_s, on_news=on_news, env=env)
        finally:
            remove_tmp(enclosed)
        if attempt == 2 or not _bwrap_failed(enclosed, process):
            break
        await asyncio.to_thread(confinement.try_again)
    return process, late, "", _find_refused(process, command, root, confinement, env, network=network)


def explain_job_failure(
    process: RunningProcess, command: str, root: Path, confinement: Confinement, *, network: bool
) -> str:
    """What a command that `start_unasked` started, and that has ended, was refused; "" for nothing. For a thread."""
    env = build_unasked_environment(os.environ, root, network=network, confined=confinement.wanted)
    return _find_refused(process, command, root, confinement, env, network=network)


def _find_refused(
    process: RunningProcess,
    command: str,
    root: Path,
    confinement: Confinement,
    env: Mapping[str, str],
    *,
    network: bool,
) -> str:
    """What a command was refused. Where several programs ran, the exit code is that of the last: `x | tail` gives 0."""
    output, level, speakers = process.output.text(), confinement.level(), None
    if process.exit_code == 0:
        from clio.security.readonly.programs import PROGRAMS
        from clio.security.shell.syntax import parse

        programs = {each.program for each in parse(command).commands}
        if len(programs) < 2:
            return ""
        # Tools such as git call themselves "fatal" or "error". Where only filters run, that is a text they print.
        speakers = programs if programs <= PROGRAMS.keys() else programs | {"fatal", "error"}
    withheld = [name for name in os.environ if name not in env]
    return find_refusal(output, level, root=root, network=network, withheld=withheld, speakers=speakers)


async def start_unasked(
    command: str, root: Path, confinement: Confinement, sandbox: Sandbox | None, *, network: bool
) -> tuple[RunningProcess, Callable[[], None]]:
    """Start such a line that goes on by itself. The second value is to be called at its end. Raises ToolFailed."""
    env, enclosed = await asyncio.to_thread(_confine, command, root, confinement, network=network, lingers=True)
    if enclosed is None:
        process = await start_held(command, root, sandbox, env)
        return process, partial(sandbox.watches.end, root) if sandbox is not None and sandbox.wanted else lambda: None
    try:
        return await start(enclosed, root, env), partial(remove_tmp, enclosed)
    except BaseException:
        remove_tmp(enclosed)
        raise


def remove_tmp(enclosed: Enclosed) -> None:
    """Remove the folder for temporary files that a confined command had for itself."""
    if enclosed.tmp is not None:
        shutil.rmtree(enclosed.tmp, ignore_errors=True)


def _confine(
    command: str, root: Path, confinement: Confinement, *, network: bool, lingers: bool = False
) -> tuple[dict[str, str], Enclosed | None]:
    env = build_unasked_environment(os.environ, root, network=network, confined=confinement.wanted)
    return env, confinement.enclose(shell_argv(command), root, env, network=network, lingers=lingers)


def _bwrap_failed(enclosed: Enclosed, process: RunningProcess) -> bool:
    """Whether bubblewrap itself could not set up the confinement: the command has not run then."""
    by_bwrap = Path(enclosed.argv[0]).name == "bwrap"
    return by_bwrap and process.exit_code == 1 and process.output.text().startswith("bwrap: ")
