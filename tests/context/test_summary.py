"""Summaries can be merged: the summary of the parts is the summary of the whole."""

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clio.context.summary import (
    CommandOutcome,
    Decision,
    FileSummary,
    ThreadSummary,
    UserRequest,
    merge_summaries,
    summarize_messages,
)
from clio.messages import (
    AssistantMessage,
    ChangedFile,
    Commit,
    Message,
    SideEffects,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from clio.text.formatting import shorten_middle
from tests.context.stretches import HISTORIES, flat
from tests.support.examples import examples
from tests.support.rows import each_row


def did(n: int, **effects: object) -> list[Message]:
    call = ToolCall(id=f"c{n}", name="tool")
    return [
        AssistantMessage(tool_calls=(call,)),
        ToolMessage(tool_call_id=call.id, name="tool", content="ok", side_effects=SideEffects(**effects)),  # type: ignore[arg-type]
    ]


@examples(60)
@given(HISTORIES, st.data())
def test_any_split_between_units_gives_the_same_summary(parts: list[list[Message]], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(parts)))
    before, after = flat(parts[:at]), flat(parts[at:])
    assert merge_summaries(summarize_messages(before), summarize_messages(after)) == summarize_messages(before + after)


@given(HISTORIES)
def test_merging_unit_by_unit_equals_all_at_once_and_empty_is_neutral(parts: list[list[Message]]) -> None:
    whole = ThreadSummary()
    for part in parts:
        whole = merge_summaries(whole, summarize_messages(part))
    assert whole == summarize_messages(flat(parts))
    assert list(whole.files) == list(summarize_messages(flat(parts)).files), "the order matters too"


def test_a_late_result_counts_at_its_call() -> None:
    first, second = (
        did(1, commits=(Commit(hash="1111111", subject="one"),)),
        did(2, commits=(Commit(hash="2222222", subject="two"),)),
    )
    late = [first[0], *second, first[1]]
    assert [commit.subject for commit in summarize_messages(late).commits] == ["one", "two"]
    assert summarize_messages(late) == merge_summaries(summarize_messages(first), summarize_messages(second))


def test_a_session_by_hand() -> None:
    messages = [
        UserMessage(content="Build a parser\nfor naïve 漢字", id="u1"),
        *did(1, read=("a.py", "b.py")),
        UserMessage(content="yes, go on"),
        UserMessage(content="carry on where you stopped", origin="continue"),
        *did(2, changed=(ChangedFile(path="a.py", kind="update"), ChangedFile(path="c.py", kind="delete"))),
        *did(3, changed=(ChangedFile(path="old.py", kind="move", moved_to="new.py"),)),
        *did(4, command="pytest -q", exit_code=1),
        *did(5, command="sleep 100", exit_code=None),
        *did(6, question="Blue or red?", answer="blue"),
        *did(7, commits=(Commit(hash="1a2b3c4", subject="feat: parser"),)),
    ]
    summary = summarize_messages(messages)
    answered = next(
        message for message in messages if isinstance(message, ToolMessage) and message.tool_call_id == "c6"
    )
    assert summary == ThreadSummary(
        messages=len(messages),
        requests=(UserRequest(id="u1", text="Build a parser\nfor naïve 漢字"),),
        decisions=(Decision(id=answered.id, question="Blue or red?", answer="blue"),),
        commits=(Commit(hash="1a2b3c4", subject="feat: parser"),),
        files={
            "a.py": FileSummary(is_uncommitted=False),
            "c.py": FileSummary(kind="deleted", is_uncommitted=False),
            "old.py": FileSummary(kind="moved", moved_to="new.py", is_uncommitted=False),
            "new.py": FileSummary(is_uncommitted=False),
        },
        read={"a.py": (), "b.py": ()},
        tools={"tool": 7},
        commands={"pytest -q": CommandOutcome(command="pytest -q", exit_code=1, last_line="ok")},
    )
    assert summary.outcome == summary.commands["pytest -q"]


def test_a_repeated_commit_is_one_and_a_file_changed_again_is_last() -> None:
    commit = Commit(hash="1a2b3c4", subject="feat: parser")
    again = Commit(hash="1a2b3c4", subject="feat: parser")
    one = summarize_messages(
        did(1, commits=(commit,), changed=(ChangedFile(path="a", kind="add"), ChangedFile(path="b", kind="add")))
    )
    two = summarize_messages(did(2, commits=(again,), changed=(ChangedFile(path="a", kind="delete"),)))
    both = merge_summaries(one, two)
    assert both.commits == (commit,)
    assert list(both.files) == ["b", "a"]
    assert both.files["a"].kind == "deleted"


@pytest.mark.parametrize("chars", [20, 300, 2_000])
def test_shortened_texts_keep_both_ends(chars: int) -> None:
    text = "".join(random.Random(4).choices("abc ü漢\n", k=5_000)).strip()
    short = shorten_middle(text, chars)
    assert len(short) <= chars
    assert short[:8] == text[:8]
    assert short[-4:] == text[-4:]
    assert shorten_middle(text[:chars], chars) == text[:chars].strip()


def call(
    name: str, output: str = "ok", *, ok: bool = True, side_effects: SideEffects | None = None, **arguments: object
) -> list[Message]:
    """Return a call with these arguments and its result."""
    made = ToolCall(id="c", name=name, arguments=json.dumps(arguments))
    return [
        AssistantMessage(tool_calls=(made,)),
        ToolMessage(tool_call_id="c", name=name, content=output, ok=ok, side_effects=side_effects),
    ]


def ran(command: str, output: str = "", code: int = 0) -> list[Message]:
    return call(
        "run_command", output, ok=not code, side_effects=SideEffects(command=command, exit_code=code), command=command
    )


def edited(path: str, old: str, new: str) -> list[Message]:
    effects = SideEffects(changed=(ChangedFile(path=path, kind="update", lines=((3, 5),)),))
    return call("edit_file", side_effects=effects, path=path, old_string=old, new_string=new)


COMMITTED = call("git", side_effects=SideEffects(commits=(Commit(hash="1a2b3c4", subject="one"),)))


@each_row(
    ("messages", "reverted"),
    [
        ([*edited("a.py", "x", "y"), *ran("git checkout -- a.py")], True),
        ([*edited("src/a.py", "x", "y"), *ran("git restore src")], True),
        ([*edited("a.py", "x", "y"), *ran("git stash")], True),
        ([*edited("a.py", "x", "y"), *edited("a.py", "y", "x")], True),
        (
            [
                *edited("a.py", "x", "y"),
                *edited("a.py", "p", "q"),
                *edited("a.py", "q", "p"),
                *edited("a.py", "y", "x"),
            ],
            True,
        ),
        ([*edited("a.py", "x", "y"), *edited("a.py", "y", "z")], False),
        ([*edited("a.py", "x", "y"), *ran("git checkout -- b.py")], False),
        ([*edited("a.py", "x", "y"), *ran("git checkout a.py", "error: pathspec", 1)], False),
        ([*edited("a.py", "x", "y"), *ran("git reset --hard"), *edited("a.py", "x", "z")], False),
        ([*edited("a.py", "x", "y"), *COMMITTED, *ran("git reset --hard")], False),
    ],
)
def test_reverted_changes(messages: list[Message], reverted: bool) -> None:
    for at in range(0, len(messages) + 1, 2):
        (state,) = merge_summaries(summarize_messages(messages[:at]), summarize_messages(messages[at:])).files.values()
        assert state.is_reverted is reverted


def test_read_and_changed_lines() -> None:
    rows = "".join(f"{number:>3}|x\n" for number in range(10, 41))
    messages = [*call("read_file", rows, side_effects=SideEffects(read=("a.py",)), path="a.py", offset=10, limit=31)]
    messages += [
        *call("read_file", "1|a\n2|b", side_effects=SideEffects(read=("b.py",)), path="b.py"),
        *edited("a.py", "x", "y"),
    ]
    summary = summarize_messages(messages)
    assert summary.read == {"a.py": ((10, 40),), "b.py": ()}
    assert summary.files["a.py"].uncommitted_lines == ((3, 5),)


def test_failed_calls_are_no_work_and_later_success_removes_the_failure() -> None:
    messages = [
        *call("edit_file", "old_string is not in a.py", ok=False, path="a.py", old_string="x", new_string="y"),
        *call(
            "edit_file",
            "old_string is not in b.py\nnearest lines: 3",
            ok=False,
            path="b.py",
            old_string="x",
            new_string="y",
        ),
        *edited("a.py", "x", "y"),
        *ran("pytest -q", "1 failed in 0.10s", 1),
    ]
    summary = summarize_messages(messages)
    assert (summary.tools, summary.failed) == ({"edit_file": 1, "run_command": 1}, {"edit_file": 2})
    assert {what: why for what, why in summary.attempts.items() if why} == {
        "edit_file b.py": "old_string is not in b.py"
    }


def test_a_failed_patch_is_made_good_file_by_file() -> None:
    failed = "*** Begin Patch\n*** Update File: a.py\n-x\n+y\n*** Update File: b.py\n-x\n+y\n*** End Patch"
    retried = failed.replace("+y", "+z").partition("*** Update File: b.py")[0] + "*** End Patch"
    before = call("apply_patch", "no file was changed; the hunk does not fit", ok=False, patch=failed)
    effects = SideEffects(changed=(ChangedFile(path="a.py", kind="update"),))
    after = call("apply_patch", "patch applied", side_effects=effects, patch=retried)
    attempts = summarize_messages([*before, *after]).attempts
    assert {what: why for what, why in attempts.items() if why} == {
        "apply_patch b.py": "no file was changed; the hunk does not fit"
    }
    assert attempts == merge_summaries(summarize_messages(before), summarize_messages(after)).attempts


def test_the_last_message_of_each_turn_and_later_messages() -> None:
    answer_text = "The parser drops the last token; the fix belongs in read_token."
    summary = summarize_messages(
        [
            AssistantMessage(
                content="Let me look at the parser and all of its tests first.",
                tool_calls=(ToolCall(id="1", name="ls"),),
            ),
            AssistantMessage(content="The parser is fixed."),
            UserMessage(content="Now the printer"),
            AssistantMessage(content=answer_text, tool_calls=(ToolCall(id="2", name="ls"),)),
        ]
    )
    assert [one.text for one in summary.answers] == ["The parser is fixed."]
    assert [one.text for one in summary.notes] == [answer_text]


def test_commands_with_exit_codes_and_failing_tests() -> None:
    failing = "FAILED tests/test_a.py::test_b - AssertionError: no\n1 failed, 2 passed in 0.10s"
    summary = summarize_messages(
        [*ran("pytest -q", failing, 1), *ran("ruff check .", "All checks passed!"), *ran("pytest -q", failing, 1)]
    )
    assert [(each.command, each.exit_code) for each in summary.commands.values()] == [
        ("ruff check .", 0),
        ("pytest -q", 1),
    ]
    (run,) = summary.runs.values()
    assert [(test.name, test.error) for test in run.failing] == [("tests/test_a.py::test_b", "AssertionError: no")]
