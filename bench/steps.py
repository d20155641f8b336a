"""Measure the time that clio adds to a step, in a short and in a long session.

    python bench/steps.py [--messages 10 2000] [--steps 60]

Each step is a request over HTTP to a server that answers at once, a read_file call, and its result on disk. The floor,
measured in the same run, is the same requests with the openai package alone. Also prints the memory of a process that
has resumed the session.
"""

import argparse
import asyncio
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.measurements import percentile_95
from clio.agent.user_interface import ComposedInterface, Event, StepFinished, StepStarted
from clio.app import App, build_app
from clio.config.layers import load_config
from clio.config.options import Options
from clio.entrypoints.oneshot import DecliningAsker, DenyingApprover
from clio.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from clio.sessions.store import SessionStore
from tests.support.chat_server import ChatServer, text, tool_calls

WINDOW = "2000000"


def make_session(project: Path, messages: int) -> str:
    """Store a session of `messages` messages, and return its id."""
    rng = random.Random(messages)
    store = SessionStore(project / ".clio" / "sessions")
    session = store.new(project)
    while len(session.messages) < messages:
        number = len(session.messages)
        words = " ".join(rng.choices(["read", "the", "parser", "fix", "test", "module", "value"], k=30))
        session.append(UserMessage(content=words, created=float(number)))
        call = ToolCall(id=f"c{number}", name="read_file", arguments='{"path": "a.py"}')
        session.append(AssistantMessage(content=words, tool_calls=(call,), created=float(number)))
        session.append(
            ToolMessage(tool_call_id=call.id, name="read_file", content="x = 1\n" * 60, created=float(number))
        )
        session.append(AssistantMessage(content=words * 3, created=float(number)))
    session.close()
    return session.id


async def measure_clio(project: Path, server: ChatServer, session_id: str, steps: int) -> list[float]:
    """Return the seconds of each step, from the start of its request to its end on disk."""
    step_times: list[float] = []

    def emit(event: Event) -> None:
        if isinstance(event, StepStarted | StepFinished):
            step_times.append(time.perf_counter())

    app = make_app(project, server, emit)
    app.open_session(session_id)
    server.add(*(tool_calls([("read_file", {"path": "a.py"})], split="whole") for _ in range(steps)), text("done"))
    finished = await app.run_turn("go")
    assert finished.status == "done", finished.error
    await app.close()
    return [end - start for start, end in zip(step_times[::2], step_times[1::2], strict=True)][2:]


def make_app(project: Path, server: ChatServer, emit: object) -> App:
    """Make an app that uses the server and never asks the user."""
    env = {"CLIO_HOME": str(project / "home"), "OPENAI_API_KEY": "bench"}
    overrides: dict[str, str | bool] = {"base_url": server.url, "model": "test-model", "context_window": WINDOW}
    overrides["max_steps"] = "1000"
    loaded = load_config(Options(cwd=project, overrides=overrides), env)
    return build_app(loaded, ComposedInterface(DenyingApprover(), DecliningAsker(), emit), env=env)


async def measure_openai_package(server: ChatServer, bodies: Sequence[dict[str, object]]) -> list[float]:
    """Return the seconds of the same requests with the openai package alone."""
    from openai import AsyncOpenAI

    client = AsyncOpenAI(base_url=server.url, api_key="bench", max_retries=0)
    times: list[float] = []
    for body in bodies:
        server.add(tool_calls([("read_file", {"path": "a.py"})], split="whole"))
        start = time.perf_counter()
        async for _ in await client.chat.completions.create(**body):  # type: ignore[call-overload]
            pass
        times.append(time.perf_counter() - start)
    await client.close()
    return times[2:]


def measure_resumed_memory_mb(project: Path, session_id: str) -> float:
    """Return the resident memory of a process that has imported the app and opened the session."""
    code = (
        "import os, sys; from pathlib import Path; sys.path.insert(0, sys.argv[1])\n"
        "import clio.app, clio.entrypoints.repl.repl, openai\n"
        "from clio.sessions.store import SessionStore\n"
        "s = SessionStore(Path(sys.argv[2]) / '.clio' / 'sessions').open(sys.argv[3])\n"
        "pages = int(open('/proc/self/statm', encoding='utf-8').read().split()[1])\n"
        "print(pages * os.sysconf('SC_PAGESIZE') / 2**20)\n"
        "s.close()"
    )
    root = str(Path(__file__).parent.parent)
    out = subprocess.run([sys.executable, "-c", code, root, str(project), session_id], capture_output=True, text=True)
    return float(out.stdout) if out.returncode == 0 else float("nan")


def main() -> None:
    """Print one row for each length of the session."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, nargs="+", default=[10, 2000])
    parser.add_argument("--steps", type=int, default=60)
    options = parser.parse_args()
    os.environ.pop("OPENAI_BASE_URL", None)
    print(f"{'messages':>8} {'step ms':>8} {'p95':>7} {'floor ms':>9} {'p95':>7} {'added ms':>9} {'RSS MB':>7}")
    for count in options.messages:
        with tempfile.TemporaryDirectory() as folder, ChatServer([]) as server:
            project = Path(folder)
            (project / "a.py").write_text("x = 1\n" * 60, encoding="utf-8")
            session_id = make_session(project, count)
            rss = measure_resumed_memory_mb(project, session_id)
            clio_s = asyncio.run(measure_clio(project, server, session_id, options.steps))
            bodies = [request.body for request in server.requests][: options.steps]
            floor_s = asyncio.run(measure_openai_package(server, bodies))
            ms = [
                value * 1e3 for times in (clio_s, floor_s) for value in (statistics.median(times), percentile_95(times))
            ]
            print(f"{count:8} {ms[0]:8.1f} {ms[1]:7.1f} {ms[2]:9.1f} {ms[3]:7.1f} {ms[0] - ms[2]:9.1f} {rss:7.1f}")


if __name__ == "__main__":
    main()
