"""What keeping the files of turns costs, in a repository of 20,000 files and in a folder without git.

    python bench/checkpoints.py [files]

Prints milliseconds: the first look, what a command pays before it starts (warm), what is done behind its back when it
has ended, an edit by a tool, an undo; beside them what else there was to choose: looking at every file from Python,
and copying every file. Sizes are those of the store. Everything is made in a temporary folder. Nothing is asserted.
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

from bench.search import make_tree  # noqa: E402 the path must be set first
from clio.checkpoints.checkpoint_store import TurnRef  # noqa: E402
from clio.checkpoints.checkpoints import Checkpoints  # noqa: E402
from clio.tools.files.file_index import walk_files  # noqa: E402

_RUNS = 7
_BIG_BYTES = 1_000_000


def main() -> None:
    """Print the tables."""
    files = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "tree"
        root.mkdir()
        make_tree(root, files)
        row("an empty call of git, for comparison", timed(lambda: git(root, "--version")))
        print(f"\na folder of {files:,} files without git")
        measure(root, Path(folder) / "plain")
        git(root, "init", "--quiet")
        git(root, "add", "--all")
        git(root, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "-m", "all")
        time.sleep(1.1)  # git trusts no time stamp of the second its index was written in
        git(root, "status", "--porcelain")
        print(f"\nthe same as a git repository, {files:,} tracked files")
        measure(root, Path(folder) / "git")
        print("\nother ways to know what changed")
        paths = git(root, "ls-files", "-z").decode().split("\0")[:-1]
        row("lstat of every file from Python", timed(lambda: [os.lstat(root / path) for path in paths]))
        row("read and hash every file", timed(lambda: [digest(root / path) for path in paths], 1))
        row("copy every file (cp -r)", timed(lambda: copied(root, Path(folder)), 1))
        big = Path(folder) / "big"
        big.mkdir()
        for number in range(200):
            (big / f"file{number}.bin").write_bytes(os.urandom(_BIG_BYTES))
        (big / "huge.bin").write_bytes(os.urandom(30 * _BIG_BYTES))
        print("\n230 MB of random bytes without git")
        measure(big, Path(folder) / "bigstore")


def measure(root: Path, store: Path) -> None:
    """All rows for one tree."""

    def opened() -> Checkpoints:
        return Checkpoints(
            root, store, list_files=lambda folder: sorted(walk_files(folder, folder, hidden=True, links=True))
        )

    checkpoints = opened()
    turn = TurnRef(session="s", message="first")
    row("the first look at it", once(lambda: checkpoints.before_command(turn).result()))
    checkpoints.after().result()
    for sentence in checkpoints.pop_messages():
        print(f"            says: {sentence}")
    usage = checkpoints.measure_usage()
    print(f"{(usage.bytes if usage else 0) / 1e6:9.1f} MB  in the store then")
    checkpoints.close()
    checkpoints = opened()
    row("the first look of a later clio", once(lambda: checkpoints.before_command(turn).result()))
    checkpoints.after().result()
    time.sleep(0.6)
    before: list[float] = []
    after: list[float] = []
    edits: list[float] = []
    undos: list[float] = []
    victim = next(root.rglob("file*.*"))
    for number in range(_RUNS):
        turn = TurnRef(session="s", message=f"turn {number}")
        before.append(once(lambda turn=turn: checkpoints.before_command(turn).result()))
        victim.write_bytes(victim.read_bytes() + b"# one more line\n")
        after.append(once(lambda: checkpoints.after().result()))
        time.sleep(0.6)  # a model would think now; a look this old is not used again
        undos.append(once(lambda turn=turn: take_back(checkpoints, turn)))
        turn = TurnRef(session="s", message=f"edit {number}")
        edits.append(once(lambda turn=turn: edit(checkpoints, turn, victim)))
        take_back(checkpoints, turn)
    row("a command waits before it starts, warm", median(before))
    row("behind its back when it has ended", median(after))
    row("an edit by a tool, in all", median(edits))
    row("an undo of one file", median(undos))
    checkpoints.close()


def edit(checkpoints: Checkpoints, turn: TurnRef, path: Path) -> None:
    """What a tool's edit costs but for the edit."""
    checkpoints.before_files(turn, [path]).result()
    path.write_bytes(path.read_bytes() + b"# edited\n")
    checkpoints.after().result()


def take_back(checkpoints: Checkpoints, turn: TurnRef) -> None:
    """Undo one turn."""
    checkpoints.carry_out(checkpoints.plan_undo({turn.message}, "undo"), "s")


def digest(path: Path) -> str:
    """The hash of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def copied(root: Path, folder: Path) -> None:
    """A whole copy."""
    subprocess.run(["cp", "-r", str(root), str(folder / "copy")], check=True)


def git(root: Path, *words: str) -> bytes:
    """What git prints."""
    return subprocess.run(["git", *words], cwd=root, check=True, capture_output=True).stdout


def once(work: Callable[[], object]) -> float:
    """Milliseconds of one run."""
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1000


def timed(work: Callable[[], object], runs: int = 3) -> float:
    """Milliseconds of the fastest of some runs."""
    return min(once(work) for _ in range(runs))


def row(name: str, milliseconds: float) -> None:
    """One line of the table."""
    print(f"{milliseconds:9.1f} ms  {name}")


if __name__ == "__main__":
    main()
