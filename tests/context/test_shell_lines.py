"""What a shell command line does, as far as its text tells."""

from clio.context.command_results import (
    FileLines,
    is_search_command,
    list_discarded_paths,
    list_test_selectors,
    parse_file_reading,
)
from tests.support.rows import each_row


@each_row(
    ("command", "lines"),
    [
        ("cat src/a.py", FileLines(path="src/a.py")),
        ("nl -ba a.py", FileLines(path="a.py")),
        ("sed -n '10,40p' a.py", FileLines(path="a.py", first=10, last=40)),
        ("sed -n 7p a.py", FileLines(path="a.py", first=7, last=7)),
        ("sed -n '300,$p' a.py", FileLines(path="a.py", first=300)),
        ("head -n 20 a.py", FileLines(path="a.py", last=20)),
        ("head -20 a.py", FileLines(path="a.py", last=20)),
        ("tail -n +50 a.py", FileLines(path="a.py", first=50)),
        ("cd src && cat a.py", FileLines(path="src/a.py")),
    ],
)
def test_commands_that_print_a_file_in_part_or_whole(command: str, lines: FileLines) -> None:
    assert parse_file_reading(command) == lines


@each_row(
    "command",
    ["cat a.py b.py", "cat a.py | wc -l", "cat > a.py", "sed -i s/a/b/ a.py", "cat $(ls)", "cat 'a", "tail a.py"],
)
def test_commands_that_print_no_single_file(command: str) -> None:
    assert parse_file_reading(command) is None


@each_row(
    "command",
    ["rg -n value src", "grep -rn 'a b' . | head -20", "ls -la && find . -name '*.py'", "git grep x", "ls 2>/dev/null"],
)
def test_search_commands(command: str) -> None:
    assert is_search_command(command)


@each_row("command", ["make", "rg x | xargs rm", "ls; rm a", "cat a.py", "grep x a > b", "pytest | tail -5"])
def test_commands_that_are_no_search(command: str) -> None:
    assert not is_search_command(command)


@each_row(
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
def test_commands_that_revert_changes(command: str, paths: tuple[str, ...]) -> None:
    assert list_discarded_paths(command) == paths


@each_row(
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
def test_commands_that_revert_nothing(command: str) -> None:
    assert list_discarded_paths(command) == ()


def test_the_tests_selected_by_a_test_command() -> None:
    assert list_test_selectors("pytest -q") == ()
    assert list_test_selectors("python -m pytest tests/test_a.py::test_b -x") == ("tests/test_a.py::test_b",)
    assert list_test_selectors("pytest -k reads") == ("reads",)
    assert list_test_selectors("go test -run TestSum ./...") == ("TestSum",)
    assert list_test_selectors("npx jest src/a.test.js") == ("src/a.test.js",)
