"""Worktrees next to a checkout: created, found again, distinguished from others', removed without losing anything."""

import os
from pathlib import Path

import pytest

from clio.config.layers import load_config
from clio.config.options import Options
from clio.config.project_links import find_worktree_link
from clio.config.trust import TrustStore, trust_project
from clio.errors import UsageError, UserError
from clio.git.agent_worktrees import merge_agent_work, read_agent_work, remove_unchanged_worktree
from clio.git.worktrees import (
    check_worktree_name,
    count_own_commits,
    count_worktree_changes,
    list_worktrees,
    open_worktree,
    remove_worktree,
)
from clio.messages import UserMessage
from clio.sessions.store import SessionStore
from tests.support.repositories import git, make, write
from tests.support.rows import each_row


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make(tmp_path / "shop", {"a.py": "one\n", "sub/b.py": "one\n", ".gitignore": ".clio/\n"})


def test_a_worktree_is_created_beside_the_checkout_and_reused(repo: Path) -> None:
    assert open_worktree(repo, "fix") == (repo.parent / "shop-fix", True)
    assert git(repo.parent / "shop-fix", "branch", "--show-current") == "clio/fix"
    assert open_worktree(repo, "fix") == (repo.parent / "shop-fix", False)
    assert open_worktree(repo.parent / "shop-fix", "two") == (repo.parent / "shop-two", True)  # from one to another
    assert [one.name for one in list_worktrees(repo)] == ["fix", "two"]
    assert git(repo, "status", "--short") == ""


def test_it_starts_in_the_same_folder(repo: Path) -> None:
    assert open_worktree(repo / "sub", "fix")[0] == repo.parent / "shop-fix" / "sub"
    write(repo, {"new/x": "x"})
    assert open_worktree(repo / "new", "fix")[0] == repo.parent / "shop-fix"


def test_an_existing_branch_is_used(repo: Path) -> None:
    git(repo, "branch", "clio/fix")
    assert open_worktree(repo, "fix")[1]
    git(repo, "branch", "clio/other")
    git(repo, "switch", "--quiet", "clio/other")
    with pytest.raises(UserError, match=r"clio/other is already checked out in .*shop"):
        open_worktree(repo, "other")


@each_row("name", ["", "..", "a/b", "../x", "-x", "a..b", "a b", "x.lock", "a.", ".hidden", "ü", "a" * 70])
def test_a_name_must_be_valid_for_a_folder_and_a_branch(name: str) -> None:
    with pytest.raises(UsageError, match="is not a valid name for a worktree"):
        check_worktree_name(name)


def test_an_existing_file_at_the_path_is_not_changed(repo: Path) -> None:
    (repo.parent / "shop-fix").mkdir()
    with pytest.raises(UserError, match=r"shop-fix.*not a worktree"):
        open_worktree(repo, "fix")


def test_without_a_commit_or_a_repository_the_reason_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not in a git repository"):
        open_worktree(tmp_path, "fix")
    with pytest.raises(UserError, match="needs a commit"):
        open_worktree(make(tmp_path / "empty"), "fix")


def test_a_bare_repository_has_no_worktrees(repo: Path, tmp_path: Path) -> None:
    git(repo, "clone", "--quiet", "--bare", str(repo), str(tmp_path / "bare.git"))
    git(tmp_path / "bare.git", "worktree", "add", "--quiet", str(tmp_path / "side"), "main")
    with pytest.raises(UserError, match="is a bare repository"):
        open_worktree(tmp_path / "side", "fix")


def test_removing_refuses_to_lose_work_and_keeps_the_branch(repo: Path) -> None:
    path, _ = open_worktree(repo, "fix")
    write(path, {"a.py": "two\n", "new": "x"})
    [fix] = list_worktrees(repo)
    assert count_worktree_changes(fix) == 2
    with pytest.raises(UserError, match="has 2 uncommitted files"):
        remove_worktree(repo, "fix")
    git(path, "add", "--all")
    git(path, "commit", "--quiet", "-m", "two")
    with pytest.raises(UserError, match="you are in the worktree 'fix'"):
        remove_worktree(path, "fix")
    git(repo, "worktree", "lock", "--reason", "on a stick", str(path))
    with pytest.raises(UserError, match=r"is locked \(on a stick\)"):
        remove_worktree(repo, "fix")
    git(repo, "worktree", "unlock", str(path))
    removed = remove_worktree(repo, "fix")
    assert not path.exists()
    assert count_own_commits(repo, removed) == 1
    assert git(repo, "log", "-1", "--format=%s", "clio/fix") == "two"
    with pytest.raises(UserError, match=r"no worktree 'fix'.*none"):
        remove_worktree(repo, "fix")


def test_a_missing_folder_is_reported_and_can_be_removed(repo: Path) -> None:
    path, _ = open_worktree(repo, "fix")
    path.rename(repo.parent / "moved")
    with pytest.raises(UserError, match=r"missing.*clio worktree remove fix"):
        open_worktree(repo, "fix")
    assert list_worktrees(repo)[0].missing
    remove_worktree(repo, "fix")
    assert list_worktrees(repo) == []


def test_worktrees_made_by_hand_are_not_listed(repo: Path) -> None:
    git(repo, "worktree", "add", "--quiet", str(repo.parent / "shop-hand"))
    assert list_worktrees(repo) == []
    assert find_worktree_link(repo.parent / "shop-hand") is None
    with pytest.raises(UserError, match="there is no worktree 'hand'"):
        remove_worktree(repo, "hand")


def test_a_link_without_a_link_back_is_ignored(repo: Path, tmp_path: Path) -> None:
    path, _ = open_worktree(repo, "fix")
    found = find_worktree_link(path / "sub")
    assert found is not None
    assert (found.worktree, found.main) == (path, repo)
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / ".git").write_bytes((path / ".git").read_bytes())
    assert find_worktree_link(copy) is None
    assert find_worktree_link(repo) is None
    assert find_worktree_link(tmp_path) is None


def test_settings_trust_and_sessions_are_those_of_the_checkout(repo: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    env = {"HOME": str(home), "PATH": os.environ["PATH"]}
    write(repo, {".clio/config.yaml": "allow:\n  - make test\nmax_steps: 7\n"})
    trust_project(load_config(Options(cwd=repo), env))
    path, _ = open_worktree(repo, "fix")
    write(path, {".clio/config.yaml": "approve: all\n"})  # a branch brings no settings of its own
    loaded = load_config(Options(cwd=path / "sub"), env)
    assert (loaded.project, loaded.main_project, loaded.start_folder) == (path, repo, path / "sub")
    assert (loaded.config.allow, loaded.config.max_steps, loaded.config.approve) == (("make test",), 7, "ask")
    assert TrustStore(loaded.home).fingerprints(repo)
    assert not TrustStore(loaded.home).fingerprints(path)


def test_a_project_in_a_subfolder_is_the_same_there(repo: Path, tmp_path: Path) -> None:
    (repo / "sub/.clio").mkdir()
    path, _ = open_worktree(repo / "sub", "fix")
    loaded = load_config(Options(cwd=path), {"HOME": str(tmp_path / "home")})
    assert (loaded.project, loaded.main_project) == (repo.parent / "shop-fix/sub", repo / "sub")


def test_the_latest_session_is_one_that_began_in_this_worktree(repo: Path) -> None:
    folder, side = repo / ".clio/sessions", repo.parent / "shop-fix"
    for place in (repo, side):
        session = SessionStore(folder).new(place)
        session.append(UserMessage(content=f"in {place.name}"))
        session.close()
    here, there = SessionStore(folder, repo), SessionStore(folder, side, only_here=True)
    assert [store.read(store.latest() or "")[0].content for store in (here, there)] == ["in shop", "in shop-fix"]
    here.delete(here.latest() or "")
    assert here.latest() is None  # sessions of the worktree are not continued here
    assert SessionStore(folder).latest() == there.latest()


def test_an_agents_change_of_the_same_length_in_the_same_second_is_merged(repo: Path) -> None:
    folder, _ = open_worktree(repo, "agent-1")
    index = Path(git(folder, "rev-parse", "--path-format=absolute", "--git-path", "index"))
    changed = folder / "a.py"
    # git compares whole seconds and the size; if the index is of the same second, it reads the file.
    seconds = int(changed.stat().st_mtime)
    changed.write_text("two\n", encoding="utf-8")
    for path in (changed, index):
        os.utime(path, (seconds, seconds))
    assert read_agent_work(repo, 1).files == ("a.py",)
    assert not remove_unchanged_worktree(repo, 1)
    merge_agent_work(repo, 1)
    assert (repo / "a.py").read_text(encoding="utf-8") == "two\n"


def test_a_repository_made_by_an_agent_is_not_lost_in_a_merge(repo: Path) -> None:
    folder, _ = open_worktree(repo, "agent-1")
    make(folder / "inner", {"precious.txt": "work\n"})
    write(folder, {"a.py": "two\n"})
    with pytest.raises(UserError, match="repository of its own"):
        merge_agent_work(repo, 1)
    assert (folder / "inner" / "precious.txt").read_text(encoding="utf-8") == "work\n"
    assert (repo / "a.py").read_text(encoding="utf-8") == "one\n"


def test_text_that_looks_like_an_embedded_repository_is_merged(repo: Path) -> None:
    folder, _ = open_worktree(repo, "agent-1")
    write(folder, {"a.py": "new file mode 160000\nindex 1234567..abcdefa 160000\n"})
    merge_agent_work(repo, 1)
    assert "160000" in (repo / "a.py").read_text(encoding="utf-8")
