"""Requests to forget that name a whole topic, a note, or what holds instead."""

import asyncio
from collections.abc import Sequence

import pytest

from clio.agent.user_interface import Notice
from clio.memory.store.record import MemoryDraft, Provenance
from tests.support.chat_server import text
from tests.support.harness import Harness
from tests.turns.conftest import MakeHarness
from tests.turns.test_roles_of_people import facts, run_turns


def run_in(harness: Harness, messages: Sequence[str]) -> None:
    async def run() -> None:
        for message in messages:
            await harness.turn(message)
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("known", "said", "now"),
    [
        (
            "remember that Jonas is the release manager",
            "forget that Jonas is the release manager, it's Ida",
            "Ida is the release manager",
        ),
        (
            "remember that our CI is GitHub Actions and it takes about 12 minutes",
            "forget that our CI is GitHub Actions, we moved to GitLab CI",
            "our CI is GitLab and it takes about 12 minutes",
        ),
        (
            "remember that the staging port is 8080",
            "forget that the staging port is 8080, it's 9090",
            "the staging port is 9090",
        ),
        (
            "remember that the mail host is mx1 and it runs Debian",
            "forget that the mail host is mx1, it is mx2 now",
            "the mail host is mx2 and it runs Debian",
        ),
        (
            "retiens que Jonas est le responsable des versions",
            "oublie que Jonas est le responsable des versions, c'est Ida",
            "Ida est le responsable des versions",
        ),
        (
            "merk dir: Jonas ist der Release-Manager",
            "vergiss, dass Jonas der Release-Manager ist, es ist Ida",
            "Ida ist der Release-Manager",
        ),
    ],
)
def test_what_holds_instead_of_a_forgotten_statement_is_saved(
    make_harness: MakeHarness, known: str, said: str, now: str
) -> None:
    assert run_turns(make_harness, known, said) == [now]


@pytest.mark.parametrize("reason", ["he left", "I mixed up two projects", "that was last year"])
def test_a_reason_behind_a_forgotten_statement_is_no_new_value(make_harness: MakeHarness, reason: str) -> None:
    known = "Jonas is the release manager"
    assert run_turns(make_harness, f"remember that {known}", f"forget that {known}, {reason}") == []


@pytest.mark.parametrize("order", ["run the tests on 9090", "but keep the prod port", "only the tests use 9090"])
def test_an_order_or_limit_behind_a_forgotten_statement_is_no_new_value(make_harness: MakeHarness, order: str) -> None:
    known = "the staging port is 8080"
    assert run_turns(make_harness, f"remember that {known}", f"forget that {known}, {order}") in ([], [known])


TOPIC = ("remember that releases go out on Tuesdays", "remember that the release notes are in docs/notes.md")


@pytest.mark.parametrize("said", ["forget everything you know about releases", "forget about releases"])
def test_forgetting_a_topic_asks_whether_all_of_it_is_meant(make_harness: MakeHarness, said: str) -> None:
    harness = make_harness([text("Ok.")] * 3)
    run_in(harness, [*TOPIC, said])
    assert len(facts(harness)) == 2  # until the user has answered
    [(question, forget)] = harness.app.learner.pop_suggestions()
    assert all(part in question for part in ("Tuesdays", "docs/notes.md"))
    forget()
    assert facts(harness) == []


def test_forgetting_one_of_two_things_only_lists_them(make_harness: MakeHarness) -> None:
    harness = make_harness([text("Ok.")] * 3)
    run_in(
        harness, ["remember that the staging port is 8080", "remember that the prod port is 9090", "forget the port"]
    )
    assert len(facts(harness)) == 2
    assert not harness.app.learner.pop_suggestions()
    assert any("Not clear which one" in notice.text for notice in harness.seen(Notice))


@pytest.mark.parametrize(
    ("said", "notes", "known"),
    [
        ("delete the note about the cache", 0, 1),
        ("forget what I said about the cache", 1, 0),
    ],
)
def test_a_request_about_a_note_removes_the_note_and_keeps_the_fact(
    make_harness: MakeHarness, said: str, notes: int, known: int
) -> None:
    harness = make_harness([text("Ok.")] * 2)
    store = harness.app.memory.store
    store.add(MemoryDraft(kind="note", key="cache", content="cache ttl prod 900"), Provenance(asserted_by="model"))
    run_in(harness, ["remember that the cache runs on redis-2", said])
    assert len(store.keyed_notes.newest_first()) == notes
    assert len(facts(harness)) == known
