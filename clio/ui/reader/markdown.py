"""Markdown as lines to be read aloud: what a heading, an item, a table or code is, is said instead of shown."""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from clio.text.lazy_regex import LazyRegex
from clio.ui.footer.status import plural
from clio.ui.markup.blocks import BlockSplitter, Piece
from clio.ui.markup.markdown import markdown_tokens
from clio.ui.reader.spoken import Exact, undrawn

if TYPE_CHECKING:
    from markdown_it.token import Token

_HELD_LINES = 100
"""Code is held until it is known how many lines it has; a longer one is begun without."""
_SENTENCE = LazyRegex(r"""[.!?]["')\]*_`]*\s+(?=\S)""")
_NO_SENTENCE = LazyRegex(r"\b(?:[A-Za-z]|e\.g|i\.e|etc|vs|cf|approx|no|fig|\d+)\.\s+$", re.I)
_NO_PARAGRAPH = LazyRegex(r"\s*(?:[#>|]|[-*+]\s|\d+[.)]\s)")


class SpokenMarkdown:
    """An answer that comes in deltas, as lines: `feed` gives what can be said, a paragraph sentence by sentence.

    Control characters must be gone already.
    """

    def __init__(self) -> None:
        self._splitter = BlockSplitter()
        self._said = 0
        """Characters of the open paragraph that were said already."""
        self._code: list[str] = []
        self._language = ""
        self._code_lines = 0
        self._in_code = False

    def feed(self, text: str) -> list[str]:
        """The lines that this text has finished."""
        lines = [line for piece in self._splitter.feed(text) for line in self._piece(piece)]
        if self._in_code and not self._splitter.in_code:
            lines += self._end_code()
        tail = self._splitter.tail
        return [*lines, *self._sentences(tail.text)] if tail is not None and tail.kind == "prose" else lines

    def finish(self) -> list[str]:
        """The rest, at the end of the answer; the object can then take another one."""
        lines = [line for piece in self._splitter.finish() for line in self._piece(piece)]
        return [*lines, *self._end_code()]

    def _piece(self, piece: Piece) -> Iterator[str]:
        if piece.kind == "code":
            yield from self._code_line(piece)
            return
        yield from self._end_code()
        yield from self._sentences(piece.text)
        text, self._said = piece.text[self._said :], 0
        yield from spoken_prose(text)

    def _code_line(self, piece: Piece) -> Iterator[str]:
        if not piece.joined:
            yield from self._end_code()
            self._language, self._in_code = piece.language, True
        self._code_lines += 1
        self._code.append(Exact(undrawn(piece.text.expandtabs(4)).rstrip()))
        if self._code_lines == _HELD_LINES:
            yield _announced(self._language, f"{_HELD_LINES} lines or more")
        if self._code_lines >= _HELD_LINES:
            yield from self._code
            self._code.clear()

    def _end_code(self) -> Iterator[str]:
        if not self._in_code:
            return
        if self._code_lines < _HELD_LINES:
            yield from _code_block(self._language, self._code)
        else:
            yield f"end of code, {plural(self._code_lines, 'line')}"
        self._code, self._code_lines, self._in_code = [], 0, False

    def _sentences(self, block: str) -> list[str]:
        """The whole sentences of a paragraph that were not said yet, up to the one that nothing follows."""
        if _NO_PARAGRAPH.match(block):
            return []
        lines: list[str] = []
        for found in _SENTENCE.finditer(block, self._said):
            sentence = block[self._said : found.end()]
            if not _NO_SENTENCE.search(sentence) and _is_closed(sentence):
                lines += spoken_prose(sentence)
                self._said = found.end()
        return lines


def spoken_text(text: str) -> list[str]:
    """A whole Markdown text, such as the result of a slash command."""
    stream = SpokenMarkdown()
    return [*stream.feed(text), *stream.finish()]


def spoken_prose(text: str) -> list[str]:
    """The lines of a piece of Markdown."""
    return list(_Reader(markdown_tokens(text)).lines()) if text.strip() else []


class _Reader:
    """Goes through the parser's tokens once."""

    def __init__(self, tokens: "Sequence[Token]") -> None:
        self._tokens = tokens
        self._lists: list[int | None] = []  # the number of the next item of each open list, None without numbers
        self._lead = ""
        self._quotes = 0

    def lines(self) -> Iterator[str]:
        """The tokens in words."""
        place = 0
        while place < len(self._tokens):
            token = self._tokens[place]
            match token.type:
                case "heading_open":
                    self._lead = f"heading {token.tag.removeprefix('h')}: "
                case "blockquote_open":
                    self._quotes += 1
                case "blockquote_close":
                    self._quotes -= 1
                case "bullet_list_open":
                    self._lists.append(None)
                case "ordered_list_open":
                    self._lists.append(int(token.attrs.get("start", 1)))
                case "bullet_list_close" | "ordered_list_close":
                    self._lists.pop()
                case "list_item_open":
                    self._begin_item(token)
                case "fence" | "code_block":
                    yield from _code_block(token.info.split(" ")[0], token.content.rstrip("\n").split("\n"))
                case "hr":
                    yield "end of section"
                case "table_open":
                    end = next(at for at in range(place, len(self._tokens)) if self._tokens[at].type == "table_close")
                    yield from _table(self._tokens[place:end])
                    place = end
                case "inline":
                    yield from self._inline(token)
                case _:
                    pass
            place += 1

    def _begin_item(self, token: "Token") -> None:
        number = self._lists[-1]
        depth = f", level {len(self._lists)}" if len(self._lists) > 1 else ""
        if number is None:
            self._lead = f"item{depth}: "
        else:
            written = token.info or str(number)
            self._lead = f"{written}{depth or '.'}{':' if depth else ''} "
            self._lists[-1] = number + 1

    def _inline(self, token: "Token") -> Iterator[str]:
        lead, self._lead = self._lead, ""
        if self._quotes:
            lead = f"quote: {lead}"
        for number, line in enumerate(_words(token.children or ()).split("\n")):
            if line.strip():
                yield (lead if number == 0 else "") + undrawn(line).strip()


def _words(children: "Sequence[Token]") -> str:
    """Text without its marks, the target behind a link; a hard break is a newline."""
    said = ""
    target, since = "", 0
    for token in children:
        match token.type:
            case "softbreak":
                said += " "
            case "hardbreak":
                said += "\n"
            case "link_open":
                target, since = str(token.attrs.get("href", "")), len(said)
            case "link_close":
                if said[since:].strip() not in (target, target.removeprefix("mailto:")):
                    said += f" (link: {target})"
            case "image":
                said += f"picture: {token.content} (link: {token.attrs.get('src', '')})"
            case "s_open":
                said += "(struck out: "
            case "s_close":
                said += ")"
            case _:
                said += token.content
    return said


def _table(tokens: "Sequence[Token]") -> Iterator[str]:
    rows: list[list[str]] = []
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            rows[-1].append(" ".join(undrawn(_words(token.children or ())).split()))
    head, *body = rows or [[]]
    yield f"table, {plural(len(head), 'column')}, {plural(len(body), 'row')}"
    for number, row in enumerate(body, 1):
        cells = (f"{title}: {cell}" if title else cell for title, cell in zip(head, row, strict=False) if cell)
        yield f"row {number}: {'; '.join(cells)}"
    yield "end of table"


def _code_block(language: str, lines: Sequence[str]) -> Iterator[str]:
    yield _announced(language, plural(len(lines), "line"))
    yield from (Exact(undrawn(line.expandtabs(4)).rstrip()) for line in lines)
    yield "end of code"


def _announced(language: str, length: str) -> str:
    return ", ".join(part for part in ("code", undrawn(language).strip(), length) if part)


def _is_closed(sentence: str) -> bool:
    """Whether no mark that was opened in the sentence ends behind it, and it is not the heading of a table."""
    pairs = (("(", ")"), ("[", "]"))
    marks = ("`", "**", "__", "~~", "*")
    return (
        "|" not in sentence
        and all(sentence.count(mark) % 2 == 0 for mark in marks)
        and all(sentence.count(begin) <= sentence.count(end) for begin, end in pairs)
    )
