"""`mentions` is false as soon as one fact is missing."""

import pytest

from tests.support.rows import each_row
from tests.support.wording import mentions

TEXT = "Nothing else.\nForgotten, and saved in the archive: d-12 `we deploy`. /memory undo brings it back.\n"


@pytest.mark.parametrize("facts", [("Forgotten", "d-12", "/memory undo"), ("we deploy",), ("archive", "`we deploy`")])
def test_it_finds_facts_in_one_line_and_in_order(facts: tuple[str, ...]) -> None:
    assert mentions(TEXT, *facts)


@each_row(
    "facts",
    [("Forgotten", "d-13"), ("d-1",), ("d-12", "Forgotten"), ("Nothing", "d-12"), ("undo", "undo"), ("forgotten",)],
    ids=["missing", "part of a word", "wrong order", "two lines", "only once", "wrong case"],
)
def test_it_is_false_when_a_fact_is_missing(facts: tuple[str, ...]) -> None:
    assert not mentions(TEXT, *facts)
