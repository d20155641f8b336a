"""Damages every kind of file that clio keeps, at every class of place, and asks each time what is left.

python -m torture.tear [--seconds 300] [--seed 1] [--only PART_OF_A_PATH] [--keep]. A project in which all stores are in
use is made once and put back before each damage. After it clio must open, answer a turn, remember something new, lose
nothing that stood in another file, and keep and name what it cannot read. What a flipped bit makes of a letter inside a
text is another letter: no store has checksums, and nobody can tell.
"""

import argparse
import random
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from clio.storage.jsonl import is_json
from torture.job import Job, remembered_in
from torture.jobs import learn, note, prefer, remember, undo
from torture.oracle import BUG, Oracle, look
from torture.process import Ended, Instant, preload, start, why_it_broke
from torture.world import AT_WORK, Server, World, words_of

CACHES = ("/cache/", "/checkpoints/", ".lock", ".gitignore", "token_ratios.json")
"""Where nothing stands that is said to be lost: it is made anew, or is a copy of what the project has."""


class Damage(Struct, frozen=True, kw_only=True):
    """What is done to a file's bytes, in the words of a report."""

    name: str
    apply: Callable[[bytes], bytes]


def damages(data: bytes, rng: random.Random) -> Iterator[Damage]:
    """Every class of place: both ends, inside the first, a middle and the last line, and the line ends."""
    size = len(data)
    last_line = data.rstrip(b"\n").rfind(b"\n") + 1
    places = {0, 1, size // 4, size // 2, last_line, (last_line + size) // 2, size - 2, size - 1, rng.randrange(size)}
    for at in sorted(place for place in places if 0 <= place < size):
        yield Damage(name=f"cut at {at} of {size}", apply=lambda data, at=at: data[:at])
        bit = 1 << rng.randrange(8)
        yield Damage(
            name=f"bit {bit} of byte {at} of {size}",
            apply=lambda data, at=at, bit=bit: data[:at] + bytes([data[at] ^ bit]) + data[at + 1 :],
        )
    yield Damage(name="its second half zeros", apply=lambda data: data[: len(data) // 2] + bytes((len(data) + 1) // 2))
    yield Damage(name="other bytes", apply=lambda data: rng.randbytes(len(data)))


class Tearing:
    """One project and what is known of it; `problems` and `lost` grow with each damage."""

    def __init__(self, folder: Path, url: str, seed: int, *, shared: bool) -> None:
        self.rng = random.Random(seed)
        self.world = World(folder / "w", url).make()
        self.aside = folder / "aside"
        self.problems: list[str] = []
        self.count: Counter[str] = Counter()
        self._oracle = Oracle()
        self._fill(shared)
        shutil.copytree(self.world.folder, self.aside, symlinks=True)
        self.whole = self._look()
        self.problems += [f"before any damage: {wrong}" for wrong in self._oracle.compare(self.whole)]
        self.put_back()  # looking tidies up: the journal of the killed session

    def run(self, job: Job, instant: Instant | None = None) -> Ended:
        """One clio; the oracle hears it."""
        ended = self._start(job.arguments, job.words, instant)
        self._oracle.note(job, ended)
        return ended

    def _start(self, words: tuple[str, ...], piped: bytes = b"", instant: Instant | None = None) -> Ended:
        return start(words, self.world.project, self.world.env, instant or Instant()).finish(piped)

    def _fill(self, shared: bool) -> None:
        """Use every store, and leave a session whose clio was killed."""
        for words in (("style", "on"), ("docs", "add", "doc.md"), ("import", "aider")):
            self._start(words)
        for _ in range(2):
            for job in (learn, remember, prefer, note):
                self.run(job(self.rng, self.world))
        for seed in (AT_WORK, AT_WORK, 5):
            words = (
                "-p",
                f"{words_of(self.rng)} script:{seed}",
                "--new",
                "--output",
                "stream-json",
                "--approve",
                "all",
            )
            self.run(Job(kind="turn", arguments=words, confirms=remembered_in))
            self._start(("feedback", "+"))
        self._start(("memory", "sleep"))
        start((), self.world.project, self.world.env, work=lambda: undo(self.world, 1)).finish()
        for words in (
            ("memory", "add", "discovery", "gone soon"),
            ("memory", "remember", "gone too", "--type", "fact"),
        ):
            id = re.search(r"[a-z]-[0-9a-f]{6}|[0-9a-f]{8}-[0-9a-f-]{27}", self._start((*words, "--json")).out)
            if id:
                self._start(("memory", "forget", id[0], "--yes"))
        home = self.world.home / ".clio"
        (home / "config.yaml").write_text("max_steps: 50\n", encoding="utf-8")
        (home / "history").write_text("# 2026-05-01\n+earlier line\n", encoding="utf-8")
        if shared:
            self._start(("memory", "share", "on", "--yes"))
        words = ("-p", f"{words_of(self.rng)} script:{AT_WORK}", "--new", "--output", "stream-json", "--approve", "all")
        ended = self.run(Job(kind="turn", arguments=words))
        killed = self.run(Job(kind="killed", arguments=words), Instant(call=ended.calls * 2 // 3))
        assert killed.killed

    def _look(self) -> dict[str, Any]:
        ended = start((), self.world.project, self.world.env, work=lambda: look([])).finish()
        if ended.code != 0:
            self.problems.append(f"looking failed: {ended.code}: {ended.err[-1500:]}")
            return {
                "texts": {},
                "kept": {},
                "sessions": {},
                "errors": [ended.err],
                "corrupt": [],
                "temporary": [],
                "locks": [],
            }
        return msgspec.json.decode(ended.out)

    def put_back(self) -> None:
        """The project and home as they were."""
        shutil.rmtree(self.world.folder)
        shutil.copytree(self.aside, self.world.folder, symlinks=True)

    def tear(self, path: Path, damage: Damage) -> None:
        """Damage one file, let clio work, and look."""
        self.put_back()
        shown = str(path.relative_to(self.world.folder))
        torn = damage.apply(path.read_bytes())
        path.write_bytes(torn)
        self.count[_kind(shown)] += 1
        words = words_of(self.rng)
        commands = [
            ("-p", "hello", "-c" if "/sessions/" in shown else "--new", "--output", "stream-json"),
            ("memory", "add", "discovery", words),
            ("memory", "remember", words[::-1], "--type", "fact"),
        ]
        wrong, said = self._work(commands)
        if path.name == "config.yaml":  # every command has refused until a person mends it
            shutil.copy2(self.aside / shown, path)
        found = self._look()
        lost = self._lost(found)
        if found["corrupt"]:
            self.count["set aside"] += 1
        if found["corrupt"] or lost:
            more, told = self._work([("doctor",), ("memory", "share", "status")])
            wrong, said = wrong + more, said + told
        if lost:
            wrong += self._losses(shown, path, torn, lost, "".join((said, *found["errors"])))
        self.problems += [f"{shown}, {damage.name}: {sentence}" for sentence in wrong]

    def _work(self, commands: list[tuple[str, ...]]) -> tuple[list[str], str]:
        """Run these; what is wrong with how they ended, and all they said."""
        wrong, said = list[str](), ""
        for words in commands:
            ended = self._start(words)
            said += ended.out + ended.err
            if ended.code is None or BUG.search(ended.err):
                wrong.append(f"clio {' '.join(words[:3])}: {ended.code}: {ended.err[-1500:]}")
            elif ended.code == 2 and "config.yaml" in ended.err:
                self.count["refused with a sentence"] += 1
            elif ended.code != 0 and words[0] == "-p":
                wrong.append(f"clio {' '.join(words[:3])}: {ended.code}: {ended.err[-300:]}")
            elif ended.code != 0 and words[0] == "memory":
                self.count["refused with a sentence"] += 1
        return wrong, said

    def _losses(self, shown: str, path: Path, torn: bytes, lost: list[tuple[str, str]], said: str) -> Iterator[str]:
        """What is wrong with these losses, of which some are to be expected."""
        if _reads(torn) and (len(lost) == 1 or path.name == "trusted.json"):
            self.count["a letter became another, which nobody can tell"] += 1
            return
        if any(part in shown for part in CACHES):
            yield f"a file nothing should hang on took {lost}"
            return
        if elsewhere := {store for store, _ in lost} - _stores_of(shown):
            yield f"what stood elsewhere is gone: {elsewhere}: {lost[:3]}"
        whole = torn[: torn.rfind(b"\n") + 1]
        if path.suffix == ".jsonl" and not any(text.encode() in whole for _, text in lost) and b"\0" not in torn:
            self.count["lines were cut off, as by a kill"] += 1  # nobody can tell that there were more
            return
        self.count["lost something of its own"] += 1
        kept = [one for one in path.parent.glob(path.name + "*") if one.is_file() and torn in one.read_bytes()]
        if not kept and not torn.endswith(b"\0"):  # a tail of zeros is said, and kept by nobody
            yield f"{len(lost)} things are gone and the damaged bytes are nowhere: {lost[:2]}"
        if path.name not in said and path.name[:36] not in said:
            yield f"{len(lost)} things are gone and nobody said a word of {path.name}"

    def _lost(self, found: dict[str, Any]) -> list[tuple[str, str]]:
        """Each thing that was there before the damage and is not now, with its store or session."""
        lost = [
            (store, text)
            for store, texts in self.whole["texts"].items()
            for text in texts
            if text not in found["texts"].get(store, ())
        ]
        for session, ids in self.whole["sessions"].items():
            there = set(found["sessions"].get(session, ()))
            lost += [(session, one) for one in ids if one not in there]
        return lost


def _reads(data: bytes) -> bool:
    """Whether all of it is still JSON, in one piece or line by line."""
    return is_json(data) or all(is_json(line) for line in data.splitlines() if line)


def _kind(shown: str) -> str:
    """The kind of file a path is of: ids, hashes and keys look alike."""
    return re.sub(r"(?<=/objects/)../[0-9a-f]+|[0-9a-f-]{20,}|[0-9a-f]{5,}(zz)?", "#", shown)


def _stores_of(shown: str) -> set[str]:
    """The stores, or the session, whose texts stand in a file."""
    name = shown.rsplit("/", 1)[-1]
    if "/sessions/" in shown:
        return {shown.split("/sessions/")[1][:36]}
    if "/memory/" in shown:
        return {"notes"}
    if "ltm" in shown or name == "trusted.json":  # what is shared is not read where it is not trusted
        return {"ltm"}
    if name.startswith("memories"):  # recall shows a person's preferences among them
        return {"prefs", "memories"} if shown.startswith("home") else {"memories"}
    return set()


def main() -> int:
    """Tear, and print what was found; 1 where something went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", action="store_true")
    given = parser.parse_args()
    preload()
    began = time.monotonic()
    problems: list[str] = []
    count: Counter[str] = Counter()
    folder = Path(tempfile.mkdtemp(prefix="clio-tear-"))
    with Server() as server:
        for shared in (False, True):
            tearing = Tearing(folder / str(shared), server.url, given.seed, shared=shared)
            end = began + given.seconds / (1 if shared else 2)
            for path, damage in _plan(tearing, given.only, shared=shared):
                if time.monotonic() < end:
                    try:
                        tearing.tear(path, damage)
                    except Exception:
                        tearing.problems.append(f"{path.name}, {damage.name}: ended early: {why_it_broke()}")
                else:
                    tearing.count["left out for lack of time"] += 1
            problems += tearing.problems
            count += tearing.count
        problems += server.problems()
    print(f"{sum(n for kind, n in count.items() if '/' in kind)} damages in {time.monotonic() - began:.0f} s")
    for kind, number in sorted(count.items()):
        print(f"{number:5} {kind}")
    print(f"problems: {len(problems)}")
    for problem in problems:
        print(f"- {problem}")
    if not (given.keep and problems):
        shutil.rmtree(folder)
    return 1 if problems else 0


def _plan(tearing: Tearing, only: str, *, shared: bool) -> list[tuple[Path, Damage]]:
    """Every file with every damage, in an order of chance, so that a short run sees something of each."""
    paths = [path for path in tearing.world.kept() if path.stat().st_size and only in str(path)]
    paths = [path for path in paths if path.suffix not in (".lock", ".tmp") and path.name != ".gitignore"]
    if shared:  # the rest was damaged in the first round
        paths = [path for path in paths if "/ltm" in str(path) or path.name == "trusted.json"]
    # One of a kind is enough, and two where there are many.
    kinds: dict[str, list[Path]] = {}
    for path in paths:
        kinds.setdefault(_kind(str(path.relative_to(tearing.world.folder))), []).append(path)
    paths = [path for same in kinds.values() for path in same[:2]]
    plan = [(path, damage) for path in paths for damage in damages(path.read_bytes(), tearing.rng)]
    tearing.rng.shuffle(plan)
    return plan


if __name__ == "__main__":
    sys.exit(main())
