"""What a server's tools are called where the model calls them: `mcp_<server>_<tool>`. Pure."""

import hashlib
from collections.abc import Iterable

from clio.algorithms.late_pattern import LatePattern

MAX_CHARS = 64
"""Of a tool's name, at every provider."""
_ODD = LatePattern(r"[^A-Za-z0-9_-]+")
_MARK_CHARS = 6


def tool_names(tools: Iterable[tuple[str, str]]) -> list[str]:
    """A name for each pair of server and tool, in order and all different.

    What a name may not hold becomes "_". Where a name is too long or taken, a mark made of the pair ends it: the same
    pair has the same mark in every session, so that a rule about it goes on to hold.
    """
    taken: set[str] = set()
    names: list[str] = []
    for server, tool in tools:
        name = f"mcp_{_clean(server)}_{_clean(tool)}"
        if len(name) > MAX_CHARS or name in taken:
            mark = hashlib.sha256(f"{server}\0{tool}".encode()).hexdigest()[:_MARK_CHARS]
            name = f"{name[: MAX_CHARS - _MARK_CHARS - 1]}_{mark}"
        if name not in taken:
            taken.add(name)
            names.append(name)
        else:
            names.append("")  # the same tool twice
    return names


def _clean(text: str) -> str:
    return _ODD.sub("_", text).strip("_") or "x"
