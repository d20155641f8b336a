"""A table checked as one test fails if any row fails, and names each row that fails."""

import inspect

import pytest

from tests.support.rows import each_row


def test_each_failing_row_is_named_and_every_row_is_run() -> None:
    seen: list[tuple[int, str]] = []

    @each_row(("number", "word"), [(1, "one"), (2, "two"), (3, "three")])
    def check(number: int, word: str) -> None:
        seen.append((number, word))
        assert number == 2

    with pytest.raises(AssertionError, match="2 of 3 rows") as failed:
        check()
    assert seen == [(1, "one"), (2, "two"), (3, "three")]
    assert all(word in str(failed.value) for word in ("'one'", "'three'")) and "'two'" not in str(failed.value)


def test_any_exception_of_a_row_is_a_failure() -> None:
    @each_row("number", [0, 1])
    def check(number: int) -> None:
        if number:
            with pytest.raises(ValueError):
                int(number)
        assert 1 // number

    with pytest.raises(AssertionError, match="2 of 2 rows") as failed:
        check()
    assert "ZeroDivisionError" in str(failed.value) and "DID NOT RAISE" in str(failed.value)


def test_two_tables_make_every_combination_and_fixtures_are_passed_on() -> None:
    seen: list[str] = []

    @each_row("a", "xy")
    @each_row("b", iter("123"))
    def check(fixture: str, a: str, b: str) -> None:
        seen.append(fixture + a + b)

    assert list(inspect.signature(check).parameters) == ["fixture"]
    check(fixture="f")
    assert seen == ["fx1", "fx2", "fx3", "fy1", "fy2", "fy3"]


def test_an_empty_table_and_a_row_of_another_length_are_errors() -> None:
    with pytest.raises(ValueError, match="no rows"):
        each_row("a", [])

    @each_row(("a", "b"), [(1,)])
    def check(a: int, b: int) -> None: ...

    with pytest.raises(ValueError, match="zip"):
        check()
