"""Renders Markdown while it streams in: finished blocks never change, and code is highlighted line by line."""

import re
import sys
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from functools import cache, lru_cache
from itertools import zip_longest
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, cast
from urllib.parse import unquote

from msgspec import Struct
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from rich.text import Text

from clio.ui.hanging_text import HangingText
from clio.ui.links import FileLinks, is_program, is_safe_link
from clio.ui.painter import Part, truncate_to_cells
from clio.ui.safe_text import clean, clean_line
from clio.ui.theme import Theme

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token
    from pygments.lexer import Lexer
    from pygments.token import _TokenType as TokenType  # pyright: ignore[reportPrivateUsage]
    from rich.markdown import Markdown


MAX_BLOCK_CHARS = 4000  # characters of an open block after which its beginning is treated as finished

# The beginnings of CommonMark blocks, in the order: fence, heading, thematic break, list item, second line of a table.
_FENCE = re.compile(r"^( *)(`{3,}|~{3,})[ \t]*([^`\n]*?)[ \t]*$")
_HEADING = re.compile(r"^ {0,3}#{1,6}(?:[ \t]|$)")
_RULE = re.compile(r"^ {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$")
_ITEM = re.compile(r"^( {0,3})([-*+]|\d{1,9}[.)])([ \t]+)(?=\S)")
_TABLE_RULE = re.compile(r"^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")

_DUNDER_NAME = re.compile(r"__[a-z][a-z0-9_]*?__(?!_)")

OpenBlock = Literal["nothing", "paragraph", "table", "quote", "list", "code"]


class MarkdownPiece(Struct, frozen=True, kw_only=True):
    """A part of the answer that is rendered as a unit.

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
    """Splits an answer that arrives in deltas into finished pieces; `tail` is the unfinished rest."""

    def __init__(self) -> None:
        self._partial = ""
        self._open: OpenBlock = "nothing"
        self._lines: list[str] = []
        self._chars = 0
        self._joined = False
        self._fence: _Fence | None = None
        self._item_indent = 0
        self._item_mark = ""
        self._has_blank_line = False
        self._finished: list[MarkdownPiece] = []

    def feed(self, text: str) -> list[MarkdownPiece]:
        """Return the pieces completed by this text."""
        rest = self._partial + text
        start = 0
        while (end := rest.find("\n", start)) >= 0 or len(rest) - start > MAX_BLOCK_CHARS:
            if end < 0 or end - start > MAX_BLOCK_CHARS:
                space = rest.rfind(" ", start + MAX_BLOCK_CHARS // 2, start + MAX_BLOCK_CHARS)
                end = space + 1 if space > 0 else start + MAX_BLOCK_CHARS
                self._add_line(rest[start:end])
                self._split_long_block()
                start = end
            else:
                self._add_line(rest[start:end])
                start = end + 1
        self._partial = rest[start:]
        return self._pop_finished()

    def finish(self) -> list[MarkdownPiece]:
        """Return the last pieces, at the end of the answer, and reset the splitter."""
        if self._partial:
            self._add_line(self._partial)
        self._flush()
        pieces = self._pop_finished()
        self.__init__()
        return pieces

    @property
    def in_code(self) -> bool:
        """Whether a fenced code block is open."""
        return self._open == "code"

    @property
    def in_paragraph(self) -> bool:
        """Whether the unfinished text is no other block than a paragraph; its last line may still begin another one."""
        return self._open in ("nothing", "paragraph")

    @property
    def tail(self) -> MarkdownPiece | None:
        """Return the unfinished text as it would look if the answer ended here; None if there is none."""
        if self._open == "code" and self._fence is not None:
            if not self._partial or self._fence.closes(self._partial + self._fence.mark[0] * 2):
                return None
            text = _dedent(self._partial, self._fence.indent)
            return MarkdownPiece(kind="code", text=text, language=self._fence.language, joined=self._joined)
        lines = [*self._lines, self._partial] if self._partial.strip() else self._lines
        if not any(line.strip() for line in lines):
            return None
        return MarkdownPiece(kind="prose", text="\n".join(lines), joined=self._joined)

    def _pop_finished(self) -> list[MarkdownPiece]:
        pieces, self._finished = self._finished, []
        return pieces

    def _add_line(self, line: str) -> None:
        match self._open:
            case "code":
                self._add_code_line(line)
            case "list":
                if not self._add_list_line(line):
                    self._flush()
                    self._begin_block(line)
            case "nothing":
                self._begin_block(line)
            case "paragraph" | "table" | "quote":
                self._add_text_line(line)
        if self._chars > MAX_BLOCK_CHARS:
            self._split_long_block()

    def _begin_block(self, line: str) -> None:
        """Handle the first line of a block."""
        if not line.strip():
            return
        if (fence := _parse_fence(line)) is not None and fence.indent < 4:
            self._open, self._fence, self._joined = "code", fence, False
        elif _HEADING.match(line) or _RULE.match(line):
            self._append(line)
            self._flush()
        elif (item := _ITEM.match(line)) is not None:
            self._begin_item(line, item)
        else:
            self._open = "quote" if line.lstrip().startswith(">") else "paragraph"
            self._append(line)

    def _begin_item(self, line: str, item: re.Match[str]) -> None:
        self._open, self._has_blank_line, self._fence = "list", False, None
        self._item_mark = item[2][-1]
        self._item_indent = min(len(item[0]), len(item[1]) + len(item[2]) + 4)
        self._append(line)
        self._update_inner_fence(line[self._item_indent :])

    def _add_text_line(self, line: str) -> None:
        """Handle the next line of a paragraph, a table or a quotation."""
        if not line.strip():
            self._flush()
        elif self._ends_paragraph(line):
            self._flush()
            self._begin_block(line)
        else:
            if len(self._lines) == 1 and "|" in self._lines[0] and _TABLE_RULE.match(line):
                self._open = "table"
            self._append(line)

    def _ends_paragraph(self, line: str) -> bool:
        """Whether a line ends the paragraph before it without a blank line between."""
        if ((fence := _parse_fence(line)) is not None and fence.indent < 4) or _HEADING.match(line):
            return True
        if self._open != "paragraph":
            return False
        item = _ITEM.match(line)
        is_item = item is not None and item[2] in ("-", "*", "+", "1.", "1)") and not _RULE.match(line)
        return is_item or line.startswith(">")

    def _add_list_line(self, line: str) -> bool:
        """Add a line to the list; False if the list ends before it."""
        if self._fence is not None:
            if self._fence.closes(line):
                self._fence = None
            self._append(line)
            return True
        if not line.strip():
            self._has_blank_line = True
            self._append("")
            return True
        indent = len(line) - len(line.lstrip())
        if indent >= min(self._item_indent, 2):
            self._update_inner_fence(line)
        elif (item := _ITEM.match(line)) is not None and not _RULE.match(line):
            same_list = item[2][-1] == self._item_mark
            self._flush()
            self._joined = same_list
            self._begin_item(line, item)
            return True
        elif self._has_blank_line or _parse_fence(line) is not None or _HEADING.match(line) or _RULE.match(line):
            return False
        self._has_blank_line = False
        self._append(line)
        return True

    def _update_inner_fence(self, line: str) -> None:
        self._fence = _parse_fence(line)

    def _add_code_line(self, line: str) -> None:
        fence = self._fence
        if fence is None or fence.closes(line):
            self._open, self._fence, self._joined = "nothing", None, False
            return
        text = _dedent(line, fence.indent)
        self._finished.append(MarkdownPiece(kind="code", text=text, language=fence.language, joined=self._joined))
        self._joined = True

    def _append(self, line: str) -> None:
        self._lines.append(line)
        self._chars += len(line) + 1

    def _flush(self) -> None:
        """End the open block and emit its content."""
        self._emit_lines()
        self._open, self._fence, self._joined, self._has_blank_line = "nothing", None, False, False

    def _emit_lines(self) -> None:
        text = "\n".join(self._lines).strip("\n")
        if text.strip():
            self._finished.append(MarkdownPiece(kind="prose", text=text, joined=self._joined))
        self._lines, self._chars = [], 0

    def _split_long_block(self) -> None:
        """Emit the beginning of a block that is too long, and continue with the rest of it."""
        if self._open in ("nothing", "code"):
            return
        repeated: list[str] = []
        if self._open == "table":
            repeated = self._lines[:2]  # repeat the table's heading, so that the rest is a table too
        elif self._open == "list" and self._fence is not None:
            repeated = [f"{self._fence.mark}{self._fence.language}"]
        self._emit_lines()
        self._joined = True
        self._lines, self._chars = repeated, 0


def _parse_fence(line: str) -> _Fence | None:
    found = _FENCE.match(line)
    return _Fence(len(found[1]), found[2], found[3].split(" ")[0]) if found else None


def _dedent(line: str, indent: int) -> str:
    """Remove as many leading spaces as the line's fence had."""
    return line[min(indent, len(line) - len(line.lstrip(" "))) :]


def expand_links(tokens: "list[Token]", files: FileLinks | None = None) -> "list[Token]":
    """Replace every link and image by "text (target)", both clickable; one that may not be opened becomes plain text.

    files: finds the project's files, whose names become links too.
    """
    for token in tokens:
        if token.children:
            token.children = list(_expand_inline_links(token.children, files))
    return tokens


def _expand_inline_links(children: "list[Token]", files: FileLinks | None) -> "Iterator[Token]":
    opened: Token | None = None
    link_text = ""
    for token in children:
        if token.type == "link_open":
            opened, link_text = token, ""
            if address := _find_address(_get_target(token), files):
                yield _make_link_token(token, address)
        elif token.type == "link_close" and opened is not None:
            yield from _end_link(token, _get_target(opened), link_text, files)
            opened = None
        elif token.type == "image":
            yield _make_text_token(token, f"{token.content} (")
            yield from _link_text(_make_text_token(token, target := str(token.attrs.get("src", ""))), target, files)
            yield _make_text_token(token, ")")
        else:
            link_text += token.content
            if opened is None and files is not None and token.type in ("text", "code_inline"):
                yield from _link_file_names(token, files)
            else:
                yield token


def _end_link(closed: "Token", target: str, link_text: str, files: FileLinks | None) -> "Iterator[Token]":
    if _find_address(target, files):
        yield closed
    if link_text in (target, target.removeprefix("mailto:")):
        return
    yield _make_text_token(closed, " (")
    yield from _link_text(_make_text_token(closed, target), target, files)
    yield _make_text_token(closed, ")")


def _link_text(text: "Token", target: str, files: FileLinks | None) -> "Iterator[Token]":
    if address := _find_address(target, files):
        yield from (_make_link_token(text, address), text, _make_link_token(text, ""))
    else:
        yield text


def _link_file_names(token: "Token", files: FileLinks) -> "Iterator[Token]":
    """Yield a piece of text with links around the names of files."""
    end = 0
    for first, last, address in files.find_names(token.content):
        if first > end:
            yield token.copy(content=token.content[end:first])
        yield _make_link_token(token, address)
        yield token.copy(content=token.content[first:last])
        yield _make_link_token(token, "")
        end = last
    if end == 0:
        yield token
    elif end < len(token.content):
        yield token.copy(content=token.content[end:])


def _find_address(target: str, files: FileLinks | None) -> str:
    """Return the address to open for a link's target; "" if it may not be opened."""
    if is_safe_link(target):
        return "" if is_program(target) else target
    return files.resolve(unquote(target)) if files is not None and ":" not in target else ""


def _get_target(opened: "Token") -> str:
    return str(opened.attrs.get("href", ""))


def _make_link_token(like: "Token", address: str) -> "Token":
    """Return the beginning of a link, or its end if the address is ""."""
    kind, nesting = ("link_open", 1) if address else ("link_close", -1)
    return like.copy(type=kind, tag="a", nesting=nesting, content="", attrs={"href": address} if address else {})


def _make_text_token(like: "Token", content: str) -> "Token":
    return like.copy(type="text", tag="", nesting=0, content=content, attrs={}, children=None)


TAB_SIZE = 4
_LANGUAGE = re.compile(r"[\w+#.-]{1,30}")
# A nested lexer, such as the one for code inside a heredoc, can be very slow on one long line.
_MAX_LINE_CHARS = 2000
# Their lexers match a whole /* comment */ with one rule, which fails if they are given a single line of it.
_C_COMMENTS = frozenset(
    "c cpp java javascript typescript jsx tsx go php css scss less kotlin swift csharp scala dart objective-c".split()
)
_COMMENT = "code_comment"
_TOKEN_STYLES = {
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
"""Maps token types to theme styles; a missing type has the style of its nearest parent."""


class CodeHighlighter:
    """Highlights the lines of one fence. With `colour` False it returns plain text and imports no lexer.

    The lexer's stack of states is kept between lines, so that strings and comments may span lines.
    """

    def __init__(self, language: str, *, colour: bool = True) -> None:
        self._lexer = _find_lexer(language) if colour else None
        self._has_c_comments = self._lexer is not None and not _C_COMMENTS.isdisjoint(self._lexer.aliases)
        self._stack = ["root"]
        self._in_comment = False

    def highlight_line(self, text: str) -> Text:
        """Return the next line, highlighted."""
        return self._highlight(text.expandtabs(TAB_SIZE))

    def preview_line(self, text: str) -> Text:
        """Highlight an unfinished line without changing the state."""
        stack, in_comment = list(self._stack), self._in_comment
        result = self.highlight_line(text)
        self._stack, self._in_comment = stack, in_comment
        return result

    def _highlight(self, text: str) -> Text:
        if self._lexer is None or len(text) > _MAX_LINE_CHARS:
            return Text(text)
        if self._in_comment:
            end = text.find("*/") + 2
            if end < 2:
                return Text().append(text, _COMMENT)
            self._in_comment = False
            return Text().append(text[:end], _COMMENT).append_text(self._highlight(text[end:]))
        stack = list(self._stack)
        tokens = list(_tokenize_line(self._lexer, text + "\n", self._stack))
        start = _find_open_comment(text, tokens) if self._has_c_comments else -1
        if start < 0 or "comment" in self._stack[-1]:
            return _style_tokens(tokens)
        self._stack = stack  # the unmatched beginning of the comment has put the lexer into a wrong state
        before = _style_tokens(_tokenize_line(self._lexer, text[:start] + "\n", self._stack))
        self._in_comment = True
        return before.append(text[start:], _COMMENT)


def _style_tokens(tokens: "Iterable[tuple[TokenType, str]]") -> Text:
    result = Text()
    for kind, value in tokens:
        result.append(value, None if value.isspace() else _find_token_style(kind))
    result.right_crop(1)  # the newline added for the lexer
    return result


def _find_open_comment(text: str, tokens: "Iterable[tuple[TokenType, str]]") -> int:
    """Return the position of a /* comment that does not end in this line; -1 if there is none."""
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


@lru_cache(maxsize=32)  # finding one takes 3 ms
def _find_lexer(language: str) -> "Lexer | None":
    if not _LANGUAGE.fullmatch(language):
        return None
    from pygments.lexers import get_lexer_by_name  # pyright: ignore[reportUnknownVariableType]
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language.lower(), ensurenl=False, stripnl=False)
    except ClassNotFound:
        return None


@lru_cache(maxsize=256)
def guess_language(file_name: str) -> str:
    """Return the language of a file by its name; "" if unknown."""
    from pygments.lexers import find_lexer_class_for_filename

    found = find_lexer_class_for_filename(file_name)
    return found.aliases[0] if found is not None and found.aliases else ""


@cache
def _find_token_style(kind: "TokenType") -> str:
    """Return the name of a token's style, "" if it has none."""
    name = ".".join(kind)
    while name and name not in _TOKEN_STYLES:
        name = name.rpartition(".")[0]
    return _TOKEN_STYLES.get(name, "")


def _tokenize_line(lexer: "Lexer", text: str, stack: list[str]) -> "Iterator[tuple[TokenType, str]]":
    """Yield the tokens of one line.

    `stack` is updated if the lexer is a table of rules; other lexers see single lines.
    """
    from pygments.lexer import ExtendedRegexLexer, RegexLexer

    if not isinstance(lexer, RegexLexer) or isinstance(lexer, ExtendedRegexLexer):
        yield from lexer.get_tokens(text)
        return
    rules: dict[str, Any] = getattr(lexer, "_tokens")  # noqa: B009  # pygments offers no other way to keep the state
    yield from _run_rules(lexer, rules, text, stack)


def _run_rules(lexer: "Lexer", rules: dict[str, Any], text: str, stack: list[str]) -> "Iterator[tuple[TokenType, str]]":
    """Apply the first matching rule repeatedly; a newline that no rule matches resets the state."""
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
            _change_lexer_state(stack, transition)
            if moved:
                break
        else:
            if text[at] == "\n":
                stack[:] = ["root"]
            yield PlainToken, text[at]
            at += 1


def _change_lexer_state(stack: list[str], transition: object) -> None:
    """Enter or leave states as a rule requires: a name, a negative number of states to leave, or several of these."""
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
ANSWER_SIGN = "◆"
"""Stands before the first row of an answer."""
_ANSWER_MARGIN = 2
_CONTINUED_CODE = 2  # columns that the further rows of a long line of code are indented more than its first
_MAX_LABEL_CHARS = 20
_UNNAMED_LANGUAGES = frozenset(("", "text", "txt", "plain", "plaintext"))


def preload_markdown() -> None:
    """Import what rendering needs (about 100 ms); for a worker thread, while the model has not answered yet."""
    _get_markdown_parser()
    _get_markdown_template()


class StreamingMarkdown:
    """Renders an answer from its deltas.

    `feed` returns finished parts, to be printed once; `get_tail` returns the unfinished end. However the text is split
    into deltas, the parts are the same. Control characters must have been removed before.

    Args:
        sign: stands before the first row; all other rows are indented, so that the answer is one block.
    """

    def __init__(self, theme: Theme, *, sign: str = "") -> None:
        self._splitter = BlockSplitter()
        self._theme = theme
        self._sign = sign
        self._code = CodeHighlighter("", colour=False)
        self._started = False

    def feed(self, text: str) -> list[Part]:
        """Return the parts completed by this text."""
        return [self._render(piece) for piece in self._splitter.feed(text)]

    def finish(self) -> list[Part]:
        """Return the rest at the end of the answer; the object can then render another one."""
        rest = [self._render(piece) for piece in self._splitter.finish()]
        self._started = False
        if self._theme.file_links is not None:
            self._theme.file_links.forget()
        return rest

    @property
    def is_in_paragraph(self) -> bool:
        """See `BlockSplitter.in_paragraph`."""
        return self._splitter.in_paragraph

    def get_tail(self) -> Part | None:
        """Render the unfinished text as if the answer ended here; costs at most one block."""
        piece = self._splitter.tail
        if piece is None:
            return None
        if piece.kind == "prose":
            return self._make_part(piece, self._parse_prose(piece))
        code = self._code if piece.joined else self._make_highlighter(piece)
        return self._make_part(piece, self._lay_out_code(piece, code.preview_line(piece.text)))

    def _render(self, piece: MarkdownPiece) -> Part:
        if piece.kind == "prose":
            part = self._make_part(piece, self._parse_prose(piece))
        else:
            if not piece.joined:
                self._code = self._make_highlighter(piece)
            part = self._make_part(piece, self._lay_out_code(piece, self._code.highlight_line(piece.text)))
        self._started = True
        return part

    def _parse_prose(self, piece: MarkdownPiece) -> "Markdown":
        return make_markdown(piece.text, links=self._theme.links, files=self._theme.file_links)

    def _lay_out_code(self, piece: MarkdownPiece, line: Text) -> Text:
        return lay_out_code_line(line, "" if piece.joined else piece.language, self._theme)

    def _make_highlighter(self, piece: MarkdownPiece) -> CodeHighlighter:
        return CodeHighlighter(piece.language, colour=self._theme.colour)

    def _make_part(self, piece: MarkdownPiece, body: RenderableType) -> Part:
        return Part(
            body=body,
            gap=self._started and not piece.joined,
            margin=_ANSWER_MARGIN if self._sign else 0,
            sign="" if self._started else self._sign,
        )


def lay_out_code_line(line: Text, language: str, theme: Theme) -> HangingText:
    """Return a line of a code block, on rows with a background; if a language is given, its name above."""
    indent = len(CODE_INDENT) + len(line.plain) - len(line.plain.lstrip(" "))
    rows = HangingText(style=theme.code_block, hang=indent + _CONTINUED_CODE)
    language = clean_line(language)
    if language.lower() not in _UNNAMED_LANGUAGES:
        rows.append(f"{CODE_INDENT}{truncate_to_cells(language, _MAX_LABEL_CHARS)}\n", theme.faint)
    rows.append(CODE_INDENT).append_text(line)
    return rows


def render_markdown(text: str, theme: Theme) -> list[Part]:
    """Render a whole Markdown text; the result looks like that of a streamed one."""
    stream = StreamingMarkdown(theme)
    return [*stream.feed(text), *stream.finish()]


def make_markdown(text: str, *, links: bool = False, files: FileLinks | None = None) -> "Markdown":
    """Return Markdown that shows tags literally and link targets as text, without boxes around headings or code.

    links: targets can be clicked. files: finds the project's files, whose names can then be clicked too.
    """
    markdown = copy(_get_markdown_template())
    tokens = _clean_entities(parse_markdown_tokens(text)) if "&" in text else parse_markdown_tokens(text)
    markdown.hyperlinks = links
    markdown.parsed = _mark_tasks(expand_links(tokens, files) if links else tokens)
    return markdown


def _clean_entities(tokens: "list[Token]") -> "list[Token]":
    """Remove the control and invisible characters that entities such as "&#x202e;" stood for."""
    for token in tokens:
        if token.children:
            _clean_entities(token.children)
        elif token.type == "text":
            token.content = clean(token.content)
    return tokens


def parse_markdown_tokens(text: str) -> "list[Token]":
    """Return the parser's tokens for a text; HTML tags are plain text to it."""
    return _get_markdown_parser().parse(_NUMBER_ALONE.sub(r"\1\\\2", text))


_TASK = re.compile(r"\[([ xX])\][ \t]+(?=\S)")


def _mark_tasks(tokens: "list[Token]") -> "list[Token]":
    """Move the "[ ]" or "[x]" of each task in a list from its text to the `meta` of its item."""
    for item, paragraph, inline in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if item.type != "list_item_open" or paragraph.type != "paragraph_open" or not inline.children:
            continue
        first = inline.children[0]
        if first.type == "text" and (task := _TASK.match(first.content)):
            item.meta["is_done"] = task[1] != " "
            first.content = first.content[task.end() :]
    return tokens


@cache
def _get_markdown_template() -> "Markdown":
    """Return an empty Markdown object to copy: its constructor would build a new parser each time."""
    return _make_markdown_class()("", hyperlinks=False)


@cache
def _get_markdown_parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    # With "html" enabled, an unfenced <div> in an answer would be missing from the screen.
    parser = MarkdownIt("commonmark", {"html": False}).enable("strikethrough").enable("table")
    default_validator = parser.validateLink
    parser.validateLink = lambda url: url.lower().startswith("file:///") or default_validator(url)
    parser.inline.ruler.before("emphasis", "dunder_name", _parse_dunder_name)
    return parser


def _parse_dunder_name(state: "StateInline", silent: bool) -> bool:
    """Parse `__init__` as text: CommonMark would print `src/__init__.py` as "src/init.py" with a bold word."""
    found = _DUNDER_NAME.match(state.src, state.pos)
    if found is None or (state.pos and state.src[state.pos - 1] == "_"):
        return False
    if not silent:
        state.pending += found[0]
    state.pos = found.end()
    return True


@contextmanager
def _without_rich_syntax() -> Generator[None]:
    """A context in which rich does not import Pygments (1.2 MiB, 8 ms). `PlainCode` imports it at the first fence."""
    if "rich.syntax" in sys.modules:
        yield
        return
    empty_module = ModuleType("rich.syntax")
    empty_module.__dict__["Syntax"] = None
    sys.modules["rich.syntax"] = empty_module
    try:
        yield
    finally:
        del sys.modules["rich.syntax"]


@cache
def _make_markdown_class() -> "type[Markdown]":
    """rich's Markdown with headings at the left margin, code without a background, and tables that fit."""
    with _without_rich_syntax():
        from rich.markdown import CodeBlock, Heading, HorizontalRule, ListItem, Markdown, TableElement
    from rich.table import Table

    class PlainHeading(Heading):
        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            self.text.justify = "left"
            yield self.text

    class WholeRule(HorizontalRule):
        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            yield Text("─" * options.max_width, "markdown.hr")
            yield Text()

    class FilledCode(CodeBlock):
        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            code = CodeHighlighter(self.lexer_name, colour=not console.no_color)
            is_filled = console.get_style("code_block", default="none").bgcolor is not None
            language = self.lexer_name
            for line in str(self.text).rstrip("\n").split("\n"):
                rows = lay_out_code_line(code.highlight_line(line), language, _NAMES)
                for row in rows.split_rows(options.max_width):
                    if is_filled:
                        row.pad_right(options.max_width - row.cell_len)
                    yield row
                language = ""

    class MarkedItem(ListItem):
        """An item of a list; a task has a box in place of its bullet."""

        @classmethod
        def create(cls, markdown: Markdown, token: "Token") -> "MarkedItem":
            item = cls()
            item.is_done = token.meta.get("is_done")
            return item

        is_done: bool | None = None  # None: it is no task

        def render_bullet(self, console: Console, options: ConsoleOptions) -> RenderResult:
            style = "good" if self.is_done else "markdown.item.bullet"
            yield from self._render_marked(f" {'•' if self.is_done is None else self._box} ", style, console, options)

        def render_number(
            self, console: Console, options: ConsoleOptions, number: int, last_number: int
        ) -> RenderResult:
            mark = f" {number}. ".rjust(len(str(last_number)) + 3) + (
                f"{self._box} " if self.is_done is not None else ""
            )
            yield from self._render_marked(mark, "markdown.item.number", console, options)

        @property
        def _box(self) -> str:
            return "☑" if self.is_done else "☐"

        def _render_marked(self, mark: str, style: str, console: Console, options: ConsoleOptions) -> RenderResult:
            mark_style = console.get_style(style, default="none")
            lines = console.render_lines(self.elements, options.update(width=max(options.max_width - len(mark), 1)))
            for index, line in enumerate(lines):
                yield Segment(" " * len(mark) if index else mark, mark_style)
                yield from line
                yield Segment.line()

    class FittingTable(TableElement):
        """A table that breaks no word; if its columns would be too narrow, each row becomes an item of a list."""

        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            titles = [cell.content for cell in self.header.row.cells] if self.header and self.header.row else []
            rows = [[cell.content for cell in row.cells] for row in self.body.rows] if self.body is not None else []
            columns = list(zip_longest(titles, *rows, fillvalue=Text()))
            widths = fit_columns(columns, options.max_width - _COLUMN_MARGIN * len(columns))
            if widths is None:
                yield from self._render_list(titles, rows, options.max_width)
                return
            for table in super().__rich_console__(console, options):
                if isinstance(table, Table):
                    for column, width in zip(table.columns, widths, strict=True):
                        column.width, column.overflow = width, "fold"
                yield table

        def _render_list(self, titles: list[Text], rows: list[list[Text]], width: int) -> RenderResult:
            """Yield each row as an item with lines of the form "title: value"."""
            for row in rows:
                mark = " • "
                for title, value in zip(titles, row, strict=False):
                    if not value.plain.strip():
                        continue
                    line = HangingText(hang=len(mark) + 2)
                    line.append(mark, "markdown.item.bullet")
                    name = title.plain.strip()
                    line.append(f"{name}: " if name else "", "markdown.table.header").append_text(value)
                    yield from line.split_rows(width)
                    mark = " " * len(mark)

    class ScreenMarkdown(Markdown):
        elements = {  # noqa: RUF012  # declared a ClassVar by the base class
            **Markdown.elements,
            "heading_open": PlainHeading,
            "hr": WholeRule,
            "fence": FilledCode,
            "code_block": FilledCode,
            "list_item_open": MarkedItem,
            "table_open": FittingTable,
        }

    return ScreenMarkdown


def fit_columns(columns: Sequence[Sequence[Text]], available: int) -> list[int] | None:
    """Return the columns' widths, together at most `available`; None if a word would have to be broken."""
    widest = [max(max(map(cell_len, cell.plain.split("\n"))) for cell in column) for column in columns]
    narrowest = [max(_measure_longest_word(cell.plain) for cell in column) for column in columns]
    if sum(narrowest) > available:
        return None
    widths, spare = list(narrowest), available - sum(narrowest)
    # The columns that need the least get it first: an equal share of the rest remains for each of the others.
    for left, index in zip(
        range(len(columns), 0, -1), sorted(range(len(columns)), key=lambda at: widest[at] - narrowest[at]), strict=True
    ):
        extra = min(widest[index] - narrowest[index], spare // left)
        widths[index] += extra
        spare -= extra
    return widths


def _measure_longest_word(text: str) -> int:
    """Return the columns of the longest word; a word of wide characters alone may be broken between any two."""
    sizes = ((cell_len(word), len(word)) for word in text.split())
    return max((min(cells, 4) if cells == 2 * chars else cells for cells, chars in sizes), default=1)


_COLUMN_MARGIN = 2  # columns that rich's table adds for each of its own
_NAMES = Theme()
# A line "8443." is an answer, not the empty list item that CommonMark takes it for.
_NUMBER_ALONE = re.compile(r"^( {0,3}\d{1,9})([.)])[ \t]*$", re.M)
