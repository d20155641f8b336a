"""Permanent changes that a user states are extracted; temporary states are not."""

import pytest

from clio.memory.consolidation.stated_facts import read_lasting_statements
from clio.memory.store.deduplication import compare_texts


@pytest.mark.parametrize(
    "words",
    [
        "the staging queue is now called heron-2",
        "the staging server now listens on port 8081",
        "the billing bucket is now otter-7",
        "logs are now kept for 90 days",
        "team-4 now owns the mail module",
        "the timeout of the worker is 300 ms now",
    ],
)
def test_another_name_place_or_number_is_extracted(words: str) -> None:
    assert [text for _, text, *_ in read_lasting_statements(words)] == [words]
    assert [text for _, text, *_ in read_lasting_statements(f"Remember that {words}.")] == [words]


@pytest.mark.parametrize(
    "words",
    [
        "the build is now green",
        "the server is now running",
        "the page is now 3 times slower",
        "the callback is now called 3 times",
        "the login hook is now called twice",
        "the status is 500 now",
        "CI is now failing",
        "is the queue now called heron-2?",
    ],
)
def test_a_temporary_state_is_not_extracted(words: str) -> None:
    assert list(read_lasting_statements(words)) == []


def test_the_word_now_alone_makes_no_different_memory() -> None:
    plain = "we deploy the import service to zone-4"
    assert compare_texts(plain, "We now deploy the import service to zone-4.") == "same"
    assert compare_texts(plain, "We no longer deploy the import service to zone-4.") == "supersedes"
