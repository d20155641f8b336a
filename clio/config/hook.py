"""One command that runs at one event of clio's work, as a configuration file names it."""

import fnmatch

from msgspec import Struct

EVENTS = ("session_start", "user_prompt", "before_tool", "after_tool", "before_trim", "stop", "session_end")
"""In the order in which they come."""
OF_TOOLS = frozenset(("before_tool", "after_tool"))
DEFAULT_TIMEOUT_S = 10.0
MAX_TIMEOUT_S = 600.0


class Hook(Struct, frozen=True, kw_only=True):
    """One command for one event. match: names of tools, "*" as in a shell; empty: all. where: file and line."""

    event: str
    run: str
    where: str
    match: tuple[str, ...] = ()
    timeout_s: float = DEFAULT_TIMEOUT_S

    def concerns(self, tool: str) -> bool:
        """Whether it is for calls of this tool; an event without one concerns every hook of its name."""
        return not self.match or any(fnmatch.fnmatchcase(tool, pattern) for pattern in self.match)
