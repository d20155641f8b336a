"""`from clio import Agent`: whole turns over HTTP from a Python program, synchronous and async."""

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import clio
from clio import Agent, Approval, AsyncAgent, ClioError, TextDelta, ToolFinished, Turn, TurnFailed
from clio.errors import SessionNotFound, UsageError
from tests.support.chat_server import ChatServer, error, stall, text, tool_calls

WRITE = tool_calls([("write_file", {"path": "notes.txt", "content": "hello\n"})])
ASK = tool_calls([("ask_user", {"question": "Which port?", "options": ["80", "90"]})])


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "retry.py").write_text("MAX_TRIES = 3\n")
    return folder


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as running:
        yield running


def options(server: ChatServer, **more: Any) -> Any:
    return {"model": "test-model", "base_url": server.url, "env": {**os.environ, "OPENAI_API_KEY": "k"}, **more}


def test_a_program_runs_turns_of_one_session(project: Path, server: ChatServer) -> None:
    server.add(text("It tries three times."), text("Yes."))
    with Agent(project, **options(server)) as agent:
        first = agent.run("How often does @retry.py try?")
        second = agent.run("Are you sure?")
    assert (first.text, first.status, first.ok, first.error) == ("It tries three times.", "done", True, "")
    assert first.session_id == second.session_id
    assert first.steps == 1 and first.usage.prompt_tokens > 0
    assert "MAX_TRIES = 3" in str(server.requests[0].body)
    assert "How often" in str(server.requests[1].body)


def test_an_approved_edit_is_made_and_reported(project: Path, server: ChatServer) -> None:
    server.add(WRITE, text("Done."))
    asked: list[Approval] = []

    def approve(request: Approval) -> bool:
        asked.append(request)
        return True

    with Agent(project, **options(server, on_approval=approve)) as agent:
        turn = agent.run("write notes.txt")
    assert turn.files_changed == ("notes.txt",)
    assert (project / "notes.txt").read_text() == "hello\n"
    assert [(one.kind, "+hello" in one.diff) for one in asked] == [("edit", True)]
    assert asked[0].files == (str((project / "notes.txt").resolve()),)


def test_a_denial_with_a_reason_reaches_the_model(project: Path, server: ChatServer) -> None:
    server.add(tool_calls([("run_command", {"command": "touch made.txt"})]), text("All right."))

    async def deny(request: Approval) -> str:
        await asyncio.sleep(0)
        assert (request.kind, request.command) == ("command", "touch made.txt")
        return "never create new files in this project"

    with Agent(project, **options(server, on_approval=deny)) as agent:
        assert agent.run("make it").ok
        assert agent.memory.list() == [], "a program's reason is no preference of the user"
    assert "never create new files" in str(server.requests[1].body)
    assert not (project / "made.txt").exists()


def test_without_a_callback_an_action_that_needs_approval_ends_the_turn(project: Path, server: ChatServer) -> None:
    server.add(WRITE, text("I could not."))
    with Agent(project, **options(server)) as agent:
        turn = agent.run("write notes.txt")
        with pytest.raises(TurnFailed) as failed:
            turn.raise_for_status()
    assert turn.status == "approval_needed" and "on_approval" in turn.error
    assert failed.value.turn is turn and isinstance(failed.value, ClioError)
    assert not (project / "notes.txt").exists()


def test_questions_of_the_model_are_answered_by_the_program(project: Path, server: ChatServer) -> None:
    server.add(ASK, text("Port 90 it is."))
    asked: list[tuple[str, tuple[str, ...]]] = []

    def answer(question: str, choices: tuple[str, ...]) -> str:
        asked.append((question, choices))
        return choices[1]

    with Agent(project, **options(server, on_question=answer)) as agent:
        agent.run("set it up").raise_for_status()
    assert asked == [("Which port?", ("80", "90"))]
    assert "90" in str(server.requests[1].body["messages"][-1])


def test_events_arrive_during_the_turn_and_the_result_last(project: Path, server: ChatServer) -> None:
    server.add(WRITE, text("All written.", chunk_size=4))
    with Agent(project, **options(server, approve="edits")) as agent:
        events = list(agent.stream("write notes.txt"))
    assert "".join(one.text for one in events if isinstance(one, TextDelta)) == "All written."
    assert [one.files_changed for one in events if isinstance(one, ToolFinished)] == [("notes.txt",)]
    assert isinstance(events[-1], Turn) and events[-1].ok


def test_leaving_the_event_loop_early_ends_the_turn(project: Path, server: ChatServer) -> None:
    server.add(stall("Thinking about"), text("Second."))
    with Agent(project, **options(server)) as agent:
        for event in agent.stream("take your time"):
            if isinstance(event, TextDelta):
                break
        assert agent.run("and now?").text == "Second."


def test_an_async_program_awaits_turns(project: Path, server: ChatServer) -> None:
    server.add(text("One."), text("Two."), text("Three."))

    async def main() -> list[str]:
        async with AsyncAgent(project, **options(server)) as agent:
            turns = await asyncio.gather(agent.run("first"), agent.run("second"))  # one after the other
            events = [event async for event in agent.stream("third")]
            assert isinstance(events[-1], Turn)
            return [turns[0].text, turns[1].text, events[-1].text]

    assert asyncio.run(main()) == ["One.", "Two.", "Three."]


def test_a_cancelled_task_ends_its_turn(project: Path, server: ChatServer) -> None:
    server.add(stall("Thinking"), text("Later."))

    async def main() -> str:
        async with AsyncAgent(project, **options(server)) as agent:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(agent.run("take your time"), 0.5)
            return (await agent.run("again")).text

    assert asyncio.run(main()) == "Later."


def test_an_agent_works_inside_a_running_event_loop(project: Path, server: ChatServer) -> None:
    server.add(text("Fine."))

    async def notebook_cell() -> str:
        with Agent(project, **options(server)) as agent:
            return agent.run("hello").text

    assert asyncio.run(notebook_cell()) == "Fine."


def test_a_message_sent_during_a_turn_steers_it(project: Path, server: ChatServer) -> None:
    server.add(ASK, text("Done."))

    def steer(question: str, choices: tuple[str, ...]) -> str:
        threading.Thread(target=lambda: agent.steer("use port 91")).start()
        return "91"

    with Agent(project, **options(server, on_question=steer)) as agent:
        agent.run("set it up").raise_for_status()
    assert "use port 91" in str(server.requests[-1].body)


def test_the_answer_matches_a_schema(project: Path, server: ChatServer) -> None:
    server.add(text("three"), text('{"tries": 3}'))
    schema = {"type": "object", "properties": {"tries": {"type": "integer"}}, "required": ["tries"]}
    with Agent(project, **options(server)) as agent:
        turn = agent.run("how many tries?", schema=schema)
        assert turn.structured == {"tries": 3} and turn.steps == 2
        with pytest.raises(UsageError, match="not a JSON Schema"):
            agent.run("again", schema={"type": "nonsense"})


def test_a_session_is_continued_by_another_agent(project: Path, server: ChatServer) -> None:
    server.add(text("Noted."), text("Blue."), text("Fresh."))
    with Agent(project, **options(server)) as agent:
        session = agent.run("my colour is blue").session_id
    with Agent(project, **options(server, resume=session)) as agent:
        assert agent.session_id == session
        agent.run("which colour?")
        assert "my colour is blue" in str(server.requests[1].body)
        assert agent.new_session() != session
        agent.run("hello")
    assert "my colour is blue" not in str(server.requests[2].body)
    with Agent(project, **options(server, resume="")) as agent:
        assert agent.session_id != session
    with pytest.raises(SessionNotFound), Agent(project, **options(server, resume="nope")):
        pass


def test_memory_is_added_found_listed_and_forgotten(project: Path, server: ChatServer) -> None:
    with Agent(project, **options(server)) as agent:
        memory = agent.memory
        added = memory.add("The staging database listens on port 5433")
        memory.add("prefers short commit messages", kind="preference")
        assert memory.search("which port has the staging database?")[0].id == added
        assert {one.kind for one in memory.list()} == {"fact", "preference"}
        memory.forget(added)
        assert [one.kind for one in memory.list()] == ["preference"]
        assert "5433" in memory.undo() or memory.list("fact")
        with pytest.raises(UsageError, match="opinion"):
            memory.add("x", kind="opinion")
        with pytest.raises(UsageError, match="colour"):
            memory.add("x", colour="red")


def test_a_program_sees_memories_of_its_user(project: Path, server: ChatServer) -> None:
    server.add(text("ok"))
    with Agent(project, **options(server)) as agent:
        agent.memory.add("Deployments run on Thursdays")
    with Agent(project, **options(server)) as agent:
        agent.run("When do deployments run?")
    assert "Thursdays" in str(server.requests[0].body)


def test_every_setting_can_be_given(project: Path, server: ChatServer) -> None:
    given = {"command_timeout_s": 7, "attribution": "Assisted-by: clio", "checkpoints": False, "deny": ["make *"]}
    with Agent(project, **options(server, settings=given)) as agent:
        config = agent.memory._app.config  # pyright: ignore[reportPrivateUsage]
        assert {name: getattr(config, name) for name in given} == {**given, "deny": ("make *",)}
    with pytest.raises(UsageError, match="command_timeout_s"), Agent(project, settings={"command_timeout_s": "soon"}):
        pass
    with pytest.raises(UsageError, match=r"^approve must"), Agent(project, approve="al"):  # pyright: ignore[reportArgumentType]
        pass


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"settings": {"max_stepz": 3}}, "max_steps"),
        ({"project": "missing"}, "no such folder"),
        ({"modle": "x"}, "modle"),
    ],
)
def test_wrong_arguments_are_explained(project: Path, given: dict[str, Any], reason: str) -> None:
    folder = str(project / given.pop("project", "."))
    with pytest.raises(UsageError, match=reason):
        AsyncAgent(folder, **given)


def test_a_closed_agent_says_so(project: Path, server: ChatServer) -> None:
    with pytest.raises(UsageError, match="not open"):
        Agent(project, **options(server)).run("hello")


def test_a_server_error_is_a_status_and_not_an_exception(project: Path, server: ChatServer) -> None:
    server.add(error(401, {"error": {"message": "no such key"}}))
    with Agent(project, **options(server)) as agent:
        turn = agent.run("hello")
    assert turn.status == "refused" and "OPENAI_API_KEY" in turn.error


def test_importing_clio_loads_nothing_else() -> None:
    code = "import sys, clio; print([m for m in sys.modules if m.startswith('clio.')], clio.Agent.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]", "Agent"]


def test_every_public_name_can_be_imported() -> None:
    assert all(getattr(clio, name) for name in clio.__all__)
    with pytest.raises(AttributeError):
        clio.nonsense  # noqa: B018


REVIEW = '{"findings": [{"file": "retry.py", "line": 1, "problem": "too few tries"}]}'


@pytest.mark.parametrize(
    ("name", "more", "replies", "printed"),
    [
        ("fix_tests", (), [WRITE, text("Fixed.")], "changed: notes.txt"),
        ("review_as_data", (), [text(REVIEW)], "retry.py:1: too few tries"),
        ("approve_by_rule", (), [WRITE, text("Not allowed, so nothing.")], "Not allowed"),
        ("stream_events", ("what is it?",), [text("A shop.")], "A shop.\ndone, "),
        ("remember", ("deployments run on Thursdays", "when are deployments?"), [], "deployments run on Thursdays"),
    ],
)
def test_each_example_runs(
    project: Path, server: ChatServer, name: str, more: tuple[str, ...], replies: list[Any], printed: str
) -> None:
    server.add(*replies)
    example = Path(__file__).parents[2] / "docs" / "examples" / f"{name}.py"
    env = {**os.environ, "OPENAI_API_KEY": "k", "OPENAI_BASE_URL": server.url, "CLIO_MODEL": "gpt-4.1"}
    command = [sys.executable, str(example), str(project), *more]
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert printed in done.stdout
    if name == "approve_by_rule":
        assert "only files below docs/" in str(server.requests[1].body)
