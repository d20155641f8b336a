"""The findings of `clio doctor`, the input of each check, and the time limit of all checks."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeVar

from msgspec import Struct

from clio.config.loaded import LoadedConfig
from clio.config.options import Options
from clio.config.paths import display_path
from clio.errors import ClioError
from clio.threads import BackgroundCall


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
        return f"{self.about}: {self.text}" + (f"; {self.todo}" if self.todo else "")


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

    def shown(self, path: Path) -> str:
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


T = TypeVar("T")
LIMIT_S = 5.0
"""Time limit for all checks together; they start at the same time."""
HANGS = "a disk or network folder may hang"


class NamedCheck(Struct, frozen=True, kw_only=True):
    """A check and its subject. hint: the likely reason if it does not end."""

    about: str
    check: Check
    hint: str = HANGS


def run_checks(checks: Sequence[NamedCheck], ground: DoctorContext, limit_s: float) -> Iterator[Finding]:
    """Run all checks at once; yield their findings in order as they arrive. limit_s: for all of them together."""
    begun = time.monotonic()
    looks = [(named, BackgroundCall(lambda check=named.check: list(check(ground)), named.about)) for named in checks]
    for named, look in looks:
        try:
            yield from look.wait(max(begun + limit_s - time.monotonic(), 0.0))
        except TimeoutError:
            yield make_problem(named.about, f"no answer within {limit_s:g} seconds", named.hint)
        except (ClioError, OSError) as error:
            yield make_problem(named.about, str(error), "look there; the other lines do not depend on it")
