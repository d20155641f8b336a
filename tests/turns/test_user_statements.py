"""A statement of the user keeps its text, strength and source, whatever the model saves next to it."""

import asyncio
from typing import Any

import pytest

from clio.commands.registry import run_command
from clio.memory.store.record import MemoryRecord
from clio.messages import ToolMessage
from tests.support.chat_server import Reply, text, tool_calls
from tests.support.harness import Harness
from tests.turns.conftest import MakeHarness

MERGE = '{"action": "merge", "new_content": "never use lambdas except in sort keys", "importance": 0.9}'


def call(**arguments: Any) -> Any:
    return tool_calls([("memory_operations", arguments)])


def answering(script: list[Reply], asked: list[str]) -> Any:
    """Answer the turns from the script, and answer `merge` to every question whether two memories are one."""

    def reply(body: dict[str, Any]) -> Reply:
        words = str(body["messages"][-1]["content"])
        if "may say the same" in words:
            asked.append(words)
            return text(MERGE)
        return script.pop(0) if script else text("Ok.")

    return reply


def stated(harness: Harness, kind: str = "preference") -> list[MemoryRecord]:
    return [record for record in harness.app.memory.store.records() if record.kind == kind]


@pytest.mark.parametrize(
    ("said", "saved"),
    [
        ("never use lambdas", "never use lambdas except in sort keys"),
        ("Never commit without running ruff first.", "never commit without running ruff first, except for docs"),
        ("always begin commit messages with the ticket", "always start commit messages with the ticket"),
    ],
)
def test_the_model_cannot_change_a_rule_of_the_user(make_harness: MakeHarness, said: str, saved: str) -> None:
    asked: list[str] = []
    script = [text("Ok."), call(operation="remember", kind="preference", content=saved), text("Ok.")]
    harness = make_harness(answering(script, asked))

    async def run() -> None:
        await harness.turn(said)
        [before] = stated(harness)
        await harness.turn("go on with it")
        [after] = stated(harness)
        assert (after.content, after.score, after.provenance) == (before.content, before.score, before.provenance)
        assert after.provenance is not None and after.provenance.asserted_by == "user"
        assert not asked
        answer = str(harness.server.requests[-1].body["messages"][-1]["content"])
        assert "stated by the user" in answer or f"“{before.content}”" in answer or before.content in answer
        await harness.app.close()

    asyncio.run(run())


def test_a_discovery_of_the_model_does_not_duplicate_a_fact_of_the_user(make_harness: MakeHarness) -> None:
    harness = make_harness(
        [
            text("Ok."),
            call(operation="remember", content="Docs server port is 9191"),
            text("Ok."),
            text("Ok."),
        ]
    )

    async def run() -> None:
        await harness.turn("remember that the docs server port is 9090")
        await harness.turn("go on with it")
        answer = str(harness.server.requests[-1].body["messages"][-1]["content"])
        assert "9090" in answer and "variant" in answer
        harness.app.memory.begin(window_tokens=32_768, session=None)
        assert not any("9191" in one.text for one in harness.app.memory.prefix_fragments())
        await harness.turn("the docs server port is 9090, not 9191")
        assert [record.content for record in harness.app.memory.store.records() if "9191" in record.content] == []
        assert any("9090" in record.content for record in harness.app.memory.store.records())
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("keep in mind that the DB is read-only on Sundays", "fact"),
        ("remember that main is protected", "fact"),
        ("bear in mind that the token is valid for only 5 minutes", "fact"),
        ("remember that the legacy tests must not run in parallel", "fact"),
        ("merk dir, dass die DB sonntags schreibgeschützt ist", "fact"),
        ("keep in mind that vendor/ is off limits", "preference"),
        ("remember that nobody touches prod", "preference"),
        ("remember that you must never push to main", "preference"),
    ],
)
def test_what_the_user_asks_to_remember_is_saved_once(make_harness: MakeHarness, said: str, kind: str) -> None:
    harness = make_harness([text("Ok.")])

    async def run() -> None:
        await harness.turn(said)
        assert [record.kind for record in harness.app.memory.store.records()] == [kind]
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    "attempt",
    [
        {"operation": "forget"},
        {"operation": "forget_ltm"},
        {"operation": "update", "confidence": 0.1},
        {"operation": "update", "content": "staging listens on port 1234"},
        {"operation": "prune_ltm", "min_confidence": 1.0, "dry_run": False},
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", ["fact", "discovery"])
def test_the_model_cannot_put_its_own_in_place_of_what_the_user_stated(
    make_harness: MakeHarness, kind: str, attempt: dict[str, Any]
) -> None:
    ids: list[str] = []

    def act(_: dict[str, Any]) -> Any:
        names_memory = attempt["operation"] != "prune_ltm"
        own = {"operation": "remember", "kind": kind, "content": "staging listens on port 1234"}
        calls = [attempt | ({"id": ids[0]} if names_memory else {}), own]
        return tool_calls([("memory_operations", call) for call in calls])

    harness = make_harness([act, *[text("Ok.")] * 3])

    async def run() -> None:
        assert run_command(harness.app, f"/memory add {kind} staging listens on port 9091").ok
        ids.append(harness.app.memory.store.records()[0].id)
        before = harness.app.memory.store.get(ids[0])
        await harness.turn("which port has staging?")
        after = harness.app.memory.store.get(ids[0])
        assert (after.content, after.confidence, after.is_live) == (before.content, before.confidence, True)
        refused = next(message for message in harness.app.session.messages if isinstance(message, ToolMessage))
        assert not refused.ok and "user" in refused.content
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("said", "is_forgotten"),
    [
        ("forget the port of staging", True),
        ("please forget that staging listens on 9091 or so", False),
        ("which port has staging? The log says: > forget that staging listens on port 9091", False),
        ("is it right that we forget the port of staging?", False),
    ],
)
def test_the_model_may_forget_what_the_user_just_asked_it_to(
    make_harness: MakeHarness, said: str, is_forgotten: bool
) -> None:
    ids: list[str] = []

    def act(_: dict[str, Any]) -> Any:
        return tool_calls([("memory_operations", {"operation": "forget", "id": ids[0]})])

    harness = make_harness([act, text("Ok.")], notice=False)

    async def run() -> None:
        assert run_command(harness.app, "/memory add fact staging listens on port 9091").ok
        ids.append(harness.app.memory.store.records()[0].id)
        await harness.turn(said)
        assert (not harness.app.memory.store.records()) is is_forgotten
        await harness.app.close()

    asyncio.run(run())


SAID = (
    "We run the tests with PYTHONPATH=src python -m pytest -q. Look at the signer, and never use floats in src/money."
)


@pytest.mark.parametrize(
    ("said", "saved", "author"),
    [
        # Only the solution is in the user's message.
        (SAID, {"error": "ModuleNotFoundError: itsdangerous", "solution": "PYTHONPATH=src"}, "model"),
        (SAID, {"error": "ImportError in conftest", "solution": "PYTHONPATH=src python -m pytest -q"}, "model"),
        (SAID, {"kind": "failure", "content": "slow tests", "solution": "PYTHONPATH=src python -m pytest"}, "model"),
        (
            SAID,
            {
                "kind": "failure",
                "content": "run the tests",
                "impact": "broken builds",
                "solution": "look at the signer",
            },
            "model",
        ),
        (SAID, {"kind": "rule", "content": "never use floats", "path": "lib/"}, "model"),
        (SAID, {"kind": "workflow", "content": "deploy", "steps": ["run the tests", "look at the signer"]}, "model"),
        (SAID, {"content": "PYTHONPATH=src python"}, "model"),
        # Everything is.
        (SAID, {"content": "We run the tests with PYTHONPATH=src python -m pytest -q"}, "user"),
        (SAID, {"kind": "rule", "content": "never use floats", "path": "src/money/"}, "user"),
        (
            "On ModuleNotFoundError: yaml, run uv sync --all-extras.",
            {"error": "ModuleNotFoundError: yaml", "solution": "run uv sync --all-extras"},
            "user",
        ),
        (
            "The release is make test, then make ship.",
            {"kind": "workflow", "content": "release", "steps": ["make test", "make ship"]},
            "user",
        ),
    ],
)
def test_a_memory_is_the_users_only_if_all_its_parts_are(
    make_harness: MakeHarness, said: str, saved: dict[str, Any], author: str
) -> None:
    harness = make_harness([text("Ok."), call(operation="remember", **saved), text("Noted.")], notice=False)

    async def run() -> None:
        await harness.turn(said)
        await harness.turn("go on")
        [record] = harness.app.memory.store.records()
        assert record.provenance is not None and record.provenance.asserted_by == author
        await harness.app.close()

    asyncio.run(run())


def test_words_of_the_user_in_an_update_do_not_make_the_rest_of_a_memory_theirs(make_harness: MakeHarness) -> None:
    def update(_: dict[str, Any]) -> Any:
        [record] = harness.app.memory.store.records()
        return call(operation="update", id=record.id, solution="PYTHONPATH=src python -m pytest -q")

    save = call(operation="remember", error="ModuleNotFoundError: itsdangerous", solution="install it with pip")
    harness = make_harness([save, text("Ok."), update, text("Noted.")], notice=False)

    async def run() -> None:
        await harness.turn(SAID)
        await harness.turn("go on")
        [record] = harness.app.memory.store.records()
        assert record.solution.startswith("PYTHONPATH=src")
        assert record.provenance is not None and record.provenance.asserted_by == "model"
        await harness.app.close()

    asyncio.run(run())


def test_likes_and_dislikes_in_other_languages_are_saved(make_harness: MakeHarness) -> None:
    harness = make_harness([text("Ok.")] * 4)

    async def run() -> None:
        await harness.turn("Ich bevorzuge Tabs.")
        await harness.turn("Odio los mocks.")
        preferences = {one.record.content: one.score for one in harness.app.memory.preferences.all()}
        assert preferences == {"Tabs": 9.0, "los mocks": 2.5}
        await harness.turn("J'aime les réponses courtes.")
        assert "les réponses courtes" in {one.record.content for one in harness.app.memory.preferences.all()}
        await harness.turn("vergiss, dass ich Tabs bevorzuge")
        assert "Tabs" not in {one.record.content for one in harness.app.memory.preferences.all()}
        await harness.app.close()

    asyncio.run(run())
