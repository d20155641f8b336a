"""What the archive holds: memories that left, and versions of memories that say something else now."""

from typing import Any, Literal

import msgspec
from msgspec import Struct

from clio.memory.typed.record import MemoryRecord, says_else
from clio.text.json_data import decode_json

Because = Literal[
    "archived",
    "forgotten",
    "faded",
    "joined",
    "outweighed",
    "dropped",
    "edited",
    "merged",
    "reinforced",
    "promoted",
    "undone",
]
"""Why a version ended. `archived`: a clio before versions put it there, and did not say why.

It left: forgotten by somebody, faded in compaction, joined with one that says the same, a variant outweighed by a
surer one, dropped since four surer statements stand against it. It says something else now: edited by somebody, merged
with words that say the same, reinforced as a preference, promoted from a variant to what holds, undone as a change.
"""
LEFT: frozenset[str] = frozenset(("archived", "forgotten", "faded", "joined", "outweighed", "dropped"))


class Former(Struct, frozen=True, kw_only=True):
    """A memory as it was. ended: when that ended, in seconds since the epoch; 0.0 where the file does not say."""

    record: MemoryRecord
    ended: float = 0.0
    because: Because = "archived"

    @property
    def left(self) -> bool:
        """Whether the memory left, and not only one version of it."""
        return self.because in LEFT


class _End(Struct, frozen=True, kw_only=True):
    ended: float = 0.0
    because: Because = "archived"


def former_of(before: MemoryRecord, after: MemoryRecord, now: float, because: Because) -> tuple[Former, ...]:
    """The version that ends with this change; none where the memory says the same as before."""
    return (Former(record=before, ended=now, because=because),) if says_else(before, after) else ()


def encode(former: Former) -> bytes:
    """One line of the archive, without its line end: the record's fields, and how it ended."""
    fields: dict[str, Any] = msgspec.to_builtins(former.record)
    return msgspec.json.encode(fields | {"ended": former.ended, "because": former.because})


def decode(line: bytes) -> Former:
    """The former memory of a line; one without an end left before clio noted any. Raises msgspec.DecodeError."""
    end = decode_json(line, type=_End)
    return Former(record=decode_json(line, type=MemoryRecord), ended=end.ended, because=end.because)
