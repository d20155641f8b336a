"""What a line of shell did, as far as its words alone tell."""

import pytest

from clio.context.command_results import LinesOfFile, is_search, put_back, read_lines, selectors


@pytest.mark.parametrize(
    ("command", "lines"),
    [
        ("cat src/a.py", LinesOfFile(path="src/a.py")),
        ("nl -ba a.py", LinesOfFile(path="a.py")),
        ("sed -n '10,40p' a.py", LinesOfFile(path="a.py", first=10, last=40)),
        ("sed -n 7p a.py", LinesOfFile(path="a.py", first=7, last=7)),
        ("sed -n '300,$p' a.py", LinesOfFile(path="a.py", first=300)),
        ("head -n 20 a.py", LinesOfFile(path="a.py", last=20)),
        ("head -20 a.py", LinesOfFile(path="a.py", last=20)),
        ("tail -n +50 a.py", LinesOfFile(path="a.py", first=50)),
        ("cd src && cat a.py", LinesOfFile(path="src/a.py")),
    ],
)
def test_a_file_printed_in_part_or_whole(command: str, lines: LinesOfFile) -> None:
    assert read_lines(command) == lines


@pytest.mark.parametrize(
    "command",
    ["cat a.py b.py", "cat a.py | wc -l", "cat > a.py", "sed -i s/a/b/ a.py", "cat $(ls)", "cat 'a", "tail a.py"],
)
def test_what_prints_no_single_file(command: str) -> None:
    assert read_lines(command) is None


@pytest.mark.parametrize(
    "command",
    ["rg -n value src", "grep -rn 'a b' . | head -20", "ls -la && find . -name '*.py'", "git grep x", "ls 2>/dev/null"],
)
def test_searches(command: str) -> None:
    assert is_search(command)


@pytest.mark.parametrize(
    "command", ["make", "rg x | xargs rm", "ls; rm a", "cat a.py", "grep x a > b", "pytest | tail -5"]
)
def test_no_searches(command: str) -> None:
    assert not is_search(command)


@pytest.mark.parametrize(
    ("command", "paths"),
    [
        ("git checkout -- a.py b.py", ("a.py", "b.py")),
        ("git checkout HEAD~1 -- src", ("src",)),
        ("git checkout .", (".",)),
        ("git checkout -f", (".",)),
        ("git restore a.py", ("a.py",)),
        ("git restore --source HEAD a.py", ("a.py",)),
        ("git restore --staged --worktree a.py", ("a.py",)),
        ("git reset --hard HEAD", (".",)),
        ("git stash", (".",)),
        ("git stash push -- a.py", ("a.py",)),
        ("cd sub && git checkout -- a.py", ("sub/a.py",)),
        ("git -C . restore a.py && pytest -q", ("a.py",)),
    ],
)
def test_changes_put_back(command: str, paths: tuple[str, ...]) -> None:
    assert put_back(command) == paths


@pytest.mark.parametrize(
    "command",
    [
        "git checkout -b new",
        "git restore --staged a.py",
        "git reset a.py",
        "git stash pop",
        "git stash list",
        "echo git checkout .",
    ],
)
def test_nothing_put_back(command: str) -> None:
    assert put_back(command) == ()


def test_what_a_test_command_selects() -> None:
    assert selectors("pytest -q") == ()
    assert selectors("python -m pytest tests/test_a.py::test_b -x") == ("tests/test_a.py::test_b",)
    assert selectors("pytest -k reads") == ("reads",)
    assert selectors("go test -run TestSum ./...") == ("TestSum",)
    assert selectors("npx jest src/a.test.js") == ("src/a.test.js",)
