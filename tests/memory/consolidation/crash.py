"""Consolidation to be killed. `python -m tests.memory.consolidation.crash FOLDER KILLS SEED`.

One process begins a night after the other over the same sessions and kills each at a random moment: while turns are
replayed, while findings are kept, while the state is written. A few more turns are replayed each time.
"""

import os
from pathlib import Path

from clio.memory.consolidation import runner
from clio.memory.consolidation.stores import FindingSaver
from tests.memory.consolidation.consolidation_support import Place
from tests.support.kill_writers import main


def write(folder: Path, seed: int, out: int) -> None:
    """Sleeps, saving as often as it can, and says each finding that is kept; then it waits to be killed."""
    runner.SAVE_EVERY_S = 0.0
    keep = FindingSaver.save

    def told(self: FindingSaver, *arguments: object, **more: object) -> bool:
        kept = keep(self, *arguments, **more)  # type: ignore[arg-type]
        os.write(out, b"kept\n")
        return kept

    FindingSaver.save = told  # type: ignore[method-assign]
    Place(folder).sleep()
    for _ in range(20):
        os.write(out, b"done\n")
    os.read(os.pipe()[0], 1)


if __name__ == "__main__":
    main(write)
