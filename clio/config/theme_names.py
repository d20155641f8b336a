"""What themes there are by name: clio's own, and the person's, each a file in `themes/` of clio's home folder."""

import re
from pathlib import Path

from clio.text.lazy_regex import LazyRegex

THEMES: dict[str, str] = {
    "auto": "dark or light, as the terminal's background is",
    "dark": "for dark backgrounds",
    "light": "for light backgrounds",
    "high-contrast": "the most legible, on either",
    "none": "no colour; bold and faint only",
}
"""Those that are always there."""
FOLDER = "themes"
_NAME = LazyRegex(r"[A-Za-z0-9][\w-]{0,63}", re.ASCII)
_MAX_LISTED = 200


def is_theme_name(name: str) -> bool:
    """Whether a theme can be called so: it is no path and holds no control character."""
    return _NAME.fullmatch(name) is not None


def theme_names(home: Path) -> list[str]:
    """All themes, clio's own first, then the person's in order; one of these cannot have the name of one of those."""
    try:
        found = [path.stem for path in (home / FOLDER).iterdir() if path.suffix == ".yaml"]
    except OSError:
        found = []
    own = sorted(name for name in found if is_theme_name(name) and name not in THEMES)
    return [*THEMES, *own[:_MAX_LISTED]]
