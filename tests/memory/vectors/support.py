"""Stores, sessions and embedders for tests of vectors."""

from collections.abc import Sequence
from pathlib import Path

from clio.memory.vectors.semantic_index import ArchivedTurns
from clio.memory.vectors.vector_store import VectorStore
from clio.messages import AssistantMessage, Message, UserMessage
from clio.sessions.session import Session
from clio.sessions.state import Trim
from clio.sessions.store import SessionStore
from clio.text.embedding import EmbeddingFailed, HashedEmbedder, Row

NAME = HashedEmbedder().name


class Counting(HashedEmbedder):
    """The hashed embedder, which counts the texts it embeds."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> list[Row]:
        self.texts += texts
        return super().embed(texts)


class Failing(HashedEmbedder):
    """An embedder on a server that fails after a number of answers."""

    remote = True

    @property
    def name(self) -> str:
        return "far-away"

    def __init__(self, answers: int = 0) -> None:
        self.answers = answers

    def embed(self, texts: Sequence[str]) -> list[Row]:
        if not self.answers:
            raise EmbeddingFailed("the server of vectors is gone")
        self.answers -= 1
        return super().embed(texts)


def vectors(project: Path) -> VectorStore:
    """Return the store as a new process opens it."""
    return VectorStore(project / ".clio" / "cache" / "vectors", HashedEmbedder())


def folder(project: Path) -> Path:
    """Return the folder of the default embedder's vectors."""
    return project / ".clio" / "cache" / "vectors" / NAME


def turns(project: Path) -> ArchivedTurns:
    return ArchivedTurns(vectors(project))


def sessions(project: Path) -> SessionStore:
    return SessionStore(project / ".clio" / "sessions")


def make_messages(*words: str) -> list[Message]:
    return [
        AssistantMessage(content=text) if number % 2 else UserMessage(content=text) for number, text in enumerate(words)
    ]


def a_session(project: Path, messages: Sequence[Message], *, dropped: int | None = None) -> Session:
    """Return a running session whose first messages are trimmed: `dropped` of them, or all if it is None."""
    session = sessions(project).new(project)
    for message in messages:
        session.append(message)
    drop(session, len(messages) if dropped is None else dropped)
    return session


def drop(session: Session, count: int, handle: str = "t1") -> None:
    if count:
        session.add_trim(Trim(handle=handle, dropped=tuple(session.window_ids[:count]), created=1.0))
