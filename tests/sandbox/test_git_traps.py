"""Programs named in a repository's configuration do not run when clio only reads the repository."""

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from clio.checkpoints.workspace_scan import find_git_tree
from clio.config.trust import TrustStore
from clio.context.instructions import FolderInstructions
from clio.context.summary_text import read_git_activity
from clio.context.workspace_state import WorkingTree
from clio.errors import UserError
from clio.git.commits import diff_between, diff_staged, diff_unstaged
from clio.git.repository import check_programs, list_repository_programs, read_state
from clio.git.worktrees import list_worktrees, open_worktree
from clio.memory.team.folder import get_git_author
from clio.memory.team.share import find_ignore_problem, uncommitted
from clio.readonly_git import list_filter_options
from clio.security.actions import ReadFiles, Workspace
from clio.tokens import TokenEstimator
from clio.tools.git import GitArgs, GitTool
from clio.tools.shell.jobs import JobTable
from clio.tools.shell.run_command import RunCommandArgs, RunCommandTool
from tests.support.hostile_repository import HostileRepository, plainly
from tests.support.repositories import git, make, write

READS: tuple[dict[str, object], ...] = (
    {"operation": "status"},
    {"operation": "diff"},
    {"operation": "diff", "staged": True},
    {"operation": "diff", "revision": "HEAD~1"},
    {"operation": "log"},
    {"operation": "show"},
    {"operation": "blame", "path": "a.x"},
    {"operation": "branch", "action": "list"},
    {"operation": "stash", "action": "list"},
)
SPRING = {
    "status": "core.fsmonitor,filter.trap.clean,filter.talks.process,filter.wide.clean,included,odd",
    "diff": "diff.external,diff.trap.command",
    "log -1": "gpg.program",
    "blame a.x": "diff.trap.textconv",
    "show HEAD~3": "remote",
}
"""Programs that the user's own git starts here, without the prefix "project:" of each."""


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> HostileRepository:
    return HostileRepository(tmp_path_factory.mktemp("trap"))


@pytest.fixture(scope="module")
def root(repository: HostileRepository) -> Path:
    """Return the repository as unpacked from an archive."""
    return repository.copied(repository.root.parent / "copy")


@pytest.fixture(autouse=True)
def check_no_trap_ran(repository: HostileRepository, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    repository.forget()


def test_the_traps_work(repository: HostileRepository, tmp_path: Path) -> None:
    for number, (words, expected) in enumerate(SPRING.items()):
        plainly(repository.copied(tmp_path / str(number)), *words.split())
        assert {f"project:{name}" for name in expected.split(",")} <= repository.find_run_traps(), words
        assert words != "status" or "part:filter.trap.clean" in repository.find_run_traps()
        repository.forget()


def test_queries_of_the_model_start_no_program(repository: HostileRepository, root: Path) -> None:
    tool = GitTool(Workspace(root), 20)

    async def look() -> list[str]:
        done = [await tool.prepare(GitArgs(**call)).run(lambda line: None) for call in READS]  # type: ignore[arg-type]
        return [one.text for one in done]

    seen = asyncio.run(look())
    assert "six" in seen[1]
    assert repository.find_run_traps() == set()


def test_queries_of_clio_start_no_program(repository: HostileRepository, root: Path) -> None:
    assert asyncio.run(WorkingTree(root).read()) is not None
    assert read_git_activity(root) is not None
    find_ignore_problem(root)
    uncommitted(root)
    get_git_author(root)
    tree = find_git_tree(root)
    assert tree is not None
    assert "a.x" in str(tree.list_changed())
    known = tree.list_tracked()
    tree.read_objects(known.blobs.values())
    (root / "deep" / "AGENTS.md").write_text("be kind\n", encoding="utf-8")
    below = FolderInstructions(
        root, root.parent, TokenEstimator(), start=root, redact=lambda text: text, window_tokens=100_000
    )
    assert "be kind" in below.render_for(ReadFiles(paths=(root / "deep" / "a",)))
    assert repository.find_run_traps() == set()


def test_queries_before_a_commit_start_no_program(repository: HostileRepository, root: Path) -> None:
    state = read_state(root)
    diff_staged(state)
    assert "six" in diff_unstaged(state, state.unstaged).text
    diff_between(root, "HEAD~1", "HEAD")
    list_worktrees(root)
    assert {value.key for value in list_repository_programs(root)} >= {"git filter.trap.clean", "git hook pre-commit"}
    assert repository.find_run_traps() == set()


def test_missing_objects_are_not_fetched(repository: HostileRepository, root: Path) -> None:
    with pytest.raises(UserError, match="git diff failed"):
        diff_between(root, "HEAD~3", "HEAD")
    assert repository.find_run_traps() == set()


def test_reading_what_a_command_committed_starts_nothing(repository: HostileRepository, root: Path) -> None:
    tool = RunCommandTool(Workspace(root), JobTable(), 20)

    async def go() -> None:
        await tool.prepare(RunCommandArgs(command="git commit --help > /dev/null; true")).run(lambda line: None)

    asyncio.run(go())
    assert repository.find_run_traps() == set()


def test_a_checkout_that_runs_programs_needs_trust(repository: HostileRepository, root: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"config trust"):
        open_worktree(root, "side", lambda top: check_programs(top, TrustStore(tmp_path), root, "a new worktree"))
    assert repository.find_run_traps() == set()
    assert not (root.parent / "copy-side").exists()
    TrustStore(tmp_path).add_all(root, list_repository_programs(root))
    open_worktree(root, "side", lambda top: check_programs(top, TrustStore(tmp_path), root, "a new worktree"))
    assert "project:hook post-checkout" in repository.find_run_traps()


def test_a_repository_that_git_finds_in_a_folder_of_files_starts_nothing(
    repository: HostileRepository, root: Path
) -> None:
    """The files of a bare repository can be cloned like any others, with its configuration."""
    folder = root / "bare"
    shutil.copytree(repository.root / ".git", folder)
    with (folder / "config").open("a", encoding="utf-8") as file:
        file.write("[core]\n\tbare = false\n\tworktree = ..\n")
    plainly(folder, "status")
    assert "project:filter.trap.clean" in repository.find_run_traps()
    repository.forget()
    assert read_git_activity(folder) is not None
    assert repository.find_run_traps() == set()


def test_a_filter_added_later_is_noticed(
    repository: HostileRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer is cached only as long as no file changes that could change it."""
    root = make(tmp_path / "kept", {"a.x": "one\n", ".gitattributes": "*.x filter=late\n"})
    git(root, "config", "include.path", "../late")
    os.utime(root / "a.x", (1, 1))
    monkeypatch.setattr("clio.readonly_git._MTIME_GRANULARITY_S", -10.0)  # as if the configuration were old
    assert list_filter_options(root) == list_filter_options(root) == []
    write(root, {"late": f'[filter "late"]\n\tclean = echo late >> {repository.log}; cat\n'})
    assert "filter.late.clean=" in list_filter_options(root)
    assert read_git_activity(root) is not None
    assert repository.find_run_traps() == set()


def test_one_query_to_git_is_enough_for_a_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make(tmp_path / "calm", {"a": "one\n"})
    monkeypatch.setattr("clio.readonly_git._MTIME_GRANULARITY_S", -10.0)  # as if the configuration were old
    list_filter_options(root)
    monkeypatch.setattr("clio.readonly_git._list_settings", None)
    assert list_filter_options(root) == []


@pytest.mark.parametrize("name", ["a=b", "many"])
def test_a_filter_that_cannot_be_switched_off_is_respected(tmp_path: Path, name: str) -> None:
    root = make(tmp_path / "odd", {"a": "one\n"})
    for number in range(101 if name == "many" else 1):
        with (root / ".git" / "config").open("a", encoding="utf-8") as file:
            file.write(f'[filter "{name}{number}"]\n\tclean = cat\n')
    assert read_git_activity(root) is None
    with pytest.raises(UserError, match="cannot be disabled"):
        read_state(root)
