"""`<think>…</think>` inside the text of an answer."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from clio.providers.chat import ThinkSplitter
from tests.support.rows import each_row

PIECES = (
    "<think>",
    "</think>",
    "\n",
    "```",
    "~~~~",
    "a",
    " ",
    "<",
    "think",
    "</",
    ">",
    "`",
    "b < c",
    "<thinking>",
    "py",
)


def split(*pieces: str) -> tuple[str, str]:
    splitter = ThinkSplitter()
    read = [part for piece in pieces for part in splitter.feed(piece)] + splitter.end()
    return "".join(text for kind, text in read if kind == "text"), "".join(
        text for kind, text in read if kind == "reasoning"
    )


@each_row(
    ("whole", "text", "reasoning"),
    [
        ("plain", "plain", ""),
        ("<think>hm</think>yes", "yes", "hm"),
        ("\n <think>\nhm\n</think>\n\nyes", "\n \n\nyes", "\nhm\n"),
        ("<think></think>yes", "yes", ""),
        ("<think>one</think>\n<think>two</think>yes", "\nyes", "onetwo"),
        ("<think>still thinking", "", "still thinking"),
        ("<think>still </thin", "", "still </thin"),
        ("yes\n<think>then</think>no", "yes\nno", "then"),
        ("yes\n<think>is a tag", "yes\n<think>is a tag", ""),
        ("the tags <think> and </think>", "the tags <think> and </think>", ""),
        ("`<think>` and `</think>`", "`<think>` and `</think>`", ""),
        ("```\n<think>x</think>\n```", "```\n<think>x</think>\n```", ""),
        ("````md\n```\n<think>x</think>\n````\n<think>y</think>z", "````md\n```\n<think>x</think>\n````\nz", "y"),
        ("~~~\n<think>x</think>\n~~~\n", "~~~\n<think>x</think>\n~~~\n", ""),
        ("<thinking>x</thinking>", "<thinking>x</thinking>", ""),
        ("</think>yes", "</think>yes", ""),
    ],
)
def test_which_text_is_reasoning(whole: str, text: str, reasoning: str) -> None:
    assert split(whole) == (text, reasoning)
    assert split(*whole) == (text, reasoning)


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join), st.data())
def test_text_split_anywhere_gives_the_same(whole: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    edges = [0, *cuts, len(whole)]
    assert split(*(whole[a:b] for a, b in pairwise(edges))) == split(whole)


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_only_tags_are_removed(whole: str) -> None:
    text, reasoning = split(whole)
    opened, closed = whole.count("<think>"), whole.count("</think>")
    lost = {7 * pairs + 7 * still_open + 8 * pairs for pairs in range(closed + 1) for still_open in (0, 1)}
    assert opened or text == whole
    assert len(whole) - len(text) - len(reasoning) in lost


def test_text_is_passed_on_immediately() -> None:
    splitter = ThinkSplitter()
    assert [splitter.feed(piece) for piece in ("He", "llo <", "b>\n", "more")] == [
        [("text", "He")],
        [("text", "llo <")],
        [("text", "b>\n")],
        [("text", "more")],
    ]


def test_a_later_unclosed_block_becomes_text_after_some_length() -> None:
    splitter = ThinkSplitter()
    splitter.feed("yes\n<think>")
    shown = "".join(text for _ in range(100) for _, text in splitter.feed("word " * 100))
    assert shown.startswith("<think>word word")
