"""The second and third layer: typed memories, project knowledge, notes; preferences, and what styles have learned."""

from collections.abc import Sequence

from clio.memory.long_term import LongTermMemory
from clio.memory.memories import Memories
from clio.memory.notes import Notes
from clio.memory.records import Entry, Note, Provenance
from clio.memory.temporal.as_of import knowledge_at, memories_at
from clio.memory.typed.ranked import Ranked, rank
from clio.memory.typed.record import MemoryRecord
from clio.memory.typed.shelf import Shelf
from clio.memory.unified.hits import Found, LearnedStyles, Place, StyleHit
from clio.text.scoring import DAY_S, HARD_LIMIT, confidence_after
from clio.text.vocabulary import asked

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
        for record in memories_at(self._memories, at):
            shelf.put(record)
        return [self._of_record(hit.record, at) for hit in rank(shelf, _forms(query), MOST, at)]

    def knowledge_then(self, at: float) -> list[Found]:
        """The project knowledge as it was at that time."""
        return [of_entry(entry, at) for entry in knowledge_at(self._knowledge, at)]

    def use(self, ids: Sequence[str]) -> None:
        """Say that these memories were an answer. Raises OSError, TimeoutError, StorageError."""
        self._memories.apply(ids)

    def _of_record(self, record: MemoryRecord, now: float) -> Found:
        preference = record.type == "preference"
        is_limit = preference and record.score is not None and record.score <= HARD_LIMIT
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
        strength=confidence_after(entry.confidence, days),
    )


def of_note(note: Note) -> Found:
    """A note; its key is a name it goes by."""
    return Found(source="note", id=note.key, text=note.content, kind="note", when=note.timestamp, keywords=(note.key,))


def _of_style(hit: StyleHit) -> Found:
    return Found(source="style", id=hit.id, text=hit.text, kind="style", when=hit.when, strength=hit.strength)


def _forms(query: str) -> frozenset[str]:
    """The words of a query that say something, in all their forms."""
    said = asked(query)
    telling = [word for word in said if not word.everyday] or said
    return frozenset(form for word in telling for form in word.forms)


def _place(provenance: Provenance | None) -> Place | None:
    if provenance is None or not provenance.session:
        return None
    return Place(session=provenance.session, message=provenance.message)
