"""Which further arguments a rule that ends in `<safe>` covers: for each program a closed list of harmless ones. Pure.

Harmless options choose what is run or how it is shown. None of them names a program, a plug-in, a configuration, a
folder to work in or a file to write. Operands are paths inside the project, names, or expressions, as the table says.
"""

from collections.abc import Callable, Sequence

from msgspec import Struct

from clio.algorithms.late_pattern import LatePattern
from clio.security.shell.words import Word, names

SAFE = "<safe>"
"""The last word of a rule, which stands for any number of harmless arguments."""

_PATH = LatePattern(r"[\w.][\w.@%+,/-]*")
_TEST_ID = LatePattern(r"[\w.][\w.@%+,/-]*(?:::[\w.:\[\]@%+,/ =-]+)?")
_NAME = LatePattern(r"[A-Za-z_][\w.:-]*")
_BRANCH = LatePattern(r"[A-Za-z_][\w.-]*(?:/[\w.-]+)*")
_PACKAGES = LatePattern(r"\.(?:/[\w.-]+)*(?:/\.\.\.)?")


class _Safe(Struct, frozen=True):
    """The harmless arguments of one call.

    flags: options without a value. valued: options with one, as the next word or behind `=`. operand: what an operand
    looks like; None where there is none. As a path, each must be inside the project.
    """

    flags: frozenset[str] = frozenset()
    valued: frozenset[str] = frozenset()
    operand: LatePattern | None = None


def _safe(flags: str, valued: str = "", operand: LatePattern | None = None) -> _Safe:
    return _Safe(names(flags), names(valued), operand)


_PYTEST = _safe(
    "-q -v -x -s -l --lf --ff --nf --sw --co --quiet --verbose --exitfirst --showlocals --last-failed"
    " --failed-first --new-first --stepwise --collect-only --no-header --no-summary --disable-warnings",
    "-k -m -n --maxfail --tb --durations --color --numprocesses --timeout",
    _TEST_ID,
)
_UNITTEST = _safe("-v -q -f -b --verbose --quiet --failfast --buffer", "-k", _TEST_ID)
_CARGO = _safe(
    "--all --workspace --lib --bins --tests --examples --benches --all-targets --all-features --no-default-features"
    " --release -q --quiet -v --verbose --no-fail-fast --no-run --locked --offline --frozen --doc --keep-going --"
    " --nocapture --exact --ignored --include-ignored --show-output",
    "-p --package --test --bin --example --features -F -j --jobs --color --test-threads --skip",
    _NAME,
)
_SAFE_CALLS: dict[str, _Safe] = {
    "pytest": _PYTEST,
    "py.test": _PYTEST,
    "python -m pytest": _PYTEST,
    "python -m unittest": _UNITTEST,
    "go test": _safe(
        "-v -race -short -cover -failfast -benchmem -json", "-count -run -skip -timeout -parallel -p -bench", _PACKAGES
    ),
    "go build": _safe("-v -race", "", _PACKAGES),
    "go vet": _safe("-v", "", _PACKAGES),
    "cargo test": _CARGO,
    "cargo check": _CARGO,
    "cargo build": _CARGO,
    "cargo clippy": _safe(" ".join(_CARGO.flags - {"--"}), " ".join(_CARGO.valued)),
    "cargo fmt": _safe("--all --check -q --quiet -v --verbose", "-p --package"),
    "ruff check": _safe(
        "--fix --no-fix --diff --statistics --show-files --preview --no-preview --exit-zero --no-cache -q --quiet -v"
        " --verbose -s --silent --isolated --show-fixes",
        "--select --ignore --extend-select --output-format --target-version --line-length",
        _PATH,
    ),
    "ruff format": _safe(
        "--check --diff --preview --no-preview --no-cache -q --quiet -v --verbose -s --silent --isolated",
        "--target-version --line-length",
        _PATH,
    ),
    "black": _safe(
        "--check --diff --color --no-color -q --quiet -v --verbose --fast --safe", "-l --line-length", _PATH
    ),
    "isort": _safe("--check --check-only -c --diff -q --quiet -v --verbose", "", _PATH),
    "mypy": _safe(
        "--strict --pretty --show-error-codes --ignore-missing-imports --no-incremental --no-error-summary -v",
        "",
        _PATH,
    ),
    "pyright": _safe("--stats --outputjson --verbose --warnings", "--level", _PATH),
    "flake8": _safe("-v -q --statistics --count --benchmark", "--select --ignore --max-line-length", _PATH),
    "eslint": _safe("--fix --quiet --cache --no-cache --color --no-color", "--max-warnings --ext", _PATH),
    "prettier": _safe("--check -c --write -w --list-different -l --no-color", "--log-level", _PATH),
    "tsc": _safe("--noEmit --pretty --skipLibCheck --strict", "", None),
    "jest": _safe(
        "--coverage --silent --verbose --runInBand -i --ci --bail --watch --watchAll --onlyChanged -o",
        "-t --testNamePattern",
        _PATH,
    ),
    "vitest run": _safe("--coverage --silent --bail", "-t --testNamePattern", _PATH),
    "gofmt": _safe("-l -d -s -e -w", "", _PATH),
    "mkdir": _safe("-p -v --parents --verbose", "", _PATH),
    "touch": _safe("-c --no-create", "", _PATH),
    "git add": _safe("-A --all -u --update -v --verbose -n --dry-run -N --intent-to-add", "", _PATH),
    "git commit": _safe("-a --all -v --verbose -q --quiet -s --signoff --no-edit", "-m --message"),
    "git fetch": _safe("--all --prune -p --tags -t -q --quiet -v --verbose --no-tags", "--depth", _BRANCH),
    "git pull": _safe("--ff-only --rebase --no-rebase --prune -p --tags -q --quiet -v --verbose", "", _BRANCH),
    "git switch": _safe("-q --quiet --detach --no-guess --no-track", "-c --create", _BRANCH),
}
"""By the words before them."""


def safe_head(words: Sequence[Word]) -> int:
    """How many words of a call a rule with `<safe>` would fix; 0 where the program has no such list."""
    return next((count for count in (3, 2, 1) if _entry([word.text for word in words[:count]])), 0)


def _entry(texts: Sequence[str]) -> _Safe | None:
    if not texts:
        return None
    program = texts[0].rsplit("/", 1)[-1]
    if program.startswith("python") and program[6:].replace(".", "").isdecimal():
        program = "python"
    return _SAFE_CALLS.get(" ".join((program, *texts[1:])))


def are_safe(head: Sequence[str], rest: Sequence[Word], inside: Callable[[Word], bool]) -> bool:
    """Whether all further arguments of a call are harmless.

    head: the words the rule fixes. inside: whether an operand leads nowhere but into the project.
    """
    known = _entry(head)
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
        taken = _option_length(word.text, known)
        values = rest[place + 1 : place + taken]
        if not taken or len(values) < taken - 1 or any(each.text.startswith("-") for each in values):
            return False
        if any(each.glob for each in (word, *values)):
            return False
        place += taken
    return True


def _option_length(text: str, known: _Safe) -> int:
    """How many words a harmless option takes, its value included; 0 where it is not on the list."""
    if text in known.flags:
        return 1
    name, sign, _ = text.partition("=")
    if name in known.valued:
        return 1 if sign else 2
    letters = text[1:]
    if not letters.isalpha() or any(len(flag) > 2 and not flag.startswith("--") for flag in known.flags | known.valued):
        return 0  # not several letters in one word, or a program that takes those for one name
    if any(f"-{letter}" not in known.flags for letter in letters[:-1]):
        return 0
    return 1 if f"-{letters[-1]}" in known.flags else 2 * (f"-{letters[-1]}" in known.valued)


def _is_plain_operand(word: Word, known: _Safe, inside: Callable[[Word], bool]) -> bool:
    text = word.text
    if word.glob:  # only below a folder that is written out: a bare pattern may match a name that looks like an option
        if text[:1] in "*?[" or "::" in text:
            return False
        text = text.replace("*", "x").replace("?", "x").replace("[", "x").replace("]", "x")
    if known.operand is None or known.operand.fullmatch(text) is None:
        return False
    path = text.split("::", 1)[0]
    if ".." in path.replace("...", "").split("/"):
        return False
    return inside(Word(word.text.split("::", 1)[0], glob=word.glob))
