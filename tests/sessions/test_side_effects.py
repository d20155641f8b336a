"""The side effects of a tool call, reported by the call or read from a session that does not record them."""

import asyncio
import json
import subprocess
from pathlib import Path

import pytest

from clio.agent.tool_runner import collect_side_effects
from clio.messages import ChangedFile, Commit, SideEffects, ToolCall, ToolMessage
from clio.security.actions import FileChange, Workspace
from clio.sessions.side_effects import find_commit_lines, find_side_effects, runs_commit
from clio.tools.base import ToolOutput
from clio.tools.git import GitArgs, GitTool
from clio.tools.shell.jobs import JobTable
from clio.tools.shell.run_command import RunCommandArgs, RunCommandTool
from tests.support.rows import each_row

COMMITTED = "[main 1a2b3c4] fix: add adds\n 1 file changed, 1 insertion(+)"


def effects_of(name: str, content: str = "", *, ok: bool = True, **arguments: str) -> SideEffects:
    call = ToolCall(id="c", name=name, arguments=json.dumps(arguments))
    return find_side_effects(call, ToolMessage(tool_call_id="c", name=name, content=content, ok=ok))


@each_row(
    "line",
    [
        "git commit -m x",
        "cd sub && git add . && git -c user.name=T commit -qm 'a; b'",
        "GIT_AUTHOR_DATE=now git commit --amend",
        "git -C /some/where cherry-pick abc",
        "make check\ngit commit -F - <<'E'\nwords\nE",
        "if true; then git commit -m x; fi",
        "/usr/bin/git revert HEAD",
        "(git commit -m x)",
    ],
)
def test_command_lines_that_commit(line: str) -> None:
    assert runs_commit(line)


@each_row(
    "line",
    [
        "git log --grep commit",
        "echo git commit",
        "grep 'git commit' README.md",
        "git show 1a2b3c4",
        "git diff",
        "gitcommit",
        "",
    ],
)
def test_command_lines_that_do_not_commit(line: str) -> None:
    assert not runs_commit(line)


def test_what_git_prints_of_a_commit_and_nothing_else() -> None:
    output = (
        "[main (root-commit) 1a2b3c4] feat: one\n[detached HEAD deadbeef01] two: ü\n[feature/x-1 0000000] three\n"
        "[deadbeef] no branch\n deadbeef in a line\n[1/4] cafe123 step\n[main abc] too short\n[ok abcdef0]\n"
    )
    assert find_commit_lines(output) == [("1a2b3c4", "feat: one"), ("deadbeef01", "two: ü"), ("0000000", "three")]


def test_hexadecimal_words_are_not_commits() -> None:
    assert effects_of("run_command", COMMITTED, command="cat log.txt").commits == ()
    assert effects_of("read_file", COMMITTED, path="log.txt") == SideEffects(read=("log.txt",))
    assert effects_of("run_command", "deadbeef cafebabe", command="git commit -m x").commits == ()
    assert effects_of("run_command", COMMITTED, command="git commit -am x").commits == (
        Commit(hash="1a2b3c4", subject="fix: add adds"),
    )


def test_reads_are_not_writes_and_failures_have_no_side_effects() -> None:
    assert effects_of("read_file", path="a.py") == SideEffects(read=("a.py",))
    assert effects_of("write_file", path="a.py") == SideEffects(changed=(ChangedFile(path="a.py", kind="update"),))
    assert effects_of("write_file", ok=False, path="a.py") == SideEffects()
    assert effects_of("search_text", path="a.py") == SideEffects()
    assert effects_of("file_operations", operation="delete_file", path="a.py").changed[0].kind == "delete"
    assert effects_of("file_operations", operation="read_file", path="a.py") == SideEffects(read=("a.py",))
    moved = effects_of("file_operations", operation="rename_file", old_path="a", new_path="b").changed
    assert moved == (ChangedFile(path="a", kind="move", moved_to="b"),)


@each_row(
    ("content", "ok", "code"),
    [
        ("[exit 3 in 0.2 s]\nx", False, 3),
        ("x\nProcess exited with code 2", False, 2),
        ("Exit code: 0\nx", True, 0),
        ("the words exit 7 in a line\nmore", True, 0),
        ("no word of it", False, 1),
    ],
)
def test_exit_codes(content: str, ok: bool, code: int) -> None:
    assert effects_of("bash", content, ok=ok, command="make") == SideEffects(command="make", exit_code=code)


def test_arguments_that_are_not_an_object() -> None:
    for arguments in ("", "[]", '"x"', "{", '{"path": 3}'):
        call = ToolCall(id="c", name="write_file", arguments=arguments)
        assert find_side_effects(call, ToolMessage(tool_call_id="c", content="")) == SideEffects()


def test_side_effects_recorded_by_the_tool_are_used() -> None:
    call = ToolCall(id="c", name="write_file", arguments='{"path": "a"}')
    assert (
        find_side_effects(call, ToolMessage(tool_call_id="c", content="", side_effects=SideEffects())) == SideEffects()
    )


def test_recorded_side_effects_have_displayed_paths_and_no_secrets(tmp_path: Path) -> None:
    change = FileChange(path=tmp_path / "a", kind="move", moved_to=tmp_path / "b")
    effects = SideEffects(command="login s3cret", exit_code=0, question="is it s3cret?", answer="s3cret", read=("c",))
    output = ToolOutput(text="", summary="", changed=(change,), side_effects=effects)
    assert collect_side_effects(
        output, Workspace(tmp_path).display, lambda text: text.replace("s3cret", "*")
    ) == SideEffects(
        changed=(ChangedFile(path="a", kind="move", moved_to="b"),),
        read=("c",),
        command="login *",
        exit_code=0,
        question="is it *?",
        answer="*",
    )


def git(project: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=project, check=True, capture_output=True, text=True, encoding="utf-8")
    return done.stdout.strip()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    git(tmp_path, "config", "user.email", "dev@example.com")
    git(tmp_path, "config", "user.name", "Dev")
    (tmp_path / "a.txt").write_text("one\n", encoding="utf-8")
    git(tmp_path, "add", "a.txt")
    git(tmp_path, "commit", "--quiet", "-m", "first")
    return tmp_path


def run(project: Path, command: str) -> SideEffects:
    tool = RunCommandTool(Workspace(project), JobTable(), 20)
    output = asyncio.run(tool.prepare(RunCommandArgs(command=command)).run(lambda line: None))
    assert output.side_effects is not None
    return output.side_effects


@pytest.mark.parametrize("quiet", ["", "-q "])
def test_commits_of_a_command_with_and_without_output(project: Path, quiet: str) -> None:
    effects = run(project, f"echo two > a.txt && git commit {quiet}-am 'feat: ü'")
    head = git(project, "rev-parse", "HEAD")
    found = [commit for commit in effects.commits if head.strip().startswith(commit.hash)]
    assert [commit.subject for commit in found] == ["feat: ü"]
    assert effects.exit_code == 0


def test_a_command_that_fails_or_commits_nothing(project: Path) -> None:
    assert run(project, "exit 3") == SideEffects(command="exit 3", exit_code=3)
    assert run(project, "git log -1; echo git commit").commits == ()
    killed = run(project, "kill -9 $$")
    assert (killed.command, killed.exit_code) == ("kill -9 $$", None)


def test_commits_of_the_git_tool(project: Path) -> None:
    (project / "a.txt").write_text("three\n", encoding="utf-8")
    prepared = GitTool(Workspace(project), 20).prepare(
        GitArgs(operation="commit", message="feat: three\n\nwhy", paths=(".",))
    )
    output = asyncio.run(prepared.run(lambda line: None))
    assert output.side_effects is not None
    (commit,) = output.side_effects.commits
    assert git(project, "rev-parse", "HEAD").startswith(commit.hash)
    assert commit.subject == "feat: three"
