"""Keyed notes, one file each, in `.clio/memory/`. No key can name a file outside that folder."""

import hashlib
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct

from clio.errors import UserError
from clio.memory.store.change_log import Change, new_change
from clio.memory.store.ltm_codec import to_number
from clio.memory.store.record import Note
from clio.storage.documents import set_file_aside
from clio.storage.files import make_ignored_folder, read_beginning, read_regular, write_atomic
from clio.text.json_data import decode_json, repair_double_utf8
from clio.text.translation import tr

VERSION = 1
PLAIN = re.compile(r"[a-z0-9][a-z0-9_-]{0,99}")
"""Keys that are file names as they are, on every file system."""
_HASHED = re.compile(r"[a-z0-9-]{1,45}\.[0-9a-f]{16}")
_RESERVED = re.compile(r"con|prn|aux|nul|com[0-9]|lpt[0-9]")
_KNOWN = ("key", "content", "timestamp", "version")


class StoredNote(Struct, frozen=True, kw_only=True):
    """A note as stored in its file. unknown: fields of other programs, which a rewrite keeps."""

    note: Note
    unknown: dict[str, Any] = {}


def make_note_file_name(key: str) -> str:
    """Return the name of a key's file: the key itself if it is plain lower case, else a readable part and a hash.

    Different keys have different names, even on file systems that ignore case or normalize Unicode. No name leads out
    of the folder, and none is a device name of Windows.
    """
    if PLAIN.fullmatch(key) and not _RESERVED.fullmatch(key):
        return f"{key}.json"
    readable = re.sub(r"[^a-z0-9]+", "-", key.lower()).strip("-")[:40]
    if not readable or _RESERVED.fullmatch(readable):
        readable = f"note-{readable}".rstrip("-")
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{readable}.{digest}.json"


def is_note_file_name(name: str) -> bool:
    """Return whether `make_note_file_name` can make this name, so that the key need not be read from the file."""
    stem = name.removesuffix(".json")
    return bool(PLAIN.fullmatch(stem) or _HASHED.fullmatch(stem))


def decode_note(data: bytes, stem: str) -> StoredNote | None:
    """Return the note in a file; None for anything else, and for a note that a newer clio wrote.

    The Perl CLIO encoded its texts twice. Where that is certain they are repaired, and the next `store` writes the
    repaired text.

    Args:
        stem: the file's name without its suffix, which is the key of a note without one.
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
        key, content = repair_double_utf8(key, expected=True), repair_double_utf8(content, expected=True)
    note = Note(key=key, content=content, timestamp=to_number(fields.get("timestamp"), 0.0))
    return StoredNote(note=note, unknown={name: value for name, value in fields.items() if name not in _KNOWN})


def encode_note(stored: StoredNote) -> bytes:
    """Return the bytes of a note's file. Raises ValueError for text that is not valid Unicode."""
    note = stored.note
    fields = {"key": note.key, "content": note.content, "timestamp": note.timestamp, "version": VERSION}
    return msgspec.json.encode(fields | stored.unknown)


def _text(value: object) -> str:
    """Return a value as text. Perl writes the text "0" as the number 0 after using it as a number."""
    if isinstance(value, str):
        return value
    return "" if value is None else msgspec.json.encode(value).decode()


MAX_KEY_CHARS = 1_000
_MAX_PAGE_BYTES = 2_000_000
_PLAIN_ELSEWHERE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,199}")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class Notes:
    """The notes of one project. Methods raise OSError. Files that are not notes are ignored."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._clock = clock

    def store(self, key: str, content: str) -> bool:
        """Write a note; return True if there was none with that key. A file in its place that is no note is set aside.

        If two processes write the same key at the same time, the later one wins as a whole. Raises ValueError for a key
        that is empty or too long, and for text that is not valid Unicode.
        """
        _check(key, content)
        found = self._find(key)
        path, before = found or (self._folder / make_note_file_name(key), None)
        note = Note(key=key, content=content, timestamp=round(self._clock(), 3))
        data = encode_note(StoredNote(note=note, unknown=before.unknown if before else {}))
        make_ignored_folder(self._folder, self._folder.parent)
        if before is None and _is_own_file(path) and _holds_something_else(path, key):
            set_file_aside(path, keep=True)
        write_atomic(path, data)
        return before is None

    def store_page(self, key: str, text: str) -> None:
        """Write `<key>.md`, a text that users read too; `retrieve` returns it if it is newer than the note.

        Raises ValueError for a key that is not a plain lower-case name.
        """
        if not PLAIN.fullmatch(key):
            raise ValueError(
                tr("{key!r} cannot be the name of a page; use lower-case letters, digits, _ and -", key=key)
            )
        make_ignored_folder(self._folder, self._folder.parent)
        path = self._folder / f"{key}.md"
        if path.is_symlink():
            set_file_aside(path)
        write_atomic(path, text.encode("utf-8", "replace"))

    def page(self, key: str) -> str:
        """Return the text of `<key>.md`; "" if there is none."""
        path = self._page(key)
        return _read_page_text(path) if path else ""

    def retrieve(self, key: str) -> Note | None:
        """Return the note with that key; also a page such as `session_progress.md` by its name without the suffix."""
        found, page = self._find(key), self._page(key)
        return _newer(found[1].note if found else None, _read_page(page) if page else None)

    def delete(self, key: str) -> bool:
        """Delete the note, and the page of that name; return False if there is neither."""
        found, page = self._find(key), self._page(key)
        files = [path for path in (found[0] if found else None, page) if path]
        for path in files:
            path.unlink(missing_ok=True)
        return bool(files)

    def newest_first(self) -> tuple[Note, ...]:
        """Return all notes, newest first."""
        if not self._folder.is_dir():
            return ()
        found = [stored.note for path in sorted(self._folder.glob("*.json")) if (stored := _read(path))]
        pages = [_read_page(path) for path in sorted(self._folder.glob("*.md")) if _is_own_file(path)]
        notes: dict[str, Note] = {}
        for note in (*pages, *found):
            newest = _newer(note, notes.get(note.key))
            if newest:
                notes[newest.key] = newest
        return tuple(sorted(notes.values(), key=lambda note: (-note.timestamp, note.key)))

    def was_made(self, change: Change) -> bool:
        """Return whether a note has another content than before a change."""
        return self._read_content(change.key) != _decode_content(change.before)

    def revert(self, change: Change) -> None:
        """Restore a note to its state before the change. Raises UserError if it was changed since."""
        was, now = _decode_content(change.before), self._read_content(change.key)
        if now == was:
            return
        if now != _decode_content(change.after):
            raise UserError(
                tr("“{what}” was not undone: the note has been changed since; store it by hand.", what=change.what)
            )
        if was is None:
            self.delete(change.key)
        else:
            self.store(change.key, was)

    def _read_content(self, key: str) -> str | None:
        note = self.retrieve(key)
        return note.content if note else None

    def _page(self, key: str) -> Path | None:
        path = self._folder / f"{key}.md"
        return path if PLAIN.fullmatch(key) and _is_own_file(path) else None

    def _find(self, key: str) -> tuple[Path, StoredNote] | None:
        """Return the file of a key, under the name clio gives it or any name another program gave it."""
        names = [make_note_file_name(key), *([f"{key}.json"] if _PLAIN_ELSEWHERE.fullmatch(key) else [])]
        for path in (self._folder / name for name in names):
            if (stored := _read(path)) and stored.note.key == key:
                return path, stored
        for path in sorted(self._folder.glob("*.json")):
            if not is_note_file_name(path.name) and (stored := _read(path)) and stored.note.key == key:
                return path, stored
        return None


def _check(key: str, content: str) -> None:
    if not key.strip():
        raise ValueError(tr("the key is empty; give the note a short name"))
    if len(key) > MAX_KEY_CHARS:
        raise ValueError(tr("the key has {count:,} characters; give the note a short name", count=len(key)))
    for what, text in (("key", key), ("content", content)):
        if place := _LONE_SURROGATE.search(text):
            raise ValueError(
                tr(
                    "the {what} contains half of a surrogate pair, \\u{code:x}; remove it or write the whole character",
                    what=what,
                    code=ord(place[0]),
                )
            )


def _newer(note: Note | None, other: Note | None) -> Note | None:
    return max((found for found in (note, other) if found), key=lambda found: found.timestamp, default=None)


def _is_own_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _holds_something_else(path: Path, key: str) -> bool:
    """Return whether a file is not a note of this key; another process may have written one just now."""
    stored = _read(path)
    return stored is None or stored.note.key != key


def _read(path: Path) -> StoredNote | None:
    if not _is_own_file(path):
        return None
    try:
        return decode_note(read_regular(path), path.stem)
    except FileNotFoundError:
        return None


def _read_page(path: Path) -> Note:
    return Note(key=path.stem, content=_read_page_text(path), timestamp=path.stat().st_mtime)


def _read_page_text(path: Path) -> str:
    text = read_beginning(path, _MAX_PAGE_BYTES).decode("utf-8", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _decode_content(raw: msgspec.Raw) -> str | None:
    """Return the content in `before` or `after` of a change; None if there was no note."""
    return decode_json(raw, type=str) if bytes(raw) else None


def make_note_change(key: str, before: Note | None, content: str | None, *, at: float) -> Change:
    """Return the log entry for a note that gets this content; None deletes it. Raises ValueError like `Notes.store`."""
    if content is not None:
        _check(key, content)
    doing = "deleted" if content is None else "stored" if before is None else "replaced"
    return new_change(
        "note", f"{doing} the note {key!r}", at=at, key=key, before=before.content if before else None, after=content
    )
