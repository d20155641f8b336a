"""Session stores whose sessions count as written by this user's clio."""

from pathlib import Path

from clio.sessions.store import OwnSessions, SessionStore


def own_store(project: Path, clio_home: Path) -> SessionStore:
    """Return a store whose new sessions count as the user's own with this clio home."""
    return SessionStore(project / ".clio" / "sessions", own=OwnSessions(project.resolve(), clio_home))
