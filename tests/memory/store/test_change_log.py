"""The change log: undo, groups, folding, two scopes, several processes, damage."""

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from clio.errors import NewerDocument, UserError
from clio.memory.store import change_log
from clio.memory.store.change_log import LOG_NAME, Change, ChangeLog, End, ScopeLogs, new_change, undo_last
from tests.support.wording import mentions


@pytest.fixture
def logs(tmp_path: Path) -> ScopeLogs:
    return ScopeLogs(tmp_path / "project" / ".clio", tmp_path / "home")


@pytest.fixture
def log(logs: ScopeLogs) -> ChangeLog:
    return logs.project


def note(log: ChangeLog, what: str) -> Change:
    log.append(new_change("note", what, at=0.0))
    return log.undoable()[-1]


def names(changes: tuple[Change, ...]) -> list[str]:
    return [change.what for change in changes]


def reverted(*refused: str) -> tuple[list[str], Callable[[Change], object]]:
    """Return the list of undone changes in order, and a function that undoes; it refuses the named changes."""
    undone: list[str] = []

    def take(change: Change) -> None:
        if change.what in refused:
            raise UserError(f"“{change.what}” was changed since.")
        undone.append(change.what)

    return undone, take


def edit(id: str, was: str, becomes: str, at: float = 0.0) -> Change:
    """Return a change of one record, whose former version ended."""
    before, after = [{"id": id, "text": was}], [{"id": id, "text": becomes}]
    return new_change("memory", f"{was} to {becomes}", at=at, before=before, after=after, ended={id: End(because="x")})


def versions(log: ChangeLog) -> list[tuple[bytes, str]]:
    """Return the ended versions in the log, with the reason."""
    return [
        (bytes(logged.change.before), end.because)
        for logged in log.read_changes()
        for end in logged.change.ended.values()
    ]


def test_a_group_is_undone_as_a_whole_last_change_first(logs: ScopeLogs) -> None:
    note(logs.project, "before")
    with logs.group("sleep of Monday"):
        for what in ("first", "second", "third"):
            note(logs.project, what)
    undone, revert = reverted()
    assert mentions(undo_last(logs, revert), "Undone", "sleep", "Monday", "3 changes")
    assert undone == ["third", "second", "first"]
    assert undo_last(logs, revert) == "Undone: before."
    assert logs.undoable() == ()
    with pytest.raises(UserError, match="nothing to undo"):
        undo_last(logs, revert)


def test_a_record_changed_since_is_kept_and_the_rest_is_undone(logs: ScopeLogs) -> None:
    with logs.group("sleep"):
        for what in ("first", "second", "third"):
            note(logs.project, what)
    undone, revert = reverted("second")
    report = undo_last(logs, revert)
    assert mentions(report, "Undone", "sleep", "2 changes", "Not undone: 1 change", "“second”")
    assert undone == ["third", "first"]
    assert logs.last() is None


def test_a_group_of_which_nothing_can_be_undone_is_dropped(logs: ScopeLogs) -> None:
    note(logs.project, "before")
    with logs.group("sleep"):
        note(logs.project, "first")
    _, revert = reverted("first")
    with pytest.raises(
        UserError, match=r"sleep: nothing is undone\. Not undone: 1 change \(“first” was changed since\)\. Undo"
    ):
        undo_last(logs, revert)
    assert names(logs.undoable()) == ["before"]


def test_changes_of_other_sessions_meanwhile_are_not_undone(logs: ScopeLogs) -> None:
    with logs.group("sleep"):
        note(logs.project, "mine")
        other = threading.Thread(target=note, args=(logs.project, "theirs"))
        other.start()
        other.join()
        note(logs.project, "mine too")
    undone, revert = reverted()
    undo_last(logs, revert)
    assert undone == ["mine too", "mine"]
    assert names(logs.undoable()) == ["theirs"]


def test_an_open_group_whose_process_died_is_still_a_group(logs: ScopeLogs) -> None:
    with pytest.raises(KeyboardInterrupt), logs.group("sleep"):
        note(logs.project, "first")
        note(logs.project, "second")
        raise KeyboardInterrupt
    undone, revert = reverted()
    undo_last(logs, revert)
    assert undone == ["second", "first"]


def test_a_group_spans_both_scopes(logs: ScopeLogs) -> None:
    with logs.group("sleep"):
        note(logs.project, "of the project")
        note(logs.user, "of the user")
        note(logs.project, "of the project again")
    undone, revert = reverted()
    assert mentions(undo_last(logs, revert), "3 changes")
    assert undone == ["of the project again", "of the user", "of the project"]
    assert (logs.project.undoable(), logs.user.undoable()) == ((), ())


def test_in_each_project_only_its_own_changes_are_undone(logs: ScopeLogs, tmp_path: Path) -> None:
    other = ScopeLogs(tmp_path / "other" / ".clio", tmp_path / "home")
    note(logs.user, "here")
    note(other.user, "there")
    note(other.project, "there alone")
    assert (names(logs.undoable()), names(other.undoable())) == (["here"], ["there", "there alone"])
    undone, revert = reverted()
    undo_last(logs, revert)
    assert (undone, logs.undoable(), len(other.undoable())) == (["here"], (), 2)


def test_without_a_home_folder_both_scopes_share_one_log(tmp_path: Path) -> None:
    logs = ScopeLogs(tmp_path, tmp_path)
    note(logs.project, "one")
    note(logs.user, "two")
    assert names(logs.undoable()) == ["one", "two"]


def test_changes_of_two_logs_within_a_millisecond_keep_their_order(logs: ScopeLogs) -> None:
    made = [new_change("note", str(number), at=0.0) for number in range(500)]
    assert [change.id for change in made] == sorted(change.id for change in made)


def test_a_group_counts_as_one_change(logs: ScopeLogs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_log, "FOLD_BYTES", 1_000)
    monkeypatch.setattr(change_log, "MAX_UNDO", 5)
    log = logs.project
    with logs.group("sleep"):
        for number in range(50):
            note(log, f"part {number}")
    for number in range(4):
        note(log, f"single {number}")
    assert [change.part for change in log.undoable() if change.group] == list(range(1, 51))
    note(log, "one too many")
    assert not [change for change in log.undoable() if change.group]


def test_of_a_large_group_the_newest_part_can_be_undone(logs: ScopeLogs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_log, "FOLD_BYTES", 10_000)
    monkeypatch.setattr(change_log, "UNDO_BYTES", 10_000)
    with logs.group("sleep"):
        for number in range(400):
            logs.project.append(new_change("note", f"part {number}", at=0.0, before="x" * 100))
    assert logs.project.path.stat().st_size <= 40_000
    undone, revert = reverted()
    report = undo_last(logs, revert)
    assert undone[0] == "part 399" and len(undone) < 200
    assert report.endswith(f"{400 - len(undone)} changes can no longer be undone.")


def test_the_newest_changes_can_be_undone_in_order(log: ChangeLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_log, "FOLD_BYTES", 2_000)
    monkeypatch.setattr(change_log, "MAX_UNDO", 20)
    assert log.undoable() == ()
    made = [new_change("note", f"change {number}", at=float(number)) for number in range(60)]
    for change in made:
        log.append(change)
    assert log.undoable() == tuple(made[-20:])
    assert log.path.read_bytes().count(b"\n") < 50
    log.mark([made[-1].id], is_undone=True)
    assert log.undoable()[-1] == made[-2]
    assert log.path.stat().st_mode & 0o777 == 0o600


def test_folding_keeps_versions_and_what_can_be_undone(log: ChangeLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_log, "MAX_UNDO", 2)
    monkeypatch.setattr(change_log, "FOLD_BYTES", 0)
    log.append(new_change("memory", "added", at=1.0, after=[{"id": "a", "text": "one"}]))
    log.append(edit("a", "one", "two", 2.0))
    log.append(wrong := edit("a", "two", "wrong", 3.0))
    log.mark([wrong.id], is_undone=True)
    for number in range(3):
        log.append(new_change("note", f"change {number}", at=4.0))
    assert names(log.undoable()) == ["change 1", "change 2"]
    assert versions(log) == [(b'[{"id":"a","text":"one"}]', "x"), (b'[{"id":"a","text":"wrong"}]', "undone")]
    before = versions(log)
    for number in range(20):
        log.append(new_change("note", f"later {number}", at=5.0))
    assert versions(log) == before


def test_a_log_of_nothing_but_versions_is_not_folded_at_each_change(
    log: ChangeLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    folds: list[int] = []
    original = change_log.fold_lines
    monkeypatch.setattr(change_log, "fold_lines", lambda lines: folds.append(len(lines)) or original(lines))
    monkeypatch.setattr(change_log, "FOLD_BYTES", 1_000)
    monkeypatch.setattr(change_log, "MAX_UNDO", 1)
    for number in range(200):
        log.append(edit("a", f"{number} " + "x" * 50, "next"))
    assert len(versions(log)) == 200
    assert len(folds) < 10


def test_a_reader_follows_changes_and_notices_a_fold(log: ChangeLog, monkeypatch: pytest.MonkeyPatch) -> None:
    log.append(new_change("note", "one", at=0.0))
    first = log.read()
    assert [line.what for line in first.lines if isinstance(line, Change)] == ["one"]
    assert log.read(first.position).lines == ()
    log.append(new_change("note", "two", at=0.0))
    second = log.read(first.position)
    assert second.goes_on and [line.what for line in second.lines if isinstance(line, Change)] == ["two"]
    monkeypatch.setattr(change_log, "FOLD_BYTES", 0)
    log.append(new_change("note", "three", at=0.0))
    third = log.read(second.position)
    assert not third.goes_on and len(third.lines) == 3
    log.path.unlink()
    assert not log.read(third.position).goes_on


def test_a_change_that_fails_cannot_be_undone(log: ChangeLog) -> None:
    with pytest.raises(OSError, match="full"), log.write_ahead(new_change("note", "never made", at=0.0)):
        raise OSError("full")
    assert log.undoable() == ()


def test_unknown_lines_are_skipped(log: ChangeLog) -> None:
    first = note(log, "first")
    with log.path.open("ab") as file:
        file.write(b'{"id": 7}\nnot json\n{"line":"change","id":"torn')
    second = note(log, "second")
    assert log.undoable() == (first, second)


def test_a_damaged_log_is_copied_before_it_is_folded(log: ChangeLog, monkeypatch: pytest.MonkeyPatch) -> None:
    note(log, "first")
    with log.path.open("ab") as file:
        file.write(b"not json\n")
    monkeypatch.setattr(change_log, "FOLD_BYTES", 0)
    note(log, "second")
    [copy] = log.path.parent.glob(f"{LOG_NAME}.corrupt-*")
    assert b"not json" in copy.read_bytes()
    assert names(log.undoable()) == ["first", "second"]


def test_a_log_of_a_later_version_is_refused_and_not_changed(log: ChangeLog) -> None:
    log.path.parent.mkdir(parents=True)
    log.path.write_bytes(b'{"log":"clio.memory","version":2,"id":"x"}\n')
    before = log.path.read_bytes()
    with pytest.raises(NewerDocument, match="update clio"):
        note(log, "one")
    with pytest.raises(NewerDocument):
        log.undoable()
    assert log.path.read_bytes() == before


def test_two_processes_append_without_losing_a_line(tmp_path: Path) -> None:
    script = """
import sys
from pathlib import Path
from clio.memory.store import change_log
from clio.memory.store.change_log import ChangeLog, new_change
change_log.FOLD_BYTES = 10_000  # so that both fold, too
log = ChangeLog(Path(sys.argv[1]))
for number in range(60):
    log.append(new_change("note", f"{sys.argv[2]} {number}", at=0.0))
"""
    path = tmp_path / LOG_NAME
    running = [subprocess.Popen([sys.executable, "-c", script, str(path), name]) for name in ("a", "b")]
    assert [process.wait(60) for process in running] == [0, 0]
    changes = ChangeLog(path).undoable()
    assert set(names(changes)) == {f"{name} {number}" for name in ("a", "b") for number in range(60)}
    assert len({change.id for change in changes}) == 120
    assert list(tmp_path.iterdir()) == [path]
