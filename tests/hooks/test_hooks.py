"""Real commands as hooks: their input, their output, and what a hostile one cannot do."""

import asyncio
import json
import os
from pathlib import Path

import pytest

from clio.config.loaded import Hook
from clio.hooks.hook_process import MAX_OUTPUT_CHARS, HookResult, read_answer, run_hook
from clio.hooks.hooks import MAX_RESULT_CHARS, Hooks
from clio.tools.shell.processes import list_session_members
from tests.support.rows import each_row
from tests.support.waiting import has_text, run_loop_once, wait_until, wait_until_async
from tests.support.wording import mentions


class Harness:
    """Hooks in their own folder; `said` holds the lines shown to the user."""

    def __init__(self, folder: Path, *hooks: Hook) -> None:
        self.said: list[tuple[str, bool]] = []
        self.hooks = Hooks(
            hooks,
            project=folder,
            env=os.environ,
            redact=lambda text: text.replace("hunter2", "[gone]"),
            tell=lambda text, warning: self.said.append((text, warning)),
        )


def hook(event: str, run: str, **more: object) -> Hook:
    return Hook(event=event, run=run, where="hooks.yaml:1", **more)  # type: ignore[arg-type]


def test_without_hooks_nothing_runs(tmp_path: Path) -> None:
    harness = Harness(tmp_path)

    async def all_of_them() -> list[object]:
        return [
            await harness.hooks.before_prompt("s", "hi", resumed=False),
            (await harness.hooks.before_tool("s", "git", "{}", "git")).refusal,
            (await harness.hooks.before_trim("s")).notes,
            (await harness.hooks.stop("s", "", 0)).refusal,
            await harness.hooks.run_session_end_hooks(),
        ]

    assert asyncio.run(all_of_them()) == ["", "", (), "", None]
    assert not any(harness.hooks.has_hook(event) for event in ("stop", "before_tool"))


def test_a_hook_gets_json_and_its_environment(tmp_path: Path) -> None:
    keep = 'cat > given.json; echo "$CLIO_EVENT $CLIO_SESSION $CLIO_PROJECT $PWD" > where.txt'
    harness = Harness(tmp_path, hook("after_tool", keep, match=("git",)))
    arguments = '{"operation": "log", "token": "hunter2"}'
    asyncio.run(
        harness.hooks.after_tool(
            "s1", "git", arguments, ok=True, result="hunter2" + "x" * MAX_RESULT_CHARS, files_changed=["a.py"]
        )
    )
    given = json.loads((tmp_path / "given.json").read_text(encoding="utf-8"))
    assert given | {"result": ""} == {
        "event": "after_tool",
        "session": "s1",
        "project": str(tmp_path),
        "tool": "git",
        "arguments": {"operation": "log", "token": "[gone]"},
        "ok": True,
        "result": "",
        "files_changed": ["a.py"],
    }
    assert given["result"].startswith("[gone]xxx") and len(given["result"]) <= MAX_RESULT_CHARS + 1
    where = (tmp_path / "where.txt").read_text(encoding="utf-8").split()
    assert where == ["after_tool", "s1", str(tmp_path), str(tmp_path)]


def test_the_first_refusal_counts_and_later_hooks_do_not_run(tmp_path: Path) -> None:
    harness = Harness(
        tmp_path,
        hook("before_tool", "echo noted"),
        hook("before_tool", "echo 'not hunter2' >&2; exit 2"),
        hook("before_tool", "touch asked"),
    )
    outcome = asyncio.run(harness.hooks.before_tool("s", "git", "{}", "git push"))
    assert outcome.refusal == "not [gone] (hooks.yaml:1)"
    assert [note.text for note in outcome.notes] == ["noted"]
    assert not (tmp_path / "asked").exists()
    assert harness.said == [
        ("the hook hooks.yaml:1 at before_tool adds 5 characters", False),
        ("the hook hooks.yaml:1 at before_tool blocked this: not [gone]", True),
    ]


def test_a_hook_for_other_tools_does_not_run(tmp_path: Path) -> None:
    harness = Harness(tmp_path, hook("before_tool", "exit 2", match=("edit_*",)))
    assert asyncio.run(harness.hooks.before_tool("s", "git", "{}", "")).refusal == ""
    assert asyncio.run(harness.hooks.before_tool("s", "edit_file", "not json", "")).refusal.startswith(
        "no reason given"
    )


def test_session_hooks_run_once_at_the_start_and_the_end(tmp_path: Path) -> None:
    log = 'cat | python3 -c \'import json,sys; d=json.load(sys.stdin); print(d["event"], d["session"])\' >> log.txt'
    harness = Harness(tmp_path, hook("session_start", f"{log}; echo hello"), hook("session_end", log))

    async def run_sessions() -> list[list[str]]:
        notes: list[list[str]] = []
        for session in ("a", "a", "b"):
            await harness.hooks.before_prompt(session, "hi", resumed=False)
            notes.append([note.text for note in harness.hooks.pop_notes()])
        harness.hooks.end_session("a")
        harness.hooks.end_session("never had a turn")
        await harness.hooks.run_session_end_hooks()
        await harness.hooks.run_session_end_hooks()
        return notes

    assert asyncio.run(run_sessions()) == [["hello"], [], ["hello"]]
    assert (tmp_path / "log.txt").read_text(encoding="utf-8").splitlines() == [
        "session_start a",
        "session_start b",
        "session_end a",
    ]


@each_row(
    ("ended", "expected"),
    [
        (HookResult(exit_code=0, output="", errors="chatter"), ("", "", "")),
        (HookResult(exit_code=0, output="plain words\n", errors=""), ("", "plain words", "")),
        (HookResult(exit_code=0, output='{"context": "c"}', errors=""), ("", "c", "")),
        (HookResult(exit_code=0, output='{"decision": "block", "reason": "r", "x": 1}', errors=""), ("r", "", "")),
        (HookResult(exit_code=0, output='{"decision": "approve"}', errors=""), ("", "", "")),
        (HookResult(exit_code=2, output="o", errors="e\n"), ("e", "", "")),
        (HookResult(exit_code=2, output="o", errors=""), ("o", "", "")),
        (HookResult(exit_code=1, output="o", errors="a\nlast\n"), ("", "", "failed with exit code 1: last")),
        (HookResult(exit_code=-9, output="", errors=""), ("", "", "failed with exit code -9")),
        (HookResult(exit_code=None, output="", errors=""), ("", "", "was stopped after 3 s")),
    ],
)
def test_exit_codes_and_output_are_interpreted(ended: HookResult, expected: tuple[str, str, str]) -> None:
    answer = read_answer(ended, 3.0)
    assert (answer.refusal, answer.context, answer.problem) == expected


@pytest.mark.parametrize("text", ['{"decision": "no"}', '{"context": 1}', "{" * 5_000, '{"a":' * 5_000])
def test_invalid_json_is_a_fault_of_the_hook(text: str) -> None:
    answer = read_answer(HookResult(exit_code=0, output=text, errors=""), 1.0)
    assert answer.problem.startswith("printed invalid JSON") and not answer.refusal


def test_a_hook_that_does_not_end_is_stopped_with_its_child_processes(tmp_path: Path) -> None:
    ignores = "trap '' TERM; echo $$ > pid; (trap '' TERM; sleep 600) & sleep 600"
    harness = Harness(tmp_path, hook("stop", ignores, timeout_s=0.3))
    assert asyncio.run(harness.hooks.stop("s", "", 0)).refusal == ""
    assert [(mentions(text, "hooks.yaml:1", "stop", "0.3 s"), bad) for text, bad in harness.said] == [(True, True)]
    assert list_session_members(int((tmp_path / "pid").read_text())) == []


@pytest.mark.parametrize("known", [True, False], ids=["running", "starting"])
def test_cancelling_stops_a_hook_immediately(tmp_path: Path, known: bool) -> None:
    async def pressed() -> None:
        line = "sleep 600 & echo $$ > pid; sleep 600"
        task = asyncio.create_task(run_hook(line, b"{}", cwd=tmp_path, env=os.environ, timeout_s=60))
        await run_loop_once(2)  # until it has just started

        def is_running() -> bool:
            return has_text(tmp_path / "pid")

        if known:
            await wait_until_async(is_running)
        else:  # the loop is stopped: the hook runs, and asyncio does not know of it yet
            wait_until(is_running)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(pressed())
    assert list_session_members(int((tmp_path / "pid").read_text())) == []


def test_long_and_binary_output_is_shortened(tmp_path: Path) -> None:
    flood = "head -c 5000000 /dev/zero | tr '\\0' a; printf '\\377\\376\\033[31m' >&2"
    ended = asyncio.run(run_hook(flood, b"x" * 300_000, cwd=tmp_path, env=os.environ, timeout_s=20))
    assert ended.exit_code == 0
    assert len(ended.output) < MAX_OUTPUT_CHARS + 200
    assert "not kept" in ended.output


def test_a_missing_folder_is_only_an_error_of_the_hook(tmp_path: Path) -> None:
    harness = Harness(tmp_path / "gone", hook("stop", "echo"))
    assert asyncio.run(harness.hooks.stop("s", "", 0)).refusal == ""
    assert "could not be started" in harness.said[0][0]
