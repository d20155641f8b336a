"""Words one slip of a finger away from each other. Pure.

Source: the symmetric delete idea (Garbe, SymSpell): two words one edit apart share a word that is one or both of them
with one letter left out.
"""

LEAST_LETTERS = 5
"""In shorter words one edit makes another word too often."""


def is_misspelling(one: str, other: str) -> bool:
    """Whether two words are the same, or long enough and one letter put in, taken out, changed or swapped apart."""
    if one == other:
        return True
    return min(len(one), len(other)) >= LEAST_LETTERS and _one_edit_apart(one, other)


class KnownWords:
    """Words that are found again when they are misspelt; asking costs what the word's length costs."""

    def __init__(self) -> None:
        self._by_rest: dict[str, set[str]] = {}
        self._words: set[str] = set()

    def add(self, word: str) -> None:
        """Know a word; a short one is passed over."""
        if word not in self._words and len(word) >= LEAST_LETTERS:
            self._words.add(word)
            for rest in _rests(word):
                self._by_rest.setdefault(rest, set()).add(word)

    def like(self, word: str) -> set[str]:
        """The known words this one may have been meant as."""
        if len(word) < LEAST_LETTERS:
            return set()
        found = {known for rest in _rests(word) for known in self._by_rest.get(rest, ())}
        return {known for known in found if is_misspelling(known, word)}


def _rests(word: str) -> set[str]:
    return {word, *(word[:at] + word[at + 1 :] for at in range(len(word)))}


def _one_edit_apart(one: str, other: str) -> bool:
    if abs(len(one) - len(other)) > 1:
        return False
    start = 0
    while start < min(len(one), len(other)) and one[start] == other[start]:
        start += 1
    a, b = one[start:], other[start:]
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or (len(a) > 1 and a[:2] == b[1::-1] and a[2:] == b[2:])
