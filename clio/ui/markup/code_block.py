"""Highlighting of code that comes line by line: each line once, however long the file is."""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from rich.text import Text

from clio.text.lazy_regex import LazyRegex

if TYPE_CHECKING:
    from pygments.lexer import Lexer
    from pygments.token import _TokenType as TokenType  # pyright: ignore[reportPrivateUsage]

TAB_SIZE = 4
_LANGUAGE = LazyRegex(r"[\w+#.-]{1,30}")
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
