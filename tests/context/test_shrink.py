"""Shortened views: which outputs are stale, and how texts are cut."""

import json

from hypothesis import given
from hypothesis import strategies as st

from clio.context.message_views import STALE, cut_text, fit_units, shorten_message, split_units
from clio.context.worthless import stale_results
from clio.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from clio.tokens import message_units
from tests.support.rows import each_row

LONG = "".join(f"{number}: some line of a file\n" for number in range(60))
numbers = iter(range(1_000_000))


def did(name: str, output: str = LONG, *, ok: bool = True, **arguments: object) -> list[Message]:
    """Return a call and its result."""
    id = f"call_{next(numbers)}"
    call = ToolCall(id=id, name=name, arguments=json.dumps(arguments))
    return [AssistantMessage(tool_calls=(call,)), ToolMessage(tool_call_id=id, name=name, content=output, ok=ok)]


def stale(*rounds: list[Message]) -> list[int]:
    """Return numbers of the rounds whose output is stale."""
    units = split_units([message for each in rounds for message in each], message_units)
    found = stale_results(units)
    return [number for number, each in enumerate(rounds) if each[1].id in found]


def test_outputs_of_repeated_reads_and_runs_are_stale() -> None:
    assert stale(did("read_file", path="a"), did("read_file", path="b"), did("read_file", path="a")) == [0]
    assert stale(did("run_command", command="make"), did("run_command", "new " * 200, command="make")) == [0]
    assert stale(*[did("search_text", pattern="x") for _ in range(3)]) == [0, 1]
    assert stale(did("run_command", command="make", timeout_s=5), did("run_command", timeout_s=9, command="make")) == [
        0
    ]


def test_a_later_read_covers_an_earlier_part() -> None:
    part = LONG[: len(LONG) // 2]
    assert stale(did("read_file", part, path="a", limit=30), did("read_file", path="a")) == [0]
    assert stale(did("read_file", path="a"), did("read_file", part, path="a", limit=30)) == []
    assert stale(did("read_file", part, path="a", limit=30), did("read_file", path="b")) == []


@each_row(
    "rounds",
    [
        [did("read_file", path="a"), did("read_file", "no such file", ok=False, path="a")],
        [did("ask_user", question="which?"), did("ask_user", question="which?")],
        [did("job_output", job="job1"), did("job_output", job="job1")],
        [did("read_file", "short", path="a"), did("read_file", "short", path="a")],
        [did("run_command", command="make a"), did("run_command", command="make b")],
    ],
    ids=["a failed reading", "answers of the user", "news of a job", "short", "another command"],
)
def test_outputs_that_are_still_useful(rounds: list[list[Message]]) -> None:
    assert stale(*rounds) == []


def test_a_placeholder_says_where_the_complete_output_is() -> None:
    _, result = did("read_file", path="a")
    view = shorten_message(result, STALE)
    assert view.content.count("\n") == 0
    assert f'from="{result.id}"' in view.content
    assert view.id == result.id
    kept = ToolMessage(tool_call_id="x", content=LONG, blob="0123456789abcdef")
    assert 'read_output(handle="0123456789abcdef")' in shorten_message(kept, STALE).content


@given(st.text(max_size=3_000), st.integers(160, 2_000))
def test_a_shortened_text_keeps_both_ends(text: str, chars: int) -> None:
    short = cut_text(text, chars, "whole: elsewhere")
    assert len(short) <= max(chars + 240, 0)
    if short != text:
        head, tail = chars * 3 // 5, chars - chars * 3 // 5
        assert short.startswith(text[:head])
        assert short.endswith(text[-tail:])
        assert f"{len(text) - head - tail:,} characters left out; whole: elsewhere" in short


def test_shortened_arguments_are_json_of_the_same_shape() -> None:
    arguments = {"path": "a.py", "content": "c" * 9_000, "edits": [{"old": "o" * 5_000, "new": 1}] * 4, "all": True}
    head, _ = did("write_file", **arguments)
    view = shorten_message(head, 300)
    assert isinstance(view, AssistantMessage)
    cut = json.loads(view.tool_calls[0].arguments)
    assert (cut["path"], cut["all"]) == ("a.py", True)
    assert cut["content"].startswith("ccc")
    assert len(view.tool_calls[0].arguments) < 3_000
    broken = AssistantMessage(tool_calls=(ToolCall(id="1", name="t", arguments='{"a": "' + "x" * 5_000),))
    view = shorten_message(broken, 300)
    assert isinstance(view, AssistantMessage)
    assert json.loads(view.tool_calls[0].arguments)["invalid_json"].startswith('{"a": "xxx')


def test_user_messages_are_never_shortened() -> None:
    message = UserMessage(content="w" * 9_000)
    assert shorten_message(message, 200) is message


def test_the_largest_output_is_shortened_most_and_short_ones_are_kept() -> None:
    units = split_units([*did("bash", "b" * 50_000, command="1"), *did("bash", "s" * 500, command="2")], message_units)
    cuts = fit_units(units, 8_000, lambda message: message)
    assert list(cuts) == [units[0].messages[1].id]
    after = sum(message_units(shorten_message(m, cuts[m.id]) if m.id in cuts else m) for u in units for m in u.messages)
    assert 4_000 < after <= 8_000


def test_the_same_message_gives_the_same_view() -> None:
    _, result = did("bash", "漢字 " * 5_000, command="x")
    assert shorten_message(result, 400) == shorten_message(result, 400)
    assert len(shorten_message(result, 400).content) < 700
