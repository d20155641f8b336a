"""All that was found, weighed by one measure and put in one order, each with the reasons for its place. Pure."""

from collections.abc import Sequence

from msgspec import Struct

from clio.memory.unified.hits import Found, Fusion, Place, Reason, UnifiedHit
from clio.memory.unified.joining import fold
from clio.memory.unified.ruler import Fit, Ruler
from clio.memory.unified.weighing import (
    NEAR,
    cosine_of,
    fused,
    meaning_of,
    recency,
    reciprocal_ranks,
    strength_weight,
    tier_of,
)
from clio.text.formatting import format_stored_time
from clio.text.scoring import DAY_S

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
