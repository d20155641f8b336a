"""The list of work in words: what is counted, and what of a long list is shown. Imports nothing that draws."""

from collections.abc import Iterable, Iterator

from clio.sessions.state import Todo, TodoStatus
from clio.ui.plain import clean_line

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
