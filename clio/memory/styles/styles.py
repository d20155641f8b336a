"""The response styles of a user: choose the style of an answer, learn from ratings, and manage what was learned.

Also reads the files that define styles, and `~/.clio/styles.json`, which holds what was learned about them.
"""

import random
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct, structs

from clio.config.command_line import did_you_mean
from clio.errors import StorageError, UserError
from clio.messages import Fragment
from clio.storage.documents import DocumentFormat, load_document, update_document
from clio.storage.files import make_ignored_folder, read_regular, write_atomic
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
from clio.text.bandit import PREFERENCE_DIMENSIONS as DIMENSION_COUNT
from clio.text.embedding import Embedder
from clio.text.json_data import decode_json
from clio.text.scoring import DAY_S

if TYPE_CHECKING:
    from clio.memory.styles.selection import Choice, SkillFolders, SkillSet

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
NEUTRAL: tuple[float, ...] = (0.5,) * DIMENSION_COUNT
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

    Raises UserError, which names the file and the invalid line.
    """
    head, body = _split_head(text.replace("\r\n", "\n"), source)
    given: dict[str, str] = {}
    for number, line in enumerate(head, 2):
        key, colon, value = line.partition(":")
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name = key.strip().lower().replace("-", "_")
        if not colon or name not in (*_TEXTS, *_LISTS, *DIMENSIONS):
            hint = did_you_mean(name, (*_TEXTS, *_LISTS, *DIMENSIONS))
            raise UserError(f"{source!r}, line {number}: {line.strip()!r} is not a property of a style{hint}")
        given[name] = value.strip().strip("\"'")
    id = given.get("id", "")
    if not _ID.fullmatch(id):
        raise UserError(f"{source!r}: a style needs an id of lowercase letters, digits and dashes, not {id!r}")
    text = body.strip()
    if not text or len(text) > MAX_CHARS:
        raise UserError(f"{source!r}: the text of a style has 1 to {MAX_CHARS:,} characters, not {len(text):,}")
    return StyleSkill(
        id=id,
        name=given.get("name") or id,
        text=text,
        summary=given.get("summary", ""),
        trigger=Trigger(**{name: _parse_list(given[name]) for name in _LISTS if name in given}),
        dimensions=tuple(_parse_number(given.get(name), name, source) for name in DIMENSIONS),
        source=source,
        built_in=built_in,
    )


def _split_head(text: str, source: str) -> tuple[list[str], str]:
    """Return the lines between the two lines of dashes, and the text after them."""
    lines = text.lstrip("\ufeff").split("\n")
    if lines[0].strip() == "---":
        for number, line in enumerate(lines[1:], 1):
            if line.strip() == "---":
                return lines[1:number], "\n".join(lines[number + 1 :])
    raise UserError(f"{source!r}: a style begins with its properties between two lines of `---`; see docs/styles.md")


def _parse_list(value: str) -> tuple[str, ...]:
    return tuple(part for raw in value.strip("[]").split(",") if (part := " ".join(raw.strip(" \"'").split()).lower()))


def _parse_number(value: str | None, name: str, source: str) -> float:
    if value is None:
        return 0.5
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not 0.0 <= number <= 1.0:
        raise UserError(f"{source!r}: {name} must be a number from 0.0 to 1.0, not {value!r}")
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

    def posterior(self, context: str, style: str, now: float) -> Posterior:
        """Return the rewards of `earned` as a distribution."""
        earned = self.earned(context, style, now)
        return Posterior(ups=earned.ups, downs=earned.downs)

    def vector(self, context: str) -> tuple[float, ...]:
        """Return the user's taste in a context, otherwise for its intent, otherwise 0.5 in every dimension."""
        found = self.vectors.get(context) or self.vectors.get(intent_of(context)) or NEUTRAL
        # A file of another version may contain vectors with another number of dimensions.
        return found if len(found) == PREFERENCE_DIMENSIONS else NEUTRAL

    def ratings(self, context: str) -> float:
        """Return how many answers with the intent of this context were rated, by weight."""
        return sum(earned.ratings for earned in self.contexts.get(intent_of(context), {}).values())

    def aligned(self, context: str, dimensions: tuple[float, ...]) -> float:
        """Return how close a style is to the user's taste in a context, 0.0 to 1.0."""
        return compute_alignment(self.vector(context), dimensions)

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
        self._stamp: tuple[int, int, int] | None = None
        self._state = StyleState()

    def read(self) -> StyleState:
        """Return the stored state; an empty state if there is no file."""
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
        """Lock, read, change and write the file, so that processes lose no changes. Returns the new state."""
        return update_document(self.path, FORMAT, change)


def intent_of(context: str) -> str:
    """Return the intent of a context: "fix" for "fix/neutral/morning"."""
    return context.partition("/")[0]


CAP_TOKENS = 300
"""Limit of a style's text in the prompt; a style has up to 1,200 characters."""


class Chosen(Struct, frozen=True, kw_only=True):
    """The style of a turn. bucket: the context that ratings of it are stored for."""

    skill: StyleSkill
    bucket: str
    explored: bool = False
    pinned: bool = False


class StyleView(Struct, frozen=True, kw_only=True):
    """A style with what was learned about it. earned: by intent, only those with ratings."""

    skill: StyleSkill
    earned: dict[str, Earned]
    use: Use = Use()


class Learned(Struct, frozen=True, kw_only=True):
    """The effect of one reward: the rewards of a style in its context before and after."""

    style: str
    bucket: str
    before: Earned
    after: Earned


class StylesExport(Struct, frozen=True, kw_only=True):
    """Everything learned, and the styles that are not built in."""

    state: StyleState
    skills: tuple[StyleSkill, ...] = ()


class Styles:
    """The styles of one user in one project. They are off until the user turns them on.

    Until then only `styles.json` is read, and `clio.memory.styles.selection` is not imported.
    Methods raise StorageError for a damaged file, UserError for an unknown style, and OSError.

    Args:
        home: clio's home folder, which contains `styles.json` and the user's own styles in `styles/`.
        rng: the source of randomness.
        persist: if false, no file is read or written and no style is chosen.
    """

    def __init__(
        self,
        project: Path,
        home: Path,
        *,
        rng: random.Random | None = None,
        clock: Callable[[], float] = time.time,
        embedder: Embedder | None = None,
        persist: bool = True,
    ) -> None:
        self._file = StyleFile(home / "styles.json")
        self._style_folders = (home / "styles", project / ".clio" / "styles")
        self._account_path = project / ".clio" / "cache" / "style.json"
        self._rng = rng or random.Random()
        self._clock = clock
        self._embedder = embedder
        self._persist = persist
        self._choice: Choice | None = None
        self.current: Chosen | None = None

    @property
    def path(self) -> Path:
        """The file that stores what was learned."""
        return self._file.path

    @property
    def is_on(self) -> bool:
        """Whether styles are turned on."""
        return self._persist and self._file.read().on

    @property
    def pinned(self) -> str | None:
        """The style that the user set for every answer; None if clio chooses."""
        return self._file.read().pinned or None

    def turn_on(self) -> None:
        """Turn styles on, from the next turn."""
        self._file.change(lambda state: structs.replace(state, on=True))

    def turn_off(self) -> None:
        """Turn styles off; what was learned stays."""
        self.current = None
        self._file.change(lambda state: structs.replace(state, on=False))

    def use(self, id: str | None) -> StyleSkill | None:
        """Use one style for every answer; None: let clio choose."""
        skill = self.find(id) if id else None
        self._file.change(lambda state: structs.replace(state, pinned=skill.id if skill else "", on=True))
        return skill

    def skills(self) -> "SkillSet":
        """Return all styles, and the problems of invalid style files."""
        return self._folders.read()

    def find(self, id: str) -> StyleSkill:
        """Return the style with that id or name. Raises UserError if there is none."""
        name = id.strip().lower()
        known = self.skills().skills
        for skill in known:
            if name in (skill.id, skill.name.lower()):
                return skill
        hint = did_you_mean(name, [skill.id for skill in known])
        raise UserError(f"there is no style {id!r}{hint or '; `/style list` shows all'}")

    def warm_up(self) -> None:
        """Load what the first choice needs; called in a background thread, because compiling the rules takes 0.1 s."""
        with suppress(StorageError, OSError):  # the first turn reports the error
            if self.is_on:
                from clio.memory.styles.selection import infer_situation

                infer_situation("fix it", 0.0)
                self.skills()

    def choose(self, text: str) -> Chosen | None:
        """Return the style for a turn with this message; None if styles are off or none fits."""
        state = self._file.read() if self._persist else StyleState()
        self.current, self._choice = None, None
        if not state.on:
            return None
        from clio.memory.styles.selection import Choice, choose_style, compute_topic_similarity, infer_situation

        now = self._clock()
        situation = infer_situation(text, now)
        skills = self.skills()
        # If the pinned style no longer exists, clio chooses one.
        if state.pinned and (skill := skills.get(state.pinned)):
            self._choice = Choice(situation=situation, chosen=skill.id, pinned=True, at=now)
            self.current = Chosen(skill=skill, bucket=situation.bucket, pinned=True)
            return self.current
        topic = partial(compute_topic_similarity, text=situation.text, embedder=self._embedder)
        choice = self._choice = choose_style(situation, skills.skills, state, self._rng, now, topic)
        skill = skills.get(choice.chosen) if choice.chosen else None
        if skill is not None:
            self.current = Chosen(skill=skill, bucket=situation.bucket, explored=choice.explored)
        return self.current

    def fragment(self, text: str) -> Fragment | None:
        """Choose the style of a turn, return its prompt text, and store the account of the choice for `why`."""
        chosen = self.choose(text)
        self._save_account()
        if chosen is None:
            return None
        how = "set by the user" if chosen.pinned else "tried out" if chosen.explored else "chosen"
        is_projects = self.is_projects(chosen.skill)
        whose = ", the project's style, which the user may not have written" if is_projects else ""
        return Fragment(
            name="style",
            text=f"For the wording of this answer{whose}: {chosen.skill.text}",
            source=chosen.skill.source,
            reason=f"{how} for {chosen.bucket}{', a style of the project' if is_projects else ''}",
            cap_tokens=CAP_TOKENS,
        )

    def is_projects(self, skill: StyleSkill) -> bool:
        """Whether a style belongs to the project, so that its repository may have supplied it."""
        return Path(skill.source).parent == self._style_folders[1]

    def why(self) -> "Choice | None":
        """Return the account of the last choice of this process, otherwise of the last one in the project."""
        if self._choice is not None or not self._persist:
            return self._choice
        from clio.memory.styles.selection import Choice

        try:
            return decode_json(read_regular(self._account_path), type=Choice)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return None

    def count_use(self, id: str) -> None:
        """Count one more answer with this style."""
        now = self._clock()
        self._file.change(lambda state: state.used(id, now))

    def learn(self, bucket: str, id: str, reward: int, weight: float = 1.0) -> Learned | None:
        """Learn from the reward of an answer. Returns None for a neutral reward or a style that no longer exists.

        Args:
            reward: −1, 0 or 1.
            weight: 1.0 from the user, less from a signal.
        """
        skill = self.skills().get(id)
        if skill is None or reward == 0:
            return None
        now = self._clock()
        before = self._file.read().earned(bucket, id, now)
        state = self._file.change(lambda state: state.after(bucket, id, skill.dimensions, reward, weight, now))
        return Learned(style=id, bucket=bucket, before=before, after=state.earned(bucket, id, now))

    def nudge(self, bucket: str, wanted: Mapping[str, float]) -> None:
        """Move the user's taste in a context towards values, 0.0 to 1.0, of some of `skill.DIMENSIONS`."""
        if wanted:
            self._file.change(lambda state: state.nudged(bucket, wanted))

    def unlearn(self, bucket: str, id: str, reward: int, weight: float = 1.0) -> None:
        """Undo the effect of a reward."""
        skill = self.skills().get(id)
        if skill is not None and reward != 0:
            self._file.change(lambda state: state.before(bucket, id, skill.dimensions, reward, weight))

    def views(self) -> list[StyleView]:
        """Return all styles with what was learned about them."""
        state, now = self._file.read(), self._clock()
        return [
            StyleView(
                skill=skill,
                earned={
                    place: arms[skill.id].faded(now)
                    for place, arms in state.contexts.items()
                    if skill.id in arms and place == intent_of(place)
                },
                use=state.uses.get(skill.id, Use()),
            )
            for skill in self.skills().skills
        ]

    def state(self) -> StyleState:
        """Return everything learned."""
        return self._file.read()

    def vector(self, bucket: str) -> tuple[float, ...]:
        """Return the user's taste in a context, one number for each of `skill.DIMENSIONS`."""
        return self._file.read().vector(bucket)

    def reset(self, id: str | None = None) -> None:
        """Forget what was learned about a style; None: about all of them."""
        style = self.find(id).id if id else None
        self._file.change(lambda state: state.without(style))

    def delete(self, id: str) -> Path:
        """Delete the file of a style and what was learned about it. Raises UserError for a built-in style."""
        skill = self.find(id)
        if skill.built_in:
            raise UserError(
                f"the style {skill.id!r} is built in; `/style reset {skill.id}` deletes what was learned about it"
            )
        path = Path(skill.source)
        path.unlink(missing_ok=True)
        self._file.change(lambda state: state.without(skill.id))
        return path

    def export(self) -> StylesExport:
        """Return everything learned and the styles that are not built in, for export."""
        return StylesExport(
            state=self._file.read(), skills=tuple(skill for skill in self.skills().skills if not skill.built_in)
        )

    @cached_property
    def _folders(self) -> "SkillFolders":
        from clio.memory.styles.selection import SkillFolders

        return SkillFolders(*self._style_folders)

    def _save_account(self) -> None:
        if self._choice is None or not self._persist:
            return
        with suppress(OSError):  # only `/style why` needs it
            make_ignored_folder(self._account_path.parent, self._account_path.parent.parent)
            write_atomic(self._account_path, msgspec.json.encode(self._choice), durable=False)
