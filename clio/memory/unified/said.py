"""The first layer: what was said in sessions, what left the running one's window, and documents."""

import math
from collections.abc import Sequence

from msgspec import structs

from clio.memory.recall.docs import Having, Recall, Recalled
from clio.memory.recall.search import SessionRecall
from clio.memory.unified.hits import Found, Place
from clio.memory.vectors.documents import DocumentHit
from clio.memory.vectors.ejected import Neighbour
from clio.memory.vectors.meaning import Meaning

SESSIONS = 16
PASSAGES = 24
NEAREST = 12
_ANY_DISTANCE = 2.0
_TITLE_POINTS = 0.5  # what `clio.memory.recall.docs.Signals` gives a title that has the whole query


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
