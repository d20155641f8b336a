"""Glob patterns for paths, as `.gitignore` and ripgrep read them."""

import re
from collections.abc import Callable
from functools import lru_cache

from clio.algorithms.late_pattern import LatePattern
from clio.errors import ToolRetry
from clio.tools.search.linear_glob import MOST_WILDCARDS, LinearGlob, alternatives

_SPECIAL = LatePattern(r"[*?\[{]")


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
