"""Whether a command line plainly writes a file that decides what clio does; a script can still do it unseen."""

import os
import posixpath
from collections.abc import Callable, Iterator, Sequence
from glob import iglob
from itertools import islice
from pathlib import Path

from clio.security import risk_tables as tables
from clio.security.command_risk import assess
from clio.security.shell.words import CommandLine, SimpleCommand, Word

_COPY = frozenset({"cp", "install", "rsync"})
_MAX_MATCHES = 500


def settings_written(line: CommandLine, start: str, why_not: Callable[[Path], str]) -> str:
    """What a line writes and why that counts, as the end of a sentence; "" where none of it is seen to.

    start: the folder it runs in. why_not: why a place may not be written, as the end of a sentence. Reads the file
    system for links.
    """
    for redirect in line.redirects:
        if redirect.writes and (why := _why([redirect.target], redirect.folders, start, why_not)):
            return why
    for command in line.commands:
        changes = command.program in tables.FILES and assess(command).level != "low"
        if changes and (why := _why(_written(command), command.folders, start, why_not)):
            return why
    return ""


def _written(command: SimpleCommand) -> Sequence[Word]:
    """The words that may name what it writes: of a copy the last, where no option says otherwise."""
    words = command.words[1:]
    named = any(word.text.startswith(("-t", "--target-directory")) for word in words)
    return words[-1:] if command.program in _COPY and not named else words


def _why(words: Sequence[Word], folders: tuple[str, ...] | None, start: str, why_not: Callable[[Path], str]) -> str:
    for word in words:
        for folder in folders or ():
            for text in _paths_in(word.text):
                path = posixpath.join(start, _expanded(folder), _expanded(text))
                for place in _places(path, glob=word.glob):
                    if why := why_not(place):
                        return f"{text!r}, which {why}"
    return ""


def _expanded(text: str) -> str:
    """A path with `~` filled in, and with variables that clio has too, such as `$HOME`."""
    return os.path.expanduser(os.path.expandvars(text))  # noqa: PTH111


def _paths_in(text: str) -> Iterator[str]:
    """The parts of a word that may name a file: itself, what follows `=`, or a one-letter option."""
    yield text[2:] if text.startswith("-") and not text.startswith("--") else text
    if "=" in text:
        yield text.partition("=")[2]


def _places(path: str, *, glob: bool) -> Iterator[Path]:
    if "\0" in path:
        return
    yield Path(posixpath.normpath(path))
    yield Path(os.path.realpath(path))
    if glob:
        yield from (Path(os.path.realpath(match)) for match in islice(iglob(path, include_hidden=True), _MAX_MATCHES))  # noqa: PTH207
