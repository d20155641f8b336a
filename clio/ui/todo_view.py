"""The task list on a screen and as text: its rows, its counts, the item in work."""

from collections.abc import Iterable, Iterator

from rich.text import Text

from clio.sessions.state import Todo, TodoStatus
from clio.ui.safe_text import clean, clean_line
from clio.ui.tables import wrap_cells
from clio.ui.theme import Theme
from clio.ui.width import crop

WORDS: dict[TodoStatus, str] = {"pending": "", "in_progress": "in work", "completed": "done", "blocked": "blocked"}
_MAX_OPEN = 15
_MAX_DONE = 3


def count_words(todos: tuple[Todo, ...]) -> str:
    """ "2 of 5 done"."""
    return f"{sum(todo.status == 'completed' for todo in todos)} of {len(todos)} done"


def plain_rows(todos: tuple[Todo, ...], *, fold: bool = True) -> Iterator[str]:
    """The same for a pipe and a reader aloud: words in place of marks, no wrapping."""
    for part in folded(todos) if fold else todos:
        if isinstance(part, str):
            yield part
            continue
        word = WORDS[part.status]
        note = f" ({clean_line(part.note)})" if part.note else ""
        yield f"{part.id}. {f'{word}: ' if word else ''}{clean_line(part.title)}{note}"


def folded(todos: tuple[Todo, ...]) -> Iterable[Todo | str]:
    """The items that are shown, and a sentence in the place of each run of those that are not."""
    done = [todo.id for todo in todos if todo.status == "completed"]
    still = [todo.id for todo in todos if todo.status != "completed"]
    hidden = set(done[: max(len(done) - _MAX_DONE, 0)]) if len(done) > _MAX_DONE + 1 else set[int]()
    active = {todo.id for todo in todos if todo.status in ("in_progress", "blocked")}
    if len(still) > _MAX_OPEN + 1:
        hidden |= set(still[_MAX_OPEN:]) - active
    run: list[Todo] = []
    for todo in todos:
        if todo.id in hidden:
            run.append(todo)
            continue
        yield from _missing(run)
        run = []
        yield todo
    yield from _missing(run)


def _missing(run: list[Todo]) -> Iterator[str]:
    if run:
        done = sum(todo.status == "completed" for todo in run)
        parts = [f"{done} done"] * bool(done) + [f"{len(run) - done} open"] * bool(len(run) - done)
        yield f"… {' and '.join(parts)} not shown, /todo all shows them"


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
