"""Where custom commands are found: Markdown files of the project and of the person. Of one name the first counts."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from clio.algorithms.late_pattern import LatePattern
from clio.config.paths import display, user_home
from clio.skills.front_matter import FrontMatter, Unreadable, read_text, split_front_matter, words_of
from clio.skills.places import places_of
from clio.skills.skill import line_of

MAX_BYTES = 64_000
MAX_FILES = 300
"""In one place."""
_MAX_DEPTH = 4
_MAX_SUMMARY = 120
_NAME = LatePattern(r"[A-Za-z][\w-]*(:[\w.-]+)*")
_OTHER = ".claude/commands"
_READERS = (
    "read grep glob ls notebookread todowrite read_file search_text find_files list_files todo_operations".split()
)
_TOOLS: dict[str, tuple[str, ...]] = dict.fromkeys(_READERS, ()) | {
    "bash": ("run_command",),
    "edit": ("edit_file", "apply_patch"),
    "multiedit": ("edit_file", "apply_patch"),
    "write": ("write_file", "apply_patch"),
    "webfetch": ("web_fetch",),
}
"""What other agents call clio's tools that change or reach something; those that only read are never taken away."""


class CustomFile(Struct, frozen=True, kw_only=True):
    """One of them. name: "folder:name". shown: the path as a person would write it. own: the person's.

    model: "" where the file names none, or is written for another agent, whose names for models mean nothing here.
    tools: see `Meaning.tools`. problem: what of its properties was not understood.
    """

    name: str
    shown: str
    own: bool
    template: str
    description: str = ""
    hint: str = ""
    model: str = ""
    tools: tuple[str, ...] | None = None
    problem: str = ""


class CustomFolders:
    """Reads the folders; a file is read again only where it has changed. home: clio's own folder."""

    def __init__(self, project: Path, home: Path, env: Mapping[str, str]) -> None:
        self._project = project
        self._person = user_home(env)
        self._places = places_of((".clio/commands", _OTHER), project=project, home=home, person=self._person)
        self._known: dict[Path, tuple[tuple[int, int], CustomFile | str]] = {}

    def read(self) -> tuple[tuple[CustomFile, ...], tuple[str, ...]]:
        """The commands there are, and sentences on files that are none."""
        found: dict[str, CustomFile] = {}
        problems: list[str] = []
        known: dict[Path, tuple[tuple[int, int], CustomFile | str]] = {}
        for place in self._places:
            for path, name, stamp in _files(place.folder):
                before = self._known.get(path)
                one = before[1] if before and before[0] == stamp else self._read(path, name, place.root)
                known[path] = (stamp, one)
                if isinstance(one, str):
                    problems.append(one)
                else:
                    found.setdefault(one.name.lower(), one)
        self._known = known
        return tuple(found.values()), tuple(problems)

    def _read(self, path: Path, name: str, root: Path | None) -> CustomFile | str:
        shown = display(path, project=self._project, user_home=self._person)
        try:
            if not _NAME.fullmatch(name):
                raise Unreadable(f"{name!r} cannot be typed; use letters, digits and dashes, a letter first")
            front = split_front_matter(read_text(path, inside=root, max_bytes=MAX_BYTES), shown)
        except Unreadable as error:
            return f"{shown} is not used: {error}"
        return _custom(front, name=name, shown=shown, own=root is None)


def _custom(front: FrontMatter, *, name: str, shown: str, own: bool) -> CustomFile:
    values = front.values
    first = next((line.lstrip("# ") for line in front.body.split("\n") if line.strip()), "")
    return CustomFile(
        name=name,
        shown=shown,
        own=own,
        template=front.body,
        description=line_of(values.get("description", "") or first)[:_MAX_SUMMARY] or "an empty command",
        hint=line_of(values.get("argument-hint", ""))[:_MAX_SUMMARY],
        model="" if _OTHER in shown else line_of(values.get("model", "")),
        tools=_tools(words_of(line_of(values["allowed-tools"]))) if "allowed-tools" in values else None,
        problem=front.problem,
    )


def _tools(given: Sequence[str]) -> tuple[str, ...]:
    """clio's names for the tools: "Bash(git add:*)" is `run_command(git add *)`."""
    found: list[str] = []
    for entry in given:
        name, bracket, rule = entry.partition("(")
        for tool in _TOOLS.get(name.lower(), (name.replace("mcp__", "mcp_").replace("__", "_"),)):
            found.append(f"{tool}({rule.removesuffix(')').replace(':*', ' *')})" if bracket else tool)
    return tuple(dict.fromkeys(found))


def _files(folder: Path) -> Iterator[tuple[Path, str, tuple[int, int]]]:
    """The Markdown files below a folder with the names of their commands and what shows that they changed."""
    count = 0
    for path, name in _walk(folder, "", _MAX_DEPTH, set()):
        try:
            status = path.stat()
        except OSError:
            continue
        count += 1
        if count > MAX_FILES:
            return
        yield path, name, (status.st_mtime_ns, status.st_size)


def _walk(folder: Path, above: str, depth: int, seen: set[tuple[int, int]]) -> Iterator[tuple[Path, str]]:
    """seen: the folders that were looked into, since a link may lead back to one."""
    try:
        status = folder.stat()
        if (status.st_dev, status.st_ino) in seen:
            return
        seen.add((status.st_dev, status.st_ino))
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return  # no such folder, or none that may be read: it holds no commands
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_dir() and depth:
            yield from _walk(Path(entry.path), f"{above}{entry.name}:", depth - 1, seen)
        elif entry.name.endswith(".md") and entry.name != "README.md":
            yield Path(entry.path), above + entry.name.removesuffix(".md")
