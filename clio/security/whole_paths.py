"""Tells whether a path is the root, a home folder or one of the system's own folders, or everything in one."""

import os
import posixpath
from collections.abc import Iterator
from fnmatch import fnmatchcase

from clio.algorithms.late_pattern import LatePattern
from clio.security import risk_tables as tables
from clio.security.device_paths import PROCESS_LINK
from clio.security.shell.words import Word, names

_HOME_NAMES = LatePattern(r"^(?:\$HOME|\$\{HOME(?::?[-?][^}]*)?\}|~)(?=/|$)")
_HOMES = LatePattern(r"~[a-z_][\w-]*/?(?:\*)?")
_EVERYTHING = LatePattern(r"(?:[*?.]|\[[!^][^\]]*\]|\[[^\]]*[-:][^\]]*\])*")
_WHOLE = tables.SYSTEM_FOLDERS | names(
    """
    /usr/bin /usr/lib /usr/lib64 /usr/sbin /usr/share /usr/local /usr/include /usr/local/bin /usr/local/lib /var/lib
    /run
    """
)
_ESSENTIAL = names("/etc/passwd /etc/shadow /etc/group /etc/gshadow /etc/sudoers /etc/fstab /etc/nsswitch.conf")
"""Files without which no user can log in, or the machine does not start."""
_SYSTEM_FILES = names("etc bin sbin lib lib64 usr boot System")


class WholePaths:
    """Judges operands of one command.

    folders: where it may run, as typed and relative to `start`. home: the user's.
    """

    def __init__(self, folders: tuple[str, ...], start: str, home: str) -> None:
        self.home = posixpath.normpath(home)
        self.start = start
        self.folders = tuple(posixpath.join(start, self._at_home(folder)) for folder in folders)

    def is_whole(self, word: Word, *, follows: bool = False) -> bool:
        """Whether a path is one of these folders, or all that is in one.

        follows: whether the program goes where a link leads that is named without a slash behind it.
        """
        return any(covered is not None for covered in self._covered(word, follows))

    def is_everything_in(self, word: Word) -> bool:
        """Whether a pattern stands for all that is in one of these folders."""
        return any(bool(covered) for covered in self._covered(word, False))

    def is_system_file(self, word: Word) -> bool:
        """Whether a path is below a folder of the system's own, not counting what grows there."""
        return any(
            path.split("/")[1] in _SYSTEM_FILES and not path.startswith("/usr/local/")
            for path in self._paths(word.text, follows=True)
        )

    def is_essential_file(self, word: Word) -> bool:
        """Whether a path is one of the few files that no machine can be used without."""
        return any(path.removeprefix("/private") in _ESSENTIAL for path in self._paths(word.text, follows=True))

    def _covered(self, word: Word, follows: bool) -> Iterator[int | None]:
        """For each place a path may be: how many of its last parts stand for everything; None for no such folder."""
        if _HOMES.fullmatch(word.text):
            yield int(word.text.endswith("*"))
        for path in self._paths(word.text, follows):
            parts = [part for part in path.split("/") if part]
            count = len(parts)
            while parts and ("*" in parts[-1] or "[" in parts[-1]) and _EVERYTHING.fullmatch(parts[-1]):
                parts.pop()
            yield count - len(parts) if self._is_listed(parts) else None

    def _is_listed(self, parts: list[str]) -> bool:
        if not parts or (len(parts) == 2 and parts[0] in ("home", "Users")):
            return True
        home = [part for part in self.home.split("/") if part]
        listed = [[part for part in path.split("/") if part] for path in _WHOLE]
        listed += [home[:length] for length in range(1, len(home) + 1)]
        return any(len(each) == len(parts) and all(map(fnmatchcase, each, parts)) for each in listed)

    def _paths(self, text: str, follows: bool) -> Iterator[str]:
        text = self._at_home(text)
        if text.startswith("/proc/"):
            text = text.replace("$$", "self").replace("${BASHPID}", "self").replace("$BASHPID", "self")
        if text == "~+" or text.startswith("~+/"):  # the folder it runs in
            text = f".{text[2:]}"
        if not text or "$" in text or "`" in text or "\0" in text or _HOMES.match(text):
            return
        for folder in self.folders:
            path = posixpath.join(folder, text)
            while match := PROCESS_LINK.match(path):
                path = (self.start if match[1] == "cwd" else "") + path[match.end() :] or "/"
            yield "/" + posixpath.normpath(path).lstrip("/")
            fixed, rest = _before_pattern(path)
            if not rest and not follows and not text.endswith(("/", "/.")):
                fixed, rest = posixpath.split(fixed)
            real = posixpath.join(os.path.realpath(fixed or "/"), rest)
            yield "/" + posixpath.normpath(real).lstrip("/")

    def _at_home(self, text: str) -> str:
        return _HOME_NAMES.sub(lambda _: self.home, text)


def _before_pattern(path: str) -> tuple[str, str]:
    """A path parted before its first part that is a pattern."""
    parts = path.split("/")
    place = next((place for place, part in enumerate(parts) if any(mark in part for mark in "*?[")), len(parts))
    return "/".join(parts[:place]), "/".join(parts[place:])
