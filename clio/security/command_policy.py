"""What one command line means in one workspace: paths it reads and writes, its risk, and the rules that cover it."""

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

from clio.git_looking import answer
from clio.security import command_risk as tables
from clio.security.actions import Rule, RunCommand, Workspace, is_about_commands
from clio.security.allow_rules import is_allowed_by_rule, suggest_exact_rule, suggest_rule
from clio.security.command_risk import Level, Risk, assess, high, judge_reading, low, medium, pick_worst_risk
from clio.security.deny_rules import Match, match_deny
from clio.security.never_list import explain_forbidden_command
from clio.security.program_options import ConfiguredAliases
from clio.security.protected_files import is_protected
from clio.security.readonly.developer_tools import explain_project_influence
from clio.security.readonly.grammar import Judgement
from clio.security.readonly.judge import is_listed, is_started
from clio.security.shell.command_line import (
    Redirect,
    SimpleCommand,
    Word,
    explain_shell_doubt,
    get_line_shell,
    has_glob,
    is_bash,
)
from clio.security.shell.known_values import KnownCalls, find_known_calls, is_settled
from clio.security.shell.parser import parse_command_line
from clio.security.shell.wrappers import SAME_SHELL, SHELLS
from clio.security.system_changes import starts_without_end

_HARMLESS_TARGETS = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin"})
_PUBLIC_FILES = frozenset(
    {f"/etc/{name}" for name in ("os-release", "debian_version", "lsb-release", "alpine-release", "redhat-release")}
    | {f"/proc/{name}" for name in ("cpuinfo", "meminfo", "version", "loadavg", "uptime")}
    | {"/usr/lib/os-release"}
)
"""What says which system and which machine this is; nothing in them is secret or about one process."""
_KEEP_VARIABLES = frozenset({"time", "command", "nice", "nohup", "timeout"})
"""Wrappers that hand on the variables clio sets for git; `env -i` does not."""
_MAX_MATCHES = 500
_GIT_TIMEOUT_S = 5.0
_DIRECTORY_STACK = re.compile(r"~(?:[-+]\d*|\d+)(?=/|\Z)")
# xargs parts names at blanks: "a b" is two plain names, while "a -x" has an option and "a /etc" a path elsewhere.
_STRANGE_NAME = re.compile(r"^-|[^\S ]|['\"\\]| (?![\w(])")
# A shell takes more for patterns.
_STRANGE_WORD = re.compile(r"^-|[^\S ]|['\"\\*?\[]| (?![\w(])")
_PARTED = re.compile(r"[\s*?\[\\]|^-")
_PROGRAM = re.compile(r"[\w./+:@\[~-]+")
_PYTHON = re.compile(r"python[\d.]*t?")
_MAX_ENTRIES = 50_000
_MACHINE = ("/proc/", "/sys/", "/dev/")
"""They show processes and devices, wherever the workspace is."""
_BRACKETS = re.compile(r"[^/]*\[[^/]*")


class CommandView:
    """One command line, seen from a workspace. Reads the file system for links; changes nothing."""

    def __init__(self, action: RunCommand, workspace: Workspace, clio_home: Path | None) -> None:
        self.workspace = workspace
        self.clio_home = clio_home
        self.start = str(action.cwd)
        self.text = action.command
        shell = get_line_shell()
        self.line = parse_command_line(action.command, plain=not is_bash(shell))
        forks = "it may start processes without end" if starts_without_end(action.command) else ""
        self.unknown = tuple(filter(None, (*self.line.unknown, explain_shell_doubt(action.command, shell), forks)))
        self._known: dict[SimpleCommand, KnownCalls | None] = {}
        self.never = explain_forbidden_command(self.line, action.command, self.start, str(Path.home()))

    @cached_property
    def risks(self) -> tuple[Risk, ...]:
        """The danger of each simple command, paths considered, in their order."""
        return tuple(self._risk(command) for command in self.line.commands)

    @cached_property
    def redirect_risks(self) -> tuple[Risk, ...]:
        """The danger of each redirect: low for none worth a thought, medium for a plain write inside."""
        return tuple(self._redirect_risk(redirect) for redirect in self.line.redirects)

    @property
    def risk(self) -> Risk:
        """The most dangerous part, and why; what could not be understood counts as high."""
        unknown = [high(reason) for reason in self.unknown]
        dynamic = [low("an argument is only known when it runs")] if any(map(self._open, self.line.commands)) else []
        return pick_worst_risk([*dynamic, *self.risks, *self.redirect_risks, *unknown])

    @property
    def only_reads(self) -> bool:
        """Whether it provably does nothing but read inside the workspace."""
        return (
            not self.unknown
            and bool(self.line.commands)
            and all(risk.level == "low" for risk in (*self.risks, *self.redirect_risks))
            and not any(map(self._open, self.line.commands))
            and not any(redirect.writes and not _harmless(redirect) for redirect in self.line.redirects)
        )

    def denied_by(self, rules: tuple[Rule, ...], certainty: Match = "yes") -> str | None:
        """The first rule that forbids any part of the line; with "maybe", that may, by an argument not known yet.

        Where the line runs programs that it does not name, every rule about commands forbids it.
        """
        aliases = ConfiguredAliases(self.start, self.line)
        scripts = [parse_command_line(script.text).commands for script in self.line.late_scripts]
        late = [_open_marks(each) for commands in scripts for each in commands]
        commands = (*self.line.commands, *self.line.second_reading, *late)
        unnamed = not all(scripts) or any(each.words and not _PROGRAM.fullmatch(each.program) for each in late)
        hidden = certainty == "yes" and (bool(self.line.hidden_programs) or unnamed)
        for rule in rules:
            if (hidden and is_about_commands(rule)) or any(
                match_deny(rule, command, aliases) == certainty for command in commands
            ):
                return rule.text
        return None

    def allowed_by(self, rules: tuple[Rule, ...], *, writes_inside: bool) -> str | None:
        """Why the line may run by these rules; None where a part of it is not covered.

        writes_inside: whether ordinary writes inside the workspace need no question, redirects included.
        """
        if self.unknown or not (self.line.commands or self.line.redirects):
            return None
        for redirect, risk in zip(self.line.redirects, self.redirect_risks, strict=True):
            if risk.level != "low" and (risk.level == "high" or not (writes_inside and redirect.writes)):
                return None
        used: list[str] = []
        for command, risk in zip(self.line.commands, self.risks, strict=True):
            if risk.level == "low" and not self._open(command):
                continue
            needed = self._needed(command, risk)
            rule = next(
                (rule for rule in rules if is_allowed_by_rule(rule, command, needed, self._inside_of(command))), None
            )
            if rule is None:
                return None
            used.append(rule.text)
        return f"allowed by the rule {', '.join(map(repr, dict.fromkeys(used)))}" if used else "only writes inside"

    def covered_by(self, rules: Iterable[Rule]) -> bool:
        """Whether these rules name every part of the line, however little it does. Says nothing of their danger."""
        commands = self.line.commands
        harmless = not self.unknown and all(risk.level == "low" for risk in self.redirect_risks)
        return (
            harmless
            and bool(commands)
            and all(any(is_allowed_by_rule(one, part, "low") for one in rules) for part in commands)
        )

    def suggestion(self, rules: tuple[Rule, ...]) -> str | None:
        """The one rule that would let the line run next time; None where none or more than one would be needed."""
        if self.unknown:
            return None
        wanted: set[str | None] = set()
        for command, risk in zip(self.line.commands, self.risks, strict=True):
            needed, inside = self._needed(command, risk), self._inside_of(command)
            if (risk.level == "low" and not self._open(command)) or any(
                is_allowed_by_rule(rule, command, needed, inside) for rule in rules
            ):
                continue
            wanted.add(
                suggest_exact_rule(command) if needed != risk.level else suggest_rule(command, risk.level, inside)
            )
        return wanted.pop() if len(wanted) == 1 else None

    def _inside_of(self, command: SimpleCommand) -> Callable[[Word], bool]:
        """Whether an operand of a command leads nowhere but into the workspace, links resolved."""

        def is_inside(word: Word) -> bool:
            bases = self._bases(command.folders)
            return bases is not None and all(
                all(map(self._inside, _places(posixpath.join(base, _expanded(word.text)), glob=word.glob)))
                and not (word.glob and _like_option(base, word.text))
                for base in bases
            )

        return is_inside

    def _open(self, command: SimpleCommand) -> bool:
        """Whether a word of a command is only known when it runs, in a way that matters."""
        if is_started(command) and is_listed(command.program):
            return isinstance(judge_reading(command, self.line), str)
        return (
            not is_settled(command, None if self._nested else self.text, self.start)
            and self._stands_for(command) is None
        )

    def _stands_for(self, command: SimpleCommand) -> KnownCalls | None:
        """The calls with plain words that a call with open ones stands for; None where that is not known."""
        if command not in self._known:
            open_words = any(word.dynamic for word in command.words) and command.stdin != ""
            known = find_known_calls(command, self.line, self.text) if open_words and not self._nested else None
            self._known[command] = known
        return self._known[command]

    @cached_property
    def _nested(self) -> bool:
        return any((SHELLS | SAME_SHELL) & set(command.wrappers) for command in self.line.commands)

    def _needed(self, command: SimpleCommand, risk: Risk) -> Level:
        """The danger a rule must cover: a reader that leaves the workspace needs its path spelled out."""
        return "high" if risk.level == "medium" and assess(command, self.line).level == "low" else risk.level

    def _risk(self, command: SimpleCommand) -> Risk:
        """How dangerous a command is where it runs, each call it stands for considered."""
        known = self._stands_for(command)
        if known is None or not is_listed(command.program):
            return self._risk_of(command)
        if known.files and not self._nested and is_settled(command, self.text, self.start):
            return self._risk_of(command)  # what it prints needs no look at the files
        for base in self._bases(command.folders) or ():
            if any(_parts_names(base, pattern) for pattern in known.patterns):
                return medium("a name that a pattern matches may stand for several words")
        if known.files and (why := self._check_files(command.folders)):
            return medium(f"it {why}")
        return pick_worst_risk([self._risk_of(call) for call in known.calls])

    def _check_files(self, folders: tuple[str, ...] | None) -> str:
        """Why a name of a file below these folders may be taken for something else, or lead outside; "" if none may."""
        bases = self._bases(folders)
        if bases is None:
            return "reads files in a folder that cannot be told"
        return _check_index(bases, _STRANGE_WORD) or self._tree_leaves(bases, strange=_STRANGE_WORD)

    def _risk_of(self, command: SimpleCommand) -> Risk:
        risk = assess(command, self.line)
        if risk.level == "high":
            return risk
        if risk.level == "low" and is_listed(command.program):
            why = self._reads_more(command)
            return medium(f"it {why}") if why else risk
        reads = risk.level == "low"
        touches_files = command.program in tables.FILES
        if not reads and not touches_files:
            return risk
        where = self._outside(command, writes=not reads)
        if not where:
            return risk
        reason = f"it {'reads' if reads else 'may change'} {where}"
        return medium(reason) if reads else high(reason)

    def _reads_more(self, command: SimpleCommand) -> str:
        """What a command that only reads would read besides files inside the workspace; "" for nothing."""
        judgement = judge_reading(command, self.line)
        if isinstance(judgement, str):
            return judgement
        bases = self._bases(command.folders)
        if bases is None:
            return "reads files in a folder that cannot be told"
        for base in bases:
            if not all(map(self._inside, _places(base, glob=False))):
                return f"reads {base!r}, outside the workspace"
            if judgement.git and (why := self._explain_git(base, judgement.directory, command.wrappers)):
                return why
            for condition in judgement.conditions:
                if why := explain_project_influence(condition, Path(os.path.realpath(base)), self.workspace.root):
                    return why
        there = [*bases, *(posixpath.join(base, _expanded(judgement.directory)) for base in bases)]
        for word in judgement.paths:
            if why := self._why_not(word.text, word, there, writes=False, named=True):
                return f"reads {why}"
        if judgement.lists_arguments and "git" in command.upstream and (why := _check_index(bases)):
            return why
        if judgement.follows_links or judgement.lists_arguments:
            starts = [posixpath.join(base, _expanded(word.text)) for base in bases for word in judgement.paths]
            starts = [start for start in starts if start not in _HARMLESS_TARGETS]
            starts = bases if judgement.lists_arguments else starts or ([] if judgement.paths else bases)
            return self._tree_leaves(starts, strange=_STRANGE_NAME if judgement.lists_arguments else None)
        return ""

    def _explain_git(self, base: str, directory: str, wrappers: tuple[str, ...]) -> str:
        """Why a call of git may run a program or read outside, by what the repository brings; "" where it does not."""
        from clio.security.git_safety import explain_git_risk

        place = Path(os.path.realpath(posixpath.join(base, _expanded(directory))))
        shielded = _KEEP_VARIABLES.issuperset(wrappers)
        return explain_git_risk(self.workspace.root, place, shielded=shielded) if self._inside(place) else ""

    def _tree_leaves(self, starts: list[str], *, strange: re.Pattern[str] | None) -> str:
        """Why a walk through directories and their links may leave the workspace; "" where it does not.

        strange: where the names there become words of another call, those that may look like an option or part in
        several.
        """
        waiting = [place for start in starts for place in _places(start, glob=has_glob(start))]
        seen, entries = set[Path](), 0
        while waiting:
            place = waiting.pop()
            if not self._inside(place):
                if _is_interpreter(place):
                    continue
                return f"may follow a link to {str(place)!r}, outside the workspace"
            if place in seen or not place.is_dir():
                continue
            seen.add(place)
            try:
                with os.scandir(place) as listing:
                    for entry in listing:
                        entries += 1
                        if entries > _MAX_ENTRIES:
                            return "goes through more files than clio can check for links"
                        if strange is not None and strange.search(entry.name):
                            return f"may take the file name {entry.name!r} for something else"
                        if entry.is_symlink():
                            waiting.append(Path(os.path.realpath(entry.path)))
                        elif entry.is_dir(follow_symlinks=False):
                            waiting.append(Path(entry.path))
            except OSError:
                continue  # what cannot be listed here is not listed by the command either
        return ""

    @cached_property
    def judgements(self) -> tuple[Judgement, ...]:
        """What each command that only reads reads."""
        known = map(self._stands_for, self.line.commands)
        calls = (one.calls if one else (command,) for one, command in zip(known, self.line.commands, strict=True))
        found = (judge_reading(call, self.line) for each in calls for call in each)
        return tuple(one for one in found if isinstance(one, Judgement))

    @property
    def needs_network(self) -> bool:
        """Whether a part of the line asks a service of the user's own, so that it needs the network."""
        return any(one.network for one in self.judgements)

    @property
    def reads_repository(self) -> bool:
        """Whether a part of the line is a call of git, whose configuration may name programs."""
        return any(one.git for one in self.judgements)

    def _outside(self, command: SimpleCommand, *, writes: bool) -> str:
        """What a command touches that it should not, as the end of a sentence; "" where all lies inside."""
        bases = self._bases(command.folders)
        if bases is None:
            return "files in a folder that cannot be told"
        away = next((base for base in bases if not all(map(self._inside, _places(base, glob=False)))), None)
        if away is not None:
            return f"{away!r}, outside the workspace"
        argv = command.argv
        for option, value in pairwise(argv):
            if option in ("-C", "--directory"):
                bases += [posixpath.join(base, value) for base in bases]
        for word in command.words[1:]:
            for text in _paths_in(word):
                if why := self._why_not(text, word, bases, writes=writes):
                    return why
        return ""

    def _why_not(self, text: str, word: Word, bases: list[str], *, writes: bool, named: bool = False) -> str:
        """Why a word may not be opened, as the end of a sentence. named: it certainly names a file."""
        for base in bases:
            path = posixpath.join(base, _expanded(text))
            if path in _HARMLESS_TARGETS or (path in _PUBLIC_FILES and not writes):
                continue
            if not named and text.startswith("/") and not word.glob and not writes and not os.path.lexists(path):
                continue  # a pattern such as '/api/' names no file
            if word.glob and not text.startswith(("/", ".", "~")) and _like_option(base, text):
                return "a file whose name looks like an option"
            for place in _places(path, glob=word.glob):
                if not writes and _may_wait(place):
                    return f"{text!r}, which is no ordinary file"
                if not self._inside(place):
                    return f"{text!r}, outside the workspace"
                if writes and (why := is_protected(place, self.workspace.root, self.clio_home)):
                    return f"{text!r}, which {why}"
        return ""

    @cached_property
    def _runs_input(self) -> bool:
        return any(command.program in SHELLS | tables.INTERPRETERS | {"source", "."} for command in self.line.commands)

    def _redirect_risk(self, redirect: Redirect) -> Risk:
        target = redirect.target
        if _harmless(redirect):
            return low("it redirects to nowhere")
        if redirect.operator == "<" and target.text.startswith("<(") and not self._runs_input:
            return low("it reads what a command of the line says")
        named = redirect.operator == "<" and target.dynamic and not target.text.startswith("<(")
        if named and not (self._nested or self._runs_input) and (risk := self._open_input(redirect)):
            return risk
        if target.dynamic or target.glob:
            return high("a redirect goes where only the run can tell")
        if target.text.startswith(("/dev/tcp/", "/dev/udp/")):
            return high("a redirect opens a network connection")
        bases = self._bases(redirect.folders)
        if bases is None:
            return high("a redirect goes to a folder that cannot be told")
        for base in bases:
            for place in _places(posixpath.join(base, _expanded(target.text)), glob=False):
                if not self._inside(place):
                    where = f"{target.text!r}, outside the workspace"
                    return high(f"a redirect writes {where}") if redirect.writes else medium(f"it reads {where}")
                if redirect.writes and (why := is_protected(place, self.workspace.root, self.clio_home)):
                    return high(f"a redirect writes {target.text!r}, which {why}")
                if _may_wait(place):
                    return medium(f"it reads {target.text!r}, which is no ordinary file")
        return medium(f"a redirect writes {target.text!r}") if redirect.writes else low("it reads a file inside")

    def _open_input(self, redirect: Redirect) -> Risk | None:
        """The danger of reading a file whose name is open, as `cat` would; None where it is not known."""
        reader = SimpleCommand(words=(Word("cat"), redirect.target), folders=redirect.folders)
        return self._risk(reader) if self._stands_for(reader) else None

    def _bases(self, folders: tuple[str, ...] | None) -> list[str] | None:
        if folders is None:
            return None
        return [posixpath.join(self.start, _expanded(folder)) for folder in folders]

    def _inside(self, place: Path) -> bool:
        return self.workspace.contains(place) and not str(place).startswith(_MACHINE)


def _may_wait(place: Path) -> bool:
    """Whether reading a path may wait for ever, or never end: a pipe, a socket or a device."""
    try:
        mode = place.stat().st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _check_index(bases: Iterable[str], pattern: re.Pattern[str] | None = None) -> str:
    """Why names that git lists may be taken for something else; "" where they are not.

    An index that came with a repository may hold names of which no file is in the directory.
    """
    for base in bases:
        names = (answer(Path(base), "ls-files", "-z", timeout_s=_GIT_TIMEOUT_S) or "").split("\0")
        if strange := next((name for name in names if (pattern or _STRANGE_NAME).search(name)), ""):
            return f"may take the file name {strange!r} for something else"
    return ""


def _is_interpreter(place: Path) -> bool:
    """Whether a path is a program named python, which the links of a virtual environment lead to."""
    return _PYTHON.fullmatch(place.name) is not None and place.is_file() and os.access(place, os.X_OK)


def _expanded(text: str) -> str:
    """A path with `~` filled in; an unknown `~name` stays as it is, as in the shell.

    `~-` and `~1` are where the shell was before: the root stands for them, as they may lead anywhere.
    """
    if _DIRECTORY_STACK.match(text):
        return "/"
    return os.path.expanduser(text)  # noqa: PTH111


def _like_option(base: str, pattern: str) -> bool:
    """Whether a pattern may match a name that begins with a dash, which a program takes for an option."""
    matches = iglob(_BRACKETS.sub("*", pattern), root_dir=base, include_hidden=True)  # noqa: PTH207
    return any(match.startswith("-") for match in islice(matches, _MAX_MATCHES + 1))


def _parts_names(base: str, pattern: str) -> bool:
    """Whether a pattern may match a name that the shell would part in several words, or take for a pattern."""
    matches = list(islice(iglob(_BRACKETS.sub("*", pattern), root_dir=base, include_hidden=True), _MAX_MATCHES + 1))  # noqa: PTH207
    return len(matches) > _MAX_MATCHES or any(_PARTED.search(match) for match in matches)


def _open_marks(command: SimpleCommand) -> SimpleCommand:
    """A call whose words that may be the mark of xargs or find, for a name, are only known when it runs."""
    words = tuple(word if _PROGRAM.fullmatch(word.text) else Word(word.text, dynamic=True) for word in command.words)
    return replace(command, words=words)


def _harmless(redirect: Redirect) -> bool:
    return not redirect.target.dynamic and redirect.target.text in _HARMLESS_TARGETS


def _paths_in(word: Word) -> list[str]:
    """The parts of a word that may name a file: itself, or what follows `=` or a one-letter option."""
    text = word.text
    if not text.startswith("-"):
        return [text, text.split("=", 1)[1], text.rsplit("=", 1)[1]] if "=" in text else [text]
    glued = [text[place:] for place in range(2, min(len(text), 8))] if not text.startswith("--") else []
    named = [text.split("=", 1)[1], text.rsplit("=", 1)[1]] if "=" in text else []
    return [part for part in (*glued, *named) if part]


def _places(path: str, *, glob: bool) -> list[Path]:
    """Where a path leads: as written and with its links resolved; for a pattern, where its matches lead.

    A pattern with more matches than can be looked at leads nowhere known: the root stands for that.
    """
    if "\0" in path:
        return [Path("/")]
    places = [Path(posixpath.normpath(path)), Path(os.path.realpath(path))]
    if glob:
        if any(part[:1] == "." and has_glob(part) and fnmatchcase("..", part) for part in path.split("/")):
            return [Path("/")]  # `.*` matches `..`
        # The shell's brackets know more than Python's (`[^a]`, `[[:alpha:]]`), so a star stands for them.
        wide = _BRACKETS.sub("*", path)
        deep = "**" in wide  # `shopt -s globstar` may be set
        matches = list(islice(iglob(wide, include_hidden=True, recursive=deep), _MAX_MATCHES + 1))  # noqa: PTH207
        places += [Path(os.path.realpath(match)) for match in matches]
        if len(matches) > _MAX_MATCHES:
            places.append(Path("/"))
    return places
