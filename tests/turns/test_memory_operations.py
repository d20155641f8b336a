"""The eight operations of memory_operations in whole turns over real HTTP."""

import asyncio
import re
from typing import Any

import pytest

from clio.agent.user_interface import ToolFinished
from clio.commands.registry import run_command
from tests.support.chat_server import text, tool_calls
from tests.turns.conftest import MakeHarness
from tests.turns.test_memory import call, results, session_of


def answer_calls(make_harness: MakeHarness, *calls: tuple[str, dict[str, Any]], said: str = "go on") -> list[str]:
    """Return the results of these calls of the model, made in one turn of a new session."""
    harness = make_harness([tool_calls(list(calls)), text("done")])
    asyncio.run(session_of(harness, said))
    return results(harness)


def test_each_kind_is_saved_with_its_id_and_recalled_in_one_list(make_harness: MakeHarness) -> None:
    kinds = {
        "discovery": {"content": "the walrus service runs on port 8080"},
        "solution": {"content": "the walrus socket is taken", "solution": "make stop"},
        "pattern": {"content": "walrus errors are AppError", "files": ["calc.py"]},
        "workflow": {"content": "walrus release", "steps": ["make test", "make ship"]},
        "failure": {"content": "parallel walrus migrations", "solution": "one by one", "impact": "locks the walrus"},
        "rule": {"content": "no floats in the walrus", "path": "calc.py"},
        "fact": {"content": "the walrus belongs to Alice", "importance": 0.9},
        "event": {"content": "the walrus was deployed on Friday"},
        "note": {"content": "the walrus has a wiki page"},
        "preference": {"content": "prefers walrus operators"},
    }
    saved = answer_calls(
        make_harness,
        *(call("remember", kind=kind, **arguments) for kind, arguments in kinds.items()),
        call("remember", content="walrus hosts: a, b and c", key="walrus-hosts"),
    )
    for kind, line in zip(kinds, saved[:-1], strict=True):
        assert re.search(r"\b(?:[a-z]-[0-9a-f]{6}|[0-9a-f]{8})\b", line), line
        assert kind in line and "walrus" in line, line
        assert "\n" not in line
    assert "walrus-hosts" in saved[-1]

    found, everything, note, rules, numbers = answer_calls(
        make_harness,
        call("recall", query="walrus", max_results=50),
        call("recall"),
        call("recall", key="walrus-hosts"),
        call("recall", query="walrus", kind="rules"),
        call("stats"),
    )
    for answer in (found, everything):
        assert all(str(arguments["content"]).removeprefix("the ") in answer for arguments in kinds.values()), answer
        assert "walrus-hosts" in answer or "walrus hosts" in answer
    assert note == "walrus hosts: a, b and c"
    assert "no floats" in rules and "8080" not in rules
    assert "1 rule" in numbers and "1 preference" in numbers and "1 keyed note" in numbers


def test_any_memory_is_updated_and_forgotten_by_its_id_and_has_a_history(make_harness: MakeHarness) -> None:
    saved = answer_calls(
        make_harness,
        call("remember", content="tests run with make check"),
        call("remember", kind="fact", content="staging is called wombat"),
        call("remember", key="hosts", content="a and b"),
    )
    project = re.findall(r"\bd-[0-9a-f]+", saved[0])[0]
    typed = re.findall(r"\b[0-9a-f]{8}\b", saved[1])[0]
    updated = answer_calls(
        make_harness,
        call("update", id=project, content="tests run with make test"),
        call("update", id=typed, content="staging is called otter"),
        call("update", id=typed, solution="none"),
        call("history", id=project),
        call("history", id=typed),
    )
    assert "make test" in updated[0] and project in updated[0]
    assert "otter" in updated[1] and typed in updated[1]
    assert "content, importance, files" in updated[2]
    assert "make test" in updated[3] and "make check" in updated[3]
    assert "otter" in updated[4]
    forgotten = answer_calls(
        make_harness,
        call("forget", id=f"{project}, {typed}"),
        call("forget", key="hosts"),
        call("recall"),
    )
    assert "make test" in forgotten[0] and "otter" in forgotten[0]
    assert not any(word in forgotten[2] for word in ("otter", "make test", "hosts"))


def test_a_statement_of_the_user_is_not_changed_by_the_model(make_harness: MakeHarness) -> None:
    [saved] = answer_calls(
        make_harness,
        call("remember", kind="preference", content="prefers tabs everywhere"),
        said="go on; this project prefers tabs everywhere",
    )
    id = re.findall(r"\b[0-9a-f]{8}\b", saved)[0]
    refused, kept = answer_calls(
        make_harness, call("update", id=id, content="prefers spaces"), call("recall", kind="preference")
    )
    assert "ask the user" in refused
    assert "tabs" in kept and "spaces" not in kept


def test_earlier_sessions_are_searched_and_their_messages_read(make_harness: MakeHarness) -> None:
    asyncio.run(session_of(make_harness([text("noted")]), "the marmot key is renewed in April"))
    harness = make_harness([tool_calls([call("search_sessions", query="marmot key")]), text("ok")])
    asyncio.run(session_of(harness, "when is it renewed?"))
    [found] = results(harness)
    assert "renewed in April" in found and 'operation="read_messages"' in found
    session, first = re.findall(r'session="(\S+)", from="(\S+)"', found)[0]
    [message] = answer_calls(make_harness, call("read_messages", session=session, **{"from": first}))
    assert "the marmot key is renewed in April" in message


def test_the_user_sees_no_argument_names_of_a_wrong_call(make_harness: MakeHarness) -> None:
    harness = make_harness([])

    async def run() -> None:
        run_command(harness.app, "/memory add discovery we deploy with make ship")
        [record] = harness.app.memory.store.records()
        wrong = [
            call("forget"),
            call("forget", query="deploy"),
            call("update", id=record.id),
            call("update", id=f"{record.id} {record.id}x", content="we ship"),
            call("update", id=record.id, impact="none"),
            call("history", id=f"{record.id} {record.id}x"),
            call("read_messages"),
            call("read_messages", **{"from": "nobody"}),
            call("read_messages", session="deadbeef", query="deploy"),
            call("recall", layer="L0"),
            call("remember", content="x"),
            call("remember", kind="rule", content="no floats here", path="../../etc"),
        ]
        harness.server.replies.extend([tool_calls(wrong), text("Ok.")])
        await harness.turn("go on")
        rows = harness.seen(ToolFinished)
        assert len(rows) == len(wrong) and not any(row.ok for row in rows)
        for row in rows:
            assert not any(sign in row.summary for sign in ("operation=", "query=", "needs", "id ", "max_results")), row
        assert [one.content for one in harness.app.memory.store.records()] == [record.content]
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize("more", [{}, {"query": "deploy"}, {"from": "1"}])
def test_an_unknown_session_is_named_with_what_the_model_can_do(
    make_harness: MakeHarness, more: dict[str, Any]
) -> None:
    harness = make_harness([tool_calls([call("read_messages", session="deadbeef", **more)]), text("Ok.")])
    asyncio.run(session_of(harness, "go on"))
    [answer] = results(harness)
    assert "deadbeef" in answer and "search_sessions" in answer and "/session" not in answer


def test_the_row_of_read_messages_says_only_what_was_read(make_harness: MakeHarness) -> None:
    read = call("read_messages", query="gateway", max_results=1)
    harness = make_harness([text("Ok."), text("Ok."), tool_calls([read]), text("Ok.")])
    asyncio.run(session_of(harness, "the gateway is on 80", "the gateway is on 81", "what was said?"))
    [row] = harness.seen(ToolFinished)
    assert row.summary.startswith("1 message, lines 1-")
    assert "max_results=" in results(harness)[0]


def test_recall_without_a_query_says_who_stated_each_memory(make_harness: MakeHarness) -> None:
    calls = [call("remember", kind="fact", content="the cache is Redis"), call("recall")]
    harness = make_harness([text("Ok."), tool_calls(calls), text("Ok.")])
    asyncio.run(session_of(harness, "remember that we deploy with make ship", "look around"))
    lines = results(harness)[1].splitlines()
    assert any("make ship" in line and line.endswith("[from the user]") for line in lines)
    assert any("Redis" in line and line.endswith("[unverified]") for line in lines)


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ("make test, make ship", ("make test", "make ship")),
        ("make test -> tag v1, push -> make ship", ("make test", "tag v1, push", "make ship")),
        ("1. make test\n2. make ship", ("make test", "make ship")),
    ],
)
def test_steps_in_one_text_are_split_as_on_the_command_line(
    make_harness: MakeHarness, steps: str, expected: tuple[str, ...]
) -> None:
    save = call("remember", kind="workflow", content="the release, weekly", steps=steps)
    harness = make_harness([tool_calls([save]), text("Ok.")])

    async def run() -> None:
        await harness.turn("go on")
        [record] = harness.app.memory.store.records()
        assert (record.content, record.steps) == ("the release, weekly", expected)
        await harness.app.close()

    asyncio.run(run())


def test_the_arguments_of_the_perl_clio_for_an_update_are_understood(make_harness: MakeHarness) -> None:
    harness = make_harness([])
    change = {"search": "make ship", "replacement": "we deploy with make release"}

    async def run() -> None:
        harness.server.replies.extend([tool_calls([call("remember", content="we deploy with make ship")]), text("Ok.")])
        await harness.turn("look")
        [record] = harness.app.memory.store.records()
        calls = [call("update_ltm", **change), call("update_ltm", id=record.id, **change)]
        harness.server.replies.extend([tool_calls(calls), text("Ok.")])
        await harness.turn("go on")
        missing, done = results(harness)[1:]
        assert "needs id" in missing and "search, replacement" in missing and len(missing) < 200
        assert "make release" in done
        [record] = harness.app.memory.store.records()
        assert record.content == "we deploy with make release"
        await harness.app.close()

    asyncio.run(run())


@pytest.mark.parametrize("kind", ["fact", "discovery"])
def test_a_memory_whose_file_never_existed_is_marked(make_harness: MakeHarness, kind: str) -> None:
    save = call("remember", kind=kind, content="the error classes are in exc.py", files=["src/exc.py"])
    saved, listed, found = answer_calls(make_harness, save, call("recall"), call("recall", query="classes", kind=kind))
    assert all("no src/exc.py" in answer for answer in (saved, listed))
    assert "exc.py" in found


@pytest.mark.parametrize(
    ("path", "is_warned"), [("src/nothing", True), ("calc.py", False), ("*.py", False), ("*", False)]
)
def test_a_rule_for_a_path_that_does_not_exist_is_saved_with_a_warning(
    make_harness: MakeHarness, path: str, is_warned: bool
) -> None:
    [saved] = answer_calls(make_harness, call("remember", kind="rule", content="no floats here", path=path))
    assert ("There is no" in saved) is is_warned and "Remembered" in saved


def test_a_list_of_memories_says_which_preferences_are_liked(make_harness: MakeHarness) -> None:
    harness = make_harness([tool_calls([("memory_operations", {"operation": "recall"})]), text("Done.")])
    for item, score in (("mocks", 2.0), ("short answers", 9.0), ("line length is 100", 0.5)):
        harness.app.memory.preferences.add(item, score=score)

    async def run() -> None:
        await harness.turn("what do you know?")
        listed = str(harness.server.requests[-1].body["messages"][-1]["content"])
        for shown in ("mocks (disliked)", "short answers (liked)", "line length is 100 (hard limit)"):
            assert shown in listed
        await harness.app.close()

    asyncio.run(run())
