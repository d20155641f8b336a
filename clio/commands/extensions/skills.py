"""/skills: folders with instructions for certain kinds of work, which the model loads when they fit."""

from collections.abc import Iterable
from pathlib import Path

from clio.commands.arguments import read
from clio.commands.called import MakePrompt, Meaning
from clio.commands.command import Command, Shell, Suggestion
from clio.commands.dispatch import split
from clio.commands.markdown_code import code
from clio.commands.matching import nearest
from clio.commands.result import CommandResult, EditText, refuse
from clio.commands.tables import Table
from clio.config.paths import FOLDER_NAME
from clio.errors import ClioError, UserError
from clio.prompt_files import fill_prompt
from clio.skills.folders import SkillSet, files_beside
from clio.skills.front_matter import Unreadable, split_front_matter
from clio.skills.skill import FILE_NAME, MAX_BYTES, Skill, make_skill, name_problem
from clio.storage.files import make_folder, write_atomic

_OWN = "--user"
_SHOWN_PROBLEMS = 5


def show_list(shell: Shell, argument: str) -> CommandResult:
    """Every skill, where it is, and whether it may be used."""
    if argument:
        return refuse(f"/skills list takes nothing; /skills show {argument} shows one skill")
    found = shell.skills.find()
    usable = shell.skills.usable(found)
    data = [_data(skill, skill in usable) for skill in found.skills]
    told = [f"- {problem}" for problem in found.problems[:_SHOWN_PROBLEMS]]
    if more := len(found.problems) - len(told):
        told.append(f"- and {more} more") if more > 0 else None
    if not found.skills:
        return CommandResult(text="\n".join(["No skills; `/skills new NAME` begins one.", "", *told]), data=data)
    rows = tuple(
        (skill.name, "" if skill in usable else "waits for /trust", skill.shown, skill.description)
        for skill in found.skills
    )
    table = Table(columns=("skill", "", "where", "when it is used"), rows=rows, wide=3, cut=True)
    return CommandResult(text="\n".join(told), table=table, data=data)


def use(shell: Shell, argument: str) -> CommandResult:
    """Put a skill before the words that follow its name, and let the model answer them."""
    name, _ = split(argument)
    if not name:
        return refuse("Which skill? Write /skills use NAME WORDS; /skills list shows those there are")
    found = shell.skills.find()
    skill = _named(found, name)
    if skill not in shell.skills.usable(found):
        return refuse(
            f"The skill {code(skill.name)} is the project's, and this folder is not trusted with it: `/trust`"
        )
    opened = shell.skills.open(skill)

    async def make() -> Meaning:
        return Meaning(text=opened.text, source=skill.shown, lead="context/skill")

    return CommandResult(follow_up=MakePrompt(said=f"/skills use {argument}", make=make))


def show(shell: Shell, argument: str) -> CommandResult:
    """One skill: its properties, the files beside it, what it says."""
    name = read(argument).text.strip()
    if not name:
        return refuse("Which skill? Write /skills show NAME; /skills list shows those there are")
    found = shell.skills.find()
    skill = _named(found, name)
    is_usable = skill in shell.skills.usable(found)
    body = shell.skills.open(skill).body
    files = files_beside(skill)
    rows = [
        ("skill", skill.name),
        ("when it is used", skill.description),
        ("where", skill.shown + ("" if is_usable else " (waits for /trust)")),
        ("files", ", ".join(files)),
        ("tools", f"{', '.join(skill.tools)} (each still asks as always)" if skill.tools else ""),
        ("needs", skill.compatibility),
        ("license", skill.license),
        *skill.metadata.items(),
        *(("problem", problem) for problem in skill.problems),
    ]
    table = Table(columns=("what", "value"), rows=tuple(row for row in rows if row[1]), wide=1)
    data = _data(skill, is_usable) | {"files": list(files), "body": body}
    return CommandResult(table=table, verbatim=body, data=data)


def new(shell: Shell, argument: str) -> CommandResult:
    """Begin a skill from a template, in the editor."""
    given = read(argument, switches=(_OWN,))
    if len(given.words) != 1:
        return refuse("Write /skills new NAME, or /skills new NAME --user for one that goes with you to every project")
    name = given.words[0]
    if problem := name_problem(name):
        return refuse(f"{name!r} is no name of a skill: {problem}")
    own = _OWN in given.options
    folder = (shell.loaded.home if own else shell.loaded.owner / FOLDER_NAME) / "skills" / name
    if shell.config.incognito:
        return refuse("An incognito clio stores nothing; start without --incognito.")
    if (folder / FILE_NAME).exists():
        return refuse(f"There is a skill {name!r} already; open {folder / FILE_NAME} to change it")

    def store(text: str) -> CommandResult:
        return _store(shell, name, folder, text)

    return CommandResult(follow_up=EditText(text=fill_prompt("context/new_skill", skill=name), then=store))


def _store(shell: Shell, name: str, folder: Path, text: str) -> CommandResult:
    """Write what the person saved, where it is a skill, and let it be used: who wrote it trusts it."""
    data = text.encode("utf-8", "replace")
    if len(data) > MAX_BYTES:
        return refuse(f"A skill has up to {MAX_BYTES:,} bytes, and this has {len(data):,}; put the rest into files")
    try:
        make_skill(split_front_matter(text, FILE_NAME), folder_name=name, folder=folder, shown=FILE_NAME, own=True)
    except Unreadable as error:
        return refuse(f"The skill was not written: {error}")
    make_folder(folder)
    write_atomic(folder / FILE_NAME, data, 0o644)
    skill = next((one for one in shell.skills.find().skills if one.folder == folder.resolve()), None)
    if skill is None:
        return refuse(f"{folder / FILE_NAME} is written, and another skill of that name comes before it: /skills list")
    shell.skills.trust(skill)
    return CommandResult(
        text=f"Wrote {code(skill.shown)}. The model knows it from the next session on; `/skills use {skill.name}` now.",
        data=_data(skill, usable=True),
    )


def _named(found: SkillSet, name: str) -> Skill:
    skill = found.get(name)
    if skill is None:
        names = [skill.name for skill in found.skills]
        hint = nearest(name.lower(), names) if names else "there are none; /skills new NAME begins one"
        raise UserError(f"There is no skill {name!r}; {hint}")
    return skill


def _data(skill: Skill, usable: bool) -> dict[str, object]:
    return {
        "name": skill.name,
        "description": skill.description,
        "path": skill.shown,
        "own": skill.own,
        "usable": usable,
        "problems": list(skill.problems),
    }


def _suggest(shell: Shell) -> Iterable[Suggestion]:
    try:
        return [Suggestion(text=skill.name, note=skill.description[:60]) for skill in shell.skills.find().skills]
    except (ClioError, OSError):
        return ()


SKILLS = (
    Command(
        name="skills",
        summary="instructions for kinds of work, which the model loads when they fit",
        handler=show_list,
        subcommands=(
            Command(name="list", summary="every skill and where it is", handler=show_list),
            Command(
                name="use", argument="NAME [WORDS]", summary="put it before these words", handler=use, suggest=_suggest
            ),
            Command(name="show", argument="NAME", summary="what it says", handler=show, suggest=_suggest),
            Command(
                name="new",
                argument="NAME [--user]",
                summary="begin one here, or one for every project",
                handler=new,
            ),
        ),
    ),
)
