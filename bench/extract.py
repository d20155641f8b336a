"""Measure the rules by which consolidation learns from turns.

    python bench/extract.py [TURNS]        10,000 turns by default

Most of the generated turns ask for work and run commands, some state a fact, some fix an error. Prints the CPU time of
each part, and the findings.
"""

import random
import resource
import sys
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

import msgspec

from clio.memory.consolidation.command_findings import Habits
from clio.memory.consolidation.experiences import Experience, split_into_turns
from clio.messages import (
    AssistantMessage,
    ChangedFile,
    Commit,
    Message,
    SideEffects,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from tests.memory.consolidation.turns import find_statements_and_fixes

TURNS = 10_000
TURNS_PER_SESSION = 25
T = TypeVar("T")
_REQUESTS = (
    "Fix the {0} in src/{1}.py, it fails when the {2} is empty. Have a look at the tests first, please.",
    "Why does the {0} call the {1} twice? I would have expected one {2}.",
    "Add a --{0} flag to the {1} command and document it in docs/{2}.md, with a test for each case.",
    "yes",
    "go on",
    "Refactor {0} so that {1} no longer needs the {2}; keep the public names as they are.",
    "The {0} service listens on port {3}. Please add a health check for it.",
    "We deploy the {0} from main on Fridays, so the {1} must be done by then.",
    "Let's go with {0} instead of {1} because it needs no {2}.",
    "```\nTraceback (most recent call last):\n  File \"{0}.py\", line {3}\nKeyError: '{1}'\n```\nwhat is this?",
)
_WORDS = "parser cache worker queue index session token router schema config client journal lock table".split()


def make_sessions(rng: random.Random, turns: int) -> Iterator[tuple[str, list[Message]]]:
    """Yield names and messages of sessions, whose turns have two to nine calls."""
    for number in range(0, turns, TURNS_PER_SESSION):
        at = 1_700_000_000.0 + number * 900
        messages: list[Message] = []
        for place in range(min(TURNS_PER_SESSION, turns - number)):
            messages += _turn(rng, at + place * 300)
        yield f"session-{number}", messages


def _turn(rng: random.Random, at: float) -> Iterator[Message]:
    words = [*rng.sample(_WORDS, 3), rng.randrange(1024, 9999)]
    yield UserMessage(content=rng.choice(_REQUESTS).format(*words), created=at)
    path = f"src/{words[0]}_{rng.randrange(300)}.py"
    for _ in range(rng.randrange(2, 6)):
        yield from _call("read_file", {"path": path}, "x = 1\n" * 100, SideEffects(read=(path,)))
    if rng.random() < 0.4:
        test = f"pytest -q tests/test_{words[1]}.py"
        line = f"E   KeyError: '{words[2]}_{rng.randrange(500)}'"
        yield from _run(test, 1, "." * 300 + f"\n{line}\nFAILED {path} - KeyError\n1 failed, 20 passed in 0.31s")
        yield from _call(
            "edit_file", {"path": path}, "done", SideEffects(changed=(ChangedFile(path=path, kind="update"),))
        )
        yield from _run(test, 0, "." * 300 + "\n21 passed in 0.33s")
        if rng.random() < 0.5:
            yield from _run(f'git commit -am "fix: {words[0]} {rng.randrange(999)}"', 0, "[main 1a2b3c4] fix: it")
    else:
        yield from _run(f"rg -n {words[0]} src | head -{rng.randrange(9)}", 0, "src/a.py:1: x\n" * 20)
        yield from _run("ruff check . && pytest -q 2>&1 | tail -5", 0, "412 passed in 9.31s")
    yield AssistantMessage(content="Done: the failure was a missing key in the table. " * 4, created=at + 60)


def _run(command: str, code: int, output: str) -> Iterator[Message]:
    commits = (Commit(hash="1a2b3c4", subject="fix: it"),) if output.startswith("[main") else ()
    side_effects = SideEffects(command=command, exit_code=code, commits=commits)
    yield from _call("run_command", {"command": command}, f"[exit {code} in 0.5 s]\n{output}", side_effects)


def _call(name: str, arguments: dict[str, str], output: str, side_effects: SideEffects) -> Iterator[Message]:
    call = ToolCall(id="c", name=name, arguments=msgspec.json.encode(arguments).decode())
    yield AssistantMessage(tool_calls=(call,))
    yield ToolMessage(tool_call_id="c", name=name, content=output, side_effects=side_effects)


def run_timed(label: str, work: Callable[[], T]) -> T:
    """Return the result of `work`, and print its CPU time."""
    started = time.process_time()
    result = work()
    print(f"{label:<28}{time.process_time() - started:8.2f} s CPU")
    return result


def main() -> None:
    """Print times and findings."""
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else TURNS
    sessions = list(make_sessions(random.Random(7), turns))
    print(f"{turns:,} turns, {sum(len(messages) for _, messages in sessions):,} messages")
    experiences = run_timed(
        "turns and their importance",
        lambda: [one for name, messages in sessions for one in split_into_turns(name, messages)],
    )
    findings = run_timed(
        "statements and fixes", lambda: [found for one in experiences for found in find_statements_and_fixes(one)]
    )
    habits = run_timed("habits", lambda: _feed_habits(experiences))
    habit_findings = run_timed("their findings", habits.findings)
    kinds = {kind: sum(found.kind == kind for found in findings) for kind in ("fact", "rule", "solution")}
    size = len(msgspec.json.encode(habits.state))
    print(f"{'total, with generating the turns':<34}{time.process_time():6.2f} s CPU")
    print(f"found {kinds}, {len(habit_findings)} habits; state {size:,} bytes of {len(habits.state.tallies):,} tallies")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MiB, with the turns")


def _feed_habits(experiences: list[Experience]) -> Habits:
    habits = Habits()
    for one in experiences:
        habits.feed(one)
    return habits


if __name__ == "__main__":
    main()
