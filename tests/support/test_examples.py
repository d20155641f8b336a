"""Samples of a long list are the same in each run, in the order of the list."""

from tests.support.examples import is_fuzzing, sample


def test_a_sample_is_the_same_every_time_and_differs_for_another_seed() -> None:
    cases = range(1_000)
    chosen = sample(cases, 10, "a")
    assert chosen == sample(cases, 10, "a") == sorted(chosen)
    assert len(chosen) == (1_000 if is_fuzzing() else 10)
    assert is_fuzzing() or chosen != sample(cases, 10, "b")


def test_a_short_list_is_returned_whole() -> None:
    assert list(sample("abc", 3)) == ["a", "b", "c"] == list(sample("abc", 10))
