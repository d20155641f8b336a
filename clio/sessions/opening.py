"""The sessions of the project a configuration is for."""

from pathlib import Path

from clio.config.loaded import Loaded
from clio.sessions.own import OwnSessions
from clio.sessions.store import SessionStore


def sessions_folder(loaded: Loaded) -> Path:
    """Where they lie; a place that does not exist where `.clio` may not be used, so that none is read or listed."""
    return (loaded.home / "closed" if loaded.is_closed else loaded.owner / ".clio") / "sessions"


def open_store(loaded: Loaded) -> SessionStore:
    """Its sessions; a worktree shares those of the checkout it was made from."""
    own = OwnSessions(loaded.owner, loaded.home)
    return SessionStore(sessions_folder(loaded), here=loaded.project, only_here=loaded.main is not None, own=own)
