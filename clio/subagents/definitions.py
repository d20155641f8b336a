"""Which sub-agents there are: Markdown files of the project and of the person; of one name the first counts.

A file's properties say when it is to be used and with what; its words are what the sub-agent is told. Tools it names
are a limit and never a grant. A project's are used only once the folder is trusted with them.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from clio.config.loaded import Widening
from clio.config.paths import display, user_home
from clio.config.trust import Trust
from clio.skills.front_matter import Unreadable, read_text, split_front_matter, words_of
from clio.skills.places import places_of
from clio.skills.skill import line_of
from clio.text.lazy_regex import LazyRegex

MAX_BYTES = 64_000
MAX_FILES = 100
"""In one folder."""
MAX_DESCRIPTION = 500
MAX_STEPS = 50
"""Of a sub-agent that names no number of its own, and the most it may name."""
_OTHER = ".claude/agents"
_NAME = LazyRegex(r"[a-z0-9]+(?:[-_][a-z0-9]+)*")
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
        self._trust = Trust(home)

    def find(self) -> tuple[tuple[Definition, ...], tuple[str, ...]]:
        """Every definition, trusted or not, by name; and sentences on files that are none."""
        found: dict[str, Definition] = {}
        problems: list[str] = []
        for place in self._places:
            for path in _files(place.folder):
                shown = display(path, project=self._project, user_home=self._person)
                try:
                    text = read_text(path, inside=place.root, max_bytes=MAX_BYTES)
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
        return tuple(one for one in definitions if one.own or as_widening(one).fingerprint in known)

    def withheld(self) -> tuple[Widening, ...]:
        """What the folder must be trusted with before the rest may be used."""
        usable = self.usable()
        return tuple(as_widening(one) for one in self.find()[0] if one not in usable)


def as_widening(one: Definition) -> Widening:
    """A definition as it is shown before trust is asked for; any change of its words asks again."""
    content = [one.shown, one.name, one.description, one.text, one.tools, one.model, one.max_steps]
    mark = hashlib.sha256(json.dumps(content).encode("ascii")).hexdigest()
    return Widening(key=f"agent {one.name}", value=one.description, where=one.shown, fingerprint=f"agent:{mark}")


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
    if not _NAME.fullmatch(name) or len(name) > 64:
        raise Unreadable(f"{name[:64]!r} is no name: up to 64 small letters, digits, and dashes between them")
    description = line_of(values.get("description", ""))
    if not description:
        raise Unreadable("it has no description, which says when the sub-agent is to be used")
    if not front.body:
        raise Unreadable("it says nothing below its properties, which is what the sub-agent would be told")
    return Definition(
        name=name,
        description=description[:MAX_DESCRIPTION],
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
