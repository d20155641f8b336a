"""`ltm.history.jsonl`: what entries of the project knowledge said before, and when that ended. It only grows."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import msgspec
from msgspec import Struct

from clio.memory.ltm.changes import Piece
from clio.memory.ltm.kinds import SHAPES, Json, provenance_of, share, steps_of, string
from clio.memory.records import Because, Kind
from clio.memory.tolerant import number, texts
from clio.storage.jsonl import append_lines, read_lines
from clio.text.json_data import decode_json

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
