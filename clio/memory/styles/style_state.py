"""What was learned about the response styles, in `~/.clio/styles.json`."""

from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct, structs

from clio.memory.styles.skill import DIMENSIONS as DIMENSION_NAMES
from clio.memory.styles.skill import NEUTRAL
from clio.storage.documents import DocumentFormat, load_document, update_document
from clio.text.bandit import (
    MAX_STORED_CONFIDENCE,
    MIN_STORED_CONFIDENCE,
    PREFERENCE_DIMENSIONS,
    REWARD_SWING,
    VECTOR_LEARNING_RATE,
    Posterior,
    compute_alignment,
    get_confidence_rate,
    update_confidence,
    update_preference_vector,
)
from clio.text.scoring import DAY_S

FIRST_CONFIDENCE = 0.5
HALF_LIFE_DAYS = 180.0
"""After so many days half of what an answer earned no longer counts: people change, and a style may be tried again."""
POOLED_UNTIL = 8.0
"""With so many ratings of its own a context counts those of other contexts of its intent half; with none, whole."""


class Earned(Struct, frozen=True, kw_only=True):
    """What a style earned in one context, or with one intent. last: when, in seconds since the epoch."""

    ups: float = 0.0
    downs: float = 0.0
    confidence: float = FIRST_CONFIDENCE
    ratings: float = 0.0
    last: float = 0.0

    def faded(self, now: float) -> "Earned":
        """The same as it counts now."""
        share = 0.5 ** (max(now - self.last, 0.0) / DAY_S / HALF_LIFE_DAYS)
        return structs.replace(
            self,
            ups=self.ups * share,
            downs=self.downs * share,
            confidence=FIRST_CONFIDENCE + (self.confidence - FIRST_CONFIDENCE) * share,
        )

    def after(self, reward: int, weight: float, now: float) -> "Earned":
        """The same with one more reward; weight: 1.0 for a person's word, less for a sign of it."""
        before = self.faded(now)
        full = update_confidence(before.confidence, reward, int(self.ratings))
        return Earned(
            ups=before.ups + weight * (reward > 0),
            downs=before.downs + weight * (reward < 0),
            confidence=before.confidence + weight * (full - before.confidence),
            ratings=self.ratings + weight * (reward != 0),
            last=now,
        )

    def without(self, reward: int, weight: float) -> "Earned":
        """The same with one reward taken back: exact but where a limit was reached since."""
        rate = weight * get_confidence_rate(int(max(self.ratings - weight, 0.0)))
        target = FIRST_CONFIDENCE + REWARD_SWING * reward
        confidence = (self.confidence - rate * target) / (1.0 - rate)
        return structs.replace(
            self,
            ups=max(self.ups - weight * (reward > 0), 0.0),
            downs=max(self.downs - weight * (reward < 0), 0.0),
            confidence=min(max(confidence, MIN_STORED_CONFIDENCE), MAX_STORED_CONFIDENCE),
            ratings=max(self.ratings - weight, 0.0),
        )


class Use(Struct, frozen=True, kw_only=True):
    """How often a style was used, and when last."""

    count: int = 0
    last: float = 0.0


class StyleState(Struct, frozen=True, kw_only=True):
    """The whole document.

    contexts: by context, such as "fix/neutral/morning", and by intent alone, such as "fix": what each style earned.
    vectors: by the same: how the person likes it there, one number for each dimension. uses: by style.
    """

    on: bool = False
    pinned: str = ""
    contexts: dict[str, dict[str, Earned]] = {}
    vectors: dict[str, tuple[float, ...]] = {}
    uses: dict[str, Use] = {}

    def earned(self, context: str, style: str, now: float) -> Earned:
        """What counts for a style in a context: what it earned there, and elsewhere with its intent where needed."""
        own = self._at(context, style, now)
        intent = self._at(intent_of(context), style, now)
        share = POOLED_UNTIL / (POOLED_UNTIL + own.ups + own.downs)
        return structs.replace(
            intent,
            ups=own.ups + share * max(intent.ups - own.ups, 0.0),
            downs=own.downs + share * max(intent.downs - own.downs, 0.0),
        )

    def posterior(self, context: str, style: str, now: float) -> Posterior:
        """The same as a distribution."""
        earned = self.earned(context, style, now)
        return Posterior(ups=earned.ups, downs=earned.downs)

    def vector(self, context: str) -> tuple[float, ...]:
        """How the person likes it in a context, else with its intent, else nobody knows: 0.5 everywhere."""
        found = self.vectors.get(context) or self.vectors.get(intent_of(context)) or NEUTRAL
        return found if len(found) == PREFERENCE_DIMENSIONS else NEUTRAL

    def ratings(self, context: str) -> float:
        """How many answers with this intent were rated."""
        return sum(one.ratings for one in self.contexts.get(intent_of(context), {}).values())

    def aligned(self, context: str, dimensions: tuple[float, ...]) -> float:
        """How near a style is to what the person likes there, 0.0 to 1.0."""
        return compute_alignment(self.vector(context), dimensions)

    def after(
        self, context: str, style: str, dimensions: tuple[float, ...], reward: int, weight: float, now: float
    ) -> "StyleState":
        """The state with one more reward, learned for the context and for its intent."""
        contexts = dict(self.contexts)
        vectors = dict(self.vectors)
        for place in dict.fromkeys((context, intent_of(context))):
            known = contexts.get(place, {})
            contexts[place] = known | {style: known.get(style, Earned()).after(reward, weight, now)}
            before = self.vector(place)
            full = update_preference_vector(before, dimensions, reward)
            vectors[place] = tuple(b + weight * (a - b) for b, a in zip(before, full, strict=True))
        return structs.replace(self, contexts=contexts, vectors=vectors)

    def before(
        self, context: str, style: str, dimensions: tuple[float, ...], reward: int, weight: float
    ) -> "StyleState":
        """The state with one reward taken back, as when a person thinks again."""
        contexts = dict(self.contexts)
        vectors = dict(self.vectors)
        for place in dict.fromkeys((context, intent_of(context))):
            known = contexts.get(place, {})
            if style not in known:
                continue
            contexts[place] = known | {style: known[style].without(reward, weight)}
            step = weight * reward * VECTOR_LEARNING_RATE
            moved = zip(self.vector(place), dimensions, strict=True)
            vectors[place] = tuple(min(max((p - step * d) / (1.0 - step), 0.0), 1.0) for p, d in moved)
        return structs.replace(self, contexts=contexts, vectors=vectors)

    def nudged(self, context: str, wanted: Mapping[str, float]) -> "StyleState":
        """The state after the person said how they want it: some dimensions a tenth of the way nearer to a value."""
        vectors = dict(self.vectors)
        for place in dict.fromkeys((context, intent_of(context))):
            named = zip(DIMENSION_NAMES, self.vector(place), strict=True)
            vectors[place] = tuple(p + VECTOR_LEARNING_RATE * (wanted.get(name, p) - p) for name, p in named)
        return structs.replace(self, vectors=vectors)

    def used(self, style: str, now: float) -> "StyleState":
        """The state after one more use."""
        before = self.uses.get(style, Use())
        return structs.replace(self, uses=self.uses | {style: Use(count=before.count + 1, last=now)})

    def without(self, style: str | None) -> "StyleState":
        """The state with nothing learned about a style; None: about any of them, or about what the person likes."""
        if style is None:
            return StyleState(on=self.on, pinned=self.pinned)
        left = {place: {id: one for id, one in arms.items() if id != style} for place, arms in self.contexts.items()}
        return structs.replace(
            self,
            pinned="" if self.pinned == style else self.pinned,
            contexts={place: arms for place, arms in left.items() if arms},
            uses={id: use for id, use in self.uses.items() if id != style},
        )

    def _at(self, place: str, style: str, now: float) -> Earned:
        known = self.contexts.get(place, {}).get(style)
        return known.faded(now) if known else Earned()


FORMAT = DocumentFormat(schema="clio.styles", version=1, type=StyleState)


class StyleFile:
    """`styles.json`, read again only where it changed. Methods raise StorageError, OSError, TimeoutError."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stamp: tuple[int, int, int] | None = None
        self._state = StyleState()

    def read(self) -> StyleState:
        """What is on disk; an empty state where there is none."""
        try:
            status = self.path.stat()
        except FileNotFoundError:
            self._stamp, self._state = None, StyleState()
            return self._state
        stamp = (status.st_ino, status.st_size, status.st_mtime_ns)
        if stamp != self._stamp:
            document = load_document(self.path, FORMAT)
            self._state = document.value if document else StyleState()
            self._stamp = stamp
        return self._state

    def change(self, change: Callable[[StyleState], StyleState]) -> StyleState:
        """Lock, read, change, write: two clios lose nothing. See `clio.storage.documents.update`."""
        return update_document(self.path, FORMAT, change)


def intent_of(context: str) -> str:
    """The first part of a context's name."""
    return context.partition("/")[0]
