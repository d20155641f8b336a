""" "Scratch that" after a correction undoes the correction: the replaced memory is valid again."""

import asyncio
from typing import Any

import pytest

from clio.agent.user_interface import Notice
from clio.commands.registry import run_command
from clio.memory.consolidation.runner import run_consolidation
from clio.memory.store.record import MemoryDraft, Provenance
from clio.ui.line_rules import make_memory_command
from tests.support.chat_server import Reply, text, tool_calls
from tests.support.harness import Harness
from tests.turns.conftest import MakeHarness


def contents(harness: Harness) -> list[str]:
    return sorted(record.content for record in harness.app.memory.store.records())


def notices(harness: Harness) -> list[str]:
    return [notice.text for notice in harness.seen(Notice)]


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    ("said", "correction", "withdrawal"),
    [
        ("remember that standup is on Tuesdays", "Thursdays, not Tuesdays", "scratch that"),
        ("remember that the proxy port is 3128", "actually, it's 3129", "Forget that."),
        ("remember that the proxy port is 3128", "actually the proxy port is 3129", "I take that back"),
        ("remember that the proxy port is 3128", "remember that the proxy port is 3129", "never mind"),
        ("remember that we use npm", "we switched to pnpm", "no, scratch that"),
        ("I prefer tabs", "I prefer spaces now, not tabs", "scratch that"),
        ("merk dir: das Backup läuft um 3:00", "nein, um 4:00", "vergiss das"),
        ("retiens que la réunion est le mardi", "jeudi, pas mardi", "oublie ça"),
        ("recuerda que la reunión es el martes", "el jueves, no el martes", "olvida eso"),
        ("スタンドアップは火曜日だと覚えておいて", "火曜日ではなく木曜日です", "忘れて"),
    ],
)
def test_the_former_value_is_valid_again(
    make_harness: MakeHarness, said: str, correction: str, withdrawal: str
) -> None:
    harness = make_harness([text("Ok.")] * 4)

    async def run() -> None:
        await harness.turn(said)
        before = contents(harness)
        await harness.turn(correction)
        corrected = contents(harness)
        assert corrected != before and len(corrected) == 1
        await harness.turn(withdrawal)
        assert contents(harness) == before
        assert "valid again: " in notices(harness)[-1] and notices(harness)[-1].endswith("/memory undo")
        request = str(harness.server.requests[-1].body["messages"][-1]["content"])
        assert before[0] in request and "valid again" in request
        assert run_command(harness.app, "/memory undo").ok
        assert contents(harness) == corrected
        assert run_command(harness.app, "/memory undo").ok
        assert contents(harness) == before
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize("said", ["remember that standup is on Tuesdays", "standup is on Tuesdays"])
def test_consolidation_does_not_repeat_the_correction(make_harness: MakeHarness, said: str) -> None:
    harness = make_harness([text("Ok.")] * 4)

    async def run() -> None:
        await harness.turn(said)
        await harness.turn("Thursdays, not Tuesdays")
        await harness.turn("scratch that")
        await harness.app.close()
        harness.app = harness.build()
        run_consolidation(harness.app.memory.consolidation)
        assert "standup is on Thursdays" not in contents(harness)
        assert len(contents(harness)) == said.startswith("remember") or contents(harness) == ["standup is on Tuesdays"]
        await harness.app.close()

    asyncio.run(run())


def test_only_the_last_message_is_withdrawn(make_harness: MakeHarness) -> None:
    harness = make_harness([text("Ok.")] * 5)

    async def run() -> None:
        await harness.turn("remember that standup is on Tuesdays")
        await harness.turn("Thursdays, not Tuesdays")
        await harness.turn("look at calc.py")
        await harness.turn("scratch that")
        assert contents(harness) == ["standup is on Thursdays"]
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("said", "line", "expected"),
    [
        ("remember that we use npm", "#the cache lives in Redis", ["we use npm"]),
        ("remember that the port is 8080", "#the port is 9090", ["the port is 8080"]),
        ("always use spaces", "#never push to main", ["always use spaces"]),
        ("fix calc.py", "#always use tabs", []),
    ],
)
def test_a_line_saved_after_the_last_message_is_withdrawn_instead_of_it(
    make_harness: MakeHarness, said: str, line: str, expected: list[str]
) -> None:
    harness = make_harness([text("Ok.")] * 2)

    async def run() -> None:
        await harness.turn(said)
        assert run_command(harness.app, make_memory_command(line)).ok
        await harness.turn("scratch that")
        assert contents(harness) == expected
        await harness.app.close()

    asyncio.run(run())


def test_a_line_saved_before_the_last_message_is_not_withdrawn(make_harness: MakeHarness) -> None:
    harness = make_harness([text("Ok.")] * 3)

    async def run() -> None:
        await harness.turn("fix calc.py")
        assert run_command(harness.app, make_memory_command("#the cache lives in Redis")).ok
        await harness.turn("remember that we use npm")
        await harness.turn("scratch that")
        assert contents(harness) == ["the cache lives in Redis"]
        await harness.app.close()

    asyncio.run(run())


def test_after_an_undo_there_is_nothing_to_withdraw(make_harness: MakeHarness) -> None:
    harness = make_harness([text("Ok.")] * 4)

    async def run() -> None:
        await harness.turn("remember that standup is on Tuesdays")
        await harness.turn("Thursdays, not Tuesdays")
        assert run_command(harness.app, "/memory undo").ok
        await harness.turn("scratch that")
        assert contents(harness) == ["standup is on Tuesdays"]
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.sampled(6)
@pytest.mark.parametrize("is_restarted", [False, True])
@pytest.mark.parametrize(
    ("said", "taken_back", "withdrawal"),
    [
        ("never use sudo", "you may use sudo again", "scratch that"),
        ("always write docstrings", "you don't have to write docstrings any more", "I take that back"),
        ("remember that the port is 3128", "forget that the port is 3128", "never mind"),
        ("I hate mocks", "I like mocks now", "no, scratch that"),
        ("remember that the port is 3128", "actually the port is 3129", "Forget that."),
        ("verwende nie sudo", "du kannst sudo wieder verwenden", "vergiss das"),
        ("retiens que le port est 3128", "oublie que le port est 3128", "oublie ça"),
        ("recuerda que el puerto es 3128", "olvida que el puerto es 3128", "olvida eso"),
        ("记住端口是3128", "忘掉端口是3128", "撤回"),
    ],
)
def test_what_was_lifted_or_forgotten_holds_again_also_after_a_restart(
    make_harness: MakeHarness, said: str, taken_back: str, withdrawal: str, is_restarted: bool
) -> None:
    harness = make_harness([text("Ok.")] * 4)

    async def run() -> None:
        await harness.turn(said)
        before = [(one.content, one.score) for one in harness.app.memory.store.records()]
        await harness.turn(taken_back)
        after = contents(harness)
        if is_restarted:
            session = harness.app.session.id
            await harness.app.close()
            harness.app = harness.build()
            harness.app.open_session(session)
        await harness.turn(withdrawal)
        assert [(one.content, one.score) for one in harness.app.memory.store.records()] == before
        assert "alid again: " in notices(harness)[-1] and notices(harness)[-1].endswith("/memory undo")
        assert run_command(harness.app, "/memory undo").ok
        assert contents(harness) == after
        await harness.app.close()

    asyncio.run(run())


def test_a_lifted_limit_of_the_session_applies_again(make_harness: MakeHarness) -> None:
    harness = make_harness([text("Ok.")] * 4)

    async def run() -> None:
        await harness.turn("no emojis for now")
        await harness.turn("emojis are fine again")
        assert not harness.app.memory.held_limits
        await harness.turn("scratch that")
        assert harness.app.memory.held_limits == ("no emojis for now",)
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("messages", "is_told"),
    [
        (["scratch that"], True),
        (["remember that the port is 3128", "look at calc.py", "never mind"], True),
        (["never use sudo", "you may use sudo again", "scratch that", "scratch that"], True),
        (["never use sudo", "thanks", "vergiss das"], True),
        (["look at calc.py", "never mind"], False),
        (["remember that the port is 3128", "look at calc.py", "never mind, and look at setup.py"], False),
    ],
)
def test_clio_says_that_there_is_nothing_to_take_back(
    make_harness: MakeHarness, messages: list[str], is_told: bool
) -> None:
    harness = make_harness([text("Ok.")] * 4)

    async def run() -> None:
        for message in messages[:-1]:
            await harness.turn(message)
        before = contents(harness)
        await harness.turn(messages[-1])
        assert contents(harness) == before
        assert (notices(harness)[-1:] != [] and "Nothing to take back" in notices(harness)[-1]) is is_told
        await harness.app.close()

    asyncio.run(run())


def test_what_a_command_or_the_model_forgot_is_not_taken_back(make_harness: MakeHarness) -> None:
    ids: list[str] = []

    def forget(_: dict[str, Any]) -> Reply:
        return tool_calls([("memory_operations", {"operation": "forget", "id": ids[0]})])

    harness = make_harness([text("Ok."), text("Ok."), forget, *[text("Ok.")] * 3])

    async def run() -> None:
        await harness.turn("remember that the port is 3128")
        draft = MemoryDraft(kind="discovery", content="the host is alpha")
        harness.app.memory.store.add(draft, Provenance(asserted_by="model"))
        ids.extend(one.id for one in harness.app.memory.store.records() if "alpha" in one.line)
        run_command(harness.app, f"/memory forget {harness.app.memory.store.records(('fact',))[0].id}")
        await harness.turn("never use sudo")
        await harness.turn("you may use sudo again, and tidy up your memory")
        await harness.turn("scratch that")
        assert not [one for one in contents(harness) if "3128" in one or "alpha" in one]
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("said", "withdrawal"),
    [
        ("remember that we deploy on Tuesdays", "that was a joke"),
        ("remember that staging is in Berlin", "just kidding"),
        ("remember that the cluster has 12 nodes", "oops, wrong project"),
        ("merk dir: staging steht in Berlin", "das war ein Scherz"),
        ("retiens que la réunion est le mardi", "c'était une blague"),
        ("recuerda que la reunión es el martes", "era broma"),
        ("lembre que a fila usa a porta 5000", "era brincadeira"),
        ("记住缓存的端口是6000", "我开玩笑的"),
        ("スタンドアップは火曜日だと覚えておいて", "冗談です"),
    ],
)
def test_what_was_not_meant_is_forgotten(make_harness: MakeHarness, said: str, withdrawal: str) -> None:
    harness = make_harness([text("Ok.")] * 4)

    async def run() -> None:
        await harness.turn(said)
        assert len(contents(harness)) == 1
        await harness.turn(withdrawal)
        assert contents(harness) == []
        assert "No longer applies" in notices(harness)[-1]
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("told", "withdrawal", "memory"),
    [
        ("I prefer tabs in Go files and spaces in Python files", "forget that I prefer tabs", "tabs in Go"),
        (
            "remember that the API uses port 8080 and the database is on port 5432",
            "forget that the API uses port 8080",
            "port 5432",
        ),
        (
            "merk dir, dass ich Tabs in Go-Dateien und Leerzeichen in Python bevorzuge",
            "vergiss, dass ich Tabs bevorzuge",
            "Leerzeichen",
        ),
    ],
)
def test_a_memory_that_says_more_than_what_is_to_be_forgotten_is_asked_about(
    make_harness: MakeHarness, told: str, withdrawal: str, memory: str
) -> None:
    harness = make_harness([text("Ok.")] * 3)

    async def run() -> None:
        await harness.turn(told)
        await harness.turn(withdrawal)
        [record] = harness.app.memory.store.records()
        [(question, confirm)] = harness.app.learner.pop_suggestions()
        assert memory in question and "says more" in question
        await harness.turn(withdrawal)
        harness.app.learner.defer_suggestions()
        assert any(record.id[-8:] in notice and "/memory edit" in notice for notice in notices(harness))
        confirm()
        assert not harness.app.memory.store.records()
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("told", "withdrawal"),
    [
        ("remember that the API uses port 8080 and the database is on port 5432", "forget that the API uses port 9090"),
        ("I prefer tabs in Go files and spaces in Python files", "forget that I prefer short answers"),
    ],
)
def test_a_memory_that_does_not_say_what_is_to_be_forgotten_is_not_asked_about(
    make_harness: MakeHarness, told: str, withdrawal: str
) -> None:
    harness = make_harness([text("Ok.")] * 2)

    async def run() -> None:
        await harness.turn(told)
        await harness.turn(withdrawal)
        assert not harness.app.learner.pop_suggestions()
        assert len(harness.app.memory.store.records()) == 1
        await harness.app.close()

    asyncio.run(run())
