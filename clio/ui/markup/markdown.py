"""Markdown for the screen: the parts of a streamed answer, and whole texts such as the result of a slash command."""

import re
import sys
from collections.abc import Generator
from contextlib import contextmanager
from copy import copy
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from rich.text import Text

from clio.text.lazy_regex import LazyRegex
from clio.ui.markup.blocks import BlockSplitter, Piece
from clio.ui.markup.code_block import CodeHighlighter
from clio.ui.markup.links import linked
from clio.ui.painter import Part
from clio.ui.theme import Theme

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token
    from rich.markdown import Markdown

CODE_INDENT = "  "


def preload() -> None:
    """Import what rendering needs (about 100 ms); for a worker thread, while the model has not answered yet."""
    _parser()
    _template()


class StreamingMarkdown:
    """An answer that comes in deltas: `feed` gives what is finished, to be printed once; `tail` what is still open.

    Whatever the deltas, the same text gives the same parts in the same order. Control characters must be gone already.
    """

    def __init__(self, theme: Theme) -> None:
        self._splitter = BlockSplitter()
        self._theme = theme
        self._code = CodeHighlighter("", colour=False)
        self._started = False

    def feed(self, text: str) -> list[Part]:
        """What this text has finished."""
        return [self._render(piece) for piece in self._splitter.feed(text)]

    def finish(self) -> list[Part]:
        """The rest, at the end of the answer; the object can then take another one."""
        rest = [self._render(piece) for piece in self._splitter.finish()]
        self._started = False
        return rest

    def tail(self) -> Part | None:
        """What has come and is not finished, as it would look if the answer ended here. Costs at most one block."""
        piece = self._splitter.tail
        if piece is None:
            return None
        if piece.kind == "prose":
            return self._part(piece, prose(piece.text, links=self._theme.links))
        code = self._code if piece.joined else self._new_code(piece)
        return self._part(piece, _code_line(code.preview(piece.text)))

    def _render(self, piece: Piece) -> Part:
        if piece.kind == "prose":
            part = self._part(piece, prose(piece.text, links=self._theme.links))
        else:
            if not piece.joined:
                self._code = self._new_code(piece)
            part = self._part(piece, _code_line(self._code.line(piece.text)))
        self._started = True
        return part

    def _new_code(self, piece: Piece) -> CodeHighlighter:
        return CodeHighlighter(piece.language, colour=self._theme.colour)

    def _part(self, piece: Piece, body: RenderableType) -> Part:
        return Part(body=body, wraps=piece.kind == "prose", gap=self._started and not piece.joined)


def whole(text: str, theme: Theme) -> list[Part]:
    """A whole Markdown text; the same look as a streamed one."""
    stream = StreamingMarkdown(theme)
    return [*stream.feed(text), *stream.finish()]


def prose(text: str, *, links: bool = False) -> "Markdown":
    """Markdown with tags shown as they are, link targets in sight, and no boxes around headings or code.

    links: targets can be clicked.
    """
    markdown = copy(_template())
    tokens = markdown_tokens(text)
    markdown.hyperlinks = links
    markdown.parsed = linked(tokens) if links else tokens
    return markdown


def markdown_tokens(text: str) -> "list[Token]":
    """What the parser makes of a text; tags are text to it."""
    return _parser().parse(_LONE_NUMBER.sub(r"\1\\\2", text))


def _code_line(text: Text) -> Text:
    return Text(CODE_INDENT).append_text(text)


@cache
def _template() -> "Markdown":
    """An empty one to copy: the constructor would build a parser of its own each time."""
    return _markdown_class()("", hyperlinks=False)


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    # Without "html", or an unfenced <div> in an answer would vanish from the screen.
    parser = MarkdownIt("commonmark", {"html": False}).enable("strikethrough").enable("table")
    usual = parser.validateLink
    parser.validateLink = lambda url: url.lower().startswith("file:///") or usual(url)
    return parser


@contextmanager
def _no_highlighter() -> Generator[None]:
    """Keep rich from importing Pygments, 1.2 MiB and 8 ms, for code `PlainCode` draws: it comes with the first code."""
    if "rich.syntax" in sys.modules:
        yield
        return
    stand_in = ModuleType("rich.syntax")
    stand_in.__dict__["Syntax"] = None
    sys.modules["rich.syntax"] = stand_in
    try:
        yield
    finally:
        del sys.modules["rich.syntax"]


@cache
def _markdown_class() -> "type[Markdown]":
    """rich's Markdown with headings at the left margin, code without a background, and tables that fit."""
    with _no_highlighter():
        from rich.markdown import CodeBlock, Heading, ListItem, Markdown, TableElement
    from rich.table import Table

    class PlainHeading(Heading):
        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            self.text.justify = "left"
            yield self.text

    class PlainCode(CodeBlock):
        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            code = CodeHighlighter(self.lexer_name, colour=not console.no_color)
            for line in str(self.text).rstrip("\n").split("\n"):
                yield _code_line(code.line(line))

    class DottedItem(ListItem):
        def render_number(
            self, console: Console, options: ConsoleOptions, number: int, last_number: int
        ) -> RenderResult:
            mark = f" {number}. ".rjust(len(str(last_number)) + 3)
            lines = console.render_lines(self.elements, options.update(width=max(options.max_width - len(mark), 1)))
            for index, line in enumerate(lines):
                yield Segment(" " * len(mark) if index else mark, console.get_style("markdown.item.number"))
                yield from line
                yield Segment.line()

    class FittingTable(TableElement):
        """A table; where the columns would be too narrow to read, each row becomes a few "heading: value" lines."""

        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            head = self.header.row.cells if self.header is not None and self.header.row is not None else []
            if len(head) * _NARROWEST_COLUMN <= options.max_width:
                for table in super().__rich_console__(console, options):
                    if isinstance(table, Table):
                        for column in table.columns:
                            column.overflow = "fold"  # a long word is broken: an ellipsis would hide what it says
                    yield table
                return
            rows = self.body.rows if self.body is not None else []
            for number, row in enumerate(rows):
                if number:
                    yield Text("")
                for title, cell in zip(head, row.cells, strict=False):
                    yield Text.assemble((f"{title.content.plain}: ", "strong"), cell.content)

    class ScreenMarkdown(Markdown):
        elements = {  # noqa: RUF012  # declared a ClassVar by the base class
            **Markdown.elements,
            "heading_open": PlainHeading,
            "fence": PlainCode,
            "code_block": PlainCode,
            "list_item_open": DottedItem,
            "table_open": FittingTable,
        }

    return ScreenMarkdown


_NARROWEST_COLUMN = 8
# "8443." as a whole line is an answer, not the empty item of a list it is in CommonMark.
_LONE_NUMBER = LazyRegex(r"^( {0,3}\d{1,9})([.)])[ \t]*$", re.M)
