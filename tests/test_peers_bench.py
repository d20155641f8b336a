"""The comparison of clio with other agents: the server speaks each one's dialect, and the table names the fastest."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from bench import peers
from bench.side.chart import draw_bars
from bench.side.measure import AgentFailed, run
from bench.side.programs import PROGRAMS, TASK, find_program
from bench.side.server import DIALECTS, InstantServer, contents, decide

READ = {"name": "Read"}, {"name": "Edit"}, {"name": "Bash"}


def test_a_turn_is_answered_by_its_number_in_every_dialect() -> None:
    asked = [{"role": "user", "content": "this is turn 41"}, {"role": "user", "content": "this is turn 42"}]
    parts = [{"role": row["role"], "parts": [{"text": row["content"]}]} for row in asked]
    for path, make in DIALECTS.items():
        entries = {"input" if path == "/responses" else "messages": asked, "contents": parts}
        for stream in (True, False):
            assert b"reply-42" in make({"stream": stream, **entries})


def test_the_task_in_the_tools_of_each_agent() -> None:
    task = TASK.format(folder="/repo")

    def steps(tools: list[dict[str, Any]], answered: dict[str, Any]) -> list[str]:
        rows: list[dict[str, Any]] = [{"role": "user", "content": [{"type": "text", "text": task}]}]
        found: list[str] = []
        while (call := decide({"tools": tools, "messages": rows})[0]) is not None:
            found.append(f"{call[0]} {json.dumps(call[1])}")
            rows.append(answered)
        return found

    claude = steps([*READ], {"role": "user", "content": [{"type": "tool_result", "content": "x"}]})
    assert claude[0] == 'Read {"file_path": "/repo/a.py"}'
    assert len(claude) == 3
    assert len(steps([{"name": "exec_command"}], {"type": "function_call_output"})) == 3
    assert len(steps([{"function": {"name": "bash"}}], {"role": "tool", "content": "x"})) == 4
    assert steps([], {}) == []


def test_the_task_in_geminis_protocol() -> None:
    tools = [{"functionDeclarations": [{"name": name} for name in ("read_file", "replace", "run_shell_command")]}]
    said: list[dict[str, Any]] = [{"role": "user", "parts": [{"text": TASK.format(folder="/repo")}]}]
    for expected in ("read_file", "replace", "run_shell_command", None):
        answer = contents({"contents": said, "tools": tools})
        part = json.loads(answer.removeprefix(b"data: "))["candidates"][0]["content"]["parts"][0]
        assert part.get("functionCall", {}).get("name") == expected
        said.append({"role": "model", "parts": [part]})
        said.append({"role": "user", "parts": [{"functionResponse": {"name": expected, "response": {"output": "x"}}}]})
    assert part == {"text": "reply-0"}


def test_clio_in_the_comparison(tmp_path: Path) -> None:
    clio = PROGRAMS[0]
    path = find_program(clio)
    assert clio.name == "clio"
    if path is None:
        pytest.skip("clio is not installed as a command here")
    with InstantServer() as server:
        setup = peers.AgentSetup(clio, path, tmp_path / "1", server, 3)
        assert set(setup.task()) == {"read, edit, run, answer", "read, edit, run, answer, CPU"}
        with pytest.raises(AgentFailed, match="exit 2"):
            run(setup.argv(("--nonsense",)), cwd=setup.repo, env=setup.env)


def test_the_table_and_the_chart() -> None:
    samples = {
        "--version": {"clio": [0.01, 0.02, 0.02, 0.03, 0.04], "codex": [0.04]},
        "memory at the prompt, MiB": {"codex": [98.04]},
    }
    assert peers.format_table(samples, ["clio", "codex"]).splitlines()[2:] == [
        "| --version | **0.020 (0.015–0.035)** | 0.040 |",
        "| memory at the prompt, MiB | – | **98.0** |",
    ]
    drawn = draw_bars("Seconds", [("a & b", "s", {"codex": 2.0, "clio": 1.0})])
    rects = [one.attrib for one in ElementTree.fromstring(drawn).iter("{http://www.w3.org/2000/svg}rect")]
    assert [one["class"] for one in rects] == ["own", "bar"]
    assert float(rects[1]["width"]) == 2 * float(rects[0]["width"])
    with pytest.raises(ValueError, match="nothing to draw"):
        draw_bars("Seconds", [("a", "s", {})])
