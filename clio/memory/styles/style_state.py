"""Response styles: the files that define them, and what was learned about them, in `~/.clio/styles.json`."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct, structs

from clio.config.command_line import did_you_mean
from clio.errors import UserError
from clio.storage.documents import DocumentFormat, load_document, update_document
from clio.storage.files import Stamp, get_stamp
from clio.text.bandit import (
    MAX_STORED_CONFIDENCE,
    MIN_STORED_CONFIDENCE,
    PREFERENCE_DIMENSIONS,
    REWARD_SWING,
    VECTOR_LEARNING_RATE,
    get_confidence_rate,
    update_confidence,
    update_preference_vector,
)
from clio.text.scoring import DAY_S
from clio.text.translation import tr

DIMENSIONS: tuple[str, ...] = (
    "verbosity",
    "formality",
    "technical_depth",
    "proactivity",
    "emotional_expression",
    "structure",
    "explanation_depth",
    "example_usage",
    "question_asking",
    "reassurance_level",
    "directness",
    "enthusiasm",
    "patience",
    "creativity",
    "humor",
    "code_focus",
)
"""The meaning of a style's sixteen numbers, each from 0.0 (none) to 1.0 (most).

The order is part of the file format: `styles.json` stores the numbers without names.
"""
NEUTRAL: tuple[float, ...] = (0.5,) * PREFERENCE_DIMENSIONS
MAX_CHARS = 1_200
_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_TEXTS = ("id", "name", "summary")
_LISTS = ("intents", "times", "sentiments", "topics")


class Trigger(Struct, frozen=True, kw_only=True):
    """The situations in which a style applies. "any" matches every value; an empty tuple matches none."""

    intents: tuple[str, ...] = ("any",)
    times: tuple[str, ...] = ("any",)
    sentiments: tuple[str, ...] = ("any",)
    topics: tuple[str, ...] = ()


class StyleSkill(Struct, frozen=True, kw_only=True):
    """A style.

    Attributes:
        text: the instruction for the model.
        dimensions: one number for each of DIMENSIONS.
        source: the path of its file.
    """

    id: str
    name: str
    text: str
    summary: str = ""
    trigger: Trigger = Trigger()
    dimensions: tuple[float, ...] = NEUTRAL
    source: str = ""
    built_in: bool = False


def parse_skill(text: str, source: str, *, built_in: bool = False) -> StyleSkill:
    """Parse a style file: `key: value` lines between two lines of dashes, then the text for the model.

    Raises UserError, which names the invalid line, but not the file.
    """
    written = text.lstrip("\ufeff").replace("\r\n", "\n").split("\n")
    lines = [line.strip() for line in written]
    if lines[:1] != ["---"] or "---" not in lines[1:]:
        raise UserError(tr("a style begins with its properties between two lines of `---`; see docs/styles.md"))
    end = lines.index("---", 1)
    given: dict[str, str] = {}
    for number, line in enumerate(lines[1:end], 2):
        if not line or line.startswith("#"):
            continue
        key, colon, value = line.partition(":")
        name = key.strip().lower().replace("-", "_")
        if not colon or name not in (*_TEXTS, *_LISTS, *DIMENSIONS):
            hint = did_you_mean(name, (*_TEXTS, *_LISTS, *DIMENSIONS))
            raise UserError(
                tr("line {number}: {line!r} is not a property of a style{hint}", number=number, line=line, hint=hint)
            )
        given[name] = value.strip().strip("\"'")
    id = given.get("id", "")
    if not _ID.fullmatch(id):
        raise UserError(tr("a style needs an id of lowercase letters, digits and dashes, not {id!r}", id=id))
    body = "\n".join(written[end + 1 :]).strip()
    if not body or len(body) > MAX_CHARS:
        count = len(body)
        raise UserError(
            tr("the text of a style has 1 to {max_chars:,} characters, not {count:,}", max_chars=MAX_CHARS, count=count)
        )
    return StyleSkill(
        id=id,
        name=given.get("name") or id,
        text=body,
        summary=given.get("summary", ""),
        trigger=Trigger(**{name: _parse_list(given[name]) for name in _LISTS if name in given}),
        dimensions=tuple(_parse_number(given.get(name, "0.5"), name) for name in DIMENSIONS),
        source=source,
        built_in=built_in,
    )


def _parse_list(value: str) -> tuple[str, ...]:
    return tuple(part for raw in value.strip("[]").split(",") if (part := " ".join(raw.strip(" \"'").split()).lower()))


def _parse_number(value: str, name: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not 0.0 <= number <= 1.0:
        raise UserError(tr("{name} must be a number from 0.0 to 1.0, not {value!r}", name=name, value=value))
    return number


FIRST_CONFIDENCE = 0.5
HALF_LIFE_DAYS = 180.0
"""Half-life of a reward in days: tastes change, and a style can be tried again."""
POOLED_UNTIL = 8.0
"""Number of a context's own ratings with which those of other contexts of the same intent count half.

A context without ratings of its own uses those of its intent in full.
"""


class Earned(Struct, frozen=True, kw_only=True):
    """Rewards of a style in one context or for one intent. last: time of the latest one, in seconds since the epoch."""

    ups: float = 0.0
    downs: float = 0.0
    confidence: float = FIRST_CONFIDENCE
    ratings: float = 0.0
    last: float = 0.0

    def faded(self, now: float) -> "Earned":
        """Return the rewards after decay up to now."""
        share = 0.5 ** (max(now - self.last, 0.0) / DAY_S / HALF_LIFE_DAYS)
        return structs.replace(
            self,
            ups=self.ups * share,
            downs=self.downs * share,
            confidence=FIRST_CONFIDENCE + (self.confidence - FIRST_CONFIDENCE) * share,
        )

    def after(self, reward: int, weight: float, now: float) -> "Earned":
        """Return the rewards with one more reward. weight: 1.0 from the user, less from a signal."""
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
        """Return the rewards without one reward. Exact unless a limit was reached since then."""
        rate = weight * get_confidence_rate(int(max(self.ratings - weight, 0.0)))
        target = FIRST_CONFIDENCE + REWARD_SWING * reward
        # The inverse of the step in `update_confidence`.
        confidence = (self.confidence - rate * target) / (1.0 - rate)
        return structs.replace(
            self,
            ups=max(self.ups - weight * (reward > 0), 0.0),
            downs=max(self.downs - weight * (reward < 0), 0.0),
            confidence=min(max(confidence, MIN_STORED_CONFIDENCE), MAX_STORED_CONFIDENCE),
            ratings=max(self.ratings - weight, 0.0),
        )


class Use(Struct, frozen=True, kw_only=True):
    """Number of uses of a style, and the time of the last one."""

    count: int = 0
    last: float = 0.0


class StyleState(Struct, frozen=True, kw_only=True):
    """The content of `styles.json`.

    Attributes:
        contexts: rewards by context, such as "fix/neutral/morning", or intent, such as "fix", and then by style.
        vectors: the user's taste by context or intent: one number for each dimension.
        uses: by style.
    """

    on: bool = False
    pinned: str = ""
    contexts: dict[str, dict[str, Earned]] = {}
    vectors: dict[str, tuple[float, ...]] = {}
    uses: dict[str, Use] = {}

    def earned(self, context: str, style: str, now: float) -> Earned:
        """Return the rewards of a style in a context, plus a share of those in other contexts with the same intent.

        The share decreases with the number of its own rewards; see `POOLED_UNTIL`.
        """
        own = self._at(context, style, now)
        intent = self._at(intent_of(context), style, now)
        share = POOLED_UNTIL / (POOLED_UNTIL + own.ups + own.downs)
        return structs.replace(
            intent,
            ups=own.ups + share * max(intent.ups - own.ups, 0.0),
            downs=own.downs + share * max(intent.downs - own.downs, 0.0),
        )

    def vector(self, context: str) -> tuple[float, ...]:
        """Return the user's taste in a context, otherwise for its intent, otherwise 0.5 in every dimension."""
        found = self.vectors.get(context) or self.vectors.get(intent_of(context)) or NEUTRAL
        # A file of another version may contain vectors with another number of dimensions.
        return found if len(found) == PREFERENCE_DIMENSIONS else NEUTRAL

    def ratings(self, context: str) -> float:
        """Return how many answers with the intent of this context were rated, by weight."""
        return sum(earned.ratings for earned in self.contexts.get(intent_of(context), {}).values())

    def after(
        self, context: str, style: str, dimensions: tuple[float, ...], reward: int, weight: float, now: float
    ) -> "StyleState":
        """Return the state with one more reward for the context and for its intent."""
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
        """Return the state without one reward, such as one that the user withdrew."""
        contexts = dict(self.contexts)
        vectors = dict(self.vectors)
        for place in dict.fromkeys((context, intent_of(context))):
            known = contexts.get(place, {})
            if style not in known:
                continue
            contexts[place] = known | {style: known[style].without(reward, weight)}
            step = weight * reward * VECTOR_LEARNING_RATE
            moved = zip(self.vector(place), dimensions, strict=True)
            # The inverse of the step in `update_preference_vector`.
            vectors[place] = tuple(min(max((p - step * d) / (1.0 - step), 0.0), 1.0) for p, d in moved)
        return structs.replace(self, contexts=contexts, vectors=vectors)

    def nudged(self, context: str, wanted: Mapping[str, float]) -> "StyleState":
        """Return the state with some dimensions of the user's taste moved a tenth of the way towards a value."""
        vectors = dict(self.vectors)
        for place in dict.fromkeys((context, intent_of(context))):
            named = zip(DIMENSIONS, self.vector(place), strict=True)
            vectors[place] = tuple(p + VECTOR_LEARNING_RATE * (wanted.get(name, p) - p) for name, p in named)
        return structs.replace(self, vectors=vectors)

    def used(self, style: str, now: float) -> "StyleState":
        """Return the state after one more use of a style."""
        before = self.uses.get(style, Use())
        return structs.replace(self, uses=self.uses | {style: Use(count=before.count + 1, last=now)})

    def without(self, style: str | None) -> "StyleState":
        """Return the state with nothing learned about a style; None: about any style or about the user's taste."""
        if style is None:
            return StyleState(on=self.on, pinned=self.pinned)
        left = {
            place: {id: earned for id, earned in arms.items() if id != style} for place, arms in self.contexts.items()
        }
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
    """`styles.json`, read again only if it changed. Methods may raise StorageError, OSError and TimeoutError."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stamp: Stamp | None = None
        self._state = StyleState()

    def read(self) -> StyleState:
        """Return the stored state; an empty state if there is no file."""
        stamp = get_stamp(self.path)
        if stamp != self._stamp:
            document = load_document(self.path, FORMAT) if stamp else None
            self._state = document.value if document else StyleState()
            self._stamp = stamp
        return self._state

    def change(self, change: Callable[[StyleState], StyleState]) -> StyleState:
        """Lock, read, change and write the file, so that processes lose no changes. Returns the new state."""
        return update_document(self.path, FORMAT, change)


def intent_of(context: str) -> str:
    """Return the intent of a context: "fix" for "fix/neutral/morning"."""
    return context.partition("/")[0]
