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


@pytest.mark.parametrize(
    "said",
    [
        "sure, always deploy on Fridays, what could possibly go wrong",
        "of course, always commit secrets to git, great idea",
        "oh yes, never write tests, that always works out well",
        "always good to see green builds",
        "always nice to talk to you",
    ],
)
def test_irony_and_politeness_demand_nothing(make_harness: MakeHarness, said: str) -> None:
    async def run() -> None:
        harness = await say(make_harness, said)
        assert list_limits(harness) == []
        assert not harness.app.learner.pop_suggestions()
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("said", "limit"),
    [
        ("sure, never push to main", "never push to main"),
        ("good idea, always run the linter first", "always run the linter first"),
        ("never deploy on Fridays, that never ends well", "never deploy on Fridays, that never ends well"),
        ("I like tabs, short answers please", "short answers please"),
    ],
)
def test_a_demand_in_friendly_words_is_a_limit(make_harness: MakeHarness, said: str, limit: str) -> None:
    async def run() -> None:
        harness = await say(make_harness, said)
        assert list_hard_limits(harness) == [limit]
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("said", "liking"),
    [
        ("I love short, terse replies", "short, terse replies"),
        ("always happy to see short diffs", "always happy to see short diffs"),
    ],
)
def test_a_very_probable_liking_is_saved_and_is_no_limit(make_harness: MakeHarness, said: str, liking: str) -> None:
    async def run() -> None:
        harness = await say(make_harness, said)
        assert list_hard_limits(harness) == []
        assert list_limits(harness) == [liking]
        assert not harness.app.learner.pop_suggestions()
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize("said", ["I like long, detailed answers"])
def test_the_second_adjective_of_a_liking_is_no_limit(make_harness: MakeHarness, said: str) -> None:
    async def run() -> None:
        harness = await say(make_harness, said)
        assert list_limits(harness) == []
        assert len(harness.app.learner.pop_suggestions()) == 1
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("said", "saved", "scope"),
    [
        ("the importer is fragile. Never run it during the day", "never run the importer during the day", "project"),
        ("the old tables are still needed. never delete them", "never delete the old tables", "project"),
        ("the seed db is shared with QA, never drop it", "the seed db is shared with QA, never drop it", "project"),
        ("the signing box is slow. Always reboot it first", "always reboot the signing box first", "project"),
        (
            "Black is great. Never run it on files you didn't change",
            "never run Black on files you didn't change",
            "user",
        ),
    ],
)
def test_a_rule_is_saved_with_the_thing_that_its_pronoun_means(
    make_harness: MakeHarness, said: str, saved: str, scope: str
) -> None:
    async def run() -> None:
        harness = await say(make_harness, said)
        memory = harness.app.memory
        book = memory.project_preferences if scope == "project" else memory.preferences
        assert [one.record.content for one in book.all()] == [saved] == list_limits(harness)
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("said", "limit"),
    [
        ("We moved the DB to db-9 last week. Never restart it by hand.", "never restart it by hand"),
        ("never touch it without asking me", "never touch it without asking me"),
        ("the file is generated by protoc. Never edit it", "never edit it"),
        ("Der Importer ist empfindlich. Führe ihn niemals tagsüber aus", "Führe ihn niemals tagsüber aus"),
    ],
)
def test_a_limit_whose_pronoun_is_unclear_holds_for_the_session(
    make_harness: MakeHarness, said: str, limit: str
) -> None:
    async def run() -> None:
        harness = await say(make_harness, said)
        assert list(harness.app.memory.held_limits) == [limit] == list_limits(harness)
        assert not harness.app.learner.pop_suggestions()
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("before", "again", "now"),
    [
        ("always answer in German", "please answer in English again", "answer in English"),
        ("from now on answer me in German", "answer me in English again", "answer me in English"),
        ("always answer in German", "answer in English again", "answer in English"),
        ("write comments in German", "write comments in English again", "write comments in English"),
        ("for this session, answer in French", "answer in English again", "answer in English"),
        ("antworte immer auf Französisch", "antworte wieder auf Deutsch", "antworte auf Deutsch"),
        ("antworte ab jetzt immer auf Französisch", "antworte wieder auf Deutsch", "antworte auf Deutsch"),
        ("always squash commits", "answer in English again", "always squash commits, answer in English"),
        (
            "never answer in German",
            "nie wieder auf Deutsch antworten",
            "never answer in German, nie wieder auf Deutsch antworten",
        ),
    ],
)
def test_an_order_in_another_language_again_ends_the_former_one(
    make_harness: MakeHarness, before: str, again: str, now: str
) -> None:
    async def run() -> None:
        harness = await say(make_harness, before, again)
        assert sorted(list_limits(harness)) == sorted(now.split(", "))
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("said", "permission", "left"),
    [
        (
            "never push to main, and don't add dependencies without asking me",
            "you can push to main now",
            "don't add dependencies without asking me",
        ),
        (
            "never commit to main and never edit deploy/ship.sh",
            "you can commit to main now",
            "never edit deploy/ship.sh",
        ),
        ("don't use eval and don't use exec", "you can use eval now", "don't use exec"),
        (
            "Niemals auf main pushen und keine neuen Abhängigkeiten",
            "du darfst jetzt auf main pushen",
            "keine neuen Abhängigkeiten",
        ),
        (
            "don't commit and don't push without asking me",
            "thanks",
            "don't commit and don't push without asking me",
        ),
        ("never edit deploy/ship.sh and never run it", "thanks", "never edit deploy/ship.sh and never run it"),
    ],
)
def test_one_of_two_limits_in_a_sentence_is_lifted(
    make_harness: MakeHarness, said: str, permission: str, left: str
) -> None:
    async def run() -> None:
        harness = await say(make_harness, said, permission)
        assert list_limits(harness) == [left]
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("limit", "said", "is_lifted"),
    [
        ("never push to main", "you can push to main now, Jonas said it's fine", True),
        ("never push to main", "you can push to main now, my boss approved it", True),
        ("never push to main", "you can push to main now, Jonas said just this once", False),
        ("never push to main", "Jonas said you can push to main now", False),
        ("always sign commits", "signing commits is optional now", True),
        ("always write tests", "tests are no longer required", True),
        ("always sign commits", "signing tags is optional now", False),
    ],
)
def test_a_permission_with_a_reason_and_what_is_optional_lift_a_rule(
    make_harness: MakeHarness, limit: str, said: str, is_lifted: bool
) -> None:
    async def run() -> None:
        harness = await say(make_harness, limit, said)
        assert list_limits(harness) == ([] if is_lifted else [limit])
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ("never touch deploy/ without asking me", "you can touch docs/ now"),
        ("never commit without asking me", "ok, you can commit"),
        ("don't push until I say so", "push the docs to the wiki"),
        ("don't push until I say so", "did you push?"),
        ("always run make test before committing", "you don't need to run make lint anymore"),
    ],
)
def test_something_else_ends_no_limit_with_a_condition(make_harness: MakeHarness, limit: str, said: str) -> None:
    async def run() -> None:
        harness = await say(make_harness, limit, said)
        assert list_limits(harness) == [limit]
        assert not harness.app.learner.pop_suggestions()
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("said", "fact"),
    [
        ("from today the staging host is stage-2.parcels.internal", "the staging host is stage-2.parcels.internal"),
        ("as of today our API version is v3", "our API version is v3"),
        ("from now on the staging host is stage-3", "the staging host is stage-3"),
    ],
)
def test_what_is_so_from_today_on_is_a_fact(make_harness: MakeHarness, said: str, fact: str) -> None:
    async def run() -> None:
        harness = await say(make_harness, said)
        assert list_limits(harness) == []
        await harness.app.close()
        harness.app = harness.build()
        run_consolidation(harness.app.memory.consolidation)
        assert [one.content for one in harness.app.memory.store.records()] == [fact]
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("said", "rules"),
    [
        ("from today always run the linter", ["always run the linter"]),
        ("from today no deploys on Fridays", ["no deploys on Fridays"]),
        ("don't push today", ["don't push today"]),
        ("remember to tag each release", ["always tag each release"]),
        ("remember to run the tests before every commit", ["always run the tests before every commit"]),
        ("remember to update the version", []),
    ],
)
def test_what_is_ordered_from_today_on_or_each_time_is_a_rule(
    make_harness: MakeHarness, said: str, rules: list[str]
) -> None:
    async def run() -> None:
        harness = await say(make_harness, said)
        assert list_limits(harness) == rules
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("said", "limit"),
    [
        ("card numbers must never be logged, remember that", "card numbers must never be logged"),
        ("in the driver we never sleep in interrupts, keep that in mind", "in the driver we never sleep in interrupts"),
        ("for next time: hands off the fixtures folder", "hands off the fixtures folder"),
    ],
)
def test_a_norm_to_remember_is_a_limit_of_the_project(make_harness: MakeHarness, said: str, limit: str) -> None:
    async def run() -> None:
        harness = await say(make_harness, said)
        assert [one.record.content for one in harness.app.memory.project_preferences.all()] == [limit]
        assert list_hard_limits(harness) == [limit]
        await harness.app.close()

    asyncio.run(run())


def test_a_liking_to_remember_is_saved_at_once(make_harness: MakeHarness) -> None:
    async def run() -> None:
        harness = await say(make_harness, "remember i like guard clauses more than nested ifs")
        assert [one.record.content for one in harness.app.memory.preferences.all()] == [
            "guard clauses more than nested ifs"
        ]
        await harness.app.close()

    asyncio.run(run())
