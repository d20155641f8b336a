"""Which style an answer gets, with the whole account of why. Pure: chance comes from an injected generator."""

import random
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct, structs

from clio.memory.styles.situation import Situation
from clio.memory.styles.skill import StyleSkill
from clio.memory.styles.state import StyleState
from clio.text.bandit import (
    APPLICABLE,
    INTENT,
    LEAST_CONFIDENCE,
    MOST_CANDIDATES,
    SENTIMENT,
    TIME,
    TOPIC,
    candidates,
    exploration_rate,
    hybrid_score,
    is_applicable,
    matches,
    trigger_score,
)

TopicSimilarity = Callable[[Sequence[str]], float | None]
"""How near the topics of a style are to what the turn is about, 0.0 to 1.0; None where either has none."""


class ArmAccount(Struct, frozen=True, kw_only=True):
    """One style as it was weighed. intent, time, sentiment, topic: the parts `trigger` is the sum of.

    ups, downs: what counts for it in this context, fractions included. sample: the draw from Beta(1 + ups, 1 + downs);
    aligned: how near it is to what the person likes here; score: 0.4 trigger + 0.3 sample + 0.3 aligned.
    left_out: why it could not be chosen; empty where it could, and only then it has a sample and a score.
    """

    id: str
    intent: float
    time: float
    sentiment: float
    topic: float
    trigger: float
    confidence: float
    ups: float
    downs: float
    aligned: float
    sample: float = 0.0
    score: float = 0.0
    left_out: str = ""


class Choice(Struct, frozen=True, kw_only=True):
    """The account of one choice, the best arm first. chosen: its style's id, None where none fits.

    epsilon: how likely any of the arms was to be taken whatever it scored; explored: whether that happened.
    ratings: how many answers with this intent were rated. pinned: the person named the style.
    """

    situation: Situation
    arms: tuple[ArmAccount, ...] = ()
    chosen: str | None = None
    epsilon: float = 0.0
    explored: bool = False
    pinned: bool = False
    ratings: float = 0.0
    at: float = 0.0


def choose_style(
    situation: Situation,
    skills: Iterable[StyleSkill],
    state: StyleState,
    rng: random.Random,
    now: float,
    topic: TopicSimilarity,
) -> Choice:
    """The style for a turn. Of those that fit, the five best by trigger are weighed; ties go to what earned more."""
    arms = [_weighed(skill, situation, state, now, topic) for skill in skills]
    rng.shuffle(arms)  # of those nobody has rated, each is among the five equally often
    arms.sort(key=lambda arm: -_mean(arm))
    applicable = [(arm, arm.trigger, 1.0) for arm in arms]
    five = candidates(applicable)
    fit = {arm.id for arm in five if arm.confidence >= LEAST_CONFIDENCE}
    accounts: list[ArmAccount] = []
    ratings = state.ratings(situation.bucket)
    epsilon = exploration_rate(int(ratings))
    explored = rng.random() < epsilon
    for arm in sorted(arms, key=lambda arm: arm.id):  # so that the same seed draws the same for the same styles
        if arm.id not in fit:
            accounts.append(structs.replace(arm, left_out=_why_not(arm, five)))
            continue
        sample = rng.betavariate(1.0 + arm.ups, 1.0 + arm.downs)
        score = hybrid_score(arm.trigger, sample, arm.aligned)
        accounts.append(structs.replace(arm, sample=sample, score=score))
    weighed = [arm for arm in accounts if not arm.left_out]
    chosen: str | None = None
    if weighed:
        chosen = rng.choice(weighed).id if explored else max(weighed, key=lambda arm: arm.score).id
    return Choice(
        situation=situation,
        arms=tuple(sorted(accounts, key=lambda arm: (bool(arm.left_out), -arm.score, -arm.trigger, arm.id))),
        chosen=chosen,
        epsilon=epsilon,
        explored=explored and chosen is not None,
        ratings=ratings,
        at=now,
    )


def _weighed(
    skill: StyleSkill, situation: Situation, state: StyleState, now: float, topic: TopicSimilarity
) -> ArmAccount:
    when = skill.trigger
    fits = {
        "intent": matches(when.intents, situation.intent),
        "time": matches(when.times, situation.time_of_day),
        "sentiment": matches(when.sentiments, situation.sentiment),
    }
    similarity = topic(when.topics) if when.topics else None
    earned = state.earned(situation.bucket, skill.id, now)
    return ArmAccount(
        id=skill.id,
        intent=INTENT * fits["intent"],
        time=TIME * fits["time"],
        sentiment=SENTIMENT * fits["sentiment"],
        topic=TOPIC * (similarity or 0.0),
        trigger=trigger_score(**fits, topic_similarity=similarity),
        confidence=earned.confidence,
        ups=earned.ups,
        downs=earned.downs,
        aligned=state.aligned(situation.bucket, skill.dimensions),
    )


def _mean(arm: ArmAccount) -> float:
    return (1.0 + arm.ups) / (2.0 + arm.ups + arm.downs)


def _why_not(arm: ArmAccount, five: Sequence[ArmAccount]) -> str:
    if not is_applicable(arm.trigger):
        return f"does not fit: {arm.trigger:.2f} of the {APPLICABLE:.2f} it needs"
    if arm not in five:
        return f"not among the {MOST_CANDIDATES} that fit best"
    return f"too little confidence: {arm.confidence:.2f} of the {LEAST_CONFIDENCE:.2f} it needs"
