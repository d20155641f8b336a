"""What a shell command was for, as far as feedback asks: a check of the work, or taking changes back."""

import shlex
from collections.abc import Iterable, Sequence

_ENDINGS = frozenset(("&&", "||", ";", "|", "&", "|&", "(", ")", ";;"))
_RUNNERS = (
    ("uv", "run"),
    ("poetry", "run"),
    ("pipenv", "run"),
    ("pdm", "run"),
    ("hatch", "run"),
    ("rye", "run"),
    ("bundle", "exec"),
    ("python", "-m"),
    ("python3", "-m"),
    ("npx",),
    ("bunx",),
    ("time",),
    ("env",),
    ("sudo",),
    ("command",),
)
_CHECKS = frozenset(
    "pytest py.test unittest nose2 tox nox jest vitest mocha ava playwright cypress rspec phpunit phpstan ctest bats "
    "prove ruff mypy pyright pylint flake8 eslint tsc biome shellcheck clippy golangci-lint rubocop pre-commit".split()
)
_TASKS = {
    "npm": "test t",
    "pnpm": "test t",
    "yarn": "test lint check build typecheck",
    "bun": "test",
    "deno": "test check lint",
    "cargo": "test check clippy build nextest",
    "go": "test vet build",
    "make": "",
    "just": "",
    "mvn": "test verify package",
    "gradle": "test check build",
    "gradlew": "test check build",
    "dotnet": "test build",
    "swift": "test build",
    "mix": "test",
    "stack": "test build",
    "zig": "test build",
    "rake": "test spec",
    "rails": "test",
}
_TASK_WORDS = ("test", "lint", "check", "typecheck", "type-check", "verify", "spec")
_NAMED_TASKS = frozenset(("npm", "pnpm", "yarn", "bun", "make", "just"))
_PYTHONS = frozenset(("python", "python3", "node", "ruby", "php", "bash", "sh"))


def simple_commands(line: str) -> list[tuple[tuple[str, ...], str]]:
    """The simple commands of a line, each with what ends it ("" at the end); none of a line that cannot be read."""
    lexer = shlex.shlex(line.replace("\n", " ; "), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    found: list[tuple[tuple[str, ...], str]] = []
    words: list[str] = []
    try:
        for token in lexer:
            if token in _ENDINGS:
                found.append((tuple(words), token))
                words = []
            else:
                words.append(token)
    except ValueError:  # a quote without its end
        return []
    return [(words, ending) for words, ending in (*found, (tuple(words), "")) if words]


def checks_of(line: str) -> frozenset[str]:
    """The tests and checks whose outcome is the line's exit code, such as {"pytest"} or {"make test"}.

    Of "pytest | tail" or "pytest; ls" the code is that of another command, so there is none.
    """
    commands = simple_commands(line)
    found: set[str] = set()
    for place, (words, _) in enumerate(commands):
        name = _check(words)
        if name and all(ending in ("&&", "") for _, ending in commands[place:]):
            found.add(name)
    return frozenset(found)


def taken_back(line: str, changed: Iterable[str], commits: Sequence[str]) -> bool:
    """Whether a git command in the line takes back files that were changed, or commits that were made.

    changed: their paths as they were shown. commits: abbreviated hashes.
    """
    files = tuple(changed)
    return any(_takes_back(_bare(words), files, commits) for words, _ in simple_commands(line))


def _takes_back(words: Sequence[str], files: Sequence[str], commits: Sequence[str]) -> bool:
    if len(words) < 2 or words[0] != "git":
        return False
    options = [word for word in words[2:] if word.startswith("-") and word != "--"]
    rest = [word for word in words[2:] if not word.startswith("-")]
    match words[1]:
        case "revert":
            return bool(commits) and any(one.startswith("HEAD") or _same_commit(one, commits) for one in rest)
        case "reset":
            return "--hard" in options and bool(files or commits)
        case "restore":
            only_staged = ("--staged" in options or "-S" in options) and not {"--worktree", "-W"} & {*options}
            return not only_staged and _touches(rest, files)
        case "checkout":
            return not {"-b", "-B"} & {*options} and _touches(rest, files)
        case _:
            return False


def _touches(paths: Sequence[str], files: Sequence[str]) -> bool:
    """Whether any of the paths is one of the files, or a folder one of them lies in."""
    cleaned = [path.removeprefix("./").rstrip("/") for path in paths]
    return any(
        path in (".", "*", ":/", "") or file == path or file.endswith("/" + path) or file.startswith(path + "/")
        for path in cleaned
        for file in files
    )


def _same_commit(word: str, commits: Sequence[str]) -> bool:
    return any(len(word) >= 6 and (word.startswith(one) or one.startswith(word)) for one in commits)


def _check(words: Sequence[str]) -> str:
    """The name of the check a simple command runs; "" for any other."""
    words = _bare(words)
    if not words:
        return ""
    name = words[0].rsplit("/", 1)[-1]
    if name in _CHECKS:
        return name
    if name in _PYTHONS:
        script = next((word for word in words[1:] if not word.startswith("-")), "")
        base = script.rsplit("/", 1)[-1]
        return base if base.startswith("test") or base.partition(".")[0].endswith("_test") else ""
    if name not in _TASKS:
        return ""
    rest = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    rest = rest[1:] if rest[:1] == ["run"] else rest
    task = rest[0] if rest else ""
    named = name in _NAMED_TASKS and any(word in task.lower() for word in _TASK_WORDS)
    return f"{name} {task}" if task and (named or task in _TASKS[name].split()) else ""


def _bare(words: Sequence[str]) -> Sequence[str]:
    """The command without what only starts it: assignments, `uv run`, `python -m`, `timeout 60`."""
    while words:
        name = words[0].rsplit("/", 1)[-1]
        if "=" in name and not name.startswith("="):
            words = words[1:]
            continue
        if name == "timeout" and len(words) > 2:
            words = words[2:]
            continue
        lead = next((lead for lead in _RUNNERS if (name, *words[1 : len(lead)]) == lead), None)
        if lead is None:
            return words
        words = words[len(lead) :]
    return words
