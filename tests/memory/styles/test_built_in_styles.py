"""The built-in response styles."""

import itertools
import math

import pytest

from clio.memory.styles.selection import INTENTS, SENTIMENTS, TIMES, load_built_in_styles
from clio.memory.styles.style_state import DIMENSIONS, NEUTRAL, StyleSkill
from clio.prompt_files import load_prompt
from clio.text.bandit import compute_trigger_score, is_applicable, is_trigger_match

IDS = {skill.id for skill in load_built_in_styles()}
MOST_WORDS = 60


def fitting(intent: str, sentiment: str = "neutral", part: str = "morning") -> set[str]:
    """Return the applicable styles, whatever the topic of the turn."""
    return {skill.id for skill in load_built_in_styles() if is_applicable(trigger(skill, intent, sentiment, part))}


def trigger(skill: StyleSkill, intent: str, sentiment: str, part: str) -> float:
    when = skill.trigger
    return compute_trigger_score(
        intent=is_trigger_match(when.intents, intent),
        time=is_trigger_match(when.times, part),
        sentiment=is_trigger_match(when.sentiments, sentiment),
        topic_similarity=None,
    )


def test_there_are_ten() -> None:
    assert {
        "concise", "detailed", "teaching", "precise", "casual",
        "proactive", "reserved", "reviewer", "summary", "encouraging",
    } == IDS  # fmt: skip


@pytest.mark.parametrize("intent", INTENTS)
def test_every_intent_has_at_least_three_styles_at_any_time_and_for_any_sentiment(intent: str) -> None:
    for sentiment, part in itertools.product(SENTIMENTS, TIMES):
        styles = fitting(intent, sentiment, part)
        assert len(styles) >= 3
        assert {"concise", "detailed"} <= styles


@pytest.mark.parametrize("intent", INTENTS)
def test_no_intent_has_more_styles_than_are_compared(intent: str) -> None:
    """With more than five, some would never be tried."""
    assert len(fitting(intent)) <= 5


def test_every_style_fits_some_intent() -> None:
    assert set[str]().union(*map(fitting, INTENTS)) == IDS


@pytest.mark.parametrize("skill", load_built_in_styles(), ids=lambda skill: skill.id)
def test_every_style_is_complete(skill: StyleSkill) -> None:
    head = load_prompt(f"styles/{skill.id}").split("---")[1]

    assert [name for name in DIMENSIONS if f"\n{name}:" not in head] == []
    assert skill.name and skill.summary and skill.trigger.topics
    assert len(skill.text.split()) <= MOST_WORDS
    assert set(skill.trigger.intents) <= {*INTENTS, "any"}
    assert set(skill.trigger.times) <= {*TIMES, "any"}
    assert set(skill.trigger.sentiments) <= {*SENTIMENTS, "any"}


def test_no_two_styles_are_similar() -> None:
    for one, other in itertools.combinations(load_built_in_styles(), 2):
        assert math.dist(one.dimensions, other.dimensions) >= 0.5, (one.id, other.id)
        shared = set(one.text.lower().split()) & set(other.text.lower().split())
        assert len(shared) <= len(set(one.text.lower().split())) / 2, (one.id, other.id)


def test_before_any_rating_all_styles_are_equally_near_to_the_user() -> None:
    distances = [math.dist(skill.dimensions, NEUTRAL) for skill in load_built_in_styles()]

    assert max(distances) - min(distances) <= 0.15


@pytest.mark.parametrize("skill", load_built_in_styles(), ids=lambda skill: skill.id)
def test_a_style_is_only_about_wording(skill: StyleSkill) -> None:
    """What may be run, read or changed is decided elsewhere, so no style may mention it."""
    forbidden = ("tool", "command", "permission", "approv", "run ", "edit ", "delete", "commit", "system prompt")

    assert [word for word in forbidden if word in skill.text.lower()] == []
