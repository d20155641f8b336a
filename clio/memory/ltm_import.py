"""Another project's or program's knowledge, taken into this one's."""

from collections.abc import Callable
from typing import Any, cast

import msgspec
from msgspec import Struct

from clio.errors import UserError
from clio.memory.ltm_changes import Piece, piece
from clio.memory.ltm_file import LtmDocument, decode_ltm, refuse_newer
from clio.memory.ltm_kinds import (
    SHAPES,
    Json,
    handles,
    identity,
    new_handle,
    provenance_of,
    share,
    stored_id,
    times_of,
)
from clio.memory.ltm_merge import TRUST, absorb, adopt_context
from clio.memory.records import Provenance
from clio.memory.tolerant import number


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
    document: LtmDocument, foreign: LtmDocument, provenance: Provenance, now: float, clean: Callable[[str], str]
) -> Merged:
    """Take in every entry of `foreign`. What is known counts as confirmed where its object changes."""
    known = {(kind, *identity(kind, raw)): raw for kind, raw in reversed(document.all())}
    ids = dict(zip(map(id, (raw for _, raw in document.all())), handles(document.all()), strict=True))
    taken, before, after, added, confirmed = set(ids.values()), list[Piece](), list[Piece](), 0, 0
    for kind, theirs in foreign.all():
        new = _sound(cast(Json, _cleaned(theirs, clean)), provenance, now)
        new["confidence"] = share(new.get("confidence"), SHAPES[kind].unstated)
        new[SHAPES[kind].count] = times_of(kind, new)
        if kind == "rule":
            adopt_context(document.section(kind), new)
        words = (kind, *identity(kind, new))
        old = known.get(words)
        if old is None:
            if stored_id(new) in taken or not stored_id(new):
                new["id"] = new_handle(kind, new, taken)
            taken.add(new["id"])
            document.section(kind).append(new)
            known[words], ids[id(new)] = new, new["id"]
            after.append(piece(document, kind, new["id"], new))
            added += 1
            continue
        was = piece(document, kind, ids[id(old)], old)
        absorb(kind, old, new)
        if old == was.entry | {"updated": old["updated"]} and was.entry.get("updated", 0.0) == old["updated"]:
            continue
        old["id"] = was.id
        if not any(one.id == was.id for one in after):
            before.append(was)
        after = [one for one in after if one.id != was.id]
        after.append(piece(document, kind, was.id, old))
        confirmed += 1
    return Merged(added=added, confirmed=confirmed, before=before, after=after)


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
        return {clean(name): _cleaned(item, clean) for name, item in cast(Json, value).items()}
    return value
