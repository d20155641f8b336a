"""What the doctor says about one thing, and what every check is handed."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

from clio.config.command_line import Options
from clio.config.loaded import Loaded
from clio.config.paths import display


class Finding(Struct, frozen=True, kw_only=True):
    """One line. mark: "ok", "note" for what could be better, "fix" for what must be done.

    about: a word or two, such as "git". todo: what to do; empty where nothing is to be done.
    """

    mark: Literal["ok", "note", "fix"]
    about: str
    text: str
    todo: str = ""

    @property
    def line(self) -> str:
        """The finding as it is printed, without its mark."""
        return f"{self.about}: {self.text}" + (f"; {self.todo}" if self.todo else "")


class Ground(Struct, frozen=True, kw_only=True):
    """What clio was started with. home: clio's own folder. person: the user's home folder."""

    options: Options
    env: Mapping[str, str]
    loaded: Loaded
    home: Path
    person: Path

    @property
    def project(self) -> Path:
        """The project's folder."""
        return self.loaded.project

    @property
    def owner(self) -> Path:
        """The folder whose `.clio` counts: in a worktree of clio's that of the main checkout."""
        return self.loaded.owner

    def shown(self, path: Path) -> str:
        """The path as a person would write it."""
        return display(path, project=self.owner, user_home=self.person)


Check = Callable[[Ground], Iterable[Finding]]
"""Looks at one thing, changes nothing, and may take its time: it is given up when that is over."""


def several(count: int, noun: str) -> str:
    """The number with its noun: "1 skill", "2 skills"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def ok(about: str, text: str) -> Finding:
    """Nothing to do."""
    return Finding(mark="ok", about=about, text=text)


def note(about: str, text: str, todo: str = "") -> Finding:
    """It works, and could be better."""
    return Finding(mark="note", about=about, text=text, todo=todo)


def fix(about: str, text: str, todo: str) -> Finding:
    """Something does not work until a person does something."""
    return Finding(mark="fix", about=about, text=text, todo=todo)
