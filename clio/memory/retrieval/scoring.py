"""What may be brought up or found, of whatever kind, and what differs between the kinds as a table.

Times are seconds since the epoch.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Literal, get_args

from msgspec import Struct

from clio.memory.retrieval.evidence import evidence, has_names, having, stems_of, weighed_by
from clio.text.formatting import format_stored_time, split_passages
from clio.text.scoring import DAY_S, MAX_DISTANCE, RRF_K, TIER_WEIGHTS, compute_rrf_score
from clio.text.vocabulary import has_phrase, parse_question_words, stem_word, tokenize

Layer = Literal["L0", "L1", "L2"]
"""What was said and read; what was remembered of it; what the user likes and a style has learned."""
Source = Literal["session", "trimmed", "document", "memory", "knowledge", "note", "preference", "style"]
LAYERS: tuple[Layer, ...] = get_args(Layer)


class KindRule(Struct, frozen=True, kw_only=True):
    """How candidates of one source are weighed.

    layer: where it belongs. tier: of the adaptive-memory document; "episodic" is none of its tiers. half_life_days: in
    which half of what age may take away is gone; None where age only breaks ties. is_whole: its text is one statement,
    so that a long question that says all of it fits, too.
    """

    layer: Layer
    tier: str
    half_life_days: float | None = None
    is_whole: bool = True


KINDS: Mapping[Source, KindRule] = {
    "session": KindRule(layer="L0", tier="episodic", is_whole=False),
    "trimmed": KindRule(layer="L0", tier="working", is_whole=False),
    "document": KindRule(layer="L0", tier="semantic", is_whole=False),
    "memory": KindRule(layer="L1", tier="semantic", half_life_days=90.0),
    "knowledge": KindRule(layer="L1", tier="semantic", half_life_days=90.0),
    "note": KindRule(layer="L1", tier="semantic", half_life_days=90.0),
    "preference": KindRule(layer="L2", tier="behavioral", half_life_days=180.0),
    "style": KindRule(layer="L2", tier="behavioral", half_life_days=180.0),
}
PROCEDURES = ("workflow", "rule", "pattern")
"""Kinds of project memory that are in the document's procedural tier."""
_UNKNOWN_TIER = 0.5


class Place(Struct, frozen=True, kw_only=True):
    """A message of a session, and the session's title where it is known."""

    session: str
    message: str = ""
    title: str = ""


class Engine(Struct, frozen=True, kw_only=True):
    """What the transcript index says of a passage: its own ranking knows what is said around it.

    share: of the best passage's score, 0.0 to 1.0. covered: the share of the query, by weight, that the passage and
    those next to it have; words: how many words of it. is_dated: it is of a date that the query names. title: the share
    of the query that the session's title has.
    """

    share: float
    covered: float = 0.0
    words: int = 0
    is_dated: bool = False
    title: float = 0.0


class Candidate(Struct, frozen=True, kw_only=True):
    """Something that could be brought up for a question or found for a query.

    kind: what it is called within its source, such as "fact", "solution", "user". id: what opens it; of a passage that
    is its message. where: of a passage its own place, of a memory the message it was made from. keywords: other names
    it goes by. when: it was last confirmed, or said; 0.0 if unknown. strength: 0.0 to 1.0, what it is worth
    after all fading; None for what has none of its own. distance: of its vector from the query's. engine: of a passage
    the transcript index ranked. asks: it only asks something. is_corroborated: two sessions or two people confirmed
    it. trust: see `prompt_prefix.describe_trust`. signals: what else is to be said of it by name, such as the formulas
    of the seeds. label: what must be said with it, such as "example changed since".
    """

    source: Source
    id: str
    text: str
    kind: str = ""
    role: str = ""
    said_by: str = ""
    keywords: tuple[str, ...] = ()
    when: float = 0.0
    where: Place | None = None
    strength: float | None = None
    distance: float | None = None
    engine: Engine | None = None
    asks: bool = False
    is_corroborated: bool = False
    trust: str = ""
    signals: Mapping[str, float] = {}
    label: str = ""

    @property
    def layer(self) -> Layer:
        """The layer of its source."""
        return KINDS[self.source].layer

    @property
    def message(self) -> str:
        """The id of the message it is or was made from; empty where that is not known."""
        return self.where.message if self.where else ""


def tier_of(candidate: Candidate) -> tuple[str, float]:
    """The tier of a candidate, and what it counts: (1 + the document's weight) / 2, so that words decide first."""
    name = "procedural" if candidate.kind in PROCEDURES else KINDS[candidate.source].tier
    return name, (1.0 + TIER_WEIGHTS.get(name, _UNKNOWN_TIER)) / 2.0


Fusion = Literal["convex", "rrf"]
FUSIONS: tuple[Fusion, ...] = get_args(Fusion)

HALF = 0.5
"""Of a search's words by weight: a text that has two of them and so much is an answer, whatever words they are."""
LEAST_AROUND = 0.3
"""Of the query, where two of its words are said in a passage of a session or next to it."""
LEAST_OF_OWN = 0.35
"""Of a query about the user, such as "which dog do I have", where one of its words is said there: sessions are where
the answer is.
"""
LEAST_OF_BEST = 0.5
"""Of the evidence for the best: where something answers, what only shares a word with the query stays out."""
LEAST_OF_BEST_PASSAGE = 0.2
"""The same for passages of sessions, which the transcript index has ranked by what is said around them."""
ALIAS_EVIDENCE = 0.7
"""What goes by a name that the query says has at least so much of it."""
VECTOR_SHARE = 0.2
"""Of the evidence, where a vector speaks; the rest are words. More lets a weak embedder drag good words down."""
ONLY_ASKS = 0.7
"""What a message counts that asks and states nothing."""
LEAST_RECENCY, LEAST_STRENGTH = 0.7, 0.7
CORROBORATED = 1.1
"""What two sessions or two people confirmed counts so much more."""
_CLOSE, _EXACT = 0.15, 0.05  # of the evidence: words close together as in the query, and the query as it was typed
_TITLE = 0.1  # of the words' share, for a session whose title has the whole query
_NEAR_WORDS = 3
_MEASURED = 8  # passages the transcript index ranked best tell how well sessions answer at all
_UNSEEN_SHARE = 0.9  # what is said around a passage, and not in it, counts a little less
_SHOWN_WORDS = 6
_DATED_AFTER = 60 * DAY_S
_OF_USER = frozenset("i me my mine we us our".split())
_QUOTED = re.compile(r'"([^"]+)"')


class Transcribed(Struct, frozen=True, kw_only=True):
    """How common words are in transcripts: how many passages there are, and how many have each word of the query."""

    passages: int = 0
    words: Mapping[str, int] = {}


class Fit(Struct, frozen=True, kw_only=True):
    """How much of the query a text says. share: 0.0 to 1.0. text: its passage that says most.

    hits: the query's words it has; count: how many. said: those stems of the text. alias: the keyword it was called
    by; empty without one. exact: it has the query as it was typed. enough: it is a reason to bring the text up.
    """

    share: float
    text: str
    hits: tuple[str, ...] = ()
    count: int = 0
    said: frozenset[str] = frozenset()
    alias: str = ""
    exact: bool = False
    enough: bool = False


class Reason(Struct, frozen=True, kw_only=True):
    """One signal of a score: its name, its number, and what it says, in words for people."""

    name: str
    value: float
    words: str


class Ruler:
    """Measures texts against one query.

    texts: those that say, with `transcribed`, how rare a word is. is_search: the query was typed to find something, so
    that words that are in requests of every kind count, too.
    """

    def __init__(self, query: str, texts: Iterable[str], transcribed: Transcribed, *, is_search: bool = False) -> None:
        self._is_search = is_search
        said = parse_question_words(query)
        bags = [stems_of(text) for text in texts]
        counts: Counter[int] = having(said, bags)
        counts.update({place: transcribed.words.get(word.text, 0) for place, word in enumerate(said)})
        self._question = weighed_by(query, said, counts, len(bags) + transcribed.passages)
        places = self._question.places
        in_order = [places[root] for word in tokenize(query) if (root := stem_word(word)) in places]
        self._pairs = [(one, other) for one, other in pairwise(in_order) if one != other]
        self._words = tokenize(query)
        self._phrases = [phrase for quoted in _QUOTED.findall(query) if (phrase := tokenize(quoted))]

    @property
    def is_of_user(self) -> bool:
        """Whether the query asks for something of the user's own."""
        return not _OF_USER.isdisjoint(self._words)

    @property
    def is_blank(self) -> bool:
        """Whether the query has no word that says anything."""
        return not self._question.words

    def fit(self, text: str, keywords: Sequence[str] = (), *, whole: bool = False) -> Fit:
        """How well a text answers: its best passage of up to about 700 characters.

        whole: the text stands for itself, as a fact does; then it also fits where all it says is asked for.
        """
        best = Fit(share=0.0, text=text)
        for piece in split_passages(text):
            fit = self._fit(piece, keywords, whole=whole)
            if (fit.enough, fit.share) > (best.enough, best.share):
                best = fit
        return best

    def _fit(self, text: str, keywords: Sequence[str], *, whole: bool) -> Fit:
        question = self._question
        bag = stems_of(text)
        if question.places.keys().isdisjoint(bag) and not keywords:
            return Fit(share=0.0, text=text)
        found = evidence(question, bag, keywords)
        said = {question.places[word] for word in found.said}
        share = sum(question.weights[place] for place in said) / question.whole if question.whole else 0.0
        if whole:
            share = max(share, found.words)
        if found.alias:
            share = ALIAS_EVIDENCE + (1.0 - ALIAS_EVIDENCE) * share
        is_half = self._is_search and len(said) > 1 and share >= HALF
        enough = found.enough or (is_half and not has_names(keywords))
        spoken = tokenize(text) if enough else []
        exact = enough and has_phrase(spoken, self._words)
        close = 1.0 if exact else self._closeness(spoken) if enough else 0.0
        return Fit(
            share=share * (1.0 - _CLOSE - _EXACT + _CLOSE * close + _EXACT * exact),
            text=text,
            hits=found.hits,
            count=found.count,
            said=found.said,
            alias=found.alias,
            exact=exact and len(self._words) > 1,
            enough=enough and all(has_phrase(spoken, phrase) for phrase in self._phrases),
        )

    def _closeness(self, spoken: Sequence[str]) -> float:
        """The share of the query's neighbours that are near each other in the text, too."""
        if not self._pairs:
            return 1.0
        at: dict[int, list[int]] = {}
        for number, word in enumerate(spoken):
            place = self._question.places.get(stem_word(word))
            if place is not None:
                at.setdefault(place, []).append(number)
        near = sum(
            any(abs(one - other) <= _NEAR_WORDS for one in at.get(first, ()) for other in at.get(second, ()))
            for first, second in self._pairs
        )
        return near / len(self._pairs)


class Scored:
    """A candidate with the reason for it. score: comparable from query to query; evidence: 0.0 to 1.0."""

    def __init__(self, candidate: Candidate, ruler: Ruler, evidence: float, now: float, meaning: float | None) -> None:
        self.candidate = candidate
        self.evidence = evidence
        self.meaning = meaning
        self._ruler = ruler
        self._now = now
        self.score = round(evidence * weight_of(candidate, now), 6)
        self.because = ""
        self.also: tuple[Place, ...] = ()
        self.rank: float | None = None

    @cached_property
    def fit(self) -> Fit:
        """How its text fits; of a passage the transcript index ranked, measured when it is first asked for."""
        candidate = self.candidate
        return self._ruler.fit(candidate.text, candidate.keywords, whole=KINDS[candidate.source].is_whole)

    @property
    def said(self) -> frozenset[str]:
        """The stems of its text that the query asks for."""
        return self.fit.said

    @property
    def signals(self) -> dict[str, float]:
        """Every number that went into the score or belongs to the candidate, by name."""
        candidate = self.candidate
        if self.because:
            return dict(candidate.signals)
        found = {"hits": float(self.fit.count), "evidence": round(self.evidence, 3)}
        found |= {reason.name: reason.value for reason in self.reasons if reason.name != "same"}
        if candidate.strength is not None:
            found["strength"] = round(candidate.strength, 3)
        if candidate.distance is not None:
            found["distance"] = round(candidate.distance, 3)
        return dict(candidate.signals) | found

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """Every factor of the score, in words."""
        candidate = self.candidate
        reasons = [Reason(name="words", value=round(self.fit.share, 3), words=self.why_words)]
        if candidate.engine is not None:
            share = round(candidate.engine.share, 3)
            reasons.append(Reason(name="context", value=share, words="by what is said around it"))
            if title := round(candidate.engine.title, 2):
                reasons.append(Reason(name="title", value=title, words="its session's title says it too"))
        if self.meaning is not None:
            near = round(self.meaning, 3)
            reasons.append(Reason(name="meaning", value=near, words=_nearness(self.meaning)))
        if candidate.asks:
            reasons.append(Reason(name="asks", value=ONLY_ASKS, words="only asks"))
        fresh = round(recency(candidate, self._now), 3)
        reasons.append(Reason(name="recency", value=fresh, words=self._age_in_words()))
        tier, counts = tier_of(candidate)
        reasons.append(Reason(name="tier", value=counts, words=tier))
        if candidate.strength is not None:
            value = round(strength_weight(candidate.strength), 3)
            reasons.append(Reason(name="strength", value=value, words=f"strength {candidate.strength:.2f}"))
        if candidate.is_corroborated:
            reasons.append(Reason(name="corroborated", value=CORROBORATED, words=_confirmed(candidate)))
        if self.rank is not None:
            reasons.append(Reason(name="rank", value=round(self.rank, 4), words="by its places in the lists"))
        if self.also:
            first = self.also[0].title or self.also[0].session[:8]
            more = f" and in {len(self.also) - 1} more" if len(self.also) > 1 else ""
            reasons.append(Reason(name="same", value=float(len(self.also)), words=f"also said in “{first}”{more}"))
        return tuple(reasons)

    @property
    def reason(self) -> str:
        """One short sentence, such as: says staging, port; importance 0.8, 12 days old."""
        if self.because:
            return self.because
        why = [self.why_words] if self.fit.hits or self.fit.alias else []
        if is_near(self.candidate):
            why.append("is near in meaning")
        importance = self.candidate.signals.get("importance")
        about = [f"importance {importance:g}"] if importance is not None else []
        about += [self._age_in_words()] if self.candidate.when else []
        about += [_confirmed(self.candidate)] if self.candidate.trust or self.candidate.is_corroborated else []
        return "; ".join([*why, *([", ".join(about)] if about else [])])

    @property
    def why_words(self) -> str:
        """Which words of the query it says."""
        fit = self.fit
        if fit.exact:
            return "says it word for word"
        if fit.alias:
            others = [hit for hit in fit.hits if hit not in fit.alias.casefold().split()]
            return f"goes by {fit.alias}" + (f", says {', '.join(others[:_SHOWN_WORDS])}" if others else "")
        more = f" and {len(fit.hits) - _SHOWN_WORDS} more" if len(fit.hits) > _SHOWN_WORDS else ""
        return f"says {', '.join(fit.hits[:_SHOWN_WORDS])}{more}" if fit.hits else "none of the words"

    def _age_in_words(self) -> str:
        when = self.candidate.when
        if not when:
            return "undated"
        age = self._now - when
        if age > _DATED_AFTER:
            return f"from {format_stored_time('%Y-%m-%d', when)}"
        days = int(max(age, 0.0) // DAY_S)
        return "from today" if days == 0 else "1 day old" if days == 1 else f"{days} days old"


def _confirmed(candidate: Candidate) -> str:
    return candidate.trust or "confirmed more than once"


def without_query(candidate: Candidate, because: str, now: float) -> Scored:
    """A candidate that is brought up for another reason than the question."""
    one = Scored(candidate, Ruler("", (), Transcribed()), 0.0, now, None)
    one.because = because
    return one


def rank(
    query: str,
    candidates: Sequence[Candidate],
    *,
    now: float,
    limit: int = 50,
    transcribed: Transcribed | None = None,
    vectors: bool = True,
    is_search: bool = False,
    near_distance: float = MAX_DISTANCE,
    fusion: Fusion = "convex",
) -> tuple[list[Scored], int]:
    """Up to `limit` candidates that the query gives a reason for, best first, what says the same once; how many more.

    Of equals the newest comes first. transcribed: how common the query's words are in transcripts.
    vectors: whether distances count. near_distance: below which a vector alone is a reason. is_search: see `Ruler`.
    fusion: "rrf" joins the sources by rank, not by score.
    """
    texts = (one.text for one in candidates if one.engine is None)
    ruler = Ruler(query, texts, transcribed or Transcribed(), is_search=is_search)
    if ruler.is_blank and not vectors:
        return [], 0
    near = near_distance if vectors else 0.0
    found = _scored(candidates, ruler, now, vectors=vectors, near_distance=near)
    best = max((one.evidence for one in found), default=0.0)
    found = [one for one in found if is_near(one.candidate, near) or one.evidence >= _least_of_best(one) * best]
    if fusion == "rrf":
        ranks = reciprocal_ranks(_lists(found))
        for place, one in enumerate(found):
            one.rank = one.score = ranks[place]
    found.sort(key=lambda one: (-one.score, -one.candidate.when, one.candidate.id))
    return fold(found, limit)


def _scored(
    candidates: Sequence[Candidate], ruler: Ruler, now: float, *, vectors: bool, near_distance: float
) -> list[Scored]:
    ranked = sorted((one for one in candidates if one.engine), key=lambda one: -(one.engine.share if one.engine else 0))
    of_sessions = _evidence_of_sessions(ranked, ruler)
    found: list[Scored] = []
    for candidate in candidates:
        meaning = meaning_of(candidate.distance) if vectors and candidate.distance is not None else None
        near = is_near(candidate, near_distance)
        fit: Fit | None = None
        if candidate.engine is not None:
            said = of_sessions * candidate.engine.share * (1.0 + _TITLE * candidate.engine.title)
        else:
            fit = ruler.fit(candidate.text, candidate.keywords, whole=KINDS[candidate.source].is_whole)
            said = fit.share if fit.enough else 0.0
        if not (said or near):
            continue
        relevance = min(said, 1.0)
        if candidate.distance is not None and vectors:
            cosine = max(cosine_of(candidate.distance), 0.0)
            relevance = (1.0 - VECTOR_SHARE) * (relevance or (fit.share if fit else 0.0)) + VECTOR_SHARE * cosine
            relevance = max(relevance, cosine / 2.0) if near else relevance
        relevance *= ONLY_ASKS if candidate.asks and candidate.engine is None else 1.0
        one = Scored(candidate, ruler, relevance, now, meaning)
        if fit is not None:
            one.fit = fit
        found.append(one)
    return found


def _evidence_of_sessions(ranked: Sequence[Candidate], ruler: Ruler) -> float:
    """How well the passages that the transcript index ranked best answer at all, 0.0 where they do not."""
    best = 0.0
    for candidate in ranked[:_MEASURED]:
        engine = candidate.engine or Engine(share=0.0)
        fit = ruler.fit(candidate.text)
        best = max(best, fit.share if fit.enough else 0.0)
        least = LEAST_AROUND if engine.words > 1 else LEAST_OF_OWN if ruler.is_of_user else 1.0
        if engine.covered >= least or engine.is_dated:
            best = max(best, _UNSEEN_SHARE * engine.covered)
    return best


def _least_of_best(one: Scored) -> float:
    return LEAST_OF_BEST if one.candidate.engine is None else LEAST_OF_BEST_PASSAGE


def weight_of(candidate: Candidate, now: float) -> float:
    """What the evidence for a candidate is multiplied with: recency × tier × strength, more where it is confirmed."""
    _, tier = tier_of(candidate)
    confirmed = CORROBORATED if candidate.is_corroborated else 1.0
    return recency(candidate, now) * tier * strength_weight(candidate.strength) * confirmed


def recency(candidate: Candidate, now: float) -> float:
    """0.7 + 0.3·0.5^(age / half-life): 1.0 now, 0.85 after a half-life, undated, or where age only breaks ties."""
    half_life = KINDS[candidate.source].half_life_days
    halves = 1.0
    if candidate.when and half_life is not None:
        halves = max(now - candidate.when, 0.0) / DAY_S / half_life
    return LEAST_RECENCY + (1.0 - LEAST_RECENCY) * 0.5**halves


def strength_weight(strength: float | None) -> float:
    """0.7 + 0.3·strength: what has faded comes later, and is not lost; 1.0 for what has no strength of its own."""
    return 1.0 if strength is None else LEAST_STRENGTH + (1.0 - LEAST_STRENGTH) * min(max(strength, 0.0), 1.0)


def cosine_of(distance: float) -> float:
    """The cosine of two unit vectors at that distance."""
    return 1.0 - distance**2 / 2.0


def meaning_of(distance: float) -> float:
    """How near in meaning, 0.0 to 1.0: the cosine, never below 0.0."""
    return max(cosine_of(distance), 0.0)


def is_near(candidate: Candidate, near_distance: float = MAX_DISTANCE) -> bool:
    """Whether its vector alone is a reason: strictly below the distance."""
    return candidate.distance is not None and candidate.distance < near_distance


def reciprocal_ranks(lists: Sequence[Sequence[int]], k: int = RRF_K) -> dict[int, float]:
    """For every item that stands in a list: Σ 1 / (k + rank), as a share of what the first place in all would give."""
    ranks: dict[int, list[int]] = {}
    for listed in lists:
        for rank, item in enumerate(listed, 1):
            ranks.setdefault(item, []).append(rank)
    return {item: compute_rrf_score(places, k) * (k + 1) for item, places in ranks.items()}


def _lists(found: Sequence[Scored]) -> list[list[int]]:
    """Of every source the places of what it found, by words and, where vectors count, by meaning; the best first."""
    lists: list[list[int]] = []
    for source in dict.fromkeys(one.candidate.source for one in found):
        mine = [place for place, one in enumerate(found) if one.candidate.source == source]
        lists.append(sorted(mine, key=lambda place: (-found[place].evidence, -found[place].candidate.when)))
        near = [(one.meaning, place) for place in mine if (one := found[place]).meaning is not None]
        if near:
            lists.append([place for _, place in sorted(near, key=lambda pair: -(pair[0] or 0.0))])
    return lists


def _nearness(meaning: float) -> str:
    return "means the same" if meaning > 0.75 else "is near in meaning" if meaning > 0.45 else "is far in meaning"


SAME = 0.8
"""The Jaccard index of their stems from which two texts say the same, unless a number, a path or a "not" differs."""
CAME_FROM = 0.5
"""The share of a memory's stems that the message it was made from must have, to be folded into it."""
_LEAST_WORDS = 3
_LAYER_RANK: Mapping[Layer, int] = {"L2": 0, "L1": 0, "L0": 1}


class _Text:
    """The words of an answer, taken apart once."""

    def __init__(self, candidate: Candidate, text: str) -> None:
        self.candidate = candidate
        self.text = text
        self.bag = stems_of(text)
        self.rank = _LAYER_RANK[candidate.layer]

    @cached_property
    def words(self) -> list[str]:
        return tokenize(self.text)


def fold(ranked: Sequence[Scored], limit: int) -> tuple[list[Scored], int]:
    """The first `limit` that say something new, each with the places that say the same; how many others there are.

    Of a memory and a passage the memory stays, at the place of the better of the two. Of two memories, or two passages,
    the better one: another number, path or "not" is another thing to say.
    """
    kept: list[list[Scored]] = []
    texts: list[_Text] = []
    left = 0
    for place, one in enumerate(ranked):
        text = _Text(one.candidate, one.fit.text)
        number = next((number for number, other in enumerate(texts) if _is_same(other, text)), None)
        if number is None:
            if len(kept) == limit:
                left = len(ranked) - place
                break
            kept.append([one])
            texts.append(text)
        elif text.rank < texts[number].rank:
            one.score = max(one.score, kept[number][0].score)
            kept[number].insert(0, one)
            texts[number] = text
        else:
            kept[number].append(one)
    for first, *others in kept:
        first.also = tuple(dict.fromkeys(other.candidate.where for other in others if other.candidate.where))
    return [first for first, *_ in kept], left


def _is_same(one: _Text, other: _Text) -> bool:
    from clio.text.similarity import compute_jaccard, find_differences

    a, b = one.candidate, other.candidate
    if a.source == b.source and a.id == b.id and a.where == b.where:
        return True
    memory, passage = (one, other) if one.rank <= other.rank else (other, one)
    both = len(memory.bag & passage.bag)
    if both >= SAME * max(len(memory.bag), len(passage.bag)) and (
        compute_jaccard(memory.bag, passage.bag) >= SAME and not find_differences(memory.text, passage.text)
    ):
        return True
    if a.layer == b.layer:
        return a.layer == "L0" and _is_same_message(a, b)
    if passage.candidate.layer != "L0":
        return False
    if both == len(memory.bag) and len(memory.words) >= _LEAST_WORDS and has_phrase(passage.words, memory.words):
        return True
    return _is_same_message(a, b) and both >= CAME_FROM * len(memory.bag)


def _is_same_message(one: Candidate, other: Candidate) -> bool:
    a, b = one.where, other.where
    return bool(a and b and a.message and a.session == b.session and a.message == b.message)


DEFAULT_LIMIT = 10
"""So many answers are given where no limit is given."""


class RecallHit(Struct, frozen=True, kw_only=True):
    """One answer. See `Candidate` for source, kind, id, where and label.

    text: of a long one the passage that answers, up to about 700 characters. score: 0.0 to 1.0, comparable from query
    to query where it was fused convexly. reasons: every signal that went into it. also: passages that say the same.
    """

    layer: Layer
    source: Source
    kind: str
    id: str
    text: str
    when: float
    score: float
    reasons: tuple[Reason, ...]
    where: Place | None = None
    also: tuple[Place, ...] = ()
    label: str = ""


class RecallAnswer(Struct, frozen=True, kw_only=True):
    """What everything that is remembered says to a query, the best first.

    more: how many other answers the limit cut. left_out: what could not be asked, one sentence each.
    ms: how long each layer took, in milliseconds.
    """

    hits: tuple[RecallHit, ...] = ()
    more: int = 0
    left_out: tuple[str, ...] = ()
    ms: dict[Layer, float] = {}
