"""What a message is about, told by rule."""

import os
import time
from collections.abc import Iterator
from datetime import datetime

import pytest

from clio.memory.styles.selection import INTENTS, MAX_TOPIC_CHARS, TIMES, infer_situation, time_of_day
from tests.memory.styles.situations_support import HELD_OUT, TUNED_ON, labelled, shares, told

LOG = "2026-05-01 12:00:00 ERROR request failed!!\n"


@pytest.fixture
def in_tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = os.environ.get("TZ")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    yield
    monkeypatch.setenv("TZ", before) if before else monkeypatch.delenv("TZ")
    time.tzset()


def test_most_of_what_no_rule_was_written_for_is_told_right() -> None:
    intents, sentiments = shares(HELD_OUT)

    assert intents >= 0.85
    assert sentiments >= 0.95


def test_what_the_rules_were_written_with_is_told_right() -> None:
    intents, sentiments = shares(TUNED_ON)

    assert intents >= 0.98
    assert sentiments >= 0.98


@pytest.mark.parametrize("name", [TUNED_ON, HELD_OUT])
def test_every_intent_is_among_the_messages(name: str) -> None:
    assert {line.intent for line in labelled(name)} == set(INTENTS)


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("wo steht der Port?", "question"),
        ("wie funktioniert der Cache?", "explain"),
        ("behebe den Fehler im Parser", "fix"),
        ("ajoute une option --json", "build"),
        ("quelle est la meilleure approche ?", "plan"),
        ("rédige la documentation", "write"),
        ("ejecuta las pruebas", "run"),
        ("revisa este código", "review"),
        ("muchas gracias", "chat"),
    ],
)
def test_plain_orders_in_other_languages_are_understood(text: str, intent: str) -> None:
    assert told(text).intent == intent


def test_courtesy_before_an_order_does_not_hide_it() -> None:
    assert told("hey, great, thanks! could you please just run the tests now").intent == "run"


def test_a_log_without_a_word_is_something_to_fix() -> None:
    assert told('Traceback (most recent call last):\n  File "a.py", line 3\nValueError: bad').intent == "fix"


def test_what_is_asked_about_a_pasted_log_counts_for_more_than_the_log() -> None:
    assert told(f"explain what this means\n\n{LOG * 5}").intent == "explain"


@pytest.mark.parametrize(
    "text",
    [
        f"what does this mean?\n{LOG * 3}",
        'the banner says "WTF IS THIS AGAIN" and should say hello',
        "replace `still broken again!!` by a friendlier text",
        "```\nraise Fail('why does this keep failing?!')\n```\nadd a docstring to this",
        "> you broke it again!!\nplease answer this comment",
    ],
)
def test_what_is_pasted_or_quoted_is_not_how_they_feel(text: str) -> None:
    assert told(text).sentiment == "neutral"


@pytest.mark.parametrize(
    ("text", "sentiment"),
    [
        ("it is still broken", "frustrated"),
        ("again?!", "frustrated"),
        ("WHY DOES THIS NOT WORK", "frustrated"),
        ("great, now everything is broken", "frustrated"),
        ("the query SELECT NULL FROM users WHERE id IS NOT NULL is slow", "neutral"),
        ("perfect, now the same for the tests", "pleased"),
        ("that would be nice to have", "neutral"),
    ],
)
def test_how_someone_sounds(text: str, sentiment: str) -> None:
    assert told(text).sentiment == sentiment


@pytest.mark.parametrize(
    ("hour", "part"),
    [
        (0, "night"),
        (5, "night"),
        (6, "morning"),
        (11, "morning"),
        (12, "afternoon"),
        (17, "afternoon"),
        (18, "evening"),
        (23, "evening"),
    ],
)
def test_the_day_has_four_parts(hour: int, part: str) -> None:
    assert time_of_day(datetime(2026, 5, 1, hour, 59).timestamp()) == part


@pytest.mark.usefixtures("in_tokyo")
def test_the_time_of_day_is_that_of_the_local_clock() -> None:
    assert time_of_day(0.0) == "morning"


def test_the_bucket_can_be_read() -> None:
    intent, sentiment, part = told("fix the bug").bucket.split("/")

    assert (intent, sentiment) == ("fix", "neutral")
    assert part in TIMES


def test_the_same_message_is_always_told_the_same() -> None:
    assert {infer_situation("add a flag, please", 0.0) for _ in range(5)} == {
        infer_situation("add a flag, please", 0.0)
    }


@pytest.mark.parametrize("text", ["", " ", "\n" * 1_000_000, "a" * 10**6, '"' * 10**6, "why is " * 150_000, "🙂"])
def test_any_text_has_a_situation_of_bounded_size(text: str) -> None:
    assert len(told(text).text) <= MAX_TOPIC_CHARS


def test_of_a_long_message_its_beginning_and_its_end_are_read() -> None:
    pasted = "x = 1\n" * 200_000

    assert told(f"review this module\n{pasted}").intent == "review"
    assert told(f"{pasted}\nwrite a docstring for it please").intent == "write"
