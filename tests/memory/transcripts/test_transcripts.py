"""What is indexed of a session: text, one line per call, whole outputs; never text that was recalled itself."""

import json
from pathlib import Path

import pytest

from clio.memory.transcripts.session_text import (
    LINE_CHARS,
    OUTPUT_END_BYTES,
    OutputReader,
    TurnDoc,
    extract_turns,
    make_session_title,
    summarize_call,
)
from clio.messages import (
    AssistantMessage,
    ChangedFile,
    Commit,
    SideEffects,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from clio.sessions.state import SessionState
from tests.memory.transcripts.sessions import called, make_messages


def line(tool: str, arguments: dict[str, object], content: str = "", **result: object) -> str:
    call = ToolCall(id="c", name=tool, arguments=json.dumps(arguments))
    return summarize_call(call, ToolMessage(tool_call_id="c", name=tool, content=content, **result))  # pyright: ignore


@pytest.mark.parametrize(
    ("line_text", "expected"),
    [
        (line("read_file", {"path": "a.py"}, "1 import os", summary="40 lines"), "read a.py"),
        (line("read_file", {"path": "a.py"}, "there is no a.py", ok=False), "read a.py → failed: there is no a.py"),
        (
            line(
                "edit_file",
                {"path": "a.py", "old": "x", "new": "y"},
                side_effects=SideEffects(changed=(ChangedFile(path="a.py", kind="update"),)),
            ),
            "edited a.py",
        ),
        (
            line(
                "apply_patch",
                {"patch": "*** Begin"},
                side_effects=SideEffects(
                    changed=(ChangedFile(path="a", kind="move", moved_to="b"), ChangedFile(path="c", kind="add"))
                ),
            ),
            "moved a to b, added c",
        ),
        (
            line(
                "run_command",
                {"command": "pytest -q"},
                "[exit 1]\nE  KeyError: 'id'",
                ok=False,
                summary="exit 1",
                side_effects=SideEffects(command="pytest -q", exit_code=1),
            ),
            "ran pytest -q → exit 1: E KeyError: 'id'",
        ),
        (
            line("run_command", {"command": "ls"}, "[exit 0]\na", side_effects=SideEffects(command="ls", exit_code=0)),
            "ran ls → exit 0",
        ),
        (
            line("search_text", {"pattern": "retry", "path": "src"}, summary="3 matches"),
            "searched 'retry' src → 3 matches",
        ),
        (
            line(
                "git",
                {"operation": "commit", "message": "fix"},
                side_effects=SideEffects(commits=(Commit(hash="1a2b3c4", subject="fix: x"),)),
            ),
            "git 'fix' → 1a2b3c4 fix: x",
        ),
        (
            line("ask_user", {"question": "SQLite?"}, side_effects=SideEffects(question="SQLite?", answer="yes")),
            "asked 'SQLite?' → 'yes'",
        ),
        (line("file_operations", {"operation": "read_file", "path": "big.log"}), "read big.log"),
        (line("jira_search", {"jql": "project = X"}, summary="2 issues"), "jira search project = X → 2 issues"),
        (line("todo_operations", {"todos": [{"title": "write"}, {"title": "test"}]}), "planned write; test"),
        (line("memory_operations", {"operation": "recall_sessions", "query": "secret plan"}), ""),
        (line("run_command", {}, "no command", ok=False), "ran → failed"),
    ],
)
def test_a_call_is_one_line_with_its_action_and_outcome(line_text: str, expected: str) -> None:
    assert line_text == expected


@pytest.mark.parametrize("arguments", ["", "[1]", "{broken", '{"command": 7}', "null", '"\\ud800"', "[" * 9_999])
def test_any_arguments_give_a_line(arguments: str) -> None:
    assert summarize_call(ToolCall(id="c", name="run_command", arguments=arguments), None) == "ran"


def test_a_line_contains_no_line_break() -> None:
    long = line("run_command", {"command": "echo a\necho " + "b" * 9_999}, "x" * 9_999, ok=False, summary="y" * 999)
    assert "\n" not in long
    assert len(long) <= LINE_CHARS


def texts(turns: tuple[TurnDoc, ...]) -> list[tuple[str, str, str]]:
    return [(turn.role, turn.text, turn.output) for turn in turns]


def test_text_call_lines_and_outputs_of_a_session() -> None:
    messages = [*make_messages("why?", "Let me look."), *called("read_file", '{"path":"a.py"}', "import os")]
    assert texts(extract_turns(messages)) == [
        ("user", "why?", ""),
        ("assistant", "Let me look.", ""),
        ("assistant", "read a.py", ""),
        ("tool", "", "import os"),
    ]


def test_system_prompts_and_text_inserted_by_clio_are_left_out() -> None:
    messages = [
        SystemMessage(content="you are an agent"),
        UserMessage(content="hello", context="<context>branch main</context>"),
        UserMessage(content="go on", origin="continue"),
        UserMessage(content="your task was", origin="recovery"),
        AssistantMessage(content="hi", reasoning="the user greets"),
    ]
    assert texts(extract_turns(messages)) == [("user", "hello", ""), ("assistant", "hi", "")]


def test_recalled_text_is_left_out_even_if_the_result_names_no_tool() -> None:
    call = ToolCall(id="c", name="memory_operations", arguments='{"operation":"recall_sessions","query":"owl"}')
    messages = [
        AssistantMessage(content="Let me remember.", tool_calls=(call,)),
        ToolMessage(tool_call_id="c", content="From earlier sessions: an owl"),
        *called("read_output", '{"handle":"12345678"}', "an owl again"),
    ]
    assert texts(extract_turns(messages)) == [("assistant", "Let me remember.", "")]


def test_results_belong_to_the_last_call_with_their_id() -> None:
    """Some servers number calls from 0 in every answer."""
    first, second = (ToolCall(id="0", name="run_command", arguments=f'{{"command":"{name}"}}') for name in ("a", "b"))
    messages = [
        AssistantMessage(tool_calls=(first,)),
        ToolMessage(tool_call_id="0", content="", summary="exit 1", ok=False),
        AssistantMessage(tool_calls=(second,)),
        ToolMessage(tool_call_id="0", content="", summary="exit 2", ok=False),
    ]
    assert [turn.text for turn in extract_turns(messages)] == ["ran a → exit 1", "ran b → exit 2"]


def test_both_ends_of_a_long_blob_are_kept(tmp_path: Path) -> None:
    name = "ab" * 32
    middle = "é" * OUTPUT_END_BYTES
    (tmp_path / name).write_text("begin\n" + middle + middle + "\nend", encoding="utf-8")
    message = ToolMessage(tool_call_id="c", content="the preview", blob=name[:16])
    output = OutputReader(tmp_path)(message)
    assert output.startswith("begin\n") and output.endswith("\nend")
    assert len(output.encode()) <= 2 * OUTPUT_END_BYTES + 10
    assert "\ufffd" not in output


@pytest.mark.parametrize("blob", ["cd" * 8, "../../../etc/passwd", ""])
def test_without_its_blob_an_output_is_its_preview(tmp_path: Path, blob: str) -> None:
    assert OutputReader(tmp_path)(ToolMessage(tool_call_id="c", content="the preview", blob=blob)) == "the preview"


def test_the_title_of_a_session_is_its_name_or_its_first_words() -> None:
    state = SessionState(id="x", messages=[UserMessage(content="fix\nit")])
    assert make_session_title(state) == "fix it"
    state.name = "repair"
    assert make_session_title(state) == "repair"
