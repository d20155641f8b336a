"""The bundle: everything that was learned as one JSON document, to keep or to take elsewhere."""

from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Raw, Struct

from clio.errors import UserError
from clio.memory.ltm.archive import Kept
from clio.memory.ltm.history import Ending
from clio.memory.records import Note
from clio.memory.typed.record import MemoryRecord
from clio.storage.documents import Document, Format, decode, encode
from clio.text.json_data import decode_json

Section = Literal["knowledge", "memories", "notes", "scenarios", "styles", "feedback"]
SECTIONS: tuple[Section, ...] = ("knowledge", "memories", "notes", "scenarios", "styles", "feedback")
NOTHING = Raw(b"null")


class Head(Struct, frozen=True, kw_only=True):
    """When a bundle was written (seconds since the epoch), by which clio, in which project; how much is in it."""

    at: float = 0.0
    clio: str = ""
    project: str = ""
    counts: dict[str, int] = {}


class KnowledgePart(Struct, frozen=True, kw_only=True):
    """`ltm.json` as it is, null where there was none; what left it, and what its entries said before."""

    ltm: Raw = NOTHING
    archive: tuple[Kept, ...] = ()
    history: tuple[Ending, ...] = ()


class RecordsPart(Struct, frozen=True, kw_only=True):
    """The memories of one scope, superseded ones among them, and the lines of its archive."""

    records: tuple[MemoryRecord, ...] = ()
    archive: tuple[Raw, ...] = ()


class MemoriesPart(Struct, frozen=True, kw_only=True):
    """Typed memories by whose they are; preferences are the user's."""

    project: RecordsPart = RecordsPart()
    user: RecordsPart = RecordsPart()


class StylesPart(Struct, frozen=True, kw_only=True):
    """`styles.json` as it is, null where there was none; the texts of style files by file name, by whose they are."""

    learned: Raw = NOTHING
    user: dict[str, str] = {}
    project: dict[str, str] = {}


class FeedbackPart(Struct, frozen=True, kw_only=True):
    """The lines of `trajectories.jsonl` and of its archive."""

    lines: tuple[Raw, ...] = ()
    archive: tuple[Raw, ...] = ()


class Bundle(Struct, frozen=True, kw_only=True):
    """Everything; a section that was not asked for, or is empty, is None."""

    head: Head = Head()
    knowledge: KnowledgePart | None = None
    memories: MemoriesPart | None = None
    notes: tuple[Note, ...] | None = None
    scenarios: str | None = None
    styles: StylesPart | None = None
    feedback: FeedbackPart | None = None

    @property
    def has(self) -> tuple[Section, ...]:
        """The sections that are in it."""
        return tuple(name for name in SECTIONS if getattr(self, name) is not None)


FORMAT = Format(schema="clio.memory", version=1, type=Bundle)


class _Schema(Struct):
    schema: Any = None


def is_nothing(raw: Raw) -> bool:
    """Whether it stands for a file that was not there."""
    return bytes(raw) in (b"null", b"")


def encode_bundle(bundle: Bundle) -> bytes:
    """The bytes of a bundle, indented, in UTF-8."""
    return encode(Document(value=bundle), FORMAT)


def is_bundle(data: bytes) -> bool:
    """Whether the data is a JSON object that calls itself a bundle, damaged or not."""
    try:
        return decode_json(data, type=_Schema).schema == FORMAT.schema
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


def decode_bundle(data: bytes, path: Path) -> Bundle:
    """The bundle in a file's data. Raises NewerDocument; UserError where it is damaged."""
    try:
        return decode(data, FORMAT, path).value
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(f"{str(path)!r} is damaged ({error}); nothing was imported, export it again") from error
