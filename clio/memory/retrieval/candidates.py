"""What could be brought up for a question: typed memories with a word of it, turns that left the window, documents."""

import zlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from clio.memory.retrieval.ranker import Candidate
from clio.memory.store.memories import Memories
from clio.memory.store.record import MemoryRecord

if TYPE_CHECKING:
    from clio.memory.vectors.archived_turns import Neighbour
    from clio.memory.vectors.documents import DocumentHit


MAX_CANDIDATES = 300
_TURN_STRENGTH = 0.7
_DOCUMENT_STRENGTH = 0.6


def of_memories(memories: Memories, question: str, now: float) -> Iterator[Candidate]:
    """Facts, events and notes with a word of the question in any of its forms; preferences have their own place."""
    for hit in memories.matching(question, MAX_CANDIDATES):
        similarity = {
            "similarity": round(hit.similarity, 3),
            "recency": round(hit.recency, 3),
            "score": round(hit.score, 3),
        }
        yield of_record(hit.record, memories, now, similarity)


def of_record(
    record: MemoryRecord, memories: Memories, now: float, signals: Mapping[str, float] | None = None
) -> Candidate:
    """A typed memory, as it is ranked. signals: what is to be said of it beside its importance."""
    return Candidate(
        source="memory",
        id=record.id,
        text=record.content,
        kind=record.type,
        said_by=record.provenance.asserted_by if record.provenance else "",
        keywords=record.keywords,
        created=record.updated or record.created,
        strength=record.strength(now),
        signals={"importance": record.importance, **(signals or {})},
        label=memories.drifted(record),
        message=record.provenance.message if record.provenance else "",
    )


def of_turn(turn: "Neighbour", session: str) -> Candidate:
    """A turn that left the window of this session or of another one, as it is ranked."""
    here = turn.session == session
    handle = f"message {turn.message[-8:]}"
    return Candidate(
        source="turn",
        id=f"{turn.session}/{turn.message}#{turn.piece}",
        text=turn.text,
        kind="said earlier in this session" if here else "said in an earlier session",
        role=turn.role,
        created=turn.created,
        strength=_TURN_STRENGTH,
        distance=turn.distance,
        label=handle if here else f"session {turn.session[-8:]}, {handle}",
    )


def of_document(hit: "DocumentHit") -> Candidate:
    """A window of a document, as it is ranked. Nobody vouches for what it says."""
    return Candidate(
        source="document",
        id=f"{hit.path}:{hit.line}#{zlib.crc32(hit.text.encode()) & 0xFFFF:04x}",  # another text is told anew
        text=hit.text,
        kind="from a document",
        said_by="document",
        strength=_DOCUMENT_STRENGTH,
        distance=hit.distance,
        label=f"{hit.path}:{hit.line}" + (", changed since" if hit.changed else ""),
    )
