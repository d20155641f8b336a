"""What the window costs and what it keeps: building and trimming, fidelity, the prompt cache, 500 calls in 32K.

    python bench/context.py [FOLDER] [--part cost fidelity cache run]

FOLDER holds transcripts (SWE-agent `.traj.json`, SpecStory Markdown), at any depth; without it only generated sessions
are looked at. The tables are Markdown; `docs/fidelity.md` holds one such run.
"""

import argparse
import asyncio
import itertools
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import msgspec

from bench.fidelity import fidelity
from bench.histories import generated, next_step, stored, window_of
from clio.agent.events import Event, StepFinished
from clio.app import build_app
from clio.config.layers import load
from clio.config.options import Options
from clio.context.budget import PROACTIVE
from clio.messages import UserMessage
from clio.providers.encode import Encoder
from clio.providers.profiles import Quirks
from tests.support.chat_server import ChatServer, Reply, error, text, tool_calls

PARTS = ("cost", "fidelity", "cache", "run")


# Cost


def cost() -> None:
    """Print what building and trimming cost in long sessions."""
    print("\n### Cost of a request, milliseconds\n\n| | median | worst |\n|---|--:|--:|")
    messages = generated(1, 800)[0][:5_000]
    with tempfile.TemporaryDirectory() as folder:
        session = stored(messages, Path(folder))
        roomy = window_of(session, 10_000_000)
        whole = roomy.build().prompt_tokens
        row(f"build, {len(messages):,} messages, nothing trimmed", [timed(roomy.build) for _ in range(15)])
    trims: list[float] = []
    for _ in range(7):
        with tempfile.TemporaryDirectory() as folder:
            session = stored(messages[:-100], Path(folder))
            window = window_of(session, int(whole * 0.99 / PROACTIVE) + 16_384)
            window.build()
            while not session.trims and len(session.messages) < len(messages):
                session.append(messages[len(session.messages)])
                took = timed(window.build)
            trims += [took] if session.trims else []
    row("build with the first trim of that session", trims)
    with tempfile.TemporaryDirectory() as folder:
        session = stored(messages[:20], Path(folder))
        window = window_of(session, 32_768)
        marks: list[tuple[int, float, bool]] = []
        for at in range(20, len(messages), 2):
            for message in messages[at : at + 2]:
                session.append(message)
            before = len(session.trims)
            marks.append((before, timed(window.build), len(session.trims) > before))
        last = len(session.trims)
        for name, low, high in (("first", 0, last // 4), ("last", last - last // 4, last)):
            some = [mark for mark in marks if low <= mark[0] <= high]
            where = f"32K window, {name} quarter of {last} trims"
            row(f"{where}, build", [took for _, took, trimmed in some if not trimmed])
            row(f"{where}, build with a trim", [took for _, took, trimmed in some if trimmed])
        row("the first build after resuming that session", [timed(window_of(session, 32_768).build) for _ in range(5)])


def timed(do: Callable[[], object]) -> float:
    """Milliseconds of one call."""
    began = time.perf_counter()
    do()
    return (time.perf_counter() - began) * 1_000


def row(name: str, times: Sequence[float]) -> None:
    """Print one line of a table."""
    if times:
        print(f"| {name} | {statistics.median(times):.2f} | {max(times):.2f} |")


# Prompt cache


def common(one: bytes, two: bytes) -> int:
    """Length of the beginning that two requests share."""
    return next((at for at, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))


def cache() -> None:
    """Print how much of each request a server's prompt cache could have kept from the one before."""
    print("\n### Bytes of a request that are an unchanged beginning of the one before, 200 steps\n")
    print("| window | median | mean | requests after a trim |\n|---|--:|--:|--:|")
    for tokens in (16_384, 32_768, 128_000):
        messages, _ = generated(7, 60)
        start = next(at for at in range(60, len(messages)) if isinstance(messages[at], UserMessage))
        with tempfile.TemporaryDirectory() as folder:
            session = stored(messages[:start], Path(folder))
            window = window_of(session, tokens, system="The system prompt. " * 400)
            encoder, quirks = Encoder("model"), Quirks()
            bodies = [encoder.request(window.build().request, quirks)]
            rest = iter(messages[start:] + messages[:start])
            while len(bodies) < 201:
                for message in next_step(rest):
                    session.append(message)
                bodies.append(encoder.request(window.build().request, quirks))
            shares = [common(one, two) / len(two) for one, two in itertools.pairwise(bodies)]
            trims = len(session.trims)
        print(f"| {tokens:,} | {statistics.median(shares):.1%} | {statistics.mean(shares):.1%} | {trims} of 200 |")


# 500 calls


def run_apart() -> None:
    """The run in a process of its own, so that its memory is its own."""
    subprocess.run([sys.executable, __file__, "--part", "run", "--inner"], check=True)


async def run(calls: int = 500, window: int = 32_768) -> None:
    """One turn of many calls against a server that refuses what is larger than the window, and bills as it counts."""
    print(f"\n### {calls} tool calls in one turn through a window of {window:,} tokens\n\n| | |\n|---|--:|")
    asked, refused = [0], [0]
    rss: dict[int, int] = {}

    def answer(body: dict[str, Any]) -> Reply:
        asked[0] += 1
        if len(json.dumps(body, ensure_ascii=False)) / 4 > window:
            refused[0] += 1
            said = f"This model's maximum context length is {window} tokens."
            return error(400, {"error": {"message": said, "code": "context_length_exceeded"}})
        if asked[0] > calls:
            return text("All done.")
        number = asked[0] % 40
        if asked[0] % 5 == 0:
            return tool_calls(
                [("write_file", {"path": f"out/{asked[0]}.txt", "content": "a line\n" * 20})], split="whole"
            )
        return tool_calls([("read_file", {"path": f"file_{number}.py"})], split="whole")

    steps = 0

    def emit(event: Event) -> None:
        nonlocal steps
        if isinstance(event, StepFinished):
            steps += 1
            if steps in (100, calls):
                rss[steps] = resident()

    with tempfile.TemporaryDirectory() as folder, ChatServer(answer, record=False) as server:
        project = Path(folder)
        for number in range(40):
            lines = (f"value_{line} = {number} * {line}  # a line of the file\n" for line in range(150))
            (project / f"file_{number}.py").write_text("".join(lines), encoding="utf-8")
        env = {"CLIO_HOME": str(project / "home"), "OPENAI_API_KEY": "bench"}
        overrides: dict[str, str | bool] = {"base_url": server.url, "model": "test-model", "max_steps": str(calls + 10)}
        overrides |= {"context_window": str(window), "approve": "all"}
        loaded = load(Options(cwd=project, overrides=overrides), env)
        app = build_app(loaded, approver=None, asker=None, emit=emit, env=env)  # type: ignore[arg-type]
        began = time.perf_counter()
        finished = await app.run_turn("Read the files and write what is asked.")
        seconds = time.perf_counter() - began
        session = app.session
        messages = sum(len(msgspec.json.encode(message)) + 1 for message in session.messages)
        trims, count = len(session.trims), len(session.messages)
        journal = session_bytes(project)
        await app.close()
        snapshot = session_bytes(project)
    lines = {
        "status of the turn": finished.status + (f": {finished.error}" if finished.error else ""),
        "requests, refused by the server": f"{asked[0]}, {refused[0]}",
        "messages, trims": f"{count:,}, {trims}",
        "session files ÷ bytes of the messages, while running": f"{journal / messages:.3f}",
        "session files ÷ bytes of the messages, closed": f"{snapshot / messages:.3f}",
        f"resident memory after 100 and after {calls} calls, MiB": " → ".join(
            f"{size / 2**20:.1f}" for size in rss.values()
        ),
        "milliseconds a step, server and tools included": f"{1_000 * seconds / max(asked[0], 1):.1f}",
    }
    for name, value in lines.items():
        print(f"| {name} | {value} |")


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
    """Print the parts asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--part", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--inner", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inner:
        asyncio.run(run())
        return
    for part in options.part:
        match part:
            case "cost":
                cost()
            case "fidelity":
                fidelity(options.folder)
            case "cache":
                cache()
            case _:
                run_apart()


if __name__ == "__main__":
    main()
