"""Measure listing, finding and searching files in a tree of 20,000 files, with ripgrep and in Python.

    python bench/search.py [files]

Generates the tree in a temporary folder, makes each call three times, and prints the fastest.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from clio.security.actions import Workspace
from clio.tools.files.file_index import find_ripgrep, list_files
from clio.tools.files.read_file import FindFilesArgs, FindFilesTool, ListFilesArgs, ListFilesTool
from clio.tools.files.search_text import SearchTextArgs, SearchTextTool

_IGNORED = "*.pyc\n__pycache__/\nbuild/\ndist/\n.venv/\nnode_modules/\n*.log\n!keep.log\n/out\n"


def make_tree(root: Path, files: int) -> None:
    """Make folders of 100 modules with 20 functions each, and an ignored file in each folder."""
    for number in range(files):
        folder = root / f"package{number // 2_000}" / f"module{number // 100}"
        if number % 100 == 0:
            (folder / "build").mkdir(parents=True)
            (folder / "build" / "made.py").write_text("function_0_0\n" * 100, encoding="utf-8")
        body = "".join(f"def function_{number}_{at}(a, b):\n    return a + b * {at}\n\n\n" for at in range(20))
        (folder / f"file{number}.py").write_text(body, encoding="utf-8")
    (root / ".gitignore").write_text(_IGNORED, encoding="utf-8")


def run_fastest(work: Callable[[], str], times: int = 3) -> tuple[float, str]:
    """Return the time of the fastest run in milliseconds, and its result."""
    best, summary = float("inf"), ""
    for _ in range(times):
        start = time.perf_counter()
        summary = work()
        best = min(best, time.perf_counter() - start)
    return best * 1000, summary


def main() -> None:
    """Print the table."""
    files = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        make_tree(root, files)
        workspace = Workspace(root)
        for rg in (find_ripgrep(), None):
            print(f"\n{'ripgrep' if rg else 'python'}, {files:,} files")
            for name, work in make_calls(workspace, rg).items():
                milliseconds, summary = run_fastest(work)
                print(f"  {milliseconds:8.1f} ms  {name:<32} {summary}")


def make_calls(workspace: Workspace, rg: str | None) -> dict[str, Callable[[], str]]:
    """Return the calls by name; each returns the summary of its result."""

    def search(**arguments: str) -> str:
        prepared = SearchTextTool(workspace, rg).prepare(SearchTextArgs(**arguments))
        return asyncio.run(prepared.run(lambda line: None)).summary

    def find() -> str:
        prepared = FindFilesTool(workspace, rg).prepare(FindFilesArgs(pattern="file77*.py"))
        return asyncio.run(prepared.run(lambda line: None)).summary

    def tree() -> str:
        return asyncio.run(ListFilesTool(workspace, rg).prepare(ListFilesArgs()).run(lambda line: None)).summary

    return {
        "the index": lambda: f"{len(list_files(workspace.root, hidden=True, rg=rg)):,} files",
        "list_files": tree,
        "find_files file77*.py": find,
        "search_text, one match": lambda: search(pattern="function_777_7"),
        "search_text, no match": lambda: search(pattern="no such text"),
        "search_text, every file": lambda: search(pattern="return"),
        "search_text, a regex": lambda: search(pattern=r"def \w+_99\d_1\("),
        "search_text, package3/**/*.py": lambda: search(pattern="return", glob="package3/**/*.py"),
    }


if __name__ == "__main__":
    main()
