"""What is found by what it means: turns that left the window, and documents. One embedder, two stores."""

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from clio.memory.vectors.archived_turns import EjectedTurns
from clio.memory.vectors.embedders import Embedder, HashedEmbedder
from clio.memory.vectors.vector_store import DOCUMENT_LIST, GRAPH_FROM, VectorStore
from clio.sessions.store import SessionStore
from clio.threads import never_stop

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
