"""Consolidation to be killed. `python -m tests.memory.consolidation.crash FOLDER KILLS SEED`.

One process starts consolidations of the same sessions one after the other and kills each at a random moment: while
turns are replayed, findings are saved, or the state is written. A few more turns are replayed each time.
"""

import os
from pathlib import Path

from clio.memory.consolidation import runner
from clio.memory.consolidation.memory_updates import FindingSaver
from tests.memory.consolidation.consolidation_support import Place
from tests.support.kill_writers import main


def write(folder: Path, seed: int, out: int) -> None:
    """Consolidate, saving as often as possible, and print each saved finding; then wait to be killed."""
    runner.SAVE_EVERY_S = 0.0
    keep = FindingSaver.save

    def report_saved(self: FindingSaver, *arguments: object, **more: object) -> bool:
        kept = keep(self, *arguments, **more)  # type: ignore[arg-type]
        os.write(out, b"kept\n")
        return kept

    FindingSaver.save = report_saved  # type: ignore[method-assign]
    Place(folder).sleep()
    for _ in range(20):
        os.write(out, b"done\n")
    os.read(os.pipe()[0], 1)


if __name__ == "__main__":
    main(write)
