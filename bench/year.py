"""A year of work in one project, day by day: whether what memory takes, brings up and costs stays bounded.

    python -m bench.year [--sessions 250] [--days 365] [--seed 1]      the numbers, and docs/year.svg

The person, the model and the project are made up (`bench.year_data`); sessions, memory and sleep are clio's own, with
a clock that is set (`bench.year_work`). Times are of the processor, so that whatever else the machine does is not in
them; files lie in memory where the machine has a place for that. The chart is drawn for 250 sessions in 365 days.
"""

import argparse
import gc
import os
import random
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from bench.curves import Panel, Series, write_charts
from bench.year_data import World, days_of_work
from bench.year_work import Clock, Given, Year, clocks
from clio.cli import GC_THRESHOLDS

CHART = Path(__file__).parent.parent / "docs" / "year.svg"
DAY_S = 86_400
MONDAY = datetime(2026, 1, 5).timestamp()
IN_MEMORY = Path("/dev/shm")
KINDS = {
    "memories": ("memories.json", "memories.journal.jsonl", "ltm.json", "ltm.uses.json", "memory/"),
    "change log": ("memory.log.jsonl",),
    "accounts": ("sleep", "trajectories", "styles.json"),
    "caches": ("cache/",),
    "sessions": ("sessions/",),
}


class Week(Struct, frozen=True, kw_only=True):
    """What a week came to. kb: thousands of bytes on disk by kind. records: live, superseded, archived, by the name."""

    number: int
    given: Sequence[Given]
    kb: dict[str, float]
    records: dict[str, int]
    files: dict[str, float]
    night_s: float


def live(folder: Path, sessions: int, days: int, seed: int, tell: Callable[[str], None]) -> list[Week]:
    """Carry the year out, a week of which is looked at whenever it is over."""
    clock, weeks = Clock(MONDAY), list[Week]()
    given, nights = list[Given](), list[float]()
    with clocks(clock, random.Random(seed + 1)):
        year = Year(folder, World(random.Random(seed + 2)), clock, random.Random(seed + 3))
        begins = list(days_of_work(random.Random(seed), sessions, days))
        for number, (day, hour) in enumerate(begins):
            clock.now = max(clock.now + 60, MONDAY + day * DAY_S + hour * 3_600)
            given += year.work()
            following = begins[number + 1][0] if number + 1 < len(begins) else days
            if following == day:
                continue
            clock.now += 600
            began = time.thread_time()
            report = year.night()
            nights.append(time.thread_time() - began)
            for sentence in report.errors:
                tell(f"trouble in the night of day {day}: {sentence}")
            if following // 7 > day // 7:
                weeks.append(_week(day // 7, given, nights, year))
                given, nights = [], []
    return weeks


def _week(number: int, given: Sequence[Given], nights: Sequence[float], year: Year) -> Week:
    files = {
        str(path.relative_to(year.project)): path.stat().st_size / 1e3
        for path in year.project.rglob("*")
        if path.is_file() and path.parts[len(year.project.parts)] in (".clio", "home")
    }
    return Week(
        number=number,
        given=given,
        kb={kind: sum(size for name, size in files.items() if kind_of(name) == kind) for kind in KINDS},
        records=year.records(),
        files=files,
        night_s=max(nights),
    )


def kind_of(name: str) -> str:
    """The kind of a file, by its path below the project or the home folder."""
    below = name.partition("/")[2]
    return next((kind for kind, starts in KINDS.items() if below.startswith(starts)), "")


def share(given: Sequence[Given], part: Callable[[Given], int], whole: Callable[[Given], int]) -> float:
    """The share of the parts in the wholes, in percent; 0.0 of nothing."""
    total = sum(map(whole, given))
    return 100 * sum(map(part, given)) / total if total else 0.0


def mean(given: Sequence[Given], value: Callable[[Given], float]) -> float:
    """The mean over the turns."""
    return statistics.mean(map(value, given)) if given else 0.0


def recalls(given: Sequence[Given]) -> list[float]:
    """The processor's milliseconds of each question to everything."""
    return [one.recall_ms for one in given if one.asked] or [0.0]


ROWS: dict[str, Callable[[Week], float]] = {
    **{f"{kind} on disk, kB": (lambda week, kind=kind: week.kb[kind]) for kind in KINDS},
    **{f"{name}": (lambda week, name=name: week.records[name]) for name in Year.RECORDS},
    "prompt tokens, prefix": lambda week: mean(week.given, lambda one: one.prefix),
    "prompt tokens, a turn": lambda week: mean(week.given, lambda one: one.tokens),
    "turn, median ms": lambda week: statistics.median(one.ms for one in week.given),
    "recall, median ms": lambda week: statistics.median(recalls(week.given)),
    "recall, slowest ms": lambda week: max(recalls(week.given)),
    "longest night, s": lambda week: week.night_s,
    "stale items, %": lambda week: share(week.given, lambda one: sum(one.stale.values()), lambda one: one.items),
    "stale and not marked, %": lambda week: share(
        week.given, lambda one: sum(one.stale.values()) - sum(one.marked.values()), lambda one: one.items
    ),
    "answer injected, %": lambda week: share(week.given, lambda one: one.injected, lambda one: one.asked),
    "only stale injected, %": lambda week: share(week.given, lambda one: one.misled, lambda one: one.asked),
    "answer in recall @5, %": lambda week: share(week.given, lambda one: one.recalled, lambda one: one.asked),
    "answer in either, %": lambda week: share(week.given, lambda one: one.found, lambda one: one.asked),
}


def report(weeks: Sequence[Week], days: int) -> None:
    """Print the quarters, and how much each number rises a week over the second half of the time."""
    size = days / 7 / 4
    quarters = [[week for week in weeks if int(min(week.number // size, 3)) == place] for place in range(4)]
    half = [*quarters[2], *quarters[3]]
    print(f"{'':28}" + "".join(f"{name:>10}" for name in ("quarter 1", "2", "3", "4", "last week", "a week")))
    for name, value in ROWS.items():
        means = [statistics.mean(map(value, quarter)) if quarter else 0.0 for quarter in quarters]
        rise = statistics.linear_regression([week.number for week in half], [value(week) for week in half]).slope
        print(f"{name:28}" + "".join(f"{number:>10,.1f}" for number in (*means, value(weeks[-1]))) + f"{rise:>+10.2f}")
    turns = [one for week in half for one in week.given]
    stale, marked = Counter[str](), Counter[str]()
    for one in turns:
        stale.update(one.stale)
        marked.update(one.marked)
    each = ", ".join(f"{kind} {100 * count / sum(one.items for one in turns):.1f} % ({marked[kind] / count:.0%} marked)"
                     for kind, count in stale.most_common())  # fmt: skip
    print(f"stale items in the second half: {each}")
    largest = sorted(weeks[-1].files.items(), key=lambda item: -item[1])
    named = [f"{name} {size:,.0f} kB" for name, size in largest if kind_of(name) != "sessions"][:12]
    print(f"largest files beside sessions: {', '.join(named)}")


def panels(weeks: Sequence[Week]) -> list[Panel]:
    """The charts, one below the other."""

    def lines(*names: str) -> list[Series]:
        told = [name.removesuffix(", kB").removesuffix(" on disk") for name in names]
        rows = [[(week.number + 1.0, ROWS[name](week)) for week in weeks] for name in names]
        return [Series(name, row) for name, row in zip(told, rows, strict=True)]

    kinds = [f"{kind} on disk, kB" for kind in KINDS if kind not in ("sessions", "caches")]
    return [
        Panel("On disk, without sessions and caches", "week", "kB", lines(*kinds)),
        Panel("Memories and entries", "week", "how many", lines(*Year.RECORDS[:5])),
        Panel("Processor time", "week", "ms", lines("turn, median ms", "recall, median ms")),
        Panel("Memory in the prompt", "week", "tokens", lines("prompt tokens, prefix", "prompt tokens, a turn")),
        Panel("Stale items in the prompt", "week", "%", lines("stale items, %", "stale and not marked, %")),
        Panel(
            "Questions with a known answer", "week", "%",
            lines("answer injected, %", "answer in recall @5, %", "answer in either, %"),
        ),
    ]  # fmt: skip


def main() -> None:
    """Live the year and say what it came to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=250)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    os.environ["TZ"] = "UTC"
    time.tzset()
    gc.set_threshold(*GC_THRESHOLDS)
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(dir=IN_MEMORY if IN_MEMORY.is_dir() else None) as folder:
        weeks = live(Path(folder), asked.sessions, asked.days, asked.seed, print)
    turns = sum(len(week.given) for week in weeks)
    print(
        f"{asked.sessions} sessions, {turns:,} turns, {sum(one.asked for week in weeks for one in week.given):,} "
        f"questions, in {time.perf_counter() - began:.0f} s"
    )
    report(weeks, asked.days)
    if (asked.sessions, asked.days) == (250, 365):
        write_charts(CHART, panels(weeks))


if __name__ == "__main__":
    main()
