"""Plan mode in whole turns: it only reads, the todo list becomes the plan, and the model knows its state."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from clio.app import App
from clio.config.layers import load_config
from clio.config.options import Options
from clio.messages import ToolMessage
from clio.sessions.state import Todo
from tests.sessions.talk import kill
from tests.support.chat_server import ChatServer, Reply, text, tool_calls
from tests.support.harness import Harness, git
from tests.turns.conftest import MakeHarness
from tests.turns.test_oneshot import clio

ITEMS = ["fix add in calc.py", "run the tests"]
PLAN = ("todo_operations", {"operation": "write", "todos": [{"title": title} for title in ITEMS]})
PATCH = "*** Begin Patch\n*** Update File: calc.py\n@@\n-    return a - b\n+    return a + b\n*** End Patch\n"
ACTS: list[tuple[str, dict[str, Any]]] = [
    ("write_file", {"path": "new.txt", "content": "x\n"}),
    ("write_file", {"path": "../outside.txt", "content": "x\n"}),
    ("edit_file", {"path": "calc.py", "old_string": "a - b", "new_string": "a + b"}),
    ("apply_patch", {"patch": PATCH}),
    ("run_command", {"command": "touch made"}),
    ("run_command", {"command": "touch made", "background": True}),
    ("run_command", {"command": "git log && touch made"}),
    ("run_command", {"command": "cat calc.py > made"}),
    ("run_command", {"command": 'python -c \'open("made", "w")\''}),
    ("git", {"operation": "commit", "message": "x", "paths": ["."]}),
    ("git", {"operation": "stash", "action": "push"}),
    ("git", {"operation": "branch", "action": "create", "name": "other"}),
    ("memory_operations", {"operation": "add_discovery", "text": "the tests run with pytest"}),
    ("memory_operations", {"operation": "store", "key": "k", "content": "v"}),
]


def results(harness: Harness) -> list[ToolMessage]:
    return [message for message in harness.app.session.messages if isinstance(message, ToolMessage)]


def reopened(harness: Harness, session_id: str) -> App:
    """Return a new clio on the same session, as after the old one was killed."""
    kill(harness.app.session)
    harness.app = harness.build()
    harness.app.open_session(session_id)
    return harness.app


def last_words(harness: Harness, number: int = -1) -> str:
    """Return the user message of a request with its context."""
    user_messages = [one for one in harness.server.requests[number].body["messages"] if one["role"] == "user"]
    return user_messages[-1]["content"]


def tree(project: Path) -> dict[str, bytes]:
    """Return every file outside clio's own folder and git's."""
    return {
        str(path.relative_to(project)): path.read_bytes()
        for path in sorted(project.parent.rglob("*"))
        if path.is_file() and path.is_relative_to(project) and not {".clio", ".git"} & set(path.parts)
    }


@pytest.mark.sampled(5)
@pytest.mark.parametrize("number", range(len(ACTS)))
def test_whatever_the_model_calls_nothing_is_written_or_run(make_harness: MakeHarness, number: int) -> None:
    harness = make_harness([tool_calls([ACTS[number]]), text("I see.")], approve="plan")
    (harness.project / "test_calc.py").write_text("# mine\n", encoding="utf-8")
    before, head = tree(harness.project), git(harness.project, "rev-parse", "HEAD")
    asyncio.run(harness.turn("do it"))
    assert [result.ok for result in results(harness)] == [False]
    assert "plan mode" in results(harness)[0].content
    assert harness.user.asked == []
    assert (tree(harness.project), git(harness.project, "rev-parse", "HEAD")) == (before, head)
    assert not (harness.project.parent / "outside.txt").exists()
    assert (git(harness.project, "stash", "list"), git(harness.project, "branch", "--list", "other")) == ("", "")
    assert not (harness.project / ".clio" / "ltm.json").exists()
    assert not (harness.project / ".clio" / "memory").exists()


def test_read_only_calls_run_and_the_model_may_ask(make_harness: MakeHarness) -> None:
    reads = [
        ("read_file", {"path": "calc.py"}),
        ("search_text", {"pattern": "add"}),
        ("git", {"operation": "log"}),
        ("run_command", {"command": "git status"}),
        ("ask_user", {"question": "Which one?"}),
    ]
    harness = make_harness([tool_calls(reads), text("I see.")], approve="plan")
    harness.user.answers = ["the first"]
    asyncio.run(harness.turn("look around"))
    assert [result.ok for result in results(harness)] == [True] * 5
    assert harness.user.questions == ["Which one?"]


def test_a_job_can_be_read_but_not_ended(make_harness: MakeHarness) -> None:
    start = ("run_command", {"command": "echo up; sleep 60", "background": True})
    looks = [("job_output", {"job": "job1"}), ("job_stop", {"job": "job1"})]
    harness = make_harness([tool_calls([start]), text("It runs."), tool_calls(looks), text("I see.")], approve="all")

    async def run_turns() -> None:
        await harness.turn("start it")
        harness.app.planning.set_mode("plan")
        await harness.turn("and now?")
        assert len(harness.app.jobs.list_running()) == 1
        await harness.app.close()

    asyncio.run(run_turns())
    assert [result.ok for result in results(harness)] == [True, True, False]
    assert "plan mode" in results(harness)[-1].content


def test_the_model_is_told_the_mode_and_the_prefix_stays_the_same(make_harness: MakeHarness) -> None:
    harness = make_harness([text("One."), tool_calls([PLAN]), text("Two."), text("Three."), text("Four.")])

    async def run_turns() -> None:
        await harness.turn("hello")
        harness.app.planning.set_mode("plan")
        await harness.turn("plan the fix")
        harness.app.planning.set_mode("edits")
        await harness.turn("never mind")
        await harness.turn("and now?")

    asyncio.run(run_turns())
    contexts = [last_words(harness, number) for number in (0, 1, 3, 4)]
    assert ["<plan_mode " in words for words in contexts] == [False, True, False, False]
    assert ["<plan_mode_over " in words for words in contexts] == [False, False, True, False]
    heads = {
        json.dumps([request.body["messages"][0], request.body["tools"]], sort_keys=True)
        for request in harness.server.requests
    }
    assert len(heads) == 1


def test_a_plan_is_proposed_approved_and_executed(make_harness: MakeHarness) -> None:
    fix = ("edit_file", {"path": "calc.py", "old_string": "a - b", "new_string": "a + b"})
    begun = ("todo_operations", {"operation": "update", "todos": [{"id": 1, "status": "completed"}]})
    harness = make_harness(
        [tool_calls([PLAN]), text("Two steps."), tool_calls([fix, begun]), text("Fixed.")],
        approve="edits",
    )
    planning = harness.app.planning

    async def run_turns() -> None:
        harness.app.planning.set_mode("plan")
        await harness.turn("plan the fix of add")
        assert [todo.title for todo in planning.proposed_plan] == ITEMS
        assert planning.mode_before == "edits"
        harness.app.session.set_todos((*harness.app.session.todos, Todo(id=3, title="say it in the changelog")))
        words = planning.approve_plan(planning.mode_before)
        assert planning.proposed_plan == ()
        await harness.turn(words)

    asyncio.run(run_turns())
    sent = last_words(harness)
    assert "<plan_approved " in sent and "<plan_mode " not in sent
    assert "[ ] 3. say it in the changelog" in sent
    assert sent.endswith("Carry out the plan.")
    assert "a + b" in (harness.project / "calc.py").read_text(encoding="utf-8")
    assert [todo.status for todo in harness.app.session.todos] == ["completed", "pending", "pending"]


def test_a_plan_edited_by_the_user_is_sent_to_the_model(make_harness: MakeHarness) -> None:
    harness = make_harness([tool_calls([PLAN]), text("Two steps."), text("I see.")], approve="plan")

    async def run_turns() -> None:
        await harness.turn("plan it")
        harness.app.session.set_todos((Todo(id=1, title="only this"),))
        await harness.turn("not so much")

    asyncio.run(run_turns())
    assert "[ ] 1. only this" in last_words(harness)
    assert harness.app.planning.proposed_plan == ()  # the second turn did not change it


def test_an_answer_in_prose_or_a_list_of_another_mode_proposes_nothing(make_harness: MakeHarness) -> None:
    harness = make_harness([text("It adds."), tool_calls([PLAN]), text("Listed.")], approve="plan")

    async def run_turns() -> None:
        await harness.turn("what does calc do?")
        assert harness.app.planning.proposed_plan == ()
        harness.app.planning.set_mode("ask")
        await harness.turn("make a list")

    asyncio.run(run_turns())
    assert harness.app.session.todos
    assert harness.app.planning.proposed_plan == ()


def test_a_mode_changed_in_a_turn_applies_from_the_next_call_on(make_harness: MakeHarness) -> None:
    first = ("write_file", {"path": "a.txt", "content": "a\n"})
    second = ("write_file", {"path": "b.txt", "content": "b\n"})
    harnesses: list[Harness] = []

    def between(body: dict[str, Any]) -> Reply:
        harnesses[0].app.planning.cycle_mode()
        return tool_calls([second])

    harness = make_harness([tool_calls([first]), between, text("Well.")], approve="edits")
    harnesses.append(harness)
    asyncio.run(harness.turn("write both"))
    assert harness.app.policy.mode == "plan"
    assert (harness.project / "a.txt").exists() and not (harness.project / "b.txt").exists()


def test_plan_mode_and_its_plan_survive_a_kill(make_harness: MakeHarness) -> None:
    harness = make_harness([tool_calls([PLAN]), text("Two steps."), text("Still planning."), text("Over.")])

    async def run_turns() -> None:
        harness.app.planning.set_mode("plan")
        await harness.turn("plan it")
        session_id = harness.app.session.id
        again = reopened(harness, session_id)
        assert [todo.title for todo in again.planning.proposed_plan] == ITEMS
        assert (again.policy.mode, again.planning.mode_before) == ("plan", "ask")
        again.planning.dismiss_plan()  # "later", which is saved too
        later = reopened(harness, session_id)
        assert (later.policy.mode, later.planning.proposed_plan) == ("plan", ())
        await harness.turn("where were we?")
        harness.app.planning.set_mode("ask")
        assert reopened(harness, session_id).policy.mode == "ask"
        await harness.turn("never mind")

    asyncio.run(run_turns())
    contexts = [last_words(harness, number) for number in (2, 3)]
    assert "<plan_mode " in contexts[0] and "<plan_mode_over " in contexts[1]


@pytest.mark.parametrize("mode", ["edits", "ask"])
def test_a_mode_given_at_the_start_overrides_the_plan_mode_of_the_session(make_harness: MakeHarness, mode: str) -> None:
    harness = make_harness([text("I see."), text("Well.")], approve="plan")

    async def run_turns() -> None:
        await harness.turn("plan it")
        harness.loaded = load_config(
            Options(cwd=harness.project, overrides={"base_url": harness.server.url, "approve": mode}), harness.env
        )
        again = reopened(harness, harness.app.session.id)
        assert again.policy.mode == mode
        await harness.turn("do it")
        assert again.session.plan_mode is None

    asyncio.run(run_turns())


def test_an_older_session_without_a_saved_mode_opens_in_the_mode_of_the_start(make_harness: MakeHarness) -> None:
    harness = make_harness([tool_calls([PLAN]), text("Listed.")], approve="edits")

    async def run_turns() -> None:
        await harness.turn("list it")
        await harness.app.close()
        (stored,) = (harness.project / ".clio" / "sessions").glob("*.json")
        assert b'"plan"' not in stored.read_bytes()
        again = reopened(harness, harness.app.session.id)
        assert (again.policy.mode, again.planning.proposed_plan) == ("edits", ())

    asyncio.run(run_turns())


def test_a_plan_survives_a_restart(make_harness: MakeHarness) -> None:
    harness = make_harness([tool_calls([PLAN]), text("Two steps."), text("Still planning.")], approve="plan")

    async def run_turns() -> None:
        await harness.turn("plan it")
        session_id = harness.app.session.id
        await harness.app.close()
        harness.app = harness.build()
        harness.app.open_session(session_id)
        assert [todo.title for todo in harness.app.session.todos] == ITEMS
        await harness.turn("where were we?")
        await harness.app.close()

    asyncio.run(run_turns())
    assert "[ ] 2. run the tests" in last_words(harness)


@pytest.mark.parametrize("window", [16_384, 32_768])
def test_the_plan_is_sent_again_after_trims_in_small_and_large_windows(make_harness: MakeHarness, window: int) -> None:
    large = text("word " * (window // 6), chunk_size=4_000)
    models = [{"id": "test-model", "max_model_len": window}]
    harness = make_harness([tool_calls([PLAN]), *[large] * 6, text("Carried out.")], models=models, approve="plan")

    async def run_turns() -> None:
        for number in range(6):
            await harness.turn(f"tell me more, part {number}")
        await harness.turn(harness.app.planning.approve_plan("ask"))

    asyncio.run(run_turns())
    assert harness.app.session.trims
    sent = last_words(harness)
    assert "<plan_approved " in sent and "[ ] 1. fix add in calc.py" in sent


def test_headless_prints_the_plan_and_succeeds(make_harness: MakeHarness) -> None:
    harness = make_harness([])
    with ChatServer([tool_calls([ACTS[0], PLAN]), text("Two steps.")]) as server:
        done = clio(harness.project, "-p", "plan it", "--approve", "plan", server=server)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "Two steps.\n\n- [ ] fix add in calc.py\n- [ ] run the tests\n"
    assert not (harness.project / "new.txt").exists()


def test_headless_json_has_the_plan(make_harness: MakeHarness) -> None:
    harness = make_harness([])
    with ChatServer([tool_calls([PLAN]), text("Two steps.")]) as server:
        done = clio(harness.project, "-p", "plan it", "--approve", "plan", "--output", "json", server=server)
    report = json.loads(done.stdout)
    assert (report["status"], report["plan"]) == ("done", [{"id": n, "title": t} for n, t in enumerate(ITEMS, 1)])
