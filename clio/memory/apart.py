"""Parts of memory that are asked one by one, so that one that fails costs the others nothing."""

from collections.abc import Callable
from typing import TypeVar

from clio.errors import ClioError, CorruptDocument
from clio.storage.locks import error_cause

T = TypeVar("T")


class Apart:
    """Asks parts for what they know and remembers, in sentences, what could not be had."""

    def __init__(self) -> None:
        self.left_out: list[str] = []

    def ask(self, what: str, part: Callable[[], T], nothing: T) -> T:
        """What the part gives; `nothing` where it cannot, and a sentence about it.

        A file that does not parse has been set aside by then, so it is asked once more.
        """
        for _ in range(2):
            try:
                return part()
            except CorruptDocument as error:
                self.tell(str(error))
            except (ClioError, OSError) as error:  # a lock that nobody lets go of is one of the latter
                self.tell(f"{what} left out: {error_cause(error)}")
                break
        return nothing

    def take(self) -> list[str]:
        """What went wrong since this was asked last."""
        taken, self.left_out = self.left_out, []
        return taken

    def tell(self, sentence: str) -> None:
        """Note what is lacking, once."""
        if sentence not in self.left_out:
            self.left_out.append(sentence)
