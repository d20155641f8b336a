"""Skills and sub-agents that the project's and the user's Markdown files define, and which may be used."""

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from clio.config.loaded import TrustRequest
from clio.config.paths import display_path, user_home
from clio.config.trust import TrustStore
from clio.errors import UserError
from clio.messages import Fragment
from clio.prompt_files import load_prompt
from clio.skills.definition_files import (
    FrontMatter,
    Place,
    Unreadable,
    places_of,
    read_text,
    split_front_matter,
    words_of,
)
from clio.text.formatting import format_count, truncate
from clio.text.hidden_text import reveal_hidden_text
from clio.text.lazy_regex import LazyRegex

FILE_NAME = "SKILL.md"
MAX_SKILL_BYTES = 200_000
MAX_NAME = 64
MAX_SKILL_DESCRIPTION = 1_024
_MAX_COMPATIBILITY = 500
_SKILL_NAME = LazyRegex(r"[a-z0-9]+(-[a-z0-9]+)*")
_CONTROL = LazyRegex(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]+")


class Skill(Struct, frozen=True, kw_only=True):
    """A skill as its properties describe it; what it says is read when it is used.

    folder: where it is, links resolved. shown: its `SKILL.md` as a person would write the path.
    own: the person's and not the project's. tools: the tools its author had in mind; they allow nothing.
    problems: sentences on what is not as the format wants it, though it is used.
    """

    name: str
    description: str
    folder: Path
    shown: str
    own: bool
    license: str = ""
    compatibility: str = ""
    metadata: dict[str, str] = {}
    tools: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def name_problem(name: str) -> str:
    """Why this cannot be the name of a skill, as the end of a sentence; "" where it can."""
    if len(name) <= MAX_NAME and _SKILL_NAME.fullmatch(name):
        return ""
    return f"a name has up to {MAX_NAME} small letters, digits and single dashes between them"


def make_skill(front: FrontMatter, *, folder_name: str, folder: Path, shown: str, own: bool) -> Skill:
    """The skill these properties describe. Raises Unreadable for one without a usable name or a description.

    folder_name: the name of its folder as it is found; `folder` may be where a link leads.
    """
    values = front.values
    given = line_of(values.get("name", ""))
    name = folder_name if name_problem(given) else given
    description = line_of(values.get("description", ""))
    if name_problem(name):
        raise Unreadable(f"{(given or name)[:MAX_NAME]!r} is no name of a skill: {name_problem(name)}")
    if not description:
        raise Unreadable("it has no description, which says when the skill is to be used")
    problems = [front.problem] if front.problem else []
    if not given:
        problems.append(f"it has no name, and is called {name!r} like its folder")
    elif given != name:
        problems.append(f"{given[:MAX_NAME]!r} is no name of a skill, and it is called {name!r} like its folder")
    elif name != folder_name:
        problems.append(f"its name {name!r} is not that of its folder, {folder_name[:MAX_NAME]!r}")
    if len(description) > MAX_SKILL_DESCRIPTION:
        problems.append(f"its description has {len(description):,} characters and is cut to {MAX_SKILL_DESCRIPTION:,}")
    compatibility = line_of(values.get("compatibility", ""))
    if len(compatibility) > _MAX_COMPATIBILITY:
        problems.append(f"its compatibility has more than {_MAX_COMPATIBILITY} characters")
    return Skill(
        name=name,
        description=description[:MAX_SKILL_DESCRIPTION],
        folder=folder,
        shown=shown,
        own=own,
        license=line_of(values.get("license", "")),
        compatibility=compatibility[:_MAX_COMPATIBILITY],
        metadata={key[9:]: line_of(value) for key, value in values.items() if key.startswith("metadata.")},
        tools=words_of(line_of(values.get("allowed-tools", ""))),
        problems=tuple(f"{shown}: {problem}" if not problem.startswith(shown) else problem for problem in problems),
    )


def line_of(text: str) -> str:
    """The text on one line, without control characters and marks that turn the reading direction round.

    Letters nobody sees are spelled out: who trusts a description reads what the model reads.
    """
    return " ".join(_CONTROL.sub(" ", reveal_hidden_text(text)).split())


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
            shown = display_path(folder / FILE_NAME, project=project, user_home=person)
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
    return split_front_matter(
        read_text(skill.folder / FILE_NAME, inside=root, max_bytes=MAX_SKILL_BYTES), skill.shown
    ).body


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
    front = split_front_matter(read_text(file, inside=root, max_bytes=MAX_SKILL_BYTES), shown)
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
        self._trust = TrustStore(home)
        self._told = ""

    def find(self) -> SkillSet:
        """Every skill, whether it may be used or not."""
        return find_skills(self._places, project=self._project, person=self._person)

    def usable(self, found: SkillSet) -> tuple[Skill, ...]:
        """The person's own, and those of the project's that the folder is trusted with; by name."""
        known = self._trust.fingerprints(self._project) if any(not skill.own for skill in found.skills) else ()
        skills = (skill for skill in found.skills if skill.own or describe_skill_trust(skill).fingerprint in known)
        return tuple(sorted(skills, key=lambda skill: skill.name))

    def readable(self, skills: Iterable[Skill]) -> list[Path]:
        """The folders outside the project that may be read for these skills; none that holds more than a skill."""
        kept = (self._home, self._person.resolve(), self._root)
        folders = [skill.folder for skill in skills if skill.own]
        return [folder for folder in folders if not any(place.is_relative_to(folder) for place in kept)]

    def withheld(self, found: SkillSet) -> tuple[TrustRequest, ...]:
        """What the folder must be trusted with before the rest may be used."""
        usable = self.usable(found)
        return tuple(describe_skill_trust(skill) for skill in found.skills if skill not in usable)

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
            self._trust.add(self._project, describe_skill_trust(skill))

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


def describe_skill_trust(skill: Skill) -> TrustRequest:
    """The skill as it is shown before trust is asked for: what of it stands in the prompt, and where it is from."""
    mark = hashlib.sha256(json.dumps([skill.shown, skill.name, skill.description]).encode("ascii")).hexdigest()
    return TrustRequest(
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
    reason = f"{format_count(len(skills), 'skill')} the model may load"
    return Fragment(name="skills", text=text, source=", ".join(places), reason=reason, cap_tokens=cap)


def _listed(head: str, skills: Iterable[Skill], chars: int | None) -> str:
    return "\n".join([head, *(_row(skill, chars) for skill in skills)])


def _row(skill: Skill, chars: int | None) -> str:
    words = skill.description if chars is None else truncate(skill.description, chars)
    return f"- {skill.name}: {words}" if words else f"- {skill.name}"


def _names(head: str, skills: Sequence[Skill], cap: int, tokens: Callable[[str], int]) -> str:
    """As many names as fit, and how many there are beside them."""
    for count in range(len(skills), 0, -max(len(skills) // 20, 1)):
        text = f"{_listed(head, skills[:count], 0)}\n[and {len(skills) - count} more]"
        if tokens(text) <= cap:
            return text
    return head


MAX_SUBAGENT_BYTES = 64_000
MAX_SUBAGENT_DESCRIPTION = 500
MAX_STEPS = 50
"""Of a sub-agent that names no number of its own, and the most it may name."""
_OTHER = ".claude/agents"
_SUBAGENT_NAME = LazyRegex(r"[a-z0-9]+(?:[-_][a-z0-9]+)*")
_TOOLS = {
    "read": "read_file",
    "notebookread": "read_file",
    "grep": "search_text",
    "glob": "find_files",
    "ls": "list_files",
    "bash": "run_command",
    "edit": "edit_file",
    "multiedit": "edit_file",
    "write": "write_file",
    "webfetch": "web_fetch",
    "todowrite": "todo_operations",
}
"""What other agents call clio's tools."""


class Definition(Struct, frozen=True, kw_only=True):
    """One sub-agent. text: what it is told besides its task. tools: the only ones it may have; None for all.

    model: "" for that of the session. shown: the file as a person would write its path. own: the person's.
    problem: what of its properties was not understood.
    """

    name: str
    description: str
    text: str
    shown: str
    own: bool
    tools: tuple[str, ...] | None = None
    model: str = ""
    max_steps: int = MAX_STEPS
    problem: str = ""


class DefinitionFolders:
    """Reads the folders anew at every question: they are few. home: clio's own folder."""

    def __init__(self, project: Path, home: Path, env: Mapping[str, str]) -> None:
        self._project = project
        self._person = user_home(env)
        self._places = places_of((".clio/agents", _OTHER), project=project, home=home, person=self._person)
        self._trust = TrustStore(home)

    def find(self) -> tuple[tuple[Definition, ...], tuple[str, ...]]:
        """Every definition, trusted or not, by name; and sentences on files that are none."""
        found: dict[str, Definition] = {}
        problems: list[str] = []
        for place in self._places:
            for path in _files(place.folder):
                shown = display_path(path, project=self._project, user_home=self._person)
                try:
                    text = read_text(path, inside=place.root, max_bytes=MAX_SUBAGENT_BYTES)
                    one = read_definition(text, stem=path.stem, shown=shown, own=place.root is None)
                except Unreadable as error:
                    problems.append(f"{shown} is not used: {error}")
                    continue
                problems += [one.problem] if one.problem else []
                found.setdefault(one.name, one)
        return tuple(found[name] for name in sorted(found)), tuple(problems)

    def usable(self) -> tuple[Definition, ...]:
        """The person's own, and those of the project's that the folder is trusted with; by name."""
        definitions, _ = self.find()
        known = self._trust.fingerprints(self._project) if any(not one.own for one in definitions) else ()
        return tuple(one for one in definitions if one.own or describe_subagent_trust(one).fingerprint in known)

    def withheld(self) -> tuple[TrustRequest, ...]:
        """What the folder must be trusted with before the rest may be used."""
        usable = self.usable()
        return tuple(describe_subagent_trust(one) for one in self.find()[0] if one not in usable)


def describe_subagent_trust(one: Definition) -> TrustRequest:
    """A definition as it is shown before trust is asked for; any change of its words asks again."""
    content = [one.shown, one.name, one.description, one.text, one.tools, one.model, one.max_steps]
    mark = hashlib.sha256(json.dumps(content).encode("ascii")).hexdigest()
    return TrustRequest(key=f"agent {one.name}", value=one.description, where=one.shown, fingerprint=f"agent:{mark}")


def _files(folder: Path) -> Iterator[Path]:
    try:
        names = sorted(entry.name for entry in os.scandir(folder) if entry.name.endswith(".md"))
    except OSError:
        return  # no such folder, or none that may be read: it defines nothing
    yield from (folder / name for name in names[:MAX_FILES] if not name.startswith("."))


def read_definition(text: str, *, stem: str, shown: str, own: bool) -> Definition:
    """The sub-agent a file's text defines. stem: its name where the text gives none. Raises Unreadable."""
    front = split_front_matter(text, shown)
    values = front.values
    name = line_of(values.get("name", "") or stem).lower()
    if not _SUBAGENT_NAME.fullmatch(name) or len(name) > 64:
        raise Unreadable(f"{name[:64]!r} is no name: up to 64 small letters, digits, and dashes between them")
    description = line_of(values.get("description", ""))
    if not description:
        raise Unreadable("it has no description, which says when the sub-agent is to be used")
    if not front.body:
        raise Unreadable("it says nothing below its properties, which is what the sub-agent would be told")
    return Definition(
        name=name,
        description=description[:MAX_SUBAGENT_DESCRIPTION],
        text=front.body,
        shown=shown,
        own=own,
        tools=_tools(words_of(line_of(values["tools"]))) if values.get("tools", "").strip() else None,
        model="" if _OTHER in shown else line_of(values.get("model", "")),
        max_steps=_steps(values),
        problem=front.problem,
    )


def _steps(values: Mapping[str, str]) -> int:
    given = next((values[key] for key in ("max_steps", "max-steps", "maxTurns") if key in values), "").strip()
    if not given:
        return MAX_STEPS
    if not given.isascii() or not given.isdecimal() or not 1 <= int(given) <= MAX_STEPS:
        raise Unreadable(f"max_steps must be a number from 1 to {MAX_STEPS}, not {given[:40]!r}")
    return int(given)


def _tools(given: Sequence[str]) -> tuple[str, ...]:
    names = (_TOOLS.get(name.lower(), name) for name in (entry.partition("(")[0] for entry in given))
    return tuple(dict.fromkeys(names))
