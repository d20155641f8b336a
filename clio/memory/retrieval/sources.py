"""What each store offers for a query: sessions, archived turns, documents, memories, preferences, styles."""

import math
from collections.abc import Sequence

from msgspec import structs

from clio.memory.retrieval.results import Found, LearnedStyles, Place, StyleHit
from clio.memory.store.ltm_store import LongTermMemory
from clio.memory.store.memories import Memories
from clio.memory.store.notes import Notes
from clio.memory.store.record import Entry, MemoryRecord, Note, Provenance
from clio.memory.store.typed_index import Ranked, Shelf, rank
from clio.memory.store.versions import known_at, live_at
from clio.memory.styles.styles import Styles, StyleView
from clio.memory.transcripts.session_search import SessionRecall
from clio.memory.transcripts.transcript_records import Having, Recall, Recalled
from clio.memory.vectors.archived_turns import Neighbour
from clio.memory.vectors.documents import DocumentHit
from clio.memory.vectors.meaning import Meaning
from clio.text.scoring import DAY_S, HARD_LIMIT_SCORE, decay_confidence
from clio.text.vocabulary import parse_question_words

MOST = 60
"""So many memories that share a word with the query are weighed, by the typed-memory document's own order."""


class Kept:
    """Asks the stores. styles: None where nothing has been learned about styles."""

    def __init__(
        self, memories: Memories, knowledge: LongTermMemory, notes: Notes, styles: LearnedStyles | None = None
    ) -> None:
        self._memories = memories
        self._knowledge = knowledge
        self._notes = notes
        self._styles = styles

    def memories(self, query: str, now: float) -> list[Found]:
        """Facts, events and notes with a word of the query in any of its forms, of both scopes; none counts as used."""
        return [self._of_record(hit.record, now) for hit in self._memories.matching(query, MOST)]

    def preferences(self, query: str, now: float) -> list[Found]:
        """Preferences and hard limits with a word of the query."""
        forms = _forms(query)
        stores = (self._memories.user, self._memories.project)
        hits: list[Ranked] = [hit for store in stores for hit in store.peek(forms, MOST, "preference") if forms]
        return [self._of_record(hit.record, now) for hit in hits]

    def knowledge(self, now: float) -> list[Found]:
        """All of the project knowledge."""
        return [of_entry(entry, now) for entry in self._knowledge.read().entries]

    def notes(self) -> list[Found]:
        """All notes kept under a key."""
        return [of_note(note) for note in self._notes.newest_first()]

    def styles(self, query: str) -> list[Found]:
        """What styles have learned."""
        return [_of_style(hit) for hit in (self._styles.learned(query) if self._styles else ())]

    def memories_then(self, query: str, at: float) -> list[Found]:
        """Memories and preferences with a word of the query, as they were at that time."""
        shelf = Shelf()
        for record in live_at(self._memories.versions(), at):
            shelf.put(record)
        return [self._of_record(hit.record, at) for hit in rank(shelf, _forms(query), MOST, at)]

    def knowledge_then(self, at: float) -> list[Found]:
        """The project knowledge as it was at that time."""
        return [of_entry(entry, at) for entry in known_at(self._knowledge.versions(), at)]

    def use(self, ids: Sequence[str]) -> None:
        """Say that these memories were an answer. Raises OSError, TimeoutError, StorageError."""
        self._memories.apply(ids)

    def _of_record(self, record: MemoryRecord, now: float) -> Found:
        preference = record.type == "preference"
        is_limit = preference and record.score is not None and record.score <= HARD_LIMIT_SCORE
        return Found(
            source="preference" if preference else "memory",
            id=record.id,
            text=f"{record.content} ({record.reason})" if preference and record.reason else record.content,
            kind="limit" if is_limit else record.type,
            when=record.updated or record.created,
            where=_place(record.provenance),
            keywords=record.keywords,
            strength=record.strength(now),
            label="; ".join(filter(None, self._labels(record))),
        )

    def _labels(self, record: MemoryRecord) -> tuple[str, str]:
        """What must be said with a memory."""
        doubt = "what other sources say" if record.is_variant else ""
        return doubt, self._memories.drifted(record) if record.hashes else ""


def of_entry(entry: Entry, now: float) -> Found:
    """An entry of the project knowledge. Its confidence fades by the day since it was last confirmed."""
    when = entry.confirmed or entry.created
    days = max(now - when, 0.0) / DAY_S if when else 0.0
    return Found(
        source="knowledge",
        id=entry.id,
        text=entry.line,
        kind=entry.kind,
        when=when,
        where=_place(entry.provenance),
        strength=decay_confidence(entry.confidence, days),
    )


def of_note(note: Note) -> Found:
    """A note; its key is a name it goes by."""
    return Found(source="note", id=note.key, text=note.content, kind="note", when=note.timestamp, keywords=(note.key,))


def _of_style(hit: StyleHit) -> Found:
    return Found(source="style", id=hit.id, text=hit.text, kind="style", when=hit.when, strength=hit.strength)


def _forms(query: str) -> frozenset[str]:
    """The words of a query that say something, in all their forms."""
    said = parse_question_words(query)
    telling = [word for word in said if not word.is_common] or said
    return frozenset(form for word in telling for form in word.forms)


def _place(provenance: Provenance | None) -> Place | None:
    if provenance is None or not provenance.session:
        return None
    return Place(session=provenance.session, message=provenance.message)


SESSIONS = 16
PASSAGES = 24
NEAREST = 12
_ANY_DISTANCE = 2.0
_TITLE_POINTS = 0.5  # what `clio.memory.transcripts.transcript_records.Signals` gives a title that has the whole query


class Said:
    """Asks transcripts, vectors of turns and documents.

    Transcripts know every message of every session but the one that asks. Of that one, what left its window counts too.
    """

    def __init__(self, sessions: SessionRecall, meaning: Meaning) -> None:
        self._sessions = sessions
        self._meaning = meaning

    def passages(self, query: str, *, current: str | None, until: float) -> tuple[list[Found], Recall]:
        """What other sessions said, and what recall has to say about sessions it could not look at."""
        recall = self._sessions.search(
            query, current=current, max_sessions=SESSIONS, max_results=PASSAGES, until=until, deadline_s=2.0
        )
        return [_of_passage(passage, hit.updated) for hit in recall.sessions for passage in hit.passages], recall

    def having(self, query: str) -> Having:
        """How common the words of the query are in transcripts."""
        return self._sessions.having(query)

    def trimmed(self, query: str, *, current: str | None, until: float, everywhere: bool) -> list[Found]:
        """Turns near the query that left the window of the session that asks; with `everywhere` of any session."""
        ejected = self._meaning.ejected
        if not ejected.exist or not (current or everywhere):
            return []
        sessions = None if everywhere else [current or ""]
        near = ejected.search(query, sessions=sessions, count=NEAREST, limit=_ANY_DISTANCE)
        return [_of_turn(turn, current) for turn in near if turn.created <= until]

    def documents(self, query: str) -> list[Found]:
        """Windows of documents near the query. They are read as they are now, whatever was in them before."""
        documents = self._meaning.documents
        return [_of_document(hit) for hit in documents.search(query, NEAREST)] if documents.exist else []


def with_distances(passages: Sequence[Found], turns: Sequence[Found]) -> list[Found]:
    """Passages and turns, each message once: where both have one, the passage with the turn's distance."""
    distances = {_message(turn): turn.distance for turn in turns}
    known = {_message(passage) for passage in passages}
    found = [structs.replace(passage, distance=distances.get(_message(passage))) for passage in passages]
    return [*found, *(turn for turn in turns if _message(turn) not in known)]


def until_of(at: float | None) -> float:
    """The last moment that counts."""
    return math.inf if at is None else at


def _message(found: Found) -> tuple[str, str]:
    return (found.where.session, found.where.message) if found.where else ("", found.id)


def _of_passage(passage: Recalled, updated: float) -> Found:
    return Found(
        source="session",
        id=passage.message_id,
        text=passage.snippet,
        kind=passage.role,
        when=passage.created or updated,
        where=Place(session=passage.session_id, message=passage.message_id, title=passage.session_name),
        title_share=0.0 if _is_title(passage) else passage.signals.title / _TITLE_POINTS,
    )


def _is_title(passage: Recalled) -> bool:
    """Whether the session is called by these very words, as one without a name is."""
    title = " ".join(passage.session_name.split()).rstrip("…")
    return bool(title) and passage.snippet.startswith(title[:40])


def _of_turn(turn: Neighbour, current: str | None) -> Found:
    here = turn.session == current
    return Found(
        source="trimmed" if here else "session",
        id=turn.message,
        text=turn.text,
        kind=turn.role,
        when=turn.created,
        where=Place(session=turn.session, message=turn.message),
        distance=turn.distance,
        here=here,
    )


def _of_document(hit: DocumentHit) -> Found:
    return Found(
        source="document",
        id=f"{hit.path}:{hit.line}",
        text=hit.text,
        kind="document",
        distance=hit.distance,
        label="changed since it was read" if hit.changed else "",
    )


class StyleAnswers:
    """Answers from the styles of one person."""

    def __init__(self, styles: Styles) -> None:
        self._styles = styles

    def learned(self, query: str) -> list[StyleHit]:
        """One answer for each style somebody rated; which of them fit the query is for the ranker to say."""
        return [_hit(view) for view in self._styles.views() if view.earned]


def _hit(view: StyleView) -> StyleHit:
    skill = view.skill
    places = sorted(view.earned.items(), key=lambda pair: -pair[1].ratings)
    earned = "; ".join(f"{intent}: {one.ups:.3g} up, {one.downs:.3g} down" for intent, one in places)
    return StyleHit(
        id=skill.id,
        text=f"style {skill.name}: {skill.summary or skill.text} ({earned})",
        when=max(one.last for one in view.earned.values()),
        strength=max(one.confidence for one in view.earned.values()),
    )
