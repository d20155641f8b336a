"""Commands used repeatedly, counted over sessions and days."""

import msgspec
import pytest

from clio.memory.consolidation.command_findings import MAX_HABITS, Habits, HabitState, list_counted_commands
from clio.memory.consolidation.experiences import parse_commands
from tests.memory.consolidation.turns import turn

DAY = 86_400.0


def fed(*lines: str, times: int = 3, habits: Habits | None = None) -> Habits:
    """Return habits after this many sessions, each of which ran the lines; `{}` in them is the session's number."""
    habits = habits or Habits()
    for number in range(times):
        steps = [f"$ {line.replace('{}', str(number))} => 0 | ok" for line in lines]
        habits.feed(turn("> work", *steps, session=f"s{number}", message=f"m{number}", at=number * DAY))
    return habits


def names(habits: Habits) -> list[str]:
    return [found.text for found in habits.findings()]


def test_a_command_of_three_sessions_is_a_habit_and_of_two_is_none() -> None:
    assert names(fed("pytest -q", times=2)) == []
    [found] = fed("pytest -q").findings()
    assert (found.kind, found.text, found.steps) == ("workflow", "usual test command: `pytest -q`", ("pytest -q",))
    assert (found.session, found.message, found.at, found.asserted_by) == ("s2", "m2", 2 * DAY, "model")
    assert 0.0 < found.confidence < fed("pytest -q", times=8).findings()[0].confidence <= 0.9


def test_one_session_on_one_day_is_one_occasion_however_often_it_ran() -> None:
    habits = Habits()
    for number in range(9):
        habits.feed(turn("> work", "$ pytest -q => 0 | ok", message=f"m{number}"))
    assert habits.findings() == []


def test_one_session_on_three_days_is_three_occasions() -> None:
    habits = Habits()
    for number in range(3):
        habits.feed(turn("> work", "$ pytest -q => 0 | ok", at=number * DAY))
    assert names(habits) == ["usual test command: `pytest -q`"]


@pytest.mark.parametrize(
    "line", ["ls -la", "cat a.py", "cd src", "git status", "echo hi", "rg foo", "git commit -m x", "python -c 'x'"]
)
def test_very_common_commands_are_no_habit(line: str) -> None:
    assert names(fed(line)) == []


def test_failed_commands_do_not_count() -> None:
    habits = Habits()
    for number in range(3):
        habits.feed(turn("> work", "$ pytest -q => 1 | E   KeyError: 'x'", session=f"s{number}"))
        habits.feed(turn("> work", "$ make check => 0 | 2 failed", session=f"s{number}"))
    assert habits.findings() == []


def test_files_and_names_are_generalized() -> None:
    assert names(fed("pytest tests/test_{}.py")) == ["usual test command: `pytest PATH`"]
    assert names(fed("pytest tests/a_{}.py tests/b_{}.py -k case_{}")) == ["usual test command: `pytest PATH -k NAME`"]


def test_a_command_that_is_always_the_same_is_saved_unchanged() -> None:
    assert names(fed("ruff check clio/app.py")) == ["usual lint command: `ruff check clio/app.py`"]


def test_commands_always_in_the_same_order_are_steps() -> None:
    found = fed("ruff check .", "cat a.py", "pytest -q", "git commit -am 'feat: {}'").findings()
    orders = [one for one in found if len(one.steps) > 1]
    assert [one.steps for one in orders] == [("ruff check .", "pytest -q", "git commit -am MESSAGE")]
    assert orders[0].text == "usual order: lint → test → git commit"


def test_commands_joined_in_one_line_count_as_steps() -> None:
    assert ("ruff check .", "pytest -q") in [one.steps for one in fed("cd app && ruff check . && pytest -q").findings()]


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("deploy --token=abc123 --env prod", "deploy --env prod"),
        ("deploy --password hunter2 --env prod", "deploy --env prod"),
        ("API_TOKEN=abc deploy --env prod", "deploy --env prod"),
        ("NODE_ENV=test npm test", "NODE_ENV=test npm test"),
        ("deploy [REDACTED:token] --env prod", ""),
        ("deploy https://me:s3cretpassw0rd@host.example/x", ""),
        ("deploy --header ghp_abcdefghijklmnopqrstuvwxyz0123456789", ""),
    ],
)
def test_secrets_are_not_counted(line: str, kept: str) -> None:
    habits = fed(line)
    assert [one.exact for one in list_counted_commands(line) if one.exact] == ([kept] if kept else [])
    stored = msgspec.json.encode(habits.state).decode()
    assert not any(word in stored for word in ("abc", "hunter2", "s3cret", "ghp_", "REDACTED"))


def test_reading_a_turn_again_changes_nothing() -> None:
    once = fed("pytest -q", "ruff check .")
    before = once.state
    assert fed("pytest -q", "ruff check .", habits=once).state == before


def test_counting_continues_from_a_saved_state() -> None:
    stored = msgspec.json.encode(fed("pytest -q", times=2).state)
    habits = Habits(msgspec.json.decode(stored, type=HabitState))
    habits.feed(turn("> work", "$ pytest -q => 0 | ok", session="s9", at=9 * DAY))
    assert names(habits) == ["usual test command: `pytest -q`"]


def test_the_order_of_sessions_does_not_matter() -> None:
    turns = [turn("> work", "$ pytest -q => 0 | ok", session=f"s{day}", at=day * DAY) for day in range(4)]
    forwards, backwards = Habits(), Habits()
    for one in turns:
        forwards.feed(one)
    for one in reversed(turns):
        backwards.feed(one)
    assert forwards.findings() == backwards.findings()


def test_the_state_has_a_size_limit_and_keeps_usual_commands() -> None:
    habits = fed("pytest -q")
    for number in range(3 * MAX_HABITS):
        habits.feed(turn("> work", f"$ make target-{number} => 0 | ok", session=f"x{number}", at=(9 + number) * DAY))
    assert len(habits.state.tallies) <= MAX_HABITS
    assert "usual test command: `pytest -q`" in names(Habits(habits.state))


@pytest.mark.parametrize("line", ["for x in a; do pytest; done", "cat <<EOF", "(pytest)", "pytest $(ls)", "pytest &"])
def test_a_line_that_is_not_a_plain_list_of_commands_is_not_split(line: str) -> None:
    assert parse_commands(line) == ()


def test_a_command_of_a_usual_order_is_no_habit_of_its_own() -> None:
    assert names(fed("make test; make ship")) == ["usual order: test → make ship"]


def test_a_command_that_is_usually_run_alone_stays_a_habit() -> None:
    habits = fed("make test; make ship")
    for number in range(9):
        habits.feed(turn("> work", "$ make test => 0 | ok", session=f"x{number}", at=(9 + number) * DAY))
    assert names(habits) == ["usual test command: `make test`", "usual order: test → make ship"]
