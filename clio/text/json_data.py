"""Decode JSON from untrusted sources so that it can only fail with one exception, encode JSON for requests, and repair
text that was encoded as UTF-8 twice.
"""

import re
from typing import Any, Generic, TypeVar, cast, overload

import msgspec

from clio.text.lazy_regex import LazyRegex

T = TypeVar("T")
MAX_DEPTH = 100
"""Maximum nesting of lists and objects. clio's own documents have at most about twenty levels."""
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_BRACKETS = LazyRegex(r'"(?:[^"\\]|\\.)*+"|[\[\]{}]', re.DOTALL)
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


class NestedTooDeeply(msgspec.DecodeError):
    """The value is nested deeper than the limit."""


@overload
def decode_json(data: bytes | str | msgspec.Raw, *, max_depth: int = MAX_DEPTH) -> Any: ...
@overload
def decode_json(data: bytes | str | msgspec.Raw, type: type[T], *, max_depth: int = MAX_DEPTH) -> T: ...
@overload
def decode_json(data: bytes | str | msgspec.Raw, type: Any, *, max_depth: int = MAX_DEPTH) -> Any: ...
def decode_json(data: bytes | str | msgspec.Raw, type: Any = Any, *, max_depth: int = MAX_DEPTH) -> Any:
    """Return the decoded value of this type. Raises msgspec.DecodeError and nothing else, whatever the data is."""
    try:
        # Checked before decoding: msgspec recurses for every level, and a hostile document could exhaust the stack.
        encoded = data.encode("utf-8") if isinstance(data, str) else bytes(data)
        check_depth(encoded, max_depth)
        return msgspec.json.decode(encoded, type=type)
    except (UnicodeError, RecursionError, MemoryError, OverflowError) as error:
        raise msgspec.DecodeError(str(error) or error.__class__.__name__) from error


class JsonDecoder(Generic[T]):
    """Decodes many values of one type; like `decode_json`, but inspects the type only once."""

    def __init__(self, type: Any) -> None:
        """Create a decoder. `type` is Any because a union, for instance, is not a `type[T]`."""
        self._decoder: msgspec.json.Decoder[T] = msgspec.json.Decoder(type)

    def decode(self, data: bytes) -> T:
        """Decode one value. Raises msgspec.DecodeError and nothing else."""
        try:
            check_depth(data)
            return self._decoder.decode(data)
        except (UnicodeError, RecursionError, MemoryError, OverflowError) as error:
            raise msgspec.DecodeError(str(error) or error.__class__.__name__) from error


def check_depth(data: bytes, max_depth: int = MAX_DEPTH) -> None:
    """Raise NestedTooDeeply if lists and objects are nested deeper than `max_depth`.

    Counting brackets is enough for most data; only data with many of them is examined further.
    """
    if data.count(b"[") + data.count(b"{") <= max_depth:
        return
    brackets = _STRING.sub(b"", data).translate(None, _NOT_BRACKETS)
    for _ in range(max_depth):
        # Each round removes the innermost pairs, so the number of rounds is the number of levels.
        if b"[" not in brackets and b"{" not in brackets:
            return
        brackets = brackets.replace(b"[]", b"").replace(b"{}", b"")
    if b"[" in brackets or b"{" in brackets:
        raise NestedTooDeeply(f"it is nested deeper than {max_depth} levels")


def is_text_too_deep(text: str) -> bool:
    """Whether a text that is not valid JSON opens more than MAX_DEPTH lists and objects at once, outside strings.

    A guess if its quotes are broken too; a text with few brackets never counts as nested.
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


def is_value_too_deep(value: Any) -> bool:
    """Whether lists and objects in a decoded value are nested deeper than MAX_DEPTH."""
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


MAX_TOKEN_COUNT = 100_000_000  # no model has a window near this size: a larger number is a bug of the server


def as_dict(value: object) -> dict[str, object]:
    """Return the value if it is an object, otherwise an empty one."""
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[object]:
    """Return the value if it is an array, otherwise an empty one."""
    return cast("list[object]", value) if isinstance(value, list) else []


def as_text(value: object) -> str:
    """Return the value if it is a string, otherwise ""."""
    return value if isinstance(value, str) else ""


def as_token_count(value: object) -> int:
    """Return a number of tokens, 0 to `MAX_TOKEN_COUNT`, also if it is written as a string or as 12.0; otherwise 0."""
    if isinstance(value, str) and value.isdecimal() and len(value) <= 9:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(value) if 0 <= value <= MAX_TOKEN_COUNT else 0


def is_absurd_token_count(value: object) -> bool:
    """Whether the value is a number, but not a possible number of tokens."""
    return isinstance(value, int | float) and not 0 <= value <= MAX_TOKEN_COUNT


_LONE_SURROGATES = LazyRegex("[\ud800-\udfff]")


def encode_json(value: object) -> bytes:
    """Encode with keys in the given order. Lone surrogates, which UTF-8 cannot represent, become U+FFFD."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(_replace_surrogates(value))


def _replace_surrogates(value: object) -> object:
    if isinstance(value, str):
        return _LONE_SURROGATES.sub("\ufffd", value)
    if isinstance(value, dict):
        return {key: _replace_surrogates(item) for key, item in as_dict(cast("object", value)).items()}
    if isinstance(value, list):
        return [_replace_surrogates(item) for item in as_list(cast("object", value))]
    return value


def make_valid_arguments(text: str) -> str:
    """Return a tool call's arguments if they are a JSON object; otherwise one that contains them as a string.

    Servers reject a request that repeats a call with invalid arguments.
    """
    try:
        decode_json(text, dict[str, Any])
    except msgspec.DecodeError:
        return encode_json({"invalid_json": text}).decode("utf-8")
    return text


_MISDECODED_SEQUENCE = (
    r"(?:[\xc2-\xdf][\x80-\xbf]"
    r"|[\xe0-\xef][\x80-\xbf]{2}"
    r"|[\xf0-\xf4][\x80-\xbf]{3})"
)
_MISDECODED_TAIL = r"(?:[\xe0-\xef][\x80-\xbf]|[\xf0-\xf4][\x80-\xbf]{1,2})?"
"""A multi-byte sequence that is incomplete because the text ends.

A first byte alone is no evidence, because "naïveté" ends with such a character too.
"""
_MISDECODED_TEXT = LazyRegex(rf"(?P<head>(?:[\x00-\x7f]++|{_MISDECODED_SEQUENCE})*+)(?P<tail>{_MISDECODED_TAIL}\s*)")
_CERTAIN_EVIDENCE = LazyRegex(
    r"[\xc2-\xf4][\x80-\xbf]*[\x80-\x9f]"  # a control character, which is never typed
    r"|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"  # a letter and two or three symbols
    r"|[A-Za-z]\xc3[\xa0-\xbf]|\xc3[\xa0-\xbf][A-Za-z]"  # Ã and a symbol inside a word
)
_WEAK_EVIDENCE = LazyRegex(r"[\xc2\xc3][\xa0-\xbf]")
_MAX_REPAIRS = 3


def repair_double_utf8(text: str, *, expected: bool = False) -> str:
    """Return the text as it was before it was encoded as UTF-8 two or more times; unchanged unless that is certain.

    An incomplete sequence at the end of the text is unchanged.

    Args:
        expected: the source encoded all of its text twice, so that a single "Ã©" is sufficient evidence.
    """
    for time in range(_MAX_REPAIRS):
        repaired = _repair_once(text, _WEAK_EVIDENCE if expected and time == 0 else None)
        if repaired == text:
            break
        text = repaired
    return text


def _repair_once(text: str, weak_evidence: LazyRegex | None) -> str:
    if text.isascii():
        return text
    match = _MISDECODED_TEXT.fullmatch(text)
    if match is None or not (
        _CERTAIN_EVIDENCE.search(match["head"]) or (weak_evidence and weak_evidence.search(match["head"]))
    ):
        return text
    try:
        return match["head"].encode("latin-1").decode("utf-8") + match["tail"]
    except UnicodeDecodeError:  # an overlong form or half of a surrogate pair, which no encoder writes
        return text
