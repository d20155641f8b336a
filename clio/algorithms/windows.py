"""Cutting documents into overlapping windows, and which of the windows found are near enough to be shown.

Source: the brain document (512 tokens, 128 of them shared; chunks above 50 characters; hits within 1.10 × the best).
"""

from collections.abc import Sequence

WINDOW_TOKENS, OVERLAP_TOKENS = 512, 128
LEAST_CHARS = 50
TOP_K = 3
_RELATIVE_GATE = 1.10


def windows(length: int, size: int = WINDOW_TOKENS, overlap: int = OVERLAP_TOKENS) -> list[tuple[int, int]]:
    """(start, end) of windows of `size` over `length` tokens, each sharing `overlap` with the one before.

    The last one ends at the end. Raises ValueError unless 0 ≤ overlap < size.
    """
    if not 0 <= overlap < size:
        raise ValueError(f"an overlap of {overlap} does not fit into windows of {size}")
    found: list[tuple[int, int]] = []
    start = 0
    while start < length:
        end = min(start + size, length)
        found.append((start, end))
        if end == length:
            break
        start += size - overlap
    return found


def is_worth_keeping(chunk: str) -> bool:
    """Whether a chunk has more than 50 characters, white space at its ends not counted."""
    return len(chunk.strip()) > LEAST_CHARS


def near_the_best(distances: Sequence[float]) -> list[float]:
    """Those within 1.10 × the smallest, in their order."""
    limit = min(distances, default=0.0) * _RELATIVE_GATE
    return [distance for distance in distances if distance <= limit + 1e-12]
