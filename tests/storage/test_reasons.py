"""Errors of the operating system, in words that help; and the file they are about."""

import errno
import os
from pathlib import Path

import pytest

from clio.storage import filelock
from clio.storage.atomic import write_atomic
from clio.storage.filelock import FileLock, NoLocks, knows_locks
from clio.storage.reasons import reason, sentence


def test_thing_cause_and_next_step() -> None:
    full = OSError(errno.ENOSPC, "No space left on device", "/p/memories.json")
    assert sentence(full) == "'/p/memories.json' could not be used: the disk is full; make room, then try again."
    assert reason(full) == "the disk is full"


def test_what_is_not_known_keeps_its_words() -> None:
    error = OSError(errno.ELOOP, "Too many levels", "/p/x")
    assert sentence(error) == str(error)
    assert sentence(OSError("odd")) == "odd"
    assert reason(error) == "too many levels"


def test_a_full_disk_names_the_file_and_not_the_temporary_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(fd: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError) as caught:
        write_atomic(tmp_path / "a.json", b"{}")
    assert caught.value.filename == str(tmp_path / "a.json")
    assert list(tmp_path.iterdir()) == []


def test_a_file_system_without_locks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert knows_locks(tmp_path)
    assert knows_locks(tmp_path / "missing")

    def refuse(fd: int, *, shared: bool) -> bool:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(filelock, "_lock", refuse)
    assert not knows_locks(tmp_path)
    with pytest.raises(NoLocks) as caught, FileLock(tmp_path / "a.lock"):
        pass
    assert caught.value.errno == errno.ENOLCK
    assert str(caught.value).startswith(f"'{tmp_path}/a.lock' cannot be locked: its file system has no locks")
