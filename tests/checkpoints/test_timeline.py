"""What the log comes to: pure."""

from clio.checkpoints.states import Change, FileState, Kind, Record
from clio.checkpoints.timeline import judge, redoable, taken_back, turns_of, way_back

A, B, C = (FileState(id=letter * 64, size=1) for letter in "abc")


def record(id: str, kind: Kind = "turn", *changes: Change, message: str = "", of: tuple[str, ...] = ()) -> Record:
    return Record(id=id, kind=kind, at=float(len(id)), session="s", message=message, changes=changes, of=of)


def change(path: str, before: FileState | None, after: FileState | None) -> Change:
    return Change(path=path, before=before, after=after)


def test_a_turn_of_many_calls_is_one_change_of_each_file() -> None:
    calls = [record("1", "turn", change("f", A, B), message="t"), record("2", "turn", change("f", B, C), message="t")]
    (turn,) = turns_of(calls)
    assert turn.changes == (change("f", A, C),)


def test_a_turn_that_changed_nothing_in_the_end_is_none() -> None:
    assert turns_of([record("1", "turn", change("f", A, B), change("f", B, A), message="t")]) == []


def test_a_change_by_somebody_else_in_between_is_noticed() -> None:
    first, second = record("1", "turn", change("f", None, A)), record("2", "turn", change("f", B, C))
    (wanted,) = way_back([first, second])
    assert wanted.between
    assert judge(wanted, C).verdict == "between"
    assert judge(wanted, None).verdict == "same"


def test_verdicts() -> None:
    (wanted,) = way_back([record("1", "turn", change("f", A, B))])
    assert judge(wanted, B).verdict == "put"
    assert judge(wanted, A).verdict == "same"
    assert judge(wanted, C).verdict == "edited"
    assert judge(wanted, None).verdict == "edited"
    assert judge(wanted, B, blocked=True).verdict == "blocked"
    (unsure,) = way_back([record("1", "turn", Change(path="f", before=A, after=B, unsure=True))])
    assert judge(unsure, B).verdict == "unsure"
    (lost,) = way_back([record("1", "turn", change("f", FileState(id="~9"), B))])
    assert judge(lost, B).verdict == "lost"


def test_what_is_taken_back_can_come_and_go() -> None:
    log = [record("1", message="t1"), record("2", message="t2"), record("u", "undo", of=("t2",))]
    assert taken_back(log) == {"t2"}
    log.append(record("v", "undo", of=("t1",)))
    assert taken_back(log) == {"t1", "t2"}
    log.append(record("r", "redo", of=("v",)))
    assert taken_back(log) == {"t2"}
    last = redoable(log, {"s"})
    assert last is not None
    assert last.id == "u"
    assert redoable(log, {"another"}) is None
    log.append(record("w", "undo", of=("t1",)))
    assert taken_back(log) == {"t1", "t2"}
