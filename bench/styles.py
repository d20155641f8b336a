"""How fast clio learns which style a user likes, and what choosing one costs.

    python bench/styles.py            the numbers, and docs/styles.svg

A simulated person sends messages of four intents on working days from 9 to 18 o'clock and rates every answer. They
approve of some styles for each intent and disapprove of the others; one rating in ten is the opposite of what they
think, so that 0.9 of the ratings approve where every answer is liked. The styles, the rules that tell the intent, the
choice and the learning are clio's own; only the file between two turns is left out.
"""

import random
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache, partial
from pathlib import Path

from msgspec import structs

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.curves import Series, write_chart
from clio.memory.styles.selection import (
    Choice,
    Situation,
    choose_style,
    compute_topic_similarity,
    infer_situation,
    load_built_in_styles,
    time_of_day,
)
from clio.memory.styles.style_state import StyleState

CHART = Path(__file__).parent.parent / "docs" / "styles.svg"
SEEDS, RATINGS, NOISE = 40, 100, 0.1
MONDAY = datetime(2026, 1, 5, 9).timestamp()
MESSAGES: Mapping[str, Sequence[str]] = {
    "question": ("where is the retry logic?", "what does --sync do?", "which file defines the session?"),
    "explain": (
        "how does the trimming work?",
        "walk me through the login flow",
        "why is the journal its own file?",
    ),
    "fix": ("fix the failing test in test_parser.py", "the build fails on CI", "I get a KeyError in line 40"),
    "build": ("add a --dry-run flag", "rename get_user to fetch_user", "implement pagination for /users"),
}
TASTE: Mapping[str, frozenset[str]] = {
    "question": frozenset({"concise"}),
    "explain": frozenset({"teaching", "detailed"}),
    "fix": frozenset({"precise"}),
    "build": frozenset({"reserved", "concise"}),
}


class Person:
    """A simulated user with a taste for each intent, who rates answers."""

    def __init__(self, taste: Mapping[str, frozenset[str]], seed: int, *, learns: bool = True) -> None:
        self._taste, self._learns = taste, learns
        self._rng, self._choosing = random.Random(seed), random.Random(seed + 10_000)
        self.state = StyleState(on=True)
        self._now = MONDAY

    def live(self) -> dict[str, list[tuple[bool, bool]]]:
        """By intent, for each rating: whether the style was liked, and whether they said so."""
        rated: dict[str, list[tuple[bool, bool]]] = {intent: [] for intent in MESSAGES}
        for _ in range(RATINGS):
            for intent in self._rng.sample(sorted(MESSAGES), len(MESSAGES)):
                rated[intent].append(self._turn(intent))
        return rated

    def _turn(self, intent: str) -> tuple[bool, bool]:
        self._now += self._rng.uniform(120, 1_200)
        if datetime.fromtimestamp(self._now).hour >= 18:
            self._now += 15 * 3_600
        choice = choose(self._rng.choice(MESSAGES[intent]), self.state, self._choosing, self._now)
        liked = choice.chosen in self._taste[intent]
        said = liked != (self._rng.random() < NOISE)
        if self._learns and choice.chosen:
            skill = next(skill for skill in load_built_in_styles() if skill.id == choice.chosen)
            self.state = self.state.after(
                choice.situation.bucket, skill.id, skill.dimensions, 1 if said else -1, 1.0, self._now
            )
        return liked, said


def choose(text: str, state: StyleState, rng: random.Random, now: float) -> Choice:
    """As `Styles.choose` does; what the rules say of a message is kept, since it is always the same."""
    situation = structs.replace(_told(text), time_of_day=time_of_day(now))
    return choose_style(situation, load_built_in_styles(), state, rng, now, partial(_similarity, text=situation.text))


@cache
def _told(text: str) -> Situation:
    return infer_situation(text, MONDAY)


@cache
def _similarity(topics: tuple[str, ...], text: str) -> float | None:
    return compute_topic_similarity(topics, text, None)


def random_taste(intent: str, rng: random.Random, size: int) -> frozenset[str]:
    """Some of the styles that fit an intent."""
    choice = choose(MESSAGES[intent][0], StyleState(on=True), rng, MONDAY)
    return frozenset(rng.sample(sorted(arm.id for arm in choice.arms if not arm.left_out), size))


def curves(people: Sequence[Person]) -> tuple[list[float], list[float]]:
    """By number of ratings with an intent: the share of answers in a liked style, and of approving ratings."""
    lives = [rated for person in people for rated in person.live().values()]
    liked = [statistics.mean(life[place][0] for life in lives) for place in range(RATINGS)]
    said = [statistics.mean(life[place][1] for life in lives) for place in range(RATINGS)]
    return liked, said


def smooth(shares: Sequence[float], reach: int = 2) -> list[float]:
    """The mean of each and its neighbours."""
    return [statistics.mean(shares[max(0, at - reach) : at + reach + 1]) for at in range(len(shares))]


def learning() -> None:
    """The curves, printed and drawn."""
    rng = random.Random(7)
    tastes = {
        "a fixed taste": [TASTE] * SEEDS,
        "two liked of five": [{one: random_taste(one, rng, 2) for one in MESSAGES} for _ in range(SEEDS)],
        "one liked of five": [{one: random_taste(one, rng, 1) for one in MESSAGES} for _ in range(SEEDS)],
    }
    groups = {name: [Person(taste, seed) for seed, taste in enumerate(all)] for name, all in tastes.items()}
    groups["nothing learned"] = [Person(TASTE, seed, learns=False) for seed in range(SEEDS)]
    print("                      approving ratings                 answers in a liked style")
    print("taste              1-5    6-8   9-12  13-60  61-100     1-5    6-8   9-12  13-60  61-100")
    series: list[Series] = []
    for name, people in groups.items():
        liked, said = curves(people)
        spans = [
            [statistics.mean(one[a:b]) for a, b in ((0, 5), (5, 8), (8, 12), (12, 60), (60, 100))]
            for one in (said, liked)
        ]
        print(f"{name:<17}" + "    ".join("".join(f"{share:>7.3f}" for share in span) for span in spans))
        series.append(Series(name, [(place + 1, share) for place, share in enumerate(smooth(said))]))
    write_chart(CHART, "Answers approved of (one rating in ten is noise)", "ratings with an intent", "share", series)


def costs() -> None:
    """Medians of single calls, with what 400 ratings taught."""
    person = Person(TASTE, 0)
    person.live()
    times: dict[str, list[float]] = {"situation": [], "situation and choice": []}
    for text in [text for texts in MESSAGES.values() for text in texts] * 20:
        begun = time.perf_counter()
        infer_situation(text, MONDAY)
        _told.cache_clear()
        _similarity.cache_clear()
        between = time.perf_counter()
        choose(text, person.state, random.Random(1), MONDAY)
        times["situation"].append((between - begun) * 1e3)
        times["situation and choice"].append((time.perf_counter() - between) * 1e3)
    for name, all in times.items():
        print(f"{name:<20} median {statistics.median(all):.2f} ms, longest {max(all):.2f} ms")


if __name__ == "__main__":
    learning()
    print()
    costs()
