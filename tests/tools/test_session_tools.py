"""The tools that belong to the session: todos, questions, stored outputs, memory; and the family as a whole."""

import asyncio
import json
import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clio.errors import ToolFailed, ToolRetry
from clio.memory.system import MemorySystem
from clio.messages import UserMessage
from clio.security.actions import Internal
from clio.security.path_policy import Workspace
from clio.sessions.session import Session
from clio.sessions.state import Todo
from clio.sessions.store import SessionStore
from clio.tools.ask import AskUserArgs, AskUserTool
from clio.tools.base import Tool, ToolOutput
from clio.tools.memory import MemoryArgs, MemoryTool
from clio.tools.output import PAGE_CHARS, ReadOutputArgs, ReadOutputTool, page
from clio.tools.schema import tool_spec
from clio.tools.shell.jobs import JobTable
from clio.tools.todo import TodoArgs, TodoItem, TodoTool, changed
from clio.tools.truncate import preview, rows
from clio.tools.work_tools import work_tools


class Person:
    """Answers what it was told to, and remembers what it was asked."""

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


def test_the_life_of_a_todo_list(session: Session) -> None:
    tool = TodoTool(lambda: session)
    assert call(tool, TodoArgs(operation="read")).text == "(no todos)"
    call(tool, TodoArgs(operation="write", todos=items({"title": "one", "status": "in_progress"}, {"title": "two"})))
    call(tool, TodoArgs(operation="add", todos=items({"title": "  three\nlines "})))
    change = items({"id": 1, "status": "completed"}, {"id": 2, "status": "in_progress", "note": "half"})
    output = call(tool, TodoArgs(operation="update", todos=change))
    assert output.text == "[x] 1. one\n[>] 2. two (half)\n[ ] 3. three lines"
    assert output.summary == "1 of 3 done"
    assert session.todos == (
        Todo(id=1, title="one", status="completed"),
        Todo(id=2, title="two", status="in_progress", note="half"),
        Todo(id=3, title="three lines"),
    )


def test_writing_anew_keeps_the_ids_of_the_same_items() -> None:
    before = (Todo(id=1, title="one"), Todo(id=2, title="two", status="completed"))
    after = changed(
        before, "write", items({"title": "new"}, {"title": "two", "status": "completed"}, {"id": 1, "title": "uno"})
    )
    assert after == (Todo(id=3, title="new"), Todo(id=2, title="two", status="completed"), Todo(id=1, title="uno"))


@pytest.mark.parametrize(
    ("operation", "given_items", "said"),
    [
        ("update", ({"id": 9, "status": "completed"},), "no todo with id 9; the ids are: 1, 2"),
        ("update", ({"status": "completed"},), "no todo with id None"),
        ("update", (), "needs todos"),
        ("add", ({"title": " "},), "needs a title"),
        ("add", ({"id": 1, "title": "x"},), "have the id 1"),
        ("add", ({"title": "x", "status": "in_progress"},), r"only one .* 1 \(one\), 3 \(x\)"),
        ("update", ({"id": 2, "status": "in_progress"},), r"only one .* 1 \(one\), 2 \(two\)"),
    ],
)
def test_changes_that_cannot_be(operation: str, given_items: tuple[dict[str, object], ...], said: str) -> None:
    todos = (Todo(id=1, title="one", status="in_progress"), Todo(id=2, title="two"))
    with pytest.raises(ToolRetry, match=said):
        changed(todos, operation, items(*given_items))  # type: ignore[arg-type]


titled = st.builds(TodoItem, title=st.sampled_from("abc"), status=st.sampled_from(["pending", "completed"]))


@given(st.lists(st.tuples(st.sampled_from(["write", "add"]), st.lists(titled, min_size=1, max_size=4)), max_size=6))
def test_ids_are_always_unique(steps: list[tuple[str, list[TodoItem]]]) -> None:
    todos: tuple[Todo, ...] = ()
    for operation, given_items in steps:
        todos = changed(todos, operation, tuple(given_items))  # type: ignore[arg-type]
        assert len({todo.id for todo in todos}) == len(todos)


def test_a_question_and_its_answer() -> None:
    person = Person(" blue ")
    output = call(AskUserTool(person), AskUserArgs(question=" Which? ", options=("red", " blue", "red", "")))
    assert person.asked == [("Which?", ("red", "blue"))]
    assert (output.text, output.summary) == ("The user answered: blue", "blue")


def test_no_answer_is_said_and_no_question_refused() -> None:
    assert "no answer" in call(AskUserTool(Person("")), AskUserArgs(question="Which?")).text
    with pytest.raises(ToolRetry):
        AskUserTool(Person("")).prepare(AskUserArgs(question="  "))


def test_the_notice_of_a_preview_leads_to_the_rest(session: Session) -> None:
    whole = "".join(f"line {number}\n" for number in range(5000)) + "x" * 5000
    handle = session.write_blob(whole)
    short = preview(whole, 3000, handle)
    offset = int(re.search(r"offset=(\d+)", short)[1])  # type: ignore[index]
    tool = ReadOutputTool(lambda: session)
    read = rows(whole)[: offset - 1]
    while offset:
        text = call(tool, ReadOutputArgs(handle=handle, offset=offset)).text
        assert len(text) < PAGE_CHARS + 200
        head, *lines = text.split("\n")
        read += lines
        following = re.search(r"go on with offset=(\d+)", head)
        offset = int(following[1]) if following else 0
    assert read == rows(whole)


def test_behind_the_end_and_unknown_handles(session: Session) -> None:
    handle = session.write_blob("a\nb\n")
    assert page("a\nb\n", 2, 10).text == "[lines 2-2 of 2, the end]\nb"
    with pytest.raises(ToolRetry, match="has 2 lines"):
        call(ReadOutputTool(lambda: session), ReadOutputArgs(handle=handle, offset=3))
    with pytest.raises(ToolRetry, match="No stored output"):
        call(ReadOutputTool(lambda: session), ReadOutputArgs(handle="../../etc/passwd"))


@pytest.fixture
def memory_tool(store: SessionStore, session: Session, tmp_path: Path) -> MemoryTool:
    session.append(UserMessage(id="m1", content="remember this"))
    return MemoryTool(MemorySystem(tmp_path, store, incognito=False, ltm=True), lambda: session)


def test_notes_through_the_tool(memory_tool: MemoryTool) -> None:
    assert call(memory_tool, MemoryArgs(operation="store", key="auth bug", content="root\ncause")).text == "Stored."
    again = call(memory_tool, MemoryArgs(operation="store", key="auth bug", content="root\ncause 2"))
    assert again.text == "Stored, replacing the old one."
    assert call(memory_tool, MemoryArgs(operation="retrieve", key="auth bug")).text == "root\ncause 2"
    assert re.fullmatch(r"- auth bug \(.*\): root cause 2", call(memory_tool, MemoryArgs(operation="list")).text)
    missing = call(memory_tool, MemoryArgs(operation="retrieve", key="other"))
    assert missing.text == "There is no note 'other'; the newest are: auth bug."
    assert not missing.ok
    assert call(memory_tool, MemoryArgs(operation="delete", key="auth bug")).ok
    assert call(memory_tool, MemoryArgs(operation="list")).text == "No notes are stored."


def test_knowledge_through_the_tool_says_where_it_came_from(
    memory_tool: MemoryTool, session: Session, tmp_path: Path
) -> None:
    call(memory_tool, MemoryArgs(operation="add_discovery", fact="Config is YAML", confidence=0.9))
    call(memory_tool, MemoryArgs(operation="add_solution", error="denied", solution="chown", examples=("a.py",)))
    output = call(memory_tool, MemoryArgs(operation="add_pattern", pattern="atomic writes"))
    assert output.text == "Remembered for later sessions."
    again = call(memory_tool, MemoryArgs(operation="add_discovery", fact="config is yaml"))
    assert again.text == "Known already, confirmed."
    patterns = json.loads((tmp_path / ".clio" / "ltm.json").read_text(encoding="utf-8"))["patterns"]
    source = {"session": session.id, "message": "m1", "asserted_by": "model"}
    for section in ("discoveries", "problem_solutions", "code_patterns"):
        assert [entry["provenance"] for entry in patterns[section]] == [source]
    found = call(memory_tool, MemoryArgs(operation="search", query="yaml configs"))
    assert found.text == "- discovery: Config is YAML"
    assert "shares a word" in call(memory_tool, MemoryArgs(operation="search", query="zebra")).text


def test_recall_through_the_tool(memory_tool: MemoryTool, store: SessionStore, tmp_path: Path) -> None:
    other = store.new(tmp_path, name="storage")
    other.append(UserMessage(id="m7", content="remember that writes are atomic", created=1.0))
    other.close()
    text = call(memory_tool, MemoryArgs(operation="recall_sessions", query="atomic writes")).text
    head, passage = text.split("\n")
    assert "not an instruction" in head
    assert passage.endswith(f"in 'storage' (session {other.id}, message m7), user: remember that writes are atomic")
    assert "remember this" not in text
    assert "No earlier session" in call(memory_tool, MemoryArgs(operation="recall_sessions", query="zebra")).text


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (MemoryArgs(operation="store", key="k"), "needs key and content; content is missing"),
        (MemoryArgs(operation="add_solution"), "needs error and solution; error and solution is missing"),
        (MemoryArgs(operation="search", query=" "), "needs query; query is missing"),
    ],
)
def test_a_missing_parameter_is_named(memory_tool: MemoryTool, args: MemoryArgs, said: str) -> None:
    with pytest.raises(ToolRetry, match=said):
        memory_tool.prepare(args)


def test_writing_operations_are_marked_for_policy(memory_tool: MemoryTool) -> None:
    assert memory_tool.prepare(MemoryArgs(operation="store", key="k", content="c")).action == Internal(
        writes_memory=True
    )
    assert memory_tool.prepare(MemoryArgs(operation="list")).action == Internal(writes_memory=False)


def test_an_unusable_folder_is_a_sentence(store: SessionStore, session: Session, tmp_path: Path) -> None:
    (tmp_path / ".clio").write_text("a file where the folder should be", encoding="utf-8")
    tool = MemoryTool(MemorySystem(tmp_path, store, incognito=False, ltm=True), lambda: session)
    with pytest.raises(ToolFailed, match="memory of this project cannot be used"):
        call(tool, MemoryArgs(operation="store", key="k", content="c"))


def test_the_family_is_complete_described_and_small(store: SessionStore, session: Session, tmp_path: Path) -> None:
    tools = work_tools(
        Workspace(tmp_path),
        lambda: session,
        Person(""),
        MemorySystem(tmp_path, store, incognito=False, ltm=True),
        JobTable(),
        command_timeout_s=120,
        private_network=False,
    )
    names = "run_command job_output job_stop git web_fetch todo_operations ask_user read_output memory_operations"
    assert [tool.name for tool in tools] == names.split()
    full = [tool_spec(tool) for tool in tools]
    compact = [tool_spec(tool, compact=True) for tool in tools]
    assert all(len(spec.description.split()) <= 90 for spec in full)
    assert all(0 < len(small.description) < len(spec.description) for spec, small in zip(full, compact, strict=True))
    assert sum(len(msgspec.json.encode(spec)) for spec in full) / 4 < 2200
