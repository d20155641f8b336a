"""Files named in a repository's configuration: clio opens no pipe or device there and shows no file from outside."""

import os
import subprocess
from pathlib import Path

import pytest

from clio.errors import ToolFailed
from clio.readonly_git import find_blocking_file
from clio.security.git_safety import find_risky_entries
from clio.tools.git import open_repository


def make_repository(folder: Path, settings: str) -> Path:
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    config = folder / ".git" / "config"
    config.write_text(config.read_text() + settings)
    return folder


@pytest.mark.parametrize("key", ["include.path", "core.excludesFile", "diff.orderFile", "blame.ignoreRevsFile"])
def test_a_pipe_named_by_a_setting_is_not_opened(key: str, tmp_path: Path) -> None:
    section, name = key.split(".")
    repository = make_repository(tmp_path / "project", f"[{section}]\n\t{name} = {tmp_path}/pipe\n")
    os.mkfifo(tmp_path / "pipe")
    assert find_blocking_file(repository) == tmp_path / "pipe"
    with pytest.raises(ToolFailed):
        open_repository(repository)


def test_a_device_behind_two_includes_is_not_opened(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "project", "[include]\n\tpath = one\n")
    (repository / ".git" / "one").write_text("[include]\n\tpath = one\n\tpath = two\n")
    (repository / ".git" / "two").write_text("[diff]\n\torderFile = /dev/zero\n")
    assert find_blocking_file(repository) == Path("/dev/zero")


def test_the_null_device_and_ordinary_files_are_permitted(tmp_path: Path) -> None:
    (tmp_path / "ignored").write_text("*.log\n")
    settings = f"[core]\n\thooksPath = /dev/null\n\texcludesFile = {tmp_path}/ignored\n"
    assert find_blocking_file(make_repository(tmp_path / "project", settings)) is None


@pytest.mark.parametrize("key", ["blame.ignoreRevsFile", "mailmap.file", "diff.orderFile"])
def test_a_file_outside_that_git_would_read_is_named(key: str, tmp_path: Path) -> None:
    section, name = key.split(".")
    (tmp_path / "secret.txt").write_text("secret\n")
    repository = make_repository(tmp_path / "project", f"[{section}]\n\t{name} = {tmp_path}/secret.txt\n")
    assert tmp_path / "secret.txt" in [found.outside for found in find_risky_entries(repository, repository)]
