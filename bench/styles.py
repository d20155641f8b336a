"""Measure how fast clio learns which response styles a user likes, and what choosing one costs.

    python bench/styles.py            prints the figures and draws docs/styles.svg

A simulated user sends messages of four intents between 9 and 18 o'clock and rates every answer. The user likes some
styles for each intent and dislikes the others. One rating in ten is inverted, so at most 90 % of the ratings are good.
The styles, the detection of the intent, the choice and the learning are clio's own; only the file that stores the
state between two turns is left out.
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
LIKED_STYLES: Mapping[str, frozenset[str]] = {
    "question": frozenset({"concise"}),
    "explain": frozenset({"teaching", "detailed"}),
    "fix": frozenset({"precise"}),
    "build": frozenset({"reserved", "concise"}),
}


class SimulatedUser:
    """A simulated user who likes some styles for each intent, and rates answers."""

    def __init__(self, liked_styles: Mapping[str, frozenset[str]], seed: int, *, learns: bool = True) -> None:
        self._liked_styles, self._learns = liked_styles, learns
        self._rng, self._choice_rng = random.Random(seed), random.Random(seed + 10_000)
        self.state = StyleState(on=True)
        self._now = MONDAY

    def rate_answers(self) -> dict[str, list[tuple[bool, bool]]]:
        """Return for each intent and rating whether the user likes the style, and whether the rating is good."""
        rated: dict[str, list[tuple[bool, bool]]] = {intent: [] for intent in MESSAGES}
        for _ in range(RATINGS):
            for intent in self._rng.sample(sorted(MESSAGES), len(MESSAGES)):
                rated[intent].append(self._turn(intent))
        return rated

    def _turn(self, intent: str) -> tuple[bool, bool]:
        self._now += self._rng.uniform(120, 1_200)
        if datetime.fromtimestamp(self._now).hour >= 18:
            self._now += 15 * 3_600
        choice = choose(self._rng.choice(MESSAGES[intent]), self.state, self._choice_rng, self._now)
        liked = choice.chosen in self._liked_styles[intent]
        approved = liked != (self._rng.random() < NOISE)
        if self._learns and choice.chosen:
            skill = next(skill for skill in load_built_in_styles() if skill.id == choice.chosen)
            self.state = self.state.after(
                choice.situation.bucket, skill.id, skill.dimensions, 1 if approved else -1, 1.0, self._now
            )
        return liked, approved


def choose(text: str, state: StyleState, rng: random.Random, now: float) -> Choice:
    """Choose a style as `Styles.choose` does, with the situation of each message cached."""
    situation = structs.replace(_infer_situation(text), time_of_day=time_of_day(now))
    return choose_style(situation, load_built_in_styles(), state, rng, now, partial(_similarity, text=situation.text))


@cache
def _infer_situation(text: str) -> Situation:
    return infer_situation(text, MONDAY)


@cache
def _similarity(topics: tuple[str, ...], text: str) -> float | None:
    return compute_topic_similarity(topics, text, None)


def draw_liked_styles(intent: str, rng: random.Random, size: int) -> frozenset[str]:
    """Draw `size` of the styles that fit an intent."""
    choice = choose(MESSAGES[intent][0], StyleState(on=True), rng, MONDAY)
    return frozenset(rng.sample(sorted(arm.id for arm in choice.arms if not arm.left_out), size))


def compute_curves(users: Sequence[SimulatedUser]) -> tuple[list[float], list[float]]:
    """Return two shares by number of earlier ratings for an intent: answers in a liked style, and good ratings."""
    ratings = [rated for user in users for rated in user.rate_answers().values()]
    liked = [statistics.mean(row[place][0] for row in ratings) for place in range(RATINGS)]
    approved = [statistics.mean(row[place][1] for row in ratings) for place in range(RATINGS)]
    return liked, approved


def smooth_shares(shares: Sequence[float], reach: int = 2) -> list[float]:
    """Return the mean of each value and its neighbors within `reach`."""
    return [statistics.mean(shares[max(0, at - reach) : at + reach + 1]) for at in range(len(shares))]


def measure_learning() -> None:
    """Print and draw the learning curves."""
    rng = random.Random(7)
    users_likes = {
        "same likes": [LIKED_STYLES] * SEEDS,
        "2 of 5 liked": [{one: draw_liked_styles(one, rng, 2) for one in MESSAGES} for _ in range(SEEDS)],
        "1 of 5 liked": [{one: draw_liked_styles(one, rng, 1) for one in MESSAGES} for _ in range(SEEDS)],
    }
    groups = {
        name: [SimulatedUser(liked_styles, seed) for seed, liked_styles in enumerate(values)]
        for name, values in users_likes.items()
    }
    groups["no learning"] = [SimulatedUser(LIKED_STYLES, seed, learns=False) for seed in range(SEEDS)]
    print("                      good ratings                      answers in a liked style")
    print("users              1-5    6-8   9-12  13-60  61-100     1-5    6-8   9-12  13-60  61-100")
    series: list[Series] = []
    for name, users in groups.items():
        liked, approved = compute_curves(users)
        spans = [
            [statistics.mean(one[a:b]) for a, b in ((0, 5), (5, 8), (8, 12), (12, 60), (60, 100))]
            for one in (approved, liked)
        ]
        print(f"{name:<17}" + "    ".join("".join(f"{share:>7.3f}" for share in span) for span in spans))
        series.append(Series(name, [(place + 1, share) for place, share in enumerate(smooth_shares(approved))]))
    write_chart(CHART, "Good ratings (one in ten is inverted)", "ratings for an intent", "share", series)


def measure_costs() -> None:
    """Print the median and longest time of single calls after 400 ratings."""
    user = SimulatedUser(LIKED_STYLES, 0)
    user.rate_answers()
    times: dict[str, list[float]] = {"situation": [], "situation and choice": []}
    for text in [text for texts in MESSAGES.values() for text in texts] * 20:
        started = time.perf_counter()
        infer_situation(text, MONDAY)
        _infer_situation.cache_clear()
        _similarity.cache_clear()
        inferred = time.perf_counter()
        choose(text, user.state, random.Random(1), MONDAY)
        times["situation"].append((inferred - started) * 1e3)
        times["situation and choice"].append((time.perf_counter() - inferred) * 1e3)
    for name, values in times.items():
        print(f"{name:<20} median {statistics.median(values):.2f} ms, longest {max(values):.2f} ms")


if __name__ == "__main__":
    measure_learning()
    print()
    measure_costs()
