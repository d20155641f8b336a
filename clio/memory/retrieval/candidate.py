"""What may be brought up or found, of whatever kind, and what differs between the kinds as a table.

Times are seconds since the epoch.
"""

from collections.abc import Mapping
from typing import Literal, get_args

from msgspec import Struct

from clio.text.scoring import TIER_WEIGHTS

Layer = Literal["L0", "L1", "L2"]
"""What was said and read; what was remembered of it; what the user likes and a style has learned."""
Source = Literal["session", "trimmed", "document", "memory", "knowledge", "note", "preference", "style"]
LAYERS: tuple[Layer, ...] = get_args(Layer)


class KindRule(Struct, frozen=True, kw_only=True):
    """How candidates of one source are weighed.

    layer: where it belongs. tier: of the adaptive-memory document; "episodic" is none of its tiers. half_life_days: in
    which half of what age may take away is gone; None where age only breaks ties. is_whole: its text is one statement,
    so that a long question that says all of it fits, too.
    """

    layer: Layer
    tier: str
    half_life_days: float | None = None
    is_whole: bool = True


KINDS: Mapping[Source, KindRule] = {
    "session": KindRule(layer="L0", tier="episodic", is_whole=False),
    "trimmed": KindRule(layer="L0", tier="working", is_whole=False),
    "document": KindRule(layer="L0", tier="semantic", is_whole=False),
    "memory": KindRule(layer="L1", tier="semantic", half_life_days=90.0),
    "knowledge": KindRule(layer="L1", tier="semantic", half_life_days=90.0),
    "note": KindRule(layer="L1", tier="semantic", half_life_days=90.0),
    "preference": KindRule(layer="L2", tier="behavioral", half_life_days=180.0),
    "style": KindRule(layer="L2", tier="behavioral", half_life_days=180.0),
}
PROCEDURES = ("workflow", "rule", "pattern")
"""Kinds of project memory that are in the document's procedural tier."""
_UNKNOWN_TIER = 0.5


class Place(Struct, frozen=True, kw_only=True):
    """A message of a session, and the session's title where it is known."""

    session: str
    message: str = ""
    title: str = ""


class Engine(Struct, frozen=True, kw_only=True):
    """What the transcript index says of a passage: its own ranking knows what is said around it.

    share: of the best passage's score, 0.0 to 1.0. covered: the share of the query, by weight, that the passage and
    those next to it have; words: how many words of it. is_dated: it is of a date that the query names. title: the share
    of the query that the session's title has.
    """

    share: float
    covered: float = 0.0
    words: int = 0
    is_dated: bool = False
    title: float = 0.0


class Candidate(Struct, frozen=True, kw_only=True):
    """Something that could be brought up for a question or found for a query.

    kind: what it is called within its source, such as "fact", "solution", "user". id: what opens it; of a passage that
    is its message. where: of a passage its own place, of a memory the message it was made from. keywords: other names
    it goes by. when: it was last confirmed, or said; 0.0 if unknown. strength: 0.0 to 1.0, what it is worth
    after all fading; None for what has none of its own. distance: of its vector from the query's. engine: of a passage
    the transcript index ranked. asks: it only asks something. is_corroborated: two sessions or two people confirmed
    it. trust: see `prompt_prefix.describe_trust`. signals: what else is to be said of it by name, such as the formulas
    of the seeds. label: what must be said with it, such as "example changed since".
    """

    source: Source
    id: str
    text: str
    kind: str = ""
    role: str = ""
    said_by: str = ""
    keywords: tuple[str, ...] = ()
    when: float = 0.0
    where: Place | None = None
    strength: float | None = None
    distance: float | None = None
    engine: Engine | None = None
    asks: bool = False
    is_corroborated: bool = False
    trust: str = ""
    signals: Mapping[str, float] = {}
    label: str = ""

    @property
    def layer(self) -> Layer:
        """The layer of its source."""
        return KINDS[self.source].layer

    @property
    def message(self) -> str:
        """The id of the message it is or was made from; empty where that is not known."""
        return self.where.message if self.where else ""


def tier_of(candidate: Candidate) -> tuple[str, float]:
    """The tier of a candidate, and what it counts: (1 + the document's weight) / 2, so that words decide first."""
    name = "procedural" if candidate.kind in PROCEDURES else KINDS[candidate.source].tier
    return name, (1.0 + TIER_WEIGHTS.get(name, _UNKNOWN_TIER)) / 2.0
