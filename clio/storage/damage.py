"""Keeps a copy of a file of lines before what is damaged in it is cut off or written over."""

import time
from pathlib import Path

from clio.storage.atomic import write_atomic
from clio.storage.reading import read_regular

_notes: list[str] = []
"""Sentences about copies that were made and that the user has not been told of."""


def is_torn_line(rest: bytes) -> bool:
    """Whether a last line without a line end is what a killed writer leaves: the beginning of one JSON object."""
    return rest.startswith(b"{") and b"\0" not in rest


def copy_damaged(path: Path, data: bytes) -> Path | None:
    """Keep `data`, the content of `path`, as `<name>.corrupt-<time>`; None where that cannot be done.

    The time is that of the file's last change, so that one damage is copied once, however often it is read.
    """
    try:
        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(path.stat().st_mtime))
        for number in range(100):
            target = path.with_name(f"{path.name}.corrupt-{stamp}" + (f"-{number}" if number else ""))
            try:
                if read_regular(target) == data:
                    return target
            except FileNotFoundError:
                write_atomic(target, data)
                return target
    except (OSError, OverflowError, ValueError):
        return None
    return None


def find_copy(path: Path, data: bytes) -> Path | None:
    """The copy that `copy_damaged` made of this content before, if any."""
    for target in path.parent.glob(f"{path.name}.corrupt-*"):
        try:
            if read_regular(target) == data:
                return target
        except OSError:
            continue
    return None


def note_damage(path: Path, copy: Path) -> None:
    """Have the user told, once, that a damaged file was copied."""
    sentence = f"{str(path)!r} was damaged; a copy was set aside as {copy.name!r}, and its sound lines are still used"
    if sentence not in _notes:
        _notes.append(sentence)


def take_damage_notes() -> list[str]:
    """What was noted since this was last called."""
    taken = _notes[:]
    _notes.clear()
    return taken
