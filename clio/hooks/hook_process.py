"""Run one hook's command and interpret its exit code and output."""

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from clio.errors import ToolFailed
from clio.text.json_data import decode_json
from clio.text.translation import tr
from clio.threads import start_process
from clio.tools.shell.launcher import LaunchRequest, launch_command
from clio.tools.shell.processes import (
    CANCEL_GRACE_S,
    BoundedText,
    RunningProcess,
    make_command_environment,
    make_shell_argv,
    stop_started_process,
)

MAX_OUTPUT_CHARS = 100_000
_STOP_GRACE_S = 0.5


class HookResult(Struct, frozen=True, kw_only=True):
    """The result of a hook's command. exit_code: None if it was stopped after its time limit; negative for a signal."""

    exit_code: int | None
    output: str
    errors: str


class _HookProcess(RunningProcess):
    """A process whose standard output and standard error are collected separately."""

    def __init__(self) -> None:
        super().__init__()
        self.output = BoundedText(MAX_OUTPUT_CHARS)
        self.errors = BoundedText(MAX_OUTPUT_CHARS)
        self._open = {1, 2}

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Add output to the text of its stream; called by asyncio."""
        if fd == 2:
            self.errors.add(data.decode("utf-8", "replace"))
        else:
            super().pipe_data_received(fd, data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """Finish when both streams are closed; called by asyncio."""
        self._open.discard(fd)
        if not self._open:
            super().pipe_connection_lost(fd, exc)


async def run_hook(
    command: str, input_bytes: bytes, *, cwd: Path, env: Mapping[str, str], timeout_s: float
) -> HookResult:
    """Run one shell command line to its end, with `input_bytes` as standard input.

    Cancelling kills everything it started. Raises ToolFailed if it cannot be started.
    """
    process = await _start_process(command, input_bytes, cwd, env)
    try:
        async with asyncio.timeout(timeout_s):
            await process.wait()
    except TimeoutError:
        await process.stop(_STOP_GRACE_S)
        return HookResult(exit_code=None, output=process.output.text(), errors=process.errors.text())
    except asyncio.CancelledError:
        await process.stop(CANCEL_GRACE_S)
        raise
    return HookResult(exit_code=process.exit_code, output=process.output.text(), errors=process.errors.text())


async def _start_process(command: str, input_bytes: bytes, cwd: Path, env: Mapping[str, str]) -> _HookProcess:
    try:
        with tempfile.TemporaryFile() as file:  # a pipe would have to be written to while the command runs
            file.write(input_bytes)
            file.seek(0)
            if sys.platform == "win32":
                start = asyncio.get_running_loop().subprocess_exec(
                    _HookProcess,
                    *make_shell_argv(command),
                    stdin=file,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    cwd=str(cwd),
                    env=make_command_environment(env),
                    creationflags=subprocess.CREATE_NEW_PROCESS_GROUP,
                )
            else:
                request = LaunchRequest(argv=make_shell_argv(command), cwd=cwd, env=make_command_environment(env))
                start = launch_command(_HookProcess, request, stdin=file.fileno(), separate_stderr=True)
            _, process = await start_process(start, stop_started_process)
    except (OSError, ValueError) as error:
        reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
        raise ToolFailed(f"{command[:200]!r} could not be started in {str(cwd)!r}: {reason}") from error
    return process


BLOCK_EXIT_CODE = 2
"""Exit code with which a hook refuses; any other except 0 is an error of the hook, and the work continues."""


class _HookOutput(Struct, frozen=True, kw_only=True):
    """The JSON a hook may print. Other keys are ignored: they are for other programs."""

    decision: Literal["block", "approve", "allow", ""] = ""
    reason: str = ""
    context: str = ""


class HookAnswer(Struct, frozen=True, kw_only=True):
    """What a hook decided.

    Attributes:
        refusal: the reason for refusing, or "".
        context: text for the model.
        problem: what was wrong with the hook.
    """

    refusal: str = ""
    context: str = ""
    problem: str = ""


def read_answer(result: HookResult, timeout_s: float) -> HookAnswer:
    """Interpret the result of a hook. "approve" approves nothing, because a hook can only restrict."""
    if result.exit_code is None:
        return HookAnswer(problem=tr("was stopped after {timeout_s:g} s", timeout_s=timeout_s))
    if result.exit_code == BLOCK_EXIT_CODE:
        return HookAnswer(refusal=(result.errors or result.output).strip() or "no reason given")
    if result.exit_code != 0:
        last_line = result.errors.strip().rpartition("\n")[2]
        return HookAnswer(
            problem=tr("failed with exit code {exit_code}", exit_code=result.exit_code)
            + (f": {last_line}" if last_line else "")
        )
    text = result.output.strip()
    # Other output is text for the model, so that a one-line shell hook can add context.
    if not text.startswith("{"):
        return HookAnswer(context=text)
    try:
        decision = decode_json(text, type=_HookOutput)
    except (msgspec.DecodeError, RecursionError) as error:
        return HookAnswer(problem=tr("printed invalid JSON: {error}", error=error))
    if decision.decision == "block":
        return HookAnswer(refusal=decision.reason.strip() or "no reason given", context=decision.context.strip())
    return HookAnswer(context=decision.context.strip())
