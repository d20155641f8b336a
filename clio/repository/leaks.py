"""Secrets that a diff would add, by file and line. Pure."""

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from clio.algorithms.late_pattern import LatePattern
from clio.repository.shares import by_file
from clio.security.redaction.patterns import Span

_HUNK = LatePattern(r"^@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_MAX_CHARS = 2_000_000
MOST = 20


class Leak(Struct, frozen=True):
    """A secret in a line that a commit would add. kind: as in its mark, such as "aws-key"."""

    path: str
    line: int
    kind: str


def leaks(diff: str, spans: Callable[[str], Iterable[Span]]) -> list[Leak]:
    """The secrets among the added lines, each line once, at most MOST of them. spans: finds them in a text."""
    found: list[Leak] = []
    for piece in by_file(diff):
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
