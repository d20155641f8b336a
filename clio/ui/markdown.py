"""Markdown for the screen, streamed: finished blocks never change; code is coloured line by line."""

import re
import sys
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, cast

from msgspec import Struct
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from rich.text import Text

from clio.ui.painter import Part
from clio.ui.theme import Theme, may_open

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token
    from pygments.lexer import Lexer
    from pygments.token import _TokenType as TokenType  # pyright: ignore[reportPrivateUsage]
    from rich.markdown import Markdown


MAX_BLOCK = 4000  # characters an open block may have before its beginning is called finished

_FENCE = re.compile(r"^( *)(`{3,}|~{3,})[ \t]*([^`\n]*?)[ \t]*$")
_HEADING = re.compile(r"^ {0,3}#{1,6}(?:[ \t]|$)")
_RULE = re.compile(r"^ {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$")
_ITEM = re.compile(r"^( {0,3})([-*+]|\d{1,9}[.)])([ \t]+)(?=\S)")
_TABLE_RULE = re.compile(r"^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")

Open = Literal["nothing", "paragraph", "table", "quote", "list", "code"]


class Piece(Struct, frozen=True, kw_only=True):
    """A part of the answer that is shown as one.

    kind: "prose" is Markdown; "code" is one line inside a fence, without its newline.
    joined: it continues the piece before it, with no blank line between.
    """

    kind: Literal["prose", "code"]
    text: str
    language: str = ""
    joined: bool = False


class _Fence(Struct, frozen=True):
    indent: int
    mark: str
    language: str

    def closes(self, line: str) -> bool:
        text = line.strip()
        return len(text) >= len(self.mark) and text == self.mark[0] * len(text)


class BlockSplitter:
    """Takes the answer's deltas, gives its finished pieces; `tail` is what is still open."""

    def __init__(self) -> None:
        self._partial = ""
        self._open: Open = "nothing"
        self._lines: list[str] = []
        self._chars = 0
        self._joined = False
        self._fence: _Fence | None = None
        self._item_indent = 0
        self._item_mark = ""
        self._gap = False
        self._out: list[Piece] = []

    def feed(self, text: str) -> list[Piece]:
        """The pieces that this text has finished."""
        rest = self._partial + text
        start = 0
        while (end := rest.find("\n", start)) >= 0 or len(rest) - start > MAX_BLOCK:
            if end < 0 or end - start > MAX_BLOCK:
                space = rest.rfind(" ", start + MAX_BLOCK // 2, start + MAX_BLOCK)
                end = space + 1 if space > 0 else start + MAX_BLOCK
                self._line(rest[start:end])
                self._overflow()
                start = end
            else:
                self._line(rest[start:end])
                start = end + 1
        self._partial = rest[start:]
        return self._take()

    def finish(self) -> list[Piece]:
        """The last pieces, at the end of the answer; the splitter is then as new."""
        if self._partial:
            self._line(self._partial)
        self._flush()
        pieces = self._take()
        self.__init__()
        return pieces

    @property
    def in_code(self) -> bool:
        """Whether a fence is open."""
        return self._open == "code"

    @property
    def tail(self) -> Piece | None:
        """What has come and is not finished, as it would look if the answer ended here."""
        if self._open == "code" and self._fence is not None:
            if not self._partial or self._fence.closes(self._partial + self._fence.mark[0] * 2):
                return None
            text = _dedent(self._partial, self._fence.indent)
            return Piece(kind="code", text=text, language=self._fence.language, joined=self._joined)
        lines = [*self._lines, self._partial] if self._partial.strip() else self._lines
        if not any(line.strip() for line in lines):
            return None
        return Piece(kind="prose", text="\n".join(lines), joined=self._joined)

    def _take(self) -> list[Piece]:
        pieces, self._out = self._out, []
        return pieces

    def _line(self, line: str) -> None:
        match self._open:
            case "code":
                self._code_line(line)
            case "list":
                if not self._list_line(line):
                    self._flush()
                    self._begin(line)
            case "nothing":
                self._begin(line)
            case "paragraph" | "table" | "quote":
                self._flow_line(line)
        if self._chars > MAX_BLOCK:
            self._overflow()

    def _begin(self, line: str) -> None:
        """The first line of a block."""
        if not line.strip():
            return
        if (fence := _fence(line)) is not None and fence.indent < 4:
            self._open, self._fence, self._joined = "code", fence, False
        elif _HEADING.match(line) or _RULE.match(line):
            self._add(line)
            self._flush()
        elif (item := _ITEM.match(line)) is not None:
            self._begin_item(line, item)
        else:
            self._open = "quote" if line.lstrip().startswith(">") else "paragraph"
            self._add(line)

    def _begin_item(self, line: str, item: re.Match[str]) -> None:
        self._open, self._gap, self._fence = "list", False, None
        self._item_mark = item[2][-1]
        self._item_indent = min(len(item[0]), len(item[1]) + len(item[2]) + 4)
        self._add(line)
        self._inner_fence(line[self._item_indent :])

    def _flow_line(self, line: str) -> None:
        """The next line of a paragraph, a table or a quotation."""
        if not line.strip():
            self._flush()
        elif self._interrupts(line):
            self._flush()
            self._begin(line)
        else:
            if len(self._lines) == 1 and "|" in self._lines[0] and _TABLE_RULE.match(line):
                self._open = "table"
            self._add(line)

    def _interrupts(self, line: str) -> bool:
        """Whether a line ends the paragraph before it without a blank line between."""
        if ((fence := _fence(line)) is not None and fence.indent < 4) or _HEADING.match(line):
            return True
        if self._open != "paragraph":
            return False
        item = _ITEM.match(line)
        is_item = item is not None and item[2] in ("-", "*", "+", "1.", "1)") and not _RULE.match(line)
        return is_item or line.startswith(">")

    def _list_line(self, line: str) -> bool:
        """Take a line into the list; False if the list ends before it."""
        if self._fence is not None:
            if self._fence.closes(line):
                self._fence = None
            self._add(line)
            return True
        if not line.strip():
            self._gap = True
            self._add("")
            return True
        indent = len(line) - len(line.lstrip())
        if indent >= min(self._item_indent, 2):
            self._inner_fence(line)
        elif (item := _ITEM.match(line)) is not None and not _RULE.match(line):
            same_list = item[2][-1] == self._item_mark
            self._flush()
            self._joined = same_list
            self._begin_item(line, item)
            return True
        elif self._gap or _fence(line) is not None or _HEADING.match(line) or _RULE.match(line):
            return False
        self._gap = False
        self._add(line)
        return True

    def _inner_fence(self, line: str) -> None:
        self._fence = _fence(line)

    def _code_line(self, line: str) -> None:
        fence = self._fence
        if fence is None or fence.closes(line):
            self._open, self._fence, self._joined = "nothing", None, False
            return
        text = _dedent(line, fence.indent)
        self._out.append(Piece(kind="code", text=text, language=fence.language, joined=self._joined))
        self._joined = True

    def _add(self, line: str) -> None:
        self._lines.append(line)
        self._chars += len(line) + 1

    def _flush(self) -> None:
        """End the open block and hand out what it holds."""
        self._hand_out()
        self._open, self._fence, self._joined, self._gap = "nothing", None, False, False

    def _hand_out(self) -> None:
        text = "\n".join(self._lines).strip("\n")
        if text.strip():
            self._out.append(Piece(kind="prose", text=text, joined=self._joined))
        self._lines, self._chars = [], 0

    def _overflow(self) -> None:
        """Hand out the beginning of a block that has become too long, and go on with the rest of it."""
        if self._open in ("nothing", "code"):
            return
        again: list[str] = []
        if self._open == "table":
            again = self._lines[:2]  # the heading, so that the rest is a table too
        elif self._open == "list" and self._fence is not None:
            again = [f"{self._fence.mark}{self._fence.language}"]
        self._hand_out()
        self._joined = True
        self._lines, self._chars = again, 0


def _fence(line: str) -> _Fence | None:
    found = _FENCE.match(line)
    return _Fence(len(found[1]), found[2], found[3].split(" ")[0]) if found else None


def _dedent(line: str, indent: int) -> str:
    """The line without as many leading spaces as its fence had."""
    return line[min(indent, len(line) - len(line.lstrip(" "))) :]


def linked(tokens: "list[Token]") -> "list[Token]":
    """The tokens with every link as "text (target)", both to be clicked; one that may not be opened is plain text."""
    for token in tokens:
        if token.children:
            token.children = list(_linked_inline(token.children))
    return tokens


def _linked_inline(children: "list[Token]") -> "Iterator[Token]":
    opened: Token | None = None
    said = ""
    for token in children:
        if token.type == "link_open":
            opened, said = token, ""
            if may_open(_target(token)):
                yield token
        elif token.type == "link_close" and opened is not None:
            yield from _end(opened, token, said)
            opened = None
        else:
            said += token.content
            yield token


def _end(opened: "Token", closed: "Token", said: str) -> "Iterator[Token]":
    target = _target(opened)
    can_open = may_open(target)
    if can_open:
        yield closed
    if said == target:
        return
    yield _text(closed, " (")
    yield from (opened, _text(closed, target), closed) if can_open else (_text(closed, target),)
    yield _text(closed, ")")


def _target(opened: "Token") -> str:
    return str(opened.attrs.get("href", ""))


def _text(like: "Token", content: str) -> "Token":
    return like.copy(type="text", tag="", nesting=0, content=content, attrs={})


TAB_SIZE = 4
_LANGUAGE = re.compile(r"[\w+#.-]{1,30}")
# A sub-lexer, such as the one for code inside a heredoc, can cost much on one long line.
_MAX_LINE = 2000
# Their lexers match a whole /* comment */ with one rule, which a single line does not hold.
_C_COMMENTS = frozenset(
    "c cpp java javascript typescript jsx tsx go php css scss less kotlin swift csharp scala dart objective-c".split()
)
_COMMENT = "code_comment"
_LOOKS = {
    "Comment": _COMMENT,
    "Comment.Preproc": "code_type",
    "Keyword": "code_keyword",
    "Keyword.Type": "code_type",
    "Operator.Word": "code_keyword",
    "Name.Builtin": "code_type",
    "Name.Function": "code_function",
    "Name.Namespace": "code_type",
    "Name.Class": "code_function",
    "Name.Exception": "code_type",
    "Name.Decorator": "code_keyword",
    "Name.Variable": "code_name",
    "Name.Constant": "code_name",
    "Name.Attribute": "code_name",
    "Name.Tag": "code_keyword",
    "Literal.String": "code_string",
    "Literal.Number": "code_number",
    "Generic.Deleted": "removed",
    "Generic.Inserted": "added",
    "Generic.Heading": "strong",
    "Generic.Subheading": "strong",
    "Generic.Prompt": "strong",
    "Generic.Error": "code_error",
    "Error": "code_error",
}
"""Kinds of tokens → the names of their looks; a kind that is not here looks like the nearest one above it."""


class CodeHighlighter:
    """The colours of one fence. `colour` False gives the bare text and imports no lexer.

    The lexer's stack of states is kept from line to line, so a string or comment over many lines stays one.
    """

    def __init__(self, language: str, *, colour: bool = True) -> None:
        self._lexer = _find_lexer(language) if colour else None
        self._has_c_comments = self._lexer is not None and not _C_COMMENTS.isdisjoint(self._lexer.aliases)
        self._stack = ["root"]
        self._in_comment = False

    def line(self, text: str) -> Text:
        """The next line, highlighted."""
        return self._highlight(text.expandtabs(TAB_SIZE))

    def preview(self, text: str) -> Text:
        """How a line would look that is not finished yet; nothing is remembered."""
        stack, in_comment = list(self._stack), self._in_comment
        result = self.line(text)
        self._stack, self._in_comment = stack, in_comment
        return result

    def _highlight(self, text: str) -> Text:
        if self._lexer is None or len(text) > _MAX_LINE:
            return Text(text)
        if self._in_comment:
            end = text.find("*/") + 2
            if end < 2:
                return Text().append(text, _COMMENT)
            self._in_comment = False
            return Text().append(text[:end], _COMMENT).append_text(self._highlight(text[end:]))
        stack = list(self._stack)
        tokens = list(_tokens(self._lexer, text + "\n", self._stack))
        start = _open_comment(text, tokens) if self._has_c_comments else -1
        if start < 0 or "comment" in self._stack[-1]:
            return _assemble(tokens)
        self._stack = stack  # the comment's beginning has led the rules astray
        before = _assemble(_tokens(self._lexer, text[:start] + "\n", self._stack))
        self._in_comment = True
        return before.append(text[start:], _COMMENT)


def _assemble(tokens: "Iterable[tuple[TokenType, str]]") -> Text:
    result = Text()
    for kind, value in tokens:
        result.append(value, None if value.isspace() else _look(kind))
    result.right_crop(1)  # the newline the lexer was given
    return result


def _open_comment(text: str, tokens: "Iterable[tuple[TokenType, str]]") -> int:
    """Where a /* comment begins that does not end in this line; -1 if none does."""
    from pygments.token import Comment, String

    start = text.rfind("/*")
    if start < 0 or text.find("*/", start + 2) >= 0:
        return -1
    at = 0
    for kind, value in tokens:
        if at <= start < at + len(value):
            inside_another = kind in String or (kind in Comment and at < start)
            return -1 if inside_another else start
        at += len(value)
    return -1


def _find_lexer(language: str) -> "Lexer | None":
    if not _LANGUAGE.fullmatch(language):
        return None
    from pygments.lexers import get_lexer_by_name  # pyright: ignore[reportUnknownVariableType]
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language.lower(), ensurenl=False, stripnl=False)
    except ClassNotFound:
        return None


@cache
def _look(kind: "TokenType") -> str:
    """The name of a token's look, "" where it has none."""
    name = ".".join(kind)
    while name and name not in _LOOKS:
        name = name.rpartition(".")[0]
    return _LOOKS.get(name, "")


def _tokens(lexer: "Lexer", text: str, stack: list[str]) -> "Iterator[tuple[TokenType, str]]":
    """The tokens of one line; `stack` is changed where the lexer is a plain table of rules, else lines stand alone."""
    from pygments.lexer import ExtendedRegexLexer, RegexLexer

    if not isinstance(lexer, RegexLexer) or isinstance(lexer, ExtendedRegexLexer):
        yield from lexer.get_tokens(text)
        return
    rules: dict[str, Any] = getattr(lexer, "_tokens")  # noqa: B009  # pygments offers no other way to keep the state
    yield from _run_rules(lexer, rules, text, stack)


def _run_rules(lexer: "Lexer", rules: dict[str, Any], text: str, stack: list[str]) -> "Iterator[tuple[TokenType, str]]":
    """Apply the first rule that matches, again and again; a newline nobody wants resets the state."""
    from pygments.token import Text as PlainToken
    from pygments.token import _TokenType  # pyright: ignore[reportPrivateUsage]

    at = 0
    while at < len(text):
        for match, action, transition in rules[stack[-1]]:
            found = match(text, at)
            if found is None:
                continue
            if isinstance(action, _TokenType):
                yield action, found.group()
            elif action is not None:
                for _, kind, value in action(lexer, found):
                    yield kind, value
            moved = found.end() > at or transition is not None
            at = found.end()
            _move(stack, transition)
            if moved:
                break
        else:
            if text[at] == "\n":
                stack[:] = ["root"]
            yield PlainToken, text[at]
            at += 1


def _move(stack: list[str], transition: object) -> None:
    """Enter or leave states as a rule says: a name, a number of states to leave (negative), or several of these."""
    steps = cast("tuple[object, ...]", transition) if isinstance(transition, tuple) else (transition,)
    for step in steps:
        if step == "#push":
            stack.append(stack[-1])
        elif step == "#pop":
            del stack[max(1, len(stack) - 1) :]
        elif isinstance(step, int):
            del stack[max(1, len(stack) + step) :]
        elif isinstance(step, str):
            stack.append(step)


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
_LONE_NUMBER = re.compile(r"^( {0,3}\d{1,9})([.)])[ \t]*$", re.M)
