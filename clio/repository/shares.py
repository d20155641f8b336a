"""A diff made to fit: small files whole, large ones as far as their share goes, and what is missing is said. Pure."""

import re
from collections.abc import Sequence

from msgspec import Struct

from clio.algorithms.late_pattern import LatePattern

_FILE = LatePattern(r"^diff --(?:git|cc|combined) ", re.MULTILINE)
_LEAST_CHARS = 400
"""Less of a file says nothing; its name alone is given then."""


class Share(Struct, frozen=True):
    """One file's part of a diff. left_out: how many of its lines are missing."""

    text: str
    left_out: int = 0


class Fitted(Struct, frozen=True, kw_only=True):
    """A diff of bounded size. cut, unseen: how many files are there in part, and not at all; lines: what is missing."""

    text: str
    cut: int = 0
    unseen: int = 0
    lines: int = 0

    @property
    def whole(self) -> bool:
        """Whether nothing is missing."""
        return not (self.cut or self.unseen)

    @property
    def left_out(self) -> str:
        """ "120 lines in 3 files are left out"."""
        files = self.cut + self.unseen
        return f"{self.lines:,} lines in {files:,} file{'s' * (files != 1)} are left out"


def by_file(diff: str) -> list[str]:
    """The diff in pieces of one file each."""
    starts = [match.start() for match in _FILE.finditer(diff)]
    return [diff[start:end] for start, end in zip(starts, [*starts[1:], len(diff)], strict=False)]


def fit(diff: str, max_chars: int) -> Fitted:
    """The diff in at most about so many characters."""
    if len(diff) <= max_chars:
        return Fitted(text=diff)
    pieces = by_file(diff) or [diff]
    shares = [_cut(piece, room) for piece, room in zip(pieces, _rooms(pieces, max_chars), strict=True)]
    unseen = sum(not share.text for share in shares)
    return Fitted(
        text="\n".join(share.text.rstrip("\n") for share in shares if share.text),
        cut=sum(bool(share.left_out) for share in shares) - unseen,
        unseen=unseen,
        lines=sum(share.left_out for share in shares),
    )


def _rooms(pieces: Sequence[str], max_chars: int) -> list[int]:
    """What each piece may take: what small ones leave over goes to the large ones."""
    rooms = [0] * len(pieces)
    room, left = max_chars, len(pieces)
    for place in sorted(range(len(pieces)), key=lambda place: len(pieces[place])):
        fair = max(room // left, _LEAST_CHARS)
        rooms[place] = min(len(pieces[place]), fair, room)
        room, left = room - rooms[place], left - 1
    return rooms


def _cut(piece: str, room: int) -> Share:
    """As many whole lines of the piece as the room holds, and a line that says how many are missing."""
    if len(piece) <= room:
        return Share(piece)
    if room < _LEAST_CHARS // 2:
        return Share("", piece.rstrip("\n").count("\n") + 1)
    kept = piece[:room].rpartition("\n")[0] or piece[:room]
    missing = max(piece[len(kept) :].strip("\n").count("\n") + 1, 1)
    return Share(f"{kept}\n[{missing:,} more lines of this file are left out]\n", missing)
