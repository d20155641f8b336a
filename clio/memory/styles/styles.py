"""The response styles of a user: choose the style of an answer, learn from ratings, and manage what was learned."""

import random
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from clio.config.command_line import did_you_mean
from clio.errors import StorageError, UserError
from clio.memory.styles.style_state import Earned, StyleFile, StyleSkill, StyleState, Use, intent_of
from clio.messages import Fragment
from clio.storage.documents import load_cached, save_cached
from clio.text.embedding import Embedder
from clio.text.translation import tr

if TYPE_CHECKING:
    from clio.memory.styles.selection import Choice, SkillFolders, SkillSet

CAP_TOKENS = 300
"""Limit of a style's text in the prompt; a style has up to 1,200 characters."""


class ChosenStyle(Struct, frozen=True, kw_only=True):
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


class LearnedReward(Struct, frozen=True, kw_only=True):
    """The effect of one reward: the rewards of a style in its context before and after."""

    style: str
    bucket: str
    before: Earned
    after: Earned


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
        self.current: ChosenStyle | None = None

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
        raise UserError(tr("there is no style {id!r}{hint}", id=id, hint=hint or tr("; `/style list` shows all")))

    def warm_up(self) -> None:
        """Load what the first choice needs; called in a background thread, because compiling the rules takes 0.1 s."""
        with suppress(StorageError, OSError):  # the first turn reports the error
            if self.is_on:
                from clio.memory.styles.selection import infer_situation

                infer_situation("fix it", 0.0)
                self.skills()

    def choose(self, text: str) -> ChosenStyle | None:
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
            self.current = ChosenStyle(skill=skill, bucket=situation.bucket, pinned=True)
            return self.current
        topic = partial(compute_topic_similarity, text=situation.text, embedder=self._embedder)
        choice = self._choice = choose_style(situation, skills.skills, state, self._rng, now, topic)
        skill = skills.get(choice.chosen) if choice.chosen else None
        if skill is not None:
            self.current = ChosenStyle(skill=skill, bucket=situation.bucket, explored=choice.explored)
        return self.current

    def fragment(self, text: str) -> Fragment | None:
        """Choose the style of a turn, return its prompt text, and store the account of the choice for `why`."""
        chosen = self.choose(text)
        if self._choice is not None and self._persist:
            with suppress(OSError):  # only `/style why` needs it
                save_cached(self._account_path, self._choice)
        if chosen is None:
            return None
        how = "set by the user" if chosen.pinned else "tried out" if chosen.explored else "chosen"
        is_from_project = self.is_from_project(chosen.skill)
        whose = ", the project's style, which the user may not have written" if is_from_project else ""
        return Fragment(
            name="style",
            text=f"For the wording of this answer{whose}: {chosen.skill.text}",
            source=chosen.skill.source,
            reason=f"{how} for {chosen.bucket}{', a style of the project' if is_from_project else ''}",
            cap_tokens=CAP_TOKENS,
        )

    def is_from_project(self, skill: StyleSkill) -> bool:
        """Whether a style belongs to the project, so that its repository may have supplied it."""
        return Path(skill.source).parent == self._style_folders[1]

    def why(self) -> "Choice | None":
        """Return the account of the last choice of this process, otherwise of the last one in the project."""
        if self._choice is not None or not self._persist:
            return self._choice
        from clio.memory.styles.selection import Choice

        return load_cached(self._account_path, Choice)

    def count_use(self, id: str) -> None:
        """Count one more answer with this style."""
        now = self._clock()
        self._file.change(lambda state: state.used(id, now))

    def learn(self, bucket: str, id: str, reward: int, weight: float = 1.0) -> LearnedReward | None:
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
        return LearnedReward(style=id, bucket=bucket, before=before, after=state.earned(bucket, id, now))

    def adjust_taste(self, bucket: str, wanted: Mapping[str, float]) -> None:
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

    def reset(self, id: str | None = None) -> None:
        """Forget what was learned about a style; None: about all of them."""
        style = self.find(id).id if id else None
        self._file.change(lambda state: state.without(style))

    def delete(self, id: str) -> Path:
        """Delete the file of a style and what was learned about it. Raises UserError for a built-in style."""
        skill = self.find(id)
        if skill.built_in:
            raise UserError(
                tr("the style {id!r} is built in; `/style reset {id}` deletes what was learned about it", id=skill.id)
            )
        path = Path(skill.source)
        path.unlink(missing_ok=True)
        self._file.change(lambda state: state.without(skill.id))
        return path

    @cached_property
    def _folders(self) -> "SkillFolders":
        from clio.memory.styles.selection import SkillFolders

        return SkillFolders(*self._style_folders)
