"""Text that can be written as UTF-8, and ids for what has none."""

import hashlib
from typing import Any, TypeVar, cast

import msgspec
from msgspec import Struct

from clio.algorithms.late_pattern import LatePattern

S = TypeVar("S", bound=Struct)
LONE_SURROGATE = LatePattern("[\ud800-\udfff]")


def valid_text(text: str) -> str:
    """The text with U+FFFD for each lone surrogate, which file names, broken output and models' JSON can hold."""
    return LONE_SURROGATE.sub("\ufffd", text)


def valid_struct(value: S) -> S:
    """A copy of a Struct with all its texts valid, those inside of it too."""
    return msgspec.convert(_valid(msgspec.to_builtins(value)), type=type(value))


def derived_id(seed: bytes) -> str:
    """An id in the form of a UUID, always the same for the same bytes."""
    digest = hashlib.sha256(seed).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-8{digest[13:16]}-8{digest[17:20]}-{digest[20:32]}"


def _valid(value: Any) -> Any:
    if isinstance(value, str):
        return valid_text(value)
    if isinstance(value, dict):
        return {_valid(key): _valid(item) for key, item in cast(dict[Any, Any], value).items()}
    if isinstance(value, (list, tuple)):
        return [_valid(item) for item in cast(list[Any], value)]
    return value
