"""Which commands a rule lets run or forbids, and the narrowest rule worth offering. Pure."""

import shlex
from collections.abc import Callable
from fnmatch import fnmatchcase

from clio.security.command_risk import PLAIN_STARTERS, assess, harmless_variable, known_name, names_own_code
from clio.security.risk import Level, exceeds
from clio.security.risk_tables import INTERPRETERS
from clio.security.rule import Rule
from clio.security.safe_arguments import SAFE, are_safe, safe_head
from clio.security.shell.words import SimpleCommand, Word, names
from clio.security.shell.wrappers import SHELLS, git_subcommand

_NO_RULE = names(
    """
    rm rmdir mv cp ln tee dd curl wget sudo su doas ssh scp rsync nc kill chmod chown eval source . exec env xargs find
    parallel command builtin export declare typeset local readonly set alias trap install truncate patch sqlite3 psql
    mysql redis-cli mongosh npx pnpx uvx bunx docker-compose awk gawk sed less more vi vim nano ed ex printenv
    """
)
_GLOB = frozenset("*?[")


def stays_below(word: Word) -> bool:
    """Whether an operand, by its letters alone, leads to no place above or beside the folder it is used in."""
    return not word.text.startswith(("/", "~")) and ".." not in word.text.split("/")


def allows(rule: Rule, command: SimpleCommand, level: Level, inside: Callable[[Word], bool] = stays_below) -> bool:
    """Whether a rule lets a command of this danger run.

    All words must match, wrappers aside. A rule covers what is dangerous only when its own fixed words say so: `git *`
    covers `git commit`, not `git push`, which needs `git push *`. Variables set for the command block it unless they
    only change how things look. A last word `<safe>` covers the harmless arguments `safe_arguments` lists.

    inside: whether an operand leads nowhere but into the project.
    """
    if not rule.words or _sets_something(command):
        return False
    if not command.words or command.words[0].dynamic:
        return False
    if rule.words[-1] == SAFE:
        head = rule.words[:-1]
        return not exceeds(level, "medium") and any(
            _matches(head, words[: len(head)])
            and inside(Word("."))
            and are_safe(head[_started_after(command, words) :], words[len(head) :], inside)
            for words in _spellings(command)
            if head
        )
    if exceeds(level, _reach(rule)):
        return False
    if not any(_GLOB & set(word) for word in rule.words) and level != "low" and not inside(Word(".")):
        return assess(command).level == "low" and any(_matches(rule.words, words) for words in _spellings(command))
    return any(_matches(rule.words, words) for words in _spellings(command))


def suggest(command: SimpleCommand, level: Level, inside: Callable[[Word], bool] = stays_below) -> str | None:
    """A rule worth keeping that is no wider than what was asked; None for none.

    For programs with a list of harmless arguments, `program sub-command <safe>`, where the command has no others; else
    exactly this command. No rule is offered for what is dangerous, for program text of interpreters, and for programs
    that do whatever their arguments say.
    """
    words = _plain(command.words)
    starter = () if set(command.wrappers) <= PLAIN_STARTERS else command.written[: -len(command.words)]
    if any(map(_is_open, starter)):
        return None
    if level == "high" or not words or words[0].dynamic or _sets_something(command):
        return None
    program = words[0].text.rsplit("/", 1)[-1]  # `.venv/bin/python` does whatever its arguments say as well
    runs_script = program in ("source", ".") and len(words) == 2
    if not runs_script and (program in _NO_RULE or program in SHELLS or _runs_text(program, words)):
        return None
    fixed = safe_head(words)
    if fixed and not any(_is_open(word) for word in words[:fixed]):
        head = tuple(word.text for word in words[:fixed])
        if inside(Word(".")) and are_safe(head, words[fixed:], inside):
            return f"{shlex.join((*(word.text for word in starter), *head))} {SAFE}"
    return None if any(map(_is_open, words)) else shlex.join(word.text for word in (*starter, *words))


def suggest_exact(command: SimpleCommand) -> str | None:
    """The rule for exactly this command, word by word; None where a word may mean something else next time."""
    if command.env or any(map(_is_open, command.words)):
        return None
    return shlex.join(command.argv)


def _sets_something(command: SimpleCommand) -> bool:
    return any(
        not (harmless_variable(name, value) or names_own_code(command, name, value)) for name, value in command.env
    )


def _is_open(word: Word) -> bool:
    """Whether a word may mean something else next time, or would be a pattern in a rule."""
    return word.dynamic or word.glob or bool(_GLOB & set(word.text)) or word.text == SAFE


def _runs_text(program: str, words: tuple[Word, ...]) -> bool:
    """Whether an interpreter runs something else than `-m name` or a file."""
    if program not in INTERPRETERS:
        return False
    if len(words) > 2 and program.startswith(("python", "pypy")) and words[1].text == "-m":
        return words[2].text in ("pdb", "code", "timeit", "http.server", "runpy")
    return len(words) < 2 or words[1].text.startswith("-")


def _reach(rule: Rule) -> Level:
    """The danger a rule covers: what its fixed words are by themselves, and never less than "medium".

    A rule without any `*` is the whole command word by word, so it covers that command however dangerous.
    """
    if not any(_GLOB & set(word) for word in rule.words):
        return "high"
    fixed: list[str] = []
    for word in rule.words:
        if _GLOB & set(word):
            break
        fixed.append(word)
    if not fixed:
        return "medium"
    level = assess(SimpleCommand(words=tuple(Word(word) for word in fixed))).level
    return level if level == "high" else "medium"


def _spellings(command: SimpleCommand) -> tuple[tuple[Word, ...], ...]:
    """The ways a rule may name a command: bare, and with the wrappers it was written with.

    Only as written where a wrapper has it act as another user, or elsewhere, or runs code of its own first: what is
    allowed for `pytest` is not allowed for whatever `uv run pytest` or `dotenv run pytest` starts.
    """
    bare = _plain(command.words)
    if not set(command.wrappers) <= PLAIN_STARTERS:
        return (command.written,) if command.written != command.words else ()
    return (bare,) if not command.wrappers or command.written == command.words else (bare, command.written)


def _started_after(command: SimpleCommand, words: tuple[Word, ...]) -> int:
    """How many words of one spelling stand before the call itself."""
    return len(words) - len(command.words) if words is command.written else 0


def _plain(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """The words with git's harmless leading options left out, so that `git --no-pager log` is `git log`."""
    if not words or words[0].text.rsplit("/", 1)[-1] != "git":
        return words
    place = git_subcommand(words)
    leading = [word.text for word in words[1:place]] if place > 0 else ["?"]
    harmless = all(text in ("--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs") for text in leading)
    return (words[0], *words[place:]) if harmless else words


def _matches(patterns: tuple[str, ...], words: tuple[Word, ...], *, strict: bool = True) -> bool:
    rest_is_free = patterns[-1] == "*"
    fixed = patterns[:-1] if rest_is_free else patterns
    if len(words) < len(fixed) or (len(words) > len(fixed) and not rest_is_free):
        return False
    return all(
        _word_matches(pattern, word, program=place == 0, strict=strict)
        for place, (pattern, word) in enumerate(zip(fixed, words, strict=False))
    )


def _word_matches(pattern: str, word: Word, *, program: bool, strict: bool) -> bool:
    if pattern == "*":
        return not (program and word.dynamic)
    if word.dynamic:
        return False
    if not program:
        return fnmatchcase(word.text, pattern)
    name = word.text.rsplit("/", 1)[-1]
    by_name = (known_name(word.text) or not strict) and fnmatchcase(name, pattern)
    return by_name or fnmatchcase(word.text, pattern)
