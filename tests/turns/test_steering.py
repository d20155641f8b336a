"""Messages sent during a turn: their place in the requests and on disk, and in trims and undo."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from clio.agent.turn_files import get_running_turn
from clio.agent.user_interface import MessageAdded, Notice, Steered, StepStarted, TurnFinished
from clio.context.message_views import find_task_index, split_units
from clio.memory.store.record import MemoryDraft
from clio.messages import UserMessage
from clio.security.approval import Answer, ApprovalRequest
from clio.sessions.store import SessionStore
from clio.tokens import TokenEstimator
from tests.support.chat_server import error, finish, slow, stall, text, tool_calls
from tests.support.harness import Harness
from tests.support.waiting import run_loop_once, wait_until_async
from tests.turns.conftest import MakeHarness
from tests.turns.test_pictures import PNG

READ = ("read_file", {"path": "calc.py"})
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def steering(harness: Harness, *words: str) -> Callable[[dict[str, Any]], Any]:
    """Return an answer with a call, before which the user sends a message."""

    def reply(body: dict[str, Any]) -> Any:
        for word in words:
            harness.app.mailbox.put(word)
        return tool_calls([READ])

    return reply


def roles(harness: Harness, request: int) -> list[str]:
    return [message["role"] for message in harness.server.requests[request].body["messages"]]


def last(harness: Harness, request: int) -> str:
    return str(harness.server.requests[request].body["messages"][-1]["content"])


def test_a_message_is_added_after_the_results_of_the_step(make_harness: MakeHarness) -> None:
    harness = make_harness([])
    harness.server.add(steering(harness, "use tabs"), tool_calls([READ]), text("Done."))
    assert asyncio.run(harness.turn("indent it")).text == "Done."
    assert roles(harness, 1) == ["system", "user", "assistant", "tool", "user"]
    assert last(harness, 1) == "use tabs"
    assert harness.server.requests[2].body["messages"][:5] == harness.server.requests[1].body["messages"]
    assert harness.seen(Steered) == [Steered(text="use tabs", step=2)]
    assert harness.app.mailbox.waiting == ()


def test_several_messages_keep_their_order(make_harness: MakeHarness) -> None:
    harness = make_harness([])
    harness.server.add(steering(harness, "use tabs", " ", "and spaces"), text("Done."))
    asyncio.run(harness.turn("indent it"))
    assert last(harness, 1) == "use tabs\n\nand spaces"
    kept = [message for message in harness.app.session.messages if isinstance(message, UserMessage) and message.steers]
    assert [message.content for message in kept] == ["use tabs", "and spaces"]


def test_mentioned_files_are_sent_with_it(make_harness: MakeHarness) -> None:
    harness = make_harness([], approve="plan", model="gpt-4o")
    (harness.project / "shot.png").write_bytes(PNG)
    harness.app.memory.store.add(MemoryDraft(key="style", content="four spaces"))
    harness.server.add(
        steering(harness, "as in @calc.py and @note:style", "see @shot.png"), text("Done."), text("Yes.")
    )

    async def run_turns() -> None:
        await harness.turn("indent it")
        harness.app.planning.set_mode("ask")
        await harness.turn("go on")

    asyncio.run(run_turns())
    words, more, picture = harness.server.requests[1].body["messages"][-1]["content"]
    assert '<file source="calc.py">\n1|def add(a, b):' in words["text"]
    assert '<note source="note:style">\nfour spaces' in words["text"]
    assert words["text"].endswith("</context>\n\nas in @calc.py and @note:style")
    assert more["text"] == "see @shot.png"
    assert picture["image_url"]["url"].startswith("data:image/png;base64,")
    kept = [message for message in harness.app.session.messages if isinstance(message, UserMessage) and message.steers]
    assert [message.content for message in kept] == ["as in @calc.py and @note:style", "see @shot.png"]
    assert [len(message.images) for message in kept] == [0, 1]
    notices_and_messages = [event for event in harness.events if isinstance(event, Notice | Steered)]
    assert [event.text for event in notices_and_messages] == [
        "as in @calc.py and @note:style",
        "+ calc.py · 3 lines",
        "+ note:style · 1 line",
        "see @shot.png",
        "+ shot.png · png, 1.0 kB",
    ]
    assert "<plan_mode_over " in last(harness, 2)  # sent before the mention


def test_mentions_of_several_messages_take_at_most_a_quarter_of_the_window(make_harness: MakeHarness) -> None:
    harness = make_harness([], models=[{"id": "test-model", "max_model_len": 32_768}])
    for name in "abcd":
        (harness.project / f"{name}.txt").write_text(f"the {name} of all things\n" * 20_000, encoding="utf-8")
    harness.server.add(steering(harness, *(f"see @{name}.txt" for name in "abcd")), text("Done."))
    asyncio.run(harness.turn("look"))
    kept = [message for message in harness.app.session.messages if isinstance(message, UserMessage) and message.steers]
    estimator = TokenEstimator()
    assert all("lines left out here" in message.context for message in kept)
    assert sum(estimator.estimate_text(message.context) for message in kept) < 32_768 // 4 + 4 * 200


def test_messages_are_kept_if_the_turn_is_stopped_while_their_mentions_are_read(make_harness: MakeHarness) -> None:
    harness = make_harness([])
    outside = harness.project.parent / "outside.txt"
    outside.write_text("x\n", encoding="utf-8")
    asked = asyncio.Event()

    async def never(request: ApprovalRequest) -> Answer:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    harness.user.ask = never
    harness.server.add(steering(harness, f"see @{outside}", "and then?"), text("Done."))

    async def run_turns() -> None:
        task = asyncio.create_task(harness.app.run_turn("work"))
        await asyncio.wait_for(asked.wait(), 10)
        task.cancel()
        await asyncio.wait({task})

    asyncio.run(run_turns())
    kept = [message for message in harness.app.session.messages if isinstance(message, UserMessage) and message.steers]
    assert [(message.content, message.context) for message in kept] == [(f"see @{outside}", "")]
    assert harness.app.mailbox.waiting == ("and then?",)


def test_it_is_on_disk_before_it_is_sent(make_harness: MakeHarness) -> None:
    harness = make_harness([])
    found: list[str] = []

    def look(body: dict[str, Any]) -> Any:
        store = SessionStore(harness.project / ".clio" / "sessions")
        found.extend(m.content for m in store.read(harness.app.session.id) if isinstance(m, UserMessage))
        return text("Done.")

    harness.server.add(steering(harness, f"the token is {SECRET}"), look)
    asyncio.run(harness.turn("work"))
    assert found[0] == "work"
    assert found[1].startswith("the token is ") and SECRET not in found[1]
    assert SECRET.encode() not in harness.server.requests[1].raw
    assert SECRET not in msgspec.json.encode(harness.events).decode()


def test_a_message_sent_while_the_model_finishes_is_left_for_the_next_turn(make_harness: MakeHarness) -> None:
    harness = make_harness([])

    def reply(body: dict[str, Any]) -> Any:
        harness.app.mailbox.put("use tabs")
        return text("Done.")

    harness.server.add(reply)
    assert asyncio.run(harness.turn("indent it")).status == "done"
    assert len(harness.server.requests) == 1
    assert harness.app.mailbox.waiting == ("use tabs",)


def test_a_truncated_answer_is_continued_with_the_users_message(make_harness: MakeHarness) -> None:
    harness = make_harness([])

    def reply(body: dict[str, Any]) -> Any:
        harness.app.mailbox.put("shorter")
        return finish("length", "A very long")

    harness.server.add(reply, text("Short."))
    assert asyncio.run(harness.turn("explain")).text == "Short."
    assert last(harness, 1) == "shorter"


@pytest.mark.parametrize("reply", [error(401), stall("I begin")])
def test_a_turn_that_ends_early_keeps_it_for_the_user(make_harness: MakeHarness, reply: Any) -> None:
    harness = make_harness([reply])

    async def run_turns() -> None:
        task = asyncio.create_task(harness.app.run_turn("work"))
        await wait_until_async(lambda: harness.seen(StepStarted))
        harness.app.mailbox.put("use tabs")
        await wait_until_async(lambda: harness.seen(TurnFinished) or harness.shown)
        task.cancel()
        await asyncio.wait({task})

    asyncio.run(run_turns())
    assert harness.app.mailbox.waiting == ("use tabs",)
    assert not harness.seen(Steered)


def test_the_steered_turn_is_undone_as_one_turn(make_harness: MakeHarness) -> None:
    harness = make_harness([], approve="all")

    def write(name: str) -> Any:
        return tool_calls([("write_file", {"path": name, "content": "x\n"})])

    def first(body: dict[str, Any]) -> Any:
        harness.app.mailbox.put("and b")
        return write("a.txt")

    harness.server.add(first, write("b.txt"), text("Both."))
    asyncio.run(harness.turn("write a"))
    began = get_running_turn(harness.app.session)
    (turn,) = harness.app.runtime.checkpoints.list_turns()
    assert began is not None and turn.message == began.message
    assert {change.path for change in turn.changes} == {"a.txt", "b.txt"}


def test_it_becomes_the_current_task_when_the_window_is_trimmed(make_harness: MakeHarness) -> None:
    harness = make_harness([])
    wanted = "rewrite the parser in the style of calc.py"
    harness.server.add(steering(harness, wanted), text("Done."))
    asyncio.run(harness.turn("look around"))
    added = [event.message for event in harness.seen(MessageAdded)]
    assert [m.content for m in added if isinstance(m, UserMessage)] == ["look around", wanted]
    units = split_units(harness.app.session.messages, lambda _: 1.0)
    task = find_task_index(units)
    assert task is not None and list(units[task].messages) == [added[3]]


def test_a_stuck_model_that_is_steered_gets_three_more_tries(make_harness: MakeHarness) -> None:
    harness = make_harness([])
    missing = tool_calls([("read_file", {"path": "gone.py"})])

    def third(body: dict[str, Any]) -> Any:
        harness.app.mailbox.put("it is calc.py")
        return missing

    harness.server.add(missing, third, missing, missing, text("Found."))
    assert asyncio.run(harness.turn("read it")).text == "Found."
    assert harness.seen(TurnFinished)[-1].status == "done"


def test_nothing_is_lost_during_a_slow_first_request(make_harness: MakeHarness) -> None:
    harness = make_harness([])
    harness.server.add(slow(0.3, tool_calls([READ])), text("Done."))

    async def run_turns() -> None:
        task = asyncio.create_task(harness.app.run_turn("work"))
        await run_loop_once()
        harness.app.mailbox.put("at once")
        await task

    asyncio.run(run_turns())
    assert [event.step for event in harness.seen(Steered)] == [1]
