"""Run clio on a task: start it for each session, send the messages, answer its questions, and measure it."""

import asyncio
import json
import os
import signal
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.agent_tasks.rereads import count_forced_rereads
from bench.agent_tasks.task import Task, make_git_environment

MAX_LINE_BYTES = 32_000_000
GRACE_S = 10.0
"""Seconds in which clio may end after its time limit, before it is killed."""
NEUTRAL_ANSWER = "Decide this yourself; nobody can answer."


@dataclass
class Figures:
    """The figures of all sessions of one task.

    status: of the last turn, or "timeout" or "crashed". cost_usd: of the requests with a known price.
    unpriced_tokens: tokens of the others. failed_calls: tool calls that ended with an error.
    """

    status: str = "crashed"
    error: str = ""
    answer: str = ""
    clio: str = ""
    steps: int = 0
    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_out: int = 0
    cost_usd: float = 0.0
    unpriced_tokens: int = 0
    seconds: float = 0.0
    calls: int = 0
    failed_calls: int = 0
    trims: int = 0
    forced_rereads: int = 0
    questions: int = 0
    approvals: int = 0


@dataclass(frozen=True)
class Launch:
    """The command of clio with all flags, and its environment."""

    command: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict[str, str])


async def run_sessions(task: Task, launch: Launch, project: Path, log: Path) -> Figures:
    """Run all sessions of a task in a project. log: file for all events and clio's standard error."""
    figures = Figures()
    started = time.monotonic()
    deadline = started + task.max_seconds
    for prompts in task.sessions:
        figures.status = "crashed"
        events = await _run_session(task, launch, project, prompts, deadline, figures, log)
        figures.forced_rereads += count_forced_rereads(events, _read_trims(project, events))
        if figures.status != "done":
            break
    figures.seconds = round(time.monotonic() - started, 2)
    return figures


async def _run_session(
    task: Task,
    launch: Launch,
    project: Path,
    prompts: tuple[str, ...],
    deadline: float,
    figures: Figures,
    log: Path,
) -> list[dict[str, Any]]:
    command = [*launch.command, "--input", "stream-json", "--output", "stream-json", "--approve", task.approve]
    command += ["--max-steps", str(task.max_steps)]
    command += ["--context-window", str(task.context_window)] if task.context_window else []
    events: list[dict[str, Any]] = []
    with log.open("ab") as log_file:
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=project,
            env=launch.environment,
            stdin=PIPE,
            stdout=PIPE,
            stderr=log_file,
            limit=MAX_LINE_BYTES,
            start_new_session=True,
        )
        try:
            async with asyncio.timeout_at(asyncio.get_running_loop().time() + deadline - time.monotonic()):
                async for event in _converse(process, prompts, task, figures):
                    events.append(event)
                    log_file.write(json.dumps(event).encode() + b"\n")
        except TimeoutError:
            figures.status, figures.error = "timeout", f"longer than {task.max_seconds} s"
        finally:
            await _end_process(process)
    if not any(event.get("type") == "result" for event in events):  # killed: only the steps have the usage
        for event in events:
            if event.get("type") == "step_finished":
                _add_usage(event["usage"], figures)
    return events


async def _converse(
    process: Process, prompts: tuple[str, ...], task: Task, figures: Figures
) -> AsyncIterator[dict[str, Any]]:
    """Send the messages one after the other and answer questions; yield the events and update `figures`."""
    assert process.stdin is not None and process.stdout is not None
    waiting = list(prompts)
    _send_line(process, {"type": "user", "text": waiting.pop(0)})
    while line := await process.stdout.readline():
        event: dict[str, Any] = json.loads(line)
        match event.get("type"):
            case "session":
                figures.clio = event.get("clio", "")
            case "step_started":
                figures.steps += 1
            case "context_trimmed":
                figures.trims += 1
            case "tool_finished":
                figures.calls += 1
                figures.failed_calls += not event["ok"]
            case "approval_requested":
                figures.approvals += 1
                _send_line(process, {"type": "answer", "id": event["id"], "answer": "yes"})
            case "question_asked":
                figures.questions += 1
                _send_line(
                    process, {"type": "answer", "id": event["id"], "answer": _choose_answer(task, event["question"])}
                )
            case "turn_finished" if waiting:
                _send_line(process, {"type": "user", "text": waiting.pop(0)})
            case "turn_finished":
                process.stdin.close()
            case "result":
                _add_result(event, figures)
            case _:
                pass
        yield event


def _send_line(process: Process, line: dict[str, str]) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps(line).encode() + b"\n")


def _choose_answer(task: Task, question: str) -> str:
    return next((answer for key, answer in task.answers.items() if key.lower() in question.lower()), NEUTRAL_ANSWER)


def _add_result(event: dict[str, Any], figures: Figures) -> None:
    figures.status, figures.error, figures.answer = event["status"], event["error"], event["text"]
    _add_usage(event["usage"], figures)
    cost: dict[str, int] = event["cost"] or {}
    figures.cost_usd += cost.get("micro_dollars", 0) / 1e6
    figures.unpriced_tokens += cost.get("unpriced_tokens", 0)


def _add_usage(usage: dict[str, int] | None, figures: Figures) -> None:
    counts = usage or {}
    figures.tokens_in += counts.get("prompt_tokens", 0)
    figures.tokens_cached += counts.get("cached_tokens", 0)
    figures.tokens_out += counts.get("completion_tokens", 0)


async def _end_process(process: Process) -> None:
    """Wait for the end of the process; terminate, then kill it and its children if it does not end."""
    assert process.stdin is not None
    process.stdin.close()
    for number in (None, signal.SIGTERM, signal.SIGKILL):
        if process.returncode is None and number is not None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, number)
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), GRACE_S if number is not None else 2.0)
            return


def _read_trims(project: Path, events: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Return the ids of the messages that each trim dropped or shortened, by the handle of the trim."""
    session_id = next((event["session_id"] for event in events if event.get("type") == "session"), "")
    try:
        stored = json.loads((project / ".clio" / "sessions" / f"{session_id}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {trim["handle"]: [*trim.get("dropped", ()), *trim.get("shrunk", ())] for trim in stored.get("trims", ())}


def make_environment(home: Path, **more: str) -> dict[str, str]:
    """Return the environment of a clio without the user's settings and memory, but with the user's API keys."""
    inherited = {name: value for name, value in make_git_environment().items() if not name.startswith("CLIO_")}
    path = os.pathsep.join([str(Path(sys.executable).parent), inherited.get("PATH", os.defpath)])
    return inherited | {"CLIO_HOME": str(home), "PATH": path, "PYTHONDONTWRITEBYTECODE": "1"} | more
