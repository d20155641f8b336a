"""What says the same is one answer: the memory, not the passage it came from; the newer passage, not its echo. Pure."""

from collections.abc import Sequence
from functools import cached_property
from typing import Protocol

from clio.memory.brain.evidence import stems_of
from clio.memory.unified.hits import Found, Layer
from clio.memory.unified.ruler import Fit
from clio.text.similarity import differences, jaccard
from clio.text.vocabulary import has_phrase, words

SAME = 0.8
"""The Jaccard index of their stems from which two texts say the same, unless a number, a path or a "not" differs."""
CAME_FROM = 0.5
"""The share of a memory's stems that the message it was made from must have, to be folded into it."""
_LEAST_WORDS = 3
_RANK: dict[Layer, int] = {"L2": 0, "L1": 0, "L0": 1}


class Joinable(Protocol):
    """Anything that was found and has been measured."""

    @property
    def found(self) -> Found:
        """What it is."""
        ...

    @property
    def fit(self) -> Fit:
        """Its passage that answers."""
        ...


class _Text:
    """The words of an answer, taken apart once."""

    def __init__(self, one: Joinable) -> None:
        self.found = one.found
        self.text = one.fit.text
        self.bag = stems_of(self.text)

    @cached_property
    def words(self) -> list[str]:
        return words(self.text)


def fold(ranked: Sequence[Joinable], limit: int) -> tuple[list[tuple[int, list[int]]], int]:
    """The first `limit` places in `ranked` that stay, in their order, each with the places that say the same.

    Of a memory and a passage the memory stays, and stands where the better of the two stood. Of two memories, or two
    passages, the better one. Also says how many places were looked at: what stands behind them is not folded.
    """
    kept: list[tuple[int, list[int]]] = []
    texts: list[_Text] = []
    for place, one in enumerate(ranked):
        text = _Text(one)
        number = next((number for number, other in enumerate(texts) if _same(other, text)), None)
        if number is None:
            if len(kept) == limit:
                return kept, place
            kept.append((place, []))
            texts.append(text)
            continue
        first, others = kept[number]
        if _RANK[text.found.layer] < _RANK[texts[number].found.layer]:
            kept[number], texts[number] = (place, [first, *others]), text
        else:
            others.append(place)
    return kept, len(ranked)


def _same(one: _Text, other: _Text) -> bool:
    a, b = one.found, other.found
    if a.source == b.source and a.id == b.id and a.where == b.where:
        return True
    memory, passage = (one, other) if _RANK[a.layer] <= _RANK[b.layer] else (other, one)
    both = len(memory.bag & passage.bag)
    if both >= SAME * max(len(memory.bag), len(passage.bag)) and (
        jaccard(memory.bag, passage.bag) >= SAME and not differences(memory.text, passage.text)
    ):
        return True
    if a.layer == b.layer:
        return a.layer == "L0" and _same_place(a, b)
    if passage.found.layer != "L0":
        return False
    if both == len(memory.bag) and len(memory.words) >= _LEAST_WORDS and has_phrase(passage.words, memory.words):
        return True
    return _same_place(a, b) and both >= CAME_FROM * len(memory.bag)


def _same_place(one: Found, other: Found) -> bool:
    """Whether both are of one message."""
    a, b = one.where, other.where
    return bool(a and b and a.message and a.session == b.session and a.message == b.message)
