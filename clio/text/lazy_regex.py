"""Regular expressions compiled on first use: compiling all of them would be a sixth of the start-up time.

For modules that a plain question loads, and for large tables of patterns of which few are used. They are listed with
the cost of compiling in docs/development/imports.md. Other modules use `re.compile`.
"""

import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

_START_CHARS = 24  # as many as the longest of all `starts`, at least
_METHODS = ("match", "search", "fullmatch", "finditer", "findall", "split", "sub", "subn")


class LazyRegex:
    """The methods of `re.Pattern` that clio uses. Once compiled, they are the pattern's own methods, and as fast.

    A text that cannot match is answered without compiling, which takes about a hundred times as long as searching for
    a word. Each match begins with one of `starts` or contains one of `needs`; the tests prove it for all patterns.

    Args:
        needs: lower-case words, separated by spaces or, if they contain spaces, in a tuple.
        starts: likewise; only patterns that are used with `match` and `fullmatch` alone have them.
    """

    def __init__(
        self, pattern: str, flags: int = 0, *, needs: str | tuple[str, ...] = (), starts: str | tuple[str, ...] = ()
    ) -> None:
        self.pattern = pattern
        self.flags = flags
        self.needs = tuple(needs.split()) if isinstance(needs, str) else needs
        self.starts = tuple(starts.split()) if isinstance(starts, str) else starts

    def match(self, text: str, pos: int = 0, endpos: int = sys.maxsize) -> re.Match[str] | None:
        """See `re.Pattern.match`; likewise for the other methods."""
        return self._compile().match(text, pos, endpos) if self._may_match(text, pos) else None

    def search(self, text: str, pos: int = 0, endpos: int = sys.maxsize) -> re.Match[str] | None:
        return self._compile().search(text, pos, endpos) if self._may_find(text) else None

    def fullmatch(self, text: str, pos: int = 0, endpos: int = sys.maxsize) -> re.Match[str] | None:
        return self._compile().fullmatch(text, pos, endpos) if self._may_match(text, pos) else None

    def finditer(self, text: str, pos: int = 0, endpos: int = sys.maxsize) -> Iterator[re.Match[str]]:
        return self._compile().finditer(text, pos, endpos) if self._may_find(text) else iter(())

    def findall(self, text: str, pos: int = 0, endpos: int = sys.maxsize) -> list[Any]:
        return self._compile().findall(text, pos, endpos) if self._may_find(text) else []

    def split(self, text: str, maxsplit: int = 0) -> list[str | Any]:
        return self._compile().split(text, maxsplit) if self._may_find(text) else [text]

    def sub(self, repl: str | Callable[[re.Match[str]], str], text: str, count: int = 0) -> str:
        return self._compile().sub(repl, text, count) if self._may_find(text) else text

    def subn(self, repl: str | Callable[[re.Match[str]], str], text: str, count: int = 0) -> tuple[str, int]:
        return self._compile().subn(repl, text, count) if self._may_find(text) else (text, 0)

    def _compile(self) -> re.Pattern[str]:
        pattern = re.compile(self.pattern, self.flags)  # `re` caches it for callers that hold a method from before
        # Attributes of the object hide the class's methods, so later calls go to the compiled pattern directly.
        self.__dict__.update({name: getattr(pattern, name) for name in _METHODS})
        return pattern

    def _may_match(self, text: str, pos: int) -> bool:
        if self.starts and text[pos : pos + _START_CHARS].lower().startswith(self.starts):
            return True
        return not (self.needs or self.starts) or not text.isascii() or self._contains_needed(text)

    def _may_find(self, text: str) -> bool:
        # Beyond ASCII, IGNORECASE matches letters that `lower` does not make equal.
        return not self.needs or bool(self.starts) or not text.isascii() or self._contains_needed(text)

    def _contains_needed(self, text: str) -> bool:
        lower = text.lower()
        return any(need in lower for need in self.needs)
