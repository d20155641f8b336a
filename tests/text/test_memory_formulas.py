"""Properties of the formulas of memory; their numbers are in tests/vectors."""

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clio.memory.styles import feedback
from clio.text import bandit, consolidate, embedding, scoring
from tests.support.rows import each_row

SCORES = st.floats(0, 10)
DAYS = st.floats(0, 5_000)
SHARES = st.floats(0, 1)
REWARDS = st.sampled_from([-1, 0, 1])
VECTORS = st.lists(SHARES, min_size=16, max_size=16)


@given(SCORES, DAYS, DAYS)
def test_a_weight_never_grows_with_age(score: float, one: float, more: float) -> None:
    young, old = (
        scoring.compute_decayed_weight(score, scoring.compute_decay_coefficient(days)) for days in (one, one + more)
    )
    assert 0 <= old <= young + 1e-9 <= score + 1e-6


@given(DAYS)
def test_a_score_of_ten_never_fades_and_zero_has_no_weight(days: float) -> None:
    coefficient = scoring.compute_decay_coefficient(days)
    assert scoring.compute_decayed_weight(10, coefficient) == pytest.approx(10)
    assert scoring.compute_decayed_weight(0, coefficient) == 0


@given(st.sampled_from(["fact", "event", "note", "preference", "other"]), SHARES, DAYS)
def test_importance_halves_in_its_half_life_and_unused_memories_end_at_the_cap(
    kind: str, importance: float, days: float
) -> None:
    half_life = scoring.HALF_LIFE_DAYS.get(kind, scoring.HALF_LIFE_DAYS["note"])
    later = scoring.compute_effective_importance(kind, importance, days + half_life)
    share = 1.0 if kind == "preference" else 0.5
    assert later == pytest.approx(scoring.compute_effective_importance(kind, importance, days) * share, abs=1e-9)
    assert scoring.is_faded(kind, importance, 180.001)


@given(SCORES, SCORES)
def test_explicit_scores_are_set_and_inferred_ones_are_averaged(old: float, new: float) -> None:
    assert scoring.smooth_score(old, new, explicit=True) == new
    assert min(old, new) - 1e-9 <= scoring.smooth_score(old, new) <= max(old, new) + 1e-9


@given(SCORES)
def test_every_score_is_in_a_band_and_in_the_bands_ranges(score: float) -> None:
    names = scoring.find_score_bands(score)
    assert names
    assert all(scoring.is_in_ranges(score, scoring.list_score_ranges([name])) for name in names)
    assert not scoring.is_in_ranges(score, ())


@each_row(("half_life", "floor"), [(0, 0.1), (-1, 0.1), (float("nan"), 0.1), (30, 1.0), (30, -0.1)])
def test_an_invalid_decay_is_an_error(half_life: float, floor: float) -> None:
    with pytest.raises(ValueError, match=r"half-life|floor"):
        scoring.compute_decay_coefficient(1, half_life, floor)


@given(st.lists(REWARDS, max_size=60))
def test_confidence_stays_in_its_range_and_praise_never_lowers_it(rewards: list[int]) -> None:
    confidence = 0.5
    for uses, reward in enumerate(rewards):
        after = bandit.update_confidence(confidence, reward, uses)
        assert 0.2 <= after <= 0.9
        if reward == 0:
            assert after == confidence
        confidence = after


@given(VECTORS, VECTORS, REWARDS)
def test_praise_moves_a_preference_towards_the_style_and_criticism_away(
    preference: list[float], skill: list[float], reward: int
) -> None:
    after = bandit.update_preference_vector(preference, skill, reward)
    assert all(0 <= value <= 1 for value in after)
    before, now = bandit.compute_alignment(preference, skill), bandit.compute_alignment(after, skill)
    assert 0 <= now <= 1
    if reward > 0:
        assert now >= before - 1e-9
    if reward < 0:
        assert now <= before + 1e-9


def test_the_better_arm_is_chosen_nearly_always_and_without_arms_there_is_no_choice() -> None:
    arms = [
        bandit.Arm(id="good", trigger=0.6, posterior=bandit.Posterior(ups=30)),
        bandit.Arm(id="bad", trigger=0.6, posterior=bandit.Posterior(downs=30)),
    ]
    rng = random.Random(1)
    chosen = [bandit.choose_arm(arms, 60, rng) for _ in range(2_000)]
    assert sum(arm is not None and arm.id == "good" for arm in chosen) > 1_900
    assert bandit.choose_arm([], 0, rng) is None


@given(
    st.lists(st.tuples(st.integers(), st.floats(0, 10)), max_size=50, unique_by=lambda pair: pair[0]),
    st.integers(0, 60),
)
def test_replay_draws_nothing_twice(items: list[tuple[int, float]], batch: int) -> None:
    chosen = consolidate.sample_for_replay(items, random.Random(2), batch)
    assert len(chosen) == len(set(chosen)) == min(batch, len(items))


@given(SHARES, SHARES, st.lists(SHARES, max_size=5), st.integers(1, 4))
def test_reconsolidation_keeps_only_the_stronger_memory(
    new: float, old: float, variants: list[float], most: int
) -> None:
    became = consolidate.decide_reconsolidation(new, old, variants, most)
    match became.action:
        case "updated":
            assert new > old
        case "created_variant":
            assert new <= old and len(variants) < most
        case "replaced_variant":
            assert became.replaced_index is not None and variants[became.replaced_index] == min(variants) < new
        case "discarded":
            assert len(variants) >= most and new <= min(variants)


@given(st.integers(0, 3_000), st.integers(2, 600), st.integers(0, 500))
def test_windows_cover_everything_with_the_requested_overlap(length: int, size: int, overlap: int) -> None:
    overlap = min(overlap, size - 1)
    found = embedding.compute_windows(length, size, overlap)
    covered = {place for start, end in found for place in range(start, end)}
    assert covered == set(range(length))
    assert all(later[0] == earlier[0] + size - overlap for earlier, later in itertools.pairwise(found))


@given(st.lists(st.integers(0, 500), max_size=30), st.integers(0, 2_000))
def test_drop_oldest_drops_no_more_than_necessary(sizes: list[int], most: int) -> None:
    kept = list(scoring.drop_oldest(sizes, sum, most))
    assert sum(kept) <= most
    assert sizes[len(sizes) - len(kept) :] == kept
    if len(kept) < len(sizes):
        assert sum(sizes[len(sizes) - len(kept) - 1 :]) > most


@given(st.lists(st.floats(0, 2), max_size=20))
def test_the_gate_is_strict_and_nearest_first(distances: list[float]) -> None:
    places = scoring.select_nearest(distances)
    assert len(places) <= 3
    assert all(distances[place] < 1.0 for place in places)
    assert [distances[place] for place in places] == sorted(distances[place] for place in places)


@each_row("words", ["", "ok", "it works", "what about the tests?", "正しくない"])
def test_text_without_a_complaint_has_no_category(words: str) -> None:
    assert feedback.classify_complaint(words) is None


@given(st.floats(0, 100 * 86_400))
def test_recency_falls_from_one_to_zero(seconds: float) -> None:
    assert 0.0 <= scoring.compute_recency(seconds) <= 1.0
    assert scoring.compute_recency(seconds) >= scoring.compute_recency(seconds + 1_000)
