"""Saved turns with their ratings: appending, folding, retention."""

import multiprocessing
from pathlib import Path

from clio.memory.styles.feedback import Rating, Trajectories, Trajectory
from clio.text.scoring import DAY_S

NOW = 1_780_000_000.0


def a_turn(message: str, days_ago: float = 0.0, session: str = "s1") -> Trajectory:
    return Trajectory(message=message, session=session, at=NOW - days_ago * DAY_S, question="why?", style="concise")


def a_rating(message: str, reward: int = 1, source: str = "you", **more: object) -> Rating:
    return Rating(message=message, at=NOW, reward=reward, source=source, **more)  # type: ignore[arg-type]


def test_the_last_rating_of_each_source_counts(tmp_path: Path) -> None:
    file = Trajectories(tmp_path / "t.jsonl")
    file.add(a_turn("m1"), a_rating("m1", 1), a_rating("m1", -1, "tests", weight=0.25), a_rating("m1", -1))

    [rated] = file.all()

    assert [(one.source, one.reward) for one in rated.ratings] == [("tests", -1), ("you", -1)]
    assert rated.reward == -1.25
    assert file.rewards() == {"m1": -1.25}


def test_a_withdrawn_rating_leaves_the_turn_unrated(tmp_path: Path) -> None:
    file = Trajectories(tmp_path / "t.jsonl")
    file.add(a_turn("m1"), a_rating("m1"))
    file.add(a_rating("m1", 0, withdrawn=True))

    assert file.rewards() == {}


def test_the_newest_turn_is_found_after_a_long_history(tmp_path: Path) -> None:
    file = Trajectories(tmp_path / "t.jsonl")
    assert file.last() is None
    file.add(*(a_turn(f"m{n}") for n in range(1_000)))
    newest = file.last()
    file.add(*(a_rating("m7") for _ in range(1_000)))  # the end of the file contains no turn any more
    behind = file.last()

    assert newest is not None and behind is not None
    assert newest.turn.message == behind.turn.message == "m999"


def test_a_torn_line_affects_no_other(tmp_path: Path) -> None:
    file = Trajectories(tmp_path / "t.jsonl")
    file.add(a_turn("m1"))
    with file.path.open("ab") as raw:
        raw.write(b'{"type":"turn","mess')
    file.add(a_turn("m2"))

    assert [one.turn.message for one in file.all()] == ["m1", "m2"]


def test_unrated_turns_are_deleted_after_90_and_365_days_and_rated_ones_kept(tmp_path: Path) -> None:
    file = Trajectories(tmp_path / "t.jsonl")
    file.add(a_turn("rated", 400), a_rating("rated"), a_turn("old", 400), a_turn("older", 91), a_turn("new", 89))

    first = file.retain(NOW)
    second = file.retain(NOW)

    assert (first.kept, first.archived, first.deleted) == (2, 2, 0)
    assert [one.turn.message for one in file.all()] == ["rated", "new"]
    assert (second.kept, second.archived, second.deleted) == (2, 0, 1)
    assert [one.turn.message for one in Trajectories(file.archive).all()] == ["older"]


def test_retention_does_not_create_a_file(tmp_path: Path) -> None:
    Trajectories(tmp_path / "t.jsonl").retain(NOW)

    assert list(tmp_path.iterdir()) == []


def _append(path: str, name: str) -> None:
    file = Trajectories(Path(path))
    for number in range(100):
        file.add(a_turn(f"{name}{number}"))


def test_two_clios_that_append_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    path = tmp_path / "t.jsonl"
    workers = [context.Process(target=_append, args=(str(path), name)) for name in "ab"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)

    assert len(Trajectories(path).all()) == 200
