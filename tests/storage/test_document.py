"""Versioned documents: shared, migrated, never damaged, never overwritten if they cannot be parsed."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Struct

from clio.errors import CorruptDocument, NewerDocument
from clio.storage.documents import (
    Document,
    DocumentFormat,
    load_document,
    save_document,
    set_file_aside,
    update_document,
)


class Notes(Struct, frozen=True):
    """A document for these tests."""

    texts: tuple[str, ...] = ()
    count: int = 0


def v1_to_v2(document: dict[str, Any]) -> dict[str, Any]:
    return document | {"texts": [document["text"]]}


NOTES = DocumentFormat(schema="test.notes", version=2, type=Notes, migrations={1: v1_to_v2})
ADD = """
import sys
from pathlib import Path
from clio.storage.documents import update_document
from tests.storage.test_document import NOTES, Notes
for number in range(50):
    update_document(Path(sys.argv[1]), NOTES, lambda notes: Notes((*notes.texts, sys.argv[2]), notes.count + 1))
"""


def write(path: Path, value: object) -> None:
    path.write_bytes(msgspec.json.encode(value))


def test_round_trip_with_schema_and_version(tmp_path: Path) -> None:
    path = tmp_path / "sub" / "notes.json"
    save_document(path, NOTES, Document(value=Notes(("é",), 1)))
    assert msgspec.json.decode(path.read_bytes()) == {
        "schema": "test.notes",
        "version": 2,
        "texts": ["é"],
        "count": 1,
    }
    assert load_document(path, NOTES) == Document(value=Notes(("é",), 1))


def test_no_file_is_no_document(tmp_path: Path) -> None:
    assert load_document(tmp_path / "none.json", NOTES) is None


def test_older_versions_are_migrated_and_unknown_fields_kept(tmp_path: Path) -> None:
    path = tmp_path / "notes.json"
    write(path, {"version": 1, "text": "old", "mine": {"a": [1]}})
    update_document(path, NOTES, lambda notes: Notes((*notes.texts, "new"), 2))
    document = msgspec.json.decode(path.read_bytes())
    assert document == {
        "schema": "test.notes",
        "version": 2,
        "texts": ["old", "new"],
        "count": 2,
        "mine": {"a": [1]},
        "text": "old",
    }


def test_a_document_without_a_version_has_the_first(tmp_path: Path) -> None:
    write(tmp_path / "notes.json", {"text": "old"})
    document = load_document(tmp_path / "notes.json", NOTES)
    assert document is not None and document.value == Notes(("old",))


def test_a_newer_document_is_refused_and_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "notes.json"
    write(path, {"version": 3, "texts": {}})
    before = path.read_bytes()
    with pytest.raises(NewerDocument, match="version 3"):
        update_document(path, NOTES, lambda notes: Notes(("x",)))
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff", b'{"version":2,"count":"many"}', b"[" * 100_000])
def test_a_corrupt_document_is_moved_aside(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "notes.json"
    path.write_bytes(data)
    with pytest.raises(CorruptDocument) as caught:
        load_document(path, NOTES)
    moved_to = caught.value.moved_to
    assert moved_to is not None and moved_to.name.startswith("notes.json.corrupt-")
    assert moved_to.read_bytes() == data
    assert moved_to.name in str(caught.value)
    assert load_document(path, NOTES) is None


def test_two_corrupt_documents_in_one_second_are_both_kept(tmp_path: Path) -> None:
    kept: set[Path | None] = set()
    for data in (b"a", b"b", b"c"):
        (tmp_path / "x").write_bytes(data)
        kept.add(set_file_aside(tmp_path / "x"))
    assert {path.read_bytes() for path in kept if path} == {b"a", b"b", b"c"}


def test_setting_a_missing_file_aside_fails(tmp_path: Path) -> None:
    assert set_file_aside(tmp_path / "gone") is None


def test_an_unchanged_value_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "notes.json"
    assert update_document(path, NOTES, lambda notes: notes) == Notes()
    assert not path.exists()


def test_two_processes_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "notes.json"
    children = [subprocess.Popen([sys.executable, "-c", ADD, str(path), name]) for name in "ab"]
    assert [child.wait(timeout=60) for child in children] == [0, 0]
    document = load_document(path, NOTES)
    assert document is not None
    assert document.value.count == 100
    assert sorted(document.value.texts) == ["a"] * 50 + ["b"] * 50
