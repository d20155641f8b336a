"""Find a quoted block in a text exactly or nearly, and adapt the new text to what was found."""

import re
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher

from msgspec import Struct, structs

from clio.tools.files.text_file import NEWLINE, get_ending, get_indent, split_lines, strip_ending

IndentPair = tuple[str, str]
"""Indentation of one line in the search text, and in the file."""

_TAB_WIDTHS = (4, 8, 2, 3)


class IndentShift(Struct, frozen=True, kw_only=True):
    """How indentation differs between search text and file, learned from the matching lines."""

    pairs: tuple[IndentPair, ...]
    tab_width: int

    def apply(self, line: str) -> str:
        """Return a line of the replacement with the file's indentation. Blank lines are unchanged."""
        have = get_indent(line)
        if not strip_ending(line)[len(have) :]:
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


def find_uniform_shift(pairs: Sequence[IndentPair]) -> IndentShift | None:
    """Return the shift if every line moved by the same number of columns at some tab width; otherwise None."""
    if _constant_prefix(pairs) is not None:
        return IndentShift(pairs=tuple(pairs), tab_width=_TAB_WIDTHS[0])
    for width in _TAB_WIDTHS:
        if len({_columns(found, width) - _columns(searched, width) for searched, found in pairs}) == 1:
            return IndentShift(pairs=tuple(pairs), tab_width=width)
    return None


def guess_shift(pairs: Sequence[IndentPair]) -> IndentShift:
    """Return a shift for lines moved by different amounts; each further line moves like the nearest known one."""
    return find_uniform_shift(pairs) or IndentShift(pairs=tuple(pairs), tab_width=_TAB_WIDTHS[0])


def pair_indents(searched: Sequence[str], found: Sequence[str]) -> list[IndentPair]:
    """Return the indentations of two blocks with the same number of lines, without blank lines."""
    return [
        (get_indent(ours), get_indent(theirs))
        for ours, theirs in zip(searched, found, strict=True)
        if ours.strip() and theirs.strip()
    ]


def _constant_prefix(pairs: Sequence[IndentPair]) -> str | None:
    searched, found = pairs[0]
    if not found.endswith(searched):
        return None
    prefix = found[: len(found) - len(searched)]
    return prefix if all(there == prefix + here for here, there in pairs) else None


def _columns(text: str, tab_width: int) -> int:
    return sum(tab_width if char == "\t" else 1 for char in text)


_BREAK = r"[ \t]*(?:\r\n?|\n)"
_NUMBERED = re.compile(r" *(\d{1,9})( ?\||→|\t|: |:(?=[\r\n]*\Z))(.*)", re.DOTALL)

_TYPOGRAPHIC_VARIANTS: dict[str, str] = {
    "'": "‘’‚‛′",
    '"': "“”„‟″",
    "-": "‐‑‒–—―−",
    " ": "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000",
}
_INVALID_BYTES = range(0xDC80, 0xDD00)
"""Code points that stand for bytes invalid in UTF-8 in decoded text; the model sees U+FFFD for each."""
_FOLD = {ord(char): plain for plain, chars in _TYPOGRAPHIC_VARIANTS.items() for char in chars} | dict.fromkeys(
    _INVALID_BYTES, "\ufffd"
)


class TextMatch(Struct, frozen=True, kw_only=True):
    """One place in a text.

    by_line: it has as many lines as the search text, so lines correspond one to one.
    """

    start: int
    end: int
    shift: IndentShift | None = None
    by_line: bool = True


def fold_typography(text: str) -> str:
    """Return the text with typographic quotes, dashes and spaces replaced by plain ones, character for character."""
    return text if text.isascii() else text.translate(_FOLD)


class LineNumbers(Struct, frozen=True, kw_only=True):
    """Line numbers found before lines: that of the first line, and the separator between number and line.

    is_complete: every line that is not blank has one.
    """

    first: int
    separator: str
    is_complete: bool = True


def find_line_numbers(text: str) -> LineNumbers | None:
    """Return the line numbers before the lines of a text; None if there are none or they do not count up.

    Some lines may have none, as blank lines in a quotation often do.
    """
    found: LineNumbers | None = None
    lacking = False
    for at, line in enumerate(split_lines(text)):
        match = _NUMBERED.fullmatch(line)
        if match is None:
            lacking = lacking or bool(line.strip())
            continue
        here = LineNumbers(first=int(match[1]) - at, separator=match[2].strip(" "))
        if found is not None and here != found:
            return None
        found = here
    return found and structs.replace(found, is_complete=not lacking)


def strip_line_numbers(text: str, numbers: LineNumbers | None = None, *, near: int = 0) -> str | None:
    """Return the text without its line numbers, or without `numbers`; None if it has none of its own.

    near: how far a line may be from the place its number states.
    """
    numbers = numbers or find_line_numbers(text)
    if numbers is None:
        return None
    bodies: list[str] = []
    for at, line in enumerate(split_lines(text)):
        match = _NUMBERED.fullmatch(line)
        counted = match is not None and abs(int(match[1]) - numbers.first - at) <= near
        bodies.append(match[3] if match and counted and match[2].strip(" ") == numbers.separator else line)
    return "".join(bodies)


def find_exact(text: str, old: str) -> list[TextMatch]:
    """Return every occurrence, also overlapping ones; one that would split a CRLF is extended over it."""
    found: list[TextMatch] = []
    at = text.find(old)
    while at >= 0:
        start, end = at, at + len(old)
        if text[start] == "\n" and text[start - 1 : start] == "\r":
            start -= 1
        if text[end - 1] == "\r" and text[end : end + 1] == "\n":
            end += 1
        found.append(TextMatch(start=start, end=end))
        at = text.find(old, at + 1)
    return found


def find_ignoring_endings(text: str, old: str) -> list[TextMatch]:
    """Return places that differ only in line endings and trailing white space. `old` has newlines only."""
    if not old.strip():
        return []
    lines = [line.rstrip(" \t") for line in old.split("\n")]
    if not lines[-1]:
        lines[-1] = old[old.rfind("\n") + 1 :]  # white space at the start of a line is its indentation
    pattern = _BREAK.join(map(re.escape, lines))
    if not lines[-1]:
        pattern = pattern.removesuffix(_BREAK) + r"[ \t]*(?:\r\n?|\n|\Z)"
    elif not old.endswith(lines[-1]):
        pattern += r"[ \t]*(?=[\r\n]|\Z)"
    return [TextMatch(start=start, end=end) for start, end in _find_all_matches(re.compile(pattern), text)]


def find_reindented(text: str, old: str) -> list[TextMatch]:
    """Return whole lines that are equal except for indentation shifted by the same amount in each."""
    return list(_find_blocks(text, old, str.strip, find_uniform_shift))


def find_ignoring_whitespace(text: str, old: str) -> list[TextMatch]:
    """Return places with the same words, whatever the white space and line breaks between them."""
    return list(_find_blocks(text, old, _collapse, guess_shift)) or _find_words(text, old)


def _find_blocks(
    text: str, old: str, key: Callable[[str], str], shift: Callable[[list[tuple[str, str]]], IndentShift | None]
) -> Iterator[TextMatch]:
    searched = split_lines(old)
    keys = [key(line) for line in searched]
    anchors = [number for number, line_key in enumerate(keys) if line_key]
    if not anchors:
        return
    lines = split_lines(text)
    file_keys = [key(line) for line in lines]
    line_numbers: dict[str, list[int]] = {keys[number]: [] for number in anchors}
    for number, line_key in enumerate(file_keys):
        if line_key in line_numbers:
            line_numbers[line_key].append(number)
    anchor = min(anchors, key=lambda number: len(line_numbers[keys[number]]))
    offsets = _offsets(lines)
    for line_number in line_numbers[keys[anchor]]:
        first, last = line_number - anchor, line_number - anchor + len(keys)
        if first < 0 or file_keys[first:last] != keys:
            continue
        indent_shift = shift(pair_indents(searched, lines[first:last]))
        if indent_shift is not None:
            keeps_ending = not old.endswith("\n")
            end = offsets[last] - (_ending_length(lines[last - 1]) if keeps_ending else 0)
            yield TextMatch(start=offsets[first], end=end, shift=indent_shift)


def _find_words(text: str, old: str) -> list[TextMatch]:
    words = old.split()
    if len(words) < 2:
        return []
    pattern = re.compile(r"(?<!\S)" + r"\s+".join(map(re.escape, words)) + r"(?!\S)")
    return [TextMatch(start=start, end=end, by_line=False) for start, end in _find_all_matches(pattern, text)]


def _find_all_matches(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    """Yield every match, also overlapping ones; of those with the same end, the first."""
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
    """Return where each line begins, followed by the length of the text."""
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line))
    return offsets


def _ending_length(line: str) -> int:
    return len(line) - len(line.rstrip("\r\n"))


_OPENS = (":", "{", "(", "[", "=", "=>", "->", "\\")
_MAX_PAIRS = 4_000_000
"""Maximum product of searched and replacement lines; above it, only equal lines at both ends stay unchanged."""


def merge_replacement(text: str, match: TextMatch, old: str, new: str) -> str:
    """Return what to put at the match. `old` and `new` have newlines only.

    Lines common to `old` and `new` were not meant to change: they stay as in the file, byte for byte.
    """
    new = _indent_like_first_line(text, match, old, new)
    if not match.by_line:
        return _adapt_reflowed(text, match, old, new)
    if "\n" not in new and text[match.start : match.end] == old and "\n" not in old:
        return new  # fast path for a word in many places
    ours, searched, replacement_lines = split_lines(text[match.start : match.end]), split_lines(old), split_lines(new)
    local = _find_local_ending(text, match)
    lacks_ending = bool(ours) and old.endswith("\n") and not get_ending(ours[-1])
    if lacks_ending:  # the file's last line has no ending although the search text has one
        ours[-1] += local
    if len(ours) != len(searched):  # lines do not correspond one to one
        return NEWLINE.sub(local, new)
    pieces: list[str] = []
    for tag, i1, i2, j1, j2 in _compare_lines(searched, replacement_lines):
        if tag == "equal":
            pieces += ours[i1:i2]
            continue
        same_count = i2 - i1 == j2 - j1
        for number in range(j1, j2):
            line_index = i1 + number - j1
            sample = get_ending(ours[line_index]) if line_index < i2 else ""
            line = replacement_lines[number]
            if same_count:
                line = _keep_characters(ours[line_index], searched[line_index], line)
            line = match.shift.apply(line) if match.shift and line == replacement_lines[number] else line
            pieces.append(strip_ending(line) + (sample or local if line.endswith("\n") else ""))
    result = "".join(pieces)
    return result.removesuffix(local) if lacks_ending else result


def _indent_like_first_line(text: str, match: TextMatch, old: str, new: str) -> str:
    """Return the replacement of one line searched without indentation, with further lines indented like it.

    Lines that are indented already stay: each at least as deep as the line in the file, the second deeper if the first
    opens a block.
    """
    if "\n" not in new.rstrip("\n") or "\n" in old.rstrip("\n") or old[:1].isspace() or new[:1].isspace():
        return new
    line_start = max(text.rfind("\n", 0, match.start), text.rfind("\r", 0, match.start)) + 1
    before = text[line_start : match.start]
    if not before or before.strip(" \t"):
        return new
    first, *others = split_lines(new)
    depths = [len(get_indent(line).expandtabs(4)) for line in others if line.strip()]
    least = len(before.expandtabs(4)) + strip_ending(first).rstrip().endswith(_OPENS)
    if depths and depths[0] >= least and min(depths) >= len(before.expandtabs(4)):
        return new
    shift = guess_shift([("", before)])
    return first + "".join(map(shift.apply, others))


def _compare_lines(searched: list[str], replacement: list[str]) -> list[tuple[str, int, int, int, int]]:
    """Return opcodes like difflib's, cheap for large blocks with equal ends."""
    limit = min(len(searched), len(replacement))
    head = 0
    while head < limit and searched[head] == replacement[head]:
        head += 1
    tail = 0
    while tail < limit - head and searched[-1 - tail] == replacement[-1 - tail]:
        tail += 1
    left, right = searched[head : len(searched) - tail], replacement[head : len(replacement) - tail]
    middle: list[tuple[str, int, int, int, int]] = []
    if left or right:
        middle = [("replace", 0, len(left), 0, len(right))]
        if len(left) * len(right) <= _MAX_PAIRS:
            middle = list(SequenceMatcher(None, left, right, autojunk=False).get_opcodes())
    return [
        ("equal", 0, head, 0, head),
        *((tag, i1 + head, i2 + head, j1 + head, j2 + head) for tag, i1, i2, j1, j2 in middle),
        ("equal", len(searched) - tail, len(searched), len(replacement) - tail, len(replacement)),
    ]


def _keep_characters(ours: str, searched: str, wanted: str) -> str:
    """Return the wanted line with the file's typographic characters where the search text has their plain variants."""
    file_line, searched_line = strip_ending(ours), strip_ending(searched)
    if (
        file_line == searched_line
        or len(file_line) != len(searched_line)
        or fold_typography(file_line) != fold_typography(searched_line)
    ):
        return wanted
    new_line = strip_ending(wanted)
    pieces: list[str] = []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, searched_line, new_line, autojunk=False).get_opcodes():
        pieces.append(file_line[i1:i2] if tag == "equal" else new_line[j1:j2])
    return "".join(pieces) + wanted[len(new_line) :]


def _adapt_reflowed(text: str, match: TextMatch, old: str, new: str) -> str:
    """Return the replacement of a place with other line breaks than the search text: shifted like its first line."""
    core = new
    if old[:1].isspace():
        core = core.lstrip()
    if old[-1:].isspace():
        core = core.rstrip()
    line_start = max(text.rfind("\n", 0, match.start), text.rfind("\r", 0, match.start)) + 1
    before = text[line_start : match.start]
    if before.strip():
        return NEWLINE.sub(_find_local_ending(text, match), core)
    shift = guess_shift([(get_indent(old.lstrip("\n")), before)])
    first, *others = split_lines(core) or [""]
    return NEWLINE.sub(_find_local_ending(text, match), first + "".join(shift.apply(line) for line in others))


def _find_local_ending(text: str, match: TextMatch) -> str:
    """Return the line ending used at a place: inside it, at the end of its line, or of the line before."""
    near = NEWLINE.search(text, match.start, match.end) or NEWLINE.search(text, match.end)
    if near:
        return near[0]
    at = text.rfind("\n", 0, match.start)
    return "\r\n" if at > 0 and text[at - 1] == "\r" else "\n"
