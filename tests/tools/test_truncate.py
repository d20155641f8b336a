import re

from hypothesis import given
from hypothesis import strategies as st

from clio.tools.output import MAX_ROW_CHARS, preview_output, split_rows
from tests.support.rows import each_row

LONG = "".join(f"line {number}\n" for number in range(1, 2001))
texts = st.lists(st.text(max_size=60) | st.text("x", min_size=1900, max_size=4100), max_size=30).map("\n".join)


def test_short_text_is_unchanged() -> None:
    assert preview_output("a\nb\n", 4, "h") == "a\nb\n"


def test_the_notice_names_the_call_that_continues() -> None:
    short = preview_output(LONG, 2000, "ab12")
    head, notice, tail = re.split(r"\n(\[… .* …\]\n)", short)
    offset = int(re.search(r'read_output\(handle="ab12", offset=(\d+)\)', notice)[1])  # type: ignore[index]
    assert split_rows(LONG)[offset - 1] == f"line {offset}"
    assert head.splitlines()[-1] == f"line {offset - 1}"
    assert tail.endswith("line 2000\n")
    left = int(re.search(r"([\d,]+) lines", notice)[1].replace(",", ""))  # type: ignore[index]
    assert len(head.splitlines()) + left + len(tail.splitlines()) == 2000
    assert len(head) > len(tail)


def test_without_a_handle_no_call_is_named() -> None:
    short = preview_output(LONG, 1000, None)
    assert "left out" in short
    assert "read_output" not in short


@given(texts, st.integers(0, 5000), st.sampled_from([None, "abcdef012345"]))
def test_a_preview_is_never_longer_than_allowed(text: str, max_chars: int, handle: str | None) -> None:
    short = preview_output(text, max_chars, handle)
    assert len(short) <= max(max_chars, 0)
    if len(text) <= max_chars:
        assert short == text


@given(texts)
def test_rows_contain_every_character_and_have_a_length_limit(text: str) -> None:
    found = split_rows(text)
    assert "".join(found) == text.replace("\n", "")
    assert all(len(row) <= MAX_ROW_CHARS and "\n" not in row for row in found)


@given(texts, st.integers(400, 5000))
def test_head_then_paging_loses_nothing(text: str, max_chars: int) -> None:
    """The preview's head and the pages from the named row on are the whole text."""
    short = preview_output(text, max_chars, "cafe")
    found = re.search(
        r"\n\[… [\d,]+ lines, [\d,]+ characters left out; go on with read_output.*offset=(\d+)\) …\]\n", short
    )
    if found is None:
        assert short == text
        return
    offset = int(found[1])
    head = short[: found.start()]
    before = "".join(split_rows(text)[: offset - 1])
    assert head.replace("\n", "").startswith(before)


@each_row("text", ["", "a", "a\n", "\n", "\n\n"])
def test_rows_of_small_texts(text: str) -> None:
    assert split_rows(text) == (text.split("\n")[:-1] if text.endswith("\n") else [text])
