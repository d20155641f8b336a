"""The value that a sentence gives to the subject of an earlier statement, in seven languages."""

from pathlib import Path

import pytest

from clio.memory.consolidation.alignment import align
from clio.memory.consolidation.value_corrections import find_corrected_value, read_value_corrections

_LINES = (Path(__file__).parent / "data" / "changed_values.tsv").read_text(encoding="utf-8").splitlines()[1:]


@pytest.mark.parametrize("line", _LINES, ids=range(len(_LINES)))
def test_a_sentence_changes_only_the_value_that_it_gives(line: str) -> None:
    _, old, said, new = line.split("\t")
    changes = [change for one in read_value_corrections(said) if (change := find_corrected_value(old, one))]
    assert [change.apply(old) for change in changes[:1]] == ([new] if new else [])


@pytest.mark.parametrize(
    ("old", "said"),
    [
        ("the CI timeout is 30 minutes", "I timed the build just now, 11 steps it is"),
        ("Lisbon sends data to Quito on the amber channel", "Quito sends data to Lisbon on the violet channel"),
        ("the review is on Tuesday", "this week only, the review is on Friday"),
        ("the docs are built with Sphinx", "intern told me the docs are built with MkDocs, but he was joking"),
        ("we ship on Thursday", "last month we shipped on a Monday and it was a mess"),
        ("游戏每局最多 12 人", "写一个测试,人数设成 99 人"),
        ("备用端口是 6789", "把这个忘了吧"),
    ],
)
def test_what_limits_reports_orders_or_tells_the_past_gives_no_value(old: str, said: str) -> None:
    assert not any(find_corrected_value(old, one) for one in read_value_corrections(said))


def test_a_unit_changes_with_its_number() -> None:
    found = align("the retry limit is 3 minutes", "actually 5 seconds")
    assert found is not None
    assert found.apply("the retry limit is 3 minutes") == "the retry limit is 5 seconds"


def test_an_article_changes_with_its_noun() -> None:
    found = align("the mascot is a fox", "actually it is an owl")
    assert found is not None
    assert found.apply("the mascot is a fox") == "the mascot is an owl"


def test_a_statement_without_a_sign_of_change_has_to_repeat_the_whole_subject() -> None:
    whole = find_corrected_value("the analytics db is in us-west-2", "the analytics db is in eu-north-1")
    part = find_corrected_value("the analytics db is in us-west-2", "the db is in eu-north-1")
    assert whole is not None
    assert whole.is_stated
    assert part is None
