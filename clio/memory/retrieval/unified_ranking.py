"""One measure and one order for everything that was found, and for notes and project memory alone. Pure.

Source: the adaptive-memory document for the tiers and the reciprocal ranks."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Protocol

from msgspec import Struct, structs

from clio.memory.retrieval.evidence import evidence, having, stems_of, weighed_by
from clio.memory.retrieval.results import Found, Fusion, Layer, Place, Reason, Source, UnifiedHit
from clio.memory.store.record import Hit, Knowledge, Note
from clio.memory.transcripts.query import folded_words, parse, passages
from clio.memory.transcripts.transcript_records import Having
from clio.text.formatting import format_stored_time
from clio.text.scoring import DAY_S, RRF_K, TIER_WEIGHTS, compute_rrf_score
from clio.text.similarity import compute_jaccard, find_differences
from clio.text.vocabulary import (
    compute_coverage,
    compute_rarity,
    extract_terms,
    has_phrase,
    parse_question_words,
    stem_word,
    tokenize,
)

HALF_LIFE_DAYS: Mapping[Layer, float] = {"L0": 30.0, "L1": 90.0, "L2": 180.0}
LEAST_RECENCY = 0.7
LEAST_STRENGTH = 0.7
_TIER_OF: Mapping[Source, str] = {
    "trimmed": "working",
    "document": "semantic",
    "memory": "semantic",
    "knowledge": "semantic",
    "note": "semantic",
    "preference": "behavioral",
    "style": "behavioral",
}
_PROCEDURES = ("workflow", "rule", "pattern")
_UNKNOWN_TIER = 0.5
_CHANCE, _SURE = 0.2, 0.8
"""Cosines of two texts that have nothing to do with each other, and of two that say the same."""
NEAR = 0.5
"""The cosine at which a vector alone is a reason: the brain document's distance of 1.0."""


def recency(layer: Layer, age_s: float | None) -> float:
    """0.7 + 0.3·0.5^(age / half-life): 1.0 now, 0.85 after a half-life or where nobody knows, never below 0.7."""
    halves = 1.0 if age_s is None else max(age_s, 0.0) / DAY_S / HALF_LIFE_DAYS[layer]
    return LEAST_RECENCY + (1.0 - LEAST_RECENCY) * 0.5**halves


def tier_of(found: Found) -> tuple[str, float]:
    """The tier something belongs to, and what it counts: (1 + the document's weight) / 2, so that words decide first.

    What other sessions said is in none of the document's tiers, and counts as one it does not know.
    """
    name = "procedural" if found.kind in _PROCEDURES else _TIER_OF.get(found.source, "episodic")
    return name, (1.0 + TIER_WEIGHTS.get(name, _UNKNOWN_TIER)) / 2.0


def strength_weight(strength: float | None) -> float:
    """0.7 + 0.3·strength: what has faded comes later, and is not lost; 1.0 for what has no strength of its own."""
    return 1.0 if strength is None else LEAST_STRENGTH + (1.0 - LEAST_STRENGTH) * min(max(strength, 0.0), 1.0)


def cosine_of(distance: float) -> float:
    """The cosine of two unit vectors at that distance."""
    return 1.0 - distance**2 / 2.0


def meaning_of(distance: float) -> float:
    """How near in meaning, 0.0 to 1.0: 0.0 at a cosine of chance, 0.2, and 1.0 at one of sameness, 0.8."""
    return min(max((cosine_of(distance) - _CHANCE) / (_SURE - _CHANCE), 0.0), 1.0)


def fused(words: float, meaning: float | None, share: float) -> float:
    """(1 − share)·words + share·meaning; the words alone where no vector speaks."""
    return words if meaning is None else (1.0 - share) * words + share * meaning


def reciprocal_ranks(lists: Sequence[Sequence[int]], k: int = RRF_K) -> dict[int, float]:
    """For every item that stands in a list: Σ 1 / (k + rank), as a share of what the first place in all would give."""
    ranks: dict[int, list[int]] = {}
    for listed in lists:
        for rank, item in enumerate(listed, 1):
            ranks.setdefault(item, []).append(rank)
    return {item: compute_rrf_score(places, k) * (k + 1) for item, places in ranks.items()}


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
        said = parse_question_words(query)
        bags = [stems_of(text) for text in texts]
        counts: Counter[int] = having(said, bags)
        counts.update({place: spoken.words.get(word.text, 0) for place, word in enumerate(said)})
        self._question = weighed_by(query, said, counts, len(bags) + spoken.passages)
        self._order = _in_order(query, self._question.places)
        self._words = tokenize(query)
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
        telling = any(not question.words[place].is_common for place in said)
        enough = found.enough or self._is_enough(said, share, telling=telling)
        if not enough:  # only a vector may still bring it up
            return Fit(score=share * (1 - _CLOSE - _EXACT), text=text, hits=found.hits)
        spoken = tokenize(text)
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
            place = self._question.places.get(stem_word(word))
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
    told = [places[root] for word in tokenize(query) if (root := stem_word(word)) in places]
    return [(one, other) for one, other in pairwise(told) if one != other]


SAME = 0.8
"""The Jaccard index of their stems from which two texts say the same, unless a number, a path or a "not" differs."""
CAME_FROM = 0.5
"""The share of a memory's stems that the message it was made from must have, to be folded into it."""
_LEAST_WORDS = 3
_RANK: dict[Layer, int] = {"L2": 0, "L1": 0, "L0": 1}


class Joinable(Protocol):
    """Anything that was found and has been measured."""

    @property
    def found(self) -> Found:
        """What it is."""
        ...

    @property
    def fit(self) -> Fit:
        """Its passage that answers."""
        ...


class _Text:
    """The words of an answer, taken apart once."""

    def __init__(self, one: Joinable) -> None:
        self.found = one.found
        self.text = one.fit.text
        self.bag = stems_of(self.text)

    @cached_property
    def words(self) -> list[str]:
        return tokenize(self.text)


def fold(ranked: Sequence[Joinable], limit: int) -> tuple[list[tuple[int, list[int]]], int]:
    """The first `limit` places in `ranked` that stay, in their order, each with the places that say the same.

    Of a memory and a passage the memory stays, and stands where the better of the two stood. Of two memories, or two
    passages, the better one. Also says how many places were looked at: what stands behind them is not folded.
    """
    kept: list[tuple[int, list[int]]] = []
    texts: list[_Text] = []
    for place, one in enumerate(ranked):
        text = _Text(one)
        number = next((number for number, other in enumerate(texts) if _same(other, text)), None)
        if number is None:
            if len(kept) == limit:
                return kept, place
            kept.append((place, []))
            texts.append(text)
            continue
        first, others = kept[number]
        if _RANK[text.found.layer] < _RANK[texts[number].found.layer]:
            kept[number], texts[number] = (place, [first, *others]), text
        else:
            others.append(place)
    return kept, len(ranked)


def _same(one: _Text, other: _Text) -> bool:
    a, b = one.found, other.found
    if a.source == b.source and a.id == b.id and a.where == b.where:
        return True
    memory, passage = (one, other) if _RANK[a.layer] <= _RANK[b.layer] else (other, one)
    both = len(memory.bag & passage.bag)
    if both >= SAME * max(len(memory.bag), len(passage.bag)) and (
        compute_jaccard(memory.bag, passage.bag) >= SAME and not find_differences(memory.text, passage.text)
    ):
        return True
    if a.layer == b.layer:
        return a.layer == "L0" and _same_place(a, b)
    if passage.found.layer != "L0":
        return False
    if both == len(memory.bag) and len(memory.words) >= _LEAST_WORDS and has_phrase(passage.words, memory.words):
        return True
    return _same_place(a, b) and both >= CAME_FROM * len(memory.bag)


def _same_place(one: Found, other: Found) -> bool:
    """Whether both are of one message."""
    a, b = one.where, other.where
    return bool(a and b and a.message and a.session == b.session and a.message == b.message)


LEAST_OF_BEST = 0.4
"""Of the relevance of the best: where something answers, what only shares a word with the query stays out."""
_TITLE = 0.1  # of the words' score, for a session whose title has the whole query
_SAID = 6
_DATED_AFTER = 60 * DAY_S


class _Weighed(Struct, frozen=True, kw_only=True):
    """Something with its score. words, meaning, relevance: 0.0 to 1.0; meaning is None where no vector counts."""

    found: Found
    fit: Fit
    words: float
    meaning: float | None
    relevance: float
    score: float


class Ranking:
    """Ranks what sources found for one query. now: as of when. share: what a vector counts, 0.0 to 1.0."""

    def __init__(self, ruler: Ruler, *, now: float, share: float) -> None:
        self._ruler = ruler
        self._now = now
        self._share = share

    def rank(self, found: Sequence[Found], fusion: Fusion, limit: int) -> tuple[list[UnifiedHit], int]:
        """What the query gives a reason for, best first, what says the same once; the newest of equals first.

        Returns up to `limit` of them, and how many more there are, echoes of each other among those.
        """
        weighed = [one for item in found if (one := self._weigh(item)) is not None]
        ranks: dict[int, float] = {}
        if fusion == "rrf":
            ranks = reciprocal_ranks(_lists(weighed))
            order = sorted(range(len(weighed)), key=lambda place: (-ranks[place], -weighed[place].found.when))
        else:
            best = max((one.relevance for one in weighed), default=0.0)
            near = [place for place, one in enumerate(weighed) if one.relevance >= LEAST_OF_BEST * best]
            order = sorted(near, key=lambda place: (-round(weighed[place].score, 6), -weighed[place].found.when))
        ranked = [weighed[place] for place in order]
        hits: list[UnifiedHit] = []
        kept, looked_at = fold(ranked, limit)
        for place, others in kept:
            one, same = ranked[place], [ranked[other] for other in others]
            better = min((place, *others))
            score = ranks[order[better]] if ranks else max(one.score, ranked[better].score)
            hits.append(self._hit(one, same, score, ranks.get(order[place])))
        return hits, len(ranked) - looked_at

    def _weigh(self, found: Found) -> _Weighed | None:
        passage = found.layer == "L0"
        fit = self._ruler.fit(found.text, found.keywords, whole=not passage)
        meaning = meaning_of(found.distance) if found.distance is not None and self._share else None
        is_near = meaning is not None and found.distance is not None and cosine_of(found.distance) >= NEAR
        if not (fit.enough or is_near):
            return None
        words = min(fit.score * (1.0 + _TITLE * found.title_share), 1.0)
        relevance = fused(words, meaning, self._share)
        _, tier = tier_of(found)
        score = relevance * recency(found.layer, self._age(found)) * tier * strength_weight(found.strength)
        return _Weighed(found=found, fit=fit, words=words, meaning=meaning, relevance=relevance, score=score)

    def _hit(self, one: _Weighed, same: Sequence[_Weighed], score: float, rank: float | None) -> UnifiedHit:
        found = one.found
        also = tuple(dict.fromkeys(other.found.where for other in same if other.found.where is not None))
        return UnifiedHit(
            layer=found.layer,
            source=found.source,
            kind=found.kind,
            id=found.id,
            text=one.fit.text,
            when=found.when,
            score=round(score, 4),
            reasons=tuple(self._reasons(one, also, rank)),
            where=found.where,
            also=also,
            label=found.label,
        )

    def _reasons(self, one: _Weighed, also: Sequence[Place], rank: float | None) -> list[Reason]:
        found, fit = one.found, one.fit
        reasons = [Reason(name="words", value=round(one.words, 3), words=_said(fit))]
        if found.title_share:
            share = round(found.title_share, 2)
            reasons.append(Reason(name="title", value=share, words="its session's title says it too"))
        if one.meaning is not None:
            reasons.append(Reason(name="meaning", value=round(one.meaning, 3), words=_nearness(one.meaning)))
        fresh = round(recency(found.layer, self._age(found)), 3)
        reasons.append(Reason(name="recency", value=fresh, words=self._told(found.when)))
        tier, weight = tier_of(found)
        reasons.append(Reason(name="tier", value=weight, words=tier))
        if found.strength is not None:
            value = round(strength_weight(found.strength), 3)
            reasons.append(Reason(name="strength", value=value, words=f"strength {found.strength:.2f}"))
        if rank is not None:
            reasons.append(Reason(name="rank", value=round(rank, 4), words="by its places in the lists"))
        if also:
            first = also[0].title or also[0].session[:8]
            more = f" and in {len(also) - 1} more" if len(also) > 1 else ""
            reasons.append(Reason(name="same", value=float(len(also)), words=f"also said in “{first}”{more}"))
        return reasons

    def _age(self, found: Found) -> float | None:
        return self._now - found.when if found.when else None

    def _told(self, when: float) -> str:
        age = self._now - when
        if not when:
            return "undated"
        if age > _DATED_AFTER:
            return f"from {format_stored_time('%Y-%m-%d', when)}"
        days = int(max(age, 0.0) // DAY_S)
        return "from today" if days == 0 else "1 day old" if days == 1 else f"{days} days old"


def _lists(weighed: Sequence[_Weighed]) -> list[list[int]]:
    """Of every source the places of what it found, by words and, where vectors count, by meaning; the best first."""
    lists: list[list[int]] = []
    for source in dict.fromkeys(one.found.source for one in weighed):
        mine = [place for place, one in enumerate(weighed) if one.found.source == source]
        lists.append(sorted(mine, key=lambda place: (-weighed[place].words, -weighed[place].found.when)))
        near = [(one.meaning, place) for place in mine if (one := weighed[place]).meaning is not None]
        if near:
            lists.append([place for _, place in sorted(near, key=lambda pair: -(pair[0] or 0.0))])
    return lists


def _said(fit: Fit) -> str:
    if fit.exact:
        return "says it word for word"
    if fit.alias:
        others = [hit for hit in fit.hits if hit not in fit.alias.casefold().split()]
        return f"goes by {fit.alias}" + (f", says {', '.join(others[:_SAID])}" if others else "")
    more = f" and {len(fit.hits) - _SAID} more" if len(fit.hits) > _SAID else ""
    return f"says {', '.join(fit.hits[:_SAID])}{more}" if fit.hits else "none of the words"


def _nearness(meaning: float) -> str:
    return "means the same" if meaning > 0.9 else "is near in meaning" if meaning > 0.4 else "is far in meaning"


PHRASE_BONUS = 1.0
"""More than any coverage, so that an exact phrase always comes first."""


def rank(query: str, knowledge: Knowledge, notes: Sequence[Note], limit: int) -> tuple[Hit, ...]:
    """The best `limit` entries and notes that share a word with the query; newest first on ties; none is an answer."""
    candidates = [
        Hit(kind=entry.kind, id=entry.id, text=entry.line, timestamp=entry.confirmed) for entry in knowledge.entries
    ]
    candidates += [Hit(kind="note", key=note.key, text=note.content, timestamp=note.timestamp) for note in notes]
    texts = [tokenize(f"{hit.key} {hit.text}") for hit in candidates]
    bags = [set(extract_terms(f"{hit.key} {hit.text}")) for hit in candidates]
    wanted, phrase = compute_rarity(bags, set(extract_terms(query))), tokenize(query)
    found: list[Hit] = []
    for hit, text, bag in zip(candidates, texts, bags, strict=True):
        score = compute_coverage(wanted, bag)
        if score > 0:
            score += PHRASE_BONUS if len(phrase) > 1 and has_phrase(text, phrase) else 0.0
            found.append(structs.replace(hit, score=round(score, 6)))
    return tuple(sorted(found, key=lambda hit: (-hit.score, -hit.timestamp))[: max(limit, 0)])
