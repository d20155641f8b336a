"""What a new memory is to one that is there already: the same, its successor, doubtful, or something else. Pure.

Numbers come first: 0.85 and 0.50 are the typed-memory document's thresholds; before they may merge anything, a changed
number, path, negation or value makes the new one the successor of the old.
"""

import re
from typing import Literal

from clio.memory.typed.record import same_words
from clio.text.similarity import before_assignment, differences
from clio.text.vocabulary import STOP_WORDS, stem

Verdict = Literal["same", "successor", "doubtful", "other"]
MERGE, DOUBT = 0.85, 0.50
_LEAST_SUBJECT, _SUBJECT_SHARE = 2, 0.75

_WORD = re.compile(r"\w+(?:[.:/\\-]\w+)*'?\w*")
_UPDATES = re.compile(
    r"\b(?:now|no longer|any ?more|instead|from now on|as of|since today|moved (?:to|from)|changed (?:to|from)|"
    r"switched (?:to|from)|renamed|replaced|became|correction|actually|used to be)\b",
    re.I,
)
_NOW = re.compile(r"\b(?:from )?now(?: on)?\b", re.I)
_NOT_A_SUBJECT = frozenset(
    stem(word)
    for word in (
        "now no longer any anymore more instead move moves moved change changed switch switched rename renamed replace "
        "replaced became become correction actually use uses used using run runs live lives listen listens is not "
        "never don't doesn't isn't can't cannot new old current currently today"
    ).split()
)


def judge(old: str, new: str, similarity: float) -> Verdict:
    """What `new` is to `old`, two memories of one type whose words have this Jaccard index (0.0 to 1.0)."""
    if same_words(old, new):
        return "same"
    if similarity < DOUBT and not announces_change(new):
        return "other"
    apart = differences(old, new)
    if similarity >= DOUBT and apart - {"script"} and _is_about_the_same(old, new, value_differs="value" in apart):
        return "successor"
    if apart:
        return "successor" if is_update(old, new) else "other"
    if similarity >= MERGE or same_words(_NOW.sub(" ", old), _NOW.sub(" ", new)):
        return "same"
    if is_update(old, new):
        return "successor"
    return "doubtful" if similarity >= DOUBT else "other"


def is_update(old: str, new: str) -> bool:
    """Whether the new one says of itself that something has changed ("now", "no longer", "moved to"), about the old's
    subject: three quarters of the words of whichever has fewer, and at least two of them.
    """
    return announces_change(new) and bool(differences(old, new) - {"script"}) and _shares_subject(old, new)


def announces_change(text: str) -> bool:
    """Whether a text says that something is not as it was."""
    return _UPDATES.search(text) is not None


def subject_words(text: str) -> frozenset[str]:
    """What a memory is about: its stems without stop words, numbers, paths and the words of change.

    A name with a number in it, such as "db1", is a value behind "is" or "listens on", and a subject before it.
    """
    found = [word.casefold() for word in _WORD.findall(text)]
    plain = {stem(word) for word in found if word not in STOP_WORDS and not _is_value(word)}
    named = {word for word in _WORD.findall(before_assignment(text).casefold()) if _is_numbered_name(word)}
    return frozenset(plain | named) - _NOT_A_SUBJECT


def _is_about_the_same(old: str, new: str, *, value_differs: bool) -> bool:
    """Whether, numbers and the like aside, one says nothing the other does not: else both are worth having."""
    one, other = subject_words(old), subject_words(new)
    return bool(one) and (value_differs or one <= other or other <= one)


def _shares_subject(old: str, new: str) -> bool:
    one, other = subject_words(old), subject_words(new)
    shared = len(one & other)
    return shared >= _LEAST_SUBJECT and shared >= _SUBJECT_SHARE * min(len(one), len(other))


def _is_numbered_name(word: str) -> bool:
    return word[0].isalpha() and _is_value(word) and word.isalnum()


def _is_value(word: str) -> bool:
    return any(char.isdigit() for char in word) or "/" in word or "\\" in word
