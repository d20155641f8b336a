"""`.gitignore` files, read as git reads them. Pure: text in, verdicts out.

A walk asks about every folder before it enters it, so a rule has to match the path itself and never what lies below it.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from itertools import islice

from msgspec import Struct, field

from clio.tools.search.globs import compile_glob, translate
from clio.tools.search.linear_glob import MOST_WILDCARDS

_MOST_LINES, _MOST_CHARS = 4_000, 1_000
"""More rules in one file, and longer ones, say nothing: each rule is asked about each path."""
_MOST_TOLD = 50_000
"""A large tree is walked before every command, and most of its files are those of the last time."""


class _Rule(Struct, frozen=True, kw_only=True):
    matches: Callable[[str], bool]
    expression: str
    ignores: bool
    folders_only: bool


class IgnoreRules(Struct, frozen=True, kw_only=True):
    """The rules of one file, for paths relative to the folder it lies in. told: what was said of files before.

    any_of_them: one expression for all rules; None where one of them has none.
    """

    rules: tuple[_Rule, ...]
    any_of_them: re.Pattern[str] | None
    told: dict[str, bool | None] = field(default_factory=dict[str, bool | None])

    def verdict(self, path: str, *, folder: bool) -> bool | None:
        """True: ignored, False: expressly not ignored, None: nothing is said. Forward slashes, none at either end."""
        if folder:
            return self._verdict(path, folder=True)
        if path in self.told:
            return self.told[path]
        if len(self.told) >= _MOST_TOLD:
            self.told.clear()
        said = self.told[path] = self._verdict(path, folder=False)
        return said

    def _verdict(self, path: str, *, folder: bool) -> bool | None:
        if self.any_of_them is not None and not self.any_of_them.fullmatch(path):
            return None
        for rule in reversed(self.rules):
            if (folder or not rule.folders_only) and rule.matches(path):
                return rule.ignores
        return None


@lru_cache(maxsize=64)
def parse_rules(text: str) -> IgnoreRules:
    """The rules in the text of an ignore file; lines that cannot be read say nothing, as with git."""
    lines = islice((line for line in text.splitlines() if len(line) <= _MOST_CHARS), _MOST_LINES)
    rules = tuple(rule for line in lines if (rule := _rule(line)) is not None)
    if any(not rule.expression for rule in rules):
        return IgnoreRules(rules=rules, any_of_them=None)
    together = "|".join(rule.expression for rule in rules)
    return IgnoreRules(rules=rules, any_of_them=re.compile(together or "(?!)"))


def _rule(line: str) -> _Rule | None:
    line = _without_blanks(line)
    if not line or line.startswith("#"):
        return None
    ignores = not line.startswith("!")
    glob = line if ignores else line[1:]
    folders_only = glob.endswith("/")
    glob = glob.rstrip("/") if folders_only else glob
    if not glob:
        return None
    if "/" not in glob:
        glob = f"**/{glob}"
    if glob.endswith("/**"):
        glob += "/*"  # everything below the folder, which itself stays
    try:
        matches = compile_glob(glob.removeprefix("/"), as_git=True)
        simple = glob.count("*") <= MOST_WILDCARDS
        expression = translate(glob.removeprefix("/"), as_git=True) if simple else ""
    except (re.error, RecursionError, OverflowError):
        return None
    return _Rule(matches=matches, expression=expression, ignores=ignores, folders_only=folders_only)


def _without_blanks(line: str) -> str:
    """The line without blanks at its end; one that is written with a backslash stays."""
    bare = line.rstrip(" \t")
    backslashes = len(bare) - len(bare.rstrip("\\"))
    return bare + line[len(bare) : len(bare) + 1] if backslashes % 2 else bare
