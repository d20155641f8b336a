"""Regular expressions that are compiled when they are first needed, for patterns that no start-up should wait for."""

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any


class LatePattern:
    """Like `re.Pattern`, as far as it is used here.

    needs: words in small letters, one of which stands in everything the pattern can find. A text with none of them is
    answered without compiling, which takes a hundred times as long as looking for a word.
    """

    def __init__(self, pattern: str, flags: int = 0, *, needs: str = "") -> None:
        self.pattern = pattern
        self.flags = flags
        self.needs = tuple(needs.split())

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern, self.flags)

    def match(self, text: str, start: int = 0, end: int | None = None) -> re.Match[str] | None:
        """As `re.Pattern.match`."""
        return self._compiled.match(text, start, len(text) if end is None else end) if self._may_find(text) else None

    def search(self, text: str) -> re.Match[str] | None:
        """As `re.Pattern.search`."""
        return self._compiled.search(text) if self._may_find(text) else None

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """As `re.Pattern.fullmatch`."""
        return self._compiled.fullmatch(text) if self._may_find(text) else None

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """As `re.Pattern.finditer`."""
        return self._compiled.finditer(text) if self._may_find(text) else iter(())

    def findall(self, text: str) -> list[Any]:
        """As `re.Pattern.findall`."""
        return self._compiled.findall(text) if self._may_find(text) else []

    def sub(self, replacement: str | Callable[[re.Match[str]], str], text: str, count: int = 0) -> str:
        """As `re.Pattern.sub`."""
        return self._compiled.sub(replacement, text, count=count) if self._may_find(text) else text

    def _may_find(self, text: str) -> bool:
        if not self.needs or "_compiled" in self.__dict__:
            return True
        if not text.isascii():  # beyond ASCII, letters are alike that `lower` does not make alike
            return True
        small = text.lower()
        return any(need in small for need in self.needs)
