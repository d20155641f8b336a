"""The part of a long text that says most of what is asked for. Pure."""

import re
from collections import Counter

from clio.text.vocabulary import parts, stem, terms

_WORD = re.compile(r"\S+")
_MARK = "…"


def passage(text: str, wanted: frozenset[str], chars: int) -> str:
    """Up to so many characters of a text, on one line, with as many different wanted stems as fit, in their middle.

    The beginning where nothing is wanted; an ellipsis stands where something is left out.
    """
    line = " ".join(text.split())
    if len(line) <= chars:
        return line
    room = chars - 2 * len(_MARK)
    begin, end = _densest(line, wanted, room)
    begin = _after_blank(line, max(begin - (room - (end - begin)) // 2, 0), begin)
    begin, end = (max(len(line) - room, 0), len(line)) if begin + room >= len(line) else (begin, begin + room)
    begin = _after_blank(line, begin, end)
    end = _before_blank(line, begin, end)
    return f"{_MARK if begin else ''}{line[begin:end].rstrip()}{_MARK if end < len(line) else ''}"


def _densest(line: str, wanted: frozenset[str], room: int) -> tuple[int, int]:
    """From where to where the most different wanted stems stand within so many characters, the first such place."""
    hits = [
        (match.start(), min(match.end(), match.start() + room), stems)
        for match in _WORD.finditer(line)
        if (stems := wanted.intersection((*terms(match[0]), *map(stem, parts(match[0])))))
    ]
    best, span = 0, (0, 0)
    inside: Counter[str] = Counter()
    first = 0
    for start, stop, stems in hits:
        inside.update(stems)
        while stop - hits[first][0] > room and hits[first][0] < start:
            inside -= Counter(hits[first][2])
            first += 1
        if len(inside) > best:
            best, span = len(inside), (hits[first][0], stop)
    return span


def _after_blank(line: str, at: int, most: int) -> int:
    """The beginning of the next whole word; the place itself where there is none before `most`."""
    if at == 0 or line[at - 1] == " ":
        return at
    blank = line.find(" ", at, most)
    return at if blank < 0 else blank + 1


def _before_blank(line: str, least: int, at: int) -> int:
    """The end of the last whole word; the place itself where there is none after `least`."""
    if at == len(line) or line[at] == " ":
        return at
    blank = line.rfind(" ", least, at)
    return at if blank <= least else blank
