"""Signals in saved turns about the value of an answer."""

from pathlib import Path

import pytest

from clio.memory.styles.feedback import Signal, find_signals, infer_verdict
from clio.messages import UserMessage
from tests.memory.styles.turns import Step, deleted, edited, ran, turn, wrote


def openings() -> list[tuple[str, bool, str]]:
    lines = (Path(__file__).parent / "openings.txt").read_text(encoding="utf-8").splitlines()
    parts = [[part.strip() for part in line.split("|", 2)] for line in lines if line and not line.startswith("#")]
    return [(verdict, question == "?", text.replace("\\n", "\n")) for verdict, question, text in parts]


def test_the_first_words_of_a_message_are_classified() -> None:
    found = [(infer_verdict(text, after_question=asked) or "-", asked, text) for _, asked, text in openings()]
    assert len(found) > 90
    assert found == openings()


def kinds(found: list[Signal]) -> list[tuple[str, int, float, str]]:
    return [(one.target, one.reward, one.weight, one.source) for one in found]


def test_a_rejection_counts_minus_a_quarter_for_the_answer_before() -> None:
    [signal] = find_signals(turn("no, use the other  file"), turn("fix it"))
    assert kinds([signal]) == [("before", -1, 0.25, "words")]
    assert signal.note == "“no, use the other file”"


def test_praise_counts_a_quarter_for_the_answer_before() -> None:
    assert kinds(find_signals(turn("perfect, thanks"), turn("fix it"))) == [("before", 1, 0.25, "words")]


@pytest.mark.parametrize(
    "answer",
    [
        "I fixed it. Shall I update the docs too?",
        "Which one do you mean?\n\n1. the client\n2. the server",
        "Should I go on? It takes a minute.",
        "**Shall I commit this?**",
    ],
)
def test_no_is_no_rejection_if_clio_asked_a_question(answer: str) -> None:
    assert find_signals(turn("no, leave it"), turn("fix it", answer=answer)) == []


def test_only_a_question_at_the_end_of_an_answer_counts_as_asked() -> None:
    answer = "Why did it fail?\n" + "\n".join(f"Line {number} says so." for number in range(8))
    assert kinds(find_signals(turn("no, leave it"), turn("why", answer=answer))) == [("before", -1, 0.25, "words")]


def test_the_first_message_of_a_session_rates_no_answer() -> None:
    assert find_signals(turn("no, use tabs"), []) == []


def test_a_continue_message_of_clio_is_no_signal() -> None:
    assert find_signals([UserMessage(content="no, go on", origin="continue")], turn("fix it")) == []


@pytest.mark.parametrize(
    ("failing", "passing"),
    [
        ("pytest -q tests/test_a.py", "pytest -q"),
        ("cd app && npm test", "npm test -- --watch=false"),
        ("python -m pytest", "pytest"),
        ("uv run ruff check . && uv run pytest", "uv run ruff check . && uv run pytest"),
        ("CI=1 cargo test", "cargo test"),
        ("env CI=1 cargo test", "cargo test"),
        ("make lint", "make lint"),
        ("timeout 60 go test ./...", "go test ./..."),
        ("python tests/test_calc.py", "python3 tests/test_calc.py"),
        ("npm run type-check", "npm run type-check"),
        ("set -o pipefail; pytest -q", "pytest"),
    ],
)
def test_a_check_that_passes_after_a_change_counts_for_this_answer(failing: str, passing: str) -> None:
    steps = [ran(failing, 1), edited("a.py"), ran(passing)]
    assert kinds(find_signals(turn("fix it", steps), [])) == [("this", 1, 0.25, "tests")]


@pytest.mark.parametrize(
    "steps",
    [
        [ran("pytest", 1), ran("pytest")],
        [edited("a.py"), ran("pytest")],
        [ran("pytest", 1), edited("a.py"), ran("pytest", 1)],
        [ran("pytest", 1), edited("a.py"), ran("pytest"), edited("a.py"), ran("pytest", 1)],
        [ran("pytest", 1), edited("a.py"), ran("ruff check .")],
        [ran("pytest", 127), edited("a.py"), ran("pytest")],
        [ran("pytest", 1), edited("a.py"), ran("pytest | tail -5")],
        [ran("pytest", 1), edited("a.py"), ran("pytest; true")],
        [ran("pytest", 1), edited("a.py"), ran("pytest || true")],
        [ran("pytest", 1), edited("a.py"), ran("pytest", None)],
        [ran("ruff check . && pytest", 1), edited("a.py"), ran("ruff check .")],
        [ran("cat x", 1), edited("a.py"), ran("cat x")],
        [ran("echo 'pytest", 1), edited("a.py"), ran("echo 'pytest")],
        [ran("npm install", 1), edited("a.py"), ran("npm install")],
        [ran("make", 1), edited("a.py"), ran("make")],
        [ran("git grep pytest", 1), edited("a.py"), ran("git grep pytest")],
    ],
)
def test_other_sequences_of_commands_are_no_passed_check(steps: list[Step]) -> None:
    assert find_signals(turn("fix it", steps), []) == []


@pytest.mark.parametrize(
    "command",
    [
        "git checkout -- calc.py",
        "git checkout HEAD~1 -- src/calc.py",
        "git restore src",
        "git restore 'src/calc.py'",
        "git restore --staged --worktree calc.py",
        "git checkout .",
        "git reset --hard HEAD",
        "git revert --no-edit HEAD",
        "cd sub && git revert 1a2b3c4d",
    ],
)
def test_reverting_changes_with_git_counts_minus_a_half_for_the_answer_before(command: str) -> None:
    before = turn("change it", [edited("src/calc.py"), ran("git commit -am x", commits=["1a2b3c4"])])
    [signal] = find_signals(turn("go back please", [ran(command)]), before)
    assert kinds([signal]) == [("before", -1, 0.5, "revert")]
    assert signal.note == command


@pytest.mark.parametrize(
    "command",
    [
        "git checkout main",
        "git checkout -b src/calc.py",
        "git restore --staged src/calc.py",
        "git checkout -- other.py",
        "git revert 99999999",
        "git stash",
        "git reset src/calc.py",
        "grep 'git restore src/calc.py' notes",
    ],
)
def test_other_git_commands_revert_nothing(command: str) -> None:
    before = turn("change it", [edited("src/calc.py"), ran("git commit -am x", commits=["1a2b3c4"])])
    assert find_signals(turn("go on", [ran(command)]), before) == []


def test_a_failed_git_command_reverted_nothing() -> None:
    before = turn("change it", [edited("calc.py")])
    assert find_signals(turn("go on", [ran("git checkout -- calc.py", 1)]), before) == []


def test_restoring_unchanged_files_is_no_signal() -> None:
    assert find_signals(turn("go on", [ran("git reset --hard")]), turn("what is this?")) == []


def test_an_opposite_edit_reverts_the_first_one() -> None:
    before = turn("change it", [edited("calc.py", "a - b", "a + b")])
    after = turn("on second thought", [edited("calc.py", "a + b", "a - b")])
    assert kinds(find_signals(after, before)) == [("before", -1, 0.5, "revert")]
    further = turn("and", [edited("calc.py", "a + b", "b + a")])
    assert find_signals(further, before) == []


def test_deleting_a_file_of_the_turn_before_reverts_it() -> None:
    before = turn("change it", [wrote("new.py"), edited("old.py")])
    assert kinds(find_signals(turn("x", [deleted("new.py")]), before)) == [("before", -1, 0.5, "revert")]
    assert find_signals(turn("x", [deleted("old.py")]), before) == []


def test_of_two_signals_with_the_same_meaning_the_stronger_counts_once() -> None:
    before = turn("change it", [edited("calc.py")])
    after = turn("undo that", [ran("git checkout -- calc.py")])
    assert kinds(find_signals(after, before)) == [("before", -1, 0.5, "revert")]


def test_one_turn_may_reject_the_answer_before_and_succeed_itself() -> None:
    steps = [ran("pytest", 1), edited("a.py"), ran("pytest")]
    assert kinds(find_signals(turn("no, it still fails", steps), turn("fix it"))) == [
        ("before", -1, 0.25, "words"),
        ("this", 1, 0.25, "tests"),
    ]
