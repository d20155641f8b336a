"""A preference that the user changes is replaced; a limit that the user ends is lifted; a look-alike stays."""

import asyncio
import time

import pytest

from clio.memory.preferences.preferences import Preferences
from clio.memory.store.record import Provenance
from clio.memory.store.typed_store import TypedStore
from clio.text.scoring import DAY_S
from tests.support.chat_server import text
from tests.support.harness import Harness
from tests.turns.conftest import MakeHarness


def list_texts(harness: Harness) -> list[str]:
    return sorted(one.content for one in harness.app.memory.store.records())


def say(harness: Harness, *messages: str) -> list[str]:
    async def run() -> None:
        for message in messages:
            await harness.turn(message)

    asyncio.run(run())
    return list_texts(harness)


@pytest.mark.parametrize(
    ("messages", "left"),
    [
        (["i prefer tabs", "changed my mind, i prefer 2 spaces"], ["prefer 2 spaces"]),
        (["i prefer matplotlib for plots", "actually i'd prefer plotly for plots"], ["prefer plotly for plots"]),
        (
            ["ich mag am liebsten jest für Tests", "ich mag inzwischen vitest lieber für Tests"],
            ["vitest für Tests"],
        ),
        (["我更喜欢tabs", "我现在更喜欢spaces"], ["spaces"]),
        (["i prefer tabs", "i prefer short commit messages now"], ["prefer short commit messages", "prefer tabs"]),
        (
            ["i prefer tabs in go", "actually i prefer short names in go"],
            ["prefer short names in go", "prefer tabs in go"],
        ),
    ],
)
def test_a_changed_preference_replaces_the_former_one(
    make_harness: MakeHarness, messages: list[str], left: list[str]
) -> None:
    assert say(make_harness([text("Ok.")] * 3), *messages) == left


@pytest.mark.parametrize(
    "permission",
    [
        "terraform apply is fine from now on, forget that ban",
        "forget that ban, terraform apply is fine now",
        "you can run terraform apply again, scrap that rule please",
    ],
)
def test_a_permission_beside_the_end_of_the_ban_lifts_it(make_harness: MakeHarness, permission: str) -> None:
    assert say(make_harness([text("Ok.")] * 3), "do not run terraform apply", permission) == []


@pytest.mark.parametrize(
    "facts",
    [
        ("the us warehouse closes at 18:00", "the eu warehouse closes at 17:00"),
        ("the os image is built on monday", "the db image is built on friday"),
        ("the it team is led by Anna", "the qa team is led by Bob"),
    ],
)
def test_a_name_that_looks_like_a_common_word_is_part_of_the_subject(
    make_harness: MakeHarness, facts: tuple[str, str]
) -> None:
    harness = make_harness([text("Ok.")] * 3)
    assert say(harness, *(f"remember that {fact}" for fact in facts)) == sorted(facts)


def test_a_limit_beside_a_task_leaves_an_earlier_limit_as_it_is(make_harness: MakeHarness) -> None:
    harness = make_harness([text("Ok.")] * 3)
    assert say(harness, "never touch _re.py", "don't touch setup.py, fix the parser") == ["never touch _re.py"]
    assert list(harness.app.memory.held_limits) == ["don't touch setup.py"]


def test_a_complete_statement_to_remember_replaces_only_one_about_its_whole_subject(make_harness: MakeHarness) -> None:
    harness = make_harness([text("Ok.")] * 3)
    known, new = "staging listens on port 9090", "the port is 8000 and the host is stg-2"
    assert say(harness, f"remember that {known}", f"remember that {new}") == sorted((known, new))


def test_a_preference_that_is_told_to_the_model_is_not_archived(make_harness: MakeHarness) -> None:
    harness = make_harness([text("Ok.")])
    long_ago = time.time() - 200 * DAY_S
    store = TypedStore(harness.app.memory.preferences.path, clock=lambda: long_ago)
    preferences = Preferences(store, harness.app.memory.preferences.book, clock=lambda: long_ago)
    preferences.add("short functions", score=9.0, provenance=Provenance(asserted_by="user"))
    preferences.add("long names", score=5.0, provenance=Provenance(asserted_by="user"))
    asyncio.run(harness.turn("sort the imports"))
    assert "short functions" in str(harness.server.requests[-1].body)
    harness.app.memory.store.user.compact()
    assert list_texts(harness) == ["short functions"], "the other one is too weak to be told"
