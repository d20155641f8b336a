"""The one door: what enters the prompt, and that incognito leaves everything alone."""

from pathlib import Path

import pytest

from clio.errors import ToolFailed
from clio.memory.records import Provenance
from clio.memory.system import MemorySystem
from clio.messages import UserMessage
from clio.sessions.store import SessionStore


def system(project: Path, *, incognito: bool = False, ltm: bool = True) -> MemorySystem:
    return MemorySystem(project, SessionStore(project / ".clio" / "sessions"), incognito=incognito, ltm=ltm)


def test_nothing_known_is_no_fragment(tmp_path: Path) -> None:
    assert system(tmp_path).prefix_fragments() == []


def test_what_is_learned_is_in_the_next_sessions_prompt(tmp_path: Path) -> None:
    assert system(tmp_path).add_discovery("tests run with pytest -q", 0.9, Provenance(asserted_by="user"))
    (fragment,) = system(tmp_path).prefix_fragments()
    assert "- tests run with pytest -q" in fragment.text
    assert fragment.source == str(tmp_path / ".clio" / "ltm.json")


def test_without_ltm_only_the_prompt_goes_without(tmp_path: Path) -> None:
    memory = system(tmp_path, ltm=False)
    assert memory.add_discovery("a zebra", 0.9, Provenance())
    assert memory.prefix_fragments() == []
    assert [hit.text for hit in memory.search("zebra")] == ["a zebra"]


def test_incognito_reads_nothing_and_writes_nothing(tmp_path: Path) -> None:
    open_memory = system(tmp_path)
    open_memory.add_discovery("a zebra", 0.9, Provenance())
    open_memory.store_note("k", "zebra")
    session = SessionStore(tmp_path / ".clio" / "sessions").new(tmp_path)
    session.append(UserMessage(content="zebra"))
    session.close()
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in tmp_path.rglob("*") if path.is_file()}
    memory = system(tmp_path, incognito=True)
    assert memory.prefix_fragments() == []
    for attempt in (
        lambda: memory.store_note("new", "x"),
        lambda: memory.retrieve_note("k"),
        memory.list_notes,
        lambda: memory.delete_note("k"),
        memory.knowledge,
        lambda: memory.add_discovery("f", 0.9, Provenance()),
        lambda: memory.add_solution("e", "s", (), Provenance()),
        lambda: memory.add_pattern("p", 0.9, (), Provenance()),
        lambda: memory.search("zebra"),
        lambda: memory.recall_sessions("zebra"),
    ):
        with pytest.raises(ToolFailed, match="incognito"):
            attempt()
    after = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in tmp_path.rglob("*") if path.is_file()}
    assert after == before


def test_secrets_are_redacted_before_they_are_stored(tmp_path: Path) -> None:
    store = SessionStore(tmp_path / ".clio" / "sessions")
    memory = MemorySystem(
        tmp_path, store, incognito=False, ltm=True, redact=lambda text: text.replace("hunter2", "[REDACTED]")
    )
    memory.store_note("key hunter2", "hunter2")
    memory.add_discovery("is hunter2", 0.5, Provenance())
    memory.add_solution("hunter2", "no hunter2", ("hunter2",), Provenance())
    memory.add_pattern("hunter2", 0.5, ("hunter2",), Provenance())
    files = [path for path in (tmp_path / ".clio").rglob("*.json") if path.is_file()]
    assert len(files) == 2
    assert [path for path in files if b"hunter2" in path.read_bytes()] == []
