"""The screen of one-shot runs and dumb terminals."""

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from clio.agent.user_interface import NEEDS_APPROVAL, Retrying, StepStarted, StreamRestarted, TextDelta, ToolStarted
from clio.commands.command import CommandResult, Table
from clio.ui.pipe_screen import PipeScreen, PlainMarkdown
from clio.ui.theme import Theme
from tests.ui.stage import ANSWER, end, finished, start, whole_turn
from tests.ui.test_screen import HOSTILE, golden


def play(*events, **options) -> tuple[str, str]:
    answer, report = io.StringIO(), io.StringIO()
    screen = PipeScreen(answer, report, **options)
    for event in events:
        screen.handle(event)
    return answer.getvalue(), report.getvalue()


def test_answer_and_report_are_separate() -> None:
    answer, report = play(*whole_turn())
    golden("pipe_answer", answer)
    golden("pipe_report", report)


@pytest.mark.parametrize("columns", [40, 80])
@pytest.mark.parametrize("escapes", [False, True])
def test_markdown_is_the_same_in_any_pieces(columns: int, escapes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clio.ui.pipe_screen._PREVIEW_COST", 0)  # a preview after each delta
    theme = Theme(escapes=escapes, colour=escapes, links=escapes)

    def lay_out(deltas: list[str]) -> list[str]:
        layout = PlainMarkdown(theme, lambda: (columns, 24))
        return [*map(layout.feed, deltas), layout.finish()]

    text = (
        "R&D of AT&amp;T costs 5 \\$ at C:\\a and \\*more\\*.\n\n"
        "A paragraph with `code spans` and **bold words** that is wrapped at the edge of a screen.\n\n"
        f"See https://example.org/a *there*: [a page](https://example.org/b) and `x`.\n\n{ANSWER}"
    )
    whole = "".join(lay_out([text]))
    assert "**" not in whole and ("\x1b" in whole) is escapes
    for deltas in (re.findall(r"\S+\s*", text), list(text)):
        assert "".join(lay_out(deltas)) == whole
    assert "".join(lay_out(["for ever ", "and ever "])[:2]) == ("for ever and" if escapes else "for ever and ever")


def test_text_is_printed_as_it_streams() -> None:
    answer = io.StringIO()
    screen = PipeScreen(answer, io.StringIO())
    screen.handle(TextDelta(text="wor"))
    assert answer.getvalue() == "wor"
    screen.handle(TextDelta(text="ds"))
    screen.handle(ToolStarted(call_id="1", name="x", title="t"))
    assert answer.getvalue() == "words\n"


def test_one_stream_for_both_reads_like_a_transcript() -> None:
    stream = io.StringIO()
    screen = PipeScreen(stream, stream, show_footer=True)
    for event in (*start(), TextDelta(text="half"), StreamRestarted(), TextDelta(text="whole"), end()):
        screen.handle(event)
    assert stream.getvalue() == (
        "half\nconnection lost; the answer starts over\nwhole\n2 requests · ↑12k (8.0k cached) ↓432 · 12 s\n"
    )


def test_repeated_notices_are_printed_once() -> None:
    away = [Retrying(attempt=n, of=4, delay_s=2.0, reason="can't connect to x") for n in (1, 2)]
    call = finished("1", "create a.md", NEEDS_APPROVAL, ok=False, preview="create a.md needs approval; allow it")
    _, report = play(
        *away,
        call,
        StepStarted(step=2, prompt_tokens=9),
        away[0],
        end("failed", "create a.md needs approval; allow it"),
    )
    assert report.splitlines() == [
        "can't connect to x · retrying in 2 s (1 of 4)",
        "retrying in 2 s (2 of 4)",
        "x create a.md ... needs approval",
        "can't connect to x · retrying in 2 s (1 of 4)",
        "error: create a.md needs approval; allow it",
    ]


def test_no_control_character_gets_through() -> None:
    answer, report = play(*start(), TextDelta(text=HOSTILE), end("failed", HOSTILE))
    assert not any(ord(character) < 32 and character not in "\n\t" for character in answer + report)
    assert "\u202e" not in answer + report


def test_a_narrow_encoding_gets_readable_substitutes() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    PipeScreen(stream, stream, show_footer=True).handle(end())
    assert raw.getvalue() == b"2 requests - ^12k (8.0k cached) v432 - 12 s\n"


def test_results_of_commands_are_printed() -> None:
    stream = io.StringIO()
    screen = PipeScreen(stream, stream)
    screen.show_result(CommandResult(text="All:", table=Table(columns=("#", "x"), rows=(("1", "two\nlines"),))))
    screen.show_result(CommandResult(text="no", ok=False))
    assert stream.getvalue() == "All:\n#  x\n1  two lines\nerror: no\n"


def test_a_closed_pipe_is_reported_once_and_silently(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import sys\n"
        "from clio.agent.user_interface import TextDelta\n"
        "from clio.ui.pipe_screen import PipeScreen\n"
        "screen = PipeScreen(sys.stdout, sys.stderr, lambda: sys.stderr.write('broken;'))\n"
        "for number in range(20000): screen.handle(TextDelta(text=f'line {number}\\n'))\n"
        "sys.stderr.write('end')\n",
        encoding="utf-8",
    )
    running = subprocess.Popen(
        [sys.executable, str(program)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent.parent)},
    )
    assert running.stdout is not None and running.stderr is not None
    running.stdout.readline()
    running.stdout.close()
    errors = running.stderr.read()
    running.stderr.close()
    assert (errors, running.wait(timeout=20)) == (b"broken;end", 0)
