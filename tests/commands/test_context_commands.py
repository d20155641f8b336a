"""/context and /session trim on a real session and its window."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clio.commands.command import CommandResult, LoadWindow
from clio.commands.context_commands import PAGE_CHARS
from clio.commands.registry import complete_command_line, run_command
from clio.messages import AssistantMessage, ToolCall, ToolMessage
from clio.ui.tables import divide_cells, render_bar, render_legend
from tests.commands.harness import Harness, make_harness
from tests.context.histories import make_window
from tests.support.wording import mentions

WINDOW = 8_192
LONG = "a line of a file that was read\n" * 20


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[Harness]:
    harness = make_harness(tmp_path)
    harness.window = make_window(harness.session, WINDOW)
    yield harness
    harness.session.close()


def work(harness: Harness, rounds: int, output: str = LONG) -> None:
    for number in range(rounds):
        call = ToolCall(
            id=f"c{len(harness.session.messages)}", name="read_file", arguments=f'{{"path": "{number}.py"}}'
        )
        harness.session.append(AssistantMessage(content=f"Now file {number}.", tool_calls=(call,)))
        harness.session.append(ToolMessage(tool_call_id=call.id, name="read_file", content=f"{number}.py\n{output}"))


def facts(result: CommandResult) -> dict[str, str]:
    assert result.table is not None
    return {row[0]: row[1] for row in result.table.rows}


def amounts(result: CommandResult) -> dict[str, int]:
    assert result.bar is not None
    return {part.name: part.amount for part in result.bar.parts}


def test_the_bar_adds_up_to_the_window(harness: Harness) -> None:
    harness.talk("rewrite the parser")
    work(harness, 5)
    result = run_command(harness, "/context")
    assert result.bar is not None
    assert result.bar.title.startswith(f"offline: window {WINDOW:,} tokens (")
    shown = amounts(result)
    assert sum(shown.values()) == WINDOW
    assert list(shown) == [
        "system prompt", "instructions, memory", "tools", "thread summary", "history", "reserved for output", "free",
    ]  # fmt: skip
    assert shown["history"] > 5 * len(LONG) / 5
    assert shown["thread summary"] == 0
    history, room = shown["history"], shown["history"] + shown["free"]
    assert facts(result) == {
        "last request": "no usage was reported yet, so all numbers are estimates",
        "conversation": f"{history:,} of {room:,} tokens; compacts automatically at {room * 3 // 4:,}",
        "next trim": facts(result)["next trim"],
        "trims": "none so far",
    }


def test_the_next_trim_is_announced(harness: Harness) -> None:
    harness.talk("rewrite the parser")
    work(harness, 12)
    assert harness.window is not None
    seen = harness.window.foresee_next_trim()
    next_trim = facts(run_command(harness, "/context"))["next trim"]
    first = f"the first {seen.messages} messages, {seen.tokens:,} tokens, will be summarized"
    assert mentions(next_trim, "75 %", f"{seen.left:,} tokens", first)


@pytest.mark.parametrize(("billed", "how"), [(2.0, "50.0 % too low"), (0.8, "25.0 % too high"), (1.0, "exact")])
def test_the_last_usage_is_compared_with_its_estimate(harness: Harness, billed: float, how: str) -> None:
    harness.talk("rewrite the parser")
    work(harness, 4)
    assert harness.window is not None
    built = harness.window.build()
    harness.window.learn_from_acceptance(built, int(built.prompt_tokens * billed))
    last_request = facts(run_command(harness, "/context"))["last request"]
    assert last_request.startswith(
        f"estimated {built.prompt_tokens:,} tokens, billed {int(built.prompt_tokens * billed):,}: "
    )
    assert last_request.endswith(how)


def test_an_unknown_window_size_is_requested(tmp_path: Path) -> None:
    harness = make_harness(tmp_path)
    harness.talk("hello")
    for line in ("/context", "/context undo", "/session trim"):
        assert run_command(harness, line).follow_up == LoadWindow(then=line)
    harness.session.close()


def test_a_trim_can_be_inspected_and_undone(harness: Harness) -> None:
    harness.talk("rewrite the parser")
    work(harness, 20)
    before = amounts(run_command(harness, "/context"))
    whole = list(harness.session.window_ids)

    done = run_command(harness, "/session trim")
    trim = harness.session.trims[0]
    assert done.text.startswith(f"Moved {len(trim.dropped):,} messages to the archive (t1), {trim.freed_tokens:,} tok")
    result = run_command(harness, "/context")
    after = amounts(result)
    assert after["history"] + after["thread summary"] <= before["history"] / 2 + 10
    assert after["thread summary"] > 0
    assert facts(result)["trims"].startswith(f"1 so far; t1 is the newest: {len(trim.dropped)} messages, ")

    undone = run_command(harness, "/context undo")
    assert mentions(undone.text, "t1", "undone", f"{len(trim.dropped)} messages")
    assert harness.session.window_ids == whole
    assert amounts(run_command(harness, "/context")) == before
    again = run_command(harness, "/context undo")
    assert not again.ok and mentions(again.text, "Nothing", "trimmed", "nothing to undo")


def test_an_undo_that_does_not_fit_gives_the_reason(harness: Harness) -> None:
    harness.talk("rewrite the parser")
    assert harness.window is not None
    while not harness.session.trims:
        work(harness, 1)
        harness.window.build()
    work(harness, 14)
    result = run_command(harness, "/context undo")
    assert not result.ok
    assert result.text.startswith("t1 does not fit: it needs ")
    assert len(harness.session.trims) == 1


def test_a_trim_that_only_shortens_says_so(harness: Harness) -> None:
    harness.talk("rewrite the parser")
    assert harness.window is not None
    work(harness, 1, LONG * 60)
    assert harness.window.build().trimmed is not None
    trim = harness.session.trims[0]
    assert (trim.dropped, len(trim.shrunk)) == ((), 1)
    assert "1 tool output shortened" in facts(run_command(harness, "/context"))["trims"]
    shown = run_command(harness, "/context expand t1")
    assert mentions(shown.text, "t1", "no messages", "1 tool output")


def test_nothing_to_trim_is_reported(harness: Harness) -> None:
    harness.talk("hello")
    assert "Nothing to trim" in run_command(harness, "/session trim").text
    assert harness.session.trims == []


def trimmed(harness: Harness, output: str = LONG) -> None:
    harness.talk("rewrite the parser")
    harness.talk("and keep its **tests** `green`\n# no heading")
    work(harness, 20, output)
    harness.talk("what is next in the parser?")
    assert run_command(harness, "/session trim").ok


def test_expand_shows_every_message_verbatim(harness: Harness) -> None:
    trimmed(harness)
    dropped = harness.session.trims[0].dropped
    pages: list[str] = []
    while (result := run_command(harness, f"/context expand T1 {len(pages) + 1}")).ok:
        page = len(pages) + 1
        head, _, rest = result.verbatim.partition("\n\n")
        assert head.startswith(f"t1: {len(dropped)} messages, page {page} of ")
        assert len(rest) < PAGE_CHARS + 100
        pages.append(rest.removesuffix(f"\n\n/context expand t1 {page + 1} continues"))
    assert len(pages) > 1
    assert result.text == f"t1 has {len(pages)} pages, not '{len(pages) + 1}'"
    shown = "\n".join(pages)
    for message in harness.session.messages:
        if message.id in dropped:
            assert message.content.rstrip() in shown
    assert "── 2 you" in shown
    assert 'called read_file {"path": "0.py"}' in shown
    assert "── 4 result of read_file" in shown
    assert run_command(harness, "/context expand t1").verbatim == run_command(harness, "/context expand t1 1").verbatim


def test_lines_longer_than_a_page_continue_on_the_next(harness: Harness) -> None:
    trimmed(harness, "x" * (2 * PAGE_CHARS))
    shown = ""
    for page in range(1, 200):
        result = run_command(harness, f"/context expand t1 {page}")
        if not result.ok:
            break
        assert len(result.verbatim) < PAGE_CHARS + 200
        shown += result.verbatim
    whole = [message for message in harness.session.messages if message.id in harness.session.trims[0].dropped]
    assert shown.count("x") >= sum(message.content.count("x") for message in whole) > 2 * PAGE_CHARS


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("/context expand", "Which trim? Write /context expand with one of t1"),
        ("/context expand t7", "There is no trim 't7'; the newest are t1"),
        ("/context expand t1 0", "t1 has "),
        ("/context expand t1 two", "not 'two'"),
        ("/context expand t1 ²", "not '²'"),
        ("/context restore", "Which trim? Write /context restore with one of t1"),
        ("/context restore all", "There is no trim 'all'"),
        ("/context undo t1", "/context undo takes no argument"),
        ("/context exapnd t1", "'/context expand'"),
        ("/session trim 50", "/session trim takes no argument"),
    ],
)
def test_invalid_requests_are_reported(harness: Harness, line: str, message: str) -> None:
    trimmed(harness)
    before = list(harness.session.window_ids)
    result = run_command(harness, line)
    assert not result.ok
    assert message in result.text
    assert harness.session.window_ids == before


def test_without_a_trim_nothing_is_missing(harness: Harness) -> None:
    harness.talk("hello")
    for line in ("/context expand t1", "/context restore t1"):
        assert "all of it is in the window" in run_command(harness, line).text


def test_restore_returns_the_messages_to_the_window(harness: Harness) -> None:
    trimmed(harness)
    dropped = harness.session.trims[0].dropped
    answer = run_command(harness, "/context restore t1").text
    assert mentions(answer, f"{len(dropped)} messages", "t1")
    assert set(dropped) <= set(harness.session.window_ids)
    assert harness.window is not None
    sent = {message.id for message in harness.window.build().request.messages}
    assert set(dropped) <= sent


def test_trims_and_undos_survive_a_restart(harness: Harness) -> None:
    trimmed(harness)
    stm, id = list(harness.session.window_ids), harness.session.id
    harness.session.close()
    harness.session = harness.store.open(id)
    harness.window = make_window(harness.session, WINDOW)
    assert harness.session.window_ids == stm
    assert run_command(harness, "/context expand t1").ok
    assert run_command(harness, "/context undo").ok
    assert [message.id for message in harness.session.messages] == harness.session.window_ids


def test_handles_are_completed_newest_first(harness: Harness) -> None:
    trimmed(harness)
    work(harness, 8)
    run_command(harness, "/session trim")
    found = [suggestion for suggestion, _ in complete_command_line(harness, "/context expand ")]
    assert [suggestion.text for suggestion in found] == ["t2", "t1"]
    assert "messages" in found[0].note
    assert [suggestion.text for suggestion, _ in complete_command_line(harness, "/context u")] == ["undo"]
    assert list(complete_command_line(None, "/context restore ")) == []


@given(st.lists(st.integers(-1000, 10**7), min_size=1, max_size=8), st.integers(24, 200))
def test_the_bar_has_its_maximum_width_and_shows_every_part(amounts: list[int], width: int) -> None:
    cells = divide_cells(amounts, width)
    assert all((count > 0) == (amount > 0) for count, amount in zip(cells, amounts, strict=True))
    assert sum(cells) == (width if any(amount > 0 for amount in amounts) else 0)
    whole = sum(amount for amount in amounts if amount > 0)
    for count, amount in zip(cells, amounts, strict=True):
        assert abs(count - max(amount, 0) * width / max(whole, 1)) <= len(amounts)


@pytest.mark.parametrize("width", [10, 24, 39, 79, 200])
def test_no_row_is_wider_than_the_screen(harness: Harness, width: int) -> None:
    trimmed(harness)
    bar = run_command(harness, "/context").bar
    assert bar is not None
    rows = ["".join(text for text, _ in row) for row in render_bar(bar, width)]
    assert max(map(len, rows)) <= max(width, 24)
    assert len(rows) == 1 + len(bar.parts)
    assert rows[1:] == [
        f"{part.mark} {row}" for part, row in zip(bar.parts, render_legend(bar.parts, max(width, 24) - 2), strict=True)
    ]
