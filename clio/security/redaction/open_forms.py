"""Where a text that may continue has begun a form of secret, derived from the expressions that find the forms. Pure."""

import re
from collections.abc import Iterable
from functools import cache, lru_cache

from msgspec import Struct

from clio.security.redaction import syntaxes
from clio.security.redaction.assignments import MAPPING, PLIST, find_name, find_name_places, lower_keeping_positions
from clio.security.redaction.contexts import MAX_LINE_CHARS, Form, split_words
from clio.security.redaction.form_signs import list_forms
from clio.security.redaction.secret_patterns import MAX_BLOCK_CHARS, is_name_start, is_secret_name
from clio.text.lazy_regex import LazyRegex
from clio.text.regex_limits import compile_partial, list_literal_prefixes

# How far back a form may have begun, in characters: an ordinary one, and a table.
_WINDOW = 1400
_ROW_WINDOW = 4096
_LONG_KINDS = ("private-key", "kubernetes-secret")
"""Kinds of secrets that are documents, for which the reach is `MAX_BLOCK_CHARS`."""
_FEW_PLACES = 24
"""At most this many start positions are tried one by one, which is faster than a search."""
_NEAREST_NAMES = 8  # number of last names whose value may be incomplete
_NEAREST = 3  # number of last occurrences of a needle whose form may be incomplete
_VALUE_GROUP = re.compile(r"\(\?P<[vwb]>")
# Every expression of `syntaxes` with a value is matched at the end of a name.
_AT_NAMES = (
    PLIST,
    MAPPING,
    *(each for each in vars(syntaxes).values() if isinstance(each, LazyRegex) and _VALUE_GROUP.search(each.pattern)),
)

_TITLES = re.compile(r"(?:[ \t]{0,8}(?:#|//|--|[;*%>])[ \t]{0,4})?[\w .\"'-]{1,80}(?:[,;\t][\w .\"'-]{0,80}){1,100}\r?")
_MOST_TITLES = 40
"""Names per window that are examined as column titles."""


class OpenRows(Struct, frozen=True):
    """Table rows that may continue: where the titles begin and end, and where the last row begins."""

    head: int
    first: int
    last: int


def find_open_form(text: str, end: int) -> int | None:
    """Return where a form begins that may still be completed after `end`; None for nowhere."""
    found: list[int] = []
    for start, stop in _list_nearest_names(text, max(0, end - _WINDOW), end, _NEAREST_NAMES):
        if any(make_partial_pattern(each).match(text, stop, end) for each in _AT_NAMES):
            found.append(start)
            break
    if needles := _find_needles(text):
        begin = max(0, end - MAX_BLOCK_CHARS)
        lowered = lower_keeping_positions(text[begin:end])
        for form, needle in needles:
            reach = MAX_LINE_CHARS if form.back else MAX_BLOCK_CHARS if form.kind in _LONG_KINDS else _WINDOW
            first = max(0, len(lowered) - len(needle) - reach)
            at = lowered.rfind(needle, first)
            for _ in range(_NEAREST):
                if at < 0:
                    break
                if (start := _find_open_start(text, lowered, form, needle, at, begin)) is not None:
                    found.append(start)
                at = lowered.rfind(needle, first, at)
    return min(found, default=None)


@lru_cache(maxsize=1)
def _find_needles(text: str) -> tuple[tuple[Form, str], ...]:
    """Return the forms whose needle occurs in a text. Cached, because one text is examined at several positions."""
    lowered = lower_keeping_positions(text)
    words = split_words(lowered)
    return tuple(
        (form, needle)
        for form in list_forms()
        if not form.words or not words.isdisjoint(form.words)
        for needle in form.needles
        if needle in lowered
    )


def is_form_begun(text: str, lowered: str, forms: Iterable[Form]) -> bool:
    """Whether one of the forms is in a text, or begins in it and may be completed after it.

    Args:
        lowered: the lower-case form of the text, of equal length.
    """
    for form in forms:
        for needle in form.needles:
            at = lowered.find(needle)
            while at >= 0:
                line = max(0, at - form.back, text.rfind("\n", 0, at) + 1) if form.back else at
                if not form.back or _can_begin(form, needle, lowered, line, at):
                    found = form.pattern.search(text, line) if form.back else form.pattern.match(text, at)
                    if found is not None or _find_open_start(text, lowered, form, needle, at, 0) is not None:
                        return True
                at = lowered.find(needle, at + len(needle))
    return False


def find_open_rows(text: str, end: int) -> OpenRows | None:
    """Return the rows of a table, of comma-separated values or of an `INSERT` that may continue after `end`.

    The text after `end` may show that they do not.
    """
    begin = max(0, end - _ROW_WINDOW)
    if not _find_names(text) or not any(text.find(sign, begin, end) >= 0 for sign in "|,;\t"):
        return None
    for start, stop in _list_nearest_names(text, begin, end, _MOST_TITLES):
        if (rows := _find_open_rows_of_name(text, text[start:stop], start, stop, end)) is not None:
            return rows
    return None


@cache
def make_partial_pattern(pattern: LazyRegex | re.Pattern[str]) -> re.Pattern[str]:
    """Return an expression for the prefixes of what a pattern matches."""
    return compile_partial(pattern.pattern, pattern.flags)


def _list_nearest_names(text: str, begin: int, end: int, most: int) -> list[tuple[int, int]]:
    """Return the spans of the last names of secrets between two positions."""
    return [span for span in _find_names(text) if begin <= span[0] and span[1] <= end][-most:]


@lru_cache(maxsize=1)
def _find_names(text: str) -> tuple[tuple[int, int], ...]:
    """Return the spans of the names of secrets in a text. Cached, because one text is examined at several positions."""
    lowered = lower_keeping_positions(text)
    found: dict[int, int] = {}
    for at, word in sorted(find_name_places(lowered)):
        if is_name_start(lowered, at, word):
            name, start = find_name(text, at)
            if is_secret_name(name) or is_secret_name(name.rstrip("sS")):
                found[start] = at + 3 if " " in name else start + len(name)
    return tuple(found.items())


@cache
def _list_leads(pattern: LazyRegex | re.Pattern[str], size: int) -> tuple[str, ...]:
    """Return the possible beginnings, of the given size, of a form whose needle is further in."""
    return tuple({lead[:size] for lead in list_literal_prefixes(pattern.pattern, pattern.flags)})


def _can_begin(form: Form, needle: str, lowered: str, line: int, at: int) -> bool:
    """Whether a form may begin between two positions in lower-case text; its needle is at the second."""
    window = lowered[line:at]
    if not all(any(part in window for part in group) for group in form.needs):
        return False
    leads = _list_leads(form.pattern, len(needle))
    window = lowered[line : at + len(needle)]
    for lead in leads:
        if lead in window:
            return True
    return not leads


def _find_open_start(text: str, lowered: str, form: Form, needle: str, at: int, begin: int) -> int | None:
    """Return where a form begins if it is incomplete at the end of the text; None otherwise.

    Args:
        lowered: the text from `begin` to the end in lower case.
        at: position of the form's needle in it.
    """
    place, end = begin + at, begin + len(lowered)
    if not form.back:
        return place if make_partial_pattern(form.pattern).match(text, place, end) else None
    line = max(begin, place - form.back, text.rfind("\n", max(0, place - form.back), place) + 1)
    if not _can_begin(form, needle, lowered, line - begin, at):
        return None
    begun = make_partial_pattern(form.pattern)
    if place - line <= _FEW_PLACES:
        return next((start for start in range(line, place + 1) if begun.match(text, start, end)), None)
    match = begun.search(text, line, end)
    return match.start() if match and match.start() <= place else None


def _find_open_rows_of_name(text: str, name: str, start: int, end: int, limit: int) -> OpenRows | None:
    """Return the rows below one name in a column title that may continue; None if there are none."""
    line = text.rfind("\n", max(0, start - _ROW_WINDOW), start) + 1
    whole = text[:limit]
    if "\n" not in text[end:limit]:
        # The line of the name itself counts: the cell beside it may contain the value.
        may_be = "|" in text[line:start] or _is_insert(text, line, start) or _TITLES.fullmatch(text, line, limit)
        return OpenRows(line, line, line) if may_be else None
    if _is_insert(text, line, start):
        return OpenRows(line, limit, line) if ";" not in text[end:limit] and limit - line < _ROW_WINDOW else None
    if (head := syntaxes.find_table_head(whole, start, end)) is not None:
        place = head[2]
        if not place:
            stop = text.find("\n", end, limit)
            may_be_rule = "\n" not in text[stop + 1 : limit] and make_partial_pattern(syntaxes.TABLE_RULE).match(
                text, stop + 1
            )
            return OpenRows(line, limit, stop + 1) if may_be_rule else None
        return _follow_rows(text, line, place, limit, "|", 1)
    if (found := syntaxes.find_columns_head(whole, name, line, start, end)) is not None:
        sign, _, number, place = found
        return _follow_rows(text, line, place, limit, sign, number - 1)
    return None


def _follow_rows(text: str, head: int, first: int, limit: int, sign: str, number: int) -> OpenRows | None:
    """Return the rows in which each so far contains the separator as often as required, or at least once for "|"."""
    place = first
    for _ in range(syntaxes.MAX_ROWS):
        stop = text.find("\n", place, limit)
        if stop < 0:
            return OpenRows(head, min(first, limit), min(place, limit))
        count = text.count(sign, place, stop)
        if (count < 1) if sign == "|" else (count != number):
            return None
        place = stop + 1
    return None


def _is_insert(text: str, line: int, start: int) -> bool:
    """Whether a name is in the column list of an `INSERT INTO`."""
    opened = text.rfind("(", max(line, start - 600), start)
    return opened >= 0 and "nto" in text[line:opened].lower()
