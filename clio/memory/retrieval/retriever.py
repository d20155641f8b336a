"""Search all stores with one query: sessions, documents, memories, preferences and styles, ranked by one score."""

import math
import re
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import cast

from msgspec import Struct, structs

from clio.errors import ClioError, UserError
from clio.memory.retrieval.evidence import extract_passage
from clio.memory.retrieval.scoring import (
    LAYERS,
    Candidate,
    Fusion,
    Layer,
    Place,
    Reason,
    Scored,
    Source,
    Transcribed,
    compute_meaning,
    list_reasons,
    of_entry,
    of_note,
    of_record,
    of_style,
    rank,
)
from clio.memory.retrieval.turn_memory import of_document, of_near_turn
from clio.memory.store.memory_index import MemoryIndex, Ranked
from clio.memory.store.memory_index import rank_records as seed_rank
from clio.memory.store.memory_store import MemoryStore
from clio.memory.store.record import PROGRESS_KEY, PROJECT_KINDS, TYPED_KINDS, Hit, Kind, MemoryRecord, select_types
from clio.memory.store.versions import records_at
from clio.memory.styles.styles import Styles
from clio.memory.transcripts.query import ONLY_ASKS, classify_message, says_nothing
from clio.memory.transcripts.session_search import SessionRecall
from clio.memory.transcripts.session_text import Recall
from clio.memory.vectors.semantic_index import SemanticIndex
from clio.storage.documents import ErrorIsolation
from clio.text.formatting import format_count
from clio.text.translation import tr
from clio.text.vocabulary import stem_word, tokenize

MAX_LIMIT = 200
MAX_MEMORIES = 60
"""Number of memories per store that share a word with the query and are scored."""
PASSAGES_PER_HIT = 3
MIN_PASSAGES = 24
"""Number of session passages that are scored per answer, and in total at least: some only repeat others."""
SNIPPET_CHARS = 300
MAX_NEAREST, MAX_NEAREST_FUSED = 12, 160
"""Number of archived turns by the distance of their vectors: hashed ones, and those of a model."""
_MAX_DISTANCE = 2.0
"""The distance of opposite vectors, so that no candidate is excluded."""


DEFAULT_LIMIT = 10
"""Number of answers if no limit is given."""


WEAK_SHARE = 0.35
"""Hits with less than this share of the best score seldom answer: "matches live" after an exact answer."""


class RecallHit(Struct, frozen=True, kw_only=True):
    """One answer of a search. See `Candidate` for source, kind, id, where and label.

    Attributes:
        text: for a long text the passage that answers, up to about 700 characters.
        score: 0.0 to 1.0; comparable between queries with convex fusion.
        reasons: all factors of the score.
        also: passages with the same statement.
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
    """The answers of all stores to a query, best first.

    Attributes:
        more: the number of further answers beyond the limit.
        left_out: stores that could not be searched, one sentence each.
        ms: the time each layer took, in milliseconds.
    """

    hits: tuple[RecallHit, ...] = ()
    more: int = 0
    left_out: tuple[str, ...] = ()
    ms: dict[Layer, float] = {}


class _Stores(ErrorIsolation):
    """The stores one search could not use, and the time each layer took in milliseconds (`ms`)."""

    def __init__(self) -> None:
        super().__init__()
        self.ms: dict[Layer, float] = {}

    @contextmanager
    def timed(self, layer: Layer) -> Generator[None]:
        """Add the time of the block to the layer's."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            took = (time.perf_counter() - begin) * 1e3
            self.ms[layer] = round(self.ms.get(layer, 0.0) + took, 2)

    def collect(self, what: str, find: Callable[[], Iterable[Candidate]]) -> list[Candidate]:
        """Return what a store finds; nothing if it fails."""
        return self.run(what, lambda: list(find()), list[Candidate]())


class Retriever:
    """Searches all stores of a project and its user, and ranks the results together.

    styles: None if nothing has been learned about styles.
    """

    def __init__(
        self,
        sessions: SessionRecall,
        meaning: SemanticIndex,
        store: MemoryStore,
        styles: Styles | None = None,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._sessions = sessions
        self._meaning = meaning
        self._store = store
        self._styles = styles
        self._clock = clock

    def search(
        self,
        query: str,
        *,
        layers: Sequence[Layer] = LAYERS,
        at: float | None = None,
        limit: int = DEFAULT_LIMIT,
        fusion: Fusion = "convex",
        current: str | None = None,
        use: bool = True,
    ) -> RecallAnswer:
        """Return the answers to a query, best first; none if nothing contains its words.

        A store that fails does not affect the others; it is named in `left_out`.

        Args:
            at: search the state of memory at that time, in seconds since the epoch: what was known then, with the
                texts of that time.
            limit: maximum number of answers; values outside 1 to 200 are set to the nearest of these.
            fusion: "rrf" combines the sources by rank instead of score.
            current: id of the running session; only its archived turns are searched.
            use: count the memories among the answers as used, which delays their pruning. Never with `at`.
        """
        stores = _Stores()
        limit = min(max(limit, 1), MAX_LIMIT)
        candidates: list[Candidate] = []
        transcribed = Transcribed()
        if "L0" in layers:
            with stores.timed("L0"):
                candidates += self._find_passages(query, at, current, limit, stores)
                # A word's rarity is that in everything remembered: among a few dozen memories alone it means little.
                transcribed = stores.run(
                    tr("word frequencies are"), lambda: self._sessions.count_words(query), transcribed
                )
        others: list[Layer] = [layer for layer in layers if layer != "L0"]
        if at is not None and others:
            candidates += self._find_past_memories(query, at, others, stores)
        elif at is None:
            candidates += self._find_memories(query, others, stores)
        found, more = rank(
            query,
            candidates,
            now=self._clock() if at is None else at,
            limit=limit,
            transcribed=transcribed,
            vectors=self._meaning.uses_model,
            is_search=True,
            fusion=fusion,
        )
        used = [one.candidate.id for one in found if one.candidate.source == "memory"]
        if used and use and at is None:
            with suppress(ClioError, OSError, TimeoutError):  # searching works without write access, too
                self._store.mark_used(used)
        hits = map(_make_hit, found)
        if at is None:
            hits = map(self._label_drift, hits)
            hits = self._label_replaced(tuple(hits))
        hits = tuple(_label_near_miss(hit, query) for hit in hits)
        return RecallAnswer(hits=hits, more=more, left_out=tuple(stores.left_out), ms=stores.ms)

    def memories(self, query: str, limit: int = DEFAULT_LIMIT, type: str = "", *, use: bool = True) -> list[Ranked]:
        """Return the typed memories and preferences that fit a query, best first, with the document's own score.

        Args:
            limit: 0 means ten, −1 all.
            type: only this type; "!fact" means all types but facts.
            use: count the results as used.
        """
        now = self._clock()
        hits = {hit.record.id: hit for hit in self._peek(query, MAX_LIMIT) if hit.record.kind in select_types(type)}
        candidates = [self._of_hit(hit, now) for hit in hits.values()]
        maximum = len(candidates) if limit < 0 else limit or DEFAULT_LIMIT
        found, _ = rank(query, candidates, now=now, limit=maximum, vectors=False, is_search=True)
        if use and found:
            with suppress(OSError, TimeoutError):
                self._store.mark_used([one.candidate.id for one in found])
        return [hits[one.candidate.id] for one in found]

    def _find_passages(
        self, query: str, at: float | None, current: str | None, limit: int, stores: _Stores
    ) -> list[Candidate]:
        """Return passages of earlier sessions, archived turns of the running session, and document windows."""
        until = math.inf if at is None else at
        turns = stores.collect(tr("archived turns are"), lambda: self._find_archived(query, current, until))
        near = {_get_message_key(turn): compute_meaning(turn.distance or 0.0) for turn in turns}
        hits = stores.run(
            tr("earlier sessions are"),
            lambda: self._sessions.search_turns(
                query,
                current=current,
                limit=count_passages_for(limit),
                until=until,
                near=near if self._meaning.uses_model else None,
            ),
            Recall(),
        )
        for count, what in (
            (hits.unsearched, "not searched yet; search again in a moment"),
            (len(hits.unreadable), "not readable"),
        ):
            if count:
                stores.add_message(f"{format_count(count, 'session')} {what}")
        found = _merge_distances(hits.turns, turns)
        if self._meaning.uses_model and not hits.unsearched:
            # The index has compared the turns of all other sessions, and those around them. Alone, short turns and
            # questions of other sessions are nearer to the query than its answer.
            found = [one for one in found if one.engine or (one.where and one.where.session == current)]
        documents = self._meaning.documents if at is None and self._meaning.has_documents else None
        if documents is not None:  # they have no history, so `at` does not apply to them
            found += stores.collect(tr("documents are"), lambda: map(of_document, documents.search(query, MAX_NEAREST)))
        return found

    def _find_notes(self) -> list[Candidate]:
        """Return the notes with a key, without the state of the work: it is soon out of date, and sessions have it."""
        return [of_note(note) for note in self._store.notes() if note.key != PROGRESS_KEY]

    def _find_archived(self, query: str, current: str | None, until: float) -> list[Candidate]:
        """Return archived turns near the query: of the running session, or of all if a model makes the vectors."""
        archived, everywhere = self._meaning.archived_turns, self._meaning.uses_model
        if not archived.have_any or not (current or everywhere):
            return []
        # Hashed vectors add nothing to the search by words, which covers the other sessions.
        sessions = None if everywhere else [current or ""]
        count = MAX_NEAREST_FUSED if everywhere else MAX_NEAREST
        near = archived.search(query, sessions=sessions, count=count, limit=_MAX_DISTANCE)
        return [
            structs.replace(
                of_near_turn(turn, current),
                asks=turn.role == "user" and classify_message(turn.text) == ONLY_ASKS,
                says_nothing=turn.role == "assistant" and says_nothing(turn.text),
            )
            for turn in near
            if turn.created <= until
        ]

    def _find_memories(self, query: str, layers: Sequence[Layer], stores: _Stores) -> list[Candidate]:
        now, styles = self._clock(), self._styles
        found: list[Candidate] = []
        if "L1" in layers:
            with stores.timed("L1"):
                # If the query is a single stop word, it counts.
                matching = partial(self._store.matching, query, MAX_MEMORIES, keep_single=True)
                found += stores.collect(
                    tr("memories are"), lambda: (self._of_hit(hit, now, report=True) for hit in matching())
                )
                found += stores.collect(
                    tr("facts, solutions and rules of the project are"),
                    lambda: (of_entry(memory, now) for memory in self._store.ltm_reader.read().entries),
                )
                found += stores.collect(tr("notes are"), self._find_notes)
        if "L2" in layers:
            with stores.timed("L2"):
                find = partial(self._peek, query, MAX_MEMORIES, "preference")
                found += stores.collect(tr("preferences are"), lambda: (self._of_hit(hit, now) for hit in find()))
                if styles is not None:
                    # A style that was never rated is built in; nothing was learned that could be found.
                    rated = (view for view in styles.views() if view.earned)
                    found += stores.collect(tr("styles are"), lambda: map(of_style, rated))
        return found

    def _label_drift(self, hit: RecallHit) -> RecallHit:
        """Return a project memory with a remark if its files have changed; looked up only for those that are shown."""
        if hit.source == "knowledge":
            with suppress(UserError):  # removed meanwhile
                return structs.replace(hit, label=self._store.describe_drift(self._store.get(hit.id)))
        return hit

    def _label_replaced(self, hits: Sequence[RecallHit]) -> Iterator[RecallHit]:
        """Yield the hits; messages that state what another memory has replaced since have a remark."""
        said = [hit.text for hit in hits if hit.source in ("session", "trimmed")]
        remarks = dict(zip(said, self._store.describe_replaced(said), strict=True))
        for hit in hits:
            remark = remarks.get(hit.text, "")
            yield structs.replace(hit, label="; ".join(filter(None, (hit.label, remark)))) if remark else hit

    def _of_hit(self, hit: Ranked, now: float, *, report: bool = False) -> Candidate:
        return of_record(hit.record, now, self._store.describe_drift(hit.record), hit if report else None)

    def _peek(self, query: str, most: int, type: str = "") -> list[Ranked]:
        """Return typed memories, variants and preferences with a word of the query in any form, or misspelt."""
        found: list[Ranked] = []
        for store in (self._store.project, self._store.user):
            terms = store.index.list_terms(query, keep_single=True)
            found += store.peek(terms, most, type) if terms else ()
        return found

    def _find_past_memories(self, query: str, at: float, layers: Sequence[Layer], stores: _Stores) -> list[Candidate]:
        """Return memories and preferences as they were at a time. Both layers are read from one history."""
        with stores.timed(layers[0]):
            found = stores.collect(tr("memories are"), lambda: self._find_past_typed(query, at))
            if "L1" in layers:
                found += stores.collect(
                    tr("facts, solutions and rules of the project are"),
                    lambda: (of_entry(memory, at) for memory in records_at(self._store.versions(PROJECT_KINDS), at)),
                )
                # Notes have no history: a note that was changed since then is left out.
                found += [note for note in stores.collect(tr("notes are"), self._find_notes) if note.when <= at]
        return [candidate for candidate in found if candidate.layer in layers]

    def _find_past_typed(self, query: str, at: float) -> list[Candidate]:
        index = MemoryIndex()
        for record in records_at(self._store.versions(TYPED_KINDS), at):
            index.put(record)
        ranked = seed_rank(index, index.list_terms(query, keep_single=True), MAX_MEMORIES, at)
        return [self._of_hit(hit, at) for hit in ranked]


def count_passages_for(limit: int) -> int:
    """Return how many session passages are scored for a search with that limit."""
    return max(PASSAGES_PER_HIT * limit, MIN_PASSAGES)


def _merge_distances(passages: Sequence[Candidate], turns: Sequence[Candidate]) -> list[Candidate]:
    """Return passages and turns, each message once: if both have it, the passage with the turn's distance."""
    distances: Mapping[tuple[str, str], float | None] = {_get_message_key(turn): turn.distance for turn in turns}
    known = {_get_message_key(passage) for passage in passages}
    found = [structs.replace(passage, distance=distances.get(_get_message_key(passage))) for passage in passages]
    return [*found, *(turn for turn in turns if _get_message_key(turn) not in known)]


def _get_message_key(candidate: Candidate) -> tuple[str, str]:
    return (candidate.where.session, candidate.where.message) if candidate.where else ("", candidate.id)


def _make_hit(item: Scored) -> RecallHit:
    candidate = item.candidate
    text = (
        item.fit.text if candidate.layer != "L0" else extract_passage(item.fit.text, item.fit.found.said, SNIPPET_CHARS)
    )
    return RecallHit(
        layer=candidate.layer,
        source=candidate.source,
        kind=candidate.kind,
        id=candidate.id,
        text=text,
        when=candidate.when,
        score=round(item.score, 4),
        reasons=tuple(list_reasons(item)),
        where=candidate.where,
        also=item.also,
        label=candidate.label,
    )


_DESIGNATED = re.compile(r"\b([^\W\d_]{3,})[ \u00a0#-]{1,2}(v?\d[\w.]*\w|\d|[A-HJ-Z])(?![\w.]*\w)")
"""A thing with the letter, number or version that tells it from others of its kind: "revision C", "port 8080"."""


def _label_near_miss(hit: RecallHit, query: str) -> RecallHit:
    """Return an answer with a remark if it is about another one of the things that the query names.

    "What does board revision C cost?" is answered by the price of revision B if nothing else is known; then the answer
    must say so.
    """
    named = [(found[1], found[2]) for found in _DESIGNATED.finditer(query)]
    if not named:
        return hit
    others: dict[str, list[str]] = {}
    for found in _DESIGNATED.finditer(hit.text):
        others.setdefault(stem_word(found[1].casefold()), []).append(found[2])
    words = set(tokenize(hit.text))
    remarks = [
        f"{thing} {', '.join(dict.fromkeys(other))}, not {wanted}"
        for thing, wanted in named
        if (other := others.get(stem_word(thing.casefold()))) and wanted.casefold() not in words and wanted not in other
    ]
    return structs.replace(hit, label="; ".join(filter(None, (hit.label, *remarks))))


_FUTILE_LOOKUP = re.compile(
    r"(?:searched|looked for files|memory (?:search|recall|search_sessions))\b.*?→ (?:no matches|none|nothing found)\b",
    re.DOTALL,
)


def leave_out_futile_lookups(hits: Sequence[RecallHit], query: str) -> list[RecallHit]:
    """Return the hits without earlier lookups that found nothing.

    They contain the words of the query only because someone searched for them before.
    """
    stems = {stem_word(word) for word in tokenize(query)}

    def is_echo(hit: RecallHit) -> bool:
        if hit.source not in ("session", "trimmed") or hit.kind == "user" or not _FUTILE_LOOKUP.search(hit.text):
            return False
        return stems.isdisjoint(map(stem_word, tokenize(_FUTILE_LOOKUP.sub(" ", hit.text))))

    return [hit for hit in hits if not is_echo(hit)]


def search_project(query: str, records: Iterable[MemoryRecord], limit: int, now: float) -> list[Hit]:
    """Return the best `limit` memories of `ltm.json` and notes with a key that match the query."""
    candidates = [of_note(record) if record.key else of_entry(record, now) for record in records]
    found, _ = rank(query, candidates, now=now, limit=max(limit, 0), vectors=False, is_search=True)
    return [
        Hit(kind="note", key=one.id, id="", text=one.text, timestamp=one.when, score=score)
        if one.source == "note"
        else Hit(kind=cast(Kind, one.kind), key="", id=one.id, text=one.text, timestamp=one.when, score=score)
        for one, score in ((item.candidate, item.score) for item in found)
    ]
