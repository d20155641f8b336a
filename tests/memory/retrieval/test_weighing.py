"""The arithmetic of scores: the range of each multiplier, and what must never hide a result."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clio.memory.retrieval.scoring import (
    SOURCE_RULES,
    Candidate,
    Scored,
    Source,
    TextMatcher,
    Transcribed,
    compute_meaning,
    compute_recency,
    compute_reciprocal_ranks,
    compute_strength_weight,
    explain_match,
    get_tier,
    rank,
)
from clio.text.translation import tr_phrases

DAY = 86_400.0


def describe_match(item: Scored) -> str:
    return tr_phrases(explain_match(item))


NOW = 1e9


def candidate(source: Source, **fields: object) -> Candidate:
    given = {"source": source, "id": "x", "text": ""} | fields
    return Candidate(**given)  # pyright: ignore[reportArgumentType]


@given(st.sampled_from(sorted(SOURCE_RULES)), st.floats(0.0, 1e12))
def test_age_reduces_a_score_by_less_than_a_third(source: Source, when: float) -> None:
    assert 0.7 <= compute_recency(candidate(source, when=when), NOW) <= 1.0


@pytest.mark.parametrize("source", [source for source, kind in SOURCE_RULES.items() if kind.half_life_days])
def test_half_of_the_age_reduction_is_reached_after_one_half_life(source: Source) -> None:
    half_life = SOURCE_RULES[source].half_life_days or 0.0
    assert compute_recency(candidate(source, when=NOW), NOW) == 1.0
    assert compute_recency(candidate(source, when=NOW - half_life * DAY), NOW) == pytest.approx(0.85)
    assert compute_recency(candidate(source), NOW) == pytest.approx(0.85)


def test_age_only_decides_ties_between_passages_of_sessions() -> None:
    assert compute_recency(candidate("session", when=NOW), NOW) == compute_recency(candidate("session", when=1.0), NOW)


def test_a_record_without_strength_is_not_weakened() -> None:
    assert (compute_strength_weight(None), compute_strength_weight(1.0), compute_strength_weight(0.0)) == (
        1.0,
        1.0,
        0.7,
    )


def test_tier_factors_are_those_of_the_document_at_half_weight() -> None:
    sources: tuple[Source, ...] = ("trimmed", "memory", "preference")
    found = {source: get_tier(candidate(source)) for source in sources}
    assert found == {"trimmed": ("working", 1.0), "memory": ("semantic", 0.85), "preference": ("behavioral", 0.8)}
    assert get_tier(candidate("knowledge", kind="workflow")) == ("procedural", 0.8)
    assert get_tier(candidate("session")) == ("episodic", 0.75)


def test_similarity_of_meaning_is_the_cosine_and_never_negative() -> None:
    assert compute_meaning(0.0) == 1.0 and compute_meaning(2.0) == 0.0
    assert compute_meaning(1.0) == pytest.approx(0.5)


def test_a_message_that_only_asks_ranks_after_one_that_states_the_same() -> None:
    asks = candidate("trimmed", id="asks", text="what is the codename", asks=True)
    states = candidate("trimmed", id="states", text="the codename is Alabaster")
    found, _ = rank("codename", [asks, states], now=NOW, vectors=False)
    assert [one.candidate.id for one in found] == ["states", "asks"]


def test_a_memory_confirmed_more_than_once_is_first_and_the_reason_says_so() -> None:
    once = candidate("memory", id="once", text="staging listens on port 8080")
    twice = candidate("memory", id="twice", text="staging listens on port 8081", is_corroborated=True)
    found, _ = rank("which port does staging listen on", [once, twice], now=NOW)
    assert [one.candidate.id for one in found] == ["twice", "once"]
    assert "confirmed more than once" in describe_match(found[0])


def test_reciprocal_ranks_are_summed_over_lists() -> None:
    found = compute_reciprocal_ranks([[7, 8, 9], [8]])
    assert found[7] == 1.0
    assert found[8] == pytest.approx(61 / 62 + 1.0)
    assert found[9] == pytest.approx(61 / 63)


TEXTS = ["the parser fails on empty input", "the parser is fast", "a poem about ferns"]


def test_a_fit_is_a_share_of_the_query_independent_of_other_results() -> None:
    alone = TextMatcher("parser input", TEXTS, Transcribed()).fit(TEXTS[0])
    among = TextMatcher("parser input", [*TEXTS, "input of the parser, all of it"], Transcribed()).fit(TEXTS[0])
    assert alone.share == pytest.approx(among.share, abs=0.1) and alone.enough


def test_the_exact_query_fits_best() -> None:
    ruler = TextMatcher("empty input", TEXTS, Transcribed())
    assert ruler.fit("on empty input").share == 1.0
    assert ruler.fit("input that is empty").share < 1.0
    assert ruler.fit("input, after many other words that say nothing, empty").share < ruler.fit("input empty").share


def test_a_word_that_many_passages_have_counts_less() -> None:
    rare = TextMatcher("parser ferns", TEXTS, Transcribed(passages=5_000, words={"parser": 4_000, "ferns": 2}))
    assert rare.fit("ferns").share > 2 * rare.fit("parser").share


def test_a_long_text_is_scored_by_its_best_passage() -> None:
    long = "\n\n".join(["nothing of note " * 30] * 5 + ["the parser fails on empty input"] + ["and so on " * 60] * 3)
    fit = TextMatcher("parser empty input", [], Transcribed()).fit(long)
    assert fit.enough and "parser fails" in fit.text and len(fit.text) <= 700
