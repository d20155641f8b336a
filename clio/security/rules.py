"""Which commands a rule lets run or forbids, and the narrowest rule worth offering. Pure."""

import shlex
from fnmatch import fnmatchcase

from clio.security.command_risk import assess, harmless_variable, known_name, names_own_code
from clio.security.risk import Level, exceeds
from clio.security.risk_tables import INTERPRETERS
from clio.security.rule import Rule
from clio.security.shell.words import SimpleCommand, Word, names
from clio.security.shell.wrappers import SHELLS, git_subcommand

_SUBCOMMANDS = names(
    """
    git npm pnpm yarn bun cargo make gmake pip pip3 go docker podman kubectl uv poetry pipenv pdm just task dotnet mvn
    gradle gradlew mvnw rake bundle composer gh hatch pre-commit conda mamba nx deno terraform helm rails
    mix
    brew apt apt-get dnf bazel cmake invoke nox stack cabal swift zig flutter dart rustup pipx ruff docker-compose
    """
)
_TWO_SUBCOMMANDS = names(
    "npm/run pnpm/run yarn/run bun/run git/stash git/remote docker/compose uv/pip gh/pr gh/issue gh/run"
)
_NO_RULE = names(
    """
    rm rmdir mv cp ln tee dd curl wget sudo su doas ssh scp rsync nc kill chmod chown eval source . exec env xargs find
    parallel command builtin export declare typeset local readonly set alias trap install truncate patch sqlite3 psql
    mysql redis-cli mongosh npx pnpx uvx bunx docker-compose awk gawk sed less more vi vim nano ed ex printenv
    """
)
_GLOB = frozenset("*?[")


def allows(rule: Rule, command: SimpleCommand, level: Level) -> bool:
    """Whether a rule lets a command of this danger run.

    All words must match, wrappers aside. A rule covers what is dangerous only when its own fixed words say so: `git *`
    covers `git commit`, not `git push`, which needs `git push *`. Variables set for the command block it unless they
    only change how things look.
    """
    if not rule.words or _sets_something(command):
        return False
    if not command.words or command.words[0].dynamic:
        return False
    if exceeds(level, _reach(rule)):
        return False
    return any(_matches(rule.words, words) for words in _spellings(command))


def suggest(command: SimpleCommand, level: Level) -> str | None:
    """The narrowest rule worth keeping for a command: program and sub-command, or the program; None for none.

    No rule is offered for what is dangerous, for interpreters with program text, and for programs that do whatever
    their arguments say; for a script run in the shell itself only one of that very script.
    """
    words = _plain(command.words)
    if level == "high" or not words or _sets_something(command):
        return None
    program = words[0].text.rsplit("/", 1)[-1]  # `.venv/bin/python` does whatever its arguments say as well
    if program in ("source", ".") and len(words) == 2:
        return suggest_exact(command)
    if program in _NO_RULE or program in SHELLS or words[0].dynamic:
        return None
    if program in INTERPRETERS:
        head = _interpreter_head(words)
    elif program in _SUBCOMMANDS:
        head = _head(words)
    else:
        head = words[:1]
    texts = [word.text for word in head]
    if not texts or any(word.dynamic or word.glob or _GLOB & set(word.text) for word in head):
        return None
    return f"{shlex.join(texts)} *"


def suggest_exact(command: SimpleCommand) -> str | None:
    """The rule for exactly this command, word by word; None where a word may mean something else next time."""
    if command.env or any(word.dynamic or word.glob or _GLOB & set(word.text) for word in command.words):
        return None
    return shlex.join(command.argv)


def _sets_something(command: SimpleCommand) -> bool:
    return any(
        not (harmless_variable(name, value) or names_own_code(command, name, value)) for name, value in command.env
    )


def _head(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """Program and sub-command; nothing where an option stands in its place."""
    if len(words) == 1:
        return words
    if words[1].text.startswith("-"):
        return ()
    name = words[0].text.rsplit("/", 1)[-1]
    two = len(words) > 2 and f"{name}/{words[1].text}" in _TWO_SUBCOMMANDS and not words[2].text.startswith("-")
    return words[: 3 if two else 2]


def _interpreter_head(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """`python -m name` or `python script.py`; nothing for program text or an unknown option."""
    name = words[0].text.rsplit("/", 1)[-1]
    if len(words) > 2 and name.startswith(("python", "pypy")) and words[1].text == "-m":
        return () if words[2].text in ("pdb", "code", "timeit", "http.server", "runpy") else words[:3]
    if len(words) > 1 and not words[1].text.startswith("-"):
        return words[:2]
    return ()


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
    """The ways a rule may name a command: bare, and with the wrappers it was written with."""
    bare = _plain(command.words)
    return (bare,) if not command.wrappers or command.written == command.words else (bare, command.written)


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
