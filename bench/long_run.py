"""Many tool calls in one turn through a small window, against the scripted server in another process.

    python bench/long_run.py [--calls 500] [--window 32768]

The server refuses a request that is larger than the window, as it counts it, at four characters a token.
"""

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import msgspec

from clio.agent.user_interface import ComposedInterface, Event, StepFinished
from clio.app import build_app
from clio.config.layers import load_config
from clio.config.options import Options
from clio.entrypoints.oneshot import DecliningAsker, DenyingApprover
from tests.support.chat_server import ChatServer, Reply, error, text, tool_calls


def serve(calls: int, window: int) -> None:
    """Answer until stdin closes; then say how many requests came and how many were refused."""
    asked = refused = 0

    def answer(body: dict[str, Any]) -> Reply:
        nonlocal asked, refused
        asked += 1
        if len(json.dumps(body, ensure_ascii=False)) / 4 > window:
            refused += 1
            said = f"This model's maximum context length is {window} tokens."
            return error(400, {"error": {"message": said, "code": "context_length_exceeded"}})
        if asked - refused > calls:
            return text("All done.")
        if asked % 5 == 0:
            written = {"path": f"out/{asked}.txt", "content": "a line\n" * 20}
            return tool_calls([("write_file", written)], split="whole")
        return tool_calls([("read_file", {"path": f"file_{asked % 40}.py"})], split="whole")

    with ChatServer(answer, record=False) as server:
        print(server.url, flush=True)
        sys.stdin.read()
    print(asked, refused)


async def run(calls: int, window: int) -> None:
    """Print what one turn of so many calls did to the session, the disk and the memory."""
    print(f"\n### {calls} tool calls in one turn through a window of {window:,} tokens\n\n| | |\n|---|--:|")
    rss: dict[int, int] = {}
    steps = 0

    def emit(event: Event) -> None:
        nonlocal steps
        if isinstance(event, StepFinished):
            steps += 1
            if steps in (calls // 5, calls):
                rss[steps] = resident()

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
        began = time.perf_counter()
        finished = await app.run_turn("Read the files and write what is asked.")
        seconds = time.perf_counter() - began
        session = app.session
        messages = sum(len(msgspec.json.encode(message)) + 1 for message in session.messages)
        journal = session_bytes(project)
        await app.close()
        snapshot = session_bytes(project)
        counts, _ = server.communicate()
    asked, refused = counts.split()
    table = {
        "the turn": finished.status + (f": {finished.error}" if finished.error else ""),
        "requests": asked,
        "requests the server refused": refused,
        "messages": f"{len(session.messages):,}",
        "bytes of the messages": f"{messages:,}",
        "trims": f"{len(session.trims)}",
        "session files ÷ bytes of the messages, while it runs": f"{journal / messages:.3f}",
        "session files ÷ bytes of the messages, closed": f"{snapshot / messages:.3f}",
        "milliseconds a step, server and tools included": f"{1_000 * seconds / max(int(asked), 1):.1f}",
    }
    table |= {f"resident memory after {step} calls, MiB": f"{size / 2**20:.1f}" for step, size in rss.items()}
    for name, value in table.items():
        print(f"| {name} | {value} |")


def make_project(folder: Path) -> Path:
    """A folder with forty files of about two thousand tokens."""
    for number in range(40):
        lines = (f"value_{line} = {number} * {line}  # a line of the file\n" for line in range(150))
        (folder / f"file_{number}.py").write_text("".join(lines), encoding="utf-8")
    return folder


def session_bytes(project: Path) -> int:
    """What the session's files take, blobs apart."""
    folder = project / ".clio" / "sessions"
    return sum(path.stat().st_size for path in folder.glob("*.json*"))


def resident() -> int:
    """Bytes of memory this process holds now; where that cannot be read, the most it ever held."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    """Run, or serve for a run."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=500)
    parser.add_argument("--window", type=int, default=32_768)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.calls, options.window)
    else:
        asyncio.run(run(options.calls, options.window))


if __name__ == "__main__":
    main()
