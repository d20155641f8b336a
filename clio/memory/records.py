"""What is remembered, as it crosses from one room to another; times are seconds since the epoch."""

from typing import Literal

from msgspec import Struct

AssertedBy = Literal["user", "model", "tool"]
Kind = Literal["discovery", "solution", "pattern", "note"]


class Provenance(Struct, frozen=True, kw_only=True):
    """Where a memory came from: the session, the message that led to it, and who said so."""

    session: str = ""
    message: str = ""
    asserted_by: AssertedBy = "model"


class Entry(Struct, frozen=True, kw_only=True):
    """One entry of the project knowledge.

    text: the fact, the pattern, or the error of a solution.
    solution: what helped; empty for the other kinds.
    confidence: 0.0 to 1.0; a solution's is 1.0, it is judged by how often it helped.
    times: how often a solution was recorded; 1 for the other kinds.
    confirmed: when it was last said, which is when it was first said where nobody repeated it.
    """

    kind: Kind
    text: str
    solution: str = ""
    confidence: float = 1.0
    examples: tuple[str, ...] = ()
    times: int = 1
    confirmed: float = 0.0
    provenance: Provenance | None = None

    @property
    def line(self) -> str:
        """The entry on one line, as a model or a person reads it."""
        text = f"{self.text} → {self.solution}" if self.solution else self.text
        where = f" (e.g. {', '.join(self.examples)})" if self.examples else ""
        return " ".join(f"{text}{where}".split())


class Knowledge(Struct, frozen=True, kw_only=True):
    """The project knowledge, in the order of the file."""

    discoveries: tuple[Entry, ...] = ()
    solutions: tuple[Entry, ...] = ()
    patterns: tuple[Entry, ...] = ()

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All of them."""
        return self.discoveries + self.solutions + self.patterns


class Note(Struct, frozen=True, kw_only=True):
    """A named text an agent or a person put aside."""

    key: str
    content: str
    timestamp: float = 0.0


class Hit(Struct, frozen=True, kw_only=True):
    """One answer of a search. `key` names a note; `score` is comparable within one search only."""

    kind: Kind
    text: str
    key: str = ""
    score: float = 0.0
    timestamp: float = 0.0


class Recalled(Struct, frozen=True, kw_only=True):
    """A passage of an earlier session. `created` is when it was said."""

    session_id: str
    session_name: str
    message_id: str
    role: str
    created: float
    snippet: str
    score: float


class Recall(Struct, frozen=True, kw_only=True):
    """What a search of earlier sessions gave, best first. `unreadable`: ids of sessions that could not be read."""

    passages: tuple[Recalled, ...] = ()
    unreadable: tuple[str, ...] = ()
