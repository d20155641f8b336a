"""What slash commands say, in the words of the command line."""

from clio.entrypoints.subcommand_output import without_marks
from clio.text.lazy_regex import LazyRegex

SWITCH = "/session switch "
"""How a handler names a session to go on with; `clio -r` does that outside of one."""
_CALLED_OTHERWISE = {"session": "sessions", "trust": "config trust"}
_SLASH = LazyRegex(
    r"(?<![\w/.])/(cost|docs|feedback|mcp|memory|note|prefs|recall|session|skills|style|trust)(?=[ .;,:`']|$)"
)


def in_cli_words(text: str) -> str:
    """A handler's text with the commands it names as the command line has them, and without the marks round code."""
    text = without_marks(text).replace(SWITCH.strip(), "clio -r")
    return _SLASH.sub(lambda found: f"clio {_CALLED_OTHERWISE.get(found[1], found[1])}", text)
