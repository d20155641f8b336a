"""The task type of a request."""

import pytest

from clio.memory.preferences.task_types import MAX_CHARS, TaskType, TaskTypes, detect_task_type
from tests.memory.preferences.corpus import scenario_lines

BOOK = TaskTypes()


def test_requests_get_the_right_task_type() -> None:
    lines = scenario_lines()
    right = sum(detect_task_type(text, BOOK) == name for text, name in lines)
    assert len(lines) >= 130
    assert right / len(lines) >= 0.95
    silent = [text for text, name in lines if name is None]
    assert [detect_task_type(text, BOOK) for text in silent] == [None] * len(silent)


def test_a_traceback_means_debugging_whatever_it_contains() -> None:
    trace = 'Traceback (most recent call last):\n  File "review.py", line 3, in commit\nValueError: write the docs'
    assert detect_task_type(trace, BOOK) == "debugging"


def test_pasted_code_does_not_decide_the_task_type() -> None:
    assert detect_task_type("what does this do?\n```\ngit commit\npytest\n```", BOOK) is None


def test_a_tie_has_no_task_type() -> None:
    assert detect_task_type("README and git", BOOK) is None
    assert detect_task_type("the code and its tests", BOOK) is None


def test_keywords_of_a_users_own_scenario_count() -> None:
    task_types = TaskTypes({"infra": TaskType(keywords=("terraform", "helm chart"))})
    assert detect_task_type("terraform plan looks odd", BOOK) is None
    assert detect_task_type("terraform plan looks odd", task_types) == "infra"


@pytest.mark.parametrize("filling", ["x = 1\n", "the quick brown fox. "])
def test_a_question_before_or_after_a_long_text_is_found(filling: str) -> None:
    long = filling * MAX_CHARS
    assert detect_task_type(f"review my changes\n{long}", BOOK) == "review"
    assert detect_task_type(f"{long}\nreview my changes", BOOK) == "review"
