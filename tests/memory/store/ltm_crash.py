"""Processes to kill while they save project knowledge. `python -m tests.memory.store.ltm_crash FOLDER KILLS SEED`.

One process starts writers one after the other and kills each at a random moment. A writer adds, confirms, forgets and
restores, and prints after each change what `LongTermMemory` had confirmed. All of this output is printed.
"""

import os
import random
from pathlib import Path

from clio.memory.store.ltm_store import LongTermMemory
from clio.memory.store.record import MemoryDraft, Provenance
from tests.support.kill_writers import main


def write(folder: Path, seed: int, out: int) -> None:
    """Save until killed; each line is `there TEXT` or `gone TEXT`."""
    rng = random.Random(seed)
    memory = LongTermMemory(folder / ".clio" / "ltm.json", project=folder)
    made: list[str] = []
    while True:
        action = rng.random()
        if made and action < 0.35:
            text = made.pop()
            os.write(out, f"begin {text}\n".encode())
            memory.forget([entry.id for entry in memory.read().entries if entry.content == text])
            os.write(out, f"gone {text}\n".encode())
            continue
        text = rng.choice(made) if made and action < 0.5 else f"fact {seed} {rng.randrange(10**9)} " + "ü" * 300
        memory.add(MemoryDraft(kind="discovery", content=text), Provenance(asserted_by="model"))
        made += [] if text in made else [text]
        os.write(out, f"there {text}\n".encode())


if __name__ == "__main__":
    main(write)
