"""One score for memories of all kinds, session passages and documents: `rank` is used by search and automatic recall.

    score = evidence × recency × tier × strength (× 1.1 if corroborated)

Evidence, 0.0 to 1.0, says how well the words, or a vector, fit the query. What differs between the sources is in the
table `SOURCE_RULES`; each kind of memory becomes a `Candidate` by a function of its own, such as `of_record`.
`list_reasons` says why a memory has its score, and `WhyReport` is the report of a turn for `/memory why`.
Times are seconds since the epoch. Pure: no store is read here.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

from msgspec import Struct

from clio.memory.retrieval.evidence import (
    Engine,
    Fit,
    TextMatcher,
    Transcribed,
    extract_text_stems,
)
from clio.memory.retrieval.prompt_prefix import CORROBORATED, Injected, explain_trust
from clio.memory.store.memory_index import Ranked
from clio.memory.store.record import NOTED_BY_MODEL, MemoryRecord, Provenance
from clio.text.formatting import format_count, format_stored_time
from clio.text.scoring import (
    DAY_S,
    MAX_DISTANCE,
    RRF_K,
    TIER_WEIGHTS,
    compute_rrf_score,
    decay_confidence,
    describe_preference,
)
from clio.text.translation import Phrase, mark, tr, tr_phrases
from clio.text.vocabulary import has_phrase, tokenize
from clio.tokens import DEFAULT_RATIO, text_units

if TYPE_CHECKING:
    from clio.memory.styles.styles import StyleView

Layer = Literal["L0", "L1", "L2"]
"""L0: sessions and documents. L1: memories. L2: preferences and response styles."""
Source = Literal["session", "trimmed", "document", "memory", "knowledge", "note", "preference", "style"]
LAYERS: tuple[Layer, ...] = get_args(Layer)


class SourceRule(Struct, frozen=True, kw_only=True):
    """How candidates of one source are scored.

    Attributes:
        tier: the tier in the adaptive-memory document; "episodic" is not one of its tiers.
        half_life_days: the age at which half of the recency bonus is lost; None if age only breaks ties.
        is_whole: its text is a single statement, so that it also fits a long question that contains all of it.
    """

    layer: Layer
    tier: str
    half_life_days: float | None = None
    is_whole: bool = True


SOURCE_RULES: Mapping[Source, SourceRule] = {
    "session": SourceRule(layer="L0", tier="episodic", is_whole=False),
    "trimmed": SourceRule(layer="L0", tier="working", is_whole=False),
    "document": SourceRule(layer="L0", tier="semantic", is_whole=False),
    "memory": SourceRule(layer="L1", tier="semantic", half_life_days=90.0),
    "knowledge": SourceRule(layer="L1", tier="semantic", half_life_days=90.0),
    "note": SourceRule(layer="L1", tier="semantic", half_life_days=90.0),
    "preference": SourceRule(layer="L2", tier="behavioral", half_life_days=180.0),
    "style": SourceRule(layer="L2", tier="behavioral", half_life_days=180.0),
}
PROCEDURES = ("workflow", "rule", "pattern")
"""Kinds of project memory that are in the document's procedural tier."""
_UNKNOWN_TIER_WEIGHT = 0.5


class Place(Struct, frozen=True, kw_only=True):
    """A message of a session, with the session's title if it is known."""

    session: str
    message: str = ""
    title: str = ""


class Candidate(Struct, frozen=True, kw_only=True):
    """A memory, passage or document that may answer a query.

    Attributes:
        id: the id that opens it; for a passage the id of its message.
        kind: its kind within its source, such as "fact", "solution" or "user".
        said_by: who stated a memory: "user", "model" or "tool"; "document" for a document.
        keywords: other names of it.
        when: when it was last confirmed, or written; 0.0 if unknown.
        where: the message of a passage; for a memory, the message from which it was made.
        strength: its value after decay, 0.0 to 1.0; None if its source has none.
        distance: the distance of its vector from the query's.
        engine: the result of the transcript index, if it comes from there.
        asks: it only asks something.
        says_nothing: it is a reply such as "Understood." or "I don't know".
        is_corroborated: two sessions or two members of a team confirmed it.
        trust: see `prompt_prefix.explain_trust`.
        signals: further numbers to report, such as the scores of the seeds' formulas.
        label: a note to show with it, such as "example changed since".
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
    says_nothing: bool = False
    is_corroborated: bool = False
    trust: Phrase = ("", {})
    signals: Mapping[str, float] = {}
    label: str = ""

    @property
    def layer(self) -> Layer:
        """The layer of its source."""
        return SOURCE_RULES[self.source].layer

    @property
    def message(self) -> str:
        """The id of the message it is, or was made from; empty if unknown."""
        return self.where.message if self.where else ""


def get_tier(candidate: Candidate) -> tuple[str, float]:
    """Return the tier of a candidate and its factor.

    The factor is (1 + the document's weight) / 2, a narrower range than the document's, so that words decide first.
    """
    name = "procedural" if candidate.kind in PROCEDURES else SOURCE_RULES[candidate.source].tier
    return name, (1.0 + TIER_WEIGHTS.get(name, _UNKNOWN_TIER_WEIGHT)) / 2.0


Fusion = Literal["convex", "rrf"]
FUSIONS: tuple[Fusion, ...] = get_args(Fusion)

MIN_COVERED = 0.3
"""Share of the query that a passage and its neighbours must contain, if these are two words. A session that is asked
for may contain a single one: "where we chased that thing with the retries"."""
RELATED_WORD = 0.6
"""Weight of a word of the query for which a passage and its neighbours only contain a related word, so that "what will
Maya wear at the wedding" is answered by "I bought a suit". On the development half of `bench/recall_quality.py` 18 more
of 413 questions about made conversations find the answer (84 instead of 80 %), and 4 to 7 more of 100 in talks
with an assistant; of the questions asked where nothing was said about them 27 instead of 22 % find something.
"""
MIN_COVERED_OWN = 0.35
"""The same for one word if the query asks about the user ("which dog do I have"): the answer is in a session then."""
MIN_SHARE_OF_BEST, MIN_SHARE_OF_BEST_FOR_SEARCH = 0.6, 0.5
"""Minimum evidence as a share of the best candidate's: if there is a good answer, weak ones are left out."""
MIN_SHARE_OF_BEST_PASSAGE = 0.2
"""The same for passages of sessions, which the transcript index has already selected by their context."""
VECTOR_SHARE = 0.2
"""Share of the vector in the evidence. A larger one lets a weak embedder lower candidates that fit by their words."""
NEAR_FACTOR = 0.5
"""Share of its cosine that a text which is only near in meaning gets: it may share no word with the query."""
MIN_MEANING = 0.4
"""The cosine from which a passage of a session is sufficient for a search. What nothing was said about is nearer than
0.35 to hardly any of thousands of turns.
"""
ONLY_ASKS = 0.7
"""Factor for a message that only asks something."""
_MIN_FACTOR = 0.7
"""Recency and strength of 0.0: what is old or faded ranks lower but is still found."""
_MEASURED_PASSAGES = 8
"""Number of best passages of the transcript index whose fit is measured to compare sessions with other sources."""
_NEIGHBOUR_FACTOR = 0.9
"""Factor for words of the query that are only near a passage, not in it."""


class Scored:
    """A candidate with its score and the reasons for it.

    Attributes:
        evidence: how well it fits the query, 0.0 to 1.0.
        score: comparable between queries, except with reciprocal rank fusion.
        because: why it is recalled, if the query is not the reason.
        also: places that say the same.
    """

    def __init__(
        self, candidate: Candidate, matcher: TextMatcher, evidence: float, now: float, meaning: float | None
    ) -> None:
        self.candidate = candidate
        self.evidence = evidence
        self.meaning = meaning
        self._matcher = matcher
        self.now = now
        weight = compute_recency(candidate, now) * get_tier(candidate)[1] * compute_strength_weight(candidate.strength)
        self.score = round(evidence * weight * (CORROBORATED if candidate.is_corroborated else 1.0), 6)
        self.because = ""
        self.also: tuple[Place, ...] = ()
        self.rank: float | None = None

    @cached_property
    def bag(self) -> frozenset[str]:
        """The stems of the passage that fits best."""
        return extract_text_stems(self.fit.text)

    @cached_property
    def fit(self) -> Fit:
        """The fit of its text. For a passage of the transcript index it is computed only when it is needed."""
        candidate = self.candidate
        return self._matcher.fit(candidate.text, candidate.keywords, whole=SOURCE_RULES[candidate.source].is_whole)


def make_without_query(candidate: Candidate, because: str, now: float) -> Scored:
    """Return a candidate that is recalled for another reason than the query."""
    scored = Scored(candidate, TextMatcher("", (), Transcribed()), 0.0, now, None)
    scored.because = because
    return scored


_SORTED_RESULTS = 50
_FITS_NEARLY = 0.6
"""Share of the evidence of a question that is enough for a statement to be listed before it."""


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
    """Return up to `limit` candidates that fit the query, best first, and the number of further ones.

    Candidates with the same statement are returned once. Of equal ones the newest comes first.

    Args:
        transcribed: how common the query's words are in transcripts.
        vectors: whether distances count.
        is_search: see `TextMatcher`.
        near_distance: the distance below which a vector alone is sufficient.
        fusion: "rrf" combines the sources by rank instead of score.
    """
    texts = (candidate.text for candidate in candidates if candidate.engine is None)
    matcher = TextMatcher(query, texts, transcribed or Transcribed(), is_search=is_search)
    if matcher.is_blank and not vectors:
        return [], 0
    near = near_distance if vectors else 0.0
    found = _score_candidates(candidates, matcher, now, vectors=vectors, near_distance=near)
    best = max((item.evidence for item in found), default=0.0)
    least = MIN_SHARE_OF_BEST_FOR_SEARCH if is_search else MIN_SHARE_OF_BEST
    found = [
        item
        for item in found
        if is_near(item.candidate, near)
        or item.evidence >= best * (least if item.candidate.engine is None else MIN_SHARE_OF_BEST_PASSAGE)
    ]
    found = _leave_out_partly_named(found)
    if fusion == "rrf":
        ranks = compute_reciprocal_ranks(_rank_by_source(found))
        for place, item in enumerate(found):
            item.rank = item.score = ranks[place]
    # The id last, so that equal inputs always give the same order.
    found.sort(key=lambda item: (-item.score, -item.candidate.when, item.candidate.id))
    return fold_duplicates(_sort_statements_first(found) if is_search else found, limit)


def _leave_out_partly_named(found: Sequence[Scored]) -> list[Scored]:
    """Return the results without statements that only contain a part of a name that another one has as a keyword.

    "The deploy command" means the memory with this name, not "never deploy on Fridays".
    """
    names = {item.fit.found.named for item in found if item.candidate.engine is None}
    names = {name for name in names if len(name) > 1}

    def is_partly_named(item: Scored) -> bool:
        if not names or item.candidate.layer == "L0" or (common := item.fit.found).alias:
            return False
        return any(common.telling <= name and not common.places >= name for name in names)

    return [item for item in found if not is_partly_named(item)]


def _sort_statements_first(found: Sequence[Scored]) -> list[Scored]:
    """Put each question, and each reply that says nothing, behind the statements that fit the query nearly as well.

    An earlier question may repeat the whole query, but it does not answer it.
    """
    empty = [item for item in found[:_SORTED_RESULTS] if item.candidate.asks or item.candidate.says_nothing]
    if not empty:
        return list(found)
    stating = [item for item in found[:_SORTED_RESULTS] if not (item.candidate.asks or item.candidate.says_nothing)]
    result = list(stating)
    for item in empty:
        fits = [place for place, other in enumerate(result) if other.fit.share >= _FITS_NEARLY * item.fit.share]
        before = [place for place, other in enumerate(result) if other.score >= item.score]
        result.insert(max((place + 1 for place in (*fits, *before)), default=0), item)
    return [*result, *found[_SORTED_RESULTS:]]


def _score_candidates(
    candidates: Sequence[Candidate], matcher: TextMatcher, now: float, *, vectors: bool, near_distance: float
) -> list[Scored]:
    """Return the candidates that the query, or a vector, is a sufficient reason for."""
    ranked = sorted(
        (candidate for candidate in candidates if candidate.engine),
        key=lambda candidate: -(candidate.engine.share if candidate.engine else 0),
    )
    # The index's scores are relative to its best passage. Multiplied with how well that one fits, they are comparable
    # with the evidence of other sources.
    best_of_sessions = _measure_sessions(ranked, matcher, vectors=vectors)
    found: list[Scored] = []
    for candidate in candidates:
        meaning = compute_meaning(candidate.distance) if vectors and candidate.distance is not None else None
        near = is_near(candidate, near_distance)
        fit: Fit | None = None
        if candidate.engine is not None:
            by_words = best_of_sessions * candidate.engine.share
        else:
            fit = matcher.fit(candidate.text, candidate.keywords, whole=SOURCE_RULES[candidate.source].is_whole)
            by_words = fit.share if fit.enough else 0.0
        if not (by_words or near):
            continue
        relevance = min(by_words, 1.0)
        # The transcript index has already included the vectors in its scores.
        if meaning is not None and candidate.engine is None:
            relevance = (1.0 - VECTOR_SHARE) * (relevance or (fit.share if fit else 0.0)) + VECTOR_SHARE * meaning
            relevance = max(relevance, NEAR_FACTOR * meaning) if near else relevance
        relevance *= ONLY_ASKS if candidate.asks and candidate.engine is None else 1.0
        item = Scored(candidate, matcher, relevance, now, meaning)
        if fit is not None:
            item.fit = fit
        found.append(item)
    return found


def _measure_sessions(ranked: Sequence[Candidate], matcher: TextMatcher, *, vectors: bool) -> float:
    """Return the evidence of the best of the index's first passages, 0.0 if none of them is sufficient."""
    best = 0.0
    measured = list(ranked[:_MEASURED_PASSAGES])
    if vectors:
        # Those that are near in meaning may come before those with the words of the query.
        by_words = sorted(ranked[_MEASURED_PASSAGES:], key=lambda one: -one.engine.covered if one.engine else 0.0)
        measured += by_words[:_MEASURED_PASSAGES]
    for candidate in measured:
        engine = candidate.engine or Engine(share=0.0)
        fit = matcher.fit(candidate.text)
        best = max(best, fit.share if fit.enough else 0.0)
        words = engine.words + engine.related_words
        said = engine.covered + RELATED_WORD * engine.related
        minimum = MIN_COVERED if words > 1 or engine.of_session else MIN_COVERED_OWN if matcher.is_of_user else 1.0
        if said >= minimum or engine.is_dated:
            # "What did Ann tell me in March?" has no other word that passages of that month contain.
            said = max(said, MIN_COVERED) if engine.is_dated else said
            best = max(best, _NEIGHBOUR_FACTOR * min(said, 1.0))
        cosine = compute_meaning(candidate.distance) if vectors and candidate.distance is not None else 0.0
        if cosine >= MIN_MEANING:
            best = max(best, NEAR_FACTOR * cosine)
    return best


def compute_recency(candidate: Candidate, now: float) -> float:
    """Return 0.7 + 0.3·0.5^(age / half-life): 1.0 if new, 0.85 after one half-life.

    Also 0.85 for candidates without a date, and for sources whose age only breaks ties.
    """
    half_life = SOURCE_RULES[candidate.source].half_life_days
    halves = 1.0
    if candidate.when and half_life is not None:
        halves = max(now - candidate.when, 0.0) / DAY_S / half_life
    return _soften(0.5**halves)


def compute_strength_weight(strength: float | None) -> float:
    """Return 0.7 + 0.3·strength; 1.0 without a strength."""
    return 1.0 if strength is None else _soften(min(max(strength, 0.0), 1.0))


def _soften(share: float) -> float:
    return _MIN_FACTOR + (1.0 - _MIN_FACTOR) * share


def compute_meaning(distance: float) -> float:
    """Return the cosine of two unit vectors with that Euclidean distance, but at least 0.0."""
    return max(1.0 - distance**2 / 2.0, 0.0)


def is_near(candidate: Candidate, near_distance: float = MAX_DISTANCE) -> bool:
    """Whether its vector alone is sufficient: its distance is less than the given one."""
    return candidate.distance is not None and candidate.distance < near_distance


def compute_reciprocal_ranks(lists: Sequence[Sequence[int]]) -> dict[int, float]:
    """Return Σ 1 / (60 + rank) over all lists with the item, scaled so that rank 1 in one list gives 1.0.

    Source: Cormack, Clarke and Büttcher 2009, "Reciprocal rank fusion".
    """
    ranks: dict[int, list[int]] = {}
    for listed in lists:
        for rank, item in enumerate(listed, 1):
            ranks.setdefault(item, []).append(rank)
    return {item: compute_rrf_score(places) * (RRF_K + 1) for item, places in ranks.items()}


def _rank_by_source(found: Sequence[Scored]) -> list[list[int]]:
    """Return rankings as indices in `found`: for each source one by evidence and, with vectors, one by meaning."""
    lists: list[list[int]] = []
    for source in dict.fromkeys(item.candidate.source for item in found):
        mine = [place for place, item in enumerate(found) if item.candidate.source == source]
        lists.append(sorted(mine, key=lambda place: (-found[place].evidence, -found[place].candidate.when)))
        # The transcript index has already included the vectors in its ranking: counted again, its passages would come
        # before memories, which have no vectors.
        near = [
            (item.meaning, place)
            for place in mine
            if (item := found[place]).meaning is not None and item.candidate.engine is None
        ]
        if near:
            lists.append([place for _, place in sorted(near, key=lambda pair: -(pair[0] or 0.0))])
    return lists


SAME = 0.8
"""Jaccard index of stems from which two texts make the same statement, unless a number, a path or "not" differs."""
CAME_FROM = 0.5
"""Minimum share of a memory's stems in the message it was made from, for the message to be folded into the memory."""
_MIN_PHRASE_WORDS = 3


def fold_duplicates(ranked: Sequence[Scored], limit: int) -> tuple[list[Scored], int]:
    """Return the first `limit` items with different statements, and how many items were not examined.

    Of a memory and a passage with the same statement the memory is returned, with the better score of the two; of two
    memories or two passages the better one. The places of the others are in its `also`.
    """
    groups: list[list[Scored]] = []
    left = 0
    for place, item in enumerate(ranked):
        group = next((group for group in groups if _is_same(group[0], item)), None)
        if group is None:
            if len(groups) == limit:
                left = len(ranked) - place
                break
            groups.append([item])
        elif _is_passage(group[0]) and not _is_passage(item):
            item.score = max(item.score, group[0].score)
            group.insert(0, item)
        else:
            group.append(item)
    for first, *others in groups:
        first.also = tuple(dict.fromkeys(other.candidate.where for other in others if other.candidate.where))
    return [first for first, *_ in groups], left


def _is_passage(item: Scored) -> bool:
    return item.candidate.layer == "L0"


def _is_same(one: Scored, other: Scored) -> bool:
    """Whether two answers make the same statement."""
    from clio.text.similarity import compute_jaccard, find_differences

    a, b = one.candidate, other.candidate
    if a.source == b.source and a.id == b.id and a.where == b.where:
        return True
    both = len(one.bag & other.bag)
    if both >= SAME * max(len(one.bag), len(other.bag)) and (
        compute_jaccard(one.bag, other.bag) >= SAME and not find_differences(one.fit.text, other.fit.text)
    ):
        return True
    if _is_passage(one) == _is_passage(other):
        return _is_passage(one) and _is_same_message(a, b)
    memory, passage = (other, one) if _is_passage(one) else (one, other)
    if both == len(memory.bag):
        words = tokenize(memory.fit.text)
        if len(words) >= _MIN_PHRASE_WORDS and has_phrase(tokenize(passage.fit.text), words):
            return True
    return _is_same_message(a, b) and both >= CAME_FROM * len(memory.bag)


def _is_same_message(one: Candidate, other: Candidate) -> bool:
    a, b = one.where, other.where
    return bool(a and b and a.message and a.session == b.session and a.message == b.message)


def of_record(record: MemoryRecord, now: float, drift: str = "", hit: Ranked | None = None) -> Candidate:
    """Return the candidate of a typed memory or a preference.

    Args:
        drift: see `MemoryStore.describe_drift`.
        hit: the result of the typed-memory document's own formula, whose numbers are reported among the signals.
    """
    is_preference = record.kind == "preference"
    doubt = "what other sources say" if record.is_variant else ""
    signals = {"importance": record.importance}
    if hit is not None:
        signals |= {
            "similarity": round(hit.similarity, 3),
            "seed_recency": round(hit.recency, 3),
            "seed_score": round(hit.score, 3),
        }
    return Candidate(
        source="preference" if is_preference else "memory",
        id=record.id,
        text=render_text(record),
        kind="limit" if record.is_limit else record.kind,
        said_by=record.author,
        keywords=record.keywords,
        when=record.updated or record.created,
        where=_place(record.provenance),
        strength=record.strength(now),
        is_corroborated=record.is_corroborated,
        trust=explain_trust(record),
        signals=signals,
        label="; ".join(filter(None, (NOTED_BY_MODEL if record.is_noted_by_model else "", doubt, drift))),
    )


def render_text(record: MemoryRecord) -> str:
    """Return the content of a typed memory or a preference with its examples or its reason."""
    examples = f"e.g. {', '.join(record.examples)}" if record.examples else ""
    remark = record.reason if record.kind == "preference" else examples
    return f"{record.content} ({remark})" if remark else record.content


def of_entry(entry: MemoryRecord, now: float) -> Candidate:
    """Return the candidate of a project memory. Its strength is its confidence, decayed since the last confirmation."""
    when = entry.updated or entry.created
    days = max(now - when, 0.0) / DAY_S if when else 0.0
    return Candidate(
        source="knowledge",
        id=entry.id,
        text=entry.line,
        kind=entry.kind,
        when=when,
        where=_place(entry.provenance),
        strength=decay_confidence(entry.confidence, days),
        is_corroborated=entry.is_corroborated,
        trust=explain_trust(entry),
        signals={"confidence": entry.confidence, "times": float(entry.times)},
    )


def of_note(note: MemoryRecord) -> Candidate:
    """Return the candidate of a keyed note, whose key is its keyword."""
    return Candidate(
        source="note", id=note.key, text=note.content, kind="note", when=note.updated, keywords=(note.key,)
    )


def of_style(view: "StyleView") -> Candidate:
    """Return the candidate of a response style, with its ratings by intent."""
    skill = view.skill
    places = sorted(view.earned.items(), key=lambda pair: -pair[1].ratings)
    earned = "; ".join(f"{intent}: {one.ups:.3g} up, {one.downs:.3g} down" for intent, one in places)
    return Candidate(
        source="style",
        id=skill.id,
        text=f"style {skill.name}: {skill.summary or skill.text} ({earned})",
        kind="style",
        when=max(one.last for one in view.earned.values()),
        strength=max(one.confidence for one in view.earned.values()),
    )


def _place(provenance: Provenance | None) -> Place | None:
    if provenance is None or not provenance.session:
        return None
    return Place(session=provenance.session, message=provenance.message)


_MAX_SHOWN_WORDS = 6
_CONFIRMED = mark("confirmed more than once")
_SHOW_DATE_AFTER_S = 60 * DAY_S
"""Age from which a date is shown instead of a number of days."""


class Reason(Struct, frozen=True):
    """One factor of a score: its name, its value, and a short description, of which `words` is the English text."""

    name: str
    value: float
    text: str
    values: dict[str, object] = {}

    @property
    def words(self) -> str:
        """The description in English, for the model and for programs."""
        return self.text.format(**self.values)

    def translate(self) -> str:
        """Return the description in the user's language."""
        return tr(self.text, **self.values)


def list_reasons(item: Scored) -> Iterator[Reason]:
    """Yield all factors of a score."""
    candidate = item.candidate
    yield Reason("words", round(item.fit.share, 3), *_describe_words(item))
    if candidate.engine is not None:
        yield Reason("context", round(candidate.engine.share, 3), mark("by its context"))
        if title := round(candidate.engine.title, 2):
            yield Reason("title", title, mark("session title matches too"))
    if item.meaning is not None:
        near = _CLOSE if item.meaning > 0.45 else mark("distant in meaning")
        yield Reason("meaning", round(item.meaning, 3), mark("same meaning") if item.meaning > 0.75 else near)
    if candidate.asks:
        yield Reason("asks", ONLY_ASKS, mark("only a question"))
    yield Reason("recency", round(compute_recency(candidate, item.now), 3), *_describe_age(item))
    tier, factor = get_tier(candidate)
    yield Reason("tier", factor, tier)
    if candidate.strength is not None:
        weight = compute_strength_weight(candidate.strength)
        yield Reason("strength", round(weight, 3), mark("strength {strength:.2f}"), {"strength": candidate.strength})
    if candidate.is_corroborated:
        yield Reason("corroborated", CORROBORATED, *(candidate.trust if candidate.trust[0] else (_CONFIRMED, {})))
    if item.rank is not None:
        yield Reason("rank", round(item.rank, 4), mark("by rank within each source"))
    if item.also:
        first = item.also[0].title or item.also[0].session[:8]
        text = mark("also in “{first}” and {count} more") if len(item.also) > 1 else mark("also in “{first}”")
        yield Reason("same", float(len(item.also)), text, {"first": first, "count": len(item.also) - 1})


def collect_signals(item: Scored) -> dict[str, float]:
    """Return all numbers of a score and of its candidate, by name."""
    candidate = item.candidate
    if item.because:
        return dict(candidate.signals)
    found = {"hits": float(len(item.fit.found.places)), "evidence": round(item.evidence, 3)}
    found |= {reason.name: reason.value for reason in list_reasons(item) if reason.name != "same"}
    if candidate.strength is not None:
        found["strength"] = round(candidate.strength, 3)
    if candidate.distance is not None:
        found["distance"] = round(candidate.distance, 3)
    return dict(candidate.signals) | found


def explain_match(item: Scored) -> tuple[Phrase, ...]:
    """Return why something is recalled: matches staging, port; importance 0.8, 12 days old."""
    if item.because:
        return ((item.because, {}),)
    candidate = item.candidate
    found = [("; ", _describe_words(item))] if item.fit.found.hits or item.fit.found.alias else []
    found += [("; ", (_CLOSE, {}))] if is_near(candidate) else []
    first = len(found)
    if (importance := candidate.signals.get("importance")) is not None:
        found.append((", ", (mark("importance {importance:g}"), {"importance": importance})))
    found += [(", ", _describe_age(item))] if candidate.when else []
    if candidate.trust[0] or candidate.is_corroborated:
        found.append((", ", candidate.trust if candidate.trust[0] else (_CONFIRMED, {})))
    parts = (("; " if place == first else sign, phrase) for place, (sign, phrase) in enumerate(found))
    return tuple(one for sign, phrase in parts for one in ((sign, dict[str, Any]()), phrase))[1:]


_CLOSE = mark("close in meaning")


def _describe_words(item: Scored) -> Phrase:
    """Return which words of the query the text contains."""
    found = item.fit.found
    if item.fit.exact:
        return mark("matches word for word"), {}
    others = [hit for hit in found.hits if hit not in found.alias.casefold().split()]
    words = ", ".join(others[:_MAX_SHOWN_WORDS])
    if found.alias:
        text = mark("named {name}, matches {words}") if others else mark("named {name}")
        return text, {"name": found.alias, "words": words}
    if (more := len(others) - _MAX_SHOWN_WORDS) > 0:
        return mark("matches {words} and {count} more"), {"words": words, "count": more}
    return (mark("matches {words}"), {"words": words}) if others else (mark("no word matches"), {})


def _describe_age(item: Scored) -> Phrase:
    when = item.candidate.when
    if not when:
        return mark("undated"), {}
    age = item.now - when
    if age > _SHOW_DATE_AFTER_S:
        return mark("from {date}"), {"date": format_stored_time("%Y-%m-%d", when)}
    days = int(max(age, 0.0) // DAY_S)
    if days > 1:
        return mark("{days} days old"), {"days": days}
    return mark("1 day old") if days else mark("from today"), {}


class WhyItem(Struct, frozen=True, kw_only=True):
    """One memory that was given to the model, or was left out.

    Attributes:
        source: its store.
        reason: in English, for programs; `phrases` are the same for the user.
        age_s: seconds since it was stated; None if unknown.
        tokens: its size in tokens.
        included: whether the model was given it.
        is_redundant: it was left out because the request contains its text already, not because of a limit.
        count: the number of memories it stands for, if they are too many to be listed.
    """

    source: str
    id: str
    text: str
    reason: str
    signals: dict[str, float] = {}
    age_s: float | None = None
    tokens: int = 0
    included: bool = True
    is_redundant: bool = False
    count: int = 1
    phrases: tuple[Phrase, ...] = ()

    @property
    def told(self) -> str:
        """The reason in the user's language."""
        return tr_phrases(self.phrases) or self.reason


class WhyReport(Struct, frozen=True, kw_only=True):
    """The report of one turn. at: seconds since the epoch. question: the beginning of the user's text."""

    session: str = ""
    at: float = 0.0
    question: str = ""
    scenario: str | None = None
    items: tuple[WhyItem, ...] = ()


State = Literal["given", "given before", "cut", "in request"]
"""What became of a memory that fits: given to the model now or earlier, over a limit, or in the request already."""
_NOTES: dict[State, str] = {"given before": mark("; already given"), "in request": mark("; already in the request")}


def report_recalled(item: Scored, state: State, tokens: int = 0) -> WhyItem:
    """Return the account of a recalled memory. tokens: its size as it was given; 0 to estimate it from its text."""
    candidate = item.candidate
    phrases = (*explain_match(item), *([(_NOTES[state], dict[str, Any]())] if state in _NOTES else ()))
    return WhyItem(
        source=candidate.source,
        id=candidate.id,
        text=candidate.text,
        reason=tr_phrases(phrases, str.format),
        phrases=phrases,
        signals=collect_signals(item) | {"rank": item.score},
        age_s=max(item.now - candidate.when, 0.0) if candidate.when else None,
        tokens=tokens or estimate_tokens(candidate.text),
        included=state.startswith("given"),
        is_redundant=state == "in request",
    )


def report_preference(record: MemoryRecord, now: float, area: Phrase, weight: float | None = None) -> WhyItem:
    """Return the account of a preference or hard limit.

    area: where it applies. weight: its weight for the task type; None for a limit.
    """
    score = record.score or 0.0
    phrases: tuple[Phrase, ...] = ((describe_preference(score, is_rule=record.explicit), {}), (": ", {}), area)
    return WhyItem(
        source="preference",
        id=record.id,
        text=record.content,
        reason=tr_phrases(phrases, str.format),
        phrases=phrases,
        signals={"score": score} | ({} if weight is None else {"weight": round(weight, 3)}),
        age_s=max(now - record.seen, 0.0),
        tokens=estimate_tokens(record.content),
    )


def report_project_memory(blocks: Iterable[Injected], now: float) -> Iterator[WhyItem]:
    """Yield the account of each memory in the blocks, and one for those that the limits of a block left out."""
    for block in blocks:
        for item in block.items:
            yield WhyItem(
                source="knowledge",
                id=item.entry.id,
                text=item.entry.line,
                reason=tr_phrases(item.phrases, str.format),
                phrases=item.phrases,
                signals={"worth": item.score, "confidence": item.entry.confidence},
                age_s=max(now - item.entry.updated, 0.0) if item.entry.updated else None,
                tokens=item.tokens,
            )
        if block.left_out:
            left = mark("for another folder, or over the size limit of the block")
            yield WhyItem(
                source="knowledge",
                id="",
                text=format_count(block.left_out, "more memory"),
                reason=left,
                phrases=((left, {}),),
                included=False,
                count=block.left_out,
            )


def estimate_tokens(text: str) -> int:
    """Return the tokens of a text at the default ratio, rounded up."""
    return math.ceil(text_units(text) / DEFAULT_RATIO)
