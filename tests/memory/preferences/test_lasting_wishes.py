"""Lasting wishes, dislikes and limits in everyday words, in seven languages, and what looks like them.

`bench/intents.py` measures the classifier with messages of other writers; here is what is made of its answers.
"""

import asyncio
from pathlib import Path

import pytest

from clio.memory.preferences.foreign_statements import detect_language
from clio.memory.preferences.lasting_wishes import find_wishes
from tests.support.chat_server import text
from tests.turns.conftest import MakeHarness, make_harness

__all__ = ["make_harness"]


def read(message: str) -> list[str]:
    found = [one.statement for one in find_wishes(message, detect_language(message))]
    return [f"{one.kind} {one.content}" for one in found]


@pytest.mark.parametrize(
    "message",
    [
        "preference monospace tables are way easier on my eyes",
        "dislike i get lost in long explanations",
        "preference reasons first, that's how i understand things",
        "preference celsius and kilometres in anything you show me",
        "preference mit stichpunkten komm ich besser klar",
        "preference red bitte immer deutsch mit mir",
        "preference avec des exemples je comprends mieux",
        "preference tutoie-moi stp",
        "dislike las respuestas largas me aburren",
        "preference háblame siempre en español",
        "dislike textos longos me cansam",
        "preference com tabelas eu entendo melhor",
        "preference 先给结论，这样我看得快",
        "preference タメ口で話してくれると楽",
    ],
)
def test_a_lasting_statement_is_saved_as_written(message: str) -> None:
    assert read(message.partition(" ")[2]) == [message]


def test_words_that_mean_nothing_before_a_wish_and_the_task_beside_it_are_left_out() -> None:
    assert read("ok merged. btw short snippets help me more than prose") == [
        "preference short snippets help me more than prose"
    ]
    assert read("fix the upload test, and by the way i always want short answers") == [
        "preference i always want short answers"
    ]


def test_a_wish_for_this_project_is_saved_there() -> None:
    [found] = find_wishes("in this repo i always want small commits", "")
    assert found.statement.in_project
    [found] = find_wishes("i always want small commits", "")
    assert not found.statement.in_project


def test_a_long_message_is_mostly_about_the_task() -> None:
    task = "The importer reads each row twice, once to count and once to parse, and counting takes half of the time. "
    assert len(task * 3) > 300
    assert read(task + "call me jim") == ["preference call me jim"]
    assert read(task * 3 + "call me jim") == []


LOOK_ALIKES = Path(__file__).with_name("look_alikes.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("message", LOOK_ALIKES)
def test_what_only_looks_like_a_wish_is_none(message: str) -> None:
    """Tasks, one thing, now only, other people, the product, questions, quotations, jokes."""
    assert read(message) == []


@pytest.mark.parametrize(
    ("message", "preference", "limit"),
    [
        ("answer in simple terms and ask me before dropping tables", "simple terms", "dropping tables"),
        ("your short explanations help me, just never touch the fixtures", "short explanations", "fixtures"),
        ("me gusta que expliques los pasos pero jamás toques la carpeta infra", "pasos", "infra"),
        ("我喜欢简短的函数，但绝对不要动 vendor 目录", "函数", "vendor"),
    ],
)
def test_a_liking_beside_a_limit_is_saved_with_it(
    make_harness: MakeHarness, message: str, preference: str, limit: str
) -> None:
    harness = make_harness([text("Ok.")])

    async def run() -> None:
        await harness.turn(message)
        memory = harness.app.memory
        told = [one.record for book in (memory.preferences, memory.project_preferences) for one in book.all()]
        limits = [one.content for one in told if one.is_limit]
        likings = [one.content for one in told if not one.is_limit]
        assert any(limit in one for one in (*limits, *memory.held_limits))
        assert any(preference in one and limit not in one for one in likings)
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("first", "later", "stays"),
    [
        ("call me jim", "everyone at home calls me james, so call me james", ["everyone at home calls me james"]),
        (
            "i learn best from detailed explanations",
            "i got sick of it, i am more of a brief replies person now",
            ["brief replies"],
        ),
        ("敬語で話してくれると落ち着く", "慣れてきたから、タメ口のほうが楽", ["タメ口"]),
        (
            "detailed commit messages help me",
            "short answers work best for me now",
            ["detailed commit", "short answers"],
        ),
        ("i learn best from detailed examples", "brief replies suit me", ["detailed examples", "brief replies"]),
    ],
)
def test_a_wish_replaces_its_opposite_only_if_the_user_says_that_it_changed(
    make_harness: MakeHarness, first: str, later: str, stays: list[str]
) -> None:
    harness = make_harness([text("Ok."), text("Ok.")])

    async def run() -> None:
        for message in (first, later):
            await harness.turn(message)
        memory = harness.app.memory
        told = [one.record.content for book in (memory.preferences, memory.project_preferences) for one in book.all()]
        await harness.app.close()
        assert len(told) == len(stays)
        assert all(any(part in one for one in told) for part in stays)

    asyncio.run(run())
