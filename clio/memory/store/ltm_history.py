"""What left the project knowledge (`ltm.archive.json`), what its entries said before (`ltm.history.jsonl`), and what
one change did, so that it can be undone.
"""

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import msgspec
from msgspec import Raw, Struct

from clio.errors import UserError
from clio.memory.store.ltm_codec import LtmDocument
from clio.memory.store.ltm_objects import (
    SHAPES,
    Json,
    identity,
    is_entry,
    number,
    provenance_of,
    share,
    steps_of,
    stored_id,
    string,
    texts,
    to_entry,
)
from clio.memory.store.record import Because, Kind, MemoryRecord
from clio.storage.documents import Document, DocumentFormat, encode_document, load_document
from clio.storage.files import write_atomic
from clio.storage.jsonl import append_lines, read_lines
from clio.text.json_data import decode_json


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


FORMAT = DocumentFormat(schema="clio.ltm_archive", version=1, type=Archive)


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
        document = load_document(self.path, FORMAT)
        return document.value.entries if document else ()

    def entries(self) -> tuple[MemoryRecord, ...]:
        """What is in it as entries, the newest to leave first."""
        found: list[MemoryRecord] = []
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
        document = load_document(self.path, FORMAT) or Document(value=Archive())
        entries = change(document.value.entries)
        if entries != document.value.entries:
            new = Document(value=Archive(entries=entries), unknown=document.unknown)
            write_atomic(self.path, encode_document(new, FORMAT))


def _words(kept: Kept) -> tuple[str, ...]:
    kind = kept.known_kind
    return (kind, *identity(kind, kept.entry)) if kind else ()


class Piece(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One object of the file at one moment. kept: it lay in the archive, not in the file."""

    kind: Kind
    id: str
    place: int = 0
    entry: Json = {}
    kept: Kept | None = None


def piece(document: LtmDocument, kind: Kind, handle: str, raw: Json, place: int | None = None) -> Piece:
    """An object as it is now, whatever happens to it later. place: where it stands, if that is known."""
    where = document.place(kind, raw) if place is None else place
    return Piece(kind=kind, id=handle, place=where, entry=copy.deepcopy(raw))


def read_pieces(raw: Raw) -> list[Piece]:
    """The pieces a change holds. Raises UserError where it is not one of the project knowledge."""
    if not bytes(raw):
        return []
    try:
        return decode_json(raw, type=list[Piece])
    except msgspec.DecodeError as error:
        raise UserError(f"This change cannot be taken back ({error}); correct the entry by hand.") from error


def is_as(document: LtmDocument, pieces: Sequence[Piece], handles: set[str]) -> bool:
    """Whether, of these handles, the file has exactly the objects of these pieces."""
    wanted = {one.id: one.entry for one in pieces if one.kept is None}
    found = {handle: raw for handle, (_, raw) in document.by_handle().items() if handle in handles}
    return found == wanted


def put_back(document: LtmDocument, before: Sequence[Piece], after: Sequence[Piece]) -> None:
    """Make the file as it was: objects that came go, those that went return to their places."""
    known, kept = document.by_handle(), {one.id: one for one in before if one.kept is None}
    for one in after:
        kind, raw = known[one.id]
        if one.id in kept:
            raw.clear()
            raw.update(kept[one.id].entry)
        else:
            del document.section(kind)[document.place(kind, raw)]
    for one in sorted(kept.values(), key=lambda one: one.place):
        if one.id not in known:
            document.section(one.kind).insert(one.place, one.entry)


Ended = Literal["changed", "forgotten", "old", "uncertain", "superseded", "undone"]
"""Why a version ended: the entry says something else now, it left (see `Because`), or the change was undone."""


class Ending(Struct, frozen=True, kw_only=True):
    """One version of an entry: its object as it was, when and why that ended."""

    kind: Kind
    id: str
    ended: float
    because: Ended
    entry: Json


class LtmHistory:
    """The versions beside an `ltm.json`; to be written only under that file's lock. Methods raise OSError."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def put(self, endings: Sequence[Ending]) -> None:
        """Add versions, on disk when this returns.

        To be done before the change itself: a process that dies in between leaves a version that is the present one.
        """
        if not endings:
            return
        append_lines(self.path, map(msgspec.json.encode, endings))

    def read(self) -> tuple[Ending, ...]:
        """The versions in the order they ended; lines that do not parse are passed over."""
        return tuple(ending for line in read_lines(self.path).lines if (ending := _decode(line)))


def endings(
    before: Sequence[Piece],
    after: Sequence[Piece],
    now: float,
    why: Mapping[str, Because] = MappingProxyType({}),
    *,
    undone: bool = False,
    successors: Mapping[str, str] = MappingProxyType({}),
) -> list[Ending]:
    """The versions that end where these objects become those. why: of those that are there no longer, by handle.

    successors: of those whose place another took, the handle of that one.
    """
    later = {one.id: one.entry for one in after if one.kept is None}
    found: list[Ending] = []
    for one in before:
        if one.kept is not None or (one.id in later and not says_else(one.kind, one.entry, later[one.id])):
            continue
        because: Ended = "undone" if undone else "changed" if one.id in later else why.get(one.id, "forgotten")
        entry = with_successor(one.entry, successors.get(one.id))
        found.append(Ending(kind=one.kind, id=one.id, ended=now, because=because, entry=entry))
    return found


def with_successor(raw: Json, successor: str | None) -> Json:
    """An object that leaves since another took its place, with the handle of that one."""
    return raw if successor is None else raw | {"superseded_by": successor}


def begin_anew(after: Json, now: float) -> None:
    """Note in an object that it says something else from now on; fields of other programs by those names stay."""
    version = after.get("version", 1)
    if isinstance(version, int):
        after["version"] = version + 1
    begin_again(after, now)


def begin_again(raw: Json, now: float) -> None:
    """Note in an object from when it says what it says, as when it came back from the archive."""
    if isinstance(raw.get("since", now), int | float):
        raw["since"] = now


def begun(raw: Json) -> float:
    """When an entry came to say what it says; 0.0 where the file does not tell."""
    return number(raw.get("since"), 0.0) or number(raw.get("timestamp"), 0.0)


def says_else(kind: Kind, one: Json, other: Json) -> bool:
    """Whether two states of an entry say different things or vouch for them differently.

    That it was confirmed, helped once more or went well makes no other version of it.
    """
    return _said(kind, one) != _said(kind, other)


def _said(kind: Kind, raw: Json) -> tuple[object, ...]:
    source = provenance_of(raw)
    return (
        string(raw.get(SHAPES[kind].text)),
        *(string(raw.get(name)) for name in ("solution", "impact", "prevention", "context", "superseded_by")),
        tuple(texts(raw.get("other_preventions"))),
        steps_of(raw),
        tuple(texts(raw.get("examples"))),
        share(raw.get("confidence"), SHAPES[kind].unstated),
        source.asserted_by if source else "",
    )


def _decode(line: bytes) -> Ending | None:
    try:
        return decode_json(line, type=Ending)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
