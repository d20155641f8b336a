"""Links a terminal can open (OSC 8): which terminals take them, and which addresses may be one. All pure."""

import re
from collections.abc import Mapping

from clio.text.lazy_regex import LazyRegex

_PROGRAMS = frozenset("iTerm.app WezTerm vscode ghostty Hyper Tabby rio WarpTerminal".split())
_TERMS = ("xterm-kitty", "xterm-ghostty", "alacritty", "foot", "wezterm", "contour")
_MARKS = ("WT_SESSION", "KITTY_WINDOW_ID", "KONSOLE_VERSION", "ALACRITTY_WINDOW_ID", "DOMTERM")
_OLDEST_VTE = 5000  # 0.50; older ones crashed on some links
_OLDEST_TMUX = (3, 4)
_MAX_TARGET = 2000
# No control character, no blank, nothing beyond ASCII: nothing can end the sequence or look like another address.
_TARGET = LazyRegex(r"(?:https?://[\x21-\x7e]+|file://(?:localhost)?/[\x21-\x7e]+)", re.IGNORECASE)


def takes_links(env: Mapping[str, str]) -> bool:
    """Whether the terminal is known to take links. FORCE_HYPERLINK decides where it is set: 0 is no, all else yes."""
    if forced := env.get("FORCE_HYPERLINK", ""):
        return forced != "0"
    program = env.get("TERM_PROGRAM", "")
    if env.get("TMUX") or program == "tmux":
        return program == "tmux" and _version(env.get("TERM_PROGRAM_VERSION", "")) >= _OLDEST_TMUX
    if env.get("STY") or env.get("TERM", "").startswith("screen"):
        return False
    vte = env.get("VTE_VERSION", "")
    return (
        program in _PROGRAMS
        or env.get("TERM", "").startswith(_TERMS)
        or any(env.get(mark) for mark in _MARKS)
        or (vte.isdigit() and int(vte) >= _OLDEST_VTE)
    )


def may_open(target: str) -> bool:
    """Whether an address from a model may be made a link: http, https, or a file on this machine."""
    return len(target) <= _MAX_TARGET and _TARGET.fullmatch(target) is not None


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text)[:2])
