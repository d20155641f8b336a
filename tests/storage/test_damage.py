"""Damaged files of lines: nothing is cut off or overwritten before it was copied, and the user is told."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from clio.storage.files import NotAFile, read_regular
from clio.storage.jsonl import LineWriter, append_lines, back_up_damaged_file, pop_damage_notes
from clio.storage.locks import error_cause, format_os_error
from tests.support.wording import mentions


def append_line(path: Path) -> None:
    append_lines(path, (b'{"new":1}',))


def write_line(path: Path) -> None:
    writer = LineWriter(path)
    writer.add(b'{"new":1}')
    writer.flush()
    writer.close()


@pytest.mark.parametrize("write", [append_line, write_line])
@pytest.mark.parametrize("tail", [b"\0" * 300, b'{"half\0\0', b"<html>", b"\xff\xfe"])
def test_a_damaged_end_is_copied_before_it_is_cut_off(
    tmp_path: Path, write: Callable[[Path], None], tail: bytes
) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"old":1}\n' + tail)
    write(path)
    assert path.read_bytes() == b'{"old":1}\n{"new":1}\n'
    assert [copy.read_bytes() for copy in tmp_path.glob("log.jsonl.corrupt-*")] == [b'{"old":1}\n' + tail]
    notes = pop_damage_notes()
    assert len(notes) == 1
    assert "log.jsonl.corrupt-" in notes[0]


def test_a_truncated_last_line_is_not_damage(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"old":1}\n{"torn":')
    back_up_damaged_file(path)
    append_line(path)
    assert path.read_bytes() == b'{"old":1}\n{"new":1}\n'
    assert list(tmp_path.iterdir()) == [path]
    assert not pop_damage_notes()


def test_a_file_with_a_damaged_line_is_copied_once_before_it_is_rewritten(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"old":1}\n\0\0\0\n{"old":2}\n')
    back_up_damaged_file(path)
    back_up_damaged_file(path)
    assert [copy.read_bytes() for copy in tmp_path.glob("*.corrupt-*")] == [path.read_bytes()]
    assert len(pop_damage_notes()) == 1


@pytest.mark.skipif(os.name == "nt", reason="pipes of POSIX")
@pytest.mark.parametrize("write", [append_line, write_line])
def test_a_pipe_is_named_in_the_message(tmp_path: Path, write: Callable[[Path], None]) -> None:
    path = tmp_path / "log.jsonl"
    os.mkfifo(path)
    with pytest.raises(NotAFile) as raised:
        write(path)
    assert mentions(format_os_error(raised.value), f"'{path}'", "named pipe", "not a file", "move it away")


def test_a_file_that_is_too_large_to_read_is_named_with_its_size(tmp_path: Path) -> None:
    path = tmp_path / "big"
    path.touch()
    os.truncate(path, 3_200_000_000)
    with pytest.raises(OSError) as raised:
        read_regular(path)
    assert mentions(format_os_error(raised.value), f"'{path}'", "too large", "3.2 GB", "256 MB")
    assert mentions(error_cause(raised.value), "too large", "3.2 GB", "256 MB", f"'{path}'")
