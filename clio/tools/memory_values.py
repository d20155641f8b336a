"""Values a model wrote for a parameter, read as what they mean; ToolRetry says what would be right."""

import re
from collections.abc import Callable
from typing import Any, cast

import msgspec

from clio.algorithms.json_data import decode_json
from clio.algorithms.late_pattern import LatePattern
from clio.errors import ToolRetry
from clio.memory.memories import SCOPES
from clio.memory.typed.record import TYPES
from clio.memory.unified.hits import LAYERS

MAX_SESSIONS = 1_000
MAX_RESULTS = 50
MAX_MEMORIES = 1_000
MAX_AGE_DAYS = 36_500.0
_ARROW = LatePattern(r"\s*(?:\n|->|→|=>)\s*")
_LISTED = LatePattern(r"^(?:[-*•]|\d{1,2}[.)])\s+")


def _text(name: str, value: Any) -> str:
    """A text; numbers are their digits, and structures their JSON."""
    if isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode()


def _line(name: str, value: Any) -> str:
    return _text(name, value).strip()


def _ids(name: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        value = re.split(r"[\s,;]+", value)
    return _distinct(_texts(name, value, 'an id, as in id="d-3f9a12"'))


def _paths(name: str, value: Any) -> tuple[str, ...]:
    """A list of texts, also from one text: a JSON list, lines, or parts between commas."""
    if isinstance(value, str):
        decoded = _json_list(value)
        value = re.split(r"[\n,]+", value) if decoded is None else decoded
    return _distinct(_texts(name, value, 'a list of paths, as in examples=["src/app.py"]'))


def _steps(name: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        decoded = _json_list(value)
        value = [_LISTED.sub("", part) for part in _ARROW.split(value)] if decoded is None else decoded
    return _texts(name, value, 'a list of steps in order, as in steps=["make test", "make ship"]')


def _json_list(text: str) -> list[Any] | None:
    try:
        return decode_json(text, type=list[Any]) if text.lstrip().startswith("[") else None
    except msgspec.DecodeError:
        return None


def _texts(name: str, value: Any, right: str) -> tuple[str, ...]:
    items: list[Any] = list(cast("list[Any]", value)) if isinstance(value, list | tuple) else [value]
    if not all(isinstance(item, str) for item in items):
        raise ToolRetry(f"{name} is {right}")
    return tuple(item.strip() for item in items if item.strip())


def _distinct(items: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(items))


def _share(name: str, value: Any) -> float:
    number = _number(value)
    if number is None or not 0.0 <= number <= 1.0:
        percent = number is not None and 1.0 < number <= 100.0
        hint = f"; did you mean {number / 100:g}?" if percent and number is not None and number > 2 else ""
        raise ToolRetry(f"{name} is a number from 0 to 1, such as 0.9; {value!r} is not{hint}")
    return number


def _days(name: str, value: Any) -> float:
    number = _number(value)
    if number is None or not 1.0 <= number <= MAX_AGE_DAYS:
        raise ToolRetry(f"{name} is a number of days from 1 to {MAX_AGE_DAYS:,.0f}, such as 90; {value!r} is not")
    return number


def _count(name: str, value: Any, most: int) -> int:
    number = _number(value)
    if number is None or number != int(number) or not 1 <= number <= most:
        raise ToolRetry(f"{name} is a whole number from 1 to {most:,}; {value!r} is not")
    return int(number)


def _type(name: str, value: Any) -> str:
    """A type of memory, also in the plural; "!fact" is all but facts, and "all" is empty."""
    said = _line(name, value).casefold()
    sign, wanted = ("!", said[1:].strip()) if said.startswith("!") else ("", said)
    if said in ("", "all", "any"):
        return ""
    found = wanted if wanted in TYPES else wanted.removesuffix("s")
    if found not in TYPES:
        raise ToolRetry(f"{name} is {', '.join(TYPES[:-1])} or {TYPES[-1]}; {value!r} is none of them")
    return sign + found


def _scope(name: str, value: Any) -> str:
    said = _line(name, value).casefold()
    if said not in ("", *SCOPES):
        raise ToolRetry(f'{name} is "project" or "user"; {value!r} is neither')
    return said


def _limit(name: str, value: Any) -> int:
    number = _number(value)
    if number is None or number != int(number) or not -1 <= number <= MAX_MEMORIES:
        raise ToolRetry(f"{name} is a whole number up to {MAX_MEMORIES:,}, or -1 for all; {value!r} is not")
    return int(number)


def _layer(name: str, value: Any) -> str:
    said = _line(name, value).upper()
    if said not in ("", "ALL", *LAYERS):
        raise ToolRetry(f"{name} is {', '.join(LAYERS)} or all; {value!r} is none of them")
    return said


def _yes_or_no(name: str, value: Any) -> bool:
    said = value.strip().casefold() if isinstance(value, str) else value
    if said in (True, "true", "yes", 1, "1"):
        return True
    if said in (False, "false", "no", 0, "0"):
        return False
    raise ToolRetry(f"{name} is true or false; {value!r} is neither")


def _number(value: Any) -> float | None:
    """A number, also from its digits; None for anything else, for infinities and for what is not a number."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) < 1e15 else None


READERS: dict[str, Callable[[str, Any], object]] = {
    "key": _text,
    "content": _text,
    "query": _line,
    "text": _line,
    "solution": _line,
    "impact": _line,
    "path": _line,
    "steps": _steps,
    "examples": _paths,
    "confidence": _share,
    "ids": _ids,
    "handle": _line,
    "first": _line,
    "last": _line,
    "session": _line,
    "offset": lambda name, value: _count(name, value, 10_000_000),
    "max_sessions": lambda name, value: _count(name, value, MAX_SESSIONS),
    "max_results": lambda name, value: _count(name, value, MAX_RESULTS),
    "max_age_days": _days,
    "min_confidence": _share,
    "dry_run": _yes_or_no,
    "type": _type,
    "importance": _share,
    "scope": _scope,
    "limit": _limit,
    "layer": _layer,
    "at": _line,
    "scores": _yes_or_no,
}
