"""A workspace with its checkpoints, and turns that change its files."""

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from clio.checkpoints.checkpoint_store import TurnRef
from clio.checkpoints.checkpoints import Checkpoints, RestoreResult, StoreLimits
from clio.tools.files.file_index import walk_files
from tests.support.harness import make_repository

SESSION = "session"


def list_all(root: Path) -> Sequence[str]:
    """Return files and links outside .git."""
    return sorted(walk_files(root, root, hidden=True, links=True))


class Place:
    """A workspace. git: it is a git repository with these files committed."""

    def __init__(self, folder: Path, files: dict[str, str], *, git: bool = True, on_disk: bool = True) -> None:
        self.root = (folder / "project").resolve()
        self.store = folder / "home" / "checkpoints"
        self.jobs = False
        self._on_disk = on_disk
        if git:
            make_repository(self.root, files)
        else:
            self.root.mkdir(parents=True)
            for name, text in files.items():
                self.write(name, text)
        self.clock = 1_000_000.0
        self.checkpoints = self.open()

    def open(self, limits: StoreLimits | None = None) -> Checkpoints:
        """Return the checkpoints of a new clio on the same workspace."""
        return Checkpoints(
            self.root,
            self.store if self._on_disk else None,
            list_files=list_all,
            limits=limits,
            has_running_job=lambda: self.jobs,
            now=self.now,
        )

    def now(self) -> float:
        """Return a time one second later at each call."""
        self.clock += 1.0
        return self.clock

    def write(self, name: str, text: str) -> Path:
        """Write a file in the workspace, and create its folders."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return path

    def read(self, name: str) -> str:
        """Return the text of a file."""
        return (self.root / name).read_bytes().decode()

    def run(self, turn: str, line: str) -> None:
        """Run a command in a turn."""
        self.checkpoints.before_command(TurnRef(session=SESSION, message=turn)).result()
        subprocess.run(line, shell=True, cwd=self.root, check=True, capture_output=True)
        self.checkpoints.after().result()

    def edit(self, turn: str, names: Sequence[str | Path], work: Callable[[], object]) -> None:
        """Write these files by a tool in a turn."""
        paths = [self.root / name for name in names]
        self.checkpoints.before_files(TurnRef(session=SESSION, message=turn), paths).result()
        work()
        self.checkpoints.after().result()

    def undo(self, *turns: str, force: bool = False, leave: Sequence[str] = ()) -> RestoreResult:
        """Undo these turns."""
        plan = self.checkpoints.plan_undo(turns, "undo")
        return self.checkpoints.carry_out(plan, SESSION, force=force, leave=leave)

    def redo(self) -> RestoreResult:
        """Redo what was undone last."""
        plan = self.checkpoints.plan_redo({SESSION})
        assert plan is not None
        return self.checkpoints.carry_out(plan, SESSION)

    def verdicts(self, *turns: str) -> dict[str, str]:
        """Return the effect on each file if these turns were undone."""
        plan = self.checkpoints.plan_undo(turns, "undo")
        return {step.file.path: step.verdict for step in plan.steps}

    def tree(self) -> dict[str, tuple[str, int] | str]:
        """Return every file with content and mode, every link with its target, and every folder, without .git."""
        found: dict[str, tuple[str, int] | str] = {}
        for path in sorted(self.root.rglob("*")):
            name = path.relative_to(self.root).as_posix()
            if name.split("/")[0] == ".git":
                continue
            if path.is_symlink():
                found[name] = f"-> {path.readlink()}"
            elif path.is_dir():
                found[name] = "folder"
            else:
                found[name] = (path.read_bytes().decode("latin-1"), path.stat().st_mode & 0o777)
        return found
