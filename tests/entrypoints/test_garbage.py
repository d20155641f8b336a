"""Objects made at the start are excluded from garbage collection, and freed memory is returned to the system."""

import ctypes
import subprocess
import sys

import pytest

PROGRAM = """
import gc
from clio.threads import freeze_startup_objects
gc.set_threshold(100_000, 50, 100)
kept = [[] for _ in range(5_000)]
freeze_startup_objects()
frozen = gc.get_freeze_count()
class Knot: ...
for _ in range(20_000):
    knot = Knot()
    knot.self = knot
freeze_startup_objects()
print(frozen >= 5_000, gc.get_freeze_count() == frozen, sum(isinstance(one, Knot) for one in gc.get_objects()) < 5_000)
"""


def test_objects_of_the_start_are_frozen_and_new_cycles_are_collected_soon() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True", "True"]


PIECES = """
import ctypes, sys
from clio.threads import freeze_startup_objects
class Info(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in "arena ordblks smblks hblks hblkhd u f fo k c".split()]
mallinfo = ctypes.CDLL(None).mallinfo2
mallinfo.restype = Info
if "settled" in sys.argv:
    freeze_startup_objects()
large = bytearray(4_000_000)
del large
before = mallinfo().hblks
piece = bytearray(1_000_000)
print(mallinfo().hblks - before)
"""


GLIBC = sys.platform == "linux" and hasattr(ctypes.CDLL(None), "mallinfo2")


@pytest.mark.skipif(not GLIBC, reason="the C library is not glibc")
def test_a_large_block_is_returned_to_the_system_when_it_is_freed() -> None:
    def own(*words: str) -> str:
        done = subprocess.run([sys.executable, "-c", PIECES, *words], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    assert (own(), own("settled")) == ("0", "1")
