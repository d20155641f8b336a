"""Compare texts: MinHash signatures, an LSH index of signatures, and differences that forbid merging two texts."""

import re
import unicodedata
from array import array
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from typing import Any, Generic, Literal, TypeVar, cast

HASH_COUNT = 64
_SEED = 42  # signatures are stored: those of another seed would not be comparable
_WORD = re.compile(r"[^\W_]+(?:[.:/\\-][^\W_]+)*")

Signature = tuple[int, ...]


def split_words(text: str) -> list[str]:
    """Return the words of a text in order, case-folded. A version or path is one word: "3.11.2", "src/app.py"."""
    return _WORD.findall(text.casefold())


def extract_distinctive_words(text: str) -> frozenset[str]:
    """Return the different words of a text without those of one or two letters; all words if nothing else remains."""
    words = frozenset(split_words(text))
    return frozenset(word for word in words if len(word) > 2 or not (word.isascii() and word.isalpha())) or words


def compute_signature(words: Iterable[str]) -> Signature:
    """Return the MinHash signature of a set of words: 64 numbers below 2³², the same in every process.

    The signature of an empty set is unlike any other.
    """
    # Imported late: only writing a memory needs this extension module.
    import rensa  # pyright: ignore[reportMissingTypeStubs]

    hashes: Any = cast(Any, rensa).RMinHash(HASH_COUNT, _SEED)
    hashes.update(sorted(set(words)))
    return tuple(hashes.digest())


def estimate_jaccard(one: Sequence[int], other: Sequence[int]) -> float:
    """Estimate the Jaccard similarity of two sets as the share of equal positions in their signatures, 0.0 to 1.0."""
    return sum(map(int.__eq__, one, other)) / len(one) if one else 0.0


def compute_jaccard(one: Collection[str], other: Collection[str]) -> float:
    """Return |A ∩ B| / |A ∪ B|; 0.0 if both are empty."""
    a, b = frozenset(one), frozenset(other)
    intersection = len(a & b)
    union = len(a) + len(b) - intersection
    return intersection / union if union else 0.0


# With 21 bands of 3 rows, texts with a Jaccard similarity of 0.5 share a band with a probability of 0.94, those with
# 0.85 practically always, and those with 0.1 with 0.02: 1 − (1 − s³)²¹.
BAND_COUNT, ROWS_PER_BAND = 21, 3
_HASH_BYTES = array("I").itemsize

Key = TypeVar("Key", bound=Hashable)


class LshIndex(Generic[Key]):
    """Finds keys with a similar signature, by locality-sensitive hashing of signature bands.

    Each operation takes constant time.
    """

    def __init__(self) -> None:
        self._buckets: list[dict[bytes, list[Key]]] = [{} for _ in range(BAND_COUNT)]
        self._bands_by_key: dict[Key, bytes] = {}

    def __len__(self) -> int:
        return len(self._bands_by_key)

    def __contains__(self, key: Key) -> bool:
        return key in self._bands_by_key

    def add(self, key: Key, signature: Sequence[int]) -> None:
        """Add a key or replace its signature (numbers below 2³²). Raises ValueError if the signature is too short."""
        if len(signature) < BAND_COUNT * ROWS_PER_BAND:
            raise ValueError(f"{len(signature)} hashes are too few for {BAND_COUNT} bands of {ROWS_PER_BAND}")
        self.remove(key)
        self._bands_by_key[key] = packed = _pack_signature(signature)
        for buckets, band in self._iterate_bands(packed):
            if band in buckets:
                buckets[band].append(key)
            else:
                buckets[band] = [key]

    def remove(self, key: Key) -> None:
        """Remove a key; unknown keys are ignored."""
        packed = self._bands_by_key.pop(key, None)
        if packed is None:
            return
        for buckets, band in self._iterate_bands(packed):
            buckets[band].remove(key)
            if not buckets[band]:
                del buckets[band]

    def find_candidates(self, signature: Sequence[int]) -> set[Key]:
        """Return the keys that share a band with this signature: nearly all similar ones, and some that are not."""
        found: set[Key] = set()
        for buckets, band in self._iterate_bands(_pack_signature(signature)):
            found.update(buckets.get(band, ()))
        return found

    def _iterate_bands(self, packed: bytes) -> Iterator[tuple[dict[bytes, list[Key]], bytes]]:
        width = _HASH_BYTES * ROWS_PER_BAND
        return zip(self._buckets, (packed[at : at + width] for at in range(0, len(packed), width)), strict=False)


def _pack_signature(signature: Sequence[int]) -> bytes:
    return array("I", signature).tobytes()


DifferenceKind = Literal["number", "path", "negation", "script", "value"]

_NUMBER = re.compile(r"(?<![^\W\d_])\d+(?:[.,:]\d+)*|[^\W\d_]+\d+[\w.-]*", re.UNICODE)
_PATH = re.compile(r"(?:[\w.~-]*[/\\])+[\w.~*-]*|\b\w+\.(?:[A-Za-z]\w{0,5})\b")
_NEGATION = re.compile(
    r"\b(?:no|not|never|none|nothing|without|nor|cannot|can't|don't|doesn't|didn't|won't|isn't|aren't|wasn't|weren't|"
    r"shouldn't|mustn't|couldn't|wouldn't|hasn't|haven't|avoid|stop|except|unless|disabled?|off)\b"
)
_ASSIGNMENT = re.compile(
    r"\b(?:is|are|was|were|be|uses?|using|has|have|means?|equals?|lives?\s+(?:in|at|on)|runs?\s+(?:on|at|with|in)|listens?\s+on|"
    r"prefers?|called|named|goes\s+to|deployed\s+(?:to|on|with))\b|[:=]"
)


def find_differences(one: str, other: str) -> frozenset[DifferenceKind]:
    """Return the kinds of difference that forbid merging the two texts. Empty for equal texts.

    - number: numbers, versions or names with digits differ.
    - path: paths or file names differ.
    - negation: only one is negated.
    - value: same words before "is", "uses", ":" and the like, but other words after it, not just more of them.
    - script: one of them is mostly not in Latin script, where overlap of words means little.
    """
    a, b = _normalize(one), _normalize(other)
    if a == b:
        return frozenset()
    found: set[DifferenceKind] = set()
    if _find_numbers(a) != _find_numbers(b):
        found.add("number")
    if _find_paths(a) != _find_paths(b):
        found.add("path")
    if bool(_NEGATION.search(a)) != bool(_NEGATION.search(b)):
        found.add("negation")
    if _has_same_subject_other_value(a, b):
        found.add("value")
    if not (_is_mostly_latin(a) and _is_mostly_latin(b)):
        found.add("script")
    return frozenset(found)


def _normalize(text: str) -> str:
    text = unicodedata.normalize("NFC", text).replace("’", "'").casefold()
    return " ".join(text.split()).rstrip(".!;, ")


def _find_numbers(text: str) -> list[str]:
    return sorted(_NUMBER.findall(text))


def _find_paths(text: str) -> list[str]:
    return sorted(path.rstrip(".") for path in _PATH.findall(text))


def _has_same_subject_other_value(one: str, other: str) -> bool:
    first, second = _split_at_assignment(one), _split_at_assignment(other)
    if first is None or second is None or first[0] != second[0]:
        return False
    return not (first[1] <= second[1] or second[1] <= first[1])


def _split_at_assignment(text: str) -> tuple[frozenset[str], frozenset[str]] | None:
    """Return the words before the first "is", "uses", ":" and the like, and those after it; None if there is none."""
    found = _ASSIGNMENT.search(text)
    if found is None:
        return None
    subject = frozenset(re.findall(r"\w+", text[: found.start()])) - {"the", "a", "an", "our", "my", "this"}
    value = frozenset(re.findall(r"\w+", text[found.end() :]))
    return (subject, value) if subject and value else None


def _is_mostly_latin(text: str) -> bool:
    letters = [char for char in text if char.isalpha()]
    latin = sum(1 for char in letters if "LATIN" in unicodedata.name(char, ""))
    return bool(letters) and latin * 2 > len(letters)
