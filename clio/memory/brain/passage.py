"""The part of a long text that says most of what is asked for. Pure."""

import re

from clio.memory.brain.evidence import stems_of

_WORD = re.compile(r"\S+")
_MARK = "…"


def passage(text: str, wanted: frozenset[str], chars: int) -> str:
    """Up to so many characters of a text, whole words on one line, with as many different wanted stems as there can be.

    The beginning where nothing is wanted or all parts are as good; an ellipsis stands where something is left out.
    """
    line = " ".join(text.split())
    if len(line) <= chars:
        return line
    room = chars - 2 * len(_MARK)
    spans = [(match.start(), match.end(), stems_of(match[0]) & wanted) for match in _WORD.finditer(line)]
    best, begin, end = -1, 0, room
    counts: dict[str, int] = {}
    first = 0
    for start, stop, stems in spans:
        for stem in stems:
            counts[stem] = counts.get(stem, 0) + 1
        while stop - spans[first][0] > room and spans[first][0] < start:
            for stem in spans[first][2]:
                counts[stem] -= 1
                if not counts[stem]:
                    del counts[stem]
            first += 1
        if len(counts) > best:
            best, begin, end = len(counts), spans[first][0], min(stop, spans[first][0] + room)
    end = _filled(line, begin, end, room)
    return f"{_MARK if begin else ''}{line[begin:end].rstrip()}{_MARK if end < len(line) else ''}"


def _filled(line: str, begin: int, end: int, room: int) -> int:
    """The end of the last whole word that fits behind the passage."""
    most = begin + room
    if most >= len(line):
        return len(line)
    blank = line.rfind(" ", end, most + 1)
    return blank if blank > end else end
