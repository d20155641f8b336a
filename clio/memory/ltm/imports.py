"""Another project's or program's knowledge, taken into this one's."""

from collections.abc import Callable, Iterable
from typing import Any, cast

import msgspec
from msgspec import Struct

from clio.errors import UserError
from clio.memory.ltm.changes import Piece, piece
from clio.memory.ltm.file import LtmDocument, decode_ltm, refuse_newer
from clio.memory.ltm.kinds import (
    SHAPES,
    Json,
    handles,
    identity,
    new_handle,
    provenance_of,
    set_handle,
    share,
    stored_id,
    times_of,
    to_entry,
)
from clio.memory.ltm.merge import TRUST, absorb, adopt_context
from clio.memory.records import Provenance
from clio.memory.tolerant import number

_AS_THEY_ARE = ("id", "example_hashes", "provenance")
"""Fields that hold no words, and that a search for secrets would take for some."""


class Merged(Struct, frozen=True, kw_only=True):
    """What an import did: how many entries are new, how many were known, and all of them before and after."""

    added: int
    confirmed: int
    before: list[Piece]
    after: list[Piece]


def read_foreign(text: str) -> LtmDocument:
    """The document of a text. Raises UserError where it is none, NewerDocument."""
    try:
        document = decode_ltm(text.encode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise UserError(f"This is no ltm.json ({error}); nothing was imported.") from error
    refuse_newer(document, "the imported ltm.json")
    return document


def merge_in(
    document: LtmDocument,
    foreign: LtmDocument,
    provenance: Provenance,
    now: float,
    *,
    clean: Callable[[str], str],
    taken: Iterable[str],
) -> Merged:
    """Take in every entry of `foreign`. What is known counts as confirmed where its object changes.

    clean: applied to every text. taken: handles no new entry may have, beside those of the document.
    """
    ours = document.all()
    known = {(kind, *identity(kind, raw)): raw for kind, raw in reversed(ours)}
    ids = {id(raw): handle for (_, raw), handle in zip(ours, handles(ours), strict=True)}
    places = {id(raw): place for kind in SHAPES for place, raw in enumerate(document.section(kind))}
    used, before, after = {*ids.values(), *taken}, dict[str, Piece](), dict[str, Piece]()
    for kind, theirs in foreign.all():
        new = _sound(cast(Json, _cleaned(theirs, clean)), provenance, now)
        new["confidence"] = share(new.get("confidence"), SHAPES[kind].unstated)
        new[SHAPES[kind].count] = times_of(kind, new)
        if kind == "rule":
            adopt_context(document.section(kind), new)
        words = (kind, *identity(kind, new))
        old = known.get(words)
        if old is None:
            if stored_id(new) in used or not stored_id(new):
                set_handle(new, new_handle(kind, new, used))
            handle = new["id"]
            used.add(handle)
            places[id(new)] = len(document.section(kind))
            document.section(kind).append(new)
            known[words], ids[id(new)] = new, handle
            after[handle] = piece(document, kind, handle, new, places[id(new)])
            continue
        was = piece(document, kind, ids[id(old)], old, places[id(old)])
        absorb(kind, old, new)
        if to_entry(kind, old, was.id) == to_entry(kind, was.entry, was.id):
            old.clear()
            old.update(was.entry)
            continue
        set_handle(old, was.id)
        if was.id not in after:
            before[was.id] = was
        after[was.id] = piece(document, kind, was.id, old, places[id(old)])
    return Merged(
        added=len(after.keys() - before.keys()),
        confirmed=len(before),
        before=list(before.values()),
        after=list(after.values()),
    )


def _sound(raw: Json, provenance: Provenance, now: float) -> Json:
    """The object with times that are numbers and not in the future, and a source that claims no more than it may."""
    for name in ("timestamp", "updated"):
        if name in raw:
            raw[name] = min(max(number(raw[name], 0.0), 0.0), now)
    raw.setdefault("timestamp", now)
    source = provenance_of(raw) or provenance
    if TRUST[source.asserted_by] > TRUST[provenance.asserted_by]:
        source = msgspec.structs.replace(source, asserted_by=provenance.asserted_by)
    raw["provenance"] = msgspec.to_builtins(source)
    return raw


def _cleaned(value: Any, clean: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_cleaned(item, clean) for item in cast(list[Any], value)]
    if isinstance(value, dict):
        return {
            name: item if name in _AS_THEY_ARE else _cleaned(item, clean) for name, item in cast(Json, value).items()
        }
    return value
