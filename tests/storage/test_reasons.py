"""Messages for errors of the operating system, with the file they concern."""

import errno
import os
from pathlib import Path

import pytest

from clio.storage import locks
from clio.storage.files import write_atomic
from clio.storage.locks import (
    FileLock,
    LocksUnsupported,
    error_cause,
    error_reason,
    format_os_error,
    suggest_fix,
    supports_locks,
)
from tests.support.wording import mentions


def test_an_error_names_file_cause_and_next_step() -> None:
    full = OSError(errno.ENOSPC, "No space left on device", "/p/memories.json")
    assert mentions(format_os_error(full), "'/p/memories.json'", "disk is full", "free some space")
    assert error_reason(full) == "the disk is full"


def test_an_unknown_error_keeps_its_text_without_its_number() -> None:
    error = OSError(errno.ELOOP, "Too many levels", "/p/x")
    assert mentions(format_os_error(error), "'/p/x'", "too many levels")
    assert format_os_error(OSError("odd")) == error_cause(OSError("odd")) == "odd"
    assert error_reason(error) == "too many levels"


def test_the_reason_as_a_clause_of_a_longer_sentence() -> None:
    full = OSError(errno.ENOSPC, "No space left on device", "/p/a.json")
    assert error_cause(full) == "the disk is full ('/p/a.json')"
    nameless = OSError(errno.EFBIG, "File too large")
    assert (error_cause(nameless), suggest_fix(nameless)) == (
        "the file size limit is reached",
        "raise the file size limit, then try again",
    )
    message = "the output, or a file of clio's, could not be used: the file size limit is reached; raise"
    assert format_os_error(nameless).startswith(message)
    assert (error_cause(ValueError("odd")), suggest_fix(ValueError("odd"))) == ("odd", "check it, then try again")
    lockless = LocksUnsupported(errno.ENOLCK, "none", "/p/a.lock")
    assert error_cause(lockless) == format_os_error(lockless) == str(lockless)


def test_a_full_disk_names_the_file_and_not_the_temporary_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(fd: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError) as caught:
        write_atomic(tmp_path / "a.json", b"{}")
    assert caught.value.filename == str(tmp_path / "a.json")
    assert list(tmp_path.iterdir()) == []


def test_a_file_system_without_locks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert supports_locks(tmp_path)
    assert supports_locks(tmp_path / "missing")

    def refuse(fd: int, *, shared: bool) -> bool:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(locks, "_lock_descriptor", refuse)
    assert not supports_locks(tmp_path)
    with pytest.raises(LocksUnsupported) as caught, FileLock(tmp_path / "a.lock"):
        pass
    assert caught.value.errno == errno.ENOLCK
    assert str(caught.value).startswith(f"'{tmp_path}/a.lock' cannot be locked: its file system does not support locks")
