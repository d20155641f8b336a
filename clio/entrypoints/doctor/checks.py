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
from clio.checks.checkers import describe_checks, list_untrusted_programs_of_checks
from clio.commands.custom_commands import CustomCommands
from clio.commands.settings_commands import list_waiting_for_trust
from clio.commands.subcommands import GcRequest
from clio.config.loaded import LoadedConfig
from clio.config.options import Options
from clio.config.paths import display_path
from clio.config.project_links import has_shared_memory, is_team_trusted, team_memory_folder
from clio.config.schema import CHECKS_AUTO, CHECKS_OFF
from clio.config.show import list_start_notes
from clio.config.trust import TrustStore, describe_key_damage
from clio.entrypoints.disk_usage import measure_disk_usage
from clio.errors import NewerDocument, StorageError, ToolFailed
from clio.memory.portability.export import MemoryPaths, list_file_sets
from clio.memory.store.ltm_codec import decode_ltm, refuse_newer
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
from clio.storage.files import read_regular
from clio.storage.jsonl import is_truncated_line, split_lines
from clio.storage.locks import error_reason, find_lock_owner, supports_locks
from clio.text.formatting import format_bytes, format_count
from clio.text.json_data import decode_json
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
        return f"{self.about}: {self.text}" + (f"; {self.todo}" if self.todo else "")


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

    def shown(self, path: Path) -> str:
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


PACKAGE = "clio-shell"
OLDEST = (3, 11)
_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(\[[^\]]*\])?\s*(>=\s*(?P<minimum>[\d.]+))?[^;]*(;\s*(?P<marker>.*))?")
_PYTHON = re.compile(r"python_version\s*<\s*['\"](?P<below>\d+(\.\d+)*)['\"]")
_EXTRA = re.compile(r"extra\s*==\s*['\"](?P<extra>[\w-]+)")
_DAY_S = 86_400.0
_NARROW = 40


def check_python(context: DoctorContext) -> Iterator[Finding]:
    """Whether clio supports this version of Python."""
    text = f"{__version__} on Python {platform.python_version()}, {platform.platform(terse=True)}"
    if sys.version_info[:2] >= OLDEST:
        yield make_ok("clio", text)
    else:
        yield make_note("clio", text, f"clio needs Python {OLDEST[0]}.{OLDEST[1]} or later")


def check_packages(context: DoctorContext) -> Iterator[Finding]:
    """Whether all required packages are installed and new enough."""
    try:
        wanted = metadata.requires(PACKAGE) or []
    except metadata.PackageNotFoundError:
        yield make_note(
            "packages", f"{PACKAGE} is not installed; it runs from its source folder", "run pip install . there"
        )
        return
    needed = [line for line in wanted if "extra" not in line.partition(";")[2] and _is_for_this_python(line)]
    problems = [problem for line in needed if (problem := _find_package_problem(line))]
    for problem in problems:
        yield make_problem("packages", problem[0], f"pip install '{problem[1]}'")
    if not problems:
        extras = sorted(_list_complete_extras(wanted) - {"dev"})
        more = f"; extras: {', '.join(extras)}" if extras else ""
        yield make_ok("packages", f"all {len(needed)} required packages are installed{more}")


def check_grammar(context: DoctorContext) -> Iterator[Finding]:
    """Whether command lines can be parsed; only a parsed line can run without approval."""
    if has_grammar():
        yield make_ok("commands", "grammar installed, so read-only commands run without asking")
    else:
        yield make_note(
            "commands",
            "tree-sitter or tree-sitter-bash is not installed, so clio asks about every command",
            "install both, or use a Python version they have wheels for",
        )


def check_clock(context: DoctorContext) -> Iterator[Finding]:
    """Whether the clock is behind, which breaks the order of sessions, memory decay, and certificates."""
    now = time.time()
    text = time.strftime("%Y-%m-%d %H:%M %z", time.localtime(now))
    if now < os.stat(clio_file).st_mtime - _DAY_S:  # noqa: PTH116 a Path would say no more
        yield make_problem("clock", f"{text}, before clio was installed", "set the clock")
    else:
        yield make_ok("clock", text)


def check_terminal(context: DoctorContext) -> Iterator[Finding]:
    """Whether the terminal can show what clio draws."""
    encoding = (getattr(sys.stdout, "encoding", None) or "").lower()
    if encoding.replace("-", "") != "utf8":
        yield make_note("terminal", f"encoding {encoding or 'unknown'}, so some characters are shown as ?",
                   "set LANG to a UTF-8 locale, such as C.UTF-8")  # fmt: skip
        return
    if sys.stdout is None or not sys.stdout.isatty():
        yield make_ok("terminal", "none, the output goes to a program or a file; encoding utf-8")
        return
    term, size = context.env.get("TERM", ""), shutil.get_terminal_size()
    text = f"{term or 'TERM is not set'}, {size.columns}×{size.lines}, {_describe_colours(context, term)}, utf-8"
    if term in ("", "dumb"):
        yield make_note(
            "terminal", text, "lines cannot be redrawn; set TERM to the terminal's type, such as xterm-256color"
        )
    elif size.columns < _NARROW:
        yield make_note("terminal", text, f"widen it to {_NARROW} columns or more")
    else:
        yield make_ok("terminal", text)


def _describe_colours(context: DoctorContext, term: str) -> str:
    if not context.loaded.config.color:
        return "colours off as configured"
    if context.env.get("COLORTERM", "").lower() in ("truecolor", "24bit"):
        return "16 million colours"
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
        return f"{name} is missing", requirement
    if minimum and _parse_version(installed) < _parse_version(minimum):
        return f"{name} {installed} is installed, and clio needs {minimum} or later", requirement
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
    found = _check_program("git", "git", "needed for branches, diffs and commits; install it")
    version = _VERSION.search(found.text) if found.mark == "ok" else None
    if version and tuple(int(part) for part in version[0].split(".")[:2]) < GIT_NEEDED:
        wanted = ".".join(map(str, GIT_NEEDED))
        yield make_note(
            "git", f"{version[0]} is older than {wanted}, so switching branches fails", f"install {wanted} or later"
        )
    elif version and not (context.project / ".git").exists():
        yield make_ok("git", f"{version[0]}; this project is not a git repository")
    else:
        yield found


def check_ripgrep(context: DoctorContext) -> Iterator[Finding]:
    """Whether ripgrep is installed, for fast searches."""
    yield _check_program("ripgrep", find_ripgrep(), "searches are slower without it; install ripgrep")


def check_edit_checks(context: DoctorContext) -> Iterator[Finding]:
    """Which checks run on changed files after a step that edited."""
    wanted = context.loaded.config.checks
    found = describe_checks(wanted, context.project)
    waiting = list_untrusted_programs_of_checks(wanted, context.project, context.owner, context.home)
    ready = [name for name in found if name not in waiting]
    named = f"after edits: {', '.join(ready)}" if ready else "no program is found"
    if wanted[-1:] == (CHECKS_OFF,):
        yield make_ok("checks", "off; the model does not learn what its edits break")
    elif CHECKS_AUTO in wanted:
        yield make_ok("checks", f"{named}; Python, JSON, TOML and YAML files that they do not cover are parsed")
    else:
        yield make_ok("checks", named)
    if waiting:
        confined = "once the project is trusted, and confined"
        yield make_note(
            "checks", f"{', '.join(waiting)} would run this project's code, so only {confined}", "clio config trust"
        )


def _check_program(name: str, path: str | None, without: str) -> Finding:
    if path is None:
        return make_note(name, "not found", without)
    try:
        done = subprocess.run(
            [path, "--version"], capture_output=True, text=True, errors="replace", timeout=_TIME_LIMIT_S, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except FileNotFoundError:
        return make_note(name, "not found", without)
    except subprocess.TimeoutExpired:
        return make_problem(name, f"{path!r} does not exit", "reinstall it")
    except OSError as error:
        return make_problem(name, f"{path!r} does not run: {error.strerror}", "reinstall it")
    if done.returncode != 0 or not done.stdout.strip():
        return make_problem(name, f"{path!r} exits with code {done.returncode}", "reinstall it")
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


def check_home(context: DoctorContext) -> Iterator[Finding]:
    """Whether clio's own folder, or the one it will be created in, can be written."""
    if context.loaded.config.incognito:
        yield make_ok("home", f"{context.shown(context.home)}, not written to in incognito mode")
        return
    yield _is_writable("home", context.home, context, "make it writable for you, or set CLIO_HOME")
    if context.home.is_dir() and _read_mode(context.home) & _OTHERS_WRITE:
        shown = context.shown(context.home)
        yield make_problem(
            "home", f"other users can write to {shown} and so control what clio runs", f"chmod go-w {shown}"
        )


def check_project(context: DoctorContext) -> Iterator[Finding]:
    """Whether the project's sessions and memory can be stored."""
    if context.loaded.config.incognito:
        yield make_ok("project", f"{context.owner}, not written to in incognito mode")
    else:
        yield _is_writable("project", context.owner / ".clio", context, "make it writable for you, or use --incognito")


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
            f"{context.shown(path)} contains one and other users can read it",
            f"chmod 600 {context.shown(path)}",
        )
    if not open_to_others:
        yield make_ok(
            "keys",
            f"in {format_count(len(files_with_keys), 'file')}, which only you can read"
            if files_with_keys
            else "no API keys in clio's files",
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
        text = f"{format_bytes(free)} free for {context.shown(folder) if name == 'home' else 'the project'}"
        files_left = _count_free_files(existing)
        if free < VERY_LOW_DISK_BYTES or files_left < _FEW_FILES:
            text += f", and room for {files_left:,.0f} more files" if free >= VERY_LOW_DISK_BYTES else ""
            yield make_problem("disk", text, "free some space, or sessions cannot be saved")
        elif free < LOW_DISK_BYTES:
            yield make_note("disk", text, "free some space soon")
        else:
            yield make_ok("disk", text)


def check_space(context: DoctorContext) -> Iterator[Finding]:
    """Report how much `clio gc` could free in clio's directories."""
    usages = measure_disk_usage(context.loaded, GcRequest())
    waste = sum(usage.removable_bytes for usage in usages)
    unfinished = sum(len(usage.removable) for usage in usages if usage.kind == "unfinished writes")
    left = f", with {format_count(unfinished, 'unfinished write')} of killed processes" if unfinished else ""
    if waste > MUCH_BYTES or unfinished > MANY_UNFINISHED:
        yield make_note("space", f"{format_bytes(waste)} can be freed{left}", "free it with: clio gc")
    else:
        removable = f"{format_bytes(waste)} can be freed{left}" if waste else "nothing to clean up"
        size = format_bytes(sum(usage.bytes for usage in usages))
        yield make_ok("space", f"{size} in clio's folders, {removable}" if usages else "nothing stored yet")


def _is_writable(about: str, folder: Path, context: DoctorContext, todo: str) -> Finding:
    shown = context.shown(folder)
    existing = _find_nearest_folder(folder)
    if not existing.is_dir():
        return make_problem(about, f"{shown} cannot be written: {context.shown(existing)} is not a folder", todo)
    if not os.access(existing, os.W_OK | os.X_OK):
        return make_problem(about, f"{shown} cannot be written: no permission, or mounted read-only", todo)
    return make_ok(about, f"{shown} can be written" + ("" if existing == folder else "; it is created when needed"))


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
        with path.open("rb") as file:
            return file.read(_READ_BYTES)
    except OSError:
        return b""  # the check of the configuration reports it


def _read_mode(path: Path) -> int:
    return path.stat().st_mode


_CONTAINER = (Path("/.dockerenv"), Path("/run/.containerenv"))
_SHORT_CHARS = 100
_PARTLY = ", partially: commands can still change modes and times of files and reach other terminals"


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
        none = f"no sandbox works here: {failures}{_describe_environment()}"
        held = f"{level} confines commands to the project{_PARTLY if level == 'landlock' else ''}"
        install = "install bubblewrap, or run clio in a container"
        yield make_note("sandbox", none, install) if level == "off" else make_ok("sandbox", held)
        return
    partial = " (partial)" if level == "landlock" else ""
    available = f"{level} available{partial}" if level != "off" else f"no sandbox works here: {failures}"
    text = f"off, commands run with your rights{_describe_environment()}; approval mode: {config.approve}; {available}"
    if config.approve != "all" or _detect_container():
        yield make_ok("sandbox", text)
    else:
        yield make_note("sandbox", text, "use clio --sandbox auto, or --approve edits")


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
        yield make_note(about, text, "install bubblewrap, or use Linux 6.2 or later")
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
        return f", inside a container ({found})"
    return ", as root" if hasattr(os, "geteuid") and os.geteuid() == 0 else ""


def _detect_container() -> str:
    return next((str(path) for path in _CONTAINER if path.exists()), "")


_MAX_NAMED = 3


def check_files(context: DoctorContext) -> Iterator[Finding]:
    """Report which configuration files were read; reading them has succeeded by then."""
    files = ", ".join(context.shown(path) for path in context.loaded.files)
    yield make_ok("configuration", files or "no files, all settings have their defaults")


def check_trust(context: DoctorContext) -> Iterator[Finding]:
    """Which settings of the project are not trusted yet."""
    loaded = context.loaded
    trust = TrustStore(context.home)
    if wrong := trust.describe_damage():
        yield make_problem("trust", f"{context.shown(trust.path)} {wrong}, so no project is trusted",
                  "restore a backup, or trust each project again: clio config trust, clio memory share on")  # fmt: skip
    for sentence in list_start_notes(loaded):
        yield make_note("trust", sentence)
    waiting = list_waiting_for_trust(loaded, context.env)
    if waiting:
        names = ", ".join(value.key for value in waiting[:_MAX_NAMED])
        more = f" and {len(waiting) - _MAX_NAMED} more" if len(waiting) > _MAX_NAMED else ""
        yield make_note(
            "trust", f"the project's {names}{more} wait for your trust", "review them, then run clio config trust"
        )
    if not loaded.withheld and not waiting:
        trusted = len(loaded.trusted)
        in_effect = f"{format_count(trusted, 'value')} of the project in effect because you trust it"
        yield make_ok("trust", in_effect if trusted else "the project needs none")


def check_added(context: DoctorContext) -> Iterator[Finding]:
    """Count MCP servers, skills, commands, sub-agents and hooks; none is started."""
    loaded = context.loaded
    found = SkillCatalog(context.owner, context.home, context.env).find()
    commands = CustomCommands(context.owner, context.home, context.env)
    agents, agent_problems = SubagentCatalog(context.owner, context.home, context.env).find()
    enabled = sum(1 for server in loaded.servers if server.enabled)
    off = len(loaded.servers) - enabled
    counts = (
        format_count(enabled, "MCP server") + (f" ({off} disabled)" if off else ""),
        format_count(len(found.skills), "skill"),
        format_count(len(commands()), "custom command"),
        format_count(len(agents), "sub-agent"),
        format_count(len(loaded.hooks), "hook"),
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
        yield make_problem("sessions", f"{len(unread)} cannot be read: {names}",
                  "restore a backup, or run clio sessions delete ID")  # fmt: skip
    damaged = [name for name in list_file_names(folder) if ".corrupt-" in name]
    if damaged:
        names = ", ".join(damaged[:_MAX_NAMED]) + (" …" if len(damaged) > _MAX_NAMED else "")
        yield make_note("sessions", f"{format_count(len(damaged), 'file')} renamed as damaged ({names})",
                   f"see {context.shown(folder)}")  # fmt: skip
    running = sum(1 for info in infos if info.running)
    more = f", {running} open now" if running else ""
    yield make_ok("sessions", f"{len(infos):,} of this project{more}" if infos else "none yet in this project")


def check_index(context: DoctorContext) -> Iterator[Finding]:
    """Whether the search index can be used, and how many sessions it lacks; it updates by itself."""
    path = context.owner / ".clio" / "cache" / FILE
    if not path.is_file():
        yield make_ok("index", "none yet; it is created when earlier sessions are first searched")
        return
    import sqlite3

    try:
        stamps = _read_stamps(path)
    except sqlite3.Error as error:
        yield make_note(
            "index", f"{context.shown(path)} cannot be used ({error})", "nothing to do, it is rebuilt when needed"
        )
        return
    if stamps is None:
        yield make_note("index", "another version of clio wrote it", "nothing to do, it is rebuilt when needed")
        return
    watched = SessionFolder(context.owner / ".clio" / "sessions")
    watched.scan()
    behind = sum(1 for id, stamp in watched.stamps.items() if id not in stamps or not stamp.matches(stamps[id]))
    state = f"{format_count(behind, 'session')} behind, updated at the next search" if behind else "up to date"
    yield make_ok("index", f"{format_count(len(stamps), 'session')}, {format_bytes(path.stat().st_size)}, {state}")


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
        yield make_problem("memory", f"{problem}; with it, clio recognizes memory that it wrote itself",
                  "in your own projects, run clio config trust")  # fmt: skip
    for path in files:
        if ".corrupt-" in path.name:
            yield make_note(
                "memory", f"{context.shown(path)} was renamed as damaged", "copy what you need from it, then delete it"
            )
        elif wrong := _describe_file_damage(path):
            damaged += 1
            if damaged <= _MAX_NAMED_FILES:
                yield make_problem("memory", f"{context.shown(path)} {wrong}", _suggest_file_fix(wrong))
    if damaged > _MAX_NAMED_FILES:
        yield make_problem(
            "memory",
            f"{format_count(damaged - _MAX_NAMED_FILES, 'more file')} cannot be read",
            "repair the files named above first",
        )
    if not damaged:
        size = sum(path.lstat().st_size for path in files if path.exists())
        yield make_ok(
            "memory",
            f"{format_count(len(files), 'file')}, {format_bytes(size)}, all can be read"
            if files
            else "nothing stored yet",
        )


def check_team(context: DoctorContext) -> Iterator[Finding]:
    """Report shared memory files that are left out, or ignored by git; nothing if memory is not shared and trusted."""
    project = context.owner
    if context.loaded.config.incognito or not (
        has_shared_memory(team_memory_folder(project)) and is_team_trusted(project, context.home)
    ):
        return
    sharing = Sharing(project / ".clio" / "ltm.json", project=project, home=context.home, clock=time.time, clean=str)
    try:
        status = sharing.status()
    except (StorageError, OSError) as error:
        yield make_problem("team memory", str(error), "see clio memory share status")
        return
    if status.problems or status.rule:
        named = ", ".join(repr(problem.path) for problem in status.problems[:_MAX_NAMED_FILES])
        left_out = (
            f"{format_count(len(status.problems), 'file')} left out ({named})"
            if named
            else "git ignores files that should be shared"
        )
        yield make_note("team memory", left_out, "see clio memory share status")
    else:
        yield make_ok("team memory", f"{len(status.shared)} shared in .clio/ltm/")


def check_undo(context: DoctorContext) -> Iterator[Finding]:
    """Report the checkpoints of all projects for /undo; nothing if there are none."""
    store = context.home / "checkpoints"
    if not store.is_dir():
        return
    try:
        stamps = measure_usage(store)
    except OSError as error:
        yield make_note("undo", f"{context.shown(store)} cannot be read: {error.strerror}", "make it readable for you")
        return
    turns = f"{format_count(stamps.turns, 'turn')} of {format_count(stamps.projects, 'project')}"
    yield make_ok("undo", f"{turns}, {format_bytes(stamps.bytes)} in {context.shown(store)}")


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
            hours = f"{age_s / 3600:.0f} hours"
            yield make_note("locks", f"{context.shown(path)} has been held by process {owner.pid} for {hours}",
                       "end that process if it hangs")  # fmt: skip
    for place in (folder, context.home):
        if place.is_dir() and not supports_locks(place):
            text = f"the file system of {context.shown(place)} has no locks, so nothing is learned there"
            yield make_note("locks", text, "move it to a disk that supports them")
    behind = f", {left} of processes that have exited, which lock nothing" if left else ""
    yield make_ok("locks", f"{held} held{behind}")


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
        return f"cannot be read: {error_reason(error)}"
    try:
        if path.name == "ltm.json":
            refuse_newer(decode_ltm(data), str(path))
        elif path.name == "memories.json":
            decode_document(data, MEMORIES, path)
        elif path.suffix == ".json":
            decode_json(data)
        elif path.suffix == ".jsonl":
            split = split_lines(data)
            for line in split.lines:
                decode_json(line)
            if split.truncated and not is_truncated_line(split.truncated):
                return "is damaged (its end is not valid JSON)"
    except NewerDocument:
        return "is from a newer clio"
    except _NO_JSON as error:
        return f"is damaged ({describe_damage(str(error))})"
    return ""


def _suggest_file_fix(wrong: str) -> str:
    if wrong.endswith("not a file"):
        return "remove it"
    if "too large to read" in wrong:
        return "move it away"
    if wrong.startswith("cannot"):
        return "make it readable for you"
    if wrong.startswith("is from"):
        return "update clio"
    return "restore a backup; otherwise clio renames it when it next needs it"
