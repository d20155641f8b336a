"""Read the project's memory (`ltm.json`). Every turn does this, so nothing that only writing needs is imported."""

from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from clio.config.project_links import SHARED_NAME, has_shared_memory
from clio.memory.store.ltm_codec import ExampleFiles, LtmDocument, read_ltm
from clio.memory.store.record import PROJECT_KINDS, Freshness, Knowledge, MemoryRecord

if TYPE_CHECKING:
    from clio.memory.team.knowledge import TeamKnowledge

_MOST_TRIES = 5
"""Limit for reading again because another process wrote meanwhile; the last result is used then."""


class LtmReader:
    """Reads the project's memory. Nothing is cached between calls, so results are never out of date.

    Args:
        project: the folder to which the paths of example files are relative.
        home: clio's own folder, which records whether the user trusts shared memory; None to ignore shared memory.

    Methods raise CorruptDocument after setting the file aside, NewerDocument, OSError.
    """

    def __init__(self, path: Path, *, project: Path, clock: Callable[[], float], home: Path | None = None) -> None:
        self._path = path
        self._project = project
        self._clock = clock
        self._home = home
        self._examples = ExampleFiles(project)

    def read(self) -> Knowledge:
        """Return all memories. Invalid ones are skipped and stay in the file."""
        return self._document().knowledge()

    def freshness(self, entries: Iterable[MemoryRecord]) -> dict[str, Freshness]:
        """Return whether each memory still agrees with its example files, by id. Reads only files that have changed."""
        listed = list(entries)
        states = self._examples.freshness(entry.hashes for entry in listed)
        return dict(zip((entry.id for entry in listed), states, strict=True))

    def _document(self) -> LtmDocument:
        return read_ltm_and_shared(self._path, lambda: self._team)

    @cached_property
    def _team(self) -> "TeamKnowledge":
        """The memory that team members share; most projects share nothing and never import it."""
        from clio.memory.team.knowledge import TeamKnowledge

        return TeamKnowledge(self._path, self._project, self._home, self._clock)


def read_ltm_and_shared(path: Path, team: Callable[[], "TeamKnowledge | None"]) -> LtmDocument:
    """Return the memories in `path` and in the shared folder beside it, as of one moment.

    Readers hold no lock. Another process may move memories between the two while they are read; then both are read
    again. Raises what `read_ltm` raises, and OSError.

    Args:
        team: returns the shared memory; called only if the shared folder exists.
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
    """Return a value that differs after any change: every writer replaces a file in one of these folders."""
    places = [path, shared]
    if shared.is_dir():
        places += [shared / kind for kind in PROJECT_KINDS]
    return [_stamp(place) for place in places]


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        info = path.stat()
    except OSError:
        return None
    return info.st_ino, info.st_mtime_ns, info.st_size
