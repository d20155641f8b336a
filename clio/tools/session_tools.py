"""Tools that belong to the session: ask_user, todo_operations, delegate."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, Literal, Protocol

import msgspec
from msgspec import Meta, Raw, Struct, field

from clio.errors import ToolRetry
from clio.messages import SideEffects
from clio.prompt_files import load_prompt
from clio.providers.base import ToolSpec
from clio.security.actions import TouchOwnState
from clio.sessions.session import Session
from clio.sessions.state import Todo, TodoStatus
from clio.skills.skills import SubagentDefinition
from clio.text.formatting import truncate_line
from clio.text.translation import tr
from clio.tools.base import PreparedCall, Progress, ToolOutput
from clio.tools.schemas import make_args_schema

_TITLE_CHARS = 100


class Asker(Protocol):
    """Asks the user questions."""

    async def ask(self, question: str, options: tuple[str, ...]) -> str:
        """Return the user's answer: one of the options or another text; "" for none.

        Raises ToolFailed if no user is present.
        """
        ...


class AskUserArgs(Struct, frozen=True, kw_only=True):
    """Arguments of ask_user."""

    question: str
    options: Annotated[tuple[str, ...], Meta(max_length=9, description="Answers to choose from")] = ()


class AskUserTool:
    """The tool `ask_user`: one question, with or without options."""

    name = "ask_user"
    args = AskUserArgs
    read_only = False

    def __init__(self, asker: Asker) -> None:
        self._asker = asker

    def prepare(self, args: Any) -> PreparedCall:
        """Prepare a question. Raises ToolRetry for an empty one."""
        call: AskUserArgs = args
        question = call.question.strip()
        if not question:
            raise ToolRetry("the question is empty")
        options = tuple(dict.fromkeys(option.strip() for option in call.options if option.strip()))

        async def go(progress: Progress) -> ToolOutput:
            answer = (await self._asker.ask(question, options)).strip()
            effects = SideEffects(question=question, answer=answer)
            if not answer:
                message = "The user gave no answer; continue as you think best."
                return ToolOutput(text=message, summary=tr("no answer"), side_effects=effects)
            summary = " ".join(answer.split())[:_TITLE_CHARS]
            return ToolOutput(text=f"The user answered: {answer}", summary=summary, side_effects=effects)

        return PreparedCall(
            title=tr("ask: {question}", question=truncate_line(question, _TITLE_CHARS)), action=TouchOwnState(), run=go
        )


TodoOperation = Literal["read", "write", "update", "add"]

_MARKS: dict[TodoStatus, str] = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]", "blocked": "[!]"}


class TodoItem(Struct, frozen=True, kw_only=True):
    """One item as the model gives it; omitted fields stay unchanged."""

    id: int | None = None
    title: str | None = None
    status: TodoStatus | None = None
    note: str | None = None


_FormerTodos = Annotated[tuple[TodoItem, ...], Meta(extra_json_schema={"deprecated": True})]


class TodoArgs(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of todo_operations."""

    operation: TodoOperation
    todos: Annotated[tuple[TodoItem, ...], Meta(description="write, add: with title; update: with id")] = ()
    # Former names, not in the schema and accepted all the same.
    todo_list: _FormerTodos = field(name="todoList", default=())
    todo_updates: _FormerTodos = field(name="todoUpdates", default=())
    new_todos: _FormerTodos = field(name="newTodos", default=())

    @property
    def items(self) -> tuple[TodoItem, ...]:
        """The items, whatever they are called."""
        return self.todos or self.todo_list or self.todo_updates or self.new_todos


class TodoTool:
    """The tool `todo_operations`: read, replace, change or extend the list."""

    name = "todo_operations"
    args = TodoArgs
    read_only = False

    def __init__(self, session: Session) -> None:
        self._session = session

    def prepare(self, args: Any) -> PreparedCall:
        """Prepare an operation. Raises ToolRetry as `apply_todo_operation` does."""
        call: TodoArgs = args
        apply_todo_operation(self._session.todos, call.operation, call.items)  # raises before the call is judged

        async def go(progress: Progress) -> ToolOutput:
            session = self._session
            before = session.todos
            todos = apply_todo_operation(before, call.operation, call.items)
            if todos != before:
                session.set_todos(todos)
            text = "\n".join(filter(None, (render_todos(todos), _describe_lost_notes(before, todos))))
            return ToolOutput(text=text, summary=describe_todo_change(before, todos))

        return PreparedCall(title=tr("todos"), action=TouchOwnState(), run=go)


def render_todos(todos: tuple[Todo, ...]) -> str:
    """Return the list, one item per line."""
    lines = [f"{_MARKS[todo.status]} {todo.id}. {todo.title}{f' ({todo.note})' if todo.note else ''}" for todo in todos]
    return "\n".join(lines) or "(no todos)"


def _describe_lost_notes(before: tuple[Todo, ...], after: tuple[Todo, ...]) -> str:
    """Return the notes of todos that are no longer in the list, so that what they record is not lost unnoticed."""
    remaining = {todo.id for todo in after}
    lost = [f"{todo.id}. {todo.title}: {todo.note}" for todo in before if todo.note and todo.id not in remaining]
    return (
        "\n".join(["[Removed with their notes; add what is still needed to another todo:", *lost]) + "]" if lost else ""
    )


def describe_todo_change(before: tuple[Todo, ...], after: tuple[Todo, ...]) -> str:
    """Return the state of the list for the user: "2 of 5 done, now: write tests"."""
    if not after:
        return tr("no todos")
    done = sum(todo.status == "completed" for todo in after)
    active = [tr("now: {title}", title=todo.title) for todo in after if todo.status == "in_progress"]
    were_done = {todo.id for todo in before if todo.status == "completed"}
    new = [
        tr("done: {title}", title=todo.title)
        for todo in after
        if todo.status == "completed" and todo.id not in were_done
    ]
    added = len({todo.id for todo in after} - {todo.id for todo in before})
    count = (
        tr("{done} of {count} done", done=done, count=len(after))
        if done or not added
        else tr("{count} to do", count=len(after))
    )
    item = (active or new[:1] or [""])[0]
    return tr("{count}, {item}", count=count, item=item) if item else count


def apply_todo_operation(
    todos: tuple[Todo, ...], operation: TodoOperation, items: tuple[TodoItem, ...]
) -> tuple[Todo, ...]:
    """Return the list after an operation. Items keep their ids; new ones get the next free numbers.

    Raises ToolRetry for an unknown or repeated id, a missing title or id, or two items in progress.
    """
    match operation:
        case "read":
            return todos
        case "write":
            after = _replace_todos(todos, items)
        case "add":
            after = todos + _number_new_todos(todos, _require_items(operation, items))
        case "update":
            after = _update_todos(todos, _require_items(operation, items))
    _check_todos(after)
    return after


def _require_items(operation: TodoOperation, items: tuple[TodoItem, ...]) -> tuple[TodoItem, ...]:
    if not items:
        raise ToolRetry(f"todo_operations({operation}) needs todos, a list of at least one item")
    return items


def _replace_todos(todos: tuple[Todo, ...], items: tuple[TodoItem, ...]) -> tuple[Todo, ...]:
    """Return a new list; an item without an id but with the title of an old item keeps that one's id.

    An item that keeps its id and has no note keeps its note.
    """
    ids = {todo.title: todo.id for todo in todos}
    notes = {todo.id: todo.note for todo in todos}
    named = {item.id for item in items}
    known: list[TodoItem] = []
    for item in items:
        old = ids.get(item.title or "")
        number = item.id if item.id is not None else (old if old not in named else None)
        named.add(number)
        note = notes.get(number, "") if item.note is None and number is not None else item.note
        known.append(TodoItem(id=number, title=item.title, status=item.status, note=note))
    return _number_new_todos(todos, tuple(known))


def _number_new_todos(todos: tuple[Todo, ...], items: tuple[TodoItem, ...]) -> tuple[Todo, ...]:
    next_id = max([0, *(todo.id for todo in todos), *(item.id or 0 for item in items)]) + 1
    made: list[Todo] = []
    for item in items:
        if not (item.title or "").strip():
            raise ToolRetry("every new todo needs a title")
        number = item.id if item.id is not None else next_id
        next_id += item.id is None
        title = " ".join((item.title or "").split())
        made.append(Todo(id=number, title=title, status=item.status or "pending", note=item.note or ""))
    return tuple(made)


def _update_todos(todos: tuple[Todo, ...], items: tuple[TodoItem, ...]) -> tuple[Todo, ...]:
    by_id = {todo.id: todo for todo in todos}
    for item in items:
        old = by_id.get(item.id) if item.id is not None else None
        if old is None:
            known = ", ".join(map(str, by_id)) or "none"
            raise ToolRetry(
                f"there is no todo with id {item.id}",
                f"the ids are: {known}; no todo was changed, for a new one use operation add without an id",
            )
        by_id[old.id] = Todo(
            id=old.id,
            title=" ".join((item.title or "").split()) or old.title,
            status=item.status or old.status,
            note=_add_note(old.note, item.note or ""),
        )
    return tuple(by_id.values())


def _add_note(old: str, new: str) -> str:
    """Return both notes: a note records findings that exist nowhere else once old messages have left the window."""
    if not old or old in new:
        return new or old
    return old if new in old else f"{old}; {new}"


def _check_todos(todos: tuple[Todo, ...]) -> None:
    ids = [todo.id for todo in todos]
    repeated = sorted({number for number in ids if ids.count(number) > 1})
    if repeated:
        raise ToolRetry(f"two todos have the id {repeated[0]}", "leave the id out for a new one")
    active = [f"{todo.id} ({todo.title})" for todo in todos if todo.status == "in_progress"]
    if len(active) > 1:
        raise ToolRetry(
            f"only one todo may be in_progress, these would be: {', '.join(active)}",
            "change the others in the same call",
        )


_DELEGATE_TITLE_CHARS = 80
_MAX_AGENTS_NAMED = 5
_LIST_CHARS = 4_000
"""Limit for all descriptions together, about a thousand tokens; longer ones are shortened to the same length."""


class DelegateArgs(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of delegate."""

    task: str
    agent: Annotated[str, Meta(description="a listed agent")] = ""
    tools: Annotated[tuple[str, ...], Meta(description="its only tools; default: all", max_length=30)] = ()
    model: Annotated[str, Meta(description="another model of the server")] = ""
    background: Annotated[bool, Meta(description="return at once; see job_output")] = False
    edits: Annotated[bool, Meta(description="with background: edit files, in an own worktree")] = False


class DelegatedTask(Struct, frozen=True, kw_only=True):
    """A task for a sub-agent.

    Attributes:
        agent: None for the general one.
        edits: with `background`, it works in a git worktree of its own; otherwise it only reads.
    """

    text: str
    agent: SubagentDefinition | None
    tools: tuple[str, ...]
    model: str
    background: bool = False
    edits: bool = False

    @property
    def name(self) -> str:
        """Name of the sub-agent."""
        return self.agent.name if self.agent else "general"


class DelegateTool:
    """The tool `delegate`. Several calls of one step run concurrently.

    Args:
        agents: the sub-agents of the session.
        known: names of the tools that exist.
        run: carries out a task.
    """

    name = "delegate"
    args = DelegateArgs
    read_only = True  # the call itself changes nothing; what the sub-agent does is judged call by call

    def __init__(
        self,
        agents: Sequence[SubagentDefinition],
        known: Sequence[str],
        run: Callable[[DelegatedTask, Progress], Awaitable[ToolOutput]],
    ) -> None:
        self._agents = {agent.name: agent for agent in agents}
        self._known = frozenset(known)
        self._run = run

    def spec(self, *, compact: bool) -> ToolSpec:
        """Return its entry in a request with the list of sub-agents: the same bytes for the same files."""
        lines = [f"- {agent.name}: {agent.description}" for agent in self._agents.values()]
        while sum(map(len, lines)) > _LIST_CHARS:
            lines = [line[: max(len(line) * 3 // 4, 20)] for line in lines]
            lines = lines[: _LIST_CHARS // 20]
        text = "\n".join([load_prompt(f"tools/{self.name}"), *(["Agents:", *lines] if lines else [])])
        schema = make_args_schema(self.args, describe=not compact)
        return ToolSpec(name=self.name, description=text, parameters=Raw(msgspec.json.encode(schema)))

    def prepare(self, args: Any) -> PreparedCall:
        """Prepare a task. Raises ToolRetry for an empty task, or an unknown sub-agent or tool."""
        call: DelegateArgs = args
        if not call.task.strip():
            raise ToolRetry("the task is empty", "include everything it must know, the sub-agent sees nothing else")
        agent_name = call.agent.strip().lower()
        agent = self._agents.get(agent_name)
        if agent_name not in ("", "general") and agent is None:
            from clio.tools.output import find_nearest_names  # imports difflib, needed only for a misspelled name

            near, stated = find_nearest_names(agent_name, self._agents), "the nearest are"
            if not near:
                near, stated = [*list(self._agents)[:_MAX_AGENTS_NAMED], "general"], "the agents are"
            raise ToolRetry(f"there is no agent {call.agent!r}", f"{stated}: {', '.join(near)}")
        if unknown_tools := [name for name in call.tools if name not in self._known]:
            raise ToolRetry(f"there is no tool {unknown_tools[0]!r}", f"there are: {', '.join(sorted(self._known))}")
        task = DelegatedTask(
            text=call.task.strip(),
            agent=agent,
            tools=call.tools,
            model=call.model.strip(),
            background=call.background,
            edits=call.edits,
        )
        return PreparedCall(
            title=tr(
                "delegate to {task}: {text}", task=task.name, text=truncate_line(task.text, _DELEGATE_TITLE_CHARS)
            ),
            action=TouchOwnState(),
            run=lambda progress: self._run(task, progress),
        )
