"""Memory changes listed from the stores and archives, not from the undo log."""

from pathlib import Path

import pytest

from clio.memory.store.change_log import undo_last
from clio.memory.store.record import TYPED_KINDS, MemoryDraft
from clio.memory.store.versions import MemoryChange, list_changes
from tests.memory.store.versions_support import Time, by

AT = "the dev server listens on port {}"


@pytest.fixture
def time(tmp_path: Path) -> Time:
    return Time(tmp_path)


def changes_of(time: Time) -> list[MemoryChange]:
    return list_changes((*time.memories.versions(TYPED_KINDS), *time.ltm.versions()))


def actions_of(time: Time) -> list[tuple[str, str]]:
    return [(one.what, one.text) for one in changes_of(time)]


def undo(time: Time) -> None:
    undo_last(time.logs, time.memories.revert)


def test_changes_of_a_memory_are_listed_newest_first(time: Time) -> None:
    id = time.say("a zebra", "model").record.id
    time.passes()
    time.memories.project.update(id, content="a giraffe")
    time.passes()
    time.memories.forget(id)
    time.passes()
    time.memories.project.restore(id)
    assert actions_of(time) == [
        ("restored", "a giraffe"), ("archived", "a giraffe"), ("changed", "a giraffe"), ("learned", "a zebra"),
    ]  # fmt: skip
    changed = changes_of(time)[2]
    assert (changed.before, changed.by, changed.kind) == ("a zebra", "model", "fact")
    assert changes_of(time)[1].because == "forgotten"


def test_a_replacement_is_listed_with_the_replaced_text(time: Time) -> None:
    time.say(AT.format(8080))
    time.passes()
    time.say(AT.format(8081))
    assert [(one.what, one.text[-4:], one.before[-4:]) for one in changes_of(time)] == [
        ("superseded", "8081", "8080"), ("learned", "8080", ""),
    ]  # fmt: skip


def test_rejected_contradictions_and_dropped_memories_are_listed(time: Time) -> None:
    time.say(AT.format(8080))
    for port in (8081, 8082, 8083, 8084):
        time.passes()
        time.say(AT.format(port), "tool", 0.5)
    time.passes()
    time.say(AT.format(8085), "tool", 0.1)
    assert [(one.what, one.because, one.text[-4:]) for one in changes_of(time)] == [
        ("dropped", "", "8085"),
        ("archived", "outweighed", "8081"),
        ("variant", "", "8084"),
        ("variant", "", "8083"),
        ("variant", "", "8082"),
        ("variant", "", "8081"),
        ("learned", "", "8080"),
    ]


def test_an_undone_change_is_listed_as_undone(time: Time) -> None:
    time.say("a zebra")
    time.passes()
    undo(time)
    assert actions_of(time) == [("undone", "a zebra"), ("learned", "a zebra")]


def test_compaction_and_a_preference_rated_again_are_listed(time: Time) -> None:
    time.memories.add(MemoryDraft(content="an old note", kind="note", importance=0.3))
    time.preferences.add("tabs", score=9, explicit=True)
    time.passes(100)
    time.preferences.add("tabs", score=2, explicit=True)
    time.memories.compact()
    found = {(one.what, one.text, one.because, one.score) for one in changes_of(time)}
    assert ("changed", "tabs", "", 2.0) in found
    assert ("archived", "an old note", "faded", None) in found


def test_changes_of_the_project_knowledge_are_listed(time: Time) -> None:
    id = time.ltm.add(MemoryDraft(kind="discovery", content="Config is YAML"), by("user")).record.id
    time.passes()
    time.ltm.update(id, content="Config is TOML")
    time.passes(100)
    time.ltm.add(MemoryDraft(kind="discovery", content="Doubtful", confidence=0.1), by("model"))
    time.passes()
    time.ltm.prune()
    time.passes()
    time.ltm.forget([id])
    time.passes()
    undo(time)
    assert [(one.what, one.text, one.because) for one in changes_of(time)] == [
        ("archived", "Doubtful", "uncertain"),
        ("learned", "Doubtful", ""),
        ("changed", "Config is TOML", ""),
        ("learned", "Config is YAML", ""),
    ]


def test_a_moved_memory_is_listed_as_saved_once(time: Time) -> None:
    id = time.say("a zebra").record.id
    time.passes()
    time.memories.project.update(id, content="a giraffe")
    time.memories.move(id, "user")
    assert actions_of(time) == [("changed", "a giraffe"), ("learned", "a zebra")]


def test_more_changes_are_listed_than_the_undo_log_holds(time: Time) -> None:
    for number in range(210):
        time.memories.project.remember(f"{number}alpha {number}beta {number}gamma", "fact")
    assert len(changes_of(time)) == 210
