"""What one command line means in one workspace: what it reads and writes, its danger, the rules that cover it."""

import os
import posixpath
from collections.abc import Iterable
from functools import cached_property
from glob import iglob
from itertools import islice, pairwise
from pathlib import Path

from clio.algorithms.late_pattern import LatePattern
from clio.security import risk_tables as tables
from clio.security.actions import RunCommand
from clio.security.command_risk import assess
from clio.security.never_list import never
from clio.security.path_policy import Workspace
from clio.security.protected import is_protected
from clio.security.readonly.grammar import Judgement
from clio.security.readonly.judge import judge_read_only
from clio.security.risk import Level, Risk, high, low, medium, worst
from clio.security.rule import Rule
from clio.security.rules import allows, denies, suggest, suggest_exact
from clio.security.shell.dialects import doubt, line_shell, runs_bash
from clio.security.shell.open_words import settled
from clio.security.shell.syntax import parse
from clio.security.shell.words import Redirect, SimpleCommand, Word
from clio.security.shell.wrappers import SAME_SHELL, SHELLS

_HARMLESS_TARGETS = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/zero"})
_MAX_MATCHES = 500
_DIRECTORY_STACK = LatePattern(r"~(?:[-+]\d*|\d+)(?=/|\Z)")
_BRACKETS = LatePattern(r"[^/]*\[[^/]*")


class CommandView:
    """One command line, seen from a workspace. Reads the file system for links; changes nothing."""

    def __init__(self, action: RunCommand, workspace: Workspace, clio_home: Path | None) -> None:
        self.workspace = workspace
        self.clio_home = clio_home
        self.start = str(action.cwd)
        self.text = action.command
        shell = line_shell()
        self.line = parse(action.command, plain=not runs_bash(shell))
        self.unknown = tuple(filter(None, (*self.line.unknown, doubt(action.command, shell))))
        self.never = never(self.line, action.command, self.start, str(Path.home()))

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
        return worst([*dynamic, *self.risks, *self.redirect_risks, *unknown])

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

    def denied_by(self, rules: tuple[Rule, ...]) -> str | None:
        """The first rule that forbids any part of the line."""
        return next((rule.text for rule in rules if any(denies(rule, command) for command in self.line.commands)), None)

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
            rule = next((rule for rule in rules if allows(rule, command, self._needed(command, risk))), None)
            if rule is None:
                return None
            used.append(rule.text)
        return f"allowed by the rule {', '.join(map(repr, dict.fromkeys(used)))}" if used else "only writes inside"

    def covered_by(self, rules: Iterable[Rule]) -> bool:
        """Whether these rules name every part of the line, however little it does. Says nothing of their danger."""
        commands = self.line.commands
        harmless = not self.unknown and all(risk.level == "low" for risk in self.redirect_risks)
        return harmless and bool(commands) and all(any(allows(one, part, "low") for one in rules) for part in commands)

    def suggestion(self, rules: tuple[Rule, ...]) -> str | None:
        """The one rule that would let the line run next time; None where none or more than one would be needed."""
        if self.unknown:
            return None
        wanted: set[str | None] = set()
        for command, risk in zip(self.line.commands, self.risks, strict=True):
            needed = self._needed(command, risk)
            if (risk.level == "low" and not self._open(command)) or any(
                allows(rule, command, needed) for rule in rules
            ):
                continue
            wanted.add(suggest_exact(command) if needed != risk.level else suggest(command, risk.level))
        return wanted.pop() if len(wanted) == 1 else None

    def _open(self, command: SimpleCommand) -> bool:
        """Whether a word of a command is only known when it runs, in a way that matters."""
        return not settled(command, None if self._nested else self.text)

    @cached_property
    def _nested(self) -> bool:
        return any((SHELLS | SAME_SHELL) & set(command.wrappers) for command in self.line.commands)

    def _needed(self, command: SimpleCommand, risk: Risk) -> Level:
        """The danger a rule must cover: a reader that leaves the workspace needs its path spelled out."""
        return "high" if risk.level == "medium" and assess(command).level == "low" else risk.level

    def _risk(self, command: SimpleCommand) -> Risk:
        risk = assess(command)
        if risk.level == "high":
            return risk
        reads = risk.level == "low"
        touches_files = command.program in tables.FILES
        if not reads and not touches_files:
            return risk
        where = self._outside(command, writes=not reads)
        if not where:
            judged = judge_read_only(command) if reads else ""
            bases = self._bases(command.folders) if isinstance(judged, Judgement) and judged.git else None
            for base in bases or ():
                if isinstance(judged, Judgement) and (why := self._explain_git(judged, base)):
                    return medium(f"it {why}")
            return risk
        reason = f"it {'reads' if reads else 'may change'} {where}"
        return medium(reason) if reads else high(reason)

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

    def _explain_git(self, judgement: Judgement, base: str) -> str:
        """Why git may run a program or read outside there, as the end of a sentence that begins with "it"."""
        from clio.security.git_safety import explain_git_risk

        place = Path(os.path.realpath(posixpath.join(base, _expanded(judgement.directory))))
        return explain_git_risk(self.workspace.root, place) if self._inside(place) else ""

    def _why_not(self, text: str, word: Word, bases: list[str], *, writes: bool) -> str:
        for base in bases:
            path = posixpath.join(base, _expanded(text))
            if path in _HARMLESS_TARGETS:
                continue
            if text.startswith("/") and not word.glob and not writes and not os.path.lexists(path):
                continue  # a pattern such as '/api/' names no file
            if word.glob and not text.startswith(("/", ".", "~")) and _like_option(base, text):
                return "a file whose name looks like an option"
            for place in _places(path, glob=word.glob):
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
        return medium(f"a redirect writes {target.text!r}") if redirect.writes else low("it reads a file inside")

    def _bases(self, folders: tuple[str, ...] | None) -> list[str] | None:
        if folders is None:
            return None
        return [posixpath.join(self.start, _expanded(folder)) for folder in folders]

    def _inside(self, place: Path) -> bool:
        return self.workspace.contains(place)


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
        # The shell's brackets know more than Python's (`[^a]`, `[[:alpha:]]`), so a star stands for them.
        wide = _BRACKETS.sub("*", path)
        matches = list(islice(iglob(wide, include_hidden=True), _MAX_MATCHES + 1))  # noqa: PTH207
        places += [Path(os.path.realpath(match)) for match in matches]
        if len(matches) > _MAX_MATCHES:
            places.append(Path("/"))
    return places
