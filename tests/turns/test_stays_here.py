"""Memory stays on this machine: whole turns and every memory command, with each network connection recorded.

Only turns connect, and only to the model's server on loopback.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.chat_server import ChatServer, text, tool_calls
from tests.support.harness import make_repository

ROOT = Path(__file__).parent.parent.parent
GUARD = """
import os, sys

OUT = os.open(os.environ["CONNECTIONS_FILE"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

def listen(event, arguments):
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg", "socket.bind"):
        where = arguments[1]
    elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
        where = arguments[:2]
    else:
        return
    if isinstance(where, tuple):
        os.write(OUT, f"{event} {where[0]} {where[1] if len(where) > 1 else ''}\\n".encode())

sys.addaudithook(listen)
"""
TURN = [
    ("memory_operations", {"operation": "add_discovery", "fact": "we deploy with make ship"}),
    ("memory_operations", {"operation": "store", "key": "plan", "content": "Friday"}),
    ("memory_operations", {"operation": "remember", "content": "the API listens on 8080", "type": "fact"}),
    ("memory_operations", {"operation": "recall", "query": "API"}),
    ("memory_operations", {"operation": "recall_sessions", "query": "deploy"}),
    ("memory_operations", {"operation": "search", "query": "deploy"}),
]
VERBS = """\
memory list
memory remember "releases happen on Fridays" --type event
memory recall releases
memory search deploy
memory stats
memory why
memory changes
memory compact
memory prune --yes
memory sleep
memory log
prefs add "never force-push" --score 0
prefs top
note set later "look again"
note list
docs add README.md
docs search install
sessions search deploy
recall deploy
style on
style list
style why
feedback + "short and right"
memory export all.json
memory import all.json
memory undo
memory wipe --scope all --sessions --yes
memory list
"""
EACH_VERB = """
import os, shlex, sys
from clio.cli import main

for verb in sys.argv[1:]:
    print("==", verb, flush=True)
    if code := main(shlex.split(verb)):
        sys.exit(code)
    if os.path.getsize(os.environ["CONNECTIONS_FILE"]):
        sys.exit("this one spoke to somebody")
"""


class Guarded:
    """A project and a home folder whose clios record their connections."""

    def __init__(self, folder: Path, server: ChatServer) -> None:
        self.project, self.home, self.guard = folder / "project", folder / "home", folder / "guard"
        self.server = server
        make_repository(self.project, {"README.md": "# Install\n\nRun make install.\n"})
        for path in (self.home, self.guard):
            path.mkdir()
        (self.guard / "sitecustomize.py").write_text(GUARD, encoding="utf-8")
        self.file = folder / "connections"

    def run(self, *words: str, code: str = "") -> subprocess.CompletedProcess[str]:
        """Run one clio, or a program that runs several, to the end."""
        self.file.write_text("", encoding="utf-8")
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "PYTHONUTF8": "1",
            "PYTHONPATH": os.pathsep.join((str(self.guard), str(ROOT))),
            "CONNECTIONS_FILE": str(self.file),
            "OPENAI_BASE_URL": self.server.url,
            "OPENAI_API_KEY": "test-key",
            "CLIO_MODEL": "test-model",
        }
        return subprocess.run(
            [sys.executable, *(("-c", code) if code else ("-m", "clio")), *words],
            cwd=self.project,
            env=env,
            input="",
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    @property
    def contacted(self) -> set[str]:
        """Return host and port of every address that the last clio looked up, connected to or sent to."""
        lines = self.file.read_text(encoding="utf-8").splitlines()
        return {" ".join(line.split()[1:]) for line in lines}


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Guarded]:
    with ChatServer() as server:
        yield Guarded(tmp_path, server)


def test_only_the_models_server_is_ever_contacted(place: Guarded) -> None:
    place.server.add(tool_calls(TURN), text("We deploy with make ship."))
    done = place.run("-p", "We deploy from main on Fridays. How do we deploy?", "--approve", "all")
    assert (done.returncode, done.stdout.strip()) == (0, "We deploy with make ship."), done.stderr
    address = urlsplit(place.server.url)
    assert place.contacted == {f"{address.hostname} {address.port}"}
    asked = len(place.server.requests)
    done = place.run(*VERBS.splitlines(), code=EACH_VERB)
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert (place.contacted, len(place.server.requests)) == (set(), asked), done.stdout
