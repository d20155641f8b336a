"""Servers with the person's word on them: which of a project's may be used, and one that was just added by hand."""

from collections.abc import Sequence
from pathlib import Path

from clio.config.mcp_files import KEY, Found, read_servers
from clio.config.trust import Trust


def configured(home: Path, project: Path, links: Sequence[Path] = ()) -> Found:
    """Every server there is now; a project's only where it is trusted with it. links: see `read_servers`."""
    return read_servers(home, project, lambda value: Trust(home).covers(project, (value,)), links)


def trust_added(home: Path, project: Path, name: str) -> None:
    """Trust the project with the server somebody has just written there. Raises ConfigError."""
    for value in configured(home, project).withheld:
        if value.key == f"{KEY}.{name}":
            Trust(home).add(project, value)
