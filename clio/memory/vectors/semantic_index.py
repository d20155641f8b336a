"""Search earlier turns and documents by meaning.

A turn is split into pieces, and each piece is embedded once. Of the running session only archived turns are searched,
those that trimming removed from the context window. Of the other sessions a model embeds all turns. The hashed embedder
embeds only the archived ones, because it finds little that the search by words does not.
"""

import re
import time
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from clio.errors import ClioError
from clio.memory.vectors.vector_store import DOCUMENT_LIST, VectorItem, VectorStore
from clio.messages import Message
from clio.sessions.session import Session
from clio.sessions.state import SessionFiles
from clio.sessions.store import SessionStore
from clio.text.embedding import Embedder, HashedEmbedder
from clio.text.scoring import MAX_DISTANCE, MAX_NEAREST
from clio.threads import Worker, never_stop

if TYPE_CHECKING:
    from clio.memory.transcripts.session_search import SessionFolder
    from clio.memory.transcripts.session_text import TurnDoc
    from clio.memory.vectors.documents import Documents


MIN_PIECE_WORDS = 8
"""Shorter sentences are joined with the next ones."""
MAX_PIECES = 80
SHOWN_WORDS = 60
_PAUSE_S = 0.003
"""Pause after each session read in the background, so that the prompt stays responsive."""
_WHOLE_MARK = " whole"
"""Follows the stamp of a session all of whose turns are embedded."""
_SENTENCE_ENDS = re.compile(r"(?<=[.!?;:])\s+|\n+")


class NearTurn(Struct, frozen=True):
    """A turn whose meaning is near the question.

    Attributes:
        piece: the index of its nearest piece, from 0.
        text: that piece with the text around it.
        distance: the distance of that piece, 0.0 to 2.0.
    """

    session: str
    message: str
    piece: int
    role: str
    text: str
    created: float
    distance: float


class _Progress(Struct, frozen=True):
    """How far a session is indexed: all messages before `place`, the last of which is `id`, have left its window."""

    session: Session
    embedder: Embedder
    place: int
    id: str


class ArchivedTurns:
    """The archived turns of all sessions of a project. Thread-safe."""

    def __init__(self, vectors: VectorStore) -> None:
        self._vectors = vectors
        self._progress: _Progress | None = None
        self._worker = Worker("embed-turns")

    @property
    def exist(self) -> bool:
        """Whether there may be any; known without reading them."""
        return self._vectors.exists

    def index(self, session: Session) -> int:
        """Embed the turns that left the session's window and are not embedded yet; return the number of pieces added.

        If a server makes the vectors, a worker thread does this, and the return value is 0.
        """
        archived = self._find_newly_archived(session)
        if not archived:
            return 0
        if not self._vectors.embedder.remote:
            return self._put(session.id, archived)
        # A request to a server takes up to seconds; the answer to the user must not wait for it.
        self._worker.submit(lambda: self._put(session.id, archived))
        return 0

    def _find_newly_archived(self, session: Session) -> "list[TurnDoc]":
        """Return the turns archived since the last call; all archived turns if the embedder has changed."""
        messages, inside = session.messages, set(session.window_ids)
        known, embedder = self._progress, self._vectors.embedder
        start = 0
        if known and known.session is session and known.embedder is embedder and 0 < known.place <= len(messages):
            start = known.place if messages[known.place - 1].id == known.id else 0
        first = next((place for place in range(start, len(messages)) if messages[place].id in inside), len(messages))
        self._progress = _Progress(session, embedder, first, messages[first - 1].id if first else "")
        return _list_archived(messages[start:], inside)

    def wait(self) -> None:
        """Wait until the worker thread has embedded everything that `index` gave it."""
        self._worker.wait()

    def rebuild(self, store: SessionStore, stop: Callable[[], bool] = never_stop, *, whole: bool = False) -> int:
        """Update the vectors from the session files, for a background thread; return how many sessions were read.

        Only changed sessions are read. The texts of deleted sessions are removed from the files. Raises OSError if the
        folder of the sessions cannot be read.

        stop: called between sessions; true ends the update.
        whole: embed all turns of the sessions, not only archived ones.
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
            stamp = folder.stamps[id].encode() + (_WHOLE_MARK if whole else "")
            if known.get(id) == stamp:
                continue
            try:
                state = load_session(SessionFiles(store.folder, id), outputs=False).state
            except (ClioError, OSError):
                continue  # retried at the next start; the user sees the reason when opening the session
            self._put(id, _list_archived(state.messages, () if whole else state.window_ids))
            self._vectors.mark(id, stamp)
            read += 1
            time.sleep(_PAUSE_S)
        return read

    def forget_deleted(self, store: SessionStore) -> "SessionFolder":
        """Remove the texts of deleted sessions from the files; return the folder of sessions. Raises OSError."""
        from clio.memory.transcripts.session_search import SessionFolder

        folder = SessionFolder(store.folder)
        folder.scan()
        if self.exist:
            # Text of a session that the user deleted must not stay readable in the files.
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
    ) -> list[NearTurn]:
        """Return the nearest turns whose distance is less than the limit, nearest first.

        Args:
            sessions: ids of the sessions to search; None for all.
            session: the running session. Turns in its window are left out: undoing a trim brings turns back into it.
        """
        seen = frozenset(f"{session.id}/{id}" for id in session.window_ids) if session else frozenset[str]()
        found = self._vectors.search(question, count, groups=sessions, without=seen)
        if self._progress is not None and self._progress.embedder is not self._vectors.embedder:
            # The embedder failed during the search. The one that replaced it cannot use the old vectors, so the
            # running session is embedded again; other sessions follow with the next `rebuild`.
            last = self._progress.session
            self._put(last.id, self._find_newly_archived(last))
            found = self._vectors.search(question, count, groups=sessions, without=seen)
        return [self._make_near_turn(item, distance) for item, distance in found if distance < limit]

    def _make_near_turn(self, item: VectorItem, distance: float) -> NearTurn:
        piece, around = self._vectors.read_around(item, lambda piece: len(piece.text.split()), SHOWN_WORDS)
        text = " ".join(one.text for one in around)
        return NearTurn(item.group, item.id.partition("/")[2], piece, item.role, text, item.created, distance)

    def _put(self, session: str, turns: "Iterable[TurnDoc]") -> int:
        size = self._vectors.embedder.piece_words
        return self._vectors.put(
            VectorItem(
                id=f"{session}/{turn.message_id}", group=session, text=piece, role=turn.role, created=turn.created
            )
            for turn in turns
            for piece in split_turn(turn.text, size)
        )


def _list_archived(messages: Sequence[Message], window: Iterable[str]) -> "list[TurnDoc]":
    """Return the turns that are not in the window, without tool outputs."""
    inside = set(window)
    if all(message.id in inside for message in messages):
        return []
    from clio.memory.transcripts.session_text import extract_turns

    turns = extract_turns(messages, lambda _: "")
    return [turn for turn in turns if turn.message_id not in inside and turn.role != "tool"]


def split_turn(text: str, size: int) -> list[str]:
    """Split a text into at most 80 pieces of whole sentences or lines, of 8 to `size` words where possible.

    The vector of a long text is far from that of a short question, whatever the text says.
    """
    found: list[str] = []
    words: list[str] = []
    for sentence in _SENTENCE_ENDS.split(text):
        added = sentence.split()
        if words and (len(words) >= min(MIN_PIECE_WORDS, size) or len(words) + len(added) > size):
            found.append(" ".join(words))
            words = []
        words += added
        while len(words) > size:
            found.append(" ".join(words[:size]))
            words = words[size:]
    if words:
        found.append(" ".join(words))
    return found[:MAX_PIECES]


class SemanticIndex:
    """The vectors of one project's archived turns and documents. Thread-safe.

    No vector is read and numpy is not imported before there is something to search.

    Args:
        embedder: None for the hashed one.
        persist: whether files may be written.
        redact: removes secrets from the text of documents.
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
        self._reported: set[str] = set()
        self.archived_turns = ArchivedTurns(self._of_turns)

    @property
    def has_documents(self) -> bool:
        """Whether any were added; known without importing the module that reads them."""
        return (self._project / ".clio" / DOCUMENT_LIST).exists()

    @cached_property
    def documents(self) -> "Documents":
        """The documents the user added."""
        from clio.memory.vectors.documents import Documents

        return Documents(self._project, self._of_documents, redact=self._redact, clock=self._clock)

    @property
    def uses_model(self) -> bool:
        """Whether a model makes the vectors, so that texts without a common word can be near each other."""
        return not self._of_turns.embedder.name.startswith("hashed-")

    def refresh(self, store: SessionStore, stop: Callable[[], bool] = never_stop, *, all_sessions: bool) -> None:
        """Update the vectors from sessions and documents, for a background thread.

        all_sessions: also embed the archived turns of sessions that are not open; a model embeds all turns of them in
            any case. Raises StorageError and OSError.
        """
        if all_sessions or self.uses_model:
            self.archived_turns.rebuild(store, stop, whole=self.uses_model)
        else:
            self.archived_turns.forget_deleted(store)
        if self.has_documents and not stop():
            self.documents.catch_up(stop)

    def take_notices(self) -> list[str]:
        """Return new notices about embedders and packages for the user. Each notice is returned only once."""
        found = [store.trouble for store in (self._of_turns, self._of_documents) if store.trouble]
        found += filter(None, (store.describe_slow_search() for store in (self._of_turns, self._of_documents)))
        new = [text for text in dict.fromkeys(found) if text not in self._reported]
        self._reported.update(new)
        return new

    def close(self) -> None:
        """Stop the threads that build graphs of neighbours."""
        self._of_turns.close()
        self._of_documents.close()
