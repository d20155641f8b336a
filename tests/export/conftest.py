"""Saved sessions, and the values collected from them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from clio.export.document import ExportedSession
from clio.export.export_session import ExportCleaner, OutputLimits, collect_export
from clio.sessions.state import SessionState
from clio.sessions.store import SessionStore

PLENTY = OutputLimits(output=100_000, all_outputs=10_000_000, later=1_000)


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    return SessionStore(tmp_path / "project" / ".clio" / "sessions")


def collected(
    state: SessionState,
    *,
    blobs: Callable[[str], str] = lambda handle: handle,
    redact: Callable[[str], str] = lambda text: text,
    limits: OutputLimits = PLENTY,
) -> ExportedSession:
    return collect_export(state, blobs, ExportCleaner(redact, spell_out=True), limits, now=1.0)
