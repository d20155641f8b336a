"""Reads values out of JSON that a stranger wrote: what is not of the wanted kind is as good as absent."""

from typing import cast

MAX_COUNT = 100_000_000  # tokens; no server counts higher, so a larger number is a bug of its own


def as_dict(value: object) -> dict[str, object]:
    """The object, or an empty one."""
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[object]:
    """The array, or an empty one."""
    return cast("list[object]", value) if isinstance(value, list) else []


def as_text(value: object) -> str:
    """The text, or an empty one."""
    return value if isinstance(value, str) else ""


def as_count(value: object) -> int:
    """A number of tokens from 0 to `MAX_COUNT`, also where it is written as text or as 12.0; else 0."""
    if isinstance(value, str) and value.isdecimal() and len(value) <= 9:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(value) if 0 <= value <= MAX_COUNT else 0


def is_absurd(value: object) -> bool:
    """Whether it is a number, but none of tokens."""
    return isinstance(value, int | float) and not 0 <= value <= MAX_COUNT
