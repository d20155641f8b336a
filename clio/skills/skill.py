"""One skill: a folder with instructions in `SKILL.md`, and scripts and texts beside it. See agentskills.io."""

from pathlib import Path

from msgspec import Struct

from clio.skills.front_matter import FrontMatter, Unreadable, words_of
from clio.text.hidden_text import unhidden
from clio.text.lazy_regex import LazyRegex

FILE_NAME = "SKILL.md"
MAX_BYTES = 200_000
MAX_NAME = 64
MAX_DESCRIPTION = 1_024
_MAX_COMPATIBILITY = 500
_NAME = LazyRegex(r"[a-z0-9]+(-[a-z0-9]+)*")
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
    if len(name) <= MAX_NAME and _NAME.fullmatch(name):
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
    if len(description) > MAX_DESCRIPTION:
        problems.append(f"its description has {len(description):,} characters and is cut to {MAX_DESCRIPTION:,}")
    compatibility = line_of(values.get("compatibility", ""))
    if len(compatibility) > _MAX_COMPATIBILITY:
        problems.append(f"its compatibility has more than {_MAX_COMPATIBILITY} characters")
    return Skill(
        name=name,
        description=description[:MAX_DESCRIPTION],
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
    return " ".join(_CONTROL.sub(" ", unhidden(text)).split())
