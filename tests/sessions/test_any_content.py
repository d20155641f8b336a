"""No content of a session prevents opening it, and a request can be built from any opened session."""

import json
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from clio.context.message_views import measure_longest_text, shorten_message
from clio.errors import CorruptDocument, NewerDocument, SessionNotFound
from clio.messages import AssistantMessage, ImagePart, Message, SystemMessage, ToolCall, ToolMessage, UserMessage
from clio.providers.base import ChatRequest
from clio.providers.chat import ChatProtocol
from clio.providers.profiles import ServerQuirks
from clio.sessions.side_effects import find_side_effects
from clio.sessions.state import Bill, PlanMode, Todo, Trim
from tests.entrypoints.repl_support import clio, make_place
from tests.sessions.talk import store_in
from tests.support.chat_server import ChatServer, text, tool_calls
from tests.support.examples import examples

LETTERS = st.characters(exclude_categories=()) | st.sampled_from(["\ud800", "\udfff", "\0", "\u2028", "\x1b", "\ufeff"])
TEXTS = st.text(LETTERS, max_size=30)


def nested(depth: int, around: str = "[]") -> str:
    """Return a number inside this many lists, or objects with one field."""
    return around[:-1] * depth + "1" + around[-1] * depth


DEEP = st.builds(nested, st.sampled_from([50, 101, 999, 1_000, 1_001, 5_000]), st.sampled_from(["[]", '{"a":}']))
ODD = st.sampled_from(
    ["NaN", "-Infinity", "1e999", "9" * 5_000, "-0", '{"a":1,"a":2}', "[", '{"path":', '"\\ud800"', ""]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
WRITTEN = VALUES.map(json.dumps) | DEEP | ODD
CALLS = st.builds(
    ToolCall, id=TEXTS, name=st.sampled_from(["run_command", "edit_file"]) | TEXTS, arguments=WRITTEN | TEXTS
)
MESSAGES: st.SearchStrategy[Message] = st.one_of(
    st.builds(SystemMessage, content=TEXTS),
    st.builds(UserMessage, content=TEXTS, context=TEXTS, images=st.just(()), blob=st.none() | TEXTS),
    st.builds(AssistantMessage, content=TEXTS, reasoning=TEXTS, tool_calls=st.lists(CALLS, max_size=3).map(tuple)),
    st.builds(ToolMessage, tool_call_id=TEXTS, content=TEXTS | DEEP, name=TEXTS, summary=TEXTS, blob=st.none() | TEXTS),
)
QUICK = settings(examples(25), deadline=None, suppress_health_check=list(HealthCheck))


def encode_request(messages: list[Message]) -> None:
    """Return the body for a server, as strict JSON."""
    request = ChatRequest(system="s", messages=tuple(messages))
    for quirks in (ServerQuirks(), ServerQuirks(echo_reasoning=True, thought_signatures=True)):
        body = ChatProtocol("m", quirks).encode(request)
        for row in msgspec.json.decode(body.decode("utf-8"))["messages"]:
            for call in row.get("tool_calls", ()):
                assert isinstance(msgspec.json.decode(call["function"]["arguments"]), dict)


@QUICK
@given(messages=st.lists(MESSAGES, min_size=1, max_size=6), end=st.sampled_from(["close", "journal"]))
@example(
    messages=[AssistantMessage(tool_calls=(ToolCall(id="a", name="x", arguments=nested(1_000_000)),))], end="close"
)
def test_written_sessions_can_be_opened_again(messages: list[Message], end: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = store_in(Path(folder))
        session = store.new(Path(folder))
        for message in messages:
            session.append(message)
        session.sync()
        if end == "close":
            session.close()
        again = store.open(session.id) if end == "close" else store.open(session.id, persist=False)
        assert [message.id for message in again.messages[: len(messages)]] == [message.id for message in messages]
        encode_request(again.messages)
        for message in again.messages:
            shorten_message(message, 50)
            measure_longest_text(message)
            for call in message.tool_calls if isinstance(message, AssistantMessage) else ():
                find_side_effects(call, ToolMessage(tool_call_id=call.id, content=""))
        store.list()
        again.close()
        session.close()


ROWS: list[Any] = [
    SystemMessage(content="frame"),
    UserMessage(content="hi", context="now", images=(ImagePart(blob="b", media_type="image/png", name="n", size=1),)),
    AssistantMessage(content="so", reasoning="hm", tool_calls=(ToolCall(id="c", name="read_file"),)),
    ToolMessage(tool_call_id="c", content="text", name="read_file", summary="1 line", blob="b"),
]


def _paths(value: Any, before: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [before, *(path for key, one in inner for path in _paths(one, (*before, key)))]


def _with(document: Any, path: tuple[Any, ...], written: str) -> str:
    """Return the document as JSON, with the value at a path replaced by this text."""
    mark = "\ue000mark\ue000"
    if not path:
        return written
    document = json.loads(json.dumps(document))
    place = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = mark
    return json.dumps(document, ensure_ascii=False).replace(f'"{mark}"', written)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, list[str]]:
    """Return a session's id, its snapshot, and the lines of its journal before that."""
    folder = tmp_path_factory.mktemp("stored")
    store = store_in(folder)
    session = store.new(folder, name="name")
    for message in ROWS:
        session.append(message)
    session.set_todos((Todo(id=1, title="t"),))
    session.set_plan_mode(PlanMode(proposed=True))
    session.add_bill(Bill(model="m", prompt_tokens=1, completion_tokens=1, cached_tokens=0, timestamp=1.0))
    session.set_token_ratio(3.5)
    session.set_model("m")
    session.add_trim(Trim(handle="t1", dropped=(ROWS[0].id,), created=1.0))
    session.sync()
    [journal] = folder.rglob("*.journal.jsonl")
    lines = journal.read_text(encoding="utf-8").splitlines()
    session.close()
    [snapshot] = (path for path in folder.rglob("*.json") if path.stem == session.id)
    return session.id, snapshot.read_text(encoding="utf-8"), lines


@QUICK
@given(data=st.data())
def test_a_wrong_value_anywhere_in_the_files_is_skipped(
    data: st.DataObject, stored: tuple[str, str, list[str]]
) -> None:
    id, snapshot, lines = stored
    written = data.draw(WRITTEN | TEXTS.map(json.dumps) | TEXTS)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / ".clio" / "sessions"
        folder.mkdir(parents=True)
        if data.draw(st.booleans()):
            document = json.loads(snapshot)
            new = _with(document, data.draw(st.sampled_from(_paths(document))), written)
            (folder / f"{id}.json").write_bytes(new.encode("utf-8", "surrogatepass"))
        else:
            row = data.draw(st.integers(0, len(lines) - 1))
            document = json.loads(lines[row])
            new = _with(document, data.draw(st.sampled_from(_paths(document))), written).replace("\n", " ")
            text = "\n".join([*lines[:row], new, *lines[row + 1 :]])
            (folder / f"{id}.journal.jsonl").write_bytes(text.encode("utf-8", "surrogatepass"))
        store = store_in(Path(name))
        store.list()
        try:
            session = store.open(id)
        except (CorruptDocument, SessionNotFound, NewerDocument):
            return  # nothing of it could be read, or a later version wrote it, and the user is told
        encode_request(session.messages)
        session.append(UserMessage(content="more"))
        session.close()
        store.open(session.id).close()


def test_a_turn_with_deeply_nested_arguments_finishes_and_can_be_resumed(tmp_path: Path) -> None:
    calls: list[tuple[str, dict[str, Any] | str]] = [
        ("run_command", f'{{"command":"true","x":{nested(1_000)}}}'),
        ("read_file", "[" * 10_000),
        ("edit_file", '{"path":' + "[{" * 1_000),
        ("run_command", '{"command":"echo \\ud800"}'),
        ("run_command", {"command": "[" * 5_000}),
    ]
    with ChatServer([tool_calls(calls), text("Done."), text("More.")]) as server:
        place = make_place(tmp_path, server)
        first = clio(place, "-p", "go", "--approve", "all", "--output", "stream-json")
        # 4: a line nested so deeply that it cannot be judged needs approval in every mode.
        assert (first.returncode, "with an internal error" in first.stdout) == (4, False)
        assert all(isinstance(json.loads(line), dict) for line in first.stdout.splitlines())
        again = clio(place, "-c", "-p", "again")
        assert (again.returncode, again.stdout.strip()) == (0, "More.")
        assert len(server.requests) == 3
        assert clio(place, "sessions", "export", "1", "page.html").returncode == 0
