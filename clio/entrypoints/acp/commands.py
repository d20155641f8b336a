"""Slash commands without a screen of their own: which an editor is offered, and their results as Markdown."""

from collections.abc import Iterator

from clio.commands.command import CommandResult, Shell, Table
from clio.commands.plan_commands import to_markdown
from clio.commands.registry import COMMANDS, added
from clio.entrypoints.acp.listener import fenced
from clio.ui.bar import bar_rows
from clio.ui.plain import clean

_TERMINAL_ONLY = frozenset("clear commit exit theme".split())
_BAR_WIDTH = 60


def offered(shell: Shell) -> Iterator[tuple[str, str, str]]:
    """The commands that work in an editor: name, what it does, and a hint at what it takes."""
    for command in (*COMMANDS, *added(shell)):
        if command.name not in _TERMINAL_ONLY:
            yield command.name, command.summary, command.argument or " | ".join(sub.name for sub in command.subcommands)


def markdown(result: CommandResult) -> str:
    """A result in the order a conversation shows it."""
    parts: list[str] = []
    if result.bar is not None:
        rows = ["".join(piece for piece, _ in row) for row in bar_rows(result.bar, _BAR_WIDTH)]
        parts.append(fenced(clean("\n".join([result.bar.title, *rows]))))
    if result.text:
        parts.append(clean(result.text))
    if result.verbatim:
        parts.append(fenced(clean(result.verbatim)))
    if result.diff:
        parts.append(fenced(clean(result.diff)).replace("```\n", "```diff\n", 1))
    if result.table is not None:
        parts.append(_table(result.table))
    if result.todos:
        parts.append(clean(to_markdown(result.todos)).rstrip())
    return "\n\n".join(part for part in parts if part)


def _table(table: Table) -> str:
    rows = [table.columns, tuple("---" for _ in table.columns), *table.rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in row) + " |" for row in rows)


def _cell(text: str) -> str:
    return " ".join(clean(text).split()).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
