"""Which words, variables and inputs of a command a program may run, and whether these name a certain program. Pure.

Programs that are known to run nothing they are given are listed; of all others every text may be run.
"""

import os
from collections.abc import Callable, Iterator, Sequence

from clio.algorithms.late_pattern import LatePattern
from clio.security import risk_tables as tables
from clio.security.program_tables import GLOBAL_OPTIONS, RUNS_SCRIPTS, SYNONYMS
from clio.security.readonly.git import is_harmless_setting
from clio.security.readonly.judge import judge_read_only
from clio.security.readonly.programs import PROGRAMS
from clio.security.shell.state import decides
from clio.security.shell.words import FROM_FILE, CommandLine, SimpleCommand, Word, names
from clio.security.shell.wrappers import git_subcommand

_RUNNING_FILES = names("tar rsync sed awk gawk mawk nawk perl ed ex vim vi nano emacs zip split")
"""Programs for files that may also run a text they are given."""
_COPIES = names("cp mv ln install")
FILES_ONLY = (tables.FILES - _RUNNING_FILES) | PROGRAMS.keys()
"""Programs that run nothing but what an option of theirs may name."""
_PRINTS = names("echo printf : true false test [")
_QUOTES = _PRINTS | {"gh", "man", "cd"}
_OPTIONS_ONLY = names("man info apropos whatis help type")
_GIT_QUOTES = names(
    """
    add blame branch checkout cherry-pick commit describe diff log merge mv notes reflog reset restore revert rm
    shortlog show stash status switch tag
    """
)
"""Sub-commands of git that run nothing their own words name."""
_STARTS_CALLS = names("exec x dlx explore run tool -- -x -e --exec --command debug")
_PARTS = LatePattern(r"(?:\\[nrt]|[\s;&|()<>'\"`,\[\]{}=:!@$\\#^~+*?-](?<!\w-))+")
_SUBSTITUTES = ("$(", "`")


def names_program(text: str, is_program: Callable[[str], bool], lead: Sequence[str]) -> bool:
    """Whether a text, parted at blanks and shell signs, holds a program and then the words of the lead in order."""
    parts = [part for part in _PARTS.split(text) if part]
    for place, part in enumerate(parts):
        # `-Orm` is the option `-O` with its value; the dash is taken off as a sign.
        if not (is_program(part) or (len(part) > 1 and f"-{part}" in text and is_program(part[1:]))):
            continue
        rest = iter(parts[place + 1 :])
        if all(any(word == each for each in rest) for word in lead):
            return True
    return False


def runnable_texts(command: SimpleCommand, line: CommandLine | None) -> Iterator[tuple[str, bool]]:
    """Each text a command may run, and whether it is a single word that may be a program by itself."""
    yield from ((value, True) for value in _variables(command, line))
    if not command.words or command.words[0].dynamic or command.program in _PRINTS:
        return
    if not isinstance(judge_read_only(command, line), str):
        return
    program = command.program
    if program == "git":
        yield from _git_texts(command.words)
        return
    if program in _COPIES:
        yield from ((word.text, True) for word in command.words[1:-1] if _is_installed_path(word.text))
    if program in FILES_ONLY:
        yield from _option_values(command.words)
        return
    if program in _QUOTES - _OPTIONS_ONLY:
        return
    yield from _own_words(program, command.words)
    if command.stdin and command.stdin != FROM_FILE:
        yield command.stdin, True
    if line is not None and command.upstream:
        for each in line.commands:
            if each.program in command.upstream and each.program in ("echo", "printf"):
                yield " ".join(word.text for word in each.words[1:]), True
            elif each.program in command.upstream and each.stdin and each.stdin != FROM_FILE:
                yield each.stdin, True


def _variables(command: SimpleCommand, line: CommandLine | None) -> Iterator[str]:
    """The values of variables that programs are told: not those that belong to the shell alone."""
    exported = {name for each in line.commands for name in each.declares} if line is not None else set[str]()
    for name, value in command.env:
        told = command.words or name in os.environ or name in exported or name.startswith("GIT_") or decides(name)
        if told and name not in ("PATH", "PWD"):
            yield value


def _git_texts(words: tuple[Word, ...]) -> Iterator[tuple[str, bool]]:
    place = git_subcommand(words)
    place = place if place >= 0 else len(words)
    for word in words[1:place]:
        if "=" in word.text and not is_harmless_setting(word.text):
            yield word.text, True
    sub = words[place].text if place < len(words) else ""
    if sub in _GIT_QUOTES:
        return
    rest = words[place + 1 :]
    for at, word in enumerate(rest):
        after_option = at > 0 and rest[at - 1].text.startswith("-") and "=" not in rest[at - 1].text
        yield word.text, after_option or sub == "config" or word.text.startswith("-")


def _option_values(words: tuple[Word, ...]) -> Iterator[tuple[str, bool]]:
    for at, word in enumerate(words[1:], 1):
        if word.text.startswith("--") and "=" in word.text:
            yield word.text.partition("=")[2], True
        elif words[at - 1].text.startswith("--") and len(words[at - 1].text) > 2 and at > 1:
            yield word.text, True


def _own_words(program: str, words: tuple[Word, ...]) -> Iterator[tuple[str, bool]]:
    """The words behind a program; those that name a sub-command, a script or a target of it are no programs."""
    has_subcommands = program in GLOBAL_OPTIONS or program in tables.BUILDS or program in tables.INTERPRETERS
    starts = script = False
    for at, word in enumerate(words[1:], 1):
        single = (starts and not script) if has_subcommands else program not in _OPTIONS_ONLY
        yield word.text, single
        if word.text in _STARTS_CALLS or SYNONYMS.get(program, {}).get(word.text) in ("run", "exec"):
            runs = SYNONYMS.get(program, {}).get(word.text, word.text) == "run"
            script = runs and program in RUNS_SCRIPTS and at < 4
            starts = True
        elif script and not word.text.startswith("-"):
            script = starts = False


def _is_installed_path(text: str) -> bool:
    return text.startswith("/") or "/bin/" in text or any(mark in text for mark in _SUBSTITUTES)
