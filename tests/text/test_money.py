"""Amounts in whole micro-dollars, and their display."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clio.text.formatting import Cost, dollars_to_micros, format_money
from tests.support.rows import each_row


@each_row(
    ("micros", "shown"),
    [
        (0, "$0"), (1, "<$0.0001"), (2_100, "$0.0021"), (5_000, "$0.005"), (21_000, "$0.021"), (500_000, "$0.50"),
        (1_000_000, "$1.00"), (12_345_678, "$12.35"), (1_234_500_000, "$1,234.50"),
    ],
)  # fmt: skip
def test_amounts_are_formatted_for_reading(micros: int, shown: str) -> None:
    assert format_money(micros) == shown


@given(st.integers(min_value=0, max_value=10**12 - 1))
def test_dollars_become_micro_dollars_without_loss(micros: int) -> None:
    assert dollars_to_micros(f"{micros // 10**6}.{micros % 10**6:06}") == micros


@each_row("text", ["", ".", "-1", "1e3", "$2", "two", "1,5", "nan", "1000000"])
def test_an_invalid_amount_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no amount"):
        dollars_to_micros(text)


def test_a_sum_with_an_unknown_part_says_so() -> None:
    known, unknown = Cost(micro_dollars=21_000), Cost(unpriced_tokens=900)
    assert (known.text, (known + unknown).text, unknown.text) == ("$0.021", "$0.021+", "")
    assert [cost.is_known for cost in (known, known + unknown, unknown)] == [True, False, False]
