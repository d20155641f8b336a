"""One measure for every text, whatever store it lies in: how much of the query it says. Pure.

0.0 to 1.0 by itself, not by what else was found: the share of the query's words that a passage has, each word weighed
by how rare it is in all that is remembered. So a score means the same for a fact and for a passage of a session, today
and tomorrow, and an answer of one bad hit is not a good one.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

from clio.memory.brain.evidence import evidence, having, stems_of, weighed_by
from clio.memory.recall.docs import Having
from clio.memory.recall.passages import passages
from clio.memory.recall.words import folded_words, parse
from clio.text.vocabulary import asked, has_phrase, stem, words

LEAST = 0.5
"""Of the query's words by weight: where a text has less, it is no answer."""
_ALIAS_FLOOR = 0.5
_CLOSE, _EXACT = 0.15, 0.05  # of the score: words that stand together as in the query, and the query as it was typed
_NEAR_WORDS = 3


class Fit(Struct, frozen=True, kw_only=True):
    """How much of the query a text says. score: 0.0 to 1.0. text: its passage that says most.

    hits: the query's words it has. alias: the keyword it was called by; empty without one. exact: it has the query as
    it was typed. enough: it is a reason to bring the text up.
    """

    score: float
    text: str
    hits: tuple[str, ...] = ()
    alias: str = ""
    exact: bool = False
    enough: bool = False


class Ruler:
    """Measures texts against one query.

    texts: those it will be laid on, which say with `spoken`, the words of all transcripts, how rare a word is.
    """

    def __init__(self, query: str, texts: Iterable[str], spoken: Having) -> None:
        said = asked(query)
        bags = [stems_of(text) for text in texts]
        counts: Counter[int] = having(said, bags)
        counts.update({place: spoken.words.get(word.said, 0) for place, word in enumerate(said)})
        self._question = weighed_by(query, said, counts, len(bags) + spoken.passages)
        self._order = _in_order(query, self._question.places)
        self._words = words(query)
        self._phrases = parse(query).phrases

    @property
    def is_blank(self) -> bool:
        """Whether the query has no word that says anything."""
        return not self._question.words

    def fit(self, text: str, keywords: Iterable[str] = (), *, whole: bool = False) -> Fit:
        """How well a text answers: its best passage of up to about 700 characters.

        whole: the text stands for itself, as a fact does; then it also fits where all it says is asked for.
        """
        best = Fit(score=0.0, text=text)
        for piece in passages(text):
            fit = self._fit(piece, keywords, whole=whole)
            if (fit.enough, fit.score) > (best.enough, best.score):
                best = fit
        return best

    def _fit(self, text: str, keywords: Iterable[str], *, whole: bool) -> Fit:
        question = self._question
        names = tuple(keywords)
        bag = stems_of(" ".join((text, *names)) if names else text)
        if question.places.keys().isdisjoint(bag) and not names:
            return Fit(score=0.0, text=text)
        found = evidence(question, bag, names)
        said = {question.places[word] for word in found.said}
        covered = sum(question.weights[place] for place in said)
        share = covered / question.whole if question.whole else 0.0
        if whole:
            share = max(share, found.words)
        if found.alias:
            share = max(share, _ALIAS_FLOOR)
        telling = any(not question.words[place].everyday for place in said)
        enough = found.enough or self._is_enough(said, share, telling=telling)
        if not enough:  # only a vector may still bring it up
            return Fit(score=share * (1 - _CLOSE - _EXACT), text=text, hits=found.hits)
        spoken = words(text)
        exact = has_phrase(spoken, self._words)
        close = 1.0 if exact else self._close(spoken)
        return Fit(
            score=share * (1 - _CLOSE - _EXACT + _CLOSE * close + _EXACT * exact),
            text=text,
            hits=found.hits,
            alias=found.alias,
            exact=exact and len(self._words) > 1,
            enough=self._has_phrases(text),
        )

    @staticmethod
    def _is_enough(said: Collection[int], share: float, *, telling: bool) -> bool:
        """Half of the query; one word that stands in requests of every kind is not enough."""
        return share >= LEAST and (telling or len(said) > 1)

    def _close(self, spoken: Sequence[str]) -> float:
        """The share of the query's neighbours that stand near each other in the text, too."""
        if not self._order:
            return 1.0
        at: dict[int, list[int]] = {}
        for number, word in enumerate(spoken):
            place = self._question.places.get(stem(word))
            if place is not None:
                at.setdefault(place, []).append(number)
        near = sum(
            any(abs(one - other) <= _NEAR_WORDS for one in at.get(first, ()) for other in at.get(second, ()))
            for first, second in self._order
        )
        return near / len(self._order)

    def _has_phrases(self, text: str) -> bool:
        """Whether what stood in double quotes stands in the text."""
        if not self._phrases:
            return True
        spoken = folded_words(text)
        return all(has_phrase(spoken, phrase) for phrase in self._phrases)


def _in_order(query: str, places: Mapping[str, int]) -> list[tuple[int, int]]:
    """The words of the query that say something and follow each other, by place."""
    told = [places[root] for word in words(query) if (root := stem(word)) in places]
    return [(one, other) for one, other in pairwise(told) if one != other]
