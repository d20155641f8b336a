"""The styles there are: the built-in ones, the person's own, and the project's."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from msgspec import Struct

from clio.errors import UserError
from clio.memory.styles.skill import StyleSkill, parse_skill
from clio.prompt_files import load_prompt, prompt_names
from clio.storage.files import open_regular

MAX_FILES = 100
MAX_BYTES = 16_384


class SkillSet(Struct, frozen=True, kw_only=True):
    """Styles by id, built-in ones first. Of one id the user's own counts, else the built-in one, else the project's.

    problems: one sentence for each file that holds no style.
    """

    skills: tuple[StyleSkill, ...]
    problems: tuple[str, ...] = ()

    def get(self, id: str) -> StyleSkill | None:
        """The style of that id."""
        return next((skill for skill in self.skills if skill.id == id), None)


class SkillFolders:
    """Reads the user's styles and the project's; read again only where a file changed.

    A repository can bring the project's: one that takes the id or the name of another style is left out.
    """

    def __init__(self, own: Path, project: Path) -> None:
        self._own, self._project = own, project
        self._stamp: tuple[tuple[str, int, int], ...] | None = None
        self._found = SkillSet(skills=())

    def read(self) -> SkillSet:
        """All styles."""
        files = [*_files(self._own), *(() if self._project == self._own else _files(self._project))]
        stamp = tuple((str(path), size, changed) for path, size, changed in files)
        if stamp != self._stamp:
            self._found = _read((path for path, _, _ in files), self._own)
            self._stamp = stamp
        return self._found


@cache
def built_in() -> tuple[StyleSkill, ...]:
    """The styles clio comes with."""
    names = prompt_names("styles")
    return tuple(parse_skill(load_prompt(name), f"prompts/{name}.md", built_in=True) for name in names)


def _files(folder: Path) -> Iterable[tuple[Path, int, int]]:
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix == ".md")[:MAX_FILES]
    except OSError:
        return  # no such folder, or none that may be read: it has no styles
    for path in paths:
        try:
            status = path.stat()
        except OSError:
            continue
        yield path, status.st_size, status.st_mtime_ns


def _read(paths: Iterable[Path], own: Path) -> SkillSet:
    found = {skill.id: skill for skill in built_in()}
    problems: list[str] = []
    for path in paths:
        try:
            with open_regular(path) as file:
                data = file.read(MAX_BYTES + 1)
            if len(data) > MAX_BYTES:
                raise UserError(f"{str(path)!r}: a style has up to {MAX_BYTES:,} bytes; shorten it")
            skill = parse_skill(data.decode("utf-8", "replace"), str(path))
            if path.parent != own and (taken := _find_same(found.values(), skill)) is not None:
                raise UserError(
                    f"{str(path)!r}: the project's style {skill.id!r} is left out, since there is a style {taken.id!r} "
                    "already; give it another id and name, or copy it to ~/.clio/styles"
                )
            found[skill.id] = skill
        except (UserError, OSError) as error:
            problems.append(str(error))
    return SkillSet(skills=tuple(found.values()), problems=tuple(problems))


def _find_same(known: Iterable[StyleSkill], skill: StyleSkill) -> StyleSkill | None:
    """The style that has the id or the name of another, since styles are found by either."""
    taken = {skill.id.casefold(), skill.name.casefold()}
    return next((one for one in known if taken & {one.id.casefold(), one.name.casefold()}), None)
