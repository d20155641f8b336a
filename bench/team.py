"""Times shared knowledge beside `ltm.json`: opening cold and warm, saving one. `python bench/team.py`.

Its data is made here, in a temporary folder. Cold: another process, nothing known of the files; cached: another
process, with `.clio/cache/ltm.team`; warm: the same process again, as in each turn.
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
FROM = Provenance(asserted_by="user")


def timed(work: Callable[[], object], before: Callable[[], object] = lambda: None) -> str:
    """Median milliseconds of wall clock and of CPU of one call. before: not counted."""
    walls, cpus = list[float](), list[float]()
    for _ in range(ROUNDS):
        before()
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return f"{statistics.median(walls) * 1e3:8.1f} ms, {statistics.median(cpus) * 1e3:7.1f} ms CPU"


def measure(count: int) -> None:
    """Print the costs at one size."""
    with tempfile.TemporaryDirectory(prefix="clio-team-") as name:
        project, home = Path(name) / "project", Path(name) / "home"
        path, cache = project / ".clio" / "ltm.json", project / ".clio" / "cache" / "ltm.team"
        facts = [{"fact": f"part {number} of the parser keeps {number % 97} tokens"} for number in range(count)]

        def opened() -> LongTermMemory:
            return LongTermMemory(path, project=project, home=home)

        memory = opened()
        memory.import_(json.dumps({"patterns": {"discoveries": facts}}), FROM)
        numbers = iter(range(1_000_000))

        def save(memory: LongTermMemory) -> Callable[[], object]:
            return lambda: memory.add(MemoryDraft(kind="discovery", content=f"new {next(numbers)}"), FROM)

        print(f"{count:,} entries")
        print(f"  ltm.json: read          {timed(memory.read)}")
        print(f"  ltm.json: save one      {timed(save(memory))}")
        trust_team(project, home)
        begun = time.perf_counter()
        shared = Sharing(path, project=project, home=home, clock=time.time, redact=str)
        shared.turn_on()
        print(f"  share on                {(time.perf_counter() - begun) * 1e3:8.1f} ms")
        cold = timed(lambda: opened().read(), lambda: cache.unlink(missing_ok=True))
        print(f"  shared: read, cold      {cold}")
        opened().read()
        print(f"  shared: read, cached    {timed(lambda: opened().read())}")
        memory = opened()
        memory.read()
        print(f"  shared: read, warm      {timed(memory.read)}")
        print(f"  shared: save one        {timed(save(memory))}")


def main() -> None:
    """Print all figures."""
    for count in SIZES:
        measure(count)


if __name__ == "__main__":
    main()
