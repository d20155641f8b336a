"""A shared folder in a test without git: a user who trusts it, at a fixed time."""

from pathlib import Path
from typing import Any

from clio.config.project_links import trust_team
from clio.memory.store.change_log import ScopeLogs
from clio.memory.store.ltm_codec import Json
from clio.memory.store.ltm_store import LongTermMemory
from clio.memory.store.record import Kind, MemoryRecord
from clio.memory.team.folder import Statement, TeamFolder, make_statement, read
from clio.memory.team.share import Sharing

NOW = 1_800_000_000.0


class Member:
    """One project folder with shared knowledge, and the clio of one team member."""

    def __init__(self, folder: Path, *, trusts: bool = True, begun: bool = True) -> None:
        self.project, self.home, self.now = folder, folder.with_name(f"{folder.name}.home"), NOW
        self.ltm = folder / ".clio" / "ltm.json"
        self.ltm.parent.mkdir(parents=True, exist_ok=True)
        if trusts:
            trust_team(folder, self.home)
        self.folder = TeamFolder(self.ltm.with_name("ltm"), self.ltm.parent / "cache" / "ltm.team")
        if begun:
            self.folder.create()
        self.logs = ScopeLogs(self.ltm.parent, self.home, clock=lambda: self.now)
        self.memory = self.other_process()
        self.sharing = Sharing(self.ltm, project=folder, home=self.home, clock=lambda: self.now, redact=str)

    def other_process(self) -> LongTermMemory:
        """Return the memory as another clio process has it."""
        return LongTermMemory(
            self.ltm, project=self.project, log=self.logs.project, clock=lambda: self.now, home=self.home
        )

    def texts(self) -> list[str]:
        return sorted(entry.content for entry in self.memory.read().entries)

    def entry(self, text: str) -> MemoryRecord:
        return next(entry for entry in self.memory.read().entries if entry.content == text)

    def gets(self, statement: Statement, data: bytes) -> None:
        """Receive the statement of another member."""
        self.folder.put(statement.kind, statement.name, data)

    def files(self) -> dict[str, bytes]:
        """Return every file of the folder."""
        found = (path for path in self.folder.path.rglob("*") if path.is_file())
        return {str(path.relative_to(self.folder.path)): path.read_bytes() for path in found}


def make_file(
    text: str,
    *,
    by: str = "Ann",
    at: float = NOW,
    kind: Kind = "discovery",
    after: Statement | None = None,
    **more: Any,
) -> tuple[Statement, bytes]:
    """Return a statement and its file. after: the statement it changes."""
    field = {"discovery": "fact", "failure": "what", "rule": "rule", "pattern": "pattern"}[kind]
    raw: Json = {field: text, "id": f"{kind[0]}-abc123", "confidence": 0.8, "timestamp": at} | more
    if after is None:
        return make_statement(kind, raw, by=by, said=at)
    return make_statement(
        kind, raw, by=by, said=at, replaces=(after.name, *after.replaces), origins=after.first_statements
    )


def again(statement: Statement, data: bytes) -> Statement:
    """Return the statement as read from its file."""
    return read(statement.name, statement.kind, data)[0]
