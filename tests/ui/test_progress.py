"""Progress bars and times of long work."""

import io

from clio.agent.user_interface import ToolProgress, ToolStarted
from clio.ui.turn_display import TerminalProgress, WorkProgress, format_bar_and_time, parse_percentage
from tests.support.rows import each_row
from tests.ui.stage import Stage, start


@each_row(
    ("text", "share"),
    [
        ("tests/test_a.py ........ [ 45%]", 0.45),
        ("Receiving objects:  7% (1/14), then 12% more", 0.12),
        ("1.5% of 100 %", 1.0),
        ("load at 250%", None),
        ("no number", None),
        ("100,5%", None),
    ],
)
def test_a_percentage_in_a_line_of_output(text: str, share: float | None) -> None:
    assert parse_percentage(text) == share


def test_the_remaining_time_is_shown_when_it_is_more_than_a_guess() -> None:
    assert format_bar_and_time(0.25, 10) == "▰▰▱▱▱▱▱▱▱▱ 25 % · 30 s left"
    assert format_bar_and_time(0.25, 0.5) == "▰▰▱▱▱▱▱▱▱▱ 25 %"
    assert format_bar_and_time(0.0, 10) == "▱▱▱▱▱▱▱▱▱▱ 0 %"
    assert format_bar_and_time(1.0, 10) == "▰▰▰▰▰▰▰▰▰▰ 100 %"


def test_short_work_is_not_shown_in_the_status_line() -> None:
    work = WorkProgress("indexing", 100.0, 40, 100)
    assert work.format_short(101.0) == ""
    assert work.format_short(103.0) == "indexing 40 %"
    work.done = 100
    assert work.format_short(103.0) == ""


def test_a_narrow_line_omits_the_count() -> None:
    work = WorkProgress("reading documents", 0.0, 1200, 3000)
    assert work.format_line(4.0, 80) == "reading documents ▰▰▰▰▱▱▱▱▱▱ 40 % · 6.0 s left · 1,200 of 3,000"
    assert work.format_line(4.0, 50) == "reading documents ▰▰▰▰▱▱▱▱▱▱ 40 % · 6.0 s left"


def test_the_terminal_shows_long_work_and_is_restored_afterwards() -> None:
    now = 0.0
    stream = io.StringIO()
    progress = TerminalProgress("reading", stream, width=lambda: 80, clock=lambda: now)
    progress.update(0, 10)
    now = 1.0
    progress.update(2, 10)
    assert stream.getvalue() == ""
    now = 3.0
    progress.update(5, 10)
    assert stream.getvalue() == "\rreading ▰▰▰▰▰▱▱▱▱▱ 50 % · 3.0 s left · 5 of 10"
    progress.update(6, 10)  # too soon after the last
    assert stream.getvalue().count("\r") == 1
    progress.update(10, 10)
    *_, blank, end = stream.getvalue().split("\r")
    assert blank.strip() == "" and len(blank) == 46 and end == ""


def test_a_command_that_prints_percentages_has_a_bar() -> None:
    stage = Stage()
    stage.play(*start(), ToolStarted(call_id="1", name="run_command", title="run pytest"))
    stage.rest(10.0)
    stage.play(ToolProgress(call_id="1", text="tests/ui ...... [ 50%]"))
    stage.rest(0.0)
    stage.rest(1.0)
    assert "run pytest … ▰▰▰▰▰▱▱▱▱▱ 50 % · 11 s left" in stage.visible()
