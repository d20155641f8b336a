"""Complete lines are kept if a file is cut off or damaged at its end."""

import resource
import signal
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clio.storage.jsonl import LineWriter, SplitLines, append_lines, read_lines, split_lines

VALUES = st.lists(st.dictionaries(st.text(), st.text() | st.integers(), min_size=1), max_size=8)


def encoded(values: list[dict[str, str | int]]) -> list[bytes]:
    return [msgspec.json.encode(value) for value in values]


def test_a_missing_file_has_no_lines(tmp_path: Path) -> None:
    assert read_lines(tmp_path / "none") == SplitLines(lines=())


def test_a_last_line_without_a_line_break_counts_if_it_is_complete() -> None:
    assert split_lines(b'{"a":1}\n{"b":2}') == SplitLines(lines=(b'{"a":1}', b'{"b":2}'))
    assert split_lines(b'{"a":1}\n{"b":') == SplitLines(lines=(b'{"a":1}',), truncated=b'{"b":')


def test_nothing_is_created_before_the_first_flush(tmp_path: Path) -> None:
    writer = LineWriter(tmp_path / "a", b"{}")
    writer.add(b"1")
    assert list(tmp_path.iterdir()) == []
    writer.flush()
    writer.close()
    assert (tmp_path / "a").read_bytes() == b"{}\n1\n"


def test_the_header_line_is_written_once(tmp_path: Path) -> None:
    for number in (b"1", b"2"):
        writer = LineWriter(tmp_path / "a", b"{}")
        writer.add(number)
        writer.flush()
        writer.sync()
        writer.close()
    assert (tmp_path / "a").read_bytes() == b"{}\n1\n2\n"


@given(values=VALUES, data=st.data())
def test_a_file_cut_anywhere_keeps_its_complete_lines(values: list[dict[str, str | int]], data: st.DataObject) -> None:
    lines = encoded(values)
    whole = b"".join(line + b"\n" for line in lines)
    cut = data.draw(st.integers(0, len(whole)))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a"
        path.write_bytes(whole[:cut])
        before = read_lines(path).lines
        writer = LineWriter(path)
        writer.add(b'{"new":1}')
        writer.flush()
        writer.close()
        after = read_lines(path)
        ends = [sum(len(line) + 1 for line in lines[:count]) for count in range(1, len(lines) + 1)]
        assert len(before) == sum(end - 1 <= cut for end in ends)
        assert after == SplitLines(lines=(*lines[: len(before)], b'{"new":1}'))


@given(st.binary())
def test_any_bytes_are_tolerated_by_reader_and_writer(junk: bytes) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a"
        path.write_bytes(junk)
        before = read_lines(path).lines
        writer = LineWriter(path)
        writer.add(b"{}")
        writer.flush()
        writer.close()
        assert read_lines(path).lines == (*before, b"{}")


def test_a_long_truncated_line_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b'{"a":1}\n{"b":"' + b"x" * 300_000)
    writer = LineWriter(path)
    writer.add(b"2")
    writer.flush()
    writer.close()
    assert path.read_bytes() == b'{"a":1}\n2\n'


def test_lines_that_could_not_be_written_stay_queued(tmp_path: Path) -> None:
    folder = tmp_path / "later"
    writer = LineWriter(folder / "a", b"{}")
    for line in (b"1", b"2"):
        writer.add(line)
        with pytest.raises(FileNotFoundError):
            writer.flush()
    folder.mkdir()
    writer.flush()
    writer.close()
    assert (folder / "a").read_bytes() == b"{}\n1\n2\n"


def test_a_deleted_file_is_noticed(tmp_path: Path) -> None:
    writer = LineWriter(tmp_path / "a")
    writer.add(b"1")
    writer.flush()
    assert not writer.is_deleted()
    (tmp_path / "a").unlink()
    assert writer.is_deleted()
    writer.close()


def test_lines_are_appended_after_the_last_complete_line(tmp_path: Path) -> None:
    path = tmp_path / "a"
    assert append_lines(path, [b"1", b"2"]) == 4
    path.write_bytes(b'1\n2\n{"torn":')
    assert append_lines(path, [b"3"]) == 6
    assert path.read_bytes() == b"1\n2\n3\n"


def test_all_lines_are_added_or_none(tmp_path: Path) -> None:
    path = tmp_path / "a"
    append_lines(path, [b"1"])
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8, hard))
    try:
        with pytest.raises(OSError, match="too large") as failed:
            append_lines(path, [b"2", b"3", b"456789"])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert failed.value.filename == str(path)
    assert path.read_bytes() == b"1\n"
