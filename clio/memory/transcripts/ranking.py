"""Rank passages of past conversations: score each by its words, then by the turns around it. Pure; no database.

Sources: Robertson and Zaragoza, BM25 (k1 0.9, b 0.3). docs/decisions/0017 lists the gain of each weight.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import islice, zip_longest
from typing import Literal

from msgspec import Struct, structs

from clio.memory.transcripts.query import ONLY_ASKS, STATES, NamedDate, Query
from clio.text.vocabulary import has_phrase, porter_stem

K1, B = 0.9, 0.3
Exchange = tuple[int, int]
"""A session, and the number of a user message in it: the message and everything that answers it."""
SAME_SUBJECT = 0.95
"""Factor of the best passage's coverage of the query. Passages that cover more than that share are taken to be about
the same subject, so the newest is preferred.
"""
CHANGED_SUBJECT = 0.6
"""The same factor for a passage that says that something changed: it seldom repeats the whole subject."""
CHANGES = frozenset(
    map(
        porter_stem,
        "moved switched changed replaced renamed instead now longer anymore migrated dropped removed raise lower "
        "increase decrease back gone became belongs upgraded bumped swapped reverted correction actually".split(),
    )
)
"""Stems of words that announce a change of state."""

SessionKind = Literal["people", "assistant", "agent"]
"""Kind of session: people only; a user and an assistant in turn; an agent that works between two requests."""
AGENT_FROM = 1.5
"""Number of assistant turns per user turn above which a session is an agent's."""


class Weights(Struct, frozen=True, kw_only=True):
    """Shares of the scores of other turns that are added to a turn's own score, and factors for its kind.

    Attributes:
        previous, second, next: share of the turn before it, the one before that, and the one after it.
        answer: share of a question by another user directly before it.
        asked_about: share of the turn before such a question: "Why is that?" repeats none of its words, nor need the
            answer.
        reply: share of the assistant's reply that follows a user's turn.
        session: share of the mean of the `prior_turns` best scores of its session.
        user, question, request, own: factors for a user's turn, one that ends with a question, a short one that only
            asks, and one that tells something about the user.
    """

    previous: float = 0.3
    second: float = 0.1
    next: float = 0.1
    answer: float = 0.3
    asked_about: float = 0.1
    reply: float = 0.1
    session: float = 0.4
    prior_turns: int = 3
    user: float = 1.4
    question: float = 1.0
    request: float = 0.7
    own: float = 1.0


TURNS: Mapping[SessionKind, Weights] = {
    # People take turns, so an answer has the subject of the question before it, and a follow-up question has the
    # subject of the turn before that. A question itself rarely answers anything. All of them are users. Other turns
    # around it gain nothing (second and next 0.1: 0.8 points of hit@10 less on the made conversations).
    "people": Weights(
        previous=0.2, second=0.0, next=0.0, answer=0.9, asked_about=0.4, question=0.7, user=1.0, request=1.0
    ),
    # Long replies contain every word of the subject, so a turn gains nothing from a reply beside it, except that a
    # request is about what its reply is about. What is asked for later was mostly said by the user, in few words, and
    # seldom in a request that only asks: reply, session and request gain 2 points of hit@10 on the long talks over
    # 0.4, 0.4 and 0.7.
    "assistant": Weights(previous=0.0, next=0.0, reply=0.5, session=0.6, user=1.6, request=0.5),
    # Between two requests an agent reports one step after another, so neighbours are about one thing; a long session
    # has many subjects, so only its best turn counts for the others.
    "agent": Weights(prior_turns=1),
}
"""Chosen on the development halves of `bench/recall_quality.py`, within the ranges measured on public sets."""
OF_USER = structs.replace(TURNS["assistant"], user=2.0, own=2.0)
"""For a session with an assistant if the query asks about the user ("which bank did I choose"): replies repeat its
words, but only the user's turns tell it, mostly in the first person and beside a request about something else. 7 points
of hit@10 on the long talks; the factors of 1.4 to 1.6 that public sets gave are for queries of both kinds.
"""
OF_ASSISTANT = Weights(previous=0.5, second=0.0, next=0.0, reply=0.0, user=0.8)
"""For a session with an assistant if the query asks for something the assistant said."""
FORM, KIND, RELATED = 0.7, 0.4, 0.35
"""Weight of another form of a word, of a thing of its kind, and of a related word; the word itself counts 1.0."""
PAIR = 0.5
"""Bonus for two adjacent words of the query that are adjacent in a passage too, as a share of their weights."""
COVER = 0.5
"""Share of a score that depends on how much of the query a passage covers."""
TITLE = 0.05
"""Share of the score of the session's title that each of its turns gets: it decides between turns that fit equally. 0.3
puts the right turn first in 4 of 100 questions of the development halves less.
"""
DATE = 1.5
"""Bonus, as a share of the best score, for a turn from a date the query names. A question about a month seldom has
other rare words; with 1.0 1 point of hit@10 less on the made conversations.
"""
MEANING = 0.4
"""Share of the vectors in a score, if a model makes them: turns of people and of assistants only, see
`Search._find_near_turns`. On the development halves 0.2 to 0.5 give 93.7, 93.8, 94.5 and 94.6 at hit@10, without 91.1.
"""
FAR, NEAR = 0.3, 0.5
"""The largest cosine that may count as nothing, and the smallest that may count fully: where no turn is near, the
vectors decide less, and where all are near, they all count.
"""
OUTPUT = 0.5
"""Weight of a rare word of the query that only the output of a tool contains, if a session is searched for."""
SPREAD = 1.0
"""Bonus for a session that contains all words of the query, in whatever turns; less for a part of them."""


def classify_session(user_turns: int, assistant_turns: int) -> SessionKind:
    """Return the kind of a session from its numbers of turns."""
    if not assistant_turns:
        return "people"
    return "agent" if assistant_turns > AGENT_FROM * user_turns else "assistant"


class Turn(Struct, frozen=True, kw_only=True, gc=False):
    """A turn that may answer a query.

    Attributes:
        session: the number of its session.
        place: its position in the session, without gaps.
        tells: the user says something about themselves in it, see `clio.memory.transcripts.query.tells_of_user`.
        asks: STATES, ENDS_ASKING or ONLY_ASKS, see `clio.memory.transcripts.query.classify_message`.
    """

    key: int
    session: int
    place: int
    role: str
    created: float
    asks: int = 0
    tells: bool = False


class Scored(Struct, frozen=True, kw_only=True, gc=False):
    """A turn and its score.

    Attributes:
        passage: the number of its best passage.
        exact: it contains the query word for word.
        found: indices of the query's terms that it contains.
        related: indices of the others of which it contains a related word.
        tells_change: it says that something has changed.
    """

    turn: Turn
    score: float
    passage: int = 0
    exact: bool = False
    found: frozenset[int] = frozenset()
    related: frozenset[int] = frozenset()
    tells_change: bool = False


class PassageScore(Struct, frozen=True, kw_only=True, gc=False):
    """The score of one passage.

    Attributes:
        covered: weighted share of the query that it covers, 0.0 to 1.0.
        found: indices of the query's terms that it contains.
        related: indices of the others of which it contains a related word.
        sum: the score without the part for the share that is covered.
        once: factor of the weight of a word that occurs once in a passage of this length.
    """

    score: float
    covered: float
    exact: bool
    found: frozenset[int]
    related: frozenset[int] = frozenset()
    sum: float = 0.0
    once: float = 1.0
    tells_change: bool = False


def compute_idf(total: int, matching: int) -> float:
    """Return the inverse document frequency of a word in `matching` of `total` passages.

    ln(1 + (N − n + ½) / (n + ½)); 0.0 if `matching` is larger than `total`.
    """
    return math.log(1.0 + (total - matching + 0.5) / (matching + 0.5)) if total >= matching else 0.0


class _Match(Struct, frozen=True):
    """What a word of a passage counts: the index of its term, and its strength, 0.0 for a related word.

    place: -1 for a word that only tells a change.
    """

    place: int = -1
    strength: float = 0.0
    tells_change: bool = False


def _list_matches(query: Query, rarities: Sequence[float]) -> dict[str, _Match]:
    """Return what counts for a query, by stem. A related word of two terms counts for the rarer one."""
    found = {stem: _Match(tells_change=True) for stem in CHANGES}
    for place in sorted(range(len(query.terms)), key=rarities.__getitem__):
        for stem in map(porter_stem, query.terms[place].related):
            found[stem] = _Match(place=place, tells_change=stem in CHANGES)
    for place, term in enumerate(query.terms):
        strengths = [1.0, *[FORM] * (len(term.stems) - 1), *[KIND] * len(term.kinds)]
        for stem, strength in zip((*term.stems, *term.kinds), strengths, strict=True):
            if strength > found.get(stem, _Match()).strength:
                found[stem] = _Match(place=place, strength=strength, tells_change=stem in CHANGES)
    return found


def make_passage_scorer(
    query: Query, rarities: Sequence[float], mean_words: float
) -> Callable[[Sequence[str]], PassageScore]:
    """Return a function that scores a passage, given as the stems of its words in order, see `extract_stems`.

    Args:
        rarities: the `idf` of each term of the query.
        mean_words: mean length of all passages, in words.
    """
    match_of = _list_matches(query, rarities).get
    near = {frozenset(pair): PAIR * sum(rarities[place] for place in pair) for pair in query.pairs}
    possible = sum(rarities) or 1.0

    def weigh(stems: Sequence[str]) -> PassageScore:
        counts: dict[int, float] = {}
        related: set[int] = set()
        last, last_at, pairs, tells_change = -1, -9, 0.0, False
        met: set[frozenset[int]] = set()
        found = map(match_of, stems)
        matched = [(at, match) for at, match in enumerate(found) if match is not None]
        for at, match in matched:
            tells_change = tells_change or match.tells_change
            place = match.place
            if not match.strength:
                if place >= 0:
                    related.add(place)
                continue
            counts[place] = counts.get(place, 0.0) + match.strength
            if at - last_at <= 3 and place != last and (pair := frozenset((last, place))) in near and pair not in met:
                met.add(pair)
                pairs += near[pair] * (1.0 if at - last_at == 1 else 0.5)
            last, last_at = place, at
        norm = K1 * (1.0 - B + B * len(stems) / mean_words)
        score = sum(rarities[place] * count * (K1 + 1.0) / (count + norm) for place, count in counts.items()) + pairs
        covered = sum(rarities[place] for place in counts) / possible
        is_whole = len(query.words) > 1 and len(counts) == len(query.terms)
        return PassageScore(
            score=score * (1.0 - COVER + COVER * covered),
            covered=covered,
            exact=is_whole and has_phrase(stems, query.words),
            found=frozenset(counts),
            related=frozenset(related.difference(counts)),
            sum=score,
            once=(K1 + 1.0) / (1.0 + norm),
            tells_change=tells_change,
        )

    return weigh


def widen_score(weighing: PassageScore, rarities: Sequence[float], related_rarities: Sequence[float]) -> float:
    """Return the score of a passage if related words count, too.

    Args:
        rarities, related_rarities: the `idf` of each term of the query, and of its related words.
    """
    score, covered, possible = weighing.sum, weighing.covered, sum(rarities) or 1.0
    for place in weighing.related:
        weight = RELATED * related_rarities[place]
        score += weight * weighing.once
        covered += min(weight, rarities[place]) / possible
    return score * (1.0 - COVER + COVER * covered)


def rank_by_text(found: Iterable[Scored], titles: Mapping[int, float], dates: Sequence[NamedDate] = ()) -> list[Scored]:
    """Return the turns ranked by their own text and their session's title, best first; to find a session.

    titles: the score of each session's title, by session. dates: the dates the query names.
    """
    scored = list(found)
    top = max((item.score for item in scored), default=0.0)
    return sort_by_score(structs.replace(item, score=item.score + _bonus(item, titles, dates, top)) for item in scored)


def rank_in_context(
    found: Iterable[Scored],
    titles: Mapping[int, float],
    talks: Mapping[int, SessionKind],
    weights_of: Mapping[SessionKind, Weights],
    dates: Sequence[NamedDate] = (),
) -> list[Scored]:
    """Return the turns ranked by the turns around them too, best first, the newest of equals first; to find a turn.

    titles: the score of each session's title, by session. talks: the kind of each session. dates: the dates the query
    names.
    """
    scored = list(found)
    at = {(item.turn.session, item.turn.place): item for item in scored}
    scores: dict[int, list[float]] = {}
    for item in scored:
        scores.setdefault(item.turn.session, []).append(item.score)
    priors: dict[int, float] = {}
    for session, all_scores in scores.items():
        count = weights_of[talks.get(session, "agent")].prior_turns
        priors[session] = sum(sorted(all_scores, reverse=True)[:count]) / count
    top = max((item.score for item in scored), default=0.0)

    def around(item: Scored) -> Scored:
        turn = item.turn
        session, place, is_user = turn.session, turn.place, turn.role == "user"
        talk = talks.get(session, "agent")
        weights = weights_of[talk]
        score = item.score + weights.session * priors[session]
        is_answer = False
        if before := at.get((session, place - 1)):
            is_answer = is_user and before.turn.role == "user" and before.turn.asks != STATES
            score += (weights.answer if is_answer else weights.previous) * before.score
        second = at.get((session, place - 2))
        if second and (talk != "assistant" or (is_user and second.turn.role == "user")):
            score += (weights.asked_about if is_answer else weights.second) * second.score
        if behind := at.get((session, place + 1)):
            is_reply = is_user and behind.turn.role == "assistant"
            score += (weights.reply if is_reply else weights.next) * behind.score
        if is_user:
            score *= weights.user * (weights.question if turn.asks else 1.0)
            score *= weights.request if turn.asks == ONLY_ASKS else 1.0
            score *= weights.own if turn.tells else 1.0
        return structs.replace(item, score=score + _bonus(item, titles, dates, top))

    return sort_by_score(around(item) for item in scored)


def _bonus(item: Scored, titles: Mapping[int, float], dates: Sequence[NamedDate], top: float) -> float:
    """Return a turn's bonus for its session's title, for a date the query names, and for the query word for word.

    top: the best score of all turns.
    """
    bonus = TITLE * titles.get(item.turn.session, 0.0)
    if dates and any(date.includes(item.turn.created) for date in dates):
        bonus += DATE * top
    # More than all other bonuses together: a query that quotes a turn finds that turn first, but not an earlier turn
    # that only asked the same question.
    return bonus + (4.0 * top if item.exact and item.turn.asks != ONLY_ASKS else 0.0)


def sort_by_score(found: Iterable[Scored]) -> list[Scored]:
    """Return the turns sorted by score, best first; of equals the newest, then the later one."""
    return sorted(found, key=lambda item: (round(item.score, 6), item.turn.created, item.turn.place), reverse=True)


def rank_sessions(ranked: Iterable[Scored], rarities: Sequence[float]) -> list[tuple[int, float]]:
    """Return sessions with their scores, best first; of equals the one whose best turn is first in `ranked`.

    A session has the score of its best turn, increased by the share of the query that all its turns cover together:
    one piece of work extends over several turns.
    """
    best: dict[int, float] = {}
    found: dict[int, set[int]] = {}
    for item in ranked:
        best.setdefault(item.turn.session, item.score)
        found.setdefault(item.turn.session, set()).update(item.found)
    possible = sum(rarities) or 1.0
    scores = {
        session: score * (1.0 + SPREAD * sum(rarities[place] for place in found[session]) / possible)
        for session, score in best.items()
    }
    return sorted(scores.items(), key=lambda pair: round(pair[1], 6), reverse=True)


def rank_turns_by_session(ranked: Iterable[Scored], sessions: Sequence[tuple[int, float]]) -> list[Scored]:
    """Return the turns so that the best one of each session has the score of its session, and the others a part of it.

    For a query such as "which session repaired the importer", where a turn counts only as part of its session.
    """
    score_of = dict(sessions)
    best: dict[int, float] = {}
    items = list(ranked)
    for item in items:
        best[item.turn.session] = max(best.get(item.turn.session, 0.0), item.score)
    return sort_by_score(
        structs.replace(item, score=score_of[item.turn.session] * item.score / (best[item.turn.session] or 1.0))
        for item in items
    )


def fuse_meaning(found: Iterable[Scored], near: Mapping[int, tuple[Turn, float]]) -> list[Scored]:
    """Return the turns, and those with a near vector, scored by 0.6 of their words and 0.4 of their meaning.

    The cosines are scaled between the farthest and the nearest of `near`, because those of one query differ little.
    Other turns have no share of meaning.

    near: turns and the cosines of their vectors, by the key of the turn. Without any, the scores stay as they are.
    """
    scored = {item.turn.key: item for item in found}
    if not near:
        return list(scored.values())
    top = max((item.score for item in scored.values()), default=0.0) or 1.0
    cosines = [cosine for _, cosine in near.values()]
    least, best = min(FAR, *cosines), max(NEAR, *cosines)
    shares = {key: MEANING * top * (cosine - least) / (best - least) for key, (_, cosine) in near.items()}
    scored = {key: Scored(turn=turn, score=0.0) for key, (turn, _) in near.items()} | scored
    return [
        structs.replace(item, score=(1.0 - MEANING) * item.score + shares.get(key, 0.0)) for key, item in scored.items()
    ]


def add_outputs(
    found: Iterable[Scored],
    outputs: Mapping[int, frozenset[int]],
    callers: Mapping[int, Turn],
    rarities: Sequence[float],
) -> list[Scored]:
    """Return the turns, and those that called a tool whose output has words of the query, with the outputs' scores.

    A word that the turn itself contains is not counted again.

    Args:
        outputs: indices of the terms in each output, by key of its turn.
        callers: the turn that called the tool, by the same key.
    """
    scored = {item.turn.key: item for item in found}
    possible = sum(rarities) or 1.0
    for key, terms in outputs.items():
        if (turn := callers.get(key)) is None:
            continue
        item = scored.get(turn.key, Scored(turn=turn, score=0.0))
        both = item.found | terms
        share = sum(rarities[place] for place in both) / possible
        more = OUTPUT * sum(rarities[place] for place in terms - item.found) * (1.0 - COVER + COVER * share)
        scored[turn.key] = structs.replace(item, score=item.score + more, found=both)
    return list(scored.values())


def group_by_session(ranked: Sequence[Scored]) -> dict[int, list[Scored]]:
    """Return the turns of each session, in the given order."""
    groups: dict[int, list[Scored]] = {}
    for item in ranked:
        groups.setdefault(item.turn.session, []).append(item)
    return groups


def drop_neighbours(ranked: Sequence[Scored], limit: int) -> list[Scored]:
    """Return the first `limit` turns without those directly before or after a better one of their session."""
    kept: list[Scored] = []
    taken: set[tuple[int, int]] = set()
    for item in ranked:
        session, place = item.turn.session, item.turn.place
        if len(kept) >= limit:
            break
        if not {(session, place - 1), (session, place), (session, place + 1)} & taken:
            kept.append(item)
            taken.add((session, place))
    return kept


def compute_coverages(
    scored: Sequence[Scored], rarities: Sequence[float], exchange_of: Mapping[int, Exchange]
) -> dict[int, float]:
    """Return, for each turn in an exchange, the weighted share of the query that the exchange covers, 0.0 to 1.0."""
    found: dict[Exchange, set[int]] = {}
    inside = [(item, exchange_of[item.turn.key]) for item in scored if item.turn.key in exchange_of]
    for item, exchange in inside:
        found.setdefault(exchange, set()).update(item.found)
    possible = sum(rarities) or 1.0
    return {item.turn.key: sum(rarities[term] for term in found[exchange]) / possible for item, exchange in inside}


def pick_best_per_exchange(ranked: Iterable[Scored], exchange_of: Mapping[int, Exchange], limit: int) -> list[Scored]:
    """Return the best turn of each exchange, at most `limit`."""
    kept: dict[Exchange, Scored] = {}
    for item in ranked:
        if len(kept) == limit:
            break
        kept.setdefault(exchange_of[item.turn.key], item)
    return list(kept.values())


def find_same_subject(items: Iterable[Scored], covered: Mapping[int, float]) -> set[int]:
    """Return the keys of turns that cover nearly as much of the query as the best one, so are about the same subject.

    A turn that announces a change seldom repeats the whole subject, so less is enough for it.
    """
    known = [item for item in items if item.turn.key in covered]
    best = max((covered[item.turn.key] for item in known), default=0.0)
    return {
        item.turn.key
        for item in known
        if covered[item.turn.key] >= (CHANGED_SUBJECT if item.tells_change else SAME_SUBJECT) * best > 0
    }


def sort_same_subject_first(items: Sequence[Scored], same: Collection[int]) -> list[Scored]:
    """Return the turns about the same subject, newest first, then the others in their order."""
    of_subject = [item for item in items if item.turn.key in same]
    of_subject.sort(key=lambda item: (item.turn.created, item.turn.place), reverse=True)
    return of_subject + [item for item in items if item.turn.key not in same]


def interleave_rankings(lists: Sequence[Sequence[Scored]], limit: int) -> list[Scored]:
    """Return the first item of each list, then the second of each, and so on, at most `limit`."""
    rounds = (item for items in zip_longest(*lists) for item in items if item is not None)
    return list(islice(rounds, limit))
