"""Judge one command line in one workspace: the paths it reads and writes, its risk, and the rules that cover it."""

import os
import posixpath
import re
import shlex
import stat
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from glob import iglob
from itertools import islice, pairwise
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from clio.readonly_git import run_git
from clio.security.actions import Rule, RunCommand, Workspace, is_command_rule, resolve_links
from clio.security.command_risk import (
    ASSESSED_GIT_SUBCOMMANDS,
    FILE_PROGRAMS,
    INTERPRETERS,
    TRANSPARENT_WRAPPERS,
    Level,
    Risk,
    assess_command,
    high_risk,
    is_harmless_variable,
    is_known_program_name,
    is_level_above,
    is_own_code_path,
    judge_reading,
    low_risk,
    medium_risk,
    pick_worst_risk,
)
from clio.security.data_tables import WordSet, load_tables
from clio.security.deny_rules import KNOWN_SUBCOMMANDS, Certainty, ConfiguredAliases, match_deny
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
    word_set,
)
from clio.security.shell.known_values import KnownCalls, find_known_calls, has_only_harmless_expansions
from clio.security.shell.parser import parse_command_line
from clio.security.shell.wrappers import SCRIPT_BUILTINS, SHELLS, find_git_subcommand
from clio.text.formatting import truncate
from clio.text.translation import tr

SAFE_WORD = "<safe>"
"""Last word of a rule that stands for any number of harmless arguments."""

_OPERANDS = {
    "path": re.compile(r"[\w.][\w.@%+,/-]*"),
    "test id": re.compile(r"[\w.][\w.@%+,/-]*(?:::[\w.:\[\]@%+,/ =-]+)?"),
    "name": re.compile(r"[A-Za-z_][\w.:-]*"),
    "branch": re.compile(r"[A-Za-z_][\w.-]*(?:/[\w.-]+)*"),
    "go packages": re.compile(r"\.(?:/[\w.-]+)*(?:/\.\.\.)?"),
}
"""Patterns of operands by their kind."""


class _SafeArguments(Struct, frozen=True):
    """The harmless arguments of some calls.

    Attributes:
        calls: the first one to three words of each.
        flags: options without a value.
        valued: options with a value, as the next word or after `=`.
        operand: kind of the operands, each of which must be inside the project; "none" if the calls take none.
    """

    calls: tuple[str, ...]
    flags: WordSet = WordSet()
    valued: WordSet = WordSet()
    operand: Literal["path", "test id", "name", "branch", "go packages", "none"] = "none"


_SAFE_ARGUMENTS = load_tables("safe_arguments", tuple[_SafeArguments, ...])
_SAFE_CALLS = {call: known for known in _SAFE_ARGUMENTS for call in known.calls}


def count_safe_head(words: Sequence[Word]) -> int:
    """Return how many words of a call a rule with `<safe>` would fix; 0 if no list of harmless arguments exists."""
    return next((count for count in (3, 2, 1) if _find_safe_arguments([word.text for word in words[:count]])), 0)


def _find_safe_arguments(texts: Sequence[str]) -> _SafeArguments | None:
    """Return the harmless arguments of the call that begins with these words; None if none are listed."""
    if not texts:
        return None
    program = texts[0].rsplit("/", 1)[-1]
    # `python3.12` takes the same arguments as `python`.
    if program.startswith("python") and program[6:].replace(".", "").isdecimal():
        program = "python"
    return _SAFE_CALLS.get(" ".join((program, *texts[1:])))


def are_safe_arguments(head: Sequence[str], rest: Sequence[Word], inside: Callable[[Word], bool]) -> bool:
    """Whether all further arguments of a call are harmless.

    Args:
        head: the words that the rule fixes.
        rest: the arguments after them.
        inside: whether an operand leads only into the project.
    """
    known = _find_safe_arguments(head)
    # A word known only at run time may become any option.
    if known is None or any(word.dynamic for word in rest):
        return False
    place = 0
    while place < len(rest):
        word = rest[place]
        if not word.text.startswith("-"):
            if not _is_plain_operand(word, known, inside):
                return False
            place += 1
            continue
        word_count = _count_option_words(word.text, known)
        values = rest[place + 1 : place + word_count]
        if not word_count or len(values) < word_count - 1 or any(each.text.startswith("-") for each in values):
            return False
        # A pattern may match a file named like an option, such as `--eval=…`.
        if any(each.glob for each in (word, *values)):
            return False
        place += word_count
    return True


def _count_option_words(text: str, known: _SafeArguments) -> int:
    """Return how many words a harmless option takes, its value included; 0 if the option is not listed."""
    if text in known.flags:
        return 1
    name, sign, _ = text.partition("=")
    if name in known.valued:
        return 1 if sign else 2
    letters = text[1:]
    if not letters.isalpha() or any(len(flag) > 2 and not flag.startswith("--") for flag in known.flags | known.valued):
        return 0  # not a cluster of one-letter options, or a program with long names after one dash (`go test -race`)
    if any(f"-{letter}" not in known.flags for letter in letters[:-1]):
        return 0
    return 1 if f"-{letters[-1]}" in known.flags else 2 * (f"-{letters[-1]}" in known.valued)


def _is_plain_operand(word: Word, known: _SafeArguments, inside: Callable[[Word], bool]) -> bool:
    """Whether an operand has the form that the program expects, and leads only into the project."""
    text = word.text
    if word.glob:  # only with a literal start: a bare pattern may match a file whose name looks like an option
        if text[:1] in "*?[" or "::" in text:
            return False
        text = text.replace("*", "x").replace("?", "x").replace("[", "x").replace("]", "x")
    if known.operand == "none" or _OPERANDS[known.operand].fullmatch(text) is None:
        return False
    path = text.split("::", 1)[0]
    # `...` is Go's pattern for all packages below, not a way up.
    if ".." in path.replace("...", "").split("/"):
        return False
    return inside(Word(word.text.split("::", 1)[0], glob=word.glob))


_NEVER_OFFERED = word_set(
    """
    rm rmdir mv cp ln tee dd curl wget sudo su doas ssh scp rsync nc kill chmod chown eval source . exec env xargs find
    parallel command builtin export declare typeset local readonly set alias trap install truncate patch sqlite3 psql
    mysql redis-cli mongosh npx pnpx uvx bunx docker-compose awk gawk sed less more vi vim nano ed ex printenv
    """
)
_GLOB_CHARACTERS = frozenset("*?[")


def is_below_folder(word: Word) -> bool:
    """Whether an operand, judged by its text alone, stays below the folder it is used in."""
    return not word.text.startswith(("/", "~")) and ".." not in word.text.split("/")


def is_allowed_by_rule(
    rule: Rule, command: SimpleCommand, level: Level, inside: Callable[[Word], bool] = is_below_folder
) -> bool:
    """Whether a rule allows a command of this risk level to run.

    All words must match, wrappers aside. A rule covers a dangerous command only if the rule's own literal words are
    dangerous: `git *` covers `git commit` but not `git push`, which needs `git push *`. Variables set for the command
    prevent a match unless they only affect its output. A final `<safe>` matches the arguments that `are_safe_arguments`
    accepts.

    Args:
        level: the risk level of the command.
        inside: whether an operand leads only into the project.
    """
    if not rule.words or _has_effective_variable(command):
        return False
    if not command.words or command.words[0].dynamic:
        return False
    if rule.words[-1] == SAFE_WORD:
        head = rule.words[:-1]
        return not is_level_above(level, "medium") and any(
            _has_matching_words(head, words[: len(head)])
            and inside(Word("."))
            and are_safe_arguments(head[_count_wrapper_words(command, words) :], words[len(head) :], inside)
            for words in _list_written_forms(command)
            if head
        )
    # Without this, `git *` would also cover `git push --force`.
    if is_level_above(level, _get_covered_level(rule)):
        return False
    # `git *` names no sub-command, and `git p` may be an alias of `git push`.
    unknown = _find_unknown_subcommand(command)
    if unknown and unknown not in rule.words:
        return False
    # An exact rule was given for the command as it runs in the project; elsewhere the same words reach other files.
    if not any(_GLOB_CHARACTERS & set(word) for word in rule.words) and level != "low" and not inside(Word(".")):
        return assess_command(command).level == "low" and any(
            _has_matching_words(rule.words, words) for words in _list_written_forms(command)
        )
    return any(_has_matching_words(rule.words, words) for words in _list_written_forms(command))


def _find_unknown_subcommand(command: SimpleCommand) -> str:
    """Return a sub-command whose effect is not known, such as an alias of git; "" for none."""
    program = command.program
    if program == "git":
        place = find_git_subcommand(command.words)
        name = command.words[place].text if 0 < place < len(command.words) else ""
        return "" if name in ASSESSED_GIT_SUBCOMMANDS else name
    if program not in ("cargo", "gh"):
        return ""
    name = next((text for text in command.argv[1:] if not text.startswith(("-", "+"))), "")
    return "" if name in KNOWN_SUBCOMMANDS[program] else name


def suggest_rule(command: SimpleCommand, level: Level, inside: Callable[[Word], bool] = is_below_folder) -> str | None:
    """Return a rule worth saving that is no wider than the command at hand; None if there is none.

    For a program with a list of harmless arguments the rule is `program sub-command <safe>`, if the command has no
    other arguments; otherwise exactly this command. No rule is offered for high risk, for code given to an interpreter,
    or for programs that can do anything, depending on their arguments.
    """
    words = _drop_git_options(command.words)
    starter = () if set(command.wrappers) <= TRANSPARENT_WRAPPERS else command.written[: -len(command.words)]
    if any(map(_is_unfixed, starter)):
        return None
    if level == "high" or not words or words[0].dynamic or _has_effective_variable(command):
        return None
    program = words[0].text.rsplit("/", 1)[-1]  # `.venv/bin/python` is as general as `python`
    runs_script = program in ("source", ".") and len(words) == 2
    if not runs_script and (program in _NEVER_OFFERED or program in SHELLS or _is_running_text(program, words)):
        return None
    # The narrow form first: a rule such as `make test *` would also cover `--eval`, `SHELL=` and `-C /`.
    fixed = count_safe_head(words)
    if fixed and not any(_is_unfixed(word) for word in words[:fixed]):
        head = tuple(word.text for word in words[:fixed])
        if inside(Word(".")) and are_safe_arguments(head, words[fixed:], inside):
            return f"{shlex.join((*(word.text for word in starter), *head))} {SAFE_WORD}"
    return None if any(map(_is_unfixed, words)) else shlex.join(word.text for word in (*starter, *words))


def suggest_exact_rule(command: SimpleCommand) -> str | None:
    """Return the rule for exactly this command, word by word; None if a word may have another meaning next time."""
    if command.env or any(map(_is_unfixed, command.words)):
        return None
    return shlex.join(command.argv)


def _has_effective_variable(command: SimpleCommand) -> bool:
    return any(
        not (is_harmless_variable(name, value) or is_own_code_path(command, name, value)) for name, value in command.env
    )


def _is_unfixed(word: Word) -> bool:
    """Whether a word may have another meaning next time, or would act as a pattern in a rule."""
    return word.dynamic or word.glob or bool(_GLOB_CHARACTERS & set(word.text)) or word.text == SAFE_WORD


def _is_running_text(program: str, words: tuple[Word, ...]) -> bool:
    """Whether an interpreter runs something other than `-m name` or a file."""
    if program not in INTERPRETERS:
        return False
    # These modules run any code or serve any file they are given, so `-m` does not make them specific.
    if len(words) > 2 and program.startswith(("python", "pypy")) and words[1].text == "-m":
        return words[2].text in ("pdb", "code", "timeit", "http.server", "runpy")
    return len(words) < 2 or words[1].text.startswith("-")


def _get_covered_level(rule: Rule) -> Level:
    """Return the risk level a rule covers: that of its literal words, and at least "medium".

    A rule without wildcards is the complete command, so it covers that command at any level.
    """
    if not any(_GLOB_CHARACTERS & set(word) for word in rule.words):
        return "high"
    fixed: list[str] = []
    for word in rule.words:
        if _GLOB_CHARACTERS & set(word):
            break
        fixed.append(word)
    if not fixed:
        return "medium"
    level = assess_command(SimpleCommand(words=tuple(Word(word) for word in fixed))).level
    return level if level == "high" else "medium"


def _list_written_forms(command: SimpleCommand) -> tuple[tuple[Word, ...], ...]:
    """Return the forms in which a rule may name a command: bare, and with the wrappers it was written with.

    Only the written form counts if a wrapper runs it as another user, on another machine, or runs code of its own
    first: a rule for `pytest` must not allow what `uv run pytest` or `dotenv run pytest` starts.
    """
    bare = _drop_git_options(command.words)
    if not set(command.wrappers) <= TRANSPARENT_WRAPPERS:
        return (command.written,) if command.written != command.words else ()
    return (bare,) if not command.wrappers or command.written == command.words else (bare, command.written)


def _count_wrapper_words(command: SimpleCommand, words: tuple[Word, ...]) -> int:
    """Return how many words of one form precede the call itself."""
    return len(words) - len(command.words) if words is command.written else 0


def _drop_git_options(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """Drop git's harmless leading options, so that `git --no-pager log` equals `git log`."""
    if not words or words[0].text.rsplit("/", 1)[-1] != "git":
        return words
    place = find_git_subcommand(words)
    leading = [word.text for word in words[1:place]] if place > 0 else ["?"]
    harmless = all(text in ("--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs") for text in leading)
    return (words[0], *words[place:]) if harmless else words


def _has_matching_words(patterns: tuple[str, ...], words: tuple[Word, ...]) -> bool:
    """Whether words match the patterns of a rule, of which a last `*` matches any number of words."""
    rest_is_free = patterns[-1] == "*"
    fixed = patterns[:-1] if rest_is_free else patterns
    if len(words) < len(fixed) or (len(words) > len(fixed) and not rest_is_free):
        return False
    return all(
        _is_matching_word(pattern, word, program=place == 0)
        for place, (pattern, word) in enumerate(zip(fixed, words, strict=False))
    )


def _is_matching_word(pattern: str, word: Word, *, program: bool) -> bool:
    """Whether a word matches a pattern of a rule. A program given by an unusual path matches only with that path."""
    if pattern == "*":
        return not (program and word.dynamic)
    if word.dynamic:
        return False
    if not program:
        return fnmatchcase(word.text, pattern)
    name = word.text.rsplit("/", 1)[-1]
    by_name = is_known_program_name(word.text) and fnmatchcase(name, pattern)
    return by_name or fnmatchcase(word.text, pattern)


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
