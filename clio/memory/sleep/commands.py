"""Shell lines taken apart as far as comparing them needs: which commands, in which order, and whose exit code it was.

Policy reads lines with the grammar of bash (`clio.security.shell.parser`); here a wrong answer costs a finding, not
safety, ten thousand lines must take less than a second, and the words are wanted as they were written.
"""

import re
from functools import lru_cache

from msgspec import Struct, structs

_TOKEN = re.compile(
    r"(?P<space>(?:[ \t]|\\\n)+)"
    r"|(?P<redirect>(?:\d|&)?>{1,2}&?[ \t]*(?:\d\b|-(?![\w-])|[^\s;|&<>]+)|<(?!<)[ \t]*[^\s;|&<>()]+)"
    r"|(?P<op>&&|\|\||\|&?|[;\n]+)"
    r"|(?P<word>(?:\"(?:[^\"\\`]|\\.)*\"|'[^']*'|\\[^\n]|\$\w+|[^\s;|&<>\"'\\`(){}$])+)"
)
MAX_CHARS = 1_000
"""A longer line is a script in one line; nobody repeats it."""
_QUIET_REDIRECT = re.compile(r"\d?>{1,2}&\d|(?:\d|&)?>{1,2}\s*/dev/null|<")
_KEYWORDS = frozenset("for while until if case function select then do done fi [[ ! { ( time".split())
_SETTING_UP = frozenset({"cd", "pushd", "popd", "set", "export", "source", "."})
_ASSIGNMENT = re.compile(r"(?P<name>[A-Za-z_]\w*)=(?P<value>.*)", re.DOTALL)
# Programs that only start another one, and how many words of theirs to pass over.
_WRAPPERS: dict[tuple[str, ...], int] = {
    ("uv", "run"): 2,
    ("poetry", "run"): 2,
    ("pipenv", "run"): 2,
    ("pdm", "run"): 2,
    ("hatch", "run"): 2,
    ("bundle", "exec"): 2,
    ("pnpm", "exec"): 2,
    ("python", "-m"): 2,
    ("python3", "-m"): 2,
    ("npx",): 1,
    ("bunx",): 1,
    ("sudo",): 1,
    ("env",): 1,
    ("time",): 1,
}


class Command(Struct, frozen=True, kw_only=True):
    """One command of a line. words: as written, without variables set for it; settings: those, as NAME=value.

    core: the words from the program that does the work on: of `uv run pytest -q` they are `pytest -q`.
    sure: whether the exit code of the line tells how it ended; not where something behind it hides that.
    writes: whether its output goes to a file.
    """

    words: tuple[str, ...]
    core: tuple[str, ...]
    settings: tuple[str, ...] = ()
    sure: bool = True
    writes: bool = False

    @property
    def text(self) -> str:
        """It as one line."""
        return " ".join((*self.settings, *self.words))


def commands_in(line: str) -> tuple[Command, ...]:
    """The commands of a line in order, without `cd`, without the filters behind a pipe; none if it is more than a list.

    Loops, here-documents, substitutions, background jobs and subshells are more than that.
    """
    return () if len(line) > MAX_CHARS or "<<" in line else _commands(line)


@lru_cache(maxsize=8_192)
def _commands(line: str) -> tuple[Command, ...]:
    found: list[tuple[Command, str]] = []
    words: list[str] = []
    writes = False
    place, line = 0, line.strip().rstrip(";\n ")
    while place <= len(line):
        token = _TOKEN.match(line, place)
        if token is None and place < len(line):
            return ()
        kind = token.lastgroup if token else "op"
        if token is not None and kind == "word":
            words.append(token[0])
        elif token is not None and kind == "redirect":
            writes = writes or not _QUIET_REDIRECT.match(token[0])
        elif kind == "op":
            if not words or words[0] in _KEYWORDS:
                return ()
            found.append((_command(words, writes), token[0].strip() or ";" if token else ""))
            words, writes = [], False
        if token is None:
            break
        place = token.end()
    return _without_filters(found)


def _command(words: list[str], writes: bool) -> Command:
    start = 0
    while start < len(words) and _ASSIGNMENT.fullmatch(words[start]):
        start += 1
    own = tuple(words[start:])
    return Command(words=own, core=_core(own), settings=tuple(words[:start]), writes=writes)


def _core(words: tuple[str, ...]) -> tuple[str, ...]:
    while words:
        skipped = _WRAPPERS.get(words[:2]) or _WRAPPERS.get(words[:1]) or 0
        if not skipped or len(words) <= skipped:
            break
        words = words[skipped:]
    return (words[0].rsplit("/", 1)[-1], *words[1:]) if words else ()


def _without_filters(found: list[tuple[Command, str]]) -> tuple[Command, ...]:
    """The commands that do something, each with whether the line's exit code is its own."""
    kept: list[Command] = []
    before = ""
    for number, (command, op) in enumerate(found):
        leads = not before.startswith("|") or before == ""
        before = op
        if not leads or not command.words or command.words[0] in _SETTING_UP:
            continue
        sure = all(later in ("&&", "") for _, later in found[number:])
        kept.append(structs.replace(command, sure=sure))
    return tuple(kept)
