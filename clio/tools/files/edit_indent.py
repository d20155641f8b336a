"""How far a block was shifted, and the same shift for other lines."""

from collections.abc import Sequence

from msgspec import Struct

from clio.tools.files.text_lines import body, indent

Pair = tuple[str, str]
"""The indentation of one line as it was searched and as it stands in the file."""

_TAB_WIDTHS = (4, 8, 2, 3)


class Shift(Struct, frozen=True, kw_only=True):
    """What was learned from lines whose indentation is known on both sides."""

    pairs: tuple[Pair, ...]
    tab_width: int

    def apply(self, line: str) -> str:
        """A line of the replacement, indented as the file would have it. Blank lines stay as they are."""
        have = indent(line)
        if not body(line)[len(have) :]:
            return line
        return self._indent(have) + line[len(have) :]

    def _indent(self, have: str) -> str:
        for searched, found in self.pairs:
            if searched == have:
                return found
        prefix = _constant_prefix(self.pairs)
        if prefix is not None:
            return prefix + have
        nearest, found = min(self.pairs, key=lambda pair: abs(self._columns(pair[0]) - self._columns(have)))
        columns = max(0, self._columns(found) + self._columns(have) - self._columns(nearest))
        if any("\t" in there for _, there in self.pairs):
            return "\t" * (columns // self.tab_width) + " " * (columns % self.tab_width)
        if any(there for _, there in self.pairs) or "\t" not in have:
            return " " * columns
        return have[: columns // self.tab_width]

    def _columns(self, text: str) -> int:
        return _columns(text, self.tab_width)


def uniform_shift(pairs: Sequence[Pair]) -> Shift | None:
    """The shift, where every line moved by the same number of columns at some width of a tab; else None."""
    if _constant_prefix(pairs) is not None:
        return Shift(pairs=tuple(pairs), tab_width=_TAB_WIDTHS[0])
    for width in _TAB_WIDTHS:
        if len({_columns(found, width) - _columns(searched, width) for searched, found in pairs}) == 1:
            return Shift(pairs=tuple(pairs), tab_width=width)
    return None


def any_shift(pairs: Sequence[Pair]) -> Shift:
    """The best guess where the lines moved by different amounts: each like the known line nearest to it."""
    return uniform_shift(pairs) or Shift(pairs=tuple(pairs), tab_width=_TAB_WIDTHS[0])


def indent_pairs(searched: Sequence[str], found: Sequence[str]) -> list[Pair]:
    """The indentations of two blocks of equally many lines, blank lines left out."""
    return [
        (indent(ours), indent(theirs))
        for ours, theirs in zip(searched, found, strict=True)
        if ours.strip() and theirs.strip()
    ]


def _constant_prefix(pairs: Sequence[Pair]) -> str | None:
    searched, found = pairs[0]
    if not found.endswith(searched):
        return None
    prefix = found[: len(found) - len(searched)]
    return prefix if all(there == prefix + here for here, there in pairs) else None


def _columns(text: str, tab_width: int) -> int:
    return sum(tab_width if char == "\t" else 1 for char in text)
