"""What `clio doctor` finds, and what its checks are given."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

from clio.config.loaded import LoadedConfig
from clio.config.options import Options
from clio.config.paths import display_path
from clio.text.translation import tr


class Finding(Struct, frozen=True, kw_only=True):
    """One line of the report.

    Attributes:
        mark: "ok", "note" for a possible improvement, "fix" for what must be repaired.
        about: the subject in a word or two, such as "git".
        text: what was found.
        todo: what to do; "" for nothing.
    """

    mark: Literal["ok", "note", "fix"]
    about: str
    text: str
    todo: str = ""

    @property
    def line(self) -> str:
        """The finding as it is printed, without its mark."""
        return f"{tr(self.about)}: {self.text}" + (f"; {self.todo}" if self.todo else "")


class DoctorContext(Struct, frozen=True, kw_only=True):
    """The input of every check. home: clio's own directory. user_home: the user's home directory."""

    options: Options
    env: Mapping[str, str]
    loaded: LoadedConfig
    home: Path
    user_home: Path

    @property
    def project(self) -> Path:
        """The project's folder."""
        return self.loaded.project

    @property
    def owner(self) -> Path:
        """The folder whose `.clio` is used: in a worktree made by clio, the main checkout."""
        return self.loaded.main_project

    def display(self, path: Path) -> str:
        """The path relative to the project, or with `~`, where possible."""
        return display_path(path, project=self.owner, user_home=self.user_home)


Check = Callable[[DoctorContext], Iterable[Finding]]
"""Checks one thing and changes nothing; it is abandoned at the time limit."""


def make_ok(about: str, text: str) -> Finding:
    """Return a finding that requires no action."""
    return Finding(mark="ok", about=about, text=text)


def make_note(about: str, text: str, todo: str = "") -> Finding:
    """Return a finding about something that works but could be improved."""
    return Finding(mark="note", about=about, text=text, todo=todo)


def make_problem(about: str, text: str, todo: str) -> Finding:
    """Return a finding about something that does not work until the user acts."""
    return Finding(mark="fix", about=about, text=text, todo=todo)


MAX_NAMED = 3
"""Items that a finding names; more are counted."""
