"""Where clio stores files: the user's directory and the project's directory."""

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from clio.errors import ConfigError
from clio.text.translation import tr

CONFIG_NAME = "config.yaml"
FOLDER_NAME = ".clio"


def user_home(env: Mapping[str, str]) -> Path:
    """Return the user's home directory. Raises ConfigError if the system reports none."""
    value = env.get("USERPROFILE" if os.name == "nt" else "HOME", "")
    if value:
        return Path(value)
    try:
        return Path.home()
    except RuntimeError:
        raise ConfigError(
            tr("can't find the home folder; set HOME, or set CLIO_HOME to a folder for clio's files")
        ) from None


def clio_home(env: Mapping[str, str]) -> Path:
    """Return the directory of clio's own files: CLIO_HOME, else `.clio` in the home directory. It need not exist."""
    value = env.get("CLIO_HOME", "").strip()
    if not value:
        return user_home(env) / FOLDER_NAME
    if value == "~" or value.startswith("~/"):
        return user_home(env) / value[2:]
    return Path(value).absolute()


def project_folder(cwd: Path, *, clio_home: Path, user_home: Path | None) -> Path:
    """Return the nearest directory from `cwd` upwards that contains `.clio` or `.git`, else `cwd` itself; links
    resolved.

    The user's home directory is a project only if it is `cwd`, and no directory above it is one for a `cwd` inside
    it: a `~/.git` for dotfiles or clio's own `~/.clio` would turn every directory into part of one large project. The
    same applies to `/` and directories shared by all users, such as `/tmp`, in which any user may create a `.git`.
    """
    cwd = cwd.resolve()
    home = user_home.resolve() if user_home else None
    own = clio_home.resolve()
    for folder in (cwd, *cwd.parents):
        if folder != cwd and (folder == home or _is_shared_folder(folder)):
            return cwd
        if any(_exists(folder / name) and folder / name != own for name in (".git", FOLDER_NAME)):
            return folder
        if folder == home:
            return cwd
    return cwd


def home_config(home: Path) -> Path:
    """Return the user's own configuration file."""
    return home / CONFIG_NAME


def project_config(project: Path) -> Path:
    """Return a project's configuration file."""
    return project / FOLDER_NAME / CONFIG_NAME


def display_path(path: Path, *, project: Path | None, user_home: Path) -> str:
    """Return the path as the user would write it: relative to the project, with `~` for the home directory, or
    in full.
    """
    if project and path.is_relative_to(project):
        return path.relative_to(project).as_posix()
    if path.is_relative_to(user_home):
        return "~/" + path.relative_to(user_home).as_posix()
    return str(path)


PLUGINS_FOLDER = "plugins"
PLUGIN_LOCK_NAME = "lock.json"


def has_plugins(home: Path) -> bool:
    """Whether the user has ever added a plugin. Asked at every start, so that nothing else of plugins is loaded."""
    return (home / PLUGINS_FOLDER / PLUGIN_LOCK_NAME).exists()


def _is_shared_folder(folder: Path) -> bool:
    """Whether a directory is the root of a file system, or shared like `/tmp`, where every user may create files."""
    if folder == folder.parent:
        return True
    shared = stat.S_ISVTX | stat.S_IWOTH
    try:
        return folder.stat().st_mode & shared == shared
    except OSError:  # not accessible, so it is not treated as a project
        return True


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # not accessible, so its contents do not matter
        return False
