"""The interface of memory: what a request contains, what can be undone, and that incognito changes nothing."""

from pathlib import Path

import pytest

from clio.errors import ToolFailed, UserError
from clio.memory.store.record import PROJECT_KINDS, TYPED_KINDS, MemoryDraft, Provenance
from clio.memory.system import MemorySystem
from clio.messages import UserMessage
from clio.sessions.store import SessionStore

SOMEBODY = Provenance(session="s", message="m", asserted_by="user")


def system(project: Path, *, incognito: bool = False, ltm: bool = True, secret: str = "") -> MemorySystem:
    def redact(text: str) -> str:
        return text.replace(secret, "[REDACTED]") if secret else text

    store = SessionStore(project / ".clio" / "sessions")
    return MemorySystem(project, store, incognito=incognito, ltm=ltm, redact=redact)


def fact(text: str) -> MemoryDraft:
    return MemoryDraft(kind="discovery", content=text, confidence=0.9)


def everything_below(folder: Path) -> dict[Path, tuple[bytes, int]]:
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}


def test_an_empty_memory_gives_no_fragment(tmp_path: Path) -> None:
    assert system(tmp_path).prefix_fragments() == []


def test_a_saved_memory_is_in_the_prompt_of_the_next_session(tmp_path: Path) -> None:
    assert system(tmp_path).store.add(fact("tests run with pytest -q"), SOMEBODY).is_new
    (fragment,) = system(tmp_path).prefix_fragments()
    assert "- tests run with pytest -q" in fragment.text
    assert fragment.source == str(tmp_path / ".clio" / "ltm.json")


def test_a_secret_that_another_program_wrote_into_a_memory_file_is_not_sent(tmp_path: Path) -> None:
    memory = system(tmp_path)
    memory.store.add(fact("staging is reached with the token h7Kq29x"), SOMEBODY)
    memory.store.user.remember("never print the token h7Kq29x", "preference", score=0.5, provenance=SOMEBODY)
    reader = system(tmp_path, secret="h7Kq29x")
    reader.begin(window_tokens=32_768, session=None)
    for fragments in (reader.prefix_fragments(), reader.begin_subagent(32_768).prefix_fragments(3_000, 3.0)):
        assert [fragment.name for fragment in fragments] == ["hard_limits", "project_knowledge"]
        assert all("the token [REDACTED]" in one.text and "h7Kq29x" not in one.text for one in fragments)


def test_a_memory_saved_after_the_prompt_is_sent_once_and_again_after_a_trim(tmp_path: Path) -> None:
    memory, elsewhere = system(tmp_path), system(tmp_path)
    memory.store.add(fact("the first fact"), SOMEBODY)
    memory.prefix_fragments()
    assert memory.turn_fragments("hello") == []
    elsewhere.store.add(fact("the second fact"), SOMEBODY)
    (changes,) = memory.turn_fragments("hello")
    assert "the second fact" in changes.text and "the first fact" not in changes.text
    assert memory.turn_fragments("hello") == []
    memory.repeat_after_trim()
    assert [fragment.text for fragment in memory.turn_fragments("hello")] == [changes.text]


def test_why_lists_what_the_prompt_and_the_turn_contain(tmp_path: Path) -> None:
    memory = system(tmp_path)
    memory.store.add(fact("the first fact"), SOMEBODY)
    memory.prefix_fragments()
    memory.store.add(fact("the second fact"), SOMEBODY)
    memory.turn_fragments("hello")
    contents = [item.entry.content for part in memory.why() for item in part.items]
    assert contents == ["the first fact", "the second fact"]


def test_with_ltm_off_only_requests_omit_project_memory(tmp_path: Path) -> None:
    memory = system(tmp_path, ltm=False)
    assert memory.store.add(fact("a zebra"), SOMEBODY).is_new
    assert memory.prefix_fragments() == memory.turn_fragments("zebra") == []
    assert memory.why() == ()
    assert [hit.text for hit in memory.search("zebra")] == ["a zebra"]


def test_undo_reverts_entries_and_notes_in_order(tmp_path: Path) -> None:
    memory = system(tmp_path)
    memory.store.add(MemoryDraft(key="plan", content="first"))
    memory.store.add(MemoryDraft(key="plan", content="second"))
    memory.store.add(fact("a zebra"), SOMEBODY)
    memory.store.forget("plan")
    assert "deleted the note 'plan'" in memory.undo()
    note = memory.store.get_note("plan")
    assert note is not None and note.content == "second"
    assert "a zebra" in memory.undo()
    assert memory.store.records(PROJECT_KINDS) == ()
    assert "replaced the note" in memory.undo()
    note = memory.store.get_note("plan")
    assert note is not None and note.content == "first"
    assert "stored the note" in memory.undo()
    assert memory.store.notes() == ()
    with pytest.raises(UserError, match="nothing to undo"):
        memory.undo()


def test_memories_of_all_kinds_and_scopes_forgotten_together_are_restored_together(tmp_path: Path) -> None:
    memory = system(tmp_path)
    entry = memory.store.add(fact("a zebra"), SOMEBODY).record
    note = memory.store.add(MemoryDraft(content="the gate is blue", kind="note")).record
    liking = memory.store.add(MemoryDraft(content="short commit messages", kind="preference")).record
    memory.store.forget(entry.id, note.id, liking.id)
    assert (memory.store.records(PROJECT_KINDS), memory.store.records(TYPED_KINDS)) == ((), ())
    assert "forgot 3 memories" in memory.undo()
    assert [one.content for one in memory.store.records(PROJECT_KINDS)] == ["a zebra"]
    assert {one.content for one in memory.store.records(TYPED_KINDS)} == {"the gate is blue", "short commit messages"}


def test_a_later_change_is_not_undone_and_does_not_block_earlier_ones(tmp_path: Path) -> None:
    memory = system(tmp_path)
    memory.store.add(fact("a zebra"), SOMEBODY)
    memory.store.add(MemoryDraft(key="plan", content="mine"))
    (tmp_path / ".clio" / "memory" / "plan.json").write_text(
        '{"key": "plan", "content": "theirs", "timestamp": 1}', encoding="utf-8"
    )
    with pytest.raises(UserError, match="has been changed since"):
        memory.undo()
    note = memory.store.get_note("plan")
    assert note is not None and note.content == "theirs"
    assert "a zebra" in memory.undo()


def test_incognito_reads_and_writes_nothing(tmp_path: Path) -> None:
    open_memory = system(tmp_path)
    open_memory.store.add(fact("a zebra"), SOMEBODY)
    open_memory.store.add(MemoryDraft(key="k", content="zebra"))
    session = SessionStore(tmp_path / ".clio" / "sessions").new(tmp_path)
    session.append(UserMessage(content="zebra"))
    session.close()
    before = everything_below(tmp_path)
    memory = system(tmp_path, incognito=True)
    assert memory.prefix_fragments() == memory.turn_fragments("zebra") == []
    for attempt in (
        lambda: memory.store.add(MemoryDraft(key="new", content="x")),
        lambda: memory.store.get_note("k"),
        lambda: memory.store.notes(),
        lambda: memory.store.forget("k"),
        lambda: memory.store.records(),
        lambda: memory.store.get("d-"),
        lambda: memory.store.freshness([]),
        lambda: memory.store.add(fact("f"), SOMEBODY),
        lambda: memory.store.update("d-1", content="x"),
        lambda: memory.store.forget("d-1"),
        lambda: memory.store.prune(dry_run=True),
        lambda: memory.store.stats(),
        lambda: memory.store.archived(),
        lambda: memory.store.history("d-1"),
        lambda: memory.store.restore("d-1"),
        lambda: memory.search("zebra"),
        lambda: memory.recall_sessions("zebra"),
        memory.undo,
    ):
        with pytest.raises(ToolFailed, match="incognito"):
            attempt()
    assert memory.refresh_index() == 0
    memory.write_progress("a page")
    assert memory.read_progress() == ""
    assert everything_below(tmp_path) == before


def test_secrets_are_redacted_before_they_are_stored(tmp_path: Path) -> None:
    memory = system(tmp_path, secret="hunter2")
    memory.store.add(MemoryDraft(key="key hunter2", content="hunter2"))
    memory.store.forget("key hunter2")
    added = memory.store.add(fact("hunter2 opens the staging host until the next rotation in May"), SOMEBODY).record
    memory.store.add(
        MemoryDraft(kind="solution", content="login fails with hunter2", solution="no hunter2", examples=("hunter2",)),
        SOMEBODY,
    )
    memory.store.add(MemoryDraft(kind="workflow", content="", steps=("say hunter2", "stop")), SOMEBODY)
    memory.store.update(added.id, content="hunter2 opened the staging host until the last rotation in May")
    files = [path for path in (tmp_path / ".clio").rglob("*") if path.is_file()]
    assert {"ltm.json", "memory.log.jsonl"} <= {path.name for path in files}
    assert [path for path in files if b"hunter2" in path.read_bytes()] == []


def test_a_store_that_cannot_be_read_does_not_affect_the_others(tmp_path: Path) -> None:
    memory = system(tmp_path)
    memory.preferences.add("never push on Fridays", score=0.5, explicit=True)
    memory.store.add(MemoryDraft(content="the gate code is blue", kind="fact"))
    memory.begin(window_tokens=32_000, session=None)
    (tmp_path / ".clio" / "ltm.json").write_text('{"metadata": {"version": "9.0"}}', encoding="utf-8")
    assert [fragment.name for fragment in memory.prefix_fragments()] == ["hard_limits"]
    [sentence] = memory.pop_notices()
    assert sentence.startswith("project memory is left out: ") and "update clio" in sentence
    assert "gate code" in memory.turn_fragments("what is the gate code?")[-1].text
    assert memory.pop_notices() == []


def test_a_corrupt_file_moved_aside_is_named_and_the_rest_is_in_the_prompt(tmp_path: Path) -> None:
    system(tmp_path).store.add(fact("tests run with pytest -q"), SOMEBODY)
    (tmp_path / ".clio" / "memories.json").write_text("{ torn", encoding="utf-8")
    memory = system(tmp_path)
    memory.begin(window_tokens=32_000, session=None)
    assert [fragment.name for fragment in memory.prefix_fragments()] == ["project_knowledge"]
    [sentence] = memory.pop_notices()
    assert "memories.json.corrupt-" in sentence
