"""Where a text's secrets are, by their kinds, a person's patterns and known values; and where it may be cut."""

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from clio.algorithms.bounded_pattern import BoundedPattern, PatternRefused, TooSlow
from clio.algorithms.late_pattern import LatePattern
from clio.errors import ConfigError
from clio.security.redaction.assignments import lower_in_place, name_places, named_spans, open_name
from clio.security.redaction.contexts import context_spans, open_context
from clio.security.redaction.encoded import encoded_spans, open_encoded
from clio.security.redaction.patterns import (
    MARKER,
    MAX_BLOCK_CHARS,
    Span,
    bearer_spans,
    block_spans,
    in_block,
    open_block,
    token_spans,
    url_spans,
)
from clio.security.redaction.signs import SignTest
from clio.security.redaction.syntaxes import syntax_spans

if TYPE_CHECKING:
    from clio.security.redaction.open_forms import OpenRows

_WORD = LatePattern(r"\S+")
_LINE = LatePattern(r"[^\n]+")
_MAX_ROUNDS = 8
_MOST_ROUNDS = 12
_FAR = 2048
_CHAIN_CHARS = 1024
"""So much of a text is held back where each name may be the value of the one before."""
_MOST_BLOCK_HELD = MAX_BLOCK_CHARS + 512
_NEAR = 100
_MAX_SLOW = 20
"""Lines on which one pattern may run out of time."""


class Finder:
    """What is looked for: the kinds known by form or name, a person's patterns, the values of an environment.

    patterns: each is applied line by line. values: found wherever they stand; blanks around them do not count, and
    those under 12 characters are left out. Raises ConfigError for a pattern that is no regular expression.
    """

    def __init__(self, patterns: tuple[str, ...] = (), values: Iterable[str] = ()) -> None:
        self.patterns = tuple(map(_compiled, patterns))
        self._slow: dict[str, int] = {}
        bare = {stripped for value in values if len(stripped := value.strip()) >= 12}
        self.values = tuple(sorted(bare, key=len, reverse=True))
        self._spaced = tuple(value for value in self.values if any(char.isspace() for char in value))

    def add_value(self, value: str) -> bool:
        """Look for one more value from now on, also in streams that have begun; whether it is new and long enough."""
        bare = value.strip()
        is_new = len(bare) >= 12 and bare not in self.values
        if is_new:
            self.values = tuple(sorted((*self.values, bare), key=len, reverse=True))
            self._spaced = tuple(known for known in self.values if any(char.isspace() for char in known))
            if "signs" in self.__dict__:  # else it is made with all values
                self.signs.add_values((bare,))
        return is_new

    def cleaned(self, text: str, spans: list[Span] | None = None) -> tuple[str, dict[str, int]]:
        """A text that can be looked at as one, without its secrets, and their numbers.

        Looked at again after each change: a mark may stand where a letter kept two keys in one word.
        spans: what `spans` gives for the text, where that is known.
        """
        counts: dict[str, int] = {}
        for _ in range(_MAX_ROUNDS):
            if not (found := merged(self.spans(text) if spans is None else spans)):
                break
            text, spans = replaced(text, found, counts), None
        return text, counts

    def spans(self, text: str) -> Iterator[Span]:
        """All places that hold a secret, in no order; they may overlap."""
        yield from block_spans(text)
        yield from token_spans(text)
        yield from url_spans(text)
        yield from bearer_spans(text)
        lowered = lower_in_place(text)
        names = name_places(lowered)
        yield from named_spans(text, lowered, names)
        yield from context_spans(text, lowered, names)
        yield from syntax_spans(text, lowered, names)
        yield from encoded_spans(text)
        for value in self.values:
            place = text.find(value)
            while place >= 0:
                yield Span(place, place + len(value), "environment", 400)
                place = text.find(value, place + 1)
        if self.patterns:
            yield from self._custom(text)

    @cached_property
    def signs(self) -> SignTest:
        """The cheap test of words, made for the first stream."""
        return SignTest(self.values)

    @property
    def unit(self) -> LatePattern:
        """What is always looked at as a whole: a word, or a line where there are user patterns."""
        return _LINE if self.patterns else _WORD

    def unit_start(self, text: str, place: int) -> int:
        """Where the unit begins that a place lies in; the place itself right after white space."""
        if self.patterns:
            return text.rfind("\n", 0, place) + 1
        before = text[:place]
        if not before or before[-1].isspace():
            return place
        return place - len(before.rsplit(None, 1)[-1])

    def cut(self, text: str, places: Iterable[int]) -> tuple[int, int, list[Span]]:
        """Where a text can be cut in two that are each redacted by themselves; more text may still follow.

        places: tried in order till one holds; each lies between two units, or after a character no key holds. Gives the
        one tried last, the last place up to it where the text falls apart, and the spans of the whole text.
        """
        begun = [place for place in (open_block(text), self._open_value(text)) if place is not None]
        spans: list[Span] | None = None
        place = safe = 0
        for place in places:
            safe = min([place, *(self.unit_start(text, start) for start in begun if start < place)])
            if safe and spans is None:
                spans = list(self.spans(text))
            if (safe := self._safe(text, safe, spans or [])) == place:
                break
        if len(text) - safe > (_MOST_BLOCK_HELD if in_block(text[safe:]) else MAX_BLOCK_CHARS - _NEAR):
            # A form without an end.
            safe = self.unit_start(text, len(text) - MAX_BLOCK_CHARS // 2)
            spans = list(self.spans(text)) if spans is None else spans
            safe = max([safe, *(span.end for span in spans if span.start < safe < span.end)])
        return place, safe, spans or []

    def open_rows(self, text: str, end: int) -> "OpenRows | None":
        """The rows below the name of a secret that go on behind a place."""
        from clio.security.redaction.open_forms import open_rows

        return open_rows(text, end)

    def _safe(self, text: str, cut: int, spans: list[Span]) -> int:
        from clio.security.redaction.open_forms import open_form, open_rows  # compiles; most texts need no look

        rounds = total = 0
        while cut > 0:
            rounds += 1
            total += 1
            if total > _MOST_ROUNDS:  # forms that begin in each other without an end: only so much is held
                cut = min(cut, self.unit_start(text, max(0, len(text) - _CHAIN_CHARS)))
                return min([cut, *(self.unit_start(text, span.start) for span in spans if span.start < cut < span.end)])
            if rounds > _MAX_ROUNDS:  # a chain of names, each of which may be the value of the one before
                cut, rounds = min(cut, self.unit_start(text, max(0, len(text) - _CHAIN_CHARS))), 0
            crossing = [span.start for span in spans if span.start < cut < span.end]
            # So far behind the cut, a value that belongs to a name before it has been found, or there is none.
            settled = len(text) - cut > _FAR and not any(cut <= span.start <= cut + _NEAR for span in spans)
            if not settled:
                for find_open in (open_name, open_context, open_encoded, open_form):
                    if (begun := find_open(text, cut)) is not None and begun < cut:
                        crossing.append(begun)
                if (rows := open_rows(text, cut)) is not None and rows.last < cut:
                    crossing.append(rows.last)
            if not crossing:
                break
            cut = self.unit_start(text, min(crossing))
        return cut

    def _open_value(self, text: str) -> int | None:
        """Where a value with white space inside may have begun and not ended; None for nowhere."""
        starts = [
            len(text) - size
            for value in self._spaced
            for size in range(1, min(len(value), len(text) + 1))
            if text.endswith(value[:size])
        ]
        return min(starts, default=None)

    def _custom(self, text: str) -> Iterator[Span]:
        start = 0
        for line in text.split("\n"):
            marked = [match.span() for match in MARKER.finditer(line)] if "[REDACTED:" in line else []
            for pattern in self.patterns:
                for begin, end in self._spans_in(pattern, line):
                    if begin < end and not any(begin < last and first < end for first, last in marked):
                        yield Span(start + begin, start + end, "custom", 500)
            start += len(line) + 1

    def _spans_in(self, pattern: BoundedPattern, line: str) -> Iterator[tuple[int, int]]:
        """Where a pattern matches in a line; the whole line where that cannot be told in time.

        Raises ConfigError where that happened too often: each time costs a tenth of a second.
        """
        try:
            yield from pattern.spans(line)
        except TooSlow:
            self._slow[pattern.pattern] = self._slow.get(pattern.pattern, 0) + 1
            if self._slow[pattern.pattern] > _MAX_SLOW:
                raise ConfigError(
                    f"redact_patterns: {pattern.pattern[:60]!r} takes too long on lines such as those here; make it "
                    "simpler, without repetitions that can match the same text, or remove it"
                ) from None
            yield 0, len(line)

    def has_long_unit(self, text: str) -> bool:
        """Whether a text has a unit too long to be looked at as one."""
        if len(text) <= MAX_BLOCK_CHARS:
            return False
        place = 0
        while len(text) - place > MAX_BLOCK_CHARS:
            # A break somewhere in the next stretch: the last one found fast, else any.
            stop = place + MAX_BLOCK_CHARS + 1
            last = text.rfind("\n", place, stop)
            if not self.patterns:
                last = max(last, text.rfind(" ", place, stop))
                if last < 0:
                    last = next((spot for spot in range(stop - 1, place - 1, -1) if text[spot].isspace()), -1)
            if last < 0:
                return True
            place = last + 1
        return False


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


def added(totals: dict[str, int], counts: dict[str, int]) -> None:
    """Add numbers to others, by kind."""
    for kind, number in counts.items():
        totals[kind] = totals.get(kind, 0) + number


def _compiled(pattern: str) -> BoundedPattern:
    try:
        return BoundedPattern(pattern)
    except PatternRefused as error:
        raise ConfigError(f"redact_patterns: {pattern[:60]!r} is not used: {error}; correct or remove it") from None
