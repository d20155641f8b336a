"""Measure the share of stated limits that is detected, and how many ordinary requests are mistaken for one.

    python bench/notice.py [--misses]

The lines of bench/data/stated_limits.jsonl were written before the first rules and split at random; the classifier was
trained with the development half. --misses prints the errors in that half. Limits that are wishes without a prohibition
("two spaces everywhere") are found as preferences, and count as missed here.
"""

import json
import re
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from clio.memory.preferences.limits import StatedLimit, find_limits

WORD = re.compile(r"[^\s,.:;!?]+")
LINES = Path(__file__).parent / "data" / "stated_limits.jsonl"


def read_lines() -> list[dict[str, Any]]:
    """Return the lines with their labels."""
    return [json.loads(line) for line in LINES.read_text(encoding="utf-8").splitlines()]


def is_caught(span: str, found: tuple[StatedLimit, ...]) -> bool:
    """Return whether a limit has at least half of the words of `span`, or consists of two or more of them."""
    words = set(WORD.findall(span.lower()))
    contents = [set(WORD.findall(one.content.lower())) for one in found]
    return any(
        len(words & content) * 2 >= len(words) or (len(content) > 1 and content <= words) for content in contents
    )


def measure(half: str, *, misses: bool) -> None:
    """Print one row for one half of the lines."""
    stated = caught = lasting = scoped = saved = false_saved = false_lasting = false_any = ordinary = 0
    for line in read_lines():
        if line["half"] != half:
            continue
        found = find_limits(line["text"])
        limits = line["limits"]
        for limit in limits:
            stated += 1
            matches = [one for one in found if is_caught(limit["text"], (one,))]
            caught += bool(matches)
            if misses and not matches:
                print(f"  MISSED {limit['text']!r} in {line['text'][:160]!r} found {[one.content for one in found]}")
            if not matches:
                continue
            if limit["lasting"]:
                lasting += 1
                saved += any(one.term == "lasting" for one in matches)
                has_scope = any(one.scope == limit["scope"] for one in matches)
                scoped += has_scope
                if misses and all(one.term == "task" for one in matches):
                    print(f"  TASK ONLY {limit['text']!r} in {line['text'][:100]!r}")
                if misses and not has_scope:
                    print(f"  SCOPE not {limit['scope']}: {limit['text']!r}")
            else:
                false_saved += any(one.term == "lasting" for one in matches)
                if misses and any(one.term == "lasting" for one in matches):
                    print(f"  SAVED though for a task: {limit['text']!r}")
        if not limits:
            ordinary += 1
            false_any += bool(found)
            false_lasting += any(one.term != "task" for one in found)
            if misses and found:
                print(f"  FALSE {line['text'][:140]!r} -> {[(one.content, one.term) for one in found]}")
    tasks = sum(not limit["lasting"] for line in read_lines() if line["half"] == half for limit in line["limits"])
    print(
        f"{half:<12} {stated:>6} {caught / stated:>8.1%} {saved / max(lasting, 1):>15.1%}",
        f"{scoped / max(lasting, 1):>11.1%} {f'{false_saved} of {tasks}':>14} {ordinary:>9}",
        f"{false_lasting / ordinary:>8.1%} {false_any / ordinary:>7.1%}",
    )


def cost() -> None:
    """Print the time of finding limits with compiled patterns."""
    lines = [line["text"] for line in read_lines()]
    for text in lines:
        find_limits(text)
    begin = time.perf_counter()
    for text in lines:
        find_limits(text)
    seconds = (time.perf_counter() - begin) / len(lines)
    print(f"\ntime: {seconds * 1000:.2f} ms for an average message", end="")
    for size in (10_000, 100_000):
        text = ("\n".join(lines) * 10)[:size]
        begin = time.perf_counter()
        find_limits(text)
        print(f", {(time.perf_counter() - begin) * 1000:.0f} ms for {size:,} characters", end="")
    print()


def main() -> None:
    """Measure both halves and the cost."""
    misses = "--misses" in sys.argv
    print("half         limits   caught  saved unasked  scope right  saved wrongly  ordinary  lasting     any")
    for half in ("development", "held-out"):
        measure(half, misses=misses and half == "development")
    cost()


if __name__ == "__main__":
    main()
