"""Run one search of the transcript index: score the candidates, rank them, and extract snippets and scores to show."""

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain, islice

from msgspec import Struct, structs

from clio.memory.retrieval.evidence import Engine, find_densest_hits
from clio.memory.retrieval.scoring import Candidate, Place
from clio.memory.transcripts.database import FoundPassage, IndexReader
from clio.memory.transcripts.query import (
    ONLY_ASKS,
    Query,
    Term,
    classify_message,
    extract_stems,
    says_nothing,
    split_folded_words,
)
from clio.memory.transcripts.ranking import (
    OF_ASSISTANT,
    OF_USER,
    TURNS,
    Exchange,
    PassageScore,
    Scored,
    SessionKind,
    Turn,
    Weights,
    add_outputs,
    compute_coverages,
    compute_idf,
    drop_neighbours,
    find_same_subject,
    fuse_meaning,
    group_by_session,
    interleave_rankings,
    make_passage_scorer,
    pick_best_per_exchange,
    rank_by_text,
    rank_in_context,
    rank_sessions,
    rank_turns_by_session,
    sort_by_score,
    sort_same_subject_first,
    widen_score,
)
from clio.memory.transcripts.session_text import MessageExcerpt, RecalledPassage, SessionHit, Signals
from clio.text.formatting import split_passages
from clio.text.vocabulary import has_phrase, porter_stem

SNIPPET_CHARS = 300
_WORD = re.compile(r"\w+")


def extract_snippet(text: str, passage: str, query: Query) -> str:
    """Return up to 300 characters of a text, around the query's position in `passage`, the text's best passage.

    That is where the query occurs word for word, or else where most of its words are close together.
    """
    centre = max(text.find(passage), 0) + _find_centre(passage, query)
    start = max(min(centre - SNIPPET_CHARS // 3, len(text) - SNIPPET_CHARS), 0)
    end = start + SNIPPET_CHARS
    shown = " ".join(text[start:end].split())
    return ("… " if start else "") + shown + (" …" if end < len(text) else "")


def _find_centre(text: str, query: Query) -> int:
    places = [(match.start(), stem) for match in _WORD.finditer(text) for stem in _stem_word(match[0])]
    phrase, length = query.words, len(query.words)
    if phrase and {stem for _, stem in places}.issuperset(phrase):
        for at, (start, stem) in enumerate(places):
            if stem == phrase[0] and tuple(stem for _, stem in places[at : at + length]) == phrase:
                return start
    wanted = {stem for term in query.terms for stem in term.stems}
    hits = [(start, start, frozenset((stem,))) for start, stem in places if stem in wanted]
    densest = find_densest_hits(hits, SNIPPET_CHARS * 2 // 3)
    return densest[0][0] if densest else 0


@lru_cache(maxsize=65_536)
def _stem_word(word: str) -> tuple[str, ...]:
    if word.isascii() and word.isalnum():  # true for most words, and much faster than folding them
        return (porter_stem(word.lower()),)
    return tuple(map(porter_stem, split_folded_words(word)))


SCORED_PASSAGES, SCORED_PASSAGES_FOR_READING = 32, 120
"""Number of passages that are scored from their text; the rest keep FTS5's score. `for_reading` needs more of them."""
SCORED_CHARS, SCORED_CHARS_FOR_READING = 8_000, 36_000
"""About the characters of these passages in total: scoring long passages was half of the CPU time of a query."""
SCORED_BATCH = 8
MAX_TURNS_OF_DATE = 200
"""Number of turns from a date in the query that are considered, even without a word of the query."""
MAX_YEARS = 5
"""Number of recent years considered if the query names a date without a year."""
GUESS_FACTOR = 0.5
"""Factor for the weight of a word that was taken for a misspelling of another one."""
UNKNOWN_FACTOR = 0.2
"""Factor for a word that no passage contains, in the share that a turn covers of a query for a session."""
EXPANDED_TURNS = 20
"""Number of best turns whose neighbours are considered, too."""
STATEMENT_SESSIONS = 12
"""Number of best sessions whose statements about the user are considered, if the query asks about the user."""
ENOUGH_COVERED = 0.9
"""Share of the query that one passage covers with its own words from which related words count in none: where the words
of the query are used, others name something else. With 0.75 and 0.6 0.4 and 4 points less at hit@10 on the long talks.
"""
FEW_PASSAGES = 8
"""Number of passages with a word of the query up to which related words count in sessions of an agent at work. Work is
asked about with the names of its parts, and vaguely ("the big mess with the locks"), where "big" finds only noise.
"""
OWN_WORDS_SHARE = 0.25
"""Share of the passages scored from their text that are chosen by the query's own words alone. If one of them covers
enough, related words choose none, so that they cannot displace passages with the query's own words.
"""
WORK = 1.25
"""Factor for turns of sessions in which an agent worked, if others only talk. On the development sets of made coding
sessions the right turn comes first in 86 to 94, 48 to 58, 83 to 86, 25 to 41, 51 to 65 and 27 to 35 % of the questions.
With 1.6 it is up to 93 %, but sessions that only planned something, or asked about it, are found less often.
"""
WORK_SHARE = 0.25
"""Share of sessions of an agent at work from which a query with "I" or "we" is taken to ask about the work."""
MAX_ONLY_TITLES = 20
"""Number of sessions that are considered because of their titles alone."""
ONLY_TITLE = 0.5
"""Weight of the query's words in the title of a session that has none of them, for its first turn."""
MIN_TITLE_SHARE = 0.6
"""Minimum share of the query, by weight, that the title of a session must have for its first turn to be an answer."""
MAX_SCORED_OUTPUTS = 60
MAX_OUTPUT_TERMS = 10
"""Number of words of a query that are searched in outputs, the rarest first."""
MIN_OUTPUT_TERMS = 2
"""Number of the query's words that an output must contain, if a session is searched for: with one, outputs that were
only read would be found for any word; `in:output` finds these.
"""
MIN_OUTPUT_SHARE = 0.5
"""Minimum weight of the query's words in an output, as a share of the best output's, if a session is searched for."""
MIN_SESSION_SCORE = 0.5
"""Minimum score, as a share of the best session's, of a session that can contain a newer state of the same subject."""
MIN_COVERAGE = 0.35
"""Minimum coverage of the query, as a share of the best passage's; passages below it only share a word with it."""
RANKED_PER_SHOWN_SESSION = 3
"""Number of sessions ranked per session shown: some are dropped because they repeat another one."""
EXCERPT_CHARS = 400
MAX_EXCHANGE_TURNS = 60
MAX_MESSAGES_BETWEEN = 3
MAX_OUTPUT_CHARS = 100_000


class _Weighed(Struct, kw_only=True):
    """Passages that were scored from their text, by key of their turn and number, their characters in total, and the
    largest share of the query that one of them covers.
    """

    passages: dict[tuple[int, int], tuple[FoundPassage, PassageScore]] = {}
    chars: int = 0
    covered: float = 0.0


class Search:
    """The search for one query. Make one per query; the result of each method is computed when it is called.

    Args:
        exclude: the ids of sessions to leave out.
        until: turns created later are not found; seconds since the epoch.
        near: cosines of the vectors nearest to the query, by session id and message id.
    """

    def __init__(
        self,
        reader: IndexReader,
        query: Query,
        exclude: frozenset[str],
        until: float = math.inf,
        near: Mapping[tuple[str, str], float] | None = None,
    ) -> None:
        self._near = near or {}
        self._reader = reader
        self._query = query
        self._exclude = reader.find_session_keys(exclude)
        self._until = until
        self._rarities: list[float] = []
        self._counts: Sequence[int] = ()
        self._scored_passages, self._scored_chars = SCORED_PASSAGES, SCORED_CHARS
        self._load_texts = reader.load_outputs if query.scope == "output" else reader.load_texts

    def search_turns(self, limit: int) -> tuple[Candidate, ...]:
        """Return single turns with their whole best passages and without snippets, best first."""
        scored = self._rank_turns()
        ranked = scored[:limit]
        keys = [item.turn.key for item in ranked]
        texts, messages = self._load_texts(keys), self._reader.load_message_ids(keys)
        about = self._reader.load_sessions(item.turn.session for item in ranked)
        # The words of a turn's neighbours count, too, even where these are not among the best ones.
        by_place = {(item.turn.session, item.turn.place): item for item in scored}
        in_session: dict[int, set[int]] = {}
        for item in ranked:
            in_session.setdefault(item.turn.session, set()).update(item.found)
        best = max((item.score for item in ranked), default=0.0) or 1.0
        # A session is described vaguely ("where we chased that thing"), so a word that none contains says little. What
        # a session says is asked for in its words: without them it is probably not there.
        unknown = UNKNOWN_FACTOR if self._query.of_session else 1.0
        known = [1.0 if count else unknown for count in self._counts]
        possible = sum(rarity * factor for rarity, factor in zip(self._rarities, known, strict=True)) or 1.0
        certainty = [GUESS_FACTOR if term.is_guess else 1.0 for term in self._query.terms]
        titles = {key: _extract_title_stems(session.title) for key, session in about.items()}
        total = sum(self._rarities) or 1.0

        def make_hit(item: Scored) -> Candidate:
            turn = item.turn
            around = [at for step in (-1, 0, 1) if (at := by_place.get((turn.session, turn.place + step)))]
            found = in_session[turn.session] if self._query.of_session else _unite(item.found for item in around)
            terms = enumerate(self._query.terms)
            in_title = frozenset(place for place, term in terms if not titles[turn.session].isdisjoint(term.stems))
            if turn.place == 1 and not in_session[turn.session]:
                is_named = sum(self._rarities[place] for place in in_title) >= MIN_TITLE_SHARE * total
                found = in_title if is_named else found
            related = _unite(item.related for item in around) - found
            session = about[turn.session]
            passage = self._get_passage(item, texts[turn.key])
            # A session without a name is titled by its first message.
            begin = " ".join(session.title.split()).rstrip("…")[:40]
            begins_like_title = bool(begin) and " ".join(passage.split()).startswith(begin)
            return Candidate(
                source="session",
                id=messages[turn.key],
                text=passage,
                kind=turn.role,
                role=turn.role,
                # Messages imported from other programs may have no time.
                when=turn.created or session.updated,
                where=Place(session=session.id, message=messages[turn.key], title=session.title),
                engine=Engine(
                    share=min(item.score / best, 1.0),
                    # Words that only an output contains count as unknown in `possible`.
                    covered=min(sum(self._rarities[place] * certainty[place] for place in found) / possible, 1.0),
                    words=sum(certainty[place] == 1.0 for place in found),
                    related=sum(self._rarities[place] for place in related) / possible,
                    related_words=len(related),
                    of_session=self._query.of_session,
                    is_dated=any(date.includes(turn.created) for date in self._query.dates),
                    title=0.0 if begins_like_title else len(in_title) / max(len(self._query.terms), 1),
                ),
                asks=turn.role == "user" and turn.asks == ONLY_ASKS,
                says_nothing=turn.role == "assistant" and says_nothing(passage),
            )

        def is_only_in_title(hit: Candidate) -> bool:
            """Whether only the title contains words of the query, and no message around this one."""
            found, where = hit.engine, hit.where
            if found is None or where is None or found.is_dated or (where.session, where.message) in self._near:
                return False
            return found.title > 0 and not (found.covered or found.related)

        return tuple(hit for hit in map(make_hit, ranked) if not is_only_in_title(hit))

    def _rank_turns(self) -> list[Scored]:
        scored = self._add_outputs(self._favour_work(self._score_turns()))
        if self._query.scope == "text":
            scored = fuse_meaning(scored, self._find_near_turns(scored))
        titles = self._score_titles()
        if self._query.scope == "text":
            total = sum(self._rarities) or 1.0
            named = {session: weight for session, weight in titles.items() if weight >= MIN_TITLE_SHARE * total}
            known = {item.turn.key for item in scored}
            scored = [
                item if item.turn.key in known else structs.replace(item, score=ONLY_TITLE * named[item.turn.session])
                for item in self._add_only_titles(scored, named, MAX_ONLY_TITLES)
            ]
        if self._query.of_session:
            ranked = self._rank_with_context(scored, titles)
            return rank_turns_by_session(ranked, self._score_sessions(scored, titles))
        if self._query.scope == "text":
            best = sort_by_score(scored)
            # The turns around the best ones: an answer need not repeat the words of the question.
            near = self._reader.find_neighbours((item.turn for item in best[:EXPANDED_TURNS]), reach=2)
            scored = self._add_turns(scored, chain(near, self._find_statements(best), self._find_dated_turns()))
        return self._rank_with_context(scored, titles)

    def sessions(self, limit: int, passages: int, total: int) -> tuple[SessionHit, ...]:
        """Return sessions, ranked by their best turn, with their best turns except those next to a better one.

        total: maximum number of turns; the best of each session is chosen first, then the second best ones.
        """
        _, ranked, inside = self._rank_sessions(limit)
        chosen = {session: drop_neighbours(inside[session], passages) for session, _ in ranked}
        turns = interleave_rankings(list(chosen.values()), total)
        return self._make_session_hits(ranked, chosen, self._make_passages(turns))

    def for_reading(self, limit: int, passages: int, total: int) -> tuple[SessionHit, ...]:
        """Return sessions as `sessions` does, but selected and ordered for someone who reads the answer:

        - passages about the same subject come newest first, since the newest state is the valid one;
        - of each exchange (a user message and everything that answers it) only the best turn is returned, together
          with the request, the nearest answers and the conclusion;
        - passages that only share a word with the query, and exact repetitions, are left out.
        """
        self._scored_passages, self._scored_chars = SCORED_PASSAGES_FOR_READING, SCORED_CHARS_FOR_READING
        scored, ranked, inside = self._rank_sessions(limit * RANKED_PER_SHOWN_SESSION)
        inside = {session: inside[session] for session, _ in ranked}
        exchange_of = self._find_exchanges(item for items in inside.values() for item in items)
        covered = compute_coverages(scored, self._rarities, exchange_of)
        scores = dict(ranked)
        chosen = {session: pick_best_per_exchange(items, exchange_of, passages) for session, items in inside.items()}
        chosen, older = self._sort_newest_first(chosen, scores, covered, limit, total)
        turns = interleave_rankings(list(chosen.values()), total)
        hits = self._make_passages(turns)
        shown = {
            turn.key: structs.replace(self._add_exchange(turn, hits[turn.key]), is_older=turn.key in older)
            for turn in (item.turn for item in turns)
        }
        found = self._make_session_hits([(session, scores[session]) for session in chosen], chosen, shown)
        return tuple(sorted(found, key=lambda hit: all(map(_is_without_answer, hit.passages))))

    def _rank_sessions(self, limit: int) -> tuple[list[Scored], list[tuple[int, float]], dict[int, list[Scored]]]:
        """Return all scored turns, the best sessions with their scores, and the turns of each session, best first."""
        scored = self._add_outputs(self._favour_work(self._score_turns()))
        titles = self._score_titles()
        scored = self._add_only_titles(scored, titles, max(limit, MAX_ONLY_TITLES))
        ranked = self._score_sessions(scored, titles)[:limit]
        chosen = {session for session, _ in ranked}
        inside = [item for item in scored if item.turn.session in chosen]
        return scored, ranked, group_by_session(self._rank_with_context(inside, titles))

    def _add_only_titles(self, scored: list[Scored], titles: Mapping[int, float], limit: int) -> list[Scored]:
        """Return the turns with the first turns of the best sessions that are found only by their titles."""
        known = {item.turn.session for item in scored}
        only_titles = sorted(titles.keys() - known, key=lambda session: (-titles[session], -session))
        return self._add_turns(scored, self._reader.load_first_turns(only_titles[:limit]))

    def _score_sessions(self, scored: Sequence[Scored], titles: Mapping[int, float]) -> list[tuple[int, float]]:
        return rank_sessions(rank_by_text(scored, titles, self._query.dates), self._rarities)

    def _find_near_turns(self, scored: Sequence[Scored]) -> dict[int, tuple[Turn, float]]:
        """Return turns whose vectors are near the query's, with their cosines, if meaning helps to find the answer.

        It does not in sessions of an agent at work, where the plan, the work and the notes about it are equally near,
        unless the words of the query find little; nor for a query with a date or with words in quotes.
        """
        if not self._near or self._query.dates or self._query.phrases:
            return {}
        found = self._reader.find_turns_of_messages(self._near)
        turns = [*(item.turn for item in scored), *found.values()]
        kinds = self._load_kinds(turn.session for turn in turns)
        if len(scored) >= FEW_PASSAGES and _are_of_work(kinds.values()):
            return {}
        return {
            turn.key: (turn, self._near[place])
            for place, turn in found.items()
            if turn.session not in self._exclude
            and turn.created <= self._until
            and not (turn.asks == ONLY_ASKS or (turn.asks and kinds.get(turn.session) == "people"))
        }

    def _add_outputs(self, scored: list[Scored]) -> list[Scored]:
        """Return the turns together with those that called a tool whose output has rare words of the query."""
        query = self._query
        if query.scope != "text" or len(query.terms) < MIN_OUTPUT_TERMS:
            return scored
        rarest = sorted(range(len(query.terms)), key=lambda place: -self._rarities[place])[:MAX_OUTPUT_TERMS]
        found = self._reader.find_terms_in_outputs(query, rarest, MIN_OUTPUT_TERMS, self._exclude)
        weights = {key: sum(self._rarities[place] for place in terms) for key, terms in found.items()}
        best = max(weights.values(), default=0.0)
        keys = sorted((key for key, weight in weights.items() if weight >= MIN_OUTPUT_SHARE * best), reverse=True)
        keys = sorted(keys, key=lambda key: -weights[key])[:MAX_SCORED_OUTPUTS]
        if query.phrases:
            texts = self._reader.load_outputs(keys)
            keys = [key for key in keys if self._has_phrases(extract_stems(texts[key][:MAX_OUTPUT_CHARS]))]
        callers = self._reader.find_callers(keys)
        callers = {key: turn for key, turn in callers.items() if turn.created <= self._until}
        return add_outputs(scored, {key: found[key] for key in keys}, callers, self._rarities)

    def _has_phrases(self, stems: Sequence[str]) -> bool:
        """Whether a text, given as its stems, contains all quoted phrases."""
        return all(has_phrase(stems, [porter_stem(word) for word in phrase]) for phrase in self._query.phrases)

    def _rank_with_context(self, scored: Sequence[Scored], titles: Mapping[int, float]) -> list[Scored]:
        talks = self._load_kinds(item.turn.session for item in scored)
        weights: dict[SessionKind, Weights] = dict(TURNS)
        if self._query.of_assistant:
            weights["assistant"] = OF_ASSISTANT
        elif self._query.of_user and not _are_of_work(talks.values()):
            weights["assistant"] = OF_USER
        return rank_in_context(scored, titles, talks, weights, self._query.dates)

    def _add_turns(self, scored: Sequence[Scored], turns: Iterable[Turn]) -> list[Scored]:
        """Return the scored turns, and those of the others that may be found, with a score of 0."""
        known = {item.turn.key for item in scored}
        new = {turn.key: turn for turn in turns if turn.key not in known}.values()
        allowed = (turn for turn in new if turn.created <= self._until and turn.session not in self._exclude)
        return [*scored, *(Scored(turn=turn, score=0.0) for turn in allowed)]

    def _find_dated_turns(self) -> list[Turn]:
        """Return turns from a day or month the query names; they may answer it without containing any of its words."""
        if not self._query.dates:
            return []
        years = self._reader.list_years(MAX_YEARS)
        spans = [span for date in self._query.dates for span in date.spans(years)]
        return [turn for span in spans for turn in self._reader.find_turns_between(*span, MAX_TURNS_OF_DATE)]

    def _make_session_hits(
        self,
        ranked: Sequence[tuple[int, float]],
        chosen: Mapping[int, list[Scored]],
        shown: Mapping[int, RecalledPassage],
    ) -> tuple[SessionHit, ...]:
        about = self._reader.load_sessions(chosen)
        return tuple(
            SessionHit(
                session_id=about[session].id,
                session_name=about[session].title,
                updated=about[session].updated,
                score=round(score, 3),
                passages=tuple(shown[item.turn.key] for item in chosen[session] if item.turn.key in shown),
            )
            for session, score in ranked
        )

    def _find_exchanges(self, items: Iterable[Scored]) -> dict[int, Exchange]:
        """Return the exchange of each turn, by the turn's key."""
        turns = [item.turn for item in items]
        places = self._reader.load_user_places({turn.session for turn in turns})
        return {turn.key: (turn.session, bisect_right(places[turn.session], turn.place)) for turn in turns}

    def _sort_newest_first(
        self,
        chosen: Mapping[int, list[Scored]],
        scores: Mapping[int, float],
        covered: Mapping[int, float],
        limit: int,
        total: int,
    ) -> tuple[dict[int, list[Scored]], set[int]]:
        """Return sessions and their turns in reading order, and the keys of turns that have a newer one about the same
        subject.
        """
        best = max(scores.values(), default=0.0)
        leading = [
            item for session, items in chosen.items() if scores[session] >= MIN_SESSION_SCORE * best for item in items
        ]
        # An earlier question about the subject is not a newer statement about it.
        same = find_same_subject([item for item in leading if item.turn.asks != ONLY_ASKS], covered)
        minimum = MIN_COVERAGE * max((covered[item.turn.key] for item in leading), default=0.0)
        fitting = [item for items in chosen.values() for item in items if covered[item.turn.key] >= minimum]
        texts = self._reader.load_texts(item.turn.key for item in fitting)
        newest: dict[str, Scored] = {}  # by text: of exact repetitions only the newest
        for item in fitting:
            text = " ".join(texts[item.turn.key].split())
            other = newest.get(text)
            newest[text] = item if other is None or item.turn.created > other.turn.created else other
        ordered = dict(islice(group_by_session(sort_same_subject_first(list(newest.values()), same)).items(), limit))
        shown = [item for item in interleave_rankings(list(ordered.values()), total) if item.turn.key in same]
        last = max((item.turn.created for item in shown), default=0.0)
        return ordered, {item.turn.key for item in shown if item.turn.created < last}

    def _add_exchange(self, turn: Turn, hit: RecalledPassage) -> RecalledPassage:
        """Return the passage with excerpts of the request, the nearest answers and the conclusion of its exchange."""
        exchange = self._reader.load_exchange(turn, MAX_EXCHANGE_TURNS)
        others = [other for other in exchange if other.key != turn.key]
        request = next((other for other in others if other.role == "user" and other.place < turn.place), None)
        answers = [other for other in others if other.role == "assistant"]
        conclusion = answers[-1] if answers and answers[-1].place > turn.place else None
        between = [answer for answer in answers if answer is not conclusion]
        between.sort(key=lambda answer: (abs(answer.place - turn.place), -answer.place))
        between = sorted(between[:MAX_MESSAGES_BETWEEN], key=lambda answer: answer.place)
        keys = [other.key for other in (request, conclusion, *between) if other is not None]
        texts, messages = self._reader.load_texts(keys), self._reader.load_message_ids(keys)

        def make_excerpt(turn: Turn) -> MessageExcerpt:
            text = " ".join(texts[turn.key][:EXCERPT_CHARS].split())
            return MessageExcerpt(message_id=messages[turn.key], role=turn.role, created=turn.created, text=text)

        return structs.replace(
            hit,
            asked=make_excerpt(request) if request else None,
            between=tuple(map(make_excerpt, between)),
            concluded=make_excerpt(conclusion) if conclusion else None,
        )

    def _find_statements(self, best: Sequence[Scored]) -> list[Turn]:
        """Return what users said about themselves in the best sessions, if the query asks about them.

        It was often said in passing, in none of the words of the query; the session is about the same subject.
        """
        if not self._query.of_user or self._query.of_assistant:
            return []
        sessions = list(dict.fromkeys(item.turn.session for item in best))
        if _are_of_work(self._load_kinds(sessions).values()):
            return []
        return self._reader.find_statements(sessions[:STATEMENT_SESSIONS])

    def _score_turns(self) -> list[Scored]:
        """Return all candidates of the query's scope with scores, in no particular order."""
        query = self._query
        if not query.terms:
            return []
        passages, mean_words = self._reader.load_totals()
        counts = self._reader.count_terms(query.terms)
        if 0 in counts and query.scope == "text":
            # The parts of a compound are words of the query, too, so another spelling of it is no part that is missing.
            kept = [place for place, term in enumerate(query.terms) if counts[place] or not term.is_compound]
            query = structs.replace(query, terms=tuple(query.terms[place] for place in kept))
            counts = [counts[place] for place in kept]
            # Only words that occur nowhere are replaced: a rare word is probably what the user meant.
            if 0 in counts:
                query = self._add_similar_words(query, counts)
                counts = self._reader.count_terms(query.terms)
            self._query = query
        self._counts = counts
        self._rarities = [compute_idf(passages, count) for count in counts]
        weigh = make_passage_scorer(query, self._rarities, mean_words)
        if query.scope == "output":
            found = self._reader.find_outputs(query, self._exclude)
            turns = [turn for turn in found if turn.created <= self._until][:MAX_SCORED_OUTPUTS]
            texts = self._reader.load_outputs(turn.key for turn in turns)
            # The table of outputs has no positions, so phrases are checked in the text.
            stems = {turn.key: extract_stems(texts[turn.key][:MAX_OUTPUT_CHARS]) for turn in turns}
            if query.phrases:
                turns = [turn for turn in turns if self._has_phrases(stems[turn.key])]
            weighed = [(turn, weigh(stems[turn.key])) for turn in turns]
            return [_make_scored(turn, weighing) for turn, weighing in weighed if weighing.found]
        if query.scope == "title":
            return []
        found = self._reader.find_passages(query, counts, self._exclude, self._until)
        # A session is asked for by what was done in it, mostly in its own names: others only add near misses.
        has_related = not query.of_session and any(term.related for term in query.terms)
        weighed = _Weighed()
        self._weigh(found, weigh, weighed, OWN_WORDS_SHARE if has_related else 1.0)
        related_rarities: list[float] = []
        wider: list[FoundPassage] = []
        if has_related and self._needs_related(found, weighed.covered):
            related = self._reader.count_related(query.terms)
            related_rarities = [compute_idf(passages, count) for count in related]
            wider = self._reader.find_passages(query, counts, self._exclude, self._until, related)
        self._weigh(wider or found, weigh, weighed, 1.0)
        best: dict[int, Scored] = {}
        for candidate, weighing in weighed.passages.values():
            if related_rarities:
                widened = widen_score(weighing, self._rarities, related_rarities)
                weighing = structs.replace(weighing, score=widened)
            _keep_best(best, _make_scored(candidate.turn, weighing, candidate.number))
        # The rest keeps its FTS5 score, scaled by the smallest ratio seen, so that none of it overtakes a passage
        # that was scored from its text.
        ratio = 1.0
        for candidate in wider or found:
            known = weighed.passages.get((candidate.turn.key, candidate.number))
            if known and known[1].found and candidate.score > 0:
                ratio = min(ratio, known[1].score / candidate.score)
        for candidate in wider or found:
            if (candidate.turn.key, candidate.number) not in weighed.passages:
                _keep_best(best, Scored(turn=candidate.turn, score=candidate.score * ratio, passage=candidate.number))
        return list(best.values())

    def _needs_related(self, found: Sequence[FoundPassage], covered: float) -> bool:
        """Whether the passages found by the query's own words, which cover that share of it, are not enough."""
        if covered >= ENOUGH_COVERED:
            return False
        few = len(found) < FEW_PASSAGES
        return few or not _are_of_work(self._load_kinds(one.turn.session for one in found).values())

    def _favour_work(self, scored: list[Scored]) -> list[Scored]:
        """Return the turns, those of an agent at work with a higher score, unless the query is about the user.

        Where a piece of work was asked for in one session and done in another, both have the words of the query.
        """
        kinds = self._load_kinds(item.turn.session for item in scored)
        are_mixed = len(set(kinds.values())) > 1
        if not are_mixed or self._query.of_assistant or (self._query.of_user and not _are_of_work(kinds.values())):
            return scored
        return [
            structs.replace(item, score=WORK * item.score) if kinds.get(item.turn.session) == "agent" else item
            for item in scored
        ]

    def _load_kinds(self, sessions: Iterable[int]) -> dict[int, SessionKind]:
        """Return the kind of each session, by key."""
        return {key: session.kind for key, session in self._reader.load_sessions(sessions).items()}

    def _weigh(
        self,
        found: Sequence[FoundPassage],
        weigh: Callable[[Sequence[str]], PassageScore],
        weighed: "_Weighed",
        share: float,
    ) -> None:
        """Score the first passages that are not in `weighed` yet from their text, up to a share of the limits."""
        new = (one for one in found if (one.turn.key, one.number) not in weighed.passages)
        while (room := int(share * self._scored_passages) - len(weighed.passages)) > 0:
            batch = list(islice(new, min(SCORED_BATCH, room)))
            if not batch or weighed.chars >= share * self._scored_chars:
                return
            texts = self._reader.load_texts(candidate.turn.key for candidate in batch)
            for candidate in batch:
                passage = split_passages(texts[candidate.turn.key])[candidate.number]
                weighing = weigh(_extract_passage_stems(passage))
                weighed.passages[candidate.turn.key, candidate.number] = (candidate, weighing)
                weighed.chars += len(passage)
                weighed.covered = max(weighed.covered, weighing.covered)

    def _add_similar_words(self, query: Query, counts: Sequence[int]) -> Query:
        """Return the query with a similarly spelt word added to each word that the index does not contain."""

        def add_meant(term: Term) -> Term:
            meant = self._reader.find_similar_stem(term.stems[0])
            if not meant:
                return term
            return structs.replace(term, forms=(*term.forms, meant), stems=(*term.stems, meant), is_guess=True)

        pairs = zip(query.terms, counts, strict=True)
        return structs.replace(query, terms=tuple(term if count else add_meant(term) for term, count in pairs))

    def _score_titles(self) -> dict[int, float]:
        """Return, by session, the sum of the rarities of the terms that its title contains."""
        if not self._query.terms or self._query.scope == "output":
            return {}
        titles = self._reader.find_titles(self._query, self._exclude)
        bags = {session: _extract_title_stems(title) for session, title in titles.items()}
        weighed = list(zip(self._query.terms, self._rarities, strict=True))
        return {
            session: sum(rarity for term, rarity in weighed if not bag.isdisjoint(term.stems))
            for session, bag in bags.items()
        }

    def _make_passages(self, items: Sequence[Scored]) -> dict[int, RecalledPassage]:
        """Return the best passages of turns with snippets, by key of the turn."""
        keys = [item.turn.key for item in items]
        texts, messages = self._load_texts(keys), self._reader.load_message_ids(keys)
        about = self._reader.load_sessions(item.turn.session for item in items)

        def make_passage(item: Scored) -> RecalledPassage:
            turn, session = item.turn, about[item.turn.session]
            passage = self._get_passage(item, texts[turn.key])
            return RecalledPassage(
                session_id=session.id,
                session_name=session.title,
                message_id=messages[turn.key],
                role=turn.role,
                created=turn.created,
                snippet=extract_snippet(texts[turn.key], passage, self._query),
                score=round(item.score, 3),
                signals=self._compute_signals(_extract_passage_stems(passage), _extract_title_stems(session.title)),
            )

        return {item.turn.key: make_passage(item) for item in items}

    def _get_passage(self, item: Scored, text: str) -> str:
        is_output = self._query.scope == "output"
        return text[:MAX_OUTPUT_CHARS] if is_output else split_passages(text)[item.passage]

    def _compute_signals(self, text: Sequence[str], title: frozenset[str]) -> Signals:
        """Return the points shown for a passage and a title, both given as stems."""
        query = self._query
        bag = set(text)
        query_stems = {stem for term in query.terms for stem in term.stems}
        mean = sum(self._rarities) / len(self._rarities) or 1.0
        pairs = list(zip(query.terms, self._rarities, strict=True))
        return Signals(
            exact=3.0 if len(query.words) > 1 and has_phrase(text, query.words) else 0.0,
            keywords=round(sum(rarity / mean for term, rarity in pairs if not bag.isdisjoint(term.stems)), 2),
            density=round(1.5 * sum(stem in query_stems for stem in text) / max(len(text), 1), 2),
            title=round(0.5 * sum(not title.isdisjoint(term.stems) for term in query.terms) / len(query.terms), 2),
        )


def _unite(sets: Iterable[frozenset[int]]) -> frozenset[int]:
    return frozenset[int]().union(*sets)


@lru_cache(maxsize=4_096)
def _extract_passage_stems(passage: str) -> tuple[str, ...]:
    """Cached: a passage that is shown was scored before, and queries of one user find the same passages."""
    return tuple(extract_stems(passage))


@lru_cache(maxsize=1_024)
def _extract_title_stems(title: str) -> frozenset[str]:
    return frozenset(extract_stems(title))


def _are_of_work(kinds: Iterable[SessionKind]) -> bool:
    """Whether enough of these sessions are an agent's that "I" and "we" in a query stand for what was done in them.

    Without this, requests in which the user says "we need …" come before the sessions that did the work.
    """
    kinds = list(kinds)
    return kinds.count("agent") >= WORK_SHARE * len(kinds)


def _is_without_answer(passage: RecalledPassage) -> bool:
    """Whether a passage is of a turn in which the user only asked something and the reply does not answer it."""
    question = passage.snippet if passage.role == "user" else passage.asked.text if passage.asked else ""
    reply = passage.concluded.text if passage.concluded else "" if passage.role == "user" else passage.snippet
    return classify_message(question) == ONLY_ASKS and (not reply or says_nothing(reply))


def _make_scored(turn: Turn, weighing: PassageScore, passage: int = 0) -> Scored:
    return Scored(
        turn=turn,
        score=weighing.score,
        passage=passage,
        exact=weighing.exact,
        found=weighing.found,
        related=weighing.related,
        tells_change=weighing.tells_change,
    )


def _keep_best(best: dict[int, Scored], item: Scored) -> None:
    """Store the item in `best`, by the key of its turn, if it is better than the stored one."""
    other = best.get(item.turn.key)
    if other is None or (item.exact, item.score) > (other.exact, other.score):
        best[item.turn.key] = item
