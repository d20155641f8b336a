"""The client of language servers: its requests, and that no server can block clio or outlive it."""

import asyncio
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clio.lsp import language_server, rpc
from clio.lsp.catalog import find_project_suffixes, find_servers, make_servers_trust_request
from clio.lsp.language_server import Location, measure_memory, parse_uri
from clio.lsp.rpc import MessageReader, ServerFailed
from clio.lsp.servers import LanguageServers, ServerContext
from clio.sandbox.sandbox import Confinement
from clio.tools.shell.processes import list_descendants
from tests.support.chat_server import ChatServer, stall, tool_calls
from tests.support.processes import find_survivors, is_alive
from tests.support.visible_files import make_visible
from tests.support.waiting import wait_until, wait_until_async

SCRIPT = Path(__file__).parent.parent / "support" / "language_server.py"
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="commands are lines of a POSIX shell")


def command(mode: str, *more: object) -> str:
    return shlex.join([str(Path(sys.executable).resolve()), str(make_visible(SCRIPT)), mode, *map(str, more)])


class Fixture:
    """Servers of one mode for a project with one file; they are stopped at the end."""

    def __init__(self, folder: Path, mode: str, *more: object, name: str = "pyright") -> None:
        self.root = (folder / "project").resolve()
        self.root.mkdir()
        self.file = self.root / "app.py"
        self.file.write_text("def add(a):\n    return a\n\n\nadd(1)\n", encoding="utf-8")
        self.warnings: list[str] = []
        confinement = Confinement(enabled=True, home=None, user_home=folder, env=os.environ)
        # The interpreter of the tests may be in /tmp, which a sandboxed program does not see.
        confinement.use("off")
        self.servers = LanguageServers(
            ServerContext(
                setting=("off", f"{name} {command(mode, *more)}"),
                root=self.root,
                owner=self.root,
                home=folder / "home",
                confinement=confinement,
                warn=self.warnings.append,
            )
        )

    async def references(self, name: str = "add") -> list[int]:
        server = await self.servers.open_for(self.file)
        lines = self.file.read_text(encoding="utf-8").splitlines()
        line = next(number for number, text in enumerate(lines) if name in text)
        places = await server.find_locations("references", self.file, line, lines[line].index(name))
        return [place.line for place in places]


Make = Callable[..., Fixture]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def start(mode: str, *more: object, name: str = "pyright") -> Fixture:
        return Fixture(tmp_path, mode, *more, name=name)

    return start


@pytest.mark.parametrize("most", [20_000, 0])
def test_the_server_gets_the_current_content_of_files(make: Make, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(language_server, "_MAX_WATCHED", most)  # 0: as in a project with too many files

    async def run() -> None:
        fixture = make("good")
        assert await fixture.references() == [1, 5]
        fixture.file.write_text("# new\ndef add(a):\n    return a\n", encoding="utf-8")
        assert await fixture.references() == [2]
        await fixture.servers.close()

    asyncio.run(run())


def test_a_column_counts_utf16_units(make: Make) -> None:
    async def run() -> None:
        fixture = make("good")
        fixture.file.write_text("x = '😀é'; add(1)\nadd(2)\n", encoding="utf-8")
        server = await fixture.servers.open_for(fixture.file)
        places = await server.find_locations("references", fixture.file, 0, len("x = '😀é'; ") + 1)
        assert [place.line for place in places] == [1, 2]
        await fixture.servers.close()

    asyncio.run(run())


def test_diagnostics_of_an_earlier_text_are_replaced_by_those_of_the_current_one(make: Make) -> None:
    async def run() -> None:
        fixture = make("good")
        server = await fixture.servers.open_for(fixture.file)
        before = await server.find_problems([fixture.file], {fixture.file: "BAD\n"})
        assert [problem.line for problem in before[fixture.file]] == [1]
        now = await server.find_problems([fixture.file], {})
        assert now[fixture.file] == []
        await fixture.servers.close()

    asyncio.run(run())


def test_a_server_is_asked_after_it_has_loaded_even_if_it_reports_before(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(language_server, "_BEGIN_S", 5.0)  # the server reports after 0.1 s that it is loading

    async def run() -> None:
        fixture = make("loads", name="ty")  # after loading, clio expects no further report
        assert await fixture.references() == [1, 5]
        await fixture.servers.close()

    asyncio.run(asyncio.wait_for(run(), 30))


def test_a_server_that_combines_changes_is_not_waited_for_in_vain(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language_server, "_SETTLE_S", 1.0)  # the server reports after 0.2 s

    async def run() -> None:
        fixture = make("merges")
        server = await fixture.servers.open_for(fixture.file)
        before = fixture.file.read_text(encoding="utf-8")
        assert await server.find_problems([fixture.file], {}) == {fixture.file: []}
        fixture.file.write_text(before + "BAD\n", encoding="utf-8")
        assert await server.find_problems([fixture.file], {fixture.file: before}) == {fixture.file: []}
        found = await server.find_problems([fixture.file], {})
        assert [problem.line for problem in found[fixture.file]] == [6]
        # Changed and reverted at once: the server sees no change.
        asking = asyncio.create_task(server.find_problems([fixture.file], {fixture.file: before}))
        await asyncio.sleep(0.05)
        asking.cancel()
        await asyncio.wait([asking])
        found = await server.find_problems([fixture.file], {})
        assert [problem.line for problem in found[fixture.file]] == [6]
        await fixture.servers.close()

    asyncio.run(asyncio.wait_for(run(), 15))


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        ("garbage", "not that of a language server"),
        ("huge", "1,000,000,000 bytes"),
        ("nested", "not JSON"),
        ("flood", "too much"),
        ("dies", "exited with code 3: cannot go on"),
    ],
)
def test_a_hostile_server_is_ended_with_its_reason(make: Make, tmp_path: Path, mode: str, reason: str) -> None:
    pids = tmp_path / "pids"

    async def run() -> None:
        fixture = make(mode, pids)
        with pytest.raises(ServerFailed, match=reason) as raised:
            await fixture.references()
        assert "\x1b" not in str(raised.value)
        await wait_until_async(lambda: not list_living(pids))
        # It is not started again at once, and its reason is repeated.
        with pytest.raises(ServerFailed):
            await fixture.references()
        assert len(fixture.warnings) == 1
        assert len(pids.read_text(encoding="utf-8").split()) == 1
        await fixture.servers.close()

    asyncio.run(run())


def test_a_server_that_never_answers_is_ended_after_the_time_limit(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(language_server, "START_LIMIT_S", 1.0)

    async def run() -> None:
        fixture = make("silent", tmp_path / "pids")
        with pytest.raises(ServerFailed, match="within 1 s"):
            await fixture.references()
        await wait_until_async(lambda: not list_living(tmp_path / "pids"))
        await fixture.servers.close()

    asyncio.run(run())


def test_a_request_without_an_answer_ends_after_the_time_limit(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language_server, "ANSWER_LIMIT_S", 0.5)
    monkeypatch.setattr(language_server, "LOADING_LIMIT_S", 0.1)

    async def run() -> None:
        fixture = make("deaf")
        with pytest.raises(ServerFailed, match=r"within 0.5 s"):
            await fixture.references()
        await fixture.servers.close()

    asyncio.run(run())


def test_a_server_that_does_not_read_is_ended(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rpc, "_MAX_UNSENT_BYTES", 100_000)

    async def run() -> None:
        fixture = make("deaf")
        fixture.file.write_text("add = 1\n" * 50_000, encoding="utf-8")
        with pytest.raises(ServerFailed, match="does not read"):
            await fixture.references()
        await fixture.servers.close()

    asyncio.run(run())


def test_a_server_with_too_much_memory_is_ended(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language_server, "_WATCH_BUSY_S", 0.05)
    if not measure_memory([os.getpid()]):
        pytest.skip("the system does not tell the memory of a process")

    async def run() -> None:
        fixture = make("good")
        server = await fixture.servers.open_for(fixture.file)
        monkeypatch.setattr(language_server, "MAX_MEMORY_BYTES", 1_000)
        await wait_until_async(lambda: server.failure.startswith("it used "))
        await fixture.servers.close()

    asyncio.run(run())


def test_an_answer_names_only_files_and_its_text_has_no_effect(make: Make) -> None:
    async def run() -> None:
        fixture = make("forger")
        server = await fixture.servers.open_for(fixture.file)
        places = await server.find_locations("references", fixture.file, 0, 4)
        deleted = fixture.root / "gone.py"
        assert places == sorted([Location(path=Path("/etc/passwd"), line=1), Location(path=fixture.file, line=1),
                                 Location(path=deleted, line=1)])  # fmt: skip
        (symbol,) = await server.list_symbols(fixture.file)
        assert "\x1b" not in symbol.name and "\u202e" not in symbol.name
        await fixture.servers.close()

    asyncio.run(run())


def test_a_refused_request_leaves_the_server_running(make: Make) -> None:
    async def run() -> None:
        fixture = make("refuses")
        with pytest.raises(ServerFailed, match="refused the request"):
            await fixture.references()
        server = await fixture.servers.open_for(fixture.file)
        assert not server.failure and fixture.warnings == []
        await fixture.servers.close()

    asyncio.run(run())


def test_closing_ends_the_server_and_its_child_processes(make: Make, tmp_path: Path) -> None:
    async def run() -> None:
        fixture = make("child", tmp_path / "pids")
        await fixture.servers.open_for(fixture.file)
        assert len(list_living(tmp_path / "pids")) == 2
        await fixture.servers.close()
        await wait_until_async(lambda: not list_living(tmp_path / "pids"))

    asyncio.run(run())


def test_cancelling_a_start_leaves_no_process(make: Make, tmp_path: Path) -> None:
    async def run() -> None:
        fixture = make("silent", tmp_path / "pids")
        fixture.servers.begin(fixture.file)
        await wait_until_async(lambda: list_living(tmp_path / "pids"))
        await fixture.servers.close()
        await wait_until_async(lambda: not list_living(tmp_path / "pids"))

    asyncio.run(run())


def test_servers_end_when_clio_is_killed(tmp_path: Path) -> None:
    project, home = tmp_path / "project", tmp_path / "home"
    project.mkdir()
    home.mkdir()
    (project / "app.py").write_text("def add(a):\n    return a\n", encoding="utf-8")
    settings = f'language_servers: ["off", "pyright {command("child")}"]\n'
    (home / "config.yaml").write_text(settings, encoding="utf-8")
    lookup = {"operation": "references", "path": "app.py", "line": 1, "symbol": "add"}
    with ChatServer([tool_calls([("code_lookup", lookup)]), stall("thinking")]) as server:
        env = dict(os.environ) | {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "k", "CLIO_MODEL": "m"}
        env |= {"CLIO_HOME": str(home)}
        del env["CLIO_LANGUAGE_SERVERS"]
        process = subprocess.Popen(
            [sys.executable, "-m", "clio", "-p", "look it up"], cwd=project, env=env,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            wait_until(lambda: len(server.requests) == 2, 60)
            assert "app.py:1: def add(a):" in server.requests[1].body["messages"][-1]["content"]
            started = list_descendants(process.pid)
            assert len(started) >= 3, "the launcher, the server and its child"
            process.send_signal(signal.SIGKILL)
            process.wait(20)
            assert find_survivors(started) == []
        finally:
            process.kill()
            process.wait(20)


def list_living(pids: Path) -> list[int]:
    """Return the processes that the servers recorded and that have not ended."""
    numbers = pids.read_text(encoding="utf-8").split() if pids.exists() else []
    return [pid for pid in map(int, numbers) if is_alive(pid)]


def test_a_message_may_arrive_in_any_pieces() -> None:
    data = b'Content-Length: 8\r\nContent-Type: x\r\n\r\n{"a": 1}' * 3
    for size in range(1, len(data) + 1):
        reader = MessageReader()
        found: list[Any] = []
        for start in range(0, len(data), size):
            found += reader.feed(data[start : start + size])
        assert found == [{"a": 1}] * 3


@pytest.mark.parametrize(
    "data", [b"Content-Length: -1\r\n\r\n", b"Content-Length: \xb2\r\n\r\n", b"X: 1\r\n\r\n", b"y" * 9_000,
             b"Content-Length: 99999999999999999999999\r\n\r\n", b"Content-Length: 2\r\n\r\n\xff\xfe"],
)  # fmt: skip
def test_invalid_protocol_data_is_refused(data: bytes) -> None:
    with pytest.raises(ServerFailed):
        list(MessageReader().feed(data))


def test_only_local_file_uris_are_paths(tmp_path: Path) -> None:
    path = tmp_path / "a b#ü.py"
    assert parse_uri(path.as_uri()) == path.resolve()
    for uri in (
        "http://x/y",
        "file://host/y",
        "untitled:1",
        "file:///a%00b",
        3,
        None,
        "file://[",
        "file:///" + "x" * 20_000,
    ):
        assert parse_uri(uri) is None


# --- discovery of servers ---


def put_program(folder: Path, name: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("#!/bin/sh\n", encoding="utf-8")
    (folder / name).chmod(0o755)


def test_a_server_of_the_project_needs_trust(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = (tmp_path / "project").resolve()
    put_program(root / ".venv" / "bin", "pyright-langserver")
    put_program(root / "tools", "gopls")
    put_program(tmp_path / "bin", "clangd")
    monkeypatch.setenv("PATH", os.pathsep.join(["tools", str(root / "tools"), str(tmp_path / "bin")]))
    found = {server.spec.name: server for server in find_servers(("auto",), root, is_trusted=False)}
    assert {name: server.may_run for name, server in found.items()} == {
        "pyright-langserver": False, "gopls": False, "clangd": True,
    }  # fmt: skip
    assert all(server.may_run for server in find_servers(("auto",), root, is_trusted=True))
    assert "clangd" in make_servers_trust_request(["clangd"]).value


def test_typescript_of_the_project_is_not_loaded_without_trust(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, packages = (tmp_path / "project").resolve(), tmp_path / "lib" / "node_modules"
    put_program(packages / "typescript-language-server" / "lib", "typescript-language-server")
    monkeypatch.setenv("PATH", str(packages / "typescript-language-server" / "lib"))
    put_program(root / "node_modules" / "typescript" / "lib", "tsserver.js")
    (server,) = find_servers(("auto",), root, is_trusted=False)
    assert not server.may_run
    put_program(packages / "typescript" / "lib", "tsserver.js")
    (server,) = find_servers(("auto",), root, is_trusted=False)
    assert server.may_run
    assert server.options["tsserver"]["path"] == str((packages / "typescript" / "lib" / "tsserver.js").resolve())


def test_the_setting_selects_servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_program(tmp_path / "bin", "gopls")
    put_program(tmp_path / "bin", "clangd")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    root = tmp_path.resolve() / "project"

    def names(*setting: str) -> list[tuple[str, ...]]:
        return [server.argv for server in find_servers(setting, root, is_trusted=False)]

    gopls, clangd = str(tmp_path / "bin" / "gopls"), str(tmp_path / "bin" / "clangd")
    assert [argv[0] for argv in names("auto")] == [gopls, clangd]
    assert names("off") == names("auto", "off") == []
    assert [argv[0] for argv in names("gopls off")] == [clangd]
    assert names("off", "gopls /opt/x/gopls -rpc.trace") == [("/opt/x/gopls", "-rpc.trace")]
    assert names("auto", "gopls /opt/gopls", "clangd off") == [("/opt/gopls",)]


def test_languages_are_found_in_the_project_and_one_folder_below(tmp_path: Path) -> None:
    for name in ("src/app.py", "web/index.tsx", "node_modules/x/y.js", ".hidden/a.rb", "deep/er/z.swift"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "go.mod").touch()
    assert find_project_suffixes(tmp_path) == {".py", ".tsx", ".go"}
