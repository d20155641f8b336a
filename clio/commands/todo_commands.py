"""Commands about the session's todo list, which the model and the person share."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from clio.commands.base import Command, CommandResult, Shell, Suggestion, Table, code, refuse
from clio.sessions.state import Todo

if TYPE_CHECKING:
    from clio.sessions.session import Session

_MARKS = {"pending": " ", "in_progress": "…", "completed": "✓", "blocked": "!"}


def show(shell: Shell, argument: str) -> CommandResult:
    """The list, or how to fill it."""
    if argument:
        return refuse(f"/todo does not know {argument!r}; write /todo add TEXT, /todo done N or /todo clear")
    todos = shell.session.todos
    if not todos:
        return CommandResult(text="No todos. `/todo add TEXT` adds one.")
    rows = tuple((str(todo.id), _MARKS[todo.status], _with_note(todo)) for todo in todos)
    return CommandResult(table=Table(columns=("", "", "todo"), rows=rows, wide=2))


def add(shell: Shell, argument: str) -> CommandResult:
    """One more todo at the end of the list."""
    if not argument:
        return refuse("A todo needs words: write /todo add TEXT")
    title = " ".join(shell.redactor.redact(argument).text.split())
    number = max((todo.id for todo in shell.session.todos), default=0) + 1
    shell.session.set_todos((*shell.session.todos, Todo(id=number, title=title, status="pending")))
    return CommandResult(text=f"Todo {number}: {code(title)}")


def done(shell: Shell, argument: str) -> CommandResult:
    """Tick one off by its number."""
    todo = _find(shell.session, argument)
    if todo is None:
        numbers = ", ".join(str(todo.id) for todo in shell.session.todos) or "none, the list is empty"
        return refuse(f"There is no todo {argument!r}; the numbers are {numbers}")
    ticked = msgspec.structs.replace(todo, status="completed")
    shell.session.set_todos(tuple(ticked if other.id == todo.id else other for other in shell.session.todos))
    return CommandResult(text=f"Done: {code(todo.title)}")


def clear(shell: Shell, argument: str) -> CommandResult:
    """Empty the list."""
    count = len(shell.session.todos)
    shell.session.set_todos(())
    return CommandResult(text=f"{count} {'todo' if count == 1 else 'todos'} removed.")


def open_todos(shell: Shell) -> Iterable[Suggestion]:
    """The numbers of what is still to be done."""
    for todo in shell.session.todos:
        if todo.status != "completed":
            yield Suggestion(text=str(todo.id), note=todo.title)


def _find(session: "Session", number: str) -> Todo | None:
    return next((todo for todo in session.todos if str(todo.id) == number), None)


def _with_note(todo: Todo) -> str:
    return f"{todo.title} ({todo.note})" if todo.note else todo.title


TODO = (
    Command(
        name="todo",
        summary="the session's todo list",
        handler=show,
        subcommands=(
            Command(name="add", argument="TEXT", summary="add a todo", handler=add),
            Command(name="done", argument="N", summary="tick one off", handler=done, suggest=open_todos),
            Command(name="clear", summary="empty the list", handler=clear),
        ),
    ),
)
