"""The real program reads a private key in pages, and a secret in two commands: no half is saved or sent."""

import os
import subprocess
import sys
from pathlib import Path

from tests.security.secret_corpus import FORMS, RandomLetters
from tests.support.chat_server import ChatServer, text, tool_calls

ROOT = Path(__file__).parent.parent.parent


def test_no_page_of_a_key_and_no_half_of_a_token_leaks(tmp_path: Path) -> None:
    key, token = FORMS["rsa-key"](RandomLetters("pages")), FORMS["github"](RandomLetters("halves"))
    project, home = tmp_path / "project", tmp_path / "home"
    project.mkdir()
    home.mkdir()
    (project / "id_rsa").write_text(key + "\n", encoding="utf-8")
    (project / "config.txt").write_text(f"x = {token}\n", encoding="utf-8")
    replies = [
        tool_calls([("read_file", {"path": "id_rsa", "limit": 4})]),
        tool_calls([("read_file", {"path": "id_rsa", "offset": 5, "limit": 3})]),
        tool_calls([("read_file", {"path": "id_rsa", "offset": 8})]),
        tool_calls([("run_command", {"command": "head -c 16 config.txt"})]),
        tool_calls([("run_command", {"command": "tail -c +17 config.txt"})]),
        text("Done."),
    ]
    with ChatServer(replies) as server:
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "PYTHONPATH": str(ROOT),
            "OPENAI_BASE_URL": server.url,
            "OPENAI_API_KEY": "test-key",
            "CLIO_MODEL": "test-model",
        }
        done = subprocess.run(
            [sys.executable, "-m", "clio", "--approve", "all", "-p", "look"],
            cwd=project,
            env=env,
            input="",
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )
        sent = b"".join(request.raw for request in server.requests)
    assert done.returncode == 0, done.stderr
    assert sent.count(b"REDACTED") >= 3
    stored = b"".join(path.read_bytes() for path in (project / ".clio").rglob("*") if path.is_file())
    visible = sent + stored + (done.stdout + done.stderr).encode()
    for part in [*key.split("\n")[1:-1], token[-12:]]:
        assert part[:24].encode() not in visible
