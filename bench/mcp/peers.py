"""Test clio's MCP client with servers of other authors.

    python -m bench.mcp.peers          (or: make mcp-peers)

Installs five servers from npm and PyPI into a temporary folder and calls their tools. Servers of a registry that cannot
be reached are skipped, with the reason. The exit code is 1 if a server does not start or a result is not as expected.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from clio.config.loaded import McpServer
from clio.mcp.servers import McpServers
from clio.mcp.values import CallFailed, ServerDown

NPM = ("@modelcontextprotocol/server-everything", "@modelcontextprotocol/server-filesystem")
PYPI = ("mcp-server-fetch", "mcp-server-git", "mcp-server-time")
INSTALL_S = 300.0
CALLS: tuple[tuple[str, str, dict[str, object], str], ...] = (
    ("everything", "echo", {"message": "hello"}, "hello"),
    ("everything", "get-sum", {"a": 2, "b": 40}, "42"),
    ("everything", "get-tiny-image", {}, "png"),
    ("everything", "get-structured-content", {"location": "New York"}, "temperature"),
    ("everything", "get-resource-links", {"count": 2}, "demo://"),
    ("everything", "trigger-long-running-operation", {"duration": 1, "steps": 2}, "completed"),
    ("everything", "trigger-elicitation-request", {}, "accept"),
    ("everything", "get-roots-list", {}, "file://"),
    ("filesystem", "write_file", {"path": "note.txt", "content": "a note"}, "note.txt"),
    ("filesystem", "read_text_file", {"path": "note.txt"}, "a note"),
    ("filesystem", "read_text_file", {"path": "/etc/passwd"}, "outside"),
    ("git", "git_status", {"repo_path": "."}, "On branch"),
    ("time", "get_current_time", {"timezone": "UTC"}, "timezone"),
    ("fetch", "fetch", {"url": "http://127.0.0.1:9/"}, "fetch"),
)


def main() -> int:
    """Print a line for each server and each call."""
    with tempfile.TemporaryDirectory(prefix="clio-mcp-") as folder:
        folder_path = Path(folder)
        project = folder_path / "project"
        project.mkdir()
        subprocess.run(["git", "init", "--quiet", "--initial-branch=main", str(project)], check=True)
        servers = [*_npm_servers(folder_path, project), *_pypi_servers(folder_path)]
        failures = asyncio.run(_run_calls(servers, project)) if servers else 0
    return 1 if failures else 0


def _npm_servers(folder_path: Path, project: Path) -> list[McpServer]:
    if not _install(
        "npm", ["npm", "install", "--no-audit", "--no-fund", "--silent", "--prefix", str(folder_path), *NPM]
    ):
        return []
    programs = folder_path / "node_modules" / ".bin"
    return [
        _server("everything", programs / "mcp-server-everything"),
        _server("filesystem", programs / "mcp-server-filesystem", str(project)),
    ]


def _pypi_servers(folder_path: Path) -> list[McpServer]:
    venv = folder_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    if not _install("PyPI", [str(venv / "bin" / "pip"), "install", "--quiet", *PYPI]):
        return []
    return [
        _server("fetch", venv / "bin" / "mcp-server-fetch"),
        _server("git", venv / "bin" / "mcp-server-git"),
        _server("time", venv / "bin" / "mcp-server-time", "--local-timezone", "UTC"),
    ]


def _server(name: str, program: Path, *args: str) -> McpServer:
    return McpServer(name=name, where="here", own=True, command=str(program), args=args)


def _install(registry: str, command: list[str]) -> bool:
    try:
        process = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"skipped: {registry}: {error}")
        return False
    if process.returncode:
        lines = (process.stderr or process.stdout).strip().splitlines()
        print(f"skipped: {registry} is not reachable: {lines[-1] if lines else process.returncode}")
    return not process.returncode


async def _run_calls(configured: list[McpServer], project: Path) -> int:
    async def answer(question: str, options: tuple[str, ...]) -> str:
        return options[0] if options else "Ada"

    servers = McpServers(
        configured, [], project=project, env=os.environ, folder=None, tell=print, ask=answer, first_wait_s=60.0
    )
    failures = 0
    try:
        await servers.settle()
        for one in servers.list_statuses():
            catalog = one.catalog
            if catalog is None:
                failures += 1
                continue
            counts = f"{len(catalog.tools)} tools, {len(catalog.resources)} resources, {len(catalog.prompts)} prompts"
            tokens = f"about {servers.tokens(one.server.name):,} tokens"
            print(f"{one.server.name:<12} {catalog.version:<12} {one.seconds or 0:5.2f} s  {counts}, {tokens}")
        for server, tool, arguments, expected in CALLS:
            if any(one.server.name == server and one.catalog for one in servers.list_statuses()):
                failures += not await _run_call(servers, server, tool, arguments, expected)
        for server, resource in servers.resources("everything")[:1]:
            print(
                f"  resource     {len((await servers.read(server, resource.uri)).text):,} characters of {resource.uri}"
            )
        started = time.monotonic()
    finally:
        await servers.close()
    print(f"closed in {time.monotonic() - started:.2f} s")
    return failures


async def _run_call(servers: McpServers, server: str, tool: str, arguments: dict[str, object], expected: str) -> bool:
    started = time.monotonic()
    try:
        text = (await servers.call(server, tool, arguments, lambda line: None)).text
    except (CallFailed, ServerDown) as error:
        text = f"{error}"
    is_ok = expected in text
    print(f"  {'ok' if is_ok else 'WRONG':<6} {server} {tool} {1000 * (time.monotonic() - started):.0f} ms", end="")
    print("" if is_ok else f": {text[:200]!r}")
    return is_ok


if __name__ == "__main__":
    sys.exit(main())
