"""The live screen, checked with a terminal emulator."""

import random
import re

import pytest
from msgspec import structs

from clio.agent.user_interface import (
    MessageAdded,
    Notice,
    StreamRestarted,
    TextDelta,
    ToolFinished,
    ToolProgress,
    ToolStarted,
)
from clio.commands.command import CommandResult, Table
from clio.messages import ToolMessage
from clio.sessions.state import Todo
from clio.ui.keyboard import TypedLine, TypingState, WaitingText
from clio.ui.line_rules import CLEAR_BELOW
from tests.support.rows import each_row
from tests.support.terminal_picture import PictureScreen, render_bytes, screen_lines
from tests.ui.stage import ANSWER, DIFF, GOLDEN, Stage, deltas, end, finished, start, whole_turn


def golden(name: str, text: str) -> None:
    """Compare with the recorded screen; a missing file is recorded, and the test fails once."""
    path = GOLDEN / f"{name}.txt"
    if not path.exists():
        path.write_text(text + "\n", encoding="utf-8")
        pytest.fail(f"recorded {path.name}; look at it and run again")
    assert text + "\n" == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("columns", [80, 40, 20])
def test_a_whole_turn(columns: int) -> None:
    stage = Stage(columns, 24)
    stage.play(*whole_turn())
    golden(f"whole_turn_{columns}", stage.everything())


def test_the_colours_of_a_whole_turn() -> None:
    stage = Stage(80, 200)
    stage.play(*whole_turn())
    rows = []
    screen = stage.terminal()
    for number, text in enumerate(screen_lines(screen)):
        if text:
            cells = [screen.buffer[number][column] for column in range(len(text))]
            looks = dict.fromkeys((cell.fg + ("+bold" if cell.bold else "")) for cell in cells if cell.data.strip())
            rows.append(f"{text}  [{' '.join(looks)}]")
    golden("colours", "\n".join(rows))


@each_row("seed", range(6))
@each_row(("columns", "lines"), [(80, 24), (20, 10)])
def test_the_final_screen_is_the_same_in_any_pieces_without_duplicates(columns: int, lines: int, seed: int) -> None:
    whole = Stage(columns, lines)
    whole.play(*start(), TextDelta(text=ANSWER), end())
    chance = random.Random(seed)
    pieces: list[TextDelta] = []
    at = 0
    while at < len(ANSWER):
        size = chance.choice([1, 2, 3, 7, 20, 90])
        pieces.append(TextDelta(text=ANSWER[at : at + size]))
        at += size
    streamed = Stage(columns, lines)
    streamed.play(*start())
    for piece in pieces:
        streamed.play(piece, seconds=chance.choice([0.001, 0.06]))
    streamed.play(end())
    assert streamed.everything() == whole.everything()
    assert streamed.everything().count("Result") == 1


def test_unfinished_text_is_on_the_screen() -> None:
    stage = Stage()
    stage.play(*start(), TextDelta(text="A first para"), TextDelta(text="graph with **bo"))
    assert "A first paragraph with **bo" in stage.visible()
    stage.play(TextDelta(text="ld** words"))
    assert "A first paragraph with bold words" in stage.visible()
    assert stage.visible().count("A first") == 1


def test_an_unfinished_block_taller_than_the_screen_shows_its_end_and_is_printed_once() -> None:
    stage = Stage(20, 10)
    words = " ".join(f"word{number}" for number in range(120))
    stage.play(*start(), *deltas(words, 30))
    assert "word119" in stage.visible()
    assert stage.terminal().scrollback() == []
    stage.play(end())
    assert re.findall(r"word\d+", stage.everything()) == words.split()


def test_the_number_and_size_of_frames_do_not_grow_with_the_answer() -> None:
    """A thousand deltas in one second: about twenty frames, and the last costs no more bytes than the first."""
    stage = Stage(80, 24)
    stage.play(*start())
    sizes: list[int] = []
    for number in range(1000):
        before = len(stage.written)
        stage.play(TextDelta(text=f"Line {number} of it.\n\n" if number % 4 == 3 else "some words "), seconds=0.001)
        if len(stage.written) > before:
            sizes.append(len(stage.written) - before)
    assert 10 <= len(sizes) <= 21
    assert max(sizes[10:]) < 2 * max(sizes[:10]) + 200


def test_parallel_calls_keep_the_order_of_the_calls() -> None:
    stage = Stage()
    stage.play(*start(), *(ToolStarted(call_id=str(n), name="x", title=f"read file{n}.py") for n in range(3)))
    stage.play(finished("2", "read file2.py", "3 lines"), ToolProgress(call_id="0", text="half way"))
    stage.rest(1.5)
    rows = [row for row in stage.visible().splitlines() if "read file" in row]
    assert [row[2:] for row in rows] == [
        "read file0.py … half way 1.7 s",
        "read file1.py … 1.7 s",
        "read file2.py … 3 lines",
    ]
    assert rows[2].startswith("●") and not rows[0].startswith("●")
    stage.play(finished("0", "read file0.py", "1 line"), finished("1", "read file1.py", "2 lines"), end())
    assert re.findall(r"● read (\S+) … (\d) line", stage.everything()) == [
        ("file0.py", "1"),
        ("file1.py", "2"),
        ("file2.py", "3"),
    ]


def test_a_call_that_never_ended_is_shown_as_interrupted() -> None:
    stage = Stage()
    stage.play(*start(), ToolStarted(call_id="1", name="x", title="run sleep 9"), end("interrupted", "interrupted"))
    assert "run sleep 9 … interrupted" in stage.everything()


def test_a_long_diff_is_shortened() -> None:
    diff = "--- a/f\n+++ b/f\n@@ -1 +1,60 @@\n" + "".join(f"+line {number}\n" for number in range(60))
    stage = Stage(80, 40)
    stage.play(*start(), finished("1", "write f", "+60 -0", diff=diff), end())
    text = stage.everything()
    assert "+line 17" in text and "+line 18" not in text
    assert "… 42 more lines" in text


def test_a_restarted_stream_removes_its_unfinished_text() -> None:
    stage = Stage()
    stage.play(*start(), TextDelta(text="half a sent"), StreamRestarted(), TextDelta(text="Another one."), end())
    assert "half" not in stage.everything()
    assert "starts over" not in stage.everything()


def test_a_restarted_stream_is_announced_if_lines_are_printed_already() -> None:
    stage = Stage()
    stage.play(*start(), TextDelta(text="First.\n\nhalf a sent"), StreamRestarted(), TextDelta(text="Other."), end())
    text = stage.everything()
    assert text.index("First.") < text.index("the answer starts over") < text.index("Other.")
    assert "half" not in text


HOSTILE = "a\x1b[2Jb\x1b]0;owned\x07c\x1b[31mred\x9b1md\x07e\x08\x1b[1;1Hf\u202eevil\u202c\rg"


def test_hostile_control_sequences_have_no_effect() -> None:
    stage = Stage()
    stage.play(
        *start(),
        *deltas(HOSTILE + "\n\n", 3),
        ToolStarted(call_id="1", name="x", title=f"run {HOSTILE}"),
        ToolProgress(call_id="1", text=HOSTILE),
        finished("1", f"run {HOSTILE}", HOSTILE, ok=False, preview=HOSTILE, diff=f"+{HOSTILE}\n"),
        Notice(text=HOSTILE),
    )
    stage.screen.set_typed(TypingState(line=TypedLine(HOSTILE), waiting=(WaitingText("queued 1", HOSTILE),)))
    stage.rest()
    stage.play(end("failed", HOSTILE))
    for code in re.findall(r"\x1b[^m\x1b]*.?", stage.written.replace(CLEAR_BELOW, "")):
        assert re.match(r"\x1b\[(?:[\d;]*m|\d*[AC]|[JK]|\?2026[hl])", code), repr(code)
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f\u202a-\u202e]", stage.written)
    assert "abcredde" in stage.everything()


def test_without_colour_only_bold_faint_and_reversed_are_used() -> None:
    stage = Stage(colour=False)
    stage.play(*whole_turn())
    codes = {part for found in re.findall(r"\x1b\[([\d;]*)m", stage.written) for part in found.split(";")}
    assert codes <= {"", "0", "1", "2", "3", "4", "7", "9"}  # 7: the words that differ in a changed line
    assert "1" in codes


def reflow(screen: PictureScreen, columns: int, lines: int) -> PictureScreen:
    """Return the screen as most terminals show it in a narrower window: every line is wrapped again."""
    text = "\r\n".join([*screen.scrollback(), *screen_lines(screen)[: screen.cursor.y + 1]])
    return render_bytes(text.encode(), columns, lines)


@pytest.mark.parametrize("reflows", [True, False])
def test_a_narrower_window_leaves_no_remains(reflows: bool) -> None:
    stage = Stage(80, 24, reflows=reflows)
    stage.screen.print_note("printed before")
    stage.play(*start(), TextDelta(text="An open paragraph " * 12))
    before = stage.terminal()
    written = len(stage.written)
    if reflows:
        narrow = reflow(before, 40, 24)
    else:
        narrow = before
        narrow.resize(24, 40)
    stage.size = (40, 24)
    stage.play(TextDelta(text="goes on.\n\n"), end())
    import pyte

    pyte.Stream(narrow).feed(stage.written[written:].replace("\n", "\r\n"))
    text = "\n".join([*narrow.scrollback(), *screen_lines(narrow)])
    assert text.count("printed before") == 1
    assert " ".join(text.split()).count("An open paragraph") == 12
    assert "esc to interrupt" not in text


def test_a_wider_and_lower_window_leaves_no_remains() -> None:
    stage = Stage(40, 24)
    stage.play(*start(), TextDelta(text="An open paragraph " * 12))
    screen = stage.terminal()
    written = len(stage.written)
    screen.resize(12, 100)
    stage.size = (100, 12)
    stage.play(TextDelta(text="goes on.\n\n"), end())
    import pyte

    pyte.Stream(screen).feed(stage.written[written:].replace("\n", "\r\n"))
    text = "\n".join([*screen.scrollback(), *screen_lines(screen)])
    assert " ".join(text.split()).count("An open paragraph") == 12


def test_while_suspended_nothing_is_drawn_and_nothing_is_lost() -> None:
    stage = Stage()
    stage.play(*start(), TextDelta(text="Before.\n\nopen end"))
    with stage.screen.suspended():
        assert "open end" not in stage.visible() and "Before." in stage.visible()
        written = len(stage.written)
        stage.play(TextDelta(text=" goes on.\n\n"), finished("1", "read x", "1 line"))
        stage.rest()
        assert len(stage.written) == written
    assert "open end goes on." in stage.visible() and "read x … 1 line" in stage.visible()


def test_text_typed_ahead_is_shown_and_removed_with_the_turn() -> None:
    stage = Stage()
    stage.play(*start())
    stage.screen.set_typed(
        TypingState(line=TypedLine("and then\nthe tests"), waiting=(WaitingText("queued 1", "漢字\nfirst"),))
    )
    stage.rest()
    shown = stage.visible().split("\n")
    assert shown[-2:] == ["queued 1: 漢字 first", "❯ and then↵the tests"]
    assert (stage.terminal().cursor.x, stage.terminal().cursor.y) == (20, len(shown) - 1)
    stage.play(end())
    assert "and then" not in stage.everything()


def test_files_mentioned_in_the_typed_line_are_listed_above_it() -> None:
    stage = Stage()
    stage.play(*start())
    stage.screen.set_typed(
        TypingState(line=TypedLine("see @a.py"), mention_labels=("+ a.py · 3 lines", f"+ {'b' * 99}"))
    )
    stage.rest()
    assert stage.visible().split("\n")[-2:] == ["+ a.py · 3 lines  + 1 more", "❯ see @a.py"]


def test_the_input_line_and_the_status_line_are_always_at_the_bottom() -> None:
    stage = Stage(facts=("test-model", "ask"))
    stage.play(*start(), ToolStarted(call_id="1", name="run_command", title="run make"))
    stage.play(ToolProgress(call_id="1", text="one\ntwo\nthree\nfour"))
    stage.rest()
    assert stage.visible().split("\n")[-8:] == [
        "⠙ run make",
        "  two",
        "  three",
        "  four",
        "",
        "⠹ running 0.1 s · esc to interrupt",
        "❯ Ask clio, @file, !command, #remember, /help",
        "test-model · ask",
    ]
    assert (stage.terminal().cursor.x, stage.visible().split("\n")[stage.terminal().cursor.y][:1]) == (2, "❯")
    stage.play(TextDelta(text="x"))
    stage.rest()
    assert stage.visible().split("\n")[-2:] == ["❯ Ask clio, @file, !command, #remember, /help", "test-model · ask"]


def test_the_line_of_the_users_status_command_is_shown_during_a_turn_too() -> None:
    stage = Stage(columns=30, facts=("test-model", "ask"))
    stage.own_status = f"\x1b[36mmine\x1b[0m {'x' * 40}"
    stage.play(*start())
    stage.rest()
    assert stage.visible().split("\n")[-1] == f"mine {'x' * 24}"
    stage.own_status = ""
    stage.rest()
    assert stage.visible().split("\n")[-1] == "test-model · ask"


def test_the_task_list_is_pinned_while_a_task_is_open() -> None:
    todos = [Todo(id=number, title=f"task {number}", status="pending") for number in range(1, 9)]
    todos[:3] = [structs.replace(todo, status="completed") for todo in todos[:3]]
    todos[3] = structs.replace(todos[3], status="in_progress")
    stage = Stage(todos=tuple(todos))
    stage.play(*start())
    stage.rest()
    rows = stage.visible().split("\n")
    assert [row.strip() for row in rows if "task" in row] == ["☑ task 3", "▸ task 4", "☐ task 5", "☐ task 6"]
    assert "    3 of 8 done · /todo" in rows
    stage.play(end())
    assert stage.everything().count("▸ task 4") == 1
    stage.play(*start())
    stage.rest()
    assert stage.everything().count("▸ task 4") == 1, "printed already, so not pinned again"


def play_a_long_output(stage: Stage, key: str = "ctrl-o") -> None:
    lines = "\n".join(f"line {number}" for number in range(1, 31))
    call = ToolFinished(
        call_id="1", name="run_command", title="run make", ok=True, summary="exit 0", seconds=1.0,
        preview="line 1\nline 2\nline 28\nline 29\nline 30", hidden_lines=25,
    )  # fmt: skip
    message = ToolMessage(tool_call_id="1", name="run_command", content=f"[exit 0]\n{lines}", ok=True, created=0.0)
    stage.play(*start(), ToolStarted(call_id="1", name="run_command", title="run make"), call)
    stage.play(MessageAdded(message=message))
    assert not Stage().screen.toggle_fold()
    stage.rest()
    assert f"… +25 lines · {key}\n" in stage.visible() and "line 12" not in stage.visible()


def test_the_output_of_the_last_command_expands_in_place() -> None:
    stage = Stage(80, 40)
    play_a_long_output(stage)
    assert stage.screen.toggle_fold()
    assert "line 12" in stage.visible()
    assert stage.screen.toggle_fold()
    stage.play(TextDelta(text="Built."), end())
    assert "line 12" not in stage.everything() and stage.everything().count("line 30") == 1


def test_an_output_taller_than_the_screen_is_opened_in_the_pager() -> None:
    stage = Stage(80, 24)
    play_a_long_output(stage, "ctrl-o for the pager")
    assert not stage.screen.toggle_fold()
    assert "line 12" not in stage.everything()
    stage.play(TextDelta(text="Built."), end())
    assert stage.everything().count("line 30") == 1


@pytest.mark.parametrize(
    ("status", "error"), [("failed", "the server is gone; try again"), ("max_steps", "100 steps are used up")]
)
def test_a_failed_turn_gives_the_reason(status: str, error: str) -> None:
    stage = Stage()
    stage.play(*start(), end(status, error))
    assert error in stage.everything()


def test_results_of_commands_are_shown() -> None:
    stage = Stage(40, 24)
    table = Table(
        columns=("#", "Session", "When"), rows=(("1", "a long name of a session that wraps", "now"),), wide_column=1
    )
    stage.screen.show_result(CommandResult(text="Sessions of **this** project:", table=table))
    stage.screen.show_result(CommandResult(text="there is no session 'x'", ok=False))
    golden("command_result", stage.everything())


def test_a_diff_of_one_file_omits_its_name_and_one_of_two_does_not() -> None:
    stage = Stage(80, 40)
    stage.play(*start(), finished("1", "edit a", "+2 -1", diff=DIFF), end())
    assert "clio/app.py" not in stage.everything()
    two = Stage(80, 40)
    two.play(*start(), finished("1", "patch", "+4 -2", diff=DIFF + DIFF), end())
    assert two.everything().count("clio/app.py +2 −1") == 2


def test_the_input_line_is_drawn_before_the_first_event_of_a_turn() -> None:
    stage = Stage(80, 24, facts=("model · ask",))
    stage.screen.show_user_message("go", is_new_turn=True)
    stage.screen.expect_turn()
    expected = stage.visible().splitlines()
    assert expected[-1].startswith("model · ask") and expected[-2].startswith("❯ Ask")
    stage.play(*start())
    assert stage.visible().splitlines()[-2:] == expected[-2:]


def test_a_turn_that_ends_without_an_event_leaves_no_input_line() -> None:
    stage = Stage(80, 24, facts=("model · ask",))
    stage.screen.show_user_message("go", is_new_turn=True)
    before = stage.visible()
    stage.screen.expect_turn()
    stage.screen.abandon_turn()
    stage.screen.print_error("no price is known")
    assert stage.visible().startswith(before)
    assert not any(row.startswith(("❯ Ask", "model")) for row in stage.visible().splitlines())
