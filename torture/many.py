"""Many clios at work in one project at once, some of them killed, and whether anything was lost or stands still.

python -m torture.many [--seconds 300] [--clios 8] [--seed 1] [--kills 0.1] [--keep]. Each of the eight starts one clio
after the other: turns, memories, nights, the index, sharing, imports, `/undo`. Where two want one session, the second
is refused. At the end all that any of them confirmed must be there, once, and no lock may be held.
"""

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec

from clio.storage.locks import find_lock_owner
from torture.job import Fact
from torture.jobs import any_job, settling
from torture.kill import Costs
from torture.oracle import Oracle
from torture.process import NEVER, preload, start, why_it_broke
from torture.world import Server, World

WAIT_S = 60.0
"""Longer than this nothing here may take: locks are waited for 10 seconds at most."""


def work(world: World, out: Path, seed: int, seconds: float, kills: float) -> None:
    """One of the many: a clio after the other, until the time is up; what was heard is written to `out`.

    Where the torture itself breaks, what was heard until then is written, with what broke.
    """
    rng, costs, oracle = random.Random(seed), Costs(), Oracle()
    count: Counter[str] = Counter()
    end = time.monotonic() + seconds
    slowest = (0.0, "")
    while time.monotonic() < end:
        try:
            job = any_job(rng, world, oracle.facts)
            instant = costs.instant(job.kind, rng) if rng.random() < kills else NEVER
            ended = start(job.arguments, world.project, world.env, instant, work=job.work).finish(job.words)
        except Exception:
            oracle.problems.append(f"one of the many ended early, after {count['runs']} runs: {why_it_broke()}")
            break
        oracle.note(job, ended)
        count["runs"] += 1
        count["killed"] += ended.killed
        count["session open elsewhere"] += "is open in another clio" in ended.err
        count["gave up waiting for a lock"] += "has been locked by process" in ended.err
        slowest = max(slowest, (ended.seconds, job.kind))
        if ended.code == 0:
            costs.seconds[job.kind], costs.calls[job.kind] = ended.seconds, ended.calls
        if ended.seconds > WAIT_S:
            oracle.problems.append(f"{job.kind} took {ended.seconds:.0f} s")
    heard: dict[str, Any] = {"said": oracle.said, "facts": list(oracle.facts), "problems": oracle.problems}
    out.write_bytes(msgspec.json.encode(heard | {"count": count, "slowest": slowest}))


def run(
    folder: Path, url: str, *, clios: int, seconds: float, seed: int, kills: float
) -> tuple[Counter[str], list[str]]:
    """Let them work; what happened how often, and what is wrong. Must be called where no thread runs."""
    world = World(folder / "w", url).make()
    oracle = Oracle()
    for job in settling(random.Random(seed), world):
        oracle.note(job, start(job.arguments, world.project, world.env).finish(job.words))
    outs = [folder / f"heard{number}.json" for number in range(clios)]
    children: list[int] = []
    for number, out in enumerate(outs):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                work(world, out, seed * 100 + number, seconds, kills)
                code = 0
            finally:
                os._exit(code)
        children.append(pid)
    for pid in children:
        os.waitpid(pid, 0)
    count: Counter[str] = Counter()
    slowest = (0.0, "")
    for out in outs:
        if not out.exists():
            oracle.problems.append(f"one of the many ended early and left nothing: {out.name}")
            continue
        heard = json.loads(out.read_bytes())
        said = [(session, message) for session, ids in heard["said"].items() for message in ids]
        oracle.take(said, [Fact(*one.values()) for one in heard["facts"]], heard["problems"])
        count.update(heard["count"])
        slowest = max(slowest, tuple(heard["slowest"]))
    count[f"slowest, {slowest[1]}, in tenths of a second"] = round(slowest[0] * 10)
    held = [str(path) for path in world.kept() if path.name.endswith(".lock") and find_lock_owner(path)]
    count["messages confirmed"] = sum(map(len, oracle.said.values()))
    count["memories confirmed"] = len(oracle.facts)
    count["files"] = len(world.kept())
    count["temporary files left"] = sum(path.name.endswith(".tmp") for path in world.kept())
    problems = [*oracle.problems, *(f"{path} is still held" for path in held)]
    return count, problems + oracle.check(world, ordered=False)


def main() -> int:
    """Let them work, and print what was found; 1 where something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--clios", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kills", type=float, default=0.1)
    parser.add_argument("--keep", action="store_true")
    given = parser.parse_args()
    preload()
    folder = Path(tempfile.mkdtemp(prefix="clio-many-"))
    with Server() as server:
        count, problems = run(
            folder, server.url, clios=given.clios, seconds=given.seconds, seed=given.seed, kills=given.kills
        )
        problems += server.problems()
    print(f"{given.clios} at once for {given.seconds:.0f} s: {json.dumps(count)}")
    print(f"problems: {len(problems)}")
    for problem in problems:
        print(f"- {problem}")
    if given.keep and problems:
        print(f"see {folder}")
    else:
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
