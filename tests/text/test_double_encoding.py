"""Doubly encoded text is repaired, and other text is unchanged."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clio.text.json_data import repair_double_utf8
from tests.support.rows import each_row

FINE = [
    "",
    "plain",
    "données 漢字 ✓",
    "naïve façade – fine",
    "NESTLÉ® and CAFÉ®",
    "«café» 20 °C ½ ±1 µs",
    "Ã© is a broken é",
    "what prints Ã© instead?",
    "naïveté",
    "MAÇÃ, SÃO PAULO",
    "Ünïcödé",
    "Â",
    "\x85",
    "é\xa0!",
    "lone \ud83d surrogate Ã©",
    "\xc0\xaf overlong \xc1\xbf",
    "\xed\xa0\x80 half of a pair",
]


def twice(text: str) -> str:
    """Return the text encoded twice."""
    return text.encode().decode("latin-1")


@each_row("text", FINE)
def test_correct_text_is_not_changed(text: str) -> None:
    assert repair_double_utf8(text) == text


@each_row("text", ["données", "漢字", "a – b", "voilà", "Übung", "✓ done", "ok 😀", "Ünïcödé"])
@each_row("times", [1, 2])
def test_text_encoded_two_or_three_times_is_repaired(text: str, times: int) -> None:
    broken = text
    for _ in range(times):
        broken = twice(broken)
    assert broken != text
    assert repair_double_utf8(broken) == text


@pytest.mark.parametrize(
    ("broken", "whole"),
    [
        (twice("données 漢字")[:-1], "données 漢" + twice("字")[:-1]),
        (twice("données 漢字")[:-1] + " ", "données 漢" + twice("字")[:-1] + " "),
        (twice("ok 😀😀")[:-1], "ok 😀" + twice("😀")[:-1]),
    ],
)
def test_an_incomplete_end_stays_and_the_rest_is_repaired(broken: str, whole: str) -> None:
    assert repair_double_utf8(broken) == whole


def test_a_single_character_is_repaired_only_if_all_text_was_encoded_twice() -> None:
    for text in ("é", "à la carte", "35 °C"):
        assert repair_double_utf8(twice(text)) == twice(text)
        assert repair_double_utf8(twice(text), expected=True) == text
    assert repair_double_utf8("NESTLÉ®", expected=True) == "NESTLÉ®"
    assert repair_double_utf8("naïveté", expected=True) == "naïveté"


@given(st.text(st.characters(max_codepoint=0x7F) | st.characters(min_codepoint=0x100)))
@example("漢字")
def test_text_beyond_latin_1_is_never_changed(text: str) -> None:
    if any(ord(char) > 0xFF for char in text):
        assert repair_double_utf8(text, expected=True) == text


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_repaired_text_was_encoded_twice(text: str) -> None:
    better = repair_double_utf8(twice(text))
    assert better == twice(text) or better == text or repair_double_utf8(text) == better
