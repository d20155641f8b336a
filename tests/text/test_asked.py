"""What a question says: words of every day apart, other names for a thing, misspelt words, the parts of names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clio.text.vocabulary import (
    MAX_CHARS,
    KnownWords,
    asked,
    expanded,
    is_asking,
    is_everyday,
    is_misspelling,
    of_its_kind,
    other_words,
    parts,
    stem,
)

LETTERS = st.text("abcde", min_size=1, max_size=8)


def test_words_are_listed_once_each_without_fillers_in_their_order() -> None:
    assert [word.said for word in asked("Don't the servers of the server listen on port 80, or do the servers?")] == [
        "servers",
        "listen",
        "port",
        "80",
    ]


def test_of_words_for_the_same_thing_only_the_first_counts() -> None:
    assert [word.said for word in asked("is the db the database?")] == ["db"]


def test_words_of_every_day_are_marked() -> None:
    said = {word.said: word.everyday for word in asked("write the migration for file 12 and route 8443")}
    assert said == {
        "write": True,
        "migration": False,
        "file": True,
        "12": True,
        "route": False,
        "8443": False,
    }
    assert not is_everyday("用户")


def test_a_question_has_the_forms_a_memory_may_have() -> None:
    [word] = asked("db")
    assert {stem("database"), stem("postgres"), stem("sqlite")} <= word.forms
    assert stem("sqlite") not in word.same


def test_a_kind_has_members_and_a_member_no_kind() -> None:
    assert stem("neovim") in of_its_kind(stem("editor"))
    assert of_its_kind(stem("neovim")) == frozenset()
    assert stem("editor") not in other_words(stem("neovim"))


@pytest.mark.parametrize("word", ["database", "vacation", "deploy", "config"])
def test_other_words_are_at_least_those_of_the_vectors(word: str) -> None:
    assert expanded(stem(word)) <= other_words(stem(word))
    assert all(stem(word) in other_words(other) for other in other_words(stem(word)))


def test_a_long_question_is_read_at_its_ends() -> None:
    said = {word.said for word in asked("first " + "middle " * MAX_CHARS + " last")}
    assert said == {"first", "middle", "last"}
    assert "hidden" not in {word.said for word in asked("a " * MAX_CHARS + "hidden" + " b" * MAX_CHARS)}


@pytest.mark.parametrize(
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
def test_names_have_parts(text: str, expected: list[str]) -> None:
    assert parts(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"), [("Which port?", True), ("  how so", True), ("whichever", False), ("run", False)]
)
def test_a_question_after_something_begins_so(text: str, expected: bool) -> None:
    assert is_asking(text) is expected


@pytest.mark.parametrize(
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
def test_one_typo_of_a_finger(one: str, other: str, expected: bool) -> None:
    assert is_misspelling(one, other) is expected
    assert is_misspelling(other, one) is expected


@given(known=st.lists(LETTERS, max_size=8), word=LETTERS)
def test_the_index_of_known_words_finds_what_comparing_each_would(known: list[str], word: str) -> None:
    index = KnownWords()
    for one in known:
        index.add(one)
    assert index.like(word) == {one for one in known if len(word) >= 5 and len(one) >= 5 and is_misspelling(one, word)}
