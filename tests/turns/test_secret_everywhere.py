"""Run the real program with a different secret in every channel, then search everything it wrote, sent or printed.

The different secrets identify the leak. A file that contained its secret before the run may keep it.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.security.secret_corpus import FORMS, RandomLetters
from tests.support.chat_server import ChatServer, Reply, text, tool_calls
from tests.support.forked_clio import run_clio
from tests.support.harness import make_repository
from tests.support.mcp_peer import SECRET as OF_THE_SERVER

ROOT = Path(__file__).parent.parent.parent
CHANNELS = (
    "prompt command_output file_name git_log agents hook_session hook_prompt hook_tool web_page web_address env answer "
    "answer_to_child report skill command config error_server search note reasoning arguments file diff stderr"
).split()


class _Page(BaseHTTPRequestHandler):
    body = ""

    def do_GET(self) -> None:
        raw = self.body.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


@dataclass
class Place:
    """A project and a home folder full of secrets, and the output of every run."""

    project: Path
    home: Path
    tmp: Path
    server: ChatServer
    secrets: dict[str, str]
    page: str
    said: list[str] = field(default_factory=list[str])
    before: dict[Path, bytes] = field(default_factory=dict[Path, bytes])

    def run(self, *words: str, code: int = 0, **env: str) -> str:
        """Run one clio to the end; return both output streams."""
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "TMPDIR": str(self.tmp),
            "LANG": "C.UTF-8",
            "PYTHONUTF8": "1",
            "PYTHONPATH": str(ROOT),
            "OPENAI_BASE_URL": self.server.url,
            "OPENAI_API_KEY": "test-key",
            "CLIO_MODEL": "test-model",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "DEPLOY_TOKEN": self.secrets["env"],
        } | env
        done = run_clio(words, self.project, env)
        self.said.append(done.stdout + done.stderr)
        assert done.returncode == code, (words, done.stdout, done.stderr)
        return done.stdout + done.stderr

    def files(self) -> Iterator[Path]:
        for folder in (self.project, self.home, self.tmp):
            yield from (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())

    def remember(self) -> None:
        """Allow that the current files contain their secrets afterwards too."""
        self.before = {path: path.read_bytes() for path in self.files()}

    def leaks(self) -> list[str]:
        """Return where a secret, or its last twelve characters, was found, with the channel it came from."""
        copies = self.home / ".clio" / "checkpoints"  # what /undo restores must be what was there, byte for byte
        found = (path for path in self.files() if copies not in path.parents)
        fresh = {path: raw for path in found if self.before.get(path) != (raw := path.read_bytes())}
        places = {str(path): str(path).encode() + raw for path, raw in fresh.items()}
        asked = [*self.server.requests, *self.server.others]
        places |= {f"request {number}": each.path.encode() + each.raw for number, each in enumerate(asked)}
        places |= {f"output {number}": each.encode() for number, each in enumerate(self.said)}
        every = self.secrets | {"mcp": OF_THE_SERVER}
        return [
            f"{channel} in {where}"
            for where, raw in places.items()
            for channel, secret in every.items()
            if secret.encode() in raw or secret[-12:].encode() in raw
        ]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    kinds = ["openai", "github", "stripe", "groq", "huggingface", "npm", "perplexity", "notion", "linear"]
    secrets = {name: FORMS[kinds[at % len(kinds)]](RandomLetters(name)) for at, name in enumerate(CHANNELS)}
    secrets["env"] = "corr-" + RandomLetters("env")(20)
    project, home, tmp = tmp_path / "project", tmp_path / "home", tmp_path / "tmp"
    for folder in (home / ".clio" / "skills" / "ship", home / ".clio" / "commands", tmp):
        folder.mkdir(parents=True)
    page = type("Page", (_Page,), {"body": f"<p>The key is {secrets['web_page']} here.</p>"})
    web = ThreadingHTTPServer(("127.0.0.1", 0), page)
    Thread(target=web.serve_forever, daemon=True).start()
    files = {
        "AGENTS.md": f"Deploy with {secrets['agents']} please.\n",
        "notes.txt": f"a key: {secrets['file']}\nand more\n",
        "deep/found.py": f"needle = '{secrets['search']}'\n",
        f"key-{secrets['file_name']}.txt": "x\n",
    }
    make_repository(project, files)
    git = ["git", "-C", str(project), "-c", "user.name=x", "-c", "user.email=x@example.com"]
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", f"key {secrets['git_log']}"], check=True)
    (project / "notes.txt").write_text(files["notes.txt"] + f"more = {secrets['diff']}\n", encoding="utf-8")
    clio = home / ".clio"
    (clio / "config.yaml").write_text("private_network: true\napprove: all\n", encoding="utf-8")
    (clio / "hooks.yaml").write_text(
        f"session_start:\n  - run: echo 'said {secrets['hook_session']}'\n"
        f"user_prompt:\n  - run: echo 'said {secrets['hook_prompt']}'\n"
        f"after_tool:\n  - match: git\n    run: echo 'said {secrets['hook_tool']}'\n",
        encoding="utf-8",
    )
    (clio / "skills" / "ship" / "SKILL.md").write_text(
        f"---\nname: ship\ndescription: how to ship\n---\nUse {secrets['skill']} to ship.\n", encoding="utf-8"
    )
    (clio / "commands" / "go.md").write_text(f"Go with {secrets['command']} now.\n", encoding="utf-8")
    peer = {"command": sys.executable, "args": ["-S", "-m", "tests.support.mcp_peer"], "env": {"PYTHONPATH": str(ROOT)}}
    (clio / "mcp.yaml").write_text(json.dumps({"mcpServers": {"peer": peer}}), encoding="utf-8")
    with ChatServer() as server:
        found = Place(project, home, tmp, server, secrets, f"http://127.0.0.1:{web.server_port}/")
        found.remember()
        yield found
    web.shutdown()
    web.server_close()


def _turn(place: Place) -> list[Reply]:
    key = place.secrets
    reads: list[tuple[str, dict[str, str]]] = [
        ("read_file", {"path": "notes.txt"}),
        ("run_command", {"command": f"echo {key['command_output']}; printenv DEPLOY_TOKEN"}),
        ("run_command", {"command": f"echo {key['stderr']} >&2; exit 3"}),
        ("list_files", {"path": "."}),
        ("search_text", {"pattern": "needle"}),
        ("git", {"operation": "log"}),
        ("git", {"operation": "diff"}),
        ("web_fetch", {"url": f"{place.page}?key={key['web_address']}"}),
        ("mcp_peer_secret", {}),
        ("use_skill", {"name": "ship"}),
        ("read_file", {"path": f"gone-{key['arguments']}.txt"}),
        ("memory_operations", {"operation": "store", "key": "plan", "content": f"deploy with {key['note']}"}),
    ]
    child = [text(f"The key is {key['report']}.", reasoning=f"hm {key['answer_to_child']}")]
    return [
        tool_calls(reads, words=f"I will use {key['answer']}."),
        tool_calls([("delegate", {"task": "look"})]),
        *child,
        text(f"Done with {key['answer']}, as said.", reasoning=f"so {key['reasoning']} it is", chunk_size=3),
    ]


def test_nothing_written_sent_or_printed_contains_a_secret(place: Place) -> None:
    place.server.add(*_turn(place))
    place.run("-p", f"my key is {place.secrets['prompt']}, look around", "--output", "stream-json")
    sent = b"".join(request.raw for request in place.server.requests)
    assert len(place.server.requests) == 4 and sent.count(b"[REDACTED:") > 20, sent[-3000:]
    place.server.add(text("gone"))
    place.run("-c", "-p", "/go")
    place.run("recall", "key")  # builds the index
    place.run("sessions", "export", "1", str(place.tmp / "session.html"))
    assert place.leaks() == [], "\n".join(place.leaks())


def test_no_error_message_contains_a_secret(place: Place) -> None:
    refusal = {"error": {"message": f"bad key {place.secrets['error_server']}", "type": "invalid"}}
    place.server.add(Reply(lambda _: [json.dumps(refusal).encode()], status=400, content_type="application/json"))
    place.run("-p", "hi", "--debug", code=1)
    (place.home / ".clio" / "config.yaml").write_text(f"theme: [{place.secrets['config']}\n", encoding="utf-8")
    place.remember()
    place.run("-p", "hi", "--debug", code=2)
    assert place.leaks() == [], "\n".join(place.leaks())
