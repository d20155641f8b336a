"""Turns are taken back and brought again: by the commands a user types, with a real server and real files."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from clio.commands.command import CommandResult, Confirm, NewSession, SwitchSession
from clio.commands.registry import run_command
from clio.messages import UserMessage
from tests.support.chat_server import Script, text, tool_calls
from tests.support.desk import Desk, git
from tests.turns.conftest import MakeDesk

CALC = 'def add(a, b):\n    """Sum of two numbers."""\n    return a - b\n'


def write(path: str, content: str) -> tuple[str, dict[str, Any]]:
    return "write_file", {"path": path, "content": content}


def shell(command: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return "run_command", {"command": command} | more


def turns(*calls: tuple[str, dict[str, Any]]) -> list[Script]:
    """A turn for each call."""
    return [reply for call in calls for reply in (tool_calls([call]), text("done"))]


async def say(desk: Desk, count: int) -> None:
    for number in range(1, count + 1):
        await desk.turn(f"task {number}")


def do(desk: Desk, line: str) -> CommandResult:
    return run_command(desk.app, line)


def exists(desk: Desk, name: str) -> bool:
    return (desk.project / name).exists()


def test_the_last_turn_that_changed_files_goes_and_comes_again(make_desk: MakeDesk) -> None:
    desk = make_desk([*turns(write("one.txt", "1\n"), shell("echo 2 > two.txt")), text("just words")], approve="all")
    asyncio.run(say(desk, 3))
    undone = do(desk, "/undo")
    assert "Undid turn 2" in undone.text
    assert ".gitignore" in undone.text
    assert (exists(desk, "one.txt"), exists(desk, "two.txt")) == (True, False)
    assert "Undid turn 1" in do(desk, "/undo").text
    assert not exists(desk, "one.txt")
    assert not do(desk, "/undo").ok
    assert do(desk, "/redo").ok
    assert do(desk, "/redo").ok
    assert (exists(desk, "one.txt"), exists(desk, "two.txt")) == (True, True)
    assert not do(desk, "/redo").ok


def test_an_edit_of_the_user_is_not_lost(make_desk: MakeDesk) -> None:
    desk = make_desk(turns(shell("echo '# by the model' >> calc.py; echo x > other.txt")), approve="all")
    asyncio.run(say(desk, 1))
    mine = desk.project / "calc.py"
    mine.write_text(mine.read_text() + "# by me\n", encoding="utf-8")
    refused = do(desk, "/undo")
    assert not refused.ok
    assert "'calc.py': it was changed since" in refused.text
    assert "+# by me" in refused.diff
    assert "+# by the model" not in refused.diff
    assert exists(desk, "other.txt")
    assert do(desk, "/undo --except calc.py").ok
    assert not exists(desk, "other.txt")
    assert "# by me" in mine.read_text()


def test_force_takes_an_edit_back_and_redo_has_it(make_desk: MakeDesk) -> None:
    desk = make_desk(turns(shell("echo '# by the model' >> calc.py")), approve="all")
    asyncio.run(say(desk, 1))
    mine = desk.project / "calc.py"
    mine.write_text("mine\n", encoding="utf-8")
    assert do(desk, "/undo --force").ok
    assert mine.read_text() == CALC
    assert do(desk, "/redo").ok
    assert mine.read_text() == "mine\n"


def test_a_diff_of_a_turn(make_desk: MakeDesk) -> None:
    desk = make_desk(
        turns(shell("sed -i s/-/+/ calc.py; chmod 755 test_calc.py"), write("b.txt", "b\n")), approve="all"
    )
    asyncio.run(say(desk, 2))
    last, first = do(desk, "/diff"), do(desk, "/diff 1")
    assert last.diff == "--- /dev/null\n+++ b.txt\n@@ -0,0 +1 @@\n+b\n"
    assert "): `b.txt`, +1 −0." in last.text, "the file has its name where its diff leaves it out"
    assert "): 2 files, " in first.text
    assert "-    return a - b\n+    return a + b\n" in first.diff
    assert "old mode 100644\nnew mode 100755\n" in first.diff
    assert "calc.py" not in do(desk, "/diff 1 test_calc.py").diff.replace("test_calc.py", "")
    assert not do(desk, "/diff 7").ok


def test_secrets_are_not_shown_in_diffs(make_desk: MakeDesk) -> None:
    secret = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
    desk = make_desk(turns(shell(f"echo key={secret[:20]}''{secret[20:]} > .env.txt")), approve="all")
    asyncio.run(say(desk, 1))
    assert "key=" in do(desk, "/diff").diff
    assert secret not in do(desk, "/diff").diff


def test_rewind_lists_turns_and_asks_before_it_changes_anything(make_desk: MakeDesk) -> None:
    desk = make_desk(turns(write("one.txt", "1\n"), write("two.txt", "2\n2\n")), approve="all")
    asyncio.run(say(desk, 2))
    listed = do(desk, "/rewind")
    assert listed.table is not None
    assert [(row[0], *row[2:]) for row in listed.table.rows] == [
        ("2", "task 2", "1", "+2 −0"),
        ("1", "task 1", "1", "+1 −0"),
    ]
    asked = do(desk, "/rewind 1 files")
    assert isinstance(asked.follow_up, Confirm)
    assert "change 2 files" in asked.follow_up.question
    assert exists(desk, "one.txt")
    assert do(desk, asked.follow_up.then).ok
    assert not exists(desk, "one.txt")
    assert not exists(desk, "two.txt")
    assert do(desk, "/redo").ok
    assert (exists(desk, "one.txt"), exists(desk, "two.txt")) == (True, True)


def test_rewinding_both_goes_on_in_a_copy_and_deletes_nothing(make_desk: MakeDesk) -> None:
    desk = make_desk(turns(write("one.txt", "1\n"), write("two.txt", "2\n")), approve="all")
    asyncio.run(say(desk, 2))
    before = list(desk.app.session.messages)
    asked = do(desk, "/rewind 2 both")
    assert isinstance(asked.follow_up, Confirm)
    done = do(desk, asked.follow_up.then)
    assert isinstance(done.follow_up, SwitchSession)
    old = desk.app.session.id
    copy = desk.app.open_session(done.follow_up.session_id)
    said = [message.content for message in copy.messages if isinstance(message, UserMessage)]
    assert said == ["task 1"]
    assert (exists(desk, "one.txt"), exists(desk, "two.txt")) == (True, False)
    assert list(desk.app.store.read(old)) == before
    assert do(desk, "/redo").ok
    assert exists(desk, "two.txt")
    first = do(desk, "/rewind 1 talk --yes")
    assert isinstance(first.follow_up, NewSession)


def test_the_model_hears_that_its_changes_were_taken_back(make_desk: MakeDesk) -> None:
    desk = make_desk([*turns(shell("echo x >> calc.py")), text("I see"), text("and go on")], approve="all")

    async def story() -> None:
        await say(desk, 1)
        do(desk, "/undo")
        await say(desk, 2)

    asyncio.run(story())
    told, later = (request.body["messages"][-1]["content"] for request in desk.server.requests[-2:])
    assert "undid changes you had made" in told
    assert "calc.py" in told
    assert "undid" not in later


def test_styles_learn_that_an_answer_was_taken_back(make_desk: MakeDesk) -> None:
    desk = make_desk(turns(shell("echo x >> calc.py")), approve="all")
    do(desk, "/style on")
    asyncio.run(say(desk, 1))
    do(desk, "/undo")
    assert "you took its changes back" in str(do(desk, "/feedback").table)


def test_git_sees_nothing_of_it(make_desk: MakeDesk) -> None:
    desk = make_desk(turns(shell("echo x >> calc.py; touch new"), write("test_calc.py", "")), approve="all")

    def seen() -> tuple[str, bytes, str]:
        status = git(desk.project, "--no-optional-locks", "status", "--porcelain")
        return status, (desk.project / ".git/index").read_bytes(), git(desk.project, "for-each-ref")

    before = seen()
    asyncio.run(say(desk, 2))
    assert seen()[1:] == before[1:]
    do(desk, "/undo")
    do(desk, "/undo")
    assert seen() == before


def test_files_outside_are_put_back_after_a_question(make_desk: MakeDesk, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    desk = make_desk(turns(write(str(outside), "hello\n")), approve="all")
    asyncio.run(say(desk, 1))
    assert outside.exists()
    asked = do(desk, "/undo")
    assert isinstance(asked.follow_up, Confirm)
    assert str(outside) in asked.follow_up.question
    assert outside.exists()
    assert do(desk, asked.follow_up.then).ok
    assert not outside.exists()


def test_what_a_background_command_writes_belongs_to_its_turn(make_desk: MakeDesk) -> None:
    job = shell("sleep 0.7; echo late > late.txt", background=True)
    wait = ("job_output", {"job": "job1", "wait_s": 10})
    desk = make_desk([tool_calls([job]), tool_calls([wait]), text("done")], approve="all")
    asyncio.run(say(desk, 1))
    assert exists(desk, "late.txt")
    assert do(desk, "/undo").ok
    assert not exists(desk, "late.txt")


def test_a_turn_survives_a_restart(make_desk: MakeDesk) -> None:
    desk = make_desk(turns(shell("rm calc.py")), approve="all")

    async def story() -> str:
        await desk.turn("remove it")
        await desk.app.close()
        return desk.app.session.id

    session = asyncio.run(story())
    desk.app = desk.build()
    desk.app.open_session(session)
    assert do(desk, "/undo").ok
    assert (desk.project / "calc.py").read_text() == CALC


def test_reading_turns_keep_nothing(make_desk: MakeDesk, tmp_path: Path) -> None:
    desk = make_desk(turns(shell("cat calc.py"), ("read_file", {"path": "calc.py"})), approve="all")
    asyncio.run(say(desk, 2))
    assert not (tmp_path / "home" / "checkpoints").exists()


def test_incognito_undoes_from_memory(make_desk: MakeDesk, tmp_path: Path) -> None:
    desk = make_desk(turns(shell("rm calc.py; echo x > new")), approve="all", incognito=True)
    asyncio.run(say(desk, 1))
    assert do(desk, "/undo").ok
    assert (desk.project / "calc.py").read_text() == CALC
    assert not exists(desk, "new")
    assert not (tmp_path / "home").exists()
    assert not do(desk, "/rewind 1 talk").ok


def test_without_checkpoints_undo_says_so(make_desk: MakeDesk, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.yaml").write_text("checkpoints: false\n", encoding="utf-8")
    desk = make_desk(turns(shell("rm calc.py")), approve="all")
    asyncio.run(say(desk, 1))
    assert "checkpoints" in do(desk, "/undo").text
    assert not (tmp_path / "home" / "checkpoints").exists()


@pytest.mark.parametrize(
    "line", ["/undo nonsense", "/undo --except nonsense", "/rewind 1", "/rewind 1 all", "/rewind x"]
)
def test_what_is_not_understood_changes_nothing(make_desk: MakeDesk, line: str) -> None:
    desk = make_desk(turns(write("one.txt", "1\n")), approve="all")
    asyncio.run(say(desk, 1))
    assert not do(desk, line).ok
    assert exists(desk, "one.txt")
