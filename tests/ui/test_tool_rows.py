"""The row of a call, and the output below it."""

import pytest
from msgspec import structs

from clio.agent.user_interface import Retrying, StepStarted, ToolStarted
from clio.context.command_results import select_failure_lines
from tests.ui.stage import Stage, end, finished, start

REASON = "'missing.py' does not exist; did you mean 'clio/text/vocabulary.py'?"


@pytest.mark.parametrize(
    ("columns", "rows"),
    [
        (100, [f"● read missing.py … {REASON}"]),
        (
            61,
            [
                "● read missing.py … failed",
                "  'missing.py' does not exist; did you mean",
                "  'clio/text/vocabulary.py'?",
            ],
        ),
    ],
)
def test_the_reason_of_a_failure_is_shown_once_and_completely(columns: int, rows: list[str]) -> None:
    stage = Stage(columns)
    stage.play(*start(), finished("1", "read missing.py", REASON, ok=False, preview=REASON), end())
    shown = stage.everything().splitlines()
    assert shown[1 : shown.index("", 1)] == rows


def test_a_reason_longer_than_a_row_is_not_cut() -> None:
    stage, words = Stage(200), "word " * 40
    stage.play(*start(), finished("1", "read a", f"{words[:119].rstrip()}…", ok=False, preview=words), end())
    assert stage.everything().split("2 requests")[0].split() == ["●", "read", "a", "…", "failed", *words.split()]


def test_a_long_row_of_output_continues_indented() -> None:
    stage, line = Stage(40), "x" * 60
    stage.play(
        *start(), finished("1", "run x", "exit 1 in 0.5 s", ok=False, preview=f"[exit 1 in 0.5 s]\n{line}"), end()
    )
    assert "● run x … exit 1 in 0.5 s" in stage.everything()
    rows = [row.strip() for row in stage.everything().splitlines() if "xxx" in row]
    assert "".join(rows) == line and len(rows) == 2


def test_an_interrupted_call_has_no_spinner() -> None:
    stage = Stage()
    stage.play(*start(), ToolStarted(call_id="1", name="x", title="run sleep 60"), end("interrupted"))
    assert "● run sleep 60 … interrupted" in stage.everything()


def test_the_reason_of_a_retry_is_shown_once_per_step() -> None:
    stage = Stage()
    away = [Retrying(attempt=n, of=4, delay_s=2.0, reason="can't connect to x") for n in (1, 2)]
    stage.play(*start(), *away, StepStarted(step=2, prompt_tokens=9), away[0], end())
    retry_lines = [line for line in stage.everything().splitlines() if "retrying" in line]
    first = "↻ can't connect to x · retrying in 2 s (1 of 4)"
    assert retry_lines == [first, "↻ retrying in 2 s (2 of 4)", first]


def test_hidden_lines_of_a_failed_command_are_counted_at_their_place() -> None:
    lines = [*(f"passed {number}" for number in range(9)), "E  AssertionError", *(f"done {n}" for n in range(1, 21))]
    preview = select_failure_lines(lines, 5)
    event = structs.replace(
        finished("1", "run check", "exit 1 in 0.5 s", ok=False, preview="\n".join(preview)),
        name="run_command",
        hidden_lines=25,
    )
    stage = Stage(60)
    stage.play(*start(), event, end())
    shown = [row.strip() for row in stage.everything().splitlines()]
    first = shown.index("E  AssertionError")
    assert shown[first : first + 6] == [
        "E  AssertionError", "done 1", "done 2", "… +25 lines · ctrl-o for the pager", "done 19", "done 20",
    ]  # fmt: skip


def test_the_end_of_a_failed_command_is_below_the_hidden_lines() -> None:
    event = structs.replace(
        finished("1", "run check", "exit 1 in 0.5 s", ok=False, preview="line 8\nline 9"),
        name="run_command",
        hidden_lines=7,
    )
    stage = Stage(60)
    stage.play(*start(), event, end())
    rows = [row.strip() for row in stage.everything().splitlines()]
    assert rows[rows.index("line 8") - 1] == "… +7 lines · ctrl-o"


@pytest.mark.parametrize("columns", range(30, 50))
def test_a_title_and_its_result_are_always_separated(columns: int) -> None:
    stage = Stage(columns)
    stage.play(*start(), finished("1", "run make all the things", "exit 0 in 1.5 s"), end())
    row = next(row for row in stage.everything().splitlines() if row.startswith("●"))
    assert row.count("…") == 1 and row.endswith("exit 0 in 1.5 s") and len(row) < columns


@pytest.mark.parametrize(
    ("title", "summary", "rows"),
    [
        ("fetch https://example.org/rules/of/rounding", "declined", ["● fetch https://example.org/r… declined"]),
        (
            "run rm -rf build",
            "declined: use the package manager",
            ["● run rm -rf build … declined", "  use the package manager"],
        ),
        ("run python - <<'PY' …", "declined", ["● run python - <<'PY' … declined"]),
    ],
)
def test_a_declined_call_is_labelled_next_to_its_title(title: str, summary: str, rows: list[str]) -> None:
    stage = Stage(40)
    stage.play(*start(), finished("1", title, summary, ok=False, preview=summary), end())
    shown = stage.everything().splitlines()
    assert shown[1 : shown.index("", 1)] == rows
