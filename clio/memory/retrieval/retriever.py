"""One question to everything that is remembered: three layers, one score, each answer with its reasons."""

import math
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress

from msgspec import structs

from clio.errors import ClioError
from clio.memory.apart import Apart
from clio.memory.retrieval.candidates import of_document, of_entry, of_memories, of_note, of_record, of_style, of_turn
from clio.memory.retrieval.evidence import passage
from clio.memory.retrieval.scoring import (
    DEFAULT_LIMIT,
    LAYERS,
    Candidate,
    Engine,
    Fusion,
    Layer,
    Place,
    RecallAnswer,
    RecallHit,
    Scored,
    Transcribed,
    rank,
)
from clio.memory.store.memory_store import MemoryStore
from clio.memory.store.record import PROJECT_KINDS, TYPED_KINDS
from clio.memory.store.typed_index import MemoryIndex, Ranked
from clio.memory.store.typed_index import rank as seed_rank
from clio.memory.store.versions import records_at
from clio.memory.styles.styles import Styles
from clio.memory.transcripts.query import ONLY_ASKS, classify_message
from clio.memory.transcripts.session_search import SessionRecall
from clio.memory.transcripts.transcript_records import TurnHit, TurnHits, WordCounts
from clio.memory.vectors.semantic_index import Meaning
from clio.text.formatting import format_count
from clio.text.vocabulary import parse_question_words

MAX_LIMIT = 200
MOST_MEMORIES = 60
"""So many memories of a kind that share a word with the query are weighed."""
PASSAGES_FOR_EACH = 3
LEAST_PASSAGES = 24
"""So many passages of sessions are weighed for each answer, and so many at least: some only repeat others."""
SNIPPET_CHARS = 300
NEAREST = 12
_ANY_DISTANCE = 2.0


class _Stores(Apart):
    """One search's account of the stores it asks. ms: by layer, in milliseconds."""

    def __init__(self) -> None:
        super().__init__()
        self.ms: dict[Layer, float] = {}

    @contextmanager
    def timed(self, layer: Layer) -> Generator[None]:
        """Count the block's time as the layer's."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            took = (time.perf_counter() - begin) * 1e3
            self.ms[layer] = round(self.ms.get(layer, 0.0) + took, 2)


class Retriever:
    """Asks every store of a project and of its user, and puts what they offer in one order.

    styles: None where nothing has been learned about styles.
    """

    def __init__(
        self,
        sessions: SessionRecall,
        meaning: Meaning,
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
        """What answers the query, the best first; nothing where nothing has its words.

        at: as of that time, in seconds since the epoch: what was said and known by then, in the words it had then.
        limit: drawn into 1 to 200. fusion: "rrf" joins the sources by rank instead of by score.
        current: id of the session that asks; of it only what left its window is an answer.
        use: memories among the answers count as used, which keeps them; never those of an earlier time.
        A store that fails costs the others nothing and is named in `left_out`.
        """
        stores = _Stores()
        limit = min(max(limit, 1), MAX_LIMIT)
        candidates: list[Candidate] = []
        transcribed = WordCounts()
        if "L0" in layers:
            with stores.timed("L0"):
                candidates += self._said(query, at, current, limit, stores)
                transcribed = stores.ask("how common words are", lambda: self._sessions.count_words(query), transcribed)
        others: list[Layer] = [layer for layer in layers if layer != "L0"]
        if at is not None and others:
            candidates += self._remembered_then(query, at, others, stores)
        elif at is None:
            candidates += self._remembered(query, others, stores)
        found, more = rank(
            query,
            candidates,
            now=self._clock() if at is None else at,
            limit=limit,
            transcribed=Transcribed(passages=transcribed.passages, words=transcribed.words),
            vectors=self._meaning.uses_model,
            is_search=True,
            fusion=fusion,
        )
        used = [one.candidate.id for one in found if one.candidate.source == "memory"]
        if used and use and at is None:
            with suppress(ClioError, OSError, TimeoutError):  # a disk that cannot be written can still be read
                self._store.mark_used(used)
        return RecallAnswer(hits=tuple(map(_hit, found)), more=more, left_out=tuple(stores.left_out), ms=stores.ms)

    def memories(self, query: str, limit: int = DEFAULT_LIMIT, type: str = "", *, use: bool = True) -> list[Ranked]:
        """The typed memories and preferences that answer a query, the best first, each with the document's own score.

        limit: 0 means ten, −1 all. type: only that one; "!fact" means all but facts.
        use: they count as used from now on.
        """
        now = self._clock()
        hits = {hit.record.id: hit for hit in self._of_every_type(query)}
        candidates = [of_record(hit.record, self._store, now) for hit in hits.values()]
        wanted, unwanted = ("", type[1:]) if type.startswith("!") else (type, "")
        candidates = [
            one
            for one in candidates
            if (kind := hits[one.id].record.kind) != unwanted and (not wanted or kind == wanted)
        ]
        most = len(candidates) if limit < 0 else limit or DEFAULT_LIMIT
        found, _ = rank(query, candidates, now=now, limit=most, vectors=False, is_search=True)
        if use and found:
            with suppress(OSError, TimeoutError):
                self._store.mark_used([one.candidate.id for one in found])
        return [hits[one.candidate.id] for one in found]

    def _said(self, query: str, at: float | None, current: str | None, limit: int, stores: _Stores) -> list[Candidate]:
        """What was said in sessions, what left the window of the running one, and documents."""
        until = math.inf if at is None else at
        most = passages_for(limit)
        hits = stores.ask(
            "earlier sessions are",
            lambda: self._sessions.search_turns(query, current=current, limit=most, until=until, deadline_s=2.0),
            TurnHits(),
        )
        for count, what in (
            (hits.unsearched, "not looked at yet; ask again in a moment"),
            (len(hits.unreadable), "not readable"),
        ):
            if count:
                stores.tell(f"{format_count(count, 'session')} {what}")
        passages = of_turn_hits(hits.turns)
        turns = stores.ask("trimmed turns are", lambda: self._trimmed(query, current, until), list[Candidate]())
        found = _with_distances(passages, turns)
        if at is None:
            found += stores.ask("documents are", lambda: self._documents(query), list[Candidate]())
        return found

    def _trimmed(self, query: str, current: str | None, until: float) -> list[Candidate]:
        """Turns near the query that left the window of the session that asks; of any session where a model embeds."""
        archived, everywhere = self._meaning.archived_turns, self._meaning.uses_model
        if not archived.exist or not (current or everywhere):
            return []
        sessions = None if everywhere else [current or ""]
        near = archived.search(query, sessions=sessions, count=NEAREST, limit=_ANY_DISTANCE)
        return [
            structs.replace(
                of_turn(turn, current or ""),
                id=turn.message,
                kind=turn.role,
                strength=None,
                label="",
                asks=turn.role == "user" and classify_message(turn.text) == ONLY_ASKS,
            )
            for turn in near
            if turn.created <= until
        ]

    def _documents(self, query: str) -> list[Candidate]:
        """Windows of documents near the query. They are read as they are now, whatever was in them before."""
        documents = self._meaning.documents
        return [
            structs.replace(
                of_document(hit),
                id=f"{hit.path}:{hit.line}",
                kind="document",
                strength=None,
                label="changed since it was read" if hit.changed else "",
            )
            for hit in (documents.search(query, NEAREST) if documents.exist else ())
        ]

    def _remembered(self, query: str, layers: Sequence[Layer], stores: _Stores) -> list[Candidate]:
        now, none = self._clock(), list[Candidate]()
        store, styles = self._store, self._styles
        found: list[Candidate] = []
        if "L1" in layers:
            with stores.timed("L1"):
                found += stores.ask("memories are", lambda: list(of_memories(store, query, now, MOST_MEMORIES)), none)
                found += stores.ask(
                    "project knowledge is",
                    lambda: [of_entry(one, now) for one in self._store.ltm_reader.read().entries],
                    none,
                )
                found += stores.ask("notes are", lambda: list(map(of_note, self._store.notes())), none)
        if "L2" in layers:
            with stores.timed("L2"):
                found += stores.ask(
                    "preferences are",
                    lambda: [of_record(hit.record, store, now) for hit in self._preferences(query)],
                    none,
                )
                if styles is not None:
                    rated = (view for view in styles.views() if view.earned)
                    found += stores.ask("styles are", lambda: list(map(of_style, rated)), none)
        return found

    def _of_every_type(self, query: str) -> list[Ranked]:
        """The typed memories, variants and preferences that share a word with the query, in any form or misspelt."""
        said = parse_question_words(query)
        found: list[Ranked] = []
        for store in (self._store.project, self._store.user):
            forms = _forms(query).union(*(store.keywords_like(word.stem) for word in said))
            found += store.peek(forms, MAX_LIMIT) if forms else ()
        return found

    def _preferences(self, query: str) -> list[Ranked]:
        forms = _forms(query)
        scopes = (self._store.user, self._store.project)
        return [hit for store in scopes for hit in store.peek(forms, MOST_MEMORIES, "preference")] if forms else []

    def _remembered_then(self, query: str, at: float, layers: Sequence[Layer], stores: _Stores) -> list[Candidate]:
        """Both layers of an earlier time are read from one history."""
        none = list[Candidate]()
        with stores.timed(layers[0]):
            found = stores.ask("memories are", lambda: self._memories_then(query, at), none)
            if "L1" in layers:
                found += stores.ask("project knowledge is", lambda: self._knowledge_then(at), none)
                notes = stores.ask("notes are", lambda: list(map(of_note, self._store.notes())), none)
                found += [note for note in notes if note.when <= at]
        return [one for one in found if one.layer in layers]

    def _memories_then(self, query: str, at: float) -> list[Candidate]:
        index = MemoryIndex()
        for record in records_at(self._store.versions(TYPED_KINDS), at):
            index.put(record)
        ranked = seed_rank(index, _forms(query), MOST_MEMORIES, at)
        return [of_record(hit.record, self._store, at) for hit in ranked]

    def _knowledge_then(self, at: float) -> list[Candidate]:
        return [of_entry(entry, at) for entry in records_at(self._store.versions(PROJECT_KINDS), at)]


def passages_for(limit: int) -> int:
    """How many passages of sessions are weighed for an answer of that many hits."""
    return max(PASSAGES_FOR_EACH * limit, LEAST_PASSAGES)


def of_turn_hits(turns: Iterable[TurnHit]) -> list[Candidate]:
    """The passages the transcript index ranked, as candidates."""
    return [
        Candidate(
            source="session",
            id=turn.message_id,
            text=turn.text,
            kind=turn.role,
            role=turn.role,
            when=turn.created,
            where=Place(session=turn.session_id, message=turn.message_id, title=turn.session_name),
            engine=Engine(
                share=turn.share,
                covered=turn.covered,
                words=turn.words,
                is_dated=turn.is_dated,
                title=turn.title,
            ),
            asks=turn.only_asks,
        )
        for turn in turns
    ]


def _with_distances(passages: Sequence[Candidate], turns: Sequence[Candidate]) -> list[Candidate]:
    """Passages and turns, each message once: where both have one, the passage with the turn's distance."""
    distances: Mapping[tuple[str, str], float | None] = {_message(turn): turn.distance for turn in turns}
    known = {_message(one) for one in passages}
    found = [structs.replace(one, distance=distances.get(_message(one))) for one in passages]
    return [*found, *(turn for turn in turns if _message(turn) not in known)]


def _message(candidate: Candidate) -> tuple[str, str]:
    return (candidate.where.session, candidate.where.message) if candidate.where else ("", candidate.id)


def _hit(one: Scored) -> RecallHit:
    candidate = one.candidate
    text = one.fit.text if candidate.layer != "L0" else passage(one.fit.text, one.said, SNIPPET_CHARS)
    return RecallHit(
        layer=candidate.layer,
        source=candidate.source,
        kind=candidate.kind,
        id=candidate.id,
        text=text,
        when=candidate.when,
        score=round(one.score, 4),
        reasons=one.reasons,
        where=candidate.where,
        also=one.also,
        label=candidate.label,
    )


def _forms(query: str) -> frozenset[str]:
    """The words of a query that say something, in all their forms."""
    said = parse_question_words(query)
    telling = [word for word in said if not word.is_common] or said
    return frozenset(form for word in telling for form in word.forms)
