"""The checkers of the agent tasks are correct, and a scripted model solves the tasks in the real clio."""

import asyncio
import json
import os
import subprocess
import tempfile
from pathlib import Path
from pwd import getpwuid
from typing import Any

import pytest
import yaml

from bench.agent_tasks import run
from bench.agent_tasks.play import fill_arguments
from bench.agent_tasks.rereads import count_forced_rereads
from bench.agent_tasks.result import check_result
from bench.agent_tasks.task import KINDS, Task, apply_solution, create_project, list_task_names, load_task
from tests.support.examples import is_fuzzing

TASKS = [load_task(name) for name in list_task_names()]
WRONG_PLAYS = [(task, path) for task in TASKS for path in sorted(task.folder.glob("wrong/*.yaml"))]


@pytest.fixture(autouse=True)
def toolchains(monkeypatch: pytest.MonkeyPatch) -> None:
    """Point rustup to its toolchains, which it looks for in the home folder that tests replace."""
    rustup = Path(getpwuid(os.getuid()).pw_dir) / ".rustup"
    if rustup.is_dir():
        monkeypatch.setenv("RUSTUP_HOME", str(rustup))


def skip_without_toolchain(task: Task) -> None:
    if task.missing_program:
        pytest.skip(f"{task.name} needs {task.missing_program}")


def create_project_in(task: Task, folder: Path) -> Path:
    project = folder / "project"
    project.mkdir()
    create_project(task, project)
    return project


def apply_play(task: Task, path: Path, project: Path) -> str:
    """Change files as a scripted solution does, without clio; return its last text. Commands are run in a shell."""
    answer = ""
    for reply in yaml.safe_load(path.read_text(encoding="utf-8"))["replies"]:
        answer = reply.get("text", "")
        for name, stored in reply.get("calls", ()):
            call: dict[str, Any] = fill_arguments(stored, task)
            if name == "write_file":
                (project / call["path"]).write_text(call["content"], encoding="utf-8")
            elif name == "edit_file":
                before = (project / call["path"]).read_text(encoding="utf-8")
                assert before.count(call["old_string"]) == 1, f"{path}: {call['old_string']!r} is not there once"
                after = before.replace(call["old_string"], call["new_string"])
                (project / call["path"]).write_text(after, encoding="utf-8")
            elif name == "run_command":
                subprocess.run(call["command"], shell=True, cwd=project, check=True, timeout=20)
            else:
                assert name == "read_file", name
    return answer


def run_play(task: Task, play: Path, **more: Any) -> dict[str, Any]:
    options = run.parse_options(["--model", "scripted", "--sandbox", "off"])
    for name, value in more.items():
        setattr(options, name, value)
    return asyncio.run(run.run_task(task, options, play))


def test_there_are_fifteen_tasks_of_every_kind_in_at_least_five_languages() -> None:
    assert len(TASKS) == 15
    assert {task.kind for task in TASKS} == set(KINDS)
    assert len({task.language for task in TASKS}) >= 5
    assert {task.name for task, _ in WRONG_PLAYS} == {task.name for task in TASKS}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_a_checker_refuses_the_start_tree_and_accepts_the_reference_solution(task: Task, tmp_path: Path) -> None:
    skip_without_toolchain(task)
    project = create_project_in(task, tmp_path)
    assert check_result(task, project, "All done.") != []
    answer = apply_solution(task, project)
    assert check_result(task, project, answer) == []
    if task.kind == "question":
        (project / "README.md").write_text("a change nobody asked for\n", encoding="utf-8")
        assert check_result(task, project, answer) == ["README.md was changed"]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("task", "play"), WRONG_PLAYS, ids=lambda value: getattr(value, "stem", None) or value.name)
def test_a_checker_detects_a_wrong_solution(task: Task, play: Path, tmp_path: Path) -> None:
    skip_without_toolchain(task)
    project = create_project_in(task, tmp_path)
    answer = apply_play(task, play, project)
    expected = yaml.safe_load(play.read_text(encoding="utf-8"))["found"]
    assert expected in "\n".join(check_result(task, project, answer))


# Kinds that use the harness in different ways: a change, an answer without one, a failing start, two sessions, a
# small window, a dirty tree, a solution whose first call fails. `make fuzz` runs the other solutions too.
_PLAYED_KINDS = "feature question failing-test two-sessions small-window dirty-tree strict-test".split()
PLAYED = TASKS if is_fuzzing() else [next(task for task in TASKS if task.kind == kind) for kind in _PLAYED_KINDS]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("task", PLAYED, ids=lambda task: task.name)
def test_the_scripted_model_solves_the_task_in_the_real_clio(task: Task) -> None:
    skip_without_toolchain(task)
    row = run_play(task, task.folder / "play.yaml")
    assert row["problems"] == []
    assert row["solved"]
    assert row["status"] == "done"
    assert row["failed_calls"] == (task.kind == "strict-test")  # whose solution runs the failing test first
    replies = yaml.safe_load((task.folder / "play.yaml").read_text(encoding="utf-8"))
    assert row["steps"] == len(replies)
    assert row["tokens_in"] > row["tokens_out"] > 0


def test_a_wrong_solution_in_the_real_clio_is_a_task_not_solved() -> None:
    task = load_task("python_strict_test")
    row = run_play(task, task.folder / "wrong" / "weakens_the_test.yaml")
    assert not row["solved"]
    assert "tests/test_split.py was changed" in row["problems"]
    assert row["status"] == "done"


def test_a_model_that_never_ends_is_stopped_by_the_step_limit(tmp_path: Path) -> None:
    play = tmp_path / "play.yaml"
    play.write_text(yaml.safe_dump([{"calls": [["read_file", {"path": f"{n}.txt"}]]} for n in range(9)]), "utf-8")
    task = Task("python_strict_test", "", "bug", "python", (("go on",),), max_steps=3)
    row = run_play(task, play)
    assert (row["steps"], row["status"], row["solved"]) == (3, "max_steps", False)


def test_a_hanging_clio_is_ended_after_its_time_limit_with_its_costs_so_far(tmp_path: Path) -> None:
    hanging = tmp_path / "clio"
    usage = {"prompt_tokens": 40, "completion_tokens": 2}
    events = [{"type": "step_started", "step": 1}, {"type": "step_finished", "step": 1, "usage": usage}]
    lines = "\n".join(map(json.dumps, events))
    hanging.write_text(f"#!/bin/sh\ncat <<'END'\n{lines}\nEND\nexec sleep 60\n", encoding="utf-8")
    hanging.chmod(0o755)
    task = Task("python_strict_test", "", "bug", "python", (("go on",),), max_seconds=1)
    row = run_play(task, load_task(task.name).folder / "play.yaml", clio=str(hanging))
    assert (row["status"], row["solved"]) == ("timeout", False)
    assert (row["steps"], row["tokens_in"], row["tokens_out"]) == (1, 40, 2)


def test_questions_are_answered_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    play = tmp_path / "play.yaml"
    ask = {"question": "Which port?", "options": ["80", "8080"]}
    steps = [{"calls": [["ask_user", ask]]}, {"calls": [["run_command", {"command": "touch made"}]]}, {"text": "Done."}]
    play.write_text(yaml.safe_dump(steps), encoding="utf-8")
    task = Task("python_strict_test", "", "bug", "python", (("go on",),), answers={"port": "take 8080"})
    row = run_play(task, play, keep=True)
    assert (row["questions"], row["approvals"], row["status"]) == (1, 1, "done")
    kept = Path(row["kept"])
    assert "take 8080" in (kept / "log.jsonl").read_text(encoding="utf-8")
    assert (kept / "project" / "made").exists()


def test_a_read_forced_by_a_trim_is_counted(tmp_path: Path) -> None:
    task = load_task("python_incident_reports")
    replies = yaml.safe_load((task.folder / "play.yaml").read_text(encoding="utf-8"))
    again = {"calls": [["read_file", {"path": "reports/2030-01-09.md"}]]}
    play = tmp_path / "play.yaml"
    play.write_text(yaml.safe_dump([*replies[:-1], again, {"text": "Done."}]), encoding="utf-8")
    row = run_play(task, play)
    assert row["trims"] > 0
    assert row["forced_rereads"] == 1


def message(id: str, **fields: Any) -> dict[str, Any]:
    return {"type": "message", "message": {"id": id, **fields}}


def read(id: str, path: str, lines: range) -> list[dict[str, Any]]:
    call = {"id": f"call-{id}", "name": "read_file", "arguments": json.dumps({"path": path})}
    shown = "\n".join(f"{number:>3}|text" for number in lines)
    return [
        message(f"asks-{id}", role="assistant", tool_calls=[call]),
        message(id, role="tool", tool_call_id=f"call-{id}", content=shown),
    ]


def test_a_forced_reread_shows_trimmed_lines_and_nothing_else_counts() -> None:
    trim = {"type": "context_trimmed", "handle": "t1"}
    edit = {"type": "tool_finished", "files_changed": ["a.py"]}
    first, second = read("m1", "a.py", range(1, 50)), read("m2", "a.py", range(1, 50))
    lost = {"t1": ["m1"]}
    assert count_forced_rereads([*first, *second], lost) == 0
    assert count_forced_rereads([*first, trim, *second], lost) == 1
    assert count_forced_rereads([*first, trim, *second, *read("m3", "a.py", range(1, 9))], lost) == 1
    assert count_forced_rereads([*first, trim, *read("m2", "a.py", range(50, 90))], lost) == 0
    assert count_forced_rereads([*first, trim, *read("m2", "b.py", range(1, 50))], lost) == 0
    assert count_forced_rereads([*first, *second, trim, *read("m3", "a.py", range(1, 9))], lost) == 0
    assert count_forced_rereads([*first, trim, edit, *second], lost) == 0


def make_report(clio: str, **rows: dict[str, Any]) -> dict[str, Any]:
    zero = dict.fromkeys(run.SUMMED, 0)
    full = [zero | {"task": name, "solved": True, "clio": clio} | row for name, row in rows.items()]
    return {"model": "m", "clio": clio, "rows": full, "skipped": [], "totals": run.sum_rows(full)}


def test_two_reports_are_compared_task_by_task(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = make_report("0.1", one={"steps": 9}, two={"steps": 4, "solved": False}, gone={"steps": 1})
    after = make_report("0.2", one={"steps": 7}, two={"steps": 4}, new={"steps": 2})
    for name, report in (("before", before), ("after", after)):
        (tmp_path / name).write_text(json.dumps(report), encoding="utf-8")
    assert run.main(["--load", str(tmp_path / "after"), "--compare", str(tmp_path / "before")]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert "9 → 7" in lines["one"]
    assert "0 → 1" in lines["two"]
    assert "13 → 11" in lines["total"]
    assert "clio 0.1" in lines["before:"] and "clio 0.2" in lines["before:"]


def test_tasks_that_cannot_run_here_are_skipped_by_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    assert run.main(["--model", "scripted", "--task", "go_fix_lru"]) == 0
    assert "skipped: go_fix_lru (go is not installed, or does not start)" in capsys.readouterr().out


def test_an_unknown_task_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run.parse_options(["--model", "m", "--task", "no_such_task"])
    assert "no_such_task" in capsys.readouterr().err
