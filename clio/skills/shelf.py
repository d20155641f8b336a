"""The skills of one project and one person, and which of them may be used."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from clio.config.loaded import Widening
from clio.config.paths import user_home
from clio.config.trust import Trust
from clio.errors import UserError
from clio.fragments import Fragment
from clio.prompt_files import load_prompt
from clio.skills.folders import SkillSet, files_beside, find_skills, read_body, skill_places
from clio.skills.front_matter import Unreadable
from clio.skills.skill import Skill, line_of

CAP_TOKENS = 1_500
"""Of the list of skills in the prompt."""
_SHORT_CHARS = (400, 200, 100, 50, 0)
"""How much of each description is left where all of it does not fit, tried in this order."""


class Opened(Struct, frozen=True, kw_only=True):
    """A skill that is used. body: its instructions. text: what the model reads: where it is, its files, the body."""

    skill: Skill
    body: str
    text: str


class SkillShelf:
    """Reads the folders anew at every question: they are few, and a skill is edited while clio runs.

    home: clio's own folder.
    """

    def __init__(self, project: Path, home: Path, env: Mapping[str, str]) -> None:
        self._project = project
        self._root = project.resolve()
        self._home = home.resolve()
        self._person = user_home(env)
        self._places = skill_places(project, home, self._person)
        self._trust = Trust(home)
        self._told = ""

    def find(self) -> SkillSet:
        """Every skill, whether it may be used or not."""
        return find_skills(self._places, project=self._project, person=self._person)

    def usable(self, found: SkillSet) -> tuple[Skill, ...]:
        """The person's own, and those of the project's that the folder is trusted with; by name."""
        known = self._trust.fingerprints(self._project) if any(not skill.own for skill in found.skills) else ()
        skills = (skill for skill in found.skills if skill.own or as_widening(skill).fingerprint in known)
        return tuple(sorted(skills, key=lambda skill: skill.name))

    def readable(self, skills: Iterable[Skill]) -> list[Path]:
        """The folders outside the project that may be read for these skills; none that holds more than a skill."""
        kept = (self._home, self._person.resolve(), self._root)
        folders = [skill.folder for skill in skills if skill.own]
        return [folder for folder in folders if not any(place.is_relative_to(folder) for place in kept)]

    def withheld(self, found: SkillSet) -> tuple[Widening, ...]:
        """What the folder must be trusted with before the rest may be used."""
        usable = self.usable(found)
        return tuple(as_widening(skill) for skill in found.skills if skill not in usable)

    def take_news(self, found: SkillSet) -> str:
        """A sentence on skills that wait for trust, where it was not said before; else ""."""
        withheld = self.withheld(found)
        names = ", ".join(value.key.removeprefix("skill ") for value in withheld)
        told, self._told = self._told, names
        if not names or names == told or not self._trust.note_skills_once(self._project, withheld):
            return ""
        return f"skills of this project are not used until you trust it with them: {names}; look with /trust"

    def trust(self, skill: Skill) -> None:
        """Use it from now on. Raises ConfigError where that cannot be stored."""
        if not skill.own:
            self._trust.add(self._project, as_widening(skill))

    def open(self, skill: Skill) -> Opened:
        """The skill's instructions and what lies beside them. Raises UserError where they cannot be read."""
        try:
            body = read_body(skill, root=None if skill.own else self._root)
        except Unreadable as error:
            raise UserError(f"the skill {skill.name!r} cannot be used: {error}; look at {skill.shown}") from None
        folder = skill.folder.relative_to(self._root) if skill.folder.is_relative_to(self._root) else skill.folder
        lines = [f"Skill {skill.name}, in {folder.as_posix()}; paths in it begin there."]
        if files := ", ".join(map(line_of, files_beside(skill))):
            lines.append(f"Beside it: {files}. Read what it names with read_file, run scripts as commands.")
        if skill.tools:
            lines.append(f"It was written for the tools {', '.join(skill.tools)}; each still asks as always.")
        if skill.compatibility:
            lines.append(f"It needs: {skill.compatibility}")
        return Opened(skill=skill, body=body, text="\n".join([*lines, "", body or "(it says nothing more)"]))


def as_widening(skill: Skill) -> Widening:
    """The skill as it is shown before trust is asked for: what of it stands in the prompt, and where it is from."""
    mark = hashlib.sha256(json.dumps([skill.shown, skill.name, skill.description]).encode("ascii")).hexdigest()
    return Widening(
        key=f"skill {skill.name}",
        value=skill.description,
        where=skill.shown,
        fingerprint=f"skill:{mark}",
    )


def skills_fragment(skills: Sequence[Skill], cap_tokens: int, tokens: Callable[[str], int]) -> Fragment | None:
    """The list of skills for the prompt: names with their descriptions, shorter ones where the cap asks for it.

    tokens: an estimate of a text's. None without skills.
    """
    if not skills:
        return None
    cap = min(CAP_TOKENS, cap_tokens)
    head = load_prompt("context/skills")
    texts = (_listed(head, skills, chars) for chars in (None, *_SHORT_CHARS))
    text = next((text for text in texts if tokens(text) <= cap), None) or _names(head, skills, cap, tokens)
    places = dict.fromkeys(skill.shown.rsplit("/", 2)[0] for skill in skills)
    reason = f"{len(skills)} skill{'s' * (len(skills) != 1)} the model may load"
    return Fragment(name="skills", text=text, source=", ".join(places), reason=reason, cap_tokens=cap)


def _listed(head: str, skills: Iterable[Skill], chars: int | None) -> str:
    return "\n".join([head, *(_row(skill, chars) for skill in skills)])


def _row(skill: Skill, chars: int | None) -> str:
    words = skill.description if chars is None else _cut(skill.description, chars)
    return f"- {skill.name}: {words}" if words else f"- {skill.name}"


def _cut(text: str, chars: int) -> str:
    return text if len(text) <= chars else f"{text[: chars - 1]}…" if chars else ""


def _names(head: str, skills: Sequence[Skill], cap: int, tokens: Callable[[str], int]) -> str:
    """As many names as fit, and how many there are beside them."""
    for count in range(len(skills), 0, -max(len(skills) // 20, 1)):
        text = f"{_listed(head, skills[:count], 0)}\n[and {len(skills) - count} more]"
        if tokens(text) <= cap:
            return text
    return head
