"""The state of a working tree and commits from it, in real repositories."""

import asyncio
import os
import stat
from pathlib import Path

import pytest

from clio.errors import UserError
from clio.git import commits
from clio.git.commits import (
    CommitResult,
    diff_staged,
    diff_unstaged,
    list_subjects,
    load_saved_message,
    read_prepared_message,
    read_template,
)
from clio.git.repository import ChangedFile, RepositoryState, check_identity, read_state, run_git
from tests.support.repositories import git, make, write
from tests.support.waiting import run_loop_once, wait_until, wait_until_async


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make(tmp_path / "shop", {"a.py": "one\n", "b.py": "one\n", "sub/c.py": "one\n"})


def commit(state: RepositoryState, files: list[ChangedFile], message: str, trailer: str = "") -> CommitResult:
    return asyncio.run(commits.create_commit(state, files, message, trailer))


def hook(repo: Path, name: str, script: str) -> None:
    path = repo / ".git" / "hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def only(state: RepositoryState, *paths: str) -> list[ChangedFile]:
    return [file for file in state.unstaged if file.path in paths]


@pytest.mark.fast
def test_every_kind_of_change_is_distinguished(repo: Path) -> None:
    write(repo, {"a.py": "two\n", "new name.py": "new\n", "b.py": "two\n", "sub/ü.txt": "x\n"})
    (repo / "sub/c.py").unlink()
    git(repo, "add", "b.py")
    write(repo, {"b.py": "three\n"})
    state = read_state(repo / "sub")
    assert (state.root, state.prefix, state.branch, state.has_no_commit, state.operation) == (
        repo,
        "sub/",
        "main",
        False,
        "",
    )
    seen = {file.path: (file.staged, file.worked, file.tracked) for file in state.files}
    assert seen == {
        "a.py": ("", "M", True),
        "b.py": ("M", "M", True),
        "sub/c.py": ("", "D", True),
        "new name.py": ("", "A", False),
        "sub/ü.txt": ("", "A", False),
    }
    assert [file.path for file in state.staged] == ["b.py"]
    assert {file.path for file in state.unstaged} == {"sub/c.py", "sub/ü.txt"}
    assert [file.path for file in state.tracked] == ["sub/c.py"]


def test_a_change_within_the_second_of_a_commit_is_detected(repo: Path) -> None:
    """git trusts size and times unless the index is as new as the file; the copy of the index that clio reads is."""
    git(repo, "config", "core.trustctime", "false")
    path = repo / "a.py"
    before = path.stat()
    write(repo, {"a.py": "two\n"})
    for one in (path, repo / ".git/index"):
        os.utime(one, ns=(before.st_atime_ns, before.st_mtime_ns))
    state = read_state(repo)
    assert [count.path for count in diff_unstaged(state, list(state.unstaged)).counts] == ["a.py"]


def test_a_renamed_file_keeps_its_new_name(repo: Path) -> None:
    git(repo, "mv", "a.py", "z.py")
    [file] = read_state(repo).files
    assert (file.path, file.renamed_from, file.staged) == ("z.py", "a.py", "R")
    assert [count.path for count in diff_staged(read_state(repo)).counts] == ["z.py"]


def test_chosen_files_are_committed_and_all_others_are_unchanged(repo: Path) -> None:
    write(repo, {"a.py": "two\n", "b.py": "two\n", "new.py": "new\n", "other.py": "new\n"})
    (repo / "sub/c.py").unlink()
    state = read_state(repo)
    index = (repo / ".git/index").read_bytes()
    files = only(state, "a.py", "new.py", "sub/c.py")
    difference = diff_unstaged(state, files)
    assert {count.path: (count.added, count.removed) for count in difference.counts} == {
        "a.py": (1, 1),
        "new.py": (1, 0),
        "sub/c.py": (0, 1),
    }
    assert (repo / ".git/index").read_bytes() == index  # reading changes nothing
    made = commit(state, files, "change: three\n\n# not a comment")
    assert made.subject == "change: three"
    assert git(repo, "show", "--name-only", "--format=%B", "HEAD").split("\n") == [
        "change: three",
        "",
        "# not a comment",
        "",
        "",
        "a.py",
        "new.py",
        "sub/c.py",
    ]
    assert git(repo, "status", "--short").splitlines() == [" M b.py", "?? other.py"]
    assert load_saved_message(repo) == ""


def test_what_is_staged_is_committed_as_it_is_staged(repo: Path) -> None:
    write(repo, {"a.py": "staged\n"})
    git(repo, "add", "a.py")
    write(repo, {"a.py": "later\n", "b.py": "later\n"})
    state = read_state(repo)
    assert "+staged" in diff_staged(state).text
    commit(state, [], "a")
    assert git(repo, "show", "HEAD:a.py") == "staged"
    assert git(repo, "status", "--short").splitlines() == [" M a.py", " M b.py"]


def test_names_that_look_like_patterns_are_literal(tmp_path: Path) -> None:
    repo = make(tmp_path / "shop", {"a.py": "1\n", "[ab].py": "1\n", "-x": "1\n", ":(top)y": "1\n"})
    write(repo, {"a.py": "2\n", "[ab].py": "2\n", "-x": "2\n", ":(top)y": "2\n"})
    state = read_state(repo)
    files = only(state, "[ab].py", "-x", ":(top)y")
    assert {count.path for count in diff_unstaged(state, files).counts} == {"[ab].py", "-x", ":(top)y"}
    assert commit(state, files, "odd names").hash
    assert git(repo, "status", "--short") == " M a.py"


def test_a_failing_hook_changes_nothing(repo: Path) -> None:
    hook(repo, "pre-commit", "echo lint: a.py is bad >&2; exit 1")
    write(repo, {"a.py": "two\n", "new.py": "new\n"})
    before = git(repo, "status", "--short")
    state = read_state(repo)
    made = commit(state, only(state, "a.py", "new.py"), "say: it\n\nwith a body")
    assert (made.hash, made.output) == ("", "lint: a.py is bad")
    assert git(repo, "status", "--short") == before
    assert load_saved_message(repo) == "say: it\n\nwith a body"
    hook(repo, "pre-commit", 'git diff --cached --name-only -- "*.py" > ../seen')
    assert commit(state, only(state, "a.py", "new.py"), load_saved_message(repo)).subject == "say: it"
    assert (repo.parent / "seen").read_text(encoding="utf-8") == "a.py\nnew.py\n"  # pathspecs work in hooks
    assert load_saved_message(repo) == ""


def test_a_hook_may_change_the_message(repo: Path) -> None:
    hook(repo, "commit-msg", 'echo "Checked: yes" >> "$1"')
    write(repo, {"a.py": "two\n"})
    state = read_state(repo)
    commit(state, only(state, "a.py"), "a", "Assisted-by: clio")
    assert git(repo, "log", "-1", "--format=%B").splitlines() == ["a", "", "Assisted-by: clio", "Checked: yes"]


@pytest.mark.parametrize("known", [True, False], ids=["running", "starting"])
def test_a_commit_that_is_stopped_ends_git_and_keeps_the_message(repo: Path, known: bool) -> None:
    hook(repo, "pre-commit", "touch ../runs; sleep 60")
    write(repo, {"new.py": "new\n"})
    state = read_state(repo)

    async def stop() -> None:
        task = asyncio.create_task(commits.create_commit(state, only(state, "new.py"), "slow"))
        await run_loop_once(2)  # until git has just started

        def is_running() -> bool:
            return (repo.parent / "runs").exists()

        if known:
            await wait_until_async(is_running)
        else:  # the loop is stopped: git runs, and asyncio does not know of it yet
            wait_until(is_running)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(stop())
    assert git(repo, "status", "--short") == "?? new.py"
    assert load_saved_message(repo) == "slow"
    assert not (repo / ".git/index.lock").exists()


def test_the_first_commit(tmp_path: Path) -> None:
    repo = make(tmp_path / "shop")
    write(repo, {"a.py": "one\n"})
    state = read_state(repo)
    assert (state.has_no_commit, state.branch, list_subjects(repo)) == (True, "main", [])
    assert [count.path for count in diff_unstaged(state, list(state.unstaged)).counts] == ["a.py"]
    assert commit(state, list(state.unstaged), "begin").subject == "begin"


def test_a_merge_is_recognized_with_its_conflicts_and_message(repo: Path) -> None:
    git(repo, "switch", "--quiet", "-c", "side")
    write(repo, {"a.py": "side\n"})
    git(repo, "commit", "--quiet", "-am", "side")
    git(repo, "switch", "--quiet", "main")
    write(repo, {"a.py": "main\n"})
    git(repo, "commit", "--quiet", "-am", "main")
    with pytest.raises(Exception, match="returned non-zero"):
        git(repo, "merge", "side")
    state = read_state(repo)
    assert (state.operation, [file.path for file in state.conflicts]) == ("merge", ["a.py"])
    assert read_prepared_message(state) == "Merge branch 'side'"
    write(repo, {"a.py": "both\n"})
    git(repo, "add", "a.py")
    assert commit(read_state(repo), [], "Merge branch 'side'").hash
    assert len(git(repo, "log", "-1", "--format=%P").split()) == 2


def test_a_detached_head_and_a_rebase_are_recognized(repo: Path) -> None:
    git(repo, "checkout", "--quiet", "--detach")
    assert read_state(repo).branch == ""
    (repo / ".git/rebase-merge").mkdir()
    assert read_state(repo).operation == "rebase"


def test_changes_only_inside_a_submodule_are_not_ours(repo: Path, tmp_path: Path) -> None:
    lib = make(tmp_path / "lib", {"x.py": "one\n"})
    git(repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(lib), "lib")
    git(repo, "commit", "--quiet", "-m", "lib")
    write(repo, {"lib/x.py": "two\n"})
    assert read_state(repo).files == ()  # git has not been allowed to read the submodule
    state = read_state(repo, filters=True)
    assert [file.path for file in state.files if file.is_submodule_dirty] == ["lib"]
    assert state.unstaged == ()
    git(repo / "lib", "-c", "user.name=you", "-c", "user.email=you@localhost", "commit", "--quiet", "-am", "two")
    state = read_state(repo)
    assert commit(state, list(state.unstaged), "newer lib").hash
    assert git(repo, "status", "--short") == ""


def test_the_repositorys_template_is_read_without_its_comments(repo: Path) -> None:
    assert read_template(repo) == ""
    write(repo, {".template": "# how to\n\nWhy:\n"})
    git(repo, "config", "commit.template", ".template")
    assert read_template(repo) == "Why:"


def test_a_commit_needs_an_author_identity(repo: Path) -> None:
    check_identity(repo)
    for name in ("user.name", "user.email"):
        git(repo, "config", "--unset", name)
    git(repo, "config", "user.useConfigOnly", "true")
    with pytest.raises(UserError, match="no name and email for commits"):
        check_identity(repo)


def test_a_folder_without_a_working_tree_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not in a git repository; `git init`"):
        read_state(tmp_path)
    git(tmp_path, "init", "--quiet", "--bare", "bare")
    with pytest.raises(UserError, match="without a working tree"):
        read_state(tmp_path / "bare")


def test_variables_that_redirect_git_are_refused(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", "/elsewhere/.git")
    with pytest.raises(UserError, match=r"GIT_DIR is set in the environment.*env -u GIT_DIR clio"):
        read_state(repo)


def test_pathspec_variables_are_ignored(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_GLOB_PATHSPECS", "1")
    write(repo, {"a.py": "two\n"})
    state = read_state(repo)
    assert commit(state, list(state.unstaged), "a").hash


def test_a_missing_git_is_reported(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.fspath(repo))
    with pytest.raises(UserError, match="git is not installed"):
        run_git(repo, "status")
