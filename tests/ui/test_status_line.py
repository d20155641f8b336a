"""The status line of a running turn and its parts; collapsed reasoning."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from clio.agent.user_interface import ReasoningDelta, Retrying, StepStarted, TextDelta, ToolStarted
from clio.ui.footer import Activity, GitBranch, StatusValues, read_branch, render_context_bar, render_status_row
from clio.ui.theme import Theme
from tests.ui.stage import Stage, end, finished, start

FACTS = StatusValues(
    model="test-model", mode="ask", context=0.38, branch="main", cost="$0.02", tokens=12_345, style="concise"
)


def row(width: int, *hints: str, seconds: float = 12.0, turn_seconds: float = 12.0) -> str:
    more = ("", *FACTS.line_parts) if not hints else (*hints, *FACTS.line_parts)
    return render_status_row("writing", seconds, turn_seconds, more, width, Theme()).plain


def test_a_wide_terminal_shows_all_parts_and_a_narrow_one_the_most_important() -> None:
    assert (
        row(130)
        == "⠋ writing 12 s · esc to interrupt · test-model · ask · ▰▰▱▱▱ 38 % · main · $0.02 · 12k tokens · concise"
    )
    assert row(70) == "⠋ writing 12 s · esc to interrupt · test-model · ask · ▰▰▱▱▱ 38 %"
    assert row(60) == "⠋ writing 12 s · esc to interrupt · test-model · ask"
    assert row(47) == "⠋ writing 12 s · esc to interrupt · test-model"
    assert row(18) == "⠋ writing 12 s"
    assert row(8) == "⠋ writi…"


def test_a_step_and_its_turn_are_timed_separately() -> None:
    assert "writing 2.0 s · esc to interrupt · total 1 min 20 s · test-model" in row(90, seconds=2, turn_seconds=80)
    assert "in all" not in row(90, seconds=12, turn_seconds=12.5)


def test_the_bar_is_never_empty_if_there_is_anything_to_show() -> None:
    assert [render_context_bar(share) for share in (0.0, 0.01, 0.5, 0.95, 1.2)] == [
        "▱▱▱▱▱ 0 %", "▰▱▱▱▱ 1 %", "▰▰▱▱▱ 50 %", "▰▰▰▰▰ 95 %", "▰▰▰▰▰ 120 %",
    ]  # fmt: skip


def test_the_activity_follows_the_events() -> None:
    activity = Activity()
    activities: list[tuple[str, float]] = []
    events = (
        StepStarted(step=1, prompt_tokens=1),
        Retrying(attempt=1, of=2, delay_s=1.0, reason="busy"),
        ReasoningDelta(text="hm"),
        ReasoningDelta(text="so"),
        TextDelta(text="yes"),
        ToolStarted(call_id="1", name="x", title="x"),
        finished("1", "x", "done"),
    )
    for at, event in enumerate(events):
        activity.handle_event(event, float(at))
        activities.append((activity.label, activity.since))
    assert activities == [
        ("waiting for the model", 0.0),
        ("retrying", 1.0),
        ("thinking", 2.0),
        ("thinking", 2.0),
        ("writing", 4.0),
        ("running", 5.0),
        ("running", 5.0),
    ]


def think(stage: Stage) -> None:
    stage.play(*start(), ReasoningDelta(text="First I look.\nThen I "), seconds=0.5)
    stage.rest(11.0)
    stage.play(ReasoningDelta(text="think."))


def test_reasoning_is_collapsed_into_one_line_that_grows() -> None:
    stage = Stage(100, reasoning="fold", facts=("test-model", "ask"))
    think(stage)
    working, _, status = stage.visible().strip().split("\n")
    assert working == "⠋ thinking 11 s · esc to interrupt · ctrl-t to show thinking · total 12 s"
    assert status == "test-model · ask"
    stage.play(TextDelta(text="The answer."), end())
    assert "thought for 11 s" in stage.everything()
    assert "look" not in stage.everything()


def test_a_key_expands_it_from_its_beginning_and_collapses_it_again() -> None:
    stage = Stage(reasoning="fold")
    think(stage)
    stage.screen.toggle_reasoning()
    assert "First I look.\nThen I think." in stage.visible()
    assert "ctrl-t to hide thinking" in stage.visible()
    stage.screen.toggle_reasoning()
    stage.play(ReasoningDelta(text=" Unseen."), TextDelta(text="The answer."), end())
    assert stage.everything().count("look") == 1
    assert "Unseen" not in stage.everything()


def test_hidden_reasoning_leaves_only_the_word() -> None:
    stage = Stage(reasoning="hide")
    think(stage)
    assert "thinking 11 s · esc to interrupt" in stage.visible() and "ctrl-t" not in stage.visible()
    stage.play(TextDelta(text="The answer."), end())
    assert "thought" not in stage.everything() and "look" not in stage.everything()


@pytest.mark.parametrize(
    ("head", "name"), [("ref: refs/heads/feature/x\n", "feature/x"), ("0123456789abcdef\n", "0123456")]
)
def test_the_branch_is_read_from_any_folder_below(tmp_path: Path, head: str, name: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text(head, encoding="utf-8")
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert read_branch(tmp_path / "a" / "b") == name


def test_a_worktree_has_its_own_branch(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "HEAD").write_text("ref: refs/heads/side\n", encoding="utf-8")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / ".git").write_text("gitdir: ../real\n", encoding="utf-8")
    assert read_branch(tmp_path / "tree") == "side"


def test_the_branch_is_seldom_read(tmp_path: Path) -> None:
    now = 0.0
    (tmp_path / ".git").mkdir()
    head = tmp_path / ".git" / "HEAD"
    head.write_text("ref: refs/heads/one\n", encoding="utf-8")
    branch = GitBranch(tmp_path, lambda: now)
    assert branch.current_name == "one"
    head.write_text("ref: refs/heads/two\n", encoding="utf-8")
    assert branch.current_name == "one"
    now = 3.0
    assert branch.current_name == "two"


def test_the_interrupt_key_is_shown_on_a_narrow_screen() -> None:
    assert render_status_row("waiting for the model", 12.0, 12.0, (), 40, Theme()).plain == (
        "⠋ waiting 12 s · esc to interrupt"
    )
    assert (
        "for the model 12 s · esc to interrupt"
        in render_status_row("waiting for the model", 12.0, 12.0, (), 60, Theme()).plain
    )


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such pipes")
@pytest.mark.parametrize("head", ["pipe", "nul", "endless"])
def test_a_hostile_head_file_is_no_branch_and_is_not_waited_for(tmp_path: Path, head: str) -> None:
    if head == "nul":
        (tmp_path / ".git").write_bytes(b"gitdir: a\0b")
    else:
        (tmp_path / ".git").mkdir()
        if head == "pipe":
            os.mkfifo(tmp_path / ".git" / "HEAD")
        else:
            (tmp_path / ".git" / "HEAD").symlink_to("/dev/zero")
    # A separate process, because reading from a pipe without a writer never ends.
    code = (
        "import sys, pathlib; from clio.ui.footer import read_branch; print([read_branch(pathlib.Path(sys.argv[1]))])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, timeout=60)
    assert done.stdout == "['']\n", done.stderr
