"""What two texts differ in that is worth keeping apart, however alike their words are.

"The dev server listens on port 8080" and "… on port 8081" share most words and contradict each other: the second
replaces the first, it does not merge with it. Pure; English rules, and for every other script the rule never to merge.
"""

import re
import unicodedata
from typing import Literal

from clio.algorithms.late_pattern import LatePattern

Difference = Literal["number", "path", "negation", "script", "value"]

_NUMBER = LatePattern(r"(?<![^\W\d_])\d+(?:[.,:]\d+)*|[^\W\d_]+\d+[\w.-]*", re.UNICODE)
_PATH = LatePattern(r"(?:[\w.~-]*[/\\])+[\w.~*-]*|\b\w+\.(?:[A-Za-z]\w{0,5})\b")
_NEGATION = LatePattern(
    r"\b(?:no|not|never|none|nothing|without|nor|cannot|can't|don't|doesn't|didn't|won't|isn't|aren't|wasn't|weren't|"
    r"shouldn't|mustn't|couldn't|wouldn't|hasn't|haven't|avoid|stop|except|unless|disabled?|off)\b"
)
_ASSIGNS = LatePattern(
    r"\b(?:is|are|was|were|be|uses?|using|has|have|means?|equals?|lives?\s+(?:in|at|on)|runs?\s+(?:on|at|with|in)|listens?\s+on|"
    r"prefers?|called|named|goes\s+to|deployed\s+(?:to|on|with))\b|[:=]"
)


def differences(one: str, other: str) -> frozenset[Difference]:
    """In which of the ways that forbid a merge the two texts differ.

    number: the numbers, versions or names with digits. path: paths and file names. negation: one says not.
    value: the same words before "is", "uses", ":" …, and after it other words, not just more of them. script: either is
    mostly not Latin, where word overlap says little. Two equal texts never differ.
    """
    a, b = _plain(one), _plain(other)
    if a == b:
        return frozenset()
    found: set[Difference] = set()
    if _numbers(a) != _numbers(b):
        found.add("number")
    if _paths(a) != _paths(b):
        found.add("path")
    if bool(_NEGATION.search(a)) != bool(_NEGATION.search(b)):
        found.add("negation")
    if _same_subject_other_value(a, b):
        found.add("value")
    if not (_is_latin(a) and _is_latin(b)):
        found.add("script")
    return frozenset(found)


def before_assignment(text: str) -> str:
    """What stands before the first word that assigns ("is", "uses", "listens on", ":"); all of it where none does."""
    found = _ASSIGNS.search(text.casefold())
    return text[: found.start()] if found else text


def _plain(text: str) -> str:
    text = unicodedata.normalize("NFC", text).replace("’", "'").casefold()
    return " ".join(text.split()).rstrip(".!;, ")


def _numbers(text: str) -> list[str]:
    return sorted(_NUMBER.findall(text))


def _paths(text: str) -> list[str]:
    return sorted(path.rstrip(".") for path in _PATH.findall(text))


def _same_subject_other_value(one: str, other: str) -> bool:
    first, second = _split(one), _split(other)
    if first is None or second is None or first[0] != second[0]:
        return False
    return not (first[1] <= second[1] or second[1] <= first[1])


def _split(text: str) -> tuple[frozenset[str], frozenset[str]] | None:
    """The words before the first word that assigns, and those after it; None where nothing is assigned."""
    found = _ASSIGNS.search(text)
    if found is None:
        return None
    subject = frozenset(re.findall(r"\w+", text[: found.start()])) - {"the", "a", "an", "our", "my", "this"}
    value = frozenset(re.findall(r"\w+", text[found.end() :]))
    return (subject, value) if subject and value else None


def _is_latin(text: str) -> bool:
    letters = [char for char in text if char.isalpha()]
    latin = sum(1 for char in letters if "LATIN" in unicodedata.name(char, ""))
    return bool(letters) and latin * 2 > len(letters)
