"""The one door: what enters the prompt, and that incognito leaves everything alone."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clio.errors import ToolFailed
from clio.memory.inject import CHARS_PER_TOKEN, best_first, knowledge_fragment
from clio.memory.records import Entry, Knowledge, Provenance
from clio.memory.system import MemorySystem
from clio.messages import UserMessage
from clio.sessions.store import SessionStore

DAY = 86_400.0


def system(project: Path, *, incognito: bool = False, ltm: bool = True) -> MemorySystem:
    return MemorySystem(project, SessionStore(project / ".clio" / "sessions"), incognito=incognito, ltm=ltm)


def discovery(text: str, confidence: float = 0.9, confirmed: float = 0.0) -> Entry:
    return Entry(kind="discovery", text=text, confidence=confidence, confirmed=confirmed)


def test_the_block_of_the_prompt() -> None:
    knowledge = Knowledge(
        discoveries=(discovery("old", confirmed=DAY), discovery("new", confirmed=2 * DAY)),
        solutions=(Entry(kind="solution", text="denied", solution="chown", times=3),),
        patterns=(Entry(kind="pattern", text="atomic", examples=("a.py",)),),
    )
    fragment = knowledge_fragment(knowledge, "ltm.json")
    assert fragment is not None
    assert fragment.text.split("\n")[1:] == [
        "Discoveries:",
        "- new",
        "- old",
        "Solutions:",
        "- denied → chown [helped 3 times]",
        "Patterns:",
        "- atomic (e.g. a.py)",
    ]
    assert fragment.source == "ltm.json"
    assert fragment.reason == "4 of 4 entries, the newest and most certain"


def test_limits_and_the_closing_line() -> None:
    knowledge = Knowledge(
        discoveries=tuple(discovery(f"fact {number:02}", confirmed=number * DAY) for number in range(40)),
        solutions=tuple(Entry(kind="solution", text=f"error {number}", solution="s") for number in range(20)),
        patterns=tuple(Entry(kind="pattern", text=f"pattern {number}") for number in range(20)),
    )
    fragment = knowledge_fragment(knowledge, "ltm.json")
    assert fragment is not None
    lines = fragment.text.split("\n")
    assert [line for line in lines if line.startswith("- fact")] == [
        f"- fact {number:02}" for number in range(39, 24, -1)
    ]
    assert sum(line.startswith("- error") for line in lines) == 15
    assert sum(line.startswith("- pattern") for line in lines) == 10
    assert lines[-1].startswith("40 more are kept:")


def test_certainty_counts_and_fades_with_age() -> None:
    sure, doubtful, old = (
        discovery("sure", 0.9, 100 * DAY),
        discovery("doubtful", 0.3, 101 * DAY),
        discovery("old", 0.9, 0.0),
    )
    assert best_first([old, doubtful, sure]) == [sure, old, doubtful]
    assert best_first([old, discovery("half", 0.5, 100 * DAY)])[0].text == "half"


entries = st.builds(
    Entry,
    kind=st.just("discovery"),
    text=st.text(min_size=1, max_size=700),
    confidence=st.floats(0, 1),
    confirmed=st.floats(0, 2e9),
)


@settings(max_examples=60)
@given(st.lists(entries, max_size=40), st.integers(60, 2000))
def test_the_cap_holds_and_every_entry_is_accounted_for(found: list[Entry], cap_tokens: int) -> None:
    knowledge = Knowledge(discoveries=tuple(found))
    fragment = knowledge_fragment(knowledge, "ltm.json", cap_tokens)
    assert fragment == knowledge_fragment(knowledge, "ltm.json", cap_tokens)
    if fragment is None:
        return
    lines = fragment.text.split("\n")
    shown = sum(line.startswith("- ") for line in lines)
    left = int(lines[-1].split()[0]) if "more are kept" in lines[-1] else 0
    assert len(fragment.text) <= cap_tokens * CHARS_PER_TOKEN
    assert shown + left == len(found)


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
