"""Reading lines and elements of files in any state, without loading a whole file."""

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clio.importing import reading
from clio.importing.reading import Tally, read_elements, read_lines, read_records

values = st.recursive(
    st.booleans() | st.integers(-9, 9) | st.text('ab"\\{}[],:\n é', max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('a"\\', max_size=3), inner, max_size=3),
    max_leaves=8,
)


def ignore(done: int) -> None:
    pass


@given(
    document=st.lists(values, max_size=4)
    | st.fixed_dictionaries({"id": values, "messages": st.lists(values, max_size=4), "b": values}),
    block=st.integers(1, 40),
    indent=st.none() | st.just(1),
)
def test_the_elements_of_a_document_are_those_of_json(
    tmp_path_factory: pytest.TempPathFactory, document: Any, block: int, indent: int | None
) -> None:
    path = tmp_path_factory.getbasetemp() / "document.json"
    path.write_text(json.dumps(document, indent=indent, ensure_ascii=False), encoding="utf-8")
    expected: list[tuple[str, Any]] = []
    for name, value in document.items() if isinstance(document, dict) else [("", document)]:
        expected += [(name, one) for one in value] if name in ("", "messages") else [(name, value)]
    counts = Tally()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "BLOCK_BYTES", block)
        assert list(read_elements(path, frozenset({"messages"}), counts, ignore)) == expected
    assert counts == Tally()


def test_a_truncated_document_gives_its_complete_elements(tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    path.write_text('{"sessionId": "s", "messages": [{"id": 1}, {"id": 2}, {"id', encoding="utf-8")
    counts = Tally()
    assert list(read_elements(path, frozenset({"messages"}), counts, ignore)) == [
        ("sessionId", "s"),
        ("messages", {"id": 1}),
        ("messages", {"id": 2}),
    ]
    assert counts.torn == 1


@pytest.mark.parametrize("block", [1, 3, 7, 1 << 18])
def test_lines_with_every_kind_of_ending(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(reading, "BLOCK_BYTES", block)
    path = tmp_path / "x.jsonl"
    path.write_bytes(
        b'\xef\xbb\xbf{"a":1}\r\n\n  {"a":2}\n{"a":"\xff"}\n{"a":"\\ud83d"}\nnot json\n[1]\n{"a":5}\n{"a":'
    )
    counts = Tally()
    if block < 3:  # the byte order mark is expected in the first block
        path.write_bytes(path.read_bytes()[3:])
    found = [record for _, record in read_records(path, counts, ignore)]
    assert found == [{"a": 1}, {"a": 2}, {"a": "\ufffd"}, {"a": "\ud83d"}, {"a": 5}]
    assert (dict(counts.kinds), counts.torn, counts.mended) == ({"not JSON": 1, "not an object": 1}, 1, 1)


def test_files_of_windows_tools_are_read(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes('\ufeff{"a":"é"}\r\n{"a":2}'.encode("utf-16-le"))
    assert [record for _, record in read_records(path, Tally(), ignore)] == [{"a": "é"}, {"a": 2}]


def test_a_very_long_line_is_skipped_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_LINE_BYTES", 1000)
    monkeypatch.setattr(reading, "BLOCK_BYTES", 100)
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"one\n" + b"x" * 5000 + b"\ntwo\n" + b"y" * 3000)
    counts = Tally()
    assert list(read_lines(path, counts, ignore)) == [b"one", b"two"]
    assert counts.large == 2


def test_a_long_file_is_never_completely_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes((b'{"a":"' + b"x" * 2000 + b'"}\n') * 3_000)
    tracemalloc.start()
    assert sum(1 for _ in read_records(path, Tally(), ignore)) == 3_000
    document = tmp_path / "x.json"
    document.write_bytes(b'{"messages":[' + b",".join([b'{"a":"' + b"x" * 2000 + b'"}'] * 3_000) + b"]}")
    tracemalloc.reset_peak()
    assert sum(1 for _ in read_elements(document, frozenset({"messages"}), Tally(), ignore)) == 3_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3_000_000
