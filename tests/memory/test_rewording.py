"""Whether two statements say the same in other words."""

from pathlib import Path

import pytest

from clio.memory.statement_relation import relate_statements
from clio.memory.statement_rewording import says_same

_LINES = (Path(__file__).parent / "data" / "rewordings.tsv").read_text(encoding="utf-8").splitlines()[1:]


@pytest.mark.parametrize("line", _LINES, ids=range(len(_LINES)))
def test_statements_in_other_words_are_the_same_and_look_alikes_are_not(line: str) -> None:
    verdict, one, other = line.split("\t")
    assert says_same(one, other) is (verdict == "same")
    assert says_same(other, one) is (verdict == "same")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("the cache calls the store", "the store calls the cache"),
        ("Redis backs the queue", "the queue backs Redis"),
        ("the frontend calls the backend over gRPC", "the backend calls the frontend over gRPC"),
        ("only admins can delete projects", "admins can only delete projects"),
        ("the frontend is written in TypeScript", "the frontend was written in TypeScript"),
        ("Kofi reviews for Mara", "Mara reviews for Kofi"),
        ("the handler may return None", "the handler must return None"),
    ],
)
def test_other_roles_tenses_and_moods_are_another_statement(one: str, other: str) -> None:
    assert not says_same(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("the database is PostgreSQL 15", "our db is postgres 15"),
        ("the session store is MongoDB 7", "the session store is mongo 7"),
    ],
)
def test_a_short_name_of_a_product_is_that_product(one: str, other: str) -> None:
    assert relate_statements(one, other) == "same"
