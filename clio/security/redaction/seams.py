"""Secrets that a cut between two messages has halved: pages of a file, a job's next output, a person's next words."""

import re
from collections import deque
from collections.abc import Iterator, Sequence
from functools import cache

from clio.security.redaction.finder import Finder
from clio.security.redaction.patterns import MARGIN, MARKER, Span
from clio.security.redaction.value_shapes import drawn, is_wordlike, unspeakable

_EDGE_LINES = 3  # above and below a tool's text stand a line or two of clio's own
_ENDS = 12  # calls of one step run side by side, and other results stand between two pages
_END_CHARS = 256
_MOST_KNOWN = 512
_HALF = 8
_RANKS_OF_CONTEXTS = range(200, 400)  # below are keys known by their own form, above what settings and others say
_FIRST_HALF = 16
_BEGUN_CHARS = 4
_LINE = rf"{MARGIN}(?P<key>[A-Za-z0-9+/]{{40,160}}={{0,2}})[ \t|│]{{0,8}}\r?"
_SHORT_LINE = rf"{MARGIN}(?P<key>[A-Za-z0-9+/]{{1,160}}={{0,2}})[ \t|│]{{0,8}}\r?"
_KEY_LINE = r"(?<![A-Za-z0-9+/=])[A-Za-z0-9+/]{40,160}={0,2}(?![A-Za-z0-9+/=])"
_BLOCK_END = r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY"
_RUN = r"[A-Za-z0-9_+/=.:~%@^*!?$-][A-Za-z0-9_+/=.:~%@^*!?$#-]*"


@cache
def _shape(expression: str) -> re.Pattern[str]:
    """Compiled when it is first needed: all of them cost every start a millisecond."""
    return re.compile(expression)


class Seams:
    """What the last messages ended with, and which secrets were seen: by them a second half is known as one.

    Holds at most 512 values and the ends of a dozen messages, in memory only.
    """

    def __init__(self, finder: Finder) -> None:
        self._finder = finder
        self._ends: deque[tuple[str, ...]] = deque(maxlen=_ENDS)
        self._open = 0  # for so many messages more, key lines may be the rest of a private key
        self._known = dict.fromkeys(finder.values)
        self._lines: dict[str, None] = {}
        self._repeated: dict[str, None] = {}

    def add_value(self, value: str) -> None:
        """Know the halves of one more value."""
        self._known[value] = None

    def spans(self, text: str) -> list[Span]:
        """The halves in a message, and lines of private keys whose first or last line another message holds."""
        first, last = _first(text), _last(text)
        blocks = self._blocks(text) if self._lines or self._open or "-----END" in text else ()
        return [*self._heads(first), *self._tails(last), *blocks]

    def learn(self, text: str, spans: Sequence[Span]) -> None:
        """Remember the secrets of a message as it came, and how it ended. spans: all that were found in it."""
        self._open = max(0, self._open - 1)
        for span in spans:
            value = text[span.start : span.end]
            if span.kind == "private-key":
                self._lines |= dict.fromkeys(_shape(_KEY_LINE).findall(value))
                if "-----END" not in value and text.count("\n", span.end) <= _EDGE_LINES:
                    self._open = _ENDS
            elif span.kind != "custom" and 12 <= len(value) <= 2 * _END_CHARS and not MARKER.search(value):
                self._known[value] = None
            if span.rank in _RANKS_OF_CONTEXTS and _is_repeatable(value):
                self._repeated[value] = None
        for known in (self._known, self._lines, self._repeated):
            while len(known) > _MOST_KNOWN:
                del known[next(iter(known))]
        self._ends.append(tuple(_ends(text)))

    def repeats(self, text: str) -> Iterator[Span]:
        """Where values are repeated that were secrets by their name or context, here or in an earlier message."""
        for value in self._repeated:
            place = text.find(value)
            while place >= 0:
                end = place + len(value)
                if not (text[place - 1 : place].isalnum() and place) and not text[end : end + 1].isalnum():
                    yield Span(place, end, "repeated", 460)
                place = text.find(value, end)

    def _heads(self, lines: list[tuple[int, str]]) -> Iterator[Span]:
        """Second halves, at the beginning of the first lines."""
        for number, (start, line) in enumerate(lines):
            if number and not lines[number - 1][1].startswith("["):
                return  # only what clio says itself, in brackets, stands above the words of a tool
            margin = _shape(MARGIN).match(line)
            for skip in {0, margin.end() if margin else 0}:
                size = max((self._second_half(line[skip:]), self._goes_on(line[skip:])))
                if size:
                    yield Span(start + skip, start + skip + size, "half", 450)

    def _second_half(self, line: str) -> int:
        """How much at the beginning of a line ends a value that was seen; 0 for nothing."""
        begin = line[:_HALF]
        for value in self._known if len(begin) == _HALF else ():
            place = value.find(begin, 1)
            if place > 0 and line.startswith(value[place:]):
                return len(value) - place
        return 0

    def _goes_on(self, line: str) -> int:
        """How much at the beginning of a line makes a secret of what an earlier message ended with; 0 for nothing."""
        run = _shape(_RUN).match(line)
        if run is None or len(run[0]) < _HALF:
            return 0
        for end in {end for ends in self._ends for end in ends}:
            seam = len(end)
            crossing = [span for span in self._finder.spans(end + line[:_END_CHARS]) if span.start < seam < span.end]
            if not crossing:
                continue
            # A key that was whole may be followed by any word; half of one is followed by its other half.
            whole = any(span.end == seam for span in self._finder.spans(end))
            begun = min(span.start for span in crossing) <= seam - _BEGUN_CHARS
            size = max(span.end for span in crossing) - seam
            half = line[:size]
            closed = any(_closes(end[: span.start], line[size:]) for span in crossing)
            if (not whole and begun) or closed or drawn(half) or unspeakable(half) or _hex_goes_on(end, half):
                return size
        return 0

    def _tails(self, lines: list[tuple[int, str]]) -> Iterator[Span]:
        """First halves of what was seen, at the end of the last lines."""
        for start, line in lines:
            line = line.rstrip()
            last = line[-_HALF:]
            for value in self._known if len(last) == _HALF else ():
                size = value.find(last) + _HALF
                if _FIRST_HALF <= size < len(value) and line.endswith(value[:size]):
                    yield Span(start + len(line) - size, start + len(line), "half", 450)

    def _blocks(self, text: str) -> Iterator[Span]:
        """Lines of a private key: such as were seen, above a last line, and below one that began it."""
        lines = _lines(text)
        if self._lines:
            for match in _shape(_KEY_LINE).finditer(text):
                if match[0] in self._lines:
                    yield _key(match.start(), match.end())
        if "-----END" in text:
            for number, (_, line) in enumerate(lines):
                if _shape(_BLOCK_END).search(line):
                    yield from _run(lines[:number][::-1], up=True)
        if self._open:
            first = next(
                (n for n, (_, line) in enumerate(lines[: _EDGE_LINES + 1]) if _shape(_LINE).fullmatch(line)), None
            )
            if first is not None and not any("-----BEGIN" in line for _, line in lines[:first]):
                found = list(_run(lines[first:]))
                yield from found
                if len(lines) - first - len(found) <= _EDGE_LINES and "-----END" not in text:
                    self._open = _ENDS + 1


def _run(lines: list[tuple[int, str]], *, up: bool = False) -> Iterator[Span]:
    """The lines of a key from the first on, to one that is none; a short one may stand at the end of the key.

    up: the lines are in reverse order; what is left of a line above them may be short as well if it looks like a key.
    """
    for number, (start, line) in enumerate(lines):
        match = _shape(_LINE).fullmatch(line)
        short = None if match else _shape(_SHORT_LINE).fullmatch(line)
        if short is not None and up and number and not drawn(short["key"]):
            return
        if found := match or short:
            yield _key(start + found.start("key"), start + found.end("key"))
        if match is None and (short is None or number):
            return


def _is_repeatable(value: str) -> bool:
    """Whether a value is so unlike a word that it is the same secret wherever it stands."""
    return 8 <= len(value) <= _END_CHARS and not any(map(str.isspace, value)) and not is_wordlike(value, digits=True)


def _closes(before: str, behind: str) -> bool:
    """Whether what stands behind a half closes the quotation, or the tag, that was opened before its key."""
    return (before[-1:], behind.lstrip("\\")[:1]) in (('"', '"'), ("'", "'"), ("`", "`"), (">", "<"))


def _hex_goes_on(end: str, half: str) -> bool:
    """Whether hexadecimal digits follow such, where dashes may part them as in a UUID."""
    begun = _shape(r"[0-9a-f-]*\Z").search(end)
    digits = half.replace("-", "")
    return (
        begun is not None
        and len(begun[0]) >= _HALF
        and all(_shape(shape).search(begun[0]) for shape in ("[0-9]", "[a-f]"))
        and len(digits) >= _HALF
        and _shape(r"[0-9a-f]*[0-9][0-9a-f]*").fullmatch(digits) is not None
    )


def _key(start: int, end: int) -> Span:
    return Span(start, end, "private-key", 0)


def _lines(text: str) -> list[tuple[int, str]]:
    """The lines of a text with the places they begin at."""
    found: list[tuple[int, str]] = []
    start = 0
    for line in text.split("\n"):
        found.append((start, line))
        start += len(line) + 1
    return found


def _first(text: str) -> list[tuple[int, str]]:
    """The first lines of a text, with their places."""
    place = -1
    for _ in range(_EDGE_LINES):
        if (place := text.find("\n", place + 1)) < 0:
            return _lines(text)
    return _lines(text[:place])


def _ends(text: str) -> Iterator[str]:
    """How a text ends, and how it ended before clio's own last lines; with the line above, which may hold the name."""
    above = ""
    for _, line in _last(text):
        line = line.rstrip()
        if line:
            yield f"{above}\n{line}"[-_END_CHARS:] if above else line[-_END_CHARS:]
        above = line


def _last(text: str) -> list[tuple[int, str]]:
    """The last lines of a text, with their places."""
    place = len(text)
    for _ in range(_EDGE_LINES):
        if (place := text.rfind("\n", 0, place)) < 0:
            return _lines(text)
    return [(place + 1 + start, line) for start, line in _lines(text[place + 1 :])]
