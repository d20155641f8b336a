"""What the model gets of earlier work, in whole turns over HTTP."""

import asyncio
import re
from typing import Any

from clio.memory.transcripts.session_search import HANDLE_CHARS
from tests.support.chat_server import text, tool_calls
from tests.support.harness import Harness
from tests.support.recalled import recalled_lines
from tests.turns.conftest import MakeHarness

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-")


def call(operation: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    return "memory_operations", {"operation": operation, **arguments}


async def session_of(harness: Harness, *turns: str) -> None:
    for words in turns:
        await harness.turn(words)
    await harness.app.close()


def sent(harness: Harness, request: int = -1) -> str:
    """Return the last message of a request."""
    return harness.server.requests[request].body["messages"][-1]["content"]


def test_the_newest_state_comes_first_with_its_time_and_an_accepted_handle(make_harness: MakeHarness) -> None:
    asyncio.run(session_of(make_harness([text("Noted: 8080.")]), "the dev server listens on port 8080"))
    asyncio.run(session_of(make_harness([text("Noted: 9000.")]), "we moved the dev server to port 9000"))
    seen: list[str] = []

    def expand(body: dict[str, Any]) -> Any:
        seen.append(body["messages"][-1]["content"])
        way = re.search(r'session="([^"]+)", from="([^"]+)"', seen[-1])
        assert way and len(way[1]) == HANDLE_CHARS
        return tool_calls([call("recall_messages", session=way[1], query="port", **{"from": way[2]})])

    asking = tool_calls([call("recall_sessions", query="which port does the dev server use")])
    harness = make_harness([asking, expand, text("9000")])
    asyncio.run(session_of(harness, "where does it listen?"))
    found = seen[0]
    assert found.index("9000") < found.index("8080")
    assert re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d user, older, \w+: the dev server listens on port 8080", found)
    assert not _UUID.search(found) and "keywords +" not in found
    assert "we moved the dev server to port 9000" in sent(harness)


def test_automatic_recall_is_plain_lines_that_are_sent_once(make_harness: MakeHarness) -> None:
    first = make_harness(
        [tool_calls([call("remember", content="staging listens on port 8443", type="fact")]), text("ok")]
    )
    asyncio.run(session_of(first, "note where staging listens"))
    second = make_harness([text("8443"), text("still 8443")])
    asyncio.run(session_of(second, "which port does staging use?", "and again, which port does staging use?"))
    recalled = re.search(r"<memories[^>]*>\n(.*?)\n</memories>", sent(second, 0), re.DOTALL)
    assert recalled
    [line] = recalled_lines(recalled[1])
    assert (line["type"], line["content"]) == ("fact", "staging listens on port 8443")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", line["when"])
    assert "<memories" not in sent(second, 1)


def test_what_the_model_saved_in_this_session_is_not_recalled_to_it(make_harness: MakeHarness) -> None:
    harness = make_harness(
        [
            tool_calls(
                [
                    call("add_discovery", fact="releases leave on Thursdays"),
                    call("remember", content="the release train is called heron", type="fact"),
                ]
            ),
            text("stored"),
            text("heron"),
        ]
    )
    asyncio.run(session_of(harness, "note when releases leave", "what is the release train called?"))
    assert "Thursdays" not in sent(harness) and "heron" not in sent(harness)
