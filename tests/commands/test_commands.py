"""Slash commands on real sessions."""

from pathlib import Path
from typing import get_args

import pytest

from clio.commands.command import (
    ClearScreen,
    CommandContext,
    CommandResult,
    Confirm,
    GrantTrust,
    NewSession,
    Quit,
    SetApproval,
    SetModel,
    SwitchSession,
    is_command,
    list_usages,
    quote_code,
)
from clio.commands.registry import COMMANDS, complete_command_line, make_command_table, run_command
from clio.commands.session_table import compute_unique_id_length
from clio.commands.settings_commands import MODES
from clio.config.loaded import TrustRequest
from clio.config.schema import ApprovalMode
from clio.sessions.state import Todo
from clio.text.formatting import format_ago, replace_slash_commands
from tests.commands.harness import Harness, make_harness
from tests.support.wording import mentions


def rows(result: CommandResult) -> tuple[tuple[str, ...], ...]:
    assert result.table is not None
    return result.table.rows


def test_an_app_provides_the_command_context(harness: Harness) -> None:
    shell: CommandContext = harness  # pyright checks it
    assert run_command(shell, "/help").ok


@pytest.mark.parametrize("line", ["/help", "/", "/exit now", "  /session list", "/typo", "/help\nmore"])
def test_lines_that_are_commands(line: str) -> None:
    assert is_command(line)


@pytest.mark.parametrize(
    "line", ["help", "/etc/hosts is wrong", "/usr/bin", "// comment", "what does /help do?", "/2 x"]
)
def test_lines_that_are_messages(line: str) -> None:
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
def test_a_mistyped_command_gets_the_nearest_as_suggestion(harness: Harness, line: str, hint: str) -> None:
    result = run_command(harness, line)
    assert not result.ok
    assert hint in result.text
    assert "\n" not in result.text


def test_help_names_every_command(harness: Harness) -> None:
    words = " ".join(row[1] for row in rows(run_command(harness, "/help"))).split()
    names = {f"/{command.name}" for command in COMMANDS}
    assert names <= set(words)
    assert {row[0].split()[0] for row in make_command_table().rows} == names


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_help_of_one_command_shows_its_usage(harness: Harness, command: object) -> None:
    for found in COMMANDS:
        if found is command:
            for asked in (found.name, "/" + found.name):
                assert rows(run_command(harness, f"/help {asked}")) == list_usages(found, f"/{found.name}")


def test_names_are_unique_and_every_command_has_a_description() -> None:
    names = [name for command in COMMANDS for name in (command.name, *command.aliases)]
    assert len(names) == len(set(names))
    for command in COMMANDS:
        assert command.summary
        assert not command.summary.endswith(".")


def test_exit_and_clear(harness: Harness) -> None:
    assert run_command(harness, "/exit").follow_up == Quit()
    assert run_command(harness, "/QUIT").follow_up == Quit()
    assert run_command(harness, "/clear").follow_up == ClearScreen()


def test_approve_shows_and_sets_the_mode(harness: Harness) -> None:
    assert tuple(MODES) == get_args(ApprovalMode)
    marked = [row[1] for row in rows(run_command(harness, "/approve")) if row[0]]
    assert marked == ["ask"]
    assert run_command(harness, "/approve Edits").follow_up == SetApproval(mode="edits")


def test_model_shows_and_sets_the_model(harness: Harness) -> None:
    assert mentions(run_command(harness, "/model").text, "No model is connected", "OPENAI_API_KEY")
    assert mentions(run_command(harness, "/model gpt-9").text, "No model is connected", "OPENAI_API_KEY")
    assert not run_command(harness, "/model two words").ok
    assert run_command(harness, f"/model {harness.provider.model}").follow_up is None


def test_an_alias_may_use_another_server(tmp_path: Path) -> None:
    harness = make_harness(tmp_path, models={"big": {"provider": "anthropic", "model": "claude"}})
    assert run_command(harness, "/model big").follow_up == SetModel(name="big")


def test_known_models_are_completed(tmp_path: Path) -> None:
    harness = make_harness(tmp_path, model="local-7b", models={"big-70b": {}})
    found = [suggestion.text for suggestion, _ in complete_command_line(harness, "/model ")]
    assert {"local-7b", "big-70b"} <= set(found)
    assert [suggestion.text for suggestion, _ in complete_command_line(harness, "/model big")] == ["big-70b"]


def test_todos_are_listed_added_and_changed(harness: Harness) -> None:
    assert "No todos" in run_command(harness, "/todo").text
    assert run_command(harness, "/todo add write the   tests").ok
    assert run_command(harness, "/todo add ship it").ok
    assert [(todo.id, todo.title) for todo in harness.session.todos] == [(1, "write the tests"), (2, "ship it")]
    assert [suggestion.text for suggestion, _ in complete_command_line(harness, "/todo done ")] == ["1", "2"]
    assert run_command(harness, "/todo done 1").ok
    assert harness.session.todos[0].status == "completed"
    assert run_command(harness, "/todo").todos == harness.session.todos
    wrong = run_command(harness, "/todo done 7")
    assert not wrong.ok
    assert "1, 2" in wrong.text
    assert "2 todos" in run_command(harness, "/todo clear").text
    assert harness.session.todos == ()
    assert not run_command(harness, "/todo add").ok


def test_a_new_todo_never_takes_a_used_number(harness: Harness) -> None:
    harness.session.set_todos((Todo(id=7, title="from the model", note="waits"),))
    run_command(harness, "/todo add mine")
    assert [todo.id for todo in harness.session.todos] == [7, 8]


def test_secrets_in_todos_and_names_are_not_stored(harness: Harness) -> None:
    key = "sk-proj-" + "a1B2c3D4e5F6g7H8i9J0" * 3
    run_command(harness, f"/todo add use {key}")
    run_command(harness, f"/session name {key}")
    assert key not in harness.session.todos[0].title
    assert key not in (harness.session.name or "")


def test_session_shows_the_running_session(harness: Harness) -> None:
    harness.talk("hello")
    shown = dict(rows(run_command(harness, "/session")))
    assert shown["id"] == harness.session.id
    assert shown["messages"] == "1"
    assert shown["on disk"] == "yes"
    assert run_command(harness, "/session show") == run_command(harness, "/session")


def test_sessions_are_listed_newest_first(harness: Harness) -> None:
    assert "No sessions yet" in run_command(harness, "/session list").text
    harness.talk("the first words\nand more")
    first = harness.session
    harness.start(name="second one")
    harness.talk("x", "y")
    listed = rows(run_command(harness, "/session list"))
    assert [row[:4] for row in listed] == [
        ("1", "second one", "this one", "2"),
        ("2", "the first words and more", "just now", "1"),
    ]
    assert len({row[4] for row in listed}) == 2
    assert all(harness.store.find(row[4]).startswith(row[4]) for row in listed)
    for selector in ("2", first.id, listed[1][4]):
        assert run_command(harness, f"/session switch {selector}").follow_up == SwitchSession(session_id=first.id)


def test_switching_needs_another_session(harness: Harness) -> None:
    harness.talk("x")
    assert run_command(harness, "/session switch 1").follow_up is None
    for line in ("/session switch", "/session switch nobody", "/session switch 9"):
        result = run_command(harness, line)
        assert not result.ok
        assert result.follow_up is None
    assert "nobody" in run_command(harness, "/session switch nobody").text


def test_sessions_can_be_named_and_started(harness: Harness) -> None:
    assert run_command(harness, "/session name retry policy").ok
    assert harness.session.name == "retry policy"
    assert not run_command(harness, "/session name").ok
    assert run_command(harness, "/session new").follow_up == NewSession()
    assert run_command(harness, "/session new two words").follow_up == NewSession(name="two words")


def test_deleting_a_session_asks_first(harness: Harness) -> None:
    harness.talk("old talk")
    old = harness.session.id
    harness.start()
    harness.talk("new talk")
    asked = run_command(harness, "/session delete 2")
    assert isinstance(asked.follow_up, Confirm)
    assert "old talk" in asked.follow_up.question
    assert [info.id for info in harness.store.list()] == [harness.session.id, old]
    assert run_command(harness, asked.follow_up.then).ok
    assert [info.id for info in harness.store.list()] == [harness.session.id]


def test_the_running_session_is_not_deleted(harness: Harness) -> None:
    harness.talk("x")
    result = run_command(harness, "/session delete 1 --yes")
    assert not result.ok
    assert "/session new" in result.text
    assert len(harness.store.list()) == 1


def test_a_session_in_use_by_another_process_is_not_deleted(harness: Harness, tmp_path: Path) -> None:
    other = make_harness(tmp_path)
    other.talk("someone else works here")
    harness.talk("x")
    result = run_command(harness, f"/session delete {other.session.id} --yes")
    assert not result.ok
    assert other.session.id in result.text
    other.session.close()


def test_incognito_deletes_nothing(tmp_path: Path) -> None:
    first = make_harness(tmp_path)
    first.talk("keep me")
    first.session.close()
    harness = make_harness(tmp_path, incognito=True)
    assert not run_command(harness, "/session delete 1 --yes").ok
    assert dict(rows(run_command(harness, "/session")))["on disk"] == "no, incognito"
    assert len(harness.store.list()) == 1


def test_sessions_are_completed_by_name_or_id(harness: Harness) -> None:
    harness.session.rename("plans")
    harness.talk("x")
    harness.start()
    harness.talk("y")
    assert [suggestion.text for suggestion, _ in complete_command_line(harness, "/session switch ")] == ["plans"]
    assert list(complete_command_line(None, "/session switch ")) == []


WITHHELD = (TrustRequest(key="base_url", value="http://other", where=".clio/config.yaml:1", fingerprint="f"),)


def test_trust_shows_and_trusts_what_waits(tmp_path: Path) -> None:
    assert run_command(make_harness(tmp_path), "/trust").follow_up is None
    harness = make_harness(tmp_path, withheld=WITHHELD)
    asked = run_command(harness, "/trust")
    assert rows(asked) == (("base_url", "http://other", ".clio/config.yaml:1"),)
    assert isinstance(asked.follow_up, Confirm)
    assert run_command(harness, asked.follow_up.then).follow_up == GrantTrust()
    assert not run_command(harness, "/trust me").ok
    assert not run_command(make_harness(tmp_path, withheld=WITHHELD, incognito=True), "/trust --yes").ok


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
def test_ages_are_formatted(seconds: float, words: str) -> None:
    assert format_ago(seconds) == words


def test_ids_are_shortened_to_unique_prefixes() -> None:
    assert compute_unique_id_length([]) == 8
    assert compute_unique_id_length(["0193a1b2-c3d4-7", "0193a1b2-c3d5-7"]) == 13


def test_markup_in_code_has_no_effect() -> None:
    assert quote_code("a *b*\nc") == "`a *b* c`"
    assert quote_code("a `b`") == "`` a `b` ``"
    assert quote_code("a ``b`` *c*") == "``` a ``b`` *c* ```"


@pytest.mark.parametrize("text", ["a", "a `b`", "``a``", "a ``b` *c*", "`", "*a*"])
def test_the_command_line_prints_code_without_backticks(text: str) -> None:
    message = f"Noted: {quote_code(text)}, and {quote_code('b')}; `/note list` shows all."
    assert mentions(replace_slash_commands(message), "Noted", text, "b", "clio note list")
