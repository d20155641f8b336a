"""A whole consolidation: what it saves, where it continues, and that it changes nothing twice."""

import subprocess
import sys
from pathlib import Path

import pytest

from clio.errors import ToolFailed, UserError
from clio.memory.consolidation import runner
from clio.memory.consolidation.consolidation import read_state
from clio.memory.consolidation.runner import run_consolidation
from clio.memory.store.change_log import LOG_NAME, ChangeLog
from clio.memory.store.notes import Notes
from clio.memory.store.record import MemoryDraft, MemoryRecord, Provenance
from clio.memory.store.typed_store import TypedStore
from clio.memory.styles.feedback import Rating, Trajectories, Trajectory
from clio.memory.system import MemorySystem
from clio.messages import AssistantMessage, Message, UserMessage
from clio.sessions.store import FOREIGN_NOTICE
from clio.storage.locks import FileLock
from tests.memory.consolidation.consolidation_support import DAY, FACTS, NOW, Place, edited, noted, ran, user_turn
from tests.support.wording import mentions

MENDED: list[Message] = [
    UserMessage(content="make the tests pass"),
    *ran("pytest -q", "E   ModuleNotFoundError: No module named 'httpx2'\n1 failed", 1),
    *edited("pyproject.toml"),
    *ran("pytest -q", "12 passed"),
    AssistantMessage(content="The tests failed because httpx2 was missing from the dependencies; it is there now."),
]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def memory_of(place: Place) -> MemorySystem:
    return MemorySystem(
        place.project, place.store, incognito=False, ltm=True, home=place.user_home, clock=lambda: place.now
    )


def test_statements_and_fixes_are_saved(place: Place) -> None:
    place.session(user_turn(FACTS[0]), MENDED, user_turn("thanks"))
    place.session(user_turn(FACTS[1]))
    report = place.sleep()
    assert (report.facts, report.solutions, report.replayed, report.early_end) == (2, 1, 4, "")
    assert any("8080" in fact for fact in place.facts)
    [fix] = [line for line in place.knowledge if line.startswith("solution")]
    assert "httpx2" in fix and "pyproject.toml" in fix
    assert mentions(report.line, "4 turns", "2 facts", "1 fix", "/memory log", "/memory undo")


def test_a_second_consolidation_changes_no_byte(place: Place) -> None:
    place.session(*(user_turn(fact) for fact in FACTS), MENDED)
    TypedStore(place.user_home / "memories.json").remember("I prefer tabs", "preference")
    place.sleep()
    before = place.tree()
    report = place.sleep()
    assert place.tree() == before
    assert mentions(report.line, "0 turns", "nothing new")


def test_only_new_turns_are_replayed(place: Place) -> None:
    first = place.session(user_turn(FACTS[0]))
    assert place.sleep().replayed == 1
    session = place.store.open(first)
    for message in user_turn(FACTS[1]):
        session.append(message)
    assert place.sleep().replayed == 0  # it is open, so consolidation leaves it alone
    session.close()
    report = place.sleep()
    assert (report.replayed, report.facts) == (1, 1)
    assert len(place.facts) == 2


def test_turns_that_came_with_the_repository_are_not_the_users_in_a_continued_session(place: Place) -> None:
    notice = UserMessage(content=FOREIGN_NOTICE, origin="recovery")
    theirs = [*user_turn(FACTS[0]), *noted("deploy"), notice]
    place.session(theirs, user_turn("actually, the API listens on port 9090 now"), MENDED)
    place.session(theirs, user_turn(FACTS[1]))
    place.session(theirs, user_turn("thanks"))
    report = place.sleep()
    assert any("Fridays" in fact for fact in place.facts)
    assert not any("8080" in line for line in (*place.facts, *place.knowledge))
    assert report.replayed == 4
    assert "deploy" not in read_state(place.project / ".clio" / "sleep.json")[0].notes


def test_a_stopped_consolidation_keeps_its_results_and_the_next_continues(place: Place) -> None:
    for number in range(6):
        place.session(
            *(user_turn(f"The service number{number}{part} listens on port 90{number}{part}.") for part in "123")
        )
    asked = iter(range(10_000))
    report = place.sleep(stop=lambda: next(asked) > 20)
    assert report.early_end == "stopped"
    assert 0 < report.replayed < 18
    assert report.waiting == 18 - report.replayed
    assert f"stopped, {report.waiting} turns left" in report.line
    assert len(place.facts) == report.facts
    rest = place.sleep()
    assert rest.replayed == report.waiting
    assert len(place.facts) == len(set(place.facts)) == 18


def test_turns_beyond_the_budget_are_left_for_the_next_consolidation(place: Place) -> None:
    place.session(user_turn(FACTS[0]))
    report = place.sleep("exit", budget_s=0.0)
    assert (report.early_end, report.replayed) == ("time", 0)
    assert place.nights().is_due()
    assert place.sleep("exit", budget_s=60.0).facts == 1
    assert not place.nights().is_due()
    place.now += DAY
    assert place.nights().is_due()


def test_many_turns_are_sampled_in_rounds(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "ROUND", 3)
    monkeypatch.setattr(runner, "TOGETHER", 2)
    for number in range(5):
        place.session(*(user_turn(f"The queue{number}{part} listens on port 60{number}{part}.") for part in "1234"))
    report = place.sleep()
    assert (report.sessions, report.replayed, report.facts, report.early_end) == (5, 20, 20, "")
    assert place.sleep().replayed == 0


def test_a_later_statement_applies_in_whatever_order_turns_are_replayed(tmp_path: Path) -> None:
    for seed in range(8):
        place = Place(tmp_path / str(seed))
        place.session(user_turn("The API listens on port 8080."), days_ago=9)
        place.session(user_turn("The API listens on port 8081."), days_ago=3)
        place.session(user_turn("The API listens on port 8082."), days_ago=6)
        run_consolidation(place.nights(seed))
        assert [fact.rstrip(".") for fact in place.facts if "API" in fact] == ["The API listens on port 8081"]


def test_rated_and_recent_turns_are_replayed_first(tmp_path: Path) -> None:
    drawn: list[str] = []
    for seed in range(10):
        place = Place(tmp_path / str(seed))
        ids = [
            place.session(user_turn(f"The worker{number} listens on port 70{number}."), days_ago=300)
            for number in range(9)
        ]
        rated = place.store.read(ids[4])[0].id
        file = Trajectories(place.project / ".clio" / "trajectories.jsonl")
        file.add(Trajectory(message=rated, session=ids[4], at=NOW), Rating(message=rated, at=NOW, reward=1))
        asked = iter(range(1_000))
        run_consolidation(place.nights(seed), stop=lambda asked=asked: next(asked) > 26)
        drawn += place.facts
    counts = {number: sum(f"worker{number} " in fact for fact in drawn) for number in range(9)}
    assert counts[4] == max(counts.values()), counts


def test_a_secret_is_not_saved(place: Place) -> None:
    place.secrets = ("hunter2",)
    place.session(user_turn("The staging password is hunter2."), user_turn("The API listens on hunter2:8080."))
    place.sleep()
    for name, data in place.tree().items():
        assert b"hunter2" not in data or "sessions" in name, name


def test_a_consolidation_is_undone_as_one_change(place: Place) -> None:
    memory = memory_of(place)
    kept = memory.store.add(MemoryDraft(content="The moon is far", kind="fact")).record
    place.session(*(user_turn(fact) for fact in FACTS), MENDED)
    report = place.sleep()
    assert report.changed == 5
    assert memory.undo().startswith("Undone: the consolidation of ")
    assert place.facts == [kept.content]
    assert not [line for line in place.knowledge if line.startswith("solution")]
    assert place.sleep().changed == 0  # an undone memory is not saved again
    assert memory.undo() == "Undone: remembered “The moon is far”."


def test_undo_leaves_memories_changed_since(place: Place) -> None:
    place.session(user_turn(FACTS[0]), user_turn(FACTS[1]))
    place.sleep()
    log = ChangeLog(place.project / "elsewhere" / LOG_NAME)  # so that this change is not the last one
    elsewhere = TypedStore(place.project / ".clio" / "memories.json", log=log)
    [api] = [record for record in elsewhere.records() if "8080" in record.content]
    elsewhere.update(api.id, importance=0.99)
    undone = memory_of(place).undo()
    assert ", 1 change." in undone and "has changed since" in undone
    assert ["8080" in fact for fact in place.facts] == [True]


def test_notes_of_three_sessions_become_project_knowledge(place: Place) -> None:
    notes = Notes(place.project / ".clio" / "memory", lambda: NOW)
    notes.store("release-steps", "tag, then push, then publish")
    notes.store("once", "seen once only")
    place.session(noted("release-steps"), noted("release-steps", "retrieve"))
    place.session(noted("release-steps", "retrieve"), noted("once"))
    assert place.sleep().promoted == 0
    place.session(noted("release-steps", "retrieve"))
    report = place.sleep()
    assert report.promoted == 1
    assert "discovery: release-steps: tag, then push, then publish" in place.knowledge
    assert not [line for line in place.knowledge if "seen once" in line]
    memory_of(place).undo()
    place.session(noted("release-steps", "retrieve"))
    assert place.sleep().promoted == 0


def test_faded_and_uncertain_memories_are_removed(place: Place) -> None:
    place.session(user_turn("hello there"))
    memory = memory_of(place)
    old = NOW - 200 * DAY
    store = TypedStore(place.project / ".clio" / "memories.json", clock=lambda: old)
    store.remember("Something nobody used for long", "fact")
    memory.store.add(MemoryDraft(kind="discovery", content="hardly believed", confidence=0.1), Provenance())
    memory.store.add(MemoryDraft(kind="rule", content="never push on Fridays"), Provenance(asserted_by="user"))
    variant = MemoryRecord(
        id="v", kind="fact", content="Others say so", confidence=0.2, variants_of="x",
        created=NOW - 100 * DAY, updated=NOW - 100 * DAY, accessed=NOW - 100 * DAY, seen=NOW - 100 * DAY,
    )  # fmt: skip
    store.put("made", (variant,))
    report = place.sleep()
    assert report.archived == 3
    assert place.facts == []
    assert place.knowledge == ["rule: never push on Fridays"]
    memory.undo()
    assert len(place.facts) == 2 and len(place.knowledge) == 2


def test_unrated_turns_are_deleted_after_ninety_days(place: Place) -> None:
    place.session(user_turn("hello there"))
    file = Trajectories(place.project / ".clio" / "trajectories.jsonl")
    old, new = NOW - 100 * DAY, NOW - 10 * DAY
    for message, at in (("old", old), ("rated", old), ("new", new)):
        file.add(Trajectory(message=message, session="s", at=at))
    file.add(Rating(message="rated", at=old, reward=1))
    report = place.sleep()
    assert (report.turns_archived, report.turns_deleted) == (1, 0)
    assert [one.turn.message for one in file.all()] == ["rated", "new"]


def test_usual_commands_are_saved_once_and_not_again_after_removal(place: Place) -> None:
    def worked(number: int) -> None:
        turn = [UserMessage(content="check it"), *ran("make check-all", f"ok {number} passed")]
        place.session([*turn, AssistantMessage(content="It is fine.")], days_ago=10 - number)

    for number in range(3):
        worked(number)
    place.sleep()
    [line] = [line for line in place.knowledge if "make check-all" in line]
    assert line.startswith("workflow")
    memory = memory_of(place)
    memory.store.forget(*[entry.id for entry in memory.store.records(("workflow",))])
    place.now += 60 * DAY
    worked(3)
    place.sleep()
    assert not [line for line in place.knowledge if "make check-all" in line]


def test_two_consolidations_never_run_at_the_same_time(place: Place) -> None:
    place.session(user_turn(FACTS[0]))
    script = """
import sys, time
from pathlib import Path
from clio.sessions.store import FOREIGN_NOTICE
from clio.storage.locks import FileLock
lock = FileLock(Path(sys.argv[1]))
assert lock.acquire()
print("held", flush=True)
time.sleep(60)  # it holds the lock until it is killed
"""
    path = place.project / ".clio" / "sleep.lock"
    with subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "held\n"
        with pytest.raises(UserError, match=f"process {process.pid} on .* has been consolidating this project since"):
            place.sleep()
        process.kill()
    assert place.sleep().facts == 1
    assert not path.exists()


def test_the_users_memories_are_compacted_once_a_day_by_one_project(tmp_path: Path) -> None:
    places = [Place(tmp_path / name) for name in ("one", "two")]
    places[1].user_home = places[0].user_home
    tastes = TypedStore(places[0].user_home / "memories.json", clock=lambda: NOW - 200 * DAY)
    tastes.remember("A note of the person", "note")
    for place in places:
        place.session(user_turn("hello there"))
    assert places[0].sleep().archived == 1
    TypedStore(places[0].user_home / "memories.json", clock=lambda: NOW - 200 * DAY).remember("Another such", "note")
    assert places[1].sleep().archived == 0
    places[1].now += DAY
    assert places[1].sleep().archived == 1


def test_the_users_memories_are_skipped_while_another_consolidation_uses_them(place: Place) -> None:
    TypedStore(place.user_home / "memories.json", clock=lambda: NOW - 200 * DAY).remember("A note", "note")
    place.session(user_turn("hello there"))
    with FileLock(place.user_home / "sleep.person.lock"):
        assert place.sleep().archived == 0


def test_a_damaged_state_is_moved_aside_and_reported(place: Place) -> None:
    place.session(user_turn(FACTS[0]))
    place.sleep()
    state = place.project / ".clio" / "sleep.json"
    state.write_bytes(b"{torn")
    report = place.sleep()
    assert report.replayed == 1 and report.facts == 0  # recognized by its source
    assert "sleep.json" in report.errors[0]
    assert len(place.facts) == 1
    assert list(state.parent.glob("sleep.json.corrupt-*"))


def test_an_unreadable_session_does_not_affect_the_others(place: Place) -> None:
    broken = place.session(user_turn(FACTS[0]))
    place.session(user_turn(FACTS[1]))
    (place.store.folder / f"{broken}.json").write_bytes(b"\0\0")
    report = place.sleep()
    assert (report.unread, report.facts) == (1, 1)


def test_an_unwritable_store_is_reported_and_the_turns_wait(place: Place) -> None:
    place.session(user_turn(FACTS[0]))
    (place.project / ".clio" / "memories.journal.jsonl").mkdir()
    report = place.sleep()
    assert report.errors == (report.write_error,) and report.facts == 0
    assert mentions(report.write_error, "not everything", "saved") and "Errno" not in report.write_error
    assert read_state(place.project / ".clio" / "sleep.json")[0].last_full == 0.0
    Path(place.project / ".clio" / "memories.journal.jsonl").rmdir()
    assert place.sleep().facts == 1


def test_a_consolidation_without_its_log_says_so(place: Place) -> None:
    place.session(user_turn(FACTS[0]))
    (place.project / ".clio" / "sleep.log.jsonl").mkdir()
    report = place.sleep()
    assert report.facts == 1 and report.errors == (report.write_error,)
    assert report.write_error.startswith("/memory log does not have this report: ")


def test_deleted_sessions_are_removed_from_the_state(place: Place) -> None:
    deleted_session = place.session(user_turn(FACTS[0]))
    place.sleep()
    place.store.delete(deleted_session)
    place.now += DAY
    place.session(user_turn(FACTS[1]))
    place.sleep()
    assert deleted_session not in read_state(place.project / ".clio" / "sleep.json")[0].sessions


def test_an_empty_project_is_not_changed(place: Place) -> None:
    assert mentions(place.sleep().line, "0 turns", "nothing new")
    assert place.dry_run().replayed == 0
    assert place.tree() == {}
    assert not place.nights().is_due()


def test_incognito_and_memory_off_have_no_consolidation(place: Place) -> None:
    hidden = MemorySystem(place.project, place.store, incognito=True, ltm=True, home=place.user_home)
    with pytest.raises(ToolFailed, match="incognito"):
        _ = hidden.consolidation
    memory = memory_of(place)
    memory.is_off = True
    with pytest.raises(ToolFailed, match="memory is off"):
        _ = memory.consolidation


def test_a_saved_statement_has_the_time_of_its_message(place: Place) -> None:
    place.session(user_turn("The API listens on port 8080."), days_ago=20)
    place.sleep()
    [record] = TypedStore(place.project / ".clio" / "memories.json").records()
    assert record.created == pytest.approx(place.now - 20 * DAY, abs=60)
    assert record.updated == record.seen == record.created
    place.session(user_turn("The API listens on port 8080."), days_ago=5)
    place.sleep()
    [record] = TypedStore(place.project / ".clio" / "memories.json").records()
    assert record.created == pytest.approx(place.now - 20 * DAY, abs=60)
    assert record.updated == pytest.approx(place.now - 5 * DAY, abs=60)
