"""Checks of the machine (Python, packages, programs, sandbox) and of clio's data (settings, sessions, memory)."""

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
from clio.memory.portability.inventory import Places, hoards_of
from clio.memory.store.ltm_codec import decode_ltm, refuse_newer
from clio.memory.store.typed_codec import FORMAT as MEMORIES
from clio.memory.team.share import Sharing
from clio.memory.transcripts.database import VERSION
from clio.memory.transcripts.index import FILE
from clio.memory.transcripts.session_sync import SessionFolder
from clio.sandbox.fence import SandboxLevel
from clio.sandbox.sandbox import Confinement, Sandbox
from clio.security.shell.parser import has_grammar
from clio.sessions.listing import list_file_names, list_sessions
from clio.skills.skills import SkillCatalog, SubagentCatalog
from clio.storage.documents import decode_document, describe_damage
from clio.storage.files import read_regular
from clio.storage.jsonl import is_torn_line, split_lines
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
_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(\[[^\]]*\])?\s*(>=\s*(?P<least>[\d.]+))?[^;]*(;\s*(?P<marker>.*))?")
_PYTHON = re.compile(r"python_version\s*<\s*['\"](?P<below>\d+(\.\d+)*)['\"]")
_EXTRA = re.compile(r"extra\s*==\s*['\"](?P<extra>[\w-]+)")
_DAY_S = 86_400.0
_NARROW = 40


def check_python(ground: DoctorContext) -> Iterator[Finding]:
    """Whether clio supports this version of Python."""
    text = f"{__version__} on Python {platform.python_version()}, {platform.platform(terse=True)}"
    if sys.version_info[:2] >= OLDEST:
        yield make_ok("clio", text)
    else:
        yield make_note("clio", text, f"it needs Python {OLDEST[0]}.{OLDEST[1]} or later; install it with one of these")


def check_packages(ground: DoctorContext) -> Iterator[Finding]:
    """Whether all required packages are installed and new enough."""
    try:
        wanted = metadata.requires(PACKAGE) or []
    except metadata.PackageNotFoundError:
        yield make_note(
            "packages", f"{PACKAGE} is not installed, it runs from its folder", "pip install . there to be sure"
        )
        return
    needed = [line for line in wanted if "extra" not in line.partition(";")[2] and _is_for_this_python(line)]
    problems = [problem for line in needed if (problem := _problem(line))]
    for problem in problems:
        yield make_problem("packages", problem[0], f"pip install '{problem[1]}'")
    if not problems:
        extras = sorted(_extras(wanted) - {"dev"})
        more = f"; extras: {', '.join(extras)}" if extras else ""
        yield make_ok("packages", f"all {len(needed)} that clio needs, as new as it needs them{more}")


def check_grammar(ground: DoctorContext) -> Iterator[Finding]:
    """Whether command lines can be parsed; only a parsed line can run without approval."""
    if has_grammar():
        yield make_ok("commands", "their grammar is installed, so those that only read need no question")
    else:
        yield make_note(
            "commands",
            "tree-sitter or tree-sitter-bash is not installed, so clio asks about every command",
            "install both, or clio with a Python they have wheels for",
        )


def check_clock(ground: DoctorContext) -> Iterator[Finding]:
    """Whether the clock is behind, which breaks the order of sessions, memory decay, and certificates."""
    now = time.time()
    said = time.strftime("%Y-%m-%d %H:%M %z", time.localtime(now))
    if now < os.stat(clio_file).st_mtime - _DAY_S:  # noqa: PTH116 a Path would say no more
        yield make_problem("clock", f"{said}, before clio was installed", "set it")
    else:
        yield make_ok("clock", said)


def check_terminal(ground: DoctorContext) -> Iterator[Finding]:
    """Whether the terminal can show what clio draws."""
    encoding = (getattr(sys.stdout, "encoding", None) or "").lower()
    if encoding.replace("-", "") != "utf8":
        yield make_note("terminal", f"its encoding is {encoding or 'unknown'}, so some characters become ?",
                   "set LANG to a UTF-8 locale, such as C.UTF-8")  # fmt: skip
        return
    if sys.stdout is None or not sys.stdout.isatty():
        yield make_ok("terminal", "none, the output is read by a program; encoding utf-8")
        return
    term, size = ground.env.get("TERM", ""), shutil.get_terminal_size()
    text = f"{term or 'TERM is not set'}, {size.columns}×{size.lines}, {_colours(ground, term)}, utf-8"
    if term in ("", "dumb"):
        yield make_note(
            "terminal", text, "nothing can be redrawn there; set TERM to what it is, such as xterm-256color"
        )
    elif size.columns < _NARROW:
        yield make_note("terminal", text, f"widen it to {_NARROW} columns or more")
    else:
        yield make_ok("terminal", text)


def _colours(ground: DoctorContext, term: str) -> str:
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
    """Return what is wrong with a required package, and its specifier for pip; None if nothing is."""
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
_TIME_LIMIT_S = 3.0  # seconds for `--version` of a program
_VERSION = re.compile(r"\d+\.\d+[\w.+-]*")


def check_git(ground: DoctorContext) -> Iterator[Finding]:
    """Whether git runs and is new enough, and whether the project is a repository."""
    found = _program("git", "git", "it is needed for branches, diffs and commits; install it")
    version = _VERSION.search(found.text) if found.mark == "ok" else None
    if version and tuple(int(part) for part in version[0].split(".")[:2]) < GIT_NEEDED:
        wanted = ".".join(map(str, GIT_NEEDED))
        yield make_note(
            "git", f"{version[0]} is older than {wanted}, so switching branches fails", f"install {wanted} or later"
        )
    elif version and not (ground.project / ".git").exists():
        yield make_ok("git", f"{version[0]}; this project is not under it")
    else:
        yield found


def check_ripgrep(ground: DoctorContext) -> Iterator[Finding]:
    """Whether ripgrep is installed, for fast searches."""
    yield _program("ripgrep", find_ripgrep(), "searching works without it, more slowly; install ripgrep")


def check_edit_checks(ground: DoctorContext) -> Iterator[Finding]:
    """Which checks run on changed files after a step that edited."""
    wanted = ground.loaded.config.checks
    found = describe_checks(wanted, ground.project)
    waiting = list_untrusted_programs_of_checks(wanted, ground.project, ground.owner, ground.home)
    ready = [name for name in found if name not in waiting]
    named = f"after edits: {', '.join(ready)}" if ready else "no program is found"
    if wanted[-1:] == (CHECKS_OFF,):
        yield make_ok("checks", "off, the model is not told what its edits break")
    elif CHECKS_AUTO in wanted:
        yield make_ok("checks", f"{named}; Python, JSON, TOML and YAML that none of them reads is parsed")
    else:
        yield make_ok("checks", named)
    if waiting:
        confined = "once the project is trusted, and only confined"
        yield make_note(
            "checks", f"{', '.join(waiting)} would run code of this project, so only {confined}", "clio config trust"
        )


def _program(name: str, path: str | None, without: str) -> Finding:
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
        return make_problem(name, f"{path!r} does not end", "reinstall it")
    except OSError as error:
        return make_problem(name, f"{path!r} does not run: {error.strerror}", "reinstall it")
    if done.returncode != 0 or not done.stdout.strip():
        return make_problem(name, f"{path!r} ends with exit code {done.returncode}", "reinstall it")
    words = done.stdout.split()
    return make_ok(name, next((word for word in words if word[:1].isdigit()), words[0]))


LITTLE_BYTES, SOME_BYTES = 100_000_000, 1_000_000_000
MUCH_BYTES, MANY_UNFINISHED = 100_000_000, 1_000
"""Above one of these, what `clio gc` could free is reported as a note; the second counts unfinished writes."""
_FEW_FILES = 1_000
_READ_BYTES = 1_000_000
_OTHERS_READ = stat.S_IRGRP | stat.S_IROTH
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
# Matches a literal value, not a reference to a variable.
_SECRET = re.compile(
    rb"(?i)[\w-]*(key|token|secret|passw\w*|authorization|credential)[\w-]*[\"']?\s*[:=]\s*[\"']?(?!\$)[^\s\"'#]{8}"
)


def check_home(ground: DoctorContext) -> Iterator[Finding]:
    """Whether clio's own folder, or the one it will be created in, can be written."""
    if ground.loaded.config.incognito:
        yield make_ok("home", f"{ground.shown(ground.home)}, not written to because clio is incognito")
        return
    yield _writable("home", ground.home, ground, "make it yours, or set CLIO_HOME")
    if ground.home.is_dir() and _mode(ground.home) & _OTHERS_WRITE:
        yield make_problem("home", f"others can write into {ground.shown(ground.home)}, and so decide what clio runs",
                  f"chmod go-w {ground.shown(ground.home)}")  # fmt: skip


def check_project(ground: DoctorContext) -> Iterator[Finding]:
    """Whether the project's sessions and memory can be stored."""
    if ground.loaded.config.incognito:
        yield make_ok("project", f"{ground.owner}, not written to because clio is incognito")
    else:
        yield _writable("project", ground.owner / ".clio", ground, "make it yours, or work with --incognito")


def check_secrets(ground: DoctorContext) -> Iterator[Finding]:
    """Whether other users can read a file that contains a key."""
    own = [ground.home / name for name in ("config.yaml", "mcp.yaml", "hooks.yaml")]
    theirs = [ground.owner / ".clio" / name for name in ("config.yaml", "mcp.yaml")]
    files = [*own, *theirs, ground.owner / ".mcp.json"]
    holding = [path for path in dict.fromkeys(files) if path.is_file() and _SECRET.search(_head(path))]
    open_to_others = [path for path in holding if _mode(path) & _OTHERS_READ] if os.name != "nt" else []
    for path in open_to_others:
        yield make_problem(
            "keys", f"{ground.shown(path)} holds one and others can read it", f"chmod 600 {ground.shown(path)}"
        )
    if not open_to_others:
        yield make_ok(
            "keys",
            f"in {format_count(len(holding), 'file')}, which only you can read"
            if holding
            else "no file of clio's holds one",
        )


def check_disk(ground: DoctorContext) -> Iterator[Finding]:
    """Report how much space is left where clio writes."""
    seen: set[int] = set()
    for name, folder in (("home", ground.home), ("project", ground.owner)):
        there = _nearest(folder)
        if (device := there.stat().st_dev) in seen:
            continue
        seen.add(device)
        free = shutil.disk_usage(there).free
        text = f"{format_bytes(free)} free for {ground.shown(folder) if name == 'home' else 'the project'}"
        if free < LITTLE_BYTES or _files_left(there) < _FEW_FILES:
            yield make_problem("disk", f"{text}, and {_files_left(there):,.0f} files" if free >= LITTLE_BYTES else text,
                      "make room before a session cannot be kept")  # fmt: skip
        elif free < SOME_BYTES:
            yield make_note("disk", text, "make room soon")
        else:
            yield make_ok("disk", text)


def check_space(ground: DoctorContext) -> Iterator[Finding]:
    """Report how much `clio gc` could free in clio's directories."""
    heaps = measure_disk_usage(ground.loaded, GcRequest())
    waste = sum(heap.removable_bytes for heap in heaps)
    unfinished = sum(len(heap.removable) for heap in heaps if heap.kind == "unfinished writes")
    left = f" with {format_count(unfinished, 'unfinished write')} that kills left" if unfinished else ""
    if waste > MUCH_BYTES or unfinished > MANY_UNFINISHED:
        yield make_note("space", f"{format_bytes(waste)} may go{left}", "free it with: clio gc")
    else:
        size = format_bytes(sum(heap.bytes for heap in heaps))
        yield make_ok(
            "space", f"{size} in clio's folders, {format_bytes(waste)} may go{left}" if heaps else "nothing kept yet"
        )


def _writable(about: str, folder: Path, ground: DoctorContext, todo: str) -> Finding:
    shown = ground.shown(folder)
    there = _nearest(folder)
    if not there.is_dir():
        return make_problem(about, f"{shown} cannot be written: {ground.shown(there)} is no folder", todo)
    if not os.access(there, os.W_OK | os.X_OK):
        return make_problem(about, f"{shown} cannot be written: you may not, or it is mounted to be read", todo)
    return make_ok(about, f"{shown} can be written" + ("" if there == folder else "; it is made when it is needed"))


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


def check_sandbox(ground: DoctorContext) -> Iterator[Finding]:
    """Which sandbox level works: a small command is run at each level, in a temporary folder."""
    config = ground.loaded.config
    # "off" is checked as "auto", which tells a user without a sandbox which one would work.
    choice = "auto" if config.sandbox == "off" else config.sandbox
    sandbox = Sandbox(choice, home=ground.home, user_home=ground.user_home, env=ground.env)
    try:
        level = sandbox.level()
    except ToolFailed as error:
        wrong, _, todo = str(error).partition("; ")
        yield make_problem("sandbox", wrong.removeprefix("the sandbox "), todo.removeprefix("the user can "))
        return
    why = _why(sandbox)
    if config.sandbox != "off":
        none = f"none holds here: {why}{_describe_environment()}"
        held = f"{level} holds commands to the project{_PARTLY if level == 'landlock' else ''}"
        install = "install bubblewrap, or run clio in a container"
        yield make_note("sandbox", none, install) if level == "off" else make_ok("sandbox", held)
        return
    in_part = ", in part" if level == "landlock" else ""
    would = f"{level} would hold them here{in_part}" if level != "off" else f"none would hold them here: {why}"
    text = f"off, commands run with your rights{_describe_environment()}, approve is {config.approve}; {would}"
    if config.approve != "all" or _container():
        yield make_ok("sandbox", text)
    else:
        yield make_note("sandbox", text, "clio --sandbox auto, or --approve edits")


def check_confinement(ground: DoctorContext) -> Iterator[Finding]:
    """Report what confines commands that run without approval, by running a small command."""
    confinement = Confinement(
        wanted=ground.loaded.config.confine_unasked != "off", home=None, user_home=ground.user_home, env=ground.env
    )
    about, sentence = "confinement", confinement.describe()
    text = sentence[:1].lower() + sentence[1:]
    if not confinement.wanted:
        yield make_ok(about, text)
    elif confinement.level() == "off":
        yield make_note(about, text, "install bubblewrap, or use Linux 6.2 or later")
    else:
        yield make_ok(about, text)


def _why(sandbox: Sandbox) -> str:
    """Why no level works, in a few words each."""
    reasons: dict[SandboxLevel, str] = dict(sandbox.reasons)
    return ", ".join(
        f"{level}: {error_reason[:_SHORT_CHARS]}" for level, error_reason in reasons.items() if error_reason
    )


def _describe_environment() -> str:
    """Whether clio itself runs in a container or as root."""
    if found := _container():
        return f", inside a container ({found})"
    return ", as root" if hasattr(os, "geteuid") and os.geteuid() == 0 else ""


def _container() -> str:
    return next((str(path) for path in _CONTAINER if path.exists()), "")


_MAX_NAMED = 3


def check_files(ground: DoctorContext) -> Iterator[Finding]:
    """Report which configuration files were read; reading them has succeeded by then."""
    files = ", ".join(ground.shown(path) for path in ground.loaded.files)
    yield make_ok("configuration", files or "no files, so everything is as it comes")


def check_trust(ground: DoctorContext) -> Iterator[Finding]:
    """Which settings of the project are not trusted yet."""
    loaded = ground.loaded
    trust = TrustStore(ground.home)
    if wrong := trust.describe_damage():
        yield make_problem("trust", f"{ground.shown(trust.path)} {wrong}, so no project is trusted with anything",
                  "put a copy back, or trust each again: clio config trust, clio memory share on")  # fmt: skip
    for sentence in list_start_notes(loaded):
        yield make_note("trust", sentence)
    waiting = list_waiting_for_trust(loaded, ground.env)
    if waiting:
        names = ", ".join(value.key for value in waiting[:_MAX_NAMED])
        more = f" and {len(waiting) - _MAX_NAMED} more" if len(waiting) > _MAX_NAMED else ""
        yield make_note("trust", f"the project's {names}{more} wait for it", "look at them, then: clio config trust")
    if not loaded.withheld and not waiting:
        trusted = len(loaded.trusted)
        in_force = f"{format_count(trusted, 'value')} of the project's in force because you said so"
        yield make_ok("trust", in_force if trusted else "the project asks for nothing that needs it")


def check_added(ground: DoctorContext) -> Iterator[Finding]:
    """Count MCP servers, skills, commands, sub-agents and hooks; none is started."""
    loaded = ground.loaded
    found = SkillCatalog(ground.owner, ground.home, ground.env).find()
    commands = CustomCommands(ground.owner, ground.home, ground.env)
    agents, agent_problems = SubagentCatalog(ground.owner, ground.home, ground.env).find()
    enabled = sum(1 for server in loaded.servers if server.enabled)
    off = len(loaded.servers) - enabled
    counts = (
        format_count(enabled, "MCP server") + (f" ({off} switched off)" if off else ""),
        format_count(len(found.skills), "skill"),
        format_count(len(commands()), "own command"),
        format_count(len(agents), "sub-agent"),
        format_count(len(loaded.hooks), "hook"),
    )
    for problem in (*loaded.server_problems, *found.problems, *commands.problems(), *agent_problems):
        yield make_note("extensions", problem)
    yield make_ok("extensions", ", ".join(counts))


def check_sessions(ground: DoctorContext) -> Iterator[Finding]:
    """How many sessions there are, and which cannot be read."""
    folder = ground.owner / ".clio" / "sessions"
    infos = list_sessions(folder)
    unread = [info.id for info in infos if not info.messages and not info.created_at]
    if unread:
        names = ", ".join(unread[:_MAX_NAMED]) + (" …" if len(unread) > _MAX_NAMED else "")
        yield make_problem("sessions", f"{len(unread)} cannot be read: {names}",
                  "put a copy back, or: clio sessions delete ID")  # fmt: skip
    aside = [name for name in list_file_names(folder) if ".corrupt-" in name]
    if aside:
        names = ", ".join(aside[:_MAX_NAMED]) + (" …" if len(aside) > _MAX_NAMED else "")
        yield make_note("sessions", f"{format_count(len(aside), 'file')} set aside as damaged ({names})",
                   f"look at them in {ground.shown(folder)}")  # fmt: skip
    running = sum(1 for info in infos if info.running)
    more = f", {running} open now" if running else ""
    yield make_ok("sessions", f"{len(infos):,} of this project{more}" if infos else "none yet in this project")


def check_index(ground: DoctorContext) -> Iterator[Finding]:
    """Whether the search index can be used, and how many sessions it lacks; it updates by itself."""
    path = ground.owner / ".clio" / "cache" / FILE
    if not path.is_file():
        yield make_ok("index", "none yet; it is made when earlier sessions are first searched")
        return
    import sqlite3

    try:
        kept = _read_stamps(path)
    except sqlite3.Error as error:
        yield make_note(
            "index", f"{ground.shown(path)} cannot be used ({error})", "nothing to do, it is rebuilt when needed"
        )
        return
    if kept is None:
        yield make_note("index", "it is of another version of clio", "nothing to do, it is rebuilt when needed")
        return
    watched = SessionFolder(ground.owner / ".clio" / "sessions")
    watched.look()
    behind = sum(1 for id, stamp in watched.stamps.items() if id not in kept or not stamp.same_as(kept[id]))
    state = f"{format_count(behind, 'session')} behind, caught up with at the next search" if behind else "up to date"
    yield make_ok("index", f"{format_count(len(kept), 'session')}, {format_bytes(path.stat().st_size)}, {state}")


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


def check_memory(ground: DoctorContext) -> Iterator[Finding]:
    """Whether every memory file can be read; those that cannot are named."""
    places = Places(project=ground.owner, home=ground.home)
    hoards = [hoard for hoard in hoards_of(places, ("project", "user", "styles")) if hoard.kind != "cache"]
    files = sorted({path for hoard in hoards for path in hoard.files()})
    damaged = 0
    if problem := describe_key_damage(ground.home):
        yield make_problem("memory", f"{problem}, by which clio knows the memory it wrote itself",
                  "in projects of your own run: clio config trust")  # fmt: skip
    for path in files:
        if ".corrupt-" in path.name:
            yield make_note(
                "memory", f"{ground.shown(path)} was set aside as damaged", "take out what you need, then delete it"
            )
        elif wrong := _what_is_wrong(path):
            damaged += 1
            if damaged <= _MAX_NAMED_FILES:
                yield make_problem("memory", f"{ground.shown(path)} {wrong}", _todo(wrong))
    if damaged > _MAX_NAMED_FILES:
        yield make_problem(
            "memory",
            f"{format_count(damaged - _MAX_NAMED_FILES, 'more file')} cannot be read",
            "look at those named first",
        )
    if not damaged:
        size = sum(path.lstat().st_size for path in files if path.exists())
        yield make_ok(
            "memory",
            f"{format_count(len(files), 'file')}, {format_bytes(size)}, all can be read"
            if files
            else "nothing kept yet",
        )


def check_team(ground: DoctorContext) -> Iterator[Finding]:
    """Report shared memory files that are left out, or ignored by git; nothing if memory is not shared and trusted."""
    project = ground.owner
    if ground.loaded.config.incognito or not (
        has_shared_memory(team_memory_folder(project)) and is_team_trusted(project, ground.home)
    ):
        return
    sharing = Sharing(project / ".clio" / "ltm.json", project=project, home=ground.home, clock=time.time, clean=str)
    try:
        status = sharing.status()
    except (StorageError, OSError) as error:
        yield make_problem("team memory", str(error), "look with: clio memory share status")
        return
    if status.problems or status.rule:
        named = ", ".join(repr(problem.path) for problem in status.problems[:_MAX_NAMED_FILES])
        left_out = (
            f"{format_count(len(status.problems), 'file')} left out ({named})"
            if named
            else "git does not see what it should"
        )
        yield make_note("team memory", left_out, "look with: clio memory share status")
    else:
        yield make_ok("team memory", f"{len(status.shared)} shared in .clio/ltm/")


def check_undo(ground: DoctorContext) -> Iterator[Finding]:
    """Report the checkpoints of all projects for /undo; nothing if there are none."""
    store = ground.home / "checkpoints"
    if not store.is_dir():
        return
    try:
        kept = measure_usage(store)
    except OSError as error:
        yield make_note("undo", f"{ground.shown(store)} cannot be read: {error.strerror}", "make it yours")
        return
    turns = f"{format_count(kept.turns, 'turn')} of {format_count(kept.projects, 'project')}"
    yield make_ok("undo", f"{turns}, {format_bytes(kept.bytes)} in {ground.shown(store)}")


def check_locks(ground: DoctorContext) -> Iterator[Finding]:
    """Report which locks are held, and by whom. A lock file left by a process that has exited locks nothing."""
    folder = ground.owner / ".clio"
    held, left = 0, 0
    for path in _locks((folder, folder / "sessions", folder / "cache", ground.home)):
        owner = find_lock_owner(path)
        if owner is None:
            left += 1
            continue
        held += 1
        age_s = time.time() - owner.timestamp
        if path.parent.name != "sessions" and owner.pid and age_s > _LONG_HELD_S:
            hours = f"{age_s / 3600:.0f} hours"
            yield make_note("locks", f"{ground.shown(path)} has been held by process {owner.pid} for {hours}",
                       "end that process if it hangs")  # fmt: skip
    for place in (folder, ground.home):
        if place.is_dir() and not supports_locks(place):
            yield make_note("locks", f"the file system of {ground.shown(place)} has none, so nothing is learned there",
                       "move it to a disk that has them")  # fmt: skip
    behind = f", {left} left behind by processes that ended, which lock nothing" if left else ""
    yield make_ok("locks", f"{held} held{behind}")


def _locks(folders: Iterable[Path]) -> Iterator[Path]:
    for folder in dict.fromkeys(folders):
        try:
            with os.scandir(folder) as entries:
                names = sorted(entry.name for entry in entries if entry.name.endswith(".lock"))
        except OSError:
            continue  # missing or unreadable: another check reports it
        yield from (folder / name for name in names)


def _what_is_wrong(path: Path) -> str:
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
            if split.torn and not is_torn_line(split.torn):
                return "is damaged (its end is not valid JSON)"
    except NewerDocument:
        return "is from a newer clio"
    except _NO_JSON as error:
        return f"is damaged ({describe_damage(str(error))})"
    return ""


def _todo(wrong: str) -> str:
    if wrong.endswith("not a file"):
        return "remove it"
    if "too large to read" in wrong:
        return "move it away"
    if wrong.startswith("cannot"):
        return "make it yours"
    if wrong.startswith("is from"):
        return "update clio"
    return "put a copy back, or let clio set it aside when it next needs it"
