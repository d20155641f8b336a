"""One search: candidates from the index, weighed by the pipeline, with the snippets and points people see."""

import math
from collections.abc import Sequence

from clio.algorithms.porter import porter
from clio.memory.recall.candidates import Candidates
from clio.memory.recall.docs import Recalled, SessionHit, Signals
from clio.memory.recall.passages import passages
from clio.memory.recall.pipeline import (
    SESSIONS,
    TURNS,
    Scored,
    Turn,
    Weighing,
    Weights,
    by_rank,
    by_session,
    by_turns,
    folded,
    grouped,
    has_phrase,
    idf,
    in_context,
    weigher,
)
from clio.memory.recall.snippet import snippet
from clio.memory.recall.words import Query, stems

WEIGHED = 80
"""How many passages are weighed word for word; the others keep what FTS5 gave them."""
NEIGHBOURS_OF = 20
"""Of how many of the best turns the neighbours may be an answer too."""
WEIGHED_OUTPUTS = 60
MAX_OUTPUT_CHARS = 100_000


class Search:
    """What one query finds. exclude: the ids of sessions that are left out. until: nothing said later is found."""

    def __init__(self, candidates: Candidates, query: Query, exclude: frozenset[str], until: float = math.inf) -> None:
        self._candidates = candidates
        self._query = query
        self._exclude = candidates.session_keys(exclude)
        self._until = until
        self._rarities: list[float] = []
        self._column = "output" if query.scope == "output" else "text"

    def turns(self, limit: int) -> tuple[Recalled, ...]:
        """Single turns, the best first."""
        scored = self._scored(TURNS)
        if self._query.scope == "text":
            scored += self._neighbours(scored)
        return self._shown(in_context(scored, self._titles(), TURNS)[:limit])

    def sessions(self, limit: int, passages: int, total: int) -> tuple[SessionHit, ...]:
        """Sessions by their best turn, each with its best turns; those next to a better one are left out.

        total: how many turns at most, the best of each session first, then the second best ones.
        """
        scored = self._scored(SESSIONS)
        titles = self._titles()
        known = {item.turn.session for item in scored}
        firsts = self._candidates.first_turns(titles.keys() - known)
        scored += [Scored(turn=turn, score=0.0) for turn in firsts if turn.created <= self._until]
        ranked = by_session(in_context(scored, titles, SESSIONS), self._rarities, SESSIONS)[:limit]
        inside = grouped(in_context(scored, titles, TURNS))
        kept = {session: folded(inside[session], passages) for session, _ in ranked}
        turns = by_turns(list(kept.values()), total)
        shown = dict(zip((item.turn.key for item in turns), self._shown(turns), strict=True))
        about = self._candidates.sessions(kept)
        return tuple(
            SessionHit(
                session_id=about[session][0],
                session_name=about[session][1],
                updated=about[session][2],
                score=round(score, 3),
                passages=tuple(shown[item.turn.key] for item in kept[session] if item.turn.key in shown),
            )
            for session, score in ranked
        )

    def _neighbours(self, scored: Sequence[Scored]) -> list[Scored]:
        """The turns round the best ones: an answer need not say again what was asked."""
        known = {item.turn.key for item in scored}
        near = self._candidates.around((item.turn for item in by_rank(scored)[:NEIGHBOURS_OF]), reach=2)
        return [Scored(turn=turn, score=0.0) for turn in near if turn.key not in known and turn.created <= self._until]

    def _scored(self, weights: Weights) -> list[Scored]:
        query = self._query
        if not query.terms:
            return []
        totals = self._candidates.totals()
        counts = self._candidates.counts(query.terms)
        self._rarities = [idf(totals.passages, count) for count in counts]
        weigh = weigher(query, self._rarities, totals.mean_words, weights)
        if query.scope == "output":
            found = self._candidates.outputs(query, self._exclude)
            turns = [turn for turn in found if turn.created <= self._until][:WEIGHED_OUTPUTS]
            texts = self._candidates.texts((turn.key for turn in turns), "output")
            words = {turn.key: stems(texts[turn.key][:MAX_OUTPUT_CHARS]) for turn in turns}
            phrases = [[porter(word) for word in phrase] for phrase in query.phrases]
            fitting = [turn for turn in turns if all(has_phrase(words[turn.key], phrase) for phrase in phrases)]
            weighed = [(turn, weigh(words[turn.key])) for turn in fitting]
            return [_scored(turn, weighing) for turn, weighing in weighed if weighing.found]
        if query.scope == "title":
            return []
        found = self._candidates.passages(query, counts, self._exclude, self._until)
        head, tail = found[:WEIGHED], found[WEIGHED:]
        texts = self._candidates.texts(candidate.turn.key for candidate in head)
        best: dict[int, Scored] = {}
        ratio = 1.0
        for candidate in head:
            weighing = weigh(stems(passages(texts[candidate.turn.key])[candidate.number]))
            ratio = min(ratio, weighing.score / candidate.score) if candidate.score > 0 else ratio
            _keep(best, _scored(candidate.turn, weighing, candidate.number))
        for candidate in tail:
            _keep(best, Scored(turn=candidate.turn, score=candidate.score * ratio, passage=candidate.number))
        return list(best.values())

    def _titles(self) -> dict[int, float]:
        if not self._query.terms or self._query.scope == "output":
            return {}
        found: dict[int, float] = {}
        for session, title in self._candidates.titles(self._query, self._exclude).items():
            bag = set(stems(title))
            found[session] = sum(
                rarity
                for term, rarity in zip(self._query.terms, self._rarities, strict=True)
                if not bag.isdisjoint(term.stems)
            )
        return found

    def _shown(self, items: Sequence[Scored]) -> tuple[Recalled, ...]:
        keys = [item.turn.key for item in items]
        texts, messages = self._candidates.texts(keys, self._column), self._candidates.messages(keys)
        about = self._candidates.sessions({item.turn.session for item in items})
        return tuple(
            self._recalled(item, texts[item.turn.key], messages[item.turn.key], about[item.turn.session])
            for item in items
        )

    def _recalled(self, item: Scored, text: str, message: str, about: tuple[str, str, float]) -> Recalled:
        name, title, _ = about
        shown = text[:MAX_OUTPUT_CHARS] if self._column == "output" else passages(text)[item.passage]
        return Recalled(
            session_id=name,
            session_name=title,
            message_id=message,
            role=item.turn.role,
            created=item.turn.created,
            snippet=snippet(text, shown, self._query),
            score=round(item.score, 3),
            signals=self._signals(stems(shown), set(stems(title))),
        )

    def _signals(self, text: Sequence[str], title: set[str]) -> Signals:
        query = self._query
        bag = set(text)
        wanted = {stem for term in query.terms for stem in term.stems}
        mean = sum(self._rarities) / len(self._rarities) or 1.0
        pairs = list(zip(query.terms, self._rarities, strict=True))
        return Signals(
            exact=3.0 if len(query.words) > 1 and has_phrase(text, query.words) else 0.0,
            keywords=round(sum(rarity / mean for term, rarity in pairs if not bag.isdisjoint(term.stems)), 2),
            density=round(1.5 * sum(stem in wanted for stem in text) / max(len(text), 1), 2),
            title=round(0.5 * sum(not title.isdisjoint(term.stems) for term in query.terms) / len(query.terms), 2),
        )


def _scored(turn: Turn, weighing: Weighing, passage: int = 0) -> Scored:
    return Scored(turn=turn, score=weighing.score, passage=passage, exact=weighing.exact, found=weighing.found)


def _keep(best: dict[int, Scored], item: Scored) -> None:
    other = best.get(item.turn.key)
    if other is None or (item.exact, item.score) > (other.exact, other.score):
        best[item.turn.key] = item
