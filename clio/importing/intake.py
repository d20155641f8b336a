"""Imports sessions of other agents: reads, redacts, checks and writes each conversation once."""

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

from clio.errors import ClioError, StorageError
from clio.importing import aider, claude, codex, gemini, places, specstory
from clio.importing.places import SourceFile
from clio.importing.reading import Agent, ImportedImage, ImportedMessage, Piece, Progress, SessionAbout, Tally
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
from clio.sessions.session_files import BLOB_HANDLE_CHARS, BlobStore
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
from clio.text.json_data import decode_json
from clio.text.untrusted_text import neutralize_tool_output, reveal_hidden_text
from clio.tools.output import preview_output

MAX_USER_CHARS = 100_000
"""Of longer user messages, the message has only the beginning and the end; the whole text is a blob."""
_MAX_IMAGE_BYTES = 20_000_000
_NAME_CHARS = 200
_SUFFIXES = {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp"}


class ImportCleaner:
    """Cleans the messages of one session.

    Args:
        redact: removes secrets from a text.
        max_chars: of a tool output in a message; longer ones are stored as a blob.
    """

    def __init__(self, blobs: BlobStore, redact: Callable[[str], str], max_chars: int) -> None:
        self._blobs = blobs
        self._redact = redact
        self._max_chars = max_chars

    def text(self, text: str) -> str:
        """Return a text without secrets, in valid Unicode, with hidden characters spelled out."""
        return self._redact(reveal_hidden_text(replace_lone_surrogates(text)))

    def message(self, imported: ImportedMessage) -> Message:
        """Return the message to be stored. Its blobs have been written to the store."""
        message = imported.message
        match message:
            case UserMessage():
                text, blob = self._store_long_text(
                    message.content if imported.whole is None else imported.whole, MAX_USER_CHARS
                )
                images, notes = self._store_images(imported.images)
                content = "\n\n".join(filter(None, (text, *notes)))
                return structs.replace(
                    message, content=content, context=self.text(message.context), images=images, blob=blob
                )
            case AssistantMessage():
                calls = tuple(self._clean_call(call) for call in message.tool_calls)
                model = message.model[:_NAME_CHARS]
                return structs.replace(message, content=self.text(message.content), tool_calls=calls, model=model)
            case ToolMessage():
                # The output of another agent's tool may contain clio's own frames, such as `<hook_note`, which only
                # clio may write.
                whole = neutralize_tool_output(message.content if imported.whole is None else imported.whole)
                output, blob = self._store_long_text(whole, self._max_chars)
                side_effects = message.side_effects and msgspec.convert(
                    self._clean_value(msgspec.to_builtins(message.side_effects)), SideEffects
                )
                summary, name = self.text(message.summary), self.text(message.name)
                images, notes = self._store_images(imported.images)
                return structs.replace(
                    message,
                    content="\n".join([output, *notes]),
                    images=images,
                    blob=blob,
                    summary=summary,
                    name=name,
                    side_effects=side_effects,
                )
            case SystemMessage():
                return structs.replace(message, content=self.text(message.content))

    def _store_long_text(self, text: str, max_chars: int) -> tuple[str, str | None]:
        """Return the cleaned text, or a preview and the handle of the blob with a text of more than `max_chars`."""
        clean = self.text(text)
        if len(clean) <= max_chars:
            return clean, None
        handle = self._blobs.add(clean)
        self._blobs.flush()  # a session of 200 MB is imported with 35 MB of memory: nothing is collected
        return preview_output(clean, max_chars, handle), handle

    def _clean_call(self, call: ToolCall) -> ToolCall:
        # Redacted value by value: in the encoded text, an escape such as \n inside a key would hide the key.
        try:
            value = decode_json(call.arguments)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            arguments = self.text(call.arguments)
        else:
            arguments = msgspec.json.encode(self._clean_value(value)).decode()
        return ToolCall(id=call.id, name=self.text(call.name)[:_NAME_CHARS], arguments=arguments)

    def _clean_value(self, value: Any) -> Any:
        """Return a JSON value with all texts cleaned, including the names of fields."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self._clean_value(item) for item in cast(list[Any], value)]
        if isinstance(value, dict):
            return {self.text(name): self._clean_value(item) for name, item in cast(dict[str, Any], value).items()}
        return value

    def _store_images(self, images: tuple[ImportedImage, ...]) -> tuple[tuple[ImagePart, ...], list[str]]:
        """Store the images; return their parts, and a note for each that cannot be stored."""
        parts: list[ImagePart] = []
        notes: list[str] = []
        for number, image in enumerate(images, 1):
            data = _decode_image(image)
            if data is None:
                notes.append(f"[image of type {self.text(image.media_type[:40])!r}]")
                continue
            name = self.text(image.name) or f"image {number}.{_SUFFIXES[image.media_type]}"
            blob = self._blobs.add_data(data)
            # Written at once, as images may have many megabytes each.
            self._blobs.flush()
            parts.append(ImagePart(blob=blob, media_type=image.media_type, name=name, size=len(data)))
        return tuple(parts), notes


def _decode_image(image: ImportedImage) -> bytes | None:
    """Return the bytes of an image; None if its type or encoding is not supported."""
    # base64 has four characters for three bytes
    if image.media_type not in _SUFFIXES or len(image.data) > _MAX_IMAGE_BYTES * 4 // 3:
        return None
    try:
        return base64.b64decode(image.data, validate=True) or None
    except (binascii.Error, ValueError):
        return None


UNANSWERED = "the source has no result"
_MAX_HELD = 200
"""Messages held back while a call waits for its result; after that, the call counts as unanswered."""


class ResultOrder:
    """Reorders messages so that the results of an answer follow it directly, as clio's sessions require."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._open: AssistantMessage | None = None
        self._results: dict[str, ToolMessage] = {}
        self._held: list[Message] = []

    def feed(self, message: Message) -> Iterator[Message]:
        """Yield the messages whose order is certain after this one."""
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
        # Servers accept no message between a call and its results, so what came in between waits. A new turn means that
        # the result will not come.
        elif is_turn_start(message) or len(self._held) >= _MAX_HELD:
            yield from self.close()
            yield from self.feed(message)
        else:
            self._held.append(message)

    def close(self) -> Iterator[Message]:
        """End the open answer: add a result to each call without one, then yield the messages held back."""
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
        # Fed again: a message held back may itself be an answer with calls.
        for message in held:
            yield from self.feed(message)

    def end(self) -> Iterator[Message]:
        """Yield all remaining messages."""
        while self._open is not None:
            yield from self.close()


def fingerprint_message(message: Message) -> bytes:
    """Return a hash that is the same for copies of a message with different ids."""
    calls = [call.id for call in message.tool_calls] if isinstance(message, AssistantMessage) else []
    # The beginning of the text is enough to tell messages of the same second apart, and cheap for long outputs.
    content = (type(message).__name__, message.created, message_text(message)[:2_000], calls)
    return hashlib.sha256(msgspec.json.encode(content)).digest()[:12]


class DuplicateSessions:
    """Finds imported sessions of a folder that contain each other, by the hash of their first user message."""

    def __init__(self, folder: Path) -> None:
        self._store = SessionStore(folder)
        self._by_opening: dict[str, set[str]] | None = None

    def has_session(self, id: str, opening: str, prints: Iterable[bytes]) -> bool:
        """Whether another session with the same opening has all of these messages."""
        fingerprints = set(prints)
        return any(fingerprints <= self._read_fingerprints(other) for other in self._list_others(id, opening))

    def absorb(self, id: str, opening: str, prints: Iterable[bytes]) -> bool:
        """Delete sessions whose messages are all in this one; return whether there were any. Open sessions stay."""
        fingerprints, has_deleted = set(prints), False
        for other in self._list_others(id, opening):
            if self._read_fingerprints(other) <= fingerprints:
                # The session may be open in another clio; two copies of a conversation are no loss.
                with suppress(ClioError, OSError):
                    self._store.delete(other)
                    self._find_openings()[opening].discard(other)
                    has_deleted = True
        self._find_openings().setdefault(opening, set()).add(id)
        return has_deleted

    def _list_others(self, id: str, opening: str) -> list[str]:
        return sorted(self._find_openings().get(opening, set()) - {id}) if opening else []

    def _read_fingerprints(self, id: str) -> set[bytes]:
        try:
            return {fingerprint_message(message) for message in self._store.read(id)}
        except (ClioError, OSError):
            return {b""}  # no message has this fingerprint, so an unreadable session neither contains nor is contained

    def _find_openings(self) -> dict[str, set[str]]:
        if self._by_opening is None:
            self._by_opening = {}
            for info in list_sessions(self._store.folder):
                if info.imported is not None and info.imported.opening:
                    self._by_opening.setdefault(info.imported.opening, set()).add(info.id)
        return self._by_opening


Fate = Literal["new", "grown", "known", "busy", "old", "empty"]
"""The result for a conversation: written; replaced a shorter version; unchanged; its session is open in another
clio; older than the requested date; or without any message of the user or the model.
"""
_IN_MEMORY_BYTES = 1_000_000
_BLOCK_BYTES = 1 << 20


def make_session_id(agent: str, key: str) -> str:
    """Return the id of the session for a conversation, the same at every import."""
    return derive_id(f"clio import\n{agent}\n{key}".encode("utf-8", "replace"))


class SessionIntake:
    """Collects the messages of one conversation. Must be ended by `finish` or `discard`.

    Args:
        folder: the project's sessions; it exists unless this is a dry run, which writes nothing.
        source: the file of the conversation.

    Raises:
        OSError
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
        # Locked from the start: otherwise two imports would write, and delete, the outputs of the same session.
        self._lock = FileLock(self.files.lock, self.files.id)
        self._busy = not dry_run and not self._lock.acquire()
        self._blobs = _DryRunBlobs(None) if dry_run else BlobStore(self.files.blobs)
        self._cleaner = ImportCleaner(self._blobs, redact, max_chars)
        self._order = ResultOrder(tally)
        self._body: IO[bytes] = tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES, dir=None if dry_run else str(folder))  # noqa: SIM115
        self._digest = hashlib.sha256()
        self._ids: dict[str, None] = {}
        self._fingerprints: list[bytes] = []
        self._opening = ""
        self._first_words = ""
        self._has_conversation = False
        self._created = self._updated = 0.0
        self._about = SessionAbout(key=key)

    def set_about(self, about: SessionAbout) -> None:
        """Update the conversation's metadata; empty fields do not replace earlier ones."""
        earlier = self._about
        self._about = SessionAbout(
            key=earlier.key,
            title=about.title or earlier.title,
            directory=about.directory or earlier.directory,
            within=about.within or earlier.within,
        )

    def add(self, imported: ImportedMessage) -> None:
        """Add a message. Raises OSError."""
        if not self._busy:
            self._write(self._order.feed(self._cleaner.message(imported)))

    def finish(self, now: float, *, since: float = 0.0) -> tuple[Fate, int]:
        """Write the session; return the result and its number of messages. Raises OSError.

        since: a conversation whose last message is older is not written. A dry run returns the result without writing.
        """
        try:
            self._write(self._order.end())
            stored = _read_head(self.files)
            fate = self._decide_fate(stored, since)
            # An agent that resumes may copy its conversation into a new file, under a new key.
            if fate == "new" and self._twins.has_session(self.files.id, self._opening, self._fingerprints):
                fate = "known"
            if fate in ("new", "grown") and not self._dry_run:
                self._blobs.sync()  # before the snapshot that refers to them
                modified = self._updated or self._source.stat().st_mtime
                write_pieces(self.files.snapshot, self._encode_session(stored, modified, now), modified=modified)
                if self._twins.absorb(self.files.id, self._opening, self._fingerprints):
                    fate = "grown"
            return fate, len(self._ids)
        finally:
            self.discard()

    def discard(self) -> None:
        """Release all resources. Outputs are deleted if their session does not exist."""
        self._body.close()
        if self._lock.is_held:
            if not self.files.any_exist():  # the session was not written, so nothing refers to its outputs
                shutil.rmtree(self.files.attachments, ignore_errors=True)
            self._lock.release()

    def _write(self, messages: Iterator[Message]) -> None:
        for message in messages:
            number = len(self._ids)
            id = message.id or derive_id(f"{self.files.id}\n{number}\n{type(message).__name__}".encode())
            # Files that were copied or continued repeat earlier lines with their ids.
            if id in self._ids:
                continue
            created = message.created or self._updated  # formats without times: that of the message before
            message = structs.replace(message, id=id, created=created)
            line = msgspec.json.encode(message)
            self._digest.update(line)
            self._body.write(session_format.MESSAGE_SEPARATOR + line if self._ids else line)
            self._ids[id] = None
            self._fingerprints.append(fingerprint_message(message))
            first_words = find_first_words([message])
            # Text and time together identify a copied conversation; the ids do not, because some versions give copied
            # lines new ones.
            if first_words and created and not self._opening:
                self._opening = self._fingerprints[-1].hex()
            self._first_words = self._first_words or first_words
            self._has_conversation |= isinstance(message, AssistantMessage) or bool(
                first_words and first_words[0] != "/"
            )
            self._created = self._created or created
            self._updated = max(self._updated, created)

    def _decide_fate(self, stored: session_format.SnapshotHead | None, since: float) -> Fate:
        if self._busy:
            return "busy"
        if not (self._first_words and self._has_conversation):  # at most a command to the other program
            return "empty"
        if self._updated and self._updated < since:
            return "old"
        if stored is None:
            return "new"
        is_same = stored.imported is not None and stored.imported.digest == self._compute_digest()
        # A shorter copy of a conversation, such as a backup, does not replace the longer one.
        return "known" if is_same or stored.message_count > len(self._ids) else "grown"

    def _encode_session(
        self, stored: session_format.SnapshotHead | None, modified: float, now: float
    ) -> Iterator[bytes]:
        imported = ImportSource(
            agent=self._agent,
            key=self._key,
            source=str(self._source),
            within=make_session_id(self._agent, self._about.within) if self._about.within else "",
            digest=self._compute_digest(),
            opening=self._opening,
            at=now,
        )
        state = SessionState(
            id=self.files.id,
            name=(stored.session_name if stored else None) or self._make_name(),
            created_at=self._created or modified,
            updated_at=modified,
            working_directory=self._cleaner.text(self._about.directory),
            imported=imported,
            window_ids=list(self._ids),
        )
        yield session_format.encode_snapshot_start(state, list(self._ids), self._first_words)
        self._body.seek(0)
        while block := self._body.read(_BLOCK_BYTES):
            yield block
        yield session_format.SNAPSHOT_END

    def _make_name(self) -> str | None:
        return to_one_line(self._cleaner.text(self._about.title), NAME_CHARS) or None

    def _compute_digest(self) -> str:
        """Return a hash of the messages and the metadata."""
        whole = self._digest.copy()
        whole.update(msgspec.json.encode((self._about.title, self._about.directory, self._about.within)))
        return whole.hexdigest()


def _read_head(files: SessionFiles) -> session_format.SnapshotHead | None:
    """Return the head of the stored session; None if there is none."""
    try:
        with open_regular(files.snapshot, None) as file:
            # The digest is at the beginning of the file, so an import of unchanged conversations reads no session
            # whole.
            data = file.read(HEAD_BYTES)
            head = session_format.decode_snapshot_head(data)
            return head or session_format.decode_snapshot_head(data + file.read())
    except FileNotFoundError:
        return None


class _DryRunBlobs(BlobStore):
    """Computes handles without storing anything."""

    def add_data(self, data: bytes) -> str:
        """Return the handle that the data would get."""
        return hashlib.sha256(data).hexdigest()[:BLOB_HANDLE_CHARS]


READER_VERSION = 1
"""Increased when clio learns to read more of the files: then all files are read again."""


class FileRead(Struct, frozen=True, kw_only=True):
    """The state of a file when it was read. size: in bytes. modified: in nanoseconds since the epoch."""

    size: int
    modified: int
    reading: int = READER_VERSION


class Imports(Struct, frozen=True, kw_only=True):
    """The files that were read, by path, and the facts that the user declined, by their fingerprint."""

    files: dict[str, FileRead] = {}
    declined: tuple[str, ...] = ()


FORMAT = DocumentFormat(schema="clio.imports", version=1, type=Imports)


class ImportLedger:
    """Records which files were imported, in `imports.json` in a project's cache."""

    def __init__(self, cache: Path) -> None:
        self._path = cache / "imports.json"

    def read(self) -> Imports:
        """Return the stored record; an empty one if the file is missing or damaged."""
        try:
            document = load_document(self._path, FORMAT)
        # The ledger only saves reading; without it, everything is read again and nothing is written.
        except (StorageError, OSError):
            return Imports()
        return document.value if document else Imports()

    def note(self, files: list[SourceFile]) -> None:
        """Record that these files were read completely. Raises OSError, StorageError."""
        new = {str(file.path): FileRead(size=file.size, modified=file.modified) for file in files}
        if new:
            update_document(self._path, FORMAT, lambda known: structs.replace(known, files=known.files | new))

    def decline(self, marks: list[str]) -> None:
        """Record that these facts must not be offered again. Raises OSError, StorageError."""
        if marks:
            update_document(
                self._path,
                FORMAT,
                lambda known: structs.replace(known, declined=tuple(dict.fromkeys((*known.declined, *marks)))),
            )


def is_already_read(known: Imports, file: SourceFile) -> bool:
    """Whether the file is unchanged since it was read."""
    return known.files.get(str(file.path)) == FileRead(size=file.size, modified=file.modified)


Reader = Callable[[Path, Tally, Progress], Iterator[Piece]]
READERS: dict[Agent, Reader] = {
    "claude": claude.read_claude,
    "codex": codex.read_codex,
    "gemini": gemini.read_gemini,
    "aider": aider.read_aider,
    "specstory": specstory.read_specstory,
    "clio": places.read_clio,
}
_SEQUENTIAL = frozenset[Agent]({"aider", "specstory"})
"""Agents whose files have several conversations, one after the other."""
_RECORD_INTERVAL_S = 2.0  # so that a killed import continues where it was, without a write per file


class ImportStopped(Exception):
    """The user interrupted the import."""


class ImportReport(Struct, kw_only=True):
    """The result of an import.

    Attributes:
        files: files that were read.
        unchanged: files that were not read again.
        left: files that were not read because the import was stopped.
        read_bytes: size of the files that were read.
        fates: number of conversations by result.
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
    """Imports conversations into the sessions of one project.

    Args:
        folder: the project's sessions.
        redact: removes secrets from a text.
        max_chars: of a tool output in a message.
        record: called with the id of each session that was written.
    """

    def __init__(
        self,
        folder: Path,
        ledger: ImportLedger,
        redact: Callable[[str], str],
        max_chars: int,
        *,
        record: Callable[[str], None] = lambda session_id: None,
    ) -> None:
        self._record = record
        self._folder = folder
        self._ledger = ledger
        self._redact = redact
        self._max_chars = max_chars
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
        """Import the conversations in these files, which are not changed. Raises OSError if nothing can be written.

        Args:
            since: conversations that ended before this time are skipped.
            again: whether unchanged files are read again.
            dry_run: whether to write nothing.
            progress: called with the bytes done and their total.
        """
        report, started_at = ImportReport(), time.monotonic()
        known = self._ledger.read()
        recent = [file for file in files if file.modified / 1e9 >= since]
        new = [file for file in recent if again or not is_already_read(known, file)]
        report.unchanged = len(recent) - len(new)
        total, done = sum(file.size for file in new), 0
        completed: list[SourceFile] = []
        noted_at = started_at
        if not dry_run and new:
            # With a .gitignore of its own: imported conversations must not get into the user's next commit.
            make_ignored_folder(self._folder, self._folder.parent)

        def report_progress(position: int) -> None:
            if stop():
                raise ImportStopped
            progress(min(done + position, total), total)

        try:
            for file in new:
                report_progress(0)
                if self._read(file, report, report_progress, since, dry_run):
                    completed.append(file)
                done += file.size
                report.files, report.read_bytes = report.files + 1, done
                if not dry_run and time.monotonic() - noted_at > _RECORD_INTERVAL_S:
                    self._ledger.note(completed)
                    completed, noted_at = [], time.monotonic()
        except ImportStopped:
            report.stopped = True
        finally:
            progress(total, total)
            if not dry_run:
                self._ledger.note(completed)
        report.left = len(new) - report.files
        report.seconds = time.monotonic() - started_at
        return report

    def _read(self, file: SourceFile, report: ImportReport, progress: Progress, since: float, dry_run: bool) -> bool:
        """Read one file; return whether all its conversations are stored, so that it need not be read again."""
        intakes: dict[str, SessionIntake] = {}
        fates: Counter[Fate] = Counter()
        unread = len(report.tally.unreadable)
        try:
            for piece in READERS[file.agent](file.path, report.tally, progress):
                intake = intakes.get(piece.key)
                if intake is None:
                    # One conversation at a time: each open intake holds a lock and a temporary file.
                    if file.agent in _SEQUENTIAL:
                        self._finish_sessions(intakes, report, fates, since, dry_run)
                    intake = intakes[piece.key] = self._open_intake(file, piece.key, report.tally, dry_run)
                if isinstance(piece, SessionAbout):
                    intake.set_about(piece)
                else:
                    intake.add(piece)
            self._finish_sessions(intakes, report, fates, since, dry_run)
        except OSError as error:
            if error.errno in NO_SPACE_ERRNOS:
                raise  # the file is fine, but nothing more can be stored
            report.tally.unreadable.append((str(error.filename or file.path), error.strerror or str(error)))
            return False
        finally:
            for intake in intakes.values():
                intake.discard()
        # A file with a conversation that was skipped is read again next time; otherwise it would never be imported.
        return not (fates["busy"] or fates["old"]) and unread == len(report.tally.unreadable)

    def _open_intake(self, file: SourceFile, key: str, tally: Tally, dry_run: bool) -> SessionIntake:
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

    def _finish_sessions(
        self, intakes: dict[str, SessionIntake], report: ImportReport, fates: Counter[Fate], since: float, dry_run: bool
    ) -> None:
        while intakes:
            key = next(iter(intakes))
            session_id = intakes[key].files.id
            fate, messages = intakes[key].finish(time.time(), since=since)
            if fate in ("new", "grown") and not dry_run:
                self._record(session_id)
            del intakes[key]
            fates[fate] += 1
            report.fates[fate] += 1
            report.messages += messages if fate in ("new", "grown") else 0
