"""Measure MCP servers: a run of clio with one, its start, and calls. CPU and wall-clock milliseconds, medians.

    python bench/mcp_client.py [--runs 7]

"known": its tools are in the cache of an earlier session, so that it is not started. Asserts nothing.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.measurements import run_process  # noqa: E402 the path must be set first
from clio.config.loaded import McpServer  # noqa: E402
from clio.mcp.client import load_sdk  # noqa: E402
from clio.mcp.servers import McpServers  # noqa: E402
from tests.support.chat_server import ChatServer, text  # noqa: E402

PEER = ("-S", "-m", "tests.support.mcp_peer")


def main() -> None:
    """Print a row for each measurement."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=7)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        measure_first_turns(Path(folder), runs)
        started, cpu = time.perf_counter(), time.process_time()
        load_sdk()
        print_row("import of the SDK, once", [(time.process_time() - cpu, time.perf_counter() - started)])
        asyncio.run(measure_calls(Path(folder) / "calls", runs))


def measure_first_turns(folder: Path, runs: int) -> None:
    """Measure `clio -p` with a model that answers at once."""
    project = folder / "project"
    project.mkdir()
    entry = {"command": sys.executable, "args": PEER, "env": {"PYTHONPATH": str(ROOT)}}
    for label, servers, keeps_cache in (
        ("clio -p, no server", {}, True),
        ("clio -p, one server, known", {"peer": entry}, True),
        ("clio -p, one server, unknown", {"peer": entry}, False),
    ):
        home = folder / label.replace(" ", "-")
        home.mkdir()
        (home / "mcp.yaml").write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
        with ChatServer(lambda body: text("Done.")) as server:
            env = {**os.environ, "CLIO_HOME": str(home), "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "x"}
            run_clio(project, env)
            samples: list[tuple[float, float]] = []
            for _ in range(runs):
                if not keeps_cache:
                    (project / ".clio" / "cache" / "mcp.json").unlink(missing_ok=True)
                samples.append(run_clio(project, env))
            print_row(label, samples)


def run_clio(project: Path, env: dict[str, str]) -> tuple[float, float]:
    """Run clio once, and return its CPU and wall-clock seconds with those of its children."""
    command = [sys.executable, "-m", "clio", "-p", "hello", "--model", "m", "--cwd", str(project)]
    cpu_ms, wall_ms = run_process(command, cwd=ROOT, env={**env, "PYTHONPATH": str(ROOT)})
    return cpu_ms / 1000, wall_ms / 1000


async def measure_calls(folder: Path, runs: int) -> None:
    """Measure a start of the server, and a hundred calls."""
    server = McpServer(
        name="peer", where="", own=True, command=sys.executable, args=PEER, env={"PYTHONPATH": str(ROOT)}
    )
    starts: list[tuple[float, float]] = []
    hundred = (0.0, 0.0)
    for _ in range(runs):
        servers = McpServers([server], [], project=ROOT, env=os.environ, folder=None)
        started, cpu = time.perf_counter(), time.process_time()
        await servers.settle()
        starts.append((time.process_time() - cpu, time.perf_counter() - started))
        started, cpu = time.perf_counter(), time.process_time()
        for number in range(100):
            await servers.call("peer", "add", {"a": number}, lambda line: None)
        hundred = (time.process_time() - cpu, time.perf_counter() - started)
        await servers.close()
    print_row("start and lists of one server", starts)
    print_row("100 calls of a tool", [hundred])


def print_row(label: str, samples: list[tuple[float, float]]) -> None:
    """Print one row of the table."""
    cpu, wall = (1000 * median(sample[place] for sample in samples) for place in (0, 1))
    print(f"{label:<36} {cpu:7.0f} ms CPU {wall:7.0f} ms")


if __name__ == "__main__":
    main()
