"""Files of the Perl original, and others that clio did not write, can be opened."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clio.messages import AssistantMessage, SystemMessage, ToolCall, ToolMessage, UserMessage
from clio.sessions import loading
from clio.sessions.state import Bill, Todo
from clio.sessions.store import SessionStore
from tests.sessions.talk import files, store_in
from tests.support.perl_tree import BARE, LONG, NAMED, TRIMMED, TWICE, lay_out_perl_tree

KEYS = (
    "history yarn stm role content id tool_calls function billing requests timestamp metadata created_at arguments "
    "name todos messages tool_call_id"
).split()
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(["user", "tool"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(KEYS),
            inner,
            max_size=5,
        )
    ),
    max_leaves=25,
)


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    """Return a copy of the original's tree."""
    lay_out_perl_tree(tmp_path / ".clio")
    return store_in(tmp_path)


def test_the_originals_sessions_are_listed(store: SessionStore) -> None:
    assert [(info.id, info.name, info.messages, info.first_words[:5]) for info in store.list()] == [
        (TRIMMED, "gen 120x3600", 124, "reque"),
        (BARE, None, 1, ""),
        (NAMED, "Demo project", 3, "Hello"),
        (TWICE, None, 3, "A sec"),
        (LONG, None, 24, "[[CAL"),
    ]
    assert store.find("demo project") == NAMED
    assert store.find(LONG[:4]) == LONG


def test_a_session_with_tool_calls_opens(store: SessionStore) -> None:
    session = store.open(LONG)
    assert (session.created_at, session.model) == (1795229466.0, "mock-1")
    assert session.working_directory == Path("/home/dev/project")
    calling = [message for message in session.messages if isinstance(message, AssistantMessage) and message.tool_calls]
    assert [len(message.tool_calls) for message in calling] == [3, 3, 6]
    assert calling[1].tool_calls[1] == ToolCall(
        id="call_487_1",
        name="memory_operations",
        arguments='{"operation":"store","key":"plain","content":"ascii only"}',
    )
    answered = {message.tool_call_id for message in session.messages if isinstance(message, ToolMessage)}
    assert answered == {call.id for message in calling for call in message.tool_calls}
    assert session.messages[0].created == 1795229466.0
    assert session.todos == (
        Todo(id=1, title="Read code", status="completed", note="read app.py"),
        Todo(id=2, title="Fix bug", status="in_progress", note="in app.py"),
        Todo(id=3, title="Test", status="pending", note="pytest"),
    )
    assert len(session.bills) > 0 and session.bills[0].model == "openai/mock-1"
    assert session.warnings == []
    session.close()


def test_reading_changes_nothing_and_a_rewrite_copies_the_original(store: SessionStore) -> None:
    original = (store.folder / f"{NAMED}.json").read_bytes()
    store.open(NAMED).close()
    store.read(NAMED)
    assert (store.folder / f"{NAMED}.json").read_bytes() == original

    for number in range(2):
        session = store.open(NAMED)
        session.append(UserMessage(content=f"more {number}"))
        before = list(session.messages)
        session.close()
        assert list(store.read(NAMED)) == before
    assert (store.folder / f"{NAMED}.json.original").read_bytes() == original
    document = msgspec.json.decode((store.folder / f"{NAMED}.json").read_bytes())
    assert (document["lastGitHubCopilotResponseId"], document["api_config"]) == ("chatcmpl-492", {})
    assert (document["session_name"], document["selected_model"], len(document["history"])) == (
        "Demo project",
        "mock-1",
        5,
    )
    assert document["billing"]["requests"] == [
        msgspec.to_builtins(
            Bill(model="openai/mock-1", prompt_tokens=5702, completion_tokens=12, timestamp=1795229567.0)
        )
    ]


def test_a_killed_session_continues_the_originals_file(store: SessionStore) -> None:
    session = store.open(NAMED)
    session.append(UserMessage(content="more"))
    assert session._disk is not None
    session._disk.release()
    assert list(store.read(NAMED)) == session.messages
    assert f"{NAMED}.journal.jsonl" in files(store.folder)


def test_trimmed_messages_are_read_from_the_archive() -> None:
    archive = [{"role": "user", "content": str(number), "id": f"m{number}"} for number in range(6)]
    notice = {"role": "system", "content": "[CONTEXT TRIM]"}
    read = loading.decode_foreign_session(
        {"history": [archive[0], notice, *archive[4:]], "yarn": {"s": archive}, "stm": []}, "s"
    )
    words = [message.content for message in read.state.messages if not isinstance(message, AssistantMessage)]
    assert words == ["0", "[CONTEXT TRIM]", "1", "2", "3", "4", "5"]
    assert len(read.state.window_ids) == 4
    again = loading.decode_foreign_session({"history": [archive[0], notice, *archive[4:]], "yarn": {"s": archive}}, "s")
    assert again == read  # the notice has no id of its own, and gets the same one each time


def test_doubly_encoded_text_is_repaired_and_the_file_is_not_changed(store: SessionStore) -> None:
    path = store.folder / f"{TWICE}.json"
    before = path.read_bytes()
    assert store.read(TWICE)[1].content == "A second session – with ünïcödé text"
    long = store.read(LONG)
    assert isinstance(long[1], UserMessage)
    assert "not JSON – naïve parsers fail" in long[1].content  # encoded twice in the file
    assert isinstance(long[2], AssistantMessage)
    assert "not JSON – naïve parsers fail" in long[2].tool_calls[0].arguments  # correct in the file
    assert store.list()[3].first_words.startswith("A second session – with ünïcödé")
    assert path.read_bytes() == before
    session = store.open(TWICE)
    session.append(UserMessage(content="donnÃ©es stays"))
    session.close()
    assert [message.content for message in store.read(TWICE)[1:]] == [
        "A second session – with ünïcödé text",
        "Mock answer number 491.",
        "donnÃ©es stays",
    ]


def test_text_written_by_clio_is_never_repaired() -> None:
    entry = {"role": "user", "content": "donnÃ©es â\x80\x93", "id": "1"}
    for schema, words in (("clio.session", entry["content"]), (None, "données –")):
        document = {"history": [entry]} | ({"schema": schema} if schema else {})
        assert loading.decode_foreign_session(document, "s").state.messages == [UserMessage(content=words, id="1")]


def test_the_archive_of_a_trimmed_session_is_complete(store: SessionStore) -> None:
    session = store.open(TRIMMED)
    assert len(session.messages) == 124
    assert len(session.window_ids) == 46
    asked = [message.content.split(":")[0] for message in session.messages if isinstance(message, UserMessage)]
    assert asked == [*(f"request {number}" for number in range(1, 31)), "trim now please"]
    session.close()


@pytest.mark.parametrize("pid", [1, 19229])
def test_the_originals_locks_do_not_block(store: SessionStore, pid: int) -> None:
    lock = store.folder / f"{LONG}.lock"
    lock.write_text(f'{{"session_id": "{LONG}", "timestamp": 1795229527.6, "hostname": "vm", "pid": {pid}}}')
    session = store.open(LONG)
    session.append(UserMessage(content="more"))
    session.close()
    assert store.read(LONG)[-1].content == "more"
    assert (store.folder / "EXAMPLE.lock").is_file()


def test_a_session_with_only_the_time_of_its_beginning_was_changed_then() -> None:
    read = loading.decode_foreign_session(
        {"created_at": 1_795_229_614.0, "history": [{"role": "user", "content": "a"}]}, "s"
    )
    assert read.state.updated_at == read.state.created_at == 1_795_229_614.0


def test_unusual_document_shapes_are_read() -> None:
    document: dict[str, Any] = {
        "created_at": "2026-11-21T02:53:34Z",
        "history": [
            {"role": "user", "content": [{"type": "text", "text": "a"}, "b"], "id": "1", "timestamp": "1795229614"},
            {"content": {"role": "user", "content": "nested", "id": "2"}},
            {"role": "assistant", "content": None, "id": "3", "tool_calls": [{"name": "t", "arguments": {"x": 1}}]},
            {"role": "function", "name": "t", "content": {"out": 1}, "id": "4"},
            {"role": "developer", "content": 5, "id": "5"},
            {"role": "user", "content": "twice", "id": "1"},
            "no message",
            {"no": "role"},
        ],
    }
    read = loading.decode_foreign_session(document, "s")
    assert read.state.messages == [
        UserMessage(content="a\nb", id="1", created=1795229614.0),
        UserMessage(content="nested", id="2"),
        AssistantMessage(tool_calls=(ToolCall(id="3-0", name="t", arguments='{"x":1}'),), id="3"),
        ToolMessage(tool_call_id="", name="t", content='{"out":1}', id="4"),
        SystemMessage(content="5", id="5"),
    ]
    assert read.state.created_at == 1795229614.0
    assert len(read.warnings) == 1 and "2 entries" in read.warnings[0]


@given(document=st.dictionaries(st.sampled_from(["history", "yarn", "stm", "billing", "todos", "created_at"]), JSON))
def test_any_json_object_is_read_with_the_same_result_twice(document: dict[str, Any]) -> None:
    first = loading.decode_foreign_session(document, "s")
    ids = [message.id for message in first.state.messages]
    assert len(ids) == len(set(ids))
    assert set(first.state.window_ids) <= set(ids)
    assert msgspec.json.encode(loading.decode_foreign_session(document, "s")) == msgspec.json.encode(first)
