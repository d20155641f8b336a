"""Measure the context window: time of building and trimming, fidelity, prompt cache, 500 calls in 32K tokens.

    python bench/context.py [FOLDER] [--part cost fidelity cache run growth]

FOLDER contains transcripts (SWE-agent `.traj.json`, SpecStory Markdown), at any depth. Without it only generated
sessions are measured. Prints Markdown tables; `docs/fidelity.md` shows the results of one run.
"""

import argparse
import itertools
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.fidelity import print_fidelity
from bench.histories import generate_session, make_window, store_session, take_next_step
from bench.measurements import time_ms
from bench.retention import shared_prefix_length
from clio.context.compaction import PROACTIVE_SHARE
from clio.messages import UserMessage
from clio.providers.chat import ChatProtocol

PARTS = ("cost", "fidelity", "cache", "run", "growth")
USUAL = PARTS[:-1]  # growth takes half a minute


# Cost


def measure_cost() -> None:
    """Print the times of building and trimming in long sessions."""
    print("\n### Cost of a request, milliseconds\n\n| | median | worst |\n|---|--:|--:|")
    messages = generate_session(1, 800)[0][:5_000]
    with tempfile.TemporaryDirectory() as folder:
        session = store_session(messages, Path(folder))
        large_window = make_window(session, 10_000_000)
        whole = large_window.build().prompt_tokens
        print_row(
            f"build, {len(messages):,} messages, nothing trimmed", [time_ms(large_window.build) for _ in range(15)]
        )
    trims: list[float] = []
    for _ in range(7):
        with tempfile.TemporaryDirectory() as folder:
            session = store_session(messages[:-100], Path(folder))
            window = make_window(session, int(whole * 0.99 / PROACTIVE_SHARE) + 16_384)
            window.build()
            while not session.trims and len(session.messages) < len(messages):
                session.append(messages[len(session.messages)])
                took_ms = time_ms(window.build)
            trims += [took_ms] if session.trims else []
    print_row("build with the first trim of that session", trims)
    with tempfile.TemporaryDirectory() as folder:
        session = store_session(messages[:20], Path(folder))
        window = make_window(session, 32_768)
        builds: list[tuple[int, float, bool]] = []
        for at in range(20, len(messages), 2):
            for message in messages[at : at + 2]:
                session.append(message)
            before = len(session.trims)
            builds.append((before, time_ms(window.build), len(session.trims) > before))
        last = len(session.trims)
        for name, low, high in (("first", 0, last // 4), ("last", last - last // 4, last)):
            quarter = [build for build in builds if low <= build[0] <= high]
            label = f"32K window, {name} quarter of {last} trims"
            print_row(f"{label}, build", [took_ms for _, took_ms, trimmed in quarter if not trimmed])
            print_row(f"{label}, build with a trim", [took_ms for _, took_ms, trimmed in quarter if trimmed])
        print_row(
            "the first build after resuming that session",
            [time_ms(make_window(session, 32_768).build) for _ in range(5)],
        )


def measure_growth() -> None:
    """Print the time of a build with a trim by the number of earlier trims of one very long session."""
    print(
        "\n### A build with a trim in one long session, 32K window, milliseconds\n\n| trims before | median | worst |"
    )
    print("|--:|--:|--:|")
    messages = [message for seed in range(1, 14) for message in generate_session(seed, 800)[0]]
    with tempfile.TemporaryDirectory() as folder:
        session = store_session(messages[:10], Path(folder))
        window, rest, times = make_window(session, 32_768), iter(messages[10:]), list[float]()
        while step := list(take_next_step(rest)):
            for message in step:
                session.append(message)
            before = len(session.trims)
            took_ms = time_ms(window.build)
            if len(session.trims) > before:
                times.append(took_ms)
        for start in range(0, len(times) - 50, 250):
            print_row(f"{start:,}", times[start : start + 50])
        print(f"| {len(messages):,} messages in all | | |")


def print_row(name: str, times: Sequence[float]) -> None:
    """Print one row of a table."""
    if times:
        print(f"| {name} | {statistics.median(times):.2f} | {max(times):.2f} |")


# Prompt cache


def measure_prompt_cache() -> None:
    """Print the share of each request that a server's prompt cache could reuse from the request before it."""
    print("\n### Bytes of a request that are an unchanged beginning of the one before, 200 steps\n")
    print("| window | median | mean | requests after a trim |\n|---|--:|--:|--:|")
    for tokens in (16_384, 32_768, 128_000):
        messages, _ = generate_session(7, 60)
        start = next(at for at in range(60, len(messages)) if isinstance(messages[at], UserMessage))
        with tempfile.TemporaryDirectory() as folder:
            session = store_session(messages[:start], Path(folder))
            window = make_window(session, tokens, system="The system prompt. " * 400)
            encoder = ChatProtocol("model")
            bodies = [encoder.encode(window.build().request)]
            rest = iter(messages[start:] + messages[:start])
            while len(bodies) < 201:
                for message in take_next_step(rest):
                    session.append(message)
                bodies.append(encoder.encode(window.build().request))
            shares = [shared_prefix_length(one, two) / len(two) for one, two in itertools.pairwise(bodies)]
            trims = len(session.trims)
        print(f"| {tokens:,} | {statistics.median(shares):.1%} | {statistics.mean(shares):.1%} | {trims} of 200 |")


def run_many_calls() -> None:
    """Run `bench/long_run.py` in its own process, so that only its own memory is measured."""
    sys.stdout.flush()
    subprocess.run([sys.executable, Path(__file__).with_name("long_run.py")], check=True)


def main() -> None:
    """Print the requested parts."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--part", nargs="+", choices=PARTS, default=USUAL)
    options = parser.parse_args()
    for part in options.part:
        match part:
            case "cost":
                measure_cost()
            case "fidelity":
                print_fidelity(options.folder)
            case "cache":
                measure_prompt_cache()
            case "growth":
                measure_growth()
            case _:
                run_many_calls()


if __name__ == "__main__":
    main()
