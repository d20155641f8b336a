"""Words of a question: everyday words, synonyms, misspellings, parts of names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clio.text.vocabulary import (
    MAX_QUESTION_CHARS,
    SYNONYMS,
    SpellingIndex,
    expand_query_word,
    is_common_term,
    is_misspelling,
    is_question,
    list_members_of_kind,
    parse_question_words,
    split_identifiers,
    stem_word,
)
from tests.support.rows import each_row

LETTERS = st.text("abcde", min_size=1, max_size=8)


def test_question_words_are_listed_once_in_order_without_fillers() -> None:
    assert [
        word.text
        for word in parse_question_words("Don't the servers of the server listen on port 80, or do the servers?")
    ] == [
        "servers",
        "listen",
        "port",
        "80",
    ]


def test_of_synonyms_only_the_first_counts() -> None:
    assert [word.text for word in parse_question_words("is the db the database?")] == ["db"]


def test_everyday_words_are_marked_as_common() -> None:
    words = {
        word.text: word.is_common for word in parse_question_words("write the migration for file 12 and route 8443")
    }
    assert words == {
        "write": True,
        "migration": False,
        "file": True,
        "12": True,
        "route": False,
        "8443": False,
    }
    assert not is_common_term("用户")


def test_a_question_has_the_word_forms_a_memory_may_have() -> None:
    [word] = parse_question_words("db")
    assert {stem_word("database"), stem_word("postgres"), stem_word("sqlite")} <= word.forms
    assert stem_word("sqlite") not in word.synonyms


def test_a_general_term_includes_specific_ones_but_not_the_reverse() -> None:
    assert stem_word("neovim") in list_members_of_kind(stem_word("editor"))
    assert list_members_of_kind(stem_word("neovim")) == frozenset()
    assert stem_word("editor") not in expand_query_word(stem_word("neovim"))


@pytest.mark.parametrize("word", ["database", "vacation", "deploy", "config"])
def test_synonyms_of_a_question_word_are_mutual_and_include_those_of_the_vectors(word: str) -> None:
    assert SYNONYMS.get(stem_word(word), frozenset()) <= expand_query_word(stem_word(word))
    assert all(stem_word(word) in expand_query_word(other) for other in expand_query_word(stem_word(word)))


def test_of_a_long_question_both_ends_are_read() -> None:
    words = {word.text for word in parse_question_words("first " + "middle " * MAX_QUESTION_CHARS + " last")}
    assert words == {"first", "middle", "last"}
    assert "hidden" not in {
        word.text for word in parse_question_words("a " * MAX_QUESTION_CHARS + "hidden" + " b" * MAX_QUESTION_CHARS)
    }


@each_row(
    ("text", "expected"),
    [
        ("fetchWithBackoff", ["fetch", "with", "backoff"]),
        ("HTTPServer", ["http", "server"]),
        ("UART2 and uart10", ["uart", "uart"]),
        ("LOG_LEVEL plain words Capital", []),
        ("x" * 10_000, []),
        ("日本語 кириллица", []),
    ],
)
def test_names_are_split_into_parts(text: str, expected: list[str]) -> None:
    assert split_identifiers(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"), [("Which port?", True), ("  how so", True), ("whichever", False), ("run", False)]
)
def test_question_beginnings_are_recognized(text: str, expected: bool) -> None:
    assert is_question(text) is expected


@each_row(
    ("one", "other", "expected"),
    [
        ("watchdog", "watchdog", True),
        ("watchdog", "whatchdog", True),
        ("watchdog", "wachdog", True),
        ("watchdog", "watchdgo", True),
        ("watchdog", "watchdag", True),
        ("watchdog", "wathcdgo", False),
        ("mcu", "mcv", False),
        ("mcu", "mcu", True),
        ("", "", True),
    ],
)
def test_one_typing_mistake_is_a_misspelling(one: str, other: str, expected: bool) -> None:
    assert is_misspelling(one, other) is expected
    assert is_misspelling(other, one) is expected


@given(known=st.lists(LETTERS, max_size=8), word=LETTERS)
def test_the_index_of_known_words_finds_what_comparing_each_would_find(known: list[str], word: str) -> None:
    index = SpellingIndex()
    for one in known:
        index.add(one)
    assert index.find_similar(word) == {
        one for one in known if len(word) >= 5 and len(one) >= 5 and is_misspelling(one, word)
    }
