"""The checks of `clio doctor` on the machine: Python, packages, terminal, programs and sandbox."""

import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from clio import __file__ as clio_file
from clio import __version__
from clio.entrypoints.doctor.findings import DoctorContext, Finding, make_note, make_ok, make_problem
from clio.errors import ToolFailed
from clio.installation import PACKAGE
from clio.sandbox.fence import SandboxLevel
from clio.sandbox.sandbox import Confinement, Sandbox
from clio.security.shell.parser import has_grammar
from clio.text.translation import mark, tr
from clio.tools.files.file_index import find_ripgrep

OLDEST, NEWEST = (3, 11), (3, 15)
"""The versions of Python that clio supports; a later one may work, but is untested."""
NO_GRAMMAR_FROM = (3, 15)
"""The first version of Python that tree-sitter has no wheel for."""
_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(\[[^\]]*\])?\s*(>=\s*(?P<minimum>[\d.]+))?[^;]*(;\s*(?P<marker>.*))?")
_PYTHON = re.compile(r"python_version\s*<\s*['\"](?P<below>\d+(\.\d+)*)['\"]")
_SUPPORTED = tr(
    "Python {oldest_major}.{oldest_minor} to {newest_major}.{newest_minor}",
    oldest_major=OLDEST[0],
    oldest_minor=OLDEST[1],
    newest_major=NEWEST[0],
    newest_minor=NEWEST[1],
)
_EXTRA = re.compile(r"extra\s*==\s*['\"](?P<extra>[\w-]+)")
_DAY_S = 86_400.0
_MIN_COLUMNS = 40


def check_python(context: DoctorContext) -> Iterator[Finding]:
    """Whether clio supports this version of Python."""
    text = tr(
        "{version} on Python {python_version}, {platform}",
        version=__version__,
        python_version=platform.python_version(),
        platform=platform.platform(terse=True),
    )
    if sys.version_info[:2] < OLDEST:
        yield make_note(
            "clio",
            text,
            tr(
                "clio needs Python {oldest_major}.{oldest_minor} or later",
                oldest_major=OLDEST[0],
                oldest_minor=OLDEST[1],
            ),
        )
    elif sys.version_info[:2] > NEWEST:
        untested = tr("{text}; clio is not tested with this version of Python", text=text)
        yield make_note("clio", untested, tr("use {supported} if something fails", supported=_SUPPORTED))
    else:
        yield make_ok("clio", text)


def check_packages(context: DoctorContext) -> Iterator[Finding]:
    """Whether all required packages are installed and new enough."""
    try:
        wanted = metadata.requires(PACKAGE) or []
    except metadata.PackageNotFoundError:
        yield make_note(
            "packages",
            tr("{package} is not installed; it runs from its source folder", package=PACKAGE),
            tr("run pip install . there"),
        )
        return
    needed = [line for line in wanted if "extra" not in line.partition(";")[2] and _is_for_this_python(line)]
    problems = [problem for line in needed if (problem := _find_package_problem(line))]
    for problem in problems:
        yield make_problem("packages", problem[0], f"pip install '{problem[1]}'")
    if not problems:
        extras = sorted(_list_complete_extras(wanted) - {"dev"})
        more = tr("; extras: {extras}", extras=", ".join(extras)) if extras else ""
        yield make_ok("packages", tr("all {count} required packages are installed{more}", count=len(needed), more=more))


def check_grammar(context: DoctorContext) -> Iterator[Finding]:
    """Whether command lines can be parsed; only a parsed line can run without approval."""
    if has_grammar():
        yield make_ok("commands", tr("grammar installed, so read-only commands run without asking"))
        return
    version = sys.version_info[:2]
    if version >= NO_GRAMMAR_FROM:
        yield make_note(
            "commands",
            tr(
                "tree-sitter has no wheel for Python {version}.{version2} yet, so clio asks about every command",
                version=version[0],
                version2=version[1],
            ),
            tr("on Python 3.11 to 3.14, commands that only read run without asking"),
        )
    else:
        packages = " ".join(f"'{name}>=0.25'" for name in ("tree-sitter", "tree-sitter-bash"))
        yield make_note(
            "commands",
            tr("tree-sitter or tree-sitter-bash is not installed, so clio asks about every command"),
            f"pip install {packages}",
        )


def check_clock(context: DoctorContext) -> Iterator[Finding]:
    """Whether the clock is behind, which breaks the order of sessions, memory decay, and certificates."""
    now = time.time()
    text = time.strftime("%Y-%m-%d %H:%M %z", time.localtime(now))
    if now < os.stat(clio_file).st_mtime - _DAY_S:  # noqa: PTH116 a Path would say no more
        yield make_problem("clock", tr("{text}, which is before clio was installed", text=text), tr("set the clock"))
    else:
        yield make_ok("clock", text)


def check_terminal(context: DoctorContext) -> Iterator[Finding]:
    """Whether the terminal can show what clio draws."""
    encoding = (getattr(sys.stdout, "encoding", None) or "").lower()
    if encoding.replace("-", "") != "utf8":
        yield make_note(
            "terminal",
            tr("encoding {encoding}, so some characters are shown as ?", encoding=encoding or tr("unknown")),
            tr("set LANG to a UTF-8 locale, such as C.UTF-8"),
        )
        return
    if sys.stdout is None or not sys.stdout.isatty():
        yield make_ok("terminal", tr("none, the output goes to a program or a file; encoding utf-8"))
        return
    term, size = context.env.get("TERM", ""), shutil.get_terminal_size()
    text = tr(
        "{term}, {columns}×{lines}, {colours}, utf-8",
        term=term or tr("TERM is not set"),
        columns=size.columns,
        lines=size.lines,
        colours=_describe_colours(context, term),
    )
    if term in ("", "dumb"):
        yield make_note(
            "terminal", text, tr("lines cannot be redrawn; set TERM to the terminal's type, such as xterm-256color")
        )
    elif size.columns < _MIN_COLUMNS:
        yield make_note("terminal", text, tr("widen it to {narrow} columns or more", narrow=_MIN_COLUMNS))
    else:
        yield make_ok("terminal", text)


def _describe_colours(context: DoctorContext, term: str) -> str:
    if not context.loaded.config.color:
        return tr("colours off as configured")
    if context.env.get("COLORTERM", "").lower() in ("truecolor", "24bit"):
        return tr("16 million colours")
    return "256 colours" if "256" in term else "16 colours"


def _is_for_this_python(line: str) -> bool:
    """Whether a requirement applies here; clio's only marker is `python_version < "X.Y"`."""
    found = _PYTHON.search(line.partition(";")[2])
    return found is None or sys.version_info[:2] < tuple(int(part) for part in found["below"].split("."))


def _find_package_problem(line: str) -> tuple[str, str] | None:
    """Return what is wrong with a required package, and its specifier for pip; None if nothing is."""
    found = _REQUIREMENT.fullmatch(line.strip())
    if found is None:
        return None
    name, minimum = found["name"], found["minimum"]
    requirement = f"{name}>={minimum}" if minimum else name
    try:
        installed = metadata.version(name)
    except metadata.PackageNotFoundError:
        return tr("{name} is missing", name=name), requirement
    if minimum and _parse_version(installed) < _parse_version(minimum):
        return tr(
            "{name} {installed} is installed, and clio needs {minimum} or later",
            name=name,
            installed=installed,
            minimum=minimum,
        ), requirement
    return None


def _parse_version(version: str) -> tuple[int, ...]:
    """The leading numbers of a version, without trailing zeros: "2.0.1rc1" is (2, 0, 1)."""
    found = re.match(r"\d+(\.\d+)*", version)
    numbers = [int(part) for part in found[0].split(".")] if found else []
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def _list_complete_extras(wanted: list[str]) -> set[str]:
    """The extras whose packages are all installed."""
    by_extra: dict[str, list[str]] = {}
    for line in wanted:
        if found := _EXTRA.search(line):
            by_extra.setdefault(found["extra"], []).append(line)
    return {extra for extra, lines in by_extra.items() if not any(map(_find_package_problem, lines))}


GIT_NEEDED = (2, 23)
"""The version that introduced `git switch`."""
_TIME_LIMIT_S = 3.0  # seconds for `--version` of a program
_VERSION = re.compile(r"\d+\.\d+[\w.+-]*")


def check_git(context: DoctorContext) -> Iterator[Finding]:
    """Whether git runs and is new enough, and whether the project is a repository."""
    found = _check_program("git", "git", tr("needed for branches, diffs and commits; install it"))
    version = _VERSION.search(found.text) if found.mark == "ok" else None
    if version and tuple(int(part) for part in version[0].split(".")[:2]) < GIT_NEEDED:
        wanted = ".".join(map(str, GIT_NEEDED))
        yield make_note(
            "git",
            tr("{version} is older than {wanted}, so switching branches fails", version=version[0], wanted=wanted),
            tr("install {wanted} or later", wanted=wanted),
        )
    elif version and not (context.project / ".git").exists():
        yield make_ok("git", tr("{version}; this project is not a git repository", version=version[0]))
    else:
        yield found


def check_ripgrep(context: DoctorContext) -> Iterator[Finding]:
    """Whether ripgrep is installed, for fast searches."""
    yield _check_program("ripgrep", find_ripgrep(), tr("searches are slower without it; install ripgrep"))


def _check_program(name: str, path: str | None, without: str) -> Finding:
    if path is None:
        return make_note(name, tr("not found"), without)
    try:
        done = subprocess.run(
            [path, "--version"], capture_output=True, text=True, errors="replace", timeout=_TIME_LIMIT_S, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except FileNotFoundError:
        return make_note(name, tr("not found"), without)
    except subprocess.TimeoutExpired:
        return make_problem(name, tr("{path!r} hangs", path=path), tr("reinstall it"))
    except OSError as error:
        return make_problem(
            name, tr("{path!r} does not run: {strerror}", path=path, strerror=error.strerror), tr("reinstall it")
        )
    if done.returncode != 0 or not done.stdout.strip():
        return make_problem(
            name,
            tr("{path!r} exited with code {returncode}", path=path, returncode=done.returncode),
            tr("reinstall it"),
        )
    words = done.stdout.split()
    return make_ok(name, next((word for word in words if word[:1].isdigit()), words[0]))


_CONTAINER = (Path("/.dockerenv"), Path("/run/.containerenv"))
_SHORT_CHARS = 100
_PARTLY = mark(", partially: commands can still change modes and times of files and reach other terminals")


def check_sandbox(context: DoctorContext) -> Iterator[Finding]:
    """Which sandbox level works: a small command is run at each level, in a temporary folder."""
    config = context.loaded.config
    # "off" is checked as "auto", which tells a user without a sandbox which one would work.
    choice = "auto" if config.sandbox == "off" else config.sandbox
    sandbox = Sandbox(choice, home=context.home, user_home=context.user_home, env=context.env)
    try:
        level = sandbox.level()
    except ToolFailed as error:
        wrong, _, todo = str(error).partition("; ")
        yield make_problem("sandbox", wrong.removeprefix("the sandbox "), todo.removeprefix("the user can "))
        return
    failures = _describe_sandbox_failures(sandbox)
    if config.sandbox != "off":
        none = tr(
            "no sandbox works here: {failures}{environment}", failures=failures, environment=_describe_environment()
        )
        held = tr(
            "{level} confines commands to the project{partly}",
            level=level,
            partly=tr(_PARTLY) if level == "landlock" else "",
        )
        install = tr("install bubblewrap, or run clio in a container")
        yield make_note("sandbox", none, install) if level == "off" else make_ok("sandbox", held)
        return
    partial = tr(" (partial)") if level == "landlock" else ""
    available = (
        tr("{level} available{partial}", level=level, partial=partial)
        if level != "off"
        else tr("no sandbox works here: {failures}", failures=failures)
    )
    text = tr(
        "off, commands run with your rights{environment}; approval mode: {approve}; {available}",
        environment=_describe_environment(),
        approve=config.approve,
        available=available,
    )
    if config.approve != "all" or _detect_container():
        yield make_ok("sandbox", text)
    else:
        yield make_note("sandbox", text, tr("use clio --sandbox auto, or --approve edits"))


def check_confinement(context: DoctorContext) -> Iterator[Finding]:
    """Report what confines commands that run without approval, by running a small command."""
    confinement = Confinement(
        enabled=context.loaded.config.confine_unasked != "off", home=None, user_home=context.user_home, env=context.env
    )
    about, sentence = "confinement", confinement.describe()
    text = sentence[:1].lower() + sentence[1:]
    if not confinement.is_enabled:
        yield make_ok(about, text)
    elif confinement.level() == "off":
        yield make_note(about, text, tr("install bubblewrap, or use Linux 6.2 or later"))
    else:
        yield make_ok(about, text)


def _describe_sandbox_failures(sandbox: Sandbox) -> str:
    """Return the reason for each level that does not work."""
    reasons: dict[SandboxLevel, str] = dict(sandbox.reasons)
    return ", ".join(
        f"{level}: {error_reason[:_SHORT_CHARS]}" for level, error_reason in reasons.items() if error_reason
    )


def _describe_environment() -> str:
    """Whether clio itself runs in a container or as root."""
    if found := _detect_container():
        return tr(", inside a container ({found})", found=found)
    return tr(", as root") if hasattr(os, "geteuid") and os.geteuid() == 0 else ""


def _detect_container() -> str:
    return next((str(path) for path in _CONTAINER if path.exists()), "")
