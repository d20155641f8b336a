"""Small pieces of text the answers of memory_operations are made of."""

import difflib
from collections.abc import Iterable

from clio.algorithms.stored_time import format_stored_time


def short(text: str, chars: int) -> str:
    """The text on one line of at most so many characters."""
    line = " ".join(text.split())
    return line if len(line) <= chars else line[: chars - 1] + "…"


def many(count: int, thing: str) -> str:
    """A number and what it counts: "1 note", "2,000 notes"."""
    plural = f"{thing[:-1]}ies" if thing.endswith("y") else f"{thing}s"
    return f"{count:,} {thing if count == 1 else plural}"


def day(timestamp: float) -> str:
    """A date in this machine's time zone."""
    return format_stored_time("%Y-%m-%d", timestamp, "undated") if timestamp else "undated"


def minute(timestamp: float) -> str:
    """Date and time to the minute in this machine's time zone."""
    return format_stored_time("%Y-%m-%d %H:%M", timestamp, "undated") if timestamp else "undated"


def nearest(wanted: str, names: Iterable[str], most: int = 5) -> list[str]:
    """The names most like the one wanted, by letters or by being part of one another; the best first."""
    folded = {name.casefold(): name for name in names}
    low = wanted.casefold().strip()
    near = [folded[name] for name in difflib.get_close_matches(low, folded, n=most, cutoff=0.5)]
    inside = [name for key, name in folded.items() if low and (low in key or key in low) and name not in near]
    return [*near, *inside][:most]
