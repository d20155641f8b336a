"""One conversation of another agent on its way into the sessions of a project: written once, whole, or not at all.

Its messages wait in a file without a name until the last one has come. What is there already and the same is not
written again; what has grown takes the place of what was there, under the same id.
"""

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Literal

import msgspec
from msgspec import structs

from clio.importing.cleaned import Cleaner
from clio.importing.pairing import Pairing
from clio.importing.pieces import About, Said, Tally
from clio.importing.twins import Twins, print_of
from clio.messages import AssistantMessage, Message
from clio.sessions import snapshot
from clio.sessions.blobs import HANDLE_CHARS, BlobStore
from clio.sessions.listing import HEAD_BYTES
from clio.sessions.state import NAME_CHARS, Imported, SessionFiles, SessionState, derived_id, first_words, one_line
from clio.storage.files import open_regular, write_pieces
from clio.storage.locks import FileLock

Fate = Literal["new", "grown", "known", "busy", "old", "empty"]
"""What became of a conversation: it came, it took the place of a shorter one, it was there, its session is being
written by another clio, it is from before the day asked for, or nothing was said in it.
"""
_IN_MEMORY_BYTES = 1_000_000
_BLOCK_BYTES = 1 << 20


def session_id(agent: str, key: str) -> str:
    """The id of the session a conversation becomes, the same at every import."""
    return derived_id(f"clio import\n{agent}\n{key}".encode("utf-8", "replace"))


class Intake:
    """Takes the pieces of one conversation. To be ended by `finish` or `drop`.

    folder: of the project's sessions; it exists unless this is a dry run, which writes nothing.
    source: where the conversation is read from. Raises OSError.
    """

    def __init__(
        self,
        folder: Path,
        agent: str,
        key: str,
        source: Path,
        tally: Tally,
        redact: Callable[[str], str],
        max_chars: int,
        *,
        twins: Twins,
        dry_run: bool = False,
    ) -> None:
        self.files = SessionFiles(folder, session_id(agent, key))
        self._agent = agent
        self._key = key
        self._source = source
        self._twins = twins
        self._dry_run = dry_run
        # Held from the beginning: two imports would else write, and clear away, each other's outputs.
        self._lock = FileLock(self.files.lock, self.files.id)
        self._busy = not dry_run and not self._lock.acquire()
        self._blobs = _Nowhere(None) if dry_run else BlobStore(self.files.blobs)
        self._cleaner = Cleaner(self._blobs, redact, max_chars)
        self._pairing = Pairing(tally)
        self._body: IO[bytes] = tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES, dir=None if dry_run else str(folder))  # noqa: SIM115
        self._digest = hashlib.sha256()
        self._ids: dict[str, None] = {}
        self._prints: list[bytes] = []
        self._opening = ""
        self._first = ""
        self._talk = False
        self._created = self._updated = 0.0
        self._about = About(key=key)

    def tell(self, about: About) -> None:
        """What is known of it besides; the last that says something counts."""
        known = self._about
        self._about = About(
            key=known.key,
            title=about.title or known.title,
            directory=about.directory or known.directory,
            within=about.within or known.within,
        )

    def add(self, said: Said) -> None:
        """One more message. Raises OSError."""
        if not self._busy:
            self._write(self._pairing.feed(self._cleaner.message(said)))

    def finish(self, now: float, *, since: float = 0.0) -> tuple[Fate, int]:
        """Put the session in its place; what became of it, and how many messages it has. Raises OSError.

        since: where its last message is older, it is not taken. A dry run says what would become of it.
        """
        try:
            self._write(self._pairing.end())
            there = _head(self.files)
            fate = self._fate(there, since)
            if fate == "new" and self._twins.holds(self.files.id, self._opening, self._prints):
                fate = "known"
            if fate in ("new", "grown") and not self._dry_run:
                self._blobs.sync()
                modified = self._updated or self._source.stat().st_mtime
                write_pieces(self.files.snapshot, self._pieces(there, modified, now), modified=modified)
                if self._twins.absorb(self.files.id, self._opening, self._prints):
                    fate = "grown"
            return fate, len(self._ids)
        finally:
            self.drop()

    def drop(self) -> None:
        """Let go of everything; outputs stay only where there is a session they belong to."""
        self._body.close()
        if self._lock.held:
            if not self.files.exist():
                shutil.rmtree(self.files.private, ignore_errors=True)
            self._lock.release()

    def _write(self, messages: Iterator[Message]) -> None:
        for message in messages:
            number = len(self._ids)
            id = message.id or derived_id(f"{self.files.id}\n{number}\n{type(message).__name__}".encode())
            if id in self._ids:
                continue
            created = message.created or self._updated
            message = structs.replace(message, id=id, created=created)
            line = msgspec.json.encode(message)
            self._digest.update(line)
            self._body.write(snapshot.BETWEEN + line if self._ids else line)
            self._ids[id] = None
            self._prints.append(print_of(message))
            words = first_words([message])
            if words and created and not self._opening:
                self._opening = self._prints[-1].hex()
            self._first = self._first or words
            self._talk |= isinstance(message, AssistantMessage) or bool(words and words[0] != "/")
            self._created = self._created or created
            self._updated = max(self._updated, created)

    def _fate(self, there: snapshot.Head | None, since: float) -> Fate:
        if self._busy:
            return "busy"
        if not (self._first and self._talk):  # opened and left again, perhaps with a command to the program itself
            return "empty"
        if self._updated and self._updated < since:
            return "old"
        if there is None:
            return "new"
        same = there.imported is not None and there.imported.digest == self._told_digest()
        return "known" if same or there.message_count > len(self._ids) else "grown"

    def _pieces(self, there: snapshot.Head | None, modified: float, now: float) -> Iterator[bytes]:
        imported = Imported(
            agent=self._agent,
            key=self._key,
            source=str(self._source),
            within=session_id(self._agent, self._about.within) if self._about.within else "",
            digest=self._told_digest(),
            opening=self._opening,
            at=now,
        )
        state = SessionState(
            id=self.files.id,
            name=(there.session_name if there else None) or self._name(),
            created_at=self._created or modified,
            updated_at=modified,
            working_directory=self._cleaner.text(self._about.directory),
            imported=imported,
            stm=list(self._ids),
        )
        yield snapshot.opening(state, list(self._ids), self._first)
        self._body.seek(0)
        while block := self._body.read(_BLOCK_BYTES):
            yield block
        yield snapshot.ENDING

    def _name(self) -> str | None:
        return one_line(self._cleaner.text(self._about.title), NAME_CHARS) or None

    def _told_digest(self) -> str:
        """Of all that was told: the messages and what is known besides."""
        whole = self._digest.copy()
        whole.update(msgspec.json.encode((self._about.title, self._about.directory, self._about.within)))
        return whole.hexdigest()


def _head(files: SessionFiles) -> snapshot.Head | None:
    """What the session's file says of itself; None where there is none."""
    try:
        with open_regular(files.snapshot, None) as file:
            data = file.read(HEAD_BYTES)
            head = snapshot.decode_head(data)
            return head or snapshot.decode_head(data + file.read())
    except FileNotFoundError:
        return None


class _Nowhere(BlobStore):
    """Keeps nothing, for a dry run."""

    def add_data(self, data: bytes) -> str:
        """The handle it would have."""
        return hashlib.sha256(data).hexdigest()[:HANDLE_CHARS]
