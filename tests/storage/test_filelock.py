"""A lock has one holder, even if a process dies."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from clio.storage.locks import FileLock, LockOwner, find_lock_owner, read_owner

HOLD = """
import sys
from pathlib import Path
from clio.storage.locks import FileLock
lock = FileLock(Path(sys.argv[1]), "s1")
print(lock.acquire(), flush=True)
sys.stdin.read()
"""
COUNT = """
import sys
from pathlib import Path
from clio.storage.locks import FileLock
counter = Path(sys.argv[1])
for _ in range(100):
    with FileLock(counter.with_name("lock")):
        counter.write_text(str(int(counter.read_text()) + 1))
"""


@pytest.fixture
def other(tmp_path: Path):
    """Start a process that holds `tmp_path / "lock"`."""
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path / "lock")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"True\n"
    yield child
    child.kill()
    child.communicate()


def test_a_lock_is_refused_while_another_process_holds_it(tmp_path: Path, other: "subprocess.Popen[bytes]") -> None:
    path = tmp_path / "lock"
    for _ in range(2):
        assert not FileLock(path).acquire()
    owner = find_lock_owner(path)
    assert owner is not None
    assert (owner.pid, owner.session_id) == (other.pid, "s1")
    assert owner.hostname and owner.timestamp > 0


def test_a_lock_of_a_dead_process_is_taken_over(tmp_path: Path, other: "subprocess.Popen[bytes]") -> None:
    other.kill()
    other.wait()
    path = tmp_path / "lock"
    assert path.exists()
    assert find_lock_owner(path) is None
    lock = FileLock(path)
    assert lock.acquire()
    owner = find_lock_owner(path)
    assert owner is not None and owner.pid == os.getpid()
    lock.release()


def test_release_deletes_the_file_so_that_it_can_be_locked_again(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    first, second = FileLock(path), FileLock(path)
    assert first.acquire() and first.is_held
    assert not second.acquire()
    first.release()
    first.release()
    assert not first.is_held and not path.exists()
    assert second.acquire()
    second.release()


def test_release_does_not_delete_a_file_that_replaced_its_own(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    first, second = FileLock(path), FileLock(path)
    assert first.acquire()
    path.unlink()
    assert second.acquire()
    first.release()
    assert path.exists()
    assert not FileLock(path).acquire()
    second.release()


def test_waiting_ends_with_an_error_naming_the_owner(
    tmp_path: Path, other: "subprocess.Popen[bytes]", monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = FileLock(tmp_path / "lock")
    monkeypatch.setattr(lock, "acquire", lambda timeout_s: False)
    with pytest.raises(TimeoutError, match=f"process {other.pid}"), lock:
        pass


def test_a_file_without_an_owner_locks_nothing(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.write_text("not json", encoding="utf-8")
    assert find_lock_owner(path) is None
    with FileLock(path) as lock:
        assert lock.is_held
        assert read_owner(path).pid == os.getpid()


def test_an_unreadable_owner_has_no_number(tmp_path: Path) -> None:
    assert read_owner(tmp_path / "none") == LockOwner()


def test_a_folder_that_is_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        FileLock(tmp_path / "no" / "lock").acquire()


def test_processes_take_turns(tmp_path: Path) -> None:
    counter = tmp_path / "counter"
    counter.write_text("0", encoding="utf-8")
    children = [subprocess.Popen([sys.executable, "-c", COUNT, str(counter)]) for _ in range(3)]
    assert [child.wait(timeout=60) for child in children] == [0, 0, 0]
    assert counter.read_text(encoding="utf-8") == "300"
