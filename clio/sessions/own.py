"""Which sessions this user's clio wrote, and which came with the project."""

from contextlib import suppress
from pathlib import Path

from clio.config.own_memory import earlier_sessions, make_key, record_sessions, recorded_sessions, tracked_sessions
from clio.errors import ClioError


class OwnSessions:
    """The ids of one project's sessions that this user's clio began or imported. Nothing is read before it is asked.

    project: the folder that has `.clio`. home: clio's own folder, where the ids are recorded.
    """

    def __init__(self, project: Path, home: Path) -> None:
        self._project = project
        self._home = home
        self._added: set[str] = set()
        self._earlier: frozenset[str] | None = None
        self._tracked: frozenset[str] = frozenset()

    def add(self, session_id: str) -> None:
        """Record a session that is written now. Where the home cannot be written it counts for this run only."""
        if session_id not in self._added:
            self._added.add(session_id)
            self.fix_former()
            with suppress(OSError):
                record_sessions(self._home, (session_id,))

    def fix_former(self) -> None:
        """Make the key before this run is in the record of costs, by which former projects are known."""
        with suppress(OSError, ClioError):
            make_key(self._home)

    def among(self, ids: set[str]) -> set[str]:
        """Those of the ids that are the user's own."""
        if not ids:
            return set()
        if self._earlier is None:
            self._earlier = earlier_sessions(self._project, self._home)
            self._tracked = tracked_sessions(self._project)
        own = recorded_sessions(self._home) | self._earlier | self._added
        return {id for id in ids if id in own and id.lower() not in self._tracked}
