"""Train the model that tells whether a message ends or replaces a preference, and measure it.

    python bench/preference_endings.py              # measure clio/memory/consolidation/preference_endings.bin
    python bench/preference_endings.py --train      # train it, write it, and measure it
    python bench/preference_endings.py --wrong      # also print each pair that is read wrong
    python bench/preference_endings.py --turns      # measure what the test changes in memory, in whole turns

`bench/data/preference_endings.jsonl` has pairs of a preference and a later message that writers made up who had not
seen clio's rules, and of tests. The halves "test" and "limits test" are of other writers, and never trained with.
Preferences are also paired with messages about something else: those of other pairs, and of `intents.jsonl`; for the
test, those of the independent test of `memory_phrasings.jsonl`.
"""

import argparse
import asyncio
import json
import logging
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.training import fit
from clio.memory.consolidation.preference_endings import EFFECTS, MODEL, find_effect, list_effect_features
from tests.support.chat_server import ChatServer, text
from tests.support.harness import Harness, make_repository

DATA = Path(__file__).parent / "data"
LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9)
MIXES, MIXED_WEIGHT = 3, 0.25
"""How often each preference is paired with the message of another pair, and the weight of these."""
OTHER_MESSAGES, OTHER_WEIGHT = 6_000, 0.3
TEST_MESSAGES = 4
"""Number of preferences with which each message about something else is measured."""


class Example(Struct, frozen=True):
    """A preference, a message, and what it does to the preference."""

    preference: str
    message: str
    effect: str
    language: str
    weight: float = 1.0


def read_pairs(half: str) -> list[Example]:
    """Return the labelled pairs of a half."""
    lines = (DATA / "preference_endings.jsonl").read_text(encoding="utf-8").splitlines()
    return [
        Example(one["memory"], one["message"], one["effect"], one["language"])
        for one in map(json.loads, lines)
        if one["half"] == half
    ]


def _may_lift(part: Sequence[str]) -> bool:
    return "lifted" in part[1] or part[1].startswith("!")


def mix(pairs: Sequence[Example]) -> list[Example]:
    """Return preferences with messages about something else, in the same language."""
    random = np.random.default_rng(0)
    mixed: list[Example] = []
    for _ in range(MIXES):
        order: list[int] = random.permutation(len(pairs)).tolist()
        for one, at in zip(pairs, order, strict=True):
            if one.preference != pairs[at].preference and one.language == pairs[at].language:
                mixed.append(Example(one.preference, pairs[at].message, "kept", one.language, MIXED_WEIGHT))
    known: dict[str, list[str]] = defaultdict(list)
    for one in pairs:
        known[one.language].append(one.preference)
    lines = [json.loads(line) for line in (DATA / "intents.jsonl").read_text(encoding="utf-8").splitlines()]
    others = [one for one in lines if one["half"] == "training" and not any(map(_may_lift, one["parts"]))]
    chosen: list[int] = random.permutation(len(others))[:OTHER_MESSAGES].tolist()
    for at in chosen:
        message, language = "".join(str(part) for part, _ in others[at]["parts"]), str(others[at]["language"])
        preference = known[language][int(random.integers(len(known[language])))]
        mixed.append(Example(preference, message, "kept", language, OTHER_WEIGHT))
    return mixed


def train() -> bytes:
    """Return the weights fitted to the pairs."""
    pairs = read_pairs("training")
    examples = [*pairs, *mix(pairs)]
    return fit(
        [list_effect_features(one.preference, one.message) for one in examples],
        np.array([[one.effect == effect for effect in EFFECTS] for one in examples], float),
        [one.weight for one in examples],
    )


def measure(title: str, pairs: Sequence[Example], *, shows: bool) -> None:
    """Print which part of the preferences that no longer hold is found at each level, and how many others are."""
    found = [find_effect(one.preference, one.message) for one in pairs]
    gone = sum(one.effect != "kept" for one in pairs)
    print(f"{title}: {len(pairs)} pairs, {gone} no longer hold")
    for level in LEVELS:
        hits = [one.effect != "kept" for one, effect in zip(pairs, found, strict=True) if effect.gone >= level]
        print(f"  {level:.1f}  found {sum(hits)}  wrong {len(hits) - sum(hits)} of {len(pairs) - gone}")
    for one, effect in zip(pairs, found, strict=True):
        if shows and (effect.gone >= LEVELS[2]) is not (one.effect != "kept"):
            print(f"    {effect.gone:.2f} {one.effect}: {one.preference} | {one.message}")


def list_others() -> list[Example]:
    """Return the preferences of the test with messages about something else."""
    known: dict[str, list[str]] = defaultdict(list)
    for one in read_pairs("test"):
        known[one.language].append(one.preference)
    lines = (DATA / "memory_phrasings.jsonl").read_text(encoding="utf-8").splitlines()
    cases = [one for one in map(json.loads, lines) if one["half"].endswith("independent test")]
    return [
        Example(preference, case["sessions"][0][0], "kept", case["language"])
        for case in cases
        if len(case["sessions"]) == len(case["sessions"][0]) == 1
        for preference in known[case["language"]][:TEST_MESSAGES]
    ]


async def run_turns(one: Example, server: ChatServer, folder: Path) -> tuple[set[str], set[str]]:
    """Say a preference, and its message in a later session; return the preferences in memory after each."""
    make_repository(folder / "p", {"calc.py": "x = 1\n"})
    harness = Harness(folder / "p", folder / "home", server)
    known: list[set[str]] = []
    for message in (one.preference, one.message):
        await harness.turn(message)
        known.append({record.content for _, record in harness.app.memory.list_preferences()})
        await harness.app.close()
        harness.app = harness.build()
    await harness.app.close()
    return known[0], known[1]


def measure_turns() -> None:
    """Print by effect how many preferences of the tests, of those saved when they are stated, are as they should be."""
    logging.disable(logging.CRITICAL)
    for half in ("test", "limits test"):
        measure_half_in_turns(half)


def measure_half_in_turns(half: str) -> None:
    """Print the same for one half."""
    right, saved = Counter[str](), Counter[str]()
    pairs = read_pairs(half)
    with ChatServer([text("Ok.")] * 2 * len(pairs)) as server:
        for one in pairs:
            with tempfile.TemporaryDirectory() as folder:
                before, after = asyncio.run(run_turns(one, server, Path(folder)))
            saved[one.effect] += bool(before)
            is_gone, is_new = not before & after, bool(after - before)
            is_right = before <= after if one.effect == "kept" else is_gone and (is_new or one.effect == "ended")
            right[one.effect] += bool(before) and is_right
    for effect in EFFECTS:
        print(f"{half} in whole turns, {effect}: {right[effect]} of {saved[effect]}")


def main() -> None:
    """Train the model if asked to, and measure it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--train", action="store_true")
    parser.add_argument("--wrong", action="store_true")
    parser.add_argument("--turns", action="store_true")
    options = parser.parse_args()
    if options.turns:
        measure_turns()
        return
    if options.train:
        MODEL.path.write_bytes(weights := train())
        MODEL.use(weights)
    measure("test", read_pairs("test"), shows=options.wrong)
    measure("limits test", read_pairs("limits test"), shows=options.wrong)
    measure("messages about something else", list_others(), shows=options.wrong)


if __name__ == "__main__":
    main()
