"""The state of the working tree for the model: read in advance, shared briefly, and read again after commands."""

import asyncio
import subprocess
from pathlib import Path

import pytest

from clio.context import workspace_state
from clio.context.workspace_state import (
    MAX_STATE_AGE_S,
    MIN_READ_INTERVAL_S,
    TreeState,
    WorkingTree,
    describe_tree,
    get_working_tree,
    invalidate_working_trees,
)
from tests.support.clock import Clock
from tests.support.harness import make_repository
from tests.support.waiting import run_loop_once


class Git:
    """A git that returns given output and counts its calls."""

    def __init__(self) -> None:
        self.asked = 0
        self.files = 0

    def __call__(self, project: Path, *arguments: str) -> str | None:
        self.asked += arguments[0] == "status"
        if arguments[0] == "log":
            return "1a2b3c4 Begin\n"
        head = ["# branch.oid 1a2b3c4d", "# branch.head main", "# branch.upstream origin/main"]
        changed = [f"1 .M N... 100644 100644 100644 aa aa {number}.txt" for number in range(self.files)]
        return "\n".join([*head, *changed]) + "\n"


@pytest.fixture
def git(monkeypatch: pytest.MonkeyPatch) -> Git:
    git = Git()
    monkeypatch.setattr(workspace_state, "read_git", git)
    return git


def describe(tree: WorkingTree, *, with_commits: bool = False) -> list[str]:
    state = asyncio.run(tree.read())
    return describe_tree(state, with_commits=with_commits) if state else []


def test_a_real_repository(tmp_path: Path) -> None:
    make_repository(tmp_path / "r", {"a.txt": "1\n"})
    tree = WorkingTree(tmp_path / "r")
    assert describe(tree)[-1] == "changed files: 0"
    (tmp_path / "r" / "a.txt").write_text("2\n", encoding="utf-8")
    tree.invalidate()
    assert describe(tree)[-2:] == ["changed files: 1", "   M a.txt"]
    branch = subprocess.run(
        ["git", "-C", str(tmp_path / "r"), "branch", "--show-current"], capture_output=True, text=True, check=True
    ).stdout.strip()
    assert describe(tree)[0] == f"branch: {branch}"


def test_outside_a_repository_there_is_only_the_date(tmp_path: Path) -> None:
    assert describe(WorkingTree(tmp_path)) == []


def test_a_read_started_in_advance_is_used_by_the_turn(git: Git) -> None:
    clock = Clock(100.0)
    tree = WorkingTree(Path(), clock)
    tree.read_ahead()
    clock.now += MAX_STATE_AGE_S
    assert describe(tree) == ["branch: main", "changed files: 0"]
    assert git.asked == 1


def test_an_old_read_is_not_used(git: Git) -> None:
    clock = Clock(100.0)
    tree = WorkingTree(Path(), clock)
    describe(tree)
    git.files, clock.now = 3, clock.now + MAX_STATE_AGE_S + 0.1
    assert describe(tree)[1] == "changed files: 3"


def test_after_a_command_of_clio_it_is_read_again(git: Git) -> None:
    tree = get_working_tree(Path("/a project of this test"))
    assert tree is get_working_tree(Path("/a project of this test"))
    describe(tree)
    git.files = 2
    assert describe(tree)[-1] == "changed files: 0"
    invalidate_working_trees()
    assert describe(tree)[1] == "changed files: 2"


def test_typing_reads_it_from_time_to_time(git: Git) -> None:
    clock = Clock(100.0)
    tree = WorkingTree(Path(), clock)
    for _ in range(50):
        tree.read_ahead()
        describe(tree)  # waits until it is done
    assert git.asked == 1
    clock.now += MIN_READ_INTERVAL_S + 0.1
    tree.read_ahead()
    describe(tree)
    assert git.asked == 2


def test_a_slow_repository_is_read_less_often(git: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(100.0)

    def slow(project: Path, *arguments: str) -> str | None:
        clock.now += 0.5
        return git(project, *arguments)

    monkeypatch.setattr(workspace_state, "read_git", slow)
    tree = WorkingTree(Path(), clock)
    describe(tree)
    clock.now += 5
    tree.read_ahead()
    assert git.asked == 1
    clock.now += 10
    tree.read_ahead()
    describe(tree)
    assert git.asked == 2


def test_cancelling_one_waiter_does_not_cancel_the_others(git: Git) -> None:
    tree = WorkingTree(Path(), Clock(100.0))

    async def two() -> TreeState | None:
        tree.read_ahead()
        first = asyncio.ensure_future(tree.read())
        await run_loop_once()
        first.cancel()
        return await tree.read()

    state = asyncio.run(two())
    assert state is not None and state.branch == "main"


def test_an_error_of_the_read_is_an_error_of_the_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(project: Path, *arguments: str) -> str | None:
        raise RuntimeError("broken")

    monkeypatch.setattr(workspace_state, "read_git", broken)
    with pytest.raises(RuntimeError, match="broken"):
        describe(WorkingTree(Path()))


def test_changed_files_and_last_commits_of_a_real_repository(tmp_path: Path) -> None:
    root = tmp_path / "r"
    make_repository(
        root, {"a b.txt": "1\n", "old name.txt": "kept as it is\n" * 5, **{f"{n}.txt": "x\n" for n in range(9)}}
    )

    def git(*words: str) -> None:
        subprocess.run(["git", "-C", str(root), *words], check=True, capture_output=True)

    for number in range(4):
        git("commit", "--allow-empty", "-m", f"Commit number {number}")
    git("mv", "old name.txt", "new name.txt")
    (root / "a b.txt").write_text("2\n", encoding="utf-8")
    (root / "new.txt").write_text("2\n", encoding="utf-8")
    lines = describe(WorkingTree(root), with_commits=True)
    assert lines[1:5] == ["changed files: 3", "   M a b.txt", "  R  old name.txt -> new name.txt", "  ?? new.txt"]
    assert [line.split(" ", 3)[-1] for line in lines[6:]] == [f"Commit number {number}" for number in (3, 2, 1)]
    for number in range(9):
        (root / f"{number}.txt").write_text("changed\n", encoding="utf-8")
    lines = describe(WorkingTree(root))
    assert lines[1] == "changed files: 12" and len(lines) == 13 and lines[-1] == "  … 2 more"


def test_a_repository_without_commits(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "-b", "main", str(tmp_path)], check=True)
    assert describe(WorkingTree(tmp_path), with_commits=True) == ["branch: main", "changed files: 0"]
