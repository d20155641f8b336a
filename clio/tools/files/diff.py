"""Unified diffs, in nearly linear time for large files, and the hunks of a change."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from pathlib import Path

from msgspec import Struct

from clio.security.actions import FileChange

LineBlock = tuple[int, int, int, int]
"""Lines `[0]:[1]` of the old text became lines `[2]:[3]` of the new one."""

_MAX_PAIRS = 250_000
"""Maximum product of old and new lines that difflib is given; larger blocks without unique lines count as replaced."""
_CONTEXT = 3
_MOST_PLACES = 40


class FileDiff(Struct, frozen=True, kw_only=True):
    """A unified diff, "" if nothing differs, and the numbers of added and removed lines."""

    text: str
    added: int
    removed: int

    @property
    def counts(self) -> str:
        """Short form "+12 -3"."""
        return f"+{self.added} -{self.removed}"


def diff_change(change: FileChange, display: Callable[[Path], str] = str) -> FileDiff:
    """Return the diff of one file change. display: returns the name of a path."""
    old = "/dev/null" if change.kind == "add" else display(change.path)
    new = "/dev/null" if change.kind == "delete" else display(change.moved_to or change.path)
    return diff_texts(change.before or "", change.after or "", old, new)


def diff_texts(before: str, after: str, old_name: str, new_name: str) -> FileDiff:
    """Return the unified diff of two texts, with three lines of context around each change."""
    old, new = split_diff_lines(before), split_diff_lines(after)
    blocks = list(find_changed_blocks(old, new))
    added = sum(b2 - b1 for _, _, b1, b2 in blocks)
    removed = sum(a2 - a1 for a1, a2, _, _ in blocks)
    if not blocks and old_name == new_name:
        return FileDiff(text="", added=0, removed=0)
    rows = [f"--- {old_name}", f"+++ {new_name}"]
    crlf = is_all_crlf(old) and is_all_crlf(new)
    for group in group_blocks(blocks):
        rows += render_hunk_rows(group, old, new, crlf)
    return FileDiff(text="\n".join(rows) + "\n", added=added, removed=removed)


def find_changed_lines(before: str, after: str) -> tuple[tuple[int, int], ...]:
    """Return first and last line, from 1, of each changed place in `after`.

    Removed lines are represented by the line that follows them.
    """
    blocks = find_changed_blocks(split_diff_lines(before), split_diff_lines(after))
    return tuple((first + 1, max(last, first + 1)) for _, _, first, last in blocks)[:_MOST_PLACES]


def find_changed_blocks(old: Sequence[str], new: Sequence[str]) -> Iterator[LineBlock]:
    """Yield the blocks that differ, in order; takes nearly linear time."""
    pending = [(0, len(old), 0, len(new))]
    while pending:
        a1, a2, b1, b2 = pending.pop()
        while a1 < a2 and b1 < b2 and old[a1] == new[b1]:
            a1, b1 = a1 + 1, b1 + 1
        while a1 < a2 and b1 < b2 and old[a2 - 1] == new[b2 - 1]:
            a2, b2 = a2 - 1, b2 - 1
        if a1 == a2 and b1 == b2:
            continue
        if a1 == a2 or b1 == b2:
            yield (a1, a2, b1, b2)
        elif (a2 - a1) * (b2 - b1) <= _MAX_PAIRS:
            yield from _by_difflib(old, new, (a1, a2, b1, b2))
        elif anchors := _anchors(old, new, (a1, a2, b1, b2)):
            starts = [(a1, b1), *((a + 1, b + 1) for a, b in anchors)]
            ends = [*anchors, (a2, b2)]
            gaps = [(sa, ea, sb, eb) for (sa, sb), (ea, eb) in zip(starts, ends, strict=True)]
            pending += reversed(gaps)
        else:
            yield (a1, a2, b1, b2)


def _by_difflib(old: Sequence[str], new: Sequence[str], block: LineBlock) -> Iterator[LineBlock]:
    a1, a2, b1, b2 = block
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, old[a1:a2], new[b1:b2], autojunk=False).get_opcodes():
        if tag != "equal":
            yield (a1 + i1, a1 + i2, b1 + j1, b1 + j2)


def _anchors(old: Sequence[str], new: Sequence[str], block: LineBlock) -> list[tuple[int, int]]:
    """Return index pairs of lines that are unique in both texts, the longest run in the same order (patience diff)."""
    a1, a2, b1, b2 = block
    ours, theirs = Counter(old[a1:a2]), Counter(new[b1:b2])
    where = {new[at]: at for at in range(b1, b2) if theirs[new[at]] == 1}
    pairs = [(at, where[old[at]]) for at in range(a1, a2) if ours[old[at]] == 1 and old[at] in where]
    return _longest_rising(pairs)


def _longest_rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest subsequence with rising second members; the first members rise already."""
    tails: list[int] = []
    tops: list[int] = []
    before: list[int] = []
    for number, (_, value) in enumerate(pairs):
        pile = bisect_left(tails, value)
        before.append(tops[pile - 1] if pile else -1)
        if pile == len(tails):
            tails.append(value)
            tops.append(number)
        else:
            tails[pile], tops[pile] = value, number
    chain: list[tuple[int, int]] = []
    at = tops[-1] if tops else -1
    while at >= 0:
        chain.append(pairs[at])
        at = before[at]
    return chain[::-1]


def group_blocks(blocks: list[LineBlock]) -> Iterator[list[LineBlock]]:
    """Yield groups of blocks whose context would overlap: the hunks."""
    group: list[LineBlock] = []
    for block in blocks:
        if group and block[0] - group[-1][1] > 2 * _CONTEXT:
            yield group
            group = []
        group.append(block)
    if group:
        yield group


def render_hunk_rows(group: Sequence[LineBlock], old: list[str], new: list[str], crlf: bool) -> Iterator[str]:
    """Yield one hunk as rows of a unified diff, "@@" line first. crlf: every line of both texts ends in CRLF."""
    first, last = group[0], group[-1]
    a1, b1 = max(0, first[0] - _CONTEXT), max(0, first[2] - _CONTEXT)
    a2, b2 = min(len(old), last[1] + _CONTEXT), min(len(new), last[3] + _CONTEXT)
    yield f"@@ -{_range(a1, a2)} +{_range(b1, b2)} @@"
    at = a1
    for i1, i2, j1, j2 in group:
        yield from _rows(" ", old[at:i1], crlf)
        yield from _rows("-", old[i1:i2], crlf)
        yield from _rows("+", new[j1:j2], crlf)
        at = i2
    yield from _rows(" ", old[at:a2], crlf)


def _rows(mark: str, lines: Sequence[str], crlf: bool) -> Iterator[str]:
    """Yield the lines of one kind; carriage returns are made visible unless every line of both texts ends in CRLF."""
    for line in lines:
        text = line.removesuffix("\n")
        yield mark + (text.removesuffix("\r") if crlf else text).replace("\r", "␍")
        if not line.endswith("\n"):
            yield "\\ No newline at end of file"


def _range(start: int, end: int) -> str:
    count = end - start
    return f"{start + 1 if count else start},{count}" if count != 1 else str(start + 1)


def split_diff_lines(text: str) -> list[str]:
    """Split a text into lines with their newline.

    A carriage return is part of the line, so that a changed line ending is a difference.
    """
    lines = text.split("\n")
    last = lines.pop()
    return [line + "\n" for line in lines] + ([last] if last else [])


def is_all_crlf(lines: list[str]) -> bool:
    """Whether every line ends in CRLF."""
    return not any(line.endswith("\n") and not line.endswith("\r\n") for line in lines)


class DiffHunk(Struct, frozen=True, kw_only=True):
    """Neighbouring changed blocks of two texts with the lines `old` and `new`."""

    blocks: tuple[LineBlock, ...]
    old: list[str]
    new: list[str]
    crlf: bool

    @property
    def text(self) -> str:
        """The hunk from its "@@" line on, as in a unified diff."""
        return "\n".join(render_hunk_rows(self.blocks, self.old, self.new, self.crlf)) + "\n"

    @property
    def added(self) -> int:
        """Number of added lines."""
        return sum(b2 - b1 for _, _, b1, b2 in self.blocks)

    @property
    def removed(self) -> int:
        """Number of removed lines."""
        return sum(a2 - a1 for a1, a2, _, _ in self.blocks)


def split_hunks(before: str, after: str) -> Iterator[DiffHunk]:
    """Yield the hunks between two texts in order, divided as in `diff_texts`."""
    old, new = split_diff_lines(before), split_diff_lines(after)
    crlf = is_all_crlf(old) and is_all_crlf(new)
    for group in group_blocks(list(find_changed_blocks(old, new))):
        yield DiffHunk(blocks=tuple(group), old=old, new=new, crlf=crlf)


def apply_diff_hunks(before: str, after: str, kept: Iterable[DiffHunk]) -> str:
    """Return `before` with only these hunks applied. kept: in order."""
    old, new = split_diff_lines(before), split_diff_lines(after)
    lines: list[str] = []
    at = 0
    for a1, a2, b1, b2 in (block for hunk in kept for block in hunk.blocks):
        lines += old[at:a1] + new[b1:b2]
        at = a2
    return "".join(lines + old[at:])
