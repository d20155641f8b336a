"""Faulty folders, disks, locales and terminals: the turn continues and reports what is wrong."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.chat_server import ChatServer, text, tool_calls
from tests.support.harness import git, make_repository
from tests.turns.test_oneshot import environment


@pytest.fixture
def project(tmp_path: Path) -> Path:
    make_repository(tmp_path / "project", {"a.txt": "hello\n"})
    return tmp_path / "project"


def run(
    cwd: Path, server: ChatServer, *words: str, full_disk: bool = False, **env: str
) -> subprocess.CompletedProcess[bytes]:
    def no_more_bytes() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    return subprocess.run(
        [sys.executable, "-m", "clio", "-p", "go", *words],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        env=environment(server, **env),
        preexec_fn=no_more_bytes if full_disk else None,
    )


def test_a_full_disk_is_reported_and_the_turn_goes_on(project: Path) -> None:
    with ChatServer([tool_calls([("read_file", {"path": "a.txt"})]), text("It says hello.")]) as server:
        done = run(project, server, full_disk=True)
    assert (done.returncode, done.stdout) == (0, b"It says hello.\n"), done.stderr
    assert done.stderr.count(b"not saved") == 1


def test_a_read_only_project_is_reported(project: Path) -> None:
    (project / ".clio").write_text("a file where the folder should be", encoding="utf-8")
    with ChatServer([text("Fine.")]) as server:
        done = run(project, server)
    assert (done.returncode, done.stdout) == (0, b"Fine.\n"), done.stderr
    assert b"not saved" in done.stderr
    assert b"Traceback" not in done.stderr


def test_a_turn_works_without_a_repository_and_in_a_worktree(project: Path, tmp_path: Path) -> None:
    plain, tree = tmp_path / "plain", tmp_path / "tree"
    plain.mkdir()
    git(project, "worktree", "add", "--quiet", str(tree))
    for folder in (plain, tree):
        status = ("git", {"operation": "status"})
        with ChatServer([tool_calls([status]), text("Looked.")]) as server:
            done = run(folder, server)
        assert (done.returncode, done.stdout) == (0, b"Looked.\n"), done.stderr
        result = server.requests[1].body["messages"][-1]["content"]
        assert ("is not in a git repository" in result) is (folder == plain)
        context = server.requests[0].body["messages"][-1]["content"]
        assert ("branch: tree" in context) is (folder == tree)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_turn_works_in_a_locale_that_is_not_utf8(project: Path, encoding: str) -> None:
    (project / "b.txt").write_text("漢字 ü\n", encoding="utf-8")
    with ChatServer([tool_calls([("read_file", {"path": "b.txt"})]), text("Es heißt 漢字.")]) as server:
        done = run(project, server, LC_ALL="C", PYTHONIOENCODING=encoding, PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(b"Es hei")
    assert "漢字 ü" in server.requests[1].body["messages"][-1]["content"]


def test_an_invalid_configuration_names_file_and_line(project: Path) -> None:
    (project / ".clio").mkdir()
    (project / ".clio" / "config.yaml").write_text("model: x\nmax_steps: [1\n", encoding="utf-8")
    with ChatServer([]) as server:
        done = run(project, server)
    assert done.returncode == 2
    assert b"config.yaml:" in done.stderr
    assert b"Traceback" not in done.stderr


def test_an_answer_to_a_closed_pipe_ends_the_run(project: Path) -> None:
    """`clio -p … | head -1`: no traceback, and the run ends."""
    with ChatServer([text("line\n" * 5_000, chunk_size=500)]) as server:
        process = subprocess.Popen(
            [sys.executable, "-m", "clio", "-p", "go"],
            cwd=project,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(server),
        )
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        errors = process.stderr.read()
        process.wait(30)
        process.stderr.close()
    assert b"Traceback" not in errors
    assert process.returncode in (130, 141, 0)
    assert (project / ".clio" / "sessions").is_dir()
