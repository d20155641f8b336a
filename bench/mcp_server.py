"""Measure `clio mcp`: from the start of the process to its first answer, and calls of its tools.

python bench/mcp_server.py
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RUNS, CALLS = 7, 200
INITIALIZE = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "0"}}


def children_cpu_s() -> float:
    """Return the CPU time of the child processes that have ended, in seconds."""
    times = os.times()
    return times.children_user + times.children_system


class Server:
    """A server in an empty project."""

    def __init__(self, folder: Path) -> None:
        (folder / "project").mkdir(exist_ok=True)
        env = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(ROOT)}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "clio", "mcp", "--cwd", str(folder / "project")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=env,
        )
        self.ask(0, "initialize", INITIALIZE)

    def ask(self, id: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin and self.process.stdout
        message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def call_ms(self, id: int, name: str, **arguments: Any) -> float:
        start = time.perf_counter()
        self.ask(id, "tools/call", {"name": name, "arguments": arguments})
        return (time.perf_counter() - start) * 1000

    def end(self) -> None:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def cpu_ms(*arguments: str) -> float:
    """Return the mean CPU time of running Python with these arguments, in milliseconds."""
    before = children_cpu_s()
    for _ in range(RUNS):
        subprocess.run([sys.executable, *arguments], check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
    return (children_cpu_s() - before) / RUNS * 1000


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        walls: list[float] = []
        before = children_cpu_s()
        for _ in range(RUNS):
            start = time.perf_counter()
            server = Server(folder)
            walls.append((time.perf_counter() - start) * 1000)
            server.end()
        cpu = (children_cpu_s() - before) / RUNS * 1000
        print(f"start to the answer to initialize: {statistics.median(walls):.0f} ms; {cpu:.0f} ms of CPU time")
        print(f"without the SDK, clio memory count: {cpu_ms('-m', 'clio', 'memory', 'count', '--cwd', name):.0f} ms")
        server = Server(folder)
        texts = [f"{'abcdefghij'[n // 20] * 3}{'abcdefghijklmnopqrst'[n % 20] * 3} digs" for n in range(CALLS)]
        remember_ms = [server.call_ms(n + 1, "remember", content=text, type="event") for n, text in enumerate(texts)]
        recall_ms = [server.call_ms(n + 1, "recall", query=text) for n, text in enumerate(texts)]
        remember, recall = statistics.median(remember_ms), statistics.median(recall_ms)
        print(f"remember: {remember:.1f} ms; recall: {recall:.1f} ms (medians)")
        server.end()


if __name__ == "__main__":
    main()
