"""apply_patch: the format with all its variations, matching of hunks, and batches that are all or nothing."""

from pathlib import Path

import pytest

from clio.errors import ToolError, ToolFailed, ToolRetry
from clio.security.actions import ChangeFiles, FileChange
from clio.tools.files.patch_text import (
    AddFile,
    DeleteFile,
    HunkFailed,
    PatchHunk,
    UpdateFile,
    apply_patch_hunks,
    parse_patch,
)
from tests.support.rows import each_row
from tests.tools.file_support import Bench, run

WHOLE = """*** Begin Patch
*** Add File: new.py
+x = 1
+
*** Update File: a.py
*** Move to: b.py
@@ class A:
@@ def f(self):
 one
-two
+2
*** End of File
*** Delete File: old.py
*** End Patch
"""

SECTIONS = (
    AddFile(path="new.py", content="x = 1\n\n"),
    UpdateFile(
        path="a.py",
        move_to="b.py",
        hunks=(PatchHunk(headers=("class A:", "def f(self):"), old=("one", "two"), new=("one", "2"), at_end=True),),
    ),
    DeleteFile(path="old.py"),
)


@each_row(
    "text",
    [
        WHOLE,
        WHOLE.replace("\n", "\r\n"),
        WHOLE.removesuffix("*** End Patch\n"),
        WHOLE.removeprefix("*** Begin Patch\n"),
        f"\n\n  \n{WHOLE}\n\n",
        f"```diff\n{WHOLE}```\n",
        f"```\n{WHOLE.removesuffix('*** End Patch' + chr(10))}```",
        f"apply_patch <<'EOF'\n{WHOLE}EOF\n",
        f'cat <<"PATCH" | apply_patch\n{WHOLE.removesuffix("*** End Patch" + chr(10))}PATCH\n',
        f"Here is the patch:\n{WHOLE}It moves a.py.\n",
    ],
)
def test_wrappers_around_the_patch_are_removed(text: str) -> None:
    assert parse_patch(text) == SECTIONS


def hunks(body: str) -> tuple[PatchHunk, ...]:
    (section,) = parse_patch(f"*** Begin Patch\n*** Update File: a\n{body}*** End Patch\n")
    assert isinstance(section, UpdateFile)
    return section.hunks


@each_row(
    ("body", "expected"),
    [
        ("-a\n+b\n", (PatchHunk(old=("a",), new=("b",)),)),
        ("@@\n-a\n+b\n@@\n-c\n", (PatchHunk(old=("a",), new=("b",)), PatchHunk(old=("c",)))),
        ("@@ -1,3 +1,4 @@ def f():\n-a\n", (PatchHunk(headers=("def f():",), old=("a",)),)),
        ("@@ def f(): @@\n-a\n", (PatchHunk(headers=("def f():",), old=("a",)),)),
        ("--- a/x\n+++ b/x\n@@\n-a\n", (PatchHunk(old=("a",)),)),
        (" a\n\n-b\n", (PatchHunk(old=("a", "", "b"), new=("a", "")),)),
        ("-a\n\n@@\n-b\n", (PatchHunk(old=("a",)), PatchHunk(old=("b",)))),
        ("kept its own\n-a\n", (PatchHunk(old=("kept its own", "a"), new=("kept its own",)),)),
        ("-a\n\\ No newline at end of file\n+b\n", (PatchHunk(old=("a",), new=("b",)),)),
    ],
)
def test_hunks_are_parsed(body: str, expected: tuple[PatchHunk, ...]) -> None:
    assert hunks(body) == expected


@each_row(
    ("text", "words"),
    [
        ("", "names no file"),
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "names no file"),
        ("*** Begin Patch\n*** End Patch\n", "names no file"),
        ("*** Begin Patch\n*** Update File: a\n*** End Patch", "changes nothing"),
        ("*** Begin Patch\n*** Update File: a\n@@\n one\n two\n*** End Patch", "changes nothing"),
        ("*** Begin Patch\n*** Update File: a\n-a\n*** Update File: b\n one\n*** End Patch", "no file was changed"),
        ("*** Begin Patch\n*** Update File: a\n*** Rename to: b\n-a\n", "not understood"),
        ("*** Begin Patch\n*** Update File:\n-a\n", "names no path"),
        ("*** Begin Patch\n*** Add File: a\n+x\ny\n", "every line begins with \\+"),
        ("*** Begin Patch\n-lost\n*** Update File: a\n-a\n", "must begin with"),
    ],
)
def test_invalid_patches_are_refused(text: str, words: str) -> None:
    with pytest.raises(ToolRetry, match=words):
        parse_patch(text)


CODE = """class A:
    def f(self):
        return 1

    def g(self):
        return 1


class B:
    def f(self):
        return 1
"""


@each_row(
    ("body", "line"),
    [
        ("@@ def g(self):\n-        return 1\n+        return 2\n", 6),
        ("@@ class B:\n-        return 1\n+        return 2\n", 11),
        ("@@ class B:\n@@ def f(self):\n-        return 1\n+        return 2\n", 11),
        ("@@ class A:\n@@ def f\n-        return 1\n+        return 2\n", 3),
        ("@@\n     def g(self):\n-        return 1\n+        return 2\n", 6),
        ("-        return 1\n+        return 2\n*** End of File\n", 11),
        ("@@ def missing():\n     def g(self):\n-        return 1\n+        return 2\n", 6),
        ("@@ -5,2 +5,2 @@\n     def g(self):\n-        return 1\n+        return 2\n", 6),
        ("@@\n def g(self):\n-    return 1\n+    return 2\n", 6),
    ],
)
def test_the_place_of_a_hunk(body: str, line: int) -> None:
    after = apply_patch_hunks(CODE, hunks(body)).text.splitlines()
    expected = CODE.splitlines()
    expected[line - 1] = "        return 2"
    assert after == expected


@each_row(
    ("body", "words"),
    [
        ("-        return 1\n+        return 2\n", "3 places, on lines 3, 6, 11"),
        ("@@ class A:\n-        return 1\n+        return 2\n", "2 places, on lines 3, 6"),
        ("-        return 7\n+        return 2\n", "closest"),
        ("@@ class B:\n-    def f(self):\n@@\n-    def g(self):\n", "hunk 2 of 2.*before the hunk above it"),
        ("@@ class C:\n+x\n", "no line reads 'class C:'"),
    ],
)
def test_hunks_without_a_place_are_refused(body: str, words: str) -> None:
    with pytest.raises(HunkFailed, match=words):
        apply_patch_hunks(CODE, hunks(body))


@each_row(
    ("text", "body", "after"),
    [
        ("a\nb\nc", "-c\n+d\n", "a\nb\nd"),
        ("a\nb\nc", "@@\n b\n-c\n", "a\nb"),
        ("a\nb\n", "@@\n-a\n-b\n", ""),
        ("a\r\nb\r\nc\r\n", "@@\n a\n-b\n+x\n+y\n", "a\r\nx\r\ny\r\nc\r\n"),
        ("a\n", "@@\n+b\n*** End of File\n", "a\nb\n"),
        ("a", "@@\n+b\n", "a\nb"),
        ("", "@@\n+b\n", "b\n"),
        ("f:\n  a\ng:\n  a\n", "@@ f:\n+  new\n@@ g:\n+  new\n", "f:\n  new\n  a\ng:\n  new\n  a\n"),
        ("a\nb\na\nb\n", "@@\n a\n-b\n a\n+c\n b\n", "a\na\nc\nb\n"),
        ("ab\nb\n", "-b\n+c\n", "ab\nc\n"),
        ("\ta\n\tb\n", "@@\n     a\n-    b\n+    c\n", "\ta\n\tc\n"),
    ],
)
def test_the_text_after_the_hunks(text: str, body: str, after: str) -> None:
    assert apply_patch_hunks(text, hunks(body)).text == after


# --- the tool


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path.resolve())


def tree(root: Path) -> dict[str, bytes | None]:
    """Return every file with its content; None for a folder."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes() if path.is_file() else None for path in root.rglob("*")
    }


def test_a_batch_is_applied(bench: Bench) -> None:
    bench.write("a.py", "class A:\n    def f(self):\n        one\n        two\n").chmod(0o755)
    bench.write("old.py", "gone\n")
    prepared = bench.prepare("apply_patch", patch=WHOLE)
    root = bench.root
    assert prepared.title == "patch new.py, b.py, old.py"
    before, after = (f"class A:\n    def f(self):\n        one\n        {word}\n" for word in ("two", "2"))
    changes = (
        FileChange(path=root / "new.py", kind="add", after="x = 1\n\n"),
        FileChange(path=root / "a.py", kind="move", before=before, after=after, moved_to=root / "b.py"),
        FileChange(path=root / "old.py", kind="delete", before="gone\n"),
    )
    assert prepared.action == ChangeFiles(changes=changes)
    output = run(prepared)
    assert output.changed == changes
    assert output.summary == "+3 -2 (indent shift)"
    assert output.text == (
        "patch applied:\nadded new.py (+2 -0)\n"
        "moved a.py to b.py (+1 -1, after allowing for a difference in indent shift; check it)\n"
        "2|    def f(self):\n3|        one\n4|        2\ndeleted old.py (+0 -1)"
    )
    assert tree(root) == {"new.py": b"x = 1\n\n", "b.py": after.encode()}
    assert (root / "b.py").stat().st_mode & 0o777 == 0o755


def test_a_move_without_changes(bench: Bench) -> None:
    bench.write("a.txt", b"caf\xe9\r\n")
    bench.call("apply_patch", patch="*** Begin Patch\n*** Update File: a.txt\n*** Move to: deep/b.txt\n*** End Patch")
    assert tree(bench.root) == {"deep": None, "deep/b.txt": b"caf\xe9\r\n"}


def test_one_file_in_two_sections(bench: Bench) -> None:
    path = bench.write("a", "1\n2\n3\n")
    patch = "*** Begin Patch\n*** Update File: a\n-1\n+one\n*** Update File: a\n-3\n+three\n*** End Patch"
    bench.call("apply_patch", patch=patch)
    assert path.read_bytes() == b"one\n2\nthree\n"


@each_row(
    ("body", "words"),
    [
        ("*** Update File: b\n-nothing like it\n+x\n", "no file was changed; in 'b' the hunk does not apply"),
        ("*** Update File: c\n-1\n+x\n", "'c' does not exist"),
        ("*** Delete File: c\n", "'c' does not exist"),
        ("*** Delete File: folder\n", "is a folder"),
        ("*** Add File: b\n+x\n", "already exists"),
        ("*** Add File: b/c\n+x\n", "is a file, not a folder"),
        ("*** Update File: b\n*** Move to: folder/x\n", "already exists"),
        ("*** Delete File: a\n", "two sections for 'a'"),
        ("*** Update File: b\n*** Move to: new\n*** Add File: new\n+x\n", "two sections for 'new'"),
        ("*** Delete File: data\n", "binary file"),
        ("*** Update File: stale\n-1\n+x\n", "changed on disk since"),
    ],
)
def test_one_invalid_section_stops_all(bench: Bench, body: str, words: str) -> None:
    bench.write("a", "1\n")
    bench.write("b", "2\n")
    bench.write("folder/x", "3\n")
    bench.write("data", b"\0")
    bench.write("stale", "1\n")
    bench.call("read_file", path="stale")
    bench.write("stale", "1\n2\n")
    before = tree(bench.root)
    with pytest.raises(ToolError, match=words):
        bench.prepare("apply_patch", patch=f"*** Begin Patch\n*** Update File: a\n-1\n+one\n{body}*** End Patch")
    assert tree(bench.root) == before


def test_a_failed_write_restores_everything(bench: Bench) -> None:
    """The second new file needs the first, a file, as its folder, which only fails at writing."""
    bench.write("changed", "1\n").chmod(0o750)
    bench.write("moved", "2\n")
    bench.write("deleted", "3\n")
    before = tree(bench.root)
    prepared = bench.prepare(
        "apply_patch",
        patch="*** Begin Patch\n*** Update File: changed\n-1\n+one\n*** Update File: moved\n*** Move to: made/here\n"
        "*** Delete File: deleted\n*** Add File: x\n+a file\n*** Add File: x/y\n+below it\n*** End Patch",
    )
    with pytest.raises(ToolError, match=r"'x/y'.*no file was changed"):
        run(prepared)
    assert tree(bench.root) == before
    assert (bench.root / "changed").stat().st_mode & 0o777 == 0o750
    assert not bench.log.has_seen(bench.root / "changed")


def test_a_file_that_changes_meanwhile_stops_the_batch(bench: Bench) -> None:
    bench.write("a", "1\n")
    bench.write("b", "2\n")
    prepared = bench.prepare(
        "apply_patch", patch="*** Begin Patch\n*** Update File: a\n-1\n+x\n*** Update File: b\n-2\n+y\n*** End Patch"
    )
    bench.write("b", "2\nmore\n")
    with pytest.raises(ToolRetry, match="'b' has just changed on disk"):
        run(prepared)
    assert tree(bench.root) == {"a": b"1\n", "b": b"2\nmore\n"}


def test_a_name_that_the_file_system_refuses(bench: Bench) -> None:
    """A deleted file is restored if a later file cannot be created."""
    bench.write("deleted", "1\n")
    name = "n" * 240  # too long with the suffix of the temporary file
    prepared = bench.prepare(
        "apply_patch", patch=f"*** Begin Patch\n*** Delete File: deleted\n*** Add File: {name}\n+x\n*** End Patch"
    )
    with pytest.raises(ToolFailed, match="no file was changed"):
        run(prepared)
    assert tree(bench.root) == {"deleted": b"1\n"}


def test_after_a_patch_the_model_knows_the_files(bench: Bench) -> None:
    bench.write("a", "1\n")
    bench.call("apply_patch", patch="*** Begin Patch\n*** Update File: a\n-1\n+2\n*** Add File: b\n+x\n*** End Patch")
    bench.call("write_file", path="a", content="3\n")
    bench.call("write_file", path="b", content="y\n")
    assert tree(bench.root) == {"a": b"3\n", "b": b"y\n"}


INDENTED = """\
  *** Begin Patch
  *** Update File: a.py
  @@
  -x = 1
  +x = 2
  *** Update File: b.py
  @@
  -y = 1
  +y = 2
  *** End Patch
"""
HEADERS_INDENTED = """\
*** Begin Patch
  *** Delete File: old.py
  *** Update File: a.py
@@
-x = 1
+x = 2
 *** Update File: b.py
@@
-y = 1
+y = 2
*** End Patch
"""


@pytest.mark.parametrize("patch", [INDENTED, HEADERS_INDENTED])
def test_indented_headers_name_the_files(patch: str) -> None:
    assert [section.path for section in parse_patch(patch)][-2:] == ["a.py", "b.py"]


def test_a_line_of_context_that_looks_like_a_header_is_context() -> None:
    patch = "*** Begin Patch\n*** Update File: doc.md\n@@\n *** Update File: x\n-old\n+new\n*** End Patch"
    assert [section.path for section in parse_patch(patch)] == ["doc.md"]
