"""/plan and /todo: plan mode, and the session's task list as a Markdown checklist."""

import difflib
import re
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from clio.commands.command import (
    Command,
    CommandContext,
    CommandResult,
    EditText,
    ReviewPlan,
    RunPrompt,
    Suggestion,
    make_refusal,
    quote_code,
)
from clio.errors import UsageError
from clio.sessions.state import Todo, TodoStatus
from clio.text.translation import mark, tr, tr_count

if TYPE_CHECKING:
    from clio.sessions.session import Session


_MARKS: dict[TodoStatus, str] = {"pending": " ", "in_progress": ">", "completed": "x", "blocked": "!"}
_STATUSES: dict[str, TodoStatus] = {**{mark: status for status, mark in _MARKS.items()}, "X": "completed"}
_ITEM = re.compile(r"(?:(?:[-*+]|\d+[.)])\s+)?(?:\[(.?)\](?:\s+|$))?(.*)")
_COMMENT = re.compile(r"^<!--.*?(?:-->|\Z)", re.DOTALL | re.MULTILINE)
CHECKLIST_HELP = """
<!--
One line per item: [ ] open, [>] in progress, [x] done, [!] blocked. Indented lines below an item are its note.
Move, edit, delete and add lines as you like; an empty file clears the list.
-->
"""


def format_todos_as_markdown(todos: tuple[Todo, ...]) -> str:
    """Return one line per item, with its note indented below it."""
    lines: list[str] = []
    for todo in todos:
        lines.append(f"- [{_MARKS[todo.status]}] {todo.title}")
        lines += [f"  {line}" for line in todo.note.splitlines()]
    return "".join(f"{line}\n" for line in lines)


def parse_todos_from_markdown(text: str, old: tuple[Todo, ...]) -> tuple[Todo, ...]:
    """Parse an edited checklist. Items keep their ids from `old`, even if reworded; new items get new ids.

    Headings and comments are ignored. Raises UsageError for an unknown mark, and for two items in progress.
    """
    items: list[tuple[TodoStatus, str, list[str]]] = []
    for line in _COMMENT.sub("", text).splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if line[0].isspace() and items and not re.match(r"\s*[-*+]\s+\[.?\]", line):
            items[-1][2].append(line.strip())
        elif item := _parse_item(line.strip()):
            items.append((*item, []))
    active = [title for status, title, _ in items if status == "in_progress"]
    if len(active) > 1:
        raise UsageError(
            tr(
                "Only one item can be in progress, but [>] marks {active}; keep it at one of them",
                active=", ".join(active),
            )
        )
    numbers = _assign_ids([todo.title for todo in old], [title for _, title, _ in items], [todo.id for todo in old])
    return tuple(
        Todo(id=number, title=title, status=status, note="\n".join(notes))
        for number, (status, title, notes) in zip(numbers, items, strict=True)
    )


def _parse_item(line: str) -> tuple[TodoStatus, str] | None:
    """Parse status and title of one line; None if it has no text."""
    found = _ITEM.fullmatch(line)
    assert found is not None  # every part of the pattern is optional
    mark, title = found[1], " ".join(found[2].split())
    if not title:
        return None
    if mark is not None and (mark or " ") not in _STATUSES:
        raise UsageError(tr("Unknown mark [{mark}] of {title!r}; write [ ], [>], [x] or [!]", mark=mark, title=title))
    return _STATUSES[mark or " "], title


def _assign_ids(before: list[str], after: list[str], ids: list[int]) -> list[int]:
    """Return an id for each title: its own from before, that of the line it replaced, or a new one."""
    left = dict(zip(ids, before, strict=True))
    numbers: list[int | None] = []
    for title in after:
        same = next((number for number, known in left.items() if known == title), None)
        if same is not None:
            del left[same]
        numbers.append(same)
    for kind, start, end, first, last in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "replace":
            for place, number in zip(range(first, last), ids[start:end], strict=False):
                if numbers[place] is None and number in left:
                    numbers[place] = number
                    del left[number]
    following = max(ids, default=0)
    made: list[int] = []
    for number in numbers:
        following += number is None
        made.append(following if number is None else number)
    return made


def show_todos(ctx: CommandContext, argument: str) -> CommandResult:
    """Show the list, or how to fill it."""
    return make_todo_result(ctx)


def show_all_todos(ctx: CommandContext, argument: str) -> CommandResult:
    """Show the list with every item."""
    return make_todo_result(ctx, whole=True)


def add_todo(ctx: CommandContext, argument: str) -> CommandResult:
    """Append an item to the list."""
    if not argument:
        return make_refusal(tr("Add what? Write /todo add TEXT"))
    title = " ".join(ctx.redactor.redact(argument).text.split())
    number = max((todo.id for todo in ctx.session.todos), default=0) + 1
    todo = Todo(id=number, title=title, status="pending")
    ctx.session.set_todos((*ctx.session.todos, todo))
    return CommandResult(
        text=tr("Todo {number}: {title}", number=number, title=quote_code(title)), data=msgspec.to_builtins(todo)
    )


def finish_todo(ctx: CommandContext, argument: str) -> CommandResult:
    """Mark an item as done by its number."""
    todo = _find_todo(ctx.session, argument)
    if todo is None:
        numbers = ", ".join(str(todo.id) for todo in ctx.session.todos) or tr("none, the list is empty")
        return make_refusal(
            tr("There is no todo {argument!r}; the numbers are {numbers}", argument=argument, numbers=numbers)
        )
    finished = msgspec.structs.replace(todo, status="completed")
    ctx.session.set_todos(tuple(finished if other.id == todo.id else other for other in ctx.session.todos))
    return CommandResult(text=tr("Done: {title}", title=quote_code(todo.title)), data=msgspec.to_builtins(finished))


def edit_todos(ctx: CommandContext, argument: str) -> CommandResult:
    """Edit the whole list in the user's editor."""
    text = format_todos_as_markdown(ctx.session.todos) + CHECKLIST_HELP
    return CommandResult(follow_up=EditText(text=text, then=partial(store_edited_todos, ctx)))


def store_edited_todos(ctx: CommandContext, text: str) -> CommandResult:
    """Replace the list by an edited checklist, and show it."""
    try:
        todos = parse_todos_from_markdown(ctx.redactor.redact(text).text, ctx.session.todos)
    except UsageError as error:
        return make_refusal(tr("{error}; the list is unchanged", error=error))
    ctx.session.set_todos(todos)
    return make_todo_result(ctx, whole=True)


def clear_todos(ctx: CommandContext, argument: str) -> CommandResult:
    """Clear the list."""
    count = len(ctx.session.todos)
    ctx.session.set_todos(())
    return CommandResult(
        text=tr("{todos} removed.", todos=tr_count(count, "todo")),
        data={"removed": count},
    )


def make_todo_result(ctx: CommandContext, *, whole: bool = False) -> CommandResult:
    """Return the list as a result, drawn by the screen. whole: show every item."""
    todos = ctx.session.todos
    if not todos:
        return CommandResult(text=tr("No todos. `/todo add TEXT` adds one."), data=[])
    return CommandResult(todos=todos, todos_whole=whole, data=msgspec.to_builtins(todos))


def suggest_open_todos(ctx: CommandContext) -> Iterable[Suggestion]:
    """Complete the numbers of open items."""
    for todo in ctx.session.todos:
        if todo.status != "completed":
            yield Suggestion(text=str(todo.id), note=todo.title)


def _find_todo(session: "Session", number: str) -> Todo | None:
    return next((todo for todo in session.todos if str(todo.id) == number), None)


TODO = (
    Command(
        name="todo",
        summary=mark("the session's task list"),
        handler=show_todos,
        subcommands=(
            Command(name="add", argument="TEXT", summary=mark("add a todo"), handler=add_todo),
            Command(
                name="done",
                argument="N",
                summary=mark("mark a todo as done"),
                handler=finish_todo,
                suggest=suggest_open_todos,
            ),
            Command(name="edit", summary=mark("edit the list in your editor, as a checklist"), handler=edit_todos),
            Command(name="all", summary=mark("show every todo"), handler=show_all_todos),
            Command(name="clear", summary=mark("clear the list"), handler=clear_todos),
        ),
    ),
)


NO_PLAN = mark("No plan yet; describe the task")
_ARGUMENT_NOTES = {
    "go": mark("carry out the plan"),
    "edit": mark("edit the plan in your editor"),
    "off": mark("leave plan mode; the list stays"),
}


def change_plan_mode(ctx: CommandContext, argument: str) -> CommandResult:
    """Enter plan mode, optionally with a message for the model; in plan mode, review the plan."""
    match argument.lower():
        case "":
            return _enter_or_review(ctx)
        case "off":
            return _leave_plan_mode(ctx)
        case "edit":
            return _edit_plan(ctx)
        case "go":
            return _carry_out_plan(ctx)
        case _:
            ctx.planning.set_mode("plan")
            return CommandResult(follow_up=RunPrompt(text=argument), data={"mode": "plan"})


def edit_plan(ctx: CommandContext) -> EditText:
    """Return the follow-up that opens the plan in the editor and stores the result."""
    return EditText(
        text=format_todos_as_markdown(ctx.session.todos) + CHECKLIST_HELP, then=partial(store_edited_todos, ctx)
    )


def _enter_or_review(ctx: CommandContext) -> CommandResult:
    if ctx.planning.is_on and ctx.session.todos:
        return CommandResult(follow_up=ReviewPlan(), data={"mode": "plan"})
    was_on = ctx.planning.is_on
    ctx.planning.set_mode("plan")
    text = f"{tr(NO_PLAN)}." if was_on else tr("Plan mode (read-only). Describe the task; `/plan off` to exit.")
    return CommandResult(text=text, data={"mode": "plan"})


def _leave_plan_mode(ctx: CommandContext) -> CommandResult:
    if not ctx.planning.is_on:
        return make_refusal(tr("Plan mode is not on; the approval mode is {mode}", mode=quote_code(ctx.policy.mode)))
    ctx.planning.set_mode(ctx.planning.mode_before)
    stays = tr(" The list stays; `/todo` shows it.") if ctx.session.todos else ""
    mode = ctx.policy.mode
    return CommandResult(
        text=tr("Plan mode is off, approval mode {mode}.{stays}", mode=quote_code(mode), stays=stays),
        data={"mode": mode},
    )


def _edit_plan(ctx: CommandContext) -> CommandResult:
    """Show the edited plan; in plan mode, review it again."""
    if not ctx.session.todos:
        return make_refusal(tr("{no_plan}, or write one with /todo edit", no_plan=tr(NO_PLAN)))
    step = edit_plan(ctx)

    def then(text: str) -> CommandResult:
        result = step.then(text)
        if not result.ok or not result.todos or not ctx.planning.is_on:
            return result
        return CommandResult(follow_up=ReviewPlan(), data=result.data)

    return CommandResult(follow_up=msgspec.structs.replace(step, then=then))


def _carry_out_plan(ctx: CommandContext) -> CommandResult:
    from_mode = ctx.planning.mode_before if ctx.planning.is_on else ctx.policy.mode
    if all(todo.status == "completed" for todo in ctx.session.todos):
        return make_refusal(tr(NO_PLAN) if not ctx.session.todos else tr("Everything in the plan is done"))
    return CommandResult(
        text=tr("Carrying out the plan, approval mode {from_mode}.", from_mode=quote_code(from_mode)),
        follow_up=RunPrompt(text=ctx.planning.approve_plan(from_mode)),
        data={"mode": from_mode},
    )


def _suggest(ctx: CommandContext) -> Iterable[Suggestion]:
    return (Suggestion(text=word, note=tr(note)) for word, note in _ARGUMENT_NOTES.items())


PLAN = (
    Command(
        name="plan",
        argument="[TEXT | go | edit | off]",
        summary=mark("plan mode: read-only until you approve a plan"),
        handler=change_plan_mode,
        sends_argument=True,
        suggest=_suggest,
    ),
)
