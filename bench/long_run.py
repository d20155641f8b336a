"""Measure a turn of many tool calls in a small window, with a scripted server in another process.

    python bench/long_run.py [--calls 500] [--window 32768]

The server counts four characters per token, and refuses requests that are larger than the window.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import msgspec

from bench.measurements import read_memory_mb
from clio.agent.user_interface import ComposedInterface, Event, StepFinished
from clio.app import build_app
from clio.config.layers import load_config
from clio.config.options import Options
from clio.entrypoints.oneshot import DecliningAsker, DenyingApprover
from tests.support.chat_server import ChatServer, Reply, error, text, tool_calls


def serve(calls: int, window: int) -> None:
    """Answer requests until stdin is closed; then print how many were received and how many refused."""
    requests = refused = 0

    def answer(body: dict[str, Any]) -> Reply:
        nonlocal requests, refused
        requests += 1
        if len(json.dumps(body, ensure_ascii=False)) / 4 > window:
            refused += 1
            message = f"This model's maximum context length is {window} tokens."
            return error(400, {"error": {"message": message, "code": "context_length_exceeded"}})
        if requests - refused > calls:
            return text("All done.")
        if requests % 5 == 0:
            arguments = {"path": f"out/{requests}.txt", "content": "a line\n" * 20}
            return tool_calls([("write_file", arguments)], split="whole")
        return tool_calls([("read_file", {"path": f"file_{requests % 40}.py"})], split="whole")

    with ChatServer(answer, record=False) as server:
        print(server.url, flush=True)
        sys.stdin.read()
    print(requests, refused)


async def run_turn(calls: int, window: int) -> None:
    """Run one turn of `calls` calls, and print the figures of the session, the disk and the memory."""
    print(f"\n### {calls} tool calls in one turn through a window of {window:,} tokens\n\n| | |\n|---|--:|")
    rss: dict[int, float] = {}
    steps = 0

    def emit(event: Event) -> None:
        nonlocal steps
        if isinstance(event, StepFinished):
            steps += 1
            if steps in (calls // 5, calls):
                rss[steps] = read_memory_mb()

    command = [sys.executable, __file__, "--serve", "--calls", str(calls), "--window", str(window)]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8") as server,
    ):
        assert server.stdout is not None
        project = make_project(Path(folder))
        url = server.stdout.readline().strip()
        env = {"CLIO_HOME": str(project / "home"), "OPENAI_API_KEY": "bench"}
        overrides = {"base_url": url, "model": "test-model", "max_steps": str(calls + 10), "approve": "all"}
        loaded = load_config(Options(cwd=project, overrides={**overrides, "context_window": str(window)}), env)
        app = build_app(loaded, ComposedInterface(DenyingApprover(), DecliningAsker(), emit), env=env)
        started = time.perf_counter()
        finished = await app.run_turn("Read the files and write what is asked.")
        seconds = time.perf_counter() - started
        session = app.session
        messages = sum(len(msgspec.json.encode(message)) + 1 for message in session.messages)
        journal = measure_session_files(project)
        await app.close()
        snapshot = measure_session_files(project)
        counts, _ = server.communicate()
    requests, refused = counts.split()
    table = {
        "the turn": finished.status + (f": {finished.error}" if finished.error else ""),
        "requests": requests,
        "requests the server refused": refused,
        "messages": f"{len(session.messages):,}",
        "bytes of the messages": f"{messages:,}",
        "trims": f"{len(session.trims)}",
        "session files ÷ bytes of the messages, while it runs": f"{journal / messages:.3f}",
        "session files ÷ bytes of the messages, closed": f"{snapshot / messages:.3f}",
        "milliseconds a step, server and tools included": f"{1_000 * seconds / max(int(requests), 1):.1f}",
    }
    table |= {f"resident memory after {step} calls, MiB": f"{mib:.1f}" for step, mib in rss.items()}
    for name, value in table.items():
        print(f"| {name} | {value} |")


def make_project(folder: Path) -> Path:
    """Create 40 files of about 2,000 tokens."""
    for number in range(40):
        lines = (f"value_{line} = {number} * {line}  # a line of the file\n" for line in range(150))
        (folder / f"file_{number}.py").write_text("".join(lines), encoding="utf-8")
    return folder


def measure_session_files(project: Path) -> int:
    """Return the size of the session's files without blobs."""
    folder = project / ".clio" / "sessions"
    return sum(path.stat().st_size for path in folder.glob("*.json*"))


def main() -> None:
    """Run the turn, or the server for it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=500)
    parser.add_argument("--window", type=int, default=32_768)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.calls, options.window)
    else:
        asyncio.run(run_turn(options.calls, options.window))


if __name__ == "__main__":
    main()
