"""The model is told what the user withdraws, and what an undo restores."""

import asyncio
from typing import Any

import pytest

from clio.commands.registry import run_command
from tests.support.chat_server import Reply, text, tool_calls
from tests.support.harness import Harness
from tests.turns.conftest import MakeHarness


def last_words(harness: Harness) -> str:
    return str(harness.server.requests[-1].body["messages"][-1]["content"])


def contents(harness: Harness) -> list[str]:
    return sorted(record.content for record in harness.app.memory.store.records())


@pytest.mark.parametrize("is_told", [True, False])
@pytest.mark.parametrize(
    ("fact", "forget"),
    [
        ("we deploy with make ship", "forget that we deploy with make ship"),
        ("the cache lives in Redis", "scratch that"),
        ("the timeout is 30 seconds", "/memory forget"),
    ],
)
def test_a_fact_restored_by_undo_is_sent_as_valid_again(
    make_harness: MakeHarness, fact: str, forget: str, is_told: bool
) -> None:
    harness = make_harness([text("Ok.")] * 5)

    async def run() -> None:
        await harness.turn(f"remember that {fact}")
        if forget.startswith("/"):
            assert run_command(harness.app, f"{forget} {harness.app.memory.store.records()[0].id}").ok
        else:
            await harness.turn(forget)
        if is_told:
            await harness.turn("hello")
            assert f"withdrawn: {fact}" in "".join(map(str, harness.server.requests[-1].body["messages"]))
        assert run_command(harness.app, "/memory undo").ok
        assert contents(harness) == [fact]
        await harness.turn("how do we do it?")
        is_known = is_told or not forget.startswith("/")
        assert (f"valid again: {fact}" in last_words(harness)) is is_known
        await harness.turn("go on")
        assert "valid again" not in last_words(harness)
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize("kind", ["fact", "discovery"])
def test_a_fact_forgotten_by_the_model_is_valid_again_after_undo(make_harness: MakeHarness, kind: str) -> None:
    ids: list[str] = []

    def forget(_: dict[str, Any]) -> Reply:
        return tool_calls([("memory_operations", {"operation": "forget", "id": ids[0]})])

    save = ("memory_operations", {"operation": "remember", "kind": kind, "content": "we deploy with make ship"})
    harness = make_harness([tool_calls([save]), text("Ok."), forget, *[text("Ok.")] * 3])

    async def run() -> None:
        await harness.turn("how do we deploy?")
        ids.append(harness.app.memory.store.records()[0].id)
        await harness.turn("please clean up your memory")
        assert not contents(harness)
        assert run_command(harness.app, "/memory undo").ok
        assert contents(harness) == ["we deploy with make ship"]
        await harness.turn("how do we deploy?")
        assert "valid again: we deploy with make ship" in last_words(harness)
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("later", "back"),
    [
        ("scratch that", True),
        ("forget that I prefer short answers", True),
        ("/memory undo", False),
    ],
)
def test_a_withdrawn_preference_is_withdrawn_for_the_model(make_harness: MakeHarness, later: str, back: bool) -> None:
    harness = make_harness([text("Ok.")] * 6)

    async def run() -> None:
        await harness.turn("I prefer short answers")
        assert "short answers" in last_words(harness).partition("<user_preferences")[2]
        if later.startswith("/"):
            assert run_command(harness.app, later).ok
            await harness.turn("hello")
        else:
            await harness.turn(later)
        assert "withdrawn: " in last_words(harness) and "short answers" in last_words(harness)
        await harness.turn("hello")
        assert "short answers" not in last_words(harness)
        if back:
            assert run_command(harness.app, "/memory undo").ok
            await harness.turn("go on")
            assert "short answers" in last_words(harness).partition("<user_preferences")[2]
        await harness.app.close()

    asyncio.run(run())


def test_only_the_removed_preference_is_withdrawn(make_harness: MakeHarness) -> None:
    harness = make_harness([text("Ok.")] * 6)

    async def run() -> None:
        await harness.turn("I prefer short answers")
        await harness.turn("I prefer verbose tests")
        await harness.turn("forget that I prefer short answers")
        withdrawn = last_words(harness).partition("<withdrawn_memories")[2].partition("</withdrawn_memories")[0]
        assert "short answers" in withdrawn and "verbose tests" not in withdrawn
        assert "verbose tests" in last_words(harness).partition("<user_preferences")[2]
        await harness.app.close()

    asyncio.run(run())


MEMORY_FIELDS = [
    {"content": "the gateway listens on port 1234"},
    {"kind": "fact", "content": "the gateway listens on port 1234"},
    {"kind": "note", "content": "the gateway listens on port 1234"},
    {"kind": "solution", "content": "ConnectionRefusedError at the gateway", "solution": "use port 1234"},
    {"kind": "workflow", "content": "release on port 1234", "steps": ["make test", "make ship"]},
    {"key": "gateway", "content": "the gateway listens on port 1234"},
]


def restart(harness: Harness) -> None:
    """Continue the closed session in a new clio."""
    session = harness.app.session.id
    harness.app = harness.build()
    harness.app.open_session(session)


def undo(harness: Harness, *, elsewhere: bool) -> None:
    """Undo the last change of memory, elsewhere in a second clio on the same project."""
    app = harness.build() if elsewhere else harness.app
    assert run_command(app, "/memory undo").ok


def notices_before_message(harness: Harness) -> tuple[str, str]:
    """Return what the last message says is withdrawn and what is valid again."""
    withdrawn = last_words(harness).partition("<withdrawn_memories")[2].partition("</withdrawn_memories")[0]
    return withdrawn, last_words(harness).partition("<restored_memories")[2].partition("</restored_memories")[0]


@pytest.mark.parametrize("is_resumed", [False, True])
@pytest.mark.parametrize("elsewhere", [False, True])
@pytest.mark.parametrize("fields", MEMORY_FIELDS, ids=lambda fields: next(iter(fields.values())))
def test_what_the_model_saved_is_withdrawn_after_an_undo(
    make_harness: MakeHarness, fields: dict[str, Any], elsewhere: bool, is_resumed: bool
) -> None:
    save = tool_calls([("memory_operations", {"operation": "remember", **fields})])
    harness = make_harness([save, *[text("Ok.")] * 5])

    async def run() -> None:
        await harness.turn("look at the gateway")
        if is_resumed:
            await harness.app.close()
            restart(harness)
        undo(harness, elsewhere=elsewhere)
        assert not harness.app.memory.store.records()
        await harness.turn("what did we find?")
        withdrawn, restored = notices_before_message(harness)
        assert "The user has removed" in withdrawn and "1234" in withdrawn and not restored
        await harness.turn("go on")
        assert notices_before_message(harness) == ("", "")
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize("elsewhere", [False, True])
@pytest.mark.parametrize("kind", ["fact", "discovery", "note"])
def test_what_the_model_forgot_is_valid_again_after_an_undo(
    make_harness: MakeHarness, kind: str, elsewhere: bool
) -> None:
    ids: list[str] = []

    def forget(_: dict[str, Any]) -> Reply:
        return tool_calls([("memory_operations", {"operation": "forget", "id": id}) for id in ids])

    saves = [
        ("memory_operations", {"operation": "remember", "kind": kind, "content": f"{name} listens on port 90{number}"})
        for number, name in enumerate(("the gateway", "a mailer of the shop"), 10)
    ]
    harness = make_harness([tool_calls(saves), text("Ok."), forget, *[text("Ok.")] * 5])

    async def run() -> None:
        await harness.turn("look at the ports")
        ids.extend(record.id for record in harness.app.memory.store.records())
        assert len(ids) == 2
        await harness.turn("tidy your memory")
        assert not contents(harness)
        undo(harness, elsewhere=elsewhere)
        undo(harness, elsewhere=elsewhere)
        assert len(contents(harness)) == 2
        await harness.turn("what listens where?")
        withdrawn, restored = notices_before_message(harness)
        assert "9010" in restored and "9011" in restored and not withdrawn
        await harness.turn("go on")
        assert notices_before_message(harness) == ("", "")
        run_command(harness.app, f"/memory forget {ids[0]}")
        await harness.turn("go on")
        assert "9010" in last_words(harness).partition("<context")[2]
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize("elsewhere", [False, True])
@pytest.mark.parametrize("kind", ["fact", "discovery"])
def test_the_earlier_text_is_valid_again_after_the_undo_of_an_update(
    make_harness: MakeHarness, kind: str, elsewhere: bool
) -> None:
    ids: list[str] = []
    save = {"operation": "remember", "kind": kind, "content": "the gateway listens on port 1234"}

    def update(_: dict[str, Any]) -> Reply:
        change = {"operation": "update", "id": ids[0], "content": "the gateway listens on port 5678"}
        return tool_calls([("memory_operations", change)])

    harness = make_harness([tool_calls([("memory_operations", save)]), text("Ok."), update, *[text("Ok.")] * 4])

    async def run() -> None:
        await harness.turn("look at the gateway")
        ids.extend(record.id for record in harness.app.memory.store.records())
        await harness.turn("look again")
        assert contents(harness) == ["the gateway listens on port 5678"]
        undo(harness, elsewhere=elsewhere)
        assert contents(harness) == ["the gateway listens on port 1234"]
        await harness.turn("which port has the gateway?")
        withdrawn, restored = notices_before_message(harness)
        assert "5678" in withdrawn and "1234" not in withdrawn
        assert "1234" in restored and "5678" not in restored
        await harness.turn("go on")
        assert notices_before_message(harness) == ("", "")
        await harness.app.close()

    asyncio.run(run())


def test_what_the_model_saved_and_the_user_only_repeats_is_not_withdrawn(make_harness: MakeHarness) -> None:
    save = {"operation": "remember", "kind": "fact", "content": "the gateway listens on port 1234"}
    harness = make_harness([tool_calls([("memory_operations", save)]), *[text("Ok.")] * 4])

    async def run() -> None:
        await harness.turn("look at the gateway")
        await harness.turn("remember that the gateway listens on port 1234")
        assert notices_before_message(harness) == ("", "")
        await harness.turn("remember that the gateway listens on port 1235")
        assert "1234" not in notices_before_message(harness)[0]
        await harness.app.close()

    asyncio.run(run())


STATEMENTS = [
    ("remember that we deploy with make ship", "make ship"),
    ("I prefer short answers", "short answers"),
    ("never push to main", "push to main"),
    ("don't touch setup.py, fix the bug in a.py", "setup.py"),
    ("please don't push for now", "push for now"),
]


@pytest.mark.parametrize("is_resumed", [False, True])
@pytest.mark.parametrize(("statement", "gone"), STATEMENTS)
def test_an_undo_elsewhere_ends_what_the_user_stated(
    make_harness: MakeHarness, statement: str, gone: str, is_resumed: bool
) -> None:
    harness = make_harness([text("Ok.")] * 4)

    async def run() -> None:
        await harness.turn(statement)
        if is_resumed:
            await harness.app.close()
        undo(harness, elsewhere=True)
        if is_resumed:
            restart(harness)
        await harness.turn("hello")
        assert not harness.app.memory.held_limits
        context = last_words(harness)
        assert gone in context and ("withdrawn:" in context or "no longer apply" in context)
        await harness.turn("go on")
        assert gone not in last_words(harness)
        await harness.app.close()
        restart(harness)
        await harness.turn("go on")
        assert gone not in last_words(harness)
        await harness.app.close()

    asyncio.run(run())


def test_what_was_forgotten_and_restored_while_the_session_was_closed_is_valid_again(make_harness: MakeHarness) -> None:
    harness = make_harness([text("Ok.")] * 4)

    async def run() -> None:
        await harness.turn("remember that we deploy with make ship")
        await harness.turn("forget that we deploy with make ship")
        await harness.app.close()
        undo(harness, elsewhere=True)
        restart(harness)
        await harness.turn("how do we deploy?")
        assert "valid again: we deploy with make ship" in last_words(harness)
        await harness.app.close()
        restart(harness)
        await harness.turn("go on")
        assert "valid again" not in last_words(harness)
        await harness.app.close()

    asyncio.run(run())


def test_a_limit_of_the_session_that_memory_holds_ends_when_it_is_forgotten(make_harness: MakeHarness) -> None:
    harness = make_harness([text("Ok.")] * 3)

    async def run() -> None:
        await harness.turn("don't touch setup.py, fix the bug in a.py")
        [held] = harness.app.memory.held_limits
        other = harness.build()
        other.memory.preferences.add(held, "stated", 0.5, explicit=True)
        await harness.turn("hello")
        assert not harness.app.memory.held_limits and held in last_words(harness)
        for record in other.memory.store.records():
            other.memory.store.forget(record.id)
        await harness.turn("hello")
        assert held in last_words(harness).partition("<lifted_limits")[2]
        await harness.app.close()

    asyncio.run(run())


def test_a_conversation_does_not_undo_the_limits_of_another_one(make_harness: MakeHarness) -> None:
    harness = make_harness([text("Ok.")] * 3)

    async def run() -> None:
        await harness.turn("remember that we deploy with make ship")
        first, harness.app = harness.app, harness.build()
        await harness.turn("please don't push for now")
        assert run_command(first, "/memory undo").ok
        assert not contents(harness) and harness.app.memory.held_limits == ("don't push for now",)
        await first.close()
        await harness.app.close()

    asyncio.run(run())


def test_a_limit_that_was_lifted_in_words_is_not_undone_once_more(make_harness: MakeHarness) -> None:
    harness = make_harness([text("Ok.")] * 3)

    async def run() -> None:
        await harness.turn("remember that we deploy with make ship")
        await harness.turn("please don't push for now")
        await harness.turn("you may push again")
        assert not harness.app.memory.held_limits
        undo(harness, elsewhere=True)
        assert not contents(harness)
        await harness.app.close()

    asyncio.run(run())
