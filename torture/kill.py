"""Kills real clios at random instants and asks after each whether all that was confirmed is there.

python -m torture.kill [--runs 1000] [--seconds 600] [--seed 1] [--fresh 40] [--keep]. Half of the instants are changes
of a file, chosen among all there are in such a run; the others are times. One clio in ten is started as from a shell,
the others are forked (see `torture.process`). A run that was over before its instant does not count. The project is a
new one after every `--fresh` kills.
"""

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from torture.endings import drop_note, drop_preference, forget
from torture.job import Job
from torture.jobs import any_job, learn, note, prefer, remember, settling
from torture.oracle import Oracle
from torture.process import Instant, preload, start, why_it_broke
from torture.world import Server, World


class Costs:
    """How long a kind of job takes and how many changes of files it makes: the most that was seen so far."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.calls: dict[str, int] = {}

    def instant(self, kind: str, rng: random.Random) -> Instant:
        """Somewhere in a run of this kind; never, where none was seen yet."""
        if kind not in self.calls:
            return Instant()
        if self.calls[kind] and rng.random() < 0.5:
            return Instant(call=rng.randrange(self.calls[kind]), half=rng.random() < 0.5)
        return Instant(seconds=rng.random() * self.seconds[kind])


class Killing:
    """Runs until enough were killed or the time is up; counts what happened."""

    def __init__(self, folder: Path, url: str, seed: int, fresh: int, anew: float = 0.1) -> None:
        self.folder, self.url, self.fresh, self.anew = folder, url, fresh, anew
        self.rng = random.Random(seed)
        self.costs = Costs()
        self.kills: Counter[str] = Counter()
        self.worlds = self.runs = 0
        self.messages = self.facts = 0
        self.stores: Counter[str] = Counter()
        self.left: Counter[str] = Counter()
        self.problems: list[str] = []

    def until(self, kills: int, seconds: float) -> None:
        """Kill so many, or as many as the time allows."""
        end = time.monotonic() + seconds
        while self.kills.total() < kills and time.monotonic() < end:
            self.worlds += 1
            try:
                self._world(min(self.fresh, kills - self.kills.total()), end)
            except Exception:
                self.problems.append(f"world {self.worlds} ended early, in run {self.runs}: {why_it_broke()}")

    def _world(self, kills: int, end: float) -> None:
        world = World(self.folder / f"w{self.worlds}", self.url).make()
        oracle, done = Oracle(), 0
        for job in settling(self.rng, world):
            oracle.note(job, start(job.arguments, world.project, world.env).finish(job.words))
        self._forget(world, oracle)
        while done < kills and time.monotonic() < end:
            job = any_job(self.rng, world, oracle.facts, alone=True)
            before = len(oracle.problems)
            killed = self._run(job, world, oracle)
            wrong = oracle.problems[before:] + (oracle.check(world) if killed else [])
            done += killed
            if wrong:
                self.problems += [f"world {self.worlds}, run {self.runs}: {job.kind}: {sentence}" for sentence in wrong]
                break
        self.messages += sum(map(len, oracle.said.values()))
        self.facts += len(oracle.facts)
        self.stores.update(fact.store for fact in oracle.facts)
        self.left["temporary files"] += sum(path.name.endswith(".tmp") for path in world.kept())
        self.left["files"] += len(world.kept())
        if len(self.problems) == 0:
            shutil.rmtree(world.folder, ignore_errors=True)  # a killed clio's command may still write there

    def _forget(self, world: World, oracle: Oracle) -> None:
        """Something of each store, and nobody is killed: from the first kill on there is what may come back."""
        for kind, ending in ((learn, forget), (remember, forget), (note, drop_note), (prefer, drop_preference)):
            told = kind(self.rng, world)
            before = set(oracle.facts)
            oracle.note(told, start(told.arguments, world.project, world.env).finish())
            forgotten = ending(self.rng, oracle.facts - before)
            if forgotten is not None:
                oracle.note(forgotten, start(forgotten.arguments, world.project, world.env).finish())

    def _run(self, job: Job, world: World, oracle: Oracle) -> bool:
        self.runs += 1
        anew = job.work is None and self.rng.random() < self.anew
        kind = f"{job.kind} anew" if anew else job.kind
        instant = self.costs.instant(kind, self.rng)
        ended = start(job.arguments, world.project, world.env, instant, work=job.work, anew=anew).finish(job.words)
        oracle.note(job, ended)
        if not ended.killed and ended.code and job.kind in ("turns", "-p"):
            oracle.problems.append(f"{job.kind}: nobody was in its way, and it ended with {ended.code}: {ended.err}")
        if ended.killed:
            self.kills[job.kind] += 1
        elif ended.code == 0:  # one that was refused is no measure
            self.costs.seconds[kind] = max(ended.seconds, 0.9 * self.costs.seconds.get(kind, 0.0))
            self.costs.calls[kind] = max(ended.calls, self.costs.calls.get(kind, 0))
        return ended.killed


def main() -> int:
    """Kill, and print what was found; 1 where anything was lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--fresh", type=int, default=40)
    parser.add_argument("--keep", action="store_true", help="keep the folder in which something went wrong")
    given = parser.parse_args()
    preload()
    folder = Path(tempfile.mkdtemp(prefix="clio-kill-"))
    began = time.monotonic()
    with Server() as server:
        killing = Killing(folder, server.url, given.seed, given.fresh)
        killing.until(given.runs, given.seconds)
        killing.problems += server.problems()
    kinds = ", ".join(f"{kind} {count}" for kind, count in killing.kills.most_common())
    print(f"{killing.kills.total()} of {killing.runs} clios killed in {killing.worlds} projects: {kinds}")
    print(f"{killing.messages} messages and {killing.facts} memories were confirmed")
    print("by store: " + ", ".join(f"{store} {count}" for store, count in sorted(killing.stores.items())))
    print(f"left: {killing.left['temporary files']} temporary files among {killing.left['files']}")
    print(f"{time.monotonic() - began:.0f} s; problems: {len(killing.problems)}")
    for problem in killing.problems:
        print(f"- {problem}")
    if given.keep and killing.problems:
        print(f"see {folder}")
    else:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if killing.problems else 0


if __name__ == "__main__":
    sys.exit(main())
