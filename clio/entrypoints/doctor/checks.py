"""The checks of `clio doctor` on the machine (Python, packages, programs, sandbox) and on clio's own data, with the
`Finding` each of them yields.
"""

import os
import platform
import re
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from clio import __file__ as clio_file
from clio import __version__
from clio.checkpoints.store_limits import measure_usage
from clio.checks.checkers import describe_checks, list_untrusted_checkers
from clio.commands.custom_commands import CustomCommands
from clio.commands.settings_commands import list_waiting_for_trust
from clio.commands.subcommands import GcRequest
from clio.config.loaded import LoadedConfig
from clio.config.options import Options
from clio.config.paths import PLUGIN_LOCK_NAME, PLUGINS_FOLDER, display_path, has_plugins
from clio.config.project_links import has_shared_memory, is_team_trusted, team_memory_folder
from clio.config.schema import CHECKS_AUTO, CHECKS_OFF
from clio.config.show import list_start_notes
from clio.config.trust import TrustStore, describe_key_damage
from clio.entrypoints.disk_usage import measure_disk_usage
from clio.errors import ConfigError, NewerDocument, StorageError, ToolFailed
from clio.installation import PACKAGE
from clio.jobs.schedules import find_problems, get_schedules_folder, list_schedules
from clio.lsp.catalog import are_servers_trusted, find_project_suffixes, find_servers, suggest_installation
from clio.memory.portability.data_files import list_file_sets
from clio.memory.portability.export import MemoryPaths
from clio.memory.store.ltm_codec import decode_ltm
from clio.memory.store.typed_codec import FORMAT as MEMORIES
from clio.memory.team.share import Sharing
from clio.memory.transcripts.database import VERSION
from clio.memory.transcripts.index import FILE
from clio.memory.transcripts.session_search import SessionFolder
from clio.sandbox.fence import SandboxLevel
from clio.sandbox.sandbox import Confinement, Sandbox
from clio.security.shell.parser import has_grammar
from clio.sessions.listing import list_file_names, list_sessions
from clio.skills.skills import SkillCatalog, SubagentCatalog
from clio.storage.documents import decode_document, describe_damage
from clio.storage.files import read_beginning, read_regular
from clio.storage.jsonl import is_truncated_line, split_lines
from clio.storage.locks import error_reason, find_lock_owner, supports_locks
from clio.text.formatting import format_bytes, remove_code_marks
from clio.text.json_data import decode_json
from clio.text.translation import english, mark, tr, tr_count
from clio.tools.files.file_index import find_ripgrep


class Finding(Struct, frozen=True, kw_only=True):
    """One line of the report.

    Attributes:
        mark: "ok", "note" for a possible improvement, "fix" for what must be repaired.
        about: the subject in a word or two, such as "git".
        text: what was found.
        todo: what to do; "" for nothing.
    """

    mark: Literal["ok", "note", "fix"]
    about: str
    text: str
    todo: str = ""

    @property
    def line(self) -> str:
        """The finding as it is printed, without its mark."""
        return f"{tr(self.about)}: {self.text}" + (f"; {self.todo}" if self.todo else "")


class DoctorContext(Struct, frozen=True, kw_only=True):
    """The input of every check. home: clio's own directory. user_home: the user's home directory."""

    options: Options
    env: Mapping[str, str]
    loaded: LoadedConfig
    home: Path
    user_home: Path

    @property
    def project(self) -> Path:
        """The project's folder."""
        return self.loaded.project

    @property
    def owner(self) -> Path:
        """The folder whose `.clio` is used: in a worktree made by clio, the main checkout."""
        return self.loaded.main_project

    def display(self, path: Path) -> str:
        """The path relative to the project, or with `~`, where possible."""
        return display_path(path, project=self.owner, user_home=self.user_home)


Check = Callable[[DoctorContext], Iterable[Finding]]
"""Checks one thing and changes nothing; it is abandoned at the time limit."""


def make_ok(about: str, text: str) -> Finding:
    """Return a finding that requires no action."""
    return Finding(mark="ok", about=about, text=text)


def make_note(about: str, text: str, todo: str = "") -> Finding:
    """Return a finding about something that works but could be improved."""
    return Finding(mark="note", about=about, text=text, todo=todo)


def make_problem(about: str, text: str, todo: str) -> Finding:
    """Return a finding about something that does not work until the user acts."""
    return Finding(mark="fix", about=about, text=text, todo=todo)


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


def check_edit_checks(context: DoctorContext) -> Iterator[Finding]:
    """Which checks run on changed files after a step that edited."""
    wanted = context.loaded.config.checks
    found = describe_checks(wanted, context.project)
    waiting = list_untrusted_checkers(wanted, context.project, context.owner, context.home)
    ready = [name for name in found if name not in waiting]
    named = tr("after edits: {ready}", ready=", ".join(ready)) if ready else tr("no program found")
    if wanted[-1:] == (CHECKS_OFF,):
        yield make_ok("checks", tr("off; the model is not told what its edits break"))
    elif CHECKS_AUTO in wanted:
        yield make_ok(
            "checks", tr("{named}; Python, JSON, TOML and YAML files that they do not cover are parsed", named=named)
        )
    else:
        yield make_ok("checks", named)
    if waiting:
        confined = tr("once the project is trusted, and confined")
        yield make_note(
            "checks",
            tr(
                "{waiting} would run this project's code, so only {confined}",
                waiting=", ".join(waiting),
                confined=confined,
            ),
            tr("clio config trust"),
        )


def check_language_servers(context: DoctorContext) -> Iterator[Finding]:
    """Which language servers were found for the project's languages."""
    setting = context.loaded.config.language_servers
    if setting[-1:] == (CHECKS_OFF,):
        yield make_ok("language servers", tr("off"))
        return
    root = context.project.resolve()
    suffixes = find_project_suffixes(root)
    is_trusted = are_servers_trusted(context.owner, context.home)
    found = find_servers(setting, root, is_trusted=is_trusted)
    useful = [server for server in found if not suffixes.isdisjoint(server.spec.suffixes)]
    ready = [server.spec.name for server in useful if server.may_run]
    waiting = [server.spec.name for server in useful if not server.may_run]
    others = [server.spec.name for server in found if server not in useful]
    if not suffixes:
        names = ", ".join(others) or tr("none")
        yield make_ok("language servers", tr("no code of a known language here; installed: {names}", names=names))
        return
    if ready:
        yield make_ok("language servers", ", ".join(ready))
    served = {suffix for server in useful for suffix in server.spec.suffixes}
    if missing := suffixes - served:
        names, install = ", ".join(sorted(missing)), suggest_installation(missing)
        if install:
            yield make_note("language servers", tr("none for {names} files", names=names), install)
    if waiting:
        yield make_note(
            "language servers",
            tr(
                "{waiting} would run this project's code, so only {confined}",
                waiting=", ".join(waiting),
                confined=tr("once the project is trusted, and confined"),
            ),
            tr("clio config trust"),
        )


def check_web_search(context: DoctorContext) -> Iterator[Finding]:
    """Which service searches the web, and whether its key is set; nothing if it is off."""
    config = context.loaded.config
    if config.web_search == "off":
        return
    if config.web_search == "model":
        yield make_ok("web search", tr("by the model's server, if it can"))
        return
    from clio.tools.web_search import KEY_VARIABLES, open_search_settings

    settings = open_search_settings(config.web_search, config.web_search_url or "", context.env)
    variable = KEY_VARIABLES.get(config.web_search)
    where = tr("{service} at {address}", service=config.web_search, address=settings.address)
    if variable and not settings.key:
        yield make_note(
            "web search",
            tr("{where}, and {variable} is not set", where=where, variable=variable),
            tr("set {variable} to a key of {service}", variable=variable, service=config.web_search),
        )
        return
    yield make_ok("web search", where)


def check_telemetry(context: DoctorContext) -> Iterator[Finding]:
    """Whether telemetry is on, to whom it goes, and what keeps it from being sent."""
    settings = context.loaded.config.telemetry
    if settings.endpoint is None:
        yield make_ok("telemetry", tr("off; nothing is sent"))
        return
    from importlib.util import find_spec

    from clio.telemetry.collector_address import (
        describe_collector,
        explain_wrong_endpoint,
        is_unencrypted,
        read_headers,
    )

    if problem := explain_wrong_endpoint(settings):
        yield make_problem("telemetry", problem, tr("correct it in your config.yaml"))
        return
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.sdk") is None:
        yield make_problem(
            "telemetry",
            tr("the package opentelemetry-sdk is missing, so nothing is sent"),
            "pip install 'clio-shell[telemetry]'",
        )
        return
    signals = [tr("traces")] * settings.traces + [tr("metrics")] * settings.metrics
    yield make_ok(
        "telemetry",
        tr(
            "{signals} to {address}, {content}",
            signals=tr(" and ").join(signals) or tr("nothing"),
            address=describe_collector(settings, context.env),
            content=tr("with messages and results") if settings.content else tr("without any text of yours"),
        ),
    )
    headers = read_headers(settings, context.env)
    if settings.headers_env and not headers:
        yield make_note(
            "telemetry",
            tr("{variable} has no headers, such as `x-api-key=…`", variable=settings.headers_env),
            tr("set it, or remove telemetry.headers_env"),
        )
    if (headers or settings.content) and is_unencrypted(settings, context.env):
        yield make_note(
            "telemetry", tr("headers and texts reach the collector unencrypted"), tr("use an https:// address")
        )


def check_plugins(context: DoctorContext) -> Iterator[Finding]:
    """Whether the copy of every plugin is there, readable and unchanged."""
    damaged = sorted((context.home / PLUGINS_FOLDER).glob(f"{PLUGIN_LOCK_NAME}.corrupt-*"))
    if damaged:
        yield make_problem(
            "plugins",
            tr("the list of plugins was damaged and is now {file}", file=context.display(damaged[-1])),
            tr("restore it from a backup, or add the plugins again; then delete that file"),
        )
    if not has_plugins(context.home):
        if not damaged:
            yield make_ok("plugins", tr("none"))
        return
    from clio.config.installed_plugins import clean_line, find_copy_problem, read_lock, read_locked_plugin

    try:
        plugins = read_lock(context.home).plugins
    except ConfigError as error:
        yield make_problem("plugins", str(error), tr("check that file"))
        return
    ready: list[str] = []
    for name, locked in plugins.items():
        shown = clean_line(name, 64)
        if problem := find_copy_problem(context.home, name, locked):
            yield make_problem(
                "plugins",
                tr("{name} is off: {problem}", name=shown, problem=problem),
                tr("clio plugin update {name}, or clio plugin remove {name}", name=shown),
            )
            continue
        elsewhere = locked.projects and str(context.owner) not in locked.projects
        ready.append(tr("{name} (in another project)", name=shown) if elsewhere else shown)
        for part in read_locked_plugin(context.home, name, locked).problems:
            yield make_note("plugins", f"{shown}: {part}")
    if ready or not plugins:
        yield make_ok("plugins", ", ".join(ready) or tr("none"))


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


VERY_LOW_DISK_BYTES, LOW_DISK_BYTES = 100_000_000, 1_000_000_000
"""Free space below which a disk is reported as a problem, or as a note."""
MUCH_BYTES, MANY_UNFINISHED = 100_000_000, 1_000
"""Above one of these, what `clio gc` could free is reported as a note; the second counts unfinished writes."""
_FEW_FILES = 1_000  # fewer free inodes than this are reported as a full disk
_READ_BYTES = 1_000_000
_OTHERS_READ = stat.S_IRGRP | stat.S_IROTH
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
# Matches a literal value, not a reference to a variable.
# The setting `keys` names keys of the keyboard.
_SECRET = re.compile(
    rb"(?i)(?<![\w-])(?!keys[\"']?\s*:)[\w-]*(key|token|secret|passw\w*|authorization|credential)[\w-]*[\"']?\s*[:=]\s*[\"']?(?!\$)[^\s\"'#]{8}"
)


def check_schedules(context: DoctorContext) -> Iterator[Finding]:
    """Whether each schedule is still started, and finds its clio and its project."""
    if not get_schedules_folder(context.home).is_dir():
        return
    problems = find_problems(context.home, context.env)
    for problem in problems:
        text = tr("schedule {number}: {text}", number=problem.number, text=problem.text)
        yield make_problem("schedules", text, remove_code_marks(problem.todo) or tr("see `clio schedule list`"))
    schedules = list_schedules(context.home)
    if schedules and not problems:
        yield make_ok("schedules", tr_count(len(schedules), "schedule"))


def check_home(context: DoctorContext) -> Iterator[Finding]:
    """Whether clio's own folder, or the one it will be created in, can be written."""
    if context.loaded.config.incognito:
        yield make_ok("home", tr("{shown}, not written to in incognito mode", shown=context.display(context.home)))
        return
    yield _is_writable("home", context.home, context, tr("make it writable for you, or set CLIO_HOME"))
    if context.home.is_dir() and _read_mode(context.home) & _OTHERS_WRITE:
        shown = context.display(context.home)
        yield make_problem(
            "home",
            tr("other users can write to {shown} and so control what clio runs", shown=shown),
            tr("chmod go-w {shown}", shown=shown),
        )


def check_project(context: DoctorContext) -> Iterator[Finding]:
    """Whether the project's sessions and memory can be stored."""
    if context.loaded.config.incognito:
        yield make_ok("project", tr("{owner}, not written to in incognito mode", owner=context.owner))
    else:
        yield _is_writable(
            "project", context.owner / ".clio", context, tr("make it writable for you, or use --incognito")
        )


def check_secrets(context: DoctorContext) -> Iterator[Finding]:
    """Whether other users can read a file that contains a key."""
    own = [context.home / name for name in ("config.yaml", "mcp.yaml", "hooks.yaml")]
    theirs = [context.owner / ".clio" / name for name in ("config.yaml", "mcp.yaml")]
    files = [*own, *theirs, context.owner / ".mcp.json"]
    files_with_keys = [path for path in dict.fromkeys(files) if path.is_file() and _SECRET.search(_read_head(path))]
    open_to_others = [path for path in files_with_keys if _read_mode(path) & _OTHERS_READ] if os.name != "nt" else []
    for path in open_to_others:
        yield make_problem(
            "keys",
            tr("{shown} contains an API key and other users can read it", shown=context.display(path)),
            tr("chmod 600 {shown}", shown=context.display(path)),
        )
    if not open_to_others:
        yield make_ok(
            "keys",
            tr("in {files}, which only you can read", files=tr_count(len(files_with_keys), "file"))
            if files_with_keys
            else tr("no API keys in clio's files"),
        )


def check_disk(context: DoctorContext) -> Iterator[Finding]:
    """Report how much space is left where clio writes."""
    seen: set[int] = set()
    for name, folder in (("home", context.home), ("project", context.owner)):
        existing = _find_nearest_folder(folder)
        if (device := existing.stat().st_dev) in seen:
            continue
        seen.add(device)
        free = shutil.disk_usage(existing).free
        text = tr(
            "{bytes} free for {shown}",
            bytes=format_bytes(free),
            shown=context.display(folder) if name == "home" else tr("the project"),
        )
        files_left = _count_free_files(existing)
        if free < VERY_LOW_DISK_BYTES or files_left < _FEW_FILES:
            text += (
                tr(", and room for {files_left:,.0f} more files", files_left=files_left)
                if free >= VERY_LOW_DISK_BYTES
                else ""
            )
            yield make_problem("disk", text, tr("free some space, or sessions cannot be saved"))
        elif free < LOW_DISK_BYTES:
            yield make_note("disk", text, tr("free some space soon"))
        else:
            yield make_ok("disk", text)


def check_space(context: DoctorContext) -> Iterator[Finding]:
    """Report how much `clio gc` could free in clio's directories."""
    usages = measure_disk_usage(context.loaded, GcRequest())
    waste = sum(usage.removable_bytes for usage in usages)
    unfinished = sum(len(usage.removable) for usage in usages if usage.kind == "unfinished writes")
    left = (
        tr(
            ", with {unfinished_writes} from killed processes",
            unfinished_writes=tr_count(unfinished, "unfinished write"),
        )
        if unfinished
        else ""
    )
    if waste > MUCH_BYTES or unfinished > MANY_UNFINISHED:
        yield make_note(
            "space", tr("{bytes} can be freed{left}", bytes=format_bytes(waste), left=left), tr("free it with: clio gc")
        )
    else:
        removable = (
            tr("{bytes} can be freed{left}", bytes=format_bytes(waste), left=left)
            if waste
            else tr("nothing to clean up")
        )
        size = format_bytes(sum(usage.bytes for usage in usages))
        yield make_ok(
            "space",
            tr("{size} in clio's folders, {removable}", size=size, removable=removable)
            if usages
            else tr("nothing stored yet"),
        )


def _is_writable(about: str, folder: Path, context: DoctorContext, todo: str) -> Finding:
    shown = context.display(folder)
    existing = _find_nearest_folder(folder)
    if not existing.is_dir():
        return make_problem(
            about,
            tr("{shown} cannot be written: {shown2} is not a folder", shown=shown, shown2=context.display(existing)),
            todo,
        )
    if not os.access(existing, os.W_OK | os.X_OK):
        return make_problem(
            about, tr("{shown} cannot be written: no permission, or mounted read-only", shown=shown), todo
        )
    return make_ok(
        about,
        tr("{shown} can be written", shown=shown) + ("" if existing == folder else tr("; it is created when needed")),
    )


def _find_nearest_folder(folder: Path) -> Path:
    """The folder, or its nearest existing parent."""
    return next(path for path in (folder, *folder.parents) if os.path.lexists(path))


def _count_free_files(folder: Path) -> float:
    """How many more files the file system can hold; infinite where it has no such limit."""
    if not hasattr(os, "statvfs"):
        return float("inf")
    status = os.statvfs(folder)
    return status.f_favail if status.f_files else float("inf")


def _read_head(path: Path) -> bytes:
    try:
        return read_beginning(path, _READ_BYTES)
    except OSError:
        return b""  # the check of the configuration reports it


def _read_mode(path: Path) -> int:
    return path.stat().st_mode


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


_MAX_NAMED = 3


def check_files(context: DoctorContext) -> Iterator[Finding]:
    """Report which configuration files were read; reading them has succeeded by then."""
    files = ", ".join(context.display(path) for path in context.loaded.files)
    yield make_ok("configuration", files or tr("no files, all settings have their defaults"))


def check_trust(context: DoctorContext) -> Iterator[Finding]:
    """Which settings of the project are not trusted yet."""
    loaded = context.loaded
    trust = TrustStore(context.home)
    if wrong := trust.describe_damage():
        yield make_problem(
            "trust",
            tr("{shown} {wrong}, so no project is trusted", shown=context.display(trust.path), wrong=wrong),
            tr("restore a backup, or trust each project again: clio config trust, clio memory share on"),
        )
    for sentence in list_start_notes(loaded):
        yield make_note("trust", sentence)
    waiting = list_waiting_for_trust(loaded, context.env)
    if waiting:
        names = ", ".join(value.key for value in waiting[:_MAX_NAMED])
        more = tr(" and {count} more", count=len(waiting) - _MAX_NAMED) if len(waiting) > _MAX_NAMED else ""
        yield make_note(
            "trust",
            tr("the project's {names}{more} are not trusted yet", names=names, more=more),
            tr("review them, then run clio config trust"),
        )
    if not loaded.withheld and not waiting:
        trusted = len(loaded.trusted)
        in_effect = tr("{values} of the project in effect because you trust it", values=tr_count(trusted, "value"))
        yield make_ok("trust", in_effect if trusted else tr("the project needs none"))


def check_added(context: DoctorContext) -> Iterator[Finding]:
    """Count MCP servers, skills, commands, sub-agents and hooks; none is started."""
    loaded = context.loaded
    found = SkillCatalog(context.owner, context.home, context.env).find()
    commands = CustomCommands(context.owner, context.home, context.env)
    agents, agent_problems = SubagentCatalog(context.owner, context.home, context.env).find()
    enabled = sum(1 for server in loaded.servers if server.enabled)
    off = len(loaded.servers) - enabled
    counts = (
        tr_count(enabled, "MCP server") + (tr(" ({off} disabled)", off=off) if off else ""),
        tr_count(len(found.skills), "skill"),
        tr_count(len(commands()), "custom command"),
        tr_count(len(agents), "sub-agent"),
        tr_count(len(loaded.hooks), "hook"),
    )
    for problem in (*loaded.server_problems, *found.problems, *commands.problems(), *agent_problems):
        yield make_note("extensions", problem)
    yield make_ok("extensions", ", ".join(counts))


def check_sessions(context: DoctorContext) -> Iterator[Finding]:
    """How many sessions there are, and which cannot be read."""
    folder = context.owner / ".clio" / "sessions"
    infos = list_sessions(folder)
    unread = [info.id for info in infos if not info.messages and not info.created_at]
    if unread:
        names = ", ".join(unread[:_MAX_NAMED]) + (" …" if len(unread) > _MAX_NAMED else "")
        yield make_problem("sessions", tr("{count} cannot be read: {names}", count=len(unread), names=names),
                  tr("restore a backup, or run clio sessions delete ID"))  # fmt: skip
    damaged = [name for name in list_file_names(folder) if ".corrupt-" in name]
    if damaged:
        names = ", ".join(damaged[:_MAX_NAMED]) + (" …" if len(damaged) > _MAX_NAMED else "")
        yield make_note(
            "sessions",
            tr("{files} renamed as damaged ({names})", files=tr_count(len(damaged), "file"), names=names),
            tr("see {shown}", shown=context.display(folder)),
        )
    running = sum(1 for info in infos if info.running)
    more = tr(", {running} open now", running=running) if running else ""
    yield make_ok(
        "sessions",
        tr("{count:,} of this project{more}", count=len(infos), more=more) if infos else tr("none yet in this project"),
    )


def check_index(context: DoctorContext) -> Iterator[Finding]:
    """Whether the search index can be used, and how many sessions it lacks; it updates by itself."""
    path = context.owner / ".clio" / "cache" / FILE
    if not path.is_file():
        yield make_ok("index", tr("none yet; it is created when earlier sessions are first searched"))
        return
    import sqlite3

    try:
        stamps = _read_stamps(path)
    except sqlite3.Error as error:
        yield make_note(
            "index",
            tr("{shown} cannot be used ({error})", shown=context.display(path), error=error),
            tr("nothing to do, it is rebuilt when needed"),
        )
        return
    if stamps is None:
        yield make_note("index", tr("another version of clio wrote it"), tr("nothing to do, it is rebuilt when needed"))
        return
    watched = SessionFolder(context.owner / ".clio" / "sessions")
    watched.scan()
    behind = sum(1 for id, stamp in watched.stamps.items() if id not in stamps or not stamp.matches(stamps[id]))
    state = (
        tr("{sessions} behind, updated at the next search", sessions=tr_count(behind, "session"))
        if behind
        else tr("up to date")
    )
    yield make_ok("index", f"{tr_count(len(stamps), 'session')}, {format_bytes(path.stat().st_size)}, {state}")


def _read_stamps(path: Path) -> dict[str, str] | None:
    """The stamp of each session in the index; None for an index of another version. Raises sqlite3.Error.

    Opened as immutable, so that no lock is taken.
    """
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
        if connection.execute("PRAGMA user_version").fetchone()[0] != VERSION:
            return None
        return {str(name): str(stamp) for name, stamp in connection.execute("SELECT name, stamp FROM sessions")}


_MAX_NAMED_FILES = 5
_LONG_HELD_S = 3600.0
_NO_JSON = (msgspec.DecodeError, UnicodeDecodeError, ValueError, RecursionError)


def check_memory(context: DoctorContext) -> Iterator[Finding]:
    """Whether every memory file can be read; those that cannot are named."""
    places = MemoryPaths(project=context.owner, home=context.home)
    file_sets = [
        file_set for file_set in list_file_sets(places, ("project", "user", "styles")) if file_set.kind != "cache"
    ]
    files = sorted({path for file_set in file_sets for path in file_set.files()})
    damaged = 0
    if problem := describe_key_damage(context.home):
        yield make_problem(
            "memory",
            tr("{problem}; with it, clio recognizes memory that it wrote itself", problem=problem),
            tr("in your own projects, run clio config trust"),
        )
    for path in files:
        if ".corrupt-" in path.name:
            yield make_note(
                "memory",
                tr("{shown} was renamed as damaged", shown=context.display(path)),
                tr("copy what you need from it, then delete it"),
            )
        elif wrong := _describe_file_damage(path):
            damaged += 1
            if damaged <= _MAX_NAMED_FILES:
                yield make_problem("memory", f"{context.display(path)} {wrong}", _suggest_file_fix(wrong))
    if damaged > _MAX_NAMED_FILES:
        yield make_problem(
            "memory",
            tr("{more_files} cannot be read", more_files=tr_count(damaged - _MAX_NAMED_FILES, "more file")),
            tr("repair the files named above first"),
        )
    if not damaged:
        size = sum(path.lstat().st_size for path in files if path.exists())
        yield make_ok(
            "memory",
            tr("{files}, {bytes}, all can be read", files=tr_count(len(files), "file"), bytes=format_bytes(size))
            if files
            else tr("nothing stored yet"),
        )


def check_team(context: DoctorContext) -> Iterator[Finding]:
    """Report shared memory files that are left out, or ignored by git; nothing if memory is not shared and trusted."""
    project = context.owner
    if context.loaded.config.incognito or not (
        has_shared_memory(team_memory_folder(project)) and is_team_trusted(project, context.home)
    ):
        return
    sharing = Sharing(project / ".clio" / "ltm.json", project=project, home=context.home, clock=time.time, redact=str)
    try:
        status = sharing.status()
    except (StorageError, OSError) as error:
        yield make_problem(tr("team memory"), str(error), tr("see clio memory share status"))
        return
    if status.problems or status.rule:
        named = ", ".join(repr(problem.path) for problem in status.problems[:_MAX_NAMED_FILES])
        left_out = (
            tr("{files} left out ({named})", files=tr_count(len(status.problems), "file"), named=named)
            if named
            else tr("git ignores files that should be shared")
        )
        yield make_note(tr("team memory"), left_out, tr("see clio memory share status"))
    else:
        yield make_ok(tr("team memory"), tr("{count} shared in .clio/ltm/", count=len(status.shared)))


def check_undo(context: DoctorContext) -> Iterator[Finding]:
    """Report the checkpoints of all projects for /undo; nothing if there are none."""
    store = context.home / "checkpoints"
    if not store.is_dir():
        return
    try:
        stamps = measure_usage(store)
    except OSError as error:
        yield make_note(
            "undo",
            tr("{shown} cannot be read: {strerror}", shown=context.display(store), strerror=error.strerror),
            tr("make it readable for you"),
        )
        return
    turns = tr(
        "{turns} of {projects}", turns=tr_count(stamps.turns, "turn"), projects=tr_count(stamps.projects, "project")
    )
    yield make_ok(
        "undo",
        tr("{turns}, {bytes} in {shown}", turns=turns, bytes=format_bytes(stamps.bytes), shown=context.display(store)),
    )


def check_locks(context: DoctorContext) -> Iterator[Finding]:
    """Report which locks are held, and by whom. A lock file left by a process that has exited locks nothing."""
    folder = context.owner / ".clio"
    held, left = 0, 0
    for path in _list_lock_files((folder, folder / "sessions", folder / "cache", context.home)):
        owner = find_lock_owner(path)
        if owner is None:
            left += 1
            continue
        held += 1
        age_s = time.time() - owner.timestamp
        if path.parent.name != "sessions" and owner.pid and age_s > _LONG_HELD_S:
            hours = tr("{age_s:.0f} hours", age_s=age_s / 3600)
            yield make_note(
                "locks",
                tr(
                    "{shown} has been held by process {pid} for {hours}",
                    shown=context.display(path),
                    pid=owner.pid,
                    hours=hours,
                ),
                tr("end that process if it hangs"),
            )
    for place in (folder, context.home):
        if place.is_dir() and not supports_locks(place):
            text = tr(
                "the file system of {shown} has no locks, so nothing is learned there", shown=context.display(place)
            )
            yield make_note("locks", text, tr("move it to a disk that supports them"))
    behind = tr(", {left} from processes that have exited (harmless)", left=left) if left else ""
    yield make_ok("locks", tr("{held} in use{behind}", held=held, behind=behind))


def _list_lock_files(folders: Iterable[Path]) -> Iterator[Path]:
    for folder in dict.fromkeys(folders):
        try:
            with os.scandir(folder) as entries:
                names = sorted(entry.name for entry in entries if entry.name.endswith(".lock"))
        except OSError:
            continue  # missing or unreadable: another check reports it
        yield from (folder / name for name in names)


def _describe_file_damage(path: Path) -> str:
    """Return what prevents clio from reading the file, as the end of a sentence; "" if nothing does."""
    try:
        data = read_regular(path)
    except FileNotFoundError:
        return ""
    except OSError as error:
        return tr("cannot be read: {error_reason}", error_reason=error_reason(error))
    try:
        if path.name == "ltm.json":
            decode_ltm(data).refuse_newer(str(path))
        elif path.name == "memories.json":
            decode_document(data, MEMORIES, path)
        elif path.suffix == ".json":
            decode_json(data)
        elif path.suffix == ".jsonl":
            split = split_lines(data)
            for line in split.lines:
                decode_json(line)
            if split.truncated and not is_truncated_line(split.truncated):
                return tr("is damaged (its end is not valid JSON)")
    except NewerDocument:
        return tr("is from a newer clio")
    except _NO_JSON as error:
        return tr("is damaged ({damage})", damage=describe_damage(str(error)))
    return ""


def _suggest_file_fix(wrong: str) -> str:
    wrong = english(wrong)
    if wrong.endswith("not a file"):
        return tr("remove it")
    if "too large to read" in wrong:
        return tr("move it away")
    if wrong.startswith("cannot"):
        return tr("make it readable for you")
    if wrong.startswith("is from"):
        return tr("update clio")
    return tr("restore a backup; otherwise clio renames it when it next needs it")
