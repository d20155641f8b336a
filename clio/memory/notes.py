"""Named notes, one file each, in `.clio/memory/`. Whatever a key holds, its file lies in that folder."""

import hashlib
import re
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec import Struct

from clio.memory.records import Note
from clio.memory.tolerant import number
from clio.storage.atomic import write_atomic
from clio.storage.document import set_aside
from clio.storage.folders import make_ignored_folder

MAX_KEY_CHARS = 1_000
_LITERAL = re.compile(r"[a-z0-9][a-z0-9_-]{0,99}")
_LITERAL_ELSEWHERE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,199}")
_RESERVED = re.compile(r"con|prn|aux|nul|com[0-9]|lpt[0-9]")


class _StoredNote(Struct, frozen=True, kw_only=True):
    key: str
    content: str
    timestamp: float | str = 0.0
    version: int = 0


class Notes:
    """The notes of one project. Methods raise OSError; a file that is not a note is passed over and left alone."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._clock = clock

    def store(self, key: str, content: str) -> bool:
        """Write a note; True if there was none of that key. A file that is there and is no note is set aside.

        Raises ValueError for a key that is empty or too long, and for text that is no valid Unicode.
        """
        if not key.strip():
            raise ValueError("the key is empty; give the note a short name")
        if len(key) > MAX_KEY_CHARS:
            raise ValueError(f"the key has {len(key):,} characters; give the note a short name")
        found = self._find(key)
        note = _StoredNote(key=key, content=content, timestamp=round(self._clock(), 3), version=1)
        data = msgspec.json.encode(note)
        make_ignored_folder(self._folder, self._folder.parent)
        path = found or self._folder / file_name(key)
        if found is None and _is_own_file(path):
            set_aside(path)
        write_atomic(path, data)
        return found is None

    def store_page(self, key: str, text: str) -> None:
        """Write `<key>.md`, a text people read too; a note of that key comes back from whichever is newer.

        Raises ValueError for a key that is not a plain lower-case name.
        """
        if not _LITERAL.fullmatch(key):
            raise ValueError(f"{key!r} cannot be the name of a page; use lower-case letters, digits, _ and -")
        make_ignored_folder(self._folder, self._folder.parent)
        path = self._folder / f"{key}.md"
        if path.is_symlink():
            set_aside(path)
        write_atomic(path, text.encode("utf-8", "replace"))

    def page(self, key: str) -> str:
        """The text of `<key>.md`; empty if there is none."""
        path = self._page(key)
        return path.read_text(encoding="utf-8", errors="replace") if path else ""

    def retrieve(self, key: str) -> Note | None:
        """The note of that key; also a text such as `session_progress.md` by its name without the ending."""
        found, page = self._find(key), self._page(key)
        return _newer(_read(found) if found else None, _read_page(page) if page else None)

    def delete(self, key: str) -> bool:
        """Delete the note, and the page of that name; False if there is neither."""
        files = [path for path in (self._find(key), self._page(key)) if path]
        for path in files:
            path.unlink(missing_ok=True)
        return bool(files)

    def newest_first(self) -> tuple[Note, ...]:
        """All notes, newest first."""
        if not self._folder.is_dir():
            return ()
        found = [_read(path) for path in sorted(self._folder.glob("*.json")) if _is_own_file(path)]
        pages = [_read_page(path) for path in sorted(self._folder.glob("*.md")) if _is_own_file(path)]
        notes: dict[str, Note] = {}
        for note in (*pages, *found):
            newest = _newer(note, notes.get(note.key)) if note else None
            if newest:
                notes[newest.key] = newest
        return tuple(sorted(notes.values(), key=lambda note: (-note.timestamp, note.key)))

    def _page(self, key: str) -> Path | None:
        path = self._folder / f"{key}.md"
        return path if _LITERAL.fullmatch(key) and _is_own_file(path) else None

    def _find(self, key: str) -> Path | None:
        """The file of a key: under the name clio gives it, or under the plain name another program gave it."""
        names = [file_name(key), *([f"{key}.json"] if _LITERAL_ELSEWHERE.fullmatch(key) else [])]
        for path in (self._folder / name for name in names):
            note = _read(path) if _is_own_file(path) else None
            if note and note.key == key:
                return path
        return None


def file_name(key: str) -> str:
    """The name of a key's file: the key itself if it is plain lower case, else a readable part and a hash.

    Different keys have different names, on file systems that fold case or Unicode too; no name leaves the folder.
    """
    if _LITERAL.fullmatch(key) and not _RESERVED.fullmatch(key):
        return f"{key}.json"
    readable = re.sub(r"[^a-z0-9]+", "-", key.lower()).strip("-")[:40]
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{readable or 'note'}.{digest}.json"


def _newer(note: Note | None, other: Note | None) -> Note | None:
    return max((found for found in (note, other) if found), key=lambda found: found.timestamp, default=None)


def _is_own_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _read(path: Path) -> Note | None:
    try:
        stored = msgspec.json.decode(path.read_bytes(), type=_StoredNote)
    except (FileNotFoundError, ValueError):
        return None
    said = number(stored.timestamp, 0.0)
    if stored.version:
        return Note(key=stored.key, content=stored.content, timestamp=said)
    return Note(key=_decoded_once(stored.key), content=_decoded_once(stored.content), timestamp=said)


def _read_page(path: Path) -> Note:
    text = path.read_text(encoding="utf-8", errors="replace")
    return Note(key=path.stem, content=text, timestamp=path.stat().st_mtime)


def _decoded_once(text: str) -> str:
    """Undo the double UTF-8 encoding of the Perl CLIO's notes, where there is one."""
    if text.isascii():
        return text
    try:
        return text.encode("latin-1").decode("utf-8")
    except (UnicodeEncodeError, UnicodeDecodeError):
        return text
