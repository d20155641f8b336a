"""Which skills there are: the project's folders first, then the person's; of one name the first counts."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from clio.config.paths import display
from clio.skills.front_matter import Unreadable, read_text, split_front_matter
from clio.skills.places import Place, places_of
from clio.skills.skill import FILE_NAME, MAX_BYTES, Skill, make_skill

PLACES = (".clio/skills", ".claude/skills", ".agents/skills")
MAX_SKILLS = 200
"""Folders looked at in one place."""
MAX_FILES = 100
"""Files beside a SKILL.md that are named."""
_MAX_DEPTH = 4


class SkillSet(Struct, frozen=True, kw_only=True):
    """Skills in the order they were found. problems: sentences on what is not used, or not as it should be."""

    skills: tuple[Skill, ...] = ()
    problems: tuple[str, ...] = ()

    def get(self, name: str) -> Skill | None:
        """The skill of that name."""
        return next((skill for skill in self.skills if skill.name == name.lower()), None)


def skill_places(project: Path, home: Path, person: Path) -> tuple[Place, ...]:
    """Where skills are looked for. home: clio's own folder. person: the user's home folder."""
    return places_of(PLACES, project=project, home=home, person=person)


def find_skills(places: Sequence[Place], *, project: Path, person: Path) -> SkillSet:
    """Reads the properties of every skill; no more than their files' heads are kept."""
    found: dict[str, Skill] = {}
    problems: list[str] = []
    for place in places:
        for folder in _folders(place.folder):
            shown = display(folder / FILE_NAME, project=project, user_home=person)
            try:
                skill = _read(folder, shown, place.root)
            except Unreadable as error:
                problems.append(f"{shown} is not used: {error}")
                continue
            if skill is None:
                continue
            problems.extend(skill.problems)
            if (first := found.setdefault(skill.name, skill)) is not skill:
                problems.append(f"{shown} is not used: {skill.name!r} is also in {first.shown}, which comes first")
    return SkillSet(skills=tuple(found.values()), problems=tuple(problems))


def read_body(skill: Skill, *, root: Path | None) -> str:
    """The skill's instructions. root: as of its place. Raises Unreadable."""
    return split_front_matter(read_text(skill.folder / FILE_NAME, inside=root, max_bytes=MAX_BYTES), skill.shown).body


def files_beside(skill: Skill) -> tuple[str, ...]:
    """Files of the skill's folder but its SKILL.md, sorted, with forward slashes; no links and nothing hidden."""
    return tuple(sorted(_walk(skill.folder, "", _MAX_DEPTH))[:MAX_FILES])


def _folders(place: Path) -> Iterator[Path]:
    try:
        names = sorted(entry.name for entry in os.scandir(place) if not entry.name.startswith("."))
    except OSError:
        return  # no such folder, or none that may be read: it has no skills
    yield from (place / name for name in names[:MAX_SKILLS])


def _read(folder: Path, shown: str, root: Path | None) -> Skill | None:
    """None for a folder that holds no skill at all."""
    file = folder / FILE_NAME
    if not os.path.lexists(file):
        return None
    front = split_front_matter(read_text(file, inside=root, max_bytes=MAX_BYTES), shown)
    return make_skill(front, folder_name=folder.name, folder=folder.resolve(), shown=shown, own=root is None)


def _walk(folder: Path, above: str, depth: int) -> Iterator[str]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries[: 4 * MAX_FILES]:
        if entry.name.startswith(".") or entry.is_symlink() or entry.name == "__pycache__":
            continue
        if entry.is_dir() and depth:
            yield from _walk(Path(entry.path), f"{above}{entry.name}/", depth - 1)
        elif entry.is_file() and above + entry.name != FILE_NAME:
            yield above + entry.name
