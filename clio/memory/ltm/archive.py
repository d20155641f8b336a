"""`ltm.archive.json`: entries that left the project knowledge. Only coming back to it takes one out."""

from collections.abc import Callable, Iterable
from pathlib import Path

from msgspec import Struct

from clio.memory.ltm.kinds import SHAPES, Json, identity, is_entry, stored_id, to_entry
from clio.memory.records import Entry, Kind
from clio.storage.documents import Document, Format, encode, load
from clio.storage.files import write_atomic


class Kept(Struct, frozen=True, kw_only=True):
    """One entry of the archive: the file's object as it was, when and why it left."""

    kind: str
    archived: float
    because: str
    entry: Json

    @property
    def known_kind(self) -> Kind | None:
        """Its kind; None where this clio knows no such kind, or the object is no entry of it."""
        return next((kind for kind in SHAPES if kind == self.kind and is_entry(kind, self.entry)), None)


class Archive(Struct, frozen=True, kw_only=True):
    """The whole archive, oldest first."""

    entries: tuple[Kept, ...] = ()


FORMAT = Format(schema="clio.ltm_archive", version=1, type=Archive)


class _Index(Struct, frozen=True, kw_only=True):
    """What an archive of that inode, size and time holds: identities and handles."""

    stamp: tuple[int, int, int] = (0, 0, 0)
    words: frozenset[tuple[str, ...]] = frozenset()
    handles: frozenset[str] = frozenset()


class LtmArchive:
    """The archive beside an `ltm.json`; to be changed only under that file's lock.

    All methods raise CorruptDocument after setting the file aside, NewerDocument, OSError.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen = _Index()

    def read(self) -> tuple[Kept, ...]:
        """What is in it, oldest first."""
        document = load(self.path, FORMAT)
        return document.value.entries if document else ()

    def entries(self) -> tuple[Entry, ...]:
        """What is in it as entries, the newest to leave first."""
        found: list[Entry] = []
        for kept in reversed(self.read()):
            if kind := kept.known_kind:
                found.append(to_entry(kind, kept.entry, stored_id(kept.entry)))
        return tuple(found)

    def find(self, kind: Kind, wanted: Json) -> Kept | None:
        """The newest that says the same as `wanted`."""
        words = (kind, *identity(kind, wanted))
        if words not in self._index().words:
            return None
        return next((one for one in reversed(self.read()) if _words(one) == words), None)

    def handles(self) -> frozenset[str]:
        """The handles of what is in it, which no new entry is to have."""
        return self._index().handles

    def put(self, more: Iterable[Kept]) -> None:
        """Add entries at the end."""
        new = tuple(more)
        self._change(lambda kept: (*kept, *new))

    def take(self, gone: Callable[[Kept], bool]) -> None:
        """Take entries out that are in the project knowledge again."""
        if self.path.exists():
            self._change(lambda kept: tuple(one for one in kept if not gone(one)))

    def _index(self) -> "_Index":
        """What is in it, read again only where the file is another."""
        try:
            info = self.path.stat()
        except FileNotFoundError:
            return _Index()
        stamp = (info.st_ino, info.st_size, info.st_mtime_ns)
        if self._seen.stamp != stamp:
            kept = self.read()
            handles = frozenset(stored_id(one.entry) for one in kept)
            self._seen = _Index(stamp=stamp, words=frozenset(map(_words, kept)), handles=handles)
        return self._seen

    def _change(self, change: Callable[[tuple[Kept, ...]], tuple[Kept, ...]]) -> None:
        document = load(self.path, FORMAT) or Document(value=Archive())
        entries = change(document.value.entries)
        if entries != document.value.entries:
            new = Document(value=Archive(entries=entries), unknown=document.unknown)
            write_atomic(self.path, encode(new, FORMAT))


def _words(kept: Kept) -> tuple[str, ...]:
    kind = kept.known_kind
    return (kind, *identity(kind, kept.entry)) if kind else ()
