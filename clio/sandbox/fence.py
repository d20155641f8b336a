"""What a command may touch, as one value: the same for every way of holding it to that."""

import sys
from pathlib import Path
from typing import Literal

from msgspec import Struct

Level = Literal["bwrap", "landlock", "seatbelt", "off"]
"""What really holds a command."""


class Fence(Struct, frozen=True, kw_only=True):
    """Everything may be read; nothing is written but below `write`. Paths are absolute, exist, and have no links.

    root: the workspace, the first of `write`. sealed: files and folders below these that are not written all the same.
    watched: paths that cannot be sealed because they need not exist; looked at before and after a command.
    hidden: folders with the doors of other programs, shown empty where that can be done.
    tmp: a folder of this run that commands see as /tmp, where that can be done. shown: folders of the machine's /tmp
    that are read there all the same. network: it is reached.
    """

    root: Path
    write: tuple[Path, ...]
    sealed: tuple[Path, ...] = ()
    watched: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    tmp: Path
    shown: tuple[Path, ...] = ()
    network: bool = False


class Enclosed(Struct, frozen=True, kw_only=True):
    """A program and its arguments, inside a fence. keeper: its first process only waits for the command's own.

    script: a Python file of clio's own, where `argv` are the arguments of its `main`. given: bytes that the program
    reads from the descriptor whose number replaces the first `GIVEN` in `argv`. tmp: a folder to be removed after the
    command. env: further variables.
    """

    argv: tuple[str, ...]
    keeper: bool = False
    script: str = ""
    given: bytes = b""
    tmp: Path | None = None
    env: tuple[tuple[str, str], ...] = ()

    @property
    def command(self) -> tuple[str, ...]:
        """The argument list to start it by, for one that does not load `script` itself."""
        return (sys.executable, "-I", "-S", "-B", self.script, *self.argv) if self.script else self.argv


GIVEN = "@given"


def between(upper: Path, lower: Path) -> tuple[Path, ...]:
    """The folders strictly between two paths, the upper first."""
    return tuple(folder for folder in reversed(lower.parents) if upper in folder.parents)
