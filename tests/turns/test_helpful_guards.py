"""Guards that help the model: repeated calls, interruptions, omitted tools, and results that fit the free space."""

import asyncio
import sys
from typing import Any

import pytest

from clio.agent.user_interface import Notice, ToolFinished, ToolProgress, TurnFinished
from clio.messages import ToolMessage, UserMessage
from clio.security.approval import Answer, ApprovalRequest
from tests.support.chat_server import stall, text, tool_calls
from tests.support.harness import Harness
from tests.support.waiting import wait_until_async
from tests.support.wording import mentions
from tests.turns.conftest import MakeHarness

GONE = ("read_file", {"path": "gone.py"})


def results(harness: Harness) -> list[str]:
    """Return the tool results in the newest request."""
    messages = harness.server.requests[-1].body["messages"]
    return [message["content"] for message in messages if message["role"] == "tool"]


def command(script: str) -> tuple[str, dict[str, Any]]:
    return "run_command", {"command": f'{sys.executable} -c "{script}"'}


def test_the_second_identical_failure_gets_advice_and_the_fourth_ends_the_turn(make_harness: MakeHarness) -> None:
    harness = make_harness([tool_calls([GONE])] * 6)
    finished = asyncio.run(harness.turn("read it"))
    assert (finished.status, len(harness.server.requests)) == ("failed", 4)
    assert "4 times" in finished.error
    first, second, third = results(harness)
    assert second.startswith(first) and "same failure" in second and "list_files" in second
    assert "ends the turn" in third


def test_a_change_in_between_restarts_the_count(make_harness: MakeHarness) -> None:
    writes = [tool_calls([("write_file", {"path": f"new{number}.txt", "content": "x\n"})]) for number in range(3)]
    steps = [step for write in writes for step in (tool_calls([GONE]), tool_calls([GONE]), write)]
    harness = make_harness([*steps, text("Done.")], approve="all")
    assert asyncio.run(harness.turn("read it")).status == "done"


def test_a_command_with_a_different_result_each_time_is_polling(make_harness: MakeHarness) -> None:
    script = "import sys; p=open('n','a'); p.write('x'); p.close(); print('at', len(open('n').read())); sys.exit(1)"
    harness = make_harness([*[tool_calls([command(script)])] * 6, text("Done.")], approve="all")
    assert asyncio.run(harness.turn("poll it")).status == "done"
    assert not any("same failure" in result for result in results(harness))


def test_a_command_that_waits_is_polling(make_harness: MakeHarness) -> None:
    waiting = ("run_command", {"command": "sleep 0.01; test -f never"})
    harness = make_harness([*[tool_calls([waiting])] * 6, text("Done.")], approve="all")
    assert asyncio.run(harness.turn("poll it")).status == "done"


def test_another_duration_of_a_failing_test_is_not_another_result(make_harness: MakeHarness) -> None:
    script = "import sys, os; print('1 failed in 0.%ds' % (os.getpid() % 97)); sys.exit(1)"
    harness = make_harness([tool_calls([command(script)])] * 6, approve="all")
    assert asyncio.run(harness.turn("test it")).status == "failed"
    assert len(harness.server.requests) == 4


def test_a_failure_that_takes_too_long_to_be_told_without_its_duration_is_the_same(make_harness: MakeHarness) -> None:
    """clio tells the duration of a command from a tenth of a second on."""
    script = (
        "import os, sys, time; f=open('n', 'a'); f.write('x'); f.close(); size=os.path.getsize('n'); "
        "end=time.perf_counter() + 0.2 * (size % 2); any(time.perf_counter() > end for _ in iter(int, 1)); sys.exit(1)"
    )
    harness = make_harness([tool_calls([command(script)])] * 6, approve="all")
    assert asyncio.run(harness.turn("test it")).status == "failed"
    assert len(harness.server.requests) == 4


def test_successful_calls_with_the_same_result_get_a_hint_and_may_continue(make_harness: MakeHarness) -> None:
    listing = tool_calls([("list_files", {})])
    harness = make_harness([*[listing] * 9, text("Done.")])
    assert asyncio.run(harness.turn("look")).status == "done"
    assert "the same each time" in results(harness)[-1]
    assert "the same each time" not in results(harness)[0]


def test_the_model_is_told_that_it_was_interrupted_while_thinking(make_harness: MakeHarness) -> None:
    harness = make_harness([stall(""), text("Then this.")])

    async def run_turns() -> None:
        task = asyncio.create_task(harness.app.run_turn("think hard"))
        await wait_until_async(lambda: harness.server.requests)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert harness.seen(TurnFinished)[-1].status == "interrupted"
        await harness.turn("do that instead")

    asyncio.run(run_turns())
    users = [
        message["content"] for message in harness.server.requests[-1].body["messages"] if message["role"] == "user"
    ]
    assert any(mentions(str(content), "user interrupted", "thinking") for content in users)
    kept = [message for message in harness.app.session.messages if isinstance(message, UserMessage)]
    assert [message.origin for message in kept] == ["user", "interrupt", "user"]


def test_a_small_window_names_the_omitted_tools(make_harness: MakeHarness) -> None:
    patch = tool_calls([("apply_patch", {"patch": "*** Begin Patch"})])
    harness = make_harness([patch, text("hi")], models=[{"id": "test-model", "max_model_len": 16_384}])
    asyncio.run(harness.turn("hi"))
    body = harness.server.requests[0].body
    assert "apply_patch" not in [tool["function"]["name"] for tool in body["tools"]]
    assert "apply_patch" in body["messages"][0]["content"]
    assert any("apply_patch" in notice.text and "left out" in notice.text for notice in harness.seen(Notice))
    assert "not available" in results(harness)[0]


def test_a_result_gets_a_share_of_the_free_space(make_harness: MakeHarness) -> None:
    harness = make_harness([], models=[{"id": "test-model", "max_model_len": 24_000}], approve="all")
    (harness.project / "long.txt").write_text("".join(f"line {number} of a long file\n" for number in range(2_000)))
    calls = [("run_command", {"command": "cat long.txt"}), ("read_file", {"path": "long.txt"})]
    harness.server.add(*(tool_calls([call]) for call in calls), text("Done."))
    asyncio.run(harness.turn("read it"))
    printed, read = results(harness)
    assert len(printed) < 16_000 and len(read) < 16_000
    assert "read_output" in printed and "of 2,00" in printed
    last = int(read.splitlines()[-2].split("|")[0])
    assert read.splitlines()[-1].endswith(f"continue with offset={last + 1}]")


def test_calls_of_one_step_share_the_space(make_harness: MakeHarness) -> None:
    harness = make_harness([], models=[{"id": "test-model", "max_model_len": 24_000}])
    for name in "abcdef":
        (harness.project / f"{name}.txt").write_text(
            "".join(f"{name} {number} of a long file\n" for number in range(2_000))
        )
    harness.server.add(tool_calls([("read_file", {"path": f"{name}.txt"}) for name in "abcdef"]), text("Done."))
    asyncio.run(harness.turn("read them"))
    assert sum(map(len, results(harness))) < 45_000
    assert len(results(harness)) == 6 and all("continue with offset=" in result for result in results(harness))


def test_unchanged_lines_already_in_the_window_are_referred_to(make_harness: MakeHarness) -> None:
    body = "".join(f"value_{number} = {number}\n" for number in range(100))
    edit = {"path": "long.py", "old_string": "value_50 = 50", "new_string": "value_50 = 0"}
    calls = [
        ("read_file", {"path": "long.py"}),
        ("read_file", {"path": "long.py", "offset": 10, "limit": 40}),
        ("edit_file", edit),
        ("read_file", {"path": "long.py", "offset": 10, "limit": 40}),
        ("read_file", {"path": "long.py"}),
    ]
    harness = make_harness([*(tool_calls([call]) for call in calls), text("Done.")], approve="all")
    (harness.project / "long.py").write_text(body)
    asyncio.run(harness.turn("work"))
    whole, part, _, again, changed = results(harness)
    assert "value_99 = 99" in whole
    assert "unchanged: lines 10-49" in part and "\n" not in part.replace("]\n[", "")
    assert "unchanged: lines 10-49" in again
    assert "value_50 = 0" in changed and "value_99 = 99" in changed


def test_trimmed_lines_are_shown_again(make_harness: MakeHarness) -> None:
    read = tool_calls([("read_file", {"path": "long.py"})])
    harness = make_harness([read, text("Seen."), text("Yes."), read, text("Done.")])
    (harness.project / "long.py").write_text("".join(f"value_{number} = {number}\n" for number in range(100)))

    async def run_turns() -> None:
        await harness.turn("read it")
        await harness.turn("and so?")
        result = next(message for message in harness.app.session.messages if isinstance(message, ToolMessage))
        context = harness.app.window
        assert context is not None and context.trim_now() is not None
        trim = harness.app.session.trims[-1]
        assert result.id in trim.dropped or result.id in trim.shrunk
        await harness.turn("read it again")

    asyncio.run(run_turns())
    assert "value_99 = 99" in results(harness)[-1]


def test_a_command_reports_its_time_limit_and_a_clean_tree_is_called_clean(make_harness: MakeHarness) -> None:
    harness = make_harness([tool_calls([("git", {"operation": "status"})]), text("Clean.")])
    asyncio.run(harness.turn("status?"))
    described = {tool["function"]["name"]: tool["function"] for tool in harness.server.requests[0].body["tools"]}
    assert "default 120" in described["run_command"]["description"]
    assert "clean" in results(harness)[0]


def test_the_time_limit_of_a_command_starts_after_approval(
    make_harness: MakeHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = make_harness([tool_calls([command("open('made', 'w').write('x')")]), text("Done.")])

    async def allow_slowly(request: ApprovalRequest) -> Answer:
        await asyncio.sleep(1.0)  # a slow user: longer than the duration that is reported for the command
        return Answer(kind="once")

    monkeypatch.setattr(harness.user, "ask", allow_slowly)
    asyncio.run(harness.turn("do it"))
    assert (harness.project / "made").exists()
    assert [event.text for event in harness.seen(ToolProgress)][:1] == [""]
    assert harness.seen(ToolFinished)[0].asked and harness.seen(ToolFinished)[0].seconds < 0.9
