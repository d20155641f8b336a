"""What a line of shell did, where its words alone tell: read part of a file, searched, put files back. Pure.

Only known forms are recognised. A line with anything else in it is taken for none of them.
"""

import re
import shlex
from collections.abc import Iterator, Sequence
from posixpath import join, normpath

from msgspec import Struct

from clio.text.lazy_regex import LazyRegex

_SEARCHERS = frozenset("grep egrep fgrep rg ag ack find fd fdfind ls tree dir locate".split())
_FILTERS = frozenset("head tail sort uniq wc cut tr column less more cat nl".split())
_BETWEEN = frozenset({"&&", ";", "||"})
_PRINTERS = frozenset({"cat", "nl", "bat", "batcat"})
_SED_LINES = LazyRegex(r"(\d+)(?:,(\d+|\$))?p")
_COUNT = LazyRegex(r"-(?:n\s*)?(\d+)")
_FROM = LazyRegex(r"-n?\s*\+(\d+)")
_ENDLESS = 10**9
_EVERYTHING = "."
_MAX_LINE = 20_000


class LinesOfFile(Struct, frozen=True, kw_only=True):
    """Lines of one file, counted from 1; `last` is None where it goes to the end."""

    path: str
    first: int = 1
    last: int | None = None


def read_lines(command: str) -> LinesOfFile | None:
    """The file a line prints a part of, as `cat`, `head`, `tail -n +N` and `sed -n A,Bp` do; None for other lines."""
    folder, parts = _without_cd(command)
    if len(parts) != 1 or len(parts[0]) < 2:
        return None
    name, *rest = parts[0]
    found = _printed(name, rest)
    return None if found is None else LinesOfFile(path=_under(folder, found.path), first=found.first, last=found.last)


def is_search(command: str) -> bool:
    """Whether a line does nothing but search or list, its output at most filtered."""
    _, parts = _without_cd(command, pipes=True)
    return bool(parts) and all(
        _program(part) in _SEARCHERS or part[:2] == ["git", "grep"] or part[:2] == ["git", "ls-files"]
        if first
        else _program(part) in _SEARCHERS | _FILTERS
        for part, first in _pipe_places(parts)
    )


def put_back(command: str) -> tuple[str, ...]:
    """Paths whose changes a line throws away, `.` for all: `git checkout`, `restore`, `reset --hard`, `stash`.

    A name behind `git checkout` that may as well be a branch is given, too; only a path that was changed counts.
    """
    folder, parts = _without_cd(command)
    found: list[str] = []
    for part in parts:
        if part[:1] == ["git"]:
            found += _put_back_by_git(_without_git_options(part[1:]))
    return tuple(dict.fromkeys(_under(folder, path) for path in found))


def selectors(command: str) -> tuple[str, ...]:
    """What a test command was told to run: its words that are no options, and what `-k`, `-t` and `-run` name."""
    found: list[str] = []
    for part in _split(command) or ():
        words = iter(part)
        for word in words:
            if word in ("-k", "-t", "-run", "--run", "--filter", "-testNamePattern", "--testNamePattern", "--tests"):
                found.append(next(words, ""))
            elif word.startswith(("--filter=", "--testNamePattern=", "-run=", "-Dtest=")):
                found.append(word.partition("=")[2])
            elif not word.startswith("-") and ("/" in word or "::" in word or re.search(r"\.\w{1,5}$", word)):
                found.append(word.strip("./"))
    return tuple(each for each in found if each and each != "...")


def _printed(name: str, words: Sequence[str]) -> LinesOfFile | None:
    options = [word for word in words if word.startswith("-") and word != "-"]
    names = [word for word in words if not word.startswith("-")]
    if name in _PRINTERS and len(names) == 1:
        return LinesOfFile(path=names[0])
    if name == "sed" and options == ["-n"] and len(names) == 2 and (lines := _SED_LINES.fullmatch(names[0])):
        last = lines[2] or lines[1]
        return LinesOfFile(path=names[1], first=int(lines[1]), last=None if last == "$" else int(last))
    if name in ("head", "tail") and words:
        text = " ".join(words[:-1])
        if name == "tail" and (start := _FROM.fullmatch(text)):
            return LinesOfFile(path=words[-1], first=int(start[1]))
        if name == "head" and not text:
            return LinesOfFile(path=words[-1], last=10)
        if name == "head" and (count := _COUNT.fullmatch(text)):
            return LinesOfFile(path=words[-1], last=int(count[1]))
    return None


def _put_back_by_git(words: Sequence[str]) -> list[str]:
    match list(words):
        case ["checkout", *rest] if "-b" not in rest and "-B" not in rest:
            if "--" in rest:
                return list(rest[rest.index("--") + 1 :])
            names = [word for word in rest if not word.startswith("-")]
            return [_EVERYTHING] if not names and {"-f", "--force"} & set(rest) else names
        case ["restore", *rest] if "--staged" not in rest or "--worktree" in rest or "-W" in rest:
            names = list(rest[rest.index("--") + 1 :]) if "--" in rest else _behind_source(rest)
            return [] if "-S" in rest and "-W" not in rest else names
        case ["reset", *rest] if "--hard" in rest:
            return [_EVERYTHING]
        case ["stash", *rest] if not rest or rest[0] in ("push", "save", "-u", "--include-untracked", "-k"):
            return list(rest[rest.index("--") + 1 :]) if "--" in rest else [_EVERYTHING]
        case _:
            return []


def _behind_source(words: Sequence[str]) -> list[str]:
    """The words that are no options, nor the commit behind `-s` or `--source`."""
    return [
        word
        for place, word in enumerate(words)
        if not word.startswith("-") and (not place or words[place - 1] not in ("-s", "--source"))
    ]


def _without_git_options(words: Sequence[str]) -> Sequence[str]:
    place = 0
    while place < len(words) and words[place].startswith("-"):
        place += 2 if words[place] in ("-C", "-c") else 1
    return words[place:]


def _without_cd(command: str, *, pipes: bool = False) -> tuple[str, list[list[str]]]:
    """The folder a line changes to first, and its simple commands; none where the line holds anything more."""
    parts = _split(command, pipes=pipes)
    folder = ""
    while parts and parts[0][:1] == ["cd"] and len(parts[0]) == 2:
        folder = join(folder, parts[0][1])
        parts = parts[1:]
    return folder, parts or []


def _split(command: str, *, pipes: bool = False) -> list[list[str]] | None:
    """The simple commands of a line, those of a pipe only where `pipes` says so, each then begun by "|".

    None where it redirects, substitutes, groups, or cannot be read.
    """
    if len(command) > _MAX_LINE or "\n" in command.strip():
        return None
    lexer = shlex.shlex(re.sub(r"\s2>(?:&1|\s?/dev/null)", " ", command), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:
        return None
    parts: list[list[str]] = [[]]
    for word in words:
        if word in _BETWEEN:
            parts.append([])
        elif word == "|" and pipes:
            parts.append(["|"])
        elif word and set(word) <= set("();<>|&"):
            return None
        else:
            parts[-1].append(word)
    return None if any("`" in word or "$(" in word for part in parts for word in part) else [p for p in parts if p]


def _pipe_places(parts: Sequence[list[str]]) -> Iterator[tuple[list[str], bool]]:
    """The commands without the mark of a pipe, and whether each begins one."""
    for part in parts:
        yield (part[1:], False) if part[:1] == ["|"] else (part, True)


def _program(part: Sequence[str]) -> str:
    return part[0].rpartition("/")[2] if part else ""


def _under(folder: str, path: str) -> str:
    return normpath(join(folder, path)) if path else path
