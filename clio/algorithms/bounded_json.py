"""JSON that others wrote, read so that no content of it can end more than the reading."""

import re
from typing import Any, TypeVar, overload

import msgspec

from clio.algorithms.late_pattern import LatePattern

MAX_DEPTH = 100
"""Levels of lists and objects. What is nested deeper is no argument of any tool, and few servers take it back."""

_BRACKETS = LatePattern(r'"(?:[^"\\]|\\.)*+"|[\[\]{}]', re.DOTALL)
_Kind = TypeVar("_Kind")


@overload
def decode_json(data: str | bytes) -> Any: ...
@overload
def decode_json(data: str | bytes, type: type[_Kind]) -> _Kind: ...
def decode_json(data: str | bytes, type: Any = Any) -> Any:
    """The value in `data`.

    Raises msgspec.DecodeError for everything that cannot be used: no JSON, no valid Unicode, nested deeper than
    MAX_DEPTH; as its subclass ValidationError where the value is not of this type.
    """
    try:
        value = msgspec.json.decode(data, type=type)
    except RecursionError:
        raise msgspec.DecodeError("JSON is nested too deeply") from None
    except UnicodeError as error:
        raise msgspec.DecodeError(f"JSON is malformed: {error}") from None
    if is_too_deep(value):
        raise msgspec.DecodeError("JSON is nested too deeply")
    return value


def is_nested_deeply(text: str) -> bool:
    """Whether a text that is no JSON opens more than MAX_DEPTH lists and objects at once, strings left out.

    Where its quotes are broken too, this is a guess; a text with few brackets never counts as nested.
    """
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return False
    depth = 0
    for found in _BRACKETS.finditer(text):
        token = found[0]
        depth += token in ("[", "{")
        depth -= token in ("]", "}") and depth > 0
        if depth > MAX_DEPTH:
            return True
    return False


def is_too_deep(value: Any) -> bool:
    """Whether lists and objects in a value are nested deeper than MAX_DEPTH."""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True
