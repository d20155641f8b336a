"""Counts as a person reads them in a narrow place. Pure."""

from collections.abc import Callable


def format_tokens(count: int) -> str:
    """A count in at most five characters: "950", "1.2k", "12k", "1.3M"."""
    if count < 1000:
        return str(count)
    if count < 9_950:
        return f"{count / 1000:.1f}k"
    if count < 999_500:
        return f"{round(count / 1000)}k"
    return f"{count / 1_000_000:.1f}M"


def describe_cache_use(read: int, written: int, number: Callable[[int], str] = "{:,}".format) -> str:
    """What a prompt cache gave and took of a request's input, after the input: " (8,000 cached, 200 written)".

    "" where nothing was read or written.
    """
    parts = [f"{number(count)} {word}" for count, word in ((read, "cached"), (written, "written")) if count]
    return f" ({', '.join(parts)})" if parts else ""
