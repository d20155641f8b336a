"""Commands about the session's list of work, which the model and the person share."""

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from clio.commands.command import Command, Shell, Suggestion
from clio.commands.markdown_code import code
from clio.commands.result import CommandResult, EditText, refuse
from clio.commands.work.checklist import HELP, from_markdown, to_markdown
from clio.errors import UsageError
from clio.sessions.state import Todo

if TYPE_CHECKING:
    from clio.sessions.session import Session


def show(shell: Shell, argument: str) -> CommandResult:
    """The list, or how to fill it."""
    return listed(shell)


def show_all(shell: Shell, argument: str) -> CommandResult:
    """The list with nothing folded."""
    return listed(shell, whole=True)


def add(shell: Shell, argument: str) -> CommandResult:
    """One more todo at the end of the list."""
    if not argument:
        return refuse("A todo needs words: write /todo add TEXT")
    title = " ".join(shell.redactor.redact(argument).text.split())
    number = max((todo.id for todo in shell.session.todos), default=0) + 1
    todo = Todo(id=number, title=title, status="pending")
    shell.session.set_todos((*shell.session.todos, todo))
    return CommandResult(text=f"Todo {number}: {code(title)}", data=msgspec.to_builtins(todo))


def done(shell: Shell, argument: str) -> CommandResult:
    """Tick one off by its number."""
    todo = _find(shell.session, argument)
    if todo is None:
        numbers = ", ".join(str(todo.id) for todo in shell.session.todos) or "none, the list is empty"
        return refuse(f"There is no todo {argument!r}; the numbers are {numbers}")
    ticked = msgspec.structs.replace(todo, status="completed")
    shell.session.set_todos(tuple(ticked if other.id == todo.id else other for other in shell.session.todos))
    return CommandResult(text=f"Done: {code(todo.title)}", data=msgspec.to_builtins(ticked))


def edit(shell: Shell, argument: str) -> CommandResult:
    """The whole list in the person's editor."""
    text = to_markdown(shell.session.todos) + HELP
    return CommandResult(follow_up=EditText(text=text, then=partial(store_edited, shell)))


def store_edited(shell: Shell, text: str) -> CommandResult:
    """Make an edited checklist the list, and show it."""
    try:
        todos = from_markdown(shell.redactor.redact(text).text, shell.session.todos)
    except UsageError as error:
        return refuse(f"{error}; the list stays as it was")
    shell.session.set_todos(todos)
    return listed(shell, whole=True)


def clear(shell: Shell, argument: str) -> CommandResult:
    """Empty the list."""
    count = len(shell.session.todos)
    shell.session.set_todos(())
    return CommandResult(text=f"{count} {'todo' if count == 1 else 'todos'} removed.", data={"removed": count})


def listed(shell: Shell, *, whole: bool = False) -> CommandResult:
    """The list as a result, drawn by the screen. whole: nothing is folded."""
    todos = shell.session.todos
    if not todos:
        return CommandResult(text="No todos. `/todo add TEXT` adds one.", data=[])
    return CommandResult(todos=todos, todos_whole=whole, data=msgspec.to_builtins(todos))


def open_todos(shell: Shell) -> Iterable[Suggestion]:
    """The numbers of what is still to be done."""
    for todo in shell.session.todos:
        if todo.status != "completed":
            yield Suggestion(text=str(todo.id), note=todo.title)


def _find(session: "Session", number: str) -> Todo | None:
    return next((todo for todo in session.todos if str(todo.id) == number), None)


TODO = (
    Command(
        name="todo",
        summary="the session's list of work",
        handler=show,
        subcommands=(
            Command(name="add", argument="TEXT", summary="add a todo", handler=add),
            Command(name="done", argument="N", summary="tick one off", handler=done, suggest=open_todos),
            Command(name="edit", summary="change the list in your editor, as a checklist", handler=edit),
            Command(name="all", summary="the list with nothing folded", handler=show_all),
            Command(name="clear", summary="empty the list", handler=clear),
        ),
    ),
)
