"""write_file and edit_file on real files: the written file, refusals, and results for the model."""

import os
import tempfile
from pathlib import Path

import pytest

from clio.errors import ToolFailed, ToolRetry
from clio.security.actions import ChangeFiles, FileChange
from tests.support.wording import mentions
from tests.tools.file_support import Bench, run
from tests.tools.test_read import unprivileged


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path.resolve())


# --- write_file


def test_a_new_file_is_created_with_its_folders(bench: Bench) -> None:
    prepared = bench.prepare("write_file", path="src/deep/new.py", content="a\nb\n")
    path = bench.root / "src/deep/new.py"
    change = FileChange(path=path, kind="add", after="a\nb\n")
    assert (prepared.title, prepared.action) == ("create src/deep/new.py", ChangeFiles(changes=(change,)))
    assert not (bench.root / "src").exists()
    output = run(prepared)
    assert path.read_bytes() == b"a\nb\n"
    assert (output.summary, output.changed) == ("2 lines", (change,))


def test_new_files_follow_the_umask(bench: Bench) -> None:
    before = os.umask(0o027)
    try:
        bench.call("write_file", path="a", content="x")
    finally:
        os.umask(before)
    assert (bench.root / "a").stat().st_mode & 0o777 == 0o640


def test_an_unread_file_is_not_overwritten(bench: Bench) -> None:
    path = bench.write("a.py", "precious\n")
    with pytest.raises(ToolRetry, match="you have not read it"):
        bench.prepare("write_file", path="a.py", content="x")
    bench.call("read_file", path="a.py")
    assert bench.call("write_file", path="a.py", content="new\n").summary == "+1 -1"
    assert path.read_bytes() == b"new\n"


def test_an_empty_file_may_be_overwritten(bench: Bench) -> None:
    bench.write("__init__.py", "")
    bench.call("write_file", path="__init__.py", content="x = 1\n")
    assert (bench.root / "__init__.py").read_text(encoding="utf-8") == "x = 1\n"


def test_a_file_changed_since_it_was_read_is_not_overwritten(bench: Bench) -> None:
    bench.write("a.py", "one\n")
    bench.call("read_file", path="a.py")
    bench.write("a.py", "two\n")
    with pytest.raises(ToolRetry, match=r"changed on disk.*read it again"):
        bench.prepare("write_file", path="a.py", content="x")
    bench.call("read_file", path="a.py")
    bench.call("write_file", path="a.py", content="three\n")
    bench.call("write_file", path="a.py", content="four\n")
    assert (bench.root / "a.py").read_bytes() == b"four\n"


def test_overwriting_keeps_line_endings_encoding_and_mode(bench: Bench) -> None:
    path = bench.write("run.bat", b"rem caf\xe9\r\nold\r\n")
    path.chmod(0o755)
    bench.call("read_file", path="run.bat")
    output = bench.call("write_file", path="run.bat", content="rem café\nnew\n")
    assert path.read_bytes() == b"rem caf\xe9\r\nnew\r\n"
    assert path.stat().st_mode & 0o777 == 0o755
    assert "kept cp1252 and CRLF line endings" in output.text


def test_writing_the_same_text_changes_nothing(bench: Bench) -> None:
    bench.write("a", "same")
    bench.call("read_file", path="a")
    with pytest.raises(ToolRetry, match="already has exactly this content"):
        bench.prepare("write_file", path="a", content="same")


@pytest.mark.parametrize(
    ("path", "words"),
    [("src", "is a folder"), ("new/", "is a folder"), ("a.py/b.py", "is a file, not a folder"), ("", "empty")],
)
def test_paths_that_cannot_be_a_file(bench: Bench, path: str, words: str) -> None:
    bench.write("src/x", "x")
    bench.write("a.py", "x")
    with pytest.raises(ToolRetry, match=words):
        bench.prepare("write_file", path=path, content="x")


def test_a_file_created_meanwhile_by_another_process_is_not_overwritten(bench: Bench) -> None:
    prepared = bench.prepare("write_file", path="a.py", content="mine")
    path = bench.write("a.py", "theirs")
    with pytest.raises(ToolRetry, match="already exists"):
        run(prepared)
    assert path.read_bytes() == b"theirs"


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
def test_a_write_protected_file_is_refused() -> None:
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        bench.root.chmod(0o777)  # the folder would permit replacing the file
        path = bench.write("a.py", "x = 1\n")
        path.chmod(0o444)
        with unprivileged(), pytest.raises(ToolFailed, match="write-protected"):
            bench.prepare("edit_file", path="a.py", old_string="x = 1", new_string="x = 2")


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
def test_a_read_only_folder_is_reported(bench: Bench) -> None:
    bench.write("closed/a.py", "x = 1\n")
    (bench.root / "closed").chmod(0)
    for name, arguments in [
        ("edit_file", {"old_string": "x", "new_string": "y"}),
        ("write_file", {"content": "y"}),
    ]:
        with unprivileged(), pytest.raises(ToolFailed, match="no permission to reach 'closed/a"):
            bench.prepare(name, path="closed/a.py", **arguments)
    (bench.root / "closed").chmod(0o755)


# --- edit_file


def test_an_edit_changes_the_file(bench: Bench) -> None:
    path = bench.write("a.py", "def f():\n    return 1\n\n\ndef g():\n    return 2\n")
    prepared = bench.prepare("edit_file", path="a.py", old_string="return 1", new_string="x = 1\n    return x")
    assert prepared.title == "edit a.py"
    output = run(prepared)
    after = "def f():\n    x = 1\n    return x\n\n\ndef g():\n    return 2\n"
    assert path.read_text(encoding="utf-8") == after
    assert output.summary == "+2 -1"
    assert output.text.startswith(
        "edited a.py: +2 -1 lines, matched exactly\n1|def f():\n2|    x = 1\n3|    return x\n"
    )
    assert output.changed[0].after == after
    assert bench.log.has_seen(path)


def test_an_edit_names_its_matching_method(bench: Bench) -> None:
    bench.write("a.py", "class A:\n\tdef f(self):\n\t\treturn 1\n")
    output = bench.call(
        "edit_file", path="a.py", old_string="def f(self):\n    return 1", new_string="def f(self):\n    return 2"
    )
    assert output.summary == "+1 -1 (indent shift)"
    assert mentions(output.text, "difference", "indent")
    assert "3|\t\treturn 2" in output.text


def test_consecutive_edits_need_no_new_read(bench: Bench) -> None:
    path = bench.write("a", "one\ntwo\n")
    bench.call("read_file", path="a")
    bench.call("edit_file", path="a", old_string="one", new_string="1")
    bench.call("edit_file", path="a", old_string="two", new_string="2")
    assert path.read_bytes() == b"1\n2\n"


def test_an_edit_of_an_outdated_read_is_refused(bench: Bench) -> None:
    bench.write("a", "one\ntwo\n")
    bench.call("read_file", path="a")
    path = bench.write("a", "one\nother\n")
    with pytest.raises(ToolRetry, match="changed on disk since you read it"):
        bench.prepare("edit_file", path="a", old_string="one", new_string="1")
    assert path.read_bytes() == b"one\nother\n"


def test_a_file_that_changes_during_the_question_is_refused(bench: Bench) -> None:
    path = bench.write("a", "one\n")
    prepared = bench.prepare("edit_file", path="a", old_string="one", new_string="1")
    bench.write("a", "one\nmore\n")
    with pytest.raises(ToolRetry, match="has just changed on disk"):
        run(prepared)
    assert path.read_bytes() == b"one\nmore\n"


def test_replace_all_counts_the_places(bench: Bench) -> None:
    path = bench.write("a", "x x\nx\n")
    output = bench.call("edit_file", path="a", old_string="x", new_string="y", replace_all=True)
    assert path.read_bytes() == b"y y\ny\n"
    assert output.text.startswith("edited a in 3 places: +2 -2 lines")


def test_refusals_name_the_file_and_show_whitespace(bench: Bench) -> None:
    bench.write("a.py", "def f():\n\treturn value\n")
    with pytest.raises(ToolRetry) as raised:
        bench.prepare("edit_file", path="a.py", old_string="    return valeu", new_string="x")
    assert mentions(str(raised.value), "'a.py'", "unchanged", "text to find")
    assert "2|\treturn value" in str(raised.value)
    assert "yours | ····return valeu\nfile  | →return value" in str(raised.value)


def test_refusals_can_be_encoded(bench: Bench) -> None:
    """Bytes that are not UTF-8 do not reach a message as lone surrogates."""
    bench.write("a", "é é é same\n".encode() + b"\xff same\n")
    with pytest.raises(ToolRetry) as raised:
        bench.prepare("edit_file", path="a", old_string="same", new_string="x")
    assert "\ufffd same" in str(raised.value)
    str(raised.value).encode("utf-8")


def test_an_encoding_that_cannot_represent_the_change(bench: Bench) -> None:
    path = bench.write("a", b"caf\xe9\n")
    with pytest.raises(ToolRetry, match="cp1252, which has no"):
        bench.prepare("edit_file", path="a", old_string="café", new_string="café ☕")
    assert path.read_bytes() == b"caf\xe9\n"


def test_missing_and_binary_files(bench: Bench) -> None:
    bench.write("model.py", "x")
    bench.write("data.bin", b"\0\1")
    with pytest.raises(ToolRetry, match=r"did you mean 'model\.py'"):
        bench.prepare("edit_file", path="modle.py", old_string="a", new_string="b")
    with pytest.raises(ToolFailed, match="binary file"):
        bench.prepare("edit_file", path="data.bin", old_string="a", new_string="b")


def test_edits_follow_links(bench: Bench) -> None:
    path = bench.write("real.txt", "one\n")
    (bench.root / "link.txt").symlink_to(path)
    bench.call("edit_file", path="link.txt", old_string="one", new_string="two")
    assert (bench.root / "link.txt").is_symlink()
    assert path.read_bytes() == b"two\n"


def test_everything_can_be_deleted(bench: Bench) -> None:
    path = bench.write("a", "one\n")
    output = bench.call("edit_file", path="a", old_string="one\n", new_string="")
    assert path.read_bytes() == b""
    assert output.text.endswith("(the file is empty now)")


def test_no_temporary_files_remain(bench: Bench) -> None:
    bench.write("a", "one\n")
    bench.call("edit_file", path="a", old_string="one", new_string="two")
    assert [path.name for path in bench.root.iterdir()] == ["a"]
