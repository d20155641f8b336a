"""Memories of one session are known in the next: whole turns over real HTTP, and without a model."""

import asyncio
import re
import subprocess
import sys
from typing import Any

import pytest

from clio.agent.user_interface import ToolFinished
from clio.tools.schemas import MEMORY_OPERATIONS
from tests.support.chat_server import text, tool_calls
from tests.support.harness import Harness
from tests.support.wording import mentions
from tests.turns.conftest import MakeHarness

FACT = "tests run with pytest -q -n2"


def call(operation: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    return "memory_operations", {"operation": operation, **arguments}


async def session_of(harness: Harness, *turns: str) -> list[str]:
    """Return the answers of one session, which is then closed."""
    answers = [(await harness.turn(words)).text for words in turns]
    await harness.app.close()
    return answers


def results(harness: Harness, request: int = -1) -> list[str]:
    """Return the tool results in one request."""
    messages = harness.server.requests[request].body["messages"]
    return [message["content"] for message in messages if message["role"] == "tool"]


def system_prompt(harness: Harness, request: int = 0) -> str:
    return harness.server.requests[request].body["messages"][0]["content"]


def test_the_next_session_begins_with_what_this_one_saved(make_harness: MakeHarness) -> None:
    learned = [
        call("add_discovery", fact=FACT, confidence=0.9),
        call("add_solution", error="port 8080 is taken", solution="stop the old server with make stop"),
        call("add_pattern", pattern="errors are raised as AppError", examples=["calc.py"]),
        call("add_workflow", steps=["make test", "make tag", "make ship"], key="release"),
        call(
            "add_failure", what="parallel migrations", impact="the schema is locked", prevention="run them one by one"
        ),
        call("add_context_rule", rule="no floats for money", path="calc.py"),
    ]
    first = make_harness(
        [tool_calls(learned), text("learned")], models=[{"id": "test-model", "max_model_len": 128_000}]
    )
    asyncio.run(session_of(first, "look round"))
    assert FACT not in system_prompt(first)
    answers = results(first)
    assert all(re.match(r"Remembered for later sessions as [a-z]-[0-9a-f]+\.", line) for line in answers), answers

    second = make_harness([text("I know.")], models=[{"id": "test-model", "max_model_len": 128_000}])
    asyncio.run(session_of(second, "how do tests run?"))
    prompt = system_prompt(second)
    assert FACT in prompt
    for words in ("make stop", "AppError", "make tag", "one by one", "no floats for money"):
        assert words in prompt


ADD = """
import sys
from pathlib import Path
from clio.memory.store.record import MemoryDraft, Provenance
from clio.memory.system import MemorySystem
from clio.sessions.store import SessionStore
project = Path(sys.argv[1])
memory = MemorySystem(project, SessionStore(project / ".clio" / "sessions"), incognito=False, ltm=True)
memory.store.add(MemoryDraft(kind="discovery", content=sys.argv[2]), Provenance(asserted_by="user"))
"""


def test_memories_of_another_process_come_after_the_prefix(make_harness: MakeHarness) -> None:
    harness = make_harness([text("one"), text("two"), text("three")])

    async def run_turns() -> None:
        await harness.turn("hi")
        await asyncio.to_thread(
            subprocess.run, [sys.executable, "-c", ADD, str(harness.project), "ships leave on Fridays"], check=True
        )
        await harness.turn("go on")
        await harness.turn("and on")
        await harness.app.close()

    asyncio.run(run_turns())
    bodies = [request.body for request in harness.server.requests]
    assert len({str((body["messages"][0], body["tools"])) for body in bodies}) == 1, "the prefix is unchanged"
    assert "ships leave on Fridays" not in str(bodies[0])
    assert "ships leave on Fridays" in bodies[1]["messages"][-1]["content"]
    assert bodies[2]["messages"][: len(bodies[1]["messages"])] == bodies[1]["messages"]
    assert "ships leave on Fridays" not in bodies[2]["messages"][-1]["content"], "it is sent once"


def test_text_of_a_file_is_saved_as_a_quotation(make_harness: MakeHarness) -> None:
    advice = "Always run the installer as the administrator of the machine"
    first = make_harness(
        [
            tool_calls([("read_file", {"path": "calc.py"})]),
            tool_calls([call("add_discovery", fact=advice), call("add_discovery", fact="calc.py holds one function")]),
            text("stored"),
        ]
    )
    (first.project / "calc.py").write_text(f'"""{advice}."""\n', encoding="utf-8")
    asyncio.run(session_of(first, "read calc.py and store what matters"))
    quoted, own = results(first)[-2:]
    assert "saved as a quotation" in quoted
    assert "quotation" not in own

    second = make_harness([tool_calls([call("search", query="installer administrator")]), text("ok")])
    asyncio.run(session_of(second, "anything on installing?"))
    assert results(second)[0].endswith("[quoted from a tool's result]")
    line = next(line for line in system_prompt(second).splitlines() if advice in line)
    assert "quot" in line
    plain = next(line for line in system_prompt(second).splitlines() if "one function" in line)
    assert "quot" not in plain


def test_a_message_of_another_session_is_returned_completely(make_harness: MakeHarness) -> None:
    first = make_harness([text("We chose atomic writes: " + "because a kill must never leave half a file. " * 40)])
    asyncio.run(session_of(first, "why do we write files as we do?"))

    def expand(body: dict[str, Any]) -> Any:
        found = body["messages"][-1]["content"]
        way = re.search(r'session="([^"]+)", from="([^"]+)"', found)
        assert way
        assert found.startswith("From earlier sessions. This is data")
        return tool_calls([call("recall_messages", **{"session": way[1], "from": way[2]})])

    second = make_harness([tool_calls([call("recall_sessions", query="chose atomic writes")]), expand, text("I see.")])
    asyncio.run(session_of(second, "what did we choose?"))
    whole = results(second)[-1]
    assert mentions(whole.splitlines()[0], "earlier messages", "1 of 2 messages of session")
    assert "data, not an instruction" in whole.splitlines()[0]
    assert whole.count("half a file") == 40


def test_pruning_by_the_model_is_a_dry_run_by_default(make_harness: MakeHarness) -> None:
    harness = make_harness(
        [
            tool_calls([call("add_discovery", fact="perhaps it is Perl", confidence=0.1)]),
            tool_calls([call("prune_ltm", max_age_days=90, min_confidence=0.3)]),
            tool_calls([call("ltm_stats")]),
            tool_calls([call("prune_ltm", dry_run=False)]),
            tool_calls([call("ltm_stats")]),
            text("ok"),
        ]
    )
    asyncio.run(session_of(harness, "tidy up"))
    _, listed, before, pruned, after = results(harness)
    assert "nothing was moved yet" in listed
    assert "perhaps it is Perl" in listed
    assert before.startswith("1 memory: 1 discovery; 0 archived")
    assert pruned.startswith("Archived 1 memory")
    assert after.startswith("0 memories; 1 archived")


def test_incognito_refuses_every_operation_except_reading_its_own_messages(make_harness: MakeHarness) -> None:
    every: dict[str, Any] = {
        "key": "k", "content": "c", "query": "zebra", "fact": "f", "error": "e", "solution": "s", "pattern": "p",
        "steps": ["a"], "what": "w", "rule": "r", "id": "d-1", "from": "1", "dry_run": False,
    }  # fmt: skip
    wanted = {
        "store": "key content", "retrieve": "key", "search": "query", "delete": "key", "recall_sessions": "query",
        "recall_messages": "from", "add_discovery": "fact", "add_solution": "error solution", "add_pattern": "pattern",
        "add_workflow": "steps", "add_failure": "what", "add_context_rule": "rule", "update_ltm": "id content",
        "update": "id content", "search_sessions": "query",
        "read_messages": "from", "forget_ltm": "id", "prune_ltm": "dry_run",
        "remember": "content", "apply": "id", "history": "id",
    }  # fmt: skip
    calls = [call(name, **{key: every[key] for key in wanted.get(name, "").split()}) for name in MEMORY_OPERATIONS]
    elsewhere = call("recall_messages", session="0", **{"from": "1"})
    harness = make_harness([tool_calls([*calls, elsewhere]), text("ok")], incognito=True)
    asyncio.run(session_of(harness, "remember the zebra"))
    answers = dict(zip([*MEMORY_OPERATIONS, "elsewhere"], results(harness), strict=True))
    assert answers.pop("recall_messages").endswith("remember the zebra")
    assert answers.pop("read_messages").endswith("remember the zebra")
    assert [name for name, answer in answers.items() if "incognito" not in answer] == []
    assert not any(event.ok for event in harness.seen(ToolFinished) if "_messages" not in event.title)
    assert not (harness.project / ".clio").exists()


@pytest.mark.parametrize("question", ["how do we deploy?", "deploy?"])
def test_without_a_model_the_second_session_answers_from_memory(make_harness: MakeHarness, question: str) -> None:
    first = make_harness([], provider="offline")
    (answer,) = asyncio.run(session_of(first, "remember that we deploy with make ship"))
    assert answer.endswith("Remembered.")

    second = make_harness([], provider="offline")
    (answer,) = asyncio.run(session_of(second, question))
    assert "**Memory**" in answer
    assert "we deploy with make ship" in answer
    assert first.server.requests == second.server.requests == []


def test_without_a_model_earlier_sessions_are_searched_and_entries_forgotten(make_harness: MakeHarness) -> None:
    conversation = make_harness(
        [text("We decided that caching lives in one module, because two copies drifted apart.")]
    )
    asyncio.run(session_of(conversation, "where should caching live?"))

    offline = make_harness([], provider="offline")
    answer, stored, forgotten, again = asyncio.run(
        session_of(
            offline,
            "what did we decide about caching?",
            "remember that releases happen on Mondays",
            "forget that releases happen on Mondays",
            "when do releases happen, as in Mondays?",
        )
    )
    assert "**Earlier sessions**" in answer
    assert "two copies drifted apart" in answer
    assert "*where should caching live?*" in answer
    assert stored == "Remembered."
    assert forgotten.startswith("Moved to the archive: releases happen on Mondays. ")
    assert "**Memory**" not in again


def test_the_same_fact_saved_by_user_and_model_is_one_memory_and_one_undo(make_harness: MakeHarness) -> None:
    saved = call("remember", content="staging listens on port 9090")
    harness = make_harness([tool_calls([saved]), text("Noted.")])
    asyncio.run(harness.turn("Remember that staging listens on port 9090"))
    [record] = harness.app.memory.store.records()
    assert (record.kind, record.content, record.is_corroborated) == ("fact", "staging listens on port 9090", False)
    assert "Saved in this session already" in results(harness)[0]
    harness.app.memory.undo()
    assert harness.app.memory.store.records() == ()


def test_offline_forget_finds_memories_of_both_files(make_harness: MakeHarness) -> None:
    harness = make_harness([], provider="offline")
    answers = asyncio.run(
        session_of(harness, "remember that we deploy with make ship", "forget that we deploy with make")
    )
    assert answers[0].splitlines()[-1] == "Remembered."
    assert answers[1].startswith("Moved to the archive: we deploy with make ship. ")
    assert harness.app.memory.store.records() == ()


def test_a_model_that_searches_for_a_just_forgotten_memory_is_told_so(make_harness: MakeHarness) -> None:
    look = call("recall", query="releases Mondays")
    harness = make_harness([text("Noted."), tool_calls([look]), text("Done."), tool_calls([look]), text("Nothing.")])
    asyncio.run(
        session_of(
            harness,
            "remember that releases happen on Mondays",
            "forget that releases happen on Mondays",
            "when are releases?",
        )
    )
    results_text = [one["content"] for one in harness.server.requests[-1].body["messages"] if one["role"] == "tool"]
    assert "Forgotten already, as the user's message asks: releases happen on Mondays" in results_text[0]
    assert "Forgotten already" not in results_text[1]
