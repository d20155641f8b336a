"""What a terminal's background is like: from its answer to a question, or from what its environment says."""

import re
from collections.abc import Mapping

from clio.text.lazy_regex import LazyRegex
from clio.ui.themes.palette import Paper

_PARTS = LazyRegex(r"rgba?:([0-9a-f]{1,4})/([0-9a-f]{1,4})/([0-9a-f]{1,4})(?:/[0-9a-f]{1,4})?", re.I)
_WHOLE = LazyRegex(r"#((?:[0-9a-f]{3}){1,4})", re.I)
_HALF = 0.179
"""The luminance whose contrast with black and with white is the same."""
_DARK_NUMBERS = frozenset((*range(7), 8))
_SILENT_TERMS = ("dumb", "unknown", "linux", "vt", "ansi", "cons", "eterm", "sun")


def paper_of(colour: str) -> Paper | None:
    """Of a colour as terminals write it, such as `rgb:1e1e/1e1e/1e1e`; None where it is none."""
    rgb = read_colour(colour)
    return None if rgb is None else "light" if luminance(rgb) > _HALF else "dark"


def read_colour(text: str) -> tuple[float, float, float] | None:
    """Red, green and blue, 0.0 to 1.0: of `rgb:RRRR/GGGG/BBBB` with one to four digits each, or of `#rrggbb`."""
    if match := _PARTS.fullmatch(text.strip()):
        parts = (match[1], match[2], match[3])
    elif match := _WHOLE.fullmatch(text.strip()):
        size = len(match[1]) // 3
        parts = (match[1][:size], match[1][size : 2 * size], match[1][2 * size :])
    else:
        return None
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in parts)
    return red, green, blue


def luminance(rgb: tuple[float, float, float]) -> float:
    """Relative luminance, 0.0 to 1.0. Source: WCAG 2.1, "relative luminance"."""
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in rgb)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def paper_in_environment(env: Mapping[str, str]) -> Paper | None:
    """From COLORFGBG, such as "15;0", which some terminals set; None where it says nothing."""
    last = env.get("COLORFGBG", "").rpartition(";")[2]
    if not last.isascii() or not last.isdigit() or int(last) > 15:
        return None
    return "dark" if int(last) in _DARK_NUMBERS else "light"


def may_be_asked(env: Mapping[str, str]) -> bool:
    """Whether a terminal of this name takes the question for what it is, whether or not it answers."""
    term = env.get("TERM", "")
    return bool(term) and not term.startswith(_SILENT_TERMS) and not env.get("INSIDE_EMACS")
