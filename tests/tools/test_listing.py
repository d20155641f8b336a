"""list_files and find_files."""

from pathlib import Path

import pytest

from clio.errors import ToolRetry
from clio.tools.files.file_index import make_path_matcher
from tests.support.rows import each_row
from tests.support.wording import mentions
from tests.tools.file_support import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    bench = Bench(tmp_path.resolve())
    bench.write(".gitignore", "*.pyc\n")
    for name in ("README.md", "src/app.py", "src/app.pyc", "src/ui/a/b/deep.py", "src/ui/view.py", "tests/test_app.py"):
        bench.write(name, "x")
    return bench


def test_a_tree_is_listed(bench: Bench) -> None:
    output = bench.call("list_files")
    assert output.summary == "6 files"
    assert output.text.splitlines() == [
        "./ (6 files)",
        "  .gitignore",
        "  README.md",
        "  src/",
        "    app.py",
        "    ui/",
        "      a/ (1 file)",
        "      view.py",
        "  tests/",
        "    test_app.py",
    ]


def test_the_depth_is_limited(bench: Bench) -> None:
    text = bench.call("list_files", depth=1).text
    assert text == "./ (6 files)\n  .gitignore\n  README.md\n  src/ (3 files)\n  tests/ (1 file)"
    assert "deep.py" in bench.call("list_files", path="src", depth=9).text


def test_large_folders_are_not_expanded(bench: Bench) -> None:
    for number in range(300):
        bench.write(f"data/{number}.txt", "x")
    assert "  data/ (300 files)" in bench.call("list_files").text.splitlines()
    rows = bench.call("list_files", path="data").text.splitlines()
    assert mentions(rows[-1], "100 more rows", "find_files")
    assert len(rows) == 202


def test_empty_folders_files_and_missing_paths(bench: Bench) -> None:
    (bench.root / "empty").mkdir()
    assert "no files" in bench.call("list_files", path="empty").text
    assert bench.call("list_files", path="README.md").ok is False
    with pytest.raises(ToolRetry, match="does not exist"):
        bench.call("list_files", path="nowhere")


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("*.py", ["src/app.py", "src/ui/a/b/deep.py", "src/ui/view.py", "tests/test_app.py"]),
        ("src/**/*.py", ["src/app.py", "src/ui/a/b/deep.py", "src/ui/view.py"]),
        ("app.py", ["src/app.py", "tests/test_app.py"]),
        ("UI/V", ["src/ui/view.py"]),
        ("**/ui/", ["src/ui/a/b/deep.py", "src/ui/view.py"]),
    ],
)
def test_files_are_found_by_name(bench: Bench, pattern: str, names: list[str]) -> None:
    assert bench.call("find_files", pattern=pattern).text.splitlines() == names


def test_no_match_is_reported(bench: Bench) -> None:
    assert "the nearest names are view.py" in bench.call("find_files", pattern="veiw.py").text
    assert "no file matches '*.pyc'" in bench.call("find_files", pattern="*.pyc").text


@each_row(
    ("pattern", "path", "matches"),
    [
        ("*.py", "a/b.py", True),
        ("*.py", "a/b.pyc", False),
        ("a/*.py", "a/b.py", True),
        ("a/*.py", "a/c/b.py", False),
        ("a/**/*.py", "a/b.py", True),
        ("a/**", "a/b/c", True),
        ("**/b", "b", True),
        ("./a/*", "a/b", True),
        ("/a", "a", True),
        ("/a", "b/a", False),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("[!a]x", "bx", True),
        ("[!a]x", "ax", False),
        ("[]]x", "]x", True),
        ("{a,b*}.py", "bcd.py", True),
        ("{a,{b,c}}.py", "c.py", True),
        ("!*.py", "a.txt", True),
        ("!*.py", "a.py", False),
        ("a.b+(c)", "a.b+(c)", True),
        ("\\*", "*", True),
        ("\\*", "x", False),
    ],
)
def test_globs_match_paths(pattern: str, path: str, matches: bool) -> None:
    assert make_path_matcher(pattern)(path) is matches


@pytest.mark.parametrize("pattern", ["a[b", "{a,b", "[z-a]"])
def test_invalid_globs_are_refused(pattern: str) -> None:
    with pytest.raises(ToolRetry, match="is not valid"):
        make_path_matcher(pattern)
