"""Who owns, maintains, leads or manages a thing are different facts about it, and none of them replaces another."""

import asyncio

import pytest

from tests.support.chat_server import text
from tests.support.harness import Harness
from tests.turns.conftest import MakeHarness


def facts(harness: Harness) -> list[str]:
    return sorted(record.content for record in harness.app.memory.store.records() if record.kind == "fact")


def run_turns(make_harness: MakeHarness, *messages: str) -> list[str]:
    harness = make_harness([text("Ok.")] * len(messages))

    async def run() -> None:
        for message in messages:
            await harness.turn(message)
        await harness.app.close()

    asyncio.run(run())
    return facts(harness)


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("Anna owns the parser", "the parser is maintained by Ronny"),
        ("the parser is maintained by Ronny", "Anna owns the parser"),
        ("Anna owns the parser", "actually, the parser is maintained by Ronny"),
        ("Anna owns the parser", "the maintainer of the parser is Ronny now"),
        ("the lead of payments is Anna", "the manager of payments is Ronny"),
        ("Anna leads payments", "no, Ronny manages payments"),
        ("Anna das Zahlungsteam leitet", "das Zahlungsteam wird jetzt von Ronny betreut"),
    ],
)
def test_another_role_of_a_thing_replaces_no_role(make_harness: MakeHarness, known: str, said: str) -> None:
    asks = "merk dir, dass" if "Zahlungsteam" in known else "remember that"
    assert run_turns(make_harness, f"{asks} {known}", said) == [known]


def test_two_roles_to_remember_are_two_facts(make_harness: MakeHarness) -> None:
    roles = ["Anna owns the parser", "Ronny maintains the parser", "the contact for the parser is Kim"]
    assert run_turns(make_harness, *(f"remember that {role}" for role in roles)) == roles


@pytest.mark.parametrize(
    ("known", "said", "now"),
    [
        ("Anna owns the parser", "no, Ronny owns the parser", "Ronny owns the parser"),
        ("Anna owns the parser", "the parser is owned by Ronny now", "Ronny owns the parser"),
        ("Anna maintains the parser", "the parser is maintained by Ronny", "Ronny maintains the parser"),
        ("Anna leads payments", "Ronny takes over payments now", "Ronny leads payments"),
        (
            "Anna is responsible for the parser",
            "Ronny is in charge of the parser now",
            "Ronny is responsible for the parser",
        ),
    ],
)
def test_another_person_in_the_same_role_replaces_the_former_one(
    make_harness: MakeHarness, known: str, said: str, now: str
) -> None:
    assert run_turns(make_harness, f"remember that {known}", said) == [now]
