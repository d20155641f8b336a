"""Turns with language servers: diagnostics of edits, and the answers of code_lookup."""

import asyncio
import json
import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clio.checks import turn_checks
from clio.config.trust import TrustStore
from clio.lsp.catalog import make_servers_trust_request
from clio.lsp.code_lookup import locate_symbol
from clio.lsp.language_server import split_source_lines
from clio.lsp.outline import outline_file
from tests.support.chat_server import Script, text, tool_calls
from tests.support.harness import Harness
from tests.support.visible_files import make_visible
from tests.turns.conftest import MakeHarness
from tests.turns.test_prompt_size import CHARS_A_TOKEN

SCRIPT = Path(__file__).parent.parent / "support" / "language_server.py"
PYTHON = str(Path(sys.executable).resolve())  # a venv may be in /tmp, which the sandbox hides
PYRIGHT = shutil.which("pyright-langserver") or shutil.which(
    "pyright-langserver", path=str(Path(sys.executable).parent)
)
TYPESCRIPT = shutil.which("typescript-language-server")
needs_pyright = pytest.mark.skipif(PYRIGHT is None, reason="pyright is not installed")
GOPLS = shutil.which("gopls") if shutil.which("go") else None
CLANGD = shutil.which("clangd")
needs_typescript = pytest.mark.skipif(TYPESCRIPT is None, reason="typescript-language-server is not installed")
needs_gopls = pytest.mark.skipif(GOPLS is None, reason="gopls is not installed")
needs_clangd = pytest.mark.skipif(CLANGD is None, reason="clangd is not installed")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="commands are lines of a POSIX shell")

CALC = """\
def plus(left: int, right: int) -> int:
    return left + right


old_problem: int = "text"
"""
USE = "from sums import plus\n\nprint(plus(1, 2))  # plus\n"


@pytest.fixture(autouse=True)
def servers_are_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Put only the servers of a test on PATH, and give them enough time on a busy machine."""
    monkeypatch.delenv("CLIO_LANGUAGE_SERVERS")
    monkeypatch.setattr(turn_checks, "STEP_LIMIT_S", 90.0)
    own = {Path(program).parent for program in (PYRIGHT, TYPESCRIPT, sys.executable) if program}
    servers = ("pyright-langserver", "typescript-language-server")
    others = [
        name
        for name in os.environ["PATH"].split(os.pathsep)
        if Path(name) not in own and not any(Path(name, server).exists() for server in servers)
    ]
    (tmp_path / "programs").mkdir()
    monkeypatch.setenv("PATH", os.pathsep.join([str(tmp_path / "programs"), *others]))


def configure(tmp_path: Path, *entries: str) -> None:
    (tmp_path / "home").mkdir(exist_ok=True)
    rows = "".join(f"  - {msgspec.json.encode(entry).decode()}\n" for entry in entries)
    (tmp_path / "home" / "config.yaml").write_text(f"language_servers:\n{rows}", encoding="utf-8")


def use_script(tmp_path: Path, mode: str) -> None:
    configure(tmp_path, "off", f"pyright {shlex.join([PYTHON, str(make_visible(SCRIPT)), mode])}")


def edit(path: str, old: str, new: str) -> Script:
    return tool_calls([("edit_file", {"path": path, "old_string": old, "new_string": new})])


def look_up(operation: str, **arguments: Any) -> Script:
    return tool_calls([("code_lookup", {"operation": operation, **arguments})])


def run(harness: Harness) -> list[str]:
    """Run a turn; return the last tool result of each request except the first."""
    asyncio.run(finish(harness))
    return [request.body["messages"][-1]["content"] for request in harness.server.requests[1:]]


async def finish(harness: Harness) -> None:
    app = harness.build()
    try:
        assert (await asyncio.wait_for(app.run_turn("go on"), 120)).status == "done"
    finally:
        await app.close()


def write(harness: Harness, files: dict[str, str]) -> None:
    for name, content in files.items():
        (harness.project / name).parent.mkdir(parents=True, exist_ok=True)
        (harness.project / name).write_text(content, encoding="utf-8")


@needs_pyright
def test_pyright_reports_a_new_type_error_in_the_same_turn(make_harness: MakeHarness, tmp_path: Path) -> None:
    configure(tmp_path, "off", f"pyright {PYRIGHT} --stdio")
    steps = [
        edit("use.py", "plus(1, 2)", 'plus("one", 2)'),
        edit("use.py", 'plus("one", 2)', "plus(3, 2)"),
        edit("sums.py", "left + right", "left + right + 0"),
        text("done"),
    ]
    harness = make_harness(steps, approve="all")
    write(harness, {"sums.py": CALC, "use.py": USE})
    broken, fixed, unrelated = run(harness)
    assert "[checks: 1 new problem since this turn began]\nuse.py:3 reportArgumentType" in broken
    assert "the problems reported before are fixed" in fixed
    assert "checks" not in unrelated, "what was wrong before the turn is not reported"


@needs_pyright
def test_pyright_finds_uses_and_definitions(make_harness: MakeHarness, tmp_path: Path) -> None:
    configure(tmp_path, "off", f"pyright {PYRIGHT} --stdio")
    steps = [
        look_up("references", path="sums.py", line=1, symbol="plus"),
        look_up("go_to_definition", path="use.py", symbol="plus", line=3),
        edit("use.py", "print(plus(1, 2))  # plus", "import os\nprint(plus(plus(1, 2), len(os.sep)))"),
        look_up("references", path="sums.py", symbol="sums.plus"),
        look_up("symbols", path="sums.py"),
        look_up("symbols", symbol="plus"),
        look_up("definition", path="use.py", symbol="os.sep"),
        text("done"),
    ]
    harness = make_harness(steps, approve="all")
    write(harness, {"sums.py": CALC, "use.py": USE, ".gitignore": "gen/\n", "gen/more.py": "from sums import plus\n"})
    uses, definition, _, later_uses, outline, found, outside = run(harness)
    assert uses.splitlines()[:3] == [
        "sums.py:1: def plus(left: int, right: int) -> int:",
        "use.py:1: from sums import plus",
        "use.py:3: print(plus(1, 2))  # plus",
    ]
    assert "[in ignored files: gen/more.py:1]" in uses
    assert definition == "sums.py:1: def plus(left: int, right: int) -> int:"
    assert "use.py:4: print(plus(plus(1, 2), len(os.sep)))" in later_uses
    assert outline.splitlines() == [
        "sums.py:1: def plus(left: int, right: int) -> int:",
        'sums.py:5: old_problem: int = "text"',
    ]
    assert "sums.py:1: def plus(left: int, right: int) -> int:" in found
    assert "outside the project" in outside and ".pyi" in outside


@needs_typescript
def test_typescript_finds_uses_and_reports_a_new_type_error(make_harness: MakeHarness, tmp_path: Path) -> None:
    configure(tmp_path, "off", f"typescript-language-server {TYPESCRIPT} --stdio")
    steps = [
        look_up("references", path="a.ts", line=1, symbol="twice"),
        edit("b.ts", "twice(2)", 'twice("two")'),
        text("done"),
    ]
    harness = make_harness(steps, approve="all")
    write(harness, {
        "a.ts": "export function twice(n: number): number { return n * 2; }\n",
        "b.ts": 'import { twice } from "./a";\nconsole.log(twice(2));\n',
        "tsconfig.json": "{}\n",
    })  # fmt: skip
    uses, broken = run(harness)
    assert [row.partition(": ")[0] for row in uses.splitlines()] == ["a.ts:1", "b.ts:1", "b.ts:2"]
    assert "[checks: 1 new problem since this turn began]\nb.ts:2 typescript2345" in broken


@needs_gopls
def test_gopls_finds_uses_and_reports_a_new_type_error(make_harness: MakeHarness, tmp_path: Path) -> None:
    configure(tmp_path, "off", f"gopls {GOPLS}")
    steps = [
        look_up("references", path="double.go", symbol="Double"),
        look_up("definition", path="main.go", symbol="Double"),
        look_up("symbols", path="double.go"),
        edit("main.go", "Double(2)", 'Double("two")'),
        edit("main.go", 'Double("two")', "Double(3)"),
        text("done"),
    ]
    harness = make_harness(steps, approve="all")
    write(harness, {
        "go.mod": "module example.com/double\n\ngo 1.16\n",
        "double.go": "package main\n\nfunc Double(n int) int { return 2 * n }\n",
        "main.go": "package main\n\nfunc main() {\n\tprintln(Double(2))\n}\n",
    })  # fmt: skip
    uses, definition, outline, broken, fixed = run(harness)
    assert [row.partition(": ")[0] for row in uses.splitlines()] == ["double.go:3", "main.go:4"]
    assert definition.startswith("double.go:3: ")
    assert outline.startswith("double.go:3: ")
    assert "[checks: 1 new problem since this turn began]\nmain.go:4" in broken
    assert "the problems reported before are fixed" in fixed


@needs_clangd
@pytest.mark.parametrize("has_list", [True, False])
def test_clangd_finds_uses_and_reports_a_new_error(make_harness: MakeHarness, tmp_path: Path, has_list: bool) -> None:
    configure(tmp_path, "off", f"clangd {CLANGD} --background-index --log=error")
    steps = [
        look_up("references", path="twice.hpp", symbol="twice"),
        look_up("definition", path="main.cpp", symbol="twice"),
        look_up("symbols", path="main.cpp"),
        edit("main.cpp", "twice(2)", "twice(2, 3)"),
        text("done"),
    ]
    harness = make_harness(steps, approve="all")
    write(harness, {
        "twice.hpp": "inline int twice(int n) { return 2 * n; }\n",
        "main.cpp": '#include "twice.hpp"\n\nint main() { return twice(2); }\n',
        "other.cpp": "int other() { return 1; }\n",
    })  # fmt: skip
    if has_list:
        built = [{"directory": str(harness.project), "file": "main.cpp", "command": "c++ -c main.cpp"}]
        write(harness, {"build/compile_commands.json": json.dumps(built)})
    uses, definition, outline, broken = run(harness)
    assert [row.partition(": ")[0] for row in uses.splitlines()] == ["main.cpp:3", "twice.hpp:1"]
    assert definition.startswith("twice.hpp:1: ")
    assert outline.startswith("main.cpp:3: ")
    assert "[checks: 1 new problem since this turn began]\nmain.cpp:3" in broken


def test_a_server_gets_the_text_before_and_after_an_edit(make_harness: MakeHarness, tmp_path: Path) -> None:
    use_script(tmp_path, "good")
    steps = [edit("use.py", "one", "BAD two"), edit("use.py", "BAD two", "BAD one"), text("done")]
    harness = make_harness(steps, approve="all")
    write(harness, {"use.py": "x = 'BAD old'\ny = 'one'\n"})
    first, second = run(harness)
    assert "1 new problem" in first and "use.py:2 bad BAD y = 'BAD two'" in first
    assert "bad BAD x" not in first
    assert "use.py:2 bad BAD y = 'BAD one'" in second


@pytest.mark.sampled(3)
@pytest.mark.parametrize("mode", ["garbage", "huge", "dies", "forger", "refuses"])
def test_a_hostile_server_only_loses_its_answers(make_harness: MakeHarness, tmp_path: Path, mode: str) -> None:
    use_script(tmp_path, mode)
    steps = [look_up("references", path="use.py", line=1, symbol="x"), edit("use.py", "1", "2"), text("done")]
    harness = make_harness(steps, approve="all")
    write(harness, {"use.py": "x = 1\n"})
    found, edited = run(harness)
    assert "edited use.py" in edited
    assert "\x1b" not in found and "\u202e" not in found
    if mode == "forger":
        assert found.splitlines()[0] == "use.py:1: x = 1" and "outside the project" in found
    else:
        assert "pyright-langserver" in found or "refused" in found
        assert "search_text" in found


def test_a_server_runs_in_the_sandbox(
    make_harness: MakeHarness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SERVER_TEST_TOKEN", "secret")
    use_script(tmp_path, "escapes")
    harness = make_harness([look_up("references", path="use.py", line=1, symbol="x"), text("done")])
    if harness.app.runtime.confinement.level() == "off":
        pytest.skip("the system confines nothing: no bwrap, landlock or Seatbelt")
    write(harness, {"use.py": "x = 1\n"})
    (answer,) = run(harness)
    assert "cache=True write=False network=False secret=False" in answer
    assert not (harness.project / "escaped").exists()


def test_without_a_server_names_are_found_by_parsing(make_harness: MakeHarness) -> None:
    steps = [
        look_up("symbols", path="sums.py"),
        look_up("definition", path="use.py", line=3, symbol="plus"),
        look_up("references", path="use.py", line=3, symbol="plus"),
        text("done"),
    ]
    harness = make_harness(steps, approve="all")
    write(harness, {"sums.py": CALC, "use.py": USE})
    outline, definition, references = run(harness)
    assert "found by parsing" in outline and "sums.py:1: def plus(left: int, right: int) -> int:" in outline
    assert "sums.py:1: def plus" in definition and "by name alone" in definition
    assert "no language server for .py files is installed: pip install pyright" in references


def test_a_server_of_the_project_is_not_started_without_trust(make_harness: MakeHarness, tmp_path: Path) -> None:
    steps = [look_up("references", path="use.py", symbol="x"), text("done")]
    harness = make_harness(steps, approve="all")
    started = tmp_path / "started"
    server = harness.project / ".venv" / "bin" / "pyright-langserver"
    write(harness, {"use.py": "x = 1\n", ".venv/bin/pyright-langserver": f"#!/bin/sh\ntouch {started}\n"})
    server.chmod(0o755)
    (answer,) = run(harness)
    assert "starts only after the user trusts" in answer and "clio config trust" in answer
    assert not started.exists()
    request = make_servers_trust_request(["pyright-langserver"])
    TrustStore(tmp_path / "home").add(harness.loaded.main_project, request)
    harness.server.add(look_up("references", path="use.py", symbol="x"), text("done"))
    assert "starts only after the user trusts" not in run(harness)[-1]


def test_lookup_off_offers_no_tool_and_starts_nothing(make_harness: MakeHarness, tmp_path: Path) -> None:
    configure(tmp_path, "auto", "off")
    harness = make_harness([text("done")])
    write(harness, {"use.py": "x = 1\n"})
    run(harness)
    assert "code_lookup" not in {tool["function"]["name"] for tool in harness.server.requests[0].body["tools"]}


def test_the_first_request_stays_small_with_the_tool(make_harness: MakeHarness) -> None:
    harness = make_harness([text("done")], models=[{"id": "test-model", "max_model_len": 128_000}])
    write(harness, {"use.py": "x = 1\n"})
    asyncio.run(harness.turn("hi"))
    body = harness.server.requests[0].body
    assert "code_lookup" in {tool["function"]["name"] for tool in body["tools"]}
    size = len(body["messages"][0]["content"]) + len(msgspec.json.encode(body["tools"]))
    assert size / CHARS_A_TOKEN <= 3_600


# --- location of names ---


@pytest.mark.parametrize(
    ("source", "symbol", "line", "place"),
    [
        ("x = add(1)", "add", 1, (0, 4)),
        ("total = tot(1)", "tot", 1, (0, 8)),
        ("a.area + b.area", "b.area", 1, (0, 11)),
        ("a\nb\nc", "c", 1, (2, 0)),
        ("x\n" * 50 + "far", "far", 1, None),
        ("x\n" * 50 + "far", "far", None, (50, 0)),
        ("'😀' + name", "name", 1, (0, 7)),
        ("std::sort(v)", "std::sort()", 1, (0, 5)),
        ("one\x0ctwo\u2028three\r\nfour\rfive", "five", 3, (2, 0)),
        ("x = 1", "", 1, None),
    ],
)
def test_a_name_is_found_on_or_near_its_line(
    source: str, symbol: str, line: int | None, place: tuple[int, int] | None
) -> None:
    found = locate_symbol(split_source_lines(source), symbol, line)
    assert (found and (found.line, found.column)) == place


def test_the_outline_of_python_needs_no_grammar(tmp_path: Path) -> None:
    path = tmp_path / "shapes.py"
    path.write_text(
        "import os\nif os.name:\n    LIMIT = 3\n\nclass Shape:\n    sides: int = 0\n    @property\n"
        "    def area(self):\n        inner = 1\n        def local(): ...\n        return inner\n\n"
        "async def main(): ...\n",
        encoding="utf-8",
    )
    symbols = outline_file(path)
    assert symbols is not None
    assert [(symbol.name, symbol.line, symbol.depth) for symbol in symbols] == [
        ("LIMIT", 3, 0), ("Shape", 5, 0), ("sides", 6, 1), ("area", 8, 1), ("main", 13, 0),
    ]  # fmt: skip
    path.write_text("def broken(:\n", encoding="utf-8")
    assert outline_file(path) is None


def test_the_outline_of_shell_scripts_uses_a_grammar(tmp_path: Path) -> None:
    path = tmp_path / "run.sh"
    path.write_text("#!/bin/sh\nstart() {\n  echo hi\n}\nfunction stop { :; }\n", encoding="utf-8")
    symbols = outline_file(path)
    assert symbols is not None
    assert [(symbol.name, symbol.kind, symbol.line) for symbol in symbols] == [
        ("start", "function", 2), ("stop", "function", 5),
    ]  # fmt: skip
