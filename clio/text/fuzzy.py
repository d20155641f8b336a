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
    row_before_last: list[int] = []
    last_row = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        current_row = [row]
        for column, other_letter in enumerate(other, 1):
            cost = min(
                last_row[column] + 1, current_row[column - 1] + 1, last_row[column - 1] + (letter != other_letter)
            )
            if row > 1 and column > 1 and letter == other[column - 2] and one[row - 2] == other_letter:
                cost = min(cost, row_before_last[column - 2] + 1)
            current_row.append(cost)
        row_before_last, last_row = last_row, current_row
    return last_row[-1]


WORD_START_POINTS = 8.0
CONSECUTIVE_POINTS = 9.0
IN_BASENAME_POINTS = 3.0
BASENAME_START_POINTS = 10.0
WHOLE_BASENAME_POINTS = 30.0
EXACT_CASE_POINTS = 0.5
_GAP_PENALTY, _MAX_GAP_PENALTY = 0.3, 4.0  # per skipped character; without a limit, long paths would never win
_LENGTH_PENALTY = 0.05  # penalty per character of the name: of two equal matches, the shorter name wins
_MAX_SCORED_NAMES = 250
"""Maximum number of names scored in full for one query. Of more matches, the likelier ones are preselected cheaply."""
_SEPARATORS = "/_-. \\:"


def score_match(query: str, name: str) -> float | None:
    """Return how well a name matches a query, higher is better.

    None if the name does not contain the query's characters in that order. Only scores of the same query are
    comparable. Spaces in the query are ignored; an empty query matches everything.
    """
    characters = "".join(query.split())
    is_exact = _is_case_sensitive(characters)
    text = name if is_exact else name.lower()
    if not characters:
        return -_LENGTH_PENALTY * len(name)
    base_start = name.rstrip("/").rfind("/") + 1
    positions = _find_positions(characters, text, name, base_start)
    if positions is None:
        return None
    total = -_LENGTH_PENALTY * len(name)
    previous = -2
    for char, position in zip(characters, positions, strict=True):
        total += (
            1.0
            + (IN_BASENAME_POINTS if position >= base_start else 0.0)
            + (WORD_START_POINTS if _is_word_start(name, position) else 0.0)
        )
        total += EXACT_CASE_POINTS if name[position] == char else 0.0
        if position == previous + 1:
            total += CONSECUTIVE_POINTS
        elif previous >= 0:
            total -= min(_GAP_PENALTY * (position - previous - 1), _MAX_GAP_PENALTY)
        previous = position
    if positions[0] == base_start:
        total += BASENAME_START_POINTS
        stem = text[base_start:].rstrip("/")
        if characters in (stem, stem.rpartition(".")[0]):
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
        self._all_texts = {
            False: ordered if self._map_by_lower_case is self._exact else list(self._map_by_lower_case),
            True: ordered,
        }
        self._joined_texts: dict[bool, str] = {}
        self._last_search: tuple[str, list[str]] = ("", self._all_texts[False])

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
        characters = "".join(query.split())
        boosts = boosts or {}
        name_of = self._exact if _is_case_sensitive(characters) else self._map_by_lower_case
        ranked: list[tuple[float, str]] = []
        boosted = [name for name in boosts if name in self._exact]
        likely = [
            name_of[text] for text in _preselect_likely(self._find_containing(characters), characters, self._bases)
        ]
        for name in dict.fromkeys((*boosted, *likely)):
            points = score_match(characters, name)
            if points is not None:
                ranked.append((-points - boosts.get(name, 0.0), name))
        ranked.sort()
        return [name for _, name in ranked[:limit]]

    def _find_containing(self, characters: str) -> list[str]:
        """Return the texts of all names that contain the query's characters in order."""
        exact = _is_case_sensitive(characters)
        narrowed_query, candidates = self._last_search
        if (
            not narrowed_query
            or not characters.startswith(narrowed_query)
            or exact != _is_case_sensitive(narrowed_query)
        ):
            narrowed_query, candidates = "", self._all_texts[exact]
        if characters != narrowed_query:
            if len(characters) == 1:
                candidates = [text for text in candidates if characters in text]
            else:
                joined = "\n".join(candidates) if narrowed_query else self._join_all_texts(exact)
                candidates = re.findall(f"^{_make_subsequence_pattern(characters)}.*$", joined, re.MULTILINE)
            self._last_search = (characters, candidates)
        return candidates

    def _join_all_texts(self, exact: bool) -> str:
        if exact not in self._joined_texts:
            self._joined_texts[exact] = "\n".join(self._all_texts[exact])
        return self._joined_texts[exact]


def _map_by_lower_case(ordered: Sequence[str]) -> dict[str, str]:
    """Return the names by their lower-case text, or by their exact text if two names would be equal in lower case."""
    names_by_text: dict[str, str] = {}
    for name in ordered:
        lower = name.lower()
        names_by_text.setdefault(name if lower == name or lower in names_by_text else lower, name)
    return names_by_text


def _preselect_likely(found: list[str], characters: str, bases: Mapping[str, str]) -> Sequence[str]:
    """Return at most `_MAX_SCORED_NAMES` texts, the likeliest first.

    First come those whose last path component starts with the query, then those where it contains the query, then
    those where it starts with the same character, then all others.
    """
    if len(found) <= _MAX_SCORED_NAMES:
        return found
    chosen: dict[str, None] = {}
    if characters:
        first = characters[0]
        for group in (
            (text for text in found if bases[text].startswith(characters)),
            (text for text in found if characters in bases[text]),
            (text for text in found if bases[text].startswith(first)),
        ):
            chosen.update(dict.fromkeys(islice(group, _MAX_SCORED_NAMES)))
            if len(chosen) >= _MAX_SCORED_NAMES:
                break
    chosen.update(dict.fromkeys(islice(found, max(_MAX_SCORED_NAMES - len(chosen), 0))))
    return list(chosen)


def _is_case_sensitive(query: str) -> bool:
    """Whether the query has a capital letter: only then does the case of letters matter."""
    return query != query.lower()


def _make_subsequence_pattern(characters: str) -> str:
    """Return a regular expression for the subsequence that cannot backtrack: no gap contains the next character."""
    return "".join(f"[^\\n{re.escape(char)}]*{re.escape(char)}" for char in characters)


def _is_word_start(name: str, position: int) -> bool:
    previous = name[position - 1] if position else "/"
    return previous in _SEPARATORS or (name[position].isupper() and previous.islower())


def _find_positions(characters: str, text: str, name: str, base_start: int) -> list[int] | None:
    """Return the positions of the query's characters in a text; None if they do not occur in that order.

    Preferred are positions next to each other in the last path component, then at starts of words there, then
    anywhere.
    """
    run = text.find(characters, base_start)
    run_at_word = run
    while run_at_word >= 0 and not _is_word_start(name, run_at_word):
        run_at_word = text.find(characters, run_at_word + 1)
    start = run_at_word if run_at_word >= 0 else run
    if run_at_word < 0:
        at_word_starts = _match_word_starts(characters, text, name, base_start)
        if at_word_starts is not None:
            return at_word_starts
    if start >= 0:
        return list(range(start, start + len(characters)))
    scattered = _match_word_starts(characters, text, name, 0) or _match_leftmost(characters, text, base_start)
    if scattered is not None:
        return scattered
    start = text.rfind(characters)
    return list(range(start, start + len(characters))) if start >= 0 else _match_leftmost(characters, text, 0)


def _match_word_starts(characters: str, text: str, name: str, start: int) -> list[int] | None:
    """Return positions where each piece of the query begins a word; None if there are none.

    Each piece is as long as possible.
    """
    positions: list[int] = []
    position = start
    for char in characters:
        if positions and positions[-1] + 1 < len(text) and text[positions[-1] + 1] == char:
            position = positions[-1] + 1
        else:
            position = text.find(char, position)
            while position >= 0 and not _is_word_start(name, position):
                position = text.find(char, position + 1)
            if position < 0:
                return None
        positions.append(position)
        position += 1
    return positions


def _match_leftmost(characters: str, text: str, start: int) -> list[int] | None:
    """Return the leftmost positions from `start` on; None if a character is missing."""
    positions: list[int] = []
    position = start - 1
    for char in characters:
        position = text.find(char, position + 1)
        if position < 0:
            return None
        positions.append(position)
    return positions
