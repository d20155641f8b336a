"""Glob patterns for paths, as `.gitignore` and ripgrep read them, in time proportional to the path."""

import re
from collections.abc import Callable
from functools import lru_cache

from clio.errors import ToolRetry
from clio.text.lazy_regex import LazyRegex

MOST_WILDCARDS = 3
"""Globs with no more of them are matched by Python's own expressions, which are faster."""
_MOST_ALTERNATIVES = 64

_Accepts = Callable[[str], bool]


class LinearGlob:
    """A glob without braces. as_git: see `globs.translate`. Raises re.error."""

    def __init__(self, glob: str, *, as_git: bool) -> None:
        self._steps: list[_Accepts] = []
        self._loops = 0  # steps that take any number of characters
        self._folders = 0  # empty steps before `**/`, which may be left out as a whole
        self._parse(glob, as_git)
        self._known: dict[str, int] = {}

    def fullmatch(self, path: str) -> bool:
        """Whether the whole path answers to it."""
        states = self._rested(1)
        for char in path:
            accepting = self._known.get(char)
            if accepting is None:
                accepting = self._known[char] = sum(1 << at for at, step in enumerate(self._steps) if step(char))
            taken = states & accepting
            states = self._rested((taken & self._loops) | ((taken & ~self._loops) << 1))
            if not states:
                return False
        return bool(states >> len(self._steps) & 1)

    def _rested(self, states: int) -> int:
        """These states and all that are reached from them without a character."""
        while True:
            more = states | ((states & (self._loops | self._folders)) << 1) | ((states & self._folders) << 3)
            if more == states:
                return states
            states = more

    def _parse(self, glob: str, as_git: bool) -> None:
        at = 0
        while at < len(glob):
            at = self._parse_one(glob, at, as_git)

    def _parse_one(self, glob: str, at: int, as_git: bool) -> int:
        """Add the step that begins at this place; gives the place behind it."""
        char = glob[at]
        begins = at == 0 or glob[at - 1] == "/"
        if begins and glob.startswith("**/", at):
            self._folders |= 1 << len(self._steps)
            self._add(_is_none)
            self._add(_is_any, loops=True)
            self._add("/".__eq__)
            return at + 3
        if glob.startswith("**", at):
            component = begins and at + 2 == len(glob)
            self._add(_is_any if component or not as_git else _is_no_slash, loops=True)
            return at + 2
        if char == "*":
            self._add(_is_no_slash, loops=True)
        elif char == "?":
            self._add(_is_no_slash)
        elif char == "[":
            return self._parse_class(glob, at)
        elif char == "\\" and at + 1 < len(glob):
            self._add(glob[at + 1].__eq__)
            return at + 2
        else:
            self._add(char.__eq__)
        return at + 1

    def _parse_class(self, glob: str, at: int) -> int:
        end = glob.find("]", at + 2)
        if end < 0:
            raise re.error("a bracket is not closed")
        inside = glob[at + 1 : end].replace("\\", r"\\").replace("[", r"\[")
        pattern = re.compile(f"[^{inside[1:]}]" if inside[0] in "!^" else f"[{inside}]", re.DOTALL)
        self._add(lambda char: pattern.fullmatch(char) is not None)
        return end + 1

    def _add(self, accepts: _Accepts, *, loops: bool = False) -> None:
        if loops:
            self._loops |= 1 << len(self._steps)
        self._steps.append(accepts)


def alternatives(glob: str) -> list[str]:
    """The globs that a glob with braces stands for. Raises ToolRetry for too many, re.error for an open brace."""
    found = [glob]
    while (place := next((place for place, one in enumerate(found) if _brace(one)), None)) is not None:
        one = found.pop(place)
        begin, end, parts = _brace(one) or (0, 0, [])
        found[place:place] = [one[:begin] + part + one[end:] for part in parts]
        if len(found) > _MOST_ALTERNATIVES:
            raise ToolRetry(f"the glob stands for more than {_MOST_ALTERNATIVES} others; use fewer braces")
    return found


def _brace(glob: str) -> tuple[int, int, list[str]] | None:
    """The first pair of braces with none inside of it: its place, the place behind it, and its parts."""
    begin = -1
    at = 0
    while at < len(glob):
        if glob[at] == "\\":
            at += 1
        elif glob[at] == "[":
            at = max(at, glob.find("]", at + 2))
        elif glob[at] == "{":
            begin = at
        elif glob[at] == "}" and begin >= 0:
            return begin, at + 1, glob[begin + 1 : at].split(",")
        at += 1
    if begin >= 0:
        raise re.error("a brace is not closed")
    return None


def _is_any(char: str) -> bool:
    return True


def _is_none(char: str) -> bool:
    return False


def _is_no_slash(char: str) -> bool:
    return char != "/"


_SPECIAL = LazyRegex(r"[*?\[{]")


def is_glob(text: str) -> bool:
    """Whether the text has a wildcard in it."""
    return _SPECIAL.search(text) is not None


@lru_cache(maxsize=64)
def matcher(pattern: str) -> Callable[[str], bool]:
    """Whether a relative path with forward slashes answers to the pattern.

    `*` and `?` stop at slashes, `**` does not, `{a,b}` and `[a-z]` work. A pattern without a slash looks at the name
    only; one with a slash at the whole path; one that ends in a slash at everything in that folder; `!` in front turns
    it round. Raises ToolRetry for a pattern that cannot be read.
    """
    negative = pattern.startswith("!")
    text = pattern[1:] if negative else pattern
    text = text.removeprefix("./")
    if text.endswith("/"):
        text += "**"
    anchored = "/" in text
    try:
        found = compile_glob(text.removeprefix("/"))
    except re.error as error:
        raise ToolRetry(f"the glob {pattern!r} cannot be read: {error}; write [[] for a bracket itself") from None

    def matches(path: str) -> bool:
        subject = path if anchored else path.rsplit("/", 1)[-1]
        return found(subject) is not negative

    return matches


def compile_glob(glob: str, *, as_git: bool = False) -> Callable[[str], bool]:
    """Whether a whole path answers to the glob, in bounded time. as_git: see `translate`.

    Raises re.error, and ToolRetry for braces that stand for too many globs.
    """
    if glob.count("*") <= MOST_WILDCARDS and (as_git or glob.count("{") <= MOST_WILDCARDS):
        pattern = re.compile(translate(glob, as_git=as_git))
        return lambda path: pattern.fullmatch(path) is not None
    every = [LinearGlob(one, as_git=as_git) for one in ([glob] if as_git else alternatives(glob))]
    return lambda path: any(one.fullmatch(path) for one in every)


def translate(glob: str, *, as_git: bool = False) -> str:
    """The regular expression of a whole path. Raises re.error.

    as_git: braces are ordinary characters, and `**` is special only between slashes.
    """
    out: list[str] = []
    depth = at = 0
    while at < len(glob):
        char = glob[at]
        if glob.startswith("**/", at) and (at == 0 or glob[at - 1] == "/"):
            out.append("(?:.*/)?")
            at += 2
        elif glob.startswith("**", at):
            component = (at == 0 or glob[at - 1] == "/") and at + 2 == len(glob)
            out.append(".*" if component or not as_git else "[^/]*")
            at += 1
        elif char == "*":
            out.append("[^/]*")
        elif char == "?":
            out.append("[^/]")
        elif char == "[":
            end = glob.find("]", at + 2)
            if end < 0:
                raise re.error("a bracket is not closed")
            inside = glob[at + 1 : end].replace("\\", r"\\").replace("[", r"\[")
            out.append(f"[^{inside[1:]}]" if inside[0] in "!^" else f"[{inside}]")
            at = end
        elif char == "{" and not as_git:
            depth += 1
            out.append("(?:")
        elif char == "}" and depth:
            depth -= 1
            out.append(")")
        elif char == "," and depth:
            out.append("|")
        elif char == "\\" and at + 1 < len(glob):
            at += 1
            out.append(re.escape(glob[at]))
        else:
            out.append(re.escape(char))
        at += 1
    if depth:
        raise re.error("a brace is not closed")
    return "(?s:" + "".join(out) + ")"
