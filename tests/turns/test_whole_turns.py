"""From a request to finished work, over real HTTP in a real repository."""

import asyncio
import sys

from clio.agent.user_interface import StepFinished, ToolFinished
from tests.support.chat_server import text, tool_calls
from tests.support.harness import git
from tests.turns.conftest import MakeHarness


def test_a_failing_test_is_fixed_and_committed(make_harness: MakeHarness) -> None:
    # -B: Python takes a .pyc for current if second and size are the same, and here both are.
    run_tests = ("run_command", {"command": f"{sys.executable} -B -m pytest -q -p no:cacheprovider -p no:xdist"})
    harness = make_harness(
        [
            tool_calls([("read_file", {"path": "test_calc.py"}), ("read_file", {"path": "calc.py"})]),
            tool_calls([run_tests], split="characters"),
            tool_calls([("edit_file", {"path": "calc.py", "old_string": "a - b", "new_string": "a + b"})]),
            tool_calls([run_tests], split="whole"),
            tool_calls([("git", {"operation": "commit", "message": "fix: add adds", "paths": ["calc.py"]})]),
            text("`add` subtracted; fixed in calc.py:3 and committed."),
        ],
        approve="all",
    )
    finished = asyncio.run(harness.turn("The test fails. Fix it and commit."))

    assert (finished.status, finished.steps, finished.exit_code) == ("done", 6, 0)
    assert finished.text == harness.shown == "`add` subtracted; fixed in calc.py:3 and committed."
    assert (harness.project / "calc.py").read_text(encoding="utf-8").endswith("return a + b\n")
    assert git(harness.project, "log", "-1", "--format=%s") == "fix: add adds"
    assert git(harness.project, "status", "--porcelain") == ""
    done: list[ToolFinished] = harness.seen(ToolFinished)
    assert [(call.name, call.ok) for call in done] == [
        ("read_file", True),
        ("read_file", True),
        ("run_command", False),
        ("edit_file", True),
        ("run_command", True),
        ("git", True),
    ]
    assert done[3].files_changed == ("calc.py",)
    assert "-    return a - b" in done[3].diff
    assert len(harness.seen(StepFinished)) == 6


def test_results_keep_the_order_of_the_calls(make_harness: MakeHarness) -> None:
    names = ["calc.py", "test_calc.py", "no_such_file.py"]
    harness = make_harness([tool_calls([("read_file", {"path": name}) for name in names]), text("ok")])
    asyncio.run(harness.turn("read them"))

    sent = harness.server.requests[1].body["messages"]
    calls = [call["id"] for call in sent[2]["tool_calls"]]
    results = [message for message in sent if message["role"] == "tool"]
    assert [message["tool_call_id"] for message in results] == calls
    assert "def add" in results[0]["content"]
    assert "no_such_file.py" in results[2]["content"]


def test_system_and_tools_are_the_same_bytes_in_every_request(make_harness: MakeHarness) -> None:
    harness = make_harness(
        [
            tool_calls([("memory_operations", {"operation": "add_discovery", "fact": "tests run with pytest -q"})]),
            text("noted"),
            text("again"),
        ]
    )

    async def run_turns() -> None:
        await harness.turn("remember how tests run")
        await harness.turn("and now?")

    asyncio.run(run_turns())
    bodies = [request.raw for request in harness.server.requests]
    assert len(bodies) == 3
    assert len({str(request.body["tools"]) for request in harness.server.requests}) == 1
    messages = [request.body["messages"] for request in harness.server.requests]
    assert len({str(each[0]) for each in messages}) == 1
    assert messages[1][: len(messages[0])] == messages[0]
    assert messages[2][: len(messages[1])] == messages[1]


def test_a_session_continues_after_a_restart(make_harness: MakeHarness) -> None:
    harness = make_harness([text("Hello."), text("You said hi.")])

    async def run_turns() -> list[str]:
        await harness.turn("hi")
        session_id = harness.app.session.id
        await harness.app.close()
        harness.app = harness.build()
        harness.app.open_session(session_id)
        await harness.turn("what did I say?")
        await harness.app.close()
        return [message["role"] for message in harness.server.requests[1].body["messages"]]

    assert asyncio.run(run_turns()) == ["system", "user", "assistant", "user"]
