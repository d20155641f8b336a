"""From when clio looks for garbage in earnest."""

import subprocess
import sys

PROGRAM = """
import gc
from clio.entrypoints import garbage
gc.set_threshold(100_000, 50, 100)
kept = [[] for _ in range(5_000)]
garbage.settle()
frozen = gc.get_freeze_count()
class Knot: ...
for _ in range(20_000):
    knot = Knot()
    knot.self = knot
garbage.settle()
print(frozen >= 5_000, gc.get_freeze_count() == frozen, sum(isinstance(one, Knot) for one in gc.get_objects()) < 5_000)
"""


def test_what_stands_is_left_alone_and_what_comes_is_looked_at_soon() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True", "True"]
