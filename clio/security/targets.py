"""What `find` deletes and which processes a pattern names: whether a call takes some of them, or all."""

import re

from clio.security.risk import has_option
from clio.security.shell.words import Word, names
from clio.security.whole_paths import WholePaths

KILL_VALUES = names(
    "-u -U -G -g -t -s -P -F --signal --euid --uid --group --pgroup --session --terminal --parent --pidfile --user -o"
    " -y --ns --nslist --older-than --younger-than --cgroup --env"
)
_PROCESSES = (
    "systemd",
    "init",
    "bash",
    "sh",
    "zsh",
    "sshd",
    "python3",
    "node",
    "clio",
    "dbus-daemon",
    "kworker/0:1",
    "cron",
)


def operands_of(words: tuple[Word, ...], valued: frozenset[str] = frozenset()) -> tuple[Word, ...]:
    """The words that are no options, nor values of these."""
    found: list[Word] = []
    ended = skip = False
    for word in words:
        if skip:
            skip = False
        elif ended or not word.text.startswith("-") or word.text == "-":
            found.append(word)
        elif word.text == "--":
            ended = True
        else:
            skip = word.text in valued
    return tuple(found)


def is_narrowed_find(argv: tuple[str, ...], whole: WholePaths) -> bool:
    """Whether `find` takes only what has a certain name, or is empty."""
    if any(text in ("-o", "-or", ",") for text in argv):
        return False
    for place, text in enumerate(argv[:-1]):
        value, before = argv[place + 1], argv[place - 1] if place else ""
        if before in ("!", "-not"):
            continue
        if text in ("-inum", "-samefile"):
            return True
        if text in ("-name", "-iname", "-regex", "-iregex") and re.search(r"\w{2}|\.\w|\w\.", value):
            return True
        if text in ("-path", "-ipath", "-wholename") and re.search(r"\w{2}", value):
            return not (value.startswith("/") and whole.is_whole(Word(value)))
    return "-empty" in argv


def names_many_processes(program: str, rest: tuple[Word, ...]) -> bool:
    """Whether `pkill`, `killall` or `pgrep` means most processes there are."""
    program = "pkill" if program == "pgrep" else program
    argv, patterns = tuple(word.text for word in rest), operands_of(rest, valued=KILL_VALUES)
    regex = program == "pkill" or has_option(argv, "r", ("regexp",))
    others = has_option(argv, "v" if program == "pkill" else "", ("inverse",))
    by_user = has_option(argv, "uUGgts", ("user", "euid", "uid", "group", "session", "terminal", "pgroup"))
    return others or (by_user and not patterns) or (regex and any(_is_wide(word.text) for word in patterns))


def _is_wide(pattern: str) -> bool:
    """Whether a pattern fits the names of most processes there are."""
    text = re.sub(r"\[\[?:(?:alpha|alnum|print|graph|lower):\]\]?", r"\\w", pattern).replace("[\\w]", "\\w")
    if len(text) > 200:
        return False
    try:
        found = re.compile(text)
    except re.error:
        return False
    return sum(found.search(name) is not None for name in _PROCESSES) > len(_PROCESSES) // 2
