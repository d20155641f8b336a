"""Any selection of hunks gives a text of old and new lines; all of them the new text, none the old."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from clio.errors import ToolFailed
from clio.security.actions import ChangeFiles, FileChange
from clio.tools.base import PreparedCall, ToolOutput
from clio.tools.files.diff import apply_diff_hunks, diff_texts, split_hunks
from tests.tools.file_support import Bench, run

TEXTS = st.lists(st.sampled_from(["a\n", "b\n", "c\r\n", "\n", "dd\n"]), max_size=40).map("".join)
ENDS = st.sampled_from(["", "end", "end\n"])
WHOLE = st.tuples(TEXTS, ENDS).map("".join)


@given(WHOLE, WHOLE, st.integers(0, 3))
def test_all_hunks_give_the_new_text_none_the_old_and_counts_are_correct(before: str, after: str, which: int) -> None:
    hunks = list(split_hunks(before, after))
    assert apply_diff_hunks(before, after, hunks) == after
    assert apply_diff_hunks(before, after, []) == before
    some = [hunk for number, hunk in enumerate(hunks) if number % 3 < which]
    grown = sum(hunk.added - hunk.removed for hunk in some)
    lines = len(apply_diff_hunks(before, after, some).split("\n")) - len(before.split("\n"))
    assert abs(lines - grown) <= 1  # one fewer or more if the last line has no newline


@given(WHOLE, WHOLE)
def test_hunks_are_those_of_the_diff(before: str, after: str) -> None:
    shown = "".join(hunk.text for hunk in split_hunks(before, after))
    assert shown == diff_texts(before, after, "x", "x").text.partition("+++ x\n")[2]


def first_change(prepared: PreparedCall) -> FileChange:
    assert isinstance(prepared.action, ChangeFiles)
    return prepared.action.changes[0]


def run_as(prepared: PreparedCall, after: str) -> ToolOutput:
    """Run the call with another text instead of its own."""
    assert prepared.revise is not None
    return run(prepared.revise((replace(first_change(prepared), after=after),)))


def test_another_text_keeps_encoding_byte_order_mark_line_endings_and_permissions(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    path = bench.write("a.txt", b"\xff\xfe" + "eins\r\nzwei\r\n".encode("utf-16-le"))
    path.chmod(0o755)
    bench.call("read_file", path="a.txt")
    run_as(bench.prepare("edit_file", path="a.txt", old_string="eins", new_string="one"), "1 €\r\nzwei\r\n")
    assert path.read_bytes() == b"\xff\xfe" + "1 €\r\nzwei\r\n".encode("utf-16-le")
    assert path.stat().st_mode & 0o777 == 0o755


def test_invalid_bytes_are_kept_in_unchanged_lines(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    good = "".join(f"größe {number}\n" for number in range(30)).encode()
    path = bench.write("a.txt", good + b"bad \xff byte\nlast\n")
    prepared = bench.prepare("edit_file", path="a.txt", old_string="last", new_string="LAST")
    change = first_change(prepared)
    run_as(prepared, (change.after or "").replace("größe 3\n", "small 3\n"))
    assert path.read_bytes() == good.replace("größe 3\n".encode(), b"small 3\n") + b"bad \xff byte\nLAST\n"


def test_an_ambiguous_line_is_refused(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    good = "".join(f"größe {number}\n" for number in range(30)).encode()
    path = bench.write("a.txt", good + b"bad \xff\nbad \xfe\nlast\n")
    prepared = bench.prepare("edit_file", path="a.txt", old_string="last", new_string="LAST")
    before = path.read_bytes()
    with pytest.raises(ToolFailed, match="bytes that are not text"):
        run_as(prepared, (first_change(prepared).after or "").replace("größe 3\n", "small 3\n"))
    assert path.read_bytes() == before


def test_a_moved_file_gets_the_other_text(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.write("a.txt", "one\ntwo\n")
    patch = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: b.txt\n@@\n-one\n+ONE\n two\n*** End Patch\n"
    output = run_as(bench.prepare("apply_patch", patch=patch), "uno\ntwo\n")
    assert (tmp_path / "b.txt").read_text(encoding="utf-8") == "uno\ntwo\n" and not (tmp_path / "a.txt").exists()
    assert output.text == "moved a.txt to b.txt (+1 -1)" and output.summary == "+1 -1"
