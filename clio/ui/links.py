"""Links in answers: whether a terminal supports them, which addresses are safe, and those of the project's files."""

import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from clio.text.lazy_regex import LazyRegex

_LINK_PROGRAMS = frozenset("iTerm.app WezTerm vscode ghostty Hyper Tabby rio WarpTerminal".split())
_LINK_TERMS = ("xterm-kitty", "xterm-ghostty", "alacritty", "foot", "wezterm", "contour")
_LINK_VARIABLES = ("WT_SESSION", "KITTY_WINDOW_ID", "KONSOLE_VERSION", "ALACRITTY_WINDOW_ID", "DOMTERM")
_OLDEST_VTE = 5000  # 0.50; older versions crashed on some links
_OLDEST_TMUX = (3, 4)
_MAX_LINK_CHARS = 2000
# No control characters, blanks or non-ASCII: nothing can end the sequence or look like another address.
_SAFE_LINK = LazyRegex(
    r"https?://[\x21-\x7e]+|file://(?:localhost)?/[\x21-\x7e]+|mailto:[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
    re.IGNORECASE | re.ASCII,
)
# Files that a desktop runs, or that lead elsewhere, when they are opened; also endings that are hidden by an escape.
_PROGRAM = LazyRegex(
    r"file:.*(?:%2e|\.[^./]*%|\.(?:app|appimage|bat|cmd|com|command|cpl|desktop|dll|dmg|exe|hta|inetloc|jar|jnlp|jse"
    r"|lnk|msi|msp|pif|pkg|ps1|psm1|reg|scpt|scr|terminal|tool|url|vbe|vbs|webloc|workflow|wsf|wsh)[/.]*(?:[?#]|$))",
    re.IGNORECASE,
)
_WINDOWS_SCRIPT = ".js"  # run when it is opened, on Windows alone


def supports_links(env: Mapping[str, str]) -> bool:
    """Whether the terminal is known to support links. FORCE_HYPERLINK overrides it: 0 is no, any other value yes."""
    if forced := env.get("FORCE_HYPERLINK", ""):
        return forced != "0"
    program = env.get("TERM_PROGRAM", "")
    if env.get("TMUX") or program == "tmux":
        return program == "tmux" and _parse_version(env.get("TERM_PROGRAM_VERSION", "")) >= _OLDEST_TMUX
    if env.get("STY") or env.get("TERM", "").startswith("screen"):
        return False
    vte = env.get("VTE_VERSION", "")
    return (
        program in _LINK_PROGRAMS
        or env.get("TERM", "").startswith(_LINK_TERMS)
        or any(env.get(mark) for mark in _LINK_VARIABLES)
        or (vte.isdigit() and int(vte) >= _OLDEST_VTE)
    )


def is_safe_link(target: str) -> bool:
    """Whether an address from a model may become a link: http, https, mailto, or a file on this machine.

    Programs are excluded, because opening a file of theirs would run it.
    """
    if sys.platform == "win32" and target.lower().startswith("file:") and _WINDOWS_SCRIPT in target.lower():
        return False
    return (
        len(target) <= _MAX_LINK_CHARS and _SAFE_LINK.fullmatch(target) is not None and _PROGRAM.match(target) is None
    )


def _parse_version(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text)[:2])


# A name with a folder or an ending, perhaps with a line: "src/retry.py:12", "Makefile.am", "docs/index.md#L3".
_NAME = LazyRegex(
    r"(?<![\w./~@:+-])(?P<name>/?(?:[\w.@+-]+/)+[\w.@+-]*\w|[\w@+-][\w.@+-]*\.\w{1,8})(?::(?P<line>\d+)(?:[-:]\d+)?)?(?![\w/])"
)
_ADDRESS_LINE = LazyRegex(r"#L?(?P<line>\d+)(?:-L?\d+)?$")
_MAX_NAME_CHARS = 300
_MAX_REMEMBERED = 2_000  # names whose file is looked up once


class FileLinks:
    """Finds the addresses of the project's files.

    Opening a program would run it on some systems, so that programs get no link.

    Args:
        project: names are relative to it, and files outside of it get no link.
        with_lines: the terminal takes a line number after "#".
    """

    def __init__(self, project: Path, *, with_lines: bool = False) -> None:
        self._root = os.path.realpath(project)
        self._with_lines = with_lines
        self._addresses: dict[str, str] = {}

    def find_names(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield start, end and address of each file that a text names."""
        for found in _NAME.finditer(text):
            if address := self._get_address(found["name"], found["line"]):
                yield found.start(), found.end(), address

    def resolve(self, target: str) -> str:
        """Return the address of the file that a link without a scheme points to; "" if there is none."""
        line = _ADDRESS_LINE.search(target)
        return self._get_address(target[: line.start()] if line else target, line["line"] if line else None)

    def forget(self) -> None:
        """Look up all files again: a turn may have created some."""
        self._addresses.clear()

    def _get_address(self, name: str, line: str | None) -> str:
        if name not in self._addresses:
            if len(self._addresses) >= _MAX_REMEMBERED:
                self._addresses.clear()
            self._addresses[name] = self._make_address(name)
        address = self._addresses[name]
        return f"{address}#{line}" if address and line and self._with_lines else address

    def _make_address(self, name: str) -> str:
        if len(name) > _MAX_NAME_CHARS:
            return ""
        path = os.path.realpath(os.path.join(self._root, name))  # noqa: PTH118  # several times faster than pathlib
        if not path.startswith(self._root + os.sep) or not os.path.isfile(path):  # noqa: PTH113
            return ""
        if _is_executable(path):
            return ""
        address = Path(path).as_uri()
        return address if is_safe_link(address) else ""


def is_program(address: str) -> bool:
    """Whether an address is that of an executable file on this machine."""
    parts = urlsplit(address)
    return parts.scheme.lower() == "file" and _is_executable(unquote(parts.path))


def _is_executable(path: str) -> bool:
    return os.name == "posix" and os.path.isfile(path) and os.access(path, os.X_OK)  # noqa: PTH113


def detect_file_links(env: Mapping[str, str], project: Path) -> FileLinks | None:
    """Return how files are linked in this terminal; None if it could not open them: it runs on another system."""
    if env.get("SSH_CONNECTION") or env.get("WSL_DISTRO_NAME"):
        return None
    return FileLinks(project, with_lines=bool(env.get("KITTY_WINDOW_ID")))
