"""Of a long text the part that answers the query best is shown."""

from hypothesis import given
from hypothesis import strategies as st

from clio.memory.retrieval.evidence import extract_passage

FILLER = "nothing of note was said here and the talk went on "


def test_a_short_text_is_shown_whole_on_one_line() -> None:
    assert extract_passage("one\n two", frozenset({"x"}), 100) == "one two"


def test_the_part_with_the_query_words_is_shown() -> None:
    text = FILLER * 40 + "the staging port is 8443 " + FILLER * 40
    passage = extract_passage(text, frozenset({"stag", "port"}), 200)
    assert "staging port is 8443" in passage
    assert passage.startswith("…") and passage.endswith("…")
    assert len(passage) <= 200


def test_a_later_part_with_more_query_words_is_preferred() -> None:
    text = FILLER + "a port in the harbour " + FILLER * 20 + "the port of staging " + FILLER * 20
    assert "port of staging" in extract_passage(text, frozenset({"stag", "port"}), 120)


def test_without_a_query_the_beginning_is_shown() -> None:
    passage = extract_passage("first words " + FILLER * 20, frozenset(), 60)
    assert passage.startswith("first words nothing") and passage.endswith("…")


def test_one_very_long_word_is_cut() -> None:
    assert extract_passage("x" * 500, frozenset({"x" * 500}), 50) == "x" * 48 + "…"


@given(
    text=st.text(max_size=300),
    wanted=st.frozensets(st.sampled_from(["a", "b", "0"])),
    chars=st.integers(min_value=10, max_value=120),
)
def test_never_longer_than_allowed_and_always_a_part_of_the_text(text: str, wanted: frozenset[str], chars: int) -> None:
    passage = extract_passage(text, wanted, chars)
    line = " ".join(text.split())
    assert len(passage) <= chars
    assert passage == line or passage.strip("…").strip() in line
