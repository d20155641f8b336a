"""A unified diff read into rows: what kind each is, which line of the file it shows, what belongs together."""

import re
from typing import Literal

from msgspec import Struct

from clio.ui.plain import visible

RowKind = Literal["file", "hunk", "context", "added", "removed", "note"]

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_KINDS: dict[str, RowKind] = {"+": "added", "-": "removed", " ": "context", "": "context"}
_NOTHING = "/dev/null"
# Some readers take these for the end of a line, which would let one line of a diff look like two.
_BREAKS = str.maketrans({"\u2028": "\\u2028", "\u2029": "\\u2029"})


class DiffRow(Struct, frozen=True, kw_only=True):
    """One row. text: without its mark; of a file its names. number: its line in the file, the old one where removed,
    0 where it has none. block: which run of removed and added rows it belongs to, -1 for none.
    """

    kind: RowKind
    text: str
    number: int = 0
    block: int = -1


class DiffBlock(Struct, kw_only=True):
    """A run of removed rows and the added ones behind it, by their places."""

    removed: list[int]
    added: list[int]


class ParsedDiff(Struct, kw_only=True):
    """All rows of a diff and its runs of changes. counts: added and removed lines of each file, by its row."""

    rows: list[DiffRow]
    blocks: list[DiffBlock]
    counts: dict[int, tuple[int, int]]


def parse_diff(text: str) -> ParsedDiff:
    """Read a diff of one or several files. What is no diff becomes notes; control characters are spelled out.

    A hunk says how many lines it has: within them "--- x" is a removed line and not a name.
    """
    parsed = ParsedDiff(rows=[], blocks=[], counts={})
    reader = _Reader(parsed)
    lines = visible(text).translate(_BREAKS).removesuffix("\n").split("\n") if text else []
    for place, line in enumerate(lines):
        reader.take(line, lines[place + 1 : place + 3])
    return parsed


class _Reader:
    def __init__(self, parsed: ParsedDiff) -> None:
        self._parsed = parsed
        self._old = self._new = 0
        self._old_left = self._new_left = 0
        self._file = -1
        self._names: str | None = None
        self._in_block = False

    def take(self, line: str, following: list[str]) -> None:
        if self._names is not None:
            self._begin_file(self._names, line.removeprefix("+++ "))
        elif found := _HUNK.match(line):
            self._begin_hunk(line, found)
        elif self._names_follow(line, following):
            self._names = line[4:]
        elif line.startswith("\\"):
            self._add("note", line)
        elif self._old_left > 0 or self._new_left > 0:
            self._change(line)
        else:
            self._in_block = False
            self._add("note", line)

    def _names_follow(self, line: str, following: list[str]) -> bool:
        """Whether names of files begin here. Secrets taken out may have made a hunk shorter than it says."""
        named = line.startswith("--- ") and bool(following) and following[0].startswith("+++ ")
        if self._old_left <= 0 and self._new_left <= 0:
            return named
        hunk = named and len(following) > 1 and _HUNK.match(following[1]) is not None
        return hunk and (self._old_left, self._new_left) != (1, 1)

    def _begin_file(self, old: str, new: str) -> None:
        self._names = None
        self._old_left = self._new_left = 0
        self._in_block = False
        self._file = len(self._parsed.rows)
        self._parsed.counts[self._file] = (0, 0)
        self._add("file", _named(old, new))

    def _begin_hunk(self, line: str, found: re.Match[str]) -> None:
        self._old, self._new = int(found[1]), int(found[3])
        self._old_left, self._new_left = int(found[2] or 1), int(found[4] or 1)
        self._in_block = False
        self._add("hunk", line)

    def _change(self, line: str) -> None:
        kind = _KINDS.get(line[:1])
        if kind is None:
            self._add("note", line)
            return
        changed = kind != "context"
        starts = changed and (not self._in_block or (kind == "removed" and bool(self._parsed.blocks[-1].added)))
        if starts:
            self._parsed.blocks.append(DiffBlock(removed=[], added=[]))
        self._in_block = changed
        place, block = len(self._parsed.rows), len(self._parsed.blocks) - 1
        number = self._old if kind == "removed" else self._new
        if changed:
            mine = self._parsed.blocks[block]
            (mine.added if kind == "added" else mine.removed).append(place)
            added, removed = self._parsed.counts.get(self._file, (0, 0))
            self._parsed.counts[self._file] = (added + (kind == "added"), removed + (kind == "removed"))
        if kind != "added":
            self._old, self._old_left = self._old + 1, self._old_left - 1
        if kind != "removed":
            self._new, self._new_left = self._new + 1, self._new_left - 1
        self._parsed.rows.append(DiffRow(kind=kind, text=line[1:], number=number, block=block if changed else -1))

    def _add(self, kind: RowKind, text: str) -> None:
        self._parsed.rows.append(DiffRow(kind=kind, text=text))


def _named(old: str, new: str) -> str:
    """What happens to the file, in short; git's "a/" and "b/" are left out."""
    if old.startswith("a/") and new.startswith("b/") and old[2:] == new[2:]:
        return new[2:]
    if old == _NOTHING or new == _NOTHING:
        return f"new {new}" if old == _NOTHING else f"delete {old}"
    return new if old == new else f"move {old} → {new}"
