"""Project knowledge for code that only reads it, as every turn does; without what only a change needs."""

from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from clio.config.project_links import SHARED_NAME, has_shared_memory
from clio.memory.store.example_files import ExampleFiles
from clio.memory.store.ltm_codec import LtmDocument, read_ltm
from clio.memory.store.record import KINDS, Freshness, Knowledge, MemoryRecord

if TYPE_CHECKING:
    from clio.memory.team.knowledge import TeamKnowledge

_MOST_TRIES = 5
"""Beside clios that write without a pause it is what the last one found."""


class LtmReading:
    """The half of `LongTermMemory` that looks. Nothing is kept between calls, so nothing stale is ever told.

    project: the folder the examples' paths are relative to.
    home: where it is kept whether the person trusts what others share; None: what is shared is left alone.
    Methods raise CorruptDocument after setting the file aside, NewerDocument, OSError.
    """

    def __init__(self, path: Path, *, project: Path, clock: Callable[[], float], home: Path | None = None) -> None:
        self._path = path
        self._project = project
        self._clock = clock
        self._home = home
        self._examples = ExampleFiles(project)

    def read(self) -> Knowledge:
        """Everything that is known; entries that are not what they should be are passed over, and stay in the file."""
        return self._document().knowledge()

    def freshness(self, entries: Iterable[MemoryRecord]) -> dict[str, Freshness]:
        """How each entry stands to its example files, by id. Reads those that changed since they were last read."""
        listed = list(entries)
        states = self._examples.freshness(entry.hashes for entry in listed)
        return dict(zip((entry.id for entry in listed), states, strict=True))

    def _document(self) -> LtmDocument:
        return read_whole(self._path, lambda: self._team)

    @cached_property
    def _team(self) -> "TeamKnowledge":
        """What is shared; most projects share nothing, and never load it."""
        from clio.memory.team.knowledge import TeamKnowledge

        return TeamKnowledge(self._path, self._project, self._home, self._clock)


def read_whole(path: Path, team: Callable[[], "TeamKnowledge | None"]) -> LtmDocument:
    """What lies in `path` and what is shared beside it, as they stood at one moment. Raises as `read_ltm`, and OSError.

    Who reads holds no lock. Another clio may move all from one to the other meanwhile, or say one thing anew in another
    file: then it is read once more. team: what is shared; asked for only where there is a folder for it.
    """
    shared = path.with_name(SHARED_NAME)
    tries = 0
    while True:
        tries += 1
        before = _stamps(path, shared)
        document = read_ltm(path)
        if has_shared_memory(shared) and (found := team()) is not None and found.in_use:
            found.put_into(document)
        if tries == _MOST_TRIES or _stamps(path, shared) == before:
            return document


def _stamps(path: Path, shared: Path) -> list[tuple[int, int, int] | None]:
    """What is another after any change: each is made by a new name in one of these folders, or for the file."""
    places = [path, shared]
    if shared.is_dir():
        places += [shared / kind for kind in KINDS]
    return [_stamp(place) for place in places]


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        info = path.stat()
    except OSError:
        return None
    return info.st_ino, info.st_mtime_ns, info.st_size
