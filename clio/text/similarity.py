"""How alike two texts are: MinHash, buckets of what may be alike, and differences that keep texts apart."""

import re
import unicodedata
from array import array
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from typing import Any, Generic, Literal, TypeVar, cast

HASHES = 64
_SEED = 42  # part of what is stored: another seed gives signatures that cannot be compared
_WORD = re.compile(r"[^\W_]+(?:[.:/\\-][^\W_]+)*")

Signature = tuple[int, ...]


def words_of(text: str) -> list[str]:
    """The words of a text in order, case-folded; a number, a version or a path is one word: "3.11.2", "src/app.py"."""
    return _WORD.findall(text.casefold())


def tokens_of(text: str) -> frozenset[str]:
    """The different words of a text that tell it from others, which those of one or two letters do not."""
    words = frozenset(words_of(text))
    return frozenset(word for word in words if len(word) > 2 or not (word.isascii() and word.isalpha())) or words


def signature(words: Iterable[str]) -> Signature:
    """64 numbers below 2³²; the same in every process. No words give a signature that is like no other's."""
    import rensa  # pyright: ignore[reportMissingTypeStubs]

    hashes: Any = cast(Any, rensa).RMinHash(HASHES, _SEED)
    hashes.update(sorted(set(words)))
    return tuple(hashes.digest())


def estimate(one: Sequence[int], other: Sequence[int]) -> float:
    """The estimated Jaccard index of two signatures of the same length: the share of places in which they agree."""
    return sum(map(int.__eq__, one, other)) / len(one) if one else 0.0


def jaccard(one: Collection[str], other: Collection[str]) -> float:
    """|A ∩ B| / |A ∪ B|, exactly; 0.0 where both are empty."""
    a, b = frozenset(one), frozenset(other)
    both = len(a & b)
    whole = len(a) + len(b) - both
    return both / whole if whole else 0.0


BANDS, ROWS = 21, 3
_HASH_BYTES = array("I").itemsize

Key = TypeVar("Key", bound=Hashable)


class LshIndex(Generic[Key]):
    """Keys by the bands of their signatures. Adding, removing and asking cost the same however many there are."""

    def __init__(self, bands: int = BANDS, rows: int = ROWS) -> None:
        self._rows = rows
        self._buckets: list[dict[bytes, list[Key]]] = [{} for _ in range(bands)]
        self._kept: dict[Key, bytes] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def __contains__(self, key: Key) -> bool:
        return key in self._kept

    def add(self, key: Key, signature: Sequence[int]) -> None:
        """Put a key in, or anew with another signature of numbers below 2³².

        Raises ValueError for one too short for the bands.
        """
        bands = len(self._buckets)
        if len(signature) < bands * self._rows:
            raise ValueError(f"{len(signature)} hashes are too few for {bands} bands of {self._rows}")
        self.remove(key)
        self._kept[key] = packed = _packed(signature)
        for buckets, band in self._banded(packed):
            if band in buckets:
                buckets[band].append(key)
            else:
                buckets[band] = [key]

    def remove(self, key: Key) -> None:
        """Take a key out; one that is not in is passed over."""
        packed = self._kept.pop(key, None)
        if packed is None:
            return
        for buckets, band in self._banded(packed):
            buckets[band].remove(key)
            if not buckets[band]:
                del buckets[band]

    def candidates(self, signature: Sequence[int]) -> set[Key]:
        """The keys that share a bucket with this signature: almost all that are alike, and some that are not."""
        found: set[Key] = set()
        for buckets, band in self._banded(_packed(signature)):
            found.update(buckets.get(band, ()))
        return found

    def _banded(self, packed: bytes) -> Iterator[tuple[dict[bytes, list[Key]], bytes]]:
        width = _HASH_BYTES * self._rows
        return zip(self._buckets, (packed[at : at + width] for at in range(0, len(packed), width)), strict=False)


def _packed(signature: Sequence[int]) -> bytes:
    return array("I", signature).tobytes()


Difference = Literal["number", "path", "negation", "script", "value"]

_NUMBER = re.compile(r"(?<![^\W\d_])\d+(?:[.,:]\d+)*|[^\W\d_]+\d+[\w.-]*", re.UNICODE)
_PATH = re.compile(r"(?:[\w.~-]*[/\\])+[\w.~*-]*|\b\w+\.(?:[A-Za-z]\w{0,5})\b")
_NEGATION = re.compile(
    r"\b(?:no|not|never|none|nothing|without|nor|cannot|can't|don't|doesn't|didn't|won't|isn't|aren't|wasn't|weren't|"
    r"shouldn't|mustn't|couldn't|wouldn't|hasn't|haven't|avoid|stop|except|unless|disabled?|off)\b"
)
_ASSIGNS = re.compile(
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
