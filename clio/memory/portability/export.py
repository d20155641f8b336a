"""Export everything in memory as one JSON document (a bundle), for a backup or for another machine."""

from collections.abc import Collection
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Raw, Struct, structs

import clio
from clio.errors import UserError
from clio.memory.portability.inventory import MemoryPaths, StyleOwner, read_typed_memories
from clio.memory.store.ltm_archive import EndedVersion
from clio.memory.store.ltm_codec import decode_ltm
from clio.memory.store.ltm_objects import ArchivedMemory
from clio.memory.store.ltm_store import open_store
from clio.memory.store.notes import Notes
from clio.memory.store.record import MemoryRecord, Note
from clio.memory.store.record_rules import Clean, clean_json, clean_note, clean_record
from clio.memory.store.typed_codec import encode_former
from clio.memory.store.typed_store import Scope
from clio.storage.documents import Document, DocumentFormat, decode_document, encode_document
from clio.storage.jsonl import read_lines
from clio.text.json_data import decode_json

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


FORMAT = DocumentFormat(schema="clio.memory", version=1, type=Bundle)


class _Schema(Struct):
    schema: Any = None


def is_missing(raw: Raw) -> bool:
    """Whether the value stands for a file that did not exist."""
    return bytes(raw) in (b"null", b"")


def encode_bundle(bundle: Bundle) -> bytes:
    """Return a bundle as indented JSON in UTF-8."""
    return encode_document(Document(value=bundle), FORMAT)


def is_bundle(data: bytes) -> bool:
    """Whether the data is a JSON object that calls itself a bundle, damaged or not."""
    try:
        return decode_json(data, type=_Schema).schema == FORMAT.schema
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


def decode_bundle(data: bytes, path: Path) -> Bundle:
    """Return the bundle in a file's data. Raises NewerDocument; UserError if it is damaged."""
    try:
        return decode_document(data, FORMAT, path).value
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(f"{str(path)!r} is damaged ({error}); nothing was imported, export it again") from error


MAX_STYLE_BYTES = 100_000


def make_bundle(paths: MemoryPaths, *, clean: Clean, now: float, what: Collection[Section] = SECTIONS) -> Bundle:
    """Return all sections, or the requested ones, with `clean` applied to every text. Writes nothing.

    Raises StorageError for a damaged file, after moving it aside; OSError.
    """
    clean = _cached(clean)
    bundle = Bundle(
        knowledge=_knowledge(paths, clean) if "knowledge" in what else None,
        memories=_memories(paths, clean) if "memories" in what else None,
        notes=_notes(paths, clean) if "notes" in what else None,
        scenarios=_scenarios(paths, clean) if "scenarios" in what else None,
        styles=_styles(paths, clean) if "styles" in what else None,
        feedback=_feedback(paths, clean) if "feedback" in what else None,
    )
    head = Head(at=round(now, 3), clio=clio.__version__, project=clean(paths.project.name), counts=count_items(bundle))
    return structs.replace(bundle, head=head)


def make_ltm_document(paths: MemoryPaths, clean: Clean) -> bytes:
    """Return the project's facts, solutions and rules as an `ltm.json`, which other tools read too."""
    part = _knowledge(paths, _cached(clean))
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


def _knowledge(paths: MemoryPaths, clean: Clean) -> KnowledgePart | None:
    store = open_store(paths.knowledge, project=paths.project, home=paths.home)
    known = store.read()
    archive = tuple(structs.replace(kept, entry=clean_json(kept.entry, clean)) for kept in store.archive.read(known))
    history = tuple(
        structs.replace(version, entry=clean_json(version.entry, clean)) for version in store.archive.endings()
    )
    if not store.exists():
        return KnowledgePart(archive=archive, history=history) if archive or history else None
    document = decode_json(known.encode())
    ltm = Raw(msgspec.json.encode(clean_json(document, clean)))
    return KnowledgePart(ltm=ltm, archive=archive, history=history)


def _memories(paths: MemoryPaths, clean: Clean) -> MemoriesPart | None:
    project, user = _records(paths, "project", clean), _records(paths, "user", clean)
    empty = RecordsPart()
    return None if (project, user) == (empty, empty) else MemoriesPart(project=project, user=user)


def _records(paths: MemoryPaths, scope: Scope, clean: Clean) -> RecordsPart:
    index, files = read_typed_memories(paths, scope)
    records = sorted(index.records.values(), key=lambda record: (record.created, record.id))
    lines = (_cleaned_line(encode_former(former), clean) for former in files.formers())
    return RecordsPart(
        records=tuple(clean_record(record, clean) for record in records), archive=tuple(line for line in lines if line)
    )


def _notes(paths: MemoryPaths, clean: Clean) -> tuple[Note, ...] | None:
    return tuple(clean_note(note, clean) for note in Notes(paths.notes).newest_first()) or None


def _scenarios(paths: MemoryPaths, clean: Clean) -> str | None:
    text = _text(paths.scenarios)
    return None if text is None else clean(text)


def _styles(paths: MemoryPaths, clean: Clean) -> StylesPart | None:
    learned = _text(paths.styles)
    part = StylesPart(
        learned=MISSING if learned is None else _cleaned_line(learned.encode("utf-8"), clean) or MISSING,
        user=_style_files(paths, "user", clean),
        project=_style_files(paths, "project", clean),
    )
    return None if part == StylesPart() else part


def _style_files(paths: MemoryPaths, owner: StyleOwner, clean: Clean) -> dict[str, str]:
    folder = paths.own_styles(owner)
    if not folder.is_dir():
        return {}
    # A symbolic link could export a file from outside of the folder.
    found = ((path.name, _text(path)) for path in sorted(folder.glob("*.md")) if not path.is_symlink())
    return {clean(name): clean(text) for name, text in found if text is not None and len(text) <= MAX_STYLE_BYTES}


def _feedback(paths: MemoryPaths, clean: Clean) -> FeedbackPart | None:
    lines, archive = _lines(paths.ratings, clean), _lines(paths.ratings_archive, clean)
    return FeedbackPart(lines=lines, archive=archive) if lines or archive else None


def _lines(path: Path, clean: Clean) -> tuple[Raw, ...]:
    """Return the lines of a JSONL file with their texts cleaned, without invalid lines."""
    return tuple(cleaned for line in read_lines(path).lines if (cleaned := _cleaned_line(line, clean)))


def _cleaned_line(line: bytes, clean: Clean) -> Raw | None:
    """Return a line of JSON with its texts cleaned; None if it is invalid."""
    try:
        value = decode_json(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return Raw(msgspec.json.encode(clean_json(value, clean)))


def _text(path: Path) -> str | None:
    """Return the text of a file; None if it does not exist."""
    try:
        return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else None
    except FileNotFoundError:
        return None


def _cached(clean: Clean) -> Clean:
    """Return `clean` with a cache: keywords, paths and field names occur many times."""
    known: dict[str, str] = {}

    def cleaned(text: str) -> str:
        found = known.get(text)
        if found is None:
            found = known[text] = clean(text)
        return found

    return cleaned
