"""What a slash command gave, as parts for a live screen."""

from collections.abc import Iterator

from msgspec import Struct
from rich.text import Text

from clio.commands.command import CommandResult
from clio.ui.bar import bar_rows
from clio.ui.footer.todo_view import todo_rows
from clio.ui.footer.todo_words import count_words
from clio.ui.markup.markdown import whole
from clio.ui.markup.table import table_lines
from clio.ui.painter import Part
from clio.ui.plain import clean
from clio.ui.theme import Theme
from clio.ui.tool_rows import diff_rows

_NO_LIMIT = 10**9


class Block(Struct, frozen=True):
    """Parts that belong together. apart: a blank line stands before them."""

    parts: list[Part]
    apart: bool = True


def result_blocks(result: CommandResult, theme: Theme, width: int) -> Iterator[Block]:
    """The result's fields in their order; one that failed is shown as an error. Laid out for `width` columns."""
    if result.bar is not None:
        title = Part(body=Text(" ".join(clean(result.bar.title).split()), theme.strong))
        rows = (Part(body=Text.assemble(*row), wraps=False) for row in bar_rows(result.bar, width, theme.faint))
        yield Block([title, *rows])
    if result.text and not result.ok:
        yield Block(said(result.text, theme.bad), apart=False)
    elif result.text:
        yield Block(whole(clean(result.text), theme))
    if result.verbatim:
        yield Block([Part(body=Text(row)) for row in clean(result.verbatim).rstrip("\n").split("\n")])
    if result.diff:
        yield Block([Part(body=row) for row in diff_rows(result.diff, theme, max_rows=_NO_LIMIT, width=width)])
    if result.table is not None:
        heading, lines = table_lines(result.table, width)
        head = [Part(body=Text(heading, theme.faint), wraps=False)] if heading else []
        yield Block([*head, *(Part(body=Text(line), wraps=False) for line in lines)])
    if result.todos:
        count = Part(body=Text(count_words(result.todos), theme.faint))
        rows = todo_rows(result.todos, width, theme, fold=not result.todos_whole)
        yield Block([count, *(Part(body=row, wraps=False) for row in rows)])


def said(text: str, style: str) -> list[Part]:
    """A text of clio's own, line by line."""
    return [Part(body=Text(line, style)) for line in clean(text).rstrip("\n").split("\n")]
