"""Preferences that moved by three points of ten within thirty days are reported once."""

from pathlib import Path

import pytest

from clio.memory.preferences.session_start import PreferenceVersion, Shifts, find_preference_shifts, find_style_shifts
from tests.memory.store.versions_support import DAY, NOW, Time
from tests.support.wording import mentions


def held(score: float, days_ago: float, text: str = "tabs") -> PreferenceVersion:
    return PreferenceVersion(id="one", text=text, score=score, at=NOW - days_ago * DAY)


@pytest.mark.parametrize(
    ("history", "size"),
    [
        ([held(9, 60), held(6, 10)], 0.3),
        ([held(2, 20), held(8, 10)], 0.6),
        ([held(9, 60), held(6.1, 10)], None),
        ([held(9, 60), held(2, 40)], None),
        ([held(9, 25), held(2, 20), held(9, 10)], None),
        ([held(9, 60), held(8, 40), held(5, 5)], 0.3),
        ([held(9, 1)], None),
        ([], None),
    ],
)
def test_three_points_within_thirty_days_are_a_shift(history: list[PreferenceVersion], size: float | None) -> None:
    found = [round(shift.size, 6) for shift in find_preference_shifts(history, NOW)]
    assert found == ([] if size is None else [size])


def test_each_dimension_of_a_style_is_compared() -> None:
    before, after = {"verbosity": 0.8, "humor": 0.2, "gone": 1.0}, {"humor": 0.4, "verbosity": 0.5, "new": 1.0}
    assert find_style_shifts(before, after) == [("verbosity", 0.8, 0.5)]


@pytest.fixture
def time(tmp_path: Path) -> Time:
    return Time(tmp_path)


def reports(time: Time) -> Shifts:
    return Shifts(time.home, time.memories.user, clock=lambda: time.now)


def test_a_shift_is_reported_once_and_again_only_after_another_shift(time: Time) -> None:
    time.preferences.add("tabs", score=9, explicit=True)
    time.passes(40)
    assert reports(time).take_new() == []
    time.preferences.add("tabs", score=4, explicit=True)
    assert reports(time).take_new() == ["Preference changed: “tabs” from 9 to 4 of 10."]
    assert reports(time).take_new() == []
    time.passes(5)
    time.preferences.add("tabs", score=8, explicit=True)
    assert reports(time).take_new() == ["Preference changed: “tabs” from 4 to 8 of 10."]
    assert reports(time).take_new() == []


def test_a_rule_that_reverses_a_preference_is_reported_with_its_text(time: Time) -> None:
    time.preferences.add("tabs", score=9)
    time.passes()
    time.preferences.add("never use tabs", score=0.5, explicit=True)
    assert [
        mentions(line, "“tabs”", "9 of 10", "“never use tabs”", "0.5 of 10") for line in reports(time).take_new()
    ] == [True]


def test_a_forgotten_or_undone_preference_is_no_shift(time: Time) -> None:
    time.preferences.add("tabs", score=9, explicit=True)
    time.passes()
    time.preferences.add("tabs", score=2, explicit=True)
    change = time.logs.last()
    assert change is not None
    time.memories.revert(change)
    assert reports(time).take_new() == []


def test_a_style_that_moved_within_thirty_days_is_reported_once(time: Time) -> None:
    moved = "Preferred style of answers (fix) changed: code focus from 0.5 to 0.9."
    assert reports(time).take_new({"fix": {"code_focus": 0.5}}) == []
    time.passes(8)
    assert reports(time).take_new({"fix": {"code_focus": 0.7}}) == []
    time.passes(8)
    assert reports(time).take_new({"fix": {"code_focus": 0.9}}) == [moved]
    assert reports(time).take_new({"fix": {"code_focus": 0.9}}) == []


def test_a_style_that_moved_slowly_is_no_shift(time: Time) -> None:
    for step in range(12):
        assert reports(time).take_new({"fix": {"verbosity": 0.05 * step}}) == []
        time.passes(7)


def test_nothing_is_written_if_there_is_nothing_to_report(time: Time) -> None:
    assert reports(time).take_new() == []
    assert not (time.home / "shifts.json").exists()
