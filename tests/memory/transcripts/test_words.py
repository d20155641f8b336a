"""Parsing of queries, and the terms that queries and index share."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clio.memory.transcripts.query import (
    MAX_TERMS,
    extract_stems,
    list_other_forms,
    parse_query,
    prepare_for_index,
    split_folded_words,
)
from clio.text.formatting import MAX_PASSAGES, PASSAGE_CHARS, split_passages
from clio.text.vocabulary import porter_stem


def terms(text: str) -> list[str]:
    return [term.forms[0] for term in parse_query(text).terms]


def test_stop_words_are_left_out() -> None:
    assert terms("why did the parser fail?") == ["parser", "fail"]


def test_remains_of_contractions_are_stop_words() -> None:
    assert terms("What's the server's port? We don't know") == ["server", "port", "know"]


def test_a_query_of_stop_words_only_keeps_them() -> None:
    assert terms("what was it") == ["what", "was", "it"]


def test_a_word_counts_once_in_any_form() -> None:
    assert terms("test tests testing") == ["test"]


@pytest.mark.parametrize("written", ["parse_args", "parse-args", "parse.args"])
def test_a_compound_is_searched_by_parts_and_joined(written: str) -> None:
    assert set(terms(written)) == {"parse", "args", "parseargs"}


@given(st.text(alphabet=st.one_of(st.sampled_from("aBcDEf0_-.' \n"), st.characters(codec="utf-8")), max_size=60))
def test_stems_match_those_of_the_indexed_words(text: str) -> None:
    # Two words with the same part have it once in the index.
    alone = [stem for word in text.split() for stem in extract_stems(word)]
    indexed = [porter_stem(word) for part in text.split() for word in split_folded_words(prepare_for_index(part))]
    assert alone == indexed


def test_camel_case_is_searched_as_a_whole_and_by_parts() -> None:
    assert set(terms("ToolRunner")) == {"toolrunner", "tool", "runner"}
    assert set(extract_stems("HTTPServerError is raised")) >= {
        "httpservererror",
        "http",
        porter_stem("server"),
        porter_stem("error"),
    }


def test_a_path_is_searched_by_its_parts() -> None:
    assert {"clio", "memory", "words", "py"} <= set(terms("clio/memory/words.py"))


def test_numbers_are_not_split() -> None:
    assert terms("port 8080 not 8081") == ["port", "8080", "8081"]


def test_scripts_without_spaces_are_split_into_pairs() -> None:
    assert split_folded_words("索引を作る") == ["索引", "引を", "を作", "作る"]
    assert terms("索引を作る") == ["索引", "引を", "を作", "作る"]


def test_accents_and_case_make_no_difference() -> None:
    assert split_folded_words("ÉCOLE Straße") == ["ecole", "straße"]


def test_irregular_words_are_searched_in_all_their_forms() -> None:
    assert set(parse_query("go").terms[0].forms) == {"go", "went", "gone"}
    assert "bought" in list_other_forms("buying")
    assert "repository" in list_other_forms("repos")
    assert list_other_forms("parser") == ()


def test_quoted_words_form_a_phrase() -> None:
    query = parse_query('the "session not found" error')
    assert query.phrases == (("session", "not", "found"),)
    assert parse_query('a lonely " quote').phrases == ()


@pytest.mark.parametrize(
    ("text", "scope", "expected"),
    [
        ("which session fixed the parser?", "text", ["fixed", "parser"]),
        ("the chat where we fixed it", "text", ["fixed"]),
        ("which session?", "text", ["which", "session"]),
        ("that long night with the parser", "text", ["parser"]),
        ("how many days ago did the parser fail?", "text", ["parser", "fail"]),
        ("how many weeks?", "text", ["how", "many", "weeks"]),
        ("how does the session journal work", "text", ["session", "journal", "work"]),
        ("zorg in:output", "output", ["zorg"]),
        ("IN:TITLE zorg", "title", ["zorg"]),
        ("built-in:output", "text", ["built", "output", "builtin"]),
    ],
)
def test_the_query_can_name_where_to_search(text: str, scope: str, expected: list[str]) -> None:
    assert parse_query(text).scope == scope
    assert terms(text) == expected


def test_a_pasted_page_is_a_query_of_its_first_words() -> None:
    assert len(parse_query("zebra " + " ".join(f"w{number}" for number in range(400_000))).terms) == MAX_TERMS


@given(st.text())
def test_any_text_gives_a_query_of_plain_words(text: str) -> None:
    for term in parse_query(text).terms:
        assert all(form.isalnum() for form in term.forms)


@given(st.text("ab .\n", max_size=4_000))
def test_passages_together_are_the_text(text: str) -> None:
    pieces = split_passages(text)
    assert "".join("".join(pieces).split()) == "".join(text.split())
    assert all(piece.strip() and len(piece) <= PASSAGE_CHARS for piece in pieces)


def test_the_longest_text_has_a_limited_number_of_passages() -> None:
    assert len(split_passages("x" * 5_000_000)) <= MAX_PASSAGES + 1
    assert len(split_passages("word. " * 500_000)) <= MAX_PASSAGES + 1


def test_plain_text_is_indexed_unchanged() -> None:
    assert prepare_for_index("nothing to split here") == "nothing to split here"
