"""Who is asked for approval, when, and the effect of the answer."""

import asyncio

import pytest

from clio.errors import ApprovalNeeded
from clio.messages import ToolMessage
from clio.security.actions import ChangeFiles, RunCommand
from clio.security.approval import Answer
from tests.support.chat_server import text, tool_calls
from tests.support.harness import Harness
from tests.turns.conftest import MakeHarness

WRITE = ("write_file", {"path": "new.txt", "content": "hello\n"})
TOUCH = ("run_command", {"command": "touch made-by-command"})


def results(harness: Harness) -> list[ToolMessage]:
    return [message for message in harness.app.session.messages if isinstance(message, ToolMessage)]


def test_a_write_is_shown_and_done_once_approved(make_harness: MakeHarness) -> None:
    harness = make_harness([tool_calls([WRITE]), text("ok")])
    harness.user.approvals = [Answer(kind="once")]
    asyncio.run(harness.turn("write"))
    assert (harness.project / "new.txt").read_text(encoding="utf-8") == "hello\n"
    action = harness.user.asked[0].action
    assert isinstance(action, ChangeFiles)
    assert [(change.before, change.after) for change in action.changes] == [(None, "hello\n")]


def test_a_denial_is_returned_with_its_reason(make_harness: MakeHarness) -> None:
    harness = make_harness([tool_calls([WRITE]), text("ok")])
    harness.user.approvals = [Answer(kind="no", reason="not in this folder")]
    asyncio.run(harness.turn("write"))
    assert not (harness.project / "new.txt").exists()
    assert "not in this folder" in harness.server.requests[1].body["messages"][-1]["content"]


def test_session_approvals_last_for_the_session_and_always_for_the_next(make_harness: MakeHarness) -> None:
    harness = make_harness([tool_calls([TOUCH]), tool_calls([TOUCH]), text("ok"), tool_calls([TOUCH]), text("ok")])
    harness.user.approvals = [Answer(kind="always")]

    async def run_turns() -> None:
        await harness.turn("touch twice")
        await harness.app.close()
        again = Harness(harness.project, harness.project.parent / "home", harness.server)
        await again.turn("touch")
        assert again.user.asked == []
        assert [result.ok for result in results(again)] == [True]
        await again.app.close()

    asyncio.run(run_turns())
    assert len(harness.user.asked) == 1
    assert "touch" in (harness.project / ".clio" / "config.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("mode", "call", "asked", "done"),
    [
        ("ask", ("read_file", {"path": "calc.py"}), 0, True),
        ("ask", ("run_command", {"command": "git status"}), 0, True),
        ("ask", ("run_command", {"command": "git status && touch x"}), 1, False),
        ("ask", ("read_file", {"path": "/etc/hostname"}), 1, False),
        ("edits", WRITE, 0, True),
        ("edits", TOUCH, 1, False),
        ("edits", ("write_file", {"path": "../outside.txt", "content": "x"}), 1, False),
        ("all", TOUCH, 0, True),
        ("all", ("run_command", {"command": "rm -rf /"}), 0, False),
        ("plan", WRITE, 0, False),
        ("plan", ("search_text", {"pattern": "add"}), 0, True),
    ],
)
def test_the_approval_mode_decides_who_is_asked(
    make_harness: MakeHarness, mode: str, call: tuple[str, dict[str, str]], asked: int, done: bool
) -> None:
    harness = make_harness([tool_calls([call]), text("ok")], approve=mode)
    asyncio.run(harness.turn("do it"))
    assert len(harness.user.asked) == asked
    assert [result.ok for result in results(harness)] == [done], results(harness)


def test_a_link_out_of_the_workspace_is_resolved(make_harness: MakeHarness) -> None:
    harness = make_harness(
        [tool_calls([("write_file", {"path": "link/x.txt", "content": "x"})]), text("ok")], approve="edits"
    )
    outside = harness.project.parent / "outside"
    outside.mkdir()
    (harness.project / "link").symlink_to(outside)
    asyncio.run(harness.turn("write"))
    assert len(harness.user.asked) == 1
    assert list(outside.iterdir()) == []


def test_questions_are_asked_one_at_a_time(make_harness: MakeHarness) -> None:
    fetches = [("web_fetch", {"url": f"http://example{n}.invalid/"}) for n in range(3)]
    harness = make_harness([tool_calls(fetches), text("ok")])
    at_once = 0

    async def ask(request: object) -> Answer:
        nonlocal at_once
        at_once += 1
        assert at_once == 1
        await asyncio.sleep(0.01)  # a slow user: without the lock another question would be asked meanwhile
        at_once -= 1
        return Answer(kind="no")

    harness.user.ask = ask  # type: ignore[method-assign]
    asyncio.run(harness.turn("fetch"))
    assert len(results(harness)) == 3


def test_a_failed_approver_denies_with_its_own_error(make_harness: MakeHarness) -> None:
    harness = make_harness([tool_calls([TOUCH]), text("I could not run it.")])

    async def nobody(request: object) -> Answer:
        raise ApprovalNeeded("run touch needs approval and nobody is here")

    harness.user.ask = nobody  # type: ignore[method-assign]
    finished = asyncio.run(harness.turn("touch"))
    assert (finished.status, finished.exit_code) == ("approval_needed", 4)
    assert finished.text == "I could not run it."
    assert "needs approval" in finished.error


def test_the_command_that_was_approved_is_the_one_that_runs(make_harness: MakeHarness) -> None:
    harness = make_harness([tool_calls([TOUCH]), text("ok")])
    harness.user.approvals = [Answer(kind="once")]
    asyncio.run(harness.turn("touch"))
    action = harness.user.asked[0].action
    assert isinstance(action, RunCommand)
    assert action.command == TOUCH[1]["command"]
    assert (harness.project / "made-by-command").exists()
