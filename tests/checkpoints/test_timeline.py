"""The timeline computed from the records of a log."""

from clio.checkpoints.checkpoint_store import (
    Change,
    ChangeRecord,
    FileState,
    RecordKind,
    find_redoable,
    judge_step,
    list_turns,
    list_undone_turns,
    plan_undo,
)

A, B, C = (FileState(id=letter * 64, size=1) for letter in "abc")


def record(
    id: str, kind: RecordKind = "turn", *changes: Change, message: str = "", of: tuple[str, ...] = ()
) -> ChangeRecord:
    return ChangeRecord(id=id, kind=kind, at=float(len(id)), session="s", message=message, changes=changes, reverted=of)


def change(path: str, before: FileState | None, after: FileState | None) -> Change:
    return Change(path=path, before=before, after=after)


def test_a_turn_of_many_calls_is_one_change_of_each_file() -> None:
    calls = [record("1", "turn", change("f", A, B), message="t"), record("2", "turn", change("f", B, C), message="t")]
    (turn,) = list_turns(calls)
    assert turn.changes == (change("f", A, C),)


def test_a_turn_without_a_net_change_is_not_listed() -> None:
    assert list_turns([record("1", "turn", change("f", A, B), change("f", B, A), message="t")]) == []


def test_a_change_by_another_process_in_between_is_detected() -> None:
    first, second = record("1", "turn", change("f", None, A)), record("2", "turn", change("f", B, C))
    (wanted,) = plan_undo([first, second])
    assert wanted.between
    assert judge_step(wanted, C).verdict == "between"
    assert judge_step(wanted, None).verdict == "same"


def test_the_verdict_of_each_change() -> None:
    (wanted,) = plan_undo([record("1", "turn", change("f", A, B))])
    assert judge_step(wanted, B).verdict == "restorable"
    assert judge_step(wanted, A).verdict == "same"
    assert judge_step(wanted, C).verdict == "edited"
    assert judge_step(wanted, None).verdict == "edited"
    assert judge_step(wanted, B, blocked=True).verdict == "blocked"
    (unsure,) = plan_undo([record("1", "turn", Change(path="f", before=A, after=B, unsure=True))])
    assert judge_step(unsure, B).verdict == "unsure"
    (lost,) = plan_undo([record("1", "turn", change("f", FileState(id="~9"), B))])
    assert judge_step(lost, B).verdict == "lost"


def test_undo_and_redo_can_be_repeated() -> None:
    log = [record("1", message="t1"), record("2", message="t2"), record("u", "undo", of=("t2",))]
    assert list_undone_turns(log) == {"t2"}
    log.append(record("v", "undo", of=("t1",)))
    assert list_undone_turns(log) == {"t1", "t2"}
    log.append(record("r", "redo", of=("v",)))
    assert list_undone_turns(log) == {"t2"}
    last = find_redoable(log, {"s"})
    assert last is not None
    assert last.id == "u"
    assert find_redoable(log, {"another"}) is None
    log.append(record("w", "undo", of=("t1",)))
    assert list_undone_turns(log) == {"t1", "t2"}
