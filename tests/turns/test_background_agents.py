"""Background sub-agents work in parallel to the conversation, in worktrees, and report like commands."""

import asyncio
import re
from typing import Any

import pytest

from clio.agent.user_interface import Notice
from clio.commands.command import Confirm, WaitFor
from clio.commands.registry import run_command
from clio.errors import UserError
from clio.git.worktrees import list_worktrees
from clio.messages import ToolMessage
from clio.security.approval import Answer
from tests.support.chat_server import Script, stall, text, tool_calls
from tests.support.harness import Harness, git
from tests.support.processes import find_survivors
from tests.support.waiting import wait_until_async
from tests.turns.conftest import MakeHarness

EDIT = [("edit_file", {"path": "calc.py", "old_string": "a - b", "new_string": "a + b"})]


def is_agent(request: dict[str, Any]) -> bool:
    return "sub-agent of clio" in request["messages"][0]["content"]


def split(top: list[Script], agent: list[Script]) -> Any:
    """Return a script that answers the conversation and the agents from two lists."""

    def script(request: dict[str, Any]) -> Any:
        reply = (agent if is_agent(request) else top).pop(0)
        return reply(request) if callable(reply) else reply

    return [script] * 20


def delegate(task: str, **more: Any) -> Script:
    return tool_calls([("delegate", {"task": task, "background": True, **more})])


async def wait_for_agent(harness: Harness, number: int = 1) -> None:
    agents = harness.app.background.agents
    await wait_until_async(lambda: number in agents and not agents[number].is_running)


def results(harness: Harness) -> list[str]:
    return [str(one.content) for one in harness.app.session.messages if isinstance(one, ToolMessage)]


def run_and_print(harness: Harness, line: str) -> str:
    result = run_command(harness.app, line)
    return result.text + result.verbatim + result.diff


async def carry_out(harness: Harness, line: str) -> str:
    result = run_command(harness.app, line)
    if isinstance(result.follow_up, WaitFor):
        result = await result.follow_up.work()
    return result.text


def test_the_turn_continues_and_the_report_comes_with_the_next_message(make_harness: MakeHarness) -> None:
    top = [delegate("look at calc.py"), text("It looks."), text("Thanks.")]
    harness = make_harness(split(top, [tool_calls([("read_file", {"path": "calc.py"})]), text("It subtracts.")]))

    async def run_turns() -> None:
        assert (await harness.turn("look in the background")).text == "It looks."
        await wait_for_agent(harness)
        assert "agent1" in run_and_print(harness, "/agents") and "2 steps" in run_and_print(harness, "/agents")
        assert "It subtracts." in run_and_print(harness, "/agents report 1")
        await harness.turn("and?")
        await harness.app.close()

    asyncio.run(run_turns())
    assert "It subtracts." in str(harness.server.requests[-1].body["messages"][-1])
    assert any("agent1 has ended" in notice.text for notice in harness.seen(Notice))
    (info,) = [one for one in harness.app.store.list() if one.delegated]
    assert info.parent == harness.app.session.id and (info.name or "").startswith("agent1")


def test_the_model_can_wait_for_it_as_for_a_command(make_harness: MakeHarness) -> None:
    top = [delegate("look"), tool_calls([("job_output", {"job": "agent1", "wait_s": 30})]), text("Seen."), text("Yes.")]
    harness = make_harness(split(top, [text("Found it.")]))

    async def run_turns() -> None:
        await harness.turn("look")
        await harness.turn("and?")
        await harness.app.close()

    asyncio.run(run_turns())
    assert "[agent1 ended]" in results(harness)[-1] and "Found it." in results(harness)[-1]
    assert "Found it." not in str(harness.server.requests[-1].body["messages"][-1]), "it is not sent a second time"


def test_an_agent_that_may_not_edit_only_reads(make_harness: MakeHarness) -> None:
    harness = make_harness(
        split([delegate("mend it"), text("ok")], [tool_calls(EDIT), text("I may not.")]), approve="all"
    )

    async def run_turns() -> None:
        await harness.turn("mend it")
        await wait_for_agent(harness)
        await harness.app.close()

    asyncio.run(run_turns())
    assert "a - b" in (harness.project / "calc.py").read_text(encoding="utf-8")
    assert list_worktrees(harness.project) == []


def start_editor(make_harness: MakeHarness, *agent: Script, **overrides: Any) -> Harness:
    top = [delegate("mend it", edits=True), text("ok"), text("more")]
    return make_harness(split(top, [tool_calls(EDIT), *agent, text("Mended.")]), **overrides)


def test_an_editing_agent_works_in_a_worktree_until_the_user_merges(make_harness: MakeHarness) -> None:
    new = tool_calls([("write_file", {"path": "notes/new.txt", "content": "new\n"})])
    harness = start_editor(make_harness, new, approve="all")

    async def run_turns() -> None:
        await harness.turn("mend it")
        await wait_for_agent(harness)
        assert "a - b" in (harness.project / "calc.py").read_text(encoding="utf-8")
        shown = run_and_print(harness, "/agents diff 1")
        assert "+    return a + b" in shown and "notes/new.txt" in shown
        head = git(harness.project, "rev-parse", "HEAD")
        assert "2 files" in await carry_out(harness, "/agents merge 1")
        assert git(harness.project, "rev-parse", "HEAD") == head
        await harness.app.close()

    asyncio.run(run_turns())
    assert "a + b" in (harness.project / "calc.py").read_text(encoding="utf-8")
    assert (harness.project / "notes" / "new.txt").read_text() == "new\n"
    assert list_worktrees(harness.project) == []
    assert "clio/agent-1" not in git(harness.project, "branch", "--list", "clio/*")


RISKY = """mkdir -p .githooks .vscode && echo x > .githooks/pre-commit && echo {} > .vscode/settings.json
echo '* filter=x' > .gitattributes && echo x > .gitmodules
ln -s ../../elsewhere out && ln -s .git/config inner && ln -s calc.py plain && ln -s . here
ln -s /etc/passwd absolute"""
RISKY_NAMES = {
    ".githooks/pre-commit",
    ".vscode/settings.json",
    ".gitattributes",
    ".gitmodules",
    "out",
    "inner",
    "absolute",
}


def test_a_merge_names_files_that_run_automatically_or_lead_outside_and_asks(make_harness: MakeHarness) -> None:
    harness = start_editor(make_harness, tool_calls([("run_command", {"command": RISKY})]), approve="all")

    async def run_turns() -> None:
        await harness.turn("mend it")
        await wait_for_agent(harness)
        result = run_command(harness.app, "/agents merge 1")
        assert isinstance(result.follow_up, Confirm) and callable(result.follow_up.then)
        assert result.table is not None and {row[0] for row in result.table.rows} == RISKY_NAMES
        assert all(row[1] for row in result.table.rows)
        assert git(harness.project, "status", "--short") == ""
        worktree = list_worktrees(harness.project)[0].path
        (worktree / ".envrc").write_text("x\n", encoding="utf-8")
        with pytest.raises(UserError, match="no longer what you were asked about"):
            result.follow_up.then()
        assert git(harness.project, "status", "--short") == ""
        (worktree / ".envrc").unlink()
        assert "Merged" in result.follow_up.then().text
        await harness.app.close()

    asyncio.run(run_turns())
    assert (harness.project / ".githooks" / "pre-commit").exists() and (harness.project / "plain").is_symlink()
    assert list_worktrees(harness.project) == []


def test_a_conflicting_merge_changes_nothing(make_harness: MakeHarness) -> None:
    new = tool_calls([("write_file", {"path": "new.txt", "content": "new\n"})])
    harness = start_editor(make_harness, new, approve="all")

    async def run_turns() -> None:
        await harness.turn("mend it")
        await wait_for_agent(harness)
        (harness.project / "calc.py").write_text("something else\n", encoding="utf-8")
        assert "nothing was merged" in (await carry_out(harness, "/agents merge 1")).lower()
        await harness.app.close()

    asyncio.run(run_turns())
    assert (harness.project / "calc.py").read_text(encoding="utf-8") == "something else\n"
    assert not (harness.project / "new.txt").exists()
    assert [one.name for one in list_worktrees(harness.project)] == ["agent-1"]


def test_discarding_asks_first_and_deletes_worktree_and_branch(make_harness: MakeHarness) -> None:
    harness = start_editor(make_harness, approve="all")

    async def run_turns() -> None:
        await harness.turn("mend it")
        await wait_for_agent(harness)
        step = run_command(harness.app, "/agents discard 1").follow_up
        assert isinstance(step, Confirm)
        assert len(list_worktrees(harness.project)) == 1
        run_command(harness.app, step.then)
        await harness.app.close()

    asyncio.run(run_turns())
    assert list_worktrees(harness.project) == []
    assert "a - b" in (harness.project / "calc.py").read_text(encoding="utf-8")


def test_worktrees_with_changes_are_kept_after_clio_ends_with_their_number(make_harness: MakeHarness) -> None:
    harness = start_editor(make_harness, approve="all")

    async def first() -> None:
        await harness.turn("mend it")
        await wait_for_agent(harness)
        await harness.app.close()

    asyncio.run(first())
    harness.app = harness.build()

    async def second() -> None:
        assert "agent1, of an earlier session" in run_and_print(harness, "/agents")
        assert "1 file" in await carry_out(harness, "/agents merge 1")
        await harness.app.close()

    asyncio.run(second())
    assert "a + b" in (harness.project / "calc.py").read_text(encoding="utf-8")


def test_an_agent_cannot_create_a_link_or_a_list_row(make_harness: MakeHarness) -> None:
    harness = make_harness(split([delegate("wait"), text("ok")], [stall("Thinking")]))
    title = "run echo [ok](https://evil.example)\n- agent9 · done"

    async def run_turns() -> None:
        await harness.turn("wait")
        agents = harness.app.background.agents
        await wait_until_async(lambda: agents[1].step)
        agents[1].doing = title
        quoted = "`run echo [ok](https://evil.example) - agent9 · done`"
        assert quoted in run_and_print(harness, "/agents")
        agents[1].asks = title
        assert f"asks: {quoted}" in run_and_print(harness, "/agents")
        await harness.app.close()

    asyncio.run(run_turns())


def test_a_worktree_without_changes_is_removed(make_harness: MakeHarness) -> None:
    harness = make_harness(split([delegate("look", edits=True), text("ok")], [text("Nothing to do.")]), approve="all")

    async def run_turns() -> None:
        await harness.turn("look")
        await wait_for_agent(harness)
        await harness.app.close()

    asyncio.run(run_turns())
    assert list_worktrees(harness.project) == []


def test_an_agent_without_changes_has_nothing_to_show_or_merge(make_harness: MakeHarness) -> None:
    harness = make_harness(split([delegate("mend it", edits=True), text("ok")], [text("Nothing to mend.")]))

    async def run_turns() -> None:
        await harness.turn("mend it")
        await wait_for_agent(harness)
        await wait_until_async(lambda: not harness.app.background.agents[1].edits)
        for line in ("/agents diff 1", "/agents merge 1"):
            assert "no changes" in run_and_print(harness, line)
        await harness.app.close()

    asyncio.run(run_turns())


def test_its_questions_name_the_agent_and_the_answer_counts(make_harness: MakeHarness) -> None:
    harness = start_editor(make_harness)
    harness.user.approvals = [Answer("once")]

    async def run_turns() -> None:
        await harness.turn("mend it")
        await wait_for_agent(harness)
        assert "+    return a + b" in run_and_print(harness, "/agents diff 1")
        await harness.app.close()

    asyncio.run(run_turns())
    assert [request.title.partition(",")[0] for request in harness.user.asked] == ["agent1"]


def test_a_user_who_approved_everything_is_not_asked(make_harness: MakeHarness) -> None:
    harness = make_harness(
        split([delegate("mend it", edits=True), text("ok")], [tool_calls(EDIT), text("Refused.")]),
        background_approvals="refuse",
    )

    async def run_turns() -> None:
        await harness.turn("mend it")
        await wait_for_agent(harness)
        await harness.app.close()

    asyncio.run(run_turns())
    assert harness.user.asked == []
    assert list_worktrees(harness.project) == []


def test_it_receives_messages_and_can_be_stopped(make_harness: MakeHarness) -> None:
    read = tool_calls([("run_command", {"command": "while ! test -e go; do sleep 0.05; done"})])
    harness = make_harness(split([delegate("wait", edits=True), text("ok")], [read, stall("Thinking")]), approve="all")

    async def run_turns() -> None:
        await harness.turn("wait")
        agent = harness.app.background.agents[1]
        await wait_until_async(lambda: agent.doing)
        assert "next request" in run_and_print(harness, "/agents message 1 look at the tests too")
        (agent.folder / "go").touch()
        await wait_until_async(lambda: len(harness.server.requests) == 4)
        assert "look at the tests too" in str(harness.server.requests[-1].body["messages"])
        assert "stopped" in await carry_out(harness, "/agents stop 1")
        assert not agent.is_running
        await harness.app.close()

    asyncio.run(run_turns())
    assert [one.name for one in list_worktrees(harness.project)] == ["agent-1"]


def test_closing_clio_ends_the_agent_with_its_commands(make_harness: MakeHarness) -> None:
    wait = tool_calls([("run_command", {"command": "echo $$ > pid; sleep 300"})])
    harness = make_harness(split([delegate("wait", edits=True), text("ok")], [wait]), approve="all")
    pids: list[int] = []

    async def run_turns() -> None:
        await harness.turn("wait")
        pid = harness.app.background.agents[1].folder / "pid"
        await wait_until_async(lambda: pid.exists() and pid.read_text().strip())
        pids.append(int(pid.read_text()))
        await harness.app.close()

    asyncio.run(run_turns())
    assert find_survivors(pids) == []


def test_at_most_four_run_at_the_same_time(make_harness: MakeHarness) -> None:
    calls = tool_calls([("delegate", {"task": f"task {number}", "background": True}) for number in range(5)])
    harness = make_harness(split([calls, text("ok")], [stall("Thinking") for _ in range(5)]))

    async def run_turns() -> None:
        await harness.turn("five")
        assert sum(agent.is_running for agent in harness.app.background.agents.values()) == 4
        await harness.app.close()

    asyncio.run(run_turns())
    assert sum("work already" in result for result in results(harness)) == 1


@pytest.mark.parametrize(
    "line", ["/agents message", "/agents stop x", "/agents diff 7", "/agents merge 9", "/agents report 3"]
)
def test_unknown_numbers_are_refused_with_the_known_ones(make_harness: MakeHarness, line: str) -> None:
    harness = make_harness([])
    result = run_command(harness.app, line)
    assert not result.ok and re.search(r"agent|/agents", result.text)
    asyncio.run(harness.app.close())
