"""Find where an edit applies, and tell the model what to do if it applies nowhere or in several places."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal

from msgspec import Struct

from clio.tools.files.text_file import (
    MARKS_LEGEND,
    cut_line,
    get_indent,
    get_line_number,
    mark_whitespace,
    normalize_newlines,
    number_lines,
    split_lines,
    strip_ending,
    unmark_whitespace,
)
from clio.tools.files.text_match import (
    TextMatch,
    find_exact,
    find_ignoring_endings,
    find_ignoring_whitespace,
    find_line_numbers,
    find_reindented,
    fold_typography,
    merge_replacement,
    strip_line_numbers,
)

_MAX_SHOWN_LINES = 60
_MAX_SHOWN_CHARS = 6_000
_MAX_LISTED_MATCHES = 10
_MAX_BLOCKS = 6
_MAX_LINES_COMPARED = 20_000
_MAX_LINE_CHARS = 1_000
_MARGIN_CHARS = 60
"""Characters shown on both sides of a part of a long line."""
_MAX_COMPARED_LINE_CHARS = 200
_MAX_SURROUNDING_LINES = 24
"""Maximum number of surrounding lines added to make a block unique."""
_EXTRA_LINES = 3
_ELLIPSIS_EXTRA_LINES = 400
_MIN_LINE_SIMILARITY = 0.5
"""Share of three-letter sequences that two lines must have in common to be called close."""
MIN_CLOSE_SIMILARITY = 0.6
"""Minimum similarity of a block and the closest lines at which clio assumes that the model meant these lines."""
_ELLIPSIS = re.compile(
    r"\s*(?://|#|--|/\*|<!--|;|\*)?\s*[\[({]?\s*(?:\.{3}|…).{0,60}|.{0,40}(?:\.{3}|…)\s*(?:\*/|-->)?\s*"
)
_DEFINITION = re.compile(
    r"[ \t]*(?:(?:export|default|pub(?:\([^)]*\))?|async|static|abstract|public|private|protected|final|unsafe)[ \t]+)*"
    r"(def|class|function|fn|func|struct|enum|trait|interface|module|namespace)\b"
    r"[ \t*]*(?:\([^)]*\)[ \t]*)?([A-Za-z_$][\w$]*)"
)


class NearestLines(Struct, frozen=True, kw_only=True):
    """Lines `start` to `end` of a text, the ones most like a block; `similarity` is 0.0 to 1.0."""

    start: int
    end: int
    similarity: float


def describe_matches(text: str, found: Sequence[TextMatch], how: str, first_line: int) -> str:
    """Return the message for a search text found in several places, with a unique block of lines for each."""
    numbers = [get_line_number(text, match.start) + first_line - 1 for match in found[:_MAX_LISTED_MATCHES]]
    listed = ", ".join(map(str, numbers)) + (", …" if len(found) > _MAX_LISTED_MATCHES else "")
    lines = split_lines(text)
    bodies = [strip_ending(line) for line in lines]
    joined = "\n".join(bodies)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    blocks: list[str] = []
    for match, number in zip(found[:_MAX_BLOCKS], numbers, strict=False):
        first = _find_line_index(starts, match.start)
        last = max(first, _find_line_index(starts, max(match.start, match.end - 1)))
        unique = _find_unique_block(bodies, joined, first, last + 1)
        if unique is not None:
            rows = _render_rows(bodies, unique[0], unique[1], first_line)
            blocks.append(f"the one on line {number}:\n" + "\n".join(rows))
    message = (
        f"the text to find occurs in {len(found):,} places{how}, on lines {listed}; "
        "add lines around it until only one is meant, or replace all of them"
    )
    if not blocks:
        return message + "; no surrounding lines tell them apart, so replace a larger part or write the whole file"
    return message + ". Each of these blocks occurs once, copy the one you mean:\n" + "\n".join(blocks)


def describe_nearest_lines(text: str, variants: Sequence[str], new: str, first_line: int) -> tuple[str, float]:
    """Return the message for a search text that was not found, and the similarity of the closest lines.

    Args:
        variants: the search text as given, then other readings of it; all with "\\n" line endings.
    """
    lines = split_lines(text)
    near, old = _choose_variant(lines, variants)
    escaped = (
        r"; your text has \n as two characters where line breaks are meant" if _is_unescaped(variants[0], old) else ""
    )
    already_applied = _describe_already_applied(text, new, variants, first_line)
    if near is None:
        if not text.strip():
            return "the text to find is not there: the file is empty", 0.0
        return (
            f"the text to find is not there, nor anything like it{escaped}{already_applied}"
            + _describe_first_line_matches(lines, old, first_line),
            0.0,
        )
    searched = split_lines(old)
    bodies = [strip_ending(line) for line in lines]
    if near.end - near.start == 1 and len(bodies[near.start]) > _MAX_LINE_CHARS:
        return _describe_long_line(bodies[near.start], old, near.start + first_line), near.similarity
    window = _find_unique_block(bodies, "\n".join(bodies), near.start, near.end) or (near.start, near.end)
    rows = _render_rows(bodies, window[0], window[1], first_line)
    shown = len(rows)
    head = (
        f"lines {window[0] + first_line}-{window[0] + first_line + shown - 1}"
        if shown > 1
        else f"line {window[0] + first_line}"
    )
    more = (
        f" (the first {shown} of {window[1] - window[0]}; edit a part of them)" if shown < window[1] - window[0] else ""
    )
    verb = "are" if shown > 1 else "is"
    message = (
        f"the text to find is not there{escaped}{already_applied}; {head} {verb} the closest, copy from here{more}:\n"
    )
    message += "\n".join(rows)
    message += _describe_first_difference(lines, searched, near, first_line)
    message += _describe_moved_definitions(lines, searched, window, first_line)
    return message, near.similarity


def _describe_long_line(line: str, old: str, number: int) -> str:
    """Return the message if the closest line is too long to show: the part of it most like the search text."""
    match = SequenceMatcher(None, line, old, autojunk=False).find_longest_match()
    start = max(0, match.a - match.b - _MARGIN_CHARS)
    part = line[start : start + len(old) + 2 * _MARGIN_CHARS]
    return (
        f"the text to find is not there; a part of line {number}, which has {len(line):,} characters, is the closest, "
        f"copy from here without the number:\n{number}|{part}"
    )


def list_definitions(lines: Sequence[str]) -> list[tuple[str, str]]:
    """Return kind and name of what the lines define: ("def", "area"), ("class", "Shape")."""
    found = [match.group(1, 2) for line in lines if (match := _DEFINITION.match(line))]
    return list(dict.fromkeys((str(kind), str(name)) for kind, name in found))


def find_definition(lines: Sequence[str], kind: str, name: str) -> list[int]:
    """Return the indexes of the lines that define this."""
    return [
        index
        for index, line in enumerate(lines)
        if (match := _DEFINITION.match(line)) and match.group(1, 2) == (kind, name)
    ]


def normalize_line(line: str) -> str:
    """Return a line with white space and typography normalized, which tolerant matching ignores."""
    return " ".join(fold_typography(line).split())


def _find_line_index(starts: list[int], offset: int) -> int:
    from bisect import bisect_right

    return max(0, min(bisect_right(starts, offset) - 1, len(starts) - 2))


def _render_rows(bodies: Sequence[str], start: int, end: int, first_line: int) -> list[str]:
    """Return lines as read_file shows them, as many as fit."""
    end = min(end, start + _MAX_SHOWN_LINES)
    rows = number_lines(bodies[start:end], start + first_line, max_chars=_MAX_LINE_CHARS)
    used = 0
    for index, row in enumerate(rows):
        used += len(row) + 1
        if used > _MAX_SHOWN_CHARS and index:
            return rows[:index]
    return rows


def _find_unique_block(bodies: list[str], joined: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the block with as few surrounding lines as make it unique; None if that is impossible."""
    for added in range(_MAX_SURROUNDING_LINES + 1):
        for above in range(added, -1, -1):
            top, bottom = start - above, end + added - above
            if top < 0 or bottom > len(bodies):
                continue
            block = "\n".join(bodies[top:bottom])
            if block.strip() and joined.find(block, joined.find(block) + 1) < 0:
                return top, bottom
    return None


def _choose_variant(lines: list[str], variants: Sequence[str]) -> tuple[NearestLines | None, str]:
    best: tuple[NearestLines | None, str] = (None, variants[0])
    for old in variants:
        near = _find_closest(lines, split_lines(old))
        if near is not None and (best[0] is None or near.similarity > best[0].similarity + 0.01):
            best = near, old
    return best


def _is_unescaped(given: str, used: str) -> bool:
    return "\\n" in given and given.count("\n") < used.count("\n")


def _describe_already_applied(text: str, new: str, variants: Sequence[str], first_line: int) -> str:
    """Return a note if the replacement is already in the file."""
    plain = normalize_newlines(new)
    if len(plain.strip()) < 8 or any(plain.strip() in old for old in variants):
        return ""
    at = normalize_newlines(text).find(plain.strip("\n"))
    if at < 0:
        return ""
    where = normalize_newlines(text).count("\n", 0, at) + first_line
    return f"; the replacement is already there, on line {where}, so this edit may have been made before"


def _describe_first_line_matches(lines: list[str], old: str, first_line: int) -> str:
    """Return the lines that contain the first line of a text, or its beginning."""
    first_key = next((key for line in split_lines(old) if len(key := normalize_line(line)) > 2), "")
    line_indexes = [index for index, line in enumerate(lines) if first_key and first_key in normalize_line(line)][
        :_MAX_BLOCKS
    ]
    if line_indexes:
        rows = "\n".join(
            f"{index + first_line}|{cut_line(strip_ending(lines[index]), _MAX_LINE_CHARS)}" for index in line_indexes
        )
        return f"; these lines contain its first line:\n{rows}"
    return (
        f"; no line contains its first line. The file has {len(lines):,} lines; read it, then copy the lines to change"
    )


def _describe_first_difference(lines: list[str], searched: list[str], near: NearestLines, first_line: int) -> str:
    """Return both versions of the first line that differs: by more than white space, or else by white space."""
    theirs = lines[near.start : near.end]
    searched_keys, file_keys = [normalize_line(line) for line in searched], [normalize_line(line) for line in theirs]
    for tag, i1, _i2, j1, _j2 in SequenceMatcher(None, searched_keys, file_keys, autojunk=False).get_opcodes():
        where = near.start + j1 + first_line
        yours = searched[i1] if i1 < len(searched) else ""
        file = theirs[j1] if j1 < len(theirs) else None
        if tag == "equal":
            continue
        if tag == "insert":
            row = f"\nfirst difference: yours has no line {where}:\nfile  | {_shorten(file or '')}"
            return row + _explain_whitespace_marks(file or "")
        if _is_ellipsis(yours, lines):
            return (
                f'\nfirst difference: "{yours.strip()}" stands for lines of the file; quote those from line {where} on'
            )
        if file is None or tag == "delete":
            what = "the file ends before" if near.start + j1 >= len(lines) else "the file has no line like"
            return f"\nfirst difference: {what}: {_shorten(yours)}{_explain_whitespace_marks(yours)}"
        partial_line_note = ""
        if i1 == len(searched) - 1 and not yours.endswith("\n") and file_keys[j1].startswith(searched_keys[i1]):
            partial_line_note = f"\nyour text ends in the middle of line {where}: quote all of that line"
        elif i1 == 0 and file_keys[j1].endswith(searched_keys[i1]):
            partial_line_note = f"\nyour text begins in the middle of line {where}: quote all of that line"
        rows = f"\nfirst difference, line {where}:\nyours | {_shorten(yours)}\nfile  | {_shorten(file)}"
        return rows + partial_line_note + _explain_whitespace_marks(yours + file)
    for index, (searched_line, file) in enumerate(zip(searched, theirs, strict=False)):
        if strip_ending(searched_line).rstrip() != strip_ending(file).rstrip():
            where = near.start + index + first_line
            rows = f"\nfirst difference, line {where}:\nyours | {_shorten(searched_line)}\nfile  | {_shorten(file)}"
            return rows + _explain_whitespace_marks(searched_line + file)
    return ""


def _describe_moved_definitions(lines: list[str], searched: list[str], window: tuple[int, int], first_line: int) -> str:
    """Return where the file defines the functions and classes of the text, if not among the shown lines."""
    notes: list[str] = []
    for kind, name in list_definitions(searched)[:3]:
        line_indexes = find_definition(lines, kind, name)
        if line_indexes and not any(window[0] <= index < window[1] for index in line_indexes):
            index = line_indexes[0]
            number = index + first_line
            line = cut_line(strip_ending(lines[index]), _MAX_LINE_CHARS)
            notes.append(f"\n{kind} {name} is on line {number}:\n{number}|{line}")
    return "".join(notes)


def _is_ellipsis(line: str, lines: Sequence[str]) -> bool:
    return bool(_ELLIPSIS.fullmatch(strip_ending(line))) and normalize_line(line) not in map(normalize_line, lines)


def _find_closest(lines: list[str], searched: list[str]) -> NearestLines | None:
    """Return the lines most like a block; None if no line is similar.

    These are the lines with the most equal lines in order; without equal lines, those around the most similar line.
    """
    keys = [normalize_line(line) for line in lines[:_MAX_LINES_COMPARED]]
    searched_keys = [normalize_line(line) for line in searched]
    line_numbers: defaultdict[str, list[int]] = defaultdict(list)
    for number, key in enumerate(keys):
        line_numbers[key].append(number)
    votes: Counter[int] = Counter()
    for number, key in enumerate(searched_keys):
        for line_number in line_numbers.get(key, ())[:100] if key else ():
            votes[line_number - number] += 1000 // len(line_numbers[key]) + len(key)
    if not votes:
        block_start = _find_most_similar(keys, searched_keys)
        if block_start is None:
            return None
        start, end = max(0, block_start), min(len(lines), max(0, block_start) + len(searched))
        return NearestLines(
            start=start, end=max(end, start + 1), similarity=_compute_similarity(searched_keys, keys[start:end])
        )
    block_start = max(votes.items(), key=lambda vote: (vote[1], -vote[0]))[0]
    known = set(keys)
    ellipses = [
        at
        for at, line in enumerate(searched)
        if searched_keys[at] not in known and _ELLIPSIS.fullmatch(strip_ending(line))
    ]
    start, end, matched = _find_extent(
        keys, searched_keys, block_start, _ELLIPSIS_EXTRA_LINES if ellipses else _EXTRA_LINES + len(searched_keys) // 2
    )
    if ellipses and matched < ellipses[-1]:
        end = max(end, _find_block_end(lines, keys, start, searched_keys[-1]))
    return NearestLines(start=start, end=end, similarity=_compute_similarity(searched_keys, keys[start:end]))


def _find_block_end(lines: list[str], keys: list[str], start: int, last: str) -> int:
    """Return where the block that a line opens ends, including a closing line equal to `last`."""
    depth = len(get_indent(lines[start]).expandtabs(4))
    for index in range(start + 1, len(lines)):
        if keys[index : index + 1] != [""] and len(get_indent(lines[index]).expandtabs(4)) <= depth:
            closes = index < len(keys) and keys[index] == last
            return index + closes
    return len(lines)


def _find_extent(keys: list[str], searched_keys: list[str], block_start: int, extra: int) -> tuple[int, int, int]:
    """Return the range of lines that a block covers, and the index of the block's last line that is present in it.

    Most lines of the block are in the file if it is aligned with line `at`. Lines may be missing or added on both
    sides, up to `extra`.
    """
    low, high = max(0, block_start - extra), min(len(keys), max(block_start, 0) + len(searched_keys) + extra)
    first: tuple[int, int] | None = None
    last: tuple[int, int] | None = None
    for block in SequenceMatcher(None, searched_keys, keys[low:high], autojunk=False).get_matching_blocks():
        for step in range(block.size):
            if len(searched_keys[block.a + step]) > 1:  # a bracket or a blank line occurs anywhere
                last = (block.a + step, low + block.b + step)
                first = first or last
    if first is None or last is None:
        start, end, matched = block_start, block_start + len(searched_keys), len(searched_keys)
    else:
        matched = last[0]
        start, end = first[1] - first[0], last[1] + len(searched_keys) - last[0]
    start = min(max(0, start), max(len(keys) - 1, 0))
    return start, max(start + 1, min(end, len(keys))), matched


def _compute_similarity(searched_keys: Sequence[str], file_keys: Sequence[str]) -> float:
    ours, theirs = _make_trigrams(" ".join(searched_keys)), _make_trigrams(" ".join(file_keys))
    return 2 * len(ours & theirs) / (len(ours) + len(theirs) or 1)


def _find_most_similar(keys: list[str], searched_keys: list[str]) -> int | None:
    """Return the line at which the block begins if its most similar line is aligned with the file; None if none is."""
    longest_lines = sorted(enumerate(searched_keys), key=lambda item: -len(item[1]))[:4]
    theirs = [_make_trigrams(key) for key in keys]
    best, score = None, _MIN_LINE_SIMILARITY
    for number, line in longest_lines:
        line_grams = _make_trigrams(line)
        if not line_grams:
            continue
        for index, grams in enumerate(theirs):
            similarity = 2 * len(line_grams & grams) / (len(line_grams) + len(grams) or 1)
            if similarity > score:
                best, score = index - number, similarity
    return best


def _make_trigrams(key: str) -> set[str]:
    text = key.lower()[:20_000]
    return {text[start : start + 3] for start in range(max(1, len(text) - 2))} if text else set()


def _shorten(line: str) -> str:
    text = mark_whitespace(line)
    return text if len(text) <= _MAX_COMPARED_LINE_CHARS else text[:_MAX_COMPARED_LINE_CHARS] + "…"


def _explain_whitespace_marks(shown: str) -> str:
    """Return the meaning of the white-space marks if the text contains any; otherwise ""."""
    return (
        f"\n(marked in these lines: {MARKS_LEGEND})"
        if any(mark in mark_whitespace(line) for line in split_lines(shown) for mark in "·→␍⍽")
        else ""
    )


_ESCAPES = (("\\r\\n", "\n"), ("\\n", "\n"), ("\\t", "\t"), ('\\"', '"'), ("\\'", "'"))
_MAX_LINE_NUMBER_GAP = 10_000
"""Maximum distance of a line from the number before it in the search text."""
MatchKind = Literal[
    "exact", "line endings", "marked blanks", "line numbers", "indent shift", "punctuation", "whitespace"
]
RefusalReason = Literal["empty", "same", "not found", "ambiguous", "no change"]


class Replacement(Struct, frozen=True, kw_only=True):
    """Characters `start` to `end` become `text`."""

    start: int
    end: int
    text: str


class EditMatch(Struct, frozen=True, kw_only=True):
    """The edit applies. `spans` are in order and do not overlap; more than one only with `replace_all`."""

    match_kind: MatchKind
    spans: tuple[Replacement, ...]

    def apply(self, text: str) -> str:
        """Return the text after the edit; `text` must be the one that was matched."""
        pieces: list[str] = []
        end = 0
        for span in self.spans:
            pieces += (text[end : span.start], span.text)
            end = span.end
        return "".join([*pieces, text[end:]])


class EditRefused(Struct, frozen=True, kw_only=True):
    """The edit does not apply, or applies in several places.

    Attributes:
        message: begins in lower case, to follow the file's name.
        similarity: similarity of the closest lines to the search text, 0.0 to 1.0; 1.0 if it was found.
    """

    reason: RefusalReason
    message: str
    similarity: float = 1.0


class _Attempt(Struct, frozen=True, kw_only=True):
    match_kind: MatchKind
    find: Callable[[], list[TextMatch]]
    old: str
    new: str
    whole_lines: bool = False


def match_edit(
    text: str, old: str, new: str, *, replace_all: bool = False, whole_lines: bool = False, first_line: int = 1
) -> EditMatch | EditRefused:
    """Find where `old` is in `text` and what to put there.

    Match kinds are tried from strict to tolerant; the first that finds anything is used.

    Args:
        replace_all: allow several places, except with the most tolerant match kind.
        whole_lines: a place must start at the beginning of a line, as hunks of a patch do; `old` then ends with a
            newline.
        first_line: number of the text's first line, for messages about a part of a file.
    """
    if not old:
        return EditRefused(reason="empty", message="old_string is empty; say which text to replace")
    if old == new:
        return EditRefused(
            reason="same", message="the text to find and its replacement are the same; nothing would change"
        )
    for attempt in _iter_attempts(text, old, new):
        found = attempt.find()
        if whole_lines or attempt.whole_lines:
            found = [match for match in found if _at_line_start(text, match.start)]
        if attempt.whole_lines:
            found = [match for match in found if _at_line_end(text, match.end)]
        if not found:
            continue
        if len(found) > 1 and not (replace_all and attempt.match_kind != "whitespace"):
            return _refuse_several(text, found, attempt.match_kind, first_line)
        spans = tuple(_make_replacement(text, match, attempt) for match in _drop_overlapping(found))
        if all(text[span.start : span.end] == span.text for span in spans):
            return EditRefused(
                reason="no change", message="the file already reads as the replacement does; nothing to change"
            )
        return EditMatch(match_kind=attempt.match_kind, spans=spans)
    message, similarity = describe_nearest_lines(text, _list_variants(normalize_newlines(old)), new, first_line)
    return EditRefused(reason="not found", message=message, similarity=similarity)


def _list_variants(old: str) -> list[str]:
    """Return the search text and other readings of it: without line numbers, marks, or escaped line breaks."""
    numbers = find_line_numbers(old)
    bare = strip_line_numbers(old, numbers) if numbers and numbers.is_complete else None
    variants = [bare or old, unmark_whitespace(old)]
    if "\\n" in old:
        plain = old
        for escaped, meant in _ESCAPES:
            plain = plain.replace(escaped, meant)
        variants.append(plain)
    return list(dict.fromkeys(variants))


def _iter_attempts(text: str, raw_old: str, raw_new: str) -> Iterator[_Attempt]:
    """Yield the kinds of match from strict to tolerant; the caller stops at the first that finds anything."""
    old, new = normalize_newlines(raw_old), normalize_newlines(raw_new)
    yield _Attempt(match_kind="exact", find=lambda: find_exact(text, raw_old), old=old, new=new)
    yield _Attempt(match_kind="line endings", find=lambda: find_ignoring_endings(text, old), old=old, new=new)
    if (trimmed := old.rstrip(" \t")) != old and trimmed.endswith("\n") and trimmed.strip():
        # White space after the last newline that is not indentation in the file is an error of quotation.
        cut = new.rstrip(" \t")
        rest = cut if cut.endswith("\n") else new
        yield _Attempt(
            match_kind="line endings", find=lambda: find_ignoring_endings(text, trimmed), old=trimmed, new=rest
        )
    if (clear := unmark_whitespace(old)) != old:
        yield _Attempt(
            match_kind="marked blanks",
            find=lambda: find_exact(text, clear) or find_ignoring_endings(text, clear) or find_reindented(text, clear),
            old=clear,
            new=unmark_whitespace(new),
            whole_lines=True,
        )
    numbers = find_line_numbers(old)
    if numbers and (bare := strip_line_numbers(old, numbers)):
        bare_new = strip_line_numbers(new, numbers, near=_MAX_LINE_NUMBER_GAP) or ""
        yield _Attempt(
            match_kind="line numbers",
            find=lambda: find_exact(text, bare) or find_ignoring_endings(text, bare),
            old=bare,
            new=bare_new,
            whole_lines=True,
        )
        if numbers.is_complete:
            old, new = bare, bare_new
    # A number precedes a whole line, so the text after it must match a whole line, not words inside another one.
    whole = numbers is not None and numbers.is_complete
    yield _Attempt(
        match_kind="indent shift", find=lambda: find_reindented(text, old), old=old, new=new, whole_lines=whole
    )
    plain, folded = fold_typography(text), fold_typography(old)
    yield _Attempt(
        match_kind="punctuation",
        find=lambda: find_ignoring_endings(plain, folded) or find_reindented(plain, folded),
        old=old,
        new=new,
        whole_lines=whole,
    )
    yield _Attempt(
        match_kind="whitespace",
        find=lambda: find_ignoring_whitespace(plain, folded),
        old=old,
        new=new,
        whole_lines=whole,
    )


def _at_line_start(text: str, offset: int) -> bool:
    return offset == 0 or text[offset - 1] in "\r\n"


def _at_line_end(text: str, offset: int) -> bool:
    return offset == len(text) or text[offset] in "\r\n" or _at_line_start(text, offset)


def _drop_overlapping(found: list[TextMatch]) -> Iterator[TextMatch]:
    """Yield the matches that do not overlap an earlier one."""
    end = -1
    for match in found:
        if match.start >= end:
            yield match
            end = match.end


def _make_replacement(text: str, match: TextMatch, attempt: _Attempt) -> Replacement:
    return Replacement(start=match.start, end=match.end, text=merge_replacement(text, match, attempt.old, attempt.new))


def _refuse_several(text: str, found: list[TextMatch], match_kind: MatchKind, first_line: int) -> EditRefused:
    how = "" if match_kind == "exact" else f", allowing for a difference in {match_kind}"
    return EditRefused(reason="ambiguous", message=describe_matches(text, found, how, first_line))
