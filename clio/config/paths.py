"""Where clio keeps files: the user's folder, the project's folder, and the names of themes."""

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path

from clio.errors import ConfigError

CONFIG_NAME = "config.yaml"
FOLDER_NAME = ".clio"


def user_home(env: Mapping[str, str]) -> Path:
    """The user's home folder. Raises ConfigError where the system knows none."""
    named = env.get("USERPROFILE" if os.name == "nt" else "HOME", "")
    if named:
        return Path(named)
    try:
        return Path.home()
    except RuntimeError:
        raise ConfigError(
            "the home folder is unknown; set HOME, or CLIO_HOME to a folder for clio's own files"
        ) from None


def clio_home(env: Mapping[str, str]) -> Path:
    """The folder of clio's own files: CLIO_HOME, else `.clio` in the home folder. It need not exist yet."""
    named = env.get("CLIO_HOME", "").strip()
    if not named:
        return user_home(env) / FOLDER_NAME
    if named == "~" or named.startswith("~/"):
        return user_home(env) / named[2:]
    return Path(named).absolute()


def project_folder(cwd: Path, *, clio_home: Path, user_home: Path | None) -> Path:
    """The nearest folder from `cwd` upwards that holds `.clio` or `.git`, else `cwd` itself; links resolved.

    The user's home folder is a project only where it is `cwd`, and nothing above it is one for a `cwd` inside it:
    a `~/.git` for dotfiles or clio's own `~/.clio` would turn every folder into part of one large project. So it
    is with `/` and folders shared by all, such as `/tmp`: what somebody left there speaks for no folder below.
    """
    cwd = cwd.resolve()
    home = user_home.resolve() if user_home else None
    own = clio_home.resolve()
    for folder in (cwd, *cwd.parents):
        if folder != cwd and (folder == home or _is_everybodys(folder)):
            return cwd
        if any(_exists(folder / name) and folder / name != own for name in (".git", FOLDER_NAME)):
            return folder
        if folder == home:
            return cwd
    return cwd


def home_config(home: Path) -> Path:
    """The user's own configuration file."""
    return home / CONFIG_NAME


def project_config(project: Path) -> Path:
    """A project's configuration file."""
    return project / FOLDER_NAME / CONFIG_NAME


def display(path: Path, *, project: Path | None, user_home: Path) -> str:
    """The path as a person would write it: relative to the project, with `~` for the home folder, or whole."""
    if project and path.is_relative_to(project):
        return path.relative_to(project).as_posix()
    if path.is_relative_to(user_home):
        return "~/" + path.relative_to(user_home).as_posix()
    return str(path)


def _is_everybodys(folder: Path) -> bool:
    """Whether a folder is the root of a file system, or shared like `/tmp`: all may write there, each its own."""
    if folder == folder.parent:
        return True
    shared = stat.S_ISVTX | stat.S_IWOTH
    try:
        return folder.stat().st_mode & shared == shared
    except OSError:  # what cannot be looked at is nobody's project
        return True


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a folder that may not be entered holds nothing for us
        return False


THEMES: dict[str, str] = {
    "auto": "dark or light, as the terminal's background is",
    "dark": "for dark backgrounds",
    "light": "for light backgrounds",
    "high-contrast": "the most legible, on either",
    "none": "no colour; bold and faint only",
}
"""Those that are always there."""
FOLDER = "themes"
_NAME = re.compile(r"[A-Za-z0-9][\w-]{0,63}", re.ASCII)
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
