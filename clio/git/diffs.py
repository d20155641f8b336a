"""Diffs of the index, a branch or a range, shortened to a limit, and the secrets they would add."""

import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from clio.git.repository import Changed, RepositoryState, get_git_path, run_git
from clio.security.redaction.token_patterns import Span
from clio.text.lazy_regex import LazyRegex

_PLAIN = ("--no-ext-diff", "--no-textconv", "--find-renames", "--submodule=short", "--src-prefix=a/", "--dst-prefix=b/")


class Count(Struct, frozen=True, kw_only=True):
    """How many lines of a file a change adds and takes away; None for a file that is not text."""

    path: str
    added: int | None
    removed: int | None


class Difference(Struct, frozen=True, kw_only=True):
    """A diff, and its files with their numbers of lines."""

    text: str
    counts: tuple[Count, ...]


def diff_staged(state: RepositoryState) -> Difference:
    """What a plain `git commit` would take."""
    return diff_between(state.root, "--cached")


def diff_unstaged(state: RepositoryState, files: Sequence[Changed]) -> Difference:
    """What a commit of these files, as they are in the working tree, would take. Git's index is not touched."""
    with tempfile.TemporaryDirectory(prefix="clio-index-") as folder:
        index = Path(folder, "index")
        own = get_git_path(state.root, "index")
        if own.exists():
            shutil.copy2(own, index)  # with its time: git trusts entries older than its index
        if new := [file.path for file in files if not file.tracked]:
            run_git(state.root, "add", "--intent-to-add", "--force", "--", *new, index=index)
        base = get_empty_tree(state.root) if state.unborn else "HEAD"
        return diff_between(state.root, base, paths=[file.path for file in files], index=index, filters=state.filters)


def diff_between(
    root: Path, *revisions: str, paths: Sequence[str] = (), index: Path | None = None, filters: bool = False
) -> Difference:
    """The diff `git diff` shows for these arguments. paths: only these, from the top of the working tree."""
    arguments = [*_PLAIN, *revisions, "--", *paths]
    text = run_git(root, "diff", *arguments, index=index, filters=filters)
    numbers = run_git(root, "diff", "--numstat", "-z", *arguments, index=index, filters=filters)
    return Difference(text=text, counts=tuple(_counts(numbers)))


def get_empty_tree(root: Path) -> str:
    """The name of the tree that holds nothing, whatever the repository's kind of hash."""
    return run_git(root, "hash-object", "-t", "tree", "--stdin", stdin="")


def _counts(listing: str) -> list[Count]:
    """`--numstat -z`: a renamed file has an empty path, then the two names."""
    found: list[Count] = []
    entries = iter(listing.split("\0"))
    for entry in entries:
        if entry.count("\t") < 2:
            continue
        added, removed, path = entry.split("\t", 2)
        if not path:
            next(entries)
            path = next(entries)
        found.append(
            Count(
                path=path,
                added=int(added) if added.isdecimal() else None,
                removed=int(removed) if removed.isdecimal() else None,
            )
        )
    return found


_FILE = LazyRegex(r"^diff --(?:git|cc|combined) ", re.MULTILINE)
_LEAST_CHARS = 400
"""Less of a file says nothing; its name alone is given then."""


class Share(Struct, frozen=True):
    """One file's part of a diff. left_out: how many of its lines are missing."""

    text: str
    left_out: int = 0


class FittedDiff(Struct, frozen=True, kw_only=True):
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


def split_by_file(diff: str) -> list[str]:
    """The diff in pieces of one file each."""
    starts = [match.start() for match in _FILE.finditer(diff)]
    return [diff[start:end] for start, end in zip(starts, [*starts[1:], len(diff)], strict=False)]


def fit_diff(diff: str, max_chars: int) -> FittedDiff:
    """The diff in at most about so many characters."""
    if len(diff) <= max_chars:
        return FittedDiff(text=diff)
    pieces = split_by_file(diff) or [diff]
    shares = [_cut(piece, room) for piece, room in zip(pieces, _rooms(pieces, max_chars), strict=True)]
    unseen = sum(not share.text for share in shares)
    return FittedDiff(
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


_HUNK = LazyRegex(r"^@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_MAX_CHARS = 2_000_000
MOST = 20


class Leak(Struct, frozen=True):
    """A secret in a line that a commit would add. kind: as in its mark, such as "aws-key"."""

    path: str
    line: int
    kind: str


def find_leaks(diff: str, spans: Callable[[str], Iterable[Span]]) -> list[Leak]:
    """The secrets among the added lines, each line once, at most MOST of them. spans: finds them in a text."""
    found: list[Leak] = []
    for piece in split_by_file(diff):
        path, numbers, text = _added(piece)
        starts: list[int] = []
        place = 0
        for line in text:
            starts.append(place)
            place += len(line) + 1
        seen: set[int] = set()
        for span in sorted(spans("\n".join(text)[:_MAX_CHARS]), key=lambda span: span.start):
            index = max(i for i, start in enumerate(starts) if start <= span.start)
            if index not in seen:
                seen.add(index)
                found.append(Leak(path, numbers[index], span.kind))
            if len(found) >= MOST:
                return found
    return found


def _added(piece: str) -> tuple[str, list[int], list[str]]:
    """A file's path, and its added lines with their numbers."""
    path, numbers, text, number = "", list[int](), list[str](), 0
    for kind, line in _lines(piece):
        if kind == "name":
            path = line
        elif kind == "hunk":
            number = int(line)
        elif kind == "+":
            numbers.append(number)
            text.append(line)
            number += 1
        else:
            number += 1
    return path, numbers, text


def _lines(piece: str) -> Iterator[tuple[str, str]]:
    inside = False
    for line in piece.split("\n"):
        if match := _HUNK.match(line):
            inside = True
            yield "hunk", match[1]
        elif not inside and line.startswith("+++ "):
            yield "name", line.removeprefix("+++ ").removeprefix("b/").rstrip("\t")
        elif inside and line.startswith("+"):
            yield "+", line[1:]
        elif inside and line.startswith(" "):
            yield " ", line
