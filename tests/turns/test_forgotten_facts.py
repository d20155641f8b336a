"""A fact that the user asks to forget is archived, asked about, or said not to be in memory; the model is told."""

import asyncio

import pytest

from clio.agent.user_interface import Notice
from clio.memory.store.record import MemoryDraft
from tests.support.chat_server import text
from tests.support.harness import Harness
from tests.turns.conftest import MakeHarness

FORGET_BOTH = "forget the staging port and the staging user"


def list_facts(harness: Harness) -> list[str]:
    return sorted(one.content for one in harness.app.memory.store.records() if one.kind == "fact")


def save(harness: Harness, content: str) -> None:
    harness.app.memory.store.add(MemoryDraft(content=content, kind="fact"))


@pytest.mark.parametrize(
    ("stated", "request_text", "gone"),
    [
        (["the build box is called otto"], "otto is no longer our build box", ["otto"]),
        (["the build box is called otto"], "otto isn't the build box", []),
        (["the build box is called otto"], "otto is not our build box anymore", ["otto"]),
        (["the build box is called otto"], "otto is no longer our mail server", []),
        (["the build box is called otto"], "is otto no longer our build box?", []),
        (["the build box is called otto"], "if otto is no longer our build box, tell me", []),
        (["die Build-Box heißt otto"], "otto ist nicht mehr unsere Build-Box", ["otto"]),
        (["la machine de build est otto"], "otto n'est plus notre machine de build", ["otto"]),
        (["la máquina de build es otto"], "otto ya no es nuestra máquina de build", ["otto"]),
        (["a máquina de build é o otto"], "o otto já não é a nossa máquina de build", ["otto"]),
        (["构建机叫 otto"], "otto 不再是我们的构建机了", ["otto"]),
        (["the staging port is 9090"], "forget that the staging port is 9090, config is right", ["9090"]),
        (["the staging port is 9090"], "forget that the staging port is 9090, but only in the docs", []),
        (["the staging port is 9090", "the staging user is bob"], FORGET_BOTH, ["9090", "bob"]),
        (["the staging port is 9090", "the demo user is bob"], FORGET_BOTH, ["9090"]),
        (
            ["der Staging-Port ist 9090", "der Staging-User ist bob"],
            "vergiss den Staging-Port und den Staging-User",
            ["9090", "bob"],
        ),
    ],
)
def test_a_request_forgets_what_it_names(
    make_harness: MakeHarness, stated: list[str], request_text: str, gone: list[str]
) -> None:
    harness = make_harness([text("Ok.")] * 4)

    async def run() -> None:
        for content in stated:
            save(harness, content)
        await harness.turn(request_text)
        assert list_facts(harness) == sorted(one for one in stated if not any(word in one for word in gone))
        told = str(harness.server.requests[-1].body["messages"][-1]["content"])
        assert all(f"- withdrawn: {one}" in told for one in stated if any(word in one for word in gone))
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    "request_text",
    ["forget about otto", "you can forget the bazel thing", "forget that we use bazel", "forget all my limits"],
)
def test_the_user_is_told_that_nothing_in_memory_is_meant(make_harness: MakeHarness, request_text: str) -> None:
    harness = make_harness([text("Ok.")])

    async def run() -> None:
        await harness.turn(request_text)
        assert [one.text for one in harness.seen(Notice)] == [f"Nothing in memory is meant by “{request_text}”"]
        await harness.app.close()

    asyncio.run(run())


def test_a_thing_without_an_article_is_asked_about(make_harness: MakeHarness) -> None:
    harness = make_harness([text("Ok.")])

    async def run() -> None:
        save(harness, "the build box is called otto")
        await harness.turn("forget about otto")
        assert list_facts(harness) == ["the build box is called otto"]
        [(question, forget)] = harness.app.learner.pop_suggestions()
        assert "otto" in question
        forget()
        assert not list_facts(harness)
        await harness.app.close()

    asyncio.run(run())
