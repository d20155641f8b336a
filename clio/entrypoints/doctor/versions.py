"""Python, clio, the packages it needs, the clock and the terminal."""

import os
import platform
import re
import shutil
import sys
import time
from collections.abc import Iterator
from importlib import metadata

from clio import __file__ as clio_file
from clio import __version__
from clio.entrypoints.doctor.finding import Finding, Ground, fix, note, ok
from clio.security.shell.parser import has_grammar
from clio.text.lazy_regex import LazyRegex

PACKAGE = "clio-shell"
OLDEST = (3, 11)
_REQUIREMENT = LazyRegex(r"(?P<name>[\w.-]+)(\[[^\]]*\])?\s*(>=\s*(?P<least>[\d.]+))?[^;]*(;\s*(?P<marker>.*))?")
_PYTHON = LazyRegex(r"python_version\s*<\s*['\"](?P<below>\d+(\.\d+)*)['\"]")
_EXTRA = LazyRegex(r"extra\s*==\s*['\"](?P<extra>[\w-]+)")
_DAY_S = 86_400.0
_NARROW = 40


def check_python(ground: Ground) -> Iterator[Finding]:
    """Whether this Python is one clio is made for."""
    text = f"{__version__} on Python {platform.python_version()}, {platform.platform(terse=True)}"
    if sys.version_info[:2] >= OLDEST:
        yield ok("clio", text)
    else:
        yield note("clio", text, f"it needs Python {OLDEST[0]}.{OLDEST[1]} or later; install it with one of these")


def check_packages(ground: Ground) -> Iterator[Finding]:
    """Whether everything that was to be installed with clio is there, and new enough."""
    try:
        wanted = metadata.requires(PACKAGE) or []
    except metadata.PackageNotFoundError:
        yield note("packages", f"{PACKAGE} is not installed, it runs from its folder", "pip install . there to be sure")
        return
    needed = [line for line in wanted if "extra" not in line.partition(";")[2] and _is_for_this_python(line)]
    problems = [problem for line in needed if (problem := _problem(line))]
    for problem in problems:
        yield fix("packages", problem[0], f"pip install '{problem[1]}'")
    if not problems:
        extras = sorted(_extras(wanted) - {"dev"})
        more = f"; extras: {', '.join(extras)}" if extras else ""
        yield ok("packages", f"all {len(needed)} that clio needs, as new as it needs them{more}")


def check_grammar(ground: Ground) -> Iterator[Finding]:
    """Whether command lines can be read; only a line that was read can run without a question."""
    if has_grammar():
        yield ok("commands", "their grammar is installed, so those that only read need no question")
    else:
        yield note("commands", "tree-sitter or tree-sitter-bash is not installed, so clio asks about every command",
                   "install both, or clio with a Python they have wheels for")  # fmt: skip


def check_clock(ground: Ground) -> Iterator[Finding]:
    """A clock that runs behind spoils the order of sessions, what fades, and certificates."""
    now = time.time()
    said = time.strftime("%Y-%m-%d %H:%M %z", time.localtime(now))
    if now < os.stat(clio_file).st_mtime - _DAY_S:  # noqa: PTH116 a Path would say no more
        yield fix("clock", f"{said}, before clio was installed", "set it")
    else:
        yield ok("clock", said)


def check_terminal(ground: Ground) -> Iterator[Finding]:
    """Whether the screen can show what clio draws."""
    encoding = (getattr(sys.stdout, "encoding", None) or "").lower()
    if encoding.replace("-", "") != "utf8":
        yield note("terminal", f"its encoding is {encoding or 'unknown'}, so some characters become ?",
                   "set LANG to a UTF-8 locale, such as C.UTF-8")  # fmt: skip
        return
    if sys.stdout is None or not sys.stdout.isatty():
        yield ok("terminal", "none, the output is read by a program; encoding utf-8")
        return
    term, size = ground.env.get("TERM", ""), shutil.get_terminal_size()
    text = f"{term or 'TERM is not set'}, {size.columns}×{size.lines}, {_colours(ground, term)}, utf-8"
    if term in ("", "dumb"):
        yield note("terminal", text, "nothing can be redrawn there; set TERM to what it is, such as xterm-256color")
    elif size.columns < _NARROW:
        yield note("terminal", text, f"widen it to {_NARROW} columns or more")
    else:
        yield ok("terminal", text)


def _colours(ground: Ground, term: str) -> str:
    if not ground.loaded.config.color:
        return "no colours as configured"
    if ground.env.get("COLORTERM", "").lower() in ("truecolor", "24bit"):
        return "16 million colours"
    return "256 colours" if "256" in term else "16 colours"


def _is_for_this_python(line: str) -> bool:
    """Whether a requirement counts here; clio uses no marker but `python_version < "X.Y"`."""
    found = _PYTHON.search(line.partition(";")[2])
    return found is None or sys.version_info[:2] < tuple(int(part) for part in found["below"].split("."))


def _problem(line: str) -> tuple[str, str] | None:
    """What is wrong with a required package, and how pip is asked for it; None where nothing is."""
    found = _REQUIREMENT.fullmatch(line.strip())
    if found is None:
        return None
    name, least = found["name"], found["least"]
    asked = f"{name}>={least}" if least else name
    try:
        there = metadata.version(name)
    except metadata.PackageNotFoundError:
        return f"{name} is missing", asked
    if least and _numbers(there) < _numbers(least):
        return f"{name} is {there}, and clio needs {least}", asked
    return None


def _numbers(version: str) -> tuple[int, ...]:
    """The leading numbers of a version, without zeros at the end: "2.0.1rc1" is (2, 0, 1)."""
    found = re.match(r"\d+(\.\d+)*", version)
    numbers = [int(part) for part in found[0].split(".")] if found else []
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def _extras(wanted: list[str]) -> set[str]:
    """The extras all of whose packages are there."""
    by_extra: dict[str, list[str]] = {}
    for line in wanted:
        if found := _EXTRA.search(line):
            by_extra.setdefault(found["extra"], []).append(line)
    return {extra for extra, lines in by_extra.items() if not any(map(_problem, lines))}
