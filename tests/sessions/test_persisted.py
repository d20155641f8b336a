"""Files of every version of clio stay readable: one real pair per version in tests/fixtures/persisted."""

import shutil
from pathlib import Path

import msgspec
import pytest

from clio.messages import AssistantMessage, SystemMessage, ToolCall, ToolMessage, Usage, UserMessage
from clio.sessions.state import Bill, Todo
from tests.sessions.talk import store_in

PERSISTED = Path(__file__).parent.parent / "fixtures" / "persisted"
SESSION_ID = "0198f0c2-7d1a-7000-8000-000000000001"
CALL = ToolCall(id="call_1", name="read_file", arguments='{"path": "app.py"}')
MESSAGES = [
    SystemMessage(content="note", id="m0", created=1.0),
    UserMessage(content="what is in app.py?", context="<date>2026-01-02</date>", id="m1", created=2.0),
    AssistantMessage(
        content="I look.",
        reasoning="easy",
        tool_calls=(CALL,),
        model="mock",
        finish_reason="tool_calls",
        usage=Usage(prompt_tokens=100, completion_tokens=7, cached_tokens=50),
        id="m2",
        created=3.0,
    ),
    ToolMessage(
        tool_call_id="call_1",
        content="print()",
        name="read_file",
        summary="1 line",
        blob="01234567",
        id="m3",
        created=4.0,
    ),
    AssistantMessage(content="A print – naïve.", model="mock", finish_reason="stop", id="m4", created=5.0),
    UserMessage(content="go on", origin="continue", id="m5", created=6.0),
]
BILLS = [
    Bill(model="mock", prompt_tokens=100, completion_tokens=7, cached_tokens=50, timestamp=3.0),
    Bill(model="mock", prompt_tokens=120, completion_tokens=9, timestamp=5.0),
]


@pytest.mark.parametrize("version", [1, 2])
def test_every_version_opens(tmp_path: Path, version: int) -> None:
    store = store_in(tmp_path)
    shutil.copytree(PERSISTED / f"session-v{version}", store.folder)
    [info] = store.list()
    assert (info.id, info.name, info.messages, info.first_words) == (SESSION_ID, "renamed", 6, "what is in app.py?")
    session = store.open(SESSION_ID)
    assert session.messages == MESSAGES
    assert session.window_ids == ["m1", "m2", "m3", "m4", "m5"]
    assert session.bills == BILLS
    assert session.todos == (Todo(id=1, title="read", status="in_progress"), Todo(id=2, title="fix", note="later"))
    assert (session.name, session.model, session.token_ratio, session.parent) == ("renamed", "big", 3.5, "older")
    assert (session.created_at, session.working_directory) == (1.0, Path("/project"))
    assert session.warnings == []
    session.set_model("big")
    session.close()
    written = (store.folder / f"{SESSION_ID}.json").read_bytes()
    document = msgspec.json.decode(written)
    assert (document["version"], document["stm"], document["yarn"]) == (2, [["m1", "m5"]], {SESSION_ID: [["m0", "m5"]]})
    assert not (store.folder / f"{SESSION_ID}.json.original").exists()
