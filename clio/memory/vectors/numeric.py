"""The door to numpy, which takes longer to import than a keystroke may."""

import os
from typing import Any


def load_numpy() -> Any:
    """numpy, with one thread for its products: on a busy machine more only wait for each other."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    import numpy

    return numpy
