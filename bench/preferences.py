"""Measure how well stated preferences and task types are detected, and what preferences cost.

    python bench/preferences.py

Detection is measured on the corpora of tests/memory/preferences. The rules were written with all of them except
unseen.txt; decision record 0029 has the results of each before the rules were adapted to it.
"""

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.measurements import median_ms
from clio.ids import new_id
from clio.memory.preferences.preferences import Preferences
from clio.memory.preferences.stated_preferences import find_preferences
from clio.memory.preferences.task_types import TaskTypes, detect_task_type
from clio.memory.store.record import MemoryRecord
from clio.memory.store.typed_store import TypedStore
from tests.memory.preferences.corpus import NOTICE_FILES, UNSEEN, scenario_lines, score

ROUNDS = 15


def measure_detection() -> None:
    """Print the precision and recall of detected preferences; "asked" are those that clio asks the user about."""
    print("corpus        lines  saved right/all     asked right/all  precision  recall")
    for name in (*NOTICE_FILES, UNSEEN):
        result = score(name)
        shares = f"{result.recorded_right:>8}/{result.recorded:<12} {result.asked_right:>8}/{result.asked:<8}"
        precision = (result.recorded_right + result.asked_right) / (result.recorded + result.asked)
        print(f"{name:<13} {result.lines:>5}  {shares} {precision:>7.3f}  {result.found / result.wanted:>6.3f}")


def measure_task_types() -> None:
    """Print the share of requests whose task type is detected correctly."""
    task_types, lines = TaskTypes(), scenario_lines()
    right = sum(detect_task_type(text, task_types) == name for text, name in lines)
    print(f"\ntask type: {right} of {len(lines)} requests right, {right / len(lines):.3f}")


def measure_costs() -> None:
    """Print the median times of single calls."""
    print("\npreferences   top 10  top 10 of coding  recall a word  hard limits  add, with fsync")
    with tempfile.TemporaryDirectory() as folder:
        for number in (100, 1_000, 10_000):
            store = TypedStore(Path(folder) / f"{number}.json", "user")
            store.put("bench", [_make_preference(place) for place in range(number)])
            book = Preferences(store, TaskTypes())
            calls: tuple[Callable[[], object], ...] = (
                lambda book=book: book.top(10),
                lambda book=book: book.top(10, scenario="coding"),
                lambda book=book: book.recall("number 77"),
                book.hard_limits,
                lambda book=book: book.add("one of many"),
            )
            print(f"{number:>11}  " + "".join(f"{median_ms(call, ROUNDS):>9.1f} ms" for call in calls))
    print("\nmessage                     detect  task type")
    for label, text in (("a short request", "fix the bug in parser.py"), ("1 MB pasted", "never use tabs.\n" * 65_536)):
        book = TaskTypes()
        detect = median_ms(lambda text=text: find_preferences(text), ROUNDS)
        infer = median_ms(lambda text=text, book=book: detect_task_type(text, book), ROUNDS)
        print(f"{label:<24} {detect:>6.2f} ms {infer:>6.2f} ms")


def _make_preference(place: int) -> MemoryRecord:
    return MemoryRecord(
        id=new_id(),
        kind="preference",
        content=f"prefer thing number {place} over other things",
        score=(place % 100) / 10,
        keywords=(f"keyword{place}",),
        scenarios=("coding",) if place % 2 else (),
        seen=time.time() - place,
    )


if __name__ == "__main__":
    measure_detection()
    measure_task_types()
    measure_costs()
