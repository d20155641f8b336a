"""Measure project memory that is shared with a team, compared with `ltm.json`: reading and saving.

    python bench/team.py

The data is generated in a temporary folder. cold: a new process without a cache; cached: a new process with
`.clio/cache/ltm.team`; warm: the same process again, as in each turn.
"""

import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from clio.config.project_links import trust_team
from clio.memory.store.ltm_store import LongTermMemory
from clio.memory.store.record import MemoryDraft, Provenance
from clio.memory.team.share import Sharing

SIZES = (200, 2_000)
ROUNDS = 15
PROVENANCE = Provenance(asserted_by="user")


def format_times(work: Callable[[], object], before: Callable[[], object] = lambda: None) -> str:
    """Return the median wall-clock and CPU times of a call as text. before: called before each run, not measured."""
    walls, cpus = list[float](), list[float]()
    for _ in range(ROUNDS):
        before()
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return f"{statistics.median(walls) * 1e3:8.1f} ms, {statistics.median(cpus) * 1e3:7.1f} ms CPU"


def measure(count: int) -> None:
    """Print the times with `count` memories."""
    with tempfile.TemporaryDirectory(prefix="clio-team-") as name:
        project, home = Path(name) / "project", Path(name) / "home"
        path, cache = project / ".clio" / "ltm.json", project / ".clio" / "cache" / "ltm.team"
        facts = [{"fact": f"part {number} of the parser keeps {number % 97} tokens"} for number in range(count)]

        def open_memory() -> LongTermMemory:
            return LongTermMemory(path, project=project, home=home)

        memory = open_memory()
        memory.import_(json.dumps({"patterns": {"discoveries": facts}}), PROVENANCE)
        numbers = iter(range(1_000_000))

        def make_save(memory: LongTermMemory) -> Callable[[], object]:
            return lambda: memory.add(MemoryDraft(kind="discovery", content=f"new {next(numbers)}"), PROVENANCE)

        print(f"{count:,} memories")
        print(f"  ltm.json: read          {format_times(memory.read)}")
        print(f"  ltm.json: save one      {format_times(make_save(memory))}")
        trust_team(project, home)
        started = time.perf_counter()
        shared = Sharing(path, project=project, home=home, clock=time.time, redact=str)
        shared.turn_on()
        print(f"  share on                {(time.perf_counter() - started) * 1e3:8.1f} ms")
        cold = format_times(lambda: open_memory().read(), lambda: cache.unlink(missing_ok=True))
        print(f"  shared: read, cold      {cold}")
        open_memory().read()
        print(f"  shared: read, cached    {format_times(lambda: open_memory().read())}")
        memory = open_memory()
        memory.read()
        print(f"  shared: read, warm      {format_times(memory.read)}")
        print(f"  shared: save one        {format_times(make_save(memory))}")


def main() -> None:
    """Print all figures."""
    for count in SIZES:
        measure(count)


if __name__ == "__main__":
    main()
