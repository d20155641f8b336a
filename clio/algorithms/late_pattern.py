"""Regular expressions that are compiled when they are first used, for patterns that no start-up should wait for."""

import re
from collections.abc import Callable, Iterator
from functools import cached_property


class LatePattern:
    """Like `re.Pattern`, as far as it is used here."""

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self.pattern = pattern
        self._flags = flags

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern, self._flags)

    def match(self, text: str, start: int = 0, end: int | None = None) -> re.Match[str] | None:
        """As `re.Pattern.match`."""
        return self._compiled.match(text, start, len(text) if end is None else end)

    def search(self, text: str) -> re.Match[str] | None:
        """As `re.Pattern.search`."""
        return self._compiled.search(text)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """As `re.Pattern.fullmatch`."""
        return self._compiled.fullmatch(text)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """As `re.Pattern.finditer`."""
        return self._compiled.finditer(text)

    def sub(self, replacement: str | Callable[[re.Match[str]], str], text: str, count: int = 0) -> str:
        """As `re.Pattern.sub`."""
        return self._compiled.sub(replacement, text, count=count)
