"""The situation of a message, inferred by rules."""

import os
import time
from collections.abc import Iterator
from datetime import datetime

import pytest

from clio.memory.styles.selection import INTENTS, MAX_TOPIC_CHARS, TIMES, infer_situation, time_of_day
from tests.memory.styles.situations_support import HELD_OUT, TUNED_ON, measure_shares, read_labelled, situation_of

LOG = "2026-05-01 12:00:00 ERROR request failed!!\n"


@pytest.fixture
def in_tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    before = os.environ.get("TZ")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    yield
    monkeypatch.setenv("TZ", before) if before else monkeypatch.delenv("TZ")
    time.tzset()


def test_most_unseen_messages_are_classified_correctly() -> None:
    intents, sentiments = measure_shares(HELD_OUT)

    assert intents >= 0.85
    assert sentiments >= 0.95


def test_messages_used_while_writing_the_rules_are_classified_correctly() -> None:
    intents, sentiments = measure_shares(TUNED_ON)

    assert intents >= 0.98
    assert sentiments >= 0.98


@pytest.mark.parametrize("name", [TUNED_ON, HELD_OUT])
def test_every_intent_occurs_in_the_messages(name: str) -> None:
    assert {line.intent for line in read_labelled(name)} == set(INTENTS)


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
def test_simple_requests_in_other_languages_are_understood(text: str, intent: str) -> None:
    assert situation_of(text).intent == intent


def test_polite_words_before_a_request_do_not_hide_it() -> None:
    assert situation_of("hey, great, thanks! could you please just run the tests now").intent == "run"


def test_a_log_without_text_of_the_user_is_something_to_fix() -> None:
    assert situation_of('Traceback (most recent call last):\n  File "a.py", line 3\nValueError: bad').intent == "fix"


def test_a_question_about_a_pasted_log_counts_more_than_the_log() -> None:
    assert situation_of(f"explain what this means\n\n{LOG * 5}").intent == "explain"


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
def test_pasted_or_quoted_text_does_not_affect_the_sentiment(text: str) -> None:
    assert situation_of(text).sentiment == "neutral"


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
def test_the_sentiment_of_a_message(text: str, sentiment: str) -> None:
    assert situation_of(text).sentiment == sentiment


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
def test_the_part_of_the_day_is_by_local_time() -> None:
    assert time_of_day(0.0) == "morning"


def test_the_name_of_the_bucket_is_readable() -> None:
    intent, sentiment, part = situation_of("fix the bug").bucket.split("/")

    assert (intent, sentiment) == ("fix", "neutral")
    assert part in TIMES


def test_the_same_message_always_gives_the_same_situation() -> None:
    assert {infer_situation("add a flag, please", 0.0) for _ in range(5)} == {
        infer_situation("add a flag, please", 0.0)
    }


@pytest.mark.parametrize("text", ["", " ", "\n" * 1_000_000, "a" * 10**6, '"' * 10**6, "why is " * 150_000, "🙂"])
def test_any_text_has_a_situation_of_bounded_size(text: str) -> None:
    assert len(situation_of(text).text) <= MAX_TOPIC_CHARS


def test_of_a_long_message_the_beginning_and_the_end_are_read() -> None:
    pasted = "x = 1\n" * 200_000

    assert situation_of(f"review this module\n{pasted}").intent == "review"
    assert situation_of(f"{pasted}\nwrite a docstring for it please").intent == "write"
