"""What a note is in its file: its name, its bytes, and the notes of the Perl original, read as what they mean. Pure."""

import hashlib
import re
from typing import Any, cast

import msgspec
from msgspec import Struct

from clio.memory.records import Note
from clio.memory.tolerant import number
from clio.text.hidden_text import mended
from clio.text.json_data import decode_json

VERSION = 1
PLAIN = re.compile(r"[a-z0-9][a-z0-9_-]{0,99}")
"""Keys that are file names as they are, on every file system."""
_HASHED = re.compile(r"[a-z0-9-]{1,45}\.[0-9a-f]{16}")
_RESERVED = re.compile(r"con|prn|aux|nul|com[0-9]|lpt[0-9]")
_KNOWN = ("key", "content", "timestamp", "version")


class StoredNote(Struct, frozen=True, kw_only=True):
    """A note as its file holds it. unknown: fields of other writers, which a rewrite keeps."""

    note: Note
    unknown: dict[str, Any] = {}


def file_name(key: str) -> str:
    """The name of a key's file: the key itself if it is plain lower case, else a readable part and a hash.

    Different keys have different names, on file systems that fold case or Unicode too; no name leaves the folder, and
    none is one that Windows keeps for a device.
    """
    if PLAIN.fullmatch(key) and not _RESERVED.fullmatch(key):
        return f"{key}.json"
    readable = re.sub(r"[^a-z0-9]+", "-", key.lower()).strip("-")[:40]
    if not readable or _RESERVED.fullmatch(readable):
        readable = f"note-{readable}".rstrip("-")
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{readable}.{digest}.json"


def is_own_name(name: str) -> bool:
    """Whether `file_name` could have made this name, so that its key need not be looked for in the file."""
    stem = name.removesuffix(".json")
    return bool(PLAIN.fullmatch(stem) or _HASHED.fullmatch(stem))


def decode_note(data: bytes, stem: str) -> StoredNote | None:
    """The note in a file; None for anything else, and for what a newer clio wrote.

    stem: the file's name without its ending, which is the key of a note that names none.
    The original encoded its texts twice; where that is certain they are mended, and the next `store` writes them so.
    """
    try:
        raw = decode_json(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(raw, dict) or "content" not in raw:
        return None
    fields = cast(dict[str, Any], raw)
    version, key, content = fields.get("version"), fields.get("key"), _text(fields["content"])
    own = isinstance(version, int) and version > 0
    if own and version != VERSION:
        return None
    key = key if isinstance(key, str) and key.strip() else stem
    if not own:
        key, content = mended(key, expected=True), mended(content, expected=True)
    note = Note(key=key, content=content, timestamp=number(fields.get("timestamp"), 0.0))
    return StoredNote(note=note, unknown={name: value for name, value in fields.items() if name not in _KNOWN})


def encode_note(stored: StoredNote) -> bytes:
    """The bytes of a note's file. Raises ValueError for text that is no valid Unicode."""
    note = stored.note
    fields = {"key": note.key, "content": note.content, "timestamp": note.timestamp, "version": VERSION}
    return msgspec.json.encode(fields | stored.unknown)


def _text(value: object) -> str:
    """A value as text: Perl writes the text "0" as the number 0 once it has counted with it."""
    if isinstance(value, str):
        return value
    return "" if value is None else msgspec.json.encode(value).decode()
