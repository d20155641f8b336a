"""Splitting Markdown into finished pieces while it streams."""

import re

from hypothesis import given
from hypothesis import strategies as st

from clio.ui.markdown import MAX_BLOCK_CHARS, BlockSplitter, MarkdownPiece
from tests.support.examples import examples
from tests.ui.stage import ANSWER

LINES = st.sampled_from([
    "", "", "words of a paragraph", "- item", "  - nested", "  more of it", "1. one", "2. two", "   ```sh", "```",
    "```python", "x = 1", "# head", "---", "> quote", "| a | b |", "|---|---|", "    indented", "~~~", "* * *",
    "漢字 text", "``", "`code`",
])  # fmt: skip


def split(text: str, cuts: list[int] | None = None) -> list[MarkdownPiece]:
    splitter = BlockSplitter()
    pieces: list[MarkdownPiece] = []
    at = 0
    for cut in [*(cuts or []), len(text)]:
        pieces += splitter.feed(text[at : at + cut])
        at += cut
    return [*pieces, *splitter.feed(text[at:]), *splitter.finish()]


@given(st.lists(LINES, max_size=25), st.lists(st.integers(1, 30), max_size=60))
@examples(100)
def test_the_pieces_depend_only_on_the_text(lines: list[str], cuts: list[int]) -> None:
    text = "\n".join(lines)
    assert split(text, cuts) == split(text)


@given(st.lists(LINES, max_size=25))
@examples(100)
def test_no_word_is_lost(lines: list[str]) -> None:
    """Every line is in a piece, in order; only blank lines and fences are left out."""
    text = "\n".join(lines)
    got = re.sub(r"\s|```\w*|~~~\w*", "", "\n".join(piece.text for piece in split(text)))
    assert got == re.sub(r"\s|```\w*|~~~\w*", "", text)


@given(st.lists(LINES, max_size=25))
@examples(60)
def test_the_open_tail_contains_nothing_finished(lines: list[str]) -> None:
    text = "\n".join(lines)
    splitter = BlockSplitter()
    finished: list[MarkdownPiece] = []
    for at in range(len(text)):
        finished += splitter.feed(text[at])
        tail = splitter.tail
        shown = "".join(piece.text for piece in finished) + (tail.text if tail else "")
        assert len(re.sub(r"\s", "", shown)) <= len(re.sub(r"\s", "", text[: at + 1]))


def test_the_pieces_of_an_answer() -> None:
    pieces = split(ANSWER)
    assert [(piece.kind, piece.text.split("\n")[0][:18], piece.joined) for piece in pieces] == [
        ("prose", "# Result", False),
        ("prose", "Two **important** ", False),
        ("prose", "- first", False),
        ("prose", "- second, with `co", True),
        ("prose", "1. one", False),
        ("prose", "2. two", True),
        ("prose", "| Name | 大きさ | Cou", False),
        ("code", "def greet(name: st", False),
        ("code", '    """Say', True),
        ("code", '    hello."""', True),
        ("code", '    return f"你好 {n', True),
        ("prose", "> quoted words", False),
        ("prose", "Done: <b>not HTML<", False),
    ]


def test_code_is_finished_line_by_line() -> None:
    splitter = BlockSplitter()
    assert splitter.feed("Look:\n```py\na = 1\nb =") == [
        MarkdownPiece(kind="prose", text="Look:"),
        MarkdownPiece(kind="code", text="a = 1", language="py"),
    ]
    assert splitter.tail == MarkdownPiece(kind="code", text="b =", language="py", joined=True)
    assert splitter.feed(" 2\n``") == [MarkdownPiece(kind="code", text="b = 2", language="py", joined=True)]
    assert splitter.tail is None, "the beginning of the closing fence is not shown"
    assert splitter.feed("`\nafter") == []
    assert splitter.tail == MarkdownPiece(kind="prose", text="after")


def test_a_longer_fence_may_contain_a_shorter_one() -> None:
    pieces = split("````md\n```py\nx\n```\n````\nend")
    assert [piece.text for piece in pieces] == ["```py", "x", "```", "end"]


def test_the_open_tail_has_a_size_limit() -> None:
    """A paragraph, a list item, a table and an endless line are finished in parts."""
    for text in (
        "word " * 20_000,
        "word word word\n" * 5_000,
        "- item\n" + "  more of it\n" * 3_000,
        "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 3_000,
        "```\n" + "x" * 50_000,
        "x" * 50_000,
    ):
        splitter = BlockSplitter()
        for at in range(0, len(text), 100):
            splitter.feed(text[at : at + 100])
            tail = splitter.tail
            assert tail is None or len(tail.text) <= 2 * MAX_BLOCK_CHARS + 200
        joined = "".join(piece.text for piece in split(text))
        assert joined.count("word") == text.count("word")
        assert joined.count("x") == text.count("x")


def test_every_part_of_a_long_table_has_its_heading() -> None:
    pieces = split("| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 1_000)
    assert len(pieces) > 1
    assert {piece.text.split("\n")[0] for piece in pieces} == {"| a | b |"}
    assert sum(piece.text.count("| 1 | 2 |") for piece in pieces) == 1_000
