"""The records of one `memories.json` in memory, indexed by their words and by similarity, and their ranking."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec import Struct

from clio.memory.store.record import ALL_KINDS, TYPED_KINDS, Kind, MemoryRecord
from clio.text.scoring import compute_load_score, compute_recall_score, compute_recency
from clio.text.vocabulary import (
    QuestionWord,
    SpellingIndex,
    extract_terms,
    find_counted_stem,
    is_common_term,
    is_stop_word_stem,
    parse_question_words,
    shorten_question,
    split_identifiers,
    stem_word,
    tokenize,
)

if TYPE_CHECKING:
    from clio.text.similarity import LshIndex


class MemoryIndex:
    """The records of one file, live and superseded, with a word index and a similarity index of the live ones.

    Each index is built when it is first needed and updated from then on.
    """

    def __init__(self) -> None:
        self.records: dict[str, MemoryRecord] = {}
        self._words: _WordIndex | None = None
        self._alike: dict[str, LshIndex[str]] | None = None
        self._live = 0
        self.highest_importance = 1.0
        self._variants: dict[str, dict[str, None]] = {}
        self._by_session: dict[str, dict[str, None]] = {}
        self._by_kind: dict[Kind, dict[str, None]] = {}

    def __len__(self) -> int:
        """Return the number of live records."""
        return self._live

    def clear(self) -> None:
        """Remove all records and indexes, before the files are read again."""
        self.__init__()

    def put(self, record: MemoryRecord) -> None:
        """Add a record, replacing the one with the same id."""
        before = self.records.get(record.id)
        if before is not None:
            self._unlist(before)
        self.records[record.id] = record
        self.highest_importance = max(self.highest_importance, record.importance)
        self._live += record.is_live
        self._by_kind.setdefault(record.kind, {})[record.id] = None
        if record.variants_of is not None:
            self._variants.setdefault(record.variants_of, {})[record.id] = None
        if session := record.session:
            self._by_session.setdefault(session, {})[record.id] = None
        texts = [(one.content, one.keywords, one.kind) for one in (before, record) if one is not None and one.is_live]
        if len(texts) == 2 and texts[0] == texts[1]:
            return
        if before is not None:
            self._unindex(before)
        self._index(record)

    def drop(self, id: str) -> None:
        """Remove a record; does nothing if there is none with this id."""
        before = self.records.pop(id, None)
        if before is not None:
            self._unlist(before)
            self._unindex(before)

    def live(self) -> Iterator[MemoryRecord]:
        """Return the records that no other record supersedes."""
        return (record for record in self.records.values() if record.is_live)

    def _unlist(self, record: MemoryRecord) -> None:
        self._live -= record.is_live
        self._by_kind[record.kind].pop(record.id, None)
        if record.variants_of is not None:
            self._variants[record.variants_of].pop(record.id, None)
        if session := record.session:
            self._by_session[session].pop(record.id, None)

    def of_kind(self, kind: Kind) -> list[MemoryRecord]:
        """Return the live records of a kind, without variants, unsorted; cheaper than all records in order."""
        found = (self.records[id] for id in self._by_kind.get(kind, ()))
        return [record for record in found if record.is_live and not record.is_variant]

    def of_session(self, session: str) -> list[MemoryRecord]:
        """Return the live records that a session led to, without variants, oldest first."""
        found = (self.records[id] for id in self._by_session.get(session, ()))
        return [record for record in found if record.is_live and not record.is_variant]

    def variants(self, id: str) -> tuple[MemoryRecord, ...]:
        """Return the live memories that contradict this one with less confidence, oldest first."""
        return tuple(found for other in self._variants.get(id, ()) if (found := self.records[other]).is_live)

    def matches(self, query: Iterable[str]) -> dict[str, int]:
        """Return the number of the query's terms that each record contains, by id, without records that have none.

        The index has no stop words; if the query is only one stop word, all live records are searched for it.
        """
        terms = frozenset(query)
        found = self._word_index().matches(terms)
        if not found and len(terms) == 1 and all(map(is_stop_word_stem, terms)):
            words = {record.id: tokenize(" ".join((record.content, *record.keywords))) for record in self.live()}
            return {id: 1 for id, spelt in words.items() if not terms.isdisjoint(map(stem_word, spelt))}
        return found

    @property
    def terms(self) -> Mapping[str, frozenset[str]]:
        """The terms of each live record by its id, see `extract_indexed_terms`."""
        return self._word_index().terms

    def count_with_term(self, term: str) -> int:
        """Return the number of live records that contain the term."""
        return self._word_index().count_with_term(term)

    def count_with_each_term(self, terms: Iterable[str]) -> dict[str, int]:
        """Return for each term the number of live records that contain it."""
        return {term: self.count_with_term(term) for term in terms}

    def list_terms(self, question: str, *, keep_single: bool = False) -> frozenset[str]:
        """Return the terms of records that may answer a question: its words in any form, and keywords it may mean.

        Words that occur in requests of every kind count only if there are no others, in a keyword that is in the
        question, or if it asks for their number.

        keep_single: see `parse_question_words`.
        """
        words = parse_question_words(question, keep_single=keep_single)
        counted = find_counted_stem(question)
        telling = [word for word in words if not word.is_common or word.stem == counted] or words
        return frozenset(form for word in telling for form in word.forms) | self.find_keyword_terms(question, words)

    def find_keyword_terms(self, question: str, words: Sequence[QuestionWord]) -> set[str]:
        """Return terms of keywords that a question may mean in spite of their spelling or of everyday words in them.

        A word that a live record contains is no misspelling.
        """
        return self._word_index().keywords.find_terms(
            question, words, [word for word in words if not word.is_common and not self.count_with_term(word.stem)]
        )

    def list_similar(self, type: str, content: str) -> list[MemoryRecord]:
        """Return the live records of a type that may share half of their words with the content; some may not."""
        self.build_similarity_index()
        index = self._alike.get(type) if self._alike else None
        found = index.find_candidates(_signature(content)) if index else ()
        return [self.records[id] for id in found]

    def list_differing_in_numbers(self, kind: str, content: str) -> list[MemoryRecord]:
        """Return the live records of a kind whose text differs from the content only in numbers, in some scripts."""
        from clio.memory.statement_relation import differ_in_numbers, mask_digits

        if mask_digits(content) is None:
            return []
        return [one for one in self.live() if one.kind == kind and differ_in_numbers(one.content, content)]

    def build_similarity_index(self, stop: Callable[[], bool] = lambda: False) -> bool:
        """Build the index for `list_similar` if it does not exist yet; return False if `stop` ended that early."""
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

    def _index(self, record: MemoryRecord) -> None:
        if not record.is_live:
            return
        if self._words is not None:
            self._words.add(record)
        if self._alike is not None:
            self._add_alike(self._alike, record)

    def _unindex(self, record: MemoryRecord) -> None:
        if not record.is_live:
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


class _KeywordIndex:
    """The terms of all keywords. Keywords are never removed: a term without records finds nothing."""

    def __init__(self) -> None:
        self._terms: set[str] = set()
        self._everyday: dict[str, set[frozenset[str]]] = {}
        self._spelling = SpellingIndex()
        self._joined: dict[str, set[str]] = {}

    def add(self, keyword: str) -> None:
        words = tokenize(keyword)
        terms = extract_terms(keyword)
        self._terms.update(terms)
        for term in filter(is_common_term, terms):
            self._everyday.setdefault(term, set()).add(frozenset(terms))
        for word in (*words, *terms):
            self._spelling.add(word)
        if len(words) > 1:
            self._joined.setdefault(stem_word("".join(words)), set()).update(terms)

    def find_terms(self, question: str, words: Sequence[QuestionWord], unknown: Sequence[QuestionWord]) -> set[str]:
        if not self._terms:
            return set()
        asked = frozenset(stem for word in words for stem in word.synonyms)
        named = [terms for stem in asked & self._everyday.keys() for terms in self._everyday[stem] if terms <= asked]
        found = {term for terms in named for term in terms}
        for word in unknown:
            found |= self._joined.get(word.stem, set())
            similar = self._spelling.find_similar(word.stem) | self._spelling.find_similar(word.text)
            found |= {stem_word(other) for other in similar}
        # "time zone" for "timezone"
        joined = (stem_word(first + second) for first, second in pairwise(tokenize(shorten_question(question))))
        return found | self._terms.intersection(joined)


class _WordIndex:
    """The records that contain each term, and the terms of each record."""

    def __init__(self) -> None:
        self.terms: dict[str, frozenset[str]] = {}
        self._having: dict[str, set[str]] = {}
        self.keywords = _KeywordIndex()

    def add(self, record: MemoryRecord) -> None:
        found = self.terms[record.id] = extract_indexed_terms(record)
        for term in found:
            self._having.setdefault(term, set()).add(record.id)
        for keyword in record.keywords:
            self.keywords.add(keyword)

    def remove(self, id: str) -> None:
        for term in self.terms.pop(id, ()):
            ids = self._having[term]
            ids.discard(id)
            if not ids:
                del self._having[term]

    def count_with_term(self, term: str) -> int:
        return len(self._having.get(term, ()))

    def matches(self, query: Iterable[str]) -> dict[str, int]:
        found: Counter[str] = Counter()
        for term in query:
            found.update(self._having.get(term, ()))
        return found


def extract_indexed_terms(record: MemoryRecord) -> frozenset[str]:
    """Return the terms of a record: the stems of its words and keywords, and of the parts of identifiers in them."""
    text = " ".join((record.content, *record.keywords))
    return frozenset((*extract_terms(text), *map(stem_word, split_identifiers(text))))


def _signature(content: str) -> tuple[int, ...]:
    from clio.text.similarity import compute_signature, extract_distinctive_words

    return compute_signature(extract_distinctive_words(content))


class Ranked(Struct, frozen=True, kw_only=True):
    """One result of a query.

    Attributes:
        hits: number of the query's terms that it contains.
        similarity: Jaccard index of its terms and the query's, 0.0 to 1.0.
        recency: 1.0 if used within the last hour, falling to 0.0 at 30 days.
    """

    record: MemoryRecord
    score: float
    hits: int = 0
    similarity: float = 0.0
    recency: float = 0.0


def rank_records(
    index: MemoryIndex, query: str | frozenset[str], limit: int, now: float, kinds: Collection[str] = ALL_KINDS
) -> tuple[Ranked, ...]:
    """Return the best `limit` live memories that share a word with the query; of equals the newest first.

    Args:
        query: text, or the stems of words.
        kinds: the kinds to return.
    """
    asked = set(extract_terms(query)) if isinstance(query, str) else query
    by_hits: dict[int, list[str]] = {}
    for id, hits in index.matches(asked).items():
        by_hits.setdefault(hits, []).append(id)
    records, terms = index.records, index.terms
    best: list[tuple[float, float, str, int, float, float]] = []
    for hits in sorted(by_hits, reverse=True):
        # A common word is in thousands of records. Those with fewer of the words are not scored if even the most
        # important one, just used and without any other word, could not be among the best.
        highest = compute_recall_score(hits, hits / max(len(asked), 1), index.highest_importance, 1.0)
        if len(best) == limit > 0 and -best[-1][0] > highest:
            break
        found = best
        for id in by_hits[hits]:
            record = records[id]
            if record.kind not in kinds:
                continue
            similarity = hits / (len(asked) + len(terms[id]) - hits)
            recency = compute_recency(now - record.accessed)
            score = compute_recall_score(hits, similarity, record.importance, recency)
            found.append((-score, -record.updated, id, hits, similarity, recency))
        best = nsmallest(limit, found)
    return tuple(
        Ranked(
            record=records[id],
            score=-score,
            hits=hits,
            similarity=similarity,
            recency=recency,
        )
        for score, _, id, hits, similarity, recency in best
    )


def rank_without_query(index: MemoryIndex, limit: int, now: float, kinds: Collection[str]) -> tuple[Ranked, ...]:
    """Return the best `limit` live memories without a query; of all kinds, also all preferences."""
    found = [
        Ranked(record=record, score=compute_load_score(record.importance, recency), recency=recency)
        for record in index.live()
        if record.kind in kinds
        for recency in (compute_recency(now - record.accessed),)
    ]
    if len(kinds) < len(TYPED_KINDS):
        return _best(found, limit)
    preferences = [hit for hit in found if hit.record.kind == "preference"]
    others = [hit for hit in found if hit.record.kind != "preference"]
    return _best(preferences, len(preferences)) + _best(others, limit)


def _best(found: list[Ranked], limit: int) -> tuple[Ranked, ...]:
    return tuple(sorted(found, key=lambda hit: (-hit.score, -hit.record.updated, hit.record.id))[:limit])
