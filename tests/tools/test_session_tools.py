"""Tools of the session: todos, questions, stored outputs; and the set as a whole."""

import asyncio
import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clio.agent.tool_arguments import parse_arguments
from clio.errors import ToolRetry
from clio.memory.system import MemorySystem
from clio.security.actions import Workspace
from clio.sessions.session import Session
from clio.sessions.state import Todo
from clio.sessions.store import SessionStore
from clio.tools.base import Tool, ToolOutput
from clio.tools.output import PAGE_CHARS, ReadOutputArgs, ReadOutputTool, page_output, preview_output, split_rows
from clio.tools.schemas import make_args_schema, make_tool_spec
from clio.tools.session_tools import AskUserArgs, AskUserTool, TodoArgs, TodoItem, TodoTool, apply_todo_operation
from clio.tools.shell.jobs import JobTable
from clio.tools.toolbox import make_session_tools
from tests.support.rows import each_row


class AnsweringUser:
    """Gives its scripted answer, and records the questions."""

    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.asked: list[tuple[str, tuple[str, ...]]] = []

    async def ask(self, question: str, options: tuple[str, ...]) -> str:
        self.asked.append((question, options))
        return self.answer


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    return SessionStore(tmp_path / ".clio" / "sessions")


@pytest.fixture
def session(store: SessionStore, tmp_path: Path) -> Session:
    return store.new(tmp_path)


def call(tool: Tool, args: object) -> ToolOutput:
    return asyncio.run(tool.prepare(args).run(lambda line: None))  # type: ignore[arg-type]


def items(*found: dict[str, object]) -> tuple[TodoItem, ...]:
    return tuple(TodoItem(**each) for each in found)  # type: ignore[arg-type]


def test_a_todo_list_is_written_updated_and_completed(session: Session) -> None:
    tool = TodoTool(session)
    assert call(tool, TodoArgs(operation="read")).text == "(no todos)"
    call(tool, TodoArgs(operation="write", todos=items({"title": "one", "status": "in_progress"}, {"title": "two"})))
    call(tool, TodoArgs(operation="add", todos=items({"title": "  three\nlines "})))
    change = items({"id": 1, "status": "completed"}, {"id": 2, "status": "in_progress", "note": "half"})
    output = call(tool, TodoArgs(operation="update", todos=change))
    assert output.text == "[x] 1. one\n[>] 2. two (half)\n[ ] 3. three lines"
    assert output.summary == "1 of 3 done, now: two"
    assert session.todos == (
        Todo(id=1, title="one", status="completed"),
        Todo(id=2, title="two", status="in_progress", note="half"),
        Todo(id=3, title="three lines"),
    )


def test_writing_again_keeps_the_ids_of_equal_items() -> None:
    before = (Todo(id=1, title="one"), Todo(id=2, title="two", status="completed"))
    after = apply_todo_operation(
        before, "write", items({"title": "new"}, {"title": "two", "status": "completed"}, {"id": 1, "title": "uno"})
    )
    assert after == (Todo(id=3, title="new"), Todo(id=2, title="two", status="completed"), Todo(id=1, title="uno"))


@each_row(
    ("operation", "given_items", "message"),
    [
        ("update", ({"id": 9, "status": "completed"},), "no todo with id 9; the ids are: 1, 2"),
        ("update", ({"status": "completed"},), "no todo with id None"),
        ("update", ({"id": 1, "status": "completed"}, {"id": 9}), "no todo was changed, .* use operation add"),
        ("update", (), "needs todos"),
        ("add", ({"title": " "},), "needs a title"),
        ("add", ({"id": 1, "title": "x"},), "have the id 1"),
        ("add", ({"title": "x", "status": "in_progress"},), r"only one .* 1 \(one\), 3 \(x\)"),
        ("update", ({"id": 2, "status": "in_progress"},), r"only one .* 1 \(one\), 2 \(two\)"),
    ],
)
def test_invalid_changes_are_refused(operation: str, given_items: tuple[dict[str, object], ...], message: str) -> None:
    todos = (Todo(id=1, title="one", status="in_progress"), Todo(id=2, title="two"))
    with pytest.raises(ToolRetry, match=message):
        apply_todo_operation(todos, operation, items(*given_items))  # type: ignore[arg-type]


titled = st.builds(TodoItem, title=st.sampled_from("abc"), status=st.sampled_from(["pending", "completed"]))


@given(st.lists(st.tuples(st.sampled_from(["write", "add"]), st.lists(titled, min_size=1, max_size=4)), max_size=6))
def test_ids_are_always_unique(steps: list[tuple[str, list[TodoItem]]]) -> None:
    todos: tuple[Todo, ...] = ()
    for operation, given_items in steps:
        todos = apply_todo_operation(todos, operation, tuple(given_items))  # type: ignore[arg-type]
        assert len({todo.id for todo in todos}) == len(todos)


def test_a_question_and_its_answer() -> None:
    user = AnsweringUser(" blue ")
    output = call(AskUserTool(user), AskUserArgs(question=" Which? ", options=("red", " blue", "red", "")))
    assert user.asked == [("Which?", ("red", "blue"))]
    assert (output.text, output.summary) == ("The user answered: blue", "blue")


def test_a_missing_answer_is_reported_and_an_empty_question_refused() -> None:
    assert "no answer" in call(AskUserTool(AnsweringUser("")), AskUserArgs(question="Which?")).text
    with pytest.raises(ToolRetry):
        AskUserTool(AnsweringUser("")).prepare(AskUserArgs(question="  "))


def test_the_notice_of_a_preview_leads_to_the_rest(session: Session) -> None:
    whole = "".join(f"line {number}\n" for number in range(5000)) + "x" * 5000
    handle = session.write_blob(whole)
    short = preview_output(whole, 3000, handle)
    offset = int(re.search(r"offset=(\d+)", short)[1])  # type: ignore[index]
    tool = ReadOutputTool(session)
    read = split_rows(whole)[: offset - 1]
    while offset:
        text = call(tool, ReadOutputArgs(handle=handle, offset=offset)).text
        assert len(text) < PAGE_CHARS + 200
        head, *lines = text.split("\n")
        read += lines
        following = re.search(r"continue with offset=(\d+)", head)
        offset = int(following[1]) if following else 0
    assert read == split_rows(whole)


def test_offsets_behind_the_end_and_unknown_handles(session: Session) -> None:
    handle = session.write_blob("a\nb\n")
    assert page_output("a\nb\n", 2, 10).text == "[lines 2-2 of 2, the end]\nb"
    with pytest.raises(ToolRetry, match="has 2 lines"):
        call(ReadOutputTool(session), ReadOutputArgs(handle=handle, offset=3))
    with pytest.raises(ToolRetry, match="No stored output"):
        call(ReadOutputTool(session), ReadOutputArgs(handle="../../etc/passwd"))


def test_the_set_is_complete_described_and_small(store: SessionStore, session: Session, tmp_path: Path) -> None:
    tools = make_session_tools(
        Workspace(tmp_path),
        session,
        AnsweringUser(""),
        MemorySystem(tmp_path, store, incognito=False, ltm=True),
        JobTable(),
        command_timeout_s=120,
        private_network=False,
    )
    names = "run_command job_output job_stop git web_fetch todo_operations ask_user read_output memory_operations"
    assert [tool.name for tool in tools] == names.split()
    full = [make_tool_spec(tool) for tool in tools]
    compact = [make_tool_spec(tool, compact=True) for tool in tools]
    assert {spec.name: len(spec.description.split()) for spec in full if len(spec.description.split()) > 90} == {}
    assert all(0 < len(small.description) < len(spec.description) for spec, small in zip(full, compact, strict=True))
    assert sum(len(msgspec.json.encode(spec)) for spec in full) / 4 < 2200


def test_an_update_adds_its_note_to_the_earlier_one() -> None:
    todos = (Todo(id=1, title="one", note="cause: parse.py:40"),)
    more = apply_todo_operation(todos, "update", items({"id": 1, "note": "fixed in load()"}))
    assert more[0].note == "cause: parse.py:40; fixed in load()"
    assert apply_todo_operation(more, "update", items({"id": 1, "status": "completed", "note": ""})) == (
        Todo(id=1, title="one", status="completed", note="cause: parse.py:40; fixed in load()"),
    )
    whole = items({"id": 1, "note": "cause: parse.py:40; fixed in load(); tests pass"})
    assert apply_todo_operation(more, "update", whole)[0].note == "cause: parse.py:40; fixed in load(); tests pass"


def test_a_new_list_keeps_notes_and_names_removed_items(session: Session) -> None:
    tool = TodoTool(session)
    first = items({"title": "one", "note": "cause: parse.py:40"}, {"title": "two", "note": "needs Python 3.12"})
    call(tool, TodoArgs(operation="write", todos=first))
    output = call(tool, TodoArgs(operation="write", todos=items({"title": "one", "status": "completed"})))
    assert session.todos == (Todo(id=1, title="one", status="completed", note="cause: parse.py:40"),)
    assert "2. two: needs Python 3.12" in output.text


def test_former_names_of_the_fields_are_accepted_and_others_named(session: Session) -> None:
    tool = TodoTool(session)
    written = parse_arguments('{"operation": "write", "todoList": [{"id": 1, "title": "one"}]}', TodoArgs)
    assert call(tool, written).text == "[ ] 1. one"
    updated = parse_arguments('{"operation": "update", "todoUpdates": [{"id": 1, "status": "completed"}]}', TodoArgs)
    assert call(tool, updated).text == "[x] 1. one"
    with pytest.raises(ToolRetry, match="tasks"):
        parse_arguments('{"operation": "write", "tasks": [{"title": "two"}]}', TodoArgs)
    assert "todoList" not in str(make_args_schema(TodoArgs))
