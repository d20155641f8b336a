"""Turns that left the window, found by what they say: each piece of one is embedded once, with its role and its ids."""

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct

from clio.algorithms.brain_math import GATE, NEAREST
from clio.memory.recall.docs import TurnDoc
from clio.memory.recall.transcripts import turns_of
from clio.memory.vectors.store import VectorItem, VectorStore
from clio.messages import ToolMessage
from clio.sessions.session import Session

PIECE_WORDS = 40
"""A question is short: a vector of a long text is far from it whatever the text says, so a turn goes in pieces."""
MAX_PIECES = 40
_ENDS = re.compile(r"(?<=[.!?;:])\s+|\n+")


class Neighbour(Struct, frozen=True, kw_only=True):
    """A turn near the question: the piece of it that is nearest. distance: below 1.0."""

    session: str
    message: str
    role: str
    text: str
    created: float
    distance: float


class EjectedTurns:
    """What trims let go of, of all sessions of a project."""

    def __init__(self, vectors: VectorStore) -> None:
        self._vectors = vectors

    @property
    def exist(self) -> bool:
        """Whether there are any; known without loading them."""
        return self._vectors.exists

    def index(self, session: Session) -> int:
        """Embed what left the session's window and is not embedded yet; how many pieces were added."""
        left = {id for trim in session.trims for id in trim.dropped}
        if not left:
            return 0
        turns = turns_of(session.messages, _no_output)
        return self._vectors.put(_items(session.id, (turn for turn in turns if turn.message_id in left)))

    def search(
        self, question: str, *, sessions: Sequence[str] | None, count: int = NEAREST, limit: float = GATE
    ) -> list[Neighbour]:
        """The nearest turns at a distance strictly below the limit, nearest first; of these sessions, None: of all."""
        found = self._vectors.search(question, count, groups=sessions)
        return [
            Neighbour(
                session=item.group,
                message=item.id.partition("/")[2],
                role=item.role,
                text=item.text,
                created=item.created,
                distance=distance,
            )
            for item, distance in found
            if distance < limit
        ]


def _items(session: str, turns: Iterable[TurnDoc]) -> list[VectorItem]:
    return [
        VectorItem(id=f"{session}/{turn.message_id}", group=session, text=piece, role=turn.role, created=turn.created)
        for turn in turns
        if turn.role != "tool"
        for piece in pieces(turn.text)
    ]


def _no_output(message: ToolMessage) -> str:
    return ""


def pieces(text: str) -> list[str]:
    """The text in pieces of up to 40 words that end where sentences or lines do, at most 40 of them."""
    found: list[str] = []
    words: list[str] = []
    for sentence in _ENDS.split(text):
        said = sentence.split()
        if words and len(words) + len(said) > PIECE_WORDS:
            found.append(" ".join(words))
            words = []
        words += said
        while len(words) > PIECE_WORDS:
            found.append(" ".join(words[:PIECE_WORDS]))
            words = words[PIECE_WORDS:]
    if words:
        found.append(" ".join(words))
    return found[:MAX_PIECES]
