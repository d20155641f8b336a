"""Where everything that was learned lies, of one project and of its user."""

from pathlib import Path
from typing import Literal

from msgspec import Struct

from clio.memory.typed.store import Scope

StyleOwner = Literal["project", "user"]


class Places(Struct, frozen=True, kw_only=True):
    """project: its folder. home: clio's own, where the person's memories lie. Nothing need exist."""

    project: Path
    home: Path

    @property
    def folder(self) -> Path:
        """The project's `.clio`."""
        return self.project / ".clio"

    @property
    def knowledge(self) -> Path:
        """The project knowledge."""
        return self.folder / "ltm.json"

    @property
    def knowledge_archive(self) -> Path:
        """What left the project knowledge."""
        return self.folder / "ltm.archive.json"

    @property
    def knowledge_history(self) -> Path:
        """What it said before."""
        return self.folder / "ltm.history.jsonl"

    @property
    def notes(self) -> Path:
        """The folder of notes."""
        return self.folder / "memory"

    @property
    def undo(self) -> Path:
        """The changes that can be taken back."""
        return self.folder / "memory.undo.jsonl"

    @property
    def documents(self) -> Path:
        """Which documents somebody added."""
        return self.folder / "documents.json"

    @property
    def ratings(self) -> Path:
        """Turns, and what was said of them."""
        return self.folder / "trajectories.jsonl"

    @property
    def ratings_archive(self) -> Path:
        """What of it nobody rated for long."""
        return self.folder / "trajectories.archive.jsonl"

    @property
    def cache(self) -> Path:
        """The folder of indexes, vectors and accounts."""
        return self.folder / "cache"

    @property
    def sessions(self) -> Path:
        """The folder of conversations."""
        return self.folder / "sessions"

    @property
    def scenarios(self) -> Path:
        """The person's kinds of work."""
        return self.home / "scenarios.yaml"

    @property
    def styles(self) -> Path:
        """What was learned about styles."""
        return self.home / "styles.json"

    def memories(self, scope: Scope) -> Path:
        """The snapshot of typed memories."""
        return (self.home if scope == "user" else self.folder) / "memories.json"

    def memories_archive(self, scope: Scope) -> Path:
        """What left them, and what they said before."""
        return self.memories(scope).with_suffix(".archive.jsonl")

    def own_styles(self, owner: StyleOwner) -> Path:
        """The folder of style files somebody wrote."""
        return (self.home if owner == "user" else self.folder) / "styles"
