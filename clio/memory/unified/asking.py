"""Asking several stores in turn: how long each layer took, and what could not be had."""

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TypeVar

from clio.errors import ClioError, CorruptDocument
from clio.memory.unified.hits import Layer
from clio.storage.reasons import cause

T = TypeVar("T")


class Asking:
    """One question's account. left_out: sentences. ms: by layer, in milliseconds."""

    def __init__(self) -> None:
        self.left_out: list[str] = []
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

    def ask(self, what: str, part: Callable[[], T], nothing: T) -> T:
        """What the part gives; `nothing` where it cannot, and a sentence about it.

        A file that does not parse has been set aside by then, so it is asked once more.
        """
        for _ in range(2):
            try:
                return part()
            except CorruptDocument as error:
                self.tell(str(error))
            except (ClioError, OSError, TimeoutError) as error:
                self.tell(f"{what} left out: {cause(error)}")
                break
        return nothing

    def tell(self, sentence: str) -> None:
        """Note what the answer lacks."""
        if sentence not in self.left_out:
            self.left_out.append(sentence)
