"""What the user says about the project is a fact, what the user demands a limit, and mere talk is neither."""

import asyncio

import pytest

from clio.agent.user_interface import Notice
from clio.memory.consolidation.runner import run_consolidation
from clio.text.scoring import HARD_LIMIT_SCORE
from tests.support.chat_server import text
from tests.support.harness import Harness
from tests.turns.conftest import MakeHarness


def list_limits(harness: Harness) -> list[str]:
    """Return the saved limits, rules and preferences, and the limits of the session."""
    memory = harness.app.memory
    saved = [one.record for book in (memory.preferences, memory.project_preferences) for one in book.all()]
    return [*(one.content for one in saved), *memory.held_limits]


def list_hard_limits(harness: Harness) -> list[str]:
    memory = harness.app.memory
    saved = [one.record for book in (memory.preferences, memory.project_preferences) for one in book.all()]
    return [one.content for one in saved if one.score is not None and one.score <= HARD_LIMIT_SCORE]


async def say(make_harness: MakeHarness, *messages: str) -> Harness:
    """Return a harness in which these messages were turns."""
    harness = make_harness([text("Ok.")] * len(messages))
    for message in messages:
        await harness.turn(message)
    return harness


def notices(harness: Harness) -> str:
    return "\n".join(notice.text for notice in harness.seen(Notice))


@pytest.mark.parametrize(
    "said",
    [
        "our CI is GitHub Actions and it takes about 12 minutes",
        "our database is Postgres 15 and it has 200 GB",
        "our database is MySQL 8",
        "our message broker is Kafka",
        "our frontend is written in React",
        "our payment service is written in Go",
        "our API gateway is Kong",
        "our logs are in Loki",
        "our sprint ends on Thursdays",
        "our deploys start at 6 am",
        "our integration tests live in tests/integration",
        "the API docs live in the repo under docs/api",
        "staging is on 9191",
    ],
)
def test_a_statement_about_what_the_project_runs_is_a_fact(make_harness: MakeHarness, said: str) -> None:
    async def run() -> None:
        harness = await say(make_harness, said)
        assert list_limits(harness) == []
        await harness.app.close()
        harness.app = harness.build()
        run_consolidation(harness.app.memory.consolidation)
        assert [one.content for one in harness.app.memory.store.records()] == [said]
        assert list_limits(harness) == []
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    "said",
    [
        "line length is 100 here",
        "we use uv here, not pip",
        "our line length is 100",
        "our commits are signed",
        "our comments are in English",
        "our API returns snake_case keys",
        "our database is read-only",
        "our backend must stay in Go",
        "our migrations are reversible",
        "this service is stateless",
        "all services are versioned in this repo",
        "tests live in spec/",
        "prod is off limits",
    ],
)
def test_a_statement_about_how_the_project_is_written_is_a_limit(make_harness: MakeHarness, said: str) -> None:
    async def run() -> None:
        harness = await say(make_harness, said)
        assert list_hard_limits(harness) == [said]
        await harness.app.close()

    asyncio.run(run())
