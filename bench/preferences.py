"""What noticing gets right, and what preferences cost.

    python bench/preferences.py

Noticing and the kinds of work are measured on the corpora of tests/memory/preferences. The rules were written with all
of them but unseen.txt; decision record 0029 says what each gave before the rules had seen it.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from clio.ids import new_id
from clio.memory.preferences.preferences import Preferences
from clio.memory.preferences.stated_preferences import find_preferences
from clio.memory.preferences.task_types import TaskTypes, detect_task_type
from clio.memory.store.record import MemoryRecord
from clio.memory.store.typed_store import TypedStore
from tests.memory.preferences.corpus import NOTICE_FILES, UNSEEN, scenario_lines, score

ROUNDS = 15


def noticing() -> None:
    """Precision: share of what is noticed that should be. Recall: share of what should be that is."""
    print("corpus        lines  recorded right/all  asked right/all  precision  recall")
    for name in (*NOTICE_FILES, UNSEEN):
        one = score(name)
        shares = f"{one.recorded_right:>8}/{one.recorded:<12} {one.asked_right:>8}/{one.asked:<8}"
        precision = (one.recorded_right + one.asked_right) / (one.recorded + one.asked)
        print(f"{name:<13} {one.lines:>5}  {shares} {precision:>7.3f}  {one.found / one.wanted:>6.3f}")


def scenarios() -> None:
    """The share of requests whose kind of work is told right."""
    book, lines = TaskTypes(), scenario_lines()
    right = sum(detect_task_type(text, book) == name for text, name in lines)
    print(f"\nkind of work: {right} of {len(lines)} requests right, {right / len(lines):.3f}")


def costs() -> None:
    """Medians of single calls."""
    print("\npreferences   top 10  top 10 of coding  recall a word  hard limits  add, with fsync")
    with tempfile.TemporaryDirectory() as folder:
        for number in (100, 1_000, 10_000):
            store = TypedStore(Path(folder) / f"{number}.json", "user")
            store.put("bench", [_record(place) for place in range(number)])
            book = Preferences(store, TaskTypes())
            calls: tuple[Callable[[], object], ...] = (
                lambda book=book: book.top(10),
                lambda book=book: book.top(10, scenario="coding"),
                lambda book=book: book.recall("number 77"),
                book.hard_limits,
                lambda book=book: book.add("one of many"),
            )
            print(f"{number:>11}  " + "".join(f"{_median_ms(call):>9.1f} ms" for call in calls))
    print("\nmessage                     notice    infer")
    for shown, text in (("a short request", "fix the bug in parser.py"), ("1 MB pasted", "never use tabs.\n" * 65_536)):
        book = TaskTypes()
        notice_ms = _median_ms(lambda text=text: find_preferences(text))
        row = (notice_ms, _median_ms(lambda text=text, book=book: detect_task_type(text, book)))
        print(f"{shown:<24} {row[0]:>6.2f} ms {row[1]:>6.2f} ms")


def _record(place: int) -> MemoryRecord:
    return MemoryRecord(
        id=new_id(),
        kind="preference",
        content=f"prefer thing number {place} over other things",
        score=(place % 100) / 10,
        keywords=(f"keyword{place}",),
        scenarios=("coding",) if place % 2 else (),
        seen=time.time() - place,
    )


def _median_ms(call: Callable[[], object]) -> float:
    times: list[float] = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        call()
        times.append((time.perf_counter() - begun) * 1e3)
    return statistics.median(times)


if __name__ == "__main__":
    noticing()
    scenarios()
    costs()
