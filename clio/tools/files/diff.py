"""Unified diffs that stay cheap for large files, and the hunks of a change, one by one."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from pathlib import Path

from msgspec import Struct

from clio.security.actions import FileChange

Block = tuple[int, int, int, int]
"""Lines `[0]:[1]` of the old text became lines `[2]:[3]` of the new one."""

_MAX_PAIRS = 250_000
"""Old × new lines difflib is given at once; a larger stretch without anchors counts as replaced."""
_CONTEXT = 3
_MOST_PLACES = 40


class FileDiff(Struct, frozen=True, kw_only=True):
    """A unified diff, empty where nothing differs, and how many lines it adds and removes."""

    text: str
    added: int
    removed: int

    @property
    def counts(self) -> str:
        """In short: "+12 -3"."""
        return f"+{self.added} -{self.removed}"


def diff_change(change: FileChange, display: Callable[[Path], str] = str) -> FileDiff:
    """The diff of one file change; `display` names its paths."""
    old = "/dev/null" if change.kind == "add" else display(change.path)
    new = "/dev/null" if change.kind == "delete" else display(change.moved_to or change.path)
    return diff_texts(change.before or "", change.after or "", old, new)


def diff_texts(before: str, after: str, old_name: str, new_name: str) -> FileDiff:
    """The unified diff of two texts, three lines of context around each change."""
    old, new = text_lines(before), text_lines(after)
    blocks = list(changed_blocks(old, new))
    added = sum(b2 - b1 for _, _, b1, b2 in blocks)
    removed = sum(a2 - a1 for a1, a2, _, _ in blocks)
    if not blocks and old_name == new_name:
        return FileDiff(text="", added=0, removed=0)
    rows = [f"--- {old_name}", f"+++ {new_name}"]
    crlf = ends_in_crlf(old) and ends_in_crlf(new)
    for group in grouped_blocks(blocks):
        rows += block_rows(group, old, new, crlf)
    return FileDiff(text="\n".join(rows) + "\n", added=added, removed=removed)


def changed_lines(before: str, after: str) -> tuple[tuple[int, int], ...]:
    """First and last line, counted from 1, of each place of `after` that differs; where lines only went, that line."""
    blocks = changed_blocks(text_lines(before), text_lines(after))
    return tuple((first + 1, max(last, first + 1)) for _, _, first, last in blocks)[:_MOST_PLACES]


def changed_blocks(old: Sequence[str], new: Sequence[str]) -> Iterator[Block]:
    """The stretches that differ, in order; near-linear in the number of lines."""
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


def _by_difflib(old: Sequence[str], new: Sequence[str], block: Block) -> Iterator[Block]:
    a1, a2, b1, b2 = block
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, old[a1:a2], new[b1:b2], autojunk=False).get_opcodes():
        if tag != "equal":
            yield (a1 + i1, a1 + i2, b1 + j1, b1 + j2)


def _anchors(old: Sequence[str], new: Sequence[str], block: Block) -> list[tuple[int, int]]:
    """Pairs of places of lines unique on both sides, the longest run of them in the same order (patience diff)."""
    a1, a2, b1, b2 = block
    ours, theirs = Counter(old[a1:a2]), Counter(new[b1:b2])
    where = {new[at]: at for at in range(b1, b2) if theirs[new[at]] == 1}
    pairs = [(at, where[old[at]]) for at in range(a1, a2) if ours[old[at]] == 1 and old[at] in where]
    return _longest_rising(pairs)


def _longest_rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest subsequence whose second members rise; the first ones already do."""
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


def grouped_blocks(blocks: list[Block]) -> Iterator[list[Block]]:
    """Blocks whose contexts would touch, together: the hunks."""
    group: list[Block] = []
    for block in blocks:
        if group and block[0] - group[-1][1] > 2 * _CONTEXT:
            yield group
            group = []
        group.append(block)
    if group:
        yield group


def block_rows(group: Sequence[Block], old: list[str], new: list[str], crlf: bool) -> Iterator[str]:
    """One hunk as the rows of a unified diff, its "@@" line first. crlf: every line of both texts ends in CRLF."""
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
    """The lines of one kind; where not every line of both texts ends in CRLF, carriage returns are made visible."""
    for line in lines:
        text = line.removesuffix("\n")
        yield mark + (text.removesuffix("\r") if crlf else text).replace("\r", "␍")
        if not line.endswith("\n"):
            yield "\\ No newline at end of file"


def _range(start: int, end: int) -> str:
    count = end - start
    return f"{start + 1 if count else start},{count}" if count != 1 else str(start + 1)


def text_lines(text: str) -> list[str]:
    """The lines of a text with their newline; a carriage return is part of its line, so that a changed ending shows."""
    lines = text.split("\n")
    last = lines.pop()
    return [line + "\n" for line in lines] + ([last] if last else [])


def ends_in_crlf(lines: list[str]) -> bool:
    """Whether no line ends otherwise than in CRLF."""
    return not any(line.endswith("\n") and not line.endswith("\r\n") for line in lines)


class Hunk(Struct, frozen=True, kw_only=True):
    """Neighbouring changed stretches of two texts, whose lines are `old` and `new`."""

    blocks: tuple[Block, ...]
    old: list[str]
    new: list[str]
    crlf: bool

    @property
    def text(self) -> str:
        """From its "@@" line on, as in a unified diff."""
        return "\n".join(block_rows(self.blocks, self.old, self.new, self.crlf)) + "\n"

    @property
    def added(self) -> int:
        """Lines it puts in."""
        return sum(b2 - b1 for _, _, b1, b2 in self.blocks)

    @property
    def removed(self) -> int:
        """Lines it takes out."""
        return sum(a2 - a1 for a1, a2, _, _ in self.blocks)


def split_hunks(before: str, after: str) -> Iterator[Hunk]:
    """The hunks that lead from one text to the other, in order, cut as `diff_texts` cuts them."""
    old, new = text_lines(before), text_lines(after)
    crlf = ends_in_crlf(old) and ends_in_crlf(new)
    for group in grouped_blocks(list(changed_blocks(old, new))):
        yield Hunk(blocks=tuple(group), old=old, new=new, crlf=crlf)


def keep_hunks(before: str, after: str, kept: Iterable[Hunk]) -> str:
    """The text with these of its hunks applied and all others left out; `kept` in their order."""
    old, new = text_lines(before), text_lines(after)
    lines: list[str] = []
    at = 0
    for a1, a2, b1, b2 in (block for hunk in kept for block in hunk.blocks):
        lines += old[at:a1] + new[b1:b2]
        at = a2
    return "".join(lines + old[at:])
