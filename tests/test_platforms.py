"""Branches for other systems, run here with `sys.platform` changed, and the page that lists their files."""

import ast
import asyncio
import os
import re
import shutil
import signal
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from clio.errors import UserError
from clio.mcp.client import EndSignal, Launch, ServerLog, open_pipe
from clio.storage.files import write_atomic
from clio.threads import avoid_current_folder, find_program
from clio.tools.shell.processes import list_living_processes, wait_for_any_exit
from clio.ui.line_keys import read_clipboard_image
from tests.support.python_source import parse_source
from tests.support.waiting import wait_until

ROOT = Path(__file__).parent.parent
posix = pytest.mark.skipif(
    sys.platform == "win32", reason="stand-ins are shell scripts, and the branch is the real one"
)


def make_program(path: Path, script: str = "exit 0") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate Windows: the platform, suffixes of programs, and a `which` that tries the current folder."""
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(signal, "CTRL_BREAK_EVENT", signal.SIGTERM, raising=False)
    monkeypatch.setattr(
        shutil, "_winapi", SimpleNamespace(NeedCurrentDirectoryForExePath=lambda name: True), raising=False
    )
    monkeypatch.setenv("PATHEXT", ".exe:.cmd")


def test_on_windows_programs_are_not_searched_in_the_current_folder() -> None:
    env: dict[str, str] = {}
    avoid_current_folder(env, windows=False)
    assert env == {}
    avoid_current_folder(env, windows=True)
    assert env == {"NoDefaultCurrentDirectoryInExePath": "1"}


@posix
@pytest.mark.usefixtures("windows")
def test_a_program_of_the_repository_is_not_taken_for_one_on_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_program(tmp_path / "repository" / "rg.exe")
    installed = make_program(tmp_path / "bin" / "rg.exe")
    monkeypatch.chdir(tmp_path / "repository")
    assert shutil.which("rg", path=str(tmp_path / "empty")) is not None  # what Windows would run
    assert find_program("rg", path=str(tmp_path / "empty")) is None
    assert find_program("rg", path=str(tmp_path / "bin")) == str(installed)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert find_program("rg") == str(installed)


@posix
@pytest.mark.usefixtures("windows")
def test_a_file_open_elsewhere_is_replaced_when_it_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "notes.json"
    path.write_bytes(b"old")
    replace, refused = Path.replace, [PermissionError(13, "it is open")] * 3

    def refuse(self: Path, target: Path) -> Path:
        if refused:
            raise refused.pop()
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", refuse)
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    write_atomic(path, b"new")
    assert path.read_bytes() == b"new"
    refused += [PermissionError(13, "it is open")] * 100
    with pytest.raises(PermissionError):
        write_atomic(path, b"newer")
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("notes.json", b"new")]


@posix
@pytest.mark.usefixtures("windows")
def test_a_server_that_is_a_script_is_found_and_ended_with_its_child_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_program(tmp_path / "bin" / "server.cmd", "trap '' TERM; sleep 600 & echo $$ $! > started; wait")
    ender = make_program(
        tmp_path / "system" / "System32" / "taskkill.exe", f'echo "$@" > {tmp_path}/ended; kill -9 -$4; kill -9 $4'
    )
    monkeypatch.setenv("SYSTEMROOT", str(ender.parent.parent))
    launch = Launch(command=("server",), env={**os.environ, "PATH": f"{tmp_path}/bin:/usr/bin:/bin"}, cwd=tmp_path)

    async def scenario() -> list[int]:
        async with open_pipe(launch, ServerLog(tmp_path / "log"), EndSignal()):
            started = tmp_path / "started"
            await asyncio.to_thread(wait_until, lambda: started.exists() and started.read_text(encoding="utf-8") != "")
            return [int(pid) for pid in started.read_text(encoding="utf-8").split()]

    server, child = asyncio.run(scenario())
    assert (tmp_path / "ended").read_text(encoding="utf-8").split() == ["/T", "/F", "/PID", str(server)]
    monkeypatch.undo()
    wait_until(lambda: not {server, child} & set(list_living_processes(tmp_path)))


@posix
def test_without_proc_an_ended_process_is_not_listed(tmp_path: Path) -> None:
    child = os.fork()
    if not child:
        os._exit(0)
    try:
        wait_until(lambda: os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT) is not None)
        listed = list_living_processes(tmp_path)
        assert os.getpid() in listed
        assert child not in listed
    finally:
        os.waitpid(child, 0)


def test_a_python_without_pidfd_polls_for_ended_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    monkeypatch.setattr("clio.tools.shell.processes._POLL_S", 0.0)
    asyncio.run(wait_for_any_exit([os.getpid()]))  # otherwise it would wait for the end of this process


@pytest.mark.parametrize(("platform", "need"), [("darwin", "pngpaste"), ("win32", "powershell"), ("linux", "wl-paste")])
def test_the_clipboard_program_is_named(platform: str, need: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr("clio.ui.line_keys.find_program", lambda name: None)
    with pytest.raises(UserError, match=need):
        asyncio.run(read_clipboard_image())


_QUESTION = re.compile(
    r"\bsys\.platform\b|\bos\.name\b|\bhasattr\((?:os|signal), |\bplatform in SYSTEM_STORES|\bplatform not in \("
)


def asks_for_the_platform(node: ast.AST) -> bool:
    is_test = isinstance(node, ast.If | ast.IfExp | ast.Assert | ast.comprehension | ast.BoolOp | ast.Compare)
    return is_test and _QUESTION.search(ast.unparse(node)) is not None


@pytest.mark.usefixtures("no_garbage_collection")
def test_the_page_names_every_file_with_a_branch() -> None:
    page = (ROOT / "docs" / "platforms.md").read_text(encoding="utf-8")
    named = {name for name in re.findall(r"`((?:\w+/)*\w+\.py)`", page) if not name.startswith("tests/")}
    found: set[str] = set()
    for path in sorted((ROOT / "clio").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if _QUESTION.search(text) and any(asks_for_the_platform(node) for node in ast.walk(parse_source(text))):
            found.add(path.relative_to(ROOT / "clio").as_posix())
    assert len(found) > 20
    assert found <= named, f"docs/platforms.md does not name {sorted(found - named)}"
    assert {name for name in named if not (ROOT / "clio" / name).exists()} == set()
