"""Choose a response style by Thompson sampling of the feedback on earlier choices. Pure; the RNG is passed in.

The numbers are those of the adaptive-memory document (see docs/architecture.md); tests/vectors checks them.
"""

import math
import random
from collections.abc import Collection, Iterable, Sequence
from typing import TypeVar

from msgspec import Struct

PREFERENCE_DIMENSIONS = 16
"""Length of a preference vector and of the vector that describes a style."""
TRIGGER_WEIGHT, SAMPLE_WEIGHT, ALIGNMENT_WEIGHT = 0.4, 0.3, 0.3
INTENT_WEIGHT, TIME_WEIGHT, SENTIMENT_WEIGHT, TOPIC_WEIGHT = 0.40, 0.15, 0.15, 0.30
MIN_TRIGGER_SCORE, MIN_CONFIDENCE, MAX_CANDIDATES = 0.5, 0.3, 5
ANY_VALUE = "any"
_FIRST_EPSILON, _EPSILON_DECAY, _MIN_EPSILON = 0.1, 0.95, 0.05
_NEW_STYLE_RATE, _ESTABLISHED_RATE, _ESTABLISHED_USES = 0.3, 0.1, 10
_NEUTRAL_CONFIDENCE = 0.5
REWARD_SWING, MIN_STORED_CONFIDENCE, MAX_STORED_CONFIDENCE = 0.3, 0.2, 0.9
VECTOR_LEARNING_RATE = 0.1
_ROUNDING_TOLERANCE = 1e-9  # 0.4 + 0.1 and the like must count as 0.5

T = TypeVar("T")


class Posterior(Struct, frozen=True, kw_only=True):
    """Beta(1 + ups, 1 + downs) for one style in one context.

    Implicit signals, such as a turn that is accepted without a comment, count as a fraction of an up or a down.
    """

    ups: float = 0
    downs: float = 0

    @property
    def alpha(self) -> float:
        """1 + ups."""
        return 1 + self.ups

    @property
    def beta(self) -> float:
        """1 + downs."""
        return 1 + self.downs

    @property
    def mean(self) -> float:
        """α / (α + β)."""
        return self.alpha / (self.alpha + self.beta)

    @property
    def variance(self) -> float:
        """αβ / ((α + β)²(α + β + 1))."""
        total = self.alpha + self.beta
        return self.alpha * self.beta / (total * total * (total + 1))

    def add_reward(self, reward: int) -> "Posterior":
        """Return the posterior after one more reward of −1, 0 or 1."""
        check_reward(reward)
        return Posterior(ups=self.ups + (reward > 0), downs=self.downs + (reward < 0))

    def sample(self, rng: random.Random) -> float:
        """Draw one value, 0.0 to 1.0."""
        # Beta(1, 1) without feedback: every value is equally likely, so new styles are tried.
        return rng.betavariate(self.alpha, self.beta)


def check_reward(reward: int) -> None:
    """Raise ValueError unless the reward is −1, 0 or 1."""
    if reward not in (-1, 0, 1):
        raise ValueError(f"a reward is -1, 0 or 1, not {reward!r}")


def compute_exploration_rate(feedbacks: int) -> float:
    """Return the probability of a random choice, max(0.05, 0.1·0.95^n) after n feedbacks."""
    return max(_MIN_EPSILON, _FIRST_EPSILON * _EPSILON_DECAY ** max(feedbacks, 0))


def update_confidence(confidence: float, reward: int, uses: int) -> float:
    """Return a style's confidence after one reward, as an exponential moving average kept between 0.2 and 0.9.

    The average moves towards 0.8 for a reward of 1 and towards 0.2 for −1, at the rate `get_confidence_rate` returns.
    """
    check_reward(reward)
    if reward == 0:
        return confidence
    rate = get_confidence_rate(uses)
    moved = (1.0 - rate) * confidence + rate * (_NEUTRAL_CONFIDENCE + REWARD_SWING * reward)
    return min(max(moved, MIN_STORED_CONFIDENCE), MAX_STORED_CONFIDENCE)


def get_confidence_rate(uses: int) -> float:
    """Return the rate of the confidence average: 0.3 for the first ten uses, then 0.1."""
    return _NEW_STYLE_RATE if uses < _ESTABLISHED_USES else _ESTABLISHED_RATE


def update_preference_vector(preference: Sequence[float], skill: Sequence[float], reward: int) -> tuple[float, ...]:
    """Move a preference vector towards a style (reward 1) or away from it (−1), each dimension kept between 0 and 1.

    p' = p + reward·0.1·(skill − p). Raises ValueError if the lengths differ.
    """
    check_reward(reward)
    moved = (p + reward * VECTOR_LEARNING_RATE * (s - p) for p, s in zip(preference, skill, strict=True))
    return tuple(min(max(value, 0.0), 1.0) for value in moved)


def compute_alignment(preference: Sequence[float], skill: Sequence[float]) -> float:
    """Return 1 − |p − s| / √n: 1.0 for equal vectors, 0.0 for opposite corners of the unit cube."""
    return 1.0 - math.dist(preference, skill) / math.sqrt(len(preference)) if preference else 1.0


def compute_trigger_score(*, intent: bool, time: bool, sentiment: bool, topic_similarity: float | None) -> float:
    """Return how well a style's trigger fits a context, 0.0 to 1.0.

    0.40·intent + 0.15·time of day + 0.15·sentiment + 0.30·topic similarity (0 to 1; None if the trigger has no
    topic).
    """
    return (
        INTENT_WEIGHT * intent
        + TIME_WEIGHT * time
        + SENTIMENT_WEIGHT * sentiment
        + TOPIC_WEIGHT * (topic_similarity or 0.0)
    )


def is_trigger_match(expected: str | Collection[str] | None, actual: str | None) -> bool:
    """Whether a context value satisfies a trigger.

    It does if it is the expected value or one of them, or if "any" is expected. A trigger without an expected value
    matches nothing, and an unknown context value (None) satisfies no trigger.
    """
    if not expected or not actual:
        return False
    options = (expected,) if isinstance(expected, str) else expected
    return ANY_VALUE in options or actual in options


def is_applicable(trigger: float) -> bool:
    """Whether a trigger score reaches 0.5."""
    return trigger >= MIN_TRIGGER_SCORE - _ROUNDING_TOLERANCE


def select_candidates(skills: Iterable[tuple[T, float, float]]) -> list[T]:
    """Return the five applicable styles with the best trigger scores, without those of a confidence below 0.3.

    Args:
        skills: (style, trigger score, confidence) for each style.
    """
    applicable = [(trigger, skill, confidence) for skill, trigger, confidence in skills if is_applicable(trigger)]
    best = sorted(applicable, key=lambda entry: -entry[0])[:MAX_CANDIDATES]
    return [skill for _, skill, confidence in best if confidence >= MIN_CONFIDENCE - _ROUNDING_TOLERANCE]


def compute_hybrid_score(trigger: float, sample: float, alignment: float) -> float:
    """Return 0.4·trigger + 0.3·Thompson sample + 0.3·alignment."""
    return TRIGGER_WEIGHT * trigger + SAMPLE_WEIGHT * sample + ALIGNMENT_WEIGHT * alignment


class Arm(Struct, frozen=True, kw_only=True):
    """One style that can be chosen, with its scores in the present context."""

    id: str
    trigger: float
    posterior: Posterior = Posterior()
    alignment: float = 1.0


def choose_arm(arms: Sequence[Arm], feedbacks: int, rng: random.Random) -> Arm | None:
    """Return the arm with the highest hybrid score, or any arm with the exploration probability; None without arms."""
    if not arms:
        return None
    if rng.random() < compute_exploration_rate(feedbacks):
        return rng.choice(arms)
    return max(arms, key=lambda arm: compute_hybrid_score(arm.trigger, arm.posterior.sample(rng), arm.alignment))
