"""Lines of an archive of typed memories, taken in and added to, whatever else they say of why a memory left."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw, Struct

from clio.memory.control.merge_records import lowered
from clio.memory.control.texts import Clean, clean_json
from clio.memory.ltm.kinds import provenance_of
from clio.memory.records import Provenance
from clio.memory.typed.former import LEFT
from clio.memory.typed.record import MemoryRecord
from clio.storage.jsonl import read_lines
from clio.text.json_data import decode_json


class Archived(Struct, frozen=True, kw_only=True):
    """What tells one line from another. because: why it ended; `archived` where the line does not say."""

    id: str
    version: int = 1
    content: str = ""
    ended: float = 0.0
    because: str = "archived"

    @property
    def left(self) -> bool:
        """Whether the memory left, and not only a version of it."""
        return self.because in LEFT


def archived_in(path: Path) -> dict[bytes, Archived]:
    """The lines of an archive; those that do not parse are passed over."""
    return {line: found for line in read_lines(path).lines if (found := _decode(line))}


def new_lines(
    theirs: Iterable[Raw], known: Iterable[Archived], *, by: Provenance, now: float, clean: Clean
) -> tuple[list[bytes], int]:
    """The lines that are not known here, claiming no more than an import may; and how many hold no memory."""
    seen, found, unusable = set(known), list[bytes](), 0
    for raw in theirs:
        line = _sound(raw, by, now, clean)
        archived = _decode(line) if line else None
        if line is None or archived is None:
            unusable += 1
        elif archived not in seen:
            seen.add(archived)
            found.append(line)
    return found, unusable


def former_line(record: MemoryRecord, now: float) -> bytes:
    """A version that ended because a newer one was taken in."""
    fields: dict[str, Any] = msgspec.to_builtins(record)
    return msgspec.json.encode(fields | {"ended": now, "because": "merged"})


def _sound(raw: Raw, by: Provenance, now: float, clean: Clean) -> bytes | None:
    try:
        fields: dict[str, Any] = clean_json(decode_json(raw), clean)
        record = msgspec.convert(fields, MemoryRecord)
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError, RecursionError, AttributeError):
        return None
    if not record.id.strip() or not record.content.strip():
        return None
    fields["provenance"] = msgspec.to_builtins(lowered(provenance_of(fields), by))
    if isinstance(fields.get("ended"), int | float):
        fields["ended"] = min(max(fields["ended"], 0.0), now)
    return msgspec.json.encode(fields)


def _decode(line: bytes) -> Archived | None:
    try:
        return decode_json(line, type=Archived)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
