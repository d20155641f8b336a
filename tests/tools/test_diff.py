"""Diffs: they contain the change, git can apply them, and large files take little time."""

import random
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clio.security.actions import FileChange
from clio.tools.files.diff import diff_change, diff_texts, find_changed_blocks
from tests.support.examples import examples
from tests.support.rows import each_row


def test_the_diff_of_a_change() -> None:
    before = "".join(f"{number}\n" for number in range(1, 21))
    after = before.replace("3\n", "three\n", 1).replace("18\n", "")
    diff = diff_texts(before, after, "a/f", "b/f")
    assert diff.counts == "+1 -2"
    assert diff.text.splitlines()[:12] == [
        "--- a/f",
        "+++ b/f",
        "@@ -1,6 +1,6 @@",
        " 1",
        " 2",
        "-3",
        "+three",
        " 4",
        " 5",
        " 6",
        "@@ -15,6 +15,5 @@",
        " 15",
    ]


@each_row(
    ("before", "after", "rows"),
    [
        ("", "a\n", ["@@ -0,0 +1 @@", "+a"]),
        ("a\n", "", ["@@ -1 +0,0 @@", "-a"]),
        ("a", "a\n", ["@@ -1 +1 @@", "-a", "\\ No newline at end of file", "+a"]),
        ("a\r\nb\r\n", "a\r\nc\r\n", ["@@ -1,2 +1,2 @@", " a", "-b", "+c"]),
        ("a\r\nb\n", "a\nb\n", ["@@ -1,2 +1,2 @@", "-a␍", "+a", " b"]),
        (
            "a\r\nb",
            "a\r\nc",
            ["@@ -1,2 +1,2 @@", " a", "-b", "\\ No newline at end of file", "+c", "\\ No newline at end of file"],
        ),
        ("", "a\r\n", ["@@ -0,0 +1 @@", "+a"]),
        ("a\n", "a\u2028b\n", ["@@ -1 +1 @@", "-a", "+a\u2028b"]),
    ],
)
def test_edge_cases(before: str, after: str, rows: list[str]) -> None:
    text = diff_texts(before, after, "f", "f").text
    assert text.split("\n")[2:-1] == rows


def test_equal_texts_have_no_diff() -> None:
    assert diff_texts("a\n", "a\n", "f", "f").text == ""


def test_changes_name_their_paths() -> None:
    path, other = Path("/p/a"), Path("/p/b")
    added = diff_change(FileChange(path=path, kind="add", after="x\n"), lambda path: path.name)
    assert added.text == "--- /dev/null\n+++ a\n@@ -0,0 +1 @@\n+x\n"
    deleted = diff_change(FileChange(path=path, kind="delete", before="x\n"), lambda path: path.name)
    assert deleted.text == "--- a\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
    moved = diff_change(FileChange(path=path, kind="move", before="x\n", after="x\n", moved_to=other))
    assert (moved.text, moved.counts) == ("--- /p/a\n+++ /p/b\n", "+0 -0")


@examples(100)
@given(st.lists(st.sampled_from("abcd"), max_size=30), st.lists(st.sampled_from("abcd"), max_size=30))
def test_blocks_rebuild_the_new_lines(old: list[str], new: list[str]) -> None:
    rebuilt: list[str] = []
    at = 0
    for a1, a2, b1, b2 in find_changed_blocks(old, new):
        rebuilt += old[at:a1] + new[b1:b2]
        at = a2
    assert rebuilt + old[at:] == new


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@pytest.mark.parametrize("seed", range(5))
def test_git_applies_it(tmp_path: Path, seed: int) -> None:
    """git makes the new file from the old one with the diff."""
    chance = random.Random(seed)
    before = [f"line {chance.randrange(60)}\n" for _ in range(200)]
    after = [line for line in before if chance.random() > 0.1]
    for _ in range(15):
        after.insert(chance.randrange(len(after)), f"new {chance.randrange(10)}\n")
    (tmp_path / "f").write_text("".join(before), encoding="utf-8")
    diff = diff_texts("".join(before), "".join(after), "a/f", "b/f")
    (tmp_path / "d").write_text(diff.text, encoding="utf-8")
    subprocess.run(["git", "apply", "d"], cwd=tmp_path, check=True)
    assert (tmp_path / "f").read_text(encoding="utf-8") == "".join(after)


@pytest.mark.parametrize("kind", ["scattered", "rewritten", "repetitive", "reversed"])
def test_ten_thousand_lines_take_little_time(kind: str) -> None:
    """A quadratic comparison would take minutes for these files; the suite's time limit would notice."""
    before = [f"line {number}\n" for number in range(10_000)]
    if kind == "repetitive":
        before = ["}\n" if number % 2 else "\n" for number in range(10_000)]
    after = {
        "scattered": [line.upper() if number % 10 == 0 else line for number, line in enumerate(before)],
        "rewritten": [f"other {number}\n" for number in range(10_000)],
        "repetitive": [*before[5_000:], "x\n", *before[:4_000]],
        "reversed": before[::-1],
    }[kind]
    diff = diff_texts("".join(before), "".join(after), "f", "f")
    assert diff.added - diff.removed == len(after) - len(before)
    if kind == "scattered":
        assert diff.counts == "+1000 -1000"
