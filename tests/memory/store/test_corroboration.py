"""A memory stated in two sessions, or by two members of a team, is corroborated."""

from pathlib import Path

import msgspec

from clio.memory.store.record import MAX_CONFIRMATIONS, AssertedBy, MemoryDraft, MemoryRecord, Provenance
from clio.memory.store.typed_store import TypedStore
from tests.memory.store.ltm_support import ltm, read_json

FACT = "staging listens on port 5433"


def said_in(session: str, by: AssertedBy = "user") -> Provenance:
    return Provenance(session=session, message=f"m-{session}", asserted_by=by)


def remember(store: TypedStore, session: str, by: AssertedBy = "user", content: str = FACT) -> MemoryRecord:
    return store.remember(content, "fact", provenance=said_in(session, by)).record


def test_a_fact_stated_in_two_sessions_is_corroborated_and_saved_so(tmp_path: Path) -> None:
    store = TypedStore(tmp_path / "memories.json")
    assert not remember(store, "one").is_corroborated
    assert not remember(store, "one").is_corroborated
    assert remember(store, "two", "model").is_corroborated
    [again] = TypedStore(tmp_path / "memories.json").records()
    assert again.is_corroborated
    assert [one.session for one in again.confirmations] == ["two"]


def test_a_statement_of_a_tool_corroborates_nothing(tmp_path: Path) -> None:
    store = TypedStore(tmp_path / "memories.json")
    remember(store, "one", "tool")
    assert not remember(store, "two", "tool").is_corroborated
    assert not remember(store, "three", "model").is_corroborated
    assert remember(store, "four", "model").is_corroborated


def test_a_changed_text_must_be_stated_again(tmp_path: Path) -> None:
    store = TypedStore(tmp_path / "memories.json")
    remember(store, "one")
    known = remember(store, "two")
    assert store.update(known.id, importance=0.9).is_corroborated
    assert not store.update(known.id, content="staging listens on port 6000").is_corroborated


def test_the_number_of_saved_sessions_is_limited(tmp_path: Path) -> None:
    store = TypedStore(tmp_path / "memories.json")
    for number in range(MAX_CONFIRMATIONS + 5):
        record = remember(store, f"session {number}")
    assert len(record.confirmations) == MAX_CONFIRMATIONS


def test_project_knowledge_stated_in_two_sessions_is_corroborated(tmp_path: Path) -> None:
    path = tmp_path / ".clio" / "ltm.json"
    draft = MemoryDraft(kind="discovery", content=FACT)
    assert not ltm(path).add(draft, said_in("one")).record.is_corroborated
    added = ltm(path).add(draft, said_in("two", "model")).record
    assert added.is_corroborated and ltm(path).find(added.id).is_corroborated
    [raw] = read_json(path)["patterns"]["discoveries"]
    assert raw["confirmations"] == [msgspec.to_builtins(said_in("two", "model"))]
    assert not ltm(path).update(added.id, content="staging listens on port 6000").is_corroborated


def test_a_forgotten_entry_stated_again_begins_without_confirmations(tmp_path: Path) -> None:
    path = tmp_path / ".clio" / "ltm.json"
    draft = MemoryDraft(kind="discovery", content=FACT)
    ltm(path).add(draft, said_in("one"))
    added = ltm(path).add(draft, said_in("two")).record
    ltm(path).forget([added.id])
    back = ltm(path).add(draft, said_in("three"))
    assert (back.action, back.record.is_corroborated) == ("restored", False)


def test_an_import_does_not_count_as_sessions(tmp_path: Path) -> None:
    path, other = tmp_path / ".clio" / "ltm.json", tmp_path / "other" / ".clio" / "ltm.json"
    draft = MemoryDraft(kind="discovery", content=FACT)
    ltm(path).add(draft, said_in("one"))
    ltm(path).add(draft, said_in("two"))
    ltm(other).import_(ltm(path).export(), said_in("import"))
    [entry] = ltm(other).read().entries
    assert not entry.is_corroborated


def test_two_members_of_a_team_corroborate() -> None:
    alone = MemoryRecord(id="d-1", kind="discovery", content=FACT, by="Ann", members=1)
    assert not alone.is_corroborated
    assert msgspec.structs.replace(alone, by="Ann, Bob", members=2).is_corroborated
