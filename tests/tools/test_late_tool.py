"""Tools that are created at their first call."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from msgspec import Struct

from clio.security.actions import TouchOwnState, Workspace
from clio.tools.base import PreparedCall, Progress, ReadLog, Tool, ToolOutput
from clio.tools.shell.jobs import JobTable
from clio.tools.toolbox import LazyTool, make_file_tools, make_session_tools, make_use_skill_tool

CALLERS = 4
LIGHT = "base schemas session_tools shell shell.jobs toolbox"


class Nothing(Struct, frozen=True):
    """No arguments."""


class Idle:
    """A tool that does nothing."""

    name = "idle"
    args = Nothing
    read_only = True

    def prepare(self, args: Nothing) -> PreparedCall:
        async def go(progress: Progress) -> ToolOutput:
            return ToolOutput(text="", summary="")

        return PreparedCall(title=self.name, action=TouchOwnState(), run=go)


def test_it_is_created_once_by_simultaneous_calls() -> None:
    made: list[Tool] = []
    together = Barrier(CALLERS)

    def make() -> Tool:
        made.append(Idle())
        return made[-1]

    late = LazyTool("idle", Nothing, make, read_only=True)
    assert made == []

    def call(_: int) -> str:
        together.wait(10)
        return late.prepare(Nothing()).title

    with ThreadPoolExecutor(CALLERS) as pool:
        assert list(pool.map(call, range(CALLERS))) == ["idle"] * CALLERS
    assert made == [late.load()]


def test_an_error_at_creation_is_raised_at_each_call_until_it_succeeds() -> None:
    tries = iter([ImportError("first"), ImportError("second"), Idle()])

    def make() -> Tool:
        result = next(tries)
        if isinstance(result, ImportError):
            raise result
        return result

    late = LazyTool("idle", Nothing, make)
    for message in ("first", "second"):
        with pytest.raises(ImportError, match=message):
            late.prepare(Nothing())
    assert late.prepare(Nothing()).title == "idle"


def test_created_tools_match_their_definitions(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    unused: Any = None
    work = make_session_tools(
        workspace, unused, unused, unused, JobTable(), command_timeout_s=20, private_network=False
    )
    tools = [*make_file_tools(workspace, ReadLog()), *work, make_use_skill_tool(unused, ())]
    late = [tool for tool in tools if isinstance(tool, LazyTool)]
    assert len(late) == 15
    for offered in late:
        made = offered.load()
        assert (made.name, made.args, made.read_only) == (offered.name, offered.args, offered.read_only)


def test_offering_tools_imports_none_of_them() -> None:
    script = "import sys, clio.tools.toolbox; print(*sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    tools = [name.removeprefix("clio.tools.") for name in loaded if name.startswith("clio.tools.")]
    assert set(tools) == set(LIGHT.split())
