"""Private folders that git ignores."""

import errno
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from clio.storage import files
from clio.storage.files import make_folder, make_ignored_folder, write_atomic


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_folders_are_private_and_existing_ones_keep_their_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    make_folder(tmp_path / "a" / "b")
    make_folder(tmp_path / "a" / "b")
    assert [mode(tmp_path), mode(tmp_path / "a"), mode(tmp_path / "a" / "b")] == [0o755, 0o700, 0o700]


def test_a_new_clio_folder_is_ignored_completely(tmp_path: Path) -> None:
    root = tmp_path / ".clio"
    make_ignored_folder(root / "sessions" / "x", root)
    assert (root / ".gitignore").read_bytes() == b"*\n"
    assert list(tmp_path.rglob(".gitignore")) == [root / ".gitignore"]


def test_git_reports_nothing_in_an_ignored_folder(tmp_path: Path) -> None:
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


def test_the_folder_never_exists_without_its_gitignore(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If clio were killed at that moment, git would see everything that the next clio writes there."""
    root = tmp_path / ".clio"

    def write(path: Path, data: bytes, mode: int, *, durable: bool) -> None:
        assert not root.exists()
        write_atomic(path, data, mode, durable=durable)

    monkeypatch.setattr(files, "write_atomic", write)
    make_ignored_folder(root / "sessions", root)
    assert sorted(path.name for path in tmp_path.rglob("*")) == [".clio", ".gitignore", "sessions"]


def test_concurrent_processes_create_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / ".clio"

    def write(path: Path, data: bytes, mode: int, *, durable: bool) -> None:
        write_atomic(path, data, mode, durable=durable)
        root.mkdir()
        (root / ".gitignore").write_bytes(b"theirs\n")

    monkeypatch.setattr(files, "write_atomic", write)
    make_ignored_folder(root / "sessions", root)
    assert sorted(path.name for path in tmp_path.rglob("*")) == [".clio", ".gitignore", "sessions"]
    assert (root / ".gitignore").read_bytes() == b"theirs\n"


def test_on_a_full_disk_the_folder_is_named_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, data: bytes, mode: int, *, durable: bool) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(files, "write_atomic", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*/\.clio'$"):
        make_ignored_folder(tmp_path / ".clio" / "sessions", tmp_path / ".clio")
    assert list(tmp_path.iterdir()) == []


def test_leftovers_of_a_killed_process_are_removed_by_the_next(tmp_path: Path) -> None:
    left, foreign = tmp_path / ".clio.0123abcd.tmp", tmp_path / ".clio.notes.tmp"
    for folder in (left, foreign):
        folder.mkdir()
        (folder / ".gitignore").write_bytes(b"*\n")
    (left / ".gitignore.0123456789ab.tmp").write_bytes(b"")
    kept = tmp_path / ".clio.89abcdef.tmp"
    kept.mkdir()
    (kept / ".gitignore").write_bytes(b"*\n")
    (kept / "mine").write_bytes(b"mine\n")
    make_ignored_folder(tmp_path / ".clio" / "sessions", tmp_path / ".clio")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".clio", kept.name, foreign.name]
    assert sorted(path.name for path in kept.iterdir()) == [".gitignore", "mine"]


@pytest.mark.skipif(sys.platform == "win32", reason="symbolic links need a privilege there")
def test_a_link_named_like_a_leftover_deletes_nothing(tmp_path: Path) -> None:
    outside, project = tmp_path / "outside", tmp_path / "project"
    for folder in (outside, project):
        folder.mkdir()
    (outside / ".gitignore").write_bytes(b"build/\n")
    (project / ".clio.0123abcd.tmp").symlink_to(outside, target_is_directory=True)
    make_ignored_folder(project / ".clio" / "sessions", project / ".clio")
    assert (outside / ".gitignore").read_bytes() == b"build/\n"
