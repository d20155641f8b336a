"""What MCP servers cost: the start of clio, the first turn, a call. CPU and wall milliseconds, medians.

    python bench/mcp_client.py [--runs 7]

"known": its tools were kept by an earlier session, so it is not started. Nothing is asserted here.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from clio.config.loaded import McpServer  # noqa: E402 the path must be set first
from clio.mcp.client import load_sdk  # noqa: E402
from clio.mcp.servers import McpServers  # noqa: E402
from tests.support.chat_server import ChatServer, text  # noqa: E402

PEER = ("-S", "-m", "tests.support.mcp_peer")


def main() -> None:
    """Print a row for each thing that is measured."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=7)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        first_turns(Path(folder), runs)
        begun, cpu = time.perf_counter(), time.process_time()
        load_sdk()
        row("import of the SDK, once", [(time.process_time() - cpu, time.perf_counter() - begun)])
        asyncio.run(calls(Path(folder) / "calls", runs))


def first_turns(folder: Path, runs: int) -> None:
    """`clio -p` from start to end, with an answer that comes at once."""
    project = folder / "project"
    project.mkdir()
    entry = {"command": sys.executable, "args": PEER, "env": {"PYTHONPATH": str(ROOT)}}
    for label, servers, keeps in (
        ("clio -p, no server", {}, True),
        ("clio -p, one server, known", {"peer": entry}, True),
        ("clio -p, one server, never asked", {"peer": entry}, False),
    ):
        home = folder / label.replace(" ", "-")
        home.mkdir()
        (home / "mcp.yaml").write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
        with ChatServer(lambda body: text("Done.")) as server:
            env = {**os.environ, "CLIO_HOME": str(home), "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "x"}
            once(project, env)
            samples: list[tuple[float, float]] = []
            for _ in range(runs):
                if not keeps:
                    (project / ".clio" / "cache" / "mcp.json").unlink(missing_ok=True)
                samples.append(once(project, env))
            row(label, samples)


def once(project: Path, env: dict[str, str]) -> tuple[float, float]:
    """CPU and wall seconds of one run, children counted."""
    before, begun = os.times(), time.perf_counter()
    command = [sys.executable, "-m", "clio", "-p", "hello", "--model", "m", "--cwd", str(project)]
    subprocess.run(command, env={**env, "PYTHONPATH": str(ROOT)}, check=True, capture_output=True)
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return cpu, time.perf_counter() - begun


async def calls(folder: Path, runs: int) -> None:
    """A start, and a hundred calls."""
    server = McpServer(
        name="peer", where="", own=True, command=sys.executable, args=PEER, env={"PYTHONPATH": str(ROOT)}
    )
    starts: list[tuple[float, float]] = []
    hundred = (0.0, 0.0)
    for _ in range(runs):
        servers = McpServers([server], [], project=ROOT, env=os.environ, folder=None)
        begun, cpu = time.perf_counter(), time.process_time()
        await servers.settle()
        starts.append((time.process_time() - cpu, time.perf_counter() - begun))
        begun, cpu = time.perf_counter(), time.process_time()
        for number in range(100):
            await servers.call("peer", "add", {"a": number}, lambda line: None)
        hundred = (time.process_time() - cpu, time.perf_counter() - begun)
        await servers.close()
    row("start and lists of one server", starts)
    row("100 calls of a tool", [hundred])


def row(label: str, samples: list[tuple[float, float]]) -> None:
    """One line of the table."""
    cpu, wall = (1000 * median(sample[place] for sample in samples) for place in (0, 1))
    print(f"{label:<36} {cpu:7.0f} ms CPU {wall:7.0f} ms")


if __name__ == "__main__":
    main()
