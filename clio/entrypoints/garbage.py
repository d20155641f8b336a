"""How often clio looks for garbage: hardly while packages are imported, every few thousand objects from then on.

And that what was let go of is given back to the system.
"""

import gc
import sys
from contextlib import suppress

THRESHOLDS = (2_000, 10, 10)
"""As seldom as at the start, 500 turns leave 13 MiB of cycles nobody has looked at; a look takes less than 1 ms."""
_MALLOC = ((-8, 1), (-3, 256 * 1024), (-1, 256 * 1024))
"""M_ARENA_MAX, M_MMAP_THRESHOLD and M_TRIM_THRESHOLD of <malloc.h>."""


def settle() -> None:
    """For whoever goes on for long, once what it needs is imported: what stands now is never looked at again.

    Harmless when it is called again, and from a thread.
    """
    # Only the first threshold is compared: Python 3.13 begins with all three, and 3.14 forgets the last one.
    if gc.get_freeze_count() and gc.get_threshold()[0] == THRESHOLDS[0]:
        return
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    _give_back()


def _give_back() -> None:
    """Have glibc keep less of what is free: 1,000 turns hold 99 MiB, not 118. Nothing happens elsewhere.

    By itself it keeps a heap for each thread, and after the first large piece is let go of no longer asks the system
    for such pieces but cuts them out of a heap, which then ends in holes.
    """
    if sys.platform == "linux":
        import ctypes

        with suppress(OSError, AttributeError):  # a C library without it, such as musl
            for option, value in _MALLOC:
                ctypes.CDLL(None).mallopt(option, value)
