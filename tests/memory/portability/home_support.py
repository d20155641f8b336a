"""A project and a user with content in every store, all of it marked with a word."""

from pathlib import Path

import msgspec

from clio.memory.portability.memory_files import MemoryPaths
from clio.memory.preferences.preferences import Preferences
from clio.memory.preferences.task_types import TaskTypes
from clio.memory.store.change_log import ScopeLogs
from clio.memory.store.ltm_store import LongTermMemory
from clio.memory.store.memory_store import MemoryStore
from clio.memory.store.notes import Notes
from clio.memory.store.record import TYPED_KINDS, MemoryDraft, Provenance
from clio.memory.styles.feedback import Rating, Trajectories, Trajectory
from clio.memory.styles.style_state import StyleFile
from clio.storage.files import make_folder
from clio.text.bandit import PREFERENCE_DIMENSIONS

BY_USER = Provenance(asserted_by="user")
BY_MODEL = Provenance(asserted_by="model")
NOW = 1_750_000_000.0


class MemoryHome:
    """One project and one user with all stores. clock: `now`, which tests move."""

    def __init__(self, folder: Path) -> None:
        self.places = MemoryPaths(project=folder / "project", home=folder / "home")
        make_folder(self.places.folder)
        make_folder(self.places.home)
        self.top = folder
        self.now = NOW
        self.logs = ScopeLogs(self.places.folder, self.places.home, clock=lambda: self.now)
        self.memories = MemoryStore(
            self.places.project / ".clio", self.places.home, logs=self.logs, redact=str, clock=lambda: self.now
        )
        self.ltm = LongTermMemory(
            self.places.knowledge, project=self.places.project, log=self.logs.project, clock=lambda: self.now
        )
        self.notes = Notes(self.places.notes, lambda: self.now)
        self.preferences = Preferences(self.memories.user, TaskTypes(), clock=lambda: self.now)

    def fill(self, mark: str) -> None:
        """Add live, replaced and archived content to every file."""
        self.memories.add(MemoryDraft(content=f"the {mark} listens on 8080", kind="fact"), provenance=BY_USER)
        self.memories.add(MemoryDraft(content=f"the {mark} listens on 8081", kind="fact"), provenance=BY_USER)
        old_event = self.memories.add(MemoryDraft(content=f"old {mark} news", kind="event"), provenance=BY_USER).record
        self.memories.forget(old_event.id)
        self.preferences.add(f"never wake the {mark}", score=0.0, explicit=True, provenance=BY_USER)
        self.preferences.add(f"tabs for {mark}", score=7.0, provenance=BY_MODEL)
        discovery = self.ltm.add(
            MemoryDraft(kind="discovery", content=f"{mark} discovery", confidence=0.9), BY_USER
        ).record
        self.ltm.update(discovery.id, content=f"{mark} discovery, mended")
        pruned = self.ltm.add(
            MemoryDraft(kind="solution", content=f"{mark} error", solution=f"{mark} fix"), BY_USER
        ).record
        self.ltm.forget([pruned.id])
        self.ltm.add(MemoryDraft(kind="rule", content=f"no {mark}", context="lib/"), BY_USER)
        self.notes.store("plan", f"{mark} on Friday")
        self.notes.store_page("session_progress", f"# {mark}\n")
        self.places.scenarios.write_text(f"infra: [terraform, {mark}]\n", encoding="utf-8")
        liked = (0.2,) * PREFERENCE_DIMENSIONS
        StyleFile(self.places.styles).change(lambda state: state.after(f"{mark}/x", mark, liked, 1, 1.0, NOW))
        for owner in ("user", "project"):
            make_folder(self.places.own_styles(owner))
            path = self.places.own_styles(owner) / f"{mark}-{owner}.md"
            path.write_text(f"---\nid: {mark}-{owner}\n---\nAnswer like a {mark}.\n", encoding="utf-8")
        turn = Trajectory(message="m-1", session="s-1", at=NOW, question=f"why {mark}?", style=mark)
        Trajectories(self.places.ratings).add(turn, Rating(message="m-1", at=NOW, reward=1, text=f"good {mark}"))

    def live_texts(self) -> set[str]:
        """Return the texts of all live memories."""
        entries = {entry.content for entry in self.ltm.read().entries}
        return entries | {record.content for record in self.memories.records(TYPED_KINDS)}


def tree(*tops: Path) -> dict[str, bytes]:
    """Return every file with its content."""
    return {str(path): path.read_bytes() for top in tops for path in sorted(top.rglob("*")) if path.is_file()}


def find_files_with(mark: str, *tops: Path) -> list[str]:
    """Return the files whose content or name contains the word."""
    return [path for path, data in tree(*tops).items() if mark.encode() in data or mark in Path(path).name]


def json_of(path: Path) -> object:
    """Return the value of a JSON file."""
    return msgspec.json.decode(path.read_bytes())
