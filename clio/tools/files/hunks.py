"""The hunks of a change, and the text that comes of accepting some of them. Pure: strings in, strings out."""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from clio.tools.files.diff import Block, block_rows, changed_blocks, ends_in_crlf, grouped_blocks, text_lines


class Hunk(Struct, frozen=True, kw_only=True):
    """Neighbouring changed stretches of two texts, whose lines are `old` and `new`."""

    blocks: tuple[Block, ...]
    old: list[str]
    new: list[str]
    crlf: bool

    @property
    def text(self) -> str:
        """From its "@@" line on, as in a unified diff."""
        return "\n".join(block_rows(self.blocks, self.old, self.new, self.crlf)) + "\n"

    @property
    def added(self) -> int:
        """Lines it puts in."""
        return sum(b2 - b1 for _, _, b1, b2 in self.blocks)

    @property
    def removed(self) -> int:
        """Lines it takes out."""
        return sum(a2 - a1 for a1, a2, _, _ in self.blocks)


def split_hunks(before: str, after: str) -> Iterator[Hunk]:
    """The hunks that lead from one text to the other, in order, cut as `diff_texts` cuts them."""
    old, new = text_lines(before), text_lines(after)
    crlf = ends_in_crlf(old) and ends_in_crlf(new)
    for group in grouped_blocks(list(changed_blocks(old, new))):
        yield Hunk(blocks=tuple(group), old=old, new=new, crlf=crlf)


def keep_hunks(before: str, after: str, kept: Iterable[Hunk]) -> str:
    """The text with these of its hunks applied and all others left out; `kept` in their order."""
    old, new = text_lines(before), text_lines(after)
    lines: list[str] = []
    at = 0
    for a1, a2, b1, b2 in (block for hunk in kept for block in hunk.blocks):
        lines += old[at:a1] + new[b1:b2]
        at = a2
    return "".join(lines + old[at:])
