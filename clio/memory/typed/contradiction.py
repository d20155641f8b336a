"""A new statement against a known one that it contradicts: which of the two holds, and what becomes of the other. Pure.

The adaptive-memory document's rule by confidence, with what a person needs beside it: the known one is as sure as it is
left after fading; of two that are alike sure the speaker who is trusted no less wins; a person corrects themselves.
"""

from collections.abc import Sequence

from clio.memory.ltm.merge import TRUST
from clio.memory.typed.record import MemoryRecord, default_confidence
from clio.text.consolidate import Reconsolidated, reconsolidate
from clio.text.scoring import DAY_S, confidence_after


def weigh(new: MemoryRecord, known: MemoryRecord, variants: Sequence[MemoryRecord], now: float) -> Reconsolidated:
    """What becomes of `new`. variants: of the known one, each of which gives way only to a surer statement."""
    if overrules(new, known, now):
        return Reconsolidated(action="updated")
    # What is not weaker has won above, so that this decides only among the variants.
    return reconsolidate(_sure(new, now), 1.0, [_sure(variant, now) for variant in variants])


def overrules(new: MemoryRecord, known: MemoryRecord, now: float) -> bool:
    """Whether a new statement takes the place of a known one."""
    if trust(new) == trust(known) == TRUST["user"]:
        return True
    one, other = _sure(new, now), _sure(known, now)
    return one > other or (one == other and trust(new) >= trust(known))


def trust(record: MemoryRecord) -> int:
    """How far its speaker is trusted: a person further than a model, a model further than a tool's output."""
    return TRUST[record.provenance.asserted_by if record.provenance else "model"]


def _sure(record: MemoryRecord, now: float) -> float:
    """Its confidence as it has faded. Only a person is certain: 1.0 of anyone else means that nobody said how sure."""
    stated = record.confidence if record.confidence < 1.0 else default_confidence(record.provenance)
    return confidence_after(stated, max(now - record.accessed, 0.0) / DAY_S)
