"""One search of the transcript index: candidates weighed, with snippets and the reasons users see."""

import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence

from msgspec import structs

from clio.memory.transcripts.database import Candidates
from clio.memory.transcripts.query import ONLY_ASKS, Query, Term, extract_stems, split_folded_words
from clio.memory.transcripts.ranking import (
    OF_ASSISTANT,
    SPREAD,
    TURNS,
    Exchange,
    Scored,
    Talk,
    Turn,
    Weighing,
    Weights,
    compute_coverages,
    compute_idf,
    drop_neighbours,
    find_same_subject,
    group_by_session,
    has_phrase,
    interleave_rankings,
    make_passage_scorer,
    pick_best_per_exchange,
    rank_by_text,
    rank_in_context,
    rank_sessions,
    sort_by_score,
    sort_same_subject_first,
)
from clio.memory.transcripts.transcript_records import Recalled, Said, SessionHit, Signals, TurnHit
from clio.text.formatting import split_passages
from clio.text.vocabulary import porter_stem

SNIPPET_CHARS = 300
_WORD = re.compile(r"\w+")
_NEAR_WORDS = 50


def snippet(text: str, passage: str, query: Query) -> str:
    """Up to 300 characters of a text around the place in its best passage where the query stands as it was typed.

    Else the place where most of its words are near each other.
    """
    centre = max(text.find(passage), 0) + _centre(passage, query)
    start = max(min(centre - SNIPPET_CHARS // 3, len(text) - SNIPPET_CHARS), 0)
    end = start + SNIPPET_CHARS
    shown = " ".join(text[start:end].split())
    return ("… " if start else "") + shown + (" …" if end < len(text) else "")


def _centre(text: str, query: Query) -> int:
    places = [(match.start(), _stems_of_word(match[0])) for match in _WORD.finditer(text)]
    phrase = _phrase_at(places, query.words)
    return _densest(places, {stem for term in query.terms for stem in term.stems}) if phrase is None else phrase


def _stems_of_word(word: str) -> list[str]:
    if word.isascii() and word.isalnum():  # most words: no folding, no parts
        return [porter_stem(word.lower())]
    return [porter_stem(part) for part in split_folded_words(word)]


def _phrase_at(places: list[tuple[int, list[str]]], phrase: tuple[str, ...]) -> int | None:
    flat = [(start, stem) for start, stems in places for stem in stems]
    for at, (start, stem) in enumerate(flat):
        if phrase and stem == phrase[0] and tuple(stem for _, stem in flat[at : at + len(phrase)]) == phrase:
            return start
    return None


def _densest(places: list[tuple[int, list[str]]], wanted: set[str]) -> int:
    hits = [(start, found) for start, stems in places if (found := wanted.intersection(stems))]
    best, centre = 0, 0
    for number, (start, _) in enumerate(hits):
        near = [found for at, found in hits[number : number + _NEAR_WORDS] if at < start + SNIPPET_CHARS * 2 // 3]
        count = len(set[str]().union(*near))
        if count > best:
            best, centre = count, start
    return centre


WEIGHED, WEIGHED_FOR_READING = 48, 80
"""How many passages are weighed word for word, more for a reader of whole exchanges; the others keep what FTS5 gave."""
DATED = 200
"""So many turns of a named date are looked at, whatever they say."""
DATED_YEARS = 5
GUESS = 0.5
"""What a word that was read as another one counts, of what it is worth to have it."""
NEIGHBOURS_OF = 20
"""Of how many of the best turns the neighbours may be an answer too."""
WEIGHED_OUTPUTS = 60
LEAST_SCORE = 0.5
"""Of the best session's: what stands below is no newer state of what was asked for."""
LEAST_SHARE = 0.35
"""Of the query, as a share of what the best passage has: what has less only shares a word with it."""
RANKED_FOR_EACH = 3
"""So many sessions are ranked for each that is shown: some only say again what another says."""
SAID_CHARS = 400
EXCHANGE_TURNS = 60
BETWEEN = 3
MAX_OUTPUT_CHARS = 100_000


class Search:
    """What one query finds. exclude: the ids of sessions that are left out. until: nothing said later is found."""

    def __init__(self, candidates: Candidates, query: Query, exclude: frozenset[str], until: float = math.inf) -> None:
        self._candidates = candidates
        self._query = query
        self._exclude = candidates.session_keys(exclude)
        self._until = until
        self._rarities: list[float] = []
        self._weighed = WEIGHED
        self._column = "output" if query.scope == "output" else "text"

    def turns(self, limit: int) -> tuple[Recalled, ...]:
        """Single turns, the best first."""
        return self._shown(self._ranked_turns(limit))

    def turn_hits(self, limit: int) -> tuple[TurnHit, ...]:
        """Single turns, the best first, each with its best passage and without a snippet."""
        ranked = self._ranked_turns(limit)
        keys = [item.turn.key for item in ranked]
        texts, messages = self._candidates.texts(keys, self._column), self._candidates.messages(keys)
        about = self._candidates.sessions({item.turn.session for item in ranked})
        found = {(item.turn.session, item.turn.place): item.found for item in ranked}
        best = max((item.score for item in ranked), default=0.0) or 1.0
        possible = sum(self._rarities) or 1.0
        certain = [GUESS if term.is_guess else 1.0 for term in self._query.terms]
        titles = {session: set(extract_stems(title)) for session, (_, title, _) in about.items()}

        def hit(item: Scored) -> TurnHit:
            turn = item.turn
            around = [found.get((turn.session, turn.place + step), frozenset[int]()) for step in (-1, 0, 1)]
            said = frozenset[int]().union(*around)
            in_title = sum(not titles[turn.session].isdisjoint(term.stems) for term in self._query.terms)
            name, title, updated = about[turn.session]
            passage = self._passage(item, texts[turn.key])
            return TurnHit(
                session_id=name,
                session_name=title,
                message_id=messages[turn.key],
                role=turn.role,
                created=turn.created or updated,
                text=passage,
                share=min(item.score / best, 1.0),
                covered=sum(self._rarities[place] * certain[place] for place in said) / possible,
                words=sum(certain[place] == 1.0 for place in said),
                is_dated=any(date.includes(turn.created) for date in self._query.dates),
                title=0.0 if _is_title(title, passage) else in_title / max(len(self._query.terms), 1),
                only_asks=turn.role == "user" and turn.asks == ONLY_ASKS,
            )

        return tuple(map(hit, ranked))

    def _ranked_turns(self, limit: int) -> list[Scored]:
        scored = self._scored()
        if self._query.scope == "text":
            scored += self._neighbours(scored)
            scored += self._dated(scored)
        return self._in_context(scored, self._titles())[:limit]

    def sessions(self, limit: int, passages: int, total: int) -> tuple[SessionHit, ...]:
        """Sessions by their best turn, each with its best turns; those next to a better one are left out.

        total: how many turns at most, the best of each session first, then the second best ones.
        """
        _, ranked, inside = self._by_session(limit)
        kept = {session: drop_neighbours(inside[session], passages) for session, _ in ranked}
        turns = interleave_rankings(list(kept.values()), total)
        shown = dict(zip((item.turn.key for item in turns), self._shown(turns), strict=True))
        return self._hits(ranked, kept, shown)

    def for_reading(self, limit: int, passages: int, total: int) -> tuple[SessionHit, ...]:
        """The same for a reader: of what is about the same thing the newest first, each turn with what led to it and
        what came of it, one of each exchange; what only shares a word with the query, or was said again, is left out.
        """
        self._weighed = WEIGHED_FOR_READING
        scored, ranked, inside = self._by_session(limit * RANKED_FOR_EACH)
        inside = {session: inside[session] for session, _ in ranked}
        exchange_of = self._exchanges(item for items in inside.values() for item in items)
        covered = compute_coverages(scored, self._rarities, exchange_of)
        scores = dict(ranked)
        kept = {session: pick_best_per_exchange(items, exchange_of, passages) for session, items in inside.items()}
        kept, older = self._newest_first(kept, scores, covered, limit, total)
        turns = interleave_rankings(list(kept.values()), total)
        hits = dict(zip((item.turn.key for item in turns), self._shown(turns), strict=True))
        places = {item.turn.key: item for items in inside.values() for item in items}
        shown = {
            key: structs.replace(self._with_exchange(places[key].turn, hit), is_older=key in older)
            for key, hit in hits.items()
        }
        return self._hits([(session, scores[session]) for session in kept], kept, shown)

    def _by_session(self, limit: int) -> tuple[list[Scored], list[tuple[int, float]], dict[int, list[Scored]]]:
        """All turns weighed; the best sessions with their scores; the turns of each, the best first."""
        scored = self._scored()
        titles = self._titles()
        known = {item.turn.session for item in scored}
        firsts = self._candidates.first_turns(titles.keys() - known)
        scored += [Scored(turn=turn, score=0.0) for turn in firsts if turn.created <= self._until]
        ranked = rank_sessions(rank_by_text(scored, titles, self._query.dates), self._rarities, SPREAD)[:limit]
        chosen = {session for session, _ in ranked}
        inside = [item for item in scored if item.turn.session in chosen]
        return scored, ranked, group_by_session(self._in_context(inside, titles))

    def _in_context(self, scored: Sequence[Scored], titles: Mapping[int, float]) -> list[Scored]:
        talks = self._candidates.talks({item.turn.session for item in scored})
        weights: dict[Talk, Weights] = dict(TURNS)
        if self._query.of_assistant:
            weights["assistant"] = OF_ASSISTANT
        return rank_in_context(scored, titles, talks, weights, self._query.dates)

    def _dated(self, scored: Sequence[Scored]) -> list[Scored]:
        """The turns of a day or month the query names, which may answer without any of its words."""
        known = {item.turn.key for item in scored}
        if not self._query.dates:
            return []
        years = self._candidates.years(DATED_YEARS)
        spans = [span for date in self._query.dates for span in date.spans(years)]
        found = [turn for span in spans for turn in self._candidates.said_between(*span, DATED)]
        return [
            Scored(turn=turn, score=0.0)
            for turn in dict.fromkeys(found)
            if turn.key not in known and turn.created <= self._until and turn.session not in self._exclude
        ]

    def _hits(
        self, ranked: Sequence[tuple[int, float]], kept: Mapping[int, list[Scored]], shown: Mapping[int, Recalled]
    ) -> tuple[SessionHit, ...]:
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

    def _exchanges(self, items: Iterable[Scored]) -> dict[int, Exchange]:
        """Which exchange each turn is of."""
        places: dict[int, list[int]] = {}
        found: dict[int, Exchange] = {}
        for item in items:
            session = item.turn.session
            if session not in places:
                places[session] = self._candidates.user_places(session)
            found[item.turn.key] = (session, bisect_right(places[session], item.turn.place))
        return found

    def _newest_first(
        self,
        kept: Mapping[int, list[Scored]],
        scores: Mapping[int, float],
        covered: Mapping[int, float],
        limit: int,
        total: int,
    ) -> tuple[dict[int, list[Scored]], set[int]]:
        """The sessions and their turns in reading order, and the keys of the turns that a newer one about the same
        thing makes older.
        """
        best = max(scores.values(), default=0.0)
        leading = [item for session, items in kept.items() if scores[session] >= LEAST_SCORE * best for item in items]
        same = find_same_subject(leading, covered)
        least = LEAST_SHARE * max((covered[item.turn.key] for item in leading), default=0.0)
        fitting = [item for items in kept.values() for item in items if covered[item.turn.key] >= least]
        texts = self._candidates.texts(item.turn.key for item in fitting)
        newest: dict[str, Scored] = {}
        for item in fitting:
            text = " ".join(texts[item.turn.key].split())
            other = newest.get(text)
            newest[text] = item if other is None or item.turn.created > other.turn.created else other
        ordered: dict[int, list[Scored]] = {}
        for item in sort_same_subject_first(list(newest.values()), same):
            ordered.setdefault(item.turn.session, []).append(item)
        ordered = dict(list(ordered.items())[:limit])
        shown = [item for item in interleave_rankings(list(ordered.values()), total) if item.turn.key in same]
        last = max((item.turn.created for item in shown), default=0.0)
        return ordered, {item.turn.key for item in shown if item.turn.created < last}

    def _with_exchange(self, turn: Turn, hit: Recalled) -> Recalled:
        """The passage with the words of the user's it belongs to, and what came of them."""
        exchange = self._candidates.exchange(turn, EXCHANGE_TURNS)
        others = [one for one in exchange if one.key != turn.key]
        asked = next((one for one in others if one.role == "user" and one.place < turn.place), None)
        answers = [one for one in others if one.role == "assistant"]
        concluded = answers[-1] if answers and answers[-1].place > turn.place else None
        between = [one for one in answers if one is not concluded]
        between.sort(key=lambda one: (abs(one.place - turn.place), -one.place))
        between = sorted(between[:BETWEEN], key=lambda one: one.place)
        keys = [one.key for one in (asked, concluded, *between) if one is not None]
        texts, messages = self._candidates.texts(keys), self._candidates.messages(keys)

        def said(one: Turn) -> Said:
            text = " ".join(texts[one.key][:SAID_CHARS].split())
            return Said(message_id=messages[one.key], role=one.role, created=one.created, text=text)

        return structs.replace(
            hit,
            asked=said(asked) if asked else None,
            between=tuple(map(said, between)),
            concluded=said(concluded) if concluded else None,
        )

    def _neighbours(self, scored: Sequence[Scored]) -> list[Scored]:
        """The turns round the best ones: an answer need not say again what was asked."""
        known = {item.turn.key for item in scored}
        near = self._candidates.around((item.turn for item in sort_by_score(scored)[:NEIGHBOURS_OF]), reach=2)
        return [Scored(turn=turn, score=0.0) for turn in near if turn.key not in known and turn.created <= self._until]

    def _scored(self) -> list[Scored]:
        query = self._query
        if not query.terms:
            return []
        totals = self._candidates.totals()
        counts = self._candidates.counts(query.terms)
        if 0 in counts and query.scope == "text":
            query = self._query = self._spelt(query, counts)
            counts = self._candidates.counts(query.terms)
        self._rarities = [compute_idf(totals.passages, count) for count in counts]
        weigh = make_passage_scorer(query, self._rarities, totals.mean_words)
        if query.scope == "output":
            found = self._candidates.outputs(query, self._exclude)
            turns = [turn for turn in found if turn.created <= self._until][:WEIGHED_OUTPUTS]
            texts = self._candidates.texts((turn.key for turn in turns), "output")
            words = {turn.key: extract_stems(texts[turn.key][:MAX_OUTPUT_CHARS]) for turn in turns}
            phrases = [[porter_stem(word) for word in phrase] for phrase in query.phrases]
            fitting = [turn for turn in turns if all(has_phrase(words[turn.key], phrase) for phrase in phrases)]
            weighed = [(turn, weigh(words[turn.key])) for turn in fitting]
            return [_scored(turn, weighing) for turn, weighing in weighed if weighing.found]
        if query.scope == "title":
            return []
        found = self._candidates.passages(query, counts, self._exclude, self._until)
        head, tail = found[: self._weighed], found[self._weighed :]
        texts = self._candidates.texts(candidate.turn.key for candidate in head)
        best: dict[int, Scored] = {}
        ratio = 1.0
        for candidate in head:
            weighing = weigh(extract_stems(split_passages(texts[candidate.turn.key])[candidate.number]))
            ratio = min(ratio, weighing.score / candidate.score) if candidate.score > 0 else ratio
            _keep(best, _scored(candidate.turn, weighing, candidate.number))
        for candidate in tail:
            _keep(best, Scored(turn=candidate.turn, score=candidate.score * ratio, passage=candidate.number))
        return list(best.values())

    def _spelt(self, query: Query, counts: Sequence[int]) -> Query:
        """The query, where a word of it is nowhere also with the word it may have been meant as."""
        terms: list[Term] = []
        for term, count in zip(query.terms, counts, strict=True):
            meant = "" if count else self._candidates.spelt_like(term.stems[0])
            with_meant = term
            if meant:
                with_meant = structs.replace(
                    term, forms=(*term.forms, meant), stems=(*term.stems, meant), is_guess=True
                )
            terms.append(with_meant)
        return structs.replace(query, terms=tuple(terms))

    def _titles(self) -> dict[int, float]:
        if not self._query.terms or self._query.scope == "output":
            return {}
        found: dict[int, float] = {}
        for session, title in self._candidates.titles(self._query, self._exclude).items():
            bag = set(extract_stems(title))
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
        shown = self._passage(item, text)
        return Recalled(
            session_id=name,
            session_name=title,
            message_id=message,
            role=item.turn.role,
            created=item.turn.created,
            snippet=snippet(text, shown, self._query),
            score=round(item.score, 3),
            signals=self._signals(extract_stems(shown), set(extract_stems(title))),
        )

    def _passage(self, item: Scored, text: str) -> str:
        return text[:MAX_OUTPUT_CHARS] if self._column == "output" else split_passages(text)[item.passage]

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
    return Scored(
        turn=turn,
        score=weighing.score,
        passage=passage,
        exact=weighing.exact,
        found=weighing.found,
        tells_change=weighing.tells_change,
    )


def _is_title(title: str, passage: str) -> bool:
    """Whether the session is called by these very words, as one without a name is."""
    begin = " ".join(title.split()).rstrip("…")[:40]
    return bool(begin) and " ".join(passage.split()).startswith(begin)


def _keep(best: dict[int, Scored], item: Scored) -> None:
    other = best.get(item.turn.key)
    if other is None or (item.exact, item.score) > (other.exact, other.score):
        best[item.turn.key] = item
