"""`clio acp` as a process: invalid input on its pipes, and how it ends."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.entrypoints.repl_support import Place, make_place
from tests.support.chat_server import ChatServer, text, tool_calls
from tests.support.wording import mentions


class Lines:
    """An agent process, used line by line."""

    def __init__(self, place: Place, *flags: str, code: str = "") -> None:
        start = ["-c", code] if code else ["-m", "clio", "acp"]
        self.process = subprocess.Popen(
            [sys.executable, *start, *flags],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=place.home,
            env=place.env(),
        )

    def send(self, line: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def ask(self, id: int, method: str, **params: Any) -> None:
        self.send(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode())

    def read(self) -> dict[str, Any]:
        """Read one message; any other output on standard output fails here."""
        assert self.process.stdout
        return json.loads(self.process.stdout.readline())

    def answer(self, id: int) -> dict[str, Any]:
        """Return the response to a request; messages before it are skipped."""
        while (message := self.read()).get("id") != id or "method" in message:
            pass
        return message

    def end(self) -> tuple[int, str]:
        """Close its standard input; return the exit code, and standard error."""
        assert self.process.stdin and self.process.stdout and self.process.stderr
        self.process.stdin.close()
        rest = self.process.stdout.read()
        assert all(json.loads(line) for line in rest.splitlines())
        errors = self.process.stderr.read().decode()
        code = self.process.wait(30)
        self.process.stdout.close()
        self.process.stderr.close()
        return code, errors


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return make_place(tmp_path)


def test_invalid_lines_are_answered_with_errors(place: Place) -> None:
    agent = Lines(place, "--provider", "offline")
    ids = (b'{"jsonrpc": "2.0", "id": %s, "method": "initialize"}' % id for id in (b"1e400", b"NaN", b"[]", b"{}"))
    for junk in (b"hello", b"{", b"\xff\xfe\x00", b"[" * 100_000, b"[1, 2]", b"42", b'"text"', b"null", *ids):
        agent.send(junk)
        answer = agent.read()
        assert answer["id"] is None and answer["error"]["code"] in (-32700, -32600), junk
    agent.send(b"")
    agent.send(b'{"jsonrpc": "2.0", "id": 99, "result": {}}')
    agent.send(b'{"jsonrpc": "2.0", "method": "session/cancel", "params": {"nonsense": 1}}')
    agent.ask(1, "session/nonsense")
    assert agent.answer(1)["error"]["code"] == -32601
    agent.ask(2, "session/new", folder=1)
    assert agent.answer(2)["error"]["code"] == -32602
    agent.ask(3, "session/prompt", sessionId="x", prompt="words")
    assert agent.answer(3)["error"]["code"] == -32602
    agent.ask(4, "initialize", protocolVersion=7)
    assert agent.answer(4)["result"]["protocolVersion"] == 1
    assert agent.end() == (0, "")


@pytest.mark.fast
def test_only_messages_are_on_standard_output(place: Place) -> None:
    """Neither output of Python nor of a child process is there, and no child reads input from the editor."""
    code = """
import os, subprocess, sys, threading
from clio.entrypoints.acp import session as acp_session
answer = acp_session.EditorSession.start
def loud(self, words):
    print("printed")
    subprocess.run("echo from a child; cat", shell=True)
    return answer(self, words)
acp_session.EditorSession.start = loud
from clio.cli import main
sys.exit(main(["acp", "--provider", "offline"]))
"""
    agent = Lines(place, code=code)
    agent.ask(1, "initialize", protocolVersion=1)
    agent.ask(2, "session/new", cwd=str(place.project), mcpServers=[])
    session = agent.answer(2)["result"]["sessionId"]
    agent.ask(3, "session/prompt", sessionId=session, prompt=[{"type": "text", "text": "/todo"}])
    assert agent.answer(3)["result"]["stopReason"] == "end_turn"
    agent.ask(4, "session/list", cwd=str(place.project))
    assert agent.answer(4)["result"]["sessions"] == []
    code_, errors = agent.end()
    assert code_ == 0 and "from a child" in errors and "printed" in errors


@pytest.mark.parametrize("how", ["closed", "killed"])
def test_it_ends_with_its_editor_during_a_turn(how: str, tmp_path: Path) -> None:
    loud = "sleep 300 & echo $! > child; wait"
    with ChatServer([tool_calls([("run_command", {"command": loud})]), text("never")]) as server:
        place = make_place(tmp_path, server)
        fifo = place.project / "child"
        os.mkfifo(fifo)
        agent = Lines(place, "--approve", "all")
        agent.ask(1, "initialize", protocolVersion=1)
        agent.ask(2, "session/new", cwd=str(place.project), mcpServers=[])
        session = agent.answer(2)["result"]["sessionId"]
        agent.ask(3, "session/prompt", sessionId=session, prompt=[{"type": "text", "text": "run it"}])
        child = int(fifo.read_text(encoding="utf-8"))  # wait until the command has written it
        if how == "killed":
            agent.process.send_signal(signal.SIGTERM)
        code, errors = agent.end()
    assert (code, errors) == (0 if how == "closed" else 143, "")
    assert not Path(f"/proc/{child}").exists() or "Z" in Path(f"/proc/{child}/stat").read_text(encoding="utf-8")
    saved = (place.project / ".clio" / "sessions" / f"{session}.json").read_text(encoding="utf-8")
    assert "interrupted" in saved


def test_without_the_sdk_it_explains_how_to_install_it(place: Place) -> None:
    code = "import sys; sys.modules['acp'] = None; from clio.cli import main; sys.exit(main(['acp']))"
    code_, errors = Lines(place, code=code).end()
    assert code_ == 1
    assert mentions(errors.strip(), "clio acp", "agent-client-protocol", "pip install '.[acp]'")


def test_help_and_usage_errors(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    from clio.cli import main

    assert main(["acp", "--help"]) == 0
    page = capsys.readouterr().out
    assert page.startswith("usage: clio acp [options]") and "pip install '.[acp]'" in page
    assert main(["acp", "-p", "x"]) == 2
    assert main(["acp", "--read-only"]) == 2
