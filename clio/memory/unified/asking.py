"""Asking several stores in turn, with how long each layer took."""

import time
from collections.abc import Generator
from contextlib import contextmanager

from clio.memory.apart import Apart
from clio.memory.unified.hits import Layer


class Asking(Apart):
    """One question's account. ms: by layer, in milliseconds."""

    def __init__(self) -> None:
        super().__init__()
        self.ms: dict[Layer, float] = {}

    @contextmanager
    def timed(self, layer: Layer) -> Generator[None]:
        """Count the block's time as the layer's."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            took = (time.perf_counter() - begin) * 1e3
            self.ms[layer] = round(self.ms.get(layer, 0.0) + took, 2)
