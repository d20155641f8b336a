"""What the shell makes of a variable's value by `${name%…}`, `${name/…}`, `${name:…}` and their like. Pure."""

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase, translate

from clio.algorithms.late_pattern import LatePattern

_SLICE = LatePattern(r":\s*\(?\s*(-?\d+)\s*\)?\s*(?::\s*(-?\d+)\s*)?")
_MAX_CHARS = 400


def apply_form(value: str, form: str) -> str:
    """A value in one of these forms, as far as it is plain; the value itself where the form is not known.

    form: what stands between the name and the closing brace, such as `%/*`.
    """
    if len(value) > _MAX_CHARS or len(form) > _MAX_CHARS:
        return value
    places = range(len(value) + 1)
    doubled = form[:1] == form[1:2]
    pattern = _bare(form[2:] if doubled else form[1:])
    match form[:1]:
        case "%":  # the longest end begins first
            return _head(value, pattern, places if doubled else reversed(places))
        case "#":
            return _tail(value, pattern, reversed(places) if doubled else places)
        case "/":
            return _replaced(value, form[1:])
        case "^":
            return value.upper() if doubled else value[:1].upper() + value[1:]
        case ",":
            return value.lower() if doubled else value[:1].lower() + value[1:]
        case ":" if form[1:2] == "+":
            return form[2:]
        case "+":
            return form[1:]
        case ":" if found := _SLICE.fullmatch(form):
            rest = value[int(found[1]) :]
            return rest if found[2] is None else rest[: int(found[2])]
        case _:
            return value


def _head(value: str, pattern: str, places: Iterable[int]) -> str:
    """What stands before the first of these places from which the value fits a pattern."""
    return next((value[:place] for place in places if fnmatchcase(value[place:], pattern)), value)


def _tail(value: str, pattern: str, places: Iterable[int]) -> str:
    return next((value[place:] for place in places if fnmatchcase(value[:place], pattern)), value)


def _replaced(value: str, form: str) -> str:
    """`pattern/text`, with a sign before it for all matches, or for the beginning or the end alone."""
    sign = form[:1] if form[:1] in ("/", "#", "%") else ""
    pattern, _, text = form[len(sign) :].partition("/")
    if not pattern:
        return value
    inside = translate(_bare(pattern))[4:-3]  # without the group and the end around it
    found = rf"\A(?:{inside})" if sign == "#" else rf"(?:{inside})\Z" if sign == "%" else inside
    return re.sub(found, lambda _: _bare(text), value, count=0 if sign == "/" else 1)


def _bare(text: str) -> str:
    return text.replace('"', "").replace("'", "").replace("\\/", "/")
