"""A few seconds of each torture, for the tests: `python -m torture.short`."""

import json
import random
import shutil
import sys
import tempfile
from pathlib import Path

from torture import many, tear, trouble
from torture.endings import drop_note, rate
from torture.job import remembered_in
from torture.jobs import note
from torture.kill import Killing
from torture.oracle import Oracle
from torture.process import preload, start
from torture.world import AT_WORK, Server, World

TEARS = (".journal.jsonl", "recall.sqlite")


def main() -> int:
    """All of it; 1 where something is wrong."""
    preload()
    folder = Path(tempfile.mkdtemp(prefix="clio-short-"))
    try:
        with Server() as server:
            problems = kill(folder, server.url) + tears(folder, server.url) + together(folder, server.url)
            problems += sabotage(folder, server.url)
    finally:
        shutil.rmtree(folder)
    failed = [name for name in ("full", "writers", "read-only", "clock", "locks") if trouble.scene(name, 1, 1)]
    for problem in problems:
        print(f"- {problem}")
    return 1 if problems or failed else 0


def kill(folder: Path, url: str) -> list[str]:
    """Four kills in one project."""
    killing = Killing(folder / "kill", url, 3, 4, anew=0.0)
    killing.until(4, 60)
    print(f"kill: {killing.kills.total()} killed, {killing.messages} messages and {killing.facts} memories")
    return killing.problems


def tears(folder: Path, url: str) -> list[str]:
    """One damage to each of a few kinds of file."""
    tearing = tear.Tearing(folder / "tear", url, 1, shared=False)
    done = 0
    for part in TEARS:
        path = next(path for path in tearing.world.kept() if part in str(path) and path.stat().st_size)
        tearing.tear(
            path, next(one for one in tear.damages(path.read_bytes(), tearing.rng) if one.name == "other bytes")
        )
        done += 1
    print(f"tear: {done} damages")
    return tearing.problems


def together(folder: Path, url: str) -> list[str]:
    """Two at once for a moment."""
    count, problems = many.run(folder / "many", url, clios=2, seconds=0.3, seed=1, kills=0.2)
    print(f"many: {count['runs']} runs")
    return problems


def sabotage(folder: Path, url: str) -> list[str]:
    """Whether the oracle notices what is taken away behind clio's back."""
    world, oracle = World(folder / "sabotage", url).make(), Oracle()
    trouble.settle(world, random.Random(1), oracle)
    words = ("-p", f"script:{AT_WORK}", "--output", "stream-json", "--approve", "all")
    ended = start(words, world.project, world.env).finish()
    oracle.facts |= {*remembered_in(ended)}
    rng = random.Random(2)
    kept = note(rng, world)
    trouble.one(world, kept, oracle)
    forgotten = world.project / ".clio" / "memory" / f"{kept.arguments[2]}.json"
    back = forgotten.read_bytes()
    for maker in (drop_note, rate):
        job = maker(rng, [fact for fact in oracle.facts if fact.key != "plan"])
        trouble.one(world, job or kept, oracle)
    if wrong := oracle.problems + oracle.check(world):
        return wrong
    forgotten.write_bytes(back)
    for path in (world.project / ".clio" / "ltm.json", world.project / ".clio" / "memory" / "plan.json"):
        path.unlink()
    for name in ("styles.json", "trajectories.jsonl"):
        next(path for path in world.kept() if path.name == name).unlink()
    session = world.project / ".clio" / "sessions" / f"{next(iter(oracle.said))}.json"
    kept = json.loads(session.read_bytes())
    kept["history"] = kept["history"][:-1]
    session.write_text(json.dumps(kept), encoding="utf-8")
    (world.project / "a.txt").write_text("half of a li", encoding="utf-8")
    wrong = " ".join(oracle.check(world))
    missed = [
        part
        for part in (
            "ltm:",
            "notes: 'of a turn' is there 0 times",
            "was forgotten and is there 1 times",
            "styles:",
            "ratings:",
            "confirmed message",
            "a.txt of the project is torn",
        )
        if part not in wrong
    ]
    print("sabotage: " + (f"not seen: {missed} in {wrong}" if missed else "seen"))
    return [f"the oracle does not see {part}" for part in missed]


if __name__ == "__main__":
    sys.exit(main())
