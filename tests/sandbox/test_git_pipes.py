"""A named pipe in place of one of git's own files: git is not called, and the file is named."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from clio.readonly_git import describe_blocking_file, read_git_settings, readonly_git_command, run_git
from tests.support.wording import mentions

pytestmark = pytest.mark.skipif(os.name == "nt", reason="pipes of POSIX")


@pytest.mark.parametrize("name", ["config", "HEAD", "index", "packed-refs", "refs/heads/main", "info/exclude"])
def test_git_is_not_called_if_it_would_wait_for_a_pipe(tmp_path: Path, name: str) -> None:
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=tmp_path, check=True)
    assert describe_blocking_file(tmp_path) is None
    pipe = tmp_path / ".git" / name
    pipe.unlink(missing_ok=True)
    pipe.parent.mkdir(exist_ok=True)
    os.mkfifo(pipe)
    began = time.monotonic()
    with pytest.raises(OSError, match="not a repository clio can read"):
        read_git_settings(tmp_path)
    with pytest.raises(OSError, match="not a repository clio can read"):
        readonly_git_command(tmp_path, "rev-parse", "HEAD")
    assert run_git(tmp_path, "status", timeout_s=5) is None
    assert time.monotonic() - began < 1
    message = describe_blocking_file(tmp_path)
    assert mentions(message, f"'{pipe}'", "named pipe", "not", "move it away")


def test_a_pipe_named_git_is_no_repository(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".git")
    assert "is a named pipe" in (describe_blocking_file(tmp_path) or "")
    assert run_git(tmp_path, "status", timeout_s=5) is None
