"""What a call did and what a slash command gave, as lines to be read aloud."""

from collections.abc import Iterator

from clio.agent.events import ToolFinished
from clio.commands.command import CommandResult
from clio.ui.footer.todo_words import count_words, plain_rows
from clio.ui.plain import clean, clean_line, in_full
from clio.ui.reader.diff import spoken_diff
from clio.ui.reader.markdown import spoken_text
from clio.ui.reader.spoken import Exact, spoken, spoken_bar, spoken_table, undrawn, worded

_MAX_DIFF_LINES = 20
_FAILED_LINES = 3


def spoken_call(event: ToolFinished) -> Iterator[str]:
    """How a call ended; below it the change, where nobody has heard it, or the first lines of a failure."""
    lines = [undrawn(line).strip() for line in clean(event.preview).splitlines()]
    summary = in_full(clean_line(event.summary), () if event.ok else lines)
    yield spoken(f"{'done' if event.ok else 'failed'}: {clean_line(event.title)}" + (f", {summary}" if summary else ""))
    if event.diff and not event.asked:
        yield from spoken_diff(event.diff, max_lines=_MAX_DIFF_LINES, hint=", slash diff reads all")
    elif not event.ok:
        told = [line for line in lines if line and clean_line(line) != summary]
        yield from (f"output: {line}" for line in told[:_FAILED_LINES])


def spoken_result(result: CommandResult) -> Iterator[str]:
    """The result's fields in their order; one that failed is said as an error."""
    if result.bar is not None:
        yield from spoken_bar(result.bar)
    if result.text and not result.ok:
        yield f"error: {spoken(' '.join(clean(result.text).split()))}"
    elif result.text:
        yield from (line if isinstance(line, Exact) else worded(line) for line in spoken_text(clean(result.text)))
    if result.verbatim:
        lines = clean(result.verbatim).rstrip("\n").split("\n")
        yield from (Exact(undrawn(line.expandtabs(4)).rstrip()) for line in lines)
    if result.diff:
        yield from spoken_diff(result.diff, names=True)
    if result.table is not None:
        yield from spoken_table(result.table)
    if result.todos:
        yield count_words(result.todos)
        yield from map(spoken, plain_rows(result.todos, fold=not result.todos_whole))
