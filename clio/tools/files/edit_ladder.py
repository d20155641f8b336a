"""The one ladder every edit goes down: where does the text the model remembers stand in the file?

exact → line endings → marked blanks → line numbers → indent shift → punctuation → whitespace. The first rung with a
match decides; one with several refuses, because a more tolerant one can only have more. Pure: strings in, spans out.
"""

from collections.abc import Callable, Iterator
from typing import Literal

from msgspec import Struct

from clio.tools.files.edit_match import (
    Match,
    find_any_ending,
    find_exact,
    find_loose,
    find_numbers,
    find_shifted,
    fold,
    without_numbers,
)
from clio.tools.files.edit_merge import merged
from clio.tools.files.edit_nearest import show_nearest, show_places
from clio.tools.files.text_lines import unix, unmarked

_ESCAPES = (("\\r\\n", "\n"), ("\\n", "\n"), ("\\t", "\t"), ('\\"', '"'), ("\\'", "'"))
_MAX_LINES_ADDED = 10_000
"""How far a replacement may have moved its lines from the numbers before them."""
Rung = Literal["exact", "line endings", "marked blanks", "line numbers", "indent shift", "punctuation", "whitespace"]
Reason = Literal["empty", "same", "nothing", "several", "no change"]


class Span(Struct, frozen=True, kw_only=True):
    """Characters `start` to `end` of the text become `text`; all others stay."""

    start: int
    end: int
    text: str


class Landed(Struct, frozen=True, kw_only=True):
    """The edit has its place. `spans` are in order and do not overlap; more than one only for `replace_all`."""

    rung: Rung
    spans: tuple[Span, ...]

    def apply(self, text: str) -> str:
        """The text after the edit; `text` must be the one the edit was fitted to."""
        pieces: list[str] = []
        at = 0
        for span in self.spans:
            pieces += (text[at : span.start], span.text)
            at = span.end
        return "".join([*pieces, text[at:]])


class Refused(Struct, frozen=True, kw_only=True):
    """The edit has no place, or more than one. `message` begins in lower case, to follow the file's name.

    likeness: of the lines most like the text to find, 0.0 to 1.0; 1.0 where it was found.
    """

    reason: Reason
    message: str
    likeness: float = 1.0


class _Attempt(Struct, frozen=True, kw_only=True):
    rung: Rung
    find: Callable[[], list[Match]]
    old: str
    new: str
    whole_lines: bool = False


def fit(
    text: str, old: str, new: str, *, replace_all: bool = False, whole_lines: bool = False, first_line: int = 1
) -> Landed | Refused:
    """Find where `old` stands in `text` and what to put there.

    replace_all: several places are welcome, except on the last rung.
    whole_lines: a place must begin at the start of a line, as the hunks of a patch do; `old` ends with a newline then.
    first_line: the number of the text's first line, for messages about a part of a file.
    """
    if not old:
        return Refused(reason="empty", message="old_string is empty; say which text to replace")
    if old == new:
        return Refused(reason="same", message="the text to find and its replacement are the same; nothing would change")
    for attempt in _attempts(text, old, new):
        found = attempt.find()
        if whole_lines or attempt.whole_lines:
            found = [match for match in found if _at_line_start(text, match.start)]
        if attempt.whole_lines:
            found = [match for match in found if _at_line_end(text, match.end)]
        if not found:
            continue
        if len(found) > 1 and not (replace_all and attempt.rung != "whitespace"):
            return _several(text, found, attempt.rung, first_line)
        spans = tuple(_span(text, match, attempt) for match in _apart(found))
        if all(text[span.start : span.end] == span.text for span in spans):
            return Refused(
                reason="no change", message="the file already reads as the replacement does; nothing to change"
            )
        return Landed(rung=attempt.rung, spans=spans)
    message, likeness = show_nearest(text, _meant(unix(old)), new, first_line)
    return Refused(reason="nothing", message=message, likeness=likeness)


def _meant(old: str) -> list[str]:
    """The text to find, and what it may have been meant as: without line numbers, marks, or escaped line breaks."""
    numbers = find_numbers(old)
    bare = without_numbers(old, numbers) if numbers and numbers.whole else None
    variants = [bare or old, unmarked(old)]
    if "\\n" in old:
        plain = old
        for escaped, meant in _ESCAPES:
            plain = plain.replace(escaped, meant)
        variants.append(plain)
    return list(dict.fromkeys(variants))


def _attempts(text: str, raw_old: str, raw_new: str) -> Iterator[_Attempt]:
    """The rungs, top to bottom; each is looked at only when those above had nothing."""
    old, new = unix(raw_old), unix(raw_new)
    yield _Attempt(rung="exact", find=lambda: find_exact(text, raw_old), old=old, new=new)
    yield _Attempt(rung="line endings", find=lambda: find_any_ending(text, old), old=old, new=new)
    if (trimmed := old.rstrip(" \t")) != old and trimmed.endswith("\n") and trimmed.strip():
        # Blanks behind the last newline that are no indentation in the file: left over from quoting.
        cut = new.rstrip(" \t")
        rest = cut if cut.endswith("\n") else new
        yield _Attempt(rung="line endings", find=lambda: find_any_ending(text, trimmed), old=trimmed, new=rest)
    if (clear := unmarked(old)) != old:
        yield _Attempt(
            rung="marked blanks",
            find=lambda: find_exact(text, clear) or find_any_ending(text, clear) or find_shifted(text, clear),
            old=clear,
            new=unmarked(new),
            whole_lines=True,
        )
    numbers = find_numbers(old)
    if numbers and (bare := without_numbers(old, numbers)):
        bare_new = without_numbers(new, numbers, near=_MAX_LINES_ADDED) or ""
        yield _Attempt(
            rung="line numbers",
            find=lambda: find_exact(text, bare) or find_any_ending(text, bare),
            old=bare,
            new=bare_new,
            whole_lines=True,
        )
        if numbers.whole:
            old, new = bare, bare_new
    # A number stands before a line, so what it stands before is one: never the blanks or the words inside another line.
    whole = numbers is not None and numbers.whole
    yield _Attempt(rung="indent shift", find=lambda: find_shifted(text, old), old=old, new=new, whole_lines=whole)
    plain, folded = fold(text), fold(old)
    yield _Attempt(
        rung="punctuation",
        find=lambda: find_any_ending(plain, folded) or find_shifted(plain, folded),
        old=old,
        new=new,
        whole_lines=whole,
    )
    yield _Attempt(rung="whitespace", find=lambda: find_loose(plain, folded), old=old, new=new, whole_lines=whole)


def _at_line_start(text: str, offset: int) -> bool:
    return offset == 0 or text[offset - 1] in "\r\n"


def _at_line_end(text: str, offset: int) -> bool:
    return offset == len(text) or text[offset] in "\r\n" or _at_line_start(text, offset)


def _apart(found: list[Match]) -> Iterator[Match]:
    """The matches that do not overlap an earlier one."""
    end = -1
    for match in found:
        if match.start >= end:
            yield match
            end = match.end


def _span(text: str, match: Match, attempt: _Attempt) -> Span:
    return Span(start=match.start, end=match.end, text=merged(text, match, attempt.old, attempt.new))


def _several(text: str, found: list[Match], rung: Rung, first_line: int) -> Refused:
    how = "" if rung == "exact" else f", allowing for a difference in {rung}"
    return Refused(reason="several", message=show_places(text, found, how, first_line))
