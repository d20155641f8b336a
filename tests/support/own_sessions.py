"""The sessions of a project as this user's clio would have written them."""

from pathlib import Path

from clio.sessions.store import OwnSessions, SessionStore


def own_store(project: Path, clio_home: Path) -> SessionStore:
    """A store whose new sessions count as the user's own with this home."""
    return SessionStore(project / ".clio" / "sessions", own=OwnSessions(project.resolve(), clio_home))
