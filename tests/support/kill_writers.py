"""Kill writer processes at random moments, one after the other, and print what each had confirmed by then."""

import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

Write = Callable[[Path, int, int], None]
"""Takes a folder, a seed and a file descriptor: makes changes endlessly, and writes each confirmed one to it."""


def main(write: Write) -> None:
    """Kill as many writers as the command line asks for (FOLDER KILLS SEED), and print what they confirmed."""
    folder, kills, rng = Path(sys.argv[1]), int(sys.argv[2]), random.Random(int(sys.argv[3]))
    for number in range(kills):
        read_end, write_end = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read_end)
            write(folder, number, write_end)
        os.close(write_end)
        with os.fdopen(read_end, "rb") as confirmations:
            lines = [confirmations.readline() for _ in range(rng.randrange(3, 18))]
            time.sleep(rng.random() * 0.02)  # at a random moment of one of the next changes
            os.kill(child, signal.SIGKILL)
            lines += confirmations.readlines()
        os.waitpid(child, 0)
        sys.stdout.writelines(line.decode() for line in lines if line.endswith(b"\n"))
