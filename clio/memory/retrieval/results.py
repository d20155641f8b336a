"""What a search of everything that is remembered answers; times are seconds since the epoch."""

from msgspec import Struct

from clio.memory.retrieval.candidate import LAYERS as LAYERS
from clio.memory.retrieval.candidate import Layer, Place, Source
from clio.memory.retrieval.scoring import FUSIONS as FUSIONS
from clio.memory.retrieval.scoring import Fusion as Fusion
from clio.memory.retrieval.scoring import Reason

DEFAULT_LIMIT = 10
"""So many answers are given where no limit is given."""


class RecallHit(Struct, frozen=True, kw_only=True):
    """One answer. See `Candidate` for source, kind, id, where and label.

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


class RecallAnswer(Struct, frozen=True, kw_only=True):
    """What everything that is remembered says to a query, the best first.

    more: how many other answers the limit cut. left_out: what could not be asked, one sentence each.
    ms: how long each layer took, in milliseconds.
    """

    hits: tuple[RecallHit, ...] = ()
    more: int = 0
    left_out: tuple[str, ...] = ()
    ms: dict[Layer, float] = {}
