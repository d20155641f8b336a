"""The names of themes, and the files of those that are not built in: the user's own, then those of plugins."""

import re
from pathlib import Path

from clio.config.paths import has_plugins
from clio.text.translation import mark

THEMES: dict[str, str] = {
    "auto": mark("dark or light, to match the terminal's background"),
    "dark": mark("for dark backgrounds"),
    "light": mark("for light backgrounds"),
    "high-contrast": mark("highest contrast"),
    "none": mark("no colour; bold and faint only"),
}
"""The built-in themes."""
THEMES_FOLDER = "themes"
_THEME_NAME = re.compile(r"[A-Za-z0-9][\w-]{0,63}", re.ASCII)
_MAX_LISTED_THEMES = 200


def is_theme_name(name: str) -> bool:
    """Whether the name is valid for a theme: not a path, and without control characters."""
    return _THEME_NAME.fullmatch(name) is not None


def theme_names(home: Path, without_plugin: str = "") -> list[str]:
    """Return all themes: the built-in ones, then the user's, sorted, then plugins'; each name once.

    without_plugin: leave out the themes of this plugin.
    """
    own = _list_own_themes(home)
    return [*THEMES, *own, *(_find_plugin_themes(home, own, without_plugin) if has_plugins(home) else ())]


def find_theme_file(home: Path, name: str) -> Path:
    """Return the file of a theme that is not built in; it need not exist."""
    path = home / THEMES_FOLDER / f"{name}.yaml"
    if path.exists() or not has_plugins(home):
        return path
    return _find_plugin_themes(home, _list_own_themes(home)).get(name, path)


def _list_own_themes(home: Path) -> list[str]:
    try:
        found = [path.stem for path in (home / THEMES_FOLDER).iterdir() if path.suffix == ".yaml"]
    except OSError:
        found = []
    return sorted(name for name in found if is_theme_name(name) and name not in THEMES)[:_MAX_LISTED_THEMES]


def _find_plugin_themes(home: Path, own: list[str], without: str = "") -> dict[str, Path]:
    from clio.config.installed_plugins import find_plugins, list_theme_files

    # A plugin added for one project has no themes: the theme is a choice for all projects.
    plugins = [plugin for plugin in find_plugins(home, home).plugins if plugin.name != without]
    files = list_theme_files(plugins, (*THEMES, *own))
    return {name: path for name, path in files.items() if is_theme_name(name)}
