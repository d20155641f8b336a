"""Writes JSON for requests, and reads values out of JSON of any origin."""

from typing import Any, cast

import msgspec

from clio.text.json_data import decode_json
from clio.text.lazy_regex import LazyRegex

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


_SURROGATES = LazyRegex("[\ud800-\udfff]")


def encode_json(value: object) -> bytes:
    """JSON in the order the keys were given. Lone surrogates, which UTF-8 cannot carry, become U+FFFD."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(_scrub(value))


def _scrub(value: object) -> object:
    if isinstance(value, str):
        return _SURROGATES.sub("\ufffd", value)
    if isinstance(value, dict):
        return {key: _scrub(item) for key, item in as_dict(cast("object", value)).items()}
    if isinstance(value, list):
        return [_scrub(item) for item in as_list(cast("object", value))]
    return value


def valid_arguments(text: str) -> str:
    """A tool call's arguments, or an object that quotes them where they are no JSON object: servers refuse those."""
    try:
        decode_json(text, dict[str, Any])
    except msgspec.DecodeError:
        return encode_json({"invalid_json": text}).decode("utf-8")
    return text
