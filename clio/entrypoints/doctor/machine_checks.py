"""Checks of the machine: Python, packages, programs, folders, the sandbox."""

import os
import platform
import re
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from clio import __file__ as clio_file
from clio import __version__
from clio.checks.checkers import describe_checks, waiting_programs
from clio.commands.subcommands import GcRequest
from clio.config.schema import CHECKS_AUTO, CHECKS_OFF
from clio.entrypoints.disk_usage import look
from clio.entrypoints.doctor.finding import Finding, Ground, fix, note, ok, several
from clio.errors import ToolFailed
from clio.sandbox.fence import Level
from clio.sandbox.sandbox import Confinement, Sandbox
from clio.security.shell.parser import has_grammar
from clio.text.lazy_regex import LazyRegex
from clio.tools.files.file_index import ripgrep
from clio.tools.files.text_file import size_text

PACKAGE = "clio-shell"
OLDEST = (3, 11)
_REQUIREMENT = LazyRegex(r"(?P<name>[\w.-]+)(\[[^\]]*\])?\s*(>=\s*(?P<least>[\d.]+))?[^;]*(;\s*(?P<marker>.*))?")
_PYTHON = LazyRegex(r"python_version\s*<\s*['\"](?P<below>\d+(\.\d+)*)['\"]")
_EXTRA = LazyRegex(r"extra\s*==\s*['\"](?P<extra>[\w-]+)")
_DAY_S = 86_400.0
_NARROW = 40


def check_python(ground: Ground) -> Iterator[Finding]:
    """Whether clio supports this version of Python."""
    text = f"{__version__} on Python {platform.python_version()}, {platform.platform(terse=True)}"
    if sys.version_info[:2] >= OLDEST:
        yield ok("clio", text)
    else:
        yield note("clio", text, f"it needs Python {OLDEST[0]}.{OLDEST[1]} or later; install it with one of these")


def check_packages(ground: Ground) -> Iterator[Finding]:
    """Whether all required packages are installed and new enough."""
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
    """Whether command lines can be parsed; only a parsed line can run without approval."""
    if has_grammar():
        yield ok("commands", "their grammar is installed, so those that only read need no question")
    else:
        yield note("commands", "tree-sitter or tree-sitter-bash is not installed, so clio asks about every command",
                   "install both, or clio with a Python they have wheels for")  # fmt: skip


def check_clock(ground: Ground) -> Iterator[Finding]:
    """Whether the clock is behind, which breaks the order of sessions, memory decay, and certificates."""
    now = time.time()
    said = time.strftime("%Y-%m-%d %H:%M %z", time.localtime(now))
    if now < os.stat(clio_file).st_mtime - _DAY_S:  # noqa: PTH116 a Path would say no more
        yield fix("clock", f"{said}, before clio was installed", "set it")
    else:
        yield ok("clock", said)


def check_terminal(ground: Ground) -> Iterator[Finding]:
    """Whether the terminal can show what clio draws."""
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
    """Whether a requirement applies here; clio's only marker is `python_version < "X.Y"`."""
    found = _PYTHON.search(line.partition(";")[2])
    return found is None or sys.version_info[:2] < tuple(int(part) for part in found["below"].split("."))


def _problem(line: str) -> tuple[str, str] | None:
    """What is wrong with a required package, and its specifier for pip; None where nothing is wrong."""
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
    """The leading numbers of a version, without trailing zeros: "2.0.1rc1" is (2, 0, 1)."""
    found = re.match(r"\d+(\.\d+)*", version)
    numbers = [int(part) for part in found[0].split(".")] if found else []
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def _extras(wanted: list[str]) -> set[str]:
    """The extras whose packages are all installed."""
    by_extra: dict[str, list[str]] = {}
    for line in wanted:
        if found := _EXTRA.search(line):
            by_extra.setdefault(found["extra"], []).append(line)
    return {extra for extra, lines in by_extra.items() if not any(map(_problem, lines))}


GIT_NEEDED = (2, 23)
"""The version that introduced `git switch`."""
_TIME_LIMIT_S = 3.0
_VERSION = LazyRegex(r"\d+\.\d+[\w.+-]*")


def check_git(ground: Ground) -> Iterator[Finding]:
    """Whether git runs and is new enough, and whether the project is a repository."""
    found = _program("git", "git", "it is needed for branches, diffs and commits; install it")
    version = _VERSION.search(found.text) if found.mark == "ok" else None
    if version and tuple(int(part) for part in version[0].split(".")[:2]) < GIT_NEEDED:
        wanted = ".".join(map(str, GIT_NEEDED))
        yield note(
            "git", f"{version[0]} is older than {wanted}, so switching branches fails", f"install {wanted} or later"
        )
    elif version and not (ground.project / ".git").exists():
        yield ok("git", f"{version[0]}; this project is not under it")
    else:
        yield found


def check_ripgrep(ground: Ground) -> Iterator[Finding]:
    """Whether ripgrep is there for fast searches."""
    yield _program("ripgrep", ripgrep(), "searching works without it, more slowly; install ripgrep")


def check_edit_checks(ground: Ground) -> Iterator[Finding]:
    """Which checks run on changed files after a step that edited."""
    wanted = ground.loaded.config.checks
    found = describe_checks(wanted, ground.project)
    waiting = waiting_programs(wanted, ground.project, ground.owner, ground.home)
    ready = [name for name in found if name not in waiting]
    named = f"after edits: {', '.join(ready)}" if ready else "no program is found"
    if wanted[-1:] == (CHECKS_OFF,):
        yield ok("checks", "off, the model is not told what its edits break")
    elif CHECKS_AUTO in wanted:
        yield ok("checks", f"{named}; Python, JSON, TOML and YAML that none of them reads is parsed")
    else:
        yield ok("checks", named)
    if waiting:
        confined = "once the project is trusted, and only confined"
        yield note(
            "checks", f"{', '.join(waiting)} would run code of this project, so only {confined}", "clio config trust"
        )


def _program(name: str, path: str | None, without: str) -> Finding:
    if path is None:
        return note(name, "not found", without)
    try:
        done = subprocess.run(
            [path, "--version"], capture_output=True, text=True, errors="replace", timeout=_TIME_LIMIT_S, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except FileNotFoundError:
        return note(name, "not found", without)
    except subprocess.TimeoutExpired:
        return fix(name, f"{path!r} does not end", "reinstall it")
    except OSError as error:
        return fix(name, f"{path!r} does not run: {error.strerror}", "reinstall it")
    if done.returncode != 0 or not done.stdout.strip():
        return fix(name, f"{path!r} ends with exit code {done.returncode}", "reinstall it")
    words = done.stdout.split()
    return ok(name, next((word for word in words if word[:1].isdigit()), words[0]))


LITTLE_BYTES, SOME_BYTES = 100_000_000, 1_000_000_000
MUCH_BYTES, MANY_UNFINISHED = 100_000_000, 1_000
"""Above one of these, what `clio gc` could free is reported as a note; the second counts unfinished writes."""
_FEW_FILES = 1_000
_READ_BYTES = 1_000_000
_OTHERS_READ = stat.S_IRGRP | stat.S_IROTH
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
# A literal value, not a reference to a variable.
_SECRET = re.compile(
    rb"(?i)[\w-]*(key|token|secret|passw\w*|authorization|credential)[\w-]*[\"']?\s*[:=]\s*[\"']?(?!\$)[^\s\"'#]{8}"
)


def check_home(ground: Ground) -> Iterator[Finding]:
    """Whether clio's own folder, or the one it will be created in, can be written."""
    if ground.loaded.config.incognito:
        yield ok("home", f"{ground.shown(ground.home)}, not written to because clio is incognito")
        return
    yield _writable("home", ground.home, ground, "make it yours, or set CLIO_HOME")
    if ground.home.is_dir() and _mode(ground.home) & _OTHERS_WRITE:
        yield fix("home", f"others can write into {ground.shown(ground.home)}, and so decide what clio runs",
                  f"chmod go-w {ground.shown(ground.home)}")  # fmt: skip


def check_project(ground: Ground) -> Iterator[Finding]:
    """Whether the project's sessions and memory can be stored."""
    if ground.loaded.config.incognito:
        yield ok("project", f"{ground.owner}, not written to because clio is incognito")
    else:
        yield _writable("project", ground.owner / ".clio", ground, "make it yours, or work with --incognito")


def check_secrets(ground: Ground) -> Iterator[Finding]:
    """Whether other users can read a file that contains a key."""
    own = [ground.home / name for name in ("config.yaml", "mcp.yaml", "hooks.yaml")]
    theirs = [ground.owner / ".clio" / name for name in ("config.yaml", "mcp.yaml")]
    files = [*own, *theirs, ground.owner / ".mcp.json"]
    holding = [path for path in dict.fromkeys(files) if path.is_file() and _SECRET.search(_head(path))]
    open_to_others = [path for path in holding if _mode(path) & _OTHERS_READ] if os.name != "nt" else []
    for path in open_to_others:
        yield fix("keys", f"{ground.shown(path)} holds one and others can read it", f"chmod 600 {ground.shown(path)}")
    if not open_to_others:
        yield ok(
            "keys",
            f"in {several(len(holding), 'file')}, which only you can read"
            if holding
            else "no file of clio's holds one",
        )


def check_disk(ground: Ground) -> Iterator[Finding]:
    """How much space is left where clio writes."""
    seen: set[int] = set()
    for name, folder in (("home", ground.home), ("project", ground.owner)):
        there = _nearest(folder)
        if (device := there.stat().st_dev) in seen:
            continue
        seen.add(device)
        free = shutil.disk_usage(there).free
        text = f"{size_text(free)} free for {ground.shown(folder) if name == 'home' else 'the project'}"
        if free < LITTLE_BYTES or _files_left(there) < _FEW_FILES:
            yield fix("disk", f"{text}, and {_files_left(there):,.0f} files" if free >= LITTLE_BYTES else text,
                      "make room before a session cannot be kept")  # fmt: skip
        elif free < SOME_BYTES:
            yield note("disk", text, "make room soon")
        else:
            yield ok("disk", text)


def check_space(ground: Ground) -> Iterator[Finding]:
    """What `clio gc` could free in clio's folders."""
    heaps = look(ground.loaded, GcRequest())
    waste = sum(heap.wasted for heap in heaps)
    unfinished = sum(len(heap.waste) for heap in heaps if heap.what == "unfinished writes")
    left = f" with {several(unfinished, 'unfinished write')} that kills left" if unfinished else ""
    if waste > MUCH_BYTES or unfinished > MANY_UNFINISHED:
        yield note("space", f"{size_text(waste)} may go{left}", "free it with: clio gc")
    else:
        size = size_text(sum(heap.bytes for heap in heaps))
        yield ok("space", f"{size} in clio's folders, {size_text(waste)} may go{left}" if heaps else "nothing kept yet")


def _writable(about: str, folder: Path, ground: Ground, todo: str) -> Finding:
    shown = ground.shown(folder)
    there = _nearest(folder)
    if not there.is_dir():
        return fix(about, f"{shown} cannot be written: {ground.shown(there)} is no folder", todo)
    if not os.access(there, os.W_OK | os.X_OK):
        return fix(about, f"{shown} cannot be written: you may not, or it is mounted to be read", todo)
    return ok(about, f"{shown} can be written" + ("" if there == folder else "; it is made when it is needed"))


def _nearest(folder: Path) -> Path:
    """The folder, or its nearest existing parent."""
    return next(path for path in (folder, *folder.parents) if os.path.lexists(path))


def _files_left(folder: Path) -> float:
    """How many more files the file system can hold; infinite where it has no such limit."""
    if not hasattr(os, "statvfs"):
        return float("inf")
    status = os.statvfs(folder)
    return status.f_favail if status.f_files else float("inf")


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_READ_BYTES)
    except OSError:
        return b""  # the check of the configuration reports it


def _mode(path: Path) -> int:
    return path.stat().st_mode


_CONTAINER = (Path("/.dockerenv"), Path("/run/.containerenv"))
_SHORT_CHARS = 100
_PARTLY = ", in part: files' modes and times, and other terminals, stay open to them"


def check_sandbox(ground: Ground) -> Iterator[Finding]:
    """Which sandbox level works: a small command is run at each level, in a temporary folder."""
    config = ground.loaded.config
    # "off" is tried as "auto": a user without a sandbox is told which one would work.
    choice = "auto" if config.sandbox == "off" else config.sandbox
    sandbox = Sandbox(choice, home=ground.home, person=ground.person, env=ground.env)
    try:
        level = sandbox.level()
    except ToolFailed as error:
        wrong, _, todo = str(error).partition("; ")
        yield fix("sandbox", wrong.removeprefix("the sandbox "), todo.removeprefix("the user can "))
        return
    why = _why(sandbox)
    if config.sandbox != "off":
        none = f"none holds here: {why}{_around()}"
        held = f"{level} holds commands to the project{_PARTLY if level == 'landlock' else ''}"
        install = "install bubblewrap, or run clio in a container"
        yield note("sandbox", none, install) if level == "off" else ok("sandbox", held)
        return
    in_part = ", in part" if level == "landlock" else ""
    would = f"{level} would hold them here{in_part}" if level != "off" else f"none would hold them here: {why}"
    text = f"off, commands run with your rights{_around()}, approve is {config.approve}; {would}"
    if config.approve != "all" or _container():
        yield ok("sandbox", text)
    else:
        yield note("sandbox", text, "clio --sandbox auto, or --approve edits")


def check_confinement(ground: Ground) -> Iterator[Finding]:
    """What confines commands that run without approval; a small command is run to find out."""
    confinement = Confinement(
        wanted=ground.loaded.config.confine_unasked != "off", home=None, person=ground.person, env=ground.env
    )
    about, sentence = "confinement", confinement.describe()
    text = sentence[:1].lower() + sentence[1:]
    if not confinement.wanted:
        yield ok(about, text)
    elif confinement.level() == "off":
        yield note(about, text, "install bubblewrap, or use Linux 6.2 or later")
    else:
        yield ok(about, text)


def _why(sandbox: Sandbox) -> str:
    """Why no level works, in a few words each."""
    reasons: dict[Level, str] = dict(sandbox.reasons)
    return ", ".join(f"{level}: {reason[:_SHORT_CHARS]}" for level, reason in reasons.items() if reason)


def _around() -> str:
    """Whether clio itself runs in a container or as root."""
    if found := _container():
        return f", inside a container ({found})"
    return ", as root" if hasattr(os, "geteuid") and os.geteuid() == 0 else ""


def _container() -> str:
    return next((str(path) for path in _CONTAINER if path.exists()), "")
