"""A whole turn in a separate process: sandboxed commands, and no user to allow one more."""

import os
import subprocess
import sys

import pytest

from tests.sandbox.range import REASONS, AttackField
from tests.support.chat_server import ChatServer, text, tool_calls
from tests.support.wording import mentions

LEVEL = next((level for level, reason in REASONS.items() if not reason), None)


@pytest.mark.skipif(LEVEL is None, reason=f"no sandbox is available here: {dict(REASONS)}")
def test_mode_all_permits_nothing_outside_the_sandbox() -> None:
    field = AttackField()
    calls = [
        ("run_command", {"command": "echo in > inside; echo x > ../outside/file"}),
        ("run_command", {"command": "echo x > ../outside/file", "outside": True}),
    ]
    before = field.intact()
    try:
        with ChatServer([tool_calls(calls), text("I could not.")]) as server:
            command = [sys.executable, "-m", "clio", "-p", "go", "--base-url", server.url, "--model", "test-model"]
            done = subprocess.run(
                [*command, "--sandbox", "auto", "--approve", "all", "--output", "stream-json"],
                cwd=field.project,
                env={**os.environ, "HOME": str(field.home), "CLIO_HOME": str(field.home / ".cache" / "clio"),
                     "OPENAI_API_KEY": "k"},
                capture_output=True, text=True, timeout=60,
            )  # fmt: skip
            results = [row["content"] for row in server.requests[-1].body["messages"] if row["role"] == "tool"]
    finally:
        inside = (field.project / "inside").exists()
        after = {path: content for path, content in field.intact().items() if path in before}
        field.close()
    assert done.returncode == 4, done.stderr
    assert inside
    assert after == before
    assert f"[this may be the sandbox ({LEVEL})" in results[0]
    assert "needs the user's approval" in results[1]
    assert "sandbox_network" in done.stdout


@pytest.mark.skipif(sys.platform == "darwin", reason="seatbelt may hold there")
def test_a_level_that_is_unavailable_runs_no_command() -> None:
    field = AttackField()
    try:
        with ChatServer([tool_calls([("run_command", {"command": "echo in > inside"})]), text("No.")]) as server:
            command = [sys.executable, "-m", "clio", "-p", "go", "--base-url", server.url, "--model", "test-model"]
            done = subprocess.run(
                [*command, "--sandbox", "seatbelt", "--approve", "all"],
                cwd=field.project,
                env={**os.environ, "HOME": str(field.home), "CLIO_HOME": str(field.home / ".cache" / "clio"),
                     "OPENAI_API_KEY": "k"},
                capture_output=True, text=True, timeout=60,
            )  # fmt: skip
        assert not (field.project / "inside").exists()
        assert mentions(done.stderr, "no command", "sandbox", "'seatbelt'")
    finally:
        field.close()
