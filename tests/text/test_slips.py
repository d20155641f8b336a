"""Mistyped names are recognized, and no name is suggested for another word."""

from clio.config.command_line import did_you_mean
from clio.text.fuzzy import count_edits, find_nearest_name
from tests.support.rows import each_row

NAMES = ("approve", "cost", "diff", "help", "memory", "model", "prompt", "redo", "session", "undo", "worktree")


@each_row(
    ("one", "other", "count"),
    [("", "abc", 3), ("memroy", "memory", 1), ("port", "prompt", 3), ("same", "same", 0), ("abcd", "badc", 2)],
)
def test_edits_are_counted(one: str, other: str, count: int) -> None:
    assert count_edits(one, other) == count_edits(other, one) == count


@each_row(
    ("typed", "expected"),
    [
        ("hlep", "help"),
        ("memroy", "memory"),
        ("sesion", "session"),
        ("worktreee", "worktree"),
        ("aprov", "approve"),
        ("udo", "undo"),
        ("port", None),  # three from "prompt"
        ("must", None),  # two of four from "cost"
        ("x", None),
        ("", None),
        ("remember", None),
        ("h" * 5_000, None),
    ],
)
def test_only_a_similar_name_is_suggested(typed: str, expected: str | None) -> None:
    assert find_nearest_name(typed, NAMES) == expected


def test_of_equally_similar_names_the_one_with_the_same_first_letter_is_suggested() -> None:
    assert find_nearest_name("rndo", ["undo", "redo"]) == "redo"


def test_a_unique_prefix_is_similar() -> None:
    assert did_you_mean("--work", NAMES) == "; did you mean 'worktree'?"
    assert did_you_mean("--mo", NAMES) == ""
    assert did_you_mean("MAX-COTS", ["max_cost", "max_steps"]) == "; did you mean 'max_cost'?"
