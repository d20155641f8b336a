"""A project of the Perl original: clio opens its files, continues with them, and loses nothing."""

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clio.config.layers import load_config
from clio.config.options import Options
from clio.config.trust import trust_project
from clio.export.export_session import export_session
from clio.messages import UserMessage
from clio.sessions.store import SessionStore
from tests.support.chat_server import ChatServer, Reply, text, tool_calls
from tests.support.harness import Harness, make_repository
from tests.support.perl_tree import BARE, LONG, NAMED, OUTPUT, TRIMMED, TWICE, lay_out_perl_tree
from tests.turns.test_oneshot import clio
from tests.turns.traces import snapshot

MEMORY = "memory_operations"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    make_repository(tmp_path / "project", {"app.py": "print('hi')\n"})
    lay_out_perl_tree(tmp_path / "project" / ".clio")
    # Files of the original count as the user's own once the user trusts the project.
    home = tmp_path / "home"
    trust_project(load_config(Options(cwd=tmp_path / "project"), {"HOME": str(home), "CLIO_HOME": str(home)}))
    return tmp_path / "project"


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as server:
        yield server


def store_of(project: Path) -> SessionStore:
    return SessionStore(project / ".clio" / "sessions")


def turn(project: Path, server: ChatServer, asked: str, session: str | None = None) -> str:
    """Run one turn of a new clio in this process; return its answer."""

    async def go(harness: Harness) -> str:
        if session:
            harness.app.open_session(session)
        finished = await harness.turn(asked)
        await harness.app.close()
        assert finished.status == "done"
        return harness.shown

    return asyncio.run(go(Harness(project, project.parent / "home", server)))


def words(request: Any, role: str = "user") -> list[str]:
    """Return the texts of a request's messages of one role."""
    return [message["content"] for message in request.body["messages"] if message["role"] == role]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("asked_for", "session", "statement"),
    [
        (LONG, LONG, "not JSON – naïve parsers fail"),
        (TWICE[:8], TWICE, "A second session – with ünïcödé text"),
        ("demo project", NAMED, "Hello – naïve façade"),
        (BARE, BARE, "go on"),
        (TRIMMED, TRIMMED, "request 30:"),
    ],
)
def test_each_session_is_continued_with_a_real_turn(
    project: Path, server: ChatServer, asked_for: str, session: str, statement: str
) -> None:
    before = (project / ".clio" / "sessions" / f"{session}.json").read_bytes()
    server.add(tool_calls([("read_file", {"path": "app.py"})]), text("Went on."))
    done = clio(project, "-r", asked_for, "-p", "go on", server=server)
    assert (done.returncode, done.stdout) == (0, "Went on.\n"), done.stderr
    assert any(statement in content for content in words(server.requests[0]))
    assert [message["role"] for message in server.requests[0].body["messages"]].count("system") == 1
    assert words(server.requests[1], "tool")[-1].count("print('hi')") == 1
    # Each call has its result, otherwise servers refuse the request.
    calls = [call["id"] for message in server.requests[1].body["messages"] for call in message.get("tool_calls", [])]
    answers = [message["tool_call_id"] for message in server.requests[1].body["messages"] if message["role"] == "tool"]
    assert sorted(calls) == sorted(answers)

    sessions = project / ".clio" / "sessions"
    assert (sessions / f"{session}.json.original").read_bytes() == before
    assert [message.content for message in store_of(project).read(session)][-1] == "Went on."


def test_files_that_clio_does_not_use_are_unchanged(project: Path, server: ChatServer) -> None:
    untouched = [project / ".clio" / "vault", project / ".clio" / "sessions" / "EXAMPLE.lock"]
    before = snapshot(*untouched)
    for session in (LONG, TRIMMED):
        server.add(text("Yes."))
        assert turn(project, server, "go on", session) == "Yes."
    assert snapshot(*untouched) == before


def test_a_complete_output_can_be_read(project: Path, server: ChatServer) -> None:
    handles: list[str] = []

    def ask(body: dict[str, Any]) -> Reply:
        found = [
            match
            for message in body["messages"]
            if message["role"] == "tool"
            for match in re.findall(r'read_output\(handle="([0-9a-f]+)", offset=(\d+)\)', message["content"])
        ]
        handles.extend(handle for handle, _ in found)
        return tool_calls(
            [
                ("read_output", {"handle": found[0][0], "offset": int(found[0][1])}),
                ("read_output", {"handle": found[0][0], "offset": 4_990}),
            ]
        )

    server.add(ask, text("Read."))
    assert turn(project, server, "what was at the end of big.log?", LONG) == "Read."
    pages = words(server.requests[1], "tool")[-2:]
    assert "log line 700\n" in pages[0]
    assert pages[1].rstrip().endswith("log line 5000")
    blobs = list((project / ".clio" / "sessions" / LONG / "blobs").iterdir())
    assert [path.read_text(encoding="utf-8") for path in blobs] == [OUTPUT]
    assert blobs[0].name.startswith(handles[0])


def read_what_was_found(body: dict[str, Any]) -> Reply:
    """Return a call that reads the message offered by the last search, with its arguments."""
    offer = re.search(r'session="([^"]+)", from="([^"]+)"', body["messages"][-1]["content"])
    assert offer
    where = {"session": offer[1], "from": offer[2]}
    return tool_calls([(MEMORY, {"operation": "recall_messages", **where})])


def test_search_and_export_include_complete_outputs(project: Path, server: ChatServer) -> None:
    before = snapshot(project / ".clio" / "sessions")
    page = export_session(store_of(project), LONG, "md", redact=lambda text: text, now=1.0)
    assert "log line 4321\n" in page
    assert "données 漢字 ✓" in page
    assert snapshot(project / ".clio" / "sessions") == before
    server.add(
        tool_calls([(MEMORY, {"operation": "recall_sessions", "query": 'in:output "log line 4321"'})]),
        read_what_was_found,
        text("Yes."),
    )
    assert turn(project, server, "where was that line?")
    found, read = words(server.requests[2], "tool")
    assert "log line 4321" in found
    assert read.startswith("[earlier messages, word for word") and "log line 620" in read


def test_the_todo_list_is_continued(project: Path, server: ChatServer) -> None:
    update = {"operation": "update", "todos": [{"id": 2, "status": "completed"}]}
    server.add(tool_calls([("todo_operations", update)]), text("Done."))
    assert turn(project, server, "the bug is fixed", LONG) == "Done."
    todos = store_of(project).open(LONG, persist=False).todos
    assert [(todo.title, todo.status) for todo in todos] == [
        ("Read code", "completed"),
        ("Fix bug", "completed"),
        ("Test", "pending"),
    ]


def test_knowledge_notes_and_archives_are_found_in_a_new_session(project: Path, server: ChatServer) -> None:
    """Trimmed messages of a session are found in its archive."""
    trimmed = store_of(project).read(TRIMMED)
    asked = next(m for m in trimmed if isinstance(m, UserMessage) and m.content.startswith("request 15:"))
    archived_words = " ".join(asked.content.split()[2:9])
    server.add(
        tool_calls(
            [
                (MEMORY, {"operation": "retrieve", "key": "auth_bug_analysis"}),
                (MEMORY, {"operation": "retrieve", "key": "plain"}),
                (MEMORY, {"operation": "recall_sessions", "query": archived_words}),
                (MEMORY, {"operation": "recall_sessions", "query": "ünïcödé"}),
            ]
        ),
        text("Known."),
    )
    assert turn(project, server, "what do we know?") == "Known."
    system = words(server.requests[0], "system")[0]
    for fact in ("All file writes use atomic temp+rename", "not JSON – naïve parsers fail", "permission denied"):
        assert fact in system
    notes, plain, archived, repaired = words(server.requests[1], "tool")
    assert "données 漢字" in notes
    assert "ascii only" in plain
    assert f'session="{TRIMMED[-8:]}"' in archived and " ".join(archived_words.split()[:3]) in archived
    assert f'session="{TWICE[-8:]}"' in repaired


def test_knowledge_of_all_kinds_is_read_and_kept(project: Path, server: ChatServer) -> None:
    folder = project / ".clio"
    (folder / "ltm_all_types.json").replace(folder / "ltm.json")
    before = json.loads((folder / "ltm.json").read_text(encoding="utf-8"))["patterns"]
    add = (MEMORY, {"operation": "add_discovery", "fact": "clio reads it too"})
    search = [(MEMORY, {"operation": "search", "query": query}) for query in ("naïve YAML", "err", "atomic")]
    server.add(tool_calls([add, *search]), text("Yes."))
    assert turn(project, server, "look") == "Yes."
    found = words(server.requests[1], "tool")
    assert "Config is YAML – naïve" in found[1]
    assert "fix Y" in found[2]
    assert "atomic writes" in found[3]
    after = json.loads((folder / "ltm.json").read_text(encoding="utf-8"))["patterns"]
    assert [entry["fact"] for entry in after["discoveries"]][-1] == "clio reads it too"
    for kind in ("workflows", "failures", "context_rules", "problem_solutions", "code_patterns"):
        assert after[kind] == before[kind]


def test_a_note_is_repaired_on_disk_only_by_the_next_store(project: Path, server: ChatServer) -> None:
    path = project / ".clio" / "memory" / "auth_bug_analysis.json"
    before = path.read_bytes()
    server.add(tool_calls([(MEMORY, {"operation": "retrieve", "key": "auth_bug_analysis"})]), text("Yes."))
    assert turn(project, server, "look")
    assert path.read_bytes() == before
    content = words(server.requests[1], "tool")[0]
    store = (MEMORY, {"operation": "store", "key": "auth_bug_analysis", "content": "Root cause: données 漢字"})
    server.add(tool_calls([store]), text("Stored."))
    assert turn(project, server, "store")
    assert "données 漢字" in content
    assert json.loads(path.read_text(encoding="utf-8"))["content"] == "Root cause: données 漢字"
    assert sorted(found.name for found in path.parent.glob("*.json")) == ["auth_bug_analysis.json", "plain.json"]
