"""Store limits that clio could not ask the user about, such as in `clio -p`; it asks at the next interactive start.

They are in `~/.clio/memories.pending.json`, not in the project, so that a cloned project cannot make clio ask.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from clio.memory.preferences.stated_preferences import StatedPreference
from clio.storage.documents import DocumentFormat, update_document

FILE = "memories.pending.json"
MOST = 50
"""Maximum number of pending limits of all projects; the oldest are dropped first."""


class PendingLimit(Struct, frozen=True, kw_only=True):
    """One limit to ask about. project, session: directory and session it was stated in; at: when, in epoch seconds."""

    project: str
    noticed: StatedPreference
    session: str = ""
    at: float = 0.0


class _Pending(Struct, frozen=True, kw_only=True):
    limits: tuple[PendingLimit, ...] = ()


_FORMAT = DocumentFormat(schema="clio.pending_limits", version=1, type=_Pending)


class PendingLimits:
    """The limits that wait for confirmation. All methods may raise StorageError and OSError."""

    def __init__(self, home: Path, project: Path, clock: Callable[[], float] = time.time) -> None:
        self._path = home / FILE
        self._project = str(project)
        self._clock = clock

    @property
    def is_empty(self) -> bool:
        """Whether the file does not exist, and so no limit is pending. Reads nothing."""
        return not self._path.exists()

    def add(self, noticed: Sequence[StatedPreference], session: str) -> None:
        """Add limits to ask about. A pending limit of this project with the same content is replaced."""
        now = self._clock()
        new = [PendingLimit(project=self._project, noticed=one, session=session, at=now) for one in noticed]

        def change(pending: _Pending) -> _Pending:
            said = {one.noticed.content for one in new}
            kept = [one for one in pending.limits if one.project != self._project or one.noticed.content not in said]
            return _Pending(limits=tuple([*kept, *new][-MOST:]))

        self._update(change)

    def take(self) -> tuple[PendingLimit, ...]:
        """Remove and return the limits of this project, and all that are not limited to a project."""
        if self.is_empty:
            return ()
        taken: list[PendingLimit] = []

        def change(pending: _Pending) -> _Pending:
            taken[:] = [one for one in pending.limits if self._concerns(one)]
            return _Pending(limits=tuple(one for one in pending.limits if not self._concerns(one)))

        self._update(change)
        return tuple(taken)

    def _concerns(self, one: PendingLimit) -> bool:
        return one.project == self._project or not one.noticed.in_project

    def _update(self, change: Callable[[_Pending], _Pending]) -> None:
        update_document(self._path, _FORMAT, change)
