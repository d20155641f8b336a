"""Finds a remembered block in a text, exactly or nearly, and fits the new text to what was found."""

import re
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher

from msgspec import Struct, structs

from clio.tools.files.text_file import NEWLINE, body, ending, indent, split_lines

Pair = tuple[str, str]
"""The indentation of one line as it was searched and as it stands in the file."""

_TAB_WIDTHS = (4, 8, 2, 3)


class Shift(Struct, frozen=True, kw_only=True):
    """What was learned from lines whose indentation is known on both sides."""

    pairs: tuple[Pair, ...]
    tab_width: int

    def apply(self, line: str) -> str:
        """A line of the replacement, indented as the file would have it. Blank lines stay as they are."""
        have = indent(line)
        if not body(line)[len(have) :]:
            return line
        return self._indent(have) + line[len(have) :]

    def _indent(self, have: str) -> str:
        for searched, found in self.pairs:
            if searched == have:
                return found
        prefix = _constant_prefix(self.pairs)
        if prefix is not None:
            return prefix + have
        nearest, found = min(self.pairs, key=lambda pair: abs(self._columns(pair[0]) - self._columns(have)))
        columns = max(0, self._columns(found) + self._columns(have) - self._columns(nearest))
        if any("\t" in there for _, there in self.pairs):
            return "\t" * (columns // self.tab_width) + " " * (columns % self.tab_width)
        if any(there for _, there in self.pairs) or "\t" not in have:
            return " " * columns
        return have[: columns // self.tab_width]

    def _columns(self, text: str) -> int:
        return _columns(text, self.tab_width)


def uniform_shift(pairs: Sequence[Pair]) -> Shift | None:
    """The shift, where every line moved by the same number of columns at some width of a tab; else None."""
    if _constant_prefix(pairs) is not None:
        return Shift(pairs=tuple(pairs), tab_width=_TAB_WIDTHS[0])
    for width in _TAB_WIDTHS:
        if len({_columns(found, width) - _columns(searched, width) for searched, found in pairs}) == 1:
            return Shift(pairs=tuple(pairs), tab_width=width)
    return None


def any_shift(pairs: Sequence[Pair]) -> Shift:
    """The best guess where the lines moved by different amounts: each like the known line nearest to it."""
    return uniform_shift(pairs) or Shift(pairs=tuple(pairs), tab_width=_TAB_WIDTHS[0])


def indent_pairs(searched: Sequence[str], found: Sequence[str]) -> list[Pair]:
    """The indentations of two blocks of equally many lines, blank lines left out."""
    return [
        (indent(ours), indent(theirs))
        for ours, theirs in zip(searched, found, strict=True)
        if ours.strip() and theirs.strip()
    ]


def _constant_prefix(pairs: Sequence[Pair]) -> str | None:
    searched, found = pairs[0]
    if not found.endswith(searched):
        return None
    prefix = found[: len(found) - len(searched)]
    return prefix if all(there == prefix + here for here, there in pairs) else None


def _columns(text: str, tab_width: int) -> int:
    return sum(tab_width if char == "\t" else 1 for char in text)


_BREAK = r"[ \t]*(?:\r\n?|\n)"
_NUMBERED = re.compile(r" *(\d{1,9})( ?\||→|\t|: |:(?=[\r\n]*\Z))(.*)", re.DOTALL)

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


_OPENS = (":", "{", "(", "[", "=", "=>", "->", "\\")
_MAX_PAIRS = 4_000_000
"""Lines searched × lines of the replacement; beyond it only the ends that are equal are kept."""


def merged(text: str, match: Match, old: str, new: str) -> str:
    """What to put at the match. `old` and `new` have newlines only.

    Lines that `old` and `new` share are not the model's business: they stay as the file has them, byte for byte.
    """
    new = _indented_like_first(text, match, old, new)
    if not match.by_line:
        return _reflowed(text, match, old, new)
    if "\n" not in new and text[match.start : match.end] == old and "\n" not in old:
        return new  # a word in many places must not cost a comparison of lines in each
    ours, searched, wanted = split_lines(text[match.start : match.end]), split_lines(old), split_lines(new)
    local = _local_ending(text, match)
    bare_end = bool(ours) and old.endswith("\n") and not ending(ours[-1])
    if bare_end:  # the file's last line, which has no ending although the search has one
        ours[-1] += local
    if len(ours) != len(searched):  # the lines have no counterparts
        return NEWLINE.sub(local, new)
    pieces: list[str] = []
    for tag, i1, i2, j1, j2 in _opcodes(searched, wanted):
        if tag == "equal":
            pieces += ours[i1:i2]
            continue
        alike = i2 - i1 == j2 - j1
        for number in range(j1, j2):
            there = i1 + number - j1
            sample = ending(ours[there]) if there < i2 else ""
            line = wanted[number]
            if alike:
                line = _keep_characters(ours[there], searched[there], line)
            line = match.shift.apply(line) if match.shift and line == wanted[number] else line
            pieces.append(body(line) + (sample or local if line.endswith("\n") else ""))
    result = "".join(pieces)
    return result.removesuffix(local) if bare_end else result


def _indented_like_first(text: str, match: Match, old: str, new: str) -> str:
    """The replacement of one line that was searched without its indentation, the further lines indented as it is.

    They stay where they already are: each at least as deep as the line in the file, and the second one deeper where
    the first opens a block.
    """
    if "\n" not in new.rstrip("\n") or "\n" in old.rstrip("\n") or old[:1].isspace() or new[:1].isspace():
        return new
    line_start = max(text.rfind("\n", 0, match.start), text.rfind("\r", 0, match.start)) + 1
    before = text[line_start : match.start]
    if not before or before.strip(" \t"):
        return new
    first, *others = split_lines(new)
    depths = [len(indent(line).expandtabs(4)) for line in others if line.strip()]
    least = len(before.expandtabs(4)) + body(first).rstrip().endswith(_OPENS)
    if depths and depths[0] >= least and min(depths) >= len(before.expandtabs(4)):
        return new
    shift = any_shift([("", before)])
    return first + "".join(map(shift.apply, others))


def _opcodes(searched: list[str], wanted: list[str]) -> list[tuple[str, int, int, int, int]]:
    """As difflib's, cheap for large blocks with equal ends."""
    limit = min(len(searched), len(wanted))
    head = 0
    while head < limit and searched[head] == wanted[head]:
        head += 1
    tail = 0
    while tail < limit - head and searched[-1 - tail] == wanted[-1 - tail]:
        tail += 1
    left, right = searched[head : len(searched) - tail], wanted[head : len(wanted) - tail]
    middle: list[tuple[str, int, int, int, int]] = []
    if left or right:
        middle = [("replace", 0, len(left), 0, len(right))]
        if len(left) * len(right) <= _MAX_PAIRS:
            middle = list(SequenceMatcher(None, left, right, autojunk=False).get_opcodes())
    return [
        ("equal", 0, head, 0, head),
        *((tag, i1 + head, i2 + head, j1 + head, j2 + head) for tag, i1, i2, j1, j2 in middle),
        ("equal", len(searched) - tail, len(searched), len(wanted) - tail, len(wanted)),
    ]


def _keep_characters(ours: str, searched: str, wanted: str) -> str:
    """The wanted line with the file's typographic characters where the searched line had their plain twins."""
    mine, theirs = body(ours), body(searched)
    if mine == theirs or len(mine) != len(theirs) or fold(mine) != fold(theirs):
        return wanted
    goal = body(wanted)
    pieces: list[str] = []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, theirs, goal, autojunk=False).get_opcodes():
        pieces.append(mine[i1:i2] if tag == "equal" else goal[j1:j2])
    return "".join(pieces) + wanted[len(goal) :]


def _reflowed(text: str, match: Match, old: str, new: str) -> str:
    """The replacement of a place whose lines break elsewhere than the search's: shifted like its first line."""
    core = new
    if old[:1].isspace():
        core = core.lstrip()
    if old[-1:].isspace():
        core = core.rstrip()
    line_start = max(text.rfind("\n", 0, match.start), text.rfind("\r", 0, match.start)) + 1
    before = text[line_start : match.start]
    if before.strip():
        return NEWLINE.sub(_local_ending(text, match), core)
    shift = any_shift([(indent(old.lstrip("\n")), before)])
    first, *others = split_lines(core) or [""]
    return NEWLINE.sub(_local_ending(text, match), first + "".join(shift.apply(line) for line in others))


def _local_ending(text: str, match: Match) -> str:
    """The line ending in use at a place: inside it, else at the end of its line, else of the line before."""
    near = NEWLINE.search(text, match.start, match.end) or NEWLINE.search(text, match.end)
    if near:
        return near[0]
    at = text.rfind("\n", 0, match.start)
    return "\r\n" if at > 0 and text[at - 1] == "\r" else "\n"
