"""Export everything in memory as one JSON document (a bundle), for a backup or for another machine."""

from collections.abc import Collection
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Raw, Struct, structs

import clio
from clio.errors import UserError
from clio.memory.store.change_log import LOG_NAME, ChangeLog, encode_former
from clio.memory.store.ltm_codec import decode_ltm
from clio.memory.store.ltm_store import LongTermMemory
from clio.memory.store.notes import Notes
from clio.memory.store.record import MemoryRecord, Note, Redact, redact_json, redact_note, redact_record
from clio.memory.store.typed_store import Scope, TypedStore
from clio.memory.store.versions import ArchivedMemory, EndedVersion
from clio.storage.documents import (
    Document,
    DocumentFormat,
    decode_document,
    encode_document,
)
from clio.storage.files import read_regular
from clio.storage.jsonl import read_lines
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
        counts: number of items by kind, see `counts_of`.
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
    redact = _cached(redact)
    bundle = Bundle(
        knowledge=_knowledge(paths, redact) if "knowledge" in what else None,
        memories=_memories(paths, redact) if "memories" in what else None,
        notes=_notes(paths, redact) if "notes" in what else None,
        scenarios=_scenarios(paths, redact) if "scenarios" in what else None,
        styles=_styles(paths, redact) if "styles" in what else None,
        feedback=_feedback(paths, redact) if "feedback" in what else None,
    )
    head = Head(at=round(now, 3), clio=clio.__version__, project=redact(paths.project.name), counts=count_items(bundle))
    return structs.replace(bundle, head=head)


def make_ltm_document(paths: MemoryPaths, redact: Redact) -> bytes:
    """Return the project's facts, solutions and rules as an `ltm.json`, which other tools read too."""
    part = _knowledge(paths, _cached(redact))
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


def _knowledge(paths: MemoryPaths, redact: Redact) -> KnowledgePart | None:
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


def _memories(paths: MemoryPaths, redact: Redact) -> MemoriesPart | None:
    project, user = _records(paths, "project", redact), _records(paths, "user", redact)
    empty = RecordsPart()
    return None if (project, user) == (empty, empty) else MemoriesPart(project=project, user=user)


def _records(paths: MemoryPaths, scope: Scope, redact: Redact) -> RecordsPart:
    store = paths.open_typed(scope)
    records = tuple(redact_record(record, redact) for record in store.records(superseded=True))
    lines = (_redact_line(encode_former(former), redact) for former in store.formers())
    return RecordsPart(
        records=records,
        archive=tuple(line for line in lines if line),
    )


def _notes(paths: MemoryPaths, redact: Redact) -> tuple[Note, ...] | None:
    return tuple(redact_note(note, redact) for note in Notes(paths.notes).newest_first()) or None


def _scenarios(paths: MemoryPaths, redact: Redact) -> str | None:
    text = _text(paths.scenarios)
    return None if text is None else redact(text)


def _styles(paths: MemoryPaths, redact: Redact) -> StylesPart | None:
    learned = _text(paths.styles)
    part = StylesPart(
        learned=MISSING if learned is None else _redact_line(learned.encode("utf-8"), redact) or MISSING,
        user=_style_files(paths, "user", redact),
        project=_style_files(paths, "project", redact),
    )
    return None if part == StylesPart() else part


def _style_files(paths: MemoryPaths, owner: StyleOwner, redact: Redact) -> dict[str, str]:
    folder = paths.own_styles(owner)
    if not folder.is_dir():
        return {}
    # A symbolic link could export a file from outside of the folder.
    found = ((path.name, _text(path)) for path in sorted(folder.glob("*.md")) if not path.is_symlink())
    return {redact(name): redact(text) for name, text in found if text is not None and len(text) <= MAX_STYLE_BYTES}


def _feedback(paths: MemoryPaths, redact: Redact) -> FeedbackPart | None:
    lines, archive = _lines(paths.ratings, redact), _lines(paths.ratings_archive, redact)
    return FeedbackPart(lines=lines, archive=archive) if lines or archive else None


def _lines(path: Path, redact: Redact) -> tuple[Raw, ...]:
    """Return the lines of a JSONL file with their texts cleaned, without invalid lines."""
    return tuple(cleaned for line in read_lines(path).lines if (cleaned := _redact_line(line, redact)))


def _redact_line(line: bytes, redact: Redact) -> Raw | None:
    """Return a line of JSON with its texts cleaned; None if it is invalid."""
    try:
        value = decode_json(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return Raw(msgspec.json.encode(redact_json(value, redact)))


def _text(path: Path) -> str | None:
    """Return the text of a file; None if it does not exist."""
    try:
        return read_regular(path).decode("utf-8", "replace").replace("\r\n", "\n") if path.is_file() else None
    except FileNotFoundError:
        return None


def _cached(redact: Redact) -> Redact:
    """Return `redact` with a cache: keywords, paths and field names occur many times."""
    known: dict[str, str] = {}

    def cleaned(text: str) -> str:
        found = known.get(text)
        if found is None:
            found = known[text] = redact(text)
        return found

    return cleaned
