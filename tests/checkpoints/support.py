"""A workspace with its checkpoints, and turns that do things to its files."""

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from clio.checkpoints.checkpoint_store import TurnRef
from clio.checkpoints.checkpoints import Checkpoints, RestoreResult, StoreLimits
from clio.tools.files.file_index import walk_files
from tests.support.harness import make_repository

SESSION = "session"


def list_all(root: Path) -> Sequence[str]:
    """Files and links outside of git."""
    return sorted(walk_files(root, root, hidden=True, links=True))


class Place:
    """git: the workspace is a git repository with these files committed."""

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
        """A new clio on the same workspace."""
        return Checkpoints(
            self.root,
            self.store if self._on_disk else None,
            list_files=list_all,
            limits=limits,
            has_running_job=lambda: self.jobs,
            now=self.now,
        )

    def now(self) -> float:
        """A second later each time."""
        self.clock += 1.0
        return self.clock

    def write(self, name: str, text: str) -> Path:
        """A file in the workspace, its folders made."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return path

    def read(self, name: str) -> str:
        """Its text."""
        return (self.root / name).read_bytes().decode()

    def run(self, turn: str, line: str) -> None:
        """A turn in which a command runs."""
        self.checkpoints.before_command(TurnRef(session=SESSION, message=turn)).result()
        subprocess.run(line, shell=True, cwd=self.root, check=True, capture_output=True)
        self.checkpoints.after().result()

    def edit(self, turn: str, names: Sequence[str | Path], work: Callable[[], object]) -> None:
        """A turn in which a tool writes these files."""
        paths = [self.root / name for name in names]
        self.checkpoints.before_files(TurnRef(session=SESSION, message=turn), paths).result()
        work()
        self.checkpoints.after().result()

    def undo(self, *turns: str, force: bool = False, leave: Sequence[str] = ()) -> RestoreResult:
        """Take these turns back."""
        plan = self.checkpoints.plan_undo(turns, "undo")
        return self.checkpoints.carry_out(plan, SESSION, force=force, leave=leave)

    def redo(self) -> RestoreResult:
        """Take back what was taken back last."""
        plan = self.checkpoints.plan_redo({SESSION})
        assert plan is not None
        return self.checkpoints.carry_out(plan, SESSION)

    def verdicts(self, *turns: str) -> dict[str, str]:
        """What would become of each file if these turns were taken back."""
        plan = self.checkpoints.plan_undo(turns, "undo")
        return {step.file.path: step.verdict for step in plan.steps}

    def tree(self) -> dict[str, tuple[str, int] | str]:
        """Every file with its bytes and mode, every link with its target, every folder; git's own left out."""
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
