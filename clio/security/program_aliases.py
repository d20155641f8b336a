"""Sub-commands that configuration files add to git and cargo. Reads those files; starts no program."""

import os
import shlex
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

from clio.algorithms.late_pattern import LatePattern
from clio.security.shell.words import CommandLine, SimpleCommand, Word

_MAX_BYTES = 1_000_000
_MAX_INCLUDES = 20
_SECRET_URL = LatePattern(r"://(?:[^\s/@\"]*:[^\s/\"]*|(?!git@|hg@)[^\s/@\"]{16,})@")
_CHANGES_SOURCES = ("GIT_", "HOME", "XDG_CONFIG_HOME", "CARGO_", "GH_", "PATH")


class ConfiguredAliases:
    """The aliases that hold where a line starts.

    start: the folder. line: all of it; where it changes what aliases there may be, none of them can be told.
    """

    def __init__(self, start: str, line: CommandLine) -> None:
        self.start = start
        self.line = line
        self.changed = _changes_aliases(line)
        self._git: dict[Path, Mapping[str, str]] = {}

    def resolve_alias(self, program: str, name: str, call: Sequence[Word], command: SimpleCommand) -> str | None:
        """What a name stands for; "" where no alias has the name; None where that cannot be told."""
        if self.changed or any(key.startswith(_CHANGES_SOURCES) for key, _ in command.env):
            return None
        folders = self._folders(call, command)
        if folders is None:
            return None
        if program == "gh":
            return None
        found = [
            self._git_alias(folder, name) if program == "git" else _cargo_alias(folder, name) for folder in folders
        ]
        if any(found):
            return next(alias for alias in found if alias) if len(set(found)) == 1 else None
        return ""

    def _folders(self, call: Sequence[Word], command: SimpleCommand) -> list[Path] | None:
        """Where the program would look for its settings."""
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

    def _git_alias(self, folder: Path, name: str) -> str:
        if folder not in self._git:
            self._git[folder] = {key: value for path in _git_files(folder) for key, value in _read_aliases(path)}
        return self._git[folder].get(name.casefold(), "")


def _changes_aliases(line: CommandLine) -> bool:
    """Whether a line sets variables, or writes files, that say what aliases there are."""
    for command in line.commands:
        if any(key.startswith(_CHANGES_SOURCES) for key, _ in command.env if not command.words or key != "PATH"):
            return True
        texts = command.argv
        if "config" in texts and any("alias" in text or "include" in text for text in texts):
            return True
        if command.program in ("cp", "mv", "ln", "tee", "sed", "install") and any("config" in text for text in texts):
            return True
    return any(each.writes and "config" in each.target.text for each in line.redirects)


def _git_files(folder: Path) -> Iterator[Path]:
    """The configuration files git reads in a folder, those that count less first."""
    home = Path.home()
    yield from (Path("/etc/gitconfig"), Path("/usr/local/etc/gitconfig"), Path("/opt/homebrew/etc/gitconfig"))
    yield Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "git" / "config"
    yield Path(os.environ.get("GIT_CONFIG_GLOBAL") or home / ".gitconfig")
    for place in (folder, *folder.parents):
        for base in (place / ".git", place):
            git_dir = _linked_folder(base) if base.is_file() else base
            if git_dir is None or not (git_dir / "HEAD").is_file():
                continue
            try:
                common = git_dir / (git_dir / "commondir").read_text(encoding="utf-8").strip()
            except (OSError, UnicodeDecodeError):
                common = git_dir
            yield from (common / "config", git_dir / "config.worktree")
            return


def has_secret_url(folder: Path) -> bool:
    """Whether the configuration that git reads in a folder has a URL with a password or token in it."""
    waiting, seen = list(_git_files(folder)), set[Path]()
    while waiting and len(seen) < _MAX_INCLUDES:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        for line in _logical_lines(path):
            if _SECRET_URL.search(line):
                return True
            key, sign, value = line.partition("=")
            if sign and key.strip().casefold() == "path":
                other = Path(os.path.expanduser(_value(value)))  # noqa: PTH111
                waiting.append(other if other.is_absolute() else path.parent / other)
    return bool(waiting)


def _linked_folder(path: Path) -> Path | None:
    """The folder a `.git` file names."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    return path.parent / text.removeprefix("gitdir:").strip() if text.startswith("gitdir:") else None


def _read_aliases(path: Path, included: int = 0) -> Iterator[tuple[str, str]]:
    """Name and text of each alias of a git configuration file and of those it includes, names in small letters."""
    section = ""
    for line in _logical_lines(path):
        text = line.strip()
        if text.startswith("["):
            head, _, rest = text[1:].partition("]")
            section, text = head.strip().casefold(), rest.strip()
        if not text or text[0] in "#;":
            continue
        key, sign, value = text.partition("=")
        key, value = key.strip().casefold(), _value(value) if sign else ""
        if section == "alias":
            yield key, value
        elif section.startswith("alias ") and key == "command":
            yield section[6:].strip().strip('"'), value
        elif section.startswith("include") and key == "path" and included < _MAX_INCLUDES:
            other = Path(os.path.expanduser(value))  # noqa: PTH111
            yield from _read_aliases(other if other.is_absolute() else path.parent / other, included + 1)


def _logical_lines(path: Path) -> Iterator[str]:
    try:
        if not path.is_file() or path.stat().st_size > _MAX_BYTES:
            return
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    yield from text.replace("\\\r\n", "").replace("\\\n", "").splitlines()


def _value(text: str) -> str:
    """A value of git's configuration with its quotes and comment taken off."""
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


def _cargo_alias(folder: Path, name: str) -> str:
    """What cargo's configuration has a name stand for; "" for nothing."""
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
