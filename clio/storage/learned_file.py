"""A small file in clio's home that holds what was learned: never worth a failure, and said once when it is wrong."""

from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from msgspec import Struct

from clio.errors import CorruptDocument, StorageError
from clio.storage.document import Format, load, update
from clio.storage.reasons import cause

T = TypeVar("T", bound=Struct)


class LearnedFile(Generic[T]):
    """One document. Several clios may use it; each changes only what it learned itself.

    path: None reads and writes nothing. what: the words for what it holds, such as "what models were found to bill".
    notice: told, once in a run, what is wrong with the file.
    """

    def __init__(self, path: Path | None, kind: Format[T], what: str, notice: Callable[[str], None]) -> None:
        self._path = path
        self._kind = kind
        self._what = what
        self._notice = notice
        self._told = False

    def read(self) -> T | None:
        """What it holds; None where there is none, or it cannot be read."""
        if self._path is None:
            return None
        try:
            document = load(self._path, self._kind)
        except (StorageError, OSError) as error:
            self._tell(f"{self._what} is not known: {cause(error)}")
            return None
        return document.value if document else None

    def change(self, change: Callable[[T], T]) -> None:
        """Lock, read, merge, write. A change that gives back what it was given writes nothing."""
        if self._path is None:
            return
        try:
            try:
                update(self._path, self._kind, change)
            except CorruptDocument as error:
                self._tell(f"{self._what} is learned anew: {error}")
                if error.moved_to is not None:
                    update(self._path, self._kind, change)
        except (StorageError, OSError) as error:
            self._tell(f"{self._what} is not stored: {cause(error)}")

    def _tell(self, sentence: str) -> None:
        if not self._told:
            self._told = True
            self._notice(sentence)
