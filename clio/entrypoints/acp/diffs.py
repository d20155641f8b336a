"""A unified diff as what editors show: the text before and the text after. Pure."""

import re
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from clio.text.lazy_regex import LazyRegex
from clio.tools.files.diff import text_lines

MAX_WHOLE_CHARS = 400_000
"""Of a file that is shown whole; of a larger one the changed places are."""
_HUNK = LazyRegex(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NO_NEWLINE = "\\ No newline at end of file"
NOTHING = "/dev/null"


class Hunk(Struct, frozen=True, kw_only=True):
    """One changed place: the lines on both sides with their newlines, and the first line's number in the new text."""

    first: int
    old: tuple[str, ...]
    new: tuple[str, ...]


class FilePatch(Struct, frozen=True, kw_only=True):
    """The changes of one file, under the names the diff gives it; NOTHING for a file that is new or gone."""

    old_name: str
    new_name: str
    hunks: tuple[Hunk, ...]

    @property
    def name(self) -> str:
        """What the file is called now, or was."""
        return self.old_name if self.new_name == NOTHING else self.new_name


class Sides(Struct, frozen=True, kw_only=True):
    """What stands beside each other. old: None for a new file. line: the first one that changed, from 1."""

    old: str | None
    new: str
    line: int


def read_patches(diff: str) -> list[FilePatch]:
    """The files of a diff in clio's own form, in order."""
    patches: list[FilePatch] = []
    rows = diff.split("\n")
    at = 0
    while at < len(rows):
        if rows[at].startswith("--- ") and at + 1 < len(rows) and rows[at + 1].startswith("+++ "):
            old_name, new_name, at = rows[at][4:], rows[at + 1][4:], at + 2
            hunks: list[Hunk] = []
            while at < len(rows) and (head := _HUNK.fullmatch(rows[at])):
                hunk, at = _read_hunk(head, rows, at + 1)
                hunks.append(hunk)
            patches.append(FilePatch(old_name=old_name, new_name=new_name, hunks=tuple(hunks)))
        else:
            at += 1
    return patches


def sides(patch: FilePatch, now: str | None) -> Iterator[Sides]:
    """Both texts of a file: whole where `now`, its text after the change, is given and fits; else place by place."""
    if patch.old_name == NOTHING or patch.new_name == NOTHING:
        old = "".join(line for hunk in patch.hunks for line in hunk.old)
        new = "".join(line for hunk in patch.hunks for line in hunk.new)
        yield Sides(old=None if patch.old_name == NOTHING else old, new=new, line=1)
        return
    before = _unpatched(patch.hunks, now) if now is not None and len(now) <= MAX_WHOLE_CHARS else None
    if before is not None and now is not None:
        yield Sides(old=before, new=now, line=_changed_line(patch.hunks))
        return
    for hunk in patch.hunks:
        yield Sides(old="".join(hunk.old), new="".join(hunk.new), line=_changed_line((hunk,)))


def text_now(read: Callable[[], bytes]) -> str | None:
    """A file's text for `sides`; None where it is none, or not there."""
    try:
        data = read()
        return data.decode("utf-8") if len(data) <= MAX_WHOLE_CHARS and b"\r" not in data else None
    except (OSError, UnicodeDecodeError):
        return None


def _read_hunk(head: re.Match[str], rows: Sequence[str], at: int) -> tuple[Hunk, int]:
    left, right = (int(head[group]) if head[group] is not None else 1 for group in (2, 4))
    old: list[str] = []
    new: list[str] = []
    while at < len(rows) and (len(old) < left or len(new) < right or rows[at] == _NO_NEWLINE):
        mark, line = rows[at][:1], rows[at][1:] + "\n"
        if rows[at] == _NO_NEWLINE:
            _drop_newline(rows[at - 1][:1], old, new)
        if mark in (" ", "-"):
            old.append(line)
        if mark in (" ", "+"):
            new.append(line)
        at += 1
    return Hunk(first=int(head[3]), old=tuple(old), new=tuple(new)), at


def _drop_newline(mark: str, old: list[str], new: list[str]) -> None:
    for marks, lines in ((" -", old), (" +", new)):
        if mark in marks and lines:
            lines[-1] = lines[-1].removesuffix("\n")


def _unpatched(hunks: Sequence[Hunk], now: str) -> str | None:
    """The text before the hunks were applied; None where they do not fit."""
    lines = text_lines(now)
    for hunk in reversed(hunks):
        start = hunk.first - 1 if hunk.new else hunk.first
        if tuple(lines[start : start + len(hunk.new)]) != hunk.new:
            return None
        lines[start : start + len(hunk.new)] = hunk.old
    return "".join(lines)


def _changed_line(hunks: Sequence[Hunk]) -> int:
    """Where the first difference is, in the new text."""
    if not hunks:
        return 1
    hunk = hunks[0]
    same = 0
    while same < min(len(hunk.old), len(hunk.new)) and hunk.old[same] == hunk.new[same]:
        same += 1
    return max(hunk.first, 1) + same
