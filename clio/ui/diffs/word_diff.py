"""Which words of a changed line are different, and which lines are versions of each other. Pure, in bounded time."""

from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher

from clio.text.lazy_regex import LazyRegex

Span = tuple[int, int]
"""From this character to before that one."""

_WORD = LazyRegex(r"[\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff]|[^\W\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff]+|\s+|.")
_MAX_CHARS = 2_000
_MAX_CELLS = 10_000
"""Old × new words, or lines, that are compared with each other."""
_MAX_PAIRS = 400
_ALIKE = 0.35
"""The share of a line that must be the same for the rest to be worth pointing at."""


def changed_words(old: str, new: str) -> tuple[list[Span], list[Span]]:
    """Where two versions of a line differ, on either side; nothing where they have too little in common."""
    if len(old) > _MAX_CHARS or len(new) > _MAX_CHARS:
        return _middle(old, new)
    ours, theirs = _WORD.findall(old), _WORD.findall(new)
    head = _shared(ours, theirs)
    tail = _shared(ours[head:][::-1], theirs[head:][::-1])
    a, b = ours[head : len(ours) - tail], theirs[head : len(theirs) - tail]
    if len(a) * len(b) > _MAX_CELLS:
        return _middle(old, new)
    before, after = _Spans("".join(ours[:head])), _Spans("".join(ours[:head]))
    same = _weight(ours[:head]) + _weight(ours[len(ours) - tail :])
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        equal = tag == "equal"
        same += _weight(a[i1:i2]) if equal else 0
        before.take("".join(a[i1:i2]), equal)
        after.take("".join(b[j1:j2]), equal)
    if same < _ALIKE * max(_weight(ours), _weight(theirs)):
        return [], []
    return before.spans, after.spans


def pair_lines(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Which removed line became which added one, in order: those most alike, or simply one after the other."""
    if len(old) * len(new) > _MAX_PAIRS:
        return list(zip(range(len(old)), range(len(new)), strict=True)) if len(old) == len(new) else []
    words = [[Counter(_WORD.findall(line[:_MAX_CHARS])) for line in side] for side in (old, new)]
    alike = [[_likeness(ours, theirs) for theirs in words[1]] for ours in words[0]]
    best = [[0.0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i in reversed(range(len(old))):
        for j in reversed(range(len(new))):
            best[i][j] = max(best[i + 1][j], best[i][j + 1], alike[i][j] + best[i + 1][j + 1])
    pairs: list[tuple[int, int]] = []
    i = j = 0
    while i < len(old) and j < len(new):
        if alike[i][j] and best[i][j] == alike[i][j] + best[i + 1][j + 1]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs


class _Spans:
    """The changed stretches of one side, those with nothing but a blank between them as one."""

    def __init__(self, head: str) -> None:
        self._at = len(head)
        self._blank = False
        self.spans: list[Span] = []

    def take(self, text: str, equal: bool) -> None:
        start, self._at = self._at, self._at + len(text)
        if equal:
            self._blank = text.isspace() and bool(self.spans) and self.spans[-1][1] == start
        elif text:
            joins = self._blank and self.spans
            self.spans.append((self.spans.pop()[0] if joins else start, self._at))
            self._blank = False


def _shared(ours: Sequence[str], theirs: Sequence[str]) -> int:
    """How many members both begin with."""
    pairs = enumerate(zip(ours, theirs, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(ours), len(theirs)))


def _shared_text(ours: str, theirs: str) -> int:
    """The same for characters, quickly."""
    low, high = 0, min(len(ours), len(theirs))
    while low < high:
        middle = (low + high + 1) // 2
        if ours[low:middle] == theirs[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _middle(old: str, new: str) -> tuple[list[Span], list[Span]]:
    """All between the beginning and the end that are the same."""
    head = _shared_text(old, new)
    room = min(len(old), len(new)) - head
    tail = min(_shared_text(old[::-1], new[::-1]), room)
    if head + tail < _ALIKE * max(len(old), len(new)):
        return [], []
    sides = ((head, len(old) - tail), (head, len(new) - tail))
    before, after = ([span] if span[0] < span[1] else [] for span in sides)
    return before, after


def _weight(words: Sequence[str]) -> int:
    return sum(len(word) for word in words if not word.isspace())


def _likeness(ours: Counter[str], theirs: Counter[str]) -> float:
    """0, or how much two lines share: at least _ALIKE, at most 1."""
    total = max(sum(len(word) * count for word, count in side.items() if not word.isspace()) for side in (ours, theirs))
    shared = sum(len(word) * count for word, count in (ours & theirs).items() if not word.isspace())
    if not total:
        return 1.0 if ours == theirs else _ALIKE
    return shared / total if shared >= _ALIKE * total else 0.0
