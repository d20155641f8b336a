"""The memories of one file in this process: by id, by their words, by likeness, and ranked by a query."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from clio.memory.store.record import MemoryRecord
from clio.text.scoring import compute_load_score, compute_recall_score, compute_recency, is_relevant_to_query
from clio.text.vocabulary import SpellingIndex, extract_terms, split_identifiers, stem_word

if TYPE_CHECKING:
    from clio.text.similarity import LshIndex


class Shelf:
    """Records and two indexes over the live ones, each made when it is first asked for and kept up from then on."""

    def __init__(self) -> None:
        self.records: dict[str, MemoryRecord] = {}
        self._words: _WordIndex | None = None
        self._alike: dict[str, LshIndex[str]] | None = None
        self._live = 0
        self._variants: dict[str, dict[str, None]] = {}

    def __len__(self) -> int:
        """How many are live."""
        return self._live

    def clear(self) -> None:
        """Forget all of it: the files are to be read anew."""
        self.__init__()

    def put(self, record: MemoryRecord) -> None:
        """Put a record in, or in the place of the one with its id."""
        before = self.records.get(record.id)
        self.records[record.id] = record
        if before is not None and before.variants_of is not None:
            self._variants[before.variants_of].pop(record.id, None)
        if record.variants_of is not None:
            self._variants.setdefault(record.variants_of, {})[record.id] = None
        self._live += record.is_live - (before is not None and before.is_live)
        if before is not None and before.is_live and record.is_live and _same_index(before, record):
            return
        self._unindex(before)
        self._index(record)

    def drop(self, id: str) -> None:
        """Take a record out; one that is not in is passed over."""
        before = self.records.pop(id, None)
        self._live -= before is not None and before.is_live
        if before is not None and before.variants_of is not None:
            self._variants[before.variants_of].pop(id, None)
        self._unindex(before)

    def live(self) -> Iterator[MemoryRecord]:
        """The records nothing has taken the place of."""
        return (record for record in self.records.values() if record.is_live)

    def variants(self, id: str) -> tuple[MemoryRecord, ...]:
        """The live memories that contradict this one with less confidence, in the order they came."""
        return tuple(found for other in self._variants.get(id, ()) if (found := self.records[other]).is_live)

    def matches(self, query: Iterable[str]) -> dict[str, int]:
        """Id → how many of the query's terms the record has, of those that have at least one."""
        return self._word_index().matches(query)

    def size(self, id: str) -> int:
        """How many different terms a live record has."""
        return self._word_index().sizes[id]

    def having(self, term: str) -> int:
        """How many live records have the term."""
        return self._word_index().having(term)

    def keywords_like(self, term: str) -> set[str]:
        """The stems of keywords this one may be a misspelling of, if no live record has it."""
        return set() if self.having(term) else self._word_index().keywords.find_similar(term)

    def alike(self, type: str, content: str) -> list[MemoryRecord]:
        """Live records of a type that may share half of their words with the content, and some that do not."""
        index = self._alike_index().get(type)
        found = index.find_candidates(_signature(content)) if index else ()
        return [self.records[id] for id in found]

    def index_alike(self, stop: Callable[[], bool]) -> bool:
        """Make the index that `alike` asks, if there is none; False where it was stopped and is not there."""
        if self._alike is None:
            made: dict[str, LshIndex[str]] = {}
            for record in self.live():
                if stop():
                    return False
                self._add_alike(made, record)
            self._alike = made
        return True

    def _word_index(self) -> "_WordIndex":
        if self._words is None:
            self._words = _WordIndex()
            for record in self.live():
                self._words.add(record)
        return self._words

    def _alike_index(self) -> "dict[str, LshIndex[str]]":
        if self._alike is None:
            self._alike = {}
            for record in self.live():
                self._add_alike(self._alike, record)
        return self._alike

    def _index(self, record: MemoryRecord) -> None:
        if not record.is_live:
            return
        if self._words is not None:
            self._words.add(record)
        if self._alike is not None:
            self._add_alike(self._alike, record)

    def _unindex(self, record: MemoryRecord | None) -> None:
        if record is None or not record.is_live:
            return
        if self._words is not None:
            self._words.remove(record.id)
        if self._alike is not None and record.kind in self._alike:
            self._alike[record.kind].remove(record.id)

    @staticmethod
    def _add_alike(indexes: "dict[str, LshIndex[str]]", record: MemoryRecord) -> None:
        from clio.text.similarity import LshIndex

        index = indexes.setdefault(record.kind, LshIndex())
        index.add(record.id, _signature(record.content))


class _WordIndex:
    """Which records have which terms."""

    def __init__(self) -> None:
        self.sizes: dict[str, int] = {}
        self._having: dict[str, set[str]] = {}
        self._terms: dict[str, frozenset[str]] = {}
        self.keywords = SpellingIndex()  # one that no record has any more finds nothing

    def add(self, record: MemoryRecord) -> None:
        found = self._terms[record.id] = indexed_terms(record)
        self.sizes[record.id] = len(found)
        for term in found:
            self._having.setdefault(term, set()).add(record.id)
        for keyword in record.keywords:
            for term in extract_terms(keyword):
                self.keywords.add(term)

    def remove(self, id: str) -> None:
        for term in self._terms.pop(id, ()):
            ids = self._having[term]
            ids.discard(id)
            if not ids:
                del self._having[term]
        self.sizes.pop(id, None)

    def having(self, term: str) -> int:
        return len(self._having.get(term, ()))

    def matches(self, query: Iterable[str]) -> dict[str, int]:
        found: Counter[str] = Counter()
        for term in query:
            found.update(self._having.get(term, ()))
        return found


def indexed_terms(record: MemoryRecord) -> frozenset[str]:
    """What a record is found by: the stems of its words and of its keywords, and of the parts of names in them."""
    text = " ".join((record.content, *record.keywords))
    return frozenset((*extract_terms(text), *map(stem_word, split_identifiers(text))))


def _signature(content: str) -> tuple[int, ...]:
    from clio.text.similarity import compute_signature, distinctive_words

    return compute_signature(distinctive_words(content))


def _same_index(one: MemoryRecord, other: MemoryRecord) -> bool:
    return one.content == other.content and one.keywords == other.keywords and one.kind == other.kind


class Ranked(Struct, frozen=True, kw_only=True):
    """One answer. hits: how many words of the query it has. similarity: the Jaccard index of its terms and the query's.

    recency: 1.0 used within the hour, 0.0 from 30 days.
    """

    record: MemoryRecord
    score: float
    hits: int = 0
    similarity: float = 0.0
    recency: float = 0.0


def rank(
    shelf: Shelf, query: str | frozenset[str], limit: int, now: float, *, wanted: str = "", unwanted: str = ""
) -> tuple[Ranked, ...]:
    """The best `limit` live memories that share a word with the query; the newest first where scores are the same.

    query: words, or the stems of words.
    """
    asked = set(extract_terms(query)) if isinstance(query, str) else query
    found: list[Ranked] = []
    for id, hits in shelf.matches(asked).items():
        record = shelf.records[id]
        if (wanted and record.kind != wanted) or record.kind == unwanted:
            continue
        similarity = hits / (len(asked) + shelf.size(id) - hits)
        recency = compute_recency(now - record.accessed)
        if is_relevant_to_query(hits, similarity):
            score = compute_recall_score(hits, similarity, record.importance, recency)
            found.append(Ranked(record=record, score=score, hits=hits, similarity=similarity, recency=recency))
    return _best(found, limit)


def load_all(shelf: Shelf, limit: int, now: float, *, wanted: str = "", unwanted: str = "") -> tuple[Ranked, ...]:
    """The best `limit` without a query; where no type is asked for, all preferences and the best `limit` others."""
    found = [
        Ranked(record=record, score=compute_load_score(record.importance, recency), recency=recency)
        for record in shelf.live()
        if (not wanted or record.kind == wanted) and record.kind != unwanted
        for recency in (compute_recency(now - record.accessed),)
    ]
    if wanted or unwanted:
        return _best(found, limit)
    preferences = [hit for hit in found if hit.record.kind == "preference"]
    others = [hit for hit in found if hit.record.kind != "preference"]
    return _best(preferences, len(preferences)) + _best(others, limit)


def _best(found: list[Ranked], limit: int) -> tuple[Ranked, ...]:
    return tuple(sorted(found, key=_order)[:limit])


def _order(hit: Ranked) -> tuple[float, float, str]:
    return -hit.score, -hit.record.updated, hit.record.id
