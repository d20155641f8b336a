"""What says the same is one answer: the memory, not the passage it came from; the newer passage, not its echo. Pure."""

from collections.abc import Sequence
from typing import Protocol

from clio.algorithms.guards import differences
from clio.algorithms.lexical import has_phrase, words
from clio.algorithms.minhash import jaccard
from clio.memory.brain.evidence import stems_of
from clio.memory.unified.hits import Found, Layer

SAME = 0.8
"""The Jaccard index of their stems from which two texts say the same, unless a number, a path or a "not" differs."""
CAME_FROM = 0.5
"""The share of a memory's stems that the message it was made from must have, to be folded into it."""
_LEAST_WORDS = 3
_RANK: dict[Layer, int] = {"L2": 0, "L1": 0, "L0": 1}


class Weighed(Protocol):
    """Anything that was found and has a score."""

    @property
    def found(self) -> Found:
        """What it is."""
        ...

    @property
    def text(self) -> str:
        """Its passage that answers."""
        ...


def fold(ranked: Sequence[Weighed]) -> list[tuple[int, list[int]]]:
    """The places in `ranked` that stay, in their order, each with the places that say the same.

    Of a memory and a passage the memory stays, and stands where the better of the two stood. Of two memories, or two
    passages, the better one.
    """
    kept: list[tuple[int, list[int]]] = []
    for place, one in enumerate(ranked):
        for number, (first, others) in enumerate(kept):
            if not _same(ranked[first], one):
                continue
            if _RANK[one.found.layer] < _RANK[ranked[first].found.layer]:
                kept[number] = (place, [first, *others])
            else:
                others.append(place)
            break
        else:
            kept.append((place, []))
    return kept


def _same(one: Weighed, other: Weighed) -> bool:
    a, b = one.found, other.found
    if a.source == b.source and a.id == b.id and a.where == b.where:
        return True
    memory, passage = (one, other) if _RANK[a.layer] <= _RANK[b.layer] else (other, one)
    bag, said = stems_of(memory.text), stems_of(passage.text)
    if jaccard(bag, said) >= SAME and not differences(memory.text, passage.text):
        return True
    if memory.found.layer == passage.found.layer:
        return _same_place(a, b) if a.layer == "L0" else False
    if passage.found.layer != "L0":
        return False
    spoken = words(memory.text)
    if len(spoken) >= _LEAST_WORDS and has_phrase(words(passage.text), spoken):
        return True
    return _same_place(a, b) and len(bag & said) >= CAME_FROM * len(bag)


def _same_place(one: Found, other: Found) -> bool:
    """Whether both are of one message."""
    a, b = one.where, other.where
    return bool(a and b and a.message and a.session == b.session and a.message == b.message)
