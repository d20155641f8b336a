"""Runs that can fail, what was changed between them, and when one run settles another. Pure."""

import re

from msgspec import Struct

from clio.memory.sleep.commands import Command, commands_in
from clio.memory.sleep.doings import Doing
from clio.memory.sleep.outcomes import Outcome, is_check, outcome_of
from clio.text.lazy_regex import LazyRegex

_CHANGES = LazyRegex(
    r"(?:pip3?|uv|uv pip|npm|pnpm|yarn|bun|poetry|pdm|cargo|go|go mod|gem|bundle|apt|apt-get|brew|composer|dotnet|mix"
    r"|conda|mamba|rustup|nvm|pipenv|apk|dnf|yum|corepack|playwright|pre-commit|terraform|helm) "
    r"(?:install|i|add|ci|sync|get|update|upgrade|restore|tidy|remove|uninstall|rm|rebuild|use|enable|init|download"
    r"|vendor|lock|link|dedupe)\b"
    r"|.*\b(?:migrate|makemigrations|upgrade head|db:\w+|db push|codegen|generate|protoc|compilemessages|collectstatic"
    r"|createdb|bootstrap|setup|merge heads)\b"
    r"|(?:docker|podman|docker compose|docker-compose) (?:up|start|build|pull|run|restart|network|volume)\b"
    r"|(?:systemctl|service|brew services) .*(?:start|restart|reload)\b|redis-server\b|pg_ctl\b"
    r"|sed .*-i|perl .*-p?i|patch\b|chmod\b|ln -s|cp\b|mv\b|mkdir\b|touch\b|git (?:submodule|apply|merge|pull|lfs)\b"
    r"|yarn$|make (?:\w*install|setup|deps|gen\w*)\b",
    re.IGNORECASE,
)
"""Commands that change what another one finds. Formatters are left out: what they mend is no lesson."""
_WRITTEN = LazyRegex(r"(?:>{1,2}\s*|\btee (?:-a )?)(?P<path>[\w./~-]+)[^\n]*<<|<<[^\n]*>{1,2}\s*(?P<late>[\w./~-]+)")
_MAX_CHARS = 2_000
"""Of a command line; a file is named in its beginning."""
_IN_PLACE = LazyRegex(r"sed .*-i|perl .*-p?i")
_REVERTS = LazyRegex(
    r"git (?:revert|checkout (?:--|\.$|HEAD --)|restore\b(?! --staged)|reset --hard|stash$|stash (?:push|save|-u)"
    r"|clean -)"
)
_COSMETIC = LazyRegex(
    r"-[vqxs]+|--verbose|--quiet|--no-header|--tb=\S+|--colou?r\S*|--lf|--ff|--maxfail\S*|-r[aAfEs]+|-count=1"
    r"|--silent|-n\d*"
    r"|--reporter=\S+|--no-cov"
)
_SELECTORS = frozenset({"-k", "-run", "--run", "-t", "--filter", "--testNamePattern", "-m", "-only", "--grep", "-g"})
_RUNNERS = frozenset(
    "pytest go cargo jest vitest mocha ruff mypy pyright golangci-lint eslint tsc rspec tox nox make flake8 pylint npm "
    "pnpm yarn bun dotnet mvn gradle gradlew mix phpunit deno stylelint shellcheck unittest".split()
)
"""What runs over everything when it is given no path, so that a run without one settles a run with one."""
_EVERYTHING = frozenset({".", "./...", "./", "..."})


class Run(Struct, frozen=True, kw_only=True):
    """A line that ran commands which can fail.

    place: of its result in the messages. line: as it was typed. checks: the commands of it that can fail.
    """

    place: int
    line: str
    checks: tuple[Command, ...]
    outcome: Outcome
    output: str


class Change(Struct, frozen=True, kw_only=True):
    """One thing done that may have mended an error: files that were changed or removed, or a command that was run."""

    files: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    command: str = ""


def run_of(doing: Doing) -> Run | None:
    """The doing as a run, if it is one that can fail and ended."""
    deeds = doing.deeds
    if not deeds.command or deeds.exit_code is None:
        return None
    checks = tuple(command for command in commands_in(deeds.command) if is_check(command.core))
    if not checks:
        return None
    sure = all(check.sure for check in checks)
    outcome = outcome_of(deeds.exit_code, doing.output, sure=sure)
    return Run(place=doing.place, line=deeds.command, checks=checks, outcome=outcome, output=doing.output)


def change_of(doing: Doing) -> Change | None:
    """What a doing changed that another run may depend on; None where nothing is known to be."""
    deeds = doing.deeds
    if deeds.changed:
        removed = tuple(deed.path for deed in deeds.changed if deed.kind == "delete")
        return Change(files=tuple(deed.moved_to or deed.path for deed in deeds.changed), removed=removed)
    if not deeds.command or deeds.exit_code != 0:
        return None
    written = _WRITTEN.search(deeds.command[:_MAX_CHARS])
    if written:
        return Change(files=(written["path"] or written["late"],))
    for command in commands_in(deeds.command):
        line = " ".join(command.core)
        if command.writes or _CHANGES.match(line):
            target = command.words[-1] if _IN_PLACE.match(line) and _is_path(command.words[-1]) else ""
            return Change(files=(target,)) if target else Change(command=command.text)
    return None


def reverts(doing: Doing, files: tuple[str, ...], *, committed: bool) -> bool:
    """Whether a doing took changes of these files back. committed: whether they were in a commit by then."""
    if doing.deeds.exit_code != 0:
        return False
    for command in commands_in(doing.deeds.command):
        line = " ".join(command.core)
        if not _REVERTS.match(line):
            continue
        if line.startswith(("git revert", "git reset")):
            return True
        named = [word for word in command.core[2:] if _is_path(word) and word not in _EVERYTHING]
        if not committed and (not named or any(_same_file(file, word) for file in files for word in named)):
            return True
    return False


def is_settled_by(failed: Run, passed: Run) -> bool:
    """Whether a later run that passed shows that what failed is mended.

    Each command that failed must be among those that passed: the same one, or over everything, or over a part that the
    failing output names.
    """
    return all(any(_settles(one, other, failed.output) for other in passed.checks) for one in failed.checks)


def _settles(failed: Command, passed: Command, output: str) -> bool:
    if failed.core == passed.core:
        return True
    if failed.core[0] != passed.core[0]:
        return False
    verbs, targets = _taken_apart(failed.core)
    other_verbs, other_targets = _taken_apart(passed.core)
    if verbs != other_verbs:
        return False
    if targets == other_targets:
        return True
    if failed.core[0] not in _RUNNERS:
        return False
    if not other_targets:
        return True
    return all(_mentions(output, target) for target in other_targets - targets)


def _taken_apart(core: tuple[str, ...]) -> tuple[tuple[str, ...], frozenset[str]]:
    """What a command does, and on what: paths and names that select a part. How much it prints does not count."""
    verbs: list[str] = []
    targets: set[str] = set()
    selects = False
    for word in core:
        if selects:
            targets.add(word.strip("'\""))
        elif word in _EVERYTHING or _COSMETIC.fullmatch(word):
            continue
        elif _is_path(word) and not word.startswith("-") and verbs:
            targets.add(word)
        elif word not in _SELECTORS:
            verbs.append(word)
        selects = word in _SELECTORS
    return tuple(verbs), frozenset(targets)


def _mentions(output: str, target: str) -> bool:
    """Whether an output names a target: its file, or the last part of its name."""
    name = target.rstrip("/.").rsplit("::", 1)[-1].rsplit("/", 1)[-1]
    return len(name) > 2 and name in output


def _is_path(word: str) -> bool:
    return "/" in word or "::" in word or re.search(r"\.\w{1,5}$", word) is not None or word in _EVERYTHING


def _same_file(one: str, other: str) -> bool:
    one, other = one.removeprefix("./").rstrip("/"), other.removeprefix("./").rstrip("/")
    return one == other or one.endswith("/" + other) or other.endswith("/" + one) or one.startswith(other + "/")
