"""Basic work of each entry point in this process; whole programs in terminals are tested in other files."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from clio import cli
from clio.agent.user_interface import Mailbox
from clio.commands.command import CommandResult
from clio.entrypoints.repl import commands
from clio.entrypoints.repl.repl import LineHints
from clio.entrypoints.repl.turn import TypeAheadQueue
from clio.entrypoints.repl.user_programs import TypedCommands
from tests.support.chat_server import ChatServer, text
from tests.support.wording import mentions


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")
    monkeypatch.chdir(tmp_path)
    with Path(os.devnull).open(encoding="utf-8") as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        yield tmp_path


def ask(server: ChatServer, *arguments: str) -> int:
    return cli.main(["-p", "hi", "--base-url", server.url, "--model", "test-model", *arguments])


def test_a_question_is_answered_on_standard_output(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ChatServer([text("hello")]) as server:
        assert ask(server) == 0
    assert capsys.readouterr().out == "hello\n"


def test_stream_json_ends_with_the_result(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ChatServer([text("hello")]) as server:
        assert ask(server, "--output", "stream-json") == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines[0]["type"] == "session"
    assert (lines[-1]["type"], lines[-1]["text"]) == ("result", "hello")


def test_an_answer_that_does_not_match_the_schema_is_requested_again(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = project / "schema.json"
    schema.write_text('{"type": "object", "required": ["n"]}', encoding="utf-8")
    with ChatServer([text("{}"), text('{"n": 1}')]) as server:
        assert ask(server, "--json-schema", str(schema)) == 0
        assert len(server.requests) == 2
    assert json.loads(capsys.readouterr().out)["n"] == 1


def test_a_session_is_exported_to_a_new_file_only(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ChatServer([text("hello")]) as server:
        assert ask(server) == 0
    assert cli.main(["sessions", "export", "1", "out.md"]) == 0
    assert mentions(capsys.readouterr().out, "out.md", "2 messages")
    assert "hello" in (project / "out.md").read_text(encoding="utf-8")
    assert cli.main(["sessions", "export", "1", "out.md"]) != 0
    assert mentions(capsys.readouterr().err, "out.md", "--force")


def test_a_line_with_a_number_sign_is_remembered_and_a_plus_without_an_answer_is_text() -> None:
    signs = LineHints(lambda: None)
    assert signs.command("# we deploy on Fridays") == "/memory remember --type auto -- we deploy on Fridays"
    assert signs.command("+") == ""


def test_text_entered_during_a_turn_waits_for_its_end_or_steers_it() -> None:
    ahead, mailbox = TypeAheadQueue(), Mailbox()
    ahead.begin(mailbox)
    ahead.enter("later")
    ahead.enter("!use tabs")
    assert mailbox.waiting == ("use tabs",)
    assert [(one.label, one.text) for one in ahead.list_waiting()] == [("queued 1", "later"), ("steering", "use tabs")]
    ahead.end(done=True)
    queued = [ahead.take_next(), ahead.take_next()]
    assert [one.text for one in queued if one] == ["use tabs", "later"], "steering text that came too late is first"


def test_nothing_is_copied_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    commands.copy_result(CommandResult(text="shown", copy="secret"))
    assert capsys.readouterr().out == ""


def test_stopping_a_typed_command_does_nothing_when_none_runs() -> None:
    assert not TypedCommands(live=False).stop()
