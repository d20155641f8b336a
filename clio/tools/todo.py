"""The session's list of work, as the model keeps it."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from clio.errors import ToolRetry
from clio.security.actions import Internal
from clio.sessions.session import Session
from clio.sessions.state import Todo, TodoStatus
from clio.tools.base import Prepared, Progress, ToolOutput

Operation = Literal["read", "write", "update", "add"]

_MARKS: dict[TodoStatus, str] = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]", "blocked": "[!]"}


class TodoItem(Struct, frozen=True, kw_only=True):
    """One item as the model gives it; what is left out stays as it was."""

    id: int | None = None
    title: str | None = None
    status: TodoStatus | None = None
    note: str | None = None


class TodoArgs(Struct, frozen=True, kw_only=True):
    """Arguments of todo_operations."""

    operation: Operation
    todos: Annotated[tuple[TodoItem, ...], Meta(description="write, add: with title; update: with id")] = ()


class TodoTool:
    """`todo_operations`: read, replace, change or extend the list."""

    name = "todo_operations"
    args = TodoArgs
    read_only = False

    def __init__(self, session: Session) -> None:
        self._session = session

    def prepare(self, args: Any) -> Prepared:
        """Raises ToolRetry where the change cannot be right, as `changed` tells."""
        call: TodoArgs = args
        changed(self._session.todos, call.operation, call.todos)

        async def go(progress: Progress) -> ToolOutput:
            session = self._session
            before = session.todos
            todos = changed(before, call.operation, call.todos)
            if todos != before:
                session.set_todos(todos)
            return ToolOutput(text=render(todos), summary=news(before, todos))

        return Prepared(title="todos", action=Internal(), run=go)


def render(todos: tuple[Todo, ...]) -> str:
    """The list, one item a line."""
    lines = [f"{_MARKS[todo.status]} {todo.id}. {todo.title}{f' ({todo.note})' if todo.note else ''}" for todo in todos]
    return "\n".join(lines) or "(no todos)"


def news(before: tuple[Todo, ...], after: tuple[Todo, ...]) -> str:
    """What a change comes to, for the person: "2 of 5 done, now: write tests"."""
    if not after:
        return "no todos"
    done = sum(todo.status == "completed" for todo in after)
    active = [f"now: {todo.title}" for todo in after if todo.status == "in_progress"]
    were_done = {todo.id for todo in before if todo.status == "completed"}
    new = [f"done: {todo.title}" for todo in after if todo.status == "completed" and todo.id not in were_done]
    added = len({todo.id for todo in after} - {todo.id for todo in before})
    count = f"{done} of {len(after)} done" if done or not added else f"{len(after)} to do"
    return ", ".join([count, *(active or new[:1])])


def changed(todos: tuple[Todo, ...], operation: Operation, items: tuple[TodoItem, ...]) -> tuple[Todo, ...]:
    """The list after an operation. Items keep their ids; new ones get the next free numbers.

    Raises ToolRetry for an unknown or repeated id, a missing title or id, or two items in progress.
    """
    match operation:
        case "read":
            return todos
        case "write":
            after = _written(todos, items)
        case "add":
            after = todos + _numbered(todos, _some(operation, items))
        case "update":
            after = _updated(todos, _some(operation, items))
    _check(after)
    return after


def _some(operation: Operation, items: tuple[TodoItem, ...]) -> tuple[TodoItem, ...]:
    if not items:
        raise ToolRetry(f"todo_operations({operation}) needs todos, a list of at least one item")
    return items


def _written(todos: tuple[Todo, ...], items: tuple[TodoItem, ...]) -> tuple[Todo, ...]:
    """A new list; an item without an id that has the title of an old one is that one."""
    ids = {todo.title: todo.id for todo in todos}
    named = {item.id for item in items}
    known: list[TodoItem] = []
    for item in items:
        old = ids.get(item.title or "")
        number = item.id if item.id is not None else (old if old not in named else None)
        named.add(number)
        known.append(TodoItem(id=number, title=item.title, status=item.status, note=item.note))
    return _numbered(todos, tuple(known))


def _numbered(todos: tuple[Todo, ...], items: tuple[TodoItem, ...]) -> tuple[Todo, ...]:
    following = max([0, *(todo.id for todo in todos), *(item.id or 0 for item in items)]) + 1
    made: list[Todo] = []
    for item in items:
        if not (item.title or "").strip():
            raise ToolRetry("every new todo needs a title")
        number = item.id if item.id is not None else following
        following += item.id is None
        title = " ".join((item.title or "").split())
        made.append(Todo(id=number, title=title, status=item.status or "pending", note=item.note or ""))
    return tuple(made)


def _updated(todos: tuple[Todo, ...], items: tuple[TodoItem, ...]) -> tuple[Todo, ...]:
    by_id = {todo.id: todo for todo in todos}
    for item in items:
        old = by_id.get(item.id) if item.id is not None else None
        if old is None:
            known = ", ".join(map(str, by_id)) or "none"
            raise ToolRetry(f"there is no todo with id {item.id}; the ids are: {known}")
        by_id[old.id] = Todo(
            id=old.id,
            title=" ".join((item.title or "").split()) or old.title,
            status=item.status or old.status,
            note=old.note if item.note is None else item.note,
        )
    return tuple(by_id.values())


def _check(todos: tuple[Todo, ...]) -> None:
    ids = [todo.id for todo in todos]
    repeated = sorted({number for number in ids if ids.count(number) > 1})
    if repeated:
        raise ToolRetry(f"two todos have the id {repeated[0]}; leave the id out for a new one")
    active = [f"{todo.id} ({todo.title})" for todo in todos if todo.status == "in_progress"]
    if len(active) > 1:
        raise ToolRetry(
            f"only one todo may be in_progress, these would be: {', '.join(active)}; change the others in the same call"
        )
