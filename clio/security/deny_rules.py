"""Decide whether a `deny` rule forbids a command, interpreting the arguments as the command's program would."""

import os
import re
import shlex
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import pairwise
from pathlib import Path
from typing import Literal, cast

from msgspec import Struct
from msgspec.structs import replace

from clio.security import command_risk
from clio.security.actions import Rule, is_command_rule
from clio.security.data_tables import ByName, WordSet, load_tables
from clio.security.readonly.developer_tools import (
    MAX_GIT_INCLUDES,
    iter_config_lines,
    iter_git_config_files,
    unquote_git_value,
)
from clio.security.readonly.git_grammar import is_harmless_setting
from clio.security.readonly.judge import judge_read_only
from clio.security.readonly.system_programs import PROGRAMS
from clio.security.shell.command_line import (
    STDIN_FROM_FILE,
    CommandLine,
    SimpleCommand,
    Word,
    is_influential_variable,
    word_set,
)
from clio.security.shell.known_values import find_known_calls
from clio.security.shell.parser import parse_command_line
from clio.security.shell.wrappers import (
    SCRIPT_BUILTINS,
    SHELLS,
    UNPARSED_SHELLS,
    Options,
    find_git_subcommand,
    is_wrapper,
    make_options,
)


class _ProgramOptions(Struct, frozen=True):
    """Options, sub-commands and other names of programs, as far as rules need them to recognize a call.

    Attributes:
        global_options: options allowed before a sub-command: those without a value, and those with one.
        program_aliases: alternative names of programs.
        equivalent_calls: programs that equal a sub-command of another program.
        subcommand_synonyms: by program and name of a sub-command, its other names.
        implied_subcommands: by program and name, the sub-commands that include its effect; words of a longer path are
            separated by blanks.
        script_runners: programs whose `run NAME` may be written without `run` (npm only for its own four scripts).
        abbreviating_programs: programs that accept abbreviated sub-commands.
        aliasing_programs: programs whose configuration may define sub-commands.
        known_subcommands: sub-commands of those that no configuration can redefine.
        option_spellings: by program, the spellings of each option, separated by blanks.
        single_dash_programs: programs with long options after a single dash, so that `-rf` is not `-r -f`.
    """

    global_options: ByName[tuple[WordSet, WordSet]]
    program_aliases: dict[str, str]
    equivalent_calls: ByName[tuple[str, ...]]
    subcommand_synonyms: ByName[ByName[WordSet]]
    implied_subcommands: ByName[ByName[tuple[str, ...]]]
    script_runners: WordSet
    abbreviating_programs: WordSet
    aliasing_programs: WordSet
    known_subcommands: ByName[WordSet]
    option_spellings: ByName[tuple[str, ...]]
    single_dash_programs: WordSet


_TABLES = load_tables("program_options", _ProgramOptions)
GLOBAL_OPTIONS = {program: Options(*found) for program, found in _TABLES.global_options.items()}
KNOWN_SUBCOMMANDS = _TABLES.known_subcommands
_SUBCOMMAND_SYNONYMS = {
    program: {other: name for name, others in names.items() for other in others}
    for program, names in _TABLES.subcommand_synonyms.items()
}
_RUNNING_FILE_PROGRAMS = word_set("tar rsync sed awk gawk mawk nawk perl ed ex vim vi nano emacs zip split")
"""File programs that can also run code or commands given as an argument."""
_COPYING_PROGRAMS = word_set("cp mv ln install")
PURE_FILE_PROGRAMS = (command_risk.FILE_PROGRAMS - _RUNNING_FILE_PROGRAMS) | PROGRAMS.keys()
"""Programs that run nothing, except what one of their options names."""
_PRINTING_PROGRAMS = word_set("echo printf : true false test [")
_QUOTING_PROGRAMS = _PRINTING_PROGRAMS | {"gh", "man", "cd"}
_DOCUMENTATION_PROGRAMS = word_set("man info apropos whatis help type")
_GIT_QUOTING_COMMANDS = word_set(
    """
    add blame branch checkout cherry-pick commit describe diff log merge mv notes reflog reset restore revert rm
    shortlog show stash status switch tag
    """
)
"""Git sub-commands that run nothing named in their arguments."""
_CALL_WORDS = word_set("exec x dlx explore run tool -- -x -e --exec --command debug")
_TEXT_SEPARATOR = re.compile(r"(?:\\[nrt]|[\s;&|()<>'\"`,\[\]{}=:!@$\\#^~+*?-](?<!\w-))+")
_SUBSTITUTION_SIGNS = ("$(", "`")


def has_program_name(text: str, is_program: Callable[[str], bool], lead: Sequence[str]) -> bool:
    """Whether a text, split at blanks and operators, contains a program followed by the words of `lead` in order."""
    parts = [part for part in _TEXT_SEPARATOR.split(text) if part]
    for place, part in enumerate(parts):
        # `-Orm` is the option `-O` with the value `rm`; splitting removes the dash.
        if not (is_program(part) or (len(part) > 1 and f"-{part}" in text and is_program(part[1:]))):
            continue
        rest = iter(parts[place + 1 :])
        if all(any(word == each for each in rest) for word in lead):
            return True
    return False


def iter_runnable_texts(command: SimpleCommand, line: CommandLine | None) -> Iterator[tuple[str, bool]]:
    """Yield each text a command may run, and whether the text may be a program name if it is a single word."""
    yield from ((value, True) for value in _iter_passed_values(command, line))
    if not command.words or command.words[0].dynamic or command.program in _PRINTING_PROGRAMS:
        return
    if not isinstance(judge_read_only(command, line), str):
        return
    program = command.program
    if program == "git":
        yield from _iter_git_texts(command.words)
        return
    if program in _COPYING_PROGRAMS:
        yield from ((word.text, True) for word in command.words[1:-1] if _is_installed_path(word.text))
    if program in PURE_FILE_PROGRAMS:
        yield from _iter_option_values(command.words)
        return
    if program in _QUOTING_PROGRAMS - _DOCUMENTATION_PROGRAMS:
        return
    yield from _iter_arguments(program, command.words)
    if command.stdin and command.stdin != STDIN_FROM_FILE:
        yield command.stdin, True
    elif command.stdin == "" and line is not None:  # a here-document with variables, known only when it runs
        yield line.text, True
    if line is not None and command.upstream:
        for each in line.commands:
            if each.program in command.upstream and each.program in ("echo", "printf"):
                yield " ".join(word.text for word in each.words[1:]), True
            elif each.program in command.upstream and each.stdin and each.stdin != STDIN_FROM_FILE:
                yield each.stdin, True


def _iter_passed_values(command: SimpleCommand, line: CommandLine | None) -> Iterator[str]:
    """Yield the values of the variables that programs receive; variables of the shell alone are left out."""
    exported = {name for each in line.commands for name in each.declares} if line is not None else set[str]()
    for name, value in command.env:
        is_passed = (
            command.words
            or name in os.environ
            or name in exported
            or name.startswith("GIT_")
            or is_influential_variable(name)
        )
        if is_passed and name not in ("PATH", "PWD"):
            yield value


def _iter_git_texts(words: tuple[Word, ...]) -> Iterator[tuple[str, bool]]:
    """Yield the arguments of a git call that may run something, such as settings and values of options."""
    place = find_git_subcommand(words)
    place = place if place >= 0 else len(words)
    for word in words[1:place]:
        if "=" in word.text and not is_harmless_setting(word.text):
            yield word.text, True
    sub = words[place].text if place < len(words) else ""
    if sub in _GIT_QUOTING_COMMANDS:
        return
    rest = words[place + 1 :]
    for at, word in enumerate(rest):
        after_option = at > 0 and rest[at - 1].text.startswith("-") and "=" not in rest[at - 1].text
        yield word.text, after_option or sub == "config" or word.text.startswith("-")


def _iter_option_values(words: tuple[Word, ...]) -> Iterator[tuple[str, bool]]:
    for at, word in enumerate(words[1:], 1):
        if word.text.startswith("--") and "=" in word.text:
            yield word.text.partition("=")[2], True
        elif words[at - 1].text.startswith("--") and len(words[at - 1].text) > 2 and at > 1:
            yield word.text, True


def _iter_arguments(program: str, words: tuple[Word, ...]) -> Iterator[tuple[str, bool]]:
    """Yield the arguments of a program. Names of sub-commands, scripts and targets are marked as not being programs."""
    has_subcommands = (
        program in GLOBAL_OPTIONS or program in command_risk.BUILD_TOOLS or program in command_risk.INTERPRETERS
    )
    starts = script = False
    for at, word in enumerate(words[1:], 1):
        single = (starts and not script) if has_subcommands else program not in _DOCUMENTATION_PROGRAMS
        yield word.text, single
        if word.text in _CALL_WORDS or _SUBCOMMAND_SYNONYMS.get(program, {}).get(word.text) in ("run", "exec"):
            runs = _SUBCOMMAND_SYNONYMS.get(program, {}).get(word.text, word.text) == "run"
            script = runs and program in _TABLES.script_runners and at < 4
            starts = True
        elif script and not word.text.startswith("-"):
            script = starts = False


def _is_installed_path(text: str) -> bool:
    return text.startswith("/") or "/bin/" in text or any(mark in text for mark in _SUBSTITUTION_SIGNS)


Certainty = Literal["no", "maybe", "yes"]
""""maybe": the decision depends on an argument that is not known before the command runs."""
Words = tuple[Word, ...]

_CERTAINTY_ORDER: dict[Certainty, int] = {"no": 0, "maybe": 1, "yes": 2}
_NO_OPTIONS = make_options()
_NAME_ONLY_WRAPPERS = SHELLS | UNPARSED_SHELLS | SCRIPT_BUILTINS | {"watch"}
"""Wrappers of whose own call the parser keeps only the program name."""
_UNKNOWN_WORD = Word("$…", dynamic=True, glob=True)
_MAX_DEPTH = 5
"""Nested aliases and calls that are resolved. A rule counts as matching beyond that."""
_MAX_OPTION_WORDS = 150
"""With more words than this before a sub-command, options are no longer parsed and the answer is "maybe"."""
_CALL_INTRODUCERS = frozenset({"--", "exec", "run", "x", "-c", "-e", "--command", "-x"})
_NEVER_STARTING = PURE_FILE_PROGRAMS | {"git", "gh"}
"""Programs that do not run what their arguments name."""
_INTERPRETERS = command_risk.INTERPRETERS | {"awk", "gawk", "mawk", "nawk", "ipython", "ts-node", "tsx", "jshell"}
_VERSION_SUFFIX = re.compile(r"[\d.]+t?$")
_CODE_ARGUMENT = re.compile(r"-[A-Za-z]*[ceErp]\S*|--eval(?:=.*)?|--print|--command|--execute|eval|.*\bsystem\s*\(.*")
"""Arguments that give an interpreter its program as text. awk takes it as an operand."""
_DEFAULT_EXPANSION = re.compile(r"\$\{([A-Za-z_]\w*):?-([\w./+-]+)\}")
_PROGRAM_LOOKUP = re.compile(r"\$\(\s*(?:which|command -v|type -[pP])\s+([\w.+/-]+)\s*\)")


_ALIAS_SOURCE_PREFIXES = ("GIT_", "HOME", "XDG_CONFIG_HOME", "CARGO_", "GH_", "PATH")
_MAX_CARGO_CONFIG_BYTES = 1_000_000
"""A larger file, which may be written by a repository, is not parsed."""


class ConfiguredAliases:
    """The aliases in effect where a line starts.

    Args:
        start: the folder.
        line: the whole line. If it changes what aliases exist, none of them can be determined.
    """

    def __init__(self, start: str, line: CommandLine) -> None:
        self.start = start
        self.line = line
        self.changed = _can_change_aliases(line)
        self._git: dict[Path, Mapping[str, str]] = {}

    def resolve_alias(self, program: str, name: str, call: Sequence[Word], command: SimpleCommand) -> str | None:
        """Return what a name stands for; "" if there is no such alias; None if it cannot be determined."""
        if self.changed or any(key.startswith(_ALIAS_SOURCE_PREFIXES) for key, _ in command.env):
            return None
        folders = self._list_folders(call, command)
        if folders is None:
            return None
        if program == "gh":
            return None
        found = [
            self._find_git_alias(folder, name) if program == "git" else _find_cargo_alias(folder, name)
            for folder in folders
        ]
        if any(found):
            return next(alias for alias in found if alias) if len(set(found)) == 1 else None
        return ""

    def _list_folders(self, call: Sequence[Word], command: SimpleCommand) -> list[Path] | None:
        """Return the folders in which the program would search its settings; None if they are not known."""
        if command.folders is None:
            return None
        found = [Path(self.start, os.path.expanduser(folder)) for folder in command.folders]  # noqa: PTH111
        for place, word in enumerate(call):
            if word.text.startswith(("--git-dir", "--work-tree", "--config-env")) or "include" in word.text:
                return None
            if word.text == "-C" and place + 1 < len(call):
                if call[place + 1].dynamic:
                    return None
                found = [folder / os.path.expanduser(call[place + 1].text) for folder in found]  # noqa: PTH111
        return found

    def _find_git_alias(self, folder: Path, name: str) -> str:
        if folder not in self._git:
            self._git[folder] = {
                key: value for path in iter_git_config_files(folder) for key, value in _iter_git_aliases(path)
            }
        return self._git[folder].get(name.casefold(), "")


def _can_change_aliases(line: CommandLine) -> bool:
    """Whether a line sets variables or writes files that define aliases."""
    for command in line.commands:
        if any(key.startswith(_ALIAS_SOURCE_PREFIXES) for key, _ in command.env if not command.words or key != "PATH"):
            return True
        texts = command.argv
        if "config" in texts and any("alias" in text or "include" in text for text in texts):
            return True
        if command.program in ("cp", "mv", "ln", "tee", "sed", "install") and any("config" in text for text in texts):
            return True
    return any(each.writes and "config" in each.target.text for each in line.redirects)


def _iter_git_aliases(path: Path, included: int = 0) -> Iterator[tuple[str, str]]:
    """Yield (name in lower case, text) of each alias in a git configuration file and the files it includes."""
    section = ""
    for line in iter_config_lines(path):
        text = line.strip()
        if text.startswith("["):
            head, _, rest = text[1:].partition("]")
            section, text = head.strip().casefold(), rest.strip()
        if not text or text[0] in "#;":
            continue
        key, sign, value = text.partition("=")
        key, value = key.strip().casefold(), unquote_git_value(value) if sign else ""
        if section == "alias":
            yield key, value
        elif section.startswith("alias ") and key == "command":
            yield section[6:].strip().strip('"'), value
        elif section.startswith("include") and key == "path" and included < MAX_GIT_INCLUDES:
            other = Path(os.path.expanduser(value))  # noqa: PTH111
            yield from _iter_git_aliases(other if other.is_absolute() else path.parent / other, included + 1)


def _find_cargo_alias(folder: Path, name: str) -> str:
    """Return the definition of a cargo alias; "" if there is none."""
    home = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    for place in (*(parent / ".cargo" for parent in (folder, *folder.parents)), home):
        for file in (place / "config", place / "config.toml"):
            try:
                if not file.is_file() or file.stat().st_size > _MAX_CARGO_CONFIG_BYTES:
                    continue
                aliases: object = tomllib.loads(file.read_text(encoding="utf-8")).get("alias")
            except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
                continue
            found = cast("dict[str, object]", aliases).get(name) if isinstance(aliases, dict) else None
            if isinstance(found, str):
                return found
            if isinstance(found, list):
                return shlex.join(map(str, cast("list[object]", found)))
    return ""


def _has_inline_code(command: SimpleCommand) -> bool:
    """Whether an interpreter, whose language clio does not parse, receives its program as text in the line."""
    name = _VERSION_SUFFIX.sub("", command.program)
    return name in _INTERPRETERS and any(_CODE_ARGUMENT.fullmatch(text) for text in command.argv[1:])


def match_deny(rule: Rule, command: SimpleCommand, aliases: ConfiguredAliases | None = None) -> Certainty:
    """Whether a rule forbids a command, whatever name or spelling the command uses."""
    if not is_command_rule(rule):
        return "no"
    return _RuleMatcher(rule, aliases).match(command)


class _RuleMatcher:
    """One parsed rule: its program, the words that must follow in order, and the options that may occur anywhere."""

    def __init__(self, rule: Rule, aliases: ConfiguredAliases | None, depth: int = 0) -> None:
        self.rule = rule
        self.aliases = aliases
        self.depth = depth
        words = rule.words[:-1] if len(rule.words) > 1 and rule.words[-1] == "*" else rule.words
        (self.program, *rest) = _respell_rule(words)
        place = next((place for place, word in enumerate(rest) if word.startswith("-")), len(rest))
        self.lead, self.tail = tuple(rest[:place]), tuple(rest[place:])

    def match(self, command: SimpleCommand) -> Certainty:
        """Whether the rule forbids a command. Computed words are replaced by the values that the line assigns."""
        found = self._match_calls(command)
        if found == "yes" and command.dynamic and self.aliases is not None and self.depth == 0:
            calls = _find_plain_calls(command, self.aliases.line)
            if calls:
                found = _pick_most_certain([self._match_calls(call) for call in calls])
        if found != "yes" and self.depth == 0 and self._is_in_text(command):
            return "yes" if _has_inline_code(command) else "maybe"
        return found

    def _is_in_text(self, command: SimpleCommand) -> bool:
        """Whether a text that the command's program may run contains the program of the rule."""
        line = self.aliases.line if self.aliases is not None else None
        literal = _normalize_program(self.program)
        plain = not any(mark in literal for mark in "*?[")
        for text, single in iter_runnable_texts(command, line):
            if (plain and literal not in text.casefold()) or (not single and self._is_named(Word(text))):
                continue
            if has_program_name(text, lambda part: self._is_named(Word(part)), self.lead):
                return True
        return False

    def _match_calls(self, command: SimpleCommand) -> Certainty:
        """Match the call itself and the calls of its wrappers."""
        found: list[Certainty] = [self._match_call(call, command) for call in _iter_calls(command)]
        if not self.lead and not self.tail and any(self._is_named(Word(wrapper)) for wrapper in command.wrappers):
            return "yes"
        lost = [wrapper for wrapper in command.wrappers if wrapper in _NAME_ONLY_WRAPPERS]
        if any(self._match_call((Word(wrapper), _UNKNOWN_WORD), command) != "no" for wrapper in lost):
            found.append("maybe")
        return _pick_most_certain(found)

    def _match_call(self, call: Words, command: SimpleCommand) -> Certainty:
        """Whether the rule forbids one call, its wrappers removed."""
        if not call:
            return "no"
        first = call[0]
        if first.dynamic:
            splits = first.glob or "@" in first.text or "*" in first.text or "{" in first.text
            return "yes" if splits or len(call) == 1 else self._match_arguments(call, command)
        if self._is_named(first):
            return _pick_most_certain([self._match_arguments(call, command), *self._match_self_started(call, command)])
        if first.glob and fnmatchcase(self.program, first.text.rsplit("/", 1)[-1]):
            return self._match_arguments(call, command)
        return self._match_started(call, command)

    def _match_self_started(self, call: Words, command: SimpleCommand) -> Iterator[Certainty]:
        """Match calls that a program starts of itself, as in `npm exec npm publish`."""
        if not self.lead and not self.tail:
            return
        for place, word in enumerate(call[2:], 2):
            runs_text = (
                _get_listed_name(self.program) == "cargo" and self.depth < _MAX_DEPTH
            )  # `cargo watch -x "test -q"`
            if runs_text and call[place - 1].text in ("-x", "--exec") and not word.dynamic:
                inner = _RuleMatcher(self.rule, self.aliases, self.depth + 1)
                for each in parse_command_line(f"cargo {word.text}").commands:
                    yield inner.match(each)
            before = [each.text for each in call[1:place]]
            if self._is_named(word) and any(text in _CALL_INTRODUCERS or text == "explore" for text in before):
                yield self._match_arguments(call[place:], command)

    def _is_named(self, word: Word) -> bool:
        """Whether a word names the program of the rule."""
        name = _normalize_program(word.text)
        return any(
            fnmatchcase(each, pattern)
            for each in {name, word.text, _get_listed_name(name)}
            for pattern in (self.program, _normalize_program(self.program))
        )

    def _match_arguments(self, call: Words, command: SimpleCommand) -> Certainty:
        args = call[1:]
        known = GLOBAL_OPTIONS.get(_get_listed_name(self.program), _NO_OPTIONS)
        found: list[Certainty] = [self._match_lead(args, lead, known, call, command, {}) for lead in self._iter_leads()]
        return _pick_most_certain(found)

    def _iter_leads(self) -> Iterator[tuple[str, ...]]:
        """Yield the words that must follow the program, in each equivalent form."""
        yield self.lead
        program = _get_listed_name(self.program)
        if self.lead and program in _TABLES.script_runners:
            names = _SUBCOMMAND_SYNONYMS.get(program, {})
            if names.get(self.lead[0], self.lead[0]) == "run" and len(self.lead) > 1 and program != "npm":
                yield self.lead[1:]
            elif program != "npm":
                yield ("run", *self.lead)
        if self.lead and program == "git":
            yield ("for-each-repo", *self.lead)
        text = " ".join(self.lead)
        implied = _TABLES.implied_subcommands.get(program)
        for word, others in implied.items() if implied is not None else ():
            for other in others:
                if text == other or text.startswith(f"{other} "):
                    yield (word, *text[len(other) :].split())
                if self.lead[:1] == (word,) and " " in other:
                    yield (*other.split(), *self.lead[1:])

    def _match_lead(
        self,
        args: Words,
        lead: Sequence[str],
        known: Options,
        call: Words,
        command: SimpleCommand,
        seen: "dict[tuple[int, int, bool], Certainty]",
        options_end: bool = False,
    ) -> Certainty:
        """Whether these words occur in this order among the operands, for at least one way to parse the options in
        between.

        An unknown option may or may not take the next word as its value, so both cases are tried.

        Args:
            seen: results by number of words left. It keeps the search from growing exponentially with the options.
        """
        place = (len(args), len(lead), options_end)
        if place not in seen:
            far = len(call) - len(args) > _MAX_OPTION_WORDS
            seen[place] = "maybe" if far else self._match_next_word(args, lead, known, call, command, seen, options_end)
        return seen[place]

    def _match_next_word(
        self,
        args: Words,
        lead: Sequence[str],
        known: Options,
        call: Words,
        command: SimpleCommand,
        seen: "dict[tuple[int, int, bool], Certainty]",
        options_end: bool,
    ) -> Certainty:
        """Match one argument, then the rest. Parameters as in `_match_lead`."""
        if not lead:
            return self._match_tail(call)
        if not args:
            return "no"
        word, rest = args[0], args[1:]
        if word.text.startswith("-") and len(word.text) > 1 and not options_end:
            if word.text == "--" and not word.dynamic:
                return self._match_lead(rest, lead, known, call, command, seen, True)
            if word.dynamic and word.glob:
                return "maybe"  # without quotes it may expand to several words
            readings: list[Certainty] = [
                self._match_lead(rest[value_count:], lead, known, call, command, seen)
                for value_count in _count_option_values(word.text, known)
            ]
            value = rest[0] if rest and 1 in _count_option_values(word.text, known) else None
            if value is not None and value.dynamic and value.glob:
                readings.append("maybe")
            return _pick_most_certain(readings)
        if word.dynamic:
            return "yes"
        if self._is_same_word(word, lead[0]):
            return self._match_lead(rest, lead[1:], known, call, command, seen, options_end)
        if word.text.startswith("+") and _get_listed_name(self.program) == "cargo":  # `cargo +nightly build`
            return self._match_lead(rest, lead, known, call, command, seen)
        if len(lead) == len(self.lead) or lead == self.lead:
            return self._match_alias(word, rest, call, command)
        return "no"

    def _is_same_word(self, word: Word, pattern: str) -> bool:
        """Whether an operand matches a word of the rule."""
        program = _get_listed_name(self.program)
        other = _SUBCOMMAND_SYNONYMS.get(program, {})
        names = {word.text, other.get(word.text, word.text), _convert_to_kebab_case(word.text)}
        names.add(word.text.casefold())  # on a file system that ignores case, `git-PUSH` is found as `git-push`
        if any(fnmatchcase(name, pattern) or fnmatchcase(name, other.get(pattern, pattern)) for name in names):
            return True
        if word.glob and fnmatchcase(pattern, word.text):
            return True
        if program == "npm" and pattern in _TABLES.implied_subcommands["npm"].get(other.get(word.text, word.text), ()):
            return True
        exact = word.text in other or word.text in other.values()
        return (
            program in _TABLES.abbreviating_programs and not exact and bool(word.text) and pattern.startswith(word.text)
        )

    def _match_alias(self, word: Word, rest: Words, call: Words, command: SimpleCommand) -> Certainty:
        """Whether an unknown sub-command is an alias for something the rule forbids."""
        program = _get_listed_name(self.program)
        if program not in _TABLES.aliasing_programs or word.text in KNOWN_SUBCOMMANDS[program]:
            return "no"
        given = _find_given_alias(program, call, word.text)
        if given is None and self.aliases is None:
            return "no"
        if given is None and self.aliases is not None:
            given = self.aliases.resolve_alias(program, word.text, call, command)
        if given is None or self.depth >= _MAX_DEPTH:
            return "yes"
        if not given:  # a separate program or no alias; git may still autocorrect a misspelled sub-command
            return "yes" if self.lead and _can_be_autocorrected(word.text, self.lead[0]) else "no"
        inner = _RuleMatcher(self.rule, self.aliases, self.depth + 1)
        tail = " ".join("$X" if each.dynamic else shlex.quote(each.text) for each in rest)
        settings = shlex.join(text for pair in _list_git_settings(program, call) for text in pair)
        text = given[1:] if given.startswith("!") else f"{program} {settings} {given}"
        line = parse_command_line(f"{text} {tail}".strip())
        if line.unknown:
            return "yes"
        return _pick_most_certain([inner.match(each) for each in line.commands])

    def _match_tail(self, call: Words) -> Certainty:
        """Whether the options of the rule, and the words after them, are among the arguments."""
        args = call[1:]
        return _pick_least_certain([self._match_tail_word(word, args) for word in self.tail])

    def _match_tail_word(self, rule_word: str, args: Words) -> Certainty:
        """Whether one option of the rule, or a word after its options, is among the arguments."""
        program = _get_listed_name(self.program)
        if rule_word == "*" or any(_is_same_option(each.text, rule_word, program) for each in args if not each.dynamic):
            return "yes"
        forces = program == "git" and self.lead[:1] == ("push",) and rule_word in ("-f", "--force")
        if forces and any(each.text.startswith(("+", "--mirror")) for each in args):
            return "yes"  # a leading `+` in `git push origin +main` forces the push
        if not rule_word.startswith("-") and any(fnmatchcase(each.text, rule_word) for each in args):
            return "yes"
        letters = rule_word[1:]
        bundle = rule_word[:1] == "-" and rule_word[:2] != "--" and len(letters) > 1 and letters.isalpha()
        if bundle and program not in _TABLES.single_dash_programs:
            return _pick_least_certain([self._match_tail_word(f"-{letter}", args) for letter in letters])
        name, sign, value = rule_word.partition("=")
        if sign and self._match_tail_word(name, args) == "yes" and any(each.text == value for each in args):
            return "yes"
        return "maybe" if any(each.dynamic for each in args) else "no"

    def _match_started(self, call: Words, command: SimpleCommand) -> Certainty:
        """Whether a program other than the rule's may start what the rule forbids."""
        name, args = _normalize_program(call[0].text), call[1:]
        found: list[Certainty] = []
        if name in _TABLES.equivalent_calls:
            found.append(self._match_inner((*map(Word, _TABLES.equivalent_calls[name]), *args), command))
        if name.startswith("git-") and len(name) > 4:
            found.append(self._match_inner((Word("git"), Word(name[4:]), *args), command))
        if name.startswith(("python", "pypy", "py")) and (module := _unwrap_module(args)):
            found.append(self._match_inner(module, command))
        if name in SHELLS | command_risk.INTERPRETERS | {"source", "."}:
            scripts = [at for at, word in enumerate(args) if not word.dynamic and word.text[:1] != "-"]
            behind_option = bool(scripts) and scripts[0] > 0 and args[scripts[0] - 1].text.startswith("-")
            found.extend(self._match_inner(args[at:], command) for at in scripts[: 2 if behind_option else 1])
        if name == "alias":
            for word in args:
                text = word.text.partition("=")[2]
                calls = parse_command_line(text).commands if self.depth < _MAX_DEPTH else ()
                if word.dynamic or any(self._match_inner((*each.words, _UNKNOWN_WORD), each) != "no" for each in calls):
                    found.append("yes")
        if name == "corepack":
            found.append(self._match_inner(args, command))
        if name == "pipx" and len(args) > 2 and args[0].text == "runpip":
            found.append(self._match_inner((Word("pip"), *args[2:]), command))
        if name not in _NEVER_STARTING and isinstance(judge_read_only(command), str):
            found += self._match_inner_texts(name, args, command)
        return _pick_most_certain(found)

    def _match_inner_texts(self, program: str, args: Words, command: SimpleCommand) -> Iterator[Certainty]:
        """Match what a program unknown to clio may start: a call among its arguments, or a text that contains one."""
        for place, word in enumerate(args):
            if word.dynamic:
                continue
            leads_in = (
                place > 0
                and args[place - 1].text in _CALL_INTRODUCERS
                and not _is_before_script_name(program, args[place - 1])
            )
            if self._is_named(word) and (leads_in or self.lead or self.tail):
                yield self._match_arguments(args[place:], command)
            elif self.depth < _MAX_DEPTH:
                inner = _RuleMatcher(self.rule, self.aliases, self.depth + 1)
                starts = is_wrapper(program)
                texts = _list_word_texts(program, word.text) if starts else [word.text]
                for text in texts:
                    calls = parse_command_line(text).commands if " " in text else ()
                    if any(inner.match(each) == "yes" for each in calls):
                        yield "yes" if starts else "maybe"

    def _match_inner(self, call: Words, command: SimpleCommand) -> Certainty:
        if self.depth >= _MAX_DEPTH:
            return "yes"
        return _RuleMatcher(self.rule, self.aliases, self.depth + 1)._match_call(call, command)


def _find_plain_calls(command: SimpleCommand, line: CommandLine) -> tuple[SimpleCommand, ...]:
    """Return the calls with plain words that a call expands to; empty if the line does not determine them."""
    if any((SHELLS | SCRIPT_BUILTINS) & set(each.wrappers) for each in line.commands):
        return ()
    if known := find_known_calls(command, line, line.text):
        return tuple(replace(call, written=call.words) for call in known.calls)
    first = command.words[0].text
    if command.wrappers or any(word.dynamic for word in command.words[1:]):
        return ()
    if match := _PROGRAM_LOOKUP.fullmatch(first):
        found = match[1]
    elif (match := _DEFAULT_EXPANSION.fullmatch(first)) and len(re.findall(rf"\b{match[1]}\b", line.text)) == 1:
        found = os.environ.get(match[1]) or match[2]
    else:
        return ()
    words = (*map(Word, found.split()), *command.words[1:])
    return (replace(command, words=words, written=words),)


def _list_word_texts(program: str, text: str) -> list[str]:
    """Return the texts a wrapper may read a word as: the whole word, or the value attached to an option."""
    text = text.replace("\\_", " ") if program == "env" else text  # `env -S` reads `\_` as a blank
    if not text.startswith("-"):
        return [text]
    letters = 1 + next((at for at, letter in enumerate(text[1:]) if letter == " "), 0)
    return [text.partition("=")[2], *(text[at:] for at in range(2, min(letters, 6)))]


def _is_before_script_name(program: str, word: Word) -> bool:
    """Whether the next word is the name of a project script, as after `npm run`."""
    return program in _TABLES.script_runners and _SUBCOMMAND_SYNONYMS[program].get(word.text, word.text) == "run"


def _can_be_autocorrected(name: str, rule_word: str) -> bool:
    """Whether git might autocorrect an unknown sub-command to another one."""
    from difflib import SequenceMatcher

    return SequenceMatcher(None, name, rule_word).ratio() >= 0.7


def _iter_calls(command: SimpleCommand) -> Iterator[Words]:
    """Yield the call itself, and each call that starts with one of its wrappers."""
    yield command.words
    if command.written != command.words:
        for place, word in enumerate(command.written):
            if place == 0 or word.text.rsplit("/", 1)[-1] in command.wrappers:
                yield command.written[place:]


def _respell_rule(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of a rule, with a program that equals another's sub-command replaced by that sub-command."""
    stands = _TABLES.equivalent_calls.get(words[0])
    return (*stands, *words[1:]) if stands else words


def _normalize_program(text: str) -> str:
    """Return a program's name without directory and version, in lower case, because some file systems ignore case."""
    name = text.rsplit("/", 1)[-1].rsplit("\\", 1)[-1].casefold().removesuffix(".exe").removesuffix(".cmd")
    return name.partition("@")[0] or name  # `npx npm@latest`


def _get_listed_name(program: str) -> str:
    """Return the name under which the option tables list a program."""
    name = _normalize_program(program)
    name = _TABLES.program_aliases.get(name, name)
    return "pip" if name.startswith("pip") and name[3:].replace(".", "").isdecimal() else name


def _count_option_values(text: str, known: Options) -> tuple[int, ...]:
    """Return how many of the following words an option may take; (0, 1) if the option is not known."""
    name = text.split("=", 1)[0]
    if "=" in text and text.startswith("--"):
        return (0,)
    if text in known.flags:
        return (0,)
    if name in known.valued:
        return (0,) if "=" in text else (1,)
    if not text.startswith("--") and text[:2] in known.valued and len(text) > 2:
        return (0, 1)
    return (0, 1)


def _is_same_option(text: str, rule_word: str, program: str) -> bool:
    """Whether an argument is the option of a rule: another spelling, an abbreviation, or part of a cluster."""
    if not rule_word.startswith("-") or not text.startswith("-"):
        return False
    if fnmatchcase(text, rule_word):
        return True
    rows = [row.split() for row in _TABLES.option_spellings.get(program, ())]
    for each in {rule_word, *(same for row in rows if rule_word in row for same in row)}:
        if "=" in each:
            (name, _, value), (given, _, given_value) = each.partition("="), text.partition("=")
            if given_value and len(given) > 3 and name.startswith(given) and value.startswith(given_value):
                return True
            continue
        if text == each or text.startswith(f"{each}="):
            return True
        shortened = text.split("=", 1)[0]
        if each.startswith("--") and len(shortened) > 3 and each.startswith(shortened):
            return True
        letter = len(each) == 2 and each[1].isalpha() and not text.startswith("--")
        if letter and program not in _TABLES.single_dash_programs and each[1] in text.split("=", 1)[0][1:]:
            return True
    return False


def _find_given_alias(program: str, call: Words, name: str) -> str | None:
    """Return the alias defined by the call itself, as in `git -c alias.p=push p`; None for none."""
    flag, prefix = {"git": ("-c", "alias."), "cargo": ("--config", "alias.")}.get(program, ("", ""))
    for place, word in enumerate(call[1:], 1):
        text = word.text.removeprefix(f"{flag}=") if flag else ""
        if text == flag and place + 1 < len(call):
            text = call[place + 1].text
        key, sign, value = text.partition("=")
        key = key.strip().casefold().removesuffix(".command")
        if sign and key == f"{prefix}{name}".casefold():
            return " ".join(value.strip().strip("[]").replace('"', " ").replace(",", " ").split())
    return None


def _list_git_settings(program: str, call: Words) -> list[tuple[str, str]]:
    """Return the settings that a git call passes with `-c`. They also apply to the expansion of its aliases."""
    pairs = pairwise(call)
    return [(flag.text, word.text) for flag, word in pairs if flag.text == "-c" and program == "git"]


def _unwrap_module(args: Words) -> Words:
    """Rewrite `-m pip install` to `pip install`; empty if no module is run."""
    for place, word in enumerate(args):
        if word.text.startswith("-m") and not word.dynamic:
            name, rest = (Word(word.text[2:]),), args[place + 1 :]
            name, rest = (name, rest) if word.text[2:] else (rest[:1], rest[1:])
            # `python -m pip._internal` and `python -m pip.__main__` also run pip.
            return (*(each if each.dynamic else Word(each.text.split("._", 1)[0]) for each in name), *rest)
        if not word.text.startswith("-") or word.text in ("-c", "-"):
            break
    return ()


def _convert_to_kebab_case(text: str) -> str:
    """Convert `installTest` to `install-test`; npm accepts both."""
    return "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in text).removeprefix("-")


def _pick_most_certain(found: Iterable[Certainty]) -> Certainty:
    worst: Certainty = "no"
    for each in found:
        worst = each if _CERTAINTY_ORDER[each] > _CERTAINTY_ORDER[worst] else worst
    return worst


def _pick_least_certain(found: Iterable[Certainty]) -> Certainty:
    least: Certainty = "yes"
    for each in found:
        least = each if _CERTAINTY_ORDER[each] < _CERTAINTY_ORDER[least] else least
    return least
