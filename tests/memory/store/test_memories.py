"""Both scopes behind one interface."""

from pathlib import Path

import pytest
from msgspec import structs

from clio.errors import UserError
from clio.memory.store.change_log import ScopeLogs
from clio.memory.store.memory_store import MemoryStore
from clio.memory.store.record import AssertedBy, Kind, MemoryDraft, MemoryRecord, Provenance, redact_record


def make(folder: Path) -> MemoryStore:
    return MemoryStore(
        folder / "project" / ".clio",
        folder / "home",
        logs=ScopeLogs(folder / "project" / ".clio", folder / "home"),
        redact=str,
    )


def test_an_id_that_exists_in_both_scopes_is_refused(tmp_path: Path) -> None:
    memories = make(tmp_path)
    one = memories.add(MemoryDraft(content="the api listens on 8080", kind="fact")).record
    twin = structs.replace(one, id=one.id[:-4] + "ffff", content="tabs are four wide")
    memories.user.put("remembered", (twin,))

    with pytest.raises(UserError, match="2 memories have an id that begins with"):
        memories.get(one.id[:12])

    assert memories.get(one.id).content == one.content
    assert memories.get(twin.id).content == twin.content
    with pytest.raises(UserError, match="there is no memory"):
        memories.get("ffff0000")


@pytest.mark.parametrize(("first", "second"), [("fact", "discovery"), ("discovery", "fact")])
def test_the_same_sentence_is_one_memory_whichever_kind_of_fact_it_is(
    tmp_path: Path, first: Kind, second: Kind
) -> None:
    memories = make(tmp_path)
    one = memories.add(MemoryDraft(content="we deploy with make ship", kind=first), said_by("user", "s1")).record
    again = memories.add(MemoryDraft(content="We deploy with make ship.", kind=second), said_by("user", "s2"))
    assert (again.is_new, again.record.id, again.record.kind) == (False, one.id, first)
    assert again.record.is_corroborated, "two sessions stated it"
    assert [record.id for record in memories.records()] == [one.id]


def test_a_fact_of_the_user_is_kept_next_to_one_of_the_project(tmp_path: Path) -> None:
    memories = make(tmp_path)
    memories.add(MemoryDraft(content="we deploy with make ship", kind="discovery"))
    memories.add(MemoryDraft(content="we deploy with make ship", kind="fact"), scope="user")
    assert len(memories.records()) == 2


def test_a_memory_the_model_saves_after_clio_in_the_same_session_changes_nothing(tmp_path: Path) -> None:
    memories = make(tmp_path)
    by_user = said_by("user", "s1")
    one = memories.add(MemoryDraft(content="we deploy with make ship", kind="fact", explicit=True), by_user).record
    again = memories.add(MemoryDraft(content="we deploy with make ship", kind="discovery"), by_user)
    assert again.is_repetition and again.record == one
    assert "remembered" in memories.undo(), "one undo removes the saved memory"
    assert memories.records() == ()


def said_by(author: AssertedBy, session: str) -> Provenance:
    return Provenance(session=session, asserted_by=author)


def test_every_text_of_a_memory_is_redacted() -> None:
    """As when project memory is copied to PostgreSQL: the secret may be in the solution, not in the error."""
    texts = {"solution": "export KEY=hush", "impact": "hush leaked", "reason": "hush", "context": "hush/"}
    lists = dict.fromkeys(("also", "steps", "examples", "keywords", "scenarios"), ("one", "hush"))
    record = MemoryRecord(
        id="s-1", kind="solution", content="hush is missing", hashes={"a.py": "hush"}, **texts, **lists
    )
    clean = redact_record(record, lambda text: text.replace("hush", "[secret]"))
    assert "hush" not in str(structs.replace(clean, hashes={}))
    assert clean.hashes == record.hashes
    assert redact_record(clean, lambda text: text.replace("hush", "[secret]")) is clean
