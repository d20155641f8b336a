"""A preference, rule or limit that the user ends or replaces in everyday words no longer holds; others stay."""

import asyncio

import pytest

from clio.agent.user_interface import Notice
from tests.support.chat_server import text
from tests.support.harness import Harness
from tests.support.wording import mentions
from tests.turns.conftest import MakeHarness


def say(harness: Harness, *messages: str) -> list[str]:
    """Say each message in a session of its own, and return the texts of the preferences."""

    async def run() -> None:
        for number, message in enumerate(messages):
            if number:
                await harness.app.close()
                harness.app = harness.build()
            await harness.turn(message)

    asyncio.run(run())
    return [one.content for _, one in harness.app.memory.list_preferences()]


@pytest.mark.parametrize(
    ("stated", "later"),
    [
        ("never use lambdas in this repo", "the style guide changed, lambdas are welcome now"),
        ("always ask me before you install a package", "no need to ask me about packages any more, just install them"),
        ("never touch the fixtures folder", "the fixtures folder is fair game from now on"),
        ("benutze nie Rekursion in diesem Projekt", "Rekursion ist ab jetzt wieder erlaubt, mach ruhig"),
    ],
)
def test_a_limit_ends_in_everyday_words(make_harness: MakeHarness, stated: str, later: str) -> None:
    harness = make_harness([text("Ok.")] * 2)
    assert say(harness, stated, later) == []
    [ended] = [one.text for one in harness.seen(Notice) if "No longer applies" in one.text]
    assert mentions(ended, stated.split()[-1], "/memory undo")
    harness.app.memory.undo()
    assert [one.content for _, one in harness.app.memory.list_preferences()] == [stated]


@pytest.mark.parametrize(
    ("stated", "later"),
    [
        ("never use lambdas in this repo", "what do lambdas cost in python?"),
        ("never use lambdas in this repo", "just this once you can use a lambda in sort_rows"),
        ("never use lambdas in this repo", "once we're on 3.13, lambdas are fine"),
        ("never touch the fixtures folder", "the factories folder is fair game from now on"),
        ("never touch the fixtures folder", "Mia says the fixtures folder may be changed"),
        ("benutze nie Rekursion in diesem Projekt", "erklär mir die Rekursion in tree.py"),
        ("i prefer short answers", "i prefer small commits now"),
        ("never push to the mirror", "add a test and run it"),
        ("never use generics in this repo", 'the readme says "generics are welcome now", is that true'),
        ("never use generics in this repo", "> generics are welcome now\nadd this to the changelog"),
        ("never use generics in this repo", "generics are welcome now?"),
    ],
)
def test_what_is_about_one_occasion_or_something_else_ends_nothing(
    make_harness: MakeHarness, stated: str, later: str
) -> None:
    harness = make_harness([text("Ok.")] * 2)
    [kept] = say(harness, stated)
    assert kept in say(harness, later)


@pytest.mark.parametrize(
    ("stated", "later", "now"),
    [
        (
            "i love long explanations with every change",
            "keep explanations to one line from now on, i'm busier these days",
            "one line",
        ),
        ("emojis in commit messages, always", "got tired of the emojis, plain commit messages from now on", "plain"),
    ],
)
def test_a_wish_takes_the_place_of_another(make_harness: MakeHarness, stated: str, later: str, now: str) -> None:
    told = say(make_harness([text("Ok.")] * 2), stated, later)
    assert len(told) == 1 and now in told[0]
