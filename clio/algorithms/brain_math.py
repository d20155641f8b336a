"""Budgets and gates of the brain, the few recalled memories before a request. Source: the brain document.

Distances are Euclidean between unit vectors: √(2 − 2·cos), from 0 for the same direction to 2 for the opposite one.
"""

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

BRAIN_SHARE = 0.25
RECALLED_TOKENS, RECALLED_WINDOW = 300, 32_768
"""clio's own budget: so many tokens on a window of that size, in proportion on others; the document has a quarter."""
LEAST_RECALLED, MOST_RECALLED = 100, 1_200
LARGEST_BUDGET = 65_535
NEAREST = 3
GATE = 1.0
"""Strict: a memory at this distance stays out."""

T = TypeVar("T")


def share_of_window(window_tokens: int) -> int:
    """A quarter of the window, at most 65,535 tokens."""
    return min(int(window_tokens * BRAIN_SHARE), LARGEST_BUDGET)


def brain_budget(window_tokens: int) -> int:
    """What clio gives automatic recall: 300 tokens on a window of 32,768, in proportion on others, 100 to 1,200."""
    share = window_tokens * RECALLED_TOKENS // RECALLED_WINDOW
    return min(max(share, LEAST_RECALLED), MOST_RECALLED, share_of_window(window_tokens))


def session_budget(window_tokens: int, reserve_tokens: int) -> int:
    """What preamble and conversation may take: the window without what is kept for the answer."""
    return window_tokens - reserve_tokens


def must_eject(tokens: int, budget: int) -> bool:
    """Whether a conversation of that size has to lose its oldest turns."""
    return tokens > budget


def distance_of(cosine: float) -> float:
    """The distance of two unit vectors with that cosine."""
    return math.sqrt(max(0.0, 2.0 - 2.0 * cosine))


def distances(query: Sequence[float], items: Sequence[Sequence[float]]) -> list[float]:
    """The Euclidean distance of each item from the query."""
    return [math.dist(query, item) for item in items]


def gate(found: Sequence[float], nearest: int = NEAREST, limit: float = GATE) -> list[int]:
    """Places of the nearest that lie below the limit, nearest first; those at the same distance keep their order."""
    closest = sorted(range(len(found)), key=lambda place: found[place])[:nearest]
    return [place for place in closest if found[place] < limit]


def eject_pairs(tokens: Sequence[int], preamble_tokens: int, budget: int) -> int:
    """How many messages leave, always two by two from the oldest, until the rest fits beside the preamble.

    The preamble stays whatever its size; the conversation may become empty.
    """
    left, total = 0, preamble_tokens + sum(tokens)
    while must_eject(total, budget) and left < len(tokens):
        pair = tokens[left : left + 2]
        total -= sum(pair)
        left += len(pair)
    return left


def evict_oldest(entries: Sequence[T], size: Callable[[Sequence[T]], int], max_tokens: int) -> Sequence[T]:
    """The entries without the oldest ones, counted anew after each, until `size` of them is within the budget."""
    kept = entries
    while kept and size(kept) > max_tokens:
        kept = kept[1:]
    return kept
