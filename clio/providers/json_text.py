"""Writes JSON for requests."""

from typing import Any, cast

import msgspec

from clio.algorithms.json_data import decode_json
from clio.algorithms.late_pattern import LatePattern
from clio.providers.lenient import as_dict, as_list

_SURROGATES = LatePattern("[\ud800-\udfff]")


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
