"""Decode JSON of any origin so that its content can do no more than fail to decode, and write JSON for requests."""

import re
from typing import Any, Generic, TypeVar, cast, overload

import msgspec

from clio.text.lazy_regex import LazyRegex

T = TypeVar("T")
MAX_DEPTH = 100
"""Levels of lists and objects. Nothing clio writes has more than about twenty; deeper data is no argument of a tool."""
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_BRACKETS = LazyRegex(r'"(?:[^"\\]|\\.)*+"|[\[\]{}]', re.DOTALL)
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


class TooDeep(msgspec.DecodeError):
    """The value is nested deeper than any that clio reads."""


@overload
def decode_json(data: bytes | str | msgspec.Raw, *, max_depth: int = MAX_DEPTH) -> Any: ...
@overload
def decode_json(data: bytes | str | msgspec.Raw, type: type[T], *, max_depth: int = MAX_DEPTH) -> T: ...
@overload
def decode_json(data: bytes | str | msgspec.Raw, type: Any, *, max_depth: int = MAX_DEPTH) -> Any: ...
def decode_json(data: bytes | str | msgspec.Raw, type: Any = Any, *, max_depth: int = MAX_DEPTH) -> Any:
    """The value in `data`, of this type. Raises msgspec.DecodeError and nothing else, whatever the data is."""
    try:
        encoded = data.encode("utf-8") if isinstance(data, str) else bytes(data)
        check_depth(encoded, max_depth)
        return msgspec.json.decode(encoded, type=type)
    except (UnicodeError, RecursionError, MemoryError, OverflowError) as error:
        raise msgspec.DecodeError(str(error) or error.__class__.__name__) from error


class JsonDecoder(Generic[T]):
    """Decodes many values of one type; as `decode_json`, without looking at the type each time."""

    def __init__(self, type: Any) -> None:
        """type: of the values, a union for instance, which no `type[T]` can be."""
        self._decoder: msgspec.json.Decoder[T] = msgspec.json.Decoder(type)

    def decode(self, data: bytes) -> T:
        """The value in `data`. Raises msgspec.DecodeError and nothing else."""
        try:
            check_depth(data)
            return self._decoder.decode(data)
        except (UnicodeError, RecursionError, MemoryError, OverflowError) as error:
            raise msgspec.DecodeError(str(error) or error.__class__.__name__) from error


def check_depth(data: bytes, max_depth: int = MAX_DEPTH) -> None:
    """Raise TooDeep where lists and objects are nested deeper than `max_depth`.

    A few hundred bytes are judged by counting brackets; only data with many of them is looked at closer.
    """
    if data.count(b"[") + data.count(b"{") <= max_depth:
        return
    brackets = _STRING.sub(b"", data).translate(None, _NOT_BRACKETS)
    for _ in range(max_depth):
        # Each round takes away the innermost pairs, so as many rounds are needed as there are levels.
        if b"[" not in brackets and b"{" not in brackets:
            return
        brackets = brackets.replace(b"[]", b"").replace(b"{}", b"")
    if b"[" in brackets or b"{" in brackets:
        raise TooDeep(f"it is nested deeper than {max_depth} levels")


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
