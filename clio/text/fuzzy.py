"""Fuzzy matching of typed characters against names, and the nearest name to a mistyped word. Pure."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import islice

_MAX_LETTERS = 60  # longer words are not compared: the time grows with the square of the length


def find_nearest_name(word: str, names: Iterable[str]) -> str | None:
    """Return the name with the fewest edits from `word`; None if none is near enough (see `count_allowed_edits`).

    Of several equally near names, the first with the same first letter is returned.
    """
    known = [name for name in names if abs(len(name) - len(word)) <= count_allowed_edits(word, name)]
    if not word or not known or len(word) > _MAX_LETTERS:
        return None
    counted = {name: count_edits(word, name) for name in known}
    best = min(known, key=lambda name: (counted[name], name[:1] != word[:1], abs(len(name) - len(word))))
    return best if counted[best] <= count_allowed_edits(word, best) else None


def count_allowed_edits(one: str, other: str) -> int:
    """Return how many edits two words may be apart for one to be a misspelling of the other.

    0 for a single letter, 1 below five letters, 2 from five letters on, a third of the letters in longer words.
    """
    letters = min(len(one), len(other))
    return 0 if letters < 2 else 1 if letters < 5 else max(2, letters // 3)


def count_edits(one: str, other: str) -> int:
    """Return the edit distance of two words.

    An edit inserts, deletes or replaces a letter, or swaps two neighbouring letters.
    Source: optimal string alignment distance, Damerau 1964.
    """
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        line = [row]
        for column, other_letter in enumerate(other, 1):
            cost = min(last[column] + 1, line[column - 1] + 1, last[column - 1] + (letter != other_letter))
            if row > 1 and column > 1 and letter == other[column - 2] and one[row - 2] == other_letter:
                cost = min(cost, before[column - 2] + 1)
            line.append(cost)
        before, last = last, line
    return last[-1]


WORD_START_POINTS = 8.0
CONSECUTIVE_POINTS = 9.0
IN_BASENAME_POINTS = 3.0
BASENAME_START_POINTS = 10.0
WHOLE_BASENAME_POINTS = 30.0
EXACT_CASE_POINTS = 0.5
_GAP_PENALTY, _MAX_GAP_PENALTY = 0.3, 4.0
_LENGTH_PENALTY = 0.05  # penalty per character of the name: of two equal matches, the shorter name wins
_MAX_SCORED = 250
"""Maximum number of names scored in full for one query. Of more matches, the likelier ones are preselected cheaply."""
_SEPARATORS = "/_-. \\:"


def score_match(query: str, name: str) -> float | None:
    """Return how well a name matches a query, higher is better.

    None if the name does not contain the query's characters in that order. Only scores of the same query are
    comparable. Spaces in the query are ignored; an empty query matches everything.
    """
    wanted = "".join(query.split())
    smart = _is_exact(wanted)
    text = name if smart else name.lower()
    if not wanted:
        return -_LENGTH_PENALTY * len(name)
    base = name.rstrip("/").rfind("/") + 1
    positions = _find_positions(wanted, text, name, base)
    if positions is None:
        return None
    total = -_LENGTH_PENALTY * len(name)
    before = -2
    for char, at in zip(wanted, positions, strict=True):
        total += (
            1.0 + (IN_BASENAME_POINTS if at >= base else 0.0) + (WORD_START_POINTS if _starts_word(name, at) else 0.0)
        )
        total += EXACT_CASE_POINTS if name[at] == char else 0.0
        if at == before + 1:
            total += CONSECUTIVE_POINTS
        elif before >= 0:
            total -= min(_GAP_PENALTY * (at - before - 1), _MAX_GAP_PENALTY)
        before = at
    if positions[0] == base:
        total += BASENAME_START_POINTS
        stem = text[base:].rstrip("/")
        if wanted in (stem, stem.rpartition(".")[0]):
            total += WHOLE_BASENAME_POINTS
    return total


class FuzzyNames:
    """Names to be searched repeatedly while the user types. Not thread-safe.

    A longer query can only match names that its beginning matched, so each further key searches fewer names.
    """

    def __init__(self, names: Sequence[str]) -> None:
        ordered = sorted(set(names), key=lambda name: (name.count("/"), len(name), name))
        self._exact = {name: name for name in ordered}
        # In most projects all names are lower-case already; then both share one dictionary.
        self._map_by_lower_case = (
            _map_by_lower_case(ordered) if any(name != name.lower() for name in ordered) else self._exact
        )
        self._whole = {
            False: ordered if self._map_by_lower_case is self._exact else list(self._map_by_lower_case),
            True: ordered,
        }
        self._joined: dict[bool, str] = {}
        self._narrowed: tuple[str, list[str]] = ("", self._whole[False])

    @cached_property
    def _bases(self) -> dict[str, str]:
        """The last path component of each text; computed on the first search, which many runs never make."""
        return {text: text.rstrip("/").rpartition("/")[2] for text in (*self._map_by_lower_case, *self._exact)}

    def __len__(self) -> int:
        return len(self._exact)

    def find_best(self, query: str, limit: int, boosts: Mapping[str, float] | None = None) -> list[str]:
        """Return the `limit` best names for a query, best first.

        Args:
            boosts: points added to the score of single names, such as recently used ones, which come first if the
                query is empty.
        """
        wanted = "".join(query.split())
        boosts = boosts or {}
        name_of = self._exact if _is_exact(wanted) else self._map_by_lower_case
        ranked: list[tuple[float, str]] = []
        used = [name for name in boosts if name in self._exact]
        likely = [name_of[text] for text in _preselect_likely(self._matching(wanted), wanted, self._bases)]
        for name in dict.fromkeys((*used, *likely)):
            points = score_match(wanted, name)
            if points is not None:
                ranked.append((-points - boosts.get(name, 0.0), name))
        ranked.sort()
        return [name for _, name in ranked[:limit]]

    def _matching(self, wanted: str) -> list[str]:
        """Return the texts of all names that contain the query's characters in order."""
        exact = _is_exact(wanted)
        before, pool = self._narrowed
        if not before or not wanted.startswith(before) or exact != _is_exact(before):
            before, pool = "", self._whole[exact]
        if wanted != before:
            if len(wanted) == 1:
                pool = [text for text in pool if wanted in text]
            else:
                joined = "\n".join(pool) if before else self._whole_text(exact)
                pool = re.findall(f"^{_pattern(wanted)}.*$", joined, re.MULTILINE)
            self._narrowed = (wanted, pool)
        return pool

    def _whole_text(self, exact: bool) -> str:
        if exact not in self._joined:
            self._joined[exact] = "\n".join(self._whole[exact])
        return self._joined[exact]


def _map_by_lower_case(ordered: Sequence[str]) -> dict[str, str]:
    """Return the names by their lower-case text, or by their exact text if two names would be equal in lower case."""
    folded: dict[str, str] = {}
    for name in ordered:
        small = name.lower()
        folded.setdefault(name if small == name or small in folded else small, name)
    return folded


def _preselect_likely(found: list[str], wanted: str, bases: Mapping[str, str]) -> Sequence[str]:
    """Return at most `_MAX_SCORED` texts, the likeliest first.

    First come those whose last path component starts with the query, then those where it contains the query, then
    those where it starts with the same character, then all others.
    """
    if len(found) <= _MAX_SCORED:
        return found
    chosen: dict[str, None] = {}
    if wanted:
        first = wanted[0]
        for picked in (
            (text for text in found if bases[text].startswith(wanted)),
            (text for text in found if wanted in bases[text]),
            (text for text in found if bases[text].startswith(first)),
        ):
            chosen.update(dict.fromkeys(islice(picked, _MAX_SCORED)))
            if len(chosen) >= _MAX_SCORED:
                break
    chosen.update(dict.fromkeys(islice(found, max(_MAX_SCORED - len(chosen), 0))))
    return list(chosen)


def _is_exact(query: str) -> bool:
    return query != query.lower()


def _pattern(wanted: str) -> str:
    """Return a regular expression for the subsequence that cannot backtrack: no gap contains the next character."""
    return "".join(f"[^\\n{re.escape(char)}]*{re.escape(char)}" for char in wanted)


def _starts_word(name: str, at: int) -> bool:
    before = name[at - 1] if at else "/"
    return before in _SEPARATORS or (name[at].isupper() and before.islower())


def _find_positions(wanted: str, text: str, name: str, base: int) -> list[int] | None:
    """Return the positions of the query's characters in a text; None if they do not occur in that order.

    Preferred are positions next to each other in the last path component, then at starts of words there, then
    anywhere.
    """
    whole = text.find(wanted, base)
    starts = whole
    while starts >= 0 and not _starts_word(name, starts):
        starts = text.find(wanted, starts + 1)
    at = starts if starts >= 0 else whole
    if starts < 0:
        by_word = _match_word_starts(wanted, text, name, base)
        if by_word is not None:
            return by_word
    if at >= 0:
        return list(range(at, at + len(wanted)))
    within = _match_word_starts(wanted, text, name, 0) or _match_leftmost(wanted, text, base)
    if within is not None:
        return within
    at = text.rfind(wanted)
    return list(range(at, at + len(wanted))) if at >= 0 else _match_leftmost(wanted, text, 0)


def _match_word_starts(wanted: str, text: str, name: str, start: int) -> list[int] | None:
    """Return positions where each piece of the query begins a word; None if there are none.

    Each piece is as long as possible.
    """
    positions: list[int] = []
    at = start
    for char in wanted:
        if positions and positions[-1] + 1 < len(text) and text[positions[-1] + 1] == char:
            at = positions[-1] + 1
        else:
            at = text.find(char, at)
            while at >= 0 and not _starts_word(name, at):
                at = text.find(char, at + 1)
            if at < 0:
                return None
        positions.append(at)
        at += 1
    return positions


def _match_leftmost(wanted: str, text: str, start: int) -> list[int] | None:
    """Return the leftmost positions from `start` on; None if a character is missing."""
    positions: list[int] = []
    at = start - 1
    for char in wanted:
        at = text.find(char, at + 1)
        if at < 0:
            return None
        positions.append(at)
    return positions
