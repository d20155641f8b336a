"""Turns that left the window, found by what they say: each piece of one is embedded once, with its role and its ids."""

import re
import time
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from clio.errors import ClioError
from clio.memory.vectors.embedders import Embedder, HashedEmbedder
from clio.memory.vectors.vector_store import DOCUMENT_LIST, GRAPH_FROM, VectorItem, VectorStore
from clio.messages import Message, ToolMessage
from clio.sessions.session import Session
from clio.sessions.state import SessionFiles
from clio.sessions.store import SessionStore
from clio.text.scoring import MAX_DISTANCE, MAX_NEAREST
from clio.threads import Worker, never_stop

if TYPE_CHECKING:
    from clio.memory.transcripts.session_search import SessionFolder
    from clio.memory.transcripts.transcript_records import TurnDoc


PIECE_WORDS = 24
"""A question is short: a vector of a long text is far from it whatever the text says, so a turn goes in pieces."""
LEAST_WORDS = 8
"""Sentences are joined until they have so many."""
MAX_PIECES = 80
SHOWN_WORDS = 60
_PAUSE_S = 0.003
"""Behind each session that was read, for the user who is typing."""
_ENDS = re.compile(r"(?<=[.!?;:])\s+|\n+")


class Neighbour(Struct, frozen=True, kw_only=True):
    """A turn near the question. text: its nearest piece with what stands round it. distance: of the piece.

    piece: which one of the turn it is, from 0.
    """

    session: str
    message: str
    piece: int
    role: str
    text: str
    created: float
    distance: float


class _Reached(Struct, frozen=True):
    """How far a session was looked at: all messages before `place`, the last of which is `id`, have left its window."""

    session: Session
    by: Embedder
    place: int
    id: str


class EjectedTurns:
    """What trims let go of, of all sessions of a project. For several threads."""

    def __init__(self, vectors: VectorStore) -> None:
        self._vectors = vectors
        self._reached: _Reached | None = None
        self._worker = Worker("embed-turns")

    @property
    def exist(self) -> bool:
        """Whether there may be any; known without loading them."""
        return self._vectors.exists

    def index(self, session: Session) -> int:
        """Embed what left the session's window and is not embedded yet; how many pieces were added.

        Where a server makes the vectors this goes on in a thread, one call after the other, and is told as 0.
        """
        left = self._newly_left(session)
        if not left:
            return 0
        if not self._vectors.embedder.remote:
            return self._put(session.id, left)
        self._worker.submit(lambda: self._put(session.id, left))
        return 0

    def _newly_left(self, session: Session) -> "list[TurnDoc]":
        """What left its window since the last time; all that ever did, where another embedder made the vectors."""
        messages, inside, reached = session.messages, set(session.window_ids), self._reached
        start = reached.place if reached and self._goes_on(reached, session) else 0
        first = next((place for place in range(start, len(messages)) if messages[place].id in inside), len(messages))
        self._reached = _Reached(session, self._vectors.embedder, first, messages[first - 1].id if first else "")
        return _left(messages[start:], inside)

    def _goes_on(self, reached: _Reached, session: Session) -> bool:
        messages, place = session.messages, reached.place
        same = reached.session is session and reached.by is self._vectors.embedder
        return same and 0 < place <= len(messages) and messages[place - 1].id == reached.id

    def wait(self) -> None:
        """Wait until everything that `index` left to its thread is embedded."""
        self._worker.wait()

    def rebuild(self, store: SessionStore, stop: Callable[[], bool] = never_stop) -> int:
        """Bring the vectors up to date with the session files, for a thread in the background; how many were read.

        Only sessions that changed since are read. Those that were deleted leave no text behind. stop: asked between
        sessions. Raises OSError where the sessions' folder cannot be read.
        """
        from clio.sessions.loading import load_session

        folder = self.forget_deleted(store)
        known = self._vectors.marks()
        read = 0
        newest = sorted(
            folder.stamps.keys() - store.find_foreign(set(folder.stamps)), key=lambda id: -folder.stamps[id].modified
        )
        for id in newest:
            if stop():
                break
            stamp = folder.stamps[id].encode()
            if known.get(id) == stamp:
                continue
            try:
                state = load_session(SessionFiles(store.folder, id), outputs=False).state
            except (ClioError, OSError):
                continue  # it is tried again at the next start, and opening it names the reason
            self._put(id, _left(state.messages, state.window_ids))
            self._vectors.mark(id, stamp)
            read += 1
            time.sleep(_PAUSE_S)
        return read

    def forget_deleted(self, store: SessionStore) -> "SessionFolder":
        """Let no text of deleted sessions stay; returns the sessions there are. Raises OSError."""
        from clio.memory.transcripts.session_search import SessionFolder

        folder = SessionFolder(store.folder)
        folder.scan()
        if self.exist:
            self._vectors.remove(self._vectors.groups() - folder.stamps.keys(), wipe=True)
        return folder

    def search(
        self,
        question: str,
        *,
        sessions: Sequence[str] | None,
        count: int = MAX_NEAREST,
        limit: float = MAX_DISTANCE,
        session: Session | None = None,
    ) -> list[Neighbour]:
        """The nearest turns at a distance strictly below the limit, nearest first.

        sessions: of these; None: of all. session: the one that asks; what is in its window is passed over, as after
        the undoing of a trim.
        """
        seen = frozenset(f"{session.id}/{id}" for id in session.window_ids) if session else frozenset[str]()
        found = self._vectors.search(question, count, groups=sessions, without=seen)
        if self._reached is not None and self._reached.by is not self._vectors.embedder:
            last = self._reached.session  # the embedder failed, and its vectors are of no use to the one that follows
            self._put(last.id, self._newly_left(last))
            found = self._vectors.search(question, count, groups=sessions, without=seen)
        return [self._neighbour(item, distance) for item, distance in found if distance < limit]

    def _neighbour(self, item: VectorItem, distance: float) -> Neighbour:
        piece, text = self._around(item)
        return Neighbour(
            session=item.group,
            message=item.id.partition("/")[2],
            piece=piece,
            role=item.role,
            text=text,
            created=item.created,
            distance=distance,
        )

    def _around(self, item: VectorItem) -> tuple[int, str]:
        """The place of the piece in its turn, and its text with what stands round it as far as there is room."""
        all_pieces = self._vectors.pieces_of(item.id)
        at = next((place for place, piece in enumerate(all_pieces) if piece is item), None)
        if at is None:  # another clio cleared them meanwhile
            return 0, item.text
        first = last = at
        words = len(item.text.split())
        while True:
            beside = sorted((first - 1, last + 1), key=lambda place: abs(place - at))
            sizes = {place: len(all_pieces[place].text.split()) for place in beside if 0 <= place < len(all_pieces)}
            place = next((place for place, size in sizes.items() if words + size <= SHOWN_WORDS), None)
            if place is None:
                return at, " ".join(piece.text for piece in all_pieces[first : last + 1])
            first, last, words = min(first, place), max(last, place), words + sizes[place]

    def _put(self, session: str, turns: "Iterable[TurnDoc]") -> int:
        size = self._vectors.embedder.piece_words
        return self._vectors.put(
            VectorItem(
                id=f"{session}/{turn.message_id}", group=session, text=piece, role=turn.role, created=turn.created
            )
            for turn in turns
            for piece in pieces(turn.text, size)
        )


def _left(messages: Sequence[Message], window: Iterable[str]) -> "list[TurnDoc]":
    """The turns that are not in the window, without the outputs of tools."""
    inside = set(window)
    if all(message.id in inside for message in messages):
        return []
    from clio.memory.transcripts.session_text import extract_turns

    turns = extract_turns(messages, _no_output)
    return [turn for turn in turns if turn.message_id not in inside and turn.role != "tool"]


def _no_output(message: ToolMessage) -> str:
    return ""


def pieces(text: str, size: int = PIECE_WORDS) -> list[str]:
    """The text in pieces of some sentences or lines, of 8 to `size` words where they allow it; the first 80 of them."""
    found: list[str] = []
    words: list[str] = []
    for sentence in _ENDS.split(text):
        said = sentence.split()
        if words and (len(words) >= min(LEAST_WORDS, size) or len(words) + len(said) > size):
            found.append(" ".join(words))
            words = []
        words += said
        while len(words) > size:
            found.append(" ".join(words[:size]))
            words = words[size:]
    if words:
        found.append(" ".join(words))
    return found[:MAX_PIECES]


if TYPE_CHECKING:
    from clio.memory.vectors.documents import Documents


_LACKS_GRAPH = (
    f"there are more than {GRAPH_FROM:,} vectors: the search stays exact and takes longer; "
    "pip install '.[hnsw]' in the folder of clio's source makes it fast again"
)


class Meaning:
    """The vectors of one project. For several threads; nothing is read or imported before there is something to find.

    embedder: None for the hashed one. persist: whether anything may be written. redact: takes secrets out of documents.
    """

    def __init__(
        self,
        project: Path,
        embedder: Embedder | None,
        *,
        persist: bool,
        redact: Callable[[str], str],
        clock: Callable[[], float],
    ) -> None:
        self._project = project
        self._redact = redact
        self._clock = clock
        embedder = embedder or HashedEmbedder()
        cache = project / ".clio" / "cache"
        self._of_turns = VectorStore(cache / "vectors" if persist else None, embedder)
        self._of_documents = VectorStore(cache / "documents" if persist else None, embedder)
        self._told: set[str] = set()
        self.ejected = EjectedTurns(self._of_turns)

    @property
    def has_documents(self) -> bool:
        """Whether any were added; known without loading what reads them."""
        return (self._project / ".clio" / DOCUMENT_LIST).exists()

    @cached_property
    def documents(self) -> "Documents":
        """The documents the user added."""
        from clio.memory.vectors.documents import Documents

        return Documents(self._project, self._of_documents, redact=self._redact, clock=self._clock)

    @property
    def is_real(self) -> bool:
        """Whether a model makes the vectors, so that they say more than the words do."""
        return not self._of_turns.embedder.name.startswith("hashed-")

    def refresh(self, store: SessionStore, stop: Callable[[], bool] = never_stop, *, all_sessions: bool) -> None:
        """Bring the vectors up to date with sessions and documents, for a thread in the background.

        all_sessions: turns of sessions that are not opened are embedded, too. Raises StorageError and OSError.
        """
        if all_sessions:
            self.ejected.rebuild(store, stop)
        else:
            self.ejected.forget_deleted(store)
        if self.has_documents and not stop():
            self.documents.catch_up(stop)

    def take_notices(self) -> list[str]:
        """What the user should know of embedders and packages, one sentence each, and each only once."""
        found = [store.trouble for store in (self._of_turns, self._of_documents) if store.trouble]
        found += [_LACKS_GRAPH for store in (self._of_turns, self._of_documents) if store.lacks_graph]
        new = [text for text in dict.fromkeys(found) if text not in self._told]
        self._told.update(new)
        return new

    def close(self) -> None:
        """Stop what goes on beside."""
        self._of_turns.close()
        self._of_documents.close()
