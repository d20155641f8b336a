"""The folder of the project, and the folders of clio's own files."""

import os
from pathlib import Path

import pytest

from clio.config.paths import clio_home, display_path, project_folder, user_home


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return (tmp_path / "home").resolve()


def project(cwd: Path, home: Path, clio: Path | None = None) -> Path:
    cwd.mkdir(parents=True, exist_ok=True)
    return project_folder(cwd, clio_home=clio or home / ".clio", user_home=home)


@pytest.mark.parametrize("marker", [".git", ".clio"])
def test_the_nearest_marked_folder_is_the_project(home: Path, marker: str) -> None:
    (home / "work" / marker).mkdir(parents=True)
    assert project(home / "work", home) == home / "work"
    assert project(home / "work" / "a" / "b", home) == home / "work"
    (home / "work" / "a" / ".clio").mkdir()
    assert project(home / "work" / "a" / "b", home) == home / "work" / "a"


def test_in_a_worktree_git_is_a_file(home: Path) -> None:
    (home / "tree").mkdir()
    (home / "tree" / ".git").write_text("gitdir: elsewhere\n", encoding="utf-8")
    assert project(home / "tree" / "src", home) == home / "tree"


def test_without_a_mark_the_current_folder_is_the_project(home: Path) -> None:
    assert project(home / "a" / "b", home) == home / "a" / "b"


@pytest.mark.parametrize("marker", [".git", ".clio"])
def test_the_home_folder_is_a_project_only_as_the_current_folder(home: Path, marker: str) -> None:
    (home / marker).mkdir()
    (home.parent / ".git").mkdir()
    assert project(home / "a" / "b", home) == home / "a" / "b"
    assert project(home, home) == home


def test_the_folder_around_clios_own_is_no_project(home: Path, tmp_path: Path) -> None:
    own = tmp_path / "elsewhere" / ".clio"
    own.mkdir(parents=True)
    assert project(tmp_path / "elsewhere" / "a", home, own) == (tmp_path / "elsewhere" / "a").resolve()


@pytest.mark.skipif(os.name == "nt", reason="links need rights on Windows")
def test_links_are_resolved(home: Path) -> None:
    (home / "work" / ".git").mkdir(parents=True)
    (home / "link").symlink_to(home / "work")
    assert project(home / "link" / "src", home) == home / "work"


@pytest.mark.skipif(os.name == "nt", reason="HOME is POSIX's")
def test_the_folders_of_clios_own_files(tmp_path: Path) -> None:
    env = {"HOME": "/home/x"}
    assert clio_home(env) == Path("/home/x/.clio")
    assert clio_home(env | {"CLIO_HOME": " "}) == Path("/home/x/.clio")
    assert clio_home(env | {"CLIO_HOME": "~/c"}) == Path("/home/x/c")
    assert clio_home(env | {"CLIO_HOME": "/c"}) == Path("/c")
    assert clio_home(env | {"CLIO_HOME": "c"}) == Path.cwd() / "c"
    assert user_home({}) == Path.home()


def test_paths_are_shown_as_users_write_them() -> None:
    home, project = Path("/home/x"), Path("/home/x/work")
    assert display_path(project / ".clio" / "config.yaml", project=project, user_home=home) == ".clio/config.yaml"
    assert display_path(home / ".clio" / "config.yaml", project=None, user_home=home) == "~/.clio/config.yaml"
    assert display_path(Path("/etc/clio.yaml"), project=project, user_home=home) == str(Path("/etc/clio.yaml"))


@pytest.mark.skipif(os.name == "nt", reason="no sticky folders on Windows")
@pytest.mark.parametrize("marker", [".git", ".clio"])
def test_a_folder_shared_by_all_is_a_project_only_as_the_current_folder(home: Path, marker: str) -> None:
    shared = home / "tmp"
    (shared / marker).mkdir(parents=True)
    assert project(shared / "a" / "b", home) == shared
    shared.chmod(0o1777)
    assert project(shared / "a" / "b", home) == shared / "a" / "b"
    assert project(shared, home) == shared
    (shared / "a" / ".git").mkdir()
    assert project(shared / "a" / "b", home) == shared / "a"


def test_the_root_of_the_file_system_contains_no_other_project(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path(home.anchor)
    real = Path.exists
    monkeypatch.setattr(Path, "exists", lambda path: path == root / ".clio" or real(path))
    assert project(home / "a", home.parent / "other") == home / "a"
    assert project_folder(root, clio_home=home / ".clio", user_home=None) == root
