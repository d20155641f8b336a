"""A session from its first message to the next opening."""

import stat
from pathlib import Path

import msgspec
import pytest

from clio.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from clio.sessions.state import Bill, PlanMode, Todo, Trim
from tests.sessions.talk import a_turn, files, kill, say, store_in

BILL = Bill(model="m", prompt_tokens=10, completion_tokens=2, cached_tokens=5, timestamp=1.5)
TODOS = (Todo(id=1, title="read", status="completed"), Todo(id=2, title="fix", note="in app.py"))


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_nothing_is_on_disk_before_the_first_message(tmp_path: Path) -> None:
    session = store_in(tmp_path).new(tmp_path, name="plan")
    session.set_todos(TODOS)
    session.set_model("m")
    session.sync()
    assert files(tmp_path) == []
    session.close()
    assert files(tmp_path) == []
    assert session.unsaved_reason is None


def test_the_first_message_makes_the_files_private_and_ignored(tmp_path: Path) -> None:
    session = store_in(tmp_path).new(tmp_path)
    session.append(UserMessage(content="hello"))
    folder = tmp_path / ".clio" / "sessions"
    id = session.id
    assert files(tmp_path) == [
        ".clio/.gitignore",
        f".clio/sessions/{id}.journal.jsonl",
        f".clio/sessions/{id}.lock",
    ]
    assert [mode(tmp_path / ".clio"), mode(folder), mode(folder / f"{id}.journal.jsonl")] == [0o700, 0o700, 0o600]
    session.close()
    assert files(folder) == [f"{id}.json"]
    assert mode(folder / f"{id}.json") == 0o600


@pytest.mark.parametrize("end", ["close", "kill"])
def test_a_reopened_session_has_all_its_content(tmp_path: Path, end: str) -> None:
    store = store_in(tmp_path)
    session = store.new(tmp_path / "sub", name="first name", parent="older")
    turns = a_turn(1) + a_turn(2)
    session.set_todos(TODOS[:1])
    say(session, turns[:5])
    session.add_bill(BILL)
    session.add_bill(BILL)
    say(session, turns[5:])
    session.set_todos(TODOS)
    session.set_plan_mode(PlanMode(proposed=True))
    session.rename("  second\nname ")
    session.set_token_ratio(3.25)
    session.set_model("big")
    session.set_stm(tuple(message.id for message in turns[4:]))
    handle = session.write_blob("a long output\n" * 1000)
    session.sync()
    session.close() if end == "close" else kill(session)

    again = store.open(session.id)
    assert again.messages == turns
    assert again.window_ids == [message.id for message in turns[4:]]
    assert (again.id, again.name, again.parent, again.model) == (session.id, "second name", "older", "big")
    assert (again.created_at, again.working_directory) == (session.created_at, tmp_path / "sub")
    assert (again.todos, again.bills, again.token_ratio) == (TODOS, [BILL, BILL], 3.25)
    assert again.plan_mode == PlanMode(proposed=True)
    assert again.read_blob(handle) == "a long output\n" * 1000
    assert (again.unsaved_reason, again.warnings, again.is_persistent) == (None, [], True)
    again.close()


def test_the_snapshot_contains_each_message_once(tmp_path: Path) -> None:
    session = store_in(tmp_path).new(tmp_path, name="demo")
    turn = a_turn()
    say(session, turn)
    session.set_stm((turn[3].id,))
    session.add_bill(BILL)
    session.close()
    path = tmp_path / ".clio" / "sessions" / f"{session.id}.json"
    document = msgspec.json.decode(path.read_bytes())
    ids = [message.id for message in turn]
    assert document["history"] == msgspec.json.decode(msgspec.json.encode(turn))
    assert (document["stm"], document["yarn"]) == ([turn[3].id], {session.id: [[ids[0], ids[-1]]]})
    assert document["billing"] == {
        "requests": [msgspec.to_builtins(BILL)],
        "total_requests": 1,
        "total_prompt_tokens": 10,
        "total_completion_tokens": 2,
        "total_tokens": 12,
    }
    assert (document["schema"], document["version"], document["id"]) == ("clio.session", 2, session.id)
    assert (document["session_name"], document["working_directory"]) == ("demo", str(tmp_path))
    assert (document["created_at"], document["message_count"]) == (session.created_at, 4)
    assert path.read_bytes().count("question 0 – naïve 漢字".encode()) == 2  # the message, and first_words


def test_later_messages_join_the_window(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    session = store.new(tmp_path)
    first, second = a_turn(1), a_turn(2)
    say(session, first)
    session.set_stm(())
    say(session, second)
    kill(session)
    again = store.open(session.id)
    assert again.window_ids == [message.id for message in second]
    again.close()


def test_open_calls_are_answered_on_opening(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    session = store.new(tmp_path)
    calls = tuple(ToolCall(id=f"c{number}", name=f"tool{number}") for number in range(3))
    messages: list[Message] = [UserMessage(content="go"), AssistantMessage(tool_calls=calls)]
    messages.append(ToolMessage(tool_call_id="c1", content="ok"))
    say(session, messages)
    kill(session)
    for _ in range(2):  # the answers are saved, and given once
        again = store.open(session.id)
        assert again.messages[:3] == messages
        answers = [message for message in again.messages[3:] if isinstance(message, ToolMessage)]
        assert [(answer.tool_call_id, answer.name, answer.ok) for answer in answers] == [
            ("c0", "tool0", False),
            ("c2", "tool2", False),
        ]
        assert all(answer.content.startswith("interrupted") for answer in answers)
        assert len(again.messages) == 5
        kill(again)


def test_opening_without_a_change_writes_nothing(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    session = store.new(tmp_path)
    say(session, a_turn())
    session.close()
    path = tmp_path / ".clio" / "sessions" / f"{session.id}.json"
    before = (path.stat().st_mtime_ns, path.stat().st_ino)
    again = store.open(session.id)
    again.sync()
    again.close()
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == before
    assert files(path.parent) == [path.name]


def test_close_twice_and_use_after_it(tmp_path: Path) -> None:
    session = store_in(tmp_path).new(tmp_path)
    say(session, a_turn())
    session.close()
    session.close()
    with pytest.raises(ValueError, match="closed"):
        session.append(UserMessage(content="late"))


def test_a_session_survives_many_restarts(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    session = store.new(tmp_path)
    messages: list[Message] = []
    for number in range(6):
        turn = a_turn(number)
        say(session, turn)
        session.add_bill(BILL)
        messages += turn
        session.close() if number % 2 else kill(session)
        session = store.open(session.id)
        assert session.messages == messages
        assert len(session.bills) == number + 1
    session.close()


def test_invalid_unicode_is_replaced(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    for persist in (True, False):
        session = store.new(tmp_path, persist=persist, name="n\udcff")
        session.append(UserMessage(content="caf\udce9 \ud83d"))
        call = ToolCall(id="c", name="t", arguments='{"\ud800": 1}')
        session.append(AssistantMessage(tool_calls=(call,)))
        session.append(ToolMessage(tool_call_id="c", content="x"))
        session.set_todos((Todo(id=1, title="\udc80"),))
        handle = session.write_blob("out\udcffput")
        first = session.messages[0]
        assert isinstance(first, UserMessage) and first.content == "caf\ufffd \ufffd"
        assert (session.unsaved_reason, session.name, session.todos[0].title) == (None, "n\ufffd", "\ufffd")
        assert session.read_blob(handle) == "out\ufffdput"
        session.close()
        if persist:
            assert list(store.read(session.id)) == session.messages


def test_a_session_that_does_not_persist_touches_nothing(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    session = store_in(project).new(project, persist=False, name="secret")
    say(session, a_turn())
    session.set_todos(TODOS)
    session.add_bill(BILL)
    handle = session.write_blob("private " * 1000)
    session.sync()
    assert session.read_blob(handle) == "private " * 1000
    assert (len(session.messages), session.todos, session.bills) == (4, TODOS, [BILL])
    session.close()
    assert list(project.iterdir()) == []
    assert (session.is_persistent, session.unsaved_reason, session.warnings) == (False, None, [])


def test_each_message_is_one_line_whatever_came_before(tmp_path: Path) -> None:
    """The cost of an append does not grow: the file grows by that line and is not rewritten."""
    session = store_in(tmp_path).new(tmp_path)
    journal = tmp_path / ".clio" / "sessions" / f"{session.id}.journal.jsonl"
    growth: list[int] = []
    for _ in range(300):
        before = journal.stat().st_size if journal.exists() else 0
        session.append(UserMessage(content="the same words", id="x" * 36))
        growth.append(journal.stat().st_size - before)
    inode = journal.stat().st_ino
    session.append(UserMessage(content="the same words", id="x" * 36))
    assert journal.stat().st_ino == inode
    assert max(growth[1:]) - min(growth[1:]) <= 2  # digits of `n`
    session.close()


def test_a_copy_in_memory_of_a_stored_session(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    running = store.new(tmp_path, name="demo")
    said = a_turn()
    say(running, said[:2])
    handle = running.write_blob("stored")
    before = {path: (tmp_path / path).read_bytes() for path in files(tmp_path)}
    copy = store.open(running.id, persist=False)
    assert (copy.id, copy.name, copy.messages[:2], len(copy.messages)) == (running.id, "demo", said[:2], 3)
    copy.append(UserMessage(content="private"))
    assert (copy.read_blob(handle), copy.read_blob(copy.write_blob("new"))) == ("stored", "new")
    copy.sync()
    copy.close()
    assert {path: (tmp_path / path).read_bytes() for path in files(tmp_path)} == before
    assert running.messages == said[:2]
    running.close()


@pytest.mark.parametrize("end", ["close", "kill"])
def test_trims_are_restored_and_the_last_can_be_undone(tmp_path: Path, end: str) -> None:
    store = store_in(tmp_path)
    session = store.new(tmp_path)
    said = a_turn(1) + a_turn(2)
    say(session, said)
    ids = [message.id for message in said]
    first = Trim(handle="t1", dropped=tuple(ids[:3]), freed_tokens=90, created=5.0)
    second = Trim(handle="t2", dropped=tuple(ids[3:5]), shrunk={ids[6]: 400})
    session.add_trim(first)
    session.add_trim(second)
    session.close() if end == "close" else kill(session)

    again = store.open(session.id)
    assert (again.messages, again.window_ids, again.trims) == (said, ids[5:], [first, second])
    assert again.undo_trim() == second
    assert (again.window_ids, again.trims) == (ids[3:], [first])
    again.close() if end == "close" else kill(again)

    last = store.open(session.id)
    assert (last.window_ids, last.trims) == (ids[3:], [first])
    assert last.undo_trim() == first
    assert last.undo_trim() is None
    assert last.window_ids == ids
    last.close()


def test_a_lost_journal_is_written_again_with_its_trims(tmp_path: Path) -> None:
    store = store_in(tmp_path)
    session = store.new(tmp_path)
    said = a_turn(1)
    say(session, said)
    trim = Trim(handle="t1", dropped=(said[0].id,))
    session.add_trim(trim)
    for name in files(tmp_path / ".clio" / "sessions"):
        (tmp_path / ".clio" / "sessions" / name).unlink()
    say(session, a_turn(2))
    kill(session)
    again = store.open(session.id)
    assert (again.trims, again.window_ids) == ([trim], [message.id for message in again.messages[1:]])
    again.close()
