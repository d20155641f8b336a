"""`clio acp` as a real process, controlled by the SDK's own client, with a scripted model."""

import asyncio
import base64
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from acp import RequestError, image_block, resource_block, resource_link_block
from acp.helpers import embedded_text_resource
from acp.schema import EnvVariable, McpServerStdio

from clio.config.layers import load_config
from clio.config.options import Options
from clio.config.trust import trust_project
from clio.sessions.store import SessionStore
from tests.entrypoints.repl_support import ROOT, Place, make_place
from tests.support.acp_editor import Editor, both, editor, kind
from tests.support.chat_server import ChatServer, finish, stall, text, tool_calls
from tests.support.waiting import run_loop_once

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 40
SECRET = "sk-proj-x7Kq2mVbT9wLr4NcZ8pHs3JdFg6Y"
pytestmark = pytest.mark.timeout(90)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with ChatServer() as server:
        yield make_place(tmp_path_factory.mktemp("acp"), server)


@pytest.fixture(scope="module")
def shared(place: Place) -> Iterator[Editor]:
    """One process for most tests, because its imports take most of a second."""
    with editor(place.env(), place.home, files=True) as one:
        yield one


@pytest.fixture
def client(shared: Editor, place: Place) -> Iterator[Editor]:
    shared.forget()
    server = the_server(place)
    server.replies.clear()
    server.requests.clear()
    yield shared


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / ".clio").mkdir(parents=True)
    (folder / "a.py").write_text("def one():\n    return 1\n\n\nprint(one())\n", encoding="utf-8")
    return folder


def the_server(place: Place) -> ChatServer:
    assert place.server is not None
    return place.server


def set_trusted(place: Place, project: Path, settings: str) -> None:
    """Give the project these settings, and trust it with them."""
    (project / ".clio" / "config.yaml").write_text(settings, encoding="utf-8")
    trust_project(load_config(Options(cwd=project), place.env()))


def script(place: Place, *replies: Any) -> None:
    the_server(place).add(*replies)


def last_request(place: Place) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = the_server(place).requests[-1].body["messages"]
    return messages


def last_sent_text(place: Place) -> str:
    return json.dumps(last_request(place)[-1]["content"], ensure_ascii=False)


def edit(old: str = "return 1", new: str = "return 2", path: str = "a.py") -> Any:
    return tool_calls([("edit_file", {"path": path, "old_string": old, "new_string": new})])


def fails(work: Callable[[], object]) -> RequestError:
    with pytest.raises(RequestError) as caught:
        work()
    return caught.value


def test_capabilities_are_announced(client: Editor) -> None:
    assert client.hello is not None
    can = client.hello.agent_capabilities
    assert can is not None and can.load_session
    assert can.prompt_capabilities.image and can.prompt_capabilities.embedded_context
    assert can.session_capabilities.list is not None and can.session_capabilities.close is not None
    assert client.hello.agent_info is not None and client.hello.agent_info.name == "clio"


def test_text_and_reasoning_stream_and_the_session_is_listed(client: Editor, place: Place, project: Path) -> None:
    session = client.new(project)
    [offered] = client.of_kind(session, "available_commands_update")
    names = {command.name: command for command in offered.available_commands}
    assert {"undo", "plan", "model", "context", "memory"} <= set(names) and not {"clear", "exit"} & set(names)
    assert names["model"].input.root.hint == "[NAME]"
    script(place, text("Hello **there**, \x1b[31mred\x1b[0m.", reasoning="Let me see.", pause_s=0.001))
    assert client.prompt(session, "hello") == "end_turn"
    assert client.joined_text(session) == "Hello **there**, red."
    assert client.joined_text(session, "agent_thought_chunk") == "Let me see."
    [usage] = client.of_kind(session, "usage_update")
    assert usage.used > 100 and usage.size > usage.used
    assert [one.title for one in client.of_kind(session, "session_info_update")] == ["hello"]
    listed = client.call(client.agent.list_sessions(cwd=str(project)))
    assert [(one.session_id, one.title, one.cwd) for one in listed.sessions] == [(session, "hello", str(project))]


def test_an_edit_is_shown_approved_and_made(client: Editor, place: Place, project: Path) -> None:
    session = client.new(project)
    script(place, tool_calls([("read_file", {"path": "a.py", "offset": 2})]), edit(), text("Done."))
    assert client.prompt(session, "make it two") == "end_turn"
    path = str(project / "a.py")
    read, change = client.of_kind(session, "tool_call")
    assert (read.kind, read.title, read.locations[0].path, read.locations[0].line) == (
        "read", "read a.py:2", path, 2,
    )  # fmt: skip
    assert (change.kind, change.title, change.raw_input["new_string"]) == ("edit", "edit a.py", "return 2")
    [question] = client.questions
    assert question.tool_call_id == change.tool_call_id
    [diff] = [one for one in question.content if one.type == "diff"]
    before, after = "def one():\n    return 1\n\n\nprint(one())\n", "def one():\n    return 2\n\n\nprint(one())\n"
    assert (diff.path, diff.old_text, diff.new_text) == (path, before, after)
    updates = [one for one in client.of_kind(session, "tool_call_update") if one.tool_call_id == change.tool_call_id]
    assert [one.status for one in updates] == ["in_progress", "completed"]
    [made] = updates[-1].content
    assert (made.type, made.old_text, made.new_text) == ("diff", before, after)
    assert updates[-1].locations[0].line == 2
    seen = [one for one in client.of_kind(session, "tool_call_update") if one.tool_call_id == read.tool_call_id]
    assert "return 1" in seen[-1].content[0].content.text
    assert (project / "a.py").read_text(encoding="utf-8") == after
    assert client.prompt(session, "/undo") == "end_turn"
    assert "Undid" in client.joined_text(session) and "| file |" in client.joined_text(session)
    assert (project / "a.py").read_text(encoding="utf-8") == before


def test_a_denial_applies_to_this_call_only(client: Editor, place: Place, project: Path) -> None:
    session = client.new(project)
    client.answer = lambda call, options: "no"
    script(place, edit(), text("Left alone."))
    assert client.prompt(session, "make it two") == "end_turn"
    assert "return 1" in (project / "a.py").read_text(encoding="utf-8")
    [change] = client.of_kind(session, "tool_call")
    assert client.of_kind(session, "tool_call_update")[-1].status == "failed"
    assert "the user declined" in client.of_kind(session, "tool_call_update")[-1].content[0].content.text
    client.answer = lambda call, options: ""
    script(place, edit(), text("Still."))
    assert client.prompt(session, "again") == "end_turn"
    assert "closed without an answer" in last_sent_text(place) and change.status == "in_progress"


def test_always_saves_a_rule_and_asks_no_more(client: Editor, place: Place, project: Path) -> None:
    session = client.new(project)
    client.answer = lambda call, options: "always"
    run = tool_calls([("run_command", {"command": "touch made.txt"})])
    script(place, run, run, text("Twice."))
    assert client.prompt(session, "touch it") == "end_turn"
    [question] = client.questions
    assert question.kind == "execute" and "touch made.txt" in question.content[0].content.text
    assert (project / ".clio" / "config.yaml").read_text(encoding="utf-8") == 'allow:\n  - "touch <safe>"\n'
    ends = [one for one in client.of_kind(session, "tool_call_update") if one.status == "completed"]
    assert "exit 0" in ends[-1].content[0].content.text


def test_a_command_is_stopped_with_its_child_processes(client: Editor, place: Place, project: Path) -> None:
    session = client.new(project)
    loud = "sleep 300 & echo $! > child; wait"
    fifo, written = project / "child", list[str]()
    os.mkfifo(fifo)
    script(place, tool_calls([("run_command", {"command": loud})]), text("never"))

    async def stop_it() -> list[Any]:
        async def cancel() -> None:
            written.append(await asyncio.to_thread(fifo.read_text, encoding="utf-8"))
            await client.agent.cancel(session_id=session)

        return await both(client.say(session, "run it"), cancel())

    assert client.call(stop_it())[0] == "cancelled"
    child = int(written[0])
    assert not Path(f"/proc/{child}").exists() or "Z" in Path(f"/proc/{child}/stat").read_text(encoding="utf-8")
    script(place, text("I go on."))
    assert client.prompt(session, "and now?") == "end_turn"
    roles = [message["role"] for message in last_request(place)]
    assert roles[-4:] == ["user", "assistant", "tool", "user"]


@pytest.mark.fast
def test_an_answer_is_stopped_in_the_middle(client: Editor, place: Place, project: Path) -> None:
    session = client.new(project)
    script(place, stall("It was a dark and"))

    async def stop_it() -> list[Any]:
        async def cancel() -> None:
            await client.until(lambda id, update: id == session and kind(update) == "agent_message_chunk")
            await client.agent.cancel(session_id=session)
            await client.agent.cancel(session_id=session)

        return await both(client.say(session, "a story"), cancel())

    assert client.call(stop_it())[0] == "cancelled"
    client.call(client.agent.cancel(session_id=session))
    client.call(client.agent.cancel(session_id="nonsense"))
    script(place, text("stormy night."))
    assert client.prompt(session, "go on") == "end_turn"
    assert any("It was a dark and" in str(message["content"]) for message in last_request(place))


@pytest.mark.fast
def test_a_prompt_during_a_turn_steers_it(client: Editor, place: Place, project: Path) -> None:
    session = client.new(project)
    script(place, tool_calls([("ask_user", {"question": "Which?", "options": ["red", "blue"]})]), text("Blue, dotted."))

    steered: list[asyncio.Future[str]] = []

    async def said_before_the_answer() -> None:
        steered.append(asyncio.ensure_future(client.say(session, "make it dotted")))
        await run_loop_once()  # it was sent
        await client.agent.set_session_mode(session_id=session, mode_id="ask")  # answered after everything before it

    async def steer() -> list[str]:
        client.before_answer = said_before_the_answer
        first = await client.say(session, "paint it")
        return [first, await steered[0]]

    held: list[Any] = []

    def answer(call: Any, options: list[Any]) -> str:
        held.append([option.name for option in options])
        return "1"

    client.answer = answer
    assert client.call(steer()) == ["end_turn", "end_turn"]
    assert held == [["red", "blue", "No answer"]]
    sent = [str(message["content"]) for message in last_request(place)]
    assert any("The user answered: blue" in one for one in sent)
    assert any("make it dotted" in one for one in sent)


def test_two_simultaneous_sessions_are_separate(client: Editor, place: Place, project: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    first, second = client.new(project), client.new(other)
    server = the_server(place)
    server._always = lambda body: text(f"echo {body['messages'][-1]['content'][-5:]}", pause_s=0.001, chunk_size=1)
    try:

        async def talk() -> list[str]:
            return await both(*(client.say(session, word) for session, word in ((first, "alpha"), (second, "gamma"))))

        assert client.call(talk()) == ["end_turn", "end_turn"]
    finally:
        server._always = None
    assert (client.joined_text(first), client.joined_text(second)) == ("echo alpha", "echo gamma")


def test_pictures_links_and_attached_texts_are_sent_with_the_prompt(
    client: Editor, place: Place, project: Path
) -> None:
    set_trusted(place, project, "models:\n  test-model: {images: true}\n")
    session = client.new(project)
    script(place, text("A cat."))
    stop = client.prompt(
        session,
        "Compare ",
        resource_link_block("a.py", f"{(project / 'a.py').as_uri()}#L1:2"),
        " with ",
        resource_block(embedded_text_resource((project / "draft.md").as_uri(), "# Not saved\nIdeas")),
        " and this:",
        image_block(base64.b64encode(PNG).decode(), "image/png"),
        resource_link_block("the docs", "https://example.org/x"),
    )
    assert stop == "end_turn"
    sent = last_sent_text(place)
    assert "return 1" in sent and "print(one())" not in sent, "two lines of the file"
    assert "Ideas" in sent and "with draft.md and this:" in sent
    assert "data:image/png;base64," in sent
    assert "the docs (https://example.org/x)" in sent
    broken = fails(lambda: client.prompt(session, image_block("§", "image/png")))
    assert "not valid base64" in str(broken)
    assert "the prompt is empty" in str(fails(lambda: client.prompt(session, "  ")))


def test_an_unsaved_buffer_is_read_and_saved_before_it_is_changed(client: Editor, place: Place, project: Path) -> None:
    path = str(project / "a.py")
    typed = "def one():\n    return 1  # mine\n\n\nprint(one())\n"
    session = client.new(project)
    client.buffers[path] = typed
    script(
        place, tool_calls([("read_file", {"path": "a.py"})]), edit("return 1  # mine", "return 2  # ours"), text("k")
    )
    assert client.prompt(session, "make it two") == "end_turn"
    read = client.of_kind(session, "tool_call_update")[1].content[0].content.text
    assert "# mine" in read and "not saved yet" in read
    assert client.saved == [path]
    [diff] = [one for one in client.questions[0].content if one.type == "diff"]
    assert diff.old_text == typed
    assert "# ours" in (project / "a.py").read_text(encoding="utf-8")
    client.prompt(session, "/undo")
    assert (project / "a.py").read_text(encoding="utf-8") == typed, "the text that the user typed is not lost"


def test_an_outdated_buffer_is_not_used(client: Editor, place: Place, project: Path) -> None:
    path = str(project / "a.py")
    session = client.new(project)
    client.answer = lambda call, options: "session"
    script(
        place,
        tool_calls([("read_file", {"path": "a.py"})]),
        tool_calls([("run_command", {"command": "echo 'x = 1' > a.py"})]),
        tool_calls([("read_file", {"path": "a.py"})]),
        text("k"),
    )
    client.buffers[path] = (project / "a.py").read_text(encoding="utf-8")  # and the editor never reads the disk again
    assert client.prompt(session, "rewrite it") == "end_turn"
    assert "x = 1" in last_sent_text(place) and client.saved == []


def test_a_plan_is_sent_as_a_plan_and_needs_approval(client: Editor, place: Place, project: Path) -> None:
    session = client.new(project)
    todos = [{"title": "look", "status": "in_progress"}, {"title": "leap"}]
    write = tool_calls([("todo_operations", {"operation": "write", "todos": todos})])
    script(place, write, text("That is the plan."), edit(), text("Leapt."))
    client.call(client.agent.set_session_mode(session_id=session, mode_id="plan"))
    client.answer = lambda call, options: "edits"
    assert client.prompt(session, "plan it") == "end_turn"
    [plan] = client.of_kind(session, "plan")
    assert [(one.content, one.status) for one in plan.entries] == [("look", "in_progress"), ("leap", "pending")]
    [question] = client.questions
    assert question.kind == "switch_mode" and "leap" in question.content[0].content.text
    assert [one.current_mode_id for one in client.of_kind(session, "current_mode_update")] == ["edits"]
    assert "return 2" in (project / "a.py").read_text(encoding="utf-8")
    assert "no mode 'yolo'" in str(
        fails(lambda: client.call(client.agent.set_session_mode(session_id=session, mode_id="yolo")))
    )


def test_slash_commands_work_without_a_screen(client: Editor, place: Place, project: Path) -> None:
    session = client.new(project)
    script(place, text("One."))
    client.prompt(session, "remember: we ship on fridays")
    for line, shown in (
        ("/context", "window"),
        ("/approve edits", "Approval mode `edits`"),
        ("/effort high", "Effort `high` for `test-model` from the next request on"),
        ("/effort", "| → | high |"),
        ("/model", "effort `high`"),
        ("/nonsense", "There is no command"),
        ("/session new", "Open sessions in the editor"),
        ("/todo edit", "needs a terminal"),
        ("/session export out.html", "Wrote"),
        ("/todo add buy milk", "buy milk"),
        ("/todo", "- [ ] buy milk"),
    ):
        client.updates[session].clear()
        assert client.prompt(session, line) == "end_turn"
        assert shown in client.joined_text(session), line
        if line.startswith("/approve"):
            assert [one.current_mode_id for one in client.of_kind(session, "current_mode_update")] == ["edits"]
    assert (project / "out.html").is_file()
    assert the_server(place).requests[1:] == []


def test_the_ways_in_which_turns_end(client: Editor, place: Place, project: Path) -> None:
    set_trusted(place, project, "max_steps: 1\n")
    session = client.new(project)
    look = tool_calls([("list_files", {})])
    script(place, look)
    assert client.prompt(session, "look") == "max_turn_requests"
    assert "> stopped after 1 steps" in client.joined_text(session)
    script(place, finish("content_filter", "I can"))
    assert client.prompt(session, "and?") == "refusal"
    failed = fails(lambda: client.prompt(session, "nobody is there"))
    assert failed.code == -32602 or failed.code == -32603
    assert "no more replies" in str(failed)
    unknown = fails(lambda: client.prompt("0" * 36, "x"))
    assert (unknown.code, "is not open here" in str(unknown)) == (-32002, True)


def test_invalid_folders_and_settings_give_a_one_sentence_error(client: Editor, project: Path, tmp_path: Path) -> None:
    for folder, sentence in (
        ("relative", "must be an absolute path"),
        (str(tmp_path / "nowhere"), "no such folder"),
        (str(project / "a.py"), "not a folder"),
    ):
        error = fails(lambda folder=folder: client.call(client.agent.new_session(cwd=folder, mcp_servers=[])))
        assert (error.code, sentence in str(error)) == (-32602, True)
    (project / ".clio" / "config.yaml").write_text("approve: maybe\n", encoding="utf-8")
    error = fails(lambda: client.new(project))
    assert error.code == -32602 and ".clio/config.yaml:1" in str(error)
    missing = fails(
        lambda: client.call(client.agent.load_session(cwd=str(tmp_path), session_id="0" * 36, mcp_servers=[]))
    )
    assert missing.code == -32002


def test_settings_that_need_trust_are_reported(client: Editor, place: Place, project: Path) -> None:
    (project / ".clio" / "config.yaml").write_text("approve: all\n", encoding="utf-8")
    session = client.new(project)
    script(place, text("Hm."))
    client.prompt(session, "hello")
    assert "trust" in client.joined_text(session)
    assert client.prompt(session, "/trust") == "end_turn", "asks, and is answered with an id that is not offered"
    client.answer = lambda call, options: "yes"
    assert client.prompt(session, "/trust") == "end_turn"
    assert "trusted" in client.joined_text(session)
    answer = client.call(client.agent.new_session(cwd=str(project), mcp_servers=[]))
    assert answer.modes.current_mode_id == "all"


def test_a_session_in_use_by_another_clio_is_refused(client: Editor, place: Place, project: Path) -> None:
    store = SessionStore(project / ".clio" / "sessions")
    held = store.new(project)
    from clio.messages import UserMessage

    held.append(UserMessage(content="mine"))
    error = fails(lambda: client.call(client.agent.load_session(cwd=str(project), session_id=held.id, mcp_servers=[])))
    assert error.code == -32602 and held.id[:8] in str(error)
    held.close()


def test_the_editors_mcp_servers_are_used(client: Editor, place: Place, project: Path) -> None:
    peer = McpServerStdio(
        name="peer",
        command=sys.executable,
        args=["-S", "-m", "tests.support.mcp_peer"],
        env=[EnvVariable(name="PYTHONPATH", value=str(ROOT))],
    )
    answer = client.call(client.agent.new_session(cwd=str(project), mcp_servers=[peer]))
    script(place, tool_calls([("mcp_peer_add", {"a": 2, "b": 3})]), text("Five."))
    assert client.prompt(answer.session_id, "add") == "end_turn"
    [question] = client.questions
    assert '"a"' in question.content[0].content.text
    assert client.of_kind(answer.session_id, "tool_call_update")[-1].content[0].content.text.count("5") >= 1
    client.call(client.agent.close_session(session_id=answer.session_id))


def test_sessions_are_closed_and_resumed(client: Editor, place: Place, project: Path) -> None:
    session = client.new(project)
    script(place, text("First."), text("Second."))
    client.prompt(session, "one")
    client.call(client.agent.close_session(session_id=session))
    assert fails(lambda: client.prompt(session, "x")).code == -32002
    client.updates.clear()
    client.call(client.agent.resume_session(cwd=str(project), session_id=session, mcp_servers=[]))
    assert client.prompt(session, "two") == "end_turn"
    assert client.joined_text(session, "user_message_chunk") == "" and client.joined_text(session) == "Second."
    assert [message["content"] for message in last_request(place) if message["role"] == "assistant"] == ["First."]


def test_a_process_killed_during_an_answer_loses_nothing(client: Editor, place: Place, project: Path) -> None:
    script(place, edit(), stall("half an answer"))
    with editor(place.env(), project.parent, "--approve", "edits") as first:
        session = first.new(project)

        async def kill() -> None:
            await first.until(lambda id, update: "half" in str(getattr(update, "content", "")))
            first.process.send_signal(signal.SIGKILL)
            await first.process.wait()

        first.call(both_or_gone(first, session, kill))
    script(place, text("Whole."))
    client.call(client.agent.load_session(cwd=str(project), session_id=session, mcp_servers=[]))
    assert client.joined_text(session, "user_message_chunk") == "make it two [REDACTED:openai-key]"
    [call] = client.of_kind(session, "tool_call")
    assert (call.kind, call.status, call.locations[0].path) == ("edit", "completed", str(project / "a.py"))
    [diff] = client.of_kind(session, "tool_call_update")[0].content
    assert (diff.old_text, diff.new_text) == ("return 1", "return 2")
    assert client.prompt(session, "go on") == "end_turn"
    assert client.joined_text(session).endswith("Whole.")
    assert (project.parent / "errors.txt").read_text(encoding="utf-8") == ""
    assert client.errors.read_text(encoding="utf-8") == ""


async def both_or_gone(one: Editor, session: str, kill: Callable[[], Any]) -> None:
    async def prompt() -> None:
        with pytest.raises((ConnectionError, RequestError)):
            await one.say(session, f"make it two {SECRET}")

    await both(prompt(), kill())


def test_a_session_without_a_prompt_is_loaded_empty(client: Editor, place: Place, project: Path) -> None:
    with editor(place.env(), project.parent) as first:
        session = first.new(project)
    assert not list((project / ".clio" / "sessions").glob(f"{session}*"))
    client.call(client.agent.load_session(cwd=str(project), session_id=session, mcp_servers=[]))
    assert client.joined_text(session, "user_message_chunk") == ""
    script(place, text("Begun."))
    assert client.prompt(session, "begin") == "end_turn"
    assert list((project / ".clio" / "sessions").glob(f"{session}*"))
    never = "01900000-0000-4000-8000-000000000000"
    assert (
        fails(lambda: client.call(client.agent.load_session(cwd=str(project), session_id=never, mcp_servers=[]))).code
        == -32002
    )
