"""A shell line as the habits count it: its commands that do something, as they were and with what varies taken out."""

import re
from functools import lru_cache

from msgspec import Struct

from clio.memory.sleep.commands import MAX_CHARS as MAX_LINE
from clio.memory.sleep.commands import Command, commands_in
from clio.memory.sleep.outcomes import is_check
from clio.security.redaction.redactor import Redactor

MAX_CHARS = 160
_SECRET_NAME = re.compile(r"pass(?:w(?:or)?d)?|secret|token|api_?key|credential|auth|private", re.IGNORECASE)
_SETTING = re.compile(r"[A-Za-z_]\w*=[\w.-]{0,20}")
_RUN = r"(?:\S+ )?(?:run )?"
_ROLES: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "lint",
        re.compile(
            rf"ruff check|{_RUN}lint|eslint|flake8|pylint|golangci-lint|cargo clippy|shellcheck|stylelint|go vet"
        ),
    ),
    ("type check", re.compile(rf"mypy|pyright|tsc|{_RUN}type-?check")),
    ("format", re.compile(rf"ruff format|black|prettier|gofmt|cargo fmt|isort|{_RUN}(?:format|fmt)")),
    (
        "test",
        re.compile(
            rf"{_RUN}(?:tests?|check|spec)(?:$|[ :])|pytest|jest|vitest|rspec|tox|nox|phpunit|mocha|ctest"
            r"|playwright test"
        ),
    ),
    ("build", re.compile(rf"{_RUN}build|make$|cmake")),
    ("migration", re.compile(r".*\bmigrat")),
    ("install", re.compile(r"(?:pip3?|npm|pnpm|yarn|poetry|bundle|uv|uv pip|cargo) (?:install|i|ci|sync)\b")),
    ("deploy", re.compile(r".*\bdeploy")),
    (
        "start",
        re.compile(
            r"(?:npm|pnpm|yarn|bun) (?:run )?(?:dev|start)|docker[ -]compose up|.*\b(?:runserver|uvicorn|flask run)"
        ),
    ),
)
_FINAL = frozenset({"commit", "push"})
_NEVER_ALONE = frozenset(
    "git gh curl wget docker kubectl ssh scp psql sqlite3 xargs nohup timeout pip pip3 open code".split()
)
_FILE = re.compile(r"[^\s=]*(?:::\S*|\.[A-Za-z]\w{0,4})|(?:\.{0,2}/)?(?:[\w.@+-]+/)+[\w.@+-]*")
_WIDE = frozenset({".", "./...", "./", "...", ".."})
_TEXT_OPTIONS = {"-m": "MESSAGE", "--message": "MESSAGE", "-am": "MESSAGE", "-k": "NAME", "-run": "NAME", "-t": "NAME"}
_INLINE = frozenset({"-c", "-e", "--eval"})


class Counted(Struct, frozen=True):
    """One command of a line.

    exact: as it was run; empty where it held a secret. general: with PATH, NAME, TEXT for what varies. alone: whether
    it may be a habit by itself, not only a step of one.
    """

    exact: str
    general: str
    alone: bool


def counted(line: str) -> tuple[Counted, ...]:
    """The commands of a line that are worth counting, without those that only look; none that hold a secret."""
    return _counted_in(line) if len(line) <= MAX_LINE else ()


@lru_cache(maxsize=8_192)
def _counted_in(line: str) -> tuple[Counted, ...]:
    found: list[Counted] = []
    for command in commands_in(line):
        core = command.core
        final = core[:1] == ("git",) and core[1:2] != () and core[1] in _FINAL
        if command.writes or not (final or is_check(core)) or set(core) & _INLINE:
            continue
        one = _counted(command, final=final)
        if one is not None:
            found.append(one)
    return tuple(found)


def role_of(command: str) -> str:
    """What a command is for, in a word or two; empty where nobody knows."""
    core = next((" ".join(one.core) for one in commands_in(command)), command)
    return next((role for role, pattern in _ROLES if pattern.match(core)), "")


def _counted(command: Command, *, final: bool) -> Counted | None:
    settings = [one for one in command.settings if _SETTING.fullmatch(one) and not _SECRET_NAME.search(one)]
    words = _without_secrets(command.words)
    if words is None:
        return None
    exact = " ".join((*settings, *words))
    general = " ".join((*settings, *_general(words)))
    if len(exact) > MAX_CHARS or "\n" in exact or "[REDACTED" in exact or _redactor().redact(exact).counts:
        exact = ""
    if len(general) > MAX_CHARS or "\n" in general or (not exact and _redactor().redact(general).counts):
        return None
    program = command.core[0]
    alone = (not final and program not in _NEVER_ALONE and "/" not in command.words[0][1:]) or bool(role_of(general))
    return Counted(exact=exact, general=general, alone=alone and not final)


@lru_cache(maxsize=1)
def _redactor() -> Redactor:
    return Redactor()


def _without_secrets(words: tuple[str, ...]) -> list[str] | None:
    """The words without options that name a secret, and without what follows them; None where one may be left."""
    kept: list[str] = []
    skip = False
    for word in words:
        if skip and not word.startswith("-"):
            skip = False
            continue
        skip = False
        if word.startswith("-") and _SECRET_NAME.search(word):
            skip = "=" not in word
            continue
        if "[REDACTED" in word or (_SECRET_NAME.search(word) and ("=" in word or ":" in word)):
            return None
        kept.append(word)
    return kept


def _general(words: list[str]) -> list[str]:
    """The words with PATH for files, MESSAGE and NAME for texts; several of them in a row are one."""
    general: list[str] = []
    after = ""
    for number, word in enumerate(words):
        if after:
            shown = after
        elif number and word[:1] in "'\"":
            shown = "TEXT"
        elif number and word not in _WIDE and not word.startswith("-") and "://" not in word and _FILE.fullmatch(word):
            shown = "PATH"
        elif number and re.fullmatch(r"#?\d+|[0-9a-f]{7,40}", word):
            shown = "NUMBER"
        else:
            shown = word
        after = _TEXT_OPTIONS.get(word, "") if not after else ""
        if not general or shown != general[-1] or shown not in ("PATH", "NUMBER", "TEXT"):
            general.append(shown)
    return general
