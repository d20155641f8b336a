"""Processes to kill while they change memories. `python -m tests.memory.store.typed_crash FOLDER KILLS SEED`.

One process starts writers one after the other and kills each at a random moment. A writer remembers, edits, forgets,
compacts and folds, and prints after each change what the store had confirmed. All of this output is printed.
"""

import os
import random
from pathlib import Path

from clio.memory.store import typed_store as files
from clio.memory.store.typed_store import TypedStore
from tests.support.kill_writers import main


def write(folder: Path, seed: int, out: int) -> None:
    """Change memories until killed; each line is `there TEXT`, `begin TEXT` or `gone TEXT`."""
    files.FOLD_BYTES = 4_000  # so that some kills hit a fold
    rng = random.Random(seed)
    store = TypedStore(folder / ".clio" / "memories.json")
    made: dict[str, str] = {}
    while True:
        action = rng.random()
        if made and action < 0.25:
            text, id = made.popitem()
            os.write(out, f"begin {text}\n".encode())
            store.forget(id)
            os.write(out, f"gone {text}\n".encode())
            continue
        if action < 0.3:
            store.compact()
            continue
        if made and action < 0.5:
            text, id = made.popitem()
            words = " ".join(f"{rng.randrange(10**6):x}zz" for _ in range(8))
            os.write(out, f"begin {text}\n".encode())
            store.update(id, content=words)
            made[words] = id
            os.write(out, f"gone {text}\nthere {words}\n".encode())
            continue
        words = " ".join(f"{rng.randrange(10**6):x}zz" for _ in range(8))
        made[words] = store.remember(words, "fact", 0.9).record.id
        os.write(out, f"there {words}\n".encode())


if __name__ == "__main__":
    main(write)
