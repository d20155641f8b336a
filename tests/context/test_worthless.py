"""Which results are dropped before whole units, in which order, and the line that replaces them."""

import json
from typing import Any

import pytest

from clio.context.message_views import (
    FIXED_LATER,
    OLD_RECALL,
    OLD_SEARCH,
    ROUTINE,
    STALE,
    Unit,
    apply_cuts,
    make_call_key,
    split_units,
)
from clio.context.worthless import find_worthless_results
from clio.messages import AssistantMessage, Message, SideEffects, ToolCall, ToolMessage
from clio.tokens import message_units
from tests.support.rows import each_row

ROWS = "".join(f"{number:>4}|line {number} of the file\n" for number in range(1, 101))
LONG = "some line that says something\n" * 40
TESTS = "".join(f"tests/test_{n}.py ........ [{n}%]\n" for n in range(60))
PROGRESS = "".join(f"Downloading package_{n}-1.0.whl (17 kB)\n" for n in range(40))


def rows(first: int, last: int) -> str:
    return "".join(f"{number:>4}|line {number} of the file\n" for number in range(first, last + 1))


def did(name: str, output: str, *, ok: bool = True, code: int | None = None, **arguments: Any) -> list[Message]:
    """Return a call and its result."""
    call = ToolCall(id="c", name=name, arguments=json.dumps(arguments))
    effects = SideEffects(command=str(arguments["command"]), exit_code=code) if code is not None else None
    result = ToolMessage(tool_call_id="c", name=name, content=output, ok=ok, side_effects=effects)
    return [AssistantMessage(tool_calls=(call,)), result]


def units_of(*rounds: list[Message]) -> list[Unit]:
    return split_units([message for each in rounds for message in each], message_units)


def found(*rounds: list[Message], before: int | None = None) -> list[tuple[int, int]]:
    """Return the rounds that are dropped, in order, and why."""
    units = units_of(*rounds)
    worthless = find_worthless_results(units, len(units) if before is None else before)
    return [(each.unit, next(iter(each.cuts.values()))) for each in worthless]


def test_the_order_in_which_they_are_dropped() -> None:
    given = [
        did("memory_operations", LONG, operation="recall_sessions", query="x"),
        did("search_text", LONG, pattern="x"),
        did("run_command", f"[exit 0 in 3 s]\n{TESTS}=== 60 passed in 2.00s ===", code=0, command="pytest"),
        did("edit_file", LONG, ok=False, path="a.py", old_string="o" * 500, new_string="n"),
        did("read_file", ROWS, path="a.py"),
        did("edit_file", "edited", path="a.py", old_string="o", new_string="n"),
        did("read_file", ROWS, path="a.py"),
    ]
    assert found(*given) == [(4, STALE), (3, FIXED_LATER), (2, ROUTINE), (1, OLD_SEARCH), (0, OLD_RECALL)]
    assert found(*given, before=3) == [(2, ROUTINE), (1, OLD_SEARCH), (0, OLD_RECALL)]


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        (did("read_file", rows(20, 60), path="a.py", offset=20, limit=41), did("read_file", ROWS, path="a.py")),
        (did("read_file", ROWS, path="a.py"), did("read_file", ROWS.replace("line", "row"), path="a.py")),
        (did("read_file", ROWS, path="a.py"), did("run_command", LONG, command="cat a.py")),
        (did("run_command", LONG, command="sed -n 1,40p a.py"), did("read_file", ROWS, path="a.py")),
    ],
    ids=["a part", "changed meanwhile", "by another tool", "a part by a command"],
)
def test_a_later_read_of_the_same_lines_replaces_the_earlier(earlier: list[Message], later: list[Message]) -> None:
    assert found(earlier, later) == [(0, STALE)]
    assert found(later) == []


def test_two_later_reads_replace_it_together_and_other_lines_do_not() -> None:
    whole = did("read_file", rows(1, 80), path="a.py", offset=1, limit=80)
    first, second = (
        did("read_file", rows(1, 40), path="a.py", limit=40),
        did("read_file", rows(41, 80), path="a.py", offset=41, limit=40),
    )
    assert found(whole, first, second) == [(0, STALE)]
    assert found(whole, second) == []
    assert found(whole, did("read_file", ROWS, path="b.py")) == []


@pytest.mark.parametrize(
    "later",
    [
        did("edit_file", "edited", path="a.py", old_string="o", new_string="n"),
        did("edit_file", "no such text", ok=False, path="a.py", old_string="p", new_string="n"),
        did("write_file", "wrote", path="a.py", content="x"),
        did("apply_patch", "patched", patch="*** Begin Patch\n*** Update File: a.py\n@@\n-o\n+n\n*** End Patch"),
    ],
    ids=["made", "tried again", "written anew", "patched"],
)
def test_a_failed_edit_is_dropped_after_a_successful_or_repeated_one(later: list[Message]) -> None:
    failed = did("edit_file", LONG, ok=False, path="a.py", old_string="o" * 900, new_string="n" * 900)
    assert found(failed, later) == [(0, FIXED_LATER)]
    assert found(failed) == []
    assert found(failed, did("edit_file", "edited", path="b.py", old_string="o", new_string="n")) == []


def test_a_passed_test_run_keeps_its_result_even_after_other_commands() -> None:
    output = f"[exit 0 in 3 s]\n{TESTS}=== 60 passed in 2.00s ===\n diff --git a/x b/x\n    return parent\n"
    units = units_of(did("run_command", output, code=0, command="pytest -q; git diff"))
    (only,) = find_worthless_results(units, 1)
    line = apply_cuts(units[0].messages[1], only.cuts).content
    assert "60 passed in 2.00s" in line
    assert "return parent" not in line


def test_a_repaired_edit_loses_its_arguments_and_stays_json() -> None:
    failed = did("edit_file", LONG, ok=False, path="a.py", old_string="o" * 900, new_string="n" * 900)
    units = units_of(failed, did("edit_file", "edited", path="a.py", old_string="o", new_string="n"))
    (only,) = find_worthless_results(units, 1)
    head, result = (apply_cuts(message, only.cuts) for message in units[0].messages)
    assert make_call_key(failed[0].id, "c") in only.cuts
    assert isinstance(head, AssistantMessage)
    assert json.loads(head.tool_calls[0].arguments)["path"] == "a.py"
    assert len(head.tool_calls[0].arguments) < 200
    assert "fixed later" in result.content
    assert f'from="{failed[1].id}"' in result.content
    assert "\n" not in result.content


@each_row(
    ("command", "output"),
    [
        ("pip install -e .", f"{PROGRESS}Successfully installed package_1-1.0"),
        ("cargo build", "".join(f"   Compiling crate_{n} v0.{n}.0\n" for n in range(40)) + "    Finished dev in 9s"),
        (
            "git clone x",
            "Cloning into 'x'...\n" + "".join(f"Receiving objects: {n}% ({n}/100)\n" for n in range(1, 60)),
        ),
        (
            "npm ci",
            "".join(f"[{n}/40] fetching package {n} of the tree\n" for n in range(40)) + "added 40 packages in 3s",
        ),
        ("pytest -v", "".join(f"tests/test_a.py::test_{n} PASSED [{n}%]\n" for n in range(40)) + "40 passed in 1.00s"),
        ("go test ./...", "".join(f"ok  \texample.com/pkg{n}\t0.0{n}s\n" for n in range(30))),
    ],
)
def test_output_that_only_reports_success(command: str, output: str) -> None:
    assert found(did("run_command", f"[exit 0 in 9 s]\n{output}", code=0, command=command)) == [(0, ROUTINE)]
    assert found(did("run_command", f"[exit 1 in 9 s]\n{output}", ok=False, code=1, command=command)) == []


@pytest.mark.parametrize(
    "output",
    [LONG, ROWS, f"{PROGRESS}WARNING: package_3 is deprecated", f"{TESTS}3 failed, 57 passed in 2.00s"],
    ids=["words", "a listing", "a warning", "failing tests"],
)
def test_output_with_information(output: str) -> None:
    assert found(did("run_command", output, code=0, command="make report")) == []


def test_only_recalls_of_the_memory_tool_are_dropped() -> None:
    assert found(did("memory_operations", LONG, operation="store", key="x")) == []
    assert found(did("recall_messages", LONG, query="x")) == [(0, OLD_RECALL)]
    assert found(did("ask_user", LONG, question="x")) == []
