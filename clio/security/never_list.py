"""What clio refuses in every mode, because no session needs it and nothing brings back what it destroys. Pure."""

import posixpath
import re
from collections.abc import Callable
from fnmatch import fnmatchcase

from clio.algorithms.late_pattern import LatePattern
from clio.security import risk_tables as tables
from clio.security.risk import has_option
from clio.security.shell.words import CommandLine, Redirect, SimpleCommand, Word
from clio.security.shell.wrappers import SHELLS

_DEVICE = LatePattern(
    r"/proc/sysrq-trigger\b"
    r"|/dev/(?:sd|hd|vd|xvd|nvme|mmcblk|disk|rdisk|mapper/|md|dm-|loop|mem\b|kmem\b|port\b|block/|sg\d)",
    re.IGNORECASE,
)
_HOME_NAMES = LatePattern(r"^(?:\$HOME|\$\{HOME(?::?[-?][^}]*)?\}|~)(?=/|$)")
_HOMES = LatePattern(r"~[a-z_][\w-]*/?(?:\*)?")
_STOPS = frozenset({"shutdown", "reboot", "halt", "poweroff"})
_CRUDE = LatePattern(
    r"\brm\s+(?:-\S+\s+)*-\w*[rR]\w*\s+(?:-\S+\s+)*[\"']?(?:/|~|\$HOME|\$\{HOME\})/?[\"']?\*?(?=[\s;&|)\"']|$)"
    r"|\bmkfs(?:\.\w+)?\s|\bdd\s[^\n;|&]{0,400}\bof=/dev/(?:sd|hd|vd|nvme|disk|mmcblk)|:\(\)\s*\{\s*:\s*\|\s*:"
    r"|>\s*/dev/(?:sd|hd|vd|nvme|disk|mmcblk)"
)


def never(line: CommandLine, text: str, start: str, home: str) -> str | None:
    """Why a line must not run even in mode `all`; None where it may be judged.

    text: the line as typed, for what the grammar could not follow. start: the folder it starts in. home: the person's.
    """
    if line.fork_bomb:
        return "it starts itself without end"
    for redirect in line.redirects:
        if redirect.writes and _is_device(redirect, start):
            return f"it writes to the device {redirect.target.text}"
    for command in line.commands:
        if reason := _never_command(command, start, home):
            return reason
    unseen = line.unknown or any(map(_runs_text, line.commands))
    if unseen and _CRUDE.search(text):
        return "it holds a command that destroys a whole disk or home folder"
    return None


def _runs_text(command: SimpleCommand) -> bool:
    """Whether it runs a text the parser has not looked into: what a pipe brings to a shell, or an interpreter's own."""
    text = any(word.text.startswith(("-c", "-e", "-r", "--eval")) for word in command.words[1:])
    return (command.program in SHELLS and bool(command.upstream)) or (command.program in tables.INTERPRETERS and text)


def _is_device(redirect: Redirect, start: str) -> bool:
    folders = redirect.folders or (start,)
    return any(
        _DEVICE.match(posixpath.normpath(posixpath.join(start, folder, redirect.target.text))) for folder in folders
    )


def _never_command(command: SimpleCommand, start: str, home: str) -> str | None:
    # A dynamic first word may turn out empty; then the next one is the program.
    words = command.words
    while words and words[0].dynamic:
        words = words[1:]
    if not words:
        return None
    program = words[0].text.rsplit("/", 1)[-1]
    rest = words[1:]
    argv = tuple(word.text for word in rest)
    whole = _Whole(command.folders, start, home)
    if words[0].glob:  # `/bin/r?` is the first of these programs it may stand for
        found = [name for name in _CHECKS if fnmatchcase(name, program)]
    else:
        found = ["mkfs" if program.startswith("mkfs") else program]
    checks = [(name, _CHECKS[name]) for name in found if name in _CHECKS]
    return next((why for name, check in checks if (why := check(name, rest, argv, whole))), None)


class _Whole:
    """Tells whether a path is the root, the home folder or one of the system's own folders, or everything in one."""

    def __init__(self, folders: tuple[str, ...] | None, start: str, home: str) -> None:
        self.folders = folders if folders is not None else ("",)
        self.start = start
        self.home = posixpath.normpath(home)

    def __call__(self, word: Word) -> bool:
        text = _HOME_NAMES.sub(lambda _: self.home, word.text)
        if "$" in text or "`" in text:
            return False
        if _HOMES.fullmatch(text):
            return True
        return any(self._is_whole(text, folder) for folder in self.folders)

    def _is_whole(self, text: str, folder: str) -> bool:
        folder = _HOME_NAMES.sub(lambda _: self.home, folder)
        path = posixpath.normpath(posixpath.join(self.start, folder, text))
        path = "/" + path.lstrip("/")
        if path.count("/") == 1 and any(mark in path for mark in "*?["):
            return True  # `/e*` is at least one of the system's folders
        if path.rsplit("/", 1)[-1] in ("*", ".*", "{*,.*}", "**"):
            path = posixpath.dirname(path)
        inside_home = self.home == path or self.home.startswith(path.rstrip("/") + "/")
        return path == "/" or inside_home or path in tables.SYSTEM_FOLDERS


_Check = Callable[[str, tuple[Word, ...], tuple[str, ...], _Whole], str | None]


def _removes(program: str, rest: tuple[Word, ...], argv: tuple[str, ...], whole: _Whole) -> str | None:
    recursive = has_option(argv, "rR", ("recursive", "no-preserve-root"))
    if not recursive:
        return None
    found = next((word for word in rest if not word.text.startswith("-") and whole(word)), None)
    return f"{program} would take the whole of {found.text!r}" if found else None


def _finds(program: str, rest: tuple[Word, ...], argv: tuple[str, ...], whole: _Whole) -> str | None:
    starts: list[Word] = []
    for word in rest:
        if word.text.startswith(("-", "(", "!")) and word.text not in ("-H", "-L", "-P"):
            break
        starts.append(word)
    executes = any(text in ("-exec", "-execdir") for text in argv)
    deletes = "-delete" in argv or (executes and any(text in ("rm", "shred") for text in argv))
    if not deletes:
        return None
    narrowed = any(text in ("-name", "-iname", "-path", "-regex", "-iregex", "-ipath", "-newer") for text in argv)
    found = next((word for word in starts if whole(word)), None)
    return f"find would delete the whole of {found.text!r}" if found and not narrowed else None


def _writes_device(program: str, rest: tuple[Word, ...], argv: tuple[str, ...], whole: _Whole) -> str | None:
    targets = [text.removeprefix("of=") for text in argv if program != "dd" or text.startswith("of=")]
    found = next((text for text in targets if _DEVICE.match(posixpath.normpath(text))), None)
    return f"{program} writes to the device {found}" if found else None


def _formats(program: str, rest: tuple[Word, ...], argv: tuple[str, ...], whole: _Whole) -> str | None:
    return f"{program} formats a disk"


def _stops(program: str, rest: tuple[Word, ...], argv: tuple[str, ...], whole: _Whole) -> str | None:
    asks = program not in _STOPS and not any(
        text.removesuffix(".target") in ("0", "6", *_STOPS, "kexec", "emergency") for text in argv
    )
    return None if asks or "-c" in argv or "--help" in argv else f"{program} stops the machine"


def _kills_all(program: str, rest: tuple[Word, ...], argv: tuple[str, ...], whole: _Whole) -> str | None:
    targets = argv[1:] if argv[:1] and argv[0].startswith("-") else argv
    return "kill would end every process" if "-1" in targets else None


def _ends_all(program: str, rest: tuple[Word, ...], argv: tuple[str, ...], whole: _Whole) -> str | None:
    return f"{program} would end every process"


def _shreds(program: str, rest: tuple[Word, ...], argv: tuple[str, ...], whole: _Whole) -> str | None:
    return _removes(program, rest, argv, whole) or _writes_device(program, rest, argv, whole)


def _empties(program: str, rest: tuple[Word, ...], argv: tuple[str, ...], whole: _Whole) -> str | None:
    deletes = any(text.startswith("--del") for text in argv)
    return f"{program} would empty {argv[-1]!r}" if deletes and argv and whole(rest[-1]) else None


def _moves(program: str, rest: tuple[Word, ...], argv: tuple[str, ...], whole: _Whole) -> str | None:
    found = next((word for word in rest[:-1] if not word.text.startswith("-") and whole(word)), None)
    if found:
        return f"mv would take the whole of {found.text!r}"
    return _writes_device(program, rest, argv, whole)


_CHECKS: dict[str, _Check] = {
    **dict.fromkeys(("rm", "chmod", "chown", "chgrp", "setfacl"), _removes),
    **dict.fromkeys(("dd", "tee", "cp", "truncate", "install"), _writes_device),
    **dict.fromkeys(("mkfs", "wipefs", "mkswap", "newfs"), _formats),
    **dict.fromkeys((*_STOPS, "init", "telinit", "systemctl", "loginctl"), _stops),
    "killall5": _ends_all,
    "shred": _shreds,
    "rsync": _empties,
    "find": _finds,
    "kill": _kills_all,
    "mv": _moves,
}
