"""Twenty machines of one user that remember, change, forget and undo, and synchronize at random times with kill -9.

`python -m torture.sync --machines 20 --rounds 12 --seed 1` plays it and checks it: in the end all machines are equal,
nothing that nobody forgot is gone, and nothing that was forgotten and not brought back is there.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from clio.config.memory_seal import seal_memory
from clio.errors import ClioError, UserError
from clio.memory.store.change_log import ScopeLogs
from clio.memory.store.memory_store import MemoryStore
from clio.memory.store.record import Kind, MemoryDraft, Provenance
from clio.sync.engine import ChosenProject, Report, SyncFiles, Synchronizer, SyncSettings
from clio.sync.records import Key, make_identity, write_key_file
from clio.sync.sources import open_project_sources, open_user_sources

IDENTITY = "example.org/app"
SAID = Provenance(session="s", message="m", asserted_by="user")
_KINDS: tuple[Kind, ...] = (
    "discovery",
    "solution",
    "pattern",
    "failure",
    "rule",
    "fact",
    "event",
    "note",
    "preference",
)


class Machine:
    """One machine: its home, its checkout of the project, and a clock that may be wrong."""

    def __init__(self, folder: Path, number: int, remote: Path, skew_s: float, identity: str = "") -> None:
        self.name, self.skew_s = f"m{number}", skew_s
        self.home, self.project = folder / self.name / "home", folder / self.name / "project"
        (self.project / ".clio").mkdir(parents=True)
        self.home.mkdir()
        seal_memory(self.project, self.home)
        self.files = SyncFiles(self.home)
        projects = {str(self.project): ChosenProject(identity=IDENTITY)}
        if identity:
            write_key_file(self.files.key_path, identity)
        self.files.save_settings(SyncSettings(remote=str(remote), encrypted=bool(identity), projects=projects))
        logs = ScopeLogs(self.project / ".clio", self.home, clock=self.clock)
        self.store = MemoryStore(self.project / ".clio", self.home, logs=logs, redact=str, clock=self.clock)

    def clock(self) -> float:
        """The time as this machine has it."""
        return time.time() + self.skew_s

    def synchronize(self, *, push: bool = True) -> Report:
        """Synchronize, waiting for a run that goes on. Raises ClioError."""
        return Synchronizer(self.files, str, clock=self.clock).run(push=push, wait_s=60.0)

    def start(self, *, push: bool) -> int:
        """Synchronize in a process of its own; return its id. It leads a process group, so that git dies with it."""
        child = os.fork()
        if child:
            return child
        os.setsid()
        code = 1
        try:
            self.synchronize(push=push)
            code = 0
        except ClioError as error:  # such as: others were faster twelve times
            print(f"{self.name}: {error}", file=sys.stderr)
            code = 3
        finally:
            os._exit(code)
        raise AssertionError("unreachable")

    def contents(self) -> dict[Key, str]:
        """What this machine has: the hash of the value of each record."""
        scope = f"project:{IDENTITY}"
        sources = open_user_sources(self.home, str, self.clock)
        sources += open_project_sources(self.project, scope, self.home, str, self.clock)
        return {key: item.digest for source in sources for key, item in source.read().items()}


@dataclass
class Truth:
    """What has to come of it.

    Attributes:
        texts: those each memory ever had.
        replaced: those that somebody saw and changed, and that nobody brought back by undo: a machine that had not
            seen that may have changed the same text before.
    """

    texts: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    replaced: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    forgotten: set[str] = field(default_factory=set[str])
    brought_back: set[str] = field(default_factory=set[str])
    restored: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])


def play(folder: Path, *, machines: int, rounds: int, seed: int, identity: str = "") -> dict[str, int]:
    """Play it, and check it."""
    rng, truth, done = random.Random(seed), Truth(), Counter[str]()
    remote = folder / "remote.git"
    subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", str(remote)], check=True)
    team = [Machine(folder, number, remote, rng.uniform(-3600, 3600), identity) for number in range(machines)]
    for _ in range(rounds):
        running: list[int] = []
        for machine in rng.sample(team, machines):
            for _ in range(rng.randrange(4)):
                done[_act(machine, truth, rng)] += 1
            if rng.random() < 0.75:
                running.append(machine.start(push=rng.random() < 0.8))
                if rng.random() < 0.5:  # while it runs
                    done[_act(machine, truth, rng)] += 1
                if rng.random() < 0.45:
                    time.sleep(rng.uniform(0, 0.5))
                    done["killed"] += _kill(running.pop(), whole=rng.random() < 0.5)
            while len(running) >= 2:
                done[f"ended {_wait(running.pop(0))}"] += 1
        for child in running:
            done[f"ended {_wait(child)}"] += 1
    for _ in range(2):
        for machine in team:
            machine.synchronize()
    _check(team, truth)
    return {**done, "alive": len(team[0].store.records()), "forgotten": len(truth.forgotten)}


def _wait(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _kill(child: int, *, whole: bool) -> int:
    """Kill a process with SIGKILL, and its git with it or not; return 1 if it was still running."""
    with suppress(ProcessLookupError, PermissionError):
        if whole:
            os.killpg(child, signal.SIGKILL)
        else:
            os.kill(child, signal.SIGKILL)
    return int(_wait(child) == -signal.SIGKILL)


def _act(machine: Machine, truth: Truth, rng: random.Random) -> str:
    store, action = machine.store, rng.random()
    known = {record.id: record for record in store.records() if record.kind in _KINDS or record.key}
    if action < 0.45 or not known:
        text = f"{machine.name} {rng.randbytes(6).hex()} {rng.randbytes(5).hex()} {rng.randbytes(4).hex()}"
        if rng.random() < 0.15:
            id = store.add(MemoryDraft(key=f"n{rng.randrange(30)}", content=text)).record.id
            truth.replaced.setdefault(id, set()).update({known[id].content} if id in known else ())
            truth.brought_back.add(id)  # a key may be stored again after it was deleted
        else:
            kind = rng.choice(_KINDS)
            solution = "see the log" if kind == "solution" else ""
            id = store.add(MemoryDraft(kind=kind, content=text, solution=solution), SAID).record.id
        truth.texts.setdefault(id, set()).add(text)
        return "added"
    record = known[rng.choice(list(known))]
    if action < 0.7:
        if record.key:
            return "nothing"
        text = f"{machine.name} {rng.randbytes(6).hex()} {rng.randbytes(5).hex()} changed"
        before = store.get(record.id).content
        store.update(record.id, content=text)
        truth.texts.setdefault(record.id, set()).add(text)
        truth.replaced.setdefault(record.id, set()).add(before)
        return "changed"
    if action < 0.88:
        with suppress(UserError):  # another machine's deletion arrived just now
            store.forget(record.id)
            truth.forgotten.add(record.id)
        return "forgot"
    before = {one.id: one.content for one in store.records()}
    with suppress(UserError):
        store.undo()
    after = {one.id: one.content for one in store.records()}
    for id in before.keys() - after.keys():
        truth.forgotten.add(id)
    for id in after.keys() - before.keys():
        truth.brought_back.add(id)
        truth.restored.add((id, after[id]))
    for id in after.keys() & before.keys():
        if after[id] != before[id]:
            truth.replaced.setdefault(id, set()).add(before[id])
            truth.restored.add((id, after[id]))
    return "undone"


def _check(team: list[Machine], truth: Truth) -> None:
    contents = [machine.contents() for machine in team]
    for machine, found in zip(team[1:], contents[1:], strict=True):
        differing = sorted(set(found.items()) ^ set(contents[0].items()))
        assert not differing, f"{machine.name} differs: {differing[:5]}"
    alive = {record.id: record.content for record in team[0].store.records()}
    lost = {id for id in truth.texts if id not in alive and id not in truth.forgotten}
    assert not lost, f"lost: {[(id, truth.texts[id]) for id in sorted(lost)[:5]]}"
    risen = {id for id in truth.forgotten - truth.brought_back if id in alive}
    assert not risen, f"came back: {[(id, alive[id]) for id in sorted(risen)[:5]]}"
    stale = {
        id: text
        for id, text in alive.items()
        if text in truth.replaced.get(id, ()) and (id, text) not in truth.restored
    }
    assert not stale, f"an earlier text won: {sorted(stale.items())[:5]}"
    invented = {id: text for id, text in alive.items() if text not in truth.texts.get(id, ())}
    assert not invented, f"nobody wrote: {sorted(invented.items())[:5]}"


def main() -> None:
    """Play it with the numbers of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, number in (("machines", 20), ("rounds", 12), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=number)
    parser.add_argument("--encrypt", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        identity = make_identity() if given.encrypt else ""
        found = play(Path(folder), machines=given.machines, rounds=given.rounds, seed=given.seed, identity=identity)
        print(f"equal, nothing lost, nothing came back, in {time.monotonic() - began:.0f} s: {found}")


if __name__ == "__main__":
    main()
