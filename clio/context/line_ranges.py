"""Ranges of lines: which of them a numbered listing shows, several as few, and as text. Pure."""

from collections.abc import Iterable, Sequence

from clio.algorithms.late_pattern import LatePattern

LineRange = tuple[int, int]
"""First and last line, counted from 1, both included."""

_ROW = LatePattern(r"^[ \t]*(\d{1,9})(?:\||\t|→|: )", 8)  # re.MULTILINE
_PARTIAL = LatePattern(r"^\[.*go on with |^\[… [\d,]+ (?:lines|characters)", 8)
_MOST_SHOWN, _HEAD_CHARS = 4, 400


def shown_ranges(text: str) -> tuple[LineRange, ...]:
    """The lines a listing with numbers shows, such as `  12|text`; empty for a text that is not one."""
    if not _ROW.search(text, 0, _HEAD_CHARS):
        return ()
    rows = [int(number) for number in _ROW.findall(text)]
    if len(rows) * 2 < text.count("\n"):
        return ()
    return join_ranges((row, row) for row in rows)


def is_whole_file(listing: str, shown: Sequence[LineRange]) -> bool:
    """Whether a listing that shows these lines begins with the first line and says nothing of more."""
    return bool(shown) and shown[0][0] == 1 and not _PARTIAL.search(listing)


def join_ranges(ranges: Iterable[LineRange]) -> tuple[LineRange, ...]:
    """The same lines in ascending ranges that neither overlap nor touch."""
    joined: list[LineRange] = []
    for first, last in sorted(ranges):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    return tuple(joined)


def count_lines(ranges: Iterable[LineRange]) -> int:
    """How many lines there are in ranges that do not overlap."""
    return sum(last - first + 1 for first, last in ranges)


def common_ranges(some: Sequence[LineRange], others: Sequence[LineRange]) -> tuple[LineRange, ...]:
    """The lines in both."""
    return tuple((max(a, c), min(b, d)) for a, b in some for c, d in others if max(a, c) <= min(b, d))


def describe_ranges(ranges: Sequence[LineRange]) -> str:
    """Such as "lines 1-40 and 80"; of many the first and how many more."""
    names = [str(first) if first == last else f"{first}-{last}" for first, last in ranges]
    if not names:
        return ""
    if len(names) > _MOST_SHOWN:
        names[_MOST_SHOWN - 1 :] = [f"{len(names) - _MOST_SHOWN + 1} more ranges"]
    word = "line" if len(ranges) == 1 and ranges[0][0] == ranges[0][1] else "lines"
    return f"{word} {' and '.join(filter(None, (', '.join(names[:-1]), names[-1])))}"
