"""Secrets are taken out of all text here, once, before anything is stored, sent or shown to another machine."""

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

from clio.errors import ConfigError
from clio.security.redact_names import named_spans, open_name
from clio.security.redact_patterns import (
    MARKER,
    MAX_BLOCK_CHARS,
    Span,
    bearer_spans,
    block_spans,
    open_block,
    token_spans,
    url_spans,
)

_WORD = re.compile(r"\S+")
_LINE = re.compile(r"[^\n]+")
_MAX_TRIES = 64
_MAX_ROUNDS = 8
_FAR = 2048
_NEAR = 100
_SPLITS = re.compile(r"[^A-Za-z0-9_+/=.~%:@-]")
_GOES_ON = re.compile(r"[A-Za-z0-9_+/=.~%-]*")


# Words without any of these, and without a run of sixteen letters a key could be, hold no secret and open none. Most
# pieces of a stream are of that kind and need no second look.
_SUSPECT = re.compile(
    r"[A-Za-z0-9_+/=%.-]{16}|://|-----|REDACTED|(?i:pass|secret|token|key|pwd|credential|authorization|bearer|basic)"
)


class Redacted(Struct, frozen=True):
    """A text without its secrets, and how many of each kind were taken out."""

    text: str
    counts: dict[str, int]


class Redactor:
    """Replaces secrets by `[REDACTED:kind]`; whatever follows a secret's first letter goes with it.

    patterns: further regular expressions; each is applied line by line. env_secrets: values redacted wherever they
    stand, at least 12 characters long (see `redact_names.env_secrets`). enabled: False hands all text through.
    Redacting twice gives the same as once. Raises ConfigError for a pattern that is no regular expression.
    """

    def __init__(self, patterns: tuple[str, ...] = (), env_secrets: Iterable[str] = (), enabled: bool = True) -> None:
        self.enabled = enabled
        self._patterns = tuple(map(_compiled, patterns))
        self._values = tuple(sorted({value for value in env_secrets if len(value) >= 12}, key=len, reverse=True))
        self._counts: dict[str, int] = {}

    @property
    def total(self) -> int:
        """Secrets taken out since the start."""
        return sum(self._counts.values())

    @property
    def counts(self) -> dict[str, int]:
        """Secrets taken out since the start, by kind."""
        return dict(self._counts)

    def redact(self, text: str) -> Redacted:
        """A text without its secrets. Costs about a second for 30 MB of ordinary source code."""
        if not self.enabled or not text:
            return Redacted(text, {})
        if self._has_long_unit(text):
            stream = self.stream()
            return Redacted(stream.feed(text) + stream.finish(), stream.counts)
        result, counts = self.cleaned(text)
        return Redacted(result, counts)

    def cleaned(self, text: str) -> tuple[str, dict[str, int]]:
        """A text that can be looked at as one, without its secrets, and their numbers.

        Looked at again after each change: a mark may stand where a letter kept two keys in one word.
        """
        counts: dict[str, int] = {}
        for _ in range(_MAX_ROUNDS):
            if not (spans := merged(self.spans(text))):
                break
            text = replaced(text, spans, counts)
        self._count(counts)
        return text, counts

    def stream(self) -> "StreamRedactor":
        """A redactor for one text that comes in pieces."""
        return StreamRedactor(self)

    def _count(self, counts: dict[str, int]) -> None:
        """Add to the totals."""
        _add(self._counts, counts)

    def spans(self, text: str) -> Iterator[Span]:
        """All places that hold a secret, in no order; they may overlap."""
        yield from block_spans(text)
        yield from token_spans(text)
        yield from url_spans(text)
        yield from bearer_spans(text)
        yield from named_spans(text)
        for value in self._values:
            place = text.find(value)
            while place >= 0:
                yield Span(place, place + len(value), "environment", 400)
                place = text.find(value, place + 1)
        if self._patterns:
            yield from self._custom(text)

    @property
    def unit(self) -> re.Pattern[str]:
        """What is always looked at as a whole: a word, or a line where there are user patterns."""
        return _LINE if self._patterns else _WORD

    @property
    def knows_words_only(self) -> bool:
        """Whether there is nothing to look for but the kinds known by their form or name: no pattern, no value."""
        return not self._patterns and not self._values

    def unit_start(self, text: str, place: int) -> int:
        """Where the unit begins that a place lies in; the place itself right after white space."""
        if self._patterns:
            return text.rfind("\n", 0, place) + 1
        before = text[:place]
        if not before or before[-1].isspace():
            return place
        return place - len(before.rsplit(None, 1)[-1])

    def safe(self, text: str, cut: int) -> int:
        """The last place up to `cut` where a text falls apart into two that can be redacted each by itself.

        More text may still follow. `cut` lies between two units, or after a character no key holds.
        """
        begun = [place for place in (open_block(text), self._open_value(text)) if place is not None]
        cut = min([cut, *(self.unit_start(text, place) for place in begun if place < cut)])
        spans = list(self.spans(text)) if cut else []
        while cut > 0:
            crossing = [span.start for span in spans if span.start < cut < span.end]
            # So far behind the cut, a value that belongs to a name before it has been found, or there is none.
            settled = len(text) - cut > _FAR and not any(cut <= span.start <= cut + _NEAR for span in spans)
            if not settled and (name := open_name(text, cut)) is not None:
                crossing.append(name)
            if not crossing:
                break
            cut = self.unit_start(text, min(crossing))
        return cut

    def _open_value(self, text: str) -> int | None:
        """Where a value with white space inside may have begun and not ended; None for nowhere."""
        starts = [
            len(text) - size
            for value in self._values
            if any(char.isspace() for char in value)
            for size in range(1, min(len(value), len(text) + 1))
            if text.endswith(value[:size])
        ]
        return min(starts, default=None)

    def _custom(self, text: str) -> Iterator[Span]:
        start = 0
        for line in text.split("\n"):
            marked = [match.span() for match in MARKER.finditer(line)] if "[REDACTED:" in line else []
            for pattern in self._patterns:
                for match in pattern.finditer(line):
                    begin, end = match.span()
                    if begin < end and not any(begin < last and first < end for first, last in marked):
                        yield Span(start + begin, start + end, "custom", 500)
            start += len(line) + 1

    def _has_long_unit(self, text: str) -> bool:
        if len(text) <= MAX_BLOCK_CHARS:
            return False
        place = 0
        while len(text) - place > MAX_BLOCK_CHARS:
            # A break somewhere in the next stretch: the last one found fast, else any.
            stop = place + MAX_BLOCK_CHARS + 1
            last = text.rfind("\n", place, stop)
            if not self._patterns:
                last = max(last, text.rfind(" ", place, stop))
                if last < 0:
                    last = next((spot for spot in range(stop - 1, place - 1, -1) if text[spot].isspace()), -1)
            if last < 0:
                return True
            place = last + 1
        return False


class StreamRedactor:
    """Redacts one text that comes in pieces: what `feed` and `finish` give, put together, is the redacted whole.

    Only what may still become part of a secret is held back: the last word, a name waiting for its value, an open
    private key block (at most 8 KB of it).
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = ""
        self._swallow = False
        self._plain = redactor.knows_words_only
        self.counts: dict[str, int] = {}

    @property
    def held(self) -> int:
        """How many characters are held back."""
        return len(self._held)

    def feed(self, text: str) -> str:
        """The next piece of the text; gives what is ready of it."""
        if not text or not self._redactor.enabled:
            return text
        held = self._held = self._held + text if self._held else text
        if self._plain and not self._swallow and _SUSPECT.search(held) is None and len(held) <= MAX_BLOCK_CHARS:
            words = held.rsplit(None, 1)
            if held[-1].isspace():
                self._held = ""
                return held
            if len(words) < 2:
                return ""
            self._held = words[1]
            return held[: len(held) - len(words[1])]
        ready: list[str] = []
        while (start := self._long_unit()) is not None:
            ready.append(self._forced(start))
        cut = self._redactor.safe(self._held, self._redactor.unit_start(self._held, len(self._held)))
        if cut:
            ready.append(self._emit(cut))
        return "".join(ready)

    def finish(self) -> str:
        """The rest of the text; to be called once, at its end."""
        return self._emit(len(self._held))

    def _emit(self, cut: int, *, broken: bool = False) -> str:
        """Redact and let go the held text up to a cut; `broken`: a key may go on behind it."""
        text, self._held = self._held[:cut], self._held[cut:]
        if self._swallow:
            text = _GOES_ON.sub("", text, count=1)
            self._swallow = not text
        if broken and any(span.end == len(text) for span in self._redactor.spans(text)):
            self._swallow = True
        result, counts = self._redactor.cleaned(text)
        _add(self.counts, counts)
        return result

    def _long_unit(self) -> int | None:
        """Where the first unit begins that is too long to be waited for."""
        if len(self._held) <= MAX_BLOCK_CHARS:
            return None
        units = self._redactor.unit.finditer(self._held)
        return next((unit.start() for unit in units if unit.end() - unit.start() > MAX_BLOCK_CHARS), None)

    def _forced(self, start: int) -> str:
        """Cut a unit that is too long, at the last place where no key goes on; where there is none, in mid-key."""
        limit = start + MAX_BLOCK_CHARS
        head = self._held[:limit]
        marks = [match.end() for match in _SPLITS.finditer(head, start)]
        for mark in reversed(marks[-_MAX_TRIES:]):
            if self._redactor.safe(head, mark) == mark:
                return self._emit(mark)
        return self._emit(limit, broken=True)


def merged(spans: Iterable[Span]) -> list[Span]:
    """Overlapping spans made one, with the kind of the best rank; in the order of the text."""
    result: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if result and span.start < result[-1].end:
            last = result[-1]
            best = min(last, span, key=lambda each: each.rank)
            result[-1] = Span(last.start, max(last.end, span.end), best.kind, best.rank)
        else:
            result.append(span)
    return result


def replaced(text: str, spans: list[Span], counts: dict[str, int]) -> str:
    """The text with each span replaced by its mark; the kinds are counted into `counts`."""
    parts: list[str] = []
    place = 0
    for span in spans:
        parts += (text[place : span.start], f"[REDACTED:{span.kind}]")
        counts[span.kind] = counts.get(span.kind, 0) + 1
        place = span.end
    return "".join((*parts, text[place:]))


def _add(totals: dict[str, int], counts: dict[str, int]) -> None:
    for kind, number in counts.items():
        totals[kind] = totals.get(kind, 0) + number


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise ConfigError(
            f"redact_patterns: {pattern!r} is no regular expression ({error}); correct or remove it"
        ) from None
