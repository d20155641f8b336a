"""/plan and /todo: modes, the checklist in the editor, what is refused."""

from pathlib import Path
from typing import Any

import pytest

from clio.commands.command import EditText, ReviewPlan, RunPrompt
from clio.commands.plan_commands import format_todos_as_markdown, parse_todos_from_markdown
from clio.commands.registry import run_command
from clio.errors import UsageError
from clio.security.approval import get_next_mode
from clio.sessions.state import Todo
from tests.commands.harness import Harness, make_harness

LIST = tuple(Todo(id=number, title=title) for number, title in enumerate(("look", "fix", "test", "ship"), 1))


def make_plan_harness(project: Path, *todos: Todo, **settings: Any) -> Harness:
    harness = make_harness(project, **settings)
    harness.session.set_todos(todos)
    return harness


def test_plan_with_text_enters_plan_mode_and_sends_the_text(tmp_path: Path) -> None:
    harness = make_harness(tmp_path, approve="edits")
    result = run_command(harness, "/plan off by one in calc, go and see")
    assert result.follow_up == RunPrompt(text="off by one in calc, go and see")
    assert (harness.policy.mode, harness.planning.mode_before) == ("plan", "edits")


def test_off_returns_to_the_mode_before_and_keeps_the_list(tmp_path: Path) -> None:
    harness = make_plan_harness(tmp_path, *LIST, approve="edits")
    assert not run_command(harness, "/plan off").ok
    run_command(harness, "/plan")
    assert run_command(harness, "/plan off").ok
    assert (harness.policy.mode, harness.session.todos) == ("edits", LIST)


def test_a_clio_started_in_plan_mode_returns_to_ask(tmp_path: Path) -> None:
    harness = make_harness(tmp_path, approve="plan")
    run_command(harness, "/plan off")
    assert harness.policy.mode == "ask"


def test_plan_alone_enters_plan_mode_and_then_asks_about_the_list(tmp_path: Path) -> None:
    harness = make_harness(tmp_path)
    assert run_command(harness, "/plan").follow_up is None
    assert "No plan yet" in run_command(harness, "/plan").text
    harness.session.set_todos(LIST)
    assert run_command(harness, "/plan").follow_up == ReviewPlan()


def test_go_executes_the_open_items(tmp_path: Path) -> None:
    harness = make_plan_harness(tmp_path, *LIST, approve="edits")
    run_command(harness, "/plan")
    assert run_command(harness, "/plan go").follow_up == RunPrompt(text="Carry out the plan.")
    assert harness.policy.mode == "edits"
    harness.session.set_todos((Todo(id=1, title="look", status="completed"),))
    assert "Everything in the plan is done" in run_command(harness, "/plan go").text
    harness.session.set_todos(())
    assert not run_command(harness, "/plan go").ok


def test_an_edited_plan_is_proposed_again(tmp_path: Path) -> None:
    harness = make_plan_harness(tmp_path, *LIST)
    run_command(harness, "/plan")
    step = run_command(harness, "/plan edit").follow_up
    assert isinstance(step, EditText)
    assert step.then(step.text.replace("ship", "ship it")).follow_up == ReviewPlan()
    assert harness.session.todos[3] == Todo(id=4, title="ship it")


def test_the_key_never_selects_all_and_does_not_remember_skipped_modes(tmp_path: Path) -> None:
    assert [get_next_mode(mode) for mode in ("ask", "edits", "plan", "all")] == ["edits", "plan", "ask", "ask"]
    harness = make_harness(tmp_path)
    assert [harness.planning.cycle_mode(), harness.planning.cycle_mode()] == ["edits", "plan"]
    assert harness.planning.mode_before == "ask"


def test_an_invalid_edited_list_changes_nothing(tmp_path: Path) -> None:
    harness = make_plan_harness(tmp_path, *LIST)
    step = run_command(harness, "/todo edit").follow_up
    assert isinstance(step, EditText)
    result = step.then("- [>] look\n- [>] fix\n")
    assert not result.ok and "Only one item can be in progress" in result.text
    assert harness.session.todos == LIST


def test_a_secret_written_in_the_editor_is_redacted(tmp_path: Path) -> None:
    harness = make_plan_harness(tmp_path, *LIST)
    key = "sk-proj-" + "a1B2c3D4e5F6g7H8i9J0" * 3
    step = run_command(harness, "/todo edit").follow_up
    assert isinstance(step, EditText)
    step.then(f"- [ ] use {key}\n")
    assert key not in harness.session.todos[0].title


def test_a_written_checklist_is_parsed_back_unchanged() -> None:
    todos = (
        Todo(id=3, title="a [x] in it", status="completed", note="first\nsecond"),
        Todo(id=7, title="# not a heading", status="in_progress"),
        Todo(id=8, title="2. 数 <!-- kept", status="blocked"),
        Todo(id=9, title="- dash"),
    )
    assert parse_todos_from_markdown(format_todos_as_markdown(todos), todos) == todos


@pytest.mark.parametrize(
    ("edited", "expected"),
    [
        ("- [ ] ship\n- [ ] look\n", [(4, "ship"), (1, "look")]),
        (
            "- [ ] look\n- [ ] fix it well\n- [ ] test\n- [ ] ship\n",
            [(1, "look"), (2, "fix it well"), (3, "test"), (4, "ship")],
        ),
        (
            "- [ ] look\n- [ ] new\n- [ ] fix\n- [ ] test\n- [ ] ship\n",
            [(1, "look"), (5, "new"), (2, "fix"), (3, "test"), (4, "ship")],
        ),
        ("# Plan\n\nlook\n* fix\n3. test\n<!-- a\ncomment -->\n", [(1, "look"), (2, "fix"), (3, "test")]),
        ("", []),
    ],
)
def test_items_keep_their_numbers(edited: str, expected: list[tuple[int, str]]) -> None:
    assert [(todo.id, todo.title) for todo in parse_todos_from_markdown(edited, LIST)] == expected


def test_an_unknown_mark_is_named() -> None:
    with pytest.raises(UsageError, match=r"\[\?\] of 'look'"):
        parse_todos_from_markdown("- [?] look\n", LIST)
