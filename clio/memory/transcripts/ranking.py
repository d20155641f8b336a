"""How passages become an answer: weighed word for word, then by what stands round them. Pure; knows no database.

Sources: Robertson and Zaragoza, BM25 (k1 0.9, b 0.3). docs/decisions/0017 says what each weight gains.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import islice, zip_longest
from operator import attrgetter
from typing import Literal

from msgspec import Struct, structs

from clio.memory.transcripts.query import ONLY_ASKS, NamedDate, Query
from clio.text.vocabulary import porter_stem

K1, B = 0.9, 0.3
Exchange = tuple[int, int]
"""A session, and how many times the user had spoken in it: those words and all that was answered to them."""
SAME_SUBJECT = 0.8
"""Of the share of the query that the best has: two passages above it are about the same thing, and the newer counts."""
CHANGED_SUBJECT = 0.45
"""The same for a passage that says that something changed."""
CHANGES = frozenset(
    map(
        porter_stem,
        "moved switched changed replaced renamed instead now longer anymore migrated dropped removed raise lower "
        "increase decrease back gone became belongs upgraded bumped swapped reverted correction actually".split(),
    )
)
"""Stems of words that tell of a change of state."""


Talk = Literal["people", "assistant", "agent"]
"""Who talks in a session: users alone; a user and an assistant in turn; an agent that works between two requests."""
AGENT_FROM = 1.5
"""So many turns of the assistant for each of the user's make it an agent's session."""


class Weights(Struct, frozen=True, kw_only=True):
    """What is added to a turn's own score, as shares of the scores of others.

    previous, second, next: of the turn before it, the one before that, and the one behind it.
    answer: of another user's question right before it. reply: of the assistant's reply, for the user's turn before it.
    session: of the mean of the `prior_turns` best scores of its session.
    user, question, request: what a turn of the user's, one that ends with a question, and a short one that only asks
    is multiplied with.
    """

    previous: float = 0.3
    second: float = 0.1
    next: float = 0.1
    answer: float = 0.3
    reply: float = 0.1
    session: float = 0.4
    prior_turns: int = 3
    user: float = 1.4
    question: float = 1.0
    request: float = 0.7


TURNS: Mapping[Talk, Weights] = {
    "people": Weights(previous=0.2, answer=0.9, question=0.8, user=1.0, request=1.0),
    "assistant": Weights(previous=0.0, next=0.0, reply=0.4, user=1.5),
    "agent": Weights(prior_turns=1),
}
OF_ASSISTANT = Weights(previous=0.5, second=0.0, next=0.0, reply=0.0, user=0.8)
"""For talk with an assistant where the query asks for what the assistant told."""
FORM, KIND = 0.7, 0.4
"""How much another form of a word counts, and a thing of its kind."""
PAIR = 0.5
"""How much two words of the query next to each other count, as a share of both."""
COVER = 0.5
"""How much of a score depends on the share of the query that a passage has."""
TITLE = 0.3
"""Of the words found in the session's title."""
MONTH, DAY = 0.5, 1.0
"""Of the best score, for a turn of the month or year, and of the day, that the query names."""
SPREAD = 1.0
"""How much it counts for a session that all words of the query stand in it, though not in one turn."""


def talk_of(user_turns: int, assistant_turns: int) -> Talk:
    """Who talks in a session with so many turns of each."""
    if not assistant_turns:
        return "people"
    return "agent" if assistant_turns > AGENT_FROM * user_turns else "assistant"


class Turn(Struct, frozen=True, kw_only=True):
    """A turn that may answer.

    session: the number of its session; place: where it stands there, without gaps. asks: what
    `clio.memory.transcripts.query.asking_kind` says of it.
    """

    key: int
    session: int
    place: int
    role: str
    created: float
    asks: int = 0


class Scored(Struct, frozen=True, kw_only=True):
    """A turn and how well it answers.

    passage: the number of its best one. exact: it has the query as it was typed. found: the places of the query's
    terms that it has. tells_change: it says that something is other than before.
    """

    turn: Turn
    score: float
    passage: int = 0
    exact: bool = False
    found: frozenset[int] = frozenset()
    tells_change: bool = False


class Weighing(Struct, frozen=True, kw_only=True):
    """How well one passage fits. found: the places of the query's terms that it has."""

    score: float
    exact: bool
    found: frozenset[int]
    tells_change: bool = False


def idf(total: int, having: int) -> float:
    """How rare a word is: ln(1 + (N − n + ½) / (n + ½))."""
    return math.log(1.0 + (total - having + 0.5) / (having + 0.5)) if total >= having else 0.0


def weigher(query: Query, rarities: Sequence[float], mean_words: float) -> Callable[[Sequence[str]], Weighing]:
    """A function that weighs a passage, given as its stems in order. rarities: of each term of the query."""
    place_of: dict[str, tuple[int, float]] = {}
    for place, term in enumerate(query.terms):
        strengths = [1.0, *[FORM] * (len(term.stems) - 1), *[KIND] * len(term.kinds)]
        for stem, strength in zip((*term.stems, *term.kinds), strengths, strict=True):
            if strength > place_of.get(stem, (0, 0.0))[1]:
                place_of[stem] = (place, strength)
    near = {frozenset(pair): PAIR * sum(rarities[place] for place in pair) for pair in query.pairs}
    possible = sum(rarities) or 1.0

    def weigh(stems: Sequence[str]) -> Weighing:
        counts: dict[int, float] = {}
        last, last_at, pairs = -1, -9, 0.0
        met: set[frozenset[int]] = set()
        for at, stem in enumerate(stems):
            hit = place_of.get(stem)
            if hit is None:
                continue
            place, strength = hit
            counts[place] = counts.get(place, 0.0) + strength
            if at - last_at <= 3 and place != last and (pair := frozenset((last, place))) in near and pair not in met:
                met.add(pair)
                pairs += near[pair] * (1.0 if at - last_at == 1 else 0.5)
            last, last_at = place, at
        norm = K1 * (1.0 - B + B * len(stems) / mean_words)
        score = sum(rarities[place] * count * (K1 + 1.0) / (count + norm) for place, count in counts.items()) + pairs
        share = sum(rarities[place] for place in counts) / possible
        return Weighing(
            score=score * (1.0 - COVER + COVER * share),
            exact=len(query.words) > 1 and len(counts) == len(query.terms) and has_phrase(stems, query.words),
            found=frozenset(counts),
            tells_change=not CHANGES.isdisjoint(stems),
        )

    return weigh


def has_phrase(stems: Sequence[str], phrase: Sequence[str]) -> bool:
    """Whether the phrase stands in a text, both as stems."""
    first, length = phrase[0], len(phrase)
    wanted = list(phrase)
    return any(stem == first and list(stems[at : at + length]) == wanted for at, stem in enumerate(stems))


def by_text(found: Iterable[Scored], titles: Mapping[int, float], dates: Sequence[NamedDate] = ()) -> list[Scored]:
    """The turns by what they and the titles of their sessions say, the best first; for "which session did this".

    titles: the score of each session's title, by session. dates: those the query names.
    """
    scored = list(found)
    top = max((item.score for item in scored), default=0.0)
    return by_rank(structs.replace(item, score=item.score + _bonus(item, titles, dates, top)) for item in scored)


def in_context(
    found: Iterable[Scored],
    titles: Mapping[int, float],
    talks: Mapping[int, Talk],
    weights_of: Mapping[Talk, Weights],
    dates: Sequence[NamedDate] = (),
) -> list[Scored]:
    """The turns by what is said round them too, the best first, the newest of equals first; for "which turn says it".

    titles: the score of each session's title, by session. talks: who talks in each session. dates: those named.
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
        if before := at.get((session, place - 1)):
            is_answer = is_user and before.turn.asks and before.turn.role == "user"
            score += (weights.answer if is_answer else weights.previous) * before.score
        second = at.get((session, place - 2))
        if second and (talk != "assistant" or (is_user and second.turn.role == "user")):
            score += weights.second * second.score
        if behind := at.get((session, place + 1)):
            is_reply = is_user and behind.turn.role == "assistant"
            score += (weights.reply if is_reply else weights.next) * behind.score
        if is_user:
            score *= weights.user * (weights.question if turn.asks else 1.0)
            score *= weights.request if turn.asks == ONLY_ASKS else 1.0
        return structs.replace(item, score=score + _bonus(item, titles, dates, top))

    return by_rank(around(item) for item in scored)


def _bonus(item: Scored, titles: Mapping[int, float], dates: Sequence[NamedDate], top: float) -> float:
    """What a turn gets for the title of its session, for a date the query names, and for having it word for word.

    top: the best score of all turns.
    """
    bonus = TITLE * titles.get(item.turn.session, 0.0)
    if dates and (named := [date for date in dates if date.includes(item.turn.created)]):
        bonus += (DAY if any(date.day for date in named) else MONTH) * top
    # More than anything else can give: words typed as they were written find that place first, but not the same
    # question asked before.
    return bonus + (4.0 * top if item.exact and item.turn.asks != ONLY_ASKS else 0.0)


def by_rank(found: Iterable[Scored]) -> list[Scored]:
    """The best first; of equals the newest, then the later one."""
    newest = sorted(found, key=attrgetter("turn.created", "turn.place"), reverse=True)
    return sorted(newest, key=lambda item: round(item.score, 6), reverse=True)


def by_session(ranked: Sequence[Scored], rarities: Sequence[float], spread: float) -> list[tuple[int, float]]:
    """Sessions and their scores, the best first; of equals the one whose best turn stands first in `ranked`.

    A session scores what its best turn does, and more the more of the query stands anywhere in it: a piece of work is
    told in several turns.
    """
    best: dict[int, float] = {}
    found: dict[int, set[int]] = {}
    for item in ranked:
        best.setdefault(item.turn.session, item.score)
        found.setdefault(item.turn.session, set()).update(item.found)
    possible = sum(rarities) or 1.0
    scores = {
        session: score * (1.0 + spread * sum(rarities[place] for place in found[session]) / possible)
        for session, score in best.items()
    }
    return sorted(scores.items(), key=lambda pair: round(pair[1], 6), reverse=True)


def grouped(ranked: Sequence[Scored]) -> dict[int, list[Scored]]:
    """The turns of each session, in the order they came."""
    groups: dict[int, list[Scored]] = {}
    for item in ranked:
        groups.setdefault(item.turn.session, []).append(item)
    return groups


def folded(ranked: Sequence[Scored], limit: int) -> list[Scored]:
    """The first `limit` turns without those that stand next to a better one of their session."""
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


def coverages(
    scored: Sequence[Scored], rarities: Sequence[float], exchange_of: Mapping[int, Exchange]
) -> dict[int, float]:
    """Of each turn in an exchange, 0.0 to 1.0: the share of the query, by weight, that its exchange has."""
    found: dict[Exchange, set[int]] = {}
    inside = [(item, exchange_of[item.turn.key]) for item in scored if item.turn.key in exchange_of]
    for item, exchange in inside:
        found.setdefault(exchange, set()).update(item.found)
    possible = sum(rarities) or 1.0
    return {item.turn.key: sum(rarities[term] for term in found[exchange]) / possible for item, exchange in inside}


def one_of_each_exchange(ranked: Iterable[Scored], exchange_of: Mapping[int, Exchange], limit: int) -> list[Scored]:
    """The first `limit` turns that are of different exchanges."""
    kept: dict[Exchange, Scored] = {}
    for item in ranked:
        if len(kept) == limit:
            break
        kept.setdefault(exchange_of[item.turn.key], item)
    return list(kept.values())


def about_the_same(items: Iterable[Scored], covered: Mapping[int, float]) -> set[int]:
    """The keys of the turns that have nearly as much of the query as the best one: of those the newest counts.

    Who says that something changed seldom says again all that was said of it, so half as much is enough there.
    """
    known = [item for item in items if item.turn.key in covered]
    best = max((covered[item.turn.key] for item in known), default=0.0)
    return {
        item.turn.key
        for item in known
        if covered[item.turn.key] >= (CHANGED_SUBJECT if item.tells_change else SAME_SUBJECT) * best > 0
    }


def newest_first(items: Sequence[Scored], same: Collection[int]) -> list[Scored]:
    """The turns about the same thing, the newest first, then the others in their order."""
    of_subject = [item for item in items if item.turn.key in same]
    of_subject.sort(key=lambda item: (item.turn.created, item.turn.place), reverse=True)
    return of_subject + [item for item in items if item.turn.key not in same]


def by_turns(lists: Sequence[Sequence[Scored]], limit: int) -> list[Scored]:
    """The first of each list, then the second of each, and so on, `limit` in all."""
    rounds = (item for items in zip_longest(*lists) for item in items if item is not None)
    return list(islice(rounds, limit))
