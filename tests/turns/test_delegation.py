"""Turns that delegate to sub-agents: in parallel, with approvals, limited, cancelled, and saved to disk."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from clio.agent.user_interface import ToolFinished, ToolProgress
from clio.commands.registry import run_command
from clio.messages import ToolMessage
from clio.security.approval import Answer
from tests.support.chat_server import Script, stall, text, tool_calls
from tests.support.harness import Harness
from tests.support.waiting import has_text, wait_until_async
from tests.turns.conftest import MakeHarness

EDIT = tool_calls([("edit_file", {"path": "calc.py", "old_string": "a - b", "new_string": "a + b"})])
SECRET = "sk-proj-" + "Zx81kq" * 8
READ = tool_calls([("read_file", {"path": "calc.py"})])


def delegate(*tasks: dict[str, Any]) -> Script:
    return tool_calls([("delegate", task) for task in tasks])


def last_result(harness: Harness) -> str:
    return next(str(one.content) for one in reversed(harness.app.session.messages) if isinstance(one, ToolMessage))


def children(harness: Harness) -> list[Any]:
    return [info for info in harness.app.store.list() if info.delegated]


@pytest.mark.fast
def test_a_task_runs_in_its_own_context_window(make_harness: MakeHarness) -> None:
    harness = make_harness(
        [
            delegate({"task": "What does add do? Look at calc.py."}),
            READ,
            text("It subtracts: calc.py:3"),
            text("A bug."),
        ]
    )
    (harness.project / "AGENTS.md").write_text("Use tabs.", encoding="utf-8")
    finished = asyncio.run(harness.turn("is add right?"))
    assert (finished.status, finished.text, finished.steps) == ("done", "A bug.", 2)
    first, child, child_again, second = (request.body for request in harness.server.requests)
    assert "sub-agent of clio" in child["messages"][0]["content"] and "Use tabs." in child["messages"][0]["content"]
    assert "is add right?" not in str(child)
    assert child["messages"][-1]["content"].endswith("What does add do? Look at calc.py.")
    names = [tool["function"]["name"] for tool in child["tools"]]
    assert "read_file" in names and not {"delegate", "ask_user", "memory_operations"} & set(names)
    assert "delegate" in [tool["function"]["name"] for tool in first["tools"]]
    assert child_again["messages"][0] == child["messages"][0] and first["tools"] == second["tools"]
    report = second["messages"][-1]["content"]
    (info,) = children(harness)
    assert report == f"[sub-agent general, session {info.id}, 2 steps]\nIt subtracts: calc.py:3"
    assert (info.parent, info.name) == (harness.app.session.id, "general: What does add do? Look at calc.py.")
    assert harness.app.store.latest() == harness.app.session.id
    assert [one.text for one in harness.seen(ToolProgress)] == ["step 1", "step 1 · read calc.py", "step 2"]
    (done,) = harness.seen(ToolFinished)
    assert (done.name, done.ok) == ("delegate", True) and done.summary.startswith("2 steps")


def test_several_run_in_parallel_and_questions_are_asked_one_at_a_time(make_harness: MakeHarness) -> None:
    def of(request: dict[str, Any], answers: dict[str, list[Script]]) -> Script:
        words = str(request["messages"])
        key = next(key for key in answers if key in words)
        return answers[key].pop(0)

    answers: dict[str, list[Script]] = {
        "write one.txt": [tool_calls([("write_file", {"path": "one.txt", "content": "1\n"})]), text("wrote one")],
        "write two.txt": [tool_calls([("write_file", {"path": "two.txt", "content": "2\n"})]), text("wrote two")],
    }
    top = [delegate({"task": "write one.txt"}, {"task": "write two.txt"}), text("Both.")]

    def script(request: dict[str, Any]) -> Script:
        return of(request, answers) if "sub-agent of clio" in request["messages"][0]["content"] else top.pop(0)

    harness = make_harness([script] * 6)
    harness.user.approvals = [Answer("once"), Answer("no", "not that one")]
    finished = asyncio.run(harness.turn("write both"))
    assert finished.text == "Both."
    made = [name for name in ("one.txt", "two.txt") if (harness.project / name).exists()]
    assert len(made) == 1
    assert sorted(request.title for request in harness.user.asked) == [
        "general: create one.txt",
        "general: create two.txt",
    ]
    assert len(children(harness)) == 2
    results = [one for one in harness.app.session.messages if isinstance(one, ToolMessage)]
    assert sum("changed:" in str(one.content) for one in results) == 1


def test_their_changes_are_undone_with_the_turn_that_started_them(make_harness: MakeHarness) -> None:
    harness = make_harness([delegate({"task": "mend it"}), EDIT, text("mended"), text("ok")], approve="all")

    async def run_turns() -> None:
        await harness.turn("mend it")
        assert "a + b" in (harness.project / "calc.py").read_text(encoding="utf-8")
        done = run_command(harness.app, "/undo")
        assert done.ok, done.text
        await harness.app.close()

    asyncio.run(run_turns())
    assert "a - b" in (harness.project / "calc.py").read_text(encoding="utf-8")


def test_plan_mode_applies_to_them(make_harness: MakeHarness) -> None:
    harness = make_harness([delegate({"task": "mend it"}), EDIT, text("I may not."), text("ok")], approve="plan")
    asyncio.run(harness.turn("mend it"))
    assert "a - b" in (harness.project / "calc.py").read_text(encoding="utf-8")
    assert "plan mode only reads" in harness.server.requests[2].body["messages"][-1]["content"]


def test_tools_can_be_selected_and_unknown_ones_are_refused(make_harness: MakeHarness) -> None:
    harness = make_harness(
        [delegate({"task": "look", "tools": ["read_file"]}), text("seen"), delegate({"task": "x", "tools": ["fly"]}),
         delegate({"task": " "}), delegate({"task": "x", "agent": "nobody"}), text("ok")]
    )  # fmt: skip
    asyncio.run(harness.turn("go"))
    assert [tool["function"]["name"] for tool in harness.server.requests[1].body["tools"]] == ["read_file"]
    results = [str(one.content) for one in harness.app.session.messages if isinstance(one, ToolMessage)]
    assert "there is no tool 'fly'" in results[1] and "the task is empty" in results[2]
    assert "there is no agent 'nobody'" in results[3] and "the agents are: general" in results[3]


def test_a_known_tool_that_is_not_offered_is_refused_with_the_reason(make_harness: MakeHarness) -> None:
    replies = [tool_calls([(name, {})]) for name in ("web_search", "code_lookup", "web_serch")]
    harness = make_harness([*replies, text("ok")])
    asyncio.run(harness.turn("search the web"))
    results = [str(one.content) for one in harness.app.session.messages if isinstance(one, ToolMessage)]
    assert "web search is off" in results[0] and "the setting `web_search`" in results[0]
    assert "not available for this project" in results[1] or "wrong" in results[1]
    assert "there is no tool 'web_serch'" in results[2]


def test_a_definition_sets_prompt_tools_and_limits(make_harness: MakeHarness, tmp_path: Path) -> None:
    folder = tmp_path / "home" / "agents"
    folder.mkdir(parents=True)
    (folder / "explore.md").write_text(
        "---\ndescription: finds things\ntools: Read, Grep\nmodel: small-model\nmax_steps: 2\n---\n"
        f"Search wide. {SECRET}\n",
        encoding="utf-8",
    )
    harness = make_harness([delegate({"task": "look", "agent": "explore"}), READ, READ, text("ok")])
    asyncio.run(harness.turn("go"))
    child = harness.server.requests[1].body
    assert SECRET not in str(child)
    assert child["model"] == "small-model" and "Search wide." in child["messages"][0]["content"]
    assert [tool["function"]["name"] for tool in child["tools"]] == ["read_file", "search_text"]
    description = next(
        tool["function"]["description"]
        for tool in harness.server.requests[0].body["tools"]
        if tool["function"]["name"] == "delegate"
    )
    assert description.endswith("Agents:\n- explore: finds things")
    assert "it did not finish: stopped after 2 steps" in last_result(harness)
    assert not harness.seen(ToolFinished)[-1].ok


def test_a_long_report_is_shortened(make_harness: MakeHarness) -> None:
    harness = make_harness([delegate({"task": "tell all"}), text("words " * 4_000), text("ok")])
    asyncio.run(harness.turn("go"))
    assert len(last_result(harness)) < 6_500 and "the rest is in its session" in last_result(harness)


def test_stopping_the_turn_stops_them_and_their_commands(make_harness: MakeHarness) -> None:
    harness = make_harness(
        [delegate({"task": "wait"}), tool_calls([("run_command", {"command": "echo $$ > pid; sleep 600"})])],
        approve="all",
    )

    async def run_turns() -> None:
        task = asyncio.create_task(harness.turn("go"))
        await wait_until_async(lambda: has_text(harness.project / "pid"))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run_turns())
    pid = int((harness.project / "pid").read_text(encoding="utf-8"))
    assert not Path(f"/proc/{pid}").exists()
    assert last_result(harness).startswith("[interrupted; its output until then:]\nstep 1 · run echo")
    (info,) = children(harness)
    assert not info.running


def test_their_cost_counts_towards_the_limit(make_harness: MakeHarness, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "prices.yaml").write_text("'*':\n  test-model: {input: 1000, output: 1000}\n", encoding="utf-8")
    replies = [delegate({"task": "look"}), text("a", usage=(900, 100)), text("b", usage=(900, 100))]
    harness = make_harness(replies, max_cost="3.5")
    finished = asyncio.run(harness.turn("go"))
    assert finished.status == "max_cost"


def test_a_stalled_agent_is_ended_with_its_process(make_harness: MakeHarness) -> None:
    harness = make_harness([delegate({"task": "look"}), stall("Working on")])

    async def run_turns() -> None:
        task = asyncio.create_task(harness.turn("go"))
        await wait_until_async(lambda: len(harness.server.requests) >= 2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run_turns())
    assert children(harness)[0].messages >= 1


def test_none_are_offered_on_a_small_window(make_harness: MakeHarness) -> None:
    harness = make_harness([text("ok")], context_window=8_192)
    asyncio.run(harness.turn("go"))
    assert "delegate" not in [tool["function"]["name"] for tool in harness.server.requests[0].body["tools"]]
