"""Measure checkpoints of the files that turns change, in a repository of 20,000 files and in a folder without git.

    python bench/checkpoints.py [files]

Prints milliseconds: the first scan, the delay before a command starts (warm), the work in the background after it has
ended, an edit by a tool, an undo; for comparison lstat, hashing and copying of every file. The size is that of the
store. All files are generated in a temporary folder. Asserts nothing.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.measurements import time_ms  # noqa: E402
from bench.search import make_tree  # noqa: E402 the path must be set first
from clio.checkpoints.checkpoint_store import TurnRef  # noqa: E402
from clio.checkpoints.checkpoints import Checkpoints  # noqa: E402
from clio.tools.files.file_index import walk_files  # noqa: E402

_RUNS = 7
_LARGE_FILE_BYTES = 1_000_000


def main() -> None:
    """Print the tables."""
    files = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "tree"
        root.mkdir()
        make_tree(root, files)
        print_row("git --version, for comparison", best_ms(lambda: git(root, "--version")))
        print(f"\na folder of {files:,} files without git")
        measure(root, Path(folder) / "plain")
        git(root, "init", "--quiet")
        git(root, "add", "--all")
        git(root, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "-m", "all")
        time.sleep(1.1)  # git does not trust time stamps of the second in which its index was written
        git(root, "status", "--porcelain")
        print(f"\nthe same as a git repository, {files:,} tracked files")
        measure(root, Path(folder) / "git")
        print("\nother ways to detect changes")
        paths = git(root, "ls-files", "-z").decode().split("\0")[:-1]
        print_row("lstat of every file from Python", best_ms(lambda: [os.lstat(root / path) for path in paths]))
        print_row("read and hash every file", best_ms(lambda: [hash_file(root / path) for path in paths], 1))
        print_row("copy every file (cp -r)", best_ms(lambda: copy_tree(root, Path(folder)), 1))
        large_tree = Path(folder) / "big"
        large_tree.mkdir()
        for number in range(200):
            (large_tree / f"file{number}.bin").write_bytes(os.urandom(_LARGE_FILE_BYTES))
        (large_tree / "huge.bin").write_bytes(os.urandom(30 * _LARGE_FILE_BYTES))
        print("\n230 MB of random bytes without git")
        measure(large_tree, Path(folder) / "bigstore")


def measure(root: Path, store: Path) -> None:
    """Print all rows for one tree."""

    def open_checkpoints() -> Checkpoints:
        return Checkpoints(
            root, store, list_files=lambda folder: sorted(walk_files(folder, folder, hidden=True, links=True))
        )

    checkpoints = open_checkpoints()
    turn = TurnRef(session="s", message="first")
    print_row("first scan", time_ms(lambda: checkpoints.before_command(turn).result()))
    checkpoints.after().result()
    for sentence in checkpoints.pop_messages():
        print(f"            message: {sentence}")
    usage = checkpoints.measure_usage()
    print(f"{(usage.bytes if usage else 0) / 1e6:9.1f} MB  in the store")
    checkpoints.close()
    checkpoints = open_checkpoints()
    print_row("first scan of a later process", time_ms(lambda: checkpoints.before_command(turn).result()))
    checkpoints.after().result()
    time.sleep(0.6)
    before_ms: list[float] = []
    after_ms: list[float] = []
    edit_ms: list[float] = []
    undo_ms: list[float] = []
    changed_file = next(root.rglob("file*.*"))
    for number in range(_RUNS):
        turn = TurnRef(session="s", message=f"turn {number}")
        before_ms.append(time_ms(lambda turn=turn: checkpoints.before_command(turn).result()))
        changed_file.write_bytes(changed_file.read_bytes() + b"# one more line\n")
        after_ms.append(time_ms(lambda: checkpoints.after().result()))
        time.sleep(0.6)  # the time of the model's answer; a scan this old is not reused
        undo_ms.append(time_ms(lambda turn=turn: undo_turn(checkpoints, turn)))
        turn = TurnRef(session="s", message=f"edit {number}")
        edit_ms.append(time_ms(lambda turn=turn: make_edit(checkpoints, turn, changed_file)))
        undo_turn(checkpoints, turn)
    print_row("delay before a command starts, warm", median(before_ms))
    print_row("in the background after it has ended", median(after_ms))
    print_row("an edit by a tool, in total", median(edit_ms))
    print_row("undo of one file", median(undo_ms))
    checkpoints.close()


def make_edit(checkpoints: Checkpoints, turn: TurnRef, path: Path) -> None:
    """Edit a file as a tool does."""
    checkpoints.before_files(turn, [path]).result()
    path.write_bytes(path.read_bytes() + b"# edited\n")
    checkpoints.after().result()


def undo_turn(checkpoints: Checkpoints, turn: TurnRef) -> None:
    """Undo one turn."""
    checkpoints.carry_out(checkpoints.plan_undo({turn.message}, "undo"), "s")


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def copy_tree(root: Path, folder: Path) -> None:
    """Copy the tree."""
    subprocess.run(["cp", "-r", str(root), str(folder / "copy")], check=True)


def git(root: Path, *arguments: str) -> bytes:
    """Run git and return its output."""
    return subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True).stdout


def best_ms(work: Callable[[], object], runs: int = 3) -> float:
    """Return the time of the fastest run in milliseconds."""
    return min(time_ms(work) for _ in range(runs))


def print_row(name: str, milliseconds: float) -> None:
    """Print one row of the table."""
    print(f"{milliseconds:9.1f} ms  {name}")


if __name__ == "__main__":
    main()
