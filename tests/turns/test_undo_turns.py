"""Undo and redo of turns by the commands that users type, with a real server and real files."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from clio.commands.command import CommandResult, Confirm, NewSession, SwitchSession
from clio.commands.registry import run_command
from clio.messages import UserMessage
from tests.support.chat_server import Script, text, tool_calls
from tests.support.harness import Harness, git
from tests.turns.conftest import MakeHarness

CALC = 'def add(a, b):\n    """Sum of two numbers."""\n    return a - b\n'


def write(path: str, content: str) -> tuple[str, dict[str, Any]]:
    return "write_file", {"path": path, "content": content}


def shell(command: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return "run_command", {"command": command} | more


def turns(*calls: tuple[str, dict[str, Any]]) -> list[Script]:
    """Return a turn for each call."""
    return [reply for call in calls for reply in (tool_calls([call]), text("done"))]


async def say(harness: Harness, count: int) -> None:
    for number in range(1, count + 1):
        await harness.turn(f"task {number}")


def do(harness: Harness, line: str) -> CommandResult:
    return run_command(harness.app, line)


def exists(harness: Harness, name: str) -> bool:
    return (harness.project / name).exists()


def test_the_last_turn_with_changes_is_undone_and_redone(make_harness: MakeHarness) -> None:
    harness = make_harness(
        [*turns(write("one.txt", "1\n"), shell("echo 2 > two.txt")), text("just words")], approve="all"
    )
    asyncio.run(say(harness, 3))
    undone = do(harness, "/undo")
    assert "Undid turn 2" in undone.text
    assert "ignored by git" in undone.text
    assert (exists(harness, "one.txt"), exists(harness, "two.txt")) == (True, False)
    assert "Undid turn 1" in do(harness, "/undo").text
    assert not exists(harness, "one.txt")
    assert not do(harness, "/undo").ok
    assert do(harness, "/redo").ok
    assert do(harness, "/redo").ok
    assert (exists(harness, "one.txt"), exists(harness, "two.txt")) == (True, True)
    assert not do(harness, "/redo").ok


def test_an_edit_of_the_user_is_not_lost(make_harness: MakeHarness) -> None:
    harness = make_harness(turns(shell("echo '# by the model' >> calc.py; echo x > other.txt")), approve="all")
    asyncio.run(say(harness, 1))
    mine = harness.project / "calc.py"
    mine.write_text(mine.read_text() + "# by me\n", encoding="utf-8")
    refused = do(harness, "/undo")
    assert not refused.ok
    assert "Not undone: calc.py has newer changes" in refused.text
    assert "+# by me" in refused.diff
    assert "+# by the model" not in refused.diff
    assert exists(harness, "other.txt")
    assert do(harness, "/undo --except calc.py").ok
    assert not exists(harness, "other.txt")
    assert "# by me" in mine.read_text()


def test_force_undoes_an_edit_of_the_user_and_redo_restores_it(make_harness: MakeHarness) -> None:
    harness = make_harness(turns(shell("echo '# by the model' >> calc.py")), approve="all")
    asyncio.run(say(harness, 1))
    mine = harness.project / "calc.py"
    mine.write_text("mine\n", encoding="utf-8")
    assert do(harness, "/undo --force").ok
    assert mine.read_text() == CALC
    assert do(harness, "/redo").ok
    assert mine.read_text() == "mine\n"


def test_a_diff_of_a_turn(make_harness: MakeHarness) -> None:
    harness = make_harness(
        turns(shell("sed -i s/-/+/ calc.py; chmod 755 test_calc.py"), write("b.txt", "b\n")), approve="all"
    )
    asyncio.run(say(harness, 2))
    last, first = do(harness, "/diff"), do(harness, "/diff 1")
    assert last.diff == "--- /dev/null\n+++ b.txt\n@@ -0,0 +1 @@\n+b\n"
    assert "): `b.txt`, +1 −0." in last.text, "the file is named if its diff omits the name"
    assert "): 2 files, " in first.text
    assert "-    return a - b\n+    return a + b\n" in first.diff
    assert "old mode 100644\nnew mode 100755\n" in first.diff
    assert "calc.py" not in do(harness, "/diff 1 test_calc.py").diff.replace("test_calc.py", "")
    assert not do(harness, "/diff 7").ok


def test_secrets_are_not_shown_in_diffs(make_harness: MakeHarness) -> None:
    secret = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
    harness = make_harness(turns(shell(f"echo key={secret[:20]}''{secret[20:]} > .env.txt")), approve="all")
    asyncio.run(say(harness, 1))
    assert "key=" in do(harness, "/diff").diff
    assert secret not in do(harness, "/diff").diff


def test_rewind_lists_turns_and_asks_before_it_changes_anything(make_harness: MakeHarness) -> None:
    harness = make_harness(turns(write("one.txt", "1\n"), write("two.txt", "2\n2\n")), approve="all")
    asyncio.run(say(harness, 2))
    listed = do(harness, "/rewind")
    assert listed.table is not None
    assert [(row[0], *row[2:]) for row in listed.table.rows] == [
        ("2", "task 2", "1", "+2 −0"),
        ("1", "task 1", "1", "+1 −0"),
    ]
    asked = do(harness, "/rewind 1 files")
    assert isinstance(asked.follow_up, Confirm)
    assert "change 2 files" in asked.follow_up.question
    assert exists(harness, "one.txt")
    assert do(harness, asked.follow_up.then).ok
    assert not exists(harness, "one.txt")
    assert not exists(harness, "two.txt")
    assert do(harness, "/redo").ok
    assert (exists(harness, "one.txt"), exists(harness, "two.txt")) == (True, True)


def test_rewinding_both_continues_in_a_copy_and_deletes_nothing(make_harness: MakeHarness) -> None:
    harness = make_harness(turns(write("one.txt", "1\n"), write("two.txt", "2\n")), approve="all")
    asyncio.run(say(harness, 2))
    before = list(harness.app.session.messages)
    asked = do(harness, "/rewind 2 both")
    assert isinstance(asked.follow_up, Confirm)
    done = do(harness, asked.follow_up.then)
    assert isinstance(done.follow_up, SwitchSession)
    old = harness.app.session.id
    copy = harness.app.open_session(done.follow_up.session_id)
    user_texts = [message.content for message in copy.messages if isinstance(message, UserMessage)]
    assert user_texts == ["task 1"]
    assert (exists(harness, "one.txt"), exists(harness, "two.txt")) == (True, False)
    assert list(harness.app.store.read(old)) == before
    assert do(harness, "/redo").ok
    assert exists(harness, "two.txt")
    first = do(harness, "/rewind 1 talk --yes")
    assert isinstance(first.follow_up, NewSession)


def test_the_model_is_told_that_its_changes_were_undone(make_harness: MakeHarness) -> None:
    harness = make_harness([*turns(shell("echo x >> calc.py")), text("I see"), text("and go on")], approve="all")

    async def run_turns() -> None:
        await say(harness, 1)
        do(harness, "/undo")
        await say(harness, 2)

    asyncio.run(run_turns())
    undo_message, later = (request.body["messages"][-1]["content"] for request in harness.server.requests[-2:])
    assert "undid changes you had made" in undo_message
    assert "calc.py" in undo_message
    assert "undid" not in later


def test_styles_learn_that_an_answer_was_undone(make_harness: MakeHarness) -> None:
    harness = make_harness(turns(shell("echo x >> calc.py")), approve="all")
    do(harness, "/style on")
    asyncio.run(say(harness, 1))
    do(harness, "/undo")
    assert "you undid its changes" in str(do(harness, "/feedback").table)


def test_checkpoints_are_invisible_to_git(make_harness: MakeHarness) -> None:
    harness = make_harness(turns(shell("echo x >> calc.py; touch new"), write("test_calc.py", "")), approve="all")

    def seen() -> tuple[str, bytes, str]:
        status = git(harness.project, "--no-optional-locks", "status", "--porcelain")
        return status, (harness.project / ".git/index").read_bytes(), git(harness.project, "for-each-ref")

    before = seen()
    asyncio.run(say(harness, 2))
    assert seen()[1:] == before[1:]
    do(harness, "/undo")
    do(harness, "/undo")
    assert seen() == before


def test_files_outside_are_restored_after_a_question(make_harness: MakeHarness, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    harness = make_harness(turns(write(str(outside), "hello\n")), approve="all")
    asyncio.run(say(harness, 1))
    assert outside.exists()
    asked = do(harness, "/undo")
    assert isinstance(asked.follow_up, Confirm)
    assert str(outside) in asked.follow_up.question
    assert outside.exists()
    assert do(harness, asked.follow_up.then).ok
    assert not outside.exists()


def test_files_written_by_a_background_command_belong_to_its_turn(make_harness: MakeHarness) -> None:
    job = shell("sleep 0.7; echo late > late.txt", background=True)
    wait = ("job_output", {"job": "job1", "wait_s": 10})
    harness = make_harness([tool_calls([job]), tool_calls([wait]), text("done")], approve="all")
    asyncio.run(say(harness, 1))
    assert exists(harness, "late.txt")
    assert do(harness, "/undo").ok
    assert not exists(harness, "late.txt")


def test_a_turn_survives_a_restart(make_harness: MakeHarness) -> None:
    harness = make_harness(turns(shell("rm calc.py")), approve="all")

    async def run_turns() -> str:
        await harness.turn("remove it")
        await harness.app.close()
        return harness.app.session.id

    session = asyncio.run(run_turns())
    harness.app = harness.build()
    harness.app.open_session(session)
    assert do(harness, "/undo").ok
    assert (harness.project / "calc.py").read_text() == CALC


def test_read_only_turns_save_nothing(make_harness: MakeHarness, tmp_path: Path) -> None:
    harness = make_harness(turns(shell("cat calc.py"), ("read_file", {"path": "calc.py"})), approve="all")
    asyncio.run(say(harness, 2))
    assert not (tmp_path / "home" / "checkpoints").exists()


@pytest.mark.fast
def test_incognito_undoes_from_memory(make_harness: MakeHarness, tmp_path: Path) -> None:
    harness = make_harness(turns(shell("rm calc.py; echo x > new")), approve="all", incognito=True)
    asyncio.run(say(harness, 1))
    assert do(harness, "/undo").ok
    assert (harness.project / "calc.py").read_text() == CALC
    assert not exists(harness, "new")
    assert not (tmp_path / "home").exists()
    assert not do(harness, "/rewind 1 talk").ok


def test_undo_reports_that_checkpoints_are_off(make_harness: MakeHarness, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.yaml").write_text("checkpoints: false\n", encoding="utf-8")
    harness = make_harness(turns(shell("rm calc.py")), approve="all")
    asyncio.run(say(harness, 1))
    assert "checkpoints" in do(harness, "/undo").text
    assert not (tmp_path / "home" / "checkpoints").exists()


@pytest.mark.parametrize(
    "line", ["/undo nonsense", "/undo --except nonsense", "/rewind 1", "/rewind 1 all", "/rewind x"]
)
def test_unknown_arguments_change_nothing(make_harness: MakeHarness, line: str) -> None:
    harness = make_harness(turns(write("one.txt", "1\n")), approve="all")
    asyncio.run(say(harness, 1))
    assert not do(harness, line).ok
    assert exists(harness, "one.txt")
