"""Atomic writes of whole files: afterwards there is the old file or the new one."""

import resource
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from clio.storage.files import write_atomic

WRITE_FOREVER = """
import sys
from pathlib import Path
from clio.storage.files import write_atomic
path = Path(sys.argv[1])
for number in range(100_000):
    write_atomic(path, bytes([65 + number % 2]) * 1_000_000)
    print(number, flush=True)
"""
WRITE_TOO_MUCH = """
import sys
from pathlib import Path
from clio.storage.files import write_atomic
try:
    write_atomic(Path(sys.argv[1]), b"x" * 10_000)
except OSError as error:
    print(error.strerror)
"""


def forbid_large_files() -> None:
    """Limit files to 4,000 bytes in the child process; more is an error, not a signal."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))


def test_replaces_with_private_mode(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("old", encoding="utf-8")
    path.chmod(0o644)
    write_atomic(path, b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_other_mode(tmp_path: Path) -> None:
    write_atomic(tmp_path / "a", b"", 0o644)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o644


def test_a_link_at_the_path_is_replaced_and_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious", encoding="utf-8")
    (tmp_path / "link").symlink_to(victim)
    write_atomic(tmp_path / "link", b"new")
    assert victim.read_bytes() == b"precious"
    assert not (tmp_path / "link").is_symlink()


def test_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_atomic(tmp_path / "no" / "a", b"")


def test_a_directory_at_the_path_leaves_no_temporary_file(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(OSError):
        write_atomic(tmp_path / "a", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_write_that_fails_half_way_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    done = subprocess.run(
        [sys.executable, "-c", WRITE_TOO_MUCH, str(path)],
        preexec_fn=forbid_large_files,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "File too large\n"
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("after", [1, 3, 4])
def test_a_kill_leaves_one_complete_file(tmp_path: Path, after: int) -> None:
    path = tmp_path / "a"
    child = subprocess.Popen([sys.executable, "-c", WRITE_FOREVER, str(path)], stdout=subprocess.PIPE)
    assert child.stdout is not None
    for _ in range(after):
        child.stdout.readline()
    child.kill()
    child.communicate()
    assert path.read_bytes() in (b"A" * 1_000_000, b"B" * 1_000_000)
