"""The project knowledge for whoever only reads it, as every turn does."""

from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from clio.config.team_folder import SHARED_NAME, is_shared
from clio.memory.examples import ExampleFiles
from clio.memory.ltm.file import LtmDocument, read_ltm
from clio.memory.records import Entry, Freshness, Knowledge

if TYPE_CHECKING:
    from clio.memory.team.knowledge import TeamKnowledge


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

    def freshness(self, entries: Iterable[Entry]) -> dict[str, Freshness]:
        """How each entry stands to its example files, by id. Reads those that changed since they were last read."""
        listed = list(entries)
        states = self._examples.freshness(entry.bound for entry in listed)
        return dict(zip((entry.id for entry in listed), states, strict=True))

    def _document(self) -> LtmDocument:
        document = read_ltm(self._path)
        if is_shared(self._path.with_name(SHARED_NAME)) and self._team.in_use:
            self._team.put_into(document)
        return document

    @cached_property
    def _team(self) -> "TeamKnowledge":
        """What is shared; most projects share nothing, and never load it."""
        from clio.memory.team.knowledge import TeamKnowledge

        return TeamKnowledge(self._path, self._project, self._home, self._clock)
