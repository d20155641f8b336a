"""`ltm.mine.json`: what is this person's own of the shared entries, such as how often they said one, and how surely.

It lies beside the folder, out of git: what changes with each use would be a conflict in each merge.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from clio.memory.ltm.kinds import SHAPES, Json, times_of
from clio.memory.ltm.merge import confirmed
from clio.memory.records import Kind
from clio.memory.team.state import Living, own_fields
from clio.storage.documents import Document, Format, encode, load
from clio.storage.files import write_atomic


class Own(Struct, frozen=True, kw_only=True):
    """By the name of a statement, the fields that are other than it says; null: it is not there."""

    entries: dict[str, Json] = {}


FORMAT = Format(schema="clio.ltm_mine", version=1, type=Own)


def read_own(path: Path) -> Own:
    """What is this person's own. Raises CorruptDocument after setting the file aside, NewerDocument, OSError."""
    document = load(path, FORMAT)
    return document.value if document else Own()


def write_own(path: Path, entries: dict[str, Json]) -> None:
    """Replace it. Raises as `read_own`."""
    before = load(path, FORMAT) or Document(value=Own())
    if entries != before.value.entries:
        write_atomic(path, encode(Document(value=Own(entries=entries), unknown=before.unknown), FORMAT))


def put_on(raw: Json, living: Living, own: Own) -> None:
    """Give an entry what is the person's own of it; of words that were changed since, only how often and when."""
    kind = living.kind
    for name in living.names:
        for field, value in own.entries.get(name, {}).items():
            if field not in own_fields(kind):
                continue
            if value is None:
                raw.pop(field, None)
            elif field != "updated" or not isinstance(value, int | float) or value > confirmed(raw):
                raw[field] = value
    count = SHAPES[kind].count
    for name in living.replaces:
        former = own.entries.get(name, {})
        if count in former:
            raw[count] = max(times_of(kind, raw), times_of(kind, former))
        if confirmed(former) > confirmed(raw):
            raw["updated"] = confirmed(former)


def put_double_on(raw: Json, living: Living, double: Json, own: Own) -> None:
    """Give an entry what the file still had of it, where a conversion was cut short before that was noted."""
    if not any(name in own.entries for name in living.names):
        fields = own_fields(living.kind) - {"updated"}
        raw.update({name: value for name, value in double.items() if name in fields})
        if confirmed(double) > confirmed(raw):
            raw["updated"] = confirmed(double)


def own_of(kind: Kind, raw: Mapping[str, Any], shared: Mapping[str, Any]) -> Json:
    """What of an entry is other than everybody reads it."""
    fields = own_fields(kind)
    found = {name: value for name, value in raw.items() if name in fields and value != shared.get(name)}
    return found | {name: None for name in fields if name in shared and name not in raw}
