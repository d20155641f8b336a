"""List the files of a project that git does not ignore; match glob patterns and `.gitignore` rules."""

import os
import re
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
from clio.text.translation import tr
from clio.threads import find_program, start_daemon_thread

MAX_WILDCARDS = 3
"""Globs with at most this many wildcards are matched by `re`, which is faster and still bounded for them."""
_MAX_ALTERNATIVES = 64

_Accepts = Callable[[str], bool]


class LinearGlob:
    """A glob without braces, matched in linear time. as_git: see `translate_glob`. Raises re.error."""

    def __init__(self, glob: str, *, as_git: bool) -> None:
        self._steps: list[_Accepts] = []
        self._loops = 0  # bit mask of steps that accept any number of characters
        self._folders = 0  # bit mask of empty steps before `**/`, which may be skipped as a whole
        self._parse(glob, as_git)
        self._known: dict[str, int] = {}

    def fullmatch(self, path: str) -> bool:
        """Whether the whole path matches."""
        states = self._add_empty_steps(1)
        for char in path:
            accepting = self._known.get(char)
            if accepting is None:
                accepting = self._known[char] = sum(1 << at for at, step in enumerate(self._steps) if step(char))
            advanced = states & accepting
            states = self._add_empty_steps((advanced & self._loops) | ((advanced & ~self._loops) << 1))
            if not states:
                return False
        return bool(states >> len(self._steps) & 1)

    def _add_empty_steps(self, states: int) -> int:
        """Return these states and all states that are reached from them without consuming a character."""
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
        """Add the step that begins at this position; return the position after it."""
        char = glob[at]
        begins = at == 0 or glob[at - 1] == "/"
        # `a/**/b` also matches `a/b`: the three steps together may be skipped, which is why their place is marked.
        if begins and glob.startswith("**/", at):
            self._folders |= 1 << len(self._steps)
            self._add(_is_none)
            self._add(_is_any, loops=True)
            self._add("/".__eq__)
            return at + 3
        if glob.startswith("**", at):
            # In git, `**` that is not a whole path component means the same as `*`.
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


def expand_braces(glob: str) -> list[str]:
    """Return the globs that a glob with braces expands to.

    Raises ToolRetry if there are too many, re.error for a brace that is not closed.
    """
    globs = [glob]
    while (index := next((index for index, chosen in enumerate(globs) if _find_braces(chosen)), None)) is not None:
        chosen = globs.pop(index)
        begin, end, parts = _find_braces(chosen) or (0, 0, [])
        globs[index:index] = [chosen[:begin] + part + chosen[end:] for part in parts]
        if len(globs) > _MAX_ALTERNATIVES:
            raise ToolRetry(
                tr("the glob expands to more than {max_alternatives} patterns", max_alternatives=_MAX_ALTERNATIVES),
                "use fewer braces",
            )
    return globs


def _find_braces(glob: str) -> tuple[int, int, list[str]] | None:
    """Return the first innermost pair of braces: its start, the position after it, and its alternatives."""
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


_WILDCARD = re.compile(r"[*?\[{]")


def is_glob(text: str) -> bool:
    """Whether the text contains a wildcard."""
    return _WILDCARD.search(text) is not None


@lru_cache(maxsize=64)
def make_path_matcher(pattern: str) -> Callable[[str], bool]:
    """Return a function that tells whether a relative path with forward slashes matches the pattern.

    `*` and `?` do not match slashes, `**` does; `{a,b}` and `[a-z]` work. A pattern without a slash is matched against
    the file name, one with a slash against the whole path, one that ends in a slash against everything in that folder;
    a leading `!` negates it. Raises ToolRetry for an invalid pattern.
    """
    negative = pattern.startswith("!")
    text = pattern[1:] if negative else pattern
    # ripgrep and the walk return paths without "./", so a pattern with it would match nothing.
    text = text.removeprefix("./")
    if text.endswith("/"):
        text += "**"
    anchored = "/" in text
    try:
        found = compile_glob(text.removeprefix("/"))
    except re.error as error:
        raise ToolRetry(
            tr("the glob {pattern!r} is not valid: {error}", pattern=pattern, error=error),
            "write [[] for a bracket itself",
        ) from None

    def matches(path: str) -> bool:
        subject = path if anchored else path.rsplit("/", 1)[-1]
        return found(subject) is not negative

    return matches


def compile_glob(glob: str, *, as_git: bool = False) -> Callable[[str], bool]:
    """Return a function that matches whole paths in bounded time. as_git: see `translate_glob`.

    Raises re.error, and ToolRetry for braces with too many combinations.
    """
    if glob.count("*") <= MAX_WILDCARDS and (as_git or glob.count("{") <= MAX_WILDCARDS):
        pattern = re.compile(translate_glob(glob, as_git=as_git))
        return lambda path: pattern.fullmatch(path) is not None
    alternatives = [
        LinearGlob(alternative, as_git=as_git) for alternative in ([glob] if as_git else expand_braces(glob))
    ]
    return lambda path: any(alternative.fullmatch(path) for alternative in alternatives)


def translate_glob(glob: str, *, as_git: bool = False) -> str:
    """Return the regular expression for a whole path. Raises re.error.

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


_MAX_RULES, _MAX_RULE_CHARS = 4_000, 1_000
"""Limits for one ignore file, because each rule is applied to each path; further rules and longer ones are ignored."""
_MAX_CACHED_VERDICTS = 50_000
"""Cache size; a large tree is walked before every command, and most of its files are the same each time."""


class _Rule(Struct, frozen=True, kw_only=True):
    matches: Callable[[str], bool]
    expression: str
    ignores: bool
    folders_only: bool


class IgnoreRules(Struct, frozen=True, kw_only=True):
    """The rules of one ignore file, for paths relative to its folder.

    Attributes:
        known_verdicts: cache of earlier verdicts on files.
        combined: one regular expression for all rules; None if a rule has too many wildcards for one.
    """

    rules: tuple[_Rule, ...]
    combined: re.Pattern[str] | None
    known_verdicts: dict[str, bool | None] = field(default_factory=dict[str, bool | None])

    def get_verdict(self, path: str, *, folder: bool) -> bool | None:
        """Return True if ignored, False if explicitly not ignored, None if no rule applies.

        Paths have forward slashes, none at either end.
        """
        if folder:
            return self._verdict(path, folder=True)
        if path in self.known_verdicts:
            return self.known_verdicts[path]
        if len(self.known_verdicts) >= _MAX_CACHED_VERDICTS:
            self.known_verdicts.clear()
        verdict = self.known_verdicts[path] = self._verdict(path, folder=False)
        return verdict

    def _verdict(self, path: str, *, folder: bool) -> bool | None:
        # Most paths match no rule: one test of all rules together spares the loop over them.
        if self.combined is not None and not self.combined.fullmatch(path):
            return None
        # As in git, the last rule that matches decides.
        for rule in reversed(self.rules):
            if (folder or not rule.folders_only) and rule.matches(path):
                return rule.ignores
        return None


@lru_cache(maxsize=64)
def parse_ignore_rules(text: str) -> IgnoreRules:
    """Parse the text of an ignore file; invalid lines are skipped, as git does."""
    lines = islice((line for line in text.splitlines() if len(line) <= _MAX_RULE_CHARS), _MAX_RULES)
    rules = tuple(rule for line in lines if (rule := _parse_rule(line)) is not None)
    # A rule with many wildcards is matched by `LinearGlob`: inside one regular expression `*a*a*a*…b` backtracks
    # without limit.
    if any(not rule.expression for rule in rules):
        return IgnoreRules(rules=rules, combined=None)
    together = "|".join(rule.expression for rule in rules)
    return IgnoreRules(rules=rules, combined=re.compile(together or "(?!)"))


def _parse_rule(line: str) -> _Rule | None:
    line = _strip_trailing_space(line)
    if not line or line.startswith("#"):
        return None
    ignores = not line.startswith("!")
    glob = line if ignores else line[1:]
    folders_only = glob.endswith("/")
    glob = glob.rstrip("/") if folders_only else glob
    if not glob:
        return None
    # git applies a rule without a slash at every depth.
    if "/" not in glob:
        glob = f"**/{glob}"
    if glob.endswith("/**"):
        glob += "/*"  # everything below the folder, but not the folder itself
    try:
        matches = compile_glob(glob.removeprefix("/"), as_git=True)
        simple = glob.count("*") <= MAX_WILDCARDS
        expression = translate_glob(glob.removeprefix("/"), as_git=True) if simple else ""
    except (re.error, RecursionError, OverflowError):
        return None
    return _Rule(matches=matches, expression=expression, ignores=ignores, folders_only=folders_only)


def _strip_trailing_space(line: str) -> str:
    """Return the line without trailing white space, except a space escaped with a backslash."""
    bare = line.rstrip(" \t")
    backslashes = len(bare) - len(bare.rstrip("\\"))
    return bare + line[len(bare) : len(bare) + 1] if backslashes % 2 else bare


_REPOSITORY_FOLDERS = (".git", ".hg", ".svn", ".jj")
_CLIO_DATA_FOLDERS = (".clio/sessions", ".clio/cache")
"""Transcripts and caches contain copies of the project's text; finding those again would mislead."""
_KERNEL_FOLDERS = ("/proc", "/sys", "/dev")
"""Left out even if the project is the root of the file system; reading some of these files blocks forever."""
_IGNORE_FILES = (".gitignore", ".ignore")  # the second is ripgrep's own and takes precedence
_MAX_IGNORE_BYTES = 1_000_000
_RIPGREP_FILES = (*_IGNORE_FILES, ".rgignore", ".git")
"""Files that ripgrep opens by itself in every folder."""
_MAX_RIPGREP_BYTES = 256_000
"""ripgrep reads such a file whole and compiles it: 230 MB of memory for 1 MB of rules."""
_TIMEOUT_S = 30.0

_FolderRules = tuple[str, IgnoreRules]
"""The path of a folder, with a separator at its end, and the rules that apply in it."""


@cache
def find_ripgrep() -> str | None:
    """Return the ripgrep installed beside this Python, otherwise the one on PATH, otherwise None."""
    # sysconfig gives the same folder, but loads all of Python's build variables for it: 0.4 MiB, 3 ms.
    scripts = Path(sys.prefix, "Scripts" if os.name == "nt" else "bin")
    return find_program("rg", path=str(scripts)) or find_program("rg")


def make_ripgrep_options(root: Path, folder: Path, *, hidden: bool) -> list[str]:
    """Return options that make ripgrep list the same files, whatever the user's own configuration of it."""
    # Without the user's own ripgrep settings and global ignore file, both engines list the same files on every machine.
    options = ["--no-config", "--no-require-git", "--no-ignore-global", "--no-messages", "--color=never"]
    if hidden:
        options.append("--hidden")
    for name in _REPOSITORY_FOLDERS:
        options.append(f"--glob=!{name}")
    for name in _CLIO_DATA_FOLDERS:
        options.append(f"--glob=!**/{name}")
    if folder.parent == folder:
        options += [f"--glob=!{name}" for name in _KERNEL_FOLDERS]
    if folder == root and _find_repository(root) is None:
        options.append("--no-ignore-parent")  # outside git, rules above the project do not belong to it
    return options


def list_files(root: Path, under: Path | None = None, *, hidden: bool = False, rg: str | None = "auto") -> list[str]:
    """Return the files in `root`, or in its folder `under`, as sorted relative paths with forward slashes.

    Links are neither listed nor followed; folders of version control are left out. An ignored folder is listed if it is
    given as `under`.

    Args:
        hidden: include names that begin with a dot.
        rg: ripgrep to use; "auto" finds one; None, or one that does not start, walks the tree in Python.
    """
    folder = under or root
    program = find_ripgrep() if rg == "auto" else rg
    names = _list_with_ripgrep(program, root, folder, hidden) if program else None
    if names is None:
        names = list(walk_files(root, folder, hidden=hidden))
    # ripgrep prints in the order in which its threads finish; sorted, the same call gives the same answer.
    prefix = "" if folder == root else folder.relative_to(root).as_posix() + "/"
    return sorted((prefix + name for name in names), key=make_path_sort_key)


def list_files_within(root: Path, *, limit_s: float, most: int) -> list[str] | None:
    """Return the same as `list_files`; None if it takes longer than `limit_s` or there are more than `most` files."""
    ends = time.monotonic() + limit_s
    names: list[str] | None
    if program := find_ripgrep():
        names = _list_with_ripgrep(program, root, root, False, limit_s)
    else:
        names = []
        for name in walk_files(root, root, hidden=False):
            names.append(name)
            if len(names) > most or time.monotonic() > ends:
                return None
    return sorted(names, key=make_path_sort_key) if names is not None and len(names) <= most else None


def make_path_sort_key(path: str) -> str:
    """Return a sort key that orders paths folder by folder: the separator sorts before every character of a name."""
    return path.replace("/", "\0")


def _list_with_ripgrep(
    program: str, root: Path, folder: Path, hidden: bool, limit_s: float = _TIMEOUT_S
) -> list[str] | None:
    """Return the files; None if ripgrep cannot be run, takes too long, or would block on an ignore file."""
    command = [program, "--files", "--null", *make_ripgrep_options(root, folder, hidden=hidden), "./"]
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
        # At the same time: looking through all folders first would delay every listing, although such files are rare.
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
    # ripgrep ends with 2 if it could not read one folder; the files it did list are still right.
    if process.returncode not in (0, 1) and not listed:
        return None
    names = os.fsdecode(listed).replace(os.sep, "/").split("\0")
    return [name.removeprefix("./") for name in names if name]


def has_costly_rules(folder: Path, is_over: Callable[[], bool]) -> bool:
    """Whether ripgrep would block on a pipe or device, or read a very large file, as an ignore file.

    Checks all folders above and below, the nearest first, until `is_over` returns True. It runs at the same time as
    ripgrep.
    """
    # ripgrep also reads the ignore files of the folders above.
    for above in folder.parents:
        if any(_is_costly(f"{above}{os.sep}{name}") for name in _RIPGREP_FILES):
            return True
    waiting = deque([str(folder)])
    while waiting and not is_over():
        try:
            entries = list(os.scandir(waiting.popleft()))
        except OSError:  # no permission
            continue
        for entry in entries:
            if entry.name in _RIPGREP_FILES and _is_costly(entry.path):
                return True
            if (
                entry.is_dir(follow_symlinks=False)
                and entry.name not in _REPOSITORY_FOLDERS
                and not _is_own_data(entry.path)
            ):
                waiting.append(entry.path)
    return False


def _is_costly(path: str) -> bool:
    """Whether an ignore file is costly to read; for a `.git`, whether a file that git reads because of it is.

    These are its own exclude file, and that of the main repository of a linked worktree.
    """
    if not _is_small_file(path):
        return True
    if not path.endswith(f"{os.sep}.git"):
        return False
    # In a linked worktree `.git` is a file that names the repository, whose exclude file ripgrep reads too.
    git = path
    if os.path.isfile(path):  # noqa: PTH113 - raises nothing
        git = os.path.join(os.path.dirname(path), _read_first_line(path).removeprefix("gitdir:").strip())  # noqa: PTH118, PTH120
    common = f"{git}{os.sep}commondir"
    if not _is_small_file(common):
        return True
    shared = os.path.join(git, _read_first_line(common))  # noqa: PTH118 - the second may be absolute
    return not all(_is_small_file(f"{git_folder}{os.sep}info{os.sep}exclude") for git_folder in (git, shared))


def _is_small_file(path: str) -> bool:
    """Whether the path can be opened and read at once; also True for a folder and a missing file."""
    try:
        status = os.stat(path)  # noqa: PTH116 - a Path for each of 20,000 files costs as much again
    except (OSError, ValueError):
        return True
    if stat.S_ISREG(status.st_mode):
        return status.st_size <= _MAX_RIPGREP_BYTES
    return stat.S_ISDIR(status.st_mode)


def _read_first_line(path: str) -> str:
    try:
        return os.fsdecode(read_regular(Path(path), _MAX_RIPGREP_BYTES)).partition("\n")[0].strip()
    except OSError:
        return ""


def walk_files(root: Path, folder: Path, *, hidden: bool, links: bool = False) -> Iterator[str]:
    """Yield the files that ripgrep would list, relative to `folder`, in no particular order.

    links: include symbolic links.
    """
    rules: list[_FolderRules] = []
    top = _find_repository(folder) or root
    for above in reversed([above for above in folder.parents if above == top or top in above.parents]):
        rules += _read_rules(above)
    yield from _walk(str(folder), rules, hidden, links)


def _walk(top: str, above: list[_FolderRules], hidden: bool, links: bool) -> Iterator[str]:
    waiting: list[tuple[str, str, list[_FolderRules]]] = [(top, "", above)]
    while waiting:
        folder, relative, rules = waiting.pop()
        try:
            entries = list(os.scandir(folder))
        except OSError:  # no permission; ripgrep passes over it too
            continue
        names = {entry.name for entry in entries}
        if not names.isdisjoint(_IGNORE_FILES) or ".git" in names:
            rules = [*rules, *_read_rules(Path(folder))]
        for entry in entries:
            name = entry.name
            if (name.startswith(".") and not hidden) or name in _REPOSITORY_FOLDERS:
                continue
            if entry.is_dir(follow_symlinks=False):
                if not _is_ignored(entry.path, rules, folder=True) and not _is_own_data(entry.path):
                    waiting.append((entry.path, f"{relative}{name}/", rules))
                continue
            is_listed = entry.is_file(follow_symlinks=False) or (links and entry.is_symlink())
            if is_listed and not _is_ignored(entry.path, rules, folder=False):
                yield f"{relative}{name}"


def _is_own_data(path: str) -> bool:
    return path in _KERNEL_FOLDERS or Path(path).as_posix().endswith(tuple("/" + name for name in _CLIO_DATA_FOLDERS))


def _is_ignored(path: str, rules: list[_FolderRules], *, folder: bool) -> bool:
    """Whether the nearest rule that applies to the path excludes it."""
    # A rule in a nearer folder takes precedence over one further up.
    for base, folder_rules in reversed(rules):
        below = path[len(base) :]
        verdict = folder_rules.get_verdict(below if os.sep == "/" else below.replace(os.sep, "/"), folder=folder)
        if verdict is not None:
            return verdict
    return False


def _read_rules(folder: Path) -> list[_FolderRules]:
    """Return the rules of a folder, those with lowest precedence first."""
    found: list[_FolderRules] = []
    base = str(folder).rstrip(os.sep) + os.sep
    # In rising precedence, as git and ripgrep have it.
    for name in (".git/info/exclude", *_IGNORE_FILES):
        try:
            data = read_project_file(folder / name, folder, _MAX_IGNORE_BYTES)
        except OSError:  # most folders have none; git does not follow a link to one either
            continue
        found.append((base, parse_ignore_rules(data.decode("utf-8", "replace"))))
    return found


def _find_repository(folder: Path) -> Path | None:
    """Return the top folder of the git repository that contains a folder."""
    for candidate in (folder, *folder.parents):
        if (candidate / ".git").exists():
            return candidate
    return None


_MAX_NAMES = 20_000
_MAX_OFFERED = 3


def resolve_workspace_path(workspace: Workspace, text: str) -> Path:
    """Return the absolute path for a path given by the model. Raises ToolRetry if the text cannot be a path."""
    try:
        return workspace.resolve(text)
    except (ValueError, RuntimeError) as error:  # RuntimeError: `~name` of an unknown user
        raise ToolRetry(tr("{text!r} is not a usable path: {error}", text=text, error=error)) from None


def make_missing_path_error(workspace: Workspace, path: Path) -> ToolRetry:
    """Return the error for a path that does not exist; it names the most similar existing paths."""
    shown = workspace.display(path)
    offers = find_nearest_paths(workspace, path)
    if offers:
        return ToolRetry(
            tr("{shown!r} does not exist; did you mean {paths}?", shown=shown, paths=tr(" or ").join(map(repr, offers)))
        )
    return ToolRetry(tr("{shown!r} does not exist", shown=shown), "list_files and find_files show which paths exist")


def find_nearest_paths(workspace: Workspace, path: Path) -> list[str]:
    """Return up to three similar existing paths: the same name elsewhere first, then similarly spelled names."""
    if not workspace.contains(path):
        return []
    wanted_path = workspace.display(path)
    known = list_files(workspace.root, hidden=True)[:_MAX_NAMES]
    same_name = [name for name in known if name.rsplit("/", 1)[-1].lower() == path.name.lower()]
    if same_name:
        return sorted(same_name, key=lambda name: -_count_common_folders(name, wanted_path))[:_MAX_OFFERED]
    by_name: dict[str, list[str]] = {}
    for name in known:
        by_name.setdefault(name.rsplit("/", 1)[-1], []).append(name)
    similar_names = get_close_matches(path.name, by_name, n=_MAX_OFFERED, cutoff=0.7)
    found = [
        name
        for base in similar_names
        for name in sorted(by_name[base], key=lambda name: -_count_common_folders(name, wanted_path))
    ]
    return found[:_MAX_OFFERED]


def _count_common_folders(name: str, wanted: str) -> int:
    """Return how many folders two paths have in common."""
    return len(set(name.split("/")[:-1]) & set(wanted.split("/")[:-1]))
