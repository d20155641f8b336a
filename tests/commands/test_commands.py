"""Every slash command, on real sessions."""

from pathlib import Path
from typing import get_args

import pytest

from clio.commands.command import (
    ClearScreen,
    CommandResult,
    Confirm,
    GrantTrust,
    NewSession,
    Quit,
    SetApproval,
    SetModel,
    Shell,
    SwitchSession,
    code,
    forms,
    is_command,
)
from clio.commands.registry import COMMANDS, command_table, complete, run_command
from clio.commands.session_table import id_length
from clio.commands.settings_commands import MODES
from clio.config.loaded import TrustRequest
from clio.config.schema import ApprovalMode
from clio.entrypoints.subcommand import in_cli_words
from clio.sessions.state import Todo
from clio.text.formatting import format_ago
from tests.commands.desk import Desk, make_desk
from tests.support.wording import mentions


def rows(result: CommandResult) -> tuple[tuple[str, ...], ...]:
    assert result.table is not None
    return result.table.rows


def test_an_app_is_a_shell(desk: Desk) -> None:
    shell: Shell = desk  # pyright checks it
    assert run_command(shell, "/help").ok


@pytest.mark.parametrize("line", ["/help", "/", "/exit now", "  /session list", "/typo", "/help\nmore"])
def test_lines_for_clio(line: str) -> None:
    assert is_command(line)


@pytest.mark.parametrize(
    "line", ["help", "/etc/hosts is wrong", "/usr/bin", "// comment", "what does /help do?", "/2 x"]
)
def test_lines_for_the_model(line: str) -> None:
    assert not is_command(line)


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("/hepl", "'/help'"),
        ("/sesion list", "'/session'"),
        ("/EXITT", "'/exit'"),
        ("/zzz", "/help shows all of them"),
        ("/session lst", "'/session list'"),
        ("/todo dne 1", "'/todo done'"),
        ("/approve edit", "'edits'"),
        ("/approve zzz", "ask, edits, all, plan"),
        ("/help modl", "'/model'"),
    ],
)
def test_a_mistyped_word_is_answered_with_the_nearest(desk: Desk, line: str, hint: str) -> None:
    result = run_command(desk, line)
    assert not result.ok
    assert hint in result.text
    assert "\n" not in result.text


def test_help_names_every_command(desk: Desk) -> None:
    words = " ".join(row[1] for row in rows(run_command(desk, "/help"))).split()
    names = {f"/{command.name}" for command in COMMANDS}
    assert names <= set(words)
    assert {row[0].split()[0] for row in command_table().rows} == names


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_help_of_one_command_shows_its_forms(desk: Desk, command: object) -> None:
    for found in COMMANDS:
        if found is command:
            for asked in (found.name, "/" + found.name):
                assert rows(run_command(desk, f"/help {asked}")) == forms(found, f"/{found.name}")


def test_names_are_unique_and_every_row_explains_itself() -> None:
    names = [name for command in COMMANDS for name in (command.name, *command.aliases)]
    assert len(names) == len(set(names))
    for command in COMMANDS:
        assert command.summary
        assert not command.summary.endswith(".")


def test_leaving_and_clearing(desk: Desk) -> None:
    assert run_command(desk, "/exit").follow_up == Quit()
    assert run_command(desk, "/QUIT").follow_up == Quit()
    assert run_command(desk, "/clear").follow_up == ClearScreen()


def test_approve(desk: Desk) -> None:
    assert tuple(MODES) == get_args(ApprovalMode)
    marked = [row[1] for row in rows(run_command(desk, "/approve")) if row[0]]
    assert marked == ["ask"]
    assert run_command(desk, "/approve Edits").follow_up == SetApproval(mode="edits")


def test_model(desk: Desk) -> None:
    assert "clio is `offline`. To connect one, set `OPENAI_API_KEY`" in run_command(desk, "/model").text
    assert run_command(desk, "/model gpt-9").follow_up == SetModel(name="gpt-9")
    assert not run_command(desk, "/model two words").ok
    assert run_command(desk, f"/model {desk.provider.model}").follow_up is None


def test_known_models_are_completed(tmp_path: Path) -> None:
    desk = make_desk(tmp_path, model="local-7b", models={"big-70b": {}})
    found = [suggestion.text for suggestion, _ in complete(desk, "/model ")]
    assert {"local-7b", "big-70b"} <= set(found)
    assert [suggestion.text for suggestion, _ in complete(desk, "/model big")] == ["big-70b"]


def test_todos(desk: Desk) -> None:
    assert "No todos" in run_command(desk, "/todo").text
    assert run_command(desk, "/todo add write the   tests").ok
    assert run_command(desk, "/todo add ship it").ok
    assert [(todo.id, todo.title) for todo in desk.session.todos] == [(1, "write the tests"), (2, "ship it")]
    assert [suggestion.text for suggestion, _ in complete(desk, "/todo done ")] == ["1", "2"]
    assert run_command(desk, "/todo done 1").ok
    assert desk.session.todos[0].status == "completed"
    assert run_command(desk, "/todo").todos == desk.session.todos
    wrong = run_command(desk, "/todo done 7")
    assert not wrong.ok
    assert "1, 2" in wrong.text
    assert "2 todos" in run_command(desk, "/todo clear").text
    assert desk.session.todos == ()
    assert not run_command(desk, "/todo add").ok


def test_a_new_todo_never_takes_a_used_number(desk: Desk) -> None:
    desk.session.set_todos((Todo(id=7, title="from the model", note="waits"),))
    run_command(desk, "/todo add mine")
    assert [todo.id for todo in desk.session.todos] == [7, 8]


def test_secrets_in_todos_and_names_are_not_stored(desk: Desk) -> None:
    key = "sk-proj-" + "a1B2c3D4e5F6g7H8i9J0" * 3
    run_command(desk, f"/todo add use {key}")
    run_command(desk, f"/session name {key}")
    assert key not in desk.session.todos[0].title
    assert key not in (desk.session.name or "")


def test_the_running_session(desk: Desk) -> None:
    desk.talk("hello")
    shown = dict(rows(run_command(desk, "/session")))
    assert shown["id"] == desk.session.id
    assert shown["messages"] == "1"
    assert shown["on disk"] == "yes"
    assert run_command(desk, "/session show") == run_command(desk, "/session")


def test_sessions_are_listed_newest_first(desk: Desk) -> None:
    assert "No sessions yet" in run_command(desk, "/session list").text
    desk.talk("the first words\nand more")
    first = desk.session
    desk.start(name="second one")
    desk.talk("x", "y")
    listed = rows(run_command(desk, "/session list"))
    assert [row[:4] for row in listed] == [
        ("1", "second one", "this one", "2"),
        ("2", "the first words and more", "just now", "1"),
    ]
    assert len({row[4] for row in listed}) == 2
    assert all(desk.store.find(row[4]).startswith(row[4]) for row in listed)
    for selector in ("2", first.id, listed[1][4]):
        assert run_command(desk, f"/session switch {selector}").follow_up == SwitchSession(session_id=first.id)


def test_switching_needs_another_session(desk: Desk) -> None:
    desk.talk("x")
    assert run_command(desk, "/session switch 1").follow_up is None
    for line in ("/session switch", "/session switch nobody", "/session switch 9"):
        result = run_command(desk, line)
        assert not result.ok
        assert result.follow_up is None
    assert "nobody" in run_command(desk, "/session switch nobody").text


def test_naming_and_new(desk: Desk) -> None:
    assert run_command(desk, "/session name retry policy").ok
    assert desk.session.name == "retry policy"
    assert not run_command(desk, "/session name").ok
    assert run_command(desk, "/session new").follow_up == NewSession()
    assert run_command(desk, "/session new two words").follow_up == NewSession(name="two words")


def test_deleting_asks_first(desk: Desk) -> None:
    desk.talk("old talk")
    old = desk.session.id
    desk.start()
    desk.talk("new talk")
    asked = run_command(desk, "/session delete 2")
    assert isinstance(asked.follow_up, Confirm)
    assert "old talk" in asked.follow_up.question
    assert [info.id for info in desk.store.list()] == [desk.session.id, old]
    assert run_command(desk, asked.follow_up.then).ok
    assert [info.id for info in desk.store.list()] == [desk.session.id]


def test_the_running_session_is_not_deleted(desk: Desk) -> None:
    desk.talk("x")
    result = run_command(desk, "/session delete 1 --yes")
    assert not result.ok
    assert "/session new" in result.text
    assert len(desk.store.list()) == 1


def test_a_session_in_use_elsewhere_is_not_deleted(desk: Desk, tmp_path: Path) -> None:
    other = make_desk(tmp_path)
    other.talk("someone else works here")
    desk.talk("x")
    result = run_command(desk, f"/session delete {other.session.id} --yes")
    assert not result.ok
    assert other.session.id in result.text
    other.session.close()


def test_an_incognito_clio_deletes_nothing(tmp_path: Path) -> None:
    first = make_desk(tmp_path)
    first.talk("keep me")
    first.session.close()
    desk = make_desk(tmp_path, incognito=True)
    assert not run_command(desk, "/session delete 1 --yes").ok
    assert dict(rows(run_command(desk, "/session")))["on disk"] == "no, incognito"
    assert len(desk.store.list()) == 1


def test_sessions_are_completed_by_name_or_id(desk: Desk) -> None:
    desk.session.rename("plans")
    desk.talk("x")
    desk.start()
    desk.talk("y")
    assert [suggestion.text for suggestion, _ in complete(desk, "/session switch ")] == ["plans"]
    assert list(complete(None, "/session switch ")) == []


WITHHELD = (TrustRequest(key="base_url", value="http://other", where=".clio/config.yaml:1", fingerprint="f"),)


def test_trust(tmp_path: Path) -> None:
    assert run_command(make_desk(tmp_path), "/trust").follow_up is None
    desk = make_desk(tmp_path, withheld=WITHHELD)
    asked = run_command(desk, "/trust")
    assert rows(asked) == (("base_url", "http://other", ".clio/config.yaml:1"),)
    assert isinstance(asked.follow_up, Confirm)
    assert run_command(desk, asked.follow_up.then).follow_up == GrantTrust()
    assert not run_command(desk, "/trust me").ok
    assert not run_command(make_desk(tmp_path, withheld=WITHHELD, incognito=True), "/trust --yes").ok


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-5, "just now"),
        (59, "just now"),
        (61, "1 min ago"),
        (7300, "2 h ago"),
        (90_000, "1 day ago"),
        (59.9 * 86_400, "59 days ago"),
        (9e6, "3 months ago"),
        (729 * 86_400, "24 months ago"),
        (730 * 86_400, "2 years ago"),
    ],
)
def test_age(seconds: float, words: str) -> None:
    assert format_ago(seconds) == words


def test_ids_are_told_apart() -> None:
    assert id_length([]) == 8
    assert id_length(["0193a1b2-c3d4-7", "0193a1b2-c3d5-7"]) == 13


def test_code_is_no_markup() -> None:
    assert code("a *b*\nc") == "`a *b* c`"
    assert code("a `b`") == "`` a `b` ``"
    assert code("a ``b`` *c*") == "``` a ``b`` *c* ```"


@pytest.mark.parametrize("text", ["a", "a `b`", "``a``", "a ``b` *c*", "`", "*a*"])
def test_the_command_line_shows_code_without_its_marks(text: str) -> None:
    said = f"Noted: {code(text)}, and {code('b')}; `/note list` shows all."
    assert mentions(in_cli_words(said), "Noted", text, "b", "clio note list")
