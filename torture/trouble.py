"""A disk that fills, folders made read-only in the middle of a turn, a clock put back, a file system without locks.

python -m torture.trouble [--rounds 60] [--seed 1] [--only full|writers|read-only|clock|locks]. What cannot be tried is
said. The full disk is a real one of 4 MB where a mount is allowed (in a mount namespace of its own, which ends with the
process), else a limit on the size of files; read-only folders stop only who is not root, so root runs as nobody.
"""

import argparse
import ctypes
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from torture.job import Job, remembered_in
from torture.jobs import any_job, learn, remember, settling, turn
from torture.oracle import BUG, Oracle
from torture.process import Ended, Trouble, preload, start, why_it_broke
from torture.world import WRITTEN, Server, World, words_of
from torture.writers import NUMBERED, writers

NOBODY = 65_534
FULL_BYTES = 4_000_000
LEFT_BYTES = (0, 0, 1, 4_096, 12_288, 40_960)
SHUT, BEFORE, AFTER = 900_001, "said before the folder was shut", "said after the folder was shut"
# What clio renames meanwhile is no longer there for chmod, which says so; the folders are shut all the same.
SHUTTING = 'cd "$1"; until [ -e ready ]; do sleep 0.02; done; chmod -R a-w .clio "$2" 2>/dev/null; touch shut'
UNSAVED = ("disk is full", "may not grow", "permission was denied", "No space left", "not saved", "could not be kept")
DAY_S = 86_400.0


def settle(world: World, rng: random.Random, oracle: Oracle, trouble: Trouble | None = None) -> None:
    """Begin the project."""
    for job in settling(rng, world):
        one(world, job, oracle, trouble)


def one(world: World, job: Job, oracle: Oracle, trouble: Trouble | None = None) -> Ended:
    """One clio; the oracle hears it."""
    ended = start(job.arguments, world.project, world.env, trouble=trouble, work=job.work).finish(job.words)
    oracle.note(job, ended)
    return ended


def bad(ended: Ended, job: Job) -> list[str]:
    """What is wrong with how it ended: it hung, took its trouble for a bug of its own, or said it in no words."""
    if ended.code is None or ended.code < 0 or BUG.search(ended.err):
        return [f"{job.kind}: {ended.code}: {ended.err[-1500:]}"]
    return [f"{job.kind}: {said}" for said in {*NUMBERED.findall(ended.out + ended.err)}]


def full(folder: Path, url: str, rng: random.Random, rounds: int) -> tuple[str, list[str]]:
    """Fill the disk before a clio runs, make room, and look."""
    disk = folder / "disk"
    disk.mkdir()
    mounted = mount_small(disk)
    problems: list[str] = []
    world = World(disk / "w", url).make()
    oracle = Oracle()
    settle(world, rng, oracle)
    said = 0
    for number in range(rounds):
        if mounted and free(disk) < FULL_BYTES // 3:
            shutil.rmtree(world.folder)
            world, oracle = World(disk / "w", url).make(), Oracle()
            settle(world, rng, oracle)
        job = any_job(rng, world, oracle.facts, alone=True)
        if mounted:
            fill(disk, rng.choice(LEFT_BYTES))
            trouble = None
        else:
            trouble = Trouble(file_bytes=rng.choice([0, 100, 4_096, 20_000]))
        heard = Oracle()
        ended = start(job.arguments, world.project, world.env, trouble=trouble, work=job.work).finish(job.words)
        problems += [f"round {number}: {wrong}" for wrong in bad(ended, job) if job.work is None]
        heard.note(job, ended)
        (disk / "filler").unlink(missing_ok=True)
        if any(word in ended.out + ended.err for word in UNSAVED):
            said += 1  # what was said there is known not to be kept
        else:
            for session, ids in heard.said.items():
                oracle.said.setdefault(session, []).extend(ids)
        oracle.facts = (oracle.facts - set(job.begins)) | heard.facts
        problems += [f"round {number}, {job.kind}: {wrong}" for wrong in oracle.check(world)]
        if problems:
            break
    how = "a disk of 4 MB" if mounted else "a limit on the size of files"
    return f"{rounds} clios on {how}, {said} of which said that something was not kept", problems


def may_others_read(folder: Path) -> bool:
    """Whether every user may enter a folder, and so read clio's data files and start its helper scripts."""
    return all(place.stat().st_mode & 0o001 for place in (folder, *folder.parents))


def read_only(folder: Path, url: str, rng: random.Random, rounds: int) -> tuple[str, list[str]]:
    """A turn in whose middle clio's folders are shut, with something to remember before and after.

    Somebody else shuts them while a command of the model waits for it: clio lets no command of a model do that.
    """
    user = NOBODY if os.getuid() == 0 else None
    if user is not None and not may_others_read(Path(__file__).parent):
        return "not run, because it needs another user and the checkout is closed to others", []
    problems: list[str] = []
    told = 0
    for number in range(max(1, rounds // 10)):
        world = World(folder / f"r{number}", url).make()
        oracle = Oracle()
        if user is not None:
            for path in (folder, world.folder, *world.folder.rglob("*")):
                os.chown(path, user, user, follow_symlinks=False)
        trouble = Trouble(user=user)
        settle(world, rng, oracle, trouble)
        arguments = ("-p", f"{words_of(rng)} script:{SHUT}", "--new", "--output", "stream-json", "--approve", "all")
        job = Job(kind="shut", arguments=arguments, confirms=remembered_in, codes=(0, 1))
        heard = Oracle()
        somebody = subprocess.Popen(["sh", "-c", SHUTTING, "sh", world.project, world.home])
        ended = start(job.arguments, world.project, world.env, trouble=trouble).finish()
        somebody.kill()
        if somebody.wait() != 0:
            problems.append("read-only: the folders were not shut")
        problems += bad(ended, job)
        heard.note(job, ended)
        for path in (*world.folder.rglob("*"),):
            if path.is_dir():
                path.chmod(0o700)
        oracle.facts |= heard.facts
        said = any(word in ended.out + ended.err for word in UNSAVED)
        told += said
        if not said:
            problems.append(f"read-only: nothing was said of it: {ended.out[-1500:]}{ended.err[-500:]}")
        session, ids = next(iter(heard.said.items()))
        oracle.said[session] = ids[:3]  # the words, the calls, and the first result: all before the command
        found = start((), world.project, world.env, trouble=trouble, work=lambda w=world: _texts(w)).finish()
        problems += [f"read-only: {wrong}" for wrong in oracle.check(world)]
        if BEFORE not in found.out:
            problems.append("read-only: what was remembered before is gone")
    return f"{max(1, rounds // 10)} turns in which the folders were shut, {told} said so", problems


def _texts(world: World) -> str:
    return (world.project / ".clio" / "ltm.json").read_text(encoding="utf-8")


def clock(folder: Path, url: str, rng: random.Random, rounds: int) -> tuple[str, list[str]]:
    """Work while the clock jumps back by minutes, hours, days, years."""
    world, oracle = World(folder / "c", url).make(), Oracle()
    settle(world, rng, oracle)
    problems: list[str] = []
    for number in range(rounds):
        back_s = rng.choice([0.0, 30.0, 3_600.0, DAY_S, 40 * DAY_S, 400 * DAY_S, 20_000 * DAY_S])
        job = any_job(rng, world, oracle.facts)
        ended = one(world, job, oracle, Trouble(clock_s=-back_s))
        problems += [f"{back_s:.0f} s back: {wrong}" for wrong in bad(ended, job)]
        problems += [
            f"round {number}, {job.kind}, {back_s:.0f} s back: {wrong}" for wrong in oracle.check(world, ordered=False)
        ]
        problems += oracle.problems
        if problems:
            break
    return f"{rounds} clios with a clock put back by up to 55 years", problems


def locks(folder: Path, url: str, rng: random.Random, rounds: int) -> tuple[str, list[str]]:
    """Work where locking is refused: sessions are kept and say so; what many share is refused with a sentence."""
    world, oracle = World(folder / "l", url).make(), Oracle()
    settle(world, rng, oracle)
    trouble = Trouble(no_locks=True)
    problems: list[str] = []
    for kind in (turn, learn, remember):
        for _ in range(max(1, rounds // 20)):
            job = kind(rng, world)
            ended = start(job.arguments, world.project, world.env, trouble=trouble).finish(job.words)
            problems += bad(ended, job)
            due = "does not support locks"
            if due not in ended.out + ended.err and "no session to continue" not in ended.err:
                problems.append(f"{job.kind} said nothing of locks: {ended.code}: {ended.err[-300:]}")
            if kind is turn or ended.code == 0:
                oracle.note(job, ended)
    problems += oracle.check(world)
    return f"{3 * max(1, rounds // 20)} clios on a file system without locks", problems


def mount_small(folder: Path) -> bool:
    """Mount a disk of 4 MB there, for this process and its children only; False where that is not allowed."""
    if not sys.platform.startswith("linux"):
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    namespace, user = 0x00020000, 0x10000000
    uid, gid = os.getuid(), os.getgid()
    if libc.unshare(namespace | (user if uid else 0)):
        return False
    if uid:
        try:
            Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
            Path("/proc/self/uid_map").write_text(f"0 {uid} 1", encoding="ascii")
            Path("/proc/self/gid_map").write_text(f"0 {gid} 1", encoding="ascii")
        except OSError:
            return False
    recursive_private = 0x4000 | 0x40000
    if libc.mount(b"none", b"/", None, recursive_private, None):
        return False
    return libc.mount(b"tmpfs", bytes(folder), b"tmpfs", 0, f"size={FULL_BYTES}".encode()) == 0


def free(disk: Path) -> int:
    """Bytes that are left on it."""
    return shutil.disk_usage(disk).free


def fill(disk: Path, left: int) -> None:
    """Leave so many bytes, in pages of 4096."""
    with (disk / "filler").open("wb") as file:
        file.write(bytes(max(0, free(disk) - left)))


SCENES: dict[str, Callable[[Path, str, random.Random, int], tuple[str, list[str]]]] = {
    "full": full,
    "writers": writers,
    "read-only": read_only,
    "clock": clock,
    "locks": locks,
}
WRITTEN[SHUT] = [
    [("memory_operations", {"operation": "add_discovery", "fact": BEFORE})],
    [("run_command", {"command": "touch ready; until [ -e shut ]; do sleep 0.02; done", "timeout": 30})],
    [("memory_operations", {"operation": "add_discovery", "fact": AFTER}), ("read_file", {"path": "a.txt"})],
    [("memory_operations", {"operation": "remember", "content": AFTER, "type": "fact"})],
]


def main() -> int:
    """Make trouble, and print what came of it; 1 where something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=SCENES)
    given = parser.parse_args()
    preload()
    code = 0
    for name in [given.only] if given.only else list(SCENES):
        code = max(code, scene(name, given.seed, given.rounds))
    return code


def scene(name: str, seed: int, rounds: int) -> int:
    """One of them, in a process of its own: a mount and a user are not given back."""
    child = os.fork()
    if child:
        ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if ended < 0:
            print(f"{name}: ended early, by signal {-ended}; problems: 1", flush=True)
        return abs(ended)
    code = 1
    try:
        folder = Path(tempfile.mkdtemp(prefix="clio-trouble-"))
        folder.chmod(0o755)
        began = time.monotonic()
        with Server() as server:
            try:
                told, problems = SCENES[name](folder, server.url, random.Random(seed), rounds)
            except Exception:
                told, problems = "ended early", [why_it_broke()]
            problems += server.problems()
        print(f"{name}: {told}, {time.monotonic() - began:.0f} s; problems: {len(problems)}")
        for problem in problems:
            print(f"- {problem}")
        sys.stdout.flush()
        code = 1 if problems else 0
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(code)


if __name__ == "__main__":
    sys.exit(main())
