"""What one change of the project knowledge did, object by object, and how it is taken back."""

import copy
from collections.abc import Sequence

import msgspec
from msgspec import Raw, Struct

from clio.errors import UserError
from clio.memory.ltm.archive import Kept
from clio.memory.ltm.file import LtmDocument
from clio.memory.ltm.kinds import Json
from clio.memory.records import Kind
from clio.text.json_data import decode_json


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
