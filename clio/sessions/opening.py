"""The sessions of the project a configuration is for."""

from clio.config.loaded import Loaded
from clio.sessions.store import SessionStore


def open_store(loaded: Loaded) -> SessionStore:
    """Its sessions; a worktree shares those of the checkout it was made from."""
    return SessionStore(loaded.owner / ".clio" / "sessions", here=loaded.project, only_here=loaded.main is not None)
