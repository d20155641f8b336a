"""The files in which memory stores data: where they are, all of it as one JSON document (a bundle), and `wipe`.

A bundle is a backup, or moves the memories to another machine; `wipe` deletes them for good.
"""

import time
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec
from msgspec import Raw, Struct, structs

import clio
from clio.errors import CorruptDocument, NewerDocument, StorageError, UserError
from clio.memory.consolidation.consolidation import ConsolidationState, Progress, read_state, write_state
from clio.memory.store.change_log import LOG_NAME, ChangeLog, encode_former
from clio.memory.store.ltm_codec import decode_ltm
from clio.memory.store.ltm_store import LongTermMemory
from clio.memory.store.notes import Notes
from clio.memory.store.record import MemoryRecord, Note, Redact, redact_json, redact_note, redact_record
from clio.memory.store.typed_store import FORMAT, Scope, Snapshot, TypedStore
from clio.memory.store.versions import ArchivedMemory, EndedVersion
from clio.memory.vectors.semantic_index import DOCUMENTS
from clio.messages import UserMessage
from clio.sessions.state import SessionInfo
from clio.sessions.store import SessionStore
from clio.storage.documents import (
    Document,
    DocumentFormat,
    decode_document,
    encode_document,
    load_document,
    save_document,
)
from clio.storage.files import open_regular, read_regular, sync_folder
from clio.storage.jsonl import read_lines
from clio.storage.locks import FileLock, read_owner
from clio.text.json_data import decode_json
from clio.text.translation import tr

StyleOwner = Literal["project", "user"]


class MemoryPaths(Struct, frozen=True, kw_only=True):
    """The paths of all memory files. None of them need exist.

    Attributes:
        project: the project's folder.
        home: clio's home folder, which contains the user's memories.
    """

    project: Path
    home: Path

    @property
    def folder(self) -> Path:
        """The project's `.clio`."""
        return self.project / ".clio"

    @property
    def knowledge(self) -> Path:
        """The file with the project's facts, solutions, patterns, workflows, failures and rules."""
        return self.folder / "ltm.json"

    @property
    def notes(self) -> Path:
        """The folder of notes."""
        return self.folder / "memory"

    def log(self, scope: Scope) -> Path:
        """The change log of a scope."""
        return (self.home if scope == "user" else self.folder) / LOG_NAME

    @property
    def documents(self) -> Path:
        """The list of documents that the user added."""
        return self.folder / "documents.json"

    @property
    def ratings(self) -> Path:
        """The file with rated turns and their ratings."""
        return self.folder / "trajectories.jsonl"

    @property
    def ratings_archive(self) -> Path:
        """The file with archived turns that have no rating."""
        return self.folder / "trajectories.archive.jsonl"

    @property
    def cache(self) -> Path:
        """The folder of search indexes, vectors and records of the last turn."""
        return self.folder / "cache"

    @property
    def sessions(self) -> Path:
        """The folder of the project's sessions."""
        return self.folder / "sessions"

    @property
    def scenarios(self) -> Path:
        """The file with the user's task types, which were called scenarios."""
        return self.home / "scenarios.yaml"

    @property
    def styles(self) -> Path:
        """The file with what was learned about response styles."""
        return self.home / "styles.json"

    def memories(self, scope: Scope) -> Path:
        """The snapshot file of typed memories: facts, events, notes and preferences."""
        return (self.home if scope == "user" else self.folder) / "memories.json"

    def open_typed(self, scope: Scope) -> TypedStore:
        """Return the store of a scope's facts, events, notes and preferences."""
        return TypedStore(self.memories(scope), scope, log=ChangeLog(self.log(scope)))

    def own_styles(self, owner: StyleOwner) -> Path:
        """The folder of style files that are not built in."""
        return (self.home if owner == "user" else self.folder) / "styles"


Section = Literal["knowledge", "memories", "notes", "scenarios", "styles", "feedback"]
SECTIONS: tuple[Section, ...] = ("knowledge", "memories", "notes", "scenarios", "styles", "feedback")
MISSING = Raw(b"null")


class Head(Struct, frozen=True, kw_only=True):
    """Origin and size of a bundle.

    Attributes:
        at: when it was written, in seconds since the epoch.
        clio: the version that wrote it.
        project: the name of the project's directory.
        counts: number of items by kind, see `count_items`.
    """

    at: float = 0.0
    clio: str = ""
    project: str = ""
    counts: dict[str, int] = {}


class KnowledgePart(Struct, frozen=True, kw_only=True):
    """`ltm.json` unchanged, null if there was none; its archived memories, and former versions of memories."""

    ltm: Raw = MISSING
    archive: tuple[ArchivedMemory, ...] = ()
    history: tuple[EndedVersion, ...] = ()


class RecordsPart(Struct, frozen=True, kw_only=True):
    """The memories of one scope, including superseded ones, and the lines of its archive."""

    records: tuple[MemoryRecord, ...] = ()
    archive: tuple[Raw, ...] = ()


class MemoriesPart(Struct, frozen=True, kw_only=True):
    """Typed memories of the project and of the user; preferences belong to the user."""

    project: RecordsPart = RecordsPart()
    user: RecordsPart = RecordsPart()


class StylesPart(Struct, frozen=True, kw_only=True):
    """`styles.json` unchanged, null if there was none; the texts of the user's and the project's style files."""

    learned: Raw = MISSING
    user: dict[str, str] = {}
    project: dict[str, str] = {}


class FeedbackPart(Struct, frozen=True, kw_only=True):
    """The lines of `trajectories.jsonl` and of its archive."""

    lines: tuple[Raw, ...] = ()
    archive: tuple[Raw, ...] = ()


class Bundle(Struct, frozen=True, kw_only=True):
    """The whole export; a section that was not requested, or is empty, is None."""

    head: Head = Head()
    knowledge: KnowledgePart | None = None
    memories: MemoriesPart | None = None
    notes: tuple[Note, ...] | None = None
    scenarios: str | None = None
    styles: StylesPart | None = None
    feedback: FeedbackPart | None = None

    @property
    def has(self) -> tuple[Section, ...]:
        """Return the names of the sections it contains."""
        return tuple(name for name in SECTIONS if getattr(self, name) is not None)


_BUNDLE_FORMAT = DocumentFormat(schema="clio.memory", version=1, type=Bundle)


class _Schema(Struct):
    schema: Any = None


def is_missing(raw: Raw) -> bool:
    """Whether the value stands for a file that did not exist."""
    return bytes(raw) in (b"null", b"")


def encode_bundle(bundle: Bundle) -> bytes:
    """Return a bundle as indented JSON in UTF-8."""
    return encode_document(Document(value=bundle), _BUNDLE_FORMAT)


def is_bundle(data: bytes) -> bool:
    """Whether the data is a JSON object that calls itself a bundle, damaged or not."""
    try:
        return decode_json(data, type=_Schema).schema == _BUNDLE_FORMAT.schema
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


def decode_bundle(data: bytes, path: Path) -> Bundle:
    """Return the bundle in a file's data. Raises NewerDocument; UserError if it is damaged."""
    try:
        return decode_document(data, _BUNDLE_FORMAT, path).value
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(
            tr("{path!r} is damaged ({error}); nothing was imported, export it again", path=str(path), error=error)
        ) from error


MAX_STYLE_BYTES = 100_000


def make_bundle(paths: MemoryPaths, *, redact: Redact, now: float, what: Collection[Section] = SECTIONS) -> Bundle:
    """Return all sections, or the requested ones, with `redact` applied to every text. Writes nothing.

    Raises StorageError for a damaged file, after moving it aside; OSError.
    """
    redact = _cache_redact(redact)
    bundle = Bundle(
        knowledge=_export_knowledge(paths, redact) if "knowledge" in what else None,
        memories=_export_memories(paths, redact) if "memories" in what else None,
        notes=tuple(redact_note(note, redact) for note in Notes(paths.notes).newest_first()) or None
        if "notes" in what
        else None,
        scenarios=redact(text) if "scenarios" in what and (text := _read_text(paths.scenarios)) is not None else None,
        styles=_export_styles(paths, redact) if "styles" in what else None,
        feedback=_export_feedback(paths, redact) if "feedback" in what else None,
    )
    head = Head(at=round(now, 3), clio=clio.__version__, project=redact(paths.project.name), counts=count_items(bundle))
    return structs.replace(bundle, head=head)


def make_ltm_document(paths: MemoryPaths, redact: Redact) -> bytes:
    """Return the project's facts, solutions and rules as an `ltm.json`, which other tools read too."""
    part = _export_knowledge(paths, _cache_redact(redact))
    document = part.ltm if part else Raw(msgspec.json.encode({}))
    return msgspec.json.format(document, indent=2) + b"\n"


def count_items(bundle: Bundle) -> dict[str, int]:
    """Return the number of items by kind, without zeros."""
    found: dict[str, int] = {}
    if bundle.knowledge:
        found["knowledge"] = count_project_memories(bundle.knowledge.ltm)
        found["knowledge_archived"] = len(bundle.knowledge.archive)
    if bundle.memories:
        for scope, part in (("project", bundle.memories.project), ("user", bundle.memories.user)):
            live = sum(record.is_live for record in part.records)
            found[f"{scope}_memories"] = live
            found[f"{scope}_replaced"] = len(part.records) - live
            found[f"{scope}_archived"] = len(part.archive)
    found["notes"] = len(bundle.notes or ())
    if bundle.styles:
        found["style_files"] = len(bundle.styles.user) + len(bundle.styles.project)
    if bundle.feedback:
        found["feedback"] = len(bundle.feedback.lines) + len(bundle.feedback.archive)
    return {name: number for name, number in found.items() if number}


def count_project_memories(ltm: Raw) -> int:
    """Return the number of memories in a valid `ltm.json`."""
    return 0 if is_missing(ltm) else len(decode_ltm(bytes(ltm)).all())


def _export_knowledge(paths: MemoryPaths, redact: Redact) -> KnowledgePart | None:
    store = LongTermMemory(paths.knowledge, project=paths.project, home=paths.home)
    known = store.document()
    archive = tuple(structs.replace(kept, entry=redact_json(kept.entry, redact)) for kept in store.archive.read(known))
    history = tuple(
        structs.replace(version, entry=redact_json(version.entry, redact)) for version in store.archive.endings()
    )
    if not store.exists():
        return KnowledgePart(archive=archive, history=history) if archive or history else None
    document = decode_json(known.encode())
    ltm = Raw(msgspec.json.encode(redact_json(document, redact)))
    return KnowledgePart(ltm=ltm, archive=archive, history=history)


def _export_memories(paths: MemoryPaths, redact: Redact) -> MemoriesPart | None:
    project, user = _export_records(paths, "project", redact), _export_records(paths, "user", redact)
    empty = RecordsPart()
    return None if (project, user) == (empty, empty) else MemoriesPart(project=project, user=user)


def _export_records(paths: MemoryPaths, scope: Scope, redact: Redact) -> RecordsPart:
    store = paths.open_typed(scope)
    records = tuple(redact_record(record, redact) for record in store.records(superseded=True))
    lines = (_redact_line(encode_former(former), redact) for former in store.formers())
    return RecordsPart(
        records=records,
        archive=tuple(line for line in lines if line),
    )


def _export_styles(paths: MemoryPaths, redact: Redact) -> StylesPart | None:
    learned = _read_text(paths.styles)
    part = StylesPart(
        learned=MISSING if learned is None else _redact_line(learned.encode("utf-8"), redact) or MISSING,
        user=_export_style_files(paths, "user", redact),
        project=_export_style_files(paths, "project", redact),
    )
    return None if part == StylesPart() else part


def _export_style_files(paths: MemoryPaths, owner: StyleOwner, redact: Redact) -> dict[str, str]:
    folder = paths.own_styles(owner)
    if not folder.is_dir():
        return {}
    # A symbolic link could export a file from outside of the folder.
    found = ((path.name, _read_text(path)) for path in sorted(folder.glob("*.md")) if not path.is_symlink())
    return {redact(name): redact(text) for name, text in found if text is not None and len(text) <= MAX_STYLE_BYTES}


def _export_feedback(paths: MemoryPaths, redact: Redact) -> FeedbackPart | None:
    lines, archive = _redact_lines(paths.ratings, redact), _redact_lines(paths.ratings_archive, redact)
    return FeedbackPart(lines=lines, archive=archive) if lines or archive else None


def _redact_lines(path: Path, redact: Redact) -> tuple[Raw, ...]:
    """Return the lines of a JSONL file with their texts cleaned, without invalid lines."""
    return tuple(cleaned for line in read_lines(path).lines if (cleaned := _redact_line(line, redact)))


def _redact_line(line: bytes, redact: Redact) -> Raw | None:
    """Return a line of JSON with its texts cleaned; None if it is invalid."""
    try:
        value = decode_json(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return Raw(msgspec.json.encode(redact_json(value, redact)))


def _read_text(path: Path) -> str | None:
    """Return the text of a file; None if it does not exist."""
    try:
        return read_regular(path).decode("utf-8", "replace").replace("\r\n", "\n") if path.is_file() else None
    except FileNotFoundError:
        return None


def _cache_redact(redact: Redact) -> Redact:
    """Return `redact` with a cache: keywords, paths and field names occur many times."""
    known: dict[str, str] = {}

    def cleaned(text: str) -> str:
        found = known.get(text)
        if found is None:
            found = known[text] = redact(text)
        return found

    return cleaned


WipeScope = Literal["project", "user", "styles"]
WIPE_SCOPES: tuple[WipeScope, ...] = get_args(WipeScope)
DataKind = Literal[
    "memories",
    "knowledge",
    "notes",
    "documents",
    "ratings",
    "consolidation_state",
    "consolidation_files",
    "undo",
    "cache",
    "shifts",
    "styles",
]


class DataFileSet(Struct, frozen=True, kw_only=True):
    """Files that are deleted together.

    Attributes:
        kind: says how they are counted and deleted. "consolidation_state" is that of the project, "consolidation_files"
            other files of consolidation, "undo" a change log, "shifts" the reported changes of preferences.
        what: their name for the user.
        folder: the folder that contains them.
        names: patterns of their names. They also match files that were set aside as damaged and temporary files of
            a process that was killed while writing.
        lock: the name of the lock file under which they are changed; empty if they have none.
        owner: for typed memories, their scope.
    """

    kind: DataKind
    what: str
    folder: Path
    names: tuple[str, ...]
    lock: str = ""
    owner: Scope = "project"

    def files(self) -> list[Path]:
        """Return the existing files without lock files, including all files inside folders whose name matches."""
        try:
            found = list(self.folder.iterdir())
        except (FileNotFoundError, NotADirectoryError):
            return []
        top = (
            path
            for path in found
            if not path.name.endswith(".lock") and any(fnmatch(path.name, name) for name in self.names)
        )
        return sorted(file for path in top for file in _walk_files(path))


def list_file_sets(paths: MemoryPaths, scopes: Iterable[WipeScope]) -> tuple[DataFileSet, ...]:
    """Return the files of these scopes in the order in which they are deleted.

    The change logs come late, so that after an interrupted wipe the remaining changes can still be undone.
    """
    scopes = frozenset(scopes)
    project, home = paths.folder, paths.home
    found: list[DataFileSet] = []
    if "project" in scopes:
        found += [
            _make_memory_set(project, "project", tr("facts, events and notes of the project")),
            DataFileSet(
                kind="knowledge",
                what=tr("facts, solutions and rules of the project"),
                folder=project,
                names=("ltm.*", "ltm"),
                lock="ltm.json.lock",
            ),
            DataFileSet(kind="notes", what=tr("keyed notes"), folder=paths.notes, names=("*",)),
            _make_document_set(
                project, "documents", tr("list of documents you added (not the files)"), "documents.json"
            ),
            DataFileSet(
                kind="ratings",
                what=tr("rated turns and ratings"),
                folder=project,
                names=("trajectories.*",),
                lock="trajectories.jsonl.lock",
            ),
        ]
    if "user" in scopes:
        found += [
            _make_memory_set(home, "user", tr("your memories, including preferences")),
            DataFileSet(
                kind="consolidation_files",
                what=tr("consolidation state of your memories"),
                folder=home,
                names=("sleep.person.*",),
            ),
            _make_document_set(home, "shifts", tr("reported changes of preferences"), "shifts.json"),
            _make_log_set(home, tr("change log of your memories")),
        ]
    if "styles" in scopes:
        found.append(_make_document_set(home, "styles", tr("what was learned about styles"), "styles.json"))
    if "project" in scopes or "user" in scopes:
        if "project" in scopes:
            found.append(
                DataFileSet(
                    kind="consolidation_state",
                    what=tr("consolidation state of the project"),
                    folder=project,
                    names=("sleep.json*",),
                )
            )
        found += [
            DataFileSet(
                kind="consolidation_files", what=tr("consolidation log"), folder=project, names=("sleep.log*",)
            ),
            *([_make_log_set(project, tr("change log of the project"))] if "project" in scopes else ()),
        ]
    # The cache mixes data of all scopes: with the project all of it is deleted, with the others only what quotes them.
    names = ("*",) if "project" in scopes else ("why.json*", "style.json*") if "user" in scopes else ("style.json*",)
    if scopes:
        what = tr("search indexes, vectors and records of the last turn")
        found.append(DataFileSet(kind="cache", what=what, folder=paths.cache, names=names))
    return tuple(found)


def _make_memory_set(folder: Path, owner: Scope, what: str) -> DataFileSet:
    return DataFileSet(
        kind="memories", what=what, folder=folder, names=("memories.*",), lock="memories.json.lock", owner=owner
    )


def _make_document_set(folder: Path, kind: DataKind, what: str, name: str) -> DataFileSet:
    """Return the file set of one document, including damaged versions that were set aside."""
    return DataFileSet(kind=kind, what=what, folder=folder, names=(f"{name}*",), lock=f"{name}.lock")


def _make_log_set(folder: Path, what: str) -> DataFileSet:
    return DataFileSet(kind="undo", what=what, folder=folder, names=(f"{LOG_NAME}*",), lock=f"{LOG_NAME}.lock")


def _walk_files(path: Path) -> Iterator[Path]:
    """Yield the file, or all files inside the folder. Symbolic links count as files and are not followed."""
    if path.is_symlink() or not path.is_dir():
        yield path
        return
    for inner in path.iterdir():
        if not inner.name.endswith(".lock"):
            yield from _walk_files(inner)


class FileSetSummary(Struct, frozen=True, kw_only=True):
    """The size of a file set. records: the number of items; None if it has no items, or they cannot be read."""

    file_set: DataFileSet
    files: int
    bytes: int
    records: int | None = None


def summarize_file_sets(paths: MemoryPaths, file_sets: tuple[DataFileSet, ...]) -> tuple[FileSetSummary, ...]:
    """Return the sizes of the file sets that contain anything.

    Raises NewerDocument if a newer version of clio wrote a file: it may have other files that this version would miss.
    """
    found: list[FileSetSummary] = []
    for file_set in file_sets:
        try:
            records = _count_records(paths, file_set)
        except NewerDocument:
            raise
        except (StorageError, OSError, ValueError):
            records = None  # damaged files are deleted all the same
        files = file_set.files()
        if files and not _is_wiped(file_set, files, records):
            sizes = (path.lstat().st_size for path in files if path.exists())
            found.append(FileSetSummary(file_set=file_set, files=len(files), bytes=sum(sizes), records=records))
    return tuple(found)


def _is_wiped(file_set: DataFileSet, files: Sequence[Path], records: int | None) -> bool:
    """Whether the files contain only the empty state that `wipe` writes in place of deleted data."""
    names = [path.name for path in files]
    if file_set.kind == "memories":
        return records == 0 and names == ["memories.json"]
    if file_set.kind == "consolidation_state" and names == ["sleep.json"]:
        state, _ = read_state(files[0])
        return state == ConsolidationState(sessions=state.sessions)
    return False


def _count_records(paths: MemoryPaths, file_set: DataFileSet) -> int | None:
    """Return the number of items in a file set; None for a kind that has no items. Raises if files are damaged."""
    match file_set.kind:
        case "memories":
            typed = paths.open_typed(file_set.owner)
            return len(typed.index.records) + len(typed.formers())
        case "knowledge":
            store = LongTermMemory(paths.knowledge, project=paths.project, home=paths.home)
            known = store.document()
            return len(known.all()) + len(store.archive.read(known))
        case "notes":
            return len(Notes(paths.notes).newest_first())
        case "documents":
            document = load_document(paths.documents, DOCUMENTS)
            return len(document.value.sources) if document else 0
        case "ratings":
            return _count_lines("trajectories.jsonl", file_set) + _count_lines("trajectories.archive.jsonl", file_set)
        case "undo":
            return len(ChangeLog(file_set.folder / LOG_NAME).undoable())
        case _:
            return None


def _count_lines(name: str, file_set: DataFileSet) -> int:
    return len(read_lines(file_set.folder / name).lines)


LOCK_TIMEOUT_S = 10.0
TEMPORARY_FILE_AGE_S = 1.0
"""A temporary file younger than this may still be written by a running process."""
_INDEX_LOCK = "recall.sqlite.lock"


class _JournalHead(Struct):
    """The field of a journal's first line that is needed here."""

    generation: int = 0


def wipe(paths: MemoryPaths, file_sets: Iterable[DataFileSet]) -> None:
    """Delete file sets permanently. Sessions that stay are marked as consolidated, so that they are not learned again.

    Raises StorageError if a file cannot be deleted or locked, UserError while a process is consolidating memory.
    """
    with _consolidation_locked(paths):
        for file_set in file_sets:
            try:
                if file_set.kind == "consolidation_state":
                    _reset_consolidation_state(file_set, SessionStore(paths.sessions))
                else:
                    _DELETE_FUNCTIONS.get(file_set.kind, _delete_file_set)(file_set)
            except TimeoutError as error:
                raise StorageError(
                    tr("{what}: {error} None of them was deleted; wipe again.", what=file_set.what, error=error)
                ) from error
            except OSError as error:
                cause = error.strerror or str(error)
                raise StorageError(
                    tr(
                        "{what}: {filename!r} cannot be deleted ({cause}); fix its permissions and wipe again.",
                        what=file_set.what,
                        filename=error.filename or str(file_set.folder),
                        cause=cause,
                    )
                ) from error


def _delete_file_set(file_set: DataFileSet) -> None:
    """Delete all files of a set while holding its lock."""
    if not file_set.files():
        return
    with FileLock(file_set.folder / file_set.lock) if file_set.lock else nullcontext():
        _delete_files(file_set.files())


def _empty_memories(file_set: DataFileSet) -> None:
    """Replace the memories by an empty snapshot of the next generation, and delete all other files.

    A process that has the memories open sees from the generation that it must read them again. If the file were
    deleted, that process could mistake a journal that is created later for the one it has read.
    """
    path = file_set.folder / "memories.json"
    if not file_set.files():
        return
    with FileLock(file_set.folder / file_set.lock):
        save_document(path, FORMAT, Document(value=Snapshot(generation=_read_generation(path) + 1)))
        _delete_files(file for file in file_set.files() if file != path)


def _read_generation(path: Path) -> int:
    """Return the generation of a snapshot or of its journal, whichever is greater; 0 if neither exists."""
    try:
        document = load_document(path, FORMAT)
    except CorruptDocument:
        document = None
    found = document.value.generation if document else 0
    try:
        with open_regular(path.with_suffix(".journal.jsonl")) as file:
            return max(found, decode_json(file.readline(), type=_JournalHead).generation)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return found


def _reset_consolidation_state(file_set: DataFileSet, sessions: SessionStore) -> None:
    """Mark all remaining sessions as consolidated and delete everything else in the state of consolidation."""
    path = file_set.folder / "sleep.json"
    progress = {info.id: _mark_consolidated(info, sessions) for info in sessions.list()}
    if progress:
        write_state(path, ConsolidationState(sessions=progress))
    _delete_files(file for file in file_set.files() if file != path or not progress)


def _mark_consolidated(info: SessionInfo, sessions: SessionStore) -> Progress:
    """Return the progress of a session whose turns so far are consolidated; a running one gets further turns."""
    try:
        messages = sessions.read(info.id)
    except (StorageError, UserError, OSError):
        messages = ()  # consolidation cannot read it either
    turns = [message.id for message in messages if isinstance(message, UserMessage) and message.origin == "user"]
    done = turns[-1] if turns else ""
    return Progress(done=done) if info.running else Progress(done=done, messages=info.messages, updated=info.updated_at)


def _delete_notes(file_set: DataFileSet) -> None:
    """Delete the notes. They have no lock, so wait up to two seconds while a note is being written."""
    deadline = time.monotonic() + 2 * TEMPORARY_FILE_AGE_S
    while any(map(_is_being_written, file_set.files())) and time.monotonic() < deadline:
        time.sleep(0.05)
    _delete_files(file_set.files())


def _is_being_written(path: Path) -> bool:
    try:
        return path.name.endswith(".tmp") and time.time() - path.lstat().st_mtime < TEMPORARY_FILE_AGE_S
    except OSError:
        return False


def _delete_cache(file_set: DataFileSet) -> None:
    """Delete indexes and vectors. Processes that have them open build them again."""
    has_index = any(file.name.startswith("recall.sqlite") for file in file_set.files())
    with FileLock(file_set.folder / _INDEX_LOCK) if has_index else nullcontext():
        _delete_files(file_set.files())


def _delete_files(files: Iterable[Path]) -> None:
    """Delete files, and sync their folders so that they do not reappear after a power failure.

    Empty folders stay, because another process may be about to write there.
    """
    folders: set[Path] = set()
    for file in files:
        file.unlink(missing_ok=True)
        folders.add(file.parent)
    for folder in folders:
        with suppress(FileNotFoundError):
            sync_folder(folder)


@contextmanager
def _consolidation_locked(paths: MemoryPaths) -> Generator[None]:
    """Prevent consolidation from running, which would write deleted memories again. Raises UserError if it runs."""
    if not paths.folder.is_dir():
        yield
        return
    lock = FileLock(paths.folder / "sleep.lock")
    if not lock.acquire(LOCK_TIMEOUT_S):
        owner = read_owner(lock.path)
        raise UserError(tr("clio is consolidating memory in process {pid}; wipe again when it is done", pid=owner.pid))
    try:
        yield
    finally:
        lock.release()


_DELETE_FUNCTIONS: dict[str, Callable[[DataFileSet], None]] = {
    "memories": _empty_memories,
    "notes": _delete_notes,
    "cache": _delete_cache,
}
