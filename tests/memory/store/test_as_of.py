"""What was known at an earlier time, with the text of that time, whatever has changed since."""

from pathlib import Path

import pytest
from msgspec import structs

from clio.memory.store.change_log import FormerVersion, make_log_lines
from clio.memory.store.change_log import decode_former as decode
from clio.memory.store.change_log import encode_former as encode
from clio.memory.store.record import TYPED_KINDS, MemoryDraft
from clio.memory.store.typed_store import TypedStore
from clio.memory.store.versions import records_at
from tests.memory.store.versions_support import NOW, Time, by


@pytest.fixture
def time(tmp_path: Path) -> Time:
    return Time(tmp_path)


def contents_at(time: Time, at: float) -> list[str]:
    return [record.content for record in records_at(time.memories.versions(TYPED_KINDS), at)]


def known(time: Time, at: float) -> list[str]:
    return [entry.content for entry in records_at(time.ltm.versions(), at)]


def discover(time: Time, text: str) -> str:
    return time.ltm.add(MemoryDraft(kind="discovery", content=text), by("user")).record.id


def test_nothing_is_known_before_it_was_saved(time: Time) -> None:
    time.say("the gate code is blue")
    assert (contents_at(time, NOW - 1), contents_at(time, NOW)) == ([], ["the gate code is blue"])


def test_a_replacement_counts_from_its_own_time(time: Time) -> None:
    time.say("the dev server listens on port 8080")
    before = time.passes()
    time.say("the dev server listens on port 8081")
    assert contents_at(time, before) == ["the dev server listens on port 8080"]
    assert contents_at(time, time.now) == ["the dev server listens on port 8081"]
    assert all(record.is_live for record in records_at(time.memories.versions(TYPED_KINDS), before))


def test_a_text_edited_twice_is_read_as_of_each_time(time: Time) -> None:
    id = time.say("a zebra").record.id
    first = time.passes()
    time.memories.project.update(id, content="a giraffe")
    second = time.passes()
    time.memories.project.update(id, content="an okapi")
    assert [contents_at(time, at) for at in (first, second, time.now)] == [["a zebra"], ["a giraffe"], ["an okapi"]]


def test_a_merged_memory_had_another_text_before(time: Time) -> None:
    time.say("deploys run from the release branch every friday at noon sharp in the office")
    before = time.passes()
    assert time.say("deploys run from the release branch every friday at noon sharp in that office").action == "merged"
    assert contents_at(time, before) == ["deploys run from the release branch every friday at noon sharp in the office"]
    assert contents_at(time, time.now) == [
        "deploys run from the release branch every friday at noon sharp in that office"
    ]


def test_a_forgotten_and_restored_memory_was_not_known_in_between(time: Time) -> None:
    id = time.say("a zebra").record.id
    before = time.passes()
    time.memories.forget(id)
    forgotten_at = time.passes()
    time.memories.project.restore(id)
    assert [contents_at(time, at) for at in (before, forgotten_at, time.now)] == [["a zebra"], [], ["a zebra"]]


def test_a_memory_removed_by_compaction_was_known_before(time: Time) -> None:
    time.memories.add(MemoryDraft(content="an old note", kind="note", importance=0.3))
    before = time.passes(100)
    time.memories.compact()
    assert (contents_at(time, before), contents_at(time, time.now)) == (["an old note"], [])


def test_an_undone_change_counts_as_never_made(time: Time) -> None:
    time.say("the dev server listens on port 8080")
    time.passes()
    time.say("the dev server listens on port 8081")
    between = time.passes()
    change = time.logs.last()
    assert change is not None
    time.memories.revert(change)
    assert contents_at(time, between) == contents_at(time, time.now) == ["the dev server listens on port 8080"]


def test_a_preference_had_another_score_before(time: Time) -> None:
    time.preferences.add("tabs", score=9, explicit=True)
    before = time.passes()
    time.preferences.add("tabs", score=2, explicit=True)
    assert [record.score for record in records_at(time.memories.versions(TYPED_KINDS), before)] == [9]
    assert [record.score for record in records_at(time.memories.versions(TYPED_KINDS), time.now)] == [2]


def test_a_moved_memory_keeps_its_earlier_texts(time: Time) -> None:
    id = time.say("a zebra").record.id
    before = time.passes()
    time.memories.project.update(id, content="a giraffe")
    time.memories.move(id, "user")
    assert (contents_at(time, before), contents_at(time, time.now)) == (["a zebra"], ["a giraffe"])
    assert [version.record.content for version in time.memories.history(id)] == ["a zebra", "a giraffe"]


def test_an_entry_of_the_project_knowledge_is_read_as_of_its_time(time: Time) -> None:
    id = discover(time, "Config is YAML")
    first = time.passes()
    time.ltm.update(id, content="Config is TOML")
    second = time.passes()
    time.ltm.forget([id])
    forgotten_at = time.passes()
    discover(time, "Config is TOML")
    found = [known(time, at) for at in (first - 1, first, second, forgotten_at, time.now)]
    assert found == [[], ["Config is YAML"], ["Config is TOML"], [], ["Config is TOML"]]


def test_an_entry_whose_change_was_undone_is_read_as_of_its_time(time: Time) -> None:
    id = discover(time, "Config is YAML")
    time.passes()
    time.ltm.update(id, content="Config is TOML")
    between = time.passes()
    change = time.logs.last()
    assert change is not None
    time.ltm.revert(change)
    assert known(time, between) == known(time, time.now) == ["Config is YAML"]


def test_an_archived_record_of_a_bundle_may_lack_its_end(tmp_path: Path) -> None:
    record = Time(tmp_path / "a").say("a zebra").record
    line = encode(FormerVersion(record=record, ended=1.0, because="forgotten"))
    assert decode(line).record == record
    old = line.replace(b',"ended":1.0,"because":"forgotten"', b"")
    assert (decode(old).because, decode(old).ended) == ("archived", 0.0)


def test_a_process_killed_between_log_and_journal_leaves_no_false_version(time: Time) -> None:
    store = time.memories.project
    record = time.say("a zebra").record
    at = time.passes()
    change = make_log_lines(
        "changed it",
        at=time.now,
        scope="project",
        before=(record,),
        after=(structs.replace(record, content="an okapi"),),
        formers=(FormerVersion(record=record, ended=time.now, because="edited"),),
    )
    time.logs.project.append(*change)
    assert [version.record.content for version in TypedStore(store.path).versions()] == ["a zebra"]
    assert contents_at(time, at) == contents_at(time, time.now) == ["a zebra"]


def test_confirming_and_using_create_no_version(time: Time) -> None:
    id = time.say("a zebra").record.id
    time.passes()
    time.say("a zebra")
    time.memories.recall("zebra")
    entry = discover(time, "Config is YAML")
    discover(time, "Config is YAML")
    time.ltm.use([entry])
    assert len(time.memories.history(id)) == 1
    assert len(time.ltm.versions()) == 1
