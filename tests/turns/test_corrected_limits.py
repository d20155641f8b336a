"""A limit that names what to use and what not is replaced by the user's correction, at once or after a question."""

import asyncio

import pytest

from clio.agent.user_interface import Notice
from clio.memory.consolidation.runner import run_consolidation
from tests.support.chat_server import text
from tests.support.harness import Harness
from tests.turns.conftest import MakeHarness


def contents(harness: Harness) -> list[str]:
    return sorted(record.content for record in harness.app.memory.store.records())


def last_words(harness: Harness, tag: str) -> str:
    content = str(harness.server.requests[-1].body["messages"][-1]["content"])
    return content.partition(f"<{tag} ")[2].partition(f"</{tag}>")[0]


@pytest.mark.parametrize(
    ("limit", "correction", "new"),
    [
        ("we use npm here, not yarn", "we use pnpm here, not npm", "we use pnpm here, not npm"),
        ("we use npm here, not yarn", "actually, we use pnpm, not npm", "we use pnpm, not npm"),
        ("we use black here, not yapf", "no, we use ruff here, not black", "we use ruff here, not black"),
        ("we use npm here, not yarn", "we use pnpm here, not yarn", "we use pnpm here, not yarn"),
        ("wir nutzen hier uv, nicht pip", "wir nutzen hier poetry, nicht uv", "wir nutzen hier poetry, nicht uv"),
    ],
)
def test_a_complete_limit_replaces_the_former_one(
    make_harness: MakeHarness, limit: str, correction: str, new: str
) -> None:
    harness = make_harness([text("Ok.")] * 4)

    async def run() -> None:
        await harness.turn(limit)
        await harness.turn(correction)
        assert contents(harness) == [new]
        assert f"- {limit}" in last_words(harness, "lifted_limits")
        assert f"- {new}" in last_words(harness, "hard_limits")
        harness.app.memory.undo()
        assert contents(harness) == [limit]
        await harness.turn("hello")
        assert f"- {new}" in last_words(harness, "lifted_limits")
        assert f"- {limit}" in last_words(harness, "hard_limits")
        await harness.turn("hello")
        assert not last_words(harness, "lifted_limits") and not last_words(harness, "hard_limits")
        await harness.app.close()
        harness.app = harness.build()
        run_consolidation(harness.app.memory.consolidation)
        assert contents(harness) == [limit]
        await harness.app.close()

    asyncio.run(run())


def test_consolidation_saves_no_fact_next_to_a_corrected_limit(make_harness: MakeHarness) -> None:
    harness = make_harness([text("Ok.")] * 4)

    async def run() -> None:
        await harness.turn("we use npm here, not yarn")
        await harness.turn("we use pnpm here, not npm")
        await harness.app.close()
        harness.app = harness.build()
        run_consolidation(harness.app.memory.consolidation)
        assert contents(harness) == ["we use pnpm here, not npm"]
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("limit", "correction", "new"),
    [
        ("we use npm here, not yarn", "no, pnpm", "we use pnpm here, not yarn"),
        ("wir nutzen hier pip, nicht conda", "nein, poetry", "wir nutzen hier poetry, nicht conda"),
        ("we use npm here, not yarn", "no, yarn", "we use yarn here, not npm"),
        ("I prefer tabs", "no, spaces", "prefer spaces"),
        ("use npm, not yarn", "no, pnpm", "use pnpm, not yarn"),
        ("nutze npm, nicht yarn", "nein, pnpm", "nutze pnpm, nicht yarn"),
        ("utilise npm, pas yarn", "non, pnpm", "utilise pnpm, pas yarn"),
        ("use npm, não yarn", "não, pnpm", "use pnpm, não yarn"),
        ("我们用 npm，不用 yarn", "不，pnpm", "我们用 pnpm，不用 yarn"),
    ],
)
def test_a_correction_that_is_only_a_value_needs_confirmation(
    make_harness: MakeHarness, limit: str, correction: str, new: str
) -> None:
    harness = make_harness([text("Ok.")] * 4)

    async def run() -> None:
        await harness.turn(limit)
        before = contents(harness)
        await harness.turn(correction)
        assert contents(harness) == before
        [(question, confirm)] = harness.app.learner.pop_suggestions()
        assert new in question
        confirm()
        assert contents(harness) == [new]
        await harness.turn("scratch that")
        assert contents(harness) == before
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("limit", "answer", "later"),
    [
        ("never use npm", "Ok.", "no, pnpm"),
        ("we use npm here, not yarn", "Which editor do you use?", "sorry, vim"),
        ("we use npm here, not yarn", "Ok.", "no, look at calc.py"),
        ("benutze nie npm", "Ok.", "nein, pnpm"),
        ("うちは npm を使います、yarn は使いません", "Ok.", "いいえ、pnpm"),
    ],
)
def test_prohibitions_and_answers_need_no_confirmation(
    make_harness: MakeHarness, limit: str, answer: str, later: str
) -> None:
    harness = make_harness([text(answer)] * 4)

    async def run() -> None:
        await harness.turn(limit)
        before = contents(harness)
        await harness.turn(later)
        assert contents(harness) == before
        assert not harness.app.learner.pop_suggestions()
        await harness.app.close()

    asyncio.run(run())


def test_a_rule_in_another_session_replaces_the_former_one_and_the_notice_names_it(make_harness: MakeHarness) -> None:
    harness = make_harness([text("Ok.")] * 3)

    async def run() -> None:
        await harness.turn("always answer in English")
        await harness.app.close()
        harness.app = harness.build()
        await harness.turn("answer in German from now on")
        assert contents(harness) == ["answer in German"]
        assert any("instead of “always answer in English”" in notice.text for notice in harness.seen(Notice))
        assert "always answer in English" not in last_words(harness, "user_preferences")
        assert "answer in German" in last_words(harness, "user_preferences")
        harness.app.memory.undo()
        assert contents(harness) == ["always answer in English"]
        await harness.app.close()

    asyncio.run(run())
