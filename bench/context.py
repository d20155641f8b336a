"""What the window costs and what it keeps: building and trimming, fidelity, the prompt cache, 500 calls in 32K.

    python bench/context.py [FOLDER] [--part cost fidelity cache run]

FOLDER holds transcripts (SWE-agent `.traj.json`, SpecStory Markdown), at any depth; without it only generated sessions
are looked at. The tables are Markdown; `docs/fidelity.md` holds one such run.
"""

import argparse
import itertools
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.fidelity import fidelity
from bench.histories import generated, next_step, stored, window_of
from clio.context.compaction import PROACTIVE_SHARE
from clio.messages import UserMessage
from clio.providers.chat import ChatProtocol

PARTS = ("cost", "fidelity", "cache", "run", "growth")
USUAL = PARTS[:-1]  # growth takes half a minute


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
            window = window_of(session, int(whole * 0.99 / PROACTIVE_SHARE) + 16_384)
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


def growth() -> None:
    """Print what a build with a trim costs after ever more trims of one very long session."""
    print(
        "\n### A build with a trim in one long session, 32K window, milliseconds\n\n| trims before | median | worst |"
    )
    print("|--:|--:|--:|")
    messages = [message for seed in range(1, 14) for message in generated(seed, 800)[0]]
    with tempfile.TemporaryDirectory() as folder:
        session = stored(messages[:10], Path(folder))
        window, rest, times = window_of(session, 32_768), iter(messages[10:]), list[float]()
        while step := list(next_step(rest)):
            for message in step:
                session.append(message)
            before = len(session.trims)
            took = timed(window.build)
            if len(session.trims) > before:
                times.append(took)
        for start in range(0, len(times) - 50, 250):
            row(f"{start:,}", times[start : start + 50])
        print(f"| {len(messages):,} messages in all | | |")


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
            encoder = ChatProtocol("model")
            bodies = [encoder.encode(window.build().request)]
            rest = iter(messages[start:] + messages[:start])
            while len(bodies) < 201:
                for message in next_step(rest):
                    session.append(message)
                bodies.append(encoder.encode(window.build().request))
            shares = [common(one, two) / len(two) for one, two in itertools.pairwise(bodies)]
            trims = len(session.trims)
        print(f"| {tokens:,} | {statistics.median(shares):.1%} | {statistics.mean(shares):.1%} | {trims} of 200 |")


def long_run() -> None:
    """The run in a process of its own, so that its memory is its own."""
    sys.stdout.flush()
    subprocess.run([sys.executable, Path(__file__).with_name("long_run.py")], check=True)


def main() -> None:
    """Print the parts asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--part", nargs="+", choices=PARTS, default=USUAL)
    options = parser.parse_args()
    for part in options.part:
        match part:
            case "cost":
                cost()
            case "fidelity":
                fidelity(options.folder)
            case "cache":
                cache()
            case "growth":
                growth()
            case _:
                long_run()


if __name__ == "__main__":
    main()
