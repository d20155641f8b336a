"""What consolidation learns from whole sessions: each statement once, in the kind and scope it belongs to."""

import asyncio
from pathlib import Path

import pytest

from clio.memory.consolidation.runner import run_consolidation
from clio.memory.store.record import MemoryDraft
from tests.support.chat_server import ChatServer, text
from tests.support.harness import Harness, make_repository

CONSOLIDATE = "(consolidate)"


def learn(folder: Path, *messages: str, known: str = "") -> list[str]:
    """Return what memory contains after these messages and a consolidation, each with its scope and kind.

    known: a project fact that the model saved before. `CONSOLIDATE` ends a session and consolidates.
    """
    make_repository(folder / "p", {"calc.py": "x = 1\n"})

    async def run() -> list[str]:
        harness = Harness(folder / "p", folder / "home", server)
        if known:
            harness.app.memory.store.add(MemoryDraft(kind="discovery", content=known))
        for message in (*messages, CONSOLIDATE):
            if message == CONSOLIDATE:
                await harness.app.close()
                harness.app = harness.build()
                run_consolidation(harness.app.memory.consolidation)
            else:
                await harness.turn(message)
        store = harness.app.memory.store
        found = [f"{store.scope_of(one.id)} {one.kind}: {one.content}" for one in store.records()]
        await harness.app.close()
        return sorted(found)

    with ChatServer([text("Ok.")] * len(messages)) as server:
        return asyncio.run(run())


@pytest.mark.parametrize(
    ("messages", "kept"),
    [
        (("remember, no deploys on Friday",), ["user preference: no deploys on Friday"]),
        (("I prefer pnpm", "we use pnpm"), ["project fact: we use pnpm", "user preference: prefer pnpm"]),
    ],
)  # fmt: skip
def test_a_limit_is_not_saved_as_a_fact_as_well(tmp_path: Path, messages: tuple[str, ...], kept: list[str]) -> None:
    assert learn(tmp_path, *messages) == kept


@pytest.mark.parametrize(
    ("known", "message", "kept"),
    [
        ("orders are stored in SQLite", "orders are stored in Postgres, not SQLite",
         "project fact: orders are stored in Postgres"),
        ("8787 is the port the relay listens on", "the relay listens on port 8787",
         "project discovery: 8787 is the port the relay listens on"),
        ("Mia is the owner of billing", "billing is owned by Mia", "project discovery: Mia is the owner of billing"),
    ],
)  # fmt: skip
def test_what_is_known_in_other_words_is_not_saved_again(tmp_path: Path, known: str, message: str, kept: str) -> None:
    assert learn(tmp_path, message, known=known) == [kept]


@pytest.mark.parametrize(
    ("messages", "kept"),
    [
        (("My name is Jonas and I work on the checkout team",),
         ["user fact: I work on the checkout team", "user fact: My name is Jonas"]),
        (("remember that my name is Jonas",), ["user fact: my name is Jonas"]),
        (("I work from Lisbon", CONSOLIDATE, "I work from Porto now"), ["user fact: I work from Porto"]),
        (("remember that my name is Jonas", "no, Jonathan"), ["user fact: my name is Jonathan"]),
    ],
)  # fmt: skip
def test_what_the_user_says_about_themselves_holds_in_all_projects(
    tmp_path: Path, messages: tuple[str, ...], kept: list[str]
) -> None:
    assert learn(tmp_path, *messages) == kept
