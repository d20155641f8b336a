"""Take sessions of other agents over: read, redact, check and write them, each one once."""

import base64
import binascii
import hashlib
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Literal, cast

import msgspec
from msgspec import Struct, field, structs

from clio.context.inert_text import neutralize_tool_output
from clio.errors import ClioError, StorageError
from clio.importing import aider, claude, codex, gemini, places
from clio.importing.places import SourceFile
from clio.importing.reading import Agent, ImportedMessage, Picture, Piece, Progress, SessionAbout, Tally
from clio.messages import (
    AssistantMessage,
    ImagePart,
    Message,
    SideEffects,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
    is_turn_start,
    message_text,
)
from clio.sessions import session_format
from clio.sessions.listing import HEAD_BYTES, list_sessions
from clio.sessions.session_files import HANDLE_CHARS, BlobStore
from clio.sessions.state import (
    NAME_CHARS,
    ImportSource,
    SessionFiles,
    SessionState,
    derive_id,
    find_first_words,
    replace_lone_surrogates,
    to_one_line,
)
from clio.sessions.store import SessionStore
from clio.storage.documents import DocumentFormat, load_document, update_document
from clio.storage.files import make_ignored_folder, open_regular, write_pieces
from clio.storage.locks import NO_SPACE_ERRNOS, FileLock
from clio.text.hidden_text import reveal_hidden_text
from clio.text.json_data import decode_json
from clio.tools.output import preview_output

MAX_WORDS_CHARS = 100_000
"""Of longer words of a person the beginning and the end stand in the message."""
_MAX_PICTURE_BYTES = 20_000_000
_NAME_CHARS = 200
_ENDINGS = {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp"}


class ImportCleaner:
    """Cleans messages of one session. redact: takes secrets out of a text. max_chars: of an output in a message."""

    def __init__(self, blobs: BlobStore, redact: Callable[[str], str], max_chars: int) -> None:
        self._blobs = blobs
        self._redact = redact
        self._max_chars = max_chars

    def text(self, text: str) -> str:
        """A text without secrets, in valid Unicode, letters nobody sees spelled out."""
        return self._redact(reveal_hidden_text(replace_lone_surrogates(text)))

    def message(self, said: ImportedMessage) -> Message:
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
                whole = neutralize_tool_output(message.content if said.whole is None else said.whole)
                output, blob = self._bounded(whole, self._max_chars)
                deeds = message.side_effects and msgspec.convert(
                    self._inside(msgspec.to_builtins(message.side_effects)), SideEffects
                )
                summary, name = self.text(message.summary), self.text(message.name)
                images, unshown = self._pictures(said.pictures)
                return structs.replace(
                    message,
                    content="\n".join([output, *unshown]),
                    images=images,
                    blob=blob,
                    summary=summary,
                    name=name,
                    side_effects=deeds,
                )
            case SystemMessage():
                return structs.replace(message, content=self.text(message.content))

    def _bounded(self, text: str, chars: int) -> tuple[str, str | None]:
        clean = self.text(text)
        if len(clean) <= chars:
            return clean, None
        handle = self._blobs.add(clean)
        self._blobs.flush()
        return preview_output(clean, chars, handle), handle

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
        elif is_turn_start(message) or len(self._held) >= _MOST_HELD:
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


def fingerprint_message(message: Message) -> bytes:
    """What two copies of a message have in common, whatever their ids."""
    calls = [call.id for call in message.tool_calls] if isinstance(message, AssistantMessage) else []
    told = (type(message).__name__, message.created, message_text(message)[:2_000], calls)
    return hashlib.sha256(msgspec.json.encode(told)).digest()[:12]


class DuplicateSessions:
    """The imported sessions of a folder by how they begin."""

    def __init__(self, folder: Path) -> None:
        self._store = SessionStore(folder)
        self._by_opening: dict[str, set[str]] | None = None

    def has_session(self, id: str, opening: str, prints: Iterable[bytes]) -> bool:
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
            return {fingerprint_message(message) for message in self._store.read(id)}
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


def make_session_id(agent: str, key: str) -> str:
    """The id of the session a conversation becomes, the same at every import."""
    return derive_id(f"clio import\n{agent}\n{key}".encode("utf-8", "replace"))


class SessionIntake:
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
        twins: DuplicateSessions,
        dry_run: bool = False,
    ) -> None:
        self.files = SessionFiles(folder, make_session_id(agent, key))
        self._agent = agent
        self._key = key
        self._source = source
        self._twins = twins
        self._dry_run = dry_run
        # Held from the beginning: two imports would else write, and clear away, each other's outputs.
        self._lock = FileLock(self.files.lock, self.files.id)
        self._busy = not dry_run and not self._lock.acquire()
        self._blobs = _Nowhere(None) if dry_run else BlobStore(self.files.blobs)
        self._cleaner = ImportCleaner(self._blobs, redact, max_chars)
        self._pairing = Pairing(tally)
        self._body: IO[bytes] = tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES, dir=None if dry_run else str(folder))  # noqa: SIM115
        self._digest = hashlib.sha256()
        self._ids: dict[str, None] = {}
        self._prints: list[bytes] = []
        self._opening = ""
        self._first = ""
        self._talk = False
        self._created = self._updated = 0.0
        self._about = SessionAbout(key=key)

    def set_about(self, about: SessionAbout) -> None:
        """What is known of it besides; the last that says something counts."""
        known = self._about
        self._about = SessionAbout(
            key=known.key,
            title=about.title or known.title,
            directory=about.directory or known.directory,
            within=about.within or known.within,
        )

    def add(self, said: ImportedMessage) -> None:
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
            if fate == "new" and self._twins.has_session(self.files.id, self._opening, self._prints):
                fate = "known"
            if fate in ("new", "grown") and not self._dry_run:
                self._blobs.sync()
                modified = self._updated or self._source.stat().st_mtime
                write_pieces(self.files.snapshot, self._pieces(there, modified, now), modified=modified)
                if self._twins.absorb(self.files.id, self._opening, self._prints):
                    fate = "grown"
            return fate, len(self._ids)
        finally:
            self.discard()

    def discard(self) -> None:
        """Let go of everything; outputs stay only where there is a session they belong to."""
        self._body.close()
        if self._lock.is_held:
            if not self.files.any_exist():
                shutil.rmtree(self.files.attachments, ignore_errors=True)
            self._lock.release()

    def _write(self, messages: Iterator[Message]) -> None:
        for message in messages:
            number = len(self._ids)
            id = message.id or derive_id(f"{self.files.id}\n{number}\n{type(message).__name__}".encode())
            if id in self._ids:
                continue
            created = message.created or self._updated
            message = structs.replace(message, id=id, created=created)
            line = msgspec.json.encode(message)
            self._digest.update(line)
            self._body.write(session_format.MESSAGE_SEPARATOR + line if self._ids else line)
            self._ids[id] = None
            self._prints.append(fingerprint_message(message))
            words = find_first_words([message])
            if words and created and not self._opening:
                self._opening = self._prints[-1].hex()
            self._first = self._first or words
            self._talk |= isinstance(message, AssistantMessage) or bool(words and words[0] != "/")
            self._created = self._created or created
            self._updated = max(self._updated, created)

    def _fate(self, there: session_format.SnapshotHead | None, since: float) -> Fate:
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

    def _pieces(self, there: session_format.SnapshotHead | None, modified: float, now: float) -> Iterator[bytes]:
        imported = ImportSource(
            agent=self._agent,
            key=self._key,
            source=str(self._source),
            within=make_session_id(self._agent, self._about.within) if self._about.within else "",
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
            window_ids=list(self._ids),
        )
        yield session_format.encode_snapshot_start(state, list(self._ids), self._first)
        self._body.seek(0)
        while block := self._body.read(_BLOCK_BYTES):
            yield block
        yield session_format.SNAPSHOT_END

    def _name(self) -> str | None:
        return to_one_line(self._cleaner.text(self._about.title), NAME_CHARS) or None

    def _told_digest(self) -> str:
        """Of all that was told: the messages and what is known besides."""
        whole = self._digest.copy()
        whole.update(msgspec.json.encode((self._about.title, self._about.directory, self._about.within)))
        return whole.hexdigest()


def _head(files: SessionFiles) -> session_format.SnapshotHead | None:
    """What the session's file says of itself; None where there is none."""
    try:
        with open_regular(files.snapshot, None) as file:
            data = file.read(HEAD_BYTES)
            head = session_format.decode_snapshot_head(data)
            return head or session_format.decode_snapshot_head(data + file.read())
    except FileNotFoundError:
        return None


class _Nowhere(BlobStore):
    """Keeps nothing, for a dry run."""

    def add_data(self, data: bytes) -> str:
        """The handle it would have."""
        return hashlib.sha256(data).hexdigest()[:HANDLE_CHARS]


READING = 1
"""Grows when clio learns to read more of the files: then all are read again."""


class FileRead(Struct, frozen=True, kw_only=True):
    """How a file looked when it was read. size: in bytes; modified: in nanoseconds since the epoch."""

    size: int
    modified: int
    reading: int = READING


class Imports(Struct, frozen=True, kw_only=True):
    """The files by their path, and the facts that were declined, each by what `Fact.mark` says."""

    files: dict[str, FileRead] = {}
    declined: tuple[str, ...] = ()


FORMAT = DocumentFormat(schema="clio.imports", version=1, type=Imports)


class ImportLedger:
    """`imports.json` in a project's cache."""

    def __init__(self, cache: Path) -> None:
        self._path = cache / "imports.json"

    def read(self) -> Imports:
        """What is known; nothing where the file is lost or damaged."""
        try:
            document = load_document(self._path, FORMAT)
        except (StorageError, OSError):
            return Imports()
        return document.value if document else Imports()

    def note(self, files: list[SourceFile]) -> None:
        """These were read whole. Raises OSError, StorageError."""
        new = {str(file.path): FileRead(size=file.size, modified=file.modified) for file in files}
        if new:
            update_document(self._path, FORMAT, lambda known: structs.replace(known, files=known.files | new))

    def decline(self, marks: list[str]) -> None:
        """These facts are not to be offered again. Raises OSError, StorageError."""
        if marks:
            update_document(
                self._path,
                FORMAT,
                lambda known: structs.replace(known, declined=tuple(dict.fromkeys((*known.declined, *marks)))),
            )


def is_already_read(known: Imports, file: SourceFile) -> bool:
    """Whether nothing changed in the file since it was read."""
    return known.files.get(str(file.path)) == FileRead(size=file.size, modified=file.modified)


Reader = Callable[[Path, Tally, Progress], Iterator[Piece]]
READERS: dict[Agent, Reader] = {
    "claude": claude.read_claude,
    "codex": codex.read_codex,
    "gemini": gemini.read_gemini,
    "aider": aider.read_aider,
    "clio": places.read_clio,
}
_ONE_AFTER_THE_OTHER = frozenset[Agent]({"aider"})
"""Whose files hold many conversations, none of which is gone back to."""
_NOTE_EVERY_S = 2.0


class ImportStopped(Exception):
    """Somebody asked to stop."""


class ImportReport(Struct, kw_only=True):
    """What an import did. fates: how many conversations came to what. unchanged: files that were not read again.

    stopped: it was interrupted; `left` files were not read. seconds: how long it took. read_bytes: of the sources.
    """

    files: int = 0
    unchanged: int = 0
    left: int = 0
    messages: int = 0
    read_bytes: int = 0
    seconds: float = 0.0
    stopped: bool = False
    fates: Counter[Fate] = field(default_factory=Counter[Fate])
    tally: Tally = field(default_factory=Tally)


class Importer:
    """Imports into the sessions of one project.

    folder: of its sessions. redact: takes secrets out of a text. max_chars: of an output that stands in a message.
    """

    def __init__(
        self,
        folder: Path,
        ledger: ImportLedger,
        redact: Callable[[str], str],
        max_chars: int,
        clock: Callable[[], float] = time.time,
        *,
        record: Callable[[str], None] = lambda session_id: None,
    ) -> None:
        """record: told of the id of each session that was written."""
        self._record = record
        self._folder = folder
        self._ledger = ledger
        self._redact = redact
        self._max_chars = max_chars
        self._clock = clock
        self._twins = DuplicateSessions(folder)

    def run(
        self,
        files: Sequence[SourceFile],
        *,
        since: float = 0.0,
        again: bool = False,
        dry_run: bool = False,
        stop: Callable[[], bool] = lambda: False,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> ImportReport:
        """Take in what these files hold; nothing of them is changed. Raises OSError where nothing can be written.

        since: conversations that ended before are left. again: files are read that did not change. dry_run: nothing is
        written. progress: told how many bytes of how many are done.
        """
        report, begun = ImportReport(), time.monotonic()
        known = self._ledger.read()
        wanted = [file for file in files if file.modified / 1e9 >= since]
        new = [file for file in wanted if again or not is_already_read(known, file)]
        report.unchanged = len(wanted) - len(new)
        total, done = sum(file.size for file in new), 0
        whole: list[SourceFile] = []
        noted_at = begun
        if not dry_run and new:
            make_ignored_folder(self._folder, self._folder.parent)

        def tell(place: int) -> None:
            if stop():
                raise ImportStopped
            progress(min(done + place, total), total)

        try:
            for file in new:
                tell(0)
                if self._read(file, report, tell, since, dry_run):
                    whole.append(file)
                done += file.size
                report.files, report.read_bytes = report.files + 1, done
                if not dry_run and time.monotonic() - noted_at > _NOTE_EVERY_S:
                    self._ledger.note(whole)
                    whole, noted_at = [], time.monotonic()
        except ImportStopped:
            report.stopped = True
        finally:
            progress(total, total)
            if not dry_run:
                self._ledger.note(whole)
        report.left = len(new) - report.files
        report.seconds = time.monotonic() - begun
        return report

    def _read(self, file: SourceFile, report: ImportReport, tell: Progress, since: float, dry_run: bool) -> bool:
        """Read one file; whether all of it is in its place now, so that it need not be read again."""
        open_: dict[str, SessionIntake] = {}
        fates: Counter[Fate] = Counter()
        unread = len(report.tally.unreadable)
        try:
            for piece in READERS[file.agent](file.path, report.tally, tell):
                intake = open_.get(piece.key)
                if intake is None:
                    if file.agent in _ONE_AFTER_THE_OTHER:
                        self._finish(open_, report, fates, since, dry_run)
                    intake = open_[piece.key] = self._intake(file, piece.key, report.tally, dry_run)
                if isinstance(piece, SessionAbout):
                    intake.set_about(piece)
                else:
                    intake.add(piece)
            self._finish(open_, report, fates, since, dry_run)
        except OSError as error:
            if error.errno in NO_SPACE_ERRNOS:
                raise  # nothing is wrong with what is read, and nothing more can be kept
            report.tally.unreadable.append((str(error.filename or file.path), error.strerror or str(error)))
            return False
        finally:
            for intake in open_.values():
                intake.discard()
        return not (fates["busy"] or fates["old"]) and unread == len(report.tally.unreadable)

    def _intake(self, file: SourceFile, key: str, tally: Tally, dry_run: bool) -> SessionIntake:
        return SessionIntake(
            self._folder,
            file.agent,
            key,
            file.path,
            tally,
            self._redact,
            self._max_chars,
            twins=self._twins,
            dry_run=dry_run,
        )

    def _finish(
        self, open_: dict[str, SessionIntake], report: ImportReport, fates: Counter[Fate], since: float, dry_run: bool
    ) -> None:
        while open_:
            key = next(iter(open_))
            session_id = open_[key].files.id
            fate, messages = open_[key].finish(self._clock(), since=since)
            if fate in ("new", "grown") and not dry_run:
                self._record(session_id)
            del open_[key]
            fates[fate] += 1
            report.fates[fate] += 1
            report.messages += messages if fate in ("new", "grown") else 0
