"""`clio gc`: what its words mean, and how it is written. `entrypoints/gc.py` carries it out."""

from msgspec import Struct

from clio.algorithms.late_pattern import LatePattern
from clio.commands.arguments import read
from clio.commands.command import Command, Shell
from clio.commands.result import CommandResult, refuse
from clio.errors import UsageError

_DAY_S = 86_400.0
_AGE = LatePattern(r"(\d{1,5})\s*(d|days?|w|weeks?|m|months?|y|years?)?")
_UNITS = {"d": 1, "w": 7, "m": 30, "y": 365}


class Wanted(Struct, frozen=True, kw_only=True):
    """What may go. yes: without asking. sessions_s: sessions older than so many seconds, too; None for none."""

    yes: bool = False
    caches: bool = False
    sessions_s: float | None = None


def wanted_of(text: str) -> Wanted:
    """What the words behind `clio gc` ask for. Raises UsageError."""
    given = read(text, switches=("--yes", "--caches"), valued=("--sessions-older-than",))
    if given.words:
        raise UsageError(f"clio gc takes options alone, not {given.words[0]!r}; clio gc --help lists them")
    age = given.options.get("--sessions-older-than")
    return Wanted(
        yes="--yes" in given.options,
        caches="--caches" in given.options,
        sessions_s=None if age is None else _seconds(age),
    )


def _seconds(age: str) -> float:
    found = _AGE.fullmatch(age.strip().lower())
    if found is None or not int(found[1]):
        raise UsageError(f"--sessions-older-than takes an age such as 90d, 6m or 1y, not {age!r}")
    return int(found[1]) * _UNITS[(found[2] or "d")[0]] * _DAY_S


def _at_the_door(shell: Shell, argument: str) -> CommandResult:
    return refuse("Disk space is freed from the command line: leave with /quit, then write clio gc")


GC = Command(
    name="gc",
    argument="[--yes] [--caches] [--sessions-older-than AGE]",
    summary="what takes how much in .clio and ~/.clio; --yes frees what may go",
    handler=_at_the_door,
)
