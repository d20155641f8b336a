"""Make candidates for ranking from memories of all kinds, notes, styles, archived turns and documents.

The stores are read one by one (`ErrorIsolation`), so that an error in one of them does not affect the others.
"""

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, TypeVar, cast

from clio.errors import ClioError, CorruptDocument
from clio.memory.retrieval.evidence import extract_text_stems
from clio.memory.retrieval.prompt_prefix import describe_trust
from clio.memory.retrieval.scoring import Candidate, Place, Prospect, rank
from clio.memory.store.memory_index import Ranked
from clio.memory.store.memory_store import MemoryStore
from clio.memory.store.record import NOTED_BY_MODEL, Hit, Kind, MemoryRecord, Provenance
from clio.storage.locks import error_cause
from clio.text.formatting import PASSAGE_CHARS
from clio.text.scoring import DAY_S, HARD_LIMIT_SCORE, decay_confidence
from clio.text.translation import tr

if TYPE_CHECKING:
    from clio.memory.styles.styles import StyleView
    from clio.memory.vectors.documents import DocumentHit
    from clio.memory.vectors.semantic_index import NearTurn

MAX_CANDIDATES = 300
"""Number of memories with a word of the question that are scored, in the typed-memory document's own order."""
_TURN_STRENGTH = 0.7
_DOCUMENT_STRENGTH = 0.6


def find_memories(store: MemoryStore, query: str, now: float, most: int) -> Iterator[Candidate]:
    """Yield facts, events and notes that contain a word of a search query in any form, but no preferences.

    If the query is a single stop word, it counts. The score of the typed-memory document (see docs/architecture.md) and
    its parts are among the signals.
    """
    for hit in store.matching(query, most, keep_single=True):
        yield _of_hit(hit, store, now)


def find_prospects(store: MemoryStore, message: str, now: float) -> list[Prospect]:
    """Return the facts, events and notes that contain a word of a user's message in any form, but no preferences.

    For automatic recall, which asks with each message. Signals as in `find_memories`.
    """
    prospects: list[Prospect] = []
    for hit in store.matching(message, MAX_CANDIDATES):
        text, keywords = render_text(hit.record), hit.record.keywords
        is_indexed = text is hit.record.content and not keywords
        prospects.append(
            Prospect(
                stems=hit.terms if is_indexed else extract_text_stems(text),
                keywords=keywords,
                is_long=len(text) > PASSAGE_CHARS,
                make=partial(_of_hit, hit, store, now),
            )
        )
    return prospects


def _of_hit(hit: Ranked, store: MemoryStore, now: float) -> Candidate:
    of_document = {
        "similarity": round(hit.similarity, 3),
        "seed_recency": round(hit.recency, 3),
        "seed_score": round(hit.score, 3),
    }
    return of_record(hit.record, store, now, of_document)


def of_record(
    record: MemoryRecord, store: MemoryStore, now: float, signals: Mapping[str, float] | None = None
) -> Candidate:
    """Return the candidate of a typed memory or a preference. signals: further numbers to report."""
    is_preference = record.kind == "preference"
    is_limit = is_preference and record.score is not None and record.score <= HARD_LIMIT_SCORE
    doubt = "what other sources say" if record.is_variant else ""
    drifted = store.describe_drift(record) if record.hashes else ""
    return Candidate(
        source="preference" if is_preference else "memory",
        id=record.id,
        text=render_text(record),
        kind="limit" if is_limit else record.kind,
        said_by=record.provenance.asserted_by if record.provenance else "",
        keywords=record.keywords,
        when=record.updated or record.created,
        where=_place(record.provenance),
        strength=record.strength(now),
        is_corroborated=record.is_corroborated,
        trust=describe_trust(record),
        signals={"importance": record.importance, **(signals or {})},
        label="; ".join(filter(None, (NOTED_BY_MODEL if record.is_noted_by_model else "", doubt, drifted))),
    )


def render_text(record: MemoryRecord) -> str:
    """Return the content of a typed memory or a preference with its examples or its reason."""
    examples = f"e.g. {', '.join(record.examples)}" if record.examples else ""
    remark = record.reason if record.kind == "preference" else examples
    return f"{record.content} ({remark})" if remark else record.content


def of_entry(entry: MemoryRecord, now: float) -> Candidate:
    """Return the candidate of a project memory. Its strength is its confidence, decayed since the last confirmation."""
    when = entry.updated or entry.created
    days = max(now - when, 0.0) / DAY_S if when else 0.0
    return Candidate(
        source="knowledge",
        id=entry.id,
        text=entry.line,
        kind=entry.kind,
        when=when,
        where=_place(entry.provenance),
        strength=decay_confidence(entry.confidence, days),
        is_corroborated=entry.is_corroborated,
        trust=describe_trust(entry),
        signals={"confidence": entry.confidence, "times": float(entry.times)},
    )


def of_note(note: MemoryRecord) -> Candidate:
    """Return the candidate of a keyed note, whose key is its keyword."""
    return Candidate(
        source="note", id=note.key, text=note.content, kind="note", when=note.updated, keywords=(note.key,)
    )


def of_style(view: "StyleView") -> Candidate:
    """Return the candidate of a response style, with its ratings by intent."""
    skill = view.skill
    places = sorted(view.earned.items(), key=lambda pair: -pair[1].ratings)
    earned = "; ".join(f"{intent}: {one.ups:.3g} up, {one.downs:.3g} down" for intent, one in places)
    return Candidate(
        source="style",
        id=skill.id,
        text=f"style {skill.name}: {skill.summary or skill.text} ({earned})",
        kind="style",
        when=max(one.last for one in view.earned.values()),
        strength=max(one.confidence for one in view.earned.values()),
    )


def of_turn(turn: "NearTurn", session: str) -> Candidate:
    """Return the candidate of an archived turn. session: the id of the running session."""
    here = turn.session == session
    handle = f"message {turn.message[-8:]}"
    return Candidate(
        source="trimmed" if here else "session",
        id=f"{turn.session}/{turn.message}#{turn.piece}",
        text=turn.text,
        kind="earlier in this session" if here else "from an earlier session",
        role=turn.role,
        when=turn.created,
        where=Place(session=turn.session, message=turn.message),
        strength=_TURN_STRENGTH,
        distance=turn.distance,
        label=handle if here else f"session {turn.session[-8:]}, {handle}",
    )


def of_document(hit: "DocumentHit") -> Candidate:
    """Return the candidate of a document window."""
    return Candidate(
        source="document",
        # The checksum makes a changed text another candidate, so that the model is given it again.
        id=f"{hit.path}:{hit.line}#{zlib.crc32(hit.text.encode()) & 0xFFFF:04x}",
        text=hit.text,
        kind="from a document",
        said_by="document",
        strength=_DOCUMENT_STRENGTH,
        distance=hit.distance,
        label=f"{hit.path}:{hit.line}" + (", changed since" if hit.changed else ""),
    )


def search_project(query: str, records: Iterable[MemoryRecord], limit: int, now: float) -> list[Hit]:
    """Return the best `limit` memories of `ltm.json` and notes with a key that match the query."""
    candidates = [of_note(record) if record.key else of_entry(record, now) for record in records]
    found, _ = rank(query, candidates, now=now, limit=max(limit, 0), vectors=False, is_search=True)
    return [
        Hit(
            kind="note" if one.candidate.source == "note" else cast(Kind, one.candidate.kind),
            key=one.candidate.id if one.candidate.source == "note" else "",
            id="" if one.candidate.source == "note" else one.candidate.id,
            text=one.candidate.text,
            timestamp=one.candidate.when,
            score=one.score,
        )
        for one in found
    ]


def _place(provenance: Provenance | None) -> Place | None:
    if provenance is None or not provenance.session:
        return None
    return Place(session=provenance.session, message=provenance.message)


T = TypeVar("T")


class ErrorIsolation:
    """Runs parts of memory and collects a sentence for the user about each part that failed."""

    def __init__(self) -> None:
        self.left_out: list[str] = []

    def run(self, what: str, part: Callable[[], T], default: T) -> T:
        """Return the result of a part; `default` and a collected message if it fails.

        what: the part with its verb, such as "notes are", for the message "notes are left out: …".
        """
        # A damaged file has been moved aside when CorruptDocument is raised, so the second attempt finds no file.
        for _ in range(2):
            try:
                return part()
            except CorruptDocument as error:
                self.add_message(str(error))
            except (ClioError, OSError) as error:  # includes TimeoutError, for a lock that is never released
                self.add_message(tr("{what} left out: {error_cause}", what=what, error_cause=error_cause(error)))
                break
        return default

    def take_messages(self) -> list[str]:
        """Return the messages collected since the last call."""
        messages, self.left_out = self.left_out, []
        return messages

    def add_message(self, sentence: str) -> None:
        """Add a message, unless it is already in the list."""
        if sentence not in self.left_out:
            self.left_out.append(sentence)
