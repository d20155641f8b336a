"""Parts of memory that are asked one by one, so that one that fails costs the others nothing."""

from collections.abc import Callable

from clio.errors import CorruptDocument, StorageError
from clio.fragments import Fragment
from clio.storage.reasons import cause


class Apart:
    """Asks parts for their fragments and remembers, in sentences, what could not be had."""

    def __init__(self) -> None:
        self._sentences: list[str] = []

    def ask(self, what: str, part: Callable[[], list[Fragment]]) -> list[Fragment]:
        """The part's fragments; a file that does not parse has been set aside by then, so it is asked once more."""
        for _ in range(2):
            try:
                return part()
            except CorruptDocument as error:
                self._tell(str(error))
            except (StorageError, OSError) as error:
                self._tell(f"{what} left out: {cause(error)}")
                break
        return []

    def take(self) -> list[str]:
        """What went wrong since this was asked last."""
        taken, self._sentences = self._sentences, []
        return taken

    def _tell(self, sentence: str) -> None:
        if sentence not in self._sentences:
            self._sentences.append(sentence)
