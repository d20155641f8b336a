"""Stores one conversation of another agent as a session: cleaned, calls paired with results, whole or not at all."""

import base64
import binascii
import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Literal, cast

import msgspec
from msgspec import structs

from clio.context.inert import said_by_a_tool
from clio.errors import ClioError
from clio.importing.reading import About, Picture, Said, Tally
from clio.messages import (
    AssistantMessage,
    Deeds,
    ImagePart,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
    begins_turn,
    text_of,
)
from clio.sessions import session_format
from clio.sessions.blobs import HANDLE_CHARS, BlobStore
from clio.sessions.listing import HEAD_BYTES, list_sessions
from clio.sessions.state import (
    NAME_CHARS,
    Imported,
    SessionFiles,
    SessionState,
    derived_id,
    first_words,
    one_line,
    valid_text,
)
from clio.sessions.store import SessionStore
from clio.storage.files import open_regular, write_pieces
from clio.storage.locks import FileLock
from clio.text.hidden_text import unhidden
from clio.text.json_data import decode_json
from clio.tools.output import preview

MAX_WORDS_CHARS = 100_000
"""Of longer words of a person the beginning and the end stand in the message."""
_MAX_PICTURE_BYTES = 20_000_000
_NAME_CHARS = 200
_ENDINGS = {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp"}


class Cleaner:
    """Cleans messages of one session. redact: takes secrets out of a text. max_chars: of an output in a message."""

    def __init__(self, blobs: BlobStore, redact: Callable[[str], str], max_chars: int) -> None:
        self._blobs = blobs
        self._redact = redact
        self._max_chars = max_chars

    def text(self, text: str) -> str:
        """A text without secrets, in valid Unicode, letters nobody sees spelled out."""
        return self._redact(unhidden(valid_text(text)))

    def message(self, said: Said) -> Message:
        """The message to be stored; blobs it names are in the store then."""
        message = said.message
        match message:
            case UserMessage():
                whole, blob = self._bounded(message.content if said.whole is None else said.whole, MAX_WORDS_CHARS)
                images, unshown = self._pictures(said.pictures)
                words = "\n\n".join(filter(None, (whole, *unshown)))
                return structs.replace(
                    message, content=words, context=self.text(message.context), images=images, blob=blob
                )
            case AssistantMessage():
                calls = tuple(self._call(call) for call in message.tool_calls)
                model = message.model[:_NAME_CHARS]
                return structs.replace(message, content=self.text(message.content), tool_calls=calls, model=model)
            case ToolMessage():
                whole = said_by_a_tool(message.content if said.whole is None else said.whole)
                output, blob = self._bounded(whole, self._max_chars)
                deeds = message.deeds and msgspec.convert(self._inside(msgspec.to_builtins(message.deeds)), Deeds)
                summary, name = self.text(message.summary), self.text(message.name)
                images, unshown = self._pictures(said.pictures)
                return structs.replace(
                    message,
                    content="\n".join([output, *unshown]),
                    images=images,
                    blob=blob,
                    summary=summary,
                    name=name,
                    deeds=deeds,
                )
            case SystemMessage():
                return structs.replace(message, content=self.text(message.content))

    def _bounded(self, text: str, chars: int) -> tuple[str, str | None]:
        clean = self.text(text)
        if len(clean) <= chars:
            return clean, None
        handle = self._blobs.add(clean)
        self._blobs.flush()
        return preview(clean, chars, handle), handle

    def _call(self, call: ToolCall) -> ToolCall:
        try:
            value = decode_json(call.arguments)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            arguments = self.text(call.arguments)
        else:
            arguments = msgspec.json.encode(self._inside(value)).decode()
        return ToolCall(id=call.id, name=self.text(call.name)[:_NAME_CHARS], arguments=arguments)

    def _inside(self, value: Any) -> Any:
        """The JSON value with every text in it cleaned, the names of fields too."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self._inside(item) for item in cast(list[Any], value)]
        if isinstance(value, dict):
            return {self.text(name): self._inside(item) for name, item in cast(dict[str, Any], value).items()}
        return value

    def _pictures(self, pictures: tuple[Picture, ...]) -> tuple[tuple[ImagePart, ...], list[str]]:
        """The pictures that can be stored, and a note for each that cannot."""
        kept: list[ImagePart] = []
        unshown: list[str] = []
        for number, picture in enumerate(pictures, 1):
            data = _bytes_of(picture)
            if data is None:
                unshown.append(f"[picture of the kind {self.text(picture.media_type[:40])!r}]")
                continue
            name = self.text(picture.name) or f"picture {number}.{_ENDINGS[picture.media_type]}"
            blob = self._blobs.add_data(data)
            self._blobs.flush()
            kept.append(ImagePart(blob=blob, media_type=picture.media_type, name=name, size=len(data)))
        return tuple(kept), unshown


def _bytes_of(picture: Picture) -> bytes | None:
    """The bytes of a picture; None where it is none that a model could be shown."""
    if picture.media_type not in _ENDINGS or len(picture.data) > _MAX_PICTURE_BYTES * 4 // 3:
        return None
    try:
        return base64.b64decode(picture.data, validate=True) or None
    except (binascii.Error, ValueError):
        return None


UNANSWERED = "there is no result in the source"
_MOST_HELD = 200
"""So many messages are kept waiting for a result; then there is none."""


class Pairing:
    """Takes messages in the order of the source and hands them out in clio's."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._open: AssistantMessage | None = None
        self._results: dict[str, ToolMessage] = {}
        self._held: list[Message] = []

    def feed(self, message: Message) -> Iterator[Message]:
        """What can be told now that this message has come."""
        if self._open is None:
            if isinstance(message, AssistantMessage) and message.tool_calls:
                self._open = message
            elif isinstance(message, ToolMessage):
                self._tally.unasked += 1
            else:
                yield message
            return
        waiting = {call.id for call in self._open.tool_calls} - self._results.keys()
        if isinstance(message, ToolMessage) and message.tool_call_id in waiting:
            self._results[message.tool_call_id] = message
            if len(waiting) == 1:
                yield from self.close()
        elif begins_turn(message) or len(self._held) >= _MOST_HELD:
            yield from self.close()
            yield from self.feed(message)
        else:
            self._held.append(message)

    def close(self) -> Iterator[Message]:
        """End the open answer: its calls that have no result get one that says so; then what waited behind it."""
        answer, results, held = self._open, self._results, self._held
        self._open, self._results, self._held = None, {}, []
        if answer is None:
            return
        yield answer
        for number, call in enumerate(answer.tool_calls):
            result = results.get(call.id)
            if result is None:
                self._tally.unanswered += 1
                yield ToolMessage(
                    tool_call_id=call.id,
                    name=call.name,
                    content=UNANSWERED,
                    ok=False,
                    summary=UNANSWERED,
                    id=f"{answer.id}-none-{number}" if answer.id else "",
                    created=answer.created,
                )
            else:
                yield structs.replace(result, name=result.name or call.name)
        for message in held:
            yield from self.feed(message)

    def end(self) -> Iterator[Message]:
        """All that is left."""
        while self._open is not None:
            yield from self.close()


def print_of(message: Message) -> bytes:
    """What two copies of a message have in common, whatever their ids."""
    calls = [call.id for call in message.tool_calls] if isinstance(message, AssistantMessage) else []
    told = (type(message).__name__, message.created, text_of(message)[:2_000], calls)
    return hashlib.sha256(msgspec.json.encode(told)).digest()[:12]


class Twins:
    """The imported sessions of a folder by how they begin."""

    def __init__(self, folder: Path) -> None:
        self._store = SessionStore(folder)
        self._by_opening: dict[str, set[str]] | None = None

    def holds(self, id: str, opening: str, prints: Iterable[bytes]) -> bool:
        """Whether another session that begins like this one has all of these messages."""
        wanted = set(prints)
        return any(wanted <= self._prints(other) for other in self._others(id, opening))

    def absorb(self, id: str, opening: str, prints: Iterable[bytes]) -> bool:
        """Delete the sessions this one has all messages of; whether there were any. One that is open stays."""
        wanted, gone = set(prints), False
        for other in self._others(id, opening):
            if self._prints(other) <= wanted:
                with suppress(ClioError, OSError):
                    self._store.delete(other)
                    self._known()[opening].discard(other)
                    gone = True
        self._known().setdefault(opening, set()).add(id)
        return gone

    def _others(self, id: str, opening: str) -> list[str]:
        return sorted(self._known().get(opening, set()) - {id}) if opening else []

    def _prints(self, id: str) -> set[bytes]:
        try:
            return {print_of(message) for message in self._store.read(id)}
        except (ClioError, OSError):
            return {b""}  # as none that is looked for

    def _known(self) -> dict[str, set[str]]:
        if self._by_opening is None:
            self._by_opening = {}
            for info in list_sessions(self._store.folder):
                if info.imported is not None and info.imported.opening:
                    self._by_opening.setdefault(info.imported.opening, set()).add(info.id)
        return self._by_opening


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
            self._body.write(session_format.BETWEEN + line if self._ids else line)
            self._ids[id] = None
            self._prints.append(print_of(message))
            words = first_words([message])
            if words and created and not self._opening:
                self._opening = self._prints[-1].hex()
            self._first = self._first or words
            self._talk |= isinstance(message, AssistantMessage) or bool(words and words[0] != "/")
            self._created = self._created or created
            self._updated = max(self._updated, created)

    def _fate(self, there: session_format.Head | None, since: float) -> Fate:
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

    def _pieces(self, there: session_format.Head | None, modified: float, now: float) -> Iterator[bytes]:
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
        yield session_format.opening(state, list(self._ids), self._first)
        self._body.seek(0)
        while block := self._body.read(_BLOCK_BYTES):
            yield block
        yield session_format.ENDING

    def _name(self) -> str | None:
        return one_line(self._cleaner.text(self._about.title), NAME_CHARS) or None

    def _told_digest(self) -> str:
        """Of all that was told: the messages and what is known besides."""
        whole = self._digest.copy()
        whole.update(msgspec.json.encode((self._about.title, self._about.directory, self._about.within)))
        return whole.hexdigest()


def _head(files: SessionFiles) -> session_format.Head | None:
    """What the session's file says of itself; None where there is none."""
    try:
        with open_regular(files.snapshot, None) as file:
            data = file.read(HEAD_BYTES)
            head = session_format.decode_head(data)
            return head or session_format.decode_head(data + file.read())
    except FileNotFoundError:
        return None


class _Nowhere(BlobStore):
    """Keeps nothing, for a dry run."""

    def add_data(self, data: bytes) -> str:
        """The handle it would have."""
        return hashlib.sha256(data).hexdigest()[:HANDLE_CHARS]
