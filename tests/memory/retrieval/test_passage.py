"""Of a long text the part is shown that says most of what is asked for."""

from hypothesis import given
from hypothesis import strategies as st

from clio.memory.retrieval.evidence import extract_passage

FILLER = "nothing of note was said here and the talk went on "


def test_a_short_text_is_whole_and_on_one_line() -> None:
    assert extract_passage("one\n two", frozenset({"x"}), 100) == "one two"


def test_the_part_with_the_words_is_shown() -> None:
    text = FILLER * 40 + "the staging port is 8443 " + FILLER * 40
    shown = extract_passage(text, frozenset({"stag", "port"}), 200)
    assert "staging port is 8443" in shown
    assert shown.startswith("…") and shown.endswith("…")
    assert len(shown) <= 200


def test_the_part_with_more_of_them_wins_over_the_first() -> None:
    text = FILLER + "a port in the harbour " + FILLER * 20 + "the port of staging " + FILLER * 20
    assert "port of staging" in extract_passage(text, frozenset({"stag", "port"}), 120)


def test_the_beginning_where_nothing_is_asked_for() -> None:
    shown = extract_passage("first words " + FILLER * 20, frozenset(), 60)
    assert shown.startswith("first words nothing") and shown.endswith("…")


def test_one_endless_word_is_cut() -> None:
    assert extract_passage("x" * 500, frozenset({"x" * 500}), 50) == "x" * 48 + "…"


@given(
    text=st.text(max_size=300),
    wanted=st.frozensets(st.sampled_from(["a", "b", "0"])),
    chars=st.integers(min_value=10, max_value=120),
)
def test_never_longer_than_allowed_and_always_a_part_of_the_text(text: str, wanted: frozenset[str], chars: int) -> None:
    shown = extract_passage(text, wanted, chars)
    line = " ".join(text.split())
    assert len(shown) <= chars
    assert shown == line or shown.strip("…").strip() in line
