"""What a night works on: the stores of one project and one person, or a copy of them that is thrown away."""

import shutil
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from clio.config.project_links import SHARED_NAME
from clio.memory.feedback.trajectories import Trajectories
from clio.memory.store.ltm_store import LongTermMemory
from clio.memory.store.memories import Memories
from clio.memory.store.notes import Notes
from clio.memory.store.undo_log import UndoLog

_OF_PROJECT = ("memories*.json*", "ltm*.json", "sleep.json", "trajectories*.jsonl")
_OF_PERSON = ("memories*.json*", "sleep.person.json", "trusted.json")


class Ground:
    """The stores, with nobody asked whether two memories are one: a night must not wait for a model.

    project: the folder that the files named in memories are relative to. folder: what holds the project's stores.
    person: what holds the person's. All changes are noted in one log, so that a night can be one group of them.
    """

    def __init__(
        self, project: Path, folder: Path, person: Path, *, redact: Callable[[str], str], clock: Callable[[], float]
    ) -> None:
        self.folder = folder
        self.person = person
        self.redact = redact
        self.undo = UndoLog(folder / "memory.undo.jsonl")
        self.memories = Memories(folder.parent, person, undo=self.undo, redact=redact, clock=clock)
        self.knowledge = LongTermMemory(folder / "ltm.json", project=project, undo=self.undo, clock=clock, home=person)
        self.notes = Notes(folder / "memory", clock)
        self.trajectories = Trajectories(folder / "trajectories.jsonl")
        self.state_file = folder / "sleep.json"
        self.person_file = person / "sleep.person.json"


@contextmanager
def copied(folder: Path, person: Path) -> Generator[tuple[Path, Path]]:
    """Copies of both folders' stores, for a dry run; gone afterwards. Raises OSError.

    They lie where the operating system keeps what is temporary, readable by this user only.
    """
    with tempfile.TemporaryDirectory(prefix="clio-dry-run-") as name:
        there = (Path(name) / "project" / ".clio", Path(name) / "home")
        for source, target, patterns in zip((folder, person), there, (_OF_PROJECT, _OF_PERSON), strict=True):
            target.mkdir(parents=True)
            for path in (path for pattern in patterns for path in source.glob(pattern) if path.is_file()):
                shutil.copyfile(path, target / path.name)
        for name in ("memory", SHARED_NAME):
            if (folder / name).is_dir():
                shutil.copytree(folder / name, there[0] / name, symlinks=True)
        yield there
