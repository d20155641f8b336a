"""A correction has the same result at once and when consolidation replays its session."""

import asyncio

import pytest

from clio.memory.consolidation.runner import run_consolidation
from tests.support.chat_server import text
from tests.support.harness import Harness
from tests.turns.conftest import MakeHarness


def run_and_replay(make_harness: MakeHarness, messages: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Return the facts after a session with these messages, and after its consolidation."""
    harness = make_harness([text("Ok.")] * len(messages))

    async def run() -> None:
        for message in messages:
            await harness.turn(message)

    async def restart() -> None:
        await harness.app.close()
        harness.app = harness.build()

    asyncio.run(run())
    at_once = facts(harness)
    asyncio.run(restart())
    run_consolidation(harness.app.memory.consolidation)
    return at_once, facts(harness)


def facts(harness: Harness) -> list[str]:
    return sorted(one.content for one in harness.app.memory.store.records() if one.kind in ("fact", "discovery"))


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("messages", "after"),
    [
        (("remember that the sprint starts on Wednesday", "the sprint starts on Thursday, not on Wednesday"),
         ["the sprint starts on Thursday"]),
        (("remember that fixtures live in test/data", "thanks", "fixtures live in test/seeds, not in test/data"),
         ["fixtures live in test/seeds"]),
        (("remember that we deploy from release", "we don't deploy from release any more, it's trunk now"),
         ["we deploy from trunk"]),
        (("merk dir: wir bauen immer mit make all", "Ach ja, wir bauen jetzt mit make dist"),
         ["wir bauen immer mit make dist"]),
        (("merk dir: Anna betreut das Repo bili", "Anna betreut das Repo bili nicht mehr, das macht jetzt Bernd"),
         ["Bernd betreut das Repo bili"]),
        (("remember that the bucket is in eu-west-1", "moved to eu-central-1"), ["the bucket is in eu-central-1"]),
        (("remember that the runners live on Hetzner", "run the tests", "the runners got migrated to OVH"),
         ["the runners live on OVH"]),
        (("lembra que o serviço escuta na porta 7001", "Não, não é 7001, mas sim 7002"),
         ["o serviço escuta na porta 7002"]),
        (("remember that the fair is on Thursday", "*Wednesday"), ["the fair is on Wednesday"]),
        (("remember that the retention is 24 days", "s/24/16/"), ["the retention is 16 days"]),
        (("remember that we keep three backups", "two. not three."), ["we keep two backups"]),
        (("remember that the dailies go to Priya", "Not Priya. Marguerite."), ["the dailies go to Marguerite"]),
        (("remember that Dr. Haas approves the tables", "I asked around. Tables are approved by Dr. Nwosu."),
         ["Dr. Nwosu approves the tables"]),
        (("remember that Anna works on billing", "remember that Jonas works on billing"),
         ["Anna works on billing", "Jonas works on billing"]),
        (("remember that Berlin has a gateway", "please note that Paris has a gateway"),
         ["Berlin has a gateway", "Paris has a gateway"]),
        (("the api listens on 8080, the worker runs on node 20, and Ana owns billing",), None),
    ],
)  # fmt: skip
def test_a_correction_ends_in_the_same_memory_at_once_and_later(
    make_harness: MakeHarness, messages: tuple[str, ...], after: list[str] | None
) -> None:
    at_once, later = run_and_replay(make_harness, messages)
    if after is None:  # nothing is asked to be remembered, so that only consolidation learns it
        assert later == ["Ana owns billing", "the api listens on 8080", "the worker runs on node 20"]
    else:
        assert at_once == later == after


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "messages",
    [
        ("记住手术排班表由贺医生负责", "几年前是由乔医生负责的"),
        ("记住关卡上限是80关", "只在这次测试里把上限改成3关"),
        ("remember that the deploy job runs at 02:00", "the deploy job didn't run at 02:00, it ran at 03:00"),
        ("remember that the api listens on 8080", "the test server printed 9090, not 8080"),
        ("remember that the linter is ruff", "it's not ruff that crashes, it's mypy"),
        ("merk dir: der Linter ist ruff", "das Problem ist nicht ruff, sondern mypy"),
        ("remember that the tape library is named bigfoot", "intern told me the tape library is named yeti"),
        ("remember that we keep three backups", "two tests fail. not three."),
    ],
)
def test_stories_and_hearsay_change_nothing(make_harness: MakeHarness, messages: tuple[str, ...]) -> None:
    at_once, later = run_and_replay(make_harness, messages)
    [content] = later
    assert at_once == later
    assert messages[0].endswith(content)


def test_statements_about_other_roles_both_stay(make_harness: MakeHarness) -> None:
    there = "Lisbon sends data to Quito through the amber channel"
    back = "Quito sends data to Lisbon through the violet channel"
    _, later = run_and_replay(make_harness, (f"remember that {there}", f"remember that {back}"))
    assert later == [there, back]


def test_statements_about_two_things_in_one_script_both_stay(make_harness: MakeHarness) -> None:
    android, apple = "安卓端由彭飞维护", "苹果端由袁洁维护"
    assert run_and_replay(make_harness, (f"记住{android}", f"记住{apple}"))[1] == [android, apple]
