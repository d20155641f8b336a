"""Find the sub-commands that configuration files of git and cargo define, so that `deny` rules see through them."""

import os
import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

from clio.security.shell.command_line import CommandLine, SimpleCommand, Word

# Limits for configuration files written by a repository: size of one file, and number of includes followed.
_MAX_BYTES = 1_000_000
_MAX_INCLUDES = 20
_SECRET_URL = re.compile(r"://(?:[^\s/@\"]*:[^\s/\"]*|(?!git@|hg@)[^\s/@\"]{16,})@")
_ALIAS_SOURCE_PREFIXES = ("GIT_", "HOME", "XDG_CONFIG_HOME", "CARGO_", "GH_", "PATH")


class ConfiguredAliases:
    """The aliases in effect where a line starts.

    Args:
        start: the folder.
        line: the whole line. If it changes what aliases exist, none of them can be determined.
    """

    def __init__(self, start: str, line: CommandLine) -> None:
        self.start = start
        self.line = line
        self.changed = _can_change_aliases(line)
        self._git: dict[Path, Mapping[str, str]] = {}

    def resolve_alias(self, program: str, name: str, call: Sequence[Word], command: SimpleCommand) -> str | None:
        """Return what a name stands for; "" if there is no such alias; None if it cannot be determined."""
        if self.changed or any(key.startswith(_ALIAS_SOURCE_PREFIXES) for key, _ in command.env):
            return None
        folders = self._list_folders(call, command)
        if folders is None:
            return None
        if program == "gh":
            return None
        found = [
            self._find_git_alias(folder, name) if program == "git" else _find_cargo_alias(folder, name)
            for folder in folders
        ]
        if any(found):
            return next(alias for alias in found if alias) if len(set(found)) == 1 else None
        return ""

    def _list_folders(self, call: Sequence[Word], command: SimpleCommand) -> list[Path] | None:
        """Return the folders in which the program would search its settings; None if they are not known."""
        if command.folders is None:
            return None
        found = [Path(self.start, os.path.expanduser(folder)) for folder in command.folders]  # noqa: PTH111
        for place, word in enumerate(call):
            if word.text.startswith(("--git-dir", "--work-tree", "--config-env")) or "include" in word.text:
                return None
            if word.text == "-C" and place + 1 < len(call):
                if call[place + 1].dynamic:
                    return None
                found = [folder / os.path.expanduser(call[place + 1].text) for folder in found]  # noqa: PTH111
        return found

    def _find_git_alias(self, folder: Path, name: str) -> str:
        if folder not in self._git:
            self._git[folder] = {
                key: value for path in _iter_git_config_files(folder) for key, value in _iter_git_aliases(path)
            }
        return self._git[folder].get(name.casefold(), "")


def _can_change_aliases(line: CommandLine) -> bool:
    """Whether a line sets variables or writes files that define aliases."""
    for command in line.commands:
        if any(key.startswith(_ALIAS_SOURCE_PREFIXES) for key, _ in command.env if not command.words or key != "PATH"):
            return True
        texts = command.argv
        if "config" in texts and any("alias" in text or "include" in text for text in texts):
            return True
        if command.program in ("cp", "mv", "ln", "tee", "sed", "install") and any("config" in text for text in texts):
            return True
    return any(each.writes and "config" in each.target.text for each in line.redirects)


def _iter_git_config_files(folder: Path) -> Iterator[Path]:
    """Yield the configuration files git reads in a folder, lowest precedence first."""
    home = Path.home()
    yield from (Path("/etc/gitconfig"), Path("/usr/local/etc/gitconfig"), Path("/opt/homebrew/etc/gitconfig"))
    yield Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "git" / "config"
    yield Path(os.environ.get("GIT_CONFIG_GLOBAL") or home / ".gitconfig")
    for place in (folder, *folder.parents):
        for base in (place / ".git", place):
            git_dir = _read_git_link(base) if base.is_file() else base
            if git_dir is None or not (git_dir / "HEAD").is_file():
                continue
            try:
                common = git_dir / (git_dir / "commondir").read_text(encoding="utf-8").strip()
            except (OSError, UnicodeDecodeError):
                common = git_dir
            yield from (common / "config", git_dir / "config.worktree")
            return


def has_secret_url(folder: Path) -> bool:
    """Whether the git configuration that applies in a folder contains a URL with a password or token."""
    waiting, seen = list(_iter_git_config_files(folder)), set[Path]()
    while waiting and len(seen) < _MAX_INCLUDES:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        for line in _iter_logical_lines(path):
            if _SECRET_URL.search(line):
                return True
            key, sign, value = line.partition("=")
            if sign and key.strip().casefold() == "path":
                other = Path(os.path.expanduser(_unquote_git_value(value)))  # noqa: PTH111
                waiting.append(other if other.is_absolute() else path.parent / other)
    return bool(waiting)


def _read_git_link(path: Path) -> Path | None:
    """Return the folder that a `.git` file names."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    return path.parent / text.removeprefix("gitdir:").strip() if text.startswith("gitdir:") else None


def _iter_git_aliases(path: Path, included: int = 0) -> Iterator[tuple[str, str]]:
    """Yield (name in lower case, text) of each alias in a git configuration file and the files it includes."""
    section = ""
    for line in _iter_logical_lines(path):
        text = line.strip()
        if text.startswith("["):
            head, _, rest = text[1:].partition("]")
            section, text = head.strip().casefold(), rest.strip()
        if not text or text[0] in "#;":
            continue
        key, sign, value = text.partition("=")
        key, value = key.strip().casefold(), _unquote_git_value(value) if sign else ""
        if section == "alias":
            yield key, value
        elif section.startswith("alias ") and key == "command":
            yield section[6:].strip().strip('"'), value
        elif section.startswith("include") and key == "path" and included < _MAX_INCLUDES:
            other = Path(os.path.expanduser(value))  # noqa: PTH111
            yield from _iter_git_aliases(other if other.is_absolute() else path.parent / other, included + 1)


def _iter_logical_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a configuration file, continued lines joined. Yields nothing for a file that is too large."""
    try:
        if not path.is_file() or path.stat().st_size > _MAX_BYTES:
            return
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    yield from text.replace("\\\r\n", "").replace("\\\n", "").splitlines()


def _unquote_git_value(text: str) -> str:
    """Return a value of git's configuration without its quotes and comment."""
    shown, quoted, place = "", False, 0
    text = text.strip()
    while place < len(text):
        letter = text[place]
        if letter == "\\" and place + 1 < len(text):
            place += 1
            shown += {"n": "\n", "t": "\t", "b": "\b"}.get(text[place], text[place])
        elif letter == '"':
            quoted = not quoted
        elif letter in "#;" and not quoted:
            break
        else:
            shown += letter
        place += 1
    return shown.strip()


def _find_cargo_alias(folder: Path, name: str) -> str:
    """Return the definition of a cargo alias; "" if there is none."""
    home = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    for place in (*(parent / ".cargo" for parent in (folder, *folder.parents)), home):
        for file in (place / "config", place / "config.toml"):
            try:
                if not file.is_file() or file.stat().st_size > _MAX_BYTES:
                    continue
                aliases: object = tomllib.loads(file.read_text(encoding="utf-8")).get("alias")
            except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
                continue
            found = cast("dict[str, object]", aliases).get(name) if isinstance(aliases, dict) else None
            if isinstance(found, str):
                return found
            if isinstance(found, list):
                return shlex.join(map(str, cast("list[object]", found)))
    return ""
