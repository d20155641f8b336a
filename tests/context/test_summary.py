"""Summaries merge: what was said of the parts is what is said of the whole."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clio.context.inert import shorten
from clio.context.summary import Ask, Decision, FileState, Outcome, ThreadSummary, merge, summarise
from clio.messages import AssistantMessage, Commit, Deeds, FileDeed, Message, ToolCall, ToolMessage, UserMessage
from tests.context.stretches import HISTORIES, flat
from tests.support.examples import examples


def did(n: int, **deeds: object) -> list[Message]:
    call = ToolCall(id=f"c{n}", name="tool")
    return [
        AssistantMessage(tool_calls=(call,)),
        ToolMessage(tool_call_id=call.id, name="tool", content="ok", deeds=Deeds(**deeds)),  # type: ignore[arg-type]
    ]


@examples(60)
@given(HISTORIES, st.data())
def test_any_split_between_units_gives_the_same(parts: list[list[Message]], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(parts)))
    before, after = flat(parts[:at]), flat(parts[at:])
    assert merge(summarise(before), summarise(after)) == summarise(before + after)


@given(HISTORIES)
def test_unit_by_unit_is_all_at_once_and_nothing_plus_something_is_something(parts: list[list[Message]]) -> None:
    whole = ThreadSummary()
    for part in parts:
        whole = merge(whole, summarise(part))
    assert whole == summarise(flat(parts))
    assert list(whole.files) == list(summarise(flat(parts)).files), "the order counts too"


def test_a_late_result_counts_where_its_call_stands() -> None:
    first, second = (
        did(1, commits=(Commit(hash="1111111", subject="one"),)),
        did(2, commits=(Commit(hash="2222222", subject="two"),)),
    )
    late = [first[0], *second, first[1]]
    assert [commit.subject for commit in summarise(late).commits] == ["one", "two"]
    assert summarise(late) == merge(summarise(first), summarise(second))


def test_a_session_by_hand() -> None:
    messages = [
        UserMessage(content="Build a parser\nfor naïve 漢字", id="u1"),
        *did(1, read=("a.py", "b.py")),
        UserMessage(content="yes, go on"),
        UserMessage(content="carry on where you stopped", origin="continue"),
        *did(2, changed=(FileDeed(path="a.py", kind="update"), FileDeed(path="c.py", kind="delete"))),
        *did(3, changed=(FileDeed(path="old.py", kind="move", moved_to="new.py"),)),
        *did(4, command="pytest -q", exit_code=1),
        *did(5, command="sleep 100", exit_code=None),
        *did(6, question="Blue or red?", answer="blue"),
        *did(7, commits=(Commit(hash="1a2b3c4", subject="feat: parser"),)),
    ]
    summary = summarise(messages)
    answered = next(
        message for message in messages if isinstance(message, ToolMessage) and message.tool_call_id == "c6"
    )
    assert summary == ThreadSummary(
        messages=len(messages),
        asks=(Ask(id="u1", text="Build a parser\nfor naïve 漢字"),),
        decisions=(Decision(id=answered.id, question="Blue or red?", answer="blue"),),
        commits=(Commit(hash="1a2b3c4", subject="feat: parser"),),
        files={
            "a.py": FileState(is_open=False),
            "c.py": FileState(kind="deleted", is_open=False),
            "old.py": FileState(kind="moved", moved_to="new.py", is_open=False),
            "new.py": FileState(is_open=False),
        },
        read={"a.py": (), "b.py": ()},
        tools={"tool": 7},
        commands={"pytest -q": Outcome(command="pytest -q", exit_code=1, last_line="ok")},
    )
    assert summary.outcome == summary.commands["pytest -q"]


def test_a_commit_told_twice_is_one_and_a_file_touched_again_stands_last() -> None:
    commit = Commit(hash="1a2b3c4", subject="feat: parser")
    again = Commit(hash="1a2b3c4", subject="feat: parser")
    one = summarise(did(1, commits=(commit,), changed=(FileDeed(path="a", kind="add"), FileDeed(path="b", kind="add"))))
    two = summarise(did(2, commits=(again,), changed=(FileDeed(path="a", kind="delete"),)))
    both = merge(one, two)
    assert both.commits == (commit,)
    assert list(both.files) == ["b", "a"]
    assert both.files["a"].kind == "deleted"


@pytest.mark.parametrize("chars", [20, 300, 2_000])
def test_shortened_texts_keep_both_ends(chars: int) -> None:
    text = "".join(random.Random(4).choices("abc ü漢\n", k=5_000)).strip()
    short = shorten(text, chars)
    assert len(short) <= chars
    assert short[:8] == text[:8]
    assert short[-4:] == text[-4:]
    assert shorten(text[:chars], chars) == text[:chars].strip()
