"""Turns that edit: the model is told at once what its edit broke, and nothing that was wrong before."""

import asyncio
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from clio.agent.user_interface import Notice, TurnFinished
from clio.checks.checkers import find_programs, make_checks_trust_request
from clio.config.trust import TrustStore
from clio.messages import ToolMessage
from clio.sandbox.sandbox import Confinement
from clio.tools.shell.launcher import LAUNCHER
from clio.tools.shell.processes import list_descendants
from tests.support.chat_server import Script, text, tool_calls
from tests.support.harness import Harness
from tests.support.waiting import happens_within, wait_until_async
from tests.turns.conftest import MakeHarness

RUFF = shutil.which("ruff") or shutil.which("ruff", path=str(Path(sys.executable).parent))
OLD = "import os\n\n\ndef add(a, b):\n    return a - b\n"
needs_ruff = pytest.mark.skipif(RUFF is None, reason="ruff is not installed")
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
needs_shell = pytest.mark.skipif(sys.platform == "win32", reason="commands are lines of a POSIX shell")


@pytest.fixture(autouse=True)
def only_known_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Set PATH to the system's programs, after a folder of this test."""
    folder = tmp_path / "programs"
    folder.mkdir()
    if RUFF is not None:
        (folder / "ruff").symlink_to(RUFF)
    own = {Path(sys.executable).parent, Path(RUFF).parent if RUFF else None}
    others = [name for name in os.environ["PATH"].split(os.pathsep) if Path(name) not in own]
    monkeypatch.setenv("PATH", os.pathsep.join([str(folder), *others]))
    return folder


def edit(path: str, old: str, new: str) -> Script:
    return tool_calls([("edit_file", {"path": path, "old_string": old, "new_string": new})])


def write(path: str, content: str) -> Script:
    return tool_calls([("write_file", {"path": path, "content": content})])


def configure(tmp_path: Path, settings: str) -> None:
    (tmp_path / "home").mkdir(exist_ok=True)
    (tmp_path / "home" / "config.yaml").write_text(settings, encoding="utf-8")


def result(harness: Harness, request: int) -> str:
    """Return the last tool result in the request of that number, from 1."""
    return harness.server.requests[request].body["messages"][-1]["content"]


def run(harness: Harness) -> TurnFinished:
    return asyncio.run(harness.turn("go on"))


@needs_ruff
def test_a_new_undefined_name_is_reported_and_an_old_one_is_not(make_harness: MakeHarness) -> None:
    harness = make_harness([edit("calc.py", "return a - b", "return total(a, b)"), text("done")], approve="all")
    (harness.project / "calc.py").write_text(OLD, encoding="utf-8")
    assert run(harness).status == "done"
    said = result(harness, 1)
    assert "calc.py:5 F821 Undefined name `total`" in said
    assert "F401" not in said and "1 new problem" in said
    assert any("F821" in notice.text for notice in harness.seen(Notice))


@needs_ruff
def test_old_diagnostics_that_only_moved_are_not_new(make_harness: MakeHarness) -> None:
    steps = [edit("calc.py", "import os\n", "# one\n# two\nimport os\n"), text("done")]
    harness = make_harness(steps, approve="all")
    (harness.project / "calc.py").write_text(OLD, encoding="utf-8")
    run(harness)
    assert "checks" not in result(harness, 1)


@needs_ruff
def test_a_second_edit_is_compared_with_the_file_before_the_first(make_harness: MakeHarness) -> None:
    steps = [
        edit("calc.py", "a - b", "first(a)"),
        edit("calc.py", "first(a)", "first(a) + second(b)"),
        edit("calc.py", "first(a) + second(b)", "a + b"),
        text("done"),
    ]
    harness = make_harness(steps, approve="all")
    run(harness)
    assert "`first`" in result(harness, 1)
    assert "Undefined name `second`" in result(harness, 2) and "not fixed yet: calc.py:3 F821" in result(harness, 2)
    assert "problems reported before are fixed" in result(harness, 3)


@needs_ruff
def test_the_last_edit_of_a_step_reports_what_all_its_edits_broke(make_harness: MakeHarness) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("write_file", {"path": "one.py", "content": "print(uno)\n"}),
        ("write_file", {"path": "two.py", "content": "print(due)\n"}),
        ("read_file", {"path": "calc.py"}),
    ]
    harness = make_harness([tool_calls(calls), text("done")], approve="all")
    run(harness)
    first, second, read = (each["content"] for each in harness.server.requests[1].body["messages"][-3:])
    assert "uno" in second and "due" in second
    assert "checks" not in first and "checks" not in read


@needs_ruff
def test_problems_of_one_line_and_code_are_counted_and_listed_once_when_they_remain(make_harness: MakeHarness) -> None:
    names = " + ".join(f"name{number}" for number in range(9))
    steps = [edit("calc.py", "a - b", names), edit("calc.py", "import os", "import sys"), text("done")]
    harness = make_harness(steps, approve="all")
    (harness.project / "calc.py").write_text(OLD, encoding="utf-8")
    run(harness)
    report = result(harness, 1).partition("[checks: ")[2]
    assert report.startswith("9 new problems") and report.count("calc.py:5 F821 Undefined name") == 3
    assert "6 more like these" in report
    assert result(harness, 2).partition("not fixed yet: ")[2].count("calc.py:5 F821") == 1


@needs_ruff
def test_at_most_ten_lines_are_added_without_secrets(make_harness: MakeHarness) -> None:
    key = "sk-proj-" + "a1B2c3D4e5F6g7H8i9J0" * 2
    body = "".join(f"print(unknown_{number})\n" for number in range(40)) + f"import {key.replace('-', '_')}\n"
    harness = make_harness([write("many.py", body), text("done")], approve="all")
    run(harness)
    checks = result(harness, 1).partition("[checks")[2]
    assert len(checks.splitlines()) <= 12 and "more" in checks and key not in checks


@needs_node
def test_a_syntax_error_in_javascript_is_reported(make_harness: MakeHarness) -> None:
    harness = make_harness([write("app.js", "export const a = 1;\nlet b = ;\n"), text("done")], approve="all")
    run(harness)
    assert "app.js:2 SyntaxError Unexpected token ';'" in result(harness, 1)


@needs_node
@pytest.mark.parametrize(
    "content",
    ["import x from './x.js';\nexport default x;\n", "const x = require('./x');\n", "export const a = await f();\n"],
)
def test_scripts_and_modules_without_errors_report_nothing(make_harness: MakeHarness, content: str) -> None:
    harness = make_harness([write("app.js", content), text("done")], approve="all")
    run(harness)
    assert "checks" not in result(harness, 1)


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("a.json", '{\n  "a": 1,\n  "b": ]\n}\n', 3),
        ("a.toml", "[a]\nb = \n", 2),
        ("a.yaml", "a: 1\nb: [1, 2\n", 3),
    ],
)
def test_a_file_without_a_checker_is_parsed(make_harness: MakeHarness, name: str, content: str, line: int) -> None:
    harness = make_harness([write(name, content), text("done")], approve="all")
    run(harness)
    assert f"{name}:{line} syntax" in result(harness, 1)


@pytest.mark.fast
def test_python_is_parsed_if_ruff_is_missing(make_harness: MakeHarness, only_known_programs: Path) -> None:
    (only_known_programs / "ruff").unlink(missing_ok=True)
    harness = make_harness([write("a.py", "def f(:\n    pass\n"), text("done")], approve="all")
    if any(one.program.name == "ruff" for one in find_programs(harness.project)):
        pytest.skip("ruff is one of the system's programs")
    run(harness)
    assert "a.py:1 syntax" in result(harness, 1)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("tsconfig.json", '{\n  // comments are allowed\n  "a": 1,\n}\n'),
        ("chart.yaml", "a: {{ .Values.a }}\n"),
        ("tags.yaml", "a: !Ref b\n---\nc: d\n"),
        ("notes.txt", "{ ( [\n"),
    ],
)
def test_warnings_are_not_reported(make_harness: MakeHarness, name: str, content: str) -> None:
    harness = make_harness([write(name, content), text("done")], approve="all")
    run(harness)
    assert "checks" not in result(harness, 1)


def test_checks_off_run_nothing(make_harness: MakeHarness, tmp_path: Path) -> None:
    configure(tmp_path, "checks: off\n")
    harness = make_harness([write("a.json", "{"), text("done")], approve="all")
    run(harness)
    assert "checks" not in result(harness, 1)


@needs_shell
def test_a_command_of_the_user_is_compared_with_the_result_before(make_harness: MakeHarness, tmp_path: Path) -> None:
    configure(
        tmp_path, "checks:\n  - \"grep -n 'TODO' calc.py | sed 's/^/calc.py:/;s/:\\\\([^:]*\\\\)$/: W1 \\\\1/'\"\n"
    )
    harness = make_harness([edit("calc.py", "return a - b", "return a + b  # TODO new"), text("done")], approve="all")
    (harness.project / "calc.py").write_text("# TODO old\n\ndef add(a, b):\n    return a - b\n", encoding="utf-8")
    run(harness)
    checks = result(harness, 1).partition("[checks")[2]
    assert "calc.py:4" in checks and "TODO new" in checks and "TODO old" not in checks


@pytest.mark.fast
@needs_shell
def test_a_command_that_begins_to_fail_is_reported_with_its_last_line(
    make_harness: MakeHarness, tmp_path: Path
) -> None:
    configure(tmp_path, "checks:\n  - grep -q 'a - b' {files} || { echo 'the rule is broken'; exit 3; }\n")
    harness = make_harness([edit("calc.py", "a - b", "a + b"), text("done")], approve="all")
    run(harness)
    assert "exit 3" in result(harness, 1) and "the rule is broken" in result(harness, 1)


@needs_shell
def test_a_file_name_cannot_inject_shell_code(make_harness: MakeHarness, tmp_path: Path) -> None:
    configure(tmp_path, "checks:\n  - cat {files}\n")
    harness = make_harness([write("$(touch made).txt", "x\n"), text("done")], approve="all")
    run(harness)
    assert not (harness.project / "made").exists()


@needs_shell
def test_a_slow_command_delays_the_turn_by_at_most_five_seconds(make_harness: MakeHarness, tmp_path: Path) -> None:
    configure(tmp_path, "checks:\n  - auto\n  - sleep 97\n")
    harness = make_harness([write("a.json", "{"), text("done")], approve="all")
    began = time.monotonic()
    run(harness)
    assert time.monotonic() - began < 7.5
    assert "a.json:1 syntax" in result(harness, 1)  # finished checks are reported
    assert left_running() == []


@needs_shell
def test_a_late_result_is_reported_after_the_next_step(
    make_harness: MakeHarness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clio.checks.turn_checks.STEP_LIMIT_S", 1.0)
    # Before the edit it answers immediately; after it, when the second step has begun to wait.
    configure(tmp_path, "checks:\n  - \"grep -q 'a + b' calc.py && sleep 1.3 && echo 'calc.py:3: E1 late'; true\"\n")
    wait = tool_calls([("run_command", {"command": "sleep 1.5"})])
    harness = make_harness([edit("calc.py", "a - b", "a + b"), wait, text("done")], approve="all")
    run(harness)
    assert "E1 late" not in result(harness, 1)
    assert "calc.py:3 E1 late" in result(harness, 2)


@needs_shell
def test_a_stopped_turn_keeps_the_result_of_the_edit_and_ends_the_checks(
    make_harness: MakeHarness, tmp_path: Path
) -> None:
    checking = tmp_path / "checking"
    configure(tmp_path, f"checks:\n  - \"grep -q 'a + b' calc.py && touch '{checking}' && sleep 98; true\"\n")
    harness = make_harness([edit("calc.py", "a - b", "a + b"), text("done")], approve="all")

    async def run_turns() -> float:
        turn = asyncio.ensure_future(harness.app.run_turn("go on"))
        await wait_until_async(checking.exists)
        began = time.monotonic()
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
        return time.monotonic() - began

    assert asyncio.run(run_turns()) < 1.5
    results = [message.content for message in harness.app.session.messages if isinstance(message, ToolMessage)]
    assert "edited calc.py" in results[-1]
    assert left_running() == []


def left_running() -> list[int]:
    """Return the processes that clio started and that have not ended."""

    def left() -> list[int]:
        return list_descendants(LAUNCHER.pid) if LAUNCHER.pid else []

    happens_within(3, lambda: not left())
    return left()


@needs_shell
def test_commands_of_a_project_need_trust(make_harness: MakeHarness, tmp_path: Path) -> None:
    project = tmp_path / "project"
    make_harness([])
    (project / ".clio").mkdir(exist_ok=True)
    (project / ".clio" / "config.yaml").write_text("checks:\n  - touch ran\n", encoding="utf-8")
    harness = make_harness([write("a.txt", "x\n"), text("done")], approve="all")
    assert [value.key for value in harness.loaded.withheld] == ["checks"]
    run(harness)
    assert not (project / "ran").exists()
    TrustStore(tmp_path / "home").grant(harness.loaded.main_project, harness.loaded.withheld)
    trusted = make_harness([write("b.txt", "x\n"), text("done")], approve="all")
    run(trusted)
    assert (project / "ran").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="the programs are scripts of a POSIX shell")
def test_a_program_that_runs_project_code_needs_trust_and_a_sandbox(
    make_harness: MakeHarness, tmp_path: Path, only_known_programs: Path
) -> None:
    project = tmp_path / "project"
    make_harness([])
    place = project / "node_modules" / ".bin"
    place.mkdir(parents=True)
    (place / "tsc").write_text(
        "#!/bin/sh\ntouch escaped\necho 'a.ts(1,5): error TS1: told'\nexit 2\n", encoding="utf-8"
    )
    (place / "tsc").chmod(0o755)
    (project / "tsconfig.json").write_text("{}", encoding="utf-8")
    harness = make_harness([write("a.ts", "let x\n"), text("done")], approve="all")
    run(harness)
    assert "told" not in result(harness, 1) and not (project / "escaped").exists()

    TrustStore(tmp_path / "home").add(harness.loaded.main_project, make_checks_trust_request(["tsc"]))
    trusted = make_harness([write("a.ts", "let y\n"), text("done")], approve="all")
    confined = trusted.app.runtime.confinement.level() != "off"
    (project / "a.ts").unlink()
    run(trusted)
    assert ("a.ts:1 TS1 told" in result(trusted, 1)) == confined
    assert not (project / "escaped").exists()

    loose = make_harness([write("b.ts", "let y\n"), text("done")], approve="all")
    loose.app.jobs.confinement = Confinement(enabled=False, home=None, user_home=tmp_path, env={})
    run(loose)
    assert "told" not in result(loose, 1) and not (project / "escaped").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="the programs are scripts of a POSIX shell")
@pytest.mark.parametrize("folder", [".venv/bin", "tools"])
def test_a_harmless_program_of_the_project_is_not_run_without_trust(
    make_harness: MakeHarness, tmp_path: Path, only_known_programs: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    (only_known_programs / "ruff").unlink(missing_ok=True)
    configure(tmp_path, "confine_unasked: off\n")
    harness = make_harness([write("a.py", "x = 1\n"), text("done")], approve="all")
    place = harness.project / folder
    place.mkdir(parents=True)
    (place / "ruff").write_text(f"#!/bin/sh\ntouch {harness.project}/ran\n", encoding="utf-8")
    (place / "ruff").chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join([str(harness.project / "tools"), ".", os.environ["PATH"]]))
    run(harness)
    assert not (harness.project / "ran").exists()


def test_a_turn_without_edits_loads_no_checks(make_harness: MakeHarness) -> None:
    harness = make_harness([tool_calls([("read_file", {"path": "calc.py"})]), text("done")], approve="all")
    checks = [name for name in sys.modules if name.startswith("clio.checks.") and name != "clio.checks.edit_checks"]
    kept = {name: sys.modules.pop(name) for name in checks}
    try:
        run(harness)
        assert not any(name in sys.modules for name in kept)
    finally:
        sys.modules.update(kept)
