"""Where the parts of a session lie."""

from pathlib import Path

from msgspec import Struct

from clio.algorithms.late_pattern import LatePattern

SAFE_ID = LatePattern(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,127}")
SNAPSHOT = ".json"
JOURNAL = ".journal.jsonl"
LOCK = ".lock"


class SessionFiles(Struct, frozen=True):
    """The paths of one session in its `.clio/sessions` folder."""

    folder: Path
    id: str

    @property
    def snapshot(self) -> Path:
        """The whole session, written on close."""
        return self.folder / f"{self.id}{SNAPSHOT}"

    @property
    def journal(self) -> Path:
        """What came since the snapshot."""
        return self.folder / f"{self.id}{JOURNAL}"

    @property
    def lock(self) -> Path:
        """Held by the one clio that writes."""
        return self.folder / f"{self.id}{LOCK}"

    @property
    def original(self) -> Path:
        """A snapshot of another writer, as it was before clio first rewrote it."""
        return self.folder / f"{self.id}.json.original"

    @property
    def private(self) -> Path:
        """The folder of what is too large for a message."""
        return self.folder / self.id

    @property
    def blobs(self) -> Path:
        """Whole tool outputs, one file each."""
        return self.private / "blobs"

    @property
    def tool_results(self) -> Path:
        """Whole tool outputs of the Perl original, one file per call; only ever read."""
        return self.private / "tool_results"

    def exist(self) -> bool:
        """Whether there is anything to open."""
        return self.snapshot.is_file() or self.journal.is_file()


def is_session_id(text: str) -> bool:
    """Whether a text can be a session's id, and so a file name that does not lead out of the folder."""
    return SAFE_ID.fullmatch(text) is not None
