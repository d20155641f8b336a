"""A dry run reports what the consolidation would do, and writes nothing."""

from pathlib import Path

from clio.memory.consolidation.consolidation import Report
from clio.memory.store.notes import Notes
from clio.memory.store.typed_store import TypedStore
from tests.memory.consolidation.consolidation_support import DAY, FACTS, NOW, Place, noted, user_turn
from tests.support.wording import mentions


def test_it_reports_what_consolidation_then_does_and_writes_nothing(tmp_path: Path) -> None:
    place = Place(tmp_path)
    Notes(place.project / ".clio" / "memory", lambda: NOW).store("steps", "tag, push, publish")
    TypedStore(place.project / ".clio" / "memories.json", clock=lambda: NOW - 200 * DAY).remember("Long unused", "fact")
    TypedStore(place.user_home / "memories.json", clock=lambda: NOW - 200 * DAY).remember("Mine, unused", "note")
    for _ in range(3):
        place.session(*(user_turn(fact) for fact in FACTS), noted("steps"))
    before, times = place.tree(), stamps(place)
    dry = place.dry_run()
    assert (place.tree(), stamps(place)) == (before, times)
    assert dry.dry_run and dry.line.endswith("· nothing was written")
    done = place.sleep()
    assert numbers(dry) == numbers(done)
    assert (done.facts, done.promoted, done.archived) == (len(FACTS), 1, 2)


def test_after_a_consolidation_there_is_nothing_left_to_do(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.session(*(user_turn(fact) for fact in FACTS))
    place.sleep()
    before = place.tree()
    assert mentions(place.dry_run().line, "dry run", "0 turns", "nothing new", "nothing was written")
    assert place.tree() == before


def stamps(place: Place) -> dict[str, tuple[int, int]]:
    root = place.project.parent
    return {str(path): (path.stat().st_mtime_ns, path.stat().st_ino) for path in root.rglob("*")}


def numbers(report: Report) -> dict[str, int]:
    names = "sessions replayed facts solutions workflows rules promoted superseded merged archived confirmed".split()
    return {name: getattr(report, name) for name in names}
