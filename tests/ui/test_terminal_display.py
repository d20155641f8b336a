"""Terminal detection, formatting of times and tokens, widths, highlighting."""

import io
import subprocess
import sys

import pytest
from rich.console import Console
from rich.text import Text

from clio.agent.user_interface import TurnFinished
from clio.messages import Usage
from clio.ui.markdown import CodeHighlighter, make_markdown, render_markdown
from clio.ui.painter import Painter, count_cells, split_by_cells, truncate_to_cells
from clio.ui.pipe_screen import format_seconds, format_tokens, format_turn_footer, format_usage
from clio.ui.theme import Terminal, Theme, detect_terminal
from tests.support.rows import each_row


@each_row(
    ("env", "is_tty", "wants_colour", "expected"),
    [
        (
            {"TERM": "xterm-256color"},
            True,
            True,
            Terminal(live=True, escapes=True, colour=True, reflows=True, depth="256"),
        ),
        ({"TERM": "xterm", "NO_COLOR": "1"}, True, True, Terminal(live=True, escapes=True, colour=False, reflows=True)),
        ({"TERM": "xterm", "NO_COLOR": ""}, True, True, Terminal(live=True, escapes=True, colour=True, reflows=True)),
        ({"TERM": "xterm"}, True, False, Terminal(live=True, escapes=True, colour=False, reflows=True)),
        ({"TERM": "dumb"}, True, True, Terminal(live=False, escapes=False, colour=False, reflows=False)),
        ({"TERM": "xterm"}, False, True, Terminal(live=False, escapes=False, colour=False, reflows=False)),
        ({"TERM": "linux"}, True, True, Terminal(live=True, escapes=True, colour=True, reflows=False)),
        ({}, True, True, Terminal(live=True, escapes=True, colour=True, reflows=True)),
    ],
)
def test_capabilities_of_terminals_are_detected(
    env: dict[str, str], is_tty: bool, wants_colour: bool, expected: Terminal
) -> None:
    assert detect_terminal(env, is_tty=is_tty, wants_colour=wants_colour) == expected


def test_times_and_counts_are_formatted() -> None:
    assert [format_seconds(s) for s in (-1, 0.04, 9.94, 9.96, 59.4, 59.6, 65, 3599.6, 7380)] == [
        "0.0 s", "0.0 s", "9.9 s", "10 s", "59 s", "1 min 00 s", "1 min 05 s", "1 h 00 min", "2 h 03 min",
    ]  # fmt: skip
    assert [format_tokens(n) for n in (0, 999, 1000, 9949, 9950, 12_345, 999_499, 999_500, 2_345_678)] == [
        "0", "999", "1.0k", "9.9k", "10k", "12k", "999k", "1.0M", "2.3M",
    ]  # fmt: skip
    assert format_usage(Usage(prompt_tokens=1200, completion_tokens=5)) == "↑1.2k ↓5"
    event = TurnFinished(status="done", text="", steps=1, usage=Usage(), seconds=0.5)
    assert format_turn_footer(event) == "1 request · 0.5 s"


def test_combined_letters_are_not_separated() -> None:
    couple, warned = "👩\u200d💻", "⚠\ufe0f"
    assert [line.plain for line in split_by_cells(Text(f"a{couple}{warned}e\u0301x"), 4)] == [
        f"a{couple}",
        f"{warned}e\u0301x",
    ]
    assert truncate_to_cells(f"{couple}{couple}ab", 5) == f"{couple}{couple}…"
    assert truncate_to_cells(f"{couple}{couple}ab", 4) == f"{couple}…"


def test_cropping_counts_columns() -> None:
    assert [truncate_to_cells("漢字かな", cells) for cells in (8, 7, 5, 2, 1, 0)] == [
        "漢字かな",
        "漢字か…",
        "漢字…",
        "…",
        "…",
        "",
    ]
    assert [line.plain for line in split_by_cells(Text("漢字ab"), 3)] == ["漢", "字a", "b"]
    assert count_cells("漢a") == 3


def painted(language: str, code: str) -> list[list[str]]:
    """Return the words of each line with their style, as "style:word"."""
    highlighter = CodeHighlighter(language)
    lines = []
    for line in code.splitlines():
        text = highlighter.highlight_line(line)
        assert text.plain == line
        lines.append([f"{span.style}:{text.plain[span.start : span.end]}" for span in text.spans])
    return lines


@each_row(
    ("language", "code", "line", "look"),
    [
        ("python", 'x = """a\nb\nc"""\ny = 1', 1, "code_string:b"),
        ("python", 'x = """a\nb\nc"""\nimport os', 3, "code_keyword:import"),
        ("js", "/* a\n b */ let c = 1", 0, "code_comment:/* a"),
        ("js", "/* a\n b */ let c = 1", 1, "code_keyword:let"),
        ("c", "int a; /* b\n c\n*/ int d; // e/*\nint f;", 1, "code_comment: c"),
        ("c", "int a; /* b\n c\n*/ int d; // e/*\nint f;", 3, "code_type:int"),
        ("rust", "/* a\n b */ let c = 1;", 1, "code_keyword:let"),
    ],
)
def test_highlighting_keeps_its_state_between_lines(language: str, code: str, line: int, look: str) -> None:
    words = painted(language, code)[line]
    assert look in words


@each_row("language", ["", "nolanguage", "json", "yaml", "html", "console", "make", "go", "diff", "c++", "../x"])
def test_every_language_keeps_the_text(language: str) -> None:
    painted(language, 'a: {"b": [1, "ü"]}\n\n<c d="e">`\'"""\n$ f\n\x60\x60')


def test_a_preview_changes_nothing() -> None:
    highlighter = CodeHighlighter("python")
    highlighter.preview_line('x = """open')
    assert [str(span.style) for span in highlighter.highlight_line("import os").spans][:1] == ["code_keyword"]


@each_row("columns", [1, 2, 5, 20, 200])
def test_any_width_is_accepted(columns: int) -> None:
    theme = Theme()
    painter = Painter(theme, lambda: (columns, 5))
    text = (
        "# T\n\n- a\n  - b\n\n| a | b | c |\n|---|---|---|\n| 漢字 | 2 | 3 |\n\n> q\n\n```py\nx = '漢'\n```\n\n1. x\n"
    )
    for part in render_markdown(text, theme):
        assert painter.render_lines(part).endswith("\n")
        assert all("\n" not in row for row in painter.render_rows(part))


@pytest.mark.parametrize("answer", ["8443.", "It is\n\n7)", "42."])
def test_an_answer_that_is_only_a_number_is_shown(answer: str) -> None:
    console = Console(width=40, file=io.StringIO(), color_system=None)
    console.print(make_markdown(answer))
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert shown.split() == answer.split()


def test_nothing_heavy_is_imported_with_the_screen() -> None:
    code = (
        "import sys, clio.ui.screen, clio.ui.approval_dialog, clio.ui.keyboard; "
        "print(*(m for m in ('rich.markdown','rich.syntax','markdown_it','pygments','importlib.metadata','numpy',"
        "'openai','tree_sitter','email') if m in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout.split() == []


def test_the_plain_screen_needs_neither_rich_nor_prompt_toolkit() -> None:
    code = (
        "import sys, clio.ui.pipe_screen; print(*(m for m in ('rich','prompt_toolkit','asyncio') if m in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout.split() == []


def test_no_word_of_a_narrow_table_is_hidden() -> None:
    painter = Painter(Theme(), lambda: (27, 24))
    table = "| basket | discount | 合計 |\n|---|---|---|\n| 漢字の本屋さんで | 100 % | ✅ right |\n"
    shown = "\n".join(row for part in render_markdown(table, Theme()) for row in painter.render_rows(part))
    assert "…" not in shown
    letters = "".join(shown.split())
    assert all(letter in letters for letter in "漢字の本屋さんで✅right")
