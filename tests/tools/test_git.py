"""The git tool on real repositories."""

import asyncio
import subprocess
import sys
import time
from pathlib import Path

import pytest

from clio.errors import ToolFailed, ToolRetry
from clio.security.actions import ReadFiles, RunCommand, Workspace
from clio.tools.base import ToolOutput
from clio.tools.git import GitArgs, GitTool


@pytest.fixture(autouse=True)
def nobody_configured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "no-such-config"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "EMAIL"):
        monkeypatch.delenv(name, raising=False)


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-c", "color.ui=false", *arguments],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    return done.stdout.strip()


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.name", "Tester")
    git(folder, "config", "user.email", "tester@example.org")
    git(folder, "config", "color.ui", "always")
    (folder / "naïve file.txt").write_text("one\ntwo\nthree\n", encoding="utf-8")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def call(folder: Path, **arguments: object) -> ToolOutput:
    prepared = GitTool(Workspace(folder), 20).prepare(GitArgs(**arguments))  # type: ignore[arg-type]
    return asyncio.run(prepared.run(lambda line: None))


def test_status_names_changed_and_new_files_in_plain_text(repo: Path) -> None:
    (repo / "naïve file.txt").write_text("changed\n", encoding="utf-8")
    (repo / "new.txt").touch()
    assert call(repo, operation="status").text == '## main\n M "naïve file.txt"\n?? new.txt'


@pytest.mark.sampled(3)
@pytest.mark.parametrize("pattern", ["**/*a" * 12 + "b", "**/*" * 12 + "b", "**/*a*a*a*a*/" * 6 + "b"])
@pytest.mark.parametrize("place", [".gitignore", ".git/info/exclude", "a/.gitignore"])
def test_very_slow_patterns_have_a_time_limit(
    repo: Path, place: str, pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clio.tools.git.STATUS_LIMIT_S", 1.0)
    deep = repo.joinpath("a", *["a" * 60] * 10)
    deep.mkdir(parents=True)
    (deep / ("a" * 200)).touch()
    (repo / place).write_text(f"{pattern}\n")
    (repo / "na\xefve file.txt").write_text("changed\n", encoding="utf-8")
    began = time.monotonic()
    text = call(repo, operation="status").text
    assert time.monotonic() - began < 10
    assert ' M "na\xefve file.txt"' in text
    assert "untracked files are not listed" in text or "?? a/" in text


def test_reading_operations_are_reads_and_name_the_repository(repo: Path) -> None:
    (repo / "deep").mkdir()
    for operation in ("status", "diff", "log", "show"):
        prepared = GitTool(Workspace(repo / "deep"), 20).prepare(GitArgs(operation=operation))  # type: ignore[arg-type]
        assert prepared.action == ReadFiles(paths=(repo.resolve(),))


def test_diff_of_staged_changes_and_of_a_path(repo: Path) -> None:
    (repo / "naïve file.txt").write_text("one\n2\nthree\n", encoding="utf-8")
    (repo / "b.txt").write_text("b\n", encoding="utf-8")
    git(repo, "add", "b.txt")
    unstaged, staged = call(repo, operation="diff").text, call(repo, operation="diff", staged=True).text
    assert "-two\n+2\n" in unstaged
    assert "b.txt" not in unstaged
    assert "+b" in staged
    assert call(repo, operation="diff", staged=True, path="naïve file.txt").text == "(nothing)"
    assert "+2" in call(repo, operation="diff", revision="HEAD", path="naïve file.txt").text


def test_log_show_and_blame(repo: Path) -> None:
    (repo / "naïve file.txt").write_text("one\n2\nthree\n", encoding="utf-8")
    git(repo, "commit", "-q", "-am", "second")
    log = call(repo, operation="log").text.splitlines()
    assert [line.split(": ")[1] for line in log] == ["second (HEAD -> main)", "first"]
    assert len(call(repo, operation="log", n=1).text.splitlines()) == 1
    assert "+2" in call(repo, operation="show").text
    assert call(repo, operation="show", revision="HEAD~1:naïve file.txt").text == "one\ntwo\nthree"
    blame = call(repo, operation="blame", path="naïve file.txt", lines="2,2").text
    assert "Tester" in blame
    assert blame.endswith("2) 2")


def test_bytes_that_are_not_utf8_become_valid_text(repo: Path) -> None:
    (repo / "naïve file.txt").write_bytes(b"caf\xe9\n")
    text = call(repo, operation="diff").text
    assert "+caf\ufffd" in text
    text.encode("utf-8")


def test_commit_includes_exactly_the_given_paths(repo: Path) -> None:
    (repo / "naïve file.txt").unlink()
    (repo / "new.py").write_text("1\n", encoding="utf-8")
    (repo / "staged.txt").write_text("2\n", encoding="utf-8")
    (repo / "other.txt").write_text("3\n", encoding="utf-8")
    git(repo, "add", "staged.txt")
    output = call(repo, operation="commit", message="it's done\n\nbody", paths=("new.py", "naïve file.txt"))
    head = git(repo, "rev-parse", "HEAD")
    assert output.ok
    assert output.text.startswith(f"committed {head}\n{head[:7]}")
    assert "new.py" in output.text
    assert git(repo, "log", "-1", "--format=%B") == "it's done\n\nbody"
    committed = git(repo, "show", "--name-status", "--format=", "HEAD").split("\n")
    assert committed == ['D\t"na\\303\\257ve file.txt"', "A\tnew.py"]
    assert git(repo, "status", "--short").split("\n") == ["A  staged.txt", "?? other.txt"]


def test_commit_without_paths_includes_what_is_staged(repo: Path) -> None:
    (repo / "staged.txt").write_text("2\n", encoding="utf-8")
    (repo / "other.txt").write_text("3\n", encoding="utf-8")
    git(repo, "add", "staged.txt")
    assert call(repo, operation="commit", message="staged").ok
    assert git(repo, "status", "--short") == "?? other.txt"


def test_the_policy_sees_the_exact_command(repo: Path) -> None:
    (repo / "a b.txt").touch()
    tool = GitTool(Workspace(repo), 20)
    prepared = tool.prepare(GitArgs(operation="commit", message="it's $(x)", paths=("a b.txt",)))
    line = "git add --all -- 'a b.txt' && git commit --message 'it'\"'\"'s $(x)' -- 'a b.txt'"
    assert prepared.action == RunCommand(command=line, cwd=repo.resolve())
    assert git(repo, "status", "--short") == '?? "a b.txt"'


def test_with_nothing_staged_the_changed_files_are_listed(repo: Path) -> None:
    with pytest.raises(ToolFailed, match="the working tree is clean"):
        call(repo, operation="commit", message="m")
    (repo / "new.py").touch()
    with pytest.raises(ToolRetry, match=r"nothing is staged.*\n\?\? new.py"):
        call(repo, operation="commit", message="m")


def test_a_missing_identity_is_reported_before_anything_is_staged(repo: Path) -> None:
    git(repo, "config", "--unset", "user.name")
    git(repo, "config", "--unset", "user.email")
    git(repo, "config", "user.useConfigOnly", "true")
    (repo / "new.py").touch()
    with pytest.raises(ToolFailed, match=r"git config user\.name"):
        call(repo, operation="commit", message="m", paths=(".",))
    assert git(repo, "status", "--short") == "?? new.py"


def test_the_output_of_a_refusing_hook_is_quoted(repo: Path) -> None:
    hook = repo / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho lint is red\nexit 1\n", encoding="utf-8")
    hook.chmod(0o755)
    (repo / "new.py").touch()
    output = call(repo, operation="commit", message="m", paths=("new.py",))
    assert not output.ok
    assert "lint is red" in output.text


def test_a_merge_is_committed_completely(repo: Path) -> None:
    git(repo, "checkout", "-q", "-b", "side")
    (repo / "naïve file.txt").write_text("side\n", encoding="utf-8")
    git(repo, "commit", "-q", "-am", "side")
    git(repo, "checkout", "-q", "main")
    (repo / "naïve file.txt").write_text("main\n", encoding="utf-8")
    git(repo, "commit", "-q", "-am", "main")
    subprocess.run(["git", "merge", "side"], cwd=repo, check=False, capture_output=True)
    (repo / "naïve file.txt").write_text("both\n", encoding="utf-8")
    assert call(repo, operation="commit", message="merged", paths=("naïve file.txt",)).ok
    assert len(git(repo, "log", "-1", "--format=%P").split()) == 2


def test_branches_are_listed_created_and_switched(repo: Path) -> None:
    assert call(repo, operation="branch", action="create", name="topic").ok
    assert git(repo, "branch", "--show-current") == "topic"
    assert call(repo, operation="branch", action="switch", name="main").ok
    listed = call(repo, operation="branch").text
    assert "* main" in listed
    assert "topic" in listed
    failed = call(repo, operation="branch", action="switch", name="nowhere")
    assert not failed.ok
    assert "nowhere" in failed.text
    with pytest.raises(ToolRetry, match="needs name"):
        call(repo, operation="branch", action="create")


def test_changes_are_stashed_and_restored(repo: Path) -> None:
    (repo / "naïve file.txt").write_text("changed\n", encoding="utf-8")
    assert call(repo, operation="stash", action="push", message="later").ok
    assert git(repo, "status", "--short") == ""
    assert "later" in call(repo, operation="stash").text
    assert call(repo, operation="stash", action="pop").ok
    assert git(repo, "status", "--short").startswith("M")


def test_push_sets_the_upstream_once(repo: Path, tmp_path: Path) -> None:
    with pytest.raises(ToolFailed, match="no remote"):
        call(repo, operation="push")
    git(tmp_path, "init", "-q", "--bare", "origin.git")
    git(repo, "remote", "add", "origin", str(tmp_path / "origin.git"))
    tool = GitTool(Workspace(repo), 20)
    first = tool.prepare(GitArgs(operation="push"))
    assert first.action == RunCommand(command="git push --set-upstream origin main", cwd=repo.resolve())
    assert asyncio.run(first.run(lambda line: None)).ok
    again = tool.prepare(GitArgs(operation="push"))
    assert again.action == RunCommand(command="git push", cwd=repo.resolve())
    assert git(tmp_path / "origin.git", "rev-parse", "main") == git(repo, "rev-parse", "HEAD")
    with pytest.raises(ToolRetry, match="there are: origin"):
        call(repo, operation="push", remote="upstream")


def test_a_worktree_is_its_own_root(repo: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    git(repo, "worktree", "add", "-q", "-b", "topic", str(tree))
    (tree / "new.py").touch()
    assert call(tree, operation="status").text == "## topic\n?? new.py"
    prepared = GitTool(Workspace(tree), 20).prepare(GitArgs(operation="status"))
    assert prepared.action == ReadFiles(paths=(tree.resolve(),))
    assert call(tree, operation="commit", message="in the tree", paths=(".",)).ok
    assert git(repo, "log", "-1", "--format=%s", "topic") == "in the tree"


def test_paths_are_relative_to_the_workspace_not_the_repository(repo: Path) -> None:
    deep = repo / "deep"
    deep.mkdir()
    (deep / "x.py").touch()
    (repo / "y.py").touch()
    assert call(deep, operation="commit", message="deep", paths=(".",)).ok
    assert git(repo, "status", "--short") == "?? y.py"


def test_a_folder_without_a_repository_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ToolFailed, match="is not in a git repository"):
        call(tmp_path, operation="status")


def test_a_repository_without_commits(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    assert call(tmp_path, operation="status").text == "## No commits yet on main"
    with pytest.raises(ToolFailed, match="does not have any commits yet"):
        call(tmp_path, operation="log")


@pytest.mark.parametrize("field", ["revision", "name", "remote"])
def test_arguments_cannot_be_taken_for_options(repo: Path, field: str) -> None:
    with pytest.raises(ToolRetry, match="options cannot be given"):
        call(repo, operation="log", **{field: "--output=stolen"})
    assert not (repo / "stolen").exists()


def test_an_unknown_revision_is_reported_in_gits_words(repo: Path) -> None:
    with pytest.raises(ToolFailed, match=r"git show failed: fatal: .*nowhere"):
        call(repo, operation="show", revision="nowhere")


def test_unsupported_actions_are_refused(repo: Path) -> None:
    with pytest.raises(ToolRetry, match="git stash has no action 'switch'"):
        call(repo, operation="stash", action="switch", name="x")


def test_a_missing_git_is_reported(tmp_path: Path) -> None:
    script = f"""
import sys
from pathlib import Path
from clio.errors import ToolFailed
from clio.security.actions import Workspace
from clio.tools.git import GitArgs, GitTool
assert "git" not in sys.modules
try:
    GitTool(Workspace(Path({str(tmp_path)!r})), 5).prepare(GitArgs(operation="status"))
except ToolFailed as error:
    print(error)
"""
    env = {"PATH": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("git is not installed here")


def test_reading_does_not_write_the_index(repo: Path) -> None:
    index = repo / ".git" / "index"
    (repo / "naïve file.txt").touch()
    before = index.read_bytes()
    call(repo, operation="status")
    assert index.read_bytes() == before
