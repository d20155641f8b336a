"""Regular expressions that are compiled when they are first needed: compiling all would be a sixth of a start.

For modules that a plain question loads, and for large tables of patterns of which few are used. Which modules, and what
compiling costs in each, is listed in docs/development/imports.md. Other modules use `re.compile`.
"""

import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

_METHODS = ("match", "search", "fullmatch", "finditer", "findall", "split", "sub", "subn")


class LazyRegex:
    """Like `re.Pattern`, as far as it is used here; once it is compiled, its methods are that one's own, and as fast.

    needs: words in small letters, one of which stands in everything the pattern can find. A text with none of them is
    answered without compiling, which takes a hundred times as long as looking for a word.
    """

    def __init__(self, pattern: str, flags: int = 0, *, needs: str = "") -> None:
        self.pattern = pattern
        self.flags = flags
        self.needs = tuple(needs.split())

    def match(self, text: str, pos: int = 0, endpos: int = sys.maxsize) -> re.Match[str] | None:
        """As `re.Pattern.match`; the others likewise."""
        return self._real().match(text, pos, endpos) if self._may_find(text) else None

    def search(self, text: str, pos: int = 0, endpos: int = sys.maxsize) -> re.Match[str] | None:
        return self._real().search(text, pos, endpos) if self._may_find(text) else None

    def fullmatch(self, text: str, pos: int = 0, endpos: int = sys.maxsize) -> re.Match[str] | None:
        return self._real().fullmatch(text, pos, endpos) if self._may_find(text) else None

    def finditer(self, text: str, pos: int = 0, endpos: int = sys.maxsize) -> Iterator[re.Match[str]]:
        return self._real().finditer(text, pos, endpos) if self._may_find(text) else iter(())

    def findall(self, text: str, pos: int = 0, endpos: int = sys.maxsize) -> list[Any]:
        return self._real().findall(text, pos, endpos) if self._may_find(text) else []

    def split(self, text: str, maxsplit: int = 0) -> list[str | Any]:
        return self._real().split(text, maxsplit) if self._may_find(text) else [text]

    def sub(self, repl: str | Callable[[re.Match[str]], str], text: str, count: int = 0) -> str:
        return self._real().sub(repl, text, count) if self._may_find(text) else text

    def subn(self, repl: str | Callable[[re.Match[str]], str], text: str, count: int = 0) -> tuple[str, int]:
        return self._real().subn(repl, text, count) if self._may_find(text) else (text, 0)

    def _real(self) -> re.Pattern[str]:
        pattern = re.compile(self.pattern, self.flags)  # where a method was kept from before, it finds this one again
        self.__dict__.update({name: getattr(pattern, name) for name in _METHODS})
        return pattern

    def _may_find(self, text: str) -> bool:
        if not self.needs:
            return True
        if not text.isascii():  # beyond ASCII, letters are alike that `lower` does not make alike
            return True
        small = text.lower()
        return any(need in small for need in self.needs)
