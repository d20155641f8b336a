"""Choosing among response styles by what earlier choices earned: Thompson sampling. Pure; chance is injected."""

import hashlib
import math
import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeVar

from msgspec import Struct

DIMENSIONS = 16
TRIGGER, SAMPLE, ALIGNMENT = 0.4, 0.3, 0.3
INTENT, TIME, SENTIMENT, TOPIC = 0.40, 0.15, 0.15, 0.30
APPLICABLE, LEAST_CONFIDENCE, MOST_CANDIDATES = 0.5, 0.3, 5
BUCKETS = 100
ANY = "any"
_FIRST_EPSILON, _EPSILON_DECAY, _LEAST_EPSILON = 0.1, 0.95, 0.05
_NEW_RATE, _OLD_RATE, _ESTABLISHED = 0.3, 0.1, 10
_NEUTRAL = 0.5
REWARD_SWING, LOWEST_CONFIDENCE, HIGHEST_CONFIDENCE = 0.3, 0.2, 0.9
VECTOR_RATE = 0.1
_ROUNDING = 1e-9

T = TypeVar("T")


class Posterior(Struct, frozen=True, kw_only=True):
    """Beta(1 + ups, 1 + downs) of one style in one context. A sign that is no person's word counts a fraction."""

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

    def after(self, reward: int) -> "Posterior":
        """The posterior with one more reward."""
        check_reward(reward)
        return Posterior(ups=self.ups + (reward > 0), downs=self.downs + (reward < 0))

    def sample(self, rng: random.Random) -> float:
        """One draw, 0.0 to 1.0."""
        return rng.betavariate(self.alpha, self.beta)


def check_reward(reward: int) -> None:
    """Raise ValueError unless it is −1, 0 or 1."""
    if reward not in (-1, 0, 1):
        raise ValueError(f"a reward is -1, 0 or 1, not {reward!r}")


def posterior_of(rewards: Iterable[int]) -> Posterior:
    """The posterior after these rewards."""
    posterior = Posterior()
    for reward in rewards:
        posterior = posterior.after(reward)
    return posterior


def win_probability(one: Posterior, other: Posterior) -> float:
    """How often a draw from the first is above one from the second, for whole ups (Miller, Bayesian A/B testing)."""
    a, b, c, d = one.alpha, one.beta, other.alpha, other.beta
    total = 0.0
    for i in range(round(a)):
        total += math.exp(_log_beta(c + i, b + d) - math.log(b + i) - _log_beta(1 + i, b) - _log_beta(c, d))
    return total


def exploration_rate(feedbacks: int) -> float:
    """ε = max(0.05, 0.1·0.95^n) after n feedbacks."""
    return max(_LEAST_EPSILON, _FIRST_EPSILON * _EPSILON_DECAY ** max(feedbacks, 0))


def confidence_after(confidence: float, reward: int, uses: int) -> float:
    """Exponential average: rate 0.3 below ten uses, else 0.1; target 0.8 for +1 and 0.2 for −1; kept in 0.2 to 0.9."""
    check_reward(reward)
    if reward == 0:
        return confidence
    rate = confidence_rate(uses)
    moved = (1.0 - rate) * confidence + rate * (_NEUTRAL + REWARD_SWING * reward)
    return min(max(moved, LOWEST_CONFIDENCE), HIGHEST_CONFIDENCE)


def confidence_rate(uses: int) -> float:
    """How far one reward moves a confidence: 0.3 below ten uses, else 0.1."""
    return _NEW_RATE if uses < _ESTABLISHED else _OLD_RATE


def vector_after(preference: Sequence[float], skill: Sequence[float], reward: int) -> tuple[float, ...]:
    """p' = p + reward·0.1·(skill − p) in every dimension, kept in 0 to 1. Both have the same length."""
    check_reward(reward)
    moved = (p + reward * VECTOR_RATE * (s - p) for p, s in zip(preference, skill, strict=True))
    return tuple(min(max(value, 0.0), 1.0) for value in moved)


def alignment(preference: Sequence[float], skill: Sequence[float]) -> float:
    """1 − |p − s| / √n: 1.0 for the same vectors, 0.0 for opposite corners."""
    return 1.0 - math.dist(preference, skill) / math.sqrt(len(preference)) if preference else 1.0


def trigger_score(*, intent: bool, time: bool, sentiment: bool, topic_similarity: float | None) -> float:
    """0.40 intent + 0.15 time of day + 0.15 sentiment + 0.30 similarity of the topic (0 to 1; None: no topic)."""
    return INTENT * intent + TIME * time + SENTIMENT * sentiment + TOPIC * (topic_similarity or 0.0)


def matches(wanted: str | Collection[str] | None, actual: str | None) -> bool:
    """Whether a context's value is what a trigger asks for: the word, one of the words, or "any".

    A trigger that asks for nothing matches nothing, and "any" matches whatever there is.
    """
    if not wanted or not actual:
        return False
    options = (wanted,) if isinstance(wanted, str) else wanted
    return ANY in options or actual in options


def is_applicable(trigger: float) -> bool:
    """Whether a trigger score reaches 0.5."""
    return trigger >= APPLICABLE - _ROUNDING


def candidates(skills: Iterable[tuple[T, float, float]]) -> list[T]:
    """Of (skill, trigger score, confidence): the five best by trigger that are applicable and have confidence ≥ 0.3."""
    applicable = [(trigger, skill, confidence) for skill, trigger, confidence in skills if is_applicable(trigger)]
    best = sorted(applicable, key=lambda entry: -entry[0])[:MOST_CANDIDATES]
    return [skill for _, skill, confidence in best if confidence >= LEAST_CONFIDENCE - _ROUNDING]


def hybrid_score(trigger: float, sample: float, aligned: float) -> float:
    """0.4·trigger + 0.3·Thompson sample + 0.3·alignment."""
    return TRIGGER * trigger + SAMPLE * sample + ALIGNMENT * aligned


class Arm(Struct, frozen=True, kw_only=True):
    """One style that may be chosen, with what is known of it in this context."""

    id: str
    trigger: float
    posterior: Posterior = Posterior()
    aligned: float = 1.0


def choose(arms: Sequence[Arm], feedbacks: int, rng: random.Random) -> Arm | None:
    """The arm with the highest hybrid score of one draw each; with probability ε any of them. None without arms."""
    if not arms:
        return None
    if rng.random() < exploration_rate(feedbacks):
        return rng.choice(arms)
    return max(arms, key=lambda arm: hybrid_score(arm.trigger, arm.posterior.sample(rng), arm.aligned))


def context_bucket(intent: str, sentiment: str, time_of_day: str, buckets: int = BUCKETS) -> int:
    """A number from 0 to buckets − 1 for a context, the same in every process."""
    digest = hashlib.sha256("_".join((intent, sentiment, time_of_day)).encode()).digest()
    return int.from_bytes(digest[:8], "big") % buckets


def eviction_order(skills: Mapping[str, tuple[bool, float, float]]) -> list[str]:
    """Ids of {id: (built in, confidence, last used)}, the first to go first.

    The least confident go, then the least recently used; a built-in one counts 1.5 times.
    """

    def worth(id: str) -> tuple[float, float]:
        built_in, confidence, last = skills[id]
        return confidence * (1.5 if built_in else 1.0), last

    return sorted(skills, key=worth)


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
