"""Turns the result of a command into Markdown, for editors and programs."""

from clio.commands.command import CommandResult, Table
from clio.commands.plan_commands import format_todos_as_markdown
from clio.text.formatting import format_code_block
from clio.ui.safe_text import clean
from clio.ui.tables import render_bar

_BAR_WIDTH = 60


def format_result_as_markdown(result: CommandResult) -> str:
    """Return a command's result as Markdown, in the order in which the terminal shows it."""
    parts: list[str] = []
    if result.bar is not None:
        rows = ["".join(piece for piece, _ in row) for row in render_bar(result.bar, _BAR_WIDTH)]
        parts.append(_fence(clean("\n".join([result.bar.title, *rows]))))
    if result.text:
        parts.append(clean(result.text))
    if result.verbatim:
        parts.append(_fence(clean(result.verbatim)))
    if result.diff:
        parts.append(_fence(clean(result.diff)).replace("```\n", "```diff\n", 1))
    if result.table is not None:
        parts.append(_format_table(result.table))
    if result.todos:
        parts.append(clean(format_todos_as_markdown(result.todos)).rstrip())
    return "\n\n".join(part for part in parts if part)


def _format_table(table: Table) -> str:
    rows = [table.columns, tuple("---" for _ in table.columns), *table.rows]
    return "\n".join("| " + " | ".join(_format_cell(cell) for cell in row) + " |" for row in rows)


def _format_cell(text: str) -> str:
    return " ".join(clean(text).split()).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")


def _fence(text: str) -> str:
    return format_code_block(text.rstrip()) if text.strip() else ""
