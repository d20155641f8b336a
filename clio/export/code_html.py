"""Code as HTML, coloured by Pygments' classes. The same text gives the same spans; the style sheet has the colours."""

from collections.abc import Iterator
from functools import cache
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pygments.lexer import Lexer
    from pygments.token import _TokenType as TokenType  # pyright: ignore[reportPrivateUsage]

MAX_BLOCK = 60_000
"""Characters; a longer block is shown without colours."""
MAX_ALL = 1_000_000
"""Characters coloured in one page: a few seconds of work, and as many elements as a phone still scrolls well."""
_MAX_LINE = 2_000  # some rules cost the square of a line's length
_CLASSES = (
    "Comment:c Keyword:k Keyword.Constant:kc Operator.Word:k Name.Function:nf Name.Class:nc Name.Exception:nc "
    "Name.Builtin:nb Name.Decorator:nd Name.Tag:nt Name.Attribute:na Name.Variable:nv Literal.String:s "
    "Literal.String.Escape:se Literal.String.Interpol:se Literal.Number:mi Generic.Deleted:gd Generic.Inserted:gi "
    "Generic.Heading:gh Generic.Subheading:gu Generic.Strong:gs Generic.Emph:ge Generic.Prompt:gp"
)


class Colours:
    """Colours the code of one page, within what one page can bear."""

    def __init__(self) -> None:
        self._left = MAX_ALL

    def code(self, text: str, language: str) -> str:
        """The text as HTML; without colours where the language is not known or the text is too long."""
        lexer = _named(language.strip().lower()) if language else None
        return self._run(lexer, text)

    def file(self, text: str, path: str) -> str:
        """The text of a file as HTML, its language told by the file's name."""
        name = path.replace("\\", "/").rpartition("/")[2]
        return self._run(_for_file(name) if len(name) <= 100 else None, text)

    def _run(self, lexer: "Lexer | None", text: str) -> str:
        if lexer is None or len(text) > min(MAX_BLOCK, self._left) or _longest_line(text) > _MAX_LINE:
            return escape(text)
        self._left -= len(text)
        return "".join(_spans(lexer, text))


def _spans(lexer: "Lexer", text: str) -> Iterator[str]:
    """Neighbours of one class in one element."""
    open_class, pieces = "", list[str]()
    for kind, value in lexer.get_tokens(text):
        name = "" if value.isspace() and open_class == "" else _class_of(kind)
        if name != open_class and not (value.isspace() and open_class):
            yield _element(open_class, pieces)
            open_class, pieces = name, []
        pieces.append(value)
    yield _element(open_class, pieces)


def _element(name: str, pieces: list[str]) -> str:
    text = escape("".join(pieces))
    return f'<span class="{name}">{text}</span>' if name and text else text


def _longest_line(text: str) -> int:
    return max(map(len, text.split("\n")))


@cache
def _class_of(kind: "TokenType") -> str:
    """The class of the nearest kind above it that has one."""
    known = {name: css for name, _, css in (pair.partition(":") for pair in _CLASSES.split())}
    while kind.parent is not None:
        if (name := str(kind).removeprefix("Token.")) in known:
            return known[name]
        kind = kind.parent
    return ""


@cache
def _named(language: str) -> "Lexer | None":
    from pygments.lexers import get_lexer_by_name  # pyright: ignore[reportUnknownVariableType]
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language, ensurenl=False, stripnl=False)
    except ClassNotFound:
        return None


@cache
def _for_file(name: str) -> "Lexer | None":
    from pygments.lexers import find_lexer_class_for_filename

    found = find_lexer_class_for_filename(name)
    return found(ensurenl=False, stripnl=False) if found is not None else None
