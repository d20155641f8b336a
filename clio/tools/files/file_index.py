"""The files of a project without those its `.gitignore` files exclude; glob patterns as `.gitignore` reads them."""

import os
import re
import shutil
import stat
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from functools import cache, lru_cache
from itertools import islice
from pathlib import Path

from msgspec import Struct, field

from clio.errors import ToolRetry
from clio.security.actions import Workspace
from clio.storage.files import read_project_file, read_regular
from clio.threads import start_daemon_thread

MOST_WILDCARDS = 3
"""Globs with no more of them are matched by Python's own expressions, which are faster."""
_MOST_ALTERNATIVES = 64

_Accepts = Callable[[str], bool]


class LinearGlob:
    """A glob without braces. as_git: see `globs.translate`. Raises re.error."""

    def __init__(self, glob: str, *, as_git: bool) -> None:
        self._steps: list[_Accepts] = []
        self._loops = 0  # steps that take any number of characters
        self._folders = 0  # empty steps before `**/`, which may be left out as a whole
        self._parse(glob, as_git)
        self._known: dict[str, int] = {}

    def fullmatch(self, path: str) -> bool:
        """Whether the whole path answers to it."""
        states = self._rested(1)
        for char in path:
            accepting = self._known.get(char)
            if accepting is None:
                accepting = self._known[char] = sum(1 << at for at, step in enumerate(self._steps) if step(char))
            taken = states & accepting
            states = self._rested((taken & self._loops) | ((taken & ~self._loops) << 1))
            if not states:
                return False
        return bool(states >> len(self._steps) & 1)

    def _rested(self, states: int) -> int:
        """These states and all that are reached from them without a character."""
        while True:
            more = states | ((states & (self._loops | self._folders)) << 1) | ((states & self._folders) << 3)
            if more == states:
                return states
            states = more

    def _parse(self, glob: str, as_git: bool) -> None:
        at = 0
        while at < len(glob):
            at = self._parse_one(glob, at, as_git)

    def _parse_one(self, glob: str, at: int, as_git: bool) -> int:
        """Add the step that begins at this place; gives the place behind it."""
        char = glob[at]
        begins = at == 0 or glob[at - 1] == "/"
        if begins and glob.startswith("**/", at):
            self._folders |= 1 << len(self._steps)
            self._add(_is_none)
            self._add(_is_any, loops=True)
            self._add("/".__eq__)
            return at + 3
        if glob.startswith("**", at):
            component = begins and at + 2 == len(glob)
            self._add(_is_any if component or not as_git else _is_no_slash, loops=True)
            return at + 2
        if char == "*":
            self._add(_is_no_slash, loops=True)
        elif char == "?":
            self._add(_is_no_slash)
        elif char == "[":
            return self._parse_class(glob, at)
        elif char == "\\" and at + 1 < len(glob):
            self._add(glob[at + 1].__eq__)
            return at + 2
        else:
            self._add(char.__eq__)
        return at + 1

    def _parse_class(self, glob: str, at: int) -> int:
        end = glob.find("]", at + 2)
        if end < 0:
            raise re.error("a bracket is not closed")
        inside = glob[at + 1 : end].replace("\\", r"\\").replace("[", r"\[")
        pattern = re.compile(f"[^{inside[1:]}]" if inside[0] in "!^" else f"[{inside}]", re.DOTALL)
        self._add(lambda char: pattern.fullmatch(char) is not None)
        return end + 1

    def _add(self, accepts: _Accepts, *, loops: bool = False) -> None:
        if loops:
            self._loops |= 1 << len(self._steps)
        self._steps.append(accepts)


def alternatives(glob: str) -> list[str]:
    """The globs that a glob with braces stands for. Raises ToolRetry for too many, re.error for an open brace."""
    found = [glob]
    while (place := next((place for place, one in enumerate(found) if _brace(one)), None)) is not None:
        one = found.pop(place)
        begin, end, parts = _brace(one) or (0, 0, [])
        found[place:place] = [one[:begin] + part + one[end:] for part in parts]
        if len(found) > _MOST_ALTERNATIVES:
            raise ToolRetry(f"the glob stands for more than {_MOST_ALTERNATIVES} others; use fewer braces")
    return found


def _brace(glob: str) -> tuple[int, int, list[str]] | None:
    """The first pair of braces with none inside of it: its place, the place behind it, and its parts."""
    begin = -1
    at = 0
    while at < len(glob):
        if glob[at] == "\\":
            at += 1
        elif glob[at] == "[":
            at = max(at, glob.find("]", at + 2))
        elif glob[at] == "{":
            begin = at
        elif glob[at] == "}" and begin >= 0:
            return begin, at + 1, glob[begin + 1 : at].split(",")
        at += 1
    if begin >= 0:
        raise re.error("a brace is not closed")
    return None


def _is_any(char: str) -> bool:
    return True


def _is_none(char: str) -> bool:
    return False


def _is_no_slash(char: str) -> bool:
    return char != "/"


_SPECIAL = re.compile(r"[*?\[{]")


def is_glob(text: str) -> bool:
    """Whether the text has a wildcard in it."""
    return _SPECIAL.search(text) is not None


@lru_cache(maxsize=64)
def matcher(pattern: str) -> Callable[[str], bool]:
    """Whether a relative path with forward slashes answers to the pattern.

    `*` and `?` stop at slashes, `**` does not, `{a,b}` and `[a-z]` work. A pattern without a slash looks at the name
    only; one with a slash at the whole path; one that ends in a slash at everything in that folder; `!` in front turns
    it round. Raises ToolRetry for a pattern that cannot be read.
    """
    negative = pattern.startswith("!")
    text = pattern[1:] if negative else pattern
    text = text.removeprefix("./")
    if text.endswith("/"):
        text += "**"
    anchored = "/" in text
    try:
        found = compile_glob(text.removeprefix("/"))
    except re.error as error:
        raise ToolRetry(f"the glob {pattern!r} cannot be read: {error}; write [[] for a bracket itself") from None

    def matches(path: str) -> bool:
        subject = path if anchored else path.rsplit("/", 1)[-1]
        return found(subject) is not negative

    return matches


def compile_glob(glob: str, *, as_git: bool = False) -> Callable[[str], bool]:
    """Whether a whole path answers to the glob, in bounded time. as_git: see `translate`.

    Raises re.error, and ToolRetry for braces that stand for too many globs.
    """
    if glob.count("*") <= MOST_WILDCARDS and (as_git or glob.count("{") <= MOST_WILDCARDS):
        pattern = re.compile(translate(glob, as_git=as_git))
        return lambda path: pattern.fullmatch(path) is not None
    every = [LinearGlob(one, as_git=as_git) for one in ([glob] if as_git else alternatives(glob))]
    return lambda path: any(one.fullmatch(path) for one in every)


def translate(glob: str, *, as_git: bool = False) -> str:
    """The regular expression of a whole path. Raises re.error.

    as_git: braces are ordinary characters, and `**` is special only between slashes.
    """
    out: list[str] = []
    depth = at = 0
    while at < len(glob):
        char = glob[at]
        if glob.startswith("**/", at) and (at == 0 or glob[at - 1] == "/"):
            out.append("(?:.*/)?")
            at += 2
        elif glob.startswith("**", at):
            component = (at == 0 or glob[at - 1] == "/") and at + 2 == len(glob)
            out.append(".*" if component or not as_git else "[^/]*")
            at += 1
        elif char == "*":
            out.append("[^/]*")
        elif char == "?":
            out.append("[^/]")
        elif char == "[":
            end = glob.find("]", at + 2)
            if end < 0:
                raise re.error("a bracket is not closed")
            inside = glob[at + 1 : end].replace("\\", r"\\").replace("[", r"\[")
            out.append(f"[^{inside[1:]}]" if inside[0] in "!^" else f"[{inside}]")
            at = end
        elif char == "{" and not as_git:
            depth += 1
            out.append("(?:")
        elif char == "}" and depth:
            depth -= 1
            out.append(")")
        elif char == "," and depth:
            out.append("|")
        elif char == "\\" and at + 1 < len(glob):
            at += 1
            out.append(re.escape(glob[at]))
        else:
            out.append(re.escape(char))
        at += 1
    if depth:
        raise re.error("a brace is not closed")
    return "(?s:" + "".join(out) + ")"


_MOST_LINES, _MOST_CHARS = 4_000, 1_000
"""More rules in one file, and longer ones, say nothing: each rule is asked about each path."""
_MOST_TOLD = 50_000
"""A large tree is walked before every command, and most of its files are those of the last time."""


class _Rule(Struct, frozen=True, kw_only=True):
    matches: Callable[[str], bool]
    expression: str
    ignores: bool
    folders_only: bool


class IgnoreRules(Struct, frozen=True, kw_only=True):
    """The rules of one file, for paths relative to the folder it lies in. told: what was said of files before.

    any_of_them: one expression for all rules; None where one of them has none.
    """

    rules: tuple[_Rule, ...]
    any_of_them: re.Pattern[str] | None
    told: dict[str, bool | None] = field(default_factory=dict[str, bool | None])

    def verdict(self, path: str, *, folder: bool) -> bool | None:
        """True: ignored, False: expressly not ignored, None: nothing is said. Forward slashes, none at either end."""
        if folder:
            return self._verdict(path, folder=True)
        if path in self.told:
            return self.told[path]
        if len(self.told) >= _MOST_TOLD:
            self.told.clear()
        said = self.told[path] = self._verdict(path, folder=False)
        return said

    def _verdict(self, path: str, *, folder: bool) -> bool | None:
        if self.any_of_them is not None and not self.any_of_them.fullmatch(path):
            return None
        for rule in reversed(self.rules):
            if (folder or not rule.folders_only) and rule.matches(path):
                return rule.ignores
        return None


@lru_cache(maxsize=64)
def parse_rules(text: str) -> IgnoreRules:
    """The rules in the text of an ignore file; lines that cannot be read say nothing, as with git."""
    lines = islice((line for line in text.splitlines() if len(line) <= _MOST_CHARS), _MOST_LINES)
    rules = tuple(rule for line in lines if (rule := _rule(line)) is not None)
    if any(not rule.expression for rule in rules):
        return IgnoreRules(rules=rules, any_of_them=None)
    together = "|".join(rule.expression for rule in rules)
    return IgnoreRules(rules=rules, any_of_them=re.compile(together or "(?!)"))


def _rule(line: str) -> _Rule | None:
    line = _without_blanks(line)
    if not line or line.startswith("#"):
        return None
    ignores = not line.startswith("!")
    glob = line if ignores else line[1:]
    folders_only = glob.endswith("/")
    glob = glob.rstrip("/") if folders_only else glob
    if not glob:
        return None
    if "/" not in glob:
        glob = f"**/{glob}"
    if glob.endswith("/**"):
        glob += "/*"  # everything below the folder, which itself stays
    try:
        matches = compile_glob(glob.removeprefix("/"), as_git=True)
        simple = glob.count("*") <= MOST_WILDCARDS
        expression = translate(glob.removeprefix("/"), as_git=True) if simple else ""
    except (re.error, RecursionError, OverflowError):
        return None
    return _Rule(matches=matches, expression=expression, ignores=ignores, folders_only=folders_only)


def _without_blanks(line: str) -> str:
    """The line without blanks at its end; one that is written with a backslash stays."""
    bare = line.rstrip(" \t")
    backslashes = len(bare) - len(bare.rstrip("\\"))
    return bare + line[len(bare) : len(bare) + 1] if backslashes % 2 else bare


_REPOSITORIES = (".git", ".hg", ".svn", ".jj")
_OWN_DATA = (".clio/sessions", ".clio/cache")
"""Transcripts and caches hold copies of the project's text; finding those again would only mislead."""
_MACHINE = ("/proc", "/sys", "/dev")
"""No files of a project, where the project is the whole machine; to read some of them waits for ever."""
_IGNORE_FILES = (".gitignore", ".ignore")  # the second is ripgrep's own and wins
_MAX_IGNORE_BYTES = 1_000_000
_RIPGREP_FILES = (*_IGNORE_FILES, ".rgignore", ".git")
"""What ripgrep opens by itself in every folder."""
_MAX_RIPGREP_BYTES = 256_000
"""ripgrep reads such a file whole, and turns it into expressions: 230 MB of memory for 1 MB of rules."""
_TIMEOUT_S = 30.0

_Placed = tuple[str, IgnoreRules]
"""Rules with the folder they are stated in, which ends in a separator."""


@cache
def ripgrep() -> str | None:
    """The ripgrep to use: the one installed beside this Python, else the one on PATH, else None."""
    # Where sysconfig says, too, which reads all that this Python was built with for it: 0.4 MiB, 3 ms.
    scripts = Path(sys.prefix, "Scripts" if os.name == "nt" else "bin")
    return shutil.which("rg", path=str(scripts)) or shutil.which("rg")


def ripgrep_options(root: Path, folder: Path, *, hidden: bool) -> list[str]:
    """The options that make ripgrep see the same files, whatever the user's own configuration of it."""
    options = ["--no-config", "--no-require-git", "--no-ignore-global", "--no-messages", "--color=never"]
    if hidden:
        options.append("--hidden")
    for name in _REPOSITORIES:
        options.append(f"--glob=!{name}")
    for name in _OWN_DATA:
        options.append(f"--glob=!**/{name}")
    if folder.parent == folder:
        options += [f"--glob=!{name}" for name in _MACHINE]
    if folder == root and _repository_of(root) is None:
        options.append("--no-ignore-parent")  # outside git, rules above the project are nobody's
    return options


def list_files(root: Path, under: Path | None = None, *, hidden: bool = False, rg: str | None = "auto") -> list[str]:
    """The files in `root`, or in its folder `under`, as sorted relative paths with forward slashes.

    Links are neither listed nor followed; folders of version control are left out; a folder that is itself ignored is
    listed when asked for by name.
    hidden: with names that begin with a dot.
    rg: the ripgrep to use; "auto" finds one; None, or one that does not start, walks the tree in Python.
    """
    folder = under or root
    program = ripgrep() if rg == "auto" else rg
    names = _with_ripgrep(program, root, folder, hidden) if program else None
    if names is None:
        names = list(walk(root, folder, hidden=hidden))
    prefix = "" if folder == root else folder.relative_to(root).as_posix() + "/"
    return sorted((prefix + name for name in names), key=path_key)


def list_within(root: Path, *, limit_s: float, most: int) -> list[str] | None:
    """The same where it takes no longer and there are no more; else None."""
    ends = time.monotonic() + limit_s
    names: list[str] | None
    if program := ripgrep():
        names = _with_ripgrep(program, root, root, False, limit_s)
    else:
        names = []
        for name in walk(root, root, hidden=False):
            names.append(name)
            if len(names) > most or time.monotonic() > ends:
                return None
    return sorted(names, key=path_key) if names is not None and len(names) <= most else None


def path_key(path: str) -> str:
    """The order of paths: folder by folder, name by name, for no letter of a name comes before this one."""
    return path.replace("/", "\0")


def _with_ripgrep(
    program: str, root: Path, folder: Path, hidden: bool, limit_s: float = _TIMEOUT_S
) -> list[str] | None:
    """None where ripgrep cannot be run, takes longer, or would wait for a file of rules."""
    command = [program, "--files", "--null", *ripgrep_options(root, folder, hidden=hidden), "./"]
    try:
        process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    except OSError:
        return None
    ends = time.monotonic() + limit_s
    costly = threading.Event()

    def watch() -> None:
        if has_costly_rules(folder, lambda: process.poll() is not None or time.monotonic() > ends):
            costly.set()
            process.kill()

    with process:
        watcher = start_daemon_thread(watch, "ignore-rules")
        try:
            listed = process.communicate(timeout=limit_s)[0]
        except subprocess.TimeoutExpired:
            process.kill()
            return None
        finally:
            watcher.join()
    if costly.is_set():
        return None
    if process.returncode not in (0, 1) and not listed:
        return None
    names = os.fsdecode(listed).replace(os.sep, "/").split("\0")
    return [name.removeprefix("./") for name in names if name]


def has_costly_rules(folder: Path, is_over: Callable[[], bool]) -> bool:
    """Whether ripgrep would wait for a pipe or a device, or read a very large file, for the rules of what to ignore.

    Looks at all folders above and below, the nearest first, until `is_over` says that ripgrep has ended: it is meant to
    be run beside it.
    """
    for above in folder.parents:
        if any(_is_costly(f"{above}{os.sep}{name}") for name in _RIPGREP_FILES):
            return True
    waiting = deque([str(folder)])
    while waiting and not is_over():
        try:
            entries = list(os.scandir(waiting.popleft()))
        except OSError:  # not ours to read
            continue
        for entry in entries:
            if entry.name in _RIPGREP_FILES and _is_costly(entry.path):
                return True
            if entry.is_dir(follow_symlinks=False) and entry.name not in _REPOSITORIES and not _own_data(entry.path):
                waiting.append(entry.path)
    return False


def _is_costly(path: str) -> bool:
    """Of `.git`: whether the rules it holds, or that it leads to as a linked worktree's, are."""
    if not _is_small_file(path):
        return True
    if not path.endswith(f"{os.sep}.git"):
        return False
    git = path
    if os.path.isfile(path):  # noqa: PTH113 - raises nothing
        git = os.path.join(os.path.dirname(path), _first_line(path).removeprefix("gitdir:").strip())  # noqa: PTH118, PTH120
    common = f"{git}{os.sep}commondir"
    if not _is_small_file(common):
        return True
    shared = os.path.join(git, _first_line(common))  # noqa: PTH118 - the second may be absolute
    return not all(_is_small_file(f"{place}{os.sep}info{os.sep}exclude") for place in (git, shared))


def _is_small_file(path: str) -> bool:
    """Whether opening and reading it ends at once; so it does for a folder, and for what is not there."""
    try:
        status = os.stat(path)  # noqa: PTH116 - a Path for each of 20,000 files costs as much again
    except (OSError, ValueError):
        return True
    if stat.S_ISREG(status.st_mode):
        return status.st_size <= _MAX_RIPGREP_BYTES
    return stat.S_ISDIR(status.st_mode)


def _first_line(path: str) -> str:
    try:
        return os.fsdecode(read_regular(Path(path), _MAX_RIPGREP_BYTES)).partition("\n")[0].strip()
    except OSError:
        return ""


def walk(root: Path, folder: Path, *, hidden: bool, links: bool = False) -> Iterator[str]:
    """The same files as ripgrep's, found in Python; relative to `folder`, in no order. links: symbolic links too."""
    rules: list[_Placed] = []
    top = _repository_of(folder) or root
    for above in reversed([above for above in folder.parents if above == top or top in above.parents]):
        rules += _rules_in(above)
    yield from _walk(str(folder), rules, hidden, links)


def _walk(top: str, above: list[_Placed], hidden: bool, links: bool) -> Iterator[str]:
    waiting: list[tuple[str, str, list[_Placed]]] = [(top, "", above)]
    while waiting:
        folder, relative, rules = waiting.pop()
        try:
            entries = list(os.scandir(folder))
        except OSError:  # not ours to read; ripgrep passes over it too
            continue
        names = {entry.name for entry in entries}
        if not names.isdisjoint(_IGNORE_FILES) or ".git" in names:
            rules = [*rules, *_rules_in(Path(folder))]
        for entry in entries:
            name = entry.name
            if (name.startswith(".") and not hidden) or name in _REPOSITORIES:
                continue
            if entry.is_dir(follow_symlinks=False):
                if not _ignored(entry.path, rules, folder=True) and not _own_data(entry.path):
                    waiting.append((entry.path, f"{relative}{name}/", rules))
                continue
            wanted = entry.is_file(follow_symlinks=False) or (links and entry.is_symlink())
            if wanted and not _ignored(entry.path, rules, folder=False):
                yield f"{relative}{name}"


def _own_data(path: str) -> bool:
    return path in _MACHINE or Path(path).as_posix().endswith(tuple("/" + name for name in _OWN_DATA))


def _ignored(path: str, rules: list[_Placed], *, folder: bool) -> bool:
    """Whether the nearest rule that speaks of the path leaves it out."""
    for base, stated in reversed(rules):
        below = path[len(base) :]
        verdict = stated.verdict(below if os.sep == "/" else below.replace(os.sep, "/"), folder=folder)
        if verdict is not None:
            return verdict
    return False


def _rules_in(folder: Path) -> list[_Placed]:
    """The rules a folder states, weakest first."""
    found: list[_Placed] = []
    base = str(folder).rstrip(os.sep) + os.sep
    for name in (".git/info/exclude", *_IGNORE_FILES):
        try:
            data = read_project_file(folder / name, folder, _MAX_IGNORE_BYTES)
        except OSError:  # most folders state none; git follows no link to one either
            continue
        found.append((base, parse_rules(data.decode("utf-8", "replace"))))
    return found


def _repository_of(folder: Path) -> Path | None:
    """The top folder of the git repository a folder lies in."""
    for candidate in (folder, *folder.parents):
        if (candidate / ".git").exists():
            return candidate
    return None


_MAX_NAMES = 20_000
_MAX_OFFERED = 3


def resolve(workspace: Workspace, text: str) -> Path:
    """The absolute path meant. Raises ToolRetry where the text cannot be a path."""
    try:
        return workspace.resolve(text)
    except (ValueError, RuntimeError) as error:  # RuntimeError: `~name` of a user this machine does not have
        raise ToolRetry(f"{text!r} is not a usable path: {error}") from None


def missing(workspace: Workspace, path: Path) -> ToolRetry:
    """The error for a path that does not exist, with the nearest ones that do."""
    shown = workspace.display(path)
    offers = nearest(workspace, path)
    if offers:
        return ToolRetry(f"{shown!r} does not exist; did you mean {' or '.join(map(repr, offers))}?")
    return ToolRetry(f"{shown!r} does not exist; see what does with list_files or find_files")


def nearest(workspace: Workspace, path: Path) -> list[str]:
    """Up to three existing paths like this one: the same name elsewhere first, then names spelled alike."""
    if not workspace.contains(path):
        return []
    wanted = workspace.display(path)
    known = list_files(workspace.root, hidden=True)[:_MAX_NAMES]
    same = [name for name in known if name.rsplit("/", 1)[-1].lower() == path.name.lower()]
    if same:
        return sorted(same, key=lambda name: -_shared(name, wanted))[:_MAX_OFFERED]
    by_name: dict[str, list[str]] = {}
    for name in known:
        by_name.setdefault(name.rsplit("/", 1)[-1], []).append(name)
    alike = get_close_matches(path.name, by_name, n=_MAX_OFFERED, cutoff=0.7)
    found = [name for base in alike for name in sorted(by_name[base], key=lambda name: -_shared(name, wanted))]
    return found[:_MAX_OFFERED]


def _shared(name: str, wanted: str) -> int:
    """How many folders two paths have in common."""
    return len(set(name.split("/")[:-1]) & set(wanted.split("/")[:-1]))
