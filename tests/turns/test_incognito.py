"""`--incognito` leaves nothing behind and reads no memory; `--no-ltm` only keeps project memory out of requests.

Turns with tools against a server on loopback, in a project with content in every store.
"""

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from clio.memory.store.record import MemoryDraft, Provenance
from tests.support.chat_server import ChatServer, Reply, error, text, tool_calls
from tests.support.forked_clio import run_clio
from tests.support.harness import make_repository
from tests.support.pty_session import PtySession
from tests.turns.traces import Listener, snapshot

ROOT = Path(__file__).parent.parent.parent
MARKER = "quokka"
KEPT_APART = "numbat"
"""In memories and preferences, which --no-ltm leaves on."""
"""Occurs in everything that is in memory, and nowhere else."""
REFUSED = "incognito"
ATTEMPTS: list[tuple[str, dict[str, Any]]] = [
    ("read_file", {"path": "calc.py"}),
    ("run_command", {"command": "cat calc.py && ls"}),
    ("git", {"operation": "status"}),
    ("todo_operations", {"operation": "write", "todos": [{"id": 1, "title": "look", "status": "in_progress"}]}),
    ("memory_operations", {"operation": "store", "key": "k", "content": "nothing of this"}),
    ("memory_operations", {"operation": "add_discovery", "fact": "nothing of this"}),
    ("memory_operations", {"operation": "remember", "content": "nothing of this", "type": "fact"}),
    ("memory_operations", {"operation": "recall", "query": "animals"}),
    ("memory_operations", {"operation": "recall_sessions", "query": "animals"}),
    ("memory_operations", {"operation": "retrieve", "key": "animals"}),
    ("memory_operations", {"operation": "search", "query": "animals"}),
    ("memory_operations", {"operation": "list"}),
    ("memory_operations", {"operation": "delete", "key": "animals"}),
]
MEMORY_CALLS = sum(name == "memory_operations" for name, _ in ATTEMPTS)


class Place:
    """A project and a home folder in which clio has worked before."""

    def __init__(self, folder: Path, server: ChatServer) -> None:
        self.project, self.home, self.temp = folder / "project", folder / "home", folder / "temp"
        self.server = server
        self.listener = Listener(folder / "listener")

    def work_before(self) -> None:
        """Fill every store of memory."""
        self.home.mkdir()
        self.temp.mkdir()
        make_repository(self.project, {"calc.py": "def add(a, b):\n    return a + b\n", "big.txt": "word\n" * 30_000})
        remembering = [
            ("memory_operations", {"operation": "add_discovery", "fact": f"animals: the {MARKER} smiles"}),
            ("memory_operations", {"operation": "store", "key": "animals", "content": f"animals: a {MARKER}"}),
            ("memory_operations", {"operation": "remember", "content": f"the {KEPT_APART} naps", "type": "fact"}),
        ]
        self.server.add(tool_calls(remembering), text(f"The animals are {MARKER}s."))
        done = self.run("-p", f"animals: remember the {MARKER}. Never wake the {KEPT_APART}.")
        assert done.returncode == 0, done.stderr
        (self.home / ".clio" / "history").write_text(f"# an earlier line\n+{MARKER}\n", encoding="utf-8")
        (self.home / ".clio" / "config.yaml").write_text("max_steps: 50\n", encoding="utf-8")

    def env(self, *, listen: bool = False, **more: str) -> dict[str, str]:
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "TMPDIR": str(self.temp),
            "LANG": "C.UTF-8",
            "PYTHONUTF8": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "OPENAI_BASE_URL": self.server.url,
            "OPENAI_API_KEY": "test-key",
            "CLIO_MODEL": "test-model",
        }
        return env | (self.listener.env(str(ROOT)) if listen else {"PYTHONPATH": str(ROOT)}) | more

    def run(self, *words: str, listen: bool = False, **env: str) -> subprocess.CompletedProcess[str]:
        """Run one-shot to the end. listen: with a Python that reports every connection."""
        if not listen:
            return run_clio(words, self.project, self.env(listen=False, **env))
        return subprocess.run(
            [sys.executable, "-m", "clio", *words],
            cwd=self.project,
            env=self.env(listen=True, **env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def look(self) -> dict[str, tuple[str, int, int, str]]:
        """Return all files in the project and its .git, in the home folder, and in the temporary folder."""
        return snapshot(self.project, self.home, self.temp)

    def sent(self) -> list[str]:
        """Return the bodies of all requests."""
        return [request.raw.decode() for request in self.server.requests]


@pytest.fixture(scope="module")
def worked_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a place made once and copied for each test."""
    folder = tmp_path_factory.mktemp("worked-in")
    with ChatServer() as server:
        Place(folder, server).work_before()
    return folder


@pytest.fixture
def place(worked_in: Path, tmp_path: Path) -> Iterator[Place]:
    for name in ("project", "home", "temp"):
        shutil.copytree(worked_in / name, tmp_path / name, symlinks=True)
    with ChatServer() as server:
        yield Place(tmp_path, server)


def results(request: Any) -> list[str]:
    """Return the results of the tools in a request's last step."""
    texts: list[str] = []
    for message in reversed(request.body["messages"]):
        if message["role"] != "tool":
            break
        texts.insert(0, message["content"])
    return texts


def check_answers(answers: Sequence[str]) -> None:
    """Check that the reading calls worked and each memory call was refused with its reason."""
    assert len(answers) == len(ATTEMPTS)
    assert "return a + b" in answers[0]
    assert "return a + b" in answers[1] and "big.txt" in answers[1]
    memory = answers[-MEMORY_CALLS:]
    assert all(REFUSED in answer for answer in memory), memory


def at_prompt(clio: PtySession) -> None:
    """Wait until an empty input line is shown."""
    clio.wait_for(r"[❯>] Ask[^\n]*\n+[^\n❯]* · incognito[^\n]*\Z", regex=True)


def page_of(body: dict[str, Any]) -> Reply:
    """Request a page of the truncated output."""
    handle = re.search(r'read_output\(handle=\\?"([0-9a-f]+)', json.dumps(body["messages"][-1]["content"]))
    assert handle, body["messages"][-1]
    return tool_calls([("read_output", {"handle": handle[1], "offset": 500})])


def test_memory_is_found_without_the_flags(place: Place) -> None:
    """Each of the calls finds it, and project knowledge is in the first request."""
    place.server.add(tool_calls(ATTEMPTS[-5:-1]), text("Found."))
    before = place.look()
    assert place.run("-p", "look").returncode == 0
    assert MARKER in place.sent()[0]
    assert all(MARKER in answer for answer in results(place.server.requests[1])[:3])
    assert place.look() != before


def test_one_shot_leaves_and_reads_nothing(place: Place) -> None:
    place.server.add(
        tool_calls(ATTEMPTS),
        tool_calls([("run_command", {"command": "cat big.txt"})]),
        page_of,
        tool_calls([("memory_operations", {"operation": "recall_messages", "from": "1"})]),
        text("Looked."),
    )
    before = place.look()
    done = place.run("--incognito", "-p", "look around", listen=True)
    assert (done.returncode, done.stdout) == (0, "Looked.\n"), done.stderr
    assert place.look() == before
    assert place.listener.writes == []
    check_answers(results(place.server.requests[1]))
    assert "lines 500-" in results(place.server.requests[3])[0]
    assert "look around" in results(place.server.requests[4])[0]  # of this conversation
    assert not [body for body in place.sent() if MARKER in body or KEPT_APART in body]


def test_one_shot_writes_exactly_the_requested_file(place: Place) -> None:
    place.server.add(tool_calls([("write_file", {"path": "new.txt", "content": "new\n"})]), text("Written."))
    before = place.look()
    done = place.run("--incognito", "--approve", "edits", "-p", "write", listen=True)
    assert (done.returncode, done.stdout) == (0, "Written.\n"), done.stderr
    after = place.look()
    new = str(place.project / "new.txt")
    assert (place.project / "new.txt").read_text(encoding="utf-8") == "new\n"
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    assert changed == {new, str(place.project)}  # the folder's time changes with the new name in it
    assert place.listener.writes
    assert all(new in line for line in place.listener.writes), place.listener.writes


def test_trims_and_overflows_leave_nothing(place: Place) -> None:
    """The progress note and the archive of a trim stay in memory, and the recovery reads no note."""
    (place.project / ".clio" / "memory" / "session_progress.md").write_text(MARKER, encoding="utf-8")
    cat = tool_calls([("run_command", {"command": "cat big.txt"})])
    overflow = error(400, {"error": {"message": "prompt is too long", "code": "context_length_exceeded"}})
    place.server.add(*[tool_calls([("run_command", {"command": f"cat big.txt # {n}"})]) for n in range(6)])
    place.server.add(overflow, overflow, cat, text("Done."))
    before = place.look()
    done = place.run("--incognito", "-p", "read it all", listen=True, CLIO_CONTEXT_WINDOW="20000")
    assert (done.returncode, done.stdout) == (0, "Done.\n"), done.stderr
    assert "thread_summary" in place.sent()[-1]
    assert place.look() == before
    assert place.listener.writes == []
    assert not [body for body in place.sent() if MARKER in body or KEPT_APART in body]


def test_a_failure_leaves_nothing(place: Place) -> None:
    place.server.add(error(401))
    before = place.look()
    assert place.run("--incognito", "-p", "go", listen=True).returncode == 2
    assert place.look() == before
    assert place.listener.writes == []


def test_a_resumed_session_is_not_changed(place: Place) -> None:
    place.server.add(text("Yes."))
    before = place.look()
    done = place.run("--incognito", "-c", "-p", "still there?", listen=True)
    assert (done.returncode, done.stdout) == (0, "Yes.\n"), done.stderr
    assert place.look() == before
    assert place.listener.writes == []
    assert f"The animals are {MARKER}s." in place.sent()[0]  # only the conversation that the user resumed
    assert "project_knowledge" not in place.sent()[0]


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
def test_the_shell_leaves_and_reads_nothing(place: Place) -> None:
    place.server.add(tool_calls(ATTEMPTS), text("Looked around."), text("Twice."))
    before = place.look()
    argv = [sys.executable, "-m", "clio", "--incognito"]
    with PtySession(argv, cwd=place.project, env=place.env(listen=True), columns=120) as clio:
        clio.wait_for("test-model · ask")
        clio.line("look around")
        clio.wait_for("Looked around.")
        clio.wait_for("2 requests")
        at_prompt(clio)
        clio.line("and again")
        clio.wait_for("Twice.")
        clio.wait_for("1 request ")
        at_prompt(clio)
        for command in ("/memory list", "/memory why", "/note list", "/note set k v", "/session search animals"):
            clio.line(command)
            clio.wait_for(rf"[❯>] {command}\s+[A-Z][^❯]*[Ss]tart (clio )?without\s+--incognito", regex=True)
        clio.line("/session new")
        clio.wait_for("earlier ones: /session list")
        at_prompt(clio)
        clio.key("ctrl-d")
        assert clio.wait_exit() == 0, clio.everything
    assert place.look() == before
    assert place.listener.writes == []
    check_answers(results(place.server.requests[1]))
    assert not [body for body in place.sent() if MARKER in body or KEPT_APART in body]


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
def test_the_shell_writes_exactly_the_requested_file(place: Place) -> None:
    """And "always" applies to this session only: no rule is written."""
    write = [("write_file", {"path": "new.txt", "content": "new\n"})]
    place.server.add(tool_calls([*write, ("run_command", {"command": "touch other.txt"})]), text("Written."))
    before = place.look()
    argv = [sys.executable, "-m", "clio", "--incognito"]
    with PtySession(argv, cwd=place.project, env=place.env(listen=True), columns=120) as clio:
        clio.wait_for("test-model · ask")
        clio.line("write")
        clio.wait_for("new.txt")
        clio.wait_for("y yes")
        clio.send("y")
        clio.wait_for("touch other.txt")
        clio.wait_for(r"always[\s\S]*touch|touch[\s\S]*always", regex=True)
        clio.send("a")
        clio.wait_for("Written.")
        clio.wait_for("2 requests")
        at_prompt(clio)
        clio.key("ctrl-d")
        assert clio.wait_exit() == 0, clio.everything
    after = place.look()
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    assert changed == {str(place.project / name) for name in ("new.txt", "other.txt", "")}


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("sessions search animals", 2),
        ("sessions delete 1 --yes", 2),
        ("sessions fork 1", 2),
        ("sessions export 1 out.html", 0),
        ("memory add discovery it is so", 2),
        ("note list", 2),
    ],
)
def test_commands_outside_the_shell_leave_nothing(place: Place, words: str, code: int) -> None:
    before = place.look()
    done = place.run(*words.split(), listen=True, CLIO_INCOGNITO="1")
    assert done.returncode == code, done.stderr
    allowed = [str(place.project / "out.html")] if "out.html" in words else []
    after = place.look()
    assert [path for path in after if path not in before] == allowed
    if not allowed:
        assert after == before
        assert place.listener.writes == []


def test_no_ltm_keeps_project_memory_out_of_requests_and_saves_everything_else(place: Place) -> None:
    learning = [
        ("memory_operations", {"operation": "add_discovery", "fact": "the new fact"}),
        ("memory_operations", {"operation": "store", "key": "fresh", "content": "the new note"}),
    ]
    overflow = error(400, {"error": {"message": "prompt is too long", "code": "context_length_exceeded"}})
    place.server.add(tool_calls(learning), overflow, text("Learned."))
    done = place.run("--no-ltm", "-p", "what of the animals?")
    assert (done.returncode, done.stdout) == (0, "Learned.\n"), done.stderr
    assert len(place.sent()) == 3
    assert not [body for body in place.sent() if MARKER in body or "project_knowledge" in body]

    knowledge = (place.project / ".clio" / "ltm.json").read_text(encoding="utf-8")
    assert MARKER in knowledge and "the new fact" in knowledge
    assert "the new note" in (place.project / ".clio" / "memory" / "fresh.json").read_text(encoding="utf-8")
    assert len(list((place.project / ".clio" / "sessions").glob("*.json"))) == 2

    place.server.requests.clear()
    place.server.add(text("Known."))
    assert place.run("-p", "and now?").returncode == 0
    assert MARKER in place.sent()[0] and "the new fact" in place.sent()[0]


def test_no_ltm_still_finds_memory_on_request(place: Place) -> None:
    place.server.add(tool_calls(ATTEMPTS[-5:-1]), text("Found."))
    assert place.run("--no-ltm", "-p", "look").returncode == 0
    assert MARKER not in place.sent()[0]
    assert all(MARKER in answer for answer in results(place.server.requests[1])[:3])


@pytest.mark.parametrize("ltm", [True, False])
def test_memory_changes_of_another_clio_reach_the_model_unless_no_ltm(make_harness: Any, ltm: bool) -> None:
    harness = make_harness([text("One."), text("Two.")], ltm=ltm)

    async def run_turns() -> None:
        await harness.turn("first")
        other = harness.build()
        other.memory.store.add(
            MemoryDraft(kind="discovery", content=f"the {MARKER} smiles"), Provenance(asserted_by="user")
        )
        await other.close()
        await harness.turn("second")
        await harness.app.close()

    asyncio.run(run_turns())
    sent = [request.raw.decode() for request in harness.server.requests]
    assert [MARKER in body for body in sent] == [False, ltm]
