"""Who is asked, when, and what becomes of the answer."""

import asyncio

import pytest

from clio.errors import ApprovalNeeded
from clio.messages import ToolMessage
from clio.security.actions import ChangeFiles, RunCommand
from clio.security.approval import Answer
from tests.support.chat_server import text, tool_calls
from tests.support.desk import Desk
from tests.turns.conftest import MakeDesk

WRITE = ("write_file", {"path": "new.txt", "content": "hello\n"})
TOUCH = ("run_command", {"command": "touch made-by-command"})


def results(desk: Desk) -> list[ToolMessage]:
    return [message for message in desk.app.session.messages if isinstance(message, ToolMessage)]


def test_a_write_is_shown_and_done_once_allowed(make_desk: MakeDesk) -> None:
    desk = make_desk([tool_calls([WRITE]), text("ok")])
    desk.person.approvals = [Answer(kind="once")]
    asyncio.run(desk.turn("write"))
    assert (desk.project / "new.txt").read_text(encoding="utf-8") == "hello\n"
    action = desk.person.asked[0].action
    assert isinstance(action, ChangeFiles)
    assert [(change.before, change.after) for change in action.changes] == [(None, "hello\n")]


def test_no_comes_with_its_reason(make_desk: MakeDesk) -> None:
    desk = make_desk([tool_calls([WRITE]), text("ok")])
    desk.person.approvals = [Answer(kind="no", reason="not in this folder")]
    asyncio.run(desk.turn("write"))
    assert not (desk.project / "new.txt").exists()
    assert "not in this folder" in desk.server.requests[1].body["messages"][-1]["content"]


def test_session_lasts_for_the_session_and_always_for_the_next(make_desk: MakeDesk) -> None:
    desk = make_desk([tool_calls([TOUCH]), tool_calls([TOUCH]), text("ok"), tool_calls([TOUCH]), text("ok")])
    desk.person.approvals = [Answer(kind="always")]

    async def story() -> None:
        await desk.turn("touch twice")
        await desk.app.close()
        again = Desk(desk.project, desk.project.parent / "home", desk.server)
        await again.turn("touch")
        assert again.person.asked == []
        assert [result.ok for result in results(again)] == [True]
        await again.app.close()

    asyncio.run(story())
    assert len(desk.person.asked) == 1
    assert "touch" in (desk.project / ".clio" / "config.yaml").read_text(encoding="utf-8")


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
def test_the_mode_decides(
    make_desk: MakeDesk, mode: str, call: tuple[str, dict[str, str]], asked: int, done: bool
) -> None:
    desk = make_desk([tool_calls([call]), text("ok")], approve=mode)
    asyncio.run(desk.turn("do it"))
    assert len(desk.person.asked) == asked
    assert [result.ok for result in results(desk)] == [done], results(desk)


def test_a_link_out_of_the_workspace_is_seen_through(make_desk: MakeDesk) -> None:
    desk = make_desk(
        [tool_calls([("write_file", {"path": "link/x.txt", "content": "x"})]), text("ok")], approve="edits"
    )
    outside = desk.project.parent / "outside"
    outside.mkdir()
    (desk.project / "link").symlink_to(outside)
    asyncio.run(desk.turn("write"))
    assert len(desk.person.asked) == 1
    assert list(outside.iterdir()) == []


def test_questions_come_one_at_a_time(make_desk: MakeDesk) -> None:
    fetches = [("web_fetch", {"url": f"http://example{n}.invalid/"}) for n in range(3)]
    desk = make_desk([tool_calls(fetches), text("ok")])
    at_once = 0

    async def ask(request: object) -> Answer:
        nonlocal at_once
        at_once += 1
        assert at_once == 1
        await asyncio.sleep(0.01)  # a slow user: another question would be asked meanwhile
        at_once -= 1
        return Answer(kind="no")

    desk.person.ask = ask  # type: ignore[method-assign]
    asyncio.run(desk.turn("fetch"))
    assert len(results(desk)) == 3


def test_no_server_is_its_own_failure(make_desk: MakeDesk) -> None:
    desk = make_desk([tool_calls([TOUCH]), text("I could not run it.")])

    async def nobody(request: object) -> Answer:
        raise ApprovalNeeded("run touch needs approval and nobody is here")

    desk.person.ask = nobody  # type: ignore[method-assign]
    finished = asyncio.run(desk.turn("touch"))
    assert (finished.status, finished.exit_code) == ("approval_needed", 4)
    assert finished.text == "I could not run it."
    assert "needs approval" in finished.error


def test_the_command_that_is_judged_is_the_one_that_runs(make_desk: MakeDesk) -> None:
    desk = make_desk([tool_calls([TOUCH]), text("ok")])
    desk.person.approvals = [Answer(kind="once")]
    asyncio.run(desk.turn("touch"))
    action = desk.person.asked[0].action
    assert isinstance(action, RunCommand)
    assert action.command == TOUCH[1]["command"]
    assert (desk.project / "made-by-command").exists()
