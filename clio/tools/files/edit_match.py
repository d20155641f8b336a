"""Finding a block in a text, exactly or nearly: every finder gives all the places, in order."""

import re
from collections.abc import Callable, Iterator

from msgspec import Struct, structs

from clio.algorithms.late_pattern import LatePattern
from clio.tools.files.edit_indent import Shift, any_shift, indent_pairs, uniform_shift
from clio.tools.files.text_lines import split_lines

_BREAK = r"[ \t]*(?:\r\n?|\n)"
_NUMBERED = LatePattern(r" *(\d{1,9})( ?\||→|\t|: |:(?=[\r\n]*\Z))(.*)", re.DOTALL)

_SAME: dict[str, str] = {
    "'": "‘’‚‛′",
    '"': "“”„‟″",
    "-": "‐‑‒–—―−",
    " ": "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000",
}
_INVALID = range(0xDC80, 0xDD00)
"""Bytes invalid in UTF-8 as they stand in decoded text; the model is shown U+FFFD for each."""
_FOLD = {ord(char): plain for plain, chars in _SAME.items() for char in chars} | dict.fromkeys(_INVALID, "\ufffd")


class Match(Struct, frozen=True, kw_only=True):
    """One place in a text.

    by_line: the place has as many lines as the search, so that each line knows its counterpart.
    """

    start: int
    end: int
    shift: Shift | None = None
    by_line: bool = True


def fold(text: str) -> str:
    """The text with typographic quotes, dashes and spaces as plain ones, character for character."""
    return text if text.isascii() else text.translate(_FOLD)


class Numbers(Struct, frozen=True, kw_only=True):
    """The line numbers found before lines: the number the first line has, and what is between number and line.

    whole: every line that is not blank has one.
    """

    first: int
    separator: str
    whole: bool = True


def find_numbers(text: str) -> Numbers | None:
    """The numbers of read_file before lines of a text; None where no line has one, or they do not count up.

    Lines may lack theirs, as blank ones often do in a quotation.
    """
    found: Numbers | None = None
    lacking = False
    for at, line in enumerate(split_lines(text)):
        match = _NUMBERED.fullmatch(line)
        if match is None:
            lacking = lacking or bool(line.strip())
            continue
        here = Numbers(first=int(match[1]) - at, separator=match[2].strip(" "))
        if found is not None and here != found:
            return None
        found = here
    return found and structs.replace(found, whole=not lacking)


def without_numbers(text: str, numbers: Numbers | None = None, *, near: int = 0) -> str | None:
    """The text without its line numbers, or without these; None where it has none of its own.

    near: how far a line may be from the place its number names.
    """
    numbers = numbers or find_numbers(text)
    if numbers is None:
        return None
    bodies: list[str] = []
    for at, line in enumerate(split_lines(text)):
        match = _NUMBERED.fullmatch(line)
        counted = match is not None and abs(int(match[1]) - numbers.first - at) <= near
        bodies.append(match[3] if match and counted and match[2].strip(" ") == numbers.separator else line)
    return "".join(bodies)


def find_exact(text: str, old: str) -> list[Match]:
    """Every occurrence, overlapping ones too; one that would tear a CRLF apart takes all of it."""
    found: list[Match] = []
    at = text.find(old)
    while at >= 0:
        start, end = at, at + len(old)
        if text[start] == "\n" and text[start - 1 : start] == "\r":
            start -= 1
        if text[end - 1] == "\r" and text[end : end + 1] == "\n":
            end += 1
        found.append(Match(start=start, end=end))
        at = text.find(old, at + 1)
    return found


def find_any_ending(text: str, old: str) -> list[Match]:
    """Places that differ in line endings and in blanks at the ends of lines only. `old` has newlines only."""
    if not old.strip():
        return []
    lines = [line.rstrip(" \t") for line in old.split("\n")]
    if not lines[-1]:
        lines[-1] = old[old.rfind("\n") + 1 :]  # blanks that begin a line are its indentation
    pattern = _BREAK.join(map(re.escape, lines))
    if not lines[-1]:
        pattern = pattern.removesuffix(_BREAK) + r"[ \t]*(?:\r\n?|\n|\Z)"
    elif not old.endswith(lines[-1]):
        pattern += r"[ \t]*(?=[\r\n]|\Z)"
    return [Match(start=start, end=end) for start, end in _all(re.compile(pattern), text)]


def find_shifted(text: str, old: str) -> list[Match]:
    """Whole lines that are the same but for an indentation shifted by the same amount in each."""
    return list(_windows(text, old, str.strip, uniform_shift))


def find_loose(text: str, old: str) -> list[Match]:
    """Places with the same words, whatever the white space between them and wherever lines break."""
    return list(_windows(text, old, _collapse, any_shift)) or _find_words(text, old)


def _windows(
    text: str, old: str, key: Callable[[str], str], shift: Callable[[list[tuple[str, str]]], Shift | None]
) -> Iterator[Match]:
    searched = split_lines(old)
    keys = [key(line) for line in searched]
    anchors = [number for number, line_key in enumerate(keys) if line_key]
    if not anchors:
        return
    lines = split_lines(text)
    file_keys = [key(line) for line in lines]
    places: dict[str, list[int]] = {keys[number]: [] for number in anchors}
    for number, line_key in enumerate(file_keys):
        if line_key in places:
            places[line_key].append(number)
    anchor = min(anchors, key=lambda number: len(places[keys[number]]))
    offsets = _offsets(lines)
    for place in places[keys[anchor]]:
        first, last = place - anchor, place - anchor + len(keys)
        if first < 0 or file_keys[first:last] != keys:
            continue
        moved = shift(indent_pairs(searched, lines[first:last]))
        if moved is not None:
            keeps_ending = not old.endswith("\n")
            end = offsets[last] - (_ending_length(lines[last - 1]) if keeps_ending else 0)
            yield Match(start=offsets[first], end=end, shift=moved)


def _find_words(text: str, old: str) -> list[Match]:
    words = old.split()
    if len(words) < 2:
        return []
    pattern = re.compile(r"(?<!\S)" + r"\s+".join(map(re.escape, words)) + r"(?!\S)")
    return [Match(start=start, end=end, by_line=False) for start, end in _all(pattern, text)]


def _all(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    """Every match, overlapping ones too; of those that end at one place, the first."""
    ends: set[int] = set()
    match = pattern.search(text)
    while match:
        if match.end() not in ends:
            ends.add(match.end())
            yield match.span()
        match = pattern.search(text, match.start() + 1)


def _collapse(line: str) -> str:
    return " ".join(line.split())


def _offsets(lines: list[str]) -> list[int]:
    """Where each line begins, and after them the length of the whole."""
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line))
    return offsets


def _ending_length(line: str) -> int:
    return len(line) - len(line.rstrip("\r\n"))
