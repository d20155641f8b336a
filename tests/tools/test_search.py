"""search_text: both engines give the same lines in the same order, and report what they omitted."""

import asyncio
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from clio.errors import ToolFailed, ToolRetry
from clio.security.actions import Workspace
from clio.tools.base import ToolOutput
from clio.tools.files.file_index import list_files
from clio.tools.files.search_text import SearchTextArgs, SearchTextTool, escape_pattern
from tests.support.processes import is_alive
from tests.support.rows import each_row
from tests.support.waiting import has_text, wait_until, wait_until_async
from tests.support.wording import mentions
from tests.tools.file_support import Bench, run


@pytest.fixture(params=["auto", None], ids=["ripgrep", "python"])
def rg(request: pytest.FixtureRequest) -> str | None:
    engine: str | None = request.param
    return engine


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path.resolve())


def search(bench: Bench, rg: str | None, pattern: str, **arguments: Any) -> ToolOutput:
    return run(SearchTextTool(bench.workspace, rg).prepare(SearchTextArgs(pattern=pattern, **arguments)))


def paths(text: str) -> list[str]:
    """Return the paths above the lines of their files."""
    return [block.partition("\n")[0] for block in text.split("\n\n")]


def test_lines_have_their_location(bench: Bench, rg: str | None) -> None:
    bench.write("b.py", "x = 1\ny = x\n")
    bench.write("a/c.py", "  x(2)  \n")
    bench.write("a.py", "nothing\n")
    output = search(bench, rg, r"\bx\b")
    assert output.text == "a/c.py\n1:  x(2)\n\nb.py\n1:x = 1\n2:y = x"
    assert output.summary == "3 matches in 2 files"


def test_lines_of_context(bench: Bench, rg: str | None) -> None:
    bench.write("f", "1\n2\nhit\n4\n5\n6\nhit\nhit\n9\n")
    expected = "f\n2-2\n3:hit\n4-4\n--\n6-6\n7:hit\n8:hit\n9-9"
    assert search(bench, rg, "hit", context=1).text == expected


def test_case_can_be_ignored(bench: Bench, rg: str | None) -> None:
    bench.write("f", "Über\nüber\n")
    assert search(bench, rg, "ÜBER").text.startswith("no matches")
    assert search(bench, rg, "ÜBER", ignore_case=True).summary == "2 matches in 1 file"


@pytest.mark.sampled(20)
@pytest.mark.skipif(os.name == "nt", reason="pipes and devices have no names there")
@pytest.mark.parametrize("kind", ["pipe", "device", "large", "link to a pipe"])
@pytest.mark.parametrize(
    "name",
    [
        *(".ignore", ".rgignore", ".gitignore", "a/.ignore", "a/b/c/.gitignore", "a/b/.rgignore", ".hidden/.ignore"),
        *(".git", "a/.git", ".git/info/exclude", ".git/commondir", "a/.git/info/exclude", "elsewhere/commondir"),
    ],
)
def test_a_rules_file_that_is_a_pipe_delays_no_search(bench: Bench, rg: str | None, name: str, kind: str) -> None:
    bench.write("a/b/c/f.py", "hit\n")
    bench.write("f.py", "hit\n")
    if name.startswith("elsewhere"):
        bench.write(".git", "gitdir: elsewhere\n")
    path = bench.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "large":
        path.touch()
        os.truncate(path, 3_000_000_000)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        os.mkfifo(bench.root / "pipe" if kind == "link to a pipe" else path)
        if kind == "link to a pipe":
            path.symlink_to(bench.root / "pipe")
    began = time.monotonic()
    assert search(bench, rg, "hit").summary == "2 matches in 2 files"
    assert {"f.py", "a/b/c/f.py"} <= set(list_files(bench.root, rg=rg))
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("git", [True, False])
def test_files_that_are_not_searched(bench: Bench, rg: str | None, git: bool) -> None:
    if git:
        subprocess.run(["git", "init", "-q", str(bench.root)], check=True)
    bench.write(".gitignore", "*.log\nbuild/\n")
    for name in ("a.log", "build/a.py", ".git/hit", ".clio/sessions/s.json", ".hg/store"):
        bench.write(name, "hit\n")
    bench.write("binary", b"hit\n" * 3 + b"\0" + b"hit\n")
    bench.write(".github/ci.yml", "hit\n")
    bench.write("latin", b"hit caf\xe9\n")
    bench.write("wide", "hit\n".encode("utf-16"))
    output = search(bench, rg, "hit")
    assert paths(output.text) == [".github/ci.yml", "latin", "wide"]


@each_row(
    ("glob", "names"),
    [
        ("*.py", ["a.py", "src/b.py", "src/deep/c.py"]),
        ("*.{py,ts}", ["a.py", "src/b.py", "src/b.ts", "src/deep/c.py"]),
        ("src/*.py", ["src/b.py"]),
        ("src/**/*.py", ["src/b.py", "src/deep/c.py"]),
        ("**/c.py", ["src/deep/c.py"]),
        ("src/", ["src/b.ts", "src/b.py", "src/deep/c.py"]),
        ("!src/**", ["a.py", "ignored.txt"]),
        ("!*.py", ["ignored.txt", "src/b.ts"]),
        ("{src,lib}/**/*.ts", ["src/b.ts"]),
        ("[ab].p?", ["a.py", "src/b.py"]),
        ("*.log", []),
        ("", ["a.py", "ignored.txt", "src/b.py", "src/b.ts", "src/deep/c.py"]),
    ],
)
def test_globs_select_files(bench: Bench, rg: str | None, glob: str, names: list[str]) -> None:
    """A glob selects among files that are not ignored; it never adds ignored ones."""
    bench.write(".gitignore", "*.log\n")
    for name in ("a.py", "src/b.py", "src/b.ts", "src/deep/c.py", "ignored.txt", "x.log"):
        bench.write(name, "hit\n")
    output = search(bench, rg, "hit", glob=glob)
    found = paths(output.text) if output.summary != "no matches" else []
    assert sorted(found) == sorted(names)


def test_a_folder_and_a_file_can_be_searched(bench: Bench, rg: str | None) -> None:
    for name in ("a.py", "src/b.py", "src/deep/c.py"):
        bench.write(name, "hit\n")
    assert search(bench, rg, "hit", path="src").text == "src/b.py\n1:hit\n\nsrc/deep/c.py\n1:hit"
    assert search(bench, rg, "hit", path="src/deep/c.py").text == "src/deep/c.py\n1:hit"
    assert search(bench, rg, "hit", path="src", glob="src/*.py").text == "src/b.py\n1:hit"
    assert search(bench, rg, "hit", path="src", glob="!deep/*").text == "src/b.py\n1:hit"


def test_a_search_outside_the_workspace(bench: Bench, rg: str | None, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other").resolve()
    (other / "a.py").write_text("hit\n", encoding="utf-8")
    assert search(bench, rg, "hit", path=str(other)).text == f"{other}/a.py\n1:hit"


def test_matches_beyond_the_limit_are_counted(bench: Bench, rg: str | None) -> None:
    for number in range(30):
        bench.write(f"f{number:02}.py", "hit\n" * 20)
    bench.write("z.txt", "hit\n")
    output = search(bench, rg, "hit", glob="*.py")
    rows = output.text.splitlines()
    assert mentions(rows[-1], "200 of 600 matches", "30 files")
    assert paths(output.text.rpartition("\n")[0]) == [f"f{number:02}.py" for number in range(10)]
    assert [row for row in rows if row.endswith(":hit")] == [f"{line}:hit" for line in range(1, 21)] * 10
    assert output.summary == "600 matches in 30 files"


def test_results_have_a_size_limit(bench: Bench) -> None:
    bench.write("f", "hit " + "x" * 200 + "\n" + "hit\n" * 100)
    tool = SearchTextTool(bench.workspace, max_chars=1_000)
    text = run(tool.prepare(SearchTextArgs(pattern="hit"))).text
    assert len(text) < 1_000
    assert "of 101 matches in 1 file shown" in text


def test_one_file_with_many_matches(bench: Bench, rg: str | None) -> None:
    bench.write("f", "hit\n" * 5_000)
    rows = search(bench, rg, "hit", path="f", context=1).text.splitlines()
    assert len(rows) == 202
    assert rows[-1].startswith("[200 of 5,000 matches in 1 file shown")


def test_long_lines_show_the_match(bench: Bench, rg: str | None) -> None:
    bench.write("min.js", "x" * 300_000 + "needle" + "y" * 200_000 + "\n")
    text = search(bench, rg, "needle").text
    assert "needle" in text
    assert text.endswith("… [line of 500,006 characters]")
    assert len(text) < 400


def test_line_endings_are_not_part_of_a_line(bench: Bench, rg: str | None) -> None:
    bench.write("f", "one\r\ntwo\r\n")
    assert search(bench, rg, "^one$").text == "f\n1:one"


@each_row("pattern", ["foo(", "[z-a]", "*x", "a{2,1}"])
def test_an_invalid_pattern_suggests_the_literal_one(bench: Bench, rg: str | None, pattern: str) -> None:
    bench.write("f", f"a {pattern} b\n")
    with pytest.raises(ToolRetry, match="is not a valid regular expression") as raised:
        search(bench, rg, pattern)
    assert f"use pattern {escape_pattern(pattern)}" in str(raised.value)
    assert search(bench, rg, escape_pattern(pattern)).text == f"f\n1:a {pattern} b"


@pytest.mark.parametrize("pattern", ["a\nb", r"a\nb"])
def test_no_pattern_spans_lines(bench: Bench, rg: str | None, pattern: str) -> None:
    with pytest.raises(ToolRetry, match="line by line"):
        search(bench, rg, pattern)


def test_a_backslash_before_n_is_a_pattern(bench: Bench, rg: str | None) -> None:
    bench.write("f", r"C:\new" + "\n")
    assert search(bench, rg, r"C:\\new").summary == "1 match in 1 file"


@each_row("pattern", [r"(?<=def )run", r"(a)\1", r"end(?!x)", r"-x", r"--files", r"\Astart", r"\s+$"])
def test_patterns_supported_by_both_engines(bench: Bench, rg: str | None, pattern: str) -> None:
    bench.write("f", "def run\naa\nend\nmore\n-x --files\nthe start\nstart\nblank \n")
    lines = {r"(?<=def )run": "1", r"(a)\1": "2", r"end(?!x)": "3", "-x": "5", "--files": "5", r"\Astart": "7"}
    number = lines.get(pattern, "8")
    assert search(bench, rg, pattern).text.splitlines()[1].split(":")[0] == number


def test_python_searches_line_by_line(bench: Bench) -> None:
    """The next line does not follow the end of this one."""
    bench.write("f", "end\n blank\n")
    assert search(bench, None, r"end(?!\s)").text == "f\n1:end"
    assert search(bench, None, r"d\s").text.startswith("no matches")


def test_missing_and_empty_folders(bench: Bench, rg: str | None) -> None:
    bench.write("model.py", "x")
    with pytest.raises(ToolRetry, match=r"did you mean 'model\.py'"):
        search(bench, rg, "x", path="modle.py")
    with pytest.raises(ToolRetry, match="pattern is empty"):
        search(bench, rg, "")
    with pytest.raises(ToolRetry, match="is not valid"):
        search(bench, rg, "x", glob="a[b")


def test_a_program_that_cannot_be_started_is_replaced(bench: Bench) -> None:
    bench.write("f", "hit\n")
    assert search(bench, str(bench.root / "no-such-program"), "hit").text == "f\n1:hit"


def test_a_search_can_be_stopped(bench: Bench, tmp_path: Path) -> None:
    """Cancelling the call ends the search program; no process remains and nothing hangs."""
    pid_file = tmp_path / "pid"
    program = tmp_path / "slow-rg"
    program.write_text(f"#!/bin/sh\necho $$ > {pid_file}\nexec sleep 60\n", encoding="utf-8")
    program.chmod(0o755)
    prepared = SearchTextTool(bench.workspace, str(program)).prepare(SearchTextArgs(pattern="x", context=3))

    async def stop() -> None:
        task = asyncio.create_task(prepared.run(lambda line: None))
        await wait_until_async(lambda: has_text(pid_file))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert task.cancelled()

    asyncio.run(stop())
    wait_until(lambda: not is_alive(int(pid_file.read_text(encoding="utf-8"))))


def test_the_title_shows_the_pattern_without_control_characters(bench: Bench) -> None:
    tool = SearchTextTool(bench.workspace, None)
    assert tool.prepare(SearchTextArgs(pattern=r"^\s*def 合計")).title == r"search '^\s*def 合計'"
    assert tool.prepare(SearchTextArgs(pattern="a\x1b[2Jb")).title == r"search 'a\x1b[2Jb'"


@pytest.mark.skipif(os.name == "nt", reason="a shell script stands in for ripgrep")
def test_a_search_that_does_not_end_is_stopped(bench: Bench, tmp_path: Path) -> None:
    endless = tmp_path / "rg"
    endless.write_text("#!/bin/sh\nexec sleep 60\n", encoding="utf-8")
    endless.chmod(0o755)
    tool = SearchTextTool(bench.workspace, str(endless), limit_s=0.2)
    with pytest.raises(ToolFailed, match=r"more than 0 s.*stopped.*smaller folder"):
        run(tool.prepare(SearchTextArgs(pattern="x")))


def test_a_pattern_with_a_null_character_is_refused_as_the_models_error(tmp_path: Path) -> None:
    with pytest.raises(ToolRetry):
        SearchTextTool(Workspace(tmp_path)).prepare(SearchTextArgs(pattern="a\0"))
