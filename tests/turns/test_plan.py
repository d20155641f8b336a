"""Plan mode in whole turns: only reading happens, the list becomes the plan, the model is told where it is."""

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
from tests.support.desk import Desk, git
from tests.turns.conftest import MakeDesk
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


def results(desk: Desk) -> list[ToolMessage]:
    return [message for message in desk.app.session.messages if isinstance(message, ToolMessage)]


def reopened(desk: Desk, session_id: str) -> App:
    """A new clio on the same session, as after the old one was killed."""
    kill(desk.app.session)
    desk.app = desk.build()
    desk.app.open_session(session_id)
    return desk.app


def last_words(desk: Desk, number: int = -1) -> str:
    """What the user's message of a request holds, context and all."""
    said = [one for one in desk.server.requests[number].body["messages"] if one["role"] == "user"]
    return said[-1]["content"]


def tree(project: Path) -> dict[str, bytes]:
    """Every file outside of clio's own folder and git's."""
    return {
        str(path.relative_to(project)): path.read_bytes()
        for path in sorted(project.parent.rglob("*"))
        if path.is_file() and path.is_relative_to(project) and not {".clio", ".git"} & set(path.parts)
    }


@pytest.mark.parametrize("number", range(len(ACTS)))
def test_whatever_the_model_calls_nothing_is_written_and_nothing_runs(make_desk: MakeDesk, number: int) -> None:
    desk = make_desk([tool_calls([ACTS[number]]), text("I see.")], approve="plan")
    (desk.project / "test_calc.py").write_text("# mine\n", encoding="utf-8")
    before, head = tree(desk.project), git(desk.project, "rev-parse", "HEAD")
    asyncio.run(desk.turn("do it"))
    assert [result.ok for result in results(desk)] == [False]
    assert "plan mode" in results(desk)[0].content
    assert desk.person.asked == []
    assert (tree(desk.project), git(desk.project, "rev-parse", "HEAD")) == (before, head)
    assert not (desk.project.parent / "outside.txt").exists()
    assert (git(desk.project, "stash", "list"), git(desk.project, "branch", "--list", "other")) == ("", "")
    assert not (desk.project / ".clio" / "ltm.json").exists()
    assert not (desk.project / ".clio" / "memory").exists()


def test_what_only_reads_runs_and_the_model_may_ask(make_desk: MakeDesk) -> None:
    reads = [
        ("read_file", {"path": "calc.py"}),
        ("search_text", {"pattern": "add"}),
        ("git", {"operation": "log"}),
        ("run_command", {"command": "git status"}),
        ("ask_user", {"question": "Which one?"}),
    ]
    desk = make_desk([tool_calls(reads), text("I see.")], approve="plan")
    desk.person.answers = ["the first"]
    asyncio.run(desk.turn("look around"))
    assert [result.ok for result in results(desk)] == [True] * 5
    assert desk.person.questions == ["Which one?"]


def test_a_job_is_looked_at_and_not_ended(make_desk: MakeDesk) -> None:
    start = ("run_command", {"command": "echo up; sleep 60", "background": True})
    looks = [("job_output", {"job": "job1"}), ("job_stop", {"job": "job1"})]
    desk = make_desk([tool_calls([start]), text("It runs."), tool_calls(looks), text("I see.")], approve="all")

    async def story() -> None:
        await desk.turn("start it")
        desk.app.planning.set_mode("plan")
        await desk.turn("and now?")
        assert len(desk.app.jobs.running()) == 1
        await desk.app.close()

    asyncio.run(story())
    assert [result.ok for result in results(desk)] == [True, True, False]
    assert "plan mode" in results(desk)[-1].content


def test_the_model_learns_the_mode_and_the_prefix_stays_the_same(make_desk: MakeDesk) -> None:
    desk = make_desk([text("One."), tool_calls([PLAN]), text("Two."), text("Three."), text("Four.")])

    async def story() -> None:
        await desk.turn("hello")
        desk.app.planning.set_mode("plan")
        await desk.turn("plan the fix")
        desk.app.planning.set_mode("edits")
        await desk.turn("never mind")
        await desk.turn("and now?")

    asyncio.run(story())
    told = [last_words(desk, number) for number in (0, 1, 3, 4)]
    assert ["<plan_mode " in words for words in told] == [False, True, False, False]
    assert ["<plan_mode_over " in words for words in told] == [False, False, True, False]
    heads = {
        json.dumps([request.body["messages"][0], request.body["tools"]], sort_keys=True)
        for request in desk.server.requests
    }
    assert len(heads) == 1


def test_a_plan_is_proposed_approved_and_carried_out(make_desk: MakeDesk) -> None:
    fix = ("edit_file", {"path": "calc.py", "old_string": "a - b", "new_string": "a + b"})
    begun = ("todo_operations", {"operation": "update", "todos": [{"id": 1, "status": "completed"}]})
    desk = make_desk(
        [tool_calls([PLAN]), text("Two steps."), tool_calls([fix, begun]), text("Fixed.")],
        approve="edits",
    )
    planning = desk.app.planning

    async def story() -> None:
        desk.app.planning.set_mode("plan")
        await desk.turn("plan the fix of add")
        assert [todo.title for todo in planning.proposed] == ITEMS
        assert planning.before == "edits"
        desk.app.session.set_todos((*desk.app.session.todos, Todo(id=3, title="say it in the changelog")))
        words = planning.approve(planning.before)
        assert planning.proposed == ()
        await desk.turn(words)

    asyncio.run(story())
    told = last_words(desk)
    assert "<plan_approved " in told and "<plan_mode " not in told
    assert "[ ] 3. say it in the changelog" in told
    assert told.endswith("Carry out the plan.")
    assert "a + b" in (desk.project / "calc.py").read_text(encoding="utf-8")
    assert [todo.status for todo in desk.app.session.todos] == ["completed", "pending", "pending"]


def test_a_plan_the_user_edited_is_what_the_model_reads_next(make_desk: MakeDesk) -> None:
    desk = make_desk([tool_calls([PLAN]), text("Two steps."), text("I see.")], approve="plan")

    async def story() -> None:
        await desk.turn("plan it")
        desk.app.session.set_todos((Todo(id=1, title="only this"),))
        await desk.turn("not so much")

    asyncio.run(story())
    assert "[ ] 1. only this" in last_words(desk)
    assert desk.app.planning.proposed == ()  # the second turn changed nothing of it


def test_an_answer_in_words_proposes_nothing_nor_does_a_list_of_another_mode(make_desk: MakeDesk) -> None:
    desk = make_desk([text("It adds."), tool_calls([PLAN]), text("Listed.")], approve="plan")

    async def story() -> None:
        await desk.turn("what does calc do?")
        assert desk.app.planning.proposed == ()
        desk.app.planning.set_mode("ask")
        await desk.turn("make a list")

    asyncio.run(story())
    assert desk.app.session.todos
    assert desk.app.planning.proposed == ()


def test_a_mode_changed_in_a_turn_counts_from_the_next_call_on(make_desk: MakeDesk) -> None:
    first = ("write_file", {"path": "a.txt", "content": "a\n"})
    second = ("write_file", {"path": "b.txt", "content": "b\n"})
    desks: list[Desk] = []

    def between(body: dict[str, Any]) -> Reply:
        desks[0].app.planning.cycle()
        return tool_calls([second])

    desk = make_desk([tool_calls([first]), between, text("Well.")], approve="edits")
    desks.append(desk)
    asyncio.run(desk.turn("write both"))
    assert desk.app.policy.mode == "plan"
    assert (desk.project / "a.txt").exists() and not (desk.project / "b.txt").exists()


def test_plan_mode_and_its_plan_are_there_after_a_kill(make_desk: MakeDesk) -> None:
    desk = make_desk([tool_calls([PLAN]), text("Two steps."), text("Still planning."), text("Over.")])

    async def story() -> None:
        desk.app.planning.set_mode("plan")
        await desk.turn("plan it")
        session_id = desk.app.session.id
        again = reopened(desk, session_id)
        assert [todo.title for todo in again.planning.proposed] == ITEMS
        assert (again.policy.mode, again.planning.before) == ("plan", "ask")
        again.planning.set_aside()  # "later", which is kept as well
        later = reopened(desk, session_id)
        assert (later.policy.mode, later.planning.proposed) == ("plan", ())
        await desk.turn("where were we?")
        desk.app.planning.set_mode("ask")
        assert reopened(desk, session_id).policy.mode == "ask"
        await desk.turn("never mind")

    asyncio.run(story())
    told = [last_words(desk, number) for number in (2, 3)]
    assert "<plan_mode " in told[0] and "<plan_mode_over " in told[1]


@pytest.mark.parametrize("mode", ["edits", "ask"])
def test_a_mode_named_at_the_start_holds_and_the_session_s_plan_mode_does_not(make_desk: MakeDesk, mode: str) -> None:
    desk = make_desk([text("I see."), text("Well.")], approve="plan")

    async def story() -> None:
        await desk.turn("plan it")
        desk.loaded = load_config(
            Options(cwd=desk.project, overrides={"base_url": desk.server.url, "approve": mode}), desk.env
        )
        again = reopened(desk, desk.app.session.id)
        assert again.policy.mode == mode
        await desk.turn("do it")
        assert again.session.plan_mode is None

    asyncio.run(story())


def test_a_session_from_before_plan_mode_was_kept_opens_in_the_mode_of_the_start(make_desk: MakeDesk) -> None:
    desk = make_desk([tool_calls([PLAN]), text("Listed.")], approve="edits")

    async def story() -> None:
        await desk.turn("list it")
        await desk.app.close()
        (stored,) = (desk.project / ".clio" / "sessions").glob("*.json")
        assert b'"plan"' not in stored.read_bytes()
        again = reopened(desk, desk.app.session.id)
        assert (again.policy.mode, again.planning.proposed) == ("edits", ())

    asyncio.run(story())


def test_a_plan_survives_a_restart(make_desk: MakeDesk) -> None:
    desk = make_desk([tool_calls([PLAN]), text("Two steps."), text("Still planning.")], approve="plan")

    async def story() -> None:
        await desk.turn("plan it")
        session_id = desk.app.session.id
        await desk.app.close()
        desk.app = desk.build()
        desk.app.open_session(session_id)
        assert [todo.title for todo in desk.app.session.todos] == ITEMS
        await desk.turn("where were we?")
        await desk.app.close()

    asyncio.run(story())
    assert "[ ] 2. run the tests" in last_words(desk)


@pytest.mark.parametrize("window", [16_384, 32_768])
def test_the_plan_is_reported_after_trims_in_small_and_large_windows(make_desk: MakeDesk, window: int) -> None:
    large = text("word " * (window // 6), chunk_size=4_000)
    models = [{"id": "test-model", "max_model_len": window}]
    desk = make_desk([tool_calls([PLAN]), *[large] * 6, text("Carried out.")], models=models, approve="plan")

    async def story() -> None:
        for number in range(6):
            await desk.turn(f"tell me more, part {number}")
        await desk.turn(desk.app.planning.approve("ask"))

    asyncio.run(story())
    assert desk.app.session.trims
    told = last_words(desk)
    assert "<plan_approved " in told and "[ ] 1. fix add in calc.py" in told


def test_headless_prints_the_plan_and_succeeds(make_desk: MakeDesk) -> None:
    desk = make_desk([])
    with ChatServer([tool_calls([ACTS[0], PLAN]), text("Two steps.")]) as server:
        done = clio(desk.project, "-p", "plan it", "--approve", "plan", server=server)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "Two steps.\n\n- [ ] fix add in calc.py\n- [ ] run the tests\n"
    assert not (desk.project / "new.txt").exists()


def test_headless_json_holds_the_plan(make_desk: MakeDesk) -> None:
    desk = make_desk([])
    with ChatServer([tool_calls([PLAN]), text("Two steps.")]) as server:
        done = clio(desk.project, "-p", "plan it", "--approve", "plan", "--output", "json", server=server)
    report = json.loads(done.stdout)
    assert (report["status"], report["plan"]) == ("done", [{"id": n, "title": t} for n, t in enumerate(ITEMS, 1)])
