"""What unified recall finds and what it answers, as it crosses from room to room; times are seconds since the epoch."""

from typing import Literal, Protocol, get_args

from msgspec import Struct

Layer = Literal["L0", "L1", "L2"]
"""What was said and read; what was remembered of it; what a person likes and a style has learned."""
Source = Literal["session", "trimmed", "document", "memory", "knowledge", "note", "preference", "style"]
Fusion = Literal["convex", "rrf"]
DEFAULT_LIMIT = 10
"""So many answers are given where nobody says how many."""
LAYERS: tuple[Layer, ...] = get_args(Layer)
FUSIONS: tuple[Fusion, ...] = get_args(Fusion)
LAYER_OF: dict[Source, Layer] = {
    "session": "L0",
    "trimmed": "L0",
    "document": "L0",
    "memory": "L1",
    "knowledge": "L1",
    "note": "L1",
    "preference": "L2",
    "style": "L2",
}


class Place(Struct, frozen=True, kw_only=True):
    """A message of a session, and the session's title where it is known."""

    session: str
    message: str = ""
    title: str = ""


class Reason(Struct, frozen=True, kw_only=True):
    """One signal of a score: its name, its number, and what it says, in words for people."""

    name: str
    value: float
    words: str


class Found(Struct, frozen=True, kw_only=True):
    """Something a source offers, before it is weighed.

    kind: what it is called within its source, such as "fact", "solution", "user". id: what opens it; of a passage that
    is its message. where: of a passage its own place, of a memory the message it was made from. keywords: other names
    it goes by. strength: 0.0 to 1.0, what it is worth after all fading. distance: of its vector from the query's, as
    `clio.text.scoring` has it. title_share: 0.0 to 1.0, how much of the query its session's title has.
    here: it left the window of the session that asks. label: what must be said with it.
    """

    source: Source
    id: str
    text: str
    kind: str = ""
    when: float = 0.0
    where: Place | None = None
    keywords: tuple[str, ...] = ()
    strength: float | None = None
    distance: float | None = None
    title_share: float = 0.0
    here: bool = False
    label: str = ""

    @property
    def layer(self) -> Layer:
        """The layer of its source."""
        return LAYER_OF[self.source]


class UnifiedHit(Struct, frozen=True, kw_only=True):
    """One answer. See `Found` for source, kind, id, where and label.

    text: of a long one the passage that answers, up to about 700 characters. score: 0.0 to 1.0, comparable from query
    to query where it was fused convexly. reasons: every signal that went into it. also: passages that say the same.
    """

    layer: Layer
    source: Source
    kind: str
    id: str
    text: str
    when: float
    score: float
    reasons: tuple[Reason, ...]
    where: Place | None = None
    also: tuple[Place, ...] = ()
    label: str = ""


class UnifiedAnswer(Struct, frozen=True, kw_only=True):
    """What everything that is remembered says to a query, the best first.

    more: how many other answers the limit cut. left_out: what could not be asked, one sentence each.
    ms: how long each layer took, in milliseconds.
    """

    hits: tuple[UnifiedHit, ...] = ()
    more: int = 0
    left_out: tuple[str, ...] = ()
    ms: dict[Layer, float] = {}


class StyleHit(Struct, frozen=True, kw_only=True):
    """Something a style of answering has learned, in words. strength: how sure it is of it, 0.0 to 1.0."""

    id: str
    text: str
    when: float = 0.0
    strength: float = 1.0


class LearnedStyles(Protocol):
    """Whoever knows what styles have learned."""

    def learned(self, query: str) -> "tuple[StyleHit, ...] | list[StyleHit]":
        """What may have to do with the query; it is weighed afterwards like everything else."""
        ...
