"""A search lists statements before earlier questions about them, and before replies without content."""

import asyncio

import pytest

from clio.commands.registry import run_command
from clio.memory.transcripts.query import says_nothing
from tests.support.chat_server import text
from tests.support.harness import Harness
from tests.turns.conftest import MakeHarness

STATED = "The staging server listens on port 8443 and the codename of the release is Osprey."


async def hold_sessions(harness: Harness, *messages: str) -> None:
    for message in messages:
        await harness.turn(message)
        await harness.app.close()
        harness.app = harness.build()
    harness.app.memory.refresh_index()


@pytest.mark.parametrize("query", ["codename", "which port does staging use?", "staging port"])
@pytest.mark.parametrize("is_stated_first", [True, False])
def test_a_statement_ranks_before_a_question(make_harness: MakeHarness, query: str, is_stated_first: bool) -> None:
    asked = ["which port does staging use?", "what is our codename?"]
    unknown = [text("I don't know which port staging uses."), text("I don't know the codename.")]
    replies = [text("Understood."), *unknown] if is_stated_first else [*unknown, text("Understood.")]
    harness = make_harness(replies)

    async def run() -> None:
        await hold_sessions(harness, *([STATED, *asked] if is_stated_first else [*asked, STATED]))
        [first, *_] = harness.app.memory.recall_sessions(query, current="", for_reading=True).sessions
        assert "Osprey" in first.passages[0].snippet
        assert not first.passages[0].is_older
        table = run_command(harness.app, f"/recall {query}").table
        assert table is not None
        assert "Osprey" in str(table.rows[0])
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize("reply", ["Understood.", "Ok", "[what is it?] I don't know it.", "Nothing in memory."])
def test_replies_without_content_rank_last(reply: str) -> None:
    assert says_nothing(reply)


@pytest.mark.parametrize("reply", ["The port is 8443.", "Done: the port is 8443.", "I don't use 80. The port is 8443."])
def test_replies_with_content_rank_normally(reply: str) -> None:
    assert not says_nothing(reply)


def test_a_fact_followed_by_keep_that_in_mind_is_saved_as_a_fact(make_harness: MakeHarness) -> None:
    harness = make_harness([text("Ok.")] * 2)

    async def run() -> None:
        await harness.turn("Our codename is Heron, keep that in mind")
        await harness.turn("the wiki is at wiki.local - please remember that.")
        found = {(record.kind, record.content.casefold()) for record in harness.app.memory.store.records()}
        assert found == {("fact", "our codename is heron"), ("fact", "the wiki is at wiki.local")}
        await harness.app.close()

    asyncio.run(run())
