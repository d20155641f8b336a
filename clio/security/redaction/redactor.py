"""Remove secrets from text before it is stored, sent or displayed: whole texts, streams, and pages of one file."""

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise

from msgspec import Struct

from clio.config.schema import KEYRING_KEY, SERVER_KEY_VARIABLES, Config
from clio.security.redaction.finder import (
    HALF_NAME_BIT,
    LINE_BITS,
    NAME_BITS,
    OFFER_BIT,
    SIGN_BITS,
    VALUE_BIT,
    WHOLE_LINE,
    SecretFinder,
    add_counts,
    can_be_cells,
    can_be_prose,
    is_prose_after_name,
    merge_spans,
    replace_spans,
)
from clio.security.redaction.secret_patterns import (
    MARGIN,
    MARKER,
    MAX_BLOCK_CHARS,
    Span,
    find_open_block,
    is_key_block_start,
    is_random_stretch,
    is_unpronounceable,
    is_wordlike,
    list_env_secrets,
)
from clio.text.lazy_regex import LazyRegex

_MAX_TRIES = 64
"""How many of the last possible cuts of a unit that is too long are tried; each try scans up to 8 KB."""
SLICE_CHARS = 1_024
"""Size of the slices in which a longer piece is processed, so that a sign of a secret slows only the slice it is in."""
_REACH_CHARS = 200
"""How many of the last characters of a remembered line are tested for signs that concern the following words."""
_WAIT_CHARS = 8
"""Characters to wait before the second full scan of a line that stays undecided; the wait doubles with each scan."""
_LINE_WAIT_CHARS = 256
"""While the wait is at most this many characters, each end of a line triggers a full scan as well."""
_LINE_CHARS = 700
"""How much of the current line is remembered for the scan of the following words."""
_CREDIT_PER_CHAR = 2
"""Characters that full scans may examine for each character received. Keeps the total work linear for any text."""
_MOST_CREDIT = 8_192
"""Limit of the accumulated allowance, in characters."""
SCAN_COST = 128
"""Fixed cost of one full scan, in characters, in addition to the characters it examines."""
_MAX_PASSED_PIECES = 128
"""Pieces kept unjoined; joining them only when needed keeps the common case at one append."""
_QUIET_PIECES = 4
"""Pieces of ordinary prose after a name that end the wait for its value."""
_KEY_BOUNDARY = LazyRegex(r"[^A-Za-z0-9_+/=.~%:@-]")
_KEY_CONTINUATION = LazyRegex(r"[A-Za-z0-9_+/=.~%-]*")
_KEY_BLOCK_TEXT = LazyRegex(r"[A-Za-z0-9+/=,:.\s]*")


def _get_last_line(text: str) -> str:
    """Return the last non-blank line of a text, at most `_LINE_CHARS` characters of it."""
    return text[max(0, text.rstrip().rfind("\n"), len(text) - _LINE_CHARS) :]


class StreamRedactor:
    """Redacts one text that arrives in pieces. The outputs of `feed` and `finish`, joined, are the redacted text.

    Only text that may still become part of a secret is held back: the last word (the last line if the user has
    configured patterns), a name whose value has not arrived, an open private key block (at most 8 KB of it).

    Most words show no sign of a secret. They pass after one cheap test, made once when the word is complete. Only a
    sign causes a full scan of the held text together with the end of the text already emitted; scans repeat until
    nothing in the held text is undecided.
    """

    def __init__(self, finder: SecretFinder, count: Callable[[dict[str, int]], None], *, enabled: bool = True) -> None:
        self._finder = finder
        self._count = count
        self._enabled = enabled
        self._patterns = tuple(pattern.search for pattern in finder.patterns)
        self._signs = finder.sign_test
        self._are_plain = finder.sign_test.are_plain
        self._held = ""
        # length of the start of `_held` that has been emitted already and stays because it may be the name of what
        # follows
        self._emitted_chars = 0
        self._before = ""  # emitted start of the current line, or at least its last word
        self._passed: deque[str] = deque(maxlen=_MAX_PASSED_PIECES)  # pieces emitted since `_before` was computed
        self._append_passed = self._passed.append
        self._active_signs = 0  # bits of the signs seen on this line; see the constants of `finder` such as `NAME_BITS`
        # the line may be a table row with a secret's name in one cell, and nothing else is suspicious
        self._cells = False
        self._quiet = 0  # how many more pieces without a sign end the wait for the value of a name
        self._full = _LINE_CHARS  # length at which `_before` is trimmed and tested again
        self._open = not enabled  # the held text contains something undecided and needs a full scan
        self._needs_care = self._open or bool(self._patterns)
        self._credit = _MOST_CREDIT  # characters that full scans may still examine
        self._block = False  # the undecided text is a private key block
        self._drops_key_rest = False
        self._by_line = False  # nothing can be emitted before the line ends
        self._wait = 0  # characters to wait before the next full scan of an undecided line
        self._next_scan = 0  # length of the held text at which the next scan is due
        self._table_titles = ""  # column titles of the table whose rows are arriving; already emitted
        self.counts: dict[str, int] = {}

    @property
    def held(self) -> int:
        """Number of characters held back."""
        return len(self._held) - self._emitted_chars

    def feed(self, text: str) -> str:
        """Process the next piece and return the text that is ready. Takes about a microsecond if there is no sign."""
        if self._needs_care or len(text) > SLICE_CHARS:
            if self._open:
                return self._scan(text)
            return self._feed_slices(text) if len(text) > SLICE_CHARS else self._feed_lines(self._held, text)
        # One split from the end: searching for both separators cost 0.5 to 1.5 ms more per 100 KB.
        ended, blank, begun = text.rpartition(" ")
        if not blank or "\n" in begun:
            ended, blank, begun = text.rpartition("\n")
            if not blank:  # no word is complete
                if len(self._held) + len(text) > MAX_BLOCK_CHARS:
                    return self._scan(text)
                self._held += text
                return ""
        words = f"{self._held}{ended}{blank}"
        parted = words.split()
        # Words already known to tell of nothing pass after one test of a set; most pieces of an answer end here.
        if self._active_signs or not self._are_plain(parted):
            return self._feed_signs(words, parted, begun, text)
        self._append_passed(words)
        self._held = begun
        return words

    def _feed_signs(self, words: str, parted: list[str], begun: str, text: str) -> str:
        """Process words that carry a sign, or follow a word with one on the same line."""
        word_bits = self._signs.describe(words, parted)
        bits = self._active_signs | word_bits
        if not bits & ~(VALUE_BIT | HALF_NAME_BIT):  # a value without a name before it, or half of a two-word name
            if word_bits & VALUE_BIT and (start := self._signs.find_stated_value(words)) is not None:
                words, begun = words[:start], words[start:] + begun
            if not word_bits & HALF_NAME_BIT or not (bits := self._find_half_named(words, parted)):
                self._append_passed(words)
                self._held = begun
                return words
        # "The token is checked by the server": after a few plain words no value follows any more.
        if self._quiet and not word_bits and is_prose_after_name(words, parted):
            self._quiet -= 1
            self._active_signs = self._active_signs if self._quiet else 0
            self._append_passed(words)
            self._held = begun
            return words
        before = self._get_emitted_line()
        if (
            not bits & ~(SIGN_BITS | VALUE_BIT)
            and not bits & VALUE_BIT
            and not self._signs.can_announce(before, words, bits)
        ):
            self._active_signs = 0
            self._append_passed(words)
            self._held = begun
            return words
        if bits:
            if bits & HALF_NAME_BIT:
                bits = bits & ~HALF_NAME_BIT | self._signs.find_half_named(before, words)
            bits = self._signs.judge(before, words, bits)
            if bits < 0:
                self._active_signs = LINE_BITS
                self._wait = self._next_scan = 0
                # Rows of cells and commands with a login tell what is a secret only at the end of the line.
                if bits == WHOLE_LINE and text[-1:] != "\n" and len(self._held) < _LINE_CHARS:
                    self._open = self._by_line = self._needs_care = True
                    self._cells = not self._patterns
                    if "\n" not in text:
                        self._held += text
                        return ""
                return self._scan(text)
            if bits & VALUE_BIT:
                bits &= ~VALUE_BIT
                if (start := self._signs.find_stated_value(words)) is not None:
                    words, begun = words[:start], words[start:] + begun
        self._active_signs = bits
        self._quiet = _QUIET_PIECES if bits and not bits & ~NAME_BITS and can_be_prose(before, words) else 0
        if not bits:
            self._append_passed(words)
        elif "\n" in words or len(before) > self._full:
            self._remember(words)
        else:
            self._before = before + words
        self._held = begun
        return words

    def _find_half_named(self, words: str, parted: list[str]) -> int:
        """Call `SignTest.find_half_named`. Only the first word can be the second half of a name emitted before."""
        before = self._get_emitted_line() if "key" in parted[0].lower() else ""
        return self._signs.find_half_named(before, words)

    def _get_emitted_line(self) -> str:
        """Return the last non-blank line emitted, at most `_LINE_CHARS` characters of it."""
        if self._passed:
            passed = "".join(self._passed)
            self._passed.clear()
            self._credit += _CREDIT_PER_CHAR * len(passed)
            self._before = _get_last_line(self._before + passed)
        return self._before

    def _remember(self, words: str) -> None:
        """Remember the end of the emitted text: it may contain the name of the next value."""
        self._before = _get_last_line(self._get_emitted_line() + words)
        if self._active_signs:
            # A sign further back no longer concerns the next value; a sign that stays would send every later word
            # through the slow path.
            near = self._before[-_REACH_CHARS:]
            word_bits = self._signs.describe(near)
            if word_bits & HALF_NAME_BIT:
                word_bits |= self._signs.find_half_named("", near)
            self._active_signs &= word_bits & LINE_BITS | OFFER_BIT
        self._full = min(_LINE_CHARS, len(self._before) + _REACH_CHARS)

    def _feed_slices(self, text: str) -> str:
        """Process a long piece in slices."""
        ready: list[str] = []
        for at in range(0, len(text), SLICE_CHARS):
            ready.append(self.feed(text[at : at + SLICE_CHARS]))
        return "".join(ready)

    def _feed_lines(self, held: str, text: str) -> str:
        cut = text.rfind("\n") + 1
        if cut == 0 and len(held) + len(text) <= MAX_BLOCK_CHARS:
            self._held = held + text
            return ""
        # The user's own patterns are applied line by line and may begin at any word, so no part of a line is released.
        lines = held + text[:cut]
        bits = self._active_signs
        if bits or not self._are_plain(lines.split()):
            before = self._get_emitted_line()
            bits |= self._signs.describe(lines)
            if bits & HALF_NAME_BIT:
                bits = bits & ~HALF_NAME_BIT | self._signs.find_half_named(before, lines)
            bits = bits and self._signs.judge(before, lines, bits)
        self._active_signs = bits if bits >= 0 else LINE_BITS
        if cut == 0 or bits < 0 or len(lines) > MAX_BLOCK_CHARS or self._matches_pattern(lines):
            return self._scan(text)
        self._remember(lines)
        self._held = text[cut:]
        return lines

    def finish(self) -> str:
        """Return the rest of the text. Call this once, at its end."""
        if self._held:
            self._prepend_emitted_line()
        return self._emit(len(self._held))

    def _prepend_emitted_line(self) -> None:
        """Put the emitted end of the line in front of the held text, because it may contain the name of a secret."""
        before = self._get_emitted_line()
        if self._table_titles:
            before = self._table_titles + before.lstrip("\n")
        self._held = before + self._held
        self._emitted_chars += len(before)
        self._before = ""

    def _matches_pattern(self, words: str) -> bool:
        for line in words.split("\n"):
            for search in self._patterns:
                if search(line) is not None:
                    return True
        return False

    def _scan(self, text: str) -> str:
        """Scan a piece in full, because it carries a sign or something before it is undecided."""
        if not text or not self._enabled:
            return text
        if len(text) > SLICE_CHARS:
            return self._feed_slices(text)
        if self._cells:
            if (place := self._find_end_of_cells(self._held + text)) == 0:
                self._held += text
                return ""
            if place is not None:
                rest = (self._held + text)[place:]
                self._held = (self._held + text)[:place]
                self._cells = self._open = self._by_line = self._needs_care = False
                return self._emit(place, []) + self.feed(rest)
            self._cells = False
        by_line = self._by_line or bool(self._patterns)
        due = len(self._held) + len(text) >= self._next_scan
        ends_unit = ((due or self._wait <= _LINE_WAIT_CHARS) and "\n" in text) or (
            due and not by_line and any(map(str.isspace, text))
        )
        self._credit = min(_MOST_CREDIT, self._credit + _CREDIT_PER_CHAR * len(text))
        size = len(self._held) + len(text)
        if size <= MAX_BLOCK_CHARS and not self._drops_key_rest:
            # Bounds the work of all scans by the number of characters that came, whatever the text.
            if size + len(self._get_emitted_line()) + SCAN_COST > self._credit:
                self._open = self._needs_care = True
                ends_unit = False
            if self._open and not ends_unit:
                self._held += text
                return ""
        self._prepend_emitted_line()
        held = self._held = self._held + text
        self._credit = max(0, self._credit - len(held) - SCAN_COST)
        # The lines of a private key cannot be anything else before its last line.
        if self._block and len(held) <= MAX_BLOCK_CHARS and _KEY_BLOCK_TEXT.fullmatch(text):
            return ""
        finder = self._finder
        ready: list[str] = []
        while (start := self._find_long_unit()) is not None:
            ready.append(self._force_cut(start))
        held = self._held
        _, cut, spans = finder.find_cut(held, [finder.find_unit_start(held, len(held))])
        rows = finder.find_open_rows(held, cut)
        if cut:
            ready.append(self._emit(cut, [span for span in spans if span.end <= cut]))
        self._table_titles = held[rows.head : rows.first] if rows else ""
        self._by_line = rows is not None
        self._next_scan = len(self._held) + self._wait
        # Doubled, so that a line that stays undecided costs a logarithmic number of scans.
        self._wait = max(_WAIT_CHARS, 0 if cut else 2 * self._wait, len(self._held) // 4)
        self._open = self._by_line or self._drops_key_rest or finder.find_unit_start(self._held, len(self._held)) > 0
        self._needs_care = self._open or bool(self._patterns)
        self._block = self._open and is_key_block_start(self._held) and find_open_block(self._held) == 0
        return "".join(ready)

    def _find_end_of_cells(self, held: str) -> int | None:
        """Return where the complete table rows end, if none of them can contain a secret.

        Returns 0 if that is not known yet, None if the text is not such a table.
        """
        before = self._get_emitted_line()
        above = before[before.rfind("\n") + 1 :]
        *lines, last = (above + held).split("\n")
        if len(above) + len(held) > _LINE_CHARS:
            return None
        judged = [can_be_cells(line, below) for line, below in pairwise([*lines, last])]
        if not judged or (judged[-1] is None and not any(judged)):
            return 0
        whole = held[: len(held) - len(last)]
        if any(judged) or self._signs.needs_scan(before, whole):
            return None
        return len(whole)

    def _emit(self, cut: int, spans: list[Span] | None = None, *, broken: bool = False) -> str:
        """Redact and emit the held text up to a position.

        Args:
            cut: the position in the held text.
            spans: the secrets in that text; None to search for them.
            broken: a key may continue behind the position, so the rest of it must be dropped as well.
        """
        text, self._held = self._held[:cut], self._held[cut:]
        given, self._emitted_chars = self._emitted_chars, max(0, self._emitted_chars - cut)
        if self._drops_key_rest:
            text, spans = _KEY_CONTINUATION.sub("", text, count=1), None
            self._drops_key_rest = not text
        if broken and any(span.end == len(text) for span in self._finder.spans(text)):
            self._drops_key_rest = True
        result, counts = self._finder.remove_secrets(text, spans)
        self._before = ""
        # A longer context may redact a text that was emitted as harmless.
        if not result.startswith(text[:given]):  # text already emitted cannot be changed
            result, counts = self._finder.remove_secrets(text[given:])
            given = 0
        add_counts(self.counts, counts)
        self._count(counts)
        self._active_signs = LINE_BITS
        if not self._drops_key_rest:
            self._remember(result)
        return result[given:]

    def _find_long_unit(self) -> int | None:
        """Return the start of the first unit longer than `MAX_BLOCK_CHARS`, too long to be held back; None if there is
        none.
        """
        if len(self._held) <= MAX_BLOCK_CHARS:
            return None
        units = self._finder.unit_pattern.finditer(self._held)
        return next((unit.start() for unit in units if unit.end() - unit.start() > MAX_BLOCK_CHARS), None)

    def _force_cut(self, start: int) -> str:
        """Emit a unit that is too long, up to the last place where no key continues; in the middle of a key if there is
        none.
        """
        limit = start + MAX_BLOCK_CHARS
        head = self._held[:limit]
        marks = [match.end() for match in _KEY_BOUNDARY.finditer(head, start)]
        mark, safe, spans = self._finder.find_cut(head, reversed(marks[-_MAX_TRIES:]))
        if marks and safe == mark:
            return self._emit(mark, [span for span in spans if span.end <= mark])
        return self._emit(limit, broken=True)


_EDGE_LINES = 3  # lines of clio's own (such as a header) around the text of a tool result
_MAX_ENDS = (
    12  # messages remembered: the calls of one step run in parallel, so other results separate two pages of a file
)
_END_CHARS = 256
"""Length of the remembered end of a message, and the longest half of a secret searched for."""
_MOST_KNOWN = 512
"""Most values remembered of each sort; the oldest is dropped first."""
_MIN_HALF_CHARS = 8
"""Shortest half of a known secret that is recognized; shorter runs of characters occur by chance."""
# ranks of spans found by their context; lower ranks are token formats, higher ones settings and others
_RANKS_OF_CONTEXTS = range(200, 400)
_MIN_FIRST_HALF_CHARS = 16
"""Shortest first half at the end of a message. It is longer, because a known prefix such as `sk-proj-` is no secret."""
_SENTENCE_END = ".,;:!?…)\"'”’"
_BEGUN_CHARS = 4
"""Characters of a secret that the earlier message must contain at least."""
_LINE = rf"{MARGIN}(?P<key>[A-Za-z0-9+/]{{40,160}}={{0,2}})[ \t|│]{{0,8}}\r?"
_SHORT_LINE = rf"{MARGIN}(?P<key>[A-Za-z0-9+/]{{1,160}}={{0,2}})[ \t|│]{{0,8}}\r?"
_KEY_LINE = r"(?<![A-Za-z0-9+/=])[A-Za-z0-9+/]{40,160}={0,2}(?![A-Za-z0-9+/=])"
_BLOCK_END = r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY"
_RUN = r"[A-Za-z0-9_+/=.:~%@^*!?$-][A-Za-z0-9_+/=.:~%@^*!?$#-]*"


_MAX_WRAPPED_CHARS = 50_000
"""Longer texts are files and output, whose lines are whole."""
_WRAPPED = (
    r"(?P<end>(?<![\w.~+/:$-])[\w.~+/:$=?&-]{4,})"
    r"(?=[ \t]*\\?\r?\n[ \t>]*(?P<half>[\w.~+/$-]{6,400}={0,2})(?=[\s\"'`,;!)\]]|\Z))"
)
"""The end of a line, and the word at the beginning of the next one, which may be all of its line."""


@cache
def _compile(expression: str) -> re.Pattern[str]:
    """Compile a regular expression on first use; compiling all of them would add a millisecond to each start."""
    return re.compile(expression)


class PageBreakFinder:
    """Finds secrets that a page break splits between two messages.

    Keeps the secrets seen and the ends of recent messages, so that the other half of a secret is recognized. Holds at
    most 512 values and the ends of a dozen messages, in memory only.
    """

    def __init__(self, finder: SecretFinder) -> None:
        self._finder = finder
        self._ends: deque[tuple[str, ...]] = deque(maxlen=_MAX_ENDS)
        self._open = 0  # number of further messages whose key lines may continue a private key
        self._known = dict.fromkeys(finder.values)
        self._lines: dict[str, None] = {}
        self._repeated: dict[str, None] = {}

    def add_value(self, value: str) -> None:
        """Recognize the halves of one more value."""
        self._known[value] = None

    def spans(self, text: str) -> list[Span]:
        """Find halves of secrets in a message, and lines of private keys that began or end in another message."""
        first, last = _split_first_lines(text), _split_last_lines(text)
        blocks = self._find_key_lines(text) if self._lines or self._open or "-----END" in text else ()
        return [*self._find_second_halves(first), *self._find_first_halves(last), *blocks]

    def learn(self, text: str, spans: Sequence[Span]) -> None:
        """Remember the secrets of an unredacted message, and how it ended.

        Args:
            spans: all secrets found in the message.
        """
        self._open = max(0, self._open - 1)
        for span in spans:
            value = text[span.start : span.end]
            # Its lines are remembered one by one: another page may begin or end in the middle of the block.
            if span.kind == "private-key":
                self._lines |= dict.fromkeys(_compile(_KEY_LINE).findall(value))
                if "-----END" not in value and text.count("\n", span.end) <= _EDGE_LINES:
                    self._open = _MAX_ENDS
            elif span.kind != "custom" and 12 <= len(value) <= 2 * _END_CHARS and not MARKER.search(value):
                self._known[value] = None
            if span.rank in _RANKS_OF_CONTEXTS and _is_repeatable(value):
                self._repeated[value] = None
        # A file with thousands of keys must not make each later message slower.
        for known in (self._known, self._lines, self._repeated):
            while len(known) > _MOST_KNOWN:
                del known[next(iter(known))]
        self._ends.append(tuple(_iter_ends(text)))

    def find_repetitions(self, text: str) -> Iterator[Span]:
        """Find repetitions of values that had the name or context of a secret in this or an earlier message."""
        for value in self._repeated:
            place = text.find(value)
            while place >= 0:
                end = place + len(value)
                if not (text[place - 1 : place].isalnum() and place) and not text[end : end + 1].isalnum():
                    yield Span(place, end, "repeated", 460)
                place = text.find(value, end)

    def _find_second_halves(self, lines: list[tuple[int, str]]) -> Iterator[Span]:
        """Find second halves at the start of the first lines."""
        for number, (start, line) in enumerate(lines):
            if number and not lines[number - 1][1].startswith("["):
                return  # only clio's own lines, which begin with a bracket, may precede the text of a tool
            margin = _compile(MARGIN).match(line)
            for skip in {0, margin.end() if margin else 0}:
                size = max((self._measure_second_half(line[skip:]), self._measure_continuation(line[skip:])))
                if size:
                    yield Span(start + skip, start + skip + size, "half", 450)

    def _measure_second_half(self, line: str) -> int:
        """Return how many characters at the start of a line complete a known secret; 0 for none."""
        begin = line[:_MIN_HALF_CHARS]
        for value in self._known if len(begin) == _MIN_HALF_CHARS else ():
            # From 1: a whole value is found by the ordinary patterns and is no half.
            place = value.find(begin, 1)
            if place > 0 and line.startswith(value[place:]):
                return len(value) - place
        return 0

    def _measure_continuation(self, line: str) -> int:
        """Return how many characters at the start of a line form a secret with the end of an earlier message; 0 for
        none.
        """
        run = _compile(_RUN).match(line)
        if run is None or len(run[0]) < _MIN_HALF_CHARS:
            return 0
        for end in {end for ends in self._ends for end in ends}:
            seam = len(end)
            crossing = [span for span in self._finder.spans(end + line[:_END_CHARS]) if span.start < seam < span.end]
            if not crossing:
                continue
            # A complete key may be followed by any word; only an incomplete key is followed by its other half.
            # So may one before the end of its sentence.
            whole = any(not end[span.end :].strip(_SENTENCE_END) for span in self._finder.spans(end))
            begun = min(span.start for span in crossing) <= seam - _BEGUN_CHARS
            size = max(span.end for span in crossing) - seam
            half = line[:size]
            closed = any(_is_closed_behind(end[: span.start], line[size:]) for span in crossing)
            if (
                (not whole and begun)
                or closed
                or is_random_stretch(half)
                or is_unpronounceable(half)
                or _is_hex_continued(end, half)
            ):
                return size
        return 0

    def _find_first_halves(self, lines: list[tuple[int, str]]) -> Iterator[Span]:
        """Find first halves of known secrets at the end of the last lines."""
        for start, line in lines:
            line = line.rstrip()
            last = line[-_MIN_HALF_CHARS:]
            for value in self._known if len(last) == _MIN_HALF_CHARS else ():
                size = value.find(last) + _MIN_HALF_CHARS
                if _MIN_FIRST_HALF_CHARS <= size < len(value) and line.endswith(value[:size]):
                    yield Span(start + len(line) - size, start + len(line), "half", 450)

    def _find_key_lines(self, text: str) -> Iterator[Span]:
        """Find lines of a private key: known ones, those above an END line, and those below a block begun in another
        message.
        """
        lines = _split_lines(text)
        if self._lines:
            for match in _compile(_KEY_LINE).finditer(text):
                if match[0] in self._lines:
                    yield _make_key_span(match.start(), match.end())
        if "-----END" in text:
            for number, (_, line) in enumerate(lines):
                if _compile(_BLOCK_END).search(line):
                    yield from _iter_key_lines(lines[:number][::-1], up=True)
        if self._open:
            first = next(
                (n for n, (_, line) in enumerate(lines[: _EDGE_LINES + 1]) if _compile(_LINE).fullmatch(line)), None
            )
            if first is not None and not any("-----BEGIN" in line for _, line in lines[:first]):
                found = list(_iter_key_lines(lines[first:]))
                yield from found
                if len(lines) - first - len(found) <= _EDGE_LINES and "-----END" not in text:
                    self._open = _MAX_ENDS + 1


def _iter_key_lines(lines: list[tuple[int, str]], *, up: bool = False) -> Iterator[Span]:
    """Yield the lines of a key from the first line on, up to one that is not part of it. The last may be a short line.

    Args:
        up: the lines are in reverse order, above an END line; a fragment at the top may be short if it looks random.
    """
    for number, (start, line) in enumerate(lines):
        match = _compile(_LINE).fullmatch(line)
        short = None if match else _compile(_SHORT_LINE).fullmatch(line)
        if short is not None and up and number and not is_random_stretch(short["key"]):
            return
        if found := match or short:
            yield _make_key_span(start + found.start("key"), start + found.end("key"))
        if match is None and (short is None or number):
            return


def _is_repeatable(value: str) -> bool:
    """Whether a value differs so much from a word that each occurrence of it is the same secret."""
    return 8 <= len(value) <= _END_CHARS and not any(map(str.isspace, value)) and not is_wordlike(value, digits=True)


def _is_closed_behind(before: str, behind: str) -> bool:
    """Whether the text behind a second half closes the quote or tag that was opened before its first half."""
    return (before[-1:], behind.lstrip("\\")[:1]) in (('"', '"'), ("'", "'"), ("`", "`"), (">", "<"))


def _is_hex_continued(end: str, half: str) -> bool:
    """Whether hexadecimal digits continue the hexadecimal end of a message; dashes may separate them, as in a UUID."""
    begun = _compile(r"[0-9a-f-]*\Z").search(end)
    digits = half.replace("-", "")
    return (
        begun is not None
        and len(begun[0]) >= _MIN_HALF_CHARS
        and all(_compile(shape).search(begun[0]) for shape in ("[0-9]", "[a-f]"))
        and len(digits) >= _MIN_HALF_CHARS
        and _compile(r"[0-9a-f]*[0-9][0-9a-f]*").fullmatch(digits) is not None
    )


def _make_key_span(start: int, end: int) -> Span:
    return Span(start, end, "private-key", 0)


def _split_lines(text: str) -> list[tuple[int, str]]:
    """Split a text into (offset, line) pairs."""
    found: list[tuple[int, str]] = []
    start = 0
    for line in text.split("\n"):
        found.append((start, line))
        start += len(line) + 1
    return found


def _split_first_lines(text: str) -> list[tuple[int, str]]:
    """Return the first lines of a text with their offsets."""
    place = -1
    for _ in range(_EDGE_LINES):
        if (place := text.find("\n", place + 1)) < 0:
            return _split_lines(text)
    return _split_lines(text[:place])


def _iter_ends(text: str) -> Iterator[str]:
    """Yield the ends of a text: its last line, and each line that clio's own closing lines may follow.

    Each end includes the line above, which may contain the name of the secret.
    """
    above = ""
    for _, line in _split_last_lines(text):
        line = line.rstrip()
        if line:
            yield f"{above}\n{line}"[-_END_CHARS:] if above else line[-_END_CHARS:]
        above = line


def _split_last_lines(text: str) -> list[tuple[int, str]]:
    """Return the last lines of a text with their offsets."""
    place = len(text)
    for _ in range(_EDGE_LINES):
        if (place := text.rfind("\n", 0, place)) < 0:
            return _split_lines(text)
    return [(place + 1 + start, line) for start, line in _split_lines(text[place + 1 :])]


class Redacted(Struct, frozen=True):
    """A text without its secrets, and the number of secrets removed by kind."""

    text: str
    counts: dict[str, int]


class Redactor:
    """Replaces secrets with `[REDACTED:kind]`. Redacting a text twice gives the same result as once.

    Args:
        patterns: additional regular expressions, applied line by line.
        env_secrets: values to redact wherever they occur, at least 12 characters long (see `list_env_secrets`).
        enabled: False returns every text unchanged.

    Raises:
        ConfigError: if a pattern is not a valid regular expression.
    """

    def __init__(self, patterns: tuple[str, ...] = (), env_secrets: Iterable[str] = (), enabled: bool = True) -> None:
        self.enabled = enabled
        self._finder = SecretFinder(patterns, env_secrets)
        self._page_breaks = PageBreakFinder(self._finder)
        self._counts: dict[str, int] = {}

    def learn_secret(self, value: str) -> None:
        """Redact a value wherever it occurs from now on, like those from the environment. Thread-safe."""
        if self._finder.add_value(value):
            self._page_breaks.add_value(value.strip())

    @property
    def total(self) -> int:
        """Number of secrets removed since the start."""
        return sum(self._counts.values())

    @property
    def counts(self) -> dict[str, int]:
        """Number of secrets removed since the start, by kind."""
        return dict(self._counts)

    def redact(self, text: str) -> Redacted:
        """Return a text without its secrets. Takes about a second for 15 MB of ordinary source code."""
        if not self.enabled or not text:
            return Redacted(text, {})
        if self._finder.has_long_unit(text):
            counts: dict[str, int] = {}
            text = replace_spans(text, merge_spans(self._finder.iter_escaped_keys(text)), counts)
            self._count(counts)
            stream = self.stream()
            result = stream.feed(text) + stream.finish()
            add_counts(counts, stream.counts)
            return Redacted(result, counts)
        spans = list(self._finder.spans(text))
        result, counts = self._finder.remove_secrets(text, [*spans, *self._find_wrapped(text, spans)])
        self._count(counts)
        return Redacted(result, counts)

    def message(self, text: str) -> Redacted:
        """Redact a user message or a tool result; call it in the order of the messages.

        Unlike `redact`, it also removes halves of secrets that a page break has split between two messages, and
        repetitions of values that had the name of a secret in an earlier message. See `PageBreakFinder`.
        """
        if not self.enabled or not text:
            return Redacted(text, {})
        halves = self._page_breaks.spans(text)
        long = self._finder.has_long_unit(text)
        spans = [] if long else list(self._finder.spans(text))
        wrapped = list(self._find_wrapped(text, spans))
        self._page_breaks.learn(text, [*spans, *wrapped])
        halves += wrapped
        halves += self._page_breaks.find_repetitions(text)
        if not long:
            result, counts = self._finder.remove_secrets(text, [*spans, *halves])
            self._count(counts)
            return Redacted(result, counts)
        counts: dict[str, int] = {}
        rest = self.redact(replace_spans(text, merge_spans(halves), counts))
        self._count(counts)
        add_counts(counts, rest.counts)
        return Redacted(rest.text, counts)

    def _find_wrapped(self, text: str, spans: Sequence[Span]) -> Iterator[Span]:
        """Find secrets that a line break divides: what continues one at the end of its line, or makes one with it."""
        if len(text) > _MAX_WRAPPED_CHARS:
            return
        ends = {span.end for span in spans}
        for found in _compile(_WRAPPED).finditer(text):
            half = found["half"]
            if not (is_random_stretch(half) or is_unpronounceable(half) or _is_hex_continued(found["end"], half)):
                continue
            seam = len(found["end"])
            joined = self._finder.spans(found["end"] + half) if found.end("end") not in ends else ()
            begun = next((span.start for span in joined if span.start < seam < span.end), None)
            if begun is not None:
                yield Span(found.start("end") + begun, found.end("end"), "half", 450)
            if begun is not None or found.end("end") in ends:
                ends.add(found.end("half"))
                yield Span(found.start("half"), found.end("half"), "half", 450)

    def stream(self) -> StreamRedactor:
        """Create a redactor for one text that arrives in pieces."""
        return StreamRedactor(self._finder, self._count, enabled=self.enabled)

    def spans(self, text: str) -> Iterator[Span]:
        """Find all secrets in a text. The spans are in no particular order and may overlap."""
        return self._finder.spans(text)

    def _count(self, counts: dict[str, int]) -> None:
        add_counts(self._counts, counts)


def build_redactor(config: Config, env: Mapping[str, str]) -> Redactor:
    """Create a redactor for the configured patterns and API key and the secrets in the environment.

    Raises:
        ConfigError: if a pattern is not a valid regular expression.
    """
    configured = config.api_key if config.api_key != KEYRING_KEY else ""  # a word, which stands for a key elsewhere
    keys = [*([configured] if configured else ()), *(env.get(name, "") for name in SERVER_KEY_VARIABLES)]
    return Redactor(config.redact_patterns, [*list_env_secrets(dict(env)), *keys], enabled=config.redact)
