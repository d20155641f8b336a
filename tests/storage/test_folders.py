"""Private folders that git leaves alone."""

import stat
import subprocess
from pathlib import Path

from clio.storage.folders import make_folder, make_ignored_folder


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_folders_are_private_and_existing_ones_keep_their_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    make_folder(tmp_path / "a" / "b")
    make_folder(tmp_path / "a" / "b")
    assert [mode(tmp_path), mode(tmp_path / "a"), mode(tmp_path / "a" / "b")] == [0o755, 0o700, 0o700]


def test_a_new_clio_folder_is_ignored_whole(tmp_path: Path) -> None:
    root = tmp_path / ".clio"
    make_ignored_folder(root / "sessions" / "x", root)
    assert (root / ".gitignore").read_bytes() == b"*\n"
    assert list(tmp_path.rglob(".gitignore")) == [root / ".gitignore"]


def test_git_sees_nothing(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    root = tmp_path / ".clio"
    make_ignored_folder(root / "sessions", root)
    (root / "sessions" / "secret").write_text("x", encoding="utf-8")
    seen = subprocess.run(["git", "-C", tmp_path, "status", "--porcelain", "-uall"], capture_output=True, check=True)
    assert seen.stdout == b""


def test_in_a_clio_folder_of_the_user_only_the_new_folder_is_ignored(tmp_path: Path) -> None:
    root = tmp_path / ".clio"
    root.mkdir()
    make_ignored_folder(root / "sessions", root)
    assert list(tmp_path.rglob(".gitignore")) == [root / "sessions" / ".gitignore"]


def test_the_users_own_gitignore_decides(tmp_path: Path) -> None:
    root = tmp_path / ".clio"
    root.mkdir()
    (root / ".gitignore").write_text("cache/\n", encoding="utf-8")
    make_ignored_folder(root / "sessions", root)
    assert list(tmp_path.rglob(".gitignore")) == [root / ".gitignore"]
    assert (root / ".gitignore").read_bytes() == b"cache/\n"
