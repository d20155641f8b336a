"""The arithmetic of a score: what each multiplier may do, and what may never bury anything."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clio.memory.retrieval.results import LAYERS, Found, Layer
from clio.memory.retrieval.unified_ranking import (
    HALF_LIFE_DAYS,
    Ruler,
    fused,
    meaning_of,
    recency,
    reciprocal_ranks,
    strength_weight,
    tier_of,
)
from clio.memory.transcripts.transcript_records import Having

DAY = 86_400.0


@given(st.sampled_from(LAYERS), st.one_of(st.none(), st.floats(-1e9, 1e12)))
def test_age_takes_away_less_than_a_third(layer: Layer, age: float | None) -> None:
    assert 0.7 <= recency(layer, age) <= 1.0


@pytest.mark.parametrize("layer", LAYERS)
def test_half_of_what_age_may_take_is_gone_after_a_half_life(layer: Layer) -> None:
    assert recency(layer, 0.0) == 1.0
    assert recency(layer, HALF_LIFE_DAYS[layer] * DAY) == recency(layer, None) == pytest.approx(0.85)


def test_what_has_no_strength_is_not_weakened() -> None:
    assert (strength_weight(None), strength_weight(1.0), strength_weight(0.0)) == (1.0, 1.0, 0.7)


def test_tiers_are_those_of_the_document_at_half_their_weight() -> None:
    found = {source: tier_of(Found(source=source, id="", text="")) for source in ("trimmed", "memory", "preference")}
    assert found == {"trimmed": ("working", 1.0), "memory": ("semantic", 0.85), "preference": ("behavioral", 0.8)}
    assert tier_of(Found(source="knowledge", id="", text="", kind="workflow")) == ("procedural", 0.8)
    assert tier_of(Found(source="session", id="", text="")) == ("episodic", 0.75)


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_words_and_meaning_are_joined_convexly(words: float, meaning: float, share: float) -> None:
    assert min(words, meaning) - 1e-9 <= fused(words, meaning, share) <= max(words, meaning) + 1e-9
    assert fused(words, None, share) == fused(words, meaning, 0.0) == words


def test_meaning_runs_from_chance_to_sameness() -> None:
    assert meaning_of(0.0) == 1.0 and meaning_of(2.0) == 0.0
    assert 0.4 < meaning_of(1.0) < 0.6


def test_reciprocal_ranks_are_the_sum_over_lists() -> None:
    found = reciprocal_ranks([[7, 8, 9], [8]])
    assert found[7] == 1.0
    assert found[8] == pytest.approx(61 / 62 + 1.0)
    assert found[9] == pytest.approx(61 / 63)


TEXTS = ["the parser fails on empty input", "the parser is fast", "a poem about ferns"]


def test_a_fit_is_a_share_of_the_query_whatever_else_was_found() -> None:
    alone = Ruler("parser input", TEXTS, Having()).fit(TEXTS[0])
    among = Ruler("parser input", [*TEXTS, "input of the parser, all of it"], Having()).fit(TEXTS[0])
    assert alone.score == pytest.approx(among.score, abs=0.1) and alone.enough


def test_the_query_as_it_was_typed_fits_best() -> None:
    ruler = Ruler("empty input", TEXTS, Having())
    assert ruler.fit("on empty input").score == 1.0
    assert ruler.fit("input that is empty").score < 1.0
    assert ruler.fit("input, after many other words that say nothing, empty").score < ruler.fit("input empty").score


def test_a_word_that_many_passages_have_counts_less() -> None:
    rare = Ruler("parser ferns", TEXTS, Having(passages=5_000, words={"parser": 4_000, "ferns": 2}))
    assert rare.fit("ferns").score > 2 * rare.fit("parser").score


def test_a_long_text_is_judged_by_its_best_passage() -> None:
    long = "\n\n".join(["nothing of note " * 30] * 5 + ["the parser fails on empty input"] + ["and so on " * 60] * 3)
    fit = Ruler("parser empty input", [], Having()).fit(long)
    assert fit.enough and "parser fails" in fit.text and len(fit.text) <= 700
