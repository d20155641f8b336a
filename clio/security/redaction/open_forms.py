"""Find forms that are incomplete at the end of a piece of a stream, such as a key block without its end line."""

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache

from msgspec import Struct

from clio.security.redaction import syntaxes
from clio.security.redaction.assignments import MAPPING, PLIST, find_name, find_name_places, lower_in_place
from clio.security.redaction.commands_and_calls import CALLS, LINES, MAX_LINE_CHARS, PATTERNS
from clio.security.redaction.contexts import ALL_FORMS, FOREIGN, OTHER_FORMS, Form, accept_value, split_words
from clio.security.redaction.contexts import MAX_LINE_CHARS as MAX_LINE_CHARS_of_contexts
from clio.security.redaction.names_and_values import is_begun, is_secret_name
from clio.security.redaction.token_patterns import MAX_BLOCK_CHARS
from clio.text.lazy_regex import LazyRegex
from clio.text.regex_limits import compile_partial, list_leads


@cache
def list_forms() -> tuple[Form, ...]:
    """Return all forms that have a needle, including program lines and function calls."""
    return (*ALL_FORMS, *_list_further_forms())


@cache
def _list_further_forms() -> tuple[Form, ...]:
    lines = (
        Form((needle.lower(),), pattern, accept_value, back=MAX_LINE_CHARS, whole=True) for needle, pattern in LINES
    )
    calls = (
        Form(
            (f"{call}(",),
            LazyRegex(f"(?i:{re.escape(call)}){PATTERNS[argument].pattern}", PATTERNS[argument].flags),
            accept_value,
            whole=True,
        )
        for calls in CALLS.values()
        for call, argument in calls
    )
    return (*lines, *calls)


class _Sign(Struct, frozen=True):
    """A word that announces forms. `letters` is part of it: at its start or end if the needle requires that."""

    letters: str
    at_start: bool
    at_end: bool
    forms: tuple[Form, ...]

    def is_in(self, word: str) -> bool:
        if self.at_start:
            bare = word.lstrip("\"'`(")
            return bare == self.letters if self.at_end else bare.startswith(self.letters)
        return word.endswith(self.letters) if self.at_end else self.letters in word


_COMMON = frozenset(("command", "config", "put", "set"))
"""Words common in texts. A needle that also contains another word is announced by that one."""


def _signs() -> Iterator[_Sign]:
    found: dict[tuple[str, bool, bool], list[Form]] = {}
    for form in (*OTHER_FORMS, FOREIGN, *_list_further_forms()):
        if form.needs:
            continue  # announced by the name in it
        for needle in form.needles:
            parts = needle.split()
            letters = max(parts, key=lambda part: (part not in _COMMON, len(part)))
            at = parts.index(letters)
            at_start = at > 0 or needle[0].isspace()
            at_end = at < len(parts) - 1 or needle[-1].isspace()
            forms = found.setdefault((letters, at_start, at_end), [])
            if form not in forms:
                forms.append(form)
    for (letters, at_start, at_end), forms in found.items():
        yield _Sign(letters, at_start, at_end, tuple(forms))


class _Tables(Struct, frozen=True):
    """All signs by number, with their bits by first three letters, and those that are shorter or contain other
    characters.
    """

    signs: tuple[_Sign, ...]
    heads: dict[tuple[str, ...], list[tuple[int, _Sign]]]
    others: list[tuple[int, _Sign]]
    short: frozenset[str]


@cache
def _tables() -> _Tables:
    """Build the tables for the first stream, not at every start."""
    signs = tuple(_signs())
    heads: dict[tuple[str, ...], list[tuple[int, _Sign]]] = {}
    others: list[tuple[int, _Sign]] = []
    for number, sign in enumerate(signs):
        if len(sign.letters) > 2 and sign.letters.isascii():
            heads.setdefault(tuple(sign.letters[:3]), []).append((1 << number, sign))
        else:
            others.append((1 << number, sign))
    return _Tables(signs, heads, others, frozenset(sign.letters for _, sign in others))


def find_signs(word: str) -> int:
    """Return the forms that a lower-case word announces, one bit per sign; 0 for none."""
    tables, found = _tables(), 0
    for head in tables.heads.keys() & zip(word, word[1:], word[2:], strict=False):
        for bit, sign in tables.heads[head]:
            if sign.is_in(word):
                found |= bit
    if word in tables.short or not word.isascii():
        for bit, sign in tables.others:
            if sign.is_in(word):
                found |= bit
    return found


@lru_cache(maxsize=256)
def select_needles(bits: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the needles of the forms announced by signs, and the first words of needles that contain a blank."""
    needles = tuple(dict.fromkeys(needle for form in select_forms(bits) for needle in form.needles))
    begun = (needle[: blank.end()] for needle in needles for blank in re.finditer(r"(?<=\S)\s", needle[:-1]))
    return needles, tuple(dict.fromkeys(begun))


@lru_cache(maxsize=256)
def select_forms(bits: int) -> tuple[Form, ...]:
    """Return the forms announced by signs."""
    return tuple(
        dict.fromkeys(form for number, sign in enumerate(_tables().signs) if bits >> number & 1 for form in sign.forms)
    )


_WINDOW = 1400
"""How far before the end of a text, in characters, a name may be whose value is incomplete."""
_ROW_WINDOW = 4096
_LONG_KINDS = ("private-key", "kubernetes-secret")
_FEW_PLACES = 24
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


class OpenRows(Struct, frozen=True):
    """Table rows that may continue: where the titles begin and end, and where the last row begins."""

    head: int
    first: int
    last: int


def open_form(text: str, end: int) -> int | None:
    """Return where a form begins that may still be completed after `end`; None for nowhere."""
    found: list[int] = []
    for start, stop in _nearest_names(text, max(0, end - _WINDOW), end, _NEAREST_NAMES):
        if any(make_partial_pattern(each).match(text, stop, end) for each in _AT_NAMES):
            found.append(start)
            break
    if needles := _find_needles(text):
        begin = max(0, end - MAX_BLOCK_CHARS)
        lowered = lower_in_place(text[begin:end])
        for form, needle in needles:
            reach = (
                MAX_LINE_CHARS_of_contexts if form.back else MAX_BLOCK_CHARS if form.kind in _LONG_KINDS else _WINDOW
            )
            first = max(0, len(lowered) - len(needle) - reach)
            at = lowered.rfind(needle, first)
            for _ in range(_NEAREST):
                if at < 0:
                    break
                if (start := _open_at(text, lowered, form, needle, at, begin)) is not None:
                    found.append(start)
                at = lowered.rfind(needle, first, at)
    return min(found, default=None)


@lru_cache(maxsize=1)
def _find_needles(text: str) -> tuple[tuple[Form, str], ...]:
    """Return the forms whose needle occurs in a text. Cached, because one text is examined at several positions."""
    lowered = lower_in_place(text)
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
                if not form.back or _may_begin(form, needle, lowered, line, at):
                    found = form.pattern.search(text, line) if form.back else form.pattern.match(text, at)
                    if found is not None or _open_at(text, lowered, form, needle, at, 0) is not None:
                        return True
                at = lowered.find(needle, at + len(needle))
    return False


def open_rows(text: str, end: int) -> OpenRows | None:
    """Return the rows of a table, of comma-separated values or of an `INSERT` that may continue after `end`.

    The text after `end` may show that they do not.
    """
    begin = max(0, end - _ROW_WINDOW)
    if not _find_names(text) or not any(text.find(sign, begin, end) >= 0 for sign in "|,;\t"):
        return None
    for start, stop in _nearest_names(text, begin, end, _MOST_TITLES):
        if (rows := _open_rows_of(text, text[start:stop], start, stop, end)) is not None:
            return rows
    return None


@cache
def make_partial_pattern(pattern: LazyRegex | re.Pattern[str]) -> re.Pattern[str]:
    """Return an expression for the prefixes of what a pattern matches."""
    return compile_partial(pattern.pattern, pattern.flags)


def _nearest_names(text: str, begin: int, end: int, most: int) -> list[tuple[int, int]]:
    """Return the spans of the last names of secrets between two positions."""
    return [span for span in _find_names(text) if begin <= span[0] and span[1] <= end][-most:]


@lru_cache(maxsize=1)
def _find_names(text: str) -> tuple[tuple[int, int], ...]:
    """Return the spans of the names of secrets in a text. Cached, because one text is examined at several positions."""
    lowered = lower_in_place(text)
    found: dict[int, int] = {}
    for at, word in sorted(find_name_places(lowered)):
        if is_begun(lowered, at, word):
            name, start = find_name(text, at)
            if is_secret_name(name) or is_secret_name(name.rstrip("sS")):
                found[start] = at + 3 if " " in name else start + len(name)
    return tuple(found.items())


@cache
def _list_leads(pattern: LazyRegex | re.Pattern[str], size: int) -> tuple[str, ...]:
    """Return the possible beginnings, of the given size, of a form whose needle is further in."""
    return tuple({lead[:size] for lead in list_leads(pattern.pattern, pattern.flags)})


def _may_begin(form: Form, needle: str, lowered: str, line: int, at: int) -> bool:
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


def _open_at(text: str, lowered: str, form: Form, needle: str, at: int, begin: int) -> int | None:
    """Return where a form begins if it is incomplete at the end of the text; None otherwise.

    Args:
        lowered: the text from `begin` to the end in lower case.
        at: position of the form's needle in it.
    """
    place, end = begin + at, begin + len(lowered)
    if not form.back:
        return place if make_partial_pattern(form.pattern).match(text, place, end) else None
    line = max(begin, place - form.back, text.rfind("\n", max(0, place - form.back), place) + 1)
    if not _may_begin(form, needle, lowered, line - begin, at):
        return None
    begun = make_partial_pattern(form.pattern)
    if place - line <= _FEW_PLACES:
        return next((start for start in range(line, place + 1) if begun.match(text, start, end)), None)
    match = begun.search(text, line, end)
    return match.start() if match and match.start() <= place else None


def _open_rows_of(text: str, name: str, start: int, end: int, limit: int) -> OpenRows | None:
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
    opened = text.rfind("(", max(line, start - 600), start)
    return opened >= 0 and "nto" in text[line:opened].lower()
