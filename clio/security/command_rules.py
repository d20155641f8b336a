"""Match commands with the rules that allow them, and suggest a rule for a command."""

import re
import shlex
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import Literal

from msgspec import Struct

from clio.security.actions import Rule
from clio.security.command_risk import (
    ASSESSED_GIT_SUBCOMMANDS,
    INTERPRETERS,
    TRANSPARENT_WRAPPERS,
    Level,
    assess_command,
    is_harmless_variable,
    is_known_program_name,
    is_level_above,
    is_own_code_path,
)
from clio.security.data_tables import WordSet, load_tables
from clio.security.deny_rules import KNOWN_SUBCOMMANDS
from clio.security.shell.command_line import SimpleCommand, Word, word_set
from clio.security.shell.wrappers import SHELLS, find_git_subcommand

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


def _count_safe_head(words: Sequence[Word]) -> int:
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


def _are_safe_arguments(head: Sequence[str], rest: Sequence[Word], inside: Callable[[Word], bool]) -> bool:
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
    prevent a match unless they only affect its output. A final `<safe>` matches harmless arguments only.

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
            and _are_safe_arguments(head[_count_wrapper_words(command, words) :], words[len(head) :], inside)
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
    fixed = _count_safe_head(words)
    if fixed and not any(_is_unfixed(word) for word in words[:fixed]):
        head = tuple(word.text for word in words[:fixed])
        if inside(Word(".")) and _are_safe_arguments(head, words[fixed:], inside):
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
