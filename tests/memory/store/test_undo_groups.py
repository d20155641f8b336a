"""Changes that belong together: one to whoever takes them back, and one to the log's bound."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from clio.errors import UserError
from clio.memory.store import undo_log as undo
from clio.memory.store.undo_log import Change, UndoLog, new_change, undo_last
from tests.support.wording import mentions


@pytest.fixture
def log(tmp_path: Path) -> UndoLog:
    return UndoLog(tmp_path / ".clio" / "memory.undo.jsonl")


def note(log: UndoLog, what: str) -> Change:
    log.record(new_change("note", what, at=0.0))
    return log.all()[-1]


def reverted(*refused: str) -> tuple[list[str], dict[str, Callable[[Change], object]]]:
    """What was taken back, in its order, and how it is; some of it is refused."""
    taken: list[str] = []

    def take(change: Change) -> None:
        if change.what in refused:
            raise UserError(f"“{change.what}” was changed since.")
        taken.append(change.what)

    return taken, {"note": take}


def test_a_group_is_taken_back_whole_from_its_end(log: UndoLog) -> None:
    note(log, "before")
    with log.group("sleep of Monday"):
        for what in ("first", "second", "third"):
            note(log, what)
    taken, revert = reverted()
    assert mentions(undo_last(log, revert), "Undone", "sleep", "Monday", "3 changes")
    assert taken == ["third", "second", "first"]
    assert undo_last(log, revert) == "Undone: before."
    assert log.all() == ()


def test_what_was_changed_since_stays_and_the_rest_goes(log: UndoLog) -> None:
    with log.group("sleep"):
        for what in ("first", "second", "third"):
            note(log, what)
    taken, revert = reverted("second")
    said = undo_last(log, revert)
    assert mentions(said, "Undone", "sleep", "2 changes", "1 change not", "“second”")
    assert taken == ["third", "first"]
    assert log.last() is None


def test_a_group_of_which_nothing_can_be_taken_back_is_given_up(log: UndoLog) -> None:
    note(log, "before")
    with log.group("sleep"):
        note(log, "first")
    _, revert = reverted("first")
    with pytest.raises(UserError, match=r"nothing of sleep is undone\. 1 change not: “first” was changed since\. Undo"):
        undo_last(log, revert)
    assert [change.what for change in log.all()] == ["before"]


def test_what_others_change_meanwhile_is_theirs(log: UndoLog) -> None:
    with log.group("sleep"):
        note(log, "mine")
        other = threading.Thread(target=note, args=(log, "theirs"))
        other.start()
        other.join()
        note(log, "mine too")
    taken, revert = reverted()
    undo_last(log, revert)
    assert taken == ["mine too", "mine"]
    assert [change.what for change in log.all()] == ["theirs"]


def test_an_open_group_that_died_is_a_group_all_the_same(log: UndoLog) -> None:
    with pytest.raises(KeyboardInterrupt), log.group("sleep"):
        note(log, "first")
        note(log, "second")
        raise KeyboardInterrupt
    taken, revert = reverted()
    undo_last(UndoLog(log.path), revert)
    assert taken == ["second", "first"]


def test_a_group_counts_as_one_change(log: UndoLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(undo, "FOLD_BYTES", 1_000)
    monkeypatch.setattr(undo, "MAX_CHANGES", 5)
    with log.group("sleep"):
        for number in range(50):
            note(log, f"part {number}")
    for number in range(4):
        note(log, f"single {number}")
    assert [change.part for change in log.all() if change.group] == list(range(1, 51))
    note(log, "one too many")
    assert not [change for change in log.all() if change.group]
    for number in range(30):
        note(log, f"more {number}")
    assert log.path.read_bytes().count(b"\n") <= 11


def test_the_file_stays_bounded_however_large_a_group_is(log: UndoLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(undo, "MOST_BYTES", 20_000)
    with log.group("sleep"):
        for number in range(400):
            log.record(new_change("note", f"part {number}", at=0.0, before="x" * 100))
    assert log.path.stat().st_size <= 20_500
    taken, revert = reverted()
    said = undo_last(log, revert)
    assert taken[0] == "part 399"
    assert said.endswith(f"{400 - len(taken)} changes of it had left the log before.")
