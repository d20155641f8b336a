"""A later statement replaces an entry that it contradicts, in project knowledge too, and this can be undone."""

from typing import Any

import pytest
from msgspec import structs

from clio.memory.store.change_log import LOG_NAME, ChangeLog
from clio.memory.store.deduplication import SAME_TIME_S, find_outdated
from clio.memory.store.ltm_store import LongTermMemory
from clio.memory.store.record import AssertedBy, MemoryDraft, MemoryRecord, Provenance
from clio.memory.store.typed_store import TypedStore
from tests.memory.consolidation.consolidation_support import DAY, NOW, Place


def entry(id: str, text: str, day: float, by: AssertedBy = "user", **fields: Any) -> MemoryRecord:
    at = NOW + day * DAY
    made = MemoryRecord(
        kind="rule", id=id, content=text, created=at, updated=at, provenance=Provenance(asserted_by=by), confidence=0.8
    )
    return structs.replace(made, **fields)


USER = Provenance(asserted_by="user")
OLD = entry("r-1", "releases must always be signed with key-1", 0)
NEW = entry("r-2", "releases must always be signed with key-2", 9)


def test_a_later_contradicting_statement_replaces_the_entry() -> None:
    assert find_outdated((OLD, NEW)) == {"r-1": "r-2"}


def test_of_several_the_newest_replaces_all() -> None:
    newest = entry("r-3", "releases must always be signed with key-3", 20)
    assert find_outdated((OLD, NEW, newest)) == {"r-1": "r-3", "r-2": "r-3"}


@pytest.mark.parametrize(
    "new",
    [
        entry("r-2", "images must always be built with key-2", 9),
        entry("r-2", NEW.content, SAME_TIME_S / DAY / 2),
        entry("r-2", NEW.content, 9, "model"),
        entry("r-2", NEW.content, 9, context="lib/core/"),
        entry("r-2", NEW.content, 9, kind="discovery"),
    ],
    ids=["about something else", "in one sitting", "by one trusted less", "for another place", "of another kind"],
)
def test_both_are_kept_if_neither_clearly_replaces_the_other(new: MemoryRecord) -> None:
    assert find_outdated((OLD, new)) == {}


def test_a_statement_repeated_after_the_other_is_kept() -> None:
    again = entry("r-1", OLD.content, 0, updated=NOW + 10 * DAY)
    assert find_outdated((again, NEW)) == {}


def test_statements_about_different_files_are_both_kept() -> None:
    one = entry("d-1", "the limit is 3", 0, kind="discovery", examples=("a.py",))
    assert find_outdated((one, entry("d-2", "the limit is 4", 9, kind="discovery", examples=("b.py",)))) == {}
    assert find_outdated((one, entry("d-2", "the limit is 4", 9, kind="discovery", examples=("a.py",)))) == {
        "d-1": "d-2"
    }


def knowledge(place: Place) -> LongTermMemory:
    return LongTermMemory(place.project / ".clio" / "ltm.json", project=place.project, clock=lambda: place.now)


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    place = Place(tmp_path_factory.mktemp("place"))
    for text in (OLD.content, NEW.content):
        knowledge(place).add(MemoryDraft(kind="rule", content=text), USER)
        place.now += DAY
    return place


def test_consolidation_archives_it_once_and_names_its_replacement(place: Place) -> None:
    old, new = knowledge(place).read().entries
    report = place.sleep()
    assert report.superseded == 1
    assert any("key-1" in line and "replaced by" in line and "key-2" in line for line in report.changes)
    assert [one.content for one in knowledge(place).read().entries] == [NEW.content]
    [archived] = knowledge(place).archived()
    assert (archived.id, archived.superseded_by) == (old.id, new.id)
    [ended] = [one for one in knowledge(place).versions() if one.is_final]
    assert (ended.record.id, ended.because) == (old.id, "superseded")
    assert place.sleep().superseded == 0


def test_undo_restores_it_unchanged(place: Place) -> None:
    before = knowledge(place).read()
    knowledge(place).supersede({before.entries[0].id: before.entries[1].id})
    change = ChangeLog(place.project / ".clio" / LOG_NAME).undoable()[-1]
    assert "replaced the rule" in change.what
    knowledge(place).revert(change)
    assert knowledge(place).read() == before
    assert knowledge(place).archived() == ()


def test_a_repeated_statement_replaces_its_replacement(place: Place) -> None:
    place.sleep()
    place.now += DAY
    again = knowledge(place).add(MemoryDraft(kind="rule", content=OLD.content), USER)
    assert again.action == "restored" and again.record.superseded_by is None
    place.now += DAY
    place.sleep()
    assert [one.content for one in knowledge(place).read().entries] == [OLD.content]


def test_a_fact_saved_later_replaces_a_rule(place: Place) -> None:
    memories = TypedStore(place.project / ".clio" / "memories.json", clock=lambda: place.now)
    fact = memories.remember("releases must always be signed with key-3", "fact", provenance=USER).record
    assert place.sleep().superseded == 2
    assert knowledge(place).read().entries == ()
    assert {one.superseded_by for one in knowledge(place).archived()} == {fact.id}
    assert [record.id for record in memories.records()] == [fact.id]


def test_a_forgotten_entry_stays_forgotten_and_is_no_replacement(place: Place) -> None:
    before = knowledge(place).read()
    one, other = (entry.id for entry in before.entries)
    assert knowledge(place).supersede({"r-none": one}) == ()
    assert knowledge(place).supersede({one: other, other: one}) == ()
    assert knowledge(place).read() == before
