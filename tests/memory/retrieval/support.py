"""A project and a user with content in every store, on a real disk."""

from array import array
from collections.abc import Sequence
from pathlib import Path

from clio.memory.retrieval.retriever import RecallAnswer
from clio.memory.store.record import Kind, MemoryDraft, Provenance
from clio.memory.system import MemorySystem
from clio.messages import AssistantMessage, UserMessage
from clio.sessions.store import SessionStore
from clio.text.embedding import Embedder, Row

NOW = 1_780_000_000.0
DAY = 86_400.0


class Home:
    """One project and its user. now: the current time of its clock."""

    def __init__(self, folder: Path, *, incognito: bool = False, embedder: Embedder | None = None) -> None:
        self.now = NOW
        self.folder = folder
        self.store = SessionStore(folder / ".clio" / "sessions")
        self.memory = MemorySystem(
            folder,
            self.store,
            incognito=incognito,
            ltm=True,
            home=folder / "home",
            clock=lambda: self.now,
            embedder=embedder,
        )

    def said(self, *texts: str, name: str | None = None, days_ago: float = 0.0) -> Provenance:
        """Save a closed session of alternating questions and answers; return the location of its first message."""
        session = self.store.new(self.folder, name=name)
        for number, text in enumerate(texts):
            created = self.now - days_ago * DAY
            made = AssistantMessage if number % 2 else UserMessage
            session.append(made(content=text, created=created))
        session.close()
        return Provenance(session=session.id, message=session.messages[0].id, asserted_by="user")

    def fact(self, text: str, importance: float = 0.8, source: Provenance | None = None) -> str:
        """Remember a fact; return its id."""
        return self.memory.store.add(
            MemoryDraft(content=text, kind="fact", importance=importance), provenance=source
        ).record.id

    def entry(self, kind: Kind, text: str, solution: str = "") -> str:
        """Add to the project knowledge; return the id."""
        return self.memory.store.add(MemoryDraft(kind=kind, content=text, solution=solution), Provenance()).record.id

    def likes(self, item: str, score: float = 8.0) -> str:
        """Save a preference; return its id."""
        return self.memory.preferences.add(item, score=score).record.id


class Topics:
    """An embedder like a model: texts about one topic have near vectors, whatever their words."""

    name = "topics"
    piece_words = 40
    remote = False
    _TOPICS = (("car", "automobile", "engine", "motor"), ("cat", "kitten", "pet"), ("bank", "money", "loan"))

    def embed(self, texts: Sequence[str]) -> list[Row]:
        return [self._row(text.lower()) for text in texts]

    def _row(self, text: str) -> Row:
        row = array("f", [0.0] * 384)
        for place, words in enumerate(self._TOPICS):
            row[place] = float(any(word in text for word in words))
        if not any(row):
            row[9] = 1.0
        size = sum(value * value for value in row) ** 0.5
        return array("f", [value / size for value in row])


def ids(answer: RecallAnswer) -> list[str]:
    """Return the ids of the results, best first."""
    return [hit.id for hit in answer.hits]


def sources(answer: RecallAnswer) -> set[str]:
    """Return the stores of the results."""
    return {hit.source for hit in answer.hits}
