"""Secrets are taken out of a text that comes in pieces, as it comes."""

from collections import deque
from collections.abc import Callable
from itertools import pairwise

from clio.algorithms.late_pattern import LatePattern
from clio.security.redaction.finder import Finder, added
from clio.security.redaction.patterns import MAX_BLOCK_CHARS, Span, in_block, open_block
from clio.security.redaction.signs import (
    ANNOUNCED,
    KEYS,
    LASTING,
    NAMES,
    OFFERS,
    VALUES,
    WHOLE_LINE,
    is_quiet,
    may_be_cells,
    may_be_quiet,
)

_MAX_TRIES = 64
SLICE_CHARS = 1_024
"""A longer piece is taken in parts, for a sign in one of them says nothing of the others."""
_REACH_CHARS = 200
_WAIT_CHARS = 8
"""Of a line that stays open, the second look is taken so much later, and each further one after twice as much."""
_LINE_WAIT_CHARS = 256
"""Until then, each end of a line is looked at as well."""
_LINE_CHARS = 700
_CREDIT_PER_CHAR = 2
"""For each character that comes, so many may be looked at: what makes the work linear for any text."""
_MOST_CREDIT = 8_192
LOOK_COST = 128
"""What a look costs as a number of characters, besides those it looks at."""
_PASSED = 128
_QUIET_PIECES = 4
_SPLITS = LatePattern(r"[^A-Za-z0-9_+/=.~%:@-]")
_GOES_ON = LatePattern(r"[A-Za-z0-9_+/=.~%-]*")
_IN_A_BLOCK = LatePattern(r"[A-Za-z0-9+/=,:.\s]*")


def _end_of_line(text: str) -> str:
    """The last line of a text that has any words, and not too much of it."""
    return text[max(0, text.rstrip().rfind("\n"), len(text) - _LINE_CHARS) :]


class StreamRedactor:
    """Redacts one text that comes in pieces: what `feed` and `finish` give, put together, is the redacted whole.

    Only what may still become part of a secret is held back: the last word (the last line where there are a person's
    patterns), a name waiting for its value, an open private key block (at most 8 KB of it).

    Most words show no sign of a secret; they pass after one cheap test, once, when they are whole. Only where there is
    a sign, what is held is looked at, with the last words let go before it, until nothing in it is open.
    """

    def __init__(self, finder: Finder, count: Callable[[dict[str, int]], None], *, enabled: bool = True) -> None:
        self._finder = finder
        self._count = count
        self._enabled = enabled
        self._patterns = tuple(pattern.search for pattern in finder.patterns)
        self._signs = finder.signs
        self._are_plain = finder.signs.are_plain
        self._held = ""
        self._given = 0  # so much at the beginning of what is held is out already; it may be the name of what follows
        self._before = ""  # what was let go last of the line that goes on, or at least the last word of it
        self._passed: deque[str] = deque(maxlen=_PASSED)  # what was let go since
        self._pass = self._passed.append
        self._armed = 0  # what a word of it tells of: see `signs`
        self._cells = False  # the line may be a row of cells one of which is a name, and no more than that
        self._quiet = 0  # so many further pieces without any sign leave a name without a value
        self._full = _LINE_CHARS  # what is remembered is looked at again when it is so long
        self._open = not enabled  # needs a closer look: something was seen in what is held that may go on
        self._closely = self._open or bool(self._patterns)
        self._credit = _MOST_CREDIT  # so many characters may be looked at
        self._block = False  # and it is a private key block
        self._swallow = False
        self._by_line = False  # nothing can be let go before a line ends
        self._wait = 0  # the next look at a line that is open comes so much later
        self._next_look = 0  # which is when so much is held
        self._head = ""  # the titles of columns whose rows come; out already
        self.counts: dict[str, int] = {}

    @property
    def held(self) -> int:
        """How many characters are held back."""
        return len(self._held) - self._given

    def feed(self, text: str) -> str:
        """The next piece of the text; gives what is ready of it. About a microsecond where there is no sign."""
        if self._closely or len(text) > SLICE_CHARS:
            if self._open:
                return self._look(text)
            return self._feed_much(text) if len(text) > SLICE_CHARS else self._feed_lines(self._held, text)
        ended, blank, begun = text.rpartition(" ")
        if not blank or "\n" in begun:
            ended, blank, begun = text.rpartition("\n")
            if not blank:  # no word has ended
                if len(self._held) + len(text) > MAX_BLOCK_CHARS:
                    return self._look(text)
                self._held += text
                return ""
        words = f"{self._held}{ended}{blank}"
        parted = words.split()
        if self._armed or not self._are_plain(parted):
            return self._feed_telling(words, parted, begun, text)
        self._pass(words)
        self._held = begun
        return words

    def _feed_telling(self, words: str, parted: list[str], begun: str, text: str) -> str:
        """Words that tell of something, or follow such on their line."""
        said = self._signs.describe(words, parted)
        told = self._armed | said
        if not told & ~(VALUES | KEYS):  # a value that no name has told of, or half a name
            if said & VALUES and (start := self._signs.find_told_value(words)) is not None:
                words, begun = words[:start], words[start:] + begun
            if not said & KEYS or not (told := self._find_half_named(words, parted)):
                self._pass(words)
                self._held = begun
                return words
        if self._quiet and not said and is_quiet(words, parted):
            self._quiet -= 1
            self._armed = self._armed if self._quiet else 0
            self._pass(words)
            self._held = begun
            return words
        before = self._recollect()
        if not told & ~(ANNOUNCED | VALUES) and not told & VALUES and not self._signs.may_announce(before, words, told):
            self._armed = 0
            self._pass(words)
            self._held = begun
            return words
        if told:
            if told & KEYS:
                told = told & ~KEYS | self._signs.find_half_named(before, words)
            told = self._signs.judge(before, words, told)
            if told < 0:
                self._armed = LASTING
                self._wait = self._next_look = 0
                if told == WHOLE_LINE and text[-1:] != "\n" and len(self._held) < _LINE_CHARS:
                    self._open = self._by_line = self._closely = True
                    self._cells = not self._patterns
                    if "\n" not in text:
                        self._held += text
                        return ""
                return self._look(text)
            if told & VALUES:
                told &= ~VALUES
                if (start := self._signs.find_told_value(words)) is not None:
                    words, begun = words[:start], words[start:] + begun
        self._armed = told
        self._quiet = _QUIET_PIECES if told and not told & ~NAMES and may_be_quiet(before, words) else 0
        if not told:
            self._pass(words)
        elif "\n" in words or len(before) > self._full:
            self._remember(words)
        else:
            self._before = before + words
        self._held = begun
        return words

    def _find_half_named(self, words: str, parted: list[str]) -> int:
        """As `SignTest.find_half_named`; what was let go before matters for the first of some words only."""
        before = self._recollect() if "key" in parted[0].lower() else ""
        return self._signs.find_half_named(before, words)

    def _recollect(self) -> str:
        """What was let go last: the last line that has any words, and not too much of it."""
        if self._passed:
            passed = "".join(self._passed)
            self._passed.clear()
            self._credit += _CREDIT_PER_CHAR * len(passed)
            self._before = _end_of_line(self._before + passed)
        return self._before

    def _remember(self, words: str) -> None:
        """Keep the end of what is let go: it may say what comes next."""
        self._before = _end_of_line(self._recollect() + words)
        if self._armed:
            near = self._before[-_REACH_CHARS:]
            said = self._signs.describe(near)
            if said & KEYS:
                said |= self._signs.find_half_named("", near)
            self._armed &= said & LASTING | OFFERS
        self._full = min(_LINE_CHARS, len(self._before) + _REACH_CHARS)

    def _feed_much(self, text: str) -> str:
        """A long piece, in slices."""
        ready: list[str] = []
        for at in range(0, len(text), SLICE_CHARS):
            ready.append(self.feed(text[at : at + SLICE_CHARS]))
        return "".join(ready)

    def _feed_lines(self, held: str, text: str) -> str:
        cut = text.rfind("\n") + 1
        if cut == 0 and len(held) + len(text) <= MAX_BLOCK_CHARS:
            self._held = held + text
            return ""
        lines = held + text[:cut]
        told = self._armed
        if told or not self._are_plain(lines.split()):
            before = self._recollect()
            told |= self._signs.describe(lines)
            if told & KEYS:
                told = told & ~KEYS | self._signs.find_half_named(before, lines)
            told = told and self._signs.judge(before, lines, told)
        self._armed = told if told >= 0 else LASTING
        if cut == 0 or told < 0 or len(lines) > MAX_BLOCK_CHARS or self._a_pattern(lines):
            return self._look(text)
        self._remember(lines)
        self._held = text[cut:]
        return lines

    def finish(self) -> str:
        """The rest of the text; to be called once, at its end."""
        if self._held:
            self._recall()
        return self._emit(len(self._held))

    def _recall(self) -> None:
        """Put what was let go last before what is held: it may be the name of it."""
        before = self._recollect()
        if self._head:
            before = self._head + before.lstrip("\n")
        self._held = before + self._held
        self._given += len(before)
        self._before = ""

    def _a_pattern(self, words: str) -> bool:
        for line in words.split("\n"):
            for search in self._patterns:
                if search(line) is not None:
                    return True
        return False

    def _look(self, text: str) -> str:
        """A piece that needs a closer look, or comes while something is open."""
        if not text or not self._enabled:
            return text
        if len(text) > SLICE_CHARS:
            return self._feed_much(text)
        if self._cells:
            if (place := self._find_end_of_cells(self._held + text)) == 0:
                self._held += text
                return ""
            if place is not None:
                rest = (self._held + text)[place:]
                self._held = (self._held + text)[:place]
                self._cells = self._open = self._by_line = self._closely = False
                return self._emit(place, []) + self.feed(rest)
            self._cells = False
        by_line = self._by_line or bool(self._patterns)
        due = len(self._held) + len(text) >= self._next_look
        ends_unit = ((due or self._wait <= _LINE_WAIT_CHARS) and "\n" in text) or (
            due and not by_line and any(map(str.isspace, text))
        )
        self._credit = min(_MOST_CREDIT, self._credit + _CREDIT_PER_CHAR * len(text))
        size = len(self._held) + len(text)
        if size <= MAX_BLOCK_CHARS and not self._swallow:
            if size + len(self._recollect()) + LOOK_COST > self._credit:
                self._open = self._closely = True
                ends_unit = False
            if self._open and not ends_unit:
                self._held += text
                return ""
        self._recall()
        held = self._held = self._held + text
        self._credit = max(0, self._credit - len(held) - LOOK_COST)
        if self._block and len(held) <= MAX_BLOCK_CHARS and _IN_A_BLOCK.fullmatch(text):
            return ""
        finder = self._finder
        ready: list[str] = []
        while (start := self._long_unit()) is not None:
            ready.append(self._forced(start))
        held = self._held
        _, cut, spans = finder.cut(held, [finder.unit_start(held, len(held))])
        rows = finder.open_rows(held, cut)
        if cut:
            ready.append(self._emit(cut, [span for span in spans if span.end <= cut]))
        self._head = held[rows.head : rows.first] if rows else ""
        self._by_line = rows is not None
        self._next_look = len(self._held) + self._wait
        self._wait = max(_WAIT_CHARS, 0 if cut else 2 * self._wait, len(self._held) // 4)
        self._open = self._by_line or self._swallow or finder.unit_start(self._held, len(self._held)) > 0
        self._closely = self._open or bool(self._patterns)
        self._block = self._open and in_block(self._held) and open_block(self._held) == 0
        return "".join(ready)

    def _find_end_of_cells(self, held: str) -> int | None:
        """Where the lines of cells end of which none may be a secret; 0 if that is not known yet; None for nowhere."""
        before = self._recollect()
        above = before[before.rfind("\n") + 1 :]
        *lines, last = (above + held).split("\n")
        if len(above) + len(held) > _LINE_CHARS:
            return None
        judged = [may_be_cells(line, below) for line, below in pairwise([*lines, last])]
        if not judged or (judged[-1] is None and not any(judged)):
            return 0
        whole = held[: len(held) - len(last)]
        if any(judged) or self._signs.is_any_sign(before, whole):
            return None
        return len(whole)

    def _emit(self, cut: int, spans: list[Span] | None = None, *, broken: bool = False) -> str:
        """Redact and let go the held text up to a cut; `broken`: a key may go on behind it."""
        text, self._held = self._held[:cut], self._held[cut:]
        given, self._given = self._given, max(0, self._given - cut)
        if self._swallow:
            text, spans = _GOES_ON.sub("", text, count=1), None
            self._swallow = not text
        if broken and any(span.end == len(text) for span in self._finder.spans(text)):
            self._swallow = True
        result, counts = self._finder.cleaned(text, spans)
        self._before = ""
        if not result.startswith(text[:given]):  # what is out stays out
            result, counts = self._finder.cleaned(text[given:])
            given = 0
        added(self.counts, counts)
        self._count(counts)
        self._armed = LASTING
        if not self._swallow:
            self._remember(result)
        return result[given:]

    def _long_unit(self) -> int | None:
        """Where the first unit begins that is too long to be waited for."""
        if len(self._held) <= MAX_BLOCK_CHARS:
            return None
        units = self._finder.unit.finditer(self._held)
        return next((unit.start() for unit in units if unit.end() - unit.start() > MAX_BLOCK_CHARS), None)

    def _forced(self, start: int) -> str:
        """Cut a unit that is too long, at the last place where no key goes on; where there is none, in mid-key."""
        limit = start + MAX_BLOCK_CHARS
        head = self._held[:limit]
        marks = [match.end() for match in _SPLITS.finditer(head, start)]
        mark, safe, spans = self._finder.cut(head, reversed(marks[-_MAX_TRIES:]))
        if marks and safe == mark:
            return self._emit(mark, [span for span in spans if span.end <= mark])
        return self._emit(limit, broken=True)
