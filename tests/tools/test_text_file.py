"""Text and bytes: detection of encodings, refusal of binary files, error messages."""

import codecs
import os
from pathlib import Path

import pytest

from clio.errors import ToolFailed, ToolRetry
from clio.text.formatting import format_bytes
from clio.tools.files.text_file import NotText, decode_file, encode_file, read_text_file, to_printable
from tests.support.rows import each_row


@each_row(
    ("data", "encoding", "text"),
    [
        (b"", "utf-8", ""),
        (b"plain\n", "utf-8", "plain\n"),
        ("naïve €".encode(), "utf-8", "naïve €"),
        (codecs.BOM_UTF8 + "é".encode(), "utf-8", "é"),
        ("né".encode("utf-16"), "utf-16-le", "né"),
        (codecs.BOM_UTF16_BE + "né".encode("utf-16-be"), "utf-16-be", "né"),
        (b"caf\xe9 \x80uro", "cp1252", "café €uro"),
        (b"\x81\xe9", "latin-1", "\x81é"),
        ("déjà vu ".encode() + b"\xff", "utf-8", "déjà vu \udcff"),
    ],
)
def test_encodings_are_detected(data: bytes, encoding: str, text: str) -> None:
    file = decode_file(data)
    assert (file.encoding, file.text) == (encoding, text)
    assert encode_file(file.text, file, "f") == data


@each_row(
    "data",
    [b"\x89PNG\r\n\x1a\n\0\0", b"a\0b", b"\x01\x02\x03\x04 text", "né".encode("utf-32"), codecs.BOM_UTF16_LE + b"a"],
)
def test_binary_files_are_detected(data: bytes) -> None:
    with pytest.raises(NotText):
        decode_file(data)


def test_a_character_that_the_encoding_cannot_represent() -> None:
    file = decode_file(b"caf\xe9")
    with pytest.raises(ToolRetry, match=r"cp1252, which has no '→' \(U\+2192\)"):
        encode_file("café →", file, "menu.txt")


def test_displayed_text_has_no_surrogates() -> None:
    assert to_printable("a\udcffb\ud83d\ude00") == "a\ufffdb😀"


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 bytes"), (999, "999 bytes"), (1_400, "1.4 kB"), (200_000_000, "200 MB")]
)
def test_sizes_are_formatted(count: int, text: str) -> None:
    assert format_bytes(count) == text


def test_unreadable_files_are_reported(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"x")
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    sparse = tmp_path / "sparse"
    with sparse.open("wb") as handle:
        handle.truncate(200_000_000)
    for path, error, words in [
        (tmp_path / "none", ToolRetry, "does not exist"),
        (tmp_path, ToolRetry, "is a folder"),
        (file / "below", ToolRetry, "is a file, not a folder"),
        (fifo, ToolFailed, "not a regular file"),
        (loop, ToolFailed, "cannot read"),
        (sparse, ToolFailed, r"too large to edit \(200 MB\)"),
        (tmp_path / ("n" * 300), ToolFailed, "cannot read"),
    ]:
        with pytest.raises(error, match=words):
            read_text_file(path, "f")
