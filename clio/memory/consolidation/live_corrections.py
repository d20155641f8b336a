"""Let a correction in the user's message replace the memory it refutes at once, before the request is sent.

Consolidation applies the same rules (`stated_facts.match_corrections`) to sessions that were recorded without this.
"""

import math
from collections.abc import Callable, Sequence

from msgspec import Struct

from clio.memory.consolidation.stated_facts import (
    Correction,
    Stated,
    make_replacement,
    match_corrections,
    read_corrections,
)
from clio.memory.store.memories import SCOPES
from clio.memory.store.record import KINDS, Kind, MemoryRecord, Provenance, same_words, short
from clio.memory.system import MemorySystem

_KINDS: tuple[Kind, ...] = ("fact", "note")
MAX_ALL = 500
"""A correction is compared with all memories of a scope if there are at most so many."""
MAX_COMPARED = 50
"""Otherwise with this many of each kind, those that share most words with it."""
CONTEXT_CHARS = 2_000
"""Of what was said before the message."""


class Replaced(Struct, frozen=True, kw_only=True):
    """What one correction did.

    Attributes:
        refuted: the memories that no longer hold.
        record: what holds now; None if the correction only says what does not.
        quote: the sentence as written.
    """

    refuted: tuple[MemoryRecord, ...]
    record: MemoryRecord | None
    quote: str

    def describe(self) -> str:
        """Return the line that reports it."""
        old = "; ".join(f"“{short(one)}”" for one in self.refuted)
        if self.record is None:
            return f"No longer used: {old} · /memory undo"
        return f"Saved to project memory: {self.record.content} (instead of {old}) · /memory undo"


def apply_corrections(memory: MemorySystem, text: str, session: str, context: str) -> list[Replaced]:
    """Replace the facts, notes and discoveries that the user's message refutes; each correction is one change to undo.

    Args:
        context: what was said just before, which tells what "it's 9090 now" is about.

    Raises UserError, StorageError, OSError.
    """
    corrections = [
        Correction(text=memory.redacted(text), quote=memory.redacted(quote), session=session, message="", at=math.inf)
        for text, quote in read_corrections(text)
    ]
    if not corrections:
        return []
    context = context[-CONTEXT_CHARS:]
    known: dict[str, MemoryRecord] = {}
    matched = match_corrections(corrections, _search(memory, context, known), context)
    return [_replace(memory, one, [known[stated.id] for stated in refuted]) for one, refuted in matched]


def _search(
    memory: MemorySystem, context: str, known: dict[str, MemoryRecord]
) -> Callable[[Correction], Sequence[Stated]]:
    """Return a function that lists the memories a correction may be about, and adds them to `known`."""
    entries = [entry for entry in memory.knowledge().entries if entry.kind == "discovery"]

    def near(correction: Correction) -> list[Stated]:
        for store in (memory.memories.project, memory.memories.user):
            for kind in _KINDS:
                if store.count() <= MAX_ALL:
                    found = store.each(kind)
                else:
                    hits = store.peek(f"{correction.text} {context}", MAX_COMPARED, kind)
                    found = (hit.record for hit in hits if not hit.record.is_variant)
                known.update((record.id, record) for record in found)
        known.update((entry.id, entry) for entry in entries)
        return [
            Stated(id=id, text=record.content, at=record.begun, session=_session(record))
            for id, record in known.items()
            if not same_words(record.content, correction.text)
        ]

    return near


def _session(record: MemoryRecord) -> str:
    return record.provenance.session if record.provenance else ""


def _replace(memory: MemorySystem, correction: Correction, refuted: Sequence[MemoryRecord]) -> Replaced:
    """Save what a correction says now, and archive what it refutes."""
    content = make_replacement(refuted[0].content, correction)
    record: MemoryRecord | None = None
    with memory.undo_group(f"replaced “{short(refuted[0])}”"):
        if content:
            is_of_project = any(one.kind in KINDS for one in refuted) or not memory.memories.user.live([refuted[0].id])
            said = Provenance(session=correction.session, asserted_by="user")
            record = memory.memories.remember(
                content, "fact", scope=SCOPES[0] if is_of_project else SCOPES[1], explicit=True, provenance=said
            ).record
        gone = [one for one in refuted if record is None or one.id != record.id]
        for store in (memory.memories.project, memory.memories.user):
            if live := [one.id for one in store.live([one.id for one in gone])]:
                store.forget_all(live, f"replaced by “{short(record)}”" if record else "", "outweighed")
        if entries := [one.id for one in gone if one.kind in KINDS]:
            if record is None:
                memory.forget(entries)
            else:
                memory.supersede(dict.fromkeys(entries, record.id))
    return Replaced(refuted=tuple(refuted), record=record, quote=correction.quote)
