"""Files of a project are opened only if they are regular, limited in size, and inside it; JSON is limited in depth."""

import contextlib
import os
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clio.storage.documents import DocumentFormat, decode_document
from clio.storage.files import LeavesProject, NotAFile, TooLarge, read_project_file, read_regular
from clio.storage.jsonl import append_lines, read_last_lines
from clio.text.json_data import MAX_DEPTH, NestedTooDeeply, decode_json
from tests.support.rows import each_row


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    (tmp_path / "secret").write_bytes(b"secret")
    return tmp_path / "project"


def test_a_link_inside_the_project_is_read_and_one_that_leads_outside_is_not(root: Path) -> None:
    (root / "a").write_bytes(b"text")
    (root / "in").symlink_to("a")
    (root / "out").symlink_to("../secret")
    (root / "folder").symlink_to("..")
    assert read_project_file(root / "in", root, 10) == b"text"
    for name in ("out", "folder/secret"):
        with pytest.raises(LeavesProject):
            read_project_file(root / name, root, 10)
    assert read_project_file(root / "out", root, 10, trusted=[(root / "../secret").resolve()]) == b"secret"


@pytest.mark.skipif(os.name == "nt", reason="pipes have no names there")
def test_pipes_devices_and_folders_are_refused(root: Path) -> None:
    os.mkfifo(root / "pipe")
    (root / "device").symlink_to("/dev/zero")
    for name in ("pipe", "device", "."):
        with pytest.raises(NotAFile):
            read_regular(root / name)


def test_no_more_is_read_than_the_limit(root: Path) -> None:
    (root / "a").write_bytes(b"x" * 11)
    with pytest.raises(TooLarge):
        read_regular(root / "a", 10)
    assert read_project_file(root / "a", root, 10, truncate=True) == b"x" * 10


@given(st.binary(max_size=200) | st.text(max_size=200))
def test_decoding_raises_one_error_whatever_the_data_is(data: bytes | str) -> None:
    with contextlib.suppress(msgspec.DecodeError):
        decode_json(data)


@pytest.mark.parametrize("open_, close", [("[", "]"), ('{"a":', "}")])
def test_depth_has_a_limit_and_brackets_in_strings_do_not_count(open_: str, close: str) -> None:
    inner = '"' + "[{" * 500 + '"'
    decode_json(open_ * MAX_DEPTH + inner + close * MAX_DEPTH)
    for depth in (MAX_DEPTH + 1, 10_000):
        with pytest.raises(NestedTooDeeply):
            decode_json(open_ * depth + inner + close * depth)


class Empty(msgspec.Struct):
    pass


@each_row("version", ["-1", "null", "true", '"1"', "1.5", "1e999", "9" * 400, "[1]", "{}", "0"])
def test_an_impossible_version_is_damage(version: str) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode_document(
            f'{{"version":{version}}}'.encode(), DocumentFormat(schema="x", version=2, type=Empty), Path("x")
        )


def test_the_end_of_a_sparse_file_of_2_gb_is_read_and_written_at_once(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with path.open("wb") as file:
        file.truncate(2 << 30)
    append_lines(path, [b'{"new":1}'])
    assert read_last_lines(path, 1_000)[-1] == b'{"new":1}'
    assert path.stat().st_size > 2 << 30
