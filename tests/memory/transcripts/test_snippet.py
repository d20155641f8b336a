"""The snippet of a text shown for a query."""

from hypothesis import given
from hypothesis import strategies as st

from clio.memory.transcripts.query import parse_query
from clio.memory.transcripts.search import SNIPPET_CHARS, extract_snippet

FILLING = "nothing of interest is said in this sentence. " * 30


def snippet_of(text: str, query: str) -> str:
    return extract_snippet(text, text, parse_query(query))


def test_a_short_text_is_shown_whole() -> None:
    assert snippet_of("fix the\n  parser", "parser") == "fix the parser"


def test_the_exact_words_are_in_the_middle() -> None:
    text = f"{FILLING} parser {FILLING} we fixed the parser today {FILLING}"
    found = snippet_of(text, "fixed the parser")
    assert "we fixed the parser today" in found
    assert found.startswith("… ") and found.endswith(" …")


def test_otherwise_the_part_with_the_most_query_words_is_shown() -> None:
    text = f"parser {FILLING} the cache of the parser was stale {FILLING}"
    assert "cache of the parser" in snippet_of(text, "stale parser caches")


def test_another_form_of_the_word_is_found() -> None:
    assert "we went" in snippet_of(f"{FILLING} we went home {FILLING}", "go")


def test_the_passage_tells_where_to_look() -> None:
    text = f"zorg {FILLING} second zorg here {FILLING}"
    assert "second zorg" in extract_snippet(text, "second zorg here", parse_query("zorg"))


@given(st.text(max_size=2_000), st.text(max_size=50))
def test_any_text_has_a_short_snippet(text: str, query: str) -> None:
    assert len(snippet_of(text, query)) <= SNIPPET_CHARS + 4
