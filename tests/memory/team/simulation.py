"""A team of real git clones that add, change, contradict and forget entries, and merge in any order through a remote.

`python -m tests.memory.team.simulation --clones 20 --entries 2000` runs all of it and prints the result.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from clio.config.project_links import trust_team
from clio.memory.store.ltm_store import LongTermMemory
from clio.memory.store.record import Kind, MemoryDraft, MemoryRecord, Provenance
from clio.memory.team.folder import get_shared_fields
from clio.memory.team.share import Sharing, add_ignore_lines

DAY = 86_400.0
SAID = Provenance(session="s", message="m", asserted_by="user")
_KINDS: tuple[Kind, ...] = ("discovery", "rule", "failure", "solution", "pattern", "workflow")
_ENV = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0"}
_QUICK = ("-c", "core.fsync=none", "-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "merge.stat=false")


def git(folder: Path, *words: str, ok: tuple[int, ...] = (0,)) -> str:
    """Run git in that folder and return its output. Raises AssertionError with it if git fails, as for a conflict."""
    done = subprocess.run(["git", *_QUICK, *words], cwd=folder, env=_ENV, capture_output=True, text=True, check=False)
    assert done.returncode in ok, f"git {' '.join(words)}: {done.stdout}{done.stderr}"
    return done.stdout


class Clone:
    """One user's clone: name, clio, and trust settings."""

    def __init__(self, remote: Path, folder: Path, name: str) -> None:
        git(folder.parent, "clone", "--quiet", str(remote), folder.name)
        git(folder, "config", "user.name", name)
        git(folder, "config", "user.email", "nobody@example.invalid")
        self.folder, self.name, self.home = folder, name, folder.with_name(f"{folder.name}.home")
        self.now = 1_800_000_000.0
        trust_team(folder, self.home)
        self.memory = LongTermMemory(
            folder / ".clio" / "ltm.json", project=folder, home=self.home, clock=lambda: self.now
        )
        self.sharing = Sharing(
            folder / ".clio" / "ltm.json", project=folder, home=self.home, clock=lambda: self.now, redact=str
        )

    def commit(self) -> None:
        """Commit the new knowledge, if any."""
        git(self.folder, "add", "--all", ".")
        git(self.folder, "commit", "--quiet", "--message", "learned", ok=(0, 1))

    def pull(self, source: str | Path = "origin") -> None:
        """Pull and merge. Raises AssertionError for a conflict."""
        git(self.folder, "pull", "--quiet", "--no-rebase", "--no-edit", str(source), "main")

    def push(self) -> None:
        """Push; a refused push is repeated after the next pull."""
        git(self.folder, "push", "--quiet", "origin", "HEAD:main", ok=(0, 1))

    def seen(self) -> list[tuple[object, ...]]:
        """Return what must be the same in all clones: handles, texts, authors and contradictions."""
        document = self.memory.document()
        entries = {entry.id: entry for entry in document.knowledge().entries}
        return sorted(
            (
                handle,
                kind,
                repr(sorted(get_shared_fields(kind, raw).items())),
                entries[handle].by,
                entries[handle].rivals,
            )
            for handle, (kind, raw) in document.by_handle().items()
        )

    def texts(self) -> Counter[str]:
        """Return how often each text is live."""
        return Counter(entry.content for entry in self.memory.read().entries)


@dataclass
class Truth:
    """The expected result: each text with the entry it began as, and what ended."""

    entry_of: dict[str, str] = field(default_factory=dict[str, str])
    ended: set[str] = field(default_factory=set[str])
    forgotten: set[str] = field(default_factory=set[str])
    common: set[str] = field(default_factory=set[str])

    def alive(self) -> set[str]:
        """Return the texts that must be live in the end: not changed or forgotten, of entries not forgotten."""
        own = {text for text, entry in self.entry_of.items() if text not in self.ended and entry not in self.forgotten}
        return own | self.common


def make_team(folder: Path, clones: int, entries: int) -> list[Clone]:
    """Make this many clones of a project whose first clone shares this many entries."""
    remote = folder / "remote.git"
    git(folder, "init", "--quiet", "--bare", "--initial-branch=main", str(remote))
    first = Clone(remote, folder / "clone0", "Member 0")
    git(first.folder, "checkout", "--quiet", "-b", "main")
    (first.folder / ".gitignore").write_text(".clio/\n", encoding="utf-8")
    facts = [{"fact": f"fact {number} of the first day", "confidence": 0.8} for number in range(entries // 2)]
    failures = [{"what": f"failure {number} of the first day"} for number in range(entries - entries // 2)]
    first.memory.import_(json.dumps({"patterns": {"discoveries": facts, "failures": failures}}), SAID)
    assert first.sharing.turn_on() == entries
    add_ignore_lines(first.folder)
    first.commit()
    first.push()
    return [first, *(Clone(remote, folder / f"clone{one}", f"Member {one}") for one in range(1, clones))]


def play(folder: Path, *, clones: int, entries: int, rounds: int, steps: int, seed: int) -> dict[str, int]:
    """Run and check: no conflict, equal knowledge in all clones, nothing lost, nothing forgotten comes back."""
    rng = random.Random(seed)
    team = make_team(folder, clones, max(entries - clones * rounds * steps // 2, 1))  # about half of the steps add one
    truth = Truth(entry_of={text: text for text in team[0].texts()})
    done: Counter[str] = Counter()
    for number in range(rounds):
        for clone in rng.sample(team, clones):
            clone.now += rng.uniform(0, 10) * DAY
            for _ in range(steps):
                done[_step(clone, truth, rng, number)] += 1
            clone.commit()
            if rng.random() < 0.7:
                clone.pull(rng.choice(team).folder if rng.random() < 0.3 else "origin")
                clone.push()
    for _ in range(2):
        for clone in team:
            clone.commit()
            clone.pull()
            clone.push()
    seen = [clone.seen() for clone in team]
    assert all(other == seen[0] for other in seen[1:]), "the clones differ"
    texts = team[0].texts()
    assert set(texts) == truth.alive(), _difference(set(texts), truth.alive())
    assert max(texts.values(), default=1) == 1, "a text is live twice"
    assert team[0].memory.read().entries, "nothing is left"
    found = team[0].sharing.status()
    assert found.problems == () and git(team[0].folder, "status", "--porcelain") == ""
    return {**done, "alive": len(texts), "rivals": len(found.rivals), "late": len(found.late), "emptied": found.emptied}


def _step(clone: Clone, truth: Truth, rng: random.Random, number: int) -> str:
    known = [entry for entry in clone.memory.read().entries if entry.content not in truth.common]
    action = rng.random()
    if action < 0.4 or not known:
        text = f"{clone.name} found {rng.randrange(10**9)}"
        truth.entry_of[text] = text
        clone.memory.add(_draft(rng.choice(_KINDS), text), SAID)
        return "added"
    if action < 0.5:  # several clones find the same independently
        text = f"everybody finds {number} {rng.randrange(3)}"
        truth.common.add(text)
        clone.memory.add(_draft("discovery", text), SAID)
        return "found alike"
    entry = rng.choice(known[-8:] if rng.random() < 0.5 else known)  # often the same one: contradictions
    if action < 0.75:
        text = f"{entry.content.partition(' as ')[0]} as {clone.name} says {rng.randrange(10**9)}"
        truth.entry_of[text] = truth.entry_of[entry.content]
        truth.ended.add(entry.content)
        clone.memory.update(entry.id, **_changed(entry, text))
        return "changed"
    if action < 0.9:
        truth.ended.add(entry.content)
        if not entry.rivals:
            truth.forgotten.add(truth.entry_of[entry.content])
        clone.memory.forget([entry.id])
        return "forgot"
    clone.memory.add(
        MemoryDraft(**{name: getattr(entry, name) for name in ("kind", "content", "solution", "steps")}), SAID
    )
    return "confirmed"


def _draft(kind: Kind, text: str) -> MemoryDraft:
    if kind == "workflow":
        return MemoryDraft(kind=kind, content=text, steps=(text,))
    return MemoryDraft(kind=kind, content=text, solution="see the log" if kind == "solution" else "")


def _changed(entry: MemoryRecord, text: str) -> dict[str, object]:
    return {"steps": (text,), "content": text} if entry.kind == "workflow" else {"content": text}


def _difference(found: set[str], wanted: set[str]) -> str:
    return f"lost: {sorted(wanted - found)[:5]}; came back: {sorted(found - wanted)[:5]}"


def main() -> None:
    """Run the whole simulation."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, number in (("clones", 20), ("entries", 2000), ("rounds", 10), ("steps", 5), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=number)
    given = vars(parser.parse_args())
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="clio-team-") as folder:
        found = play(Path(folder), **given)
    sys.stdout.write(
        f"{given}\n{found}\nno conflict, all clones alike, nothing lost: {time.monotonic() - begun:.0f} s\n"
    )


if __name__ == "__main__":
    main()
