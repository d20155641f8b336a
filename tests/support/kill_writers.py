"""Writers that are killed at random moments, one after the other, and what each had said by then."""

import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

Write = Callable[[Path, int, int], None]
"""Given a folder, a seed and a file descriptor: changes something for ever, and tells what it was confirmed."""


def main(write: Write) -> None:
    """Kills as many writers as the command line asks for (FOLDER KILLS SEED), and prints what they said."""
    folder, kills, rng = Path(sys.argv[1]), int(sys.argv[2]), random.Random(int(sys.argv[3]))
    for number in range(kills):
        read_end, write_end = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read_end)
            write(folder, number, write_end)
        os.close(write_end)
        with os.fdopen(read_end, "rb") as heard:
            lines = [heard.readline() for _ in range(rng.randrange(3, 18))]
            time.sleep(rng.random() * 0.02)  # somewhere in one of the next changes
            os.kill(child, signal.SIGKILL)
            lines += heard.readlines()
        os.waitpid(child, 0)
        sys.stdout.writelines(line.decode() for line in lines if line.endswith(b"\n"))
