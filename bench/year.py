"""Simulate a year of work in one project: do the size, the cost and the errors of memory stay bounded?

    python -m bench.year [--sessions 250] [--days 365] [--seed 1]

Prints the figures and, for 250 sessions in 365 days, draws docs/year.svg. The user, the model and the project are
generated (`bench.year_data`); sessions, memory and consolidation are clio's own, with a simulated clock
(`bench.year_work`). Times are processor times, which other work on the machine does not change. Files are in /dev/shm
if it exists, else on disk.
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
from bench.year_data import World, draw_session_times
from bench.year_work import Clock, TurnMetrics, Year, patch_clocks
from clio.cli import GC_THRESHOLDS

CHART = Path(__file__).parent.parent / "docs" / "year.svg"
DAY_S = 86_400
MONDAY = datetime(2026, 1, 5).timestamp()
IN_MEMORY = Path("/dev/shm")
KINDS = {
    "memories": ("memories.json", "memories.journal.jsonl", "ltm.json", "ltm.uses.json", "memory/"),
    "change log": ("memory.log.jsonl",),
    "ratings and reports": ("sleep", "trajectories", "styles.json"),
    "caches": ("cache/",),
    "sessions": ("sessions/",),
}


class Week(Struct, frozen=True, kw_only=True):
    """The figures of one week.

    kb, files: size on disk in kB by kind of file, and by file. records: counts by the names of `Year.RECORDS`.
    consolidation_s: processor time of the longest consolidation.
    """

    number: int
    turns: Sequence[TurnMetrics]
    kb: dict[str, float]
    records: dict[str, int]
    files: dict[str, float]
    consolidation_s: float


def simulate(folder: Path, sessions: int, days: int, seed: int) -> list[Week]:
    """Run the sessions, consolidate after each day with sessions, and return the figures of each week."""
    clock, weeks = Clock(MONDAY), list[Week]()
    turns, consolidation_times = list[TurnMetrics](), list[float]()
    with patch_clocks(clock, random.Random(seed + 1)):
        year = Year(folder, World(random.Random(seed + 2)), clock, random.Random(seed + 3))
        times = list(draw_session_times(random.Random(seed), sessions, days))
        for number, (day, hour) in enumerate(times):
            clock.now = max(clock.now + 60, MONDAY + day * DAY_S + hour * 3_600)
            turns += year.run_session()
            next_day = times[number + 1][0] if number + 1 < len(times) else days
            if next_day == day:
                continue
            clock.now += 600
            started = time.thread_time()
            report = year.consolidate()
            consolidation_times.append(time.thread_time() - started)
            for sentence in report.errors:
                print(f"error in the consolidation after day {day}: {sentence}")
            if next_day // 7 > day // 7:
                weeks.append(_week(day // 7, turns, consolidation_times, year))
                turns, consolidation_times = [], []
    return weeks


def _week(number: int, turns: Sequence[TurnMetrics], consolidation_times: Sequence[float], year: Year) -> Week:
    files = {
        str(path.relative_to(year.project)): path.stat().st_size / 1e3
        for path in year.project.rglob("*")
        if path.is_file() and path.parts[len(year.project.parts)] in (".clio", "home")
    }
    return Week(
        number=number,
        turns=turns,
        kb={kind: sum(size for name, size in files.items() if classify_file(name) == kind) for kind in KINDS},
        records=year.count_records(),
        files=files,
        consolidation_s=max(consolidation_times),
    )


def classify_file(name: str) -> str:
    """Return the kind of a file from its path relative to the project, or "" if it has none."""
    below = name.partition("/")[2]
    return next((kind for kind, starts in KINDS.items() if below.startswith(starts)), "")


def percentage(
    turns: Sequence[TurnMetrics], part: Callable[[TurnMetrics], int], whole: Callable[[TurnMetrics], int]
) -> float:
    """Return the sum of `part` as a percentage of the sum of `whole`; 0.0 if the latter is 0."""
    total = sum(map(whole, turns))
    return 100 * sum(map(part, turns)) / total if total else 0.0


def mean(turns: Sequence[TurnMetrics], value: Callable[[TurnMetrics], float]) -> float:
    """Return the mean of a value over the turns, or 0.0 without turns."""
    return statistics.mean(map(value, turns)) if turns else 0.0


def recall_times(turns: Sequence[TurnMetrics]) -> list[float]:
    """Return the processor time of each search in ms."""
    return [one.recall_ms for one in turns if one.asked] or [0.0]


ROWS: dict[str, Callable[[Week], float]] = {
    **{f"{kind} on disk, kB": (lambda week, kind=kind: week.kb[kind]) for kind in KINDS},
    **{f"{name}": (lambda week, name=name: week.records[name]) for name in Year.RECORDS},
    "tokens, system prompt": lambda week: mean(week.turns, lambda one: one.system_tokens),
    "tokens, before the message": lambda week: mean(week.turns, lambda one: one.message_tokens),
    "turn, median ms": lambda week: statistics.median(one.turn_ms for one in week.turns),
    "recall, median ms": lambda week: statistics.median(recall_times(week.turns)),
    "recall, slowest ms": lambda week: max(recall_times(week.turns)),
    "longest consolidation, s": lambda week: week.consolidation_s,
    "stale items, %": lambda week: percentage(week.turns, lambda one: sum(one.stale.values()), lambda one: one.items),
    "stale and not marked, %": lambda week: percentage(
        week.turns, lambda one: sum(one.stale.values()) - sum(one.marked.values()), lambda one: one.items
    ),
    "answer in the prompt, %": lambda week: percentage(week.turns, lambda one: one.injected, lambda one: one.asked),
    "only stale in the prompt, %": lambda week: percentage(
        week.turns, lambda one: one.only_stale, lambda one: one.asked
    ),
    "answer in recall @5, %": lambda week: percentage(week.turns, lambda one: one.recalled, lambda one: one.asked),
    "answer in either, %": lambda week: percentage(week.turns, lambda one: one.found, lambda one: one.asked),
}


def report(weeks: Sequence[Week], days: int) -> None:
    """Print the mean of each quarter, the last week, and the increase per week in the second half of the time."""
    size = days / 7 / 4
    quarters = [[week for week in weeks if int(min(week.number // size, 3)) == place] for place in range(4)]
    half = [*quarters[2], *quarters[3]]
    print(f"{'':33}" + "".join(f"{name:>10}" for name in ("quarter 1", "2", "3", "4", "last week", "per week")))
    for name, value in ROWS.items():
        means = [statistics.mean(map(value, quarter)) if quarter else 0.0 for quarter in quarters]
        rise = statistics.linear_regression([week.number for week in half], [value(week) for week in half]).slope
        print(f"{name:33}" + "".join(f"{number:>10,.1f}" for number in (*means, value(weeks[-1]))) + f"{rise:>+10.2f}")
    turns = [one for week in half for one in week.turns]
    stale, marked = Counter[str](), Counter[str]()
    for one in turns:
        stale.update(one.stale)
        marked.update(one.marked)
    items = sum(one.items for one in turns)
    by_source = ", ".join(
        f"{source} {100 * count / items:.1f} % ({marked[source] / count:.0%} marked)"
        for source, count in stale.most_common()
    )
    print(f"stale items in the second half: {by_source}")
    largest = sorted(weeks[-1].files.items(), key=lambda item: -item[1])
    named = [f"{name} {size:,.0f} kB" for name, size in largest if classify_file(name) != "sessions"][:12]
    print(f"largest files without sessions: {', '.join(named)}")


def panels(weeks: Sequence[Week]) -> list[Panel]:
    """Return the charts, from top to bottom."""

    def lines(*names: str) -> list[Series]:
        labels = [name.removesuffix(", kB").removesuffix(" on disk") for name in names]
        rows = [[(week.number + 1.0, ROWS[name](week)) for week in weeks] for name in names]
        return [Series(name, row) for name, row in zip(labels, rows, strict=True)]

    kinds = [f"{kind} on disk, kB" for kind in KINDS if kind not in ("sessions", "caches")]
    return [
        Panel("On disk, without sessions and caches", "week", "kB", lines(*kinds)),
        Panel("Memories", "week", "count", lines(*Year.RECORDS[:5])),
        Panel("Processor time", "week", "ms", lines("turn, median ms", "recall, median ms")),
        Panel("Memory in the prompt", "week", "tokens", lines("tokens, system prompt", "tokens, before the message")),
        Panel("Stale items in the prompt", "week", "%", lines("stale items, %", "stale and not marked, %")),
        Panel(
            "Questions with a known answer", "week", "%",
            lines("answer in the prompt, %", "answer in recall @5, %", "answer in either, %"),
        ),
    ]  # fmt: skip


def main() -> None:
    """Simulate the year and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=250)
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    os.environ["TZ"] = "UTC"
    time.tzset()
    gc.set_threshold(*GC_THRESHOLDS)
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(dir=IN_MEMORY if IN_MEMORY.is_dir() else None) as folder:
        weeks = simulate(Path(folder), arguments.sessions, arguments.days, arguments.seed)
    turns = sum(len(week.turns) for week in weeks)
    print(
        f"{arguments.sessions} sessions, {turns:,} turns, {sum(one.asked for week in weeks for one in week.turns):,} "
        f"questions, in {time.perf_counter() - started:.0f} s"
    )
    report(weeks, arguments.days)
    if (arguments.sessions, arguments.days) == (250, 365):
        write_charts(CHART, panels(weeks))


if __name__ == "__main__":
    main()
