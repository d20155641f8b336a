"""How often clio looks for garbage: hardly while packages are imported, every few thousand objects from then on."""

import gc

THRESHOLDS = (2_000, 10, 10)
"""As seldom as at the start, 500 turns would leave 13 MiB of cycles nobody has looked at; a look takes 0.1 ms."""


def settle() -> None:
    """For whoever goes on for long, once what it needs is imported: what stands now is never looked at again.

    Harmless when it is called again, and from a thread.
    """
    if gc.get_threshold() != THRESHOLDS:
        gc.freeze()
        gc.set_threshold(*THRESHOLDS)
