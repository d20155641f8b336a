"""A statement about another property of a thing, or about another thing, replaces no value, whether it says "now"."""

from itertools import permutations, product
from pathlib import Path

import pytest

from clio.memory.consolidation.new_values import judge_statement, read_corrections
from clio.memory.statement_relation import relate_statements

PROPERTIES = [
    "the staging port is 9090",
    "staging runs Ubuntu 24",
    "staging has 4 replicas",
    "the staging host has 8 cores",
    "the staging branch is protected",
    "the staging cache is 2 GB",
    "the staging cache is stored on S3",
    "staging is maintained by Ronny",
    "staging is backed up nightly",
    "staging supports Python 3.9",
    "staging is deployed on Mondays",
    "the staging logs are kept for 30 days",
    "staging needs two approvals",
    "the staging license is MIT",
    "staging costs 300 euros a month",
    "staging answers within 200 ms",
]
"""One for each property; none is another value of one of the others."""


def is_changed(old: str, new: str) -> bool:
    own = read_corrections(new)
    judged = judge_statement(old, new, own, "explain the parser", is_reply=False, is_same_session=False)
    return (judged is not None and judged.is_certain) or relate_statements(old, new) == "supersedes"


@pytest.mark.parametrize("ending", ["", " now"])
def test_no_property_takes_the_place_of_another_one(ending: str) -> None:
    taken = [(old, new) for old, new in permutations(PROPERTIES, 2) if is_changed(old, new + ending)]
    assert taken == []


def test_a_change_of_a_thing_is_no_other_value_of_its_other_properties() -> None:
    data = Path(__file__).parents[1] / "data" / "statement_properties_third.tsv"
    lines = [line for line in data.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    rows = [line.format("billing", "billing").split("\t") for line in lines]
    # Who owns it may maintain it, and where its files are may be where it is.
    rows = [row for row in rows if not any(word in row[0] for word in ("owns", "maintained", "reviews", "files"))]
    taken = [
        (old, new) for one, other in permutations(rows, 2) for old, new in product(one, other) if is_changed(old, new)
    ]
    assert len(rows) == 26 and taken == []
    assert all(is_changed(old, new) for old, new in rows)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("the cache lives in Redis", "the cache lives in memcached now"),
        ("the standup is at noon", "the standup is at 1pm now"),
        ("the codename is walnut", "the codename is Red Fox now"),
        ("retention is 30 days", "retention is 2 weeks now"),
    ],
)
def test_another_value_of_the_same_property_replaces_the_former_one(old: str, new: str) -> None:
    assert relate_statements(old, new) == "supersedes"
