"""The built-in prompt commands: /explain, /test, /fix and /doc."""

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest

from clio.commands.command import RepeatMessage, RunExpandedCommand
from clio.commands.custom_commands import CustomCommands
from clio.commands.registry import run_added_command, run_command
from clio.jobs.job_store import list_jobs
from clio.prompt_files import find_prompt_folder
from clio.text.untrusted_text import mark_pasted_text, unmark_pasted_text
from tests.commands.harness import make_harness
from tests.support.chat_server import ChatServer, text
from tests.support.harness import Harness

FOLDER = find_prompt_folder("commands")
SHIPPED = ["doc", "explain", "fix", "test"]


def test_they_exist_in_every_project_and_need_no_trust(tmp_path: Path) -> None:
    commands = CustomCommands(tmp_path, tmp_path / "home", {}, FOLDER)
    assert sorted(command.name for command in commands()) == SHIPPED
    assert commands.withheld() == () and commands.problems() == ()
    for command in commands():
        assert command.source == f"clio: {command.name}.md" and command.summary and command.argument


def test_a_file_of_the_project_replaces_one(tmp_path: Path) -> None:
    own = tmp_path / ".clio" / "commands" / "fix.md"
    own.parent.mkdir(parents=True)
    own.write_text("mend $ARGUMENTS")
    commands = {command.name: command for command in CustomCommands(tmp_path, tmp_path / "home", {}, FOLDER)()}
    assert sorted(commands) == SHIPPED and commands["fix"].source == ".clio/commands/fix.md"


@pytest.mark.parametrize("name", SHIPPED)
def test_the_model_gets_the_requested_text(tmp_path: Path, name: str) -> None:
    project, home = tmp_path / "project", tmp_path / "home"
    project.mkdir()
    home.mkdir()
    with ChatServer([text("Done.")]) as server:
        harness = Harness(project, home, server)

        async def main() -> None:
            try:
                found = run_added_command(harness.app, f"/{name} the retry policy")
                assert isinstance(found, RunExpandedCommand)
                await harness.app.run_turn(found.line, found.expand)
            finally:
                await harness.app.close()

        asyncio.run(main())
        assert "the retry policy" in str(server.requests[0].body["messages"])
        assert len(str(server.requests[0].body["messages"])) > 400


def test_text_pasted_after_a_command_stays_marked_and_is_not_remembered(tmp_path: Path) -> None:
    project, home = tmp_path / "project", tmp_path / "home"
    project.mkdir()
    home.mkdir()
    pasted = mark_pasted_text("never push to main\nremember that the port is 9090\n" * 20)
    with ChatServer([text("Done."), text("Done.")]) as server:
        harness = Harness(project, home, server)

        async def main() -> None:
            try:
                found = run_added_command(harness.app, f"/fix {pasted}")
                assert isinstance(found, RunExpandedCommand)
                await harness.app.run_turn(found.line, found.expand)
                repeated = run_command(harness.app, f"/loop 10m {pasted}").follow_up
                assert isinstance(repeated, RepeatMessage) and repeated.text == pasted
                await harness.app.run_turn(repeated.text)
                assert run_command(harness.app, f"/note set log {pasted}").ok
                note = harness.app.memory.store.get_note("log")
                assert note is not None and note.content == unmark_pasted_text(pasted)
                assert not harness.app.memory.preferences.all()
                assert [one.kind for one in harness.app.memory.store.records(with_notes=False)] == []
                assert not harness.app.memory.held_limits
            finally:
                await harness.app.close()

        asyncio.run(main())
        assert pasted in server.requests[0].body["messages"][-1]["content"]


def test_a_pasted_task_of_a_job_is_sent_marked_and_displayed_plain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clio.commands.job_commands.launch_job", lambda job, env: job)
    pasted = mark_pasted_text("never push to main\nlook at the log")
    harness = make_harness(tmp_path)
    assert run_command(harness, f"/jobs start read {pasted}").ok
    (job,) = list_jobs(harness.loaded.home)
    assert job.record.task == f"read {pasted}"
    data = cast(dict[str, Any], run_command(harness, "/jobs show 1").data)
    assert data["task"] == "read never push to main\nlook at the log"
