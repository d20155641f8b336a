"""The list of work on a screen: its rows, and the item in work as a few words. All pure."""

from collections.abc import Iterator

from rich.text import Text

from clio.sessions.state import Todo, TodoStatus
from clio.ui.footer.todo_words import folded
from clio.ui.markup.table import wrap_cells
from clio.ui.plain import clean, clean_line
from clio.ui.theme import Theme
from clio.ui.width import crop

MARKS: dict[TodoStatus, str] = {"pending": "○", "in_progress": "▸", "completed": "✓", "blocked": "!"}
_ACTIVE_CELLS = 16  # beside all that stands before it on the line of a running turn, in 80 columns
_NARROWEST = 8
_NARROWEST_LIST = 20


def active_words(todos: tuple[Todo, ...]) -> str:
    """For the status line: `2/5 write tests`, the item in work and its place; "" where none is in work."""
    active = next((todo for todo in todos if todo.status == "in_progress"), None)
    if active is None:
        return ""
    done = sum(todo.status == "completed" for todo in todos)
    return crop(f"{done + 1}/{len(todos)} {clean_line(active.title)}", _ACTIVE_CELLS)


def todo_rows(todos: tuple[Todo, ...], width: int, theme: Theme, *, fold: bool = True) -> Iterator[Text]:
    """The list in its order, no row wider than `width` (at least 20): mark, number, title, and the note below it.

    fold: of many done items only the last few are shown, of many open ones the first, and a row counts the others.
    """
    width = max(width, _NARROWEST_LIST)
    numbers = max((len(str(todo.id)) for todo in todos), default=1)
    for part in folded(todos) if fold else todos:
        if isinstance(part, str):
            yield Text(f"  {crop(part, width - 2)}", theme.faint)
        else:
            yield from _rows(part, numbers, width, theme)


def _rows(todo: Todo, numbers: int, width: int, theme: Theme) -> Iterator[Text]:
    mark, number = MARKS[todo.status], str(todo.id).rjust(numbers)
    style = {"completed": theme.faint, "in_progress": theme.strong}.get(todo.status, "")
    mark_style = {"completed": theme.good, "in_progress": theme.accent, "blocked": theme.warning}.get(todo.status, "")
    head = 2 + 1 + 1 + numbers + 2  # margin, mark, blank, number, blanks
    room = max(width - head, _NARROWEST)
    for line_number, line in enumerate(wrap_cells(clean_line(todo.title), room)):
        if line_number == 0:
            yield Text.assemble("  ", (mark, mark_style), (f" {number}  ", theme.faint), (line, style))
        else:
            yield Text.assemble(" " * head, (line, style))
    for note in clean(todo.note).splitlines():
        yield from (Text.assemble(" " * head, (line, theme.faint)) for line in wrap_cells(note.strip(), room))
