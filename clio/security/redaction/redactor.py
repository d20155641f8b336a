"""Remove secrets from text before it is stored, sent or displayed: whole texts, streams, and pages of one file."""

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise

from msgspec import Struct

from clio.config.schema import SERVER_KEYS, Config
from clio.security.redaction.finder import (
    ANNOUNCED,
    KEYS,
    LASTING,
    NAMES,
    OFFERS,
    VALUES,
    WHOLE_LINE,
    Finder,
    add_counts,
    is_quiet,
    may_be_cells,
    may_be_quiet,
    merge_spans,
    replace_spans,
)
from clio.security.redaction.names_and_values import (
    is_random_stretch,
    is_unpronounceable,
    is_wordlike,
    list_env_secrets,
)
from clio.security.redaction.token_patterns import MARGIN, MARKER, MAX_BLOCK_CHARS, Span, is_key_block_start, open_block
from clio.text.lazy_regex import LazyRegex

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
_SPLITS = LazyRegex(r"[^A-Za-z0-9_+/=.~%:@-]")
_GOES_ON = LazyRegex(r"[A-Za-z0-9_+/=.~%-]*")
_IN_A_BLOCK = LazyRegex(r"[A-Za-z0-9+/=,:.\s]*")


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
        self._block = self._open and is_key_block_start(self._held) and open_block(self._held) == 0
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
        add_counts(self.counts, counts)
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
            if (
                (not whole and begun)
                or closed
                or is_random_stretch(half)
                or is_unpronounceable(half)
                or _hex_goes_on(end, half)
            ):
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
        if short is not None and up and number and not is_random_stretch(short["key"]):
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


class Redacted(Struct, frozen=True):
    """A text without its secrets, and how many of each kind were taken out."""

    text: str
    counts: dict[str, int]


class Redactor:
    """Replaces secrets by `[REDACTED:kind]`; whatever follows a secret's first letter goes with it.

    patterns: further regular expressions; each is applied line by line. env_secrets: values redacted wherever they
    stand, at least 12 characters long (see `names.env_secrets`). enabled: False hands all text through.
    Redacting twice gives the same as once. Raises ConfigError for a pattern that is no regular expression.
    """

    def __init__(self, patterns: tuple[str, ...] = (), env_secrets: Iterable[str] = (), enabled: bool = True) -> None:
        self.enabled = enabled
        self._finder = Finder(patterns, env_secrets)
        self._seams = Seams(self._finder)
        self._counts: dict[str, int] = {}

    def learn_secret(self, value: str) -> None:
        """Redact a value wherever it stands from now on, as those of the environment. Safe from any thread."""
        if self._finder.add_value(value):
            self._seams.add_value(value.strip())

    @property
    def total(self) -> int:
        """Secrets taken out since the start."""
        return sum(self._counts.values())

    @property
    def counts(self) -> dict[str, int]:
        """Secrets taken out since the start, by kind."""
        return dict(self._counts)

    def redact(self, text: str) -> Redacted:
        """A text without its secrets. Costs about a second for 15 MB of ordinary source code."""
        if not self.enabled or not text:
            return Redacted(text, {})
        if self._finder.has_long_unit(text):
            stream = self.stream()
            return Redacted(stream.feed(text) + stream.finish(), stream.counts)
        result, counts = self._finder.cleaned(text)
        self._count(counts)
        return Redacted(result, counts)

    def message(self, text: str) -> Redacted:
        """As `redact`, for a text that follows others: what a cut between them has halved goes as well, and so does a
        value without its name where it was a secret by name before.

        For a person's words and the results of tools, in their order. See `Seams`.
        """
        if not self.enabled or not text:
            return Redacted(text, {})
        halves = self._seams.spans(text)
        long = self._finder.has_long_unit(text)
        spans = [] if long else list(self._finder.spans(text))
        self._seams.learn(text, spans)
        halves += self._seams.repeats(text)
        if not long:
            result, counts = self._finder.cleaned(text, [*spans, *halves])
            self._count(counts)
            return Redacted(result, counts)
        counts: dict[str, int] = {}
        rest = self.redact(replace_spans(text, merge_spans(halves), counts))
        self._count(counts)
        add_counts(counts, rest.counts)
        return Redacted(rest.text, counts)

    def stream(self) -> StreamRedactor:
        """A redactor for one text that comes in pieces."""
        return StreamRedactor(self._finder, self._count, enabled=self.enabled)

    def spans(self, text: str) -> Iterator[Span]:
        """All places that hold a secret, in no order; they may overlap."""
        return self._finder.spans(text)

    def _count(self, counts: dict[str, int]) -> None:
        add_counts(self._counts, counts)


def build_redactor(config: Config, env: Mapping[str, str]) -> Redactor:
    """A redactor that knows the patterns and the key of the settings, and the secrets of the environment.

    Raises ConfigError for a pattern that is no regular expression.
    """
    keys = [*([config.api_key] if config.api_key else ()), *(env.get(name, "") for name in SERVER_KEYS)]
    return Redactor(config.redact_patterns, [*list_env_secrets(dict(env)), *keys], enabled=config.redact)
