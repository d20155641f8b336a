"""Judge one command line in one workspace: the paths it reads and writes, its risk, and the rules that cover it."""

import os
import posixpath
import re
import stat
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from functools import cached_property
from glob import iglob
from itertools import islice, pairwise
from pathlib import Path

from msgspec.structs import replace

from clio.readonly_git import run_git
from clio.security.actions import Rule, RunCommand, Workspace, is_command_rule, resolve_links
from clio.security.command_risk import (
    FILE_PROGRAMS,
    INTERPRETERS,
    Level,
    Risk,
    assess_command,
    high_risk,
    judge_reading,
    low_risk,
    medium_risk,
    pick_worst_risk,
)
from clio.security.command_rules import is_allowed_by_rule, suggest_exact_rule, suggest_rule
from clio.security.deny_rules import Certainty, ConfiguredAliases, match_deny
from clio.security.never_list import explain_forbidden_command, has_endless_starts
from clio.security.protected_files import explain_protected_file
from clio.security.readonly.developer_tools import explain_project_influence
from clio.security.readonly.grammar import Judgement
from clio.security.readonly.judge import has_readonly_grammar, is_started_by_search
from clio.security.shell.command_line import (
    Redirect,
    SimpleCommand,
    Word,
    explain_shell_doubt,
    get_line_shell,
    has_glob,
    is_bash,
)
from clio.security.shell.known_values import KnownCalls, find_known_calls, has_only_harmless_expansions
from clio.security.shell.parser import parse_command_line
from clio.security.shell.wrappers import SCRIPT_BUILTINS, SHELLS
from clio.text.formatting import truncate
from clio.text.translation import tr

_HARMLESS_FILES = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin"})
_PUBLIC_FILES = frozenset(
    {f"/etc/{name}" for name in ("os-release", "debian_version", "lsb-release", "alpine-release", "redhat-release")}
    | {f"/proc/{name}" for name in ("cpuinfo", "meminfo", "version", "loadavg", "uptime")}
    | {"/usr/lib/os-release"}
)
"""Files that describe the system and the hardware. They contain no secrets and nothing about a single process."""
_VARIABLE_KEEPING_WRAPPERS = frozenset({"time", "command", "nice", "nohup", "timeout"})
"""Wrappers that pass on the environment variables clio sets to make git safe; `env -i` does not."""
_MAX_SHOWN_CHARS = 120
"""Characters of a path in a reason; the question shows the whole line anyway."""
_MAX_MATCHES = 500
"""Matches of one glob pattern that are checked; a pattern with more counts as leading outside the workspace."""
_GIT_TIMEOUT_S = 5.0
"""Time limit of `git ls-files`; without an answer there are no names to check."""
_DIRECTORY_STACK = re.compile(r"~(?:[-+]\d*|\d+)(?=/|\Z)")
# xargs splits names at blanks: "a b" becomes two plain names, but "a -x" yields an option and "a /etc" another path.
_UNSAFE_FILE_NAME = re.compile(r"^-|[^\S ]|['\"\\]| (?![\w(])")
# A shell also expands `*`, `?` and `[` in an unquoted word.
_UNSAFE_WORD = re.compile(r"^-|[^\S ]|['\"\\*?\[]| (?![\w(])")
_SPLIT_OR_PATTERN = re.compile(r"[\s*?\[\\]|^-")
_PLAIN_PROGRAM = re.compile(r"[\w./+:@\[~-]+")
_PYTHON_NAME = re.compile(r"python[\d.]*t?")
_MAX_ENTRIES = 50_000
"""Directory entries visited per check for links. Beyond it the user is asked."""
_KERNEL_FOLDERS = ("/proc/", "/sys/", "/dev/")
"""Directories that expose processes and devices; never inside, even when the workspace is above them."""
_BRACKET_PART = re.compile(r"[^/]*\[[^/]*")


class CommandView:
    """One command line as it would run in a workspace. Reads the file system to resolve links; changes nothing."""

    def __init__(self, action: RunCommand, workspace: Workspace, clio_home: Path | None) -> None:
        self.workspace = workspace
        self.clio_home = clio_home
        self.start = str(action.cwd)
        self.text = action.command
        shell = get_line_shell()
        self.line = parse_command_line(action.command, plain=not is_bash(shell))
        # A fork bomb needs no dangerous program, so the judgement of single commands cannot see it.
        forks = tr("may start an endless number of processes") if has_endless_starts(action.command) else ""
        self.unknown = tuple(filter(None, (*self.line.unknown, explain_shell_doubt(action.command, shell), forks)))
        self._known: dict[SimpleCommand, KnownCalls | None] = {}
        self.never_reason = explain_forbidden_command(self.line, action.command, self.start, str(Path.home()))

    @cached_property
    def risks(self) -> tuple[Risk, ...]:
        """The risk of each simple command in order, its paths considered."""
        return tuple(self._assess_command(command) for command in self.line.commands)

    @cached_property
    def redirect_risks(self) -> tuple[Risk, ...]:
        """The risk of each redirect: low if harmless, medium for an ordinary write in the workspace."""
        return tuple(self._assess_redirect(redirect) for redirect in self.line.redirects)

    @property
    def risk(self) -> Risk:
        """The most dangerous part of the line, with the reason. A part that could not be parsed counts as high."""
        unknown = [high_risk(reason) for reason in self.unknown]
        dynamic = (
            [low_risk(tr("has arguments computed at run time"))]
            if any(map(self._has_unknown_word, self.line.commands))
            else []
        )
        return pick_worst_risk([*dynamic, *self.risks, *self.redirect_risks, *unknown])

    @property
    def is_read_only(self) -> bool:
        """Whether the line provably does nothing but read inside the workspace."""
        return (
            not self.unknown
            and bool(self.line.commands)
            and all(risk.level == "low" for risk in (*self.risks, *self.redirect_risks))
            and not any(map(self._has_unknown_word, self.line.commands))
            and not any(redirect.writes and not _is_harmless_redirect(redirect) for redirect in self.line.redirects)
        )

    def find_deny_rule(self, rules: tuple[Rule, ...], certainty: Certainty = "yes") -> str | None:
        """Return the first rule that forbids any part of the line, or None.

        If the line runs programs it does not name, every rule about commands forbids it.

        Args:
            certainty: with "maybe", return a rule that may forbid the line, depending on an argument not known yet.
        """
        aliases = ConfiguredAliases(self.start, self.line)
        # Texts that find and xargs hand to a shell are commands too, which a deny rule must see.
        scripts = [parse_command_line(script.text).commands for script in self.line.runtime_scripts]
        late = [_mark_placeholder_words(each) for commands in scripts for each in commands]
        commands = (*self.line.commands, *self.line.second_parser_calls, *late)
        unnamed = not all(scripts) or any(each.words and not _PLAIN_PROGRAM.fullmatch(each.program) for each in late)
        # A program hidden in a variable or an encoded script could be any denied one.
        hidden = certainty == "yes" and (bool(self.line.hidden_programs) or unnamed)
        for rule in rules:
            if (hidden and is_command_rule(rule)) or any(
                match_deny(rule, command, aliases) == certainty for command in commands
            ):
                return rule.text
        return None

    def explain_allowed(self, rules: tuple[Rule, ...], *, writes_inside: bool) -> str | None:
        """Why these rules allow the line to run; None where they do not cover a part of it.

        Args:
            writes_inside: whether ordinary writes in the workspace, redirects included, need no approval.
        """
        if self.unknown or not (self.line.commands or self.line.redirects):
            return None
        for redirect, risk in zip(self.line.redirects, self.redirect_risks, strict=True):
            if risk.level != "low" and (risk.level == "high" or not (writes_inside and redirect.writes)):
                return None
        used: list[str] = []
        for command, risk in zip(self.line.commands, self.risks, strict=True):
            if risk.level == "low" and not self._has_unknown_word(command):
                continue
            needed = self._get_needed_level(command, risk)
            rule = next(
                (rule for rule in rules if is_allowed_by_rule(rule, command, needed, self._make_inside_test(command))),
                None,
            )
            if rule is None:
                return None
            used.append(rule.text)
        return (
            tr("allowed by the rule {rules}", rules=", ".join(map(repr, dict.fromkeys(used))))
            if used
            else tr("writes only inside the workspace")
        )

    def is_covered_by(self, rules: Iterable[Rule]) -> bool:
        """Whether these rules name every part of the line, including harmless parts. Does not judge how dangerous they
        are.
        """
        commands = self.line.commands
        harmless = not self.unknown and all(risk.level == "low" for risk in self.redirect_risks)
        return (
            harmless
            and bool(commands)
            and all(any(is_allowed_by_rule(one, part, "low") for one in rules) for part in commands)
        )

    def suggest_rule(self, rules: tuple[Rule, ...]) -> str | None:
        """Return the one rule that would allow the line next time; None if no rule or several would be needed."""
        if self.unknown:
            return None
        missing_rules: set[str | None] = set()
        for command, risk in zip(self.line.commands, self.risks, strict=True):
            needed, inside = self._get_needed_level(command, risk), self._make_inside_test(command)
            if (risk.level == "low" and not self._has_unknown_word(command)) or any(
                is_allowed_by_rule(rule, command, needed, inside) for rule in rules
            ):
                continue
            missing_rules.add(
                suggest_exact_rule(command) if needed != risk.level else suggest_rule(command, risk.level, inside)
            )
        return missing_rules.pop() if len(missing_rules) == 1 else None

    def _make_inside_test(self, command: SimpleCommand) -> Callable[[Word], bool]:
        """Return a predicate: whether an operand of this command leads only into the workspace, links resolved."""

        def is_inside(word: Word) -> bool:
            bases = self._list_bases(command.folders)
            return bases is not None and all(
                all(
                    map(
                        self._is_inside_workspace,
                        _resolve_paths(posixpath.join(base, _expand_home(word.text)), glob=word.glob),
                    )
                )
                and not (word.glob and _can_match_option(base, word.text))
                for base in bases
            )

        return is_inside

    def _has_unknown_word(self, command: SimpleCommand) -> bool:
        """Whether a word that affects the judgement is only known when the command runs."""
        # The judge of find, fd and xargs knows what their placeholders stand for.
        if is_started_by_search(command) and has_readonly_grammar(command.program):
            return isinstance(judge_reading(command, self.line), str)
        return (
            not has_only_harmless_expansions(command, None if self._has_nested_script else self.text, self.start)
            and self._find_plain_calls(command) is None
        )

    def _find_plain_calls(self, command: SimpleCommand) -> KnownCalls | None:
        """Return the calls that a command with computed words can turn into; None if they are not known."""
        if command not in self._known:
            open_words = any(word.dynamic for word in command.words) and command.stdin != ""
            known = (
                find_known_calls(command, self.line, self.text) if open_words and not self._has_nested_script else None
            )
            self._known[command] = known
        return self._known[command]

    @cached_property
    def _has_nested_script(self) -> bool:
        return any((SHELLS | SCRIPT_BUILTINS) & set(command.wrappers) for command in self.line.commands)

    def _get_needed_level(self, command: SimpleCommand, risk: Risk) -> Level:
        """The risk level a rule must cover: reading outside the workspace needs a rule that spells out the path."""
        return "high" if risk.level == "medium" and assess_command(command, self.line).level == "low" else risk.level

    def _assess_command(self, command: SimpleCommand) -> Risk:
        """How dangerous a command is where it runs: the worst of all calls it can turn into."""
        known = self._find_plain_calls(command)
        if known is None or not has_readonly_grammar(command.program):
            return self._assess_call(command)
        if known.files and not self._has_nested_script and has_only_harmless_expansions(command, self.text, self.start):
            return self._assess_call(command)  # the file names it prints are not opened
        for base in self._list_bases(command.folders) or ():
            if any(_can_split_names(base, pattern) for pattern in known.patterns):
                return medium_risk(tr("a file name matched by a pattern may split into several words"))
        if known.files and (why := self._explain_unsafe_files(command.folders)):
            return medium_risk(why)
        return pick_worst_risk([self._assess_call(call) for call in known.calls])

    def _explain_unsafe_files(self, folders: tuple[str, ...] | None) -> str:
        """Why a file name below these folders may be misread as another word, or lead outside; "" if none may."""
        bases = self._list_bases(folders)
        if bases is None:
            return tr("reads files in an unknown folder")
        return _explain_unsafe_index_name(bases, _UNSAFE_WORD) or self._explain_tree_risk(bases, strange=_UNSAFE_WORD)

    def _assess_call(self, command: SimpleCommand) -> Risk:
        """Assess one call with plain words: its program, then the paths it touches."""
        risk = assess_command(command, self.line)
        if risk.level == "high":
            return risk
        if risk.level == "low" and has_readonly_grammar(command.program):
            why = self._explain_further_reads(command)
            return medium_risk(why) if why else risk
        reads = risk.level == "low"
        touches_files = command.program in FILE_PROGRAMS
        if not reads and not touches_files:
            return risk
        where = self._explain_outside_path(command, writes=not reads)
        if not where:
            return risk
        reason = f"{('reads' if reads else tr('may change'))} {where}"
        return medium_risk(reason) if reads else high_risk(reason)

    def _explain_further_reads(self, command: SimpleCommand) -> str:
        """Which files outside the workspace a read-only command would read, as a verb phrase; "" for none."""
        judgement = judge_reading(command, self.line)
        if isinstance(judgement, str):
            return judgement
        bases = self._list_bases(command.folders)
        if bases is None:
            return tr("reads files in an unknown folder")
        for base in bases:
            # A `cd` may have led through a link to a folder outside.
            if not all(map(self._is_inside_workspace, _resolve_paths(base, glob=False))):
                return tr("reads {base!r}, outside the workspace", base=base)
            if judgement.git and (why := self._explain_git(base, judgement.directory, command.wrappers)):
                return why
            for condition in judgement.conditions:
                if why := explain_project_influence(condition, resolve_links(base), self.workspace.root):
                    return why
        starting_folders = [*bases, *(posixpath.join(base, _expand_home(judgement.directory)) for base in bases)]
        for word in judgement.paths:
            if why := self._explain_refused_path(word.text, word, starting_folders, writes=False, named=True):
                return tr("reads {why}", why=why)
        if judgement.lists_arguments and "git" in command.upstream and (why := _explain_unsafe_index_name(bases)):
            return why
        if judgement.follows_links or judgement.lists_arguments:
            starts = [posixpath.join(base, _expand_home(word.text)) for base in bases for word in judgement.paths]
            starts = [start for start in starts if start not in _HARMLESS_FILES]
            starts = bases if judgement.lists_arguments else starts or ([] if judgement.paths else bases)
            return self._explain_tree_risk(starts, strange=_UNSAFE_FILE_NAME if judgement.lists_arguments else None)
        return ""

    def _explain_git(self, base: str, directory: str, wrappers: tuple[str, ...]) -> str:
        """Why a git call may run a program or read outside because of the repository's contents; "" if it cannot."""
        from clio.security.git_safety import explain_git_risk

        place = resolve_links(posixpath.join(base, _expand_home(directory)))
        shielded = _VARIABLE_KEEPING_WRAPPERS.issuperset(wrappers)
        return (
            explain_git_risk(self.workspace.root, place, shielded=shielded) if self._is_inside_workspace(place) else ""
        )

    def _explain_tree_risk(self, starts: list[str], *, strange: re.Pattern[str] | None) -> str:
        """Why walking these directories and their links may leave the workspace; "" if it cannot.

        Args:
            strange: where file names become arguments of another command, matches names that may be taken for an option
                or split into several words.
        """
        waiting = [place for start in starts for place in _resolve_paths(start, glob=has_glob(start))]
        seen, entries = set[Path](), 0
        while waiting:
            place = waiting.pop()
            if not self._is_inside_workspace(place):
                # The links of a virtual environment lead to the system's Python: every search in a project with one
                # would be asked about.
                if _is_python_interpreter(place):
                    continue
                return tr("may follow a link to {place!r}, outside the workspace", place=str(place))
            if place in seen or not place.is_dir():
                continue
            seen.add(place)
            try:
                with os.scandir(place) as listing:
                    for entry in listing:
                        entries += 1
                        if entries > _MAX_ENTRIES:
                            return tr("reads more files than clio can check for links")
                        if strange is not None and strange.search(entry.name):
                            return tr(
                                "may take the file name {entry!r} for an option or for several words", entry=entry.name
                            )
                        if entry.is_symlink():
                            waiting.append(resolve_links(entry.path))
                        elif entry.is_dir(follow_symlinks=False):
                            waiting.append(Path(entry.path))
            except OSError:
                continue  # a directory that cannot be listed here cannot be listed by the command either
        return ""

    @cached_property
    def judgements(self) -> tuple[Judgement, ...]:
        """The judgement of each read-only command: what it reads."""
        known = map(self._find_plain_calls, self.line.commands)
        calls = (one.calls if one else (command,) for one, command in zip(known, self.line.commands, strict=True))
        found = (judge_reading(call, self.line) for each in calls for call in each)
        return tuple(one for one in found if isinstance(one, Judgement))

    @property
    def needs_network(self) -> bool:
        """Whether a part of the line queries a local service (such as docker), so that it needs network access."""
        return any(one.network for one in self.judgements)

    def _explain_outside_path(self, command: SimpleCommand, *, writes: bool) -> str:
        """Which path outside the workspace, or protected file, a command touches, as the end of a sentence; "" for
        none.
        """
        bases = self._list_bases(command.folders)
        if bases is None:
            return tr("files in an unknown folder")
        away = next(
            (base for base in bases if not all(map(self._is_inside_workspace, _resolve_paths(base, glob=False)))), None
        )
        if away is not None:
            return tr("{away!r}, outside the workspace", away=away)
        argv = command.argv
        for option, value in pairwise(argv):
            # make, tar and git change to this folder first.
            if option in ("-C", "--directory"):
                bases += [posixpath.join(base, value) for base in bases]
        for word in command.words[1:]:
            for text in _list_word_paths(word):
                if why := self._explain_refused_path(text, word, bases, writes=writes):
                    return why
        return ""

    def _explain_refused_path(
        self, text: str, word: Word, bases: list[str], *, writes: bool, named: bool = False
    ) -> str:
        """Why the path in a word must not be opened, as the end of a sentence; "" if it may be.

        Args:
            named: the word certainly names a file.
        """
        shown = truncate(text, _MAX_SHOWN_CHARS)
        for base in bases:
            path = posixpath.join(base, _expand_home(text))
            if path in _HARMLESS_FILES or (path in _PUBLIC_FILES and not writes):
                continue
            if not named and text.startswith("/") and not word.glob and not writes and not os.path.lexists(path):
                continue  # a search pattern such as '/api/' names no file
            if word.glob and not text.startswith(("/", ".", "~")) and _can_match_option(base, text):
                return tr("a file whose name looks like an option")
            for place in _resolve_paths(path, glob=word.glob):
                if not writes and _can_block(place):
                    return tr("{text!r}, which is not an ordinary file", text=shown)
                if not self._is_inside_workspace(place):
                    return tr("{text!r}, outside the workspace", text=shown)
                if writes and (why := explain_protected_file(place, self.workspace.root, self.clio_home)):
                    return tr("{text!r}, which {why}", text=shown, why=why)
        return ""

    @cached_property
    def _has_interpreter(self) -> bool:
        return any(command.program in SHELLS | INTERPRETERS | {"source", "."} for command in self.line.commands)

    def _assess_redirect(self, redirect: Redirect) -> Risk:
        """Assess one redirect by where it leads."""
        target = redirect.target
        if _is_harmless_redirect(redirect):
            return low_risk(tr("redirects to a harmless device file"))
        # `< <(…)` reads from a command of the same line, which is judged by itself; an interpreter would run what it
        # reads.
        if redirect.operator == "<" and target.text.startswith("<(") and not self._has_interpreter:
            return low_risk(tr("reads the output of another command on the line"))
        named = redirect.operator == "<" and target.dynamic and not target.text.startswith("<(")
        if (
            named
            and not (self._has_nested_script or self._has_interpreter)
            and (risk := self._assess_computed_input(redirect))
        ):
            return risk
        if target.dynamic or target.glob:
            return high_risk(tr("redirects to a file whose name is computed at run time"))
        # bash opens these itself; no such file exists, so no check of paths would find it.
        if target.text.startswith(("/dev/tcp/", "/dev/udp/")):
            return high_risk(tr("a redirect opens a network connection"))
        bases = self._list_bases(redirect.folders)
        if bases is None:
            return high_risk(tr("redirects to a file in an unknown folder"))
        for base in bases:
            for place in _resolve_paths(posixpath.join(base, _expand_home(target.text)), glob=False):
                if not self._is_inside_workspace(place):
                    where = tr("{text!r}, outside the workspace", text=target.text)
                    return (
                        high_risk(tr("a redirect writes to {where}", where=where))
                        if redirect.writes
                        else medium_risk(tr("reads {where}", where=where))
                    )
                if redirect.writes and (why := explain_protected_file(place, self.workspace.root, self.clio_home)):
                    return high_risk(tr("a redirect writes to {text!r}, which {why}", text=target.text, why=why))
                # A repository can bring a pipe; reading from it never ends.
                if _can_block(place):
                    return medium_risk(tr("reads {text!r}, which is not an ordinary file", text=target.text))
        return (
            medium_risk(tr("a redirect writes to {text!r}", text=target.text))
            if redirect.writes
            else low_risk(tr("reads a file inside the workspace"))
        )

    def _assess_computed_input(self, redirect: Redirect) -> Risk | None:
        """The risk of reading a file whose name is computed, judged like `cat`; None if the name is not known."""
        reader = SimpleCommand(words=(Word("cat"), redirect.target), folders=redirect.folders)
        return self._assess_command(reader) if self._find_plain_calls(reader) else None

    def _list_bases(self, folders: tuple[str, ...] | None) -> list[str] | None:
        if folders is None:
            return None
        return [posixpath.join(self.start, _expand_home(folder)) for folder in folders]

    def _is_inside_workspace(self, place: Path) -> bool:
        return self.workspace.contains(place) and not str(place).startswith(_KERNEL_FOLDERS)


def _can_block(place: Path) -> bool:
    """Whether reading a path may block or never end: a pipe, a socket or a device."""
    try:
        mode = place.stat().st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _explain_unsafe_index_name(bases: Iterable[str], pattern: re.Pattern[str] | None = None) -> str:
    """Why a name listed by git may be misread as an option or as several words; "" if none may.

    The index of a cloned repository may contain names of files that do not exist in the directory.
    """
    for base in bases:
        names = (run_git(Path(base), "ls-files", "-z", timeout_s=_GIT_TIMEOUT_S) or "").split("\0")
        if strange := next((name for name in names if (pattern or _UNSAFE_FILE_NAME).search(name)), ""):
            return tr("may take the file name {strange!r} for an option or for several words", strange=strange)
    return ""


def _is_python_interpreter(place: Path) -> bool:
    """Whether a path is a Python interpreter, which links of a virtual environment often point to."""
    return _PYTHON_NAME.fullmatch(place.name) is not None and place.is_file() and os.access(place, os.X_OK)


def _expand_home(text: str) -> str:
    """Expand `~` in a path; an unknown `~name` stays as it is, as in the shell.

    `~-` and `~1` name earlier directories of the shell. They may be anywhere, so "/" is returned for them.
    """
    if _DIRECTORY_STACK.match(text):
        return "/"
    return os.path.expanduser(text)  # noqa: PTH111


def _can_match_option(base: str, pattern: str) -> bool:
    """Whether a glob pattern may match a name that begins with a dash, which a program would take for an option."""
    matches = iglob(_BRACKET_PART.sub("*", pattern), root_dir=base, include_hidden=True)  # noqa: PTH207
    return any(match.startswith("-") for match in islice(matches, _MAX_MATCHES + 1))


def _can_split_names(base: str, pattern: str) -> bool:
    """Whether a glob pattern may match a name that the shell would split or expand as a pattern again."""
    matches = list(islice(iglob(_BRACKET_PART.sub("*", pattern), root_dir=base, include_hidden=True), _MAX_MATCHES + 1))  # noqa: PTH207
    return len(matches) > _MAX_MATCHES or any(_SPLIT_OR_PATTERN.search(match) for match in matches)


def _mark_placeholder_words(command: SimpleCommand) -> SimpleCommand:
    """Return the call with every word that may contain the placeholder of xargs or find marked as not known until it
    runs.
    """
    words = tuple(
        word if _PLAIN_PROGRAM.fullmatch(word.text) else Word(word.text, dynamic=True) for word in command.words
    )
    return replace(command, words=words)


def _is_harmless_redirect(redirect: Redirect) -> bool:
    return not redirect.target.dynamic and redirect.target.text in _HARMLESS_FILES


def _list_word_paths(word: Word) -> list[str]:
    """Return the parts of a word that may name a file: the word itself, or what follows `=` or a one-letter option."""
    text = word.text
    if not text.startswith("-"):
        return [text, text.split("=", 1)[1], text.rsplit("=", 1)[1]] if "=" in text else [text]
    # `-Ipath` and `-xzfpath` attach the file name to one-letter options; up to six letters are tried.
    glued = [text[place:] for place in range(2, min(len(text), 8))] if not text.startswith("--") else []
    named = [text.split("=", 1)[1], text.rsplit("=", 1)[1]] if "=" in text else []
    return [part for part in (*glued, *named) if part]


def _resolve_paths(path: str, *, glob: bool) -> list[Path]:
    """Return where a path leads: as written, with its links resolved and, for a glob pattern, the targets of its
    matches.

    A pattern with more than `_MAX_MATCHES` matches adds "/", so that it never counts as inside the workspace.
    """
    if "\0" in path:
        return [Path("/")]
    # Both: `x/../y` leads elsewhere if `x` is a link.
    places = [Path(posixpath.normpath(path)), resolve_links(path)]
    if glob:
        if any(part[:1] == "." and has_glob(part) and fnmatchcase("..", part) for part in path.split("/")):
            return [Path("/")]  # `.*` also matches `..`
        # Shell brackets support more than Python's (`[^a]`, `[[:alpha:]]`), so a bracket expression is widened to `*`.
        wide = _BRACKET_PART.sub("*", path)
        deep = "**" in wide  # the shell may have `globstar` set
        matches = list(islice(iglob(wide, include_hidden=True, recursive=deep), _MAX_MATCHES + 1))  # noqa: PTH207
        places += map(resolve_links, matches)
        if len(matches) > _MAX_MATCHES:
            places.append(Path("/"))
    return places
