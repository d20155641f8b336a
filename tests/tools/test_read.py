"""read_file: windows, notices, and clear answers for everything that is not text."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from clio.errors import ToolError, ToolFailed, ToolRetry
from clio.security.actions import ReadFiles
from clio.tools.files.read_file import ReadFileArgs, ReadFileTool
from clio.tools.files.text_match import strip_line_numbers
from tests.support.rows import each_row
from tests.tools.file_support import Bench, run


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@contextmanager
def unprivileged() -> Iterator[None]:
    """Drop root's privileges, so that permissions apply."""
    if os.geteuid():
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_lines_are_numbered(bench: Bench) -> None:
    bench.write("a.py", "".join(f"line {number}\r\n" for number in range(1, 11)))
    output = bench.call("read_file", path="a.py")
    assert output.text.splitlines()[0] == " 1|line 1"
    assert output.text.splitlines()[-1] == "10|line 10"
    assert output.summary == "10 lines"


def test_a_window_names_the_call_that_continues(bench: Bench) -> None:
    bench.write("a.py", "".join(f"line {number}\n" for number in range(1, 11)))
    prepared = bench.prepare("read_file", path="a.py", offset=3, limit=2)
    assert prepared.title == "read a.py:3-4"
    assert prepared.action == ReadFiles(paths=(bench.workspace.root / "a.py",))
    output = run(prepared)
    assert output.text == "3|line 3\n4|line 4\n[lines 3-4 of 10; continue with offset=5]"
    assert output.summary == "lines 3-4 of 10"
    assert bench.call("read_file", path="a.py", offset=9).text == " 9|line 9\n10|line 10"


def test_reading_by_offset_returns_every_line_once(bench: Bench) -> None:
    lines = [f"{number} " + "x" * (number % 90) for number in range(1, 400)]
    bench.write("a.txt", "\n".join(lines))
    tool = ReadFileTool(bench.workspace, bench.log, max_chars=1_500)
    seen: list[str] = []
    offset: int | None = 1
    while offset:
        text = run(tool.prepare(ReadFileArgs(path="a.txt", offset=offset))).text
        *rows, last = text.split("\n")
        more = "continue with offset=" in last
        seen += rows if more else [*rows, last]
        assert len(text) < 1_500
        offset = int(last.rsplit("=", 1)[1].rstrip("]")) if more else None
    assert strip_line_numbers("\n".join(seen)) is not None
    assert [row.split("|", 1)[1] for row in seen] == lines


def test_long_lines_are_cut(bench: Bench) -> None:
    bench.write("min.js", "x" * 5_000 + "\nshort\n")
    first, second = bench.call("read_file", path="min.js").text.splitlines()
    assert first.endswith("[cut: this line has 5,000 characters]")
    assert len(first) < 2_100
    assert second == "2|short"


@each_row(
    ("data", "text"),
    [
        (b"", "[the file is empty]"),
        (b"\n", "1|"),
        (b"a", "1|a"),
        (b"a\rb\r", "1|a\n2|b"),
        (b"a\x0cb\xc2\x85c\n", "1|a\x0cb\x85c"),
        (b"caf\xe9\n", "1|café\n[encoding cp1252; edits keep it]"),
        ("né\n".encode("utf-16"), "1|né\n[encoding utf-16-le; edits keep it]"),
        (b"\xef\xbb\xbfbom\n", "1|bom"),
        ("é".encode() * 3 + b"\xff\n", "1|ééé\ufffd\n[1 byte not valid UTF-8, shown as \ufffd; edits keep them]"),
    ],
)
def test_properties_of_the_text_are_named(bench: Bench, data: bytes, text: str) -> None:
    bench.write("f", data)
    assert bench.call("read_file", path="f").text == text


def test_an_offset_beyond_the_end(bench: Bench) -> None:
    bench.write("a.py", "one\ntwo\n")
    with pytest.raises(ToolRetry, match=r"'a\.py' has 2 lines; there is no line 7"):
        bench.call("read_file", path="a.py", offset=7)


def test_a_binary_file_is_refused(bench: Bench) -> None:
    bench.write("logo.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(2_000))
    with pytest.raises(ToolFailed, match=r"'logo.png' is a binary file \(2.0 kB\)"):
        bench.call("read_file", path="logo.png")


def test_a_file_of_two_hundred_megabytes(bench: Bench) -> None:
    """A sparse file is recognized as binary; a text is read in windows anywhere, and never edited."""
    sparse = bench.root / "disk.img"
    with sparse.open("wb") as file:
        file.truncate(200_000_000)
    with pytest.raises(ToolFailed, match=r"binary file \(200 MB\)"):
        bench.call("read_file", path="disk.img")
    large = bench.root / "huge.log"
    with large.open("wb") as file:
        block = b"".join(b"%07d %s\n" % (number, b"." * 91) for number in range(10_000))
        for _ in range(22):
            file.write(block)
        file.write(b"y" * 30_000)
    output = bench.call("read_file", path="huge.log", limit=2)
    assert output.text.startswith("1|0000000 ....")
    assert output.text.endswith("[lines 1-2; continue with offset=3]")
    assert "a large file of 22 MB" in output.text
    deep = bench.call("read_file", path="huge.log", offset=215_001, limit=1)
    assert deep.text.startswith("215001|0005000 ....")
    last = bench.call("read_file", path="huge.log", offset=220_000)
    assert "[cut: this line has 30,000 bytes]" in last.text
    assert last.summary == "lines 220000-220001 of 220,001"
    with pytest.raises(ToolRetry, match=r"220,000 lines.*no line 900,000"):
        bench.call("read_file", path="huge.log", offset=900_000)
    with pytest.raises(ToolFailed, match="too large to edit"):
        bench.prepare("edit_file", path="huge.log", old_string="0000001", new_string="x")


def test_a_folder_answers_with_its_listing(bench: Bench) -> None:
    bench.write("src/a.py", "x")
    bench.write("src/deep/b.py", "x")
    assert bench.call("read_file", path="src").text == "src/ (2 files)\n  a.py\n  deep/\n    b.py"


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("src/modle.py", "did you mean 'src/model.py'?"),
        ("lib/model.py", "did you mean 'src/model.py'?"),
        ("SRC/MODEL.PY", "did you mean 'src/model.py'?"),
        ("zzz.bin", "list_files and find_files show which paths exist"),
        ("/nowhere/at/all.py", "list_files and find_files show which paths exist"),
    ],
)
def test_similar_paths_are_suggested_for_a_missing_file(bench: Bench, asked: str, answer: str) -> None:
    bench.write("src/model.py", "x")
    bench.write("src/views.py", "x")
    with pytest.raises(ToolRetry) as raised:
        bench.call("read_file", path=asked)
    assert str(raised.value).endswith(answer)


@pytest.mark.parametrize("path", ["", "  ", "a\0b", "~nobody-of-that-name/x"])
def test_invalid_paths_are_refused(bench: Bench, path: str) -> None:
    with pytest.raises(ToolError):
        bench.call("read_file", path=path)


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
def test_a_forbidden_file_is_reported(bench: Bench) -> None:
    secret = bench.write("secret.txt", "x")
    prepared = bench.prepare("read_file", path="secret.txt")
    secret.chmod(0)
    with unprivileged(), pytest.raises(ToolFailed, match=r"no permission to read 'secret\.txt'"):
        run(prepared)


@pytest.mark.skipif(os.name == "nt", reason="POSIX pipes")
def test_a_pipe_is_not_waited_for(bench: Bench) -> None:
    os.mkfifo(bench.root / "pipe")
    with pytest.raises(ToolFailed, match="not a regular file"):
        bench.call("read_file", path="pipe")


def test_a_link_out_of_the_workspace_is_judged_by_its_target(
    bench: Bench, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "target.txt"
    outside.write_text("far", encoding="utf-8")
    (bench.root / "link").symlink_to(outside)
    assert bench.prepare("read_file", path="link").action == ReadFiles(paths=(outside.resolve(),))
