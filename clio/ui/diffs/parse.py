"""A unified diff read into rows: what kind each is, which line of the file it shows, what belongs together."""

import re
from typing import Literal

from msgspec import Struct

from clio.text.lazy_regex import LazyRegex
from clio.ui.plain import visible

RowKind = Literal["file", "hunk", "context", "added", "removed", "note"]

_HUNK = LazyRegex(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_KINDS = ("+", "-", " ", "")
"""How a line of a hunk begins; one that lost its blank at the end is an empty line of context."""

_NOTHING = "/dev/null"
# Some readers take these for the end of a line, which would let one line of a diff look like two.
_BREAKS = (("\u2028", "\\u2028"), ("\u2029", "\\u2029"))


class DiffRow(Struct, frozen=True, gc=False):
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
    text = visible(text)
    for char, name in _BREAKS:
        text = text.replace(char, name)
    reader = _Reader(text.removesuffix("\n").split("\n") if text else [])
    return reader.read()


class _Reader:
    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._rows: list[DiffRow] = []
        self._blocks: list[DiffBlock] = []
        self._counts: dict[int, tuple[int, int]] = {}
        self._old = self._new = 0
        self._old_left = self._new_left = 0
        self._file = -1
        self._added = self._removed = 0
        self._names: str | None = None
        self._in_block = False

    def read(self) -> ParsedDiff:
        for place, line in enumerate(self._lines):
            if line[:1] in _KINDS and (self._old_left > 0 or self._new_left > 0) and line[:4] not in ("--- ", "+++ "):
                self._change(line)
            else:
                self._take(line, place)
        self._end_file()
        return ParsedDiff(rows=self._rows, blocks=self._blocks, counts=self._counts)

    def _take(self, line: str, place: int) -> None:
        if self._names is not None:
            self._begin_file(self._names, line.removeprefix("+++ "))
        elif found := _HUNK.match(line):
            self._begin_hunk(line, found)
        elif line.startswith("--- ") and self._names_follow(self._lines[place + 1 : place + 3]):
            self._names = line[4:]
        elif line.startswith("\\"):
            self._add("note", line)
        elif line[:1] in _KINDS and (self._old_left > 0 or self._new_left > 0):
            self._change(line)
        else:
            self._in_block = False
            self._add("note", line)

    def _names_follow(self, following: list[str]) -> bool:
        """Whether names of files begin here. Secrets taken out may have made a hunk shorter than it says."""
        named = bool(following) and following[0].startswith("+++ ")
        if self._old_left <= 0 and self._new_left <= 0:
            return named
        hunk = named and len(following) > 1 and _HUNK.match(following[1]) is not None
        return hunk and (self._old_left, self._new_left) != (1, 1)

    def _begin_file(self, old: str, new: str) -> None:
        self._names = None
        self._old_left = self._new_left = 0
        self._in_block = False
        self._end_file()
        self._file = len(self._rows)
        self._add("file", _named(old, new))

    def _begin_hunk(self, line: str, found: re.Match[str]) -> None:
        self._old, self._new = int(found[1]), int(found[3])
        self._old_left, self._new_left = int(found[2] or 1), int(found[4] or 1)
        self._in_block = False
        self._add("hunk", line)

    def _end_file(self) -> None:
        if self._file >= 0:
            self._counts[self._file] = (self._added, self._removed)
        self._added = self._removed = 0

    def _change(self, line: str) -> None:
        """A line of a hunk."""
        rows = self._rows
        if line[:1] == "+":
            self._touch(begins=not self._in_block).added.append(len(rows))
            rows.append(DiffRow("added", line[1:], self._new, len(self._blocks) - 1))
            self._added += 1
            self._new += 1
            self._new_left -= 1
        elif line[:1] == "-":
            self._touch(begins=not self._in_block or bool(self._blocks[-1].added)).removed.append(len(rows))
            rows.append(DiffRow("removed", line[1:], self._old, len(self._blocks) - 1))
            self._removed += 1
            self._old += 1
            self._old_left -= 1
        else:
            self._in_block = False
            rows.append(DiffRow("context", line[1:], self._new))
            self._old += 1
            self._new += 1
            self._old_left -= 1
            self._new_left -= 1

    def _touch(self, *, begins: bool) -> DiffBlock:
        if begins:
            self._blocks.append(DiffBlock(removed=[], added=[]))
        self._in_block = True
        return self._blocks[-1]

    def _add(self, kind: RowKind, text: str) -> None:
        self._rows.append(DiffRow(kind, text))


def _named(old: str, new: str) -> str:
    """What happens to the file, in short; git's "a/" and "b/" are left out."""
    if old.startswith("a/") and new.startswith("b/") and old[2:] == new[2:]:
        return new[2:]
    if old == _NOTHING or new == _NOTHING:
        return f"new {new}" if old == _NOTHING else f"delete {old}"
    return new if old == new else f"move {old} → {new}"
