"""MemoryStore of a user and a project with a clock that tests move."""

from pathlib import Path

from clio.memory.preferences.preferences import Preferences
from clio.memory.preferences.task_types import TaskTypes
from clio.memory.store.change_log import ScopeLogs
from clio.memory.store.ltm_store import LongTermMemory
from clio.memory.store.memory_store import MemoryStore
from clio.memory.store.record import AssertedBy, MemoryDraft, Provenance, Saved

NOW = 1_800_000_000.0
DAY = 86_400.0


def by(who: AssertedBy) -> Provenance:
    return Provenance(session="s", message="m", asserted_by=who)


class Time:
    """One project and one user; every store reads this clock."""

    def __init__(self, folder: Path) -> None:
        self.now = NOW
        self.home = folder / "home"
        self.logs = ScopeLogs(folder / ".clio", self.home, clock=lambda: self.now)
        self.memories = MemoryStore(folder / ".clio", self.home, logs=self.logs, redact=str, clock=lambda: self.now)
        self.ltm_path = folder / ".clio" / "ltm.json"
        self.ltm = LongTermMemory(self.ltm_path, project=folder, log=self.logs.project, clock=lambda: self.now)
        self.preferences = Preferences(self.memories.user, TaskTypes(), clock=lambda: self.now)

    def passes(self, days: float = 1.0) -> float:
        """Advance the clock; return the time before."""
        before = self.now
        self.now += days * DAY
        return before

    def say(self, text: str, who: AssertedBy = "user", confidence: float | None = None) -> Saved:
        return self.memories.add(MemoryDraft(content=text, kind="fact", confidence=confidence), provenance=by(who))
